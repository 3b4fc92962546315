//! Server-side sorting (RFC 2891).

use crate::ber::{Element, List, Reader, Writer, tag};
use crate::error::DecodeError;
use crate::message::ResultCode;
use crate::payload::Payload;

const ORDERING_RULE: u8 = tag::context(0);
const REVERSE: u8 = tag::context(1);
const FAILED_ATTRIBUTE: u8 = tag::context(0);

/// What to sort by: one key at least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKeys<'a>(pub List<'a, SortKey<'a>>);

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortKey<'a> {
    /// Attribute type and options.
    pub description: &'a str,
    /// Ordering rule, if not the attribute's own.
    pub rule: Option<&'a str>,
    /// From the greatest to the least.
    pub reverse: bool,
}

impl<'a> Element<'a> for SortKey<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a sort key, a SEQUENCE")?;
        let description = content.text(tag::OCTETS, "an attribute description")?;
        let rule = content.optional(ORDERING_RULE)?.map(Reader::into_text).transpose()?;
        let reverse = content.optional(REVERSE)?.map_or(Ok(false), Reader::into_boolean)?;
        content.ignore_rest()?;
        Ok(SortKey { description, rule, reverse })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.text(self.description);
            if let Some(rule) = self.rule {
                w.octets(ORDERING_RULE, rule.as_bytes());
            }
            if self.reverse {
                w.boolean(REVERSE, true);
            }
        });
    }
}

impl<'a> Payload<'a> for SortKeys<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let content = reader.sequence("a list of sort keys")?;
        List::decode_some(content, "a sort key").map(SortKeys)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.octets(tag::SEQUENCE, self.0.encoded());
    }
}

/// How sorting went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SortResponse<'a> {
    /// success, or why the entries are not sorted.
    pub code: ResultCode,
    /// The first attribute that could not be sorted by.
    pub description: Option<&'a str>,
}

impl<'a> Payload<'a> for SortResponse<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a sort result, a SEQUENCE")?;
        let code = ResultCode(content.unsigned(tag::ENUMERATED, "a sortResult")?);
        let description = content.optional(FAILED_ATTRIBUTE)?.map(Reader::into_text).transpose()?;
        content.ignore_rest()?;
        Ok(SortResponse { code, description })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.unsigned(tag::ENUMERATED, self.code.0);
            if let Some(description) = self.description {
                w.octets(FAILED_ATTRIBUTE, description.as_bytes());
            }
        });
    }
}
