//! The matching rules that are known, and how each normalizes values.

use super::names::Names;
use super::prepare::{Case, prepare, prepare_numeric, prepare_plain, prepare_telephone};
use super::{address, authz, certificate, csn, integer};
use crate::dn::{Dn, NamingRules};
use crate::error::TextError;
use crate::syntax::Syntax;
use crate::value::text;

/// A matching rule.
#[derive(Debug)]
pub struct Rule {
    /// Its number.
    pub oid: &'static str,
    /// Its name.
    pub name: &'static str,
    /// What it decides.
    pub kind: RuleKind,
    /// The syntax of what is asserted: an OID.
    pub syntax: &'static str,
    pub(super) form: Form,
}

/// What a rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleKind {
    /// Whether values are equal: their normalized forms are the same bytes.
    Equality,
    /// Which value is less: its normalized form is, byte by byte.
    Ordering,
    /// Whether pieces stand in a value: see [`super::SubstringsAssertion`].
    Substrings,
    /// Whether all bits that the assertion has are set in the value.
    BitAnd,
    /// Whether one of the bits that the assertion has is set in the value.
    BitOr,
    /// Whether the value is the name that is asserted, or below it: see [`Rule::relates`], as of all rules of names.
    Subtree,
    /// Whether the value is a name directly below the asserted one.
    OneLevel,
    /// Whether the value is a name below the asserted one.
    Subordinate,
    /// Whether the value is a name above the asserted one.
    Superior,
}

/// How values are normalized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text(Case),
    Ia5(Case),
    List(Case),
    Numeric,
    Telephone,
    Octets,
    BitString,
    Boolean,
    Integer,
    Time,
    Uuid,
    Oid,
    Dn,
    NameAndUid,
    FirstOid,
    FirstInteger,
    Certificate,
    CertificateList,
    CertificatePair,
    AttributeCertificate,
    Algorithm,
    Rdn,
    PresentationAddress,
    Authz,
    Csn,
}

const BITS: &str = "1.3.6.1.4.1.1466.115.121.1.6";
const BOOLEAN: &str = "1.3.6.1.4.1.1466.115.121.1.7";
const DN: &str = "1.3.6.1.4.1.1466.115.121.1.12";
const TEXT: &str = "1.3.6.1.4.1.1466.115.121.1.15";
const TIME: &str = "1.3.6.1.4.1.1466.115.121.1.24";
const IA5: &str = "1.3.6.1.4.1.1466.115.121.1.26";
const INTEGER: &str = "1.3.6.1.4.1.1466.115.121.1.27";
const NAME_AND_UID: &str = "1.3.6.1.4.1.1466.115.121.1.34";
const NUMERIC: &str = "1.3.6.1.4.1.1466.115.121.1.36";
const OID: &str = "1.3.6.1.4.1.1466.115.121.1.38";
const OCTETS: &str = "1.3.6.1.4.1.1466.115.121.1.40";
const POSTAL: &str = "1.3.6.1.4.1.1466.115.121.1.41";
const TELEPHONE: &str = "1.3.6.1.4.1.1466.115.121.1.50";
const PIECES: &str = "1.3.6.1.4.1.1466.115.121.1.58";
const UUID: &str = "1.3.6.1.1.16.1";
const CERTIFICATE: &str = "1.3.6.1.1.15.1";
const CERTIFICATE_LIST: &str = "1.3.6.1.1.15.5";
const CERTIFICATE_PAIR: &str = "1.3.6.1.1.15.3";
const ALGORITHM: &str = "1.3.6.1.1.15.7";
const ATTRIBUTE_CERTIFICATE: &str = "1.3.6.1.4.1.4203.666.11.10.2.2";
const RDN: &str = "1.2.36.79672281.1.5.0";
const PROTOCOL: &str = "1.3.6.1.4.1.1466.115.121.1.42";
const PRESENTATION: &str = "1.3.6.1.4.1.1466.115.121.1.43";
const AUTHZ: &str = "1.3.6.1.4.1.4203.666.2.7";
const CSN: &str = "1.3.6.1.4.1.4203.666.11.2.1";

