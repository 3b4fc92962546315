//! What an update does to the tables, decided before the first of them is touched.
//!
//! Owns: writing. Invariant: nothing here can fail for a reason of the client's, so an update is whole or nothing.

use std::collections::BTreeMap;

use duramen::{Edit, Result, WriteTxn};

use crate::history::Notes;
use crate::index::{KeySet, MERGED_FROM, change_index, merge};
use crate::large;
use crate::names::child_value;
use crate::tables::{Id, Ids, read_id};

/// Changes of the tables.
#[derive(Default)]
pub(crate) struct Batch {
    entries: Vec<(Id, Option<Vec<u8>>)>,
    /// Entries that were there before: little of most of them changes.
    changed: Vec<(Id, Vec<u8>)>,
    names: Vec<(Vec<u8>, Option<[u8; 5]>)>,
    /// By how much numbers of children change.
    counts: BTreeMap<Id, i64>,
    /// Keys that entries had, and that they have from now on; `None` where there is no entry.
    index: Vec<(Id, Option<KeySet>, Option<KeySet>)>,
    values: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Entries all of whose values in table `value` go.
    cleared: Vec<Id>,
    /// What is noted of it, if that is kept.
    pub notes: Notes,
    /// What the audit log is to have of it.
    pub records: Vec<u8>,
}

impl Batch {
    pub fn put_entry(&mut self, id: Id, bytes: Vec<u8>) {
        self.entries.push((id, Some(bytes)));
    }

    /// As [`Batch::put_entry`], of an entry that is there already.
    pub fn change_entry(&mut self, id: Id, bytes: Vec<u8>) {
        self.changed.push((id, bytes));
    }

    pub fn delete_entry(&mut self, id: Id) {
        self.entries.push((id, None));
        self.cleared.push(id);
    }

    /// A name leads to an entry from now on.
    pub fn put_name(&mut self, key: Vec<u8>, id: Id, marks: u8) {
        self.names.push((key, Some(child_value(id, marks))));
    }

    pub fn delete_name(&mut self, key: Vec<u8>) {
        self.names.push((key, None));
    }

    pub fn add_children(&mut self, parent: Id, more: i64) {
        if parent != 0 {
            *self.counts.entry(parent).or_default() += more;
        }
    }

    /// Keys that an entry had and has in the index, `None` if it was not there or will not be; only what differs is written.
    pub fn index(&mut self, id: Id, old: Option<KeySet>, new: Option<KeySet>) {
        let is_empty = |keys: &Option<KeySet>| keys.as_ref().is_some_and(KeySet::is_empty);
        if !is_empty(&old) || !is_empty(&new) {
            self.index.push((id, old, new));
        }
    }

    /// A value of an attribute with many, or its end.
    pub fn value(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.values.push((key, value));
    }

    /// The entries that have another place among the names afterwards, or none.
    pub fn placed(&self) -> Vec<Id> {
        let named = self.names.iter().filter_map(|(_, value)| read_id(value.as_ref()?));
        named.chain(self.cleared.iter().copied()).collect()
    }

    /// Writes it all.
    pub fn apply(self, txn: &mut WriteTxn<'_>, ids: Ids) -> Result<()> {
        self.notes.write(txn, ids)?;
        txn.say(&self.records);
        for (id, bytes) in self.entries {
            write(txn, ids.entry, &id.to_be_bytes(), bytes.as_deref())?;
        }
        for (id, bytes) in self.changed {
            txn.table_by_id(ids.entry)?.edit(id.to_be_bytes(), |_| Edit::Put(bytes.into()))?;
        }
        for id in self.cleared {
            txn.table_by_id(ids.value)?.delete_range(large::of_entry(id))?;
        }
        for (key, value) in self.names {
            write(txn, ids.name, &key, value.as_ref().map(|value| &value[..]))?;
        }
        for (parent, more) in self.counts {
            txn.table_by_id(ids.name)?.edit(parent.to_be_bytes(), |before| {
                let before = before.and_then(read_id).unwrap_or(0);
                match u32::try_from(i64::from(before) + more).unwrap_or(0) {
                    0 => Edit::Delete,
                    now => Edit::Put(now.to_be_bytes().to_vec().into()),
                }
            })?;
        }
        for (n, (id, old, new)) in (1..).zip(self.index) {
            change_index(txn, ids, id, old, new)?;
            if n % MERGED_FROM == 0 {
                merge(txn, ids)?;
            }
        }
        for (key, value) in self.values {
            write(txn, ids.value, &key, value.as_deref())?;
        }
        Ok(())
    }
}

fn write(txn: &mut WriteTxn<'_>, table: duramen::TableId, key: &[u8], value: Option<&[u8]>) -> Result<()> {
    match value {
        Some(value) => txn.put(table, key, value),
        None => txn.table_by_id(table)?.delete(key).map(drop),
    }
}
