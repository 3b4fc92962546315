//! SEQUENCE OF and SET OF as slices of the message.
//!
//! Invariant: a list that was decoded holds whole elements only, so walking it cannot fail. A list that was claimed
//! to be right by [`List::trusted`] and is not ends early.

use std::fmt;
use std::marker::PhantomData;

use super::{Reader, Writer};
use crate::error::DecodeError;

/// What lists are made of.
pub trait Element<'a>: Sized + Copy {
    /// Decodes one.
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError>;
    /// Encodes one.
    fn write(&self, writer: &mut Writer<'_>);
}

/// Elements as they stand in a message, one after the other; decoded anew on each walk.
pub struct List<'a, T> {
    content: Reader<'a>,
    items: PhantomData<fn() -> T>,
}

impl<T> Clone for List<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for List<'_, T> {}

impl<T> Default for List<'_, T> {
    fn default() -> Self {
        List::trusted(&[])
    }
}

impl<T> PartialEq for List<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.encoded() == other.encoded()
    }
}

impl<T> Eq for List<'_, T> {}

impl<'a, T: Element<'a> + fmt::Debug> fmt::Debug for List<'a, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl<'a, T> List<'a, T> {
    /// Elements encoded earlier by this crate, such as those a database keeps. Nothing is checked.
    pub const fn trusted(content: &'a [u8]) -> List<'a, T> {
        List { content: Reader::new(content), items: PhantomData }
    }

    /// The elements' encodings, one after the other, without the list's own tag and length.
    pub fn encoded(&self) -> &'a [u8] {
        self.content.rest()
    }

    /// Whether it has no elements.
    pub const fn is_empty(&self) -> bool {
        self.content.is_empty()
    }
}

impl<'a, T: Element<'a>> List<'a, T> {
    /// Checks every element of `content`.
    pub fn decode(content: Reader<'a>) -> Result<List<'a, T>, DecodeError> {
        let mut reader = content;
        while !reader.is_empty() {
            T::read(&mut reader)?;
        }
        Ok(List { content, items: PhantomData })
    }

    /// As [`List::decode`], unless the elements were checked before.
    pub(crate) fn decode_unless(is_checked: bool, content: Reader<'a>) -> Result<List<'a, T>, DecodeError> {
        if is_checked { Ok(List { content, items: PhantomData }) } else { List::decode(content) }
    }

    /// As [`List::decode`], of a list that may not be empty (`SIZE (1..MAX)`).
    pub fn decode_some(content: Reader<'a>, expected: &'static str) -> Result<List<'a, T>, DecodeError> {
        if content.is_empty() { content.fail(expected) } else { List::decode(content) }
    }

    /// Encodes elements at the end of `buffer`, which keeps them.
    pub fn build(buffer: &'a mut Vec<u8>, items: impl IntoIterator<Item = T>) -> List<'a, T> {
        let start = buffer.len();
        let mut writer = Writer::new(buffer);
        for item in items {
            item.write(&mut writer);
        }
        List::trusted(&buffer[start..])
    }

    /// The elements in order.
    pub fn iter(&self) -> Elements<'a, T> {
        Elements { rest: self.content, items: PhantomData }
    }

    /// How many there are. Walks the list.
    pub fn count(&self) -> usize {
        self.iter().count()
    }
}

/// Walks a [`List`].
pub struct Elements<'a, T> {
    rest: Reader<'a>,
    items: PhantomData<fn() -> T>,
}

impl<T> Clone for Elements<'_, T> {
    fn clone(&self) -> Self {
        Elements { rest: self.rest, items: PhantomData }
    }
}

impl<'a, T: Element<'a>> Iterator for Elements<'a, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        if self.rest.is_empty() {
            return None;
        }
        let item = T::read(&mut self.rest).ok();
        if item.is_none() {
            self.rest = Reader::new(&[]);
        }
        item
    }
}

impl<'a, T: Element<'a>> IntoIterator for List<'a, T> {
    type Item = T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

impl<'a, T: Element<'a>> IntoIterator for &List<'a, T> {
    type Item = T;
    type IntoIter = Elements<'a, T>;

    fn into_iter(self) -> Elements<'a, T> {
        self.iter()
    }
}

impl<'a> Element<'a> for &'a [u8] {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.octets(super::tag::OCTETS, "an OCTET STRING")
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.octets(super::tag::OCTETS, self);
    }
}

impl<'a> Element<'a> for &'a str {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        reader.text(super::tag::OCTETS, "a string")
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.octets(super::tag::OCTETS, self.as_bytes());
    }
}
