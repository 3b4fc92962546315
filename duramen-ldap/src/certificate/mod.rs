//! X.509 certificates and revocation lists (RFC 5280), and what RFC 4523 asserts about them.
//!
//! Owns: taking their DER apart as far as names and matching need it, and the assertions' text (GSER). Must not know:
//! schema, keys; whether a signature is right or a certificate in force.
//!
//! Only what stands before the extensions is looked at, so a list of a million revocations is as quick as an empty one.

mod assertion;
mod name;
mod number;

use crate::ber::{Reader, tag};
use crate::error::DecodeError;

pub use assertion::{
    AlgorithmAssertion, AttributeCertificateAssertion, CertificateAssertion, ListAssertion, PairAssertion,
};
pub use name::Name;

const BIT_STRING: u8 = 0x03;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// A certificate.
#[derive(Debug)]
pub struct Certificate<'a> {
    /// In decimal; no two certificates of an issuer have the same.
    pub serial_number: String,
    /// Who issued it.
    pub issuer: Name<'a>,
    /// Whom it is about.
    pub subject: Name<'a>,
}

/// A list of revoked certificates.
#[derive(Debug)]
pub struct CertificateList<'a> {
    /// Who issued it.
    pub issuer: Name<'a>,
    /// When: a generalized time.
    pub this_update: Vec<u8>,
}

/// A certificate of attributes that somebody has (RFC 5755), as far as others are told from it.
#[derive(Debug)]
pub struct AttributeCertificate<'a> {
    /// In decimal.
    pub serial_number: String,
    /// Who issued it, if a name says so.
    pub issuer: Option<Name<'a>>,
    /// Who issued the issuer's own certificate, and that one's serial number.
    pub base: Option<(Name<'a>, String)>,
}

/// An algorithm that can be used with its parameters (RFC 4523 section 2.4).
#[derive(Debug)]
pub struct SupportedAlgorithm<'a> {
    /// Its number.
    pub algorithm: String,
    /// In DER; empty if there are none.
    pub parameters: &'a [u8],
}

