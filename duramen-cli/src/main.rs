//! The `duramen` command: look into databases, fill them, check them, copy them, move them from and to LMDB.
//!
//! Owns: the exit code, and what is said when something fails. Must not know: what a command does.

#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss))]

mod acl;
mod bench;
mod bytes;
mod check;
mod columns;
mod completions;
mod configured;
mod copy;
mod del;
mod directory;
mod dump;
mod failure;
mod get;
mod interrupt;
mod load;
mod ls;
mod open;
mod options;
mod output;
mod partial;
mod progress;
mod put;
mod readers;
mod scan;
mod shape;
mod source;
mod stat;
mod target;
mod units;

use std::process::ExitCode;

use clap::Parser;

use crate::options::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    progress::set_quiet(cli.quiet);
    interrupt::refuse_long_files();
    let result = match &cli.command {
        Command::Stat(args) => stat::run(args),
        Command::Ls(args) => ls::run(args),
        Command::Get(args) => get::run(args),
        Command::Put(args) => put::run(args),
        Command::Del(args) => del::run(args),
        Command::Scan(args) => scan::run(args),
        Command::Check(args) => check::run(args),
        Command::Readers(args) => readers::run(args),
        Command::Copy(args) => copy::run(args),
        Command::Dump(args) => dump::run(args),
        Command::Load(args) => load::run(args),
        Command::Acl(args) => acl::run(args),
        Command::Directory(args) => directory::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Completions(args) => completions::run(args),
    };
    let Err(failure) = result else {
        return ExitCode::SUCCESS;
    };
    if let Some(message) = failure.message() {
        // If nobody can read it, the exit code still tells.
        output::remark(message);
    }
    ExitCode::from(failure.exit_code())
}
