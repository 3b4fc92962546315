//! Write transactions, and child transactions in them.

use std::sync::Arc;

use super::allocate::{release, release_by_flushing};
use super::bulk::{BulkLoad, BulkOptions};
use super::catalog::{self, TableOptions};
use super::cursor::WriteCursor;
use super::table::{Source, Table, TableStats, stats_of};
use super::table_mut::TableMut;
use super::work::Work;
use super::{commit, update};
use crate::error::{Error, Result};
use crate::ids::Txnid;
use crate::readers::Wait;
use crate::store::landing::Landing;
use crate::store::{Durability, Store, Writer};
use crate::tree::Pages;
use crate::width::{micros, to_u32};

/// A table of one write transaction (its children included), by number. Costs nothing to keep and to copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableId {
    pub(crate) index: u32,
    /// No other table of any transaction of this process has the same.
    pub(crate) serial: u64,
}

/// The one write transaction: sees its own changes, and nobody else does before it commits. Dropping it aborts it.
#[must_use = "dropped without `commit` it is aborted"]
pub struct WriteTxn<'p> {
    work: Handle<'p>,
    /// The nesting level that it is; deeper ones are its own.
    level: usize,
}

enum Handle<'p> {
    Own(Box<Work>),
    Parent(&'p mut Work),
}

impl std::fmt::Debug for WriteTxn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WriteTxn({})", self.work().txnid)
    }
}

impl WriteTxn<'static> {
    pub(crate) fn begin(store: &Arc<Store>, wait: Wait, durability: Durability) -> Result<WriteTxn<'static>> {
        let mut writer = store.begin_write(wait)?;
        store.cut_off_what_is_left(&mut writer);
        Ok(WriteTxn::resume(store, writer, durability))
    }

    /// Whether a commit of a few pages may have to wait for a flush that is not its own.
    pub(crate) fn is_flush_near(&self) -> bool {
        self.work().is_flush_near()
    }

    /// Goes on from what [`WriteTxn::commit_unlanded`] left.
    pub(crate) fn resume(store: &Arc<Store>, writer: Box<Writer>, durability: Durability) -> WriteTxn<'static> {
        let work = Work::new(store.clone(), writer, durability);
        work.look_at_length();
        WriteTxn { work: Handle::Own(Box::new(work)), level: 0 }
    }

    /// Commits, but leaves it to the caller to wait for the log to be flushed, where that is what is left to do. The
    /// write lock goes with it: the next transaction can be made meanwhile.
    pub(crate) fn commit_unlanded(mut self) -> Result<Option<(Landing, Box<Writer>)>> {
        let landing = self.commit_levels()?;
        let Handle::Own(work) = &mut self.work else { return Ok(None) };
        Ok(landing.and_then(|landing| Some((landing, work.leave()?))))
    }
}

impl<'p> WriteTxn<'p> {
    pub(super) fn work(&self) -> &Work {
        match &self.work {
            Handle::Own(work) => work,
            Handle::Parent(work) => work,
        }
    }

    pub(super) fn work_mut(&mut self) -> &mut Work {
        match &mut self.work {
            Handle::Own(work) => work,
            Handle::Parent(work) => work,
        }
    }

    /// Number of the commit that this will be.
    pub fn txnid(&self) -> Txnid {
        self.work().txnid
    }

    /// Whether this transaction's commit waits for the disk; the database's setting unless told otherwise. What a child
    /// transaction says holds if it commits. Of changes that are submitted in a group ([`crate::Database::submit`]) each
    /// begins with the database's setting, and all are durable if one that remains is to be.
    pub fn set_durability(&mut self, durability: Durability) {
        self.work_mut().durability = durability;
    }

    /// Whether this transaction's commit waits for the disk.
    pub fn durability(&self) -> Durability {
        self.work().durability
    }

    /// Leaves word for whoever listens ([`crate::Database::listen`]), who hears it once the transaction is committed. What a
    /// child transaction says is heard if it commits, too.
    pub fn say(&mut self, words: &[u8]) {
        self.work_mut().said.extend_from_slice(words);
    }

