//! What those leave behind who are killed, or fail, while they make a commit durable.

use super::*;

/// Where the lock file says which commit is durable, and that somebody is in a transaction.
const DURABLE: u64 = 128;
const WRITING: u64 = 192;

/// Who says that the newest commit is durable says so twice, and is killed after the first.
#[derive(Clone, Copy)]
enum Said {
    /// That it is this one.
    Which,
    /// In the record of the commit.
    Record,
}

fn killed_half_way(place: &Place, db: &Database, said: Said) -> Result {
    let mut word = [0; 8];
    place.lock_file()?.read_exact_at(&mut word, DURABLE)?;
    match said {
        Said::Which => word = commits(db)?.0.0.to_ne_bytes(),
        Said::Record => db.checkpoint()?,
    }
    place.lock_file()?.write_all_at(&word, DURABLE)?;
    Ok(place.lock_file()?.write_all_at(&1u64.to_ne_bytes(), WRITING)?)
}

#[test]
fn what_a_dead_writer_has_half_said_to_be_durable_is_kept() -> Result {
    for said in [Said::Which, Said::Record] {
        let place = Place::new()?;
        let (a, b) = (in_time(&place.slow).open(place.path())?, in_time(&Slow::default()).open(place.path())?);
        for value in 0..4 {
            put(&a, value)?;
        }
        let (flushed, newest) = (std::fs::read(place.path())?, commits(&a)?.0);
        killed_half_way(&place, &a, said)?;
        for value in 4..10 {
            put(&b, value)?;
            assert!(commits(&b)?.1 >= newest);
            // Of what came after, the disk has the meta pages alone,
            let mut file = std::fs::read(place.path())?;
            assert_eq!(place.value_of(&file[..HEAD], &flushed).map_err(|e| format!("after {value}: {e}"))?, 3);
            // or all but those.
            for slot in file[..HEAD].chunks_mut(SLOT) {
                if u64::from_le_bytes(slot[TXNID].try_into()?) > newest.0 {
                    slot.fill(0);
                }
            }
            let head = file[..HEAD].to_vec();
            assert_eq!(place.value_of(&head, &file).map_err(|e| format!("after {value}: {e}"))?, 3);
        }
    }
    Ok(())
}

fn put_durably(db: &Database, value: u64) -> Result {
    let mut txn = db.begin_write()?;
    txn.set_durability(Durability::Durable);
    txn.table("t")?.put(0u64.to_be_bytes(), [&value.to_be_bytes()[..], &[7; 90]].concat())?;
    Ok(txn.commit()?)
}

#[test]
fn what_a_dead_writer_has_half_said_to_be_durable_is_what_the_log_goes_on_from() -> Result {
    for said in [Said::Which, Said::Record] {
        let place = Place::new()?;
        let open = |slow: &Slow| Database::options().medium(slow.layer()).log_at_once(1 << 20).open(place.path());
        let a = open(&place.slow)?;
        put(&a, 0)?;
        a.checkpoint()?;
        for value in 1..5 {
            put_durably(&a, value)?;
        }
        killed_half_way(&place, &a, said)?;
        let slow = Slow::default();
        let b = open(&slow)?;
        drop(b.begin_write()?);
        let (flushed, flushes) = (std::fs::read(place.path())?, slow.flushes());
        put_durably(&b, 77)?;
        assert_eq!(slow.flushes(), flushes, "in the log alone");
        let image = place.dir.path().join("image.dm");
        std::fs::write(&image, &flushed)?;
        std::fs::copy(place.dir.path().join("it.dm-log"), place.dir.path().join("image.dm-log"))?;
        let found =
            Database::open(&image)?.read()?.table("t")?.get(0u64.to_be_bytes())?.ok_or("no entry")?[..8].to_vec();
        assert_eq!(found, 77u64.to_be_bytes(), "acknowledged");
    }
    Ok(())
}

#[test]
fn who_closes_is_told_that_nothing_was_flushed_as_another_handle_had_failed() -> Result {
    let place = Place::new()?;
    let slow = Slow::default();
    let a = in_time(&place.slow).flush_on_close(true).open(place.path())?;
    let b = in_time(&slow).open(place.path())?;
    put(&a, 1)?;
    slow.lock().fails = true;
    b.checkpoint().unwrap_err();
    let flushes = place.slow.flushes();
    assert!(matches!(a.close(), Err(Error::Poisoned { .. })));
    assert_eq!(place.slow.flushes(), flushes);
    Ok(())
}

/// A handle that was opened once another had been told of a failure, a third one's transaction, and those two: the pages of the
/// newest commit may not be on disk.
fn in_doubt(place: &Place) -> Result<(Database, WriteTxn<'static>, [Database; 2])> {
    let (b, c) = (place.options().open(place.path())?, place.open_another()?);
    put(&b, 1)?;
    let txn = c.begin_write()?;
    // The kernel tells of what it could not write those that have the file open.
    place.slow.end(false);
    Ok((in_time(&Slow::default()).open(place.path())?, txn, [b, c]))
}

#[test]
fn to_sync_beside_a_writer_fails_where_another_handle_was_told_of_a_failure() -> Result {
    let place = Place::new()?;
    let (a, txn, _others) = in_doubt(&place)?;
    assert!(matches!(a.sync(), Err(Error::Io { .. })), "nobody has written them again");
    drop(txn);
    // What begins to write makes sure of them.
    a.sync()?;
    Ok(a.sync()?)
}

