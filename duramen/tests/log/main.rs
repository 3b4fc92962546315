//! The log: what a power cut takes from the data file, opening finds in it and does again.
//!
//! A power cut is played by going back to an earlier copy of the data file, beside the log as it is now.

mod ahead;
mod closing;
mod places;
mod refused;
#[path = "../roles/mod.rs"]
mod roles;

use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use duramen::{
    Database, Duplicates, Durability, Edit, Error, Medium, MediumLayer, Options, Order, TableOptions, WriteTxn,
};
use proptest::prelude::*;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-log");
    name.into()
}

/// A database whose durable commits go into its log, and the data file as it was flushed last.
struct Logged {
    dir: tempfile::TempDir,
    db: Database,
    base: Vec<u8>,
}

impl Logged {
    fn new() -> Result<Logged> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("it.dm");
        Database::open(&path)?.update(|txn| txn.table("flushed")?.put(b"before", b"the log"))?;
        let db = Database::options().log_at_once(1 << 20).open(&path)?;
        let base = std::fs::read(&path)?;
        Ok(Logged { dir, db, base })
    }

    /// The files as a power cut may leave them, elsewhere.
    fn cut(&self) -> Result<(tempfile::TempDir, PathBuf)> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("cut.dm");
        std::fs::write(&path, &self.base)?;
        std::fs::copy(log_of(self.db.path()), log_of(&path))?;
        Ok((dir, path))
    }
}

type Contents = BTreeMap<Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>>;

fn contents(db: &Database) -> Result<Contents> {
    let snapshot = db.read()?;
    let mut tables = BTreeMap::new();
    for name in snapshot.table_names()? {
        let table = snapshot.table(&name)?;
        let entries: duramen::Result<Vec<_>> =
            table.iter().map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect();
        let entries = entries?;
        assert_eq!(entries.len() as u64, table.len());
        tables.insert(name, entries);
    }
    Ok(tables)
}

fn check(db: &Database) -> Result {
    let report = db.check(|_, _| {})?;
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    Ok(())
}

/// What the database holds is found again in what a power cut leaves of it.
fn assert_survives(logged: &Logged) -> Result {
    let (_dir, path) = logged.cut()?;
    let after = Database::open(&path)?;
    assert_eq!(contents(&after)?, contents(&logged.db)?);
    assert_eq!(after.user_number()?, logged.db.user_number()?);
    assert_eq!(after.stats()?.txnid, logged.db.stats()?.txnid);
    check(&after)?;
    assert!(!log_of(&path).exists(), "what was done again is in the data file");
    drop(after);
    assert_eq!(contents(&Database::open(&path)?)?, contents(&logged.db)?);
    Ok(())
}

#[test]
fn small_durable_commits_are_found_again_in_the_log() -> Result {
    let logged = Logged::new()?;
    for i in 0..100u32 {
        logged.db.update(|txn| txn.table("people")?.put(i.to_be_bytes(), format!("number {i}")))?;
        if i % 10 == 0 {
            assert_survives(&logged)?;
        }
    }
    let stats = logged.db.stats()?;
    assert_eq!(stats.durable_txnid, stats.txnid);
    assert_survives(&logged)
}

#[test]
fn commits_that_come_to_nothing_together_are_done_again_as_well() -> Result {
    let logged = Logged::new()?;
    logged.db.update(|txn| {
        txn.set_user_number(5);
        txn.table("short-lived")?.put(b"key", b"value")
    })?;
    logged.db.update(|txn| txn.drop_table("short-lived"))?;
    assert_survives(&logged)?;
    // A power cut may bring back the log that was removed, beside whatever was committed meanwhile.
    let (_dir, path) = logged.cut()?;
    Database::open(&path)?.update(|txn| txn.table("flushed")?.put(b"after", b"the log"))?;
    std::fs::copy(log_of(logged.db.path()), log_of(&path))?;
    let after = Database::open(&path)?;
    assert_eq!(after.read()?.table("flushed")?.get(b"after")?, Some(&b"the log"[..]));
    check(&after)
}

