//! A database: opening one, beginning transactions, asking about it.

mod compact;
mod helper;
mod inside;
mod options;
mod queue;
mod submit;

use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::check::{self, CheckReport, Stats};
use crate::copy;
use crate::error::{Error, Result};
use crate::ids::Txnid;
use crate::readers::Wait;
use crate::store::{Durability, Store};
use crate::txn::{BulkLoad, BulkOptions, Snapshot, WriteTxn};

pub use options::Options;
pub use submit::Submitted;

/// How long who closes a database waits for a thread that is about to let go of it.
const LET_GO: Duration = Duration::from_secs(1);

/// An open database. Clones share it; it closes when the last clone and the last transaction are gone.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("people.dm");
/// let db = duramen::Database::open(path)?;
/// db.update(|txn| txn.table("people")?.put(b"bjensen", b"Barbara Jensen"))?;
/// let snapshot = db.read()?;
/// assert_eq!(snapshot.table("people")?.get(b"bjensen")?, Some(&b"Barbara Jensen"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Database {
    store: Arc<Store>,
    queue: Arc<queue::Queue>,
    inside: Arc<inside::Inside>,
}

/// The data file's own descriptor, for questions and hints. Whoever writes through it destroys the database.
impl AsFd for Database {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.store.file().as_fd()
    }
}

/// A panic in a closure aborts its transaction, and nothing else of a database is changed half-way by one: `catch_unwind` may
/// be given closures that have it.
impl UnwindSafe for Database {}
impl RefUnwindSafe for Database {}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Database({})", self.store.path.display())
    }
}

/// A running read transaction, of whatever process.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reader {
    /// Its process.
    pub pid: u64,
    /// The snapshot that it reads.
    pub txnid: Txnid,
    /// When it began, in milliseconds since 1970.
    pub since_ms: u64,
    /// The thread that began it, by its process's own number for it.
    pub thread: u64,
    /// Freed pages that the file must keep because this snapshot sees them.
    pub pages_held: u64,
}

#[cfg(test)]
impl Database {
    /// What is below, for tests of that.
    pub(crate) fn store(&self) -> &Arc<Store> {
        &self.store
    }
}

