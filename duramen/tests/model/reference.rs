//! What a table ought to be: a sorted map of entries, and positions in it.
//!
//! Owns: the meaning of every operation and of every movement of a cursor. Must not know: the engine.
//!
//! An entry is a key with one of its values. Entries sort by the ranks of both (see [`Kind`]), so that a table is one
//! flat sorted map whether it has duplicates or not.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::rc::Rc;

use crate::kinds::Kind;

/// Where an entry sorts: rank of its key, rank of its value. Without the latter: before all values of the key.
pub type Rank = (Vec<u8>, Option<Vec<u8>>);
/// A key and a value.
pub type Pair = (Rc<[u8]>, Rc<[u8]>);

/// A table. Clones share their entries until one changes.
#[derive(Clone, Debug)]
pub struct Table {
    pub kind: Kind,
    entries: Rc<BTreeMap<Rank, Pair>>,
}

/// A cursor's place: the rank of an entry, whether that is (still) there or not.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Place {
    #[default]
    Unset,
    At(Rank),
}

/// Movements of a cursor; those with a target take a key, or a key and a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Movement {
    First,
    Last,
    Next,
    Prev,
    NextKey,
    PrevKey,
    NextDuplicate,
    PrevDuplicate,
    FirstDuplicate,
    LastDuplicate,
    Current,
    Seek,
    SeekAtOrAfter,
    SeekPair,
    SeekPairAtOrAfter,
}

/// All movements.
pub const MOVEMENTS: [Movement; 15] = [
    Movement::First,
    Movement::Last,
    Movement::Next,
    Movement::Prev,
    Movement::NextKey,
    Movement::PrevKey,
    Movement::NextDuplicate,
    Movement::PrevDuplicate,
    Movement::FirstDuplicate,
    Movement::LastDuplicate,
    Movement::Current,
    Movement::Seek,
    Movement::SeekAtOrAfter,
    Movement::SeekPair,
    Movement::SeekPairAtOrAfter,
];

/// A rank above all values of a key: no value's rank begins like this.
fn above_all() -> Vec<u8> {
    vec![u8::MAX; 20_000]
}

impl Table {
    pub fn new(kind: Kind) -> Table {
        Table { kind, entries: Rc::default() }
    }

    pub fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    pub fn rank(&self, key: &[u8], value: &[u8]) -> Rank {
        (self.kind.key_rank(key), self.kind.value_rank(value))
    }

    fn entries_mut(&mut self) -> &mut BTreeMap<Rank, Pair> {
        Rc::make_mut(&mut self.entries)
    }

    /// The n-th entry, counted round and round.
    pub fn nth(&self, n: u16) -> Option<&Pair> {
        self.entries.values().nth(usize::from(n).checked_rem(self.entries.len())?)
    }

    pub fn pairs(&self) -> impl DoubleEndedIterator<Item = &Pair> {
        self.entries.values()
    }

    /// The entries whose keys lie between two bounds.
    pub fn between(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Vec<Pair> {
        let rank = |key: &[u8]| self.kind.key_rank(key);
        let (low, high) = (low.map(rank), high.map(rank));
        let above = |key: &Vec<u8>| match &low {
            Bound::Unbounded => true,
            Bound::Included(low) => key >= low,
            Bound::Excluded(low) => key > low,
        };
        let below = |key: &Vec<u8>| match &high {
            Bound::Unbounded => true,
            Bound::Included(high) => key <= high,
            Bound::Excluded(high) => key < high,
        };
        self.entries.iter().filter(|((key, _), _)| above(key) && below(key)).map(|(_, pair)| pair.clone()).collect()
    }

    /// The values of a key.
    pub fn values_of(&self, key: &[u8]) -> Vec<Pair> {
        self.between(Bound::Included(key), Bound::Included(key))
    }

    /// The value of a key, the first one if it has several.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        let from = (self.kind.key_rank(key), None);
        let (rank, pair) = self.entries.range(from.clone()..).next()?;
        (rank.0 == from.0).then_some(&pair.1)
    }

