//! Finding one key: the hottest path of the engine.

use super::{Pages, Tree, at, open_branch, open_cells};
use crate::error::Result;
use crate::format::leaf::Cell;
use crate::order::{Needle, Order};

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
        let branch = open_branch(pages, child, level)?;
        let i = at(child, branch.search(needle, order))?;
        child = at(child, branch.child(i))?;
        pages.prefetch(child);
    }
    let leaf = open_cells(pages, child)?;
    at(child, leaf.get(needle, order))
}