/// Syntaxes of values that rules with a syntax of assertions compare.
const COUNTRY: &str = "1.3.6.1.4.1.1466.115.121.1.11";
const PRINTABLE: &str = "1.3.6.1.4.1.1466.115.121.1.44";
const STRUCTURE_RULE: &str = "1.3.6.1.4.1.1466.115.121.1.17";
const X509: &str = "1.3.6.1.4.1.1466.115.121.1.8";
const X509_LIST: &str = "1.3.6.1.4.1.1466.115.121.1.9";
const X509_PAIR: &str = "1.3.6.1.4.1.1466.115.121.1.10";
const X509_ALGORITHM: &str = "1.3.6.1.4.1.1466.115.121.1.49";
const X509_ATTRIBUTES: &str = "1.3.6.1.4.1.4203.666.11.10.2.1";
/// Syntaxes of descriptions that begin with an OID.
const DESCRIPTIONS: [&str; 7] = [
    "1.3.6.1.4.1.1466.115.121.1.3",
    "1.3.6.1.4.1.1466.115.121.1.16",
    "1.3.6.1.4.1.1466.115.121.1.30",
    "1.3.6.1.4.1.1466.115.121.1.31",
    "1.3.6.1.4.1.1466.115.121.1.35",
    "1.3.6.1.4.1.1466.115.121.1.37",
    "1.3.6.1.4.1.1466.115.121.1.54",
];

const fn rule(oid: &'static str, name: &'static str, kind: RuleKind, form: Form, syntax: &'static str) -> Rule {
    Rule { oid, name, kind, syntax, form }
}

use Case::{Exact, Ignore};
use RuleKind::{BitAnd, BitOr, Equality, OneLevel, Ordering, Subordinate, Substrings, Subtree, Superior};

