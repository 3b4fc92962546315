//! An open database: the data file, its map, and the state shared with other processes.
//!
//! Owns: what is open, checkpoints, settling what a dead writer left, closing, who is poisoned by a failed flush. Must not know: keys,
//! tables.

mod checkpoint;
pub(crate) mod create;
pub(crate) mod landing;
pub(crate) mod log;
mod opening;
pub(crate) mod poison;
mod published;
mod reading;
pub(crate) mod recover;
pub(crate) mod space_log;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use crate::dirty::Dirty;
use crate::error::{Damage, Error, Result};
use crate::format::meta::{Meta, SLOT_BYTES, SLOTS};
use crate::ids::{Pgno, Txnid};
use crate::medium::Medium;
use crate::os::beside::Beside;
use crate::os::file::{self, FileMedium};
use crate::os::{memory, overlay};
use crate::pager::Pager;
use crate::readers::{Inherited, Role, Shared, UnregisteredReader, Wait};
use crate::store::checkpoint::Sweep;
use crate::store::landing::Landed;
use crate::store::log::{Found, Log, Mark};
use crate::store::opening::{hold_newest, join, open_shared, read_head};
use crate::store::poison::Poison;
pub(crate) use crate::store::published::{Unpacked, published, published_durable};
use crate::store::recover::{Chosen, Purpose};
use crate::store::space_log::Ledger;

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Durability {
    /// A commit that has returned survives a power cut.
    #[default]
    Durable,
    /// A power cut may take the newest commits with it, back to the last checkpoint; nothing else is lost, nothing is
    /// damaged, and the end of the process (even by `kill -9`) loses nothing. Checkpoints happen by themselves (see
    /// [`crate::Database::checkpoint`]).
    Relaxed,
}

/// Stands a medium of the caller's between the engine and the file.
pub type MediumLayer = Arc<dyn Fn(Arc<dyn Medium>) -> Arc<dyn Medium> + Send + Sync>;

/// How to open a database.
#[derive(Clone)]
pub(crate) struct Settings {
    pub read_only: bool,
    pub create: bool,
    pub page_size: usize,
    pub durability: Durability,
    pub lock_file: bool,
    pub lock_path: Option<PathBuf>,
    pub wait: Wait,
    pub mode: u32,
    /// Memory for a transaction's changed pages, if that was chosen.
    pub memory_bytes: Option<usize>,
    pub keep_length: bool,
    pub file_memory: Option<u64>,
    pub late_checks: bool,
    pub log: bool,
    pub flush_on_close: bool,
    pub medium: Option<MediumLayer>,
    pub log_medium: Option<MediumLayer>,
    /// Length of a log that is made for the first commit.
    pub log_at_once: Option<u64>,
}

/// How long a handle that closes waits for its turn to make a checkpoint.
const CLOSE_WAIT: Duration = Duration::from_secs(1);
/// Memory that any transaction may take, where nothing was chosen and there is plenty.
const MEMORY_BYTES: usize = 256 << 20;
/// With less, work goes on and on instead.
const MEMORY_BYTES_MIN: usize = 8 << 20;

impl Settings {
    /// Memory that any transaction may take for its changed pages before anybody asks how much there is.
    pub(crate) fn memory_bytes_unasked(&self) -> usize {
        self.memory_bytes.unwrap_or(MEMORY_BYTES_MIN)
    }

    /// Memory that any transaction may take for its changed pages.
    pub(crate) fn memory_bytes(&self) -> usize {
        // Asking the system takes longer than many a transaction.
        static USUAL: LazyLock<usize> = LazyLock::new(|| usual_of(memory::for_files()));
        self.memory_bytes.unwrap_or_else(|| *USUAL)
    }

    /// Memory that a transaction may take for its changed pages once it has filled that.
    pub(crate) fn memory_bytes_large(&self) -> usize {
        self.memory_bytes.unwrap_or_else(|| large_of(memory::for_files()))
    }

    fn purpose(&self) -> Purpose {
        if self.read_only { Purpose::Read } else { Purpose::Write }
    }
}

/// What any transaction may take of so many bytes of memory, if nothing was chosen. In a control group that has little, who
/// takes more is killed.
fn usual_of(available: u64) -> usize {
    const PART: u64 = 4;
    usize::try_from(available / PART).unwrap_or(usize::MAX).clamp(MEMORY_BYTES_MIN, MEMORY_BYTES)
}

