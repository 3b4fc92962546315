//! Noticing that this process is a fork of the one that made a handle, at the price of one load.
//!
//! Owns: [`ForkGuard`], [`WithThread`]. Must not know: what it guards.
//!
//! A word on a page that the kernel wipes in every forked child holds the process's *generation*. A guard remembers the
//! generation it was made in. In a child the word reads 0 until the first guard made there gives it the next one, so an
//! inherited guard never matches again.
//!
//! # Safety
//! The page is mapped once, never unmapped, and only accessed as the one atomic word at its start.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use rustix::mm::Advice;

use crate::error::{Error, Result};
use crate::os::region::Region;

const PAGE_BYTES: usize = 4096;

/// The wiped page's word, once that is mapped. (Not by what waits for who began with it: a child may lack that thread.)
static WIPED: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());

/// Guards made by the ancestors have generations up to this one. Ordinary memory: a child inherits it.
static GENERATIONS: AtomicU64 = AtomicU64::new(0);

/// Remembers the process in which it was made.
pub(crate) struct ForkGuard(Mark);

enum Mark {
    Generation { word: &'static AtomicU64, mine: u64 },
    Pid(u32),
}

impl ForkGuard {
    /// A guard of this process.
    pub(crate) fn new() -> ForkGuard {
        ForkGuard(match wiped_word() {
            Some(word) => Mark::Generation { word, mine: generation(word) },
            None => Mark::Pid(std::process::id()),
        })
    }

    /// [`Error::Forked`] if this process is not the one in which the guard was made.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.forked() { Err(Error::Forked) } else { Ok(()) }
    }

    /// Whether this process is not the one in which the guard was made.
    #[inline]
    pub(crate) fn forked(&self) -> bool {
        match self.0 {
            Mark::Generation { word, mine } => word.load(Ordering::Relaxed) != mine,
            Mark::Pid(pid) => std::process::id() != pid,
        }
    }
}

/// What another thread of this process has a part in: channels, the handle to wait for it. A forked child has no such
/// thread, which may have been in the middle of something; there it is forgotten where it would be dropped.
pub(crate) struct WithThread<T> {
    /// Gone only while this is taken apart.
    shared: Option<T>,
    guard: ForkGuard,
}

impl<T> WithThread<T> {
    pub(crate) fn new(shared: T) -> WithThread<T> {
        WithThread { shared: Some(shared), guard: ForkGuard::new() }
    }

    /// It, to be used and dropped; [`Error::Forked`] in a forked child.
    pub(crate) fn into_inner(mut self) -> Result<T> {
        self.guard.check()?;
        self.shared.take().ok_or(Error::Forked)
    }

    /// It, unless this is a forked child.
    pub(crate) fn get(&mut self) -> Result<&mut T> {
        self.guard.check()?;
        self.shared.as_mut().ok_or(Error::Forked)
    }
}

impl<T> Drop for WithThread<T> {
    fn drop(&mut self) {
        if self.guard.forked() {
            std::mem::forget(self.shared.take());
        }
    }
}

/// This process's generation, begun if this is the first guard since the fork.
fn generation(word: &AtomicU64) -> u64 {
    let known = word.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    let next = GENERATIONS.fetch_add(1, Ordering::Relaxed) + 1;
    match word.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => next,
        Err(of_another_thread) => of_another_thread,
    }
}

/// Nothing where the kernel does not know how to wipe.
fn wiped_word() -> Option<&'static AtomicU64> {
    // SAFETY: the page stays mapped for good, is zeroed, is aligned, and is used as this word only.
    unsafe { WIPED.load(Ordering::Acquire).as_ref() }.or_else(map_wiped)
}

#[cold]
fn map_wiped() -> Option<&'static AtomicU64> {
    let region = Region::anonymous(PAGE_BYTES).ok()?;
    region.advise(Advice::LinuxWipeOnFork).ok()?;
    let word = region.base().cast::<AtomicU64>();
    let word = match WIPED.compare_exchange(ptr::null_mut(), word, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => region.leak().as_ptr().cast(),
        Err(of_another_thread) => of_another_thread,
    };
    // SAFETY: as above.
    unsafe { word.as_ref() }
}

/// Runs `f` in a forked child and returns whether it answered true. A child that hangs (a panic there may want a lock
/// that a thread of its parent held) is ended by an alarm.
#[cfg(test)]
pub(crate) fn in_forked_child(f: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child runs `f` on the one thread it has and leaves without running anything of its parent's.
    unsafe {
        match libc::fork() {
            0 => {
                libc::alarm(20);
                let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
                libc::_exit(if matches!(answer, Ok(true)) { 0 } else { 1 })
            }
            child => {
                assert!(child > 0, "fork failed");
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
                libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_holds_in_its_own_process() {
        let guard = ForkGuard::new();
        assert!(guard.check().is_ok());
        assert!(std::thread::spawn(move || guard.check().is_ok()).join().unwrap());
    }

    #[test]
    fn a_guard_inherited_by_a_child_fails_there_and_still_holds_in_the_parent() {
        let guard = ForkGuard::new();
        assert!(in_forked_child(|| matches!(guard.check(), Err(Error::Forked))));
        assert!(guard.check().is_ok());
    }

    #[test]
    fn a_guard_made_in_the_child_holds_there_and_does_not_revive_the_inherited_one() {
        let inherited = ForkGuard::new();
        assert!(in_forked_child(|| {
            let own = ForkGuard::new();
            own.check().is_ok() && inherited.forked() && in_forked_child(|| own.forked() && inherited.forked())
        }));
    }

    #[test]
    fn what_a_thread_has_a_part_in_is_not_dropped_in_a_child() {
        struct Told<'c>(&'c std::cell::Cell<u32>);
        impl Drop for Told<'_> {
            fn drop(&mut self) {
                self.0.set(self.0.get() + 1);
            }
        }
        let dropped = std::cell::Cell::new(0);
        let mut of_parent = Some(WithThread::new(Told(&dropped)));
        assert!(in_forked_child(|| {
            let mut inherited = of_parent.take().unwrap();
            let refused = matches!(inherited.get(), Err(Error::Forked));
            drop(inherited);
            drop(WithThread::new(Told(&dropped)));
            refused && dropped.get() == 1
        }));
        assert!(of_parent.take().unwrap().into_inner().is_ok());
        assert_eq!(dropped.get(), 1);
    }

    #[test]
    fn without_the_kernels_help_the_process_id_tells() {
        let guard = ForkGuard(Mark::Pid(std::process::id()));
        assert!(guard.check().is_ok());
        assert!(in_forked_child(|| guard.forked()));
    }
}
