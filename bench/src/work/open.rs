//! How long a fresh process takes to open the file and get one record: after a clean end, and after kill -9 of a writer.

use super::{Job, Measurement, Updates, contents};
use crate::child;
use crate::data::key;
use crate::stores::{Durability, Reader, Store};
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader};
use std::thread;
use std::time::{Duration, Instant};

/// Jobs that run in processes of their own.
pub const PROBE: &str = "open-probe";
pub const VICTIM: &str = "open-victim";

const PROBES: usize = 5;

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    job.copy_of_base()?;
    // The first one warms up.
    let clean = (0..=PROBES).map(|_| probe_apart(job)).skip(1).collect::<Result<Vec<_>>>()?;
    let killed = (0..PROBES).map(|_| kill_writer(job).and_then(|()| probe_apart(job))).collect::<Result<Vec<_>>>()?;
    Ok(vec![Measurement::new("open-clean", median(clean)), Measurement::new("open-killed", median(killed))])
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

fn probe_apart(job: &Job) -> Result<f64> {
    let rows = child::run(&Job { group: PROBE.into(), ..job.clone() })?;
    Ok(rows.first().context("the probe measured nothing")?.value)
}

/// Opens the file, gets one record, and only then checks that all are there.
pub fn probe<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let dir = job.scratch_dir();
    let start = Instant::now();
    let store = S::open(&dir, Durability::Durable)?;
    store.read(|reader| reader.get(&key(0), |_| ()))?.context("a record is missing")?;
    let millis = start.elapsed().as_secs_f64() * 1e3;
    contents(&store, job.n)?;
    Ok(vec![Measurement::new(PROBE, millis)])
}

/// Starts a process that writes without end, and kills it at some point of its work.
fn kill_writer(job: &Job) -> Result<()> {
    let mut victim = child::spawn(&Job { group: VICTIM.into(), ..job.clone() })?;
    let output = victim.stdout.take().context("the writer has no output")?;
    let mut ready = String::new();
    BufReader::new(output).read_line(&mut ready)?;
    ensure!(!ready.is_empty(), "the writer ended before it was killed");
    thread::sleep(Duration::from_millis(37));
    victim.kill()?;
    victim.wait()?;
    Ok(())
}

pub fn victim<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let store = S::open(&job.scratch_dir(), Durability::Durable)?;
    let updates = Updates { records: job.n, transactions: 20, each: 100, seed: 17 };
    updates.run(&store)?;
    println!("writing");
    loop {
        updates.run(&store)?;
    }
}
