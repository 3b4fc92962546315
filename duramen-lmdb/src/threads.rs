//! Who may read: one transaction for each thread (unless the environment is without that rule), and as many readers
//! as were asked for. Where no lock file is used, or can be, LMDB has no table of readers: everybody may read, and
//! nobody counts.
//!
//! Owns: the key of thread-local storage, one mark for each thread. The engine itself needs neither rule.
//!
//! # Safety
//! A mark belongs to the environment and is freed only after the key is gone; a thread's value is such a mark, or null.
//! The destructor that a thread runs at its end touches nothing but the mark, and `taken` last. One that has begun is not waited
//! for when the key goes (POSIX says so), so marks that threads have then are freed much later.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::errors::{BAD_RSLOT, READERS_FULL, Result, TLS_FULL};
use crate::forks::Whole;
use crate::owner;

/// A thread's mark.
#[derive(Default)]
pub struct Mark {
    /// A thread has it.
    taken: AtomicBool,
    /// How many transactions began and ended: odd while the thread has one.
    turn: AtomicU64,
    /// Which thread that is, or was.
    thread: AtomicU64,
}

impl Mark {
    /// The turn of a transaction that begins, unless there is one.
    fn begin(&self) -> Option<u64> {
        let before = self.turn.fetch_or(1, Ordering::AcqRel);
        (before & 1 == 0).then_some(before | 1)
    }

    /// Ends the transaction whose turn it was, if it still is: its thread may have ended, and another have the mark.
    fn end(&self, turn: u64) {
        let _ = self.turn.compare_exchange(turn, turn + 1, Ordering::AcqRel, Ordering::Relaxed);
    }

    fn is_busy(&self) -> bool {
        self.turn.load(Ordering::Relaxed) & 1 == 1
    }
}

/// See the module's head.
pub struct Readers {
    key: Option<libc::pthread_key_t>,
    /// Boxed: threads hold pointers to them.
    #[allow(clippy::vec_box, reason = "threads hold pointers to the marks, which must not move")]
    marks: Whole<Vec<Box<Mark>>>,
    /// Transactions that have no mark; those of them that are reset.
    loose: AtomicU32,
    resting: AtomicU32,
    peak: AtomicU32,
    /// The most that was ever told, of all processes.
    told: AtomicU32,
    /// None: nobody counts.
    max: Option<u32>,
}

/// What a transaction holds while it may read.
#[derive(Clone, Copy)]
pub enum Place {
    /// The thread's mark, and the transaction's turn.
    Marked(*const Mark, u64),
    Loose,
    Uncounted,
}

unsafe extern "C" fn thread_ended(mark: *mut c_void) {
    // SAFETY: see the module's head; the key's values are marks.
    let mark = unsafe { &*mark.cast_const().cast::<Mark>() };
    mark.end(mark.turn.load(Ordering::Acquire) | 1);
    mark.taken.store(false, Ordering::Release);
}

impl Readers {
    /// Readers of an environment that has no lock file.
    pub fn uncounted() -> Readers {
        Readers::with(None, None)
    }

    /// Readers of one environment.
    pub fn new(by_thread: bool, max: u32) -> Result<Readers> {
        let mut key = 0;
        // SAFETY: the destructor is a function of this library, which outlives the key.
        if by_thread && unsafe { libc::pthread_key_create(&mut key, Some(thread_ended)) } != 0 {
            return Err(TLS_FULL);
        }
        Ok(Readers::with(by_thread.then_some(key), Some(max)))
    }

    fn with(key: Option<libc::pthread_key_t>, max: Option<u32>) -> Readers {
        let [loose, resting, peak, told] = [const { AtomicU32::new(0) }; 4];
        Readers { key, marks: Whole::default(), loose, resting, peak, told, max }
    }

    /// Whether there is a table of readers, as LMDB sees it.
    pub fn are_counted(&self) -> bool {
        self.max.is_some()
    }

    /// A place for a transaction of this thread.
    pub fn enter(&self) -> Result<Place> {
        match (self.max, self.key) {
            (None, _) => Ok(Place::Uncounted),
            (Some(max), None) => self.enter_loose(max),
            (Some(max), Some(key)) => self.enter_marked(max, key),
        }
    }

    fn enter_loose(&self, max: u32) -> Result<Place> {
        let before = self.loose.fetch_add(1, Ordering::Relaxed);
        if before >= max {
            self.loose.fetch_sub(1, Ordering::Relaxed);
            return Err(READERS_FULL);
        }
        self.peak.fetch_max(before + 1, Ordering::Relaxed);
        Ok(Place::Loose)
    }

    fn enter_marked(&self, max: u32, key: libc::pthread_key_t) -> Result<Place> {
        // SAFETY: the key lives as long as `self`.
        let mut mark = unsafe { libc::pthread_getspecific(key) }.cast_const().cast::<Mark>();
        if mark.is_null() {
            mark = self.new_mark(max)?;
            // SAFETY: as above; the value is a mark of this environment.
            if unsafe { libc::pthread_setspecific(key, mark.cast()) } != 0 {
                // SAFETY: see the module's head.
                unsafe { &*mark }.taken.store(false, Ordering::Release);
                return Err(READERS_FULL);
            }
        }
        // SAFETY: see the module's head.
        let turn = unsafe { &*mark }.begin().ok_or(BAD_RSLOT)?;
        Ok(Place::Marked(mark, turn))
    }

