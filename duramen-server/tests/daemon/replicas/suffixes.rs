//! Daemons of two suffixes: a replica of both, two that take changes of both together, and slapds behind a replica.

use std::process::Command;
use std::time::Instant;

use duramen_sim::port::free_port;
use tempfile::TempDir;

use super::consumer::{change_all, search_below};
use super::copy::{PATIENCE, folder, section};
use crate::clients::said;
use crate::process::{ADMINISTRATOR, Daemon};

const SUFFIXES: [&str; 2] = ["dc=example,dc=com", "o=other"];
const TOPS: &str = "dn: dc=example,dc=com\nchangetype: add\nobjectClass: dcObject\nobjectClass: organization\ndc: example\n\
    o: Example\n\ndn: o=other\nchangetype: add\nobjectClass: organization\no: other\n\n";

fn start(dir: TempDir, port: u16, more: &str) -> Daemon {
    let (name, password) = ADMINISTRATOR;
    let text = format!(
        "data = \"data\"\nsuffixes = {SUFFIXES:?}\n\
         administrator = {{ name = \"{name}\", password = \"{password}\" }}\n\
         [listen]\nldap = [\"127.0.0.1:{port}\"]\nldapi = \"ldapi\"\n{more}"
    );
    Daemon::start_by(Command::new(env!("CARGO_BIN_EXE_duramend")), dir, &text)
}

fn url(port: u16) -> String {
    format!("ldap://127.0.0.1:{port}")
}

fn unit(n: usize) -> String {
    format!("ou=u{n},{}", SUFFIXES[n % 2])
}

fn added(range: std::ops::Range<usize>) -> String {
    range.map(|n| format!("dn: {}\nchangetype: add\nobjectClass: organizationalUnit\nou: u{n}\n\n", unit(n))).collect()
}

fn described(range: std::ops::Range<usize>, value: &str) -> String {
    let one = |n| format!("dn: {}\nchangetype: modify\nreplace: description\ndescription: {value}\n\n", unit(n));
    range.map(one).collect()
}

/// All entries of both suffixes, with what tells whether they are the same.
fn content(url: &str) -> Vec<String> {
    let below = |suffix: &str| {
        let args = ["(objectClass=*)", "entryUUID", "entryCSN", "description"];
        let text = said(&mut search_below(url, suffix, &args), 0);
        let entry = |entry: &str| {
            let mut lines: Vec<&str> = entry.lines().collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        text.split("\n\n").map(entry).collect::<Vec<_>>()
    };
    let mut all: Vec<String> = SUFFIXES.iter().flat_map(|suffix| below(suffix)).collect();
    all.sort();
    all
}

/// Waits until both servers have the same, which has so many entries.
#[track_caller]
fn wait_for_same(one: &str, other: &str, count: usize, log: &dyn Fn() -> String) {
    let begun = Instant::now();
    loop {
        let is_there = |url: &str| {
            SUFFIXES
                .iter()
                .all(|suffix| search_below(url, suffix, &["-s", "base", "1.1"]).output().unwrap().status.success())
        };
        let entries = |url| if is_there(url) { content(url) } else { Vec::new() };
        let (here, there) = (entries(one), entries(other));
        if here == there && here.iter().filter(|entry| !entry.is_empty()).count() == count {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{here:#?}\n{there:#?}\n{}", log());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn a_replica_of_two_suffixes_has_both_whatever_was_changed_and_moved_meanwhile() {
    let [provider, replica] = [free_port(), free_port()];
    let (there, here) = (url(provider), url(replica));
    let _provider = start(folder(), provider, "[sync]\n");
    change_all(&there, &format!("{TOPS}{}", added(0..20)));
    let more = section(&[&there], "");
    let daemon = start(folder(), replica, &more);
    wait_for_same(&there, &here, 22, &|| daemon.log());
    change_all(&there, &described(0..20, "heard at once"));
    wait_for_same(&there, &here, 22, &|| daemon.log());
    let dir = daemon.kill();
    let moves = |n: usize, to: &str| {
        format!("dn: {}\nchangetype: modrdn\nnewrdn: ou=u{n}\ndeleteoldrdn: 1\nnewsuperior: {to}\n\n", unit(n))
    };
    change_all(&there, &format!("{}{}", described(0..20, "heard later"), moves(4, SUFFIXES[1])));
    let daemon = start(dir, replica, &more);
    wait_for_same(&there, &here, 22, &|| daemon.log());
    change_all(&there, &format!("{}{}", moves(5, SUFFIXES[0]), added(20..24)));
    wait_for_same(&there, &here, 26, &|| daemon.log());
}

#[test]
fn two_that_take_changes_of_two_suffixes_have_those_of_both() {
    let ports = [free_port(), free_port()];
    let member = |n: usize| {
        let more = section(&[&url(ports[1 - n])], &format!("takes_changes = true\nserver_id = {}", n + 1));
        start(folder(), ports[n], &format!("{more}[sync]\n"))
    };
    let [one, other] = [member(0), member(1)];
    let urls = ports.map(url);
    let log = || format!("{}\n{}", one.log(), other.log());
    change_all(&urls[0], TOPS);
    wait_for_same(&urls[0], &urls[1], 2, &log);
    change_all(&urls[0], &added(0..10));
    wait_for_same(&urls[0], &urls[1], 12, &log);
    change_all(&urls[1], &format!("{}{}", added(10..20), described(0..10, "at the other one")));
    change_all(&urls[0], &described(5..8, "at the first one"));
    wait_for_same(&urls[0], &urls[1], 22, &log);
    // It would be a deletion in one and an addition in the other, and nobody could tell which is later.
    let mut modify = Command::new("ldapmodrdn");
    let (name, password) = ADMINISTRATOR;
    modify.args(["-x", "-H", &urls[0], "-D", name, "-w", password, "-s", SUFFIXES[1], &unit(0), "ou=u0"]);
    said(&mut modify, 71);
}
