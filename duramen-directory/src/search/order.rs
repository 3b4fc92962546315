//! Orders of sorted searches, for their next pages: cookies say where a page begins, and the server keeps nothing that an
//! answer depends on. What a thread has sorted last it remembers, for as long as nothing has changed.
//!
//! Owns: what is to be put in order, from the first entry found to all in order; where in it a page begins. Must not know:
//! how entries are found.

use std::cell::RefCell;
use std::sync::Arc;

use duramen::Txnid;
use duramen_ldap::control::SortKeys;
use duramen_ldap::message::{Deref, Scope, SearchRequest};

use crate::clock::Moment;
use crate::controls::Controls;
use crate::entry::Entry;
use crate::failure::{Result, damaged};
use crate::names::Naming;
use crate::requester::Requester;
use crate::state::State;
use crate::tables::Id;
use crate::view::View;

use super::page::{Page, Start};
use super::sort::{Order, Rank};
use super::{Job, Run};

/// Ids that are remembered at most: 4 bytes each, by each thread.
const REMEMBERED: usize = 1 << 20;

/// Entries that are found to be put in order.
pub(super) struct Collecting {
    /// What the order is remembered by, if there may be another page.
    question: Option<Question>,
    found: Vec<(Rank, Id)>,
    /// Nothing was given out beside them, which who remembers them would not give out again.
    pub is_all: bool,
}

impl Collecting {
    pub fn new(question: Option<Question>) -> Collecting {
        Collecting { question, found: Vec::new(), is_all: true }
    }

    pub fn add(&mut self, order: &Order, view: &View<'_, '_>) -> Result<()> {
        self.found.push((order.rank(view)?, view.id));
        Ok(())
    }

    /// What was found, in order, and those that are equal in the order of their ids; remembered for the next page.
    pub fn in_order(&mut self) -> Arc<[Id]> {
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable();
        let ids = found.into_iter().map(|(_, id)| id).collect();
        if let Some(question) = self.question.take().filter(|_| self.is_all) {
            question.remember(&ids);
        }
        ids
    }
}

impl Run<'_> {
    /// The place in the order that a page begins at: behind the entry that the one before ended with, whatever has come or
    /// gone before that.
    pub(super) fn start_in_order(&self, job: &Job) -> Result<u32> {
        match (job, self.order, self.page) {
            (Job::Sorted(ids), Some(order), Some(Page { start, .. })) if !start.rank.is_empty() => self
                .count_before(ids, |view| Ok(order.rank(view)?.cmp(&start.rank).then(view.id.cmp(&start.id)).is_le())),
            _ => Ok(0),
        }
    }

    /// Where the page after this one begins.
    pub(super) fn end_in_order(&self, job: &Job) -> Result<Start> {
        let last = self.next.checked_sub(1);
        match (job, self.order, last) {
            (Job::Sorted(ids), Some(order), Some(last)) => {
                let id = ids[last as usize];
                Ok(Start { id, rank: self.look(id, |view| order.rank(view))? })
            }
            _ => Ok(Start::default()),
        }
    }

    /// How many entries come before something: of those in order the first ones.
    pub(super) fn count_before(&self, ids: &[Id], comes_before: impl Fn(&View<'_, '_>) -> Result<bool>) -> Result<u32> {
        let (mut low, mut high) = (0, ids.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.look(ids[middle], &comes_before)? { low = middle + 1 } else { high = middle }
        }
        u32::try_from(low).map_err(|_| damaged("the number of entries"))
    }

    fn look<T>(&self, id: Id, act: impl FnOnce(&View<'_, '_>) -> Result<T>) -> Result<T> {
        let bytes = self.entries.get(id.to_be_bytes())?;
        let entry = bytes.and_then(Entry::parse).ok_or_else(|| damaged(format_args!("entry {id}")))?;
        let name = self.scene.name_of(id, &entry)?;
        act(&View::new(&self.scene, id, entry, &name))
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
