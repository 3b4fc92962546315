//! Flushes that a program waits for in one thread, by `sync`, beside commits.

use std::thread::{Scope, ScopedJoinHandle};

use super::*;

/// Syncs beside a transaction, which is committed after it.
fn sync_beside(db: &Database, value: u64) -> Result {
    let mut txn = db.begin_write()?;
    db.sync()?;
    txn.table("t")?.put(0u64.to_be_bytes(), [&value.to_be_bytes()[..], &[7; 90]].concat())?;
    txn.commit()?;
    Ok(())
}

#[test]
fn what_was_synced_beside_a_transaction_is_durable_from_the_next_one_on_and_nobody_waits() -> Result {
    let place = Place::new()?;
    let db = in_time(&place.slow).open(place.path())?;
    put(&db, 1)?;
    for value in 2..8 {
        put(&db, value)?;
        let (found, _) = commits(&db)?;
        let flushes = place.slow.flushes();
        sync_beside(&db, value)?;
        let on_top = std::fs::read(place.path())?;
        drop(db.begin_write()?);
        assert_eq!(commits(&db)?, (Txnid(found.0 + 1), found));
        assert_eq!(place.slow.flushes(), flushes + 1, "of who synced");
        // The power is cut, and what came after that was synced is not there, whatever else is.
        put(&db, value + 100)?;
        put(&db, value + 100)?;
        let head = std::fs::read(place.path())?[..HEAD].to_vec();
        assert_eq!(place.value_of(&head, &on_top)?, value);
        assert_eq!(place.proven()?, value + 100, "what came on top of it proves itself");
    }
    Ok(())
}

/// A flush that goes on until this is dropped.
struct HeldFlush(Slow);

impl Drop for HeldFlush {
    fn drop(&mut self) {
        self.0.lock().held = false;
    }
}

/// Begins to sync; returns when the disk is at it.
fn syncing<'s>(threads: &'s Scope<'s, '_>, db: &'s Database, slow: &Slow) -> (HeldFlush, ScopedJoinHandle<'s, bool>) {
    slow.lock().held = true;
    let (held, before) = (HeldFlush(slow.clone()), slow.flushes());
    let syncing = threads.spawn(|| db.sync().is_ok());
    while slow.flushes() == before {
        thread::sleep(Duration::from_millis(1));
    }
    (held, syncing)
}

#[test]
fn what_is_being_synced_is_written_over_by_nothing_and_becomes_durable_when_that_is_over() -> Result {
    let place = Place::new()?;
    let db = in_time(&place.slow).open(place.path())?;
    for round in 0..4 {
        (0..5).try_for_each(|_| put(&db, 100))?;
        put(&db, round)?;
        let (found, durable) = commits(&db)?;
        assert!(durable < found);
        thread::scope(|threads| -> Result {
            let (held, syncing) = syncing(threads, &db, &place.slow);
            for value in 101..110 {
                put(&db, value)?;
                assert_eq!(commits(&db)?.1, durable, "not before the disk says so");
                let file = without_later(std::fs::read(place.path())?, found)?;
                assert_eq!(place.value_of(&file[..HEAD], &file)?, round);
            }
            drop(held);
            assert!(syncing.join().unwrap_or(false));
            Ok(())
        })?;
        let flushes = place.slow.flushes();
        put(&db, 111)?;
        assert_eq!((commits(&db)?.1, place.slow.flushes()), (found, flushes));
        assert_eq!(place.proven()?, 111);
    }
    Ok(())
}

#[test]
fn what_is_being_synced_is_made_safe_by_another_handle_that_writes_meanwhile() -> Result {
    let place = Place::new()?;
    let slow = Slow::default();
    let (a, b) = (in_time(&place.slow).open(place.path())?, in_time(&slow).open(place.path())?);
    put(&a, 1)?;
    put(&b, 2)?;
    put(&a, 3)?;
    let found = commits(&a)?.0;
    thread::scope(|threads| -> Result {
        let (held, syncing) = syncing(threads, &a, &place.slow);
        put(&a, 4)?;
        put(&a, 5)?;
        let flushes = slow.flushes();
        put(&b, 6)?;
        assert_eq!(slow.flushes(), flushes + 1);
        assert!(commits(&b)?.1 > found);
        drop(held);
        assert!(syncing.join().unwrap_or(false));
        Ok(())
    })
}

