//! Ranges: which bounds are none, and removing many entries at once, whole trees too, without a look at leaves that go
//! altogether.
//!
//! Owns: `check_bounds`, `delete_range`, `drop_tree`. Must not know: how many entries a caller counts as one.
//!
//! A branch just above the leaves keeps each leaf's number of entries in the child pointer, so that a leaf none of
//! whose cells holds anything outside can be dropped without being read.

use std::ops::Bound;

use super::delete::{collapse_root, tidy};
use super::insert::build;
use super::lookahead;
use super::{
    AnyLeaf, Pages, PagesMut, Path, Tree, at, below, blame, damaged, duplicates, expect_kind, open_branch, open_leaf,
    value,
};
use crate::error::{Error, Result};
use crate::format::leaf::{Leaf, LeafMut};
use crate::format::packed::PackedMut;
use crate::format::page::{self, Child};
use crate::ids::Txnid;
use crate::order::{Needle, Order};

/// Heads of pages are fetched so many children ahead.
const AHEAD: usize = 8;

/// A place between entries: before the needle's, or after it.
pub(crate) struct Edge<'a> {
    pub needle: Needle<'a>,
    pub after: bool,
}

/// Refuses bounds that have no place among the keys of a table of integers.
pub(crate) fn check_bounds<P: Pages>(pages: &P, tree: &Tree, order: &Order, bounds: [Bound<&[u8]>; 2]) -> Result<()> {
    let mut path = Path::default();
    if !matches!(order, Order::Native) || !path.first(pages, tree)? {
        return Ok(());
    }
    let key = path.key(pages)?;
    bounds.into_iter().try_for_each(|bound| match bound {
        Bound::Included(bound) | Bound::Excluded(bound) => check_size(key, bound),
        Bound::Unbounded => Ok(()),
    })
}

/// Refuses an integer of another size than one that is in the table, whose others have that size too.
pub(crate) fn check_size(known: &[u8], key: &[u8]) -> Result<()> {
    let (bytes, size) = (key.len(), known.len());
    if bytes == size { Ok(()) } else { Err(Error::KeyLength { bytes, min: size, max: size }) }
}

/// Removes all entries between two edges (`None`: the tree's end); returns how many, duplicates counted.
pub(crate) fn delete_range<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    low: Option<&Edge<'_>>,
    high: Option<&Edge<'_>>,
) -> Result<u64> {
    if tree.is_empty() {
        return Ok(0);
    }
    let mut pruner = Pruner { pages, tree, order, removed: 0 };
    let root = pruner.prune(pruner.tree.root, pruner.tree.depth, low, high)?;
    let removed = pruner.removed;
    match root {
        None => *tree = Tree { entries: tree.entries, overflows: tree.overflows, ..tree.emptied() },
        Some(root) => {
            tree.root = root;
            collapse_root(pages, tree)?;
            for edge in [low, high].into_iter().flatten() {
                let mut path = Path::default();
                path.seek(pages, tree, order, &edge.needle)?;
                tidy(pages, tree, order, &mut path)?;
            }
        }
    }
    tree.entries = tree.entries.checked_sub(removed).ok_or_else(|| damaged(tree.root, "more entries than counted"))?;
    Ok(removed)
}

/// Releases every page of a tree; returns how many entries it held, duplicates counted.
pub(crate) fn drop_tree<P: PagesMut>(pages: &mut P, tree: &mut Tree, order: &Order) -> Result<u64> {
    delete_range(pages, tree, order, None, None)
}

struct Pruner<'p, P> {
    pages: &'p mut P,
    tree: &'p mut Tree,
    order: &'p Order,
    removed: u64,
}

