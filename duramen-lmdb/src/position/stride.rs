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

impl State {
    /// Makes a step to a neighbour, if it is one of those that this module is for.
    #[inline]
    pub fn stride(&mut self, txn: &mut Txn, kind: Kind, op: Op) -> Option<Result<Item>> {
        if self.gap != Gap::None {
            return self.stride_out_of_gap(txn, op);
        }
        // Whether it came to the value from behind does not matter here.
        let plain = self.outer == ON && (!kind.duplicates || Marks { eof: false, ..self.inner } == ON);
        if !plain {
            return None;
        }
        let walk = &mut self.walk;
        if op == Op::GetCurrent {
            return match step!(walk, txn, current) {
                Ok(found) => found.map(|pair| Ok(Item::of(pair))),
                Err(error) => Some(Err(error.into())),
            };
        }
        // What is found; the marks `eof` if that is nothing; whether it comes to a value from behind.
        let (found, at_end, back) = match op {
            Op::Next if kind.duplicates => (step!(walk, txn, next), (true, true), false),
            Op::Next | Op::NextNodup => (step!(walk, txn, next_key), (true, self.inner.eof), false),
            Op::NextDup if kind.duplicates => (step!(walk, txn, next_duplicate), (false, true), false),
            Op::Prev if kind.duplicates => match step!(walk, txn, prev_duplicate) {
                Ok(None) => (step!(walk, txn, prev_key), (false, false), true),
                found => (found, (false, false), false),
            },
            Op::PrevDup if kind.duplicates => (step!(walk, txn, prev_duplicate), (false, false), false),
            Op::Prev | Op::PrevNodup => (step!(walk, txn, prev_key), (false, self.inner.eof), true),
            _ => return None,
        };
        Some(match found {
            Ok(Some(pair)) => {
                self.inner = Marks { eof: back, ..ON };
                Ok(Item::of(pair))
            }
            Ok(None) => {
                (self.outer.eof, self.inner.eof) = at_end;
                Err(NOTFOUND)
            }
            Err(error) => Err(error.into()),
        })
    }

    /// Makes the movement that mostly comes after a deletion: to the key, or the value, that is next now, or to the first key.
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
