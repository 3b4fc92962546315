//! The atomic word that the reader protocol is written over, so that one source runs in shared memory and under loom.
//!
//! Owns: [`Word`]. Must not know: what the words mean.
//!
//! A trait instead of swapped imports: loom's atomics have no place in a mapped file, so with swapped imports all that
//! touches shared memory would have to be left out of the model checker's build.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

/// An atomic 64-bit word.
pub(crate) trait Word {
    /// Reads the word.
    fn load(&self, order: Ordering) -> u64;

    /// Writes the word.
    fn store(&self, value: u64, order: Ordering);

    /// Writes `new` if the word is `current`; true if it did. A failure orders nothing.
    fn replace(&self, current: u64, new: u64, order: Ordering) -> bool;

    /// A fence among words of this type.
    fn fence(order: Ordering);
}

impl Word for AtomicU64 {
    #[inline(always)]
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }

    #[inline(always)]
    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }

    #[inline(always)]
    fn replace(&self, current: u64, new: u64, order: Ordering) -> bool {
        self.compare_exchange(current, new, order, Ordering::Relaxed).is_ok()
    }

    #[inline(always)]
    fn fence(order: Ordering) {
        std::sync::atomic::fence(order);
    }
}

/// Loom takes sequentially consistent accesses for acquire and release ones, and models only fences in full. So under
/// loom such an access is bracketed by fences, which is how several machines build it.
#[cfg(loom)]
mod model {
    use super::{Ordering, Word};
    use loom::sync::atomic::{AtomicU64, fence};

    fn bracketed<T>(order: Ordering, access: impl FnOnce() -> T) -> T {
        if order != Ordering::SeqCst {
            return access();
        }
        fence(Ordering::SeqCst);
        let result = access();
        fence(Ordering::SeqCst);
        result
    }

    impl Word for AtomicU64 {
        fn load(&self, order: Ordering) -> u64 {
            bracketed(order, || AtomicU64::load(self, order))
        }

        fn store(&self, value: u64, order: Ordering) {
            bracketed(order, || AtomicU64::store(self, value, order));
        }

        fn replace(&self, current: u64, new: u64, order: Ordering) -> bool {
            bracketed(order, || self.compare_exchange(current, new, order, Ordering::Relaxed).is_ok())
        }

        fn fence(order: Ordering) {
            fence(order);
        }
    }
}
