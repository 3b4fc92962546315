//! A table's entries: each value of a key is one.
//!
//! Owns: where an entry's values are. Must not know: pages.

use std::sync::Arc;

use crate::error::{Error, Result, damaged};
use crate::file::{Inner, Table};
use crate::layout::{Record, Value};
use crate::walk::Walk;

/// The entries of a table, in its order.
#[derive(Debug)]
pub struct Entries {
    file: Arc<Inner>,
    walk: Walk,
    /// The key whose values are on their way, and those that are to come.
    key: Vec<u8>,
    values: Option<Walk>,
    is_main: bool,
    said: u64,
    found: u64,
    /// Pages that may be read, and that may be read still.
    budget: u64,
    left: u64,
    page: u64,
}

impl Entries {
    pub(crate) fn new(file: Arc<Inner>, table: &Table, left: u64) -> Entries {
        Entries {
            file,
            walk: Walk::tree(&table.record),
            key: Vec::new(),
            values: None,
            is_main: table.name.is_none(),
            said: table.len(),
            found: 0,
            budget: left,
            left,
            page: table.record.root,
        }
    }

    /// The page that the last entry stands on.
    pub fn page(&self) -> u64 {
        self.page
    }

    /// How many pages were read so far.
    pub fn pages_read(&self) -> u64 {
        self.budget - self.left
    }

    /// Makes key and value the next entry's; false at the end.
    ///
    /// # Errors
    /// [`Error::Damaged`], and [`Error::Count`] at the end, if the table does not have as many as it says.
    pub fn next_entry(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<bool> {
        loop {
            if let Some(values) = &mut self.values {
                if let Some((_, node)) = values.step(&self.file, &mut self.left)? {
                    fill(key, &self.key);
                    fill(value, node.key);
                    self.found += 1;
                    return Ok(true);
                }
                self.values = None;
            }
            let Some((page, node)) = self.walk.step(&self.file, &mut self.left)? else {
                return if self.found == self.said { Ok(false) } else { Err(self.miscounted()) };
            };
            self.page = page;
            node.key_of_table().map_err(damaged(page))?;
            let is_one = match node.value {
                Value::Here(bytes) => {
                    fill(value, bytes);
                    true
                }
                Value::Overflow { page, bytes } => {
                    let pages = self.file.overflow(page, bytes, value)?;
                    let damaged = damaged(page);
                    self.left =
                        self.left.checked_sub(pages).ok_or_else(|| damaged("values of more pages than there are"))?;
                    true
                }
                Value::Table(_) if self.is_main => continue,
                Value::Table(_) => return Err(damaged(page)("a table within a table that has a name")),
                Value::Page(bytes) => {
                    self.values = Some(Walk::sub_page(page, bytes)?);
                    false
                }
                Value::Tree(bytes) => {
                    self.values = Some(Walk::tree(&Record::decode(bytes).map_err(damaged(page))?));
                    false
                }
            };
            if is_one {
                fill(key, node.key);
                self.found += 1;
                return Ok(true);
            }
            fill(&mut self.key, node.key);
        }
    }

    fn miscounted(&self) -> Error {
        Error::Count { said: self.said, found: self.found }
    }
}

fn fill(into: &mut Vec<u8>, bytes: &[u8]) {
    into.clear();
    into.extend_from_slice(bytes);
}
