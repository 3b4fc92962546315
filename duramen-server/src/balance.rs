//! Which thread serves which connection: one thread as long as it can, more of them when it cannot.
//!
//! Owns: how busy threads are, and the decision. Must not know: sockets, messages.
//!
//! Waking a thread costs as much as two short searches. One that serves many connections finds the next request there
//! when it has answered the last, and does not sleep between them; spread over many threads each request wakes one. So
//! a new connection goes to the first thread that has time. A thread that never rests, or keeps others waiting by what
//! takes long, tries what comes of handing half of its active connections to another: if the two get no more done than
//! before, since all processors are busy or wait for the same memory, it takes them back. A thread whose work another
//! can do besides hands over all.
//!
//! Each thread looks at itself once in a window of time, in the turns that it has anyway: nothing wakes an idle server.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::figures::add;

/// How long a thread counts before it looks at what it counted.
const WINDOW: Duration = Duration::from_millis(5);
/// A thread that is busier never rests. Thousandths of the time, as everywhere here.
const FULL: u32 = 900;
/// A thread that is less busy takes what is new.
const ROOM: u32 = 500;
/// Two threads that are less busy together become one: for which what they do is less, since it sleeps less.
const TOGETHER: u32 = 850;
/// A turn that takes longer keeps the others waiting: its thread is as good as full.
const LONG: Duration = Duration::from_millis(1);
/// Connections that a thread has been given and not begun with: with more of them it has no time for others.
const WAITING_MAX: usize = 32;
/// How long a thread is full before it tries to share, and how long the trial lasts once connections have moved.
const TRIAL: Duration = Duration::from_millis(160);
/// How long they have for that.
const MOVING: Duration = Duration::from_millis(20);
/// Thousandths of the work before that two threads have to do together for the trial to be a success; as much as before
/// is enough if the thread is no longer full, since then there was no more to do.
const SUCCESS: u128 = 1100;
/// How long no trial follows one that was none.
const REST: Duration = Duration::from_secs(10);
/// How long two threads have to be less busy than [`TOGETHER`] before they become one.
const CALM: Duration = Duration::from_millis(200);

/// How busy all threads are.
pub struct Loads {
    threads: Box<[Load]>,
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
    /// Messages taken, and parts of long searches.
    work: AtomicU64,
    /// Connections that another thread wants back.
    wanted: Mutex<Option<Leaving>>,
}

impl Loads {
    /// Of so many threads.
    pub fn new(threads: usize) -> Loads {
        let threads = (0..threads).map(|_| Load::default()).collect();
        Loads { threads, origin: Instant::now() }
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
        nanos(self.origin.elapsed())
    }

    /// What a thread said last, unless it has been asleep since, or in one turn.
    fn busy(&self, thread: usize, now: u64) -> u32 {
        let load = &self.threads[thread];
        match load.asleep.load(Relaxed) {
            0 if now.saturating_sub(load.looked.load(Relaxed)) > nanos(4 * WINDOW) => 1000,
            asleep if asleep > 0 && now.saturating_sub(asleep) > nanos(WINDOW) => 0,
            _ => load.busy.load(Relaxed),
        }
    }
}

/// How a thread sees itself.
pub struct Gauge {
    loads: Arc<Loads>,
    thread: usize,
    window: Cell<Window>,
    /// No more than one connection had a turn in the window before.
    lone: Cell<bool>,
    state: Cell<State>,
    leaving: Cell<Leaving>,
}

#[derive(Clone, Copy)]
struct Window {
    /// 0 is never.
    number: u64,
    began: Moment,
    /// When the last turn began.
    turn: Moment,
    /// The longest turn.
    longest: u64,
    /// Connections that had a turn.
    active: usize,
}

/// A moment, and how long the thread had slept until then.
#[derive(Clone, Copy)]
struct Moment {
    at: u64,
    slept: u64,
}

impl Moment {
    /// How long the thread was at work since then; not at all by a clock that has gone back, as those of some virtual
    /// machines do.
    fn worked(self, since: Moment) -> u64 {
        self.at.saturating_sub(since.at).saturating_sub(self.slept.saturating_sub(since.slept))
    }
}

impl Window {
    fn new(number: u64, began: Moment) -> Window {
        Window { number, began, turn: began, longest: 0, active: 0 }
    }
}

/// How many connections are to leave, for which thread, and until when they can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Leaving {
    count: usize,
    to: usize,
    until: u64,
}

impl Gauge {
    /// Of a thread.
    pub fn new(loads: Arc<Loads>, thread: usize) -> Gauge {
        let now = Moment { at: loads.now(), slept: 0 };
        let window = Cell::new(Window::new(1, now));
        let (lone, state, leaving) = Default::default();
        Gauge { loads, thread, window, lone, state, leaving }
    }

