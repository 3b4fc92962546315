//! Checks of bytes and characters.

use crate::ber::{Reader, tag};
use crate::certificate::{
    AlgorithmAssertion, AttributeCertificate, AttributeCertificateAssertion, Certificate, CertificateAssertion,
    CertificateList, ListAssertion, PairAssertion, SupportedAlgorithm,
};
use crate::error::TextError;
use crate::value::text;

fn fail<T>(offset: usize, expected: &'static str) -> Result<T, TextError> {
    Err(TextError::new(offset, expected))
}

/// That every byte is one of some, and that there is one at least.
pub(super) fn all(value: &[u8], is_one: impl Fn(u8) -> bool, expected: &'static str) -> Result<(), TextError> {
    match value.iter().position(|&byte| !is_one(byte)) {
        Some(at) => fail(at, expected),
        None if value.is_empty() => fail(0, expected),
        None => Ok(()),
    }
}

pub(super) fn anything(_: &[u8]) -> Result<(), TextError> {
    Ok(())
}

/// RFC 5208 section 5, RFC 5958 section 2: a version, an algorithm, a key.
pub(super) fn private_key(value: &[u8]) -> Result<(), TextError> {
    let mut whole = Reader::new(value);
    let mut key = whole.sequence("a SEQUENCE in DER")?;
    whole.finish("the end of the value")?;
    key.unsigned(tag::INTEGER, "a version")?;
    key.sequence("an algorithm")?;
    key.element(tag::OCTETS, "a key")?;
    Ok(key.ignore_rest()?)
}

/// RFC 4523 section 2.4.
pub(super) fn supported_algorithm(value: &[u8]) -> Result<(), TextError> {
    Ok(SupportedAlgorithm::parse(value).map(drop)?)
}

/// RFC 5755 section 4.1.
pub(super) fn attribute_certificate(value: &[u8]) -> Result<(), TextError> {
    Ok(AttributeCertificate::parse(value).map(drop)?)
}

pub(super) fn attribute_assertion(value: &[u8]) -> Result<(), TextError> {
    AttributeCertificateAssertion::parse(value).map(drop)
}

/// RFC 4523 section 2.7.
pub(super) fn pair_assertion(value: &[u8]) -> Result<(), TextError> {
    PairAssertion::parse(value).map(drop)
}

/// RFC 4523 section 2.11.
pub(super) fn algorithm_assertion(value: &[u8]) -> Result<(), TextError> {
    AlgorithmAssertion::parse(value).map(drop)
}

/// RFC 4523 section 2.1.
pub(super) fn certificate(value: &[u8]) -> Result<(), TextError> {
    Ok(Certificate::parse(value).map(drop)?)
}

/// RFC 4523 section 2.2.
pub(super) fn certificate_list(value: &[u8]) -> Result<(), TextError> {
    Ok(CertificateList::parse(value).map(drop)?)
}

/// RFC 4523 section 2.3.
pub(super) fn certificate_pair(value: &[u8]) -> Result<(), TextError> {
    Ok(Certificate::parse_pair(value).map(drop)?)
}

/// RFC 4523 section 2.5.
pub(super) fn certificate_assertion(value: &[u8]) -> Result<(), TextError> {
    CertificateAssertion::parse(value).map(drop)
}

/// RFC 4523 section 2.9.
pub(super) fn list_assertion(value: &[u8]) -> Result<(), TextError> {
    ListAssertion::parse(value).map(drop)
}

/// RFC 4517 section 3.3.6: one character at least.
pub(super) fn directory_string(value: &[u8]) -> Result<(), TextError> {
    if value.is_empty() { fail(0, "a character at least") } else { text(value).map(drop) }
}

/// RFC 4517 section 3.3.15: may be empty.
pub(super) fn ia5_string(value: &[u8]) -> Result<(), TextError> {
    match value.iter().position(|byte| !byte.is_ascii()) {
        Some(at) => fail(at, "a character of ASCII"),
        None => Ok(()),
    }
}

