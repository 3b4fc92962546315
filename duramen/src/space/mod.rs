//! Which pages may be taken.
//!
//! A page that commit `death` freed and that commit `birth` wrote is visible to snapshot `s` if and only if
//! `birth <= s < death`. It is *retired* while a live snapshot, or the durable commit that we may have to fall back to,
//! lies in that range; afterwards it is *free*. A long reader therefore holds only the pages that it can see.
//!
//! Owns: the free and the retired extents, the choice among the free ones ([`choose`]), and their form on disk ([`log`]).
//! Must not know: files, pages' contents, who the readers are.
//!
//! Invariants: no page is free twice, retired twice, or both; extents are never empty and end at or below
//! [`Pgno::LIMIT`]. [`Space::add_free`] and [`Space::retire`] refuse what would break this, because a damaged tree that
//! refers to a page twice also frees it twice.

pub(crate) mod base;
mod bits;
mod choose;
mod cohort;
mod free;
mod lanes;
pub(crate) mod log;
#[cfg(test)]
mod model;
mod retired;
#[cfg(test)]
mod tests;

use crate::error::Damage;
use crate::ids::{Extent, Pgno, Txnid};
use bits::Bits;
pub(crate) use choose::{Fit, SMALL_COMMIT};
use free::Free;
pub(crate) use lanes::Lane;
use lanes::Lanes;
use retired::Retired;

/// Pages by which a file may grow at least before it is indexed anew.
const INDEX_ROOM: u64 = 1 << 20;
/// So many pages may be retired before it is worth finding out which of them are free: what eight commits of one entry
/// each retire.
const PENDING_MAX: u64 = 32;

/// The free and the retired pages of a file.
#[derive(Debug, Default)]
pub(crate) struct Space {
    free: Free,
    /// Free pages too, but in `free` only after [`Space::settle`].
    lanes: Lanes,
    retired: Retired,
    /// What the last commits retired and no release has looked at: most of it is free by then, so it is not worth an
    /// index before. Each commit's ascends.
    pending: Vec<(Txnid, Vec<(Extent, Txnid)>)>,
    /// Something was retired since the last release that is not pending.
    fresh: bool,
    /// A bit for each page that is free or retired, once [`Space::index`] was asked for it.
    vacant: Option<Bits>,
    /// While it is read from a file: how many pages the file has in the end.
    limit: Option<u64>,
    /// There are free or retired pages from the limit on, of which nothing more is noted.
    beyond: bool,
    /// The length of the shortest run that was asked for, once long values are stored.
    shortest_run: Option<u64>,
}

impl Space {
    /// Nothing free, nothing retired.
    pub(crate) fn new() -> Space {
        Space::default()
    }

    /// Before what a file says of it is read: how many pages the file has in the end. What is freed beyond that, for a
    /// while, is not to take memory. Nothing if the file may grow.
    pub(crate) fn set_limit(&mut self, pages: Option<u64>) {
        (self.limit, self.beyond) = (pages, false);
    }

    /// The part of an extent below the limit.
    fn inside(&mut self, extent: Extent) -> Option<Extent> {
        let pages = self.limit.map_or(extent.pages, |limit| limit.saturating_sub(extent.start.0).min(extent.pages));
        self.beyond |= pages < extent.pages;
        (pages > 0).then(|| Extent::new(extent.start, pages))
    }

    /// Makes pages takeable at once. Damage, and no change, if one of them is free or retired already.
    pub(crate) fn add_free(&mut self, extent: Extent) -> Result<(), Damage> {
        check_number(extent)?;
        let Some(extent) = self.inside(extent) else { return Ok(()) };
        self.check_vacant(extent)?;
        self.mark_vacant(extent);
        self.free.add(extent);
        Ok(())
    }

