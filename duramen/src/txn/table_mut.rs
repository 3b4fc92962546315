//! A table of a write transaction.

use std::fmt;

use super::cursor::WriteCursor;
use super::edit::{self, Edit};
use super::table::{Source, Table, TableStats, stats_of};
use super::update::{self, Mode, Offer, Put, Value};
use super::work::Work;
use super::write::TableId;
use super::{Iter, KeyRange, catalog};
use crate::error::{Error, Result};
use crate::tree::Pages;

/// A table of a write transaction, for reading and writing. It borrows the transaction: to have several at hand, keep
/// their [`TableId`]s.
pub struct TableMut<'t> {
    work: &'t mut Work,
    id: TableId,
    /// What is stored is looked for from where it stands, and it then stands there.
    cursor: Option<&'t mut WriteCursor>,
}

impl fmt::Debug for TableMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TableMut({} entries)", self.len())
    }
}

impl<'t> TableMut<'t> {
    pub(super) fn new(work: &'t mut Work, id: TableId) -> TableMut<'t> {
        TableMut { work, id, cursor: None }
    }

    pub(super) fn of_cursor(work: &'t mut Work, cursor: &'t mut WriteCursor) -> TableMut<'t> {
        TableMut { work, id: cursor.table(), cursor: Some(cursor) }
    }

    fn index(&self) -> usize {
        self.id.index as usize
    }

