//! What can be chosen for a bulk load.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::txn::TableOptions;

/// How far a bulk load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkProgress {
    /// Records pushed so far.
    pub pushed: u64,
    /// Records put into pages so far. In a load that sorts this begins when all have been pushed.
    pub stored: u64,
}

/// Called with how far a load is; `Break` ends it.
pub(super) type OnProgress = Box<dyn FnMut(BulkProgress) -> ControlFlow<()> + Send>;

/// Options for a bulk load; the defaults take records in any order.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let db = duramen::Database::open(dir.path().join("words.dm"))?;
/// use duramen::BulkOptions;
/// let mut load = db.bulk_load("words", BulkOptions::new().memory_budget(64 << 20))?;
/// for word in ["pear", "apple", "plum"] {
///     load.push(word, word.len().to_string())?;
/// }
/// assert_eq!(load.finish()?, 3);
/// assert_eq!(db.read()?.table("words")?.keys().next().unwrap()?, b"apple");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct BulkOptions {
    pub(super) table: Option<TableOptions>,
    pub(super) sorted: bool,
    pub(super) unique: bool,
    pub(super) keep_cached: bool,
    pub(super) memory_bytes: Option<usize>,
    pub(super) temp_dir: Option<PathBuf>,
    pub(super) progress: Option<OnProgress>,
}

impl std::fmt::Debug for BulkOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BulkOptions")
            .field("table", &self.table)
            .field("sorted", &self.sorted)
            .field("unique", &self.unique)
            .field("keep_cached", &self.keep_cached)
            .field("memory_bytes", &self.memory_bytes)
            .field("temp_dir", &self.temp_dir)
            .finish_non_exhaustive()
    }
}

impl BulkOptions {
    /// Records in any order; of a key that comes twice the last value counts.
    pub fn new() -> BulkOptions {
        BulkOptions::default()
    }

    /// The table's options, as for [`crate::WriteTxn::table_with`]. Without them: those of the table that is there, or
    /// bytewise order without duplicates.
    pub fn table(mut self, options: TableOptions) -> BulkOptions {
        self.table = Some(options);
        self
    }

    /// The records come in the table's order, so that nothing needs to be sorted: pages are made while records are
    /// pushed. One that does not sort after those before it is then refused with [`crate::Error::AppendOrder`].
    pub fn sorted(mut self, sorted: bool) -> BulkOptions {
        self.sorted = sorted;
        self
    }

    /// Whether it is an error ([`crate::Error::Repeated`]) when a key, or in a table with duplicates a key with the same
    /// value, comes twice. Otherwise the last one counts.
    pub fn unique(mut self, unique: bool) -> BulkOptions {
        self.unique = unique;
        self
    }

    /// Whether to write through the page cache, so that what was loaded is in memory afterwards. Otherwise it is written
    /// past it where the filesystem can do that: faster, and nothing else is driven out, but who reads first waits for
    /// the disk.
    pub fn keep_cached(mut self, keep: bool) -> BulkOptions {
        self.keep_cached = keep;
        self
    }

    /// Memory to sort in; the database's memory budget unless chosen, or 256 MiB (a quarter of the memory there is where
    /// that is less). Less means a larger number of smaller
    /// pieces, and below a few megabytes that these are merged more than once.
    pub fn memory_budget(mut self, bytes: usize) -> BulkOptions {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Where to put the temporary file if memory is not enough to sort in: it takes as much as the records (twice that
    /// while pieces are merged more than once). The data file's directory unless chosen. The file has no name there and
    /// goes away with the process, however it ends.
    pub fn temp_dir(mut self, directory: impl Into<PathBuf>) -> BulkOptions {
        self.temp_dir = Some(directory.into());
        self
    }

    /// Calls a function every few thousand records, while they are pushed and while [`crate::BulkLoad::finish`] is at
    /// work. If it returns `Break`, the load ends with [`crate::Error::Stopped`].
    pub fn on_progress(mut self, report: impl FnMut(BulkProgress) -> ControlFlow<()> + Send + 'static) -> BulkOptions {
        self.progress = Some(Box::new(report));
        self
    }
}
