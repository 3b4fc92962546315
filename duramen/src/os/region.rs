//! Ranges of mapped memory.
//!
//! Owns: mapping, halving where address space is short, extending, unmapping. Must not know: what lies in the memory.
//!
//! # Safety
//! A [`Region`] owns its range: nobody else maps or unmaps it, and it goes with the value. It hands out addresses only;
//! whoever turns one into a reference vouches for what lies there.
#![allow(unsafe_code)]

use std::fs::File;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, ProtFlags};

use crate::os::limits::{self, Limit};

/// A mapping, unmapped on drop.
pub(crate) struct Region {
    base: NonNull<u8>,
    /// Grows only, by [`Region::extend`].
    bytes: AtomicUsize,
}

// SAFETY: an address range is the same in every thread; access to its bytes is the users' affair.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

/// Whether a mapping through which the program may write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reading only.
    Read,
    /// Reading and writing.
    Write,
}

impl Region {
    /// Maps `bytes` of `file` from its start, shared; they may reach far beyond its end.
    pub(crate) fn of_file(file: &File, bytes: usize, access: Access) -> rustix::io::Result<Region> {
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::Write => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: the kernel chooses the address, so no memory in use is touched.
        let base = unsafe { mm::mmap(null_mut(), bytes, protection, MapFlags::SHARED | MapFlags::NORESERVE, file, 0) }?;
        Region::own(base.cast(), bytes)
    }

    /// Maps `bytes` of zeros that cost memory only where they are touched.
    pub(crate) fn anonymous(bytes: usize) -> rustix::io::Result<Region> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses the address, so no memory in use is touched.
        let base = unsafe { mm::mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) }?;
        Region::own(base.cast(), bytes)
    }

    /// The largest mapping that `map` grants, starting with `wanted` bytes and halving down to `least`. Where the
    /// process's address space is limited, most of it is left to the program.
    pub(crate) fn largest(
        wanted: usize,
        least: usize,
        map: impl Fn(usize) -> rustix::io::Result<Region>,
    ) -> rustix::io::Result<Region> {
        let mut bytes = wanted.min(fair_share(Limit::AddressSpace)).max(least);
        loop {
            match map(bytes) {
                Err(e) if too_large(e) && bytes > least => bytes = page_floor(bytes / 2).max(least),
                answer => return answer,
            }
        }
    }

    /// As [`Region::largest`], of zeros as in [`Region::anonymous`]. All of those count as data, of which the process may be
    /// allowed less.
    pub(crate) fn largest_anonymous(wanted: usize, least: usize) -> rustix::io::Result<Region> {
        Region::largest(wanted.min(fair_share(Limit::Data)), least, Region::anonymous_unlocked)
    }

    /// As [`Region::anonymous`], even if the program keeps all of its memory in memory by `mlockall`: then all mappings are there
    /// from the start.
    fn anonymous_unlocked(bytes: usize) -> rustix::io::Result<Region> {
        let region = Region::closed(bytes)?;
        region.open(bytes)?;
        Ok(region)
    }

    /// Address space for `bytes` of zeros that must not be touched before they are [opened](Region::open). What may not be
    /// touched cannot be filled: they take no memory, also where the program comes to keep all that it has mapped in memory.
    pub(crate) fn closed(bytes: usize) -> rustix::io::Result<Region> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses the address, so no memory in use is touched.
        let base = unsafe { mm::mmap_anonymous(null_mut(), bytes, ProtFlags::empty(), flags) }?;
        let region = Region::own(base.cast(), bytes)?;
        // SAFETY: the range is the region's own, and nobody knows of it yet. Whoever is refused has a larger process.
        let _ = unsafe { mm::munlock(region.base().cast(), bytes) };
        Ok(region)
    }

    /// Lets the first `bytes` of a closed region be read and written, as zeros that cost memory only where they are touched.
    pub(crate) fn open(&self, bytes: usize) -> rustix::io::Result<()> {
        let access = mm::MprotectFlags::READ | mm::MprotectFlags::WRITE;
        // SAFETY: the range is the region's own, and nobody loses a right to it.
        unsafe { mm::mprotect(self.base().cast(), bytes.min(self.bytes()), access) }
    }

    fn own(base: *mut u8, bytes: usize) -> rustix::io::Result<Region> {
        Ok(Region { base: NonNull::new(base).ok_or(Errno::NOMEM)?, bytes: AtomicUsize::new(bytes) })
    }

    /// As [`Region::of_file`], to be read, at this address if nothing is there.
    pub(crate) fn of_file_at(file: &File, bytes: usize, address: usize) -> rustix::io::Result<Region> {
        let (hint, flags) = (std::ptr::without_provenance_mut(address), MapFlags::SHARED | MapFlags::NORESERVE);
        // SAFETY: an address that is a hint replaces no memory in use.
        let base = unsafe { mm::mmap(hint, bytes, ProtFlags::READ, flags, file, 0) }?;
        Region::own(base.cast(), bytes)
    }

    /// Maps more of the file that this is a mapping of, to be read: its first `bytes` are mapped then. False if other
    /// memory is in the way, or the system refuses it. One thread at a time.
    pub(crate) fn extend(&self, file: &File, bytes: usize) -> bool {
        let have = self.bytes();
        if have >= bytes {
            return true;
        }
        let flags = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED_NOREPLACE;
        let (end, more) = (self.base().wrapping_add(have).cast(), bytes - have);
        // SAFETY: memory in use is not replaced.
        match unsafe { mm::mmap(end, more, ProtFlags::READ, flags, file, have as u64) } {
            Ok(base) if base == end => {
                self.bytes.store(bytes, Ordering::Release);
                true
            }
            // Before Linux 4.17 the address is a hint.
            Ok(elsewhere) => {
                // SAFETY: it has just been mapped, and nobody knows of it.
                let _ = unsafe { mm::munmap(elsewhere, more) };
                false
            }
            Err(_) => false,
        }
    }

    /// Maps another file over all of it, to be read. Whoever reads meanwhile finds one or the other.
    pub(crate) fn map_over(&self, file: &File) -> rustix::io::Result<()> {
        let flags = MapFlags::SHARED | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: the range is this region's own, and stays mapped.
        unsafe { mm::mmap(self.base().cast(), self.bytes(), ProtFlags::READ, flags, file, 0) }.map(drop)
    }

    /// The first byte's address.
    #[inline]
    pub(crate) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// The range's length.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Acquire)
    }

    /// Has the kernel take memory for the first `bytes` by single pages, where it would take whole large ones.
    pub(crate) fn begin_small(&self, bytes: usize) {
        // SAFETY: the range is ours and mapped, and no byte changes. Whoever is refused has a larger process.
        let _ = unsafe { mm::madvise(self.base().cast(), bytes.min(self.bytes()), Advice::LinuxNoHugepage) };
    }

    /// Tells the kernel what to expect of the whole range.
    pub(crate) fn advise(&self, advice: Advice) -> rustix::io::Result<()> {
        // SAFETY: the range is ours and mapped. The kinds of advice in use here change no byte that anyone relies on.
        unsafe { mm::madvise(self.base().cast(), self.bytes(), advice) }
    }

    /// Whether the page of the machine is in memory that this byte of the range is in. Of a file that is not the process's
    /// own, and that it may not write, the kernel says that all pages are; so does this where it says nothing.
    pub(crate) fn is_in_memory(&self, offset: usize) -> bool {
        if offset >= self.bytes() {
            return true;
        }
        let page = offset & !(rustix::param::page_size() - 1);
        let mut state = 1;
        // SAFETY: the page is ours and mapped; one byte is written, for it.
        unsafe { libc::mincore(self.base().wrapping_add(page).cast(), 1, &raw mut state) };
        state & 1 == 1
    }

    /// Keeps the mapping for the rest of the process's life.
    pub(crate) fn leak(self) -> NonNull<u8> {
        let base = self.base;
        std::mem::forget(self);
        base
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the range is ours, and every reference into it borrows from this value.
        // A failure would leak address space; there is nobody to tell.
        let _ = unsafe { mm::munmap(self.base().cast(), self.bytes()) };
    }
}

