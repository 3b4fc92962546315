//! Tables by name: their options, and their records in the main table.
//!
//! Owns: creating, opening, renaming, dropping tables; the form in which options are stored. Must not know: commits.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use super::ops;
use super::work::Work;
use crate::error::{Error, Result};
use crate::format::leaf::{Cell, CellKind, key_max};
use crate::format::page::Child;
use crate::format::record::{self, DUPLICATES, FIXED};
use crate::order::{Comparator, Needle, Order};
use crate::tree::duplicates::Orders;
use crate::tree::insert::Entry;
use crate::tree::{Pages, Path, Tree, at, below, get, insert, open_cells, path, range, remove, touch_value};

/// What a table that holds several values for a key does with them.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Duplicates {
    order: Order,
    fixed: bool,
}

impl Duplicates {
    /// Sorted bytewise.
    pub fn sorted() -> Duplicates {
        Duplicates::default()
    }

    /// Sorted from the last byte to the first.
    pub fn reversed() -> Duplicates {
        Duplicates { order: Order::Reversed, fixed: false }
    }

    /// Unsigned integers of 4 or 8 bytes in the machine's order; all of one size.
    pub fn integers() -> Duplicates {
        Duplicates { order: Order::Native, fixed: true }
    }

    /// Sorted as the function says.
    pub fn compared(by: Comparator) -> Duplicates {
        Duplicates { order: Order::Custom(by), fixed: false }
    }

    /// The same order, for values that all have one size: they are stored side by side. The first value stored
    /// decides the size.
    pub fn fixed_size(self) -> Duplicates {
        Duplicates { fixed: true, ..self }
    }
}

/// What is fixed when a table is created.
///
/// ```
/// use duramen::{Duplicates, Order, TableOptions};
/// let by_number = TableOptions::new().order(Order::Native);
/// let index = TableOptions::new().duplicates(Duplicates::sorted());
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct TableOptions {
    order: Order,
    duplicates: Option<Duplicates>,
    user: u16,
}

impl TableOptions {
    /// Keys sorted bytewise, one value for each.
    pub fn new() -> TableOptions {
        TableOptions::default()
    }

    /// How keys sort. A custom order must be given again whenever the table is opened.
    pub fn order(self, order: Order) -> TableOptions {
        TableOptions { order, ..self }
    }

    /// Several sorted values for a key.
    pub fn duplicates(self, duplicates: Duplicates) -> TableOptions {
        TableOptions { duplicates: Some(duplicates), ..self }
    }

    /// Sixteen bits of the caller's own, kept with the table.
    pub fn user_bits(self, user: u16) -> TableOptions {
        TableOptions { user, ..self }
    }

    /// The options of a table by what is stored of it; nothing if its orders are not built in.
    pub(super) fn of(order: u8, flags: u8, duplicate_order: u8, user: u16) -> Option<TableOptions> {
        let fixed = flags & FIXED != 0;
        let duplicates = match flags & DUPLICATES {
            0 => None,
            _ => Some(Duplicates { order: Order::built_in(duplicate_order)?, fixed }),
        };
        Some(TableOptions { order: Order::built_in(order)?, duplicates, user })
    }

    /// The options that a stored table was made with. In place of a function that nobody has told there is one by which
    /// all that comes sorts behind what came before.
    pub(super) fn as_made(tree: &Tree) -> TableOptions {
        let order = |code| Order::built_in(code).unwrap_or_else(|| Order::Custom(Arc::new(behind)));
        let duplicates =
            tree.has_duplicates().then(|| Duplicates { order: order(tree.duplicate_order), fixed: tree.has_fixed() });
        TableOptions { order: order(tree.order), duplicates, user: tree.user }
    }

    pub(super) fn tree(&self) -> Tree {
        let mut tree = Tree { user: self.user, ..Tree::new(&self.order) };
        if let Some(duplicates) = &self.duplicates {
            tree.duplicate_order = duplicates.order.code();
            tree.flags = DUPLICATES | if duplicates.fixed { FIXED } else { 0 };
        }
        tree
    }

    pub(super) fn orders(&self) -> Orders {
        let duplicate = self.duplicates.as_ref().map(|d| d.order.clone()).unwrap_or_default();
        Orders { key: self.order.clone(), duplicate }
    }
}

fn behind(before: &[u8], after: &[u8]) -> Ordering {
    if before == after { Ordering::Equal } else { Ordering::Less }
}

/// A sentence part about a table's options.
pub(super) fn describe(tree: &Tree) -> String {
    let order = |code| ["bytewise", "reversed", "native integer", "custom"][usize::from(code) % 4];
    let mut text = format!("{} keys", order(tree.order));
    if tree.has_duplicates() {
        text += &format!(" and {} duplicates", order(tree.duplicate_order));
        if tree.has_fixed() {
            text += " of one size";
        }
    } else {
        text += " without duplicates";
    }
    text
}

