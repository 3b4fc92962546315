//! Writing placed pages to the file.
//!
//! Owns: which pages go to one call of the kernel, when the disk is asked to begin. Must not know: what pages hold, who
//! gave them their numbers.
//!
//! A large durable commit is on its way to the disk before its last page has a place: the flush at its end then waits
//! for little.

use std::io::IoSlice;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::work::Work;
use crate::error::{Error, Result};
use crate::format::page::Child;
use crate::ids::{Extent, Pgno};
use crate::space::Lane;
use crate::tree::Pages;
use crate::width::to_usize;

/// Most pages handed to one write call: the kernel makes one large folio of a longer piece, and every later small
/// change of that costs as if it were one of the whole.
const PARTS_MAX: usize = 8;
/// Runs of overflow pages wait until they are so long together: what is written in larger pieces takes the kernel less time
/// to write, and to map for who reads it, and a run is never changed in part. Who changes single pages that stand in the places of
/// runs later takes longer where pieces were larger than this.
const RUNS_BYTES: usize = 256 << 10;
/// After so many pages of a durable commit the disk is asked to begin.
const EAGER_PAGES: u64 = 64;

/// Writes pages, those that follow each other in the file together.
pub(super) struct Output {
    /// For each lane the last pages, not written yet.
    batches: [Batch; 2],
    runs: Runs,
    /// The pages written that the disk was not asked for yet, if it is to be asked.
    eager: Option<Range<u64>>,
    /// Where the last write ended.
    end: Pgno,
    /// Whether the writes are worth a look at the clock.
    timed: bool,
    pub written: Written,
}

/// Pages that stand one after the other in the file.
struct Batch {
    first: Pgno,
    pages: [Child; PARTS_MAX],
    len: usize,
}

impl Batch {
    const EMPTY: Batch = Batch { first: Pgno(0), pages: [Child(0); PARTS_MAX], len: 0 };

    /// Whether a page with this number can be added.
    fn takes(&self, pgno: Pgno) -> bool {
        self.len < PARTS_MAX && self.first.0 + self.len as u64 == pgno.0
    }
}

/// Sealed runs that stand one after the other in the file, not written yet.
#[derive(Default)]
struct Runs {
    place: Option<Extent>,
    runs: Vec<Vec<u8>>,
}

/// How much an [`Output`] wrote.
#[derive(Default)]
pub(super) struct Written {
    pub pages: u64,
    /// Pieces that do not touch.
    pub runs: u64,
    pub time: Duration,
}

impl Output {
    /// Nothing written yet. `eager`: all of it will be flushed soon. `timed`: it is to be told how long that takes.
    pub(super) fn new(eager: bool, timed: bool) -> Output {
        Output {
            batches: [Batch::EMPTY; 2],
            runs: Runs::default(),
            eager: eager.then_some(0..0),
            end: Pgno(0),
            timed,
            written: Written::default(),
        }
    }

    /// Takes a sealed page to be written.
    pub(super) fn push(&mut self, work: &Work, lane: Lane, pgno: Pgno, child: Child) -> Result<()> {
        if !self.batches[lane as usize].takes(pgno) {
            self.write_batch(work, lane)?;
            self.batches[lane as usize].first = pgno;
        }
        let batch = &mut self.batches[lane as usize];
        batch.pages[batch.len] = child;
        batch.len += 1;
        Ok(())
    }

    /// Takes a sealed run to be written.
    pub(super) fn push_run(&mut self, work: &mut Work, place: Extent, run: Vec<u8>) -> Result<()> {
        if self.runs.place.is_some_and(|waiting| waiting.end() != place.start) {
            self.write_runs(work)?;
        }
        let waiting = self.runs.place.map_or(place, |waiting| Extent::new(waiting.start, waiting.pages + place.pages));
        self.runs.place = Some(waiting);
        self.runs.runs.push(run);
        if to_usize(waiting.pages) * work.page_size() < RUNS_BYTES { Ok(()) } else { self.write_runs(work) }
    }

    fn write_runs(&mut self, work: &mut Work) -> Result<()> {
        let Some(place) = self.runs.place.take() else { return Ok(()) };
        let mut runs = std::mem::take(&mut self.runs.runs);
        let parts: Vec<_> = runs.iter().map(|run| IoSlice::new(run)).collect();
        self.write(work, place, &parts)?;
        runs.drain(..).for_each(|run| work.dirty.keep_memory(run));
        self.runs.runs = runs;
        Ok(())
    }

    /// Writes what waits. To be called once all is placed.
    pub(super) fn finish(&mut self, work: &mut Work) -> Result<()> {
        self.write_runs(work)?;
        self.write_batch(work, Lane::Lasting)?;
        self.write_batch(work, Lane::Fleeting)
    }

    fn write_batch(&mut self, work: &Work, lane: Lane) -> Result<()> {
        let Batch { first, pages, len } = &self.batches[lane as usize];
        let (first, len) = (*first, *len);
        if len == 0 {
            return Ok(());
        }
        let mut parts = [IoSlice::new(&[]); PARTS_MAX];
        for (part, &child) in parts.iter_mut().zip(&pages[..len]) {
            *part = IoSlice::new(work.page(child)?);
        }
        self.write(work, Extent::new(first, len as u64), &parts[..len])?;
        self.batches[lane as usize].len = 0;
        Ok(())
    }

    /// Writes pages at once.
    fn write(&mut self, work: &Work, extent: Extent, parts: &[IoSlice<'_>]) -> Result<()> {
        let started = self.timed.then(Instant::now);
        let (size, store) = (work.page_size() as u64, &work.store);
        let written = store.medium.write_at(extent.start.0 * size, parts).map_err(Error::io("write to the data file"));
        written.inspect_err(|error| {
            store.crowded.fetch_or(error.is_disk_full(), Ordering::Relaxed);
        })?;
        self.written.runs += u64::from(extent.start != self.end);
        self.written.pages += extent.pages;
        self.end = extent.end();
        self.ask(work, extent);
        self.written.time += started.map_or(Duration::ZERO, |started| started.elapsed());
        Ok(())
    }

    fn ask(&mut self, work: &Work, extent: Extent) {
        let Some(eager) = &mut self.eager else { return };
        let from = if eager.is_empty() { extent.start.0 } else { eager.start.min(extent.start.0) };
        *eager = from..eager.end.max(extent.end().0);
        if self.written.pages % EAGER_PAGES < extent.pages {
            let size = work.page_size() as u64;
            work.store.medium.begin_flush(eager.start * size..eager.end * size);
            *eager = 0..0;
        }
    }
}
