//! The leaf of a write transaction that a cursor walks in, kept open between its steps.
//!
//! Owns: whether it may still be looked at. Must not know: movements.
//!
//! # Safety
//! A cursor of a write transaction borrows nothing, so what it keeps open has no lifetime. It is looked at only in the
//! transaction that it was opened in, and only while its table has the same [`Stamp`] there: until then no page of it has
//! been changed, moved or given away. `Work` changes the stamp with everything that does. The pages are in the map or the
//! arena, which stay where they are while the transaction lives.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::{MaybeUninit, transmute};

use super::work::{Stamp, Work};
use super::write::TableId;
use crate::tree::cursor::{Position, Trunk};
use crate::tree::near::Near;

/// See the module's head.
pub(super) struct Held {
    /// Of that stamp, or never opened.
    near: MaybeUninit<Near<'static>>,
    stamp: Option<Stamp>,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Held(..)")
    }
}

impl Held {
    pub(super) fn none() -> Held {
        Held { near: MaybeUninit::uninit(), stamp: None }
    }

    /// Opens the leaf that the position is in; for a walk in that direction.
    pub(super) fn open(
        &mut self,
        work: &Work,
        table: TableId,
        position: &Position,
        trunk: Trunk<'_>,
        walking: Option<bool>,
    ) {
        self.close();
        if let Some(near) = Near::open(work, position, trunk, walking) {
            self.keep(work, table, near);
        }
    }

    /// Keeps a leaf that is open already.
    pub(super) fn keep<'w>(&mut self, work: &'w Work, table: TableId, near: Near<'w>) {
        // SAFETY: only the lifetime changes, which the module's head speaks of.
        self.near.write(unsafe { transmute::<Near<'w>, Near<'static>>(near) });
        self.stamp = Some(work.stamp(table.index as usize));
    }

    /// The leaf, if it is as it was.
    #[inline]
    pub(super) fn get<'w>(&mut self, work: &'w Work, table: TableId) -> Option<&mut Near<'w>> {
        if self.stamp? != work.stamp(table.index as usize) {
            return None;
        }
        // SAFETY: it has been opened, and the pages are this transaction's, as the module's head says.
        Some(unsafe { transmute::<&mut Near<'static>, &mut Near<'w>>(self.near.assume_init_mut()) })
    }

    /// The position has been moved by something else.
    #[inline]
    pub(super) fn close(&mut self) {
        self.stamp = None;
    }
}
