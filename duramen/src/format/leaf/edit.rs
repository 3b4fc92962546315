//! Changing a leaf in place: insertion, removal, resizing, moving cells between pages.
//!
//! Owns: the heap's bookkeeping, and keeping heads and prefix true. Must not know: when pages split or merge.
//!
//! The page has been accepted by `validate` or made by `init`. So all offsets and lengths in it are sound, and every
//! function here leaves them so; the indexing cannot fail but for a fault of our own.

use std::ops::Range;

use crate::error::Damage;
use crate::order::Order;
use crate::width::to_u16;

use super::super::heads::Head;
use super::super::page::{self, HEADER, Kind, TOO_MANY};
use super::{CellKind, ENTRY, Leaf, SLOT, Slot, cell_bytes, heap_bytes, key_max, max_inline, validate_cells};

/// Shorter common prefixes are not worth the look at a cell that a miss costs in a page that has one.
const PREFIX_MIN: usize = 2;

pub(super) fn worthwhile(prefix: usize) -> usize {
    if prefix < PREFIX_MIN { 0 } else { prefix }
}

/// A leaf, for changing.
pub(crate) struct LeafMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> LeafMut<'a> {
    /// Edits a page that [`super::validate`] has accepted.
    #[inline]
    pub(crate) fn new(bytes: &'a mut [u8]) -> LeafMut<'a> {
        debug_assert_eq!(validate_cells(bytes), Ok(()));
        LeafMut { bytes }
    }

    /// Makes an empty leaf.
    pub(crate) fn init(bytes: &'a mut [u8]) -> LeafMut<'a> {
        page::init(bytes, Kind::Leaf, 1);
        LeafMut { bytes }
    }

    /// The page, for reading.
    #[inline]
    pub(crate) fn leaf(&self) -> Leaf<'_> {
        Leaf::trusted(self.bytes, self.len())
    }

    /// How many cells there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        page::count(self.bytes)
    }

    /// The key at `i`.
    #[inline]
    pub(crate) fn key(&self, i: usize) -> &[u8] {
        &self.bytes[self.slot(i).key()]
    }

    /// Bytes left for more cells, in units of [`cell_bytes`].
    #[inline]
    pub(crate) fn free_space(&self) -> usize {
        self.leaf().free_space()
    }

    /// Whether a cell of these lengths fits (after compaction, if need be).
    #[inline]
    pub(crate) fn fits(&self, klen: usize, vlen: usize) -> bool {
        cell_bytes(klen, vlen) <= self.free_space()
    }

    /// Puts a cell at `i`, which must fit and be where the order wants it; returns the value space, to be filled.
    pub(crate) fn insert(&mut self, i: usize, key: &[u8], vlen: usize, kind: CellKind, order: &Order) -> &mut [u8] {
        let value = self.add(i, key, vlen, kind, order);
        &mut self.bytes[value]
    }

    /// As [`LeafMut::insert`], for as long as the page is borrowed.
    pub(crate) fn insert_last(
        mut self,
        i: usize,
        key: &[u8],
        vlen: usize,
        kind: CellKind,
        order: &Order,
    ) -> &'a mut [u8] {
        let value = self.add(i, key, vlen, kind, order);
        &mut self.bytes[value]
    }

    /// Puts a plain cell behind all others, which is where the order must want it; the value space, to be filled. None, and no
    /// change, if other cells would have to be moved for it.
    pub(crate) fn push_plain(mut self, key: &[u8], vlen: usize, order: &Order) -> Option<&'a mut [u8]> {
        if self.gap() < heap_bytes(key.len(), vlen) + ENTRY {
            return None;
        }
        let value = self.place(self.len(), key, vlen, CellKind::Plain, order);
        Some(&mut self.bytes[value])
    }

    /// Puts a cell at `i`; where its value is.
    fn add(&mut self, i: usize, key: &[u8], vlen: usize, kind: CellKind, order: &Order) -> Range<usize> {
        assert!(i <= self.len() && self.fits(key.len(), vlen), "a cell that does not fit was inserted");
        if self.gap() < heap_bytes(key.len(), vlen) + ENTRY {
            self.compact();
        }
        self.place(i, key, vlen, kind, order)
    }

    /// As [`LeafMut::add`], in the gap, which has room for it.
    #[inline]
    fn place(&mut self, i: usize, key: &[u8], vlen: usize, kind: CellKind, order: &Order) -> Range<usize> {
        let size = heap_bytes(key.len(), vlen);
        debug_assert!(key.len() <= key_max(self.bytes.len()) && size + ENTRY <= max_inline(self.bytes.len()));
        debug_assert!(kind.takes(vlen));
        self.shorten_prefix(key, order);
        let slot = Slot::new(self.push(size), key.len(), vlen, kind);
        self.bytes[slot.key()].copy_from_slice(key);
        self.open_entry(i, order.head(key, page::prefix(self.bytes)));
        self.count_outside(slot, 1);
        self.finish_cell(i, slot)
    }

    /// Gives the cell at `i` a value of another length (and kind); returns the value space, to be filled: the old
    /// value is not kept. `None`, and no change, if it does not fit.
    pub(crate) fn resize_value(&mut self, i: usize, vlen: usize, kind: CellKind, order: &Order) -> Option<&mut [u8]> {
        let slot = self.slot(i);
        let (old, new) = (slot.size(), heap_bytes(slot.klen, vlen));
        if new > old && new - old > self.free_space() {
            return None;
        }
        let at = match new.checked_sub(old) {
            Some(more) if more > self.gap() => {
                let key = self.key(i).to_vec();
                self.remove(i);
                return Some(self.insert(i, &key, vlen, kind, order));
            }
            Some(0) => slot.at,
            Some(more) => self.widen(slot, more),
            None => {
                self.add_dead(old - new);
                slot.at
            }
        };
        let changed = Slot::new(at, slot.klen, vlen, kind);
        self.count_outside(slot, -1);
        self.count_outside(changed, 1);
        let value = self.finish_cell(i, changed);
        Some(&mut self.bytes[value])
    }

    /// Leaves the cell at `i`, which is not plain, the first `vlen` bytes of its value, and gives it a kind.
    pub(crate) fn cut_value(&mut self, i: usize, vlen: usize, kind: CellKind) {
        let slot = self.slot(i);
        let cut = Slot::new(slot.at, slot.klen, vlen, kind);
        self.add_dead(slot.size() - cut.size());
        self.count_outside(slot, -1);
        self.count_outside(cut, 1);
        self.finish_cell(i, cut);
    }

    /// The value at `i`, to be overwritten in place.
    pub(crate) fn value_mut(&mut self, i: usize) -> &mut [u8] {
        let value = self.slot(i).value();
        &mut self.bytes[value]
    }

    /// As [`LeafMut::value_mut`], for as long as the page is borrowed.
    pub(crate) fn into_value(self, i: usize) -> &'a mut [u8] {
        let value = self.slot(i).value();
        &mut self.bytes[value]
    }

    /// The value at `i`, to be overwritten in place, if it is a plain one of this length.
    #[inline]
    pub(crate) fn into_plain(self, i: usize, vlen: usize) -> Option<&'a mut [u8]> {
        let slot = self.slot(i);
        let is_same = slot.is_plain() && slot.vlen == vlen;
        is_same.then(|| &mut self.bytes[slot.value()])
    }

    /// Takes away the cell at `i`.
    pub(crate) fn remove(&mut self, i: usize) {
        let slot = self.slot(i);
        self.count_outside(slot, -1);
        self.close_entry(i);
        if self.len() == 0 {
            page::set_heap(self.bytes, 0);
            page::set_dead(self.bytes, 0);
            page::set_prefix(self.bytes, 0);
        } else if slot.at == self.heap_start() {
            page::set_heap(self.bytes, page::heap(self.bytes) - slot.size());
        } else {
            self.add_dead(slot.size());
        }
    }

    /// Chooses the best prefix: before placement and after a split, not after each change. Cheap if there is nothing
    /// to do.
    pub(crate) fn seal(&mut self, order: &Order) {
        if self.len() >= 2 && order.has_views() {
            self.set_prefix(self.best_prefix(order), order);
        }
    }

    /// The prefix that tells the keys apart best. There must be a key.
    fn best_prefix(&self, order: &Order) -> usize {
        worthwhile(order.common_prefix(self.key(0), self.key(self.len() - 1)))
    }

    /// Appends cells of another page, which must sort after those here. Damage if they do not fit: between sound pages
    /// `used`, `bytes_of` and `best_split` have told before.
    pub(crate) fn copy_range(&mut self, from: &Leaf<'_>, range: Range<usize>, order: &Order) -> Result<(), Damage> {
        let (mut needed, mut outside) = (ENTRY * range.len(), 0);
        for i in range.clone() {
            let cell = from.sane_cell(i)?;
            needed += heap_bytes(cell.key.len(), cell.value.len());
            outside += usize::from(cell.kind != CellKind::Plain);
        }
        if needed > self.free_space() {
            return Err(TOO_MANY);
        }
        if needed > self.gap() {
            self.compact();
        }
        let first = self.len();
        self.open_entries(first, range.len());
        for (i, j) in (first..).zip(range.clone()) {
            self.copy_cell(i, from.bytes, from.slot(j)?);
        }
        page::set_item(self.bytes, page::item(self.bytes) + outside);
        self.adopt_heads(first, from, range, order);
        Ok(())
    }

    /// After cells of `from` were appended from `first` on: gives them heads.
    fn adopt_heads(&mut self, first: usize, from: &Leaf<'_>, range: Range<usize>, order: &Order) {
        if range.is_empty() {
            return;
        }
        if first == 0 {
            page::set_prefix(self.bytes, from.prefix);
        }
        let prefix = page::prefix(self.bytes);
        if from.prefix == prefix && (first == 0 || prefix == 0) {
            let heads: &[Head] = &from.heads[range];
            self.bytes[HEADER + 4 * first..][..4 * heads.len()].copy_from_slice(heads.as_flattened());
        } else {
            self.rehead(self.best_prefix(order), order);
        }
    }

    /// Copies a cell of another page to the top of the heap, and lets slot `i` be its own.
    fn copy_cell(&mut self, i: usize, from: &[u8], slot: Slot) {
        let size = slot.size();
        let at = self.push(size);
        self.bytes[at..at + size].copy_from_slice(&from[slot.at..slot.at + size]);
        self.set_slot(i, Slot { at, ..slot });
    }

    /// Makes the prefix one that `key` shares, too.
    fn shorten_prefix(&mut self, key: &[u8], order: &Order) {
        let prefix = page::prefix(self.bytes);
        if prefix == 0 {
            return;
        }
        if self.len() == 0 {
            // Only a page of a damaged file is empty and has a prefix; nothing shares it.
            return page::set_prefix(self.bytes, 0);
        }
        let shared = order.common_prefix(self.key(0), key);
        if shared < prefix {
            self.set_prefix(worthwhile(shared), order);
        }
    }

    fn set_prefix(&mut self, prefix: usize, order: &Order) {
        if prefix != page::prefix(self.bytes) {
            self.rehead(prefix, order);
        }
    }

    /// Takes all heads anew from the keys, which share so long a prefix.
    fn rehead(&mut self, prefix: usize, order: &Order) {
        // In a damaged page, in which they are in no order, one may be shorter.
        let shortest = (0..self.len()).map(|i| self.slot(i).klen).min().unwrap_or(0);
        let prefix = worthwhile(prefix.min(shortest));
        page::set_prefix(self.bytes, prefix);
        for i in 0..self.len() {
            let head = order.head(self.key(i), prefix);
            page::put32(self.bytes, HEADER + 4 * i, head);
        }
    }

    /// Moves all cells to the page's end, in order, without the dead bytes between them.
    fn compact(&mut self) {
        let (start, end) = (self.heap_start(), self.bytes.len());
        let old = self.bytes[start..].to_vec();
        let mut top = end;
        for i in 0..self.len() {
            let slot = self.slot(i);
            let size = slot.size();
            top -= size;
            self.bytes[top..top + size].copy_from_slice(&old[slot.at - start..][..size]);
            self.set_slot(i, Slot { at: top, ..slot });
        }
        page::set_heap(self.bytes, end - top);
        page::set_dead(self.bytes, 0);
    }

    /// Makes room for `size` bytes at the top of the heap; returns their offset.
    fn push(&mut self, size: usize) -> usize {
        page::set_heap(self.bytes, page::heap(self.bytes) + size);
        self.heap_start()
    }

    /// Makes room for `more` bytes in this cell; its offset from then on. What lies before the cell's value moves: a cell
    /// that is moved itself leaves dead bytes each time that it grows, for which the page would have to be compacted again
    /// and again.
    fn widen(&mut self, cell: Slot, more: usize) -> usize {
        let start = self.heap_start();
        self.bytes.copy_within(start..cell.key().end, start - more);
        page::set_heap(self.bytes, page::heap(self.bytes) + more);
        let (slots, last, by) = (self.slots(), to_u16(cell.at), to_u16(more));
        for bytes in self.bytes[slots].as_chunks_mut::<SLOT>().0 {
            let place = Slot::at_mut(bytes);
            let at = u16::from_le_bytes(*place);
            *place = if at <= last { at - by } else { at }.to_le_bytes();
        }
        cell.at - more
    }

    /// Writes slot `i`, and the zero bytes of its cell, whose key is in place; returns the value space.
    fn finish_cell(&mut self, i: usize, slot: Slot) -> Range<usize> {
        self.set_slot(i, slot);
        for (start, end) in [(slot.key().end, slot.value().start), (slot.value().end, slot.at + slot.size())] {
            if start < end {
                self.bytes[start..end].fill(0);
            }
        }
        slot.value()
    }

    /// Makes room for a slot at `i`, and inserts a head. At the end, where loads in order insert, nothing is behind it to
    /// be moved.
    fn open_entry(&mut self, i: usize, head: u32) {
        let n = self.len();
        let slots = HEADER + 4 * n;
        if i < n {
            self.bytes.copy_within(slots + SLOT * i..slots + SLOT * n, slots + SLOT * i + ENTRY);
        }
        self.bytes.copy_within(slots..slots + SLOT * i, slots + 4);
        if i < n {
            self.bytes.copy_within(HEADER + 4 * i..slots, HEADER + 4 * i + 4);
        }
        page::set_count(self.bytes, n + 1);
        page::put32(self.bytes, HEADER + 4 * i, head);
    }

    /// Appends `more` entries whose heads and slots are to be filled.
    fn open_entries(&mut self, n: usize, more: usize) {
        self.bytes.copy_within(self.slots(), HEADER + 4 * (n + more));
        page::set_count(self.bytes, n + more);
    }

    /// Removes the head and the slot at `i`.
    fn close_entry(&mut self, i: usize) {
        let n = self.len();
        let slots = HEADER + 4 * n;
        self.bytes.copy_within(HEADER + 4 * (i + 1)..slots, HEADER + 4 * i);
        self.bytes.copy_within(slots..slots + SLOT * i, slots - 4);
        self.bytes.copy_within(slots + SLOT * (i + 1)..slots + SLOT * n, slots - 4 + SLOT * i);
        page::set_count(self.bytes, n - 1);
    }

    fn gap(&self) -> usize {
        self.heap_start() - HEADER - ENTRY * self.len()
    }

    fn heap_start(&self) -> usize {
        self.bytes.len() - page::heap(self.bytes)
    }

    /// Where all slots are in the page.
    fn slots(&self) -> Range<usize> {
        let n = self.len();
        HEADER + 4 * n..HEADER + ENTRY * n
    }

    #[inline]
    fn slot(&self, i: usize) -> Slot {
        Slot::read(self.bytes[self.slots()].as_chunks().0[i])
    }

    fn set_slot(&mut self, i: usize, slot: Slot) {
        let slots = self.slots();
        self.bytes[slots].as_chunks_mut().0[i] = slot.bytes();
    }

    fn add_dead(&mut self, bytes: usize) {
        page::set_dead(self.bytes, page::dead(self.bytes) + bytes);
    }

    fn count_outside(&mut self, slot: Slot, change: isize) {
        if !slot.is_plain() {
            page::set_item(self.bytes, page::item(self.bytes).saturating_add_signed(change));
        }
    }
}
