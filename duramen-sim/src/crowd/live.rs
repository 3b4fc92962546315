//! Who begins the processes of a crowd, kills some, and looks at what all came to.
//!
//! Owns: when processes are killed, what is expected of them all. Must not know: what they do.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use duramen::Database;

use super::{Change, Member, Plan, again, changes_of, member, state_after, worker};
use crate::disk::{Disk, Mark};
use crate::model::{self, Digests};
use crate::workload::Verdict;

/// How a process of a crowd is begun, with the data file of this path.
pub type Start<'s> = &'s (dyn Fn(Member, &Path) -> Command + Sync);

/// What became of a crowd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Toll {
    /// Changes that are there in the end,
    pub changes: u64,
    /// and processes that were killed.
    pub kills: u64,
}

impl Toll {
    /// Adds another.
    pub fn add(&mut self, other: Toll) {
        self.changes += other.changes;
        self.kills += other.kills;
    }
}

/// Begins a crowd's processes, and kills some of them. What comes to be known is told to the disk. At the end all is durable.
///
/// # Errors
/// A finding before any power cut.
pub fn live(plan: &Arc<Plan>, disk: &Arc<Disk>, path: &Path, start: Start<'_>) -> Verdict<()> {
    let watcher = begin(plan, disk, path)?;
    attend_all(plan, path, start)?;
    end(plan, disk, path, watcher)
}

/// As [`live`], but all members are handles of this process, and none is killed.
///
/// # Errors
/// A finding before any power cut.
pub fn live_here(plan: &Arc<Plan>, disk: &Arc<Disk>, path: &Path) -> Verdict<()> {
    let watcher = begin(plan, disk, path)?;
    thread::scope(|scope| {
        let members = (0..plan.processes).map(|number| member::next(plan, number * plan.threads, false).0);
        let all: Vec<_> = members.map(|member| scope.spawn(move || member.live(plan, disk, path))).collect();
        all.into_iter().try_for_each(|one| one.join().map_err(|_| "a member panicked".to_string())?)
    })?;
    end(plan, disk, path, watcher)
}

/// Makes what all came to durable, and tells it.
fn end(plan: &Plan, disk: &Arc<Disk>, path: &Path, watcher: Option<Database>) -> Verdict<()> {
    let db = watcher.map_or_else(|| disk.under(plan.options()).open(path), Ok).map_err(|e| format!("at last: {e}"))?;
    let changes = look(&db)?;
    db.checkpoint().map_err(|e| format!("at last, a checkpoint: {e}"))?;
    let state = state_after(changes.len() as u64);
    disk.mark(Mark::Begun(state));
    disk.mark(Mark::Durable(state));
    db.close().map_err(|e| format!("at last, closing: {e}"))
}

/// As [`live`], with kills at any time, and looks whether all is kept that was said to be committed.
///
/// # Errors
/// A finding.
pub fn torment(plan: &Arc<Plan>, path: &Path, start: Start<'_>) -> Verdict<Toll> {
    let disk = Disk::itself(Box::new(|_| ()));
    let watcher = begin(plan, &disk, path)?;
    let ended = attend_all(plan, path, start)?;
    let copied = if watcher.is_none() { Some(look_at_copy(path)?) } else { None };
    let db = watcher.map_or_else(|| plan.options().open(path), Ok).map_err(|e| format!("at last: {e}"))?;
    // What a dead writer left is settled.
    drop(db.begin_write().map_err(|e| format!("at last, beginning to write: {e}"))?);
    let changes = look(&db)?;
    if let Some(copied) = copied.filter(|copied| *copied != changes) {
        return Err(format!("copies of the files have {} changes of {}", copied.len(), changes.len()));
    }
    for (state, change) in &ended.said {
        if changes.get(state - state_after(1)) != Some(change) {
            return Err(format!("{change:?}, said to be committed as state {state}, is not there"));
        }
    }
    is_bounded(&db)?;
    let mut last = Digests::new();
    again(&changes, plan, |state| last.clone_from(state))?;
    let found = model::digests(&db.read().map_err(|e| format!("at last, reading: {e}"))?)?;
    if found != last {
        return Err(format!("at last: {}", model::difference(&found, &last)));
    }
    db.close().map_err(|e| format!("at last, closing: {e}"))?;
    Ok(Toll { changes: changes.len() as u64, kills: ended.kills })
}

/// What is free, since so much else was there once or was kept for readers, is not many times as much as what is used.
fn is_bounded(db: &Database) -> Verdict<()> {
    let stats = db.stats().map_err(|e| format!("at last, statistics: {e}"))?;
    let used = stats.pages - stats.free_pages - stats.retired_pages;
    let most = (4 * used + 1024) * stats.page_size as u64;
    if stats.file_bytes <= most { Ok(()) } else { Err(format!("at last, with {used} pages used: {stats:?}")) }
}

