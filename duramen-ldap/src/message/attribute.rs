//! Attributes and assertions as they stand in messages.

use crate::ber::{Element, List, Reader, Writer, tag};
use crate::error::DecodeError;

/// A PartialAttribute: a description and a set of values, which may be empty (RFC 4511 section 4.1.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attribute<'a> {
    /// Attribute type and options: `cn;lang-de`.
    pub description: &'a str,
    /// The values.
    pub values: List<'a, &'a [u8]>,
}

impl<'a> Element<'a> for Attribute<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("an attribute, a SEQUENCE")?;
        let description = content.text(tag::OCTETS, "an attribute description")?;
        let values = List::decode(content.element(tag::SET, "a SET of values")?)?;
        content.ignore_rest()?;
        Ok(Attribute { description, values })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.text(self.description);
            w.octets(tag::SET, self.values.encoded());
        });
    }
}

/// An AttributeValueAssertion (RFC 4511 section 4.1.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assertion<'a> {
    /// Attribute type and options.
    pub description: &'a str,
    /// The value asserted.
    pub value: &'a [u8],
}

impl<'a> Assertion<'a> {
    /// Decodes the content of one, whatever its tag was.
    pub fn read_content(mut content: Reader<'a>) -> Result<Assertion<'a>, DecodeError> {
        let description = content.text(tag::OCTETS, "an attribute description")?;
        let value = content.octets(tag::OCTETS, "an assertion value")?;
        content.ignore_rest()?;
        Ok(Assertion { description, value })
    }

    /// Encodes it under the given tag.
    pub fn write(&self, writer: &mut Writer<'_>, tag: u8) {
        writer.constructed(tag, |w| {
            w.text(self.description);
            w.octets(tag::OCTETS, self.value);
        });
    }
}
