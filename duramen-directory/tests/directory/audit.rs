//! The audit log: what is written down of changes, and what comes of it when that is done again.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use duramen_directory::{
    AuditLog, Config, Directory, Index, IndexKinds, Method, PasswordPolicies, Peer, Proof, Requester, SchemaFile,
};
use duramen_ldap::ldif::{Body, LdifReader, Pair};
use duramen_ldap::message::ChangeKind::{Add, Delete, Increment, Replace};
use duramen_ldap::message::Control;
use duramen_ldap::oid::control as oid;

use crate::random;
use crate::sample::*;

const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";
const ADMINS: &str = "cn=admins,ou=Groups,dc=example,dc=com";

/// A directory with an audit log, which is in a folder of its own.
struct Audited {
    sample: Sample,
    folder: tempfile::TempDir,
}

impl Audited {
    fn with(config: Config) -> Audited {
        let folder = tempfile::tempdir().unwrap();
        let audit = Some(AuditLog { file: folder.path().join("audit.ldif"), flush: false });
        Audited { sample: Sample::with(Config { audit, ..config }), folder }
    }

    fn people(config: Config) -> Audited {
        let audited = Audited::with(config);
        audited.sample.load(PEOPLE);
        audited
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("audit.ldif")
    }

    fn text(&self) -> String {
        String::from_utf8(fs::read(self.path()).unwrap()).unwrap()
    }

    /// The records that a change wrote, without what tells when it was.
    fn written<T>(&self, change: impl FnOnce(&Sample) -> T) -> String {
        let before = self.text().len();
        change(&self.sample);
        masked(&self.text()[before..])
    }
}

/// Lines that are of no interest where one looks at what was changed: they tell when, and by whom.
const STAMPS: [&str; 3] = ["entryCSN", "modifiersName", "modifyTimestamp"];

fn masked(text: &str) -> String {
    let mut lines = Vec::new();
    let mut rest = text.lines().peekable();
    while let Some(line) = rest.next() {
        if STAMPS.iter().any(|stamp| line == format!("replace: {stamp}")) {
            // With the value, and the hyphen.
            rest.nth(1);
            continue;
        }
        let is_head = line.starts_with("# ");
        let words = line.split(' ').map(|word| match word.parse::<u64>() {
            Ok(_) if is_head => "TIME",
            _ => word,
        });
        lines.push(words.collect::<Vec<_>>().join(" "));
    }
    lines.join("\n")
}

/// Does again what is written in a log.
fn replay(text: &str, sample: &Sample) {
    let (relax, internal) = (control(oid::RELAX), Requester::internal());
    let mut reader = LdifReader::new("audit.ldif", text.as_bytes());
    while let Some(record) = reader.next_record().unwrap() {
        let mut controls = vec![relax];
        controls.extend(record.controls.iter().map(|given| control(given.oid)));
        let done = match &record.body {
            Body::Add(pairs) => {
                let mut attributes: Vec<(&str, Vec<&[u8]>)> = Vec::new();
                for Pair { description, value, .. } in pairs {
                    match attributes.iter_mut().find(|(known, _)| known == description) {
                        Some((_, values)) => values.push(value),
                        None => attributes.push((description, vec![value])),
                    }
                }
                sample.add_as(&internal, &record.dn, &attributes, &controls)
            }
            Body::Delete => sample.delete(&record.dn, &controls),
            Body::Modify(changes) => {
                let values: Vec<Vec<&str>> = changes
                    .iter()
                    .map(|change| change.values.iter().map(|pair| std::str::from_utf8(&pair.value).unwrap()).collect())
                    .collect();
                let changes: Vec<_> = changes
                    .iter()
                    .zip(&values)
                    .map(|(change, values)| (change.kind, change.description, values.as_slice()))
                    .collect();
                sample.modify_as(&internal, &record.dn, &changes, &controls)
            }
            Body::ModifyDn { new_rdn, delete_old_rdn, new_superior } => {
                sample.rename(&record.dn, new_rdn, *delete_old_rdn, new_superior.as_deref())
            }
            Body::Entry(_) => panic!("line {}: no change", record.line),
        };
        done.unwrap_or_else(|failure| panic!("line {}: {}: {failure}", record.line, record.dn));
    }
}

/// What a directory has, each entry with its lines in order, and without stamps: of a rename the log has none, nor has slapd's.
fn content(directory: &Directory) -> BTreeSet<Vec<String>> {
    let mut ldif = Vec::new();
    directory.export(None, &mut ldif, &mut |_, _| true).unwrap();
    let text = String::from_utf8(ldif).unwrap().replace("\n ", "");
    let is_stamp = |line: &str| STAMPS.iter().any(|stamp| line.starts_with(stamp));
    let entry = |entry: &str| {
        let mut lines: Vec<String> = entry.lines().filter(|line| !is_stamp(line)).map(str::to_string).collect();
        lines.sort();
        lines
    };
    text.split("\n\n").map(entry).collect()
}

