//! Files in an overlay (overlayfs), as containers have them.
//!
//! Owns: telling such files, opening them anew. Must not know: what is mapped.
//!
//! A file of a lower layer is copied when somebody first opens it to write. Who has it open to read then asks the copy for
//! its length and its content; but what they have mapped goes on being the file that was copied.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// What `statfs` says of an overlay.
const OVERLAYFS_SUPER_MAGIC: i128 = 0x794c_7630;

/// Whether the file, which is open to be read, may be left behind by a copy of it.
pub(crate) fn may_be_copied(file: &File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|found| i128::from(found.f_type) == OVERLAYFS_SUPER_MAGIC)
}

/// The file, or its copy where there is one by now, to be mapped and read.
pub(crate) fn open_anew(file: &File) -> io::Result<File> {
    // The descriptor, not the name: another file may have that by now.
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
