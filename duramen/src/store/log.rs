//! The log: a file beside the data file that makes small commits durable by one small write.
//!
//! Owns: the file (its creation, growth, removal), where the next record goes, which records an opening must do again.
//! Must not know: what operations mean.
//!
//! A commit in the log has its pages in the page cache like a relaxed one; its record alone is flushed. When the log is
//! full, or too much of the data file waits to be flushed, a commit flushes the data file instead, and the log begins anew at its start.

use std::fs::File;
use std::io::{self, IoSlice, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::{Durability, Settings, Store, Writer, published};
use crate::error::{Error, Result};
use crate::format::log::{self, Record, UNIT, chain};
use crate::format::meta::Meta;
use crate::ids::Txnid;
use crate::medium::Medium;
use crate::os::ahead;
use crate::os::beside::Beside;
use crate::os::file::{self, FileMedium};
use crate::width::to_usize;

/// Length of a new log.
const STEP_BYTES: u64 = 1 << 20;
/// It grows by as much each time, up to this part of the data file's length
const PART: u64 = 8;
/// and this length, so that doing again what is in it takes no longer than a second.
const BYTES_MAX: u64 = 32 << 20;
/// Records beyond this size flush the data file instead.
pub(crate) const RECORD_MAX: usize = 1 << 20;
/// What a durable commit says for a log: as much as so many relaxed ones, which gain nothing by it, say against.
const DURABLE_WEIGHT: u32 = 16;
/// A handle makes a log after four durable commits: who commits once or twice needs none.
const ENOUGH: u32 = 4 * DURABLE_WEIGHT;
/// Memory kept from one record to the next.
const MEMORY_MAX: usize = 64 << 10;
/// After so many durable commits in a row a record is written past the page cache. Not before: records that need no flush
/// go through the cache, which would have to read their page again after each that went past it.
const PAST_CACHE_AFTER: u32 = 16;

/// The disk begins with the record of a commit of so many pages while these are placed. Of fewer, all is placed before it has
/// been asked.
const AHEAD_PAGES_MIN: u64 = 8;

/// Where the log stands after a commit. All writers know, since it is published with the commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mark {
    /// Some commit since the last flush of the data file is not in the log.
    Broken,
    /// All are, in its first `end` bytes.
    At { end: u64, flushed: bool },
}

impl Mark {
    /// The data file has been flushed.
    pub(crate) const START: Mark = Mark::At { end: 0, flushed: true };

    /// As a number of 48 bits.
    pub(crate) fn pack(self) -> u64 {
        match self {
            Mark::Broken => 0,
            Mark::At { end, flushed } => (end / UNIT as u64 + 1) << 1 | u64::from(flushed),
        }
    }

    /// Whether all commits up to this one survive a power cut.
    pub(crate) fn is_flushed(packed: u64) -> bool {
        packed & 1 == 1
    }

    pub(crate) fn unpack(packed: u64) -> Mark {
        match packed >> 1 {
            0 => Mark::Broken,
            units => Mark::At { end: (units - 1) * UNIT as u64, flushed: packed & 1 == 1 },
        }
    }
}

/// So many commits later one that could not be opened is asked for again: there may have been no descriptor left, or no room.
const DO_WITHOUT: u64 = 1000;

/// A writer's access to the log.
#[derive(Default)]
pub(crate) struct Log {
    file: Option<LogFile>,
    /// It could not be made or opened: this handle does without until this commit, when what was in the way may be gone.
    not_before: Txnid,
    /// How much speaks for a log: see [`ENOUGH`].
    worth: u32,
    /// So many commits were durable since the last one that was not.
    durable: u32,
    /// A record is written past the page cache after so many.
    patience: u32,
    /// Fewer pages than this are placed before the disk is asked for anything.
    ahead_pages_min: u64,
    /// Where the record of the commit at work is, if the disk has begun with it.
    begun: Option<Range<u64>>,
    /// Memory for the next record.
    memory: Vec<u8>,
}