#[test]
fn every_operation_is_done_again() -> Result {
    let logged = Logged::new()?;
    let db = &logged.db;
    let numbers = TableOptions::new().order(Order::Native).user_bits(7);
    let sets = TableOptions::new().duplicates(Duplicates::sorted());
    let pairs = TableOptions::new().order(Order::Reversed).duplicates(Duplicates::integers());
    db.update(|txn| {
        txn.set_user_number(11);
        for i in 0..50u32 {
            txn.table_with("numbers", &numbers)?.put(i.to_ne_bytes(), [b'x'; 100])?;
            txn.table_with("sets", &sets)?.put([i as u8 % 5], i.to_be_bytes())?;
            txn.table_with("pairs", &pairs)?.put([1, i as u8 % 3], u64::from(i).to_ne_bytes())?;
            txn.table("plain")?.put(i.to_be_bytes(), vec![i as u8; i as usize * 300])?;
        }
        txn.table("gone")?.put(b"a", b"b")?;
        txn.table("old name")?.put(b"a", b"b")?;
        txn.table("emptied")?.put(b"a", b"b")?;
        Ok(())
    })?;
    assert_survives(&logged)?;
    db.update(|txn| {
        txn.table("plain")?.reserve(b"filled in later", 3)?.copy_from_slice(b"yes");
        txn.table("plain")?.reserve(b"not there after all", 3)?;
        txn.table("plain")?.delete(b"not there after all")?;
        txn.table("plain")?.reserve(b"large", 10_000)?.fill(7);
        txn.table("plain")?.edit(b"large", |old| spliced(old, 5_000, 0, b"edited after it was filled in"))?;
        txn.table("plain")?.delete_range(10u32.to_be_bytes()..20u32.to_be_bytes())?;
        txn.table("numbers")?.delete(5u32.to_ne_bytes())?;
        txn.table("sets")?.delete_duplicate([1], 6u32.to_be_bytes())?;
        txn.table("sets")?.delete([2])?;
        txn.table("emptied")?.clear()?;
        txn.drop_table("gone")?;
        txn.rename_table("old name", "new name")?;
        txn.table("old name")?.put(b"another", b"table")?;
        txn.set_user_number(12);
        Ok(())
    })?;
    assert_survives(&logged)?;
    // What is little of a long value is all that the log gets of it.
    let end = || std::fs::read(log_of(db.path())).map(|log| log.iter().rposition(|&byte| byte != 0).unwrap_or(0));
    let before = end()?;
    db.update(|txn| {
        let mut plain = txn.table("plain")?;
        for (i, at) in [(30, 0), (31, 5000), (32, 9599)] {
            plain.edit(u32::to_be_bytes(i), |old| spliced(old, at, 3, b"in between"))?;
        }
        plain.edit(b"large", |old| spliced(old, 9_999, 1, b""))?;
        plain.edit(b"filled in later", |old| spliced(old, 3, 0, b"!"))
    })?;
    assert!(end()? - before <= 1024, "{} bytes", end()? - before);
    assert_survives(&logged)?;
    let (_dir, path) = logged.cut()?;
    let after = Database::open(&path)?;
    let snapshot = after.read()?;
    assert_eq!(snapshot.table("plain")?.get(b"filled in later")?, Some(&b"yes!"[..]));
    assert_eq!(snapshot.table("numbers")?.stats(), logged.db.read()?.table("numbers")?.stats());
    Ok(())
}

#[test]
fn what_a_child_transaction_gave_up_is_not_done_again() -> Result {
    let logged = Logged::new()?;
    logged.db.update(|txn| {
        txn.table("t")?.put(b"parent", b"1")?;
        {
            let mut child = txn.child()?;
            child.table("made by a child")?.put(b"a", b"b")?;
            child.table("t")?.put(b"parent", b"2")?;
            child.table("t")?.reserve(b"room", 5)?.fill(1);
        }
        txn.table("made by a child")?.put(b"c", b"d")?;
        let mut child = txn.child()?;
        child.table("t")?.put(b"child", b"3")?;
        child.commit()
    })?;
    assert_survives(&logged)
}

#[test]
fn a_torn_record_is_no_commit() -> Result {
    let logged = Logged::new()?;
    let mut states = vec![contents(&logged.db)?];
    for i in 0..3u8 {
        logged.db.update(|txn| txn.table("t")?.put([i], vec![i + 1; 700]))?;
        states.push(contents(&logged.db)?);
    }
    for sector in 0..6 {
        let (_dir, path) = logged.cut()?;
        let mut log = std::fs::read(log_of(&path))?;
        log[sector * 512..][..512].fill(0);
        std::fs::write(log_of(&path), log)?;
        assert_eq!(contents(&Database::open(&path)?)?, states[sector / 2], "sector {sector}");
    }
    Ok(())
}

