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
use crate::format::leaf::{Leaf, LeafMut};
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

/// The emptier neighbour, if it has room to share: index in the parent, and page.
fn roomy_neighbour<P: PagesMut>(pages: &P, tree: &Tree, path: &Path, above: usize) -> Result<Option<(usize, Child)>> {
    let most = (pages.page_size() - HEADER) / 4 * 3;
    let mut best = None;
    for (i, other) in neighbours(pages, tree, path, above)? {
        expect_kind(pages, tree, other)?;
        let used = open_cells(pages, other)?.used();
        if used <= best.map_or(most, |(least, _)| least) {
            best = Some((used, (i, other)));
        }
    }
    Ok(best.map(|(_, found)| found))
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
    if !move_border(pages.page_mut(parent), pair, &border) {
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
    match at(page, AnyLeaf::open(bytes))? {
        AnyLeaf::Cells(leaf) => Ok(leaf),
        AnyLeaf::Packed(_) => Err(super::damaged(page, "the other kind of leaf than its tree has")),
    }
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

/// Gives the pair's right page another separator; false, and no change, if it does not fit.
fn move_border(parent: &mut [u8], pair: &Pair, border: &[u8]) -> bool {
    let before = parent.to_vec();
    let mut branch = BranchMut::new(parent);
    branch.remove(pair.right_index);
    let moved = branch.insert(pair.right_index, border, pair.right);
    if !moved {
        parent.copy_from_slice(&before);
    }
    moved
}
