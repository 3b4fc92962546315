//! An open database: the data file, its map, and the state shared with other processes.
//!
//! Owns: what is open, the writer's memory, settling what a dead writer left, giving up after a failed flush. Must
//! not know: keys, tables.
//!
//! Locks: none of the mutexes here is taken while another one of them is held. That of the writer's memory is held while
//! commits of other handles are published ([`Store::look_for_commits`]), so that the handle's own writer is not at it.

mod background;
mod checkpoint;
mod closing;
pub(crate) mod create;
pub(crate) mod landing;
mod listener;
pub(crate) mod log;
mod meta_slots;
mod opening;
pub(crate) mod poison;
mod published;
mod reading;
pub(crate) mod recover;
mod settings;
pub(crate) mod space_log;
mod syncing;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::dirty::Dirty;
use crate::error::{Damage, Error, Result};
use crate::format::meta::Meta;
use crate::ids::{Pgno, Txnid};
use crate::medium::Medium;
use crate::os::beside::Beside;
use crate::os::file::{self, FileMedium};
use crate::os::lock::Held;
use crate::os::overlay;
use crate::pager::Pager;
use crate::readers::{Inherited, Role, Shared, UnregisteredReader, Wait, no_record};
use crate::store::background::BackgroundCheckpoint;
use crate::store::checkpoint::Sweep;
use crate::store::landing::Landed;
use crate::store::listener::Listener;
use crate::store::log::{Found, Log, Mark};
pub(crate) use crate::store::meta_slots::{blank, write_meta};
use crate::store::opening::{Opening, read_head};
use crate::store::poison::Poison;
pub(crate) use crate::store::published::{Unpacked, is_without_log, published, published_durable};
use crate::store::recover::{Chosen, Purpose};
pub(crate) use crate::store::settings::Settings;
pub use crate::store::settings::{Durability, MediumLayer};
use crate::store::space_log::Ledger;
use crate::store::syncing::Syncing;

/// See the module's head.
pub(crate) struct Store {
    /// Shared by all handles of the file in this process. The first to be dropped: it is found by the file's inode, which another
    /// file may have as soon as this one is closed.
    poison: Arc<Poison>,
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
    /// The disk was full once: since then, small holes are filled and the data file is flushed before it grows.
    pub crowded: AtomicBool,
    /// Newest snapshot for which the file was found long enough.
    length_checked: AtomicU64,
    /// What the log holds and the data file does not, until that is done again. Nobody else is let in before.
    pending: Mutex<Option<Pending>>,
    syncing: Syncing,
    /// Who hears what transactions of this handle have said.
    pub listener: Listener,
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

/// What the log holds and the data file does not.
pub(crate) struct Pending {
    pub found: Found,
    /// Keeps others from doing it again meanwhile, where no lock file does.
    _alone: Option<Held>,
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
    /// The checkpoint that is being made beside commits,
    background: Option<BackgroundCheckpoint>,
    /// and the durable commit for which one was last begun, or could not be.
    tried_beside: Option<Txnid>,
    /// The file may be longer than the newest commit says: it is cut off by the next that is made durable.
    pub too_long: bool,
    /// The last commit of this handle,
    pub made: Option<Txnid>,
    /// and what there was before it.
    before_made: Option<BackgroundCheckpoint>,
    /// See [`Shared::strangers`], when this handle was the writer last.
    strangers: u64,
    /// How many tables the last transaction opened.
    pub tables: usize,
    pub last_commit: CommitTimings,
}

/// Where the time of the last commit went, in microseconds, and how much it wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CommitTimings {
    /// Choosing pages, placing, checksums; 0 in a small commit that is flushed with others, or later.
    pub place_us: u64,
    /// Handing the pages to the operating system; 0 as above.
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
            background: None,
            tried_beside: None,
            too_long: file_bytes > needed && !settings.keep_length,
            made: None,
            before_made: None,
            strangers: 0,
            tables: 0,
            last_commit: CommitTimings::default(),
        }
    }
}

