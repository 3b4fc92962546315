//! Choosing the snapshot to open with: the newest commit that the disk can prove.
//!
//! Owns: the choice among the meta slots, the proof, making certain what was chosen. Must not know: how a commit is written.

use std::path::Path;

use crate::error::{Damage, Error, Result};
use crate::format::meta::{self, HEAD_BYTES, Meta, SLOT_BYTES, SLOTS, Unusable, VERSION};
use crate::format::overflow::Stub;
use crate::format::page::{self, Child};
use crate::ids::{Extent, Pgno, Txnid};
use crate::medium::Medium;
use crate::pager::{Horizon, Pager};
use crate::readers::Published;
use crate::store::meta_slots::{write_meta, write_proven};
use crate::store::published::{Unpacked, published};
use crate::store::space_log;
use crate::tree::walk::{Place, Visitor, walk};
use crate::tree::{Pages, Tree};

/// What a file is opened for: some files may be read but not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Read,
    Write,
}

impl Purpose {
    fn decode(self, slot: &[u8]) -> std::result::Result<Meta, Unusable> {
        if self == Purpose::Write { Meta::decode_to_write(slot) } else { Meta::decode(slot) }
    }
}

fn other_version(path: &Path, found: u32, features: u32) -> Error {
    Error::OtherVersion { path: path.into(), found, supported: VERSION, features }
}

/// The meta page of the newest commit, for the writer who goes on from it.
pub(crate) fn decode_newest(slot: &[u8; SLOT_BYTES], newest: Txnid, path: &Path) -> Result<Meta> {
    match Meta::decode_to_write(slot) {
        Ok(meta) if meta.txnid == newest => Ok(meta),
        Err(Unusable::OtherVersion(found, features)) => Err(other_version(path, found, features)),
        _ => Err(NOT_THERE.at(Pgno(0))),
    }
}

pub(super) const NOT_THERE: Damage = Damage("the meta page of the newest commit is not there");

/// The usable meta slots of a file, newest first.
pub(crate) fn decode_slots(head: &[u8], path: &Path, to: Purpose) -> Result<Vec<(usize, Meta)>> {
    let mut usable: Vec<(usize, Meta)> = Vec::new();
    let mut worst = None;
    for slot in 0..SLOTS {
        let bytes = head.get(slot * SLOT_BYTES..).unwrap_or(&[]);
        match to.decode(bytes) {
            Ok(meta) => {
                let newer = |(_, other): &(usize, Meta)| other.age() >= meta.age();
                usable.insert(usable.partition_point(newer), (slot, meta));
            }
            Err(Unusable::OtherVersion(found, features)) => return Err(other_version(path, found, features)),
            Err(Unusable::PerhapsOtherVersion(found, features)) => worst = Some(other_version(path, found, features)),
            // What may be newer says more than what is damaged.
            Err(Unusable::Damaged(damage)) => worst = worst.or(Some(damage.at(Pgno(0)))),
            Err(Unusable::Foreign) => {}
        }
    }
    let Some((_, newest)) = usable.first().cloned() else {
        return Err(worst.unwrap_or_else(|| Error::NotADatabase { path: path.into(), what: what_it_is(head) }));
    };
    usable.retain(|(_, meta)| meta.file_id == newest.file_id && meta.page_size == newest.page_size);
    Ok(usable)
}

/// The slots at the start of a file that are whole, whatever they are good for.
pub(crate) fn whole_slots(head: &[u8]) -> impl Iterator<Item = (usize, Meta)> {
    (0..SLOTS).filter_map(|slot| Some((slot, Meta::decode(head.get(slot * SLOT_BYTES..)?).ok()?)))
}

/// The commit that was published last, if a file of this length that begins like this holds it, and nothing newer but, if a
/// writer died in its transaction, the commit of that one.
pub(crate) fn as_published(head: &[u8], file_bytes: u64, newest: &Published, unsettled: bool) -> Option<Meta> {
    let known = Unpacked::of(newest);
    let (_, found) = whole_slots(head).find(|(slot, _)| *slot == known.slot)?;
    let same = published(&found, known.slot, known.durable_slot, known.mark) == *newest;
    let older = |meta: &Meta| meta.sequence < found.sequence;
    // One commit on its way to the disk, and one that was made on top of it.
    let next = |meta: &Meta| (1..=2).any(|n| meta.sequence == found.sequence + n && meta.txnid.0 == found.txnid.0 + n);
    let whole = needed_bytes(&found) <= file_bytes;
    let alone = || whole_slots(head).all(|(slot, meta)| slot == known.slot || older(&meta) || unsettled && next(&meta));
    (same && whole && alone()).then_some(found)
}

