//! A read transaction: one immutable state of the database.

use std::sync::Arc;

use super::catalog::{self, TableOptions};
use super::memo;
use super::table::{Commit, DetachedTable, Source, Table, TableStats, stats_of};
use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::format::overflow::Stub;
use crate::format::page::Child;
use crate::ids::Txnid;
use crate::late::Late;
use crate::pager::Horizon;
use crate::readers::{Published, ReadSlot, Stay};
use crate::store::{Store, Unpacked};
use crate::tree::{Pages, Tree, damaged};

const WRITERS: &str = "a pointer that only a writer's memory may hold";

/// A read transaction: the database as the newest commit left it when the transaction began, for as long as it lives.
///
/// Beginning one takes no lock and allocates nothing; reading copies nothing: keys and values are slices of the
/// mapped file. It is [`Send`], and any number may live in one thread. While it lives, the pages that it can see are
/// not reused, and no others are held back. Keep one for as long as it is useful; [`Snapshot::reset`] lets go of the
/// state and keeps the object.
pub struct Snapshot<'db> {
    store: StoreRef<'db>,
    slot: Option<ReadSlot>,
    horizon: Horizon,
    main: Tree,
    late: Late,
}

/// A snapshot borrows its database or shares it.
pub(crate) enum StoreRef<'db> {
    Borrowed(&'db Store),
    Shared(Arc<Store>),
}

impl std::ops::Deref for StoreRef<'_> {
    type Target = Store;

    #[inline]
    fn deref(&self) -> &Store {
        match self {
            StoreRef::Borrowed(store) => store,
            StoreRef::Shared(store) => store,
        }
    }
}

impl std::fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Snapshot({})", self.horizon.txnid)
    }
}

impl<'db> Snapshot<'db> {
    #[inline]
    pub(crate) fn begin(store: StoreRef<'db>) -> Result<Snapshot<'db>> {
        let (slot, newest) = store.begin_read(Stay::Long)?;
        Ok(Snapshot::of(store, Some(slot), &newest))
    }

    /// Numbers of the newest commit, and no hold on it.
    pub(crate) fn glance(store: StoreRef<'db>) -> Result<Snapshot<'db>> {
        let newest = store.glance()?;
        Ok(Snapshot::of(store, None, &newest))
    }

    #[inline]
    fn of(store: StoreRef<'db>, slot: Option<ReadSlot>, shown: &Published) -> Snapshot<'db> {
        let state = Unpacked::of(shown);
        let late = Late::new(store.settings.late_checks);
        Snapshot { store, slot, horizon: state.horizon(shown.txnid), main: state.catalog, late }
    }

    /// Number of the commit that it shows; 0 in a database without any.
    pub fn txnid(&self) -> Txnid {
        self.horizon.txnid
    }

    /// Opens a table.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`] if there is none of this name; [`Error::TableOptions`] if its order is a function, which
    /// [`Snapshot::table_with`] takes; [`Error::Usage`] after [`Snapshot::reset`].
    pub fn table(&self, name: impl AsRef<[u8]>) -> Result<Table<'_>> {
        let name = name.as_ref();
        self.find_table(name, None)?.ok_or_else(|| no_such_table(name))
    }

    /// Opens a table whose options must be these (the way to give a custom order its function).
    ///
    /// # Errors
    /// [`Error::TableOptions`] if it has others; else as [`Snapshot::table`].
    pub fn table_with(&self, name: impl AsRef<[u8]>, options: &TableOptions) -> Result<Table<'_>> {
        let name = name.as_ref();
        self.find_table(name, Some(options))?.ok_or_else(|| no_such_table(name))
    }

    /// Opens a table if it is there: as it is, or only with these options.
    pub fn find_table(&self, name: impl AsRef<[u8]>, options: Option<&TableOptions>) -> Result<Option<Table<'_>>> {
        self.check()?;
        let name = name.as_ref();
        let Some(tree) = self.find_tree(name)? else { return Ok(None) };
        let orders = catalog::orders_of(name, &tree, options)?;
        Ok(Some(Table::new(Source::Snapshot(self), tree, orders)))
    }

    #[inline]
    fn find_tree(&self, name: &[u8]) -> Result<Option<Tree>> {
        match memo::recall(self.commit(), name) {
            Some(tree) => Ok(Some(tree)),
            None => self.search_tree(name),
        }
    }

    #[inline(never)]
    fn search_tree(&self, name: &[u8]) -> Result<Option<Tree>> {
        let orders = catalog::orders_of(b"", &self.main, None)?;
        let found = catalog::find(self, &self.main, &orders, name)?;
        if let Some(tree) = found {
            memo::remember(self.commit(), name, tree);
        }
        Ok(found)
    }

