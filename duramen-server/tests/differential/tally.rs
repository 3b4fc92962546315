//! What was really played: a comparison that asks nothing, or is always refused, finds nothing.

use std::collections::BTreeMap;
use std::fmt;

use crate::answer::Answer;
use crate::request::Request;

/// Requests of a kind in a world.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    asked: usize,
    /// Answered with success, true or false by both.
    done: usize,
    /// Answered otherwise by one than by the other, and meant to be.
    excused: usize,
}

/// Requests of all kinds, of all worlds.
#[derive(Debug, Default)]
pub struct Tally {
    worlds: usize,
    kinds: BTreeMap<&'static str, Count>,
}

/// Requests of each kind that there are at least in a world on average, and of these, in percent, those that are at least
/// answered with success.
pub const LEAST: [(&str, usize, usize); 8] = [
    ("search", 100, 60),
    ("compare", 18, 7),
    ("add", 18, 28),
    ("delete", 9, 25),
    ("modify", 45, 19),
    ("rename", 18, 15),
    ("bind", 8, 22),
    ("extended", 14, 38),
];

/// As [`LEAST`], of requests about the test's own kinds of attributes.
pub const LEAST_OF_KINDS: [(&str, usize, usize); 5] =
    [("search", 100, 60), ("compare", 25, 7), ("add", 12, 10), ("modify", 90, 15), ("rename", 25, 20)];

/// As [`LEAST`], of requests about families.
pub const LEAST_OF_FAMILIES: [(&str, usize, usize); 5] =
    [("search", 80, 60), ("compare", 20, 5), ("add", 50, 10), ("modify", 80, 10), ("rename", 10, 10)];

/// So many answers in a hundred are meant to be different at most.
const EXCUSED: usize = 13;

impl Tally {
    pub fn begin_world(&mut self) {
        self.worlds += 1;
    }

    pub fn take(&mut self, request: &Request, (theirs, ours): &(Answer, Answer), is_same: bool) {
        let count = self.kinds.entry(request.operation.kind()).or_default();
        count.asked += 1;
        count.done += usize::from(theirs.is_success() && ours.is_success());
        count.excused += usize::from(!is_same);
    }

    /// What was too little, or excused too often.
    pub fn faults(&self, least: &[(&'static str, usize, usize)]) -> Vec<String> {
        let mut faults = Vec::new();
        for &(kind, least, percent) in least {
            let count = self.kinds.get(kind).copied().unwrap_or_default();
            if count.asked < least * self.worlds {
                faults.push(format!("{kind}: {} requests in {} worlds", count.asked, self.worlds));
            }
            if count.done * 100 < count.asked * percent {
                faults.push(format!("{kind}: {} of {} with success", count.done, count.asked));
            }
        }
        let sum = |of: fn(&Count) -> usize| self.kinds.values().map(of).sum::<usize>();
        let (asked, excused) = (sum(|count| count.asked), sum(|count| count.excused));
        if excused * 100 > asked * EXCUSED {
            faults.push(format!("{excused} of {asked} answers are meant to be different"));
        }
        faults
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} worlds", self.worlds)?;
        for (kind, Count { asked, done, excused }) in &self.kinds {
            write!(f, "; {kind}: {asked} asked, {done} done, {excused} excused")?;
        }
        Ok(())
    }
}
