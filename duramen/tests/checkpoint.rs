//! When the data file is flushed, by commits, on opening and on closing, and what the disk is asked to write before.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use duramen::{Database, Durability, Error, Medium, MediumLayer, Options};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const LOG_STEP: u64 = 64 << 10;

/// What the data file was asked for.
#[derive(Debug, Clone, PartialEq)]
enum Call {
    Begin(Range<u64>),
    Flush,
}

#[derive(Clone, Default)]
struct Calls(Arc<Mutex<Vec<Call>>>);

impl Calls {
    fn layer(&self) -> MediumLayer {
        let calls = self.clone();
        Arc::new(move |medium| Arc::new(Noted { medium, calls: calls.clone() }))
    }

    fn take(&self) -> Vec<Call> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

struct Noted {
    medium: Arc<dyn Medium>,
    calls: Calls,
}

impl Medium for Noted {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        self.medium.write_at(offset, parts)
    }

    fn begin_flush(&self, bytes: Range<u64>) {
        self.calls.0.lock().unwrap().push(Call::Begin(bytes));
    }

    /// The disk is left out: what is asked is the question here.
    fn flush(&self) -> io::Result<()> {
        self.calls.0.lock().unwrap().push(Call::Flush);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.medium.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.medium.set_len(bytes)
    }
}

