//! Whether passwords are costly to check here, so that the time which an answer takes tells nothing.
//!
//! Owns: what was seen of the passwords that were checked. Must not know: passwords.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What was seen since the server started.
#[derive(Debug, Default)]
pub struct Costs {
    cheap: AtomicBool,
    costly: AtomicBool,
}

impl Costs {
    /// Somebody's right password was cheap to check.
    pub fn note_cheap(&self) {
        self.cheap.store(true, Relaxed);
    }

    /// Somebody has a password that is costly to check.
    pub fn note_costly(&self) {
        self.costly.store(true, Relaxed);
    }

    /// Whether every wrong password has to take as long as one that is costly to check: unless all that were seen are
    /// cheap. Once one was costly it stays so, or who is there could be told from who is not.
    pub fn all_wait(&self) -> bool {
        self.costly.load(Relaxed) || !self.cheap.load(Relaxed)
    }
}
