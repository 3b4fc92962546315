//! Much of what is right in small amounts: the server stays up, serves others meanwhile, and its memory has bounds.

use std::fs;
use std::io::Write;
use std::process::Command;
use std::time::Duration;

use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::{PagedResults, SortKey, SortKeys};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{Control, ExtendedRequest, Request, ResultCode, Scope};
use duramen_ldap::oid;

use crate::client::{Answer, Client, connected, person, search};
use crate::process::{Daemon, PLAIN, TLS, certificates, configuration};

const SUFFIX: &str = "dc=example,dc=com";

#[track_caller]
fn assert_served(daemon: &Daemon) {
    assert_eq!(Client::new(daemon).search("", Scope::Base, "(objectClass=*)").code, ResultCode::SUCCESS);
}

#[track_caller]
fn assert_done(answer: &Answer) {
    assert_eq!(answer.code, ResultCode::SUCCESS, "{}", answer.diagnostic);
}

#[test]
fn clients_that_ask_for_everything_and_read_nothing_take_little_memory() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(0);
    for number in 0..500 {
        assert_done(&client.add_long_person(number));
    }
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    let before = daemon.memory_bytes();
    let mut clients: Vec<_> = (0..100).map(|_| Client::new(&daemon)).collect();
    for client in &mut clients {
        // Ten times 10 MB each.
        for _ in 0..10 {
            client.send(search(SUFFIX, Scope::Subtree, &filter));
        }
    }
    assert_served(&daemon);
    assert_done(&client.replace(&person(1), "title", "updates go on"));
    let grown = daemon.memory_bytes().saturating_sub(before);
    assert!(grown < 150 << 20, "{} MiB for 100 clients", grown >> 20);
    // Searches of one connection go on in turn.
    let answers: Vec<_> = (0..10).map(|_| clients[0].answer().1).collect();
    answers.iter().for_each(assert_done);
    assert_eq!(answers.iter().map(|answer| answer.names.len()).sum::<usize>(), 10 * 501);
}

/// The most memory that a daemon has in a second.
fn most_memory_bytes(daemon: &Daemon) -> u64 {
    let each = (0..20).map(|_| {
        std::thread::sleep(Duration::from_millis(50));
        daemon.memory_bytes()
    });
    each.max().unwrap_or_default()
}

#[test]
fn long_filters_that_one_client_sends_at_once_take_little_memory() {
    let daemon = Daemon::plain();
    Client::administrator(&daemon).populate(1000);
    let alternatives: String = (0..8000).map(|n| format!("(description=*{n}*)")).collect();
    let filter = FilterBuf::parse(&format!("(|{alternatives})")).unwrap();
    let before = daemon.memory_bytes();
    let mut client = Client::new(&daemon);
    let (mut bytes, mut other) = (Vec::new(), client.stream.try_clone().unwrap());
    (0..60).for_each(|_| bytes.extend(client.encoded(search(SUFFIX, Scope::Subtree, &filter))));
    let sending = std::thread::spawn(move || drop(other.write_all(&bytes)));
    let grown = most_memory_bytes(&daemon).saturating_sub(before);
    assert!(grown < 40 << 20, "{} MiB for filters of 200 KiB", grown >> 20);
    assert_served(&daemon);
    client.stream.shutdown(std::net::Shutdown::Both).unwrap();
    sending.join().unwrap();
}

#[test]
fn others_are_served_while_a_filter_takes_long_for_each_entry() {
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}[limits]\nthreads = 1\n"));
    let mut client = Client::administrator(&daemon);
    client.populate(0);
    // Fewer than the questions between two looks at the clock, where entries take little time.
    for number in 0..60 {
        assert_done(&client.add_long_person(number));
    }
    let alternatives: String = (0..1000).map(|n| format!("(description=*{n}*)")).collect();
    let filter = FilterBuf::parse(&format!("(|{alternatives})")).unwrap();
    client.send(search(SUFFIX, Scope::Subtree, &filter));
    std::thread::sleep(Duration::from_millis(20));
    assert_served(&daemon);
    client.stream.set_nonblocking(true).unwrap();
    let answered = client.stream.peek(&mut [0]);
    assert!(answered.is_err(), "others were served after all entries");
    client.stream.set_nonblocking(false).unwrap();
    assert_done(&client.answer().1);
}

