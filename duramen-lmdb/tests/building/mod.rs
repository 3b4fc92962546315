//! What tests that start our own libraries and programs need first: that cargo builds these as it built the tests.
//!
//! Owns: which build that is, and that it finds nearly all of it done. Must not know: what is done with it.

use std::path::{Path, PathBuf};
use std::process::Command;

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
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--profile", profile, "--workspace", "--lib", "--bins", "--tests"]);
    cargo.arg("--target-dir").arg(target.parent().expect("a directory for each profile"));
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    forget_this_package(&mut cargo);
    let output = cargo.output().unwrap_or_else(|error| panic!("{cargo:?}: {error}"));
    assert!(output.status.success(), "{cargo:?}: {}", String::from_utf8_lossy(&output.stderr));
    target
}

/// Keeps from cargo what it tells a test of its package: a crate whose build script asks for such names would be built again.
fn forget_this_package(cargo: &mut Command) {
    let told = |name: &str| name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).filter(|name| told(name));
    names.for_each(|name| _ = cargo.env_remove(name));
}