/// All rules that are known, in the order of their numbers.
pub static RULES: [Rule; 50] = [
    rule("1.2.36.79672281.1.13.3", "rdnMatch", Equality, Form::Rdn, RDN),
    rule("1.2.840.113556.1.4.803", "integerBitAndMatch", BitAnd, Form::Integer, INTEGER),
    rule("1.2.840.113556.1.4.804", "integerBitOrMatch", BitOr, Form::Integer, INTEGER),
    rule("1.3.6.1.1.16.2", "UUIDMatch", Equality, Form::Uuid, UUID),
    rule("1.3.6.1.1.16.3", "UUIDOrderingMatch", Ordering, Form::Uuid, UUID),
    rule("1.3.6.1.4.1.1466.109.114.1", "caseExactIA5Match", Equality, Form::Ia5(Exact), IA5),
    rule("1.3.6.1.4.1.1466.109.114.2", "caseIgnoreIA5Match", Equality, Form::Ia5(Ignore), IA5),
    rule("1.3.6.1.4.1.1466.109.114.3", "caseIgnoreIA5SubstringsMatch", Substrings, Form::Ia5(Ignore), PIECES),
    rule("1.3.6.1.4.1.4203.1.2.1", "caseExactIA5SubstringsMatch", Substrings, Form::Ia5(Exact), PIECES),
    rule("1.3.6.1.4.1.4203.666.4.8", "dnOneLevelMatch", OneLevel, Form::Dn, DN),
    rule("1.3.6.1.4.1.4203.666.4.9", "dnSubtreeMatch", Subtree, Form::Dn, DN),
    rule("1.3.6.1.4.1.4203.666.4.10", "dnSubordinateMatch", Subordinate, Form::Dn, DN),
    rule("1.3.6.1.4.1.4203.666.4.11", "dnSuperiorMatch", Superior, Form::Dn, DN),
    rule("1.3.6.1.4.1.4203.666.4.12", "authzMatch", Equality, Form::Authz, AUTHZ),
    rule("1.3.6.1.4.1.4203.666.11.2.2", "CSNMatch", Equality, Form::Csn, CSN),
    rule("1.3.6.1.4.1.4203.666.11.2.3", "CSNOrderingMatch", Ordering, Form::Csn, CSN),
    rule("2.5.13.0", "objectIdentifierMatch", Equality, Form::Oid, OID),
    rule("2.5.13.1", "distinguishedNameMatch", Equality, Form::Dn, DN),
    rule("2.5.13.2", "caseIgnoreMatch", Equality, Form::Text(Ignore), TEXT),
    rule("2.5.13.3", "caseIgnoreOrderingMatch", Ordering, Form::Text(Ignore), TEXT),
    rule("2.5.13.4", "caseIgnoreSubstringsMatch", Substrings, Form::Text(Ignore), PIECES),
    rule("2.5.13.5", "caseExactMatch", Equality, Form::Text(Exact), TEXT),
    rule("2.5.13.6", "caseExactOrderingMatch", Ordering, Form::Text(Exact), TEXT),
    rule("2.5.13.7", "caseExactSubstringsMatch", Substrings, Form::Text(Exact), PIECES),
    rule("2.5.13.8", "numericStringMatch", Equality, Form::Numeric, NUMERIC),
    rule("2.5.13.9", "numericStringOrderingMatch", Ordering, Form::Numeric, NUMERIC),
    rule("2.5.13.10", "numericStringSubstringsMatch", Substrings, Form::Numeric, PIECES),
    rule("2.5.13.11", "caseIgnoreListMatch", Equality, Form::List(Ignore), POSTAL),
    rule("2.5.13.12", "caseIgnoreListSubstringsMatch", Substrings, Form::List(Ignore), PIECES),
    rule("2.5.13.13", "booleanMatch", Equality, Form::Boolean, BOOLEAN),
    rule("2.5.13.14", "integerMatch", Equality, Form::Integer, INTEGER),
    rule("2.5.13.15", "integerOrderingMatch", Ordering, Form::Integer, INTEGER),
    rule("2.5.13.16", "bitStringMatch", Equality, Form::BitString, BITS),
    rule("2.5.13.17", "octetStringMatch", Equality, Form::Octets, OCTETS),
    rule("2.5.13.18", "octetStringOrderingMatch", Ordering, Form::Octets, OCTETS),
    rule("2.5.13.19", "octetStringSubstringsMatch", Substrings, Form::Octets, OCTETS),
    rule("2.5.13.20", "telephoneNumberMatch", Equality, Form::Telephone, TELEPHONE),
    rule("2.5.13.21", "telephoneNumberSubstringsMatch", Substrings, Form::Telephone, PIECES),
    rule("2.5.13.22", "presentationAddressMatch", Equality, Form::PresentationAddress, PRESENTATION),
    rule("2.5.13.23", "uniqueMemberMatch", Equality, Form::NameAndUid, NAME_AND_UID),
    rule("2.5.13.24", "protocolInformationMatch", Equality, Form::Text(Ignore), PROTOCOL),
    rule("2.5.13.27", "generalizedTimeMatch", Equality, Form::Time, TIME),
    rule("2.5.13.28", "generalizedTimeOrderingMatch", Ordering, Form::Time, TIME),
    rule("2.5.13.29", "integerFirstComponentMatch", Equality, Form::FirstInteger, INTEGER),
    rule("2.5.13.30", "objectIdentifierFirstComponentMatch", Equality, Form::FirstOid, OID),
    rule("2.5.13.34", "certificateExactMatch", Equality, Form::Certificate, CERTIFICATE),
    rule("2.5.13.36", "certificatePairExactMatch", Equality, Form::CertificatePair, CERTIFICATE_PAIR),
    rule("2.5.13.38", "certificateListExactMatch", Equality, Form::CertificateList, CERTIFICATE_LIST),
    rule("2.5.13.40", "algorithmIdentifierMatch", Equality, Form::Algorithm, ALGORITHM),
    rule("2.5.13.45", "attributeCertificateExactMatch", Equality, Form::AttributeCertificate, ATTRIBUTE_CERTIFICATE),
];

