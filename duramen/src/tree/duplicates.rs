//! Several sorted values for one key.
//!
//! Owns: the three forms that a key's duplicates take, and the passage from one to the next. Must not know: cursors.
//!
//! One value stands in the cell like any other. A few stand in a *sub-page* inside the cell: fixed-size ones side by
//! side; others as a count, the end of each, and the bytes. When that no longer fits half a page they move to a tree
//! of their own, whose record is the cell's value: its keys are the duplicates, packed if they have a fixed size.
//! So does a single value that is too long to stand beside its key.

use std::cmp::Ordering;
use std::ops::Range;

use super::insert::{Entry, insert, resize, touch_path};
use super::{Pages, PagesMut, Path, Tree, at, below, damaged, open_branch, open_cells, open_leaf, range, remove};
use crate::error::{Damage, Result};
use crate::format::leaf::{Cell, CellKind, LeafMut};
use crate::format::page::Child;
use crate::format::record;
use crate::order::{Needle, Order};
use crate::tree::value::is_large;
use crate::width::to_u16;

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

/// A sub-page: a few sorted values in one cell.
#[derive(Clone, Copy)]
pub(crate) struct SubPage<'a> {
    bytes: &'a [u8],
    /// Size of each value, 0 if they vary.
    item: usize,
    len: usize,
}

const OUTSIDE: Damage = Damage("a duplicate outside its sub-page");

impl<'a> SubPage<'a> {
    pub(crate) fn open(bytes: &'a [u8], item: usize) -> Result<SubPage<'a>, Damage> {
        const WRONG: Damage = Damage("a sub-page of duplicates with a wrong length");
        if let Some(len) = bytes.len().checked_div(item) {
            return if len * item == bytes.len() && len > 0 { Ok(SubPage { bytes, item, len }) } else { Err(WRONG) };
        }
        let len = usize::from(u16::from_le_bytes(*bytes.first_chunk::<2>().ok_or(WRONG)?));
        if len == 0 || bytes.len() < 2 + 2 * len {
            return Err(WRONG);
        }
        Ok(SubPage { bytes, item, len })
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn end(&self, i: usize) -> usize {
        usize::from(u16::from_le_bytes([self.bytes[2 + 2 * i], self.bytes[3 + 2 * i]]))
    }

    #[inline]
    pub(crate) fn get(&self, i: usize) -> Result<&'a [u8], Damage> {
        if i >= self.len {
            return Err(OUTSIDE);
        }
        self.bytes.get(self.place(i)).ok_or(OUTSIDE)
    }

    /// Where value `i`, of those that there are, stands in the sub-page's bytes.
    #[inline]
    fn place(&self, i: usize) -> Range<usize> {
        if self.item > 0 {
            return i * self.item..(i + 1) * self.item;
        }
        let start = if i == 0 { 0 } else { self.end(i - 1) };
        let body = 2 + 2 * self.len;
        body + start..body + self.end(i)
    }

    /// Fixed-size values side by side.
    pub(crate) fn packed(&self, range: Range<usize>) -> &'a [u8] {
        &self.bytes[range.start * self.item..range.end * self.item]
    }

    /// Index of the first value not below `value`, and whether it is equal.
    pub(crate) fn find(&self, value: &[u8], order: &Order) -> Result<(usize, bool), Damage> {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = (low + high) / 2;
            match order.cmp(self.get(middle)?, value) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok((middle, true)),
                Ordering::Greater => high = middle,
            }
        }
        Ok((low, false))
    }

    fn values(&self) -> Result<Vec<&'a [u8]>, Damage> {
        (0..self.len).map(|i| self.get(i)).collect()
    }

    /// The sub-page with one value more, before value `i`.
    fn with(&self, i: usize, value: &[u8]) -> Result<Vec<u8>, Damage> {
        let (bytes, at) = self.split(i)?;
        let mut out = Vec::with_capacity(self.bytes.len() + value.len() + 2);
        if self.item == 0 {
            out.extend(to_u16(self.len + 1).to_le_bytes());
            let mut end = |end: usize| out.extend(to_u16(end).to_le_bytes());
            (0..i).for_each(|i| end(self.end(i)));
            end(at + value.len());
            (i..self.len).for_each(|i| end(self.end(i) + value.len()));
        }
        for part in [&bytes[..at], value, &bytes[at..]] {
            out.extend_from_slice(part);
        }
        Ok(out)
    }

    /// The values' bytes, and where in them value `i` begins.
    fn split(&self, i: usize) -> Result<(&'a [u8], usize), Damage> {
        if self.item > 0 {
            return Ok((self.bytes, i * self.item));
        }
        let ends = |i: usize| if i == 0 { 0 } else { self.end(i - 1) };
        let bytes = self.bytes[2 + 2 * self.len..].get(..ends(self.len)).ok_or(OUTSIDE)?;
        if (0..self.len).all(|i| ends(i) <= ends(i + 1)) { Ok((bytes, ends(i))) } else { Err(OUTSIDE) }
    }
}

