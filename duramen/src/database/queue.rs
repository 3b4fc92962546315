//! What was submitted to a handle and not begun yet, and who runs it.
//!
//! Owns: the order of it, who leads, how large groups should be. Must not know: transactions that are under way, how
//! submitters wait.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::Database;
use super::helper::Helper;
use crate::error::Error;
use crate::ids::Txnid;
use crate::store::Writer;
use crate::txn::WriteTxn;
use crate::width::to_u32;

/// A group takes no more than this, so that its first member does not wait for ever.
const GROUP_MAX: usize = 1024;
/// A leader waits this part of the last group's time, at most, for those who were in it: told that they were committed,
/// they are about to submit again. Without that, groups of one take turns with groups of all others.
const PATIENCE: u32 = 4;
/// However long that took: by then they would have come.
const PATIENCE_MAX: Duration = Duration::from_millis(10);
/// Changes that take less than this are not divided into halves: each group more wakes threads more often, and writes the
/// upper pages once more, which takes as long as what is hidden behind a flush.
const WORTH_DIVIDING: Duration = Duration::from_micros(200);

/// What was submitted to one handle and not begun yet, in order.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Who leads for those who have no thread to lead with.
    pub helper: Arc<Helper<Database>>,
}

/// What a leader takes.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// Not more than so many.
    pub members_max: usize,
    /// Only what takes no longer than a look into the database.
    pub brief: bool,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Entry>,
    /// Somebody leads, or was told to.
    led: bool,
    /// What the leader of a group that waits for the disk has passed on, until the next one takes it.
    baton: Option<Baton>,
    /// Members of groups that are written, and were not told yet.
    untold: usize,
    pace: Pace,
}

/// The write lock, on its way from one group to the next.
pub(super) struct Baton {
    pub writer: Box<Writer>,
    pub passes: u32,
}

/// What the last group tells about the next.
#[derive(Clone, Copy, Default)]
pub(super) struct Pace {
    /// How many submitters there seem to be.
    crowd: usize,
    /// How long one of them takes, with the part of writing that falls to it.
    work: Duration,
    /// How long the disk takes, of late and on average, once that is known.
    flush: Option<Duration>,
    /// How long a group took as a whole.
    group: Duration,
}

impl Pace {
    /// Whether half of the submitters should work while the disk flushes what the others did. If it takes longer than the
    /// work of all, two halves wait for two flushes; if it takes less than that of half of them, there is little to be
    /// hidden behind it, and two commits have more work than one.
    pub fn divides(&self) -> bool {
        let all = self.work * to_u32(self.crowd);
        let pays = self.crowd > 1 && self.work >= WORTH_DIVIDING;
        pays && self.flush.is_some_and(|flush| all / 2 < flush && flush < all)
    }

    /// How many a group should wait for.
    fn members(&self) -> usize {
        if self.divides() { self.crowd.div_ceil(2) } else { self.crowd }
    }

    /// How many it should have at most.
    fn members_max(&self) -> usize {
        if self.divides() { self.members().min(GROUP_MAX) } else { GROUP_MAX }
    }
}

impl Queue {
    /// Adds an entry; true if its submitter has to lead.
    pub fn push(&self, entry: Entry) -> bool {
        let mut state = lock(&self.state);
        state.waiting.push_back(entry);
        !std::mem::replace(&mut state.led, true)
    }

    /// Adds an entry that nobody has to lead yet.
    pub fn push_unled(&self, entry: Entry) {
        lock(&self.state).waiting.push_back(entry);
    }

    /// Has the caller lead what nobody leads; false if there is nothing of that kind.
    pub fn lead_unled(&self) -> bool {
        let mut state = lock(&self.state);
        !state.waiting.is_empty() && !std::mem::replace(&mut state.led, true)
    }

    /// Whether what comes next takes no longer than a look into the database.
    pub fn is_brief(&self) -> bool {
        lock(&self.state).waiting.front().is_some_and(|entry| entry.brief)
    }

    /// Whether the disk has taken no longer than this of late, as far as is known.
    pub fn flushes_within(&self, patience: Duration) -> bool {
        lock(&self.state).pace.flush.is_some_and(|flush| flush <= patience)
    }

    /// Waits for as many as are expected, but not for long: what a group should take.
    pub fn gather(&self) -> Share {
        let begun = Instant::now();
        loop {
            let state = lock(&self.state);
            let pace = state.pace;
            let patience = (pace.group / PATIENCE).min(PATIENCE_MAX);
            if state.waiting.len() >= pace.members() || begun.elapsed() > patience {
                return Share { members_max: pace.members_max(), brief: false };
            }
            drop(state);
            std::thread::yield_now();
        }
    }

