//! Orders of sorted searches, for their next pages: cookies say where a page begins, and the server keeps nothing that an
//! answer depends on. What a thread has sorted last it remembers, for as long as nothing has changed.

use std::cell::RefCell;
use std::sync::Arc;

use duramen_ldap::control::SortKeys;
use duramen_ldap::message::{Deref, Scope, SearchRequest};

use crate::clock::Moment;
use crate::controls::Controls;
use crate::names::Commit;
use crate::requester::Requester;
use crate::state::State;
use crate::tables::Id;

/// Ids that are remembered at most: 4 bytes each, by each thread.
const REMEMBERED: usize = 1 << 20;

/// All that an order depends on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    commit: Commit,
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
        commit: Commit,
        state: &State,
        requester: &Requester,
        request: &SearchRequest<'_>,
        controls: &Controls<'_>,
        keys: SortKeys<'_>,
    ) -> Question {
        Question {
            commit,
            state: state.since,
            requester: requester.clone(),
            base: request.base.to_string(),
            scope: request.scope,
            deref: request.deref,
            filter: request.filter.encoded().to_vec(),
            keys: keys.0.encoded().to_vec(),
            manage: controls.manage_dsa_it,
            subentries: controls.subentries,
        }
    }

    /// The order, if it is the last one that this thread has remembered.
    pub fn remembered(&self) -> Option<Arc<[Id]>> {
        LAST.with_borrow(|last| last.as_ref().filter(|(question, _)| question == self).map(|(_, ids)| ids.clone()))
    }

    /// Remembers the order.
    pub fn remember(self, ids: &Arc<[Id]>) {
        if ids.len() <= REMEMBERED {
            LAST.set(Some((self, ids.clone())));
        }
    }
}

thread_local! {
    static LAST: RefCell<Option<(Question, Arc<[Id]>)>> = const { RefCell::new(None) };
}
