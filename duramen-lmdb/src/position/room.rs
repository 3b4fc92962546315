//! The memory of a cursor's insides, kept from one use to the next: programs open or renew a cursor for each look-up.
//!
//! Owns: what is kept, and that nothing is left in it. Must not know: movements.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr;

use duramen::{Bookmark, Cursor, Table, TableId, WriteCursor, WriteTxn};

use super::{Rest, Walk};
use crate::errors::Result;

/// See the module's head.
#[derive(Default)]
pub(super) struct Room {
    read: Option<Box<MaybeUninit<Cursor<'static>>>>,
    write: Option<Box<WriteCursor>>,
    rest: Option<Box<Rest>>,
}

impl Room {
    /// Ends what a cursor has done with.
    pub(super) fn keep(&mut self, walk: Walk) {
        match walk {
            Walk::None => {}
            Walk::Rest(rest) => self.rest = Some(rest),
            Walk::Read(cursor) => self.read = Some(emptied(cursor)),
            Walk::Write(cursor) => self.write = Some(cursor),
        }
    }

    /// A cursor of a table that is read.
    pub(super) fn reading(&mut self, table: &Table<'static>) -> Box<Cursor<'static>> {
        match self.read.take() {
            Some(room) => Box::write(room, table.cursor()),
            None => Box::new(table.cursor()),
        }
    }

    /// A cursor of a table in a write transaction.
    pub(super) fn writing(&mut self, writer: &WriteTxn<'static>, table: TableId) -> Result<Box<WriteCursor>> {
        match self.write.take() {
            Some(mut cursor) => {
                writer.reuse_cursor(&mut cursor, table)?;
                Ok(cursor)
            }
            None => Ok(Box::new(writer.cursor(table)?)),
        }
    }

    /// A cursor in a write transaction that stands where one stood.
    pub(super) fn writing_at(&mut self, bookmark: &Bookmark) -> Box<WriteCursor> {
        match self.write.take() {
            Some(mut cursor) => {
                cursor.go_back(bookmark);
                cursor
            }
            None => Box::new(WriteCursor::at(bookmark)),
        }
    }

    /// A note of an entry that is stood on.
    pub(super) fn resting(&mut self, key: &[u8], value: Option<&[u8]>) -> Box<Rest> {
        let mut rest = self.rest.take().unwrap_or_default();
        rest.key.clear();
        rest.key.extend_from_slice(key);
        rest.value.clear();
        rest.value.extend_from_slice(value.unwrap_or_default());
        rest.has_value = value.is_some();
        rest
    }
}

/// Ends a cursor, whose snapshot may go then, but for its memory.
fn emptied(cursor: Box<Cursor<'static>>) -> Box<MaybeUninit<Cursor<'static>>> {
    let cursor = Box::into_raw(cursor);
    // SAFETY: it has just come from a box, and is ended once; what is left of it are bytes, as many and as aligned.
    unsafe {
        ptr::drop_in_place(cursor);
        Box::from_raw(cursor.cast())
    }
}