#[test]
fn commits_after_a_power_cut_are_not_mixed_up_with_those_before() -> Result {
    let logged = Logged::new()?;
    for i in 0..5u8 {
        logged.db.update(|txn| txn.table("t")?.put([i], b"first life"))?;
    }
    let (_dir, path) = logged.cut()?;
    // The first record is torn, so that none counts; those behind it are whole.
    let mut log = std::fs::read(log_of(&path))?;
    log[100] ^= 1;
    std::fs::write(log_of(&path), &log)?;
    let db = Database::open(&path)?;
    for i in 0..4u8 {
        db.update(|txn| txn.table("t")?.put([i], b"second life"))?;
    }
    let base = std::fs::read(&path)?;
    // As if removing the old log had not reached the disk.
    std::fs::write(log_of(&path), &log)?;
    db.update(|txn| txn.table("t")?.put([9], b"second life"))?;
    let expected = contents(&db)?;
    let cut = path.with_file_name("again.dm");
    std::fs::write(&cut, base)?;
    std::fs::copy(log_of(&path), log_of(&cut))?;
    assert_eq!(contents(&Database::open(&cut)?)?, expected);
    Ok(())
}

#[test]
fn a_closed_database_is_one_file_and_its_data_file_alone_a_database() -> Result {
    let logged = Logged::new()?;
    logged.db.update(|txn| txn.table("t")?.put(b"a", b"b"))?;
    let path = logged.db.path().to_path_buf();
    assert!(log_of(&path).exists());
    let expected = contents(&logged.db)?;
    let copy = path.with_file_name("copy.dm");
    std::fs::write(&copy, &logged.base)?;
    assert_eq!(contents(&Database::open(&copy)?)?.len(), 1, "the state of the last flush");
    let Logged { dir, db, .. } = logged;
    db.close()?;
    assert!(!log_of(&path).exists());
    assert_eq!(contents(&Database::open(&path)?)?, expected);
    drop(dir);
    Ok(())
}

#[test]
fn the_log_is_bounded_and_begins_anew() -> Result {
    let logged = Logged::new()?;
    let mut longest = 0;
    for i in 0..300u32 {
        logged.db.update(|txn| txn.table("t")?.put((i % 7).to_be_bytes(), vec![i as u8; 300_000]))?;
        longest = longest.max(std::fs::metadata(log_of(logged.db.path()))?.len());
    }
    assert!((1 << 20..=32 << 20).contains(&longest), "{longest}");
    check(&logged.db)?;
    let expected = contents(&logged.db)?;
    let path = logged.db.path().to_path_buf();
    drop(logged.db);
    assert_eq!(contents(&Database::open(&path)?)?, expected);
    Ok(())
}

#[test]
fn relaxed_commits_between_durable_ones_are_in_the_log_too() -> Result {
    let logged = Logged::new()?;
    let put = |i: u8, durability| -> Result {
        let mut txn = logged.db.begin_write()?;
        txn.set_durability(durability);
        txn.table("t")?.put([i], b"value")?;
        Ok(txn.commit()?)
    };
    for i in 0..30 {
        put(i, if i % 3 == 0 { Durability::Durable } else { Durability::Relaxed })?;
    }
    let stats = logged.db.stats()?;
    assert!(stats.durable_txnid < stats.txnid, "two relaxed ones came last");
    logged.db.checkpoint()?;
    assert_eq!(logged.db.stats()?.durable_txnid, stats.txnid);
    assert_survives(&logged)
}

/// What is asked of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Write,
    WriteFlushed,
    Flush,
}

/// Notes what is asked of the log.
struct Noted(Arc<dyn Medium>, Arc<Mutex<Vec<Call>>>);

impl Noted {
    fn note(&self, call: Call) {
        self.1.lock().unwrap().push(call);
    }
}

