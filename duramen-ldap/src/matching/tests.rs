use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::ber::List;
use crate::certificate::tests::{attribute_certificate, sample, wrap};
use crate::error::TextError;
use crate::filter::Substring;
use crate::schema::{Builtin, Schema};
use crate::syntax::Syntax;

fn normal(rule: &str, value: impl AsRef<[u8]>) -> Result<Vec<u8>, TextError> {
    let mut out = Vec::new();
    Rule::find(rule).unwrap().normalize(value.as_ref(), &WithoutSchema, &mut out)?;
    Ok(out)
}

fn key(rule: &str, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    normal(rule, value).unwrap_or_else(|error| panic!("{rule} {:?}: {error}", String::from_utf8_lossy(value)))
}

fn equal(rule: &str, a: &str, b: &str) -> bool {
    key(rule, a) == key(rule, b)
}

fn assertion(rule: &str, pieces: &[Substring<'_>]) -> SubstringsAssertion {
    let mut buffer = Vec::new();
    let pieces = List::build(&mut buffer, pieces.iter().copied());
    SubstringsAssertion::new(Rule::find(rule).unwrap(), pieces).unwrap()
}

use Substring::{Any, Final, Initial};

#[test]
fn a_piece_that_stands_in_no_value_is_refused_rfc4517_3_3_30() {
    for (rule, wrong, right) in [
        ("caseIgnoreIA5SubstringsMatch", "é", "a"),
        ("caseExactIA5SubstringsMatch", "é", "a"),
        ("numericStringSubstringsMatch", "2a", "1 2"),
        ("telephoneNumberSubstringsMatch", "@", "+1 (2)"),
    ] {
        let can_be = |piece: &str| {
            let mut buffer = Vec::new();
            let pieces = List::build(&mut buffer, [Initial(piece.as_bytes()), Any(b"1")]);
            SubstringsAssertion::new(Rule::find(rule).unwrap(), pieces).is_ok()
        };
        assert!(!can_be(wrong) && can_be(right), "{rule}");
    }
}

/// OpenLDAP's own syntax: what it takes and what it refuses was tried.
#[test]
fn a_change_sequence_number_is_asserted_in_one_of_three_forms() {
    let asserted = |value: &str| {
        let mut out = Vec::new();
        let rule = Rule::find("CSNOrderingMatch").unwrap();
        rule.normalize_assertion(value.as_bytes(), &WithoutSchema, &mut out).map(|()| String::from_utf8(out).unwrap())
    };
    let now = "20260101000000.000000Z#00000a#001#000000";
    for (value, form) in [
        (now, now),
        ("20260101000000Z#00000a#01#000000", now),
        ("2026010100:00:00Z#0x000a#1#0000", now),
        ("2026010100:11:22Z#0xffff#2#1234", "20260101001122.000000Z#00ffff#002#001234"),
        ("20261301000000,00000gZ#00000a#001#000000", "20261301000000,00000gZ#00000a#001#000000"),
    ] {
        assert_eq!(asserted(value).as_deref(), Ok(form), "{value}");
    }
    for wrong in [
        "",
        "abc",
        "20260101000000.000000Z",
        "20260101000000.000000Z#00000a#001#000000#",
        "20260101000000.000000Z#00000#a001#000000",
        "20260101000000.000000Z#00000a#001#00000",
        "20260101000000.0Z#00000a#001#000000",
        "20260101000000Z#00000a#001#000000",
        "2026010100000#Z#00000a#01#000000",
        "2026010100x00x00Z#0x000a#1#0000",
        "2026010100:00:00Z#1y000a#1#0000",
    ] {
        assert!(asserted(wrong).is_err(), "{wrong}");
        // What is stored is compared as it is.
        assert_eq!(key("CSNMatch", wrong), wrong.as_bytes());
    }
}

#[test]
fn a_rule_applies_to_the_syntaxes_whose_values_it_compares_rfc4517_4_2() {
    const RFC4517: &str = "1.3.6.1.4.1.1466.115.121.1.";
    for (rule, right, wrong) in [
        ("caseIgnoreMatch", &[11, 15, 44, 50][..], &[12, 26, 27, 36, 41][..]),
        ("caseExactOrderingMatch", &[15, 44], &[26, 27]),
        ("protocolInformationMatch", &[42], &[15]),
        ("caseIgnoreIA5Match", &[26], &[15, 44]),
        ("integerMatch", &[27], &[15, 36]),
        ("integerFirstComponentMatch", &[17, 27], &[15]),
        ("objectIdentifierFirstComponentMatch", &[3, 16, 30, 31, 35, 37, 38, 54], &[15, 17]),
        ("distinguishedNameMatch", &[12], &[15, 34]),
        ("octetStringMatch", &[40], &[5, 15, 28]),
        ("certificateExactMatch", &[8], &[9, 40]),
        ("algorithmIdentifierMatch", &[49], &[40]),
        ("caseIgnoreIA5SubstringsMatch", &[15, 26], &[]),
    ] {
        let rule = Rule::find(rule).unwrap();
        let applies = |number: &u8| rule.applies_to(Syntax::find(&format!("{RFC4517}{number}")).unwrap());
        assert!(right.iter().all(applies) && !wrong.iter().any(applies), "{}", rule.name);
    }
}

#[test]
fn case_and_runs_of_spaces_do_not_matter_rfc4518_2() {
    for (a, b) in [
        ("Foo  Bar", " foo bar "),
        ("STRASSE", "straße"),
        ("\u{212B}ngström", "Ångström"),
        ("Ａ１", "a1"),
        ("a\tb", "a b"),
        ("a\u{A0}\u{2003}b", "a b"),
        ("co\u{AD}op", "coop"),
        ("e\u{301}", "É"),
        ("\u{FB01}", "FI"),
        ("", "   "),
    ] {
        assert!(equal("caseIgnoreMatch", a, b), "{a:?} {b:?}");
    }
    assert!(!equal("caseIgnoreMatch", "ab", "a b"));
    assert!(!equal("numericStringMatch", "1 \u{301}", "1\u{301}"), "a space with a mark on it is none");
    assert!(!equal("caseExactMatch", "Foo", "foo"));
    assert!(equal("caseExactMatch", "Foo\u{3000}é", " Foo e\u{301}"));
    assert_eq!(normal("caseIgnoreMatch", b"a\xFF").unwrap_err().offset, 1);
    assert_eq!(normal("caseIgnoreIA5Match", "aé").unwrap_err().offset, 1);
}

#[test]
fn numbers_and_telephone_numbers_lose_what_is_only_for_the_eye_rfc4518_2_6() {
    assert_eq!(key("numericStringMatch", " 1 2  3"), b"123");
    assert_eq!(key("telephoneNumberMatch", "+49 (0)89-1\u{2010}2 X"), b"+49(0)8912x");
}

#[test]
fn integers_sort_as_integers_rfc4517_4_2_20() {
    let long = "9".repeat(200);
    let longer = format!("1{}", "0".repeat(200));
    let texts = [
        format!("-{longer}"),
        format!("-{long}"),
        "-10".into(),
        "-9".into(),
        "-1".into(),
        "0".into(),
        "1".into(),
        "9".into(),
        "10".into(),
        "11".into(),
        "100".into(),
        long,
        longer,
    ];
    let keys: Vec<_> = texts.iter().map(|text| key("integerOrderingMatch", text)).collect();
    assert!(keys.is_sorted_by(|a, b| a < b));
    assert_eq!(key("integerMatch", "-0"), key("integerMatch", "000"));
    assert!(
        normal("integerMatch", "").is_err()
            && normal("integerMatch", "-").is_err()
            && normal("integerMatch", "1 ").is_err()
    );
}

#[test]
fn times_are_equal_in_all_zones_and_forms_rfc4517_3_3_13() {
    for (text, form) in [
        ("20260101120000Z", "20260101120000"),
        ("20260101120000.500Z", "20260101120000.5"),
        ("20260101120000,0Z", "20260101120000"),
        ("2026010112Z", "20260101120000"),
        ("2026010112.25Z", "20260101121500"),
        ("2026010112.0001Z", "20260101120000.36"),
        ("202601011200.5Z", "20260101120030"),
        ("20260101003000+0100", "20251231233000"),
        ("20251231233000-01", "20260101003000"),
        ("20240228233000-0100", "20240229003000"),
        ("20000301003000+0100", "20000229233000"),
        ("19000301003000+0100", "19000228233000"),
        ("20161231235960Z", "20161231235960"),
        ("00000101000000Z", "00000101000000"),
        ("99991231235959Z", "99991231235959"),
    ] {
        assert_eq!(String::from_utf8(key("generalizedTimeMatch", text)).unwrap(), form, "{text}");
    }
    for (text, offset) in [
        ("20260229000000Z", 6),
        ("2026010124Z", 8),
        ("20260101120000", 14),
        ("20260101120000.Z", 15),
        ("20260101120000Zx", 15),
        ("20260101120000+25", 15),
        ("00000101000000+0100", 0),
        ("99991231235959-0100", 0),
        ("2026", 4),
    ] {
        assert_eq!(normal("generalizedTimeMatch", text).unwrap_err().offset, offset, "{text}");
    }
}

#[test]
fn names_oids_and_first_components_rfc4517_4_2() {
    assert!(equal("distinguishedNameMatch", "CN=A  b, DC=X", "cn=a B,dc=x"));
    assert!(equal("uniqueMemberMatch", "CN=A#'01'B", "cn=a#'01'B"));
    assert!(!equal("uniqueMemberMatch", "CN=A#'01'B", "cn=a"));
    // RFC 4514 section 2.4: what has a backslash before it is the name's.
    assert!(!equal("uniqueMemberMatch", "cn=a\\#'01'B", "cn=a#'01'B"));
    assert!(equal("uniqueMemberMatch", "cn=a\\#'01'B", "CN=a\\23'01'B"));
    assert!(equal("uniqueMemberMatch", "cn=a\\\\#'01'B", "CN=a\\5C#'01'B"));
    assert!(equal("objectIdentifierMatch", "PERSON", "person"));
    assert!(equal("UUIDMatch", "597AE2F6-16a6-1027-98f4-d28b5365dc14", "597ae2f6-16a6-1027-98f4-d28b5365dc14"));
    let rule = Rule::find("objectIdentifierFirstComponentMatch").unwrap();
    let mut asserted = Vec::new();
    rule.normalize_assertion(b"2.5.4.3", &WithoutSchema, &mut asserted).unwrap();
    assert_eq!(asserted, key(rule.name, "( 2.5.4.3 NAME 'cn' SUP name )"));
    let rule = Rule::find("2.5.13.29").unwrap();
    let mut asserted = Vec::new();
    rule.normalize_assertion(b"2", &WithoutSchema, &mut asserted).unwrap();
    assert_eq!(asserted, key(rule.name, "(2 FORM x )"));
    assert!(equal("caseIgnoreListMatch", "1 Main St.$ Anytown", "1  MAIN ST. $anytown"));
    assert!(!equal("caseIgnoreListMatch", "a$b", "ab"));
    assert!(normal("booleanMatch", "true").is_err() && equal("booleanMatch", "TRUE", "TRUE"));
    assert!(normal("bitStringMatch", "01").is_err() && !equal("bitStringMatch", "'01'B", "'010'B"));
}

struct OneName;

impl crate::dn::NamingRules for OneName {
    fn normalize<'s>(
        &'s self,
        attribute: &'s str,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<std::borrow::Cow<'s, str>, &'static str> {
        if attribute == "nothing" {
            return Err("a type that is there");
        }
        let attribute = if attribute.eq_ignore_ascii_case("cn") { "2.5.4.3" } else { attribute };
        WithoutSchema.normalize(attribute, value, out).map(|name| name.into_owned().into())
    }
}

