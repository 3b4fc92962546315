//! Developer commands: `cargo xtask ablation`, `bench`, `crash`, `differential`, `fuzz`, `loom`, `miri`, `aarch64`,
//! `sanitizers`, `suites`.

mod ablation;
mod bench;
mod command;
mod crash;
mod differential;
mod fuzz;
mod interpret;
mod sanitizers;
mod suites;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use indicatif::ProgressStyle;

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
    /// Compares with other programs
    Bench(bench::Arguments),
    /// Cuts the power at many moments of many workloads, and judges what is left
    Crash(crash::Arguments),
    /// Plays random operations on LMDB's own library and on ours, or on slapd and duramend, and compares
    Differential(differential::Arguments),
    /// Feeds damaged files to the engine, guided by what they reach in it
    #[command(long_about = fuzz::HELP)]
    Fuzz(fuzz::Arguments),
    /// Runs the tests of the engine's page code in Miri, which notices undefined behaviour
    Miri,
    /// Runs the reader protocol under every interleaving
    Loom,
    /// Runs the engine's tests on an emulated 64-bit ARM
    Aarch64,
    /// Runs the C programs of the LMDB interface's tests with AddressSanitizer
    Sanitizers,
    /// Runs the test suites of LMDB's wrappers in other languages on our liblmdb
    Suites(suites::Arguments),
}

fn main() -> ExitCode {
    let ended = match Arguments::parse().command {
        Command::Ablation(arguments) => ablation::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Crash(arguments) => crash::run(&arguments),
        Command::Differential(arguments) => differential::run(&arguments),
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Miri => interpret::miri(),
        Command::Loom => interpret::loom(),
        Command::Aarch64 => interpret::aarch64(),
        Command::Sanitizers => sanitizers::run(),
        Command::Suites(arguments) => suites::run(&arguments),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// A progress bar that counts these.
fn style(what: &str) -> ProgressStyle {
    let template = format!("{{bar:30}} {{human_pos}}/{{human_len}} {what}, {{per_sec}}, {{eta}} left, {{msg}}");
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
