//! What is under a cursor.
//!
//! Owns: what is told of the entry that it stands on. Must not know: ways to it.

use super::{Answer, Kind, State};
use crate::errors::{EINVAL, NOTFOUND, Result};
use crate::txn::Txn;

impl State {
    pub(super) fn current(&mut self, txn: &mut Txn, kind: Kind) -> Result<Answer> {
        if !self.outer.set {
            return Err(EINVAL);
        }
        if self.outer.behind {
            return Err(NOTFOUND);
        }
        let item = self.item(txn)?.ok_or(NOTFOUND)?;
        let has_value = !kind.duplicates || self.has_value(txn)?;
        self.inner.deleted = false;
        if has_value { Ok(item.into()) } else { Err(self.no_value()) }
    }

    /// The key that it stands on, which may have no value there. What the deletion of a value has left for the next step is
    /// kept.
    pub fn current_key(&mut self, txn: &mut Txn) -> Result<Answer> {
        self.outer.deleted = false;
        if !self.outer.set {
            return Err(EINVAL);
        }
        if self.outer.behind {
            return Err(NOTFOUND);
        }
        let item = self.item(txn)?.ok_or(NOTFOUND)?;
        Ok(Answer { key: Some(item.key), value: None })
    }

    /// What `mdb_cursor_count` answers.
    pub fn duplicates(&mut self, txn: &mut Txn) -> Result<u64> {
        if !self.outer.set {
            return Err(EINVAL);
        }
        if self.outer.behind {
            return Err(NOTFOUND);
        }
        self.outer.eof = false;
        let count = self.count(txn)?;
        if count > 1 && !self.inner.set { Err(EINVAL) } else { Ok(count) }
    }
}
