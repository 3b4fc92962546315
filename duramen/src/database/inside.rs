//! Whose changes a thread is in the midst of.
//!
//! Owns: that a closure which would wait for its own transaction is told so. Must not know: transactions.
//!
//! A closure that is given a transaction cannot end it, so whoever waits in it for another one of the same handle waits for ever.

use std::cell::RefCell;

use crate::error::{Error, Result};

thread_local! {
    /// The handles of the closures that this thread is in, the innermost last.
    static HANDLES: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// As long as it lives, this thread is in a closure.
pub(super) struct Inside(());

/// Enters a closure that changes what this handle has.
pub(super) fn enter(handle: u64) -> Inside {
    // A thread that ends may have no list any more, and waits as if there were none.
    let _ = HANDLES.try_with(|handles| handles.borrow_mut().push(handle));
    Inside(())
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = HANDLES.try_with(|handles| handles.borrow_mut().pop());
    }
}

/// Refuses to wait for the write transaction of this handle, if that is one of a closure that this thread is in.
pub(super) fn check(handle: u64) -> Result<()> {
    let is_inside = HANDLES.try_with(|handles| handles.borrow().contains(&handle)).unwrap_or(false);
    if !is_inside {
        return Ok(());
    }
    Err(Error::Usage {
        what: "a closure that changes the database would wait for its own transaction: it has to do all by that one",
    })
}
