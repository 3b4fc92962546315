//! Orders of sorted searches, for their next pages: cookies say where a page begins, and the server keeps nothing that an
//! answer depends on.
//!
//! Owns: what is to be put in order, from the first entry found to all in order; where in it a page begins. Must not know:
//! how entries are found.

use std::sync::Arc;

use duramen_ldap::message::ResultCode;

use crate::entry::Entry;
use crate::failure::{Failure, Result, damaged};
use crate::orders::{Orders, Question};
use crate::tables::Id;
use crate::view::View;

use super::page::{Page, Start};
use super::sort::{Order, Rank};
use super::{Job, Run};

/// Bytes of an entry that is found, besides its rank.
const FOUND_BYTES: usize = size_of::<(Rank, Id)>() + 16;
/// Others are told of so many bytes at once.
const TOLD_BYTES: usize = 256 << 10;

/// Entries that are found to be put in order.
pub(super) struct Collecting {
    orders: Arc<Orders>,
    /// Bytes of what was found that others were told of, and those that were not.
    told: usize,
    untold: usize,
    /// What the order is kept by, if there may be another page.
    question: Option<Question>,
    found: Vec<(Rank, Id)>,
    /// Nothing was given out beside them, which whoever finds them kept would not give out again.
    pub is_all: bool,
}

impl Collecting {
    pub fn new(question: Option<Question>, orders: Arc<Orders>) -> Collecting {
        Collecting { orders, told: 0, untold: 0, question, found: Vec::new(), is_all: true }
    }

    /// # Errors
    /// busy, where many searches gather very much at once.
    pub fn add(&mut self, order: &Order, view: &View<'_, '_>) -> Result<()> {
        let rank = order.rank(view)?;
        self.untold += rank.len() + FOUND_BYTES;
        self.found.push((rank, view.id));
        if self.untold < TOLD_BYTES {
            return Ok(());
        }
        let has_room = self.orders.gather(self.told, self.untold);
        self.told += std::mem::take(&mut self.untold);
        if has_room {
            return Ok(());
        }
        Err(Failure::new(ResultCode::BUSY, "too many entries are being sorted for others now; try again later"))
    }

    /// What was found, in order, and those that are equal in the order of their ids; kept for the next page.
    pub fn in_order(&mut self) -> Arc<[Id]> {
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable();
        let ids: Arc<[Id]> = found.into_iter().map(|(_, id)| id).collect();
        if let Some(question) = self.question.take().filter(|_| self.is_all) {
            self.orders.keep(question, ids.clone());
        }
        ids
    }
}

impl Drop for Collecting {
    fn drop(&mut self) {
        self.orders.drop_gathered(self.told);
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