impl Store {
    pub(crate) fn open(path: &Path, settings: Settings) -> Result<Store> {
        let (file, data) = file::open_data(path, settings.read_only, settings.create, settings.mode)?;
        let (file, poison) = (Arc::new(file), Poison::of(&data));
        let mut medium: Arc<dyn Medium> = Arc::new(FileMedium::new(file.clone()));
        if let Some(layer) = &settings.medium {
            medium = layer(medium);
        }
        let log_place = log::place(path)?;
        let opening = Opening::new(path, &settings, &file, &*medium, &log_place);
        opening.refuse_foreign()?;
        let (shared, role, registered) = opening.shared()?;
        let mut recovered = match role {
            Role::First if registered => opening.recover()?,
            Role::First => opening.hold_newest()?,
            Role::Joined => opening.join(&shared)?,
        };
        let pending = recovered.pending.take().map(|found| Pending { found, _alone: recovered.alone.take() });
        if pending.is_some() && settings.read_only {
            return Err(Error::Unreplayed { path: log_place.path });
        }
        if role == Role::First {
            opening::show_first(&shared, &recovered)?;
            if pending.is_none() {
                if !settings.read_only {
                    log::remove(&log_place, &file, &settings);
                }
                shared.let_others_in()?;
            }
        }
        let file_bytes = opening.file_bytes()?;
        let rejected = recovered.chosen.rejected.map(|(_, sequence)| sequence);
        let writer = Writer::new(recovered.chosen, &settings, file_bytes);
        tracing::debug!(path = %path.display(), txnid = writer.meta.txnid.0, ?role, "opened");
        let may_be_copied = (settings.read_only && overlay::may_be_copied(&file)).then_some(writer.meta.txnid);
        let untold = !settings.lock_file || recovered.unregistered.is_some();
        Ok(Store {
            poison,
            path: path.to_path_buf(),
            settings,
            pager: recovered.pager,
            shared,
            medium,
            file,
            writer: Mutex::new(Some(Box::new(writer))),
            crowded: AtomicBool::new(false),
            length_checked: AtomicU64::new(u64::MAX),
            pending: Mutex::new(pending),
            log_place,
            untold,
            syncing: Syncing::default(),
            listener: Listener::default(),
            may_be_copied: Mutex::new(may_be_copied),
            rejected,
            closed: false,
            unregistered: recovered.unregistered,
        })
    }

    /// What the log holds and the data file does not. It is this caller's to do again; then [`Store::caught_up`].
    pub(crate) fn take_pending(&self) -> Option<Pending> {
        self.lock_pending().take()
    }

    /// Takes back what could not be done again: it stays for the next to open.
    pub(crate) fn keep_pending(&self, pending: Pending) {
        *self.lock_pending() = Some(pending);
    }

