//! The shared state as memory: the lock file's layout, its mapping, its growth.
//!
//! Owns: where each word lies. Must not know: what order the words are written in ([`super::protocol`]), locks.
//!
//! Layout (native byte order: the file never leaves the machine): a header page with the identity and the words that
//! all share, a ring of records at 4096, and from 16384 on blocks of 64 reader slots. The first three words are the
//! same in every version.
//!
//! Blocks are appended by writing zeros, never by extending the file: a hole on a full disk would kill the process that
//! touches it. Nothing is believed to be there that the file's length does not show. A lock file cut short by a foreign
//! program while it is in use does kill its users (SIGBUS); removing it meanwhile splits them (see `readers`).
//!
//! # Safety
//! Everything is reached through references to structures made of atomics only, for which any bytes are values, at
//! aligned offsets inside the mapping and, for a file, inside the length that was written.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::mem::{align_of, offset_of, size_of};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::protocol::Record;
use crate::error::{Error, Result};
use crate::os::file::{check_limit, fill_holes, read_up_to};
use crate::os::lock::LockFile;
use crate::os::region::{Access, Region};
use crate::width::{low, to_usize};

/// Words that are published with a txnid.
pub(crate) const RECORD_WORDS: usize = 15;

/// Slots in a block.
pub(crate) const BLOCK_SLOTS: u32 = 64;

const RING_OFFSET: usize = 4096;
const RING_RECORDS: usize = 64;
const BLOCKS_OFFSET: usize = 16384;
const BLOCK_BYTES: usize = BLOCK_SLOTS as usize * size_of::<Slot>();
/// A new file has room for so many blocks: so many handles find one although the disk is full.
const BLOCKS_AT_ONCE: usize = 16;
/// Room for a million readers. The kernel goes through all of it when it is unmapped, whatever of it was used.
const RESERVED_BYTES: usize = 64 << 20;
const LEAST_RESERVED_BYTES: usize = 1 << 20;

/// A word with a cache line to itself.
#[repr(C, align(64))]
pub(crate) struct Line {
    /// The word.
    pub word: AtomicU64,
}

/// What the file begins with.
#[repr(C, align(64))]
pub(crate) struct Header {
    /// Says that this is such a file.
    pub magic: AtomicU64,
    /// The layout's version.
    pub version: AtomicU64,
    /// 1 once the first opener has published what it recovered.
    pub ready: AtomicU64,
    /// The txnid published last.
    pub newest: Line,
    /// The newest txnid that survives a power cut.
    pub durable: Line,
    /// 1 while a writer is between taking and dropping its lock, and while there is something for the next to settle.
    pub writing: Line,
    /// How many blocks there are.
    pub blocks: Line,
    /// Whether what the page cache has of the data file may never reach the disk: see `readers`.
    pub doubt: Line,
    /// When the data file was flushed last, in milliseconds since 1970.
    pub flushed_at: Line,
    /// Which data file the state is of.
    pub identity: [AtomicU64; 6],
    /// How often the data file was flushed beside a writer, so that the next one makes a checkpoint before it writes.
    pub checkpoints_due: Line,
    /// The number of the handle that writes without the writer's lock, or 0: see `readers::favour`. So the next two.
    pub favoured: Line,
    /// The number of the handle that does so just now.
    pub inside: Line,
    /// How often the writer's lock has been taken.
    pub taken: Line,
}

/// One reader's place.
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// 0, or the mark of the txnid read.
    pub mark: AtomicU64,
    /// The owner's process id in its own namespace, for display.
    pub pid: AtomicU64,
    /// When the transaction began, in milliseconds since 1970, for display. Not 0 once there was one.
    pub since: AtomicU64,
    /// Its thread, as `pthread_self` names it there, for display.
    pub thread: AtomicU64,
    /// Of a handle's first slot: how many of the flushes that are in `doubt` are its own.
    pub flushes: AtomicU64,
    spare: [AtomicU64; 3],
}

/// A place in the ring.
pub(crate) type RingRecord = Record<AtomicU64, RECORD_WORDS>;

const _: () = {
    assert!(size_of::<Slot>() == 64);
    assert!(size_of::<RingRecord>() == 128 && align_of::<RingRecord>() <= RING_OFFSET);
    assert!(offset_of!(Header, version) == 8 && offset_of!(Header, ready) == 16);
    assert!(size_of::<Header>() <= RING_OFFSET);
    assert!(RING_OFFSET + RING_RECORDS * size_of::<RingRecord>() <= BLOCKS_OFFSET);
};

