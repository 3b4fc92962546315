//! `duramen directory explain`: how a search finds its entries.

use std::io::Write;

use duramen_directory::Requester;
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{Scope, SearchRequest};

use super::DirectoryArgs;
use crate::failure::{Failure, Result};
use crate::output::Output;

/// Arguments of `duramen directory explain`.
#[derive(clap::Args)]
#[command(about = "Show which indices a search with this filter uses, and how many entries it looks at")]
pub struct Args {
    #[command(flatten)]
    directory: DirectoryArgs,
    /// The filter
    filter: String,
    /// Where the search begins; the first suffix unless given
    #[arg(long, short = 'b', value_name = "DN")]
    base: Option<String>,
}

/// Runs `duramen directory explain`.
pub fn run(args: &Args) -> Result<()> {
    let directory = args.directory.open(true)?;
    let filter = FilterBuf::parse(&args.filter)
        .map_err(|error| Failure::Usage(format!("the filter {:?}: {error}", args.filter)))?;
    let base = match &args.base {
        Some(base) => base.clone(),
        None => directory.suffixes().into_iter().next().unwrap_or_default(),
    };
    let request = SearchRequest::new(&base, Scope::Subtree, filter.as_filter());
    let mut out = Output::stdout();
    for line in directory.explain(&Requester::internal(), &request)? {
        writeln!(out, "{line}")?;
    }
    out.finish()
}
