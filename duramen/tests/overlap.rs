//! Groups that are made while the disk flushes the one before.

use std::io;
use std::ops::Range;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use duramen::{Database, Durability, Error, Medium, MediumLayer, Result, Submitted, Txnid, WriteTxn};

/// How long a change takes, and how long a flush of the log does: so that it pays for two of four to work meanwhile.
const WORK: Duration = Duration::from_millis(50);
const FLUSH: Duration = Duration::from_millis(150);
/// The meta pages are at the start of the data file.
const META_BYTES: u64 = 16 << 10;
/// Bytes of one of them, and where in it its commit's number is.
const SLOT: usize = 4096;
const TXNID: Range<usize> = 48..56;

/// Where the lock file counts flushes that are under way, and what is added after a failure.
const DOUBT: usize = 320;
const FAILED: u64 = 1 << 32;

/// Lets flushes of the log through, or not yet, or fails them. The disk itself is not asked: how long it takes would
/// decide what happens.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
    broken: AtomicBool,
    /// Whether that is over once one has failed.
    recovers: AtomicBool,
    flushing: AtomicBool,
    /// One began before another was over.
    together: AtomicBool,
    /// Meta pages written to the data file.
    written: AtomicU64,
}

impl Gate {
    fn close(&self) {
        *self.closed.lock().unwrap() = true;
    }

    fn open(&self) {
        *self.closed.lock().unwrap() = false;
        self.opened.notify_all();
    }
}

struct Gated(Arc<dyn Medium>, Arc<Gate>);

impl Medium for Gated {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        self.0.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        let gate = &self.1;
        if gate.flushing.swap(true, Ordering::SeqCst) {
            gate.together.store(true, Ordering::SeqCst);
        }
        thread::sleep(FLUSH);
        drop(gate.opened.wait_while(gate.closed.lock().unwrap(), |closed| *closed).unwrap());
        gate.flushing.store(false, Ordering::SeqCst);
        let recovers = gate.recovers.load(Ordering::SeqCst);
        match gate.broken.fetch_and(!recovers, Ordering::SeqCst) {
            true => Err(io::Error::from_raw_os_error(5)),
            false => Ok(()),
        }
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

/// A data file, in which commits are counted. That it is flushed matters to nobody here.
struct Counted(Arc<dyn Medium>, Arc<Gate>);

impl Medium for Counted {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        self.0.write_at(offset, parts)?;
        self.1.written.fetch_add(u64::from(offset < META_BYTES), Ordering::SeqCst);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

/// A database of one table with the keys 0 to 3, whose log is flushed when the gate lets it be.
struct Bench {
    dir: tempfile::TempDir,
    db: Database,
    gate: Arc<Gate>,
    /// What whoever listens has heard: which keys a commit put.
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// Two groups of two, which put the keys 4 to 7. The first waits for the disk, and the second was at work meanwhile.
struct Overlap {
    first: [Submitted<u32>; 2],
    second: [Submitted<u32>; 2],
    /// Whether the second saw what the first did.
    saw: bool,
    /// Meta pages written before the second was.
    written: u64,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let gate = Arc::new(Gate::default());
        let (gated, counted) = (gate.clone(), gate.clone());
        let log: MediumLayer = Arc::new(move |below| Arc::new(Gated(below, gated.clone())));
        let data: MediumLayer = Arc::new(move |below| Arc::new(Counted(below, counted.clone())));
        let options = Database::options().log_at_once(64 << 10).log_medium(log).medium(data);
        let db = options.open(dir.path().join("x.dm")).unwrap();
        let heard: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let hears = heard.clone();
        db.listen(move |said| hears.lock().unwrap().push(said.to_vec()));
        let bench = Bench { dir, db, gate, heard };
        // The first of these makes the log, the second tells how long things take.
        for _ in 0..2 {
            bench.group([0, 1, 2, 3].map(put)).into_iter().for_each(told);
        }
        bench
    }

    /// Submits changes together: the others are queued while the first one runs.
    fn group<const N: usize>(&self, changes: [Change; N]) -> [Submitted<u32>; N] {
        let (go_on, wait): (Sender<()>, _) = channel();
        let mut wait = Some(wait);
        let submitted = changes.map(|change| {
            let wait = wait.take();
            self.db.submit_async(move |txn| {
                wait.into_iter().for_each(|wait| wait.recv().unwrap());
                thread::sleep(WORK);
                change(txn)
            })
        });
        go_on.send(()).unwrap();
        submitted
    }

    /// Closes the gate, and has one group work on top of another that waits there. On a machine with much other work the
    /// times may not be as they should be at once.
    fn overlap(&self) -> Overlap {
        self.overlap_with(|| put(7))
    }

