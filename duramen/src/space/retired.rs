//! Retired extents: freed by a commit, but perhaps visible to a snapshot.
//!
//! Owns: which of them become free when the live snapshots change. Must not know: what free means, who the readers are.
//!
//! Let `s` be the newest live snapshot before an extent's death. The extent is visible to some live snapshot if and only
//! if its birth is at or below `s`; then it waits for `s`, its *blocker*. While the blocker lives nothing that waits for
//! it need be looked at; when it is gone, what waited for it is free or waits for another.
//!
//! Invariants: extents are disjoint and not empty; `pages` is their sum; each of `by_start` is listed in `fresh`, or in
//! `waiting` under a snapshot that was live at the last release and that sees it. (Both may also list some that are no
//! more.)

use std::collections::BTreeMap;

use crate::ids::{Extent, Pgno, Txnid};

/// Of extents to be freed, more than this part of all are found by going through all: to remove one by one takes as long
/// as to pass by some.
const SWEPT_PART: usize = 8;

/// An extent but for its start, and who sees it.
#[derive(Debug, Clone, Copy)]
struct Held {
    pages: u64,
    birth: Txnid,
    death: Txnid,
}

impl Held {
    /// The newest of these snapshots, which ascend, that sees it.
    fn blocker(&self, live: &[Txnid]) -> Option<Txnid> {
        let before = live.partition_point(|snapshot| *snapshot < self.death);
        live[..before].last().copied().filter(|newest| self.birth <= *newest)
    }
}

/// An extent that is listed: its start, birth and death.
type Listed = (u64, Txnid, Txnid);

/// A set of pages as extents with birth and death.
#[derive(Debug, Default)]
pub(super) struct Retired {
    by_start: BTreeMap<u64, Held>,
    /// Those that no release has looked at.
    fresh: Vec<Listed>,
    /// Those that wait for a snapshot.
    waiting: BTreeMap<Txnid, Vec<Listed>>,
    pages: u64,
}

impl Retired {
    /// All of `sorted`, which is ascending and disjoint; faster than adding them one by one.
    pub(super) fn from_sorted(sorted: &[(Extent, Txnid, Txnid)]) -> Retired {
        let held = |&(extent, birth, death): &(Extent, Txnid, Txnid)| {
            (extent.start.0, Held { pages: extent.pages, birth, death })
        };
        Retired {
            by_start: sorted.iter().map(held).collect(),
            fresh: sorted.iter().map(|&(extent, birth, death)| (extent.start.0, birth, death)).collect(),
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
        start
    }

    /// Removes pages that all are in one extent here.
    pub(super) fn remove(&mut self, part: Extent) {
        let whole = self.containing(part.start).filter(|whole| part.end() <= whole.end());
        let whole = whole.expect("only pages of one retired extent are removed");
        let held = self.unlink(whole.start.0);
        for rest in
            [whole.start.0..part.start.0, part.end().0..whole.end().0].into_iter().filter(|rest| !rest.is_empty())
        {
            self.link(rest.start, Held { pages: rest.end - rest.start, ..held });
            self.fresh.push((rest.start, held.birth, held.death));
        }
    }

    /// Removes all pages from `end` on.
    pub(super) fn truncate(&mut self, end: Pgno) {
        while let Some(last) = self.last().filter(|last| last.end() > end) {
            let start = last.start.max(end);
            self.remove(Extent::new(start, last.end().0 - start.0));
        }
    }

    /// Removes the extents that no snapshot in `live` (ascending) sees and hands them to `free`. Returns how many it looked
    /// at, but for those that it passes by where it frees many.
    pub(super) fn release(&mut self, live: &[Txnid], mut free: impl FnMut(Extent)) -> u64 {
        let due = self.due(live);
        let examined = due.len() as u64;
        let mut unseen = Vec::new();
        for (start, birth, death) in due {
            match (Held { pages: 0, birth, death }).blocker(live) {
                Some(blocker) => self.waiting.entry(blocker).or_default().push((start, birth, death)),
                None => unseen.push((start, birth, death)),
            }
        }
        if unseen.len() > self.by_start.len() / SWEPT_PART {
            self.sweep(live, free);
        } else {
            for (start, birth, death) in unseen {
                // It may have been joined with others, or taken, or it is listed twice.
                if self.by_start.get(&start).is_some_and(|held| (held.birth, held.death) == (birth, death)) {
                    let held = self.unlink(start);
                    free(Extent::new(Pgno(start), held.pages));
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
        for (start, held) in self.by_start.extract_if(.., |_, held| held.blocker(live).is_none()) {
            self.pages -= held.pages;
            free(Extent::new(Pgno(start), held.pages));
        }
    }

    fn link(&mut self, start: u64, held: Held) {
        self.by_start.insert(start, held);
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
