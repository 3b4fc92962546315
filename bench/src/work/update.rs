//! Random updates, many a durable transaction: on a file that was just loaded, and in the steady state after it was updated several times over.

use super::{Job, Measurement, Updates, mebibytes};
use crate::stores::BATCH;
use crate::stores::{Durability, Store};
use crate::system;
use anyhow::Result;

/// Rows' suffix, transactions, updates in each.
const SIZES: [(&str, u64, u64); 2] = [("100", 200, 100), ("1000", 100, 1_000)];

pub fn fresh<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let mut rows = Vec::new();
    for size in SIZES {
        let store = job.open_copy::<S>(Durability::Durable)?;
        rows.extend(measure(job, &store, "update", size)?);
    }
    Ok(rows)
}

pub fn steady<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let store = job.open_copy::<S>(Durability::Durable)?;
    let each = job.at_most(BATCH as u64, 10);
    Updates { records: job.n, transactions: job.n * job.churn / each, each, seed: 5 }.run(&store)?;
    let mut rows = vec![Measurement::new("size-steady", mebibytes(system::disk_usage(&job.scratch_dir())?))];
    for size in SIZES {
        rows.extend(measure(job, &store, "steady", size)?);
    }
    Ok(rows)
}

fn measure<S: Store>(job: &Job, store: &S, state: &str, size: (&str, u64, u64)) -> Result<Vec<Measurement>> {
    let (suffix, transactions, each) = size;
    let transactions = job.at_most(transactions, each * 10);
    let updates = Updates { records: job.n, transactions, each, seed: each };
    updates.measure(job, store, &format!("{state}-{suffix}"), Durability::Durable)
}
