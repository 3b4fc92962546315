//! Group commit: what many threads submit goes into one transaction, and waits for the disk once.
//!
//! Owns: how a group is led, who is told what. Must not know: how a commit is done.
//!
//! Whoever submits while nobody leads leads one group: it runs, in one transaction, what is in the queue and what comes
//! while it runs, each in a child transaction of its own, commits, and tells everyone. What was submitted while the disk
//! flushed is the next group, led by the first thread in it. So nobody serves others for longer than one group, and a
//! lone thread does what [`Database::update`] does. Only futures, which have no thread to lead with, get one: it comes
//! with the first of them, and goes when none has come for a while. A *brief* change needs none where it has to wait for
//! no other writer, and for the disk not at all or no longer than its submitter is ready to: whoever asks for its outcome
//! first leads.
//!
//! Where the disk takes most of the time that the work of a group takes, submitters are divided: half of them work while
//! the disk flushes what the others did. The leader of a group that is written passes the write lock on, and waits for
//! the disk beside the next one.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::Database;
use super::queue::{Baton, Entry, Guarded, Share, Ticket, lock};
use crate::error::{Error, Result};
use crate::store::landing::Landing;
use crate::store::{Durability, Writer};
use crate::txn::WriteTxn;
use crate::width::micros;

/// The write lock is passed on so often before other handles, and other ways to write, have their turn.
const PASSES_MAX: u32 = 32;
/// A thread that asks for the outcome of brief changes takes so many of them into a group,
const BRIEF_MAX: usize = 64;
/// and leads so many groups, or one that waits for the disk, before it goes back to its other work.
const BRIEF_GROUPS: u32 = 4;

/// So many tasks may take turns in a group, each of them with many changes, and are still woken once.
const ALIKE: usize = 16;

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
            let before = progress.outcome.replace(Outcome::Done(Err(error)));
            // Not under the lock: it may be asked for meanwhile by what the result does when it is dropped.
            drop(progress);
            drop(Guarded::new(before));
        }
    }

    fn settle(&self) -> Option<Waker> {
        let mut progress = lock(&self.progress);
        progress.phase = Phase::Settled;
        let waker = progress.waker.take();
        drop(progress);
        // Waking nobody costs a system call, too.
        if self.has_thread {
            self.woken.notify_one();
        }
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
    /// To begin when somebody first asks for the outcome, or no longer will.
    unbegun: Option<Database>,
}

impl<T: Send> Submitted<T> {
    /// Of a change that is not even queued.
    fn refused(error: Error) -> Submitted<T> {
        let slot = Slot::new(false);
        slot.fail(error);
        slot.settle();
        Submitted { slot, unbegun: None }
    }
}

impl<T> Submitted<T> {
    fn begin(&mut self) {
        if let Some(db) = self.unbegun.take()
            && db.queue.lead_unled()
        {
            db.lead_here();
        }
    }
}

impl<T> Drop for Submitted<T> {
    fn drop(&mut self) {
        self.begin();
    }
}

