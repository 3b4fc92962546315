//! What a failed write of a meta page, or a failed flush, leaves behind: no more writing.
//!
//! Owns: the poison. Must not know: what failed, how handles of a file find what they have in common.
//!
//! The kernel tells of a failed flush once to each open file. Another handle of this process could go on until its own
//! next flush, and build on what is not on disk; so all of them share one poison. It is gone with the last of them.

use std::fs::Metadata;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::os::common;

/// Why nothing more is written, once there is a reason.
#[derive(Debug, Default)]
pub(crate) struct Poison {
    cause: OnceLock<String>,
}

impl Poison {
    /// The poison that all handles of this file share.
    pub(crate) fn of(file: &Metadata) -> Arc<Poison> {
        common::of(file)
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

impl Drop for Poison {
    fn drop(&mut self) {
        common::forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn handles_of_one_file_share_their_poison_until_the_last_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("file"), tempfile::tempfile().unwrap());
        let handles = [File::create(&path).unwrap(), File::open(&path).unwrap()];
        let of = |file: &File| Poison::of(&file.metadata().unwrap());
        let [one, two] = handles.each_ref().map(of);
        one.by("a failure".into());
        one.by("a later one".into());
        assert!(matches!(two.check(), Err(Error::Poisoned { what }) if what == "a failure"));
        assert!(!of(&other).is_there());
        assert!(of(&handles[0]).is_there(), "who opens it beside them is poisoned too");
        drop((one, two));
        assert!(!of(&handles[0]).is_there());
    }
}
