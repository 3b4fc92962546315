//! Transactions (RFC 5805): what is kept, what comes of it, what ends them.

use std::io::Write;

use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::List;
use duramen_ldap::control::ReadEntryRequest;
use duramen_ldap::extended::{TransactionEndRequest, TransactionEndResponse};
use duramen_ldap::message::{
    AddRequest, Change, ChangeKind, Control, ExtendedRequest, Message, ModifyRequest, Request, Response, ResultCode,
    Scope,
};
use duramen_ldap::{Payload, oid};

use crate::client::{Client, person};
use crate::process::{ADMINISTRATOR, Daemon, PLAIN};

const IDENTIFIER_INVALID: ResultCode = ResultCode(0x4121);

impl Client {
    /// Sends an extended request: the code and the value of its answer.
    fn extended(
        &mut self,
        name: &str,
        value: Option<&[u8]>,
        controls: &[Control<'_>],
    ) -> (ResultCode, Option<Vec<u8>>) {
        let bytes = self.with_controls(Request::Extended(ExtendedRequest { name, value }), controls);
        self.stream.write_all(&bytes).unwrap();
        let message = self.message().unwrap();
        let message = Message::<Response<'_>>::decode(&message).unwrap();
        assert_eq!(message.id, self.last_id());
        let Response::Extended(answer) = message.operation else { panic!("{message:?}") };
        (answer.result.code, answer.value.map(<[u8]>::to_vec))
    }

    fn start(&mut self) -> Vec<u8> {
        let (code, identifier) = self.extended(oid::extended::TRANSACTION_START, None, &[]);
        assert_eq!(code, ResultCode::SUCCESS);
        identifier.unwrap()
    }

    fn end(&mut self, identifier: &[u8], commit: bool) -> (ResultCode, Option<Vec<u8>>) {
        let mut value = Vec::new();
        TransactionEndRequest { commit, identifier }.encode(&mut value);
        self.extended(oid::extended::TRANSACTION_END, Some(&value), &[])
    }

    fn ask_with(&mut self, request: Request<'_>, controls: &[Control<'_>]) -> ResultCode {
        let bytes = self.with_controls(request, controls);
        self.stream.write_all(&bytes).unwrap();
        self.answer().1.code
    }

    /// Replaces a value in a transaction.
    fn put_off(&mut self, identifier: &[u8], name: &str, description: &str, value: &str) -> ResultCode {
        self.put_off_with(identifier, name, description, value, &[])
    }

    fn put_off_with(
        &mut self,
        identifier: &[u8],
        name: &str,
        description: &str,
        value: &str,
        more: &[Control<'_>],
    ) -> ResultCode {
        let controls: Vec<_> = [of(identifier)].into_iter().chain(more.iter().copied()).collect();
        replacing(name, description, value, |request| self.ask_with(request, &controls))
    }

    fn has(&mut self, filter: &str) -> usize {
        self.search("dc=example,dc=com", Scope::Subtree, filter).names.len()
    }
}

/// The control of an update that belongs to a transaction.
fn of(identifier: &[u8]) -> Control<'_> {
    Control { oid: oid::control::TRANSACTION, critical: true, value: Some(identifier) }
}

fn replacing<T>(name: &str, description: &str, value: &str, act: impl FnOnce(Request<'_>) -> T) -> T {
    let (mut values, mut changes) = (Vec::new(), Vec::new());
    let attribute = Attribute { description, values: List::build(&mut values, [value.as_bytes()]) };
    let changes = List::build(&mut changes, [Change { kind: ChangeKind::Replace, attribute }]);
    act(Request::Modify(ModifyRequest { name, changes }))
}

fn failed(value: Option<Vec<u8>>) -> Option<u32> {
    TransactionEndResponse::decode(&value?).unwrap().failed
}

#[test]
fn updates_are_made_together_at_the_end_and_seen_by_nobody_before_rfc5805_3() {
    let daemon = Daemon::plain();
    let (mut client, mut other) = (Client::administrator(&daemon), Client::administrator(&daemon));
    client.populate(3);
    let identifier = client.start();
    for n in 0..3 {
        assert_eq!(client.put_off(&identifier, &person(n), "description", "together"), ResultCode::SUCCESS);
    }
    assert_eq!(client.ask_with(Request::Delete(&person(2)), &[of(&identifier)]), ResultCode::SUCCESS);
    assert_eq!([client.has("(description=together)"), other.has("(description=together)")], [0, 0]);
    assert_eq!(client.replace(&person(0), "title", "made at once").code, ResultCode::SUCCESS);
    assert_eq!(other.has("(title=made at once)"), 1, "what has no control belongs to no transaction");
    assert_eq!(client.end(&identifier, true), (ResultCode::SUCCESS, None));
    assert_eq!([client.has("(description=together)"), other.has("(uid=u2)")], [2, 0]);
    assert_eq!(client.end(&identifier, true).0, IDENTIFIER_INVALID, "it is over");
}

#[test]
fn an_update_that_fails_is_named_and_nothing_is_made_rfc5805_3_4() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(2);
    let identifier = client.start();
    client.put_off(&identifier, &person(0), "description", "not made");
    client.put_off(&identifier, &person(7), "description", "not there");
    let failing = client.last_id();
    client.put_off(&identifier, &person(1), "description", "not made");
    let (code, value) = client.end(&identifier, true);
    assert_eq!((code, failed(value)), (ResultCode::NO_SUCH_OBJECT, Some(failing)));
    assert_eq!(client.has("(description=*)"), 0);
}

