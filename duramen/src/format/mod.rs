//! The pages as they lie on disk, and all work inside one page.
//!
//! Owns: byte layouts of meta pages, branch, leaf, packed and overflow pages, of records of trees and of the log; search,
//! insertion, removal and splitting within a page; validation. Must not know: where a page's bytes come from,
//! transactions, trees of pages.
//!
//! Invariants: everything is little-endian. Readers (`Leaf`, `Branch`, `Packed`) accept arbitrary bytes: `open` checks
//! the header once, each later access is bounds-checked, and what cannot be right is [`Damage`] or a wrong answer, never
//! a panic. Editors (`LeafMut`, `BranchMut`, `PackedMut`) work on pages that `validate` has accepted or `init` has made,
//! keep them so, and may assert.

pub(crate) mod branch;
mod hash;
pub(crate) mod heads;
pub(crate) mod leaf;
pub(crate) mod log;
pub(crate) mod meta;
pub(crate) mod overflow;
pub(crate) mod packed;
pub(crate) mod page;
pub(crate) mod record;

use crate::error::Damage;
use page::Kind;

/// The full check that a page of the file gets before it is changed, or comes into one that is: afterwards nothing in it
/// can surprise.
pub(crate) fn validate(bytes: &[u8]) -> Result<(), Damage> {
    match page::kind(bytes) {
        Some(Kind::Branch) => branch::validate(bytes),
        Some(Kind::Leaf) => leaf::validate(bytes),
        Some(Kind::Packed) => packed::validate(bytes),
        _ => Err(Damage("not a page of a tree")),
    }
}

/// How many cases a property test runs: few under Miri, which is slow.
#[cfg(test)]
pub(crate) fn cases(native: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config {
        cases: if cfg!(miri) { 4 } else { native },
        failure_persistence: None,
        ..Default::default()
    }
}
