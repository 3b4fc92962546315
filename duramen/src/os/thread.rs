//! Which thread this is.
//!
//! Owns: the number that the C library gives it. Must not know: what it is noted for.
//!
//! # Safety
//! The call takes nothing, and always succeeds.
#![allow(unsafe_code)]

/// This thread, by the number that tells it from the others of its process, as debuggers show it.
#[inline]
#[allow(clippy::cast_possible_truncation, reason = "a number in glibc, an address in musl, of a word both")]
pub(crate) fn this_thread() -> u64 {
    // SAFETY: see the module's head.
    unsafe { libc::pthread_self() as usize as u64 }
}
