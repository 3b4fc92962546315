//! Looking at a whole database: is every page what it should be, and accounted for?
//!
//! Owns: the check and the statistics of a snapshot. Must not know: how anything is mended.
//!
//! What is called whole can be used: whatever a walk yields is found by a search too, and every page can be changed. So
//! pages are looked into as before a change, and beyond that for all that a search relies on. The order of keys in tables with
//! a custom order cannot be told without its function.

mod spans;

use crate::advice::Advice;
use crate::error::{Damage, Error, Result};
use crate::format;
use crate::format::branch::Branch;
use crate::format::meta::Meta;
use crate::format::overflow::Stub;
use crate::format::page::Child;
use crate::ids::{Extent, Pgno, Txnid};
use crate::order::Order;
use crate::pager::Horizon;
use crate::readers::{ReadSlot, Stay};
use crate::store::recover::whole_slots;
use crate::store::space_log::{self, Ledger};
use crate::store::{CommitTimings, Store, Unpacked};
use crate::tree::walk::{Place, Visitor, rises, walk};
use crate::tree::{AnyLeaf, Pages, Tree, at, damaged, duplicates};
use crate::width::to_usize;

use spans::Spans;

/// The database in numbers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Bytes in a page.
    pub page_size: usize,
    /// Newest commit.
    pub txnid: Txnid,
    /// Newest commit known to survive a power cut.
    pub durable_txnid: Txnid,
    /// Pages of the file, meta pages included.
    pub pages: u64,
    /// Pages that can be reused now.
    pub free_pages: u64,
    /// Pages that are no longer reachable but may still be seen by a snapshot.
    pub retired_pages: u64,
    /// Length of the longest run of free pages.
    pub longest_free_run: u64,
    /// Bytes of the data file.
    pub file_bytes: u64,
    /// Wall clock of the newest commit, in nanoseconds since 1970; 0 if there was none.
    pub committed_ns: u64,
    /// Where the time of this handle's last commit went.
    pub last_commit: CommitTimings,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// Pages looked at: all of the file's.
    pub pages: u64,
    /// Branch pages.
    pub branch_pages: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Overflow pages.
    pub overflow_pages: u64,
    /// Pages that the log of the free space takes.
    pub space_pages: u64,
    /// Pages that can be reused.
    pub free_pages: u64,
    /// Pages kept for snapshots.
    pub retired_pages: u64,
    /// Tables.
    pub tables: u64,
    /// Entries in all tables, duplicates counted, and in the main table.
    pub entries: u64,
    /// Those that the main table holds itself.
    pub main_entries: u64,
    /// Bytes in branch and leaf pages that hold nothing.
    pub unused_bytes: u64,
    /// What is wrong; empty if all is well.
    pub findings: Vec<String>,
}

impl CheckReport {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// The newest commit, held so that its pages stay while one looks at them. Nobody is kept from writing.
pub(crate) struct HeldCommit<'s> {
    store: &'s Store,
    slot: ReadSlot,
    pub(crate) meta: Meta,
}

impl HeldCommit<'_> {
    pub(crate) fn newest(store: &Store, stay: Stay) -> Result<HeldCommit<'_>> {
        let mut missed = None;
        loop {
            let (slot, newest) = store.begin_read(stay)?;
            let head = store.read_head().inspect_err(|_| store.shared.end_read(slot))?;
            let place = Unpacked::of(&newest).slot;
            let found = whole_slots(&head).find(|(slot, meta)| *slot == place && meta.txnid == newest.txnid);
            if let Some((_, meta)) = found {
                return Ok(HeldCommit { store, slot, meta });
            }
            store.shared.end_read(slot);
            // Commits made meanwhile may have written over its meta page.
            if missed.replace(newest.txnid) == Some(newest.txnid) {
                return Err(Error::Corrupt { page: Pgno(0), what: "the meta page of the newest commit is not there" });
            }
        }
    }

    /// The free space as of the commit, and as the readers of now allow.
    fn ledger(&self) -> Result<Ledger> {
        let mut ledger = Ledger::load(&self.store.pager, &self.meta)?;
        let mut live = Vec::new();
        self.store.shared.collect_live(&mut live)?;
        live.push(self.store.shared.durable());
        live.sort_unstable();
        live.dedup();
        ledger.space.release(&live);
        ledger.space.settle();
        Ok(ledger)
    }
}

