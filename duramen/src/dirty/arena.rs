//! The memory of dirty pages that stand alone, by index.
//!
//! Owns: chunks of memory, which page is in use at which nesting level, which is kept. Must not know: what levels mean, runs.

use std::ops::Range;

use crate::format::page;
use crate::os::direct::Block;
use crate::os::memory;
use crate::width::{to_u32, to_usize};

/// Bytes allocated at once for the arena: little, since a handle may be opened for a single small transaction.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks kept for the next transaction (64 MiB).
const KEPT_CHUNKS: usize = 256;
/// Most bytes of pages kept. What small commits touch is to fit into the processor's cache.
const KEPT_BYTES: usize = 2 << 20;
/// A transaction that takes more pages than this gives them back by a look at all there are.
const LISTED_MAX: usize = 1024;
/// Level of a page that is not in use.
const FREE: u16 = u16::MAX;
/// Level of a page that is kept.
const KEPT: u16 = FREE - 1;
/// Nesting levels, each told by a number below those.
pub(super) const LEVELS_MAX: usize = 65_000;

/// What tells one version of a page from all others: checksum, page number, birth.
const IDENTITY: usize = 24;

/// Pages of memory by index.
pub(super) struct Arena {
    pub page_size: usize,
    /// Pages in a chunk, as a power of two.
    chunk_shift: u32,
    /// Aligned as the file's pages are in the map: what is copied from there, and to the kernel, is copied fastest so.
    chunks: Vec<Block>,
    /// The level that owns each page handed out so far.
    levels: Vec<u16>,
    free: Vec<u32>,
    /// What was taken since the last reset, some of it more than once; all of it unless that is more than [`LISTED_MAX`].
    taken: Vec<u32>,
    /// Where the kept page is whose number has these lowest bits. Empty before the first is kept.
    kept: Box<[Option<u32>]>,
    kept_pages: usize,
}

impl Arena {
    /// Nothing; the first page takes the first chunk of memory.
    pub(super) fn new(page_size: usize) -> Arena {
        Arena {
            page_size,
            chunk_shift: (CHUNK_BYTES / page_size).trailing_zeros(),
            chunks: Vec::new(),
            levels: Vec::new(),
            free: Vec::new(),
            taken: Vec::new(),
            kept: Box::default(),
            kept_pages: 0,
        }
    }

    /// A page with any content; and where the chunk lies that was allocated for it, if one was.
    pub(super) fn create(&mut self, level: u16) -> (u32, Option<Range<*const u8>>) {
        if let Some(index) = self.free.pop() {
            self.levels[index as usize] = level;
            self.note_taken(index);
            return (index, None);
        }
        let index = self.levels.len();
        let is_full = index == self.chunks.len() << self.chunk_shift;
        if is_full {
            self.chunks.push(Block::new(CHUNK_BYTES));
        }
        self.levels.push(level);
        let new = self.chunks.last().filter(|_| is_full).map(|chunk| chunk.as_ptr_range());
        let index = u32::try_from(index).expect("fewer than 2^32 dirty pages");
        self.note_taken(index);
        (index, new)
    }

    fn note_taken(&mut self, index: u32) {
        if self.taken.len() <= LISTED_MAX {
            self.taken.push(index);
        }
    }

    pub(super) fn release(&mut self, index: u32) {
        self.levels[index as usize] = FREE;
        self.free.push(index);
    }

    fn release_used(&mut self, index: u32) {
        if self.levels[index as usize] < KEPT {
            self.release(index);
        }
    }

    #[inline]
    fn place(&self, index: u32) -> (usize, usize) {
        let within = index as usize & ((1 << self.chunk_shift) - 1);
        (index as usize >> self.chunk_shift, within * self.page_size)
    }

    #[inline]
    fn page(&self, index: u32) -> &[u8] {
        let (chunk, offset) = self.place(index);
        self.chunks[chunk].part(offset..offset + self.page_size)
    }