impl Database {
    /// Opens a database, creating the file if there is none. Nothing needs to be sized or tuned; see [`Options`] for
    /// what can be chosen.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Options::new().open(path)
    }

    /// Options to open a database with.
    pub fn options() -> Options {
        Options::new()
    }

    /// Begins reading the newest state. Takes no lock and never waits.
    ///
    /// # Errors
    /// [`Error::Truncated`] if somebody has cut the file off; [`Error::Io`] if the lock file cannot be made longer for
    /// more readers.
    #[inline]
    pub fn read(&self) -> Result<Snapshot<'_>> {
        Snapshot::begin(crate::txn::StoreRef::Borrowed(&self.store))
    }

    /// As [`Database::read`], but the snapshot keeps the database open by itself.
    ///
    /// # Errors
    /// As [`Database::read`].
    pub fn read_owned(&self) -> Result<Snapshot<'static>> {
        Snapshot::begin(crate::txn::StoreRef::Shared(self.store.clone()))
    }

    /// The newest commit in numbers, without becoming a reader of it: [`Snapshot::txnid`], [`Snapshot::pages`] and
    /// [`Snapshot::main_stats`] answer; all else is an error, as with a snapshot that was reset.
    pub fn glance(&self) -> Result<Snapshot<'_>> {
        Snapshot::glance(crate::txn::StoreRef::Borrowed(&self.store))
    }

    /// Runs a closure in a write transaction and commits it if the closure returns `Ok`. Waits for other writers as
    /// the options say: for ever, if this thread has another write transaction under way, which is not a closure's.
    ///
    /// # Errors
    /// [`Error::Usage`] in a closure that changes the database itself, which it would wait for. Whatever the closure
    /// returns ([`Error::other`] for errors of your own), or the commit. Nothing remains of the transaction then.
    pub fn update<R>(&self, change: impl FnOnce(&mut WriteTxn<'_>) -> Result<R>) -> Result<R> {
        let mut txn = self.begin_write()?;
        let inside = self.inside.enter();
        let value = change(&mut txn)?;
        drop(inside);
        txn.commit()?;
        Ok(value)
    }

    /// Begins the one write transaction. Waits for other writers as the options say, those of this thread too.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::Busy`] if the options limit the wait; [`Error::Poisoned`]; [`Error::Usage`] as for
    /// [`Database::update`].
    pub fn begin_write(&self) -> Result<WriteTxn<'static>> {
        self.check_wait()?;
        WriteTxn::begin(&self.store, self.store.settings.wait, self.store.settings.durability)
    }

    /// Refuses to wait for ever for what cannot end meanwhile.
    fn check_wait(&self) -> Result<()> {
        if matches!(self.store.settings.wait, Wait::Forever) { self.inside.check() } else { Ok(()) }
    }

    /// Begins the write transaction if there is no other; [`Error::Busy`] otherwise.
    pub fn try_begin_write(&self) -> Result<WriteTxn<'static>> {
        WriteTxn::begin(&self.store, Wait::No, self.store.settings.durability)
    }

    /// Begins the write transaction after waiting at most this long for others; [`Error::Busy`] after that.
    pub fn begin_write_within(&self, limit: Duration) -> Result<WriteTxn<'static>> {
        WriteTxn::begin(&self.store, Wait::For(limit), self.store.settings.durability)
    }

    /// Has `hear` be told what transactions of this handle and its clones have said ([`WriteTxn::say`]), all of a commit at
    /// once and in the order of commits: when it is as durable as it is to be, and before whoever waits for it is told. Who
    /// listened before does so no more. Other writers wait meanwhile, so it may not wait for one, and should be brief.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let db = duramen::Database::open(dir.path().join("it.dm"))?;
    /// let (tell, told) = std::sync::mpsc::channel();
    /// db.listen(move |said| drop(tell.send(said.to_vec())));
    /// db.update(|txn| {
    ///     txn.table("people")?.put(b"bjensen", b"Barbara Jensen")?;
    ///     txn.say(b"bjensen is there");
    ///     Ok(())
    /// })?;
    /// assert_eq!(told.recv()?, b"bjensen is there");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn listen(&self, hear: impl Fn(&[u8]) + Send + Sync + 'static) {
        self.store.listener.set(Arc::new(hear));
    }

    /// Begins to load a table as a whole, from records in any order, and to commit that: far faster than putting them one
    /// by one. The table is made if it is not there, and must be empty if it is. `""`: the main table.
    ///
    /// All or nothing: the records are there when [`BulkLoad::finish`] has returned. Waits for other writers as the
    /// options of the database say.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let db = duramen::Database::open(dir.path().join("squares.dm"))?;
    /// let mut load = db.bulk_load("squares", duramen::BulkOptions::new())?;
    /// for i in (0..1000u32).rev() {
    ///     load.push(i.to_be_bytes(), (i * i).to_string())?;
    /// }
    /// assert_eq!(load.finish()?, 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`WriteTxn::bulk_load`] and [`Database::begin_write`].
    pub fn bulk_load(&self, name: impl AsRef<[u8]>, options: BulkOptions) -> Result<BulkLoad<'static>> {
        BulkLoad::begin(self.begin_write()?, name.as_ref(), options)
    }

    /// Makes everything that is committed survive a power cut, in the data file itself. With [`Durability::Durable`] it
    /// does survive already, if need be by what is in the log; pages that were kept until now can be reused.
    ///
    /// This also happens by itself: when the log is full (an eighth of the data file; at least 1 MiB, at most 32); when a
    /// commit finds that as much is new since the last time as the data file is long (at least 16 MiB, and at most a
    /// sixteenth of the memory, which counts for at least 128 MiB and at most 512); beside commits with
    /// [`Durability::Relaxed`], which go on meanwhile, at half of that sixteenth or after five seconds; and when the last
    /// user closes the database.
    ///
    /// # Errors
    /// As [`Database::begin_write`], and what the flush meets.
    pub fn checkpoint(&self) -> Result<()> {
        self.check_wait()?;
        self.store.checkpoint(self.store.settings.wait)
    }

    /// As [`Database::checkpoint`], but never waits for a writer, who may be the caller. While there is one, what is
    /// committed is flushed all the same, and survives a power cut. The next write transaction of this handle goes on from
    /// there; that of another one begins with a checkpoint.
    ///
    /// # Errors
    /// What the flush meets; and while there is a writer for seconds, that another handle has been told of what could not be
    /// written, or died while it flushed. The next transaction writes that again.
    pub fn sync(&self) -> Result<()> {
        self.store.sync()
    }

    /// A number of the caller's own, as the newest commit has it: see [`WriteTxn::set_user_number`]. In a new
    /// file 0, or [`Options::user_number`].
    pub fn user_number(&self) -> Result<u64> {
        check::user_number(&self.store)
    }

    /// Wall clock of the newest commit, in nanoseconds since 1970; 0 if there was none. [`Database::stats`] has it too, and
    /// takes time for all that is free.
    pub fn committed_ns(&self) -> Result<u64> {
        check::committed_ns(&self.store)
    }

    /// Writes the newest commit to `out`, as a database file that needs no other. Nobody is kept from writing
    /// meanwhile. Nothing is sought: `out` may be a pipe.
    ///
    /// # Errors
    /// [`Error::Io`], from `out` too; [`Error::Corrupt`] if the meta page cannot be found.
    pub fn copy_to(&self, out: &mut dyn std::io::Write) -> Result<()> {
        copy::to_stream(&self.store, out)
    }

    /// As [`Database::copy_to`], into a file that is empty, and durable on return. It is written past the page cache
    /// where the filesystem can do that.
    ///
    /// # Errors
    /// As [`Database::copy_to`]; [`Error::Usage`] if the file is not empty, or no file.
    pub fn copy_to_file(&self, file: &std::fs::File) -> Result<()> {
        copy::to_file(&self.store, file)
    }

    /// Copies the newest commit into a new database without free space: shorter, and faster to read through. Nobody is
    /// kept from writing meanwhile. Tables in orders of their own need no functions. `progress` is called with (entries
    /// copied, entries in all) now and then, and ends the copy with `Break`. On return the file is durable, but for its
    /// name in its directory. It may be there before if it is empty; if it was not, an error leaves none.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let db = duramen::Database::open(dir.path().join("people.dm"))?;
    /// db.update(|txn| txn.table("people")?.put(b"bjensen", b"Barbara Jensen"))?;
    /// let path = dir.path().join("smaller.dm");
    /// db.copy_compact(&path, |_, _| std::ops::ControlFlow::Continue(()))?;
    /// assert_eq!(duramen::Database::open(path)?.read()?.table("people")?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] if the file has anything in it, [`Error::Stopped`] if `progress` said so, [`Error::Io`],
    /// [`Error::File`], [`Error::Corrupt`].
    pub fn copy_compact(
        &self,
        path: impl AsRef<Path>,
        mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<()> {
        compact::compact(self, path.as_ref(), &mut progress)
    }

    /// Whether this process is a forked child of the one that opened the handle: then it is of no use here.
    #[inline]
    pub fn is_inherited(&self) -> bool {
        self.store.shared.is_forked()
    }

    /// Whether the snapshots of this handle stand in the lock file. They do not
    /// [without one](Options::without_lock_file), nor where it cannot be written to: on media that are read-only.
    pub fn registers_readers(&self) -> bool {
        self.store.registers_readers()
    }

    /// The file's path as it was given.
    pub fn path(&self) -> &Path {
        &self.store.path
    }

    /// Whether commits wait for the disk unless told otherwise.
    pub fn durability(&self) -> Durability {
        self.store.settings.durability
    }

    /// Bytes in a page of the file.
    pub fn page_size(&self) -> usize {
        self.store.pager.page_size
    }

    /// Longest key, and longest duplicate, that its tables hold.
    pub fn key_bytes_max(&self) -> usize {
        crate::format::leaf::key_max(self.store.pager.page_size)
    }

    /// The database in numbers.
    pub fn stats(&self) -> Result<Stats> {
        check::stats(&self.store)
    }

    /// Who reads, in all processes, oldest snapshot first.
    pub fn readers(&self) -> Result<Vec<Reader>> {
        let ledger = check::ledger(&self.store)?;
        let mut readers: Vec<Reader> = self
            .store
            .shared
            .list_readers()?
            .into_iter()
            .map(|r| Reader {
                pid: r.pid,
                txnid: r.txnid,
                since_ms: r.since,
                thread: r.thread,
                pages_held: ledger.space.blocked_by(r.txnid),
            })
            .collect();
        readers.sort_by_key(|reader| reader.txnid);
        Ok(readers)
    }

    /// How many places in the reader table have been used, at once or one after the other, since somebody opened the database
    /// who found nobody else, if this handle has used so many itself.
    pub fn reader_places(&self, own: u32) -> Result<u32> {
        let (before, others) = self.store.shared.used_by_others()?;
        Ok(own.max(before).saturating_add(others))
    }

    /// Clears what dead processes left in the reader table, and returns how many readers that were. Writers do it by
    /// themselves.
    pub fn clear_dead_readers(&self) -> Result<usize> {
        self.store.shared.clear_dead()
    }

    /// Verifies every page of the newest snapshot, and that each page of the file is exactly one of reachable, free,
    /// retired or meta. `progress` is called with (pages seen, pages in all) now and then.
    ///
    /// # Errors
    /// Only what keeps the check from running; findings are in the report.
    pub fn check(&self, progress: impl FnMut(u64, u64)) -> Result<CheckReport> {
        check::check(&self.store, progress)
    }

    /// Closes the database and reports what a drop would only log.
    ///
    /// # Errors
    /// [`Error::Usage`] if clones or transactions still use it; or what the last checkpoint met.
    pub fn close(self) -> Result<()> {
        let store = Arc::try_unwrap(self.store).or_else(|shared| {
            // Who leads for futures lets go of it a little after they have been told.
            if !shared.shared.is_forked() {
                self.queue.helper.wait_until_done(LET_GO);
            }
            Arc::try_unwrap(shared)
        });
        match store {
            Ok(store) => store.close(),
            Err(_) => {
                Err(Error::Usage { what: "the database is still in use: drop its clones and transactions first" })
            }
        }
    }
}
