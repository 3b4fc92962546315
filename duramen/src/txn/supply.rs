//! The page numbers that a commit gives to its pages.
//!
//! Owns: which pages are placed together. Must not know: which pages are free, what is written to them.
//!
//! Pages that the next commits will replace do not stand among those that stay. So what a commit leaves behind when it
//! is replaced is long runs, and what lasts can be sent to the disk early without the rest.

use std::collections::VecDeque;

use super::allocate::{allocate, allocate_one};
use super::work::Work;
use crate::error::Result;
use crate::format::page;
use crate::ids::{Extent, Pgno, Txnid};
use crate::space::Lane;

/// For how long a dirty page will probably stay where it is placed.
pub(super) fn lane(page: &[u8], txnid: Txnid) -> Lane {
    // A copy still has the birth of what it was copied from; a page just made has none.
    Lane::of(page::birth(page), txnid)
}

/// Where page numbers come from.
pub(super) enum Supply {
    /// Each is taken when its turn comes.
    InTurn,
    /// They were taken at once, in ascending order for each lane.
    AtOnce([VecDeque<Extent>; 2]),
}

impl Supply {
    /// Numbers for all dirty pages.
    pub(super) fn for_commit(work: &mut Work) -> Result<Supply> {
        let txnid = work.txnid;
        let lasting = work.dirty.singles().filter(|page| lane(page, txnid) == Lane::Lasting).count() as u64;
        let mut extents = take(work)?;
        let fleeting = split(&mut extents, lasting);
        Ok(Supply::AtOnce([extents, fleeting]))
    }

    /// Numbers for at most all dirty pages, of which nothing is known.
    pub(super) fn for_spill(work: &mut Work) -> Result<Supply> {
        Ok(Supply::AtOnce([take(work)?, VecDeque::new()]))
    }

    /// A number for a page.
    pub(super) fn next(&mut self, work: &mut Work, lane: Lane) -> Result<Pgno> {
        let Supply::AtOnce(lanes) = self else { return allocate_one(work, lane) };
        let other = 1 - lane as usize;
        let first = if lanes[lane as usize].is_empty() { &mut lanes[other] } else { &mut lanes[lane as usize] };
        Ok(pop(first).expect("as many pages as were counted"))
    }

    /// What was taken and not used.
    pub(super) fn left(self) -> Vec<Extent> {
        match self {
            Supply::InTurn => Vec::new(),
            Supply::AtOnce(lanes) => lanes.into_iter().flatten().collect(),
        }
    }
}

fn take(work: &mut Work) -> Result<VecDeque<Extent>> {
    match work.dirty.single_pages() {
        0 => Ok(VecDeque::new()),
        pages => Ok(allocate(work, pages, false)?.into()),
    }
}

/// Leaves the first pages, so many of them, and returns the others.
fn split(extents: &mut VecDeque<Extent>, pages: u64) -> VecDeque<Extent> {
    let mut before = pages;
    let whole = extents
        .iter()
        .take_while(|extent| {
            extent.pages <= before && {
                before -= extent.pages;
                true
            }
        })
        .count();
    let mut rest = extents.split_off(whole);
    if before > 0
        && let Some(cut) = rest.front_mut()
    {
        extents.push_back(Extent::new(cut.start, before));
        *cut = Extent::new(Pgno(cut.start.0 + before), cut.pages - before);
    }
    rest
}

fn pop(extents: &mut VecDeque<Extent>) -> Option<Pgno> {
    let first = extents.front_mut()?;
    let pgno = first.start;
    if first.pages == 1 {
        extents.pop_front();
    } else {
        *first = Extent::new(Pgno(pgno.0 + 1), first.pages - 1);
    }
    Some(pgno)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_divided_at_any_page() {
        let extents = || VecDeque::from([(10, 3), (20, 1), (30, 4)].map(|(start, n)| Extent::new(Pgno(start), n)));
        let pages = |mut extents: VecDeque<Extent>| std::iter::from_fn(move || pop(&mut extents)).collect::<Vec<_>>();
        let all = pages(extents());
        assert_eq!(all, [10, 11, 12, 20, 30, 31, 32, 33].map(Pgno));
        for at in 0..=all.len() {
            let mut first = extents();
            let rest = split(&mut first, at as u64);
            assert_eq!((pages(first), pages(rest)), (all[..at].to_vec(), all[at..].to_vec()));
        }
    }
}
