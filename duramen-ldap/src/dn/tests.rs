use std::borrow::Cow;

use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Dn<'_> {
    Dn::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn fails(text: &str) -> (usize, &'static str) {
    let error = Dn::parse(text).expect_err(text);
    (error.offset, error.expected)
}

/// Every pair of every RDN.
fn pairs(text: &str) -> Vec<Vec<(String, Vec<u8>)>> {
    let pair = |ava: Ava<'_>| (ava.attribute.to_string(), ava.value().into_owned());
    parsed(text).rdns().map(|rdn| rdn.avas().map(pair).collect()).collect()
}

fn pair(attribute: &str, value: &[u8]) -> (String, Vec<u8>) {
    (attribute.to_string(), value.to_vec())
}

/// Types and values in lower case.
struct Lower;

impl NamingRules for Lower {
    fn normalize<'s>(
        &'s self,
        attribute: &'s str,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Cow<'s, str>, &'static str> {
        out.extend(value.to_ascii_lowercase());
        if attribute == "nosuchtype" {
            Err("a known attribute type")
        } else {
            Ok(Cow::Owned(attribute.to_ascii_lowercase()))
        }
    }
}

fn normal(text: &str) -> String {
    let mut out = String::new();
    parsed(text).normalize(&Lower, &mut out).unwrap();
    out
}

#[test]
fn the_examples_of_rfc4514_4_are_taken_apart() {
    assert_eq!(pairs("UID=jsmith,DC=example,DC=net")[0], [pair("UID", b"jsmith")]);
    assert_eq!(pairs("OU=Sales+CN=J.  Smith,DC=net")[0], [pair("OU", b"Sales"), pair("CN", b"J.  Smith")]);
    assert_eq!(pairs("CN=James \\\"Jim\\\" Smith\\, III,DC=net")[0], [pair("CN", b"James \"Jim\" Smith, III")]);
    assert_eq!(pairs("CN=Before\\0dAfter,DC=net")[0], [pair("CN", b"Before\rAfter")]);
    assert_eq!(pairs("1.3.6.1.4.1.1466.0=#04024869")[0], [pair("1.3.6.1.4.1.1466.0", b"Hi")]);
    assert_eq!(pairs("CN=Lu\\C4\\8Di\\C4\\87")[0], [pair("CN", "Lučić".as_bytes())]);
}

#[test]
fn the_empty_name_is_the_root() {
    assert!(parsed("").is_root() && parsed("  ").is_root());
    assert_eq!(parsed("").rdns().count(), 0);
    assert!(parsed("").parent().is_none());
    assert!(parsed("dc=com").parent().unwrap().is_root());
}

#[test]
fn spaces_around_separators_do_not_count_and_escaped_ones_do() {
    assert_eq!(pairs("cn = a b  + sn=\\ c\\  , dc=x ;dc= ")[0], [pair("cn", b"a b"), pair("sn", b" c ")]);
    assert_eq!(pairs("cn=a\\\\ ,dc=x")[0], [pair("cn", b"a\\")]);
    assert_eq!(pairs("cn=a ,dc=x ;dc= ").len(), 3);
}

#[test]
fn values_in_quotes_are_taken_as_ldapv2_had_them_rfc2253_4() {
    let text = "cn=\"Smith, John+\\\"x\\\\\" + sn = \"#01\" ,ou=\"a;b\"; dc=\"\"";
    let names = pairs(text);
    assert_eq!(names[0], [pair("cn", b"Smith, John+\"x\\"), pair("sn", b"#01")]);
    assert_eq!(names[1..], [vec![pair("ou", b"a;b")], vec![pair("dc", b"")]]);
    let down: Vec<_> = parsed(text).rdns().rev().map(|rdn| rdn.to_string()).collect();
    assert_eq!(down, ["dc=\"\"", "ou=\"a;b\"", "cn=\"Smith, John+\\\"x\\\\\" + sn = \"#01\""]);
    assert_eq!(normal("CN=\"Smith, John\",dc=x"), normal("cn=smith\\, john,dc=x"));
    for (wrong, at) in [("cn=\"a", 5), ("cn=\"a\"b,dc=x", 6), ("cn=a\"b\",dc=x", 4), ("cn=\"a\\\",dc=x", 12)] {
        assert_eq!(fails(wrong).0, at, "{wrong}");
    }
}

#[test]
fn names_are_walked_from_the_suffix_down() {
    let dn = parsed("cn=a\\,b,ou=c\\\\,dc=example,dc=com");
    let up: Vec<_> = dn.rdns().map(|rdn| rdn.to_string()).collect();
    let mut down: Vec<_> = dn.rdns().rev().map(|rdn| rdn.to_string()).collect();
    down.reverse();
    assert_eq!(up, ["cn=a\\,b", "ou=c\\\\", "dc=example", "dc=com"]);
    assert_eq!(up, down);
    let mut both = dn.rdns();
    assert_eq!(both.next_back().unwrap().to_string(), "dc=com");
    assert_eq!(both.next().unwrap().to_string(), "cn=a\\,b");
    assert_eq!(both.next_back().unwrap().to_string(), "dc=example");
    assert_eq!(both.next_back().unwrap().avas().next().unwrap().offset(), 8);
    assert!(both.next().is_none() && both.next_back().is_none());
}

