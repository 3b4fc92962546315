//! Filters of many items.

use duramen_directory::Config;
use duramen_ldap::Payload;
use duramen_ldap::ber::List;
use duramen_ldap::control::MatchedValues;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::ChangeKind::Add;
use duramen_ldap::message::{Control, Scope};
use duramen_ldap::oid::control as oid;

use super::sample::{Ask, BASE, PEOPLE, Sample};

const JENSEN: &str = "uid=bjensen,ou=People,dc=example,dc=com";
const GROUP: &str = "cn=many,ou=Groups,dc=example,dc=com";

fn member(n: usize) -> String {
    format!("uid=user{n},ou=People,dc=example,dc=com")
}

/// People and a group, with the indices that are there by default or none.
fn with_group(members: usize, is_indexed: bool) -> Sample {
    let indices = if is_indexed { None } else { Some(Vec::new()) };
    let sample = Sample::with(Config { indices, ..Config::default() });
    sample.load(PEOPLE);
    let names: Vec<String> = (0..members).map(member).collect();
    let values: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    sample.add(GROUP, &[("objectClass", vec![b"groupOfNames"]), ("member", values)]).unwrap();
    sample
}

#[test]
fn an_or_of_many_items_finds_what_each_of_them_finds_rfc4511_4_5_1_7() {
    let sets: &[&[&str]] = &[
        &["(uid=a)", "(uid=b)", "(uid=BJENSEN)", "(uid=c)", "(uid=d)", "(uid=bjensen)"],
        &["(uid=a)", "(uid=b)", "(uid=c)", "(uid=d)", "(uid=e)", "(sn=smith)", "(sn=x)"],
        &["(cn=1)", "(cn=2)", "(cn=3)", "(cn=4)", "(cn=Barbara  VON jensen)"],
        &["(cn;lang-de=1)", "(cn;lang-de=2)", "(cn;lang-de=3)", "(cn;lang-de=4)", "(cn;lang-de=barbara jensen)"],
        &["(name=1)", "(name=2)", "(name=3)", "(name=4)", "(name=john)", "(uidNumber=7)", "(uidNumber=1000)"],
        &["(uidNumber=1)", "(uidNumber=2)", "(uidNumber=3)", "(uidNumber=4)", "(uidNumber=5)"],
        &["(mail=1@x)", "(mail=2@x)", "(mail=3@x)", "(mail=4@x)", "(mail=BJENSEN@example.com)"],
        &["(telephoneNumber=1)", "(telephoneNumber=2)", "(telephoneNumber=3)", "(telephoneNumber=4)"],
        &[
            "(member=cn=1)",
            "(member=cn=2)",
            "(member=cn=3)",
            "(member=cn=4)",
            "(member=UID=user1, ou=People,dc=example,dc=com)",
        ],
        &["(member=cn=1)", "(member=cn=2)", "(member=cn=3)", "(member=cn=4)", "(member=cn=5)", "(uid=jsmith)"],
    ];
    for (members, is_indexed) in [(3, true), (300, true), (3, false), (300, false)] {
        let sample = with_group(members, is_indexed);
        let all = sample.found("(objectClass=*)");
        for items in sets {
            let mut wanted: Vec<String> = items.iter().flat_map(|item| sample.found(item)).collect();
            wanted.sort_unstable();
            wanted.dedup();
            let or = format!("(|{})", items.concat());
            let found = |filter: &str| {
                let mut found = sample.found(filter);
                found.sort_unstable();
                found
            };
            assert_eq!(found(&or), wanted, "{or} {members} {is_indexed}");
            assert_eq!(found(&format!("(&(objectClass=*){or}(!(o=x)))")), wanted, "{or} {members} {is_indexed}");
            assert_eq!(found(&format!("(!{or})")).len(), all.len() - wanted.len(), "{or} {members} {is_indexed}");
            // What is undefined is so beside many others, too.
            assert_eq!(found(&format!("(!(|(nosuch=x){}))", items.concat())), Vec::<String>::new(), "{or}");
            for name in &all {
                let ask = Ask { scope: Scope::Base, ..Ask::default() };
                let is_found = !sample.search(name, &or, &ask).unwrap().entries.is_empty();
                assert_eq!(is_found, wanted.contains(name), "{name} {or} {members} {is_indexed}");
            }
        }
    }
}

#[test]
fn hundreds_of_items_of_an_attribute_are_looked_up_in_its_index() {
    let sample = with_group(300, true);
    let or = (0..500).map(|n| format!("(uid=user{n})")).collect::<String>();
    let given = sample.search(BASE, &format!("(|(uid=jsmith){or})"), &Ask::default()).unwrap();
    assert_eq!(given.entries.len(), 1);
    assert!(given.plan.contains("1 looked at"), "{}", given.plan);
}

