//! Large values that need not be verified before they are handed out.

use std::fs::{self, File, OpenOptions};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;

use duramen::{BulkOptions, Database, Options, Result, WriteTxn};
use rustix::fs::{Advice, fadvise};

const VALUES: u32 = 100;
const VALUE_BYTES: usize = 150_000;

/// A file of large values that is not in memory, where there is a disk behind it. In the build's folder: others are often
/// kept in memory alone.
fn cold_file(dir: &Path) -> std::path::PathBuf {
    let path = dir.join("large.dm");
    let db = Database::open(&path).unwrap();
    let mut txn = db.begin_write().unwrap();
    let mut table = txn.table("large").unwrap();
    for key in 0..VALUES {
        table.put(key.to_be_bytes(), value(key)).unwrap();
    }
    txn.commit().unwrap();
    drop(db);
    forget(&path);
    path
}

fn value(key: u32) -> Vec<u8> {
    vec![key as u8; VALUE_BYTES]
}

/// Has the kernel drop what it keeps of the file.
fn forget(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
}

fn dir() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// `late`: as the name says. The file is read page by page.
fn open(path: &Path, late: bool) -> Database {
    Options::new().late_checks(late).file_memory(0).open(path).unwrap()
}

/// Bytes that this thread has had read from disks.
fn bytes_read() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("read_bytes: ")).unwrap();
    line.parse().unwrap()
}

/// Walks over all entries and looks at keys, and at every page of the values if `reads`. How many there were.
fn walk(db: &Database, reads: bool) -> Result<u32> {
    let snapshot = db.read()?;
    let mut cursor = snapshot.table("large")?.cursor();
    let mut entries = 0_u32;
    while let Some((key, value)) = cursor.next()? {
        assert_eq!(key, entries.to_be_bytes());
        assert_eq!(value.len(), VALUE_BYTES);
        if reads {
            assert!(value.iter().step_by(512).filter(|&&byte| byte != key[3]).count() <= 1);
        }
        entries += 1;
    }
    Ok(entries)
}

/// Damages one byte of the value of this key, in the middle of it.
fn damage(path: &Path, key: u32) {
    let bytes = fs::read(path).unwrap();
    let wanted = value(key);
    let at = bytes.windows(VALUE_BYTES).step_by(8).position(|window| window == wanted).unwrap() * 8;
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[!(key as u8)], (at + 4096) as u64).unwrap();
}

#[test]
fn listing_the_keys_of_large_values_reads_none_of_them() {
    let dir = dir();
    let path = cold_file(dir.path());
    let [late, early] = [true, false].map(|late| {
        forget(&path);
        let db = open(&path, late);
        let before = bytes_read();
        assert_eq!(walk(&db, false).unwrap(), VALUES);
        bytes_read() - before
    });
    // Where no disk is behind the file, both are nothing.
    assert!(late * 10 <= early, "{late} bytes were read, and {early} where each is verified first");
}

#[test]
fn damage_in_a_value_that_is_read_is_told_by_the_end_of_the_walk() {
    let dir = dir();
    let path = cold_file(dir.path());
    for (i, key) in [0, 2, 50, VALUES - 1].into_iter().enumerate() {
        damage(&path, key);
        for reads_before in [false, true] {
            forget(&path);
            let db = open(&path, true);
            if reads_before {
                walk(&db, false).unwrap();
            }
            let error = walk(&db, true).unwrap_err().to_string();
            assert!(error.contains("page"), "{error}");
        }
        // The same in memory: before it is handed out.
        fs::read(&path).unwrap();
        let db = open(&path, true);
        assert!(walk(&db, false).is_err());
        drop(db);
        assert_eq!(Database::open(&path).unwrap().check(|_, _| ()).unwrap().findings.len(), i + 1);
    }
}

#[test]
fn a_value_that_is_asked_for_by_its_key_was_verified() {
    let dir = dir();
    let path = cold_file(dir.path());
    damage(&path, 7);
    damage(&path, 9);
    forget(&path);
    let db = open(&path, true);
    let snapshot = db.read().unwrap();
    let table = snapshot.table("large").unwrap();
    assert!(table.get(7_u32.to_be_bytes()).is_err());
    assert_eq!(table.get(8_u32.to_be_bytes()).unwrap(), Some(&value(8)[..]));
    assert!(table.cursor().seek(9_u32.to_be_bytes()).is_err());
}