/// A record on its way to the log.
pub(crate) struct Unwritten {
    /// The offset where it belongs.
    pub at: u64,
    pub bytes: Vec<u8>,
}

struct LogFile {
    medium: Arc<dyn Medium>,
    bytes: u64,
}

impl LogFile {
    /// Makes the file so long, unless it is. `made`: so long another handle made it that wrote records there.
    fn lengthen(&mut self, made: u64, bytes: u64) -> io::Result<()> {
        self.bytes = self.bytes.max(made.min(whole_units(self.medium.len()?)));
        if self.bytes < bytes {
            fill(&*self.medium, self.bytes, bytes)?;
            self.bytes = bytes;
        }
        Ok(())
    }
}

impl Log {
    /// No log is open. `at_once`: one is made for the first commit, and all else that waits for more of the kind does not.
    pub(crate) fn new(at_once: bool) -> Log {
        let (worth, patience, ahead_pages_min) =
            if at_once { (ENOUGH, 1, 0) } else { (0, PAST_CACHE_AFTER, AHEAD_PAGES_MIN) };
        Log { worth, patience, ahead_pages_min, ..Log::default() }
    }

    /// A commit of this durability was made.
    pub(crate) fn weigh(&mut self, durability: Durability) {
        self.worth = match durability {
            Durability::Durable => (self.worth + DURABLE_WEIGHT).min(2 * ENOUGH),
            Durability::Relaxed => self.worth.saturating_sub(1),
        };
        self.durable = if durability == Durability::Durable { self.durable.saturating_add(1) } else { 0 };
    }

    /// Whether the next durable commit's record is written and flushed in one step, which flushes nothing else.
    pub(crate) fn writes_with_flush(&self, mark: Mark) -> bool {
        self.durable >= self.patience && matches!(mark, Mark::At { flushed: true, .. })
    }

    /// Whether the disk may begin with the record of the next durable commit before its pages, so many, have been placed.
    pub(crate) fn writes_ahead(&self, mark: Mark, pages: u64) -> bool {
        self.writes_with_flush(mark) && pages >= self.ahead_pages_min
    }

    /// Where the end of what [`Store::begin_record`] has begun will be.
    pub(crate) fn begun_end(&self) -> Option<u64> {
        self.begun.as_ref().map(|record| record.end)
    }

    /// What has been begun is from now on waited for by who lands the commit.
    pub(crate) fn hand_over_begun(&mut self) {
        self.begun = None;
    }

    /// Whether a commit of this durability is worth a record: of relaxed ones no more than durable ones pay for.
    pub(crate) fn welcomes(&self, durability: Durability) -> bool {
        durability == Durability::Durable || self.worth > 0
    }

    /// Memory for a record; it need not be given back.
    pub(crate) fn take_memory(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.memory)
    }

    /// Gives back a record's memory for the next one, unless it is much.
    pub(crate) fn give_memory(&mut self, memory: Vec<u8>) {
        if memory.capacity() <= MEMORY_MAX {
            self.memory = memory;
        }
    }

    /// The file, once a record has been written to it.
    pub(super) fn medium(&self) -> Result<Arc<dyn Medium>> {
        Ok(self.file()?.medium.clone())
    }

    fn file(&self) -> Result<&LogFile> {
        self.file.as_ref().ok_or(Error::Usage { what: "the log is not open" })
    }
}

/// Where the log is: `NAME-log` beside `NAME`.
pub(crate) fn place(data: &Path) -> Result<Beside> {
    Beside::new(data, "-log").map_err(file::failed("find the directory of", data))
}

impl Store {
    /// Whether commits of this handle may go through the log.
    pub(crate) fn may_log(&self, writer: &Writer) -> bool {
        let Mark::At { end, .. } = writer.mark else { return false };
        let enough = end > 0 || writer.log.worth >= ENOUGH;
        self.settings.log && self.settings.lock_file && writer.meta.txnid >= writer.log.not_before && enough
    }