/// What a large transaction may take of so many bytes of memory, if nothing was chosen: what it writes early it mostly
/// reads, changes and writes again.
fn large_of(available: u64) -> usize {
    const PART: u64 = 8;
    usize::try_from(available / PART).unwrap_or(0).max(usual_of(available))
}

/// See the module's head.
pub(crate) struct Store {
    pub path: PathBuf,
    pub settings: Settings,
    pub pager: Pager,
    pub shared: Shared,
    pub medium: Arc<dyn Medium>,
    file: Arc<File>,
    /// Where the log is, or would be.
    pub log_place: Beside,
    /// What only the writer touches, kept from one write transaction to the next.
    writer: Mutex<Option<Box<Writer>>>,
    /// Shared by all handles of the file in this process.
    poison: Arc<Poison>,
    /// The disk was full once: since then, small holes are filled and the data file is flushed before it grows.
    pub crowded: AtomicBool,
    /// Newest snapshot for which the file was found long enough.
    length_checked: AtomicU64,
    /// What the log holds and the data file does not, until that is done again. Nobody else is let in before.
    pending: Mutex<Option<Found>>,
    /// What holds the snapshots of a reader who may not write the lock file.
    unregistered: Option<UnregisteredReader>,
    /// Nobody tells this handle of commits made through others.
    untold: bool,
    /// A newer commit than this is in a copy of the data file.
    may_be_copied: Mutex<Option<Txnid>>,
    /// The sequence number of the newest meta page that the opening found, if not all of its commit was there.
    rejected: Option<u64>,
    /// What is to be done at the end has been done, or tried.
    closed: bool,
}

/// A writer's memory.
pub(crate) struct Writer {
    pub meta: Meta,
    pub slot: usize,
    /// The slot of the durable commit, which must stay until another is durable.
    pub durable_slot: usize,
    /// The slot of the commit that readers see. Not [`Writer::slot`] while the newest commit is on its way.
    pub seen_slot: usize,
    /// The commit that this writer goes on from, if that is on its way.
    pub before: Option<Arc<Landed>>,
    pub ledger: Option<Ledger>,
    pub dirty: Dirty,
    /// Memory for the tail of the next meta page,
    pub spare_tail: Vec<u8>,
    /// and for its bytes.
    pub meta_bytes: Vec<u8>,
    /// Where the log stands after the newest commit.
    pub mark: Mark,
    pub log: Log,
    pub sweep: Sweep,
    /// The file may be longer than the newest commit says: it is cut off by the next that is made durable.
    pub too_long: bool,
    pub last_commit: CommitTimings,
}

/// Where the time of the last commit went, in microseconds, and how much it wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CommitTimings {
    /// Choosing pages, placing, checksums; in a small commit that is flushed with others, or later, writing too.
    pub place_us: u64,
    /// Handing the pages to the operating system.
    pub write_us: u64,
    /// Waiting for the disk.
    pub flush_us: u64,
    /// Pages written, meta page included.
    pub pages: u64,
    /// Separate runs that they were written as.
    pub runs: u64,
}

impl Writer {
    /// A writer that goes on from the commit that an opening found, in a file of so many bytes.
    fn new(found: Chosen, settings: &Settings, file_bytes: u64) -> Writer {
        let (slot, page_size) = (found.slot, found.meta.page_size as usize);
        let needed = found.meta.page_count * page_size as u64;
        Writer {
            meta: found.meta,
            slot,
            durable_slot: slot,
            seen_slot: slot,
            before: None,
            ledger: None,
            dirty: Dirty::new(page_size),
            spare_tail: Vec::new(),
            meta_bytes: Vec::new(),
            mark: Mark::START,
            log: Log::new(settings.log_at_once.is_some()),
            sweep: Sweep::default(),
            too_long: file_bytes > needed && !settings.keep_length,
            last_commit: CommitTimings::default(),
        }
    }
}