/// Whether the creation of the file was interrupted: it has no usable slot, nothing but blank sectors and pieces of
/// meta pages, and is no longer than the slots (a file that held a commit has three slots which that left alone); or
/// it has usable ones but ends before the last of them, and none knows of a commit.
pub(crate) fn is_unborn(head: &[u8], file_bytes: u64, usable: &Result<Vec<(usize, Meta)>>) -> bool {
    if let Ok(usable) = usable {
        return file_bytes < HEAD_BYTES && usable.iter().all(|(_, meta)| meta.txnid == Txnid(0));
    }
    file_bytes <= HEAD_BYTES
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
        "it is an LMDB file; `duramen load NEW FILE` makes a database of it"
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
    /// Its pages that were written since the last flush that is known of.
    pub unflushed: Vec<Extent>,
    /// A newer commit did not reach the disk whole; its slot and sequence number.
    pub rejected: Option<(usize, u64)>,
}

/// The newest commit that proves itself, or that somebody vouches for; else the durable one that those were built on.
pub(crate) fn choose(
    pager: &Pager,
    file_bytes: u64,
    usable: &[(usize, Meta)],
    vouched: Option<Txnid>,
    path: &Path,
) -> Result<Chosen> {
    let (newest, older) = usable.split_first().ok_or_else(|| NOT_THERE.at(Pgno(0)))?;
    let (slot, meta) = newest.clone();
    if meta.is_proven() || vouched == Some(meta.txnid) {
        check_length(&meta, file_bytes, path)?;
        return Ok(Chosen { slot, meta, unflushed: Vec::new(), rejected: None });
    }
    let failed = match prove(pager, &meta, file_bytes) {
        Ok(unflushed) => return Ok(Chosen { slot, meta, unflushed, rejected: None }),
        Err(error) => error,
    };
    tracing::info!(txnid = meta.txnid.0, reason = %failed, "the newest commit did not reach the disk whole");
    let rejected = Some((slot, meta.sequence));
    let base = meta.proof.base;
    for (slot, meta) in older.iter().cloned() {
        if meta.txnid == base {
            check_length(&meta, file_bytes, path)?;
            return Ok(Chosen { slot, meta, unflushed: Vec::new(), rejected });
        }
        // One in between is whole if somebody flushed the data file while newer ones were being made. If these were to be
        // proven from it, and none of them is on disk, the base may be there no more.
        if meta.txnid > base
            && let Ok(unflushed) = prove(pager, &meta, file_bytes)
        {
            return Ok(Chosen { slot, meta, unflushed, rejected });
        }
    }
    Err(failed)
}

/// Makes sure that what was chosen is on disk, and that what was rejected is not found again.
///
/// It was found in the page cache, which does not tell whether a flush of it once failed, so that the disk may never get
/// it: it has been written again ([`write_again`]). Of a commit that needs no proof that is the meta page. The pages were
/// flushed before that.
pub(crate) fn secure(chosen: &mut Chosen, medium: &dyn Medium) -> Result<()> {
    if let Some((slot, sequence)) = chosen.rejected {
        let sequence = Meta::sequence_after(sequence)?;
        medium.flush().map_err(Error::io("flush the recovered commit"))?;
        chosen.meta.sequence = sequence;
        chosen.slot = slot;
        return write_proven(medium, &mut chosen.meta, slot).map_err(Error::io("write the meta page"));
    }
    let written = write_meta(medium, &chosen.meta, chosen.slot, &mut Vec::new());
    match written.map_err(Error::io("write the meta page")) {
        // Some filesystems put even what is there already elsewhere. To read there has to be no room.
        Err(error) if chosen.meta.is_proven() && error.is_disk_full() => {
            tracing::warn!(%error, "the newest meta page could not be written again");
        }
        written => written?,
    }
    medium.flush().map_err(Error::io("flush the recovered commit"))
}

/// Most pages written at once.
const PIECE: u64 = 256;