fn key(n: u64) -> [u8; 8] {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

/// A database of some MiB, whose calls to the data file are noted, and whose log lies on a disk that is not asked.
fn filled(path: &Path, calls: &Calls) -> Result<Database> {
    let options: Options = Database::options().medium(calls.layer()).log_medium(Calls::default().layer());
    let db = options.log_at_once(LOG_STEP).open(path)?;
    db.update(|txn| {
        let mut table = txn.table("t")?;
        (0..40_000).try_for_each(|n| table.put(key(n), [n as u8; 100]))
    })?;
    db.checkpoint()?;
    calls.take();
    Ok(db)
}

/// Updates until the data file is flushed; how many of them, and the calls to the data file with the number of the
/// update each came after.
fn until_checkpoint(db: &Database, calls: &Calls, durability: Durability) -> Result<(usize, Vec<(usize, Call)>)> {
    let mut seen = Vec::new();
    for i in 0..100_000 {
        let mut txn = db.begin_write()?;
        txn.set_durability(durability);
        txn.table("t")?.put(key(i as u64 % 40_000), [i as u8; 100])?;
        txn.commit()?;
        seen.extend(calls.take().into_iter().map(|call| (i, call)));
        if seen.last().is_some_and(|(_, call)| *call == Call::Flush) {
            return Ok((i, seen));
        }
    }
    Err("no checkpoint was made".into())
}

#[test]
fn the_disk_is_asked_for_the_whole_data_file_before_a_checkpoint() -> Result {
    let dir = tempfile::tempdir()?;
    let (path, calls) = (dir.path().join("it.dm"), Calls::default());
    let db = filled(&path, &calls)?;
    for _ in 0..2 {
        let (updates, seen) = until_checkpoint(&db, &calls, Durability::Durable)?;
        let (last, asked) = seen.split_last().unwrap();
        assert_eq!(last.1, Call::Flush);
        assert!(asked[0].0 > updates / 2, "asked long before the checkpoint: {} of {updates}", asked[0].0);
        let bytes = std::fs::metadata(&path)?.len();
        let mut passes = Vec::new();
        for (_, call) in asked {
            let Call::Begin(range) = call else { return Err("flushed twice".into()) };
            assert!(range.end > range.start);
            match passes.last_mut() {
                Some(end) if range.start > 0 => assert_eq!(range.start, std::mem::replace(end, range.end), "in order"),
                _ => passes.push(range.end),
            }
        }
        assert!(passes.len() > 1 && asked.len() > passes.len(), "one part after the other, and again: {asked:?}");
        assert!(passes.iter().all(|end| (bytes * 3 / 4..=bytes).contains(end)), "{passes:?} of {bytes} bytes");
    }
    Ok(())
}

#[test]
fn the_log_grows_with_the_data_file_before_a_checkpoint_is_made() -> Result {
    let dir = tempfile::tempdir()?;
    let (path, calls) = (dir.path().join("it.dm"), Calls::default());
    let db = filled(&path, &calls)?;
    let log = dir.path().join("it.dm-log");
    db.update(|txn| txn.table("t")?.put(key(0), [9; 100]))?;
    assert_eq!(std::fs::metadata(&log)?.len(), LOG_STEP);
    until_checkpoint(&db, &calls, Durability::Durable)?;
    let (bytes, most) = (std::fs::metadata(&log)?.len(), std::fs::metadata(&path)?.len() / 8);
    assert!((most - LOG_STEP..=most + LOG_STEP).contains(&bytes), "{bytes} of {most}");
    Ok(())
}

#[test]
fn pages_that_are_replaced_again_and_again_wait_until_the_log_is_full_and_the_file_stays_short() -> Result {
    const RECORDS: u64 = 240_000;
    let dir = tempfile::tempdir()?;
    let (path, calls) = (dir.path().join("it.dm"), Calls::default());
    let db = filled(&path, &calls)?;
    db.update(|txn| {
        let mut table = txn.table("t")?;
        (0..RECORDS).try_for_each(|n| table.put(key(n), [n as u8; 100]))
    })?;
    db.checkpoint()?;
    let loaded = std::fs::metadata(&path)?.len();
    assert!(loaded > 32 << 20, "more than waits in any file: {loaded} bytes");
    let (mut next, mut after) = (0u64, Vec::new());
    for round in 0..12 {
        calls.take();
        let mut commits = 0;
        while !calls.take().contains(&Call::Flush) {
            db.update(|txn| {
                let mut table = txn.table("t")?;
                (0..100).try_for_each(|_| {
                    next = next.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                    table.put(key((next >> 33) % RECORDS), [round as u8; 100])
                })
            })?;
            commits += 1;
        }
        assert!(commits > 200, "a checkpoint after {commits} commits");
        after.push(std::fs::metadata(&path)?.len());
    }
    // What the last checkpoint had, and what replaced it.
    assert!(after[11] <= 2 * loaded, "{loaded} bytes grew to {after:?}");
    assert!(after[11] < after[3] + after[3] / 100, "free pages that follow no other are of use too: {after:?}");
    Ok(())
}

/// Where the lock file says when the data file was flushed last, and by which mount it was opened: 0 where the system
/// does not tell that, so that nobody goes on with what was not flushed.
const FLUSHED_AT: u64 = 384;
const MOUNT: u64 = 448;

/// However slow the machine is: the last flush was a moment ago, by a clock that may be coarser than this one.
fn say_flushed_just_now(lock: &File) -> Result {
    let just_now = UNIX_EPOCH.elapsed()?.as_millis() as u64 - 100;
    Ok(lock.write_all_at(&just_now.to_ne_bytes(), FLUSHED_AT)?)
}

#[test]
fn relaxed_commits_ask_the_disk_too() -> Result {
    let dir = tempfile::tempdir()?;
    let (path, calls) = (dir.path().join("it.dm"), Calls::default());
    let db = filled(&path, &calls)?;
    let lock = File::options().write(true).open(dir.path().join("it.dm-lock"))?;
    // Values of their own pages, so that much waits for the flush soon: in the end more than on any machine.
    for i in 0..140u32 {
        say_flushed_just_now(&lock)?;
        let mut txn = db.begin_write()?;
        txn.set_durability(Durability::Relaxed);
        txn.table("large")?.put(i.to_be_bytes(), vec![i as u8; 4 << 20])?;
        txn.commit()?;
    }
    let seen = calls.take();
    let flushed = seen.iter().position(|call| *call == Call::Flush).ok_or("no checkpoint was made")?;
    assert!(seen[..flushed].iter().any(|call| matches!(call, Call::Begin(_))), "{seen:?}");
    Ok(())
}

/// Opens with or without flushing on closing, puts one record, and closes; how often the data file was flushed.
fn open_put_close(path: &Path, flush_on_close: bool, durability: Durability, value: u64) -> Result<usize> {
    let calls = Calls::default();
    let options = Database::options().medium(calls.layer()).flush_on_close(flush_on_close).durability(durability);
    let db = options.open(path)?;
    db.update(|txn| txn.table("t")?.put(key(0), value.to_le_bytes()))?;
    db.close()?;
    Ok(calls.take().iter().filter(|call| **call == Call::Flush).count())
}

fn value(path: &Path) -> Result<u64> {
    let db = Database::options().read_only(true).open(path)?;
    Ok(u64::from_le_bytes(db.read()?.table("t")?.get(key(0))?.unwrap_or_default().try_into()?))
}

#[test]
fn who_opens_a_database_and_closes_it_flushes_no_more_than_the_commit() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    open_put_close(&path, true, Durability::Durable, 0)?;
    for i in 1..10 {
        assert_eq!(open_put_close(&path, true, Durability::Durable, i)?, 1);
        assert_eq!(value(&path)?, i);
        // The file alone says all: nobody knows this copy's lock file.
        let copy = dir.path().join("copy.dm");
        std::fs::copy(&path, &copy)?;
        assert_eq!(value(&copy)?, i);
    }
    Ok(())
}

