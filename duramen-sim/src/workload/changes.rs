//! One random change of a write transaction, and of the model with it.

use duramen::{BulkOptions, Error, Put, TableMut, WriteTxn};

use super::{Profile, Verdict};
use crate::model::{Kind, Model, TableModel};

/// Depth of child transactions.
const DEPTH_MAX: u32 = 3;

/// Makes one random change.
///
/// # Errors
/// The outer one is a finding: the engine answered otherwise than the model. The inner one is the engine's.
pub fn change(
    txn: &mut WriteTxn<'_>,
    model: &mut Model,
    rng: &mut fastrand::Rng,
    profile: &Profile,
    depth: u32,
) -> Verdict<Result<(), Error>> {
    let outcome = match rng.u32(..100) {
        0..3 if depth < DEPTH_MAX => child(txn, model, rng, profile, depth),
        3 => drop_table(txn, model, rng, profile),
        4 => rename_table(txn, model, rng, profile),
        5 | 6 => load_table(txn, model, rng, profile),
        _ => in_table(txn, model, rng, profile),
    };
    match outcome {
        Ok(()) => Ok(Ok(())),
        Err(Trouble::Engine(error)) => Ok(Err(error)),
        Err(Trouble::Finding(finding)) => Err(finding),
    }
}

/// Stores many values of a page each, loaded as a whole where that can be.
pub fn bulk(
    txn: &mut WriteTxn<'_>,
    model: &mut Model,
    rng: &mut fastrand::Rng,
    profile: &Profile,
) -> Result<(), Error> {
    let name = format!("{}bulk", profile.owner).into_bytes();
    let table = model.tables.entry(name.clone()).or_insert_with(|| TableModel::new(Kind::Large));
    let (first, is_load) = (rng.u32(..profile.bulk), table.is_empty() && rng.bool());
    let records = (first..first + profile.bulk).map(|i| (i.to_be_bytes(), [i as u8; 4000]));
    if is_load {
        let mut load = txn.bulk_load(&name, BulkOptions::new().sorted(rng.bool()).keep_cached(rng.bool()))?;
        records.clone().try_for_each(|(key, value)| load.push(key, value))?;
        load.finish()?;
    } else {
        let mut stored = txn.table_with(&name, &table.kind.options())?;
        records.clone().try_for_each(|(key, value)| stored.put(key, value))?;
    }
    for (key, value) in records {
        table.put(&key, &value);
    }
    Ok(())
}

/// Why a change was not made as it should.
enum Trouble {
    Engine(Error),
    Finding(String),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::Engine(error)
    }
}

/// The engine's answer must be the model's.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: T, wanted: T) -> Result<(), Trouble> {
    if found == wanted {
        return Ok(());
    }
    Err(Trouble::Finding(format!("{what} answered {found:?}, the model {wanted:?}")))
}

fn child(
    txn: &mut WriteTxn<'_>,
    model: &mut Model,
    rng: &mut fastrand::Rng,
    profile: &Profile,
    depth: u32,
) -> Result<(), Trouble> {
    let mut after = model.clone();
    let mut inner = txn.child()?;
    for _ in 0..rng.u32(..=profile.changes / 2) {
        change(&mut inner, &mut after, rng, profile, depth + 1).map_err(Trouble::Finding)??;
    }
    if rng.bool() {
        inner.commit()?;
        *model = after;
    }
    Ok(())
}

/// One of a dozen names.
fn name(rng: &mut fastrand::Rng, profile: &Profile) -> Vec<u8> {
    format!("{}table {}", profile.owner, rng.u32(..12)).into_bytes()
}

/// A table of one of these names, of any kind if it is new.
fn any_table<'m>(model: &'m mut Model, rng: &mut fastrand::Rng, profile: &Profile) -> (Vec<u8>, &'m mut TableModel) {
    let name = name(rng, profile);
    let made = || TableModel::new(Kind::ALL[rng.usize(..Kind::ALL.len())]);
    let table = model.tables.entry(name.clone()).or_insert_with(made);
    (name, table)
}

fn drop_table(
    txn: &mut WriteTxn<'_>,
    model: &mut Model,
    rng: &mut fastrand::Rng,
    profile: &Profile,
) -> Result<(), Trouble> {
    let name = name(rng, profile);
    let dropped = txn.drop_table(&name)?;
    same("drop_table", dropped, model.tables.remove(&name).is_some())
}

fn rename_table(
    txn: &mut WriteTxn<'_>,
    model: &mut Model,
    rng: &mut fastrand::Rng,
    profile: &Profile,
) -> Result<(), Trouble> {
    let (from, to) = (name(rng, profile), name(rng, profile));
    if model.tables.contains_key(&to) {
        return Ok(());
    }
    let renamed = txn.rename_table(&from, &to)?;
    let table = model.tables.remove(&from);
    same("rename_table", renamed, table.is_some())?;
    model.tables.extend(table.map(|table| (to, table)));
    Ok(())
}

/// Loads a table as a whole, which is refused unless it is empty.
fn load_table(
    txn: &mut WriteTxn<'_>,
    model: &mut Model,
    rng: &mut fastrand::Rng,
    profile: &Profile,
) -> Result<(), Trouble> {
    let (name, table) = any_table(model, rng, profile);
    let options = BulkOptions::new().table(table.kind.options()).keep_cached(rng.bool());
    let mut load = match txn.bulk_load(&name, options.memory_budget(profile.memory_bytes)) {
        Err(Error::Incompatible { .. }) => return same("a load of a table with entries", table.is_empty(), false),
        begun => begun?,
    };
    same("a load of an empty table", table.is_empty(), true)?;
    for _ in 0..rng.u32(..=2 * profile.changes) {
        let (key, value) = (key(table.kind, rng, profile), value(table.kind, rng, profile));
        load.push(&key, &value)?;
        table.put(&key, &value);
    }
    same("a load", load.finish()?, table.len())
}

