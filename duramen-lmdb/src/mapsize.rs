//! The limit that a program sets on its file: LMDB's map size.
//!
//! Owns: how many pages a number of bytes allows, who is told that it is reached. The engine has no such limit; here
//! it is kept because programs rely on being stopped by it, and on being told when another process has raised it.
//!
//! A new file of ours has two meta pages more than LMDB's, so the limit is two pages above what the bytes say. A file
//! that was not made through this interface has no limit until one is set.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use duramen::{Database, Snapshot, WriteTxn};

use crate::abi::size;
use crate::errors::{MAP_FULL, MAP_RESIZED, Result};

/// As many pages of a file as count.
#[inline]
pub(crate) fn counted(pages: u64) -> usize {
    size(pages.saturating_sub(META_PAGES))
}

/// LMDB's default.
const DEFAULT_BYTES: usize = 1 << 20;
/// For files that nobody has set a limit for.
const UNLIMITED: usize = 1 << 46;
/// See the module's head.
const META_PAGES: u64 = 2;
/// What a commit may add to what is counted before it.
const COMMIT_PAGES: u64 = 1;
/// This part of the map is kept for transactions that do not grow,
const RESERVE: u64 = 16;
/// but not more pages than this: there are programs that make the map larger when they see that little of it is left.
const RESERVE_MAX: u64 = 8;

/// See the module's head.
#[derive(Default)]
pub struct Limit {
    bytes: AtomicUsize,
    /// Of the bytes in a page, which are a power of two.
    page_shift: AtomicU32,
    /// It becomes as high as it has to be.
    yields: AtomicBool,
}

/// What a write transaction has found out about the pages that it may use.
#[derive(Clone, Copy, Default)]
pub struct Budget {
    free: u64,
    unplaced: u64,
    /// Of those that are free, so many are side by side for values of as many pages as the longest,
    in_runs: u64,
    /// which has so many.
    longest: u64,
}

impl Limit {
    /// The limit in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Sets it, before the database is open.
    pub fn set(&self, bytes: usize) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// From now on it yields to what is stored: what filled a map of LMDB's may need more room here.
    pub fn lift(&self) {
        self.yields.store(true, Ordering::Relaxed);
    }

    /// The limit in the engine's pages.
    pub fn pages(&self) -> u64 {
        let bytes = if self.yields.load(Ordering::Relaxed) { UNLIMITED } else { self.bytes() };
        (bytes >> self.page_shift.load(Ordering::Relaxed)) as u64 + META_PAGES
    }

    /// What a file that is made notes of it at once.
    pub fn of_new_file(&self) -> u64 {
        match self.bytes() {
            0 => DEFAULT_BYTES as u64,
            bytes => bytes as u64,
        }
    }

    /// The database has been opened: what was not set is taken from the file.
    pub fn begin(&self, db: &Database) -> Result {
        self.page_shift.store(db.page_size().trailing_zeros(), Ordering::Relaxed);
        self.change(db, self.bytes())
    }

    /// Sets it in an open database: 0 is what the file says; never less than is in use.
    pub fn change(&self, db: &Database, bytes: usize) -> Result {
        let stored = size(db.user_number()?);
        let wanted = match bytes {
            0 if stored == 0 => UNLIMITED,
            0 => stored,
            bytes => bytes,
        };
        let used = counted(db.glance()?.pages()) * db.page_size();
        self.set(wanted.max(used));
        Ok(())
    }

    /// Refuses a snapshot that has grown beyond the limit because another process has a higher one.
    #[inline]
    pub fn check_read(&self, db: &Database, snapshot: &Snapshot<'_>) -> Result {
        if snapshot.pages() <= self.pages() { Ok(()) } else { self.compare(db) }
    }

    /// As [`Limit::check_read`], for a writer.
    pub fn check_write(&self, txn: &WriteTxn<'_>) -> Result {
        let raised = txn.pages() > self.pages() && size(txn.user_number()) > self.bytes();
        if raised { Err(MAP_RESIZED) } else { Ok(()) }
    }

    #[cold]
    fn compare(&self, db: &Database) -> Result {
        if size(db.user_number()?) > self.bytes() { Err(MAP_RESIZED) } else { Ok(()) }
    }

    /// Whether what the transaction has changed, and `more` pages, still fit.
    #[inline]
    pub fn check_room(&self, txn: &mut WriteTxn<'static>, budget: &mut Budget, more: u64) -> Result {
        let unplaced = txn.pages_unplaced() + more;
        let wanted = txn.pages() + unplaced + COMMIT_PAGES;
        if wanted + self.reserve() <= self.pages() {
            return Ok(());
        }
        self.check_free(txn, budget, wanted, unplaced)
    }

    /// Pages that are left by transactions that need more of them than they free, for those that do not: programs that
    /// have been told that the map is full delete something, and count on being able to.
    fn reserve(&self) -> u64 {
        (self.pages() / RESERVE).min(RESERVE_MAX)
    }

    /// Near the limit: what is free counts.
    #[cold]
    fn check_free(&self, txn: &mut WriteTxn<'static>, budget: &mut Budget, wanted: u64, unplaced: u64) -> Result {
        let (limit, reserve) = (self.pages(), self.reserve());
        // What was written early has used up some of it.
        let known = if unplaced >= budget.unplaced { *budget } else { Budget::default() };
        if wanted + reserve <= limit + known.free {
            *budget = Budget { unplaced, ..known };
            return self.check_runs(txn, budget);
        }
        let left_alone = if txn.grows() { reserve } else { 0 };
        let needed = (wanted + left_alone).saturating_sub(limit);
        *budget = Budget { free: txn.pages_free(needed)?, unplaced, ..known };
        if budget.free >= needed { self.check_runs(txn, budget) } else { Err(MAP_FULL) }
    }

    /// Near the limit: values of several pages need those side by side, in a hole or at the file's end.
    fn check_runs(&self, txn: &mut WriteTxn<'static>, budget: &mut Budget) -> Result {
        let (pages, longest) = txn.pages_of_runs();
        let at_end = self.pages().saturating_sub(txn.pages());
        if pages <= at_end {
            return Ok(());
        }
        let needed = pages - at_end / longest * longest;
        if longest == budget.longest && needed <= budget.in_runs {
            return Ok(());
        }
        // Twice as many, so that who stores many of them does not look each time.
        (budget.in_runs, budget.longest) = (txn.pages_free_in_runs(longest, 2 * needed)?, longest);
        if needed > budget.in_runs {
            // What waits only for the disk may lie beside them.
            budget.free = txn.pages_free(u64::MAX)?;
            budget.in_runs = txn.pages_free_in_runs(longest, 2 * needed)?;
        }
        if needed <= budget.in_runs { Ok(()) } else { Err(MAP_FULL) }
    }

    /// The limit that the file is to remember: the highest that was set.
    pub fn to_store(&self, txn: &WriteTxn<'static>) -> u64 {
        if self.yields.load(Ordering::Relaxed) {
            let used = counted(txn.pages() + txn.pages_unplaced() + COMMIT_PAGES + RESERVE_MAX);
            self.set(self.bytes().max(used << self.page_shift.load(Ordering::Relaxed)));
        }
        txn.user_number().max(self.bytes() as u64)
    }
}
