//! Attribute types that are kinds of each other, and classes of all kinds: of the test's own.
//!
//! Owns: their descriptions, what they are called, and values of them.

use crate::kinds::Kind;

/// All of it as it stands in schema files.
pub const SCHEMA: &str = "\
attributetype ( 1.3.6.1.4.1.99999.9.1 NAME ( 'fTop' 'fHead' ) EQUALITY caseIgnoreMatch
	ORDERING caseIgnoreOrderingMatch SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.3.6.1.4.1.99999.9.2 NAME 'fMid' SUP fTop )
attributetype ( 1.3.6.1.4.1.99999.9.3 NAME 'fLeaf' SUP fMid SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.99999.9.4 NAME 'fExact' SUP fTop EQUALITY caseExactMatch
	ORDERING caseExactOrderingMatch SUBSTR caseExactSubstringsMatch )
attributetype ( 1.3.6.1.4.1.99999.9.5 NAME 'fOld' OBSOLETE EQUALITY caseIgnoreMatch
	SYNTAX 1.3.6.1.4.1.1466.115.121.1.15{4} )
attributetype ( 1.3.6.1.4.1.99999.9.7 EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.3.6.1.4.1.99999.9.8 NAME 'fSingle' EQUALITY integerMatch ORDERING integerOrderingMatch
	SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.3.6.1.4.1.99999.9.9 NAME 'fName' SUP distinguishedName )
objectclass ( 1.3.6.1.4.1.99999.9.20 NAME 'fBase' ABSTRACT SUP top MUST cn MAY fTop )
objectclass ( 1.3.6.1.4.1.99999.9.21 NAME ( 'fThing' 'fItem' ) SUP fBase STRUCTURAL MAY ( fSingle $ fName ) )
objectclass ( 1.3.6.1.4.1.99999.9.22 NAME 'fSpecial' SUP fThing STRUCTURAL MUST fLeaf MAY fExact )
objectclass ( 1.3.6.1.4.1.99999.9.23 NAME 'fOtherSpecial' SUP fThing STRUCTURAL MAY fMid )
objectclass ( 1.3.6.1.4.1.99999.9.24 NAME 'fAux' SUP top AUXILIARY MUST fSingle MAY ( fMid $ 1.3.6.1.4.1.99999.9.7 ) )
objectclass ( 1.3.6.1.4.1.99999.9.25 NAME 'fAuxBelow' SUP fAux AUXILIARY MAY fOld )
objectclass ( 1.3.6.1.4.1.99999.9.26 NAME 'fOldClass' OBSOLETE SUP top AUXILIARY MAY description )
objectclass ( 1.3.6.1.4.1.99999.9.27 NAME 'fOtherBase' ABSTRACT SUP top MAY description )
objectclass ( 1.3.6.1.4.1.99999.9.28 NAME 'fBoth' SUP ( fThing $ fOtherBase ) STRUCTURAL )
";

const WORDS: &[&str] = &["Red", "red", "blue", "two  words", "x", ""];

const fn kind(
    name: &'static str,
    equality: &'static str,
    syntax: &'static str,
    values: &'static [&'static str],
) -> Kind {
    Kind { name, equality, ordering: "", substrings: "", syntax, values }
}

pub static FAMILY: [Kind; 8] = [
    kind("fTop", "caseIgnoreMatch", "15", WORDS),
    kind("fMid", "caseIgnoreMatch", "15", WORDS),
    kind("fLeaf", "caseIgnoreMatch", "15", WORDS),
    kind("fExact", "caseExactMatch", "15", WORDS),
    kind("fOld", "caseIgnoreMatch", "15", &["abc", "abcde"]),
    kind("1.3.6.1.4.1.99999.9.7", "caseIgnoreMatch", "15", WORDS),
    kind("fSingle", "integerMatch", "27", &["1", "2", "10", "x"]),
    kind("fName", "distinguishedNameMatch", "12", &["cn=a", "CN=A", "x"]),
];

/// What some are called besides, and those that are none of them.
pub const OTHER_NAMES: [(&str, &str); 7] = [
    ("fTop", "fHead"),
    ("fTop", "1.3.6.1.4.1.99999.9.1"),
    ("fMid", "1.3.6.1.4.1.99999.9.2"),
    ("fLeaf", "FLEAF"),
    ("fSingle", "1.3.6.1.4.1.99999.9.8"),
    ("fName", "distinguishedName"),
    ("fOld", "1.3.6.1.4.1.99999.9.99"),
];

/// Values of objectClass.
pub const CLASSES: [&str; 18] = [
    "fThing",
    "fThing",
    "fItem",
    "fSpecial",
    "fSpecial",
    "fOtherSpecial",
    "fBoth",
    "fBase",
    "fOtherBase",
    "fAux",
    "fAux",
    "fAuxBelow",
    "fOldClass",
    "top",
    "extensibleObject",
    "FTHING",
    "1.3.6.1.4.1.99999.9.22",
    "person",
];

pub const SELECTIONS: [&[&str]; 12] = [
    &["*"],
    &["fTop"],
    &["fMid", "fSingle"],
    &["fHead"],
    &["@fThing"],
    &["@fSpecial", "@fAux"],
    &["*", "structuralObjectClass"],
    &["fTop;lang-de"],
    &["1.3.6.1.4.1.99999.9.7"],
    &["1.3.6.1.4.1.99999.9.1"],
    &["distinguishedName"],
    &["objectClass", "structuralObjectClass"],
];
