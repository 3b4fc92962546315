//! Ctrl-C, for commands that have something to tidy up. All others simply die of it: a database does not mind.
//!
//! Owns: the flag that long work looks at. The second Ctrl-C, or a second without an answer, end the process at
//! once, but for the removal of a file that nobody would complete.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::failure::{Failure, Result};
use crate::output::remark;

/// How long the work under way may take to end by itself: it may be waiting for input, which no flag can end.
const PATIENCE: Duration = Duration::from_secs(1);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static CONSEQUENCE: Mutex<String> = Mutex::new(String::new());
static LEFTOVER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// From now on Ctrl-C asks the work under way to end. `consequence` says what is left of it then.
pub fn listen(consequence: &str) -> Result<()> {
    set_consequence(consequence);
    let heard = || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            exit();
        }
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            remark(&message());
            exit();
        });
    };
    ctrlc::set_handler(heard).map_err(|error| Failure::Failed(format!("cannot listen for Ctrl-C: {error}")))
}

/// What is left of the work if it is interrupted from now on.
pub fn set_consequence(consequence: &str) {
    *CONSEQUENCE.lock().unwrap_or_else(PoisonError::into_inner) = consequence.to_string();
}

/// What is to be removed if the process ends in the middle of its work.
pub fn set_leftover(path: Option<&Path>) {
    *LEFTOVER.lock().unwrap_or_else(PoisonError::into_inner) = path.map(Path::to_path_buf);
}

fn exit() -> ! {
    // Held to the end: who is about to complete the file waits, and comes too late.
    let leftover = LEFTOVER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*leftover {
        let _ = std::fs::remove_file(path);
    }
    std::process::exit(130);
}

/// An error if Ctrl-C was pressed.
pub fn check() -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted(message()));
    }
    Ok(())
}

fn message() -> String {
    format!("interrupted: {}", CONSEQUENCE.lock().unwrap_or_else(PoisonError::into_inner))
}
