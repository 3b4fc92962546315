//! The libraries as cargo builds them, and the commands that tests are made of.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

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

/// Where cargo puts what it builds as these tests were built, and the profile's name.
pub fn target() -> (PathBuf, &'static str) {
    let test = std::env::current_exe().expect("a test has a path");
    // target/PROFILE/deps/this
    let target = test.ancestors().nth(2).expect("it lies in deps").to_path_buf();
    let profile = if target.ends_with("release") { "release" } else { "dev" };
    (target, profile)
}

/// Builds the libraries and the programs; where cargo leaves them.
///
/// What is selected is what `cargo test --workspace` selects: so dependencies have the same features, and only what that
/// does not make is left to be built.
pub fn build() -> PathBuf {
    let (target, profile) = target();
    let parent = target.parent().expect("a directory for each profile");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--profile", profile, "--workspace", "--lib", "--bins", "--tests"]);
    run(build.current_dir(root()).env("CARGO_TARGET_DIR", parent));
    target
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
