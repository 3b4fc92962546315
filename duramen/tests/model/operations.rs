//! What may be done to a database, as data that proptest can make and shrink.
//!
//! Owns: the operations and how often each is drawn. Must not know: what they mean.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::compare::Several;
use crate::kinds::{KeySpec, Kind, SORTINGS, VALUES, ValueSpec};
use crate::reference::{MOVEMENTS, Movement};

/// A key, by its numbers or as the n-th that the table has.
#[derive(Clone, Copy, Debug)]
pub enum Pick {
    New(KeySpec),
    Nth(u16),
}

/// A bound of a range of keys.
#[derive(Clone, Copy, Debug)]
pub enum Edge {
    None,
    Included(Pick),
    Excluded(Pick),
}

/// An operation on one table.
#[derive(Clone, Debug)]
pub enum Act {
    Put(Pick, ValueSpec),
    PutDuplicate(Pick, ValueSpec),
    Insert(Pick, ValueSpec),
    Replace(Pick, ValueSpec),
    Append(Pick, ValueSpec),
    AppendDuplicate(Pick, ValueSpec),
    Reserve(Pick, ValueSpec),
    /// Compare and swap: whether the old value given is the right one; the new one.
    Swap(Pick, bool, Option<ValueSpec>),
    Delete(Pick),
    DeleteDuplicate(u16),
    /// Of the first entry, or the last.
    Pop(bool),
    DeleteRange(Edge, Edge),
    Clear,
    /// Many keys: the first, how many.
    Fill(KeySpec, u16, ValueSpec),
    /// Many values of one key.
    Crowd(Pick, KeySpec, u16),
    /// Every so many entries of the table, removed: the first, how far apart, how many.
    Thin(u16, u16, u16),
    Get(Pick),
    /// Both ends of a range, in turns as the bits say.
    Iterate(Edge, Edge, u64),
    Prefix(Pick, u16, u64),
    ValuesOf(Pick, u64),
    Keys,
    /// A cursor for reading, walked about.
    Read(Vec<(Movement, Pick, ValueSpec)>),
    Cursor(u8, Touch),
}

/// What is done with one of the cursors of a write transaction.
#[derive(Clone, Debug)]
pub enum Touch {
    Go(Movement, Pick, ValueSpec),
    /// The same movement so many times.
    Walk(Movement, Pick, ValueSpec, u8),
    Put(Pick, ValueSpec),
    Replace(ValueSpec),
    Delete,
    DeleteKey,
    Count,
    Several(Several),
    /// Another cursor at the same place.
    Clone,
}

/// A step of a run.
#[derive(Clone, Debug)]
pub enum Step {
    /// Opens a table of this name, creating it as this kind if it is not there.
    Open(u8, Kind),
    Drop(u8),
    Rename(u8, u8),
    List,
    On(u8, Act),
    /// Begins a child transaction, as an object of its own or in place.
    Child {
        in_place: bool,
    },
    /// Ends the innermost one.
    EndChild {
        keep: bool,
    },
    Commit,
    Abort,
    /// Whether this transaction waits for the disk.
    Durable(bool),
    Checkpoint,
    Reopen,
    /// Keeps a snapshot, to be looked at again later.
    Park,
}

/// What a run is mostly about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    Tables,
    Children,
    Cursors,
    Bulk,
}

fn key() -> impl Strategy<Value = KeySpec> {
    (0u8..6, prop_oneof![0u16..12, 0u16..400, any::<u16>()]).prop_map(|(shape, number)| KeySpec { shape, number })
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![key().prop_map(Pick::New), any::<u16>().prop_map(Pick::Nth)]
}

fn value() -> impl Strategy<Value = ValueSpec> {
    (0u8..6, prop_oneof![0u16..12, 0u16..400, any::<u16>()], any::<u8>()).prop_map(|(shape, length, seed)| ValueSpec {
        shape,
        length,
        seed,
    })
}

fn edge() -> impl Strategy<Value = Edge> {
    prop_oneof![Just(Edge::None), pick().prop_map(Edge::Included), pick().prop_map(Edge::Excluded)]
}

pub fn kind() -> impl Strategy<Value = Kind> {
    (0..SORTINGS.len(), 0..VALUES.len()).prop_map(|(k, v)| Kind { keys: SORTINGS[k], values: VALUES[v] })
}

fn movement() -> impl Strategy<Value = Movement> {
    (0..MOVEMENTS.len()).prop_map(|i| MOVEMENTS[i])
}

