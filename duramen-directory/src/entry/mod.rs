//! Entries as they are stored: the attribute list as it is sent, with a small directory in front.
//!
//! Owns: the bytes of table `entry`. Must not know: what attributes mean.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | marks: alias, referral, subentry, wide |
//! | 1 | attributes whose values are in table `value` |
//! | 2, 2 | attributes; user attributes among them |
//! | 2 | length of the RDN |
//! | 4 | id of the parent |
//! | 2 each | number of each attribute's type, with a mark if it has options |
//! | 2 each, wide: 4 | where each attribute ends, from where the first begins |
//! | | RDN, as it was written; of a suffix its whole name |
//! | | attributes, encoded (RFC 4511 section 4.1.7): user attributes, then operational ones |
//! | | for each attribute in table `value`: number (2), values (4), bytes of their encodings (4), length of its description (1), description |
//!
//! Numbers have their lowest byte first.

mod build;
mod numbers;
mod view;

pub(crate) use build::{Builder, LargeAttribute};
pub(crate) use view::{Entry, StoredAttribute};

/// Marks of an entry, which table `name` has too.
pub(crate) mod mark {
    pub const ALIAS: u8 = 1;
    pub const REFERRAL: u8 = 2;
    pub const SUBENTRY: u8 = 4;
    /// The ends of attributes have four bytes.
    pub(super) const WIDE: u8 = 0x80;
}

/// The mark of an attribute with options, beside its number.
const HAS_OPTIONS: u16 = 0x8000;
const NUMBER: u16 = 0x3FFF;
const HEAD: usize = 12;

#[cfg(test)]
mod tests;
