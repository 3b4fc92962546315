//! A disk that remembers what was asked of it, and may fail: a data file and its log.
//!
//! Owns: the record of calls ([`Disk`]), the medium that makes it (`Recorder`), faults. Must not know: what a crash
//! leaves of them, what is in the pages.
//!
//! Calls pass through to the real file, which plays the part of the page cache: a process that dies and comes again
//! finds there what was written. What a power cut leaves is told by the record alone.

use std::io::{self, ErrorKind, IoSlice};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use duramen::{Medium, MediumLayer, OnFlushed, Options};

/// Bytes that a disk writes whole or not at all.
pub const SECTOR: usize = 512;

/// The files of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The data file.
    Data,
    /// Its log.
    Log,
}

/// One thing that happened, in order.
#[derive(Clone, Debug)]
pub enum Event {
    /// Something was done to a file.
    On(Which, Deed),
    /// What the workload says about its states.
    Mark(Mark),
}

/// What was done to a file.
#[derive(Clone, Debug)]
pub enum Deed {
    /// It was made, where there was none.
    Made,
    /// Bytes written at an offset, all sectors whole.
    Write(u64, Arc<[u8]>),
    /// It was cut off or extended.
    SetLen(u64),
    /// A flush completed, of all that came before.
    Flush,
    /// A flush began, of this number,
    FlushBegun(u32),
    /// and completed. It need not have done what came meanwhile.
    FlushEnded(u32),
    /// These bytes were flushed, and nothing else.
    FlushOf(Range<u64>),
    /// A flush failed: what was not flushed before may never be.
    FlushFailed,
    /// Its name was removed: it may be gone from now on, or come again.
    Removed,
    /// Its name, which was just made, may not be there after a power cut,
    Unnamed,
    /// and is there from now on.
    Named,
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (file, deed) = match self {
            Event::On(file, deed) => (file, deed),
            Event::Mark(mark) => return write!(f, "{mark:?}"),
        };
        match deed {
            Deed::Made => write!(f, "{file:?}: made"),
            Deed::Write(offset, bytes) => write!(f, "{file:?}: {} bytes written at {offset:#x}", bytes.len()),
            Deed::SetLen(bytes) => write!(f, "{file:?}: length set to {bytes:#x}"),
            Deed::Flush => write!(f, "{file:?}: flushed"),
            Deed::FlushOf(bytes) => write!(f, "{file:?}: {bytes:#x?} flushed"),
            Deed::FlushFailed => write!(f, "{file:?}: flush failed"),
            Deed::FlushBegun(number) => write!(f, "{file:?}: flush {number} began"),
            Deed::FlushEnded(number) => write!(f, "{file:?}: flush {number} ended"),
            Deed::Removed => write!(f, "{file:?}: removed"),
            Deed::Unnamed => write!(f, "{file:?}: its name is not flushed"),
            Deed::Named => write!(f, "{file:?}: its name is flushed"),
        }
    }
}

/// What a workload says about its states, by their numbers. A crash may leave the states from the last durable one to
/// the last begun one, without the void ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A commit was begun that would lead to this state.
    Begun(usize),
    /// This state was acknowledged as durable.
    Durable(usize),
    /// The commit that would have led to this state failed before its meta page was written.
    Void(usize),
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process dies: this call is done in part, all later ones are not made.
    Kill,
    /// This call fails once; of a write nothing was done.
    Error,
    /// A write is done in part (some sectors of its beginning), then fails once.
    Partly,
    /// The disk is full from this call on: writes and extensions beyond the file's end fail.
    Full,
}

/// What kind of call a fault met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A write of pages.
    Pages,
    /// A write of meta pages.
    Meta,
    /// A write of a meta page's receipt, which leaves all else as it was.
    Receipt,
    /// A flush.
    Flush,
    /// A write or flush of zeros that makes the log or makes it longer, a flush of it while it has no records, or the
    /// question how long it is: there is no need to succeed.
    Preparation,
    /// A write of records to the log.
    Record,
    /// One that was begun, and that nobody may wait for, if what it was for comes to nothing.
    Begun,
    /// A change of the file's length.
    SetLen,
    /// A question for the data file's length.
    Len,
}

