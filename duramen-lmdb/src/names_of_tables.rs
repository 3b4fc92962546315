//! Names of tables among the keys of the main table, as programs of LMDB 1.0 see them: a zero ends each, and counts.
//!
//! Owns: adding it to what is found, taking it off what is looked for. In the file there is none.
//!
//! # Safety
//! A key that was found is there while nothing is changed. What it becomes lives in the transaction.
#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};

use crate::abi::{MAIN_DBI, MdbVal};
use crate::env::Interface;
use crate::errors::Result;
use crate::txn::Txn;
use crate::write::bytes;

/// The names that a transaction has handed out.
#[derive(Default)]
pub(crate) struct Names(BTreeSet<CString>);

impl Names {
    /// A name and its zero, where they stay.
    fn keep(&mut self, name: CString) -> &CStr {
        if !self.0.contains(name.as_c_str()) {
            self.0.insert(name.clone());
        }
        self.0.get(name.as_c_str()).expect("it is there, or has just been put there")
    }

    /// Nobody looks at them any more.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Keeps those of a child that has ended.
    pub(crate) fn append(&mut self, of_child: &mut Names) {
        self.0.append(&mut of_child.0);
    }
}

impl Txn {
    /// Whether the program sees names with zeros among the keys of this table.
    #[inline]
    pub(crate) fn shows_names(&self, dbi: u32) -> bool {
        dbi == MAIN_DBI && self.env().is_of(Interface::V1_0)
    }

    /// Whether a key of the main table is a table's name.
    pub(crate) fn is_name(&mut self, key: &[u8]) -> bool {
        matches!(self.table_stats(key), Ok(Some(_)))
    }

    /// A key of the program's, as it is stored in this table.
    #[inline]
    pub(crate) fn stored_key<'k>(&mut self, dbi: u32, key: &'k [u8]) -> &'k [u8] {
        if self.shows_names(dbi) { self.stored_name(key) } else { key }
    }

    /// As [`Txn::stored_key`], of the main table of programs that see names with zeros.
    pub(crate) fn stored_name<'k>(&mut self, key: &'k [u8]) -> &'k [u8] {
        match key.split_last() {
            Some((0, name)) if self.is_name(name) => name,
            _ => key,
        }
    }

    /// A key that was found, as the program sees it.
    pub(crate) fn shown_name(&mut self, found: MdbVal) -> Result<MdbVal> {
        // SAFETY: see the module's head.
        let key = unsafe { bytes(&found) }?;
        if !self.is_name(key) {
            return Ok(found);
        }
        let Ok(name) = CString::new(key) else { return Ok(found) };
        Ok(MdbVal::of(self.names.keep(name).to_bytes_with_nul()))
    }
}