    /// Notes pages that commit `birth` wrote and commit `death` freed. They stay retired until the next
    /// [`Space::release`] at least. Damage, and no change, if one of them is free or retired already.
    pub(crate) fn retire(&mut self, extent: Extent, birth: Txnid, death: Txnid) -> Result<(), Damage> {
        if birth > death {
            return Err(Damage("a page was freed before it was written"));
        }
        check_number(extent)?;
        let Some(extent) = self.inside(extent) else { return Ok(()) };
        self.check_vacant(extent)?;
        self.mark_vacant(extent);
        self.retired.add(extent, birth, death);
        self.fresh = true;
        Ok(())
    }

    /// As [`Space::retire`] for all that a commit freed, with births. Damage if a page is free, retired or given twice.
    pub(crate) fn retire_all(&mut self, mut cohort: Vec<(Extent, Txnid)>, death: Txnid) -> Result<(), Damage> {
        cohort.sort_unstable();
        for &(extent, birth) in &cohort {
            if birth > death {
                return Err(Damage("a page was freed before it was written"));
            }
            check_number(extent)?;
            self.check_vacant(extent)?;
        }
        if cohort.windows(2).any(|pair| pair[0].0.end() > pair[1].0.start) {
            return Err(Damage("a page was freed twice"));
        }
        cohort.iter().for_each(|(extent, _)| self.mark_vacant(*extent));
        self.pending.push((death, cohort));
        Ok(())
    }

    /// Brings what [`Space::retire_all`] left aside to its place among the retired, and what was set aside for small
    /// commits to its place among the free.
    pub(crate) fn settle(&mut self) {
        self.gather();
        self.settle_retired();
    }

    fn settle_retired(&mut self) {
        self.fresh |= !self.pending.is_empty();
        for (death, cohort) in std::mem::take(&mut self.pending) {
            cohort.into_iter().for_each(|(extent, birth)| self.retired.add(extent, birth, death));
        }
    }

    fn gather(&mut self) {
        self.lanes.drain().for_each(|extent| self.free.add(extent));
    }

    /// Whether the last commits retired so much that a [`Space::release`] is worth its price.
    pub(crate) fn is_release_due(&self) -> bool {
        self.fresh || self.pending_pages() >= PENDING_MAX
    }

    /// Whether a [`Space::release`] has anything to look at that came since the last.
    pub(crate) fn has_unreleased(&self) -> bool {
        self.fresh || !self.pending.is_empty()
    }

    /// Frees what the last commits retired, but for what the newest snapshot before them sees.
    fn release_pending(&mut self, live: &[Txnid]) {
        let most = self.pending.iter().map(|(_, cohort)| cohort.len()).sum();
        let (mut lasting, mut fleeting) = (Vec::with_capacity(most), Vec::with_capacity(most));
        for (death, cohort) in self.pending.drain(..) {
            let blocker = live[..live.partition_point(|snapshot| *snapshot < death)].last().copied();
            for (extent, birth) in cohort {
                match (blocker, Lane::of(birth, death)) {
                    (Some(blocker), _) if birth <= blocker => self.retired.add_waiting(extent, birth, death, blocker),
                    (_, Lane::Lasting) => lasting.push(extent),
                    (_, Lane::Fleeting) => fleeting.push(extent),
                }
            }
        }
        // What was freed just now is the best to be written next: the processor still has it.
        let mut runs = joined(fleeting);
        lasting.extend(runs.extract_if(.., |extent| extent.pages == 1));
        self.set_aside_all(Lane::Fleeting, runs);
        let lasting = joined(lasting);
        if self.shortest_run.is_some() {
            // They may have been long values, and become one again.
            lasting.into_iter().for_each(|extent| self.free.add(extent));
        } else {
            self.set_aside_all(Lane::Lasting, lasting);
        }
    }

    fn set_aside_all(&mut self, lane: Lane, extents: Vec<Extent>) {
        let many = extents.len() > lanes::EXTENTS_MAX;
        for extent in extents {
            let excess = if many { vec![extent] } else { self.lanes.push(lane, extent) };
            excess.into_iter().for_each(|extent| self.free.add(extent));
        }
    }

