//! `duramen bench`: what this machine does with a database of random records.
//!
//! Owns: a handful of works, each timed once. For comparisons with other stores there is `bench/` in the sources.

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use duramen::{Database, Durability};
use serde_json::json;

use crate::columns::Columns;
use crate::failure::{Failure, Result};
use crate::open;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::{interrupt, units};

const ABOUT: &str = "\
Measure this machine with a database in a temporary directory.

The database is in a temporary directory that is removed at the end; give one on the disk that you want to know \
about. The puts change random records of it, and tell what each durability costs: relaxed, durable, durable with a \
hundred to a transaction, durable with sixteen threads whose transactions are grouped. The last line is what the \
disk can do at best: a page written over and flushed, again and again.";

const EXAMPLES: &str = "\
Examples:
  duramen bench
  duramen bench /var/lib --records 10000000
  duramen bench --key-bytes 40 --value-bytes 2000
  duramen bench --json | jq '.[] | select(.work == \"durable put\") | .per_second'";

/// Arguments of `duramen bench`.
#[derive(clap::Args)]
#[command(about = "Measure this machine with a database in a temporary directory", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// Where to put the temporary directory
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// How many records
    #[arg(long, default_value_t = 200_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    records: u64,
    /// Size of each key; its bytes are random
    #[arg(long, default_value_t = 16, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(8..=1024))]
    key_bytes: u16,
    /// Size of each value
    #[arg(long, default_value_t = 100, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(..=1 << 24))]
    value_bytes: u32,
    /// How long each of the works that have no end of their own
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    seconds: f64,
    /// Size of the database's pages: a power of two from 4096 to 65536
    #[arg(long, default_value_t = 4096, value_name = "BYTES", value_parser = open::page_size)]
    page_size: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const TABLE: &str = "records";
/// Entries in a transaction of the load.
const BATCH: u64 = 10_000;
/// Entries of a scan between two looks at Ctrl-C.
const SCAN_STEP: u64 = 64;
/// Entries in a transaction of the puts that are several at once.
const SEVERAL: u64 = 100;
/// Threads that put at the same time.
const THREADS: u64 = 16;

/// What one work did.
struct Outcome {
    work: &'static str,
    operations: u64,
    time: Duration,
}

/// Runs `duramen bench`.
pub fn run(args: &Args) -> Result<()> {
    let limit = Duration::try_from_secs_f64(args.seconds)
        .map_err(|error| Failure::Usage(format!("--seconds {}: {error}", args.seconds)))?;
    interrupt::listen("the temporary directory is removed")?;
    let prefixed = || tempfile::Builder::new().prefix("duramen-bench-").tempdir_in(&args.dir);
    let dir = interrupt::make_leftover(prefixed)
        .map_err(|error| Failure::Failed(format!("cannot make a directory in {}: {error}", args.dir.display())))?;
    let db = Database::options().page_size(args.page_size).open(dir.path().join("bench.dm"))?;
    let shape = Shape { key_bytes: args.key_bytes.into(), value_bytes: args.value_bytes as usize };
    let bench = Bench { db: &db, records: args.records, shape, limit };
    let outcomes = [
        bench.load()?,
        bench.get()?,
        bench.scan(false)?,
        bench.scan(true)?,
        bench.put("relaxed put", Durability::Relaxed, 1)?,
        bench.put("durable put", Durability::Durable, 1)?,
        bench.put("durable put, 100 a transaction", Durability::Durable, SEVERAL)?,
        bench.put_grouped()?,
        bench.disk(dir.path())?,
    ];
    let file_bytes = db.stats()?.file_bytes;
    let mut out = Output::stdout();
    if args.json {
        let file = json!({ "work": "file", "bytes": file_bytes });
        out.json(&outcomes.iter().map(Outcome::to_json).chain([file]).collect::<Vec<_>>())?;
    } else {
        let mut table = Columns::new(&["work", ">operations", ">time", ">rate", ">each"]);
        outcomes.iter().for_each(|outcome| table.row(outcome.cells()));
        table.write(&mut out)?;
        writeln!(out, "\n{} and the file {}", units::plural(args.records, "record"), units::size(file_bytes))?;
    }
    out.finish()
}

/// What records look like.
#[derive(Clone, Copy)]
struct Shape {
    key_bytes: usize,
    value_bytes: usize,
}

impl Shape {
    /// The key of the n-th record: random, and the same in each run.
    fn key(self, n: u64) -> Vec<u8> {
        let mut bytes = vec![0; self.key_bytes];
        fastrand::Rng::with_seed(n).fill(&mut bytes);
        bytes
    }

    fn value(self, n: u64) -> Vec<u8> {
        vec![n.to_le_bytes()[0]; self.value_bytes]
    }
}

struct Bench<'a> {
    db: &'a Database,
    records: u64,
    shape: Shape,
    limit: Duration,
}

