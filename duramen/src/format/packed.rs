//! Leaves of keys that all have one size, without values: a dense array.
//!
//! Owns: the array of items from byte 40. Must not know: whose keys (or duplicates) they are.
//!
//! The count is 16 bits wide, so a page takes at most 65535 items, whatever its size.

use std::cmp::Ordering;
use std::ops::Range;

use crate::error::Damage;
use crate::order::{Needle, Order};
use crate::prefetch::{LINE, prefetch};

use super::page::{self, HEADER, Kind, NO_ENTRY, SHORT, TOO_MANY};

/// A search looks at items about so many parts of the page apart, and then between two of these.
const PROBES: usize = 16;

/// A packed leaf, for reading.
#[derive(Clone, Copy)]
pub(crate) struct Packed<'a> {
    /// The items, and nothing else.
    items: &'a [u8],
    size: usize,
    count: usize,
}

impl<'a> Packed<'a> {
    /// Checks the header against the page's length.
    #[inline]
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Packed<'a>, Damage> {
        if bytes.len() < HEADER {
            return Err(SHORT);
        }
        if page::kind(bytes) != Some(Kind::Packed) || page::level(bytes) != 1 {
            return Err(Damage("it is not the packed leaf that was expected"));
        }
        let (size, count) = (page::item(bytes), page::count(bytes));
        if size == 0 {
            return Err(Damage("its items have no bytes"));
        }
        let items = bytes[HEADER..].get(..size * count).ok_or(TOO_MANY)?;
        Ok(Packed { items, size, count })
    }

    /// How many items there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Bytes of an item.
    #[inline]
    pub(crate) fn item_size(&self) -> usize {
        self.size
    }

    /// The item at `i`.
    #[inline]
    pub(crate) fn key(&self, i: usize) -> Result<&'a [u8], Damage> {
        self.items.get(i * self.size..(i + 1) * self.size).ok_or(NO_ENTRY)
    }

    /// The items of a range, side by side.
    #[inline]
    pub(crate) fn keys(&self, range: Range<usize>) -> Result<&'a [u8], Damage> {
        self.items.get(range.start * self.size..range.end * self.size).ok_or(NO_ENTRY)
    }

    /// The first item not below the needle, and whether it equals it.
    #[inline]
    pub(crate) fn find(&self, needle: &Needle<'_>, order: &Order) -> Result<(usize, bool), Damage> {
        self.prefetch_probes();
        let at = match (order, self.size) {
            (Order::Native, 4) => self.lower_number(needle.key, u32::from_ne_bytes),
            (Order::Bytes, 4) => self.lower_number(needle.key, u32::from_be_bytes),
            (Order::Native, 8) => self.lower_number(needle.key, u64::from_ne_bytes),
            (Order::Bytes, 8) => self.lower_number(needle.key, u64::from_be_bytes),
            _ => None,
        };
        let at = at.unwrap_or_else(|| self.lower(|item| order.cmp(item, needle.key) == Ordering::Less));
        let found = at < self.count && order.cmp(self.key(at)?, needle.key) == Ordering::Equal;
        Ok((at, found))
    }

    /// Fetches what the first steps of a search may look at, whichever way it goes: else it waits for each line before it
    /// knows the next.
    #[inline]
    fn prefetch_probes(&self) {
        if self.items.len() >= PROBES * LINE {
            (1..PROBES).for_each(|i| prefetch(self.items, self.items.len() / PROBES * i));
        }
    }

    /// As `lower`, for items of `N` bytes that compare as numbers: far cheaper than comparing slices. `None` if what is
    /// looked for has another size.
    #[inline]
    fn lower_number<const N: usize, T: Ord + Copy>(
        &self,
        needle: &[u8],
        number: impl Fn([u8; N]) -> T,
    ) -> Option<usize> {
        let needle = number(<[u8; N]>::try_from(needle).ok()?);
        let mut window = self.items.as_chunks::<N>().0;
        let mut skipped = 0;
        while let Some(last) = window.len().checked_sub(1) {
            let (left, right) = window.split_at(last / 2 + 1);
            let go_right = number(left[left.len() - 1]) < needle;
            skipped += if go_right { left.len() } else { 0 };
            window = std::hint::select_unpredictable(go_right, right, &left[..left.len() - 1]);
        }
        Some(skipped)
    }

    /// How many items are `before`, which must hold for a front part of them.
    fn lower(&self, before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(&self.items[middle * self.size..(middle + 1) * self.size]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Checks all that [`PackedMut`] relies on.
pub(crate) fn validate(bytes: &[u8]) -> Result<(), Damage> {
    Packed::open(bytes).map(|_| ())
}

/// How many items of `size` bytes a page takes.
pub(crate) fn capacity(page_size: usize, size: usize) -> usize {
    ((page_size - HEADER) / size).min(usize::from(u16::MAX))
}

/// A packed leaf, for changing.
pub(crate) struct PackedMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> PackedMut<'a> {
    /// Edits a page that [`validate`] has accepted.
    pub(crate) fn new(bytes: &'a mut [u8]) -> PackedMut<'a> {
        debug_assert_eq!(validate(bytes), Ok(()));
        PackedMut { bytes }
    }

    /// Makes an empty page for items of `size` bytes.
    pub(crate) fn init(bytes: &'a mut [u8], size: usize) -> PackedMut<'a> {
        assert!(size > 0);
        page::init(bytes, Kind::Packed, 1);
        page::set_item(bytes, size);
        PackedMut { bytes }
    }

    /// How many items there are.
    pub(crate) fn len(&self) -> usize {
        page::count(self.bytes)
    }

    /// Bytes of an item.
    pub(crate) fn item_size(&self) -> usize {
        page::item(self.bytes)
    }

    /// Whether `more` items fit.
    pub(crate) fn fits(&self, more: usize) -> bool {
        self.len() + more <= capacity(self.bytes.len(), self.item_size())
    }

    /// Puts an item at `i`; it must fit.
    pub(crate) fn insert(&mut self, i: usize, key: &[u8]) {
        assert!(self.fits(1) && key.len() == self.item_size());
        self.insert_all(i, key);
    }

    /// Takes away the item at `i`.
    pub(crate) fn remove(&mut self, i: usize) {
        let (size, count) = (self.item_size(), self.len());
        let at = HEADER + i * size;
        self.bytes.copy_within(at + size..HEADER + count * size, at);
        page::set_count(self.bytes, count - 1);
    }

    /// Appends items of another page; Damage if they do not fit or are of another size.
    pub(crate) fn copy_range(&mut self, from: &Packed<'_>, range: Range<usize>) -> Result<(), Damage> {
        let keys = from.keys(range.clone())?;
        if from.item_size() != self.item_size() {
            return Err(Damage("its items are not of the table's size"));
        }
        if !self.fits(range.len()) {
            return Err(TOO_MANY);
        }
        self.insert_all(self.len(), keys);
        Ok(())
    }

    fn insert_all(&mut self, i: usize, keys: &[u8]) {
        let (size, count) = (self.item_size(), self.len());
        let at = HEADER + i * size;
        self.bytes.copy_within(at..HEADER + count * size, at + keys.len());
        self.bytes[at..at + keys.len()].copy_from_slice(keys);
        page::set_count(self.bytes, count + keys.len() / size);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::format::cases;

    fn orders() -> impl Strategy<Value = Order> {
        prop_oneof![
            Just(Order::Bytes),
            Just(Order::Reversed),
            Just(Order::Native),
            Just(Order::Custom(Arc::new(|a: &[u8], b: &[u8]| b.cmp(a)))),
        ]
    }

    fn keys(size: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
        prop::collection::vec(prop::collection::vec(prop_oneof![0..3u8, any::<u8>()], size), 1..60)
    }

    proptest! {
        #![proptest_config(cases(200))]

        #[test]
        fn inserts_and_removals_agree_with_a_vector(
            order in orders(),
            keys in prop_oneof![Just(4usize), Just(8)].prop_flat_map(keys),
            absent in any::<u64>(),
        ) {
            let size = keys[0].len();
            let mut bytes = vec![0; 512];
            PackedMut::init(&mut bytes, size);
            let mut model: Vec<Vec<u8>> = Vec::new();
            for key in &keys {
                let (at, found) = Packed::open(&bytes).unwrap().find(&Needle::new(key, &order), &order).unwrap();
                prop_assert_eq!(model.binary_search_by(|k| order.cmp(k, key)), if found { Ok(at) } else { Err(at) });
                let mut page = PackedMut::new(&mut bytes);
                if found {
                    page.remove(at);
                    model.remove(at);
                } else if page.fits(1) {
                    page.insert(at, key);
                    model.insert(at, key.clone());
                }
            }
            let page = Packed::open(&bytes).unwrap();
            prop_assert_eq!(page.keys(0..page.len()).unwrap(), model.concat());
            let absent = &absent.to_le_bytes()[..size];
            let (at, _) = page.find(&Needle::new(absent, &order), &order).unwrap();
            prop_assert_eq!(at, model.partition_point(|k| order.cmp(k, absent) == Ordering::Less));
        }

        #[test]
        fn arbitrary_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), size in 0..40u8) {
            if bytes.len() > HEADER {
                (bytes[24], bytes[25], bytes[34], bytes[35], bytes[27]) = (4, 1, size, 0, 0);
            }
            let Ok(page) = Packed::open(&bytes) else { return Ok(()) };
            for order in [Order::Bytes, Order::Reversed, Order::Native] {
                let (at, _) = page.find(&Needle::new(b"12345678", &order), &order).unwrap();
                prop_assert!(at <= page.len());
            }
            prop_assert!(page.key(page.len()).is_err());
            prop_assert!(page.keys(0..page.len() + 1).is_err());
        }
    }

    #[test]
    fn a_range_is_appended_to_another_page() {
        let (mut a, mut b) = (vec![0; 256], vec![0; 256]);
        let mut page = PackedMut::init(&mut a, 4);
        for i in 0..10u32 {
            page.insert(i as usize, &i.to_be_bytes());
        }
        let from = Packed::open(&a).unwrap();
        let mut to = PackedMut::init(&mut b, 4);
        to.copy_range(&from, 2..5).unwrap();
        to.copy_range(&from, 9..10).unwrap();
        assert!(to.copy_range(&from, 9..11).is_err());
        let page = Packed::open(&b).unwrap();
        assert_eq!(page.keys(0..4).unwrap(), [2u32, 3, 4, 9].map(u32::to_be_bytes).concat());
    }

    #[test]
    fn a_page_takes_no_more_than_its_capacity() {
        let mut bytes = vec![0; 128];
        let mut page = PackedMut::init(&mut bytes, 8);
        for i in 0..11usize {
            assert!(page.fits(1));
            page.insert(i, &[i as u8; 8]);
        }
        assert!(!page.fits(1));
        assert_eq!(capacity(65536, 1), 65496);
    }
}
