//! What a write transaction works on: the pages it has copied, the tables it has opened, its nesting levels.
//!
//! Owns: [`PagesMut`] over the dirty pages and the file; savepoints. Must not know: how a commit reaches the disk.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::allocate;
use super::bulk::Gate;
use super::names::Names;
use super::ops::{Ops, OpsMark};
use super::tables::Tables;
use super::write::TableId;
use crate::advice::Advice;
use crate::dirty::{Dirty, Retired};
use crate::error::{Error, Result};
use crate::format;
use crate::format::overflow::{self, Stub};
use crate::format::page::{self, Child, Kind, RUN_HEADER};
use crate::ids::{Extent, Txnid};
use crate::late::Late;
use crate::pager::{Horizon, SEARCHED_LINES};
use crate::store::space_log::Ledger;
use crate::store::{Durability, Store, Writer};
use crate::tree::duplicates::Orders;
use crate::tree::{Pages, PagesMut, Path, Tree, at, damaged};
use crate::width::to_u32;

/// More than some small updates change,
const FEW_PAGES: u64 = 1024;
/// and than their records take in the log.
const FEW_LOG_BYTES: u64 = 64 << 10;

/// A transaction has room for as many tables as the last one opened, but for so many at least and at most.
const TABLES: RangeInclusive<usize> = 2..=64;

/// A table that the transaction has opened.
#[derive(Clone)]
pub(crate) struct OpenTable {
    /// Tells it apart from others that had the same index, here or in another transaction.
    pub serial: u64,
    /// Empty for the main table.
    pub name: Arc<[u8]>,
    pub tree: Tree,
    pub orders: Orders,
    /// What the catalog says of it; `None` if it is new there.
    pub saved: Option<Tree>,
    pub dropped: bool,
    /// The epoch that its last change began.
    pub changed: u64,
    /// Rises with every change of bytes where they stand, after which positions are as good as before.
    pub overwritten: u64,
    /// The way to the last entry, as it was in epoch `.1`.
    pub end: Option<(Box<Path>, u64)>,
    /// The list of operations says which table it is.
    pub noted: bool,
    /// The nesting level that has last kept it as it was.
    pub kept_by: u64,
}

impl OpenTable {
    /// One that is found so, or is to be made.
    pub(crate) fn new(name: Arc<[u8]>, tree: Tree, orders: Orders, saved: Option<Tree>) -> OpenTable {
        OpenTable {
            serial: next_serial(),
            name,
            tree,
            orders,
            saved,
            dropped: false,
            changed: 0,
            overwritten: 0,
            end: None,
            noted: false,
            kept_by: 0,
        }
    }
}

/// See the module's head.
pub(crate) struct Work {
    pub store: Arc<Store>,
    /// Gone once the transaction has ended.
    pub writer: Option<Box<Writer>>,
    pub dirty: Dirty,
    pub txnid: Txnid,
    /// The last durable commit, up to which nothing needs to be proven.
    pub base: Txnid,
    /// Pages below it exist; grows as pages are placed.
    pub horizon: Horizon,
    /// The main table first.
    pub tables: Tables,
    pub names: Names,
    saved: Vec<Saved>,
    /// Pages of the nesting level at work that have their place already.
    pub placed: Placed,
    /// Runs of the space log that are no more part of it.
    pub unchained: Vec<Retired>,
    /// With more dirty pages than this the transaction takes more memory, or writes some of them early,
    pub pages_in_memory: u64,
    /// not counting those that the last early writing had to leave in memory.
    pub unspilled: u64,
    /// The file's length before this transaction first lengthened it.
    pub bytes_before: Option<u64>,
    /// Beyond so many pages small holes are filled before the file is made longer.
    pub pages_wanted: u64,
    /// The file is to have no page more than it needs, whatever the next transactions would like.
    pub exact: bool,
    /// What it writes is more than what it frees, as far as is known.
    pub grows: bool,
    /// Tells it apart from other transactions.
    serial: u64,
    /// Rises with every change. Positions in a table are good since its last one, and since the last that was one of all.
    pub epoch: u64,
    /// The epoch that the last change of all tables began.
    moved: u64,
    /// An operation failed half-way.
    pub failed: bool,
    /// See [`Work::become_txn`].
    is_redone: bool,
    pub durability: Durability,
    /// The caller's number, for the next meta page.
    pub user: u64,
    /// What was done, for the log.
    pub ops: Ops,
    /// What whoever listens is told once all of it is committed.
    pub said: Vec<u8>,
    late: Late,
    /// See [`allocate::oldest_reader`].
    pub oldest_reader: Option<Txnid>,
    /// Of its bulk loads, if it has made any.
    gate: OnceLock<Arc<Gate>>,
}

