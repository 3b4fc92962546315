//! A writer's copied pages: memory until the commit gives them a place in the file.
//!
//! Owns: nesting levels, runs of pages, what is to be retired, copies kept for the next transaction. Must not know: keys,
//! files, free space.
//!
//! A dirty page has no page number; its parent points at it by its index in the arena. Each page belongs to the
//! nesting level that made it: a child transaction never changes a page of a level below, it copies it again, so that
//! aborting it is forgetting its pages. Level 0 is the transaction itself.
//!
//! Pages that were given their place, and will probably be changed soon again, are *kept*: their copies here are what
//! stands in the file, so that who wants to change them need neither copy nor check them.

mod arena;

use std::ops::Range;

use crate::error::{Error, Result};
use crate::format::page::Child;
use crate::ids::{Extent, Txnid};
use crate::pieces;
use crate::prefetch::{LINE, prefetch};
use crate::width::{to_u16, to_u32, to_usize};
use arena::{Arena, LEVELS_MAX};

/// Most bytes of memory kept for the next runs: twice what a transaction has of them before it writes some early.
const SPARE_BYTES: usize = 16 << 20;

/// A dirty run of overflow pages: whole pages, header included.
struct Run {
    bytes: Vec<u8>,
    level: u16,
}

/// Memory of runs that are gone, for those to come: what is freed and allocated for each transaction anew, the system
/// takes away and gives back page by page.
#[derive(Default)]
struct Spare {
    runs: Vec<Vec<u8>>,
    bytes: usize,
}

impl Spare {
    fn keep(&mut self, run: Vec<u8>) {
        if self.bytes + run.capacity() <= SPARE_BYTES {
            self.bytes += run.capacity();
            self.runs.push(run);
        }
    }

    /// Nothing, with room for so many bytes.
    fn take(&mut self, bytes: usize) -> Vec<u8> {
        let Some(mut run) = self.runs.pop() else { return Vec::with_capacity(bytes) };
        self.bytes -= run.capacity();
        run.clear();
        run.reserve_exact(bytes);
        run
    }
}

/// Pages of the file that the transaction no longer reaches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retired {
    pub extent: Extent,
    pub birth: Txnid,
    /// Their checksum, if the page was read: what the proof of the last commits counted for them.
    pub checksum: Option<u64>,
}

/// What one nesting level has done, so that it can be undone or handed down.
#[derive(Default)]
struct Level {
    created: Vec<u32>,
    superseded: Vec<u32>,
    runs_created: Vec<u32>,
    runs_superseded: Vec<u32>,
    retired_before: usize,
}

/// All that a write transaction has changed and not yet placed.
pub(crate) struct Dirty {
    arena: Arena,
    runs: Vec<Option<Run>>,
    runs_free: Vec<u32>,
    run_pages: u64,
    /// Pages of the longest run that there has been.
    longest_run: u64,
    spare: Spare,
    /// Levels above 0.
    levels: Vec<Level>,
    pub retired: Vec<Retired>,
    /// Addresses between which all memory lies that pages and runs have ever had.
    addresses: Range<usize>,
}

impl Dirty {
    pub(crate) fn new(page_size: usize) -> Dirty {
        Dirty {
            arena: Arena::new(page_size),
            runs: Vec::new(),
            runs_free: Vec::new(),
            run_pages: 0,
            longest_run: 0,
            spare: Spare::default(),
            levels: Vec::new(),
            retired: Vec::new(),
            addresses: 0..0,
        }
    }

    /// Whether these bytes may lie in a dirty page or run. Of memory between two of them it says so, too.
    #[inline]
    pub(crate) fn may_hold(&self, bytes: &[u8]) -> bool {
        let held = bytes.as_ptr_range();
        held.start.addr() < self.addresses.end && held.end.addr() > self.addresses.start
    }

    fn note_addresses(&mut self, of: Range<*const u8>) {
        let (known, new) = (&self.addresses, of.start.addr()..of.end.addr());
        self.addresses = if known.is_empty() { new } else { known.start.min(new.start)..known.end.max(new.end) };
    }

    /// Nesting level at work.
    #[inline]
    pub(crate) fn level(&self) -> usize {
        self.levels.len()
    }

    fn level_tag(&self) -> u16 {
        to_u16(self.levels.len())
    }

    /// Forgets everything; keeps memory for the next transaction.
    pub(crate) fn reset(&mut self) {
        self.arena.reset();
        self.runs.drain(..).flatten().for_each(|run| self.spare.keep(run.bytes));
        self.runs_free.clear();
        (self.run_pages, self.longest_run) = (0, 0);
        self.levels.clear();
        self.retired.clear();
    }

    /// Whether anything is dirty or retired.
    pub(crate) fn is_empty(&self) -> bool {
        self.arena.used() == 0 && self.run_pages == 0 && self.retired.is_empty()
    }

