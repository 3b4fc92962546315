//! Which thread serves which connection: one thread as long as it can, more of them when it cannot.
//!
//! Owns: how busy threads are, and the decision. Must not know: sockets, messages.
//!
//! Waking a thread costs as much as two short searches. One that serves many connections finds the next request there
//! when it has answered the last, and does not sleep between them; spread over many threads each request wakes one. So
//! a new connection goes to the first thread that has time. A thread that never rests hands over half of the connections
//! that are at work, if there is a processor for them; one whose work another can do besides hands over all.
//!
//! Each thread looks at itself once in a window of time, in the turns that it has anyway: nothing wakes an idle server.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long a thread counts before it looks at what it counted.
const WINDOW: Duration = Duration::from_millis(5);
/// A thread that is busier never rests. Thousandths of the time, as everywhere here.
const FULL: u32 = 900;
/// A thread that is less busy takes what is new; two that are less busy together become one.
const ROOM: u32 = 500;
/// Connections that a thread has been given and not begun with: with more of them it has no time for others.
const WAITING_MAX: usize = 32;
/// How many windows a thread has to be full before it hands over, and in how many of them a processor has to be idle.
const SAMPLES: u32 = 32;
const IDLE_SAMPLES: u32 = 12;
/// How long a thread is full before it hands over although no processor is idle: others take their part, too.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long two threads have to be less busy than [`ROOM`] before they become one.
const CALM: Duration = Duration::from_millis(200);

/// How busy all threads are.
pub struct Loads {
    threads: Box<[Load]>,
    processors: Processors,
    origin: Instant,
}

/// How busy a thread is. Times are nanoseconds of [`Loads::now`].
#[derive(Default)]
struct Load {
    connections: AtomicUsize,
    waiting: AtomicUsize,
    /// Of the last window.
    busy: AtomicU32,
    looked: AtomicU64,
    /// Since when it sleeps; 0: it does not.
    asleep: AtomicU64,
    slept: AtomicU64,
}

impl Loads {
    /// Of so many threads.
    pub fn new(threads: usize) -> Loads {
        let threads = (0..threads).map(|_| Load::default()).collect();
        Loads { threads, processors: Processors::new(), origin: Instant::now() }
    }

    /// The thread for a new connection.
    pub fn for_new(&self) -> usize {
        let now = self.now();
        let has_time = |thread: &usize| {
            self.busy(*thread, now) < ROOM && self.threads[*thread].waiting.load(Relaxed) < WAITING_MAX
        };
        let all = 0..self.threads.len();
        let least = |thread: &usize| (self.busy(*thread, now), self.threads[*thread].connections.load(Relaxed));
        all.clone().find(has_time).or_else(|| all.min_by_key(least)).unwrap_or_default()
    }

    /// A connection is given to a thread.
    pub fn given(&self, thread: usize) {
        self.threads[thread].connections.fetch_add(1, Relaxed);
        self.threads[thread].waiting.fetch_add(1, Relaxed);
    }

    /// The thread begins with a connection.
    pub fn begun(&self, thread: usize) {
        self.threads[thread].waiting.fetch_sub(1, Relaxed);
    }

    /// A connection has left a thread.
    pub fn left(&self, thread: usize) {
        self.threads[thread].connections.fetch_sub(1, Relaxed);
    }

    /// A thread goes to sleep.
    pub fn sleeps(&self, thread: usize) {
        self.threads[thread].asleep.store(self.now().max(1), Relaxed);
    }

    /// A thread wakes.
    pub fn wakes(&self, thread: usize) {
        let load = &self.threads[thread];
        let since = load.asleep.swap(0, Relaxed);
        if since > 0 {
            load.slept.store(load.slept.load(Relaxed) + self.now().saturating_sub(since), Relaxed);
        }
    }

    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    /// What a thread said last, unless it has been asleep since, or in one turn.
    fn busy(&self, thread: usize, now: u64) -> u32 {
        let load = &self.threads[thread];
        let old = nanos(4 * WINDOW);
        match load.asleep.load(Relaxed) {
            0 if now.saturating_sub(load.looked.load(Relaxed)) > old => 1000,
            asleep if asleep > 0 && now.saturating_sub(asleep) > old => 0,
            _ => load.busy.load(Relaxed),
        }
    }
}