#[test]
fn sorted_searches_that_one_client_sends_at_once_take_little_memory() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(0);
    for number in 0..500 {
        assert_done(&client.add_long_person(number));
    }
    let (mut keys, mut value) = (Vec::new(), Vec::new());
    let key = SortKey { description: "description", rule: None, reverse: false };
    SortKeys(List::build(&mut keys, [key])).encode(&mut value);
    let sorted = Control { oid: oid::control::SORT_REQUEST, critical: true, value: Some(&value) };
    let nobody = FilterBuf::parse("(!(description=x))").unwrap();
    let before = daemon.memory_bytes();
    let wanted = search(SUFFIX, Scope::One, &nobody);
    let bytes: Vec<u8> = (0..200).flat_map(|_| client.with_controls(wanted, &[sorted])).collect();
    client.stream.write_all(&bytes).unwrap();
    let grown = most_memory_bytes(&daemon).saturating_sub(before);
    assert!(grown < 40 << 20, "{} MiB for 200 orders of 500 entries", grown >> 20);
    assert_served(&daemon);
    assert_done(&client.answer().1);
}

#[test]
fn handshakes_that_are_begun_and_never_ended_keep_nobody_waiting_and_are_dropped() {
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let daemon = Daemon::start(dir, &format!("{TLS}[limits]\nhandshake_seconds = 2\n"));
    assert_served(&daemon);
    let before = daemon.memory_bytes();
    let mut clients: Vec<_> = (0..300).map(|_| Client::new(&daemon)).collect();
    for client in &mut clients {
        let name = oid::extended::START_TLS;
        assert_done(&client.ask(Request::Extended(ExtendedRequest { name, value: None })));
    }
    // The first bytes of a handshake, and no more.
    clients.iter_mut().step_by(2).for_each(|client| drop(client.stream.write_all(b"\x16\x03\x01")));
    assert_served(&daemon);
    let grown = daemon.memory_bytes().saturating_sub(before);
    assert!(grown < 9 << 20, "{} KiB for 300 handshakes", grown >> 10);
    for client in &mut clients {
        assert_eq!(client.message(), None);
    }
}

#[test]
fn the_level_that_the_sample_configuration_shows_for_a_part_tells_of_handshakes_that_fail() {
    let sample = include_str!("../../duramend.toml");
    let (_, level) = sample.split_once("by part: ").unwrap();
    let dir = tempfile::tempdir().unwrap();
    certificates(dir.path());
    let mut daemon = Daemon::start(dir, &format!("{TLS}[log]\nlevel = {}\n", level.lines().next().unwrap()));
    let mut client = Client::new(&daemon);
    let name = oid::extended::START_TLS;
    assert_done(&client.ask(Request::Extended(ExtendedRequest { name, value: None })));
    client.stream.write_all(b"no handshake").unwrap();
    daemon.wait_for("a TLS handshake failed");
}

#[test]
fn searches_that_are_abandoned_by_the_thousand_leave_nothing_behind() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(50);
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    for _ in 0..20 {
        let mut bytes = Vec::new();
        for _ in 0..100 {
            bytes.extend(client.encoded(search(SUFFIX, Scope::Subtree, &filter)));
            let id = client.last_id();
            bytes.extend(client.encoded(Request::Abandon(id)));
        }
        let last = client.encoded(search("", Scope::Base, &filter));
        bytes.extend(last);
        client.stream.write_all(&bytes).unwrap();
        let wanted = client.last_id();
        // Of those that were over before they were abandoned, the answer comes.
        while client.answer().0 != wanted {}
    }
    assert_served(&daemon);
}

#[test]
fn paged_searches_that_are_left_open_hold_nothing() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(20);
    let filter = FilterBuf::parse("(uid=*)").unwrap();
    let mut value = Vec::new();
    PagedResults { size: 1, cookie: b"" }.encode(&mut value);
    let paged = [Control { oid: oid::control::PAGED_RESULTS, critical: true, value: Some(&value) }];
    let before = daemon.memory_bytes();
    for _ in 0..2000 {
        let bytes = client.with_controls(search(SUFFIX, Scope::Subtree, &filter), &paged);
        client.stream.write_all(&bytes).unwrap();
        let (_, answer) = client.answer();
        assert_eq!((answer.code, answer.names.len()), (ResultCode::SUCCESS, 1));
    }
    let grown = daemon.memory_bytes().saturating_sub(before);
    assert!(grown < 20 << 20, "{} MiB", grown >> 20);
}

