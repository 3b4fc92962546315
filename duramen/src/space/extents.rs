//! Free extents, ordered by address and by length.
//!
//! Owns: the set, and finding in it. Must not know: transactions.
//!
//! Invariants: extents are disjoint, not empty, and never touch (they are joined); `by_start` and `by_length` hold the
//! same extents, `long` those of [`SHORT`] pages and more; `pages` is their sum.

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{Extent, Pgno};

/// Lengths below this are searched one by one, those above by powers of two. A power of two.
const SHORT: u64 = 64;

/// Powers of two from [`SHORT`] to [`Pgno::LIMIT`], the longest extent there can be.
const CLASSES: usize = (Pgno::LIMIT.ilog2() - SHORT.ilog2() + 1) as usize;

/// A set of pages as extents.
#[derive(Debug)]
pub(super) struct Extents {
    /// Start to length.
    by_start: BTreeMap<u64, u64>,
    /// (length, start).
    by_length: BTreeSet<(u64, u64)>,
    /// Starts of the extents of `SHORT << i .. SHORT << (i + 1)` pages.
    long: [BTreeSet<u64>; CLASSES],
    pages: u64,
}

impl Default for Extents {
    fn default() -> Extents {
        Extents {
            by_start: BTreeMap::new(),
            by_length: BTreeSet::new(),
            long: [const { BTreeSet::new() }; CLASSES],
            pages: 0,
        }
    }
}

/// The class in `long` of a length of at least [`SHORT`].
fn class(length: u64) -> usize {
    (length.ilog2() - SHORT.ilog2()) as usize
}

fn extent((start, pages): (u64, u64)) -> Extent {
    Extent::new(Pgno(start), pages)
}

impl Extents {
    /// All of `sorted`, which is ascending and disjoint; faster than adding them one by one.
    pub(super) fn from_sorted(sorted: impl IntoIterator<Item = Extent>) -> Extents {
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for extent in sorted {
            match joined.last_mut() {
                Some((start, pages)) if *start + *pages == extent.start.0 => *pages += extent.pages,
                _ => joined.push((extent.start.0, extent.pages)),
            }
        }
        let mut all = Extents::default();
        for &(start, pages) in &joined {
            all.pages += pages;
            if pages >= SHORT {
                all.long[class(pages)].insert(start);
            }
        }
        all.by_length = joined.iter().map(|&(start, pages)| (pages, start)).collect();
        all.by_start = joined.into_iter().collect();
        all
    }

