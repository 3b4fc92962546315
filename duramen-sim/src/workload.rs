//! Seeded random work, done on a database and on its model.
//!
//! Owns: which operations there are and how often ([`Profile`]), the life of a database over many transactions,
//! closings and kills ([`Life`]). Must not know: what a crash leaves.

mod changes;

use std::path::PathBuf;
use std::sync::Arc;

use duramen::{Database, Durability, Error, Snapshot};

use crate::disk::{Call, Disk, Fault, Mark};
use crate::model::{self, Digests, Model};

pub use changes::{bulk, change};

/// The name of a life's data file.
pub const FILE: &str = "life.dm";

/// How a workload's commits reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// All are durable.
    Durable,
    /// None is; checkpoints come now and then.
    Relaxed,
    /// Each transaction chooses.
    Mixed,
}

/// What a workload is like.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Page size of the file.
    pub page_size: usize,
    /// How commits reach the disk.
    pub commits: Commits,
    /// Memory budget of a transaction.
    pub memory_bytes: usize,
    /// Different keys for each table.
    pub keys: u64,
    /// Transactions, and other steps between them.
    pub steps: u32,
    /// Changes in a transaction, at most.
    pub changes: u32,
    /// Longest large value.
    pub large_bytes: usize,
    /// Changes in a hundred that only add: the others may take away.
    pub growth: u32,
    /// Values of a page that some transactions store beside their changes.
    pub bulk: u32,
    /// Whether processes are killed.
    pub kills: bool,
    /// Length of the log that there is from the first commit on, if any.
    pub log: Option<u64>,
    /// Whether the database has a lock file, so that who opens it goes on with what others left. With a log it does.
    pub lock_file: bool,
    /// Whether closing makes relaxed commits durable.
    pub flush_on_close: bool,
    /// Whether checkpoints are made beside relaxed commits all the time.
    pub beside: bool,
    /// Handles that have the database open at the same time, at most, and write in turn.
    pub handles: usize,
    /// Whether calls to the disk fail now and then.
    pub faults: bool,
    /// What the names of tables begin with.
    pub owner: String,
}

impl Profile {
    /// A small database with much going on, different for each seed.
    pub fn small(rng: &mut fastrand::Rng) -> Profile {
        let page_size = [4096, 4096, 4096, 16384][rng.usize(..4)];
        match rng.u32(..8) {
            0 | 1 => return Profile::shared(rng),
            2 | 3 => return Profile::beside(rng),
            _ => {}
        }
        Profile {
            page_size,
            commits: [Commits::Durable, Commits::Relaxed, Commits::Mixed][rng.usize(..3)],
            memory_bytes: [1, 128 << 10, 512 << 10, 64 << 20][rng.usize(..4)],
            keys: [20, 100, 400, 1000][rng.usize(..4)],
            steps: rng.u32(4..16),
            changes: [3, 20, 100, 300][rng.usize(..4)],
            large_bytes: [9000, 30_000, 90_000][rng.usize(..3)],
            growth: rng.u32(30..90),
            bulk: 0,
            kills: rng.bool(),
            log: [None, Some(4096), Some(16 << 10), Some(256 << 10)][rng.usize(..4)],
            lock_file: rng.bool(),
            flush_on_close: rng.bool(),
            beside: false,
            handles: [1, 2][rng.usize(..2)],
            faults: rng.u32(..3) == 0,
            owner: String::new(),
        }
    }

    /// Relaxed commits one after the other, mostly of one handle, and checkpoints beside them.
    fn beside(rng: &mut fastrand::Rng) -> Profile {
        Profile {
            page_size: [4096, 4096, 16384][rng.usize(..3)],
            commits: [Commits::Relaxed, Commits::Relaxed, Commits::Mixed][rng.usize(..3)],
            memory_bytes: [1, 512 << 10, 64 << 20][rng.usize(..3)],
            keys: [20, 100, 400][rng.usize(..3)],
            steps: rng.u32(10..40),
            changes: [3, 20, 100][rng.usize(..3)],
            large_bytes: [9000, 30_000][rng.usize(..2)],
            growth: rng.u32(30..90),
            bulk: 0,
            kills: rng.bool(),
            log: [None, None, None, Some(16 << 10)][rng.usize(..4)],
            lock_file: true,
            flush_on_close: rng.bool(),
            beside: true,
            handles: [1, 2][rng.usize(..2)],
            faults: rng.u32(..3) == 0,
            owner: String::new(),
        }
    }

