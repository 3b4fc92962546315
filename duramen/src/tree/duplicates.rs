//! Several sorted values for one key.
//!
//! Owns: the three forms that a key's duplicates take, and the passage from one to the next. Must not know: cursors.
//!
//! One value stands in the cell like any other. A few stand in a *sub-page* inside the cell. When that no longer fits half a
//! page they move to a tree of their own, whose record is the cell's value: its keys are the duplicates, packed if they have a fixed size.
//! So does a single value that is too long to stand beside its key.

use std::cmp::Ordering;

use super::insert::{Entry, insert, resize, touch_path};
use super::sub_page::{SubPage, encode, encoded_bytes, take_out};
use super::{Pages, PagesMut, Path, Tree, at, below, damaged, open_branch, open_cells, open_leaf, range, remove};
use crate::error::{Damage, Result};
use crate::format::leaf::{Cell, CellKind, LeafMut, key_max};
use crate::format::page::Child;
use crate::format::record;
use crate::order::{Needle, Order};
use crate::tree::value::is_large;

/// The two orders of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders {
    pub key: Order,
    pub duplicate: Order,
}

impl Orders {
    /// Whether a table's keys and values lie in these orders, as far as can be told: one custom order looks like another.
    pub(crate) fn are_of(&self, tree: &Tree) -> bool {
        (self.key.code(), self.duplicate.code()) == (tree.order, tree.duplicate_order)
    }
}

/// A place in a table where something is about to change: the table's record, its orders, and the way to a key, or to the
/// gap where one is to be.
pub(crate) struct Site<'s> {
    pub table: &'s mut Tree,
    pub orders: &'s Orders,
    pub path: &'s mut Path,
}

