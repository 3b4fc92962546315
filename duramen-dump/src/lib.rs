//! The text format of LMDB's mdb_dump and mdb_load (`VERSION=3`, Berkeley DB's before them).
//!
//! Owns: headers, and how bytes are written as text, both directions. Must not know: databases.
//!
//! A stream is one section or several. A section is a header, lines `NAME=VALUE` up to `HEADER=END`, then entries, and
//! `DATA=END`. An entry is two lines, key and value, each after a blank: in `format=bytevalue` two hexadecimal digits a
//! byte, in `format=print` printable ASCII with `\` and two digits for everything else. A section without `database=`
//! is of the main table.

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