/// Makes the file; the handle, if it stays open.
fn begin(plan: &Plan, disk: &Arc<Disk>, path: &Path) -> Verdict<Option<Database>> {
    let db = plan.found(disk, path)?;
    if plan.has_watcher { Ok(Some(db)) } else { db.close().map(|()| None).map_err(|e| format!("closing: {e}")) }
}

/// What all processes said, and how many were killed.
#[derive(Default)]
struct Ended {
    said: Vec<(usize, Change)>,
    kills: u64,
}

/// Several processes at a time, each followed by another one if it was killed.
fn attend_all(plan: &Plan, path: &Path, start: Start<'_>) -> Verdict<Ended> {
    let (kills, numbers) = (AtomicU32::new(plan.kills), AtomicU32::new(0));
    let line = || -> Verdict<Ended> {
        let mut all = Ended::default();
        loop {
            let first = numbers.fetch_add(plan.threads, Ordering::Relaxed);
            let is_doomed =
                kills.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
            let (member, after) = member::next(plan, first, is_doomed);
            let one = attend(&mut start(member, path), after)?;
            let is_followed = is_doomed && (one.kills > 0 || plan.kills_at_any_time);
            // Its copies are nobody's.
            (first..first + plan.threads).for_each(|number| _ = std::fs::remove_file(worker::copy_path(path, number)));
            all.said.extend(one.said);
            all.kills += one.kills;
            if !is_followed {
                return Ok(all);
            }
        }
    };
    thread::scope(|scope| {
        let lines: Vec<_> = (0..plan.processes).map(|_| scope.spawn(line)).collect();
        let mut all = Ended::default();
        for line in lines {
            let one = line.join().map_err(|_| "who attends a process panicked")??;
            all.said.extend(one.said);
            all.kills += one.kills;
        }
        Ok(all)
    })
}

/// Watches over a process, and kills it when it asks for that, or when it has said so much and so long after that.
fn attend(command: &mut Command, after: Option<(u32, Duration)>) -> Verdict<Ended> {
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|e| format!("{command:?}: {e}"))?;
    let voice = child.stdout.take().ok_or("a process without a voice")?;
    let mut ended = Ended::default();
    let mut kill = |child: &mut Child, after: Duration| {
        thread::sleep(after);
        ended.kills = 1;
        child.kill().map_err(|e| format!("killing a process: {e}"))
    };
    if let Some((0, after)) = after {
        kill(&mut child, after)?;
    }
    for word in BufReader::new(voice).lines().map_while(Result::ok) {
        if word == member::KILL_ME {
            kill(&mut child, Duration::ZERO)?;
            break;
        }
        ended.said.push(heard(&word)?);
        if let Some((words, after)) = after
            && ended.said.len() == words as usize
        {
            kill(&mut child, after)?;
        }
    }
    let status = child.wait().map_err(|e| format!("waiting for a process: {e}"))?;
    if ended.kills > 0 || status.success() { Ok(ended) } else { Err(format!("a process ended with {status}")) }
}

/// What a process says of a change that is committed.
pub(super) fn say(state: usize, change: Change) {
    println!("{state} {} {}", change.worker, change.step);
}

fn heard(word: &str) -> Verdict<(usize, Change)> {
    let mut numbers = word.split(' ').map(str::parse::<u32>);
    let mut next = || numbers.next().and_then(Result::ok).ok_or_else(|| format!("a process said {word:?}"));
    Ok((next()? as usize, Change { worker: next()?, step: next()? }))
}

/// The changes in a database, of which every page is right and accounted for.
fn look(db: &Database) -> Verdict<Vec<Change>> {
    let report = db.check(|_, _| {}).map_err(|e| format!("at last, checking: {e}"))?;
    if let Some(finding) = report.findings.first() {
        return Err(format!("at last, the check finds: {finding}"));
    }
    changes_of(&db.read().map_err(|e| format!("at last, reading: {e}"))?)
}

/// The changes in copies of the files, made while nobody has them open: without the lock file they are taken as after a power cut.
fn look_at_copy(path: &Path) -> Verdict<Vec<Change>> {
    let directory = crate::scratch();
    let copy = directory.path().join("copy.dm");
    std::fs::copy(path, &copy).map_err(|e| format!("copying the data file: {e}"))?;
    let log = path.with_extension("dm-log");
    if log.exists() {
        std::fs::copy(log, copy.with_extension("dm-log")).map_err(|e| format!("copying the log: {e}"))?;
    }
    let db = Database::open(&copy).map_err(|e| format!("copies of the files: {e}"))?;
    look(&db).map_err(|finding| format!("copies of the files: {finding}"))
}
