//! `duramen check`: is every page what it should be, and used exactly once?

use std::io::Write;
use std::path::PathBuf;

use duramen::{CheckReport, Database};
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::open;
use crate::output::Output;
use crate::progress::{Progress, Unit};
use crate::units;

const ABOUT: &str = "\
Verify every page, and that each is used exactly once.

Reads the whole file: checksums, order of keys, counts, that searches come to whatever is there, and that each page is \
exactly one of reachable, \
free, retired (kept for readers) or meta. Nobody waits meanwhile. Findings are printed with \
their page numbers; the exit code is 1 if there are any, or if the file is too damaged to be opened.";

const EXAMPLES: &str = "\
Examples:
  duramen check people.dm
  duramen check people.dm --json | jq .findings";

/// Arguments of `duramen check`.
#[derive(clap::Args)]
#[command(about = "Verify every page, and that each is used exactly once", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// The database
    file: PathBuf,
    /// Print JSON; of a file that is too damaged to be opened, "clean" and "findings" alone
    #[arg(long)]
    json: bool,
}

/// Runs `duramen check`.
pub fn run(args: &Args) -> Result<()> {
    let report = match open::to_read(&args.file).and_then(|db| report(&db)) {
        Err(Failure::Damaged(what)) if args.json => return too_damaged(&what),
        looked => looked.map_err(Failure::of_check)?,
    };
    let mut out = Output::stdout();
    if args.json {
        out.json(&to_json(&report))?;
    } else {
        write(&mut out, &report)?;
    }
    out.finish()?;
    if report.is_clean() { Ok(()) } else { Err(Failure::Findings) }
}

/// Checks a database and shows how far that is.
pub fn report(db: &Database) -> Result<CheckReport> {
    let mut progress: Option<Progress> = None;
    let shown = |seen, pages| {
        let progress = progress.get_or_insert_with(|| Progress::new("check", Unit::Things("pages"), Some(pages)));
        progress.at(seen, String::new);
    };
    Ok(db.check(shown)?)
}

/// The only finding, in the form that a script expects, of a file in which nothing can be counted.
fn too_damaged(what: &str) -> Result<()> {
    let mut out = Output::stdout();
    out.json(&json!({ "clean": false, "findings": [what] }))?;
    out.finish()?;
    Err(Failure::Findings)
}

/// A report as JSON.
pub fn to_json(report: &CheckReport) -> serde_json::Value {
    json!({
        "clean": report.is_clean(), "findings": report.findings, "tables": report.tables, "entries": report.entries,
        "main_entries": report.main_entries,
        "pages": report.pages, "branch_pages": report.branch_pages, "leaf_pages": report.leaf_pages,
        "overflow_pages": report.overflow_pages, "space_pages": report.space_pages,
        "free_pages": report.free_pages, "retired_pages": report.retired_pages, "unused_bytes": report.unused_bytes,
    })
}

fn write(out: &mut Output, report: &CheckReport) -> Result<()> {
    for finding in &report.findings {
        writeln!(out, "{finding}")?;
    }
    let tables = units::plural(report.tables, "table");
    let place = match (report.main_entries, report.tables) {
        (0, _) => tables,
        (_, 0) => "the main table".to_string(),
        _ => format!("the main table and {tables}"),
    };
    let looked =
        format!("{} in {place}, {}", units::plural(report.entries, "entry"), units::plural(report.pages, "page"));
    if report.is_clean() {
        writeln!(out, "clean: {looked}")?;
    } else {
        writeln!(out, "{}: {looked}", units::plural(report.findings.len() as u64, "finding"))?;
    }
    Ok(())
}
