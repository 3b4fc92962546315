//! The part of BER that LDAP uses (RFC 4511 section 5.1): definite lengths, primitive strings, tags of one byte.
//!
//! Owns: tags, lengths, integers, lists; where a message ends in a stream. Must not know: what any message means.

mod frame;
mod list;
mod reader;
mod writer;

pub use frame::{Frame, FrameError, frame};
pub use list::{Element, Elements, List};
pub use reader::Reader;
pub use writer::{Writer, tlv_len};

/// Tags of the universal class, as they stand in the first byte.
pub mod tag {
    /// BOOLEAN
    pub const BOOLEAN: u8 = 0x01;
    /// INTEGER
    pub const INTEGER: u8 = 0x02;
    /// OCTET STRING
    pub const OCTETS: u8 = 0x04;
    /// NULL
    pub const NULL: u8 = 0x05;
    /// ENUMERATED
    pub const ENUMERATED: u8 = 0x0A;
    /// SEQUENCE and SEQUENCE OF
    pub const SEQUENCE: u8 = 0x30;
    /// SET and SET OF
    pub const SET: u8 = 0x31;

    /// `[number]`, primitive.
    pub const fn context(number: u8) -> u8 {
        0x80 | number
    }

    /// `[number]`, constructed.
    pub const fn context_constructed(number: u8) -> u8 {
        0xA0 | number
    }
}

#[cfg(test)]
mod tests;
