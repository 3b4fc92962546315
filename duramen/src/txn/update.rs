//! Changing the entries of a table: one function an operation.
//!
//! Owns: what each operation means, the checks before anything is changed. Must not know: how users name tables.

use std::ops::Bound;

use super::catalog;
use super::ops;
use super::place::spill_if_large;
use super::work::{OpenTable, Work};
use crate::error::{Error, Result};
use crate::format::leaf::{CellKind, LeafMut, key_max};
use crate::format::overflow::{STUB, Stub, pages_for};
use crate::order::{Needle, Order};
use crate::pieces;
use crate::tree::cursor::{Position, Removed};
use crate::tree::duplicates::{self, Orders, item_of};
use crate::tree::insert::{Entry, touch_path};
use crate::tree::range::{self, Edge};
use crate::tree::{Pages, PagesMut, Path, Tree, at, insert, open_cells, remove, resize, value};
use crate::width::{to_u16, to_u32};

/// What a conditional write did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Put {
    /// The entry was stored.
    Stored,
    /// It was there already, or something else that the condition speaks of, and nothing was changed.
    Exists,
}

/// When to store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Always.
    Set,
    /// Only if the key is not there.
    Insert,
    /// Only if it sorts after every key of the table.
    Append,
    /// Only if it sorts after every key, or is the last key and the value sorts after its last.
    AppendDuplicate,
    /// Only if the value sorts after all others of the key.
    LastDuplicate,
}

/// A value to store: bytes, or room for so many.
#[derive(Clone, Copy)]
pub(super) enum Value<'v> {
    Bytes(&'v [u8]),
    Room(usize),
}

impl Value<'_> {
    fn len(&self) -> usize {
        match self {
            Value::Bytes(bytes) => bytes.len(),
            Value::Room(bytes) => *bytes,
        }
    }

    fn bytes(&self) -> Result<&[u8]> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            Value::Room(_) => Err(Error::Incompatible { what: "a value with duplicates cannot be filled in later" }),
        }
    }

    fn write(&self, space: &mut [u8]) {
        match self {
            Value::Bytes(bytes) => pieces::copy(space, bytes),
            Value::Room(_) => space.fill(0),
        }
    }
}

/// A way into a table by which a key may be found sooner; good as long as the table has not changed since the epoch that it is of.
/// Where something is stored it then leads there, or is empty.
pub(super) struct Guide<'g> {
    pub path: &'g mut Path,
    pub epoch: u64,
}

impl Guide<'_> {
    /// None, but room for the way.
    pub(super) fn none(path: &mut Path) -> Guide<'_> {
        Guide { path, epoch: 0 }
    }

    /// Goes to a key, or to the gap where it would be; whether it is there.
    fn lead(&mut self, work: &Work, i: usize, key: &[u8]) -> Result<bool> {
        let order = &work.tables[i].orders.key;
        if work.is_current(i, self.epoch)
            && let Some(found) = self.path.seek_here(work, order, &Needle::new(key, order))?
        {
            check_size(work, i, self.path, key)?;
            return Ok(found);
        }
        seek(work, i, self.path, key)
    }
}

/// Refuses keys that the table cannot hold.
pub(super) fn check_key(page_size: usize, table: &OpenTable, key: &[u8]) -> Result<()> {
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
fn check_size(work: &Work, i: usize, path: &Path, key: &[u8]) -> Result<()> {
    if path.is_empty() || !matches!(work.tables[i].orders.key, Order::Native) {
        return Ok(());
    }
    let size = at(path.leaf().page, path.open_leaf(work)?.key(0))?.len();
    if key.len() == size { Ok(()) } else { Err(Error::KeyLength { bytes: key.len(), min: size, max: size }) }
}

/// Refuses values that the table cannot hold.
pub(super) fn check_value(page_size: usize, table: &OpenTable, bytes: usize) -> Result<()> {
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

/// Runs a change on a copy of the table's record and puts the record back. An error leaves a transaction that can
/// only be aborted, because pages may have been changed half-way.
fn change<R>(work: &mut Work, i: usize, f: impl FnOnce(&mut Work, &mut Tree, &Orders) -> Result<R>) -> Result<R> {
    let mut tree = work.tables[i].tree;
    let orders = std::mem::take(&mut work.tables[i].orders);
    work.changes(i);
    let mut changing = Changing { work, i, orders, is_whole: false };
    let result = f(changing.work, &mut tree, &changing.orders);
    changing.work.tables[i].tree = tree;
    changing.is_whole = result.is_ok();
    result
}

/// A change of a table that is under way. It may end by a panic: the orders that programs give are theirs.
struct Changing<'w> {
    work: &'w mut Work,
    i: usize,
    orders: Orders,
    is_whole: bool,
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        self.work.tables[self.i].orders = std::mem::take(&mut self.orders);
        self.work.failed |= !self.is_whole;
    }
}