    /// Stores an entry; whether it is a new one.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> bool {
        let rank = self.rank(key, value);
        self.entries_mut().insert(rank, (key.into(), value.into())).is_none()
    }

    /// Removes the entries between two bounds; how many they were.
    pub fn delete_range(&mut self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> u64 {
        let gone = self.between(low, high);
        for (key, value) in &gone {
            let rank = self.rank(key, value);
            self.entries_mut().remove(&rank);
        }
        gone.len() as u64
    }

    /// Removes a key; whether it was there.
    pub fn delete(&mut self, key: &[u8]) -> bool {
        self.delete_range(Bound::Included(key), Bound::Included(key)) > 0
    }

    /// Removes one value of a key; whether it was there.
    pub fn delete_duplicate(&mut self, key: &[u8], value: &[u8]) -> bool {
        let rank = self.rank(key, value);
        self.entries_mut().remove(&rank).is_some()
    }

    /// Whether the entry sorts so that it may be appended: by its key, or, if that is allowed, by its value.
    pub fn may_append(&self, key: &[u8], value: &[u8], duplicate: bool) -> bool {
        let Some((last, _)) = self.entries.last_key_value() else { return true };
        let rank = self.rank(key, value);
        rank.0 > last.0 || duplicate && rank > *last
    }

    /// The entry at a place, if there is one.
    pub fn at(&self, place: &Place) -> Option<&Pair> {
        match place {
            Place::Unset => None,
            Place::At(rank) => self.entries.get(rank),
        }
    }

    fn after(&self, rank: &Rank) -> Option<&Rank> {
        self.entries.range((Bound::Excluded(rank.clone()), Bound::Unbounded)).next().map(|(rank, _)| rank)
    }

    fn before(&self, rank: &Rank) -> Option<&Rank> {
        self.entries.range(..rank.clone()).next_back().map(|(rank, _)| rank)
    }

    fn from(&self, rank: &Rank) -> Option<&Rank> {
        self.entries.range(rank.clone()..).next().map(|(rank, _)| rank)
    }

    /// Where a movement that needs no target leads.
    fn step(&self, rank: &Rank, movement: Movement) -> Option<&Rank> {
        let first = (rank.0.clone(), None);
        let last = (rank.0.clone(), Some(above_all()));
        let same_key = |found: &&Rank| found.0 == rank.0;
        match movement {
            Movement::Next => self.after(rank),
            Movement::Prev => self.before(rank),
            Movement::NextKey => self.after(&last),
            Movement::PrevKey => self.before(&first),
            Movement::NextDuplicate => self.after(rank).filter(same_key),
            Movement::PrevDuplicate => self.before(rank).filter(same_key),
            // These ask for an entry to stand on.
            Movement::FirstDuplicate if self.entries.contains_key(rank) => self.from(&first),
            Movement::LastDuplicate if self.entries.contains_key(rank) => self.before(&last),
            Movement::Current => self.entries.get_key_value(rank).map(|(rank, _)| rank),
            _ => None,
        }
    }

    /// Moves a place; the entry that it then stands on, if the movement found one.
    pub fn go(&self, place: &mut Place, movement: Movement, key: &[u8], value: &[u8]) -> Option<Pair> {
        let target = || self.rank(key, value);
        let found = match (movement, &*place) {
            (Movement::First, _) => self.entries.keys().next(),
            (Movement::Last, _) => self.entries.keys().next_back(),
            (Movement::Seek | Movement::SeekAtOrAfter, _) => {
                let from = (self.kind.key_rank(key), None);
                *place = Place::At(from.clone());
                self.from(&from).filter(|found| movement == Movement::SeekAtOrAfter || found.0 == from.0)
            }
            (Movement::SeekPair, _) => {
                *place = Place::At(target());
                self.entries.get_key_value(&target()).map(|(rank, _)| rank)
            }
            (Movement::SeekPairAtOrAfter, _) => {
                *place = Place::At(target());
                self.from(&target()).filter(|found| found.0 == target().0)
            }
            (Movement::Next | Movement::NextKey, Place::Unset) => self.entries.keys().next(),
            (Movement::Prev | Movement::PrevKey, Place::Unset) => self.entries.keys().next_back(),
            (_, Place::Unset) => None,
            (_, Place::At(rank)) => self.step(rank, movement),
        };
        let Some(found) = found else {
            if matches!(movement, Movement::First | Movement::Last) {
                *place = Place::Unset;
            }
            return None;
        };
        let found = found.clone();
        let pair = self.entries[&found].clone();
        *place = Place::At(found);
        Some(pair)
    }
}
