//! Pages asked for before they are touched, where memory is too small for the file.
//!
//! Owns: which pages a walk or a search will come to. Must not know: whether asking for them pays, how it is done.
//!
//! The leaves of a fresh file lie in the order of their keys, those of an old one anywhere; the branches know them in
//! either. So a scout goes along the branches, some way ahead of a walk that has gone over several leaves.
//!
//! What is found here is only asked for, never believed: a page that cannot be read ends the scouting, and is reported by
//! whoever comes to it.

use super::path::Step;
use super::{Direction, Pages, open_branch};
use crate::advice::Advice;
use crate::format::branch::Branch;
use crate::format::overflow::Stub;
use crate::format::page::Child;
use crate::ids::Extent;
use crate::width::{to_u8, to_usize};

/// Leaves gone over before a walk asks, where asking has paid lately,
const BEGINNING: u64 = 2;
/// and where it has not.
const DOUBTFUL: u64 = 8;

/// A page of the file to be asked for; dirty ones are in memory.
pub(crate) fn page_of(child: Child) -> Option<Extent> {
    (!child.is_dirty()).then(|| Extent::new(child.pgno(), 1))
}

/// The pages of a large value.
pub(crate) fn run_of(stub: &[u8], page_size: usize) -> Option<Extent> {
    let stub = Stub::read(stub).ok()?;
    (!stub.child.is_dirty()).then(|| Extent::new(stub.child.pgno(), stub.pages(page_size)))
}

/// Asks for the children of a branch that are to be visited from the `i`-th on, a window at a time and one ahead.
pub(crate) fn ask_for_children(advice: &Advice, branch: &Branch<'_>, i: usize) {
    ask_among(advice, branch.len(), i, |i| branch.child(i).ok());
}

/// As [`ask_for_children`], of so many.
pub(crate) fn ask_among(advice: &Advice, len: usize, i: usize, child: impl Fn(usize) -> Option<Child>) {
    let window = to_usize(advice.window_pages());
    if !i.is_multiple_of(window) {
        return;
    }
    let from = if i == 0 { 0 } else { i + window };
    let to = len.min(i + 2 * window);
    let mut wanted = (from..to).filter_map(|i| child(i).and_then(page_of)).collect();
    advice.ask(&mut wanted);
}

/// What a path remembers of a walk along leaves.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookahead {
    /// The leaf that the walk came to last: it goes on if it leaves from there, in the same direction.
    at: Child,
    direction: Direction,
    /// Leaves that it has gone over.
    walked: u64,
    /// How many those will be when it looks ahead again, and how many have been asked for.
    look_at: u64,
    asked: u64,
    /// The last look at what was read, while asking does not pay.
    watch: Option<u64>,
    scout: Option<Scout>,
}

impl Lookahead {
    /// Notes a step of the walk from leaf `from` to the one that the steps lead to; asks for leaves if it is time.
    pub(super) fn step<P: Pages + ?Sized>(
        &mut self,
        pages: &P,
        advice: &Advice,
        from: Child,
        steps: &[Step],
        direction: Direction,
    ) {
        let Some((leaf, branches)) = steps.split_last() else { return };
        if self.at != from || self.direction != direction {
            *self = Lookahead { direction, ..Lookahead::default() };
        }
        self.at = leaf.page;
        self.walked += 1;
        if self.walked >= self.look_at {
            self.look(pages, advice, branches);
        }
    }

    fn look<P: Pages + ?Sized>(&mut self, pages: &P, advice: &Advice, branches: &[Step]) {
        let window = self.walked.min(advice.window_pages());
        if let Some(before) = self.watch.take() {
            advice.watched(Some(before), window);
        }
        if self.walked < BEGINNING || !advice.pays() && self.walked < DOUBTFUL {
            self.look_at = self.walked + 1;
            return;
        }
        self.look_at = self.walked + window;
        if !advice.pays() {
            self.watch = Some(advice.look_at_reads());
            self.scout = None;
            return;
        }
        self.ask(pages, advice, branches, self.walked + 2 * window);
    }

    /// Asks for the leaves up to the `to`-th.
    fn ask<P: Pages + ?Sized>(&mut self, pages: &P, advice: &Advice, branches: &[Step], to: u64) {
        let scout = match &mut self.scout {
            Some(scout) => scout,
            none => {
                self.asked = self.walked;
                none.insert(Scout { branches: branches.to_vec(), direction: self.direction })
            }
        };
        let mut wanted = Vec::new();
        scout.branches_beside(pages, to - self.asked, &mut wanted);
        while self.asked < to {
            let Some(leaf) = scout.next(pages) else {
                // The end of the tree: nothing more to ask for.
                self.look_at = u64::MAX;
                break;
            };
            wanted.extend(page_of(leaf));
            self.asked += 1;
        }
        advice.ask(&mut wanted);
    }
}

/// A way from the root to a branch above leaves, and the child taken in each.
#[derive(Clone, Debug)]
struct Scout {
    branches: Vec<Step>,
    direction: Direction,
}

impl Scout {
    /// The next leaf, if there is one and the branches can be read.
    fn next<P: Pages + ?Sized>(&mut self, pages: &P) -> Option<Child> {
        let depth = self.branches.len() + 1;
        for i in (0..self.branches.len()).rev() {
            let step = self.branches[i];
            let branch = open_branch(pages, step.page, to_u8(depth - i)).ok()?;
            let Some(to) = self.direction.beside_among(step.index, branch.len()) else { continue };
            self.branches[i].index = to;
            let mut child = branch.child(to).ok()?;
            for j in i + 1..self.branches.len() {
                let branch = open_branch(pages, child, to_u8(depth - j)).ok()?;
                let index = self.direction.entrance().of(branch.len());
                self.branches[j] = Step { page: child, index };
                child = branch.child(index).ok()?;
            }
            return Some(child);
        }
        None
    }

    /// The branches that are needed to find so many leaves, and a window more.
    fn branches_beside<P: Pages + ?Sized>(&self, pages: &P, leaves: u64, wanted: &mut Vec<Extent>) {
        let [.., above, last] = &self.branches[..] else { return };
        let open = |step: &Step, level| open_branch(pages, step.page, level).ok();
        let (Some(above_branch), Some(last)) = (open(above, 3), open(last, 2)) else { return };
        let mut index = above.index;
        for _ in 0..2 + 2 * leaves / last.len().max(1) as u64 {
            let Some(beside) = self.direction.beside_among(index, above_branch.len()) else { return };
            index = beside;
            wanted.extend(above_branch.child(index).ok().and_then(page_of));
        }
    }
}