    /// Frees the retired pages that no snapshot in `live` (ascending, no repetitions) can see.
    ///
    /// Costs time for the live snapshots, for what it frees, and for each commit whose blocking snapshot is gone; not
    /// for what stays retired.
    pub(crate) fn release(&mut self, live: &[Txnid]) {
        debug_assert!(live.is_sorted_by(|a, b| a < b));
        self.release_pending(live);
        self.fresh = false;
        let mut unseen = Vec::new();
        self.retired.release(live, |extent| unseen.push(extent));
        // In ascending order each finds its place in the index near that of the one before.
        joined(unseen).into_iter().for_each(|extent| self.free.add(extent));
    }

    /// From this page on nothing stays set aside: what is taken there again and again keeps the file's end in use.
    pub(crate) fn set_aside_only_before(&mut self, page: Pgno) {
        self.lanes.drain_beyond(page).into_iter().for_each(|extent| self.free.add(extent));
    }

    /// Takes pages that follow each other, all of which are free and not set aside.
    pub(crate) fn take_free(&mut self, extent: Extent) {
        self.free.remove(extent);
        self.mark_used(extent);
    }

    /// Makes pages takeable, for this use first. Damage, and no change, if one of them is free or retired already.
    pub(crate) fn set_aside(&mut self, lane: Lane, extent: Extent) -> Result<(), Damage> {
        check_number(extent)?;
        self.check_vacant(extent)?;
        self.mark_vacant(extent);
        self.lanes.push(lane, extent).into_iter().for_each(|extent| self.free.add(extent));
        Ok(())
    }

    /// How many free pages end at `end`; 0 if they are fewer than asked for.
    pub(crate) fn free_at_end(&self, end: Pgno, least: u64) -> u64 {
        let found = self.free_before(end, least);
        if found < least { 0 } else { found }
    }

    fn free_before(&self, end: Pgno, least: u64) -> u64 {
        // Most often not even free and retired ones together are so many: a look at the bits tells.
        let limit = end.0.saturating_sub(least);
        if self.vacant.as_ref().is_some_and(|bits| bits.start_of_set(end.0, limit) > limit) {
            return 0;
        }
        let extent_of = |page| self.free.containing(page).or_else(|| self.lanes.containing(page));
        if extent_of(end).is_some() {
            return 0;
        }
        let mut start = end;
        while let Some(last) = start.0.checked_sub(1).map(Pgno)
            && let Some(extent) = extent_of(last)
        {
            start = extent.start;
        }
        end.0 - start.0
    }

    /// If free pages end at `end`, forgets them and returns where they start, otherwise returns `end`.
    pub(crate) fn trim_end(&mut self, end: Pgno) -> Pgno {
        self.gather();
        let below = end.0.checked_sub(1).and_then(|last| self.free.containing(Pgno(last)));
        match below {
            Some(extent) if extent.end() == end => {
                self.free.remove(extent);
                self.mark_used(extent);
                extent.start
            }
            _ => end,
        }
    }

    /// How many pages can be taken.
    pub(crate) fn free_pages(&self) -> u64 {
        self.free.pages() + self.lanes.pages()
    }

    /// How many pages are retired.
    pub(crate) fn retired_pages(&self) -> u64 {
        self.retired.pages() + self.pending_pages()
    }

    fn pending_pages(&self) -> u64 {
        self.pending.iter().flat_map(|(_, cohort)| cohort).map(|(extent, _)| extent.pages).sum()
    }

    /// Whether there is a run of so many free pages. What is set aside does not count.
    pub(crate) fn has_run(&mut self, pages: u64) -> bool {
        self.free.note_rest();
        self.free.smallest(pages).is_some()
    }

    /// How many free pages runs of so many pages find a place on; no more are counted than are enough.
    pub(crate) fn free_pages_in_runs(&mut self, length: u64, enough: u64) -> u64 {
        let found = self.free.pages_in_runs(length, enough);
        if found >= enough {
            return found;
        }
        // What is set aside is left alone while there is enough.
        self.gather();
        self.free.pages_in_runs(length, enough)
    }

