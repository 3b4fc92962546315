//! A server process: started, waited for, killed, ended.
//!
//! # Safety
//! `kill` is called with the number of a child that has not been waited for.
#![allow(unsafe_code)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Longest wait for a server to answer, or to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// See the head. Dropping it kills the process.
pub struct Server {
    child: Child,
    log: PathBuf,
}

impl Server {
    /// Starts a server; what it says goes into a file.
    pub fn start(command: &mut Command, log: &Path) -> Server {
        let file = File::options().create(true).append(true).open(log).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Server { child, log: log.to_path_buf() }
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the question has an answer.
    #[track_caller]
    pub fn wait_for<T>(&mut self, mut question: impl FnMut() -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(answer) = question() {
                return answer;
            }
            let ended = self.child.try_wait().unwrap();
            if ended.is_some() || started.elapsed() > PATIENCE {
                let said = fs::read_to_string(&self.log).unwrap_or_default();
                panic!("no answer from a server ({ended:?}):\n{said}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it without warning, at once.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end and waits until it has.
    #[track_caller]
    pub fn stop(mut self) {
        // SAFETY: see the head.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) }, 0);
        let started = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < PATIENCE, "a server does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