fn touch() -> impl Strategy<Value = Touch> {
    prop_oneof![
        8 => (movement(), pick(), value()).prop_map(|(m, p, v)| Touch::Go(m, p, v)),
        4 => (movement(), pick(), value(), 2u8..12).prop_map(|(m, p, v, times)| Touch::Walk(m, p, v, times)),
        2 => (pick(), value()).prop_map(|(p, v)| Touch::Put(p, v)),
        1 => value().prop_map(Touch::Replace),
        3 => Just(Touch::Delete),
        1 => Just(Touch::DeleteKey),
        1 => Just(Touch::Count),
        2 => prop_oneof![Just(Several::Here), Just(Several::Next), Just(Several::Before)].prop_map(Touch::Several),
        1 => Just(Touch::Clone),
    ]
}

fn write() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (pick(), value()).prop_map(|(p, v)| Act::Put(p, v)),
        2 => (pick(), value()).prop_map(|(p, v)| Act::PutDuplicate(p, v)),
        1 => (pick(), value()).prop_map(|(p, v)| Act::Insert(p, v)),
        1 => (pick(), value()).prop_map(|(p, v)| Act::Replace(p, v)),
        1 => (pick(), value()).prop_map(|(p, v)| Act::Append(p, v)),
        1 => (pick(), value()).prop_map(|(p, v)| Act::AppendDuplicate(p, v)),
        1 => (pick(), value()).prop_map(|(p, v)| Act::Reserve(p, v)),
        1 => (pick(), any::<bool>(), proptest::option::of(value())).prop_map(|(p, r, v)| Act::Swap(p, r, v)),
        4 => pick().prop_map(Act::Delete),
        3 => any::<u16>().prop_map(Act::DeleteDuplicate),
        2 => any::<bool>().prop_map(Act::Pop),
    ]
}

fn many() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => (key(), 0u16..300, value()).prop_map(|(k, n, v)| Act::Fill(k, n, v)),
        3 => (pick(), key(), 0u16..600).prop_map(|(p, k, n)| Act::Crowd(p, k, n)),
        3 => (any::<u16>(), 1u16..8, 0u16..300).prop_map(|(first, gap, n)| Act::Thin(first, gap, n)),
        3 => (edge(), edge()).prop_map(|(low, high)| Act::DeleteRange(low, high)),
        1 => Just(Act::Clear),
    ]
}

fn read() -> impl Strategy<Value = Act> {
    prop_oneof![
        pick().prop_map(Act::Get),
        (edge(), edge(), any::<u64>()).prop_map(|(low, high, bits)| Act::Iterate(low, high, bits)),
        (pick(), 0u16..300, any::<u64>()).prop_map(|(p, bytes, bits)| Act::Prefix(p, bytes, bits)),
        (pick(), any::<u64>()).prop_map(|(p, bits)| Act::ValuesOf(p, bits)),
        Just(Act::Keys),
        vec((movement(), pick(), value()), 1..12).prop_map(Act::Read),
    ]
}

fn act(flavour: Flavour) -> impl Strategy<Value = Act> {
    let (cursors, bulk) = match flavour {
        Flavour::Tables | Flavour::Children => (1, 3),
        Flavour::Cursors => (12, 1),
        Flavour::Bulk => (1, 8),
    };
    prop_oneof![
        6 => write(),
        bulk => many(),
        3 => read(),
        cursors => (0u8..4, touch()).prop_map(|(which, touch)| Act::Cursor(which, touch)),
    ]
}

fn step(flavour: Flavour) -> impl Strategy<Value = Step> {
    let (tables, children, commits) = match flavour {
        Flavour::Tables => (6, 2, 4),
        Flavour::Children => (1, 12, 2),
        Flavour::Cursors => (1, 2, 1),
        Flavour::Bulk => (1, 3, 2),
    };
    prop_oneof![
        40 => (0u8..4, act(flavour)).prop_map(|(table, act)| Step::On(table, act)),
        tables => prop_oneof![
            4 => (0u8..4, kind()).prop_map(|(name, kind)| Step::Open(name, kind)),
            1 => (0u8..4).prop_map(Step::Drop),
            1 => (0u8..4, 0u8..4).prop_map(|(from, to)| Step::Rename(from, to)),
            1 => Just(Step::List),
        ],
        children => prop_oneof![
            any::<bool>().prop_map(|in_place| Step::Child { in_place }),
            any::<bool>().prop_map(|keep| Step::EndChild { keep }),
        ],
        commits => prop_oneof![
            6 => Just(Step::Commit),
            2 => Just(Step::Abort),
            2 => any::<bool>().prop_map(Step::Durable),
            1 => Just(Step::Checkpoint),
            1 => Just(Step::Reopen),
            1 => Just(Step::Park),
        ],
    ]
}

/// Whole runs.
pub fn steps(flavour: Flavour, most: usize) -> impl Strategy<Value = Vec<Step>> {
    (vec((0u8..4, kind()), 1..4), vec(step(flavour), 1..most)).prop_map(|(opened, steps)| {
        let opened = opened.into_iter().map(|(name, kind)| Step::Open(name, kind));
        opened.chain(steps).collect()
    })
}