    /// Several handles that commit little, many times in turn: mostly into the log, which becomes longer meanwhile.
    fn shared(rng: &mut fastrand::Rng) -> Profile {
        Profile {
            page_size: 4096,
            commits: [Commits::Durable, Commits::Durable, Commits::Mixed][rng.usize(..3)],
            memory_bytes: 64 << 20,
            keys: 400,
            steps: rng.u32(20..60),
            changes: [2, 20][rng.usize(..2)],
            large_bytes: 9000,
            growth: rng.u32(60..90),
            bulk: 0,
            kills: rng.bool(),
            log: Some(4096),
            lock_file: true,
            flush_on_close: rng.bool(),
            beside: rng.bool(),
            handles: rng.usize(2..4),
            faults: rng.u32(..3) == 0,
            owner: String::new(),
        }
    }

    /// Transactions of more pages than a single flush proves.
    pub fn big(rng: &mut fastrand::Rng) -> Profile {
        Profile {
            page_size: 4096,
            commits: [Commits::Durable, Commits::Mixed][rng.usize(..2)],
            memory_bytes: [1, 1 << 30][rng.usize(..2)],
            keys: 2000,
            steps: 5,
            changes: 20,
            large_bytes: 30_000,
            growth: 90,
            bulk: 5000,
            kills: true,
            log: [None, Some(256 << 10)][rng.usize(..2)],
            lock_file: rng.bool(),
            flush_on_close: rng.bool(),
            beside: rng.bool(),
            handles: 1,
            faults: rng.u32(..3) == 0,
            owner: String::new(),
        }
    }

    fn has_lock_file(&self) -> bool {
        self.lock_file || self.log.is_some()
    }
}

/// A database from its creation on, over all its openings.
pub struct Life {
    /// What happens to the file.
    pub disk: Arc<Disk>,
    /// Every state that a commit led or would have led to.
    pub states: Vec<Arc<Digests>>,
    models: Vec<Model>,
    profile: Profile,
    rng: fastrand::Rng,
    /// The handle whose turn it is, and the others.
    db: Option<Handle>,
    others: Vec<Handle>,
    parked: Vec<(Snapshot<'static>, usize)>,
    /// The state that readers see.
    newest: usize,
    /// The newest state known to survive a power cut.
    durable: usize,
    /// States that a process which comes again may find, beside the newest.
    in_doubt: Vec<usize>,
    /// Newer states that it did not find. Once it has committed, nothing of these may be found again.
    given_up: Vec<usize>,
    /// After the handles, which are to find their files when they are dropped.
    directory: tempfile::TempDir,
}

/// The database, opened once.
struct Handle {
    db: Database,
    /// The last state that it made.
    made: Option<usize>,
}

/// What a life met that must not be.
pub type Verdict<T> = Result<T, String>;

impl Life {
    /// Begins with no file.
    pub fn begin(profile: Profile, seed: u64) -> Life {
        Life::begin_on(Disk::new(), crate::scratch(), profile, seed)
    }

