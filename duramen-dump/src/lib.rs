//! The text format of LMDB's mdb_dump and mdb_load (`VERSION=3`, Berkeley DB's before them).
//!
//! Owns: headers, what they mean for a table of ours, and how bytes are written as text, both directions. Must not know:
//! where text comes from and goes, databases.
//!
//! A stream is one section or several. A section is a header, lines `NAME=VALUE` up to `HEADER=END`, then entries, and
//! `DATA=END`. An entry is two lines, key and value, each after a blank: in `format=bytevalue` two hexadecimal digits a
//! byte, in `format=print` printable ASCII with `\` and two digits for everything else. A section without `database=`
//! is of the main table.
//!
//! ```
//! use duramen_dump::{Format, Header, Reader, write_end, write_entry, write_header};
//!
//! let header = Header { format: Format::Print, database: Some(b"people".to_vec()), ..Header::default() };
//! let (mut text, mut line) = (Vec::new(), Vec::new());
//! write_header(&mut text, &header)?;
//! write_entry(&mut text, header.format, b"bjensen", b"Barbara\0Jensen", &mut line)?;
//! write_end(&mut text)?;
//! assert!(text.ends_with(b"HEADER=END\n bjensen\n Barbara\\00Jensen\nDATA=END\n"));
//!
//! let (mut reader, mut key, mut value) = (Reader::new(&text[..]), Vec::new(), Vec::new());
//! while let Some(header) = reader.next_header()? {
//!     assert_eq!(header.database.as_deref(), Some(&b"people"[..]));
//!     while reader.next_entry(&mut key, &mut value)? {
//!         assert_eq!((&key[..], &value[..]), (&b"bjensen"[..], &b"Barbara\0Jensen"[..]));
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss))]

mod decode;
mod header;
mod problem;
mod read;
mod write;

pub use decode::nibble;
pub use header::Header;
pub use problem::{BadInput, Part, Problem};
pub use read::{Line, Reader};
pub use write::{write_end, write_entry, write_header};

/// How an entry's bytes are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Format {
    /// `format=bytevalue`
    #[default]
    ByteValue,
    /// `format=print`
    Print,
}