/// How a thread sees itself.
pub struct Gauge {
    loads: Arc<Loads>,
    thread: usize,
    window: Cell<Window>,
    state: Cell<State>,
    leaving: Cell<Leaving>,
}

#[derive(Clone, Copy)]
struct Window {
    /// 0 is never.
    number: u64,
    began: u64,
    slept_before: u64,
    /// Connections that had a turn.
    active: usize,
}

/// How many connections are to leave, and for which thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Leaving {
    count: usize,
    to: usize,
}

impl Gauge {
    /// Of a thread.
    pub fn new(loads: Arc<Loads>, thread: usize) -> Gauge {
        let window = Cell::new(Window { number: 1, began: loads.now(), slept_before: 0, active: 0 });
        Gauge { loads, thread, window, state: Cell::default(), leaving: Cell::default() }
    }

    /// A connection has its turn; `seen` is for this to remember when it had one.
    pub fn turn(&self, seen: &Cell<u64>) {
        let mut window = self.window.get();
        window.active += usize::from(seen.replace(window.number) != window.number);
        self.window.set(window);
        let now = self.loads.now();
        if now - window.began >= nanos(WINDOW) {
            self.look(window, now);
        }
    }

    /// The thread to which the connection that asks is to go.
    pub fn leaves_for(&self) -> Option<usize> {
        let Leaving { count, to } = self.leaving.get();
        self.leaving.set(Leaving { count: count.checked_sub(1)?, to });
        Some(to)
    }

    fn look(&self, window: Window, now: u64) {
        let own = &self.loads.threads[self.thread];
        let slept = own.slept.load(Relaxed);
        let time = now - window.began;
        own.busy.store(1000 - ((slept - window.slept_before).min(time) * 1000 / time) as u32, Relaxed);
        own.looked.store(now, Relaxed);
        self.window.set(Window { number: window.number + 1, began: now, slept_before: slept, active: 0 });
        if self.loads.threads.len() > 1 {
            let busy = |thread: usize| self.loads.busy(thread, now);
            let mut state = self.state.get();
            let idle = || self.loads.processors.have_one_idle();
            self.leaving.set(state.decide(self.thread, self.loads.threads.len(), busy, window.active, now, idle));
            self.state.set(state);
        }
    }
}

/// What a thread has seen of itself in the last windows.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Since when the thread has been full, or could be done without; 0: it is not so.
    full_since: u64,
    calm_since: u64,
    samples: u32,
    idle: u32,
}

impl State {
    /// What is to leave the thread `own` of `threads`, which had `active` connections at work.
    fn decide(
        &mut self,
        own: usize,
        threads: usize,
        busy: impl Fn(usize) -> u32,
        active: usize,
        now: u64,
        a_processor_is_idle: impl FnOnce() -> bool,
    ) -> Leaving {
        let full = busy(own) >= FULL;
        let host = (0..own).find(|&other| busy(own) + busy(other) <= ROOM);
        since(&mut self.full_since, full, now);
        since(&mut self.calm_since, host.is_some(), now);
        if let Some(to) = host.filter(|_| now - self.calm_since >= nanos(CALM)) {
            return Leaving { count: usize::MAX, to };
        }
        if !full {
            (self.samples, self.idle) = (0, 0);
            return Leaving::default();
        }
        self.samples += 1;
        self.idle += u32::from(a_processor_is_idle());
        let pays = self.samples >= SAMPLES && self.idle >= IDLE_SAMPLES;
        if self.samples >= SAMPLES {
            (self.samples, self.idle) = (0, 0);
        }
        let least = (0..threads).filter(|&other| other != own).min_by_key(|&other| busy(other));
        match least {
            Some(to) if busy(to) < ROOM && (pays || now - self.full_since >= nanos(PATIENCE)) => {
                self.full_since = now;
                Leaving { count: active / 2, to }
            }
            _ => Leaving::default(),
        }
    }
}

