//! Random gets of records that exist, all of the file being in memory.

use super::{Job, Measurement, contents, measure_read};
use crate::checksum::Checksum;
use crate::data::{Random, key};
use crate::stores::{Durability, Reader, Store};
use anyhow::{Context, Result};
use std::sync::Barrier;
use std::thread;

/// Gets that one thread does.
#[derive(Clone, Copy)]
struct Gets {
    records: u64,
    count: u64,
    seed: u64,
    checksum: Checksum,
}

pub fn run<S: Store>(job: &Job) -> Result<Vec<Measurement>> {
    let store = S::open(&job.base(), Durability::Durable)?;
    contents(&store, job.n)?;
    let count = job.at_most(1_000_000, 1);
    let gets = |seed, checksum| Gets { records: job.n, count, seed, checksum };
    let light = Checksum::Light;
    Ok(vec![
        measure_read("get", count, light, |seed, sum| gets(seed, sum).in_one_transaction(&store))?,
        measure_read("get-txn", count, light, |seed, sum| gets(seed, sum).in_one_each(&store))?,
        measure_read("get-two", 2 * count, light, |seed, sum| {
            gets(seed, sum).on_two_threads(|gets| gets.in_one_transaction(&store))
        })?,
        measure_read("get-txn-two", 2 * count, light, |seed, sum| {
            gets(seed, sum).on_two_threads(|gets| gets.in_one_each(&store))
        })?,
        measure_read("get-many-16", count / 16 * 16, light, |seed, sum| gets(seed, sum).at_once::<_, 16>(&store))?,
        measure_read("get-many-64", count / 64 * 64, light, |seed, sum| gets(seed, sum).at_once::<_, 64>(&store))?,
    ])
}

impl Gets {
    fn in_one_transaction<S: Store>(self, store: &S) -> Result<u64> {
        let mut random = Random::new(self.seed);
        store.read(|reader| (0..self.count).try_fold(0, |sum, _| self.get(reader, &mut random, sum)))
    }

    fn in_one_each<S: Store>(self, store: &S) -> Result<u64> {
        let mut random = Random::new(self.seed);
        (0..self.count).try_fold(0, |sum, _| store.read(|reader| self.get(reader, &mut random, sum)))
    }

    fn at_once<S: Store, const MANY: usize>(self, store: &S) -> Result<u64> {
        let mut random = Random::new(self.seed);
        let mut sum = 0;
        store.read(|reader| {
            for _ in 0..self.count / MANY as u64 {
                let keys: [_; MANY] = std::array::from_fn(|_| key(random.below(self.records)));
                reader.get_many(&keys, |key, value| sum = self.checksum.add(sum, key, value))?;
            }
            Ok(sum)
        })
    }

    #[inline]
    fn get(self, reader: &mut impl Reader, random: &mut Random, sum: u64) -> Result<u64> {
        let key = key(random.below(self.records));
        reader.get(&key, |value| self.checksum.add(sum, &key, value))?.context("a record is missing")
    }

    fn on_two_threads(self, gets: impl Fn(Self) -> Result<u64> + Sync) -> Result<u64> {
        let barrier = Barrier::new(2);
        let run = |seed| {
            barrier.wait();
            gets(Self { seed, ..self })
        };
        thread::scope(|scope| {
            let other = scope.spawn(|| run(!self.seed));
            let own = run(self.seed)?;
            Ok(own.wrapping_add(other.join().expect("the other thread panicked")?))
        })
    }
}
