//! Certificates as values: which are the same, and what is asserted about them (RFC 4523).

use duramen_directory::{Config, Index, IndexKinds};
use duramen_ldap::message::ChangeKind::{Add, Delete, Replace};
use duramen_ldap::message::ResultCode;

use crate::sample::*;

const USER: &str = "userCertificate;binary";
const LIST: &str = "certificateRevocationList;binary";

/// A certificate or list that OpenSSL made.
fn der(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/certificate").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a filter asserts of a certificate.
fn of(number: &str, issuer: &str) -> String {
    format!("(userCertificate={{ serialNumber {number}, issuer rdnSequence:\"{issuer}\" }})")
}

#[test]
fn certificates_are_added_and_deleted_one_by_one_rfc4523_3_1() {
    let sample = Sample::people();
    let [one, again, two] = ["alice", "alice-again", "alice-two"].map(der);
    sample.change(JENSEN, Add, USER, &[&one]).unwrap();
    sample.change(JENSEN, Add, USER, &[&two]).unwrap();
    let exists = ResultCode::ATTRIBUTE_OR_VALUE_EXISTS;
    assert_eq!(code(sample.change(JENSEN, Add, USER, &[&one])), exists);
    assert_eq!(code(sample.change(JENSEN, Add, USER, &[&again])), exists, "its issuer is the same name");
    assert_eq!(code(sample.change(JENSEN, Replace, USER, &[&one, &again])), exists);
    assert_eq!(sample.read(JENSEN, &[]).values(USER).len(), 2);
    sample.change(JENSEN, Delete, USER, &[&again]).unwrap();
    assert_eq!(code(sample.change(JENSEN, Delete, USER, &[&one])), ResultCode::NO_SUCH_ATTRIBUTE);
    assert_eq!(sample.found(&of("2", "cn=alice,o=example corp,c=AT")), [JENSEN]);
    assert_eq!(sample.found(&of("1", "cn=alice,o=example corp,c=AT")), [""; 0]);
}

#[test]
fn lists_are_added_and_deleted_one_by_one_rfc4523_3_5() {
    let sample = Sample::people();
    sample.modify(JENSEN, &[(Add, "objectClass", &["pkiCA"])]).unwrap();
    let [early, late] = ["list", "list-late"].map(der);
    sample.change(JENSEN, Add, LIST, &[&early]).unwrap();
    sample.change(JENSEN, Add, LIST, &[&late]).unwrap();
    assert_eq!(code(sample.change(JENSEN, Add, LIST, &[&late])), ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
    sample.change(JENSEN, Delete, LIST, &[&early]).unwrap();
    let of =
        |time: &str| format!("(certificateRevocationList={{ issuer rdnSequence:\"o=CRL ca\", thisUpdate {time} }})");
    assert_eq!(sample.found(&of("utcTime:\"260101000000Z\"")), [""; 0]);
    assert_eq!(sample.found(&of("generalizedTime:\"20510102030405Z\"")), [JENSEN]);
}

#[test]
fn what_is_no_certificate_is_refused_rfc4523_2_1() {
    let sample = Sample::people();
    for wrong in [&b"\x30\x03\x02\x01\x01"[..], b"no certificate", &der("list"), b""] {
        assert_eq!(code(sample.change(JENSEN, Add, USER, &[wrong])), ResultCode::INVALID_ATTRIBUTE_SYNTAX);
    }
}

#[test]
fn a_certificate_is_found_and_compared_by_serial_number_and_issuer_rfc4523_2_5() {
    let index =
        Index { attribute: "userCertificate".into(), kinds: IndexKinds { equality: true, ..Default::default() } };
    for indices in [Vec::new(), vec![index]] {
        let is_indexed = !indices.is_empty();
        let sample = Sample::with(Config { indices: Some(indices), ..Config::default() });
        sample.load(PEOPLE);
        let names = ["negative", "long", "bmp", "unknown", "nobody"];
        names.iter().for_each(|name| drop(sample.change(JENSEN, Add, USER, &[&der(name)]).unwrap()));
        for (number, issuer) in [
            ("-5", "cn=neg\\5c, \\5c\"\"Q\\5c\"\" #X,dc=example,dc=com"),
            ("730750818665451459101842416358141509827966271489", "cn=Multi,ou=Y+o=X"),
            ("128", "2.5.4.3=MÜLLER,o=y"),
            ("255", "cn=z,1.2.840.113549.1.9.2=Foo"),
            ("65536", ""),
        ] {
            assert_eq!(sample.found(&of(number, issuer)), [JENSEN], "{number} {issuer}");
            let (other, not) = (of(&format!("{number}0"), issuer), format!("(&(uid=*)(!{}))", of(number, issuer)));
            assert_eq!((sample.found(&other).len(), sample.found(&not).len()), (0, 1), "{number} {issuer}");
        }
        let plan = sample.search(BASE, &of("128", "cn=müller,o=y"), &Ask::default()).unwrap().plan;
        assert_eq!(plan.contains("no test needed"), is_indexed, "{plan}");
        let asserted = "{ issuer rdnSequence:\"CN=MÜLLER, O=y\", serialNumber 128 }";
        assert!(sample.compare(JENSEN, "userCertificate", asserted).unwrap());
        assert!(!sample.compare(JENSEN, USER, &asserted.replace("128", "129")).unwrap());
        assert_eq!(code(sample.compare(JENSEN, USER, "{ serialNumber 128 }")), ResultCode::INVALID_ATTRIBUTE_SYNTAX);
        // Undefined, and so is its opposite: an assertion is no certificate.
        let whole: String = der("bmp").iter().map(|byte| format!("\\{byte:02x}")).collect();
        for item in [format!("(userCertificate={whole})"), of("x", ""), of("1", "nosuchtype=x")] {
            assert_eq!((sample.found(&item), sample.found(&format!("(!{item})"))), (vec![], vec![]), "{item}");
        }
        let by_rule = of("128", "cn=müller,o=y").replace("userCertificate=", ":certificateExactMatch:=");
        assert_eq!(sample.found(&by_rule), [JENSEN]);
    }
}

/// A pair of these certificates, in DER: either may be empty.
fn pair(to: &[u8], by: &[u8]) -> Vec<u8> {
    let wrap = |tag: u8, content: &[u8]| {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        if content.is_empty() { Vec::new() } else { [&[tag, 0x82], &length[..], content].concat() }
    };
    wrap(0x30, &[wrap(0xA0, to), wrap(0xA1, by)].concat())
}

#[test]
fn pairs_are_found_by_what_is_asserted_of_either_certificate_rfc4523_3_3() {
    const PAIR: &str = "crossCertificatePair;binary";
    let sample = Sample::people();
    sample.modify(JENSEN, &[(Add, "objectClass", &["pkiCA"])]).unwrap();
    let [one, two] = [pair(&der("version-one"), &der("nobody")), pair(&der("version-one"), b"")];
    sample.change(JENSEN, Add, PAIR, &[&one]).unwrap();
    assert_eq!(code(sample.change(JENSEN, Add, PAIR, &[&one])), ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
    sample.change(JENSEN, Add, PAIR, &[&two]).unwrap();
    sample.change(JENSEN, Delete, PAIR, &[&two]).unwrap();
    let to = |number| format!("issuedToThisCAAssertion {{ serialNumber {number}, issuer rdnSequence:\"cn=old\" }}");
    let by = "issuedByThisCAAssertion { serialNumber 65536, issuer rdnSequence:\"\" }";
    for (asserted, is_there) in [
        (to(3), true),
        (by.to_string(), true),
        (format!("{}, {by}", to(3)), true),
        (to(4), false),
        (format!("{}, {by}", to(4)), false),
    ] {
        let asserted = format!("{{ {asserted} }}");
        let (found, rest) = if is_there { (vec![JENSEN], vec![]) } else { (vec![], vec![JENSEN]) };
        assert_eq!(sample.found(&format!("(crossCertificatePair={asserted})")), found, "{asserted}");
        let not = format!("(&(uid=bjensen)(!(crossCertificatePair:certificatePairExactMatch:={asserted})))");
        assert_eq!(sample.found(&not), rest, "{asserted}");
        assert_eq!(sample.compare(JENSEN, "crossCertificatePair", &asserted).unwrap(), is_there, "{asserted}");
    }
    assert_eq!(sample.found("(!(crossCertificatePair={ }))"), [""; 0]);
}
