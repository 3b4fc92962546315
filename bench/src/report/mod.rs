//! What a run found, and how it is shown: a markdown table, JSON, and SVG charts.

mod markdown;
mod svg;

use crate::work::{Row, Unit};
use serde::Serialize;
use std::collections::BTreeMap;

pub use markdown::table;
pub use svg::charts;

/// The outcome of a run.
#[derive(Serialize)]
pub struct Report {
    pub machine: String,
    pub records: u64,
    pub rounds: u32,
    /// Times that the file's records were updated to reach the steady state.
    pub churn: u64,
    /// Stores in their order, with their versions.
    pub stores: Vec<(String, String)>,
    pub rows: Vec<Result>,
}

/// One row of the outcome.
#[derive(Serialize)]
pub struct Result {
    pub id: &'static str,
    pub title: &'static str,
    pub unit: Unit,
    pub wanted: &'static str,
    pub stores: BTreeMap<String, Figures>,
}

/// What one store reached in one row.
#[derive(Serialize)]
pub struct Figures {
    pub median: f64,
    /// Against the base (LMDB), where it took part.
    pub ratio: Option<f64>,
    pub samples: Vec<f64>,
}

/// The store that all others are compared with.
const BASE: &str = "lmdb";

impl Result {
    pub fn new(row: &Row, samples: BTreeMap<String, Vec<f64>>) -> Self {
        let base = samples.get(BASE).map(|samples| median(samples)).filter(|base| *base > 0.0);
        let figures = samples.into_iter().map(|(store, samples)| {
            let median = median(&samples);
            (store, Figures { median, ratio: base.map(|base| median / base), samples })
        });
        Self { id: row.id, title: row.title, unit: row.unit, wanted: row.wanted, stores: figures.collect() }
    }
}

fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// A figure with its unit, in three digits.
fn figure(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Rate if value >= 1e6 => format!("{} M", digits(value / 1e6)),
        Unit::Rate if value >= 1e3 => format!("{} k", digits(value / 1e3)),
        Unit::Rate | Unit::Plain => digits(value),
        Unit::MiB => format!("{} MiB", digits(value)),
        Unit::KiB => format!("{} KiB", digits(value)),
        Unit::Millis => format!("{} ms", digits(value)),
    }
}

fn digits(value: f64) -> String {
    match value {
        _ if value >= 99.95 => format!("{value:.0}"),
        _ if value >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::ROWS;

    #[test]
    fn ratios_are_medians_over_the_median_of_lmdb() {
        let samples = [("lmdb".into(), vec![4.0, 1.0, 2.0]), ("redb".into(), vec![6.0, 8.0])];
        let result = Result::new(&ROWS[0], samples.into());
        assert_eq!(result.stores["lmdb"].ratio, Some(1.0));
        assert_eq!(result.stores["redb"].ratio, Some(3.5));
    }

    #[test]
    fn figures_have_three_digits() {
        assert_eq!(figure(1_234_567.0, Unit::Rate), "1.23 M");
        assert_eq!(figure(45_678.0, Unit::Rate), "45.7 k");
        assert_eq!(figure(254.4, Unit::MiB), "254 MiB");
    }
}
