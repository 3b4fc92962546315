use super::*;

fn check(oid: &str, value: &[u8]) -> Result<(), TextError> {
    Syntax::find(oid).unwrap().check(value)
}

/// A syntax, values that are right, and values that are wrong and at which byte.
type Row<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, usize)]);

/// That the values of each row are as it says. Numbers without a dot are those of RFC 4517.
fn hold(table: &[Row<'_>]) {
    for (number, right, wrong) in table {
        let oid =
            if number.contains('.') { number.to_string() } else { format!("1.3.6.1.4.1.1466.115.121.1.{number}") };
        for value in *right {
            assert_eq!(check(&oid, value.as_bytes()), Ok(()), "{oid} {value:?}");
        }
        for (value, offset) in *wrong {
            let error = check(&oid, value.as_bytes()).expect_err(value);
            assert_eq!(error.offset, *offset, "{oid} {value:?}: {error}");
        }
    }
}

#[test]
fn values_are_checked_by_their_syntax_rfc4517_3_3() {
    hold(&[
        ("3", &["( 2.5.4.3 NAME 'cn' SUP name )"], &[("( 2.5.4.3 )", 2)]),
        ("6", &["'0101'B", "''B"], &[("'012'B", 0), ("0101", 0)]),
        ("7", &["TRUE", "FALSE"], &[("true", 0), ("", 0)]),
        ("11", &["DE"], &[("DEU", 0), ("D\u{e9}", 0)]),
        ("12", &["", "cn=a,dc=b"], &[("cn", 2)]),
        ("14", &["telephone", "mhs $ ia5", "TELEX", "Telephone $ MHS"], &[("mhs $ pigeon", 5)]),
        ("15", &["a", "é", " "], &[("", 0)]),
        ("22", &["+49 1", "+49 1$fineResolution$b4Width"], &[("+49$x", 4), ("", 0)]),
        (
            "24",
            &["20260102030405Z", "2026010203+0100", "202601020304.5Z"],
            &[("20261302030405Z", 4), ("20260102030405", 14)],
        ),
        ("26", &["", "a@b"], &[("aé", 1)]),
        (
            "27",
            &["0", "-1", "12345678901234567890123"],
            &[("01", 0), ("-0", 1), ("", 0), ("-", 1), ("1x", 1), ("+1", 0)],
        ),
        ("34", &["cn=a", "cn=a#'01'B", "cn=\\#a"], &[("cn#'01'B", 2)]),
        ("36", &["1 2"], &[("1-2", 1), ("", 0)]),
        ("38", &["cn", "2.5.4.3", "inetOrgPerson"], &[("2..5", 0), ("", 0), ("c n", 0)]),
        ("39", &["internet$a@b"], &[("a@b", 3), ("x$", 2)]),
        ("41", &["a$b", "\\241", "1 Main\\5CSt.", "a$$b$"], &[("a\\b", 1), ("a$$\\", 3)]),
        ("44", &["Az09 '()+,-.=/:?"], &[("a@b", 1), ("", 0)]),
        ("50", &["+1 512 315 0280"], &[("1_2", 1)]),
        ("51", &["x$misc:1", "a$GRAPHIC:x$Page:"], &[("x$foo:1", 2), ("x$misc", 2)]),
        ("52", &["1$2$3"], &[("1$2", 0)]),
        ("53", &["260102030405Z", "2601020304-0500"], &[("261302030405Z", 2), ("2601020304.5Z", 0)]),
        ("58", &["a*b", "*", "\\2A*"], &[("ab", 2), ("a\\*", 1)]),
    ]);
}

#[test]
fn values_with_a_grammar_are_taken_apart_rfc4517_3_3_14_rfc3672() {
    hold(&[
        ("19", &["FULL-SERVICE", "best-effort #so so"], &[("GOOD", 0), ("DEFUNCT#", 8)]),
        (
            "21",
            &[
                "person#sn$EQ#oneLevel",
                " person # !(?true|sn$APPROX)&cn$ge # wholesubtree",
                "2.5.6.6#((a$LE))#baseobject",
            ],
            &[("person#sn$EQ", 6), ("person#sn$EQ#near", 13), ("person##oneLevel", 7), ("per son#sn$EQ#oneLevel", 0)],
        ),
        (
            "25",
            &["person#sn$EQ", "sn$SUBSTR|!cn$GE&(?false|?TRUE)", "2.5.6.6 #!!sn$eq"],
            &[
                ("", 0),
                ("sn", 0),
                ("sn$LIKE", 0),
                ("sn$EQ|", 6),
                ("(sn$EQ", 6),
                ("sn$EQ)", 5),
                ("#sn$EQ", 0),
                ("a#()", 3),
            ],
        ),
        (
            "43",
            &["\"256\"/NS+a433bb93c1|NS+aa3106", "#63/#41/#12/X121+234219200300", "'3a'H/TELEX+00728722", "/"],
            &[("#6/#4/#1/#2/x", 0), ("'3'H/x", 0), ("x/y", 0), ("a||b", 0), ("\"1\"/#x/y", 4), ("é", 0)],
        ),
        (
            "45",
            &[
                "{}",
                "{ }",
                "{ base \"ou=people\" }",
                "{ base \"cn=\\\"\"a\\\"\"\", specificExclusions { chopBefore:\"cn=a\", chopAfter: \"ou=b\" }, minimum 1, maximum 2, \
                 specificationFilter and:{ item:person, or:{ }, not:item:2.5.6.6 } }",
            ],
            &[
                ("", 0),
                ("{ minimum -1 }", 10),
                ("{ maximum 1, minimum 1 }", 13),
                ("{ base ou=people }", 7),
                ("{ base \"ou\" }", 10),
                ("{ specificationFilter (objectClass=person) }", 22),
                ("{ specificExclusions { \"cn=a\" } }", 23),
                ("{ } x", 4),
            ],
        ),
    ]);
}

#[test]
fn values_are_checked_by_syntaxes_of_other_documents_rfc2307_rfc4530() {
    hold(&[
        ("1.3.6.1.1.1.0.0", &["(a,-,b)", "(,,)"], &[("a,b,c", 0), ("(a,b)", 0)]),
        ("1.3.6.1.1.1.0.1", &["root=fs:/nfs/root"], &[("root", 0), ("root=fs", 5)]),
        ("1.2.36.79672281.1.5.0", &["", "cn=a", "cn=a+sn=b"], &[("cn=a,sn=b", 5), ("a", 1)]),
        (
            "1.3.6.1.4.1.4203.666.2.7",
            &[
                "*",
                "cn=a",
                "dn:",
                "DN.Exact:cn=a",
                "dn.onelevel:dc=x",
                "dn.regex:^cn=(",
                "u:a",
                "u.plain/realm:a",
                "group/groupOfNames/member:cn=g",
                "ldap:///dc=x??sub?(cn=a)",
                "{0}dn:*",
            ],
            &[
                ("foo", 3),
                ("dn.base:cn=a", 2),
                ("dn:x", 4),
                ("group:x", 7),
                ("ldap://host/dc=x", 0),
                ("ldap:///dc=x?cn", 0),
            ],
        ),
        ("1.3.6.1.1.16.1", &["597ae2f6-16a6-1027-98f4-d28b5365dc14"], &[("597ae2f616a6", 8), ("", 0)]),
    ]);
}

#[test]
fn bytes_that_are_no_text_have_their_place_in_few_syntaxes() {
    for syntax in &SYNTAXES {
        let accepted = syntax.check(b"\x30\x01\xFF").is_ok();
        let is_looked_into =
            ["Certificate", "Attribute", "Supported", "PKCS"].iter().any(|of| syntax.name.starts_with(of));
        assert_eq!(accepted, !syntax.readable && !is_looked_into, "{}", syntax.name);
    }
    assert!(check("1.3.6.1.4.1.1466.115.121.1.49", b"\x30\x01\xFFx").is_err());
}

#[test]
fn certificates_are_transferred_as_binary_rfc4523_2() {
    let binary: Vec<_> = SYNTAXES.iter().filter(|syntax| syntax.is_binary()).map(|syntax| syntax.name).collect();
    assert_eq!(
        binary,
        ["Certificate", "Certificate List", "Certificate Pair", "Supported Algorithm", "Attribute Certificate"]
    );
    let also = SYNTAXES.iter().filter(|syntax| syntax.may_be_binary() && !syntax.is_binary());
    assert_eq!(also.map(|syntax| syntax.name).collect::<Vec<_>>(), ["Binary", "PKCS#8 PrivateKeyInfo"]);
}

#[test]
fn what_is_nested_deep_needs_no_stack_for_it() {
    let deep =
        |open: &str, inner: &str, close: &str| [open.repeat(100_000), inner.into(), close.repeat(100_000)].concat();
    assert_eq!(check("1.3.6.1.4.1.1466.115.121.1.25", deep("!(", "sn$EQ", ")").as_bytes()), Ok(()));
    let refinement = format!("{{ specificationFilter {} }}", deep("and:{", "item:person", "}"));
    assert!(check("1.3.6.1.4.1.1466.115.121.1.45", refinement.as_bytes()).is_err());
}

#[test]
fn a_private_key_has_a_version_an_algorithm_and_bytes_rfc5958_2() {
    let check = |value: &[u8]| check("1.2.840.113549.1.8.1.1", value).is_ok();
    assert!(check(b"\x30\x0A\x02\x01\0\x30\x03\x06\x01\x2A\x04\0"));
    assert!(!check(b"\x30\x05\x02\x01\0\x04\0") && !check(b"") && !check(b"\x30\0"));
}
