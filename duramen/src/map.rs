//! The data file as memory.
//!
//! Owns: the read-only mapping and its reservation, the record of which pages were already verified. Must not know:
//! what is in the pages, snapshots.
//!
//! The base never moves: the reservation is far larger than the file, so the file grows into it. Where address space is
//! limited the reservation grows. Touching a byte of the reservation beyond the end of the *file* kills the process
//! (SIGBUS), so whoever asks for bytes knows from a verified meta page, and a look at the file's length, that they are
//! there.
//!
//! # Safety
//! Bytes handed out belong to pages of a snapshot that the caller holds; no writer of this program changes those while
//! it is held (copy-on-write). What others may write at any time is only ever read as atomic words, and copied
//! ([`Map::copy`]). The bytes of [`Verified`] are only ever accessed as atomics.
#![allow(unsafe_code)]

use std::fs::File;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::mm::Advice;

use crate::error::{Error, Result};
use crate::ids::{Pgno, Txnid};
use crate::os::region::{Access, Region};
use crate::width::to_usize;

/// Of the address space (128 TiB where pages have four levels) so much is shared out: a process that has many databases
/// open reserves half of it at most, for ten thousand of them, and leaves the rest to its own memory.
const SHARED_OUT_BYTES: u64 = 8 << 40;
/// The first database gets one part of so many, the next one of one more, and so on.
const PARTS: u64 = 8;

/// Room to grow that is given up last.
const HEADROOM_BYTES: u64 = 64 << 20;

/// Units in which reservations are rounded up: at least a page of any machine, at least a page of any database.
const ROUND_BYTES: u64 = 64 << 10;

/// Few files have more pages. One large page of the machine's for them all would cost who opens one of these more than all else
/// does.
const FEW_TAGS: usize = 2 << 20;

/// Bytes of an atomic word.
const WORD: usize = size_of::<AtomicU64>();

/// Maps of this process.
static MAPS: AtomicU64 = AtomicU64::new(0);

/// A read-only mapping of the data file.
pub(crate) struct Map {
    region: Region,
    file: Arc<File>,
    /// What was mapped instead of the file.
    copy: OnceLock<File>,
    /// Held by the thread that maps more.
    growing: Mutex<()>,
}

impl Map {
    /// Maps `file`, which is `file_bytes` long, with as much room to grow as can be had.
    pub(crate) fn new(file: &Arc<File>, file_bytes: u64) -> Result<Map> {
        let needed = file_bytes.max(1).next_multiple_of(ROUND_BYTES);
        let roomy = needed.saturating_add(HEADROOM_BYTES);
        let wanted = SHARED_OUT_BYTES / (PARTS + MAPS.load(Ordering::Relaxed)) / ROUND_BYTES * ROUND_BYTES;
        let wanted = address_bytes(wanted.max(needed.saturating_mul(4)));
        let map = |bytes| Region::of_file(file, bytes, Access::Read);
        let region = Region::largest(wanted, address_bytes(roomy), map)
            .or_else(|_| map(address_bytes(needed)))
            .and_then(
                |region| if region.bytes() < wanted { with_room_behind(file, region, wanted) } else { Ok(region) },
            )
            .map_err(|e| Error::Io { op: "map the data file", source: e.into() })?;
        MAPS.fetch_add(1, Ordering::Relaxed);
        Ok(Map { region, file: file.clone(), copy: OnceLock::new(), growing: Mutex::default() })
    }

    /// Tells the kernel whether to read around pages that are missing (it does unless told), or those alone.
    pub(crate) fn expect_random(&self, random: bool) {
        // Whoever is refused has the kernel's guess instead.
        let _ = self.region.advise(if random { Advice::Random } else { Advice::Normal });
    }

    /// The address of the file's first byte.
    #[inline]
    pub(crate) fn base(&self) -> *const u8 {
        self.region.base()
    }

    /// How far the file may grow under this map.
    #[inline]
    pub(crate) fn reserved_bytes(&self) -> u64 {
        self.region.bytes() as u64
    }

