//! One of many threads that change a database at the same time.
//!
//! Owns: what it does ([`Worker::step`]), its tables and their model. Must not know: whose turn it is, which process it is in.
//!
//! Each has tables of its own, so that it knows what is in them. Each of its changes also takes the next place in a table that all
//! share: what comes in which order is told by that.

use std::fs::File;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use duramen::{Database, Durability, Error, Snapshot, WriteTxn};

use super::gate::Gate;
use super::{ORDER, Plan};
use crate::disk::{Disk, Mark};
use crate::model::{self, Digests, Model};
use crate::workload::{Commits, Profile, Verdict, bulk, change};

/// A change: whose, and which of his.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The number of the worker.
    pub worker: u32,
    /// The number among its steps.
    pub step: u32,
}

impl Change {
    /// As it stands in the table of all changes.
    pub(super) fn to_bytes(self) -> [u8; 8] {
        (u64::from(self.worker) << 32 | u64::from(self.step)).to_be_bytes()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Change> {
        let word = u64::from_be_bytes(bytes.try_into().ok()?);
        Some(Change { worker: (word >> 32) as u32, step: word as u32 })
    }

    fn rng(self, plan: &Plan) -> fastrand::Rng {
        let seed = u64::from_be_bytes(self.to_bytes()).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ plan.seed;
        fastrand::Rng::with_seed(seed)
    }

    /// Makes the change, of the worker's tables as well as of their model. Its place among all changes.
    pub(super) fn make(
        self,
        txn: &mut WriteTxn<'_>,
        model: &mut Model,
        plan: &Plan,
        disk: &Disk,
    ) -> Result<Verdict<usize>, Error> {
        let mut rng = self.rng(plan);
        let mut order = txn.table(ORDER)?;
        let place = order.len() + 1;
        order.put(place.to_be_bytes(), self.to_bytes())?;
        let state = super::state_after(place);
        disk.mark(Mark::Begun(state));
        let profile = Profile { owner: format!("{} ", self.worker), ..plan.profile.clone() };
        for _ in 0..=rng.u32(..profile.changes) {
            match change(txn, model, &mut rng, &profile, 0) {
                Ok(done) => done?,
                Err(finding) => return Ok(Err(finding)),
            }
        }
        if profile.bulk > 0 && rng.u32(..8) == 0 {
            bulk(txn, model, &mut rng, &profile)?;
        }
        Ok(Ok(state))
    }
}

/// How a change ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Made,
    Fails,
    Panics,
}

/// How long a change takes at least, where the log takes time.
const WORK: Duration = Duration::from_micros(300);
/// What its panics say, to be told from others.
const ON_PURPOSE: &str = "on purpose";

/// See the module's head.
pub(super) struct Worker<'w> {
    plan: &'w Arc<Plan>,
    disk: &'w Arc<Disk>,
    db: &'w Database,
    gate: &'w Arc<Gate>,
    number: u32,
    model: Model,
    /// What its turn is taken by, where there is no lock file.
    turn: Option<File>,
    /// A reader that stays, and what it has to see.
    parked: Option<(Snapshot<'static>, Digests)>,
}

