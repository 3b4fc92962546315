//! Several processes on one database, some of which die.

mod forked;
mod handles;
#[path = "../roles/mod.rs"]
mod roles;

use std::time::Duration;

use duramen::{BulkOptions, Database, Durability, Options, Result};
use roles::{Random, Role, ledger, start};
use tempfile::TempDir;

fn scratch() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("processes.dm").to_str().unwrap().to_string();
    (dir, path)
}

fn assert_clean(db: &Database) {
    assert_eq!(db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

fn durability(name: &str) -> Durability {
    if name == "durable" { Durability::Durable } else { Durability::Relaxed }
}

/// Role: commits changes for ever, and says the number of each commit once it has returned. Some are large enough to
/// be written early, some have child transactions that are aborted. One kind closes the database after some commits, and
/// opens it again.
#[test]
fn role_writer() -> Result<()> {
    let Some(arguments) = roles::arguments("role_writer") else { return Ok(()) };
    let [path, name, seed, kind] = &arguments[..] else { panic!("{arguments:?}") };
    let mut random = Random::from(seed.parse().unwrap());
    let open = || Options::new().durability(durability(kind)).flush_on_close(false).memory_budget(1).open(path);
    let mut db = open()?;
    loop {
        if kind == "reopening" && random.below(3) == 0 {
            db.close()?;
            db = open()?;
        }
        let mut txn = db.begin_write()?;
        if random.below(4) == 0 {
            let mut child = txn.child()?;
            ledger::change(&mut child, &mut random, name, 1000)?;
        }
        let most = if random.below(8) == 0 { 3000 } else { 30 };
        let count = ledger::change(&mut txn, &mut random, name, most)?;
        txn.commit()?;
        roles::say(count);
    }
}

/// Role: reads whole snapshots for ever.
#[test]
fn role_reader() -> Result<()> {
    let Some(arguments) = roles::arguments("role_reader") else { return Ok(()) };
    let db = Database::open(&arguments[0])?;
    loop {
        let snapshot = db.read()?;
        let sum = ledger::prove(&snapshot);
        assert_eq!(ledger::prove(&snapshot), sum);
        roles::say(snapshot.txnid());
    }
}

/// Role: holds a snapshot, and proves it again whenever it is told to.
#[test]
fn role_parked() -> Result<()> {
    let Some(arguments) = roles::arguments("role_parked") else { return Ok(()) };
    let db = Database::open(&arguments[0])?;
    let snapshot = db.read()?;
    let sum = ledger::prove(&snapshot);
    roles::say("parked");
    while roles::wait_for_word() {
        assert_eq!(ledger::prove(&snapshot), sum);
        roles::say("the same");
    }
    Ok(())
}

/// Role: opens by a relative path, goes elsewhere, and commits there.
#[test]
fn role_wanderer() -> Result<()> {
    let Some(arguments) = roles::arguments("role_wanderer") else { return Ok(()) };
    std::env::set_current_dir(&arguments[0]).expect("the directory of the database");
    let db = Database::open("wanderer.dm")?;
    std::env::set_current_dir(&arguments[1]).expect("another directory");
    for i in 0..10u8 {
        db.update(|txn| txn.table("t")?.put([i], b"value"))?;
    }
    roles::say("committed");
    roles::wait_for_word();
    // More than fits into the memory that it may take goes into temporary files, which nobody can make here.
    std::env::set_current_dir("/proc").expect("a directory of the system's");
    let mut load = db.bulk_load("loaded", BulkOptions::new().memory_budget(1 << 20))?;
    (0..100_000u64).rev().try_for_each(|i| load.push(i.to_be_bytes(), [1; 50]))?;
    load.finish()?;
    Ok(())
}

#[test]
fn the_log_is_where_the_database_is_wherever_the_process_goes() -> Result<()> {
    let (home, elsewhere) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let text = |dir: &tempfile::TempDir| dir.path().to_str().expect("plain letters").to_string();
    let mut wanderer = start("role_wanderer", &[&text(&home), &text(&elsewhere)]);
    wanderer.expect("committed");
    assert!(home.path().join("wanderer.dm-log").exists());
    assert_eq!(std::fs::read_dir(elsewhere.path()).expect("a directory").count(), 0);
    wanderer.go_on();
    wanderer.finish();
    assert!(!home.path().join("wanderer.dm-log").exists(), "it closed the database");
    let db = Database::open(home.path().join("wanderer.dm"))?;
    assert_eq!(db.read()?.table("t")?.len(), 10);
    assert_eq!(db.read()?.table("loaded")?.len(), 100_000);
    Ok(())
}

/// Role: changes much in a transaction that it does not end.
#[test]
fn role_unfinished() -> Result<()> {
    let Some(arguments) = roles::arguments("role_unfinished") else { return Ok(()) };
    let db = Options::new().memory_budget(1).open(&arguments[0])?;
    let mut txn = db.begin_write()?;
    let mut random = Random::from(7);
    ledger::change(&mut txn, &mut random, "unfinished", 3000)?;
    roles::say("in the middle");
    roles::wait_for_word();
    Ok(())
}

struct WriterProcess {
    role: Role,
    name: String,
    acknowledged: u64,
}

impl WriterProcess {
    /// Starts one that goes on where an earlier one of this name was killed.
    fn start(path: &str, name: &str, random: &mut Random, kind: &str, acknowledged: u64) -> WriterProcess {
        let role = start("role_writer", &[path, name, &random.next().to_string(), kind]);
        WriterProcess { role, name: name.to_string(), acknowledged }
    }

    fn hear(&mut self, commits: u64) {
        for _ in 0..commits {
            self.acknowledged = self.role.next().expect("an acknowledgement").parse().unwrap();
        }
    }

    /// Kills it; its name and the last commit that it said had returned.
    fn kill(self) -> (String, u64) {
        let last = self.role.kill().last().map_or(self.acknowledged, |last| last.parse().unwrap());
        (self.name, last)
    }
}

/// All that was acknowledged is there, and at most the one commit that was under way beside it. How many they are.
fn assert_kept(db: &Database, (name, acknowledged): &(String, u64)) -> u64 {
    let snapshot = db.read().unwrap();
    ledger::prove(&snapshot);
    let found = ledger::commits_of(&snapshot, name);
    assert!((*acknowledged..=acknowledged + 1).contains(&found), "{name}: {found} of {acknowledged} commits");
    assert_clean(db);
    found
}

fn kill_the_only_process(kind: &str, rounds: u64) -> Result<()> {
    let mut random = Random::new();
    let (_dir, path) = scratch();
    let mut made = 0;
    for _ in 0..rounds {
        let mut writer = WriterProcess::start(&path, "writer", &mut random, kind, made);
        let commits = random.below(12);
        writer.hear(commits);
        let killed = writer.kill();
        let db = Database::open(&path)?;
        made = assert_kept(&db, &killed);
        // Half of the time the next writer finds the file as the dead one left it, else closed.
        if random.below(2) == 0 {
            std::mem::forget(db);
        }
    }
    Ok(())
}

#[test]
fn durable_commits_outlive_a_kill_of_the_only_process() -> Result<()> {
    kill_the_only_process("durable", 12)
}

#[test]
fn relaxed_commits_outlive_a_kill_of_the_only_process() -> Result<()> {
    kill_the_only_process("relaxed", 12)
}

#[test]
fn commits_outlive_a_kill_amid_opening_and_closing() -> Result<()> {
    kill_the_only_process("reopening", 24)
}

/// Whoever opens a file whose processes died may go on with what they left. But what lies there now need not be what
/// they wrote.
#[test]
fn a_file_that_was_put_back_after_a_kill_is_opened_as_what_it_is() -> Result<()> {
    let mut random = Random::new();
    let (_dir, path) = scratch();
    drop(Database::open(&path)?);
    let mut writer = WriterProcess::start(&path, "writer", &mut random, "relaxed", 0);
    writer.hear(3);
    let killed = writer.kill();
    let db = Database::open(&path)?;
    // A commit that was under way is finished, or was none.
    drop(db.begin_write()?);
    let made = assert_kept(&db, &killed);
    drop(db);
    let early = std::fs::read(&path).unwrap();
    let mut writer = WriterProcess::start(&path, "writer", &mut random, "relaxed", made);
    writer.hear(40);
    let killed = writer.kill();
    let late = std::fs::read(&path).unwrap();
    // Into the same file, as a program does that copies over what is there.
    std::fs::write(&path, &early).unwrap();
    let db = Database::open(&path)?;
    assert_eq!(assert_kept(&db, &("writer".to_string(), made)), made);
    drop(db);
    std::fs::write(&path, &late).unwrap();
    assert_kept(&Database::open(&path)?, &killed);
    Ok(())
}

#[test]
fn what_was_written_without_the_lock_file_after_a_kill_is_kept() -> Result<()> {
    let (_dir, path) = scratch();
    let mut parked = start("role_parked", &[&path]);
    parked.next();
    parked.kill();
    let db = Options::new().without_lock_file().open(&path)?;
    db.update(|txn| txn.table("late")?.put(b"key", b"value"))?;
    // As if it had been killed too.
    std::mem::forget(db);
    let db = Database::open(&path)?;
    assert_eq!(db.read()?.table("late")?.get(b"key")?, Some(&b"value"[..]));
    assert_clean(&db);
    Ok(())
}

#[test]
fn opening_after_a_kill_leaves_the_file_as_it_is() -> Result<()> {
    let mut random = Random::new();
    let (_dir, path) = scratch();
    drop(Database::open(&path)?);
    let mut writer = WriterProcess::start(&path, "writer", &mut random, "relaxed", 0);
    writer.hear(20);
    let killed = writer.kill();
    let modified = || std::fs::metadata(&path).unwrap().modified().unwrap();
    let before = modified();
    let db = Database::open(&path)?;
    assert_eq!(modified(), before);
    assert_kept(&db, &killed);
    Ok(())
}

/// `DURAMEN_CASES` says how often.
#[test]
fn writers_and_readers_go_on_when_any_of_them_is_stopped_or_killed() -> Result<()> {
    let rounds = std::env::var("DURAMEN_CASES").map_or(12, |rounds| rounds.parse().unwrap());
    let mut random = Random::new();
    let (_dir, path) = scratch();
    let db = Database::open(&path)?;
    let kinds = ["durable", "relaxed", "reopening"];
    let mut writers: Vec<WriterProcess> =
        (0..2).map(|i| WriterProcess::start(&path, &format!("writer {i}"), &mut random, kinds[i], 0)).collect();
    let mut readers: Vec<Role> = (0..2).map(|_| start("role_reader", &[&path])).collect();
    for round in 0..rounds {
        for writer in &mut writers {
            let commits = random.below(6);
            writer.hear(commits);
        }
        readers[0].next().expect("a snapshot");
        // It may be about to read.
        let updates = random.below(4);
        readers[1].while_stopped(|| {
            (0..updates).try_for_each(|_| db.update(|txn| ledger::change(txn, &mut random, "parent", 20)).map(drop))
        })?;
        // It may have the lock.
        let moment = Duration::from_micros(random.below(5000));
        writers[random.below(2) as usize].role.while_stopped(|| std::thread::sleep(moment));
        let victim = random.below(2) as usize;
        let name = format!("writer {}", 2 + round);
        let kind = kinds[random.below(3) as usize];
        let started = WriterProcess::start(&path, &name, &mut random, kind, 0);
        let killed = std::mem::replace(&mut writers[victim], started).kill();
        assert_kept(&db, &killed);
        if random.below(2) == 0 {
            readers.remove(0).kill();
            readers.push(start("role_reader", &[&path]));
        }
        db.update(|txn| ledger::change(txn, &mut random, "parent", 20))?;
    }
    let killed: Vec<_> = writers.into_iter().map(WriterProcess::kill).collect();
    readers.into_iter().for_each(|reader| drop(reader.kill()));
    killed.iter().for_each(|killed| _ = assert_kept(&db, killed));
    db.update(|txn| ledger::change(txn, &mut random, "parent", 20))?;
    assert_eq!(db.readers()?, Vec::new());
    Ok(())
}

#[test]
fn a_reader_in_another_process_keeps_what_it_sees() -> Result<()> {
    let mut random = Random::new();
    let (_dir, path) = scratch();
    let db = Options::new().durability(Durability::Relaxed).open(&path)?;
    db.update(|txn| ledger::change(txn, &mut random, "parent", 3000))?;
    let mut parked = start("role_parked", &[&path]);
    parked.expect("parked");
    for _ in 0..5 {
        for _ in 0..200 {
            db.update(|txn| ledger::change(txn, &mut random, "parent", 40))?;
        }
        parked.go_on();
        parked.expect("the same");
    }
    let readers = db.readers()?;
    assert_eq!(readers.iter().map(|reader| reader.pid).collect::<Vec<_>>(), [parked.pid()]);
    assert!(readers[0].pages_held > 0);
    Ok(())
}

#[test]
fn what_a_dead_reader_held_is_free_without_being_asked_for() -> Result<()> {
    let mut random = Random::new();
    let (_dir, path) = scratch();
    let db = Database::open(&path)?;
    db.update(|txn| ledger::change(txn, &mut random, "parent", 3000))?;
    let mut parked = start("role_parked", &[&path]);
    parked.expect("parked");
    for _ in 0..10 {
        db.update(|txn| ledger::change(txn, &mut random, "parent", 100))?;
    }
    let held = db.stats()?;
    parked.kill();
    db.update(|txn| ledger::change(txn, &mut random, "parent", 1))?;
    db.checkpoint()?;
    let freed = db.stats()?;
    assert!(freed.retired_pages < held.retired_pages / 4, "{held:?}, then {freed:?}");
    assert_eq!((db.readers()?, db.clear_dead_readers()?), (Vec::new(), 0));
    Ok(())
}

#[test]
fn dead_readers_can_be_cleared_by_hand() -> Result<()> {
    let (_dir, path) = scratch();
    let db = Database::open(&path)?;
    let mut parked = start("role_parked", &[&path]);
    parked.expect("parked");
    assert_eq!(db.clear_dead_readers()?, 0);
    parked.kill();
    assert_eq!(db.clear_dead_readers()?, 1);
    Ok(())
}

#[test]
fn a_writer_that_dies_inside_its_transaction_leaves_nothing_and_blocks_nobody() -> Result<()> {
    let mut random = Random::new();
    let (_dir, path) = scratch();
    let db = Options::new().durability(Durability::Relaxed).open(&path)?;
    db.update(|txn| ledger::change(txn, &mut random, "parent", 1000))?;
    for _ in 0..3 {
        let before = ledger::prove(&db.read()?);
        let mut unfinished = start("role_unfinished", &[&path]);
        unfinished.expect("in the middle");
        assert!(matches!(db.try_begin_write(), Err(duramen::Error::Busy)));
        unfinished.kill();
        assert_eq!(ledger::prove(&db.read()?), before);
        db.update(|txn| ledger::change(txn, &mut random, "parent", 30))?;
        assert_clean(&db);
    }
    assert_eq!(ledger::commits_of(&db.read()?, "unfinished"), 0);
    Ok(())
}

#[test]
fn a_transaction_that_its_process_leaves_behind_is_aborted() -> Result<()> {
    let (_dir, path) = scratch();
    let mut unfinished = start("role_unfinished", &[&path]);
    unfinished.expect("in the middle");
    unfinished.go_on();
    unfinished.finish();
    let db = Database::open(&path)?;
    assert_eq!(db.read()?.table_names()?, Vec::<Vec<u8>>::new());
    assert_clean(&db);
    Ok(())
}
