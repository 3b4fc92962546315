//! The free pages, and finding runs of them.
//!
//! Owns: the set. Must not know: transactions.
//!
//! Each page has a bit, and the bits are the truth. What spares searching them are notes that may have become wrong, and
//! are put right when that is seen:
//! - A *hint* is a page that was in a run of a certain class of lengths. Each run has one in its class at least; what
//!   changes a run leaves a new one.
//! - The *bound* of a class, and of a block of pages, is a length that no run of the class, or beginning in the block, exceeds.
//!
//! So adding and removing pages costs the same however many runs there are. A search looks at the runs of a class, or of a
//! block, one by one only where the bound says that there may be one long enough; finds it none, the bound says so from then
//! on. Of a set that comes as bits the notes are made block by block: who takes a page or two need not look at all of it.

use super::bits::{Bits, Runs};
use crate::ids::{Extent, Pgno};
use crate::width::{to_u16, to_usize};

/// Lengths below this are classes of their own. A power of two.
const SHORT: u64 = 64;
/// So many classes are those from there to its double, as many those to the double of that, and so on. A power of two.
const STEPS: u64 = 8;
/// Runs of this length and more are one class. A power of two.
const LONG: u64 = 4096;
const CLASSES: usize = to_usize(SHORT + (LONG.ilog2() - SHORT.ilog2()) as u64 * STEPS) + 1;
const _: () = assert!(CLASSES <= u128::BITS as usize);
/// Pages with one bound.
const BLOCK: u64 = 4096;
/// There may be so many more hints than runs before they are made anew,
const HINTS_ROOM: usize = 1024;
/// and so many for each run.
const HINTS_EACH: usize = 4;

/// See the module's head.
#[derive(Debug)]
pub(super) struct Free {
    bits: Bits,
    pages: u64,
    runs: usize,
    /// Pages by class.
    hints: [Vec<u64>; CLASSES],
    /// The classes with hints, a bit for each.
    hinted: u128,
    hints_len: usize,
    /// The bounds of classes and of blocks. [`LONG`] bounds nothing.
    longest: [u16; CLASSES],
    bounds: Vec<u16>,
    /// Runs that begin in so many blocks, the first ones, have hints. Bounds are there for all.
    noted: usize,
    /// No page below this one is free.
    floor: u64,
}

impl Default for Free {
    fn default() -> Free {
        Free {
            bits: Bits::new(Pgno::LIMIT),
            pages: 0,
            runs: 0,
            hints: [const { Vec::new() }; CLASSES],
            hinted: 0,
            hints_len: 0,
            longest: [0; CLASSES],
            bounds: Vec::new(),
            noted: usize::MAX,
            floor: 0,
        }
    }
}

/// The class of a length of at least one page.
fn class(length: u64) -> usize {
    if length < SHORT {
        return to_usize(length);
    }
    let length = length.min(LONG);
    let power = length.ilog2();
    let step = length >> (power - STEPS.ilog2()) & (STEPS - 1);
    to_usize(SHORT + u64::from(power - SHORT.ilog2()) * STEPS + step)
}

/// A length as a bound.
fn bound(length: u64) -> u16 {
    to_u16(to_usize(length.min(LONG)))
}

fn between(start: u64, end: u64) -> Extent {
    Extent::new(Pgno(start), end - start)
}

impl Free {
    /// All of `sorted`, which is ascending and disjoint.
    pub(super) fn from_sorted(sorted: impl IntoIterator<Item = Extent>) -> Free {
        let mut free = Free::default();
        let mut run: Option<Extent> = None;
        for extent in sorted {
            free.pages += extent.pages;
            free.bits.set(extent);
            match &mut run {
                Some(run) if run.end() == extent.start => run.pages += extent.pages,
                _ => free.end_run(run.replace(extent)),
            }
        }
        free.end_run(run);
        free
    }

    /// All whose bits are set. They are found once they are noted.
    pub(super) fn from_bits(bits: Bits) -> Free {
        let (pages, runs) = bits.count();
        let bounds = vec![bound(LONG); to_usize(bits.end().div_ceil(BLOCK))];
        Free { bits, pages, runs, bounds, noted: 0, ..Free::default() }
    }

