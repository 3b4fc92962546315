//! The audit log: what slapd's overlay writes, and that what clients were told is in it, and nothing else.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use duramen_ldap::ldif::{Body, LdifReader};
use duramen_ldap::message::ResultCode;

use crate::client::{Client, person};
use crate::clients::said;
use crate::process::{ADMINISTRATOR, Daemon, PLAIN, configuration, run};
use crate::replicas::{Slapd, TOP, search};

const AUDIT: &str = "[audit]\nfile = \"audit.ldif\"\n";
const SUFFIX: &str = "dc=example,dc=com";

/// Longest wait for something to be in a file.
const PATIENCE: Duration = Duration::from_secs(60);

fn audited(more: &str) -> Daemon {
    Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}{AUDIT}{more}"))
}

fn url(daemon: &Daemon) -> String {
    format!("ldap://127.0.0.1:{}", daemon.ldap.port())
}

/// One of OpenLDAP's tools, as somebody.
fn tool(tool: &str, url: &str, (name, password): (&str, &str)) -> Command {
    let mut command = Command::new(tool);
    command.args(["-x", "-H", url, "-D", name, "-w", password]);
    command
}

/// Makes changes as LDIF has them; those that cannot be are passed over.
fn change(url: &str, who: (&str, &str), more: &[&str], ldif: &str) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("changes.ldif");
    fs::write(&path, ldif).unwrap();
    let _ = tool("ldapmodify", url, who).arg("-c").args(more).arg("-f").arg(&path).output().unwrap();
}

const ANN: &str = "uid=ann,ou=people,dc=example,dc=com";

/// Something of all kinds of changes, some of which fail.
const CHANGES: &str = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\nobjectClass: posixAccount\nuid: ann\n\
    cn: Ann\ncn: Another Ann\nsn;lang-de:: R3LDtsOfZQ==\nsn:: w5xiZXI=\ndescription: a long line that is folded by whoever writes it, \
    as it has more bytes than others have on theirs\njpegPhoto:: AAECAwQFBgcICQoLDA0ODw==\nuidNumber: 10\ngidNumber: 10\n\
    homeDirectory: /home/ann\nuserPassword: clear\n\n\
    dn: uid=ben,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: inetOrgPerson\ncn: Ben\nsn: B\n\n\
    dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nadd: mail\nmail: a@example.com\nmail: b@example.com\n-\n\
    delete: cn\ncn: another ann\n-\nreplace: description\ndescription:: IGxlYWRpbmc=\ndescription:: dHdvCmxpbmVz\n-\n\
    increment: uidNumber\nuidNumber: -5\n-\ndelete: jpegPhoto\n-\nreplace: title\n-\nadd: 2.5.4.7\n2.5.4.7: Here\n-\n\
    add: seeAlso\nseeAlso: UID=ben, ou=people,dc=example,dc=com\nseeAlso:: Y249w5xiZXIsZGM9ZXhhbXBsZSxkYz1jb20=\n\n\
    dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: uidNumber\nuidNumber: no number\n\n\
    dn: uid=nobody,ou=people,dc=example,dc=com\nchangetype: delete\n\n\
    dn: uid=ben,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: UID=Benjamin\ndeleteoldrdn: 0\n\n\
    dn: uid=Benjamin,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=Ben\ndeleteoldrdn: 1\nnewsuperior: DC=example, dc=com\n\n\
    dn:: Y249w5xiZXIsZGM9ZXhhbXBsZSxkYz1jb20=\nchangetype: add\nobjectClass: device\n\n\
    dn:: Y249w5xiZXIsZGM9ZXhhbXBsZSxkYz1jb20=\nchangetype: modrdn\nnewrdn:: Y249w7Y=\ndeleteoldrdn: 1\n\n\
    dn: cn=Ben,dc=example,dc=com\nchangetype: delete\n\n\
    dn: ou=people,dc=example,dc=com\nchangetype: delete\n\n";

/// Makes the same changes of any server.
fn change_all(url: &str) {
    change(url, ADMINISTRATOR, &[], &[TOP, CHANGES].concat());
    let ann = (ANN, "clear");
    change(url, ann, &[], &format!("dn: {ANN}\nchangetype: modify\nreplace: title\ntitle: Boss\n\n"));
    let title = format!("dn: {ANN}\nchangetype: modify\nreplace: title\ntitle: Chief\n\n");
    change(url, ADMINISTRATOR, &["-e", &format!("!authzid=dn:{ANN}")], &title);
    said(tool("ldappasswd", url, ADMINISTRATOR).args(["-s", "new", ANN]), 0);
}