impl Drop for HeldCommit<'_> {
    fn drop(&mut self) {
        self.store.shared.end_read(self.slot);
    }
}

/// The free space as of the newest commit.
pub(crate) fn ledger(store: &Store) -> Result<Ledger> {
    HeldCommit::newest(store, Stay::Brief)?.ledger()
}

/// The database in numbers.
pub(crate) fn stats(store: &Store) -> Result<Stats> {
    let held = HeldCommit::newest(store, Stay::Brief)?;
    let space = held.ledger()?.space;
    Ok(Stats {
        page_size: store.pager.page_size,
        txnid: held.meta.txnid,
        durable_txnid: store.durable(),
        pages: held.meta.page_count,
        free_pages: space.free_pages(),
        retired_pages: space.retired_pages(),
        longest_free_run: space.longest(),
        file_bytes: store.medium.len().map_err(Error::io("ask for the length of the data file"))?,
        committed_ns: held.meta.committed_ns,
        last_commit: store.last_commit(),
    })
}

/// See [`crate::Database::user_number`].
pub(crate) fn user_number(store: &Store) -> Result<u64> {
    Ok(HeldCommit::newest(store, Stay::Brief)?.meta.user)
}

/// See [`crate::Database::committed_ns`].
pub(crate) fn committed_ns(store: &Store) -> Result<u64> {
    Ok(HeldCommit::newest(store, Stay::Brief)?.meta.committed_ns)
}

/// See [`crate::Database::check`].
pub(crate) fn check(store: &Store, progress: impl FnMut(u64, u64)) -> Result<CheckReport> {
    let held = HeldCommit::newest(store, Stay::Long)?;
    let mut checker = Checker::new(store, &held.meta, progress);
    checker.run(&held);
    Ok(checker.report)
}

struct Checker<'s, F> {
    store: &'s Store,
    horizon: Horizon,
    /// One bit a page: somebody has claimed it.
    claimed: Vec<u64>,
    report: CheckReport,
    /// The tree being walked, and before it those that it is in; that of the main table first.
    inside: Vec<Inside>,
    seen: u64,
    progress: F,
}

/// A tree that is being walked.
struct Inside {
    tree: Tree,
    /// Of keys, if it is not a custom one.
    order: Option<Order>,
    /// Branches, leaves, overflow pages, entries.
    counts: [u64; 4],
    spans: Spans,
}

impl Inside {
    fn of(tree: &Tree) -> Inside {
        Inside { tree: *tree, order: Order::built_in(tree.order), counts: [0; 4], spans: Spans::default() }
    }

    /// Looks into a branch, which was met last.
    fn branch(&mut self, level: u8, branch: &Branch<'_>) -> Result<(), Damage> {
        if branch.whole() != self.order.is_none() {
            return Err(Damage("its separators are not of the kind of its tree"));
        }
        match self.order {
            Some(_) => branch.check_heads().and(self.spans.part(level, branch)),
            None => Ok(()),
        }
    }

    /// Looks into a leaf, which was met last.
    fn leaf(&self, child: Child, leaf: &AnyLeaf<'_>) -> Result<()> {
        if !leaf.suits(&self.tree) {
            return Err(damaged(child, "another kind of leaf than its tree has"));
        }
        let outside = if let AnyLeaf::Cells(cells) = leaf { cells.outside() } else { 0 };
        let said = usize::from(child.count16());
        if !matches!(child.count16(), 0 | Child::UNCOUNTED) && (said != leaf.len() || outside > 0) {
            return Err(damaged(child, "another number of entries than the pointer to it says"));
        }
        let Some(order) = &self.order else { return Ok(()) };
        rises(child, leaf, order)?;
        if let AnyLeaf::Cells(cells) = leaf {
            at(child, cells.check_heads(order))?;
        }
        at(child, self.spans.hold(leaf, order))
    }
}

/// Findings beyond this many are only counted.
const FINDINGS_MAX: usize = 100;

