//! Retired extents: freed by a commit, but perhaps visible to a snapshot.
//!
//! Owns: which of them become free when the live snapshots change. Must not know: what free means, who the readers are.
//!
//! Let `s` be the newest live snapshot before an extent's death. The extent is visible to some live snapshot if and only
//! if its birth is at or below `s`; then it waits for `s`, its *blocker*. While the blocker lives nothing that waits for
//! it need be looked at; when it is gone, what waited for it is free or waits for another.
//!
//! What a file has of very many pages of one birth and death stays a [`Cohort`] until they are free.
//!
//! Invariants: extents are disjoint and not empty, and no cohort has a page of theirs or of another; `pages` is the sum of
//! all; each of `by_start` is listed in `fresh`, or in `waiting` under a snapshot that was live at the last release and
//! that sees it. (Both may also list some that are no more.)

use std::collections::BTreeMap;

use super::bits::Bits;
use super::cohort::Cohort;
use crate::ids::{Extent, Pgno, Txnid};

/// Of extents to be freed, more than this part of all are found by going through all: to remove one by one takes as long
/// as to pass by some.
const SWEPT_PART: usize = 8;

/// An extent but for its start, and who sees it.
#[derive(Debug, Clone, Copy)]
struct RetiredExtent {
    pages: u64,
    birth: Txnid,
    death: Txnid,
}

impl RetiredExtent {
    /// The extent, whose start this is.
    fn from(&self, start: u64) -> Extent {
        Extent::new(Pgno(start), self.pages)
    }
}

/// The newest of these snapshots, which ascend, that sees what was born and died so.
fn blocker(birth: Txnid, death: Txnid, live: &[Txnid]) -> Option<Txnid> {
    let before = live.partition_point(|snapshot| *snapshot < death);
    live[..before].last().copied().filter(|newest| birth <= *newest)
}

/// An extent that is listed: its start, birth and death.
type Listed = (u64, Txnid, Txnid);

/// A set of pages as extents with birth and death.
#[derive(Debug, Default)]
pub(super) struct Retired {
    by_start: BTreeMap<u64, RetiredExtent>,
    /// Those that no release has looked at.
    fresh: Vec<Listed>,
    /// Those that wait for a snapshot.
    waiting: BTreeMap<Txnid, Vec<Listed>>,
    cohorts: Vec<Cohort>,
    pages: u64,
}

impl Retired {
    /// All of `sorted`, which is ascending and disjoint, and of cohorts that are too; faster than adding them one by one.
    pub(super) fn new(sorted: &[(Extent, Txnid, Txnid)], cohorts: Vec<Cohort>) -> Retired {
        let in_cohorts: u64 = cohorts.iter().map(Cohort::pages).sum();
        let retired = |&(extent, birth, death): &(Extent, Txnid, Txnid)| {
            (extent.start.0, RetiredExtent { pages: extent.pages, birth, death })
        };
        Retired {
            by_start: sorted.iter().map(retired).collect(),
            fresh: sorted.iter().map(|&(extent, birth, death)| (extent.start.0, birth, death)).collect(),
            waiting: BTreeMap::new(),
            cohorts,
            pages: sorted.iter().map(|(extent, _, _)| extent.pages).sum::<u64>() + in_cohorts,
        }
    }

