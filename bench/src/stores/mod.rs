//! What a store has to offer to be measured, and the list of those that do.
//!
//! Each store gets the settings that suit it best for the promise asked of it; `README.md` lists them. Bodies are closures because some
//! stores borrow their tables from their transactions.

use crate::data::{KEY, LOADED, VALUE, Values};
use crate::work::{self, Job, Measurement};
use anyhow::{Context, Result, bail};
use std::path::Path;

/// What a commit promises.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// On the disk, flushed, when it returns.
    Durable,
    /// Survives the end of the process; a crash of the machine may take it back.
    Relaxed,
}

/// What a file that is not in memory is read for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Records here and there.
    Random,
    /// All records in order.
    Ordered,
}

/// In which order records are loaded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Sorted,
    Unsorted,
}

/// Records appended in a transaction.
const APPENDED: usize = 100_000;
/// Puts in a transaction of the random load.
pub const BATCH: usize = 10_000;

/// Appends records, which are sorted, 100,000 a transaction.
pub fn append<S: Store>(store: &S, records: &[([u8; KEY], u64)]) -> Result<()> {
    let mut values = Values::new(VALUE);
    records.chunks(APPENDED).try_for_each(|batch| {
        store.write(|writer| batch.iter().try_for_each(|(key, i)| writer.append(key, values.get(*i, LOADED))))
    })
}

/// A store with one table of records, open.
pub trait Store: Sized + Sync {
    type Reader<'a>: Reader
    where
        Self: 'a;
    type Writer<'a>: Writer
    where
        Self: 'a;

    /// The version of the engine.
    fn version() -> String;

    /// Opens the store in a directory that exists, and creates it on first use.
    fn open(dir: &Path, durability: Durability) -> Result<Self>;

    /// Opens the loaded store for reading with little memory, set as suits the access best; none if its own cache is made to
    /// hold everything.
    fn open_cold(_dir: &Path, _access: Access) -> Result<Option<Self>> {
        Ok(None)
    }

    /// One read transaction (or snapshot) around `body`.
    fn read<R>(&self, body: impl FnOnce(&mut Self::Reader<'_>) -> Result<R>) -> Result<R>;

    /// One write transaction (or batch) around `body`, committed with the durability of `open`.
    fn write(&self, body: impl FnOnce(&mut Self::Writer<'_>) -> Result<()>) -> Result<()>;

    /// Loads records, keys and numbers, into the empty store; all are durable afterwards. Stores without a way of their own
    /// to load in bulk are given transactions.
    fn load(&self, input: Input, records: &[([u8; KEY], u64)]) -> Result<()> {
        if input == Input::Sorted {
            return append(self, records);
        }
        let mut values = Values::new(VALUE);
        records.chunks(BATCH).try_for_each(|batch| {
            self.write(|writer| batch.iter().try_for_each(|(key, i)| writer.put(key, values.get(*i, LOADED))))
        })
    }

    /// One put that becomes durable together with those of other threads, where the store has a way for that.
    fn put_among_others(&self, key: [u8; KEY], value: Vec<u8>) -> Result<()> {
        self.write(|writer| writer.put(&key, &value))
    }
}

/// A read transaction. Bytes are lent where the store can lend them.
pub trait Reader {
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>>;

    /// Looks up many keys, with the store's own way to do so where it has one; all of them must be there.
    fn get_many(&mut self, keys: &[[u8; KEY]], mut found: impl FnMut(&[u8], &[u8])) -> Result<()> {
        keys.iter().try_for_each(|key| self.get(key, |value| found(key, value))?.context("a record is missing"))
    }

    /// Visits all records in order.
    fn forward(&mut self, visit: impl FnMut(&[u8], &[u8])) -> Result<()>;

    /// Visits all records, last first.
    fn backward(&mut self, visit: impl FnMut(&[u8], &[u8])) -> Result<()>;

    /// Visits at most `limit` records in order, from the first at or after `from`.
    fn range(&mut self, from: &[u8], limit: usize, visit: impl FnMut(&[u8], &[u8])) -> Result<()>;

    /// Visits all keys in order; for stores that can leave the values alone.
    fn keys(&mut self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        self.forward(|key, _| visit(key))
    }
}

/// A write transaction.
pub trait Writer {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;

    /// Puts a key that is greater than all others.
    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()>;
}

/// Declares the stores: cargo feature (also the name), module, type.
macro_rules! stores {
    ($($name:literal $module:ident $store:ident;)*) => {
        $(#[cfg(feature = $name)] mod $module;)*

        /// The names of the stores in this build, the base of all ratios first.
        pub const NAMES: &[&str] = &[$(#[cfg(feature = $name)] $name,)*];

        /// The version of the named store.
        pub fn version(name: &str) -> String {
            match name {
                $(#[cfg(feature = $name)] $name => $module::$store::version(),)*
                _ => "not in this build".into(),
            }
        }

        /// Runs a job on its store.
        pub fn run(job: &Job) -> Result<Vec<Measurement>> {
            match job.store.as_str() {
                $(#[cfg(feature = $name)] $name => work::run::<$module::$store>(job),)*
                other => bail!("no store {other} in this build; it has {}", NAMES.join(", ")),
            }
        }
    };
}

stores! {
    "lmdb" lmdb Lmdb;
    "mdbx" mdbx Mdbx;
    "redb" redb Redb;
    "sqlite" sqlite Sqlite;
    "fjall" fjall Fjall;
    "leveldb" leveldb LevelDb;
    "duramen" duramen Duramen;
}

/// The version of a crate that this build uses, from its lock file.
#[cfg(any(feature = "redb", feature = "fjall", feature = "duramen"))]
fn locked_version(name: &str) -> String {
    let entry = format!("name = \"{name}\"\nversion = \"");
    let lock = include_str!("../../Cargo.lock");
    let version = lock.split_once(&entry).and_then(|(_, rest)| rest.split('"').next());
    version.unwrap_or("unknown").into()
}