    /// A connection has its turn; `seen` is for this to remember when it had one.
    pub fn turn(&self, seen: &Cell<u64>) {
        self.turn_at(Moment { at: self.loads.now(), slept: self.loads.threads[self.thread].slept.load(Relaxed) }, seen);
    }

    fn turn_at(&self, now: Moment, seen: &Cell<u64>) {
        let mut window = self.window.get();
        window.longest = window.longest.max(now.worked(window.turn));
        window.turn = now;
        window.active += usize::from(seen.replace(window.number) != window.number);
        if now.at.saturating_sub(window.began.at) >= nanos(WINDOW) {
            self.look(window, now);
            self.lone.set(window.active <= 1);
            window = Window { active: 1, ..Window::new(window.number + 1, now) };
            seen.set(window.number);
        }
        self.window.set(window);
    }

    /// A message is taken, or a search goes on.
    pub fn works(&self) {
        add(&self.loads.threads[self.thread].work, 1);
    }

    /// How long the connection that has its turn may keep the thread waiting for the disk: not at all if others are active.
    /// To hand what has to wait to another thread, and to be woken by that, takes longer than many an update.
    pub fn patience(&self) -> Duration {
        if self.lone.get() && self.window.get().active <= 1 { LONG } else { Duration::ZERO }
    }

    /// The thread to which the connection that asks is to go.
    pub fn leaves_for(&self) -> Option<usize> {
        let leaving = self.leaving.get();
        self.leaving.set(Leaving { count: leaving.count.checked_sub(1)?, ..leaving });
        Some(leaving.to)
    }

    fn look(&self, window: Window, now: Moment) {
        let own = &self.loads.threads[self.thread];
        let worked = now.worked(window.began) * 1000 / (now.at - window.began.at);
        let worked = if window.longest > nanos(LONG) { 1000 } else { u32::try_from(worked).unwrap_or(u32::MAX) };
        own.busy.store(worked, Relaxed);
        own.looked.store(now.at, Relaxed);
        let leaving = self.leaving.get();
        if leaving.count == 0 || leaving.until <= now.at {
            let wanted = own.wanted.lock().unwrap_or_else(PoisonError::into_inner).take();
            self.leaving.set(wanted.unwrap_or_else(|| self.decide(window.active, now.at)));
        }
    }

    fn decide(&self, active: usize, now: u64) -> Leaving {
        let threads = &self.loads.threads;
        let seen = threads
            .iter()
            .enumerate()
            .map(|(n, load)| Seen { busy: self.loads.busy(n, now), work: load.work.load(Relaxed) });
        let mut state = self.state.get();
        let decision = state.decide(self.thread, &seen.collect::<Vec<_>>(), active, now);
        self.state.set(state);
        match decision {
            Decision::Stay => Leaving::default(),
            Decision::Leave(leaving) => leaving,
            Decision::TakeBack { from, leaving } => {
                *threads[from].wanted.lock().unwrap_or_else(PoisonError::into_inner) = Some(leaving);
                Leaving::default()
            }
        }
    }
}

/// A thread, as another sees it.
#[derive(Clone, Copy)]
struct Seen {
    busy: u32,
    work: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Stay,
    Leave(Leaving),
    TakeBack { from: usize, leaving: Leaving },
}

/// What a thread has seen in the last windows, and what it tries.
#[derive(Clone, Copy, Default)]
struct State {
    /// Since when the thread could be done without; 0: it cannot.
    calm_since: u64,
    full: Option<Full>,
    trial: Option<Trial>,
    rests_until: u64,
}

/// A thread is full, and another has time.
#[derive(Clone, Copy)]
struct Full {
    since: u64,
    other: usize,
    /// What both had done.
    work: u64,
}

/// A thread tries to share.
#[derive(Clone, Copy)]
struct Trial {
    with: usize,
    count: usize,
    /// What both did before, in how long.
    before: (u64, u64),
    /// When it begins to count, and what both had done then, once that is known.
    counts_from: u64,
    counted: Option<u64>,
}

