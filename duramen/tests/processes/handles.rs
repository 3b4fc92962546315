//! Several handles to one file in one process, waiting for a turn to write, and the lock file.

use std::fs;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use duramen::{Database, Durability, Error, Options, Result};

use crate::roles::{Random, hasty, ledger};
use crate::{assert_clean, scratch};

#[test]
fn one_file_may_be_opened_twice_in_a_process() -> Result<()> {
    let (_dir, path) = scratch();
    let (one, two) = (Database::open(&path)?, Database::open(&path)?);
    one.update(|txn| txn.table("t")?.put("key", "one"))?;
    let seen_by_two = two.read()?;
    assert_eq!(seen_by_two.table("t")?.get("key")?, Some(&b"one"[..]));
    // Closing one handle must not drop the locks and readers of the other, as POSIX locks would.
    one.close()?;
    let three = Database::open(&path)?;
    assert_eq!(three.readers()?.len(), 1);
    let txn = two.begin_write()?;
    assert!(matches!(three.try_begin_write(), Err(Error::Busy)));
    drop(txn);
    three.update(|txn| txn.table("t")?.put("key", "three"))?;
    assert_eq!(seen_by_two.table("t")?.get("key")?, Some(&b"one"[..]));
    assert_eq!(two.read()?.table("t")?.get("key")?, Some(&b"three"[..]));
    Ok(())
}

#[test]
fn the_places_that_readers_have_used_are_counted_until_all_have_closed() -> Result<()> {
    let (_dir, path) = scratch();
    let (one, two) = (Database::open(&path)?, Database::open(&path)?);
    // Looks of the engine's own are no readers.
    assert_eq!((one.readers()?.len(), one.stats()?.pages > 0), (0, true));
    let first = [one.read()?, one.read()?];
    assert_eq!((one.readers()?.len(), one.reader_places(2)?, two.reader_places(0)?), (2, 2, 2));
    let _own = two.read()?;
    assert_eq!(one.reader_places(2)?, 3);
    drop(first);
    one.close()?;
    // Whoever comes has the place of one who has gone.
    let three = Database::open(&path)?;
    let _reader = three.read()?;
    assert_eq!((two.reader_places(1)?, three.reader_places(1)?), (3, 3));
    drop((_own, _reader));
    drop((two, three));
    assert_eq!(Database::open(&path)?.reader_places(0)?, 0);
    Ok(())
}

#[test]
fn handles_take_turns_and_each_knows_what_the_others_freed() -> Result<()> {
    let mut random = Random::new();
    let (_dir, path) = scratch();
    let open = || Options::new().memory_budget(1).medium(hasty()).open(&path);
    let mut handles = [open()?, open()?, open()?];
    for i in 0..1500 {
        let which = random.below(3) as usize;
        if random.below(100) == 0 {
            handles[which] = open()?;
        }
        let mut txn = handles[which].begin_write()?;
        if random.below(2) == 0 {
            txn.set_durability(Durability::Relaxed);
        }
        let most = if random.below(30) == 0 { 2000 } else { 20 };
        ledger::change(&mut txn, &mut random, "all", most)?;
        if random.below(10) > 0 {
            txn.commit()?;
        } else {
            txn.abort();
        }
        if random.below(20) == 0 {
            handles[(which + 1) % 3].checkpoint()?;
        }
        if i % 50 == 0 {
            assert_clean(&handles[(which + 2) % 3]);
            ledger::prove(&handles[which].read()?);
        }
    }
    Ok(())
}

/// The file after a power cut that took all pages written since `durable` was copied, but none of the meta pages.
fn after_power_cut(durable: &[u8], newest: &[u8]) -> Vec<u8> {
    let mut file = durable.to_vec();
    file[..16384].copy_from_slice(&newest[..16384]);
    file
}

#[test]
fn what_one_handle_made_durable_the_others_keep() -> Result<()> {
    let (_dir, path) = scratch();
    let cut = format!("{path}.cut");
    let relaxed = || Options::new().durability(Durability::Relaxed).open(&path);
    let put = |db: &Database, value: u64| db.update(|txn| txn.table("t")?.put("key", value.to_be_bytes()));
    let (one, two) = (relaxed()?, relaxed()?);
    for i in 0..40 {
        // One handle commits, another makes that durable; then both, or one that came later, commit more.
        put(&one, i)?;
        two.checkpoint()?;
        let durable = fs::read(&path).unwrap();
        let three = if i % 2 == 0 { relaxed()? } else { two.clone() };
        for j in 0..i % 7 {
            put([&one, &two, &three][(i + j) as usize % 3], 1000 + j)?;
        }
        fs::write(&cut, after_power_cut(&durable, &fs::read(&path).unwrap())).unwrap();
        let opened = Database::open(&cut)?;
        assert_eq!(opened.read()?.table("t")?.get("key")?, Some(&i.to_be_bytes()[..]), "round {i}");
        assert_clean(&opened);
        drop(opened);
        fs::remove_file(&cut).unwrap();
    }
    Ok(())
}

