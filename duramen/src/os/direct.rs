//! Large reads and writes past the page cache, where the filesystem can do that.
//!
//! Owns: aligned memory ([`Block`]), files opened for direct I/O ([`DirectFile`]), temporary files without a name
//! ([`TemporaryFile`]).
//! Must not know: what is written.
//!
//! Direct I/O costs a fifth of the processor time of a write through the page cache and does not drive other data out of
//! memory. Some filesystems refuse it, some when the file is opened and some only at the first transfer: then the file
//! goes on as an ordinary one.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::ops::{Deref, DerefMut};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, OFlags, StatxFlags, fcntl_getfl, fcntl_setfl, statx};
use rustix::io::Errno;

use super::file::{apart_from_streams, failed};
use super::fork::ForkGuard;
use crate::error::Result;

/// Addresses, offsets and lengths of direct transfers are multiples of this.
pub(crate) const ALIGNMENT: usize = 4096;

/// `STATX_DIOALIGN` (Linux 6.1).
const TELLS_UNIT: StatxFlags = StatxFlags::from_bits_retain(0x2000);

/// What offsets and lengths of direct transfers to a file may be multiples of, where the filesystem says so: a power of
/// two. Others may take smaller pieces than they like, and read the page around each.
pub(crate) fn unit(file: &File) -> Option<u64> {
    let found = statx(file, c"", AtFlags::EMPTY_PATH, TELLS_UNIT).ok()?;
    let told = found.stx_mask & TELLS_UNIT.bits() != 0 && found.stx_dio_mem_align as usize <= ALIGNMENT;
    Some(u64::from(found.stx_dio_offset_align)).filter(|unit| told && unit.is_power_of_two())
}

/// Memory at an address that suits direct I/O.
pub(crate) struct Block {
    memory: Vec<u8>,
    start: usize,
    len: usize,
}

impl Block {
    /// `len` zeroes.
    pub(crate) fn new(len: usize) -> Block {
        let memory = vec![0; len + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Block { memory, start, len }
    }

    /// A copy of `bytes`.
    pub(crate) fn holding(bytes: &[u8]) -> Block {
        let mut block = Block::new(bytes.len());
        block.copy_from_slice(bytes);
        block
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// How far a write has come when it returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Until {
    /// The disk has it, perhaps in its cache.
    Transferred,
    /// It survives a power cut.
    Durable,
}

/// A file that is read and written past the page cache until the filesystem refuses that.
pub(crate) struct DirectFile(File);

impl DirectFile {
    /// Opens a file that is open for writing once more; nothing if it is not, or cannot be opened for direct I/O.
    pub(crate) fn reopen(file: &File, until: Until) -> Option<DirectFile> {
        // The system would open it for whoever may write it by its name.
        fcntl_getfl(file).ok().filter(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR))?;
        let sync = if until == Until::Durable { libc::O_DSYNC } else { 0 };
        // The descriptor, not the name: another file may have that by now.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let again = OpenOptions::new().write(true).custom_flags(libc::O_DIRECT | sync).open(path);
        again.and_then(apart_from_streams).ok().map(DirectFile)
    }

    /// A new file in a directory that has no name there and goes away with the process.
    fn temporary(directory: &Path) -> Result<DirectFile> {
        let open = |flags| {
            OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE | flags).open(directory)
        };
        let file = match open(libc::O_DIRECT).or_else(|_| open(0)) {
            Ok(file) => file,
            Err(error) if refuses_nameless(&error) => named_and_removed(directory)?,
            Err(error) => return Err(failed("create a temporary file in", directory)(error)),
        };
        Ok(DirectFile(apart_from_streams(file).map_err(failed("move a temporary file in", directory))?))
    }

    /// Writes all of `bytes` at `offset`, all three aligned.
    pub(crate) fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.or_through_the_cache(|file| file.write_all_at(bytes, offset))
    }

    /// Fills `bytes` from `offset`, all three aligned.
    pub(crate) fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.or_through_the_cache(|file| file.read_exact_at(bytes, offset))
    }

    fn or_through_the_cache(&self, mut transfer: impl FnMut(&File) -> io::Result<()>) -> io::Result<()> {
        match transfer(&self.0) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && self.leave_direct() => transfer(&self.0),
            outcome => outcome,
        }
    }

    /// Makes it an ordinary file; false if it is one already.
    fn leave_direct(&self) -> bool {
        match fcntl_getfl(&self.0) {
            Ok(flags) if flags.contains(OFlags::DIRECT) => fcntl_setfl(&self.0, flags - OFlags::DIRECT).is_ok(),
            _ => false,
        }
    }
}

