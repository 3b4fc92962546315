//! The programs in `tests/c` under valgrind's memcheck: on our library they touch no memory that is not theirs, and decide
//! nothing by what was never written. (What is never freed is looked for by `cargo xtask sanitizers`.)

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::built::{libraries, run};
use crate::programs::compile;

/// Runs a program; what memcheck says of it and of the processes that it forks goes into files, which must stay empty.
fn assert_clean(name: &str, arguments: &[&str]) -> Result {
    let directory = tempfile::tempdir()?;
    let program = compile(name, directory.path());
    let (logs, place) = (directory.path().join("logs"), directory.path().join("place"));
    for made in [&logs, &place] {
        std::fs::create_dir(made)?;
    }
    let log = format!("--log-file={}/%p", logs.display());
    let mut valgrind = Command::new("valgrind");
    // It would look for leaks in the whole of the map, which is longer than the file.
    valgrind
        .args(["--quiet", "--leak-check=no", "--error-exitcode=99", &log])
        .arg(&program)
        .arg(&place)
        .args(arguments);
    run(valgrind.env("LD_LIBRARY_PATH", libraries()));
    assert_empty(&logs)
}

fn assert_empty(logs: &Path) -> Result {
    let files: Result<Vec<String>> =
        std::fs::read_dir(logs)?.map(|file| Ok(std::fs::read_to_string(file?.path())?)).collect();
    let files = files?;
    assert!(!files.is_empty() && files.iter().all(String::is_empty), "{}", files.join("\n"));
    Ok(())
}

/// One test for each program, so that those that take long run side by side.
macro_rules! memcheck {
    ($($test:ident: $program:expr;)*) => {$(
        #[test]
        fn $test() -> Result {
            assert_clean($program, &[])
        }
    )*};
}

memcheck! {
    memcheck_finds_nothing_in_entries: "entries";
    memcheck_finds_nothing_in_environments: "environment";
    memcheck_finds_nothing_in_limits: "limits";
    memcheck_finds_nothing_in_surroundings: "surroundings";
    memcheck_finds_nothing_in_transactions: "transactions";
    memcheck_finds_nothing_in_what_is_beyond_lmdb: "beyond";
    memcheck_finds_nothing_in_what_is_our_own: "own";
}

/// A few times: it reads the library's debugging information each time.
#[test]
fn memcheck_finds_nothing_in_loading() -> Result {
    assert_clean("loading", &["3"])
}
