//! Orders of sorted searches, for their next pages: cookies say where a page begins, and the server keeps nothing that an
//! answer depends on. What a thread has sorted last it remembers, for as long as nothing has changed.
//!
//! Owns: what is to be put in order, from the first entry found to all in order. Must not know: how entries are found.

use std::cell::RefCell;
use std::sync::Arc;

use duramen::Txnid;
use duramen_ldap::control::SortKeys;
use duramen_ldap::message::{Deref, Scope, SearchRequest};

use crate::clock::Moment;
use crate::controls::Controls;
use crate::failure::Result;
use crate::names::Naming;
use crate::requester::Requester;
use crate::state::State;
use crate::tables::Id;
use crate::view::View;

use super::sort::{Order, SortValue};

/// Ids that are remembered at most: 4 bytes each, by each thread.
const REMEMBERED: usize = 1 << 20;

/// Entries that are found to be put in order.
pub(super) struct Collecting {
    order: Order,
    /// What the order is remembered by, if there may be another page.
    question: Option<Question>,
    found: Vec<(SortValue, Id)>,
    /// Nothing was given out beside them, which who remembers them would not give out again.
    pub is_all: bool,
    /// The id to go on from.
    pub next: u32,
}

impl Collecting {
    pub fn new(order: Order, question: Option<Question>) -> Collecting {
        Collecting { order, question, found: Vec::new(), is_all: true, next: 0 }
    }

    pub fn add(&mut self, view: &View<'_, '_>) -> Result<()> {
        self.found.push((self.order.value(view)?, view.id));
        Ok(())
    }

    /// What was found, in order; remembered for the next page.
    pub fn in_order(&mut self) -> Arc<[Id]> {
        let ids = self.order.sort(std::mem::take(&mut self.found)).into();
        if let Some(question) = self.question.take().filter(|_| self.is_all) {
            question.remember(&ids);
        }
        ids
    }
}

/// All that an order depends on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
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
