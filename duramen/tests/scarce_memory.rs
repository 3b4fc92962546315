//! Reading where memory is too small for the file: pages are asked for ahead, and nothing else changes.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use duramen::{Database, Duplicates, Error, Options, Table, TableOptions};
use rustix::fs::Advice;
use tempfile::TempDir;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

const DUPLICATES_EACH: u32 = 700;

fn options() -> Options {
    Options::new().file_memory(0)
}

fn key(i: u32) -> Vec<u8> {
    i.wrapping_mul(0x9E37_79B1).to_be_bytes().to_vec()
}

/// Every hundredth value is large, some of them larger than a window.
fn value(i: u32) -> Vec<u8> {
    let len = if i % 2000 == 7 {
        1_300_000
    } else if i % 100 == 7 {
        9_000
    } else {
        60 + i as usize % 80
    };
    (0..len).map(|at| (at as u32 ^ i) as u8).collect()
}

/// A database whose leaves lie in the order in which they were last written, and what is in its table `records`.
fn scratch(records: u32) -> (TempDir, PathBuf, Records) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scarce.dm");
    let db = Options::new().open(&path).unwrap();
    for batch in (0..records).collect::<Vec<_>>().chunks(2000) {
        db.update(|txn| {
            let mut table = txn.table("records")?;
            batch.iter().try_for_each(|i| table.put(key(*i), value(*i)))
        })
        .unwrap();
    }
    db.update(|txn| {
        let mut pairs = txn.table_with("pairs", &TableOptions::new().duplicates(Duplicates::sorted()))?;
        (0..DUPLICATES_EACH * 3).try_for_each(|i| pairs.put((i % 3).to_be_bytes(), value(i * 100)))
    })
    .unwrap();
    db.close().unwrap();
    evict(&path);
    (dir, path, (0..records).map(|i| (key(i), value(i))).collect())
}

/// Drops the file from memory, as far as the filesystem does that.
fn evict(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

fn pairs<'a>(
    items: impl Iterator<Item = duramen::Result<(&'a [u8], &'a [u8])>>,
) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
    items.map(|item| item.unwrap())
}

fn assert_same(table: &Table<'_>, records: &Records) {
    let expected = || records.iter().map(|(key, value)| (&key[..], &value[..]));
    assert!(pairs(table.iter()).eq(expected()), "forwards");
    assert!(pairs(table.iter().rev()).eq(expected().rev()), "backwards");
    assert!(table.keys().map(|key| key.unwrap()).eq(expected().map(|(key, _)| key)), "keys");
    let (low, high) = (key(11).min(key(12)), key(11).max(key(12)));
    let bounds = (Bound::Excluded(&low[..]), Bound::Included(&high[..]));
    let range = expected().filter(|(key, _)| *key > &low[..] && *key <= &high[..]);
    assert!(pairs(table.range(bounds).unwrap()).eq(range), "a range");
    let mut cursor = table.cursor();
    for expected in expected() {
        assert_eq!(cursor.next().unwrap(), Some(expected));
    }
    assert_eq!(cursor.next().unwrap(), None);
    for expected in expected().rev().skip(1) {
        assert_eq!(cursor.prev().unwrap(), Some(expected));
    }
}

fn assert_all_found(table: &Table<'_>, records: &Records, at_once: usize) {
    let mut asked: Vec<Vec<u8>> = records.keys().cloned().collect();
    asked.sort_by_key(|key| key.iter().rev().copied().collect::<Vec<_>>());
    asked.iter_mut().step_by(10).for_each(|key| key.push(0));
    for keys in asked.chunks(at_once) {
        let expected: Vec<_> = keys.iter().map(|key| records.get(key).map(|value| &value[..])).collect();
        assert!(table.get_many(keys).unwrap() == expected, "{at_once} at once");
    }
}

/// Faults of this thread that waited for the disk.
fn waits() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    stat.rsplit(')').next().unwrap().split_whitespace().nth(9).unwrap().parse().unwrap()
}

#[test]
fn every_way_to_read_finds_what_was_written() {
    let (_dir, path, records) = scratch(12_000);
    for at_once in [1, 5, 64, 1000] {
        let db = options().open(&path).unwrap();
        let snapshot = db.read().unwrap();
        assert_all_found(&snapshot.table("records").unwrap(), &records, at_once);
        evict(&path);
        assert_same(&snapshot.table("records").unwrap(), &records);
        let pairs = snapshot.table("pairs").unwrap();
        let first = pairs.get_many(&[0u32.to_be_bytes(), 9u32.to_be_bytes()]).unwrap();
        assert_eq!(first, [pairs.values_of(0u32.to_be_bytes()).unwrap().next().map(|item| item.unwrap().1), None]);
        assert_eq!(pairs.iter().count(), pairs.iter().rev().count());
        assert_eq!(pairs.iter().count() as u64, pairs.len());
    }
}

