//! Reading a table in every way that there is, and comparing with the model.
//!
//! Owns: what a reader can ask. Must not know: transactions, writing.

use std::collections::VecDeque;
use std::ops::Bound;

use duramen::{Error, Iter, Snapshot};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::kinds::Values;
use crate::reference::{Movement, Pair, Place, Table};
use crate::run::{Outcome, Tables};

/// An entry as a reader gives it.
type Found<'t> = Option<(&'t [u8], &'t [u8])>;

/// Calls a cursor's method for a movement. A cursor of a write transaction wants the transaction too.
macro_rules! go {
    ($cursor:expr, $movement:expr, $key:expr, $value:expr $(, $txn:expr)?) => {
        match $movement {
            Movement::First => $cursor.first($($txn)?),
            Movement::Last => $cursor.last($($txn)?),
            Movement::Next => $cursor.next($($txn)?),
            Movement::Prev => $cursor.prev($($txn)?),
            Movement::NextKey => $cursor.next_key($($txn)?),
            Movement::PrevKey => $cursor.prev_key($($txn)?),
            Movement::NextDuplicate => $cursor.next_duplicate($($txn)?),
            Movement::PrevDuplicate => $cursor.prev_duplicate($($txn)?),
            Movement::FirstDuplicate => $cursor.first_duplicate($($txn)?),
            Movement::LastDuplicate => $cursor.last_duplicate($($txn)?),
            Movement::Current => $cursor.current($($txn)?),
            Movement::Seek => $cursor.seek($($txn,)? $key),
            Movement::SeekAtOrAfter => $cursor.seek_at_or_after($($txn,)? $key),
            Movement::SeekPair => $cursor.seek_pair($($txn,)? $key, $value),
            Movement::SeekPairAtOrAfter => $cursor.seek_pair_at_or_after($($txn,)? $key, $value),
        }
    };
}
pub(crate) use go;

pub fn same(found: Found<'_>, expected: Option<&Pair>) -> Outcome {
    let expected = expected.map(|(key, value)| (&key[..], &value[..]));
    prop_assert!(found == expected, "found {}, expected {}", show(found), show(expected));
    Ok(())
}

fn show(pair: Found<'_>) -> String {
    let short = |bytes: &[u8]| format!("{} bytes {:?}", bytes.len(), &bytes[..bytes.len().min(24)]);
    match pair {
        None => "nothing".into(),
        Some((key, value)) => format!("key of {}, value of {}", short(key), short(value)),
    }
}

/// Compares a whole snapshot with the model.
pub fn compare(snapshot: &Snapshot<'_>, tables: &Tables) -> Outcome {
    prop_assert_eq!(snapshot.table_names()?, tables.keys().cloned().collect::<Vec<_>>());
    for (name, table) in tables {
        let found = snapshot.table_with(name, &table.kind.options())?;
        whole(&found, table)?;
    }
    Ok(())
}

/// Every entry, forwards, backwards and by key.
pub fn whole(found: &duramen::Table<'_>, table: &Table) -> Outcome {
    prop_assert_eq!(found.len(), table.len());
    prop_assert_eq!(found.is_empty(), table.len() == 0);
    prop_assert_eq!(found.stats().entries, table.len());
    iterate(found.iter(), table.pairs().cloned().collect(), u64::MAX)?;
    iterate(found.iter(), table.pairs().cloned().collect(), 0)?;
    same(found.first()?, table.pairs().next())?;
    same(found.last()?, table.pairs().next_back())?;
    keys(found, table)?;
    let every = (table.len() as usize / 64).max(1);
    for (key, value) in table.pairs().step_by(every) {
        prop_assert_eq!(found.get(key)?, table.get(key));
        prop_assert!(found.contains_key(key)?);
        prop_assert!(found.contains(key, value)?);
    }
    many(found, table)
}

/// All keys at once, every third with a neighbour that is mostly not there.
fn many(found: &duramen::Table<'_>, table: &Table) -> Outcome {
    let mut asked: Vec<Vec<u8>> = table.pairs().map(|(key, _)| key.to_vec()).collect();
    for i in (0..asked.len()).step_by(3) {
        let mut other = asked[i].clone();
        if let Some(last) = other.last_mut() {
            *last ^= 1;
        }
        asked.push(other);
    }
    let expected: Vec<_> = asked.iter().map(|key| table.get(key)).collect();
    prop_assert!(
        found.get_many(&asked)? == expected,
        "of {} keys asked for at once some have other values",
        asked.len()
    );
    Ok(())
}

/// The keys, each once.
pub fn keys(found: &duramen::Table<'_>, table: &Table) -> Outcome {
    let mut expected: Vec<&[u8]> = table.pairs().map(|(key, _)| &key[..]).collect();
    expected.dedup();
    let keys = found.keys().collect::<duramen::Result<Vec<&[u8]>>>()?;
    prop_assert!(keys == expected, "{} keys, expected {}", keys.len(), expected.len());
    Ok(())
}

