//! Reading, without copying.
//!
//! Invariant: `at <= end <= whole.len()`. Offsets in errors count from the start of `whole`, however deep the reader.

use super::tag;
use crate::error::DecodeError;

/// Lengths of more octets than this are refused: no message is longer than 4 GiB.
pub(super) const LENGTH_OCTETS_MAX: usize = 4;

/// A place in a stretch of BER elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Reader<'a> {
    whole: &'a [u8],
    at: usize,
    end: usize,
}

impl std::fmt::Debug for Reader<'_> {
    // The content may be a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reader({}..{})", self.at, self.end)
    }
}

/// The length whose first octet is `bytes[at]`, and where its content begins. Any number of leading zeros is taken,
/// as some clients always send four octets.
#[inline]
pub(super) fn length(bytes: &[u8], at: usize) -> Result<(usize, usize), DecodeError> {
    let fail = |expected| DecodeError { offset: at, expected };
    let first = *bytes.get(at).ok_or(fail("a length"))?;
    if first < 0x80 {
        return Ok((usize::from(first), at + 1));
    }
    let octets = usize::from(first & 0x7F);
    if octets == 0 {
        return Err(fail("a definite length"));
    }
    if octets > LENGTH_OCTETS_MAX {
        return Err(fail("a length of at most 4 octets"));
    }
    let digits = bytes.get(at + 1..at + 1 + octets).ok_or(fail("all octets of a length"))?;
    let length = digits.iter().fold(0u64, |sum, &digit| sum << 8 | u64::from(digit));
    let length = usize::try_from(length).map_err(|_| fail("a length that fits in memory"))?;
    Ok((length, at + 1 + octets))
}

impl<'a> Reader<'a> {
    /// At the start of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { whole: bytes, at: 0, end: bytes.len() }
    }

    /// Whether nothing is left.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.at == self.end
    }

    /// Where it stands, in bytes from the start of what was first given to [`Reader::new`].
    pub const fn offset(&self) -> usize {
        self.at
    }

    /// What is left.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.whole[self.at..self.end]
    }

    /// An error about the place where it stands.
    pub fn fail<T>(&self, expected: &'static str) -> Result<T, DecodeError> {
        Err(DecodeError { offset: self.at, expected })
    }

    /// The next element's tag.
    #[inline]
    pub fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    /// The next element, whatever it is: tag and content.
    #[inline]
    pub fn any(&mut self, expected: &'static str) -> Result<(u8, Reader<'a>), DecodeError> {
        let Some(tag) = self.peek() else { return self.fail(expected) };
        if tag & 0x1F == 0x1F {
            return self.fail("a tag of one byte");
        }
        let (length, start) = length(&self.whole[..self.end], self.at + 1)?;
        if length > self.end - start {
            return Err(DecodeError { offset: self.at + 1, expected: "a length that ends within what encloses it" });
        }
        self.at = start + length;
        Ok((tag, Reader { whole: self.whole, at: start, end: start + length }))
    }

    /// The content of the next element, which has to have this tag. `expected` names it for the error.
    #[inline]
    pub fn element(&mut self, tag: u8, expected: &'static str) -> Result<Reader<'a>, DecodeError> {
        if self.peek() != Some(tag) {
            return self.fail(expected);
        }
        Ok(self.any(expected)?.1)
    }

    /// The content of the next element if it has this tag.
    #[inline]
    pub fn optional(&mut self, tag: u8) -> Result<Option<Reader<'a>>, DecodeError> {
        if self.peek() == Some(tag) { Ok(Some(self.any("an element")?.1)) } else { Ok(None) }
    }

    /// An OCTET STRING, or what is tagged instead of one.
    #[inline]
    pub fn octets(&mut self, tag: u8, expected: &'static str) -> Result<&'a [u8], DecodeError> {
        Ok(self.element(tag, expected)?.rest())
    }

    /// An LDAPString: UTF-8.
    #[inline]
    pub fn text(&mut self, tag: u8, expected: &'static str) -> Result<&'a str, DecodeError> {
        self.element(tag, expected)?.into_text()
    }

    /// What is left, as UTF-8.
    #[inline]
    pub fn into_text(self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.rest())
            .map_err(|error| DecodeError { offset: self.at + error.valid_up_to(), expected: "UTF-8" })
    }

    /// An INTEGER or ENUMERATED of at most four octets.
    #[inline]
    pub fn integer(&mut self, tag: u8, expected: &'static str) -> Result<i32, DecodeError> {
        self.element(tag, expected)?.into_integer()
    }

    /// What is left, as an integer of one to four octets. Needless leading octets are taken, as others take them.
    #[inline]
    pub fn into_integer(self) -> Result<i32, DecodeError> {
        match *self.rest() {
            [a] => Ok(i32::from(a.cast_signed())),
            [a, b] => Ok(i32::from(i16::from_be_bytes([a, b]))),
            [a, b, c] => Ok(i32::from_be_bytes([a, b, c, 0]) >> 8),
            [a, b, c, d] => Ok(i32::from_be_bytes([a, b, c, d])),
            _ => self.fail("an integer of one to four octets"),
        }
    }

    /// A BOOLEAN. Any octet but zero is true, as in BER; LDAP itself asks senders for 0xFF.
    #[inline]
    pub fn boolean(&mut self, tag: u8, expected: &'static str) -> Result<bool, DecodeError> {
        self.element(tag, expected)?.into_boolean()
    }

    /// What is left, as a BOOLEAN's content. Some clients write it as an integer, and other servers take that.
    pub fn into_boolean(self) -> Result<bool, DecodeError> {
        match self.rest() {
            octets @ ([_] | [_, _] | [_, _, _] | [_, _, _, _]) => Ok(octets.iter().any(|octet| *octet != 0)),
            _ => self.fail("a BOOLEAN of one octet"),
        }
    }

    /// A non-negative INTEGER: `INTEGER (0 .. maxInt)`.
    pub fn unsigned(&mut self, tag: u8, expected: &'static str) -> Result<u32, DecodeError> {
        let before = *self;
        u32::try_from(self.integer(tag, expected)?).or_else(|_| before.fail("an integer that is not negative"))
    }

    /// That nothing is left.
    pub fn finish(self, expected: &'static str) -> Result<(), DecodeError> {
        if self.is_empty() { Ok(()) } else { self.fail(expected) }
    }

    /// Passes over what a later version of the protocol may have put at the end of a SEQUENCE (RFC 4511 section 4):
    /// well-formed elements are ignored, anything else is an error.
    #[inline]
    pub fn ignore_rest(mut self) -> Result<(), DecodeError> {
        while !self.is_empty() {
            self.any("an element")?;
        }
        Ok(())
    }

    /// The next element as a SEQUENCE.
    #[inline]
    pub fn sequence(&mut self, expected: &'static str) -> Result<Reader<'a>, DecodeError> {
        self.element(tag::SEQUENCE, expected)
    }
}
