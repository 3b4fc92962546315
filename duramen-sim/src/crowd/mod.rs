//! A crowd: several processes, each of several threads, that change one database at the same time, and some of which are killed.
//!
//! Owns: what a crowd is like ([`Plan`]), its processes ([`Member`]), who begins and kills them ([`live()`]), which states it led to
//! ([`history`]). Must not know: what a crash leaves.
//!
//! Some have no lock file. Then they take turns by a lock of their own, as programs do that bring one: to write and to read. They
//! open and close as they like.
//!
//! What comes in which order is not decided by the seed, but told by the database itself: each change takes the next place in a
//! table. The content after each of them follows from that, since what a change does is decided by the seed.

mod gate;
mod live;
mod member;
mod worker;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use duramen::{BulkOptions, Database, Durability, Options, Snapshot};

use crate::disk::{Disk, Mark};
use crate::model::{Digests, Kind, Model, TableModel};
use crate::workload::{Commits, Profile, Verdict};

pub use live::{Start, Toll, live, live_here, torment};
pub use member::Member;
pub use worker::Change;

/// The table of all changes, by their places.
const ORDER: &[u8] = b"order of changes";
/// The table that the file is made with.
const FIRST: &[u8] = b"loaded first";

/// The state after the change of this place; before the first one there is that of the empty file, and of [`FIRST`].
fn state_after(place: u64) -> usize {
    place as usize + 1
}

/// The state of a snapshot.
fn state_of(snapshot: &Snapshot<'_>) -> Verdict<usize> {
    let order = snapshot.find_table(ORDER, None).map_err(|e| format!("the order of changes: {e}"))?;
    Ok(state_after(order.map_or(0, |order| order.len())))
}

/// What a crowd is like.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it was made of.
    pub seed: u64,
    /// What is changed.
    pub profile: Profile,
    /// Processes at a time.
    pub processes: u32,
    /// Threads of each.
    pub threads: u32,
    /// Steps of each thread.
    pub steps: u32,
    /// Processes that are killed, each of which is followed by another one.
    pub kills: u32,
    /// Whether they are killed at any time. Else when they ask for it, which they do when no write is under way.
    pub kills_at_any_time: bool,
    /// Whether who begins the processes has the database open, too.
    pub has_watcher: bool,
    /// Entries of the table that the file is made with.
    pub first: u32,
    /// How many changes' time a flush of the log takes, in sixteenths. With some, groups are made on top of one another.
    pub slowness: u32,
}

impl Plan {
    /// A small crowd, different for each seed.
    pub fn of(seed: u64) -> Plan {
        let mut rng = fastrand::Rng::with_seed(seed);
        let plan = Plan::any(seed, &mut rng);
        if rng.u32(..4) > 0 {
            return plan;
        }
        // Many threads, and a disk for which they are divided.
        let (threads, steps) = (8, rng.u32(15..25));
        let (commits, log, lock_file) = (Commits::Durable, Some(256 << 10), true);
        let profile = Profile { commits, log, lock_file, changes: 3, bulk: 0, ..plan.profile };
        Plan { profile, processes: rng.u32(1..3), threads, steps, slowness: threads * rng.u32(9..15), ..plan }
    }

    fn any(seed: u64, rng: &mut fastrand::Rng) -> Plan {
        let profile = Profile {
            page_size: 4096,
            commits: [Commits::Durable, Commits::Relaxed, Commits::Mixed, Commits::Mixed][rng.usize(..4)],
            memory_bytes: [1, 128 << 10, 64 << 20][rng.usize(..3)],
            keys: [20, 100, 400][rng.usize(..3)],
            changes: [1, 3, 20][rng.usize(..3)],
            large_bytes: [9000, 30_000][rng.usize(..2)],
            bulk: [0, 0, 50, 300][rng.usize(..4)],
            log: [None, Some(4096), Some(16 << 10), Some(256 << 10)][rng.usize(..4)],
            lock_file: rng.u32(..4) > 0,
            ..Profile::small(rng)
        };
        Plan {
            seed,
            profile,
            processes: rng.u32(1..4),
            threads: [1, 2, 4, 8][rng.usize(..4)],
            steps: rng.u32(4..10),
            kills: rng.u32(..3),
            kills_at_any_time: false,
            has_watcher: rng.bool(),
            first: [0, 10, 2000][rng.usize(..3)],
            slowness: 0,
        }
    }

    /// A crowd that has more to do, and of which more are killed, at any time.
    pub fn long(seed: u64) -> Plan {
        let mut rng = fastrand::Rng::with_seed(seed);
        let short = Plan::of(rng.u64(..));
        let (steps, kills) = (rng.u32(10..60), rng.u32(5..30));
        Plan { seed, processes: rng.u32(1..5), steps, kills, kills_at_any_time: true, ..short }
    }

    /// A crowd on a disk that loses its power again and again: small, as all that is left of its files each time is kept.
    pub fn on_a_real_disk(seed: u64) -> Plan {
        let mut rng = fastrand::Rng::with_seed(seed);
        let plan = Plan::any(rng.u64(..), &mut rng);
        let (processes, threads) = ([1, 2][rng.usize(..2)], plan.threads.min(4));
        let (steps, kills) = (rng.u32(10..40), rng.u32(..6));
        let profile = Profile { large_bytes: 9000, bulk: plan.profile.bulk.min(50), ..plan.profile };
        Plan { seed, profile, processes, threads, steps, kills, ..plan }
    }

