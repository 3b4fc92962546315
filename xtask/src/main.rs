//! Developer commands: `cargo xtask crash`, `cargo xtask fuzz`.

mod crash;

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
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Crash(arguments) => crash::run(&arguments),
    }
}
