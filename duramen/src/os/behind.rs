//! A thread that has the disk begin to write, so that who writes need not: to hand pages to the disk takes longer than
//! to write them into the page cache.
//!
//! Owns: the thread, from the first request until it has had nothing to do for a while; the order of what is asked. Must
//! not know: what is in the file.
//!
//! It holds the file open, and runs this library's code: both end with [`Behind`], which waits for it. It takes no
//! signals, which are for the program's own threads. Where no thread can be made, who asks does the work; where the disk
//! cannot keep up, some of it.
//!
//! # Safety
//! A system call that rustix does not offer takes numbers only. Signal sets are integers, for which zero is a value, and
//! lie on the stack.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use super::fork::ForkGuard;

/// How long the thread stays without work.
const STAY: Duration = Duration::from_secs(1);
/// Bytes that are asked for in one call: whoever ends the thread waits for no more.
const STEP_BYTES: u64 = 4 << 20;
/// While more than this waits, the disk is far behind, and who asks has it begin with some of that before going on: else
/// all the waiting would be left to the flush.
const BACKLOG_BYTES: u64 = 16 << 20;
/// It needs little, a program's own thread-local variables perhaps more.
const STACK_BYTES: usize = 256 << 10;

/// Requests, and who does them.
pub(crate) struct Behind {
    desk: Arc<Desk>,
    thread: Mutex<Option<JoinHandle<()>>>,
    guard: ForkGuard,
}

struct Desk {
    file: Arc<File>,
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Default)]
struct State {
    wanted: VecDeque<Range<u64>>,
    waiting_bytes: u64,
    /// Somebody will look at `wanted` once more.
    attended: bool,
    /// It is to end.
    over: bool,
}

impl Behind {
    pub(crate) fn new(file: Arc<File>) -> Behind {
        let desk = Desk { file, state: Mutex::default(), called: Condvar::new() };
        Behind { desk: Arc::new(desk), thread: Mutex::default(), guard: ForkGuard::new() }
    }

    /// Has the disk begin with these bytes, some time soon.
    pub(crate) fn ask(&self, bytes: Range<u64>) {
        // In a forked child the thread is not there, and its locks may be held for ever.
        if self.guard.forked() {
            return;
        }
        let mut state = self.desk.lock();
        state.add(bytes);
        if state.attended {
            self.desk.called.notify_one();
            let excess = if state.waiting_bytes > BACKLOG_BYTES { state.next() } else { None };
            drop(state);
            excess.into_iter().for_each(|bytes| begin(&self.desk.file, bytes));
            return;
        }
        state.attended = true;
        drop(state);
        let mut thread = self.thread();
        thread.take().map(JoinHandle::join);
        *thread = self.hire().ok();
        if thread.is_none() {
            self.desk.serve_until(|mut state| {
                state.attended = false;
                None
            });
        }
    }

    /// Nothing that was asked for and not begun is of use any more.
    pub(crate) fn forget(&self) {
        if !self.guard.forked() {
            self.desk.lock().clear();
        }
    }

    /// Makes the thread, which inherits that signals are blocked.
    fn hire(&self) -> io::Result<JoinHandle<()>> {
        let desk = self.desk.clone();
        let builder = Builder::new().name("duramen-disk".to_string()).stack_size(STACK_BYTES);
        // SAFETY: see the head.
        unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
            let hired = builder.spawn(move || desk.serve_until(|state| desk.wait(state)));
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            hired
        }
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        if self.guard.forked() {
            let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(thread.take());
            return;
        }
        let mut state = self.desk.lock();
        state.clear();
        state.over = true;
        drop(state);
        self.desk.called.notify_one();
        self.thread().take().map(JoinHandle::join);
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what is wanted, until `more` has no more to wait for.
    fn serve_until<'d>(&'d self, more: impl Fn(MutexGuard<'d, State>) -> Option<MutexGuard<'d, State>>) {
        let mut state = self.lock();
        loop {
            match state.next() {
                Some(bytes) => {
                    drop(state);
                    begin(&self.file, bytes);
                    state = self.lock();
                }
                None => match more(state) {
                    Some(then) => state = then,
                    None => return,
                },
            }
        }
    }

    /// Waits for a request; none if it is time to go, and the next one must find somebody else.
    fn wait<'d>(&'d self, state: MutexGuard<'d, State>) -> Option<MutexGuard<'d, State>> {
        let idle = |state: &mut State| state.wanted.is_empty() && !state.over;
        let waited = self.called.wait_timeout_while(state, STAY, idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.attended = !state.wanted.is_empty();
        state.attended.then_some(state)
    }
}

impl State {
    /// Adds bytes to what is wanted, to the last ones if they touch.
    fn add(&mut self, bytes: Range<u64>) {
        match self.wanted.back_mut() {
            Some(last) if last.start <= bytes.start && bytes.start <= last.end => {
                self.waiting_bytes += bytes.end.saturating_sub(last.end);
                last.end = last.end.max(bytes.end);
            }
            _ => {
                self.waiting_bytes += bytes.end - bytes.start;
                self.wanted.push_back(bytes);
            }
        }
    }

