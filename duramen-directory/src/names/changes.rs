//! Which entries updates have added, deleted or moved, commit by commit: what is known of a part of the tree is brought up to
//! date by asking where these are now, instead of walking through it again.
//!
//! Owns: for how long that is known. Must not know: what is made of it.
//!
//! Invariant: between two states of the names no entries but those that are told have another parent, or come, or go. They may be
//! more: an update may have been taken back. Commits of other processes, and of imports, are not among the steps, so that
//! nothing is known across them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use duramen::Txnid;
use roaring::RoaringBitmap;

use super::Naming;
use crate::tables::Id;

/// Steps that are kept at most, and entries in all of them.
const STEPS_MAX: usize = 1024;
const ENTRIES_MAX: usize = 1 << 15;

/// What the updates of a directory have done to its tree of names of late.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    steps: Mutex<Steps>,
}

#[derive(Debug, Default)]
struct Steps {
    /// From each the next one goes on, or there is a gap.
    steps: VecDeque<Step>,
    entries: usize,
}

/// What a commit changed.
#[derive(Debug)]
struct Step {
    /// The commit that had changed names before.
    from: Txnid,
    to: Txnid,
    /// Whether it is known to be there: a commit of another process may have the number of one that failed.
    is_committed: bool,
    entries: Vec<Id>,
}

impl Changes {
    /// Takes note that a transaction changes where these entries are. `from`: the commit that changed names last, `None` once this
    /// transaction itself has.
    pub fn note(&self, from: Option<Txnid>, to: Txnid, entries: &[Id]) {
        self.steps().note(from, to, entries);
    }

    /// Takes note that a transaction has been committed.
    pub fn confirm(&self, commit: Txnid) {
        self.steps()
            .steps
            .iter_mut()
            .rfind(|step| step.to == commit)
            .into_iter()
            .for_each(|step| step.is_committed = true);
    }

    /// The entries that may have come, gone or moved between two states of the names, whichever is the older one; `None` if that
    /// is not known, or they are more than `most`.
    pub fn between(&self, one: Naming, other: Naming, most: u64) -> Option<RoaringBitmap> {
        if !one.differs_in_commit_only(other) {
            return None;
        }
        let (first, last) = (one.changed.min(other.changed), one.changed.max(other.changed));
        self.steps().between(first, last, most)
    }

    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Steps {
    fn note(&mut self, from: Option<Txnid>, to: Txnid, entries: &[Id]) {
        let has_failed = |last: &Step| match from {
            Some(from) => last.to > from && (last.from, last.to) != (from, to),
            None => last.to > to,
        };
        while self.steps.back().is_some_and(has_failed) {
            self.drop_step(VecDeque::pop_back);
        }
        match (self.steps.back_mut(), from) {
            (Some(last), _) if last.to == to => last.entries.extend_from_slice(entries),
            (_, Some(from)) => {
                self.steps.push_back(Step { from, to, is_committed: false, entries: entries.to_vec() });
            }
            // Something else has changed names in this transaction.
            (_, None) => return,
        }
        self.entries += entries.len();
        while self.steps.len() > STEPS_MAX || self.entries > ENTRIES_MAX {
            self.drop_step(VecDeque::pop_front);
        }
    }

    fn drop_step(&mut self, pop: fn(&mut VecDeque<Step>) -> Option<Step>) {
        self.entries -= pop(&mut self.steps).map_or(0, |step| step.entries.len());
    }

    fn between(&self, first: Txnid, last: Txnid, most: u64) -> Option<RoaringBitmap> {
        let (mut found, mut at) = (RoaringBitmap::new(), last);
        for step in self.steps.iter().rev().skip_while(|step| step.to != last) {
            if at == first {
                break;
            }
            if step.to != at || !step.is_committed {
                return None;
            }
            found.extend(&step.entries);
            if found.len() > most {
                return None;
            }
            at = step.from;
        }
        (at == first).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(steps: &Steps, first: u64, last: u64) -> Option<Vec<Id>> {
        steps.between(Txnid(first), Txnid(last), 100).map(|found| found.iter().collect())
    }

    /// Commits that changed names, each by the one before it.
    fn sample(commits: &[(u64, u64, Id)]) -> Steps {
        let mut steps = Steps::default();
        for &(from, to, entry) in commits {
            steps.note(Some(Txnid(from)), Txnid(to), &[entry]);
            steps.steps.back_mut().unwrap().is_committed = true;
        }
        steps
    }

    #[test]
    fn what_changed_between_two_commits_is_what_all_of_their_steps_changed() {
        let steps = sample(&[(1, 3, 7), (3, 4, 8), (4, 9, 7)]);
        assert_eq!(between(&steps, 1, 9), Some(vec![7, 8]));
        assert_eq!(between(&steps, 3, 4), Some(vec![8]));
        assert_eq!(between(&steps, 4, 4), Some(vec![]));
        assert_eq!(steps.between(Txnid(1), Txnid(9), 1), None, "more than are wanted");
        assert_eq!([between(&steps, 2, 9), between(&steps, 0, 9), between(&steps, 1, 10)], [None, None, None]);
    }

    #[test]
    fn nothing_is_known_across_a_commit_of_somebody_else() {
        let steps = sample(&[(1, 3, 7), (5, 6, 8)]);
        assert_eq!([between(&steps, 1, 6), between(&steps, 3, 6)], [None, None]);
        assert_eq!(between(&steps, 5, 6), Some(vec![8]));
    }

    #[test]
    fn what_is_not_known_to_be_committed_tells_nothing() {
        let mut steps = sample(&[(1, 3, 7)]);
        steps.note(Some(Txnid(3)), Txnid(4), &[8]);
        assert_eq!(between(&steps, 1, 4), None);
        // It was not, and others are made by the same number.
        steps.note(Some(Txnid(3)), Txnid(4), &[9]);
        steps.note(None, Txnid(4), &[10]);
        steps.steps.back_mut().unwrap().is_committed = true;
        assert_eq!(between(&steps, 1, 4), Some(vec![7, 8, 9, 10]));
        // The same after a commit of somebody else.
        let mut steps = sample(&[(1, 3, 7), (3, 5, 8)]);
        steps.note(Some(Txnid(4)), Txnid(5), &[9]);
        assert_eq!([between(&steps, 3, 5), between(&steps, 4, 5)], [None, None]);
        steps.note(None, Txnid(6), &[10]);
        assert_eq!(between(&steps, 5, 6), None, "names were changed before by something else");
    }

    #[test]
    fn no_more_is_kept_than_may_be() {
        let mut steps = Steps::default();
        for commit in 1..3000 {
            steps.note(Some(Txnid(commit)), Txnid(commit + 1), &[7, 8]);
        }
        assert_eq!((steps.steps.len(), steps.entries), (STEPS_MAX, 2 * STEPS_MAX));
        steps.note(Some(Txnid(3000)), Txnid(3001), &vec![1; ENTRIES_MAX + 1]);
        assert_eq!((steps.steps.len(), steps.entries), (0, 0));
    }
}
