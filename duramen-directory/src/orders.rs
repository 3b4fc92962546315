//! Orders of sorted searches that were made last, for their next pages and windows: nothing that an answer depends on.
//!
//! Owns: what an order depends on, how many are kept, how much all searches may gather for theirs at once. Must not know: how
//! entries are put in order.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duramen::Txnid;
use duramen_ldap::control::SortKeys;
use duramen_ldap::message::{Deref, Scope, SearchRequest};

use crate::clock::Moment;
use crate::controls::Controls;
use crate::names::Naming;
use crate::requester::Requester;
use crate::state::State;
use crate::tables::Id;

/// Orders that are kept at most: each question is held against all of them.
const ORDERS_MAX: usize = 16;
/// Bytes of all that is kept, at most: 4 for each entry in order.
const BYTES_MAX: usize = 64 << 20;

/// Bytes of what all searches gather to put in order, at most. One alone has no bound.
const GATHERED_MAX: usize = 1 << 30;

/// The orders that are kept, those that were asked for last behind. They are no thread's own: connections move between
/// threads, and pages between connections.
#[derive(Default)]
pub(crate) struct Orders {
    kept: Mutex<VecDeque<(Question, Arc<[Id]>)>>,
    /// Bytes of what is being gathered.
    gathered: AtomicUsize,
}

impl Orders {
    /// The order, if it is kept.
    pub fn find(&self, question: &Question) -> Option<Arc<[Id]>> {
        let mut orders = self.lock();
        let at = orders.iter().position(|(kept, _)| kept == question)?;
        let found = orders.remove(at)?;
        let ids = found.1.clone();
        orders.push_back(found);
        Some(ids)
    }

    /// Keeps an order, and none of earlier commits: hardly anybody asks for these any more.
    pub fn keep(&self, question: Question, ids: Arc<[Id]>) {
        let mut orders = self.lock();
        orders.retain(|(kept, _)| kept.commit.1 >= question.commit.1 && *kept != question);
        orders.push_back((question, ids));
        shorten(&mut orders, |(question, ids)| question.bytes() + size_of_val(&**ids));
    }

    /// Takes note that a search that has gathered `own` bytes gathers some more; whether there is room for these.
    pub fn gather(&self, own: usize, more: usize) -> bool {
        let all = self.gathered.fetch_add(more, Ordering::Relaxed) + more;
        all <= GATHERED_MAX || all == own + more
    }

    /// Takes note that what a search has gathered is gone.
    pub fn drop_gathered(&self, own: usize) {
        self.gathered.fetch_sub(own, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Question, Arc<[Id]>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leaves no more than may be kept: what came last, of so many bytes each.
fn shorten<T>(kept: &mut VecDeque<T>, bytes_of: impl Fn(&T) -> usize) {
    let mut bytes: usize = kept.iter().map(&bytes_of).sum();
    while kept.len() > ORDERS_MAX || bytes > BYTES_MAX {
        let Some(gone) = kept.pop_front() else { return };
        bytes -= bytes_of(&gone);
    }
}

/// All that an order depends on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    commit: (Naming, Txnid),
    state: Moment,
    requester: Requester,
    base: String,
    scope: Scope,
    deref: Deref,
    filter: Vec<u8>,
    keys: Vec<u8>,
    manage: bool,
    subentries: Option<bool>,
}

impl Question {
    pub fn new(
        commit: (Naming, Txnid),
        state: &State,
        requester: &Requester,
        request: &SearchRequest<'_>,
        controls: &Controls<'_>,
        keys: SortKeys<'_>,
    ) -> Question {
        Question {
            commit,
            state: state.since,
            // Pages may be asked for over several connections.
            requester: Requester { connection: None, ..requester.clone() },
            base: request.base.to_string(),
            scope: request.scope,
            deref: request.deref,
            filter: request.filter.encoded().to_vec(),
            keys: keys.0.encoded().to_vec(),
            manage: controls.manage_dsa_it,
            subentries: controls.subentries,
        }
    }

    /// Bytes of what has any length.
    fn bytes(&self) -> usize {
        self.base.len() + self.filter.len() + self.keys.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_searches_gather_at_once_has_a_bound_and_one_alone_has_none() {
        let orders = Orders::default();
        assert!(orders.gather(0, GATHERED_MAX) && orders.gather(GATHERED_MAX, 1));
        assert!(!orders.gather(0, 1), "there is no room for another");
        orders.drop_gathered(1);
        orders.drop_gathered(GATHERED_MAX + 1);
        assert!(orders.gather(0, GATHERED_MAX / 2) && orders.gather(0, GATHERED_MAX / 2));
    }

    #[test]
    fn what_is_kept_has_so_many_bytes_at_most() {
        for (sizes, left) in [
            (vec![1; ORDERS_MAX + 2], ORDERS_MAX),
            (vec![BYTES_MAX / 2; 3], 2),
            (vec![1, 1, BYTES_MAX], 1),
            (vec![1, BYTES_MAX + 1], 0),
        ] {
            let mut kept = VecDeque::from(sizes.clone());
            shorten(&mut kept, |size| *size);
            assert_eq!(kept.len(), left, "{sizes:?}");
        }
    }
}
