use super::*;

/// A certificate or list that OpenSSL made; the fuzz target begins with them.
pub(crate) fn sample(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/certificate").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn written(name: &Name<'_>) -> String {
    let mut text = String::new();
    let short = |oid: &str| match oid {
        "2.5.4.3" => "cn",
        "2.5.4.10" => "o",
        "2.5.4.11" => "ou",
        _ => "",
    };
    name.write(|oid| if short(oid).is_empty() { oid } else { short(oid) }, &mut text);
    text
}

#[test]
fn certificates_of_openssl_are_taken_apart_rfc5280_4_1() {
    for (name, number, issuer) in [
        ("alice", "1", "cn=Alice,o=Example Corp,2.5.4.6=AT"),
        ("negative", "-5", "cn=Neg\\, \\\"q\\\" #x,0.9.2342.19200300.100.1.25=example,0.9.2342.19200300.100.1.25=com"),
        ("long", "730750818665451459101842416358141509827966271489", "cn=multi,o=x+ou=y"),
        ("utf8", "128", "cn=Müller,o=y"),
        ("bmp", "128", "cn=Müller,o=y"),
        ("teletex", "128", "cn=Müller,o=y"),
        ("unknown", "255", "cn=z,1.2.840.113549.1.9.2=Foo"),
        ("nobody", "65536", ""),
        ("version-one", "3", "cn=old"),
    ] {
        let der = sample(name);
        let certificate = Certificate::parse(&der).unwrap();
        assert_eq!(certificate.serial_number, number, "{name}");
        assert_eq!((written(&certificate.issuer), written(&certificate.subject)), (issuer.into(), issuer.into()));
    }
}

#[test]
fn lists_of_openssl_are_taken_apart_rfc5280_5_1() {
    for (name, time) in [("list", "20260101000000Z"), ("list-late", "20510102030405Z")] {
        let der = sample(name);
        let list = CertificateList::parse(&der).unwrap();
        assert_eq!((written(&list.issuer).as_str(), list.this_update.as_slice()), ("o=CRL CA", time.as_bytes()));
    }
    assert_eq!(generalized(b"500101000000Z"), b"19500101000000Z");
}

#[test]
fn a_pair_may_lack_either_certificate_rfc4523_2_3() {
    let pair = sample("pair");
    let numbers = |pair: &[u8]| {
        let both = Certificate::parse_pair(pair).unwrap();
        both.map(|one| one.map(|certificate| certificate.serial_number))
    };
    assert_eq!(numbers(&pair), [Some("1".into()), Some("2".into())]);
    assert_eq!(numbers(b"\x30\x00"), [None, None]);
    let mut wrong = pair;
    // The second one's outermost tag.
    let second = wrong.len() - sample("alice-two").len();
    wrong[second] = 0x31;
    assert_eq!(Certificate::parse_pair(&wrong).unwrap_err().offset, second);
}

#[test]
fn what_is_cut_off_or_has_more_behind_it_is_none() {
    for name in ["alice", "list"] {
        let mut der = sample(name);
        let is_one = |der: &[u8]| Certificate::parse(der).is_ok() || CertificateList::parse(der).is_ok();
        assert!(is_one(&der) && (0..der.len()).all(|end| !is_one(&der[..end])));
        der.push(0);
        assert!(!is_one(&der));
    }
    assert!(Certificate::parse(&sample("list")).is_err() && CertificateList::parse(&sample("alice")).is_err());
}

#[test]
fn serial_numbers_are_integers_of_any_sign_and_of_128_octets_at_most() {
    for (octets, decimal) in [
        (&[0][..], "0"),
        (&[0x7F], "127"),
        (&[0x80], "-128"),
        (&[0xFF], "-1"),
        (&[0xFF, 0], "-256"),
        (&[0, 0xFF, 0xFF], "65535"),
        (&[0xFF, 0, 0, 0, 0, 0, 0, 0, 1], "-18446744073709551615"),
    ] {
        assert_eq!(number::decimal(Reader::new(octets)).unwrap(), decimal);
    }
    assert_eq!(number::decimal(Reader::new(&[0x7F; 128])).unwrap().len(), 308);
    assert!(number::decimal(Reader::new(&[])).is_err() && number::decimal(Reader::new(&[1; 129])).is_err());
}

/// A name of one pair of this value.
fn name_of(value: &[u8]) -> Vec<u8> {
    let wrap = |tag: u8, content: &[u8]| [&[tag, content.len() as u8], content].concat();
    let pair = wrap(tag::SEQUENCE, &[&[6, 3, 0x55, 4, 3], value].concat());
    wrap(tag::SEQUENCE, &wrap(tag::SET, &pair))
}