    /// Whether the next commits go into the log, with so many bytes of records.
    pub(crate) fn has_log_room(&self, writer: &Writer, bytes: u64) -> bool {
        let Mark::At { end, .. } = writer.mark else { return false };
        self.may_log(writer) && end + bytes <= self.log_max(writer.meta.page_count)
    }

    /// Where a record of this length goes; nothing if there is no room for it.
    pub(crate) fn log_room(&self, writer: &mut Writer, bytes: usize) -> Option<u64> {
        let Mark::At { end, .. } = writer.mark else { return None };
        if bytes > RECORD_MAX || !self.may_log(writer) {
            return None;
        }
        let most = self.log_max(writer.meta.page_count);
        let file = self.open_log(&mut writer.log, writer.meta.txnid, end)?;
        let end_then = end + bytes as u64;
        if end_then > file.bytes && end_then <= most {
            // Where there is no room for it, it stays as it is.
            let _ = file.lengthen(self.log_made(end), self.log_made(end_then));
        }
        (end_then <= file.bytes).then_some(end)
    }

    /// How long the log may become beside a data file of so many pages.
    pub(crate) fn log_max(&self, page_count: u64) -> u64 {
        let part = page_count * self.pager.page_size as u64 / PART;
        self.log_made(part).clamp(self.log_step(), BYTES_MAX.max(self.log_step()))
    }

    /// How long the log is made for so many bytes of records.
    fn log_made(&self, bytes: u64) -> u64 {
        bytes.next_multiple_of(self.log_step())
    }

    /// Length of a new log, and what it grows by.
    fn log_step(&self) -> u64 {
        self.settings.log_at_once.unwrap_or(STEP_BYTES)
    }

