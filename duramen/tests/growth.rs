//! How long a file becomes by much work that leaves little in it.

mod roles;

use duramen::{Database, Durability, Result};
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