#[test]
fn closing_flushes_relaxed_commits_unless_that_is_not_wanted() -> Result {
    let dir = tempfile::tempdir()?;
    let (path, lock) = (dir.path().join("it.dm"), dir.path().join("it.dm-lock"));
    open_put_close(&path, true, Durability::Durable, 0)?;
    assert_eq!(open_put_close(&path, true, Durability::Relaxed, 0)?, 1);
    let lock = std::fs::OpenOptions::new().read(true).write(true).open(lock)?;
    let mut mount = [0; 8];
    lock.read_exact_at(&mut mount, MOUNT)?;
    // Where a mount has no number of its own (before Linux 6.8), who opens flushes what was left unflushed.
    let recovered = usize::from(mount == [0; 8]);
    for i in 1..20 {
        let flushes = if i == 1 { 0 } else { recovered };
        say_flushed_just_now(&lock)?;
        assert_eq!(open_put_close(&path, false, Durability::Relaxed, i)?, flushes);
        assert_eq!(value(&path)?, i);
        let copy = dir.path().join("copy.dm");
        std::fs::copy(&path, &copy)?;
        assert_eq!(value(&copy)?, i, "it proves what was not flushed");
    }
    lock.write_all_at(&[0; 8], FLUSHED_AT)?;
    assert_eq!(open_put_close(&path, false, Durability::Relaxed, 20)?, 1, "the last flush is long ago");
    assert_eq!(open_put_close(&path, false, Durability::Relaxed, 21)?, recovered);
    Ok(())
}

#[test]
fn a_log_is_gone_after_closing_and_what_was_in_it_is_in_the_data_file() -> Result {
    let dir = tempfile::tempdir()?;
    let (path, log) = (dir.path().join("it.dm"), dir.path().join("it.dm-log"));
    let calls = Calls::default();
    let options = Database::options().medium(calls.layer()).flush_on_close(false).log_at_once(LOG_STEP);
    let db = options.open(&path)?;
    for durability in [Durability::Durable, Durability::Relaxed] {
        let mut txn = db.begin_write()?;
        txn.set_durability(durability);
        txn.table("t")?.put(key(0), 7u64.to_le_bytes())?;
        txn.commit()?;
    }
    assert!(log.exists());
    calls.take();
    db.close()?;
    assert_eq!(calls.take(), [Call::Flush]);
    assert!(!log.exists());
    assert_eq!(value(&path)?, 7);
    Ok(())
}

/// Notes whether a file is there whenever the data file is flushed.
struct Witness {
    medium: Arc<dyn Medium>,
    file: PathBuf,
    there: Arc<Mutex<Vec<bool>>>,
}

impl Medium for Witness {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        self.medium.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        self.there.lock().unwrap().push(self.file.exists());
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.medium.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.medium.set_len(bytes)
    }
}