/// A state of the pages of one table in one transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    serial: u64,
    since: u64,
    overwritten: u64,
}

/// What was given a place in the file.
#[derive(Default)]
pub(crate) struct Placed {
    pub extents: SmallVec<[Extent; 4]>,
    /// What the proof of the commit counts for it.
    pub sum: u64,
    pub pages: u64,
}

impl Placed {
    fn add(&mut self, other: Placed) {
        self.extents.extend(other.extents);
        self.sum = self.sum.wrapping_add(other.sum);
        self.pages += other.pages;
    }
}

/// What a nesting level goes back to, or adds to.
struct Saved {
    placed: Placed,
    failed: bool,
    ops: OpsMark,
    said: usize,
    durability: Durability,
    user: u64,
    pages_wanted: u64,
}

/// A number for a table, or a transaction, that no other has in this process.
fn next_serial() -> u64 {
    static SERIALS: AtomicU64 = AtomicU64::new(1);
    SERIALS.fetch_add(1, Ordering::Relaxed)
}

/// How many dirty pages so much memory holds, or the fewest that a transaction is to hold.
fn pages_of(memory_bytes: usize, store: &Store) -> u64 {
    (memory_bytes / store.pager.page_size).max(64) as u64
}

impl Work {
    pub(crate) fn new(store: Arc<Store>, mut writer: Box<Writer>, durability: Durability) -> Work {
        let dirty = std::mem::replace(&mut writer.dirty, Dirty::new(store.pager.page_size));
        let txnid = writer.meta.txnid.next();
        let catalog = writer.meta.catalog;
        let main = OpenTable::new(Arc::default(), catalog, Orders::default(), Some(catalog));
        let tables = Tables::new(main, writer.tables.clamp(*TABLES.start(), *TABLES.end()));
        let ops = if store.may_log(&writer) { Ops::new(writer.log.take_memory()) } else { Ops::none() };
        Work {
            base: store.shared.durable(),
            horizon: Horizon { txnid, page_count: writer.meta.page_count },
            txnid,
            dirty,
            tables,
            names: Names::default(),
            saved: Vec::new(),
            placed: Placed::default(),
            unchained: Vec::new(),
            gate: OnceLock::new(),
            bytes_before: None,
            pages_wanted: u64::MAX,
            exact: false,
            pages_in_memory: pages_of(store.settings.memory_bytes_unasked(), &store),
            unspilled: 0,
            grows: true,
            serial: next_serial(),
            epoch: 1,
            moved: 1,
            failed: false,
            is_redone: false,
            durability,
            ops,
            said: Vec::new(),
            user: writer.meta.user,
            writer: Some(writer),
            late: Late::new(store.settings.late_checks),
            oldest_reader: None,
            store,
        }
    }

    /// Has the file read as its length asks for. Who only writes may be the only one who sees it grow.
    pub(crate) fn look_at_length(&self) {
        self.store.pager.file_has(self.horizon.page_count * self.store.pager.page_size as u64);
    }

    /// Ends the transaction: forgets what is dirty and gives the write lock back.
    pub(crate) fn end(&mut self) {
        if let Some(writer) = self.leave() {
            self.store.end_write(writer);
        }
    }

    /// What bulk loads of the transaction write through.
    pub(super) fn gate(&self) -> Arc<Gate> {
        self.gate.get_or_init(Arc::default).clone()
    }

