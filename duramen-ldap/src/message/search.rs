//! Search (RFC 4511 section 4.5).

use super::{Attribute, Control, MessageId, control::write_controls, op};
use crate::ber::{List, Reader, Writer, tag, tlv_len};
use crate::error::DecodeError;
use crate::filter::Filter;

/// A request to search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchRequest<'a> {
    /// Where the search begins.
    pub base: &'a str,
    /// How far it goes.
    pub scope: Scope,
    /// What happens to aliases.
    pub deref: Deref,
    /// At most this many entries; 0 is no limit.
    pub size_limit: u32,
    /// At most this many seconds; 0 is no limit.
    pub time_limit: u32,
    /// Descriptions only, without values.
    pub types_only: bool,
    /// What entries have to match.
    pub filter: Filter<'a>,
    /// What is asked for: descriptions, `*`, `+`, `1.1`; nothing is all user attributes.
    pub attributes: List<'a, &'a str>,
}

impl<'a> SearchRequest<'a> {
    /// A search for all user attributes, without limits, that leaves aliases as they are.
    pub fn new(base: &'a str, scope: Scope, filter: Filter<'a>) -> SearchRequest<'a> {
        let attributes = List::default();
        let (size_limit, time_limit, types_only) = (0, 0, false);
        SearchRequest { base, scope, deref: Deref::Never, size_limit, time_limit, types_only, filter, attributes }
    }
}

macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident: $what:literal { $($(#[$item_doc:meta])* $item:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$item_doc])* $item = $number,)*
        }

        impl $name {
            fn read(reader: &mut Reader<'_>) -> Result<$name, DecodeError> {
                let before = *reader;
                match reader.integer(tag::ENUMERATED, $what)? {
                    $($number => Ok($name::$item),)*
                    _ => before.fail($what),
                }
            }
        }
    };
}

numbered! {
    /// How far a search goes.
    Scope: "a scope of 0 to 3" {
        /// The base entry.
        Base = 0,
        /// Its immediate subordinates.
        One = 1,
        /// The base and everything below.
        Subtree = 2,
        /// Everything below the base, without the base itself.
        Subordinates = 3,
    }
}

numbered! {
    /// What happens to aliases.
    Deref: "a derefAliases of 0 to 3" {
        /// Nothing.
        Never = 0,
        /// They are followed below the base, but not in finding it.
        InSearching = 1,
        /// They are followed in finding the base only.
        FindingBase = 2,
        /// They are followed everywhere.
        Always = 3,
    }
}

impl<'a> SearchRequest<'a> {
    pub(super) fn read(mut content: Reader<'a>) -> Result<Self, DecodeError> {
        let request = SearchRequest {
            base: content.text(tag::OCTETS, "a baseObject")?,
            scope: Scope::read(&mut content)?,
            deref: Deref::read(&mut content)?,
            size_limit: content.unsigned(tag::INTEGER, "a sizeLimit")?,
            time_limit: content.unsigned(tag::INTEGER, "a timeLimit")?,
            types_only: content.boolean(tag::BOOLEAN, "typesOnly, a BOOLEAN")?,
            filter: Filter::read(&mut content)?,
            attributes: List::decode(content.sequence("a list of attributes")?)?,
        };
        content.ignore_rest()?;
        Ok(request)
    }

    pub(super) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::SEARCH_REQUEST, |w| {
            w.text(self.base);
            w.integer(tag::ENUMERATED, self.scope as i32);
            w.integer(tag::ENUMERATED, self.deref as i32);
            w.unsigned(tag::INTEGER, self.size_limit);
            w.unsigned(tag::INTEGER, self.time_limit);
            w.boolean(tag::BOOLEAN, self.types_only);
            w.raw(self.filter.encoded());
            w.octets(tag::SEQUENCE, self.attributes.encoded());
        });
    }
}

/// An entry found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchEntry<'a> {
    /// Its name.
    pub name: &'a str,
    /// What was asked for of it.
    pub attributes: List<'a, Attribute<'a>>,
}

impl<'a> SearchEntry<'a> {
    pub(crate) fn read(mut content: Reader<'a>) -> Result<Self, DecodeError> {
        let name = content.text(tag::OCTETS, "the name of an entry")?;
        let attributes = List::decode(content.sequence("a list of attributes")?)?;
        content.ignore_rest()?;
        Ok(SearchEntry { name, attributes })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(op::SEARCH_ENTRY, |w| {
            w.text(self.name);
            w.octets(tag::SEQUENCE, self.attributes.encoded());
        });
    }
}

/// Room is made for a message of this size at once; a longer one may be announced by mistake.
const RESERVED_MAX: usize = 256 << 20;

/// Appends a whole message with an entry whose attributes are encoded already (as [`List::encoded`] has them), in one
/// piece or in many. Every length is known before the first byte is written: each byte is copied once.
pub fn write_search_entry<'p>(
    out: &mut Vec<u8>,
    id: MessageId,
    name: &str,
    attributes: impl Iterator<Item = &'p [u8]> + Clone,
    controls: List<'_, Control<'_>>,
) {
    let attribute_bytes = attributes.clone().map(<[u8]>::len).sum();
    let control_bytes = if controls.is_empty() { 0 } else { tlv_len(controls.encoded().len()) };
    write_head(out, id, name, attribute_bytes, control_bytes);
    let mut writer = Writer::new(out);
    for piece in attributes {
        writer.raw(piece);
    }
    write_controls(&mut writer, controls);
}

/// Appends what a message with an entry begins with, up to its attributes: so many bytes, which the caller appends. There
/// are no controls behind them.
pub fn write_search_entry_head(out: &mut Vec<u8>, id: MessageId, name: &str, attribute_bytes: usize) {
    write_head(out, id, name, attribute_bytes, 0);
}

/// Makes room for the message, up to [`RESERVED_MAX`], and appends what stands before the attributes.
fn write_head(out: &mut Vec<u8>, id: MessageId, name: &str, attribute_bytes: usize, control_bytes: usize) {
    let entry_bytes = tlv_len(name.len()) + tlv_len(attribute_bytes);
    let id = i32::try_from(id).unwrap_or(i32::MAX);
    let id_bytes = tlv_len(integer_len(id));
    let message_bytes = id_bytes + tlv_len(entry_bytes) + control_bytes;
    out.reserve(tlv_len(message_bytes).min(RESERVED_MAX));
    let mut writer = Writer::new(out);
    writer.header(tag::SEQUENCE, message_bytes);
    writer.integer(tag::INTEGER, id);
    writer.header(op::SEARCH_ENTRY, entry_bytes);
    writer.text(name);
    writer.header(tag::SEQUENCE, attribute_bytes);
}

/// How many octets a non-negative INTEGER takes.
const fn integer_len(value: i32) -> usize {
    (33 - value.leading_zeros()).div_ceil(8) as usize
}
