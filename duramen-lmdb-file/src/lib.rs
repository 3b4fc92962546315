//! The data files of LMDB 0.9 (its format version 1), read without LMDB: every entry of every table, in order.
//!
//! Owns: their layout, the choice of the newest snapshot. Must not know: what becomes of what is read.
//!
//! Files are those of 64-bit little-endian machines. No program may write to a file while it is read: nothing holds the
//! snapshot; [`DataFile::check_unchanged`] tells afterwards. What is damaged is an [`Error`] that names the page.
//!
//! Source of the layout: LMDB's `mdb.c` (`MDB_page`, `MDB_node`, `MDB_db`, `MDB_meta`).
//!
//! ```no_run
//! let file = duramen_lmdb_file::DataFile::open("old-directory".as_ref())?;
//! for table in file.tables()? {
//!     let (mut entries, mut key, mut value) = (file.entries(&table), Vec::new(), Vec::new());
//!     while entries.next_entry(&mut key, &mut value)? {
//!         println!("{} bytes of key, {} of value", key.len(), value.len());
//!     }
//! }
//! file.check_unchanged()?;
//! # Ok::<(), duramen_lmdb_file::Error>(())
//! ```

#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss))]

mod entries;
mod error;
mod file;
mod layout;
mod walk;

pub use entries::Entries;
pub use error::Error;
pub use file::{DataFile, Table};
