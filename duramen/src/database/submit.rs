//! Group commit: what many threads submit goes into one transaction, and waits for the disk once.
//!
//! Owns: the queue, who leads, who is told what. Must not know: how a commit is done.
//!
//! Whoever submits while nobody leads leads one group: it runs, in one transaction, what is in the queue and what comes
//! while it runs, each in a child transaction of its own, commits, and tells everyone. What was submitted while the disk
//! flushed is the next group, led by the first thread in it. So nobody serves others for longer than one group, and a
//! lone thread does what [`Database::update`] does. Only futures, which have no thread to lead with, get one: it comes
//! with the first of them, and goes when none has come for a while.
//!
//! Where the disk takes most of the time that the work of a group takes, submitters are divided: half of them work while
//! the disk flushes what the others did. The leader of a group that is written passes the write lock on, and waits for
//! the disk beside the next one.

use std::any::Any;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::Database;
use super::helper::Helper;
use crate::error::{Error, Result};
use crate::ids::Txnid;
use crate::store::Writer;
use crate::store::landing::Landing;
use crate::txn::WriteTxn;

/// A group takes no more than this, so that its first member does not wait for ever.
const GROUP_MAX: usize = 1024;
/// A leader waits this part of the last group's time, at most, for those who were in it: told that they were committed,
/// they are about to submit again. Without that, groups of one take turns with groups of all others.
const PATIENCE: u32 = 4;
/// The write lock is passed on so often before other handles, and other ways to write, have their turn.
const PASSES_MAX: u32 = 32;
/// Changes that take less than this are not divided into halves: each group more wakes threads more often, and writes the
/// upper pages once more, which takes as long as what is hidden behind a flush.
const WORTH_DIVIDING: Duration = Duration::from_micros(200);

/// What was submitted to one handle and not begun yet, in order.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Who leads for those who have no thread to lead with.
    helper: Arc<Helper<Database>>,
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
struct Baton {
    writer: Box<Writer>,
    passes: u32,
}