/// Bytes at the start of the file that hold the meta pages.
pub const META_BYTES: u64 = 16384;
/// Bytes of one of them, and where in those its receipt is.
const META_SLOT: u64 = 4096;
const META_RECEIPT: u64 = 3584;

#[derive(Default)]
struct State {
    events: Vec<Event>,
    calls: u64,
    fault: Option<(u64, Fault)>,
    met: Vec<Call>,
    /// Faults that took effect, kills aside.
    faults: u64,
    dead: bool,
    full: bool,
    /// What was last written to the log was zeros.
    preparing: bool,
    /// Records were written to the log since the data file was flushed.
    recorded: bool,
    /// The number of the flush that was begun last.
    flushes: u32,
}

/// What a database's files hold; the log is empty where there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The data file.
    pub data: Vec<u8>,
    /// Its log.
    pub log: Vec<u8>,
}

/// Who is told what a workload knows, as it comes to know it.
pub type Listener = Box<dyn Fn(Mark) + Send + Sync>;

/// The record of a database's life, over all its openings.
#[derive(Default)]
pub struct Disk {
    start: Files,
    state: Mutex<State>,
    /// If there is one, nothing is recorded here.
    listener: Option<Listener>,
}

impl Disk {
    /// A disk without the files.
    pub fn new() -> Arc<Disk> {
        Arc::default()
    }

    /// A disk on which the files have this content, all of it flushed.
    pub fn holding(start: Files) -> Arc<Disk> {
        Arc::new(Disk { start, ..Disk::default() })
    }

    /// The disk itself: nothing stands between it and the engine, and what the workload knows is told to somebody who
    /// records in another way.
    pub fn itself(listener: Listener) -> Arc<Disk> {
        Arc::new(Disk { listener: Some(listener), ..Disk::default() })
    }