impl Names for OneName {
    fn oid(&self, name: &str) -> Option<&str> {
        name.eq_ignore_ascii_case("cn").then_some("2.5.4.3")
    }
}

#[test]
fn a_name_and_its_number_are_the_same_rfc4517_4_2_26() {
    let mut out = Vec::new();
    Rule::find("objectIdentifierMatch").unwrap().normalize(b"CN", &OneName, &mut out).unwrap();
    assert_eq!(out, b"2.5.4.3");
}

fn normal_by(authz: &str, names: &dyn Names) -> Result<(), TextError> {
    Rule::find("authzMatch").unwrap().normalize(authz.as_bytes(), names, &mut Vec::new())
}

fn asserted(rule: &str, value: &str) -> Result<Vec<u8>, TextError> {
    let mut out = Vec::new();
    Rule::find(rule).unwrap().normalize_assertion(value.as_bytes(), &OneName, &mut out)?;
    Ok(out)
}

#[test]
fn certificates_are_the_same_by_issuer_and_serial_number_rfc4523_3_1() {
    let key = |name| key("certificateExactMatch", sample(name));
    assert_eq!(key("alice"), key("alice-again"));
    assert_eq!((key("utf8"), key("bmp")), (key("teletex"), key("teletex")));
    let all = ["alice", "alice-two", "negative", "long", "utf8", "unknown", "nobody", "version-one"].map(key);
    assert!((1..all.len()).all(|n| !all[..n].contains(&all[n])));
    let stored = |name| {
        let mut out = Vec::new();
        Rule::find("certificateExactMatch").unwrap().normalize(&sample(name), &OneName, &mut out).unwrap();
        out
    };
    for (name, assertion) in [
        ("version-one", "{ serialNumber 3, issuer rdnSequence:\"CN=OLD\" }"),
        ("version-one", "3$2.5.4.3=old"),
        ("utf8", "{ serialNumber 128, issuer rdnSequence:\"cn=mu\u{308}ller, 2.5.4.10=#0c0159\" }"),
        ("nobody", "{ serialNumber 65536, issuer rdnSequence:\"\" }"),
    ] {
        assert_eq!(asserted("certificateExactMatch", assertion), Ok(stored(name)), "{assertion}");
    }
    let unknown = asserted("certificateExactMatch", "1$nothing=x");
    assert!(unknown.is_err() && asserted("certificateExactMatch", "1$no name").is_err());
    assert!(normal("certificateExactMatch", sample("list")).is_err());
}

