//! What a child made by `fork` may do with what it inherited: nothing, and it is told so.
//!
//! # Safety
//! `fork` is called in a process that runs no other test, from the only thread that holds locks of the allocator or
//! of the standard library; the child leaves by `_exit`. A child that hung would make
//! `a_forked_child_is_told_to_open_anew` hang.
#![allow(unsafe_code)]

use std::future::Future;

use duramen::{BulkOptions, Database, Durability, Error, Result, WriteTxn};

use crate::roles::{self, start};
use crate::{assert_clean, scratch};

/// Runs a closure in a forked child; whether all was well there.
fn in_fork(body: impl FnOnce()) -> bool {
    // SAFETY: see the module's head.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0);
    if pid == 0 {
        let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok();
        // SAFETY: ends this process; nothing of it is used afterwards.
        unsafe { libc::_exit(if well { 0 } else { 1 }) }
    }
    let mut status = 0;
    // SAFETY: waits for the child made above, with a place for its status.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status == 0
}

fn is_forked<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::Forked))
}

/// Role: forks with a database open, a snapshot and a write transaction under way.
#[test]
fn role_forking() -> Result<()> {
    let Some(arguments) = roles::arguments("forked::role_forking") else { return Ok(()) };
    let path = &arguments[0];
    let db = Database::open(path)?;
    db.update(|txn| {
        txn.set_durability(Durability::Relaxed);
        txn.table("t")?.put("key", "value")
    })?;
    let mut kept = db.read()?;
    let snapshot = db.read_owned()?;
    let mut txn = db.begin_write()?;
    txn.table("t")?.put("more", "value")?;

    let (mut moved, clone) = (Some((snapshot, txn)), db.clone());
    assert!(in_fork(|| {
        assert!(is_forked(db.read()));
        assert!(is_forked(db.begin_write()));
        assert!(is_forked(db.try_begin_write()));
        assert!(is_forked(db.update(|_| Ok(()))));
        assert!(is_forked(db.checkpoint()));
        assert!(is_forked(db.sync()));
        assert!(is_forked(db.stats()));
        assert!(is_forked(db.check(|_, _| {})));
        assert!(is_forked(db.readers()));
        assert!(is_forked(db.clear_dead_readers()));
        assert!(is_forked(kept.renew()));
        let (snapshot, txn) = moved.take().unwrap();
        assert!(is_forked(txn.commit()));
        // What the child drops belongs to the parent.
        drop((snapshot, clone));
        let anew = Database::open(path).unwrap();
        assert_eq!(anew.read().unwrap().table("t").unwrap().len(), 1);
        assert!(matches!(anew.try_begin_write(), Err(Error::Busy)), "the parent writes");
    }));

    let (snapshot, txn) = moved.take().unwrap();
    assert_eq!(snapshot.table("t")?.len(), 1);
    assert_eq!(db.readers()?.len(), 2, "the child cleared the parent's readers");
    txn.commit()?;
    assert_eq!(db.read()?.table("t")?.len(), 2);
    assert_clean(&db);
    roles::say("all well");
    Ok(())
}

/// Role: forks in the middle of a transaction that has written some of its pages early, or of a load, with a file that a
/// child could shorten; and while another thread commits what both submit.
#[test]
fn role_forking_at_work() -> Result<()> {
    let Some(arguments) = roles::arguments("forked::role_forking_at_work") else { return Ok(()) };
    let db = Database::options().memory_budget(1).open(&arguments[0])?;
    let mut txn = Some(db.begin_write()?);
    let id = txn.as_mut().unwrap().open_table("t", None)?;
    let put =
        |txn: &mut WriteTxn<'_>, value| (0..20_000_u32).try_for_each(|i| txn.put(id, i.to_be_bytes(), [value; 100]));
    put(txn.as_mut().unwrap(), 1)?;
    let bytes = std::fs::metadata(db.path()).unwrap().len();
    assert!(bytes > 1 << 20, "nothing is written yet");
    assert!(in_fork(|| drop(txn.take().unwrap())));
    assert!(in_fork(|| assert!(is_forked(txn.take().unwrap().commit()))));
    assert!(in_fork(|| assert!(put(txn.as_mut().unwrap(), 2).is_err(), "a child writes early, too")));
    assert_eq!(std::fs::metadata(db.path()).unwrap().len(), bytes);
    txn.take().unwrap().commit()?;

    // The child has none of the threads that sort and write.
    for sorted in [true, false] {
        let options = BulkOptions::new().sorted(sorted).memory_budget(1);
        let mut load = Some(db.bulk_load(if sorted { "sorted" } else { "any" }, options)?);
        for part in 0..4_u32 {
            (0..50_000).try_for_each(|i| load.as_mut().unwrap().push((part * 50_000 + i).to_be_bytes(), [1; 50]))?;
            assert!(in_fork(|| drop(load.take())));
        }
        load.take().unwrap().finish()?;
    }

    let (begun, is_begun) = std::sync::mpsc::channel();
    let (forked, has_forked) = std::sync::mpsc::channel::<()>();
    let others = db.clone();
    let leader = std::thread::spawn(move || {
        others.submit(move |txn| {
            begun.send(()).unwrap();
            has_forked.recv().unwrap();
            txn.table("t")?.put("of the leader", "")
        })
    });
    is_begun.recv().unwrap();
    assert!(in_fork(|| {
        assert!(is_forked(db.submit(|txn| txn.table("t")?.put("of the child", ""))));
        let submitted = std::pin::pin!(db.submit_async(|txn| txn.table("t")?.put("of the child", "")));
        let polled = submitted.poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
        assert!(matches!(polled, std::task::Poll::Ready(Err(Error::Forked))));
    }));
    forked.send(()).unwrap();
    leader.join().unwrap()?;

    let snapshot = db.read()?;
    let entries = ["t", "sorted", "any"].map(|name| snapshot.table(name).map(|table| table.len()).unwrap());
    assert_eq!(entries, [20_001, 200_000, 200_000]);
    assert_eq!(snapshot.table("t")?.get(7_u32.to_be_bytes())?, Some(&[1; 100][..]));
    assert_clean(&db);
    roles::say("all well");
    Ok(())
}

#[test]
fn a_forked_child_leaves_what_its_parent_is_at_alone() {
    let (_dir, path) = scratch();
    let mut role = start("forked::role_forking_at_work", &[&path]);
    role.expect("all well");
    role.finish();
}

#[test]
fn a_forked_child_is_told_to_open_anew() {
    let (_dir, path) = scratch();
    let mut role = start("forked::role_forking", &[&path]);
    role.expect("all well");
    role.finish();
}
