//! The workloads: one file for each group. A group runs in a process of its own, for one store, once.

mod big;
mod bulk;
mod cold;
mod delete;
mod get;
mod latency;
mod load;
mod memory;
mod open;
mod parked;
mod put;
mod rows;
mod scan;
mod together;
mod update;

use crate::checksum::Checksum;
use crate::data::{Random, VALUE, Values, key};
use crate::stores::{Durability, Reader, Store, Writer};
use crate::system::{self, Disk};
use anyhow::{Context, Result, bail, ensure};
pub use rows::{ROWS, Row, Unit};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

/// Groups of workloads, in the order in which they run.
pub const GROUPS: &[&str] = &[
    "load", "bulk", "get", "scan", "put", "latency", "update", "together", "steady", "delete", "big", "parked", "open",
    "memory", "cold",
];

/// Loads the file that the other groups start from, for runs without the group `load`.
pub const PREPARE: &str = "prepare";

/// What one child process has to do.
#[derive(Clone, Serialize, Deserialize)]
pub struct Job {
    pub store: String,
    pub group: String,
    /// Records in the file.
    pub n: u64,
    /// Times the file's records to update before its steady state is measured.
    pub churn: u64,
    /// Accept durable rows where flushes cannot be counted.
    pub unproven: bool,
    /// Directory of this store; the loaded file is below it.
    pub dir: PathBuf,
}

/// One figure that came out.
#[derive(Clone, Serialize, Deserialize)]
pub struct Measurement {
    pub row: String,
    pub value: f64,
    /// Over the bytes that the store returned; the same for every store.
    pub checksum: Option<u64>,
}

impl Measurement {
    fn new(row: &str, value: f64) -> Self {
        Self { row: row.into(), value, checksum: None }
    }

    fn with_checksum(self, checksum: u64) -> Self {
        Self { checksum: Some(checksum), ..self }
    }
}

/// Runs one group on one store.
pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    fs::create_dir_all(&job.dir)?;
    match job.group.as_str() {
        "load" => load::run::<S>(job),
        "bulk" => bulk::run::<S>(job),
        PREPARE => load::prepare::<S>(job),
        "get" => get::run::<S>(job),
        "scan" => scan::run::<S>(job),
        "put" => put::run::<S>(job),
        "latency" => latency::run::<S>(job),
        "update" => update::fresh::<S>(job),
        "together" => together::run::<S>(job),
        "steady" => update::steady::<S>(job),
        "delete" => delete::run::<S>(job),
        "big" => big::run::<S>(job),
        "parked" => parked::run::<S>(job),
        "open" => open::run::<S>(job),
        open::PROBE => open::probe::<S>(job),
        open::VICTIM => open::victim::<S>(job),
        "memory" => memory::run::<S>(job),
        "cold" => cold::run::<S>(job),
        other => bail!("no group {other}; there are {}", GROUPS.join(", ")),
    }
}

impl Job {
    /// Where the loaded file is; groups that write work on copies of it.
    pub fn base(&self) -> PathBuf {
        self.dir.join("base")
    }

    /// Where workloads keep what they write.
    pub fn scratch_dir(&self) -> PathBuf {
        self.dir.join("scratch")
    }

    fn empty_scratch(&self) -> Result<PathBuf> {
        empty(&self.scratch_dir())
    }

    /// A copy of the loaded file for one workload, flushed.
    fn copy_of_base(&self) -> Result<PathBuf> {
        let scratch = self.empty_scratch()?;
        system::copy_dir(&self.base(), &scratch).context("cannot copy the loaded file")?;
        Ok(scratch)
    }

    /// A store on a copy of the loaded file, warmed up by a scan.
    fn open_copy<S: Store>(&self, durability: Durability) -> Result<S> {
        let store = S::open(&self.copy_of_base()?, durability)?;
        contents(&store, self.n)?;
        Ok(store)
    }

    /// `most` operations, fewer if that would be more than a share of the records (for quick runs).
    fn at_most(&self, most: u64, share: u64) -> u64 {
        most.min(self.n / share).max(1)
    }
}

fn empty(dir: &Path) -> Result<PathBuf> {
    if dir.exists() {
        fs::remove_dir_all(dir)?;
    }
    fs::create_dir_all(dir)?;
    Ok(dir.to_owned())
}

