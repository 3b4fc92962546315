//! How long single durable puts take while they go on for a minute: the usual one, and the worst.

use super::{Job, Measurement};
use crate::data::{Random, VALUE, Values, key};
use crate::stores::{Durability, Store, Writer};
use anyhow::Result;
use std::time::{Duration, Instant};

/// How long the puts go on, for a million records; less for fewer.
const LONGEST: Duration = Duration::from_secs(60);

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let store = job.open_copy::<S>(Durability::Durable)?;
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
    let at = |thousandths: usize| times[(times.len() - 1) * thousandths / 1000].as_secs_f64() * 1e3;
    Ok(vec![
        Measurement::new("latency-median", at(500)),
        Measurement::new("latency-999", at(999)),
        Measurement::new("latency-worst", at(1000)),
    ])
}
