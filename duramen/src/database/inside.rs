//! Which thread is in the midst of a closure that changes what a handle has.
//!
//! Owns: that a closure which would wait for its own transaction is told so. Must not know: transactions.
//!
//! A closure that is given a transaction cannot end it, so whoever waits in it for another one of the same handle waits for ever.
//! A handle has one such transaction at a time, so one number says it. A list that each thread has would need a destructor, and
//! that keeps a library from being unloaded.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::os::thread::this_thread;

const NOBODY: u64 = 0;

/// The thread that is in a closure of this handle. What others store here is never this thread's number, so no order is needed.
#[derive(Default)]
pub(super) struct Inside(AtomicU64);

/// As long as it lives, its thread is in a closure.
pub(super) struct Entered<'i>(&'i Inside);

impl Inside {
    /// Enters a closure.
    pub(super) fn enter(&self) -> Entered<'_> {
        self.0.store(this_thread(), Ordering::Relaxed);
        Entered(self)
    }

    /// Refuses to wait for the write transaction if that is one of a closure that this thread is in.
    pub(super) fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Relaxed) != this_thread() {
            return Ok(());
        }
        Err(Error::Usage {
            what: "a closure that changes the database would wait for its own transaction: it has to do all by that one",
        })
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        // Another one's stays: who puts another transaction in the place of his can end his own too early.
        let _ = self.0.0.compare_exchange(this_thread(), NOBODY, Ordering::Relaxed, Ordering::Relaxed);
    }
}