impl<'s, F: FnMut(u64, u64)> Checker<'s, F> {
    fn new(store: &'s Store, meta: &Meta, progress: F) -> Checker<'s, F> {
        Checker {
            store,
            horizon: Horizon { txnid: meta.txnid, page_count: meta.page_count },
            claimed: vec![0; to_usize(meta.page_count.div_ceil(64))],
            report: CheckReport { pages: meta.page_count, ..CheckReport::default() },
            inside: vec![Inside::of(&meta.catalog)],
            seen: 0,
            progress,
        }
    }

    fn find(&mut self, finding: impl ToString) {
        if self.report.findings.len() < FINDINGS_MAX {
            self.report.findings.push(finding.to_string());
        }
    }

    fn run(&mut self, held: &HeldCommit<'_>) {
        let meta = &held.meta;
        let first = self.store.pager.first_page();
        for page in 0..first {
            self.claim(Extent::new(Pgno(page), 1), "a meta page");
        }
        let pages = Verifying { store: self.store, horizon: self.horizon };
        if let Err(error) = walk(&pages, &meta.catalog, Place::Catalog, self) {
            self.find(error);
        }
        self.compare(&meta.catalog, "the main table");
        self.report.main_entries = meta.catalog.entries.saturating_sub(self.report.tables);
        self.report.entries = self.report.entries.saturating_add(self.report.main_entries);
        self.space(held);
        self.accounting();
        (self.progress)(self.report.pages, self.report.pages);
    }

    /// Notes who has a run of pages; a finding, and false, if somebody else has.
    fn claim(&mut self, extent: Extent, who: &str) -> bool {
        for page in extent.start.0..extent.end().0 {
            let wrong = match self.claimed.get_mut((page / 64) as usize) {
                None => "outside the file",
                Some(word) if *word & 1 << (page % 64) != 0 => "in use twice",
                Some(word) => {
                    *word |= 1 << (page % 64);
                    continue;
                }
            };
            self.find(format!("page {page} ({who}) is {wrong}"));
            return false;
        }
        self.seen += extent.pages;
        if self.seen % 1024 < extent.pages {
            (self.progress)(self.seen.min(self.report.pages), self.report.pages);
        }
        true
    }

    fn space(&mut self, held: &HeldCommit<'_>) {
        let mut runs = Vec::new();
        let chain = space_log::walk(&self.store.pager, self.horizon, held.meta.space.head, |extent, _| {
            self.store.pager.verify_again(extent.start, extent.pages, self.horizon)?;
            runs.push(extent);
            Ok(true)
        });
        for extent in runs {
            self.report.space_pages += extent.pages;
            self.claim(extent, "the log of the free space");
        }
        match chain.and_then(|()| held.ledger()) {
            Err(error) => self.find(error),
            Ok(ledger) => {
                self.report.free_pages = ledger.space.free_pages();
                self.report.retired_pages = ledger.space.retired_pages();
                for extent in ledger.space.extents() {
                    self.claim(extent, "free");
                }
                for (extent, ..) in ledger.space.retired() {
                    self.claim(extent, "retired");
                }
            }
        }
    }

    fn accounting(&mut self) {
        let claimed: u64 = self.claimed.iter().map(|word| u64::from(word.count_ones())).sum();
        if claimed < self.report.pages && self.report.is_clean() {
            let lost = (0..self.report.pages).find(|page| self.claimed[(page / 64) as usize] & 1 << (page % 64) == 0);
            let lost = lost.unwrap_or(0);
            let count = self.report.pages - claimed;
            self.find(format!("{count} pages are neither in use nor free, page {lost} the first"));
        }
    }

    /// Compares what a tree's record says with what was counted.
    fn compare(&mut self, tree: &Tree, what: &str) {
        let counted = self.inside.last().map_or([0; 4], |inside| inside.counts);
        let said = [tree.branches, tree.leaves, tree.overflows, tree.entries];
        for ((counted, said), name) in
            counted.into_iter().zip(said).zip(["branch pages", "leaf pages", "overflow pages", "entries"])
        {
            if counted != said {
                self.find(format!("{what} has {counted} {name}, its record says {said}"));
            }
        }
    }

    fn count(&mut self, i: usize, n: u64) {
        if let Some(Inside { counts, .. }) = self.inside.last_mut() {
            counts[i] = counts[i].saturating_add(n);
        }
    }

    /// Looks into a page of a tree, which was met last.
    fn check_page(&mut self, child: Child, level: u8, bytes: &[u8]) -> Result<()> {
        at(child, format::validate(bytes))?;
        let Some(inside) = self.inside.last_mut().filter(|_| level > 1) else { return Ok(()) };
        let branch = at(child, Branch::open(bytes))?;
        self.report.unused_bytes += branch.free_space() as u64;
        at(child, inside.branch(level, &branch))
    }

    fn check_leaf(&mut self, child: Child, leaf: &AnyLeaf<'_>) -> Result<()> {
        let Some(inside) = self.inside.last() else { return Ok(()) };
        inside.leaf(child, leaf)?;
        let AnyLeaf::Cells(cells) = leaf else {
            self.count(3, leaf.len() as u64);
            return Ok(());
        };
        let mut entries = 0u64;
        for i in 0..cells.len() {
            entries = entries.saturating_add(duplicates::examine(child, &inside.tree, &at(child, cells.cell(i))?)?);
        }
        self.count(3, entries);
        self.report.unused_bytes += cells.free_space() as u64;
        Ok(())
    }
}

impl<F: FnMut(u64, u64)> Visitor for Checker<'_, F> {
    fn page(&mut self, child: Child, level: u8) -> Result<bool> {
        let pages = Verifying { store: self.store, horizon: self.horizon };
        if let Some(inside) = self.inside.last_mut() {
            inside.spans.meet(level);
        }
        // What was gone into once is not gone into again: ways that meet again and again are too many to be gone.
        if !self.claim(Extent::new(child.pgno(), 1), "a page of a tree") {
            return Ok(false);
        }
        let bytes = match pages.page(child) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.find(error);
                return Ok(false);
            }
        };
        if level > 1 {
            self.report.branch_pages += 1;
            self.count(0, 1);
        } else {
            self.report.leaf_pages += 1;
            self.count(1, 1);
        }
        if let Err(error) = self.check_page(child, level, bytes) {
            self.find(error);
        }
        Ok(true)
    }

    fn value(&mut self, stub: Stub) -> Result<()> {
        let (pgno, pages) = (stub.child.pgno(), stub.pages(self.store.pager.page_size));
        self.report.overflow_pages += pages;
        self.count(2, pages);
        if !self.claim(Extent::new(pgno, pages), "a large value") {
            return Ok(());
        }
        if let Err(error) = self.store.pager.verify_value_again(stub, self.horizon) {
            self.find(error);
        }
        Ok(())
    }

    fn leaf(&mut self, child: Child, leaf: &AnyLeaf<'_>) -> Result<()> {
        if let Err(error) = self.check_leaf(child, leaf) {
            self.find(error);
        }
        Ok(())
    }

    fn tree(&mut self, name: Option<&[u8]>, tree: &Tree, begins: bool) -> Result<()> {
        if begins {
            self.inside.push(Inside::of(tree));
            return Ok(());
        }
        let what = match name {
            Some(name) => format!("table {:?}", String::from_utf8_lossy(name)),
            None => "a tree of duplicates".to_string(),
        };
        self.compare(tree, &what);
        self.inside.pop();
        if name.is_some() {
            self.report.tables += 1;
            self.report.entries = self.report.entries.saturating_add(tree.entries);
        }
        Ok(())
    }
}

/// Pages whose checksums are verified whenever they are asked for.
struct Verifying<'s> {
    store: &'s Store,
    horizon: Horizon,
}

impl Pages for Verifying<'_> {
    fn page_size(&self) -> usize {
        self.store.pager.page_size
    }

    fn page_count(&self) -> u64 {
        self.horizon.page_count
    }

    fn page(&self, child: Child) -> Result<&[u8]> {
        if child.is_dirty() {
            return Err(crate::tree::damaged(child, "a pointer that only a writer's memory may hold"));
        }
        self.store.pager.verify_again(child.pgno(), 1, self.horizon)
    }

    fn value(&self, stub: Stub) -> Result<&[u8]> {
        self.store.pager.value(stub, self.horizon)
    }

    fn scarce(&self) -> Option<&Advice> {
        self.store.pager.scarce()
    }
}