/// Takes value `i` out of a sub-page that has others, of `item` bytes each unless they vary; how many bytes are left at its
/// start. Where that is one value, it stands there alone.
fn take_out(bytes: &mut [u8], item: usize, i: usize) -> Result<usize, Damage> {
    let sub = SubPage::open(bytes, item)?;
    let (len, gone) = (sub.len(), sub.get(i).map(|_| sub.place(i))?);
    if len == 2 {
        let left = sub.get(1 - i).map(|_| sub.place(1 - i))?;
        bytes.copy_within(left.clone(), 0);
        return Ok(left.len());
    }
    if item > 0 {
        bytes.copy_within(gone.end.., gone.start);
        return Ok(bytes.len() - item);
    }
    let end = sub.get(len - 1).map(|_| sub.place(len - 1).end)?;
    if end < gone.end {
        return Err(OUTSIDE);
    }
    let body = 2 + 2 * len;
    let ends = bytes[2..body].as_chunks_mut::<2>().0;
    ends.copy_within(i + 1.., i);
    for end in &mut ends[i..len - 1] {
        *end = u16::from_le_bytes(*end).wrapping_sub(to_u16(gone.len())).to_le_bytes();
    }
    bytes.copy_within(body..gone.start, body - 2);
    bytes.copy_within(gone.end..end, gone.start - 2);
    bytes[..2].copy_from_slice(&to_u16(len - 1).to_le_bytes());
    Ok(end - gone.len() - 2)
}

/// A sub-page of these values.
pub(super) fn encode(values: &[&[u8]], item: usize) -> Vec<u8> {
    if item > 0 {
        return values.concat();
    }
    let mut out = Vec::with_capacity(encoded_bytes(values, item));
    out.extend_from_slice(&to_u16(values.len()).to_le_bytes());
    let mut end = 0u16;
    for value in values {
        end += to_u16(value.len());
        out.extend_from_slice(&end.to_le_bytes());
    }
    values.iter().for_each(|value| out.extend_from_slice(value));
    out
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

/// Releases the tree of duplicates of a cell that is about to go, if it has one.
pub(crate) fn release<P: PagesMut>(pages: &mut P, leaf: Child, kind: CellKind, body: &[u8]) -> Result<()> {
    if kind == CellKind::SubTree {
        let mut tree = at(leaf, Tree::decode(body))?;
        below(leaf, tree.root)?;
        range::drop_tree(pages, &mut tree, &Order::Bytes)?;
    }
    Ok(())
}

/// Adds a value to the key that the path stands on. False, and nothing changed, if the key has it already, or, where it
/// is to be the `last`, has one behind it. The caller keeps the count of entries.
pub(crate) fn add<P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    (key, value): (&[u8], &[u8]),
    last: bool,
) -> Result<bool> {
    let step = path.leaf();
    let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
    let item = item_of(table);
    let body = match Duplicates::open(step.page, table, &cell)? {
        Duplicates::Tree(tree) => return add_to_tree(pages, table, orders, path, tree, value, last),
        Duplicates::One(one) => match orders.duplicate.cmp(one, value) {
            Ordering::Equal => return Ok(false),
            Ordering::Less => encode(&[one, value], item),
            Ordering::Greater if last => return Ok(false),
            Ordering::Greater => encode(&[value, one], item),
        },
        Duplicates::Sub(sub) => match at(step.page, sub.find(value, &orders.duplicate))? {
            (i, found) if found || last && i < sub.len() => return Ok(false),
            (i, _) => at(step.page, sub.with(i, value))?,
        },
    };
    if is_large(pages.page_size(), key.len(), body.len()) {
        let values = at(step.page, SubPage::open(&body, item).and_then(|sub| sub.values()))?;
        move_to_tree(pages, table, orders, path, key, &values)?;
    } else {
        store(pages, table, orders, path, key, CellKind::SubPage, &body)?;
    }
    Ok(true)
}

