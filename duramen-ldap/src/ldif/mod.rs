//! LDIF (RFC 2849): entries and changes as text.
//!
//! Owns: the format. Must not know: where text comes from (any [`std::io::BufRead`]), schema, whether a name is one.
//!
//! The reader keeps one record at a time, unfolded in a buffer that it uses again; a record borrows from it.

mod reader;
mod record;
mod writer;

pub use reader::{LdifError, LdifReader};
pub use record::{Body, LdifControl, Modification, Pair, Record};
pub use writer::{write_comment, write_encoded, write_pair, write_unfolded};

#[cfg(test)]
mod tests;
