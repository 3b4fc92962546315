//! Tests that go on in another process: the test binary starts itself, to run one of its tests in a *role*.
//!
//! Owns: starting, talking to and killing such processes; random numbers whose seed is printed when a test fails.
//! Must not know: what a role does.

// Each test binary uses a part of it.
#![allow(dead_code, unused_imports)]

mod hasty;
pub mod ledger;

pub use hasty::hasty;

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};

const ROLE: &str = "DURAMEN_ROLE";
const ARGUMENTS: &str = "DURAMEN_ROLE_ARGUMENTS";
/// Begins the lines that a role says; the test harness prints others.
const SAID: &str = "duramen: ";

/// A process that runs a role. It is killed when this is dropped.
pub struct Role {
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
}

/// Starts a process that runs the test `name` in its role.
pub fn start(name: &str, arguments: &[&str]) -> Role {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--include-ignored"])
        .env(ROLE, name)
        .env(ARGUMENTS, arguments.join("\n"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(process.stdout.take().unwrap()).lines();
    Role { process, said }
}

/// In the process that runs this role: its arguments. Elsewhere nothing, and the test has nothing to do.
pub fn arguments(name: &str) -> Option<Vec<String>> {
    if std::env::var(ROLE).ok()? != name {
        return None;
    }
    Some(std::env::var(ARGUMENTS).unwrap().split('\n').map(str::to_string).collect())
}

/// In a role: tells the test something.
pub fn say(what: impl std::fmt::Display) {
    println!("{SAID}{what}");
}

/// In a role: waits until the test says so. False if the test is gone.
pub fn wait_for_word() -> bool {
    std::io::stdin().read_line(&mut String::new()).unwrap() > 0
}

impl Role {
    pub fn pid(&self) -> u64 {
        u64::from(self.process.id())
    }

    /// The next thing that the role says; nothing if it has ended.
    pub fn next(&mut self) -> Option<String> {
        for line in self.said.by_ref() {
            if let Some((_, said)) = line.unwrap().split_once(SAID) {
                return Some(said.to_string());
            }
        }
        None
    }

    /// The next thing that the role says, which must be this.
    #[track_caller]
    pub fn expect(&mut self, what: &str) {
        assert_eq!(self.next().as_deref(), Some(what));
    }

    /// Ends `wait_for_word` in the role.
    pub fn go_on(&mut self) {
        self.process.stdin.as_mut().unwrap().write_all(b"go on\n").unwrap();
    }

    /// Stops the process, wherever it is at work, for as long as `work` takes.
    pub fn while_stopped<T>(&self, work: impl FnOnce() -> T) -> T {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::STOP).unwrap();
        let done = work();
        kill_process(pid, Signal::CONT).unwrap();
        done
    }

    /// Ends the process by `kill -9`; what it had said until then and nobody had heard.
    #[track_caller]
    pub fn kill(mut self) -> Vec<String> {
        assert_eq!(self.process.try_wait().unwrap(), None, "the process ended by itself");
        self.process.kill().unwrap();
        let said = std::iter::from_fn(|| self.next()).collect();
        self.process.wait().unwrap();
        said
    }

    /// Waits for the process to end by itself, all well.
    #[track_caller]
    pub fn finish(mut self) {
        while self.next().is_some() {}
        let status: ExitStatus = self.process.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Random numbers from a seed, which is printed if the test fails.
pub struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    /// From `DURAMEN_SEED`, or another seed each time.
    pub fn new() -> Random {
        let fresh = || std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
        Random::from(std::env::var("DURAMEN_SEED").map_or_else(|_| fresh(), |seed| seed.parse().unwrap()))
    }

    pub fn from(seed: u64) -> Random {
        Random { seed, state: seed }
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("DURAMEN_SEED={}", self.seed);
        }
    }
}
