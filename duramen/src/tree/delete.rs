//! Taking an entry out of a tree, joining what has become too empty.
//!
//! Owns: removal and merging. Must not know: duplicates, values.
//!
//! A page less than a quarter full is joined with a neighbour if both fit into one page with some room to spare;
//! otherwise it is left alone: moving entries between two pages would dirty both and gain neither.

use smallvec::SmallVec;

use super::insert::{build, collect, touch_path};
use super::{AnyLeaf, PagesMut, Path, Tree, at, below, damaged, expect_kind, expect_sound, open_branch, open_leaf};
use crate::error::Result;
use crate::format::branch::BranchMut;
use crate::format::leaf::LeafMut;
use crate::format::packed::PackedMut;
use crate::format::page::{self, Child, HEADER};
use crate::order::Order;
use crate::width::to_u8;

/// Removes the entry at the path. The path then stands in the gap where the entry was, or, if pages were joined, is
/// empty. The caller keeps the count of entries and has released what the entry's value held outside.
pub(crate) fn remove<P: PagesMut>(pages: &mut P, tree: &mut Tree, order: &Order, path: &mut Path) -> Result<()> {
    touch_path(pages, tree, path)?;
    let step = path.leaf();
    let (left, used) = take_out(pages.page_mut(step.page), tree.is_packed(), step.index);
    if left == 0 {
        pages.free(step.page)?;
        tree.leaves = tree.leaves.checked_sub(1).ok_or_else(|| damaged(step.page, "more leaves than counted"))?;
        let last = path.steps().len() - 1;
        remove_child(pages, tree, order, path, last)?;
        path.clear();
    } else if is_low(pages, used) && path.steps().len() > 1 && merge_leaf(pages, tree, order, path)? {
        let last = path.steps().len() - 1;
        after_child_left(pages, tree, order, path, last - 1)?;
        path.clear();
    }
    Ok(())
}

/// Takes entry `i` out of a leaf; how many are left, and the bytes that they take.
fn take_out(page: &mut [u8], is_packed: bool, i: usize) -> (usize, usize) {
    if is_packed {
        let mut leaf = PackedMut::new(page);
        leaf.remove(i);
        return (leaf.len(), leaf.len() * leaf.item_size());
    }
    let mut leaf = LeafMut::new(page);
    leaf.remove(i);
    (leaf.len(), leaf.leaf().used())
}

/// Joins the leaf at the path with a neighbour if it is low and they fit; the path is then empty.
pub(super) fn tidy<P: PagesMut>(pages: &mut P, tree: &mut Tree, order: &Order, path: &mut Path) -> Result<()> {
    if path.steps().len() < 2 || !is_low(pages, leaf_used(&open_leaf(pages, path.leaf().page)?)) {
        return Ok(());
    }
    touch_path(pages, tree, path)?;
    if merge_leaf(pages, tree, order, path)? {
        let last = path.steps().len() - 1;
        after_child_left(pages, tree, order, path, last - 1)?;
    }
    path.clear();
    Ok(())
}

fn leaf_used(leaf: &AnyLeaf<'_>) -> usize {
    match leaf {
        AnyLeaf::Cells(leaf) => leaf.used(),
        AnyLeaf::Packed(leaf) => leaf.len() * leaf.item_size(),
    }
}

/// Whether a leaf that uses so many bytes should be joined with another.
fn is_low<P: PagesMut>(pages: &P, used: usize) -> bool {
    used < pages.page_size() / 4
}

/// What two pages may hold together to be joined: a page less an eighth.
fn joined_max(page_size: usize) -> usize {
    page_size - HEADER - page_size / 8
}

/// Removes the child at step `below` (already freed) from the branch above it.
fn remove_child<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    below: usize,
) -> Result<()> {
    let Some(above) = below.checked_sub(1) else {
        *tree = Tree { root: Child::default(), depth: 0, ..*tree };
        return Ok(());
    };
    let parent = path.steps()[above];
    BranchMut::new(pages.page_mut(parent.page)).remove(parent.index);
    after_child_left(pages, tree, order, path, above)
}

/// Puts in order a branch (step `i` of the path) that has just lost a child.
fn after_child_left<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    i: usize,
) -> Result<()> {
    let step = path.steps()[i];
    let level = tree.depth - to_u8(i);
    if page::count(pages.page(step.page)?) == 0 {
        pages.free(step.page)?;
        uncount_branch(tree, step.page)?;
        return remove_child(pages, tree, order, path, i);
    }
    if i == 0 {
        return collapse_root(pages, tree);
    }
    let used = open_branch(pages, step.page, level)?.used();
    if used < pages.page_size() / 4 && merge_branch(pages, tree, order, path, i)? {
        return after_child_left(pages, tree, order, path, i - 1);
    }
    Ok(())
}

fn uncount_branch(tree: &mut Tree, page: Child) -> Result<()> {
    tree.branches = tree.branches.checked_sub(1).ok_or_else(|| damaged(page, "more branch pages than counted"))?;
    Ok(())
}

