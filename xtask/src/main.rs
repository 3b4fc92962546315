//! Developer commands: `cargo xtask ablation`, `cargo xtask crash`, `cargo xtask fuzz`.

mod ablation;
mod crash;
mod fuzz;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Long runs of what the tests do in short, and measurements of parts")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures what each idea of the page layout is worth, by taking it away
    Ablation(ablation::Arguments),
    /// Cuts the power at many moments of many workloads, and judges what is left
    Crash(crash::Arguments),
    /// Feeds damaged files to the engine, guided by what they reach in it
    Fuzz(fuzz::Arguments),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Ablation(arguments) => ablation::run(&arguments),
        Command::Crash(arguments) => crash::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
    }
}
