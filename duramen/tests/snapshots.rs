//! Snapshots: what readers see while others write, and what they cost.

mod roles;

use std::sync::atomic::{AtomicBool, Ordering};

use duramen::{Database, Durability, Error, Options, Result, Snapshot};
use roles::{Random, hasty, ledger};
use tempfile::TempDir;

fn scratch(durability: Durability) -> (TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().durability(durability).open(dir.path().join("snapshots.dm")).unwrap();
    (dir, db)
}

fn assert_clean(db: &Database) {
    assert_eq!(db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

/// Sets a flag when it goes out of scope, even by a panic.
struct Signal<'f>(&'f AtomicBool);

impl Drop for Signal<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Reads whole snapshots again and again until the writer is done; how many they were.
fn read_on(db: &Database, done: &AtomicBool) -> u64 {
    let (mut snapshots, mut newest) = (0, 0);
    while !done.load(Ordering::Acquire) || snapshots == 0 {
        let snapshot = db.read().unwrap();
        assert!(snapshot.txnid().0 >= newest, "time runs forwards");
        newest = snapshot.txnid().0;
        let sum = ledger::prove(&snapshot);
        for _ in 0..3 {
            assert_eq!(ledger::prove(&snapshot), sum, "a snapshot changed under its reader");
        }
        snapshots += 1;
    }
    snapshots
}

fn readers_beside_a_writer(durability: Durability, commits: u64) {
    let mut random = Random::new();
    let (_dir, db) = scratch(durability);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| read_on(&db, &done));
        }
        let _signal = Signal(&done);
        for _ in 0..commits {
            db.update(|txn| ledger::change(txn, &mut random, "writer", 60)).unwrap();
        }
    });
    assert_eq!(ledger::commits_of(&db.read().unwrap(), "writer"), commits);
    assert_clean(&db);
}

#[test]
fn snapshots_stay_as_they_are_beside_durable_commits() {
    readers_beside_a_writer(Durability::Durable, 250);
}

#[test]
fn snapshots_stay_as_they_are_beside_relaxed_commits() {
    readers_beside_a_writer(Durability::Relaxed, 2000);
}

#[test]
fn readers_can_be_listed_while_others_write() -> Result<()> {
    let mut random = Random::new();
    let (_dir, db) = scratch(Durability::Relaxed);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _snapshot = db.read().unwrap();
            while !done.load(Ordering::Acquire) {
                assert!(!db.readers().unwrap().is_empty());
            }
        });
        let _signal = Signal(&done);
        (0..3000).try_for_each(|_| db.update(|txn| ledger::change(txn, &mut random, "writer", 5)).map(drop))
    })
}

/// Commits random updates to a table of 20,000 entries, and says how long the file then is.
fn updated(db: &Database, random: &mut Random, commits: u64) -> Result<u64> {
    for _ in 0..commits {
        let mut txn = db.begin_write()?;
        let data = txn.open_table("data", None)?;
        for _ in 0..4 {
            txn.put(data, random.below(20_000).to_be_bytes(), [random.next() as u8; 100])?;
        }
        txn.commit()?;
    }
    Ok(db.stats()?.file_bytes)
}

/// A table of 20,000 entries, made durable without waiting for the disk.
fn filled() -> Result<(TempDir, Database)> {
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().medium(hasty()).open(dir.path().join("filled.dm"))?;
    db.update(|txn| (0..20_000u64).try_for_each(|i| txn.table("data")?.append(i.to_be_bytes(), [0; 100])))?;
    Ok((dir, db))
}

#[test]
fn small_relaxed_commits_write_over_the_pages_that_the_last_ones_freed() -> Result<()> {
    let (_dir, db) = scratch(Durability::Relaxed);
    let put = |number: u32| db.update(|txn| txn.table("data")?.put((number % 3).to_be_bytes(), [7; 100]));
    put(0)?;
    db.checkpoint()?;
    let before = db.stats()?.pages;
    for number in 0..2_000 {
        put(number)?;
    }
    let grown = db.stats()?.pages - before;
    assert!(grown < 64, "{grown} pages more");
    assert_clean(&db);
    Ok(())
}

