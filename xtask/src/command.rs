//! Running other programs, in the workspace unless told otherwise.
//!
//! Owns: what is an error, and what is said of one. Must not know: what is run, and why.

use std::process::{Command, Output};

use crate::workspace;

/// What a developer command ends with: an error is a sentence.
pub type Result<T = ()> = std::result::Result<T, String>;

/// The cargo that runs this.
pub fn cargo() -> Command {
    of_workspace(Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())))
}

/// The cargo of the nightly compiler.
pub fn nightly_cargo() -> Command {
    let mut cargo = Command::new("cargo");
    cargo.arg("+nightly");
    of_workspace(cargo)
}

fn of_workspace(mut command: Command) -> Command {
    command.current_dir(workspace::root());
    command
}

/// Runs a program to its end; what it says is to be seen.
///
/// # Errors
/// It cannot be run, or does not succeed.
pub fn run(command: &mut Command) -> Result {
    let status = command.status().map_err(|error| format!("{command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

/// Runs a program to its end; what it says is in the error only.
///
/// # Errors
/// It cannot be run, or does not succeed.
pub fn run_quietly(command: &mut Command) -> Result {
    let output = output(command)?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("{command:?}: {}\n{said}", output.status)) }
}

/// Runs a program to its end; all that it says, whether it succeeds or not.
///
/// # Errors
/// It cannot be run.
pub fn output(command: &mut Command) -> Result<Output> {
    command.output().map_err(|error| format!("{command:?}: {error}"))
}

/// A temporary directory, which goes when it is dropped.
///
/// # Errors
/// There is no room for one.
pub fn temporary() -> Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))
}