    /// Dirty pages, those of runs included. At level 0 all of them are reachable.
    pub(crate) fn pages(&self) -> u64 {
        self.arena.used() as u64 + self.run_pages
    }

    /// Dirty pages of runs, and those of the longest run that this transaction has had.
    pub(crate) fn run_pages(&self) -> (u64, u64) {
        (self.run_pages, self.longest_run)
    }

    /// The lengths of all runs, in pages.
    pub(crate) fn run_lengths(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().flatten().map(|run| (run.bytes.len() / self.arena.page_size()) as u64)
    }

    /// Dirty pages without those of runs.
    pub(crate) fn single_pages(&self) -> u64 {
        self.arena.used() as u64
    }

    /// The dirty pages without those of runs.
    pub(crate) fn singles(&self) -> impl Iterator<Item = &[u8]> {
        self.arena.in_use()
    }

    /// Whether this page was made at the level at work.
    #[inline]
    pub(crate) fn is_own(&self, child: Child) -> bool {
        child.is_dirty() && self.arena.is_at(child.dirty_index(), self.level_tag())
    }

    /// The page, or nothing if there is no such dirty page (a damaged file can name any).
    #[inline]
    pub(crate) fn page(&self, index: u32) -> Option<&[u8]> {
        self.arena.get(index)
    }

    /// Fetches the page's first lines, if there are so many dirty pages that the processor's caches may not have them.
    #[inline]
    pub(crate) fn prefetch(&self, child: Child, lines: usize) {
        if self.arena.outgrows_caches() {
            let page = self.page(child.dirty_index()).unwrap_or_default();
            (0..lines).for_each(|line| prefetch(page, line * LINE));
        }
    }

    #[inline]
    pub(crate) fn page_mut(&mut self, child: Child) -> &mut [u8] {
        debug_assert!(self.is_own(child));
        self.arena.page_mut(child.dirty_index())
    }

    /// A new page of zeros.
    pub(crate) fn create(&mut self) -> Child {
        let child = self.create_unset();
        self.arena.page_mut(child.dirty_index()).fill(0);
        child
    }

    /// A new page with any content.
    fn create_unset(&mut self) -> Child {
        let (index, new_memory) = self.arena.create(self.level_tag());
        if let Some(new) = new_memory {
            self.note_addresses(new);
        }
        if let Some(level) = self.levels.last_mut() {
            level.created.push(index);
        }
        Child::dirty(index)
    }

    /// A new page with this content.
    pub(crate) fn create_from(&mut self, bytes: &[u8]) -> Child {
        let child = self.create_unset();
        self.arena.page_mut(child.dirty_index()).copy_from_slice(bytes);
        child
    }

    /// Keeps placed pages of level 0 for the next transaction.
    pub(crate) fn keep(&mut self, placed: &[Child]) {
        placed.iter().for_each(|child| self.arena.keep(child.dirty_index()));
    }

    /// A page with the content of this page of the file, if it was kept.
    pub(crate) fn take_kept(&mut self, page: &[u8]) -> Option<Child> {
        let index = self.arena.take_kept(page, self.level_tag())?;
        if let Some(level) = self.levels.last_mut() {
            level.created.push(index);
        }
        Some(Child::dirty(index))
    }

    /// Copies a dirty page of a lower level to this one.
    pub(crate) fn copy_up(&mut self, child: Child) -> Child {
        let copy = self.create_unset();
        self.arena.copy(child.dirty_index(), copy.dirty_index());
        self.free(child);
        copy
    }

    /// Forgets a dirty page (if it belongs to a lower level: once this level is committed).
    pub(crate) fn free(&mut self, child: Child) {
        let index = child.dirty_index();
        if self.is_own(child) {
            self.arena.release(index);
        } else if let Some(level) = self.levels.last_mut() {
            level.superseded.push(index);
        }
    }

    /// A new run of `pages` pages: zeros, this, and zeros again to its end.
    pub(crate) fn create_run(&mut self, pages: u64, zeros: usize, content: &[u8]) -> Child {
        let mut bytes = self.spare.take(to_usize(pages) * self.arena.page_size());
        bytes.resize(zeros, 0);
        pieces::append(&mut bytes, content);
        bytes.resize(to_usize(pages) * self.arena.page_size(), 0);
        self.note_addresses(bytes.as_ptr_range());
        let run = Run { bytes, level: self.level_tag() };
        self.run_pages += pages;
        self.longest_run = self.longest_run.max(pages);
        let index = match self.runs_free.pop() {
            Some(index) => {
                self.runs[index as usize] = Some(run);
                index
            }
            None => {
                self.runs.push(Some(run));
                to_u32(self.runs.len() - 1)
            }
        };
        if let Some(level) = self.levels.last_mut() {
            level.runs_created.push(index);
        }
        Child::dirty(index)
    }

