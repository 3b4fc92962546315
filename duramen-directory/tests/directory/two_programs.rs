//! A server, and tools that change schema and indices beside it.

use std::io::{BufReader, Read};

use duramen_directory::{Config, Directory, ImportOptions, Index, IndexKinds, SchemaFile};
use duramen_ldap::message::ChangeKind::{Add, Replace};
use duramen_ldap::message::{ResultCode, Scope};

use crate::sample::*;

const EQUALITY: IndexKinds = IndexKinds { presence: false, equality: true, substring: false };

fn with_indices(attributes: &[&str]) -> Config {
    let index = |attribute: &&str| Index { attribute: attribute.to_string(), kinds: EQUALITY };
    Config { indices: Some(attributes.iter().map(index).collect()), ..Config::default() }
}

/// A server with people, and these indices.
fn server(attributes: &[&str], config: Config) -> Sample {
    let sample = Sample::with(Config { indices: with_indices(attributes).indices, ..config });
    sample.load(PEOPLE);
    sample
}

/// Another program that opens the directory.
fn tool(server: &Sample, config: Config) -> Directory {
    Directory::open(server.folder.path(), config).unwrap()
}

fn reindex(tool: &Directory) {
    tool.reindex(&mut |_, _| true).unwrap();
}

fn device(n: u32) -> String {
    format!("dn: cn=d{n},{BASE}\nobjectClass: device\ncn: d{n}\nserialNumber: s{n}\n\n")
}

#[test]
fn an_index_that_a_tool_builds_has_what_the_server_stores_meanwhile() {
    let server = server(&["uid"], Config::default());
    server.load(&device(1));
    let tool = tool(&server, with_indices(&["uid", "serialNumber"]));
    server.load(&device(2));
    reindex(&tool);
    server.load(&device(3));
    server.modify(&format!("cn=d1,{BASE}"), &[(Replace, "serialNumber", &["s4"])]).unwrap();
    for (value, found) in [("s1", 0), ("s2", 1), ("s3", 1), ("s4", 1)] {
        let filter = format!("(serialNumber={value})");
        assert_eq!(server.found(&filter).len(), found, "{filter}");
    }
    assert!(server.plan(BASE, Scope::Subtree, "(serialNumber=s3)").contains("1 candidate"));
    assert_eq!(problems(&server), Vec::<String>::new());
}

#[test]
fn what_a_tool_takes_away_of_the_indices_the_server_does_without() {
    let server = server(&["uid", "cn"], Config { unique: vec!["uid".into()], ..Config::default() });
    reindex(&tool(&server, with_indices(&["cn"])));
    assert_eq!(server.found("(uid=bjensen)"), [JENSEN]);
    assert_eq!(server.found("(!(uid=*))").len() + server.found("(uid=*)").len(), server.found("(objectClass=*)").len());
    // Nobody can tell whether somebody has it already.
    let add = || server.modify(JENSEN, &[(Add, "uid", &["jsmith"])]);
    let refused = add().unwrap_err();
    assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM);
    assert!(refused.diagnostic.contains("another program") && refused.diagnostic.contains("uid"), "{refused}");
    reindex(&tool(&server, with_indices(&["uid", "cn"])));
    assert_eq!(ended(add()), ResultCode::CONSTRAINT_VIOLATION);
    assert_eq!(ended(server.modify(JENSEN, &[(Add, "uid", &["babs"])])), ResultCode::SUCCESS);
    assert_eq!((server.found("(uid=babs)").len(), problems(&server)), (1, Vec::new()));
}

#[test]
fn entries_with_schema_that_an_import_brings_are_found_changed_and_deleted_at_once() {
    let server = server(&["cn"], Config::default());
    let text = "attributetype ( 1.3.6.1.4.1.99999.1 NAME 'badge' SUP name )\n\
                objectclass ( 1.3.6.1.4.1.99999.2 NAME 'guest' SUP person STRUCTURAL MAY badge )\n";
    let schema = vec![SchemaFile { name: "guests.schema".into(), text: text.into() }];
    let guest = |n: u32| format!("dn: cn=g{n},{BASE}\nobjectClass: guest\ncn: g{n}\nsn: g\nbadge: b{n}\n\n");
    let tool = tool(&server, Config { schema, ..Config::default() });
    let text = [guest(1), guest(2)].concat();
    tool.import("guests.ldif", &mut text.as_bytes(), ImportOptions::default(), &mut |_| true).unwrap();
    assert_eq!((server.found("(badge=b1)").len(), server.found("(name=b2)").len()), (1, 1));
    server.modify(&format!("cn=g1,{BASE}"), &[(Replace, "badge", &["b3"])]).unwrap();
    server.delete(&format!("cn=g2,{BASE}"), &[]).unwrap();
    assert_eq!(server.found("(objectClass=person)").len(), 3);
    assert_eq!(problems(&server), Vec::<String>::new());
}

