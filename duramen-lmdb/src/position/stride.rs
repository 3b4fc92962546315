//! Steps of a cursor that stands on an entry as any other: what scans consist of.
//!
//! Owns: the same answers and marks as the movements in `position` give, found in fewer steps. Must not know: marks
//! that deletions leave. (A gap has none.)

use std::ffi::c_uint;

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

/// Makes a step of the engine's cursor.
macro_rules! step {
    ($walk:expr, $txn:expr, $movement:ident) => {
        match $walk {
            Walk::Read(cursor) => cursor.$movement(),
            Walk::Write(cursor) => match $txn.writer() {
                Ok(writer) => cursor.$movement(writer),
                Err(code) => return Some(Err(code)),
            },
            Walk::None | Walk::Rest(_) => return None,
        }
    };
}

/// What a movement of the engine's cursor comes to without a look at anything else, and the marks of the value then.
macro_rules! look {
    ($cursor:expr, $kind:expr, $op:expr, $inner:expr $(, $writer:expr)?) => {
        match $op {
            Op::GetCurrent => ($cursor.at_hand($($writer)?)?, $inner),
            Op::Next => ($cursor.next_at_hand($($writer)?)?, ON),
            Op::NextNodup => ($cursor.next_key_at_hand($($writer)?)?, ON),
            Op::PrevNodup => ($cursor.prev_key_at_hand($($writer)?)?, ON_FROM_BEHIND),
            Op::Prev if !$kind.duplicates => ($cursor.prev_key_at_hand($($writer)?)?, ON_FROM_BEHIND),
            Op::NextDup if $kind.duplicates => ($cursor.next_duplicate_at_hand($($writer)?)?, ON),
            Op::PrevDup if $kind.duplicates => ($cursor.prev_duplicate_at_hand($($writer)?)?, ON),
            Op::Prev => match $cursor.prev_duplicate_at_hand($($writer)?) {
                Some(pair) => (pair, ON),
                None => ($cursor.prev_at_hand($($writer)?)?, ON_FROM_BEHIND),
            },
            _ => return None,
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
            Op::Next | Op::NextDup if kind.duplicates => (cursor.next_duplicate_at_hand()?, ON),
            Op::Next => (cursor.next_key_at_hand()?, ON),
            Op::Prev if !kind.duplicates => (cursor.prev_key_at_hand()?, ON_FROM_BEHIND),
            _ => return None,
        };
        self.inner = inner;
        Some(Item::of(pair))
    }

    /// Whether [`State::look`] may find what this movement comes to.
    #[inline(always)]
    pub fn looks(op: c_uint) -> bool {
        const LOOKS: u32 = {
            let steps = [Op::Next, Op::NextDup, Op::NextNodup, Op::Prev, Op::PrevDup, Op::PrevNodup];
            let mut set = 1 << Op::GetCurrent as u32;
            let mut i = 0;
            while i < steps.len() {
                set |= 1 << steps[i] as u32;
                i += 1;
            }
            set
        };
        op < u32::BITS && LOOKS >> op & 1 != 0
    }

    /// As [`State::glance`], for any step, of a writer's cursor, too, and for the entry under a cursor.
    #[inline(always)]
    pub fn look(&mut self, txn: &mut Txn, kind: Kind, op: Op) -> Option<Item> {
        if kind.names || !is_plain(self.outer, self.inner, kind) {
            return None;
        }
        let (pair, inner) = match &mut self.walk {
            Walk::Read(cursor) => look!(cursor, kind, op, self.inner),
            Walk::Write(cursor) if self.gap == Gap::None => look!(cursor, kind, op, self.inner, txn.writer().ok()?),
            _ => return None,
        };
        self.inner = inner;
        Some(Item::of(pair))
    }

    /// What most scans consist of: looks at an entry, and steps to the next one, or to the one before, that [`State::glance`] and
    /// [`State::look`] have not found. `None` where there may be more to it.
    #[inline(always)]
    pub fn glide(&mut self, txn: &mut Txn, kind: Kind, op: Op) -> Option<Result<Item>> {
        if !is_plain(self.outer, self.inner, kind) {
            return None;
        }
        let (found, at_end, inner) = match (&mut self.walk, op) {
            (Walk::Read(cursor), Op::GetCurrent) => return told(cursor.current()),
            (Walk::Read(cursor), Op::Next) if kind.duplicates => (cursor.next(), (true, true), ON),
            (Walk::Read(cursor), Op::Next | Op::NextNodup) => (cursor.next_beyond(), (true, self.inner.eof), ON),
            (Walk::Read(cursor), Op::Prev) if !kind.duplicates => {
                (cursor.prev_beyond(), (false, self.inner.eof), ON_FROM_BEHIND)
            }
            (Walk::Write(cursor), Op::Next | Op::NextNodup | Op::GetCurrent) if self.gap == Gap::None => {
                let Ok(writer) = txn.writer() else { return None };
                match op {
                    Op::GetCurrent => return told(cursor.current(writer)),
                    Op::Next if kind.duplicates => (cursor.next(writer), (true, true), ON),
                    _ => (cursor.next_key(writer), (true, self.inner.eof), ON),
                }
            }
            _ => return None,
        };
        Some(self.come_to(found, at_end, inner))
    }

    /// Makes any other step to a neighbour, if it is one of those that this module is for.
    #[inline(always)]
    pub fn stride(&mut self, txn: &mut Txn, kind: Kind, op: Op) -> Option<Result<Item>> {
        if self.gap != Gap::None {
            return self.stride_out_of_gap(txn, op);
        }
        if !is_plain(self.outer, self.inner, kind) {
            return None;
        }
        let walk = &mut self.walk;
        // What is found; the marks `eof` if that is nothing; the value's marks if it is an entry.
        let (found, at_end, inner) = match op {
            Op::NextDup if kind.duplicates => (step!(walk, txn, next_duplicate), (false, true), ON),
            Op::Prev if kind.duplicates => match step!(walk, txn, prev_duplicate) {
                Ok(None) => (step!(walk, txn, prev_key), (false, false), ON_FROM_BEHIND),
                found => (found, (false, false), ON),
            },
            Op::PrevDup if kind.duplicates => (step!(walk, txn, prev_duplicate), (false, false), ON),
            Op::Prev | Op::PrevNodup => (step!(walk, txn, prev_key), (false, self.inner.eof), ON_FROM_BEHIND),
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
    fn stride_out_of_gap(&mut self, txn: &mut Txn, op: Op) -> Option<Result<Item>> {
        let found = match (self.gap, op) {
            (Gap::Key, Op::Next | Op::NextNodup | Op::GetCurrent) => step!(&mut self.walk, txn, next_key),
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
