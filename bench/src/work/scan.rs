//! Scans of all records, and short ranges from random places.

use super::{Job, Measurement, measure_read, scan};
use crate::checksum::Checksum;
use crate::data::{Random, key};
use crate::stores::{Durability, Reader, Store};
use anyhow::{Result, ensure};

const RANGE: usize = 100;

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let store = S::open(&job.base(), Durability::Durable)?;
    let ranges = job.at_most(20_000, 10);
    let light = Checksum::Light;
    Ok(vec![
        measure_read("scan-forward", job.n, light, |_, sum| store.read(|reader| scan(reader, job.n, sum)))?,
        measure_read("scan-backward", job.n, light, |_, sum| store.read(|reader| backward(reader, job.n, sum)))?,
        measure_read("scan-keys", job.n, light, |_, sum| store.read(|reader| keys(reader, job.n, sum)))?,
        measure_read("scan-range-100", ranges, light, |seed, sum| {
            let mut random = Random::new(seed);
            store
                .read(|reader| (0..ranges).try_fold(0, |total, _| range(reader, &key(random.below(job.n)), sum, total)))
        })?,
    ])
}

pub fn backward(reader: &mut impl Reader, count: u64, checksum: Checksum) -> Result<u64> {
    let (mut seen, mut sum) = (0, 0);
    reader.backward(|key, value| {
        seen += 1;
        sum = checksum.add(sum, key, value);
    })?;
    ensure!(seen == count, "{seen} records backwards, not {count}");
    Ok(sum)
}

fn keys(reader: &mut impl Reader, count: u64, checksum: Checksum) -> Result<u64> {
    let (mut seen, mut sum) = (0, 0);
    reader.keys(|key| {
        seen += 1;
        sum = checksum.add(sum, key, &[]);
    })?;
    ensure!(seen == count, "{seen} keys, not {count}");
    Ok(sum)
}

fn range(reader: &mut impl Reader, from: &[u8], checksum: Checksum, mut sum: u64) -> Result<u64> {
    reader.range(from, RANGE, |key, value| sum = checksum.add(sum, key, value))?;
    Ok(sum)
}
