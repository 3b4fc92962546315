//! What can be chosen when a database is opened. Nothing has to be.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Database;
use crate::error::{Error, Result};
use crate::format::page::{PAGE_MAX, PAGE_MIN};
use crate::readers::Wait;
use crate::store::{Durability, MediumLayer, Settings, Store};
use crate::txn::replay;

/// Options for opening a database; the defaults suit nearly everybody.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// use duramen::{Database, Durability};
/// let db = Database::options().durability(Durability::Relaxed).open(dir.path().join("cache.dm"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Options {
    settings: Settings,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("read_only", &self.settings.read_only)
            .field("create", &self.settings.create)
            .field("page_size", &self.settings.page_size)
            .field("durability", &self.settings.durability)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}

impl Options {
    /// The defaults: durable commits, created if missing, pages of 4 KiB, writers wait for each other.
    pub fn new() -> Options {
        Options {
            settings: Settings {
                read_only: false,
                create: true,
                page_size: 4096,
                user_number: 0,
                durability: Durability::Durable,
                lock_file: true,
                lock_path: None,
                wait: Wait::Forever,
                mode: 0o644,
                memory_bytes: None,
                keep_length: false,
                file_memory: None,
                late_checks: false,
                log: true,
                flush_on_close: true,
                medium: None,
                log_medium: None,
                log_at_once: None,
                checkpoints_at_once: false,
            },
        }
    }

    /// Opens for reading only: nothing is created, and writing is refused. Works on read-only files and media.
    pub fn read_only(mut self, read_only: bool) -> Options {
        self.settings.read_only = read_only;
        self
    }

    /// Whether a missing file is created (it is by default).
    pub fn create(mut self, create: bool) -> Options {
        self.settings.create = create;
        self
    }

    /// Page size of a file that is created: a power of two from 4096 to 65536 bytes. An existing file keeps its own.
    pub fn page_size(mut self, bytes: usize) -> Options {
        self.settings.page_size = bytes;
        self
    }

    /// The number of the caller's own ([`Database::user_number`]) in a file that is created. An existing file keeps its own.
    pub fn user_number(mut self, number: u64) -> Options {
        self.settings.user_number = number;
        self
    }

    /// Whether commits wait for the disk.
    pub fn durability(mut self, durability: Durability) -> Options {
        self.settings.durability = durability;
        self
    }

    /// How long a write transaction waits for another to end: `None` as long as it takes (the default), zero not at
    /// all.
    pub fn write_wait(mut self, limit: Option<Duration>) -> Options {
        self.settings.wait = match limit {
            None => Wait::Forever,
            Some(Duration::ZERO) => Wait::No,
            Some(limit) => Wait::For(limit),
        };
        self
    }

    /// Mode of files that are created: permissions (the process's umask takes from them), and the setgid and sticky bits.
    pub fn mode(mut self, mode: u32) -> Options {
        self.settings.mode = mode;
        self
    }

    /// Memory that a write transaction may fill with changed pages before it writes some of them early. Unless chosen,
    /// an eighth of what the machine has available and the process's control group and limits (`ulimit -v`, `-d`) allow, and
    /// 256 MiB at least, or a quarter of it where that is less. Little makes a large transaction in random order slow: most pages are then
    /// written, and read again, many times.
    pub fn memory_budget(mut self, bytes: usize) -> Options {
        self.settings.memory_bytes = Some(bytes);
        self
    }

    /// Bytes of memory that the operating system can spend on the data file, if that is known better than by looking at
    /// what the machine has available and what the process's control group allows. Nothing is reserved: it says how the
    /// file is best read. One of more than half of it is read page by page, ahead where it is known what comes next;
    /// any other in the large pieces that the operating system chooses. So 0 turns the latter off.
    pub fn file_memory(mut self, bytes: u64) -> Options {
        self.settings.file_memory = Some(bytes);
        self
    }

    /// Whether cursors and iterators hand out large values (those that have pages of their own) before they are verified,
    /// where they are not in memory; without this no value is. Walking over such entries for their keys then reads nothing
    /// of the values. A value that the program reads is verified when the same transaction's walk has come some values
    /// further, or to its end: damage is that call's error. If most are read, those that come next are verified first.
    /// `get`, a cursor's `seek`, and whatever else looks for a value by its very key, give none that was not verified; nor is
    /// any copied ([`crate::Database::copy_compact`]). [`crate::Snapshot::late_checks`] chooses for one transaction.
    pub fn late_checks(mut self, late: bool) -> Options {
        self.settings.late_checks = late;
        self
    }

