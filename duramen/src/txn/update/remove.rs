//! Removing entries: one function an operation.
//!
//! Owns: what is removed with an entry. Must not know: how users name tables.

use std::ops::Bound;

use super::change;
use super::limits::{check_key, check_value};
use crate::error::{Error, Result};
use crate::format::leaf::CellKind;
use crate::order::Needle;
use crate::tree::cursor::{Position, Removed};
use crate::tree::duplicates::{self, Site};
use crate::tree::range::{self, Edge};
use crate::tree::{Pages, Path, at, open_cells, remove, value};
use crate::txn::ops;
use crate::txn::place::spill_if_large;
use crate::txn::work::Work;

/// Finds a key to remove it; `None` if it is not there.
fn find(work: &mut Work, i: usize, key: &[u8]) -> Result<Option<Path>> {
    work.check()?;
    spill_if_large(work)?;
    let table = &work.tables[i];
    if check_key(work.page_size(), table, key).is_err() {
        return Ok(None);
    }
    let mut path = Path::default();
    let found = path.seek(work, &table.tree, &table.orders.key, &Needle::new(key, &table.orders.key))?;
    Ok(found.then_some(path))
}

/// Removes a key with all its values; false if it is not there.
pub(in crate::txn) fn delete(work: &mut Work, i: usize, key: &[u8]) -> Result<bool> {
    match find(work, i, key)? {
        Some(mut path) => delete_at(work, i, &mut path, key).map(|()| true),
        None => Ok(false),
    }
}

/// Removes the key at the path with all its values. The path then stands in the gap, or nowhere.
pub(in crate::txn) fn delete_at(work: &mut Work, i: usize, path: &mut Path, key: &[u8]) -> Result<()> {
    let step = path.leaf();
    let cell = at(step.page, open_cells(work, step.page)?.cell(step.index))?;
    if cell.kind == CellKind::Table {
        return Err(Error::Incompatible { what: "a table has this name" });
    }
    let (kind, body) = (cell.kind, if cell.kind == CellKind::Plain { Vec::new() } else { cell.value.to_vec() });
    ops::delete(work, i, key);
    change(work, i, |work, tree, orders| {
        let entries = if kind == CellKind::Plain { 1 } else { duplicates::count(step.page, tree, kind, &body)? };
        value::release(work, tree, step.page, kind, &body)?;
        duplicates::release(work, step.page, kind, &body)?;
        remove(work, tree, &orders.key, path)?;
        tree.entries = tree.entries.saturating_sub(entries);
        Ok(())
    })
}

/// Removes one value of a key; false if it is not there.
pub(in crate::txn) fn delete_duplicate(work: &mut Work, i: usize, key: &[u8], value: &[u8]) -> Result<bool> {
    if !work.tables[i].tree.has_duplicates() {
        return Err(Error::Incompatible { what: "it holds one value for a key, none to choose from" });
    }
    let Some(mut path) = find(work, i, key)? else {
        return Ok(false);
    };
    if check_value(work.page_size(), &work.tables[i], value.len()).is_err() {
        return Ok(false);
    }
    ops::delete_duplicate(work, i, key, value);
    change(work, i, |work, tree, orders| {
        let removed = duplicates::remove_one(work, Site { table: tree, orders, path: &mut path }, value)?;
        tree.entries = tree.entries.saturating_sub(u64::from(removed));
        Ok(removed)
    })
}

/// Removes the value that a position is on from its key.
pub(in crate::txn) fn delete_value_at(
    work: &mut Work,
    i: usize,
    position: &mut Position,
    (key, value): (&[u8], &[u8]),
) -> Result<Removed> {
    ops::delete_duplicate(work, i, key, value);
    change(work, i, |work, tree, orders| {
        let removed = position.remove_value(work, tree, orders)?;
        tree.entries = tree.entries.saturating_sub(1);
        Ok(removed)
    })
}

/// Removes the keys in a range; how many entries that were.
pub(in crate::txn) fn delete_range(work: &mut Work, i: usize, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<u64> {
    work.check()?;
    spill_if_large(work)?;
    if i == 0 {
        return Err(Error::Incompatible { what: "the main table holds the records of others" });
    }
    let table = &work.tables[i];
    range::check_bounds(work, &table.tree, &table.orders.key, [low, high])?;
    if let (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) = (low, high)
        && table.orders.key.cmp(a, b).is_gt()
    {
        return Ok(0);
    }
    ops::delete_range(work, i, low, high);
    change(work, i, |work, tree, orders| {
        let edge = |bound: Bound<_>, after_included: bool| match bound {
            Bound::Unbounded => None,
            Bound::Included(key) => Some(Edge { needle: Needle::new(key, &orders.key), after: after_included }),
            Bound::Excluded(key) => Some(Edge { needle: Needle::new(key, &orders.key), after: !after_included }),
        };
        range::delete_range(work, tree, &orders.key, edge(low, false).as_ref(), edge(high, true).as_ref())
    })
}
