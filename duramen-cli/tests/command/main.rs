//! The `duramen` command as a user or a script meets it: arguments in; output, messages and exit codes out.

mod behaviour;
mod copy;
mod directory;
mod disk_full;
mod entries;
mod inspection;
mod lmdb;
mod text_format;

use std::ffi::OsStr;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A directory of a test's own, and the command run in it.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The names of the files that are there.
    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir.path()).expect("its directory");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }

    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_duramen"));
        command.current_dir(self.dir.path()).args(args).stdin(Stdio::null());
        command
    }

    /// Runs a command.
    fn run(&self, args: &[&str]) -> Run {
        Run::of(args, self.command(args).output().expect("the command runs"))
    }

    /// Runs a command that must succeed, and returns what it printed.
    fn ok(&self, args: &[&str]) -> String {
        self.run(args).ok()
    }

    /// Runs a command with this on its standard input.
    fn fed(&self, args: &[&str], input: &[u8]) -> Run {
        Run::of(args, feed(self.command(args), input))
    }
}

/// Runs a command with this on its standard input.
fn feed(mut command: Command, input: &[u8]) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command runs");
    let mut stdin = child.stdin.take().expect("it has an input");
    std::thread::scope(|scope| {
        // It may end before it has read all.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("it ends")
    })
}

/// What a command did.
#[derive(Debug)]
struct Run {
    args: Vec<String>,
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: String,
}

impl Run {
    fn of(args: &[&str], output: Output) -> Run {
        Run {
            args: args.iter().map(ToString::to_string).collect(),
            code: output.status.code(),
            stdout: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("text")
    }

    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{:?}: {self:?}", self.args);
        self.text()
    }

    /// It must have ended with this code and a message that contains this.
    #[track_caller]
    fn fails(self, code: i32, message: &str) {
        assert_eq!(self.code, Some(code), "{:?}: {self:?}", self.args);
        assert!(self.stderr.contains(message), "wanted {message:?}: {self:?}");
    }
}