    /// The length in pages of the longest free extent, 0 if there is none. What is set aside does not count.
    pub(crate) fn longest(&self) -> u64 {
        self.free.iter().map(|extent| extent.pages).max().unwrap_or(0)
    }

    /// How many free extents there are. What is set aside does not count.
    pub(crate) fn runs(&self) -> u64 {
        self.free.runs() as u64
    }

    /// The free extents, ascending; two of them never touch. All of them only after [`Space::settle`].
    pub(crate) fn extents(&self) -> impl Iterator<Item = Extent> + '_ {
        self.free.iter()
    }

    /// The retired extents with birth and death; all of them only after [`Space::settle`].
    pub(crate) fn retired(&self) -> impl Iterator<Item = (Extent, Txnid, Txnid)> + '_ {
        self.retired.iter()
    }

    /// The commits that freed what is retired, each as often as that has parts.
    pub(crate) fn deaths(&self) -> impl Iterator<Item = Txnid> + '_ {
        self.pending.iter().map(|(death, _)| *death).chain(self.retired.iter().map(|(_, _, death)| death))
    }

    /// How many these extents are, or a few more.
    pub(crate) fn retired_runs_max(&self) -> u64 {
        self.retired.runs_max() as u64
    }

    /// How many of them it takes time to read: those of a birth and death that very many have count as one.
    pub(crate) fn retired_parts(&self) -> u64 {
        self.retired.parts() as u64
    }

    /// How many retired pages `snapshot` can see, alone or with others. Takes time for all that are retired.
    pub(crate) fn blocked_by(&self, snapshot: Txnid) -> u64 {
        let pending = self.pending.iter().filter(|(death, _)| snapshot < *death).flat_map(|(_, cohort)| cohort);
        let seen = pending.filter(|(_, birth)| *birth <= snapshot);
        self.retired.visible_to(snapshot) + seen.map(|(extent, _)| extent.pages).sum::<u64>()
    }

    /// Damage unless every free and retired page lies in `first .. end`. For state that came from a file.
    pub(crate) fn check_within(&self, first: Pgno, end: Pgno) -> Result<(), Damage> {
        let within = |extent: Extent| first <= extent.start && extent.end() <= end;
        let ends = self.retired.ends();
        let pending = self.pending.iter().flat_map(|(_, cohort)| cohort).map(|(extent, _)| *extent);
        let all = ends.chain(pending).chain(self.lanes.iter()).all(within);
        if all && self.free.is_within(first, end) && !self.beyond {
            Ok(())
        } else {
            Err(Damage("a free page outside the file"))
        }
    }

    /// Takes pages wherever they are, free or retired, or some here and some there. Damage if one is in neither place;
    /// those before it are then gone.
    fn take_anywhere(&mut self, extent: Extent) -> Result<(), Damage> {
        self.gather();
        let Some(extent) = self.inside(extent) else { return Ok(()) };
        let mut at = extent.start;
        while at < extent.end() {
            let part = |whole: Extent| Extent::new(at, whole.end().min(extent.end()).0 - at.0);
            let taken = if let Some(free) = self.free.containing(at).map(part) {
                self.free.remove(free);
                free
            } else {
                // Few pages are taken before the release that follows their retirement.
                if self.is_pending(Extent::new(at, 1)) {
                    self.settle();
                }
                let retired = self.retired.run_from(at).map(part);
                let retired = retired.ok_or(Damage("a page was taken that was neither free nor retired"))?;
                self.retired.remove(retired);
                retired
            };
            self.mark_used(taken);
            at = taken.end();
        }
        Ok(())
    }

    /// Forgets all pages from `end` on.
    fn truncate(&mut self, end: Pgno) {
        if self.pending.iter().any(|(_, cohort)| cohort.last().is_some_and(|(last, _)| last.end() > end)) {
            self.settle();
        }
        self.gather();
        self.beyond &= self.limit.is_some_and(|limit| end.0 > limit);
        self.free.truncate(end);
        self.retired.truncate(end);
        if end.0 < Pgno::LIMIT {
            self.mark_used(Extent::new(end, Pgno::LIMIT - end.0));
        }
    }

    /// True if a page of `extent` is among what [`Space::retire_all`] left aside.
    fn is_pending(&self, extent: Extent) -> bool {
        self.pending.iter().any(|(_, cohort)| {
            let below = cohort.partition_point(|(other, _)| other.start < extent.end());
            cohort[..below].last().is_some_and(|(other, _)| other.end() > extent.start)
        })
    }

    fn check_vacant(&self, extent: Extent) -> Result<(), Damage> {
        let known = self.vacant.as_ref().filter(|bits| bits.reach(extent)).map(|bits| bits.any(extent));
        if known.unwrap_or_else(|| self.overlaps(extent)) {
            return Err(Damage("a page was freed twice"));
        }
        Ok(())
    }

    fn overlaps(&self, extent: Extent) -> bool {
        self.free.overlaps(extent)
            || self.lanes.overlaps(extent)
            || self.retired.overlaps(extent)
            || self.is_pending(extent)
    }

    /// Notes of each page whether it is free or retired, so that this need not be looked for any more. For a file of so
    /// many pages, inside of which all is.
    pub(crate) fn index(&mut self, pages: u64) {
        if self.vacant.as_ref().is_some_and(|bits| bits.reach(Extent::new(Pgno(0), pages))) {
            return;
        }
        let mut bits = Bits::new((2 * pages).saturating_add(INDEX_ROOM));
        let pending = self.pending.iter().flat_map(|(_, cohort)| cohort).map(|(extent, _)| *extent);
        self.free.mark(&mut bits);
        self.retired.mark(&mut bits);
        self.lanes.iter().chain(pending).for_each(|extent| bits.set(extent));
        self.vacant = Some(bits);
    }

    fn mark_vacant(&mut self, extent: Extent) {
        match &mut self.vacant {
            Some(bits) if bits.reach(extent) => bits.set(extent),
            // A file that grew so much, or a pointer out of the file: without the bits nothing is missing but time.
            _ => self.vacant = None,
        }
    }

    fn mark_used(&mut self, extent: Extent) {
        if let Some(bits) = &mut self.vacant {
            bits.clear(extent);
        }
    }
}

