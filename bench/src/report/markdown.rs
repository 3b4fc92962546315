//! The table for people.

use super::{Figures, Report, Result, figure};
use crate::work::Unit;
use std::fmt::Write;

/// One markdown table: figures, and in parentheses the ratio to LMDB.
pub fn table(report: &Report) -> String {
    let versions: Vec<_> = report.stores.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let mut text = format!(
        "{} records of 16 + 100 bytes; medians of {} round(s); steady state after {} times the file in updates; {}\n\n\
         Stores: {}. In parentheses: ratio to LMDB. Rates are operations a second (more is better); in all other rows less is better.\n\n",
        report.records,
        report.rounds,
        report.churn,
        report.machine,
        versions.join(", ")
    );
    let names: Vec<_> = report.stores.iter().map(|(name, _)| name.as_str()).collect();
    let _ = writeln!(text, "| work | {} | wanted |\n|---|{}---|", names.join(" | "), "--:|".repeat(names.len()));
    for row in &report.rows {
        let cells: Vec<_> = names.iter().map(|name| cell(row, row.stores.get(*name))).collect();
        let _ = writeln!(text, "| {} | {} | {} |", row.title, cells.join(" | "), row.wanted);
    }
    text
}

fn cell(row: &Result, figures: Option<&Figures>) -> String {
    let Some(figures) = figures else { return String::new() };
    let value = figure(figures.median, row.unit);
    match figures.ratio {
        Some(ratio) if row.unit != Unit::Plain => format!("{value} ({ratio:.2}x)"),
        _ => value,
    }
}