/// The values of one key, in whichever form they stand.
pub(crate) enum Duplicates<'a> {
    One(&'a [u8]),
    Sub(SubPage<'a>),
    Tree(Tree),
}

impl<'a> Duplicates<'a> {
    /// Those of a cell in leaf `leaf` of `table`.
    pub(crate) fn open(leaf: Child, table: &Tree, cell: &Cell<'a>) -> Result<Duplicates<'a>> {
        Ok(match cell.kind {
            CellKind::SubPage => Duplicates::Sub(at(leaf, SubPage::open(cell.value, item_of(table)))?),
            CellKind::SubTree => {
                let tree = at(leaf, Tree::decode_duplicates(cell.value, table))?;
                if tree.is_empty() {
                    return Err(damaged(leaf, "an empty tree of duplicates"));
                }
                below(leaf, tree.root)?;
                Duplicates::Tree(tree)
            }
            CellKind::Plain | CellKind::Table => Duplicates::One(at(leaf, one(cell.value, item_of(table)))?),
            CellKind::Overflow => return Err(damaged(leaf, "a large value in a table of duplicates")),
        })
    }

    pub(crate) fn count(&self) -> u64 {
        match self {
            Duplicates::One(_) => 1,
            Duplicates::Sub(sub) => sub.len() as u64,
            Duplicates::Tree(tree) => tree.entries,
        }
    }
}

/// The first value of a cell's key.
pub(crate) fn first<'p, P: Pages>(pages: &'p P, table: &Tree, leaf: Child, cell: &Cell<'p>) -> Result<&'p [u8]> {
    match Duplicates::open(leaf, table, cell)? {
        Duplicates::One(value) => Ok(value),
        Duplicates::Sub(sub) => at(leaf, sub.get(0)),
        Duplicates::Tree(tree) => {
            let mut child = tree.root;
            for level in (2..=tree.depth).rev() {
                child = below(child, at(child, open_branch(pages, child, level)?.child(0))?)?;
            }
            at(child, open_leaf(pages, child)?.key(0))
        }
    }
}

/// A single value, which has the size of the table's if they have one.
fn one(value: &[u8], item: usize) -> Result<&[u8], Damage> {
    if item > 0 && value.len() != item {
        Err(Damage("a duplicate of another size than its table's"))
    } else {
        Ok(value)
    }
}

/// Size of the table's fixed-size duplicates, 0 if they vary.
pub(crate) fn item_of(table: &Tree) -> usize {
    if table.has_fixed() { usize::from(table.item) } else { 0 }
}

/// How many entries a cell stands for.
pub(crate) fn count(leaf: Child, table: &Tree, kind: CellKind, body: &[u8]) -> Result<u64> {
    match kind {
        CellKind::SubPage => Ok(at(leaf, SubPage::open(body, item_of(table)))?.len() as u64),
        CellKind::SubTree => Ok(at(leaf, Tree::decode_duplicates(body, table))?.entries),
        CellKind::Plain | CellKind::Overflow | CellKind::Table => Ok(1),
    }
}

/// As [`count`], after a look at all that searches among the values rely on, but for what is in a tree of them.
pub(crate) fn examine(leaf: Child, table: &Tree, cell: &Cell<'_>) -> Result<u64> {
    match cell.kind {
        CellKind::Table => return Ok(1),
        CellKind::SubPage | CellKind::SubTree if !table.has_duplicates() => {
            return Err(damaged(leaf, "several values of a key in a table whose keys have one each"));
        }
        _ if !table.has_duplicates() => return Ok(1),
        _ => {}
    }
    let values = Duplicates::open(leaf, table, cell)?;
    match &values {
        Duplicates::Sub(sub) => at(leaf, sub.check(Order::built_in(table.duplicate_order).as_ref()))?,
        Duplicates::Tree(tree) if tree.order != table.duplicate_order => {
            return Err(damaged(leaf, "a tree of duplicates in another order than its table's"));
        }
        _ => {}
    }
    Ok(values.count())
}

/// Releases the tree of duplicates of a cell that is about to go, if it has one.
pub(crate) fn release<P: PagesMut>(pages: &mut P, leaf: Child, kind: CellKind, body: &[u8]) -> Result<()> {
    if kind == CellKind::SubTree {
        let mut tree = at(leaf, Tree::decode(body))?;
        below(leaf, tree.root)?;
        range::drop_tree(pages, &mut tree, &Order::Bytes)?;
    }
    Ok(())
}

/// Adds a value to the key at the site. False, and nothing changed, if the key has it already, or, where it is to be the
/// `last`, has one behind it. The caller keeps the count of entries.
pub(crate) fn add<P: PagesMut>(pages: &mut P, site: Site<'_>, key: &[u8], value: &[u8], last: bool) -> Result<bool> {
    let step = site.path.leaf();
    let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
    let (item, order) = (item_of(site.table), &site.orders.duplicate);
    let body = match Duplicates::open(step.page, site.table, &cell)? {
        Duplicates::Tree(tree) => return add_to_tree(pages, site, tree, value, last),
        Duplicates::One(one) => match order.cmp(one, value) {
            Ordering::Equal => return Ok(false),
            Ordering::Less => encode(&[one, value], item),
            Ordering::Greater if last => return Ok(false),
            Ordering::Greater => encode(&[value, one], item),
        },
        Duplicates::Sub(sub) => match at(step.page, sub.find(value, order))? {
            (i, found) if found || last && i < sub.len() => return Ok(false),
            (i, _) => at(step.page, sub.with(i, value))?,
        },
    };
    if is_large(pages.page_size(), key.len(), body.len()) {
        let values = at(step.page, SubPage::open(&body, item).and_then(|sub| sub.values()))?;
        move_to_tree(pages, site, key, &values)?;
    } else {
        store(pages, site, key, CellKind::SubPage, &body)?;
    }
    Ok(true)
}

/// Adds values in any order to the key at the site; how many of them it did not have. The caller keeps the count of
/// entries.
pub(crate) fn add_all<'v, P: PagesMut>(
    pages: &mut P,
    site: Site<'_>,
    key: &[u8],
    values: impl Iterator<Item = &'v [u8]>,
) -> Result<u64> {
    let step = site.path.leaf();
    let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
    let (kind, copy) = (cell.kind, cell.value.to_vec());
    let held = match Duplicates::open(step.page, site.table, &Cell { key, value: &copy, kind })? {
        Duplicates::Tree(tree) => return add_all_to_tree(pages, site, tree, values),
        Duplicates::One(_) => vec![&copy[..]],
        Duplicates::Sub(sub) => at(step.page, sub.values())?,
    };
    let (before, order) = (held.len(), &site.orders.duplicate);
    // Of those that are equal the first stays: one that is there already.
    let mut all: Vec<&[u8]> = held.into_iter().chain(values.map(|value| value as &[u8])).collect();
    all.sort_by(|a, b| order.cmp(a, b));
    all.dedup_by(|b, a| order.cmp(a, b).is_eq());
    if all.len() == before {
        return Ok(0);
    }
    let item = item_of(site.table);
    if is_large(pages.page_size(), key.len(), encoded_bytes(&all, item)) {
        move_to_tree(pages, site, key, &all)?;
    } else {
        store(pages, site, key, CellKind::SubPage, &encode(&all, item))?;
    }
    Ok((all.len() - before) as u64)
}

/// Stores what stands for the values of the key at the site.
fn store<P: PagesMut>(pages: &mut P, site: Site<'_>, key: &[u8], kind: CellKind, body: &[u8]) -> Result<()> {
    let entry = Entry { key, value_bytes: body.len(), kind };
    resize(pages, site.table, &site.orders.key, site.path, entry)?.copy_from_slice(body);
    Ok(())
}

fn move_to_tree<P: PagesMut>(pages: &mut P, site: Site<'_>, key: &[u8], values: &[&[u8]]) -> Result<()> {
    let longest = key_max(pages.page_size());
    if values.iter().any(|value| value.len() > longest) {
        return Err(damaged(site.path.leaf().page, "a duplicate is longer than any may be"));
    }
    let tree = new_tree(pages, site.table, site.orders, values)?;
    store(pages, site, key, CellKind::SubTree, &tree.encode())
}

/// Stores a new key whose only value is too long to stand beside it. The caller keeps the count of entries.
pub(crate) fn plant<P: PagesMut>(pages: &mut P, site: Site<'_>, key: &[u8], value: &[u8]) -> Result<()> {
    let tree = new_tree(pages, site.table, site.orders, &[value])?;
    let entry = Entry { key, value_bytes: record::BYTES, kind: CellKind::SubTree };
    insert(pages, site.table, &site.orders.key, site.path, entry)?.copy_from_slice(&tree.encode());
    Ok(())
}

/// A tree of these values.
fn new_tree<P: PagesMut>(pages: &mut P, table: &Tree, orders: &Orders, values: &[&[u8]]) -> Result<Tree> {
    let mut tree = Tree::new(&orders.duplicate);
    if table.has_fixed() {
        tree.flags = record::PACKED;
        tree.item = table.item;
    }
    let mut end = Path::default();
    for value in values {
        if end.is_empty() {
            end.last(pages, &tree)?;
        }
        if !end.is_empty() {
            end.leaf_mut().index += 1;
        }
        insert_value(pages, &mut tree, &orders.duplicate, &mut end, value)?;
    }
    Ok(tree)
}

fn insert_value<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    value: &[u8],
) -> Result<()> {
    insert(pages, tree, order, path, Entry { key: value, value_bytes: 0, kind: CellKind::Plain })?;
    tree.entries += 1;
    Ok(())
}

