//! Changing the entries of a table: one function an operation.
//!
//! Owns: what each operation means, the checks before anything is changed (`limits`); `remove`: what is taken away. Must not
//! know: how users name tables.

mod limits;
mod remove;

use std::cmp::Ordering;

use super::catalog;
use super::ops;
use super::place::spill_if_large;
use super::work::Work;
use crate::error::{Error, Result};
use crate::format::leaf::{CellKind, LeafMut};
use crate::format::overflow::{STUB, Stub, pages_for};
use crate::order::{Needle, Order};
use crate::pieces;
use crate::tree::cursor::{Position, Trunk};
use crate::tree::duplicates::{self, Orders, Site};
use crate::tree::insert::{Entry, touch_path};
use crate::tree::{Pages, PagesMut, Path, Tree, at, insert, open_cells, resize, value};
use crate::width::{to_u16, to_u32};

use limits::check_size;
pub(super) use limits::{check_key, check_value};
pub(super) use remove::{delete, delete_at, delete_duplicate, delete_range, delete_value_at};

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

impl<'v> Value<'v> {
    fn len(&self) -> usize {
        match self {
            Value::Bytes(bytes) => bytes.len(),
            Value::Room(bytes) => *bytes,
        }
    }

    fn bytes(&self) -> Result<&'v [u8]> {
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

/// An entry that is offered to a table, and when it is to be stored.
#[derive(Clone, Copy)]
pub(super) struct Offer<'o> {
    pub key: &'o [u8],
    pub value: Value<'o>,
    pub mode: Mode,
}

