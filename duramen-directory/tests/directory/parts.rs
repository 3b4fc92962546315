//! Searches of small parts of a large tree: they find what is there, and look at little else.

use std::fmt::Write;

use duramen_directory::ImportOptions;
use duramen_ldap::message::{ChangeKind, ResultCode, Scope};

use crate::sample::*;

const CROWD: usize = 3_000;
const STAFF: &str = "ou=Staff,dc=example,dc=com";
const NIGHT: &str = "ou=Night,ou=Staff,dc=example,dc=com";

fn person(text: &mut String, uid: &str, parent: &str) {
    writeln!(
        text,
        "dn: uid={uid},{parent}\nobjectClass: inetOrgPerson\ncn: Barbara {uid}\nsn: Jensen\nmail: {uid}@example.com\n"
    )
    .unwrap();
}

/// Few among many, above and behind them by their ids.
fn sample() -> Sample {
    let mut text = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n\n");
    for unit in [STAFF, NIGHT, "ou=People,dc=example,dc=com"] {
        writeln!(text, "dn: {unit}\nobjectClass: organizationalUnit\n").unwrap();
    }
    (0..20).for_each(|n| person(&mut text, &format!("s{n}"), STAFF));
    (0..CROWD).for_each(|n| person(&mut text, &format!("u{n}"), "ou=People,dc=example,dc=com"));
    (0..15).for_each(|n| person(&mut text, &format!("n{n}"), NIGHT));
    let sample = Sample::empty();
    sample.directory.import("people", &mut text.as_bytes(), ImportOptions::default(), &mut |_| true).unwrap();
    sample
}

const FILTERS: [&str; 14] = [
    "(objectClass=*)",
    "(objectClass=person)",
    "(cn=*)",
    "(cn=b*)",
    "(cn=*bar*)",
    "(cn=*1*)",
    "(sn=jensen)",
    "(mail>=m)",
    "(displayName=x)",
    "(!(uid=s1))",
    "(&(objectClass=person)(!(cn=*1*)))",
    "(|(uid=s1)(uid=n2)(uid=u3))",
    "(|(cn=*bar*)(objectClass=organizationalUnit))",
    "(&(cn=b*)(mail=*example*))",
];

/// How many entries a plan says were looked at.
fn looked_at(plan: &str) -> usize {
    plan.split(", ").find_map(|part| part.strip_suffix(" looked at")).unwrap().parse().unwrap()
}

fn depth_below(name: &str, base: &str) -> Option<usize> {
    if name == base {
        return Some(0);
    }
    name.strip_suffix(base)?.strip_suffix(',').map(|front| front.split(',').count())
}

fn compare(sample: &Sample) {
    for (filter, base) in FILTERS.into_iter().flat_map(|filter| [STAFF, NIGHT].map(|base| (filter, base))) {
        let whole = sample.found(filter);
        for (scope, is_in) in [
            (Scope::One, (|depth| depth == 1) as fn(usize) -> bool),
            (Scope::Subtree, |_| true),
            (Scope::Subordinates, |depth| depth > 0),
        ] {
            let expected: Vec<_> = whole.iter().filter(|name| depth_below(name, base).is_some_and(is_in)).collect();
            for size_limit in [0, 4] {
                let given = sample.search(base, filter, &Ask { scope, size_limit, ..Ask::default() }).unwrap();
                let most = if size_limit == 0 { expected.len() } else { expected.len().min(4) };
                assert_eq!(given.names(), expected[..most], "{filter} below {base}: {}", given.plan);
                let code = if most < expected.len() { ResultCode::SIZE_LIMIT_EXCEEDED } else { ResultCode::SUCCESS };
                assert_eq!(given.code(), code, "{filter} below {base}");
                assert!(looked_at(&given.plan) <= 64, "{filter} below {base}: {}", given.plan);
            }
        }
    }
}