/// Stores an entry.
pub(super) fn put(work: &mut Work, i: usize, key: &[u8], value: Value<'_>, mode: Mode) -> Result<Put> {
    put_guided(work, i, None, key, value, mode)
}

/// As [`put`].
pub(super) fn put_guided(
    work: &mut Work,
    i: usize,
    guide: Option<Guide<'_>>,
    key: &[u8],
    value: Value<'_>,
    mode: Mode,
) -> Result<Put> {
    let put = put_entry(work, i, guide, key, value, mode)?;
    if put == Put::Stored {
        ops::put(work, i, key, &value);
    }
    Ok(put)
}

/// Stores values of one key, each of so many bytes, side by side; how many of them it did not have.
pub(super) fn put_duplicates(work: &mut Work, i: usize, key: &[u8], values: &[u8], bytes: usize) -> Result<u64> {
    if !work.tables[i].tree.has_duplicates() {
        return Err(Error::Incompatible { what: "it holds one value for a key" });
    }
    let mut each = values.chunks_exact(bytes.max(1));
    if bytes == 0 || !each.remainder().is_empty() {
        return Err(Error::Usage { what: "values side by side have no whole number" });
    }
    let Some(first) = each.next() else { return Ok(0) };
    prepare(work, i, key, bytes)?;
    let mut path = Path::default();
    let found = seek(work, i, &mut path, key)?;
    let stored = change(work, i, |work, tree, orders| {
        let put = store(work, tree, orders, &mut path, (found, Mode::Set), key, &Value::Bytes(first))?;
        let more = duplicates::add_all(work, tree, orders, &mut path, key, each.clone())?;
        tree.entries += more;
        Ok(more + u64::from(put == Put::Stored))
    })?;
    if stored > 0 {
        values.chunks_exact(bytes).for_each(|value| ops::put(work, i, key, &Value::Bytes(value)));
    }
    Ok(stored)
}

/// What comes before any entry is stored.
fn prepare(work: &mut Work, i: usize, key: &[u8], bytes: usize) -> Result<()> {
    work.check()?;
    let page_size = work.page_size();
    let table = &mut work.tables[i];
    check_key(page_size, table, key)?;
    check_value(page_size, table, bytes)?;
    if table.tree.has_fixed() && table.tree.item == 0 {
        table.tree.item = to_u16(bytes);
    }
    refuse_table(work, i, key)?;
    spill_if_large(work)
}

fn put_entry(
    work: &mut Work,
    i: usize,
    mut guide: Option<Guide<'_>>,
    key: &[u8],
    value: Value<'_>,
    mode: Mode,
) -> Result<Put> {
    prepare(work, i, key, value.len())?;
    if add_last(work, i, key, &value) {
        guide.iter_mut().for_each(|guide| guide.path.clear());
        return Ok(Put::Stored);
    }
    match guide {
        Some(guide) => put_in_place(work, i, guide, key, value, mode),
        None => put_in_place(work, i, Guide::none(&mut Path::default()), key, value, mode),
    }
}

/// Stores an entry where its place is.
fn put_in_place(
    work: &mut Work,
    i: usize,
    mut guide: Guide<'_>,
    key: &[u8],
    value: Value<'_>,
    mode: Mode,
) -> Result<Put> {
    if let Some(mut path) = at_end(work, i, key)? {
        guide.path.clear();
        check_size(work, i, &path, key)?;
        change(work, i, |work, tree, orders| store(work, tree, orders, &mut path, (false, mode), key, &value))?;
        work.tables[i].end = Some((path, work.epoch));
        return Ok(Put::Stored);
    }
    let found = guide.lead(work, i, key)?;
    let path = guide.path;
    let is_last = is_at_end(work, i, path, found)?;
    if let Some(outcome) = refuse(work, i, (path, is_last), found, key, &value, mode)? {
        return outcome;
    }
    let put = change(work, i, |work, tree, orders| store(work, tree, orders, path, (found, mode), key, &value))?;
    if is_last {
        work.tables[i].end = Some((Box::new(path.clone()), work.epoch));
    }
    Ok(put)
}

