//! All that a program may do with a file that it opens.
//!
//! Every loop is bounded: a damaged tree may go round in circles, and whoever walks it must be able to stop.

use std::ops::ControlFlow;
use std::path::PathBuf;

use duramen::{Database, Result, Snapshot, Table, TableId, WriteTxn};

/// Entries read in a row.
const ENTRIES_MAX: usize = 300;
/// Tables looked at.
const TABLES_MAX: usize = 12;

/// Where files are put to be opened.
pub struct Scratch {
    directory: tempfile::TempDir,
}

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch::new()
    }
}

impl Scratch {
    /// A place of its own.
    pub fn new() -> Scratch {
        Scratch { directory: crate::scratch() }
    }

    fn put(&self, file: &[u8]) -> PathBuf {
        let path = self.directory.path().join("hostile.dm");
        std::fs::write(&path, file).expect("room for a small file");
        path
    }

    /// How many findings the check has, or why it cannot be made.
    pub fn check(&self, file: &[u8]) -> std::result::Result<usize, String> {
        let db = Database::options().without_lock_file().open(self.put(file)).map_err(|e| e.to_string())?;
        db.check(|_, _| {}).map(|report| report.findings.len()).map_err(|e| e.to_string())
    }
}

/// Opens a file, reads it in every way, checks it, writes to it, closes it. Says how far it came: 0 if it does not
/// open.
pub fn exercise(scratch: &Scratch, file: &[u8]) -> u32 {
    let path = scratch.put(file);
    let options = Database::options().without_lock_file();
    if let Ok(db) = options.clone().read_only(true).open(&path) {
        let _ = db.read().map(|snapshot| read(&snapshot, usize::MAX));
    }
    let Ok(db) = options.memory_budget(1).open(&path) else { return 0 };
    let clean = db.check(|_, _| {}).is_ok_and(|report| report.is_clean());
    let _ = (db.stats(), db.readers());
    let Ok(snapshot) = db.read() else { return 1 };
    let seen = read(&snapshot, usize::MAX);
    compact(&db, scratch);
    let wrote = write(&db, &seen).is_ok();
    let _ = read(&snapshot, usize::MAX);
    drop(snapshot);
    let _ = db.check(|_, _| {});
    let _ = db.close();
    2 + u32::from(clean) + 2 * u32::from(wrote)
}

/// Kinds of visits.
pub const VISITS: u8 = 10;

/// One use of a file out of those that [`exercise`] makes, so that it takes a fraction of a millisecond: what one
/// execution of the fuzzer does. Says how far it came: 0 if the file does not open.
pub fn visit(scratch: &Scratch, file: &[u8], kind: u8) -> u32 {
    let kind = kind % VISITS;
    let options = Database::options().without_lock_file().memory_budget(1).read_only(kind == 0);
    let Ok(db) = options.open(scratch.put(file)) else { return 0 };
    let Ok(snapshot) = db.read() else { return 1 };
    match kind {
        0 => drop(read(&snapshot, 3)),
        1 => {
            let _ = (db.check(|_, _| {}), db.stats(), db.readers());
            compact(&db, scratch);
        }
        _ => {
            let seen = read(&snapshot, 0);
            drop(snapshot);
            let wrote = change_all(&db, &seen, u32::from(kind - 2));
            let _ = db.read().map(|snapshot| read(&snapshot, 0));
            return 2 + u32::from(wrote.is_ok());
        }
    }
    2
}

/// Copies what there is, as far as it goes without going round in circles.
fn compact(db: &Database, scratch: &Scratch) {
    let copy = scratch.directory.path().join("copy.dm");
    let _ = db.copy_compact(&copy, |_, _| ControlFlow::Break(()));
    let _ = std::fs::remove_file(copy);
}

/// Tables and some of their keys.
type Seen = Vec<(Vec<u8>, Vec<Vec<u8>>)>;

/// Reads all tables, and searches for some of their keys.
fn read(snapshot: &Snapshot<'_>, searches: usize) -> Seen {
    let mut seen = Seen::new();
    let names = snapshot.table_names().unwrap_or_default();
    for name in names.into_iter().take(TABLES_MAX) {
        if let Ok(Some(table)) = snapshot.find_table(&name, None) {
            let keys = read_table(&table, searches);
            seen.push((name, keys));
        }
    }
    let _ = snapshot.main_table().map(|table| read_table(&table, searches));
    seen
}

fn read_table(table: &Table<'_>, searches: usize) -> Vec<Vec<u8>> {
    let _ = table.stats();
    let forwards = table.iter().take(ENTRIES_MAX);
    let mut keys: Vec<Vec<u8>> = forwards.map_while(|item| Some(item.ok()?.0.to_vec())).collect();
    let backwards = table.iter().rev().take(ENTRIES_MAX);
    keys.extend(backwards.map_while(|item| Some(item.ok()?.0.to_vec())).step_by(7));
    keys.truncate(40);
    let _ = table.keys().take(ENTRIES_MAX).try_for_each(|key| key.map(drop));
    keys.extend([vec![], vec![0; 8], vec![255; 4], b"entry 07".to_vec(), vec![b'0'; 1000]]);
    let step = (keys.len() / searches.max(1)).max(1);
    for key in keys.iter().step_by(step).take(searches) {
        let _ = search(table, key);
    }
    keys
}

/// Bounds are of any length here, and integers refuse others than their own.
fn of_any_length(done: Result<()>) -> Result<()> {
    match done {
        Err(duramen::Error::KeyLength { .. }) => Ok(()),
        done => done,
    }
}

