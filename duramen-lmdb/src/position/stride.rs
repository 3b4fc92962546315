//! Steps of a reading cursor that stands on an entry as any other: what scans consist of.
//!
//! Owns: the same answers and marks as the movements in `position` give, found in fewer steps. Must not know: marks
//! that deletions leave.

use super::{Item, Kind, Marks, State, Walk};
use crate::abi::Op;
use crate::errors::{NOTFOUND, Result};

/// Of a cursor that stands on a key, or on a value of it, and nothing else is to be said.
const ON: Marks = Marks { set: true, eof: false, deleted: false, behind: false };

impl State {
    /// Makes a step to a neighbour, if it is one of those that this module is for.
    #[inline]
    pub fn stride(&mut self, kind: Kind, op: Op) -> Option<Result<Item>> {
        let Walk::Read(cursor) = &mut self.walk else { return None };
        // Whether it came to the value from behind does not matter here.
        let plain = self.outer == ON && (!kind.duplicates || Marks { eof: false, ..self.inner } == ON);
        if !plain {
            return None;
        }
        let (found, at_end) = match op {
            Op::Next if kind.duplicates => (cursor.next(), (true, true)),
            Op::Next | Op::NextNodup => (cursor.next_key(), (true, self.inner.eof)),
            Op::NextDup if kind.duplicates => (cursor.next_duplicate(), (false, true)),
            Op::Prev if !kind.duplicates => return Some(self.stride_back()),
            Op::PrevNodup => return Some(self.stride_back()),
            _ => return None,
        };
        Some(match found {
            Ok(Some(pair)) => {
                self.inner = ON;
                Ok(Item::of(pair))
            }
            Ok(None) => {
                (self.outer.eof, self.inner.eof) = at_end;
                Err(NOTFOUND)
            }
            Err(error) => Err(error.into()),
        })
    }

    #[inline]
    fn stride_back(&mut self) -> Result<Item> {
        let Walk::Read(cursor) = &mut self.walk else { return Err(NOTFOUND) };
        let pair = cursor.prev_key()?.ok_or(NOTFOUND)?;
        self.inner = Marks { eof: true, ..ON };
        Ok(Item::of(pair))
    }
}
