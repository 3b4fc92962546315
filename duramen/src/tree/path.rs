//! A way from the root of a tree to one entry, and the steps from there to its neighbours.
//!
//! Owns: descents and movement along the leaves. Must not know: duplicates, values.
//!
//! A path is valid as long as the pages on it are: for the life of a snapshot, or until the next change in a write
//! transaction. Its last index may be one past the leaf's end after a seek or a removal (a *gap*): `settle` moves
//! such a path to the next entry.

use super::lookahead::Lookahead;
use super::{AnyLeaf, Direction, End, Pages, Tree, at, below, damaged, open_branch, open_leaf};
use crate::advice::Advice;
use crate::error::Result;
use crate::format::branch::Branch;
use crate::format::page::Child;
use crate::format::record::DEPTH_MAX;
use crate::order::{Needle, Order};
use crate::width::to_u8;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Step {
    pub page: Child,
    pub index: usize,
}

/// The pages from the root (first) to a leaf (last), with the index taken in each. Empty: no position.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    steps: [Step; DEPTH_MAX],
    len: usize,
    /// Leaves between this one and the one that the path first led to; below zero if it has gone backwards.
    leaves_passed: i64,
    /// What is to be asked for ahead of a walk; nothing where memory holds the file.
    lookahead: Option<Box<Lookahead>>,
}

impl Default for Path {
    fn default() -> Path {
        Path { steps: [Step::default(); DEPTH_MAX], len: 0, leaves_passed: 0, lookahead: None }
    }
}

