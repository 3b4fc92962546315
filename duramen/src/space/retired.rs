//! Retired extents: freed by a commit, but perhaps visible to a snapshot.
//!
//! Owns: which of them become free when the live snapshots change. Must not know: what free means, who the readers are.
//!
//! The extents that one commit freed share their death `d`: a *cohort*. Let `s` be the newest live snapshot before `d`.
//! An extent of the cohort is visible to some live snapshot if and only if its birth is at or below `s`, so those with
//! younger births are free, and all others wait for the same `s`, the cohort's *blocker*. While the blocker lives the
//! cohort need not be looked at; when it is gone, the extents to free are the end of the cohort in order of birth.
//!
//! Invariants: extents are disjoint and not empty; each of `by_start` is listed in its cohort (which may also list some
//! that are no more); `pages` is their sum; each cohort is in `fresh`, or in `waiting` under a snapshot that was live at the last release and that sees all of
//! its extents. (`fresh` and `waiting` may also name cohorts that have become empty.)

use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{Extent, Pgno, Txnid};

/// An extent but for its start, and who sees it.
#[derive(Debug, Clone, Copy)]
struct Held {
    pages: u64,
    birth: Txnid,
    death: Txnid,
}

/// A set of pages as extents with birth and death.
#[derive(Debug, Default)]
pub(super) struct Retired {
    by_start: BTreeMap<u64, Held>,
    /// By death: birth and start of all that died then.
    cohorts: BTreeMap<Txnid, Vec<(Txnid, u64)>>,
    /// Deaths of the cohorts that no release has looked at since they grew.
    fresh: BTreeSet<Txnid>,
    /// Blocker to the deaths of the cohorts that wait for it.
    waiting: BTreeMap<Txnid, BTreeSet<Txnid>>,
    pages: u64,
}

impl Retired {
    /// All of `sorted`, which is ascending and disjoint; faster than adding them one by one.
    pub(super) fn from_sorted(sorted: &[(Extent, Txnid, Txnid)]) -> Retired {
        let held = |&(extent, birth, death): &(Extent, Txnid, Txnid)| {
            (extent.start.0, Held { pages: extent.pages, birth, death })
        };
        let mut cohorts: BTreeMap<Txnid, Vec<(Txnid, u64)>> = BTreeMap::new();
        for &(extent, birth, death) in sorted {
            cohorts.entry(death).or_default().push((birth, extent.start.0));
        }
        Retired {
            by_start: sorted.iter().map(held).collect(),
            fresh: cohorts.keys().copied().collect(),
            cohorts,
            waiting: BTreeMap::new(),
            pages: sorted.iter().map(|(extent, _, _)| extent.pages).sum(),
        }
    }