    pub(crate) fn run(&self, index: u32) -> Option<&[u8]> {
        self.runs.get(index as usize)?.as_ref().map(|run| &run.bytes[..])
    }

    pub(crate) fn run_mut(&mut self, child: Child) -> &mut [u8] {
        let run = self.runs[child.dirty_index() as usize].as_mut().expect("a run of this transaction");
        &mut run.bytes
    }

    /// Whether this run was made at the level at work.
    pub(crate) fn is_own_run(&self, index: u32) -> bool {
        self.runs.get(index as usize).and_then(Option::as_ref).is_some_and(|run| run.level == self.level_tag())
    }

    /// Forgets a dirty run.
    pub(crate) fn free_run(&mut self, index: u32) {
        if self.is_own_run(index) {
            self.release_run(index);
        } else if let Some(level) = self.levels.last_mut() {
            level.runs_superseded.push(index);
        }
    }

    fn release_run(&mut self, index: u32) {
        if let Some(run) = self.runs[index as usize].take() {
            self.run_pages -= (run.bytes.len() / self.arena.page_size()) as u64;
            self.runs_free.push(index);
            self.spare.keep(run.bytes);
        }
    }

    /// Takes a dirty run out, to be written.
    pub(crate) fn take_run(&mut self, index: u32) -> Option<Vec<u8>> {
        let run = self.runs.get_mut(index as usize)?.take()?;
        self.run_pages -= (run.bytes.len() / self.arena.page_size()) as u64;
        self.runs_free.push(index);
        Some(run.bytes)
    }

    /// Gives back the memory of a run that was written.
    pub(crate) fn keep_memory(&mut self, run: Vec<u8>) {
        self.spare.keep(run);
    }

    /// Takes some of what the level at work retired off the list.
    pub(crate) fn take_retired(&mut self, which: impl Fn(&Retired) -> bool) -> Vec<Retired> {
        let before = self.levels.last().map_or(0, |level| level.retired_before);
        self.retired.extract_if(before.., |retired| which(retired)).collect()
    }

    /// Begins a nesting level, unless there are more than pages can be told apart by.
    pub(crate) fn nest(&mut self) -> Result<()> {
        if self.levels.len() >= LEVELS_MAX {
            return Err(Error::Usage { what: "transactions are nested more than 65,000 deep" });
        }
        self.levels.push(Level { retired_before: self.retired.len(), ..Level::default() });
        Ok(())
    }

    /// Ends the level at work and forgets what it did.
    pub(crate) fn abort_level(&mut self) {
        let tag = self.level_tag();
        let Some(level) = self.levels.pop() else { return };
        for index in level.created {
            if self.arena.is_at(index, tag) {
                self.arena.release(index);
            }
        }
        for index in level.runs_created {
            if self.runs[index as usize].as_ref().is_some_and(|run| run.level == tag) {
                self.release_run(index);
            }
        }
        self.retired.truncate(level.retired_before);
    }

    /// Ends the level at work and hands what it did to the one below.
    pub(crate) fn commit_level(&mut self) {
        let tag = self.level_tag();
        let Some(level) = self.levels.pop() else { return };
        let below = self.level_tag();
        let created: Vec<u32> = level.created.into_iter().filter(|&index| self.arena.is_at(index, tag)).collect();
        for &index in &created {
            self.arena.set_level(index, below);
        }
        let runs: Vec<u32> = level.runs_created.into_iter().filter(|&i| self.run_level(i) == Some(tag)).collect();
        for &index in &runs {
            if let Some(run) = &mut self.runs[index as usize] {
                run.level = below;
            }
        }
        if let Some(parent) = self.levels.last_mut() {
            parent.created.extend(created);
            parent.runs_created.extend(runs);
        }
        for index in level.superseded {
            self.free(Child::dirty(index));
        }
        for index in level.runs_superseded {
            self.free_run(index);
        }
    }

