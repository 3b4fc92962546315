//! `duramen directory check`: whether a directory's tables fit together.

use std::io::Write;

use super::DirectoryArgs;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::progress::{Progress, Unit};

/// Arguments of `duramen directory check`.
#[derive(clap::Args)]
#[command(about = "Look at every entry, name and index, and whether they fit together; while the server runs too")]
pub struct Args {
    #[command(flatten)]
    directory: DirectoryArgs,
}

/// Runs `duramen directory check`.
pub fn run(args: &Args) -> Result<()> {
    let directory = args.directory.open(true).map_err(Failure::of_check)?;
    let mut problems = Vec::new();
    let mut progress = Progress::new("check", Unit::Things("entries"), None);
    directory.check(&mut |problem| problems.push(problem), &mut |done, total| {
        progress.at(done, || format!("of {total}"));
    })?;
    progress.end();
    let mut out = Output::stdout();
    for problem in &problems {
        writeln!(out, "{problem}")?;
    }
    if problems.is_empty() {
        writeln!(out, "everything fits together")?;
    }
    out.finish()?;
    if problems.is_empty() { Ok(()) } else { Err(Failure::Findings) }
}