/// Adds values in any order to the key that the path stands on; how many of them it did not have. The caller keeps the
/// count of entries.
pub(crate) fn add_all<'v, P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    key: &[u8],
    values: impl Iterator<Item = &'v [u8]>,
) -> Result<u64> {
    let step = path.leaf();
    let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
    let (kind, copy) = (cell.kind, cell.value.to_vec());
    let held = match Duplicates::open(step.page, table, &Cell { key, value: &copy, kind })? {
        Duplicates::Tree(tree) => return add_all_to_tree(pages, table, orders, path, tree, values),
        Duplicates::One(_) => vec![&copy[..]],
        Duplicates::Sub(sub) => at(step.page, sub.values())?,
    };
    let before = held.len();
    // Of those that are equal the first stays: one that is there already.
    let mut all: Vec<&[u8]> = held.into_iter().chain(values.map(|value| value as &[u8])).collect();
    all.sort_by(|a, b| orders.duplicate.cmp(a, b));
    all.dedup_by(|b, a| orders.duplicate.cmp(a, b).is_eq());
    if all.len() == before {
        return Ok(0);
    }
    let item = item_of(table);
    if is_large(pages.page_size(), key.len(), encoded_bytes(&all, item)) {
        move_to_tree(pages, table, orders, path, key, &all)?;
    } else {
        store(pages, table, orders, path, key, CellKind::SubPage, &encode(&all, item))?;
    }
    Ok((all.len() - before) as u64)
}

/// Length of a sub-page of these values.
fn encoded_bytes(values: &[&[u8]], item: usize) -> usize {
    if item > 0 { item * values.len() } else { values.iter().fold(2, |bytes, value| bytes + 2 + value.len()) }
}

fn store<P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    key: &[u8],
    kind: CellKind,
    body: &[u8],
) -> Result<()> {
    let entry = Entry { key, value_bytes: body.len(), kind };
    resize(pages, table, &orders.key, path, entry)?.copy_from_slice(body);
    Ok(())
}

fn move_to_tree<P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    key: &[u8],
    values: &[&[u8]],
) -> Result<()> {
    let tree = new_tree(pages, table, orders, values)?;
    store(pages, table, orders, path, key, CellKind::SubTree, &tree.encode())
}

/// Stores a new key whose only value is too long to stand beside it. The caller keeps the count of entries.
pub(crate) fn plant<P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    key: &[u8],
    value: &[u8],
) -> Result<()> {
    let tree = new_tree(pages, table, orders, &[value])?;
    let entry = Entry { key, value_bytes: record::BYTES, kind: CellKind::SubTree };
    insert(pages, table, &orders.key, path, entry)?.copy_from_slice(&tree.encode());
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

fn add_to_tree<P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    mut tree: Tree,
    value: &[u8],
    last: bool,
) -> Result<bool> {
    let (mut place, order) = (Path::default(), &orders.duplicate);
    if last {
        place.last(pages, &tree)?;
        if order.cmp(place.key(pages)?, value).is_ge() {
            return Ok(false);
        }
        place.leaf_mut().index += 1;
    } else if place.seek(pages, &tree, order, &Needle::new(value, order))? {
        return Ok(false);
    }
    touch_path(pages, table, path)?;
    insert_value(pages, &mut tree, order, &mut place, value)?;
    write_record(pages, path, &tree);
    Ok(true)
}

