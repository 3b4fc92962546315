//! What nobody should send.

use std::io::Write;

use duramen_ldap::message::{ExtendedRequest, Message, NOTICE_OF_DISCONNECTION, Request, Response, ResultCode, Scope};
use duramen_ldap::oid;

use crate::client::Client;
use crate::process::{Daemon, PLAIN, configuration};

/// That the next message is a notice of disconnection with this code, and the last one; its message for people.
#[track_caller]
fn disconnected(client: &mut Client, code: ResultCode) -> String {
    let bytes = client.message().expect("a notice of disconnection");
    let message = Message::<Response<'_>>::decode(&bytes).unwrap();
    let Response::Extended(notice) = message.operation else { panic!("{message:?}") };
    assert_eq!((message.id, notice.name, notice.result.code), (0, Some(NOTICE_OF_DISCONNECTION), code));
    assert_eq!(client.message(), None);
    notice.result.diagnostic.to_string()
}

#[test]
fn garbage_ends_the_session_with_a_notice_and_harms_nobody_else_rfc4511_4_1_1() {
    let daemon = Daemon::plain();
    let mut other = Client::new(&daemon);
    let garbage: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x30\x80",
        b"\x30\x05\x02\x01\x01\x7E\x00",
        b"\x30\x03\x01\x01\xFF",
        b"\x30\x0C\x02\x01\x01\x61\x07\x0A\x01\x00\x04\x00\x04\x00",
    ];
    for bytes in garbage {
        let mut client = Client::new(&daemon);
        client.stream.write_all(bytes).unwrap();
        assert!(!disconnected(&mut client, ResultCode::PROTOCOL_ERROR).is_empty());
    }
    assert_eq!(other.search("", Scope::Base, "(objectClass=*)").code, ResultCode::SUCCESS);
}

#[test]
fn a_length_above_the_limit_is_refused_before_the_message_has_come() {
    let daemon = Daemon::plain();
    let mut client = Client::new(&daemon);
    client.stream.write_all(b"\x30\x84\x7F\xFF\xFF\xFF").unwrap();
    let diagnostic = disconnected(&mut client, ResultCode::PROTOCOL_ERROR);
    assert!(diagnostic.contains("longer than the limit of 262144"), "{diagnostic}");
}

#[test]
fn who_is_bound_may_send_longer_messages() {
    let daemon = Daemon::start(
        tempfile::tempdir().unwrap(),
        &format!("{PLAIN}[limits]\nmessage_bytes = 1000000\nmessage_bytes_anonymous = 4096\n"),
    );
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let name = crate::client::person(0);
    assert_eq!(client.replace(&name, "description", &"x".repeat(900_000)).code, ResultCode::SUCCESS);
    client.send_replace(&name, "description", &"x".repeat(1_100_000));
    disconnected(&mut client, ResultCode::PROTOCOL_ERROR);
}

