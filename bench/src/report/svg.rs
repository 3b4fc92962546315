//! Bar charts, one file for all rows of the same kind of work: a panel for each row, a bar for each store.

use super::{Report, Result, figure};
use crate::work::Unit;
use std::collections::BTreeMap;
use std::fmt::Write;

const WIDTH: usize = 720;
const LABELS: usize = 90;
const FIGURES: usize = 90;
const BAR: usize = 18;
const TITLE: usize = 30;

/// Name and text of each chart. Rows whose names start alike share one.
pub fn charts(report: &Report) -> BTreeMap<String, String> {
    let mut kinds: BTreeMap<String, Vec<&Result>> = BTreeMap::new();
    for row in &report.rows {
        kinds.entry(row.id.split('-').next().unwrap_or(row.id).into()).or_default().push(row);
    }
    kinds.into_iter().map(|(kind, rows)| (kind, chart(report, &rows))).collect()
}

fn chart(report: &Report, rows: &[&Result]) -> String {
    let bars: usize = rows.iter().map(|row| row.stores.len()).sum();
    let height = rows.len() * (TITLE + 8) + bars * BAR + 8;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut y = 0;
    for row in rows {
        y += TITLE;
        let better = if row.unit == Unit::Rate { "more is better" } else { "less is better" };
        text(&mut svg, 8, y - 9, "start", &format!("{} ({better})", row.title));
        y = panel(&mut svg, report, row, y) + 8;
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws the bars of one row from `y` on, and returns where they end.
fn panel(svg: &mut String, report: &Report, row: &Result, mut y: usize) -> usize {
    let most = row.stores.values().map(|figures| figures.median).fold(f64::MIN_POSITIVE, f64::max);
    for (name, _) in &report.stores {
        let Some(figures) = row.stores.get(name) else { continue };
        let width = (figures.median / most * (WIDTH - LABELS - FIGURES) as f64).max(1.0);
        let colour = if name == "duramen" { "#b5562b" } else { "#8fa3b0" };
        let _ = writeln!(
            svg,
            "<rect x=\"{LABELS}\" y=\"{}\" width=\"{width:.1}\" height=\"{}\" fill=\"{colour}\"/>",
            y + 2,
            BAR - 4
        );
        text(svg, LABELS - 6, y + 13, "end", name);
        text(svg, LABELS + width as usize + 6, y + 13, "start", &figure(figures.median, row.unit));
        y += BAR;
    }
    y
}

fn text(svg: &mut String, x: usize, y: usize, anchor: &str, content: &str) {
    let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{content}</text>");
}
