//! Byte-range locks that belong to an open file ("open file description locks").
//!
//! Owns: taking, testing and dropping them. Must not know: what the bytes stand for.
//!
//! Unlike the older POSIX locks they do not vanish when some other handle of the process on the same file is closed,
//! and two handles of one process exclude each other. They end with the last descriptor of the open file: with the
//! process, however it dies. A forked child shares its parent's open files and would keep their locks alive: it gives up
//! those of a [`LockFile`] ([`super::parting`]). Threads using one handle are *not* excluded from each other, and a lock taken
//! twice through one handle is dropped by the first unlock.
//!
//! # Safety
//! `fcntl` is given a live descriptor and a pointer to a `flock` on the stack, which it does not keep.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::os::fork::ForkGuard;
use crate::os::parting::Parted;

/// How often [`Held::wait`] looks.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// An open file whose locks end when it is dropped, or with the process, even if a forked child goes on having it open.
pub(crate) struct LockFile {
    /// Goes before the file.
    _parted: Parted,
    file: File,
    /// The same, opened once more.
    twin: Option<File>,
    guard: ForkGuard,
}

impl LockFile {
    /// To be made before the first lock is taken.
    pub(crate) fn new(file: File) -> LockFile {
        LockFile { _parted: Parted::new(&file), file, twin: None, guard: ForkGuard::new() }
    }

    /// What `open` opens, twice if that can be had: a mapping keeps the locks of what it was mapped by. Nothing if the second
    /// is another file.
    pub(crate) fn twice(open: impl Fn() -> Result<File>) -> Result<Option<LockFile>> {
        let mut lock_file = LockFile::new(open()?);
        let Ok(twin) = open() else { return Ok(Some(lock_file)) };
        let inspect = |file: &File| file.metadata().map_err(Error::io("inspect the lock file"));
        let (one, other) = (inspect(&lock_file)?, inspect(&twin)?);
        lock_file.twin = Some(twin);
        Ok(((one.dev(), one.ino()) == (other.dev(), other.ino())).then_some(lock_file))
    }

    /// What it is to be mapped by, if not by itself.
    pub(crate) fn take_twin(&mut self) -> Option<File> {
        self.twin.take()
    }
}

impl Deref for LockFile {
    type Target = File;

    #[inline]
    fn deref(&self) -> &File {
        &self.file
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.guard.forked() {
            // Were it to fail, closing would still drop them once no child has the file open.
            let _ = unlock(&self.file, 0..i64::MAX as u64);
        }
    }
}

/// Whether a lock excludes all others or only exclusive ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Excludes all others. Needs a descriptor open for writing.
    Exclusive,
    /// Excludes exclusive ones. Needs a descriptor open for reading.
    Shared,
}

/// Takes the lock, or changes the kind of one held, if nobody is in the way. What was held stays held on `false`.
pub(crate) fn try_lock(file: &File, range: Range<u64>, kind: Kind) -> Result<bool> {
    match apply(file, libc::F_OFD_SETLK, &mut request(range, kind)) {
        Ok(()) => Ok(true),
        Err(e) if matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        Err(e) => Err(Error::io("lock a range of the file")(e)),
    }
}

/// Takes the lock, waiting for as long as it takes.
pub(crate) fn lock(file: &File, range: Range<u64>, kind: Kind) -> Result<()> {
    apply(file, libc::F_OFD_SETLKW, &mut request(range, kind)).map_err(Error::io("wait for a lock of the file"))
}

/// A range that is locked for as long as this lives, or the process.
pub(crate) struct Held {
    file: Arc<File>,
    range: Range<u64>,
    guard: ForkGuard,
}

impl Held {
    /// Waits until nobody else holds this very range. None where that cannot be had: a program may have a lock of its own on
    /// more of the file, or the filesystem have none.
    pub(crate) fn wait(file: &Arc<File>, range: Range<u64>) -> Option<Held> {
        let guard = ForkGuard::new();
        loop {
            if try_lock(file, range.clone(), Kind::Exclusive).ok()? {
                return Some(Held { file: file.clone(), range, guard });
            }
            // The program that waits may be the one whose lock it is.
            match conflict(file, range.clone()).ok()? {
                Some((other, _)) if other != range => return None,
                _ => thread::sleep(LOOK_AGAIN),
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.guard.forked() {
            let _ = unlock(&self.file, self.range.clone());
        }
    }
}

/// Drops whatever this open file holds in the range.
pub(crate) fn unlock(file: &File, range: Range<u64>) -> Result<()> {
    let mut request = request(range, Kind::Shared);
    request.l_type = short(libc::F_UNLCK);
    apply(file, libc::F_OFD_SETLK, &mut request).map_err(Error::io("unlock a range of the file"))
}

/// Some lock of another open file's, whole, on any part of the range; not necessarily the first.
pub(crate) fn conflict(file: &File, range: Range<u64>) -> Result<Option<(Range<u64>, Kind)>> {
    let mut answer = request(range, Kind::Exclusive);
    apply(file, libc::F_OFD_GETLK, &mut answer).map_err(Error::io("test a lock of the file"))?;
    if i32::from(answer.l_type) == libc::F_UNLCK {
        return Ok(None);
    }
    let start = answer.l_start.cast_unsigned();
    let end = if answer.l_len == 0 { u64::MAX } else { start.saturating_add(answer.l_len.cast_unsigned()) };
    let kind = if i32::from(answer.l_type) == libc::F_WRLCK { Kind::Exclusive } else { Kind::Shared };
    Ok(Some((start..end, kind)))
}

fn request(range: Range<u64>, kind: Kind) -> libc::flock {
    debug_assert!(range.start < range.end && range.end <= i64::MAX as u64);
    // SAFETY: `flock` is made of integers, for which zero is a value. `l_pid` has to be zero.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = short(match kind {
        Kind::Exclusive => libc::F_WRLCK,
        Kind::Shared => libc::F_RDLCK,
    });
    request.l_whence = short(libc::SEEK_SET);
    request.l_start = range.start.cast_signed();
    request.l_len = (range.end - range.start).cast_signed();
    request
}