impl<'w> Worker<'w> {
    pub(super) fn new(
        plan: &'w Arc<Plan>,
        disk: &'w Arc<Disk>,
        db: &'w Database,
        gate: &'w Arc<Gate>,
        number: u32,
    ) -> Verdict<Worker<'w>> {
        let turn = if plan.profile.lock_file { None } else { Some(turns(db.path())?) };
        Ok(Worker { plan, disk, db, gate, number, model: Model::default(), turn, parked: None })
    }

    /// Does something while nobody else does anything of the kind.
    fn in_turn<T>(&mut self, what: impl FnOnce(&mut Worker<'w>) -> Verdict<T>) -> Verdict<T> {
        let Some(turn) = self.turn.as_ref().map(File::try_clone).transpose().map_err(|e| e.to_string())? else {
            return what(self);
        };
        turn.lock().map_err(|e| format!("waiting for a turn: {e}"))?;
        let done = what(self);
        turn.unlock().map_err(|e| format!("ending a turn: {e}"))?;
        done
    }

    /// Does one thing. The change and the state that it led to, if it made one.
    pub(super) fn step(&mut self, step: u32) -> Verdict<Option<(usize, Change)>> {
        let this = Change { worker: self.number, step };
        let mut rng = fastrand::Rng::with_seed(this.rng(self.plan).u64(..));
        let done = match rng.u32(..24) {
            0 => self.in_turn(|this| this.made_durable("a checkpoint", Database::checkpoint)),
            1 => self.in_turn(|this| this.made_durable("sync", Database::sync)),
            2 => self.park(),
            3 => self.in_turn(|this| this.copy(&mut rng)),
            4 => self.in_turn(|this| this.check("beside others")),
            5 => self.come_and_go(),
            _ => return self.in_turn(|worker| worker.change(this, &mut rng)),
        };
        done.map(|()| None).map_err(|finding| format!("worker {}, step {step}: {finding}", self.number))
    }

    /// Ends; its reader has seen the same all the time.
    pub(super) fn end(mut self) -> Verdict<()> {
        self.unpark()
    }

    fn change(&mut self, this: Change, rng: &mut fastrand::Rng) -> Verdict<Option<(usize, Change)>> {
        let is_durable = match self.plan.profile.commits {
            Commits::Durable => true,
            Commits::Relaxed => false,
            Commits::Mixed => rng.bool(),
        };
        let fate = [Fate::Fails, Fate::Panics, Fate::Made][rng.usize(..12).min(2)];
        let (plan, disk, gate) = (self.plan.clone(), self.disk.clone(), self.gate.clone());
        let mut model = self.model.clone();
        let run = move |txn: &mut WriteTxn<'_>| {
            txn.set_durability(if is_durable { Durability::Durable } else { Durability::Relaxed });
            let begun = Instant::now();
            let made = this.make(txn, &mut model, &plan, &disk)?;
            if plan.slowness > 0 {
                thread::sleep(WORK);
            }
            gate.saw_change(begun.elapsed());
            match fate {
                Fate::Made => Ok(made.map(|state| (state, model))),
                Fate::Fails => Err(Error::other(ON_PURPOSE)),
                Fate::Panics => resume_unwind(Box::new(ON_PURPOSE)),
            }
        };
        let (db, way) = (self.db, rng.u32(..8));
        let ended = catch_unwind(AssertUnwindSafe(|| match way {
            0 | 1 => db.update(run),
            2 => wait_for(db.submit_async(run)),
            3 => wait_for(db.submit_brief(Duration::from_millis(5), run)),
            _ => db.submit(run),
        }));
        let about = |what: String| format!("{this:?}, way {way}: {what}");
        match (ended, fate) {
            (Ok(Ok(made)), Fate::Made) => {
                let (state, model) = made.map_err(about)?;
                self.model = model;
                if is_durable {
                    self.disk.mark(Mark::Durable(state));
                }
                self.sees_its_own(&*self.read()?, rng.u32(..4) == 0).map_err(about)?;
                Ok(Some((state, this)))
            }
            (Ok(Err(Error::Other { .. })), Fate::Fails) => Ok(None),
            (Err(panic), Fate::Panics) if panic.downcast_ref() == Some(&ON_PURPOSE) => Ok(None),
            (Ok(Err(error)), _) => Err(about(format!("it failed: {error}"))),
            (Err(panic), _) => Err(about(format!("a panic: {}", crate::said(&*panic)))),
            (Ok(Ok(_)), _) => Err(about("it was committed".into())),
        }
    }

    fn read(&self) -> Verdict<Box<Snapshot<'static>>> {
        self.db.read_owned().map(Box::new).map_err(|e| format!("beginning to read: {e}"))
    }

    /// The worker's tables are as it left them, in any snapshot since its last change; all of them, or their names.
    fn sees_its_own(&self, snapshot: &Snapshot<'_>, all: bool) -> Verdict<()> {
        let prefix = format!("{} ", self.number).into_bytes();
        let is_own = |name: &&[u8]| name.starts_with(&prefix);
        if !all {
            let names = snapshot.table_names().map_err(|e| format!("the list of tables: {e}"))?;
            let found = names.iter().map(Vec::as_slice).filter(is_own);
            let same = found.eq(self.model.tables.keys().map(Vec::as_slice));
            return if same { Ok(()) } else { Err("a worker misses its own tables".into()) };
        }
        let mut found = model::digests(snapshot)?;
        found.retain(|name, _| is_own(&name.as_slice()));
        let wanted = self.model.digests();
        if found == wanted {
            return Ok(());
        }
        Err(format!("a worker's own tables: {}", model::difference(&found, &wanted)))
    }

    fn made_durable(&self, what: &str, make: fn(&Database) -> duramen::Result<()>) -> Verdict<()> {
        let state = super::state_of(&*self.read()?)?;
        make(self.db).map_err(|e| format!("{what}: {e}"))?;
        self.disk.mark(Mark::Durable(state));
        Ok(())
    }

    /// Opens the database once more, and closes it.
    fn come_and_go(&self) -> Verdict<()> {
        let options = self.disk.under(self.plan.options_of(self.number));
        let db = options.open(self.db.path()).map_err(|e| format!("opening once more: {e}"))?;
        db.close().map_err(|e| format!("closing once more: {e}"))
    }

    /// Begins to read and stays, or ends such a reader.
    fn park(&mut self) -> Verdict<()> {
        if self.parked.is_some() || self.turn.is_some() {
            return self.unpark();
        }
        let snapshot = self.db.read_owned().map_err(|e| format!("beginning to read: {e}"))?;
        let digests = model::digests(&snapshot)?;
        self.parked = Some((snapshot, digests));
        Ok(())
    }

    fn unpark(&mut self) -> Verdict<()> {
        let Some((snapshot, digests)) = self.parked.take() else { return Ok(()) };
        let found = model::digests(&snapshot).map_err(|e| format!("a parked reader: {e}"))?;
        if found == digests {
            return Ok(());
        }
        Err(format!("a parked reader's state changed: {}", model::difference(&found, &digests)))
    }

    /// Copies the database beside all others, and looks at the copy.
    fn copy(&self, rng: &mut fastrand::Rng) -> Verdict<()> {
        let path = copy_path(self.db.path(), self.number);
        let before = super::state_of(&*self.read()?)?;
        let failed = |e: Error| format!("copying: {e}");
        if rng.bool() {
            self.db.copy_compact(&path, |_, _| std::ops::ControlFlow::Continue(())).map_err(failed)?;
        } else {
            let file = File::create_new(&path).map_err(|e| format!("a file for a copy: {e}"))?;
            self.db.copy_to_file(&file).map_err(failed)?;
        }
        let after = super::state_of(&*self.read()?)?;
        self.look_at_copy(&path, before..=after).map_err(|finding| format!("a copy: {finding}"))?;
        std::fs::remove_file(&path).map_err(|e| format!("removing a copy: {e}"))
    }

    fn look_at_copy(&self, path: &Path, states: std::ops::RangeInclusive<usize>) -> Verdict<()> {
        let copy = Database::options().read_only(true).without_lock_file().open(path).map_err(|e| e.to_string())?;
        let report = copy.check(|_, _| {}).map_err(|e| e.to_string())?;
        if let Some(finding) = report.findings.first() {
            return Err(finding.clone());
        }
        let snapshot = copy.read().map_err(|e| e.to_string())?;
        let state = super::state_of(&snapshot)?;
        if !states.contains(&state) {
            return Err(format!("it holds state {state}, which is not one of {states:?}"));
        }
        self.sees_its_own(&snapshot, true)
    }

    fn check(&self, when: &str) -> Verdict<()> {
        let report = self.db.check(|_, _| {}).map_err(|e| format!("{when}, checking: {e}"))?;
        report.findings.first().map_or(Ok(()), |finding| Err(format!("{when}, the check finds: {finding}")))
    }
}

/// Where the worker of this number makes its copies.
pub(super) fn copy_path(data: &Path, number: u32) -> PathBuf {
    data.with_extension(format!("{number}-copy"))
}

/// The file by which turns are taken.
fn turns(data: &Path) -> Verdict<File> {
    let open = File::options().write(true).create(true).truncate(false).open(data.with_extension("turns"));
    open.map_err(|e| format!("a file to take turns by: {e}"))
}

struct Waking(Thread);

impl Wake for Waking {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Waking(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}
