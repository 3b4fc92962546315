//! Ranges and beginnings of values, by indices and without.

use duramen_directory::{Config, Index, IndexKinds, SchemaFile};
use duramen_ldap::message::ChangeKind::{Add, Delete};

use crate::sample::*;

/// Directories with these indices of an attribute: of equality, of substrings.
fn samples(attribute: &str, kinds: &[(bool, bool)]) -> Vec<Sample> {
    let sample = |&(equality, substring): &(bool, bool)| {
        let index =
            Index { attribute: attribute.to_string(), kinds: IndexKinds { presence: true, equality, substring } };
        let sample = Sample::with(Config { indices: Some(vec![index]), ..Config::default() });
        sample.load(&format!("dn: {BASE}\nobjectClass: domain\ndc: example\n"));
        sample
    };
    kinds.iter().map(sample).collect()
}

fn name_of(n: usize) -> String {
    format!("cn=e{n},{BASE}")
}

fn add(sample: &Sample, n: usize, values: &[(&str, &str)]) {
    let mut attributes: Vec<(&str, Vec<&[u8]>)> =
        vec![("objectClass", vec![b"device", b"extensibleObject"]), ("cn", vec![b"e"])];
    attributes.extend(values.iter().map(|(description, value)| (*description, vec![value.as_bytes()])));
    sample.add(&name_of(n), &attributes).unwrap();
}

#[test]
fn values_that_are_longer_than_their_keys_are_found_by_ranges_and_beginnings_rfc4511_4_5_1_7() {
    let long = |length: usize, rest: &str, more: usize, of: &str| "a".repeat(length) + rest + &of.repeat(more);
    let stored = [
        long(390, "", 30, "b"),
        long(390, "", 30, "m"),
        long(390, "", 30, "z"),
        long(390, "", 0, ""),
        long(390, "n", 0, ""),
        long(380, "", 0, ""),
        long(384, "zzz", 300, "q"),
        long(384, "", 300, "b"),
        long(384, "", 0, ""),
    ];
    let samples = samples("dnQualifier", &[(false, false), (true, false), (true, true)]);
    for (n, value) in stored.iter().enumerate() {
        // Of the attribute's name none is without its value.
        samples.iter().for_each(|sample| add(sample, n, &[("dnQualifier", value)]));
    }
    (0..100).for_each(|n| samples.iter().for_each(|sample| add(sample, 100 + n, &[])));
    let found = |filter: &str, expected: &dyn Fn(&str) -> bool| {
        let expected: Vec<String> = (0..stored.len()).filter(|n| expected(&stored[*n])).map(name_of).collect();
        for (kind, sample) in samples.iter().enumerate() {
            let mut found = sample.found(filter);
            found.sort();
            assert_eq!(found, expected, "{kind}: {filter}");
        }
    };
    let asked = stored.iter().cloned().chain([long(390, "", 40, "e"), long(390, "e", 0, ""), long(385, "", 0, "")]);
    for asked in asked {
        found(&format!("(dnQualifier>={asked})"), &|value| value >= asked.as_str());
        found(&format!("(dnQualifier<={asked})"), &|value| value <= asked.as_str());
        found(&format!("(dnQualifier={asked})"), &|value| value == asked);
        found(&format!("(dnQualifier={asked}*)"), &|value| value.starts_with(&asked));
    }
}

#[test]
fn a_range_of_what_has_one_value_may_be_met_by_two_under_options_rfc4512_2_5_2() {
    for sample in samples("uidNumber", &[(false, false), (true, false)]) {
        let filter = "(&(uidNumber>=8)(uidNumber<=10))";
        add(&sample, 1, &[("uidNumber", "9")]);
        add(&sample, 2, &[("uidNumber", "5"), ("uidNumber;lang-de", "15")]);
        add(&sample, 3, &[("uidNumber;lang-de", "5"), ("uidNumber;lang-fr", "6")]);
        add(&sample, 4, &[("uidNumber", "5")]);
        add(&sample, 5, &[("uidNumber", "15")]);
        assert_eq!(sample.found(filter), [1, 2].map(name_of));
        sample.modify(&name_of(4), &[(Add, "uidNumber;lang-de", &["15"])]).unwrap();
        assert_eq!(sample.found(filter), [1, 2, 4].map(name_of));
        sample.modify(&name_of(2), &[(Delete, "uidNumber;lang-de", &[])]).unwrap();
        assert_eq!(sample.found(filter), [1, 4].map(name_of));
        sample.delete(&name_of(4), &[]).unwrap();
        assert_eq!(sample.found(filter), [1].map(name_of));
        assert_eq!(problems(&sample), [""; 0]);
    }
}

#[test]
fn beginnings_are_not_looked_up_where_equality_makes_something_else_of_values() {
    const IA5: &str = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.26";
    let text = format!(
        "attributetype ( 1.1.1 NAME 'sid' EQUALITY caseIgnoreIA5Match SUBSTR caseExactIA5SubstringsMatch {IA5} )"
    );
    for substring in [false, true] {
        let kinds = IndexKinds { presence: true, equality: true, substring };
        let index = Index { attribute: "sid".to_string(), kinds };
        let schema = vec![SchemaFile { name: "own.schema".into(), text: text.clone() }];
        let sample = Sample::with(Config { indices: Some(vec![index]), schema, ..Config::default() });
        sample.load(&format!("dn: {BASE}\nobjectClass: domain\ndc: example\n"));
        add(&sample, 1, &[("sid", "S-1-5-21-7")]);
        add(&sample, 2, &[("sid", "s-1-5-21-8")]);
        for (filter, expected) in
            [("(sid=S-1-5-21*)", 1), ("(sid=S*)", 1), ("(sid=S-*7)", 1), ("(sid=s-1*)", 2), ("(sid=s*8)", 2)]
        {
            assert_eq!(sample.found(filter), [name_of(expected)], "{substring}: {filter}");
        }
        assert_eq!(sample.found("(sid=S-1-5-21-8)"), [name_of(2)]);
    }
}

#[test]
fn what_is_made_when_an_entry_is_read_is_found_by_all_rules_that_its_type_has_rfc4511_4_5_1_7() {
    let sample = Sample::people();
    let all = sample.found("(objectClass=*)");
    let with_children = [BASE, "ou=People,dc=example,dc=com", "ou=Groups,dc=example,dc=com"].map(str::to_string);
    for filter in [
        "(numSubordinates>=1)",
        "(!(numSubordinates<=0))",
        "(!(numSubordinates:integerOrderingMatch:=1))",
        "(!(numSubordinates:integerMatch:=0))",
        "(|(numSubordinates:1.2.840.113556.1.4.803:=1)(numSubordinates:1.2.840.113556.1.4.803:=2))",
    ] {
        let found = sample.found(filter);
        assert!(found.iter().all(|name| with_children.contains(name)) && found.len() == 3, "{filter}: {found:?}");
        let others = sample.found(&format!("(!{filter})"));
        assert_eq!(others.len(), all.len() - 3, "{filter}: {others:?}");
    }
    assert_eq!(sample.found("(memberOf:dnSubtreeMatch:=ou=groups,dc=example,dc=com)"), [JENSEN]);
    assert_eq!(sample.found("(memberOf:dnSubtreeMatch:=ou=people,dc=example,dc=com)"), [""; 0]);
    assert_eq!(sample.found("(subschemaSubentry:dnSubtreeMatch:=cn=subschema)").len(), all.len());
    assert_eq!(sample.found(&format!("(entryDN:dn:={JENSEN})")), [JENSEN]);
}
