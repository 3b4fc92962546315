//! Limits of searches, for all and for some.

use std::sync::Arc;
use std::time::Duration;

use duramen_directory::{Config, Directory, Failure, Limits, LimitsFor, Peer, Requester, SearchLimits};
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::{MatchedValues, PagedResults, ReadEntryRequest};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::ChangeKind::{self, Add, Delete};
use duramen_ldap::message::{Control, ResultCode};
use duramen_ldap::oid::control as oid;

use crate::sample::*;

const SMITH: &str = "uid=jsmith,ou=People,dc=example,dc=com";

fn entries(entries: u32) -> SearchLimits {
    SearchLimits { entries, ..SearchLimits::default() }
}

fn limited(limits_for: &[(&str, SearchLimits)]) -> Config {
    let limits_for = limits_for.iter().map(|&(who, search)| LimitsFor { who: who.into(), search }).collect();
    Config { limits: Limits { search: entries(2), ..Limits::default() }, limits_for, ..Config::default() }
}

/// How many of the six entries somebody gets, and with which code.
fn got(sample: &Sample, requester: Requester) -> (usize, ResultCode) {
    let given = sample.search(BASE, "(objectClass=*)", &Ask { requester, ..Ask::default() }).unwrap();
    (given.names().len(), given.code())
}

fn bound(sample: &Sample, name: &str) -> Requester {
    let name = sample.directory.name(name).unwrap();
    Requester { name, ..Requester::anonymous(Arc::new(Peer::Internal), 128) }
}

#[test]
fn a_limit_of_time_that_no_clock_reaches_is_none() {
    let search = SearchLimits { time: Some(Duration::MAX), ..SearchLimits::default() };
    let sample = Sample::with(Config { limits: Limits { search, ..Limits::default() }, ..Config::default() });
    sample.load(PEOPLE);
    assert_eq!(got(&sample, bound(&sample, SMITH)), (6, ResultCode::SUCCESS));
}

