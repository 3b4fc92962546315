//! Anonymous memory that a store takes while all records are read: by a scan, and by random gets.

use super::{Job, Measurement, mebibytes};
use crate::checksum::Checksum;
use crate::data::{Random, key};
use crate::stores::{Durability, Reader, Store};
use crate::system::anonymous_memory;
use anyhow::{Context, Result};

/// Times that memory is looked at during each pass.
const SAMPLES: u64 = 50;

/// The most anonymous memory seen.
struct Peak {
    every: u64,
    steps: u64,
    bytes: u64,
}

impl Peak {
    fn step(&mut self) {
        self.steps += 1;
        if self.steps.is_multiple_of(self.every) {
            self.bytes = self.bytes.max(anonymous_memory().unwrap_or(u64::MAX));
        }
    }
}

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let before = anonymous_memory()?;
    let store = S::open(&job.base(), Durability::Durable)?;
    let mut peak = Peak { every: job.n.div_ceil(SAMPLES), steps: 0, bytes: 0 };
    let mut sum = 0;
    store.read(|reader| {
        reader.forward(|key, value| {
            sum = Checksum::Full.add(sum, key, value);
            peak.step();
        })?;
        let mut random = Random::new(19);
        for _ in 0..job.n {
            let key = key(random.below(job.n));
            let next = reader.get(&key, |value| Checksum::Full.add(sum, &key, value))?;
            sum = next.context("a record is missing")?;
            peak.step();
        }
        Ok(())
    })?;
    let taken = mebibytes(peak.bytes.saturating_sub(before));
    Ok(vec![Measurement::new("memory", taken).with_checksum(sum)])
}