/// What is said where the lock file is not what those made it who have it open.
pub(super) const CHANGED_BY_OTHERS: &str =
    "another program has changed the lock file: close the database everywhere, then open it again";

/// The shared state of one opened handle.
pub(crate) struct Memory {
    region: Region,
    /// The lock file; none for state that is shared within the process only.
    file: Option<LockFile>,
    /// Blocks that the file's length has shown to be there.
    backed: AtomicU32,
}

impl Memory {
    /// The state in `file` if the caller wants to keep it, else made anew: all zeros, unless the caller refuses to lose what is
    /// there. Whether it was kept.
    pub(crate) fn take_over(
        file: LockFile,
        keep: impl FnOnce(&Memory) -> bool,
        refuse: impl FnOnce(&File) -> Result<()>,
    ) -> Result<(Memory, bool)> {
        let bytes = file_bytes(&file)?;
        let whole = bytes >= BLOCKS_OFFSET as u64;
        let make_anew = |file: &File| {
            if bytes > 0 {
                refuse(file)?;
            }
            write_zeros(file)
        };
        if !whole {
            make_anew(&file)?;
            return Ok((Memory::map(file)?, false));
        }
        let memory = Memory::map(file)?;
        let kept = keep(&memory);
        if !kept {
            memory.file().map_or(Ok(()), make_anew)?;
        }
        Ok((memory, kept))
    }

    /// The state in `file` as others made it, unless the file is too short to hold any.
    pub(crate) fn join(file: LockFile) -> Result<Option<Memory>> {
        if file_bytes(&file)? < BLOCKS_OFFSET as u64 {
            return Ok(None);
        }
        Memory::map(file).map(Some)
    }

    /// What `file` says of the newest commit, as a copy: who has no part in it may find it cut off at any moment.
    pub(crate) fn copy_of(file: &File) -> Result<Option<Memory>> {
        let failed = |e: std::io::Error| Error::Io { op: "copy what the lock file says", source: e };
        let region = Region::anonymous(BLOCKS_OFFSET).map_err(|e| failed(e.into()))?;
        // SAFETY: the region has these bytes, and nobody else knows of it yet.
        let copy = unsafe { std::slice::from_raw_parts_mut(region.base(), BLOCKS_OFFSET) };
        let whole = read_up_to(file, copy, 0).map_err(failed)? == BLOCKS_OFFSET;
        Ok(whole.then_some(Memory { region, file: None, backed: AtomicU32::new(0) }))
    }

    /// State of this process alone, in no file.
    pub(crate) fn private() -> Result<Memory> {
        let region = Region::largest_anonymous(RESERVED_BYTES, LEAST_RESERVED_BYTES)
            .map_err(|e| Error::Io { op: "reserve memory for the reader table", source: e.into() })?;
        let backed = blocks_in(region.bytes() as u64);
        Ok(Memory { region, file: None, backed: AtomicU32::new(backed) })
    }

    fn map(mut file: LockFile) -> Result<Memory> {
        // One that was copied without its holes would end the process by a signal on a full disk, where it is looked at or
        // written to.
        let failed = |e| Error::Io { op: "find room on the disk for the lock file", source: e };
        fill_holes(&file, touched_bytes(&file).map_err(failed)?).map_err(failed)?;
        let twin = file.take_twin();
        let map = |bytes| Region::of_file(twin.as_ref().unwrap_or(&file), bytes, Access::Write);
        let region = Region::largest(RESERVED_BYTES, LEAST_RESERVED_BYTES, map)
            .map_err(|e| Error::Io { op: "map the lock file", source: e.into() })?;
        Ok(Memory { region, file: Some(file), backed: AtomicU32::new(0) })
    }

    /// The lock file, if there is one.
    pub(crate) fn file(&self) -> Option<&File> {
        self.file.as_deref()
    }

