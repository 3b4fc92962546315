//! Damage of what is stored that operations of this process have met.
//!
//! Owns: that the log is told of each damaged place once, however often it is met, and what of it is told to who watches. Must not
//! know: what is stored.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many places are told apart: of a disk that fails there may be any number.
const PLACES_MAX: usize = 100;

/// What was met so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// How many operations have failed by it.
    pub failures: u64,
    /// One of the damaged places, and what to do; `None` if none was met since [`crate::Directory::forget_damage`].
    pub place: Option<String>,
}

struct Met {
    failures: u64,
    places: BTreeSet<String>,
}

static MET: Mutex<Met> = Mutex::new(Met { failures: 0, places: BTreeSet::new() });

fn all() -> MutexGuard<'static, Met> {
    MET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes note of an operation that has failed by damage: of which, and what to do about it.
pub(crate) fn note(place: &str) {
    let mut met = all();
    met.failures += 1;
    if met.places.len() >= PLACES_MAX || !met.places.insert(place.to_string()) {
        return;
    }
    let is_last = met.places.len() == PLACES_MAX;
    drop(met);
    let more = if is_last { " (more damaged places are not told of)" } else { "" };
    tracing::error!("an operation failed, as what is stored is damaged: {place}{more}");
}

/// What was met so far.
pub(crate) fn met() -> Damage {
    let met = all();
    Damage { failures: met.failures, place: met.places.first().cloned() }
}

/// Begins anew, as it may have been mended: what is met again is told of again.
pub(crate) fn forget() {
    all().places.clear();
}