#[test]
fn lists_are_the_same_by_issuer_and_time_rfc4523_3_5() {
    let key = |name| key("certificateListExactMatch", sample(name));
    assert_ne!(key("list"), key("list-late"));
    let assertion = "{ issuer rdnSequence:\"2.5.4.10=crl ca\", thisUpdate utcTime:\"2601010000Z\" }";
    assert_eq!(asserted("certificateListExactMatch", assertion), Ok(key("list")));
}

/// Whether a value matches what is asserted, as filters and compare ask.
fn matches(rule: &str, value: &[u8], assertion: &str) -> bool {
    let rule = Rule::find(rule).unwrap();
    let (mut form, mut asserted) = (Vec::new(), Vec::new());
    rule.normalize(value, &OneName, &mut form).unwrap();
    rule.normalize_assertion(assertion.as_bytes(), &OneName, &mut asserted).unwrap();
    let found = rule.relates(&form, &asserted);
    assert!(!rule.is_equality(&asserted) || found == (form == asserted));
    found
}

#[test]
fn pairs_are_the_same_if_what_is_asserted_of_each_is_rfc4523_3_3() {
    let rule = "certificatePairExactMatch";
    let pair = |one: &[u8], two: &[u8]| wrap(0x30, &[one, two]);
    let (to, by) = (wrap(0xA0, &[&sample("version-one")]), wrap(0xA1, &[&sample("nobody")]));
    let asserted_to = "issuedToThisCAAssertion { serialNumber 3, issuer rdnSequence:\"CN=Old\" }";
    let asserted_by = "issuedByThisCAAssertion { serialNumber 65536, issuer rdnSequence:\"\" }";
    let [only_to, only_by] = [asserted_to, asserted_by].map(|one| format!("{{ {one} }}"));
    let both = format!("{{ {asserted_to}, {asserted_by} }}");
    for (value, results) in [
        (pair(&to, &by), [true, true, true]),
        (pair(&to, b""), [true, false, false]),
        (pair(b"", &by), [false, true, false]),
        (pair(&by_other(), &by), [false, true, false]),
    ] {
        assert_eq!([&only_to, &only_by, &both].map(|text| matches(rule, &value, text)), results);
    }
    assert_ne!(key(rule, pair(&to, b"")), key(rule, pair(&to, &by)));
}

