//! Which thread began the write transaction, and whether it still runs.
//!
//! Owns: the numbers of process and thread. Must not know: transactions.
//!
//! A thread asks the system for its numbers once: two system calls for each transaction would be felt.
//!
//! # Safety
//! The system calls take numbers only, or nothing.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::io;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::forks;

thread_local! {
    /// Process and thread, and the forks before them: what a thread knows is forgotten with each.
    static KNOWN: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
}

/// This process and thread.
fn this() -> u64 {
    match KNOWN.get() {
        Some((this, then)) if then == forks::count() => this,
        _ => asked(),
    }
}

#[cold]
fn asked() -> u64 {
    forks::watch();
    // SAFETY: see the module's head.
    let thread = unsafe { libc::gettid() };
    let this = u64::from(process::id()) << 32 | u64::from(thread.cast_unsigned());
    KNOWN.set(Some((this, forks::count())));
    this
}

/// This thread as the C library names it: programs are shown that.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "a number in glibc, an address in musl, of a word both")]
pub(crate) fn name_of_thread() -> u64 {
    // SAFETY: see the module's head.
    unsafe { libc::pthread_self() as usize as u64 }
}

/// Process and thread, or 0 for nobody.
#[derive(Default)]
pub(crate) struct Owner(AtomicU64);

impl Owner {
    /// This thread is it; what to leave with.
    pub(crate) fn enter(&self) -> u64 {
        let owner = this();
        self.0.store(owner, Ordering::Release);
        owner
    }

    /// Who entered is it no more, unless another one has become it already.
    pub(crate) fn leave(&self, owner: u64) {
        let _ = self.0.compare_exchange(owner, 0, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// Whether it is a thread of this process; it may have ended. A forked child does not know of its parent's.
    pub(crate) fn is_here(&self) -> bool {
        let owner = self.0.load(Ordering::Acquire);
        owner != 0 && owner >> 32 == this() >> 32
    }

    /// Whether it is this thread.
    pub(crate) fn is_this(&self) -> bool {
        self.0.load(Ordering::Acquire) == this()
    }

    /// Whether it was a thread of this process that has ended without leaving.
    pub(crate) fn is_gone(&self) -> bool {
        let owner = self.0.load(Ordering::Acquire);
        let (process, thread) = ((owner >> 32) as u32, (owner & 0xFFFF_FFFF) as u32);
        // It may have left, and ended, between the first look and the second.
        owner >> 32 == this() >> 32 && !runs(process, thread) && self.0.load(Ordering::Acquire) == owner
    }
}

fn runs(process: u32, thread: u32) -> bool {
    // SAFETY: see the module's head; signal 0 is sent to nobody.
    let answer = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) };
    answer == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ends_without_leaving_is_gone() {
        let owner = Owner::default();
        let in_a_thread = |work: fn(&Owner)| std::thread::scope(|scope| scope.spawn(|| work(&owner)).join().unwrap());
        assert!(!owner.is_here() && !owner.is_gone() && !owner.is_this());
        in_a_thread(|owner| owner.leave(owner.enter()));
        assert!(!owner.is_here() && !owner.is_gone());
        let own = owner.enter();
        assert!(owner.is_here() && !owner.is_gone() && owner.is_this());
        in_a_thread(|owner| {
            assert!(owner.is_here() && !owner.is_this());
            owner.enter();
        });
        owner.leave(own);
        // The kernel may need a moment for what has been joined.
        while !owner.is_gone() {
            assert!(owner.is_here());
        }
    }

    #[test]
    fn a_forked_child_is_another_process() {
        let before = this();
        // SAFETY: the child does nothing but compare and leave.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let differs = this() >> 32 == u64::from(process::id()) && this() != before;
            // SAFETY: as above.
            unsafe { libc::_exit(i32::from(!differs)) };
        }
        let mut status = -1;
        // SAFETY: a place for a number.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!((status, this()), (0, before));
    }
}
