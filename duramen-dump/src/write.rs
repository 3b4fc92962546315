//! Writing the format, byte for byte as mdb_dump does.
//!
//! One difference: in `format=print` a backslash is written `\5c`. mdb_dump before 0.9.25 writes it bare, which nothing
//! can read back; every mdb_load reads `\5c`.

use std::io::{self, Write};

use crate::{Format, Header};

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes a section's header.
///
/// # Errors
/// Those of `out`.
pub fn write_header(out: &mut impl Write, header: &Header) -> io::Result<()> {
    let format = if header.format == Format::Print { "print" } else { "bytevalue" };
    write!(out, "VERSION=3\nformat={format}\n")?;
    if let Some(name) = &header.database {
        out.write_all(b"database=")?;
        out.write_all(name)?;
        out.write_all(b"\n")?;
    }
    write!(out, "type=btree\nmapsize={}\nmaxreaders={}\n", header.map_bytes, header.max_readers)?;
    let flags = [
        (header.duplicates, "duplicates"),
        (header.reverse_key, "reversekey"),
        (header.duplicates, "dupsort"),
        (header.integer_key, "integerkey"),
        (header.dup_fixed, "dupfixed"),
        (header.integer_dup, "integerdup"),
        (header.reverse_dup, "reversedup"),
    ];
    for (_, name) in flags.into_iter().filter(|(set, _)| *set) {
        writeln!(out, "{name}=1")?;
    }
    if header.user_bits != 0 {
        writeln!(out, "user_bits={}", header.user_bits)?;
    }
    write!(out, "db_pagesize={}\nHEADER=END\n", header.page_size)
}

/// Writes an entry in the format of its section's header; `line` is memory to work in.
///
/// # Errors
/// Those of `out`.
pub fn write_entry(
    out: &mut impl Write,
    format: Format,
    key: &[u8],
    value: &[u8],
    line: &mut Vec<u8>,
) -> io::Result<()> {
    line.clear();
    for bytes in [key, value] {
        line.push(b' ');
        match format {
            Format::ByteValue => bytes.iter().for_each(|&byte| push_hex(line, byte)),
            Format::Print => bytes.iter().for_each(|&byte| push_print(line, byte)),
        }
        line.push(b'\n');
    }
    out.write_all(line)
}

fn push_hex(line: &mut Vec<u8>, byte: u8) {
    line.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

fn push_print(line: &mut Vec<u8>, byte: u8) {
    if matches!(byte, b' '..=b'~') && byte != b'\\' {
        line.push(byte);
    } else {
        line.push(b'\\');
        push_hex(line, byte);
    }
}

/// Ends a section.
///
/// # Errors
/// Those of `out`.
pub fn write_end(out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"DATA=END\n")
}
