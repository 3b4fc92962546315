//! Dereference (draft-masarati-ldap-deref-00): attributes of entries that values name, with the entry that has these values.

use crate::attribute::Attribute;
use crate::ber::{Element, List, Reader, Writer, tag};
use crate::error::DecodeError;
use crate::payload::Payload;

const ATTRIBUTES: u8 = tag::context_constructed(0);

/// What of which entries is wanted: one at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DereferenceRequest<'a>(pub List<'a, Dereference<'a>>);

/// Some attributes of the entries that the values of an attribute name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dereference<'a> {
    /// The attribute whose values are names.
    pub description: &'a str,
    /// What is wanted of the entries: one at least.
    pub attributes: List<'a, &'a str>,
}

impl<'a> Element<'a> for Dereference<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a DerefSpec, a SEQUENCE")?;
        let description = content.text(tag::OCTETS, "an attribute description")?;
        let attributes = List::decode_some(content.sequence("a list of attributes")?, "an attribute description")?;
        content.ignore_rest()?;
        Ok(Dereference { description, attributes })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.text(self.description);
            w.octets(tag::SEQUENCE, self.attributes.encoded());
        });
    }
}

impl<'a> Payload<'a> for DereferenceRequest<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let content = reader.sequence("a list of DerefSpecs")?;
        List::decode_some(content, "a DerefSpec").map(DereferenceRequest)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.octets(tag::SEQUENCE, self.0.encoded());
    }
}

/// What was found, with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DereferenceResponse<'a>(pub List<'a, Dereferenced<'a>>);

/// What was found of the entry that a value names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dereferenced<'a> {
    /// The attribute that has the value.
    pub description: &'a str,
    /// The value: a name.
    pub value: &'a [u8],
    /// What the entry has of what is wanted; nothing if there is no such entry, or none that may be known of.
    pub attributes: Option<List<'a, Attribute<'a>>>,
}

impl<'a> Element<'a> for Dereferenced<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a DerefRes, a SEQUENCE")?;
        let description = content.text(tag::OCTETS, "an attribute description")?;
        let value = content.octets(tag::OCTETS, "a name")?;
        let attributes = content.optional(ATTRIBUTES)?.map(List::decode).transpose()?;
        content.ignore_rest()?;
        Ok(Dereferenced { description, value, attributes })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.text(self.description);
            w.octets(tag::OCTETS, self.value);
            if let Some(attributes) = self.attributes {
                w.octets(ATTRIBUTES, attributes.encoded());
            }
        });
    }
}

impl<'a> Payload<'a> for DereferenceResponse<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        List::decode(reader.sequence("a list of DerefRes")?).map(DereferenceResponse)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.octets(tag::SEQUENCE, self.0.encoded());
    }
}