fn in_table(
    txn: &mut WriteTxn<'_>,
    model: &mut Model,
    rng: &mut fastrand::Rng,
    profile: &Profile,
) -> Result<(), Trouble> {
    let (name, table) = any_table(model, rng, profile);
    let mut stored = txn.table_with(&name, &table.kind.options())?;
    let only_adds = rng.u32(..100) < profile.growth;
    if only_adds {
        add(&mut stored, table, rng, profile)?
    } else {
        take_away(&mut stored, table, rng, profile)?
    }
    same("len", stored.len(), table.len())
}

fn add(
    stored: &mut TableMut<'_>,
    table: &mut TableModel,
    rng: &mut fastrand::Rng,
    profile: &Profile,
) -> Result<(), Trouble> {
    let (key, value) = (key(table.kind, rng, profile), value(table.kind, rng, profile));
    let duplicates = table.kind.has_duplicates();
    match rng.u32(..20) {
        0 | 1 => {
            let put = stored.insert(&key, &value)?;
            let there = table.get(&key).is_some();
            same("insert", put, if there { Put::Exists } else { Put::Stored })?;
            if !there {
                table.put(&key, &value);
            }
        }
        2 if !duplicates => {
            let space = stored.reserve(&key, value.len())?;
            space.copy_from_slice(&value);
            table.put(&key, &value);
        }
        3 if !duplicates => {
            // Often little of the value is changed: the log notes that in another way.
            let mut value = value;
            if let Some(old) = table.get(&key).filter(|old| !old.is_empty() && rng.bool()) {
                value = old.to_vec();
                let at = rng.usize(..value.len());
                value[at] ^= 1;
                value.truncate(value.len() - rng.usize(..=1));
            }
            let old = stored.replace(&key, &value)?;
            same("replace", old.as_deref(), table.get(&key))?;
            table.put(&key, &value);
        }
        4 if !duplicates => {
            let old = table.get(&key).map(<[u8]>::to_vec);
            let swapped = stored.compare_and_swap(&key, old.as_deref(), Some(&value))?;
            same("compare_and_swap", swapped, true)?;
            table.put(&key, &value);
        }
        5..8 if duplicates => {
            // One key with many values: a page of its own in the leaf, then a tree.
            for _ in 0..rng.u32(..40) {
                let value = self::value(table.kind, rng, profile);
                stored.put(&key, &value)?;
                table.put(&key, &value);
            }
        }
        _ => {
            let put = stored.put_duplicate(&key, &value)?;
            let fresh = table.put(&key, &value);
            same("put", put, if duplicates && !fresh { Put::Exists } else { Put::Stored })?;
        }
    }
    Ok(())
}

fn take_away(
    stored: &mut TableMut<'_>,
    table: &mut TableModel,
    rng: &mut fastrand::Rng,
    profile: &Profile,
) -> Result<(), Trouble> {
    let any = table.any(rng.usize(..)).map(|(key, value)| (key, value.to_vec()));
    match (rng.u32(..20), any) {
        (0, _) => same("clear", stored.clear()?, table.clear())?,
        (1..4, _) => {
            let (low, high) = (key(table.kind, rng, profile), key(table.kind, rng, profile));
            let removed = stored.delete_range(&low[..]..&high[..])?;
            same("delete_range", removed, table.delete_range(&low, &high))?;
        }
        (4..10, Some((key, value))) if table.kind.has_duplicates() => {
            same("delete_duplicate", stored.delete_duplicate(&key, &value)?, true)?;
            table.delete_duplicate(&key, &value);
        }
        (4..17, Some((key, _))) => {
            same("delete", stored.delete(&key)?, true)?;
            table.delete(&key);
        }
        _ => {
            let key = key(table.kind, rng, profile);
            same("delete", stored.delete(&key)?, table.delete(&key) > 0)?;
        }
    }
    Ok(())
}

fn key(kind: Kind, rng: &mut fastrand::Rng, profile: &Profile) -> Vec<u8> {
    let number = rng.u64(..profile.keys);
    match kind {
        Kind::Native => number.wrapping_mul(0x1_0001_0101).to_ne_bytes().to_vec(),
        _ => {
            // Some keys are long, with all their difference at the end or at the start.
            let filler = [0, 0, 0, 5, 40, 300][(number % 6) as usize];
            let mut key = if number.is_multiple_of(2) { vec![b'x'; filler] } else { Vec::new() };
            key.extend_from_slice(format!("{number:04}").as_bytes());
            key.resize(filler + 4, b'y');
            key
        }
    }
}

fn value(kind: Kind, rng: &mut fastrand::Rng, profile: &Profile) -> Vec<u8> {
    let bytes = match kind {
        Kind::Fixed => Kind::FIXED_BYTES,
        Kind::Sorted => [rng.usize(..20), rng.usize(..400)][rng.usize(..2)],
        Kind::Large if rng.bool() => rng.usize(..profile.large_bytes),
        _ => [rng.usize(..20), rng.usize(..100), rng.usize(..1200)][rng.usize(..3)],
    };
    if kind == Kind::Fixed {
        return (0..bytes).map(|i| if i < 4 { rng.u8(..4) } else { 7 }).collect();
    }
    let first = rng.u8(..);
    (0..bytes).map(|i| first.wrapping_add(i as u8)).collect()
}
