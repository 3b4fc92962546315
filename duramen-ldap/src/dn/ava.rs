//! RDNs and the pairs of type and value that they are made of.

use std::borrow::Cow;
use std::fmt;

use super::{check, is_escaped, value};
use crate::error::TextError;

/// A relative distinguished name: one type and value, rarely more.
#[derive(Debug, Clone, Copy)]
pub struct Rdn<'a> {
    text: &'a str,
    start: usize,
}

/// A type and a value.
#[derive(Debug, Clone, Copy)]
pub struct Ava<'a> {
    /// The attribute type: a name or an OID.
    pub attribute: &'a str,
    raw: &'a str,
    start: usize,
}

impl<'a> Rdn<'a> {
    /// Takes text that was checked, and where it begins in its name.
    pub(super) fn new(text: &'a str, start: usize) -> Rdn<'a> {
        Rdn { text, start }
    }

    /// Checks an RDN that stands alone, as in a modify DN request.
    pub fn parse(text: &'a str) -> Result<Rdn<'a>, TextError> {
        check::rdn(text)?;
        Ok(Rdn { text, start: 0 })
    }

    /// The text, without spaces around it.
    pub fn as_str(&self) -> &'a str {
        trim(self.text)
    }

    /// Its pairs, in the order in which they are written.
    pub fn avas(&self) -> Avas<'a> {
        Avas { rest: Some(self.text), start: self.start }
    }
}

impl fmt::Display for Rdn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'a> Ava<'a> {
    /// The value; borrowed if nothing in it was escaped.
    pub fn value(&self) -> Cow<'a, [u8]> {
        value::read(self.raw)
    }

    /// The value as it is written, if that is its BER encoding in hex digits, from the `#` on.
    pub fn encoding(&self) -> Option<&'a str> {
        Some(self.raw).filter(|raw| raw.starts_with('#'))
    }

    /// Whether the value is written as a string, or as the BER encoding of one.
    pub(super) fn is_of_string(&self) -> bool {
        self.encoding().is_none_or(value::is_of_string)
    }

    /// Where it begins in its name, in bytes.
    pub fn offset(&self) -> usize {
        self.start
    }
}

/// The pairs of an RDN.
#[derive(Debug, Clone)]
pub struct Avas<'a> {
    rest: Option<&'a str>,
    start: usize,
}

impl Avas<'_> {
    /// Whether there is none any more.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_none()
    }
}

impl<'a> Iterator for Avas<'a> {
    type Item = Ava<'a>;

    fn next(&mut self) -> Option<Ava<'a>> {
        let (text, behind) = split_first(self.rest?, |byte| byte == b'+');
        let start = self.start;
        self.rest = behind;
        self.start += text.len() + 1;
        let sign = text.bytes().position(|byte| byte == b'=');
        let (attribute, raw) = sign.map_or((text, ""), |at| (&text[..at], &text[at + 1..]));
        Some(Ava { attribute: trim_all(attribute), raw: trim(raw), start })
    }
}

/// What stands before the first separator that is neither escaped nor in quotes, and what stands behind it.
pub(super) fn split_first(text: &str, separator: impl Fn(u8) -> bool) -> (&str, Option<&str>) {
    let bytes = text.as_bytes();
    let (mut at, mut quoted) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => {
                quoted = !quoted;
                at += 1;
            }
            byte if separator(byte) && !quoted => return (&text[..at], Some(&text[at + 1..])),
            _ => at += 1,
        }
    }
    (text, None)
}

/// Without spaces around it, but with an escaped one at its end.
fn trim(text: &str) -> &str {
    let text = &text[spaces(text.bytes())..];
    let trimmed = text.len() - spaces(text.bytes().rev());
    let kept = trimmed < text.len() && is_escaped(text.as_bytes(), trimmed);
    &text[..trimmed + usize::from(kept)]
}

/// Without any space around it.
fn trim_all(text: &str) -> &str {
    let text = &text[spaces(text.bytes())..];
    &text[..text.len() - spaces(text.bytes().rev())]
}

/// How many spaces come first.
fn spaces(bytes: impl Iterator<Item = u8>) -> usize {
    bytes.take_while(|byte| *byte == b' ').count()
}