/// What the last group tells about the next.
#[derive(Clone, Copy, Default)]
struct Pace {
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
    fn divides(&self) -> bool {
        let all = self.work * self.crowd as u32;
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
    fn push(&self, entry: Entry) -> bool {
        let mut state = lock(&self.state);
        state.waiting.push_back(entry);
        !std::mem::replace(&mut state.led, true)
    }

    /// Waits for as many as are expected, but not for long.
    fn gather(&self) -> Pace {
        let begun = Instant::now();
        loop {
            let state = lock(&self.state);
            let pace = state.pace;
            if state.waiting.len() >= pace.members() || begun.elapsed() > pace.group / PATIENCE {
                return pace;
            }
            drop(state);
            std::thread::yield_now();
        }
    }

    /// The next entry, and whether it was the only one.
    fn pop(&self) -> Option<(Entry, bool)> {
        let mut state = lock(&self.state);
        let entry = state.waiting.pop_front()?;
        Some((entry, state.waiting.is_empty()))
    }

    /// Takes what the group before has passed on.
    fn take_baton(&self) -> Option<Baton> {
        lock(&self.state).baton.take()
    }

    /// Takes back what nobody has taken. What has been passed on since is not the same.
    fn take_back(&self, commit: Txnid) -> Option<Baton> {
        lock(&self.state).baton.take_if(|baton| baton.writer.meta.txnid == commit)
    }

    /// Passes the write lock on to the next leader, whom [`Queue::next_leader`] finds or who is the next to come.
    fn pass_on(&self, baton: Baton) {
        lock(&self.state).baton = Some(baton);
    }

    /// Ends a leadership: who has to lead next, if anybody waits.
    fn next_leader(&self) -> Option<Arc<dyn Ticket>> {
        let mut state = lock(&self.state);
        let next = state.waiting.front().map(|entry| entry.ticket.clone());
        state.led = next.is_some();
        next
    }

    /// A group of so many was written after so long: what the next should be like.
    fn written(&self, members: usize, time: Duration) -> Pace {
        let mut state = lock(&self.state);
        state.untold += members;
        let (found, before) = (state.untold + state.waiting.len(), state.pace.crowd);
        // Of two halves, those who were just told and are about to submit again are not to be found: so it falls slowly.
        let least = if state.pace.divides() { before - before.div_ceil(8) } else { 0 };
        state.pace.crowd = found.max(least);
        state.pace.work = time / members.max(1) as u32;
        state.pace
    }

    /// The group is about to be told.
    fn landed(&self, members: usize, flush: Option<Duration>, group: Duration) {
        let mut state = lock(&self.state);
        state.untold -= members;
        state.pace.flush = match (state.pace.flush, flush) {
            (Some(before), Some(now)) => Some((before * 3 + now) / 4),
            (before, now) => now.or(before),
        };
        state.pace.group = group;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A change, with where to say what became of it.
struct Entry {
    /// Runs the change and keeps what it returned; true if its transaction is to be kept.
    change: Box<dyn FnOnce(&mut WriteTxn<'_>) -> bool + Send>,
    ticket: Arc<dyn Ticket>,
}

/// The submitter, as its leader sees it.
trait Ticket: Send + Sync {
    /// The change came to nothing for a reason that is not its own.
    fn fail(&self, error: Error);
    /// It is decided. A thread that waits is told so; of a task, what wakes it comes back.
    fn settle(&self) -> Option<Waker>;
    /// Asks it to lead the next group; false if it has no thread for that.
    fn lead(&self) -> bool;
}

/// What became of a change.
enum Outcome<T> {
    Done(Result<T>),
    Panicked(Box<dyn Any + Send>),
}

enum Phase {
    Queued,
    ToLead,
    Settled,
}

struct Progress<T> {
    outcome: Option<Outcome<T>>,
    phase: Phase,
    waker: Option<Waker>,
}

/// Where a submitter waits.
struct Slot<T> {
    progress: Mutex<Progress<T>>,
    woken: Condvar,
    has_thread: bool,
}

impl<T: Send> Ticket for Slot<T> {
    fn fail(&self, error: Error) {
        let mut progress = lock(&self.progress);
        if matches!(progress.outcome, None | Some(Outcome::Done(Ok(_)))) {
            progress.outcome = Some(Outcome::Done(Err(error)));
        }
    }

    fn settle(&self) -> Option<Waker> {
        let mut progress = lock(&self.progress);
        progress.phase = Phase::Settled;
        let waker = progress.waker.take();
        drop(progress);
        self.woken.notify_one();
        waker
    }

    fn lead(&self) -> bool {
        if self.has_thread {
            lock(&self.progress).phase = Phase::ToLead;
            self.woken.notify_one();
        }
        self.has_thread
    }
}

impl<T> Slot<T> {
    fn new(has_thread: bool) -> Arc<Slot<T>> {
        let progress = Progress { outcome: None, phase: Phase::Queued, waker: None };
        Arc::new(Slot { progress: Mutex::new(progress), woken: Condvar::new(), has_thread })
    }

    /// Waits until it is decided, or until this thread is to lead: true then.
    fn wait(&self) -> bool {
        let progress = lock(&self.progress);
        let queued = |progress: &mut Progress<T>| matches!(progress.phase, Phase::Queued);
        let progress = self.woken.wait_while(progress, queued).unwrap_or_else(PoisonError::into_inner);
        matches!(progress.phase, Phase::ToLead)
    }

    fn take(&self) -> Result<T> {
        let outcome = lock(&self.progress).outcome.take();
        match outcome.expect("a settled change has an outcome, taken once") {
            Outcome::Done(result) => result,
            Outcome::Panicked(cause) => resume_unwind(cause),
        }
    }
}

/// A change on its way; what [`Database::submit_async`] returns. Dropping it does not take the change back.
#[must_use = "only awaiting it tells whether the change was committed"]
pub struct Submitted<T> {
    slot: Arc<Slot<T>>,
}

impl<T: Send> Future for Submitted<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        let mut progress = lock(&self.slot.progress);
        if !matches!(progress.phase, Phase::Settled) {
            match &mut progress.waker {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
            return Poll::Pending;
        }
        drop(progress);
        Poll::Ready(self.slot.take())
    }
}

impl<T> std::fmt::Debug for Submitted<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Submitted(..)")
    }
}

impl Database {
    /// As [`Database::update`], but together with what other threads submit to this handle at the same time: all of it
    /// is committed with one flush. The closure runs on the thread of one of them, in a child transaction: if it
    /// returns an error, or panics, nothing of it remains, and the others are not touched. It must not wait for another
    /// write transaction of its own.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let db = duramen::Database::open(dir.path().join("people.dm"))?;
    /// std::thread::scope(|scope| {
    ///     for n in 0..8u32 {
    ///         let db = &db;
    ///         scope.spawn(move || db.submit(move |txn| txn.table("people")?.put(n.to_be_bytes(), b"...")));
    ///     }
    /// });
    /// assert_eq!(db.read()?.table("people")?.len(), 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Whatever the closure returns. If the commit fails it fails for all in the group, and if those are several each
    /// gets an [`Error::Group`].
    pub fn submit<T, F>(&self, change: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut WriteTxn<'_>) -> Result<T> + Send + 'static,
    {
        let slot = Slot::new(true);
        if self.queue.push(entry(&slot, change)) || slot.wait() {
            self.lead_group();
        }
        slot.take()
    }

    /// As [`Database::submit`], for any asynchronous runtime. The change is queued at once, awaited or not.
    pub fn submit_async<T, F>(&self, change: F) -> Submitted<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut WriteTxn<'_>) -> Result<T> + Send + 'static,
    {
        let slot = Slot::new(false);
        if self.queue.push(entry(&slot, change)) {
            self.lead_elsewhere();
        }
        Submitted { slot }
    }

    /// Leads one group, and lets the next begin.
    fn lead_group(&self) {
        if self.run_group() == Next::ToBegin {
            self.begin_next();
        }
    }

    /// Tells who leads the next group.
    fn begin_next(&self) {
        if let Some(next) = self.queue.next_leader()
            && !next.lead()
        {
            self.lead_elsewhere();
        }
    }

    /// Leads groups on a thread of their own until a submitter can lead, or nobody waits.
    fn lead_elsewhere(&self) {
        let lead = |db: Database| {
            while db.run_group() == Next::ToBegin
                && let Some(next) = db.queue.next_leader()
                && !next.lead()
            {}
        };
        if let Err(error) = self.queue.helper.call(self.clone(), lead) {
            self.refuse_all(error);
        }
    }

    /// Without a thread to lead, what waits is told so.
    fn refuse_all(&self, error: std::io::Error) {
        let error = Arc::new(Error::Io { op: "start a thread for what was submitted", source: error });
        while let Some((entry, _)) = self.queue.pop() {
            entry.ticket.fail(Error::Group { source: error.clone() });
            entry.ticket.settle().into_iter().for_each(Waker::wake);
        }
        if let Some(next) = self.queue.next_leader()
            && !next.lead()
        {
            self.refuse_all(std::io::ErrorKind::WouldBlock.into());
        }
    }

    /// Runs what waits, and commits it.
    fn run_group(&self) -> Next {
        let baton = self.queue.take_baton();
        let passes = baton.as_ref().map_or(0, |baton| baton.passes);
        let members_max = self.queue.gather().members_max();
        let (begun, mut group) = (Instant::now(), Vec::new());
        let written = self.run_entries(baton, &mut group, members_max);
        let work = begun.elapsed();
        let (mut landing, baton) = match written {
            Ok(Some((landing, writer))) => (landing, Baton { writer, passes: passes + 1 }),
            not_to_land => {
                self.queue.written(group.len(), work);
                self.queue.landed(group.len(), None, work);
                tell(&group, not_to_land.map(drop));
                return Next::ToBegin;
            }
        };
        let pace = self.queue.written(group.len(), work.saturating_sub(landing.waited));
        let (next, landed) = if pace.divides() && passes < PASSES_MAX {
            (Next::Begun, self.land_beside(&mut landing, baton))
        } else {
            (Next::ToBegin, self.land(&mut landing, baton))
        };
        self.queue.landed(group.len(), landed.as_ref().ok().copied(), begun.elapsed());
        tell(&group, landed.map(drop));
        // Nobody waits for that.
        landing.ask_ahead();
        next
    }

    /// Waits for the disk; how long.
    fn land(&self, landing: &mut Landing, baton: Baton) -> Result<Duration> {
        let landed = landing.land();
        self.give_back(baton, landed.as_ref().ok());
        landed
    }

    /// Gives the write lock back after a flush.
    fn give_back(&self, mut baton: Baton, flush: Option<&Duration>) {
        if let Some(flush) = flush {
            baton.writer.last_commit.flush_us = flush.as_micros() as u64;
        }
        self.store.end_write(baton.writer);
    }

    /// Waits for the disk while the next group is at work; or until somebody comes to lead one.
    fn land_beside(&self, landing: &mut Landing, baton: Baton) -> Result<Duration> {
        let commit = baton.writer.meta.txnid;
        self.queue.pass_on(baton);
        self.begin_next();
        let landed = landing.land();
        if let Some(baton) = self.queue.take_back(commit) {
            self.give_back(baton, landed.as_ref().ok());
        }
        landed
    }

    fn run_entries(
        &self,
        baton: Option<Baton>,
        group: &mut Vec<Arc<dyn Ticket>>,
        members_max: usize,
    ) -> Result<Option<(Landing, Box<Writer>)>> {
        let mut txn = baton.map(|baton| WriteTxn::resume(&self.store, baton.writer, self.durability()));
        while group.len() < members_max
            && let Some((entry, last)) = self.queue.pop()
        {
            group.push(entry.ticket.clone());
            let mut open = match txn.take() {
                Some(open) => open,
                None => self.begin_write()?,
            };
            if last && group.len() == 1 {
                txn = run_alone(open, entry);
            } else {
                run_in_child(&mut open, entry)?;
                txn = Some(open);
            }
        }
        txn.map_or(Ok(None), WriteTxn::commit_unlanded)
    }
}

/// Who leads the next group.
#[derive(PartialEq, Eq)]
enum Next {
    /// Whoever waits has to be told.
    ToBegin,
    /// Somebody was told, or will come by himself.
    Begun,
}

/// Tells everyone what became of it. A task that awaits several is woken when all of them are decided.
fn tell(group: &[Arc<dyn Ticket>], committed: Result<()>) {
    match (committed, group) {
        (Ok(()), _) => {}
        (Err(error), [only]) => only.fail(error),
        (Err(error), all) => {
            let source = Arc::new(error);
            all.iter().for_each(|ticket| ticket.fail(Error::Group { source: source.clone() }));
        }
    }
    let mut wakers: Vec<Waker> = group.iter().filter_map(|ticket| ticket.settle()).collect();
    wakers.dedup_by(|next, before| next.will_wake(before));
    wakers.into_iter().for_each(Waker::wake);
}

/// Runs a change that is alone so far, without a child transaction; none is left if it came to nothing.
fn run_alone(mut txn: WriteTxn<'static>, entry: Entry) -> Option<WriteTxn<'static>> {
    if !(entry.change)(&mut txn) {
        return None;
    }
    // It may have overlooked an error that leaves nothing to be committed.
    txn.check().map_err(|error| entry.ticket.fail(error)).ok().map(|()| txn)
}

/// Runs a change so that its failure is its own.
fn run_in_child(txn: &mut WriteTxn<'_>, entry: Entry) -> Result<()> {
    let mut child = txn.child()?;
    if (entry.change)(&mut child)
        && let Err(error) = child.commit()
    {
        entry.ticket.fail(error);
    }
    Ok(())
}

fn entry<T, F>(slot: &Arc<Slot<T>>, change: F) -> Entry
where
    T: Send + 'static,
    F: FnOnce(&mut WriteTxn<'_>) -> Result<T> + Send + 'static,
{
    let mine = slot.clone();
    let change = move |txn: &mut WriteTxn<'_>| {
        let outcome = match catch_unwind(AssertUnwindSafe(|| change(txn))) {
            Ok(result) => Outcome::Done(result),
            Err(cause) => Outcome::Panicked(cause),
        };
        let keep = matches!(outcome, Outcome::Done(Ok(_)));
        lock(&mine.progress).outcome = Some(outcome);
        keep
    };
    Entry { change: Box::new(change), ticket: slot.clone() }
}
