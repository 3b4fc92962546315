//! Opening: how a handle comes to the newest commit, as the first one, beside others, or without a part in the lock file.
//!
//! Owns: which of these ways is taken. Must not know: how a commit is chosen and proven, what happens afterwards.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::log::{self, Found, Mark};
use super::recover::{self, Chosen};
use super::{Settings, create, is_without_log, published, published_durable};
use crate::advice::Advice;
use crate::error::{Error, Result};
use crate::format::meta::{HEAD_BYTES, Meta};
use crate::ids::Txnid;
use crate::map::Map;
use crate::medium::Medium;
use crate::os::beside::Beside;
use crate::os::file::{failed, give_to_users_of, is_still_at, read_up_to};
use crate::os::identity::{self, Identity};
use crate::os::lock::Held;
use crate::os::overlay;
use crate::pager::Pager;
use crate::readers::{DataFile, Published, Role, Shared, UnregisteredReader, may_be_lock_file, vouched};
use crate::width::to_usize;

/// So long at most it takes a writer from its record to its meta page, even where others keep the processors busy.
const COMMIT_MAX: Duration = Duration::from_secs(2);

/// A byte of the data file, far beyond any data, before those that stand for snapshots. Where no lock file tells of others it is
/// locked by who makes the database, or does its log again: whoever opens may do so while others are in transactions.
const MAKING: Range<u64> = (1 << 61) - 1..1 << 61;

/// A data file that is being opened, with what stands beside it.
pub(super) struct Opening<'a> {
    path: &'a Path,
    settings: &'a Settings,
    file: &'a Arc<File>,
    medium: &'a dyn Medium,
    log_place: &'a Beside,
    lock_path: PathBuf,
    identity: Option<Identity>,
}

impl<'a> Opening<'a> {
    pub(super) fn new(
        path: &'a Path,
        settings: &'a Settings,
        file: &'a Arc<File>,
        medium: &'a dyn Medium,
        log_place: &'a Beside,
    ) -> Opening<'a> {
        let lock_path = settings.lock_path.clone().unwrap_or_else(|| lock_path(log_place));
        Opening { path, settings, file, medium, log_place, lock_path, identity: identity::of(file) }
    }

    /// Refuses another program's file before its lock file is touched: that of LMDB has the name of ours, and says who reads there.
    pub(super) fn refuse_foreign(&self) -> Result<()> {
        // Before what is in it: whoever makes the database goes on meanwhile.
        let file_bytes = self.file_bytes()?;
        let head = read_head(self.file)?;
        let usable = self.decode_slots(&head);
        match usable {
            Err(Error::NotADatabase { .. }) if recover::is_unborn(&head, file_bytes, &usable) => Ok(()),
            Err(error @ Error::NotADatabase { .. }) => Err(error),
            _ => Ok(()),
        }
    }

    /// The shared state, the part in it, and whether readers of this handle are known to others by it.
    pub(super) fn shared(&self) -> Result<(Shared, Role, bool)> {
        if !self.settings.lock_file {
            // Who only reads holds what he reads: programs are often read so while they go on writing.
            return Ok((Shared::private()?, Role::First, !self.settings.read_only));
        }
        match Shared::open(&self.lock_path, self.settings.mode, self) {
            // On read-only media, or without the permission to write the lock file: see `hold_newest`.
            Err(Error::File { source, .. }) if self.settings.read_only && is_read_only(&source) => {
                Ok((Shared::private()?, Role::First, false))
            }
            other => other.map(|(shared, role)| (shared, role, true)),
        }
    }

    pub(super) fn file_bytes(&self) -> Result<u64> {
        self.medium.len().map_err(Error::io("ask for the length of the data file"))
    }

    fn decode_slots(&self, head: &[u8]) -> Result<Vec<(usize, Meta)>> {
        recover::decode_slots(head, self.path, self.settings.purpose())
    }
}