fn add_to_tree<P: PagesMut>(pages: &mut P, site: Site<'_>, mut tree: Tree, value: &[u8], last: bool) -> Result<bool> {
    let (mut place, order) = (Path::default(), &site.orders.duplicate);
    if last {
        place.last(pages, &tree)?;
        if order.cmp(place.key(pages)?, value).is_ge() {
            return Ok(false);
        }
        place.leaf_mut().index += 1;
    } else if place.seek(pages, &tree, order, &Needle::new(value, order))? {
        return Ok(false);
    }
    touch_path(pages, site.table, site.path)?;
    insert_value(pages, &mut tree, order, &mut place, value)?;
    write_record(pages, site.path, &tree);
    Ok(true)
}

fn add_all_to_tree<'v, P: PagesMut>(
    pages: &mut P,
    site: Site<'_>,
    mut tree: Tree,
    values: impl Iterator<Item = &'v [u8]>,
) -> Result<u64> {
    let (before, order) = (tree.entries, &site.orders.duplicate);
    let mut place = Path::default();
    for value in values {
        // What comes in order goes where the one before has gone.
        if comes_next(pages, &place, order, value)? {
            place.leaf_mut().index += 1;
        } else if place.seek(pages, &tree, order, &Needle::new(value, order))? {
            continue;
        }
        insert_value(pages, &mut tree, order, &mut place, value)?;
    }
    if tree.entries > before {
        touch_path(pages, site.table, site.path)?;
        write_record(pages, site.path, &tree);
    }
    Ok(tree.entries - before)
}

