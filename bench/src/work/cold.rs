//! Reads of a file that is four times as large as the memory that it may take, and the first scan of one that is in memory.
//!
//! The limit is a control group's. Where this process may make none, the rows that need one are left out.

use super::scan::backward;
use super::{Job, Measurement, load, rate, scan};
use crate::checksum::Checksum;
use crate::data::{Random, key};
use crate::stores::{Access, Reader, Store};
use crate::system::{self, MemoryLimit};
use anyhow::{Context, Result};
use std::path::Path;
use std::time::Instant;

/// The file is so many times as large as the memory.
const TIMES: u64 = 4;
/// Keys looked up at once.
const MANY: usize = 64;

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let base = job.base();
    system::read_all(&base)?;
    let Some(first) = timed::<S>(&base, "first-scan", Access::Ordered, job.n, |reader| scan(reader, job.n, LIGHT))?
    else {
        eprint!("(not measured) ");
        return Ok(Vec::new());
    };
    let mut rows = vec![first];
    let sorted = job.empty_scratch()?;
    drop(load::append_all::<S>(job, &sorted)?);
    let Some(_limit) = MemoryLimit::new(system::disk_usage(&base)? / TIMES) else {
        eprint!("(no control group with a limit can be made: only the first scan) ");
        return Ok(rows);
    };
    let gets = job.at_most(40_000, 10) / MANY as u64 * MANY as u64;
    let mut cold = |row, dir: &Path, access, count, read: &dyn Fn(&mut S::Reader<'_>) -> Result<u64>| -> Result<()> {
        system::evict(dir)?;
        rows.extend(timed::<S>(dir, row, access, count, read)?);
        Ok(())
    };
    cold("cold-get", &base, Access::Random, gets, &|reader| one_by_one(reader, job.n, gets))?;
    cold("cold-get-many", &base, Access::Random, gets, &|reader| at_once(reader, job.n, gets))?;
    // The leaves of this file lie in the order in which they were written: to a disk the scan is random.
    cold("cold-scan", &base, Access::Random, job.n, &|reader| scan(reader, job.n, LIGHT))?;
    cold("cold-scan-backward", &base, Access::Random, job.n, &|reader| backward(reader, job.n, LIGHT))?;
    cold("cold-scan-sorted", &sorted, Access::Ordered, job.n, &|reader| scan(reader, job.n, LIGHT))?;
    Ok(rows)
}

const LIGHT: Checksum = Checksum::Light;

/// Opens the store and times one read; none if the store is not made for this.
fn timed<S: Store>(
    dir: &Path,
    row: &str,
    access: Access,
    count: u64,
    read: impl FnOnce(&mut S::Reader<'_>) -> Result<u64>,
) -> Result<Option<Measurement>> {
    let Some(store) = S::open_cold(dir, access)? else { return Ok(None) };
    let start = Instant::now();
    let sum = store.read(read)?;
    Ok(Some(Measurement::new(row, rate(count, start)).with_checksum(sum)))
}

fn one_by_one(reader: &mut impl Reader, records: u64, count: u64) -> Result<u64> {
    let mut random = Random::new(23);
    (0..count).try_fold(0, |sum, _| {
        let key = key(random.below(records));
        reader.get(&key, |value| LIGHT.add(sum, &key, value))?.context("a record is missing")
    })
}

fn at_once(reader: &mut impl Reader, records: u64, count: u64) -> Result<u64> {
    let (mut random, mut sum) = (Random::new(29), 0);
    for _ in 0..count / MANY as u64 {
        let keys: [_; MANY] = std::array::from_fn(|_| key(random.below(records)));
        reader.get_many(&keys, |key, value| sum = LIGHT.add(sum, key, value))?;
    }
    Ok(sum)
}