#[test]
fn a_second_writer_fails_at_once_if_asked_to() -> Result<()> {
    let (_dir, path) = scratch();
    let (db, hasty) = (Database::open(&path)?, Options::new().write_wait(Some(Duration::ZERO)).open(&path)?);
    let _txn = db.begin_write()?;
    assert!(matches!(db.try_begin_write(), Err(Error::Busy)));
    assert!(matches!(hasty.begin_write(), Err(Error::Busy)));
    assert!(matches!(hasty.update(|_| Ok(())), Err(Error::Busy)));
    assert!(matches!(hasty.checkpoint(), Err(Error::Busy)));
    Ok(())
}

#[test]
fn a_second_writer_gives_up_after_a_time() -> Result<()> {
    let (_dir, path) = scratch();
    let (db, other) = (Database::open(&path)?, Database::open(&path)?);
    let txn = db.begin_write()?;
    for waiting in [&db, &other] {
        assert!(matches!(waiting.begin_write_within(Duration::from_millis(20)), Err(Error::Busy)));
    }
    drop(txn);
    for waiting in [&db, &other] {
        waiting.begin_write_within(Duration::from_millis(20))?.commit()?;
    }
    Ok(())
}

#[test]
fn a_second_writer_waits_for_the_first() -> Result<()> {
    let (_dir, path) = scratch();
    let (db, other) = (Database::open(&path)?, Database::open(&path)?);
    for waiting in [&db, &other] {
        let ended = AtomicBool::new(false);
        let mut txn = db.begin_write()?;
        txn.table("t")?.put("key", "value")?;
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let txn = waiting.begin_write()?;
                assert!(ended.load(Ordering::SeqCst), "two wrote at once");
                let found = txn.table_names();
                found.map(|names| names.len())
            });
            ended.store(true, Ordering::SeqCst);
            txn.commit()?;
            assert_eq!(waiter.join().unwrap()?, 1);
            Ok::<(), Error>(())
        })?;
    }
    Ok(())
}

#[test]
fn a_write_transaction_may_go_to_another_thread() -> Result<()> {
    let (_dir, path) = scratch();
    let db = Database::open(&path)?;
    let mut txn = db.begin_write()?;
    std::thread::spawn(move || {
        txn.table("t")?.put("key", "value")?;
        txn.commit()
    })
    .join()
    .unwrap()?;
    assert_eq!(db.begin_write()?.table_names()?.len(), 1);
    Ok(())
}

#[test]
fn the_lock_file_holds_nothing_that_a_database_needs() -> Result<()> {
    let (_dir, path) = scratch();
    let lock = format!("{path}-lock");
    type Spoil = fn(&str);
    let spoils: [Spoil; 5] = [
        |lock| fs::remove_file(lock).unwrap(),
        |lock| fs::write(lock, b"").unwrap(),
        |lock| fs::write(lock, [0xAA; 40_000]).unwrap(),
        |lock| fs::OpenOptions::new().write(true).open(lock).unwrap().set_len(100).unwrap(),
        // Another version's magic number and all that follows.
        |lock| fs::OpenOptions::new().write(true).open(lock).unwrap().write_all_at(&[0xFF; 64], 0).unwrap(),
    ];
    for (i, spoil) in (1u64..).zip(spoils) {
        let db = Database::open(&path)?;
        db.update(|txn| txn.table("t")?.put(i.to_be_bytes(), "value"))?;
        db.close()?;
        spoil(&lock);
        let db = Database::open(&path)?;
        assert_eq!(db.read()?.table("t")?.len(), i);
        assert_clean(&db);
    }
    Ok(())
}