fn by_other() -> Vec<u8> {
    wrap(0xA0, &[&sample("alice")])
}

#[test]
fn algorithms_are_the_same_by_number_and_parameters_rfc4523_3_7() {
    let rule = "algorithmIdentifierMatch";
    let bare = b"\x30\x07\x30\x05\x06\x03\x55\x04\x03";
    assert!(matches(rule, bare, "{ algorithm 2.5.4.3 }") && matches(rule, bare, "{ algorithm cn }"));
    assert!(!matches(rule, bare, "{ algorithm 2.5.4.3, parameters NULL }"));
    assert!(asserted(rule, "{ algorithm nothing }").is_err());
}

#[test]
fn attribute_certificates_are_the_same_by_serial_number_and_issuer() {
    let rule = "attributeCertificateExactMatch";
    let name = "issuerName { directoryName:rdnSequence:\"CN=A\" }";
    let base = "baseCertificateID { issuer { directoryName:rdnSequence:\"cn=B\" }, serial 2 }";
    let texts = [name.to_string(), base.into(), format!("{name}, {base}")];
    let texts = texts.map(|issuer| format!("{{ serialNumber 5, issuer {{ {issuer} }} }}"));
    let values = [(Some("a"), None), (None, Some(("b", 2))), (Some("a"), Some(("b", 2)))];
    let values = values.map(|(issuer, base)| attribute_certificate(5, issuer, base));
    for (n, value) in values.iter().enumerate() {
        let found: Vec<_> = texts.iter().map(|text| matches(rule, value, text)).collect();
        assert_eq!(found, [n == 0, n == 1, n == 2], "{n}");
    }
    assert!(!matches(rule, &attribute_certificate(6, Some("a"), None), &texts[0]));
}