#[test]
fn what_an_index_says_need_not_be_tested_where_there_are_references_too() {
    let sample = with_group(3, true);
    let attributes: &[(&str, Vec<&[u8]>)] = &[
        ("objectClass", vec![b"referral", b"extensibleObject"]),
        ("ou", vec![b"Abroad"]),
        ("ref", vec![b"ldap://abroad.example/"]),
    ];
    sample.add("ou=Abroad,dc=example,dc=com", attributes).unwrap();
    // Under an option it is no class, so this one is an entry as others are.
    let odd = "uid=odd,ou=People,dc=example,dc=com";
    let attributes: &[(&str, Vec<&[u8]>)] = &[
        ("objectClass", vec![b"inetOrgPerson"]),
        ("objectClass;lang-de", vec![b"referral"]),
        ("cn", vec![b"Odd"]),
        ("sn", vec![b"Odd"]),
    ];
    sample.add(odd, attributes).unwrap();
    for (filter, name) in [("(uid=bjensen)", JENSEN), ("(uid=odd)", odd), ("(sn=odd)", odd)] {
        let given = sample.search(BASE, filter, &Ask::default()).unwrap();
        assert_eq!((given.names(), given.references.len()), (vec![name], 1), "{filter}");
        assert!(given.plan.contains("no test needed"), "{}", given.plan);
    }
    assert_eq!(sample.search(BASE, "(uid=nobody)", &Ask::default()).unwrap().entries.len(), 0);
}

#[test]
fn values_that_are_asked_for_are_found_among_very_many_as_among_few_rfc3876_3() {
    for members in [3, 300] {
        let sample = with_group(members, true);
        sample.modify(GROUP, &[(Add, "member;lang-de", &["cn=german"])]).unwrap();
        let matched = |filters: &[&str]| {
            let filters: Vec<_> = filters.iter().map(|filter| FilterBuf::parse(filter).unwrap()).collect();
            let (mut buffer, mut value) = (Vec::new(), Vec::new());
            MatchedValues(List::build(&mut buffer, filters.iter().map(FilterBuf::as_filter))).encode(&mut value);
            let control = Control { oid: oid::MATCHED_VALUES, critical: true, value: Some(&value) };
            let ask = Ask { scope: Scope::Base, controls: vec![control], ..Ask::default() };
            let mut values: Vec<_> = sample.search(GROUP, "(objectClass=*)", &ask).unwrap().entries.remove(0).1;
            values.iter_mut().for_each(|(_, values)| values.sort_unstable());
            values
        };
        let some = |values: &[&str]| vec![("member".to_owned(), values.iter().map(|v| (*v).to_owned()).collect())];
        let (one, two) = (member(1), member(2));
        let (is_one, is_two) = (format!("(member={})", one.to_uppercase()), format!("(member={two})"));
        assert_eq!(matched(&[&is_one]), some(&[&one]), "{members}");
        assert_eq!(matched(&[&is_two, &is_one, &is_one]), some(&[&one, &two]), "{members}");
        assert_eq!(matched(&[&is_one, "(cn=x)", "(member=cn=nobody)"]), some(&[&one]), "{members}");
        assert_eq!(matched(&["(member;lang-de=cn=x)", "(member=cn=y)"]), [], "{members}");
        let german = ("member;lang-de".to_owned(), vec!["cn=german".to_owned()]);
        assert_eq!(matched(&["(member=cn=german)"]), [german], "{members}");
        assert_eq!(matched(&[&is_one, "(cn=*)"]).len(), 2, "{members}");
    }
}

#[test]
fn references_that_come_later_are_seen_where_there_were_none_rfc4511_4_5_3() {
    let sample = with_group(3, true);
    let references = |base: &str| {
        let ask = Ask { scope: Scope::One, ..Ask::default() };
        [1, 2].map(|_| sample.search(base, "(o=none)", &ask).unwrap().references.len())
    };
    let add = |name: &str| {
        let attributes: &[(&str, Vec<&[u8]>)] =
            &[("objectClass", vec![b"referral", b"extensibleObject"]), ("ref", vec![b"ldap://abroad.example/"])];
        sample.add(name, attributes).unwrap();
    };
    let people = "ou=People,dc=example,dc=com";
    assert_eq!((references(BASE), references(people)), ([0, 0], [0, 0]));
    add("ou=Abroad,dc=example,dc=com");
    assert_eq!((references(BASE), references(people)), ([1, 1], [0, 0]));
    add("ou=Far,ou=People,dc=example,dc=com");
    assert_eq!((references(BASE), references(people)), ([1, 1], [1, 1]));
    sample
        .delete(
            "ou=Far,ou=People,dc=example,dc=com",
            &[Control { oid: oid::MANAGE_DSA_IT, critical: true, value: None }],
        )
        .unwrap();
    assert_eq!((references(BASE), references(people)), ([1, 1], [0, 0]));
}