    /// Notes the runs of one more block; false if all are noted.
    pub(super) fn note_more(&mut self) -> bool {
        if self.noted >= self.bounds.len() {
            return false;
        }
        self.bounds[self.noted] = 0;
        self.note_runs(self.noted as u64 * BLOCK, (self.noted as u64 + 1) * BLOCK);
        self.noted += 1;
        if self.noted == self.bounds.len() {
            self.noted = usize::MAX;
        }
        true
    }

    /// Notes the runs of all blocks.
    pub(super) fn note_rest(&mut self) {
        while self.note_more() {}
    }

    /// How many pages runs of this length, side by side, find a place on; no more are counted than are enough.
    pub(super) fn pages_in_runs(&self, length: u64, enough: u64) -> u64 {
        let (length, mut pages) = (length.max(1), 0);
        for run in self.iter() {
            pages += run.pages / length * length;
            if pages >= enough {
                break;
            }
        }
        pages
    }

    /// A bit for each free page.
    pub(super) fn bits(&self) -> &Bits {
        &self.bits
    }

    fn end_run(&mut self, run: Option<Extent>) {
        if let Some(run) = run {
            self.runs += 1;
            self.note_as(run.pages, run.start.0);
        }
    }

    /// How many pages are free.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// How many runs they are.
    pub(super) fn runs(&self) -> usize {
        self.runs
    }