    /// How many pages all extents have.
    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    /// Extents with birth and death. Those that came one by one ascend by address, and so do those of each cohort.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Extent, Txnid, Txnid)> + '_ {
        let alone = self.by_start.iter().map(|(&start, retired)| (retired.from(start), retired.birth, retired.death));
        alone.chain(self.cohorts.iter().flat_map(Cohort::retired))
    }

    /// Sets the bits of all pages.
    pub(super) fn mark(&self, bits: &mut Bits) {
        self.by_start.iter().for_each(|(&start, retired)| bits.set(retired.from(start)));
        self.cohorts.iter().for_each(|cohort| cohort.mark(bits));
    }

    /// How many extents there are, or a few more.
    pub(super) fn runs_max(&self) -> usize {
        self.by_start.len() + self.cohorts.iter().map(Cohort::runs_max).sum::<usize>()
    }

    /// How many there are that came one by one, each cohort counted as one.
    pub(super) fn parts(&self) -> usize {
        self.by_start.len() + self.cohorts.len()
    }

    /// Extents with the lowest page and the highest; others too.
    pub(super) fn ends(&self) -> impl Iterator<Item = Extent> + '_ {
        let alone = [self.by_start.first_key_value(), self.by_start.last_key_value()].into_iter().flatten();
        alone.map(|(&start, retired)| retired.from(start)).chain(self.cohorts.iter().filter_map(Cohort::ends).flatten())
    }

    /// What there is of the pages that follow each other from `page` on, of one birth and death.
    pub(super) fn run_from(&self, page: Pgno) -> Option<Extent> {
        let alone = self.containing(page).map(|whole| Extent::new(page, whole.end().0 - page.0));
        alone.or_else(|| self.cohorts.iter().find_map(|cohort| cohort.run_from(page)))
    }

    /// The extent that `page` is in, if it came alone.
    fn containing(&self, page: Pgno) -> Option<Extent> {
        let (&start, retired) = self.by_start.range(..=page.0).next_back()?;
        Some(retired.from(start)).filter(|extent| page < extent.end())
    }

    /// True if a page of `extent` is here.
    pub(super) fn overlaps(&self, extent: Extent) -> bool {
        let below = self.by_start.range(..extent.end().0).next_back();
        below.is_some_and(|(start, retired)| start + retired.pages > extent.start.0)
            || self.cohorts.iter().any(|cohort| cohort.overlaps(extent))
    }

    /// How many pages `snapshot` can see.
    pub(super) fn visible_to(&self, snapshot: Txnid) -> u64 {
        let alone = self.by_start.values().map(|retired| (retired.birth, retired.death, retired.pages));
        let all = alone.chain(self.cohorts.iter().map(|cohort| (cohort.birth, cohort.death, cohort.pages())));
        all.filter(|(birth, death, _)| *birth <= snapshot && snapshot < *death).map(|(_, _, pages)| pages).sum()
    }

    /// As [`Retired::add`] for pages that are known to wait for this snapshot.
    pub(super) fn add_waiting(&mut self, extent: Extent, birth: Txnid, death: Txnid, blocker: Txnid) {
        let start = self.join(extent, birth, death);
        self.waiting.entry(blocker).or_default().push((start, birth, death));
    }

    /// Adds pages of which none is here yet, and joins them with neighbours of the same birth and death.
    pub(super) fn add(&mut self, extent: Extent, birth: Txnid, death: Txnid) {
        let start = self.join(extent, birth, death);
        self.fresh.push((start, birth, death));
    }

    /// Where the extent starts that they are in then.
    fn join(&mut self, extent: Extent, birth: Txnid, death: Txnid) -> u64 {
        debug_assert!(!self.overlaps(extent) && birth <= death);
        let alike = |retired: &RetiredExtent| retired.birth == birth && retired.death == death;
        let (mut start, mut end) = (extent.start.0, extent.end().0);
        if let Some((&below, retired)) = self.by_start.range(..start).next_back()
            && below + retired.pages == start
            && alike(retired)
        {
            self.unlink(below);
            start = below;
        }
        if let Some(retired) = self.by_start.get(&end).copied().filter(alike) {
            self.unlink(end);
            end += retired.pages;
        }
        self.link(start, RetiredExtent { pages: end - start, birth, death });
        start
    }

    /// Removes pages that all are in one extent here.
    pub(super) fn remove(&mut self, part: Extent) {
        if let Some(cohort) = self.cohorts.iter_mut().find(|cohort| cohort.overlaps(part)) {
            cohort.remove(part);
            self.pages -= part.pages;
            return;
        }
        let whole = self.containing(part.start).filter(|whole| part.end() <= whole.end());
        let whole = whole.expect("only pages of one retired extent are removed");
        let retired = self.unlink(whole.start.0);
        for rest in
            [whole.start.0..part.start.0, part.end().0..whole.end().0].into_iter().filter(|rest| !rest.is_empty())
        {
            self.link(rest.start, RetiredExtent { pages: rest.end - rest.start, ..retired });
            self.fresh.push((rest.start, retired.birth, retired.death));
        }
    }

    /// Removes all pages from `end` on.
    pub(super) fn truncate(&mut self, end: Pgno) {
        for cohort in &mut self.cohorts {
            self.pages -= cohort.pages();
            cohort.truncate(end);
            self.pages += cohort.pages();
        }
        while let Some((&start, retired)) = self.by_start.last_key_value()
            && retired.from(start).end() > end
        {
            let (from, last) = (start.max(end.0), retired.from(start));
            self.remove(Extent::new(Pgno(from), last.end().0 - from));
        }
    }

    /// Removes the extents that no snapshot in `live` (ascending) sees and hands them to `free`. Returns how many it looked
    /// at, but for those that it passes by where it frees many.
    pub(super) fn release(&mut self, live: &[Txnid], mut free: impl FnMut(Extent)) -> u64 {
        let due = self.due(live);
        let examined = (due.len() + self.cohorts.len()) as u64;
        let gone = self.cohorts.extract_if(.., |cohort| blocker(cohort.birth, cohort.death, live).is_none());
        for cohort in gone {
            self.pages -= cohort.pages();
            cohort.runs().for_each(&mut free);
        }
        let mut unseen = Vec::new();
        for (start, birth, death) in due {
            match blocker(birth, death, live) {
                Some(blocker) => self.waiting.entry(blocker).or_default().push((start, birth, death)),
                None => unseen.push((start, birth, death)),
            }
        }
        if unseen.len() > self.by_start.len() / SWEPT_PART {
            self.sweep(live, free);
        } else {
            for (start, birth, death) in unseen {
                // It may have been joined with others, or taken, or it is listed twice.
                if self.by_start.get(&start).is_some_and(|retired| (retired.birth, retired.death) == (birth, death)) {
                    let retired = self.unlink(start);
                    free(Extent::new(Pgno(start), retired.pages));
                }
            }
        }
        examined
    }

    /// Those that are new or whose blocker is gone; they are listed nowhere any more.
    fn due(&mut self, live: &[Txnid]) -> Vec<Listed> {
        let mut due = std::mem::take(&mut self.fresh);
        let gone = self.waiting.extract_if(.., |blocker, _| live.binary_search(blocker).is_err());
        for (_, listed) in gone {
            // Most often these are all.
            if due.is_empty() { due = listed } else { due.extend(listed) }
        }
        due
    }

    /// Goes through all, and frees those that nobody sees.
    fn sweep(&mut self, live: &[Txnid], mut free: impl FnMut(Extent)) {
        for (start, retired) in
            self.by_start.extract_if(.., |_, retired| blocker(retired.birth, retired.death, live).is_none())
        {
            self.pages -= retired.pages;
            free(Extent::new(Pgno(start), retired.pages));
        }
    }

    fn link(&mut self, start: u64, retired: RetiredExtent) {
        self.by_start.insert(start, retired);
        self.pages += retired.pages;
    }

    fn unlink(&mut self, start: u64) -> RetiredExtent {
        let retired = self.by_start.remove(&start).expect("an extent starts here");
        self.pages -= retired.pages;
        retired
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
    fn an_extent_added_beside_one_that_waits_is_looked_at() {
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

    /// So many that few among them are freed one by one.
    fn many_others(retired: &mut Retired) {
        (0..20).for_each(|i| retired.add(extent(100 + 2 * i, 1), Txnid(3), Txnid(9)));
    }

    #[test]
    fn an_extent_is_not_freed_for_what_was_there_before_it() {
        let mut retired = Retired::default();
        many_others(&mut retired);
        retired.add(extent(10, 1), Txnid(3), Txnid(5));
        retired.release(&[Txnid(4), Txnid(8)], |_| unreachable!("snapshot 4 sees it"));
        retired.remove(extent(10, 1));
        retired.add(extent(10, 1), Txnid(6), Txnid(9));
        retired.release(&[Txnid(4), Txnid(8)], |_| unreachable!("snapshot 8 sees it"));
        retired.release(&[Txnid(8)], |_| unreachable!("it still does"));
        assert_eq!(retired.pages(), 21);
    }

    #[test]
    fn what_is_left_on_both_sides_of_pages_that_were_removed_is_freed_in_its_time() {
        let mut retired = Retired::default();
        many_others(&mut retired);
        retired.add(extent(10, 5), Txnid(3), Txnid(5));
        retired.release(&[Txnid(4), Txnid(8)], |_| unreachable!("snapshot 4 sees it"));
        retired.remove(extent(12, 1));
        let mut freed = Vec::new();
        retired.release(&[Txnid(8)], |extent| freed.push(extent));
        freed.sort_unstable();
        assert_eq!(freed, [extent(10, 2), extent(13, 2)]);
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
        assert!(examined <= 2 * COMMITS * EACH, "each when it came and when its short reader left: {examined}");

        retired.release(&[PARKED, Txnid(99 + COMMITS)], |_| freed += 1);
        let idle = retired.release(&[PARKED, Txnid(99 + COMMITS)], |_| freed += 1);
        assert_eq!(idle, 0, "what the parked snapshot holds is not looked at");
        let last = retired.release(&[Txnid(99 + COMMITS)], |_| freed += 1);
        assert_eq!((freed, retired.pages()), (COMMITS * EACH, 0));
        assert_eq!(last, COMMITS * EACH, "each extent once");
        assert!(retired.waiting.is_empty() && retired.fresh.is_empty());
    }
}
