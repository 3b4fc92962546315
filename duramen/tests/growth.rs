//! How long a file becomes by much work that leaves little in it.

mod roles;

use duramen::{Database, Durability, Result, Snapshot};
use roles::Random;

/// Long values that come and go, among them a log that only grows and a table of short entries that change.
#[test]
fn long_values_find_the_room_that_others_left() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::options().durability(Durability::Relaxed).open(dir.path().join("mixed.dm"))?;
    let (mut random, bytes) = (Random::from(7), vec![5; 80_000]);
    for n in 0..8_000_u64 {
        db.update(|txn| {
            txn.table("log")?.put(n.to_be_bytes(), [1; 150])?;
            let mut short = txn.table("short")?;
            for _ in 0..3 {
                short.put(random.below(2_000).to_be_bytes(), &bytes[..random.below(300) as usize])?;
            }
            if random.below(8) == 0 {
                let length = 20_000 + random.below(60_000) as usize;
                txn.table("long")?.put(random.below(20).to_be_bytes(), &bytes[..length])?;
            }
            Ok(())
        })?;
    }
    let stats = db.stats()?;
    assert!(stats.free_pages < stats.pages / 3, "{} of {} pages are free", stats.free_pages, stats.pages);
    assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    Ok(())
}

/// After a power cut the disk's snapshot is the one before the deletion: until it has that, nothing may be written over.
#[test]
fn what_relaxed_commits_left_is_free_for_who_waits_for_the_disk() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::options().durability(Durability::Relaxed).open(dir.path().join("freed.dm"))?;
    db.update(|txn| txn.table("t")?.put("long", vec![1; 400 * db.page_size()]))?;
    db.sync()?;
    db.update(|txn| txn.table("t")?.delete("long"))?;
    let mut txn = db.begin_write()?;
    assert!(txn.pages_free(0)? < 400);
    assert!(txn.pages_free(400)? >= 400);
    drop(txn);
    let stats = db.stats()?;
    assert_eq!(stats.durable_txnid, db.read()?.txnid());
    Ok(())
}

/// A day's entries come in while those of long ago go, whole leaves at a time.
fn days_pass(db: &Database, days: std::ops::Range<u64>) -> Result<()> {
    let (each, kept) = (1000, 20);
    for day in days {
        db.update(|txn| {
            let mut events = txn.table("events")?;
            (day * each..(day + 1) * each).try_for_each(|event| events.put(event.to_be_bytes(), [5; 100]))?;
            events.delete_range(..(day.saturating_sub(kept) * each).to_be_bytes()).map(drop)
        })?;
    }
    Ok(())
}

/// What the only reader keeps, who sees this much of the file.
fn held_by_the_reader(db: &Database, reader: &Snapshot<'_>) -> Result<(u64, u64)> {
    let readers = db.readers()?;
    assert_eq!(readers.len(), 1);
    Ok((readers[0].pages_held, reader.pages()))
}

#[test]
fn a_parked_reader_does_not_hold_leaves_that_came_and_went_in_ranges_after_it() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    // Each commit flushes the data file, so that nothing has to be known of what older ones wrote for its proof.
    let db = Database::options().without_log().open(dir.path().join("events.dm"))?;
    days_pass(&db, 0..30)?;
    let reader = db.read()?;
    days_pass(&db, 30..100)?;
    db.checkpoint()?;
    let (held, seen) = held_by_the_reader(&db, &reader)?;
    assert!(held <= seen, "{held} pages for a reader who sees {seen}");
    assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    Ok(())
}

#[test]
fn a_parked_reader_does_not_hold_tables_that_were_made_and_dropped_after_it() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("rebuilt.dm"))?;
    db.update(|txn| txn.table("other")?.put("a", "b"))?;
    let reader = db.read()?;
    for round in 0..20_u8 {
        db.update(|txn| {
            txn.drop_table("rebuilt")?;
            let mut table = txn.table("rebuilt")?;
            (0..5_000_u32).try_for_each(|n| table.put(n.to_be_bytes(), [round; 100]))
        })?;
    }
    db.checkpoint()?;
    let (held, seen) = held_by_the_reader(&db, &reader)?;
    assert!(held <= seen, "{held} pages for a reader who sees {seen}");
    assert_eq!(reader.table("other")?.get("a")?, Some(&b"b"[..]));
    Ok(())
}