#[test]
fn what_belongs_to_the_answers_of_updates_comes_at_the_end_rfc5805_4_5() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let mut value = Vec::new();
    ReadEntryRequest(List::build(&mut Vec::new(), ["sn"])).encode(&mut value);
    let identifier = client.start();
    let read = [oid::control::PRE_READ, oid::control::POST_READ].map(|oid| Control {
        oid,
        critical: true,
        value: Some(&value),
    });
    client.put_off(&identifier, &person(0), "title", "no controls");
    assert_eq!(client.put_off_with(&identifier, &person(0), "sn", "after", &read), ResultCode::SUCCESS);
    let asked = client.last_id();
    let (code, value) = client.end(&identifier, true);
    let value = value.unwrap();
    let response = TransactionEndResponse::decode(&value).unwrap();
    assert_eq!((code, response.failed), (ResultCode::SUCCESS, None));
    let of_updates: Vec<_> = response.controls.iter().collect();
    assert_eq!((of_updates.len(), of_updates[0].id), (1, asked));
    let names: Vec<_> = of_updates[0].controls.iter().map(|control| control.oid).collect();
    assert_eq!(names, [oid::control::PRE_READ, oid::control::POST_READ]);
}

#[test]
fn what_is_given_up_is_not_made_rfc5805_3_4() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let identifier = client.start();
    client.put_off(&identifier, &person(0), "description", "given up");
    assert_eq!(client.end(&identifier, false), (ResultCode::SUCCESS, None));
    let of_bound = client.start();
    assert_ne!(of_bound, identifier);
    client.put_off(&of_bound, &person(0), "description", "bound meanwhile");
    assert_eq!(client.bind(ADMINISTRATOR.0, ADMINISTRATOR.1).code, ResultCode::SUCCESS);
    assert_eq!(client.end(&of_bound, true).0, IDENTIFIER_INVALID, "RFC 5805 section 3.5");
    let empty = client.start();
    assert_eq!(client.end(&empty, true), (ResultCode::SUCCESS, None));
    let mut gone = Client::administrator(&daemon);
    let of_gone = gone.start();
    gone.put_off(&of_gone, &person(0), "description", "hung up");
    drop(gone);
    assert_eq!(client.has("(description=*)"), 0);
}

