//! Duramen: a memory-mapped, copy-on-write, multi-version B+tree database with nothing to size or tune.
//!
//! - Open with a path: the file grows as data comes and shrinks when the space at its end is free.
//! - Reads take no lock, copy nothing, and never wait for the writer, in any number of threads and processes.
//! - One writer at a time, with child transactions. A commit that has returned survives a power cut; it costs one flush.
//! - A long reader holds back only the pages that it can see.
//! - A damaged file gives an error that names the page, never a crash.
//!
//! ```
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("people.dm");
//! let db = duramen::Database::open(path)?;
//! db.update(|txn| txn.table("people")?.put(b"bjensen", b"Barbara Jensen"))?;
//! let snapshot = db.read()?;
//! let people = snapshot.table("people")?;
//! assert_eq!(people.get(b"bjensen")?, Some(&b"Barbara Jensen"[..]));
//! for item in people.range(b"a"..b"c")? {
//!     let (key, value) = item?;
//!     println!("{} bytes of key, {} of value", key.len(), value.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The file is memory
//! What reads give out are slices of the mapped file. Nobody but this library may write to a database's file, cut it or copy
//! another over it while it is open: slices would change under who has them, which Rust knows no meaning for, or reading them
//! would end the process by `SIGBUS`. (To put another file in its place by a rename is allowed.) As with all that maps
//! files, no program can see to that for others, which is why it is a promise of who opens a database, and not of each read.
//! A snapshot that was opened before a `fork` goes on reading in the child; its pages are kept for as long as the parent has it.
//!
//! # Errors
//! What is not there is `None`, never an error. Whatever reads or writes may meet [`Error::Io`] or [`Error::Corrupt`],
//! and is [`Error::Forked`] in a child of the process that opened the database. Changes are [`Error::TxnFailed`] after
//! one of the same transaction came to nothing half-way, and [`Error::Poisoned`] after a flush has failed. Functions name
//! what else they may return.

#![warn(missing_debug_implementations)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss))]

mod advice;
mod check;
mod copy;
mod database;
mod dirty;
mod error;
mod format;
mod ids;
mod late;
mod map;
mod medium;
#[cfg(doctest)]
mod misuse;
mod order;
mod os;
mod pager;
mod pieces;
mod prefetch;
mod readers;
mod sort;
mod space;
mod store;
mod sync;
mod tree;
mod txn;
mod width;

pub use check::{CheckReport, Stats};
pub use database::{Database, Options, Reader, Submitted};
pub use error::{Error, Result};
pub use ids::{Pgno, Txnid};
pub use medium::{Medium, OnFlushed};
pub use order::{Comparator, Order};
pub use store::{CommitTimings, Durability, MediumLayer};
pub use txn::{
    Bookmark, BulkLoad, BulkOptions, BulkProgress, Cursor, DetachedTable, Duplicates, Edit, Iter, KeyRange, Keys, Put,
    Snapshot, Table, TableId, TableMut, TableOptions, TableStats, WriteCursor, WriteTxn,
};
