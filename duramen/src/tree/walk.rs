//! Visiting every page of a tree, and of the trees in it.
//!
//! Owns: the walk. Must not know: what it is for (proofs, checks, statistics).

use super::{AnyLeaf, Pages, Tree, at, damaged, lookahead, open_branch, open_leaf};
use crate::error::Result;
use crate::format::leaf::CellKind;
use crate::format::overflow::Stub;
use crate::format::page::Child;
use crate::order::Order;

/// What a walk meets.
pub(crate) trait Visitor {
    /// A branch or leaf page; false: do not go below it.
    fn page(&mut self, child: Child, level: u8) -> Result<bool>;

    /// A large value.
    fn value(&mut self, stub: Stub) -> Result<()>;

    /// The entries of a leaf that was gone into.
    fn leaf(&mut self, _child: Child, _leaf: &AnyLeaf<'_>) -> Result<()> {
        Ok(())
    }

    /// A table (with its name) or a tree of duplicates begins or ends.
    fn tree(&mut self, _name: Option<&[u8]>, _tree: &Tree, _begins: bool) -> Result<()> {
        Ok(())
    }
}

/// Which kind of tree a walk is in: says which cells its leaves may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Catalog,
    Table,
    Duplicates,
}

/// Visits every page of the tree in key order, parents first.
pub(crate) fn walk(pages: &dyn Pages, tree: &Tree, place: Place, visitor: &mut dyn Visitor) -> Result<()> {
    if tree.is_empty() {
        return Ok(());
    }
    visit(pages, tree.root, tree.depth, place, visitor)
}

fn visit(pages: &dyn Pages, child: Child, level: u8, place: Place, visitor: &mut dyn Visitor) -> Result<()> {
    if !visitor.page(child, level)? {
        return Ok(());
    }
    if level == 1 {
        return visit_leaf(pages, child, place, visitor);
    }
    let branch = open_branch(pages, child, level)?;
    for i in 0..branch.len() {
        if let Some(advice) = pages.scarce() {
            lookahead::ask_for_children(advice, &branch, i);
        }
        visit(pages, at(child, branch.child(i))?, level - 1, place, visitor)?;
    }
    Ok(())
}

fn visit_leaf(pages: &dyn Pages, child: Child, place: Place, visitor: &mut dyn Visitor) -> Result<()> {
    let leaf = open_leaf(pages, child)?;
    visitor.leaf(child, &leaf)?;
    let AnyLeaf::Cells(cells) = leaf else {
        return Ok(());
    };
    if cells.outside() == 0 {
        return Ok(());
    }
    for i in 0..cells.len() {
        let cell = at(child, cells.cell(i))?;
        let name = if cell.kind == CellKind::Table { Some(cell.key) } else { None };
        let (below, tree) = match (cell.kind, place) {
            (CellKind::Plain | CellKind::SubPage, _) => continue,
            (CellKind::Overflow, Place::Catalog | Place::Table) => {
                visitor.value(at(child, Stub::read(cell.value))?)?;
                continue;
            }
            (CellKind::Table, Place::Catalog) => (Place::Table, at(child, Tree::decode_table(cell.value))?),
            (CellKind::SubTree, Place::Catalog | Place::Table) => {
                (Place::Duplicates, at(child, Tree::decode(cell.value))?)
            }
            _ => return Err(damaged(child, "a cell of a kind that does not belong there")),
        };
        visitor.tree(name, &tree, true)?;
        walk(pages, &tree, below, visitor)?;
        visitor.tree(name, &tree, false)?;
    }
    Ok(())
}

/// Whether the keys of a leaf rise, as the order says; custom orders cannot be told without their function.
pub(crate) fn rises(child: Child, leaf: &AnyLeaf<'_>, order: &Order) -> Result<()> {
    for i in 1..leaf.len() {
        let (low, high) = (at(child, leaf.key(i - 1))?, at(child, leaf.key(i))?);
        if order.cmp(low, high).is_ge() {
            return Err(damaged(child, "keys out of order in a leaf"));
        }
    }
    Ok(())
}