    /// The header.
    #[inline]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: every region is larger than the header, and `take_over` and `join` saw to the file's length.
        unsafe { &*self.region.base().cast::<Header>() }
    }

    /// The ring's place for a txnid.
    #[inline]
    pub(crate) fn record(&self, txnid: u64) -> &RingRecord {
        let at = RING_OFFSET + (to_usize(txnid) % RING_RECORDS) * size_of::<RingRecord>();
        // SAFETY: as for the header; the ring ends before the first block begins.
        unsafe { &*self.region.base().add(at).cast::<RingRecord>() }
    }

    /// The slot with this number, counted over all blocks that are known to be there.
    #[inline]
    pub(crate) fn slot(&self, number: u32) -> Option<&Slot> {
        self.block(number / BLOCK_SLOTS).map(|slots| &slots[(number % BLOCK_SLOTS) as usize])
    }

    /// A block that is known to be there.
    #[inline]
    pub(crate) fn block(&self, number: u32) -> Option<&[Slot; BLOCK_SLOTS as usize]> {
        if number >= self.backed.load(Ordering::Relaxed) {
            return None;
        }
        let at = BLOCKS_OFFSET + number as usize * BLOCK_BYTES;
        // SAFETY: `backed` counts blocks inside both the mapping and the file.
        Some(unsafe { &*self.region.base().add(at).cast::<[Slot; BLOCK_SLOTS as usize]>() })
    }

    /// Forgets which slots have ever been used.
    pub(crate) fn forget_use(&self) -> Result<()> {
        for slot in (0..self.blocks()?).filter_map(|number| self.block(number)).flatten() {
            slot.since.store(0, Ordering::Relaxed);
        }
        Ok(())
    }

    /// How many blocks there are, all of them usable. The load is part of the reader protocol.
    pub(crate) fn blocks(&self) -> Result<u32> {
        let blocks = self.header().blocks.word.load(Ordering::SeqCst);
        if blocks > u64::from(self.backed.load(Ordering::Relaxed)) && blocks > u64::from(self.measure()?) {
            return Err(Error::Usage { what: CHANGED_BY_OTHERS });
        }
        Ok(low(blocks))
    }

    /// Makes the block after the last one and returns its number. It is counted only after [`Memory::count_block`], so
    /// that it can be locked before. One thread of one process at a time.
    pub(crate) fn append_block(&self) -> Result<u32> {
        let number = self.blocks()?;
        let at = BLOCKS_OFFSET + number as usize * BLOCK_BYTES;
        if at + BLOCK_BYTES > self.region.bytes() {
            return Err(Error::Usage { what: "too many read transactions are open at once: end some of them" });
        }
        if let Some(file) = &self.file {
            zero(file, BLOCK_BYTES, at as u64).map_err(Error::io("enlarge the lock file"))?;
            self.measure()?;
        }
        Ok(number)
    }

    /// Lets everyone see the block appended last.
    pub(crate) fn count_block(&self, number: u32) {
        self.header().blocks.word.store(u64::from(number) + 1, Ordering::SeqCst);
    }

    /// Looks at how many blocks the file has room for by now.
    fn measure(&self) -> Result<u32> {
        let Some(file) = &self.file else { return Ok(self.backed.load(Ordering::Relaxed)) };
        let backed = blocks_in(file_bytes(file)?.min(self.region.bytes() as u64));
        Ok(self.backed.fetch_max(backed, Ordering::Relaxed).max(backed))
    }
}

/// How far the file is looked at and written to by what it says itself, which may be anything; it may be far longer.
fn touched_bytes(file: &File) -> io::Result<u64> {
    let mut word = [0; 8];
    read_up_to(file, &mut word, offset_of!(Header, blocks) as u64)?;
    let counted = u64::from_ne_bytes(word).clamp(BLOCKS_AT_ONCE as u64, u64::from(blocks_in(RESERVED_BYTES as u64)));
    Ok(BLOCKS_OFFSET as u64 + counted * BLOCK_BYTES as u64)
}

fn write_zeros(file: &File) -> Result<()> {
    let failed = || Error::io("make the lock file anew");
    let room = (BLOCKS_OFFSET + BLOCKS_AT_ONCE * BLOCK_BYTES) as u64;
    let found = file_bytes(file)?;
    // Not cut off to nothing: ext4 then begins to write the file when it is closed, and who opens it next waits. Nor made
    // longer but by what is written: on a disk that is full it would then be mapped without anything behind it.
    if found > room {
        file.set_len(room).map_err(failed())?;
    }
    zero(file, BLOCKS_OFFSET, 0).map_err(failed())?;
    // Where there is no room for more now, who needs a block asks again. What stands in blocks already is of no account.
    let mut at = file_bytes(file)?;
    while at < room && zero(file, BLOCK_BYTES, at).is_ok() {
        at += BLOCK_BYTES as u64;
    }
    Ok(())
}

