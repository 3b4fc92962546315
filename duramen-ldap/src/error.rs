//! What is wrong with bytes or text from outside, and where.
//!
//! Owns: the two errors of this crate's parsers. An error is two words and is made without allocating.

/// Bytes that are not the BER encoding of what should be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: expected {expected}")]
pub struct DecodeError {
    /// Where, in bytes from the start of what was decoded.
    pub offset: usize,
    /// What should have been there.
    pub expected: &'static str,
}

impl DecodeError {
    /// The same error in bytes in which these begin at `start`.
    pub(crate) fn after(self, start: usize) -> DecodeError {
        DecodeError { offset: self.offset + start, ..self }
    }
}

/// Text (a filter, a name, a URL, a description, a value) that does not follow its grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("at byte {offset}: expected {expected}")]
pub struct TextError {
    /// Where, in bytes from the start of the text.
    pub offset: usize,
    /// What should have been there.
    pub expected: &'static str,
}

impl From<DecodeError> for TextError {
    fn from(error: DecodeError) -> TextError {
        TextError { offset: error.offset, expected: error.expected }
    }
}

impl TextError {
    pub(crate) const fn new(offset: usize, expected: &'static str) -> TextError {
        TextError { offset, expected }
    }

    /// The same error in a text in which this one begins at `start`.
    pub(crate) fn after(self, start: usize) -> TextError {
        TextError { offset: self.offset + start, ..self }
    }
}