    /// How many pages all extents have.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// Extents with birth and death, ascending by address.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (Extent, Txnid, Txnid)> + '_ {
        self.by_start.iter().map(|(&start, held)| (Extent::new(Pgno(start), held.pages), held.birth, held.death))
    }

    /// The extent of the lowest address.
    pub(super) fn first(&self) -> Option<Extent> {
        self.by_start.first_key_value().map(|(&start, held)| Extent::new(Pgno(start), held.pages))
    }

    /// The extent of the highest address.
    pub(super) fn last(&self) -> Option<Extent> {
        self.by_start.last_key_value().map(|(&start, held)| Extent::new(Pgno(start), held.pages))
    }

    /// The extent that `page` is in.
    pub(super) fn containing(&self, page: Pgno) -> Option<Extent> {
        let (&start, held) = self.by_start.range(..=page.0).next_back()?;
        (page.0 < start + held.pages).then(|| Extent::new(Pgno(start), held.pages))
    }

    /// True if a page of `extent` is here.
    pub(super) fn overlaps(&self, extent: Extent) -> bool {
        let below = self.by_start.range(..extent.end().0).next_back();
        below.is_some_and(|(start, held)| start + held.pages > extent.start.0)
    }

    /// How many pages `snapshot` can see.
    pub(super) fn visible_to(&self, snapshot: Txnid) -> u64 {
        let seen = self.by_start.values().filter(|held| held.birth <= snapshot && snapshot < held.death);
        seen.map(|held| held.pages).sum()
    }

    /// As [`Retired::add`] for pages that are known to wait for this snapshot.
    pub(super) fn add_waiting(&mut self, extent: Extent, birth: Txnid, death: Txnid, blocker: Txnid) {
        self.join(extent, birth, death);
        self.waiting.entry(blocker).or_default().insert(death);
    }

    /// Adds pages of which none is here yet, and joins them with neighbours of the same birth and death.
    pub(super) fn add(&mut self, extent: Extent, birth: Txnid, death: Txnid) {
        self.join(extent, birth, death);
        self.fresh.insert(death);
    }

    fn join(&mut self, extent: Extent, birth: Txnid, death: Txnid) {
        debug_assert!(!self.overlaps(extent) && birth <= death);
        let alike = |held: &Held| held.birth == birth && held.death == death;
        let (mut start, mut end) = (extent.start.0, extent.end().0);
        if let Some((&below, held)) = self.by_start.range(..start).next_back()
            && below + held.pages == start
            && alike(held)
        {
            self.unlink(below);
            start = below;
        }
        if let Some(held) = self.by_start.get(&end).copied().filter(alike) {
            self.unlink(end);
            end += held.pages;
        }
        self.link(start, Held { pages: end - start, birth, death });
    }

    /// Removes pages that all are in one extent here.
    pub(super) fn remove(&mut self, part: Extent) {
        let whole = self.containing(part.start).filter(|whole| part.end() <= whole.end());
        let whole = whole.expect("only pages of one retired extent are removed");
        let held = self.unlink(whole.start.0);
        if whole.start < part.start {
            self.link(whole.start.0, Held { pages: part.start.0 - whole.start.0, ..held });
        }
        if part.end() < whole.end() {
            self.link(part.end().0, Held { pages: whole.end().0 - part.end().0, ..held });
        }
    }

    /// Removes all pages from `end` on.
    pub(super) fn truncate(&mut self, end: Pgno) {
        while let Some(last) = self.last().filter(|last| last.end() > end) {
            let start = last.start.max(end);
            self.remove(Extent::new(start, last.end().0 - start.0));
        }
    }

    /// Removes the extents that no snapshot in `live` (ascending) sees and hands them to `free`. Returns how many
    /// cohorts and extents it looked at.
    pub(super) fn release(&mut self, live: &[Txnid], mut free: impl FnMut(Extent)) -> u64 {
        let mut examined = 0;
        for death in self.due(live) {
            let before = live.partition_point(|snapshot| *snapshot < death);
            let blocker = live[..before].last().copied();
            examined += 1 + self.free_unseen(death, blocker, &mut free);
            if let Some(blocker) = blocker
                && self.has_cohort(death)
            {
                self.waiting.entry(blocker).or_default().insert(death);
            }
        }
        examined
    }

    /// The deaths of the cohorts that are new or whose blocker is gone; they wait for nothing any more.
    fn due(&mut self, live: &[Txnid]) -> BTreeSet<Txnid> {
        let mut due = std::mem::take(&mut self.fresh);
        let gone = self.waiting.extract_if(.., |blocker, _| live.binary_search(blocker).is_err());
        due.extend(gone.flat_map(|(_, deaths)| deaths));
        due
    }

    /// Removes the cohort's extents that were born after `blocker`; returns how many it looked at.
    fn free_unseen(&mut self, death: Txnid, blocker: Option<Txnid>, free: &mut impl FnMut(Extent)) -> u64 {
        let Some(mut cohort) = self.cohorts.remove(&death) else { return 0 };
        if !cohort.is_sorted() {
            cohort.sort_unstable();
        }
        let seen = blocker.map_or(0, |blocker| cohort.partition_point(|(birth, _)| *birth <= blocker));
        let unseen = cohort.split_off(seen);
        for &(birth, start) in &unseen {
            // It may have been joined with others, or taken, or it is listed twice.
            if self.by_start.get(&start).is_some_and(|held| held.death == death && held.birth == birth) {
                let held = self.unlink(start);
                free(Extent::new(Pgno(start), held.pages));
            }
        }
        if !cohort.is_empty() {
            self.cohorts.insert(death, cohort);
        }
        unseen.len() as u64
    }

    fn has_cohort(&self, death: Txnid) -> bool {
        self.cohorts.contains_key(&death)
    }

    fn link(&mut self, start: u64, held: Held) {
        self.by_start.insert(start, held);
        self.cohorts.entry(held.death).or_default().push((held.birth, start));
        self.pages += held.pages;
    }

    fn unlink(&mut self, start: u64) -> Held {
        let held = self.by_start.remove(&start).expect("an extent starts here");
        self.pages -= held.pages;
        held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(start: u64, pages: u64) -> Extent {
        Extent::new(Pgno(start), pages)
    }

    #[test]
    fn neighbours_join_only_with_the_same_birth_and_death() {
        let mut retired = Retired::default();
        retired.add(extent(10, 2), Txnid(1), Txnid(5));
        retired.add(extent(14, 2), Txnid(1), Txnid(5));
        retired.add(extent(12, 2), Txnid(1), Txnid(5));
        retired.add(extent(16, 2), Txnid(2), Txnid(5));
        retired.add(extent(8, 2), Txnid(1), Txnid(6));
        let extents: Vec<_> = retired.iter().map(|(extent, _, _)| extent).collect();
        assert_eq!(extents, [extent(8, 2), extent(10, 6), extent(16, 2)]);
        assert_eq!(retired.pages(), 10);
    }

    #[test]
    fn a_parked_snapshot_does_not_hold_pages_born_after_it() {
        let mut retired = Retired::default();
        retired.add(extent(10, 1), Txnid(3), Txnid(9));
        retired.add(extent(20, 1), Txnid(6), Txnid(9));
        let mut freed = Vec::new();
        retired.release(&[Txnid(5), Txnid(9)], |extent| freed.push(extent));
        assert_eq!(freed, [extent(20, 1)]);
        assert_eq!(retired.iter().collect::<Vec<_>>(), [(extent(10, 1), Txnid(3), Txnid(9))]);
    }

    #[test]
    fn an_extent_added_to_a_cohort_that_waits_is_looked_at_again() {
        let mut retired = Retired::default();
        retired.add(extent(10, 1), Txnid(3), Txnid(9));
        retired.release(&[Txnid(5)], |_| unreachable!("snapshot 5 sees it"));
        retired.add(extent(20, 1), Txnid(6), Txnid(9));
        let mut freed = Vec::new();
        retired.release(&[Txnid(5)], |extent| freed.push(extent));
        assert_eq!(freed, [extent(20, 1)]);
        retired.release(&[], |extent| freed.push(extent));
        assert_eq!((freed.len(), retired.pages()), (2, 0));
    }

    /// 100,000 extents of 1,000 commits behind a parked snapshot, while short readers come and go.
    #[test]
    fn releasing_is_amortised_while_a_snapshot_is_parked() {
        const COMMITS: u64 = 1_000;
        const EACH: u64 = 100;
        const PARKED: Txnid = Txnid(10);
        let mut retired = Retired::default();
        let (mut examined, mut freed) = (0, 0);
        for commit in 0..COMMITS {
            let death = Txnid(100 + commit);
            for i in 0..EACH {
                retired.add(extent((commit * EACH + i) * 2, 1), Txnid(i % 10), death);
            }
            let live = [PARKED, Txnid(death.0 - 1), death];
            examined += retired.release(&live, |_| freed += 1);
        }
        assert_eq!((freed, retired.pages()), (0, COMMITS * EACH));
        assert!(examined <= 3 * COMMITS, "cohorts only, each when it came and when its short reader left: {examined}");

        let idle = retired.release(&[PARKED, Txnid(99 + COMMITS)], |_| freed += 1);
        assert!(idle <= 2, "what the parked snapshot holds is not looked at: {idle}");
        let last = retired.release(&[Txnid(99 + COMMITS)], |_| freed += 1);
        assert_eq!((freed, retired.pages()), (COMMITS * EACH, 0));
        assert!(last <= COMMITS * (EACH + 1), "each extent once: {last}");
        assert!(retired.waiting.is_empty() && retired.fresh.is_empty());
    }
}