#[test]
fn a_small_part_of_the_tree_is_searched_without_a_look_at_what_is_beside_it() {
    let sample = sample();
    compare(&sample);
    // Some go, some come, and a whole branch moves out and in again.
    sample.delete(&format!("uid=s3,{STAFF}"), &[]).unwrap();
    sample.add(&format!("uid=late,{NIGHT}"), &[("objectClass", vec![b"account"])]).unwrap();
    sample.rename(&format!("uid=s4,{STAFF}"), "uid=s4", true, Some(NIGHT)).unwrap();
    compare(&sample);
    sample.rename(NIGHT, "ou=Night", true, Some("ou=People,dc=example,dc=com")).unwrap();
    assert_eq!(sample.search(STAFF, "(cn=*bar*)", &Ask::default()).unwrap().names().len(), 18);
    let moved = sample.search("ou=Night,ou=People,dc=example,dc=com", "(cn=*bar*)", &Ask::default()).unwrap();
    assert_eq!(moved.names().len(), 16);
    assert!(looked_at(&moved.plan) <= 64, "{}", moved.plan);
    sample.rename("ou=Night,ou=People,dc=example,dc=com", "ou=Night", true, Some(STAFF)).unwrap();
    compare(&sample);
}

#[test]
fn a_large_part_that_is_searched_again_is_known_whatever_comes_and_goes() {
    let sample = Sample::empty();
    let mut text = format!("dn: {BASE}\nobjectClass: domain\ndc: example\n\n");
    writeln!(text, "dn: {STAFF}\nobjectClass: organizationalUnit\n").unwrap();
    (0..600).for_each(|n| person(&mut text, &format!("u{n}"), BASE));
    (0..1000).for_each(|n| writeln!(text, "dn: uid=s{n},{STAFF}\nobjectClass: account\n").unwrap());
    sample.directory.import("people", &mut text.as_bytes(), ImportOptions::default(), &mut |_| true).unwrap();
    let looked = || {
        let given = sample.search(STAFF, "(sn=jensen)", &Ask::default()).unwrap();
        assert_eq!(given.names().len(), 0);
        looked_at(&given.plan)
    };
    assert_eq!([looked(), looked(), looked()], [600, 0, 0]);
    sample.modify("uid=s7,ou=Staff,dc=example,dc=com", &[(ChangeKind::Replace, "description", &["changed"])]).unwrap();
    assert_eq!(looked(), 0);
    sample.add(&format!("uid=late,{STAFF}"), &[("objectClass", vec![b"account"])]).unwrap();
    assert_eq!(looked(), 0);
    sample.delete(&format!("uid=s8,{STAFF}"), &[]).unwrap();
    sample.rename(&format!("uid=s9,{STAFF}"), "uid=s9", true, Some(BASE)).unwrap();
    sample.rename(&format!("uid=u9,{BASE}"), "uid=u9", true, Some(STAFF)).unwrap();
    let given = sample.search(STAFF, "(sn=jensen)", &Ask::default()).unwrap();
    assert_eq!((given.names(), looked_at(&given.plan)), (vec!["uid=u9,ou=Staff,dc=example,dc=com"], 1));
}

#[test]
fn a_leaf_has_nothing_below_it_whatever_is_asked() {
    let sample = sample();
    let leaf = "uid=u7,ou=People,dc=example,dc=com";
    for filter in FILTERS {
        let ask = Ask { scope: Scope::Subordinates, ..Ask::default() };
        let given = sample.search(leaf, filter, &ask).unwrap();
        assert_eq!(given.names(), Vec::<&str>::new(), "{filter}");
        assert!(looked_at(&given.plan) <= 3, "{filter}: {}", given.plan);
    }
}

#[test]
fn an_or_with_a_part_without_an_index_asks_no_other() {
    let sample = sample();
    let plan = |filter: &str| sample.plan(BASE, Scope::Subtree, filter);
    assert!(plan("(|(uid=n1)(cn=*bar*))").contains("cn: index of substrings"));
    let plan = plan("(|(uid=n1)(cn=*bar*)(&(title=none)(!(uid=n2))))");
    assert!(plan.contains("title: no index") && !plan.contains("cn:") && !plan.contains("uid:"), "{plan}");
}

#[test]
fn of_a_small_part_no_index_is_asked_that_would_not_leave_few_of_it() {
    let sample = sample();
    let plan = |filter: &str| sample.plan(NIGHT, Scope::One, filter);
    assert!(plan("(&(objectClass=person)(uid=n1))").contains("uid: index of equality, 1 candidate"));
    // `title` has no index, so what is in scope is known to be fewer than those of the class.
    let unindexed = plan("(&(objectClass=person)(title=none))");
    assert!(!unindexed.contains("index of") && unindexed.contains("15 entries in scope"), "{unindexed}");
}