#[test]
fn names_stand_above_and_below_each_other() {
    let related = |value: &str, asserted: &str| {
        ["dnSubtreeMatch", "dnOneLevelMatch", "dnSubordinateMatch", "dnSuperiorMatch"]
            .map(|rule| matches(rule, value.as_bytes(), asserted))
    };
    assert_eq!(related("ou=A, dc=x", "OU=a,DC=X"), [true, false, false, false]);
    assert_eq!(related("cn=b,ou=a,dc=x", "ou=a,dc=x"), [true, true, true, false]);
    assert_eq!(related("cn=c,cn=b,ou=a,dc=x", "ou=a,dc=x"), [true, false, true, false]);
    assert_eq!(related("dc=x", "ou=a,dc=x"), [false, false, false, true]);
    assert_eq!(related("dc=x", ""), [true, true, true, false]);
    assert_eq!(related("cn=b\\,ou=a,dc=x", "ou=a,dc=x"), [false; 4], "the comma is the value's");
    assert_eq!(related("cn=b,xou=a,dc=x", "ou=a,dc=x"), [false; 4]);
}

#[test]
fn presentation_addresses_are_the_same_by_selectors_and_have_the_asserted_networks() {
    let matches = |value: &str, asserted| matches("presentationAddressMatch", value.as_bytes(), asserted);
    let value = "\"256\"/NS+a433bb93c1|NS+aa3106";
    assert!(matches(value, "\"256\"/NS+AA3106|NS+A433BB93C1") && matches(value, "\"256\"/NS+aa3106"));
    assert!(!matches(value, "NS+aa3106") && !matches(value, "\"256\"/NS+aa3107"));
    assert!(!matches(value, "\"256\"/NS+aa3106|NS+aa3107") && !matches("NS+b", "NS+a|NS+b") && matches("b|a|c", "c|a"));
}

