//! Whose turn it is to write: first among the threads of a handle, then among the handles.
//!
//! Owns: waiting, with and without a limit. Must not know: what a writer does.

use std::fs::File;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::os::lock::{self, Kind};

const PAUSE_MIN: Duration = Duration::from_micros(50);
const PAUSE_MAX: Duration = Duration::from_millis(2);

/// How long to wait for another writer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// As long as it takes.
    Forever,
    /// Not at all.
    No,
    /// At most this long.
    For(Duration),
}

/// In what state the writer before left the shared state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inherited {
    /// It ended its transaction.
    Clean,
    /// It died inside its transaction, or said that something is left to settle.
    Unsettled,
}

/// The turn among the threads of one handle. Not tied to the thread that takes it.
pub(super) struct Turn {
    state: Mutex<State>,
    given: Condvar,
}

#[derive(Default)]
struct State {
    taken: bool,
    /// Threads that wait, so that the kernel is not asked to wake nobody.
    waiting: u32,
}

impl Turn {
    pub(super) fn new() -> Turn {
        Turn { state: Mutex::default(), given: Condvar::new() }
    }

    /// Takes the turn, then `lock`s out the other handles in what is left of the wait. If that fails the turn goes on.
    pub(super) fn take(&self, wait: Wait, lock: impl FnOnce(Wait) -> Result<()>) -> Result<()> {
        let deadline = match wait {
            Wait::For(limit) => Instant::now().checked_add(limit),
            _ => None,
        };
        if !self.take_in_process(wait, deadline) {
            return Err(Error::Busy);
        }
        let left = deadline.map_or(wait, |at| Wait::For(at.saturating_duration_since(Instant::now())));
        lock(left).inspect_err(|_| self.give(|| ()))
    }

    fn take_in_process(&self, wait: Wait, deadline: Option<Instant>) -> bool {
        let mut state = self.lock();
        while state.taken {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if wait == Wait::No || left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            state.waiting += 1;
            state = match left {
                None => self.given.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) => self.given.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
            state.waiting -= 1;
        }
        state.taken = true;
        true
    }

    /// Lets the other handles in by `unlock`, then the other threads.
    pub(super) fn give(&self, unlock: impl FnOnce()) {
        let mut state = self.lock();
        unlock();
        state.taken = false;
        let somebody_waits = state.waiting > 0;
        drop(state);
        if somebody_waits {
            self.given.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes an exclusive lock on a range of the file, or [`Error::Busy`]. The kernel has no wait with a limit, so that
/// one asks again and again.
pub(super) fn lock_within(file: &File, range: Range<u64>, wait: Wait) -> Result<()> {
    let limit = match wait {
        Wait::Forever => return lock::lock(file, range, Kind::Exclusive),
        Wait::No => Duration::ZERO,
        Wait::For(limit) => limit,
    };
    let started = Instant::now();
    let mut pause = Pause::new();
    while !lock::try_lock(file, range.clone(), Kind::Exclusive)? {
        let waited = started.elapsed();
        if waited >= limit {
            return Err(Error::Busy);
        }
        pause.wait_at_most(limit - waited);
    }
    Ok(())
}

/// Pauses between attempts, each longer than the one before.
pub(super) struct Pause(Duration);

impl Pause {
    pub(super) fn new() -> Pause {
        Pause(PAUSE_MIN)
    }

    pub(super) fn wait(&mut self) {
        self.wait_at_most(PAUSE_MAX);
    }

    pub(super) fn wait_at_most(&mut self, most: Duration) {
        std::thread::sleep(self.0.min(most));
        self.0 = (self.0 * 2).min(PAUSE_MAX);
    }
}
