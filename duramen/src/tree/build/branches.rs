//! The branches above the leaves of a tree that is being built.

use super::Sink;
use crate::error::Result;
use crate::format::branch::BranchMut;
use crate::format::page::Child;
use crate::format::record::DEPTH_MAX;
use crate::tree::damaged;
use crate::width::to_u8;

/// The branch of one level that is being filled.
struct Open {
    page: Vec<u8>,
    /// Its lower bound, as its parent will have it.
    bound: Vec<u8>,
}

/// The branches being filled, lowest first.
pub(super) struct Branches {
    levels: Vec<Open>,
    page_size: usize,
    /// Separators are whole keys.
    whole: bool,
    /// Branches handed out.
    count: u64,
}

/// The page level of the lowest branches.
const LOWEST: usize = 2;

impl Branches {
    pub(super) fn new(page_size: usize, whole: bool) -> Branches {
        Branches { levels: Vec::new(), page_size, whole, count: 0 }
    }

    /// Adds a child with its lower bound to level `i`, counted from the lowest.
    pub(super) fn push<S: Sink>(&mut self, sink: &mut S, i: usize, bound: &[u8], child: Child) -> Result<()> {
        if LOWEST + i > DEPTH_MAX {
            return Err(damaged(child, "a tree of absurd depth"));
        }
        if i == self.levels.len() {
            self.levels.push(Open { page: vec![0; self.page_size], bound: bound.to_vec() });
            self.begin(i).insert(0, &[], child);
            return Ok(());
        }
        let mut page = BranchMut::new(&mut self.levels[i].page);
        if page.insert(page.len(), bound, child) {
            return Ok(());
        }
        // The next branch begins with this one's last child, so that it will have two whatever comes.
        let last = page.len() - 1;
        let mut last_bound = Vec::new();
        let moved = page.branch().separator(last, &mut last_bound).and_then(|()| page.branch().child(last));
        let moved = moved.map_err(|damage| damage.at(Default::default()))?;
        page.remove(last);
        let full_bound = std::mem::replace(&mut self.levels[i].bound, last_bound);
        let full = self.close(sink, i)?;
        let mut page = self.begin(i);
        let fits = page.insert(0, &[], moved) && page.insert(1, bound, child);
        assert!(fits, "a branch holds at least two children");
        self.push(sink, i + 1, &full_bound, full)
    }

    /// Makes the page of level `i` an empty branch.
    fn begin(&mut self, i: usize) -> BranchMut<'_> {
        let page = &mut self.levels[i].page;
        page.fill(0);
        BranchMut::init(page, to_u8(LOWEST + i), self.whole)
    }

    /// Hands out the branch of level `i`.
    fn close<S: Sink>(&mut self, sink: &mut S, i: usize) -> Result<Child> {
        self.count += 1;
        let page = &mut self.levels[i].page;
        BranchMut::new(page).seal();
        Ok(Child::page(sink.put(page)?, Child::UNCOUNTED))
    }

    /// Adds the last leaf and hands out all branches: the root (the leaf if there is no branch), levels and pages of
    /// branches.
    pub(super) fn finish<S: Sink>(mut self, sink: &mut S, bound: &[u8], leaf: Child) -> Result<(Child, u8, u64)> {
        let (mut bound, mut child, mut i) = (bound.to_vec(), leaf, 0);
        while i < self.levels.len() {
            self.push(sink, i, &bound, child)?;
            bound.clone_from(&self.levels[i].bound);
            child = self.close(sink, i)?;
            i += 1;
        }
        Ok((child, to_u8(i), self.count))
    }
}
