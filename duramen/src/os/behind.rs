//! A thread that has the disk begin to write, so that who writes need not: to hand pages to the disk takes longer than
//! to write them into the page cache. And that flushes the file while others go on writing.
//!
//! Owns: the thread, from the first request until it has had nothing to do for a while; the order of what is asked; what
//! came of a flush. Must not know: what is in the file.
//!
//! It holds the file open, and runs this library's code: both end with [`Behind`], which waits for it. It takes no
//! signals, which are for the program's own threads. Where no thread can be made, who asks has the disk begin, and no flush
//! is begun; where the disk cannot keep up, he does some of the work.
//!
//! # Safety
//! A system call that rustix does not offer takes numbers only. Signal sets are integers, for which zero is a value, and
//! lie on the stack.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rustix::io::Errno;

use super::flush::Flusher;
use super::fork::ForkGuard;
use crate::medium::OnFlushed;

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
    flusher: Arc<Flusher>,
    state: Mutex<State>,
    called: Condvar,
    flushed: Condvar,
}

#[derive(Default)]
struct State {
    wanted: VecDeque<Range<u64>>,
    waiting_bytes: u64,
    flush: Flush,
    /// Somebody will look at `wanted` once more.
    attended: bool,
    /// It is to end.
    over: bool,
}

/// The flush that the thread has to do.
#[derive(Default)]
enum Flush {
    #[default]
    None,
    /// And whom it is to tell first what came of it.
    Wanted(OnFlushed),
    UnderWay,
    Over(Result<(), Errno>),
}

enum Job {
    Begin(Range<u64>),
    Flush(OnFlushed),
}

