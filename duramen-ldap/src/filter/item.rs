//! The two kinds of filter items that have parts: substrings and extensible matches.

use crate::ber::{Element, List, Reader, Writer, tag};
use crate::error::DecodeError;

const INITIAL: u8 = tag::context(0);
const ANY: u8 = tag::context(1);
const FINAL: u8 = tag::context(2);
const RULE: u8 = tag::context(1);
const TYPE: u8 = tag::context(2);
const VALUE: u8 = tag::context(3);
const DN_ATTRIBUTES: u8 = tag::context(4);

/// `attribute=initial*any*any*final`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Substrings<'a> {
    /// Attribute type and options.
    pub description: &'a str,
    /// The pieces: at least one; an initial one stands first, a final one last.
    pub pieces: List<'a, Substring<'a>>,
}

/// A piece of a substrings assertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Substring<'a> {
    /// The value begins with it.
    Initial(&'a [u8]),
    /// It stands after the piece before.
    Any(&'a [u8]),
    /// The value ends with it.
    Final(&'a [u8]),
}

impl<'a> Element<'a> for Substring<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let before = *reader;
        let (tag, content) = reader.any("a substring")?;
        match tag {
            INITIAL => Ok(Substring::Initial(content.rest())),
            ANY => Ok(Substring::Any(content.rest())),
            FINAL => Ok(Substring::Final(content.rest())),
            _ => before.fail("an initial, any or final substring"),
        }
    }

    fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Substring::Initial(piece) => writer.octets(INITIAL, piece),
            Substring::Any(piece) => writer.octets(ANY, piece),
            Substring::Final(piece) => writer.octets(FINAL, piece),
        }
    }
}

impl<'a> Substrings<'a> {
    /// Decodes the content of one, whatever its tag was.
    pub fn read_content(mut content: Reader<'a>) -> Result<Substrings<'a>, DecodeError> {
        let description = content.text(tag::OCTETS, "an attribute description")?;
        let list = content.sequence("a list of substrings")?;
        let pieces = List::decode_some(list, "a substring")?;
        let last = pieces.count() - 1;
        for (n, piece) in pieces.iter().enumerate() {
            match piece {
                Substring::Initial(_) if n > 0 => return list.fail("an initial substring in the first place only"),
                Substring::Final(_) if n < last => return list.fail("a final substring in the last place only"),
                _ => {}
            }
        }
        content.ignore_rest()?;
        Ok(Substrings { description, pieces })
    }

    /// Encodes it under the given tag.
    pub fn write(&self, writer: &mut Writer<'_>, tag: u8) {
        writer.constructed(tag, |w| {
            w.text(self.description);
            w.octets(tag::SEQUENCE, self.pieces.encoded());
        });
    }
}

/// `attribute:dn:rule:=value`; one of `rule` and `description` at least is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extensible<'a> {
    /// Matching rule: its name or OID; without one, the attribute's equality rule.
    pub rule: Option<&'a str>,
    /// Attribute type and options; without one, all attributes to which the rule applies.
    pub description: Option<&'a str>,
    /// The value asserted.
    pub value: &'a [u8],
    /// Whether values in the entry's name count too.
    pub dn_attributes: bool,
}

impl<'a> Extensible<'a> {
    /// Decodes the content of one, whatever its tag was.
    pub fn read_content(mut content: Reader<'a>) -> Result<Extensible<'a>, DecodeError> {
        let before = content;
        let rule = content.optional(RULE)?.map(Reader::into_text).transpose()?;
        let description = content.optional(TYPE)?.map(Reader::into_text).transpose()?;
        if rule.is_none() && description.is_none() {
            return before.fail("a matching rule or an attribute description");
        }
        let value = content.octets(VALUE, "a match value")?;
        let dn_attributes = content.optional(DN_ATTRIBUTES)?.map_or(Ok(false), Reader::into_boolean)?;
        content.ignore_rest()?;
        Ok(Extensible { rule, description, value, dn_attributes })
    }

    /// Encodes it under the given tag.
    pub fn write(&self, writer: &mut Writer<'_>, tag: u8) {
        writer.constructed(tag, |w| {
            for (tag, text) in [(RULE, self.rule), (TYPE, self.description)] {
                if let Some(text) = text {
                    w.octets(tag, text.as_bytes());
                }
            }
            w.octets(VALUE, self.value);
            if self.dn_attributes {
                w.boolean(DN_ATTRIBUTES, true);
            }
        });
    }
}