impl<P: PagesMut> Pruner<'_, P> {
    /// Removes what lies between the edges below `child`; what is left of it, if anything.
    fn prune(
        &mut self,
        child: Child,
        level: u8,
        low: Option<&Edge<'_>>,
        high: Option<&Edge<'_>>,
    ) -> Result<Option<Child>> {
        if low.is_none() && high.is_none() {
            self.drop_page(child, level, None)?;
            return Ok(None);
        }
        if level == 1 { self.prune_leaf(child, low, high) } else { self.prune_branch(child, level, low, high) }
    }

    fn prune_leaf(&mut self, child: Child, low: Option<&Edge<'_>>, high: Option<&Edge<'_>>) -> Result<Option<Child>> {
        let leaf = open_leaf(self.pages, child)?;
        let len = leaf.len();
        let place = |edge: &Edge<'_>| -> Result<usize> {
            let (i, found) = at(child, leaf.find(&edge.needle, self.order))?;
            Ok(i + usize::from(found && edge.after))
        };
        let from = low.map(place).transpose()?.unwrap_or(0);
        let to = high.map(place).transpose()?.unwrap_or(len);
        if from >= to {
            return Ok(Some(child.without_count()));
        }
        if from == 0 && to == len {
            self.drop_page(child, 1, None)?;
            return Ok(None);
        }
        expect_kind(self.pages, self.tree, child)?;
        let child = self.pages.touch(child)?;
        let entries = self.release_cells(child, from..to)?;
        self.count(entries);
        let page = self.pages.page_mut(child);
        for i in (from..to).rev() {
            if self.tree.is_packed() {
                PackedMut::new(page).remove(i);
            } else {
                LeafMut::new(page).remove(i);
            }
        }
        Ok(Some(child))
    }

    fn prune_branch(
        &mut self,
        child: Child,
        level: u8,
        low: Option<&Edge<'_>>,
        high: Option<&Edge<'_>>,
    ) -> Result<Option<Child>> {
        let branch = open_branch(self.pages, child, level)?;
        let first = low.map_or(Ok(0), |e| at(child, branch.search(&e.needle, self.order)))?;
        let last = high.map_or(Ok(branch.len() - 1), |e| at(child, branch.search(&e.needle, self.order)))?;
        if last < first {
            return Ok(Some(child.without_count()));
        }
        let born = oldest_below(child, self.pages.page(child)?);
        let mut entries = super::insert::collect(child, &open_branch(self.pages, child, level)?)?;
        let child = self.pages.touch(child)?;
        let mut changed = false;
        for i in (first..=last).rev() {
            let low = if i == first { low } else { None };
            let high = if i == last { high } else { None };
            let old = entries[i].1;
            let new = if low.is_none() && high.is_none() {
                self.drop_page(old, level - 1, born)?;
                None
            } else {
                self.prune(old, level - 1, low, high)?
            };
            match new {
                None => drop(entries.remove(i)),
                Some(new) if new.without_count() != old.without_count() => entries[i].1 = new,
                Some(_) => continue,
            }
            changed = true;
        }
        if !changed {
            return Ok(Some(child));
        }
        self.refill(child, level, &entries)
    }

    /// Writes the entries that are left back into their branch, or frees it if there are none.
    fn refill(&mut self, child: Child, level: u8, entries: &[(Vec<u8>, Child)]) -> Result<Option<Child>> {
        if entries.is_empty() {
            self.free_branch(child, None)?;
            return Ok(None);
        }
        if !build(self.pages.page_mut(child), level, self.order, entries) {
            return Err(damaged(child, "a branch page that does not fit a page"));
        }
        Ok(Some(child))
    }

    fn free_branch(&mut self, child: Child, born_by: Option<Txnid>) -> Result<()> {
        let branches = self.tree.branches.checked_sub(1);
        self.tree.branches = branches.ok_or_else(|| damaged(child, "more branch pages than counted"))?;
        self.pages.free_unread(child, born_by)
    }

    /// Releases a page and everything below it.
    fn drop_page(&mut self, child: Child, level: u8, born_by: Option<Txnid>) -> Result<()> {
        if level > 1 {
            let branch = open_branch(self.pages, child, level)?;
            let children: Vec<Child> = (0..branch.len()).map(|i| at(child, branch.child(i))).collect::<Result<_>>()?;
            let born = oldest_below(child, self.pages.page(child)?);
            let are_read = level > 2 || self.pages.is_read_to_free(born)?;
            for (i, &page) in children.iter().enumerate() {
                if let Some(advice) = self.pages.scarce().filter(|_| are_read) {
                    lookahead::ask_among(advice, children.len(), i, |i| children.get(i).copied());
                }
                // The heads of young pages will be read.
                children.get(i + AHEAD).into_iter().for_each(|ahead| self.pages.prefetch(*ahead));
                self.drop_page(below(child, page)?, level - 1, born)?;
            }
            return self.free_branch(child, born_by);
        }
        let leaves = self.tree.leaves.checked_sub(1);
        self.tree.leaves = leaves.ok_or_else(|| damaged(child, "more leaves than counted"))?;
        if child.is_dirty() || child.count16() == Child::UNCOUNTED || child.count16() == 0 {
            let len = open_leaf(self.pages, child)?.len();
            let entries = self.release_cells(child, 0..len)?;
            self.count(entries);
        } else {
            self.count(u64::from(child.count16()));
        }
        self.pages.free_unread(child, born_by)
    }

    /// Counts removed entries, of which a damaged file may say any number.
    fn count(&mut self, entries: u64) {
        self.removed = self.removed.saturating_add(entries);
    }

    /// Releases what these cells hold outside their leaf; returns how many entries they are.
    fn release_cells(&mut self, child: Child, range: std::ops::Range<usize>) -> Result<u64> {
        let AnyLeaf::Cells(leaf) = open_leaf(self.pages, child)? else {
            return Ok(range.len() as u64);
        };
        if leaf.outside() == 0 {
            return Ok(range.len() as u64);
        }
        let outside = outside_cells(child, &leaf, range.clone())?;
        let mut entries = (range.len() - outside.len()) as u64;
        for (kind, body) in outside {
            entries = entries.saturating_add(duplicates::count(child, self.tree, kind, &body)?);
            value::release(self.pages, self.tree, child, kind, &body)?;
            duplicates::release(self.pages, child, kind, &body)?;
        }
        Ok(entries)
    }
}

/// What lies below a page of the file was born no later than it; below a dirty one there may be anything.
fn oldest_below(child: Child, bytes: &[u8]) -> Option<Txnid> {
    if child.is_dirty() { None } else { Some(page::birth(bytes)) }
}

type OutsideCell = (crate::format::leaf::CellKind, Vec<u8>);

/// The cells in the range that are not plain, copied out of the page because releasing them needs the pages.
fn outside_cells(child: Child, leaf: &Leaf<'_>, range: std::ops::Range<usize>) -> Result<Vec<OutsideCell>> {
    let mut found = Vec::new();
    for i in range {
        let cell = leaf.cell(i).map_err(|d| d.at(blame(child)))?;
        if cell.kind != crate::format::leaf::CellKind::Plain {
            found.push((cell.kind, cell.value.to_vec()));
        }
    }
    Ok(found)
}