#[test]
fn values_that_are_no_text_are_written_in_hex_digits_rfc4514_2_4() {
    for (value, text) in [
        (&b"\x1C\x04\0\0\0\xFC"[..], "cn=ü"),
        (b"\x0C\x01\xFF", "cn=#0c01ff"),
        (b"\x1E\x03\0a\0", "cn=#1e03006100"),
        (b"\x1E\x02\xD8\0", "cn=#1e02d800"),
        (b"\x03\x02\0\x01", "cn=#03020001"),
        (b"\x13\0", "cn="),
    ] {
        let encoded = name_of(value);
        let name = Name::read(&mut Reader::new(&encoded)).unwrap();
        assert_eq!(written(&name), text);
        crate::dn::Dn::parse(text).unwrap();
    }
    // No pair in an RDN; a number of a type that does not end.
    for wrong in [&b"\x30\x02\x31\0"[..], b"\x30\x0A\x31\x08\x30\x06\x06\x02\x55\x84\x0C\0"] {
        assert!(Name::read(&mut Reader::new(wrong)).is_err());
    }
}

#[test]
fn assertions_are_read_as_written_and_as_others_write_them_rfc4523_2_5() {
    for (text, number, issuer) in [
        ("{ serialNumber 1, issuer rdnSequence:\"cn=a\" }", "1", "cn=a"),
        ("{serialNumber -12,issuer  rdnSequence: \"cn=\"\"a\"\"\"}", "-12", "cn=\"a\""),
        (" { issuer \"\", serialNumber 0 } ", "0", ""),
        ("1$cn=a", "1", "cn=a"),
    ] {
        let asserted = CertificateAssertion::parse(text.as_bytes()).unwrap();
        assert_eq!((&*asserted.serial_number, &*asserted.issuer), (number, issuer), "{text}");
    }
    for (text, offset) in [
        ("", 0),
        ("{ }", 2),
        ("{ serialNumber 1 }", 17),
        ("{ serialNumber 1, serialNumber 1 }", 18),
        ("{ serialNumber 1, issuer directory:\"cn=a\" }", 25),
        ("{ serialNumber 1, issuer rdnSequence:\"cn=a }", 38),
        ("{ serialNumber 1, issuer \"\" } x", 30),
        ("{ serialNumber 1, issuer \"\", more 1 }", 29),
        ("{ serialNumber x, issuer \"\" }", 15),
        ("x$cn=a", 0),
        ("1", 0),
    ] {
        assert_eq!(CertificateAssertion::parse(text.as_bytes()).unwrap_err().offset, offset, "{text}");
    }
}

#[test]
fn a_lists_time_is_asserted_in_either_form_rfc4523_2_9() {
    for time in ["utcTime:\"260101000000Z\"", "generalizedTime:\"20260101000000Z\"", "\"20260101000000Z\""] {
        let text = format!("{{ issuer rdnSequence:\"o=a\", thisUpdate {time} }}");
        let asserted = ListAssertion::parse(text.as_bytes()).unwrap();
        assert_eq!((&*asserted.issuer, asserted.this_update.as_slice()), ("o=a", &b"20260101000000Z"[..]));
    }
    let with_point = "{ issuer \"o=a\", thisUpdate \"20260101000000Z\", distributionPoint fullName:{ } }";
    assert!(ListAssertion::parse(with_point.as_bytes()).is_err());
    assert!(ListAssertion::parse(b"{ issuer \"o=a\", thisUpdate \"x\" }").is_err());
}

/// An element, or what is put together of several.
pub(crate) fn wrap(tag: u8, contents: &[&[u8]]) -> Vec<u8> {
    let content = contents.concat();
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [&[tag, 0x82], &length[..], &content].concat()
}

/// General names of which the one is `cn=NAME`.
fn general_names(name: &str) -> Vec<u8> {
    let value = [&[0x0C, name.len() as u8], name.as_bytes()].concat();
    wrap(tag::SEQUENCE, &[&wrap(tag::context_constructed(4), &[&name_of(&value)])])
}

/// An attribute certificate with this serial number, of an issuer of one name, a certificate, or both.
pub(crate) fn attribute_certificate(number: u8, issuer: Option<&str>, base: Option<(&str, u8)>) -> Vec<u8> {
    let algorithm = wrap(tag::SEQUENCE, &[&[OID, 1, 0x2A]]);
    let integer = |number| [tag::INTEGER, 1, number];
    let name = issuer.map(general_names).unwrap_or_default();
    let base =
        base.map(|(issuer, number)| wrap(tag::context_constructed(0), &[&general_names(issuer), &integer(number)]));
    let by = wrap(tag::context_constructed(0), &[&name, &base.unwrap_or_default()]);
    let empty = wrap(tag::SEQUENCE, &[]);
    let signed = wrap(tag::SEQUENCE, &[&integer(1), &empty, &by, &algorithm, &integer(number), &empty, &empty]);
    wrap(tag::SEQUENCE, &[&signed, &algorithm, &[BIT_STRING, 1, 0]])
}

