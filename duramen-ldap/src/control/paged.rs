//! Paged results (RFC 2696).

use crate::ber::{Reader, Writer, tag};
use crate::error::DecodeError;
use crate::payload::Payload;

/// Value of the control, in requests and in responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagedResults<'a> {
    /// Entries in a page, at most; in responses an estimate of all, or 0.
    pub size: u32,
    /// Where the next page begins; empty before the first and after the last.
    pub cookie: &'a [u8],
}

impl<'a> Payload<'a> for PagedResults<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let mut content = reader.sequence("a page's size and cookie, a SEQUENCE")?;
        let size = content.unsigned(tag::INTEGER, "a page's size")?;
        let cookie = content.octets(tag::OCTETS, "a cookie")?;
        content.ignore_rest()?;
        Ok(PagedResults { size, cookie })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.sequence(|w| {
            w.unsigned(tag::INTEGER, self.size);
            w.octets(tag::OCTETS, self.cookie);
        });
    }
}