fn show(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// The orders of a stored table, checked against what was asked for, if anything was.
pub(super) fn orders_of(name: &[u8], tree: &Tree, options: Option<&TableOptions>) -> Result<Orders> {
    let wrong = |wanted: String| Error::TableOptions { name: show(name), found: describe(tree), wanted };
    if let Some(options) = options {
        let wanted = options.tree();
        let shape = |t: &Tree| (t.order, t.duplicate_order, t.flags);
        if shape(&wanted) != shape(tree) {
            return Err(wrong(describe(&wanted)));
        }
        return Ok(options.orders());
    }
    let built_in = |code| {
        Order::built_in(code).ok_or_else(|| {
            wrong("an order without its comparison function (give it in the table's options)".to_string())
        })
    };
    Ok(Orders { key: built_in(tree.order)?, duplicate: built_in(tree.duplicate_order)? })
}

/// The record of a table in the main table; `None` if there is none of this name.
pub(super) fn find<P: Pages>(pages: &P, main: &Tree, orders: &Orders, name: &[u8]) -> Result<Option<Tree>> {
    if main.order == Order::Native.code() && !matches!(name.len(), 4 | 8) {
        return Ok(None);
    }
    let found = get(pages, main, &orders.key, &Needle::new(name, &orders.key))?;
    let found = found.map(|(leaf, cell)| record_of(leaf, &cell)).transpose()?;
    // Tables with dirty pages are known to their transaction and not looked for.
    found.map(|tree| below(Child::default(), tree.root).map(|_| tree)).transpose()
}

fn record_of(leaf: Child, cell: &Cell<'_>) -> Result<Tree> {
    if cell.kind != CellKind::Table {
        return Err(Error::Incompatible { what: "the main table has an ordinary entry of this name" });
    }
    at(leaf, Tree::decode_table(cell.value))
}

/// Whether this transaction has made a table of this name that the main table does not have yet.
pub(super) fn is_pending(work: &Work, name: &[u8]) -> bool {
    work.names.look(&work.tables, name).is_some_and(|i| work.tables[i].saved.is_none())
}

/// The record of a table as the transaction has it; `None` if there is none of this name.
pub(super) fn record(work: &Work, name: &[u8]) -> Result<Option<Tree>> {
    if let Some(i) = work.names.look(&work.tables, name) {
        return Ok(Some(work.tables[i].tree));
    }
    find(work, &work.tables[0].tree, &work.tables[0].orders, name)
}

/// Opens a table for writing, if it is there: its index among the transaction's tables.
pub(super) fn open(work: &mut Work, name: &[u8], options: Option<&TableOptions>) -> Result<Option<usize>> {
    work.check()?;
    if let Some(i) = work.names.find(&work.tables, name) {
        let table = &work.tables[i];
        // Who opened it for a use that compares no keys did not need to know its order.
        if options.is_some() || !table.orders.are_of(&table.tree) {
            work.tables[i].orders = orders_of(name, &table.tree, options)?;
        }
        return Ok(Some(i));
    }
    let main = &work.tables[0];
    let Some(tree) = find(work, &main.tree, &main.orders, name)? else { return Ok(None) };
    let orders = orders_of(name, &tree, options)?;
    Ok(Some(work.add_table(name, tree, orders, Some(tree))))
}

/// As [`open`]; makes the table if it is not there.
pub(super) fn open_or_make(work: &mut Work, name: &[u8], options: Option<&TableOptions>) -> Result<usize> {
    if let Some(i) = open(work, name, options)? {
        return Ok(i);
    }
    check_name(work, name)?;
    let options = options.cloned().unwrap_or_default();
    let i = work.add_table(name, options.tree(), options.orders(), None);
    ops::created(work, i);
    Ok(i)
}

/// Whether a main table can have the names of tables in it: not if it has duplicates, nor in an order that not all names
/// have.
pub(super) fn has_room_for_names(main: &Tree) -> bool {
    !main.has_duplicates() && main.order <= Order::Reversed.code()
}

fn check_name(work: &Work, name: &[u8]) -> Result<()> {
    let max = key_max(work.page_size());
    if name.is_empty() || name.len() > max {
        return Err(Error::NameLength { bytes: name.len(), max });
    }
    if !has_room_for_names(&work.tables[0].tree) {
        return Err(Error::Incompatible { what: "the main table has duplicates, or an order that names do not have" });
    }
    Ok(())
}

/// Drops a table and releases its pages.
pub(super) fn drop_table(work: &mut Work, i: usize) -> Result<()> {
    empty(work, i)?;
    ops::drop_table(work, i);
    work.tables[i].dropped = true;
    // The name is free for a new table from now on.
    remove_record(work, i)
}

/// Empties a table and releases its pages; how many entries it had.
pub(super) fn clear(work: &mut Work, i: usize) -> Result<u64> {
    if i == 0 {
        drop_named(work)?;
    }
    ops::clear(work, i);
    empty(work, i)
}

fn empty(work: &mut Work, i: usize) -> Result<u64> {
    let mut tree = work.tables[i].tree;
    let order = work.tables[i].orders.key.clone();
    let entries = range::drop_tree(work, &mut tree, &order).inspect_err(|_| work.failed = true)?;
    work.tables[i].tree = tree;
    work.tables[i].end = None;
    work.changes(i);
    Ok(entries)
}

/// Releases every named table, as emptying the main table means.
fn drop_named(work: &mut Work) -> Result<()> {
    for name in names(work)? {
        if let Some(i) = open_any(work, &name)? {
            drop_table(work, i)?;
        }
    }
    Ok(())
}

/// Opens a table of whatever order, for a use that compares no keys.
fn open_any(work: &mut Work, name: &[u8]) -> Result<Option<usize>> {
    if let Some(i) = work.names.find(&work.tables, name) {
        return Ok(Some(i));
    }
    match open(work, name, None) {
        Err(Error::TableOptions { .. }) => {
            let main = &work.tables[0];
            let saved = find(work, &main.tree, &main.orders, name)?;
            Ok(saved.map(|tree| work.add_table(name, tree, Orders::default(), Some(tree))))
        }
        other => other,
    }
}

/// Opens a table to drop it, custom order or not.
pub(super) fn open_to_drop(work: &mut Work, name: &[u8]) -> Result<Option<usize>> {
    work.check()?;
    open_any(work, name)
}

/// Names of all tables, those of this transaction included, sorted.
pub(super) fn names(work: &Work) -> Result<Vec<Vec<u8>>> {
    let main = &work.tables[0];
    let mut found = stored_names(work, &main.tree, &main.orders)?;
    found.extend(work.tables.iter().skip(1).filter(|t| !t.dropped).map(|t| t.name.to_vec()));
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Names of the tables in a main table.
pub(super) fn stored_names<P: Pages>(pages: &P, main: &Tree, orders: &Orders) -> Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    let mut path = Path::default();
    let mut there = path.first(pages, main)?;
    while there {
        let step: path::Step = path.leaf();
        let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
        if cell.kind == CellKind::Table {
            names.push(cell.key.to_vec());
        }
        there = path.next(pages, &orders.key)?;
    }
    Ok(names)
}

/// Gives a table another name. False if there is no such table.
pub(super) fn rename(work: &mut Work, from: &[u8], to: &[u8]) -> Result<bool> {
    let Some(i) = open_to_drop(work, from)? else {
        return Ok(false);
    };
    if open_any(work, to)?.is_some() {
        return Err(Error::TableExists { name: show(to) });
    }
    check_name(work, to)?;
    ops::rename(work, i, to);
    remove_record(work, i)?;
    work.tables[i].name = to.into();
    work.names.rename(i, &work.tables[i].name);
    Ok(true)
}

fn remove_record(work: &mut Work, i: usize) -> Result<()> {
    if work.tables[i].saved.take().is_none() {
        return Ok(());
    }
    let name = work.tables[i].name.clone();
    with_main(work, |work, tree, orders| {
        let mut path = Path::default();
        if path.seek(work, tree, &orders.key, &Needle::new(&name, &orders.key))? {
            remove(work, tree, &orders.key, &mut path)?;
            tree.entries = tree.entries.saturating_sub(1);
        }
        Ok(())
    })
}

/// Changes the main table. An error leaves a transaction that can only be aborted, because pages may have been changed
/// half-way.
fn with_main<R>(work: &mut Work, f: impl FnOnce(&mut Work, &mut Tree, &Orders) -> Result<R>) -> Result<R> {
    let mut tree = work.tables[0].tree;
    let orders = work.tables[0].orders.clone();
    let result = f(work, &mut tree, &orders);
    work.tables[0].tree = tree;
    work.tables[0].end = None;
    work.changes(0);
    work.failed |= result.is_err();
    result
}

/// Writes the records of all changed tables into the main table, roots not yet placed.
pub(super) fn save(work: &mut Work) -> Result<()> {
    save_some(work, 1..work.tables.len())
}

/// Writes the record of a table into the main table, if it has changed.
pub(super) fn save_one(work: &mut Work, i: usize) -> Result<()> {
    save_some(work, i..i + 1)
}

fn save_some(work: &mut Work, tables: Range<usize>) -> Result<()> {
    let is_unsaved =
        |work: &Work, i: usize| !work.tables[i].dropped && work.tables[i].saved != Some(work.tables[i].tree);
    let Some(first) = tables.clone().find(|&i| is_unsaved(work, i)) else { return Ok(()) };
    with_main(work, |work, main, orders| {
        let mut path = Path::default();
        for i in first..tables.end {
            if is_unsaved(work, i) {
                save_record(work, main, orders, &mut path, i)?;
            }
        }
        Ok(())
    })
}

fn save_record(work: &mut Work, main: &mut Tree, orders: &Orders, path: &mut Path, i: usize) -> Result<()> {
    let (name, tree) = (work.tables[i].name.clone(), work.tables[i].tree);
    let space = if path.seek(work, main, &orders.key, &Needle::new(&name, &orders.key))? {
        let step = path.leaf();
        record_of(step.page, &at(step.page, open_cells(work, step.page)?.cell(step.index))?)?;
        touch_value(work, main, path)?
    } else {
        main.entries += 1;
        let entry = Entry { key: &name, value_bytes: record::BYTES, kind: CellKind::Table };
        insert(work, main, &orders.key, path, entry)?
    };
    space.copy_from_slice(&tree.encode());
    work.tables[i].saved = Some(tree);
    Ok(())
}
