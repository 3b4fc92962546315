//! Forks: how many there were, and what they must not interrupt.
//!
//! Owns: the handlers that the system calls at a fork, locks that nobody has at that moment. Must not know: what is
//! behind those locks.
//!
//! A child has none of its parent's other threads. A lock that one of them had would stay locked there for ever, and what
//! it was changing would stay half changed. So whoever takes a [`Whole`] passes a gate, which who forks closes.
//!
//! # Safety
//! The handlers touch one number, the gate, and the guard of it that the forking thread keeps meanwhile.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

/// How many forks lie between this process and the first that asked.
static FORKS: AtomicU64 = AtomicU64::new(0);

static GATE: RwLock<()> = RwLock::new(());

/// For so long who forks and who passes wait for each other at most. Who forks may be waiting, in a handler of the program's,
/// for one that waits here; or have been interrupted by a signal while it had a lock, as where crashes are reported.
const PATIENCE: Duration = Duration::from_millis(100);

thread_local! {
    /// The gate, closed by this thread, which forks. Never dropped with the thread: a destructor would keep the library
    /// from being unloaded.
    static CLOSED: Cell<Option<ManuallyDrop<RwLockWriteGuard<'static, ()>>>> = const { Cell::new(None) };
}

/// From now on forks are noticed.
pub(crate) fn watch() {
    static WATCHED: Once = Once::new();
    // SAFETY: see the module's head; who unloads the library takes its handlers away.
    WATCHED.call_once(|| unsafe {
        libc::pthread_atfork(Some(before), Some(behind), Some(in_child));
    });
}

/// See [`FORKS`].
pub(crate) fn count() -> u64 {
    FORKS.load(Ordering::Relaxed)
}

unsafe extern "C" fn before() {
    CLOSED.set(patiently(|| GATE.try_write().ok()).map(ManuallyDrop::new));
}

unsafe extern "C" fn behind() {
    drop(CLOSED.take().map(ManuallyDrop::into_inner));
}

unsafe extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the child's only thread is the one that forked.
    unsafe { behind() };
}

/// Whether this thread forks: the program has handlers of its own, which may call us.
fn is_forking() -> bool {
    let closed = CLOSED.take();
    let forks = closed.is_some();
    CLOSED.set(closed);
    forks
}

type Pass = RwLockReadGuard<'static, ()>;

/// Through the gate, or past it.
#[inline]
fn pass() -> Option<Pass> {
    GATE.try_read().ok().or_else(wait_to_pass)
}

#[cold]
fn wait_to_pass() -> Option<Pass> {
    if is_forking() {
        return None;
    }
    patiently(|| GATE.try_read().ok())
}

/// What is tried, once it can be had; nothing if that takes too long.
fn patiently<T>(attempt: impl Fn() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        let had = attempt();
        if had.is_some() || began.elapsed() > PATIENCE {
            return had;
        }
        thread::yield_now();
    }
}

/// Behind a lock that nobody has while somebody forks.
#[derive(Default)]
pub(crate) struct Whole<T>(Mutex<T>);

impl<T> Whole<T> {
    pub(crate) const fn new(value: T) -> Whole<T> {
        Whole(Mutex::new(value))
    }

    /// No thread that has one asks for another.
    pub(crate) fn lock(&self) -> Locked<'_, T> {
        let pass = pass();
        Locked { value: self.0.lock().unwrap_or_else(PoisonError::into_inner), _pass: pass }
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What [`Whole::lock`] gives.
pub(crate) struct Locked<'l, T> {
    value: MutexGuard<'l, T>,
    /// Let go of behind the lock.
    _pass: Option<Pass>,
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}
