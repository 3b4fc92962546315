//! Where a message ends in a stream of bytes.
//!
//! Stateless: asked again with more bytes, it looks at the first few of them again. So a caller needs nothing but
//! its buffer, whether bytes come one at a time or many messages at once.

use super::reader::{LENGTH_OCTETS_MAX, length};
use super::tag;
use crate::error::DecodeError;

/// What a buffer begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// A whole message: this many bytes.
    Complete(usize),
    /// Part of a message. Nothing more can be said before the buffer holds this many bytes.
    Needs(usize),
}

/// Why a stream cannot be read on: nobody knows where the next message begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// No message begins like this.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The header announces more than the caller allows. Known before the message has arrived.
    #[error("a message of {bytes} bytes is longer than the limit of {bytes_max}")]
    TooLong {
        /// The length announced, header included.
        bytes: u64,
        /// The limit.
        bytes_max: usize,
    },
}

/// Looks for the end of the message that `buffer` begins with; `bytes_max` limits the whole of it.
pub fn frame(buffer: &[u8], bytes_max: usize) -> Result<Frame, FrameError> {
    let Some(&first) = buffer.first() else { return Ok(Frame::Needs(2)) };
    if first != tag::SEQUENCE {
        return Err(DecodeError { offset: 0, expected: "an LDAPMessage, which begins with the byte 0x30" }.into());
    }
    let Some(&octet) = buffer.get(1) else { return Ok(Frame::Needs(2)) };
    let header = if octet < 0x80 { 2 } else { 2 + usize::from(octet & 0x7F) };
    if buffer.len() < header && header <= 2 + LENGTH_OCTETS_MAX {
        return Ok(Frame::Needs(header));
    }
    let (content, start) = length(buffer, 1)?;
    let bytes = content as u64 + start as u64;
    if bytes > bytes_max as u64 {
        return Err(FrameError::TooLong { bytes, bytes_max });
    }
    let bytes = content + start;
    Ok(if buffer.len() < bytes { Frame::Needs(bytes) } else { Frame::Complete(bytes) })
}