/// Goes to a key, or to the gap where it would be; whether it is there.
pub(super) fn seek(work: &Work, i: usize, path: &mut Path, key: &[u8]) -> Result<bool> {
    let table = &work.tables[i];
    let found = path.seek(work, &table.tree, &table.orders.key, &Needle::new(key, &table.orders.key))?;
    check_size(work, i, path, key)?;
    Ok(found)
}

/// The gap after the last entry, if the way there is known and the key sorts behind it.
fn at_end(work: &mut Work, i: usize, key: &[u8]) -> Result<Option<Box<Path>>> {
    let Some((mut path, known)) = work.tables[i].end.take() else {
        return Ok(None);
    };
    if !work.is_current(i, known) || work.tables[i].orders.key.cmp(path.key(work)?, key).is_ge() {
        return Ok(None);
    }
    path.leaf_mut().index += 1;
    Ok(Some(path))
}

/// Adds an entry behind the last one, if the way there is known and nothing but its leaf changes by that: what loading in
/// order mostly is.
fn add_last(work: &mut Work, i: usize, key: &[u8], value: &Value<'_>) -> bool {
    let known = work.tables[i].end.as_ref().is_some_and(|&(_, epoch)| work.is_current(i, epoch));
    if !known || value::is_large(work.page_size(), key.len(), value.len()) {
        return false;
    }
    let table = &mut work.tables[i];
    let Some((path, epoch)) = &mut table.end else { return false };
    let step = path.leaf_mut();
    if !work.dirty.is_own(step.page) {
        return false;
    }
    let page = LeafMut::new(work.dirty.page_mut(step.page));
    let last = page.key(step.index);
    let is_of_other_size = matches!(table.orders.key, Order::Native) && last.len() != key.len();
    if table.orders.key.cmp(last, key).is_ge() || is_of_other_size || !page.fits(key.len(), value.len()) {
        return false;
    }
    step.index += 1;
    value.write(page.insert_last(step.index, key, value.len(), CellKind::Plain, &table.orders.key));
    table.tree.entries += 1;
    work.epoch += 1;
    (*epoch, table.changed) = (work.epoch, work.epoch);
    true
}

/// Whether the path stands behind all entries of the table.
fn is_at_end(work: &Work, i: usize, path: &Path, found: bool) -> Result<bool> {
    if found || path.is_empty() || work.tables[i].tree.has_duplicates() {
        return Ok(false);
    }
    Ok(path.leaf().index == path.open_leaf(work)?.len() && path.is_rightmost(work)?)
}

/// Whether the path stands on the record of a table.
fn is_table(work: &Work, path: &Path) -> Result<bool> {
    let step = path.leaf();
    Ok(at(step.page, open_cells(work, step.page)?.cell(step.index))?.kind == CellKind::Table)
}

/// What a mode says against storing, before anything is changed.
fn refuse(
    work: &Work,
    i: usize,
    (path, is_last): (&Path, bool),
    found: bool,
    key: &[u8],
    value: &Value<'_>,
    mode: Mode,
) -> Result<Option<Result<Put>>> {
    let table = &work.tables[i];
    match mode {
        Mode::Set | Mode::LastDuplicate if found && i == 0 && is_table(work, path)? => {
            Err(Error::Incompatible { what: "a table has this name" })
        }
        Mode::Set | Mode::LastDuplicate => Ok(None),
        Mode::Insert => Ok(found.then_some(Ok(Put::Exists))),
        Mode::Append | Mode::AppendDuplicate if is_last => Ok(None),
        Mode::Append | Mode::AppendDuplicate => {
            let mut last = crate::tree::cursor::Position::default();
            let trunk = crate::tree::cursor::Trunk { tree: &table.tree, orders: &table.orders };
            let Some((last_key, last_value)) = last.last(work, trunk)? else { return Ok(None) };
            let in_order = match (table.orders.key.cmp(last_key, key), value) {
                (std::cmp::Ordering::Less, _) => true,
                (std::cmp::Ordering::Equal, Value::Bytes(bytes)) if mode == Mode::AppendDuplicate => {
                    table.tree.has_duplicates() && table.orders.duplicate.cmp(last_value, bytes).is_lt()
                }
                _ => false,
            };
            Ok((!in_order).then_some(Err(Error::AppendOrder)))
        }
    }
}