/// RFC 4517 section 3.2.
pub(super) fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"'()+,-.=/:? ".contains(&byte)
}

/// RFC 4517 section 3.3.29.
pub(super) fn printable_string(value: &[u8]) -> Result<(), TextError> {
    all(value, is_printable, "a letter, a digit, a space or one of '()+,-.=/:?")
}

/// RFC 4517 section 3.3.4.
pub(super) fn country(value: &[u8]) -> Result<(), TextError> {
    if value.len() == 2 { printable_string(value) } else { fail(0, "two letters, as ISO 3166 has them") }
}

/// RFC 4517 section 3.3.23.
pub(super) fn numeric_string(value: &[u8]) -> Result<(), TextError> {
    all(value, |byte| byte.is_ascii_digit() || byte == b' ', "a digit or a space")
}

/// RFC 4517 section 3.3.3. In capitals only, as all write them: who reads them compares text, and other servers refuse the
/// rest.
pub(crate) fn check_boolean(value: &[u8]) -> Result<(), TextError> {
    if matches!(value, b"TRUE" | b"FALSE") { Ok(()) } else { fail(0, "TRUE or FALSE") }
}

/// RFC 4517 section 3.3.2. The `B` is a capital, as with [`check_boolean`].
pub(crate) fn check_bit_string(value: &[u8]) -> Result<(), TextError> {
    let bits = value.strip_prefix(b"'").and_then(|rest| rest.strip_suffix(b"'B"));
    match bits {
        Some(bits) if bits.iter().all(|bit| matches!(bit, b'0' | b'1')) => Ok(()),
        _ => fail(0, "bits within quotes, and B: '0101'B"),
    }
}

/// RFC 4517 section 3.3.26; spaces around it are taken.
pub(crate) fn check_oid(value: &[u8]) -> Result<(), TextError> {
    let offset = value.len() - value.trim_ascii_start().len();
    crate::oid::check(text(value)?.trim_ascii()).map_err(|error| error.after(offset))
}

/// RFC 4530 section 2.1.
pub(super) fn uuid(value: &[u8]) -> Result<(), TextError> {
    parse_uuid(value).map(drop)
}

/// The 16 bytes that a UUID's text stands for.
pub(crate) fn parse_uuid(value: &[u8]) -> Result<[u8; 16], TextError> {
    let mut bytes = [0; 16];
    let mut at = 0;
    for (n, byte) in bytes.iter_mut().enumerate() {
        if matches!(n, 4 | 6 | 8 | 10) {
            if value.get(at) != Some(&b'-') {
                return fail(at, "'-'");
            }
            at += 1;
        }
        let digits = value.get(at..at + 2).and_then(crate::hex::byte);
        *byte = digits.ok_or(TextError::new(at, "two hex digits of a UUID"))?;
        at += 2;
    }
    if at < value.len() { fail(at, "the end of the UUID") } else { Ok(bytes) }
}

/// A Name And Optional UID taken apart: the name, and the bit string if there is one. Behind a backslash the `#` is one of
/// the name's (RFC 4514 section 2.4).
pub fn split_uid(value: &str) -> (&str, Option<&str>) {
    match value.rsplit_once('#') {
        Some((name, uid))
            if !crate::dn::is_escaped(value.as_bytes(), name.len()) && check_bit_string(uid.as_bytes()).is_ok() =>
        {
            (name, Some(uid))
        }
        _ => (value, None),
    }
}

/// A Name And Optional UID put together. Where a name ends as if with a bit string, a backslash says that it does not.
pub fn join_uid(mut name: String, uid: Option<&str>) -> String {
    match (uid, split_uid(&name)) {
        (Some(uid), _) => name.extend(["#", uid]),
        (None, (front, Some(_))) => {
            let at = front.len();
            name.insert(at, '\\');
        }
        (None, (_, None)) => {}
    }
    name
}