    /// The `len` bytes at `offset`, if they lie in the reservation. The caller knows that the file is that long, and
    /// that the bytes are of a snapshot that it holds.
    #[inline]
    pub(crate) fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let start = self.start_of(offset, len)?;
        // SAFETY: the range is inside the mapping, which lives as long as `self`; see the head for its content.
        Some(unsafe { std::slice::from_raw_parts(self.base().add(start), len) })
    }

    /// As [`Map::bytes`], if nothing has to be mapped for that.
    #[inline(always)]
    pub(crate) fn bytes_at_hand(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(len)?;
        // SAFETY: as in `bytes`.
        (end <= self.region.bytes()).then(|| unsafe { std::slice::from_raw_parts(self.base().add(start), len) })
    }

    /// As [`Map::bytes`], a copy of what others may write meanwhile, each eight bytes read at once. Offset and length are
    /// multiples of eight.
    #[inline]
    pub(crate) fn copy<const LEN: usize>(&self, offset: u64) -> Option<[u8; LEN]> {
        let start = self.start_of(offset, LEN).filter(|start| start % WORD == 0)?;
        let mut copy = [0; LEN];
        for (i, to) in copy.as_chunks_mut::<WORD>().0.iter_mut().enumerate() {
            // SAFETY: the word is inside the mapping, aligned as the mapping is, and nobody makes anything of it but such a
            // reference. Relaxed loads of this size need no memory that may be written.
            let word = unsafe { &*self.base().add(start + i * WORD).cast::<AtomicU64>() };
            *to = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        Some(copy)
    }

    /// Where a range begins in the mapping, which all of it lies in.
    #[inline]
    fn start_of(&self, offset: u64, len: usize) -> Option<usize> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(len)?;
        (end <= self.region.bytes() || self.grow(end)).then_some(start)
    }

    /// Whether the byte at `offset` can be read without waiting for the disk, by what the system says.
    pub(crate) fn is_in_memory(&self, offset: u64) -> bool {
        usize::try_from(offset).is_ok_and(|offset| self.region.is_in_memory(offset))
    }

    /// Maps the copy that has taken the file's place, once. What is read of the file's snapshots stands there too.
    pub(crate) fn follow(&self, copy: File) -> rustix::io::Result<()> {
        let _one = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        if self.copy.get().is_none() {
            self.region.map_over(&copy)?;
            let _ = self.copy.set(copy);
        }
        Ok(())
    }

    /// Where little could be reserved the map grows with the file.
    #[cold]
    fn grow(&self, end: usize) -> bool {
        let file = self.copy.get().unwrap_or(&self.file);
        if file.metadata().is_ok_and(|file| file.len() < end as u64) {
            return false;
        }
        let some_more = (end as u64 + end as u64 / 8).next_multiple_of(ROUND_BYTES);
        let _one = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let steps = [some_more, (end as u64).next_multiple_of(ROUND_BYTES)];
        steps.into_iter().any(|bytes| self.region.extend(file, address_bytes(bytes)))
    }
}

/// Maps the region's file elsewhere, so that nothing is behind it for half as many bytes as were wanted, or a quarter, or
/// an eighth: addresses that are not mapped are not counted. The kernel has what is mapped later end where the region was;
/// what came to lie beneath larger maps, while there were any, lies whole sizes of these below that, and not between.
fn with_room_behind(file: &File, region: Region, wanted: usize) -> rustix::io::Result<Region> {
    let (bytes, base) = (region.bytes(), region.base().addr());
    drop(region);
    for halved in 1..4 {
        let place = base.saturating_sub((wanted >> halved) & !(to_usize(ROUND_BYTES) - 1));
        let region = Region::of_file_at(file, bytes, place)?;
        if region.base().addr() == place {
            return Ok(region);
        }
    }
    Region::of_file_at(file, bytes, base)
}

impl Drop for Map {
    fn drop(&mut self) {
        MAPS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A mapping's size as an address-sized number: as much as fits.
fn address_bytes(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX / 4 * 2).min(isize::MAX as usize & !(to_usize(ROUND_BYTES) - 1))
}

/// Which pages' checksums were found right, and for which birth: one byte for each page of the reservation.
///
/// A page number is reused by later transactions, so the byte holds a *tag* of the birth that was verified. It is a
/// memory of work done, not a proof: one birth in 127 shares its tag with the one before it. The byte's lowest bit says
/// that not only the checksum was found right but also what it is about: see `validate` in the formats.
pub(crate) struct Verified {
    tags: Option<Region>,
    /// How many of them may be touched. There is room for those of far more pages than the file has, which stays closed: a
    /// program that keeps in memory what it has mapped would have all of it there.
    open: AtomicUsize,
}

impl Verified {
    /// A record for `pages` pages, or for the first of them where memory is refused; costs memory only for pages seen.
    pub(crate) fn new(pages: u64) -> Verified {
        let tags = Region::largest(address_bytes(pages.max(1)), 1 << 16, Region::closed).ok();
        if let Some(tags) = &tags {
            tags.begin_small(FEW_TAGS);
        }
        Verified { tags, open: AtomicUsize::new(0) }
    }

    /// Whether the page was verified under this tag.
    #[inline]
    pub(crate) fn is(&self, page: Pgno, tag: u8) -> bool {
        self.tag(page).is_some_and(|known| known.load(Ordering::Relaxed) & !VALID == tag)
    }

