//! Pages of the file by number, checked before anyone looks inside.
//!
//! Owns: the map of the data file, the memory of which pages were verified, and the advice on reading them ahead. Must
//! not know: trees, transactions.
//!
//! A page is verified (checksum, page number) when this process meets it first, and again when it was rewritten
//! since: one byte a page remembers a hash of the birth that was verified. So damage is reported instead of read,
//! at the price of one byte looked up on the hot path.

use std::fs::File;

use crate::advice::Advice;
use crate::error::{Damage, Error, Result};
use crate::format::overflow::Stub;
use crate::format::page::{self, Kind, RUN_HEADER};
use crate::format::{meta, overflow};
use crate::ids::{Extent, Pgno, Txnid};
use crate::map::{Map, Verified, tag_of, tag_of_low};
use crate::prefetch::{LINE, prefetch};
use crate::width::to_usize;

/// What a reader may see: pages below `page_count` born no later than `txnid`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Horizon {
    pub txnid: Txnid,
    pub page_count: u64,
}

/// Cache lines at a page's start that a search reads without waiting for one to choose the next: in a leaf of records
/// of some hundred bytes that is the header, all heads and all slots.
pub(crate) const SEARCHED_LINES: usize = 7;

/// From so many pages on a run is longer than what the kernel reads ahead at a time.
const LONG_RUN: u64 = 64;

/// The mapped file.
pub(crate) struct Pager {
    map: Map,
    verified: Verified,
    advice: Advice,
    pub file_id: u64,
    pub page_size: usize,
    shift: u32,
    first_page: u64,
}

impl Pager {
    pub(crate) fn new(map: Map, advice: Advice, file_id: u64, page_size: usize) -> Result<Pager> {
        let shift = page_size.trailing_zeros();
        let verified = Verified::new(map.reserved_bytes() >> shift);
        let first_page = meta::Meta::first_page(page_size);
        Ok(Pager { map, verified, advice, file_id, page_size, shift, first_page })
    }

    /// Reads the copy that has taken the file's place, from now on.
    pub(crate) fn follow(&self, copy: File) -> Result<()> {
        self.map.follow(copy).map_err(|e| Error::Io { op: "map the copy of the data file", source: e.into() })
    }

    /// Says how long the file is now, and reads it as memory allows.
    pub(crate) fn file_has(&self, bytes: u64) {
        if let Some(tight) = self.advice.file_has(bytes) {
            self.map.expect_random(tight);
        }
    }

    /// Reads the file as memory allows that other programs may have taken, or given back.
    #[cold]
    pub(crate) fn look_at_memory_again(&self) {
        if let Some(tight) = self.advice.look_again() {
            self.map.expect_random(tight);
        }
    }

    /// The means to ask for pages ahead, where memory is too small for the file.
    #[inline]
    pub(crate) fn scarce(&self) -> Option<&Advice> {
        self.advice.is_tight().then_some(&self.advice)
    }

    /// First page after the meta slots.
    pub(crate) fn first_page(&self) -> u64 {
        self.first_page
    }

    /// A copy of what a meta slot begins with, where others may be writing; the file is at least as long as the slots.
    #[inline]
    pub(crate) fn slot<const BYTES: usize>(&self, slot: usize) -> [u8; BYTES] {
        self.map.copy((slot * meta::SLOT_BYTES) as u64).unwrap_or([0; BYTES])
    }

    #[inline]
    fn raw(&self, pgno: Pgno, pages: u64, horizon: Horizon) -> Result<&[u8]> {
        if pgno.0 < self.first_page || pgno.0 >= horizon.page_count || pages > horizon.page_count - pgno.0 {
            return Err(out_of_file(pgno));
        }
        self.map.bytes(pgno.0 << self.shift, to_usize(pages << self.shift)).ok_or_else(out_of_reach)
    }

    /// A page that may be seen at this horizon.
    #[inline]
    pub(crate) fn page(&self, pgno: Pgno, horizon: Horizon) -> Result<&[u8]> {
        match self.known_page(pgno, horizon) {
            Some(bytes) => Ok(bytes),
            None => self.meet_page(pgno, horizon),
        }
    }

