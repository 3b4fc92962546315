//! Entries that come in their order, mostly: behind all others, or as values of the last key, whose way the engine remembers.

use std::collections::{BTreeMap, BTreeSet};

use duramen::{Database, Duplicates, Error, Order, Put, Result, TableMut, TableOptions};
use fastrand::Rng;

use crate::number;

type Model = BTreeMap<u64, BTreeSet<u64>>;

/// Tables whose keys and values are numbers, and how such a number is written.
struct Numbered {
    options: TableOptions,
    write: fn(u64) -> Vec<u8>,
    duplicates: bool,
}

fn tables() -> Vec<Numbered> {
    let digits: fn(u64) -> Vec<u8> = |number| format!("{number:020}").into_bytes();
    let long: fn(u64) -> Vec<u8> = |number| format!("{number:0200}").into_bytes();
    let native: fn(u64) -> Vec<u8> = |number| number.to_ne_bytes().to_vec();
    let big: fn(u64) -> Vec<u8> = |number| number.to_be_bytes().to_vec();
    let sorted = || TableOptions::new().duplicates(Duplicates::sorted());
    let fixed = || TableOptions::new().duplicates(Duplicates::sorted().fixed_size());
    let integers = TableOptions::new().order(Order::Native).duplicates(Duplicates::integers().fixed_size());
    vec![
        Numbered { options: TableOptions::new(), write: digits, duplicates: false },
        Numbered { options: TableOptions::new().order(Order::Native), write: native, duplicates: false },
        Numbered { options: sorted(), write: digits, duplicates: true },
        Numbered { options: sorted(), write: long, duplicates: true },
        Numbered { options: fixed(), write: big, duplicates: true },
        Numbered { options: integers, write: native, duplicates: true },
    ]
}

/// Where the next entry goes: mostly on from the last.
fn choose(model: &Model, rng: &mut Rng) -> (u64, u64) {
    let last = model.last_key_value();
    let (key, value) = last.map_or((1000, 1000), |(key, values)| (*key, *values.last().unwrap()));
    match rng.u64(..40) {
        0 => (rng.u64(..=key), rng.u64(..2000)),
        1 => (key, rng.u64(..=value)),
        2 => (key, value),
        3..=12 => (key + rng.u64(1..4), rng.u64(1000..1003)),
        _ => (key, value + rng.u64(1..4)),
    }
}

/// Whether the model takes the entry, with one value for a key unless there may be several.
fn store(model: &mut Model, duplicates: bool, key: u64, value: u64) {
    let values = model.entry(key).or_default();
    if !duplicates {
        values.clear();
    }
    values.insert(value);
}

/// Stores an entry in one of the ways that there are; whether the table has it now.
fn put(table: &mut TableMut<'_>, way: u64, model: &Model, at: (u64, u64), entry: (&[u8], &[u8])) -> Result<bool> {
    let (key, value) = entry;
    let values = model.get(&at.0);
    let is_behind_keys = model.last_key_value().is_none_or(|(last, _)| *last < at.0);
    let is_behind_values = values.is_none_or(|values| *values.last().unwrap() < at.1);
    let is_stored = |outcome: Result<()>| match outcome {
        Err(Error::AppendOrder) => Ok(false),
        other => other.map(|()| true),
    };
    let (stored, expected) = match way {
        0 => (table.insert(key, value)? == Put::Stored, values.is_none()),
        1 => (is_stored(table.append(key, value))?, is_behind_keys),
        2 if table.stats().duplicates.is_some() => {
            let is_last = model.last_key_value().is_some_and(|(last, _)| *last == at.0);
            (is_stored(table.append_duplicate(key, value))?, is_behind_keys || is_last && is_behind_values)
        }
        3 if table.stats().duplicates.is_some() => {
            (table.put_last_duplicate(key, value)? == Put::Stored, is_behind_values)
        }
        _ => {
            table.put(key, value)?;
            (true, true)
        }
    };
    assert_eq!(stored, expected, "way {way}, {at:?}");
    Ok(stored)
}

fn delete(table: &mut TableMut<'_>, model: &mut Model, numbered: &Numbered, whole: bool) -> Result<()> {
    let Some((&key, values)) = model.last_key_value() else { return Ok(()) };
    let value = *values.last().unwrap();
    if whole || !numbered.duplicates {
        assert!(table.delete((numbered.write)(key))?);
        model.remove(&key);
        return Ok(());
    }
    assert!(table.delete_duplicate((numbered.write)(key), (numbered.write)(value))?);
    let values = model.get_mut(&key).unwrap();
    values.remove(&value);
    if values.is_empty() {
        model.remove(&key);
    }
    Ok(())
}

fn assert_same(table: &TableMut<'_>, model: &Model, write: fn(u64) -> Vec<u8>) -> Result<()> {
    let expected = model.iter().flat_map(|(key, values)| values.iter().map(|value| (*key, *value)));
    let expected: Vec<_> = expected.map(|(key, value)| (write(key), write(value))).collect();
    let found: Result<Vec<_>> =
        table.iter().map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect();
    assert!(found? == expected, "other entries than the model's");
    assert_eq!(table.len(), expected.len() as u64);
    Ok(())
}

fn run(numbered: &Numbered, seed: u64) -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("rising.dm"))?;
    let (mut model, mut rng) = (Model::new(), Rng::with_seed(seed));
    for _ in 0..4 {
        let mut txn = db.begin_write()?;
        let id = txn.open_table("t", Some(&numbered.options))?;
        let mut before = None;
        for _ in 0..1500 {
            match rng.u64(..100) {
                0 if before.is_none() => {
                    txn.begin_nested()?;
                    before = Some(model.clone());
                }
                1 => match before.take() {
                    Some(_) if rng.bool() => txn.commit_nested()?,
                    Some(then) => {
                        txn.abort_nested()?;
                        model = then;
                    }
                    None => {}
                },
                what @ 2..=4 => delete(&mut txn.table_by_id(id)?, &mut model, numbered, what == 2)?,
                _ => {
                    let at @ (key, value) = choose(&model, &mut rng);
                    let entry = ((numbered.write)(key), (numbered.write)(value));
                    let way = rng.u64(..12);
                    if put(&mut txn.table_by_id(id)?, way, &model, at, (&entry.0, &entry.1))? {
                        store(&mut model, numbered.duplicates, key, value);
                    }
                }
            }
        }
        if before.is_some() {
            txn.commit_nested()?;
        }
        assert_same(&txn.table_by_id(id)?, &model, numbered.write)?;
        txn.commit()?;
    }
    assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    Ok(())
}

#[test]
fn entries_that_mostly_rise_are_where_they_belong() -> Result<()> {
    for numbered in &tables() {
        let first = number("DURAMEN_SEED").unwrap_or(1);
        for seed in first..first + number("DURAMEN_CASES").unwrap_or(4) {
            eprintln!("seed {seed}");
            run(numbered, seed)?;
        }
    }
    Ok(())
}
