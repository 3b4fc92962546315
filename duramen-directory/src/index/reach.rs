//! How far candidates are looked for.
//!
//! A search that wants a few entries need not know of all that might match. Of what there may be much of, containers of
//! one key, so many are looked at, and the candidates are complete up to where somebody stopped first.

use std::cell::Cell;

use super::container::CONTAINER_BITS;
use crate::tables::Id;

/// The window of the last ids.
const LAST_WINDOW: u32 = Id::MAX >> CONTAINER_BITS;

/// The windows of ids in which candidates are looked for.
#[derive(Debug)]
pub(crate) struct Reach {
    /// The first window.
    pub from: u32,
    /// How many windows of one kind are looked at.
    pub most: usize,
    /// The last window of which all is known.
    last: Cell<u32>,
}

impl Reach {
    /// All windows.
    pub const fn all() -> Reach {
        Reach { from: 0, most: usize::MAX, last: Cell::new(LAST_WINDOW) }
    }

    /// `most` windows of each kind, from that of an id on.
    pub fn of(from: Id, most: usize) -> Reach {
        Reach { from: from >> CONTAINER_BITS, most, last: Cell::new(LAST_WINDOW) }
    }

    /// Takes note that this window and those behind it were not looked at.
    pub fn ends_before(&self, window: u32) {
        self.last.set(self.last.get().min(window.saturating_sub(1)));
    }

    /// The first id that was not reached; `None` if all were.
    pub fn end(&self) -> Option<Id> {
        let last = self.last.get();
        (last < LAST_WINDOW).then(|| (last + 1) << CONTAINER_BITS)
    }
}