/// If each part were held against all before it, these would take minutes.
#[test]
fn values_of_very_many_parts_are_compared_in_one_go() {
    const PARTS: usize = 300_000;
    let joined = |part: &dyn Fn(usize) -> String, with| (0..PARTS).map(part).collect::<Vec<_>>().join(with);
    let networks = joined(&|n| format!("NS+{n}"), "|");
    assert!(matches("presentationAddressMatch", networks.as_bytes(), &networks));
    // Of types that no schema has, an RDN may have any number.
    let rdn = joined(&|n| format!("1.2.{n}=a"), "+");
    let assertion = format!("{{ serialNumber 1, issuer rdnSequence:\"{rdn}\" }}");
    assert_eq!(asserted("certificateExactMatch", &assertion).unwrap().len(), rdn.len() + "1$".len());
}

#[test]
fn rules_of_who_may_act_as_whom_are_the_same_by_what_they_say() {
    let same = |a: &str, b: &str| matches("authzMatch", a.as_bytes(), b);
    for b in ["dn:cn=a,2.5.4.10=x", "dn.exact:CN=a,2.5.4.10=x", "DN:cn=A,2.5.4.10=X", "cn=a,2.5.4.10=x"] {
        assert!(same("dn:CN=A, 2.5.4.10=x", b), "{b}");
    }
    assert!(same("group/CN/cn:cn=G", "GROUP/cn/CN:cn=g") && !same("group:cn=g", "group/cn:cn=g"));
    assert!(same("ldap:///CN=x??sub?(CN=a)", "LDAP:///cn=X??sub?(cn=A)") && !same("ldap:///cn=x??sub", "ldap:///cn=x"));
    assert!(!same("u:Foo", "u:foo") && same("U:Foo", "u:Foo") && !same("dn.regex:^CN=", "dn.regex:^cn="));
    assert!(!same("dn.subtree:cn=a", "dn.children:cn=a") && same("dn.exact:*", "*"));
    for unknown in [
        "group/nothing:cn=g",
        "group/cn/nothing:cn=g",
        "group/cn/cn/cn:cn=g",
        "group/:cn=g",
        "group/cn/:cn=g",
        "group//cn:cn=g",
        "ldap:///cn=x??sub?(&(cn=a)(!(nothing>=b)))",
        "dn.children:nothing=g",
        "nothing=g",
    ] {
        assert!(normal_by(unknown, &OneName).is_err(), "{unknown}");
    }
    assert!(normal_by("ldap:///cn=x??sub?(&(cn;lang-de=a)(:caseExactMatch:=b))", &OneName).is_ok());
}

#[test]
fn bits_are_matched_by_all_or_by_one() {
    let matches =
        |rule, value: &str, mask: &str| Rule::find(rule).unwrap().bits_match(value.as_bytes(), mask.as_bytes());
    assert_eq!(matches("1.2.840.113556.1.4.803", "7", "5"), Some(true));
    assert_eq!(matches("1.2.840.113556.1.4.803", "6", "5"), Some(false));
    assert_eq!(matches("1.2.840.113556.1.4.804", "6", "5"), Some(true));
    assert_eq!(matches("1.2.840.113556.1.4.804", "x", "5"), None);
    assert_eq!(matches("integerMatch", "6", "5"), None);
}

