//! Signals. Ctrl-C, SIGTERM and a terminal that is closed, for commands that have something to tidy up: all others simply die
//! of them, a database does not mind. And what the kernel sends to who writes more into a file than he may.
//!
//! Owns: the flag that long work looks at. The second Ctrl-C, or a second without an answer, end the process at
//! once, but for the removal of what nobody would complete.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::failure::{Failure, Result};
use crate::output::remark;

/// How long the work under way may take to end by itself: it may be waiting for input, which no flag can end.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a directory is tried to be removed that somebody goes on to put files into.
const REMOVALS_MAX: u32 = 10;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static CONSEQUENCE: Mutex<String> = Mutex::new(String::new());
static LEFTOVER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Makes a write beyond the limit of a file's length (`ulimit -f`) fail, as one to a full disk does: without a handler, the
/// signal that comes with it is the end of the process, which then tidies nothing up.
pub fn refuse_long_files() {
    // Where it is refused, long files are as bad as they were.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// From now on Ctrl-C, SIGTERM or SIGHUP ask the work under way to end. `consequence` says what is left of it then. Those that
/// whoever began this process had it ignore, as `nohup` does, it goes on to ignore.
pub fn listen(consequence: &str) -> Result<()> {
    set_consequence(consequence);
    let ignored = ignored();
    let heeded = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let signals = Signals::new(heeded).and_then(|mut signals| {
        std::thread::Builder::new().spawn(move || signals.forever().for_each(|_| heard())).map(drop)
    });
    signals.map_err(|error| Failure::Failed(format!("cannot listen for Ctrl-C: {error}")))
}

/// The signals that this process ignores, a bit for each.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn heard() {
    if INTERRUPTED.swap(true, Ordering::Relaxed) {
        exit();
    }
    std::thread::spawn(|| {
        std::thread::sleep(PATIENCE);
        remark(&message());
        exit();
    });
}

/// What is left of the work if it is interrupted from now on.
pub fn set_consequence(consequence: &str) {
    *CONSEQUENCE.lock().unwrap_or_else(PoisonError::into_inner) = consequence.to_string();
}

/// What is to be removed if the process ends in the middle of its work: a file, or a directory with all that is in it.
pub fn set_leftover(path: Option<&Path>) {
    *LEFTOVER.lock().unwrap_or_else(PoisonError::into_inner) = path.map(Path::to_path_buf);
}

/// Makes what is to be removed: there is no moment in which it is there and would be left.
pub fn make_leftover<T: AsRef<Path>>(make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let mut leftover = LEFTOVER.lock().unwrap_or_else(PoisonError::into_inner);
    let made = make()?;
    *leftover = Some(made.as_ref().to_path_buf());
    Ok(made)
}

fn exit() -> ! {
    // Held to the end: who is about to complete the file waits, and comes too late.
    let leftover = LEFTOVER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*leftover {
        remove(path);
    }
    std::process::exit(130);
}

fn remove(path: &Path) {
    if !path.is_dir() {
        let _ = std::fs::remove_file(path);
        return;
    }
    // The work under way may make another file in it meanwhile.
    let _ = (0..REMOVALS_MAX).find(|_| std::fs::remove_dir_all(path).is_ok());
}

/// An error if Ctrl-C was pressed, the terminal was closed, or the process was told to end.
pub fn check() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted(message()));
    }
    Ok(())
}

fn message() -> String {
    format!("interrupted: {}", CONSEQUENCE.lock().unwrap_or_else(PoisonError::into_inner))
}