fn check_number(extent: Extent) -> Result<(), Damage> {
    let end = extent.start.0.checked_add(extent.pages);
    if extent.pages == 0 || end.is_none_or(|end| end > Pgno::LIMIT) {
        return Err(Damage("an extent beyond the highest page number"));
    }
    Ok(())
}

/// Disjoint extents in ascending order, those that touch as one.
fn joined(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_unstable();
    extents.dedup_by(|next, run| {
        let touches = run.end() == next.start;
        run.pages += if touches { next.pages } else { 0 };
        touches
    });
    extents
}

/// What of `from` is not in `minus`. Neither list may overlap itself; the result ascends.
pub(crate) fn subtract(from: &[Extent], minus: &[Extent]) -> Vec<Extent> {
    let (mut from, mut minus) = (from.to_vec(), minus.to_vec());
    from.sort_unstable();
    minus.sort_unstable();
    let mut rest = Vec::with_capacity(from.len());
    let mut between = |start: Pgno, end: Pgno| {
        if start < end {
            rest.push(Extent::new(start, end.0 - start.0));
        }
    };
    let mut passed = 0;
    for extent in from {
        passed += minus[passed..].iter().take_while(|cut| cut.end() <= extent.start).count();
        let mut start = extent.start;
        for cut in minus[passed..].iter().take_while(|cut| cut.start < extent.end()) {
            between(start, cut.start);
            start = cut.end();
        }
        between(start, extent.end());
    }
    rest
}
