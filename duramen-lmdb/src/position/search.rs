//! Searches for keys and pairs, and where one that finds nothing leaves the cursor.
//!
//! Owns: the movements that are given something to look for. Must not know: steps.

use super::{Answer, Gap, Marks, State, Walk, walk};
use crate::abi::Op;
use crate::errors::{BAD_VALSIZE, NOTFOUND, Result};
use crate::position::Item;
use crate::txn::Txn;

impl State {
    /// A search for a key that is not there has put the cursor into the gap where the key would be: it goes on to what
    /// comes after that.
    pub(super) fn settle(&mut self, txn: &mut Txn) -> Result {
        let next = walk!(self, txn, next);
        let is_empty = next.is_none() && walk!(self, txn, last).is_none();
        self.inner.set = false;
        if !is_empty {
            self.outer = Marks { set: true, behind: next.is_none(), ..self.outer };
            self.outer.eof = false;
        }
        Ok(())
    }

    pub(super) fn seek(&mut self, txn: &mut Txn, op: Op, key: &[u8]) -> Result<Answer> {
        if key.is_empty() {
            return Err(BAD_VALSIZE);
        }
        self.inner = Marks::default();
        let found =
            if op == Op::SetRange { walk!(self, txn, seek_at_or_after, key) } else { walk!(self, txn, seek, key) };
        let Some(item) = found else {
            if matches!(self.walk, Walk::Write(_)) {
                self.gap = Gap::Sought
            } else {
                self.settle(txn)?
            }
            return Err(NOTFOUND);
        };
        self.on();
        Ok(Answer { key: (op != Op::Set).then_some(item.key), value: Some(item.value) })
    }

    pub(super) fn seek_pair(&mut self, txn: &mut Txn, exact: bool, key: &[u8], value: &[u8]) -> Result<Answer> {
        if key.is_empty() {
            return Err(BAD_VALSIZE);
        }
        self.inner = Marks::default();
        let found = if exact {
            walk!(self, txn, seek_pair, key, value)
        } else {
            walk!(self, txn, seek_pair_at_or_after, key, value)
        };
        match found {
            Some(item) => {
                self.on();
                Ok(Answer { key: None, value: Some(item.value) })
            }
            None => self.miss_pair(txn, exact, value),
        }
    }

    /// Stands where a search for a pair leaves a cursor that finds none: the engine's is in the gap where that would be.
    fn miss_pair(&mut self, txn: &mut Txn, exact: bool, value: &[u8]) -> Result<Answer> {
        let next = walk!(self, txn, next_duplicate);
        if next.is_none() && walk!(self, txn, prev_duplicate).is_none() {
            // The key is not there.
            self.settle(txn)?;
            return Err(NOTFOUND);
        }
        self.on();
        if self.count(txn)? < 2 {
            self.inner.set = false;
            return Err(NOTFOUND);
        }
        if exact && value.is_empty() {
            // Among several it is not looked for.
            walk!(self, txn, first_duplicate);
            self.inner.set = false;
            return Err(BAD_VALSIZE);
        }
        self.inner.behind = next.is_none();
        Err(NOTFOUND)
    }
}