    /// The runs, ascending by address; two of them never touch.
    pub(super) fn iter(&self) -> Runs<'_> {
        self.bits.runs(self.runs)
    }

    /// Sets the bits of all free pages.
    pub(super) fn mark(&self, bits: &mut Bits) {
        bits.set_all(&self.bits);
    }

    /// The run that `page` is in.
    pub(super) fn containing(&self, page: Pgno) -> Option<Extent> {
        let start = self.bits.has(page.0).then(|| self.bits.start_of_set(page.0, 0))?;
        Some(between(start, self.bits.next_clear(page.0, self.bits.end())))
    }

    /// True if a page of `extent` is free.
    pub(super) fn overlaps(&self, extent: Extent) -> bool {
        self.bits.any(extent)
    }

    /// Whether all free pages lie in `first .. end`.
    pub(super) fn is_within(&self, first: Pgno, end: Pgno) -> bool {
        let below = self.bits.next_set(0, first.0) < first.0;
        let highest = self.bits.end().max(end.0);
        !below && self.bits.next_set(end.0, highest) == highest
    }

    /// Adds pages of which none is free yet.
    pub(super) fn add(&mut self, extent: Extent) {
        debug_assert!(!self.overlaps(extent));
        self.runs = self.runs + 1 - self.neighbours(extent);
        self.pages += extent.pages;
        self.bits.set(extent);
        self.floor = self.floor.min(extent.start.0);
        self.note(extent.start.0);
    }

    /// Removes pages that all are free.
    pub(super) fn remove(&mut self, part: Extent) {
        debug_assert_eq!(self.bits.next_clear(part.start.0, part.end().0), part.end().0);
        self.bits.clear(part);
        self.pages -= part.pages;
        self.runs = self.runs + self.neighbours(part) - 1;
        if let Some(before) = part.start.0.checked_sub(1).filter(|before| self.bits.has(*before)) {
            self.note(before);
        }
        if self.bits.has(part.end().0) {
            self.note(part.end().0);
        }
    }

    /// How many runs touch an extent that is in none.
    fn neighbours(&self, extent: Extent) -> usize {
        let below = extent.start.0.checked_sub(1).is_some_and(|before| self.bits.has(before));
        usize::from(below) + usize::from(self.bits.has(extent.end().0))
    }

    /// Removes and returns the first `pages` pages (at least one) of `from`, a run here.
    pub(super) fn take_from(&mut self, from: Extent, pages: u64) -> Extent {
        assert!(pages > 0, "a run of no pages");
        let part = Extent::new(from.start, pages);
        self.remove(part);
        part
    }

    /// Removes all pages from `end` on.
    pub(super) fn truncate(&mut self, end: Pgno) {
        loop {
            let (highest, start) = (self.bits.end(), self.bits.next_set(end.0, self.bits.end()));
            if start >= highest {
                return;
            }
            self.remove(between(start, self.bits.next_clear(start, highest)));
        }
    }

    /// A run of at least `pages` pages: of those shorter than [`SHORT`] the shortest, else one that is hardly longer than the
    /// shortest (an eighth), where that is less than [`LONG`].
    pub(super) fn smallest(&mut self, pages: u64) -> Option<Extent> {
        let mut left = self.hinted >> class(pages) << class(pages);
        while left != 0 {
            let class = left.trailing_zeros() as usize;
            left &= left - 1;
            if let Some(run) = self.of_class(class, pages) {
                return Some(run);
            }
        }
        None
    }

    /// Of the runs of shorter classes than that of `pages`, one of the longest class.
    pub(super) fn shorter(&mut self, pages: u64) -> Option<Extent> {
        let mut left = self.hinted & ((1 << class(pages)) - 1);
        while left != 0 {
            let class = left.ilog2() as usize;
            left &= !(1 << class);
            if let Some(run) = self.of_class(class, 1) {
                return Some(run);
            }
        }
        None
    }

    /// A run than which none is longer by an eighth, if it is shorter than [`LONG`].
    pub(super) fn long(&mut self) -> Option<Extent> {
        while self.hinted != 0 {
            // It has a run, or is hinted at no longer.
            let class = self.hinted.ilog2() as usize;
            if let Some(run) = self.of_class(class, 1) {
                return Some(run);
            }
        }
        None
    }

    /// A run of a class that has at least `pages` pages.
    fn of_class(&mut self, class: usize, pages: u64) -> Option<Extent> {
        if self.longest[class] < bound(pages) {
            return None;
        }
        let (mut i, mut longest) = (self.hints[class].len(), 0);
        while i > 0 {
            i -= 1;
            let hint = self.hints[class][i];
            let length = if self.bits.has(hint) { self.length_at(hint).0 } else { 0 };
            if self::class(length) != class {
                self.hints[class].swap_remove(i);
                self.hints_len -= 1;
                continue;
            }
            if bound(length) >= bound(pages)
                && let Some(run) = self.containing(Pgno(hint)).filter(|run| run.pages >= pages)
            {
                return Some(run);
            }
            longest = longest.max(bound(length));
        }
        self.longest[class] = longest;
        if self.hints[class].is_empty() {
            self.hinted &= !(1 << class);
        }
        None
    }

    /// The lowest run of at least `pages` pages.
    pub(super) fn lowest(&mut self, pages: u64) -> Option<Extent> {
        let wanted = bound(pages);
        for block in to_usize(self.floor / BLOCK)..self.bounds.len() {
            if self.bounds[block] < wanted {
                continue;
            }
            let (mut longest, end) = (0, (block as u64 + 1) * BLOCK);
            let mut runs = self.runs_from(self.floor.max(block as u64 * BLOCK)).take_while(|run| run.start.0 < end);
            let found = runs.find(|run| {
                longest = longest.max(run.pages);
                run.pages >= pages
            });
            drop(runs);
            let Some(run) = found else {
                self.bounds[block] = bound(longest);
                continue;
            };
            if pages == 1 {
                self.floor = run.start.0;
            }
            return Some(run);
        }
        None
    }

    /// The runs that begin at `page` or later.
    pub(super) fn runs_from(&self, page: u64) -> impl Iterator<Item = Extent> + '_ {
        let begun_before = page > 0 && self.bits.has(page - 1);
        let at = if begun_before { self.bits.next_clear(page, self.bits.end()) } else { page };
        self.bits.runs_from(at, usize::MAX)
    }

    /// The length of the run that a free page is in, or one that is [`LONG`] too, and where it starts, or a page not too far
    /// from there.
    fn length_at(&self, page: u64) -> (u64, u64) {
        let start = self.bits.start_of_set(page, page.saturating_sub(LONG));
        let end = self.bits.next_clear(page, (page + LONG).min(self.bits.end()));
        (end - start, start)
    }

    /// Notes the run that a free page is in.
    fn note(&mut self, page: u64) {
        if self.hints_len > HINTS_EACH * self.runs + HINTS_ROOM {
            return self.note_all();
        }
        let (length, start) = self.length_at(page);
        self.note_as(length, start);
    }

    fn note_as(&mut self, length: u64, start: u64) {
        let (class, bound) = (class(length), bound(length));
        self.hints[class].push(start);
        self.hinted |= 1 << class;
        self.hints_len += 1;
        self.longest[class] = self.longest[class].max(bound);
        let block = to_usize(start / BLOCK);
        if self.bounds.len() <= block {
            self.bounds.resize(block + 1, 0);
        }
        self.bounds[block] = self.bounds[block].max(bound);
    }

    /// Makes all notes anew.
    fn note_all(&mut self) {
        self.hints.iter_mut().for_each(Vec::clear);
        (self.hinted, self.hints_len, self.longest) = (0, 0, [0; CLASSES]);
        self.bounds.clear();
        self.noted = usize::MAX;
        self.note_runs(0, u64::MAX);
    }

    /// Notes the runs that begin at page `from` or later, below `end`.
    fn note_runs(&mut self, from: u64, end: u64) {
        let begun_before = from > 0 && self.bits.has(from - 1);
        let mut at = if begun_before { self.bits.next_clear(from, self.bits.end()) } else { from };
        loop {
            let start = self.bits.next_set(at, self.bits.end());
            if start >= end.min(self.bits.end()) {
                return;
            }
            at = self.bits.next_clear(start, self.bits.end());
            self.note_as(at - start, start);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn extent((start, pages): (u64, u64)) -> Extent {
        Extent::new(Pgno(start), pages)
    }

    fn runs(free: &Free) -> Vec<Extent> {
        free.iter().collect()
    }

    #[test]
    fn neighbours_are_joined_on_both_sides() {
        let mut free = Free::default();
        for (start, pages) in [(10, 2), (14, 2), (12, 2)] {
            free.add(extent((start, pages)));
        }
        assert_eq!(runs(&free), [extent((10, 6))]);
        assert_eq!((free.pages(), free.long()), (6, Some(extent((10, 6)))));
    }

    #[test]
    fn pages_from_the_middle_leave_two_runs() {
        let mut free = Free::from_sorted([extent((10, 100))]);
        free.remove(extent((20, 5)));
        assert_eq!(runs(&free), [extent((10, 10)), extent((25, 85))]);
        free.truncate(Pgno(30));
        assert_eq!(runs(&free), [extent((10, 10)), extent((25, 5))]);
        free.truncate(Pgno(15));
        assert_eq!((free.pages(), free.runs), (5, 1));
    }

    #[test]
    fn what_changes_over_and_over_leaves_few_hints() {
        let mut free = Free::from_sorted((0..100).map(|i| extent((i * 10, 2))));
        for i in 0..100_000 {
            let page = extent((i % 100 * 10, 1));
            free.remove(page);
            free.add(page);
        }
        let most = HINTS_EACH * free.runs + HINTS_ROOM + 1;
        assert!(free.hints_len <= most, "{} hints", free.hints_len);
        assert_eq!(free.hints.iter().map(Vec::len).sum::<usize>(), free.hints_len);
    }

    #[test]
    fn a_class_has_one_length_or_such_as_differ_by_less_than_an_eighth() {
        assert_eq!((class(LONG) + 1, class(1 << 40) + 1), (CLASSES, CLASSES));
        let mut first = 1;
        for length in 2..=LONG {
            if class(length) > class(first) {
                assert_eq!(class(length), class(first) + 1);
                first = length;
            }
            assert!(
                length - first <= first.saturating_sub(1) / STEPS && (length == first || length > SHORT),
                "{length}"
            );
        }
    }

    #[test]
    fn a_search_that_finds_no_run_long_enough_need_not_look_at_them_again() {
        let mut free = Free::from_sorted((0..1000).map(|i| extent((i * 110, 100))));
        let bounds = |free: &Free| (free.longest[class(103)], free.bounds.iter().copied().max().unwrap());
        free.add(extent((200_000, 103)));
        assert_eq!(
            (free.smallest(103), free.lowest(103)),
            (Some(extent((200_000, 103))), Some(extent((200_000, 103))))
        );
        free.remove(extent((200_000, 1)));
        assert_eq!((free.smallest(103), free.lowest(103), bounds(&free)), (None, None, (102, 102)));
        free.remove(extent((200_001, 50)));
        assert_eq!((free.smallest(101), free.lowest(101), bounds(&free)), (None, None, (100, 100)));
        free.add(extent((200_001, 49)));
        free.add(extent((200_050, 1)));
        assert_eq!(free.smallest(101), Some(extent((200_001, 102))));
        assert_eq!(free.lowest(101), Some(extent((200_001, 102))));
    }

    proptest! {
        #[test]
        fn every_search_agrees_with_a_walk(
            placed in prop::collection::vec((1u64..300, prop_oneof![1u64..8, 50u64..300, 900u64..9000]), 0..40),
            removed in prop::collection::vec((any::<prop::sample::Index>(), 0u64..100, 1u64..40), 0..20),
            wanted in prop::collection::vec(prop_oneof![1u64..10, 40u64..300, 500u64..9000], 20),
        ) {
            let mut at = 0;
            let placed = placed.iter().map(|&(gap, pages)| { at += gap + pages; extent((at - pages, pages)) });
            let placed: Vec<Extent> = placed.collect();
            let built = Free::from_sorted(placed.iter().copied());
            let mut added = Free::default();
            placed.iter().rev().for_each(|&extent| added.add(extent));
            prop_assert_eq!(runs(&built), placed.clone());
            let mut bits = Bits::new(Pgno::LIMIT);
            placed.iter().for_each(|&extent| bits.set(extent));
            for mut free in [built, added, Free::from_bits(bits)] {
                for &(index, from, pages) in &removed {
                    let all = runs(&free);
                    let Some(run) = (!all.is_empty()).then(|| all[index.index(all.len())]) else { break };
                    let from = from.min(run.pages - 1);
                    free.remove(extent((run.start.0 + from, pages.min(run.pages - from))));
                }
                free.note_rest();
                let left = runs(&free);
                prop_assert_eq!(free.pages(), left.iter().map(|run| run.pages).sum::<u64>());
                prop_assert_eq!((free.runs(), free.bits.count()), (left.len(), (free.pages(), left.len())));
                // It knows no less once pages below those that it has found are free again.
                let lowest = free.lowest(1);
                prop_assert_eq!(lowest, left.first().copied());
                if let Some(lowest) = lowest {
                    free.remove(extent((lowest.start.0, 1)));
                    prop_assert_eq!(free.lowest(1), runs(&free).first().copied());
                    free.add(extent((lowest.start.0, 1)));
                }
                for &pages in &wanted {
                    let fits = || left.iter().copied().filter(|run| run.pages >= pages);
                    prop_assert_eq!(free.lowest(pages), fits().next());
                    let (found, best) = (free.smallest(pages), fits().map(|run| run.pages).min());
                    prop_assert_eq!(found.map(|run| class(run.pages)), best.map(class));
                    prop_assert!(found.is_none_or(|run| run.pages >= pages && left.contains(&run)));
                }
                let longest = left.iter().map(|run| class(run.pages)).max();
                prop_assert_eq!(free.long().map(|run| class(run.pages)), longest);
                for page in (0..at + 70).step_by(7).map(Pgno) {
                    let walked = left.iter().copied().find(|run| run.start <= page && page < run.end());
                    prop_assert_eq!(free.containing(page), walked);
                }
            }
        }
    }
}
