//! The keys of an entry: a hundred short ones, so they lie side by side in one piece of memory.
//!
//! Owns: their order, and what differs between two sets. Must not know: what keys mean.

use std::cell::Cell;
use std::cmp::Ordering;

use super::key::{Kind, Trigram};

/// Keys without ids.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    bytes: Vec<u8>,
    places: Vec<Place>,
}

/// A key in [`KeySet::bytes`].
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its first eight bytes, so that most comparisons need not look at the key.
    head: u64,
    start: u32,
    end: u32,
}

fn head(key: &[u8]) -> u64 {
    match *key {
        [a, b, c, d, e, f, g, h, ..] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        // Trigrams, of which there are most.
        [a, b, c, d, e, f] => u64::from_be_bytes([a, b, c, d, e, f, 0, 0]),
        // Those of three bytes are shorter, and there may be very many: calling somebody to copy them takes longer.
        _ => {
            let number = key.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            #[expect(clippy::cast_possible_truncation, reason = "fewer than eight")]
            let bytes = key.len() as u32;
            number.checked_shl(64 - 8 * bytes).unwrap_or(0)
        }
    }
}

impl KeySet {
    /// Adds a key, which may be there already.
    pub fn insert(&mut self, key: &[u8]) {
        let start = self.end();
        self.bytes.extend_from_slice(key);
        self.places.push(Place { head: head(key), start, end: self.end() });
    }

    /// Whether it has no key.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn end(&self) -> u32 {
        u32::try_from(self.bytes.len()).expect("the keys of an entry take less than 4 GiB")
    }

    /// Adds the keys of another set.
    pub fn append(&mut self, other: &KeySet) {
        other.places.iter().for_each(|place| self.insert(other.key(*place)));
    }

    /// Takes those keys out of some sets that `others` calls back with. It may leave out keys that are not looked for.
    pub fn take_away<const N: usize>(mut sets: [&mut KeySet; N], others: impl FnOnce(&Sought, &mut dyn FnMut(&[u8]))) {
        if sets.iter().all(|set| set.places.is_empty()) {
            return;
        }
        sets.iter_mut().for_each(|set| set.sort());
        let mut stay = sets.each_ref().map(|set| vec![true; set.places.len()]);
        let sought = Sought::of(&sets);
        others(&sought, &mut |key| {
            if !sought.may_be(key) {
                return;
            }
            for (set, stay) in sets.iter().zip(&mut stay) {
                if let Ok(found) = set.find(key)
                    && std::mem::take(&mut stay[found])
                {
                    sought.is_found(key);
                }
            }
        });
        for (set, stay) in sets.into_iter().zip(stay) {
            let mut stay = stay.into_iter();
            set.places.retain(|_| stay.next().unwrap_or(true));
        }
    }

    /// The place of a key in a sorted set.
    fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let head = head(key);
        self.places.binary_search_by(|place| place.head.cmp(&head).then_with(|| self.key(*place).cmp(key)))
    }

    fn key(&self, place: Place) -> &[u8] {
        &self.bytes[place.start as usize..place.end as usize]
    }

    /// Sorts the keys; each is there once then.
    fn sort(&mut self) {
        let bytes = &self.bytes;
        let key = |place: &Place| &bytes[place.start as usize..place.end as usize];
        // Most differ in their heads, which sort faster alone.
        self.places.sort_unstable_by_key(|place| place.head);
        for same in self.places.chunk_by_mut(|a, b| a.head == b.head).filter(|same| same.len() > 1) {
            same.sort_unstable_by(|a, b| key(a).cmp(key(b)));
        }
        self.places.dedup_by(|a, b| a.head == b.head && key(a) == key(b));
    }
}

/// So many slots at least: where few keys are looked for, next to none of very many others share one with them.
const SLOTS: usize = 1 << 10;

/// Keys that are looked for, by a hash: how many of each have not been found yet. Of very many others most are told at
/// once to be none of them, or to have been found.
pub(crate) struct Sought {
    counts: Vec<Cell<u32>>,
    left: Cell<usize>,
}

