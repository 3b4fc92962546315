//! The free space on disk: a log whose newest records stand in the meta page.
//!
//! Owns: the chain of log runs, and bringing a writer's [`Space`] up to a commit. Must not know: how pages are chosen.
//!
//! A commit adds one delta. Deltas gather in the meta page's tail; when that is full they move to a run of pages that
//! points to the run before. When the chain has grown longer than what it describes, all of the free space (the *base*)
//! starts it anew. So a commit's cost does not depend on how much is free. Some deltas that the base knows stay in the
//! tail: those who take turns writing go on by them, and need not read the base.
//!
//! What one commit adds to the chain is cut into as many runs as there are free extents to take it, so that it never needs
//! a long one. The records of all runs, oldest first, are to be read as if they stood one behind the other.
//!
//! Payload of a run: previous run (u64, 0 = none), whether a base begins in it (u64, 1 or 0), then the records.

use crate::error::{Damage, Result};
use crate::format::meta::Meta;
use crate::format::page::{self, Kind, RUN_HEADER};
use crate::ids::{Extent, Pgno, Txnid};
use crate::pager::{Horizon, Pager};
use crate::space::Space;
use crate::space::base::decode_base;
use crate::space::log::{Delta, Replay};
use crate::width::to_usize;

/// Bytes before the records in a run's payload.
const LINK_BYTES: usize = 16;
/// What noting a run among the pages taken adds to the records, at most.
const NOTE_BYTES: usize = 16;

/// So many pages have room for the records, in however many runs they are.
pub(crate) fn pages_for(records_bytes: usize, page_size: usize) -> u64 {
    (records_bytes + NOTE_BYTES).div_ceil(page_size - RUN_HEADER - LINK_BYTES - NOTE_BYTES) as u64
}

/// Cuts records into the payloads of runs at these places, the first of which comes after the run `prev`.
pub(crate) fn payloads(
    places: &[Extent],
    mut prev: Pgno,
    is_base: bool,
    mut records: &[u8],
    page_size: usize,
) -> Vec<Vec<u8>> {
    let mut payloads = Vec::with_capacity(places.len());
    for place in places {
        let room = to_usize(place.pages) * page_size - RUN_HEADER - LINK_BYTES;
        let part = records.split_off(..room.min(records.len())).expect("no more than there is");
        let begins_base = u64::from(is_base && payloads.is_empty());
        payloads.push([&prev.0.to_le_bytes(), &begins_base.to_le_bytes(), part].concat());
        prev = place.start;
    }
    assert!(records.is_empty(), "{} bytes of the space log without a place", records.len());
    payloads
}

struct Run<'p> {
    extent: Extent,
    birth: Txnid,
    prev: Pgno,
    begins_base: bool,
    records: &'p [u8],
}

fn read_run(pager: &Pager, horizon: Horizon, at: Pgno) -> Result<Run<'_>> {
    let bytes = pager.run(at, Kind::Space, None, horizon)?;
    let payload = &bytes[RUN_HEADER..RUN_HEADER + page::payload(bytes) as usize];
    let word = |i: usize| payload.get(i * 8..i * 8 + 8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")));
    let (Some(prev), Some(begins_base @ 0..=1)) = (word(0), word(1)) else {
        return Err(Damage("a run of the space log without a link").at(at));
    };
    Ok(Run {
        extent: Extent::new(at, (bytes.len() / pager.page_size) as u64),
        birth: page::birth(bytes),
        prev: Pgno(prev),
        begins_base: begins_base == 1,
        records: &payload[LINK_BYTES..],
    })
}

/// Visits the runs of the chain, newest first, until the visitor says false.
pub(crate) fn walk(
    pager: &Pager,
    horizon: Horizon,
    head: Pgno,
    mut visit: impl FnMut(Extent, Txnid) -> Result<bool>,
) -> Result<()> {
    let (mut at, mut pages) = (head, 0);
    let mut last_birth = Txnid(u64::MAX);
    while at.0 != 0 {
        let run = read_run(pager, horizon, at)?;
        pages += run.extent.pages;
        if run.birth > last_birth || pages > horizon.page_count {
            return Err(Damage("a chain of the space log that goes round").at(at));
        }
        last_birth = run.birth;
        if !visit(run.extent, run.birth)? {
            break;
        }
        at = run.prev;
    }
    Ok(())
}

/// The records of runs that follow each other in the chain, oldest first, and whether a base is the first of them.
fn read(pager: &Pager, horizon: Horizon, runs: &[(Extent, Txnid)]) -> Result<(bool, Vec<u8>)> {
    let (mut begins_base, mut records) = (false, Vec::new());
    for (i, (extent, _)) in runs.iter().enumerate() {
        let run = read_run(pager, horizon, extent.start)?;
        if run.begins_base && i > 0 {
            return Err(Damage("a base amid the chain of the space log").at(extent.start));
        }
        begins_base |= run.begins_base;
        records.extend_from_slice(run.records);
    }
    Ok((begins_base, records))
}

/// Lowest txnid whose delta is in a tail; nothing if there is none.
pub(crate) fn first_txnid(mut tail: &[u8]) -> Option<Txnid> {
    Delta::decode(&mut tail).ok().map(|delta| delta.txnid)
}

