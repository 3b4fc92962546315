//! Power cuts: a workload, the images that a cut may leave at any time of it, and the verdict on each.
//!
//! Owns: which images are looked at. Must not know: how they are judged.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::disk::{Disk, Event, Listener};
use crate::judge::{Depth, Judge};
use crate::platter::{Cut, Platters};
use crate::workload::{Commits, Life, Profile};

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

/// Lives one workload through on the disk itself, in a directory within that for temporary files, which stays: removing it would
/// be recorded, too. What it comes to know is told as it does.
///
/// # Errors
/// A finding before any power cut.
pub fn live(seed: u64, listener: Listener) -> Result<(), String> {
    let directory =
        tempfile::Builder::new().disable_cleanup(true).tempdir().map_err(|e| format!("a temporary directory: {e}"))?;
    Life::begin_on(Disk::itself(listener), directory, undisturbed(seed), seed).live()
}

/// Judges about as many images as wanted of what was recorded of a process while it did [`live`] with this seed.
///
/// # Errors
/// The first finding.
pub fn recorded(seed: u64, events: &[Event], images: u64) -> Result<Tally, Finding> {
    caught(format!("--recorded 1 --seed {seed} --each {images}"), || {
        let profile = undisturbed(seed);
        // Lived once more for the states that it led to.
        let mut life = Life::begin(profile.clone(), seed);
        life.live()?;
        judge_events(events, &life, &profile, images, &mut fastrand::Rng::with_seed(seed))
            .map_err(|finding| format!("{profile:?}\n  {finding}"))
    })
}

/// What a run finds, panics included.
fn caught(replay: String, run: impl FnOnce() -> Result<Tally, String>) -> Result<Tally, Finding> {
    let outcome =
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(format!("a panic: {}", said(&*panic))));
    outcome.map_err(|what| Finding { replay, what })
}

/// What a panic said.
pub fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "of an unknown kind".into())
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
    judge_events(&life.disk.events(), life, profile, images, rng)
}

/// The same of what was recorded elsewhere of a life that came to the same states.
fn judge_events(
    events: &[Event],
    life: &Life,
    profile: &Profile,
    images: u64,
    rng: &mut fastrand::Rng,
) -> Result<Tally, String> {
    let mut judge = Judge::new(life.states.clone(), profile.page_size);
    let mut platters = Platters::default();
    let mut tally = Tally { workloads: 1, faults: life.disk.faults(), ..Tally::default() };
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
    tally.modes[profile.commits as usize] = judge.images;
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