#[test]
fn the_limits_hold_of_the_first_whom_somebody_is() {
    let sample = Sample::with(limited(&[
        ("group=cn=admins,ou=Groups,dc=example,dc=com", entries(0)),
        (r#"dn.exact="UID=jsmith, ou=People,dc=example,dc=com" ssf=128"#, entries(5)),
        ("dn.children=ou=People,dc=example,dc=com", entries(4)),
        ("anonymous", entries(1)),
    ]));
    sample.load(PEOPLE);
    let exceeded = ResultCode::SIZE_LIMIT_EXCEEDED;
    assert_eq!(got(&sample, Requester::internal()), (6, ResultCode::SUCCESS));
    assert_eq!(got(&sample, bound(&sample, JENSEN)), (6, ResultCode::SUCCESS));
    assert_eq!(got(&sample, bound(&sample, SMITH)), (5, exceeded));
    assert_eq!(got(&sample, Requester { ssf: 0, ..bound(&sample, SMITH) }), (4, exceeded));
    assert_eq!(got(&sample, Requester::anonymous(Arc::new(Peer::Internal), 0)), (1, exceeded));
    assert_eq!(got(&sample, bound(&sample, "cn=elsewhere")), (2, exceeded), "the limit of all others");
    // RFC 4511 section 4.5.1.4: who asks may want less.
    let asked = Ask { requester: bound(&sample, SMITH), size_limit: 3, ..Ask::default() };
    assert_eq!(sample.search(BASE, "(objectClass=*)", &asked).unwrap().names().len(), 3);
}

#[test]
fn who_leaves_the_group_has_other_limits_at_once() {
    let sample = Sample::with(limited(&[("group=cn=admins,ou=Groups,dc=example,dc=com", entries(0))]));
    sample.load(PEOPLE);
    assert_eq!(got(&sample, bound(&sample, JENSEN)).0, 6);
    sample.delete("cn=admins,ou=Groups,dc=example,dc=com", &[]).unwrap();
    assert_eq!(got(&sample, bound(&sample, JENSEN)).0, 2);
}

#[test]
fn a_search_without_an_index_may_be_for_some_only() {
    let few = SearchLimits { examined: 3, time: Some(Duration::from_secs(60)), entries: 0 };
    let sample = Sample::with(limited(&[("anonymous", few)]));
    sample.load(PEOPLE);
    let search = |requester| sample.search(BASE, "(homeDirectory=/home/jsmith)", &Ask { requester, ..Ask::default() });
    let refused = search(Requester::anonymous(Arc::new(Peer::Internal), 0)).unwrap();
    assert_eq!(refused.code(), ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert_eq!(search(bound(&sample, SMITH)).unwrap().names(), [SMITH]);
}

#[test]
fn whom_limits_are_for_is_said_without_an_entry() {
    for (who, why) in [
        ("", "it is about nobody"),
        ("users self", "column 7: whom 'self' is about depends on an entry"),
        ("dnattr=member", "depends on an entry"),
        (r#"dn.exact,expand="cn=$1""#, "depends on an entry"),
        ("write", "'write' is nobody"),
        ("group=cn=a,nonsense", "nonsense"),
        (r#"dn.exact="cn=a"#, "this quote is never closed"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let config = Config { suffixes: vec![BASE.into()], ..limited(&[(who, entries(0))]) };
        let error = Directory::open(folder.path(), config).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("limits.for: who, line 1, column ") && error.contains(why), "{who}: {error}");
    }
}

#[test]
fn the_limit_holds_of_all_pages_whatever_the_client_makes_of_a_cookie() {
    let sample = Sample::with(limited(&[]));
    sample.load(PEOPLE);
    let page = |cookie: &[u8]| {
        let mut value = Vec::new();
        PagedResults { size: 1, cookie }.encode(&mut value);
        let controls = vec![Control { oid: oid::PAGED_RESULTS, critical: true, value: Some(&value) }];
        let ask = Ask { requester: bound(&sample, JENSEN), controls, ..Ask::default() };
        let given = sample.search(BASE, "(objectClass=*)", &ask)?;
        let value = &crate::sample::controls(&given)[0].1;
        Ok::<_, Failure>((given.code(), PagedResults::decode(value).unwrap().cookie.to_vec()))
    };
    let (_, first) = page(b"").unwrap();
    let (_, second) = page(&first).unwrap();
    assert_eq!(second.len(), 8 + 16, "a signature of 16 bytes");
    assert_eq!(page(&second).unwrap().0, ResultCode::SIZE_LIMIT_EXCEEDED);
    // That no entry was given before, that very many were, another place.
    for forge in [|byte: &mut u8| *byte = 0, |byte: &mut u8| *byte = 0xFF] {
        for part in [0..4, 4..8, 8..12, 20..24] {
            let mut forged = second.clone();
            forged[part].iter_mut().for_each(forge);
            assert_eq!(code(page(&forged)), ResultCode::UNWILLING_TO_PERFORM);
        }
    }
}

#[test]
fn a_modify_does_not_look_for_attributes_among_very_many_again_and_again() {
    let sample = Sample::people();
    let names: Vec<String> = (0..9_000).map(|n| format!("description;x-{n}")).collect();
    let changes: Vec<(ChangeKind, &str, &[&str])> = names.iter().map(|name| (Add, name.as_str(), &["a"][..])).collect();
    sample.modify(SMITH, &changes).unwrap();
    let last = names.last().unwrap().as_str();
    let changes: Vec<(ChangeKind, &str, &[&str])> =
        (0..40_000).map(|n| (if n % 2 == 0 { Delete } else { Add }, last, &["a"][..])).collect();
    assert_eq!(ended(sample.modify(SMITH, &changes)), ResultCode::ADMIN_LIMIT_EXCEEDED);
    sample.modify(SMITH, &changes[..1_000]).unwrap();
}

#[test]
fn very_many_items_are_not_held_against_very_many_values_of_an_entry() {
    let sample = Sample::people();
    let long = "a".repeat(1 << 20);
    sample.modify(SMITH, &[(Add, "description", &[&long])]).unwrap();
    let any = |count: usize| format!("(|{})", "(description=b*)".repeat(count));
    let code = |filter: &str, controls: Vec<Control<'_>>| {
        sample.search(SMITH, filter, &Ask { controls, ..Ask::default() }).unwrap().code()
    };
    assert_eq!(
        (code(&any(200), vec![]), code(&any(300), vec![])),
        (ResultCode::SUCCESS, ResultCode::ADMIN_LIMIT_EXCEEDED)
    );
    // Of the values that are asked for, too.
    let values: Vec<String> = (0..3_000).map(|n| n.to_string()).collect();
    sample.modify(SMITH, &[(Add, "title", &values.iter().map(String::as_str).collect::<Vec<_>>())]).unwrap();
    let matched = |count: usize| {
        let filter = FilterBuf::parse("(title=x)").unwrap();
        let (mut buffer, mut value) = (Vec::new(), Vec::new());
        let items = std::iter::repeat_n(filter.as_filter(), count);
        MatchedValues(List::build(&mut buffer, items)).encode(&mut value);
        let control = Control { oid: oid::MATCHED_VALUES, critical: true, value: Some(&value) };
        code("(objectClass=*)", vec![control])
    };
    assert_eq!((matched(3_000), matched(4_000)), (ResultCode::SUCCESS, ResultCode::ADMIN_LIMIT_EXCEEDED));
}

#[test]
fn very_many_items_are_not_held_against_very_many_attributes_of_an_entry() {
    let sample = Sample::people();
    let names: Vec<String> = (0..9_000).map(|n| format!("description;x-{n}")).collect();
    let changes: Vec<(ChangeKind, &str, &[&str])> = names.iter().map(|name| (Add, name.as_str(), &["a"][..])).collect();
    sample.modify(SMITH, &changes).unwrap();
    let code = |item: &str, count: usize| {
        sample.search(SMITH, &format!("(|{})", item.repeat(count)), &Ask::default()).unwrap().code()
    };
    for (item, few) in [
        ("(title=*)", 10_000),
        ("(title=x*)", 10_000),
        ("(description;x-y=*)", 300),
        ("(description;x-y=x*)", 300),
        ("(:caseIgnoreOrderingMatch:=!)", 10),
        ("(cn:dn:caseExactMatch:=x)", 10_000),
    ] {
        assert_eq!(code(item, few), ResultCode::SUCCESS, "{item}");
        assert_eq!(code(item, 70 * few), ResultCode::ADMIN_LIMIT_EXCEEDED, "{item}");
    }
}

#[test]
fn very_many_attributes_with_options_are_not_asked_for_at_once() {
    let sample = Sample::people();
    let names: Vec<String> = (0..1_025).map(|n| format!("cn;x-{n}")).collect();
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let asked = |attributes: &[&str]| {
        let mut value = Vec::new();
        ReadEntryRequest(List::build(&mut Vec::new(), attributes.iter().copied())).encode(&mut value);
        let control = |oid| [Control { oid, critical: true, value: Some(&value) }];
        let read = |oid| {
            let change: &[(ChangeKind, &str, &[&str])] = &[(Add, "title", &[oid])];
            ended(sample.modify_as(&Requester::internal(), SMITH, change, &control(oid)))
        };
        let search = sample.search(SMITH, "(cn=*)", &Ask { attributes, ..Ask::default() });
        let search = search.map_or_else(|failure| failure.code, |given| given.code());
        [search, read(oid::PRE_READ), read(oid::POST_READ)]
    };
    assert_eq!(asked(&all), [ResultCode::ADMIN_LIMIT_EXCEEDED; 3]);
    assert!(sample.read(SMITH, &[]).values("title").is_empty());
    assert_eq!(asked(&all[1..]), [ResultCode::SUCCESS; 3]);
    // An option again and again is one.
    let repeated = format!("cn{}", ";lang-de".repeat(10_000));
    let ask = Ask { attributes: &[&repeated], ..Ask::default() };
    assert_eq!(sample.search(JENSEN, "(cn=*)", &ask).unwrap().values("cn;lang-de").len(), 1);
}

#[test]
fn a_long_update_by_nobody_is_not_looked_into() {
    let sample = Sample::people();
    let nobody = Requester::anonymous(Arc::new(Peer::Internal), 0);
    for (bytes, expected) in [(10, ResultCode::UNDEFINED_ATTRIBUTE_TYPE), (20_000, ResultCode::STRONGER_AUTH_REQUIRED)]
    {
        let value = vec![b'x'; bytes];
        let added = sample.add_as(&nobody, "cn=a,dc=example,dc=com", &[("nonsense", vec![&value])], &[]);
        assert_eq!(ended(added), expected);
    }
}
