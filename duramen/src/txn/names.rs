//! Finding a table by its name among those that a transaction has opened.
//!
//! Owns: the index over their names. Must not know: what tables are.
//!
//! Most transactions open a few tables, which are looked through. Those that open thousands have an index, made when it
//! is first needed.

use std::collections::HashMap;
use std::sync::Arc;

use super::work::OpenTable;

/// So many tables are looked through.
const FEW: usize = 16;

/// An index over the names of tables, which may lag behind: tables that came since are added when it is asked.
#[derive(Default)]
pub(crate) struct Names {
    last: HashMap<Arc<[u8]>, usize>,
    /// How many tables are in it.
    covered: usize,
}

impl Names {
    /// The table of this name that is not dropped; never the first, which is the main table.
    pub(crate) fn find(&mut self, tables: &[OpenTable], name: &[u8]) -> Option<usize> {
        if tables.len() > FEW {
            let new = tables.iter().enumerate().skip(self.covered.max(1));
            self.last.extend(new.filter(|(_, table)| !table.dropped).map(|(i, table)| (table.name.clone(), i)));
            self.covered = tables.len();
        }
        self.look(tables, name)
    }

    /// As [`Names::find`], for who cannot add to the index: it looks through the tables that are not in it.
    pub(crate) fn look(&self, tables: &[OpenTable], name: &[u8]) -> Option<usize> {
        let is_it = |&i: &usize| *tables[i].name == *name && !tables[i].dropped;
        let in_index = || self.last.get(name).copied().filter(is_it);
        (self.covered.max(1)..tables.len()).find(is_it).or_else(in_index)
    }

    /// A table has another name now. By the one before nobody finds it: names are compared.
    pub(crate) fn rename(&mut self, i: usize, to: &Arc<[u8]>) {
        if i < self.covered {
            self.last.insert(to.clone(), i);
        }
    }

    /// To be told when tables are gone, and with them their names.
    pub(crate) fn forget(&mut self) {
        self.last.clear();
        self.covered = 0;
    }
}
