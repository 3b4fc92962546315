//! Transactions that have ended, kept for others to begin as: those that read, with what they have found out about tables.
//!
//! Owns: where they wait. Must not know: what is in them.
//!
//! # Safety
//! What a place points at is a box that came in by `keep` and goes out by `take`, or with the places.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::owner;

/// So many wait at most. Threads have places of their own, as far as there are enough.
const PLACES: usize = 8;

/// A place, on a cache line of its own.
#[repr(align(64))]
struct Place<T>(AtomicPtr<T>);

/// See the module's head.
pub struct Spares<T>([Place<T>; PLACES]);

impl<T> Default for Spares<T> {
    fn default() -> Spares<T> {
        Spares(std::array::from_fn(|_| Place(AtomicPtr::default())))
    }
}

impl<T> Spares<T> {
    /// This thread's place.
    #[inline]
    fn place(&self) -> &AtomicPtr<T> {
        let mixed = (owner::name_of_thread() >> 12).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        &self.0[mixed as usize % PLACES].0
    }

    /// One of those that wait.
    #[inline]
    pub fn take(&self) -> Option<Box<T>> {
        let spare = self.place().swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: see the module's head.
        (!spare.is_null()).then(|| unsafe { Box::from_raw(spare) })
    }

    /// Keeps one, if there is room.
    #[inline]
    pub fn keep(&self, spare: Box<T>) {
        let spare = Box::into_raw(spare);
        if self.place().compare_exchange(ptr::null_mut(), spare, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: it has just come from a box.
            drop(unsafe { Box::from_raw(spare) });
        }
    }
}

impl<T> Drop for Spares<T> {
    fn drop(&mut self) {
        for place in &mut self.0 {
            let spare = *place.0.get_mut();
            if !spare.is_null() {
                // SAFETY: see the module's head.
                drop(unsafe { Box::from_raw(spare) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_taken_once_and_the_rest_is_dropped() {
        let spares = Spares::default();
        let (first, second) = (std::rc::Rc::new(1), std::rc::Rc::new(2));
        spares.keep(Box::new(first.clone()));
        spares.keep(Box::new(second.clone()));
        assert_eq!(std::rc::Rc::strong_count(&second), 1, "the place was taken");
        assert_eq!(spares.take().as_deref(), Some(&first));
        assert!(spares.take().is_none());
        spares.keep(Box::new(second.clone()));
        drop(spares);
        assert_eq!(std::rc::Rc::strong_count(&second), 1);
    }
}
