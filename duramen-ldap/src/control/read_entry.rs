//! Pre-read and post-read (RFC 4527).

use crate::ber::{List, Reader, Writer, tag};
use crate::error::DecodeError;
use crate::message::{SearchEntry, op};
use crate::payload::Payload;

/// Which attributes to return of the entry before or after its change, as in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadEntryRequest<'a>(pub List<'a, &'a str>);

impl<'a> Payload<'a> for ReadEntryRequest<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        List::decode(reader.sequence("a list of attributes")?).map(ReadEntryRequest)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.octets(tag::SEQUENCE, self.0.encoded());
    }
}

/// The entry before or after its change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadEntryResponse<'a>(pub SearchEntry<'a>);

impl<'a> Payload<'a> for ReadEntryResponse<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        // RFC 4527 takes the type SearchResultEntry, with its tag; some servers send a plain SEQUENCE.
        let tag = if reader.peek() == Some(tag::SEQUENCE) { tag::SEQUENCE } else { op::SEARCH_ENTRY };
        SearchEntry::read(reader.element(tag, "a SearchResultEntry")?).map(ReadEntryResponse)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        self.0.write(writer);
    }
}