    /// The file, which is opened or made for the first time. It has records of this round up to `end`.
    fn open_log<'l>(&self, log: &'l mut Log, newest: Txnid, end: u64) -> Option<&'l mut LogFile> {
        if log.file.is_none() {
            log.file = self
                .make_log(end)
                .inspect_err(|error| {
                    tracing::info!(path = %self.path.display(), %error, "no log: small commits flush the data file");
                })
                .ok();
            if log.file.is_none() {
                log.not_before = Txnid(newest.0 + DO_WITHOUT);
            }
        }
        log.file.as_mut()
    }

    fn make_log(&self, end: u64) -> Result<LogFile> {
        let (place, path) = (&self.log_place, &self.log_place.path);
        let data = self.file().metadata().map_err(file::failed("inspect", &self.path))?;
        let file = place.open_or_create(&data).map_err(file::failed("open", path))?;
        if !is_log(&file).map_err(file::failed("read", path))? {
            return Err(Error::Usage { what: "a file of somebody else's has the log's name" });
        }
        let found = file.metadata().map_err(file::failed("inspect", path))?.len();
        if found < end {
            // Somebody has removed it, as is done with what a crash leaves: what follows could not be done again.
            return Err(Error::Usage { what: "the log has lost what was written to it" });
        }
        let mut medium: Arc<dyn Medium> = Arc::new(FileMedium::new(Arc::new(file)));
        if let Some(layer) = &self.settings.log_medium {
            medium = layer(medium);
        }
        // Who made it may have died, or failed, before all of it and its name were on disk. Who wrote records has seen to
        // that, as far as they reach.
        let in_use = end > 0;
        let (found, step) = (whole_units(found), self.log_step());
        let bytes = if in_use { found.min(self.log_made(end)) } else { found }.max(step);
        if found < bytes || !in_use {
            fill(&*medium, found, bytes).map_err(file::failed("make", path))?;
        }
        if !in_use {
            place.sync_name().map_err(file::failed("flush the directory of", path))?;
        }
        Ok(LogFile { medium, bytes })
    }

    /// Writes a record. It is not flushed.
    pub(crate) fn write_record(&self, writer: &mut Writer, record: Unwritten) -> Result<()> {
        let written = writer.log.file()?.medium.write_at(record.at, &[IoSlice::new(&record.bytes)]);
        writer.log.give_memory(record.bytes);
        written.map_err(|error| self.poison("write the log", error))
    }

    /// Has the disk begin with a record for this offset, unless it cannot do that.
    pub(crate) fn begin_record(&self, writer: &mut Writer, at: u64, record: &[u8]) -> Result<()> {
        if writer.log.file()?.medium.begin_write_flushed(at, record) {
            writer.log.begun = Some(at..at + record.len() as u64);
        }
        Ok(())
    }

    /// The commit at work comes to nothing, or flushes the data file: what the disk has of its record must not be found.
    pub(crate) fn call_off_record(&self, writer: &mut Writer) -> Result<()> {
        let Some(record) = writer.log.begun.take() else { return Ok(()) };
        // Whatever became of it.
        let _ = writer.log.file()?.medium.end_write_flushed();
        blank_record(writer, record.start)?.map_err(|error| self.poison("write the log", error))
    }

    /// As [`Store::call_off_record`], of a writer that died, perhaps with a record on its way. What the record was to follow
    /// is the newest commit.
    pub(super) fn call_off_what_the_dead_began(&self, writer: &mut Writer) -> Result<()> {
        let Mark::At { end, flushed: true } = writer.mark else { return Ok(()) };
        if !self.settings.lock_file || !self.log_place.is_there() {
            return Ok(());
        }
        if writer.log.file.is_none() {
            match self.make_log(end) {
                Ok(file) => writer.log.file = Some(file),
                // It is no log, or has lost what came before: nothing is found in it.
                Err(Error::Usage { .. }) => return Ok(()),
                // What is there belongs to another data file: this one has been moved, or another put in its place.
                Err(Error::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        let bytes = writer.log.medium()?.len().map_err(file::failed("inspect", &self.log_place.path))?;
        if end + UNIT as u64 > bytes {
            return Ok(());
        }
        blank_record(writer, end)?.map_err(file::failed("write", &self.log_place.path))
    }

    /// Makes durable what is in the log. False if that is not all that has been committed.
    pub(crate) fn flush_log(&self, writer: &mut Writer) -> Result<bool> {
        let Mark::At { end, flushed } = writer.mark else { return Ok(false) };
        if !flushed {
            if self.open_log(&mut writer.log, writer.meta.txnid, end).is_none() {
                return Ok(false);
            }
            // Who is told of a failure, and dies before he says so, leaves doubt.
            let flushing = self.shared.announce_flush();
            let flushed = writer.log.file()?.medium.flush();
            flushing.end(flushed.is_ok());
            flushed.map_err(|error| self.poison("flush the log", error))?;
            writer.mark = Mark::At { end, flushed: true };
            self.shared.publish(&published(&writer.meta, writer.slot, writer.durable_slot, writer.mark))?;
        }
        Ok(true)
    }
}

/// What begins at this offset of the log is no record from now on.
fn blank_record(writer: &Writer, at: u64) -> Result<io::Result<()>> {
    Ok(writer.log.file()?.medium.write_flushed(at, &[0; UNIT]))
}

fn whole_units(bytes: u64) -> u64 {
    bytes / UNIT as u64 * UNIT as u64
}

/// Writes zeros, so that later writes find blocks that the filesystem has nothing more to note about. In small pieces:
/// of larger ones the kernel makes large folios, and goes through all of one for each record that is written to it. Where
/// there is no room for all of them none stay: the data file can use what is left.
fn fill(medium: &dyn Medium, from: u64, to: u64) -> io::Result<()> {
    let before = medium.len()?;
    write_zeros(medium, from, to).inspect_err(|_| drop(medium.set_len(before)))
}

fn write_zeros(medium: &dyn Medium, from: u64, to: u64) -> io::Result<()> {
    let zeros = [0; 4096];
    let mut at = from;
    while at < to {
        let bytes = zeros.len().min(to_usize(to - at));
        medium.write_at(at, &[IoSlice::new(&zeros[..bytes])])?;
        at += bytes as u64;
    }
    medium.flush()
}

/// Waits until nothing more is written to the log by writers that have been killed.
pub(super) fn wait_for_the_dead(place: &Beside) -> Result<()> {
    let log = place.open_to_read().map_err(file::failed("open", &place.path))?;
    log.map_or(Ok(()), |log| ahead::wait_for_the_dead(&log))
}

/// The log as an opening found it.
pub(crate) struct Found {
    bytes: Vec<u8>,
    file_id: u64,
    /// Records that the data file has already.
    done: usize,
}

impl Found {
    /// What is to be done again, in order.
    pub(crate) fn records(&self) -> Vec<Record<'_>> {
        chain(&self.bytes, self.file_id).split_off(self.done)
    }
}

/// The file as far as its records go, and not much more: what else is of that name may be of any length.
fn read_records(place: &Beside, file_id: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let Some(mut file) = place.open_to_read()? else { return Ok(bytes) };
    loop {
        let piece = bytes.len().max(RECORD_MAX) as u64;
        let read = file.by_ref().take(piece).read_to_end(&mut bytes)?;
        let end: usize = chain(&bytes, file_id).iter().map(|record| record.bytes).sum();
        if read == 0 || end + RECORD_MAX <= bytes.len() {
            return Ok(bytes);
        }
    }
}

/// Reads the log that lies beside a data file whose newest whole commit is this. Nothing if it holds nothing newer.
pub(crate) fn find(place: &Beside, newest: &Meta) -> Result<Option<Found>> {
    let bytes = read_records(place, newest.file_id).map_err(file::failed("read", &place.path))?;
    let records = chain(&bytes, newest.file_id);
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(None) };
    if last.header.txnid <= newest.txnid {
        return Ok(None);
    }
    let (base, base_ns) = (first.header.base, first.header.base_ns);
    let done = newest.txnid.0.checked_sub(base.0).map(to_usize);
    let made = match done {
        Some(0) => Some(base_ns),
        Some(done) => Some(records[done - 1].header.committed_ns),
        None => None,
    };
    match done {
        Some(done) if made == Some(newest.committed_ns) => Ok(Some(Found { bytes, file_id: newest.file_id, done })),
        _ => {
            let (path, last) = (place.path.clone(), last.header.txnid);
            Err(Error::ForeignLog { path, found: newest.txnid, base, last })
        }
    }
}

