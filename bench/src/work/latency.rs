//! How long single puts take while they go on for a minute: durable ones the usual one and the worst, relaxed ones their
//! rate and the worst. The kernel begins to write a file's pages back half a minute after they were changed, which shorter runs do not see.

use super::{Job, Measurement};
use crate::data::{Random, VALUE, Values, key};
use crate::stores::{Durability, Store, Writer};
use anyhow::Result;
use std::time::{Duration, Instant};

/// How long the puts go on, for a million records; less for fewer.
const LONGEST: Duration = Duration::from_secs(60);

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let durable = puts::<S>(job, Durability::Durable)?;
    let relaxed = puts::<S>(job, Durability::Relaxed)?;
    let seconds: f64 = relaxed.iter().map(Duration::as_secs_f64).sum();
    Ok(vec![
        Measurement::new("latency-median", millis(&durable, 500)),
        Measurement::new("latency-999", millis(&durable, 999)),
        Measurement::new("latency-worst", millis(&durable, 1000)),
        Measurement::new("lasting-relaxed", relaxed.len() as f64 / seconds),
        Measurement::new("lasting-relaxed-worst", millis(&relaxed, 1000)),
    ])
}

/// What each of the puts took, the fastest first.
fn puts<S: Store>(job: &Job, durability: Durability) -> Result<Vec<Duration>> {
    let store = job.open_copy::<S>(durability)?;
    let end = Instant::now() + LONGEST.min(Duration::from_micros(60 * job.n));
    let (mut random, mut values) = (Random::new(23), Values::new(VALUE));
    let mut times = Vec::new();
    while times.is_empty() || Instant::now() < end {
        let i = random.below(job.n);
        let begun = Instant::now();
        store.write(|writer| writer.put(&key(i), values.get(i, 23)))?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

/// What so many of a thousand took at most.
fn millis(times: &[Duration], thousandths: usize) -> f64 {
    times[(times.len() - 1) * thousandths / 1000].as_secs_f64() * 1e3
}