/// Whether a smaller mapping may be granted: address space, the file system's largest file, locked memory; `EINVAL` is valgrind's answer.
fn too_large(e: Errno) -> bool {
    matches!(e, Errno::INVAL | Errno::NOMEM | Errno::OVERFLOW | Errno::AGAIN)
}

/// What one mapping may take of what the process is allowed of this.
fn fair_share(of: Limit) -> usize {
    limits::soft(of).and_then(|bytes| usize::try_from(bytes / 8).ok()).map_or(usize::MAX, page_floor)
}

fn page_floor(bytes: usize) -> usize {
    bytes & !0xFFFF
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_address_space_is_limited_most_of_it_is_left_to_the_program() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = Rlimit { current: Some(64 << 30), maximum: getrlimit(Resource::As).maximum };
        assert!(crate::os::fork::in_forked_child(|| {
            if setrlimit(Resource::As, limit).is_err() {
                return true;
            }
            let file = tempfile::tempfile().unwrap();
            let map = |bytes| Region::of_file(&file, bytes, Access::Read);
            Region::largest(1 << 40, 1 << 20, map).unwrap().bytes() == 8 << 30
        }));
    }

    #[test]
    fn where_data_is_limited_most_of_it_is_left_to_the_program() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let limit = Rlimit { current: Some(8 << 30), maximum: getrlimit(Resource::Data).maximum };
        assert!(crate::os::fork::in_forked_child(|| {
            setrlimit(Resource::Data, limit).is_err()
                || Region::largest_anonymous(1 << 40, 1 << 20).unwrap().bytes() == 1 << 30
        }));
    }

    #[test]
    fn a_program_that_keeps_its_memory_in_memory_has_there_what_is_in_use() {
        assert!(crate::os::fork::in_forked_child(|| {
            if mm::mlockall(mm::MlockAllFlags::FUTURE).is_err() {
                return true;
            }
            let region = Region::largest_anonymous(64 << 20, 1 << 20).unwrap();
            let last = region.bytes() - 1;
            let untouched = !region.is_in_memory(0) && !region.is_in_memory(last);
            // SAFETY: the byte is the region's own.
            unsafe { region.base().add(last).write(1) };
            untouched && region.is_in_memory(last)
        }));
    }

    #[test]
    fn a_refused_size_is_halved_down_to_the_least() {
        let asked = std::cell::RefCell::new(Vec::new());
        let region = Region::largest(1 << 30, 3 << 20, |bytes| {
            asked.borrow_mut().push(bytes);
            if bytes > 4 << 20 { Err(Errno::NOMEM) } else { Region::anonymous(bytes) }
        })
        .unwrap();
        assert!((3 << 20..=4 << 20).contains(&region.bytes()));
        assert!(asked.borrow().is_sorted_by(|a, b| a > b), "{asked:?}");
        assert!(Region::largest(1 << 30, 1 << 20, |_| Err(Errno::NOMEM)).is_err());
        assert!(Region::largest(1 << 30, 1 << 20, |_| Err(Errno::ACCESS)).is_err());
    }
}
