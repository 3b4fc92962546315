//! How a handle comes to its part in the shared state: as the first to have the database open, beside others, or in the place
//! of those who have gone.
//!
//! Owns: whose state a lock file holds, and whether that can be gone on with. Must not know: what the state is used for.
//!
//! Where all processes closed the database or died, whoever opens it next goes on with their state, as if one of them
//! were still there: if it is the same file of the same boot, and all had been flushed or it is the same mount too, so
//! that the page cache has whatever they wrote; if what they published last is what the file holds; and if no flush
//! failed, or was under way. Else the first opener makes the state anew.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::memory::Memory;
use super::{FAILED, OPENER, Published, Role, SUCCESSION};
use crate::error::{Error, Result};
use crate::ids::Txnid;
use crate::os::file;
use crate::os::identity::{self, Identity};
use crate::os::lock::{self, Kind, LockFile};

/// What the header's words of these names hold: this program's lock files, and the version of their layout.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"duramenL");

/// Whether a file that begins so is a lock file, of whatever version, or was to become one.
pub(crate) fn may_be_lock_file(head: &[u8]) -> bool {
    let magic = head.get(..8).unwrap_or(head);
    *magic == MAGIC.to_le_bytes() || magic.iter().all(|&byte| byte == 0)
}
pub(super) const VERSION: u64 = 6;

/// The data file that a handle has opened, as far as the lock file has to do with it.
pub(crate) trait DataFile {
    /// Which one it is, if the system tells.
    fn identity(&self) -> Option<Identity>;

    /// Whether it is another one than this.
    fn is_another(&self, known: &Identity) -> bool;

    /// Has the lock file that was just made be for the users of this file, too.
    fn share(&self, lock_file: &File);

    /// Whether it still has the name that it was opened by.
    fn is_in_place(&self) -> Result<bool>;

    /// Whether the lock file's name is made from this file's, so that who has it has, or had, the data file of that name.
    fn gives_lock_file_its_name(&self) -> bool;

    /// An error if what is in the file beside it is not to be lost when that becomes its lock file.
    fn check_lock_file(&self, lock_file: &File) -> Result<()>;

    /// Whether it holds what was published last. `unsettled`: a writer died in its transaction.
    fn holds(&self, newest: &Published, unsettled: bool) -> bool;
}

/// Takes the opener's lock and looks at the state. Nothing if the file is to be opened anew: it was removed meanwhile,
/// or its first opener went away before it was done.
pub(super) fn admit(lock_file: LockFile, path: &Path, data: &dyn DataFile) -> Result<Option<(Memory, Role)>> {
    let first = lock::try_lock(&lock_file, OPENER, Kind::Exclusive)?;
    if !first {
        lock::lock(&lock_file, OPENER, Kind::Shared)?;
    }
    if !file::is_still_at(&lock_file, path)? {
        return Ok(None);
    }
    if !first {
        let Some(memory) = Memory::join(lock_file)? else { return Ok(None) };
        if !is_ready(&memory)? {
            return Ok(None);
        }
        let theirs = identity_in(&memory);
        if theirs != Identity::default() && data.is_another(&theirs) {
            return make_way(&memory, path, data).map(|()| None);
        }
        return Ok(Some((memory, Role::Joined)));
    }
    let keep = |memory: &Memory| is_left_by_others(memory, data);
    let (memory, kept) = Memory::take_over(lock_file, keep, |file| data.check_lock_file(file))?;
    if kept {
        tracing::debug!(path = %path.display(), "going on with what others left");
        memory.forget_use()?;
        memory.file().map_or(Ok(()), |file| lock::lock(file, OPENER, Kind::Shared))?;
        return Ok(Some((memory, Role::Joined)));
    }
    let header = memory.header();
    for (to, word) in header.identity.iter().zip(data.identity().unwrap_or_default()) {
        to.store(word, Ordering::Relaxed);
    }
    header.version.store(VERSION, Ordering::Relaxed);
    header.magic.store(MAGIC, Ordering::Release);
    Ok(Some((memory, Role::First)))
}

/// Removes a lock file of those who have another data file open, which had this one's name before. They go on with it, and
/// whoever opens the new one gets a lock file of his own.
fn make_way(memory: &Memory, path: &Path, data: &dyn DataFile) -> Result<()> {
    let Some(lock_file) = memory.file() else { return Ok(()) };
    // One after the other: the next one's lock file is not to be removed by who comes late.
    lock::lock(lock_file, SUCCESSION, Kind::Exclusive)?;
    if !file::is_still_at(lock_file, path)? {
        return Ok(());
    }
    if !data.gives_lock_file_its_name() {
        return Err(Error::Usage {
            what: "the lock file chosen is that of another data file, which is open: give each a lock file of its own",
        });
    }
    if !data.is_in_place()? {
        return Err(Error::Usage {
            what: "another file took the data file's place while it was being opened: open it again",
        });
    }
    tracing::info!(path = %path.display(), "a new lock file: the one that was there is of a data file that has gone from here");
    std::fs::remove_file(path).map_err(file::failed("remove another data file's", path))
}

fn identity_in(memory: &Memory) -> Identity {
    memory.header().identity.each_ref().map(|word| word.load(Ordering::Relaxed))
}

/// Whether there is a state that one can join.
fn is_ready(memory: &Memory) -> Result<bool> {
    let header = memory.header();
    if header.magic.load(Ordering::Acquire) != MAGIC || header.ready.load(Ordering::Acquire) != 1 {
        return Ok(false);
    }
    if header.version.load(Ordering::Relaxed) != VERSION {
        return Err(Error::Usage { what: "a program of another version has the database open: close it there first" });
    }
    Ok(true)
}

/// Whether a state that nobody has a part in any more can be gone on with: see the module's head.
fn is_left_by_others(memory: &Memory, data: &dyn DataFile) -> bool {
    whole_by(memory, data, 1).is_some() && memory.blocks().is_ok()
}

/// The commit published last, if this is the state of the data file, which holds that, and has all of it; with less doubt of
/// that than this.
fn whole_by(memory: &Memory, data: &dyn DataFile, doubt: u64) -> Option<Txnid> {
    let header = memory.header();
    let found = identity_in(memory);
    let newest = Txnid(header.newest.word.load(Ordering::SeqCst));
    let unsettled = header.writing.word.load(Ordering::Acquire) != 0;
    let durable = Txnid(header.durable.word.load(Ordering::Acquire));
    let on_disk = !unsettled && durable == newest;
    // A writer that dies may have made durable what it had yet to publish.
    let possible = unsettled || durable <= newest;
    let same = if on_disk { identity::is_same_file } else { identity::is_same_cache };
    let known = data.identity().is_some_and(|identity| same(&identity, &found))
        && is_ready(memory).is_ok_and(|ready| ready)
        && possible
        && header.doubt.word.load(Ordering::Acquire) < doubt;
    let words = known.then(|| memory.record(newest.0).read(newest)).flatten()?;
    data.holds(&Published { txnid: newest, words }, unsettled).then_some(newest)
}

/// The newest commit by the lock file at `path`, if that says that the page cache has all of it: for who reads without a part
/// in that file. Nothing is locked, so that nobody takes this for the part of a handle.
pub(crate) fn vouched(path: &Path, data: &dyn DataFile) -> Option<Txnid> {
    let memory = Memory::copy_of(&file::open_lock_to_read(path)?).ok()??;
    // The page cache has what is being flushed: who reads by the lock file does so meanwhile, too.
    whole_by(&memory, data, FAILED)
}
