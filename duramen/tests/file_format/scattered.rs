//! The space log where its runs come to lie in unlucky places.

use duramen::{Database, Durability, Error};

use crate::space::Space;
use crate::{Result, assert_all_accounted_for, read};

/// Entries of so many bytes: four to a leaf.
const ENTRY: usize = 900;
const LEAVES: u32 = 8000;

/// Changes an entry in each of these leaves, and lets no file grow for the sake of long runs.
fn change(db: &Database, leaves: impl Iterator<Item = u32>) -> Result {
    let mut txn = db.begin_write()?;
    txn.set_pages_wanted(1);
    for leaf in leaves {
        txn.table("t")?.put((4 * leaf).to_be_bytes(), [2; ENTRY])?;
    }
    Ok(txn.commit()?)
}

#[test]
fn what_a_commit_adds_to_the_space_log_in_several_places_is_read_whole_by_who_comes_next() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("holes.dm");
    let relaxed = || Database::options().durability(Durability::Relaxed).open(&path);
    let db = relaxed()?;
    db.update(|txn| (0..4 * LEAVES).try_for_each(|i| txn.table("t")?.append(i.to_be_bytes(), [1; ENTRY])))?;
    // Every other leaf is emptied, but for some, so that less than half of the file is free.
    let emptied = (0..4 * LEAVES).filter(|i| i / 4 % 2 == 1 && i / 4 % 16 > 1);
    db.update(|txn| emptied.map(u32::to_be_bytes).try_for_each(|key| txn.table("t")?.delete(key).map(drop)))?;
    db.checkpoint()?;
    change(&db, (0..LEAVES).step_by(8))?;
    let space = assert_all_accounted_for(&mut read(&path), &db)?;
    assert!(space.chain_pages > space.base_pages && space.newest_runs > 1, "changes in {} places", space.newest_runs);
    // What many readers see each makes a base long. It is written by who has read so much besides.
    let mut readers = Vec::new();
    for round in 0..12 {
        readers.push(db.read()?);
        change(&db, (2 + round % 3 * 2..LEAVES).step_by(8).skip(round as usize / 3).step_by(4))?;
    }
    // No three pages that follow each other stay free.
    let value_in_three = |n: u32| -> duramen::Result<()> {
        let mut txn = db.begin_write()?;
        txn.set_pages_wanted(1);
        txn.table("long")?.put(n.to_be_bytes(), [3; 10_000])?;
        txn.commit()
    };
    let full = (0..1000).find_map(|n| value_in_three(n).err());
    assert!(matches!(full, Some(Error::NoRoom { .. })), "{full:?}");
    let other = relaxed()?;
    change(&other, 0..1)?;
    let space = Space::read(&mut read(&path));
    assert!(
        space.chain_pages == space.base_pages && space.base_runs > 1,
        "a base of {} pages in {} places",
        space.base_pages,
        space.base_runs
    );
    // Both go on from there: the one has read it, the other reads on from what it knew.
    for db in [&db, &other] {
        change(db, 0..1)?;
        assert_all_accounted_for(&mut read(&path), db)?;
    }
    Ok(())
}

#[test]
fn a_run_of_the_space_log_in_the_place_of_one_that_a_writer_knew_is_not_taken_for_that() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("turns.dm");
    let relaxed = || Database::options().durability(Durability::Relaxed).open(&path);
    let (one, other) = (relaxed()?, relaxed()?);
    one.update(|txn| (0..2000u32).try_for_each(|i| txn.table("t")?.append(i.to_be_bytes(), [1; ENTRY])))?;
    let mut random = fastrand::Rng::with_seed(7);
    let mut turn_of_other = || change(&other, (0..50).map(|_| random.u32(..500)));
    // The other one goes on until the log, begun anew many times, has another run there. Some places are not taken again.
    let mut is_met = |one: &Database| -> Result<bool> {
        change(one, 0..1)?;
        let known = Space::read(&mut read(&path)).runs.first().copied();
        for _ in 0..40 {
            (0..5).try_for_each(|_| turn_of_other())?;
            let runs = Space::read(&mut read(&path)).runs;
            if known.is_some_and(|(page, birth)| runs.iter().any(|run| run.0 == page && run.1 > birth)) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let mut turns = 0;
    while !is_met(&one)? {
        turns += 1;
        assert!(turns < 100, "no run came to lie where one was that is known");
    }
    change(&one, 0..1)?;
    assert_all_accounted_for(&mut read(&path), &one)?;
    Ok(())
}

#[test]
fn who_comes_after_any_number_of_anothers_commits_knows_what_is_free() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("gaps.dm");
    let relaxed = || Database::options().durability(Durability::Relaxed).open(&path);
    let (one, other) = (relaxed()?, relaxed()?);
    one.update(|txn| (0..2000u32).try_for_each(|i| txn.table("t")?.append(i.to_be_bytes(), [1; ENTRY])))?;
    let mut random = fastrand::Rng::with_seed(7);
    // The log is begun anew every twenty commits or so, and has some of those before that beside its new base.
    for gap in 1..40 {
        (0..gap).try_for_each(|_| change(&other, (0..50).map(|_| random.u32(..500))))?;
        change(&one, 0..1)?;
    }
    assert_all_accounted_for(&mut read(&path), &one)?;
    Ok(())
}
