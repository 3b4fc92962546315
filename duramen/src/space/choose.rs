//! Which of the free pages are taken.
//!
//! Owns: the choice among holes that would all do. Must not know: what is retired, who reads.

use super::Space;
use super::lanes::Lane;
use crate::ids::{Extent, Pgno};

/// Where to put pages when several free extents would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// In the smallest extent that holds all of them, else in the longest ones: few runs, and long extents stay long.
    Tight,
    /// In the lowest extent that holds all of them, else in the lowest that are long enough to be worth a write of their
    /// own: the file's end empties.
    Low,
}

/// Runs of fewer pages than this cost a disk about as much each as one of this length.
pub(super) const RUN_WORTH: u64 = 8;

/// Fewer pages than this are put into small holes at once.
pub(crate) const SMALL_COMMIT: u64 = 16;
/// Pages set aside at once for small commits.
const LANE_PAGES: u64 = 32;

impl Space {
    /// Takes a page for a small commit: one of those set aside for such a use, if need be after setting some aside. So
    /// pages taken for the same use mostly follow each other, and are those that were written lately: writing over them
    /// before the disk has them saves it the page.
    pub(crate) fn take_one(&mut self, lane: Lane, fit: Fit) -> Option<Pgno> {
        let other = if lane == Lane::Lasting { Lane::Fleeting } else { Lane::Lasting };
        if self.lanes.is_empty(lane)
            && let Some(from) = self.choose_for_lane(fit)
        {
            let set_aside = self.free.take_from(from, LANE_PAGES.min(from.pages));
            self.lanes.push(lane, set_aside);
        }
        let page = self.lanes.pop(lane).or_else(|| self.lanes.pop(other))?;
        self.mark_used(Extent::new(page, 1));
        Some(page)
    }

    /// From a set that was read and not noted yet, one that is found soon.
    fn choose_for_lane(&mut self, fit: Fit) -> Option<Extent> {
        loop {
            let is_more = self.free.note_more();
            let chosen = self.choose_beside_runs(1);
            let free = &mut self.free;
            let chosen = chosen.or_else(|| match fit {
                Fit::Tight => free.smallest(LANE_PAGES),
                Fit::Low => free.lowest(LANE_PAGES).or_else(|| free.lowest(RUN_WORTH)),
            });
            let chosen = chosen.or_else(|| free.long());
            if chosen.is_some() || !is_more {
                return chosen;
            }
        }
    }

    /// Where so many single pages go in a file with long values, which need runs: each page that lasts in the middle of
    /// a hole makes it too short for the next long value, and the file longer. A few pages fill the file from its start,
    /// so that such pages come to lie side by side. Of many pages each request to the disk should have several: they go to
    /// holes too short for any value only where values are longer than that.
    fn choose_beside_runs(&mut self, pages: u64) -> Option<Extent> {
        let shortest = self.shortest_run?;
        if pages <= SMALL_COMMIT {
            return self.free.lowest(1);
        }
        if shortest < RUN_WORTH {
            return None;
        }
        self.free.smallest(RUN_WORTH).filter(|run| run.pages < shortest).or_else(|| self.free.shorter(shortest))
    }

    /// Takes one run of exactly `pages` pages (at least one) from one that is hardly longer, if there is such a one.
    pub(crate) fn take(&mut self, pages: u64) -> Option<Extent> {
        if pages > 1 {
            self.shortest_run = Some(self.shortest_run.map_or(pages, |shortest| shortest.min(pages)));
        }
        self.free.note_rest();
        // What is set aside is left alone while there is another run, for small commits to write over.
        let from = self.free.smallest(pages).or_else(|| {
            self.gather();
            self.free.smallest(pages)
        })?;
        let taken = self.free.take_from(from, pages);
        self.mark_used(taken);
        Some(taken)
    }

    /// Takes up to `pages` pages, fewer only if no more are free; in ascending order, as few extents as `fit` allows.
    pub(crate) fn take_up_to(&mut self, pages: u64, fit: Fit) -> Vec<Extent> {
        // What is set aside is left alone while there is enough.
        if self.free.pages() < pages {
            self.gather();
        }
        self.free.note_rest();
        let mut taken = Vec::new();
        let mut wanted = pages;
        while wanted > 0
            && let Some(from) = self.choose_beside_runs(pages)
        {
            taken.push(self.free.take_from(from, wanted.min(from.pages)));
            wanted -= wanted.min(from.pages);
        }
        taken.extend(match (wanted, fit) {
            (0, _) => Vec::new(),
            (_, Fit::Tight) => self.take_tight(wanted),
            (_, Fit::Low) => self.take_low(wanted),
        });
        taken.iter().for_each(|part| self.mark_used(*part));
        taken.sort_unstable();
        taken
    }

    fn take_tight(&mut self, pages: u64) -> Vec<Extent> {
        let mut taken = Vec::new();
        let mut wanted = pages;
        while wanted > 0
            && let Some(from) = self.free.smallest(wanted).or_else(|| self.free.long())
        {
            taken.push(self.free.take_from(from, wanted.min(from.pages)));
            wanted -= wanted.min(from.pages);
        }
        taken
    }

    fn take_low(&mut self, pages: u64) -> Vec<Extent> {
        if let Some(from) = self.free.lowest(pages) {
            return vec![self.free.take_from(from, pages)];
        }
        let mut taken: Vec<Extent> = Vec::new();
        let mut wanted = pages;
        for least in [RUN_WORTH, 1] {
            let mut found = Vec::new();
            for from in self.free.iter() {
                if wanted == 0 {
                    break;
                }
                if from.pages >= wanted.min(least) {
                    found.push(Extent::new(from.start, wanted.min(from.pages)));
                    wanted -= wanted.min(from.pages);
                }
            }
            found.iter().for_each(|part| self.free.remove(*part));
            taken.extend(found);
        }
        taken
    }
}