#[test]
fn an_attribute_certificate_has_an_issuers_name_or_certificate_rfc5755_4_1() {
    let taken = |der: &[u8]| {
        let certificate = AttributeCertificate::parse(der).ok()?;
        let base = certificate.base.map(|(issuer, number)| (written(&issuer), number));
        Some((certificate.serial_number, certificate.issuer.map(|issuer| written(&issuer)), base))
    };
    let (name, base) = (Some("cn=a".to_string()), Some(("cn=b".to_string(), "2".to_string())));
    assert_eq!(taken(&attribute_certificate(5, Some("a"), None)), Some(("5".into(), name.clone(), None)));
    assert_eq!(taken(&attribute_certificate(5, None, Some(("b", 2)))), Some(("5".into(), None, base.clone())));
    assert_eq!(taken(&attribute_certificate(5, Some("a"), Some(("b", 2)))), Some(("5".into(), name, base)));
    assert_eq!(taken(&attribute_certificate(5, None, None)), None);
    let whole = attribute_certificate(5, Some("a"), Some(("b", 2)));
    assert!((0..whole.len()).all(|end| taken(&whole[..end]).is_none()));
    assert!(taken(&sample("alice")).is_none() && Certificate::parse(&whole).is_err());
}

#[test]
fn a_supported_algorithm_has_a_number_and_perhaps_parameters_rfc4523_2_4() {
    let taken = |parts: &[&[u8]]| {
        let der = wrap(tag::SEQUENCE, parts);
        SupportedAlgorithm::parse(&der).map(|known| (known.algorithm, known.parameters.to_vec())).ok()
    };
    let algorithm = wrap(tag::SEQUENCE, &[&[OID, 2, 0x55, 4], &[tag::NULL, 0]]);
    assert_eq!(taken(&[&algorithm]), Some(("2.5.4".into(), vec![tag::NULL, 0])));
    assert_eq!(taken(&[&algorithm, b"\xA0\x00"]), Some(("2.5.4".into(), vec![tag::NULL, 0])));
    assert_eq!(taken(&[b"\x30\x03\x06\x01\x2A"]), Some(("1.2".into(), vec![])));
    assert_eq!((taken(&[]), taken(&[b"\x02\x01\x01"]), taken(&[b"\x30\x00"])), (None, None, None));
}

#[test]
fn what_is_asserted_of_pairs_algorithms_and_attribute_certificates_is_read_rfc4523_2_7() {
    let one = |number: &'static str| Some(CertificateAssertion { serial_number: number.into(), issuer: "cn=a".into() });
    let to = "issuedToThisCAAssertion { serialNumber 1, issuer rdnSequence:\"cn=a\" }";
    let by = "issuedByThisCAAssertion { issuer \"cn=a\", serialNumber 2 }";
    for (text, issued_to, issued_by) in [
        (format!("{{ {to}, {by} }}"), one("1"), one("2")),
        (format!("{{{by},{to}}}"), one("1"), one("2")),
        (format!("{{ {to} }}"), one("1"), None),
        (format!("{{ {by} }}"), None, one("2")),
    ] {
        assert_eq!(PairAssertion::parse(text.as_bytes()), Ok(PairAssertion { issued_to, issued_by }), "{text}");
    }
    assert_eq!(PairAssertion::parse(b"{ }").unwrap_err().offset, 2);
    assert!(PairAssertion::parse(format!("{{ {to}, {to} }}").as_bytes()).is_err());
    for (text, parameters) in [
        ("{ algorithm 1.2 }", &b""[..]),
        ("{ algorithm 1.2, parameters NULL }", b"\x05\0"),
        ("{ parameters NULL:NULL, algorithm 1.2 }", b"\x05\0"),
        ("{ algorithm 1.2, parameters '0C0161'H }", b"\x0C\x01a"),
    ] {
        let asserted = AlgorithmAssertion { algorithm: "1.2", parameters: parameters.to_vec() };
        assert_eq!(AlgorithmAssertion::parse(text.as_bytes()), Ok(asserted), "{text}");
    }
    for (text, offset) in
        [("{ parameters NULL }", 18), ("{ algorithm 1..2 }", 12), ("{ algorithm 1.2, parameters '050'H }", 31)]
    {
        assert_eq!(AlgorithmAssertion::parse(text.as_bytes()).unwrap_err().offset, offset, "{text}");
    }
    for wrong in ["issuer { }", "issuer { issuerName { } }", "issuer { issuerName { dNSName:\"a\" } }"] {
        let text = format!("{{ serialNumber 1, {wrong} }}");
        assert!(AttributeCertificateAssertion::parse(text.as_bytes()).is_err(), "{text}");
    }
}
