//! Values of 100 KB, in a file of their own.

use super::{Job, Measurement, contents, measure_read, rate};
use crate::checksum::Checksum;
use crate::data::{BIG_VALUE, LOADED, Random, Values, key};
use crate::stores::{Durability, Reader, Store, Writer};
use anyhow::{Context, Result};
use std::time::Instant;

const BATCH: usize = 10;

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let count = job.at_most(3_000, 100);
    let store = S::open(&job.empty_scratch()?, Durability::Durable)?;
    let mut values = Values::new(BIG_VALUE);
    let start = Instant::now();
    for batch in (0..count).collect::<Vec<_>>().chunks(BATCH) {
        store.write(|writer| batch.iter().try_for_each(|i| writer.put(&key(*i), values.get(*i, LOADED))))?;
    }
    let written = Measurement::new("big-write", rate(count, start)).with_checksum(contents(&store, count)?);
    let reads = 10 * count;
    let read = measure_read("big-read", reads, Checksum::Whole, |seed, checksum| {
        let mut random = Random::new(seed);
        store.read(|reader| {
            (0..reads).try_fold(0, |sum, _| {
                let key = key(random.below(count));
                reader.get(&key, |value| checksum.add(sum, &key, value))?.context("a big record is missing")
            })
        })
    })?;
    Ok(vec![written, read])
}
