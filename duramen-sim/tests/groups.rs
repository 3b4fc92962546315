//! Power cuts while groups of submitted changes are made on top of one that the disk still flushes.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use duramen::{Database, Medium, MediumLayer, WriteTxn};
use duramen_sim::crash;
use duramen_sim::disk::{Mark, Which};
use duramen_sim::model::{Kind, Model, TableModel};
use duramen_sim::workload::{Commits, Life, Profile};

const THREADS: u64 = 8;
const CHANGES: u64 = 25;
const KEYS: u64 = 60;

/// What the disk is doing.
#[derive(Default)]
struct Watch {
    /// Flushes of the log under way.
    flushing: AtomicU64,
    /// Writes to the data file that came while the log was flushed.
    beside: AtomicU64,
}

/// A log that takes its time: before it is flushed, or afterwards, before it says so.
struct Slow {
    below: Arc<dyn Medium>,
    takes: Duration,
    first: bool,
    watch: Arc<Watch>,
}

impl Slow {
    fn slowly(&self, flush: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let wait = || thread::sleep(self.takes);
        self.watch.flushing.fetch_add(1, Ordering::SeqCst);
        if self.first {
            wait();
        }
        let done = flush();
        if !self.first {
            wait();
        }
        self.watch.flushing.fetch_sub(1, Ordering::SeqCst);
        done
    }
}

impl Medium for Slow {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        self.below.write_at(offset, parts)
    }

    fn write_flushed(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.slowly(|| self.below.write_flushed(offset, bytes))
    }

    fn flush(&self) -> io::Result<()> {
        self.slowly(|| self.below.flush())
    }

    fn len(&self) -> io::Result<u64> {
        self.below.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.below.set_len(bytes)
    }
}

/// A data file that notes what is written while the log is flushed.
struct Watched {
    below: Arc<dyn Medium>,
    watch: Arc<Watch>,
}

impl Medium for Watched {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        let beside = self.watch.flushing.load(Ordering::SeqCst) > 0;
        self.watch.beside.fetch_add(u64::from(beside), Ordering::SeqCst);
        self.below.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        self.below.flush()
    }

    fn len(&self) -> io::Result<u64> {
        self.below.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.below.set_len(bytes)
    }
}

/// The content after each change, in the order in which they were made.
struct History {
    model: Model,
    life: Life,
}

impl History {
    /// Makes one change to a transaction, and notes what it leads to; its number.
    fn change(&mut self, txn: &mut WriteTxn<'_>, rng: &mut fastrand::Rng) -> duramen::Result<usize> {
        let table = self.model.tables.entry(b"t".to_vec()).or_insert_with(|| TableModel::new(Kind::Large));
        let (key, value) = (rng.u64(..KEYS).to_be_bytes(), vec![rng.u8(..); [20, 300, 3000, 9000][rng.usize(..4)]]);
        if rng.u32(..4) == 0 {
            table.delete(&key);
            txn.table("t")?.delete(key)?;
        } else {
            table.put(&key, &value);
            txn.table("t")?.put(key, &value)?;
        }
        self.life.states.push(Arc::new(self.model.digests()));
        let state = self.life.states.len() - 1;
        self.life.disk.mark(Mark::Begun(state));
        Ok(state)
    }
}

/// Lives through many groups, and judges images of it. How many writes to the data file there were while the log
/// was flushed.
fn live_and_judge(seed: u64, images: u64) -> u64 {
    let mut rng = fastrand::Rng::with_seed(seed);
    let log = [16 << 10, 256 << 10][rng.usize(..2)];
    let profile = Profile { page_size: 4096, commits: Commits::Durable, log: Some(log), ..Profile::small(&mut rng) };
    let life = Life::begin(profile.clone(), seed);
    let (directory, watch) = (duramen_sim::scratch(), Arc::new(Watch::default()));
    let [below, data] = [Which::Log, Which::Data].map(|file| life.disk.layer(file));
    let [for_log, for_data] = [(); 2].map(|()| watch.clone());
    let first = rng.bool();
    // For one of these it pays to work beside it, however long that takes on this machine.
    let takes = Duration::from_micros(1500 << (seed % 4));
    let slow: MediumLayer =
        Arc::new(move |inner| Arc::new(Slow { below: below(inner), takes, first, watch: for_log.clone() }));
    let watched: MediumLayer = Arc::new(move |inner| Arc::new(Watched { below: data(inner), watch: for_data.clone() }));
    let options = Database::options().page_size(4096).log_at_once(log).medium(watched);
    let db = options.log_medium(slow).open(directory.path().join("groups.dm")).unwrap();
    let (disk, history) = (life.disk.clone(), Arc::new(Mutex::new(History { model: Model::default(), life })));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, disk, history) = (&db, &disk, &history);
            let seed = rng.u64(..) ^ thread;
            scope.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                for _ in 0..CHANGES {
                    let (history, mut rng) = (history.clone(), rng.fork());
                    let state = db.submit(move |txn| {
                        thread::sleep(Duration::from_micros(250));
                        history.lock().unwrap().change(txn, &mut rng)
                    });
                    disk.mark(Mark::Durable(state.unwrap()));
                }
            });
        }
    });
    db.close().unwrap();
    let history = history.lock().unwrap();
    disk.mark(Mark::Durable(history.life.states.len() - 1));
    let tally = crash::judge(&history.life, &profile, images, &mut rng).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    assert!(tally.newest > 0 && tally.oldest > 0, "the power was cut early and late: {tally:?}");
    watch.beside.load(Ordering::SeqCst)
}

#[test]
fn after_a_power_cut_all_that_was_told_is_there_and_what_is_there_was_made_in_order() {
    let beside: u64 = (1..9).map(|seed| live_and_judge(seed, 200)).sum();
    assert!(beside > 0, "no group was written while the disk flushed");
}