    /// As [`Life::begin`], on a disk and in a directory chosen by the caller.
    pub fn begin_on(disk: Arc<Disk>, directory: tempfile::TempDir, profile: Profile, seed: u64) -> Life {
        disk.mark(Mark::Begun(0));
        Life {
            disk,
            states: vec![Arc::default()],
            profile,
            rng: fastrand::Rng::with_seed(seed),
            directory,
            models: vec![Model::default()],
            db: None,
            others: Vec::new(),
            parked: Vec::new(),
            newest: 0,
            durable: 0,
            in_doubt: Vec::new(),
            given_up: Vec::new(),
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join(FILE)
    }

    /// The database, open.
    pub fn db(&self) -> Verdict<&Database> {
        self.db.as_ref().map(|handle| &handle.db).ok_or_else(|| "the database is not open".to_string())
    }

    /// Opens the database and finds out which state it has.
    ///
    /// # Errors
    /// The outer one is a finding; the inner one is what a fault led to.
    pub fn open(&mut self) -> Verdict<Result<(), Error>> {
        let durability =
            if self.profile.commits == Commits::Relaxed { Durability::Relaxed } else { Durability::Durable };
        let options = Database::options()
            .page_size(self.profile.page_size)
            .memory_budget(self.profile.memory_bytes)
            .durability(durability)
            .flush_on_close(self.profile.flush_on_close);
        let options = match self.profile.log {
            Some(bytes) => options.log_at_once(bytes),
            None if self.profile.has_lock_file() => options.without_log(),
            None => options.without_lock_file(),
        };
        let options = if self.profile.beside { options.checkpoints_at_once() } else { options };
        match self.disk.under(options).open(self.path()) {
            Ok(db) => self.db = Some(Handle { db, made: None }),
            Err(error) => {
                self.disk.heal();
                return Ok(Err(error));
            }
        }
        self.recognize()?;
        Ok(Ok(()))
    }

    /// Finds out which state the database was opened with, and whether that is certain from now on.
    fn recognize(&mut self) -> Verdict<()> {
        let mut found = self.look();
        if found.is_err() && !self.disk.met().is_empty() {
            self.disk.heal();
            found = self.look();
        }
        if self.disk.is_dead() {
            // What dies while it opens has seen nothing.
            self.end();
            return Ok(());
        }
        let (found, is_durable) = found?;
        let mut candidates = std::mem::take(&mut self.in_doubt);
        candidates.push(self.newest);
        let Some(&state) = candidates.iter().rev().find(|&&state| found == *self.states[state]) else {
            let difference = model::difference(&found, &self.states[self.newest]);
            return Err(format!("opened again, in none of the states {candidates:?}: {difference}"));
        };
        self.newest = state;
        self.given_up.extend(candidates.into_iter().filter(|&other| other > state));
        // From here on no other state is possible, even those numbered between.
        self.again();
        if is_durable {
            self.became_durable();
        }
        Ok(())
    }

    /// The state that the database shows, and whether it says that this survives a power cut.
    fn look(&self) -> Verdict<(Digests, bool)> {
        let snapshot = self.db()?.read().map_err(|e| format!("reading after opening: {e}"))?;
        let stats = self.db()?.stats().map_err(|e| format!("statistics after opening: {e}"))?;
        Ok((model::digests(&snapshot)?, stats.durable_txnid == snapshot.txnid()))
    }

    fn became_durable(&mut self) {
        self.durable = self.newest;
        self.disk.mark(Mark::Durable(self.newest));
    }

    /// Does one random thing. True once a fault was met (the operation has then failed as it must).
    pub fn step(&mut self) -> Verdict<bool> {
        if self.take_turns()?.is_err() {
            return Ok(true);
        }
        if self.db.is_none() {
            return Ok(false);
        }
        match self.rng.u32(..100) {
            0..62 => self.transaction(),
            62..70 if self.has_known_readers() => self.park(),
            70..76 => self.unpark().map(|()| false),
            76..84 => self.checkpoint(),
            84..90 => self.close(),
            _ if self.profile.kills => self.killed(),
            _ => self.transaction(),
        }
    }

    /// Chooses whose turn it is: another handle's, perhaps one that is opened for it.
    fn take_turns(&mut self) -> Verdict<Result<(), Error>> {
        if self.db.is_none() {
            self.db = self.others.pop();
        }
        let may_share = self.profile.handles > 1;
        if self.db.is_some() && !(may_share && self.rng.bool()) {
            return Ok(Ok(()));
        }
        self.others.extend(self.db.take());
        if self.others.len() < self.profile.handles && (self.others.is_empty() || self.rng.u32(..3) == 0) {
            return self.open();
        }
        let next = self.rng.usize(..self.others.len());
        self.db = Some(self.others.swap_remove(next));
        Ok(Ok(()))
    }

    /// The process ends, and all that it had open with it.
    fn end(&mut self) {
        self.parked.clear();
        self.db = None;
        self.others.clear();
    }

    /// The process is killed: in a transaction, while closing, or while opening again.
    fn killed(&mut self) -> Verdict<bool> {
        self.disk.fail_after(self.rng.u64(..10), Fault::Kill);
        if self.rng.bool() {
            self.transaction()?;
        }
        if self.rng.u32(..4) == 0 {
            // At once, if it was not yet.
            self.disk.fail_after(0, Fault::Kill);
        }
        self.end();
        if self.rng.bool() {
            let _ = self.open()?;
        }
        self.end();
        self.disk.heal();
        Ok(false)
    }

    /// A whole transaction: begun, filled, committed or not.
    pub fn transaction(&mut self) -> Verdict<bool> {
        let mut after = self.models[self.newest].clone();
        let durability = self.choose_durability();
        let db = self.db()?.clone();
        let mut txn = match db.begin_write() {
            Ok(txn) => txn,
            Err(error) => return self.failed(error, None),
        };
        if let Some(durability) = durability {
            txn.set_durability(durability);
        }
        let changes = self.rng.u32(..=self.profile.changes);
        for _ in 0..changes {
            if let Err(error) = change(&mut txn, &mut after, &mut self.rng, &self.profile, 0)? {
                drop(txn);
                return self.failed(error, None);
            }
        }
        if self.profile.bulk > 0
            && self.rng.bool()
            && let Err(error) = changes::bulk(&mut txn, &mut after, &mut self.rng, &self.profile)
        {
            drop(txn);
            return self.failed(error, None);
        }
        if self.rng.u32(..8) == 0 {
            // Beside the transaction: what was committed before it is durable, whatever becomes of this one.
            if let Err(error) = db.sync() {
                drop(txn);
                return self.failed(error, None);
            }
            self.became_durable();
        }
        // What comes to nothing has perhaps written something over.
        let one_of = if self.profile.beside { 4 } else { 12 };
        if self.rng.u32(..one_of) == 0 {
            drop(txn);
            return Ok(false);
        }
        let is_durable = durability.unwrap_or(db.durability()) == Durability::Durable;
        self.commit(txn, after, is_durable)
    }

    fn choose_durability(&mut self) -> Option<Durability> {
        match self.profile.commits {
            Commits::Mixed if self.rng.bool() => Some(Durability::Relaxed),
            _ => None,
        }
    }

    /// Commits a transaction that leads to this model.
    pub fn commit(&mut self, txn: duramen::WriteTxn<'_>, after: Model, is_durable: bool) -> Verdict<bool> {
        self.states.push(Arc::new(after.digests()));
        self.models.push(after);
        let state = self.states.len() - 1;
        self.disk.mark(Mark::Begun(state));
        let txnid = txn.txnid();
        if let Err(error) = txn.commit() {
            return self.failed(error, Some(state));
        }
        let before = std::mem::replace(&mut self.newest, state);
        self.given_up.drain(..).for_each(|state| self.disk.mark(Mark::Void(state)));
        self.swallowed()?;
        let newest = self.db()?.read().map_err(|e| format!("reading after a commit: {e}"))?.txnid();
        if newest != txnid {
            // A transaction that changed nothing makes nothing durable.
            self.renumber(before, state);
        } else if let Some(handle) = &mut self.db {
            handle.made = Some(state);
        }
        if is_durable && newest == txnid {
            self.became_durable();
        }
        self.whole("after a commit")?;
        Ok(false)
    }

    /// An operation failed: was a fault in the way, and is all as it was?
    fn failed(&mut self, error: Error, attempt: Option<usize>) -> Verdict<bool> {
        if self.disk.is_dead() {
            self.in_doubt.extend(attempt);
            return Ok(true);
        }
        let (met, is_unsure) =
            (self.disk.met(), |call: &&Call| matches!(call, Call::Meta | Call::Flush | Call::Record));
        // What came before such a call was no reason to fail.
        let Some(&call) = met.iter().find(is_unsure).or(met.first()) else {
            return Err(format!("an operation failed without a fault: {error}"));
        };
        // Of a record that was begun it depends on what else came.
        let expected = (!met.contains(&Call::Begun)).then(|| is_unsure(&&call));
        let unsure = self.expect_poison(expected, call)?;
        self.whole("after a failed operation")?;
        if unsure {
            // What of the commits since the last durable one reached the disk, nobody knows.
            self.in_doubt.extend(self.durable..=self.newest);
            self.in_doubt.extend(attempt);
            self.end();
        } else {
            attempt.inspect(|&state| self.disk.mark(Mark::Void(state)));
            self.again();
        }
        Ok(true)
    }

    /// An operation went well: the only failures that it may keep to itself are that the file could not be made shorter, and that
    /// there is no log, nor what was begun for it.
    fn swallowed(&mut self) -> Verdict<()> {
        let may_be = |call: &Call| matches!(call, Call::SetLen | Call::Preparation | Call::Begun);
        if let Some(call) = self.disk.met().into_iter().find(|call| !may_be(call)) {
            return Err(format!("a failed call {call:?} was not reported"));
        }
        Ok(())
    }

    /// The current state is possible from now on, whatever was begun and failed since.
    fn again(&mut self) {
        self.states.push(self.states[self.newest].clone());
        self.models.push(self.models[self.newest].clone());
        let was_durable = self.durable == self.newest;
        let before = std::mem::replace(&mut self.newest, self.states.len() - 1);
        self.renumber(before, self.newest);
        self.disk.mark(Mark::Begun(self.newest));
        if was_durable {
            self.became_durable();
        }
    }

    /// A state has another number: whoever made it has made this one.
    fn renumber(&mut self, before: usize, now: usize) {
        for handle in self.db.iter_mut().chain(&mut self.others) {
            handle.made = handle.made.map(|made| if made == before { now } else { made });
        }
    }

    /// Only a meta page whose write failed, or a flush that did, leaves a handle that does not write any more. Whether it is
    /// left so.
    fn expect_poison(&self, expected: Option<bool>, call: Call) -> Verdict<bool> {
        self.disk.heal();
        let poisoned = match self.db()?.begin_write() {
            Ok(_) => false,
            Err(Error::Poisoned { .. }) => true,
            Err(error) => return Err(format!("beginning to write after a failure: {error}")),
        };
        if expected.is_some_and(|expected| poisoned != expected) {
            return Err(format!("after a failed call {call:?} the handle is poisoned: {poisoned}"));
        }
        Ok(poisoned)
    }

    /// What readers see is the newest state, and every page is accounted for.
    fn whole(&self, when: &str) -> Verdict<()> {
        let snapshot = self.db()?.read().map_err(|e| format!("{when}, reading: {e}"))?;
        let found = model::digests(&snapshot).map_err(|e| format!("{when}, {e}"))?;
        if found != *self.states[self.newest] {
            return Err(format!("{when}: {}", model::difference(&found, &self.states[self.newest])));
        }
        let report = self.db()?.check(|_, _| {}).map_err(|e| format!("{when}, checking: {e}"))?;
        match report.findings.first() {
            Some(finding) => Err(format!("{when}, the check finds: {finding}")),
            None => Ok(()),
        }
    }

    /// Whether who writes knows of all who read. Without a lock file it is the caller who sees to it that nobody reads what
    /// another handle writes over.
    fn has_known_readers(&self) -> bool {
        self.profile.handles == 1 || self.profile.has_lock_file()
    }

    fn park(&mut self) -> Verdict<bool> {
        let snapshot = self.db()?.read_owned().map_err(|e| format!("beginning to read: {e}"))?;
        self.parked.push((snapshot, self.newest));
        Ok(false)
    }

    /// Ends a reader, having looked whether its state is still what it was.
    fn unpark(&mut self) -> Verdict<()> {
        if self.parked.is_empty() {
            return Ok(());
        }
        let (snapshot, state) = self.parked.swap_remove(self.rng.usize(..self.parked.len()));
        let found = model::digests(&snapshot).map_err(|e| format!("a parked reader: {e}"))?;
        if found != *self.states[state] {
            return Err(format!("a parked reader's state changed: {}", model::difference(&found, &self.states[state])));
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Verdict<bool> {
        match self.db()?.checkpoint() {
            Ok(()) => {
                self.became_durable();
                Ok(false)
            }
            Err(error) => self.failed(error, None),
        }
    }

    /// Ends all readers and closes the handle whose turn it is.
    pub fn close(&mut self) -> Verdict<bool> {
        while !self.parked.is_empty() {
            self.unpark()?;
        }
        let Some(Handle { db, made }) = self.db.take() else { return Ok(false) };
        // Without a lock file what somebody else made is left to that one.
        let flushes = self.profile.has_lock_file() || made == Some(self.newest);
        match db.close() {
            Ok(()) => {
                if self.profile.flush_on_close && flushes {
                    self.became_durable();
                }
                Ok(false)
            }
            Err(error) if self.disk.met().is_empty() => Err(format!("closing: {error}")),
            Err(_) => {
                self.in_doubt.extend(self.durable..=self.newest);
                self.end();
                self.disk.heal();
                Ok(true)
            }
        }
    }

    /// One of the calls that come soon fails, now and then.
    fn perhaps_a_fault(&mut self) {
        if self.profile.faults && self.rng.u32(..3) == 0 {
            let fault = [Fault::Error, Fault::Partly, Fault::Full][self.rng.usize(..3)];
            // Most steps make few calls, and some very many.
            let soon = [4, 40, 400][self.rng.usize(..3)];
            self.disk.fail_after(self.rng.u64(..soon), fault);
        }
    }

    /// Does all of the profile's steps, closes, opens once more and closes. Kills and faults may be met.
    pub fn live(&mut self) -> Verdict<()> {
        for _ in 0..self.profile.steps {
            self.perhaps_a_fault();
            self.step()?;
            if self.disk.is_dead() {
                self.end();
                self.disk.heal();
            }
        }
        while self.db.is_some() {
            self.close()?;
            self.db = self.others.pop();
        }
        self.disk.heal();
        self.open()?.map_err(|error| format!("opening: {error}"))?;
        self.whole("at last")?;
        self.close().map(drop)
    }
}
