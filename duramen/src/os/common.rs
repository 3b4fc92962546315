//! What all handles of one file in this process have in common.
//!
//! Owns: which files that are, by device and inode. Must not know: what it is that they have.
//!
//! # Safety
//! A forked child has none of its parent's other threads: a lock that one of them had stayed locked there for ever, and what it
//! was changing stayed half changed. So in a child all of it begins anew, before `fork` returns: by the one thread that is there,
//! which has no reference to what it replaces.
#![allow(unsafe_code)]

use std::any::Any;
use std::cell::UnsafeCell;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::parting;

/// A file, by device and inode.
type Inode = (u64, u64);

type Known = Vec<(Inode, Weak<dyn Any + Send + Sync>)>;

struct Open(UnsafeCell<Mutex<Known>>);

// SAFETY: what is in it is shared as a mutex is, but for what the module's head says.
unsafe impl Sync for Open {}

static OPEN: Open = Open(UnsafeCell::new(Mutex::new(Vec::new())));

fn open() -> MutexGuard<'static, Known> {
    parting::watch();
    // SAFETY: see the module's head.
    unsafe { &*OPEN.0.get() }.lock().unwrap_or_else(PoisonError::into_inner)
}

/// That of this file. It is gone with the last handle that has it, which says so by [`forget`].
pub(crate) fn of<T: Default + Send + Sync + 'static>(file: &Metadata) -> Arc<T> {
    let inode = (file.dev(), file.ino());
    let mut open = open();
    open.retain(|(_, common)| common.strong_count() > 0);
    let known =
        open.iter().filter(|(other, _)| *other == inode).find_map(|(_, common)| common.upgrade()?.downcast().ok());
    known.unwrap_or_else(|| {
        let common = Arc::<T>::default();
        let weak: Weak<T> = Arc::downgrade(&common);
        open.push((inode, weak));
        common
    })
}

/// Forgets what no handle has any more. A library that is unloaded leaves nothing behind.
pub(crate) fn forget() {
    let mut open = open();
    open.retain(|(_, common)| common.strong_count() > 0);
    if open.is_empty() {
        open.shrink_to_fit();
    }
}

/// Begins anew, in a forked child.
///
/// # Safety
/// As the module's head says.
pub(super) unsafe fn begin_anew() {
    // SAFETY: promised by the caller. What was there is not dropped: it may be in the midst of a change.
    unsafe { OPEN.0.get().write(Mutex::new(Vec::new())) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fork::in_forked_child;

    #[test]
    fn a_child_that_is_forked_while_another_thread_is_in_here_does_not_wait_for_it() {
        let file = tempfile::tempfile().unwrap();
        let file = file.metadata().unwrap();
        let mine: Arc<u64> = of(&file);
        let (has_begun, begun) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let _held = open();
                has_begun.send(()).unwrap();
                ended.recv().unwrap();
            });
            begun.recv().unwrap();
            assert!(in_forked_child(|| {
                let inherited = Arc::clone(&mine);
                let own: Arc<u64> = of(&file);
                forget();
                !Arc::ptr_eq(&own, &inherited) && Arc::ptr_eq(&own, &of(&file))
            }));
            end.send(()).unwrap();
        });
        assert!(Arc::ptr_eq(&mine, &of(&file)));
    }
}