fn rate(operations: u64, since: Instant) -> f64 {
    operations as f64 / since.elapsed().as_secs_f64()
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / (1 << 20) as f64
}

/// Measures a read: a warm-up pass with the full checksum first, then the timed one, other records, with `timed`.
fn measure_read(
    row: &str,
    operations: u64,
    timed: Checksum,
    pass: impl Fn(u64, Checksum) -> Result<u64>,
) -> Result<Measurement> {
    let warm_up = pass(1, Checksum::Full)?;
    let start = Instant::now();
    let sum = pass(2, timed)?;
    Ok(Measurement::new(row, rate(operations, start)).with_checksum(warm_up.rotate_left(32) ^ sum))
}

/// Checksum over all records; fails unless there are `count` of them.
fn contents<S: Store>(store: &S, count: u64) -> Result<u64> {
    store.read(|reader| scan(reader, count, Checksum::Full))
}

fn scan(reader: &mut impl Reader, count: u64, checksum: Checksum) -> Result<u64> {
    let (mut seen, mut sum) = (0, 0);
    reader.forward(|key, value| {
        seen += 1;
        sum = checksum.add(sum, key, value);
    })?;
    ensure!(seen == count, "the store has {seen} records, not {count}");
    Ok(sum)
}

/// Random updates of records that exist.
#[derive(Clone, Copy)]
struct Updates {
    records: u64,
    transactions: u64,
    each: u64,
    /// Of the records chosen and of the values written.
    seed: u64,
}

impl Updates {
    fn count(&self) -> u64 {
        self.transactions * self.each
    }

    fn run<S: Store>(&self, store: &S) -> Result<()> {
        let (mut random, mut values) = (Random::new(self.seed), Values::new(VALUE));
        for _ in 0..self.transactions {
            store.write(|writer| {
                for _ in 0..self.each {
                    let i = random.below(self.records);
                    writer.put(&key(i), values.get(i, self.seed))?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The same for each of some threads, that many transactions in all, of one update each. What is written depends on
    /// the records only, so that the order does not matter.
    fn run_on_threads<S: Store>(&self, store: &S, threads: u64) -> Result<()> {
        let updates = |thread| {
            let (mut random, mut values) = (Random::new(self.seed << 32 | thread), Values::new(VALUE));
            (0..self.transactions / threads).try_for_each(|_| {
                let i = random.below(self.records);
                store.put_among_others(key(i), values.get(i, self.seed).to_vec())
            })
        };
        thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || updates(thread))).collect();
            running.into_iter().try_for_each(|thread| thread.join().expect("a thread panicked"))
        })
    }

    /// Runs them and counts what reaches the disk: rows `row`, `row-flushes` and `row-written`.
    fn measure<S: Store>(&self, job: &Job, store: &S, row: &str, durability: Durability) -> Result<Vec<Measurement>> {
        let least = if durability == Durability::Durable { 0.8 } else { 0.0 };
        self.measure_run(job, store, row, least, || self.run(store))
    }

    /// As `measure`, by whatever `run` does; fails with fewer flushes than `least` for each transaction.
    fn measure_run<S: Store>(
        &self,
        job: &Job,
        store: &S,
        row: &str,
        least: f64,
        run: impl FnOnce() -> Result<()>,
    ) -> Result<Vec<Measurement>> {
        let disk = Disk::under(&job.dir);
        let flushes = || disk.as_ref().and_then(Disk::flushes);
        let (flushed, written, start) = (flushes(), system::written()?, Instant::now());
        run()?;
        let seconds = start.elapsed().as_secs_f64();
        let each = |total: f64| total / self.transactions as f64;
        let written = each((system::written()? - written) as f64 / 1024.0);
        let flushed = flushed.zip(flushes()).map(|(before, after)| each((after - before) as f64));
        let mut rows = vec![
            Measurement::new(row, self.count() as f64 / seconds).with_checksum(contents(store, self.records)?),
            Measurement::new(&format!("{row}-written"), written),
        ];
        rows.extend(flushed.map(|flushed| Measurement::new(&format!("{row}-flushes"), flushed)));
        if least > 0.0 && !job.unproven {
            let flushed = flushed.context("cannot count the flushes of this disk (--unproven does without)")?;
            ensure!(flushed > least, "{row}: {flushed:.2} flushes for each durable transaction: not durable");
        }
        Ok(rows)
    }
}