impl Rule {
    /// The rule of this name, in any case, or number.
    pub fn find(word: &str) -> Option<&'static Rule> {
        RULES.iter().find(|rule| rule.name.eq_ignore_ascii_case(word) || rule.oid == word)
    }

    /// Whether values have names in them which the schema has to know: of those with others there is no normalized form.
    pub fn asks_about_names(&self) -> bool {
        matches!(self.form, Form::Dn | Form::Rdn | Form::NameAndUid | Form::Authz)
    }

    /// Whether attributes of a syntax can have the rule: its values are such as it compares. Rules about substrings take
    /// any text, as slapd's do: files in use have them with syntaxes close to their own.
    pub fn applies_to(&self, syntax: &Syntax) -> bool {
        let others: &[&str] = match self.form {
            _ if self.kind == Substrings => return true,
            // RFC 4517 section 4.2: the string types that X.520's DirectoryString has, and those that begin with what the
            // rule compares.
            Form::Text(_) if self.syntax == TEXT => &[COUNTRY, PRINTABLE, TELEPHONE],
            Form::FirstOid => &DESCRIPTIONS,
            Form::FirstInteger => &[STRUCTURE_RULE],
            Form::Certificate => &[X509],
            Form::CertificateList => &[X509_LIST],
            Form::CertificatePair => &[X509_PAIR],
            Form::Algorithm => &[X509_ALGORITHM],
            Form::AttributeCertificate => &[X509_ATTRIBUTES],
            _ => &[],
        };
        self.syntax == syntax.oid || others.contains(&syntax.oid)
    }

    /// Appends the normalized form of an attribute's value. Values are equal under the rule if and only if their
    /// forms are; under an ordering rule, or the equality rule that belongs to one, forms sort as values do.
    pub fn normalize(&self, value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
        match self.form {
            // Most values are such, and a filter is held against very many.
            Form::Text(case) | Form::Ia5(case) if prepare_plain(value, case, out) => Ok(()),
            Form::Integer => integer::key(value, out),
            Form::Oid => oid(value, names, out),
            Form::FirstOid => oid(first_component(value)?, names, out),
            Form::FirstInteger => integer::key(first_component(value)?, out),
            Form::Certificate => certificate::certificate(value, names, out),
            Form::CertificateList => certificate::list(value, names, out),
            Form::CertificatePair => certificate::pair(value, names, out),
            Form::AttributeCertificate => certificate::of_attributes(value, names, out),
            Form::Algorithm => certificate::algorithm(value, out),
            Form::Csn => self.normalize_piece(value, out),
            _ => self.normalize_assertion(value, names, out),
        }
    }

    /// Whether normalized forms under another rule are those under this one.
    pub fn normalizes_as(&self, other: &Rule) -> bool {
        self.form == other.form
    }

    /// As [`Rule::normalize`], of a value in a name: normalized names are shown to people, so numbers are in decimal.
    pub fn normalize_in_name(&self, value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
        match self.form {
            Form::Integer => integer::decimal(value, out),
            _ => self.normalize(value, names, out),
        }
    }

    /// Appends the normalized form of what a filter or compare asserts.
    pub fn normalize_assertion(&self, value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
        match self.form {
            Form::Oid | Form::FirstOid => asserted_oid(value, names, out)?,
            Form::Dn | Form::Rdn => dn(text(value)?, names, out)?,
            Form::NameAndUid => name_and_uid(text(value)?, names, out)?,
            Form::FirstInteger => integer::key(value, out)?,
            Form::Certificate => certificate::certificate_assertion(value, names, out)?,
            Form::CertificateList => certificate::list_assertion(value, names, out)?,
            Form::CertificatePair => certificate::pair_assertion(value, names, out)?,
            Form::AttributeCertificate => certificate::attributes_assertion(value, names, out)?,
            Form::Algorithm => certificate::algorithm_assertion(value, names, out)?,
            Form::Authz => authz::normalize(value, names, out)?,
            Form::Csn => csn::assertion(value, out)?,
            _ => self.normalize_piece(value, out)?,
        }
        Ok(())
    }

    /// Refuses a piece that stands in no value which the rule is for.
    pub(super) fn check_piece(&self, piece: &[u8]) -> Result<(), TextError> {
        let syntax = match self.form {
            Form::Numeric => NUMERIC,
            Form::Telephone => TELEPHONE,
            _ => return Ok(()),
        };
        crate::syntax::Syntax::find(syntax).map_or(Ok(()), |syntax| syntax.check(piece))
    }

    /// As [`Rule::normalize`], of forms that need not ask about names.
    pub(super) fn normalize_piece(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
        match self.form {
            Form::Text(case) | Form::Ia5(case) if prepare_plain(value, case, out) => {}
            Form::Text(case) => prepare(text(value)?, case, out),
            Form::Ia5(case) => prepare(ascii(value)?, case, out),
            Form::List(case) => list(text(value)?, case, out),
            Form::Numeric => prepare_numeric(text(value)?, out),
            Form::Telephone => prepare_telephone(text(value)?, out),
            Form::Boolean => {
                crate::syntax::check_boolean(value)?;
                out.extend_from_slice(value);
            }
            Form::BitString => {
                crate::syntax::check_bit_string(value)?;
                out.extend_from_slice(value);
            }
            Form::Integer => integer::key(value, out)?,
            Form::Time => crate::time::key(value, out)?,
            Form::PresentationAddress => address::presentation(value, out)?,
            Form::Uuid => out.extend_from_slice(&crate::syntax::parse_uuid(value)?),
            _ => out.extend_from_slice(value),
        }
        Ok(())
    }

    /// Whether a value has bits of an assertion, under [`RuleKind::BitAnd`] and [`RuleKind::BitOr`]. `None` of other
    /// rules, and of what is no integer of 64 bits.
    pub fn bits_match(&self, value: &[u8], assertion: &[u8]) -> Option<bool> {
        let number = |bytes| std::str::from_utf8(bytes).ok()?.parse::<i64>().ok();
        let (value, mask) = (number(value)?, number(assertion)?);
        match self.kind {
            BitAnd => Some(value & mask == mask),
            BitOr => Some(value & mask != 0),
            _ => None,
        }
    }
}

