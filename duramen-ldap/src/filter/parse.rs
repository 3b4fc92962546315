//! Filters from their string form (RFC 4515), straight into their encoding.
//!
//! Two liberties that users are used to: the outermost parentheses may be missing, and spaces may stand between
//! filters (not within values, where they count).

use std::borrow::Cow;
use std::str::FromStr;

use super::{
    AND, APPROX, DEPTH_MAX, EQUALITY, EXTENSIBLE, Extensible, Filter, GREATER_OR_EQUAL, LESS_OR_EQUAL, NOT, Node, OR,
    PRESENT, SUBSTRINGS, Substring,
};
use crate::attribute::Assertion;
use crate::ber::{Element, Writer};
use crate::error::TextError;

/// A filter that owns its encoding.
#[derive(Clone, PartialEq, Eq)]
pub struct FilterBuf {
    encoded: Vec<u8>,
}

impl FilterBuf {
    /// Parses a filter's string form.
    pub fn parse(text: &str) -> Result<FilterBuf, TextError> {
        let mut encoded = Vec::with_capacity(text.len() + 16);
        let mut parser = Parser { text, at: 0 };
        parser.spaces();
        if parser.peek() == Some(b'(') {
            parser.filter(&mut Writer::new(&mut encoded), DEPTH_MAX)?;
        } else {
            parser.item(&mut Writer::new(&mut encoded))?;
        }
        parser.spaces();
        if parser.at < text.len() {
            return parser.fail("the end of the filter");
        }
        Ok(FilterBuf { encoded })
    }

    /// The filter of this node.
    pub fn new(node: &Node<'_>) -> FilterBuf {
        let mut encoded = Vec::new();
        node.write(&mut Writer::new(&mut encoded));
        FilterBuf { encoded }
    }

    /// The filter, borrowed.
    pub fn as_filter(&self) -> Filter<'_> {
        Filter::trusted(&self.encoded)
    }
}

impl FromStr for FilterBuf {
    type Err = TextError;

    fn from_str(text: &str) -> Result<FilterBuf, TextError> {
        FilterBuf::parse(text)
    }
}

impl std::fmt::Display for FilterBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_filter().fmt(f)
    }
}

impl std::fmt::Debug for FilterBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_filter().fmt(f)
    }
}

