//! The libraries under their sonames, and the commands that tests are made of.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::building::build;

/// The workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs a command, which must succeed.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// What a command printed.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A C compiler that lets nothing pass.
pub fn compiler() -> Command {
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-g"]);
    compiler
}

/// One of the programs in `tests/c`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name).with_extension("c")
}

/// A directory in which the libraries stand under their sonames.
pub fn libraries() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let target = build();
        let place = target.join("lmdb");
        std::fs::create_dir_all(&place).unwrap();
        for number in 0..2 {
            let link = place.join(format!("liblmdb.so.{number}"));
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(target.join(format!("liblmdb{number}.so")), link).unwrap();
        }
        place
    })
}