#[test]
fn renaming_keeps_or_changes_the_parent_rfc4511_4_9() {
    let dn = parsed("cn=a,ou=b,dc=c");
    let rdn = Rdn::parse(" cn=z ").unwrap();
    assert_eq!(dn.renamed(rdn, None).unwrap(), "cn=z,ou=b,dc=c");
    assert_eq!(dn.renamed(rdn, Some(parsed("dc=d"))).unwrap(), "cn=z,dc=d");
    assert_eq!(dn.renamed(rdn, Some(Dn::ROOT)).unwrap(), "cn=z");
    assert_eq!(Dn::ROOT.renamed(rdn, None), None);
    assert!(Rdn::parse("cn=z,dc=d").is_err() && Rdn::parse("").is_err());
}

#[test]
fn errors_say_where_and_what() {
    assert_eq!(fails("cn"), (2, "'='"));
    assert_eq!(fails("cn=a,"), (5, "an attribute type"));
    assert_eq!(fails(",cn=a"), (0, "an attribute type"));
    assert_eq!(fails("cn=a,1.=b"), (7, "a digit"));
    assert_eq!(fails("cn=a\\"), (4, "a special character or two hex digits behind the backslash"));
    assert_eq!(fails("cn=a\\2x").0, 4);
    assert_eq!(fails("cn=#0402486").0, 3);
    assert_eq!(fails("cn=#04034869").0, 3);
    assert_eq!(fails("cn=#").0, 3);
    assert_eq!(fails("cn=#04024869 x"), (13, "',', '+' or the end of the name"));
}

#[test]
fn order_case_and_form_do_not_matter_rfc4517_4_2_15() {
    assert_eq!(normal("CN=A + sn=\\42, DC=X"), "cn=a+sn=b,dc=x");
    assert_eq!(normal("sn=b+cn=a;dc=x"), "cn=a+sn=b,dc=x");
    assert_eq!(normal("cn=#04014A"), normal("cn=j"));
    assert_ne!(normal("cn=a+sn=b"), normal("cn=a\\+sn=b"));
    let error = parsed("cn=a,ou=b+nosuchtype=1").normalize(&Lower, &mut String::new()).unwrap_err();
    assert_eq!((error.offset, error.expected), (10, "a known attribute type"));
    assert_eq!(parsed("dc=x,cn=a+cn=b").normalize(&Lower, &mut String::new()).unwrap_err().offset, 10);
}

proptest! {
    #[test]
    fn any_value_comes_back(values in prop::collection::vec(prop::collection::vec(prop_oneof![any::<u8>(), Just(b' '), Just(b'\\'), Just(b',')], 0..8), 1..5), multi: bool) {
        let mut text = String::new();
        for (n, value) in values.iter().enumerate() {
            if n > 0 {
                text.push(if multi && n == 1 { '+' } else { ',' });
            }
            write_ava(&mut text, "cn", value).unwrap();
        }
        let found: Vec<_> = pairs(&text).into_iter().flatten().map(|(_, value)| value).collect();
        prop_assert_eq!(&found, &values);
        let backwards: Vec<_> = parsed(&text).rdns().rev().map(|rdn| rdn.to_string()).collect();
        let forwards: Vec<_> = parsed(&text).rdns().map(|rdn| rdn.to_string()).collect();
        prop_assert!(forwards.iter().eq(backwards.iter().rev()));
    }

    #[test]
    fn what_parses_is_taken_apart_the_same_from_both_ends(text in "[ -~ac1=,;+\\\\#\"é]{0,30}") {
        if let Ok(dn) = Dn::parse(&text) {
            let mut rebuilt = String::new();
            for (n, rdn) in dn.rdns().enumerate() {
                for (m, ava) in rdn.avas().enumerate() {
                    if n + m > 0 {
                        rebuilt.push(if m > 0 { '+' } else { ',' });
                    }
                    write_ava(&mut rebuilt, ava.attribute, &ava.value()).unwrap();
                }
            }
            prop_assert_eq!(pairs(&rebuilt), pairs(&text));
            prop_assert_eq!(dn.rdns().rev().count(), dn.depth());
            // One that has a type twice in an RDN has no normal form.
            let mut once = String::new();
            if parsed(&text).normalize(&Lower, &mut once).is_ok() {
                prop_assert_eq!(normal(&once), once);
            }
        }
    }
}

#[test]
fn the_strict_form_has_no_spaces_and_no_escapes_that_are_not_needed() {
    let name_of = |attribute: &str| match attribute.to_ascii_lowercase().as_str() {
        "cn" | "2.5.4.3" => Some("cn"),
        "dc" => Some("dc"),
        _ => None,
    };
    for (written, strict) in [
        ("", ""),
        ("cn=a,dc=x", "cn=a,dc=x"),
        (" CN = a b , Foo =c+ 2.5.4.3 = d ; DC=X ", "cn=a b,Foo=c+cn=d,dc=X"),
        ("cn=\\6e\\2Cx\\ ,dc=\\20y", "cn=n\\,x\\ ,dc=\\ y"),
        ("cn= #0403666f6f ,dc=", "cn=foo,dc="),
        ("cn=#0C03612c62+dc=#160120,1.2.3=#0C0161", "cn=a\\,b+dc=\\ ,1.2.3=#0C0161"),
        ("cn=#0101FF,dc=#0c00", "cn=#0101FF,dc="),
        ("cn=\\#\\00\\=a=b", "cn=\\#\\00=a=b"),
    ] {
        let mut out = String::new();
        Dn::parse(written).unwrap().write_strict(&name_of, &mut out).unwrap();
        assert_eq!(out, strict, "{written}");
        let mut again = String::new();
        Dn::parse(&out).unwrap().write_strict(&name_of, &mut again).unwrap();
        assert_eq!(again, strict, "{written}, twice");
    }
}
