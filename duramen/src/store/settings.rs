//! How a database is opened, and how much memory its transactions may take.
//!
//! Owns: what can be chosen, and what holds where nothing was. Must not know: what any of it is for.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::recover::Purpose;
use crate::medium::Medium;
use crate::os::memory;
use crate::readers::Wait;

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

/// How to open a database. What each of these means, [`crate::Options`] says.
#[derive(Clone)]
pub(crate) struct Settings {
    pub read_only: bool,
    pub create: bool,
    pub page_size: usize,
    pub user_number: u64,
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
    /// Relaxed commits do not wait for a checkpoint to be due.
    pub checkpoints_at_once: bool,
}

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
        static USUAL: AtomicUsize = AtomicUsize::new(0);
        self.memory_bytes.unwrap_or_else(|| match USUAL.load(Ordering::Relaxed) {
            0 => {
                let usual = usual_of(memory::for_own());
                USUAL.store(usual, Ordering::Relaxed);
                usual
            }
            known => known,
        })
    }

    /// Memory that a transaction may take for its changed pages once it has filled that.
    pub(crate) fn memory_bytes_large(&self) -> usize {
        self.memory_bytes.unwrap_or_else(|| large_of(memory::for_own()))
    }

    /// What the file is opened for.
    pub(super) fn purpose(&self) -> Purpose {
        if self.read_only { Purpose::Read } else { Purpose::Write }
    }
}

/// What any transaction may take of so many bytes of memory, if nothing was chosen. Who takes more in a control group that
/// has little is killed, and ends himself where his own limits are met.
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
