//! `duramen directory reindex`: completing indices.

use duramen_directory::Config;

use super::DirectoryArgs;
use crate::configured::Configured;
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::output::remark;
use crate::progress::{Progress, Unit, is_quiet};

/// Arguments of `duramen directory reindex`.
#[derive(clap::Args)]
#[command(about = "Complete the indices that the directory's configuration asks for; while the server runs too")]
pub struct Args {
    #[command(flatten)]
    directory: DirectoryArgs,
    /// Build all indices anew, also those that are complete; updates wait meanwhile
    #[arg(long)]
    all: bool,
}

/// Runs `duramen directory reindex`.
pub fn run(args: &Args) -> Result<()> {
    let place = args.directory.place()?;
    let indices = place.configured().and_then(Configured::indices);
    let directory = place.open(Config { indices, ..Config::default() })?;
    let left = match args.all {
        true => "all indices are as they were",
        false => "indices that were being built are not complete, and are not used: run it again",
    };
    interrupt::listen(left)?;
    let names = directory.incomplete_indices();
    let mut progress = Progress::new("index", Unit::Things("entries"), None);
    let mut report = |done, total| {
        progress.at(done, || format!("of {total}"));
        interrupt::check().is_ok()
    };
    let outcome = if args.all { directory.rebuild_indices(&mut report) } else { directory.reindex(&mut report) };
    progress.end();
    interrupt::check()?;
    outcome.map_err(Failure::from)?;
    if !is_quiet() {
        remark(&match args.all {
            true => "all indices are built anew".to_string(),
            false if names.is_empty() => "all indices were complete".to_string(),
            false => format!("indexed {}", names.join(", ")),
        });
    }
    Ok(())
}
