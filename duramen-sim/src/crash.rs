//! Power cuts: a workload, the images that a cut may leave at any time of it, and the verdict on each.
//!
//! Owns: which images are looked at. Must not know: how they are judged.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use duramen::Database;

use crate::crowd::{self, Member, Plan, Start, Toll};
use crate::disk::{Disk, Event, Files, Listener};
use crate::judge::{self, Depth, Judge};
use crate::model::Digests;
use crate::platter::{Allowed, Cut, Platters};
use crate::workload::{Commits, FILE, Life, Profile};

/// Where there are no more images than this, all of them are judged.
const ALL_OF: u128 = 16;

/// What a workload's crash images were like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Workloads.
    pub workloads: u64,
    /// Calls to the disk that failed in them, or from which on it was full.
    pub faults: u64,
    /// Images, those of recoveries included.
    pub images: u64,
    /// Images that held the newest state possible.
    pub newest: u64,
    /// Images that held the oldest.
    pub oldest: u64,
    /// Images of workloads whose commits are all durable, all relaxed, some of each.
    pub modes: [u64; 3],
}

impl Tally {
    /// Adds another.
    pub fn add(&mut self, other: Tally) {
        self.workloads += other.workloads;
        self.faults += other.faults;
        self.images += other.images;
        self.newest += other.newest;
        self.oldest += other.oldest;
        self.modes.iter_mut().zip(other.modes).for_each(|(sum, more)| *sum += more);
    }
}

/// A finding: what is wrong, and the call that shows it again.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Arguments of `cargo xtask crash`.
    pub replay: String,
    /// What is wrong.
    pub what: String,
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n  replay: cargo xtask crash {}", self.what, self.replay)
    }
}

/// Every how many workloads a big one comes.
const BIG: u64 = 150;

/// Lives one workload through, and judges about as many of its images as wanted.
///
/// # Errors
/// The first finding.
pub fn workload(seed: u64, images: u64) -> Result<Tally, Finding> {
    caught(format!("--workload {seed} --each {images}"), || {
        let mut rng = fastrand::Rng::with_seed(seed);
        let is_big = seed.is_multiple_of(BIG);
        let profile = if is_big { Profile::big(&mut rng) } else { Profile::small(&mut rng) };
        let images = if is_big { images.div_ceil(10) } else { images };
        live_and_judge(profile, images, &mut rng)
    })
}

/// Creates a database of each page size and closes it, and judges about as many images of each as wanted.
///
/// # Errors
/// The first finding.
pub fn creations(seed: u64, images: u64) -> Result<Tally, Finding> {
    let mut tally = Tally::default();
    for page_size in [4096, 8192, 16384, 32768, 65536] {
        tally.add(caught(format!("--images 1 --seed {seed} --each {images}"), || {
            let mut rng = fastrand::Rng::with_seed(seed);
            let commits = Commits::Durable;
            let profile = Profile { page_size, steps: 0, commits, kills: false, ..Profile::small(&mut rng) };
            live_and_judge(profile, images, &mut rng)
        })?);
    }
    Ok(tally)
}

/// A workload for [`live`] and [`recorded`]: nothing fails in it.
fn undisturbed(seed: u64) -> Profile {
    Profile { kills: false, faults: false, ..Profile::small(&mut fastrand::Rng::with_seed(seed)) }
}

/// Whether the workload of this seed, for [`live`] and [`recorded`], is a crowd's: every second one is.
fn is_crowd(seed: u64) -> bool {
    !seed.is_multiple_of(2)
}

/// Lives one workload through on the disk itself, in a directory within that for temporary files, which stays: removing it would
/// be recorded, too. What it comes to know is told as it does. Where it takes several processes, `start` begins them.
///
/// # Errors
/// A finding before any power cut.
pub fn live(seed: u64, listener: Listener, start: Start<'_>) -> Result<(), String> {
    let directory =
        tempfile::Builder::new().disable_cleanup(true).tempdir().map_err(|e| format!("a temporary directory: {e}"))?;
    let disk = Disk::itself(listener);
    if is_crowd(seed) {
        let path = directory.path().join(FILE);
        return crowd::live(&Arc::new(Plan::of(seed)), &disk, &path, start);
    }
    Life::begin_on(disk, directory, undisturbed(seed), seed).live()
}

