//! How much a file grows while a reader stays parked on an old snapshot, and how much it grows without one.

use super::{Job, Measurement, Updates, contents, scan};
use crate::checksum::Checksum;
use crate::stores::{Durability, Store};
use crate::system;
use anyhow::{Result, ensure};
use std::sync::mpsc;
use std::thread;

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let records = job.n;
    let twenties = Updates { records, transactions: job.at_most(10_000, 100), each: 20, seed: 11 };
    let ones = Updates { records, transactions: job.at_most(10_000, 100), each: 1, seed: 13 };
    Ok(vec![
        growth::<S>(job, "parked-20", twenties, under_reader)?,
        growth::<S>(job, "parked-20-alone", twenties, |store, updates| updates.run(store))?,
        growth::<S>(job, "parked-1", ones, under_reader)?,
        growth::<S>(job, "parked-1-alone", ones, |store, updates| updates.run(store))?,
    ])
}

/// The file after the updates over the file before them, in disk space.
fn growth<S: Store>(
    job: &Job,
    row: &str,
    updates: Updates,
    run: impl FnOnce(&S, Updates) -> Result<()>,
) -> Result<Measurement> {
    let store = job.open_copy::<S>(Durability::Durable)?;
    let dir = job.scratch_dir();
    let before = system::disk_usage(&dir)?;
    run(&store, updates)?;
    let growth = system::disk_usage(&dir)? as f64 / before as f64;
    Ok(Measurement::new(row, growth).with_checksum(contents(&store, job.n)?))
}

/// Runs the updates while another thread holds a snapshot from before them, and checks that it did not change.
fn under_reader<S: Store>(store: &S, updates: Updates) -> Result<()> {
    let (parked, wait_parked) = mpsc::channel();
    let (leave, wait_leave) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            store.read(|reader| {
                let before = scan(reader, updates.records, Checksum::Full)?;
                parked.send(())?;
                // An error means that the writer has failed, which it reports itself.
                let _ = wait_leave.recv();
                ensure!(scan(reader, updates.records, Checksum::Full)? == before, "the parked snapshot changed");
                Ok(())
            })
        });
        if wait_parked.recv().is_ok() {
            updates.run(store)?;
        }
        drop(leave);
        reader.join().expect("the parked reader panicked")
    })
}