    /// Whether all of the page was looked at under this tag.
    pub(crate) fn is_valid(&self, page: Pgno, tag: u8) -> bool {
        self.tag(page).is_some_and(|known| known.load(Ordering::Relaxed) == tag | VALID)
    }

    /// Notes that all of the page was looked at under this tag.
    pub(crate) fn set_valid(&self, page: Pgno, tag: u8) {
        self.set(page, tag | VALID);
    }

    /// Whether the page was verified under some tag.
    pub(crate) fn is_any(&self, page: Pgno) -> bool {
        self.tag(page).is_some_and(|known| known.load(Ordering::Relaxed) != 0)
    }

    /// Notes that the page was verified under this tag; forgotten at once if the page is beyond the record.
    #[inline]
    pub(crate) fn set(&self, page: Pgno, tag: u8) {
        if let Some(known) = self.tag(page).or_else(|| self.open_up_to(page)) {
            known.store(tag, Ordering::Relaxed);
        }
    }

    /// Of which page nothing was ever noted may not be open.
    #[inline]
    fn tag(&self, page: Pgno) -> Option<&AtomicU8> {
        let tags = self.tags.as_ref()?;
        let at = usize::try_from(page.0).ok().filter(|&at| at < self.open.load(Ordering::Acquire))?;
        // SAFETY: open, zeroed at first, and only ever accessed as an atomic byte.
        Some(unsafe { AtomicU8::from_ptr(tags.base().add(at)) })
    }

