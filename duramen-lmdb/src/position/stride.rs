//! Steps of a cursor that stands on an entry as any other: what scans consist of.
//!
//! Owns: the same answers and marks as the movements in `position` give, found in fewer steps. Must not know: marks
//! that deletions leave. (A gap has none.)

use super::{Gap, Item, Kind, Marks, State, Walk};
use crate::abi::Op;
use crate::errors::{NOTFOUND, Result};
use crate::txn::Txn;

/// Of a cursor that stands on a key, or on a value of it, and nothing else is to be said.
const ON: Marks = Marks { set: true, eof: false, deleted: false, behind: false };
/// The same of one that came to the value from behind.
const ON_FROM_BEHIND: Marks = Marks { eof: true, ..ON };

/// Whether nothing else is to be said of a cursor than that it stands on an entry. Whether it came to the value from behind does
/// not matter here.
#[inline(always)]
fn is_plain(outer: Marks, inner: Marks, kind: Kind) -> bool {
    outer == ON && (!kind.duplicates || Marks { eof: false, ..inner } == ON)
}

/// What is under a cursor, if anything is.
#[inline(always)]
fn told(found: duramen::Result<Option<Pair<'_>>>) -> Option<Result<Item>> {
    found.map(|found| found.map(Item::of)).map_err(Into::into).transpose()
}

/// A key and a value.
type Pair<'p> = (&'p [u8], &'p [u8]);

/// Makes a step of the engine's cursor. Readers may have another one: what they have at hand was looked for before.
macro_rules! step {
    ($walk:expr, $txn:expr, $movement:ident) => {
        step!($walk, $txn, $movement, $movement)
    };
    ($walk:expr, $txn:expr, $of_writer:ident, $of_reader:ident) => {
        match $walk {
            Walk::Read(cursor) => cursor.$of_reader(),
            Walk::Write(cursor) => match $txn.writer() {
                Ok(writer) => cursor.$of_writer(writer),
                Err(code) => return Some(Err(code)),
            },
            Walk::None | Walk::Rest(_) => return None,
        }
    };
}

impl State {
    /// The next entry, or the one before, where a reader's cursor has it at hand. `None` says nothing.
    #[inline(always)]
    pub fn glance(&mut self, kind: Kind, op: Op) -> Option<Item> {
        let Walk::Read(cursor) = &mut self.walk else { return None };
        if kind.names || !is_plain(self.outer, self.inner, kind) {
            return None;
        }
        let (pair, inner) = match op {
            Op::Next if !kind.duplicates => (cursor.next_key_at_hand()?, ON),
            Op::Prev if !kind.duplicates => (cursor.prev_key_at_hand()?, ON_FROM_BEHIND),
            Op::Next | Op::NextDup => (cursor.next_duplicate_at_hand()?, ON),
            Op::Prev | Op::PrevDup => (cursor.prev_duplicate_at_hand()?, ON),
            _ => return None,
        };
        self.inner = inner;
        Some(Item::of(pair))
    }

    /// As [`State::glance`], which has found nothing, but for the steps of most walks.
    #[inline(always)]
    fn glance_on(&mut self, kind: Kind, op: Op) -> Option<Item> {
        let Walk::Read(cursor) = &mut self.walk else { return None };
        let (pair, inner) = match op {
            Op::Next if kind.duplicates => (cursor.next_at_hand()?, ON),
            Op::Prev if kind.duplicates => (cursor.prev_at_hand()?, ON_FROM_BEHIND),
            Op::GetCurrent => return cursor.current_at_hand().map(Item::of),
            _ => return None,
        };
        self.inner = inner;
        Some(Item::of(pair))
    }

    /// Makes any step to a neighbour, or looks at the entry, of a cursor that this module is for: [`State::glance`] has found
    /// nothing.
    #[inline(always)]
    pub fn stride(&mut self, txn: &mut Txn, kind: Kind, op: Op) -> Option<Result<Item>> {
        if self.gap != Gap::None {
            return self.stride_out_of_gap(txn, kind, op);
        }
        if !is_plain(self.outer, self.inner, kind) {
            return None;
        }
        if let Some(item) = self.glance_on(kind, op) {
            return Some(Ok(item));
        }
        let walk = &mut self.walk;
        // What is found; the marks `eof` if that is nothing; the value's marks if it is an entry.
        let (found, at_end, inner) = match op {
            Op::GetCurrent => return told(step!(walk, txn, current)),
            Op::Next if kind.duplicates => (step!(walk, txn, next), (true, true), ON),
            Op::Next => (step!(walk, txn, next_key, next_beyond), (true, self.inner.eof), ON),
            Op::NextNodup => (step!(walk, txn, next_key), (true, self.inner.eof), ON),
            Op::NextDup if kind.duplicates => (step!(walk, txn, next_duplicate), (false, true), ON),
            Op::Prev if kind.duplicates => match step!(walk, txn, prev_duplicate) {
                Ok(None) => (step!(walk, txn, prev_key), (false, false), ON_FROM_BEHIND),
                found => (found, (false, false), ON),
            },
            Op::Prev => (step!(walk, txn, prev_key, prev_beyond), (false, self.inner.eof), ON_FROM_BEHIND),
            Op::PrevNodup => (step!(walk, txn, prev_key), (false, self.inner.eof), ON_FROM_BEHIND),
            Op::PrevDup if kind.duplicates => (step!(walk, txn, prev_duplicate), (false, false), ON),
            _ => return None,
        };
        Some(self.come_to(found, at_end, inner))
    }

    /// Notes what a step has found: an entry, with these marks of its value, or nothing, with these marks `eof` then.
    #[inline(always)]
    fn come_to(
        &mut self,
        found: duramen::Result<Option<Pair<'_>>>,
        at_end: (bool, bool),
        inner: Marks,
    ) -> Result<Item> {
        match found {
            Ok(Some(pair)) => {
                self.inner = inner;
                Ok(Item::of(pair))
            }
            Ok(None) => {
                (self.outer.eof, self.inner.eof) = at_end;
                Err(NOTFOUND)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the movement that mostly comes after a deletion: to the key, or the value, that is next now, or to the first key.
    #[inline(never)]
    fn stride_out_of_gap(&mut self, txn: &mut Txn, kind: Kind, op: Op) -> Option<Result<Item>> {
        let found = match (self.gap, op) {
            (Gap::Key, Op::Next | Op::NextNodup) => step!(&mut self.walk, txn, next_key),
            (Gap::Key, Op::GetCurrent) if !kind.duplicates => step!(&mut self.walk, txn, next_key),
            (Gap::Key, Op::First) => step!(&mut self.walk, txn, first),
            (Gap::Value, Op::Next | Op::NextDup) if self.outer == ON => step!(&mut self.walk, txn, next_duplicate),
            _ => return None,
        };
        match found {
            Ok(Some(pair)) => {
                (self.outer, self.inner, self.gap) = (ON, ON, Gap::None);
                Some(Ok(Item::of(pair)))
            }
            Ok(None) => None,
            Err(error) => Some(Err(error.into())),
        }
    }
}