    /// The page, if it has been met before. (Errors are large: what makes room for them costs more than all of this.)
    #[inline(always)]
    fn known_page(&self, pgno: Pgno, horizon: Horizon) -> Option<&[u8]> {
        if pgno.0 < self.first_page || pgno.0 >= horizon.page_count {
            return None;
        }
        let bytes = self.map.bytes_at_hand(pgno.0 << self.shift, self.page_size)?;
        self.is_verified(pgno, bytes, horizon).then_some(bytes)
    }

    #[inline(never)]
    fn meet_page(&self, pgno: Pgno, horizon: Horizon) -> Result<&[u8]> {
        let bytes = self.raw(pgno, 1, horizon)?;
        self.verify(pgno, bytes, horizon)?;
        Ok(bytes)
    }

    /// Whether a page or run was found to be what it should.
    #[inline(always)]
    fn is_verified(&self, pgno: Pgno, bytes: &[u8], horizon: Horizon) -> bool {
        let birth = page::birth(bytes);
        birth <= horizon.txnid && page::pgno(bytes) == pgno && self.verified.is(pgno, tag_of(birth))
    }

    /// The bytes of some pages as they are.
    pub(crate) fn unverified(&self, extent: Extent, horizon: Horizon) -> Result<&[u8]> {
        self.raw(extent.start, extent.pages, horizon)
    }

    /// A page's bytes as they are.
    pub(crate) fn unverified_page(&self, pgno: Pgno, horizon: Horizon) -> Result<&[u8]> {
        self.raw(pgno, 1, horizon)
    }

    /// Fetches what a search of the page reads first.
    #[inline]
    pub(crate) fn prefetch(&self, pgno: Pgno, horizon: Horizon) {
        self.prefetch_lines(pgno, horizon, SEARCHED_LINES);
    }

    /// Fetches the whole page.
    pub(crate) fn prefetch_whole(&self, pgno: Pgno, horizon: Horizon) {
        self.prefetch_lines(pgno, horizon, self.page_size / LINE);
    }

    #[inline]
    fn prefetch_lines(&self, pgno: Pgno, horizon: Horizon, lines: usize) {
        if let Ok(bytes) = self.raw(pgno, 1, horizon) {
            for line in 0..lines {
                prefetch(bytes, line * LINE);
            }
        }
    }

    #[cold]
    fn verify(&self, pgno: Pgno, bytes: &[u8], horizon: Horizon) -> Result<()> {
        page::verify(bytes, pgno, self.file_id).map_err(|d| d.at(pgno))?;
        let birth = page::birth(bytes);
        if birth > horizon.txnid {
            return Err(Damage("a page written after the snapshot that holds it").at(pgno));
        }
        self.verified.set(pgno, tag_of(birth));
        Ok(())
    }

    /// A whole run of overflow or space pages, header first, whose payload is `bytes` long if that is given.
    pub(crate) fn run(&self, pgno: Pgno, kind: Kind, bytes: Option<u32>, horizon: Horizon) -> Result<&[u8]> {
        let run = self.unverified_run(pgno, kind, bytes, horizon)?;
        if !self.is_verified(pgno, run, horizon) {
            self.verify(pgno, run, horizon)?;
        }
        Ok(run)
    }

    /// As [`Pager::run`], by what its header says alone.
    fn unverified_run(&self, pgno: Pgno, kind: Kind, bytes: Option<u32>, horizon: Horizon) -> Result<&[u8]> {
        let first = self.raw(pgno, 1, horizon)?;
        if let Some(bytes) = bytes {
            self.ask_for_run(Extent::new(pgno, overflow::pages_for(bytes as usize, self.page_size) as u64));
        }
        let len = page::payload(first);
        let damaged = |what| Err(Damage(what).at(pgno));
        if page::kind(first) != Some(kind) {
            return damaged("not the kind of page that the pointer to it says");
        }
        if bytes.is_some_and(|bytes| bytes != len) {
            return damaged("a value of another length than its key says");
        }
        let (needed, pages) = (overflow::pages_for(len as usize, self.page_size) as u64, u64::from(page::run(first)));
        // A run of the space log is taken before its length is known to the byte.
        if pages < needed || pages > needed && kind != Kind::Space {
            return damaged("a run of pages of the wrong length");
        }
        self.raw(pgno, pages, horizon)
    }