impl Path {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.leaves_passed = 0;
    }

    /// The steps, root first.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps[..self.len]
    }

    pub(crate) fn steps_mut(&mut self) -> &mut [Step] {
        &mut self.steps[..self.len]
    }

    /// The step in the leaf. The path must not be empty.
    #[inline]
    pub(crate) fn leaf(&self) -> Step {
        self.steps[self.len - 1]
    }

    #[inline]
    pub(crate) fn leaf_mut(&mut self) -> &mut Step {
        &mut self.steps[self.len - 1]
    }

    pub(crate) fn push(&mut self, page: Child, index: usize) -> Result<()> {
        if self.len == DEPTH_MAX {
            return Err(damaged(page, "a tree deeper than any tree can be"));
        }
        self.steps[self.len] = Step { page, index };
        self.len += 1;
        Ok(())
    }

    pub(crate) fn insert_root(&mut self, page: Child, index: usize) -> Result<()> {
        self.push(Child::default(), 0)?;
        self.steps.copy_within(0..self.len - 1, 1);
        self.steps[0] = Step { page, index };
        Ok(())
    }

    /// Whether it stands before all entries of the tree.
    pub(crate) fn is_at_start(&self) -> bool {
        self.steps().iter().all(|step| step.index == 0)
    }

    /// Whether every branch step takes its page's last child.
    pub(crate) fn is_rightmost<P: Pages + ?Sized>(&self, pages: &P) -> Result<bool> {
        for (i, step) in self.steps[..self.len - 1].iter().enumerate() {
            let branch = open_branch(pages, step.page, to_u8(self.len - i))?;
            if step.index + 1 != branch.len() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes to the needle's place: the first entry not below it, or the gap at the end of the leaf that would hold
    /// it. True if the entry there is the needle.
    pub(crate) fn seek<P: Pages + ?Sized>(
        &mut self,
        pages: &P,
        tree: &Tree,
        order: &Order,
        needle: &Needle<'_>,
    ) -> Result<bool> {
        // The place of an entry that is to be changed.
        let found = self.go_down(pages, tree, order, needle, |leaf| pages.prefetch_to_change(leaf))?;
        Ok(found.is_some_and(|(_, found)| found))
    }

    /// As [`Path::seek`]; also the bytes of the leaf that it comes to, which an empty tree has not. (An opened leaf would
    /// be handed on through memory, which takes longer than to open it again.)
    #[inline]
    pub(crate) fn seek_leaf<'p, P: Pages + ?Sized>(
        &mut self,
        pages: &'p P,
        tree: &Tree,
        order: &Order,
        needle: &Needle<'_>,
    ) -> Result<Option<(&'p [u8], bool)>> {
        self.go_down(pages, tree, order, needle, |leaf| pages.prefetch(leaf))
    }

    #[inline(always)]
    fn go_down<'p, P: Pages + ?Sized>(
        &mut self,
        pages: &'p P,
        tree: &Tree,
        order: &Order,
        needle: &Needle<'_>,
        prefetch_leaf: impl Fn(Child),
    ) -> Result<Option<(&'p [u8], bool)>> {
        self.clear();
        if tree.is_empty() {
            return Ok(None);
        }
        let mut child = tree.root;
        for level in (2..=tree.depth).rev() {
            let branch = open_branch(pages, child, level)?;
            let i = at(child, branch.search(needle, order))?;
            self.push(child, i)?;
            child = below(child, at(child, branch.child(i))?)?;
            if level > 2 { pages.prefetch(child) } else { prefetch_leaf(child) }
        }
        let bytes = pages.page(child)?;
        let (i, found) = at(child, AnyLeaf::open(bytes).and_then(|leaf| leaf.find(needle, order)))?;
        self.push(child, i)?;
        Ok(Some((bytes, found)))
    }

    /// As [`Path::seek`], if the needle's place is in the leaf that the path is in already. The path must be a way into the
    /// tree as it is; `None`, and it is where it was, if the place is elsewhere, or may be.
    pub(crate) fn seek_here<P: Pages + ?Sized>(
        &mut self,
        pages: &P,
        order: &Order,
        needle: &Needle<'_>,
    ) -> Result<Option<bool>> {
        if self.is_empty() {
            return Ok(None);
        }
        let leaf = self.open_leaf(pages)?;
        let (i, found) = at(self.leaf().page, leaf.find(needle, order))?;
        let is_here = found || self.len == 1 || (i > 0 && i < leaf.len());
        if !is_here {
            return Ok(None);
        }
        self.leaf_mut().index = i;
        Ok(Some(found))
    }

    /// Goes to the first entry; false if the tree is empty.
    pub(crate) fn first<P: Pages + ?Sized>(&mut self, pages: &P, tree: &Tree) -> Result<bool> {
        Ok(self.end_leaf(pages, tree, End::First)?.is_some())
    }

    /// Goes to the last entry; false if the tree is empty.
    pub(crate) fn last<P: Pages + ?Sized>(&mut self, pages: &P, tree: &Tree) -> Result<bool> {
        Ok(self.end_leaf(pages, tree, End::Last)?.is_some())
    }

    /// Goes to the first entry, or the last; the bytes of the leaf that it is in, which an empty tree has not.
    #[inline]
    pub(crate) fn end_leaf<'p, P: Pages + ?Sized>(
        &mut self,
        pages: &'p P,
        tree: &Tree,
        end: End,
    ) -> Result<Option<&'p [u8]>> {
        self.clear();
        if tree.is_empty() {
            return Ok(None);
        }
        self.descend(pages, tree.root, tree.depth, end).map(Some)
    }

    /// Appends the way down from `child` at `level` to its first or last entry; the bytes of the leaf there.
    fn descend<'p, P: Pages + ?Sized>(&mut self, pages: &'p P, child: Child, level: u8, end: End) -> Result<&'p [u8]> {
        let mut child = child;
        for level in (2..=level).rev() {
            let branch = open_branch(pages, child, level)?;
            let i = end.of(branch.len());
            self.push(child, i)?;
            child = below(child, at(child, branch.child(i))?)?;
        }
        let bytes = pages.page(child)?;
        self.enter_leaf(child, at(child, AnyLeaf::open(bytes))?.len(), end)?;
        Ok(bytes)
    }

    /// Appends the first or last entry of a leaf that has so many.
    #[inline(always)]
    fn enter_leaf(&mut self, leaf: Child, len: usize, end: End) -> Result<()> {
        if len == 0 {
            return Err(damaged(leaf, "an empty leaf"));
        }
        self.push(leaf, end.of(len))
    }

    /// Moves a path that stands in a gap to the entry after it; false (and no position) if there is none.
    pub(crate) fn settle<P: Pages + ?Sized>(&mut self, pages: &P, order: &Order) -> Result<bool> {
        if self.is_empty() {
            return Ok(false);
        }
        let leaf = self.leaf();
        if leaf.index < open_leaf(pages, leaf.page)?.len() {
            return Ok(true);
        }
        self.next_leaf(pages, order)
    }

    /// Goes to the next entry; false if there is none, and the path stays where it was.
    #[inline]
    pub(crate) fn next<P: Pages + ?Sized>(&mut self, pages: &P, order: &Order) -> Result<bool> {
        let step = self.leaf();
        if step.index + 1 < open_leaf(pages, step.page)?.len() {
            self.leaf_mut().index += 1;
            return Ok(true);
        }
        self.next_leaf(pages, order)
    }

    /// Goes to the previous entry; false if there is none, and the path stays where it was.
    #[inline]
    pub(crate) fn prev<P: Pages + ?Sized>(&mut self, pages: &P, order: &Order) -> Result<bool> {
        if self.leaf().index > 0 {
            self.leaf_mut().index -= 1;
            return Ok(true);
        }
        self.prev_leaf(pages, order)
    }

    /// Goes to the first entry of the next leaf.
    pub(crate) fn next_leaf<P: Pages + ?Sized>(&mut self, pages: &P, order: &Order) -> Result<bool> {
        self.sideways(pages, order, Direction::Forwards)
    }

    /// Goes to the last entry of the leaf before.
    pub(crate) fn prev_leaf<P: Pages + ?Sized>(&mut self, pages: &P, order: &Order) -> Result<bool> {
        self.sideways(pages, order, Direction::Backwards)
    }

    fn sideways<P: Pages + ?Sized>(&mut self, pages: &P, order: &Order, direction: Direction) -> Result<bool> {
        let from = self.leaf().page;
        if self.leaf_beside(pages, direction)?.is_none() {
            return Ok(false);
        }
        self.check_progress(pages, order, from, direction)?;
        Ok(true)
    }

    /// Goes to the first entry of the next leaf, or to the last of the one before; that leaf, if there is one, and its parent.
    /// It is for the caller to see to it that keys rise, or fall: [`Path::check_passed`].
    #[inline(always)]
    pub(crate) fn leaf_beside<'p, P: Pages + ?Sized>(
        &mut self,
        pages: &'p P,
        direction: Direction,
    ) -> Result<Option<(AnyLeaf<'p>, Branch<'p>)>> {
        let Some(above) = self.len.checked_sub(2) else { return Ok(None) };
        let (from, step) = (self.leaf().page, self.steps[above]);
        let mut parent = open_branch(pages, step.page, 2)?;
        // Most leaves have the parent of the one before.
        match direction.beside_among(step.index, parent.len()) {
            Some(to) => self.turn(above, to),
            None => match self.parent_beside(pages, direction)? {
                Some(beside) => parent = beside,
                None => return Ok(None),
            },
        }
        let step = self.leaf();
        let child = below(step.page, at(step.page, parent.child(step.index))?)?;
        let leaf = open_leaf(pages, child)?;
        self.enter_leaf(child, leaf.len(), direction.entrance())?;
        self.leaves_passed += match direction {
            Direction::Forwards => 1,
            Direction::Backwards => -1,
        };
        if let Some(advice) = pages.scarce() {
            self.look_ahead(pages, advice, from, direction);
        }
        Ok(Some((leaf, parent)))
    }

    /// Ends the path at one of its steps, which takes another child.
    #[inline(always)]
    fn turn(&mut self, i: usize, to: usize) {
        self.steps[i].index = to;
        self.len = i + 1;
    }

    /// Ends the path at the parent of the next leaf, or of the one before, where that is not the one that it goes through; that
    /// branch, if there is one.
    #[inline(never)]
    fn parent_beside<'p, P: Pages + ?Sized>(
        &mut self,
        pages: &'p P,
        direction: Direction,
    ) -> Result<Option<Branch<'p>>> {
        let depth = self.len;
        for i in (0..depth - 2).rev() {
            let (step, level) = (self.steps[i], to_u8(depth - i));
            let mut branch = open_branch(pages, step.page, level)?;
            let Some(to) = direction.beside_among(step.index, branch.len()) else { continue };
            self.turn(i, to);
            for level in (2..level).rev() {
                let above = self.leaf();
                let child = below(above.page, at(above.page, branch.child(above.index))?)?;
                branch = open_branch(pages, child, level)?;
                self.push(child, direction.entrance().of(branch.len()))?;
            }
            return Ok(Some(branch));
        }
        Ok(None)
    }

    /// Asks for leaves that a walk will come to.
    #[cold]
    fn look_ahead<P: Pages + ?Sized>(&mut self, pages: &P, advice: &Advice, from: Child, direction: Direction) {
        let steps = &self.steps[..self.len];
        self.lookahead.get_or_insert_default().step(pages, advice, from, steps, direction);
    }

    /// [`Path::check_passed`], for a path that has come from this leaf.
    fn check_progress<P: Pages + ?Sized>(
        &self,
        pages: &P,
        order: &Order,
        from: Child,
        direction: Direction,
    ) -> Result<()> {
        let old = open_leaf(pages, from)?;
        if old.len() == 0 {
            return Ok(());
        }
        let edge = at(from, old.key(direction.exit().of(old.len())))?;
        self.check_passed(pages, order, edge, self.key(pages)?, direction)
    }

    /// What keeps a walk over a damaged file short: the keys must go on rising (falling) across a leaf's border, which is
    /// between these two. In a program's own order, whose function need not be given for a walk, there must be no more leaves
    /// than pages.
    pub(crate) fn check_passed<P: Pages + ?Sized>(
        &self,
        pages: &P,
        order: &Order,
        edge: &[u8],
        key: &[u8],
        direction: Direction,
    ) -> Result<()> {
        let (low, high) = match direction {
            Direction::Forwards => (edge, key),
            Direction::Backwards => (key, edge),
        };
        let (is_possible, else_it_is) = match order {
            Order::Custom(_) => {
                (self.leaves_passed.unsigned_abs() <= pages.page_count(), "a leaf that comes again and again")
            }
            _ => (order.cmp(low, high).is_lt(), "keys out of order between leaves"),
        };
        if is_possible { Ok(()) } else { Err(damaged(self.leaf().page, else_it_is)) }
    }

    /// Fetches the leaf beside the path's.
    pub(crate) fn prefetch_beside<P: Pages + ?Sized>(&self, pages: &P, direction: Direction) {
        let Some(parent) = self.len.checked_sub(2).map(|i| self.steps[i]) else { return };
        let Some(beside) = direction.beside(parent.index) else { return };
        if let Ok(Ok(child)) = open_branch(pages, parent.page, 2).map(|branch| branch.child(beside)) {
            pages.prefetch_next(child);
        }
    }

    /// The parent of the path's leaf, if it has one.
    pub(crate) fn open_parent<'p, P: Pages + ?Sized>(&self, pages: &'p P) -> Option<Branch<'p>> {
        let parent = self.steps[self.len.checked_sub(2)?];
        open_branch(pages, parent.page, 2).ok()
    }

    /// The two leaves beside the path's, as far as they have the same parent, which is this: what a walk will want next.
    #[inline(always)]
    pub(crate) fn upcoming<'p, P: Pages + ?Sized>(
        &self,
        pages: &'p P,
        parent: &Branch<'p>,
        direction: Direction,
    ) -> [Option<&'p [u8]>; 2] {
        let index = self.len.checked_sub(2).map(|i| self.steps[i].index);
        let beside = |by| pages.upcoming(parent.child(direction.steps_on(index?, by)?).ok()?);
        [beside(1), beside(2)]
    }

    /// The leaf that the path ends in.
    #[inline]
    pub(crate) fn open_leaf<'p, P: Pages + ?Sized>(&self, pages: &'p P) -> Result<AnyLeaf<'p>> {
        open_leaf(pages, self.leaf().page)
    }

    /// The key at the path.
    #[inline]
    pub(crate) fn key<'p, P: Pages + ?Sized>(&self, pages: &'p P) -> Result<&'p [u8]> {
        let step = self.leaf();
        at(step.page, open_leaf(pages, step.page)?.key(step.index))
    }
}
