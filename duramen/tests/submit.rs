//! Group commit: who submits is told what became of it, and one flush serves all who submit at the same time.

use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread, ThreadId};
use std::time::Duration;

use duramen::{BulkOptions, Database, Durability, Error, Medium, MediumLayer, Result, Submitted, WriteTxn};

/// Counts flushes, and fails them when told to.
#[derive(Default)]
struct Switch {
    flushes: AtomicU64,
    broken: AtomicBool,
}

struct Watched(Arc<dyn Medium>, Arc<Switch>);

impl Medium for Watched {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        if self.1.broken.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        self.1.flushes.fetch_add(1, Ordering::SeqCst);
        self.0.flush()
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

struct Bench {
    _dir: tempfile::TempDir,
    db: Database,
    switch: Arc<Switch>,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let switch = Arc::new(Switch::default());
        let watched = switch.clone();
        let layer: MediumLayer = Arc::new(move |below| Arc::new(Watched(below, watched.clone())));
        let db = Database::options().medium(layer).open(dir.path().join("x.dm")).unwrap();
        Bench { _dir: dir, db, switch }
    }

    /// Submits a change that waits inside its transaction until all of `rest` are queued behind it.
    fn group<R>(
        &self,
        first: impl FnOnce(&mut WriteTxn<'_>) -> Result<()> + Send + 'static,
        rest: impl FnOnce() -> R,
    ) -> (Result<()>, R) {
        let (inside, wait_inside) = mpsc::channel();
        let (go_on, wait_go_on) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let leader = scope.spawn(move || {
                self.db.submit(move |txn| {
                    inside.send(()).unwrap();
                    wait_go_on.recv().unwrap();
                    first(txn)
                })
            });
            wait_inside.recv().unwrap();
            let rest = rest();
            go_on.send(()).unwrap();
            (leader.join().unwrap(), rest)
        })
    }

    fn len(&self) -> u64 {
        self.db.read().unwrap().find_table("t", None).unwrap().map_or(0, |table| table.len())
    }
}

fn put(n: u32) -> impl FnOnce(&mut WriteTxn<'_>) -> Result<u32> + Send + 'static {
    move |txn| txn.table("t")?.put(n.to_be_bytes(), b"value").map(|()| n)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest runtime that there is.
fn wait_for<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn what_is_submitted_while_a_group_runs_is_committed_with_it_by_one_flush() {
    let bench = Bench::new();
    bench.db.submit(put(0)).unwrap();
    let (commits, flushes) = (bench.db.stats().unwrap().txnid.0, bench.switch.flushes.load(Ordering::SeqCst));
    let (leader, others) =
        bench.group(|txn| put(1)(txn).map(drop), || (2..40).map(|n| bench.db.submit_async(put(n))).collect::<Vec<_>>());
    leader.unwrap();
    for (n, other) in (2..40).zip(others) {
        assert_eq!(wait_for(other).unwrap(), n);
    }
    assert_eq!(bench.len(), 40);
    assert_eq!(bench.db.stats().unwrap().txnid.0, commits + 1);
    assert_eq!(bench.switch.flushes.load(Ordering::SeqCst), flushes + 1);
}

#[test]
fn a_change_that_fails_or_panics_takes_nothing_else_with_it() {
    let bench = Bench::new();
    let fail = |txn: &mut WriteTxn<'_>| -> Result<u32> {
        put(100)(txn)?;
        Err(Error::Usage { what: "no" })
    };
    let panic = |txn: &mut WriteTxn<'_>| -> Result<u32> {
        put(101)(txn)?;
        panic!("a change that panics")
    };
    let (leader, (first, failing, panicking, last)) = bench.group(
        |txn| {
            put(102)(txn)?;
            Err(Error::Usage { what: "the first" })
        },
        || {
            let db = &bench.db;
            (db.submit_async(put(1)), db.submit_async(fail), db.submit_async(panic), db.submit_async(put(2)))
        },
    );
    assert!(matches!(leader, Err(Error::Usage { what: "the first" })));
    assert_eq!(wait_for(first).unwrap(), 1);
    assert!(matches!(wait_for(failing), Err(Error::Usage { what: "no" })));
    assert!(thread::spawn(move || wait_for(panicking)).join().is_err());
    assert_eq!(wait_for(last).unwrap(), 2);
    assert_eq!(bench.len(), 2);
    assert_eq!(bench.db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

#[test]
fn a_commit_that_fails_fails_for_all_of_its_group_and_leaves_nothing() {
    let bench = Bench::new();
    bench.db.submit(put(0)).unwrap();
    let broken = bench.switch.clone();
    let (leader, other) = bench.group(
        move |txn| {
            broken.broken.store(true, Ordering::SeqCst);
            put(1)(txn).map(drop)
        },
        || bench.db.submit_async(put(2)),
    );
    for result in [leader, wait_for(other).map(drop)] {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Group { .. }) && error.is_disk_full(), "{error}");
    }
    bench.switch.broken.store(false, Ordering::SeqCst);
    assert_eq!(bench.len(), 1);
    bench.db.submit(put(3)).unwrap();
    assert_eq!(bench.len(), 2);
}

