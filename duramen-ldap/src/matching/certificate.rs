//! Certificates and lists are equal if they have the same issuer, and the same serial number or time (RFC 4523
//! sections 3.1 and 3.5), pairs if both certificates are (section 3.3): normalized forms of these.

use std::borrow::Cow;

use super::names::Names;
use super::{integer, rule};
use crate::certificate::{
    AlgorithmAssertion, AttributeCertificate, AttributeCertificateAssertion, Certificate, CertificateAssertion,
    CertificateList, ListAssertion, Name, PairAssertion, SupportedAlgorithm,
};
use crate::dn::NamingRules;
use crate::error::TextError;
use crate::oid;

/// Appends the form of a certificate: serial number, dollar sign, issuer.
pub(super) fn certificate(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let certificate = Certificate::parse(value)?;
    identity(certificate.serial_number.as_bytes(), &issuer_text(&certificate.issuer), names, out)
}

/// Appends the form of the certificate that an assertion is about.
pub(super) fn certificate_assertion(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let asserted = CertificateAssertion::parse(value)?;
    identity(asserted.serial_number.as_bytes(), &asserted.issuer, names, out)
}

fn identity(number: &[u8], issuer: &str, names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    integer::decimal(number, out)?;
    out.push(b'$');
    rule::dn(issuer, &ForeignNames(names), out)
}

/// Appends the form of a pair: those of its certificates, each with a NUL behind it. One that is not there has none.
pub(super) fn pair(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let pair = Certificate::parse_pair(value)?;
    pair.iter().try_for_each(|one| {
        one.iter().try_for_each(|one| identity(one.serial_number.as_bytes(), &issuer_text(&one.issuer), names, out))?;
        out.push(0);
        Ok(())
    })
}

/// Appends the form of the pair that an assertion is about. What it does not say is missing in the form.
pub(super) fn pair_assertion(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let asserted = PairAssertion::parse(value)?;
    [asserted.issued_to, asserted.issued_by].iter().try_for_each(|one| {
        one.iter().try_for_each(|one| identity(one.serial_number.as_bytes(), &one.issuer, names, out))?;
        out.push(0);
        Ok(())
    })
}

/// Appends the form of an attribute certificate: serial number, issuer, and what its issuer's own certificate is told by,
/// with a NUL behind each.
pub(super) fn of_attributes(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let certificate = AttributeCertificate::parse(value)?;
    let issuer = certificate.issuer.as_ref().map(issuer_text);
    let base = certificate.base.as_ref().map(|(issuer, number)| (number.as_str(), issuer_text(issuer)));
    let base = base.as_ref().map(|(number, issuer)| (*number, issuer.as_str()));
    attributes_identity(&certificate.serial_number, issuer.as_deref(), base, names, out)
}

/// Appends the form of the attribute certificate that an assertion is about.
pub(super) fn attributes_assertion(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let asserted = AttributeCertificateAssertion::parse(value)?;
    let base = asserted.base.as_ref().map(|base| (&*base.serial_number, &*base.issuer));
    attributes_identity(&asserted.serial_number, asserted.issuer.as_deref(), base, names, out)
}

fn attributes_identity(
    number: &str,
    issuer: Option<&str>,
    base: Option<(&str, &str)>,
    names: &dyn Names,
    out: &mut Vec<u8>,
) -> Result<(), TextError> {
    integer::decimal(number.as_bytes(), out)?;
    out.push(0);
    issuer.map_or(Ok(()), |issuer| rule::dn(issuer, &ForeignNames(names), out))?;
    out.push(0);
    base.map_or(Ok(()), |(number, issuer)| identity(number.as_bytes(), issuer, names, out))
}

/// Appends the form of an algorithm: its number, a dollar sign, its parameters in DER.
pub(super) fn algorithm(value: &[u8], out: &mut Vec<u8>) -> Result<(), TextError> {
    let known = SupportedAlgorithm::parse(value)?;
    out.extend_from_slice(known.algorithm.as_bytes());
    out.push(b'$');
    out.extend_from_slice(known.parameters);
    Ok(())
}

/// Appends the form of the algorithm that an assertion is about.
pub(super) fn algorithm_assertion(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let asserted = AlgorithmAssertion::parse(value)?;
    rule::asserted_oid(asserted.algorithm.as_bytes(), names, out)?;
    out.push(b'$');
    out.extend_from_slice(&asserted.parameters);
    Ok(())
}

/// Appends the form of a list: time, dollar sign, issuer.
pub(super) fn list(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let list = CertificateList::parse(value)?;
    issue(&list.this_update, &issuer_text(&list.issuer), names, out)
}

/// Appends the form of the list that an assertion is about.
pub(super) fn list_assertion(value: &[u8], names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    let asserted = ListAssertion::parse(value)?;
    issue(&asserted.this_update, &asserted.issuer, names, out)
}

fn issue(time: &[u8], issuer: &str, names: &dyn Names, out: &mut Vec<u8>) -> Result<(), TextError> {
    crate::time::key(time, out)?;
    out.push(b'$');
    rule::dn(issuer, &ForeignNames(names), out)
}

fn issuer_text(issuer: &Name<'_>) -> String {
    let mut text = String::new();
    issuer.write(|oid| oid, &mut text);
    text
}

/// Names that others gave: attribute types in them may be unknown here, and values be none of their type. Such values
/// are equal if they are the same bytes.
struct ForeignNames<'n>(&'n dyn Names);

impl NamingRules for ForeignNames<'_> {
    fn normalize<'s>(
        &'s self,
        attribute: &'s str,
        value: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Cow<'s, str>, &'static str> {
        let start = out.len();
        let known = self.0.normalize(attribute, value, out);
        let number = if oid::is_numeric(attribute) { Some(attribute) } else { self.0.oid(attribute) };
        match (known, number) {
            (Err(_), Some(number)) => {
                out.truncate(start);
                out.extend_from_slice(value);
                Ok(Cow::Borrowed(number))
            }
            (known, _) => known,
        }
    }
}
