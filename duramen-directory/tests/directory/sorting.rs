//! Searches whose entries come in order (RFC 2891), beside what else is asked for.

use std::sync::Arc;

use duramen_directory::{Config, Peer, Requester, SearchLimits};
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::{PagedResults, SortKey, SortKeys};
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

/// The value of a control that asks for an order.
fn by(description: &str) -> Vec<u8> {
    let (mut buffer, mut value) = (Vec::new(), Vec::new());
    SortKeys(List::build(&mut buffer, [SortKey { description, rule: None, reverse: false }])).encode(&mut value);
    value
}

fn sort(value: &[u8]) -> Control<'_> {
    Control { oid: oid::SORT_REQUEST, critical: true, value: Some(value) }
}

#[test]
fn a_key_with_options_sorts_by_what_stands_under_them_rfc4512_2_5_2() {
    let sample = Sample::people();
    let name = |n: usize| format!("cn=e{n},dc=example,dc=com");
    for (n, [plain, de, de_at]) in [["a", "z", ""], ["b", "y", "c"], ["c", "", "x"]].into_iter().enumerate() {
        let mut attributes: Vec<(&str, Vec<&[u8]>)> = vec![("objectClass", vec![b"device"]), ("cn", vec![b"e"])];
        let given = [("ou", plain), ("ou;lang-de", de), ("ou;lang-de-at", de_at)];
        attributes.extend(given.iter().filter(|(_, v)| !v.is_empty()).map(|(d, v)| (*d, vec![v.as_bytes()])));
        sample.add(&name(n), &attributes).unwrap();
    }
    for (key, expected) in [
        ("ou", [0, 1, 2]),
        ("OU;Lang-DE", [1, 0, 2]),
        ("ou;lang-de-at", [1, 2, 0]),
        ("ou;lang-de-", [1, 2, 0]),
        ("ou;lang-fr", [0, 1, 2]),
    ] {
        let value = by(key);
        let ask = Ask { controls: vec![sort(&value)], ..Ask::default() };
        let given = sample.search(BASE, "(objectClass=device)", &ask).unwrap();
        assert_eq!(given.names(), expected.map(name), "{key}");
    }
}

#[test]
fn what_is_put_in_order_is_looked_at_once_by_the_limit_too() {
    let limits = |examined| SearchLimits { examined, ..SearchLimits::default() };
    for (examined, code) in [(5, ResultCode::ADMIN_LIMIT_EXCEEDED), (6, ResultCode::SUCCESS)] {
        let mut config = Config::default();
        config.limits.search = limits(examined);
        let sample = Sample::with(config);
        sample.load(PEOPLE);
        let value = by("cn");
        for controls in [Vec::new(), vec![sort(&value)]] {
            let requester = Requester::anonymous(Arc::new(Peer::Internal), 0);
            let ask = Ask { requester, controls, ..Ask::default() };
            assert_eq!(sample.search(BASE, "(!(cn=nobody))", &ask).unwrap().code(), code, "{examined}");
        }
    }
}

#[test]
fn references_come_with_the_first_page_of_what_is_sorted_rfc2696_3() {
    let sample = Sample::people();
    let attributes: &[(&str, Vec<&[u8]>)] =
        &[("objectClass", vec![b"referral", b"extensibleObject"]), ("ou", vec![b"a"]), ("ref", vec![b"ldap://a/"])];
    sample.add("ou=a,dc=example,dc=com", attributes).unwrap();
    let (value, mut cookie, mut seen) = (by("cn"), Vec::new(), Vec::new());
    loop {
        let mut page = Vec::new();
        PagedResults { size: 2, cookie: &cookie }.encode(&mut page);
        let page = Control { oid: oid::PAGED_RESULTS, critical: true, value: Some(&page) };
        let ask = Ask { controls: vec![sort(&value), page], ..Ask::default() };
        let given = sample.search(BASE, "(objectClass=*)", &ask).unwrap();
        seen.push((given.names().len(), given.references.len()));
        let (_, response) = controls(&given).into_iter().find(|(oid, _)| oid == oid::PAGED_RESULTS).unwrap();
        cookie = PagedResults::decode(&response).unwrap().cookie.to_vec();
        if cookie.is_empty() {
            break;
        }
    }
    assert_eq!(seen, [(2, 1), (2, 0), (2, 0)]);
}
