//! Handles that close beside others, and flush the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duramen::{Database, Durability, Options};

use super::ahead::{Asked, after_power_cut, under};
use super::{Result, log_of, roles};

fn options() -> Options {
    Database::options().log_at_once(1 << 20)
}

/// Role: commits to the log, then a relaxed commit whose record nobody has flushed, and closes; stops for a word when it has the
/// disk flush that.
#[test]
fn role_closes() -> Result {
    let Some(arguments) = roles::arguments("closing::role_closes") else { return Ok(()) };
    let closes = Arc::new(AtomicBool::new(false));
    let does = closes.clone();
    let note = move |asked| {
        if asked == Asked::FlushLog && does.load(Ordering::Relaxed) {
            roles::say("flushing");
            roles::wait_for_word();
        }
        Ok(())
    };
    let db = under(options(), note).open(&arguments[0])?;
    (0..3u8).try_for_each(|i| db.update(|txn| txn.table("t")?.put([i], b"durable")))?;
    roles::say("logged");
    roles::wait_for_word();
    let mut txn = db.begin_write()?;
    txn.set_durability(Durability::Relaxed);
    txn.table("t")?.put(b"relaxed", b"not flushed")?;
    txn.commit()?;
    closes.store(true, Ordering::Relaxed);
    Ok(db.close()?)
}

#[test]
fn what_follows_a_flush_of_the_log_whose_failure_died_with_who_was_told_is_kept() -> Result {
    let dir = tempfile::tempdir()?;
    let (path, flushed) = (dir.path().join("it.dm"), dir.path().join("flushed.dm"));
    Database::open(&path)?.update(|txn| txn.table("t")?.put(b"before", b"the log"))?;
    std::fs::copy(&path, &flushed)?;
    let (from, to) = (path.clone(), flushed.clone());
    let note = move |asked| if asked == Asked::Flush { std::fs::copy(&from, &to).map(drop) } else { Ok(()) };
    let other = under(options(), note).open(&path)?;
    let mut role = roles::start("closing::role_closes", &[path.to_str().unwrap()]);
    role.expect("logged");
    let mut on_disk = std::fs::read(log_of(&path))?;
    role.go_on();
    role.expect("flushing");
    // The kernel tells the role that the disk could not write it, and nobody else: this one opens the log only now.
    role.kill();
    let cached = std::fs::read(log_of(&path))?;
    assert!(on_disk != cached, "a record that the disk has not");
    other.update(|txn| txn.table("t")?.put(b"after", b"acknowledged"))?;
    let now = std::fs::read(log_of(&path))?;
    for ((on_disk, now), cached) in on_disk.chunks_mut(512).zip(now.chunks(512)).zip(cached.chunks(512)) {
        if now != cached {
            on_disk.copy_from_slice(now);
        }
    }
    let base = std::fs::read(&flushed)?;
    // Who closes flushes all.
    drop(other);
    std::fs::write(log_of(&path), on_disk)?;
    let found = after_power_cut(&path, &base)?;
    for key in [&[0][..], &[2], b"after", b"before"] {
        assert!(found.iter().any(|found| found == key), "{found:?}");
    }
    Ok(())
}
