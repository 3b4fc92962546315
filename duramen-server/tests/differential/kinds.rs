//! Attribute types of the test's own: one of each syntax and set of matching rules that both servers know.
//!
//! Owns: their descriptions, and values of each: right ones, equal ones that look different, ones at the edge of the
//! grammar, and wrong ones.

use duramen_ldap::syntax::Syntax;

use crate::families::FAMILY;

/// An attribute type; what is empty it does not have.
pub struct Kind {
    pub name: &'static str,
    pub equality: &'static str,
    pub ordering: &'static str,
    pub substrings: &'static str,
    /// Its syntax: what stands behind RFC 4517's common prefix, or all of the number.
    pub syntax: &'static str,
    pub values: &'static [&'static str],
}

const PREFIX: &str = "1.3.6.1.4.1.1466.115.121.1.";

const TEXTS: &[&str] = &[
    "Smith",
    "smith",
    "SMITH ",
    " two  words ",
    "two words",
    "a",
    "",
    " ",
    "e\u{301}",
    "\u{e9}",
    "\u{c9}",
    "\u{212b}ngstro\u{308}m",
    "\u{e5}ngstr\u{f6}m",
    "\u{ff21}\u{ff22}",
    "ab",
    "\u{3a3}\u{3af}\u{3c3}\u{3c5}\u{3c6}\u{3bf}",
    "\u{441}\u{442}\u{438}\u{43b}\u{44c}",
    "\u{421}\u{422}\u{418}\u{41b}\u{42c}",
    "\u{65e5}\u{672c}",
    "\u{1f600}",
    "\\2a*",
    "#hash",
    "\u{1}ff",
    "\u{1}c3",
];

const ASCII: &[&str] =
    &["Abc", "abc", "ABC", " abc ", "a  bc", "a bc", "", " ", "\u{e9}", "a@b.example", "A@B.EXAMPLE", "a*b"];