/// Gives a text, and does something once half of it has been read.
struct Interrupted<'t> {
    text: &'t [u8],
    half: usize,
    act: Option<Box<dyn FnOnce() + 't>>,
}

impl Read for Interrupted<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        if self.text.len() <= self.half
            && let Some(act) = self.act.take()
        {
            act();
        }
        self.text.read(bytes)
    }
}

#[test]
fn an_import_that_takes_long_keeps_the_indices_that_come_meanwhile() {
    let server = server(&["uid"], Config::default());
    let filler = format!("description: {}\n", "x".repeat(1 << 20));
    let text: String = (0..16).map(|n| device(n).replace("\n\n", &format!("\n{filler}\n"))).collect();
    let importing = tool(&server, Config::default());
    let act = || {
        server.directory.reconfigure(with_indices(&["uid", "serialNumber"])).unwrap();
        reindex(&tool(&server, Config::default()));
    };
    let slow = Interrupted { text: text.as_bytes(), half: text.len() / 2, act: Some(Box::new(act)) };
    let mut slow = BufReader::with_capacity(1 << 20, slow);
    importing.import("-", &mut slow, ImportOptions::default(), &mut |_| true).unwrap();
    assert!(slow.get_ref().act.is_none());
    server.directory.reconfigure(with_indices(&["uid", "serialNumber"])).unwrap();
    for n in 0..16 {
        assert_eq!(server.found(&format!("(serialNumber=s{n})")).len(), 1, "{n}");
    }
    assert_eq!(problems(&server), Vec::<String>::new());
}

#[test]
fn what_builds_an_index_ends_where_somebody_else_changes_which_there_are() {
    let server = server(&["uid"], Config::default());
    server.load(&(0..600).map(device).collect::<String>());
    let tool = tool(&server, with_indices(&["uid", "serialNumber"]));
    let mut told = 0;
    let outcome = tool.reindex(&mut |_, _| {
        told += 1;
        if told == 1 {
            // It is not kept for a while.
            server.directory.reconfigure(with_indices(&["uid"])).unwrap();
            server.load(&device(1000));
            server.directory.reconfigure(with_indices(&["uid", "serialNumber"])).unwrap();
        }
        true
    });
    let diagnostic = outcome.unwrap_err().diagnostic;
    assert!(diagnostic.contains("another program has changed the directory"), "{diagnostic}");
    assert_eq!(server.found("(serialNumber=s1000)").len(), 1);
    reindex(&tool);
    assert_eq!(server.found("(serialNumber=s1000)").len(), 1);
    assert!(server.plan(BASE, Scope::Subtree, "(serialNumber=s1000)").contains("1 candidate"));
    assert_eq!(problems(&server), Vec::<String>::new());
}

#[test]
fn what_a_newer_program_has_made_of_a_directory_is_told_and_is_no_damage() {
    let server = server(&["uid"], Config::default());
    let set = |format: &str| {
        server.directory.database().update(|txn| txn.table("meta")?.put("format", format)).unwrap();
    };
    let before =
        server.directory.database().read().unwrap().table("meta").unwrap().get("format").unwrap().unwrap().to_vec();
    set("99");
    let failure = server.search(BASE, "(uid=bjensen)", &Ask::default()).map(drop).unwrap_err();
    assert!(failure.code == ResultCode::OTHER && failure.diagnostic.contains("use a newer program"), "{failure}");
    let refused = server.modify(JENSEN, &[(Add, "uid", &["babs"])]).unwrap_err();
    assert!(refused.diagnostic.contains("use a newer program"), "{refused}");
    set(std::str::from_utf8(&before).unwrap());
    assert_eq!((server.found("(uid=bjensen)").len(), server.found("(uid=babs)").len()), (1, 0));
}