impl Bench<'_> {
    fn step(&self, progress: &mut Progress, done: u64) -> Result<()> {
        progress.at(done, String::new);
        interrupt::check()
    }

    fn load(&self) -> Result<Outcome> {
        let mut progress = Progress::new("load", Unit::Things("records"), Some(self.records));
        let begun = Instant::now();
        let mut done = 0;
        while done < self.records {
            let end = self.records.min(done + BATCH);
            let mut txn = self.db.begin_write()?;
            txn.set_durability(Durability::Relaxed);
            let mut table = txn.table(TABLE)?;
            for n in done..end {
                table.put(self.shape.key(n), self.shape.value(n))?;
                // A thousand of the largest take seconds.
                interrupt::check()?;
            }
            txn.commit()?;
            done = end;
            self.step(&mut progress, done)?;
        }
        self.db.checkpoint()?;
        Ok(Outcome { work: "load, random order", operations: done, time: begun.elapsed() })
    }

    fn get(&self) -> Result<Outcome> {
        let mut progress = Progress::new("get", Unit::Things("records"), None);
        let snapshot = self.db.read()?;
        let table = snapshot.table(TABLE)?;
        let mut rng = fastrand::Rng::with_seed(self.records);
        let begun = Instant::now();
        let mut done = 0;
        while begun.elapsed() < self.limit {
            for _ in 0..1000 {
                let n = rng.u64(..self.records);
                let value = table.get(self.shape.key(n))?;
                if !value.is_some_and(|value| {
                    value.len() == self.shape.value_bytes && value.iter().all(|&b| b == n.to_le_bytes()[0])
                }) {
                    return Err(Failure::Failed(format!("record {n} did not come back as it was stored")));
                }
                interrupt::check()?;
            }
            done += 1000;
            self.step(&mut progress, done)?;
        }
        Ok(Outcome { work: "random get", operations: done, time: begun.elapsed() })
    }

    fn scan(&self, backwards: bool) -> Result<Outcome> {
        let mut progress = Progress::new("scan", Unit::Things("records"), None);
        let snapshot = self.db.read()?;
        let table = snapshot.table(TABLE)?;
        let begun = Instant::now();
        let (mut done, mut bytes) = (0u64, 0);
        while begun.elapsed() < self.limit {
            let mut iter = table.iter();
            while let Some(item) = if backwards { iter.next_back() } else { iter.next() } {
                let (key, value) = item?;
                bytes += key.len() + value.len();
                done += 1;
                if done.is_multiple_of(SCAN_STEP) {
                    interrupt::check()?;
                }
            }
            self.step(&mut progress, done)?;
        }
        let time = begun.elapsed();
        if bytes as u64 != done * (self.shape.key_bytes + self.shape.value_bytes) as u64 {
            return Err(Failure::Failed("a scan did not see the bytes that were stored".to_string()));
        }
        Ok(Outcome { work: if backwards { "scan backwards" } else { "scan" }, operations: done, time })
    }

    /// Changes random records, so many in each transaction.
    fn put(&self, work: &'static str, durability: Durability, each: u64) -> Result<Outcome> {
        let mut progress = Progress::new("put", Unit::Things("records"), None);
        let mut rng = fastrand::Rng::with_seed(each);
        let begun = Instant::now();
        let mut done = 0;
        while begun.elapsed() < self.limit {
            let mut txn = self.db.begin_write()?;
            txn.set_durability(durability);
            let mut table = txn.table(TABLE)?;
            for _ in 0..each {
                let n = rng.u64(..self.records);
                table.put(self.shape.key(n), self.shape.value(n))?;
                interrupt::check()?;
            }
            txn.commit()?;
            done += each;
            self.step(&mut progress, done)?;
        }
        Ok(Outcome { work, operations: done, time: begun.elapsed() })
    }

    /// Changes random records from several threads, a transaction for each: those that come together share a flush.
    fn put_grouped(&self) -> Result<Outcome> {
        let begun = Instant::now();
        let counts: Vec<Result<u64>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|seed| scope.spawn(move || self.submit(seed, begun))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread that does not panic")).collect()
        });
        let operations = counts.into_iter().sum::<Result<u64>>()?;
        Ok(Outcome { work: "durable put, 16 threads", operations, time: begun.elapsed() })
    }

    fn submit(&self, seed: u64, begun: Instant) -> Result<u64> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut done = 0;
        while begun.elapsed() < self.limit {
            let n = rng.u64(..self.records);
            let (key, value) = (self.shape.key(n), self.shape.value(n));
            self.db.submit(move |txn| txn.table(TABLE)?.put(key, value))?;
            done += 1;
            interrupt::check()?;
        }
        Ok(done)
    }

    /// What the disk can do at best.
    fn disk(&self, dir: &Path) -> Result<Outcome> {
        let failed = |error: std::io::Error| Failure::Failed(format!("cannot write to the disk itself: {error}"));
        let file = std::fs::File::create(dir.join("disk")).map_err(failed)?;
        let page = [1; 4096];
        file.write_all_at(&page, 0).and_then(|()| file.sync_all()).map_err(failed)?;
        let begun = Instant::now();
        let mut done = 0;
        while begun.elapsed() < self.limit {
            file.write_all_at(&page, 0).and_then(|()| file.sync_data()).map_err(failed)?;
            done += 1;
            interrupt::check()?;
        }
        Ok(Outcome { work: "the disk: write over and flush 4 KiB", operations: done, time: begun.elapsed() })
    }
}

impl Outcome {
    fn each_ns(&self) -> u64 {
        u64::try_from(self.time.as_nanos() / u128::from(self.operations.max(1))).unwrap_or(u64::MAX)
    }

    fn cells(&self) -> [String; 5] {
        let each = match self.each_ns() {
            ns @ 0..10_000 => format!("{ns} ns"),
            ns => format!("{} us", units::count(ns / 1000)),
        };
        let rate = units::rate(self.operations, self.time);
        [self.work.to_string(), units::count(self.operations), units::duration(self.time), rate, each]
    }

    fn to_json(&self) -> serde_json::Value {
        let per_second = self.operations as f64 / self.time.as_secs_f64().max(1e-9);
        json!({ "work": self.work, "operations": self.operations, "seconds": self.time.as_secs_f64(),
                "per_second": per_second })
    }
}
