//! Samba's ldb, with its records and indexes in LMDB: `mdb://`.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::library::{self, BOTH, Library, Said, Way};

const PEOPLE: u32 = 400;

fn person(i: u32) -> String {
    format!(
        "dn: cn=u{i},dc=example\nobjectClass: person\ncn: u{i}\nsn: name {}\nuidNumber: {i}\nobjectUUID: {i:016}\n\n",
        i % 40
    )
}

fn ldb(library: Library, place: &Path, program: &str, arguments: &[&str]) -> Said {
    let at = format!("mdb://{}", place.join("it.ldb").display());
    let mut said = library.run(Way::Linked, program, &[&["-H", &at], arguments].concat());
    said.out = said.out.replace(place.to_str().unwrap(), "");
    said
}

/// Adds or changes what is in the text.
fn apply(library: Library, place: &Path, program: &str, ldif: &str) -> Said {
    let file = place.join("ldif");
    fs::write(&file, ldif).unwrap();
    ldb(library, place, program, &[file.to_str().unwrap()])
}

/// Answers to some questions, in order.
fn answers(library: Library, place: &Path) -> Vec<String> {
    ["(cn=u77)", "(sn=name 7)", "(&(sn=name 8)(uidNumber=88))", "(cn=nobody)", "(sn=changed)", "(cn=renamed)", "(cn=*)"]
        .iter()
        .flat_map(|filter| {
            let found = ldb(library, place, "ldbsearch", &["-b", "dc=example", "-s", "sub", filter, "cn", "sn"]).well();
            let mut entries: Vec<String> =
                found.split("\n\n").filter(|text| text.contains("dn:")).map(without_count).collect();
            entries.sort();
            entries
        })
        .collect()
}

/// An entry without the remark that numbers it.
fn without_count(entry: &str) -> String {
    entry.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

fn filled(library: Library, place: &Path) {
    // With LMDB below, ldb wants to find records by a number of 16 bytes.
    let index = "dn: @INDEXLIST\n@IDXATTR: cn\n@IDXATTR: sn\n@IDXGUID: objectUUID\n@IDX_DN_GUID: GUID\n\n";
    apply(library, place, "ldbadd", index).well();
    let mut people = String::from("dn: dc=example\nobjectClass: domain\ndc: example\nobjectUUID: of the whole one\n\n");
    (0..PEOPLE).for_each(|i| people.write_str(&person(i)).unwrap());
    apply(library, place, "ldbadd", &people).well();
}

#[test]
fn ldb_adds_finds_changes_and_deletes() {
    let [stock, ours] = BOTH.map(|library| {
        let place = library::place();
        let place = place.path();
        filled(library, place);
        let added = answers(library, place);
        let twice = apply(library, place, "ldbadd", &person(5));
        let change = "dn: cn=u9,dc=example\nchangetype: modify\nreplace: sn\nsn: changed\n\n";
        apply(library, place, "ldbmodify", change).well();
        ldb(library, place, "ldbdel", &["cn=u10,dc=example"]).well();
        let gone = ldb(library, place, "ldbdel", &["cn=u10,dc=example"]);
        ldb(library, place, "ldbrename", &["cn=u11,dc=example", "cn=renamed,dc=example"]).well();
        if library == Library::Ours {
            library::assert_clean(&place.join("it.ldb"));
        }
        (added, twice.code, gone.code, answers(library, place))
    });
    assert_eq!(stock, ours);
    assert!(ours.0.len() > PEOPLE as usize && ours.1 != Some(0) && ours.2 != Some(0), "{ours:?}");
}

/// All that `ldbadd` is given is one transaction: one that is killed in its midst has added nothing.
#[test]
fn an_ldbadd_that_is_killed_leaves_what_was_there() {
    let place = library::place();
    let at = place.path();
    filled(Library::Ours, at);
    let before = answers(Library::Ours, at);
    let mut command = Library::Ours.command(Way::Linked, "ldbadd");
    command.arg("-H").arg(format!("mdb://{}", at.join("it.ldb").display())).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    for i in 0..PEOPLE * 3 {
        input.write_all(person(PEOPLE + i).as_bytes()).unwrap();
    }
    // It has read most of them, and waits for the rest.
    library::assert_mapped(child.id());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(answers(Library::Ours, at), before);
    apply(Library::Ours, at, "ldbadd", &person(PEOPLE)).well();
    assert_eq!(answers(Library::Ours, at).len(), before.len() + 1);
    library::assert_clean(&at.join("it.ldb"));
}