    fn run_level(&self, index: u32) -> Option<u16> {
        self.runs[index as usize].as_ref().map(|run| run.level)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::format::page;
    use crate::ids::Pgno;

    #[test]
    fn an_aborted_level_leaves_nothing_and_a_committed_one_everything() {
        let mut dirty = Dirty::new(4096);
        let a = dirty.create();
        dirty.page_mut(a)[0] = 1;
        dirty.nest().unwrap();
        assert!(!dirty.is_own(a));
        let b = dirty.copy_up(a);
        dirty.page_mut(b)[0] = 2;
        dirty.create_run(3, 40, &[]);
        dirty.abort_level();
        assert_eq!((dirty.pages(), dirty.page(a.dirty_index()).unwrap()[0]), (1, 1));

        dirty.nest().unwrap();
        let c = dirty.copy_up(a);
        dirty.page_mut(c)[0] = 3;
        dirty.nest().unwrap();
        let d = dirty.copy_up(c);
        dirty.page_mut(d)[0] = 4;
        dirty.commit_level();
        dirty.commit_level();
        assert!(dirty.is_own(d));
        assert_eq!((dirty.pages(), dirty.page(d.dirty_index()).unwrap()[0]), (1, 4));
    }

    #[test]
    fn all_memory_of_pages_and_runs_is_known() {
        let mut dirty = Dirty::new(4096);
        assert!(!dirty.may_hold(&[1]));
        for pages in [1, 3, 500, 2] {
            let run = dirty.create_run(pages, 40, &[]);
            assert!(dirty.may_hold(dirty.run(run.dirty_index()).unwrap()));
        }
        let mut dirty = Dirty::new(4096);
        for _ in 0..1000 {
            let page = dirty.create();
            dirty.nest().unwrap();
            let copy = dirty.copy_up(page);
            for child in [page, copy] {
                let bytes = dirty.page(child.dirty_index()).unwrap();
                assert!(dirty.may_hold(bytes) && dirty.may_hold(&bytes[4095..]));
            }
            dirty.commit_level();
        }
    }

    #[test]
    fn a_kept_page_is_taken_again_only_as_it_stands_in_the_file() {
        let mut dirty = Dirty::new(4096);
        let placed = dirty.create();
        page::init(dirty.page_mut(placed), page::Kind::Leaf, 1);
        page::seal(dirty.page_mut(placed), Pgno(9), Txnid(1), 7);
        let in_file = dirty.page_mut(placed).to_vec();
        dirty.keep(&[placed]);
        dirty.reset();
        assert!(dirty.is_empty() && dirty.page(placed.dirty_index()).is_none());

        let mut rewritten = in_file.clone();
        page::seal(&mut rewritten, Pgno(9), Txnid(2), 7);
        assert_eq!(dirty.take_kept(&rewritten), None);
        let taken = dirty.take_kept(&in_file).expect("it was kept");
        assert_eq!((dirty.pages(), &*dirty.page_mut(taken)), (1, &in_file[..]));
        assert_eq!(dirty.take_kept(&in_file), None, "it may have been changed");

        dirty.reset();
        assert_eq!(dirty.take_kept(&in_file), None, "an aborted transaction keeps nothing");
    }

    #[test]
    fn a_reset_takes_back_all_that_was_made_however_much_was_freed_and_made_again() {
        for (freed, made) in [(0, 7), (3, 7), (5000, 7), (0, 1022), (0, 1023), (0, 1024), (0, 1025), (9, 3000)] {
            let mut dirty = Dirty::new(4096);
            let kept = dirty.create();
            page::init(dirty.page_mut(kept), page::Kind::Leaf, 1);
            dirty.keep(&[kept]);
            dirty.reset();
            for _ in 0..freed {
                let page = dirty.create();
                dirty.free(page);
            }
            for _ in 0..made {
                dirty.create();
            }
            assert_eq!((dirty.singles().count(), dirty.pages()), (made, made as u64), "{freed}");
            dirty.reset();
            assert!(dirty.is_empty() && dirty.singles().count() == 0, "{freed}, {made}");
            let again: BTreeSet<u32> = (0..made).map(|_| dirty.create().dirty_index()).collect();
            // The kept page is given up where much was made.
            let first = u32::from(made < 1024);
            assert!(again.iter().copied().eq(first..first + made as u32), "{freed}, {made}: {again:?}");
            assert_eq!(dirty.singles().count(), made, "{freed}");
        }
    }

    #[test]
    fn a_page_made_and_freed_in_a_child_can_be_made_again_there() {
        let mut dirty = Dirty::new(4096);
        dirty.nest().unwrap();
        let a = dirty.create();
        dirty.free(a);
        let b = dirty.create();
        assert_eq!(a, b);
        dirty.commit_level();
        assert!(dirty.is_own(b));
        assert_eq!(dirty.pages(), 1);
    }

    /// What a cursor of a write transaction relies on; here for Miri, which has no file to be mapped.
    #[test]
    #[allow(unsafe_code, reason = "the cursor's own is beside the transaction")]
    fn a_page_may_be_looked_at_while_others_are_made_and_changed() {
        let mut dirty = Dirty::new(4096);
        let first = dirty.create();
        // SAFETY: the page stays where it is, and nobody changes it.
        let held = unsafe { std::mem::transmute::<&[u8], &'static [u8]>(dirty.page(first.dirty_index()).unwrap()) };
        for _ in 0..70 {
            let other = dirty.create();
            dirty.page_mut(other).fill(1);
            assert_eq!(held[0], 0);
        }
        let other = dirty.create();
        dirty.nest().unwrap();
        let copy = dirty.copy_up(other);
        dirty.page_mut(copy)[0] = 2;
        assert_eq!(held[4095], 0);
    }
}
