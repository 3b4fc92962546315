//! A table being built: plain values, large ones, several values for a key.

use std::cmp::Ordering;

use super::{Builder, Sink};
use crate::error::Result;
use crate::format::leaf::CellKind;
use crate::format::overflow::STUB;
use crate::format::record;
use crate::tree::Tree;
use crate::tree::duplicates::{Orders, item_of};
use crate::tree::sub_page::encode;
use crate::tree::value::is_large;
use crate::width::to_u16;

/// What a key is to have.
#[derive(Clone, Copy)]
pub(crate) enum Item<'v> {
    /// A value that stands in the leaf, or one of several.
    Value(&'v [u8]),
    /// The stub of one that lies in pages of its own.
    Stub(&'v [u8]),
}

/// A table being built.
pub(crate) struct TableBuilder {
    page_size: usize,
    table: Tree,
    orders: Orders,
    builder: Builder,
    entries: u64,
    group: Group,
}

/// The values of the last key, in a table of duplicates.
#[derive(Default)]
struct Group {
    key: Vec<u8>,
    /// Values one after the other, and where each ends: while they can stand in a cell.
    few: Vec<u8>,
    ends: Vec<usize>,
    /// Afterwards, their tree, and how many they are.
    many: Option<(Builder, u64)>,
}

impl Group {
    fn is_empty(&self) -> bool {
        self.ends.is_empty() && self.many.is_none()
    }

    fn last(&self) -> Option<&[u8]> {
        match &self.many {
            Some((builder, _)) => builder.last_key(),
            None => self.values().last(),
        }
    }

    fn values(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let start = |i: usize| if i == 0 { 0 } else { self.ends[i - 1] };
        (0..self.ends.len()).map(move |i| &self.few[start(i)..self.ends[i]])
    }

    /// What a sub-page of all values takes.
    fn body_bytes(&self, item: usize) -> usize {
        self.few.len() + if item > 0 { 0 } else { 2 + 2 * self.ends.len() }
    }

    fn begin(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.forget_values();
    }

    fn forget_values(&mut self) {
        self.few.clear();
        self.ends.clear();
    }
}

impl TableBuilder {
    /// Begins a table of the kind of `table`, which is empty.
    pub(crate) fn new(page_size: usize, table: Tree, orders: &Orders) -> TableBuilder {
        TableBuilder {
            page_size,
            builder: Builder::new(page_size, table, &orders.key),
            table,
            orders: orders.clone(),
            entries: 0,
            group: Group::default(),
        }
    }

    /// Adds an entry if it sorts after the last one. Returns how the last one sorts to it: if that is not `Less`, nothing
    /// was added. (Without duplicates, keys alone count.)
    #[inline]
    pub(crate) fn push<S: Sink>(&mut self, sink: &mut S, key: &[u8], item: Item<'_>) -> Result<Ordering> {
        if self.table.has_duplicates() {
            return self.push_duplicate(sink, key, item);
        }
        let side = self.builder.last_key().map_or(Ordering::Less, |last| self.orders.key.cmp(last, key));
        if side.is_lt() {
            self.add(sink, key, item)?;
            self.entries += 1;
        }
        Ok(side)
    }

    /// Gives the last key, which is `key`, another value. The stub of the old one, if that is in pages of its own.
    pub(crate) fn replace<S: Sink>(&mut self, sink: &mut S, key: &[u8], item: Item<'_>) -> Result<Option<Vec<u8>>> {
        let old = self.builder.pop(CellKind::Overflow);
        self.add(sink, key, item)?;
        Ok(old)
    }

    #[inline]
    fn add<S: Sink>(&mut self, sink: &mut S, key: &[u8], item: Item<'_>) -> Result<()> {
        let (kind, value) = match item {
            Item::Value(value) => (CellKind::Plain, value),
            Item::Stub(stub) => (CellKind::Overflow, stub),
        };
        debug_assert!(kind == CellKind::Plain || value.len() == STUB);
        self.builder.push(sink, key, value.len(), kind)?.copy_from_slice(value);
        Ok(())
    }

    fn push_duplicate<S: Sink>(&mut self, sink: &mut S, key: &[u8], item: Item<'_>) -> Result<Ordering> {
        let (Item::Value(value) | Item::Stub(value)) = item;
        let mut side = Ordering::Less;
        if let Some(last) = self.group.last() {
            side = self.orders.key.cmp(&self.group.key, key);
            let same_key = side.is_eq();
            side = side.then_with(|| self.orders.duplicate.cmp(last, value));
            if side.is_lt() && !same_key {
                self.end_group(sink)?;
            }
        }
        if side.is_lt() {
            if self.group.is_empty() {
                self.group.begin(key);
            }
            self.add_value(sink, value)?;
            self.entries += 1;
        }
        Ok(side)
    }

    fn add_value<S: Sink>(&mut self, sink: &mut S, value: &[u8]) -> Result<()> {
        if self.table.has_fixed() {
            self.table.item = to_u16(value.len());
        }
        let item = item_of(&self.table);
        if self.group.many.is_none() {
            self.group.few.extend_from_slice(value);
            self.group.ends.push(self.group.few.len());
            // A value alone needs no sub-page, nor may it be larger than one that has company.
            let bytes = if self.group.ends.len() == 1 { value.len() } else { self.group.body_bytes(item) };
            if is_large(self.page_size, self.group.key.len(), bytes) {
                self.move_to_tree(sink)?;
            }
            return Ok(());
        }
        if let Some((builder, count)) = &mut self.group.many {
            builder.push(sink, value, 0, CellKind::Plain)?;
            *count += 1;
        }
        Ok(())
    }

    fn move_to_tree<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let mut tree = Tree::new(&self.orders.duplicate);
        if self.table.has_fixed() {
            tree.flags = record::PACKED;
            tree.item = self.table.item;
        }
        let mut builder = Builder::new(self.page_size, tree, &self.orders.duplicate);
        for value in self.group.values() {
            builder.push(sink, value, 0, CellKind::Plain)?;
        }
        self.group.many = Some((builder, self.group.ends.len() as u64));
        self.group.forget_values();
        Ok(())
    }

    /// Puts the last key's values into a cell.
    fn end_group<S: Sink>(&mut self, sink: &mut S) -> Result<()> {
        let (kind, body) = match self.group.many.take() {
            Some((builder, count)) => (CellKind::SubTree, builder.finish(sink, count)?.encode().to_vec()),
            None if self.group.ends.len() == 1 => (CellKind::Plain, self.group.few.clone()),
            None => {
                let values: Vec<&[u8]> = self.group.values().collect();
                (CellKind::SubPage, encode(&values, item_of(&self.table)))
            }
        };
        self.builder.push(sink, &self.group.key, body.len(), kind)?.copy_from_slice(&body);
        self.group.forget_values();
        Ok(())
    }

    /// Hands out all that is left; the table's record, without its overflow pages.
    pub(crate) fn finish<S: Sink>(mut self, sink: &mut S) -> Result<Tree> {
        if !self.group.is_empty() {
            self.end_group(sink)?;
        }
        let tree = self.builder.finish(sink, self.entries)?;
        Ok(Tree { item: self.table.item, ..tree })
    }
}
