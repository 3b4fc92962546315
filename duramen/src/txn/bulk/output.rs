//! Where a bulk load's pages go: into runs of free pages, or behind the file's end.
//!
//! Owns: the choice of pages, gathering them into large blocks. Must not know: trees, records, how blocks are written.
//!
//! Who wants a file without free pages (`Work::exact`) gets each page when it is needed; leaves then stand among values.
//!
//! Nothing refers to these pages before the transaction's commit, so they are written to their final place at once.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use super::block_writer::{BLOCK_BYTES, BlockWriter, Filled, Totals};
use crate::error::Result;
use crate::format::overflow::{self, Stub};
use crate::format::page::{self, Child, RUN_HEADER};
use crate::ids::{Extent, Pgno};
use crate::os::direct::Block;
use crate::pieces;
use crate::space::Lane;
use crate::tree::Pages;
use crate::tree::build::Sink;
use crate::txn::allocate::{allocate, allocate_one, give_back};
use crate::txn::work::Work;
use crate::width::to_u32;

/// Pages taken at once: at first, and at most. What is left over in the end goes back.
const STEP_MIN: u64 = 64;
const STEP_MAX: u64 = 1 << 14;
/// Pages taken at once, from whatever holes there are, since the disk was full.
const STEP_CROWDED: u64 = 256;
/// What follows a value in its last page, a part at a time.
const ZEROES: [u8; 512] = [0; 512];

/// Pages that are filled one after the other.
struct Stream {
    supply: VecDeque<Extent>,
    /// Pages taken last time.
    step: u64,
    /// The block being filled, if there is one, where its first page goes, and bytes filled.
    block: Option<Block>,
    start: Pgno,
    filled: usize,
    /// Its pages have their checksums.
    is_sealed: bool,
}

impl Stream {
    fn new(is_sealed: bool) -> Stream {
        Stream { supply: VecDeque::new(), step: 0, block: None, start: Pgno(0), filled: 0, is_sealed }
    }

    /// The page after the last one filled.
    fn end(&self, page_size: usize) -> Pgno {
        Pgno(self.start.0 + (self.filled / page_size) as u64)
    }

    /// How many pages to take: more each time, since nobody knows how many it will be.
    fn next_step(&mut self) -> u64 {
        self.step = (self.step * 2).clamp(STEP_MIN, STEP_MAX);
        self.step
    }

    /// Takes pages from the front of the supply, which has them.
    fn take(&mut self, pages: u64) -> Pgno {
        let extent = self.supply.front_mut().expect("what was taken before");
        let start = extent.start;
        *extent = Extent { start: Pgno(start.0 + pages), pages: extent.pages - pages };
        if extent.pages == 0 {
            self.supply.pop_front();
        }
        start
    }
}

/// Gathers blocks and hands them to the writing thread, which is started for the first.
struct Pen {
    writer: Option<BlockWriter>,
    keep_cached: bool,
}

impl Pen {
    fn writer(&mut self, work: &Work) -> Result<&mut BlockWriter> {
        match &mut self.writer {
            Some(writer) => Ok(writer),
            none => Ok(none.insert(BlockWriter::start(&work.store, work.gate(), work.txnid, self.keep_cached)?)),
        }
    }

    /// What is appended next begins at a page.
    fn seek(&mut self, work: &Work, stream: &mut Stream, pgno: Pgno) -> Result<()> {
        if stream.filled > 0 && stream.end(work.page_size()) != pgno {
            self.send(work, stream)?;
        }
        if stream.filled == 0 {
            stream.start = pgno;
        }
        Ok(())
    }

    fn append(&mut self, work: &Work, stream: &mut Stream, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            if stream.filled == BLOCK_BYTES {
                let next = stream.end(work.page_size());
                self.send(work, stream)?;
                stream.start = next;
            }
            let block = match &mut stream.block {
                Some(block) => block,
                none => none.insert(self.writer(work)?.block()),
            };
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_BYTES - stream.filled));
            pieces::copy(&mut block[stream.filled..stream.filled + now.len()], now);
            stream.filled += now.len();
            bytes = later;
        }
        Ok(())
    }

    #[cold]
    fn send(&mut self, work: &Work, stream: &mut Stream) -> Result<()> {
        let Some(block) = stream.block.take() else { return Ok(()) };
        let (start, filled) = (stream.start, std::mem::take(&mut stream.filled));
        self.writer(work)?.send(Filled { start, block, filled, is_sealed: stream.is_sealed })
    }
}

/// See the module's head.
pub(super) struct Output {
    pen: Pen,
    pages: Stream,
    /// Large values: apart, so that leaves lie side by side.
    values: Stream,
    /// Taken and not needed.
    spare: Vec<Extent>,
    /// What was sealed here.
    sealed: Totals,
}

