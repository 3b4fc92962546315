//! Transactions: reading a snapshot, writing the next one.
//!
//! Owns: what users hold ([`Snapshot`], [`WriteTxn`], tables, cursors, iterators). Must not know: how a database is
//! opened.

mod allocate;
mod bulk;
mod catalog;
mod commit;
mod cursor;
mod edit;
mod held_leaf;
mod iter;
mod key_range;
mod memo;
mod names;
mod ops;
mod output;
mod place;
mod record;
pub(crate) mod replay;
mod snapshot;
mod supply;
mod table;
mod table_mut;
mod tables;
mod update;
pub(crate) mod work;
mod write;

pub use bulk::{BulkLoad, BulkOptions, BulkProgress};
pub use catalog::{Duplicates, TableOptions};
pub use cursor::{Bookmark, Cursor, WriteCursor};
pub use edit::Edit;
pub use iter::{Iter, Keys};
pub use key_range::KeyRange;
pub use snapshot::Snapshot;
pub(crate) use snapshot::StoreRef;
pub use table::{DetachedTable, Table, TableStats};
pub use table_mut::TableMut;
pub use update::Put;
pub use write::{TableId, WriteTxn};
