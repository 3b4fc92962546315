//! Trees built from their leaves upwards, of entries that come in order.
//!
//! Owns: when a page is full, and the branches above it. Must not know: where finished pages go (they are handed to a
//! [`Sink`]), where entries come from.
//!
//! Invariants: pages are handed out children before their parent, in key order, and never again; every page but the last
//! of a level is as full as its entries allow; no branch has fewer than two children.

mod branches;
mod table;

pub(crate) use table::{Item, TableBuilder};

use crate::error::Result;
use crate::format::leaf::{CellKind, LeafBuilder};
use crate::format::packed::PackedMut;
use crate::format::page::Child;
use crate::ids::Pgno;
use crate::order::{Order, separator};
use crate::tree::Tree;
use branches::Branches;

/// Where finished pages go.
pub(crate) trait Sink {
    /// Takes a page that is complete but for its number, birth and checksum; its number.
    fn put(&mut self, page: &[u8]) -> Result<Pgno>;
}

/// The leaf being filled.
enum Leaf {
    Cells(LeafBuilder),
    /// Keys of one size: the page, and its size.
    Packed(Vec<u8>, usize),
}

impl Leaf {
    fn new(page_size: usize, tree: &Tree) -> Leaf {
        if !tree.is_packed() {
            return Leaf::Cells(LeafBuilder::new(page_size));
        }
        let (mut page, size) = (vec![0; page_size], usize::from(tree.item));
        PackedMut::init(&mut page, size);
        Leaf::Packed(page, size)
    }

    #[inline]
    fn fits(&mut self, klen: usize, vlen: usize) -> bool {
        match self {
            Leaf::Cells(leaf) => leaf.fits(klen, vlen),
            Leaf::Packed(page, _) => PackedMut::new(page).fits(1),
        }
    }

    #[inline]
    fn last_key(&self) -> Option<&[u8]> {
        match self {
            Leaf::Cells(leaf) => leaf.last_key(),
            Leaf::Packed(page, size) => {
                let end = crate::format::page::HEADER + size * crate::format::page::count(page);
                (crate::format::page::count(page) > 0).then(|| &page[end - size..end])
            }
        }
    }

    fn clear(&mut self) {
        match self {
            Leaf::Cells(leaf) => leaf.clear(),
            Leaf::Packed(page, size) => {
                page.fill(0);
                PackedMut::init(page, *size);
            }
        }
    }
}

/// One tree being built.
pub(crate) struct Builder {
    order: Order,
    tree: Tree,
    leaf: Leaf,
    /// Lower bound of the leaf being filled, as its parent will have it.
    bound: Vec<u8>,
    next_bound: Vec<u8>,
    branches: Branches,
}

impl Builder {
    /// Begins a tree of the kind of `tree`, which is empty.
    pub(crate) fn new(page_size: usize, tree: Tree, order: &Order) -> Builder {
        Builder {
            order: order.clone(),
            leaf: Leaf::new(page_size, &tree),
            tree,
            bound: Vec::new(),
            next_bound: Vec::new(),
            branches: Branches::new(page_size, !order.has_views()),
        }
    }

    /// The last key added.
    #[inline]
    pub(crate) fn last_key(&self) -> Option<&[u8]> {
        self.leaf.last_key()
    }

    /// Adds a key, which must sort after the last one; returns the value space, to be filled (in a packed tree there is
    /// none).
    #[inline]
    pub(crate) fn push<S: Sink>(&mut self, sink: &mut S, key: &[u8], vlen: usize, kind: CellKind) -> Result<&mut [u8]> {
        if !self.leaf.fits(key.len(), vlen) {
            self.close_leaf(sink, key)?;
        }
        Ok(match &mut self.leaf {
            Leaf::Cells(leaf) => leaf.push(key, vlen, kind),
            Leaf::Packed(page, _) => {
                let mut page = PackedMut::new(page);
                page.insert(page.len(), key);
                &mut []
            }
        })
    }

    /// Takes the last key away again; its value, if it is of the given kind.
    fn pop(&mut self, kind: CellKind) -> Option<Vec<u8>> {
        let Leaf::Cells(leaf) = &mut self.leaf else { return None };
        let value = leaf.last_value(kind).map(<[u8]>::to_vec);
        leaf.pop();
        value
    }

    /// Hands out the full leaf; `next` is the first key of the one after it.
    #[cold]
    fn close_leaf<S: Sink>(&mut self, sink: &mut S, next: &[u8]) -> Result<()> {
        separator(&self.order, self.leaf.last_key().unwrap_or_default(), next, &mut self.next_bound);
        let child = self.put_leaf(sink)?;
        self.branches.push(sink, 0, &self.bound, child)?;
        std::mem::swap(&mut self.bound, &mut self.next_bound);
        Ok(())
    }

    fn put_leaf<S: Sink>(&mut self, sink: &mut S) -> Result<Child> {
        self.tree.leaves += 1;
        let (page, entries, outside) = match &mut self.leaf {
            Leaf::Cells(leaf) => {
                let entries = leaf.len();
                let (page, outside) = leaf.finish(&self.order);
                (page, entries, outside)
            }
            Leaf::Packed(page, _) => (&page[..], crate::format::page::count(page), 0),
        };
        let count16 = u16::try_from(entries).ok().filter(|_| outside == 0).unwrap_or(Child::UNCOUNTED);
        let child = Child::page(sink.put(page)?, count16);
        self.leaf.clear();
        Ok(child)
    }

    /// Hands out the last page of each level; the tree, which has `entries`.
    pub(crate) fn finish<S: Sink>(mut self, sink: &mut S, entries: u64) -> Result<Tree> {
        if self.leaf.last_key().is_none() {
            return Ok(self.tree);
        }
        let leaf = self.put_leaf(sink)?;
        let (root, levels, branches) = self.branches.finish(sink, &self.bound, leaf)?;
        Ok(Tree { root: root.without_count(), depth: 1 + levels, branches, entries, ..self.tree })
    }
}
