//! The folder of a directory.
//!
//! Owns: whose the database's file in it is. Must not know: what is in that.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

/// Permissions of the database's file: there are passwords in it.
pub(crate) const MODE: u32 = 0o600;

/// Makes the file of a new directory, empty, for the owner of the folder that it is in: the server runs as that one, and
/// root may import for it. Only root can give files away; where that is refused the file is its maker's.
///
/// # Errors
/// Those of the filesystem, of which whoever opens the file then tells. One that is there already stays as it is.
pub(crate) fn make(file: &Path) -> io::Result<()> {
    let owner = fs::metadata(file.parent().unwrap_or(file))?;
    let made = OpenOptions::new().write(true).create_new(true).mode(MODE).open(file)?;
    if made.metadata()?.uid() == owner.uid() {
        return Ok(());
    }
    fchown(&made, Some(owner.uid()), Some(owner.gid()))
}
