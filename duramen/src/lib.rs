//! Duramen: a memory-mapped, copy-on-write, multi-version B+tree database.

mod error;
mod format;
mod ids;
#[allow(dead_code, reason = "its callers, the transaction floors, come after it")]
mod map;
mod medium;
mod order;
#[allow(dead_code, reason = "its callers, the transaction floors, come after it")]
mod os;
#[allow(dead_code, reason = "its callers, the transaction floors, come after it")]
mod readers;
#[allow(dead_code, reason = "its callers, the transaction floors, come after it")]
mod space;
mod sync;

pub use error::{Error, Result};
pub use ids::{Extent, Pgno, Txnid};
pub use medium::Medium;
pub use order::{Comparator, Order};
