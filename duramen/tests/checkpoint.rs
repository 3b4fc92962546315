//! When the data file is flushed, and what the disk is asked to write before.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use duramen::{Database, Durability, Medium, MediumLayer, Options};

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
fn relaxed_commits_ask_the_disk_too() -> Result {
    let dir = tempfile::tempdir()?;
    let (path, calls) = (dir.path().join("it.dm"), Calls::default());
    let db = filled(&path, &calls)?;
    // Values of their own pages, so that much waits for the flush soon.
    for i in 0..40u32 {
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