/// Keeps since when something has been so.
fn since(at: &mut u64, is_so: bool, now: u64) {
    *at = match (is_so, *at) {
        (false, _) => 0,
        (true, 0) => now,
        (true, since) => since,
    };
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

/// The processors of the machine.
struct Processors {
    count: usize,
    load: Option<File>,
}

impl Processors {
    fn new() -> Processors {
        let count = std::thread::available_parallelism().map_or(1, |count| count.get());
        Processors { count, load: File::open("/proc/loadavg").ok() }
    }

    /// Whether fewer threads want a processor at this moment than there are processors; where the system does not tell,
    /// it is taken to be so.
    fn have_one_idle(&self) -> bool {
        let mut text = [0; 64];
        let length = self.load.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
        running(&text[..length]).is_none_or(|running| running < self.count)
    }
}

/// How many threads run or would, of what `/proc/loadavg` says: `0.20 0.18 0.12 1/80 11206`.
fn running(text: &[u8]) -> Option<usize> {
    let fourth = text.split(|&byte| byte == b' ').nth(3)?;
    let number = fourth.split(|&byte| byte == b'/').next()?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAY: Leaving = Leaving { count: 0, to: 0 };

    /// What a thread decides in windows that are all alike.
    fn decided(own: usize, busy: &[u32], active: usize, idle: bool, windows: u64) -> Vec<Leaving> {
        let mut state = State::default();
        let decide = |n| state.decide(own, busy.len(), |thread| busy[thread], active, n * nanos(WINDOW), || idle);
        (1..=windows).map(decide).collect()
    }

    #[test]
    fn a_full_thread_hands_half_to_the_one_that_has_most_time() {
        let decided = decided(0, &[990, 400, 100], 9, true, SAMPLES.into());
        let (last, before) = decided.split_last().unwrap();
        assert!(before.iter().all(|leaving| *leaving == STAY));
        assert_eq!(*last, Leaving { count: 4, to: 2 });
    }

    #[test]
    fn a_thread_is_patient_while_no_processor_is_idle() {
        let windows = PATIENCE.as_millis() as u64 / WINDOW.as_millis() as u64;
        let decided = decided(0, &[1000, 0], 4, false, windows + 1);
        assert_eq!(decided.iter().position(|leaving| *leaving != STAY), Some(windows as usize));
        assert_eq!(decided[windows as usize], Leaving { count: 2, to: 1 });
    }

    #[test]
    fn nobody_is_handed_to_a_thread_that_has_no_time() {
        assert!(decided(0, &[1000, 500], 4, true, 2000).iter().all(|leaving| *leaving == STAY));
    }

    #[test]
    fn a_thread_with_one_connection_keeps_it() {
        assert!(decided(0, &[1000, 0], 1, true, 2000).iter().all(|leaving| leaving.count == 0));
    }

    #[test]
    fn what_an_earlier_thread_can_do_besides_goes_there_after_a_while() {
        let decided = decided(2, &[800, 200, 300], 3, true, 41);
        assert!(decided[..40].iter().all(|leaving| *leaving == STAY));
        assert_eq!(decided[40], Leaving { count: usize::MAX, to: 1 });
    }

    #[test]
    fn work_that_two_threads_are_needed_for_stays_with_both() {
        for own in [0, 1] {
            assert!(decided(own, &[600, 600], 4, true, 2000).iter().all(|leaving| *leaving == STAY));
        }
    }

    #[test]
    fn new_connections_go_to_the_first_thread_that_has_time() {
        let loads = Loads::new(3);
        let busy = |thread: usize, busy| {
            loads.threads[thread].busy.store(busy, Relaxed);
            loads.threads[thread].looked.store(u64::MAX, Relaxed);
        };
        busy(0, 499);
        busy(1, 0);
        busy(2, 0);
        assert_eq!(loads.for_new(), 0);
        busy(0, 500);
        assert_eq!(loads.for_new(), 1);
        (0..WAITING_MAX).for_each(|_| loads.given(1));
        assert_eq!(loads.for_new(), 2);
        busy(2, 700);
        assert_eq!(loads.for_new(), 1, "nobody has time: the least busy gets it");
    }

    #[test]
    fn who_sleeps_is_not_busy_and_who_does_not_look_is() {
        let loads = Loads::new(2);
        let later = nanos(Duration::from_secs(1));
        loads.threads[0].busy.store(950, Relaxed);
        loads.sleeps(0);
        assert_eq!([loads.busy(0, 0), loads.busy(0, later)], [950, 0]);
        assert_eq!([loads.busy(1, 0), loads.busy(1, later)], [0, 1000]);
    }

    #[test]
    fn the_system_says_how_many_threads_run() {
        assert_eq!(running(b"0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(running(b""), None);
        assert!(running(&std::fs::read("/proc/loadavg").unwrap()).is_some());
    }
}