fn store(
    work: &mut Work,
    tree: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    (found, mode): (bool, Mode),
    key: &[u8],
    value: &Value<'_>,
) -> Result<Put> {
    if !found {
        put_new(work, tree, orders, path, key, value)?;
        tree.entries += 1;
        return Ok(Put::Stored);
    }
    if !tree.has_duplicates() {
        put_over(work, tree, orders, path, key, value)?;
        return Ok(Put::Stored);
    }
    if !duplicates::add(work, tree, orders, path, (key, value.bytes()?), mode == Mode::LastDuplicate)? {
        return Ok(Put::Exists);
    }
    tree.entries += 1;
    Ok(Put::Stored)
}

fn put_new(
    work: &mut Work,
    tree: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    key: &[u8],
    value: &Value<'_>,
) -> Result<()> {
    if value::is_large(work.page_size(), key.len(), value.len()) {
        if tree.has_duplicates() {
            return duplicates::plant(work, tree, orders, path, key, value.bytes()?);
        }
        let stub = put_run(work, tree, value)?;
        let entry = Entry { key, value_bytes: STUB, kind: CellKind::Overflow };
        stub.write(insert(work, tree, &orders.key, path, entry)?);
        return Ok(());
    }
    let entry = Entry { key, value_bytes: value.len(), kind: CellKind::Plain };
    value.write(insert(work, tree, &orders.key, path, entry)?);
    Ok(())
}

/// Stores a value in a new run of overflow pages.
fn put_run(work: &mut Work, tree: &mut Tree, value: &Value<'_>) -> Result<Stub> {
    let bytes = to_u32(value.len());
    let content = match value {
        Value::Bytes(bytes) => bytes,
        Value::Room(_) => &[][..],
    };
    let child = work.create_run(bytes, content)?;
    tree.overflows += pages_for(bytes as usize, work.page_size()) as u64;
    Ok(Stub { child, bytes, birth: 0 })
}

fn put_over(
    work: &mut Work,
    tree: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    key: &[u8],
    value: &Value<'_>,
) -> Result<()> {
    let step = path.leaf();
    let cell = at(step.page, open_cells(work, step.page)?.cell(step.index))?;
    let (kind, old_bytes) = (cell.kind, cell.value.len());
    let large = value::is_large(work.page_size(), key.len(), value.len());
    match kind {
        CellKind::Table => return Err(Error::Incompatible { what: "a table has this name" }),
        CellKind::Plain if !large && old_bytes == value.len() => {
            touch_path(work, tree, path)?;
            let step = path.leaf();
            value.write(LeafMut::new(work.page_mut(step.page)).into_value(step.index));
            return Ok(());
        }
        CellKind::Overflow => {
            let stub = cell.value.to_vec();
            value::release(work, tree, step.page, kind, &stub)?;
        }
        _ => {}
    }
    if large {
        let stub = put_run(work, tree, value)?;
        let entry = Entry { key, value_bytes: STUB, kind: CellKind::Overflow };
        stub.write(resize(work, tree, &orders.key, path, entry)?);
    } else {
        let entry = Entry { key, value_bytes: value.len(), kind: CellKind::Plain };
        value.write(resize(work, tree, &orders.key, path, entry)?);
    }
    Ok(())
}

/// Stores an entry whose value is to be filled in, in a table without duplicates; the space for it. `mode` is one that
/// stores, or fails.
pub(super) fn reserve<'w>(work: &'w mut Work, i: usize, key: &[u8], bytes: usize, mode: Mode) -> Result<&'w mut [u8]> {
    let (mut path, value) = (Path::default(), Value::Room(bytes));
    put_entry(work, i, Some(Guide::none(&mut path)), key, value, mode)?;
    ops::put(work, i, key, &value);
    if path.is_empty()
        && let Some((end, _)) = &work.tables[i].end
    {
        path = (**end).clone();
    }
    room(work, &path)
}

