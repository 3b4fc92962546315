//! Tools that write to the directory for long, as an import or `duramen directory reindex --all` does: who waits for them, and
//! who does not.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use duramen::Database;
use duramen_ldap::message::{Change, ChangeKind, ModifyRequest, Request};
use duramen_ldap::{attribute::Attribute, ber::List};

use crate::client::{Client, person};
use crate::process::{Daemon, PLAIN};

/// The database of a daemon with data in this directory.
fn database(dir: &Path) -> Database {
    Database::open(dir.join("data").join("directory.dm")).unwrap()
}

/// A daemon that gives what is under way a second when it stops, with one person.
fn daemon() -> Daemon {
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}[limits]\nstop_seconds = 1\n"));
    Client::administrator(&daemon).populate(1);
    daemon
}

#[test]
fn the_server_stops_while_a_tool_writes_and_updates_wait_for_it() {
    let mut daemon = daemon();
    let database = database(daemon.dir.path());
    let writing = database.begin_write().unwrap();
    let mut client = Client::administrator(&daemon);
    let (mut values, mut changes) = (Vec::new(), Vec::new());
    let attribute = Attribute { description: "title", values: List::build(&mut values, [&b"waits"[..]]) };
    let changes = List::build(&mut changes, [Change { kind: ChangeKind::Replace, attribute }]);
    client.send(Request::Modify(ModifyRequest { name: &person(0), changes }));
    daemon.signal("TERM");
    assert!(daemon.ended().success());
    assert!(daemon.log().contains("stopped"), "{}", daemon.log());
    drop(writing);
}

#[test]
fn the_server_stops_while_a_reload_waits_for_a_tool() {
    let mut daemon = daemon();
    let database = database(daemon.dir.path());
    let writing = database.begin_write().unwrap();
    daemon.signal("HUP");
    daemon.wait_for("the reload takes its time: it waits for whoever writes");
    daemon.signal("TERM");
    assert!(daemon.ended().success());
    drop(writing);
}

#[test]
fn a_start_says_that_it_waits_for_a_tool() {
    let dir = daemon().kill();
    let (database, log) = (database(dir.path()), dir.path().join("log"));
    fs::write(&log, "").unwrap();
    let writing = database.begin_write().unwrap();
    let starting = std::thread::spawn(|| Daemon::start(dir, PLAIN));
    let is_told =
        |log: &Path| fs::read_to_string(log).unwrap().contains("the start takes its time: it waits for whoever");
    while !is_told(&log) {
        assert!(!starting.is_finished(), "it started all the same");
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(writing);
    let daemon = starting.join().unwrap();
    assert_eq!(
        Client::administrator(&daemon).search(&person(0), duramen_ldap::message::Scope::Base, "(uid=u0)").names.len(),
        1
    );
}

#[test]
fn a_reload_that_is_asked_for_in_the_midst_of_a_start_is_made_at_its_end() {
    let dir = daemon().kill();
    let (database, log) = (database(dir.path()), dir.path().join("log"));
    let lock = dir.path().join("data/duramend.lock");
    fs::write(&log, "").unwrap();
    let writing = database.begin_write().unwrap();
    let starting = std::thread::spawn(|| Daemon::start(dir, PLAIN));
    while !fs::read_to_string(&log).unwrap().contains("the start takes its time") {
        assert!(!starting.is_finished(), "it started all the same");
        std::thread::sleep(Duration::from_millis(10));
    }
    let process = fs::read_to_string(lock).unwrap();
    assert!(Command::new("kill").args(["-HUP", process.trim()]).status().unwrap().success());
    drop(writing);
    starting.join().unwrap().wait_for("reloaded: ");
}
