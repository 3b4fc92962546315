//! Windows of sorted searches: virtual list views (draft-ietf-ldapext-ldapv3-vlv-09).

use std::sync::Arc;

use duramen_directory::{Config, Failure, Limits, Peer, Requester, SearchLimits};
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::{ListViewRequest, ListViewResponse, ListViewTarget, SortKey, SortKeys};
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const FILTER: &str = "(objectClass=inetOrgPerson)";

/// Twenty people, whose surnames do not come in the order of their entries, and one without a number.
fn sample() -> Sample {
    sample_with(Config::default())
}

fn sample_with(config: Config) -> Sample {
    let sample = Sample::with(config);
    let mut ldif = String::from("dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n");
    for n in 0..20_u8 {
        let letter = char::from(b'a' + n * 7 % 20);
        ldif += &format!(
            "dn: cn=p{n},dc=example,dc=com\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: S{letter}\n\
             employeeNumber: {n}\n\n"
        );
    }
    sample.load(&ldif);
    sample
}

/// A search for a window of all people by surname.
struct View<'a> {
    before: u32,
    after: u32,
    target: ListViewTarget<'a>,
    reverse: bool,
    ask: Ask<'a>,
}

impl Default for View<'_> {
    fn default() -> Self {
        View { before: 0, after: 0, target: at(1, 0), reverse: false, ask: Ask::default() }
    }
}

fn at(offset: u32, count: u32) -> ListViewTarget<'static> {
    ListViewTarget::Offset { offset, count }
}

fn list_view(before: u32, after: u32, target: ListViewTarget<'_>) -> Vec<u8> {
    let mut value = Vec::new();
    ListViewRequest { before, after, target, context: None }.encode(&mut value);
    value
}

fn sorted_by(description: &str, reverse: bool) -> Vec<u8> {
    let (mut buffer, mut value) = (Vec::new(), Vec::new());
    SortKeys(List::build(&mut buffer, [SortKey { description, rule: None, reverse }])).encode(&mut value);
    value
}

fn response(given: &Given) -> Option<(u32, u32, ResultCode)> {
    let (_, value) = controls(given).into_iter().find(|(oid, _)| oid == oid::LIST_VIEW_RESPONSE)?;
    let response = ListViewResponse::decode(&value).unwrap();
    Some((response.position, response.count, response.code))
}

impl View<'_> {
    fn of(&self, sample: &Sample) -> Given {
        let (view, sort) = (list_view(self.before, self.after, self.target), sorted_by("sn", self.reverse));
        let control = |oid, value| Control { oid, critical: true, value: Some(value) };
        let own = [control(oid::SORT_REQUEST, &sort[..]), control(oid::LIST_VIEW_REQUEST, &view)];
        let mut ask = Ask { controls: own.to_vec(), attributes: &["sn"], ..Ask::default() };
        (ask.size_limit, ask.requester) = (self.ask.size_limit, self.ask.requester.clone());
        sample.search(BASE, FILTER, &ask).unwrap()
    }

    /// Last letters of the surnames in the window; the target's place and the list's length.
    fn letters(&self, sample: &Sample) -> (String, u32, u32) {
        let given = self.of(sample);
        assert_eq!(given.failure, None);
        let letters = given.entries.iter().map(|(_, attributes)| &attributes[0].1[0][1..]).collect();
        let (position, count, code) = response(&given).unwrap();
        assert_eq!(code, ResultCode::SUCCESS);
        (letters, position, count)
    }
}

#[test]
fn a_window_lies_around_an_offset_and_ends_with_the_list_draft_vlv_09_5() {
    let sample = sample();
    let letters = |before, after, target| View { before, after, target, ..View::default() }.letters(&sample);
    assert_eq!(letters(0, 3, at(1, 0)), ("abcd".into(), 1, 20));
    assert_eq!(letters(2, 3, at(10, 20)), ("hijklm".into(), 10, 20));
    assert_eq!(letters(2, 3, at(10, 0)), ("hijklm".into(), 10, 20));
    assert_eq!(letters(2, 3, at(5, 10)), ("hijklm".into(), 10, 20), "a list that the client takes for half as long");
    assert_eq!(letters(2, 3, at(7, 7)), ("rst".into(), 20, 20), "the last");
    assert_eq!(letters(100, 100, at(10, 0)).0.len(), 20);
    assert_eq!(letters(0, 0, at(3, 20)), ("c".into(), 3, 20));
    let backwards = View { after: 2, reverse: true, ..View::default() };
    assert_eq!(backwards.letters(&sample), ("tsr".into(), 1, 20));
}

