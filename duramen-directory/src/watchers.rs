//! Who is to be woken when updates are made, because a client wants to hear of them.
//!
//! Owns: whether anybody is, and how. Must not know: clients, updates.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::task::Waker;

/// Who is to be woken. Without clients that want to hear, it is a look at a number.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    clients: AtomicUsize,
    wakers: RwLock<Vec<Waker>>,
}

/// A client that wants to hear of updates.
#[derive(Debug)]
pub(crate) struct Watching(Arc<Watchers>);

impl Watchers {
    /// Has this one woken as long as there are clients.
    pub fn add(&self, waker: Waker) {
        self.wakers.write().unwrap_or_else(PoisonError::into_inner).push(waker);
    }

    /// Takes note of a client.
    pub fn watching(self: &Arc<Watchers>) -> Watching {
        self.clients.fetch_add(1, Ordering::SeqCst);
        Watching(self.clone())
    }

    /// Tells that an update was made.
    pub fn wake(&self) {
        if self.clients.load(Ordering::Relaxed) > 0 {
            self.wakers.read().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake_by_ref);
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::SeqCst);
    }
}