/// A log as it can be compared: without folds and base64, what tells when and over which connection, and what a server makes up.
fn masked(path: &Path) -> Vec<String> {
    let text = String::from_utf8(fs::read(path).unwrap()).unwrap().replace("\n ", "");
    let mut connections: HashMap<String, usize> = HashMap::new();
    let records = text.split_terminator("\n\n");
    records.map(|record| masked_record(record, &mut connections)).collect()
}

fn masked_record(record: &str, connections: &mut HashMap<String, usize>) -> String {
    let is_added = record.contains("\nchangetype: add\n");
    let lines = record.lines().map(|line| {
        if let Some(head) = line.strip_prefix("# ") {
            return masked_head(head, connections);
        }
        let (description, value) = line.split_once(':').unwrap_or((line, ""));
        match description {
            "entryUUID" | "entryCSN" | "createTimestamp" | "modifyTimestamp" => format!("{description}: MADE"),
            _ => format!("{description}: {}", decoded(value)),
        }
    });
    let mut lines: Vec<String> = lines.collect();
    if is_added {
        // Servers put their own in other places.
        let end = lines.len() - 1;
        lines[3..end].sort_unstable();
    }
    lines.join("\n")
}

fn masked_head(head: &str, connections: &mut HashMap<String, usize>) -> String {
    let words = head.split(' ').map(|word| {
        if word.parse::<u64>().is_ok() {
            "TIME".to_string()
        } else if word.starts_with("IP=127.0.0.1:") {
            "PEER".to_string()
        } else if word.starts_with("conn=") {
            let next = connections.len();
            format!("conn={}", connections.entry(word.to_string()).or_insert(next))
        } else {
            word.to_string()
        }
    });
    format!("# {}", words.collect::<Vec<_>>().join(" "))
}

/// What stands behind a colon; of what was made of a password only the scheme.
fn decoded(value: &str) -> String {
    let text = format!("dn:\nvalue:{value}\n");
    let mut reader = LdifReader::new("a line", text.as_bytes());
    let Body::Entry(pairs) = reader.next_record().unwrap().unwrap().body else { panic!("{text}") };
    let bytes = &pairs[0].value;
    let value = std::str::from_utf8(bytes).map_or_else(|_| format!("{bytes:?}"), str::to_string);
    match value.split_once('}') {
        Some((scheme, _)) if scheme.starts_with('{') => format!("{scheme}}}"),
        _ => value,
    }
}

#[test]
fn the_same_changes_are_written_as_slapd_writes_them() {
    let dir = tempfile::tempdir().unwrap();
    let theirs = dir.path().join("audit.ldif");
    let slapd = Slapd::start_with(
        "moduleload auditlog\ninclude /etc/ldap/schema/nis.schema\naccess to * by users write by * auth\n",
        &format!("overlay auditlog\nauditlog {}\n", theirs.display()),
    );
    change_all(&slapd.url());
    let daemon = audited(
        "[directory]\npassword_scheme = \"SSHA\"\n[access]\nrules = \"access to * by users write by * auth\"\n",
    );
    change_all(&url(&daemon));
    let (theirs, ours) = (masked(&theirs), masked(&daemon.path("audit.ldif")));
    assert!(theirs.len() > 12, "{theirs:#?}");
    for (theirs, ours) in theirs.iter().zip(&ours) {
        assert_eq!(theirs, ours);
    }
    assert_eq!(theirs.len(), ours.len());
}

#[test]
fn what_is_written_makes_the_same_entries_when_ldapmodify_does_it_again() {
    let daemon = audited("[directory]\nhash_passwords = true\nreferences = [\"member\"]\n");
    change(&url(&daemon), ADMINISTRATOR, &[], &[TOP, CHANGES].concat());
    let group = format!(
        "dn: cn=all,{SUFFIX}\nchangetype: add\nobjectClass: groupOfNames\nmember: {ANN}\n\n\
         dn: {ANN}\nchangetype: modrdn\nnewrdn: uid=Anna\ndeleteoldrdn: 1\n\n\
         dn: ou=gone,{SUFFIX}\nchangetype: add\nobjectClass: organizationalUnit\n\n\
         dn: ou=below,ou=gone,{SUFFIX}\nchangetype: add\nobjectClass: organizationalUnit\n\n"
    );
    change(&url(&daemon), ADMINISTRATOR, &[], &group);
    let permissive = format!("dn: uid=Anna,ou=people,{SUFFIX}\nchangetype: modify\nadd: mail\nmail: a@example.com\n\n");
    change(&url(&daemon), ADMINISTRATOR, &["-e", "1.2.840.113556.1.4.1413"], &permissive);
    said(
        tool("ldapdelete", &url(&daemon), ADMINISTRATOR).args([
            "-e",
            "1.2.840.113556.1.4.805",
            &format!("ou=gone,{SUFFIX}"),
        ]),
        0,
    );
    let log = daemon.path("audit.ldif");
    let text = fs::read_to_string(&log).unwrap();
    assert!(!text.contains("userPassword:: Y2xlYXI="), "the password is stored hashed, and is written so:\n{text}");
    let again = Daemon::plain();
    said(tool("ldapmodify", &url(&again), ADMINISTRATOR).args(["-e", "relax", "-f"]).arg(&log), 0);
    let content = |daemon: &Daemon| {
        let what = ["-S", "", "(objectClass=*)", "*", "entryUUID", "creatorsName", "createTimestamp"];
        let text = said(&mut search(&url(daemon), &what), 0);
        text.split("\n\n").map(sorted).collect::<Vec<_>>()
    };
    assert_eq!(content(&daemon), content(&again));
    assert!(content(&again).concat().contains("member: uid=Anna,ou=people"), "{:?}", content(&again));
}