/// Takes entries from either end, as the bits say (1: the front), until both sides say that there are no more.
pub fn iterate(mut iter: Iter<'_>, expected: Vec<Pair>, bits: u64) -> Outcome {
    let mut expected = VecDeque::from(expected);
    for i in 0.. {
        let front = bits >> (i % 64) & 1 == 1;
        let (found, pair) = if front {
            (iter.next().transpose()?, expected.pop_front())
        } else {
            (iter.next_back().transpose()?, expected.pop_back())
        };
        same(found, pair.as_ref())?;
        if pair.is_none() {
            break;
        }
    }
    same(iter.next().transpose()?, None)?;
    same(iter.next_back().transpose()?, None)
}

pub fn range(
    found: &duramen::Table<'_>,
    table: &Table,
    (low, high): (Bound<Vec<u8>>, Bound<Vec<u8>>),
    bits: u64,
) -> Outcome {
    let expected = table.between(low.as_ref().map(|k| &k[..]), high.as_ref().map(|k| &k[..]));
    iterate(found.range((low, high))?, expected, bits)
}

/// Walks a reader's cursor about.
pub fn walk(found: &duramen::Table<'_>, table: &Table, moves: &[(Movement, Vec<u8>, Vec<u8>)]) -> Outcome {
    let mut cursor = found.cursor();
    let mut place = Place::Unset;
    for (movement, key, value) in moves {
        // Several times, so that steps follow steps.
        for _ in 0..=key.len() % 4 {
            let pair = go!(cursor, movement, key, value)?;
            moved(pair, table, &mut place, *movement, key, value)?;
            if is_lost(table, &place, *movement, pair.is_some()) {
                cursor.first()?;
                table.go(&mut place, Movement::First, key, value);
            }
        }
        if key.len() % 3 == 0 {
            continue;
        }
        let which = [Several::Here, Several::Next, Several::Before][value.len() % 3];
        several(go_several!(cursor, which), table, &mut place, which)?;
        same(cursor.current()?, table.at(&place))?;
    }
    Ok(())
}

/// Compares what a movement found.
pub fn moved(
    found: Found<'_>,
    table: &Table,
    place: &mut Place,
    movement: Movement,
    key: &[u8],
    value: &[u8],
) -> Outcome {
    let mut expected = table.go(place, movement, key, value);
    if table.kind.values == Values::One {
        // The one value must be this one, or sort at or after it.
        expected = expected.filter(|(_, one)| match movement {
            Movement::SeekPair => **one == *value,
            Movement::SeekPairAtOrAfter => **one >= *value,
            _ => true,
        });
    }
    same(found, expected.as_ref())
}

/// After asking for another value than a key's only one, it is not said where the cursor is.
pub fn is_lost(table: &Table, place: &Place, movement: Movement, found: bool) -> bool {
    let by_pair = matches!(movement, Movement::SeekPair | Movement::SeekPairAtOrAfter);
    table.kind.values == Values::One && by_pair && !found && table.at(place).is_some()
}

/// Which fixed-size values are asked for, side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Several {
    /// From the current one to the end of its page.
    Here,
    /// From the next one to the end of its page.
    Next,
    /// The page before.
    Before,
}

/// Calls a cursor's method for several values at once.
macro_rules! go_several {
    ($cursor:expr, $which:expr $(, $txn:expr)?) => {
        match $which {
            Several::Here => $cursor.multiple($($txn)?),
            Several::Next => $cursor.next_multiple($($txn)?),
            Several::Before => $cursor.prev_multiple($($txn)?),
        }
    };
}
pub(crate) use go_several;

/// Compares several values at once, where it is up to the engine how many they are.
pub fn several(found: duramen::Result<Found<'_>>, table: &Table, place: &mut Place, which: Several) -> Outcome {
    let Values::Fixed(..) = table.kind.values else {
        let refused = matches!(found, Err(Error::Incompatible { .. }));
        prop_assert!(refused, "{:?}", found);
        return Ok(());
    };
    let here = table.at(place).cloned();
    let next = table.go(&mut place.clone(), Movement::NextDuplicate, &[], &[]);
    let Some((key, packed)) = found? else {
        let none = match which {
            Several::Here => here.is_none(),
            Several::Next => next.is_none(),
            // Few values stand in no page of their own.
            Several::Before => true,
        };
        prop_assert!(none, "no values {which:?}");
        return Ok(());
    };
    let values: Vec<Pair> = table.values_of(key);
    let bytes = values[0].1.len();
    let first = packed.get(..bytes).unwrap_or_default();
    let from = values.iter().position(|(_, value)| **value == *first);
    let Some(from) = from else { return Err(TestCaseError::fail("no value of the key")) };
    let these = &values[from..(from + packed.len() / bytes).min(values.len())];
    prop_assert!(these.iter().flat_map(|(_, value)| value.iter()).eq(packed), "not the values side by side");
    let begins_right = match which {
        Several::Here => here == these.first().cloned(),
        Several::Next => next == these.first().cloned(),
        Several::Before => {
            here.is_some_and(|here| table.rank(&here.0, &here.1) > table.rank(key, &these[these.len() - 1].1))
        }
    };
    prop_assert!(begins_right, "{which:?} begins elsewhere");
    let stands_on = if which == Several::Before { 0 } else { these.len() - 1 };
    *place = Place::At(table.rank(key, &these[stands_on].1));
    Ok(())
}