impl Medium for Noted {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.note(Call::Write);
        self.0.write_at(offset, parts)
    }

    fn write_flushed(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.note(Call::WriteFlushed);
        self.0.write_flushed(offset, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.note(Call::Flush);
        self.0.flush()
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

/// A database whose log's calls are noted.
struct Watched {
    _dir: tempfile::TempDir,
    db: Database,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Watched {
    fn new(options: Options) -> Result<Watched> {
        let dir = tempfile::tempdir()?;
        let calls = Arc::new(Mutex::new(Vec::new()));
        let noted = calls.clone();
        let layer: MediumLayer = Arc::new(move |log| Arc::new(Noted(log, noted.clone())));
        let db = options.log_medium(layer).open(dir.path().join("it.dm"))?;
        Ok(Watched { _dir: dir, db, calls })
    }

    /// Commits a put; what was asked of the log for it.
    fn put(&self, i: u32, durability: Durability) -> Result<Vec<Call>> {
        self.calls.lock().unwrap().clear();
        let mut txn = self.db.begin_write()?;
        txn.set_durability(durability);
        txn.table("t")?.put(i.to_be_bytes(), b"value")?;
        txn.commit()?;
        Ok(self.calls.lock().unwrap().clone())
    }
}

#[test]
fn records_of_many_durable_commits_in_a_row_are_written_and_flushed_in_one_step() -> Result {
    let it = Watched::new(Database::options())?;
    let apart = [Call::Write, Call::Flush];
    for round in 0..3 {
        let asked = (0..40).map(|i| it.put(round * 100 + i, Durability::Durable)).collect::<Result<Vec<_>>>()?;
        let from = asked.iter().position(|calls| *calls == [Call::WriteFlushed]).ok_or("never in one step")?;
        // In later rounds one was durable before.
        assert!(from >= 15, "the first {from} are not many");
        assert!(asked[from..].iter().all(|calls| *calls == [Call::WriteFlushed]), "{asked:?}");
        assert!(asked[8..from].iter().all(|calls| *calls == apart), "{asked:?}");
        // What comes without a flush waits in the page cache, from where only a flush of all brings it to the disk.
        assert_eq!(it.put(1000 + round, Durability::Relaxed)?, [Call::Write]);
        assert_eq!(it.put(2000 + round, Durability::Durable)?, apart);
    }
    check(&it.db)
}

#[test]
fn many_relaxed_commits_in_a_row_leave_the_log() -> Result {
    let it = Watched::new(Database::options().log_at_once(1 << 20))?;
    (0..4).try_for_each(|i| it.put(i, Durability::Durable).map(drop))?;
    let asked = (0..1000).map(|i| it.put(i, Durability::Relaxed)).collect::<Result<Vec<_>>>()?;
    let records = asked.concat().iter().filter(|call| **call == Call::Write).count();
    assert!((1..200).contains(&records), "{records} records of relaxed commits");
    // The next durable commit flushes what was not recorded, and the log begins anew.
    it.put(2000, Durability::Durable)?;
    let stats = it.db.stats()?;
    assert_eq!(stats.durable_txnid, stats.txnid);
    check(&it.db)
}

#[test]
fn several_handles_share_the_log() -> Result {
    let logged = Logged::new()?;
    let other = Database::open(logged.db.path())?;
    for i in 0..40u8 {
        let db = if i % 3 == 1 { &other } else { &logged.db };
        db.update(|txn| txn.table("t")?.put([i], b"value"))?;
    }
    drop(other);
    logged.db.update(|txn| txn.table("t")?.put(b"last", b"value"))?;
    assert_survives(&logged)
}

#[test]
fn who_comes_back_to_a_log_that_others_made_longer_writes_over_none_of_it() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    Database::open(&path)?.update(|txn| txn.table("t")?.put(b"much", vec![0; 1 << 20]))?;
    let base = std::fs::read(&path)?;
    let options = Database::options().log_at_once(4096);
    let (other, db) = (options.clone().open(&path)?, options.open(&path)?);
    let logged = Logged { dir, db, base };
    other.update(|txn| txn.table("t")?.put(b"first", b"value"))?;
    for i in 0..12u8 {
        logged.db.update(|txn| txn.table("t")?.put([i], b"value"))?;
    }
    other.update(|txn| txn.table("t")?.put(b"last", b"value"))?;
    assert_survives(&logged)
}

#[test]
fn a_custom_order_is_not_for_the_log() -> Result {
    let logged = Logged::new()?;
    let by_length = TableOptions::new()
        .order(Order::Custom(std::sync::Arc::new(|a: &[u8], b: &[u8]| a.len().cmp(&b.len()).then(a.cmp(b)))));
    logged.db.update(|txn| txn.table("t")?.put(b"in", b"the log"))?;
    logged.db.update(|txn| txn.table_with("by length", &by_length)?.put(b"a key", b"value"))?;
    // The data file as it is now has been flushed with that commit.
    let path = logged.dir.path().join("alone.dm");
    std::fs::copy(logged.db.path(), &path)?;
    let alone = Database::open(&path)?;
    let snapshot = alone.read()?;
    assert_eq!(snapshot.table_with("by length", &by_length)?.get(b"a key")?, Some(&b"value"[..]));
    assert_eq!(alone.stats()?.txnid, logged.db.stats()?.txnid);
    Ok(())
}

#[test]
fn a_log_that_does_not_belong_to_the_data_file_is_refused_and_kept() -> Result {
    let logged = Logged::new()?;
    let old = std::fs::read(logged.db.path())?;
    for _ in 0..3 {
        logged.db.update(|txn| txn.table("t")?.put(b"large", vec![1; 9 << 20]))?;
    }
    logged.db.update(|txn| txn.table("t")?.put(b"a", b"b"))?;
    let (_dir, path) = logged.cut()?;
    std::fs::write(&path, old)?;
    let error = Database::open(&path).unwrap_err();
    assert!(matches!(error, Error::ForeignLog { .. }), "{error}");
    assert!(log_of(&path).exists());
    std::fs::remove_file(log_of(&path))?;
    Database::open(&path)?;
    Ok(())
}

#[test]
fn who_opens_to_read_gets_what_is_in_the_log() -> Result {
    let logged = Logged::new()?;
    logged.db.update(|txn| txn.table("t")?.put(b"a", b"b"))?;
    let (_dir, path) = logged.cut()?;
    let reader = Database::options().read_only(true).open(&path)?;
    assert_eq!(contents(&reader)?, contents(&logged.db)?);
    Ok(())
}

/// Whether there is a log after so many commits of a value of so many bytes each.
fn has_log(options: Options, commits: u8, bytes: usize) -> Result<bool> {
    let dir = tempfile::tempdir()?;
    let db = options.open(dir.path().join("it.dm"))?;
    for i in 0..commits {
        db.update(|txn| txn.table("t")?.put([i], vec![i; bytes]))?;
    }
    Ok(log_of(db.path()).exists())
}

#[test]
fn there_is_a_log_where_it_pays() -> Result {
    assert!(!has_log(Database::options(), 4, 100)?, "who commits once or twice needs none");
    assert!(has_log(Database::options(), 5, 100)?);
    assert!(!has_log(Database::options(), 20, 100_000)?, "large values would be written twice");
    assert!(!has_log(Database::options().without_log(), 20, 100)?);
    assert!(!has_log(Database::options().durability(Durability::Relaxed), 200, 100)?);
    Ok(())
}

/// One operation of a random transaction.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8, u16),
    Reserve(u8, u8, u16),
    Edit(u8, u8, u16, u8),
    Delete(u8, u8),
    DeleteDuplicate(u8, u8),
    DeleteRange(u8, u8, u8),
    Clear(u8),
    Drop(u8),
    Rename(u8, u8),
    Child,
    EndChild(bool),
}

/// A value with some bytes taken out and others put there, as far as it is long enough.
fn spliced(old: Option<&[u8]>, at: usize, removed: usize, inserted: &[u8]) -> Edit<'static> {
    let mut value = old.unwrap_or_default().to_vec();
    let at = at.min(value.len());
    value.splice(at..(at + removed).min(value.len()), inserted.iter().copied());
    Edit::Put(value.into())
}

