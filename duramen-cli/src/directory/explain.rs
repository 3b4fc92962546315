//! `duramen directory explain`: how a search finds its entries.

use std::io::Write;

use duramen_directory::{Config, Requester};
use duramen_ldap::filter::FilterBuf;
use duramen_ldap::message::{Scope, SearchRequest};

use super::DirectoryArgs;
use crate::configured::Configured;
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

/// As much of a filter as helps to recognize it.
fn beginning_of(filter: &str) -> String {
    const SHOWN: usize = 100;
    match filter.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &filter[..end]),
        None => filter.to_string(),
    }
}

/// Runs `duramen directory explain`.
pub fn run(args: &Args) -> Result<()> {
    let place = args.directory.place()?;
    let configured = place.configured();
    // As the server would after it has read its configuration again.
    let directory = place.open(Config {
        nested_groups: configured.is_some_and(Configured::nested_groups),
        indices: configured.and_then(Configured::indices),
        read_only: true,
        ..Config::default()
    })?;
    let filter = FilterBuf::parse(&args.filter)
        .map_err(|error| Failure::Usage(format!("the filter {:?}: {error}", beginning_of(&args.filter))))?;
    let base = match &args.base {
        Some(base) => base.clone(),
        None => directory.suffixes().into_iter().next().unwrap_or_default(),
    };
    let request = SearchRequest::new(&base, Scope::Subtree, filter.as_filter());
    let mut out = Output::stdout();
    for line in directory.explain(&Requester::internal(), &request)? {
        writeln!(out, "{line}")?;
    }
    let missing = directory.incomplete_indices();
    if !missing.is_empty() {
        writeln!(
            out,
            "not used until `duramen directory reindex` has completed them: indices of {}",
            missing.join(", ")
        )?;
    }
    out.finish()
}
