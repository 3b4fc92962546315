//! The B+tree: everything that happens inside one tree of pages.
//!
//! Owns: search, movement, insertion, deletion, large values, duplicates. Sees the world only through [`Pages`] and
//! [`PagesMut`]; must not know files, locks, durability or where a page's bytes come from.
//!
//! Invariants: the parent of a dirty page is dirty, so the path to a dirty leaf can be written without a look at
//! its branches; every leaf of a tree is at level 1, and a branch's children are one level below it (a damaged file
//! can therefore not send a descent round in circles); the keys of a tree rise strictly from leaf to leaf (so nor
//! can a walk along the leaves go round).

pub(crate) mod build;
pub(crate) mod cursor;
mod delete;
mod direction;
pub(crate) mod duplicates;
pub(crate) mod insert;
mod lookahead;
pub(crate) mod near;
pub(crate) mod path;
pub(crate) mod range;
mod search;
mod share;
mod sub_page;
pub(crate) mod value;
pub(crate) mod walk;

pub(crate) use delete::remove;
pub(crate) use direction::{Direction, End};
pub(crate) use insert::{insert, resize, touch_value};
pub(crate) use path::Path;
pub(crate) use search::{get, get_many};

use crate::advice::Advice;
use crate::error::{Damage, Error, Result};
use crate::format;
use crate::format::branch::Branch;
use crate::format::leaf::Leaf;
use crate::format::overflow::Stub;
use crate::format::packed::Packed;
use crate::format::page::{self, Child, Kind};
pub(crate) use crate::format::record::Tree;
use crate::ids::{Pgno, Txnid};
use crate::order::{Needle, Order};

/// Read access to pages by child pointer.
pub(crate) trait Pages {
    /// Bytes in a page.
    fn page_size(&self) -> usize;

    /// The most pages that there can be.
    fn page_count(&self) -> u64;

    /// A page's bytes, after its header was found to be that page's.
    fn page(&self, child: Child) -> Result<&[u8]>;

    /// The value that a stub stands for.
    fn value(&self, stub: Stub) -> Result<&[u8]>;

    /// As [`Pages::value`], of a value that a walk has come to: who walks may want the keys alone, and where that was
    /// chosen it need not have been verified yet.
    fn value_met(&self, stub: Stub) -> Result<&[u8]> {
        self.value(stub)
    }

    /// A walk has come to its end.
    fn walk_ends(&self) -> Result<()> {
        Ok(())
    }

    /// Asks the processor to fetch what a search of this page will read first.
    #[inline]
    fn prefetch(&self, _child: Child) {}

    /// Asks the processor to fetch the page that a walk will come to next.
    #[inline]
    fn prefetch_next(&self, child: Child) {
        self.prefetch(child);
    }

    /// Asks the processor to fetch a page that will be searched, and then changed.
    #[inline]
    fn prefetch_to_change(&self, child: Child) {
        self.prefetch(child);
    }

    /// The means to ask for pages ahead, where memory is too small for the file.
    #[inline]
    fn scarce(&self) -> Option<&Advice> {
        None
    }

    /// The bytes of a page that will be wanted soon, to be fetched but not yet looked at.
    #[inline]
    fn upcoming(&self, _child: Child) -> Option<&[u8]> {
        None
    }
}

/// Write access to pages: what is changed is first copied.
pub(crate) trait PagesMut: Pages {
    /// Whether the page can be changed in place (made or copied at this transaction's own nesting level).
    fn is_own(&self, child: Child) -> bool;

    /// Makes the page changeable by copying it unless it is that already; returns where it is now.
    fn touch(&mut self, child: Child) -> Result<Child>;

    /// The bytes of a page that is changeable.
    fn page_mut(&mut self, child: Child) -> &mut [u8];

    /// A new changeable page, zeroed.
    fn create(&mut self) -> Child;

    /// Says that the page is no longer reachable.
    fn free(&mut self, child: Child) -> Result<()>;

    /// As [`PagesMut::free`] for a page that need not be read: it was born no later than `born_by`.
    fn free_unread(&mut self, child: Child, born_by: Option<Txnid>) -> Result<()>;

    /// Whether that reads the page all the same.
    fn is_read_to_free(&mut self, born_by: Option<Txnid>) -> Result<bool>;

    /// A new changeable run of pages for a value of `bytes`, which begins with `content`; the rest is zeros.
    fn create_run(&mut self, bytes: u32, content: &[u8]) -> Result<Child>;

    /// The payload of a changeable run.
    fn run_mut(&mut self, run: Child) -> &mut [u8];

    /// Says that the run is no longer reachable.
    fn free_run(&mut self, run: Child, bytes: u32) -> Result<()>;
}

/// The number to blame in an error about this page: dirty pages have none yet.
pub(crate) fn blame(child: Child) -> Pgno {
    if child.is_dirty() { Pgno(0) } else { child.pgno() }
}