    /// Opens a table that a snapshot of the same commit has had open. `None` if this one is of another commit, or of
    /// another handle of the database.
    #[inline]
    pub fn attach(&self, table: &DetachedTable) -> Option<Table<'_>> {
        let is_same = self.slot.is_some() && table.commit == self.commit();
        is_same.then(|| Table::new(Source::Snapshot(self), table.tree, table.orders.clone()))
    }

    #[inline]
    pub(super) fn commit(&self) -> Commit {
        Commit { handle: self.store.shared.id(), txnid: self.horizon.txnid }
    }

    /// The main table: it has no name and holds the records of all others under theirs. Ordinary entries may stand
    /// beside them.
    pub fn main_table(&self) -> Result<Table<'_>> {
        self.check()?;
        let orders = catalog::orders_of(b"", &self.main, None)?;
        Ok(Table::new(Source::Snapshot(self), self.main, orders))
    }

    /// As [`Snapshot::main_table`], with the functions of its custom orders.
    pub fn main_table_with(&self, options: &TableOptions) -> Result<Table<'_>> {
        self.check()?;
        let orders = catalog::orders_of(b"", &self.main, Some(options))?;
        Ok(Table::new(Source::Snapshot(self), self.main, orders))
    }

    /// Opens a table to walk through it, whatever its order: all that compares no keys gives what is there. In a custom
    /// order, whose function nobody tells here, nothing can be looked up. The main table's name is empty.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`] if there is none of this name.
    pub fn table_to_walk(&self, name: impl AsRef<[u8]>) -> Result<Table<'_>> {
        let tree = self.tree_of(name.as_ref())?;
        Ok(Table::new(Source::Snapshot(self), tree, TableOptions::as_made(&tree).orders()))
    }

    /// The options that a table was made with, but for its functions: they take what comes in the table's order, and
    /// nothing else.
    pub(crate) fn options_of(&self, name: &[u8]) -> Result<TableOptions> {
        Ok(TableOptions::as_made(&self.tree_of(name)?))
    }

    fn tree_of(&self, name: &[u8]) -> Result<Tree> {
        self.check()?;
        if name.is_empty() {
            return Ok(self.main);
        }
        self.find_tree(name)?.ok_or_else(|| no_such_table(name))
    }

    /// What a table consists of, whatever its order: also one whose comparison function is not known. `None` if there
    /// is none of this name.
    pub fn table_stats(&self, name: impl AsRef<[u8]>) -> Result<Option<TableStats>> {
        self.check()?;
        Ok(self.find_tree(name.as_ref())?.map(|tree| stats_of(&tree, self.store.pager.page_size)))
    }

    /// What the main table consists of.
    pub fn main_stats(&self) -> TableStats {
        stats_of(&self.main, self.store.pager.page_size)
    }

    /// Pages of the file that belong to this commit.
    pub fn pages(&self) -> u64 {
        self.horizon.page_count
    }

    /// Names of all tables, sorted bytewise.
    pub fn table_names(&self) -> Result<Vec<Vec<u8>>> {
        self.check()?;
        if !catalog::has_room_for_names(&self.main) {
            return Ok(Vec::new());
        }
        let mut names = catalog::stored_names(self, &self.main, &catalog::orders_of(b"", &self.main, None)?)?;
        names.sort_unstable();
        Ok(names)
    }

    /// As [`crate::Options::late_checks`], for this transaction.
    pub fn late_checks(&mut self, late: bool) {
        self.late = Late::new(late);
    }

    /// Lets go of the state, so that its pages can be reused. Every use but [`Snapshot::renew`] is then an error.
    pub fn reset(&mut self) {
        self.late.forget();
        if let Some(slot) = self.slot.take() {
            self.store.shared.end_read(slot);
        }
    }

    /// Takes the newest state instead of the one held (or let go of).
    pub fn renew(&mut self) -> Result<()> {
        self.reset();
        let (slot, newest) = self.store.begin_read(Stay::Long)?;
        let state = Unpacked::of(&newest);
        self.slot = Some(slot);
        self.horizon = state.horizon(newest.txnid);
        self.main = state.catalog;
        Ok(())
    }

    #[inline]
    fn check(&self) -> Result<()> {
        if self.slot.is_some() { Ok(()) } else { Err(Error::Usage { what: "a snapshot was used after `reset`" }) }
    }
}

#[cold]
fn no_such_table(name: &[u8]) -> Error {
    Error::NoSuchTable { name: String::from_utf8_lossy(name).into_owned() }
}

fn in_file(stub: Stub) -> Result<Stub> {
    if stub.child.is_dirty() { Err(damaged(stub.child, WRITERS)) } else { Ok(stub) }
}

impl Drop for Snapshot<'_> {
    #[inline]
    fn drop(&mut self) {
        self.reset();
    }
}

impl Pages for Snapshot<'_> {
    fn page_size(&self) -> usize {
        self.store.pager.page_size
    }

    fn page_count(&self) -> u64 {
        self.horizon.page_count
    }

    #[inline]
    fn page(&self, child: Child) -> Result<&[u8]> {
        if child.is_dirty() {
            return Err(damaged(child, WRITERS));
        }
        self.store.pager.page(child.pgno(), self.horizon)
    }

    fn value(&self, stub: Stub) -> Result<&[u8]> {
        self.store.pager.value(in_file(stub)?, self.horizon)
    }

    #[inline]
    fn value_met(&self, stub: Stub) -> Result<&[u8]> {
        self.late.meet(&self.store.pager, in_file(stub)?, self.horizon)
    }

    fn walk_ends(&self) -> Result<()> {
        self.late.settle(&self.store.pager, self.horizon)
    }

    #[inline]
    fn prefetch(&self, child: Child) {
        self.store.pager.prefetch(child.pgno(), self.horizon);
    }

    #[inline]
    fn scarce(&self) -> Option<&Advice> {
        self.store.pager.scarce()
    }

    #[inline]
    fn upcoming(&self, child: Child) -> Option<&[u8]> {
        self.store.pager.unverified_page(child.pgno(), self.horizon).ok()
    }
}