impl Sought {
    /// The keys of sorted sets.
    fn of<const N: usize>(sets: &[&mut KeySet; N]) -> Sought {
        let count: usize = sets.iter().map(|set| set.places.len()).sum();
        let counts = vec![Cell::new(0); (4 * count).max(SLOTS).next_power_of_two()];
        let sought = Sought { counts, left: Cell::new(count) };
        for set in sets {
            for place in &set.places {
                sought.count(set.key(*place)).update(|count| count + 1);
            }
        }
        sought
    }

    /// Trigrams differ in their last bytes.
    fn count(&self, key: &[u8]) -> &Cell<u32> {
        self.at(match *key {
            [_, _, kind, a, b, c] => number([kind, a, b, c]),
            _ => head(key) ^ key.len() as u64,
        })
    }

    fn at(&self, number: u64) -> &Cell<u32> {
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.counts[(hash >> 32) as usize & (self.counts.len() - 1)]
    }

    fn may_be(&self, key: &[u8]) -> bool {
        self.count(key).get() > 0
    }

    /// Whether the key of a trigram may be looked for.
    #[inline]
    pub fn may_be_trigram(&self, [a, b, c]: Trigram) -> bool {
        self.at(number([Kind::Trigram as u8, a, b, c])).get() > 0
    }

    /// Whether all have been found.
    pub fn is_over(&self) -> bool {
        self.left.get() == 0
    }

    fn is_found(&self, key: &[u8]) {
        self.count(key).update(|count| count - 1);
        self.left.update(|left| left - 1);
    }
}

fn number(bytes: [u8; 4]) -> u64 {
    u64::from(u32::from_le_bytes(bytes))
}

/// Calls `each` with the keys that only one of two sets has, ascending: those that go with false, those that come with
/// true.
///
/// # Errors
/// What `each` returns.
pub(crate) fn changes<E>(
    mut old: KeySet,
    mut new: KeySet,
    mut each: impl FnMut(&[u8], bool) -> Result<(), E>,
) -> Result<(), E> {
    old.sort();
    new.sort();
    let (mut before, mut after) = (old.places.iter().copied().peekable(), new.places.iter().copied().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return Ok(()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(a), Some(b)) => a.head.cmp(&b.head).then_with(|| old.key(*a).cmp(new.key(*b))),
        };
        let gone = if order.is_le() { before.next() } else { None };
        let come = if order.is_ge() { after.next() } else { None };
        match (gone, come) {
            (Some(place), None) => each(old.key(place), false)?,
            (None, Some(place)) => each(new.key(place), true)?,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(keys: &[Vec<u8>]) -> KeySet {
        let mut set = KeySet::default();
        keys.iter().for_each(|key| set.insert(key));
        set
    }

    proptest! {
        #[test]
        fn what_others_have_is_taken_away(
            some in prop::collection::vec(prop::collection::vec(0..3u8, 0..12), 0..40),
            others in prop::collection::vec(prop::collection::vec(0..3u8, 0..12), 0..40),
        ) {
            let (mut a, mut b) = (set(&some), set(&others));
            KeySet::take_away([&mut a, &mut b], |_, each| others.iter().for_each(|key| each(key)));
            prop_assert!(b.places.is_empty());
            let wanted: BTreeSet<_> = some.into_iter().filter(|key| !others.contains(key)).collect();
            let found: Vec<_> = a.places.iter().map(|place| a.key(*place).to_vec()).collect();
            prop_assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn what_differs_is_what_sets_say(
            old in prop::collection::vec(prop::collection::vec(0..3u8, 0..12), 0..40),
            new in prop::collection::vec(prop::collection::vec(0..3u8, 0..12), 0..40),
        ) {
            let mut found = Vec::new();
            changes(set(&old), set(&new), |key, come| {
                found.push((key.to_vec(), come));
                Ok::<_, ()>(())
            }).unwrap();
            let (old, new): (BTreeSet<_>, BTreeSet<_>) = (old.into_iter().collect(), new.into_iter().collect());
            let wanted: BTreeSet<_> = old.symmetric_difference(&new).map(|key| (key.clone(), new.contains(key))).collect();
            prop_assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
        }
    }
}
