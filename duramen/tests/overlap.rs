//! Groups that are made while the disk flushes the one before.

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use duramen::{Database, Error, Medium, MediumLayer, Result, Submitted, WriteTxn};

/// Lets flushes through, or not yet, or fails them. The disk itself is not asked: how long it takes would decide.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
    broken: AtomicBool,
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
        drop(self.1.opened.wait_while(self.1.closed.lock().unwrap(), |closed| *closed).unwrap());
        match self.1.broken.load(Ordering::SeqCst) {
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

/// A database of one table with the keys 0 to 3, whose log is flushed when the gate lets it be.
struct Bench {
    dir: tempfile::TempDir,
    db: Database,
    gate: Arc<Gate>,
}

/// Two groups of two, the first of which waits for the disk while the second is at work.
struct Overlap {
    first: [Submitted<u32>; 2],
    second: [Submitted<u32>; 2],
    /// What the second saw of the first.
    seen: Receiver<bool>,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let gate = Arc::new(Gate::default());
        let gated = gate.clone();
        let layer: MediumLayer = Arc::new(move |below| Arc::new(Gated(below, gated.clone())));
        let db = Database::options().log_at_once(64 << 10).log_medium(layer).open(dir.path().join("x.dm")).unwrap();
        let bench = Bench { dir, db, gate };
        for submitted in bench.group([0, 1, 2, 3].map(put)) {
            wait_for(submitted).unwrap();
        }
        bench
    }

    /// Submits changes of which the first takes a while, so that the others are queued behind it, and so that it seems
    /// worth while to work beside the disk.
    fn group<const N: usize>(&self, changes: [Change; N]) -> [Submitted<u32>; N] {
        let (go_on, wait): (Sender<()>, _) = channel();
        let mut wait = Some(wait);
        let submitted = changes.map(|change| {
            let wait = wait.take();
            self.db.submit_async(move |txn| {
                if let Some(wait) = wait {
                    wait.recv().unwrap();
                    thread::sleep(Duration::from_millis(50));
                }
                change(txn)
            })
        });
        go_on.send(()).unwrap();
        submitted
    }

    fn overlap(&self) -> Overlap {
        self.gate.close();
        let (tell, seen) = channel();
        let third: Change = Box::new(move |txn| {
            tell.send(txn.table("t")?.get(4u32.to_be_bytes())?.is_some()).unwrap();
            put(6)(txn)
        });
        let [a, b, c, d] = self.group([put(4), put(5), third, put(7)]);
        Overlap { first: [a, b], second: [c, d], seen }
    }

    fn keys(&self) -> Vec<u32> {
        keys(&self.db)
    }
}

type Change = Box<dyn FnOnce(&mut WriteTxn<'_>) -> Result<u32> + Send>;

fn put(n: u32) -> Change {
    Box::new(move |txn| txn.table("t")?.put(n.to_be_bytes(), b"value").map(|()| n))
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

fn is_pending(submitted: &mut Submitted<u32>) -> bool {
    pin!(submitted).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn a_group_works_on_top_of_one_that_waits_for_the_disk_and_neither_is_seen_before() {
    let bench = Bench::new();
    let mut overlap = bench.overlap();
    let saw = overlap.seen.recv_timeout(Duration::from_secs(60)).expect("the next group works while the disk flushes");
    assert!(saw, "it goes on from what the group before did");
    assert_eq!(bench.keys(), [0, 1, 2, 3]);
    assert!(overlap.first.iter_mut().chain(&mut overlap.second).all(is_pending), "nobody is told");
    bench.gate.open();
    assert_eq!(overlap.first.map(|submitted| wait_for(submitted).unwrap()), [4, 5]);
    assert_eq!(bench.keys()[4..6], [4, 5]);
    assert_eq!(overlap.second.map(|submitted| wait_for(submitted).unwrap()), [6, 7]);
    assert_eq!(bench.keys(), [0, 1, 2, 3, 4, 5, 6, 7]);
    // The write lock was given back.
    bench.db.update(|txn| put(8)(txn)).unwrap();
    assert_eq!(bench.db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

#[test]
fn what_was_made_on_top_of_a_commit_that_failed_fails_with_it() {
    let bench = Bench::new();
    let overlap = bench.overlap();
    overlap.seen.recv_timeout(Duration::from_secs(60)).unwrap();
    bench.gate.broken.store(true, Ordering::SeqCst);
    bench.gate.open();
    for submitted in overlap.first.into_iter().chain(overlap.second) {
        assert!(matches!(wait_for(submitted), Err(Error::Group { .. })));
    }
    assert_eq!(bench.keys(), [0, 1, 2, 3]);
    assert!(matches!(bench.db.begin_write(), Err(Error::Poisoned { .. })));
    let Bench { dir, db, .. } = bench;
    drop(db);
    // Whether they reached the disk nobody knew; now it is one or the other.
    let db = Database::open(dir.path().join("x.dm")).unwrap();
    let found = keys(&db);
    assert!([4, 6, 8].contains(&found.len()), "{found:?}");
    assert_eq!(found, (0..found.len() as u32).collect::<Vec<_>>());
    assert_eq!(db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

#[test]
fn a_reader_that_begins_meanwhile_keeps_its_pages() {
    let bench = Bench::new();
    for round in 0..20u32 {
        let overlap = bench.overlap();
        overlap.seen.recv_timeout(Duration::from_secs(60)).unwrap();
        let snapshot = bench.db.read().unwrap();
        bench.gate.open();
        for submitted in overlap.first.into_iter().chain(overlap.second) {
            wait_for(submitted).unwrap();
        }
        for n in 0..50u32 {
            bench.db.update(|txn| txn.table("t")?.put(n.to_be_bytes(), round.to_be_bytes())).unwrap();
        }
        // Whatever it sees is one commit's: the keys of each group are there or not there.
        let table = snapshot.table("t").unwrap();
        let found: Vec<_> = table.iter().map(|entry| entry.unwrap()).collect();
        assert_eq!(found.len() as u64, table.len());
        bench.db.update(|txn| (4u32..50).try_for_each(|n| txn.table("t")?.delete(n.to_be_bytes()).map(drop))).unwrap();
        assert_eq!(bench.db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
    }
}