/// The newest deltas of a tail that take no more than so many bytes.
pub(crate) fn newest_of(tail: &[u8], bytes_max: usize) -> Result<&[u8]> {
    let mut rest = tail;
    while rest.len() > bytes_max {
        Delta::decode(&mut rest).map_err(|d| d.at(Pgno(0)))?;
    }
    Ok(rest)
}

/// What a writer knows of the free space, and of the log that says so.
pub(crate) struct Ledger {
    pub space: Space,
    /// The commit that it describes.
    pub txnid: Txnid,
    /// The runs of the log and their births, oldest first.
    pub chain: Vec<(Extent, Txnid)>,
    /// How much of the meta page's tail it knows.
    tail_read: usize,
    /// Entries of the log that [`Ledger::load`] read and that are no free extents of a base: what came after the base,
    /// and what was retired in it.
    pub detours: u64,
}

impl Ledger {
    /// Reads the free space of a commit.
    pub(crate) fn load(pager: &Pager, meta: &Meta) -> Result<Ledger> {
        let horizon = Horizon { txnid: meta.txnid, page_count: meta.page_count };
        let mut ledger = Ledger { space: Space::new(), txnid: Txnid(0), chain: Vec::new(), tail_read: 0, detours: 0 };
        ledger.space.set_limit(Some(meta.page_count));
        walk(pager, horizon, meta.space.head, |extent, birth| {
            ledger.chain.push((extent, birth));
            Ok(true)
        })?;
        ledger.chain.reverse();
        let (begins_base, records) = read(pager, horizon, &ledger.chain)?;
        let mut deltas = &records[..];
        if begins_base {
            ledger.space = decode_base(&mut deltas, meta.page_count).map_err(|d| d.at(meta.space.head))?;
            ledger.txnid = ledger.chain[0].1;
        }
        ledger.detours = ledger.space.retired_parts();
        ledger.space.index(meta.page_count);
        ledger.detours += ledger.replay(meta, deltas, &meta.tail)?;
        ledger.finish(pager, meta)?;
        Ok(ledger)
    }

    /// Brings the ledger from an older commit to this one by reading only what is new; reads all if it must.
    pub(crate) fn catch_up(&mut self, pager: &Pager, meta: &Meta) -> Result<()> {
        if self.txnid == meta.txnid {
            return Ok(());
        }
        let horizon = Horizon { txnid: meta.txnid, page_count: meta.page_count };
        let mut fresh = Vec::new();
        // A chain begun anew may have put another run where the known one was: its birth tells.
        let mut joined = meta.space.head.0 == 0 && self.chain.is_empty();
        walk(pager, horizon, meta.space.head, |extent, birth| {
            joined = self.chain.last() == Some(&(extent, birth));
            if !joined {
                fresh.push((extent, birth));
            }
            Ok(!joined)
        })?;
        fresh.reverse();
        let mut deltas = Vec::new();
        let mut unread = &meta.tail[..];
        if joined && fresh.is_empty() {
            unread = unread.get(self.tail_read..).ok_or(Damage("the tail of the space log was cut").at(Pgno(0)))?;
        } else if joined {
            let (begins_base, records) = read(pager, horizon, &fresh)?;
            if begins_base {
                return Err(Damage("a base amid the chain of the space log").at(fresh[0].0.start));
            }
            deltas = records;
        } else if first_txnid(unread).is_some_and(|first| first.0 <= self.txnid.0 + 1) {
            self.chain.clear();
        } else {
            *self = Ledger::load(pager, meta)?;
            return Ok(());
        }
        self.chain.extend(fresh);
        self.space.set_limit(Some(meta.page_count));
        // For what grew since.
        self.space.index(meta.page_count);
        self.replay(meta, &deltas, unread)?;
        self.finish(pager, meta)
    }

    /// Notes that the writer's commit, whose meta page this is, is what the ledger describes.
    pub(crate) fn is_of(&mut self, meta: &Meta) {
        (self.txnid, self.tail_read) = (meta.txnid, meta.tail.len());
    }

    fn finish(&mut self, pager: &Pager, meta: &Meta) -> Result<()> {
        self.is_of(meta);
        let first = Pgno(pager.first_page());
        self.space.check_within(first, Pgno(meta.page_count)).map_err(|d| d.at(Pgno(0)))?;
        self.space.set_limit(None);
        Ok(())
    }

    /// Applies the deltas of the chain, and of the meta page's tail, that are newer than the ledger. How many entries they
    /// have.
    fn replay(&mut self, meta: &Meta, deltas: &[u8], tail: &[u8]) -> Result<u64> {
        let (mut replay, mut entries) = (Replay::new(&mut self.space), 0);
        for (at, records) in [(meta.space.head, deltas), (Pgno(0), tail)] {
            let mut rest = records;
            while !rest.is_empty() {
                let delta = Delta::decode(&mut rest).map_err(|d| d.at(at))?;
                if delta.txnid > meta.txnid {
                    return Err(Damage("the space log has changes that no commit has made").at(at));
                }
                if delta.txnid > self.txnid {
                    replay.apply(&delta).map_err(|d| d.at(at))?;
                    entries += delta.entries();
                    self.txnid = delta.txnid;
                }
            }
        }
        replay.finish().map_err(|d| d.at(Pgno(0)))?;
        Ok(entries)
    }
}