    /// Has the threads of bulk loads write nothing more.
    fn close_gate(&mut self) {
        // A forked child has no part in it: a thread of its parent may have been passing.
        if let Some(gate) = self.gate.take().filter(|_| !self.store.shared.is_forked()) {
            gate.close();
        }
    }

    /// Ends the transaction, but keeps the write lock, for one that goes on from here.
    pub(crate) fn leave(&mut self) -> Option<Box<Writer>> {
        let mut writer = self.writer.take()?;
        self.close_gate();
        writer.tables = self.tables.len();
        self.dirty.reset();
        writer.dirty = std::mem::replace(&mut self.dirty, Dirty::new(self.store.pager.page_size));
        let placed = [&self.placed].into_iter().chain(self.saved.iter().map(|saved| &saved.placed));
        if placed.into_iter().any(|placed| !placed.extents.is_empty())
            || self.horizon.page_count != writer.meta.page_count
        {
            // Pages were taken for what is now forgotten; the log on disk knows nothing of that.
            writer.ledger = None;
            writer.too_long |= self.horizon.page_count > writer.meta.page_count;
        }
        if let Some(bytes) = self.bytes_before.take() {
            self.store.shorten(bytes);
        }
        Some(writer)
    }

    /// To be asked before pages are placed: who grows leaves others some of the free space.
    pub(super) fn look_whether_it_grows(&mut self) {
        self.grows = self.writes_more_than_it_frees();
    }

    /// As far as is known: what is committed may be more, or less.
    pub(super) fn writes_more_than_it_frees(&self) -> bool {
        let placed = [&self.placed].into_iter().chain(self.saved.iter().map(|saved| &saved.placed));
        let placed: u64 = placed.flat_map(|placed| &placed.extents).map(|extent| extent.pages).sum();
        let (written, retired) = (placed + self.dirty.pages(), &self.dirty.retired);
        // Most are single pages, and then they need not be added up.
        written > retired.len() as u64 && written > retired.iter().map(|retired| retired.extent.pages).sum()
    }

    /// Whether a commit has anything to store, once the tables' records are in the catalog.
    pub(super) fn has_changes(&self) -> bool {
        let is_same = self.dirty.is_empty() && self.placed.extents.is_empty();
        !is_same || self.is_redone || self.tables[0].saved != Some(self.tables[0].tree)
    }

    /// Whether a commit of a few pages may be the one that flushes what many before it left.
    pub(super) fn is_flush_near(&self) -> bool {
        let Some(writer) = self.writer.as_deref() else { return false };
        let (store, pages) = (&self.store, writer.meta.proof.pages + FEW_PAGES);
        let due = store.checkpoint_is_due(writer, pages, writer.meta.page_count, self.durability);
        let by_way = match self.durability {
            Durability::Relaxed => store.must_flush_now(writer),
            Durability::Durable => !store.has_log_room(writer, FEW_LOG_BYTES),
        };
        due || by_way || store.crowded.load(Ordering::Relaxed)
    }

    /// Takes a number that is not the next one: those before it are in the log. It is taken even if what they did comes to
    /// nothing: a power cut may bring the log back, beside what comes after.
    pub(super) fn become_txn(&mut self, txnid: Txnid) {
        (self.txnid, self.horizon.txnid) = (txnid, txnid);
        self.is_redone = true;
    }

    pub(crate) fn writer_mut(&mut self) -> Result<&mut Writer> {
        Ok(self.store_and_writer()?.1)
    }

    /// What is open, and the writer's memory of it.
    pub(crate) fn store_and_writer(&mut self) -> Result<(&Arc<Store>, &mut Writer)> {
        match self.writer.as_deref_mut() {
            Some(writer) => Ok((&self.store, writer)),
            None => Err(Error::TxnFailed),
        }
    }

    /// The free space.
    pub(super) fn ledger(&mut self) -> Result<&mut Ledger> {
        let (store, writer) = self.store_and_writer()?;
        store.ledger(writer)
    }

