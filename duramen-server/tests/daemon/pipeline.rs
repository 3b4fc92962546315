//! Many requests at once, in pieces, given up.

use std::io::Write;

use duramen_ldap::Payload;
use duramen_ldap::extended::{CancelRequest, PasswordModifyRequest};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{Authentication, BindRequest, ExtendedRequest, Request, ResultCode, Scope};
use duramen_ldap::oid;

use crate::client::{Client, person, search};
use crate::process::{Daemon, PLAIN};

#[test]
fn a_thousand_requests_sent_at_once_are_all_answered() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(10);
    let filters: Vec<_> = (0..10).map(|n| FilterBuf::parse(&format!("(uid=u{n})")).unwrap()).collect();
    let mut bytes = Vec::new();
    let mut expected = Vec::new();
    for n in 0..1000 {
        bytes.extend(client.encoded(search("dc=example,dc=com", Scope::Subtree, &filters[n % 10])));
        expected.push(person(n % 10));
    }
    client.stream.write_all(&bytes).unwrap();
    for name in expected {
        let (_, answer) = client.answer();
        assert_eq!((answer.code, answer.names), (ResultCode::SUCCESS, vec![name]));
    }
}

#[test]
fn requests_that_come_a_byte_at_a_time_are_answered() {
    let daemon = Daemon::plain();
    let mut client = Client::new(&daemon);
    client.stream.set_nodelay(true).unwrap();
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    for _ in 0..3 {
        for byte in client.encoded(search("", Scope::Base, &filter)) {
            client.stream.write_all(&[byte]).unwrap();
        }
        let (_, answer) = client.answer();
        assert_eq!((answer.code, answer.names.len()), (ResultCode::SUCCESS, 1));
    }
}

#[test]
fn a_client_that_sends_no_more_gets_the_answers_that_are_due() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    for n in 0..20 {
        client.send_replace(&person(0), "description", &n.to_string());
    }
    client.stream.shutdown(std::net::Shutdown::Write).unwrap();
    for _ in 0..20 {
        assert_eq!(client.answer().1.code, ResultCode::SUCCESS);
    }
    assert_eq!(client.message(), None);
}

#[test]
fn searches_of_a_client_that_is_gone_end_before_they_have_found_nothing() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1000);
    // A thousand questions to each of a thousand entries take longer than a search may go on without a pause.
    let alternatives: String = (0..1000).map(|n| format!("(description=*{n}*)")).collect();
    let filter = FilterBuf::parse(&format!("(|{alternatives})")).unwrap();
    let mut gone = Client::administrator(&daemon);
    gone.send(search("dc=example,dc=com", Scope::Subtree, &filter));
    gone.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(gone.message(), None, "it was answered to the end");
    // Who is there is answered.
    let answer = client.search("dc=example,dc=com", Scope::Subtree, &format!("(|{alternatives})"));
    assert_eq!((answer.code, answer.names.len()), (ResultCode::SUCCESS, 0));
}

#[test]
fn a_bind_waits_for_what_is_under_way_and_holds_what_follows_rfc4511_4_2_1() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let name = person(0);
    let authentication = Authentication::Simple(b"");
    let written = client.send_replace(&name, "description", "before");
    let bound = client.send(Request::Bind(BindRequest { version: 3, name: "", authentication }));
    let refused = client.send_replace(&name, "description", "after");
    let answers = [client.answer(), client.answer(), client.answer()].map(|(id, answer)| (id, answer.code));
    let expected =
        [(written, ResultCode::SUCCESS), (bound, ResultCode::SUCCESS), (refused, ResultCode::STRONGER_AUTH_REQUIRED)];
    assert_eq!(answers, expected);
}