#[test]
fn substrings_stand_in_order_and_do_not_overlap_rfc4517_2_1() {
    let value = key("caseIgnoreMatch", "Babs Jensen");
    let matches = |pieces: &[Substring<'_>]| assertion("caseIgnoreSubstringsMatch", pieces).matches(&value);
    assert!(matches(&[Initial(b"BABS"), Any(b"en"), Final(b"en")]));
    assert!(!matches(&[Any(b"jens"), Any(b"ens")]));
    assert!(!matches(&[Initial(b"babs jen"), Final(b"jensen")]));
    assert!(matches(&[Any(b"s  j")]) && matches(&[Any(b"s "), Any(b" j")]) && matches(&[Final(b"jensen ")]));
    assert!(!matches(&[Any(b" abs")]) && !matches(&[Initial(b"jensen")]));
    let lines = key("caseIgnoreListMatch", "First Street $ Old  Town$St 5");
    let matches = |pieces: &[Substring<'_>]| assertion("caseIgnoreListSubstringsMatch", pieces).matches(&lines);
    assert!(matches(&[Any(b"first st"), Final(b"st 5")]) && matches(&[Initial(b"FIRST "), Any(b"t "), Any(b" old ")]));
    assert!(matches(&[Any(b" st  5")]) && matches(&[Any(b"street$old")]) && matches(&[Any(b"town "), Final(b"5 ")]));
    assert!(!matches(&[Any(b"tree ")]) && !matches(&[Any(b" reet")]) && !matches(&[Any(b"own ol")]));
    let telephone = assertion("telephoneNumberSubstringsMatch", &[Any(b"1-2 3")]);
    assert!(telephone.matches(&key("telephoneNumberMatch", "(0)12-34")));
}

#[test]
fn every_rule_and_syntax_of_the_built_in_schema_is_known() {
    let mut schema = Schema::default();
    for part in [Builtin::Core, Builtin::Cosine, Builtin::InetOrgPerson, Builtin::NisBis] {
        schema.load_builtin(part);
    }
    for attribute in schema.attribute_types.iter().map(|located| &located.item) {
        for rule in [&attribute.equality, &attribute.ordering, &attribute.substrings].into_iter().flatten() {
            assert!(Rule::find(rule).is_some(), "{attribute}");
        }
        if let Some(syntax) = &attribute.syntax {
            assert!(Syntax::find(syntax).is_some(), "{attribute}");
        }
    }
    let mut oids: Vec<_> = RULES.iter().map(|rule| rule.oid).collect();
    oids.dedup();
    assert_eq!(oids.len(), RULES.len());
}

/// RFC 4518 section 2.6.1, word for word.
fn spaced(text: &str, lead: bool, trail: bool) -> String {
    let words: Vec<_> = text.split(' ').filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return if lead && trail { "  ".into() } else { " ".into() };
    }
    let lead = lead || text.starts_with(' ');
    let trail = trail || text.ends_with(' ');
    format!("{}{}{}", if lead { " " } else { "" }, words.join("  "), if trail { " " } else { "" })
}

/// Whether a value matches, by trying.
fn by_the_book(value: &str, initial: Option<&str>, any: &[String], last: Option<&str>) -> bool {
    let value = spaced(value, true, true);
    let mut rest = value.as_str();
    if let Some(initial) = initial {
        let initial = if initial.trim().is_empty() { " ".to_string() } else { spaced(initial, true, false) };
        let Some(behind) = rest.strip_prefix(&initial) else { return false };
        rest = behind;
    }
    if let Some(last) = last {
        let last = if last.trim().is_empty() { " ".to_string() } else { spaced(last, false, true) };
        let Some(before) = rest.strip_suffix(&last) else { return false };
        rest = before;
    }
    for piece in any {
        let Some((_, behind)) = rest.split_once(&spaced(piece, false, false)) else { return false };
        rest = behind;
    }
    true
}

proptest! {
    #[test]
    fn substrings_match_by_the_book(
        value in "[ab ]{1,10}",
        initial in prop::option::of("[ab ]{1,3}"),
        any in prop::collection::vec("[ab ]{1,3}", 0..3),
        last in prop::option::of("[ab ]{1,3}"),
    ) {
        prop_assume!(!value.trim().is_empty());
        let pieces = initial.iter().map(|p| Initial(p.as_bytes())).chain(any.iter().map(|p| Any(p.as_bytes())))
            .chain(last.iter().map(|p| Final(p.as_bytes())));
        let pieces: Vec<_> = pieces.collect();
        prop_assume!(!pieces.is_empty());
        let assertion = assertion("caseIgnoreSubstringsMatch", &pieces);
        let value_key = key("caseIgnoreMatch", &value);
        let matches = assertion.matches(&value_key);
        prop_assert_eq!(matches, by_the_book(&value, initial.as_deref(), &any, last.as_deref()));
        if matches {
            for (place, fragment) in assertion.fragments() {
                prop_assert!(match place {
                    Place::Start => value_key.starts_with(&fragment),
                    Place::Anywhere => memchr::memmem::find(&value_key, &fragment).is_some(),
                    Place::End => value_key.ends_with(&fragment),
                }, "{fragment:?}");
            }
        }
    }

    #[test]
    fn integer_keys_sort_as_integers(a: i64, b: i64, scale in 0..3u32) {
        let (a, b) = (i128::from(a) << (scale * 30), i128::from(b) << (scale * 30));
        prop_assert_eq!(key("integerMatch", a.to_string()).cmp(&key("integerMatch", b.to_string())), a.cmp(&b));
    }

    #[test]
    fn normalizing_twice_changes_nothing(text in "[ -~\tàßÅİıΣςﬁＡ½\u{301}\u{3000}\u{1E9E}\u{1CCD6}]{0,16}") {
        for rule in ["caseIgnoreMatch", "caseExactMatch", "numericStringMatch", "telephoneNumberMatch", "caseIgnoreListMatch"] {
            let once = key(rule, &text);
            prop_assert_eq!(key(rule, &once), once, "{}", rule);
        }
    }

    #[test]
    fn times_sort_by_what_they_mean(seconds in 0u32..86_400, other in 0u32..86_400, zone in -12i32..=12) {
        let at = |seconds: u32| format!("20260615{:02}{:02}{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let (a, b) = (key("generalizedTimeMatch", at(seconds) + "Z"), key("generalizedTimeMatch", format!("{}{zone:+03}", at(other))));
        let ahead = i64::from(zone) * 3600;
        prop_assert_eq!(a.cmp(&b), i64::from(seconds).cmp(&(i64::from(other) - ahead)));
        prop_assert_eq!(a.cmp(&a), Ordering::Equal);
    }

    #[test]
    fn no_value_makes_a_rule_or_syntax_panic(value in prop_oneof![prop::collection::vec(any::<u8>(), 0..20), "[ -~é]{0,20}".prop_map(String::into_bytes)]) {
        for rule in &RULES {
            let mut out = Vec::new();
            let _ = rule.normalize(&value, &WithoutSchema, &mut out);
            let _ = rule.normalize_assertion(&value, &WithoutSchema, &mut out);
        }
        for syntax in &crate::syntax::SYNTAXES {
            let _ = syntax.check(&value);
        }
    }
}

proptest! {
    #[test]
    fn what_is_plain_is_prepared_but_for_its_case(value in "[ aZ!~\u{1f}\u{7f}\u{e9}]{0,20}|[A-z0-9]{0,20}( [a-z0-9]{1,20}){0,3}") {
        let mut whole = Vec::new();
        prepare::prepare(&value, prepare::Case::Ignore, &mut whole);
        prop_assert_eq!(&key("caseIgnoreMatch", &value), &whole);
        if is_plain(value.as_bytes()) {
            prop_assert_eq!(value.to_ascii_lowercase().into_bytes(), whole);
            prop_assert_eq!(key("caseExactMatch", &value), value.into_bytes());
        }
    }

    #[test]
    fn words_with_a_space_between_are_plain(value in "[A-z0-9]{0,20}( [a-z0-9]{1,20}){0,3}") {
        prop_assert!(is_plain(value.as_bytes()) != value.starts_with(' '));
    }
}