fn zero(file: &File, bytes: usize, at: u64) -> io::Result<()> {
    check_limit(at + bytes as u64)?;
    file.write_all_at(&vec![0; bytes], at)
}

fn file_bytes(file: &File) -> Result<u64> {
    file.metadata().map(|m| m.len()).map_err(Error::io("inspect the lock file"))
}

fn blocks_in(bytes: u64) -> u32 {
    let blocks = bytes.saturating_sub(BLOCKS_OFFSET as u64) / BLOCK_BYTES as u64;
    u32::try_from(blocks).unwrap_or(u32::MAX / BLOCK_SLOTS).min(u32::MAX / BLOCK_SLOTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reopen(temporary: &tempfile::NamedTempFile) -> LockFile {
        LockFile::new(temporary.reopen().unwrap())
    }

    #[test]
    fn a_block_is_seen_by_another_mapping_once_it_is_counted() {
        let temporary = tempfile::NamedTempFile::new().unwrap();
        let ours = Memory::take_over(reopen(&temporary), |_| true, |_| Ok(())).unwrap().0;
        let theirs = Memory::join(reopen(&temporary)).unwrap().unwrap();
        let number = ours.append_block().unwrap();
        assert_eq!((number, ours.blocks().unwrap(), theirs.blocks().unwrap()), (0, 0, 0));
        ours.count_block(number);
        assert_eq!((ours.blocks().unwrap(), theirs.blocks().unwrap()), (1, 1));
        ours.slot(63).unwrap().mark.store(8, Ordering::Relaxed);
        assert_eq!(theirs.slot(63).unwrap().mark.load(Ordering::Relaxed), 8);
        assert!(theirs.slot(BLOCK_SLOTS * BLOCKS_AT_ONCE as u32).is_none());
        theirs.record(65).write(crate::Txnid(65), &[3; RECORD_WORDS]);
        assert_eq!(ours.record(1).read(crate::Txnid(65)), Some([3; RECORD_WORDS]));
    }

    #[test]
    fn a_count_of_blocks_beyond_the_files_end_is_an_error() {
        let temporary = tempfile::NamedTempFile::new().unwrap();
        let memory = Memory::take_over(reopen(&temporary), |_| true, |_| Ok(())).unwrap().0;
        for absurd in [BLOCKS_AT_ONCE as u64 + 1, u64::from(u32::MAX), u64::MAX] {
            memory.header().blocks.word.store(absurd, Ordering::Relaxed);
            assert!(matches!(memory.blocks(), Err(Error::Usage { .. })));
            assert!(memory.append_block().is_err());
        }
    }

    #[test]
    fn a_new_file_has_room_for_those_who_come_when_the_disk_is_full() {
        let temporary = tempfile::NamedTempFile::new().unwrap();
        let length = || temporary.as_file().metadata().unwrap().len();
        for found in [0, 1, BLOCKS_OFFSET as u64 + 1, 1 << 20] {
            temporary.as_file().set_len(found).unwrap();
            let memory = Memory::take_over(reopen(&temporary), |_| false, |_| Ok(())).unwrap().0;
            let full = length();
            for number in 0..BLOCKS_AT_ONCE as u32 {
                memory.count_block(memory.append_block().unwrap());
                assert!(memory.block(number).is_some());
            }
            assert_eq!(length(), full, "made of {found} bytes");
            memory.append_block().unwrap();
            assert!(length() > full);
        }
    }

    #[test]
    fn a_short_file_is_not_joined() {
        let temporary = tempfile::NamedTempFile::new().unwrap();
        temporary.as_file().set_len(BLOCKS_OFFSET as u64 - 1).unwrap();
        assert!(Memory::join(reopen(&temporary)).unwrap().is_none());
    }

    #[test]
    fn private_state_ends_with_an_error_when_it_is_full() {
        let memory = Memory::private().unwrap();
        let most = blocks_in(memory.region.bytes() as u64);
        memory.count_block(most - 1);
        assert_eq!(memory.blocks().unwrap(), most);
        assert!(memory.slot(most * BLOCK_SLOTS - 1).is_some());
        assert!(matches!(memory.append_block(), Err(Error::Usage { .. })));
    }
}
