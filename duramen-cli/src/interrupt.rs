//! Ctrl-C, for commands that have something to tidy up. All others simply die of it: a database does not mind.
//!
//! Owns: the flag that long work looks at. The second Ctrl-C, or two seconds without an answer, end the process at
//! once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::failure::{Failure, Result};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C asks the work under way to end.
pub fn listen() -> Result<()> {
    let heard = || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        std::thread::spawn(|| {
            std::thread::sleep(Duration::from_secs(2));
            std::process::exit(130);
        });
    };
    ctrlc::set_handler(heard).map_err(|error| Failure::Failed(format!("cannot listen for Ctrl-C: {error}")))
}

/// An error if Ctrl-C was pressed; `consequence` completes "interrupted: ".
pub fn check(consequence: &str) -> Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted(format!("interrupted: {consequence}")));
    }
    Ok(())
}
