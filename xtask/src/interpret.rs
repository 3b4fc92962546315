//! `cargo xtask miri` and `cargo xtask loom`: unit tests of the engine under other machines than the real one.

use std::process::{Command, ExitCode};

use crate::workspace;

/// Modules whose tests need neither files nor maps: only there Miri can go.
const MODULES: [&str; 5] = ["format::", "space::", "order::", "dirty::", "tree::"];

/// Random histories of the free space, without any `unsafe` below: they would take Miri hours.
const TOO_LONG: &str = "space::model";

pub fn miri() -> ExitCode {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "miri", "test", "-p", "duramen", "--lib", "--"]).args(MODULES).args(["--skip", TOO_LONG]);
    // Some properties look for the failures of earlier runs; isolated, they could not.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "4");
    run(&mut command, "Miri is not installed: rustup component add miri --toolchain nightly")
}

pub fn loom() -> ExitCode {
    let mut command = Command::new("cargo");
    command.args(["test", "-p", "duramen", "--lib", "--release", "readers"]);
    command.env("RUSTFLAGS", "--cfg loom");
    run(&mut command, "cargo cannot be run")
}

fn run(command: &mut Command, hint: &str) -> ExitCode {
    match command.current_dir(workspace::root()).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("it ended with {status}; {hint}, if that is why");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cargo cannot be run: {error}");
            ExitCode::FAILURE
        }
    }
}