    /// Refuses a transaction that can only be aborted.
    pub(crate) fn check(&self) -> Result<()> {
        self.work().check()
    }

    /// The database's number of the caller's own ([`crate::Database::user_number`]) from the next commit on. It
    /// is stored with what else the transaction changes, and not on its own account.
    pub fn set_user_number(&mut self, number: u64) {
        self.work_mut().user = number;
    }

    /// The database's number of the caller's own, as this transaction has it.
    pub fn user_number(&self) -> u64 {
        self.work().user
    }

    /// Pages of the file as this transaction has it, those included that it has lengthened it by.
    pub fn pages(&self) -> u64 {
        self.work().horizon.page_count
    }

    /// Pages that this transaction has changed or made, and that have no place in the file yet.
    pub fn pages_unplaced(&self) -> u64 {
        self.work().dirty.pages()
    }

    /// Whether these bytes may lie in memory of the transaction's own, which the next change moves or fills with
    /// something else: to be copied before they are stored. It may say so of other bytes, too. For interfaces to
    /// languages that do not tell.
    #[inline]
    pub fn may_hold(&self, bytes: &[u8]) -> bool {
        self.work().dirty.may_hold(bytes)
    }

    /// Whether this transaction writes more pages than it frees, as far as is known before it commits.
    pub fn grows(&self) -> bool {
        self.work().writes_more_than_it_frees()
    }

    /// Fills every hole before the file has more pages than this. Otherwise some small holes are left for the sake of
    /// long runs. It is a limit for values of several pages only, which are side by side: where none of the holes is long
    /// enough, the commit (or what makes the transaction write early) fails with [`Error::NoRoom`].
    pub fn set_pages_wanted(&mut self, pages: u64) {
        self.work_mut().pages_wanted = pages;
    }

    /// Leaves no page of the file free, as far as it can. What it loads is then placed page by page.
    pub(crate) fn leave_nothing_free(&mut self) {
        self.work_mut().exact = true;
    }

    /// Pages of the file that this transaction can use for what it changes, before it makes the file longer. If they are
    /// fewer than wanted, and some are kept only until the disk has what replaced them, the disk is waited for.
    pub fn pages_free(&mut self, wanted: u64) -> Result<u64> {
        let work = self.work_mut();
        release(work)?;
        let free = work.ledger()?.space.free_pages();
        let base = work.base;
        let nothing_kept = work.store_and_writer()?.1.meta.txnid == base;
        if free >= wanted || nothing_kept {
            return Ok(free);
        }
        release_by_flushing(work)?;
        Ok(work.ledger()?.space.free_pages())
    }

    /// Pages of values that have no place in the file yet and need several side by side, and how many the longest of those
    /// needs, or needed, that the transaction has had.
    pub fn pages_of_runs(&self) -> (u64, u64) {
        self.work().dirty.run_pages()
    }

    /// Of the pages in [`WriteTxn::pages_free`] those on which runs of this length find a place; counted as far as there are
    /// enough.
    pub fn pages_free_in_runs(&mut self, length: u64, enough: u64) -> Result<u64> {
        let space = &mut self.work_mut().ledger()?.space;
        Ok(space.free_pages_in_runs(length, enough))
    }

    fn id(&self, index: usize) -> TableId {
        let work = self.work();
        TableId { index: to_u32(index), serial: work.tables[index].serial }
    }

