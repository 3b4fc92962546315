//! `cargo xtask differential`: the comparison of both LMDB libraries, at length.
//!
//! Owns: how many worlds are played. What happens in them is the test's affair.

use std::process::{Command, ExitCode};

/// Operations in one world of the test.
const OPERATIONS: u64 = 4000;

#[derive(clap::Args)]
pub struct Arguments {
    /// How many operations to play, in worlds of 4000
    #[arg(long, default_value_t = 1_000_000)]
    operations: u64,
    /// Seed of the first world
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the test with as many worlds as were asked for.
pub fn run(arguments: &Arguments) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["test", "--release", "-p", "duramen-lmdb", "--test", "differential"])
        .env("DURAMEN_FIRST", arguments.seed.to_string())
        .env("DURAMEN_CASES", arguments.operations.div_ceil(OPERATIONS).to_string())
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo: {error}");
            ExitCode::FAILURE
        }
    }
}
