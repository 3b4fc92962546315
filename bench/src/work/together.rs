//! One writer beside one reader: updates in durable transactions, and gets, at the same time.

use super::{Job, Measurement, Updates, contents};
use crate::data::{Random, key};
use crate::stores::{Durability, Reader, Store};
use anyhow::{Context, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

/// Gets in a read transaction.
const GETS: u64 = 100;

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let store = job.open_copy::<S>(Durability::Durable)?;
    let updates = Updates { records: job.n, transactions: job.at_most(1_000, 1_000), each: 100, seed: 17 };
    let (done, start) = (AtomicBool::new(false), Instant::now());
    let (written, gets) = thread::scope(|scope| {
        let reader = scope.spawn(|| gets_until(&store, job.n, &done));
        let written = updates.run(&store);
        done.store(true, Ordering::Relaxed);
        (written, reader.join().expect("the reader panicked"))
    });
    let seconds = start.elapsed().as_secs_f64();
    written?;
    Ok(vec![
        Measurement::new("together-write", updates.count() as f64 / seconds).with_checksum(contents(&store, job.n)?),
        Measurement::new("together-read", gets? as f64 / seconds),
    ])
}

/// Random gets until it is said that they are enough; how many they were.
fn gets_until<S: Store>(store: &S, records: u64, done: &AtomicBool) -> Result<u64> {
    let (mut random, mut count) = (Random::new(19), 0);
    while !done.load(Ordering::Relaxed) {
        store.read(|reader| {
            (0..GETS).try_for_each(|_| {
                let found = reader.get(&key(random.below(records)), |value| std::hint::black_box(value[0]))?;
                found.map(drop).context("a record is missing")
            })
        })?;
        count += GETS;
    }
    Ok(count)
}