impl Output {
    /// `keep_cached`: what is written shall be in the page cache afterwards.
    pub(super) fn new(keep_cached: bool) -> Output {
        Output {
            pen: Pen { writer: None, keep_cached },
            pages: Stream::new(false),
            values: Stream::new(true),
            spare: Vec::new(),
            sealed: Totals::default(),
        }
    }

    /// Writes a large value; the stub that stands for it.
    pub(super) fn put_value(&mut self, work: &mut Work, value: &[u8]) -> Result<Stub> {
        let page_size = work.page_size();
        let pages = overflow::pages_for(value.len(), page_size);
        let pgno = self.contiguous(work, pages as u64)?;
        let mut header = [0; RUN_HEADER];
        overflow::init_header(&mut header, to_u32(pages), to_u32(value.len()));
        let checksum = page::seal_apart(&mut header, value, pgno, work.txnid, work.store.pager.file_id);
        self.sealed.sum = self.sealed.sum.wrapping_add(checksum);
        self.sealed.pages += pages as u64;
        let padding = pages * page_size - RUN_HEADER - value.len();
        self.pen.seek(work, &mut self.values, pgno)?;
        let zeroes = std::iter::repeat_n(&ZEROES[..], padding / ZEROES.len());
        let parts = [&header[..], value].into_iter().chain(zeroes).chain([&ZEROES[..padding % ZEROES.len()]]);
        for part in parts {
            self.pen.append(work, &mut self.values, part)?;
        }
        Ok(Stub { child: Child::page(pgno, 0), bytes: to_u32(value.len()), birth: work.txnid.low() })
    }

    /// Takes a run of pages for a value.
    fn contiguous(&mut self, work: &mut Work, pages: u64) -> Result<Pgno> {
        let stream = &mut self.values;
        if stream.supply.front().is_none_or(|extent| extent.pages < pages) {
            self.spare.extend(stream.supply.drain(..));
            let step = if work.exact { pages } else { stream.next_step().max(pages) };
            stream.supply.extend(allocate(work, step, true)?);
        }
        Ok(stream.take(pages))
    }

    /// Takes a finished page of a tree.
    fn put_page(&mut self, work: &mut Work, page: &[u8]) -> Result<Pgno> {
        let stream = &mut self.pages;
        if stream.supply.is_empty() && work.exact {
            let page = allocate_one(work, Lane::Lasting)?;
            stream.supply.push_back(Extent::new(page, 1));
        } else if stream.supply.is_empty() {
            let step = stream.next_step();
            let crowded = work.store.crowded.load(Ordering::Relaxed);
            stream.supply.extend(allocate(work, if crowded { STEP_CROWDED } else { step }, !crowded)?);
        }
        let pgno = stream.take(1);
        if work.exact && self.values.filled > 0 {
            return self.put_among_values(work, page, pgno);
        }
        self.pen.seek(work, stream, pgno)?;
        self.pen.append(work, stream, page)?;
        Ok(pgno)
    }

    /// A page that stands between values is written with them, not by itself. It lies in one block: all are whole pages.
    fn put_among_values(&mut self, work: &Work, page: &[u8], pgno: Pgno) -> Result<Pgno> {
        let stream = &mut self.values;
        self.pen.seek(work, stream, pgno)?;
        self.pen.append(work, stream, page)?;
        let block = stream.block.as_mut().expect("what was appended to");
        let page = &mut block[stream.filled - page.len()..stream.filled];
        let checksum = page::seal(page, pgno, work.txnid, work.store.pager.file_id);
        self.sealed.sum = self.sealed.sum.wrapping_add(checksum);
        self.sealed.pages += 1;
        Ok(pgno)
    }

    /// Waits until all is written; gives back what was not needed.
    pub(super) fn finish(mut self, work: &mut Work) -> Result<()> {
        self.pen.send(work, &mut self.values)?;
        self.pen.send(work, &mut self.pages)?;
        let written = self.pen.writer.map(|mut writer| writer.wait()).transpose()?.unwrap_or_default();
        work.placed.sum = work.placed.sum.wrapping_add(written.sum).wrapping_add(self.sealed.sum);
        work.placed.pages += written.pages + self.sealed.pages;
        let left = self.pages.supply.into_iter().chain(self.values.supply);
        give_back(work, &self.spare.into_iter().chain(left).collect::<Vec<_>>())
    }
}

/// An [`Output`] with the transaction that pages are taken for.
pub(super) struct Placing<'a> {
    pub work: &'a mut Work,
    pub output: &'a mut Output,
}

impl Sink for Placing<'_> {
    fn put(&mut self, page: &[u8]) -> Result<Pgno> {
        self.output.put_page(self.work, page)
    }
}
