//! Searches whose entries come in order (RFC 2891), beside what else is asked for.

use std::sync::Arc;

use duramen_directory::{Config, Peer, Requester, SearchLimits};
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::{PagedResults, SortKey, SortKeys};
use duramen_ldap::message::{ChangeKind::Replace, Control, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

/// The value of a control that asks for an order.
fn by(description: &str) -> Vec<u8> {
    by_keys(&[(description, false)])
}

/// Likewise, by several keys, or from the end.
fn by_keys(keys: &[(&str, bool)]) -> Vec<u8> {
    let (mut buffer, mut value) = (Vec::new(), Vec::new());
    let keys = keys.iter().map(|&(description, reverse)| SortKey { description, rule: None, reverse });
    SortKeys(List::build(&mut buffer, keys)).encode(&mut value);
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

/// A directory of devices that are not changed, and of some that are: with values that are the same, that are the same for
/// very long, and without any.
struct Devices {
    sample: Sample,
    changes: usize,
}

impl Devices {
    const STILL: usize = 48;
    const MOVING: usize = 24;

    fn new() -> Devices {
        let mut devices = Devices { sample: Sample::people(), changes: 0 };
        (0..Self::STILL).for_each(|n| devices.add("still", n, n));
        (0..Self::MOVING).for_each(|n| devices.add("moving", n, n));
        devices
    }

    fn name(kind: &str, n: usize) -> String {
        format!("cn={kind}{n},dc=example,dc=com")
    }

    fn value(n: usize) -> String {
        match n % 8 {
            0..3 => format!("same {}", n % 3),
            3 | 4 => format!("{}{n}", "long".repeat(1000)),
            _ => format!("value {}", n * 7 % 11),
        }
    }

    fn add(&mut self, kind: &str, n: usize, value: usize) {
        let (cn, l, o) = (format!("{kind}{n}"), Self::value(value), format!("o{}", n % 5));
        let mut attributes: Vec<(&str, Vec<&[u8]>)> =
            vec![("objectClass", vec![b"device"]), ("cn", vec![cn.as_bytes()])];
        attributes.push(("o", vec![o.as_bytes()]));
        attributes.extend((value % 8 != 7).then(|| ("l", vec![l.as_bytes()])));
        self.sample.add(&Self::name(kind, n), &attributes).unwrap();
    }

    /// Adds some, deletes others, gives others other values.
    fn change(&mut self) {
        for _ in 0..6 {
            self.changes += 1;
            let (n, other) = (self.changes * 5 % Self::MOVING, self.changes * 13);
            let name = Self::name("moving", n);
            if !self.changes.is_multiple_of(3) {
                drop(self.sample.modify(&name, &[(Replace, "l", &[&Self::value(other)])]));
            } else if self.sample.delete(&name, &[]).is_err() {
                self.add("moving", n, other);
            }
        }
    }

    /// What is in the pages, between which there are changes.
    fn pages(&mut self, keys: &[(&str, bool)], size: u32) -> Vec<String> {
        let (value, mut cookie, mut all) = (by_keys(keys), Vec::new(), Vec::new());
        loop {
            let (names, next) =
                page_of(&self.sample, "(objectClass=device)", size, &cookie, Some(sort(&value))).unwrap();
            all.extend(names);
            assert!(next.len() <= 8 + 1024 + 16, "a cookie of {} bytes", next.len());
            if next.is_empty() {
                return all;
            }
            cookie = next;
            self.change();
        }
    }
}

#[test]
fn what_does_not_change_comes_in_one_page_whatever_else_changes_between_them() {
    let mut devices = Devices::new();
    for keys in [&[("l", false)][..], &[("l", true)], &[("o", true), ("l", false)], &[("l", false), ("o", true)]] {
        for size in [1, 3, 10] {
            let found = devices.pages(keys, size);
            let times = |n: usize| found.iter().filter(|name| **name == Devices::name("still", n)).count();
            let wrong: Vec<_> = (0..Devices::STILL).map(|n| (n, times(n))).filter(|(_, times)| *times != 1).collect();
            assert_eq!(wrong, [], "by {keys:?}, {size} in a page");
        }
    }
}

#[test]
fn a_page_goes_on_in_the_order_of_the_one_before_rfc2696_3() {
    let sample = Sample::people();
    let page = |keys: &[(&str, bool)], cookie: &[u8]| {
        let value = by_keys(keys);
        page_of(&sample, "(cn=*)", 1, cookie, (!keys.is_empty()).then(|| sort(&value)))
    };
    let (_, sorted) = page(&[("cn", false)], b"").unwrap();
    let (_, unsorted) = page(&[], b"").unwrap();
    assert_eq!(page(&[("cn", false)], &sorted).unwrap().0, [JENSEN]);
    assert_eq!(code(page(&[("cn", true)], &sorted)), ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(code(page(&[("sn", false)], &sorted)), ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(code(page(&[], &sorted)), ResultCode::UNWILLING_TO_PERFORM);
    assert_eq!(code(page(&[("cn", false)], &unsorted)), ResultCode::UNWILLING_TO_PERFORM);
}

#[test]
fn a_page_of_nothing_has_a_cookie_to_begin_with_rfc2696_3() {
    let (sample, value) = (Sample::people(), by("cn"));
    let page = |size, cookie: &[u8]| page_of(&sample, "(cn=*)", size, cookie, Some(sort(&value))).unwrap();
    let (none, cookie) = page(0, b"");
    assert_eq!((none, page(9, &cookie).0.len()), (vec![], 3));
}

#[test]
fn the_last_orders_are_kept_for_all_threads() {
    let sample = Sample::people();
    let is_kept = |filter: &str, key| {
        let (sorted, mut page) = (by(key), Vec::new());
        PagedResults { size: 2, cookie: b"" }.encode(&mut page);
        let page = Control { oid: oid::PAGED_RESULTS, critical: true, value: Some(&page) };
        let ask = Ask { controls: vec![sort(&sorted), page], ..Ask::default() };
        sample.search(BASE, filter, &ask).unwrap().plan.contains(", 0 looked at")
    };
    assert!(!is_kept("(cn=*)", "cn"));
    assert!(!is_kept("(cn=*)", "sn"));
    let both = || is_kept("(cn=*)", "cn") && is_kept("(cn=*)", "sn");
    assert!(both() && std::thread::scope(|scope| scope.spawn(both).join().unwrap()));
    for n in 0..16 {
        assert!(!is_kept(&format!("(|(cn=*)(cn={n}))"), "cn"));
    }
    assert!(!is_kept("(cn=*)", "cn"), "others were asked for since");
    sample.modify(JENSEN, &[(Replace, "sn", &["S"])]).unwrap();
    assert!(!is_kept("(cn=*)", "cn"), "something has changed");
}

#[test]
fn what_is_made_up_comes_in_order_and_no_more_of_it_than_is_asked_for() {
    let sample = Sample::people();
    sample.directory.set_monitor(Arc::new(|| {
        let values = |name: &str, value: &str| (name.to_string(), vec![value.to_string()]);
        let entry = |(front, counter): (&str, &str)| {
            (front.to_string(), vec![values("objectClass", "monitorCounterObject"), values("monitorCounter", counter)])
        };
        [("", "2"), ("cn=a", "10"), ("cn=b", "1"), ("cn=c", "7")].map(entry).to_vec()
    }));
    let order = by_keys(&[("monitorCounter", true)]);
    let names = ["cn=a,cn=Monitor", "cn=c,cn=Monitor", "cn=Monitor", "cn=b,cn=Monitor"];
    for (size_limit, expected) in
        [(0, ResultCode::SUCCESS), (4, ResultCode::SUCCESS), (3, ResultCode::SIZE_LIMIT_EXCEEDED)]
    {
        let ask = Ask { size_limit, controls: vec![sort(&order)], ..Ask::default() };
        let given = sample.search("cn=monitor", "(objectClass=*)", &ask).unwrap();
        let count = if size_limit == 3 { 3 } else { 4 };
        assert_eq!((given.names(), given.code()), (names[..count].to_vec(), expected));
    }
}
