//! Flushing a file from several threads.
//!
//! Owns: that a failure is told to all of them. Must not know: why the file is flushed.
//!
//! The kernel tells of pages that it could not write once for each time that the file was opened, to whoever flushes first;
//! it then takes them for written. So flushes come one after the other, and after one that failed none succeeds.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::fdatasync;
use rustix::io::{Result, retry_on_intr};

/// A file to be flushed.
pub(crate) struct Flusher {
    pub file: Arc<File>,
    before: Mutex<Result<()>>,
}

impl Flusher {
    pub(crate) fn new(file: Arc<File>) -> Flusher {
        Flusher { file, before: Mutex::new(Ok(())) }
    }

    /// Has the disk take all that was written to the file before, and what is needed to find it there.
    pub(crate) fn flush(&self) -> Result<()> {
        let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        (*before)?;
        *before = retry_on_intr(|| fdatasync(&*self.file));
        *before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_flush_that_failed_none_succeeds() {
        let flusher = Flusher::new(Arc::new(tempfile::tempfile().unwrap()));
        flusher.flush().unwrap();
        // The kernel flushes no pipe.
        let (end, _other) = std::io::pipe().unwrap();
        let mut flusher = Flusher::new(Arc::new(File::from(std::os::fd::OwnedFd::from(end))));
        let failed = flusher.flush().unwrap_err();
        flusher.file = Arc::new(tempfile::tempfile().unwrap());
        assert_eq!(flusher.flush(), Err(failed));
    }
}
