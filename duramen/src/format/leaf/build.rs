//! Filling leaves from their first cell to their last, for loading in order.
//!
//! Owns: a leaf to which cells are only appended. Must not know: orders of keys, but for the heads at the end.
//!
//! Nothing in the page is moved: slots are kept aside until the page is full, and heads are taken once, when the
//! common prefix of all keys is known.

use super::super::page::{self, HEADER, Kind};
use super::{CELL_MIN, CellKind, ENTRY, SLOT, Slot, cell_bytes, edit::worthwhile};
use crate::order::Order;

/// A leaf that grows at its end.
pub(crate) struct LeafBuilder {
    bytes: Vec<u8>,
    slots: Vec<[u8; SLOT]>,
    /// Where the heap begins.
    top: usize,
    /// Cells that are not plain.
    outside: usize,
}

impl LeafBuilder {
    /// An empty leaf.
    pub(crate) fn new(page_size: usize) -> LeafBuilder {
        LeafBuilder { bytes: vec![0; page_size], slots: Vec::new(), top: page_size, outside: 0 }
    }

    /// How many cells there are.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether a cell of these lengths fits.
    #[inline]
    pub(crate) fn fits(&self, klen: usize, vlen: usize) -> bool {
        HEADER + ENTRY * self.slots.len() + cell_bytes(klen, vlen) <= self.top
    }

    /// Appends a cell, which must fit; returns the value space, to be filled.
    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], vlen: usize, kind: CellKind) -> &mut [u8] {
        let size = Slot::new(0, key.len(), vlen, kind).size();
        self.top -= size;
        let slot = Slot::new(self.top, key.len(), vlen, kind);
        // The bytes that round odd lengths up; where there are none, what comes next is written over them.
        self.bytes[self.top + size - CELL_MIN..self.top + size].fill(0);
        self.bytes[slot.value().start - 1] = 0;
        self.bytes[slot.key()].copy_from_slice(key);
        self.slots.push(slot.bytes());
        self.outside += usize::from(kind != CellKind::Plain);
        &mut self.bytes[slot.value()]
    }

    /// Takes the last cell away again.
    pub(crate) fn pop(&mut self) {
        let Some(slot) = self.slots.pop().map(Slot::read) else { return };
        self.top += slot.size();
        self.outside -= usize::from(!slot.is_plain());
    }

    fn key(&self, i: usize) -> &[u8] {
        &self.bytes[Slot::read(self.slots[i]).key()]
    }

    /// The key of the last cell.
    #[inline]
    pub(crate) fn last_key(&self) -> Option<&[u8]> {
        Some(self.key(self.slots.len().checked_sub(1)?))
    }

    /// The value of the last cell, if it is of the given kind.
    pub(crate) fn last_value(&self, kind: CellKind) -> Option<&[u8]> {
        let slot = Slot::read(*self.slots.last()?);
        (slot.code == kind as u32).then(|| &self.bytes[slot.value()])
    }

    /// The page, finished, and how many of its cells are not plain. [`LeafBuilder::clear`] begins the next.
    pub(crate) fn finish(&mut self, order: &Order) -> (&[u8], usize) {
        let n = self.slots.len();
        let mut prefix = 0;
        if n >= 2 && order.has_views() {
            prefix = worthwhile(order.common_prefix(self.key(0), self.key(n - 1)));
        }
        page::init(&mut self.bytes, Kind::Leaf, 1);
        for i in 0..n {
            let head = order.head(self.key(i), prefix);
            page::put32(&mut self.bytes, HEADER + 4 * i, head);
        }
        self.bytes[HEADER + 4 * n..HEADER + ENTRY * n].copy_from_slice(self.slots.as_flattened());
        // What an earlier page left there.
        self.bytes[HEADER + ENTRY * n..self.top].fill(0);
        page::set_count(&mut self.bytes, n);
        let heap = self.bytes.len() - self.top;
        page::set_heap(&mut self.bytes, heap);
        page::set_prefix(&mut self.bytes, prefix);
        page::set_item(&mut self.bytes, self.outside);
        (&self.bytes, self.outside)
    }

    /// Begins an empty leaf in the same memory.
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.top = self.bytes.len();
        self.outside = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Leaf, LeafMut, validate};
    use super::*;
    use crate::format::cases;

    proptest! {
        #![proptest_config(cases(300))]

        #[test]
        fn a_built_leaf_is_one_that_insertion_would_have_made(
            mut keys in prop::collection::vec(prop::collection::vec(prop_oneof![0..3u8, any::<u8>()], 0..30), 1..40),
            reversed in any::<bool>(),
            taken_back in 0..3usize,
        ) {
            let order = if reversed { Order::Reversed } else { Order::Bytes };
            keys.sort_by(|a, b| order.cmp(a, b));
            keys.dedup();
            let (mut built, mut page) = (LeafBuilder::new(4096), vec![0xAA; 4096]);
            // An earlier page leaves nothing in the next.
            built.push(b"earlier", 900, CellKind::Plain).fill(0xEE);
            built.finish(&order);
            built.clear();
            LeafMut::init(&mut page);
            for (i, key) in keys.iter().enumerate() {
                for _ in 0..taken_back {
                    built.push(key, 48, CellKind::SubTree).fill(1);
                    built.pop();
                }
                let vlen = key.len() * 3 % 40;
                prop_assert!(built.fits(key.len(), vlen));
                built.push(key, vlen, CellKind::Plain).fill(i as u8);
                prop_assert_eq!(built.last_key(), Some(&key[..]));
                prop_assert_eq!(built.last_value(CellKind::Plain), Some(&vec![i as u8; vlen][..]));
                LeafMut::new(&mut page).insert(i, key, vlen, CellKind::Plain, &order).fill(i as u8);
            }
            LeafMut::new(&mut page).seal(&order);
            let (bytes, outside) = built.finish(&order);
            validate(bytes).unwrap();
            prop_assert_eq!(outside, 0);
            let heap = bytes.len() - page::heap(bytes);
            prop_assert_eq!(&bytes[..HEADER + ENTRY * keys.len()], &page[..HEADER + ENTRY * keys.len()]);
            prop_assert_eq!(&bytes[heap..], &page[heap..]);
            prop_assert!(bytes[HEADER + ENTRY * keys.len()..heap].iter().all(|&byte| byte == 0));
            prop_assert_eq!(Leaf::open(bytes).unwrap().len(), keys.len());
        }
    }

    #[test]
    fn a_leaf_is_filled_to_the_last_byte() {
        let mut leaf = LeafBuilder::new(4096);
        while leaf.fits(16, 100) {
            leaf.push(&[1; 16], 100, CellKind::Plain).fill(2);
        }
        assert_eq!(leaf.len(), (4096 - HEADER) / cell_bytes(16, 100));
        let (rest, mut bytes) = ((4096 - HEADER) % cell_bytes(16, 100), 0);
        while leaf.fits(0, bytes) {
            bytes += 2;
        }
        assert_eq!(cell_bytes(0, bytes), (rest + 2) & !1);
    }
}