#[test]
fn a_transaction_may_choose_for_itself() {
    let dir = dir();
    let path = cold_file(dir.path());
    damage(&path, VALUES - 1);
    forget(&path);
    let db = open(&path, true);
    let mut snapshot = db.read().unwrap();
    snapshot.late_checks(false);
    let mut cursor = snapshot.table("large").unwrap().cursor();
    assert!(cursor.last().is_err());
    assert!(db.copy_compact(dir.path().join("copy.dm"), |_, _| ControlFlow::Continue(())).is_err());
}

#[test]
fn in_a_write_transaction_what_waits_is_verified_too() {
    let dir = dir();
    let path = cold_file(dir.path());
    damage(&path, 3);
    forget(&path);
    let db = open(&path, true);
    let mut txn = db.begin_write().unwrap();
    let table = txn.table("large").unwrap().id();
    let mut cursor = txn.cursor(table).unwrap();
    let mut told = false;
    loop {
        match cursor.next(&txn) {
            Ok(Some((_, value))) => assert!(value.iter().step_by(512).filter(|&&byte| byte != value[0]).count() <= 1),
            Ok(None) => break,
            Err(_) => told = true,
        }
    }
    assert!(told);
}

/// A new file.
fn empty(dir: &Path) -> (std::path::PathBuf, Database) {
    let path = dir.join("own.dm");
    let db = open(&path, true);
    (path, db)
}

/// Loads a table inside a transaction. `cached`: what is written stays in memory.
fn load(txn: &mut WriteTxn<'_>, name: &str, values: impl Iterator<Item = Vec<u8>>, cached: bool) -> Result<()> {
    let mut load = txn.bulk_load(name, BulkOptions::new().keep_cached(cached))?;
    for (key, value) in (0_u32..).zip(values) {
        load.push(key.to_be_bytes(), value)?;
    }
    load.finish().map(drop)
}

/// Reads the second value of a table, which waits from now on.
fn read_second(txn: &mut WriteTxn<'_>, name: &str) -> Result<()> {
    let table = txn.table(name)?.id();
    let mut cursor = txn.cursor(table)?;
    cursor.first(txn)?;
    let (_, read) = cursor.next(txn)?.unwrap();
    assert_eq!(read, value(1));
    Ok(())
}

/// Walks over a table of a transaction, to its end.
fn walk_own(txn: &mut WriteTxn<'_>, name: &str) -> Result<u32> {
    let table = txn.table(name)?.id();
    let (mut cursor, mut entries) = (txn.cursor(table)?, 0);
    while cursor.next(txn)?.is_some() {
        entries += 1;
    }
    Ok(entries)
}

#[test]
fn a_value_that_an_aborted_child_wrote_and_read_is_not_looked_for_later() -> Result<()> {
    let dir = dir();
    let (path, db) = empty(dir.path());
    let mut txn = db.begin_write()?;
    txn.table("kept")?.put("key", "value")?;
    let mut child = txn.child()?;
    load(&mut child, "own", (0..9).map(value), false)?;
    forget(&path);
    read_second(&mut child, "own")?;
    child.abort();
    assert_eq!(walk_own(&mut txn, "kept")?, 1);
    txn.commit()
}

#[test]
fn a_value_that_was_read_and_whose_pages_have_become_others_is_not_looked_for_there() -> Result<()> {
    let dir = dir();
    let (path, db) = empty(dir.path());
    let mut txn = db.begin_write()?;
    load(&mut txn, "own", (0..9).map(value), false)?;
    forget(&path);
    read_second(&mut txn, "own")?;
    txn.table("own")?.clear()?;
    // With this load the pages of what was cleared become free; the next one takes them, for one value.
    load(&mut txn, "other", (0..1).map(value), true)?;
    load(&mut txn, "own", [vec![0; 9 * VALUE_BYTES]].into_iter(), true)?;
    assert_eq!(walk_own(&mut txn, "own")?, 1);
    txn.commit()?;
    assert_eq!(db.check(|_, _| ())?.findings.len(), 0);
    Ok(())
}
