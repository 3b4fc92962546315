//! One process of a crowd.
//!
//! Owns: its handle, its threads, when it asks to be killed. Must not know: the other processes.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::gate::Gate;
use super::worker::Worker;
use super::{Plan, live};
use crate::disk::Disk;
use crate::workload::Verdict;

/// What a process says that is to be killed.
pub(super) const KILL_ME: &str = "kill me";

/// Which process of a crowd.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The number of its first worker; the others follow.
    pub first: u32,
    /// Calls to the disk after which it is killed, if it is.
    pub calls: Option<u32>,
}

/// The process with this first worker, which is killed or not; after how many words of it, and how long after that, if not when
/// it asks for it.
pub(super) fn next(plan: &Plan, first: u32, is_doomed: bool) -> (Member, Option<(u32, Duration)>) {
    let mut rng = fastrand::Rng::with_seed(plan.seed ^ u64::from(first));
    let calls = rng.u32(..plan.threads * plan.steps * 4);
    let words = if rng.u32(..4) == 0 { 0 } else { rng.u32(..plan.threads * plan.steps) };
    let after = (words, Duration::from_micros(rng.u64(..5000)));
    let asks = is_doomed && !plan.kills_at_any_time;
    (Member { first, calls: asks.then_some(calls) }, (is_doomed && !asks).then_some(after))
}

impl Member {
    /// Is this process: opens the database, does its work, closes.
    ///
    /// # Errors
    /// A finding.
    pub fn live(self, plan: &Arc<Plan>, disk: &Arc<Disk>, path: &Path) -> Verdict<()> {
        let gate = Gate::new(self.calls, plan.slowness, || println!("{KILL_ME}"));
        let options = gate.under(plan.options_of(self.first), disk);
        let db = options.open(path).map_err(|e| format!("opening: {e}"))?;
        thread::scope(|scope| {
            let workers: Vec<_> = (self.first..self.first + plan.threads)
                .map(|number| {
                    let worker = Worker::new(plan, disk, &db, &gate, number);
                    scope.spawn(move || {
                        let mut worker = worker?;
                        for step in 0..plan.steps {
                            let made = worker.step(step)?;
                            if let Some((state, change)) = made.filter(|_| plan.kills_at_any_time) {
                                live::say(state, change);
                            }
                        }
                        worker.end()
                    })
                })
                .collect();
            let join = |worker: thread::ScopedJoinHandle<'_, Verdict<()>>| {
                worker.join().unwrap_or_else(|panic| Err(format!("a panic: {}", crate::said(&*panic))))
            };
            workers.into_iter().map(join).collect::<Verdict<Vec<()>>>()
        })?;
        db.close().map_err(|e| format!("closing: {e}"))
    }
}