    /// Refuses work on a transaction that can only be aborted.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if self.failed { Err(Error::TxnFailed) } else { Ok(()) }
    }

    /// Takes more memory: what any transaction may have, then more, if a large one may. Not for large values, which are
    /// rarely changed again: what they are written from is best used again for the next.
    pub(crate) fn take_more_memory(&mut self) -> bool {
        let usual = pages_of(self.store.settings.memory_bytes(), &self.store);
        if self.pages_in_memory < usual {
            self.pages_in_memory = usual;
            return true;
        }
        if self.dirty.single_pages() < self.dirty.pages() / 2 {
            return false;
        }
        let most = pages_of(self.store.settings.memory_bytes_large(), &self.store);
        let more = most > self.pages_in_memory;
        self.pages_in_memory = most.min(2 * self.pages_in_memory).max(self.pages_in_memory);
        more
    }

    /// A table by its handle.
    pub(crate) fn table(&self, id: TableId) -> Result<&OpenTable> {
        match self.tables.get(id.index as usize) {
            Some(table) if !table.dropped && id.serial == table.serial => Ok(table),
            _ => Err(Error::BadTable),
        }
    }

    /// Adds a table that was found or is to be made; its index.
    pub(crate) fn add_table(&mut self, name: &[u8], tree: Tree, orders: Orders, saved: Option<Tree>) -> usize {
        self.tables.push(OpenTable::new(name.into(), tree, orders, saved));
        self.tables.len() - 1
    }

    /// Begins a nesting level.
    pub(crate) fn nest(&mut self) -> Result<()> {
        self.dirty.nest()?;
        let placed = std::mem::take(&mut self.placed);
        self.tables.nest();
        let (ops, said) = (self.ops.mark(), self.said.len());
        let (failed, durability, user, pages_wanted) = (self.failed, self.durability, self.user, self.pages_wanted);
        self.saved.push(Saved { placed, failed, ops, said, durability, user, pages_wanted });
        Ok(())
    }

    /// Ends the innermost nesting level, keeping or forgetting what it did.
    pub(crate) fn unnest(&mut self, keep: bool) {
        let Some(saved) = self.saved.pop() else { return };
        let placed = std::mem::replace(&mut self.placed, saved.placed);
        if keep {
            self.dirty.commit_level();
            self.tables.keep_level();
            // A level so large has replaced much of what those below it had placed.
            let is_large = !placed.extents.is_empty();
            self.placed.add(placed);
            if is_large {
                let taken_back = allocate::take_back_replaced(self);
                self.failed |= !is_told(taken_back);
            }
        } else {
            // Of a load that the program has forgotten a thread may be writing yet: to what is free again from here on.
            self.close_gate();
            self.dirty.abort_level();
            if self.tables.give_up_level() {
                self.names.forget();
            }
            self.ops.back_to(&saved.ops);
            self.said.truncate(saved.said);
            (self.durability, self.user, self.pages_wanted) = (saved.durability, saved.user, saved.pages_wanted);
            // Nothing refers to what the level wrote early.
            let added = allocate::add_free(self, &placed.extents);
            self.failed = saved.failed | !is_told(added);
        }
        self.unspilled = self.unspilled.min(self.dirty.pages());
        self.all_change();
    }

    /// To be called before pages that the transaction has written may get another content.
    pub(super) fn settle_in(&self, places: &[Extent]) -> Result<()> {
        self.late.settle_in(places, &self.store.pager, self.horizon)
    }

    /// A table changes: positions in it from before this must be sought anew.
    #[inline]
    pub(crate) fn changes(&mut self, i: usize) {
        self.epoch += 1;
        self.tables[i].changed = self.epoch;
    }

    /// All tables change, or their pages get other places.
    pub(crate) fn all_change(&mut self) {
        self.epoch += 1;
        self.moved = self.epoch;
    }

    /// The epoch of a table's last change; of a table that is gone, none that comes.
    #[inline]
    fn since(&self, i: usize) -> u64 {
        self.tables.get(i).map_or(u64::MAX, |table| table.changed.max(self.moved))
    }

    /// Whether a position that was found in a table in this epoch is still good. None is from epoch 0.
    #[inline]
    pub(crate) fn is_current(&self, i: usize, epoch: u64) -> bool {
        epoch >= self.since(i)
    }

    /// The state that a table's pages are in.
    #[inline]
    pub(crate) fn stamp(&self, i: usize) -> Stamp {
        let overwritten = self.tables.get(i).map_or(0, |table| table.overwritten);
        Stamp { serial: self.serial, since: self.since(i), overwritten }
    }

    /// Whether it is the state of pages of this transaction.
    pub(crate) fn is_of(&self, stamp: &Stamp) -> bool {
        stamp.serial == self.serial
    }

    /// Refuses to free more pages than there are: who drops a damaged tree may come to the same ones again and again.
    fn check_freed(&self, child: Child) -> Result<()> {
        let possible = (self.dirty.retired.len() as u64) < self.horizon.page_count;
        if possible { Ok(()) } else { Err(damaged(child, "a page that was freed before")) }
    }

    fn retire(&mut self, pages: u64, child: Child, header: (Txnid, u64)) {
        let extent = Extent::new(child.pgno(), pages);
        self.dirty.retired.push(Retired { extent, birth: header.0, checksum: Some(header.1) });
    }
}

