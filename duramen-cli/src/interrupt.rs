//! Ctrl-C, for commands that have something to tidy up. All others simply die of it: a database does not mind.
//!
//! Owns: the flag that long work looks at. The second Ctrl-C, or a second without an answer, end the process at
//! once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::failure::{Failure, Result};
use crate::output::remark;

/// How long the work under way may take to end by itself: it may be waiting for input, which no flag can end.
const PATIENCE: Duration = Duration::from_secs(1);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static CONSEQUENCE: Mutex<String> = Mutex::new(String::new());

/// From now on Ctrl-C asks the work under way to end. `consequence` says what is left of it then.
pub fn listen(consequence: &str) -> Result<()> {
    set_consequence(consequence);
    let heard = || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            remark(&message());
            std::process::exit(130);
        });
    };
    ctrlc::set_handler(heard).map_err(|error| Failure::Failed(format!("cannot listen for Ctrl-C: {error}")))
}

/// What is left of the work if it is interrupted from now on.
pub fn set_consequence(consequence: &str) {
    *CONSEQUENCE.lock().unwrap_or_else(PoisonError::into_inner) = consequence.to_string();
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