#[test]
fn an_error_that_a_change_overlooked_is_its_own() {
    let bench = Bench::new();
    let overlooks = |txn: &mut WriteTxn<'_>| -> Result<u32> {
        let mut table = txn.table("t")?;
        assert!(table.put(vec![0; 5000], b"a key that is too long").is_err());
        table.put(7u32.to_be_bytes(), b"value").map(|()| 7)
    };
    assert_eq!(bench.db.submit(overlooks).unwrap(), 7);
    assert_eq!(bench.len(), 1);
}

#[test]
fn threads_and_futures_take_turns_and_all_are_served() {
    let bench = Bench::new();
    thread::scope(|scope| {
        for thread in 0..8u32 {
            let db = &bench.db;
            scope.spawn(move || {
                for n in 0..100 {
                    let key = thread * 1000 + n;
                    let stored = if n % 3 == 0 { wait_for(db.submit_async(put(key))) } else { db.submit(put(key)) };
                    assert_eq!(stored.unwrap(), key);
                    assert!(db.read().unwrap().table("t").unwrap().get(key.to_be_bytes()).unwrap().is_some());
                }
            });
        }
    });
    assert_eq!(bench.len(), 800);
}

/// Who waits for no disk.
const NEVER: Duration = Duration::ZERO;

/// A change that tells which thread it ran on.
fn run_by(n: u32) -> impl FnOnce(&mut WriteTxn<'_>) -> Result<ThreadId> + Send + 'static {
    move |txn| put(n)(txn).map(|_| thread::current().id())
}

fn relaxed() -> (tempfile::TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::options().durability(Durability::Relaxed).open(dir.path().join("x.dm")).unwrap();
    (dir, db)
}

fn poll<T: Send>(future: &mut Submitted<T>) -> Poll<Result<T>> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn brief_changes_are_done_by_who_asks_for_the_first_of_them() {
    let (_dir, db) = relaxed();
    let before = db.read().unwrap().txnid();
    let mut submitted: Vec<_> = (0..3).map(|n| db.submit_brief(NEVER, run_by(n))).collect();
    assert_eq!(db.read().unwrap().txnid(), before, "nobody has asked yet");
    for future in &mut submitted {
        assert!(matches!(poll(future), Poll::Ready(Ok(thread)) if thread == thread::current().id()));
    }
    assert_eq!(db.read().unwrap().txnid().0, before.0 + 1, "one commit for all");
}

#[test]
fn brief_changes_wait_elsewhere_where_there_is_something_to_wait_for() {
    let (_dir, db) = relaxed();
    let mut writer = db.begin_write().unwrap();
    let mut future = db.submit_brief(NEVER, run_by(1));
    assert!(poll(&mut future).is_pending());
    writer.table("t").unwrap().put(b"key", b"value").unwrap();
    writer.commit().unwrap();
    assert_ne!(wait_for(future).unwrap(), thread::current().id());

    let durable = Bench::new();
    assert_ne!(wait_for(durable.db.submit_brief(NEVER, run_by(1))).unwrap(), thread::current().id());
}

#[test]
fn who_has_patience_makes_durable_changes_himself_while_the_disk_is_known_to_be_fast() {
    let bench = Bench::new();
    let here = |patience| wait_for(bench.db.submit_brief(patience, run_by(1))).unwrap() == thread::current().id();
    assert!(!here(Duration::MAX), "nobody knows how long the disk takes");
    // The first commits flush the data file, before there is a log.
    for n in 0..8 {
        bench.db.submit(put(n)).unwrap();
    }
    for _ in 0..2 {
        // Who leads elsewhere goes on for a moment after the last change was told.
        assert!((0..1000).any(|_| here(Duration::MAX)));
        assert_eq!(bench.db.stats().unwrap().durable_txnid, bench.db.read().unwrap().txnid());
        for patience in [NEVER, Duration::from_nanos(1)] {
            assert!(!here(patience), "{patience:?}");
        }
    }
}

#[test]
fn who_has_patience_does_not_wait_for_the_data_file_to_be_flushed() {
    let bench = Bench::new();
    let (mut elsewhere, mut checkpoints) = (0, 0);
    for n in 0..5000 {
        let flushes = bench.switch.flushes.load(Ordering::SeqCst);
        let thread = wait_for(bench.db.submit_brief(Duration::MAX, run_by(n))).unwrap();
        let here = thread == thread::current().id();
        let flushed = bench.switch.flushes.load(Ordering::SeqCst) > flushes;
        assert!(!here || !flushed, "change {n}");
        elsewhere += u32::from(!here);
        checkpoints += u32::from(flushed && n > 100);
    }
    assert!(checkpoints > 0 && elsewhere < 2500, "{checkpoints} checkpoints, {elsewhere} elsewhere");
}

#[test]
fn long_changes_behind_brief_ones_are_done_elsewhere() {
    let (_dir, db) = relaxed();
    let other = db.clone();
    let behind = Arc::new(Mutex::new(None));
    let place = behind.clone();
    let first = db.submit_brief(NEVER, move |txn| {
        *place.lock().unwrap() = Some(other.submit_async(run_by(2)));
        run_by(1)(txn)
    });
    assert_eq!(wait_for(first).unwrap(), thread::current().id());
    let behind = behind.lock().unwrap().take().unwrap();
    assert_ne!(wait_for(behind).unwrap(), thread::current().id());
}

#[test]
fn who_submits_behind_more_brief_changes_than_a_group_takes_is_told_when_his_is_done() {
    let (_dir, db) = relaxed();
    let unasked: Vec<_> = (0..2100).map(|n| db.submit_brief(NEVER, put(n))).collect();
    assert_eq!(db.submit(put(5000)).unwrap(), 5000);
    for future in unasked {
        wait_for(future).unwrap();
    }
    assert_eq!(db.read().unwrap().table("t").unwrap().len(), 2101);
    db.close().unwrap();
}

#[test]
fn brief_changes_of_many_threads_are_all_told() {
    let (_dir, db) = relaxed();
    thread::scope(|scope| {
        for thread in 0..8u32 {
            let db = &db;
            scope.spawn(move || {
                for n in 0..200 {
                    let key = thread * 1000 + n;
                    let stored = match n % 4 {
                        0 => wait_for(db.submit_async(put(key))),
                        1 => db.submit(put(key)),
                        _ => wait_for(db.submit_brief(NEVER, put(key))),
                    };
                    assert_eq!(stored.unwrap(), key);
                }
            });
        }
    });
    assert_eq!(db.read().unwrap().table("t").unwrap().len(), 1600);
}

#[test]
fn a_brief_change_that_nobody_awaits_is_committed_all_the_same() {
    let (_dir, db) = relaxed();
    drop(db.submit_brief(NEVER, put(1)));
    assert_eq!(db.read().unwrap().table("t").unwrap().len(), 1);
    let never_asked = db.submit_brief(NEVER, put(2));
    db.submit(put(3)).unwrap();
    assert_eq!(db.read().unwrap().table("t").unwrap().len(), 3, "who leads takes what waits");
    assert_eq!(wait_for(never_asked).unwrap(), 2);
}

#[test]
fn a_future_that_nobody_awaits_is_committed_all_the_same() {
    let bench = Bench::new();
    drop(bench.db.submit_async(put(1)));
    // Behind it in the queue.
    bench.db.submit(put(2)).unwrap();
    assert_eq!(bench.len(), 2);
}

/// Takes a while after it has said that a future is decided.
struct Slow(mpsc::Sender<()>);

impl Wake for Slow {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn who_knows_what_became_of_all_futures_can_close_the_database() {
    let (dir, db) = relaxed();
    let (decided, wait_decided) = mpsc::channel();
    let waker = Arc::new(Slow(decided)).into();
    let held = db.begin_write().unwrap();
    let mut submitted = db.submit_async(put(1));
    assert!(Pin::new(&mut submitted).poll(&mut Context::from_waker(&waker)).is_pending());
    held.abort();
    wait_decided.recv().unwrap();
    assert!(matches!(poll(&mut submitted), Poll::Ready(Ok(_))));
    db.close().unwrap();
    drop(dir);
}

struct Named(usize, mpsc::Sender<usize>);

impl Wake for Named {
    fn wake(self: Arc<Self>) {
        self.1.send(self.0).unwrap();
    }
}

#[test]
fn tasks_with_many_changes_in_a_group_are_woken_once_each() {
    let bench = Bench::new();
    let (woken, wait_woken) = mpsc::channel();
    let [first, second, third, last] = std::array::from_fn(|task| Waker::from(Arc::new(Named(task, woken.clone()))));
    let submit = |n, waker: &Waker| {
        let mut submitted = bench.db.submit_async(put(n));
        assert!(Pin::new(&mut submitted).poll(&mut Context::from_waker(waker)).is_pending());
    };
    let held = bench.db.begin_write().unwrap();
    (0..10).for_each(|n| [&first, &second, &third].into_iter().for_each(|waker| submit(n, waker)));
    held.abort();
    // Of the first group all are woken before any of the next.
    let mut order: Vec<usize> = wait_woken.iter().take(3).collect();
    let held = bench.db.begin_write().unwrap();
    submit(10, &last);
    held.abort();
    order.push(wait_woken.recv().unwrap());
    assert_eq!(order, [0, 1, 2, 3]);
}

struct Faulty(mpsc::Sender<()>);

impl Wake for Faulty {
    fn wake(self: Arc<Self>) {
        self.0.send(()).unwrap();
        panic!("on purpose");
    }
}

#[test]
fn a_task_that_cannot_be_woken_keeps_nobody_else_from_writing() {
    let bench = Bench::new();
    let (woken, wait_woken) = mpsc::channel();
    let waker = Arc::new(Faulty(woken)).into();
    let held = bench.db.begin_write().unwrap();
    let mut submitted = bench.db.submit_async(put(1));
    assert!(Pin::new(&mut submitted).poll(&mut Context::from_waker(&waker)).is_pending());
    held.abort();
    wait_woken.recv().unwrap();
    let (db, (done, wait_done)) = (bench.db.clone(), mpsc::channel());
    // Should it wait for ever, the test does not.
    thread::spawn(move || done.send(db.submit(put(2)).is_ok()));
    assert_eq!(wait_done.recv_timeout(Duration::from_secs(20)), Ok(true));
    assert_eq!(bench.len(), 2);
}

/// A result that nobody has taken.
struct Untaken(mpsc::Sender<()>);

impl Drop for Untaken {
    fn drop(&mut self) {
        self.0.send(()).unwrap();
        panic!("on purpose");
    }
}

#[test]
fn a_result_that_cannot_be_dropped_keeps_nobody_else_from_writing() {
    let bench = Bench::new();
    let (dropped, wait_dropped) = mpsc::channel();
    let held = bench.db.begin_write().unwrap();
    drop(bench.db.submit_async(move |txn| txn.table("t")?.put("untaken", "").map(|()| Untaken(dropped))));
    held.abort();
    wait_dropped.recv().unwrap();
    let (db, (done, wait_done)) = (bench.db.clone(), mpsc::channel());
    thread::spawn(move || done.send(db.submit(put(2)).is_ok()));
    assert_eq!(wait_done.recv_timeout(Duration::from_secs(20)), Ok(true));
    assert_eq!(bench.len(), 2);
}

#[test]
fn a_result_that_cannot_be_dropped_keeps_nobody_else_from_writing_where_its_commit_fails() {
    let bench = Bench::new();
    let (dropped, wait_dropped) = mpsc::channel();
    let broken = bench.switch.clone();
    let (leader, (untaken, other)) = bench.group(
        move |txn| {
            broken.broken.store(true, Ordering::SeqCst);
            put(1)(txn).map(drop)
        },
        || {
            let untaken =
                bench.db.submit_async(move |txn| txn.table("t")?.put("untaken", "").map(|()| Untaken(dropped)));
            (untaken, bench.db.submit_async(put(2)))
        },
    );
    wait_dropped.recv_timeout(Duration::from_secs(20)).unwrap();
    let (done, wait_done) = mpsc::channel();
    thread::spawn(move || {
        let told = [leader, wait_for(untaken).map(drop), wait_for(other).map(drop)];
        done.send(told.iter().all(|told| matches!(told, Err(Error::Group { .. }))))
    });
    assert_eq!(wait_done.recv_timeout(Duration::from_secs(20)), Ok(true));
    bench.switch.broken.store(false, Ordering::SeqCst);
    let (db, (done, wait_done)) = (bench.db.clone(), mpsc::channel());
    thread::spawn(move || done.send(db.submit(put(3)).is_ok()));
    assert_eq!(wait_done.recv_timeout(Duration::from_secs(20)), Ok(true));
}

/// Of a group that is gathered while another transaction is under way, what both changes asked for and whether the second
/// one fails: whether the commit is durable.
fn commits_durably(usual: Durability, asked: [Option<Durability>; 2], fails: bool) -> Result<bool> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::options().durability(usual).open(dir.path().join("it.dm"))?;
    db.update(|txn| txn.table("t")?.put(b"before", b""))?;
    db.checkpoint()?;
    let held = db.begin_write()?;
    let submitted: Vec<_> = (0..2_u8)
        .map(|n| {
            db.submit_async(move |txn| {
                asked[usize::from(n)].into_iter().for_each(|durability| txn.set_durability(durability));
                txn.table("t")?.put([n], b"")?;
                if fails && n == 1 { Err(Error::Usage { what: "on purpose" }) } else { Ok(()) }
            })
        })
        .collect();
    drop(held);
    let failed = submitted.into_iter().map(wait_for).filter(Result::is_err).count();
    assert_eq!(failed, usize::from(fails));
    let stats = db.stats()?;
    Ok(stats.txnid == stats.durable_txnid)
}

#[test]
fn a_group_is_as_durable_as_the_most_careful_of_its_changes_wants() -> Result<()> {
    use Durability::{Durable, Relaxed};
    let all = [None, Some(Durable), Some(Relaxed)];
    for (usual, first, second) in [Durable, Relaxed].into_iter().flat_map(|usual| {
        all.into_iter().flat_map(move |first| all.into_iter().map(move |second| (usual, first, second)))
    }) {
        let what = format!("{usual:?}: {first:?}, {second:?}");
        let of_first = first.unwrap_or(usual) == Durable;
        assert_eq!(commits_durably(usual, [first, second], true)?, of_first, "{what}, which fails");
        let wanted = of_first || second.unwrap_or(usual) == Durable;
        assert_eq!(commits_durably(usual, [first, second], false)?, wanted, "{what}");
    }
    Ok(())
}

/// All ways to wait for a write transaction in a closure that has one; what came of each.
fn waits_within(db: &Database) -> [Result<()>; 5] {
    [
        db.update(|_| Ok(())),
        db.submit(|_| Ok(())),
        db.begin_write().map(drop),
        db.checkpoint(),
        db.bulk_load("t", BulkOptions::new()).map(drop),
    ]
}

fn assert_refused(waits: &[Result<()>; 5]) {
    assert!(waits.iter().all(|wait| matches!(wait, Err(Error::Usage { .. }))), "{waits:?}");
}

#[test]
fn a_closure_that_would_wait_for_its_own_transaction_is_told_so() {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        let dir = tempfile::tempdir().unwrap();
        let open = |name: &str| Database::open(dir.path().join(name)).unwrap();
        let (db, other) = (open("it.dm"), open("other.dm"));
        let within = db.clone();
        assert_refused(&db.submit(move |_| Ok(waits_within(&within))).unwrap());
        let within = db.clone();
        assert_refused(&wait_for(db.submit_async(move |_| Ok(waits_within(&within)))).unwrap());
        db.update(|txn| {
            assert_refused(&waits_within(&db));
            assert!(waits_within(&other).iter().all(Result::is_ok), "another database");
            txn.table("t")?.put("a", "b")
        })
        .unwrap();
        let panics = || db.update(|_| -> Result<()> { std::panic::resume_unwind(Box::new(())) });
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
        assert!(failed.is_err());
        assert!(waits_within(&db)[..4].iter().all(Result::is_ok), "no closure any more");
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_mins(1)).expect("nobody waits");
}
