//! `duramen bench`: what this machine does with a database of random records.
//!
//! Owns: a handful of works, each timed once. For comparisons with other stores there is `bench/` in the sources.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use duramen::{Database, Durability};
use serde_json::json;

use crate::columns::Columns;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::{interrupt, units};

const ABOUT: &str = "\
Measure this machine with a database in a temporary directory.

Keys are 16 random bytes, values 100 bytes. The database is in a temporary directory that is removed at the \
end; give one on the disk that you want to know about. `durable put` is one transaction for each entry, and \
waits for the disk.";

const EXAMPLES: &str = "\
Examples:
  duramen bench
  duramen bench /var/lib --records 10000000
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
    /// How long each of the works that have no end of their own
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS")]
    seconds: f64,
    /// Size of the database's pages: a power of two from 4096 to 65536
    #[arg(long, default_value_t = 4096, value_name = "BYTES")]
    page_size: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const TABLE: &str = "records";
const VALUE_BYTES: usize = 100;
/// Entries in a transaction of the load.
const BATCH: u64 = 10_000;

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
    let prefixed = tempfile::Builder::new().prefix("duramen-bench-").tempdir_in(&args.dir);
    let dir = prefixed
        .map_err(|error| Failure::Failed(format!("cannot make a directory in {}: {error}", args.dir.display())))?;
    let db = Database::options().page_size(args.page_size).open(dir.path().join("bench.dm"))?;
    let bench = Bench { db: &db, records: args.records, limit };
    let outcomes = [bench.load()?, bench.get()?, bench.scan(false)?, bench.scan(true)?, bench.put()?];
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

/// The key of the n-th record: random, and the same in each run.
fn key(n: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    fastrand::Rng::with_seed(n).fill(&mut bytes);
    bytes
}

struct Bench<'a> {
    db: &'a Database,
    records: u64,
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
                table.put(key(n), [n as u8; VALUE_BYTES])?;
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
                if table.get(key(n))? != Some(&[n as u8; VALUE_BYTES]) {
                    return Err(Failure::Failed(format!("record {n} did not come back as it was stored")));
                }
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
        let (mut done, mut bytes) = (0, 0);
        while begun.elapsed() < self.limit {
            let mut iter = table.iter();
            while let Some(item) = if backwards { iter.next_back() } else { iter.next() } {
                let (key, value) = item?;
                bytes += key.len() + value.len();
                done += 1;
            }
            self.step(&mut progress, done)?;
        }
        let time = begun.elapsed();
        if bytes as u64 != done * (16 + VALUE_BYTES as u64) {
            return Err(Failure::Failed("a scan did not see the bytes that were stored".to_string()));
        }
        Ok(Outcome { work: if backwards { "scan backwards" } else { "scan" }, operations: done, time })
    }

    fn put(&self) -> Result<Outcome> {
        let mut progress = Progress::new("put", Unit::Things("records"), None);
        let begun = Instant::now();
        let mut done = 0;
        while begun.elapsed() < self.limit {
            self.db.update(|txn| txn.table(TABLE)?.put(key(self.records + done), [0; VALUE_BYTES]))?;
            done += 1;
            self.step(&mut progress, done)?;
        }
        Ok(Outcome { work: "durable put", operations: done, time: begun.elapsed() })
    }
}

impl Outcome {
    fn each_ns(&self) -> u64 {
        (self.time.as_nanos() / u128::from(self.operations.max(1))) as u64
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