impl Behind {
    pub(crate) fn new(flusher: Arc<Flusher>) -> Behind {
        let desk = Desk { flusher, state: Mutex::default(), called: Condvar::new(), flushed: Condvar::new() };
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
            let excess = if state.waiting_bytes > BACKLOG_BYTES { state.next_bytes() } else { None };
            drop(state);
            excess.into_iter().for_each(|bytes| self.desk.begin(bytes));
            return;
        }
        state.attended = true;
        drop(state);
        if !self.attend() {
            self.desk.serve_until(|mut state| {
                state.attended = false;
                None
            });
        }
    }

    /// Begins to flush the file; `over` is given back if it cannot, or has begun already. [`Behind::take_flush`] says what came
    /// of it.
    pub(crate) fn begin_flush(&self, over: OnFlushed) -> Result<(), OnFlushed> {
        if self.guard.forked() {
            return Err(over);
        }
        let mut state = self.desk.lock();
        if !matches!(state.flush, Flush::None) {
            return Err(over);
        }
        state.clear();
        state.flush = Flush::Wanted(over);
        if std::mem::replace(&mut state.attended, true) {
            self.desk.called.notify_one();
            return Ok(());
        }
        drop(state);
        if self.attend() {
            return Ok(());
        }
        let mut state = self.desk.lock();
        state.attended = false;
        self.desk.flushed.notify_all();
        match std::mem::take(&mut state.flush) {
            Flush::Wanted(over) => Err(over),
            _ => Ok(()),
        }
    }

    /// What came of the flush that was begun, once; none if there was none, or while it is under way. To `wait` until it is over
    /// has to be asked for.
    pub(crate) fn take_flush(&self, wait: bool) -> Option<io::Result<()>> {
        if self.guard.forked() {
            return None;
        }
        let mut state = if wait { self.desk.lock_flushed() } else { self.desk.lock() };
        let Flush::Over(came) = state.flush else { return None };
        state.flush = Flush::None;
        Some(came.map_err(io::Error::from))
    }

    /// Makes the thread, if it can be made; the one before has nothing to do any more.
    fn attend(&self) -> bool {
        let mut thread = self.thread();
        thread.take().map(JoinHandle::join);
        *thread = self.hire().ok();
        thread.is_some()
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

    /// The state once no flush is wanted or under way.
    fn lock_flushed(&self) -> MutexGuard<'_, State> {
        let busy = |state: &mut State| matches!(state.flush, Flush::Wanted(_) | Flush::UnderWay);
        self.flushed.wait_while(self.lock(), busy).unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what is wanted, until `more` has no more to wait for.
    fn serve_until<'d>(&'d self, more: impl Fn(MutexGuard<'d, State>) -> Option<MutexGuard<'d, State>>) {
        let mut state = self.lock();
        loop {
            match state.next() {
                Some(Job::Begin(bytes)) => {
                    drop(state);
                    self.begin(bytes);
                    state = self.lock();
                }
                Some(Job::Flush(over)) => {
                    drop(state);
                    let came = self.flusher.flush();
                    over(came.is_ok());
                    state = self.lock();
                    state.flush = Flush::Over(came);
                    self.flushed.notify_all();
                }
                None => match more(state) {
                    Some(then) => state = then,
                    None => return,
                },
            }
        }
    }

    fn begin(&self, bytes: Range<u64>) {
        let (from, len) = (bytes.start.cast_signed(), (bytes.end - bytes.start).cast_signed());
        // SAFETY: see the head. Where it fails the flush does all of the work.
        unsafe { libc::sync_file_range(self.flusher.file.as_raw_fd(), from, len, libc::SYNC_FILE_RANGE_WRITE) };
    }

    /// Waits for a request; none if it is time to go, and the next one must find somebody else.
    fn wait<'d>(&'d self, state: MutexGuard<'d, State>) -> Option<MutexGuard<'d, State>> {
        let idle = |state: &mut State| !state.has_work() && !state.over;
        let waited = self.called.wait_timeout_while(state, STAY, idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.attended = state.has_work();
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

    fn has_work(&self) -> bool {
        matches!(self.flush, Flush::Wanted(_)) || !self.wanted.is_empty()
    }

    fn next(&mut self) -> Option<Job> {
        match std::mem::take(&mut self.flush) {
            Flush::Wanted(over) => {
                self.flush = Flush::UnderWay;
                return Some(Job::Flush(over));
            }
            other => self.flush = other,
        }
        self.next_bytes().map(Job::Begin)
    }

    /// Takes the next bytes, not too many.
    fn next_bytes(&mut self) -> Option<Range<u64>> {
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::os::fork::in_forked_child;

    fn behind() -> Behind {
        Behind::new(Arc::new(Flusher::new(Arc::new(tempfile::tempfile().unwrap()))))
    }

    /// The signals that each thread of this process blocks that has the name. The kernel's list ends early where a
    /// thread, of another test, ends while it is read: then once more.
    fn blocked() -> Vec<u64> {
        (0..1000).map(|_| listed()).find(|found| !found.is_empty()).unwrap_or_default()
    }

    fn listed() -> Vec<u64> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let status = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok());
        // Of one that is ending, of another test, the kernel knows no signals any more, nor the threads beside it.
        let lives = |status: &String| status.starts_with("Name:\tduramen-disk") && !status.contains("\nThreads:\t0\n");
        let ours = status.filter(lives);
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
        let steps: Vec<_> = std::iter::from_fn(|| state.next_bytes()).collect();
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

    /// Begins a flush that tells by the channel what came of it.
    fn begin(behind: &Behind) -> (bool, Receiver<bool>) {
        let (tell, told) = channel();
        (behind.begin_flush(Box::new(move |well| tell.send(well).unwrap())).is_ok(), told)
    }

    #[test]
    fn a_flush_is_told_of_once_to_who_began_it() {
        let behind = behind();
        assert!(behind.take_flush(true).is_none(), "nothing was begun");
        for _ in 0..3 {
            behind.ask(0..4096);
            let (begun, told) = begin(&behind);
            assert!(begun);
            assert!(!begin(&behind).0, "one at a time");
            assert!(told.recv().unwrap(), "before anybody asks");
            behind.take_flush(true).unwrap().unwrap();
            assert!(behind.take_flush(true).is_none());
        }
    }

    #[test]
    fn a_flush_that_failed_is_told_as_such() {
        // The kernel flushes no pipe.
        let (end, _other) = std::io::pipe().unwrap();
        let file = std::fs::File::from(std::os::fd::OwnedFd::from(end));
        let behind = Behind::new(Arc::new(Flusher::new(Arc::new(file))));
        let (begun, told) = begin(&behind);
        assert!(begun && !told.recv().unwrap());
        behind.take_flush(true).unwrap().unwrap_err();
    }

    #[test]
    fn a_flush_that_was_begun_is_made_before_the_end() {
        let behind = behind();
        let (begun, told) = begin(&behind);
        assert!(begun);
        drop(behind);
        assert_eq!(told.try_recv(), Ok(true));
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
            let idle = behind.begin_flush(Box::new(|_| ())).is_err() && behind.take_flush(true).is_none();
            drop(behind);
            idle
        }));
        drop(held);
        assert!(behind.is_some(), "the parent has its own");
    }
}