impl<'a> Certificate<'a> {
    /// Takes a certificate in DER apart (RFC 5280 section 4.1).
    pub fn parse(der: &'a [u8]) -> Result<Certificate<'a>, DecodeError> {
        let mut signed = signed(der)?;
        if let Some(mut version) = signed.optional(tag::context_constructed(0))? {
            version.unsigned(tag::INTEGER, "a version")?;
        }
        let serial_number = number::decimal(signed.element(tag::INTEGER, "a serial number")?)?;
        signed.sequence("the algorithm of the signature")?;
        let issuer = Name::read(&mut signed)?;
        signed.sequence("when it is in force")?;
        let subject = Name::read(&mut signed)?;
        signed.sequence("a public key")?;
        signed.ignore_rest()?;
        Ok(Certificate { serial_number, issuer, subject })
    }

    /// Takes a pair of certificates apart, of which one may be missing (RFC 4523 section 2.3).
    pub fn parse_pair(der: &'a [u8]) -> Result<[Option<Certificate<'a>>; 2], DecodeError> {
        let mut whole = Reader::new(der);
        let mut pair = whole.sequence("a SEQUENCE in DER")?;
        whole.finish("the end of the pair")?;
        let mut one = |number| match pair.optional(tag::context_constructed(number))? {
            Some(inner) => Certificate::parse(inner.rest()).map(Some).map_err(|error| error.after(inner.offset())),
            None => Ok(None),
        };
        let both = [one(0)?, one(1)?];
        pair.finish("the end of the pair")?;
        Ok(both)
    }
}

impl<'a> CertificateList<'a> {
    /// Takes a list in DER apart (RFC 5280 section 5.1).
    pub fn parse(der: &'a [u8]) -> Result<CertificateList<'a>, DecodeError> {
        let mut signed = signed(der)?;
        if signed.peek() == Some(tag::INTEGER) {
            signed.unsigned(tag::INTEGER, "a version")?;
        }
        signed.sequence("the algorithm of the signature")?;
        let issuer = Name::read(&mut signed)?;
        let (kind, time) = signed.any("when it was issued")?;
        let this_update = match kind {
            UTC_TIME => generalized(time.rest()),
            GENERALIZED_TIME => time.rest().to_vec(),
            _ => return time.fail("a time"),
        };
        if crate::time::key(&this_update, &mut Vec::new()).is_err() {
            return time.fail("a time");
        }
        signed.ignore_rest()?;
        Ok(CertificateList { issuer, this_update })
    }
}

impl<'a> AttributeCertificate<'a> {
    /// Takes an attribute certificate in DER apart (RFC 5755 section 4.1). Its issuer is a name, or has a certificate.
    pub fn parse(der: &'a [u8]) -> Result<AttributeCertificate<'a>, DecodeError> {
        let mut signed = signed(der)?;
        signed.unsigned(tag::INTEGER, "a version")?;
        signed.sequence("who has the attributes")?;
        let mut by = signed.element(tag::context_constructed(0), "an issuer")?;
        let issuer = if by.peek() == Some(tag::SEQUENCE) { Some(directory_name(&mut by)?) } else { None };
        let base = by.optional(tag::context_constructed(0))?.map(issuer_serial).transpose()?;
        if issuer.is_none() && base.is_none() {
            return by.fail("an issuer's name or certificate");
        }
        by.ignore_rest()?;
        signed.sequence("the algorithm of the signature")?;
        let serial_number = number::decimal(signed.element(tag::INTEGER, "a serial number")?)?;
        signed.sequence("when it is in force")?;
        signed.sequence("attributes")?;
        signed.ignore_rest()?;
        Ok(AttributeCertificate { serial_number, issuer, base })
    }
}

impl<'a> SupportedAlgorithm<'a> {
    /// Takes a supported algorithm in DER apart. What it is meant for is not looked at.
    pub fn parse(der: &'a [u8]) -> Result<SupportedAlgorithm<'a>, DecodeError> {
        let mut whole = Reader::new(der);
        let mut parts = whole.sequence("a SEQUENCE in DER")?;
        whole.finish("the end of the value")?;
        let mut identifier = parts.sequence("an algorithm")?;
        let algorithm = name::dotted(identifier.element(OID, "an algorithm's number")?)?;
        let parameters = identifier.rest();
        if !identifier.is_empty() {
            identifier.any("parameters")?;
        }
        identifier.finish("the end of the parameters")?;
        parts.ignore_rest()?;
        Ok(SupportedAlgorithm { algorithm, parameters })
    }
}

/// The name of an entry among general names (RFC 5280 section 4.2.1.6), which has to be the only one.
fn directory_name<'a>(reader: &mut Reader<'a>) -> Result<Name<'a>, DecodeError> {
    let mut names = reader.sequence("names")?;
    let name = Name::read(&mut names.element(tag::context_constructed(4), "the name of an entry")?)?;
    names.finish("no more than one name")?;
    Ok(name)
}

fn issuer_serial(mut reader: Reader<'_>) -> Result<(Name<'_>, String), DecodeError> {
    let issuer = directory_name(&mut reader)?;
    let serial_number = number::decimal(reader.element(tag::INTEGER, "a serial number")?)?;
    reader.ignore_rest()?;
    Ok((issuer, serial_number))
}

/// What is signed in a certificate or list, behind which stand an algorithm and the signature.
fn signed(der: &[u8]) -> Result<Reader<'_>, DecodeError> {
    let mut whole = Reader::new(der);
    let mut parts = whole.sequence("a SEQUENCE in DER")?;
    whole.finish("the end of the value")?;
    let signed = parts.sequence("what is signed")?;
    parts.sequence("the algorithm of the signature")?;
    parts.element(BIT_STRING, "a signature")?;
    parts.finish("the end of what has a signature")?;
    Ok(signed)
}

/// A time with two digits of its year as one with four (RFC 5280 section 4.1.2.5.1).
fn generalized(utc: &[u8]) -> Vec<u8> {
    let century: &[u8] = if utc.first() >= Some(&b'5') { b"19" } else { b"20" };
    [century, utc].concat()
}

#[cfg(test)]
pub(crate) mod tests;
