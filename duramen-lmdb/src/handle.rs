//! The database that an environment has open, and that a forked child opens once more.
//!
//! Owns: which of the engine's handles this process may use. Must not know: transactions, settings.
//!
//! The engine's handles do not survive `fork`. Programs that were written for LMDB go on with what they inherit, above
//! all those that hand out their reading to worker processes; so the first call that needs a handle makes one. It
//! has locks and places of its own, and what the parent holds stays the parent's.
//!
//! # Safety
//! The engine's handle is dropped with ours, once, or never.
#![allow(unsafe_code)]

use std::fs;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use duramen::{Database, Error, Options};

use crate::errors::Result;

/// A file, by device and inode, for as long as it is open.
pub(crate) type FileId = (u64, u64);

/// See the module's head.
pub struct Handle {
    db: ManuallyDrop<Database>,
    /// The file that it was opened on, unless the system does not say.
    file: Option<FileId>,
    options: Options,
    path: PathBuf,
    /// What a child of the process that opened `db` has in its place.
    heir: OnceLock<Box<Handle>>,
}

impl Handle {
    /// Opens the database. A copy of it may have been put back where a program was killed, as is done with LMDB's files: the
    /// log that this left is of no use to it, and is set aside.
    pub fn open(options: Options, path: &Path) -> std::result::Result<Handle, Error> {
        let db = match options.clone().open(path) {
            Err(Error::ForeignLog { path: log, .. }) if set_aside(&log) => options.clone().open(path)?,
            opened => opened?,
        };
        // A child may want it once more, from wherever it is then.
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let (file, db) = (file_of(&db), ManuallyDrop::new(db));
        Ok(Handle { db, file, options, path, heir: OnceLock::new() })
    }

    /// The database, as this process may use it.
    #[inline]
    pub fn db(&self) -> Result<&Database> {
        if self.db.is_inherited() { self.heir() } else { Ok(&self.db) }
    }

    /// Whether a child of the process that opened the database asks.
    pub fn is_inherited(&self) -> bool {
        self.db.is_inherited()
    }

    #[cold]
    fn heir(&self) -> Result<&Database> {
        let heir = match self.heir.get() {
            Some(heir) => heir,
            None => {
                let heir = Box::new(self.opened_again()?);
                // If another thread has been faster, its own is taken, and this one closes.
                self.heir.get_or_init(|| heir)
            }
        };
        heir.db()
    }

    fn opened_again(&self) -> Result<Handle> {
        if !self.is_still_there() {
            return Err(Error::Forked.into());
        }
        Ok(Handle::open(self.options.clone().create(false), &self.path)?)
    }

    /// Whether the path leads to the file that was opened.
    fn is_still_there(&self) -> bool {
        let there = fs::metadata(&self.path).map(|there| (there.dev(), there.ino()));
        self.file.is_some_and(|opened| there.is_ok_and(|there| there == opened))
    }

    /// The file that was opened, unless the system does not say.
    pub(crate) fn file(&self) -> Option<FileId> {
        self.file
    }

    /// The descriptor that the file was opened with: in a child, too. There are programs (Samba's) that ask for it there to close
    /// it, so it is none that the child works with.
    pub(crate) fn descriptor(&self) -> RawFd {
        self.db.as_fd().as_raw_fd()
    }
}

/// The file that a database is open on.
fn file_of(db: &Database) -> Option<FileId> {
    let opened = rustix::fs::fstat(db.as_fd()).ok()?;
    Some((opened.st_dev, opened.st_ino))
}

impl Drop for Handle {
    fn drop(&mut self) {
        // What a child has closed it may have opened something else as.
        if self.db.is_inherited() && file_of(&self.db) != self.file {
            return;
        }
        // SAFETY: it is not used any more.
        unsafe { ManuallyDrop::drop(&mut self.db) };
    }
}

/// Gives a log a name that nobody looks for; false if that cannot be done.
fn set_aside(log: &Path) -> bool {
    let mut aside = log.as_os_str().to_owned();
    aside.push(".unused");
    let is_done = fs::rename(log, &aside).is_ok();
    if is_done {
        let (log, aside) = (log.display(), Path::new(&aside).display());
        let _ = writeln!(
            std::io::stderr(),
            "liblmdb: {log} goes on from another state than the database is in (was a copy put in its place?): it is now {aside}"
        );
    }
    is_done
}