#[test]
fn to_sync_beside_a_writer_goes_on_after_him_where_another_handle_was_told_of_a_failure() -> Result {
    let place = Place::new()?;
    let (a, txn, _others) = in_doubt(&place)?;
    thread::scope(|threads| -> Result {
        let syncing = threads.spawn(|| a.sync().map_err(|error| error.to_string()));
        thread::sleep(Duration::from_millis(200));
        assert!(!syncing.is_finished(), "there is nobody yet who could write them again");
        drop(txn);
        Ok(syncing.join().unwrap()?)
    })?;
    assert_eq!(a.stats()?.durable_txnid, a.stats()?.txnid);
    Ok(())
}

#[test]
fn who_cannot_write_again_what_is_in_doubt_writes_no_more() -> Result {
    let place = Place::new()?;
    let (_, txn, _others) = in_doubt(&place)?;
    let slow = Slow::default();
    let a = in_time(&slow).open(place.path())?;
    drop(txn);
    slow.lock().fails = true;
    assert!(matches!(a.begin_write(), Err(Error::Io { .. })));
    // What the kernel has forgotten then it tells once only.
    slow.lock().fails = false;
    assert!(matches!(a.begin_write(), Err(Error::Poisoned { .. })));
    Ok(())
}

#[test]
fn who_settles_does_not_go_back_to_an_older_commit() -> Result {
    let place = Place::new()?;
    let (a, b) = (in_time(&place.slow).open(place.path())?, in_time(&Slow::default()).open(place.path())?);
    for value in 0..4 {
        put(&a, value)?;
    }
    let newest = commits(&a)?.0;
    let data = File::options().read(true).write(true).open(place.path())?;
    for slot in 0..HEAD / SLOT {
        let mut txnid = [0; 8];
        data.read_exact_at(&mut txnid, (slot * SLOT + TXNID.start) as u64)?;
        if u64::from_le_bytes(txnid) == newest.0 {
            data.write_all_at(&[0; 100], (slot * SLOT + TXNID.end) as u64)?;
        }
    }
    place.lock_file()?.write_all_at(&1u64.to_ne_bytes(), WRITING)?;
    for _ in 0..2 {
        assert!(matches!(b.begin_write(), Err(Error::Corrupt { .. })));
    }
    assert_eq!(b.read()?.txnid(), newest);
    Ok(())
}

/// Where the lock file says what is newest, and the records of the newest commits.
const NEWEST: u64 = 64;
const RECORDS: (usize, usize) = (4096, 12288);

#[test]
fn what_was_rejected_is_not_found_after_who_settled_that_has_died() -> Result {
    let place = Place::new()?;
    let path = place.dir.path().join("other.dm");
    let db = in_time(&place.slow).open(place.path())?;
    put(&db, 2)?;
    db.checkpoint()?;
    let before = std::fs::read(place.path())?;
    put(&db, 3)?;
    put(&db, 4)?;
    // A power cut has left the newest meta pages, and none of their pages. Who opens first may only read.
    let head = std::fs::read(place.path())?[..HEAD].to_vec();
    std::fs::write(&path, [&head[..], &before[HEAD..]].concat())?;
    let reader = Database::options().read_only(true).open(&path)?;
    assert_eq!(value(&reader)?, 2);
    // A writer settles that, and dies when he has written it, before he tells of it.
    let lock_path = place.dir.path().join("other.dm-lock");
    let said = std::fs::read(&lock_path)?;
    let dead = in_time(&Slow::default()).open(&path)?;
    drop(dead.begin_write()?);
    let lock = File::options().write(true).open(&lock_path)?;
    for at in [NEWEST, DURABLE] {
        lock.write_all_at(&said[at as usize..][..8], at)?;
    }
    lock.write_all_at(&said[RECORDS.0..RECORDS.1], RECORDS.0 as u64)?;
    lock.write_all_at(&0u64.to_ne_bytes(), DOUBT)?;
    lock.write_all_at(&1u64.to_ne_bytes(), WRITING)?;
    let b = in_time(&Slow::default()).durability(Durability::Durable).open(&path)?;
    put(&b, 77)?;
    // The power is cut; the disk has everything.
    let image = place.dir.path().join("image.dm");
    std::fs::copy(&path, &image)?;
    assert_eq!(value(&Database::open(&image)?)?, 77, "acknowledged");
    Ok(())
}

/// A flush has failed, so that the kernel may have forgotten what it was given. Somebody read all of a large value before that.
#[test]
fn what_somebody_has_read_of_a_large_value_is_no_proof_that_it_is_still_there() -> Result {
    let place = Place::new()?;
    let one = place.options().open(place.path())?;
    one.update(|txn| txn.table("t")?.put("large", [7; 20_000]))?;
    place.slow.end(false);
    assert_ne!(place.doubt()?, 0);
    let other = place.open_another()?;
    assert_eq!(other.read()?.table("t")?.get("large")?, Some(&[7; 20_000][..]));
    let file = std::fs::read(place.path())?;
    let inner = file.chunks(4096).rposition(|page| page == [7; 4096]).ok_or("no page is of the value alone")?;
    let data = File::options().write(true).open(place.path())?;
    data.write_all_at(&[0; 512], inner as u64 * 4096 + 1024)?;
    let begun = other.begin_write();
    assert!(matches!(begun, Err(Error::Corrupt { .. })), "{begun:?}");
    Ok(())
}