/// Turns damage found in the page into an error that names it.
#[inline]
pub(crate) fn at<T>(child: Child, result: Result<T, Damage>) -> Result<T> {
    match result {
        Ok(value) => Ok(value),
        Err(damage) => Err(damage.at(blame(child))),
    }
}

/// An error naming the page.
#[cold]
pub(crate) fn damaged(child: Child, what: &'static str) -> Error {
    Damage(what).at(blame(child))
}

/// A pointer that was found in the page `holder`. A page of the file has none to dirty pages: whoever followed such a
/// one would change a page of another tree.
#[inline]
pub(crate) fn below(holder: Child, child: Child) -> Result<Child> {
    if child.is_dirty() && !holder.is_dirty() {
        return Err(damaged(holder, "a pointer to a page that is not in the file"));
    }
    Ok(child)
}

/// Opens a branch page that must be at `level`.
#[inline(always)]
pub(crate) fn open_branch<P: Pages + ?Sized>(pages: &P, child: Child, level: u8) -> Result<Branch<'_>> {
    let bytes = pages.page(child)?;
    if page::level(bytes) != level {
        return Err(damaged(child, "a branch page at the wrong level"));
    }
    at(child, Branch::open(bytes))
}

const ANOTHER_KIND: Damage = Damage("another kind of leaf than its tree has");

/// A page at level 1 of either kind.
#[derive(Clone, Copy)]
pub(crate) enum AnyLeaf<'a> {
    /// Keys and values.
    Cells(Leaf<'a>),
    /// Fixed-size duplicates without values.
    Packed(Packed<'a>),
}

impl<'a> AnyLeaf<'a> {
    #[inline]
    pub(crate) fn open(bytes: &'a [u8]) -> Result<AnyLeaf<'a>, Damage> {
        match page::kind(bytes) {
            Some(Kind::Leaf) => Leaf::open(bytes).map(AnyLeaf::Cells),
            Some(Kind::Packed) => Packed::open(bytes).map(AnyLeaf::Packed),
            _ => Err(Damage("neither kind of leaf where a leaf should be")),
        }
    }

    /// Whether it is of the kind that the tree's leaves are, with items of their size.
    pub(crate) fn suits(&self, tree: &Tree) -> bool {
        match self {
            AnyLeaf::Cells(_) => !tree.is_packed(),
            AnyLeaf::Packed(leaf) => tree.is_packed() && leaf.item_size() == usize::from(tree.item),
        }
    }

    /// The one of keys and values.
    #[inline]
    pub(crate) fn cells(self) -> Result<Leaf<'a>, Damage> {
        match self {
            AnyLeaf::Cells(leaf) => Ok(leaf),
            AnyLeaf::Packed(_) => Err(ANOTHER_KIND),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            AnyLeaf::Cells(leaf) => leaf.len(),
            AnyLeaf::Packed(leaf) => leaf.len(),
        }
    }

    #[inline]
    pub(crate) fn key(&self, i: usize) -> Result<&'a [u8], Damage> {
        match self {
            AnyLeaf::Cells(leaf) => leaf.key(i),
            AnyLeaf::Packed(leaf) => leaf.key(i),
        }
    }

    #[inline]
    pub(crate) fn find(&self, needle: &Needle<'_>, order: &Order) -> Result<(usize, bool), Damage> {
        match self {
            AnyLeaf::Cells(leaf) => leaf.find(needle, order),
            AnyLeaf::Packed(leaf) => leaf.find(needle, order),
        }
    }
}

/// Opens a page at level 1.
#[inline]
pub(crate) fn open_leaf<P: Pages + ?Sized>(pages: &P, child: Child) -> Result<AnyLeaf<'_>> {
    at(child, AnyLeaf::open(pages.page(child)?))
}

/// Refuses a leaf of the kind that the tree's are not, or with items of another size.
pub(crate) fn expect_kind<P: Pages + ?Sized>(pages: &P, tree: &Tree, child: Child) -> Result<()> {
    let suits = open_leaf(pages, child)?.suits(tree);
    if suits { Ok(()) } else { Err(ANOTHER_KIND.at(blame(child))) }
}

/// Refuses a page of the file that is not sound, before what is in it comes into a writer's page: nobody looks at it any
/// more there.
pub(crate) fn expect_sound<P: Pages + ?Sized>(pages: &P, child: Child) -> Result<()> {
    if child.is_dirty() { Ok(()) } else { at(child, format::validate(pages.page(child)?)) }
}

/// Opens a page at level 1 that must hold keys and values.
#[inline]
pub(crate) fn open_cells<P: Pages + ?Sized>(pages: &P, child: Child) -> Result<Leaf<'_>> {
    at(child, Leaf::open(pages.page(child)?))
}