/// A root with one child gives way to the child.
pub(super) fn collapse_root<P: PagesMut>(pages: &mut P, tree: &mut Tree) -> Result<()> {
    while tree.depth > 1 {
        let root = open_branch(pages, tree.root, tree.depth)?;
        if root.len() > 1 {
            break;
        }
        let child = below(tree.root, at(tree.root, root.child(0))?)?.without_count();
        pages.free(tree.root)?;
        uncount_branch(tree, tree.root)?;
        tree.root = child;
        tree.depth -= 1;
    }
    Ok(())
}

/// The neighbours of the path's child in its parent (step `above`): index and page, one that is dirty already first.
pub(super) fn neighbours<P: PagesMut>(
    pages: &P,
    tree: &Tree,
    path: &Path,
    above: usize,
) -> Result<SmallVec<[(usize, Child); 2]>> {
    let parent = path.steps()[above];
    let branch = open_branch(pages, parent.page, tree.depth - to_u8(above))?;
    let mut found = SmallVec::new();
    for i in [parent.index.wrapping_sub(1), parent.index + 1] {
        if i < branch.len() {
            found.push((i, at(parent.page, branch.child(i))?));
        }
    }
    if let [(_, left), (_, right)] = found[..]
        && !pages.is_own(left)
        && pages.is_own(right)
    {
        found.swap(0, 1);
    }
    Ok(found)
}

/// Joins the leaf at the path's end with a neighbour, if they fit. The parent has then one child less.
fn merge_leaf<P: PagesMut>(pages: &mut P, tree: &mut Tree, order: &Order, path: &mut Path) -> Result<bool> {
    let above = path.steps().len() - 2;
    let parent = path.steps()[above];
    let current = path.leaf().page;
    let used = leaf_used(&open_leaf(pages, current)?);
    for (i, other) in neighbours(pages, tree, path, above)? {
        expect_kind(pages, tree, other)?;
        if used + leaf_used(&open_leaf(pages, other)?) > joined_max(pages.page_size()) {
            continue;
        }
        let (left, right, right_index) =
            if i < parent.index { (pages.touch(other)?, current, parent.index) } else { (current, other, i) };
        expect_sound(pages, right)?;
        append_leaf(pages, order, left, right)?;
        pages.free(right)?;
        tree.leaves = tree.leaves.checked_sub(1).ok_or_else(|| damaged(right, "more leaves than counted"))?;
        let mut branch = BranchMut::new(pages.page_mut(parent.page));
        branch.set_child(right_index - 1, left);
        branch.remove(right_index);
        return Ok(true);
    }
    Ok(false)
}

fn append_leaf<P: PagesMut>(pages: &mut P, order: &Order, to: Child, from: Child) -> Result<()> {
    let copy = pages.page(from)?.to_vec();
    match at(from, AnyLeaf::open(&copy))? {
        AnyLeaf::Cells(cells) => {
            let copied = LeafMut::new(pages.page_mut(to)).copy_range(&cells, 0..cells.len(), order);
            at(from, copied)?;
        }
        AnyLeaf::Packed(items) => {
            at(from, PackedMut::new(pages.page_mut(to)).copy_range(&items, 0..items.len()))?;
        }
    }
    Ok(())
}

/// Joins the branch at step `i` with a neighbour, if they fit. The parent has then one child less.
fn merge_branch<P: PagesMut>(pages: &mut P, tree: &mut Tree, order: &Order, path: &mut Path, i: usize) -> Result<bool> {
    let level = tree.depth - to_u8(i);
    let parent = path.steps()[i - 1];
    let current = path.steps()[i].page;
    for (other_index, other) in neighbours(pages, tree, path, i - 1)? {
        let used = open_branch(pages, current, level)?.used() + open_branch(pages, other, level)?.used();
        if used > joined_max(pages.page_size()) {
            continue;
        }
        let (left, right, right_index) =
            if other_index < parent.index { (other, current, parent.index) } else { (current, other, other_index) };
        expect_sound(pages, right)?;
        let entries = joined(pages, parent.page, right_index, level, (left, right))?;
        let left = pages.touch(left)?;
        let before = pages.page(left)?.to_vec();
        if !build(pages.page_mut(left), level, order, &entries) {
            // Without the common prefix of each they are too large together.
            pages.page_mut(left).copy_from_slice(&before);
            BranchMut::new(pages.page_mut(parent.page)).set_child(right_index - 1, left);
            return Ok(false);
        }
        pages.free(right)?;
        uncount_branch(tree, right)?;
        let mut branch = BranchMut::new(pages.page_mut(parent.page));
        branch.set_child(right_index - 1, left);
        branch.remove(right_index);
        return Ok(true);
    }
    Ok(false)
}

/// The entries of two neighbouring branches, the right one's first separator taken from their parent.
fn joined<P: PagesMut>(
    pages: &P,
    parent: Child,
    right_index: usize,
    level: u8,
    (left, right): (Child, Child),
) -> Result<Vec<(Vec<u8>, Child)>> {
    let mut entries = collect(left, &open_branch(pages, left, level)?)?;
    let mut rest = collect(right, &open_branch(pages, right, level)?)?;
    if let Some(first) = rest.first_mut() {
        at(parent, open_branch(pages, parent, level + 1)?.separator(right_index, &mut first.0))?;
    }
    entries.append(&mut rest);
    Ok(entries)
}