#[test]
fn a_parked_reader_costs_only_the_pages_that_it_sees() -> Result<()> {
    let mut random = Random::new();
    let (_dir, alone) = filled()?;
    let without = updated(&alone, &mut random, 10_000)?;
    let (_dir, db) = filled()?;
    let parked = db.read()?;
    let (entries, seen) = (parked.table("data")?.iter().count(), db.stats()?.pages);
    let with = updated(&db, &mut random, 10_000)?;
    assert_eq!(parked.table("data")?.iter().count(), entries);
    let held = db.readers()?[0].pages_held;
    assert!(0 < held && held <= seen, "{held} pages held, {seen} seen");
    // All of what it sees was rewritten since, so that the file holds it twice: no more.
    let bound = without + seen * 4096;
    assert!(with * 10 < bound * 13, "{with} bytes with a reader, {without} without, which sees {seen} pages");
    drop(parked);
    updated(&db, &mut random, 2)?;
    // What only the last flush of the data file can see is not the reader's doing.
    db.checkpoint()?;
    assert!(db.stats()?.retired_pages < 100);
    assert_clean(&db);
    Ok(())
}

#[test]
fn several_parked_readers_hold_each_what_it_sees() -> Result<()> {
    let mut random = Random::new();
    let (_dir, db) = filled()?;
    let seen = db.stats()?.pages;
    let mut parked = Vec::new();
    for _ in 0..4 {
        parked.push(db.read()?);
        updated(&db, &mut random, 700)?;
    }
    // What only the last flush of the data file can see is not the readers' doing.
    db.checkpoint()?;
    let stats = db.stats()?;
    assert!(stats.retired_pages <= 4 * seen + 64, "{stats:?}");
    for reader in db.readers()? {
        assert!(reader.pages_held <= stats.retired_pages);
        assert_eq!(reader.pid, u64::from(std::process::id()));
    }
    // The one in the middle goes: what only it saw is free, and the others see what they saw.
    parked.remove(1);
    updated(&db, &mut random, 2)?;
    db.checkpoint()?;
    assert!(db.stats()?.retired_pages < stats.retired_pages);
    assert!(parked.iter().all(|snapshot| snapshot.table("data").unwrap().iter().count() == 20_000));
    assert_clean(&db);
    Ok(())
}

#[test]
fn all_that_is_free_is_used_before_the_file_has_more_pages_than_wanted() -> Result<()> {
    const WANTED: u64 = 512;
    let (_dir, db) = scratch(Durability::Relaxed);
    for i in 0u64.. {
        let mut txn = db.begin_write()?;
        txn.set_pages_wanted(WANTED);
        let left = (WANTED + txn.pages_free(0)?).saturating_sub(txn.pages());
        assert!(
            txn.pages() <= WANTED,
            "{} pages, and {left} of {WANTED} were left after {i} transactions",
            txn.pages()
        );
        if left < 16 {
            assert!(i > 1000, "full after {i} transactions");
            break;
        }
        txn.table("t")?.put(i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), [7; 300])?;
        txn.commit()?;
    }
    Ok(())
}

