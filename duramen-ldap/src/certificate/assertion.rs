//! Assertions about certificates and lists as text (RFC 4523 appendix A): the part of GSER (RFC 3641) that they have.
//!
//! As others take them, fields may come in any order, and a choice's name may be missing.

use std::borrow::Cow;

use super::generalized;
use crate::error::TextError;
use crate::gser::Scanner;

/// `{ serialNumber 1, issuer rdnSequence:"cn=a" }` (RFC 4523 section 2.5), or `1$cn=a`, as it was before.
#[derive(Debug, PartialEq, Eq)]
pub struct CertificateAssertion<'a> {
    /// In decimal.
    pub serial_number: Cow<'a, str>,
    /// A name.
    pub issuer: Cow<'a, str>,
}

/// `{ issuer rdnSequence:"cn=a", thisUpdate utcTime:"260102030405Z" }` (RFC 4523 section 2.9), without a distribution
/// point.
#[derive(Debug, PartialEq, Eq)]
pub struct ListAssertion<'a> {
    /// A name.
    pub issuer: Cow<'a, str>,
    /// A generalized time.
    pub this_update: Vec<u8>,
}

/// `{ issuedToThisCAAssertion { ... }, issuedByThisCAAssertion { ... } }` (RFC 4523 section 2.7): what is asserted of
/// either certificate of a pair; of one at least.
#[derive(Debug, PartialEq, Eq)]
pub struct PairAssertion<'a> {
    /// Of the one that others issued.
    pub issued_to: Option<CertificateAssertion<'a>>,
    /// Of the one that others have.
    pub issued_by: Option<CertificateAssertion<'a>>,
}

/// `{ algorithm 1.2.3, parameters NULL }` (RFC 4523 section 2.11). Parameters are `NULL`, or their encoding: `'0500'H`.
#[derive(Debug, PartialEq, Eq)]
pub struct AlgorithmAssertion<'a> {
    /// A number, or a name.
    pub algorithm: &'a str,
    /// In DER; empty if there are none.
    pub parameters: Vec<u8>,
}

/// `{ serialNumber 1, issuer { issuerName { directoryName:rdnSequence:"cn=a" }, baseCertificateID { issuer {
/// directoryName:rdnSequence:"cn=b" }, serial 2 } } }`, of which either part of the issuer may be missing (X.509 clause
/// on attribute certificates; OpenLDAP has the second).
#[derive(Debug, PartialEq, Eq)]
pub struct AttributeCertificateAssertion<'a> {
    /// In decimal.
    pub serial_number: Cow<'a, str>,
    /// Who issued it: a name.
    pub issuer: Option<Cow<'a, str>>,
    /// The issuer's own certificate: who issued that, and its serial number.
    pub base: Option<CertificateAssertion<'a>>,
}