impl State {
    /// What the thread `own` of those it sees does, which had `active` connections at work.
    fn decide(&mut self, own: usize, seen: &[Seen], active: usize, now: u64) -> Decision {
        let host = (0..own).find(|&other| seen[own].busy + seen[other].busy <= TOGETHER);
        since(&mut self.calm_since, host.is_some(), now);
        if let Some(to) = host.filter(|_| now.saturating_sub(self.calm_since) >= nanos(CALM)) {
            (self.full, self.trial) = (None, None);
            return Decision::Leave(Leaving { count: usize::MAX, to, until: now + nanos(4 * WINDOW) });
        }
        if let Some(trial) = self.trial {
            return self.judge(own, trial, seen, now);
        }
        let is_full = seen[own].busy >= FULL && active > 1 && now >= self.rests_until;
        let Some(full) = is_full.then(|| self.full_beside(own, seen, now)).flatten() else {
            self.full = None;
            return Decision::Stay;
        };
        let time = now.saturating_sub(full.since);
        if time < nanos(TRIAL) {
            self.full = Some(full);
            return Decision::Stay;
        }
        self.full = None;
        let (with, count) = (full.other, active / 2);
        let before = (work_of_both(own, with, seen) - full.work, time);
        self.trial = Some(Trial { with, count, before, counts_from: now + nanos(MOVING), counted: None });
        Decision::Leave(Leaving { count, to: with, until: now + nanos(CALM) })
    }

    /// The thread is full: since when, and beside which other; `None` if no other has time.
    fn full_beside(&self, own: usize, seen: &[Seen], now: u64) -> Option<Full> {
        let has_time = |other: usize| seen[other].busy < ROOM;
        let begin = |other: usize| Full { since: now, other, work: work_of_both(own, other, seen) };
        let least = || (0..seen.len()).filter(|&other| other != own).min_by_key(|&other| seen[other].busy);
        let full = self.full.filter(|full| has_time(full.other));
        full.or_else(|| least().filter(|&other| has_time(other)).map(begin))
    }

    /// Goes on with a trial, and ends it when it is time.
    fn judge(&mut self, own: usize, trial: Trial, seen: &[Seen], now: u64) -> Decision {
        let time = now.saturating_sub(trial.counts_from);
        let both = work_of_both(own, trial.with, seen);
        match trial.counted {
            None if now >= trial.counts_from => {
                self.trial = Some(Trial { counts_from: now, counted: Some(both), ..trial });
                Decision::Stay
            }
            Some(begun) if time >= nanos(TRIAL) => {
                self.trial = None;
                let rate = |(work, time): (u64, u64)| u128::from(work) * 1_000_000_000 / u128::from(time);
                let [before, after] = [rate(trial.before), rate((both - begun, time))];
                let is_relieved = seen[own].busy < FULL;
                if after * 1000 >= before * SUCCESS || (after >= before && is_relieved) {
                    return Decision::Stay;
                }
                self.rests_until = now + nanos(REST);
                let leaving = Leaving { count: trial.count, to: own, until: now + nanos(CALM) };
                Decision::TakeBack { from: trial.with, leaving }
            }
            _ => Decision::Stay,
        }
    }
}

