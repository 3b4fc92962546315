//! What the connections of a thread share. An operation that only reads never changes threads, and no lock is taken for
//! what belongs to a connection.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use duramen::Txnid;

use crate::balance::Gauge;
use crate::bell::{Bell, Ear};
use crate::buffer::Pool;
use crate::figures::Figures;

/// How often connections are looked at that are silent.
pub const TICK: Duration = Duration::from_secs(1);

/// What the connections of a thread share.
pub struct Thread {
    /// Buffers.
    pub pool: Pool,
    /// Figures.
    pub figures: Arc<Figures>,
    /// Who waits for updates.
    pub updates: Bell,
    /// Who waits for what changes, by whomever.
    pub news: Bell,
    /// The commit that they were woken for last.
    commit: Cell<Option<Txnid>>,
    gauge: Gauge,
    stopping: Cell<bool>,
    now: Cell<Instant>,
    watched: RefCell<HashMap<u64, Rc<Watch>>>,
}

/// When a connection was active last, and how to wake it.
pub struct Watch {
    active: Cell<Instant>,
    /// Whether being silent for long has a consequence.
    limited: Cell<bool>,
    waker: RefCell<Option<Waker>>,
    /// For the bell of its thread.
    pub ear: Ear,
    /// For the bell of what changes.
    pub news_ear: Ear,
    /// When it had a turn, as the gauge counts time.
    turn: Cell<u64>,
}

impl Thread {
    /// One that has no connections yet.
    pub fn new(figures: Arc<Figures>, gauge: Gauge) -> Thread {
        let now = Cell::new(Instant::now());
        let (pool, updates, news, commit, stopping, watched) = Default::default();
        Thread { pool, figures, updates, news, commit, gauge, stopping, now, watched }
    }

    /// Watches a connection with this number, from now on.
    pub fn watch(&self, number: u64) -> Rc<Watch> {
        let (limited, waker, ear, news_ear, turn) = Default::default();
        let watch = Rc::new(Watch { active: self.now.clone(), limited, waker, ear, news_ear, turn });
        self.watched.borrow_mut().insert(number, watch.clone());
        watch
    }

    /// Watches it no longer.
    pub fn forget(&self, number: u64) {
        self.watched.borrow_mut().remove(&number);
    }

    /// Whether there are no connections.
    pub fn is_empty(&self) -> bool {
        self.watched.borrow().is_empty()
    }

    /// Begins nothing new from now on.
    pub fn stop(&self) {
        self.stopping.set(true);
    }

    /// Whether nothing new may begin.
    pub fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// A connection has its turn.
    pub fn turn(&self, watch: &Watch) {
        self.gauge.turn(&watch.turn);
    }

    /// A message is taken, or a search goes on.
    pub fn works(&self) {
        self.gauge.works();
    }

    /// How long the connection that has its turn may wait for the disk.
    pub fn patience(&self) -> Duration {
        self.gauge.patience()
    }

    /// The thread to which the connection that asks is to go, if it is.
    pub fn leaves_for(&self) -> Option<usize> {
        if self.is_stopping() { None } else { self.gauge.leaves_for() }
    }

    /// Wakes connections that have been silent for a while, so that they look at their limits.
    pub fn tick(&self) {
        self.now.set(Instant::now());
        for watch in self.watched.borrow().values() {
            if watch.limited.get() && watch.silent_for(self) >= TICK {
                watch.wake();
            }
        }
    }

    /// Wakes who waits for what changes, if `newest` is a commit that they were not woken for: another process may have made it.
    /// It is asked only if somebody waits.
    pub fn look_for_news(&self, newest: impl FnOnce() -> Option<Txnid>) {
        if self.news.is_waited_for() {
            let commit = newest();
            if self.commit.replace(commit) != commit {
                self.news.waker().wake_by_ref();
            }
        }
    }

    /// Wakes all connections.
    pub fn wake_all(&self) {
        self.watched.borrow().values().for_each(|watch| watch.wake());
    }
}

impl Watch {
    /// Takes note that the client did something.
    pub fn active(&self, thread: &Thread) {
        self.active.set(thread.now.get());
    }

    /// How long the client has done nothing, to about a second.
    pub fn silent_for(&self, thread: &Thread) -> Duration {
        thread.now.get().saturating_duration_since(self.active.get())
    }

    /// Keeps how to wake the connection; `limited`: being silent for long has a consequence.
    pub fn park(&self, waker: &Waker, limited: bool) {
        self.limited.set(limited);
        let mut kept = self.waker.borrow_mut();
        if !kept.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            *kept = Some(waker.clone());
        }
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}