fn add_all_to_tree<'v, P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    mut tree: Tree,
    values: impl Iterator<Item = &'v [u8]>,
) -> Result<u64> {
    let (before, order) = (tree.entries, &orders.duplicate);
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
        touch_path(pages, table, path)?;
        write_record(pages, path, &tree);
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

/// Removes one value of the key that the path stands on (and the key with its last one). False if it has no such
/// value. The path may then be empty. The caller keeps the count of entries.
pub(crate) fn remove_one<P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    value: &[u8],
) -> Result<bool> {
    let step = path.leaf();
    let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
    let mut place = Path::default();
    let i = match Duplicates::open(step.page, table, &cell)? {
        Duplicates::One(one) if orders.duplicate.cmp(one, value).is_ne() => return Ok(false),
        Duplicates::One(_) => 0,
        Duplicates::Sub(sub) => match at(step.page, sub.find(value, &orders.duplicate))? {
            (i, true) => i,
            _ => return Ok(false),
        },
        Duplicates::Tree(tree) => {
            if !place.seek(pages, &tree, &orders.duplicate, &Needle::new(value, &orders.duplicate))? {
                return Ok(false);
            }
            0
        }
    };
    remove_here(pages, table, orders, (path, i, &mut place)).map(|_| true)
}

/// Removes the value at a place from the key that the path stands on (and the key with its last one, which is told): the
/// `i`th, or that at `place` in a tree of them. The paths then stand in the gaps, or are empty. The caller keeps the count of
/// entries.
pub(crate) fn remove_here<P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    orders: &Orders,
    (path, i, place): (&mut Path, usize, &mut Path),
) -> Result<bool> {
    let step = path.leaf();
    let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
    let left = match Duplicates::open(step.page, table, &cell)? {
        Duplicates::Tree(tree) => return remove_from_tree(pages, table, orders, path, tree, place),
        Duplicates::One(_) => 0,
        Duplicates::Sub(sub) => sub.len() - 1,
    };
    if left == 0 {
        remove(pages, table, &orders.key, path)?;
        return Ok(true);
    }
    touch_path(pages, table, path)?;
    let step = path.leaf();
    let mut leaf = LeafMut::new(pages.page_mut(step.page));
    let bytes = at(step.page, take_out(leaf.value_mut(step.index), item_of(table), i))?;
    leaf.cut_value(step.index, bytes, if left == 1 { CellKind::Plain } else { CellKind::SubPage });
    Ok(false)
}

fn remove_from_tree<P: PagesMut>(
    pages: &mut P,
    table: &mut Tree,
    orders: &Orders,
    path: &mut Path,
    mut tree: Tree,
    place: &mut Path,
) -> Result<bool> {
    touch_path(pages, table, path)?;
    remove(pages, &mut tree, &orders.duplicate, place)?;
    tree.entries =
        tree.entries.checked_sub(1).ok_or_else(|| damaged(path.leaf().page, "more duplicates than counted"))?;
    if tree.is_empty() {
        remove(pages, table, &orders.key, path)?;
    } else {
        write_record(pages, path, &tree);
    }
    Ok(tree.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_taken_out_of_a_sub_page_leaves_what_was_made_without_it() {
        let varying: &[&[u8]] = &[b"", b"a", b"bcd", b"ef", b"ghijk"];
        let fixed: &[&[u8]] = &[b"ab", b"cd", b"ef", b"gh"];
        for (values, item) in [(varying, 0), (fixed, 2)] {
            for (len, i) in (2..=values.len()).flat_map(|len| (0..len).map(move |i| (len, i))) {
                let mut bytes = encode(&values[..len], item);
                let mut rest = values[..len].to_vec();
                rest.remove(i);
                let expected = if len == 2 { rest[0].to_vec() } else { encode(&rest, item) };
                let left = take_out(&mut bytes, item, i).unwrap();
                assert_eq!(bytes[..left], expected, "value {i} of {len}");
            }
        }
    }

    #[test]
    fn a_sub_page_whose_values_are_out_of_place_is_damage() {
        let whole = encode(&[b"first", b"second", b"third"], 0);
        for (place, end) in [(2, 200), (4, 200), (6, 200), (4, 2), (6, 7)] {
            let mut bytes = whole.clone();
            bytes[place] = end;
            assert!(take_out(&mut bytes, 0, 1).is_err(), "{place}: {end}");
        }
    }
}
