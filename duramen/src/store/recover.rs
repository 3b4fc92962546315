//! Choosing the snapshot to open with: the newest commit that the disk can prove.
//!
//! Owns: the choice among the meta slots, the proof. Must not know: how a commit is written.

use std::path::Path;

use crate::error::{Error, Result};
use crate::format::meta::{Meta, SLOT_BYTES, SLOTS, Unusable, VERSION};
use crate::format::page::{self, Child, Kind};
use crate::ids::{Pgno, Txnid};
use crate::pager::{Horizon, Pager};
use crate::store::space_log;
use crate::tree::walk::{Place, Visitor, walk};
use crate::tree::{Pages, Tree};

/// The usable meta slots of a file, newest first.
pub(crate) fn decode_slots(head: &[u8], path: &Path) -> Result<Vec<(usize, Meta)>> {
    let mut usable: Vec<(usize, Meta)> = Vec::new();
    let mut worst = None;
    for slot in 0..SLOTS {
        let bytes = head.get(slot * SLOT_BYTES..).unwrap_or(&[]);
        match Meta::decode(bytes) {
            Ok(meta) => usable.push((slot, meta)),
            Err(Unusable::Newer(found, features)) => {
                return Err(Error::TooNew { path: path.into(), found, supported: VERSION, features });
            }
            Err(Unusable::Damaged(damage)) => worst = Some(damage),
            Err(Unusable::Foreign) => {}
        }
    }
    usable.sort_by_key(|(_, meta)| std::cmp::Reverse(meta.sequence));
    let Some((_, newest)) = usable.first().cloned() else {
        return Err(match worst {
            Some(damage) => damage.at(Pgno(0)),
            None => Error::NotADatabase { path: path.into(), what: what_it_is(head) },
        });
    };
    usable.retain(|(_, meta)| meta.file_id == newest.file_id && meta.page_size == newest.page_size);
    Ok(usable)
}

/// Whether a file without a usable slot is one whose creation was interrupted: nothing but blank sectors and pieces
/// of the first meta pages, no longer than the slots. It cannot have held a commit, which would have left three slots
/// alone; if those were cut off, the one that is left says that there was one.
pub(crate) fn is_unborn(head: &[u8], file_bytes: u64) -> bool {
    file_bytes <= crate::format::meta::HEAD_BYTES
        && (0..SLOTS).all(|slot| {
            let bytes = head.get(slot * SLOT_BYTES..).unwrap_or(&[]);
            let bytes = &bytes[..bytes.len().min(SLOT_BYTES)];
            let blank = bytes.iter().take(512).all(|&b| b == 0);
            blank || (Meta::is_first(bytes) && matches!(Meta::decode(bytes), Err(Unusable::Damaged(_))))
        })
}

/// Tells apart what people take for a database.
fn what_it_is(head: &[u8]) -> &'static str {
    const LMDB_MAGIC: [u8; 4] = 0xBEEF_C0DEu32.to_le_bytes();
    if head.get(16..20) == Some(&LMDB_MAGIC) || head.get(24..28) == Some(&LMDB_MAGIC) {
        "it is an LMDB file; convert it with `mdb_dump -a FILE | duramen load NEW`"
    } else if head.is_empty() {
        "it is empty"
    } else if head.starts_with(b"SQLite format 3") {
        "it is an SQLite file"
    } else if head.iter().all(|&b| b == 0) {
        "it holds only zeros"
    } else {
        "its first bytes are another program's"
    }
}

/// The outcome of the choice.
pub(crate) struct Chosen {
    pub slot: usize,
    pub meta: Meta,
    /// It is certain that the commit has been flushed.
    pub durable: bool,
    /// A newer commit did not reach the disk whole; its slot and sequence number.
    pub rejected: Option<(usize, u64)>,
}

