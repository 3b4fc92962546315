//! One put a transaction, of random records that exist: durable, and relaxed; and what the disk itself can do at that moment.

use super::{Job, Measurement, Updates};
use crate::stores::{Durability, Store};
use crate::system;
use anyhow::Result;

/// Threads that put at the same time.
const THREADS: u64 = 16;

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let mut rows = vec![Measurement::new("put-disk", system::flush_rate(&job.dir)?)];
    for (row, durability, most) in
        [("put-durable", Durability::Durable, 5_000), ("put-relaxed", Durability::Relaxed, 50_000)]
    {
        let store = job.open_copy::<S>(durability)?;
        let puts = Updates { records: job.n, transactions: job.at_most(most, 20), each: 1, seed: 3 };
        rows.extend(puts.measure(job, &store, row, durability)?);
    }
    let store = job.open_copy::<S>(Durability::Durable)?;
    let puts = Updates { records: job.n, transactions: job.at_most(16_000, 20) / THREADS * THREADS, each: 1, seed: 5 };
    // A flush may serve all threads at once.
    let least = 0.8 / THREADS as f64;
    rows.extend(puts.measure_run(job, &store, "put-threads", least, || puts.run_on_threads(&store, THREADS))?);
    Ok(rows)
}