impl<'a> CertificateAssertion<'a> {
    /// Takes the text apart; whether the issuer is a name is for who takes that apart.
    pub fn parse(value: &'a [u8]) -> Result<CertificateAssertion<'a>, TextError> {
        let scanner = Scanner::new(value)?;
        if !scanner.is_at('{')
            && let Some(at) = value.iter().position(|&byte| byte == b'$')
        {
            let text = |part: &'a [u8]| String::from_utf8_lossy(part);
            crate::value::check_integer(&value[..at])?;
            return Ok(CertificateAssertion { serial_number: text(&value[..at]), issuer: text(&value[at + 1..]) });
        }
        whole(scanner, CertificateAssertion::read)
    }

    fn read(scanner: &mut Scanner<'a>) -> Result<CertificateAssertion<'a>, TextError> {
        let (mut serial_number, mut issuer) = (None, None);
        let end = scanner.fields(|scanner, name| match name {
            "serialNumber" => once(&mut serial_number, scanner, integer),
            "issuer" => once(&mut issuer, scanner, rdn_sequence),
            _ => Ok(false),
        })?;
        Ok(CertificateAssertion { serial_number: needed(serial_number, end)?, issuer: needed(issuer, end)? })
    }
}

impl<'a> ListAssertion<'a> {
    /// Takes the text apart; whether the issuer is a name is for who takes that apart.
    pub fn parse(value: &'a [u8]) -> Result<ListAssertion<'a>, TextError> {
        whole(Scanner::new(value)?, |scanner| {
            let (mut issuer, mut this_update) = (None, None);
            let end = scanner.fields(|scanner, name| match name {
                "issuer" => once(&mut issuer, scanner, rdn_sequence),
                "thisUpdate" => once(&mut this_update, scanner, time),
                _ => Ok(false),
            })?;
            Ok(ListAssertion { issuer: needed(issuer, end)?, this_update: needed(this_update, end)? })
        })
    }
}

impl<'a> PairAssertion<'a> {
    /// Takes the text apart; whether issuers are names is for who takes these apart.
    pub fn parse(value: &'a [u8]) -> Result<PairAssertion<'a>, TextError> {
        whole(Scanner::new(value)?, |scanner| {
            let mut pair = PairAssertion { issued_to: None, issued_by: None };
            let end = scanner.fields(|scanner, name| match name {
                "issuedToThisCAAssertion" => once(&mut pair.issued_to, scanner, CertificateAssertion::read),
                "issuedByThisCAAssertion" => once(&mut pair.issued_by, scanner, CertificateAssertion::read),
                _ => Ok(false),
            })?;
            if pair.issued_to.is_none() && pair.issued_by.is_none() {
                return Err(TextError::new(end, "what is asserted of a certificate of the pair"));
            }
            Ok(pair)
        })
    }
}

impl<'a> AlgorithmAssertion<'a> {
    /// Takes the text apart.
    pub fn parse(value: &'a [u8]) -> Result<AlgorithmAssertion<'a>, TextError> {
        whole(Scanner::new(value)?, |scanner| {
            let (mut algorithm, mut parameters) = (None, None);
            let end = scanner.fields(|scanner, name| match name {
                "algorithm" => once(&mut algorithm, scanner, oid),
                "parameters" => once(&mut parameters, scanner, encoded),
                _ => Ok(false),
            })?;
            Ok(AlgorithmAssertion { algorithm: needed(algorithm, end)?, parameters: parameters.unwrap_or_default() })
        })
    }
}

impl<'a> AttributeCertificateAssertion<'a> {
    /// Takes the text apart; whether issuers are names is for who takes these apart.
    pub fn parse(value: &'a [u8]) -> Result<AttributeCertificateAssertion<'a>, TextError> {
        whole(Scanner::new(value)?, |scanner| {
            let (mut serial_number, mut issuer) = (None, None);
            let end = scanner.fields(|scanner, name| match name {
                "serialNumber" => once(&mut serial_number, scanner, integer),
                "issuer" => once(&mut issuer, scanner, attribute_issuer),
                _ => Ok(false),
            })?;
            let (issuer, base) = needed(issuer, end)?;
            Ok(AttributeCertificateAssertion { serial_number: needed(serial_number, end)?, issuer, base })
        })
    }
}

/// The name of who issued an attribute certificate, and what is asserted of that issuer's own certificate.
type AttributeIssuer<'a> = (Option<Cow<'a, str>>, Option<CertificateAssertion<'a>>);

fn attribute_issuer<'a>(scanner: &mut Scanner<'a>) -> Result<AttributeIssuer<'a>, TextError> {
    let (mut issuer, mut base) = (None, None);
    let end = scanner.fields(|scanner, name| match name {
        "issuerName" => once(&mut issuer, scanner, directory_name),
        "baseCertificateID" => once(&mut base, scanner, issuer_serial),
        _ => Ok(false),
    })?;
    if issuer.is_none() && base.is_none() { Err(TextError::new(end, "who issued it")) } else { Ok((issuer, base)) }
}

fn issuer_serial<'a>(scanner: &mut Scanner<'a>) -> Result<CertificateAssertion<'a>, TextError> {
    let (mut issuer, mut serial_number) = (None, None);
    let end = scanner.fields(|scanner, name| match name {
        "issuer" => once(&mut issuer, scanner, directory_name),
        "serial" => once(&mut serial_number, scanner, integer),
        _ => Ok(false),
    })?;
    Ok(CertificateAssertion { serial_number: needed(serial_number, end)?, issuer: needed(issuer, end)? })
}

/// Reads all of a value.
fn whole<'a, T>(
    mut scanner: Scanner<'a>,
    read: impl FnOnce(&mut Scanner<'a>) -> Result<T, TextError>,
) -> Result<T, TextError> {
    let value = read(&mut scanner)?;
    scanner.finish()?;
    Ok(value)
}

/// Reads a field; false if it was read already.
fn once<'a, T>(
    slot: &mut Option<T>,
    scanner: &mut Scanner<'a>,
    read: impl FnOnce(&mut Scanner<'a>) -> Result<T, TextError>,
) -> Result<bool, TextError> {
    if slot.is_some() {
        return Ok(false);
    }
    *slot = Some(read(scanner)?);
    Ok(true)
}

/// A field, without which there is no assertion, which ends there.
fn needed<T>(field: Option<T>, end: usize) -> Result<T, TextError> {
    field.ok_or(TextError::new(end, "each of the assertion's fields"))
}

fn integer<'a>(scanner: &mut Scanner<'a>) -> Result<Cow<'a, str>, TextError> {
    let offset = scanner.offset();
    let number = scanner.value()?;
    crate::value::check_integer(number.as_bytes()).map_err(|error| error.after(offset))?;
    Ok(number)
}

fn rdn_sequence<'a>(scanner: &mut Scanner<'a>) -> Result<Cow<'a, str>, TextError> {
    scanner.choice(&["rdnSequence"])?;
    scanner.value()
}

/// The one name in braces: others than of entries in directories are not known.
fn directory_name<'a>(scanner: &mut Scanner<'a>) -> Result<Cow<'a, str>, TextError> {
    let mut name = None;
    let end = scanner.list(|scanner| {
        let offset = scanner.offset();
        scanner.choice(&["directoryName"])?;
        match once(&mut name, scanner, rdn_sequence)? {
            true => Ok(()),
            false => Err(TextError::new(offset, "one name")),
        }
    })?;
    needed(name, end)
}

fn time(scanner: &mut Scanner<'_>) -> Result<Vec<u8>, TextError> {
    let offset = scanner.offset();
    let choice = scanner.choice(&["utcTime", "generalizedTime"])?;
    let value = scanner.value()?;
    let time = if choice == Some("utcTime") { generalized(value.as_bytes()) } else { value.as_bytes().to_vec() };
    crate::time::key(&time, &mut Vec::new()).map_err(|_| TextError::new(offset, "a time"))?;
    Ok(time)
}

fn oid<'a>(scanner: &mut Scanner<'a>) -> Result<&'a str, TextError> {
    let offset = scanner.offset();
    let word = scanner.word()?;
    crate::oid::check(word).map_err(|error| error.after(offset))?;
    Ok(word)
}

/// `NULL`, or hex digits of an encoding.
fn encoded(scanner: &mut Scanner<'_>) -> Result<Vec<u8>, TextError> {
    scanner.choice(&["NULL"])?;
    let offset = scanner.offset();
    if !scanner.is_at('\'') {
        return match scanner.word()? {
            "NULL" => Ok(vec![crate::ber::tag::NULL, 0]),
            _ => Err(TextError::new(offset, "NULL, or an encoding in hex digits: '0500'H")),
        };
    }
    scanner.hex()
}
