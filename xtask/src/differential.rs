//! `cargo xtask differential`: the comparison of both LMDB libraries, or of slapd and duramend, at length.
//!
//! Owns: how many worlds are played. What happens in them is the test's affair.

use std::path::PathBuf;

use crate::command::{self, Result, cargo};

/// A test that plays worlds.
struct Test {
    package: &'static str,
    /// Operations in one world.
    operations: u64,
    /// The variable with the seed of the first world.
    seed: &'static str,
}

const LIBRARIES: Test = Test { package: "duramen-lmdb", operations: 4000, seed: "DURAMEN_FIRST" };
const DIRECTORIES: Test = Test { package: "duramen-server", operations: 400, seed: "DURAMEN_SEED" };

#[derive(clap::Args)]
pub struct Arguments {
    /// Sends requests to slapd and to duramend, instead of calling LMDB's library and ours
    #[arg(long)]
    directory: bool,
    /// How many operations to play, in worlds of 4000, or of 400 requests
    #[arg(long, default_value_t = 1_000_000)]
    operations: u64,
    /// Another library of LMDB's than Debian's: of a later 0.9, or of 1.0
    #[arg(long, conflicts_with = "directory")]
    library: Option<PathBuf>,
    /// Seed of the first world
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the test with as many worlds as were asked for.
pub fn run(arguments: &Arguments) -> Result {
    let test = if arguments.directory { DIRECTORIES } else { LIBRARIES };
    let worlds = arguments.operations.div_ceil(test.operations);
    let mut cargo = cargo();
    cargo.args(["test", "--release", "-p", test.package, "--test", "differential"]);
    cargo.env(test.seed, arguments.seed.to_string()).env("DURAMEN_CASES", worlds.to_string());
    if let Some(library) = &arguments.library {
        cargo.env("DURAMEN_LIBRARY", std::path::absolute(library).map_err(|error| error.to_string())?);
    }
    command::run(&mut cargo)
}