/// Whether the place of a value is right behind the entry that the path stands on, in its leaf.
fn comes_next<P: PagesMut>(pages: &P, path: &Path, order: &Order, value: &[u8]) -> Result<bool> {
    if path.is_empty() {
        return Ok(false);
    }
    let (step, leaf) = (path.leaf(), path.open_leaf(pages)?);
    if order.cmp(at(step.page, leaf.key(step.index))?, value).is_ge() {
        return Ok(false);
    }
    if step.index + 1 == leaf.len() {
        return path.is_rightmost(pages);
    }
    Ok(order.cmp(value, at(step.page, leaf.key(step.index + 1))?).is_lt())
}

/// Writes the changed record of a tree of duplicates into its cell; the path has been touched.
fn write_record<P: PagesMut>(pages: &mut P, path: &Path, tree: &Tree) {
    let step = path.leaf();
    LeafMut::new(pages.page_mut(step.page)).value_mut(step.index).copy_from_slice(&tree.encode());
}

/// Gives the `i`th value of the key that the path stands on other bytes, as many as it has and of the same place in the
/// order. False, and nothing changed, if it has another length, or stands in a tree of them.
pub(crate) fn overwrite_here<P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    path: &mut Path,
    i: usize,
    value: &[u8],
) -> Result<bool> {
    let step = path.leaf();
    let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
    let place = match Duplicates::open(step.page, table, &cell)? {
        Duplicates::One(one) => 0..one.len(),
        Duplicates::Sub(sub) => at(step.page, sub.get(i)).map(|_| sub.place(i))?,
        Duplicates::Tree(_) => return Ok(false),
    };
    if place.len() != value.len() {
        return Ok(false);
    }
    touch_path(pages, table, path)?;
    let step = path.leaf();
    LeafMut::new(pages.page_mut(step.page)).value_mut(step.index)[place].copy_from_slice(value);
    Ok(true)
}

/// Removes one value of the key at the site (and the key with its last one). False if it has no such value. The path may
/// then be empty. The caller keeps the count of entries.
pub(crate) fn remove_one<P: PagesMut>(pages: &mut P, site: Site<'_>, value: &[u8]) -> Result<bool> {
    let step = site.path.leaf();
    let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
    let (mut place, order) = (Path::default(), &site.orders.duplicate);
    let i = match Duplicates::open(step.page, site.table, &cell)? {
        Duplicates::One(one) if order.cmp(one, value).is_ne() => return Ok(false),
        Duplicates::One(_) => 0,
        Duplicates::Sub(sub) => match at(step.page, sub.find(value, order))? {
            (i, true) => i,
            _ => return Ok(false),
        },
        Duplicates::Tree(tree) => {
            if !place.seek(pages, &tree, order, &Needle::new(value, order))? {
                return Ok(false);
            }
            0
        }
    };
    remove_here(pages, site, i, &mut place).map(|_| true)
}

/// Removes the value at a place from the key at the site (and the key with its last one, which is told): the `i`th, or that
/// at `place` in a tree of them. The paths then stand in the gaps, or are empty. The caller keeps the count of entries.
pub(crate) fn remove_here<P: PagesMut>(pages: &mut P, site: Site<'_>, i: usize, place: &mut Path) -> Result<bool> {
    let step = site.path.leaf();
    let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
    let left = match Duplicates::open(step.page, site.table, &cell)? {
        Duplicates::Tree(tree) => return remove_from_tree(pages, site, tree, place),
        Duplicates::One(_) => 0,
        Duplicates::Sub(sub) => sub.len() - 1,
    };
    if left == 0 {
        remove(pages, site.table, &site.orders.key, site.path)?;
        return Ok(true);
    }
    touch_path(pages, site.table, site.path)?;
    let step = site.path.leaf();
    let mut leaf = LeafMut::new(pages.page_mut(step.page));
    let bytes = at(step.page, take_out(leaf.value_mut(step.index), item_of(site.table), i))?;
    leaf.cut_value(step.index, bytes, if left == 1 { CellKind::Plain } else { CellKind::SubPage });
    Ok(false)
}

fn remove_from_tree<P: PagesMut>(pages: &mut P, site: Site<'_>, mut tree: Tree, place: &mut Path) -> Result<bool> {
    touch_path(pages, site.table, site.path)?;
    remove(pages, &mut tree, &site.orders.duplicate, place)?;
    let leaf = site.path.leaf().page;
    tree.entries = tree.entries.checked_sub(1).ok_or_else(|| damaged(leaf, "more duplicates than counted"))?;
    if tree.is_empty() {
        remove(pages, site.table, &site.orders.key, site.path)?;
    } else {
        write_record(pages, site.path, &tree);
    }
    Ok(tree.is_empty())
}
