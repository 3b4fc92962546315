//! Reading an entry where it lies.

use duramen_ldap::DecodeError;
use duramen_ldap::attribute::Attribute;
use duramen_ldap::ber::{Element, List, Reader, tag};

use super::numbers::Places;
use super::{HAS_OPTIONS, HEAD, LargeAttribute, NUMBER, mark};
use crate::schema::AttributeId;
use crate::tables::Id;

/// An entry in the map. Nothing is decoded until it is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub parent: Id,
    marks: u8,
    large_count: u8,
    user_count: usize,
    numbers: &'a [u8],
    ends: &'a [u8],
    rdn: &'a str,
    encoded_rdn: &'a [u8],
    attributes: &'a [u8],
    large: &'a [u8],
}

/// An attribute of an entry, still encoded.
#[derive(Clone, Copy)]
pub(crate) struct StoredAttribute<'a> {
    pub id: AttributeId,
    pub has_options: bool,
    pub encoded: &'a [u8],
}

impl<'a> StoredAttribute<'a> {
    /// Its description and values.
    pub fn decode(&self) -> Attribute<'a> {
        Attribute::read(&mut Reader::new(self.encoded)).unwrap_or_default()
    }

    /// Its values. They were checked before they were stored, so nothing is looked at before its turn.
    #[inline]
    pub fn values(&self) -> List<'a, &'a [u8]> {
        self.short_values().unwrap_or_else(|| self.any_values())
    }

    /// Its values, if all lengths are of one byte, as they are of most attributes.
    #[inline]
    fn short_values(&self) -> Option<List<'a, &'a [u8]>> {
        let &[tag::SEQUENCE, length @ ..0x80, tag::OCTETS, description @ ..0x80, ref rest @ ..] = self.encoded else {
            return None;
        };
        let Some(&[tag::SET, set @ ..0x80, ref values @ ..]) = rest.get(usize::from(description)..) else {
            return None;
        };
        let is_whole = self.encoded.len() == 2 + usize::from(length) && values.len() == usize::from(set);
        is_whole.then(|| List::trusted(values))
    }

    fn any_values(&self) -> List<'a, &'a [u8]> {
        let values = |mut encoded: Reader<'a>| {
            let mut content = encoded.sequence("an attribute")?;
            content.any("a description")?;
            content.element(tag::SET, "a SET of values")
        };
        values(Reader::new(self.encoded)).map_or_else(|_: DecodeError| List::default(), |set| List::trusted(set.rest()))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// An end in two bytes or in four.
#[inline]
fn end_of(bytes: &[u8]) -> usize {
    match *bytes {
        [low, high] => usize::from(u16::from_le_bytes([low, high])),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) as usize,
        _ => 0,
    }
}