#[test]
fn a_window_lies_around_the_first_value_that_is_no_less_draft_vlv_09_5() {
    let sample = sample();
    let letters = |reverse, value: &'static str| {
        let target = ListViewTarget::AtLeast(value.as_bytes());
        View { before: 1, after: 2, target, reverse, ..View::default() }.letters(&sample)
    };
    assert_eq!(letters(false, "sF"), ("efgh".into(), 6, 20), "as the attribute's rule compares");
    assert_eq!(letters(false, "se "), ("defg".into(), 5, 20));
    assert_eq!(letters(false, "seb"), ("efgh".into(), 6, 20), "between two");
    assert_eq!(letters(false, ""), ("abc".into(), 1, 20));
    assert_eq!(letters(false, "sz"), ("t".into(), 21, 20), "behind all");
    assert_eq!(letters(true, "sf"), ("gfed".into(), 15, 20));
    assert_eq!(letters(true, "sa"), ("ba".into(), 20, 20));
    assert_eq!(letters(true, "aa"), ("a".into(), 21, 20), "behind all");
}

#[test]
fn windows_follow_what_changes_between_them() {
    let sample = sample();
    let view = View { after: 1, target: at(20, 20), ..View::default() };
    assert_eq!(view.letters(&sample), ("t".into(), 20, 20));
    sample.load("dn: cn=new,dc=example,dc=com\nobjectClass: inetOrgPerson\ncn: new\nsn: Saa\n");
    let view = View { target: at(20, 20), ..View::default() };
    assert_eq!(view.letters(&sample), ("t".into(), 21, 21));
    let view = View { after: 1, ..View::default() };
    assert_eq!(view.letters(&sample), ("aaa".into(), 1, 21));
    // The same question again is answered from what is remembered.
    assert_eq!(view.letters(&sample), ("aaa".into(), 1, 21));
}

#[test]
fn what_cannot_be_shown_is_told_with_the_reason_draft_vlv_09_6() {
    let sample = sample();
    let refused = |given: Given| {
        assert_eq!(given.code(), ResultCode::VIRTUAL_LIST_VIEW_ERROR);
        assert!(given.entries.is_empty());
        response(&given).unwrap()
    };
    let beyond = View { target: at(21, 0), ..View::default() }.of(&sample);
    assert_eq!(refused(beyond), (0, 20, ResultCode::OFFSET_RANGE_ERROR));
    let beyond = View { target: at(7, 3), ..View::default() }.of(&sample);
    assert_eq!(refused(beyond), (0, 20, ResultCode::OFFSET_RANGE_ERROR));
    let view = list_view(0, 1, at(1, 0));
    let search = |base, own: &[Control<'_>]| {
        let ask = Ask { controls: own.to_vec(), ..Ask::default() };
        sample.search(base, FILTER, &ask)
    };
    let wanted = Control { oid: oid::LIST_VIEW_REQUEST, critical: true, value: Some(&view) };
    assert_eq!(refused(search(BASE, &[wanted]).unwrap()).2, ResultCode::SORT_CONTROL_MISSING);
    let unsorted = sorted_by("nothing", false);
    let unsorted = Control { oid: oid::SORT_REQUEST, critical: false, value: Some(&unsorted) };
    assert_eq!(refused(search(BASE, &[unsorted, wanted]).unwrap()).2, ResultCode::SORT_CONTROL_MISSING);
    let sort = sorted_by("employeeNumber", false);
    let sort = Control { oid: oid::SORT_REQUEST, critical: true, value: Some(&sort) };
    let value = list_view(0, 1, ListViewTarget::AtLeast(b"\xFF"));
    let wrong = Control { oid: oid::LIST_VIEW_REQUEST, critical: true, value: Some(&value) };
    assert_eq!(refused(search(BASE, &[sort, wrong]).unwrap()).2, ResultCode::INAPPROPRIATE_MATCHING);
    assert_eq!(refused(search("cn=subschema", &[sort, wanted]).unwrap()).2, ResultCode::UNWILLING_TO_PERFORM);
    let page = b"\x30\x05\x02\x01\x05\x04\x00";
    let page = Control { oid: oid::PAGED_RESULTS, critical: false, value: Some(page) };
    let both = search(BASE, &[sort, wanted, page]).map(|_| ());
    assert_eq!(both.map_err(|failure: Failure| failure.code), Err(ResultCode::PROTOCOL_ERROR));
}