/// The space of the value that the path stands on, which has just been stored.
fn room<'w>(work: &'w mut Work, path: &Path) -> Result<&'w mut [u8]> {
    let step = path.leaf();
    let cell = at(step.page, open_cells(work, step.page)?.cell(step.index))?;
    if cell.kind == CellKind::Overflow {
        let stub = at(step.page, Stub::read(cell.value))?;
        return Ok(work.run_mut(stub.child));
    }
    Ok(LeafMut::new(work.page_mut(step.page)).into_value(step.index))
}

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
pub(super) fn delete(work: &mut Work, i: usize, key: &[u8]) -> Result<bool> {
    match find(work, i, key)? {
        Some(mut path) => delete_at(work, i, &mut path, key).map(|()| true),
        None => Ok(false),
    }
}

/// Removes the key at the path with all its values. The path then stands in the gap, or nowhere.
pub(super) fn delete_at(work: &mut Work, i: usize, path: &mut Path, key: &[u8]) -> Result<()> {
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

/// Stores an entry where the path stands, in a table without duplicates. The caller notes it for the log.
pub(super) fn put_here(
    work: &mut Work,
    i: usize,
    path: &mut Path,
    found: bool,
    key: &[u8],
    value: &Value<'_>,
) -> Result<()> {
    check_value(work.page_size(), &work.tables[i], value.len())?;
    refuse_table(work, i, key)?;
    change(work, i, |work, tree, orders| store(work, tree, orders, path, (found, Mode::Set), key, value)).map(drop)
}

/// In the main table, the names of tables that are not entered yet are taken.
fn refuse_table(work: &Work, i: usize, key: &[u8]) -> Result<()> {
    if i == 0 && catalog::is_pending(work, key) {
        return Err(Error::Incompatible { what: "a table has this name" });
    }
    Ok(())
}

/// Gives the key at the path, in a table without duplicates, another value. The path stays on it.
pub(super) fn put_at(work: &mut Work, i: usize, path: &mut Path, key: &[u8], value: &[u8]) -> Result<()> {
    check_value(work.page_size(), &work.tables[i], value.len())?;
    let value = Value::Bytes(value);
    refuse(work, i, (path, false), true, key, &value, Mode::Set)?;
    ops::put(work, i, key, &value);
    change(work, i, |work, tree, orders| put_over(work, tree, orders, path, key, &value))
}

/// Gives the key at the path, in a table without duplicates, another value where the old one stands, if that has the
/// same length and its page is the transaction's own: then nothing moves, and all positions stay good.
pub(super) fn overwrite(work: &mut Work, i: usize, path: &Path, key: &[u8], value: &[u8]) -> bool {
    let step = path.leaf();
    if !work.is_own(step.page) {
        return false;
    }
    let Some(space) = LeafMut::new(work.page_mut(step.page)).into_plain(step.index, value.len()) else { return false };
    pieces::copy(space, value);
    work.tables[i].overwritten += 1;
    ops::put(work, i, key, &Value::Bytes(value));
    true
}

/// Removes one value of a key; false if it is not there.
pub(super) fn delete_duplicate(work: &mut Work, i: usize, key: &[u8], value: &[u8]) -> Result<bool> {
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
        let removed = duplicates::remove_one(work, tree, orders, &mut path, value)?;
        tree.entries = tree.entries.saturating_sub(u64::from(removed));
        Ok(removed)
    })
}

/// Removes the value that a position is on from its key.
pub(super) fn delete_value_at(
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

/// Gives the value that a position is on, `old`, other bytes of the same place in the order, if nothing moves by that. The
/// position stays on it.
pub(super) fn overwrite_value_at(
    work: &mut Work,
    i: usize,
    position: &mut Position,
    key: &[u8],
    (old, new): (&[u8], &[u8]),
) -> Result<bool> {
    check_value(work.page_size(), &work.tables[i], new.len())?;
    let is_done = change(work, i, |work, tree, _| position.overwrite_value(work, tree, new))?;
    if is_done {
        ops::delete_duplicate(work, i, key, old);
        ops::put(work, i, key, &Value::Bytes(new));
    }
    Ok(is_done)
}

/// Removes the keys in a range; how many entries that were.
pub(super) fn delete_range(work: &mut Work, i: usize, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Result<u64> {
    work.check()?;
    spill_if_large(work)?;
    if i == 0 {
        return Err(Error::Incompatible { what: "the main table holds the records of others" });
    }
    if let (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) = (low, high)
        && work.tables[i].orders.key.cmp(a, b).is_gt()
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
