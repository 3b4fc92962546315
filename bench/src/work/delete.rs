//! Deletes all records in random order, then inserts them all again.

use super::load::insert;
use super::{Job, Measurement, contents, rate};
use crate::data::{key, shuffled};
use crate::stores::BATCH;
use crate::stores::{Durability, Store, Writer};
use anyhow::Result;
use std::time::Instant;

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let store = job.open_copy::<S>(Durability::Durable)?;
    let order: Vec<u64> = shuffled(job.n).collect();
    let start = Instant::now();
    for batch in order.chunks(BATCH) {
        store.write(|writer| batch.iter().try_for_each(|i| writer.delete(&key(*i))))?;
    }
    let deleted = Measurement::new("delete", rate(job.n, start)).with_checksum(contents(&store, 0)?);
    let start = Instant::now();
    insert(&store, &order, 7)?;
    let inserted = Measurement::new("insert-again", rate(job.n, start)).with_checksum(contents(&store, job.n)?);
    Ok(vec![deleted, inserted])
}
