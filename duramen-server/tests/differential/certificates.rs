//! Certificates and lists of revoked ones: which are the same, and what is asserted of them (RFC 4523).

use duramen_ldap::message::{ChangeKind, Deref, Scope};

use crate::World;
use crate::request::{Bytes, Operation, Request, Search};
use crate::servers::SUFFIX;
use crate::words::escape;
use crate::world;

const CERTIFICATES: [&str; 5] = ["alice", "alice-again", "alice-two", "negative", "long"];
const LISTS: [&str; 2] = ["list", "list-late"];

/// Of the issuers and numbers of these, in all forms that both servers know, and what is no assertion. slapd does not find
/// names that are not ASCII, nor knows types beyond its schema.
const ABOUT_CERTIFICATES: [&str; 15] = [
    "{ serialNumber 1, issuer rdnSequence:\"cn=ALICE,o=example corp,c=AT\" }",
    "{ serialNumber 2, issuer rdnSequence:\"CN=Alice, O=Example Corp, C=at\" }",
    "{ serialNumber 3, issuer rdnSequence:\"cn=alice,o=example corp,c=at\" }",
    "{serialNumber 1,issuer rdnSequence:\"cn=alice,o=example corp,c=at\"}",
    "{ issuer rdnSequence:\"cn=alice,o=example corp,c=at\", serialNumber 1 }",
    "{ serialNumber 1, issuer \"cn=alice,o=example corp,c=at\" }",
    "1$cn=alice,o=example corp,c=at",
    "{ serialNumber -5, issuer rdnSequence:\"cn=neg\\, \\\"\"q\\\"\" #x,dc=example,dc=com\" }",
    "{ serialNumber 5, issuer rdnSequence:\"cn=neg\\, \\\"\"q\\\"\" #x,dc=example,dc=com\" }",
    "{ serialNumber 730750818665451459101842416358141509827966271489, issuer rdnSequence:\"cn=multi,ou=Y+o=X\" }",
    "{ serialNumber 1 }",
    "{ serialNumber x, issuer rdnSequence:\"\" }",
    "{ serialNumber 1, issuer rdnSequence:\"nosuchtype=x\" }",
    "{ serialNumber 1, issuer rdnSequence:\"cn=x\" } x",
    "x",
];

/// slapd takes a time only without its choice, which RFC 4523 appendix A.5 wants.
const ABOUT_LISTS: [&str; 3] = [
    "{ issuer rdnSequence:\"o=crl ca\", thisUpdate \"20260101000000Z\" }",
    "{ issuer rdnSequence:\"o=CRL CA\", thisUpdate \"20260102000000Z\" }",
    "{ issuer rdnSequence:\"o=CRL CA\" }",
];

fn der(name: &str) -> Bytes {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/certificate").join(name);
    Bytes(std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

fn person() -> String {
    format!("uid=alice,ou=people,{SUFFIX}")
}

fn search(filter: String) -> Request {
    Request::from(Operation::Search(Search {
        base: SUFFIX.to_owned(),
        scope: Scope::Subtree,
        deref: Deref::Never,
        filter,
        attributes: vec!["cn".into(), "userCertificate".into(), "issuedList".into()],
        size_limit: 0,
        types_only: false,
    }))
}

fn change(kind: ChangeKind, description: &str, values: &[Bytes]) -> Request {
    let change = (kind, (description.to_owned(), values.to_vec()));
    Request::from(Operation::Modify { name: person(), changes: vec![change] })
}

/// What is asked of an attribute between two changes: filters and comparisons with assertions.
fn questions(attribute: &str, assertions: &[&str]) -> Vec<Request> {
    let binary = format!("{attribute};binary");
    let mut requests = Vec::new();
    for assertion in assertions {
        let escaped = escape(assertion.as_bytes());
        let filters = [
            format!("({attribute}={escaped})"),
            format!("({binary}={escaped})"),
            format!("(&(uid=*)(!({attribute}={escaped})))"),
        ];
        requests.extend(filters.map(search));
        requests.extend([attribute, &binary].map(|attribute| {
            let value = Bytes::from(*assertion);
            Request::from(Operation::Compare { name: person(), attribute: attribute.into(), value })
        }));
    }
    requests.push(search(format!("({attribute}=*)")));
    requests
}

/// Adds each value, adds it again, deletes it; some at once; what is no value.
fn changes(attribute: &str, values: &[&str]) -> Vec<Request> {
    let binary = &format!("{attribute};binary");
    let all: Vec<Bytes> = values.iter().map(|name| der(name)).collect();
    let mut requests = Vec::new();
    for value in &all {
        requests
            .extend([ChangeKind::Add, ChangeKind::Add].map(|kind| change(kind, binary, std::slice::from_ref(value))));
    }
    requests.push(change(ChangeKind::Replace, binary, &all));
    requests.push(change(
        ChangeKind::Add,
        binary,
        &[b"\x30\x03\x02\x01\x01".as_slice()].map(|junk| Bytes(junk.into())),
    ));
    for value in &all {
        requests.push(change(ChangeKind::Delete, binary, std::slice::from_ref(value)));
    }
    requests.extend(all.last().map(|value| change(ChangeKind::Replace, binary, std::slice::from_ref(value))));
    requests
}

#[test]
fn certificates_are_told_apart_as_slapd_tells_them() {
    let mut world = World::with(0, "access to * by * read\n".into(), "none");
    let mut pair = world.administrator();
    for request in world::entries() {
        pair.ask(&request);
    }
    let class = change(ChangeKind::Add, "objectClass", &["extensibleObject".into()]);
    assert_eq!(pair.ask(&class).1.code, 0);
    let (mut n, mut codes) = (0, std::collections::BTreeSet::new());
    for (attribute, values, assertions) in
        [("userCertificate", &CERTIFICATES[..], &ABOUT_CERTIFICATES[..]), ("issuedList", &LISTS, &ABOUT_LISTS)]
    {
        for update in changes(attribute, values) {
            for request in [vec![update], questions(attribute, assertions)].concat() {
                let answers = pair.ask(&request);
                world.compare(n, "the administrator", &request, &answers);
                codes.insert(answers.1.code);
                n += 1;
            }
        }
    }
    assert!(world.found.is_empty(), "{}", world.found.join("\n"));
    // Success, no such attribute, no such syntax, there already, true and false.
    assert_eq!(codes.into_iter().collect::<Vec<_>>(), [0, 5, 6, 16, 20, 21]);
}