pub static KINDS: [Kind; 33] = [
    Kind {
        name: "kBoolean",
        equality: "booleanMatch",
        ordering: "",
        substrings: "",
        syntax: "7",
        values: &["TRUE", "FALSE", "true", "False", "yes", " TRUE", ""],
    },
    Kind {
        name: "kBits",
        equality: "bitStringMatch",
        ordering: "",
        substrings: "",
        syntax: "6",
        values: &["'0'B", "'1'B", "''B", "'0100'B", "'01'B", "'0101'b", "0101", "'2'B", "'01'B "],
    },
    Kind {
        name: "kInteger",
        equality: "integerMatch",
        ordering: "integerOrderingMatch",
        substrings: "",
        syntax: "27",
        values: &[
            "0",
            "-0",
            "00",
            "1",
            "-1",
            "01",
            "-01",
            "+1",
            "9",
            "10",
            "255",
            "256",
            "-128",
            "-129",
            "32768",
            "2147483647",
            "2147483648",
            "-2147483648",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "123456789012345678901234567890",
            "-123456789012345678901234567890",
            "",
            " 1",
            "1 ",
            "-",
            "1.0",
            "0x1",
            "x",
        ],
    },
    Kind {
        name: "kNumber",
        equality: "integerMatch",
        ordering: "",
        substrings: "",
        syntax: "27",
        values: &["7", "007", "-7", "8", "x"],
    },
    Kind {
        name: "kTime",
        equality: "generalizedTimeMatch",
        ordering: "generalizedTimeOrderingMatch",
        substrings: "",
        syntax: "24",
        values: &[
            "20260101000000Z",
            "202601010000Z",
            "2026010100Z",
            "20260101000000.0Z",
            "20260101000000.5Z",
            "20260101000000.50Z",
            "20260101000000,5Z",
            "20260101010000+0100",
            "20260101010000+01",
            "20251231190000-0500",
            "20260101000000-0000",
            "20260101000060Z",
            "20260101000000",
            "20260229000000Z",
            "20240229000000Z",
            "20261301000000Z",
            "20260101240000Z",
            "20260100000000Z",
            "00000101000000Z",
            "99991231235959Z",
            "20260101",
            "20260101Z",
            "260101000000Z",
            "20260101000000z",
            "20260101000000+2500",
            "x",
            "",
        ],
    },
    Kind {
        name: "kDigits",
        equality: "numericStringMatch",
        ordering: "numericStringOrderingMatch",
        substrings: "numericStringSubstringsMatch",
        syntax: "36",
        values: &["1", "01", "1 2", "12", " 12 ", "123", "23", "", " ", "1a", "-1", "0"],
    },
    Kind {
        name: "kPrintable",
        equality: "caseIgnoreMatch",
        ordering: "caseIgnoreOrderingMatch",
        substrings: "caseIgnoreSubstringsMatch",
        syntax: "44",
        values: &["Abc", "ABC", "a b", "a  b", " a b ", "", " ", "a_b", "a@b", "'()+,-./:?=", "\u{e9}"],
    },
    Kind {
        name: "kPrintableExact",
        equality: "caseExactMatch",
        ordering: "caseExactOrderingMatch",
        substrings: "caseExactSubstringsMatch",
        syntax: "44",
        values: &["Abc", "ABC", "a b", "a  b", " a b ", "", " ", "a_b"],
    },
    Kind {
        name: "kAscii",
        equality: "caseIgnoreIA5Match",
        ordering: "",
        substrings: "caseIgnoreIA5SubstringsMatch",
        syntax: "26",
        values: ASCII,
    },
    Kind {
        name: "kAsciiExact",
        equality: "caseExactIA5Match",
        ordering: "",
        substrings: "caseExactIA5SubstringsMatch",
        syntax: "26",
        values: ASCII,
    },
    Kind {
        name: "kText",
        equality: "caseIgnoreMatch",
        ordering: "caseIgnoreOrderingMatch",
        substrings: "caseIgnoreSubstringsMatch",
        syntax: "15",
        values: TEXTS,
    },
    Kind {
        name: "kTextExact",
        equality: "caseExactMatch",
        ordering: "caseExactOrderingMatch",
        substrings: "caseExactSubstringsMatch",
        syntax: "15",
        values: TEXTS,
    },
    Kind {
        name: "kTextBare",
        equality: "caseIgnoreMatch",
        ordering: "",
        substrings: "",
        syntax: "15",
        values: &["Smith", "smith ", "two  words", "two words", ""],
    },
    Kind {
        name: "kTextNoRules",
        equality: "",
        ordering: "",
        substrings: "",
        syntax: "15",
        values: &["Smith", "smith", "two  words", ""],
    },
    Kind {
        name: "kName",
        equality: "distinguishedNameMatch",
        ordering: "",
        substrings: "",
        syntax: "12",
        values: &[
            "",
            "cn=a",
            "CN=A",
            "cn=a,dc=b",
            "cn=a, dc=b",
            "cn=a;dc=b",
            "cn=a+sn=b",
            "sn=B + cn=A",
            "cn=a+cn=b",
            "cn=a\\,b",
            "cn=\"a,b\"",
            "cn=a\\2cb",
            "cn=\\61",
            "cn",
            "=a",
            "nosuch=a",
            "2.5.4.3=a",
            "2.5.4.03=a",
            "OID.2.5.4.3=a",
            "1.2.3.4=a",
            "cn=",
            "c=usa",
            "cn=a,serialNumber=\u{e9}",
            "gidNumber=01+cn=a",
            "cn=a,",
            ",cn=a",
            "cn=\\C3\\A9",
            "cn=e\\CC\\81",
            "cn=\u{c9}",
            "cn= a  b ",
            "cn=\\ a b\\ ",
            "cn=a\\",
            "cn=a\\zz",
            "uidNumber=1",
            "kBoolean=true",
            "kTime=20260101000000+0100",
            "c=at",
            "jpegPhoto=x",
            "mail=\u{e9}",
            "member=cn\\3da\\2cdc\\3db",
        ],
    },
    Kind {
        name: "kNameUid",
        equality: "uniqueMemberMatch",
        ordering: "",
        substrings: "",
        syntax: "34",
        values: &[
            "cn=a",
            "CN=A",
            "cn=a#'01'B",
            "cn=a#'01'b",
            "cn=a#''B",
            "cn=a#'1'B",
            "cn=a\\#'1'B",
            "cn=a#1",
            "#'1'B",
            "",
            "x",
        ],
    },
    Kind {
        name: "kOid",
        equality: "objectIdentifierMatch",
        ordering: "",
        substrings: "",
        syntax: "38",
        values: &[
            "2.5.4.3",
            "2.5.6.6",
            "2.5.13.2",
            "1.2.3.4",
            "1.2.03.4",
            "1.2.",
            "3.1",
            "1.40.1",
            "0",
            "1",
            "",
            "a b",
            "-a",
            "2.999.340282366920938463463374607431768211456",
        ],
    },
    Kind {
        name: "kOctets",
        equality: "octetStringMatch",
        ordering: "octetStringOrderingMatch",
        substrings: "octetStringSubstringsMatch",
        syntax: "40",
        values: &["a", "A", "ab", "abc", "", " a", "\u{1}00", "\u{1}0000", "\u{1}ff", "\u{1}61ff", "\u{1}6100", "b"],
    },
    Kind {
        name: "kOctetsBare",
        equality: "octetStringMatch",
        ordering: "",
        substrings: "",
        syntax: "40",
        values: &["a", "A", "", "\u{1}ff"],
    },
    Kind {
        name: "kTelephone",
        equality: "telephoneNumberMatch",
        ordering: "",
        substrings: "telephoneNumberSubstringsMatch",
        syntax: "50",
        values: &["+1 2", "+12", "+1-2", "1", "1-", "0", "+1 (2) 3", "+1(2)3", "-", " ", "", "*1", "#1", "+1/2"],
    },
    Kind {
        name: "kFax",
        equality: "",
        ordering: "",
        substrings: "",
        syntax: "22",
        values: &["+1", "+1$b4Width", "+1$b4width$a3Width", "+1$", "$b4Width", "+1$nosuch", ""],
    },
    Kind {
        name: "kFaxNumber",
        equality: "telephoneNumberMatch",
        ordering: "",
        substrings: "telephoneNumberSubstringsMatch",
        syntax: "50",
        values: &["+1", "+ 1", "+1$b4Width"],
    },
    Kind {
        name: "kPostal",
        equality: "caseIgnoreListMatch",
        ordering: "",
        substrings: "caseIgnoreListSubstringsMatch",
        syntax: "41",
        values: &[
            "a$b", "A$B", "a $ b", "a  c$b", "a c$b", "a$b$c", "a", "$", "a$", "$a", "a$$b", "a\\24b", "a\\5Cb",
            "a\\5cb", "a\\", "a\\zz", "\u{c9}$b", "\u{e9}$b",
        ],
    },
    Kind {
        name: "kCountry",
        equality: "caseIgnoreMatch",
        ordering: "",
        substrings: "caseIgnoreSubstringsMatch",
        syntax: "11",
        values: &["AT", "at", "A", "AUT", "", "\u{c9}", "@@"],
    },
    Kind {
        name: "kDelivery",
        equality: "",
        ordering: "",
        substrings: "",
        syntax: "14",
        values: &["any", "mhs $ any", "mhs$any", "any $", "$ any", "mhs  $  any", "pigeon", "", "any any"],
    },
    Kind {
        name: "kMailbox",
        equality: "",
        ordering: "",
        substrings: "",
        syntax: "39",
        values: &["x400$a b", "x400$", "$a", "x400", "a$b$c", "\u{e9}$a", ""],
    },
    Kind {
        name: "kTelex",
        equality: "",
        ordering: "",
        substrings: "",
        syntax: "52",
        values: &["1$at$x", "1$at", "1$at$", "1$at$x$y", "", "a b$c$d"],
    },
    Kind {
        name: "kUuid",
        equality: "UUIDMatch",
        ordering: "UUIDOrderingMatch",
        substrings: "",
        syntax: "1.3.6.1.1.16.1",
        values: &[
            "597ae2f6-16a6-1027-98f4-d28b5365dc14",
            "597AE2F6-16A6-1027-98F4-D28B5365DC14",
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
            "597ae2f616a6102798f4d28b5365dc14",
            "597ae2f6-16a6-1027-98f4-d28b5365dc1",
            "597ae2f6-16a6-1027-98f4-d28b5365dc14 ",
            "{597ae2f6-16a6-1027-98f4-d28b5365dc14}",
            "",
            "x",
        ],
    },
    Kind {
        name: "kTriple",
        equality: "",
        ordering: "",
        substrings: "",
        syntax: "1.3.6.1.1.1.0.0",
        values: &["(a,b,c)", "(,,)", "(-,-,-)", "(a,b)", "a,b,c", "(a,b,c,d)", ""],
    },
    Kind {
        name: "kBoot",
        equality: "",
        ordering: "",
        substrings: "",
        syntax: "1.3.6.1.1.1.0.1",
        values: &["root=fs:/x", "root=fs", "=fs:/x", "root=:/x", "root=fs:", ""],
    },
    Kind {
        name: "kJpeg",
        equality: "",
        ordering: "",
        substrings: "",
        syntax: "28",
        values: &["\u{1}ffd8ffe000104a464946", "\u{1}ffd8", "\u{1}ffd8ff", "plain", ""],
    },
    Kind {
        name: "kBinary",
        equality: "",
        ordering: "",
        substrings: "",
        syntax: "5",
        values: &["\u{1}0500", "\u{1}30030201", "x", ""],
    },
    Kind { name: "kAudio", equality: "", ordering: "", substrings: "", syntax: "4", values: &["\u{1}00ff", "x", ""] },
];