/// Whether all went well. What did not is told of here: the transaction says afterwards only that it failed.
fn is_told(outcome: Result<()>) -> bool {
    outcome.inspect_err(|error| tracing::error!(%error, "a transaction can only be aborted")).is_ok()
}

impl Drop for Work {
    fn drop(&mut self) {
        self.end();
    }
}

impl Work {
    fn dirty_value(&self, child: Child) -> Result<&[u8]> {
        let run = self.dirty.run(child.dirty_index()).ok_or_else(|| damaged(child, "a pointer to no run"))?;
        at(child, overflow::open(run))
    }
}

impl Pages for Work {
    fn page_size(&self) -> usize {
        self.store.pager.page_size
    }

    fn page_count(&self) -> u64 {
        self.horizon.page_count + self.dirty.pages()
    }

    #[inline]
    fn page(&self, child: Child) -> Result<&[u8]> {
        // What failed half-way may have left pointers to pages that were never written.
        self.check()?;
        if child.is_dirty() {
            return self.dirty.page(child.dirty_index()).ok_or_else(|| damaged(child, "a pointer to no page"));
        }
        self.store.pager.page(child.pgno(), self.horizon)
    }

    fn value(&self, stub: Stub) -> Result<&[u8]> {
        self.check()?;
        if stub.child.is_dirty() { self.dirty_value(stub.child) } else { self.store.pager.value(stub, self.horizon) }
    }

    fn value_met(&self, stub: Stub) -> Result<&[u8]> {
        self.check()?;
        if stub.child.is_dirty() {
            return self.dirty_value(stub.child);
        }
        self.late.meet(&self.store.pager, stub, self.horizon)
    }

    fn walk_ends(&self) -> Result<()> {
        self.late.settle(&self.store.pager, self.horizon)
    }

    #[inline]
    fn prefetch(&self, child: Child) {
        if child.is_dirty() {
            self.dirty.prefetch(child, SEARCHED_LINES);
        } else {
            self.store.pager.prefetch(child.pgno(), self.horizon);
        }
    }

    /// The whole of it: nothing fetches more of it on the way, as a reading cursor does.
    #[inline]
    fn prefetch_next(&self, child: Child) {
        self.prefetch_to_change(child);
    }

    /// The whole of it: it is copied. What is left to be fetched comes while the search goes on.
    #[inline]
    fn prefetch_to_change(&self, child: Child) {
        if child.is_dirty() {
            self.dirty.prefetch(child, SEARCHED_LINES);
        } else {
            self.store.pager.prefetch_whole(child.pgno(), self.horizon);
        }
    }

    #[inline]
    fn scarce(&self) -> Option<&Advice> {
        self.store.pager.scarce()
    }

    #[inline]
    fn upcoming(&self, child: Child) -> Option<&[u8]> {
        if child.is_dirty() {
            return self.dirty.page(child.dirty_index());
        }
        self.store.pager.unverified_page(child.pgno(), self.horizon).ok()
    }
}