    /// What the files held at first.
    pub fn start(&self) -> &Files {
        &self.start
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it stands between the engine and the files.
    pub fn records(&self) -> bool {
        self.listener.is_none()
    }

    /// Options with which a database lives on this disk.
    pub fn under(self: &Arc<Disk>, options: Options) -> Options {
        if !self.records() {
            return options;
        }
        options.medium(self.layer(Which::Data)).log_medium(self.layer(Which::Log))
    }

    /// What stands between the engine and one of the files on this disk.
    pub fn layer(self: &Arc<Disk>, file: Which) -> MediumLayer {
        let disk = self.clone();
        Arc::new(move |inner| {
            if file == Which::Log && inner.len().is_ok_and(|bytes| bytes == 0) {
                disk.lock().events.push(Event::On(file, Deed::Made));
            }
            Arc::new(Recorder { disk: disk.clone(), file, inner, begun: Mutex::default(), beside: Mutex::default() })
        })
    }

    /// All that has happened so far.
    pub fn events(&self) -> Vec<Event> {
        self.lock().events.clone()
    }

    /// How much has happened so far.
    pub fn len(&self) -> usize {
        self.lock().events.len()
    }

    /// Whether nothing has happened yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Notes what the workload knows. A dead process says nothing.
    pub fn mark(&self, mark: Mark) {
        if let Some(listener) = &self.listener {
            return listener(mark);
        }
        let mut state = self.lock();
        if !state.dead {
            state.events.push(Event::Mark(mark));
        }
    }

    /// Calls made so far.
    pub fn calls(&self) -> u64 {
        self.lock().calls
    }

    /// The `n`th call from now on (0 is the next) fails. What has failed before was of no account.
    pub fn fail_after(&self, n: u64, fault: Fault) {
        let mut state = self.lock();
        state.met.clear();
        state.fault = Some((state.calls + n, fault));
    }

    /// Takes back a fault that has not been met, and a full or dead disk.
    pub fn heal(&self) {
        let mut state = self.lock();
        (state.fault, state.dead, state.full) = (None, false, false);
        state.met.clear();
    }

    /// The calls that have failed since the last [`Disk::heal`] or [`Disk::fail_after`].
    pub fn met(&self) -> Vec<Call> {
        self.lock().met.clone()
    }

    /// How many faults have taken effect so far, kills aside.
    pub fn faults(&self) -> u64 {
        self.lock().faults
    }

    /// Whether the process was killed.
    pub fn is_dead(&self) -> bool {
        self.lock().dead
    }
}

impl State {
    /// Whether this call fails, and how.
    fn meet(&mut self, call: Call) -> Option<Fault> {
        if self.dead {
            return Some(Fault::Kill);
        }
        let number = self.calls;
        self.calls += 1;
        let (at, fault) = self.fault?;
        if number != at {
            return None;
        }
        self.fault = None;
        self.faults += u64::from(fault != Fault::Kill);
        match fault {
            Fault::Kill => self.dead = true,
            Fault::Full => {
                self.full = true;
                return None;
            }
            _ => {}
        }
        self.met.push(call);
        Some(fault)
    }
}

fn failed() -> io::Error {
    io::Error::from_raw_os_error(5)
}

/// See [`Disk::layer`].
struct Recorder {
    disk: Arc<Disk>,
    file: Which,
    inner: Arc<dyn Medium>,
    /// A write that goes on beside what its caller does: which bytes, and what it will have come to.
    begun: Mutex<Option<(Range<u64>, io::Result<()>)>>,
    /// The number of the flush that goes on beside, and whom it tells what came of it.
    beside: Mutex<Option<(u32, OnFlushed)>>,
}

impl Recorder {
    fn begun(&self) -> MutexGuard<'_, Option<(Range<u64>, io::Result<()>)>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, state: &mut State, offset: u64, bytes: &[u8]) -> io::Result<()> {
        assert!(offset.is_multiple_of(SECTOR as u64) && bytes.len().is_multiple_of(SECTOR), "a write of whole sectors");
        self.inner.write_at(offset, &[IoSlice::new(bytes)])?;
        self.did(state, Deed::Write(offset, bytes.into()));
        Ok(())
    }

    fn did(&self, state: &mut State, deed: Deed) {
        state.events.push(Event::On(self.file, deed));
    }

    /// What kind of call it is to write these bytes.
    fn kind_of(&self, state: &mut State, offset: u64, bytes: &[u8]) -> Call {
        match self.file {
            Which::Data if offset < META_BYTES && offset % META_SLOT == META_RECEIPT => Call::Receipt,
            Which::Data if offset < META_BYTES => Call::Meta,
            Which::Data => Call::Pages,
            Which::Log => {
                // What blanks a record is no preparation.
                let blanks = state.recorded && bytes.len() == SECTOR;
                state.preparing = !blanks && bytes.iter().all(|&byte| byte == 0);
                state.recorded |= !state.preparing;
                if state.preparing { Call::Preparation } else { Call::Record }
            }
        }
    }

    fn write_as(&self, mut state: MutexGuard<'_, State>, call: Call, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let was_dead = state.dead;
        match state.meet(call) {
            Some(Fault::Partly | Fault::Kill) if !was_dead => {
                let half = bytes.len() / SECTOR / 2 * SECTOR;
                self.write(&mut state, offset, &bytes[..half])?;
                Err(failed())
            }
            Some(_) => Err(failed()),
            None if state.full && offset + bytes.len() as u64 > self.inner.len()? => {
                // A full disk takes what still fits.
                let room = self.inner.len()?.saturating_sub(offset) as usize;
                self.write(&mut state, offset, &bytes[..room / SECTOR * SECTOR])?;
                state.met.push(call);
                Err(ErrorKind::StorageFull.into())
            }
            None => self.write(&mut state, offset, bytes),
        }
    }