impl<T: Send> Future for Submitted<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        self.begin();
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
    /// returns an error, or panics, nothing of it remains, and the others are not touched. In it a wait for another write
    /// transaction of its own is [`Error::Usage`].
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
        self.store.shared.check()?;
        // However long a writer may be waited for: there may be nobody else to lead.
        self.inside.check()?;
        let slot = Slot::new(true);
        let mut leads = self.queue.push(entry(&slot, false, change));
        // Brief changes that nobody has asked for yet may stand before it, more than go into one group.
        while leads || slot.wait() {
            self.lead_group();
            leads = false;
        }
        slot.take()
    }

    /// As [`Database::submit`], for any asynchronous runtime. The change is queued at once, awaited or not.
    pub fn submit_async<T, F>(&self, change: F) -> Submitted<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut WriteTxn<'_>) -> Result<T> + Send + 'static,
    {
        if let Err(error) = self.store.shared.check() {
            return Submitted::refused(error);
        }
        let slot = Slot::new(false);
        if self.queue.push(entry(&slot, false, change)) {
            self.lead_elsewhere();
        }
        Submitted { slot, unbegun: None }
    }

    /// As [`Database::submit_async`], for changes that take no longer than a look into the database, from threads that
    /// may spend as long, and wait for the disk as long as `patience` (which [`Durability::Relaxed`] does not ask for). If
    /// the disk has taken longer of late, or that is not known yet, it is what `submit_async` does. Else nothing is done
    /// before the future is polled or dropped; where it then has to wait for neither another writer nor a checkpoint it
    /// is done right there, with what else was submitted so until then; and if not, by a thread of its own.
    pub fn submit_brief<T, F>(&self, patience: Duration, change: F) -> Submitted<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut WriteTxn<'_>) -> Result<T> + Send + 'static,
    {
        if self.durability() == Durability::Durable && !self.queue.flushes_within(patience) {
            return self.submit_async(change);
        }
        if let Err(error) = self.store.shared.check() {
            return Submitted::refused(error);
        }
        let slot = Slot::new(false);
        self.queue.push_unled(entry(&slot, true, change));
        Submitted { slot, unbegun: Some(self.clone()) }
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

    /// Leads groups of brief changes on this thread, but not for long, and not where it would have to wait.
    fn lead_here(&self) {
        let share = Share { members_max: BRIEF_MAX, brief: true };
        let groups = if self.durability() == Durability::Durable { 1 } else { BRIEF_GROUPS };
        for _ in 0..groups {
            let Some(txn) = self.begin_at_once() else { break };
            if self.run_group_in(Some(txn), 0, share) == Next::Begun {
                return;
            }
            match self.queue.next_leader() {
                Some(next) if !next.lead() => {}
                _ => return,
            }
        }
        self.lead_elsewhere();
    }

    /// A transaction for brief changes, if they are next and it has to wait neither now nor, at its end, for more than a
    /// flush of the log.
    fn begin_at_once(&self) -> Option<WriteTxn<'static>> {
        let txn = self.queue.is_brief().then(|| self.try_begin_write())?;
        txn.ok().filter(|txn| !txn.is_flush_near())
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
        let all = Share { members_max: usize::MAX, brief: false };
        loop {
            while let Some((entry, _)) = self.queue.pop(all, 0) {
                entry.ticket.fail(Error::Group { source: error.clone() });
                entry.ticket.settle().into_iter().for_each(wake);
                drop(Guarded::new(entry.ticket));
            }
            // Who has come meanwhile may have a thread.
            match self.queue.next_leader() {
                Some(next) if !next.lead() => {}
                _ => return,
            }
        }
    }

    /// Runs what waits, and commits it.
    fn run_group(&self) -> Next {
        let baton = self.queue.take_baton();
        let passes = baton.as_ref().map_or(0, |baton| baton.passes);
        let share = self.queue.gather();
        let txn = baton.map(|baton| WriteTxn::resume(&self.store, baton.writer, self.durability()));
        self.run_group_in(txn, passes, share)
    }

    /// Runs what waits in this transaction, if it has begun already, and commits it.
    fn run_group_in(&self, txn: Option<WriteTxn<'static>>, passes: u32, share: Share) -> Next {
        let (begun, mut group) = (Instant::now(), Vec::new());
        let written = self.run_entries(txn, &mut group, share);
        let work = begun.elapsed();
        let (mut landing, baton) = match written {
            Ok(Some((landing, writer))) => (landing, Baton { writer, passes: passes + 1 }),
            not_to_land => {
                self.queue.written(group.len(), work);
                self.queue.landed(group.len(), None, work);
                tell(group, not_to_land.map(drop));
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
        tell(group, landed.map(drop));
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
            baton.writer.last_commit.flush_us = micros(*flush);
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
        mut txn: Option<WriteTxn<'static>>,
        group: &mut Vec<Arc<dyn Ticket>>,
        share: Share,
    ) -> Result<Option<(Landing, Box<Writer>)>> {
        let usual = self.durability();
        let mut asked = None;
        while let Some((entry, last)) = self.queue.pop(share, group.len()) {
            group.push(entry.ticket.clone());
            let mut open = match txn.take() {
                Some(open) => open,
                None => self.begin_write()?,
            };
            let _inside = self.inside.enter();
            if last && group.len() == 1 {
                txn = run_alone(open, entry);
                asked = txn.as_ref().map(WriteTxn::durability);
            } else {
                let its = run_in_child(&mut open, entry, usual)?;
                asked = if asked == Some(Durability::Durable) { asked } else { its.or(asked) };
                txn = Some(open);
            }
        }
        let Some(mut txn) = txn else { return Ok(None) };
        txn.set_durability(asked.unwrap_or(usual));
        txn.commit_unlanded()
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

/// Tells everyone what became of it. A task that awaits several is woken once, when all of them are decided.
fn tell(group: Vec<Arc<dyn Ticket>>, committed: Result<()>) {
    match (committed, group.as_slice()) {
        (Ok(()), _) => {}
        (Err(error), [only]) => only.fail(error),
        (Err(error), all) => {
            let source = Arc::new(error);
            all.iter().for_each(|ticket| ticket.fail(Error::Group { source: source.clone() }));
        }
    }
    let mut wakers: Vec<Waker> = Vec::with_capacity(group.len());
    for waker in group.iter().filter_map(|ticket| ticket.settle()) {
        if !wakers.iter().rev().take(ALIKE).any(|before| before.will_wake(&waker)) {
            wakers.push(waker);
        }
    }
    wakers.into_iter().for_each(wake);
    group.into_iter().map(Guarded::new).for_each(drop);
}

/// Wakes a task. What its runtime does then is its own: a panic there must not end who leads for the others.
fn wake(waker: Waker) {
    if catch_unwind(AssertUnwindSafe(|| waker.wake())).is_err() {
        tracing::error!("waking a task panicked");
    }
}

/// Runs a change that is alone so far, without a child transaction; none is left if it came to nothing.
fn run_alone(mut txn: WriteTxn<'static>, entry: Entry) -> Option<WriteTxn<'static>> {
    if !entry.change.into_inner()(&mut txn) {
        return None;
    }
    // It may have overlooked an error that leaves nothing to be committed.
    txn.check().map_err(|error| entry.ticket.fail(error)).ok().map(|()| txn)
}

/// Runs a change so that its failure is its own; the durability that it asks for, if it remains.
fn run_in_child(txn: &mut WriteTxn<'_>, entry: Entry, usual: Durability) -> Result<Option<Durability>> {
    let mut child = txn.child()?;
    child.set_durability(usual);
    if !entry.change.into_inner()(&mut child) {
        return Ok(None);
    }
    let its = child.durability();
    Ok(child.commit().map_err(|error| entry.ticket.fail(error)).ok().map(|()| its))
}

fn entry<T, F>(slot: &Arc<Slot<T>>, brief: bool, change: F) -> Entry
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
    Entry { change: Guarded::new(Box::new(change)), ticket: slot.clone(), brief }
}
