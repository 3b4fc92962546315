//! Writing at the end of a buffer that is used again and again.
//!
//! Lengths are as short as they can be. Where the length of a constructed element is not known beforehand, one byte is
//! kept for it, and the content moves up in the rare case that it does not do.

use super::tag;

/// Appends elements to a buffer.
pub struct Writer<'b> {
    out: &'b mut Vec<u8>,
}

/// How many bytes an element with this much content takes.
pub const fn tlv_len(content: usize) -> usize {
    2 + length_digits(content) + content
}

/// How many octets follow a length's first.
const fn length_digits(content: usize) -> usize {
    if content < 0x80 { 0 } else { (usize::BITS - content.leading_zeros()).div_ceil(8) as usize }
}

/// The octet that a length begins with: the length itself, or how many digits follow.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "without digits a length is below 128; there are eight at most")]
fn first_octet(length: usize, digits: usize) -> u8 {
    if digits == 0 { length as u8 } else { 0x80 | digits as u8 }
}

impl<'b> Writer<'b> {
    /// At the end of `out`.
    pub fn new(out: &'b mut Vec<u8>) -> Writer<'b> {
        Writer { out }
    }

    /// Tag and length of an element whose content the caller appends.
    #[inline]
    pub fn header(&mut self, tag: u8, content: usize) {
        let digits = length_digits(content);
        self.out.extend_from_slice(&[tag, first_octet(content, digits)]);
        if digits > 0 {
            self.out.extend_from_slice(&content.to_be_bytes()[size_of::<usize>() - digits..]);
        }
    }

    /// Elements encoded earlier, or a string's content after its header.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// An OCTET STRING, or whatever primitive element.
    #[inline]
    pub fn octets(&mut self, tag: u8, content: &[u8]) {
        self.header(tag, content.len());
        self.raw(content);
    }

    /// A string as an OCTET STRING.
    #[inline]
    pub fn text(&mut self, content: &str) {
        self.octets(tag::OCTETS, content.as_bytes());
    }

    /// An INTEGER or ENUMERATED, in as few octets as it needs.
    pub fn integer(&mut self, tag: u8, value: i32) {
        let octets = value.to_be_bytes();
        let first = octets.windows(2).take_while(|two| needless(two[0], two[1])).count();
        self.octets(tag, &octets[first..]);
    }

    /// A non-negative INTEGER; beyond `maxInt` it is written as `maxInt`.
    pub fn unsigned(&mut self, tag: u8, value: u32) {
        self.integer(tag, i32::try_from(value).unwrap_or(i32::MAX));
    }

    /// A BOOLEAN.
    pub fn boolean(&mut self, tag: u8, value: bool) {
        self.octets(tag, &[if value { 0xFF } else { 0 }]);
    }

    /// A constructed element with whatever `content` writes.
    pub fn constructed<R>(&mut self, tag: u8, content: impl FnOnce(&mut Writer<'_>) -> R) -> R {
        self.out.extend_from_slice(&[tag, 0]);
        let start = self.out.len();
        let result = content(&mut Writer { out: self.out });
        let length = self.out.len() - start;
        let digits = length_digits(length);
        self.out[start - 1] = first_octet(length, digits);
        if digits > 0 {
            self.out.resize(start + length + digits, 0);
            self.out.copy_within(start..start + length, start + digits);
            self.out[start..start + digits].copy_from_slice(&length.to_be_bytes()[size_of::<usize>() - digits..]);
        }
        result
    }

    /// A SEQUENCE.
    pub fn sequence<R>(&mut self, content: impl FnOnce(&mut Writer<'_>) -> R) -> R {
        self.constructed(tag::SEQUENCE, content)
    }
}

/// Whether an integer's first octet says nothing that the second does not.
fn needless(first: u8, second: u8) -> bool {
    (first == 0 && second < 0x80) || (first == 0xFF && second >= 0x80)
}
