//! The two numbers that everything else is expressed in.
//!
//! Owns: page numbers, transaction numbers, extents. Must not know: bytes, files.

use crate::width::low;
use std::fmt;

/// Number of a page: its offset in the file divided by the page size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pgno(pub u64);

/// Number of a write transaction. Each non-empty commit adds one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Txnid(pub u64);

impl Pgno {
    /// Highest page number a child pointer can hold, plus one (47 bits: 512 PiB of 4 KiB pages).
    pub const LIMIT: u64 = 1 << 47;
}

impl Txnid {
    /// The transaction after this one.
    pub(crate) fn next(self) -> Txnid {
        Txnid(self.0 + 1)
    }

    /// The lower half of the number.
    #[inline]
    pub(crate) fn low(self) -> u32 {
        low(self.0)
    }
}

impl fmt::Display for Pgno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Pgno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

impl fmt::Display for Txnid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Txnid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "t{}", self.0)
    }
}

/// A run of page numbers: `start .. start + pages`. Never empty.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Extent {
    /// First page.
    pub start: Pgno,
    /// How many pages.
    pub pages: u64,
}

impl Extent {
    /// An extent of `pages` pages from `start`.
    pub(crate) fn new(start: Pgno, pages: u64) -> Extent {
        debug_assert!(pages > 0);
        Extent { start, pages }
    }

    /// The first page number after the extent.
    pub(crate) fn end(self) -> Pgno {
        Pgno(self.start.0 + self.pages)
    }
}