impl<'a> Entry<'a> {
    /// Takes the parts of a stored entry; `None` if it cannot be one.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Option<Entry<'a>> {
        Entry::parse_nameless(bytes)?.named()
    }

    /// As [`Entry::parse`], without an RDN until [`Entry::named`] finds that it is text.
    #[inline]
    pub fn parse_nameless(bytes: &'a [u8]) -> Option<Entry<'a>> {
        let (&[marks, large_count, ..], rest) = bytes.split_at_checked(HEAD)? else { return None };
        let count = usize::from(u16_at(bytes, 2)?);
        let user_count = usize::from(u16_at(bytes, 4)?);
        let rdn_len = usize::from(u16_at(bytes, 6)?);
        let parent = u32_at(bytes, 8)?;
        let width = if marks & mark::WIDE == 0 { 2 } else { 4 };
        let (numbers, rest) = rest.split_at_checked(2 * count)?;
        let (ends, rest) = rest.split_at_checked(width * count)?;
        let (encoded_rdn, attributes) = rest.split_at_checked(rdn_len)?;
        let (rdn, large) = ("", &[][..]);
        let mut entry =
            Entry { parent, marks, large_count, user_count, numbers, ends, rdn, encoded_rdn, attributes, large };
        let end = if count == 0 { 0 } else { entry.end(count - 1) };
        (entry.attributes, entry.large) = attributes.split_at_checked(end)?;
        Some(entry)
    }

    /// The entry with its RDN.
    #[inline]
    pub fn named(self) -> Option<Entry<'a>> {
        Some(Entry { rdn: std::str::from_utf8(self.encoded_rdn).ok()?, ..self })
    }

    /// The parent of a stored entry, without looking at the rest.
    #[inline]
    pub fn parent_of(bytes: &[u8]) -> Option<Id> {
        u32_at(bytes, 8)
    }

    #[inline]
    fn end(&self, n: usize) -> usize {
        if self.marks & mark::WIDE == 0 {
            u16_at(self.ends, 2 * n).map_or(0, usize::from)
        } else {
            u32_at(self.ends, 4 * n).unwrap_or(0) as usize
        }
    }

    /// Its RDN as it was written; of a suffix its whole name.
    pub fn rdn(&self) -> &'a str {
        self.rdn
    }

    /// Some of [`mark`].
    pub fn marks(&self) -> u8 {
        self.marks & !mark::WIDE
    }

    /// The encodings of all user attributes that are stored in it, in one piece.
    #[inline]
    pub fn user_attributes(&self) -> &'a [u8] {
        let end = if self.user_count == 0 { 0 } else { self.end(self.user_count - 1) };
        self.attributes.get(..end).unwrap_or_default()
    }

    /// The encodings of all attributes that are stored in it, in one piece.
    pub fn all_attributes(&self) -> &'a [u8] {
        self.attributes
    }

    #[inline]
    fn attribute(&self, n: usize) -> StoredAttribute<'a> {
        let number = u16_at(self.numbers, 2 * n).unwrap_or(0);
        let start = if n == 0 { 0 } else { self.end(n - 1) };
        StoredAttribute {
            id: AttributeId(number & NUMBER),
            has_options: number & HAS_OPTIONS != 0,
            encoded: self.attributes.get(start..self.end(n)).unwrap_or_default(),
        }
    }

    /// Its attributes in their order.
    pub fn attributes(&self) -> impl Iterator<Item = StoredAttribute<'a>> + Clone + use<'a> {
        let (width, attributes) = (if self.marks & mark::WIDE == 0 { 2 } else { 4 }, self.attributes);
        let (numbers, mut start) = (self.numbers.as_chunks().0.iter(), 0);
        numbers.zip(self.ends.chunks_exact(width)).map(move |(number, end)| {
            let (number, end) = (u16::from_le_bytes(*number), end_of(end));
            let encoded = attributes.get(start..end).unwrap_or_default();
            start = end;
            StoredAttribute { id: AttributeId(number & NUMBER), has_options: number & HAS_OPTIONS != 0, encoded }
        })
    }

    /// Its attributes of one type, with whatever options.
    #[inline]
    pub fn of_type<'e>(&'e self, id: AttributeId) -> impl Iterator<Item = StoredAttribute<'a>> + use<'a, 'e> {
        Places::of(self.numbers, id.0).map(|n| self.attribute(n))
    }

    /// How many bytes are looked through for the attributes of a type.
    #[inline]
    pub fn numbers_len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether it has values in table `value`.
    #[inline]
    pub fn has_large(&self) -> bool {
        self.large_count > 0
    }

    /// Its attributes whose values are in table `value`.
    pub fn large(&self) -> impl Iterator<Item = LargeAttribute> + use<'a> {
        let mut rest = self.large;
        (0..self.large_count).map_while(move |_| {
            let number = u16_at(rest, 0)?;
            let (count, bytes) = (u32_at(rest, 2)?, u32_at(rest, 6)?);
            let end = 11 + usize::from(*rest.get(10)?);
            let description = std::str::from_utf8(rest.get(11..end)?).ok()?.to_string();
            rest = &rest[end..];
            Some(LargeAttribute { id: AttributeId(number), count, bytes, description })
        })
    }
}
