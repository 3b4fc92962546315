//! The run: every group on every store in turn, several rounds, each in a child process; then medians and the proof of equal work.

use crate::report::{Report, Result as RowResult};
use crate::work::{GROUPS, Job, Measurement, PREPARE, ROWS};
use crate::{child, stores, system};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

/// What to run.
pub struct Plan {
    pub n: u64,
    pub stores: Vec<String>,
    pub groups: Vec<String>,
    pub rounds: u32,
    pub churn: u64,
    pub dir: PathBuf,
    pub reuse: bool,
    pub unproven: bool,
}

/// All figures of one row and store, one for each round.
type Samples = BTreeMap<(String, String), Vec<Measurement>>;

impl Plan {
    /// Fails early on names that do not exist.
    pub fn check(&self) -> Result<()> {
        for store in &self.stores {
            ensure!(
                stores::NAMES.contains(&store.as_str()),
                "no store {store}; there are {}",
                stores::NAMES.join(", ")
            );
        }
        for group in &self.groups {
            ensure!(GROUPS.contains(&group.as_str()), "no work {group}; there is {}", GROUPS.join(", "));
        }
        ensure!(self.n >= 10_000, "--n must be at least 10000");
        ensure!(self.rounds >= 1, "--repeat must be at least 1");
        Ok(())
    }

    /// Runs everything and reports; fails if stores did not return the same bytes.
    pub fn run(&self) -> Result<Report> {
        self.check()?;
        fs::create_dir_all(&self.dir).with_context(|| format!("cannot create {}", self.dir.display()))?;
        self.prepare()?;
        let mut samples = Samples::new();
        for round in 1..=self.rounds {
            // In the order of the table, whatever the order asked for.
            for group in GROUPS.iter().filter(|group| self.groups.iter().any(|wanted| wanted == *group)) {
                for store in &self.stores {
                    self.step(&format!("round {round} of {}", self.rounds), store, group, &mut samples)?;
                }
            }
        }
        same_bytes(&samples)?;
        Ok(self.report(&samples))
    }

    /// Makes the loaded files, unless the group `load` will, those of an earlier run may be used, or none is wanted.
    fn prepare(&self) -> Result<()> {
        for store in &self.stores {
            let dir = self.job(store, PREPARE).dir;
            if dir.exists() && !self.reuse {
                fs::remove_dir_all(&dir)?;
            }
            let loads = self.groups.iter().any(|group| group == "load");
            let wanted = self.groups.iter().any(|group| group != "bulk");
            if wanted && !loads && !dir.exists() {
                self.step("prepare", store, PREPARE, &mut Samples::new())?;
            }
        }
        Ok(())
    }

    fn step(&self, when: &str, store: &str, group: &str, samples: &mut Samples) -> Result<()> {
        eprint!("{when}: {group} on {store} ... ");
        let start = Instant::now();
        let job = self.job(store, group);
        for measurement in child::run(&job)? {
            samples.entry((measurement.row.clone(), store.into())).or_default().push(measurement);
        }
        eprintln!("{:.1} s", start.elapsed().as_secs_f64());
        let scratch = job.scratch_dir();
        if scratch.exists() {
            fs::remove_dir_all(scratch)?;
        }
        system::settle();
        Ok(())
    }

    fn job(&self, store: &str, group: &str) -> Job {
        Job {
            store: store.into(),
            group: group.into(),
            n: self.n,
            churn: self.churn,
            unproven: self.unproven,
            dir: self.dir.join(format!("{store}-{}", self.n)),
        }
    }

    fn report(&self, samples: &Samples) -> Report {
        let rows = ROWS.iter().filter_map(|row| {
            let values: BTreeMap<_, _> = self
                .stores
                .iter()
                .filter_map(|store| Some((store.clone(), values(samples.get(&(row.id.into(), store.clone()))?))))
                .collect();
            (!values.is_empty()).then(|| RowResult::new(row, values))
        });
        Report {
            machine: system::machine(&self.dir),
            records: self.n,
            rounds: self.rounds,
            churn: self.churn,
            stores: self.stores.iter().map(|store| (store.clone(), stores::version(store))).collect(),
            rows: rows.collect(),
        }
    }
}

fn values(samples: &[Measurement]) -> Vec<f64> {
    samples.iter().map(|sample| sample.value).collect()
}

/// Every store has to have returned the same bytes in every round.
fn same_bytes(samples: &Samples) -> Result<()> {
    let mut first: BTreeMap<&str, (&str, u64)> = BTreeMap::new();
    for ((row, store), measurements) in samples {
        for checksum in measurements.iter().filter_map(|measurement| measurement.checksum) {
            let (other, expected) = *first.entry(row).or_insert((store, checksum));
            if checksum != expected {
                bail!("{row}: {store} returned other bytes than {other} ({checksum:016x}, not {expected:016x})");
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(checksum: u64) -> Vec<Measurement> {
        vec![Measurement { row: "get".into(), value: 1.0, checksum: Some(checksum) }]
    }

    #[test]
    fn stores_that_return_other_bytes_fail_the_run() {
        let same = [("a", 1), ("b", 1)].map(|(store, sum)| (("get".to_string(), store.to_string()), sample(sum)));
        assert!(same_bytes(&same.into()).is_ok());
        let other = [("a", 1), ("b", 2)].map(|(store, sum)| (("get".to_string(), store.to_string()), sample(sum)));
        assert!(same_bytes(&other.into()).is_err());
    }
}
