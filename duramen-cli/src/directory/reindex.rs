//! `duramen directory reindex`: completing indices.

use duramen_directory::Config;

use super::DirectoryArgs;
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
    /// Build all indices anew, also those that are complete
    #[arg(long)]
    all: bool,
}

/// Runs `duramen directory reindex`.
pub fn run(args: &Args) -> Result<()> {
    let directory = args.directory.open(false)?;
    interrupt::listen("indices that were being built are not complete, and are not used: run it again")?;
    if args.all {
        directory.forget_indices()?;
        directory.reconfigure(Config::default())?;
    }
    let names = directory.incomplete_indices();
    let mut progress = Progress::new("index", Unit::Things("entries"), None);
    let outcome = directory.reindex(&mut |done, total| {
        progress.at(done, || format!("of {total}"));
        interrupt::check().is_ok()
    });
    progress.end();
    interrupt::check()?;
    outcome.map_err(Failure::from)?;
    if !is_quiet() {
        remark(&if names.is_empty() {
            "all indices were complete".to_string()
        } else {
            format!("indexed {}", names.join(", "))
        });
    }
    Ok(())
}