    /// Opens a table, creating it (bytewise order, no duplicates) if it is not there.
    ///
    /// # Errors
    /// [`Error::NameLength`] if no table can have this name; [`Error::TableOptions`] if its order is a function, which
    /// [`WriteTxn::table_with`] takes; [`Error::Incompatible`] if the main table has an entry of this name, or cannot
    /// have tables.
    pub fn table(&mut self, name: impl AsRef<[u8]>) -> Result<TableMut<'_>> {
        let id = self.open_table(name, None)?;
        Ok(TableMut::new(self.work_mut(), id))
    }

    /// Opens a table with these options, creating it if it is not there.
    ///
    /// # Errors
    /// [`Error::TableOptions`] if it has others; else as [`WriteTxn::table`].
    pub fn table_with(&mut self, name: impl AsRef<[u8]>, options: &TableOptions) -> Result<TableMut<'_>> {
        let id = self.open_table(name, Some(options))?;
        Ok(TableMut::new(self.work_mut(), id))
    }

    /// As [`WriteTxn::table_with`] (or [`WriteTxn::table`]), but returns a handle that borrows nothing.
    pub fn open_table(&mut self, name: impl AsRef<[u8]>, options: Option<&TableOptions>) -> Result<TableId> {
        let i = catalog::open_or_make(self.work_mut(), name.as_ref(), options)?;
        Ok(self.id(i))
    }

    /// A handle to a table if it is there: as it is, or only with these options.
    pub fn find_table(&mut self, name: impl AsRef<[u8]>, options: Option<&TableOptions>) -> Result<Option<TableId>> {
        Ok(catalog::open(self.work_mut(), name.as_ref(), options)?.map(|i| self.id(i)))
    }

    /// What a table consists of, whatever its order: also one whose comparison function is not known. `None` if there
    /// is none of this name.
    pub fn table_stats(&self, name: impl AsRef<[u8]>) -> Result<Option<TableStats>> {
        let work = self.work();
        work.check()?;
        Ok(catalog::record(work, name.as_ref())?.map(|tree| stats_of(&tree, work.page_size())))
    }

    /// A table by its name, as it stands, to be read: as it is, or only with these options. Several threads may do so at the
    /// same time.
    pub fn view_table(&self, name: impl AsRef<[u8]>, options: Option<&TableOptions>) -> Result<Option<Table<'_>>> {
        let (work, name) = (self.work(), name.as_ref());
        work.check()?;
        let Some(tree) = catalog::record(work, name)? else { return Ok(None) };
        let orders = catalog::orders_of(name, &tree, options)?;
        Ok(Some(Table::new(Source::Work(work), tree, orders)))
    }

    /// The main table as it stands, to be read, with the functions of its custom orders.
    pub fn view_main(&self, options: &TableOptions) -> Result<Table<'_>> {
        let (work, main) = (self.work(), self.work().tables[0].tree);
        work.check()?;
        Ok(Table::new(Source::Work(work), main, catalog::orders_of(b"", &main, Some(options))?))
    }

    /// What the main table consists of.
    pub fn main_stats(&self) -> TableStats {
        stats_of(&self.work().tables[0].tree, self.work().page_size())
    }

    /// Enters tables made by this transaction in the main table, where a commit would enter them later, so that a walk
    /// over the main table meets them.
    pub fn enter_tables(&mut self) -> Result<()> {
        let work = self.work_mut();
        work.check()?;
        catalog::save(work)
    }

    /// Whether a commit has anything to store; to be asked after [`WriteTxn::enter_tables`].
    pub fn has_changes(&self) -> bool {
        self.work().has_changes()
    }

    /// As [`WriteTxn::enter_tables`], of one table.
    pub fn enter_table(&mut self, id: TableId) -> Result<()> {
        let work = self.work_mut();
        work.check()?;
        work.table(id)?;
        let i = id.index as usize;
        if i == 0 { Ok(()) } else { catalog::save_one(work, i) }
    }

    /// A handle to the main table, which has no name and holds the records of all others under theirs.
    pub fn main_table(&self) -> TableId {
        self.id(0)
    }

    /// Gives the main table other options. Only while it is empty.
    ///
    /// # Errors
    /// [`Error::TableOptions`] if it is not empty, and these are not its options.
    pub fn set_main_options(&mut self, options: &TableOptions) -> Result<()> {
        let work = self.work_mut();
        work.check()?;
        if !work.tables[0].tree.is_empty() || work.tables.len() > 1 {
            work.tables[0].orders = catalog::orders_of(b"", &work.tables[0].tree, Some(options))?;
            return Ok(());
        }
        work.ops.stop();
        work.tables[0].tree = options.tree();
        work.tables[0].orders = options.orders();
        Ok(())
    }

    /// A table by its handle.
    ///
    /// # Errors
    /// [`Error::BadTable`] if the handle is of another transaction, or the table was dropped.
    pub fn table_by_id(&mut self, id: TableId) -> Result<TableMut<'_>> {
        self.work().table(id)?;
        Ok(TableMut::new(self.work_mut(), id))
    }

    /// A table by its handle, for reading as it stands.
    pub fn view(&self, id: TableId) -> Result<Table<'_>> {
        let table = self.work().table(id)?;
        Ok(Table::new(Source::Work(self.work()), table.tree, table.orders.clone()))
    }

    /// The value of a key of a table.
    pub fn get(&self, id: TableId, key: impl AsRef<[u8]>) -> Result<Option<&[u8]>> {
        self.view(id)?.get(key)
    }

    /// Stores an entry in a table.
    pub fn put(&mut self, id: TableId, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.work().table(id)?;
        let offer = update::Offer::set(key.as_ref(), value.as_ref());
        update::put(self.work_mut(), id.index as usize, offer).map(drop)
    }

    /// A cursor on a table.
    pub fn cursor(&self, id: TableId) -> Result<WriteCursor> {
        self.work().table(id)?;
        Ok(WriteCursor::new(id))
    }

    /// As [`WriteTxn::cursor`], with the memory of one that is used no more, of whatever transaction.
    pub fn reuse_cursor(&self, cursor: &mut WriteCursor, id: TableId) -> Result<()> {
        self.work().table(id)?;
        cursor.begin_again(id);
        Ok(())
    }

    /// Names of all tables, sorted bytewise.
    pub fn table_names(&self) -> Result<Vec<Vec<u8>>> {
        self.work().check()?;
        catalog::names(self.work())
    }

    /// Removes a table with all its entries. Returns whether it was there.
    pub fn drop_table(&mut self, name: impl AsRef<[u8]>) -> Result<bool> {
        let work = self.work_mut();
        let Some(i) = catalog::open_to_drop(work, name.as_ref())? else {
            return Ok(false);
        };
        catalog::drop_table(work, i).map(|()| true)
    }

    /// Gives a table another name. Returns whether there is such a table.
    ///
    /// # Errors
    /// [`Error::TableExists`] if another one has that name; [`Error::NameLength`] if no table can have it;
    /// [`Error::Incompatible`] if the main table has an entry of that name.
    pub fn rename_table(&mut self, from: impl AsRef<[u8]>, to: impl AsRef<[u8]>) -> Result<bool> {
        catalog::rename(self.work_mut(), from.as_ref(), to.as_ref())
    }

    /// Begins to load a table as a whole, from records in any order: far faster than putting them one by one. The table
    /// is made if it is not there, and must be empty if it is. `""`: the main table.
    ///
    /// It becomes this transaction's with [`BulkLoad::finish`]; until then it is a child transaction of it.
    ///
    /// # Errors
    /// [`Error::Incompatible`] if the table has entries; [`Error::TableOptions`] if it has other options.
    pub fn bulk_load(&mut self, name: impl AsRef<[u8]>, options: BulkOptions) -> Result<BulkLoad<'_>> {
        BulkLoad::begin(self.child()?, name.as_ref(), options)
    }

    /// Begins a child transaction: its changes become this one's when it commits, or never were.
    ///
    /// # Errors
    /// [`Error::Usage`] beyond a depth of 65,000.
    pub fn child(&mut self) -> Result<WriteTxn<'_>> {
        let work = self.work_mut();
        work.check()?;
        work.nest()?;
        let level = work.dirty.level();
        Ok(WriteTxn { work: Handle::Parent(work), level })
    }

    /// Makes the transaction's changes the newest state (a child's: its parent's). With
    /// [`Durability::Durable`] they survive a power cut once this has returned.
    ///
    /// # Errors
    /// What the disk says ([`Error::is_disk_full`]), [`Error::NoRoom`], [`Error::TxnFailed`]. Nothing of the changes
    /// remains then.
    pub fn commit(mut self) -> Result<()> {
        let Some(mut landing) = self.commit_levels()? else { return Ok(()) };
        let took = landing.land()?;
        let work = self.work_mut();
        work.writer_mut()?.last_commit.flush_us = micros(took);
        work.end();
        // Who does not wait for the disk is not kept waiting by it either.
        landing.ask_ahead();
        Ok(())
    }

    fn commit_levels(&mut self) -> Result<Option<Landing>> {
        let keep = self.level + usize::from(self.level == 0);
        while self.work().dirty.level() >= keep {
            self.commit_level()?;
        }
        match &mut self.work {
            Handle::Own(work) => commit::commit(work),
            Handle::Parent(_) => Ok(None),
        }
    }

    /// Forgets the transaction's changes, as dropping it does.
    pub fn abort(self) {}

    /// Begins a nesting level of this same object, for callers that cannot hold a borrow; see [`WriteTxn::child`].
    pub fn begin_nested(&mut self) -> Result<()> {
        self.work().check()?;
        self.work_mut().nest()
    }

    /// Ends the innermost level begun by [`WriteTxn::begin_nested`], keeping what it did. If an operation failed
    /// half-way there, nothing of the level is kept, and that is an error. So is a level that was never begun.
    pub fn commit_nested(&mut self) -> Result<()> {
        self.check_nested()?;
        self.commit_level()
    }

    /// Ends the innermost level begun by [`WriteTxn::begin_nested`], forgetting what it did. An error if none was.
    pub fn abort_nested(&mut self) -> Result<()> {
        self.check_nested()?;
        self.work_mut().unnest(false);
        Ok(())
    }

    fn check_nested(&self) -> Result<()> {
        if self.work().dirty.level() > self.level {
            return Ok(());
        }
        Err(Error::Usage { what: "a nesting level was ended that `begin_nested` had not begun" })
    }

    fn commit_level(&mut self) -> Result<()> {
        let failed = self.work().failed;
        self.work_mut().unnest(!failed);
        if failed { Err(Error::TxnFailed) } else { Ok(()) }
    }
}