/// As the lock file sees it.
impl DataFile for Opening<'_> {
    fn identity(&self) -> Option<Identity> {
        self.identity
    }

    fn is_another(&self, known: &Identity) -> bool {
        // In an overlay a file is told to be another one once somebody has opened it to write.
        self.identity.is_some_and(|mine| identity::is_another_file(&mine, known)) && !overlay::may_be_copied(self.file)
    }

    /// Whoever looks after a database as root would else keep its owner out. Where it cannot be done the maker alone is in.
    fn share(&self, lock_file: &File) {
        let _ = self.file.metadata().and_then(|data| give_to_users_of(&data, lock_file));
    }

    fn is_in_place(&self) -> Result<bool> {
        is_still_at(self.file, self.path)
    }

    fn gives_lock_file_its_name(&self) -> bool {
        self.settings.lock_path.is_none()
    }

    /// A database may have the lock file's name, or, where somebody has chosen it, any other file. It would be none once it was
    /// used as that. What has the name that is the lock file's by rule, and is no database, is of no account: whatever a
    /// power cut leaves there, the database can be opened.
    fn check_lock_file(&self, lock_file: &File) -> Result<()> {
        let head = read_head(lock_file)?;
        let what = if Meta::is_in(&head) {
            "it is a database"
        } else if self.settings.lock_path.is_some() && !may_be_lock_file(&head) {
            "it is another program's file: choose one that is not there"
        } else {
            return Ok(());
        };
        Err(failed("use as a lock file", &self.lock_path)(std::io::Error::other(what)))
    }

    fn holds(&self, newest: &Published, unsettled: bool) -> bool {
        let bytes = self.file.metadata().map_or(0, |data| data.len());
        let head = read_head(self.file).unwrap_or_default();
        let Some(found) = recover::as_published(&head, bytes, newest, unsettled) else { return false };
        // They had nothing in the log: what is there was put there since, by who restores what a crash left.
        unsettled || !is_without_log(newest) || matches!(log::find(self.log_place, &found), Ok(None))
    }
}

fn is_read_only(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied)
}

/// `NAME-lock` beside `NAME`; `lock.mdb` beside `data.mdb`, where LMDB's interface has it. Whatever links the data file was
/// opened by, all who open it must meet at one lock file.
fn lock_path(log: &Beside) -> PathBuf {
    if log.data == "data.mdb" {
        return log.path.with_file_name("lock.mdb");
    }
    let mut name = log.data.clone();
    name.push("-lock");
    log.path.with_file_name(name)
}

/// What an opening found.
pub(super) struct Recovered {
    pub pager: Pager,
    pub chosen: Chosen,
    /// Whether that is on disk for certain. Else the first who writes sees to it.
    pub secured: bool,
    /// What the log holds and the data file does not.
    pub pending: Option<Found>,
    /// What keeps others from doing that again, too, where no lock file does.
    pub alone: Option<Held>,
    /// Who holds snapshots for a handle without a part in the lock file.
    pub unregistered: Option<UnregisteredReader>,
}

/// The data file at one time.
struct Look {
    head: Vec<u8>,
    file_bytes: u64,
    /// The sound slots of its head, the newest first.
    usable: Result<Vec<(usize, Meta)>>,
}

impl Look {
    fn is_unborn(&self) -> bool {
        recover::is_unborn(&self.head, self.file_bytes, &self.usable)
    }
}