impl<'o> Offer<'o> {
    /// An entry that is to be stored in any case.
    pub(super) fn set(key: &'o [u8], value: &'o [u8]) -> Offer<'o> {
        Offer { key, value: Value::Bytes(value), mode: Mode::Set }
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
pub(super) fn put(work: &mut Work, i: usize, offer: Offer<'_>) -> Result<Put> {
    put_guided(work, i, None, &offer)
}

/// As [`put`].
pub(super) fn put_guided(work: &mut Work, i: usize, guide: Option<Guide<'_>>, offer: &Offer<'_>) -> Result<Put> {
    let put = put_entry(work, i, guide, offer)?;
    if put == Put::Stored {
        ops::put(work, i, offer.key, &offer.value);
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
        let put = store(work, Site { table: tree, orders, path: &mut path }, found, &Offer::set(key, first))?;
        let more = duplicates::add_all(work, Site { table: tree, orders, path: &mut path }, key, each.clone())?;
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

fn put_entry(work: &mut Work, i: usize, mut guide: Option<Guide<'_>>, offer: &Offer<'_>) -> Result<Put> {
    prepare(work, i, offer.key, offer.value.len())?;
    if add_last(work, i, offer.key, &offer.value) {
        guide.iter_mut().for_each(|guide| guide.path.clear());
        return Ok(Put::Stored);
    }
    match guide {
        Some(guide) => put_in_place(work, i, guide, offer),
        None => put_in_place(work, i, Guide::none(&mut Path::default()), offer),
    }
}

/// Stores an entry where its place is.
fn put_in_place(work: &mut Work, i: usize, mut guide: Guide<'_>, offer: &Offer<'_>) -> Result<Put> {
    if let Some((path, found)) = at_end(work, i, offer.key)? {
        guide.path.clear();
        return put_at_end(work, i, path, found, offer);
    }
    let found = guide.lead(work, i, offer.key)?;
    let path = guide.path;
    if found && put_in_value(work, i, path, offer) {
        return Ok(Put::Stored);
    }
    let is_last = is_at_end(work, path, found)?;
    if let Some(outcome) = refuse(work, i, path, (found, is_last), offer)? {
        return outcome;
    }
    let put = store_at(work, i, path, found, offer)?;
    if is_last {
        work.tables[i].end = Some((Box::new(path.clone()), work.epoch));
    }
    Ok(put)
}

/// Stores an entry by the way to the end of the table, which stays known: behind all others, or among the last key's.
fn put_at_end(work: &mut Work, i: usize, mut path: Box<Path>, found: bool, offer: &Offer<'_>) -> Result<Put> {
    check_size(work, i, &path, offer.key)?;
    let put = match refuse(work, i, &path, (found, !found), offer)? {
        Some(refused) => refused?,
        None => store_at(work, i, &mut path, found, offer)?,
    };
    work.tables[i].end = Some((path, work.epoch));
    Ok(put)
}

/// Goes to a key, or to the gap where it would be; whether it is there.
pub(super) fn seek(work: &Work, i: usize, path: &mut Path, key: &[u8]) -> Result<bool> {
    let table = &work.tables[i];
    let found = path.seek(work, &table.tree, &table.orders.key, &Needle::new(key, &table.orders.key))?;
    check_size(work, i, path, key)?;
    Ok(found)
}

/// The way to the last key, if it is known and that is the one, or to the gap behind it, if this one sorts behind it; whether it
/// is there.
fn at_end(work: &mut Work, i: usize, key: &[u8]) -> Result<Option<(Box<Path>, bool)>> {
    let Some((mut path, known)) = work.tables[i].end.take() else {
        return Ok(None);
    };
    if !work.is_current(i, known) {
        return Ok(None);
    }
    match work.tables[i].orders.key.cmp(path.key(work)?, key) {
        Ordering::Less => {
            path.leaf_mut().index += 1;
            Ok(Some((path, false)))
        }
        Ordering::Equal => Ok(Some((path, true))),
        Ordering::Greater => Ok(None),
    }
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
    if table.orders.key.cmp(last, key).is_ge() || is_of_other_size {
        return false;
    }
    let Some(space) = page.push_plain(key, value.len(), &table.orders.key) else { return false };
    value.write(space);
    step.index += 1;
    table.tree.entries += 1;
    work.epoch += 1;
    (*epoch, table.changed) = (work.epoch, work.epoch);
    true
}

/// Whether the path stands behind all entries of the table.
fn is_at_end(work: &Work, path: &Path, found: bool) -> Result<bool> {
    if found || path.is_empty() {
        return Ok(false);
    }
    Ok(path.leaf().index == path.open_leaf(work)?.len() && path.is_rightmost(work)?)
}

/// Whether the path stands on the record of a table.
fn is_table(work: &Work, path: &Path) -> Result<bool> {
    let step = path.leaf();
    Ok(at(step.page, open_cells(work, step.page)?.cell(step.index))?.kind == CellKind::Table)
}

/// What the mode says against storing where the path stands, on the key (`found`) or behind all entries (`is_last`), before
/// anything is changed.
#[inline(always)]
fn refuse(
    work: &Work,
    i: usize,
    path: &Path,
    (found, is_last): (bool, bool),
    offer: &Offer<'_>,
) -> Result<Option<Result<Put>>> {
    let &Offer { key, ref value, mode } = offer;
    let table = &work.tables[i];
    match mode {
        Mode::Set | Mode::LastDuplicate if found && i == 0 && is_table(work, path)? => {
            Err(Error::Incompatible { what: "a table has this name" })
        }
        Mode::Set | Mode::LastDuplicate => Ok(None),
        Mode::Insert => Ok(found.then_some(Ok(Put::Exists))),
        Mode::Append | Mode::AppendDuplicate if is_last => Ok(None),
        Mode::Append | Mode::AppendDuplicate => {
            let trunk = Trunk { tree: &table.tree, orders: &table.orders };
            let Some((last_key, last_value)) = Position::default().last(work, trunk)? else { return Ok(None) };
            let in_order = match (table.orders.key.cmp(last_key, key), value) {
                (Ordering::Less, _) => true,
                (Ordering::Equal, Value::Bytes(bytes)) if mode == Mode::AppendDuplicate => {
                    table.tree.has_duplicates() && table.orders.duplicate.cmp(last_value, bytes).is_lt()
                }
                _ => false,
            };
            Ok((!in_order).then_some(Err(Error::AppendOrder)))
        }
    }
}

/// Stores an entry where the path stands, whether its key is `found` there or not.
#[inline(always)]
fn store_at(work: &mut Work, i: usize, path: &mut Path, found: bool, offer: &Offer<'_>) -> Result<Put> {
    change(work, i, |work, table, orders| store(work, Site { table, orders, path }, found, offer))
}

fn store(work: &mut Work, site: Site<'_>, found: bool, offer: &Offer<'_>) -> Result<Put> {
    let &Offer { key, ref value, mode } = offer;
    let Site { table, orders, path } = site;
    if !found {
        put_new(work, Site { table, orders, path }, key, value)?;
    } else if !table.has_duplicates() {
        put_over(work, Site { table, orders, path }, key, value)?;
        return Ok(Put::Stored);
    } else {
        let (last, bytes) = (mode == Mode::LastDuplicate, value.bytes()?);
        if !duplicates::add(work, Site { table, orders, path }, key, bytes, last)? {
            return Ok(Put::Exists);
        }
    }
    table.entries += 1;
    Ok(Put::Stored)
}

fn put_new(work: &mut Work, site: Site<'_>, key: &[u8], value: &Value<'_>) -> Result<()> {
    if value::is_large(work.page_size(), key.len(), value.len()) {
        if site.table.has_duplicates() {
            return duplicates::plant(work, site, key, value.bytes()?);
        }
        let stub = put_run(work, site.table, value)?;
        let entry = Entry { key, value_bytes: STUB, kind: CellKind::Overflow };
        stub.write(insert(work, site.table, &site.orders.key, site.path, entry)?);
        return Ok(());
    }
    let entry = Entry { key, value_bytes: value.len(), kind: CellKind::Plain };
    value.write(insert(work, site.table, &site.orders.key, site.path, entry)?);
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

fn put_over(work: &mut Work, site: Site<'_>, key: &[u8], value: &Value<'_>) -> Result<()> {
    let Site { table, orders, path } = site;
    let step = path.leaf();
    let cell = at(step.page, open_cells(work, step.page)?.cell(step.index))?;
    let (kind, old_bytes) = (cell.kind, cell.value.len());
    let large = value::is_large(work.page_size(), key.len(), value.len());
    match kind {
        CellKind::Table => return Err(Error::Incompatible { what: "a table has this name" }),
        CellKind::Plain if !large && old_bytes == value.len() => {
            touch_path(work, table, path)?;
            let step = path.leaf();
            value.write(LeafMut::new(work.page_mut(step.page)).into_value(step.index));
            return Ok(());
        }
        CellKind::Overflow => {
            let stub = cell.value.to_vec();
            value::release(work, table, step.page, kind, &stub)?;
        }
        _ => {}
    }
    if large {
        let stub = put_run(work, table, value)?;
        let entry = Entry { key, value_bytes: STUB, kind: CellKind::Overflow };
        stub.write(resize(work, table, &orders.key, path, entry)?);
    } else {
        let entry = Entry { key, value_bytes: value.len(), kind: CellKind::Plain };
        value.write(resize(work, table, &orders.key, path, entry)?);
    }
    Ok(())
}

/// Stores an entry whose value is to be filled in, in a table without duplicates; the space for it. `mode` is one that
/// stores, or fails.
pub(super) fn reserve<'w>(work: &'w mut Work, i: usize, key: &[u8], bytes: usize, mode: Mode) -> Result<&'w mut [u8]> {
    let (mut path, value) = (Path::default(), Value::Room(bytes));
    put_entry(work, i, Some(Guide::none(&mut path)), &Offer { key, value, mode })?;
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

/// Stores a value of a key where the path stands, in a table without duplicates. The caller notes it for the log.
pub(super) fn put_here(
    work: &mut Work,
    i: usize,
    path: &mut Path,
    found: bool,
    (key, value): (&[u8], &[u8]),
) -> Result<()> {
    check_value(work.page_size(), &work.tables[i], value.len())?;
    refuse_table(work, i, key)?;
    store_at(work, i, path, found, &Offer::set(key, value)).map(drop)
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
    let offer = Offer::set(key, value);
    refuse(work, i, path, (true, false), &offer)?;
    ops::put(work, i, key, &offer.value);
    change(work, i, |work, table, orders| put_over(work, Site { table, orders, path }, key, &offer.value))
}

/// As [`overwrite`], of what is offered for the key at the path, if that is to be stored in any case. The caller notes it for the
/// log.
#[inline]
fn put_in_value(work: &mut Work, i: usize, path: &Path, offer: &Offer<'_>) -> bool {
    let (Mode::Set, Value::Bytes(value)) = (offer.mode, offer.value) else { return false };
    !work.tables[i].tree.has_duplicates() && copy_over(work, i, path, value)
}

/// Gives the key at the path, in a table without duplicates, another value where the old one stands, if that has the
/// same length and its page is the transaction's own: then nothing moves, and all positions stay good.
pub(super) fn overwrite(work: &mut Work, i: usize, path: &Path, key: &[u8], value: &[u8]) -> bool {
    let is_done = copy_over(work, i, path, value);
    if is_done {
        ops::put(work, i, key, &Value::Bytes(value));
    }
    is_done
}

#[inline(always)]
fn copy_over(work: &mut Work, i: usize, path: &Path, value: &[u8]) -> bool {
    let step = path.leaf();
    if !work.is_own(step.page) {
        return false;
    }
    let Some(space) = LeafMut::new(work.page_mut(step.page)).into_plain(step.index, value.len()) else { return false };
    pieces::copy(space, value);
    work.tables[i].overwritten += 1;
    true
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