impl Drop for WriteTxn<'_> {
    fn drop(&mut self) {
        match &mut self.work {
            Handle::Own(work) => work.end(),
            Handle::Parent(work) => {
                while work.dirty.level() >= self.level {
                    work.unnest(false);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    const MEMORY: u64 = 4 << 20;

    fn open(budget: usize) -> (tempfile::TempDir, Database) {
        let dir = tempfile::tempdir().unwrap();
        let options = Database::options().durability(Durability::Relaxed).file_memory(MEMORY).memory_budget(budget);
        let db = options.open(dir.path().join("grows.dm")).unwrap();
        (dir, db)
    }

    fn fill(txn: &mut WriteTxn<'_>) -> Result<()> {
        let mut table = txn.table("t")?;
        (0..MEMORY / 1000).try_for_each(|n| table.put(n.to_be_bytes(), [7; 1000]))
    }

    /// No reader looks for them.
    #[test]
    fn who_only_writes_sees_that_the_file_has_outgrown_the_memory() {
        let (_dir, db) = open(1 << 30);
        db.update(fill).unwrap();
        assert!(db.store().pager.scarce().is_none(), "when it was opened it was short");
        drop(db.begin_write().unwrap());
        assert!(db.store().pager.scarce().is_some());
    }

    #[test]
    fn a_transaction_larger_than_its_memory_sees_that_it_makes_the_file_outgrow_it() {
        let (_dir, db) = open(1 << 20);
        let mut txn = db.begin_write().unwrap();
        fill(&mut txn).unwrap();
        assert!(db.store().pager.scarce().is_some());
    }
}
