//! The environments of this process, and which of them have the same file open.
//!
//! Owns: finding out that a thread would wait for itself. Must not know: transactions, how one waits.
//!
//! A file may be open in several environments of a process. A thread that has a write transaction in one of them and
//! begins another one in the next would wait for ever.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use crate::forks::{Locked, Whole};
use crate::handle::FileId;
use crate::owner::Owner;

/// The file that each environment has open, and the thread that writes in the environment.
static OPEN: Whole<Vec<(FileId, Weak<Owner>)>> = Whole::new(Vec::new());

/// Whether a file has ever been open in two of them: most programs are spared the list.
static ANY_TWICE: AtomicBool = AtomicBool::new(false);

fn open() -> Locked<'static, Vec<(FileId, Weak<Owner>)>> {
    OPEN.lock()
}

/// An environment has opened this file. It is forgotten when its owner is dropped.
pub(crate) fn add(file: FileId, owner: &Arc<Owner>) {
    let mut open = open();
    open.retain(|(_, owner)| owner.strong_count() > 0);
    if open.iter().any(|(other, _)| *other == file) {
        ANY_TWICE.store(true, Ordering::Relaxed);
    }
    open.push((file, Arc::downgrade(owner)));
}

/// Whether this thread has a write transaction on this file, in whichever environment.
pub(crate) fn is_writing(file: FileId) -> bool {
    let writes = |owner: &Weak<Owner>| owner.upgrade().is_some_and(|owner| owner.is_this());
    ANY_TWICE.load(Ordering::Relaxed) && open().iter().any(|(other, owner)| *other == file && writes(owner))
}