    /// Notes this flush, or that it failed.
    fn finish_flush(&self, flush: Deed) -> io::Result<()> {
        let state = self.disk.lock();
        let is_preparation = self.file == Which::Log && (state.preparing || !state.recorded);
        self.finish_flush_as(state, if is_preparation { Call::Preparation } else { Call::Flush }, flush)
    }

    fn finish_flush_as(&self, mut state: MutexGuard<'_, State>, call: Call, flush: Deed) -> io::Result<()> {
        match state.meet(call) {
            Some(Fault::Kill) => Err(failed()),
            Some(_) => {
                self.did(&mut state, Deed::FlushFailed);
                Err(failed())
            }
            None => {
                state.recorded &= self.file == Which::Log;
                self.did(&mut state, flush);
                Ok(())
            }
        }
    }
}

impl Medium for Recorder {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let bytes = parts.iter().map(|part| &part[..]).collect::<Vec<_>>().concat();
        let mut state = self.disk.lock();
        let call = self.kind_of(&mut state, offset, &bytes);
        self.write_as(state, call, offset, &bytes)
    }

    fn write_flushed(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, &[IoSlice::new(bytes)])?;
        self.finish_flush(Deed::FlushOf(offset..offset + bytes.len() as u64))?;
        // The first record was blanked: there are none.
        let is_emptied = self.file == Which::Log && offset == 0 && bytes.iter().all(|&byte| byte == 0);
        self.disk.lock().recorded &= !is_emptied;
        Ok(())
    }

    fn begin_write_flushed(&self, offset: u64, bytes: &[u8]) -> bool {
        // Not every kernel can do it, and none always.
        if self.disk.lock().calls.is_multiple_of(4) {
            return false;
        }
        let mut state = self.disk.lock();
        (state.preparing, state.recorded) = (false, true);
        let written = self.write_as(state, Call::Begun, offset, bytes);
        let mut begun = self.begun();
        assert!(begun.is_none(), "one write at a time");
        *begun = Some((offset..offset + bytes.len() as u64, written));
        true
    }

    fn end_write_flushed(&self) -> io::Result<()> {
        let (bytes, written) = self.begun().take().expect("a write was begun");
        written.and_then(|()| self.finish_flush_as(self.disk.lock(), Call::Begun, Deed::FlushOf(bytes)))
    }

    fn begin_flush_beside(&self, over: OnFlushed) -> Result<(), OnFlushed> {
        let mut beside = self.beside.lock().unwrap_or_else(PoisonError::into_inner);
        let mut state = self.disk.lock();
        // Not every system has a thread for it.
        if state.dead || beside.is_some() || state.calls.is_multiple_of(8) {
            return Err(over);
        }
        state.flushes += 1;
        let number = state.flushes;
        self.did(&mut state, Deed::FlushBegun(number));
        *beside = Some((number, over));
        Ok(())
    }

    fn take_flush_beside(&self, wait: bool) -> Option<io::Result<()>> {
        // It takes its time: some transactions long.
        if !wait && !self.disk.lock().calls.is_multiple_of(3) {
            return None;
        }
        let (number, over) = self.beside.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let flushed = self.finish_flush(Deed::FlushEnded(number));
        over(flushed.is_ok());
        Some(flushed)
    }

    fn flush(&self) -> io::Result<()> {
        self.finish_flush(Deed::Flush)
    }

    fn len(&self) -> io::Result<u64> {
        let call = if self.file == Which::Log { Call::Preparation } else { Call::Len };
        match self.disk.lock().meet(call) {
            Some(_) => Err(failed()),
            None => self.inner.len(),
        }
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.lock();
        if state.meet(Call::SetLen).is_some() {
            return Err(failed());
        }
        if state.full && bytes > self.inner.len()? {
            state.met.push(Call::SetLen);
            return Err(ErrorKind::StorageFull.into());
        }
        self.inner.set_len(bytes)?;
        self.did(&mut state, Deed::SetLen(bytes));
        Ok(())
    }
}