/// Their descriptions, as they stand in schema files.
pub fn schema() -> String {
    let mut text = String::new();
    for (n, kind) in KINDS.iter().enumerate() {
        text += &format!("attributetype ( 1.3.6.1.4.1.99999.8.{} NAME '{}'", n + 1, kind.name);
        for (word, rule) in [("EQUALITY", kind.equality), ("ORDERING", kind.ordering), ("SUBSTR", kind.substrings)] {
            if !rule.is_empty() {
                text += &format!(" {word} {rule}");
            }
        }
        let prefix = if kind.syntax.contains('.') { "" } else { PREFIX };
        text += &format!(" SYNTAX {prefix}{} )\n", kind.syntax);
    }
    text
}

impl Kind {
    /// Whether a value is one of its syntax.
    pub fn is_right(&self, value: &[u8]) -> bool {
        let prefix = if self.syntax.contains('.') { "" } else { PREFIX };
        Syntax::find(&format!("{prefix}{}", self.syntax)).is_none_or(|syntax| syntax.check(value).is_ok())
    }

    /// Whether slapd checks values: of some syntaxes it takes anything.
    pub fn is_checked(&self) -> bool {
        !["kFax", "kDelivery", "kMailbox", "kTelex", "kTriple", "kBoot"].contains(&self.name)
    }
}

/// The kind of this name, in any case.
pub fn find(name: &str) -> Option<&'static Kind> {
    KINDS.iter().chain(&FAMILY).find(|kind| kind.name.eq_ignore_ascii_case(name))
}