#[test]
fn a_database_is_no_lock_file() -> Result<()> {
    let (_dir, path) = scratch();
    let beside = format!("{path}-lock");
    Database::options().without_lock_file().open(&beside)?.update(|txn| txn.table("t")?.put("key", "beside"))?;
    let refused = |opened: Result<Database>| {
        let error = opened.expect_err("the lock file is a database").to_string();
        assert!(error.starts_with("cannot use as a lock file ") && error.ends_with(": it is a database"), "{error}");
    };
    refused(Database::open(&path));
    refused(Database::options().lock_path(&beside).open(&path));
    refused(Database::options().lock_path(&beside).open(&beside));
    let db = Database::options().without_lock_file().open(&beside)?;
    assert_eq!(db.read()?.table("t")?.get("key")?, Some(&b"beside"[..]));
    assert_clean(&db);
    Ok(())
}

#[test]
fn another_programs_file_that_somebody_chooses_is_no_lock_file_and_stays_as_it_is() -> Result<()> {
    let (dir, path) = scratch();
    let chosen = dir.path().join("notes.txt");
    for notes in ["what else", &"what else ".repeat(9_000)] {
        fs::write(&chosen, notes).unwrap();
        let error = Options::new().lock_path(&chosen).open(&path).expect_err("it is no lock file").to_string();
        assert!(error.contains("notes.txt") && error.contains("another program's file"), "{error}");
        assert_eq!(fs::read(&chosen).unwrap(), notes.as_bytes());
    }
    // As somebody may make it who wants to set its owner first, or a copy may leave it.
    for begun in [vec![], vec![0; 100], vec![0; 90_000]] {
        fs::write(&chosen, begun).unwrap();
        Options::new().lock_path(&chosen).open(&path)?.update(|txn| txn.table("t")?.put("key", "value"))?;
    }
    // What a power cut leaves in the place of the usual one keeps nobody out.
    fs::write(format!("{path}-lock"), "what was on the disk before").unwrap();
    assert_eq!(Database::open(&path)?.read()?.table("t")?.len(), 1);
    Ok(())
}

#[test]
fn the_lock_file_may_have_another_path() -> Result<()> {
    let (dir, path) = scratch();
    let lock = dir.path().join("elsewhere");
    let open = || Options::new().lock_path(&lock).open(&path);
    let (one, two) = (open()?, open()?);
    one.update(|txn| txn.table("t")?.put("key", "value"))?;
    assert_eq!(two.read()?.table("t")?.len(), 1);
    assert!(lock.exists() && !dir.path().join("processes.dm-lock").exists());
    Ok(())
}

#[test]
fn a_lock_file_that_is_chosen_is_of_one_open_database() -> Result<()> {
    let (dir, path) = scratch();
    let open = |path: &str| Options::new().lock_path(dir.path().join("lock")).open(path);
    let (one, other) = (open(&path)?, format!("{path}-other"));
    let error = open(&other).expect_err("it is the first one's").to_string();
    assert!(error.contains("a lock file of its own"), "{error}");
    let txn = one.begin_write()?;
    assert!(matches!(open(&path)?.try_begin_write(), Err(Error::Busy)));
    drop((txn, one));
    open(&other)?.update(|txn| txn.table("t")?.put("key", "value"))?;
    Ok(())
}

/// Two who write and do not meet at one lock file would write over each other.
#[test]
fn whoever_opens_a_database_meets_the_others_at_one_lock_file_whatever_links_lead_there() -> Result<()> {
    let (dir, path) = scratch();
    let links = dir.path().join("links");
    fs::create_dir(&links).unwrap();
    std::os::unix::fs::symlink(&path, links.join("link.dm")).unwrap();
    let (one, two) = (Database::open(&path)?, Database::open(links.join("link.dm"))?);
    let txn = one.begin_write()?;
    assert!(matches!(two.try_begin_write(), Err(Error::Busy)));
    drop(txn);
    assert_eq!(fs::read_dir(&links).unwrap().count(), 1);
    assert!(dir.path().join("processes.dm-lock").exists());
    Ok(())
}

#[test]
fn the_lock_file_of_data_mdb_is_where_lmdbs_interface_has_it() -> Result<()> {
    let (dir, _) = scratch();
    let _db = Database::open(dir.path().join("data.mdb"))?;
    assert!(dir.path().join("lock.mdb").exists() && !dir.path().join("data.mdb-lock").exists());
    Ok(())
}

#[test]
fn a_database_without_a_lock_file_leaves_none() -> Result<()> {
    let (dir, path) = scratch();
    let db = Options::new().without_lock_file().open(&path)?;
    db.update(|txn| txn.table("t")?.put("key", "value"))?;
    assert_eq!(db.read()?.table("t")?.len(), 1);
    db.close()?;
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    Ok(())
}