#[test]
fn closing_leaves_the_log_where_it_is_until_the_data_file_is_flushed() -> Result {
    let dir = tempfile::tempdir()?;
    let (path, log, there) =
        (dir.path().join("it.dm"), dir.path().join("it.dm-log"), Arc::<Mutex<Vec<bool>>>::default());
    let (file, noted) = (log.clone(), there.clone());
    let layer = move |medium| Arc::new(Witness { medium, file: file.clone(), there: noted.clone() }) as Arc<dyn Medium>;
    let db = Database::options().medium(Arc::new(layer)).log_at_once(LOG_STEP).open(&path)?;
    (0..4u64).try_for_each(|i| db.update(|txn| txn.table("t")?.put(key(0), i.to_le_bytes())))?;
    there.lock().unwrap().clear();
    db.close()?;
    assert_eq!((&there.lock().unwrap()[..], log.exists()), (&[true][..], false));
    Ok(())
}

#[test]
fn relaxed_commits_are_not_left_unflushed_where_no_lock_file_tells_of_them() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    let calls = Calls::default();
    let options = Database::options().medium(calls.layer()).flush_on_close(false).durability(Durability::Relaxed);
    let db = options.without_lock_file().open(&path)?;
    db.update(|txn| txn.table("t")?.put(key(0), 5u64.to_le_bytes()))?;
    calls.take();
    db.close()?;
    assert!(calls.take().contains(&Call::Flush));
    assert_eq!(value(&path)?, 5);
    Ok(())
}

/// Closes with relaxed commits left unflushed, then damages a leaf of them.
fn leave_a_damaged_leaf(path: &Path) -> Result {
    let db = Database::options().flush_on_close(false).durability(Durability::Relaxed).open(path)?;
    db.update(|txn| txn.table("t")?.put(key(0), 8u64.to_le_bytes()))?;
    db.update(|txn| txn.table("other")?.put("needle", [b'n'; 100]))?;
    db.close()?;
    let bytes = std::fs::read(path)?;
    let at = bytes.windows(100).position(|bytes| bytes == [b'n'; 100]).ok_or("no such value")?;
    std::fs::File::options().write(true).open(path)?.write_all_at(b"x", at as u64)?;
    Ok(())
}

#[test]
fn who_reads_without_a_lock_file_need_not_prove_what_that_of_others_vouches_for() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    leave_a_damaged_leaf(&path)?;
    if std::fs::read(dir.path().join("it.dm-lock"))?[MOUNT as usize..][..8] == [0; 8] {
        return Ok(());
    }
    let open = || Database::options().read_only(true).without_lock_file().open(&path);
    let db = open()?;
    let snapshot = db.read()?;
    assert_eq!(snapshot.table("t")?.get(key(0))?, Some(&8u64.to_le_bytes()[..]));
    assert!(snapshot.table("other")?.get("needle").is_err());
    // Without that word all of it has to prove itself, which it cannot: the commit before is read, and nothing newer.
    std::fs::remove_file(dir.path().join("it.dm-lock"))?;
    let older = open()?;
    for _ in 0..2 {
        let before = older.read()?;
        assert!(before.txnid() < snapshot.txnid());
        assert_eq!(before.table("t")?.get(key(0))?, Some(&8u64.to_le_bytes()[..]));
    }
    // Who writes goes on from there, and is seen to.
    Database::options().open(&path)?.update(|txn| txn.table("t")?.put(key(0), 9u64.to_le_bytes()))?;
    assert_eq!(older.read()?.table("t")?.get(key(0))?, Some(&9u64.to_le_bytes()[..]));
    Ok(())
}

#[test]
fn another_state_that_is_put_into_a_closed_file_is_found() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    open_put_close(&path, true, Durability::Durable, 1)?;
    let older = std::fs::read(&path)?;
    open_put_close(&path, true, Durability::Durable, 2)?;
    // In place, as `cp` does: it is the same file, with another's content.
    std::fs::write(&path, &older)?;
    assert_eq!(value(&path)?, 1);
    open_put_close(&path, true, Durability::Durable, 3)?;
    assert_eq!(value(&path)?, 3);
    let whole = std::fs::read(&path)?;
    std::fs::write(&path, &whole[..whole.len() - 4096])?;
    let error = Database::open(&path).err().ok_or("a piece of it is missing")?;
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    Ok(())
}
