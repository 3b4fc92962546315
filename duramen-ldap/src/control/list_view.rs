//! Virtual list views: a window of a sorted list (draft-ietf-ldapext-ldapv3-vlv-09).

use crate::ber::{Reader, Writer, tag};
use crate::error::DecodeError;
use crate::message::ResultCode;
use crate::payload::Payload;

const BY_OFFSET: u8 = tag::context_constructed(0);
const AT_LEAST: u8 = tag::context(1);
const TARGET: &str = "a target, by offset or by value";

/// The window that is wanted: a target, and so many entries before and after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListViewRequest<'a> {
    /// Entries before the target.
    pub before: u32,
    /// Entries after it.
    pub after: u32,
    /// The entry in question.
    pub target: ListViewTarget<'a>,
    /// What the server called the list when it gave the last window.
    pub context: Option<&'a [u8]>,
}

/// The entry that a window is around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListViewTarget<'a> {
    /// By its place in the list.
    Offset {
        /// The place, from 1 on.
        offset: u32,
        /// How long the client takes the list for; 0 if it does not know.
        count: u32,
    },
    /// The first whose value is no less, in the list's order by its first key.
    AtLeast(&'a [u8]),
}

impl<'a> Payload<'a> for ListViewRequest<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a list view's window, a SEQUENCE")?;
        let before = content.unsigned(tag::INTEGER, "a beforeCount")?;
        let after = content.unsigned(tag::INTEGER, "an afterCount")?;
        let target = match content.optional(BY_OFFSET)? {
            Some(mut offset) => {
                let target = ListViewTarget::Offset {
                    offset: offset.unsigned(tag::INTEGER, "an offset")?,
                    count: offset.unsigned(tag::INTEGER, "a contentCount")?,
                };
                offset.ignore_rest()?;
                target
            }
            None => ListViewTarget::AtLeast(content.octets(AT_LEAST, TARGET)?),
        };
        let context = content.optional(tag::OCTETS)?.map(|context| context.rest());
        content.ignore_rest()?;
        Ok(ListViewRequest { before, after, target, context })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.unsigned(tag::INTEGER, self.before);
            w.unsigned(tag::INTEGER, self.after);
            match self.target {
                ListViewTarget::Offset { offset, count } => w.constructed(BY_OFFSET, |w| {
                    w.unsigned(tag::INTEGER, offset);
                    w.unsigned(tag::INTEGER, count);
                }),
                ListViewTarget::AtLeast(value) => w.octets(AT_LEAST, value),
            }
            if let Some(context) = self.context {
                w.octets(tag::OCTETS, context);
            }
        });
    }
}

/// Where the window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListViewResponse<'a> {
    /// The target's place, from 1 on; behind the last entry if all are less. 0 where there is no window.
    pub position: u32,
    /// How many entries the list has.
    pub count: u32,
    /// success, or why there is no window.
    pub code: ResultCode,
    /// What the server calls the list.
    pub context: Option<&'a [u8]>,
}

impl<'a> Payload<'a> for ListViewResponse<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a list view's place, a SEQUENCE")?;
        let position = content.unsigned(tag::INTEGER, "a targetPosition")?;
        let count = content.unsigned(tag::INTEGER, "a contentCount")?;
        let code = ResultCode(content.unsigned(tag::ENUMERATED, "a virtualListViewResult")?);
        let context = content.optional(tag::OCTETS)?.map(|context| context.rest());
        content.ignore_rest()?;
        Ok(ListViewResponse { position, count, code, context })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.unsigned(tag::INTEGER, self.position);
            w.unsigned(tag::INTEGER, self.count);
            w.unsigned(tag::ENUMERATED, self.code.0);
            if let Some(context) = self.context {
                w.octets(tag::OCTETS, context);
            }
        });
    }
}
