//! Very many retired pages of one birth and death, as they are read from a file.
//!
//! Owns: which they are. Must not know: who sees them.
//!
//! They become free together, and until then hardly any of them is asked for. So who reads them does not go through them
//! one by one: their bits stay as they come.

use super::bits::{Bits, WORD};
use crate::ids::{Extent, Pgno, Txnid};

/// See the module's head.
#[derive(Debug)]
pub(super) struct Cohort {
    pub birth: Txnid,
    pub death: Txnid,
    /// The page of the first bit: there are no bits for those before it.
    start: u64,
    bits: Bits,
    pages: u64,
    runs: usize,
}

impl Cohort {
    /// Pages whose bits are set in these words, the first of which is that of page `first * WORD`.
    pub(super) fn new(birth: Txnid, death: Txnid, first: u64, words: Vec<u64>) -> Cohort {
        let bits = Bits::from_words(0, words);
        let (pages, runs) = bits.count();
        Cohort { birth, death, start: first * WORD, bits, pages, runs }
    }

    /// How many pages there are.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// How many runs they are; fewer where whole runs were removed since they were read.
    pub(super) fn runs_max(&self) -> usize {
        self.runs
    }

    /// The runs, ascending.
    pub(super) fn runs(&self) -> impl Iterator<Item = Extent> + '_ {
        self.bits.runs(usize::MAX).map(|run| Extent::new(Pgno(run.start.0 + self.start), run.pages))
    }

    /// The same, with birth and death.
    pub(super) fn retired(&self) -> impl Iterator<Item = (Extent, Txnid, Txnid)> + '_ {
        self.runs().map(|run| (run, self.birth, self.death))
    }

    /// The words in which bits may be set, each with its place among those of all pages.
    pub(super) fn words(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (self.start / WORD..).zip(self.bits.words_from(0).iter().copied())
    }

    /// Sets the bits of all pages.
    pub(super) fn mark(&self, bits: &mut Bits) {
        bits.set_all_from(self.start / WORD, &self.bits);
    }

    /// The page with the lowest address and the one with the highest.
    pub(super) fn ends(&self) -> Option<[Extent; 2]> {
        let end = self.bits.words_from(0).len() as u64 * WORD;
        let first = self.bits.next_set(0, end);
        let last = (first..end).rev().find(|&page| self.bits.has(page))?;
        Some([first, last].map(|page| Extent::new(Pgno(page + self.start), 1)))
    }

    /// What there is of the pages that follow each other from `page` on.
    pub(super) fn run_from(&self, page: Pgno) -> Option<Extent> {
        let from = page.0.checked_sub(self.start).filter(|&from| self.bits.has(from))?;
        Some(Extent::new(page, self.bits.next_clear(from, self.bits.end()) - from))
    }

    /// Whether a page of the extent is here.
    pub(super) fn overlaps(&self, extent: Extent) -> bool {
        self.shifted(extent).is_some_and(|part| self.bits.any(part))
    }

    /// Removes pages, all of which are here.
    pub(super) fn remove(&mut self, extent: Extent) {
        let Some(part) = self.shifted(extent) else { return };
        debug_assert_eq!(part.pages, extent.pages);
        self.bits.clear(part);
        self.pages -= part.pages;
        // Two may be left of one.
        self.runs += 1;
    }

    /// Removes all pages from `end` on.
    pub(super) fn truncate(&mut self, end: Pgno) {
        let all = Extent::new(end, Pgno::LIMIT - end.0);
        if let Some(part) = self.shifted(all) {
            self.bits.clear(part);
            (self.pages, self.runs) = self.bits.count();
        }
    }

    /// The part of an extent for which there are bits, by its place among them.
    fn shifted(&self, extent: Extent) -> Option<Extent> {
        let start = extent.start.0.saturating_sub(self.start);
        let end = extent.end().0.saturating_sub(self.start).min(self.bits.end());
        (start < end).then(|| Extent::new(Pgno(start), end - start))
    }
}
