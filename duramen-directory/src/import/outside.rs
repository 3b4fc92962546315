//! Values that a record has in files of their own (RFC 2849: `jpegPhoto:< file:///srv/photos/1.jpg`).
//!
//! Owns: which files are read. Must not know: records.

use std::fs::File;
use std::io::{self, ErrorKind, Read};

use duramen_ldap::url::file_path;

/// Longest value that is read so, in bytes.
const BYTES_MAX: u64 = 1 << 30;

/// The content of the file that a URL stands for.
pub(super) fn value(url: &str) -> io::Result<Vec<u8>> {
    let path = file_path(url.trim_end()).map_err(|error| {
        let what = format!("expected {} at its character {}", error.expected, error.offset + 1);
        io::Error::new(ErrorKind::InvalidInput, what)
    })?;
    // A pipe would keep the open waiting for its other end.
    if !std::fs::metadata(&path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::new(ErrorKind::FileTooLarge, "it is longer than 1 GiB"));
    }
    Ok(bytes)
}