    fn options(&self) -> Options {
        let Profile { page_size, memory_bytes, commits, flush_on_close, beside, log, .. } = self.profile;
        let durability = if commits == Commits::Relaxed { Durability::Relaxed } else { Durability::Durable };
        let options = Database::options().page_size(page_size).memory_budget(memory_bytes).durability(durability);
        let options = options.flush_on_close(flush_on_close);
        let options = if beside { options.checkpoints_at_once() } else { options };
        match log {
            _ if !self.profile.lock_file => options.without_lock_file(),
            Some(bytes) => options.log_at_once(bytes),
            None => options,
        }
    }

    /// Those of the process with this first worker, which need not be like the others.
    fn options_of(&self, first: u32) -> Options {
        let mut rng = fastrand::Rng::with_seed(!self.seed ^ u64::from(first));
        let options = self.options().late_checks(rng.bool()).keep_length(rng.u32(..4) == 0);
        match rng.u32(..8) {
            0 => options.without_log(),
            1 => options.flush_on_close(!self.profile.flush_on_close),
            2 => options.memory_budget(1),
            _ => options,
        }
    }

    /// Makes the file, with a table that is loaded as a whole.
    fn found(&self, disk: &Arc<Disk>, path: &Path) -> Verdict<Database> {
        let failed = |e: duramen::Error| format!("the first load: {e}");
        disk.mark(Mark::Begun(0));
        let db = disk.under(self.options()).open(path).map_err(failed)?;
        disk.mark(Mark::Begun(state_after(0)));
        let mut load = db.bulk_load(FIRST, BulkOptions::new().memory_budget(1 << 16)).map_err(failed)?;
        for (key, value) in self.loaded_first() {
            load.push(key, value).map_err(failed)?;
        }
        load.finish().map_err(failed)?;
        if self.profile.commits != Commits::Relaxed {
            disk.mark(Mark::Durable(state_after(0)));
        }
        Ok(db)
    }

    /// Its entries, in no order.
    fn loaded_first(&self) -> impl Iterator<Item = ([u8; 4], Vec<u8>)> {
        let value = |i: u32| vec![i as u8; if i % 50 == 7 { 9000 } else { 40 }];
        (0..self.first).map(move |i| (i.wrapping_mul(0x9E37_79B9).to_be_bytes(), value(i)))
    }
}

/// Every state that all came to, from that of the empty file on: reads in which order the changes were made, makes them once
/// more, and compares.
///
/// # Errors
/// What is wrong with them.
pub fn history(db: &Database, plan: &Plan) -> Verdict<Vec<Arc<Digests>>> {
    let snapshot = db.read().map_err(|e| format!("reading the history: {e}"))?;
    let mut states = vec![Arc::default()];
    again(&changes_of(&snapshot)?, plan, |state| states.push(Arc::new(state.clone())))?;
    Ok(states)
}

fn changes_of(snapshot: &Snapshot<'_>) -> Verdict<Vec<Change>> {
    let failed = |e: duramen::Error| format!("the order of changes: {e}");
    let Some(order) = snapshot.find_table(ORDER, None).map_err(failed)? else { return Ok(Vec::new()) };
    let mut changes: Vec<Change> = Vec::new();
    let mut last: BTreeMap<u32, u32> = BTreeMap::new();
    for entry in order.iter() {
        let (place, change) = entry.map_err(failed)?;
        let change = Change::from_bytes(change).ok_or("the order of changes holds something else")?;
        if place != (changes.len() as u64 + 1).to_be_bytes() {
            return Err(format!("place {} of the order of changes is empty", changes.len() + 1));
        }
        if last.insert(change.worker, change.step).is_some_and(|last| last >= change.step) {
            return Err(format!("{change:?} comes after a later one of that worker"));
        }
        changes.push(change);
    }
    Ok(changes)
}

/// Makes the changes on another database, by which their answers are compared with the model's once more; `each` is given the
/// states.
fn again(changes: &[Change], plan: &Plan, mut each: impl FnMut(&Digests)) -> Verdict<()> {
    let (directory, disk) = (crate::scratch(), Disk::itself(Box::new(|_| ())));
    let failed = |e: duramen::Error| format!("making it again: {e}");
    let options = Database::options().durability(Durability::Relaxed).without_lock_file();
    let db = options.open(directory.path().join("again.dm")).map_err(failed)?;
    let mut txn = db.begin_write().map_err(failed)?;
    let (mut models, mut order) = (BTreeMap::new(), TableModel::new(Kind::Plain));
    let mut state = first_state(plan);
    each(&state);
    for (place, change) in (1u64..).zip(changes) {
        let model: &mut Model = models.entry(change.worker).or_default();
        model.tables.keys().for_each(|name| _ = state.remove(name));
        change.make(&mut txn, model, plan, &disk).map_err(|e| format!("making {change:?} again: {e}"))??;
        state.extend(model.digests());
        order.put(&place.to_be_bytes(), &change.to_bytes());
        state.insert(ORDER.to_vec(), order.digest());
        each(&state);
    }
    Ok(())
}

fn first_state(plan: &Plan) -> Digests {
    let mut table = TableModel::new(Kind::Plain);
    for (key, value) in plan.loaded_first() {
        table.put(&key, &value);
    }
    Digests::from([(FIRST.to_vec(), table.digest())])
}