    fn lock_pending(&self) -> std::sync::MutexGuard<'_, Option<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the others in: the data file has what the log held.
    pub(crate) fn caught_up(&self) -> Result<()> {
        log::remove(&self.log_place, &self.file, &self.settings);
        self.shared.let_others_in()
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
        match self.prepare_writer(inherited, wait) {
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

    fn prepare_writer(&self, inherited: Inherited, wait: Wait) -> Result<Box<Writer>> {
        self.poison.check()?;
        let unsettled = inherited == Inherited::Unsettled || self.shared.look_into_doubt();
        if unsettled {
            if self.settings.lock_file {
                log::wait_for_the_dead(&self.log_place)?;
            }
            self.settle()?;
        }
        if self.untold {
            self.look_for_commits()?;
            self.look_for_later_meta_page()?;
            self.look_for_receipts();
        }
        let Some(mut writer) = self.lock_memory().take() else { return Err(Error::Busy) };
        // A dead writer may have made the file longer for a commit that nobody will see.
        writer.too_long |= inherited == Inherited::Unsettled;
        let ready = self.bring_up(&mut writer, unsettled, wait);
        if let Err(error) = ready {
            *self.lock_memory() = Some(writer);
            return Err(error);
        }
        Ok(writer)
    }

    fn lock_memory(&self) -> std::sync::MutexGuard<'_, Option<Box<Writer>>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the writer's memory ready for a transaction; `unsettled`: somebody else's has just come to nothing.
    fn bring_up(&self, writer: &mut Writer, unsettled: bool, wait: Wait) -> Result<()> {
        self.refresh(writer)?;
        if unsettled {
            self.call_off_what_the_dead_began(writer)?;
        }
        self.look_after_background(writer, wait)?;
        if self.is_proven_from_elsewhere(writer) {
            self.flush_data(writer)?;
        }
        self.look_after_syncs(writer)
    }

    /// Brings the writer's memory up to what other processes have committed.
    fn refresh(&self, writer: &mut Writer) -> Result<()> {
        let newest = self.shared.newest();
        // Somebody else may have made a commit durable that is no news otherwise.
        let record = self.shared.record(newest).ok_or_else(no_record)?;
        let slots = Unpacked::of(&record);
        writer.durable_slot = slots.durable_slot;
        writer.mark = slots.mark;
        writer.seen_slot = slots.slot;
        if newest != writer.meta.txnid || slots.slot != writer.slot {
            let meta = recover::decode_newest(&self.pager.slot(slots.slot), newest, &self.path)?;
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
        if let Some(ledger) = &mut writer.ledger
            && let Err(error) = ledger.catch_up(&self.pager, &writer.meta)
        {
            writer.ledger = None;
            return Err(error);
        }
        match &mut writer.ledger {
            Some(ledger) => Ok(ledger),
            none => Ok(none.insert(Ledger::load(&self.pager, &writer.meta)?)),
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
        // A commit may have ended by a panic. What fails poisons the handle.
        let _ = self.call_off_record(&mut writer);
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
        if self.shared.look_into_doubt() {
            let mut chosen = recover::choose(&self.pager, file_bytes, &usable, None, &self.path)?;
            if chosen.meta.txnid < newest {
                return Err(Damage("the newest commit is not whole any more").at(Pgno(0)));
            }
            recover::write_again(&mut chosen, &self.pager, &*self.medium)?;
            // From here on nobody knows after a failure what is on disk.
            recover::secure(&mut chosen, &*self.medium).inspect_err(|error| self.give_up(error.to_string()))?;
            // It is told of before the doubt ends: whoever comes after a death in between has to look again.
            self.adopt(&chosen.meta, chosen.slot)?;
            self.shared.clear_doubt();
            return Ok(());
        }
        // Its meta page was written after all of its pages, and the page cache keeps what it was given.
        // Who died while he told of it may have left no word of it, half of the word that it is durable, or another slot's.
        let record = self.shared.record(newest).map(|record| Unpacked::of(&record));
        let is_durable = self.shared.durable() == newest;
        let is_told = record.is_some_and(|record| (record.mark == Mark::START) == is_durable && record.slot == slot);
        if meta.txnid > newest || !is_told {
            self.flush("flush the commit of a dead writer")?;
            return self.adopt(&meta, slot);
        }
        Ok(())
    }

    /// Makes a commit the newest that another writer made, and that is durable.
    fn adopt(&self, meta: &Meta, slot: usize) -> Result<()> {
        self.shared.set_durable(meta.txnid)?;
        self.shared.publish(&published_durable(meta, slot))
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

    /// After a failed flush (or meta page write) nobody knows what is on disk: no more writing by this process.
    pub(crate) fn poison(&self, op: &'static str, error: std::io::Error) -> Error {
        self.give_up(format!("{op}: {error}"));
        Error::Io { op, source: error }
    }

    fn give_up(&self, what: String) {
        tracing::error!(path = %self.path.display(), what, "the database is poisoned in this process");
        if !self.shared.is_forked() {
            self.shared.note_failure();
        }
        self.poison.by(what);
    }

    pub(crate) fn flush(&self, op: &'static str) -> Result<()> {
        let flushing = self.shared.announce_flush();
        let flushed = self.medium.flush();
        flushing.end(flushed.is_ok());
        flushed.map_err(|error| self.poison(op, error))?;
        self.shared.note_flush();
        Ok(())
    }
}