    /// The same, and this is what the second group does last.
    fn overlap_with(&self, last: impl Fn() -> Change) -> Overlap {
        (0..100).find_map(|_| self.try_overlap(last())).expect("the next group works while the disk flushes")
    }

    fn try_overlap(&self, last: Change) -> Option<Overlap> {
        self.gate.close();
        self.heard.lock().unwrap().clear();
        let ((tell, seen), gate) = (channel(), self.gate.clone());
        let third: Change = Box::new(move |txn| {
            let saw = txn.table("t")?.get(4u32.to_be_bytes())?.is_some();
            let written = gate.written.load(Ordering::SeqCst);
            tell.send((saw, written, gate.flushing.load(Ordering::SeqCst))).unwrap();
            put(6)(txn)
        });
        let [a, b, c, d] = self.group([put(4), put(5), third, last]);
        if let Ok((saw, written, true)) = seen.recv_timeout(Duration::from_secs(5)) {
            return Some(Overlap { first: [a, b], second: [c, d], saw, written });
        }
        self.gate.open();
        [a, b, c, d].into_iter().for_each(told);
        self.forget();
        None
    }

    /// Takes the keys from 4 on away.
    fn forget(&self) {
        self.db.update(|txn| (4u32..50).try_for_each(|n| txn.table("t")?.delete(n.to_be_bytes()).map(drop))).unwrap();
    }

    fn has_meta_page_of(&self, commit: Txnid) -> bool {
        let file = std::fs::read(self.dir.path().join("x.dm")).unwrap();
        file[..META_BYTES as usize].chunks(SLOT).any(|slot| slot[TXNID] == commit.0.to_le_bytes())
    }

    fn keys(&self) -> Vec<u32> {
        keys(&self.db)
    }

