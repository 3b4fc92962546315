//! Attributes of entries that values name (draft-masarati-ldap-deref-00). What slapd gives is compared elsewhere.

use duramen_directory::{Config, Method, Progress, Requester, SchemaFile, Sink};
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::{Dereference, DereferenceRequest, DereferenceResponse};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{ChangeKind, Control, ResultCode, Scope, SearchRequest};
use duramen_ldap::oid::control as oid;

use crate::sample::{BASE, JENSEN, PEOPLE, Sample, code};

const GROUP: &str = "cn=admins,ou=Groups,dc=example,dc=com";

/// What came with an entry: of each value that was followed what is to be seen of the entry of that name, if there is one.
type Followed = Vec<(String, Option<Vec<(String, Vec<String>)>>)>;

#[derive(Default)]
struct Controls(Vec<(String, Option<Followed>)>);

impl Sink for Controls {
    fn entry(&mut self, name: &str, _: &[&[u8]], controls: List<'_, Control<'_>>) {
        let text = |value: &[u8]| String::from_utf8(value.to_vec()).unwrap();
        let followed = controls.iter().find(|control| control.oid == oid::DEREFERENCE).map(|control| {
            let response = DereferenceResponse::decode(control.value.unwrap()).unwrap();
            let of = |found: List<'_, duramen_ldap::attribute::Attribute<'_>>| {
                found.iter().map(|one| (one.description.to_string(), one.values.iter().map(text).collect())).collect()
            };
            response
                .0
                .iter()
                .map(|one| (format!("{}={}", one.description, text(one.value)), one.attributes.map(of)))
                .collect()
        });
        self.0.push((name.to_string(), followed));
    }