pub(super) fn ascii(value: &[u8]) -> Result<&str, TextError> {
    match value.iter().position(|byte| !byte.is_ascii()) {
        Some(at) => Err(TextError::new(at, "a character of ASCII")),
        None => text(value),
    }
}

/// Lines between dollar signs, each prepared by itself.
pub(super) fn list(value: &str, case: Case, out: &mut Vec<u8>) {
    for (n, line) in value.split('$').enumerate() {
        if n > 0 {
            out.push(b'$');
        }
        prepare(line, case, out);
    }
}

pub(super) fn dn(value: &str, names: &dyn NamingRules, out: &mut Vec<u8>) -> Result<(), TextError> {
    let mut normalized = String::with_capacity(value.len());
    Dn::parse(value)?.normalize(names, &mut normalized)?;
    out.extend_from_slice(normalized.as_bytes());
    Ok(())
}

/// A name, and `#` and a bit string or nothing (RFC 4517 section 3.3.21).
fn name_and_uid(value: &str, names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let (name, uid) = crate::syntax::split_uid(value);
    let mut normalized = Vec::with_capacity(value.len());
    dn(name, names, &mut normalized)?;
    let normalized = String::from_utf8(normalized).expect("normalized names are text");
    out.extend_from_slice(crate::syntax::join_uid(normalized, uid).as_bytes());
    Ok(())
}

/// A number, or a name: the number of what the name means, or the name in lower case.
fn oid(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    crate::syntax::check_oid(value)?;
    let word = text(value)?.trim_matches(' ');
    match names.oid(word) {
        Some(oid) => out.extend_from_slice(oid.as_bytes()),
        None => out.extend_from_slice(word.to_ascii_lowercase().as_bytes()),
    }
    Ok(())
}

/// As [`oid`], of what is asserted: of a name that nobody knows it is not known what it is equal to (RFC 4517 section
/// 4.2.26).
pub(super) fn asserted_oid(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let word = text(value)?.trim_matches(' ');
    if !crate::oid::is_numeric(word) && names.oid(word).is_none() {
        return Err(TextError::new(0, "a number, or a name that the schema has"));
    }
    oid(value, names, out)
}

/// The number that a description begins with.
fn first_component(value: &[u8]) -> Result<&[u8], TextError> {
    let inner = value.trim_ascii_start().strip_prefix(b"(").ok_or(TextError::new(0, "'('"))?.trim_ascii_start();
    let end = inner.iter().position(|&byte| byte == b' ' || byte == b')').unwrap_or(inner.len());
    Ok(&inner[..end])
}
