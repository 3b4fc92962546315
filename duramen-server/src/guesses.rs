//! Passwords that may be wrong, and are not judged yet.
//!
//! Owns: of whom there are some. Must not know: passwords, policies, what is noted down.
//!
//! A right password that is cheap to check is known at once, while wrong ones wait for their turn to be noted down. Who sends
//! a thousand at the same time would have them all tried before the first is counted, if the right one did not wait as well.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Of whom there are some, by normalized names.
#[derive(Debug, Default)]
pub struct Guesses {
    of: Mutex<HashMap<Arc<str>, usize>>,
    /// How many there are in all: mostly none, and then nobody takes the lock.
    all: AtomicUsize,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub struct Guess {
    guesses: Arc<Guesses>,
    name: Arc<str>,
}

impl Guesses {
    /// Takes note of one.
    pub fn begin(self: &Arc<Guesses>, name: &Arc<str>) -> Guess {
        let mut of = self.lock();
        *of.entry(name.clone()).or_default() += 1;
        self.all.fetch_add(1, Relaxed);
        Guess { guesses: self.clone(), name: name.clone() }
    }

    /// Whether there are some of the one with this name.
    pub fn are_there(&self, name: &str) -> bool {
        // Who comes while another thread takes note of the first comes at the same time as that.
        self.all.load(Relaxed) > 0 && self.lock().contains_key(name)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, usize>> {
        self.of.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Guess {
    fn drop(&mut self) {
        let mut of = self.guesses.lock();
        self.guesses.all.fetch_sub(1, Relaxed);
        match of.get_mut(&self.name) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(of.remove(&self.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_some_until_the_last_is_dropped() {
        let (guesses, [ann, bob]) = (Arc::<Guesses>::default(), ["uid=ann", "uid=bob"].map(Arc::<str>::from));
        let (first, second) = (guesses.begin(&ann), guesses.begin(&ann));
        assert_eq!([guesses.are_there(&ann), guesses.are_there(&bob)], [true, false]);
        drop(first);
        assert!(guesses.are_there(&ann));
        drop(second);
        assert!(!guesses.are_there(&ann) && guesses.lock().is_empty());
    }
}
