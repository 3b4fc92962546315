//! Bulk load: a whole table at once, from records in any order or in the table's.
//!
//! Owns: what users hold ([`BulkLoad`]), which records are refused, which of two with one key counts. Must not know: how
//! pages are filled (`tree/build/`), how records are sorted (`sort/`).
//!
//! Large values are written when they are pushed; what is sorted then is the stub that stands for each.

mod block_writer;
mod options;
mod output;

pub(super) use block_writer::Gate;

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

pub use options::{BulkOptions, BulkProgress};

use super::allocate::release;
use super::catalog;
use super::update::{check_key, check_value};
use super::work::Work;
use super::write::WriteTxn;
use crate::error::{Error, Result};
use crate::format::overflow::{STUB, Stub, pages_for};
use crate::order::Order;
use crate::sort::{By, Record, Sorter};
use crate::store::Store;
use crate::tree::build::{Item, TableBuilder};
use crate::tree::{Pages, PagesMut, value};
use crate::width::to_u16;
use options::OnProgress;
use output::{Output, Placing};

/// Records between two calls of the function that is told of the progress.
const STEP: u64 = 4096;

/// A table being loaded as a whole. It is there with all its records once [`BulkLoad::finish`] has returned; dropped
/// before that, or ended by an error, it leaves nothing.
///
/// Made by [`crate::Database::bulk_load`], whose `finish` commits, or [`WriteTxn::bulk_load`]. While it lives it is the one
/// write transaction, or a child of it: readers go on, other writers wait.
#[must_use = "dropped without `finish` it leaves nothing"]
pub struct BulkLoad<'t> {
    /// Where records go that are to be sorted first.
    sorter: Option<Sorter>,
    build: Build,
    index: usize,
    progress: Option<OnProgress>,
    pushed: u64,
    /// Size of the integer keys, once there is one.
    key_bytes: Option<usize>,
    /// An error ended it.
    failed: bool,
    /// Last, because it must end after the thread that writes for it.
    txn: WriteTxn<'t>,
}

impl std::fmt::Debug for BulkLoad<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BulkLoad({} records)", self.pushed)
    }
}