    fn reference(&mut self, _: List<'_, &str>, _: List<'_, Control<'_>>) {}

    fn is_full(&self) -> bool {
        false
    }
}

/// What is followed of entries that a filter finds, and how the search ends.
fn follow(
    sample: &Sample,
    who: &Requester,
    filter: &str,
    wanted: &[(&str, &[&str])],
) -> Result<(Controls, ResultCode), duramen_directory::Failure> {
    let names: Vec<Vec<u8>> = wanted
        .iter()
        .map(|(_, names)| {
            let mut out = Vec::new();
            List::build(&mut out, names.iter().copied());
            out
        })
        .collect();
    let (mut specs, mut value, mut controls) = (Vec::new(), Vec::new(), Vec::new());
    let all = wanted
        .iter()
        .zip(&names)
        .map(|((description, _), names)| Dereference { description, attributes: List::trusted(names) });
    DereferenceRequest(List::build(&mut specs, all)).encode(&mut value);
    let control = Control { oid: oid::DEREFERENCE, critical: true, value: Some(&value) };
    let filter = FilterBuf::parse(filter).unwrap();
    let request = SearchRequest::new(BASE, Scope::Subtree, filter.as_filter());
    let mut search = sample.directory.search(who, &request, List::build(&mut controls, [control]))?;
    let mut sink = Controls::default();
    let Progress::Done(done) = search.run(&mut sink) else { panic!("this sink is never full") };
    Ok((sink, done.failure.map_or(ResultCode::SUCCESS, |failure| failure.code)))
}

fn of_group(sample: &Sample, who: &Requester, wanted: &[(&str, &[&str])]) -> Option<Followed> {
    let (found, code) = follow(sample, who, "(cn=admins)", wanted).unwrap();
    assert_eq!((found.0.len(), code), (1, ResultCode::SUCCESS));
    found.0.into_iter().next().unwrap().1
}

fn attributes(all: &[(&str, &[&str])]) -> Option<Vec<(String, Vec<String>)>> {
    Some(
        all.iter()
            .map(|(name, values)| (name.to_string(), values.iter().map(|value| value.to_string()).collect()))
            .collect(),
    )
}

#[test]
fn what_values_name_comes_with_the_entry_in_the_order_of_the_values() {
    let sample = Sample::people();
    let more = ["cn=nobody,dc=example,dc=com", "uid=jsmith,ou=People,dc=example,dc=com", "no name"];
    sample.modify(GROUP, &[(ChangeKind::Add, "member", &more[..2])]).unwrap();
    let who = Requester::internal();
    let found =
        of_group(&sample, &who, &[("MEMBER", &["mail", "cn;lang-de", "uidNumber", "nothing"]), ("seeAlso", &["cn"])]);
    let mail = attributes(&[("cn;lang-de", &["Barbara von Jensen"]), ("mail", &["bjensen@example.com"])]);
    let expected = vec![
        ("MEMBER=uid=bjensen,ou=people,dc=example,dc=com".to_string(), mail),
        (format!("MEMBER={}", more[0]), None),
        (format!("MEMBER={}", more[1]), attributes(&[("uidNumber", &["1000"])])),
    ];
    assert_eq!(found, Some(expected));
    // Where there is nothing to follow nothing is said.
    for wanted in [("seeAlso", &["cn"][..]), ("cn", &["cn"]), ("nothing", &["cn"])] {
        assert_eq!(of_group(&sample, &who, &[wanted]), None, "{wanted:?}");
    }
    // What is made when an entry is read is followed, too.
    let (found, _) = follow(&sample, &who, "(uid=bjensen)", &[("memberOf", &["cn"])]).unwrap();
    assert_eq!(
        found.0,
        [(JENSEN.to_string(), Some(vec![(format!("memberOf={GROUP}"), attributes(&[("cn", &["admins"])]))]))]
    );
    let twice = follow(&sample, &who, "(cn=admins)", &[("member", &["cn"]), ("Member", &["sn"])]);
    assert_eq!(code(twice.map(|_| ())), ResultCode::PROTOCOL_ERROR);
}

#[test]
fn nobody_is_shown_by_this_door_what_no_search_shows() {
    let rules = "access to dn.base=\"uid=jsmith,ou=People,dc=example,dc=com\" by * none\n\
                 access to attrs=mail by * search\n\
                 access to attrs=member val.regex=\"^uid=hidden\" by * none\naccess to * by * read";
    let access = Some(SchemaFile { name: "rules".into(), text: rules.into() });
    let sample = Sample::with(Config { access, ..Config::default() });
    sample.load(PEOPLE);
    let more = ["uid=jsmith,ou=People,dc=example,dc=com", "uid=hidden,dc=example,dc=com"];
    sample.modify(GROUP, &[(ChangeKind::Add, "member", &more)]).unwrap();
    let name = sample.directory.name(JENSEN).unwrap();
    let who = Requester { name, method: Method::Password, is_administrator: false, ..Requester::internal() };
    let found = of_group(&sample, &who, &[("member", &["mail", "sn"])]);
    let expected = vec![
        ("member=uid=bjensen,ou=people,dc=example,dc=com".to_string(), attributes(&[("sn", &["Jensen"])])),
        (format!("member={}", more[0]), None),
    ];
    assert_eq!(found, Some(expected), "neither an entry, an attribute nor a value that is hidden");
}

#[test]
fn members_of_groups_of_any_size_are_followed_up_to_a_limit() {
    let sample = Sample::people();
    let names: Vec<String> = (0..1000).map(|n| format!("uid=user{n:06},ou=People,dc=example,dc=com")).collect();
    let values: Vec<&str> = names.iter().map(String::as_str).collect();
    // So many stand outside of the entry.
    sample.modify(GROUP, &[(ChangeKind::Add, "member", &values)]).unwrap();
    let who = Requester::internal();
    let found = of_group(&sample, &who, &[("member", &["sn"])]).unwrap();
    assert_eq!(found.len(), 1001);
    assert_eq!(found.iter().filter(|(_, attributes)| attributes.is_some()).count(), 1);

    let names: Vec<String> = (0..100_000).map(|n| format!("uid=other{n},ou=People,dc=example,dc=com")).collect();
    for part in names.chunks(20_000) {
        let values: Vec<&str> = part.iter().map(String::as_str).collect();
        sample.modify(GROUP, &[(ChangeKind::Add, "member", &values)]).unwrap();
    }
    let (found, code) = follow(&sample, &who, "(objectClass=*)", &[("member", &["sn"])]).unwrap();
    assert_eq!((code, found.0.len()), (ResultCode::ADMIN_LIMIT_EXCEEDED, 5), "of the last entry there is too much");
}