fn search(table: &Table<'_>, key: &[u8]) -> Result<()> {
    let value = table.get(key)?.map(<[u8]>::to_vec).unwrap_or_default();
    table.contains(key, &value)?;
    table.contains_key(key)?;
    of_any_length(table.range(key..).and_then(|mut found| found.by_ref().take(3).try_for_each(|item| item.map(drop))))?;
    of_any_length(table.range(..key).and_then(|found| found.rev().take(3).try_for_each(|item| item.map(drop))))?;
    table.prefix(&key[..key.len() / 2])?.take(3).try_for_each(|item| item.map(drop))?;
    table.values_of(key)?.take(20).try_for_each(|item| item.map(drop))?;
    table.values_of(key)?.rev().take(20).try_for_each(|item| item.map(drop))?;
    move_about(table, key, &value);
    Ok(())
}

/// Moves a cursor in every way, whatever it meets.
fn move_about(table: &Table<'_>, key: &[u8], value: &[u8]) {
    let mut cursor = table.cursor();
    let _ = cursor.seek_at_or_after(key);
    let _ = cursor.count();
    for _ in 0..3 {
        let _ = (cursor.next_duplicate(), cursor.prev_key(), cursor.multiple(), cursor.next_multiple());
        let _ = (cursor.last_duplicate(), cursor.prev(), cursor.current(), cursor.count());
        let _ = (cursor.seek_pair_at_or_after(key, value), cursor.next_key());
    }
}

/// Changes of all sorts, in transactions of their own, so that what one runs into does not hide the next.
fn write(db: &Database, seen: &Seen) -> Result<()> {
    let mut outcome = Ok(());
    for kind in 0..u32::from(VISITS) - 2 {
        outcome = outcome.and(change_all(db, seen, kind));
    }
    outcome.and(change_heedlessly(db, seen))
}

/// Changes of all sorts in one transaction, which goes on after errors.
fn change_heedlessly(db: &Database, seen: &Seen) -> Result<()> {
    let mut txn = db.begin_write()?;
    for (name, keys) in seen {
        for kind in [2, 5, 0] {
            let _ = change(&mut txn, name, keys, kind);
        }
        let _ = txn.rename_table(name, b"other");
        let _ = txn.drop_table(name);
    }
    txn.commit()
}

/// A change of one kind: to each table, or to all together.
fn change_all(db: &Database, seen: &Seen, kind: u32) -> Result<()> {
    match kind {
        0..6 => {
            let mut outcome = Ok(());
            for (name, keys) in seen {
                outcome = outcome.and(db.update(|txn| change(txn, name, keys, kind)));
            }
            outcome
        }
        6 => {
            let made = db.update(|txn| (0..30u8).try_for_each(|i| txn.table("made")?.put([i; 8], vec![i; 200])));
            made.and(db.update(|txn| seen.iter().try_for_each(|(name, _)| txn.drop_table(name).map(drop))))
        }
        _ => db.update(|txn| {
            let main = txn.main_table();
            txn.table_by_id(main)?.clear().map(drop)
        }),
    }
}

fn change(txn: &mut WriteTxn<'_>, name: &[u8], keys: &[Vec<u8>], kind: u32) -> Result<()> {
    let Some(table) = txn.find_table(name, None)? else { return Ok(()) };
    match kind {
        0 => keys.iter().step_by(5).try_for_each(|key| put(txn, table, key, key.len() * 3)),
        1 => keys.iter().step_by(9).try_for_each(|key| put(txn, table, key, 6000)),
        2 => delete(txn, table, keys),
        3 => {
            let mut child = txn.child()?;
            delete(&mut child, table, keys)?;
            put(&mut child, table, b"new key!", 8)?;
            drop(child);
            put(txn, table, b"new keys", 8)
        }
        4 => {
            let (low, high) = (keys.iter().min(), keys.iter().max());
            let mut stored = txn.table_by_id(table)?;
            let (Some(low), Some(high)) = (low, high) else { return Ok(()) };
            of_any_length(stored.delete_range(&low[..]..&keys[keys.len() / 2][..]).map(drop))?;
            of_any_length(stored.delete_range(..=&high[..]).map(drop))
        }
        _ => {
            let moved = [name, b" moved"].concat();
            txn.rename_table(name, &moved)?;
            txn.rename_table(&moved, name)?;
            txn.table_by_id(table)?.clear().map(drop)
        }
    }
}

/// Stores an entry; a table that does not take one of this size is no matter.
fn put(txn: &mut WriteTxn<'_>, table: TableId, key: &[u8], bytes: usize) -> Result<()> {
    let mut stored = txn.table_by_id(table)?;
    let outcome = stored.put(key, vec![7; bytes]);
    let _ = stored.append(key, [8; 8]);
    match outcome {
        Err(duramen::Error::KeyLength { .. } | duramen::Error::ValueLength { .. }) => Ok(()),
        other => other,
    }
}

fn delete(txn: &mut WriteTxn<'_>, table: TableId, keys: &[Vec<u8>]) -> Result<()> {
    for key in keys.iter().step_by(3) {
        let value = txn.get(table, key)?.map(<[u8]>::to_vec);
        let mut stored = txn.table_by_id(table)?;
        if let Some(value) = value {
            let _ = stored.delete_duplicate(key, value);
        }
        stored.delete(key)?;
    }
    Ok(())
}
