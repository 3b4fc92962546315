//! Logs that cannot be used as they are, or not yet.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use duramen::{Database, Error, Medium};

use crate::{Logged, Result, contents, log_of};

#[test]
fn what_kept_the_log_from_being_opened_may_be_gone_later() -> Result {
    let dir = tempfile::tempdir()?;
    let db = Database::options().log_at_once(1 << 20).open(dir.path().join("it.dm"))?;
    let log = log_of(db.path());
    std::fs::write(&log, "somebody else's words")?;
    let commit = |i: u64| db.update(|txn| txn.table("t")?.put(b"key", i.to_le_bytes()));
    commit(0)?;
    assert_eq!(std::fs::read(&log)?, b"somebody else's words");
    std::fs::remove_file(&log)?;
    commit(1)?;
    assert!(!log.exists(), "it is not asked for with each commit");
    for i in 2..1010 {
        commit(i)?;
    }
    assert!(std::fs::read(&log)?.iter().any(|&byte| byte != 0), "it is used");
    Ok(())
}

#[test]
fn a_log_of_another_history_of_the_same_database_is_refused() -> Result {
    let logged = Logged::new()?;
    logged.db.update(|txn| txn.table("t")?.put(b"a", b"before they part"))?;
    let (_dir, path) = logged.cut()?;
    let other = Database::open(&path)?;
    other.update(|txn| txn.table("t")?.put(b"a", b"the other's"))?;
    other.close()?;
    (0..3u8).try_for_each(|i| logged.db.update(|txn| txn.table("t")?.put(b"a", [i])))?;
    // It has records of later commits, but not of the one that they are to follow.
    std::fs::copy(log_of(logged.db.path()), log_of(&path))?;
    for _ in 0..2 {
        let error = Database::open(&path).unwrap_err();
        assert!(matches!(error, Error::ForeignLog { .. }), "{error}");
    }
    Ok(())
}

#[test]
fn a_log_that_is_put_beside_a_closed_database_is_done_again() -> Result {
    let logged = Logged::new()?;
    (0..2u8).try_for_each(|i| logged.db.update(|txn| txn.table("t")?.put([i], b"in the log")))?;
    for options in [Database::options(), Database::options().read_only(true).without_lock_file()] {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("restored.dm");
        // A backup is brought back by who sees only after he has looked into it that there is a log, too.
        std::fs::write(&path, &logged.base)?;
        Database::open(&path)?.close()?;
        std::fs::copy(log_of(logged.db.path()), log_of(&path))?;
        assert_eq!(contents(&options.open(&path)?)?, contents(&logged.db)?);
    }
    Ok(())
}

/// A disk without room.
struct Full(Arc<dyn Medium>);

impl Medium for Full {
    fn write_at(&self, _: u64, _: &[io::IoSlice<'_>]) -> io::Result<()> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

#[test]
fn what_cannot_be_done_again_for_want_of_room_stays_in_the_log() -> Result {
    let logged = Logged::new()?;
    (0..20u8).try_for_each(|i| logged.db.update(|txn| txn.table("t")?.put([i], [i; 100])))?;
    let (_dir, path) = logged.cut()?;
    for _ in 0..2 {
        let error = Database::options().medium(Arc::new(|medium| Arc::new(Full(medium)))).open(&path).unwrap_err();
        assert!(error.is_disk_full(), "{error}");
    }
    assert_eq!(contents(&Database::open(&path)?)?, contents(&logged.db)?);
    Ok(())
}

#[test]
fn a_copy_that_is_put_back_beside_the_log_that_a_killed_program_left_is_not_brought_up_to_it() -> Result {
    let logged = Logged::new()?;
    let commit = |i: u8| logged.db.update(|txn| txn.table("t")?.put([i], b"in the log"));
    (0..3).try_for_each(commit)?;
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("restored.dm");
    logged.db.copy_to_file(&File::create(&path)?)?;
    let copied = contents(&logged.db)?;
    (3..6).try_for_each(commit)?;
    std::fs::copy(log_of(logged.db.path()), log_of(&path))?;
    for _ in 0..2 {
        let error = Database::open(&path).unwrap_err();
        assert!(matches!(error, Error::ForeignLog { .. }), "{error}");
    }
    std::fs::remove_file(log_of(&path))?;
    assert_eq!(contents(&Database::open(&path)?)?, copied);
    Ok(())
}

/// Where the lock file says that somebody is in a transaction.
const WRITING: u64 = 192;

#[test]
fn who_has_a_database_open_that_was_replaced_goes_on_after_a_death_whatever_log_the_new_one_has() -> Result {
    let dir = tempfile::tempdir()?;
    let (path, new) = (dir.path().join("it.dm"), dir.path().join("new.dm"));
    let old = Database::open(&path)?;
    old.update(|txn| txn.table("t")?.put(b"key", b"old"))?;
    let lock = File::options().write(true).open(dir.path().join("it.dm-lock"))?;
    Database::open(&new)?.close()?;
    std::fs::rename(&new, &path)?;
    let new = Database::options().log_at_once(1 << 20).open(&path)?;
    new.update(|txn| txn.table("t")?.put(b"key", b"new"))?;
    assert!(log_of(&path).exists());
    // Another one who had the old file open was killed.
    lock.write_all_at(&1u64.to_ne_bytes(), WRITING)?;
    old.update(|txn| txn.table("t")?.put(b"key", b"older"))?;
    assert_eq!(old.read()?.table("t")?.get(b"key")?, Some(&b"older"[..]));
    assert_eq!(new.read()?.table("t")?.get(b"key")?, Some(&b"new"[..]));
    Ok(())
}
