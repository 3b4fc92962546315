//! Which log is a database's: that beside the data file, while that has its name; how much of it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use duramen::Database;

use crate::{Logged, Result, assert_survives, check, contents, log_of};

#[test]
fn a_database_opened_by_a_link_has_its_log_beside_the_file() -> Result {
    let (dir, links) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let (path, link) = (dir.path().join("it.dm"), links.path().join("link.dm"));
    Database::open(&path)?.close()?;
    std::os::unix::fs::symlink(&path, &link)?;
    let base = std::fs::read(&path)?;
    let db = Database::options().log_at_once(1 << 20).open(&link)?;
    db.update(|txn| txn.table("t")?.put(b"a", b"b"))?;
    let log = std::fs::read(log_of(&path))?;
    assert!(!log_of(&link).exists());
    drop(db);
    std::fs::write(&path, base)?;
    std::fs::write(log_of(&path), log)?;
    assert_eq!(Database::open(&path)?.read()?.table("t")?.get(b"a")?, Some(&b"b"[..]));
    Ok(())
}

/// Nobody could have logged there.
#[test]
fn what_is_no_file_has_the_logs_name_for_nothing_even_after_a_death() -> Result {
    const WRITING: u64 = 192;
    for what in ["a directory", "a link", "another program's"] {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("it.dm");
        let log = log_of(&path);
        let db = Database::open(&path)?;
        match what {
            "a directory" => std::fs::create_dir(&log)?,
            "a link" => std::os::unix::fs::symlink("/elsewhere/log", &log)?,
            _ => std::fs::write(&log, "messages")?,
        }
        let put = |db: &Database, key: u8| db.update(|txn| txn.table("t")?.put([key], b"durable"));
        (0..10).try_for_each(|key| put(&db, key))?;
        let dies = || -> Result {
            let lock_file = File::options().write(true).open(dir.path().join("it.dm-lock"))?;
            Ok(lock_file.write_all_at(&1u64.to_ne_bytes(), WRITING)?)
        };
        dies()?;
        put(&db, 10).map_err(|error| format!("{what}: {error}"))?;
        drop(db);
        dies()?;
        put(&Database::open(&path)?, 11).map_err(|error| format!("{what}, opened again: {error}"))?;
        std::fs::remove_file(dir.path().join("it.dm-lock"))?;
        let first = Database::open(&path).map_err(|error| format!("{what}, opened first: {error}"))?;
        assert_eq!(first.read()?.table("t")?.len(), 12, "{what}");
        assert!(log.symlink_metadata().is_ok(), "{what} is left alone");
    }
    Ok(())
}

/// A service goes on with files that were removed or moved away, and another database is made in their place.
#[test]
fn who_lost_its_name_leaves_the_log_of_its_successor_alone() -> Result {
    for had_a_log in [true, false] {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("it.dm");
        let before = Database::options().log_at_once(1 << 20).open(&path)?;
        if had_a_log {
            before.update(|txn| txn.table("t")?.put(b"before", b"it was moved"))?;
        }
        std::fs::create_dir(dir.path().join("away"))?;
        for name in ["it.dm", "it.dm-lock", "it.dm-log"] {
            let there = dir.path().join(name);
            if there.exists() {
                std::fs::rename(there, dir.path().join("away").join(name))?;
            }
        }
        let db = Database::options().log_at_once(1 << 20).open(&path)?;
        let base = std::fs::read(&path)?;
        let successor = Logged { dir, db, base };
        for i in 0..8_u8 {
            successor.db.update(|txn| txn.table("t")?.put([i], b"after"))?;
            before.update(|txn| txn.table("t")?.put([i], b"elsewhere"))?;
        }
        assert_survives(&successor)?;
        before.close()?;
        successor.db.update(|txn| txn.table("t")?.put([8], b"after"))?;
        assert_survives(&successor)?;
        let moved = Database::open(successor.dir.path().join("away/it.dm"))?;
        assert_eq!(moved.read()?.table("t")?.len(), 8 + u64::from(had_a_log));
    }
    Ok(())
}