    fn new_mark(&self, max: u32) -> Result<*const Mark> {
        let mut marks = self.marks.lock();
        let thread = owner::name_of_thread();
        if let Some(mark) = marks.iter().find(|mark| !mark.taken.swap(true, Ordering::AcqRel)) {
            mark.thread.store(thread, Ordering::Relaxed);
            return Ok(&raw const **mark);
        }
        if marks.len() >= max as usize {
            return Err(READERS_FULL);
        }
        marks.push(Box::new(Mark { taken: true.into(), turn: 0.into(), thread: thread.into() }));
        self.peak.fetch_max(u32::try_from(marks.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
        Ok(&raw const **marks.last().expect("just pushed"))
    }

    /// Takes again, without waiting for another thread to come, the place of a transaction that was reset.
    pub fn enter_again(&self, place: Place) -> Result<Place> {
        match place {
            Place::Uncounted => Ok(Place::Uncounted),
            Place::Loose => {
                self.resting.fetch_sub(1, Ordering::Relaxed);
                Ok(Place::Loose)
            }
            Place::Marked(..) => self.enter(),
        }
    }

    /// The transaction is reset: its thread may begin another.
    pub fn rest(&self, place: Place) {
        match place {
            Place::Uncounted => {}
            Place::Loose => drop(self.resting.fetch_add(1, Ordering::Relaxed)),
            Place::Marked(mark, turn) => end(mark, turn),
        }
    }

    /// The transaction has ended.
    pub fn leave(&self, place: Place, resting: bool) {
        match place {
            Place::Uncounted => {}
            Place::Loose => {
                self.loose.fetch_sub(1, Ordering::Relaxed);
                self.resting.fetch_sub(u32::from(resting), Ordering::Relaxed);
            }
            Place::Marked(mark, turn) => end(mark, turn),
        }
    }

    /// The library itself reads, to copy: as LMDB counts it, with the place that this thread has, or one more.
    pub fn count_a_copy(&self) {
        let others = match self.key {
            // SAFETY: the key lives as long as `self`.
            Some(key) if !unsafe { libc::pthread_getspecific(key) }.is_null() => return,
            Some(_) => u32::try_from(self.marks.lock().len()).unwrap_or(u32::MAX),
            None => self.loose.load(Ordering::Relaxed),
        };
        self.peak.fetch_max(others.saturating_add(1), Ordering::Relaxed);
    }

    /// How many readers there were at most.
    pub fn peak(&self) -> u32 {
        self.peak.load(Ordering::Relaxed)
    }

    /// How many the program is to be told of, who are so many now: no less than before.
    pub fn tell(&self, now: u32) -> u32 {
        self.told.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// The places that no transaction is in: the threads that keep them, 0 for those that are no thread's.
    pub fn idle(&self) -> Vec<u64> {
        let marks = self.marks.lock();
        let idle = |mark: &&Mark| mark.taken.load(Ordering::Relaxed) && !mark.is_busy();
        let of_threads = marks.iter().map(Box::as_ref).filter(idle).map(|mark| mark.thread.load(Ordering::Relaxed));
        let of_none = (0..self.resting.load(Ordering::Relaxed)).map(|_| 0);
        of_threads.chain(of_none).collect()
    }
}

fn end(mark: *const Mark, turn: u64) {
    // SAFETY: see the module's head.
    unsafe { &*mark }.end(turn);
}

impl Drop for Readers {
    fn drop(&mut self) {
        let Some(key) = self.key else { return };
        // SAFETY: the key is this environment's own, and so is its value in this thread, which is not ending.
        if let Some(own) = unsafe { libc::pthread_getspecific(key).cast::<Mark>().as_ref() } {
            own.taken.store(false, Ordering::Release);
        }
        // SAFETY: as above. No thread begins to run the destructor after this.
        unsafe { libc::pthread_key_delete(key) };
        let marks = std::mem::take(self.marks.get_mut());
        if marks.iter().any(|mark| mark.taken.load(Ordering::Acquire)) {
            let mut left = LEFT.lock();
            left.retain(|(when, _)| when.elapsed() < LEFT_FOR);
            left.push((Instant::now(), marks));
        }
    }
}

/// Marks of closed environments that other threads had, one of which may just be ending, and since when they are that.
#[allow(clippy::vec_box, reason = "as for those of open ones")]
static LEFT: Whole<Vec<(Instant, Vec<Box<Mark>>)>> = Whole::new(Vec::new());

/// Longer than any thread is in a destructor of three steps.
const LEFT_FOR: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_ends_a_gone_threads_transaction_does_not_end_the_next_threads() {
        struct Carried(Place);
        // SAFETY: the mark lives as long as `readers`.
        unsafe impl Send for Carried {}

        let readers = Readers::new(true, 1).unwrap();
        std::thread::scope(|scope| {
            let gone = scope.spawn(|| Carried(readers.enter().unwrap())).join().unwrap();
            let next = scope.spawn(|| {
                let Carried(of_another) = { gone };
                let own = readers.enter().unwrap();
                readers.leave(of_another, false);
                assert_eq!(readers.enter().err(), Some(BAD_RSLOT), "it has one");
                readers.leave(own, false);
                assert_eq!(readers.enter().err(), None);
            });
            next.join().unwrap();
        });
    }
}
