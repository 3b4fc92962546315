//! Values: inline in the leaf, or in a run of overflow pages that the leaf's cell names.
//!
//! Owns: the overflow stub. Must not know: duplicates.

use super::{Pages, PagesMut, Tree, at, below, damaged};
use crate::error::Result;
use crate::format::leaf::{Cell, CellKind, cell_bytes, max_inline};
use crate::format::overflow::{self, Stub};
use crate::format::page::Child;

/// The value of a cell of leaf `leaf`, in place.
#[inline]
pub(crate) fn load<'a, P: Pages + ?Sized>(pages: &'a P, leaf: Child, cell: &Cell<'a>) -> Result<&'a [u8]> {
    match cell.kind {
        CellKind::Overflow => load_run(pages, leaf, cell.value),
        _ => Ok(cell.value),
    }
}

fn load_run<'a, P: Pages + ?Sized>(pages: &'a P, leaf: Child, stub: &[u8]) -> Result<&'a [u8]> {
    let stub = at(leaf, Stub::read(stub))?;
    pages.run(stub.child, stub.bytes)
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
    let run_pages = overflow::pages_for(stub.bytes as usize, pages.page_size()) as u64;
    tree.overflows =
        tree.overflows.checked_sub(run_pages).ok_or_else(|| damaged(leaf, "more overflow pages than counted"))?;
    pages.free_run(below(leaf, stub.child)?, stub.bytes)
}
