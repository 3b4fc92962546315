//! Certificates and lists are equal if they have the same issuer, and the same serial number or time (RFC 4523
//! sections 3.1 and 3.5): normalized forms of these.

use std::borrow::Cow;

use super::names::Names;
use super::{integer, rule};
use crate::certificate::{Certificate, CertificateAssertion, CertificateList, ListAssertion, Name};
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
    crate::syntax::time_key(time, out)?;
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
