//! `duramen directory export`: a subtree as LDIF.

use crate::failure::Result;
use crate::output::Output;
use crate::progress::{Progress, Unit};

use super::DirectoryArgs;

/// Arguments of `duramen directory export`.
#[derive(clap::Args)]
#[command(about = "Write a subtree, or all, as LDIF that import and slapadd take; while the server runs too")]
pub struct Args {
    #[command(flatten)]
    directory: DirectoryArgs,
    /// The top of the subtree; without it all suffixes
    #[arg(value_name = "DN")]
    base: Option<String>,
}

/// Runs `duramen directory export`.
pub fn run(args: &Args) -> Result<()> {
    let directory = args.directory.open(true)?;
    let mut out = Output::stdout();
    let mut progress = Progress::new("export", Unit::Things("entries"), None);
    let exported = directory.export(args.base.as_deref(), &mut out, &mut |done, _| {
        progress.at(done, String::new);
        true
    });
    match out.failure() {
        Some(failure) => Err(failure),
        None => exported.map_err(Into::into).and_then(|_| out.finish()),
    }
}
