//! Making room in a full leaf by moving entries to a neighbour.
//!
//! Owns: when two leaves share what they hold, and the border between them. Must not know: splits, values.
//!
//! A split leaves two half-full pages; a tree that only splits stays 69 % full. Where a neighbour has a quarter of its
//! page to spare, the two share instead: random insertions then leave leaves 80 % full (with six entries in a hundred
//! moved once more than otherwise), so there are fewer pages to write, to cache and to scan. It costs no more pages
//! than a split: one besides the full one is written either way.

use super::delete::neighbours;
use super::insert::Entry;
use super::path::Step;
use super::{AnyLeaf, PagesMut, Path, Tree, at, expect_kind, open_cells};
use crate::error::Result;
use crate::format::branch::BranchMut;
use crate::format::leaf::{Leaf, LeafMut, cell_bytes};
use crate::format::page::{Child, HEADER};
use crate::order::{Order, separator};

/// Two neighbouring leaves, and where an entry is to be inserted: before this one of all cells in both.
struct Pair {
    left: Child,
    right: Child,
    right_index: usize,
    place: usize,
}

/// Moves cells between the full leaf at the path's end and a neighbour with room, so that both are as full. The path
/// then stands where the entry belongs, which mostly fits there now. False, and the path as it was, if there is no
/// such neighbour.
pub(super) fn with_neighbour<P: PagesMut>(
    pages: &mut P,
    tree: &Tree,
    order: &Order,
    path: &mut Path,
    entry: &Entry<'_>,
) -> Result<bool> {
    if path.steps().len() < 2 || tree.is_packed() {
        return Ok(false);
    }
    let above = path.steps().len() - 2;
    let Some((i, other)) = roomy_neighbour(pages, tree, path, above)? else {
        return Ok(false);
    };
    let parent = path.steps()[above];
    let other = pages.touch(other)?;
    BranchMut::new(pages.page_mut(parent.page)).set_child(i, other);
    let step = path.leaf();
    let pair = if i < parent.index {
        let place = open_cells(pages, other)?.len() + step.index;
        Pair { left: other, right: step.page, right_index: parent.index, place }
    } else {
        Pair { left: step.page, right: other, right_index: i, place: step.index }
    };
    let Some(cut) = share(pages, order, parent.page, &pair, entry.key)? else {
        return Ok(false);
    };
    let goes_left = pair.place <= cut;
    path.steps_mut()[above].index = pair.right_index - usize::from(goes_left);
    *path.leaf_mut() = if goes_left {
        Step { page: pair.left, index: pair.place }
    } else {
        Step { page: pair.right, index: pair.place - cut }
    };
    Ok(true)
}

/// As [`with_neighbour`], for an entry that belongs behind all of the full leaf, or before all of it: it goes to the neighbour
/// on that side, and nothing else does.
pub(super) fn pass_on<P: PagesMut>(
    pages: &mut P,
    tree: &Tree,
    order: &Order,
    path: &mut Path,
    entry: &Entry<'_>,
    behind: bool,
) -> Result<bool> {
    let Some(above) = path.steps().len().checked_sub(2) else { return Ok(false) };
    let (parent, step) = (path.steps()[above], path.leaf());
    let is_there = |(i, _): &(usize, Child)| (*i > parent.index) == behind;
    let Some((i, other)) = neighbours(pages, tree, path, above)?.into_iter().find(is_there) else {
        return Ok(false);
    };
    let used = used(pages, tree, other)?;
    if used > used_max(pages) || used + cell_bytes(entry.key.len(), entry.value_bytes) > pages.page_size() - HEADER {
        return Ok(false);
    }
    let (full, len) = (open_cells(pages, step.page)?, open_cells(pages, other)?.len());
    let mut border = Vec::new();
    if behind {
        separator(order, at(step.page, full.key(full.len() - 1))?, entry.key, &mut border);
    } else {
        separator(order, entry.key, at(step.page, full.key(0))?, &mut border);
    }
    let other = pages.touch(other)?;
    BranchMut::new(pages.page_mut(parent.page)).set_child(i, other);
    let right_index = if behind { i } else { parent.index };
    if !BranchMut::new(pages.page_mut(parent.page)).replace_separator(right_index, &border) {
        return Ok(false);
    }
    path.steps_mut()[above].index = i;
    *path.leaf_mut() = Step { page: other, index: if behind { 0 } else { len } };
    Ok(true)
}

