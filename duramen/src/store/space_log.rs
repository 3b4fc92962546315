//! The free space on disk: a log whose newest records stand in the meta page.
//!
//! Owns: the chain of log runs, and bringing a writer's [`Space`] up to a commit. Must not know: how pages are chosen.
//!
//! A commit adds one delta. Deltas gather in the meta page's tail; when that is full they move to a run of pages that
//! points to the run before. When the chain has grown longer than what it describes, a run with all of the free space
//! (the *base*) starts it anew. So a commit's cost does not depend on how much is free. Some deltas that the base knows
//! stay in the tail: those who take turns writing go on by them, and need not read the base.
//!
//! Payload of a run: previous run (u64, 0 = none), lowest txnid of its deltas (u64, 0 = a base), then the records.

use crate::error::{Damage, Result};
use crate::format::meta::Meta;
use crate::format::overflow;
use crate::format::page::{self, HEADER, Kind};
use crate::ids::{Extent, Pgno, Txnid};
use crate::pager::{Horizon, Pager};
use crate::space::Space;
use crate::space::log::{Delta, Replay, decode_base};

/// Bytes before the records in a run's payload.
const LINK_BYTES: usize = 16;

/// Builds the payload of a run. `first` is the lowest txnid of its deltas, or 0 for a base.
pub(crate) fn payload(prev: Pgno, first: Txnid, records: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(LINK_BYTES + records.len());
    out.extend_from_slice(&prev.0.to_le_bytes());
    out.extend_from_slice(&first.0.to_le_bytes());
    out.extend_from_slice(records);
    out
}

/// Pages of a run whose records are this long.
pub(crate) fn run_pages(records_bytes: usize, page_size: usize) -> u64 {
    overflow::pages_for(LINK_BYTES + records_bytes, page_size) as u64
}

struct Run<'p> {
    extent: Extent,
    birth: Txnid,
    prev: Pgno,
    first: Txnid,
    records: &'p [u8],
}

fn read_run(pager: &Pager, horizon: Horizon, at: Pgno) -> Result<Run<'_>> {
    let bytes = pager.run(at, Kind::Space, None, horizon)?;
    let payload = &bytes[HEADER..HEADER + page::payload(bytes) as usize];
    let word = |i: usize| payload.get(i * 8..i * 8 + 8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")));
    let (Some(prev), Some(first)) = (word(0), word(1)) else {
        return Err(Damage("a run of the space log without a link").at(at));
    };
    Ok(Run {
        extent: Extent::new(at, (bytes.len() / pager.page_size) as u64),
        birth: page::birth(bytes),
        prev: Pgno(prev),
        first: Txnid(first),
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
    let mut at = head;
    let mut last_birth = Txnid(u64::MAX);
    while at.0 != 0 {
        let run = read_run(pager, horizon, at)?;
        if run.birth >= last_birth {
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
        let mut runs = Vec::new();
        walk(pager, horizon, meta.space.head, |extent, birth| {
            runs.push((extent, birth));
            Ok(true)
        })?;
        let mut deltas = Vec::new();
        for &(extent, birth) in runs.iter().rev() {
            let mut run = read_run(pager, horizon, extent.start)?;
            if run.first.0 == 0 {
                ledger.space = decode_base(&mut run.records, meta.page_count).map_err(|d| d.at(extent.start))?;
                ledger.txnid = birth;
            } else {
                deltas.push((extent.start, run.records));
            }
            ledger.chain.push((extent, birth));
        }
        ledger.detours = ledger.space.retired().len() as u64;
        ledger.space.index(meta.page_count);
        ledger.detours += ledger.replay(&deltas, &meta.tail)?;
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
        let mut deltas = Vec::new();
        let mut unread = &meta.tail[..];
        if joined && fresh.is_empty() {
            unread = unread.get(self.tail_read..).ok_or(Damage("the tail of the space log was cut").at(Pgno(0)))?;
        } else if joined {
            for &(extent, _) in fresh.iter().rev() {
                deltas.push((extent.start, read_run(pager, horizon, extent.start)?.records));
            }
        } else if first_txnid(unread).is_some_and(|first| first.0 <= self.txnid.0 + 1) {
            self.chain.clear();
        } else {
            *self = Ledger::load(pager, meta)?;
            return Ok(());
        }
        self.chain.extend(fresh.into_iter().rev());
        self.space.set_limit(Some(meta.page_count));
        // For what grew since.
        self.space.index(meta.page_count);
        self.replay(&deltas, unread)?;
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

    /// Applies the deltas of runs of the log, and of the meta page's tail, that are newer than the ledger. How many
    /// entries they have.
    fn replay(&mut self, runs: &[(Pgno, &[u8])], tail: &[u8]) -> Result<u64> {
        let (mut replay, mut entries) = (Replay::new(&mut self.space), 0);
        for &(at, records) in runs.iter().chain([&(Pgno(0), tail)]) {
            let mut rest = records;
            while !rest.is_empty() {
                let delta = Delta::decode(&mut rest).map_err(|d| d.at(at))?;
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