#[test]
fn a_value_for_which_there_is_no_hole_is_refused_before_the_file_has_more_pages_than_wanted() -> Result<()> {
    const WANTED: u64 = 512;
    let (_dir, db) = scratch(Durability::Relaxed);
    let key = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    // Values of two pages each, and then holes of two pages where every other one was.
    db.update(|txn| (0..200).try_for_each(|i| txn.table("t")?.put(key(i), [7; 5000])))?;
    db.update(|txn| (0..200).step_by(2).try_for_each(|i| txn.table("t")?.delete(key(i)).map(drop)))?;
    db.checkpoint()?;
    let put = |mut which: std::ops::Range<u64>, bytes: usize| {
        let mut txn = db.begin_write()?;
        txn.set_pages_wanted(WANTED);
        which.try_for_each(|i| txn.table("t")?.put(key(i), vec![8; bytes]))?;
        txn.commit()
    };
    let refused = (1000..).map(|i| put(i..i + 1, 9000)).find(Result::is_err);
    assert!(matches!(refused, Some(Err(duramen::Error::NoRoom { pages: 3, wanted: WANTED }))), "{refused:?}");
    let full = db.stats()?;
    assert!(full.free_pages > 100, "{full:?}");
    // What fits into the holes is stored.
    put(2000..2040, 5000)?;
    assert!(db.stats()?.pages <= WANTED + 2, "{:?}", db.stats()?);
    assert_clean(&db);
    Ok(())
}

#[test]
fn a_value_takes_the_hole_that_a_reader_has_just_left() -> Result<()> {
    let (_dir, db) = scratch(Durability::Relaxed);
    db.update(|txn| (0..200u64).try_for_each(|i| txn.table("t")?.put(i.to_be_bytes(), [7; 5000])))?;
    db.update(|txn| (0..200u64).step_by(2).try_for_each(|i| txn.table("t")?.delete(i.to_be_bytes()).map(drop)))?;
    db.update(|txn| txn.table("long")?.put("first", [8; 40_000]))?;
    let wanted = db.stats()?.pages;
    let put = |i: u64| {
        let mut txn = db.begin_write()?;
        txn.set_pages_wanted(wanted);
        txn.table("long")?.put(i.to_be_bytes(), [8; 40_000])?;
        txn.commit()
    };
    let full = (0..).find(|&i| put(i).is_err()).unwrap();
    assert!(full > 0);
    for i in 0..full {
        let reader = db.read()?;
        db.update(|txn| txn.table("long")?.delete(i.to_be_bytes()).map(drop))?;
        // Now nothing waits for the disk, and what is free is more than enough: only no ten pages lie side by side.
        db.checkpoint()?;
        drop(reader);
        put(full + 1 + i)?;
    }
    assert_clean(&db);
    Ok(())
}

#[test]
fn the_file_shrinks_when_most_of_it_is_deleted() -> Result<()> {
    let (_dir, db) = filled()?;
    let full = db.stats()?.file_bytes;
    db.update(|txn| txn.table("data")?.delete_range(100u64.to_be_bytes()..))?;
    // What was just deleted is free for the commits after.
    for _ in 0..3 {
        db.update(|txn| (0..100u64).try_for_each(|i| txn.table("data")?.put(i.to_be_bytes(), [1; 100])))?;
    }
    let stats = db.stats()?;
    assert!(stats.file_bytes * 10 < full, "{} bytes of {full}: {stats:?}", stats.file_bytes);
    assert_eq!(stats.file_bytes, stats.pages * stats.page_size as u64);
    assert_clean(&db);
    Ok(())
}

/// Deletes most of a file, then makes small commits until all that is left has been written again, and has the last ones
/// flushed like this. Bytes of the file before; the database.
fn emptied(durability: Durability, flush: impl Fn(Database) -> Result<Database>) -> Result<(TempDir, u64, Database)> {
    let (dir, db) = filled()?;
    let full = db.stats()?.file_bytes;
    db.close()?;
    // Durable commits go into the log.
    let db = Options::new().durability(durability).log_at_once(1 << 20).open(dir.path().join("filled.dm"))?;
    db.update(|txn| txn.table("data")?.delete_range(100u64.to_be_bytes()..))?;
    let emptied = (0..30u8).try_fold(db, |db, round| {
        db.update(|txn| (0..100u64).try_for_each(|i| txn.table("data")?.put(i.to_be_bytes(), [round; 100])))?;
        flush(db)
    })?;
    Ok((dir, full, emptied))
}