    /// Neither group is seen, nor is anybody told, before the log is flushed.
    fn assert_seen_once_the_gate_opens(&self, mut overlap: Overlap) {
        thread::sleep(2 * FLUSH);
        assert_eq!(self.keys(), [0, 1, 2, 3]);
        assert!(overlap.first.iter_mut().chain(&mut overlap.second).all(is_pending), "nobody is told");
        self.gate.open();
        overlap.first.into_iter().chain(overlap.second).for_each(told);
        assert_eq!(self.keys(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}

type Change = Box<dyn FnOnce(&mut WriteTxn<'_>) -> Result<u32> + Send>;

fn put(n: u32) -> Change {
    Box::new(move |txn| {
        txn.say(&[n as u8]);
        txn.table("t")?.put(n.to_be_bytes(), b"value").map(|()| n)
    })
}

fn keys(db: &Database) -> Vec<u32> {
    let snapshot = db.read().unwrap();
    let table = snapshot.table("t").unwrap();
    table.keys().map(|key| u32::from_be_bytes(key.unwrap().try_into().unwrap())).collect()
}

struct Unpark(thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait_for(submitted: Submitted<u32>) -> Result<u32> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut submitted = pin!(submitted);
    loop {
        match submitted.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

fn told(submitted: Submitted<u32>) {
    wait_for(submitted).unwrap();
}

fn is_pending(submitted: &mut Submitted<u32>) -> bool {
    pin!(submitted).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn a_group_works_on_top_of_one_that_waits_for_the_disk_and_neither_is_seen_before() {
    let bench = Bench::new();
    let mut overlap = bench.overlap();
    assert!(overlap.saw, "it goes on from what the group before did");
    assert_eq!(bench.keys(), [0, 1, 2, 3]);
    assert!(overlap.first.iter_mut().chain(&mut overlap.second).all(is_pending), "nobody is told");
    assert!(bench.heard.lock().unwrap().is_empty(), "not who listens either");
    bench.gate.open();
    assert_eq!(overlap.first.map(|submitted| wait_for(submitted).unwrap()), [4, 5]);
    assert_eq!(bench.keys()[4..6], [4, 5]);
    assert_eq!(overlap.second.map(|submitted| wait_for(submitted).unwrap()), [6, 7]);
    assert_eq!(bench.keys(), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(*bench.heard.lock().unwrap(), [[4, 5], [6, 7]], "whoever was told, who listens was told before");
    // The write lock was given back.
    bench.db.update(|txn| put(8)(txn)).unwrap();
    assert_eq!(bench.db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

#[test]
fn a_group_that_flushes_the_data_file_is_not_seen_before_the_one_that_waits_for_the_log() {
    let bench = Bench::new();
    let too_large_for_the_log =
        || -> Change { Box::new(|txn| txn.table("t")?.put(7u32.to_be_bytes(), vec![7; 2 << 20]).map(|()| 7)) };
    let overlap = bench.overlap_with(too_large_for_the_log);
    bench.assert_seen_once_the_gate_opens(overlap);
    bench.db.update(|txn| put(8)(txn)).unwrap();
    assert_eq!(bench.db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

#[test]
fn what_was_made_on_top_of_a_commit_that_failed_fails_with_it() {
    let bench = Bench::new();
    let overlap = bench.overlap();
    bench.gate.broken.store(true, Ordering::SeqCst);
    bench.gate.open();
    for submitted in overlap.first.into_iter().chain(overlap.second) {
        wait_for(submitted).unwrap_err();
    }
    assert_eq!(bench.keys(), [0, 1, 2, 3]);
    assert!(bench.heard.lock().unwrap().is_empty());
    assert!(matches!(bench.db.begin_write(), Err(Error::Poisoned { .. })));
    let Bench { dir, db, .. } = bench;
    drop(db);
    // Whether they reached the disk nobody knew; now it is one or the other.
    let db = Database::open(dir.path().join("x.dm")).unwrap();
    let found = keys(&db);
    assert!((4..=8).contains(&found.len()), "{found:?}");
    assert_eq!(found, (0..found.len() as u32).collect::<Vec<_>>());
    assert_eq!(db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

#[test]
fn what_was_made_on_top_of_a_commit_that_failed_fails_even_if_the_disk_would_take_it() {
    let bench = Bench::new();
    let overlap = bench.overlap();
    bench.gate.recovers.store(true, Ordering::SeqCst);
    bench.gate.broken.store(true, Ordering::SeqCst);
    bench.gate.open();
    for submitted in overlap.first.into_iter().chain(overlap.second) {
        wait_for(submitted).unwrap_err();
    }
    assert!(!bench.gate.broken.load(Ordering::SeqCst), "one flush has failed");
    // Other processes read in the lock file that there is doubt.
    let lock_file = std::fs::read(bench.dir.path().join("x.dm-lock")).unwrap();
    assert!(u64::from_ne_bytes(lock_file[DOUBT..][..8].try_into().unwrap()) >= FAILED);
    assert_eq!(bench.keys(), [0, 1, 2, 3]);
    assert!(matches!(bench.db.begin_write(), Err(Error::Poisoned { .. })));
}

#[test]
fn a_group_that_flushes_the_data_file_for_its_room_does_so_after_the_one_that_waits_for_the_log() {
    let bench = Bench::new();
    let value = |n: u8| vec![n; 200_000];
    // What is freed here can be used again once the data file has been flushed.
    bench.db.update(|txn| txn.table("t")?.put(8u32.to_be_bytes(), value(1))).unwrap();
    bench.db.checkpoint().unwrap();
    bench.db.update(|txn| txn.table("t")?.delete(8u32.to_be_bytes()).map(drop)).unwrap();
    let for_a_hole = || -> Change {
        Box::new(move |txn| {
            txn.set_pages_wanted(1);
            txn.table("t")?.put(7u32.to_be_bytes(), value(2)).map(|()| 7)
        })
    };
    let overlap = bench.overlap_with(for_a_hole);
    bench.assert_seen_once_the_gate_opens(overlap);
    let stats = bench.db.stats().unwrap();
    assert_eq!(stats.durable_txnid, stats.txnid);
    assert_eq!(bench.db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

#[test]
fn a_reader_that_begins_meanwhile_keeps_its_pages() {
    let bench = Bench::new();
    for round in 0..4u32 {
        let overlap = bench.overlap();
        // The second group's commit has its meta page now; readers still begin with the one before both.
        while bench.gate.written.load(Ordering::SeqCst) < overlap.written + 1 {
            thread::sleep(Duration::from_millis(1));
        }
        let snapshot = bench.db.read().unwrap();
        let (seen, first) = (snapshot.txnid(), Txnid(snapshot.txnid().0 + 1));
        assert!(bench.has_meta_page_of(seen), "both have written theirs elsewhere");
        assert!(bench.has_meta_page_of(first), "the second not over the first's");
        thread::sleep(WORK);
        bench.gate.open();
        overlap.first.into_iter().chain(overlap.second).for_each(told);
        for n in 0..50u32 {
            let mut txn = bench.db.begin_write().unwrap();
            txn.set_durability(Durability::Relaxed);
            txn.table("t").unwrap().put(n.to_be_bytes(), round.to_be_bytes()).unwrap();
            txn.commit().unwrap();
        }
        // Whatever it sees is one commit's: the keys of each group are there or not there.
        let table = snapshot.table("t").unwrap();
        let found: Vec<_> = table.iter().map(|entry| entry.unwrap()).collect();
        assert_eq!(found.len() as u64, table.len());
        bench.forget();
        assert_eq!(bench.db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
    }
    assert!(!bench.gate.together.load(Ordering::SeqCst), "a record follows those that are on disk");
}
