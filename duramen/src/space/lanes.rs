//! Free pages set aside, so that small commits need not search for theirs.
//!
//! Owns: what is set aside for whom. Must not know: the other free pages.

use crate::ids::{Extent, Pgno, Txnid};

/// What a page is taken for. Pages that are soon replaced do not stand among those that stay: so each leaves long runs
/// behind, and what small commits write over and over is a few pages only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Pages that will be there for some time.
    Lasting,
    /// Pages that the next commits replace.
    Fleeting,
}

/// A page no older than so many commits is expected not to become much older.
const FLEETING_COMMITS: u64 = 4;

impl Lane {
    /// That of a page which commit `birth` wrote and commit `death` replaces.
    pub(crate) fn of(birth: Txnid, death: Txnid) -> Lane {
        if birth.0 + FLEETING_COMMITS > death.0 { Lane::Fleeting } else { Lane::Lasting }
    }
}

/// Most extents in a lane.
pub(super) const EXTENTS_MAX: usize = 64;

/// Extents for each lane. What was set aside last is taken first: the processor may still have it.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    extents: [Vec<Extent>; 2],
    pages: u64,
}

impl Lanes {
    pub(super) fn iter(&self) -> impl Iterator<Item = Extent> + '_ {
        self.extents.iter().flatten().copied()
    }

    pub(super) fn pages(&self) -> u64 {
        self.pages
    }

    pub(super) fn overlaps(&self, other: Extent) -> bool {
        self.iter().any(|extent| extent.start < other.end() && other.start < extent.end())
    }

    /// The extent that `page` is in.
    pub(super) fn containing(&self, page: Pgno) -> Option<Extent> {
        self.iter().find(|extent| extent.start <= page && page < extent.end())
    }

    /// Takes a page from a lane.
    pub(super) fn pop(&mut self, lane: Lane) -> Option<Pgno> {
        let extents = &mut self.extents[lane as usize];
        let extent = extents.last_mut()?;
        let page = extent.start;
        self.pages -= 1;
        if extent.pages == 1 {
            extents.pop();
        } else {
            *extent = Extent::new(Pgno(page.0 + 1), extent.pages - 1);
        }
        Some(page)
    }

    /// Sets pages aside; what there is then too much of.
    pub(super) fn push(&mut self, lane: Lane, extent: Extent) -> Vec<Extent> {
        let extents = &mut self.extents[lane as usize];
        let excess = if extents.len() < EXTENTS_MAX { Vec::new() } else { extents.drain(..EXTENTS_MAX / 2).collect() };
        extents.push(extent);
        self.pages += extent.pages;
        self.pages -= excess.iter().map(|extent| extent.pages).sum::<u64>();
        excess
    }

    /// Gives back what is set aside and reaches beyond a page.
    pub(super) fn drain_beyond(&mut self, page: Pgno) -> Vec<Extent> {
        let beyond = |extent: &mut Extent| extent.end() > page;
        let given: Vec<Extent> = self.extents.iter_mut().flat_map(|extents| extents.extract_if(.., beyond)).collect();
        self.pages -= given.iter().map(|extent| extent.pages).sum::<u64>();
        given
    }

    /// Gives back all that is set aside.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Extent> + '_ {
        self.pages = 0;
        self.extents.iter_mut().flat_map(|extents| extents.drain(..))
    }

    pub(super) fn is_empty(&self, lane: Lane) -> bool {
        self.extents[lane as usize].is_empty()
    }
}
