//! What is decoded borrows from the message: nothing is allocated for it, nor for walking what was decoded.

use allocation_counter::measure;
use duramen_ldap::ber::{Frame, List, frame};
use duramen_ldap::dn::Dn;
use duramen_ldap::filter::{Filter, FilterBuf, Node};
use duramen_ldap::message::{
    Attribute, Change, ChangeKind, Control, Deref, Message, ModifyRequest, Request, Scope, SearchRequest,
    write_search_entry,
};

fn search() -> Vec<u8> {
    let filter = FilterBuf::parse("(&(objectClass=person)(|(cn=a*b)(!(mail=*)))(cn:dn:2.5.13.2:=x))").unwrap();
    let (mut names, mut controls) = (Vec::new(), Vec::new());
    let operation = Request::Search(SearchRequest {
        base: "ou=people,dc=example,dc=com",
        scope: Scope::Subtree,
        deref: Deref::Never,
        size_limit: 10,
        time_limit: 0,
        types_only: false,
        filter: filter.as_filter(),
        attributes: List::build(&mut names, ["cn", "mail"]),
    });
    let control = Control { oid: "2.16.840.1.113730.3.4.2", critical: true, value: None };
    let mut out = Vec::new();
    Message { id: 7, operation, controls: List::build(&mut controls, [control]) }.encode(&mut out);
    out
}

fn modify() -> Vec<u8> {
    let (mut values, mut changes, mut out) = (Vec::new(), Vec::new(), Vec::new());
    let attribute = Attribute { description: "mail", values: List::build(&mut values, [&b"a@b"[..], b"c@d"]) };
    let changes = List::build(&mut changes, [Change { kind: ChangeKind::Replace, attribute }]);
    Message::new(8, Request::Modify(ModifyRequest { name: "cn=x", changes })).encode(&mut out);
    out
}

/// Counts the filters within a filter.
fn count(filter: Filter<'_>) -> usize {
    match filter.node() {
        Node::And(filters) | Node::Or(filters) => 1 + filters.iter().map(count).sum::<usize>(),
        Node::Not(filter) => 1 + count(filter),
        _ => 1,
    }
}

#[test]
fn decoding_and_walking_a_request_allocates_nothing() {
    let (search, modify) = (search(), modify());
    let mut seen = 0;
    let allocated = measure(|| {
        assert_eq!(frame(&search, 1 << 20), Ok(Frame::Complete(search.len())));
        let message = Message::<Request<'_>>::decode(&search).unwrap();
        let Request::Search(request) = message.operation else { panic!() };
        seen += count(request.filter) + request.attributes.count() + message.controls.count();
        let dn = Dn::parse(request.base).unwrap();
        seen += dn.rdns().rev().flat_map(|rdn| rdn.avas()).map(|ava| ava.value().len()).sum::<usize>();
        let Request::Modify(request) = Message::<Request<'_>>::decode(&modify).unwrap().operation else { panic!() };
        seen += request.changes.iter().map(|change| change.attribute.values.count()).sum::<usize>();
    });
    assert_eq!(seen, 7 + 2 + 1 + "peopleexamplecom".len() + 2);
    assert_eq!(allocated.count_total, 0);
}

#[test]
fn encoding_into_a_used_buffer_allocates_nothing() {
    let (mut values, mut attributes) = (Vec::new(), Vec::new());
    let attribute = Attribute { description: "mail", values: List::build(&mut values, [&b"a@b"[..]]) };
    let attributes = List::build(&mut attributes, [attribute; 20]);
    let request = search();
    let message = Message::<Request<'_>>::decode(&request).unwrap();
    let mut out = Vec::with_capacity(4096);
    let allocated = measure(|| {
        for id in 1..4 {
            write_search_entry(&mut out, id, "cn=x", [attributes.encoded()].into_iter(), List::default());
            message.encode(&mut out);
        }
    });
    assert!(out.len() > 1000);
    assert_eq!(allocated.count_total, 0);
}