impl Store {
    pub(crate) fn open(path: &Path, settings: Settings) -> Result<Store> {
        let file = Arc::new(file::open_data(path, settings.read_only, settings.create, settings.mode)?);
        let poison = Poison::of(&file)?;
        let (shared, role, registered) = open_shared(path, &settings, &file)?;
        let mut medium: Arc<dyn Medium> = Arc::new(FileMedium::new(file.clone()));
        if let Some(layer) = &settings.medium {
            medium = layer(medium);
        }
        let log_place = log::place(path)?;
        let recovered = match role {
            Role::First if registered => opening::recover(path, &settings, &file, &*medium, &log_place)?,
            Role::First => hold_newest(path, &settings, &file, &*medium, &log_place)?,
            Role::Joined => join(path, &settings, &file, &shared)?,
        };
        let pending = recovered.pending;
        if pending.is_some() && settings.read_only {
            return Err(Error::Unreplayed { path: log_place.path });
        }
        if role == Role::First {
            opening::show_first(&shared, &settings, &recovered.chosen)?;
            if pending.is_none() {
                if !settings.read_only {
                    log::remove(&log_place, &file, &settings);
                }
                shared.opened()?;
            }
        }
        let file_bytes = file.metadata().map_err(Error::io("ask for the length of the data file"))?.len();
        let rejected = recovered.chosen.rejected.map(|(_, sequence)| sequence);
        let writer = Writer::new(recovered.chosen, &settings, file_bytes);
        tracing::debug!(path = %path.display(), txnid = writer.meta.txnid.0, ?role, "opened");
        let may_be_copied = (settings.read_only && overlay::may_be_copied(&file)).then_some(writer.meta.txnid);
        let untold = !settings.lock_file || recovered.unregistered.is_some();
        Ok(Store {
            path: path.to_path_buf(),
            settings,
            pager: recovered.pager,
            shared,
            medium,
            file,
            writer: Mutex::new(Some(Box::new(writer))),
            poison,
            crowded: AtomicBool::new(false),
            length_checked: AtomicU64::new(u64::MAX),
            pending: Mutex::new(pending),
            log_place,
            untold,
            may_be_copied: Mutex::new(may_be_copied),
            rejected,
            closed: false,
            unregistered: recovered.unregistered,
        })
    }

    /// What the log holds and the data file does not. It is this caller's to do again; then [`Store::caught_up`].
    pub(crate) fn take_pending(&self) -> Option<Found> {
        self.lock_pending().take()
    }

    /// Takes back what could not be done again: it stays for the next to open.
    pub(crate) fn keep_pending(&self, found: Found) {
        *self.lock_pending() = Some(found);
    }