#[test]
fn what_belongs_to_no_transaction_is_refused_rfc5805_2() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    assert_eq!(client.put_off(b"0", &person(0), "description", "x"), IDENTIFIER_INVALID);
    let identifier = client.start();
    assert_eq!(client.extended(oid::extended::TRANSACTION_START, None, &[]).0, ResultCode::BUSY);
    assert_eq!(client.put_off(b"another", &person(0), "description", "x"), IDENTIFIER_INVALID);
    assert_eq!(client.end(b"another", true).0, IDENTIFIER_INVALID);
    let uncritical = Control { critical: false, ..of(&identifier) };
    let refused = |client: &mut Client, controls: &[Control<'_>]| {
        replacing(&person(0), "description", "x", |request| client.ask_with(request, controls))
    };
    assert_eq!(refused(&mut client, &[uncritical]), ResultCode::PROTOCOL_ERROR);
    assert_eq!(refused(&mut client, &[of(&identifier), of(&identifier)]), ResultCode::PROTOCOL_ERROR);
    let dn = format!("dn:{}", person(0));
    let proxied = Control { oid: oid::control::PROXIED_AUTHORIZATION, critical: true, value: Some(dn.as_bytes()) };
    assert_eq!(refused(&mut client, &[of(&identifier), proxied]), ResultCode::PROTOCOL_ERROR);
    assert_eq!(client.extended(oid::extended::TRANSACTION_END, None, &[]).0, ResultCode::PROTOCOL_ERROR);
    let told = client.extended(oid::extended::WHO_AM_I, None, &[of(&identifier)]).0;
    assert_eq!(told, ResultCode::UNAVAILABLE_CRITICAL_EXTENSION, "it changes nothing");
    assert_eq!(client.end(&identifier, true), (ResultCode::SUCCESS, None));
    assert_eq!(client.has("(description=*)"), 0);
    let nobody = Client::new(&daemon).extended(oid::extended::TRANSACTION_START, None, &[]).0;
    assert_eq!(nobody, ResultCode::STRONGER_AUTH_REQUIRED);
}

#[test]
fn what_a_transaction_keeps_is_limited_and_what_was_kept_can_be_made() {
    let daemon = Daemon::plain();
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let (identifier, long) = (client.start(), "x".repeat(3 << 20));
    let answers = [(); 6].map(|()| client.put_off(&identifier, &person(0), "description", &long));
    assert_eq!(answers[..5], [ResultCode::SUCCESS; 5]);
    assert_eq!(answers[5], ResultCode::ADMIN_LIMIT_EXCEEDED, "it would be more than 16 MiB");
    assert_eq!(client.end(&identifier, true), (ResultCode::SUCCESS, None));
    assert_eq!(client.has("(description=xxx*)"), 1);
}

#[test]
fn a_transaction_is_carried_out_as_who_it_was_started_for_rfc5805_4_4() {
    let rules = "[access]\nrules = 'access to * by self write by * read'\n";
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &format!("{PLAIN}{rules}"));
    let mut client = Client::administrator(&daemon);
    client.populate(2);
    let dn = format!("dn:{}", person(0));
    let proxied = Control { oid: oid::control::PROXIED_AUTHORIZATION, critical: true, value: Some(dn.as_bytes()) };
    for (n, code) in [(0, ResultCode::SUCCESS), (1, ResultCode::INSUFFICIENT_ACCESS_RIGHTS)] {
        let (started, identifier) = client.extended(oid::extended::TRANSACTION_START, None, &[proxied]);
        assert_eq!(started, ResultCode::SUCCESS);
        let identifier = identifier.unwrap();
        client.put_off(&identifier, &person(n), "description", "as the first");
        assert_eq!(client.end(&identifier, true).0, code, "{n}");
    }
}

#[test]
fn passwords_in_a_transaction_are_hashed_as_ever() {
    let hashed = format!("{PLAIN}[directory]\nhash_passwords = true\npassword_scheme = \"SSHA512\"\n");
    let daemon = Daemon::start(tempfile::tempdir().unwrap(), &hashed);
    let mut client = Client::administrator(&daemon);
    client.populate(1);
    let identifier = client.start();
    let pairs = [("objectClass", "inetOrgPerson"), ("cn", "New"), ("sn", "New"), ("userPassword", "secret")];
    let mut values = pairs.map(|_| Vec::new());
    let attributes = pairs.iter().zip(&mut values).map(|((description, value), buffer)| Attribute {
        description,
        values: List::build(buffer, [value.as_bytes()]),
    });
    let mut list = Vec::new();
    let request = AddRequest { name: "cn=New,dc=example,dc=com", attributes: List::build(&mut list, attributes) };
    assert_eq!(client.ask_with(Request::Add(request), &[of(&identifier)]), ResultCode::SUCCESS);
    client.put_off(&identifier, &person(0), "userPassword", "changed");
    assert_eq!(client.end(&identifier, true), (ResultCode::SUCCESS, None));
    for (name, password) in [("cn=New,dc=example,dc=com".to_string(), "secret"), (person(0), "changed")] {
        assert_eq!(Client::new(&daemon).bind(&name, password).code, ResultCode::SUCCESS, "{name}");
    }
    assert_eq!(client.has("(|(userPassword=secret)(userPassword=changed))"), 0, "none is kept in clear text");
}
