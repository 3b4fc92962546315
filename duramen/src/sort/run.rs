//! Sorted records in a temporary file.
//!
//! Owns: writing runs, and reading them ahead. Must not know: how records compare.
//!
//! Runs lie one after the other, each from an aligned offset on, and are written and read in large blocks.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::chunk::{heading, parse};
use super::{Record, spawn};
use crate::error::{Error, Result};
use crate::os::direct::{ALIGNMENT, Block, TemporaryFile};
use crate::os::file::{check_limit, failed};
use crate::os::fork::WithThread;
use crate::width::to_usize;

/// Where a run is in its file.
#[derive(Clone, Copy)]
pub(super) struct Run {
    offset: u64,
    bytes: u64,
    shared: usize,
}

/// Some runs of one file, in the order in which their records came.
#[derive(Default)]
pub(super) struct Runs {
    file: Option<Arc<TemporaryFile>>,
    directory: PathBuf,
    runs: Vec<Run>,
}

impl Runs {
    /// No runs yet, in a file in this directory.
    pub(super) fn new(file: Arc<TemporaryFile>, directory: PathBuf) -> Runs {
        Runs { file: Some(file), directory, runs: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Bytes that the views of all keys share with the first key ever.
    pub(super) fn shared(&self) -> usize {
        self.runs.iter().map(|run| run.shared).min().unwrap_or(usize::MAX)
    }

    /// The runs, some at a time.
    pub(super) fn groups(&self, most: usize) -> impl Iterator<Item = Runs> {
        let part =
            |runs: &[Run]| Runs { file: self.file.clone(), directory: self.directory.clone(), runs: runs.to_vec() };
        self.runs.chunks(most).map(part)
    }

    /// Begins a run after all others.
    pub(super) fn begin(&self, block_bytes: usize) -> RunWriter {
        let end = self.runs.last().map_or(0, |run| run.offset + run.bytes.next_multiple_of(ALIGNMENT as u64));
        RunWriter {
            file: self.file.clone().expect("runs are written to a file"),
            directory: self.directory.clone(),
            block: Block::new(block_bytes),
            filled: 0,
            start: end,
            at: end,
            has_written: false,
        }
    }

    /// Ends a run.
    pub(super) fn end(&mut self, run: RunWriter, shared: usize) -> Result<()> {
        let (offset, bytes) = run.finish()?;
        self.runs.push(Run { offset, bytes, shared });
        Ok(())
    }
}

/// Writes one run.
pub(super) struct RunWriter {
    file: Arc<TemporaryFile>,
    directory: PathBuf,
    block: Block,
    filled: usize,
    start: u64,
    at: u64,
    has_written: bool,
}

impl RunWriter {
    #[inline]
    pub(super) fn push(&mut self, record: Record<'_>) -> Result<()> {
        self.append(&heading(record))?;
        self.append(record.key)?;
        self.append(record.value)
    }

    /// Whether a block was written since it was last asked: now and then.
    pub(super) fn has_written(&mut self) -> bool {
        std::mem::take(&mut self.has_written)
    }

    #[inline]
    fn append(&mut self, mut bytes: &[u8]) -> Result<()> {
        while bytes.len() > self.block.len() - self.filled {
            let (now, later) = bytes.split_at(self.block.len() - self.filled);
            self.block[self.filled..].copy_from_slice(now);
            self.write(self.block.len())?;
            bytes = later;
        }
        self.block[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
        Ok(())
    }

    fn write(&mut self, bytes: usize) -> Result<()> {
        let may_write = check_limit(self.at + bytes as u64);
        let written = may_write.and_then(|()| self.file.write_at(self.at, &self.block[..bytes]));
        written.map_err(failed("write to a temporary file in", &self.directory))?;
        self.at += bytes as u64;
        (self.filled, self.has_written) = (0, true);
        Ok(())
    }

    /// Writes what is left; the run's offset and length.
    fn finish(mut self) -> Result<(u64, u64)> {
        let bytes = self.at + self.filled as u64 - self.start;
        let (filled, padded) = (self.filled, self.filled.next_multiple_of(ALIGNMENT));
        self.block[filled..padded].fill(0);
        self.write(padded)?;
        Ok((self.start, bytes))
    }
}

/// A block that the reading thread is to fill.
struct Wanted {
    reader: usize,
    offset: u64,
    bytes: usize,
    block: Block,
}

/// Reads some runs at once, each a block ahead.
pub(super) fn read(runs: &Runs, block_bytes: usize, record_bytes: usize) -> Result<Vec<RunReader>> {
    let Some(file) = runs.file.clone() else { return Ok(Vec::new()) };
    let (wanted, todo) = channel::<Wanted>();
    let (mut filled, mut readers) = (Vec::new(), Vec::new());
    for (i, run) in runs.runs.iter().enumerate() {
        let (sender, receiver) = channel();
        filled.push(sender);
        let (next, end, directory) = (run.offset, run.offset + run.bytes, runs.directory.clone());
        let mut reader = RunReader {
            number: i,
            front: record_bytes,
            block_bytes,
            current: Block::new(record_bytes + block_bytes),
            at: record_bytes,
            end: record_bytes,
            next,
            run_end: end,
            on_the_way: 0,
            channels: WithThread::new(Channels { wanted: wanted.clone(), filled: receiver }),
            directory,
        };
        reader.want(Block::new(record_bytes + block_bytes))?;
        readers.push(reader);
    }
    spawn("duramen sort", move || {
        for Wanted { reader, offset, bytes, mut block } in todo {
            let into = &mut block[record_bytes..record_bytes + bytes];
            let outcome = file.read_at(offset, into).map(|()| block);
            // Nobody waits for it any more: the merge was given up.
            let _ = filled[reader].send(outcome);
        }
    })?;
    readers.iter_mut().try_for_each(RunReader::fill)?;
    Ok(readers)
}

/// Reads one run, a block ahead.
pub(super) struct RunReader {
    number: usize,
    /// Where a block's own bytes begin: before that is room for the start of a record that it only ends.
    front: usize,
    block_bytes: usize,
    current: Block,
    /// The current record's place in the block, and where what was read ends.
    at: usize,
    end: usize,
    /// What is to be wanted next, and where the run ends.
    next: u64,
    run_end: u64,
    /// Bytes of the run in the block that is being read; 0 if none is.
    on_the_way: usize,
    channels: WithThread<Channels>,
    directory: PathBuf,
}

/// To and from the thread that reads.
struct Channels {
    wanted: Sender<Wanted>,
    filled: Receiver<io::Result<Block>>,
}

impl RunReader {
    /// Asks for the next block, to be read into this one.
    fn want(&mut self, block: Block) -> Result<()> {
        self.on_the_way = to_usize((self.run_end - self.next).min(self.block_bytes as u64));
        if self.on_the_way > 0 {
            let bytes = self.on_the_way.next_multiple_of(ALIGNMENT);
            // If the thread has ended, waiting for the block says so.
            let wanted = Wanted { reader: self.number, offset: self.next, bytes, block };
            let _ = self.channels.get()?.wanted.send(wanted);
            self.next += self.on_the_way as u64;
        }
        Ok(())
    }

    /// Takes blocks until the current record is whole, or the run ends.
    #[cold]
    fn fill(&mut self) -> Result<()> {
        while self.on_the_way > 0 && parse(&self.current[self.at..self.end]).is_none() {
            let gone = || Err(io::Error::other("the thread that reads has ended"));
            let block = self.channels.get()?.filled.recv().unwrap_or_else(|_| gone());
            let mut block = block.map_err(failed("read a temporary file in", &self.directory))?;
            let rest = self.end - self.at;
            block[self.front - rest..self.front].copy_from_slice(&self.current[self.at..self.end]);
            (self.at, self.end) = (self.front - rest, self.front + self.on_the_way);
            let used = std::mem::replace(&mut self.current, block);
            self.want(used)?;
        }
        if self.at < self.end && parse(&self.current[self.at..self.end]).is_none() {
            return Err(Error::Io { op: "read a temporary file", source: io::ErrorKind::UnexpectedEof.into() });
        }
        Ok(())
    }

    /// The current record; none at the end.
    #[inline]
    pub(super) fn get(&self) -> Option<Record<'_>> {
        parse(&self.current[self.at..self.end]).map(|(record, _)| record)
    }

    /// Goes to the next record.
    #[inline]
    pub(super) fn advance(&mut self) -> Result<()> {
        if let Some((_, bytes)) = parse(&self.current[self.at..self.end]) {
            self.at += bytes;
        }
        if parse(&self.current[self.at..self.end]).is_none() { self.fill() } else { Ok(()) }
    }
}