#[test]
fn what_was_synced_while_an_older_commit_became_durable_is_found() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    for value in 1..4 {
        put(&db, value)?;
    }
    place.slow.end(true);
    let mut txn = db.begin_write()?;
    assert!(commits(&db)?.1 < commits(&db)?.0);
    db.sync()?;
    let synced = std::fs::read(place.path())?;
    txn.table("t")?.put(0u64.to_be_bytes(), [4; 98])?;
    txn.commit()?;
    // Of what came after, the disk has the meta page alone. It names the older commit.
    let head = std::fs::read(place.path())?[..HEAD].to_vec();
    assert_eq!(place.value_of(&head, &synced)?, 3);
    Ok(())
}

#[test]
fn what_another_handle_synced_beside_its_transaction_is_kept_by_a_checkpoint() -> Result {
    let place = Place::new()?;
    let slow = Slow::default();
    let (a, b) = (in_time(&place.slow).open(place.path())?, in_time(&slow).open(place.path())?);
    put(&a, 1)?;
    sync_beside(&a, 1)?;
    let flushes = slow.flushes();
    put(&b, 2)?;
    assert_eq!(slow.flushes(), flushes + 1);
    let (newest, durable) = commits(&b)?;
    assert_eq!(durable.0 + 1, newest.0);
    // Both know by now that it is done.
    let flushes = (place.slow.flushes(), slow.flushes());
    put(&a, 3)?;
    put(&b, 4)?;
    assert_eq!((place.slow.flushes(), slow.flushes()), flushes);
    assert_eq!(place.proven()?, 4);
    Ok(())
}

#[test]
fn to_sync_beside_nobody_makes_the_newest_commit_durable_with_one_flush() -> Result {
    let place = Place::new()?;
    let db = in_time(&place.slow).open(place.path())?;
    for value in 0..3 {
        put(&db, value)?;
        let flushes = place.slow.flushes();
        db.sync()?;
        let (newest, durable) = commits(&db)?;
        assert_eq!((newest, place.slow.flushes()), (durable, flushes + 1));
    }
    Ok(())
}

#[test]
fn what_another_handle_synced_is_kept_even_if_this_one_has_asked_as_often() -> Result {
    let place = Place::new()?;
    let slow = Slow::default();
    let (a, b) = (in_time(&place.slow).open(place.path())?, in_time(&slow).open(place.path())?);
    put(&a, 1)?;
    // Beside a transaction of the other, which then makes the checkpoint.
    let mut txn = b.begin_write()?;
    a.sync()?;
    txn.table("of b")?.put("key", "value")?;
    txn.commit()?;
    put(&b, 2)?;
    // And the other way round.
    let mut txn = a.begin_write()?;
    let (found, durable) = commits(&a)?;
    assert!(durable < found);
    b.sync()?;
    txn.table("of a")?.put("key", "value")?;
    txn.commit()?;
    drop(a.begin_write()?);
    assert!(commits(&a)?.1 >= found);
    Ok(())
}

#[test]
fn what_another_handle_synced_is_kept_after_a_checkpoint_for_both() -> Result {
    let place = Place::new()?;
    let slow = Slow::default();
    let (a, b) = (in_time(&place.slow).open(place.path())?, in_time(&slow).open(place.path())?);
    put(&a, 1)?;
    // Both ask beside one transaction; the next makes the checkpoint for them.
    let mut txn = a.begin_write()?;
    a.sync()?;
    b.sync()?;
    txn.table("of a")?.put("key", "value")?;
    txn.commit()?;
    put(&a, 2)?;
    // The other one alone.
    let mut txn = a.begin_write()?;
    let (found, durable) = commits(&a)?;
    assert!(durable < found);
    b.sync()?;
    txn.table("of a")?.put("key", "another")?;
    txn.commit()?;
    drop(a.begin_write()?);
    assert!(commits(&a)?.1 >= found);
    Ok(())
}
