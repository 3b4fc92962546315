//! Attributes and assertions as they stand in messages.

use crate::ber::{Element, List, Reader, Writer, tag};
use crate::error::{DecodeError, TextError};

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

/// An attribute description taken apart (RFC 4512 section 2.5): `cn;lang-de;x-a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributeDescription<'a> {
    /// The attribute type: a name or an OID.
    pub kind: &'a str,
    options: &'a str,
}

impl<'a> AttributeDescription<'a> {
    /// Takes a description apart. Underscores are taken too, which some schemas have.
    pub fn parse(text: &'a str) -> Result<AttributeDescription<'a>, TextError> {
        let end = text.find(';').unwrap_or(text.len());
        let (kind, options) = text.split_at(end);
        crate::oid::check(kind)?;
        let mut at = end;
        for option in options.split(';').skip(1) {
            at += 1;
            let right = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if option.is_empty() || !option.bytes().all(right) {
                return Err(TextError::new(at, "an option of letters, digits and hyphens"));
            }
            at += option.len();
        }
        Ok(AttributeDescription { kind, options })
    }

    /// The options, in the order in which they are written; it does not count, nor does case.
    pub fn options(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.options.split(';').skip(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_a_type_and_options_rfc4512_2_5() {
        let parsed = AttributeDescription::parse("userCertificate;binary;x-A").unwrap();
        assert_eq!((parsed.kind, parsed.options().collect::<Vec<_>>()), ("userCertificate", vec!["binary", "x-A"]));
        assert_eq!(AttributeDescription::parse("2.5.4.3").unwrap().options().count(), 0);
        for (text, offset) in
            [("", 0), (";a", 0), ("cn;", 3), ("cn;a;;b", 5), ("c n", 0), ("cn;a.b", 3), ("2.5.", 0), ("*", 0)]
        {
            assert_eq!(AttributeDescription::parse(text).expect_err(text).offset, offset, "{text:?}");
        }
    }
}
