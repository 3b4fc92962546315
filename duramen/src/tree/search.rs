//! Finding one key: the hottest path of the engine.

use super::{Pages, Tree, at, open_branch, open_cells};
use crate::error::Result;
use crate::format::leaf::Cell;
use crate::format::page::Child;
use crate::order::{Needle, Order};

/// Keys that go down the tree together. A processor waits for about so many cache lines at a time.
const TOGETHER: usize = 16;

/// The cell of a key, if the tree has it.
#[inline]
pub(crate) fn get<'a, P: Pages>(
    pages: &'a P,
    tree: &Tree,
    order: &Order,
    needle: &Needle<'_>,
) -> Result<Option<Cell<'a>>> {
    if tree.is_empty() {
        return Ok(None);
    }
    let mut child = tree.root;
    for level in (2..=tree.depth).rev() {
        child = step_down(pages, child, level, order, needle)?;
    }
    let leaf = open_cells(pages, child)?;
    at(child, leaf.get(needle, order))
}

/// The child of a branch that covers the needle, asked for.
#[inline(always)]
fn step_down<P: Pages>(pages: &P, branch: Child, level: u8, order: &Order, needle: &Needle<'_>) -> Result<Child> {
    let page = open_branch(pages, branch, level)?;
    let i = at(branch, page.search(needle, order))?;
    let child = at(branch, page.child(i))?;
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
    mut found: impl FnMut(Option<Cell<'a>>) -> Result<()>,
) -> Result<()> {
    if tree.is_empty() {
        return needles.iter().try_for_each(|_| found(None));
    }
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
            found(at(child, open_cells(pages, child)?.get(needle, order))?)?;
        }
    }
    Ok(())
}