    /// Path of the lock file, if it shall not be the data file's with `-lock` appended (of a file `data.mdb` it is
    /// `lock.mdb`; symbolic links are followed first). All who open the database must name the same, and who opens another
    /// one something else: while this one is open that is [`crate::Error::Usage`]. What is there already must be a lock
    /// file, or empty.
    pub fn lock_path(mut self, path: impl Into<PathBuf>) -> Options {
        self.settings.lock_path = Some(path.into());
        self
    }

    /// Whether the file keeps its length when space at its end becomes free, also length that another program gave it.
    /// Without this it is cut off.
    pub fn keep_length(mut self, keep: bool) -> Options {
        self.settings.keep_length = keep;
        self
    }

    /// Uses no lock file.
    ///
    /// The caller then sees to it that nobody else reads or writes while one writes: a writer does not know of readers of
    /// other handles. What they have committed is found when a transaction begins. [`Database::checkpoint`] and
    /// [`Database::sync`] count as writing; opening and closing do not.
    pub fn without_lock_file(mut self) -> Options {
        self.settings.lock_file = false;
        self
    }

    /// Makes no log: each durable commit flushes the data file. Small ones take several times as long then. What a log
    /// of others holds is done again all the same.
    pub fn without_log(mut self) -> Options {
        self.settings.log = false;
        self
    }

    /// Whether closing makes relaxed commits durable (it does by default). Without this they are left to the next checkpoint,
    /// as if the process had been killed: closing, and opening again, then do not wait for the disk, unless a checkpoint is
    /// due. For programs that open and close a database for each of their commits. Of no effect
    /// [without a lock file](Options::without_lock_file): nobody would tell the next that what was left is whole.
    pub fn flush_on_close(mut self, flush: bool) -> Options {
        self.settings.flush_on_close = flush;
        self
    }

    /// Makes a log of this length for the first commit, and uses it whether or not it pays: for simulators, which do not
    /// live long.
    #[doc(hidden)]
    pub fn log_at_once(mut self, bytes: u64) -> Options {
        self.settings.log_at_once = Some(bytes);
        self
    }

    /// Has a checkpoint begin beside each relaxed commit, unless one is under way: for simulators.
    #[doc(hidden)]
    pub fn checkpoints_at_once(mut self) -> Options {
        self.settings.checkpoints_at_once = true;
        self
    }

    /// Puts a medium of the caller's between the engine and the log: for simulators and fault tests.
    #[doc(hidden)]
    pub fn log_medium(mut self, layer: MediumLayer) -> Options {
        self.settings.log_medium = Some(layer);
        self
    }

    /// Puts a medium of the caller's between the engine and the file: for simulators and fault tests.
    #[doc(hidden)]
    pub fn medium(mut self, layer: MediumLayer) -> Options {
        self.settings.medium = Some(layer);
        self
    }

    /// Opens the database.
    ///
    /// # Errors
    /// [`Error::File`] if the system refuses; [`Error::NotADatabase`], [`Error::OtherVersion`], [`Error::Truncated`],
    /// [`Error::Corrupt`], [`Error::ForeignLog`], [`Error::DamagedLog`] for files that cannot be used, each saying why;
    /// [`Error::Unreplayed`] if a power cut left a log, and it may not be written to the data file; [`Error::Usage`] for a page
    /// size that no file has, a lock file that another database or another version has open, and a data file in whose place
    /// another was put meanwhile.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        let bytes = self.settings.page_size;
        if !bytes.is_power_of_two() || !(PAGE_MIN..=PAGE_MAX).contains(&bytes) {
            return Err(Error::Usage { what: "a page size must be a power of two from 4096 to 65536 bytes" });
        }
        let path = path.as_ref();
        let store = match open(path, &self.settings) {
            Err(unreplayed @ Error::Unreplayed { .. }) => {
                // Whoever may write does so once; then there is nothing left to do again.
                let settings = Settings { read_only: false, create: false, ..self.settings.clone() };
                drop(open(path, &settings).map_err(|error| if is_refused(&error) { unreplayed } else { error })?);
                open(path, &self.settings)?
            }
            other => other?,
        };
        Ok(Database { store, queue: Arc::default(), inside: Arc::default() })
    }
}

fn open(path: &Path, settings: &Settings) -> Result<Arc<Store>> {
    let store = Arc::new(Store::open(path, settings.clone())?);
    replay::run(&store)?;
    Ok(store)
}

/// Whether the system does not let this process write the file.
fn is_refused(error: &Error) -> bool {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error, Error::File { source, .. } if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem))
}