    /// How many pages all extents have.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// Ascending by address.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = Extent> + '_ {
        self.by_start.iter().map(|(&start, &pages)| extent((start, pages)))
    }

    /// The extent of the lowest address.
    pub(super) fn first(&self) -> Option<Extent> {
        self.by_start.first_key_value().map(|(&start, &pages)| extent((start, pages)))
    }

    /// The extent of the highest address.
    pub(super) fn last(&self) -> Option<Extent> {
        self.by_start.last_key_value().map(|(&start, &pages)| extent((start, pages)))
    }

    /// The longest extent; of several the lowest.
    pub(super) fn longest(&self) -> Option<Extent> {
        let &(length, _) = self.by_length.last()?;
        self.smallest(length)
    }

    /// The smallest extent of at least `pages` pages; of several the lowest.
    pub(super) fn smallest(&self, pages: u64) -> Option<Extent> {
        self.by_length.range((pages, 0)..).next().map(|&(length, start)| extent((start, length)))
    }

    /// The lowest extent of at least `pages` pages. At most `max(SHORT, pages) + CLASSES` look-ups of O(log n).
    pub(super) fn lowest(&self, pages: u64) -> Option<Extent> {
        if pages > Pgno::LIMIT {
            return None;
        }
        let whole_classes = pages.next_power_of_two().max(SHORT);
        let mut lowest = self.lowest_of_lengths(pages, whole_classes);
        for starts in &self.long[class(whole_classes)..] {
            lowest = [lowest, starts.first().copied()].into_iter().flatten().min();
        }
        let start = lowest?;
        Some(extent((start, self.by_start[&start])))
    }

    /// The lowest start of an extent of `from .. below` pages: one look-up for each length that occurs.
    fn lowest_of_lengths(&self, from: u64, below: u64) -> Option<u64> {
        let mut lowest = None;
        let mut length = from;
        while let Some(&(found, start)) = self.by_length.range((length, 0)..(below, 0)).next() {
            lowest = Some(lowest.map_or(start, |known: u64| known.min(start)));
            length = found + 1;
        }
        lowest
    }

    /// The extent that `page` is in.
    pub(super) fn containing(&self, page: Pgno) -> Option<Extent> {
        let (&start, &pages) = self.by_start.range(..=page.0).next_back()?;
        (page.0 < start + pages).then(|| extent((start, pages)))
    }

    /// True if a page of `extent` is here.
    pub(super) fn overlaps(&self, extent: Extent) -> bool {
        let below = self.by_start.range(..extent.end().0).next_back();
        below.is_some_and(|(start, pages)| start + pages > extent.start.0)
    }

    /// Adds pages of which none is here yet, and joins them with their neighbours.
    pub(super) fn add(&mut self, extent: Extent) {
        debug_assert!(!self.overlaps(extent));
        let (mut start, mut end) = (extent.start.0, extent.end().0);
        if let Some((&below, &pages)) = self.by_start.range(..start).next_back()
            && below + pages == start
        {
            self.unlink(below, pages);
            start = below;
        }
        if let Some(&pages) = self.by_start.get(&end) {
            self.unlink(end, pages);
            end += pages;
        }
        self.link(start, end - start);
    }

    /// Removes pages that all are in one extent here.
    pub(super) fn remove(&mut self, part: Extent) {
        let whole = self.containing(part.start).filter(|whole| part.end() <= whole.end());
        let whole = whole.expect("only pages of one free extent are removed");
        self.unlink(whole.start.0, whole.pages);
        if whole.start < part.start {
            self.link(whole.start.0, part.start.0 - whole.start.0);
        }
        if part.end() < whole.end() {
            self.link(part.end().0, whole.end().0 - part.end().0);
        }
    }

    /// Removes and returns the first `pages` pages (at least one) of `from`, an extent here.
    pub(super) fn take_from(&mut self, from: Extent, pages: u64) -> Extent {
        assert!(pages > 0, "a run of no pages");
        let part = Extent::new(from.start, pages);
        self.remove(part);
        part
    }

    /// Removes all pages from `end` on.
    pub(super) fn truncate(&mut self, end: Pgno) {
        while let Some(last) = self.last().filter(|last| last.end() > end) {
            let start = last.start.max(end);
            self.remove(Extent::new(start, last.end().0 - start.0));
        }
    }

    fn link(&mut self, start: u64, pages: u64) {
        self.by_start.insert(start, pages);
        self.by_length.insert((pages, start));
        if pages >= SHORT {
            self.long[class(pages)].insert(start);
        }
        self.pages += pages;
    }

    fn unlink(&mut self, start: u64, pages: u64) {
        self.by_start.remove(&start);
        self.by_length.remove(&(pages, start));
        if pages >= SHORT {
            self.long[class(pages)].remove(&start);
        }
        self.pages -= pages;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lowest_by_walking(extents: &Extents, pages: u64) -> Option<Extent> {
        extents.iter().find(|extent| extent.pages >= pages)
    }

    fn smallest_by_walking(extents: &Extents, pages: u64) -> Option<Extent> {
        extents.iter().filter(|extent| extent.pages >= pages).min_by_key(|extent| (extent.pages, extent.start))
    }

    #[test]
    fn neighbours_are_joined_on_both_sides() {
        let mut extents = Extents::default();
        for (start, pages) in [(10, 2), (14, 2), (12, 2)] {
            extents.add(extent((start, pages)));
        }
        assert_eq!(extents.iter().collect::<Vec<_>>(), [extent((10, 6))]);
        assert_eq!((extents.pages(), extents.longest()), (6, Some(extent((10, 6)))));
    }

    #[test]
    fn pages_from_the_middle_leave_two_extents() {
        let mut extents = Extents::from_sorted([extent((10, 100))]);
        extents.remove(extent((20, 5)));
        assert_eq!(extents.iter().collect::<Vec<_>>(), [extent((10, 10)), extent((25, 85))]);
        extents.truncate(Pgno(30));
        assert_eq!(extents.iter().collect::<Vec<_>>(), [extent((10, 10)), extent((25, 5))]);
        extents.truncate(Pgno(15));
        assert_eq!((extents.pages(), extents.iter().len()), (5, 1));
    }

    proptest! {
        #[test]
        fn every_search_agrees_with_a_walk(
            runs in prop::collection::vec((1u64..300, prop_oneof![1u64..8, 50u64..300, 900u64..5000]), 0..40),
            wanted in prop::collection::vec(prop_oneof![1u64..10, 40u64..300, 500u64..6000], 20),
        ) {
            let mut at = 0;
            let placed = runs.iter().map(|&(gap, pages)| { at += gap + pages; extent((at - pages, pages)) });
            let placed: Vec<Extent> = placed.collect();
            let built = Extents::from_sorted(placed.iter().copied());
            let mut added = Extents::default();
            placed.iter().rev().for_each(|&extent| added.add(extent));
            for extents in [&built, &added] {
                prop_assert_eq!(extents.iter().collect::<Vec<_>>(), placed.clone());
                for &pages in &wanted {
                    prop_assert_eq!(extents.lowest(pages), lowest_by_walking(extents, pages));
                    prop_assert_eq!(extents.smallest(pages), smallest_by_walking(extents, pages));
                }
                let longest = extents.iter().max_by_key(|extent| (extent.pages, u64::MAX - extent.start.0));
                prop_assert_eq!(extents.longest(), longest);
            }
            prop_assert_eq!(built.long, added.long);
            prop_assert_eq!(built.pages, added.pages);
        }
    }
}