impl Deref for DirectFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

/// A file without a name, which gives its room back when it is dropped: a program that was just begun, or a forked
/// child, may have its descriptor for longer. A child that drops it leaves it as it is, as it is its parent's.
pub(crate) struct TemporaryFile {
    file: DirectFile,
    guard: ForkGuard,
}

impl TemporaryFile {
    /// An empty one in a directory.
    pub(crate) fn new(directory: &Path) -> Result<TemporaryFile> {
        Ok(TemporaryFile { file: DirectFile::temporary(directory)?, guard: ForkGuard::new() })
    }
}

impl Deref for TemporaryFile {
    type Target = DirectFile;

    fn deref(&self) -> &DirectFile {
        &self.file
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.guard.forked() {
            // Where that fails, the room comes back with the last descriptor.
            let _ = self.file.0.set_len(0);
        }
    }
}

/// Whether a filesystem (or an old kernel) has no files without names.
fn refuses_nameless(error: &io::Error) -> bool {
    let refusals = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL, Errno::NOSYS, Errno::NOENT];
    refusals.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// A file under a name that nobody uses, removed at once.
fn named_and_removed(directory: &Path) -> Result<File> {
    for n in 0u32.. {
        let path = directory.join(format!(".duramen-{}-{n}", std::process::id()));
        match OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => {
                std::fs::remove_file(&path).map_err(failed("remove", &path))?;
                return Ok(file);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed("create", &path)(error)),
        }
    }
    unreachable!("four billion files of this process in one directory")
}

#[cfg(test)]
mod tests {
    use super::super::fork::in_forked_child;
    use super::*;

    fn write_and_read(file: &DirectFile) {
        let mut block = Block::new(2 * ALIGNMENT);
        block.fill(7);
        file.write_at(ALIGNMENT as u64, &block).unwrap();
        let mut back = Block::new(2 * ALIGNMENT);
        file.read_at(ALIGNMENT as u64, &mut back).unwrap();
        assert!(*back == *block);
        assert_eq!(file.read_at(9 * ALIGNMENT as u64, &mut back).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_temporary_file_leaves_no_name() {
        let directory = tempfile::tempdir().unwrap();
        write_and_read(&DirectFile::temporary(directory.path()).unwrap());
        write_and_read(&DirectFile(named_and_removed(directory.path()).unwrap()));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        let missing = directory.path().join("missing");
        let error = DirectFile::temporary(&missing).err().unwrap();
        assert!(error.to_string().contains("missing"), "{error}");
    }

    #[test]
    fn a_temporary_file_gives_its_room_back_whoever_has_its_descriptor() {
        let directory = tempfile::tempdir().unwrap();
        let mut file = Some(TemporaryFile::new(directory.path()).unwrap());
        write_and_read(file.as_ref().unwrap());
        let other = file.as_ref().unwrap().file.0.try_clone().unwrap();
        assert!(in_forked_child(|| {
            drop(file.take());
            true
        }));
        assert_eq!(other.metadata().unwrap().len(), 3 * ALIGNMENT as u64, "a child leaves it to its parent");
        drop(file.take());
        assert_eq!(other.metadata().unwrap().len(), 0);
    }

    #[test]
    fn a_transfer_that_cannot_be_direct_goes_through_the_cache() {
        let directory = tempfile::tempdir().unwrap();
        let file = DirectFile::temporary(directory.path()).unwrap();
        // Neither the length nor the address suits a direct transfer.
        let bytes = [9; 100];
        file.write_at(3, &bytes[1..]).unwrap();
        let mut back = [0; 99];
        file.read_at(3, &mut back).unwrap();
        assert_eq!(back, bytes[1..]);
        assert!(!file.leave_direct());
    }

    #[test]
    fn a_file_opened_again_is_the_same() {
        let file = tempfile::tempfile().unwrap();
        let mut block = Block::new(ALIGNMENT);
        block.fill(3);
        if let Some(direct) = DirectFile::reopen(&file, Until::Transferred) {
            direct.write_at(0, &block).unwrap();
            let mut back = vec![0; ALIGNMENT];
            file.read_exact_at(&mut back, 0).unwrap();
            assert_eq!(back, *block);
        }
    }
}