    /// The next entry of this share of a leader who has so many, and whether it was the only one.
    pub fn pop(&self, share: Share, members: usize) -> Option<(Entry, bool)> {
        let mut state = lock(&self.state);
        let takes = |entry: &mut Entry| members < share.members_max && (entry.brief || !share.brief);
        let entry = state.waiting.pop_front_if(takes)?;
        Some((entry, state.waiting.is_empty()))
    }

    /// Takes what the group before has passed on.
    pub fn take_baton(&self) -> Option<Baton> {
        lock(&self.state).baton.take()
    }

    /// Takes back what nobody has taken. What has been passed on since is not the same.
    pub fn take_back(&self, commit: Txnid) -> Option<Baton> {
        lock(&self.state).baton.take_if(|baton| baton.writer.meta.txnid == commit)
    }

    /// Passes the write lock on to the next leader, whom [`Queue::next_leader`] finds or who is the next to come.
    pub fn pass_on(&self, baton: Baton) {
        lock(&self.state).baton = Some(baton);
    }

    /// Ends a leadership: who has to lead next, if anybody waits.
    pub fn next_leader(&self) -> Option<Arc<dyn Ticket>> {
        let mut state = lock(&self.state);
        let next = state.waiting.front().map(|entry| entry.ticket.clone());
        state.led = next.is_some();
        next
    }

    /// A group of so many was written after so long: what the next should be like.
    pub fn written(&self, members: usize, time: Duration) -> Pace {
        let mut state = lock(&self.state);
        state.untold += members;
        let (found, before) = (state.untold + state.waiting.len(), state.pace.crowd);
        // Of two halves, those who were just told and are about to submit again are not to be found: so it falls slowly.
        let least = if state.pace.divides() { before - before.div_ceil(8) } else { 0 };
        state.pace.crowd = found.max(least);
        state.pace.work = time / to_u32(members.max(1));
        state.pace
    }

    /// The group is about to be told.
    pub fn landed(&self, members: usize, flush: Option<Duration>, group: Duration) {
        let mut state = lock(&self.state);
        state.untold -= members;
        state.pace.flush = match (state.pace.flush, flush) {
            (Some(before), Some(now)) => Some((before * 3 + now) / 4),
            (before, now) => now.or(before),
        };
        state.pace.group = group;
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What runs a change.
pub(super) type Change = Box<dyn FnOnce(&mut WriteTxn<'_>) -> bool + Send>;

/// Something of a submitter's that whoever leads may have to drop. If that panics it is the submitter's own affair: it must not
/// end who leads for the others.
pub(super) struct Guarded<T>(Option<T>);

impl<T> Guarded<T> {
    pub(super) fn new(what: T) -> Guarded<T> {
        Guarded(Some(what))
    }

    pub(super) fn into_inner(mut self) -> T {
        self.0.take().expect("it is taken once")
    }
}

impl<T> Drop for Guarded<T> {
    fn drop(&mut self) {
        let what = self.0.take();
        if catch_unwind(AssertUnwindSafe(|| drop(what))).is_err() {
            tracing::error!("dropping a change, or its result, panicked");
        }
    }
}

/// A change, with where to say what became of it.
pub(super) struct Entry {
    /// Runs the change and keeps what it returned; true if its transaction is to be kept.
    pub change: Guarded<Change>,
    pub ticket: Arc<dyn Ticket>,
    /// It takes no longer than a look into the database.
    pub brief: bool,
}

/// The submitter, as its leader sees it.
pub(super) trait Ticket: Send + Sync {
    /// The change came to nothing for a reason that is not its own.
    fn fail(&self, error: Error);
    /// It is decided. A thread that waits is told so; of a task, what wakes it comes back.
    fn settle(&self) -> Option<Waker>;
    /// Asks it to lead the next group; false if it has no thread for that.
    fn lead(&self) -> bool;
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn nobody_is_waited_for_long_however_long_the_last_group_took() {
        let queue = Queue::default();
        lock(&queue.state).pace = Pace { crowd: 4, group: Duration::from_hours(1), ..Pace::default() };
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            queue.gather();
            done.send(())
        });
        is_done.recv_timeout(Duration::from_mins(1)).expect("it goes on");
    }
}