/// The lines of a record in order: what was changed again may have come to stand elsewhere.
fn sorted(record: &str) -> String {
    let mut lines: Vec<&str> = record.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// The values of `title` in a log, in their order, and the numbers of the changes that gave them.
fn titles(text: &[u8]) -> Vec<(String, String)> {
    let mut reader = LdifReader::new("audit.ldif", text);
    let mut titles = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        let Body::Modify(changes) = &record.body else { continue };
        let value = |name: &str| {
            let change = changes.iter().find(|change| change.description == name)?;
            Some(String::from_utf8_lossy(&change.values.first()?.value).into_owned())
        };
        titles.extend(value("title").zip(value("entryCSN")));
    }
    titles
}

#[test]
fn whatever_was_told_is_in_the_log_in_the_order_of_commits_and_what_failed_is_not() {
    const CLIENTS: usize = 8;
    let daemon = audited("");
    Client::administrator(&daemon).populate(CLIENTS);
    let done: Vec<String> = std::thread::scope(|scope| {
        let one = |n: usize| {
            let mut client = Client::administrator(&daemon);
            let mut done = Vec::new();
            for round in 0..200 {
                let title = format!("{n} {round}");
                // Every third is of an entry that is not there.
                let name = if round % 3 == 0 { person(1000 + n) } else { person((n + round) % CLIENTS) };
                if client.replace(&name, "title", &title).code == ResultCode::SUCCESS {
                    done.push(title);
                }
            }
            done
        };
        let threads: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || one(n))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let titles = titles(&fs::read(daemon.path("audit.ldif")).unwrap());
    assert!(titles.is_sorted_by(|one, next| one.1 < next.1), "numbers grow in the order of commits");
    let (mut written, mut done) = (titles.into_iter().map(|(title, _)| title).collect::<Vec<_>>(), done);
    written.sort_unstable();
    done.sort_unstable();
    assert_eq!(written, done);
}

#[test]
fn what_was_told_before_a_kill_is_in_the_log() {
    const CLIENTS: usize = 4;
    let daemon = audited("");
    Client::administrator(&daemon).populate(CLIENTS);
    let (tell, told) = std::sync::mpsc::channel();
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| Client::administrator(&daemon)).collect();
    let threads: Vec<_> = clients
        .drain(..)
        .enumerate()
        .map(|(n, mut client)| {
            let tell = tell.clone();
            std::thread::spawn(move || {
                for round in 0.. {
                    let title = format!("{n} {round}");
                    let Some(answer) = client.try_replace(&person(n), "title", &title) else { return };
                    assert_eq!(answer.code, ResultCode::SUCCESS);
                    tell.send(title).unwrap();
                }
            })
        })
        .collect();
    drop(tell);
    let mut done: Vec<String> = told.iter().take(500).collect();
    let dir = daemon.kill();
    done.extend(told.iter());
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let text = fs::read(dir.path().join("audit.ldif")).unwrap();
    let written: Vec<String> = titles(&text).into_iter().map(|(title, _)| title).collect();
    let missing: Vec<_> = done.iter().filter(|title| !written.contains(title)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(written.len() <= done.len() + CLIENTS, "{} of {}", written.len(), done.len());
    // It goes on behind that.
    let daemon = Daemon::start(dir, &format!("{PLAIN}{AUDIT}"));
    Client::administrator(&daemon).replace(&person(0), "title", "last");
    let titles = titles(&fs::read(daemon.path("audit.ldif")).unwrap());
    assert_eq!((titles.len(), &*titles[titles.len() - 1].0), (written.len() + 1, "last"));
}

fn wait_for(path: &Path) {
    let started = Instant::now();
    while !path.exists() {
        assert!(started.elapsed() < PATIENCE, "{} does not come", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn sighup_has_it_go_on_in_a_new_file_whatever_is_wrong_with_the_configuration() {
    let mut daemon = audited("");
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let title = |client: &mut Client, title: &str| {
        assert_eq!(client.replace(&person(0), "title", title).code, ResultCode::SUCCESS);
    };
    let path = daemon.path("audit.ldif");
    let old: Vec<PathBuf> = ["1", "2"].map(|n| daemon.path(&format!("audit.ldif.{n}"))).into();
    title(&mut client, "a");
    fs::rename(&path, &old[0]).unwrap();
    title(&mut client, "b");
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    title(&mut client, "c");
    fs::rename(&path, &old[1]).unwrap();
    fs::write(daemon.path("duramend.toml"), configuration("[nonsense]\n")).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("not reloaded");
    wait_for(&path);
    title(&mut client, "d");
    let titles = |path: &Path| titles(&fs::read(path).unwrap()).into_iter().map(|(title, _)| title).collect::<Vec<_>>();
    assert_eq!(titles(&old[0]), ["a", "b"]);
    assert_eq!(titles(&old[1]), ["c"]);
    assert_eq!(titles(&path), ["d"]);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn where_it_cannot_be_written_nothing_more_is_changed_and_nothing_is_lost() {
    let mut command = Command::new("sh");
    // In units of 512 bytes. The data is replaced again and again, and does not become so long.
    command.args(["-c", "ulimit -f 32768; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_duramend")]);
    let configuration = configuration(&format!("{PLAIN}{AUDIT}"));
    let mut daemon = Daemon::start_by(command, tempfile::tempdir().unwrap(), &configuration);
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let (mut done, filler) = (Vec::new(), "x".repeat(100_000));
    let refused = loop {
        let title = format!("{} {filler}", done.len());
        let answer = client.replace(&person(0), "title", &title);
        if answer.code != ResultCode::SUCCESS {
            break answer;
        }
        done.push(title);
        assert!(done.len() < 1000, "the limit is not met");
    };
    let why = "nothing is changed before what was can be written down: the audit log";
    assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM, "{refused:?}");
    assert!(refused.diagnostic.contains(why), "{refused:?}");
    daemon.wait_for("nothing is changed before it can be written: the audit log");
    assert_eq!(client.bind(&person(0), "secret-0").code, ResultCode::SUCCESS, "who changes nothing is served");
    client = Client::administrator(&daemon);
    // Whole records are in it; the last one that was told waits for room.
    let written =
        |path: &Path| titles(&fs::read(path).unwrap()).into_iter().map(|(title, _)| title).collect::<Vec<_>>();
    let path = daemon.path("audit.ldif");
    assert_eq!(written(&path), done[..done.len() - 1]);
    let renamed = daemon.path("audit.ldif.1");
    fs::rename(&path, &renamed).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    assert_eq!(client.replace(&person(0), "title", "there is room").code, ResultCode::SUCCESS);
    assert!(daemon.log().contains("audit.ldif can be written again"), "{}", daemon.log());
    assert_eq!([written(&renamed), written(&path)].concat(), [done, vec!["there is room".into()]].concat());
    daemon.signal("TERM");
    assert!(daemon.ended().success(), "{}", daemon.log());
}

#[test]
fn what_can_be_no_audit_log_is_told_of_with_its_place_by_check_config_and_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("duramend.toml");
    fs::create_dir(dir.path().join("folder")).unwrap();
    fs::write(dir.path().join("server.key"), "-----BEGIN PRIVATE KEY-----\n").unwrap();
    said(Command::new("mkfifo").arg(dir.path().join("pipe")), 0);
    let told = [
        ("folder", "there is a directory, and no file"),
        ("pipe", "there is a pipe, and no file"),
        ("data/directory.dm", "in the place of a file of the database"),
        ("data/duramend.lock", "in the place of the file that this server locks"),
        ("server.key", "what is there is no audit log, and would be destroyed"),
        ("duramend.toml", "what is there is no audit log, and would be destroyed"),
        ("absent/audit.ldif", "absent is not there; make it"),
        ("", "the path of the audit log is empty; write one like"),
    ];
    fs::create_dir(dir.path().join("data")).unwrap();
    for (name, why) in told {
        fs::write(&config, configuration(&format!("{PLAIN}[audit]\nfile = \"{name}\"\n"))).unwrap();
        for command in ["check-config", "serve"] {
            let (code, said) = run(&[command, "--config", config.to_str().unwrap()]);
            assert_eq!(code, Some(78), "{command} {name}: {said}");
            assert!(said.contains(why) && said.contains("duramend.toml:8:8: "), "{command} {name}: {said}");
        }
    }
    assert_eq!(fs::read(dir.path().join("server.key")).unwrap(), b"-----BEGIN PRIVATE KEY-----\n");
}