impl<'t> BulkLoad<'t> {
    pub(crate) fn begin(mut txn: WriteTxn<'t>, name: &[u8], options: BulkOptions) -> Result<BulkLoad<'t>> {
        let index = open_empty(&mut txn, name, &options)?;
        let work = txn.work_mut();
        // Whole tables are not for the log.
        work.ops.stop();
        release(work)?;
        let (table, page_size) = (&work.tables[index], work.page_size());
        let duplicates = table.tree.has_duplicates();
        let build = Build {
            table: TableBuilder::new(page_size, table.tree, &table.orders),
            output: Output::new(options.keep_cached),
            unique: options.unique,
            duplicates,
            dropped: Vec::new(),
            overflows: 0,
            taken: 0,
        };
        let sorter = (!options.sorted).then(|| {
            let by = By { key: table.orders.key.clone(), value: duplicates.then(|| table.orders.duplicate.clone()) };
            let directory = options.temp_dir.unwrap_or_else(|| directory_of(&work.store));
            let memory = options.memory_bytes.unwrap_or(work.store.settings.memory_bytes());
            // What stands in a leaf takes half a page at most.
            Sorter::new(by, memory, page_size, directory)
        });
        // Until it is finished: what nobody ends, as a program may forget to, is half of a load and must not be committed.
        work.failed = true;
        Ok(BulkLoad {
            sorter,
            build,
            index,
            progress: options.progress,
            pushed: 0,
            key_bytes: None,
            failed: false,
            txn,
        })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// [`Error::Record`] if this record cannot be stored: its key or value is too long, or it is out of order in a load of
    /// sorted records. It is left out then, and the load can go on. All other errors end the load.
    #[inline]
    pub fn push(&mut self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        if self.failed {
            return Err(Error::TxnFailed);
        }
        self.pushed += 1;
        // Should a comparison panic, records that were pushed before may be gone with it.
        self.failed = true;
        let taken = self.take(key.as_ref(), value.as_ref());
        self.failed = false;
        match taken {
            Ok(()) if self.pushed.is_multiple_of(STEP) => self.report(),
            Ok(()) => Ok(()),
            Err(error) => Err(self.refused(error)),
        }
    }

    #[cold]
    fn refused(&mut self, error: Error) -> Error {
        use Error::{AppendOrder, KeyLength, Repeated, ValueLength};
        if matches!(error, KeyLength { .. } | ValueLength { .. } | AppendOrder | Repeated { .. }) {
            return Error::Record { record: self.pushed, source: Box::new(error) };
        }
        self.failed = true;
        error
    }

    fn report(&mut self) -> Result<()> {
        let stored = if self.sorter.is_some() { 0 } else { self.pushed };
        let reported = report(&mut self.progress, BulkProgress { pushed: self.pushed, stored });
        self.failed |= reported.is_err();
        reported
    }

    /// Checks a record and puts it where it belongs.
    #[inline]
    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let work = self.txn.work_mut();
        let (page_size, table) = (work.page_size(), &mut work.tables[self.index]);
        check_key(page_size, table, key)?;
        check_value(page_size, table, value.len())?;
        if matches!(table.orders.key, Order::Native) {
            let size = *self.key_bytes.get_or_insert(key.len());
            if key.len() != size {
                return Err(Error::KeyLength { bytes: key.len(), min: size, max: size });
            }
        }
        if table.tree.has_fixed() {
            table.tree.item = to_u16(value.len());
        }
        let mut stub = [0; STUB];
        let is_large = !self.build.duplicates && value::is_large(page_size, key.len(), value.len());
        let value = if is_large { self.build.put_value(work, value, &mut stub)? } else { value };
        let record = Record { key, value, flag: is_large };
        match &mut self.sorter {
            Some(sorter) => sorter.push(record),
            None => self.build.store(work, record),
        }
    }

    /// Stores all that was pushed, and commits (a load made by a transaction becomes that one's). How many entries the
    /// table has.
    ///
    /// # Errors
    /// [`Error::Repeated`] if that was asked for, [`Error::Stopped`], [`Error::Io`] and [`Error::File`]; nothing remains of
    /// the load then.
    pub fn finish(self) -> Result<u64> {
        if self.failed {
            return Err(Error::TxnFailed);
        }
        // The builder ends, and its thread with it, before the transaction does: whatever happens.
        let BulkLoad { mut txn, sorter, build, index, mut progress, pushed, .. } = self;
        let entries = store_all(txn.work_mut(), index, sorter, build, &mut progress, pushed)?;
        txn.work_mut().failed = false;
        txn.commit()?;
        Ok(entries)
    }
}

/// The table to fill, made if it is not there.
fn open_empty(txn: &mut WriteTxn<'_>, name: &[u8], options: &BulkOptions) -> Result<usize> {
    let mut index = 0;
    if !name.is_empty() {
        index = catalog::open_or_make(txn.work_mut(), name, options.table.as_ref())?;
    } else if let Some(options) = &options.table {
        txn.set_main_options(options)?;
    }
    let work = txn.work_mut();
    work.check()?;
    if !work.tables[index].tree.is_empty() || index == 0 && !catalog::names(work)?.is_empty() {
        return Err(Error::Incompatible { what: "it has entries, and only an empty table can be loaded as a whole" });
    }
    Ok(index)
}

/// The directory of the data file.
fn directory_of(store: &Store) -> PathBuf {
    let parent = store.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The process may have gone elsewhere since it opened the database.
    let open = if parent.is_relative() { store.log_place.directory() } else { None };
    open.unwrap_or_else(|| parent.to_path_buf())
}

fn report(progress: &mut Option<OnProgress>, how_far: BulkProgress) -> Result<()> {
    match progress.as_mut().map(|report| report(how_far)) {
        Some(std::ops::ControlFlow::Break(())) => Err(Error::Stopped),
        _ => Ok(()),
    }
}

/// Puts what is left into pages, and the tree into the transaction; its entries.
fn store_all(
    work: &mut Work,
    index: usize,
    sorter: Option<Sorter>,
    mut build: Build,
    progress: &mut Option<OnProgress>,
    pushed: u64,
) -> Result<u64> {
    if let Some(sorter) = sorter {
        let mut merge = sorter.finish(&mut || report(progress, BulkProgress { pushed, stored: 0 }))?;
        while let Some(record) = merge.next()? {
            build.store(work, record)?;
            if build.taken.is_multiple_of(STEP) {
                report(progress, BulkProgress { pushed, stored: build.taken })?;
            }
        }
    }
    build.finish(work, index)
}

/// Fills pages with records that come in order.
struct Build {
    table: TableBuilder,
    output: Output,
    /// A repeated record is an error.
    unique: bool,
    duplicates: bool,
    /// Large values that were written and do not count.
    dropped: Vec<Stub>,
    /// Pages of those that do.
    overflows: u64,
    /// Records stored so far.
    taken: u64,
}

impl Build {
    /// Writes a large value; its stub, in `stub`.
    fn put_value<'s>(&mut self, work: &mut Work, value: &[u8], stub: &'s mut [u8; STUB]) -> Result<&'s [u8]> {
        self.output.put_value(work, value)?.write(stub);
        self.overflows += pages_for(value.len(), work.page_size()) as u64;
        Ok(stub)
    }

    #[inline]
    fn store(&mut self, work: &mut Work, record: Record<'_>) -> Result<()> {
        self.taken += 1;
        let Record { key, value, flag } = record;
        let item = if flag { Item::Stub(value) } else { Item::Value(value) };
        let placing = &mut Placing { work, output: &mut self.output };
        match self.table.push(placing, key, item)? {
            Ordering::Less => Ok(()),
            Ordering::Equal if !self.unique && self.duplicates => Ok(()),
            Ordering::Equal if !self.unique => {
                let old = self.table.replace(placing, key, item)?;
                old.map_or(Ok(()), |stub| self.drop_value(work, &stub))
            }
            side => {
                if flag {
                    self.drop_value(work, value)?;
                }
                let repeated = || Error::Repeated { key: String::from_utf8_lossy(key).into_owned() };
                Err(if side.is_eq() { repeated() } else { Error::AppendOrder })
            }
        }
    }

    /// Notes that a large value does not count.
    #[cold]
    fn drop_value(&mut self, work: &Work, stub: &[u8]) -> Result<()> {
        let stub = Stub::read(stub).map_err(|damage| damage.at(Default::default()))?;
        self.overflows -= pages_for(stub.bytes as usize, work.page_size()) as u64;
        self.dropped.push(stub);
        Ok(())
    }

    /// Waits until all is written, and puts the tree into the transaction; its entries.
    fn finish(mut self, work: &mut Work, index: usize) -> Result<u64> {
        let mut tree = self.table.finish(&mut Placing { work, output: &mut self.output })?;
        tree.overflows = self.overflows;
        self.output.finish(work)?;
        for stub in self.dropped {
            work.free_run(stub.child, stub.bytes)?;
        }
        let table = &mut work.tables[index];
        tree.item = table.tree.item;
        table.tree = tree;
        table.end = None;
        work.changes(index);
        Ok(tree.entries)
    }
}