#[test]
fn an_empty_list_has_an_empty_window_and_entries_without_a_value_come_last() {
    let sample = sample();
    let search = |filter, target| {
        let (view, sort) = (list_view(1, 1, target), sorted_by("employeeNumber", false));
        let control = |oid, value| Control { oid, critical: true, value: Some(value) };
        let controls = vec![control(oid::SORT_REQUEST, &sort[..]), control(oid::LIST_VIEW_REQUEST, &view)];
        sample.search(BASE, filter, &Ask { controls, ..Ask::default() }).unwrap()
    };
    let empty = search("(cn=nobody)", at(1, 0));
    assert_eq!((empty.failure.as_ref(), empty.names().len()), (None, 0));
    assert_eq!(response(&empty), Some((0, 0, ResultCode::SUCCESS)));
    let empty = search("(cn=nobody)", ListViewTarget::AtLeast(b"1"));
    assert_eq!((empty.failure.as_ref(), response(&empty)), (None, Some((1, 0, ResultCode::SUCCESS))));
    let all = search("(objectClass=*)", ListViewTarget::AtLeast(b"9"));
    assert_eq!(all.names(), ["cn=p8,dc=example,dc=com", "cn=p9,dc=example,dc=com", BASE]);
    assert_eq!(response(&all), Some((20, 21, ResultCode::SUCCESS)));
}

#[test]
fn a_window_has_no_more_entries_than_the_size_limit_rfc4511_4_5_1_4() {
    let sample = sample();
    let given = View { after: 5, ask: Ask { size_limit: 2, ..Ask::default() }, ..View::default() }.of(&sample);
    assert_eq!(given.code(), ResultCode::SIZE_LIMIT_EXCEEDED);
    assert_eq!(given.names().len(), 2);
    let given = View { after: 1, ask: Ask { size_limit: 2, ..Ask::default() }, ..View::default() }.of(&sample);
    assert_eq!((given.failure.as_ref(), given.names().len()), (None, 2), "the list may be longer");
}

#[test]
fn who_may_see_so_many_entries_of_a_search_sees_no_others_window_after_window() {
    let search = SearchLimits { entries: 5, ..SearchLimits::default() };
    let sample = sample_with(Config { limits: Limits { search, ..Limits::default() }, ..Config::default() });
    let seen = |before, after, target| {
        let requester = Requester::anonymous(Arc::new(Peer::Internal), 0);
        let ask = Ask { requester, ..Ask::default() };
        let given = View { before, after, target, ask, ..View::default() }.of(&sample);
        (given.names().len(), given.code())
    };
    let exceeded = ResultCode::SIZE_LIMIT_EXCEEDED;
    assert_eq!(seen(0, 1, at(1, 20)), (2, ResultCode::SUCCESS));
    assert_eq!(seen(0, 1, at(4, 20)), (2, ResultCode::SUCCESS), "the last that may be seen");
    assert_eq!(seen(0, 1, at(5, 20)), (1, exceeded));
    assert_eq!(seen(3, 3, at(5, 20)), (4, exceeded));
    assert_eq!(seen(0, 1, at(6, 20)), (0, exceeded));
    assert_eq!(seen(0, 19, at(1, 20)), (5, exceeded));
    let all = View { after: 19, ..View::default() }.of(&sample);
    assert_eq!((all.names().len(), all.code()), (20, ResultCode::SUCCESS), "the administrator's");
}
