//! What a table can hold.
//!
//! Owns: which keys and values are refused, before anything is changed. Must not know: what becomes of them.

use crate::error::{Error, Result};
use crate::format::leaf::key_max;
use crate::order::Order;
use crate::tree::duplicates::item_of;
use crate::tree::{Path, at, range};
use crate::txn::work::{OpenTable, Work};

/// Refuses keys that the table cannot hold.
pub(in crate::txn) fn check_key(page_size: usize, table: &OpenTable, key: &[u8]) -> Result<()> {
    let max = key_max(page_size);
    if matches!(table.orders.key, Order::Native) {
        return if matches!(key.len(), 4 | 8) {
            Ok(())
        } else {
            Err(Error::KeyLength { bytes: key.len(), min: 4, max: 8 })
        };
    }
    if key.len() > max { Err(Error::KeyLength { bytes: key.len(), min: 0, max }) } else { Ok(()) }
}

/// Refuses an integer key of another size than those in the table.
pub(super) fn check_size(work: &Work, i: usize, path: &Path, key: &[u8]) -> Result<()> {
    if path.is_empty() || !matches!(work.tables[i].orders.key, Order::Native) {
        return Ok(());
    }
    range::check_size(at(path.leaf().page, path.open_leaf(work)?.key(0))?, key)
}

/// Refuses values that the table cannot hold.
pub(in crate::txn) fn check_value(page_size: usize, table: &OpenTable, bytes: usize) -> Result<()> {
    let wrong = |min, max| Err(Error::ValueLength { bytes, min, max });
    if !table.tree.has_duplicates() {
        let max = u32::MAX as usize;
        return if bytes > max { wrong(0, max) } else { Ok(()) };
    }
    let item = item_of(&table.tree);
    if item > 0 && bytes != item {
        return wrong(item, item);
    }
    if table.tree.has_fixed() && bytes == 0 {
        return wrong(1, key_max(page_size));
    }
    if matches!(table.orders.duplicate, Order::Native) && !matches!(bytes, 4 | 8) {
        return wrong(4, 8);
    }
    let max = key_max(page_size);
    if bytes > max { wrong(0, max) } else { Ok(()) }
}