/// The newest commit that proves itself, else the durable one that it was built on.
pub(crate) fn choose(pager: &Pager, file_bytes: u64, usable: Vec<(usize, Meta)>, path: &Path) -> Result<Chosen> {
    let mut candidates = usable.into_iter();
    let (slot, meta) = candidates.next().expect("at least one usable slot");
    if meta.is_proven() {
        check_length(&meta, file_bytes, path)?;
        return Ok(Chosen { slot, meta, durable: true, rejected: None });
    }
    let failed = match prove(pager, &meta, file_bytes) {
        Ok(()) => return Ok(Chosen { slot, meta, durable: false, rejected: None }),
        Err(error) => error,
    };
    tracing::info!(txnid = meta.txnid.0, reason = %failed, "the newest commit did not reach the disk whole");
    let rejected = Some((slot, meta.sequence));
    let base = meta.proof_base;
    let (slot, meta) = candidates.find(|(_, older)| older.txnid == base).ok_or(failed)?;
    check_length(&meta, file_bytes, path)?;
    Ok(Chosen { slot, meta, durable: true, rejected })
}

fn check_length(meta: &Meta, found: u64, path: &Path) -> Result<()> {
    let needed = needed_bytes(meta);
    if found < needed { Err(Error::Truncated { path: path.into(), found, needed }) } else { Ok(()) }
}

fn needed_bytes(meta: &Meta) -> u64 {
    meta.page_count * u64::from(meta.page_size)
}

/// Verifies every page that the commit wrote and compares the sum of their checksums with the meta page's.
fn prove(pager: &Pager, meta: &Meta, file_bytes: u64) -> Result<()> {
    if file_bytes < needed_bytes(meta) {
        return Err(crate::error::Damage("the file ends before the commit's pages").at(Pgno(file_bytes >> 12)));
    }
    let horizon = Horizon { txnid: meta.txnid, page_count: meta.page_count };
    let mut prover = Prover { pager, horizon, base: meta.proof_base, sum: 0, pages: 0 };
    prove_trees(&mut prover, &meta.catalog)?;
    space_log::walk(pager, horizon, meta.space.head, |extent, _| {
        let bytes = pager.verify_again(extent.start, extent.pages, horizon)?;
        Ok(prover.count(bytes, extent.pages))
    })?;
    if prover.sum != meta.proof_sum || prover.pages != meta.proof_pages {
        return Err(crate::error::Damage("a commit whose pages are not all there").at(Pgno(0)));
    }
    Ok(())
}

fn prove_trees(prover: &mut Prover<'_>, catalog: &Tree) -> Result<()> {
    let pages = Unverified { pager: prover.pager, horizon: prover.horizon };
    walk(&pages, catalog, Place::Catalog, prover)
}

/// Sums up what was born after `base`.
struct Prover<'p> {
    pager: &'p Pager,
    horizon: Horizon,
    base: Txnid,
    sum: u64,
    pages: u64,
}

impl Prover<'_> {
    /// Counts a page or run if it is new.
    fn count(&mut self, bytes: &[u8], pages: u64) -> bool {
        if page::birth(bytes) <= self.base {
            return false;
        }
        self.sum = self.sum.wrapping_add(page::checksum(bytes));
        self.pages += pages;
        true
    }
}

impl Visitor for Prover<'_> {
    fn page(&mut self, child: Child, _level: u8) -> Result<bool> {
        let bytes = self.pager.header(child.pgno(), self.horizon)?;
        if page::birth(bytes) <= self.base {
            return Ok(false);
        }
        let bytes = self.pager.verify_again(child.pgno(), 1, self.horizon)?;
        Ok(self.count(bytes, 1))
    }

    fn run(&mut self, run: Child, bytes: u32) -> Result<()> {
        let header = self.pager.header(run.pgno(), self.horizon)?;
        if page::birth(header) > self.base {
            let run = self.pager.run(run.pgno(), Kind::Overflow, Some(bytes), self.horizon)?;
            let pages = run.len() / self.pager.page_size;
            self.count(run, pages as u64);
        }
        Ok(())
    }
}

/// Pages as they are: the prover verifies what it counts, and goes below nothing else.
struct Unverified<'p> {
    pager: &'p Pager,
    horizon: Horizon,
}

impl Pages for Unverified<'_> {
    fn page_size(&self) -> usize {
        self.pager.page_size
    }

    fn page(&self, child: Child) -> Result<&[u8]> {
        self.pager.header(child.pgno(), self.horizon)
    }

    fn run(&self, child: Child, bytes: u32) -> Result<&[u8]> {
        self.pager.run(child.pgno(), Kind::Overflow, Some(bytes), self.horizon)
    }
}