    fn lock_pending(&self) -> std::sync::MutexGuard<'_, Option<Found>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the others in: the data file has what the log held.
    pub(crate) fn caught_up(&self) -> Result<()> {
        log::remove(&self.log_place, &self.file, &self.settings);
        self.shared.opened()
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn last_commit(&self) -> CommitTimings {
        self.lock_memory().as_ref().map(|writer| writer.last_commit).unwrap_or_default()
    }

    /// Takes the write lock and the writer's memory, brought up to the newest commit.
    pub(crate) fn begin_write(&self, wait: Wait) -> Result<Box<Writer>> {
        if self.settings.read_only {
            return Err(Error::ReadOnly);
        }
        self.poison.check()?;
        let inherited = self.shared.lock_writer(wait)?;
        match self.prepare_writer(inherited) {
            Ok(writer) => Ok(writer),
            Err(error) => {
                match inherited {
                    Inherited::Clean => self.shared.unlock_writer(),
                    Inherited::Unsettled => self.shared.unlock_unsettled(),
                }
                Err(error)
            }
        }
    }

    fn prepare_writer(&self, inherited: Inherited) -> Result<Box<Writer>> {
        self.poison.check()?;
        if inherited == Inherited::Unsettled || self.shared.in_doubt() {
            self.settle()?;
        }
        if self.untold {
            self.look_for_commits()?;
        }
        let Some(mut writer) = self.lock_memory().take() else { return Err(Error::Busy) };
        // A dead writer may have made the file longer for a commit that nobody will see.
        writer.too_long |= inherited == Inherited::Unsettled;
        let ready = self.refresh(&mut writer).and_then(|()| self.make_due_checkpoint(&mut writer));
        if let Err(error) = ready {
            *self.lock_memory() = Some(writer);
            return Err(error);
        }
        Ok(writer)
    }

    fn lock_memory(&self) -> std::sync::MutexGuard<'_, Option<Box<Writer>>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the writer's memory up to what other processes have committed.
    fn refresh(&self, writer: &mut Writer) -> Result<()> {
        let newest = self.shared.newest();
        // Somebody else may have made a commit durable that is no news otherwise.
        let Some(record) = self.shared.record(newest) else { return Err(Error::BadTable) };
        let slots = Unpacked::of(&record);
        writer.durable_slot = slots.durable_slot;
        writer.mark = slots.mark;
        writer.seen_slot = slots.slot;
        if newest != writer.meta.txnid || slots.slot != writer.slot {
            let meta = recover::decode_newest(self.pager.slot(slots.slot), newest, &self.path)?;
            writer.too_long |= meta.page_count < writer.meta.page_count;
            writer.meta = meta;
            writer.slot = slots.slot;
        }
        if self.length_checked.load(Ordering::Relaxed) == newest.0 {
            return Ok(());
        }
        self.check_length(&published(&writer.meta, writer.slot, writer.durable_slot, writer.mark))
    }

    /// Says that this handle's writer wrote all that the commit can reach.
    pub(crate) fn length_is_known(&self, txnid: Txnid) {
        self.length_checked.store(txnid.0, Ordering::Relaxed);
    }

    /// The free space as of the writer's commit, read when it is first needed.
    pub(crate) fn ledger<'w>(&self, writer: &'w mut Writer) -> Result<&'w mut Ledger> {
        match &mut writer.ledger {
            Some(ledger) => {
                if let Err(error) = ledger.catch_up(&self.pager, &writer.meta) {
                    writer.ledger = None;
                    return Err(error);
                }
            }
            None => writer.ledger = Some(Ledger::load(&self.pager, &writer.meta)?),
        }
        match &mut writer.ledger {
            Some(ledger) => Ok(ledger),
            None => Err(Error::BadTable),
        }
    }

    /// Gives back what `begin_write` gave, once all that it committed can be seen.
    pub(crate) fn end_write(&self, mut writer: Box<Writer>) {
        if self.shared.is_forked() {
            return;
        }
        if let Err(error) = self.wait_for_landing(&mut writer) {
            tracing::debug!(%error, "the commit that this transaction went on from failed");
        }
        *self.lock_memory() = Some(writer);
        self.shared.unlock_writer();
    }

    /// A writer died inside its transaction, or who opened first could only read: the newest commit that is whole is
    /// made durable, and what is not whole can no longer be found.
    fn settle(&self) -> Result<()> {
        tracing::info!(path = %self.path.display(), "settling what was left by a dead writer, or found by a reader");
        let file_bytes = self.medium.len().map_err(Error::io("ask for the length of the data file"))?;
        let head = read_head(&self.file)?;
        let newest = self.shared.newest();
        let usable = recover::decode_slots(&head, &self.path, Purpose::Write)?;
        let found = usable.first().cloned().filter(|(_, meta)| meta.txnid >= newest);
        let (slot, meta) = found.ok_or_else(|| recover::NOT_THERE.at(Pgno(0)))?;
        if self.shared.in_doubt() {
            let mut chosen = recover::choose(&self.pager, file_bytes, &usable, None, &self.path)?;
            if chosen.meta.txnid < newest {
                return Err(Damage("the newest commit is not whole any more").at(Pgno(0)));
            }
            recover::secure(&mut chosen, &self.pager, &*self.medium)
                .inspect_err(|error| self.poison.by(error.to_string()))?;
            self.shared.out_of_doubt();
            return self.adopt(&chosen.meta, chosen.slot);
        }
        // Its meta page was written after all of its pages, and the page cache keeps what it was given.
        // Who died while he told of it may have left no word of it.
        if meta.txnid > newest || self.shared.record(newest).is_none() {
            self.flush("flush the commit of a dead writer")?;
            return self.adopt(&meta, slot);
        }
        Ok(())
    }

    /// Makes a commit the newest that another writer made, and that is durable.
    fn adopt(&self, meta: &Meta, slot: usize) -> Result<()> {
        self.shared.publish(&published_durable(meta, slot))?;
        self.shared.set_durable(meta.txnid)
    }

    /// Cuts off what a transaction that came to nothing had lengthened the file by.
    pub(crate) fn shorten(&self, bytes: u64) {
        // After a failed meta page or flush nobody knows whether it came to nothing.
        if !self.poison.is_there()
            && !self.settings.keep_length
            && !self.shared.is_forked()
            && let Err(error) = self.medium.set_len(bytes)
        {
            tracing::warn!(%error, "the end of the data file that no commit uses could not be cut off");
        }
    }

    /// Cuts off the free end of the file, once the newest commit is durable.
    pub(crate) fn cut_off(&self, writer: &mut Writer) {
        let bytes = writer.meta.page_count * u64::from(writer.meta.page_size);
        if std::mem::take(&mut writer.too_long)
            && !self.settings.keep_length
            && let Err(error) = self.medium.set_len(bytes)
        {
            // The commit stands all the same; the next checkpoint tries again.
            tracing::warn!(%error, "the free end of the data file could not be cut off");
            writer.too_long = true;
        }
    }

    /// After a failed flush (or meta page write) nobody knows what is on disk: no more writing by this process.
    pub(crate) fn poison(&self, op: &'static str, error: std::io::Error) -> Error {
        self.give_up(format!("{op}: {error}"));
        Error::Io { op, source: error }
    }

    fn give_up(&self, what: String) {
        tracing::error!(path = %self.path.display(), what, "the database is poisoned in this process");
        if !self.shared.is_forked() {
            self.shared.failed();
        }
        self.poison.by(what);
    }

    pub(crate) fn flush(&self, op: &'static str) -> Result<()> {
        self.shared.flushing();
        self.medium.flush().map_err(|error| self.poison(op, error))?;
        self.shared.flushed();
        Ok(())
    }

    /// Makes the data file durable with all that is committed. Returns at once if it is.
    pub(crate) fn checkpoint(&self, wait: Wait) -> Result<()> {
        let mut writer = self.begin_write(wait)?;
        let result = self.flush_and_cut_off(&mut writer);
        self.end_write(writer);
        result
    }

    /// As [`Store::checkpoint`], but without waiting for a writer. Beside one, the data file is flushed as it is: that one's
    /// transaction writes nothing over that the newest commit can reach, and the next one begins with a checkpoint.
    pub(crate) fn sync(&self) -> Result<()> {
        if self.settings.read_only {
            return Err(Error::ReadOnly);
        }
        self.poison.check()?;
        if self.durable() == self.shared.newest() {
            return Ok(());
        }
        match self.checkpoint(Wait::No) {
            Err(Error::Busy) => {
                // Before the flush: whoever begins to write after this keeps what that finds.
                self.shared.ask_for_checkpoint();
                self.flush("flush the data file")
            }
            done => done,
        }
    }

    /// Somebody flushed the data file while another was writing: what that flush found is kept until now.
    fn make_due_checkpoint(&self, writer: &mut Writer) -> Result<()> {
        if !self.shared.checkpoint_is_asked_for() {
            return Ok(());
        }
        self.flush_and_cut_off(writer)?;
        self.shared.checkpoint_made();
        Ok(())
    }

    /// Between transactions: what one has placed behind the newest commit's end must stay.
    fn flush_and_cut_off(&self, writer: &mut Writer) -> Result<()> {
        self.flush_data(writer)?;
        self.cut_off(writer);
        Ok(())
    }

    pub(crate) fn flush_data(&self, writer: &mut Writer) -> Result<()> {
        self.wait_for_landing(writer)?;
        if self.shared.durable() == writer.meta.txnid {
            return Ok(());
        }
        self.flush("flush a checkpoint")?;
        self.became_durable(writer)
    }

    /// The writer's commit has been flushed.
    pub(crate) fn became_durable(&self, writer: &mut Writer) -> Result<()> {
        (writer.durable_slot, writer.seen_slot) = (writer.slot, writer.slot);
        writer.mark = Mark::START;
        self.shared.set_durable(writer.meta.txnid)?;
        self.shared.publish(&published_durable(&writer.meta, writer.slot))
    }

    /// The newest commit that survives a power cut: of the data file, or of data file and log.
    pub(crate) fn durable(&self) -> Txnid {
        let newest = self.shared.newest();
        let is_flushed = self.shared.record(newest).is_some_and(|record| published::is_flushed(&record));
        if is_flushed { newest } else { self.shared.durable() }
    }

    /// Closes the database, and says what a drop only logs.
    pub(crate) fn close(mut self) -> Result<()> {
        self.closed = true;
        self.end()
    }

    /// What a closing database does: everything durable, unless that was not wanted, and a meta page that needs no proof,
    /// if nobody else has it open.
    fn end(&self) -> Result<()> {
        if self.settings.read_only || self.shared.is_forked() || self.poison.is_there() {
            return Ok(());
        }
        if self.lock_pending().is_some() {
            return Ok(());
        }
        let last = self.shared.last_one()?;
        let flushed = self.durable() == self.shared.newest();
        let nothing_to_do = if flushed { !last } else { self.may_leave_unflushed(last) };
        if nothing_to_do {
            return Ok(());
        }
        let flush = self.settings.flush_on_close;
        let mut writer = match self.begin_write(if flush { Wait::For(CLOSE_WAIT) } else { Wait::No }) {
            // Whoever writes sees what is due.
            Err(Error::Busy) if !flush => return Ok(()),
            begun => begun?,
        };
        let result = if last { self.close_last(&mut writer) } else { self.close_another(&mut writer) };
        self.end_write(writer);
        result
    }

    /// Others go on: what is in the log may stay there.
    fn close_another(&self, writer: &mut Writer) -> Result<()> {
        if self.flush_log(writer)? { Ok(()) } else { self.flush_and_cut_off(writer) }
    }

    fn close_last(&self, writer: &mut Writer) -> Result<()> {
        self.flush_and_cut_off(writer)?;
        if !writer.meta.is_proven() {
            self.write_proven_meta(writer)?;
        }
        log::remove(&self.log_place, &self.file, &self.settings);
        Ok(())
    }

    /// Writes the newest commit's meta page once more, saying that it needs no proof. It need not be flushed: the commit
    /// is on disk, and if this page is lost, the one before it says so too.
    fn write_proven_meta(&self, writer: &mut Writer) -> Result<()> {
        let slot = free_slot(writer);
        writer.meta.sequence += 1;
        writer.meta.needs_no_proof();
        write_meta(&*self.medium, &writer.meta, slot, &mut writer.meta_bytes)
            .map_err(|error| self.poison("write the meta page", error))?;
        (writer.slot, writer.seen_slot) = (slot, slot);
        self.shared.publish(&published(&writer.meta, slot, writer.durable_slot, Mark::START))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if !self.closed
            && let Err(error) = self.end()
        {
            tracing::warn!(path = %self.path.display(), %error, "closing left the last checkpoint to the next opening");
        }
    }
}