/// Is one of the processes that [`live`] or [`kill`] begins.
///
/// # Errors
/// As for that.
pub fn live_among_others(plan: Plan, member: Member, path: &Path, listener: Listener) -> Result<(), String> {
    member.live(&Arc::new(plan), &Disk::itself(listener), path)
}

/// Has a crowd's processes, which `start` begins, killed at any time, and looks whether all is there that they said.
///
/// # Errors
/// A finding.
pub fn kill(seed: u64, start: Start<'_>) -> Result<Toll, String> {
    // Half of them where there is a disk to wait for.
    let directory =
        if seed.is_multiple_of(2) { crate::scratch() } else { tempfile::tempdir().map_err(|e| e.to_string())? };
    let plan = Arc::new(Plan::long(seed));
    crowd::torment(&plan, &directory.path().join(FILE), start).map_err(|finding| format!("{plan:?}\n  {finding}"))
}

/// Judges about as many images as wanted of what was recorded of processes while they did [`live`] with this seed.
///
/// # Errors
/// The first finding.
pub fn recorded(seed: u64, events: &[Event], images: u64) -> Result<Tally, Finding> {
    let rng = &mut fastrand::Rng::with_seed(seed);
    caught(format!("--recorded 1 --seed {seed} --each {images}"), || {
        if is_crowd(seed) {
            return judge_crowd(events, &Plan::of(seed), images, rng);
        }
        let profile = undisturbed(seed);
        // Lived once more for the states that it led to.
        let mut life = Life::begin(profile.clone(), seed);
        life.live()?;
        judge_course(&Course::of(&life, &profile, events), images, rng)
            .map_err(|finding| format!("{profile:?}\n  {finding}"))
    })
}

/// Has a crowd live on a simulated disk, in this process, and judges about as many images as wanted.
///
/// # Errors
/// The first finding.
pub fn crowd(seed: u64, images: u64) -> Result<Tally, String> {
    let (plan, disk, directory) = (Arc::new(Plan::of(seed)), Disk::new(), crate::scratch());
    crowd::live_here(&plan, &disk, &directory.path().join(FILE)).map_err(|finding| format!("{plan:?}\n  {finding}"))?;
    judge_crowd(&disk.events(), &plan, images, &mut fastrand::Rng::with_seed(seed))
}

/// What a disk had of a database's files when it lost its power, and which states these may hold.
pub type Left = (Files, Allowed);

/// Judges what was left of what a crowd did, whose database is at the path.
///
/// # Errors
/// The first finding.
pub fn left_of_crowd(plan: &Plan, path: &Path, left: &[Left], rng: &mut fastrand::Rng) -> Result<Tally, String> {
    let db = Database::open(path).map_err(|e| format!("what all came to: {e}"))?;
    let states = crowd::history(&db, plan).map_err(|finding| format!("what all came to: {finding}"))?;
    let last = states.len() - 1;
    let mut judge = Judge::new(states, plan.profile.page_size);
    let mut tally = Tally { workloads: 1, ..Tally::default() };
    for (files, allowed) in left {
        // What was begun, and came to nothing, may have been the last.
        let allowed = allowed.up_to(last);
        let state = judge.judge(files, &allowed, depth(rng), rng)?;
        tally.newest += u64::from(state == *allowed.range().end());
        tally.oldest += u64::from(state == *allowed.range().start());
    }
    tally.images = judge.images;
    tally.modes[plan.profile.commits as usize] = judge.images;
    Ok(tally)
}

/// Judges about as many images of what a crowd did as wanted, at the end of which all was durable.
///
/// # Errors
/// The first finding.
fn judge_crowd(events: &[Event], plan: &Plan, images: u64, rng: &mut fastrand::Rng) -> Result<Tally, String> {
    let about = |finding| format!("{plan:?}\n  {finding}");
    let states = history(events, plan).map_err(|finding| about(format!("what all came to: {finding}")))?;
    let profile = &plan.profile;
    let course = Course { events, states: &states, page_size: profile.page_size, commits: profile.commits, faults: 0 };
    judge_course(&course, images, rng).map_err(about)
}