#[test]
fn how_deep_filters_are_nested_is_limited_as_configured_and_reloaded() {
    let limited = format!("{PLAIN}[limits]\nfilter_depth = 64\n");
    let mut daemon = Daemon::start(tempfile::tempdir().unwrap(), &limited);
    let nested = |depth: usize| format!("{}(uid=x){}", "(!".repeat(depth - 1), ")".repeat(depth - 1));
    let mut client = Client::new(&daemon);
    let mut ask = |depth: usize| client.search("", Scope::Base, &nested(depth));
    assert_eq!(ask(64).code, ResultCode::SUCCESS);
    let refused = ask(65);
    assert_eq!(refused.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert!(refused.diagnostic.contains("limits.filter_depth"), "{refused:?}");
    std::fs::write(daemon.path("duramend.toml"), configuration(PLAIN)).unwrap();
    daemon.signal("HUP");
    daemon.wait_for("reloaded: ");
    assert_eq!(ask(256).code, ResultCode::SUCCESS);
}

#[test]
fn a_filter_that_is_nested_too_deep_is_refused_and_the_session_goes_on() {
    let daemon = Daemon::plain();
    let mut client = Client::new(&daemon);
    let mut filter = b"\x87\x01a".to_vec();
    for _ in 0..300 {
        let length = filter.len() as u16;
        filter.splice(0..0, [0xA2, 0x82, (length >> 8) as u8, length as u8]);
    }
    let mut search = b"\x04\x00\x0A\x01\x00\x0A\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00".to_vec();
    search.extend(&filter);
    search.extend(b"\x30\x00");
    let (inner, outer) = (search.len() as u16, search.len() as u16 + 7);
    let mut message =
        vec![0x30, 0x82, (outer >> 8) as u8, outer as u8, 2, 1, 9, 0x63, 0x82, (inner >> 8) as u8, inner as u8];
    message.extend(search);
    client.stream.write_all(&message).unwrap();
    let (id, answer) = client.answer();
    assert_eq!((id, answer.code), (9, ResultCode::PROTOCOL_ERROR));
    assert_eq!(client.search("", Scope::Base, "(objectClass=*)").code, ResultCode::SUCCESS);
}

#[test]
fn what_is_slipped_in_behind_starttls_ends_the_session_rfc4511_4_14_1() {
    let daemon = Daemon::with_tls();
    let mut client = Client::new(&daemon);
    let name = oid::extended::START_TLS;
    let mut bytes = client.encoded(Request::Extended(ExtendedRequest { name, value: None }));
    bytes.extend(client.encoded(Request::Delete("dc=example,dc=com")));
    client.stream.write_all(&bytes).unwrap();
    assert_eq!(client.answer().1.code, ResultCode::SUCCESS);
    disconnected(&mut client, ResultCode::PROTOCOL_ERROR);
}

#[test]
fn starttls_is_refused_where_there_is_no_certificate_rfc4511_4_14_1() {
    let daemon = Daemon::plain();
    let name = oid::extended::START_TLS;
    let answer = Client::new(&daemon).ask(Request::Extended(ExtendedRequest { name, value: None }));
    assert_eq!(answer.code, ResultCode::PROTOCOL_ERROR);
    assert!(answer.diagnostic.contains("no certificate"), "{answer:?}");
}

#[test]
fn an_unknown_extended_operation_is_a_protocol_error_rfc4511_4_12() {
    let daemon = Daemon::plain();
    let answer = Client::new(&daemon).ask(Request::Extended(ExtendedRequest { name: "1.2.3.4", value: None }));
    assert_eq!(answer.code, ResultCode::PROTOCOL_ERROR);
    assert!(answer.diagnostic.contains("1.2.3.4"), "{answer:?}");
}

#[test]
fn a_client_that_is_silent_for_longer_than_the_limit_is_told_so_and_dropped() {
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}[limits]\nidle_seconds = 1\n"));
    let mut client = Client::new(&daemon);
    assert_eq!(client.search("", Scope::Base, "(objectClass=*)").code, ResultCode::SUCCESS);
    assert!(disconnected(&mut client, ResultCode::UNAVAILABLE).contains("idle"));
}

#[test]
fn more_connections_than_the_limit_are_turned_away() {
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}[limits]\nconnections = 2\n"));
    let mut clients = [Client::new(&daemon), Client::new(&daemon)];
    for client in &mut clients {
        assert_eq!(client.search("", Scope::Base, "(objectClass=*)").code, ResultCode::SUCCESS);
    }
    assert_eq!(Client::new(&daemon).message(), None);
}

#[test]
fn whoever_is_turned_away_or_disconnected_again_and_again_does_not_fill_the_log() {
    let lines = |daemon: &Daemon, what: &str| daemon.log().lines().filter(|line| line.contains(what)).count();
    let daemon = Daemon::plain();
    for _ in 0..200 {
        let mut client = Client::new(&daemon);
        client.stream.write_all(b"nonsense").unwrap();
        while client.message().is_some() {}
    }
    let told = lines(&daemon, "a client is disconnected");
    assert!((1..150).contains(&told), "{told}");
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}[limits]\nconnections = 2\n"));
    let mut clients = [Client::new(&daemon), Client::new(&daemon)];
    for client in &mut clients {
        assert_eq!(client.search("", Scope::Base, "(objectClass=*)").code, ResultCode::SUCCESS);
    }
    for _ in 0..200 {
        assert_eq!(Client::new(&daemon).message(), None);
    }
    let told = lines(&daemon, "a connection is turned away");
    assert!((1..50).contains(&told), "{told}");
}
