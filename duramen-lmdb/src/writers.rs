//! The environments of this process, and which of them have the same file open.
//!
//! Owns: finding out that a thread would wait for itself. Must not know: transactions, how one waits.
//!
//! A file may be open in several environments of a process. A thread that has a write transaction in one of them and
//! begins another one in the next would wait for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::forks::{Locked, Whole};
use crate::handle::FileId;
use crate::owner::Owner;

/// The file that each environment has open, and the thread that writes in the environment.
static OPEN: Whole<Vec<(FileId, Arc<Owner>)>> = Whole::new(Vec::new());

/// Whether a file has ever been open in two of them: most programs are spared the list.
static ANY_TWICE: AtomicBool = AtomicBool::new(false);

fn open() -> Locked<'static, Vec<(FileId, Arc<Owner>)>> {
    OPEN.lock()
}

/// An environment has opened this file.
pub(crate) fn add(file: FileId, owner: &Arc<Owner>) {
    let mut open = open();
    if open.iter().any(|(other, _)| *other == file) {
        ANY_TWICE.store(true, Ordering::Relaxed);
    }
    open.push((file, owner.clone()));
}

/// The environment with this owner is no more. The last one leaves no memory behind: the library may be unloaded.
pub(crate) fn remove(owner: &Arc<Owner>) {
    let mut open = open();
    open.retain(|(_, other)| !Arc::ptr_eq(other, owner));
    if open.is_empty() {
        *open = Vec::new();
    }
}

/// Whether this thread has a write transaction on this file, in whichever environment.
pub(crate) fn is_writing(file: FileId) -> bool {
    ANY_TWICE.load(Ordering::Relaxed) && open().iter().any(|(other, owner)| *other == file && owner.is_this())
}
