//! What a failed write of a meta page, or a failed flush, leaves behind: no more writing.
//!
//! Owns: the poison, and its spreading to every handle of the same file in this process. Must not know: what failed.
//!
//! The kernel tells of a failed flush once to each open file. Another handle of this process could go on until its own
//! next flush, and build on what is not on disk; so all of them share one poison. It is gone with the last of them.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::error::{Error, Result};

/// Why nothing more is written, once there is a reason.
#[derive(Debug, Default)]
pub(crate) struct Poison {
    cause: OnceLock<String>,
}

/// A file, by device and inode.
type Inode = (u64, u64);

static OPEN: Mutex<Vec<(Inode, Weak<Poison>)>> = Mutex::new(Vec::new());

impl Poison {
    /// The poison that all handles of this file share.
    pub(crate) fn of(file: &File) -> Result<Arc<Poison>> {
        let metadata = file.metadata().map_err(Error::io("inspect the data file"))?;
        let inode = (metadata.dev(), metadata.ino());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, poison)| poison.strong_count() > 0);
        let known = open.iter().find(|(other, _)| *other == inode).and_then(|(_, poison)| poison.upgrade());
        Ok(known.unwrap_or_else(|| {
            let poison = Arc::default();
            open.push((inode, Arc::downgrade(&poison)));
            poison
        }))
    }

    /// Says why nothing more may be written; the first cause stays.
    pub(crate) fn by(&self, cause: String) {
        let _ = self.cause.set(cause);
    }

    /// Whether there is a reason not to write.
    pub(crate) fn is_there(&self) -> bool {
        self.cause.get().is_some()
    }

    /// An error if there is a reason not to write.
    pub(crate) fn check(&self) -> Result<()> {
        match self.cause.get() {
            Some(what) => Err(Error::Poisoned { what: what.clone() }),
            None => Ok(()),
        }
    }
}

/// The last handle of a file has gone: it is forgotten. A library that is unloaded leaves nothing behind.
impl Drop for Poison {
    fn drop(&mut self) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, poison)| poison.strong_count() > 0);
        if open.is_empty() {
            open.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_of_one_file_share_their_poison_until_the_last_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("file"), tempfile::tempfile().unwrap());
        let handles = [File::create(&path).unwrap(), File::open(&path).unwrap()];
        let [one, two] = handles.each_ref().map(|file| Poison::of(file).unwrap());
        one.by("a failure".into());
        one.by("a later one".into());
        assert!(matches!(two.check(), Err(Error::Poisoned { what }) if what == "a failure"));
        assert!(!Poison::of(&other).unwrap().is_there());
        assert!(Poison::of(&handles[0]).unwrap().is_there(), "who opens it beside them is poisoned too");
        drop((one, two));
        assert!(!Poison::of(&handles[0]).unwrap().is_there());
    }
}