fn work_of_both(own: usize, other: usize, seen: &[Seen]) -> u64 {
    seen[own].work + seen[other].work
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
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a thread decides, window by window, while all are so busy, and until then have done so much.
    fn decided(own: usize, active: usize, windows: u64, seen: impl Fn(u64) -> Vec<(u32, u64)>) -> Vec<(u64, Decision)> {
        let mut state = State::default();
        let decide = |n| {
            let seen: Vec<_> = seen(n).into_iter().map(|(busy, work)| Seen { busy, work }).collect();
            (n, state.decide(own, &seen, active, n * nanos(WINDOW)))
        };
        (1..=windows).map(decide).filter(|(_, decision)| *decision != Decision::Stay).collect()
    }

    /// How many windows that is.
    fn windows(time: Duration) -> u64 {
        time.as_millis() as u64 / WINDOW.as_millis() as u64
    }

    #[test]
    fn a_full_thread_hands_half_to_the_one_that_has_most_time_and_keeps_to_it_if_both_do_more() {
        let moved = 1 + windows(TRIAL);
        let decided = decided(0, 9, 10_000, |n| match n {
            n if n <= moved => vec![(990, 100 * n), (400, 0), (100, 20 * n)],
            n => vec![(600, 100 * n), (400, 0), (600, 60 * n)],
        });
        let until = moved * nanos(WINDOW) + nanos(CALM);
        assert_eq!(decided, [(moved, Decision::Leave(Leaving { count: 4, to: 2, until }))]);
    }

    #[test]
    fn a_full_thread_takes_back_what_two_do_not_do_faster_and_tries_again_after_a_while() {
        let decided = decided(0, 4, 5000, |n| vec![(1000, 100 * n), (300, 7 * n)]);
        let judged = 1 + 2 * windows(TRIAL) + windows(MOVING);
        let (at, decision) = decided[1];
        let leaving = Leaving { count: 2, to: 0, until: judged * nanos(WINDOW) + nanos(CALM) };
        assert_eq!((at, decision), (judged, Decision::TakeBack { from: 1, leaving }));
        let again = decided[2].0 - judged;
        assert!((windows(REST)..windows(REST + 2 * TRIAL)).contains(&again), "{again}");
    }

    #[test]
    fn a_trial_that_leaves_the_thread_time_is_a_success_though_there_is_no_more_to_do() {
        let moved = 1 + windows(TRIAL);
        let decided = decided(0, 4, 5000, |n| vec![(if n <= moved { 1000 } else { 800 }, 100 * n), (300, 0)]);
        assert_eq!(decided.len(), 1, "{decided:?}");
    }

    #[test]
    fn the_one_to_share_with_stays_the_same_while_it_has_time() {
        let decided = decided(0, 4, 1 + windows(TRIAL), |n| {
            let odd = n % 2 == 1;
            vec![(1000, n), (if odd { 101 } else { 100 }, 0), (if odd { 100 } else { 101 }, 0)]
        });
        assert!(matches!(decided[..], [(_, Decision::Leave(Leaving { to: 2, .. }))]), "{decided:?}");
    }

    #[test]
    fn nobody_is_handed_to_a_thread_that_has_no_time() {
        assert_eq!(decided(0, 4, 2000, |n| vec![(1000, n), (500, n)]), []);
    }

    #[test]
    fn a_thread_with_one_connection_keeps_it() {
        assert_eq!(decided(0, 1, 2000, |n| vec![(1000, n), (0, 0)]), []);
    }

    #[test]
    fn what_an_earlier_thread_can_do_besides_goes_there_after_a_while() {
        let decided = decided(2, 3, 1 + windows(CALM), |n| vec![(800, n), (350, n), (400, n)]);
        let until = nanos(WINDOW) + nanos(CALM) + nanos(4 * WINDOW);
        assert_eq!(decided, [(1 + windows(CALM), Decision::Leave(Leaving { count: usize::MAX, to: 1, until }))]);
    }

    #[test]
    fn work_that_two_threads_are_needed_for_stays_with_both() {
        for own in [0, 1] {
            assert_eq!(decided(own, 4, 2000, |n| vec![(450, n), (450, n)]), []);
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
    fn a_thread_that_keeps_others_waiting_is_full() {
        for (turn, busy) in [(LONG / 2, 100), (2 * LONG, 1000)] {
            let loads = Arc::new(Loads::new(1));
            let gauge = Gauge::new(loads.clone(), 0);
            let begun = loads.now() + nanos(WINDOW);
            let turn = nanos(turn);
            for (at, slept) in [(0, 0), (turn, 0), (nanos(WINDOW), nanos(WINDOW) - turn)] {
                gauge.turn_at(Moment { at: begun + at, slept }, &Cell::new(0));
            }
            assert_eq!(loads.threads[0].busy.load(Relaxed), busy);
        }
    }

    #[test]
    fn only_a_connection_that_is_alone_may_wait_for_the_disk() {
        let loads = Arc::new(Loads::new(1));
        let gauge = Gauge::new(loads.clone(), 0);
        let (begun, [one, another]) = (loads.now(), [Cell::new(0), Cell::new(0)]);
        // In tenths of a window. The first window has been about what came before.
        let turns = [(12, &one), (13, &another), (21, &one), (22, &one), (32, &one), (33, &another), (43, &one)];
        let patience = turns.map(|(tenths, seen)| {
            gauge.turn_at(Moment { at: begun + tenths * nanos(WINDOW) / 10, slept: 0 }, seen);
            gauge.patience()
        });
        let none = Duration::ZERO;
        assert_eq!(patience, [LONG, none, none, none, LONG, none, none]);
    }

    #[test]
    fn a_clock_that_goes_back_makes_no_thread_busy_and_moves_nobody() {
        let loads = Arc::new(Loads::new(1));
        let gauge = Gauge::new(loads.clone(), 0);
        let begun = loads.now() + 2 * nanos(WINDOW);
        for (at, slept) in [(nanos(WINDOW), nanos(WINDOW)), (0, 0), (2 * nanos(WINDOW), 2 * nanos(WINDOW))] {
            gauge.turn_at(Moment { at: begun + at, slept }, &Cell::new(0));
        }
        assert!(loads.threads[0].busy.load(Relaxed) <= FULL);
        let back = |n: u64| if n.is_multiple_of(2) { 10 - n } else { 10 + n };
        let mut state = State::default();
        for busy in [[950, 100], [100, 100]] {
            let seen = busy.map(|busy| Seen { busy, work: 0 });
            let decisions = (1..10).map(|n| state.decide(1, &seen, 4, back(n) * nanos(WINDOW)));
            assert!(decisions.into_iter().all(|decision| decision == Decision::Stay));
        }
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
}
