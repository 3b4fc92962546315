//! Filters (RFC 4511 section 4.5.1.7) and their string form (RFC 4515).
//!
//! Owns: the shape of filters. Must not know: schema; whether an attribute or a rule exists.
//!
//! A filter is a slice of the message. It is checked when the message is decoded, its nesting limited to
//! [`DEPTH_MAX`], so walking it afterwards can neither fail nor go deep.

mod item;
mod parse;
mod print;

pub use item::{Extensible, Substring, Substrings};
pub use parse::FilterBuf;

use crate::attribute::Assertion;
use crate::ber::{Element, List, Reader, Writer, tag};
use crate::error::DecodeError;

/// Filters are not nested deeper than this: `(!(a=b))` has depth 2. What walks them goes as deep on its stack.
pub const DEPTH_MAX: usize = 256;

pub(crate) const AND: u8 = tag::context_constructed(0);
pub(crate) const OR: u8 = tag::context_constructed(1);
pub(crate) const NOT: u8 = tag::context_constructed(2);
pub(crate) const EQUALITY: u8 = tag::context_constructed(3);
pub(crate) const SUBSTRINGS: u8 = tag::context_constructed(4);
pub(crate) const GREATER_OR_EQUAL: u8 = tag::context_constructed(5);
pub(crate) const LESS_OR_EQUAL: u8 = tag::context_constructed(6);
pub(crate) const PRESENT: u8 = tag::context(7);
pub(crate) const APPROX: u8 = tag::context_constructed(8);
pub(crate) const EXTENSIBLE: u8 = tag::context_constructed(9);

/// A filter as it stands in a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Filter<'a> {
    encoded: &'a [u8],
}

/// The outermost part of a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Node<'a> {
    /// All of these; true if there are none (RFC 4526).
    And(List<'a, Filter<'a>>),
    /// One of these; false if there are none (RFC 4526).
    Or(List<'a, Filter<'a>>),
    /// Not this.
    Not(Filter<'a>),
    /// `attribute=value`
    Equality(Assertion<'a>),
    /// `attribute=initial*any*final`
    Substrings(Substrings<'a>),
    /// `attribute>=value`
    GreaterOrEqual(Assertion<'a>),
    /// `attribute<=value`
    LessOrEqual(Assertion<'a>),
    /// `attribute=*`
    Present(&'a str),
    /// `attribute~=value`
    Approx(Assertion<'a>),
    /// `attribute:dn:rule:=value`
    Extensible(Extensible<'a>),
    /// Of a kind that is not known here, which is Undefined for every entry (RFC 4511 section 4.5.1.7): its tag, and what is in
    /// it.
    Unknown(u8, &'a [u8]),
}

impl<'a> Filter<'a> {
    /// Checks and takes the filter that `bytes` are.
    pub fn decode(bytes: &'a [u8]) -> Result<Filter<'a>, DecodeError> {
        let mut reader = Reader::new(bytes);
        let filter = Filter::read(&mut reader)?;
        reader.finish("the end of the filter")?;
        Ok(filter)
    }

    /// Checks and takes the next element.
    pub fn read(reader: &mut Reader<'a>) -> Result<Filter<'a>, DecodeError> {
        let before = reader.rest();
        let start = reader.offset();
        check(reader, DEPTH_MAX)?;
        Ok(Filter { encoded: &before[..reader.offset() - start] })
    }

    /// Encoded earlier by this crate. Nothing is checked: of what is not a filter, [`Filter::node`] says that it is
    /// an OR of nothing, which no entry matches.
    pub const fn trusted(encoded: &'a [u8]) -> Filter<'a> {
        Filter { encoded }
    }

    /// Its encoding.
    pub const fn encoded(&self) -> &'a [u8] {
        self.encoded
    }

    /// How deep it is nested: 1 if there is no other filter in it.
    pub fn depth(&self) -> usize {
        let deepest = |list: List<'a, Filter<'a>>| list.iter().map(|filter| filter.depth()).max().unwrap_or(0);
        1 + match self.node() {
            Node::And(list) | Node::Or(list) => deepest(list),
            Node::Not(filter) => filter.depth(),
            _ => 0,
        }
    }

    /// Its outermost part. Looks at that and at nothing within.
    pub fn node(&self) -> Node<'a> {
        let mut reader = Reader::new(self.encoded);
        reader
            .any("a filter")
            .and_then(|(tag, content)| match tag {
                AND => Ok(Node::And(List::trusted(content.rest()))),
                OR => Ok(Node::Or(List::trusted(content.rest()))),
                NOT => Ok(Node::Not(Filter::trusted(content.rest()))),
                _ => item(tag, content, &reader),
            })
            .unwrap_or(Node::Or(List::default()))
    }
}

/// Lists of filters are walked, not checked: the check of the outermost filter has been here.
impl<'a> Element<'a> for Filter<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let before = reader.rest();
        let start = reader.offset();
        reader.any("a filter")?;
        Ok(Filter { encoded: &before[..reader.offset() - start] })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.raw(self.encoded);
    }
}

impl std::fmt::Debug for Filter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Passes over one filter that is right in all its parts and not nested deeper than `depth`.
fn check(reader: &mut Reader<'_>, depth: usize) -> Result<(), DecodeError> {
    if depth == 0 {
        return reader.fail("a filter nested less deeply");
    }
    let before = *reader;
    let (tag, mut content) = reader.any("a filter")?;
    match tag {
        AND | OR => {
            while !content.is_empty() {
                check(&mut content, depth - 1)?;
            }
            Ok(())
        }
        NOT => {
            check(&mut content, depth - 1)?;
            content.finish("one filter within NOT")
        }
        _ => item(tag, content, &before).map(drop),
    }
}

/// Reads a filter without others in it. `at` is where it began, for errors.
fn item<'a>(tag: u8, content: Reader<'a>, at: &Reader<'a>) -> Result<Node<'a>, DecodeError> {
    Ok(match tag {
        EQUALITY => Node::Equality(Assertion::read_content(content)?),
        SUBSTRINGS => Node::Substrings(Substrings::read_content(content)?),
        GREATER_OR_EQUAL => Node::GreaterOrEqual(Assertion::read_content(content)?),
        LESS_OR_EQUAL => Node::LessOrEqual(Assertion::read_content(content)?),
        PRESENT => Node::Present(content.into_text()?),
        APPROX => Node::Approx(Assertion::read_content(content)?),
        EXTENSIBLE => Node::Extensible(Extensible::read_content(content)?),
        tag if is_unknown(tag) => Node::Unknown(tag, content.rest()),
        _ => return at.fail("a filter, with a tag of its own"),
    })
}

/// Whether a tag is one that later versions of the protocol may have a filter for: the choice is an extensible one.
fn is_unknown(tag: u8) -> bool {
    // In one byte; 31 would say that the number follows.
    (tag::context(10)..tag::context(31)).contains(&tag)
        || (tag::context_constructed(10)..tag::context_constructed(31)).contains(&tag)
}

#[cfg(test)]
pub(crate) mod tests;
