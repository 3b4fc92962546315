//! Child processes: each store runs each group of workloads in one of its own, so that none disturbs another.
//!
//! A child is this program again with a job in its arguments; it writes its measurements to its output as one line of JSON.

use crate::work::{Job, Measurement};
use anyhow::{Context, Result, ensure};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Name of the hidden command that runs a job.
pub const COMMAND: &str = "child";

/// Starts a child; its errors go where ours go.
pub fn spawn(job: &Job) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(COMMAND).arg(serde_json::to_string(job)?);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    // SAFETY: the closure makes one system call and touches no memory of the parent.
    unsafe { command.pre_exec(die_with_parent) };
    command.spawn().context("cannot start a child process")
}

/// Runs a job in a child to its end.
pub fn run(job: &Job) -> Result<Vec<Measurement>> {
    let output = spawn(job)?.wait_with_output()?;
    ensure!(output.status.success(), "{} failed at {}: {}", job.store, job.group, output.status);
    serde_json::from_slice(&output.stdout).context("a child's output is no list of measurements")
}

/// A child that writes until it is killed must not outlive an interrupted run.
fn die_with_parent() -> std::io::Result<()> {
    // SAFETY: only sets a flag of this process.
    match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