#[test]
fn small_commits_keep_no_page_at_the_end_of_a_file_that_is_mostly_free() -> Result<()> {
    for durability in [Durability::Relaxed, Durability::Durable] {
        let (_dir, full, db) = emptied(durability, |db| db.checkpoint().map(|()| db))?;
        let stats = db.stats()?;
        assert!(stats.pages * stats.page_size as u64 * 10 < full, "{durability:?}: {full} bytes, {stats:?}");
        assert_clean(&db);
    }
    Ok(())
}

#[test]
fn the_file_is_as_long_as_what_was_flushed_and_closed_needs() -> Result<()> {
    let reopen = |db: Database| {
        let path = db.path().to_path_buf();
        db.close()?;
        Options::new().durability(Durability::Relaxed).open(path)
    };
    for durability in [Durability::Relaxed, Durability::Durable] {
        let flushed = emptied(durability, |db| db.checkpoint().map(|()| db))?;
        for (_dir, full, db) in [flushed, emptied(durability, reopen)?] {
            let stats = db.stats()?;
            assert!(stats.file_bytes * 10 < full, "{durability:?}: {full} bytes, {stats:?}");
            assert_eq!(stats.file_bytes, stats.pages * stats.page_size as u64);
        }
    }
    Ok(())
}

#[test]
fn a_reader_keeps_its_pages_while_the_file_shrinks() -> Result<()> {
    let (_dir, db) = filled()?;
    let parked = db.read()?;
    for i in 0..5u64 {
        db.update(|txn| txn.table("data")?.delete_range((i * 4000).to_be_bytes()..(i * 4000 + 3990).to_be_bytes()))?;
        assert_eq!(parked.table("data")?.iter().count(), 20_000);
    }
    assert_clean(&db);
    Ok(())
}

#[test]
fn a_snapshot_shows_the_newest_commit_before_it_and_none_after() -> Result<()> {
    let (_dir, db) = scratch(Durability::Durable);
    let empty = db.read()?;
    assert_eq!((empty.txnid().0, empty.table_names()?), (0, Vec::new()));
    assert!(matches!(empty.table("t"), Err(Error::NoSuchTable { name }) if name == "t"));
    assert!(empty.find_table("t", None)?.is_none());
    db.update(|txn| txn.table("t")?.put("key", "one"))?;
    let one = db.read()?;
    db.update(|txn| txn.table("t")?.put("key", "two"))?;
    assert_eq!(one.table("t")?.get("key")?, Some(&b"one"[..]));
    assert_eq!(db.read()?.table("t")?.get("key")?, Some(&b"two"[..]));
    assert_eq!(empty.table_names()?, Vec::<Vec<u8>>::new());
    Ok(())
}

#[test]
fn reset_lets_go_of_the_state_and_renew_takes_the_newest() -> Result<()> {
    let (_dir, db) = scratch(Durability::Durable);
    db.update(|txn| txn.table("t")?.put("key", "one"))?;
    let mut snapshot = db.read()?;
    db.update(|txn| txn.table("t")?.put("key", "two"))?;
    snapshot.reset();
    assert_eq!(db.readers()?, Vec::new());
    assert!(matches!(snapshot.table("t"), Err(Error::Usage { .. })));
    assert!(matches!(snapshot.table_names(), Err(Error::Usage { .. })));
    assert!(matches!(snapshot.main_table(), Err(Error::Usage { .. })));
    snapshot.renew()?;
    assert_eq!(snapshot.table("t")?.get("key")?, Some(&b"two"[..]));
    snapshot.renew()?;
    assert_eq!(db.readers()?.len(), 1);
    Ok(())
}

#[test]
fn snapshots_go_from_thread_to_thread() -> Result<()> {
    let (_dir, db) = scratch(Durability::Durable);
    db.update(|txn| txn.table("t")?.put("key", "value"))?;
    let snapshot = db.read_owned()?;
    // The snapshot keeps the database open by itself.
    assert!(matches!(db.close(), Err(Error::Usage { .. })));
    let snapshot = std::thread::spawn(move || {
        assert_eq!(snapshot.table("t").unwrap().get("key").unwrap(), Some(&b"value"[..]));
        snapshot
    });
    let snapshot = snapshot.join().unwrap();
    assert_eq!(snapshot.table("t")?.len(), 1);
    Ok(())
}

