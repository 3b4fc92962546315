//! The cursors of a transaction, those on one table side by side: a program may have thousands open, on as many tables.
//!
//! Owns: the list and its order. Must not know: cursors.

use std::ops::Range;

use crate::cursor::Cursor;

/// See the module's head.
#[derive(Clone, Default)]
pub(crate) struct Cursors {
    /// By table.
    list: Vec<(u32, *mut Cursor)>,
}

impl Cursors {
    pub(crate) fn add(&mut self, dbi: u32, cursor: *mut Cursor) {
        let at = self.range(dbi).end;
        self.list.insert(at, (dbi, cursor));
    }

    pub(crate) fn remove(&mut self, dbi: u32, cursor: *mut Cursor) {
        let range = self.range(dbi);
        let found = self.list[range.clone()].iter().position(|&(_, other)| other == cursor);
        if let Some(i) = found {
            self.list.remove(range.start + i);
        }
    }

    /// Where those on a table are in the list.
    #[inline]
    pub(crate) fn range(&self, dbi: u32) -> Range<usize> {
        let start = self.list.partition_point(|&(other, _)| other < dbi);
        let len = self.list[start..].partition_point(|&(other, _)| other == dbi);
        start..start + len
    }

    #[inline]
    pub(crate) fn at(&self, i: usize) -> *mut Cursor {
        self.list[i].1
    }

    /// Those on a table.
    pub(crate) fn on(&self, dbi: u32) -> impl Iterator<Item = *mut Cursor> + '_ {
        self.list[self.range(dbi)].iter().map(|&(_, cursor)| cursor)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = *mut Cursor> + '_ {
        self.list.iter().map(|&(_, cursor)| cursor)
    }
}