#[test]
fn binds_do_not_wait_behind_all_the_passwords_that_one_client_sets() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(2);
    let set = |user: &str| {
        let mut value = Vec::new();
        PasswordModifyRequest { user: Some(user.as_bytes()), new_password: Some(b"new"), ..Default::default() }
            .encode(&mut value);
        value
    };
    let (own, others) = (set(&person(0)), set(&person(1)));
    let modify =
        |value| Request::Extended(ExtendedRequest { name: oid::extended::PASSWORD_MODIFY, value: Some(value) });
    assert_eq!(client.ask(modify(&others)).code, ResultCode::SUCCESS);
    let last = (0..12).map(|_| client.send(modify(&own))).last();
    assert_eq!(Client::new(&daemon).bind(&person(1), "new").code, ResultCode::SUCCESS);
    client.stream.set_nonblocking(true).unwrap();
    let mut answers = vec![0; 1 << 16];
    let count = std::io::Read::read(&mut client.stream, &mut answers).unwrap_or(0);
    client.stream.set_nonblocking(false).unwrap();
    assert!(count < 8 * 14, "{count} bytes of answers were sent before the bind was answered");
    // All are made, one after another.
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    let after = client.send(search("", Scope::Base, &filter));
    assert_eq!(last.map(|last| last + 1), Some(after));
    while client.answer().0 != after {}
    assert_eq!(Client::new(&daemon).bind(&person(0), "new").code, ResultCode::SUCCESS);
}

/// Adds entries that are, all together, much longer than what sockets hold.
fn add_long_entries(client: &mut Client) {
    client.populate(1);
    let filler = "x".repeat(200_000);
    for n in 1..100 {
        client.add_person(n);
        assert_eq!(client.replace(&person(n), "description", &filler).code, ResultCode::SUCCESS);
    }
}

#[test]
fn a_search_whose_client_takes_its_answers_too_slowly_is_ended() {
    let limits = format!("{PLAIN}[limits]\nhold_seconds = 1\n");
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &limits);
    let mut client = Client::administrator(&daemon);
    add_long_entries(&mut client);
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    client.send(search("dc=example,dc=com", Scope::Subtree, &filter));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let (_, answer) = client.answer();
    assert_eq!(answer.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert!(answer.names.len() < 100 && answer.diagnostic.contains("hold_seconds"), "{}", answer.diagnostic);
}

#[test]
fn a_search_whose_client_does_not_read_waits_and_can_be_abandoned_or_cancelled_rfc4511_4_11_rfc3909() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    add_long_entries(&mut client);
    let filter = FilterBuf::parse("(objectClass=*)").unwrap();
    let mut other = Client::new(&daemon);
    let cancelled = client.send(search("dc=example,dc=com", Scope::Subtree, &filter));
    assert_eq!(other.search(&person(3), Scope::Base, "(uid=u3)").names.len(), 1, "others are served meanwhile");
    let mut value = Vec::new();
    CancelRequest { id: cancelled }.encode(&mut value);
    let cancel = client.send(Request::Extended(ExtendedRequest { name: oid::extended::CANCEL, value: Some(&value) }));
    let (id, answer) = client.answer();
    assert_eq!((id, answer.code), (cancelled, ResultCode::CANCELED));
    assert!(answer.names.len() < 100, "it was not cancelled early enough to show anything");
    assert_eq!(
        client.answer(),
        (cancel, crate::client::Answer { code: ResultCode::SUCCESS, diagnostic: String::new(), names: vec![] })
    );
    let abandoned = client.send(search("dc=example,dc=com", Scope::Subtree, &filter));
    client.send(Request::Abandon(abandoned));
    let (id, answer) = {
        client.send(search("", Scope::Base, &filter));
        client.answer()
    };
    assert_ne!(id, abandoned, "{answer:?}");
    let name = oid::extended::CANCEL;
    assert_eq!(
        client.ask(Request::Extended(ExtendedRequest { name, value: Some(&value) })).code,
        ResultCode::NO_SUCH_OPERATION
    );
    // All but the one that asks are over.
    let counts = (1..20).map(|n| format!("(&(monitorOpInitiated={})(monitorOpCompleted={n}))", n + 1));
    let filter = format!("(|{})", counts.collect::<String>());
    assert_eq!(client.search("cn=Search,cn=Operations,cn=Monitor", Scope::Base, &filter).names.len(), 1);
}