/// As programs do that make a file anew and rename it over the one that others have open.
#[test]
fn a_data_file_put_in_the_place_of_one_that_is_open_is_another_database() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    let new = dir.path().join("new.dm");
    let old = Database::options().log_at_once(1 << 20).open(&path)?;
    for i in 0..40_u32 {
        old.update(|txn| txn.table("of the old")?.put(i.to_be_bytes(), [1; 400]))?;
    }
    let made = Database::open(&new)?;
    made.update(|txn| txn.table("of the new")?.put(b"a", b"b"))?;
    made.close()?;
    std::fs::rename(&new, &path)?;
    let db = Database::options().log_at_once(1 << 20).open(&path)?;
    assert_eq!(db.read()?.table_names()?, [b"of the new"]);
    let base = std::fs::read(&path)?;
    let new = Logged { dir, db, base };
    for i in 0..40_u32 {
        old.update(|txn| txn.table("of the old")?.put(i.to_be_bytes(), [2; 400]))?;
        new.db.update(|txn| txn.table("of the new")?.put(i.to_be_bytes(), [3; 400]))?;
    }
    assert_survives(&new)?;
    check(&old)?;
    check(&new.db)?;
    old.close()?;
    let again = Database::open(new.db.path())?;
    assert_eq!(again.read()?.table("of the new")?.len(), 41);
    assert_survives(&new)
}

/// It looks like something that a crash has left. Who goes on with the rest needs all of it before a record has a use.
#[test]
fn nothing_follows_in_a_log_that_was_removed() -> Result {
    let logged = Logged::new()?;
    let path = logged.db.path().to_path_buf();
    logged.db.update(|txn| txn.table("t")?.put(b"a", b"b"))?;
    std::fs::remove_file(log_of(&path))?;
    let other = Database::open(&path)?;
    other.update(|txn| txn.table("t")?.put(b"c", b"d"))?;
    let left = std::fs::read(log_of(&path)).unwrap_or_default();
    assert!(left.iter().all(|&byte| byte == 0), "the data file has not been flushed");
    check(&other)
}

#[test]
fn a_log_is_read_as_far_as_its_records_go() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    Database::open(&path)?.close()?;
    let base = std::fs::read(&path)?;
    let db = Database::options().log_at_once(8 << 20).open(&path)?;
    (0..5u8).try_for_each(|i| db.update(|txn| txn.table("t")?.put([i], vec![i; 900_000])))?;
    let cut = dir.path().join("cut.dm");
    std::fs::write(&cut, &base)?;
    std::fs::copy(log_of(&path), log_of(&cut))?;
    // No memory would hold all of it.
    File::options().write(true).open(log_of(&cut))?.set_len(1 << 40)?;
    let after = Database::open(&cut)?;
    assert_eq!(contents(&after)?, contents(&db)?);
    check(&after)
}

/// A database, and what another program writes its messages to, are the user's, whatever they are called.
#[test]
fn what_has_the_logs_name_and_is_no_log_is_left_alone() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it");
    let other = Database::options().without_lock_file().open(log_of(&path))?;
    other.update(|txn| txn.table("t")?.put(b"a", b"beside"))?;
    other.close()?;
    for theirs in [std::fs::read(log_of(&path))?, b"2026-11-26 started\n".to_vec(), b"x".to_vec()] {
        std::fs::write(log_of(&path), &theirs)?;
        for n in 0..3u8 {
            let db = Database::options().log_at_once(4096).open(&path)?;
            (0..20u8).try_for_each(|i| db.update(|txn| txn.table("t")?.put([n, i], b"value")))?;
            check(&db)?;
            assert!(std::fs::read(log_of(&path))? == theirs, "open");
            db.close()?;
            assert!(std::fs::read(log_of(&path))? == theirs, "closed");
        }
    }
    assert_eq!(Database::open(&path)?.read()?.table("t")?.len(), 60);
    Ok(())
}
