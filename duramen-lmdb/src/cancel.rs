//! Threads that the program cancels (`pthread_cancel`).
//!
//! Owns: where such a thread may end inside the library. Must not know: what it does there.
//!
//! Where a system call does not return because its thread is cancelled, nothing that is locked is unlocked: the turn to
//! write would be gone for as long as the process lives. So what waits for it, or writes, is carried through. Programs
//! count on a commit to be where a thread can be cancelled, as with LMDB: it is so behind it.
//!
//! # Safety
//! `pthread_setcancelstate` is given a place for a number. Behind `pthread_testcancel` the thread may be unwound: who
//! calls `point` holds nothing.
#![allow(unsafe_code)]

use std::ffi::c_int;

/// The same number in all C libraries for Linux.
const DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
    fn pthread_testcancel();
}

/// While it lives, its thread is not cancelled.
pub(crate) struct Uncancelled {
    before: c_int,
}

impl Uncancelled {
    pub(crate) fn new() -> Uncancelled {
        let mut before = 0;
        // SAFETY: see the module's head.
        unsafe { pthread_setcancelstate(DISABLE, &mut before) };
        Uncancelled { before }
    }
}

impl Drop for Uncancelled {
    fn drop(&mut self) {
        let mut unused = 0;
        // SAFETY: see the module's head.
        unsafe { pthread_setcancelstate(self.before, &mut unused) };
    }
}

/// Ends the thread here if it has been cancelled.
pub(crate) fn point() {
    // SAFETY: see the module's head.
    unsafe { pthread_testcancel() };
}