    /// The value that a stub of the file stands for.
    pub(crate) fn value(&self, stub: Stub, horizon: Horizon) -> Result<&[u8]> {
        if self.is_at_hand(stub) {
            return self.value_as_it_is(stub, horizon);
        }
        let pgno = stub.child.pgno();
        let run = self.run(pgno, Kind::Overflow, Some(stub.bytes), horizon)?;
        check_birth(stub, run)?;
        overflow::open(run).map_err(|damage| damage.at(pgno))
    }

    /// Verifies a large value again, whatever is remembered of it.
    pub(crate) fn verify_value_again(&self, stub: Stub, horizon: Horizon) -> Result<()> {
        let pgno = stub.child.pgno();
        let run = self.unverified_run(pgno, Kind::Overflow, Some(stub.bytes), horizon)?;
        check_birth(stub, run)?;
        self.verify(pgno, run, horizon)
    }

    /// As [`Pager::value`], but nothing of it is looked at.
    #[inline]
    pub(crate) fn value_as_it_is(&self, stub: Stub, horizon: Horizon) -> Result<&[u8]> {
        let run = self.raw(stub.child.pgno(), stub.pages(self.page_size), horizon)?;
        Ok(&run[RUN_HEADER..RUN_HEADER + stub.bytes as usize])
    }

    /// Whether a value has been verified and is likely to be in memory: there is then no need to look at it again, nor to
    /// ask for it.
    #[inline]
    pub(crate) fn is_at_hand(&self, stub: Stub) -> bool {
        !self.advice.is_tight() && self.is_known(stub)
    }

    /// Whether a value has been verified.
    #[inline]
    fn is_known(&self, stub: Stub) -> bool {
        stub.birth != 0 && self.verified.is(stub.child.pgno(), tag_of_low(stub.birth))
    }

    /// Whether a value has been verified, and seems to be in memory as those before it.
    pub(crate) fn seems_at_hand(&self, stub: Stub) -> bool {
        self.is_known(stub) && self.advice.takes_for_there()
    }

    /// Says whether a value was found in memory.
    pub(crate) fn found_there(&self, there: bool) {
        self.advice.found_there(there);
    }

    /// Whether a page of the file is in memory, by what the system says.
    pub(crate) fn is_in_memory(&self, page: Pgno) -> bool {
        self.map.is_in_memory(page.0 << self.shift)
    }

    /// Asks for a run of several pages whose bytes will all be read, where that may be worth it.
    fn ask_for_run(&self, run: Extent) {
        let (advice, unread) = (&self.advice, run.pages > 1 && !self.verified.is_any(run.start));
        // Where there is memory the kernel reads ahead by itself, if not as far as a long run goes.
        let may_be_missing = if advice.is_tight() { run.pages > 1 } else { unread && run.pages >= LONG_RUN };
        if may_be_missing && (advice.run_pays(unread) || advice.watch(run.pages).is_some()) {
            advice.ask_run(run, unread);
        }
    }

    /// Says that nothing in the page can surprise: this writer wrote it itself, or has looked at all of it.
    pub(crate) fn trust(&self, pgno: Pgno, birth: Txnid) {
        self.verified.set_valid(pgno, tag_of(birth));
    }

    /// Whether that was said of the page.
    pub(crate) fn is_valid(&self, pgno: Pgno, birth: Txnid) -> bool {
        self.verified.is_valid(pgno, tag_of(birth))
    }

    /// Verifies a page or run again, whatever is remembered of it; its bytes.
    pub(crate) fn verify_again(&self, pgno: Pgno, pages: u64, horizon: Horizon) -> Result<&[u8]> {
        let bytes = self.raw(pgno, pages, horizon)?;
        self.ask_for_run(Extent::new(pgno, pages));
        self.verify(pgno, bytes, horizon)?;
        Ok(bytes)
    }
}

/// Refuses a run that was written by another transaction than the stub is of.
fn check_birth(stub: Stub, run: &[u8]) -> Result<()> {
    match stub.may_be_born(page::birth(run)) {
        true => Ok(()),
        false => Err(Damage("a value of another birth than its key says").at(stub.child.pgno())),
    }
}

#[cold]
fn out_of_file(pgno: Pgno) -> Error {
    Damage("a pointer to a page outside the file").at(pgno)
}

#[cold]
fn out_of_reach() -> Error {
    Error::Usage {
        what: "the file is larger than the address space reserved for it: close the database and open it again",
    }
}