impl Opening<'_> {
    /// Opens for reading without a part in the lock file: the newest commit is held by a lock on the data file, as those are
    /// that come later.
    pub(super) fn hold_newest(&self) -> Result<Recovered> {
        let reader = self.unregistered();
        loop {
            reader.keep_only(&[]);
            let head = read_head(self.file)?;
            let usable = self.decode_slots(&head);
            let needs_proof = usable.as_ref().is_ok_and(|usable| !usable[0].1.is_proven());
            if needs_proof && let Some(recovered) = self.hold_vouched_for(&reader)? {
                return Ok(Recovered { unregistered: Some(reader), ..recovered });
            }
            // A writer that committed before the lock was there may not have seen it.
            let hold = |txnid| reader.hold(txnid).and_then(|()| Ok(read_head(self.file)? == head));
            // Held before it is proven: that takes longer than commits do.
            let usable = match usable {
                Ok(usable) if hold(usable[0].1.txnid)? => usable,
                Err(error) if read_head(self.file)? == head => return Err(error),
                _ => continue,
            };
            let file_bytes = self.file_bytes()?;
            let recovered = match self.recover_from(&usable, file_bytes, None) {
                // A newer commit may have cut off the end of the file that this one does not use.
                Err(_) if read_head(self.file)? != head => continue,
                recovered => recovered?,
            };
            let chosen = recovered.chosen.meta.txnid;
            if chosen != usable[0].1.txnid && !hold(chosen)? {
                continue;
            }
            let pending = self.find_pending(&recovered.chosen.meta);
            if self.is_overtaken(&head, &pending)? {
                continue;
            }
            reader.keep_only(&[chosen]);
            return Ok(Recovered { pending: pending?, unregistered: Some(reader), ..recovered });
        }
    }

    fn unregistered(&self) -> UnregisteredReader {
        let reader = UnregisteredReader::new(self.file.clone());
        if self.settings.lock_file { reader } else { reader.if_possible() }
    }

    /// The newest commit by the lock file, which need not prove itself, held; none where that does not tell of it. There may be
    /// one on its way already, which nobody has been told of.
    fn hold_vouched_for(&self, reader: &UnregisteredReader) -> Result<Option<Recovered>> {
        let Some(newest) = self.newest_by_lock_file() else { return Ok(None) };
        reader.hold(newest)?;
        // As long as it is the newest every writer keeps it. Those who begin when it is not see the lock.
        if self.newest_by_lock_file() != Some(newest) {
            return Ok(None);
        }
        let Look { file_bytes, usable, .. } = self.look()?;
        let mut usable = usable?;
        usable.retain(|(_, meta)| meta.txnid <= newest);
        if usable.first().is_none_or(|(_, meta)| meta.txnid != newest) {
            return Ok(None);
        }
        self.recover_from(&usable, file_bytes, Some(newest)).map(Some)
    }

    /// Opens as the only one: creates what is not there, and finds the newest commit that is whole.
    pub(super) fn recover(&self) -> Result<Recovered> {
        if self.settings.lock_file {
            log::wait_for_the_dead(self.log_place)?;
        }
        let mut alone = None;
        let mut is_first_look = true;
        loop {
            let head = read_head(self.file)?;
            let Some(recovered) = self.try_to_recover()? else { continue };
            let newest = &recovered.chosen.meta;
            if self.settings.lock_file {
                // Nobody is beside this one: what the log has is to be done again.
                return Ok(Recovered { pending: log::find(self.log_place, newest)?, ..recovered });
            }
            let pending = self.find_pending(newest);
            if self.is_overtaken(&head, &pending)? {
                continue;
            }
            // Somebody else may be doing it again: once it is this one's turn it may have been done.
            if pending.as_ref().is_ok_and(Option::is_some) && std::mem::take(&mut is_first_look) {
                alone = self.await_turn();
                continue;
            }
            return Ok(Recovered { pending: pending?, alone, ..recovered });
        }
    }

    /// Waits until nobody else makes the database or does its log again, and keeps others from it; nothing where a lock file
    /// does.
    fn await_turn(&self) -> Option<Held> {
        (!self.settings.lock_file).then(|| Held::wait(self.file, MAKING)).flatten()
    }

    /// What the log holds beyond this commit. Nothing for who only reads, and is told by a lock file in which he has no part that
    /// this is the newest that anybody was told of: what follows is a writer's who is at work, or was killed.
    fn find_pending(&self, newest: &Meta) -> Result<Option<Found>> {
        let found = log::find(self.log_place, newest)?;
        Ok(found.filter(|_| !self.settings.read_only || self.newest_by_lock_file() != Some(newest.txnid)))
    }

    /// Whether what the log seems to hold beyond the commit that was found with this head is that of a writer who goes on
    /// meanwhile. The disk may have its record before its meta page is written: then that follows soon.
    fn is_overtaken(&self, head: &[u8], pending: &Result<Option<Found>>) -> Result<bool> {
        let wait = match pending {
            Ok(None) => return Ok(false),
            Ok(Some(found)) if found.records().len() == 1 => COMMIT_MAX,
            _ => Duration::ZERO,
        };
        let begun = Instant::now();
        while read_head(self.file)? == head {
            if begun.elapsed() >= wait {
                return Ok(false);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(true)
    }

    fn look(&self) -> Result<Look> {
        let head = read_head(self.file)?;
        let (file_bytes, usable) = (self.file_bytes()?, self.decode_slots(&head));
        Ok(Look { head, file_bytes, usable })
    }

    /// Makes a database of what is none yet; whether it did.
    fn create(&self) -> Result<bool> {
        // Somebody else may have done so, and have committed, by the time that it is this one's turn.
        let _alone = self.await_turn();
        let is_new = self.look()?.is_unborn();
        if is_new {
            create::create(self.path, self.settings, self.medium)?;
        }
        Ok(is_new)
    }

    /// Has those who write meanwhile, of whom no lock file tells, keep the newest commit there is until it is proven, and the file
    /// as long as that. None if a newer one was made before it was kept.
    fn keep(&self, found: &mut Look) -> Result<Option<UnregisteredReader>> {
        let keeper = UnregisteredReader::new(self.file.clone());
        // Where a program's own lock is in the way it locks out those who write.
        if let (false, Ok(usable)) = (self.settings.lock_file, &found.usable)
            && keeper.hold(usable[0].1.txnid).is_ok()
        {
            if read_head(self.file)? != found.head {
                return Ok(None);
            }
            found.file_bytes = self.file_bytes()?;
        }
        Ok(Some(keeper))
    }

    /// None if somebody has committed meanwhile.
    fn try_to_recover(&self) -> Result<Option<Recovered>> {
        let mut found = self.look()?;
        let mut is_new = false;
        if !self.settings.read_only && self.settings.create && found.is_unborn() {
            is_new = self.create()?;
            found = self.look()?;
        }
        let Some(_kept) = self.keep(&mut found)? else { return Ok(None) };
        let Look { head, file_bytes, usable } = found;
        let recovered = usable.and_then(|usable| self.recover_from(&usable, file_bytes, None));
        // Without a lock file somebody may write meanwhile, who is to find all as it was: nothing is written before a transaction is.
        let is_whole = recovered.as_ref().is_ok_and(|recovered| recovered.chosen.rejected.is_none());
        if !self.settings.lock_file && !is_whole && read_head(self.file)? != head {
            return Ok(None);
        }
        let mut recovered = recovered?;
        // One that is new has just been flushed.
        recovered.secured = is_new;
        if !self.settings.read_only && self.settings.lock_file && !is_new {
            recover::write_again(&mut recovered.chosen, &recovered.pager, self.medium)?;
            recover::secure(&mut recovered.chosen, self.medium)?;
            recovered.secured = true;
        }
        Ok(Some(recovered))
    }

    /// The newest commit by the lock file, if that is of this data file as the page cache has it, which has all of it: it need not
    /// prove itself to who only reads. (Who writes makes sure that the disk has it, and needs to know its pages for that.)
    fn newest_by_lock_file(&self) -> Option<Txnid> {
        vouched(&self.lock_path, self)
    }

    /// `vouched`: a commit that need not prove itself.
    fn recover_from(&self, usable: &[(usize, Meta)], file_bytes: u64, vouched: Option<Txnid>) -> Result<Recovered> {
        let pager = pager_for(self.file, file_bytes, &usable[0].1, self.settings)?;
        let chosen = recover::choose(&pager, file_bytes, usable, vouched, self.path)?;
        Ok(Recovered { pager, chosen, secured: false, pending: None, alone: None, unregistered: None })
    }

    /// Opens beside others: the newest commit is in shared memory.
    pub(super) fn join(&self, shared: &Shared) -> Result<Recovered> {
        let newest = shared.newest();
        let head = read_head(self.file)?;
        let file_bytes = self.file_bytes()?;
        let usable = self.decode_slots(&head)?;
        let pager = pager_for(self.file, file_bytes, &usable[0].1, self.settings)?;
        // The slots may change under our eyes; a writer looks its slot up again when it begins.
        let (slot, meta) = usable.iter().find(|(_, meta)| meta.txnid == newest).unwrap_or(&usable[0]).clone();
        let chosen = Chosen { slot, meta, unflushed: Vec::new(), rejected: None };
        Ok(Recovered { pager, chosen, secured: true, pending: None, alone: None, unregistered: None })
    }
}

/// Shows others the newest commit that who opened first found.
pub(super) fn show_first(shared: &Shared, found: &Recovered) -> Result<()> {
    let (meta, slot) = (&found.chosen.meta, found.chosen.slot);
    if found.secured {
        shared.publish(&published_durable(meta, slot))?;
        shared.note_flush();
        return shared.set_durable(meta.txnid);
    }
    // It was neither flushed nor, if something newer was rejected, made the newest on disk.
    shared.publish(&published(meta, slot, slot, Mark::Broken))?;
    shared.set_durable(meta.durable())?;
    shared.leave_unsettled()
}

pub(super) fn read_head(file: &File) -> Result<Vec<u8>> {
    let mut head = vec![0; to_usize(HEAD_BYTES)];
    let filled = read_up_to(file, &mut head, 0).map_err(Error::io("read the meta pages"))?;
    head.truncate(filled);
    Ok(head)
}

fn pager_for(file: &Arc<File>, file_bytes: u64, meta: &Meta, settings: &Settings) -> Result<Pager> {
    let page_size = meta.page_size as usize;
    let advice = Advice::new(file.clone(), page_size, settings.file_memory);
    // In an overlay a writer may have had it copied since it was opened.
    let copy = (settings.read_only && overlay::may_be_copied(file)).then(|| overlay::open_anew(file).ok()).flatten();
    let mapped = copy.map_or_else(|| file.clone(), Arc::new);
    let pager = Pager::new(Map::new(&mapped, file_bytes)?, advice, meta.file_id, page_size)?;
    pager.file_has(file_bytes);
    Ok(pager)
}
