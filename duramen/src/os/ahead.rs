//! A write to a file that goes on while its caller does something else.
//!
//! Owns: the ring by which the kernel is asked for it (`io_uring(7)`), the bytes until the disk has them, the lock that tells
//! others of it. Must not know: what is written.
//!
//! Where the kernel offers no ring (before Linux 5.19, or in a sandbox), nothing can be begun, and the caller writes as
//! ever.
//!
//! The kernel does not wait for such a write when the process is killed, but gives up all its locks: what another process
//! writes there then, and flushes, may be overwritten when the disk comes to the dead one's bytes. So a write is under a lock of the
//! open file that it goes through. The kernel has that open until the disk is done, and with it the lock lives on; who comes
//! after a death waits for that ([`wait_for_the_dead`]).
//!
//! # Safety
//! The kernel reads the bytes until it says that it is done. They are in a [`Block`], which does not move, and which is
//! dropped after that alone, or never.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use io_uring::{IoUring, opcode, types::Fd};

use super::direct::{Block, DirectFile, Until};
use super::file::LAST_STREAM;
use super::fork::ForkGuard;
use super::lock::{self, Kind};
use super::parting::Parted;
use crate::error::{Error, Result};
use crate::width::to_u32;

/// What the kernel answers where it does not do it this way.
const REFUSALS: [i32; 6] = [libc::EINVAL, libc::EAGAIN, libc::EOPNOTSUPP, libc::ENOSYS, libc::EINTR, libc::ECANCELED];

/// What a write is locked by.
const FLYING: Range<u64> = 0..1;

/// What `fcntl` answers where a filesystem has no locks. Nothing can be begun there.
const NO_LOCKS: [i32; 4] = [libc::ENOLCK, libc::EOPNOTSUPP, libc::ENOSYS, libc::EINVAL];