#[test]
fn a_thread_may_hold_any_number_of_snapshots() -> Result<()> {
    let (_dir, db) = scratch(Durability::Relaxed);
    let mut held: Vec<Snapshot<'_>> = Vec::new();
    for i in 0..1000u64 {
        db.update(|txn| txn.table("t")?.put("count", i.to_be_bytes()))?;
        held.push(db.read()?);
    }
    assert_eq!(db.readers()?.len(), 1000);
    for (i, snapshot) in held.iter().enumerate() {
        assert_eq!(snapshot.table("t")?.get("count")?, Some(&(i as u64).to_be_bytes()[..]));
    }
    held.clear();
    assert_eq!(db.readers()?, Vec::new());
    assert_clean(&db);
    Ok(())
}

#[test]
fn writers_in_threads_take_turns() -> Result<()> {
    let (_dir, db) = scratch(Durability::Relaxed);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let db = db.clone();
            scope.spawn(move || {
                let (mut random, name) = (Random::new(), format!("writer {thread}"));
                for _ in 0..200 {
                    db.update(|txn| ledger::change(txn, &mut random, &name, 10)).unwrap();
                }
            });
        }
    });
    let snapshot = db.read()?;
    ledger::prove(&snapshot);
    assert!((0..4).all(|thread| ledger::commits_of(&snapshot, &format!("writer {thread}")) == 200));
    Ok(())
}

#[test]
fn without_a_lock_file_a_transaction_sees_what_another_handle_has_committed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("unlocked.dm");
    let open = || Database::options().without_lock_file().open(&path).unwrap();
    let (one, other) = (open(), open());
    for i in 0..200u32 {
        let (writer, reader) = if i % 3 == 0 { (&one, &other) } else { (&other, &one) };
        writer.update(|txn| txn.table("t")?.put(i.to_be_bytes(), vec![i as u8; 300])).unwrap();
        let snapshot = reader.read().unwrap();
        assert_eq!(snapshot.txnid().0, u64::from(i) + 1);
        assert_eq!(snapshot.table("t").unwrap().len(), u64::from(i) + 1);
    }
    assert!(one.check(|_, _| {}).unwrap().is_clean());
}

#[test]
fn a_copy_shows_the_newest_commit_while_writers_go_on() {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("original.dm")).unwrap();
    let put = |i: u32| {
        db.update(|txn| {
            txn.set_user_number(u64::from(i));
            txn.table("t")?.put((i % 50).to_be_bytes(), vec![i as u8; 5000])
        })
    };
    (0..120).for_each(|i| put(i).unwrap());
    let mut bytes = Vec::new();
    db.copy_to(&mut bytes).unwrap();
    let path = directory.path().join("copy.dm");
    db.copy_to_file(&std::fs::File::create(&path).unwrap()).unwrap();
    let again = std::fs::File::options().write(true).open(&path).unwrap();
    assert!(matches!(db.copy_to_file(&again), Err(Error::Usage { .. })), "it is not empty");
    let empty = path.with_extension("empty");
    std::fs::write(&empty, "").unwrap();
    assert!(matches!(db.copy_to_file(&std::fs::File::open(&empty).unwrap()), Err(Error::Io { .. })), "it is read-only");
    assert_eq!(std::fs::read(&empty).unwrap(), b"");
    put(120).unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes, "both ways to copy give the same file");
    let copy = Database::open(path).unwrap();
    assert!(copy.check(|_, _| {}).unwrap().is_clean());
    assert_eq!((copy.user_number().unwrap(), db.user_number().unwrap()), (119, 120));
    assert_eq!(copy.read().unwrap().table("t").unwrap().len(), 50);
    copy.update(|txn| txn.table("t")?.put(b"more", b"")).unwrap();
    assert!(copy.check(|_, _| {}).unwrap().is_clean());
}

