//! Developer commands: `cargo xtask crash`, `cargo xtask differential`, `cargo xtask fuzz`, `cargo xtask suites`.

mod crash;
mod differential;
mod fuzz;
mod suites;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Long runs of what the tests do in short")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Cuts the power at many moments of many workloads, and judges what is left
    Crash(crash::Arguments),
    /// Plays random operations on LMDB's own library and on ours, and compares
    Differential(differential::Arguments),
    /// Feeds damaged files to the engine, guided by what they reach in it
    Fuzz(fuzz::Arguments),
    /// Runs the test suites of LMDB's wrappers in other languages on our liblmdb
    Suites(suites::Arguments),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Crash(arguments) => crash::run(&arguments),
        Command::Differential(arguments) => differential::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Suites(arguments) => suites::run(&arguments),
    }
}