#[test]
fn a_scan_waits_for_few_of_its_leaves() {
    let (_dir, path, records) = scratch(12_000);
    for back in [false, true] {
        evict(&path);
        let db = options().open(&path).unwrap();
        let snapshot = db.read().unwrap();
        let table = snapshot.table("records").unwrap();
        let before = waits();
        let count = if back { table.iter().rev().count() } else { table.iter().count() };
        let waited = waits() - before;
        assert_eq!(count, records.len());
        assert!(waited < table.stats().leaf_pages / 4, "{waited} waits");
    }
}

#[test]
fn many_gets_at_once_wait_for_few_of_their_leaves() {
    let (_dir, path, records) = scratch(12_000);
    let db = options().open(&path).unwrap();
    let snapshot = db.read().unwrap();
    let table = snapshot.table("records").unwrap();
    let before = waits();
    assert_all_found(&table, &records, 64);
    let waited = waits() - before;
    assert!(waited < table.stats().leaf_pages / 4, "{waited} waits");
}

#[test]
fn a_check_and_a_copy_find_the_same_with_little_memory() {
    let (dir, path, records) = scratch(4_000);
    let db = options().open(&path).unwrap();
    let report = db.check(|_, _| {}).unwrap();
    assert_eq!(report.findings, Vec::<String>::new());
    evict(&path);
    let copy = dir.path().join("copy.dm");
    db.copy_to(&mut File::create(&copy).unwrap()).unwrap();
    let copy = options().open(&copy).unwrap();
    assert_same(&copy.read().unwrap().table("records").unwrap(), &records);
    assert_eq!(copy.check(|_, _| {}).unwrap().entries, report.entries);
}

#[test]
fn a_walk_in_a_write_transaction_survives_changes_under_it() {
    let (_dir, path, mut records) = scratch(12_000);
    let db = options().open(&path).unwrap();
    db.update(|txn| {
        let id = txn.table("records")?.id();
        let mut cursor = txn.cursor(id)?;
        let (mut seen, mut step) = (0, 0);
        while let Some((key, value)) = cursor.next(txn)? {
            assert_eq!(records.get(key).map(|value| &value[..]), Some(value));
            let key = key.to_vec();
            (seen, step) = (seen + 1, step + 1);
            if step == 17 {
                step = 0;
                assert!(txn.table("records")?.delete(&key)?);
                records.remove(&key);
            }
        }
        assert_eq!(seen, 12_000);
        assert_same(&txn.view(id)?, &records);
        Ok(())
    })
    .unwrap();
    assert_same(&db.read().unwrap().table("records").unwrap(), &records);
}

#[test]
fn a_file_that_outgrows_its_memory_is_read_on() {
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().file_memory(300_000).open(dir.path().join("growing.dm")).unwrap();
    let mut records = Records::new();
    for round in 0..6 {
        db.update(|txn| {
            let mut table = txn.table("records")?;
            for i in round * 1000..(round + 1) * 1000 {
                table.put(key(i), value(i))?;
                records.insert(key(i), value(i));
            }
            Ok(())
        })
        .unwrap();
        let snapshot = db.read().unwrap();
        assert_same(&snapshot.table("records").unwrap(), &records);
        assert_all_found(&snapshot.table("records").unwrap(), &records, 100);
    }
}

#[test]
fn a_file_that_was_cut_shorter_is_an_error_and_no_signal() {
    let (_dir, path, _) = scratch(4_000);
    let whole = std::fs::metadata(&path).unwrap().len();
    let db = options().open(&path).unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().set_len(whole / 2).unwrap();
    assert!(matches!(db.read(), Err(Error::Truncated { .. })));
    assert!(matches!(
        options().read_only(true).open(&path).and_then(|db| db.read().map(drop)),
        Err(Error::Truncated { .. })
    ));
}

#[test]
fn a_file_that_may_only_be_read_is_read_ahead_too() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, path, records) = scratch(4_000);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    for options in [options().read_only(true), options().read_only(true).without_lock_file()] {
        evict(&path);
        let db: Database = options.open(&path).unwrap();
        let snapshot = db.read().unwrap();
        assert_same(&snapshot.table("records").unwrap(), &records);
        assert_all_found(&snapshot.table("records").unwrap(), &records, 64);
    }
}
