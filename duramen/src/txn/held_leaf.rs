//! The leaf of a write transaction that a cursor walks in, kept open between its steps.
//!
//! Owns: whether it may still be looked at. Must not know: movements.
//!
//! # Safety
//! A cursor of a write transaction borrows nothing, so what it keeps open has no lifetime. It is looked at only in the
//! transaction that it was opened in, and only while its table has the same [`Stamp`] there: until then no page of it has
//! been changed, moved or given away. `Work` changes the stamp with everything that does. The pages are in the map or the
//! arena, which stay where they are while the transaction lives; a reference to a page that changes is one to that page alone. Only those of commits before it *last*: whatever it changes, it
//! leaves them as they are, so these may be looked at for the sake of the entry that the cursor stood on as long as it lives.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::{MaybeUninit, transmute};

use super::work::{Stamp, Work};
use super::write::TableId;
use crate::tree::Direction;
use crate::tree::cursor::{Pair, Position, Trunk};
use crate::tree::near::Near;

/// See the module's head.
#[derive(Clone)]
pub(super) struct HeldLeaf {
    /// Of that stamp, or never opened.
    near: MaybeUninit<Near<'static>>,
    stamp: Option<Stamp>,
    /// All its pages last.
    lasts: bool,
}

impl fmt::Debug for HeldLeaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HeldLeaf(..)")
    }
}

impl HeldLeaf {
    pub(super) fn none() -> HeldLeaf {
        HeldLeaf { near: MaybeUninit::uninit(), stamp: None, lasts: false }
    }

    /// Opens the leaf that the position is in; for a walk in that direction.
    pub(super) fn open(
        &mut self,
        work: &Work,
        table: TableId,
        position: &Position,
        trunk: Trunk<'_>,
        walking: Option<Direction>,
    ) {
        self.close();
        if let Some(near) = Near::open(work, position, trunk, walking) {
            self.keep(work, table, position, &near);
        }
    }

    /// Keeps a leaf open in which the position is.
    pub(super) fn keep(&mut self, work: &Work, table: TableId, position: &Position, near: &Near<'_>) {
        self.lasts = near.is_older_than(work.txnid, position);
        // SAFETY: only the lifetime changes, which the module's head speaks of.
        self.near.write(unsafe { transmute::<Near<'_>, Near<'static>>(*near) });
        self.stamp = Some(work.stamp(table.index as usize));
    }

    /// The leaf has followed the position to another one.
    pub(super) fn has_moved(&mut self, work: &Work, table: TableId, position: &Position) {
        let lasts = self.get(work, table).is_some_and(|near| near.is_older_than(work.txnid, position));
        self.lasts = lasts;
    }

    /// The leaf, if it is as it was.
    #[inline(always)]
    pub(super) fn get<'w>(&mut self, work: &'w Work, table: TableId) -> Option<&mut Near<'w>> {
        if self.stamp? != work.stamp(table.index as usize) {
            return None;
        }
        // SAFETY: it has been opened, and the pages are this transaction's, as the module's head says.
        Some(unsafe { transmute::<&mut Near<'static>, &mut Near<'w>>(self.near.assume_init_mut()) })
    }

    /// Whether something is held, and stays as it is while the transaction lives.
    #[inline]
    pub(super) fn lasts(&self) -> bool {
        self.lasts
    }

    /// The entry that the position is on in pages that last, whatever has changed since it came to be there; without the value
    /// where the table has no duplicates.
    pub(super) fn entry<'w>(&self, work: &'w Work, position: &Position) -> Option<Pair<'w>> {
        if !self.lasts || !work.is_of(&self.stamp?) {
            return None;
        }
        // SAFETY: it has been opened, in this transaction, and its pages last, as the module's head says.
        let near = unsafe { transmute::<&Near<'static>, &Near<'w>>(self.near.assume_init_ref()) };
        near.entry(position)
    }

    /// The position has been moved by something else.
    #[inline]
    pub(super) fn close(&mut self) {
        (self.stamp, self.lasts) = (None, false);
    }
}