    fn clear(&mut self) {
        self.wanted.clear();
        self.waiting_bytes = 0;
    }

    /// Takes the next bytes, not too many.
    fn next(&mut self) -> Option<Range<u64>> {
        let first = self.wanted.front_mut()?;
        let end = first.end.min(first.start + STEP_BYTES);
        let bytes = std::mem::replace(&mut first.start, end)..end;
        self.waiting_bytes -= bytes.end - bytes.start;
        if first.is_empty() {
            self.wanted.pop_front();
        }
        Some(bytes)
    }
}

fn begin(file: &File, bytes: Range<u64>) {
    let (from, len) = (bytes.start.cast_signed(), (bytes.end - bytes.start).cast_signed());
    // SAFETY: see the head. Where it fails the flush does all of the work.
    unsafe { libc::sync_file_range(file.as_raw_fd(), from, len, libc::SYNC_FILE_RANGE_WRITE) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fork::in_forked_child;

    fn behind() -> Behind {
        Behind::new(Arc::new(tempfile::tempfile().unwrap()))
    }

    /// The signals that each thread of this process blocks that has the name. The kernel's list ends early where a
    /// thread, of another test, ends while it is read: then once more.
    fn blocked() -> Vec<u64> {
        (0..1000).map(|_| listed()).find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn listed() -> Vec<u64> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let status = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok());
        let ours = status.filter(|status| status.starts_with("Name:\tduramen-disk"));
        let mask = |status: String| status.lines().find_map(|line| line.strip_prefix("SigBlk:\t").map(str::to_owned));
        ours.map(|status| u64::from_str_radix(&mask(status).unwrap(), 16).unwrap()).collect()
    }

    fn is_idle(behind: &Behind) -> bool {
        behind.desk.lock().wanted.is_empty()
    }

    #[test]
    fn what_touches_is_asked_for_together_and_in_steps() {
        const FAR: u64 = 1 << 40;
        let mut state = State::default();
        for bytes in [0..STEP_BYTES, STEP_BYTES..STEP_BYTES + 5, 100..200, FAR..FAR + 1] {
            state.add(bytes);
        }
        assert_eq!(state.wanted, [0..STEP_BYTES + 5, FAR..FAR + 1]);
        let steps: Vec<_> = std::iter::from_fn(|| state.next()).collect();
        assert_eq!(steps, [0..STEP_BYTES, STEP_BYTES..STEP_BYTES + 5, FAR..FAR + 1]);
    }

    #[test]
    fn who_asks_helps_while_the_disk_is_far_behind() {
        let behind = behind();
        // Somebody is said to be there, and never comes.
        behind.desk.lock().attended = true;
        let waiting = |n: u64| {
            behind.ask(n << 30..(n << 30) + STEP_BYTES);
            behind.desk.lock().waiting_bytes
        };
        let all: Vec<u64> = (1..20).map(waiting).collect();
        assert_eq!(all[..4], [1, 2, 3, 4].map(|n| n * STEP_BYTES));
        assert!(all[4..].iter().all(|&bytes| bytes == BACKLOG_BYTES), "{all:?}");
        behind.forget();
        assert_eq!(behind.desk.lock().waiting_bytes, 0);
    }

    #[test]
    fn the_thread_blocks_signals_and_ends_with_what_it_serves() {
        let behind = behind();
        assert!(behind.thread().is_none(), "nobody is there before there is something to do");
        let blocked = loop {
            behind.ask(0..4096);
            std::thread::yield_now();
            let state = behind.desk.lock();
            // It has begun, and cannot end without this lock.
            if state.attended && state.wanted.is_empty() {
                break blocked();
            }
        };
        assert!(!blocked.is_empty());
        // All but those that nobody can block, and those that the C library keeps for itself.
        let all = 0xffff_fffe_7ffb_feff;
        assert!(blocked.iter().all(|mask| mask & all == all), "{blocked:x?}");
        let served = Arc::downgrade(&behind.desk);
        drop(behind);
        assert!(served.upgrade().is_none(), "it has let go of the file");
    }

    #[test]
    fn a_thread_that_went_away_is_followed_by_another() {
        let behind = behind();
        for _ in 0..3 {
            behind.ask(0..4096);
            // As after its stay.
            behind.desk.lock().over = true;
            behind.desk.called.notify_one();
            while behind.desk.lock().attended {
                std::thread::yield_now();
            }
            assert!(is_idle(&behind));
            behind.desk.lock().over = false;
        }
    }

    #[test]
    fn a_forked_child_asks_for_nothing_and_waits_for_nobody() {
        let mut behind = Some(behind());
        let desk = behind.as_ref().map(|behind| behind.desk.clone()).unwrap();
        behind.as_ref().unwrap().ask(0..4096);
        // As where another thread of the parent is in the middle of something.
        let held = desk.lock();
        assert!(in_forked_child(|| {
            let behind = behind.take().unwrap();
            behind.ask(0..4096);
            behind.forget();
            drop(behind);
            true
        }));
        drop(held);
        assert!(behind.is_some(), "the parent has its own");
    }
}