fn history(events: &[Event], plan: &Plan) -> Result<Vec<Arc<Digests>>, String> {
    let mut platters = Platters::default();
    events.iter().for_each(|event| _ = platters.apply(event));
    let (directory, files) = (crate::scratch(), platters.files(&platters.nth(0)));
    let path = directory.path().join(FILE);
    judge::write(&path, &files).map_err(|e| format!("the files cannot be written: {e}"))?;
    let db = Database::open(&path).map_err(|e| format!("it does not open: {e}"))?;
    crowd::history(&db, plan)
}

/// What a run finds, panics included.
fn caught(replay: String, run: impl FnOnce() -> Result<Tally, String>) -> Result<Tally, Finding> {
    let outcome =
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(format!("a panic: {}", crate::said(&*panic))));
    outcome.map_err(|what| Finding { replay, what })
}

fn live_and_judge(profile: Profile, images: u64, rng: &mut fastrand::Rng) -> Result<Tally, String> {
    let about = format!("{profile:?}");
    let mut life = Life::begin(profile.clone(), rng.u64(..));
    life.live().map_err(|finding| format!("{about}\n  before any power cut: {finding}"))?;
    judge(&life, &profile, images, rng).map_err(|finding| format!("{about}\n  {finding}"))
}

/// Judges about as many images of a life as wanted.
///
/// # Errors
/// What is wrong with one of them, and after which event the power was cut.
pub fn judge(life: &Life, profile: &Profile, images: u64, rng: &mut fastrand::Rng) -> Result<Tally, String> {
    judge_course(&Course::of(life, profile, &life.disk.events()), images, rng)
}

/// What happened, and the states that it led to.
struct Course<'c> {
    events: &'c [Event],
    states: &'c [Arc<Digests>],
    page_size: usize,
    commits: Commits,
    faults: u64,
}

impl<'c> Course<'c> {
    /// Of a life, whose events were recorded here or elsewhere.
    fn of(life: &'c Life, profile: &Profile, events: &'c [Event]) -> Course<'c> {
        let (states, faults) = (life.states.as_slice(), life.disk.faults());
        Course { events, states, page_size: profile.page_size, commits: profile.commits, faults }
    }
}

fn judge_course(course: &Course<'_>, images: u64, rng: &mut fastrand::Rng) -> Result<Tally, String> {
    let events = course.events;
    let mut judge = Judge::new(course.states.to_vec(), course.page_size);
    let mut platters = Platters::default();
    let mut tally = Tally { workloads: 1, faults: course.faults, ..Tally::default() };
    let share = images as f64 / events.len().max(1) as f64;
    for (i, event) in events.iter().enumerate() {
        if !platters.apply(event) {
            continue;
        }
        for cut in choose(&platters, share, rng) {
            let depth = depth(rng);
            let allowed = platters.allowed().clone();
            let state = judge.judge(&platters.files(&cut), &allowed, depth, rng).map_err(|finding| {
                format!("power cut after event {i} of {}: {finding}\n{}", events.len(), story(&events[..=i]))
            })?;
            tally.newest += u64::from(state == *allowed.range().end());
            tally.oldest += u64::from(state == *allowed.range().start());
        }
    }
    tally.images = judge.images;
    tally.modes[course.commits as usize] = judge.images;
    Ok(tally)
}

/// The newest of some events, as lines.
fn story(events: &[Event]) -> String {
    let first = events.len().saturating_sub(60);
    events.iter().enumerate().skip(first).map(|(i, event)| format!("    {i:4} {event}\n")).collect()
}

/// The images of one moment: all if they are few, else some.
fn choose(platters: &Platters, share: f64, rng: &mut fastrand::Rng) -> Vec<Cut> {
    let count = platters.count();
    if count <= ALL_OF {
        let every = (0..count).map(|n| platters.nth(n));
        return every.filter(|_| count == 1 && rng.f64() < share || rng.f64() < share * 2.0).collect();
    }
    let some = share.floor() as usize + usize::from(rng.f64() < share.fract());
    (0..some).map(|_| platters.random(rng)).collect()
}

fn depth(rng: &mut fastrand::Rng) -> Depth {
    match rng.u32(..8) {
        0 => Depth { write: true, again: (3, 1) },
        1..4 => Depth { write: true, again: (0, 0) },
        _ => Depth { write: false, again: (0, 0) },
    }
}