fn step() -> impl Strategy<Value = Step> {
    let table = 0..4u8;
    prop_oneof![
        12 => (table.clone(), any::<u8>(), 0..900u16).prop_map(|(t, k, v)| Step::Put(t, k, v)),
        2 => (table.clone(), any::<u8>(), 0..9000u16).prop_map(|(t, k, v)| Step::Reserve(t, k, v)),
        6 => (table.clone(), any::<u8>(), 0..900u16, 0..40u8).prop_map(|(t, k, at, n)| Step::Edit(t, k, at, n)),
        4 => (table.clone(), any::<u8>()).prop_map(|(t, k)| Step::Delete(t, k)),
        2 => (table.clone(), any::<u8>()).prop_map(|(t, k)| Step::DeleteDuplicate(t, k)),
        1 => (table.clone(), any::<u8>(), any::<u8>()).prop_map(|(t, a, b)| Step::DeleteRange(t, a, b)),
        1 => table.clone().prop_map(Step::Clear),
        1 => table.clone().prop_map(Step::Drop),
        1 => (table.clone(), table).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => Just(Step::Child),
        2 => any::<bool>().prop_map(Step::EndChild),
    ]
}

/// Tables 0 and 1 have duplicates when they are made; by renaming they go anywhere.
fn options(table: u8) -> TableOptions {
    if table < 2 { TableOptions::new().duplicates(Duplicates::sorted()) } else { TableOptions::new() }
}

