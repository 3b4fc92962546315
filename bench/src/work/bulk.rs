//! Loads of all records into an empty store, each by the way that suits it best.

use super::{Job, Measurement, contents, mebibytes, rate};
use crate::data::key;
use crate::stores::{Durability, Input, Store};
use crate::system;
use anyhow::Result;
use std::fs;
use std::time::Instant;

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let mut rows = load::<S>(job, "sorted", Input::Sorted)?;
    rows.extend(load::<S>(job, "unsorted", Input::Unsorted)?);
    Ok(rows)
}

fn load<S: Store>(job: &Job, name: &str, input: Input) -> Result<Vec<Measurement>> {
    let dir = job.empty_scratch()?;
    let mut records: Vec<_> = (0..job.n).map(|i| (key(i), i)).collect();
    if input == Input::Sorted {
        records.sort_unstable();
    }
    let store = S::open(&dir, Durability::Durable)?;
    let start = Instant::now();
    store.load(input, &records)?;
    let rate = rate(job.n, start);
    let checksum = contents(&store, job.n)?;
    drop(store);
    let size = mebibytes(system::disk_usage(&dir)?);
    fs::remove_dir_all(&dir)?;
    Ok(vec![
        Measurement::new(&format!("bulk-{name}"), rate).with_checksum(checksum),
        Measurement::new(&format!("size-bulk-{name}"), size),
    ])
}