#[test]
fn each_kind_of_change_is_written_as_it_was_made_with_who_made_it_and_the_stamps() {
    let audited = Audited::people(Config::default());
    let text = audited.text();
    let csn = audited.sample.read(BASE, &["entryCSN"]).values("entryCSN")[0].to_string();
    let first = format!(" dc=example,dc=com  conn=-1\ndn: {BASE}\nchangetype: add\nobjectClass: domain\ndc: example\n");
    assert!(text.starts_with("# add 1") && text.contains(&first), "{text}");
    assert!(text.contains(&format!("\nentryCSN: {csn}\n")), "{text}");
    let changed = audited.written(|sample| {
        let changes: &[(_, _, &[&str])] = &[
            (Add, "mail", &["b@example.com", "c@example.com"]),
            (Delete, "telephoneNumber", &[]),
            (Delete, "cn;lang-de", &["barbara VON jensen"]),
            (Replace, "description", &[" a"]),
            (Replace, "title", &[]),
            (Add, "2.5.4.7", &["Here"]),
        ];
        sample.modify(JENSEN, changes).unwrap();
        sample.modify(SMITH, &[(Increment, "uidNumber", &["5"])]).unwrap();
        sample.modify(SMITH, &[(Delete, "mail", &[])]).unwrap_err();
        sample.rename(SMITH, "UID=Smith", false, None).unwrap();
        sample.rename(JENSEN, "uid=babs", true, Some("OU=groups,dc=example,dc=com")).unwrap();
        sample.delete(ADMINS, &[]).unwrap();
    });
    let modify = |name: &str, changes: &str| {
        format!("# modify TIME {BASE}  conn=-1\ndn: {name}\nchangetype: modify\n{changes}\n-\n# end modify TIME\n\n")
    };
    let changes = "add: mail\nmail: b@example.com\nmail: c@example.com\n-\ndelete: telephoneNumber\n-\n\
        delete: cn;lang-de\ncn;lang-de: barbara VON jensen\n-\nreplace: description\ndescription:: IGE=\n-\n\
        replace: title\n-\nadd: l\nl: Here";
    let renames = format!(
        "# modrdn TIME {BASE}  conn=-1\ndn: {SMITH}\nchangetype: modrdn\nnewrdn: uid=Smith\ndeleteoldrdn: 0\n# end modrdn TIME\n\n\
         # modrdn TIME {BASE}  conn=-1\ndn: {JENSEN}\nchangetype: modrdn\nnewrdn: uid=babs\ndeleteoldrdn: 1\n\
         newsuperior: ou=Groups,{BASE}\n# end modrdn TIME\n\n\
         # delete TIME {BASE}  conn=-1\ndn: {ADMINS}\nchangetype: delete\n# end delete TIME\n"
    );
    let wanted = [modify(JENSEN, changes), modify(SMITH, "increment: uidNumber\nuidNumber: 5"), renames].concat();
    assert_eq!(changed, wanted);
    assert_eq!(fs::metadata(audited.path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn who_acts_for_another_is_told_of_with_his_connection_and_no_name_makes_a_line_of_its_own() {
    let audited = Audited::people(Config {
        access: Some(SchemaFile { name: "rules".into(), text: "access to * by * write".into() }),
        administrator: Some(duramen_directory::Administrator { name: "cn=admin".into(), password: None }),
        ..Config::default()
    });
    let name = "cn=a\n# delete 1\ndn: dc=example\\,dc=com,dc=example,dc=com";
    let device: &[(&str, Vec<&[u8]>)] = &[("objectClass", vec![b"device"])];
    let peer = Peer::Network("192.0.2.7:4711".parse().unwrap());
    let of = |name: &str| Requester {
        name: audited.sample.directory.name(name).unwrap(),
        method: Method::Password,
        connection: Some(1234),
        ..Requester::anonymous(Arc::new(peer.clone()), 0)
    };
    audited.sample.add_as(&of(JENSEN), name, device, &[]).unwrap();
    let written = audited.written(|sample| sample.add_as(&of(name), &format!("cn=b,{BASE}"), device, &[]).unwrap());
    let head = written.lines().next().unwrap();
    let who = "cn=a\\0a# delete 1\\0adn: dc=example\\,dc=com,dc=example,dc=com";
    assert_eq!(head.to_lowercase(), format!("# add time {BASE} {who} ip=192.0.2.7:4711 conn=1234"));
    assert!(!audited.text().contains("\ndn: dc=example,dc=com\nchangetype: delete"), "{}", audited.text());

    let administrator = Requester { is_administrator: true, ..of("cn=admin") };
    let (identity, title) = (format!("dn:{JENSEN}"), [(Replace, "title", &["Boss"][..])]);
    let proxied = Control { oid: oid::PROXIED_AUTHORIZATION, critical: true, value: Some(identity.as_bytes()) };
    let written = audited.written(|sample| sample.modify_as(&administrator, SMITH, &title, &[proxied]).unwrap());
    let wanted =
        format!("# modify TIME {BASE} {JENSEN} IP=192.0.2.7:4711 conn=1234\n# realdn: cn=admin\ndn: {SMITH}\n");
    assert!(written.starts_with(&wanted), "{written}");
}

#[test]
fn passwords_are_written_as_they_are_stored_and_what_policies_note_down_with_them() {
    let policies = PasswordPolicies { default: Some(format!("cn=p,{BASE}")), tells_locked: false };
    let audited = Audited::people(Config { password_policies: Some(policies), ..Config::default() });
    audited.sample.load(&format!(
        "dn: cn=p,{BASE}\nobjectClass: device\nobjectClass: pwdPolicy\ncn: p\npwdAttribute: userPassword\n\
         pwdLockout: TRUE\npwdMaxFailure: 5\n"
    ));
    let stored = b"{SSHA}AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let requester = Requester::internal();
    let set = |sample: &Sample| {
        let future = sample.directory.set_password(&requester, JENSEN, stored, Proof::default());
        drop(future);
        // Behind it.
        sample.modify(SMITH, &[(Replace, "title", &["x"])]).unwrap();
    };
    let written = audited.written(set);
    let wanted = "replace: userPassword\nuserPassword:: e1NTSEF9QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFB\n-\nreplace: pwdChangedTime\n";
    assert!(written.contains(wanted), "{written}");
    let name = audited.sample.directory.name(JENSEN).unwrap();
    let written = audited.written(|sample| sample.directory.judge(&name, false).unwrap());
    let wanted = format!("dn: {JENSEN}\nchangetype: modify\nreplace: pwdFailureTime\npwdFailureTime: 2");
    assert!(written.contains(&wanted), "{written}");
}

#[test]
fn values_that_follow_others_come_behind_these_and_a_tree_is_deleted_from_below() {
    let equality = IndexKinds { equality: true, ..IndexKinds::default() };
    let mut indices = Index::defaults();
    indices.push(Index { attribute: "seeAlso".into(), kinds: equality });
    let references = vec!["member".into(), "seeAlso".into()];
    let audited = Audited::people(Config { references, indices: Some(indices), ..Config::default() });
    let many: Vec<String> = (0..300).map(|n| format!("cn={n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    audited.sample.modify(ADMINS, &[(Add, "member", &many), (Add, "seeAlso;x-a", &[JENSEN])]).unwrap();
    let written = audited.written(|sample| sample.rename(JENSEN, "uid=babs", true, None).unwrap());
    let babs = "uid=babs,ou=People,dc=example,dc=com";
    let wanted = format!(
        "dn: {ADMINS}\nchangetype: modify\ndelete: member\nmember: {JENSEN}\n-\nadd: member\nmember: {babs}\n-\n\
         delete: seeAlso;x-a\nseeAlso;x-a: {JENSEN}\n-\nadd: seeAlso;x-a\nseeAlso;x-a: {babs}\n-\n# end"
    );
    assert!(written.contains(&wanted), "{written}");
    let written =
        audited.written(|sample| sample.delete(&format!("ou=People,{BASE}"), &[control(oid::TREE_DELETE)]).unwrap());
    let names: Vec<&str> = written.lines().filter_map(|line| line.strip_prefix("dn: ")).collect();
    assert_eq!(names[names.len() - 2..], [&format!("ou=People,{BASE}"), ADMINS]);
    assert_eq!(BTreeSet::from([names[0], names[1]]), BTreeSet::from([SMITH, babs]));
}

#[test]
fn what_is_written_of_changes_at_random_makes_the_same_entries_when_it_is_done_again() {
    let seed =
        std::env::var("DURAMEN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    let mut random = fastrand::Rng::with_seed(seed);
    let equality = IndexKinds { equality: true, ..IndexKinds::default() };
    let mut indices = Index::defaults();
    indices.push(Index { attribute: "seeAlso".into(), kinds: equality });
    let references = vec!["seeAlso".to_string()];
    let audited = Audited::people(Config { indices: Some(indices), references, ..Config::default() });
    let sample = &audited.sample;
    for _ in 0..150 {
        let names = sample.found("(objectClass=*)");
        let count = random.usize(..4).min(names.len());
        let some: Vec<&str> = random.choose_multiple(&names, count).into_iter().map(String::as_str).collect();
        let kind = [Replace, Add, Delete][random.usize(..3)];
        let controls = if random.bool() { vec![control(oid::PERMISSIVE_MODIFY)] } else { Vec::new() };
        // Most can be made; those that cannot leave nothing in the log.
        let _ = sample.modify_as(
            &Requester::internal(),
            &names[random.usize(..names.len())],
            &[(kind, "seeAlso", &some)],
            &controls,
        );
        random::change(sample, &mut random);
    }
    let again = Sample::empty();
    replay(&audited.text(), &again);
    assert_eq!(content(&sample.directory), content(&again.directory), "DURAMEN_SEED={seed}");
}

#[test]
fn a_reload_goes_on_in_the_file_that_has_the_name_then_and_one_that_cannot_be_opened_changes_nothing() {
    let audited = Audited::people(Config::default());
    let title = |value: &str| audited.sample.modify(SMITH, &[(Replace, "title", &[value])]).unwrap();
    let renamed = audited.folder.path().join("audit.ldif.1");
    fs::rename(audited.path(), &renamed).unwrap();
    title("before");
    let config = |file: PathBuf| Config { audit: Some(AuditLog { file, flush: true }), ..Config::default() };
    let refused = audited.sample.directory.reconfigure(config(audited.folder.path().into())).unwrap_err().to_string();
    assert!(refused.contains("there is a directory, and no file; name a file of its own"), "{refused}");
    title("still");
    audited.sample.directory.reconfigure(config(audited.path())).unwrap();
    title("behind");
    audited.sample.directory.reconfigure(Config::default()).unwrap();
    title("never");
    let titles = |path| {
        let text = fs::read_to_string(path).unwrap();
        text.lines().filter_map(|line| line.strip_prefix("title: ")).map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(titles(renamed), ["before", "still"]);
    assert_eq!(titles(audited.path()), ["behind"]);
}

#[test]
fn nothing_else_is_taken_for_an_audit_log() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let (other, empty) = (file("config.toml", b"data = \"data\"\n"), file("empty", b""));
    let log = file("slapd.ldif", b"# modify 1700000000 dc=example,dc=com\ndn: dc=example\n");
    let open = |path: PathBuf| {
        let audit = Some(AuditLog { file: path, flush: false });
        Directory::open(&data, Config { suffixes: vec![BASE.into()], audit, ..Config::default() })
    };
    let why = |path: PathBuf| open(path).unwrap_err().to_string();
    assert!(why(other).contains("config.toml: what is there is no audit log, and would be destroyed; name a file"));
    assert!(why("/dev/null".into()).contains("there is a device, and no file"));
    assert!(why(folder.path().join("absent/audit.ldif")).contains("absent is not there; make it"));
    for name in ["directory.dm", "directory.dm-log"] {
        let why = why(data.join(".").join(name));
        assert!(why.contains("in the place of a file of the database"), "{why}");
        assert!(!data.join(name).exists());
    }
    drop(open(empty).unwrap());
    drop(open(log).unwrap());
}

#[test]
fn a_record_that_was_cut_off_takes_nothing_from_the_next_one() {
    let audited = Audited::people(Config::default());
    let whole = audited.text();
    let Audited { sample: Sample { directory, folder: data }, folder } = audited;
    drop(directory);
    let path = folder.path().join("audit.ldif");
    fs::write(&path, &whole[..whole.len() - 40]).unwrap();
    let audit = Some(AuditLog { file: path.clone(), flush: false });
    let open = || Directory::open(data.path(), Config { audit: audit.clone(), ..Config::default() }).unwrap();
    let sample = Sample { directory: open(), folder: tempfile::tempdir().unwrap() };
    sample.modify(SMITH, &[(Replace, "title", &["x"])]).unwrap();
    drop(sample);
    drop(open());
    let text = fs::read_to_string(&path).unwrap();
    let (before, behind) = text.split_once("\n# the record before this is cut off\n\n").unwrap();
    assert!(whole.starts_with(before), "{text}");
    let mut reader = LdifReader::new("audit.ldif", behind.as_bytes());
    assert_eq!(reader.next_record().unwrap().unwrap().dn, SMITH);
    assert!(reader.next_record().unwrap().is_none(), "nothing is added to what is whole: {text}");
}
