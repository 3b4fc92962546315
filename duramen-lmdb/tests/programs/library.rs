//! The two libraries, and how a program is given one of them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::building;

/// Longest that a program may take, in seconds.
const SECONDS_MAX: &str = "60";

/// Whose library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Library {
    Stock,
    Ours,
}

/// How a program finds it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It needs `liblmdb.so.0`.
    Linked,
    /// It has LMDB inside, but calls it as one calls a library.
    Preloaded,
}

pub const BOTH: [Library; 2] = [Library::Stock, Library::Ours];

/// What a program said, and with which code it ended.
#[derive(PartialEq, Eq, Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Said {
    /// What it printed; it must have succeeded.
    #[track_caller]
    pub fn well(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }
}

impl Library {
    /// A command that runs with this library, if it needs one.
    pub fn command(self, way: Way, program: &str) -> Command {
        let mut command = Command::new(find(program));
        self.give(way, &mut command);
        command
    }

    /// Runs a program to its end.
    pub fn run<A: AsRef<OsStr>>(self, way: Way, program: &str, arguments: &[A]) -> Said {
        self.run_with(way, program, arguments, &[])
    }

    /// As `run`, with variables of its surroundings.
    pub fn run_with<A: AsRef<OsStr>>(self, way: Way, program: &str, arguments: &[A], env: &[(&str, &Path)]) -> Said {
        let mut command = Command::new("timeout");
        command.arg("--kill-after=5").arg(SECONDS_MAX).arg(find(program)).args(arguments).envs(env.iter().copied());
        self.give(way, &mut command);
        said(&mut command)
    }

    fn give(self, way: Way, command: &mut Command) {
        command.env_remove("LD_LIBRARY_PATH").env_remove("LD_PRELOAD").stdin(Stdio::null());
        match (self, way) {
            (Library::Stock, _) => command,
            (Library::Ours, Way::Linked) => command.env("LD_LIBRARY_PATH", directory()),
            (Library::Ours, Way::Preloaded) => command.env("LD_PRELOAD", directory().join("liblmdb.so.0")),
        };
    }
}

/// Runs a command to its end.
pub fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// A program's path: daemons are not in everybody's `PATH`.
fn find(program: &str) -> PathBuf {
    if program.contains('/') {
        return program.into();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let found = std::env::split_paths(&path).chain(more).map(|directory| directory.join(program)).find(|p| p.is_file());
    found.unwrap_or_else(|| panic!("{program} is not installed: make setup"))
}

/// Where our libraries and programs are.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(building::build)
}

/// The directory of our library under its soname.
pub fn directory() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("programs-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        for name in ["liblmdb.so.0", "liblmdb.so"] {
            // A process of this number may have left it.
            let _ = fs::remove_file(directory.join(name));
            std::os::unix::fs::symlink(built().join("liblmdb0.so"), directory.join(name)).unwrap();
        }
        directory
    })
}

/// Proves that a process has our library in its memory, and no other.
#[track_caller]
pub fn assert_mapped(process: u32) {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let ours = built().join("liblmdb0.so").canonicalize().unwrap();
    assert!(maps.contains(ours.to_str().unwrap()), "our library is not in process {process}:\n{maps}");
    let others = maps.lines().any(|line| line.contains("/liblmdb.so") && !line.contains(directory().to_str().unwrap()));
    assert!(!others, "another liblmdb is in process {process}:\n{maps}");
}

/// Proves that `duramen check` finds nothing in a file.
#[track_caller]
pub fn assert_clean(file: &Path) {
    let checked = said(Command::new(built().join("duramen")).arg("check").arg(file));
    assert!(checked.out.starts_with("clean"), "{}: {checked:?}", file.display());
    assert_eq!(checked.code, Some(0), "{}: {checked:?}", file.display());
}

/// A directory of a test's own, in memory if there is such a place: nothing here is about the disk.
pub fn place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    place.expect("a directory can be made")
}
