//! How `mdb_load` stores the entries of a section.

use duramen_lmdb::abi::put;
use duramen_lmdb::errors::KEYEXIST;

use crate::append::{self, Of};
use crate::lmdb::{Answer, Cursor, Dbi, Txn};

/// What became of an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// It is there.
    Now,
    /// It is there, and its table has got the order of arrival for that.
    InAnotherOrder,
    /// Its key was there already, and stays as it is.
    Before,
}

/// See the module's head.
pub struct Storing {
    /// Entries whose keys are there are left alone (-N).
    keeps: bool,
    /// They come in the order that they are to have (-a).
    appends: bool,
    has_duplicates: bool,
    key_before: Vec<u8>,
}

impl Storing {
    /// As the options say.
    pub fn new(keeps: bool, appends: bool, has_duplicates: bool) -> Storing {
        Storing { keeps, appends, has_duplicates, key_before: Vec::new() }
    }

    /// Stores an entry by way of a cursor on the table.
    pub fn store(
        &mut self,
        (txn, table): (&Txn<'_>, Dbi),
        cursor: &mut Cursor<'_>,
        (key, value): (&[u8], &[u8]),
    ) -> Answer<Stored> {
        if !self.appends {
            return self.put(cursor, (key, value), 0);
        }
        let is_another_value = self.has_duplicates && self.key_before == key;
        let (how, of) = if is_another_value { (put::APPENDDUP, Of::Values) } else { (put::APPEND, Of::Keys) };
        append::arrives(key, value);
        let stored = match self.put(cursor, (key, value), how) {
            Err(KEYEXIST) if append::give_order(txn, table, of)? => {
                append::arrives(key, value);
                self.put(cursor, (key, value), how)?;
                Stored::InAnotherOrder
            }
            stored => stored?,
        };
        self.key_before.clear();
        self.key_before.extend_from_slice(key);
        Ok(stored)
    }

    fn put(&self, cursor: &mut Cursor<'_>, (key, value): (&[u8], &[u8]), how: u32) -> Answer<Stored> {
        let keep = if self.keeps { put::NOOVERWRITE | put::NODUPDATA } else { 0 };
        match cursor.put(key, value, how | keep) {
            Ok(()) => Ok(Stored::Now),
            Err(KEYEXIST) if self.keeps => Ok(Stored::Before),
            Err(code) => Err(code),
        }
    }
}
