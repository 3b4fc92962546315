//! Loads: sorted and appended, and in random order. The random one leaves the file that the other groups start from.

use super::{Job, Measurement, contents, empty, mebibytes, rate};
use crate::data::{LOADED, VALUE, Values, key};
use crate::stores::{BATCH, Durability, Store, Writer, append};
use crate::system;
use anyhow::Result;
use std::fs;
use std::path::Path;
use std::time::Instant;

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let mut rows = sorted::<S>(job)?;
    rows.extend(random::<S>(job)?);
    Ok(rows)
}

pub fn prepare<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    random::<S>(job)?;
    Ok(Vec::new())
}

fn sorted<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let dir = job.empty_scratch()?;
    let (store, rate) = append_all::<S>(job, &dir)?;
    let rows = finish(store, job, &dir, "sorted", rate)?;
    fs::remove_dir_all(&dir)?;
    Ok(rows)
}

/// A store in an empty directory with all records, appended in order; and the rate of that.
pub fn append_all<S: Store>(job: &Job, dir: &Path) -> Result<(S, f64)> {
    let mut records: Vec<_> = (0..job.n).map(|i| (key(i), i)).collect();
    records.sort_unstable();
    let store = S::open(dir, Durability::Durable)?;
    let start = Instant::now();
    append(&store, &records)?;
    Ok((store, rate(job.n, start)))
}

fn random<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let dir = empty(&job.base())?;
    let store = S::open(&dir, Durability::Durable)?;
    let start = Instant::now();
    insert(&store, &(0..job.n).collect::<Vec<_>>(), LOADED)?;
    let rate = rate(job.n, start);
    finish(store, job, &dir, "random", rate)
}

/// Inserts records in the order given, 10,000 a transaction.
pub fn insert<S: Store>(store: &S, records: &[u64], version: u64) -> Result<()> {
    let mut values = Values::new(VALUE);
    for batch in records.chunks(BATCH) {
        store.write(|writer| batch.iter().try_for_each(|i| writer.put(&key(*i), values.get(*i, version))))?;
    }
    Ok(())
}

/// Checks the records and closes the store, so that its file has the size that it leaves behind.
fn finish<S: Store>(store: S, job: &Job, dir: &Path, order: &str, rate: f64) -> Result<Vec<Measurement>> {
    let checksum = contents(&store, job.n)?;
    drop(store);
    let size = mebibytes(system::disk_usage(dir)?);
    Ok(vec![
        Measurement::new(&format!("load-{order}"), rate).with_checksum(checksum),
        Measurement::new(&format!("size-{order}"), size),
    ])
}
