//! `cargo xtask miri`, `loom` and `aarch64`: tests of the engine under other machines than the real one.

use crate::command::{self, Result, cargo, nightly_cargo};

/// Modules whose tests need neither files nor maps: only there Miri can go.
const MODULES: [&str; 6] = ["format::", "space::", "order::", "os::frames", "dirty::", "tree::"];

/// Random histories of the free space, without any `unsafe` below: they would take Miri hours.
const TOO_LONG: &str = "space::model";

pub fn miri() -> Result {
    let mut miri = nightly_cargo();
    miri.args(["miri", "test", "-p", "duramen", "--lib", "--"]).args(MODULES).args(["--skip", TOO_LONG]);
    // Some properties look for the failures of earlier runs; isolated, they could not.
    miri.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", "4");
    command::run(&mut miri)
        .map_err(|why| format!("{why} (is Miri there? rustup component add miri --toolchain nightly)"))
}

pub fn loom() -> Result {
    let mut test = cargo();
    test.args(["test", "-p", "duramen", "--lib", "--release", "readers"]).env("RUSTFLAGS", "--cfg loom");
    command::run(&mut test)
}

/// Tests that do not ask the emulator what is in memory, and, but for those below, begin no other programs, where it does
/// not follow.
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

/// What does begin another program of these.
const BEGIN_ANOTHER: [&str; 5] = [
    "ahead::a_killed_writers_record",
    "ahead::what_the_kernel_still_writes_for_the_dead",
    "ahead::who_cannot_ask_the_lock_file",
    "ahead::who_only_reads_leaves_the_record",
    "closing::what_follows_a_flush_of_the_log_whose_failure_died",
];

/// The emulated program has 6 GiB of addresses: the emulator keeps a table of all that are mapped, and a database
/// reserves as many as it gets.
const EMULATOR: &str = "qemu-aarch64 -R 6G -L /usr/aarch64-linux-gnu";

pub fn aarch64() -> Result {
    let mut test = cargo();
    test.args(["test", "-p", "duramen", "--target", "aarch64-unknown-linux-gnu"]);
    test.args(WITHIN_ONE_PROCESS.iter().flat_map(|test| ["--test", test])).args(["--", "--test-threads", "1"]);
    test.args(BEGIN_ANOTHER.iter().flat_map(|test| ["--skip", test]));
    test.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", EMULATOR);
    test.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc").env("PROPTEST_CASES", "8");
    command::run(&mut test).map_err(|why| format!("{why} ({NEEDED})"))
}

/// What a machine of another kind needs for that.
const NEEDED: &str = "it needs `rustup target add aarch64-unknown-linux-gnu` and Debian's packages gcc-aarch64-linux-gnu, \
                      libc6-dev-arm64-cross and qemu-user";
