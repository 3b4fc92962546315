//! The memory of dirty pages that stand alone, by index.
//!
//! Owns: which page is in use at which nesting level, which is kept. Must not know: what levels mean, runs.

use std::ops::Range;

use crate::format::page::{self, PAGE_MIN};
use crate::os::frames::Frames;
use crate::width::{to_u32, to_usize};

/// Most bytes of pages kept. What small commits touch is to fit into the processor's cache.
const KEPT_BYTES: usize = 2 << 20;
/// Most pages taken that are listed: who takes more gives back all there are.
const LISTED_MAX: usize = 2 * KEPT_BYTES / PAGE_MIN;
/// Level of a page that is not in use.
const FREE: u16 = u16::MAX;
/// Level of a page that is kept.
const KEPT: u16 = FREE - 1;
/// Level of a page that is not in use any more: it is listed as taken. Those in use have lower ones.
const RELEASED: u16 = KEPT - 1;
/// Nesting levels, each told by a number below those.
pub(super) const LEVELS_MAX: usize = 65_000;

/// What tells one version of a page from all others: checksum, page number, birth.
const IDENTITY: usize = 24;

/// Pages of memory by index.
pub(super) struct Arena {
    /// With the level that owns each page handed out so far.
    pages: Frames<u16>,
    free: Vec<u32>,
    /// What was taken since the last reset; all of it unless that is more than [`LISTED_MAX`].
    taken: Vec<u32>,
    /// Where the kept page is whose number has these lowest bits. Empty before the first is kept.
    kept: Box<[Option<u32>]>,
    kept_pages: usize,
}

impl Arena {
    /// Nothing; the first page takes the first chunk of memory.
    pub(super) fn new(page_size: usize) -> Arena {
        Arena {
            pages: Frames::new(page_size),
            free: Vec::new(),
            taken: Vec::new(),
            kept: Box::default(),
            kept_pages: 0,
        }
    }

    /// A page with any content; and where the chunk lies that was allocated for it, if one was.
    pub(super) fn create(&mut self, level: u16) -> (u32, Option<Range<*const u8>>) {
        if let Some(index) = self.free.pop() {
            let before = std::mem::replace(self.pages.note_mut(index), level);
            if before != RELEASED {
                self.note_taken(index);
            }
            return (index, None);
        }
        let index = u32::try_from(self.pages.len()).expect("fewer than 2^32 dirty pages");
        self.note_taken(index);
        (index, self.pages.add(level))
    }

    fn note_taken(&mut self, index: u32) {
        if self.is_all_listed() {
            self.taken.push(index);
        }
    }

    pub(super) fn release(&mut self, index: u32) {
        *self.pages.note_mut(index) = RELEASED;
        self.free.push(index);
    }

    /// Takes a page back that is in use, or was.
    fn take_back(&mut self, index: u32) {
        let level = self.pages.note_mut(index);
        if *level < RELEASED {
            self.free.push(index);
        }
        if *level != KEPT {
            *level = FREE;
        }
    }

    /// Whether the list of what was taken has all of it.
    fn is_all_listed(&self) -> bool {
        self.taken.len() <= LISTED_MAX
    }

    /// Whether there is more than fits into the processor's caches.
    #[inline]
    pub(super) fn outgrows_caches(&self) -> bool {
        self.pages.len() * self.page_size() > 2 * KEPT_BYTES
    }

    /// Bytes in a page.
    #[inline]
    pub(super) fn page_size(&self) -> usize {
        self.pages.size()
    }

    /// A page to be changed; others may still be looked at.
    #[inline]
    pub(super) fn page_mut(&mut self, index: u32) -> &mut [u8] {
        self.pages.bytes_mut(index)
    }

    /// Whether a page is in use at this level.
    #[inline]
    pub(super) fn is_at(&self, index: u32, level: u16) -> bool {
        self.pages.get(index).is_some_and(|(&own, _)| own == level)
    }

    /// Moves a page to another level.
    pub(super) fn set_level(&mut self, index: u32, level: u16) {
        *self.pages.note_mut(index) = level;
    }

    /// The page, if it is in use.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&[u8]> {
        let (&level, page) = self.pages.get(index)?;
        (level < RELEASED).then_some(page)
    }

    /// All pages in use.
    pub(super) fn in_use(&self) -> impl Iterator<Item = &[u8]> {
        let (listed, all) = if self.is_all_listed() { (&self.taken[..], 0) } else { (&[][..], self.pages.len()) };
        listed.iter().copied().chain(0..to_u32(all)).filter_map(|index| self.get(index))
    }

    /// Copies a page's content over another's.
    pub(super) fn copy(&mut self, from: u32, to: u32) {
        self.pages.copy(from, to);
    }

    /// How many pages are in use.
    pub(super) fn used(&self) -> usize {
        self.pages.len() - self.free.len() - self.kept_pages
    }

    /// Where a page is kept that has such a header.
    fn kept_place(&self, page: &[u8]) -> usize {
        to_usize(page::pgno(page).0) % (KEPT_BYTES / self.page_size())
    }

    /// Keeps a page for the next transaction, in the place of one that was kept there before.
    pub(super) fn keep(&mut self, index: u32) {
        if self.kept.is_empty() {
            self.kept = vec![None; KEPT_BYTES / self.page_size()].into();
        }
        let place = self.kept_place(self.pages.get(index).expect("a page of the arena").1);
        *self.pages.note_mut(index) = KEPT;
        match self.kept[place].replace(index) {
            Some(other) => {
                *self.pages.note_mut(other) = FREE;
                self.free.push(other);
            }
            None => self.kept_pages += 1,
        }
    }

    /// The kept page that is this one, no longer kept but at this level.
    pub(super) fn take_kept(&mut self, page: &[u8], level: u16) -> Option<u32> {
        let place = self.kept_place(page);
        let index = self.kept.get(place).copied().flatten()?;
        self.pages.get(index).filter(|(_, kept)| kept[..IDENTITY] == page[..IDENTITY])?;
        self.kept[place] = None;
        self.kept_pages -= 1;
        *self.pages.note_mut(index) = level;
        self.note_taken(index);
        Some(index)
    }

    /// Takes back what is in use; what is kept stays, unless so much was in use that it would be lost in it.
    pub(super) fn reset(&mut self) {
        let mut taken = std::mem::take(&mut self.taken);
        if self.pages.len() <= 2 * self.kept.len() {
            debug_assert!(self.used() <= taken.len() && self.pages.len() <= LISTED_MAX);
            taken.iter().for_each(|&index| self.take_back(index));
            taken.clear();
            self.taken = taken;
            return;
        }
        self.kept.fill(None);
        self.kept_pages = 0;
        self.pages.clear();
        self.free.clear();
    }
}