/// The slot that the next commit writes: never the current one, the durable one, nor the one that readers see. The same
/// question always has the same answer, so that what a failed commit left in a slot is overwritten by the next.
pub(crate) fn free_slot(writer: &Writer) -> usize {
    let taken = [writer.slot, writer.durable_slot, writer.seen_slot];
    (0..SLOTS).find(|slot| !taken.contains(slot)).expect("more slots than three")
}

/// Writes a meta page; `room` is any memory for it.
pub(crate) fn write_meta(medium: &dyn Medium, meta: &Meta, slot: usize, room: &mut Vec<u8>) -> std::io::Result<()> {
    meta.encode(room);
    medium.write_at((slot * SLOT_BYTES) as u64, &[std::io::IoSlice::new(room)])
}

/// Writes a meta page that says that its commit, flushed before, needs no proof, and flushes it.
pub(crate) fn write_proven(medium: &dyn Medium, meta: &mut Meta, slot: usize) -> std::io::Result<()> {
    meta.needs_no_proof();
    write_meta(medium, meta, slot, &mut Vec::new())?;
    medium.flush().inspect_err(|_| blank(medium, slot))
}

/// Takes back a meta page that needs no proof and whose flush failed: the page cache has it, the disk may never, and
/// the next to open would trust it.
pub(crate) fn blank(medium: &dyn Medium, slot: usize) {
    let zeros = [0; SLOT_BYTES];
    if let Err(error) = medium.write_at((slot * SLOT_BYTES) as u64, &[std::io::IoSlice::new(&zeros)]) {
        tracing::error!(%error, "a meta page that was not flushed could not be taken back");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_transaction_takes_an_eighth_of_the_memory_and_no_less_than_any_other() {
        assert_eq!(large_of(24 << 30), 3 << 30);
        assert_eq!(large_of(1 << 30), MEMORY_BYTES);
    }

    #[test]
    fn no_transaction_takes_more_than_a_quarter_of_little_memory() {
        assert_eq!((usual_of(100 << 20), large_of(100 << 20)), (25 << 20, 25 << 20));
        assert_eq!((usual_of(0), large_of(0)), (MEMORY_BYTES_MIN, MEMORY_BYTES_MIN));
        assert_eq!(usual_of(u64::MAX), MEMORY_BYTES);
    }
}