/// Waits for what was begun through this file by those who have been killed.
pub(crate) fn wait_for_the_dead(file: &File) -> Result<()> {
    match lock::lock(file, FLYING, Kind::Shared) {
        Ok(()) => lock::unlock(file, FLYING),
        Err(Error::Io { source, .. }) if source.raw_os_error().is_some_and(|code| NO_LOCKS.contains(&code)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// One write at a time to one file.
pub(crate) struct Ahead {
    /// A forked child that lives on would keep the lock.
    _parted: Parted,
    /// For these writes alone, so that their lock is nobody else's.
    file: DirectFile,
    /// Not dropped in a forked child: that may have closed the descriptor, and have another file of its number.
    ring: ManuallyDrop<Mutex<Ring>>,
    guard: ForkGuard,
}

struct Ring {
    uring: IoUring,
    /// What the disk may be writing.
    flying: Option<Flying>,
    /// The kernel did not take, or did not give back, what it should have.
    broken: bool,
}

struct Flying {
    offset: u64,
    bytes: Block,
}

impl Ahead {
    /// Writes to a file that is open for writing; nothing, where that cannot be done past the page cache, or the kernel offers
    /// no ring.
    pub(crate) fn new(file: &File) -> Option<Ahead> {
        let file = DirectFile::reopen(file, Until::Durable)?;
        // Nobody is to be interrupted for an answer that is waited for later.
        let uring = IoUring::builder().setup_coop_taskrun().build(1).ok()?;
        // Who prints, and has closed the standard streams, would print into it.
        let ring = Ring { uring, flying: None, broken: false };
        let apart = ring.uring.as_raw_fd() > LAST_STREAM;
        let ahead = |file: DirectFile| Ahead {
            _parted: Parted::new(&file),
            file,
            ring: ManuallyDrop::new(Mutex::new(ring)),
            guard: ForkGuard::new(),
        };
        apart.then(|| ahead(file))
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to write `bytes`; false if that cannot be, or another write is on its way.
    pub(crate) fn begin(&self, offset: u64, bytes: &[u8]) -> bool {
        !self.guard.forked() && self.lock().begin(&self.file, offset, bytes)
    }

    /// Waits for what was begun, if anything was. Where the kernel has not done it this way it is done now.
    pub(crate) fn end(&self) -> io::Result<()> {
        if self.guard.forked() {
            return Ok(());
        }
        self.lock().end(&self.file)
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if self.guard.forked() {
            return;
        }
        // SAFETY: it is not used after this.
        let ring = unsafe { ManuallyDrop::take(&mut self.ring) };
        let mut ring = ring.into_inner().unwrap_or_else(PoisonError::into_inner);
        if ring.flying.is_none() {
            return;
        }
        if ring.wait().is_some() {
            // Closing does it once nobody has it open: a child being forked may, and the kernel for a moment more.
            let _ = lock::unlock(&self.file, FLYING);
        } else {
            // The kernel may read them yet.
            std::mem::forget(ring.flying.take());
        }
    }
}

impl Ring {
    fn begin(&mut self, file: &DirectFile, offset: u64, bytes: &[u8]) -> bool {
        if self.broken || self.flying.is_some() || !matches!(lock::try_lock(file, FLYING, Kind::Exclusive), Ok(true)) {
            return false;
        }
        let bytes = Block::holding(bytes);
        let write = opcode::Write::new(Fd(file.as_raw_fd()), bytes.as_ptr(), to_u32(bytes.len())).offset(offset);
        // SAFETY: see the head.
        let pushed = unsafe { self.uring.submission().push(&write.build()) }.is_ok();
        // Of what it has not taken by then the kernel takes nothing but when it is entered again, which it is not.
        if !pushed || !matches!(self.uring.submit(), Ok(1)) {
            self.broken = true;
            std::mem::forget(bytes);
            let _ = lock::unlock(file, FLYING);
            return false;
        }
        self.flying = Some(Flying { offset, bytes });
        true
    }

    fn end(&mut self, file: &DirectFile) -> io::Result<()> {
        if self.flying.is_none() {
            return Ok(());
        }
        let answer = self.wait();
        let Some(flying) = self.flying.take() else { return Ok(()) };
        let written = match answer {
            Some(done) if usize::try_from(done).is_ok_and(|done| done == flying.bytes.len()) => Ok(()),
            Some(error) if error < 0 && !REFUSALS.contains(&-error) => Err(io::Error::from_raw_os_error(-error)),
            _ => {
                let written = file.write_at(flying.offset, &flying.bytes);
                if answer.is_none() {
                    // The kernel may read them yet.
                    std::mem::forget(flying);
                }
                written
            }
        };
        // Were it to fail, who comes after a death would wait for the end of this process.
        let _ = lock::unlock(file, FLYING);
        written
    }

    /// Waits for the kernel's answer; none if there will be none.
    fn wait(&mut self) -> Option<i32> {
        loop {
            if let Some(answer) = self.uring.completion().next() {
                return Some(answer.result());
            }
            match self.uring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(_) => {
                    self.broken = true;
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::super::direct::ALIGNMENT;
    use super::super::fork::in_forked_child;
    use super::*;

    /// Something to begin writes with, and its file of zeros, where the system offers it.
    fn offered() -> Option<(Ahead, File)> {
        let file = tempfile::tempfile_in(std::env::temp_dir()).unwrap();
        file.write_all_at(&[0; 4 * ALIGNMENT], 0).unwrap();
        Some((Ahead::new(&file)?, file))
    }

    fn page_at(file: &File, n: usize) -> [u8; ALIGNMENT] {
        let mut page = [0; ALIGNMENT];
        file.read_exact_at(&mut page, (n * ALIGNMENT) as u64).unwrap();
        page
    }

    #[test]
    fn one_write_after_the_other_is_begun_and_waited_for() {
        let Some((ahead, file)) = offered() else { return };
        ahead.end().unwrap();
        for n in 1..4u8 {
            let page = [n; ALIGNMENT];
            assert!(ahead.begin(u64::from(n) * ALIGNMENT as u64, &page));
            assert!(!ahead.begin(0, &page), "not beside another");
            ahead.end().unwrap();
            assert_eq!(page_at(&file, n.into()), page);
        }
        assert_eq!(page_at(&file, 0), [0; ALIGNMENT]);
    }

    #[test]
    fn nothing_is_dropped_before_it_is_written() {
        let Some((ahead, file)) = offered() else { return };
        assert!(ahead.begin(0, &[7; 3 * ALIGNMENT]));
        drop(ahead);
        assert_eq!([0, 1, 2, 3].map(|n| page_at(&file, n)[100]), [7, 7, 7, 0]);
    }

    #[test]
    fn what_the_kernel_does_not_do_so_is_done_at_the_end() {
        let Some((ahead, file)) = offered() else { return };
        // Such a length is none for a direct transfer; the file goes on as an ordinary one.
        assert!(ahead.begin(5, &[9; 100]));
        ahead.end().unwrap();
        assert_eq!(page_at(&file, 0)[..106], [&[0; 5][..], &[9; 100], &[0]].concat());
    }

    #[test]
    fn a_write_that_fails_says_so_at_the_end() {
        let Some((ahead, _file)) = offered() else { return };
        assert!(ahead.begin(i64::MAX.cast_unsigned() & !4095, &[1; ALIGNMENT]));
        ahead.end().unwrap_err();
        assert!(ahead.begin(0, &[1; ALIGNMENT]), "the next is another");
        ahead.end().unwrap();
    }

    #[test]
    fn a_write_is_under_a_lock_until_it_is_over() {
        let Some((ahead, file)) = offered() else { return };
        let is_locked = || lock::conflict(&file, FLYING).unwrap().is_some();
        assert!(ahead.begin(0, &[1; ALIGNMENT]) && is_locked());
        ahead.end().unwrap();
        assert!(!is_locked());
        lock::lock(&file, FLYING, Kind::Shared).unwrap();
        assert!(!ahead.begin(0, &[2; ALIGNMENT]), "somebody waits for it to be over");
        lock::unlock(&file, FLYING).unwrap();
        wait_for_the_dead(&file).unwrap();
        assert!(ahead.begin(0, &[2; ALIGNMENT]) && is_locked());
        // As a child has that is being forked.
        let still_open = ahead.file.try_clone().unwrap();
        drop(ahead);
        assert!(!is_locked());
        drop(still_open);
    }

    #[test]
    fn a_forked_child_begins_nothing_and_leaves_the_parents_alone() {
        let Some((ahead, file)) = offered() else { return };
        assert!(ahead.begin(0, &[3; ALIGNMENT]));
        let mut ahead = Some(ahead);
        assert!(in_forked_child(|| {
            let ahead = ahead.take().unwrap();
            let begun = ahead.begin(0, &[4; ALIGNMENT]);
            let ended = ahead.end().is_ok();
            drop(ahead);
            !begun && ended
        }));
        ahead.unwrap().end().unwrap();
        assert_eq!(page_at(&file, 0), [3; ALIGNMENT]);
    }
}