impl PagesMut for Work {
    #[inline]
    fn is_own(&self, child: Child) -> bool {
        self.dirty.is_own(child)
    }

    fn touch(&mut self, child: Child) -> Result<Child> {
        if self.dirty.is_own(child) {
            return Ok(child);
        }
        if child.is_dirty() {
            return Ok(self.dirty.copy_up(child));
        }
        let bytes = self.store.pager.page(child.pgno(), self.horizon)?;
        let header = (page::birth(bytes), page::checksum(bytes));
        if let Some(copy) = self.dirty.take_kept(bytes) {
            self.retire(1, child, header);
            return Ok(copy);
        }
        let copy = self.dirty.create_from(bytes);
        if self.store.pager.is_valid(child.pgno(), header.0) {
            self.retire(1, child, header);
            return Ok(copy);
        }
        // The copy, which is in the processor's cache, where the page perhaps is not.
        if let Err(damage) = format::validate(self.dirty.page_mut(copy)) {
            self.dirty.free(copy);
            return at(child, Err(damage));
        }
        self.store.pager.trust(child.pgno(), header.0);
        self.retire(1, child, header);
        Ok(copy)
    }

    #[inline]
    fn page_mut(&mut self, child: Child) -> &mut [u8] {
        self.dirty.page_mut(child)
    }

    fn create(&mut self) -> Child {
        self.dirty.create()
    }

    fn free(&mut self, child: Child) -> Result<()> {
        if child.is_dirty() {
            self.dirty.free(child);
            return Ok(());
        }
        self.check_freed(child)?;
        let bytes = self.store.pager.page(child.pgno(), self.horizon)?;
        let header = (page::birth(bytes), page::checksum(bytes));
        self.retire(1, child, header);
        Ok(())
    }

    fn free_unread(&mut self, child: Child, born_by: Option<Txnid>) -> Result<()> {
        let base = self.base;
        let Some(born_by) = born_by.filter(|birth| !child.is_dirty() && *birth <= base) else {
            return self.free(child);
        };
        self.check_freed(child)?;
        let is_read = self.is_read_to_free(Some(born_by))?;
        let page = if is_read { self.store.pager.page(child.pgno(), self.horizon).ok() } else { None };
        // A damaged one may be of any age.
        let birth = page.map_or(Txnid(0), page::birth).min(born_by);
        self.dirty.retired.push(Retired { extent: Extent::new(child.pgno(), 1), birth, checksum: None });
        Ok(())
    }

    fn is_read_to_free(&mut self, born_by: Option<Txnid>) -> Result<bool> {
        let Some(born_by) = born_by.filter(|birth| *birth <= self.base) else { return Ok(true) };
        // Else whoever reads sees it, and no birth could tell more.
        Ok(born_by > allocate::oldest_reader(self)?)
    }

    fn create_run(&mut self, bytes: u32, content: &[u8]) -> Result<Child> {
        let pages = overflow::pages_for(bytes as usize, self.page_size());
        let run = self.dirty.create_run(pages as u64, RUN_HEADER, content);
        overflow::init(self.dirty.run_mut(run), to_u32(pages), bytes);
        Ok(run)
    }

    fn run_mut(&mut self, run: Child) -> &mut [u8] {
        let run = self.dirty.run_mut(run);
        let bytes = page::payload(run) as usize;
        &mut run[RUN_HEADER..RUN_HEADER + bytes]
    }

    fn free_run(&mut self, run: Child, bytes: u32) -> Result<()> {
        if run.is_dirty() {
            self.dirty.free_run(run.dirty_index());
            return Ok(());
        }
        self.check_freed(run)?;
        let pages = overflow::pages_for(bytes as usize, self.page_size()) as u64;
        let header = self.store.pager.unverified_page(run.pgno(), self.horizon)?;
        if page::kind(header) != Some(Kind::Overflow) || u64::from(page::run(header)) != pages {
            return Err(damaged(run, "not the run of overflow pages that its key says"));
        }
        let header = (page::birth(header), page::checksum(header));
        self.retire(pages, run, header);
        Ok(())
    }
}