    /// The tag of a page, opened, and as many again as there were; none if there is no such one, or it is refused.
    #[cold]
    fn open_up_to(&self, page: Pgno) -> Option<&AtomicU8> {
        let tags = self.tags.as_ref()?;
        let at = usize::try_from(page.0).ok().filter(|&at| at < tags.bytes())?;
        let bytes = (at + 1).max(2 * self.open.load(Ordering::Relaxed)).next_multiple_of(FEW_TAGS).min(tags.bytes());
        tags.open(bytes).ok()?;
        self.open.fetch_max(bytes, Ordering::Release);
        self.tag(page)
    }
}

/// The bit beside a tag.
const VALID: u8 = 1;

/// The tag under which a page of this birth is noted as verified. Never 0, which stands for "not verified".
#[inline]
pub(crate) fn tag_of(birth: Txnid) -> u8 {
    tag_of_low(birth.low())
}

/// The same by the lower half of the birth, which is all that a large value's stub knows of it.
#[inline]
pub(crate) fn tag_of_low(birth: u32) -> u8 {
    ((birth.wrapping_mul(0x9E37_79B9) >> 24) as u8 & !VALID).max(VALID << 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    /// In a child: whatever other threads map here meanwhile may be in the way.
    #[test]
    fn a_map_that_was_given_little_grows_with_the_file_until_something_is_in_the_way() {
        assert!(crate::os::fork::in_forked_child(|| {
            grow_until_something_is_in_the_way();
            true
        }));
    }

    fn grow_until_something_is_in_the_way() {
        const LITTLE_BYTES: usize = 1 << 20;
        const FAR: u64 = 1 << 30;
        let file = Arc::new(tempfile::tempfile().unwrap());
        let room = Region::anonymous(1 << 40).unwrap().base().addr();
        let region = Region::of_file_at(&file, LITTLE_BYTES, room).unwrap();
        let map = Map { region, file: file.clone(), copy: OnceLock::new(), growing: Mutex::default() };
        MAPS.fetch_add(1, Ordering::Relaxed);
        let base = map.base();
        assert!(map.bytes(FAR, 4).is_none(), "the file is not so long");
        file.write_all_at(b"late", FAR).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(map.bytes(FAR, 4).unwrap(), b"late"));
            }
        });
        assert_eq!(map.base(), base);
        let _in_the_way = Region::of_file_at(&file, LITTLE_BYTES, base.addr() + map.region.bytes()).unwrap();
        file.set_len(2 * FAR).unwrap();
        assert!(map.bytes(2 * FAR - 4, 4).is_none());
        assert_eq!(map.bytes(FAR, 4).unwrap(), b"late");
    }

    /// Held by whoever maps much, or looks how it lies.
    static ADDRESSES: Mutex<()> = Mutex::new(());

    /// Stacks and arenas of threads that ended come to lie beneath the maps of that time, and stay.
    #[test]
    fn where_address_space_is_short_what_lay_beneath_larger_maps_is_not_in_the_way() {
        let _alone = ADDRESSES.lock();
        assert!(crate::os::fork::in_forked_child(|| {
            use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
            const MIB: u64 = 1 << 20;
            let file = Arc::new(tempfile::tempfile().unwrap());
            let large = Map::new(&file, 0).unwrap();
            let beneath = large.base().addr() - (400 << 20);
            let _in_the_way = Region::of_file_at(&file, 400 << 20, beneath).unwrap();
            drop(large);
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let used =
                status.split_once("VmSize:").unwrap().1.trim().split_once(' ').unwrap().0.parse::<u64>().unwrap();
            let limit = Rlimit { current: Some(used * 1024 + 200 * MIB), maximum: getrlimit(Resource::As).maximum };
            setrlimit(Resource::As, limit).unwrap();
            let map = Map::new(&file, 0).unwrap();
            file.set_len(150 * MIB).unwrap();
            (1..150).all(|mib| map.bytes(mib * MIB, 4).is_some())
        }));
    }

    #[test]
    fn many_files_at_once_have_room_to_grow_and_leave_some_to_the_program() {
        let _alone = ADDRESSES.lock();
        let file = Arc::new(tempfile::tempfile().unwrap());
        let maps: Vec<Map> = (0..1000).map(|_| Map::new(&file, 0).unwrap()).collect();
        assert!(maps.iter().all(|map| map.reserved_bytes() >= 4 << 30));
        let program = Region::anonymous(16 << 40).unwrap();
        assert_eq!(program.bytes(), 16 << 40);
    }

    #[test]
    fn a_file_grows_under_its_map() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let map = Map::new(&file, 0).unwrap();
        let base = map.base();
        file.write_all_at(b"late", 3 << 20).unwrap();
        assert_eq!(map.bytes(3 << 20, 4).unwrap(), b"late");
        assert_eq!(map.base(), base);
    }

    #[test]
    fn what_others_write_meanwhile_is_copied() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        file.set_len(4096).unwrap();
        let map = Map::new(&file, 4096).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| (1..=200).for_each(|byte| file.write_all_at(&[byte; 64], 8).unwrap()));
            while map.copy::<64>(8).unwrap() != [200; 64] {}
        });
        assert_eq!(map.copy::<16>(0).unwrap()[..], [[0; 8], [200; 8]].concat());
        assert!(map.copy::<8>(map.reserved_bytes()).is_none() && map.copy::<8>(1).is_none());
    }

    #[test]
    fn the_reservation_is_far_larger_than_the_file_and_bounds_what_is_handed_out() {
        let file = Arc::new(tempfile::tempfile().unwrap());
        let map = Map::new(&file, 5).unwrap();
        let reserved = map.reserved_bytes();
        assert!(reserved >= HEADROOM_BYTES, "{reserved}");
        assert!(map.bytes(reserved, 1).is_none());
        assert!(map.bytes(reserved - 1, 2).is_none());
        assert!(map.bytes(u64::MAX, 2).is_none());
        assert!(map.bytes(1, usize::MAX).is_none());
    }

    #[test]
    fn pages_are_verified_under_the_tag_of_their_birth_only() {
        let verified = Verified::new(1 << 28);
        let (page, tag) = (Pgno(123_456_789), tag_of(Txnid(7)));
        assert!(!verified.is(page, tag) && !verified.is_any(page));
        verified.set(page, tag);
        assert!(verified.is(page, tag) && verified.is_any(page));
        assert!(!verified.is(page, tag_of(Txnid(8))));
        assert!(!verified.is_valid(page, tag));
        verified.set_valid(page, tag);
        assert!(verified.is(page, tag) && verified.is_valid(page, tag));
        assert!(!verified.is_valid(page, tag_of(Txnid(8))));
        verified.set(Pgno(u64::MAX), tag);
        assert!(!verified.is(Pgno(u64::MAX), tag));
    }

    #[test]
    fn a_program_that_comes_to_keep_its_memory_in_memory_has_there_what_is_in_use() {
        assert!(crate::os::fork::in_forked_child(|| {
            let (verified, far, tag) = (Verified::new(1 << 28), Pgno(1 << 26), tag_of(Txnid(7)));
            verified.set(Pgno(1), tag);
            if rustix::mm::mlockall(rustix::mm::MlockAllFlags::CURRENT).is_err() {
                return true;
            }
            let tags = verified.tags.as_ref().unwrap();
            let spared = !tags.is_in_memory(FEW_TAGS);
            verified.set(far, tag);
            spared && verified.is(far, tag) && verified.is(Pgno(1), tag) && !tags.is_in_memory((1 << 27) + FEW_TAGS)
        }));
    }

    #[test]
    fn tags_are_never_zero_and_neighbours_differ() {
        for birth in 0..10_000 {
            assert_ne!(tag_of(Txnid(birth)), 0);
            assert_ne!(tag_of(Txnid(birth)), tag_of(Txnid(birth + 1)));
        }
    }
}
