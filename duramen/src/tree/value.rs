//! Values: inline in the leaf, or in a run of overflow pages that the leaf's cell names.
//!
//! Owns: the overflow stub. Must not know: duplicates.

use super::{Pages, PagesMut, Tree, at, below, damaged};
use crate::error::Result;
use crate::format::leaf::{Cell, CellKind, cell_bytes, max_inline};
use crate::format::overflow::Stub;
use crate::format::page::Child;

/// The value of a cell of leaf `leaf`, in place.
#[inline]
pub(crate) fn load<'a, P: Pages + ?Sized>(pages: &'a P, leaf: Child, cell: &Cell<'a>) -> Result<&'a [u8]> {
    match cell.kind {
        CellKind::Overflow => pages.value(at(leaf, Stub::read(cell.value))?),
        _ => Ok(cell.value),
    }
}

/// As [`load`], of a cell that a walk has come to.
#[inline]
pub(crate) fn meet<'a, P: Pages + ?Sized>(pages: &'a P, leaf: Child, cell: &Cell<'a>) -> Result<&'a [u8]> {
    match cell.kind {
        CellKind::Overflow => pages.value_met(at(leaf, Stub::read(cell.value))?),
        _ => Ok(cell.value),
    }
}

/// Whether a value of this length goes to overflow pages.
pub(crate) fn is_large(page_size: usize, key_bytes: usize, value_bytes: usize) -> bool {
    cell_bytes(key_bytes, value_bytes) > max_inline(page_size)
}

/// Releases the overflow pages of a cell that is about to go, if it has any.
pub(crate) fn release<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    leaf: Child,
    kind: CellKind,
    stub: &[u8],
) -> Result<()> {
    if kind != CellKind::Overflow {
        return Ok(());
    }
    let stub = at(leaf, Stub::read(stub))?;
    let run_pages = stub.pages(pages.page_size());
    tree.overflows =
        tree.overflows.checked_sub(run_pages).ok_or_else(|| damaged(leaf, "more overflow pages than counted"))?;
    pages.free_run(below(leaf, stub.child)?, stub.bytes)
}