fn apply(txn: &mut WriteTxn<'_>, step: &Step, depth: &mut usize) -> duramen::Result<()> {
    let mut open = |table: &u8| -> duramen::Result<duramen::TableId> {
        match txn.find_table([b't', *table], None)? {
            Some(id) => Ok(id),
            None => txn.open_table([b't', *table], Some(&options(*table))),
        }
    };
    match step {
        Step::Put(t, k, v) => {
            let id = open(t)?;
            // Duplicates have a largest length.
            txn.table_by_id(id)?.put([*k % 32], vec![*k; *v as usize])?;
        }
        Step::Reserve(t, k, v) => {
            let id = open(t)?;
            match txn.table_by_id(id)?.reserve([*k % 32], *v as usize) {
                Ok(room) => room.fill(*k),
                Err(Error::Incompatible { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Step::Edit(t, k, at, n) => {
            let id = open(t)?;
            let n = usize::from(*n);
            match txn.table_by_id(id)?.edit([*k % 32], |old| spliced(old, usize::from(*at), n / 2, &[*k; 40][..n])) {
                Ok(()) | Err(Error::Incompatible { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Step::Delete(t, k) => {
            let id = open(t)?;
            txn.table_by_id(id)?.delete([*k % 32])?;
        }
        Step::DeleteDuplicate(t, k) => {
            let id = open(t)?;
            let value = txn.get(id, [*k % 32])?.map(<[u8]>::to_vec).unwrap_or_default();
            match txn.table_by_id(id)?.delete_duplicate([*k % 32], value) {
                Ok(_) | Err(Error::Incompatible { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Step::DeleteRange(t, a, b) => {
            let id = open(t)?;
            txn.table_by_id(id)?.delete_range([a.min(b) % 32]..[a.max(b) % 32])?;
        }
        Step::Clear(t) => {
            let id = open(t)?;
            txn.table_by_id(id)?.clear()?;
        }
        Step::Drop(t) => drop(txn.drop_table([b't', *t])?),
        Step::Rename(a, b) => match txn.rename_table([b't', *a], [b't', *b]) {
            Ok(_) | Err(Error::TableExists { .. }) => {}
            Err(error) => return Err(error),
        },
        Step::Child => {
            txn.begin_nested()?;
            *depth += 1;
        }
        Step::EndChild(keep) if *depth > 0 => {
            *depth -= 1;
            if *keep { txn.commit_nested()? } else { txn.abort_nested()? }
        }
        Step::EndChild(_) => {}
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]
    #[test]
    fn whatever_was_committed_is_done_again(
        transactions in prop::collection::vec(prop::collection::vec(step(), 1..25), 1..12),
    ) {
        let logged = Logged::new().unwrap();
        for steps in &transactions {
            logged.db.update(|txn| {
                let mut depth = 0;
                steps.iter().try_for_each(|step| apply(txn, step, &mut depth))
            }).unwrap();
        }
        if log_of(logged.db.path()).exists() {
            assert_survives(&logged).unwrap();
        }
    }
}

#[test]
fn what_a_cursor_changed_is_done_again() -> Result {
    let logged = Logged::new()?;
    let sets = TableOptions::new().duplicates(Duplicates::sorted());
    logged.db.update(|txn| {
        for i in 0..200u8 {
            txn.table("plain")?.put([i], b"value")?;
            txn.table_with("sets", &sets)?.put([i % 7], [i])?;
        }
        Ok(())
    })?;
    logged.db.update(|txn| {
        for name in ["plain", "sets"] {
            let id = txn.find_table(name, None)?.ok_or(Error::BadTable)?;
            let mut cursor = txn.cursor(id)?;
            let mut there = cursor.first(txn)?.is_some();
            for turn in 0.. {
                if !there {
                    break;
                }
                match turn % 4 {
                    0 => cursor.delete(txn).map(drop)?,
                    1 if name == "plain" => cursor.replace(txn, b"other")?,
                    2 if name == "plain" => cursor.replace(txn, [turn as u8; 3000])?,
                    3 if turn % 40 == 3 => cursor.delete_key(txn)?,
                    _ => {}
                }
                there = cursor.next(txn)?.is_some();
            }
        }
        Ok(())
    })?;
    assert_survives(&logged)
}
