//! The tables of a directory, as they are in a snapshot or in a write transaction.
//!
//! Owns: their names and what a key is made of in each. Must not know: what entries mean.
//!
//! | table | key | value |
//! |---|---|---|
//! | `entry` | id | the entry: see [`crate::entry`] |
//! | `name` | id of the parent, normalized RDN | id, marks |
//! | `name` | id | how many entries are directly below |
//! | `index` | attribute, kind, normalized value, 0, upper bits of ids | the lower bits: see [`crate::index`] |
//! | `index` | attribute, kind, upper bits of ids, three bytes of a normalized value | the lower bits |
//! | `waiting` | id | trigrams that are to be written into `index`: see [`crate::index`] |
//! | `value` | id, attribute, hash of the normalized value | a value of an attribute with many |
//! | `history` | number of a change | see [`crate::history`] |
//! | `copy` | normalized suffix of which the directory is a copy of another server's | what that server says that the copy is as of |
//! | `copy` | such a suffix, 0 | who is telling; it is there while not all stands where it belongs |
//! | `member` | what is kept of taking changes together with others: see [`crate::membership`] | |
//! | `meta` | see [`crate::meta`] | |
//!
//! Numbers in keys have their highest byte first, so that keys sort as they do.

use duramen::{Snapshot, Table, TableId, WriteTxn};

use crate::failure::{Result, damaged};

/// An entry's UUID.
pub(crate) type Uuid = [u8; 16];

/// Number of an entry; 0 is above all suffixes and is no entry.
pub(crate) type Id = u32;

pub(crate) const ENTRY: &str = "entry";
pub(crate) const NAME: &str = "name";
pub(crate) const INDEX: &str = "index";
pub(crate) const WAITING: &str = "waiting";
pub(crate) const VALUE: &str = "value";
pub(crate) const HISTORY: &str = "history";
pub(crate) const COPY: &str = "copy";
/// Only where a server takes changes together with others.
pub(crate) const MEMBER: &str = "member";
pub(crate) const META: &str = "meta";
pub(crate) const ALL: [&str; 8] = [ENTRY, NAME, INDEX, WAITING, VALUE, HISTORY, COPY, META];

/// The key in table `copy` that is there while not all below a suffix stands where it belongs.
pub(crate) fn telling_key(suffix: &str) -> Vec<u8> {
    [suffix.as_bytes(), b"\0"].concat()
}

/// The tables of a write transaction.
#[derive(Clone, Copy)]
pub(crate) struct Ids {
    pub entry: TableId,
    pub name: TableId,
    pub index: TableId,
    pub waiting: TableId,
    pub value: TableId,
    pub history: TableId,
    pub meta: TableId,
}

impl Ids {
    pub fn open(txn: &mut WriteTxn<'_>) -> duramen::Result<Ids> {
        let mut open = |name| txn.open_table(name, None);
        let (entry, name, index) = (open(ENTRY)?, open(NAME)?, open(INDEX)?);
        let (waiting, value, history) = (open(WAITING)?, open(VALUE)?, open(HISTORY)?);
        Ok(Ids { entry, name, index, waiting, value, history, meta: open(META)? })
    }
}

/// Where tables are read.
#[derive(Clone, Copy)]
pub(crate) enum Tables<'t> {
    Snapshot(&'t Snapshot<'t>),
    Txn(&'t WriteTxn<'t>, Ids),
}

impl<'t> Tables<'t> {
    pub fn entry(&self) -> duramen::Result<Table<'t>> {
        self.open(ENTRY, |ids| ids.entry)
    }

    pub fn name(&self) -> duramen::Result<Table<'t>> {
        self.open(NAME, |ids| ids.name)
    }

    pub fn index(&self) -> duramen::Result<Table<'t>> {
        self.open(INDEX, |ids| ids.index)
    }

    pub fn waiting(&self) -> duramen::Result<Table<'t>> {
        self.open(WAITING, |ids| ids.waiting)
    }

    pub fn value(&self) -> duramen::Result<Table<'t>> {
        self.open(VALUE, |ids| ids.value)
    }

    pub fn history(&self) -> duramen::Result<Table<'t>> {
        self.open(HISTORY, |ids| ids.history)
    }

    /// Of which state of other servers copies are; `None` where no version that makes any has written.
    pub fn copy(&self) -> duramen::Result<Option<Table<'t>>> {
        let Tables::Snapshot(snapshot) = self else { return Ok(None) };
        match snapshot.table(COPY) {
            Err(duramen::Error::NoSuchTable { .. }) => Ok(None),
            table => table.map(Some),
        }
    }

    /// What is kept of taking changes together with others; `None` where that never was so.
    pub fn member(&self) -> duramen::Result<Option<Table<'t>>> {
        let Tables::Snapshot(snapshot) = self else { return Ok(None) };
        match snapshot.table(MEMBER) {
            Err(duramen::Error::NoSuchTable { .. }) => Ok(None),
            table => table.map(Some),
        }
    }

    /// Which provider has yet to say where all below a suffix belongs that is a copy, if one has.
    pub fn telling(&self, suffix: &str) -> duramen::Result<Option<&'t [u8]>> {
        Ok(self.copy()?.map(|table| table.get(telling_key(suffix))).transpose()?.flatten())
    }

    fn open(&self, name: &str, id: fn(&Ids) -> TableId) -> duramen::Result<Table<'t>> {
        match self {
            Tables::Snapshot(snapshot) => snapshot.table(name),
            Tables::Txn(txn, ids) => txn.view(id(ids)),
        }
    }
}

/// A number from the beginning of bytes of a table.
pub(crate) fn read_id(bytes: &[u8]) -> Option<Id> {
    Some(Id::from_be_bytes(bytes.get(..4)?.try_into().ok()?))
}

/// As [`read_id`], where there has to be one.
pub(crate) fn id_of(bytes: &[u8], of: &str) -> Result<Id> {
    read_id(bytes).ok_or_else(|| damaged(of))
}