    /// The handle by which the transaction knows the table.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// The table as it stands, with everything that a table offers for reading: first and last entries, prefixes, keys,
    /// values of a key, cursors.
    pub fn view(&self) -> Table<'_> {
        let table = &self.work.tables[self.index()];
        Table::new(Source::Work(self.work), table.tree, table.orders.clone())
    }

    /// The value of a key; the first one if it has several.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<&[u8]>> {
        self.work.check()?;
        self.view().get(key)
    }

    /// Entries in the table, each duplicate counted. O(1).
    pub fn len(&self) -> u64 {
        self.work.tables[self.index()].tree.entries
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries in order, from either end.
    pub fn iter(&self) -> Iter<'_> {
        self.view().iter()
    }

    /// The entries whose keys lie in a range. Errors: as [`Table::range`].
    pub fn range(&self, range: impl KeyRange) -> Result<Iter<'_>> {
        self.view().range(range)
    }

    /// What the table consists of.
    pub fn stats(&self) -> TableStats {
        stats_of(&self.work.tables[self.index()].tree, self.work.page_size())
    }

    #[inline]
    fn store(&mut self, key: &[u8], value: &[u8], mode: Mode) -> Result<Put> {
        let offer = Offer { key, value: Value::Bytes(value), mode };
        match &mut self.cursor {
            None => update::put(self.work, self.id.index as usize, offer),
            Some(cursor) => cursor.store(self.work, key, value, mode),
        }
    }

    /// Stores an entry: over the key's value if it has one, beside its others in a table with duplicates.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::ValueLength`]; [`Error::Incompatible`] if a table has this name in the main table.
    /// Nothing is changed then, and the transaction can go on.
    pub fn put(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.store(key.as_ref(), value.as_ref(), Mode::Set).map(drop)
    }

    /// As [`TableMut::put`]; says whether a duplicate was there already ([`Put::Exists`]).
    pub fn put_duplicate(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Put> {
        self.store(key.as_ref(), value.as_ref(), Mode::Set)
    }

    /// As [`TableMut::put_duplicate`], if the value sorts after all that the key has; [`Put::Exists`] if it does not.
    pub fn put_last_duplicate(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Put> {
        self.store(key.as_ref(), value.as_ref(), Mode::LastDuplicate)
    }

    /// Stores values of one key that have this many bytes each and lie side by side, in any order; how many of them it
    /// did not have. Far faster than putting them one by one.
    ///
    /// # Errors
    /// As [`TableMut::put`]; [`Error::Incompatible`] in a table without duplicates; [`Error::Usage`] if `values` are no
    /// whole number of values.
    pub fn put_duplicates(&mut self, key: impl AsRef<[u8]>, values: &[u8], bytes: usize) -> Result<u64> {
        update::put_duplicates(self.work, self.index(), key.as_ref(), values, bytes)
    }

    /// Stores an entry if the key is not there yet.
    pub fn insert(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Put> {
        self.store(key.as_ref(), value.as_ref(), Mode::Insert)
    }

    /// Stores an entry and returns the value that the key had; in a table with duplicates, the first of them.
    pub fn replace(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        let (key, value) = (key.as_ref(), value.as_ref());
        if self.work.tables[self.index()].tree.has_duplicates() {
            let old = self.get(key)?.map(<[u8]>::to_vec);
            self.put(key, value)?;
            return Ok(old);
        }
        let mut old = None;
        self.edit(key, |found| {
            old = found.map(<[u8]>::to_vec);
            Edit::Put(value.into())
        })?;
        Ok(old)
    }

    /// Changes a key's value from `old` to `new` (`None`: no such key) if `old` is what it is now. Returns whether it
    /// was.
    pub fn compare_and_swap(&mut self, key: impl AsRef<[u8]>, old: Option<&[u8]>, new: Option<&[u8]>) -> Result<bool> {
        let mut is_it = false;
        self.edit(key, |found| {
            is_it = found == old;
            match new {
                _ if !is_it => Edit::Keep,
                Some(new) => Edit::Put(new.into()),
                None => Edit::Delete,
            }
        })?;
        Ok(is_it)
    }

    /// Looks at a key's value (`None`: no such key), and stores another or deletes the key, as `decide` says. A table
    /// with duplicates is [`Error::Incompatible`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let db = duramen::Database::open(dir.path().join("visits.dm"))?;
    /// use duramen::Edit;
    ///
    /// let count = |old: Option<&[u8]>| {
    ///     let before = old.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    ///     Edit::Put((before + 1).to_le_bytes().to_vec().into())
    /// };
    /// db.update(|txn| txn.table("visits")?.edit(b"bjensen", count))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn edit<'v>(&mut self, key: impl AsRef<[u8]>, decide: impl FnOnce(Option<&[u8]>) -> Edit<'v>) -> Result<()> {
        edit::edit(self.work, self.index(), key.as_ref(), decide)
    }

    /// Stores an entry whose key sorts after all others; [`Error::AppendOrder`] if it does not. Loading in order this
    /// way fills pages to the end.
    pub fn append(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.store(key.as_ref(), value.as_ref(), Mode::Append).map(drop)
    }

    /// As [`TableMut::append`], but the key may also be the last one, with a value that sorts after its others.
    pub fn append_duplicate(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.store(key.as_ref(), value.as_ref(), Mode::AppendDuplicate).map(drop)
    }

    /// Stores an entry whose value, `bytes` long and zeroed, is returned to be filled in.
    ///
    /// # Errors
    /// As [`TableMut::put`]; [`Error::Incompatible`] in a table with duplicates.
    pub fn reserve(&mut self, key: impl AsRef<[u8]>, bytes: usize) -> Result<&mut [u8]> {
        self.make_room(key.as_ref(), bytes, Mode::Set)
    }

    /// As [`TableMut::reserve`], if the key sorts after all others; [`Error::AppendOrder`] if it does not.
    pub fn append_reserved(&mut self, key: impl AsRef<[u8]>, bytes: usize) -> Result<&mut [u8]> {
        self.make_room(key.as_ref(), bytes, Mode::Append)
    }

    fn make_room(&mut self, key: &[u8], bytes: usize, mode: Mode) -> Result<&mut [u8]> {
        if self.work.tables[self.index()].tree.has_duplicates() {
            return Err(Error::Incompatible { what: "a value with duplicates cannot be filled in later" });
        }
        update::reserve(self.work, self.index(), key, bytes, mode)
    }

    /// Removes a key with all its values. Returns whether it was there.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        update::delete(self.work, self.index(), key.as_ref())
    }

    /// Removes one value of a key. Returns whether it was there.
    ///
    /// # Errors
    /// [`Error::Incompatible`] in a table without duplicates.
    pub fn delete_duplicate(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        update::delete_duplicate(self.work, self.index(), key.as_ref(), value.as_ref())
    }

    /// Removes the first entry (of a key's values the first one) and returns it.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let db = duramen::Database::open(dir.path().join("jobs.dm"))?;
    /// db.update(|txn| txn.table("jobs")?.put(7_u64.to_be_bytes(), "wash the car"))?;
    /// let job = db.update(|txn| txn.table("jobs")?.pop_first())?;
    /// assert_eq!(job.unwrap().1, b"wash the car");
    /// assert!(db.update(|txn| txn.table("jobs")?.pop_first())?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pop_first(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.pop(|view| view.first())
    }

    /// As [`TableMut::pop_first`], the last entry.
    pub fn pop_last(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.pop(|view| view.last())
    }

    fn pop(
        &mut self,
        end: impl for<'v> FnOnce(&Table<'v>) -> Result<Option<(&'v [u8], &'v [u8])>>,
    ) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        self.work.check()?;
        let Some((key, value)) = end(&self.view())?.map(|(key, value)| (key.to_vec(), value.to_vec())) else {
            return Ok(None);
        };
        if self.work.tables[self.index()].tree.has_duplicates() {
            self.delete_duplicate(&key, &value)?;
        } else {
            self.delete(&key)?;
        }
        Ok(Some((key, value)))
    }

    /// Removes all keys in a range and returns how many entries that were. Whole subtrees go without their leaves
    /// being read.
    ///
    /// # Errors
    /// [`Error::Incompatible`] for the main table; [`Error::KeyLength`] for a bound among native integers that is of another
    /// size.
    pub fn delete_range(&mut self, range: impl KeyRange) -> Result<u64> {
        let (low, high) = range.bounds();
        update::delete_range(self.work, self.index(), low, high)
    }

    /// Removes all entries and returns how many they were. (Of the main table: all tables too.)
    pub fn clear(&mut self) -> Result<u64> {
        self.work.check()?;
        let i = self.index();
        catalog::clear(self.work, i).inspect_err(|_| self.work.failed = true)
    }
}