/// A constant of `fcntl.h` as the type of the fields that it is made for.
#[expect(clippy::cast_possible_truncation, reason = "all of them are small")]
const fn short(constant: libc::c_int) -> libc::c_short {
    constant as libc::c_short
}

fn apply(file: &File, command: libc::c_int, request: &mut libc::flock) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is borrowed from a live `File`, and `request` outlives the call.
        if unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(request)) } == 0 {
            return Ok(());
        }
        let e = io::Error::last_os_error();
        if e.kind() != io::ErrorKind::Interrupted {
            return Err(explained(e));
        }
    }
}

/// What systems without such locks, and sandboxes that deny them, answer means nothing else here.
fn explained(e: io::Error) -> io::Error {
    match e.raw_os_error() {
        Some(libc::EINVAL | libc::ENOSYS | libc::EPERM) => io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "here are no locks of open files (F_OFD_SETLK, Linux 3.15 and later; or a sandbox denies them): {e}"
            ),
        ),
        _ => e,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_handles() -> (LockFile, LockFile) {
        let first = tempfile::NamedTempFile::new().unwrap();
        let second = first.reopen().unwrap();
        (LockFile::new(first.into_file()), LockFile::new(second))
    }

    #[test]
    fn two_handles_of_one_process_exclude_each_other() {
        let (a, b) = two_handles();
        let far = (1 << 61)..(1 << 61) + 1;
        assert!(try_lock(&a, far.clone(), Kind::Exclusive).unwrap());
        assert!(!try_lock(&b, far.clone(), Kind::Shared).unwrap());
        assert_eq!(conflict(&b, far.clone()).unwrap(), Some((far.clone(), Kind::Exclusive)));
        assert_eq!(conflict(&a, far.clone()).unwrap(), None);
        unlock(&a, far.clone()).unwrap();
        assert!(try_lock(&b, far, Kind::Exclusive).unwrap());
    }

    #[test]
    fn where_such_locks_are_missing_the_error_says_so() {
        for missing in [libc::EINVAL, libc::ENOSYS, libc::EPERM] {
            let e = explained(io::Error::from_raw_os_error(missing));
            assert!(e.kind() == io::ErrorKind::Unsupported && e.to_string().contains("F_OFD_SETLK"), "{e}");
        }
        assert_eq!(explained(io::Error::from_raw_os_error(libc::ENOLCK)).raw_os_error(), Some(libc::ENOLCK));
    }

    #[test]
    fn a_refused_upgrade_keeps_the_shared_lock() {
        let (a, b) = two_handles();
        assert!(try_lock(&a, 7..8, Kind::Shared).unwrap() && try_lock(&b, 7..8, Kind::Shared).unwrap());
        assert!(!try_lock(&a, 7..8, Kind::Exclusive).unwrap());
        assert_eq!(conflict(&b, 7..8).unwrap(), Some((7..8, Kind::Shared)));
        drop(b);
        assert!(try_lock(&a, 7..8, Kind::Exclusive).unwrap());
    }

    #[test]
    fn closing_one_handle_leaves_the_locks_of_another() {
        let (a, b) = two_handles();
        let path = format!("/proc/self/fd/{}", a.as_raw_fd());
        lock(&a, 0..1, Kind::Exclusive).unwrap();
        drop(LockFile::new(File::open(path).unwrap()));
        assert_eq!(conflict(&b, 0..1).unwrap(), Some((0..1, Kind::Exclusive)));
        drop(a);
        assert_eq!(conflict(&b, 0..1).unwrap(), None);
    }

    #[test]
    fn a_lock_is_told_whole_whatever_part_of_it_is_asked_about() {
        let (a, b) = two_handles();
        lock(&a, 10..20, Kind::Shared).unwrap();
        assert_eq!(conflict(&b, 0..100).unwrap(), Some((10..20, Kind::Shared)));
        assert_eq!(conflict(&b, 15..17).unwrap(), Some((10..20, Kind::Shared)));
        assert_eq!(conflict(&b, 20..100).unwrap(), None);
    }
}
