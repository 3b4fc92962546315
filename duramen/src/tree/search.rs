//! Finding one key: the hottest path of the engine.

use super::{Pages, Tree, at, below, lookahead, open_branch, open_cells};
use crate::advice::Advice;
use crate::error::Result;
use crate::format::leaf::{Cell, CellKind};
use crate::format::page::Child;
use crate::order::{Needle, Order};

/// Keys that go down the tree together. A processor waits for about so many cache lines at a time.
const TOGETHER: usize = 16;

/// Keys whose pages are asked for together, where they have to be read: about as many as a disk works on at a time.
const ASKED_TOGETHER: usize = 128;

/// A cell, and the leaf that it is in.
pub(crate) type Found<'a> = (Child, Cell<'a>);

/// The cell of a key, if the tree has it.
#[inline]
pub(crate) fn get<'a, P: Pages>(
    pages: &'a P,
    tree: &Tree,
    order: &Order,
    needle: &Needle<'_>,
) -> Result<Option<Found<'a>>> {
    if tree.is_empty() {
        return Ok(None);
    }
    let mut child = tree.root;
    for level in (2..=tree.depth).rev() {
        child = step_down(pages, child, level, order, needle)?;
    }
    get_in(pages, child, order, needle)
}

/// The cell of a key in the leaf that would have it.
#[inline(always)]
fn get_in<'a, P: Pages>(pages: &'a P, leaf: Child, order: &Order, needle: &Needle<'_>) -> Result<Option<Found<'a>>> {
    let cell = at(leaf, open_cells(pages, leaf)?.get(needle, order))?;
    Ok(cell.map(|cell| (leaf, cell)))
}

/// The child of a branch that covers the needle, asked for.
#[inline(always)]
fn step_down<P: Pages>(pages: &P, branch: Child, level: u8, order: &Order, needle: &Needle<'_>) -> Result<Child> {
    let page = open_branch(pages, branch, level)?;
    let i = at(branch, page.search(needle, order))?;
    let child = below(branch, at(branch, page.child(i))?)?;
    pages.prefetch(child);
    Ok(child)
}

/// As [`get`] for each needle, in order. They go down side by side, level by level, and every page is asked for before
/// the first is looked at: so the processor waits for memory once a level, not once a key and level.
pub(crate) fn get_many<'a, P: Pages>(
    pages: &'a P,
    tree: &Tree,
    order: &Order,
    needles: &[Needle<'_>],
    mut found: impl FnMut(Option<Found<'a>>) -> Result<()>,
) -> Result<()> {
    if tree.is_empty() {
        return needles.iter().try_for_each(|_| found(None));
    }
    let Some(advice) = pages.scarce() else {
        return side_by_side(pages, tree, order, needles, &mut found);
    };
    if advice.pays() {
        return needles.chunks(ASKED_TOGETHER).try_for_each(|needles| {
            ask_for(pages, advice, tree, order, needles)?;
            side_by_side(pages, tree, order, needles, &mut found)
        });
    }
    let before = advice.watch(needles.len() as u64);
    side_by_side(pages, tree, order, needles, &mut found)?;
    advice.watched(before, needles.len() as u64);
    Ok(())
}

/// Goes down the tree with the needles, asking for all pages of a level before the first of them is touched, and then
/// for all large values.
#[cold]
fn ask_for<P: Pages>(pages: &P, advice: &Advice, tree: &Tree, order: &Order, needles: &[Needle<'_>]) -> Result<()> {
    let mut children = vec![tree.root; needles.len()];
    let mut wanted = Vec::with_capacity(needles.len());
    for level in (2..=tree.depth).rev() {
        for (child, needle) in children.iter_mut().zip(needles) {
            let branch = open_branch(pages, *child, level)?;
            let i = at(*child, branch.search(needle, order))?;
            *child = at(*child, branch.child(i))?;
        }
        wanted.extend(children.iter().copied().filter_map(lookahead::page_of));
        advice.ask(&mut wanted);
    }
    for (child, needle) in children.iter().zip(needles) {
        let cell = at(*child, open_cells(pages, *child)?.get(needle, order))?;
        let large = cell.filter(|cell| cell.kind == CellKind::Overflow);
        wanted.extend(large.and_then(|cell| lookahead::run_of(cell.value, pages.page_size())));
    }
    if !wanted.is_empty() {
        advice.ask_runs(&mut wanted);
    }
    Ok(())
}

/// As [`get`] for each needle, in a tree that is not empty.
#[inline]
fn side_by_side<'a, P: Pages>(
    pages: &'a P,
    tree: &Tree,
    order: &Order,
    needles: &[Needle<'_>],
    found: &mut impl FnMut(Option<Found<'a>>) -> Result<()>,
) -> Result<()> {
    for needles in needles.chunks(TOGETHER) {
        let mut children = [tree.root; TOGETHER];
        for level in (2..=tree.depth).rev() {
            for (child, needle) in children.iter_mut().zip(needles) {
                *child = step_down(pages, *child, level, order, needle)?;
            }
        }
        for (&child, needle) in children.iter().zip(needles) {
            open_cells(pages, child)?.prefetch(needle, order);
        }
        for (&child, needle) in children.iter().zip(needles) {
            found(get_in(pages, child, order, needle)?)?;
        }
    }
    Ok(())
}
