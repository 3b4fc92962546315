//! Import and export.

use std::io::{BufReader, Read};

use duramen_directory::{
    Config, Directory, ImportError, ImportEvent, ImportOptions, Imported, Index, Requester, SchemaFile,
};
use duramen_ldap::message::ChangeKind::{Add, Replace};
use duramen_ldap::message::{ResultCode, Scope};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

fn import(sample: &Sample, ldif: &str, options: ImportOptions) -> Result<(Imported, Vec<String>), ImportError> {
    let mut problems = Vec::new();
    let imported = sample.directory.import("x.ldif", &mut ldif.as_bytes(), options, &mut |event| {
        if let ImportEvent::Problem(problem) | ImportEvent::LeftOut(problem) = event {
            problems.push(problem.to_string());
        }
        true
    })?;
    Ok((imported, problems))
}

fn taken(entries: u64, problems: u64) -> Imported {
    Imported { entries, problems, ..Imported::default() }
}

#[test]
fn faulty_and_doubled_values_are_left_out_where_that_is_asked_for_and_the_rest_is_taken() {
    let text = "\
dn: uid=w,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: w
cn: Weiß
cn: Weiss
cn: other
sn: W
otherMailbox: no dollar
telexNumber: one part
telexNumber: 1$2$3
madeUpByAnOverlay: 1
mail: w@example.com
mail: W@EXAMPLE.COM
mail: w@example.com

dn: uid=x,ou=People,dc=example,dc=com
objectClass: nonsense
uid: x
cn: x
sn: x

dn: uid=y,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
uid: y
cn: y
sn: \u{20}
";
    let repair = ImportOptions { repair: true, skip_problems: true, ..ImportOptions::default() };
    let dry = ImportOptions { dry_run: true, ..repair };
    let sample = Sample::people();
    assert!(import(&sample, text, ImportOptions::default()).unwrap_err().to_string().contains("madeUpByAnOverlay"));
    for options in [dry, repair] {
        let (imported, told) = import(&sample, text, options).unwrap();
        assert_eq!(imported, Imported { left_out: 6, ..taken(1, 2) }, "{told:#?}");
        let about =
            ["madeUpByAnOverlay", "cn, value 2", "otherMailbox, value 1", "telexNumber, value 1", "mail, value 2"];
        for (told, about) in told.iter().zip(about) {
            assert!(told.starts_with("x.ldif, line 1: uid=w,ou=people,dc=example,dc=com: left out: "), "{told}");
            assert!(told.contains(about), "{told} should be about {about}");
        }
        assert!(
            told[6].contains("no object class \"nonsense\"") && told[7].contains("requires attribute sn"),
            "{told:#?}"
        );
    }
    let found = sample.read("uid=w,ou=People,dc=example,dc=com", &["*"]);
    assert_eq!((found.values("cn"), found.values("mail")), (vec!["Weiß", "other"], vec!["w@example.com"]));
    assert_eq!((found.values("telexNumber"), found.values("otherMailbox").len()), (vec!["1$2$3"], 0));
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn classes_that_the_schema_does_not_have_are_left_out_where_there_are_others() {
    let sample = Sample::people();
    let repair = ImportOptions { repair: true, ..ImportOptions::default() };
    let text = "dn: cn=x,dc=example,dc=com\nobjectClass: person\nobjectClass: nsPerson\nobjectClass: nsRole\n\
                structuralObjectClass: nsPerson\ncn: x\nsn: x\n";
    import(&sample, text, ImportOptions::default()).unwrap_err();
    let (imported, told) = import(&sample, text, repair).unwrap();
    assert_eq!((imported.entries, imported.left_out), (1, 2), "{told:?}");
    assert!(told[1].contains("objectClass, value 3: the schema has no object class \"nsRole\""), "{told:?}");
    let found = sample.read("cn=x,dc=example,dc=com", &["*", "+"]);
    assert_eq!((found.values("objectClass"), found.values("structuralObjectClass")), (vec!["person"], vec!["person"]));
    let text = "dn: cn=y,dc=example,dc=com\nobjectClass: top\nobjectClass: nsRole\ncn: y\n";
    let error = import(&sample, text, repair).unwrap_err().to_string();
    assert!(error.contains("none of top is structural"), "{error}");
    assert_eq!(problems(&sample), Vec::<String>::new());
}

/// As Active Directory's ldifde writes them: of its classes hardly any is known elsewhere.
#[test]
fn attributes_of_classes_that_were_left_out_are_left_out_too() {
    let sample = Sample::people();
    let repair = ImportOptions { repair: true, ..ImportOptions::default() };
    let text = "dn: CN=Jos\u{e9},DC=example,DC=com\nchangetype: add\nobjectClass: top\nobjectClass: person\n\
                objectClass: user\ncn: Jos\u{e9}\nsn: x\nname: Jos\u{e9}\nuidNumber: 7\ntelephoneNumber: 1\n\
                distinguishedName: CN=Jos\u{e9},DC=example,DC=com\nsAMAccountName: jose\n";
    let (imported, told) = import(&sample, text, repair).unwrap();
    assert_eq!((imported.entries, imported.left_out), (1, 5), "{told:#?}");
    for what in
        ["sAMAccountName: the schema has no", "name: none of", "uidNumber: none of", "distinguishedName: none of"]
    {
        assert!(told.iter().any(|told| told.contains(&format!("left out: {what}"))), "{what}: {told:#?}");
    }
    let found = sample.read("cn=Jos\u{e9},dc=example,dc=com", &["*"]);
    assert_eq!((found.values("telephoneNumber"), found.values("name")), (vec!["1"], Vec::<&str>::new()));
    // Its name it keeps, allowed or not.
    let text = "dn: uid=y,dc=example,dc=com\nobjectClass: person\nuid: y\ncn: y\nsn: y\n";
    let error = import(&sample, text, repair).unwrap_err().to_string();
    assert!(error.contains("uid: none of"), "{error}");
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn a_value_that_names_its_entry_is_not_left_out() {
    let sample = Sample::people();
    let repair = ImportOptions { repair: true, ..ImportOptions::default() };
    let text = "dn: cn=Weiss,dc=example,dc=com\nobjectClass: device\ncn: Weiß\ncn: Weiss\n\n\
                dn: telexNumber=none,dc=example,dc=com\nobjectClass: organizationalRole\ncn: x\ntelexNumber: none\n";
    let error = import(&sample, text, repair).unwrap_err().to_string();
    assert!(error.contains("telexNumber"), "{error}");
    assert_eq!(sample.read("cn=Weiss,dc=example,dc=com", &["cn"]).values("cn"), ["Weiß"]);
}

#[test]
fn passwords_that_nobody_can_use_are_counted_by_their_scheme() {
    let person = |uid: &str, password: &str| {
        let classes = "objectClass: account\nobjectClass: simpleSecurityObject\n";
        format!("dn: uid={uid},ou=People,dc=example,dc=com\n{classes}uid: {uid}\nuserPassword: {password}\n\n")
    };
    let stored = ["{SASL}a@EXAMPLE.COM", "{SASL}b@EXAMPLE.COM", "{CRYPT}$7$x", "{CRYPT}!", "{CRYPT}abNANd1rDfiNc", "x"];
    let text: String = (0..).zip(stored).map(|(n, stored)| person(&format!("p{n}"), stored)).collect();
    let (imported, _) = import(&Sample::people(), &text, ImportOptions::default()).unwrap();
    let unmatchable = [("{SASL}".to_string(), 2), ("{CRYPT}".to_string(), 1)].into();
    assert_eq!(imported, Imported { unmatchable, ..taken(6, 0) });
}

#[test]
fn values_come_from_files_that_urls_name_rfc2849() {
    let sample = Sample::people();
    let folder = tempfile::tempdir().unwrap();
    let photo = "no real photo".repeat(10_000);
    std::fs::write(folder.path().join("a photo.jpg"), &photo).unwrap();
    let path = folder.path().display();
    let person = |uid: &str, url: &str| {
        format!(
            "dn: uid={uid},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: {uid}\njpegPhoto:< {url}\n\n"
        )
    };
    let text = [
        person("there", &format!("file://{path}/a%20photo.jpg")),
        person("missing", &format!("file://{path}/none")),
        person("folder", &format!("file://{path}")),
        person("far", "http://example.com/photo.jpg"),
    ];
    let options = ImportOptions { skip_problems: true, ..ImportOptions::default() };
    let (imported, problems) = import(&sample, &text.concat(), options).unwrap();
    assert_eq!((imported.entries, problems.len()), (1, 3), "{problems:?}");
    assert!(problems[0].starts_with("x.ldif, line 13: ") && problems[0].contains("No such file"), "{problems:?}");
    assert!(problems[1].contains("it is not a regular file"), "{problems:?}");
    assert!(problems[2].contains("file:///"), "{problems:?}");
    assert_eq!(sample.read("uid=there,dc=example,dc=com", &["jpegPhoto"]).values("jpegPhoto"), [photo]);
}

#[test]
fn names_and_classes_are_imported_in_the_form_in_which_they_are_sent() {
    let sample = Sample::people();
    let group = "dn: CN = some , ou=People, dc=example,dc=com\nobjectClass: groupofnames\nmember: uid=a, ou=b ; dc=x\n";
    import(&sample, group, ImportOptions::default()).unwrap();
    let found = sample.read("cn=some,ou=People,dc=example,dc=com", &["*"]);
    assert_eq!(found.names(), ["cn=some,ou=People,dc=example,dc=com"]);
    assert_eq!((found.values("objectClass"), found.values("member")), (vec!["groupOfNames"], vec!["uid=a,ou=b,dc=x"]));
}

fn export(sample: &Sample, base: Option<&str>) -> String {
    let mut out = Vec::new();
    sample.directory.export(base, &mut out, &mut |_, _| true).unwrap();
    String::from_utf8(out).unwrap()
}

/// People and a large group, as LDIF.
fn many() -> String {
    let mut text = format!("version: 1\n{PEOPLE}\n");
    let mut group = "dn: cn=many,ou=Groups,dc=example,dc=com\nobjectClass: groupOfNames\ncn: many\n".to_string();
    for n in 0..3000 {
        let name = format!("uid=u{n},ou=People,dc=example,dc=com");
        text += &format!("dn: {name}\nobjectClass: inetOrgPerson\ncn: User {n}\nsn: Name {}\nmail: u{n}@x\n\n", n % 10);
        group += &format!("member: {name}\n");
    }
    text + &group
}

#[test]
fn what_is_loaded_table_by_table_is_what_is_added_entry_by_entry() {
    let bulk = Sample::empty();
    let (imported, told) = import(&bulk, &many(), ImportOptions::default()).unwrap();
    assert_eq!((imported, told), (taken(3007, 0), vec![]));
    assert_eq!(problems(&bulk), Vec::<String>::new());
    assert_eq!(bulk.found("(&(sn=name 3)(cn=user 13))"), ["uid=u13,ou=People,dc=example,dc=com"]);
    assert_eq!(bulk.found("(sn=name 3)").len(), 300);
    let group = "cn=many,ou=Groups,dc=example,dc=com";
    assert_eq!(bulk.found("(member=uid=u7,ou=people,dc=example,dc=com)"), [group]);
    assert_eq!(bulk.read(group, &[]).values("member").len(), 3000);
    bulk.modify(group, &[(Add, "member", &["cn=x"])]).unwrap();

    let text = export(&bulk, None);
    let again = Sample::empty();
    again.load("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
    let (_, told) = import(&again, &text, ImportOptions { skip_problems: true, ..ImportOptions::default() }).unwrap();
    assert_eq!(told.len(), 1, "the suffix is there already: {told:?}");
    assert_eq!(problems(&again), Vec::<String>::new());
    let below = Some("ou=People,dc=example,dc=com");
    assert!(export(&again, below) == export(&bulk, below), "identifiers and times are kept too");
}

#[test]
fn values_under_an_option_are_exported_as_such_beside_very_many_without() {
    let (sample, again) = (Sample::empty(), Sample::empty());
    import(&sample, &many(), ImportOptions::default()).unwrap();
    let group = "cn=many,ou=Groups,dc=example,dc=com";
    sample.modify(group, &[(Add, "member;lang-de", &["cn=x", "uid=u7,ou=People,dc=example,dc=com"])]).unwrap();
    import(&again, &export(&sample, None), ImportOptions::default()).unwrap();
    let values = |sample: &Sample, name: &str| sample.read(group, &["member"]).values(name).len();
    assert_eq!((values(&again, "member"), values(&again, "member;lang-de")), (3000, 2));
    assert!(export(&again, None) == export(&sample, None));
}

#[test]
fn an_import_that_fails_names_file_and_line_and_leaves_nothing() {
    let sample = Sample::empty();
    let wrong = format!("{PEOPLE}\ndn: uid=x,ou=Nowhere,dc=example,dc=com\nobjectClass: account\n");
    let error = import(&sample, &wrong, ImportOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("x.ldif, line 39: ") && error.contains("no entry \"ou=nowhere,"), "{error}");
    assert_eq!(export(&sample, None), "");
    for (record, told) in [
        (
            "dn: uid=x,dc=example,dc=com\nobjectClass: account\nnonsense: x\n",
            "line 40: uid=x,dc=example,dc=com: nonsense",
        ),
        ("dn: uid=x,dc=example,dc=com\nno colon\n", "line 41: expected"),
        ("dn: uid=x,dc=elsewhere\nobjectClass: account\n", "below no suffix"),
        ("dn: uid=x,dc=example,dc=com\nchangetype: delete\n", "this is a change"),
        ("dn: dc=example,dc=com\nobjectClass: domain\n", "an entry of this name came before"),
    ] {
        let error = import(&sample, &format!("\n{PEOPLE}\n{record}"), ImportOptions::default()).unwrap_err();
        assert!(error.to_string().contains(told), "{error} should say {told}");
    }
    let options = ImportOptions { skip_problems: true, ..ImportOptions::default() };
    let (imported, told) = import(&sample, &wrong, options).unwrap();
    assert_eq!((imported, told.len()), (taken(6, 1), 1));
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn nothing_is_changed_while_an_import_is_under_way() {
    let sample = Sample::empty();
    let db = sample.directory.database();
    let add = || sample.add("dc=example,dc=com", &[("objectClass", vec![&b"domain"[..]])]);
    // As another process does that begins one.
    db.update(|txn| txn.table("meta")?.put("import", "running")).unwrap();
    assert_eq!(add().unwrap_err().code, ResultCode::BUSY);
    // Nor is anything told of what does not fit together yet, but for what is not stored.
    assert_eq!(code(sample.search(BASE, "(objectClass=*)", &Ask::default())), ResultCode::BUSY);
    assert_eq!(sample.directory.credentials(&Requester::internal(), JENSEN).unwrap_err().code, ResultCode::BUSY);
    assert_eq!(code(sample.compare(JENSEN, "cn", "x")), ResultCode::BUSY);
    let root = Ask { scope: Scope::Base, ..Ask::default() };
    assert_eq!(sample.search("", "(objectClass=*)", &root).unwrap().entries.len(), 1);
    db.update(|txn| txn.table("meta")?.delete("import")).unwrap();
    add().unwrap();
    assert_eq!(problems(&sample), Vec::<String>::new());
}

/// Text of whom nobody knows when he goes on. Whenever more of it is waited for, others try to write.
struct Hesitant<'h> {
    text: &'h [u8],
    directory: &'h Directory,
    /// How often they could, and could not.
    tries: (u32, u32),
}

impl Read for Hesitant<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.directory.database().try_begin_write() {
            Ok(_) => self.tries.0 += 1,
            Err(_) => self.tries.1 += 1,
        }
        self.text.read(buffer)
    }
}

#[test]
fn others_write_while_an_import_waits_for_its_text() {
    let sample = Sample::people();
    // More than is read ahead.
    let filler = "x".repeat(1 << 20);
    let device = |n: u32| format!("dn: cn=d{n},{BASE}\nobjectClass: device\ncn: d{n}\ndescription: {filler}\n\n");
    let ahead = 4 * std::thread::available_parallelism().map_or(2, |threads| threads.get() as u32);
    let text: String = (0..ahead + 4).map(device).collect();
    let slow = Hesitant { text: text.as_bytes(), directory: &sample.directory, tries: (0, 0) };
    let mut slow = BufReader::with_capacity(1 << 20, slow);
    let imported =
        sample.directory.import("-", &mut slow, ImportOptions::default(), &mut |_: ImportEvent<'_>| true).unwrap();
    assert_eq!(imported, taken(u64::from(ahead) + 4, 0));
    let (free, held) = slow.get_ref().tries;
    assert!(free > ahead && held == 0, "{free} times they could write, {held} times they could not");
    // Nothing is decided before there is something to decide about.
    let empty = Sample::empty();
    let slow = Hesitant { text: PEOPLE.as_bytes(), directory: &empty.directory, tries: (0, 0) };
    let mut slow = BufReader::with_capacity(1 << 20, slow);
    empty.directory.import("-", &mut slow, ImportOptions::default(), &mut |_: ImportEvent<'_>| true).unwrap();
    assert_eq!(slow.get_ref().tries.0, 1, "the first of the text");
}

#[test]
fn an_import_beside_another_is_refused_and_takes_nothing_away() {
    let sample = Sample::people();
    let db = sample.directory.database();
    let others = || db.read().unwrap().table("entry").unwrap().len();
    let before = others();
    let more = format!("dn: cn=d,{BASE}\nobjectClass: device\ncn: d\n");
    // Of another process: one that has loaded entries, and one that has only begun.
    for is_loaded in [true, false] {
        db.update(|txn| {
            if !is_loaded {
                txn.table("entry")?.clear()?;
            }
            txn.table("meta")?.put("import", "running")
        })
        .unwrap();
        let error = import(&sample, &more, ImportOptions::default()).unwrap_err().to_string();
        assert!(error.contains("under way"), "{error}");
        assert_eq!(others(), if is_loaded { before } else { 0 });
        assert!(db.read().unwrap().table("meta").unwrap().contains_key("import").unwrap(), "the mark is the other's");
        assert!(!db.read().unwrap().table("name").unwrap().is_empty(), "and so is what is loaded");
        let error = Directory::open(sample.folder.path(), Config::default()).map(drop).unwrap_err().to_string();
        assert!(error.contains("under way; if it was interrupted: remove"), "{error}");
    }
}

#[test]
fn what_stands_before_its_parent_waits_for_it() {
    let text = many();
    let mut records: Vec<&str> = text.trim_start_matches("version: 1").split("\n\n").map(str::trim).collect();
    records.reverse();
    let sample = Sample::empty();
    let (imported, told) = import(&sample, &records.join("\n\n"), ImportOptions::default()).unwrap();
    assert_eq!((imported, told), (taken(3007, 0), vec![]));
    assert_eq!(problems(&sample), Vec::<String>::new());
    assert_eq!(sample.found("(&(sn=name 3)(cn=user 13))"), ["uid=u13,ou=People,dc=example,dc=com"]);

    let below = "dn: cn=b,cn=a,dc=example,dc=com\nobjectClass: device\ncn: b\n\n\
                 dn: cn=c,cn=b,cn=a,dc=example,dc=com\nobjectClass: device\ncn: c\n\n";
    let above = "dn: cn=a,dc=example,dc=com\nobjectClass: device\ncn: a\n";
    let dry = ImportOptions { dry_run: true, ..ImportOptions::default() };
    for options in [dry, ImportOptions::default()] {
        assert_eq!(import(&sample, &format!("{below}{above}"), options).unwrap().0.entries, 3);
    }
    assert_eq!(problems(&sample), Vec::<String>::new());
    assert_eq!(sample.found("(objectClass=device)").len(), 3);

    let nowhere = below.replace("cn=a,", "cn=nowhere,");
    let skipping = ImportOptions { skip_problems: true, ..ImportOptions::default() };
    let (imported, told) = import(&sample, &nowhere, skipping).unwrap();
    assert_eq!(imported, taken(0, 2));
    assert!(told.len() == 1 && told[0].starts_with("x.ldif, line 1: "), "{told:?}");
}

#[test]
fn what_is_below_an_entry_that_is_left_out_is_told_of_in_one_line() {
    let device = |name: &str| format!("dn: {name},dc=example,dc=com\nobjectClass: device\ncn: x\n\n");
    let names = ["cn=b,cn=a", "cn=c,cn=b,cn=a", "cn=d,cn=b,cn=a", "cn=e,cn=c,cn=b,cn=a", "cn=g,cn=f", "cn=h"];
    let text = format!("dn: cn=a,dc=example,dc=com\nobjectClass: nonsense\n\n{}", names.map(device).concat());
    let skipping = ImportOptions { skip_problems: true, ..ImportOptions::default() };
    let (imported, told) = import(&Sample::people(), &text, skipping).unwrap();
    assert_eq!((imported, told.len()), (taken(1, 6), 3), "{told:#?}");
    assert!(told[1].starts_with("x.ldif, line 4: cn=b,cn=a,"), "{told:#?}");
    assert!(told[1].ends_with("; left out with it are 3 below it"), "{told:#?}");
    assert!(told[2].starts_with("x.ldif, line 20: cn=g,cn=f,") && told[2].ends_with("in the directory"), "{told:#?}");
}

/// As schema that people make often is: nothing says that its classes are below `top`.
#[test]
fn each_class_is_below_top_whether_its_description_says_so_or_not_rfc4512_2_4() {
    let text = "objectclass ( 1.1.1 NAME 'ownThing' STRUCTURAL MUST cn )\n\
                objectclass ( 1.1.2 NAME 'ownBase' ABSTRACT MUST cn )\nobjectclass ( 1.1.3 NAME 'ownKind' SUP ownBase )\n";
    let schema = vec![SchemaFile { name: "own.schema".into(), text: text.into() }];
    let sample = Sample::with(Config { schema, ..Config::default() });
    sample.load("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
    for (name, classes) in
        [("a", "objectClass: ownThing"), ("b", "objectClass: ownKind"), ("c", "objectClass: top\nobjectClass: ownKind")]
    {
        let ldif = format!("dn: cn={name},dc=example,dc=com\n{classes}\ncn: {name}\n");
        assert_eq!(import(&sample, &ldif, ImportOptions::default()).unwrap().0, taken(1, 0));
    }
    assert_eq!(problems(&sample), Vec::<String>::new());
    assert_eq!(sample.found("(objectClass=ownBase)").len(), 2);
}

#[test]
fn a_try_says_the_same_and_writes_nothing() {
    let sample = Sample::empty();
    let options = ImportOptions { dry_run: true, ..ImportOptions::default() };
    assert_eq!(import(&sample, &many(), options).unwrap().0.entries, 3007);
    assert!(import(&sample, &format!("{PEOPLE}{PEOPLE}"), options).is_err());
    assert_eq!(export(&sample, None), "");
}

/// As slapd with its overlays `ppolicy`, `memberof` and `lastbind` has them.
#[test]
fn what_slapd_noted_down_of_passwords_is_kept_and_what_nobody_keeps_up_to_date_here_is_left_out() {
    let sample = Sample::empty();
    let ldif = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
        dn: cn=default,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\ncn: default\n\
        pwdAttribute: userPassword\npwdMaxFailure: 5\n\n\
        dn: cn=babs,dc=example,dc=com\nobjectClass: person\ncn: babs\nsn: Jensen\nuserPassword: secret\n\
        memberOf: cn=team,dc=example,dc=com\nauthTimestamp: 20260101000000Z\npwdChangedTime: 20260101000000Z\n\
        pwdHistory: 20260101000000Z#1.3.6.1.4.1.1466.115.121.1.40#6#before\npwdFailureTime: 20260101000000.000000Z\n\
        pwdAccountLockedTime: 000001010000Z\npwdPolicySubentry: cn=default,dc=example,dc=com\n\
        createTimestamp: 20200101000000Z\nentryExpireTimestamp: 20300101000000Z\nentryTtl: 5\n";
    let (imported, _) = import(&sample, ldif, ImportOptions::default()).unwrap();
    let person = sample.read("cn=babs,dc=example,dc=com", &["*", "+"]);
    assert_eq!(person.values("createTimestamp"), ["20200101000000Z"]);
    assert_eq!(person.values("pwdAccountLockedTime"), ["000001010000Z"]);
    assert_eq!(person.values("pwdPolicySubentry"), ["cn=default,dc=example,dc=com"]);
    assert_eq!(person.values("pwdChangedTime"), ["20260101000000Z"]);
    assert_eq!(person.values("pwdHistory"), ["20260101000000Z#1.3.6.1.4.1.1466.115.121.1.40#6#before"]);
    assert_eq!(person.values("pwdFailureTime"), ["20260101000000.000000Z"]);
    for left_out in ["memberOf", "authTimestamp", "entryExpireTimestamp", "entryTtl"] {
        assert!(person.values(left_out).is_empty(), "{left_out}");
        assert_eq!(imported.not_kept.get(left_out), Some(&1), "{left_out}");
    }
    assert_eq!(imported.not_kept.len(), 4, "{imported:?}");
    assert_eq!(sample.found("(pwdMaxFailure>=5)"), ["cn=default,dc=example,dc=com"]);
}

/// As slapd has them where users may act as others.
#[test]
fn who_may_act_as_whom_in_slapd_is_kept() {
    let sample = Sample::empty();
    let rules = "authzTo: {0}dn.regex:^uid=[^,]*,dc=example,dc=com$\nauthzTo: {1}u:proxy\nauthzFrom: dn:*\n";
    let ldif = format!("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n{rules}");
    import(&sample, &ldif, ImportOptions::default()).unwrap();
    assert!(sample.read("dc=example,dc=com", &["*"]).values("authzTo").is_empty(), "they are operational");
    assert!(export(&sample, None).contains(rules), "{}", export(&sample, None));
    assert_eq!(sample.found("(saslAuthzFrom=dn.exact:\\2a)"), ["dc=example,dc=com"]);
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn values_with_an_option_that_their_type_cannot_have_are_refused_or_left_out() {
    let ldif = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\ndescription;binary: x\ndescription: y\n";
    let error = import(&Sample::empty(), ldif, ImportOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("x.ldif, line 1: ") && error.contains("description;binary: "), "{error}");
    let sample = Sample::empty();
    let (imported, told) = import(&sample, ldif, ImportOptions { repair: true, ..ImportOptions::default() }).unwrap();
    assert_eq!((imported.entries, imported.left_out, told.len()), (1, 1, 1), "{told:?}");
    assert_eq!(sample.read(BASE, &[]).values("description"), ["y"]);
}

/// As slapd has them above what it replicates.
#[test]
fn entries_that_stand_only_for_names_are_kept_as_they_are() {
    let sample = Sample::empty();
    let glue = |dn: &str| format!("dn: {dn}\nobjectClass: top\nobjectClass: glue\nstructuralObjectClass: glue\n\n");
    let (suffix, unit) = ("dc=example,dc=com", "ou=people,dc=example,dc=com");
    let ldif = [glue(suffix), glue(unit), format!("dn: cn=a,{unit}\nobjectClass: device\n")].concat();
    assert_eq!(import(&sample, &ldif, ImportOptions::default()).unwrap().0, taken(3, 0));
    let written = export(&sample, None);
    assert!(written.contains("objectClass: glue\n") && !written.contains("\nou:"), "slapadd refuses ou: {written}");
    assert_eq!(import(&Sample::empty(), &written, ImportOptions::default()).unwrap().0, taken(3, 0));
    sample.modify(suffix, &[(Add, "objectClass", &["dcObject"]), (Add, "dc", &["example"])]).unwrap();
    sample.rename(unit, "ou=persons", true, None).unwrap();
    let unit = "ou=persons,dc=example,dc=com";
    let unnamed = sample.modify(unit, &[(Replace, "objectClass", &["organizationalUnit"])]);
    assert_eq!(code(unnamed), ResultCode::NOT_ALLOWED_ON_RDN);
    let classes: &[&str] = &["organizationalUnit"];
    sample.modify(unit, &[(Replace, "objectClass", classes), (Add, "ou", &["persons"])]).unwrap();
    assert_eq!(sample.found("(ou=persons)"), [unit]);
    assert_eq!(
        code(sample.modify(unit, &[(Replace, "objectClass", &["glue"])])),
        ResultCode::OBJECT_CLASS_MODS_PROHIBITED
    );
    assert_eq!(problems(&sample), Vec::<String>::new());
}

/// Two devices, with what the operational attributes of the second are to be.
fn devices(second: &str) -> String {
    format!(
        "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
         dn: cn=a,dc=example,dc=com\nobjectClass: device\ncn: a\nentryUUID: {IDENTIFIER}\n\n\
         dn: cn=b,dc=example,dc=com\nobjectClass: device\ncn: b\n{second}\n"
    )
}

const IDENTIFIER: &str = "597ae2f6-16a6-1027-98f4-d28b5365dc00";

#[test]
fn a_structural_class_other_than_the_one_of_the_classes_is_refused() {
    for (said, is_right) in [("device", true), ("2.5.6.14", true), ("person", false), ("nonsense", false)] {
        let sample = Sample::empty();
        let outcome = import(&sample, &devices(&format!("structuralObjectClass: {said}")), ImportOptions::default());
        match outcome {
            Ok(_) => {
                assert!(is_right, "{said}");
                let read = sample.read("cn=b,dc=example,dc=com", &["+"]);
                assert_eq!(read.values("structuralObjectClass"), ["device"]);
            }
            Err(error) => {
                let error = error.to_string();
                assert!(!is_right && error.starts_with("x.ldif, line 10: "), "{error}");
                assert!(error.contains(&format!("structuralObjectClass: it is \"{said}\"")), "{error}");
            }
        }
    }
}

#[test]
fn a_check_finds_structural_classes_that_no_longer_follow_from_the_classes() {
    let schema = |kind: &str| Config {
        schema: vec![SchemaFile {
            name: "own.schema".into(),
            text: format!("objectclass ( 1.1.1 NAME 'ownDevice' SUP {kind} )"),
        }],
        ..Config::default()
    };
    let sample = Sample::with(schema("device STRUCTURAL"));
    import(&sample, &devices("objectClass: ownDevice"), ImportOptions::default()).unwrap();
    assert_eq!(problems(&sample), Vec::<String>::new());
    let Sample { directory, folder } = sample;
    drop(directory);
    let directory = Directory::open(folder.path(), schema("top AUXILIARY")).unwrap();
    let found = problems(&Sample { directory, folder });
    assert!(found.len() == 1 && found[0].contains("(cn=b): structuralObjectClass: it is \"ownDevice\""), "{found:?}");
}

#[test]
fn an_identifier_that_another_entry_has_is_refused_rfc4530_2() {
    // The same one in other letters.
    let twice = devices(&format!("entryUUID: {}", IDENTIFIER.to_uppercase()));
    let dry = ImportOptions { dry_run: true, ..ImportOptions::default() };
    let skipping = ImportOptions { skip_problems: true, ..ImportOptions::default() };
    let sample = Sample::empty();
    for options in [dry, ImportOptions::default()] {
        let error = import(&sample, &twice, options).unwrap_err().to_string();
        assert!(error.starts_with("x.ldif, line 10: ") && error.contains(IDENTIFIER), "{error}");
    }
    let (imported, told) = import(&sample, &twice, skipping).unwrap();
    assert_eq!((imported.entries, told.len()), (2, 1));
    let another = twice.replace("cn=a", "cn=c").replace("cn: a", "cn: c");
    for options in [dry, skipping] {
        let told = import(&sample, &another, ImportOptions { skip_problems: true, ..options }).unwrap().1;
        assert!(told[1].starts_with("x.ldif, line 5: ") && told[1].contains(IDENTIFIER), "{told:?}");
    }
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn the_first_entry_with_the_identifier_of_one_before_it_is_told_with_an_index_or_without() {
    // More than the index has in one set of ids; a child that waits for its parent; and two with identifiers of others.
    let device = |n: u32, identifier: u32| {
        format!(
            "\ndn: cn=d{n},dc=example,dc=com\nobjectClass: device\nentryUUID: {identifier:08x}-0000-4000-8000-000000000000\n"
        )
    };
    let mut text = "dn: cn=x,cn=d2,dc=example,dc=com\nobjectClass: device\n\n\
                    dn: dc=example,dc=com\nobjectClass: domain\n"
        .to_string();
    (0..8300).for_each(|n| text += &device(n, n));
    text += &device(8300, 17);
    text += &device(8301, 8299);
    for indices in [None, Some(vec![])] {
        let sample = Sample::with(Config { indices, ..Config::default() });
        let told = "x.ldif, line 33207: constraintViolation (19): cn=d8300,dc=example,dc=com: another entry has the entryUUID \
                    00000011-0000-4000-8000-000000000000";
        let error = import(&sample, &text, ImportOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with(told), "{error}");
        assert_eq!(export(&sample, None), "");
        sample.load("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n");
        let options = ImportOptions { skip_problems: true, ..ImportOptions::default() };
        assert_eq!(import(&sample, &text, options).unwrap().1.len(), 3, "the suffix is there already");
    }
}

#[test]
fn a_check_finds_identifiers_of_several_entries() {
    // Without an index nobody knows that another entry has it.
    let sample = Sample::with(Config { indices: Some(vec![]), ..Config::default() });
    import(&sample, &devices(""), ImportOptions::default()).unwrap();
    let attributes: [(&str, Vec<&[u8]>); 3] =
        [("objectClass", vec![b"device"]), ("cn", vec![b"x"]), ("entryUUID", vec![IDENTIFIER.as_bytes()])];
    let relax = [control(oid::RELAX)];
    sample.add_as(&Requester::internal(), "cn=x,dc=example,dc=com", &attributes, &relax).unwrap();
    let Sample { directory, folder } = sample;
    drop(directory);
    let config = Config { indices: Some(Index::defaults()), ..Config::default() };
    let sample = Sample { directory: Directory::open(folder.path(), config).unwrap(), folder };
    sample.directory.reindex(&mut |_, _| true).unwrap();
    assert_eq!(problems(&sample), [format!("more than one entry has the entryUUID {IDENTIFIER}")]);
}

#[test]
fn what_is_left_of_indices_that_are_gone_is_in_no_imports_way() {
    let sample = Sample::empty();
    import(&sample, PEOPLE, ImportOptions::default()).unwrap();
    let without = Config { indices: Some(vec![]), suffixes: vec![BASE.into()], ..Config::default() };
    sample.directory.reconfigure(without).unwrap();
    sample.delete(BASE, &[control(oid::TREE_DELETE)]).unwrap();
    assert_eq!(import(&sample, PEOPLE, ImportOptions::default()).unwrap().0, taken(6, 0));
    assert_eq!((sample.found("(uid=jsmith)").len(), problems(&sample)), (1, Vec::new()));
}

#[test]
fn keys_that_no_index_has_are_taken_away_whatever_they_are() {
    let sample = Sample::people();
    let db = sample.directory.database();
    // What waits to be merged is merged by it, too.
    sample.directory.reindex(&mut |_, _| true).unwrap();
    let others = db.read().unwrap().table("index").unwrap().len();
    let damaged = [[0, 1, 255, 7], [255, 255, 254, 7], [255, 255, 255, 7]];
    db.update(|txn| damaged.iter().try_for_each(|key| txn.table("index")?.put(key, "x").map(drop))).unwrap();
    sample.directory.reindex(&mut |_, _| true).unwrap();
    assert_eq!(db.read().unwrap().table("index").unwrap().len(), others);
    assert_eq!(problems(&sample), Vec::<String>::new());
}

#[test]
fn a_record_with_a_critical_control_is_no_record_for_an_import_rfc2849() {
    let sample = Sample::people();
    let record = |control: &str| {
        let text = format!("dn: cn=a,{BASE}\ncontrol: {control}\nchangetype: add\nobjectClass: device\ncn: a\n");
        import(&sample, &text, ImportOptions { dry_run: true, ..ImportOptions::default() })
    };
    let told = record("1.3.6.1.4.1.4203.666.5.12 true").unwrap_err().to_string();
    assert!(told.starts_with("x.ldif, line 1: ") && told.contains("5.12 is critical") && told.contains("ldapmodify"));
    for heeded in ["1.3.6.1.4.1.4203.666.5.12", "1.3.6.1.4.1.4203.666.5.12 false", "2.16.840.1.113730.3.4.2 true"] {
        assert_eq!(record(heeded).unwrap().0, taken(1, 0), "{heeded}");
    }
}