impl Node<'_> {
    /// Encodes a filter.
    pub fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Node::And(filters) => writer.octets(AND, filters.encoded()),
            Node::Or(filters) => writer.octets(OR, filters.encoded()),
            Node::Not(filter) => writer.octets(NOT, filter.encoded()),
            Node::Equality(assertion) => assertion.write(writer, EQUALITY),
            Node::Substrings(substrings) => substrings.write(writer, SUBSTRINGS),
            Node::GreaterOrEqual(assertion) => assertion.write(writer, GREATER_OR_EQUAL),
            Node::LessOrEqual(assertion) => assertion.write(writer, LESS_OR_EQUAL),
            Node::Present(description) => writer.octets(PRESENT, description.as_bytes()),
            Node::Approx(assertion) => assertion.write(writer, APPROX),
            Node::Extensible(extensible) => extensible.write(writer, EXTENSIBLE),
            Node::Unknown(tag, content) => writer.octets(*tag, content),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fail<T>(&self, expected: &'static str) -> Result<T, TextError> {
        Err(TextError::new(self.at, expected))
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8, expected: &'static str) -> Result<(), TextError> {
        if self.peek() != Some(byte) {
            return self.fail(expected);
        }
        self.at += 1;
        Ok(())
    }

    /// What stands before the first byte for which `stop` holds.
    fn until(&mut self, stop: impl Fn(u8) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(stop).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn filter(&mut self, writer: &mut Writer<'_>, depth: usize) -> Result<(), TextError> {
        if depth == 0 {
            return self.fail("a filter nested less deeply");
        }
        self.take(b'(', "'('")?;
        self.spaces();
        let tag = match self.peek() {
            Some(b'&') => AND,
            Some(b'|') => OR,
            Some(b'!') => NOT,
            _ => {
                self.item(writer)?;
                return self.take(b')', "')'");
            }
        };
        self.at += 1;
        writer.constructed(tag, |writer| self.filters(writer, tag, depth))?;
        self.take(b')', "'(' or ')'")
    }

    fn filters(&mut self, writer: &mut Writer<'_>, tag: u8, depth: usize) -> Result<(), TextError> {
        self.spaces();
        if tag == NOT {
            self.filter(writer, depth - 1)?;
            self.spaces();
            return Ok(());
        }
        while self.peek() == Some(b'(') {
            self.filter(writer, depth - 1)?;
            self.spaces();
        }
        Ok(())
    }

    fn item(&mut self, writer: &mut Writer<'_>) -> Result<(), TextError> {
        let start = self.at;
        let description = self.until(|byte| !is_description_byte(byte));
        let operator = self.peek();
        if description.is_empty() && operator != Some(b':') {
            return self.fail("an attribute description");
        }
        let tag = match operator {
            Some(b'=') => return self.equality_or_substrings(writer, description),
            Some(b':') => return self.extensible(writer, start, description),
            Some(b'>') => GREATER_OR_EQUAL,
            Some(b'<') => LESS_OR_EQUAL,
            Some(b'~') => APPROX,
            _ => return self.fail("'=', '>=', '<=', '~=' or ':='"),
        };
        self.at += 1;
        self.take(b'=', "'='")?;
        let value = self.value()?;
        Assertion { description, value: &value }.write(writer, tag);
        Ok(())
    }

    fn equality_or_substrings(&mut self, writer: &mut Writer<'_>, description: &str) -> Result<(), TextError> {
        self.take(b'=', "'='")?;
        let first = self.piece()?;
        if self.peek() != Some(b'*') {
            Assertion { description, value: &first }.write(writer, EQUALITY);
            return Ok(());
        }
        if first.is_empty() && matches!(self.text.as_bytes().get(self.at + 1), None | Some(b')')) {
            self.at += 1;
            writer.octets(PRESENT, description.as_bytes());
            return Ok(());
        }
        writer.constructed(SUBSTRINGS, |w| {
            w.text(description);
            w.sequence(|w| self.pieces(w, &first))
        })
    }

    /// The pieces of a substrings assertion, standing on the `*` behind the first of them.
    fn pieces(&mut self, writer: &mut Writer<'_>, initial: &[u8]) -> Result<(), TextError> {
        let start = self.at;
        let mut written = false;
        let mut write = |piece: Substring<'_>, bytes: &[u8]| {
            if !bytes.is_empty() {
                piece.write(writer);
                written = true;
            }
        };
        write(Substring::Initial(initial), initial);
        while self.peek() == Some(b'*') {
            self.at += 1;
            let piece = self.piece()?;
            let last = self.peek() != Some(b'*');
            write(if last { Substring::Final(&piece) } else { Substring::Any(&piece) }, &piece);
        }
        if written { Ok(()) } else { Err(TextError::new(start, "a substring beside '*'")) }
    }

    fn extensible(&mut self, writer: &mut Writer<'_>, start: usize, description: &str) -> Result<(), TextError> {
        let mut dn_attributes = false;
        let mut rule = None;
        loop {
            self.take(b':', "':='")?;
            if self.peek() == Some(b'=') {
                break;
            }
            let word = self.until(|byte| !is_description_byte(byte));
            match word {
                "" => return self.fail("'=', 'dn' or a matching rule"),
                _ if word.eq_ignore_ascii_case("dn") && !dn_attributes && rule.is_none() => dn_attributes = true,
                _ if rule.is_none() => rule = Some(word),
                _ => return self.fail("':='"),
            }
        }
        self.at += 1;
        let description = Some(description).filter(|description| !description.is_empty());
        if description.is_none() && rule.is_none() {
            return Err(TextError::new(start, "an attribute description or a matching rule"));
        }
        let value = self.value()?;
        Extensible { rule, description, value: &value, dn_attributes }.write(writer, EXTENSIBLE);
        Ok(())
    }

    /// A value in which `*` has no place.
    fn value(&mut self) -> Result<Cow<'t, [u8]>, TextError> {
        let value = self.piece()?;
        if self.peek() == Some(b'*') { self.fail("'\\2a' for an asterisk in a value") } else { Ok(value) }
    }

    /// A value, or a piece of one, up to `*`, `)` or the end.
    fn piece(&mut self) -> Result<Cow<'t, [u8]>, TextError> {
        let start = self.at;
        let raw = self.until(|byte| matches!(byte, b'*' | b'(' | b')' | 0));
        match self.peek() {
            Some(b'(') => return self.fail("'\\28' for a parenthesis in a value"),
            Some(0) => return self.fail("'\\00' for a NUL in a value"),
            _ => {}
        }
        if !raw.contains('\\') {
            return Ok(Cow::Borrowed(raw.as_bytes()));
        }
        unescape(raw).map(Cow::Owned).map_err(|error| error.after(start))
    }
}

/// Replaces each backslash and two hex digits by the byte they stand for.
fn unescape(raw: &str) -> Result<Vec<u8>, TextError> {
    let bytes = raw.as_bytes();
    let mut value = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            let byte = bytes.get(at + 1..at + 3).and_then(crate::hex::byte);
            value.push(byte.ok_or(TextError::new(at, "two hex digits behind the backslash"))?);
            at += 3;
        } else {
            value.push(bytes[at]);
            at += 1;
        }
    }
    Ok(value)
}

/// Letters, digits, hyphens; dots of OIDs; semicolons before options. And underscores, which some schemas have.
fn is_description_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b';' | b'_')
}