    /// A page to be changed; others may still be looked at.
    #[inline]
    pub(super) fn page_mut(&mut self, index: u32) -> &mut [u8] {
        let (chunk, offset) = self.place(index);
        self.chunks[chunk].part_mut(offset..offset + self.page_size)
    }

    /// Whether a page is in use at this level.
    #[inline]
    pub(super) fn is_at(&self, index: u32, level: u16) -> bool {
        self.levels.get(index as usize) == Some(&level)
    }

    /// Moves a page to another level.
    pub(super) fn set_level(&mut self, index: u32, level: u16) {
        self.levels[index as usize] = level;
    }

    /// The page, if it is in use.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&[u8]> {
        let is_used = self.levels.get(index as usize).is_some_and(|&level| level < KEPT);
        is_used.then(|| self.page(index))
    }

    /// All pages in use.
    pub(super) fn in_use(&self) -> impl Iterator<Item = &[u8]> {
        let used = self.levels.iter().enumerate().filter(|(_, level)| **level < KEPT);
        used.map(|(index, _)| self.page(to_u32(index)))
    }

    /// Copies a page's content over another's.
    pub(super) fn copy(&mut self, from: u32, to: u32) {
        let ((from_chunk, from), (to_chunk, to)) = (self.place(from), self.place(to));
        let size = self.page_size;
        if from_chunk == to_chunk {
            self.chunks[from_chunk].copy_part(from..from + size, to);
        } else {
            let [a, b] = self.chunks.get_disjoint_mut([from_chunk, to_chunk]).expect("two chunks of the arena");
            b.part_mut(to..to + size).copy_from_slice(a.part(from..from + size));
        }
    }

    /// How many pages are in use.
    pub(super) fn used(&self) -> usize {
        self.levels.len() - self.free.len() - self.kept_pages
    }

    fn kept_place(&self, page: &[u8]) -> usize {
        to_usize(page::pgno(page).0) % (KEPT_BYTES / self.page_size)
    }

    /// Keeps a page for the next transaction, in the place of one that was kept there before.
    pub(super) fn keep(&mut self, index: u32) {
        if self.kept.is_empty() {
            self.kept = vec![None; KEPT_BYTES / self.page_size].into();
        }
        let place = self.kept_place(self.page(index));
        self.levels[index as usize] = KEPT;
        match self.kept[place].replace(index) {
            Some(other) => self.release(other),
            None => self.kept_pages += 1,
        }
    }

    /// The kept page that is this one, no longer kept but at this level.
    pub(super) fn take_kept(&mut self, page: &[u8], level: u16) -> Option<u32> {
        let place = self.kept_place(page);
        let kept = self.kept.get(place).copied().flatten();
        let index = kept.filter(|&index| self.page(index)[..IDENTITY] == page[..IDENTITY])?;
        self.kept[place] = None;
        self.kept_pages -= 1;
        self.levels[index as usize] = level;
        self.note_taken(index);
        Some(index)
    }

    /// Takes back what is in use; what is kept stays, unless so much was in use that it would be lost in it.
    pub(super) fn reset(&mut self) {
        let mut taken = std::mem::take(&mut self.taken);
        debug_assert!(taken.len() > LISTED_MAX || self.used() <= taken.len());
        if self.levels.len() <= 2 * self.kept.len() {
            if taken.len() > LISTED_MAX {
                (0..self.levels.len()).for_each(|index| self.release_used(to_u32(index)));
            } else {
                taken.iter().for_each(|&index| self.release_used(index));
            }
            taken.clear();
            self.taken = taken;
            return;
        }
        self.kept.fill(None);
        self.kept_pages = 0;
        self.levels.clear();
        self.free.clear();
        let kept = self.chunks.len().min(KEPT_CHUNKS);
        self.chunks.drain(kept..).for_each(|mut chunk| memory::give_back(&mut chunk));
    }
}