/// The emptier neighbour, if it has room to share: index in the parent, and page.
fn roomy_neighbour<P: PagesMut>(pages: &P, tree: &Tree, path: &Path, above: usize) -> Result<Option<(usize, Child)>> {
    let mut best = None;
    for (i, other) in neighbours(pages, tree, path, above)? {
        let used = used(pages, tree, other)?;
        if used <= best.map_or(used_max(pages), |(least, _)| least) {
            best = Some((used, (i, other)));
        }
    }
    Ok(best.map(|(_, found)| found))
}

/// How much of a leaf is used, in units of [`cell_bytes`].
fn used<P: PagesMut>(pages: &P, tree: &Tree, leaf: Child) -> Result<usize> {
    expect_kind(pages, tree, leaf)?;
    Ok(open_cells(pages, leaf)?.used())
}

/// A leaf of which more is used has no room to share.
fn used_max<P: PagesMut>(pages: &P) -> usize {
    (pages.page_size() - HEADER) / 4 * 3
}

/// Deals the cells of both leaves evenly; how many the left one has now. `None`, and no change, if the new border does
/// not fit into the parent or the cells are too large to be dealt.
fn share<P: PagesMut>(
    pages: &mut P,
    order: &Order,
    parent: Child,
    pair: &Pair,
    new_key: &[u8],
) -> Result<Option<usize>> {
    let copies = (pages.page(pair.left)?.to_vec(), pages.page(pair.right)?.to_vec());
    let (left, right) = (cells(pair.left, &copies.0)?, cells(pair.right, &copies.1)?);
    let Some(cut) = at(pair.left, even_cut(&left, &right, pages.page_size() - HEADER))? else {
        return Ok(None);
    };
    let key = |i: usize| match i.checked_sub(left.len()) {
        None => at(pair.left, left.key(i)),
        Some(i) => at(pair.right, right.key(i)),
    };
    // An entry that belongs between the two goes to the left one.
    let low = if pair.place == cut { new_key } else { key(cut - 1)? };
    let mut border = Vec::new();
    separator(order, low, key(cut)?, &mut border);
    if !BranchMut::new(pages.page_mut(parent)).replace_separator(pair.right_index, &border) {
        return Ok(None);
    }
    let n = left.len();
    let mut page = LeafMut::init(pages.page_mut(pair.left));
    at(pair.left, page.copy_range(&left, 0..n.min(cut), order))?;
    at(pair.right, page.copy_range(&right, 0..cut.saturating_sub(n), order))?;
    let mut page = LeafMut::init(pages.page_mut(pair.right));
    at(pair.left, page.copy_range(&left, cut.min(n)..n, order))?;
    at(pair.right, page.copy_range(&right, cut.saturating_sub(n)..right.len(), order))?;
    Ok(Some(cut))
}

fn cells(page: Child, bytes: &[u8]) -> Result<Leaf<'_>> {
    at(page, AnyLeaf::open(bytes).and_then(AnyLeaf::cells))
}

/// How many of all cells the left page should have, so that both are as full; `None` if one would then overflow.
fn even_cut(left: &Leaf<'_>, right: &Leaf<'_>, room: usize) -> Result<Option<usize>, crate::error::Damage> {
    let (n, total) = (left.len(), left.used() + right.used());
    let (mut taken, mut cut) = (0, 0);
    while cut + 1 < n + right.len() {
        let bytes = if cut < n { left.bytes_of(cut)? } else { right.bytes_of(cut - n)? };
        if cut > 0 && (taken + bytes).abs_diff(total / 2) > taken.abs_diff(total / 2) {
            break;
        }
        taken += bytes;
        cut += 1;
    }
    Ok((cut > 0 && taken <= room && total.saturating_sub(taken) <= room).then_some(cut))
}
