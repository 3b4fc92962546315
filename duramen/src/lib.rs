//! Duramen: a memory-mapped, copy-on-write, multi-version B+tree database.

mod error;
mod format;
mod ids;
mod medium;
mod order;
#[allow(dead_code, reason = "its callers, the transaction floors, come after it")]
mod space;

pub use error::{Error, Result};
pub use ids::{Extent, Pgno, Txnid};
pub use medium::Medium;
pub use order::{Comparator, Order};
