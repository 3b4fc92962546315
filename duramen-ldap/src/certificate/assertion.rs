//! Assertions about certificates and lists as text (RFC 4523 appendix A): the part of GSER (RFC 3641) that they have.
//!
//! As others take them, fields may come in any order, and a choice's name may be missing.

use std::borrow::Cow;

use super::generalized;
use crate::error::TextError;

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

impl<'a> CertificateAssertion<'a> {
    /// Takes the text apart; whether the issuer is a name is for who takes that apart.
    pub fn parse(value: &'a [u8]) -> Result<CertificateAssertion<'a>, TextError> {
        let text = text(value)?;
        let (serial_number, issuer) = match text.split_once('$').filter(|_| !text.trim_start().starts_with('{')) {
            Some((number, issuer)) => (Cow::Borrowed(number), Cow::Borrowed(issuer)),
            None => {
                let [number, issuer] = two_fields(text, ["serialNumber", "issuer"])?;
                (number.value, issuer.of_choice(&["rdnSequence"])?.value)
            }
        };
        crate::syntax::check_integer(serial_number.as_bytes())?;
        Ok(CertificateAssertion { serial_number, issuer })
    }
}

impl<'a> ListAssertion<'a> {
    /// Takes the text apart; whether the issuer is a name is for who takes that apart.
    pub fn parse(value: &'a [u8]) -> Result<ListAssertion<'a>, TextError> {
        let [issuer, time] = two_fields(text(value)?, ["issuer", "thisUpdate"])?;
        let time = time.of_choice(&["utcTime", "generalizedTime"])?;
        let this_update = match time.choice {
            Some("utcTime") => generalized(time.value.as_bytes()),
            _ => time.value.as_bytes().to_vec(),
        };
        crate::syntax::time_key(&this_update, &mut Vec::new()).map_err(|_| TextError::new(time.offset, "a time"))?;
        Ok(ListAssertion { issuer: issuer.of_choice(&["rdnSequence"])?.value, this_update })
    }
}

fn text(value: &[u8]) -> Result<&str, TextError> {
    std::str::from_utf8(value).map_err(|error| TextError::new(error.valid_up_to(), "UTF-8"))
}

/// A field: `name value` or `name choice:value`.
struct Field<'a> {
    name: &'a str,
    choice: Option<&'a str>,
    value: Cow<'a, str>,
    /// Where it begins.
    offset: usize,
}

impl Field<'_> {
    /// Refuses other choices than these.
    fn of_choice(self, choices: &[&str]) -> Result<Self, TextError> {
        match self.choice.is_none_or(|choice| choices.contains(&choice)) {
            true => Ok(self),
            false => Err(TextError::new(self.offset, "a choice of those that the field has")),
        }
    }
}

/// The fields of these names, each of which has to be there once, within braces.
fn two_fields<'a>(text: &'a str, names: [&str; 2]) -> Result<[Field<'a>; 2], TextError> {
    let mut scanner = Scanner { text, at: 0 };
    scanner.spaces();
    scanner.expect('{', "'{'")?;
    let first = scanner.field()?;
    scanner.expect(',', "','")?;
    let second = scanner.field()?;
    scanner.expect('}', "'}'")?;
    scanner.spaces();
    if scanner.at < text.len() {
        return scanner.fail("the end of the assertion");
    }
    match [first.name, second.name] {
        found if found == names => Ok([first, second]),
        [b, a] if [a, b] == names => Ok([second, first]),
        _ => Err(TextError::new(first.offset, "each of the assertion's two fields")),
    }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn fail<T>(&self, expected: &'static str) -> Result<T, TextError> {
        Err(TextError::new(self.at, expected))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches(' ').len();
    }

    fn expect(&mut self, wanted: char, expected: &'static str) -> Result<(), TextError> {
        if !self.rest().starts_with(wanted) {
            return self.fail(expected);
        }
        self.at += wanted.len_utf8();
        Ok(())
    }

    /// A field and the spaces around it.
    fn field(&mut self) -> Result<Field<'a>, TextError> {
        self.spaces();
        let offset = self.at;
        let name = self.word()?;
        self.spaces();
        let (mut choice, mut value) = (None, self.value()?);
        if let (Cow::Borrowed(word), true) = (&value, self.rest().starts_with(':')) {
            choice = Some(*word);
            self.at += 1;
            self.spaces();
            value = self.value()?;
        }
        self.spaces();
        Ok(Field { name, choice, value, offset })
    }

    /// Text in quotes, in which a quote is written twice, or a word.
    fn value(&mut self) -> Result<Cow<'a, str>, TextError> {
        if !self.rest().starts_with('"') {
            return self.word().map(Cow::Borrowed);
        }
        self.at += 1;
        let start = self.at;
        while let Some(found) = self.rest().find('"') {
            self.at += found + 1;
            if !self.rest().starts_with('"') {
                let inner = &self.text[start..self.at - 1];
                return Ok(if inner.contains('"') { inner.replace("\"\"", "\"").into() } else { inner.into() });
            }
            self.at += 1;
        }
        self.fail("a quote at the end of the text")
    }

    /// Letters, digits, hyphens: a name or a number.
    fn word(&mut self) -> Result<&'a str, TextError> {
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
        let length = self.rest().find(is_end).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        if word.is_empty() {
            return self.fail("a name, a number or text in quotes");
        }
        self.at += length;
        Ok(word)
    }
}