/// Removes the log, where there is one. It holds nothing that the data file lacks.
pub(crate) fn remove(place: &Beside, data: &File, settings: &Settings) {
    if settings.lock_file
        && let Err(error) = try_to_remove(place, data)
    {
        tracing::debug!(path = %place.path.display(), %error, "an old log stays");
    }
}

fn try_to_remove(place: &Beside, data: &File) -> io::Result<()> {
    match place.open_to_read()? {
        None => Ok(()),
        Some(file) if is_log(&file)? => place.remove(&data.metadata()?),
        Some(_) => Err(io::Error::other("it is no log")),
    }
}

/// Whether what has the log's name is a log: a database may be called so, or what another program writes its messages to.
fn is_log(file: &File) -> io::Result<bool> {
    let mut head = [0; UNIT];
    let filled = file::read_up_to(file, &mut head, 0)?;
    Ok(log::may_begin(&head[..filled]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_back_as_they_were() {
        for mark in [
            Mark::Broken,
            Mark::START,
            Mark::At { end: 512, flushed: false },
            Mark::At { end: 32 << 20, flushed: true },
        ] {
            assert_eq!(Mark::unpack(mark.pack()), mark);
            assert!(mark.pack() < 1 << 48);
            assert_eq!(Mark::is_flushed(mark.pack()), matches!(mark, Mark::At { flushed: true, .. }));
        }
    }
}