#[test]
fn a_value_of_a_hundred_megabytes_comes_and_goes() {
    let limits = format!("{PLAIN}[limits]\nmessage_bytes = 200000000\n");
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &limits);
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let long = "x".repeat(100_000_000);
    assert_done(&client.replace(&person(0), "description", &long));
    let filter = FilterBuf::parse("(uid=u0)").unwrap();
    client.send(search(&person(0), Scope::Base, &filter));
    assert!(client.message().unwrap().len() > long.len());
    assert_done(&client.answer().1);
    assert_done(&client.replace(&person(0), "description", "short"));
    assert_served(&daemon);
}

#[test]
fn a_name_of_a_thousand_rdns_is_looked_up_like_any_other() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let deep = format!("{}{}", "cn=x,".repeat(1000), person(0));
    let answer = client.search(&deep, Scope::Subtree, "(objectClass=*)");
    assert_eq!(answer.code, ResultCode::NO_SUCH_OBJECT);
    assert_eq!(client.add(&deep, &[("objectClass", &["device"])]).code, ResultCode::NO_SUCH_OBJECT);
    let (mut name, mut names) = (person(0), Vec::new());
    for _ in 0..300 {
        name = format!("cn=x,{name}");
        assert_done(&client.add(&name, &[("objectClass", &["device"])]));
        names.push(name.clone());
    }
    assert_eq!(client.search(&name, Scope::Base, "(cn=x)").names, [name.as_str()]);
    assert_eq!(client.search(SUFFIX, Scope::Subtree, "(objectClass=device)").names.len(), 300);
    names.iter().rev().for_each(|name| assert_done(&client.delete(name)));
}

#[test]
fn an_entry_with_fifty_thousand_values_is_added_changed_and_read() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(0);
    let values: Vec<String> = (0..50_000).map(|n| format!("cn=value {n}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    // Members are kept outside of the entry, descriptions within it.
    for attribute in ["member", "description"] {
        let name = format!("cn=many,{SUFFIX}");
        let attributes: [(&str, &[&str]); 3] =
            [("objectClass", &["groupOfNames"]), ("member", &["cn=one"]), ("description", &["one"])];
        assert_done(&client.add(&name, &attributes));
        assert_done(&client.add_values(&name, attribute, &values));
        assert_done(&client.add_values(&name, attribute, &["cn=one more"]));
        let found = client.search(SUFFIX, Scope::Subtree, &format!("({attribute}=CN=VALUE 49999)"));
        assert_eq!(found.names, [name.as_str()], "{attribute}");
        assert_done(&client.delete(&name));
    }
}

#[test]
fn a_filter_of_ten_thousand_alternatives_is_answered() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(3);
    for kind in ['|', '&'] {
        let parts: String = (0..10_000).map(|n| format!("(uid=u{n})")).collect();
        let answer = client.search(SUFFIX, Scope::Subtree, &format!("({kind}{parts})"));
        assert_done(&answer);
        assert_eq!(answer.names.len(), if kind == '|' { 3 } else { 0 });
    }
    let parts: String = (0..10_000).map(|n| format!("(!(description=*{n}*))")).collect();
    assert_eq!(client.search(SUFFIX, Scope::Subtree, &format!("(|{parts}(uid=*))")).names.len(), 4);
}

#[test]
fn a_lack_of_open_files_keeps_nobody_waiting_who_is_there_and_does_not_fill_the_log() {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_duramend")]);
    let mut daemon = Daemon::start_by(command, tempfile::tempdir().unwrap(), &configuration(PLAIN));
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let others: Vec<_> = (0..100).map(|_| connected(daemon.ldap)).collect();
    daemon.wait_for("a connection could not be accepted");
    assert_done(&client.replace(&person(0), "title", "updates go on"));
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(daemon.log().matches("could not be accepted").count(), 1, "{}", daemon.log());
    drop(others);
    assert_served(&daemon);
}

#[test]
fn clients_that_have_vanished_are_noticed_though_they_are_idle() {
    let daemon = Daemon::plain();
    let mut client = Client::new(&daemon);
    assert_eq!(client.bind("", "").code, ResultCode::SUCCESS);
    // The kernel's table: number, local address, remote address, state (1: established), queues, timer (2: keep-alive).
    let (port, of) =
        (format!(":{:04X}", daemon.ldap.port()), format!(":{:04X}", client.stream.local_addr().unwrap().port()));
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let timer = table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        (fields[1].ends_with(&port) && fields[2].ends_with(&of)).then(|| fields[5].to_string())
    });
    assert!(timer.as_ref().is_some_and(|timer| timer.starts_with("02:")), "{timer:?} in\n{table}");
}