/// Writes the pages of what was chosen that may not be on disk, as they are there: a failure harms nothing.
pub(crate) fn write_again(chosen: &mut Chosen, pager: &Pager, medium: &dyn Medium) -> Result<()> {
    let horizon = Horizon { txnid: chosen.meta.txnid, page_count: chosen.meta.page_count };
    let mut pages = std::mem::take(&mut chosen.unflushed);
    pages.sort_unstable();
    for run in pages.chunk_by(|a, b| a.end() == b.start) {
        let (mut at, end) = (run[0].start, run[run.len() - 1].end());
        while at < end {
            let piece = Extent::new(at, PIECE.min(end.0 - at.0));
            let bytes = pager.unverified(piece, horizon)?.to_vec();
            medium
                .write_at(at.0 * pager.page_size as u64, &[std::io::IoSlice::new(&bytes)])
                .map_err(Error::io("write the recovered commit"))?;
            at = piece.end();
        }
    }
    Ok(())
}

fn check_length(meta: &Meta, found: u64, path: &Path) -> Result<()> {
    let needed = needed_bytes(meta);
    if found < needed { Err(Error::Truncated { path: path.into(), found, needed }) } else { Ok(()) }
}

fn needed_bytes(meta: &Meta) -> u64 {
    meta::bytes_needed(meta.page_count, meta.page_size as usize)
}

/// Verifies every page that the commit wrote and compares the sum of their checksums with the meta page's. Those pages.
fn prove(pager: &Pager, meta: &Meta, file_bytes: u64) -> Result<Vec<Extent>> {
    if file_bytes < needed_bytes(meta) {
        return Err(Damage("the file ends before the commit's pages").at(Pgno(file_bytes >> 12)));
    }
    let horizon = Horizon { txnid: meta.txnid, page_count: meta.page_count };
    let mut prover = Prover { pager, horizon, base: meta.proof.base, sum: 0, pages: 0, found: Vec::new() };
    prove_trees(&mut prover, &meta.catalog)?;
    space_log::walk(pager, horizon, meta.space.head, |extent, _| {
        let bytes = pager.verify_again(extent.start, extent.pages, horizon)?;
        prover.count(bytes, extent.pages)
    })?;
    if prover.sum != meta.proof.sum || prover.pages != meta.proof.pages {
        return Err(Damage("a commit whose pages are not all there").at(Pgno(0)));
    }
    Ok(prover.found)
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
    found: Vec<Extent>,
}

impl Prover<'_> {
    /// Counts a page or run if it is new. There cannot be more of them than the file has: ways that meet again and again
    /// are too many to be gone.
    fn count(&mut self, bytes: &[u8], pages: u64) -> Result<bool> {
        if page::birth(bytes) <= self.base {
            return Ok(false);
        }
        self.sum = self.sum.wrapping_add(page::checksum(bytes));
        self.pages += pages;
        if self.pages > self.horizon.page_count {
            return Err(Damage("a commit of more pages than there are").at(page::pgno(bytes)));
        }
        self.found.push(Extent::new(page::pgno(bytes), pages));
        Ok(true)
    }
}

impl Visitor for Prover<'_> {
    fn page(&mut self, child: Child, _level: u8) -> Result<bool> {
        let bytes = self.pager.unverified_page(child.pgno(), self.horizon)?;
        if page::birth(bytes) <= self.base {
            return Ok(false);
        }
        let bytes = self.pager.verify_again(child.pgno(), 1, self.horizon)?;
        self.count(bytes, 1)
    }

    fn value(&mut self, stub: Stub) -> Result<()> {
        let pgno = stub.child.pgno();
        let header = self.pager.unverified_page(pgno, self.horizon)?;
        if page::birth(header) > self.base {
            // Whatever is remembered of it: what was not written may have been forgotten since.
            self.pager.verify_value_again(stub, self.horizon)?;
            let pages = stub.pages(self.pager.page_size);
            let run = self.pager.unverified(Extent::new(pgno, pages), self.horizon)?;
            self.count(run, pages)?;
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

    fn page_count(&self) -> u64 {
        self.horizon.page_count
    }

    fn page(&self, child: Child) -> Result<&[u8]> {
        self.pager.unverified_page(child.pgno(), self.horizon)
    }

    fn value(&self, stub: Stub) -> Result<&[u8]> {
        self.pager.value(stub, self.horizon)
    }
}

#[cfg(test)]
mod tests;
