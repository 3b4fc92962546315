//! `cargo xtask miri`, `loom` and `aarch64`: tests of the engine under other machines than the real one.

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

/// Tests that begin no other programs, where the emulator does not follow, and do not ask it what is in memory.
const WITHIN_ONE_PROCESS: [&str; 11] = [
    "bulk",
    "checkpoint",
    "compact",
    "examples",
    "file_format",
    "growth",
    "large_transactions",
    "log",
    "model",
    "reopening",
    "snapshots",
];

/// The emulated program has 6 GiB of addresses: the emulator keeps a table of all that are mapped, and a database
/// reserves as many as it gets.
const EMULATOR: &str = "qemu-aarch64 -R 6G -L /usr/aarch64-linux-gnu";

pub fn aarch64() -> ExitCode {
    let mut command = Command::new("cargo");
    command.args(["test", "-p", "duramen", "--target", "aarch64-unknown-linux-gnu"]);
    command.args(WITHIN_ONE_PROCESS.iter().flat_map(|test| ["--test", test]));
    command.args(["--", "--test-threads", "1"]);
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", EMULATOR);
    command.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc").env("PROPTEST_CASES", "8");
    run(
        &mut command,
        "it needs `rustup target add aarch64-unknown-linux-gnu`, and Debian's packages gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user",
    )
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