#[test]
fn a_detached_table_is_opened_again_in_snapshots_of_its_commit_only() {
    let (_dir, db) = scratch(Durability::Relaxed);
    db.update(|txn| txn.table("people")?.put("bjensen", "Barbara")).unwrap();
    let mut snapshot = db.read().unwrap();
    let detached = snapshot.table("people").unwrap().detached().unwrap();
    let again = db.read().unwrap();
    let value = again.attach(&detached).unwrap().get("bjensen").unwrap();
    assert_eq!(value, Some(&b"Barbara"[..]));

    let (_other_dir, other) = scratch(Durability::Relaxed);
    other.update(|txn| txn.table("people")?.put("bjensen", "Björn")).unwrap();
    let stranger = other.read().unwrap();
    assert_eq!(stranger.txnid(), snapshot.txnid());
    assert!(stranger.attach(&detached).is_none(), "another database's table");

    db.update(|txn| txn.table("people")?.put("bjensen", "Björn")).unwrap();
    assert!(again.attach(&detached).is_some(), "the older snapshot is what it was");
    assert!(db.read().unwrap().attach(&detached).is_none(), "the table has changed since");
    snapshot.reset();
    assert!(snapshot.attach(&detached).is_none(), "there is no snapshot");
    let txn = db.begin_write().unwrap();
    assert!(txn.view(txn.main_table()).unwrap().detached().is_none(), "a table that may change");
}

#[test]
fn a_glance_tells_the_newest_commits_numbers_and_holds_nothing() -> Result<()> {
    let (_directory, db) = scratch(Durability::Relaxed);
    for round in 0..100u32 {
        db.update(|txn| txn.table(format!("table {round}"))?.put(b"key", b"value"))?;
        let (glance, read) = (db.glance()?, db.read()?);
        assert_eq!((glance.txnid(), glance.pages()), (read.txnid(), read.pages()));
        assert_eq!(glance.main_stats(), read.main_stats());
        assert_eq!(glance.main_stats().entries, u64::from(round) + 1);
        drop(read);
        assert_eq!(db.readers()?, []);
        assert!(glance.main_table().is_err() && glance.table("table 0").is_err());
    }
    Ok(())
}

#[test]
fn a_table_says_which_commit_changed_it_last() {
    let (_dir, db) = scratch(Durability::Relaxed);
    let changed = |name: &str| db.read().unwrap().table(name).unwrap().changed_in().unwrap();
    db.update(|txn| ["names", "others"].into_iter().try_for_each(|name| txn.table(name).map(drop))).unwrap();
    assert_eq!(changed("names"), None, "empty");
    db.update(|txn| (0..1000u32).try_for_each(|n| txn.table("names")?.put(n.to_be_bytes(), [7; 100]))).unwrap();
    let first = changed("names");
    assert_eq!(first, Some(db.read().unwrap().txnid()));
    db.update(|txn| txn.table("others")?.put(b"x", b"y")).unwrap();
    assert_eq!(changed("names"), first, "another table's commit");
    assert_eq!(changed("others"), Some(db.read().unwrap().txnid()));
    let mut txn = db.begin_write().unwrap();
    let id = txn.open_table("names", None).unwrap();
    assert_eq!(txn.view(id).unwrap().changed_in().unwrap(), first);
    let mut child = txn.child().unwrap();
    child.put(id, 500u32.to_be_bytes(), b"changed").unwrap();
    assert_eq!(child.view(id).unwrap().changed_in().unwrap(), None, "by this transaction");
    child.abort();
    assert_eq!(txn.view(id).unwrap().changed_in().unwrap(), first, "taken back");
    txn.put(id, 999u32.to_be_bytes(), b"changed").unwrap();
    txn.commit().unwrap();
    assert_eq!(changed("names"), Some(db.read().unwrap().txnid()), "in one leaf of many");
}
