//! Giving dirty pages their place in the file.
//!
//! Owns: placement, spilling. Must not know: which pages are free, meta pages, the order of a commit's steps.
//!
//! Pages are placed in key order, children before their parent, so that what is read together lies together; the
//! pages of a commit come from as few extents as the free space offers. They are written as they are placed, while the
//! processor still has them at hand.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::allocate::{allocate, allocate_runs, give_back, is_small, release, take_back_replaced};
use super::output::Output;
use super::supply::{self, Supply};
use super::work::Work;
use crate::error::{Damage, Result};
use crate::format::branch::BranchMut;
use crate::format::leaf::{CellKind, Leaf, LeafMut};
use crate::format::overflow::Stub;
use crate::format::page::{self, Child};
use crate::ids::{Extent, Pgno};
use crate::order::Order;
use crate::prefetch::LINE;
use crate::space::Lane;
use crate::store::Durability;
use crate::tree::duplicates::Orders;
use crate::tree::{AnyLeaf, Pages, PagesMut, Tree, at, open_branch, open_leaf};
use crate::width::to_usize;

/// Most pages that a commit keeps for the next.
const KEPT_MAX: usize = 256;

/// What most commits have no more of needs no memory of its own.
const FEW: usize = 8;

/// Roots, with the indices of their tables.
type Roots = SmallVec<[(u64, usize); FEW]>;

/// Gives pages their numbers and writes them.
pub(super) struct Placer {
    supply: Supply,
    pub(super) output: Output,
    /// The pages placed, if their memory is to be forgotten before the transaction ends.
    spilled: Option<Vec<Child>>,
    /// Those of them that the next commits will probably change again.
    pub(super) kept: SmallVec<[Child; FEW]>,
    /// The tables whose roots get their places too, by these, ascending; the main table among them. None while spilling.
    roots: Roots,
    /// Places of runs that were taken before all others, by length.
    runs: BTreeMap<u64, Vec<Extent>>,
}

impl Placer {
    /// A placer for all dirty pages, of which a commit leaves none. Those of one that goes into the log are not flushed
    /// soon.
    pub(super) fn for_commit(work: &mut Work, logged: bool) -> Result<Placer> {
        work.look_whether_it_grows();
        let small = is_small(work, logged);
        let runs = allocate_runs(work)?;
        let supply = if small { Supply::InTurn } else { Supply::for_commit(work)? };
        Ok(Placer { roots: roots(work), runs, ..Placer::new(work, supply, logged, !small) })
    }

    /// A placer for at most all dirty pages, and for no roots.
    fn for_spill(work: &mut Work, logged: bool) -> Result<Placer> {
        work.look_whether_it_grows();
        let supply = Supply::for_spill(work)?;
        let spilled = Vec::with_capacity(to_usize(work.dirty.single_pages()));
        Ok(Placer { spilled: Some(spilled), ..Placer::new(work, supply, logged, false) })
    }

    fn new(work: &Work, supply: Supply, logged: bool, timed: bool) -> Placer {
        let output = Output::new(work.durability == Durability::Durable && !logged, timed);
        Placer { supply, output, spilled: None, kept: SmallVec::new(), roots: Roots::new(), runs: BTreeMap::new() }
    }

    /// Places a tree of pages; where its root is now.
    pub(super) fn tree(&mut self, work: &mut Work, tree: &Tree, orders: &Orders) -> Result<Child> {
        if tree.is_empty() {
            return Ok(tree.root);
        }
        let root = self.page(work, tree.root, tree.depth, orders)?;
        if root.is_dirty() && self.spilled.is_none() {
            return Err(Damage("a tree with a page that is not the transaction's").at(Pgno(0)));
        }
        Ok(root.without_count())
    }

    fn page(&mut self, work: &mut Work, child: Child, level: u8, orders: &Orders) -> Result<Child> {
        if !work.is_own(child) {
            return Ok(child);
        }
        let whole =
            if level > 1 { self.children(work, child, level, orders)? } else { self.outside(work, child, orders)? };
        if !whole {
            return Ok(child);
        }
        let count16 = put_in_order(work, child, level, &orders.key)?;
        let lane = supply::lane(work.page(child)?, work.txnid);
        let pgno = self.supply.next(work, lane)?;
        if self.kept.len() < KEPT_MAX && (lane == Lane::Fleeting || level > 1) {
            self.kept.push(child);
        }
        let (txnid, file_id) = (work.txnid, work.store.pager.file_id);
        let checksum = page::seal(work.page_mut(child), pgno, txnid, file_id);
        self.count(work, pgno, 1, checksum);
        self.spilled.iter_mut().for_each(|spilled| spilled.push(child));
        self.output.push(work, lane, pgno, child)?;
        Ok(Child::page(pgno, count16))
    }

    /// Places what hangs on a branch. False if some of it belongs to a lower nesting level: then it has no place yet,
    /// so that neither can have the branch.
    fn children(&mut self, work: &mut Work, child: Child, level: u8, orders: &Orders) -> Result<bool> {
        let mut whole = true;
        let branch = open_branch(work, child, level)?;
        let mut dirty: SmallVec<[(usize, Child); FEW]> = SmallVec::new();
        branch.dirty_children(|i, child| dirty.push((i, child)));
        for (nth, &(i, old)) in dirty.iter().enumerate() {
            if let Some(&(_, next)) = dirty.get(nth + 1) {
                work.dirty.prefetch(next, page::PAGE_MIN / LINE);
            }
            let new = self.page(work, old, level - 1, orders)?;
            BranchMut::new(work.page_mut(child)).set_child(i, new);
            whole &= !new.is_dirty();
        }
        Ok(whole)
    }

    /// Places what a leaf's cells hold outside of it; false as for [`Placer::children`].
    fn outside(&mut self, work: &mut Work, child: Child, orders: &Orders) -> Result<bool> {
        let AnyLeaf::Cells(leaf) = open_leaf(work, child)? else { return Ok(true) };
        if leaf.outside() == 0 {
            return Ok(true);
        }
        let mut whole = true;
        for (i, outside) in dirty_outside(child, &leaf)? {
            match outside {
                Outside::Run(stub) if work.dirty.is_own_run(stub.child.dirty_index()) => {
                    let placed = Stub { child: self.run(work, stub)?, birth: work.txnid.low(), ..stub };
                    placed.write(value_mut(work, child, i));
                }
                // Who holds the table changes its root as long as the transaction lasts.
                Outside::Table(root) if !self.roots.is_empty() => {
                    let table = self.table(work, root)?;
                    value_mut(work, child, i).copy_from_slice(&table.encode());
                }
                Outside::Run(_) | Outside::Table(_) => whole = false,
                Outside::Tree(tree) => {
                    let inner = Orders { key: orders.duplicate.clone(), duplicate: Order::Bytes };
                    let root = self.tree(work, &tree, &inner)?;
                    whole &= !root.is_dirty();
                    value_mut(work, child, i).copy_from_slice(&Tree { root, ..tree }.encode());
                }
            }
        }
        Ok(whole)
    }

    /// Places the table with this root; the table then.
    fn table(&mut self, work: &mut Work, root: Child) -> Result<Tree> {
        let found = self.roots.binary_search_by_key(&root.0, |&(root, _)| root);
        let at = found.map_err(|_| Damage("the record of a table that is not there").at(Pgno(0)))?;
        let i = self.roots[at].1;
        let (tree, orders) = (work.tables[i].tree, work.tables[i].orders.clone());
        work.tables[i].tree.root = self.tree(work, &tree, &orders)?;
        Ok(work.tables[i].tree)
    }

    fn run(&mut self, work: &mut Work, stub: Stub) -> Result<Child> {
        let bytes = work
            .dirty
            .take_run(stub.child.dirty_index())
            .ok_or_else(|| Damage("a value that is not there").at(Pgno(0)))?;
        let pages = (bytes.len() / work.page_size()) as u64;
        let extent = match self.runs.get_mut(&pages).and_then(Vec::pop) {
            Some(place) => place,
            None => allocate(work, pages, true)?[0],
        };
        self.add_run(work, bytes, extent)?;
        Ok(Child::page(extent.start, Child::UNCOUNTED).without_count())
    }

    fn count(&mut self, work: &mut Work, pgno: Pgno, pages: u64, checksum: u64) {
        work.placed.sum = work.placed.sum.wrapping_add(checksum);
        work.placed.pages += pages;
        work.store.pager.trust(pgno, work.txnid);
    }

    /// Seals a run whose place is known, to be written.
    pub(super) fn add_run(&mut self, work: &mut Work, mut bytes: Vec<u8>, extent: Extent) -> Result<()> {
        let checksum = page::seal(&mut bytes, extent.start, work.txnid, work.store.pager.file_id);
        self.count(work, extent.start, extent.pages, checksum);
        self.output.push_run(work, extent, bytes)
    }

    /// Forgets the memory of the pages that were written; which numbers were not used.
    fn forget(self, work: &mut Work) -> Vec<Extent> {
        self.spilled.into_iter().flatten().for_each(|child| work.dirty.free(child));
        self.supply.left()
    }
}

/// The tables whose roots have no place yet, by these.
fn roots(work: &Work) -> Roots {
    let tables = work.tables.iter().enumerate().filter(|(_, table)| !table.dropped && table.tree.root.is_dirty());
    let mut roots: Roots = tables.map(|(i, table)| (table.tree.root.0, i)).collect();
    roots.sort_unstable();
    roots
}

/// What a leaf's cell holds outside of it.
enum Outside {
    Run(Stub),
    Tree(Tree),
    /// Of the main table: the root of another.
    Table(Child),
}

/// What a leaf's cells hold outside of it that has no place yet, by cell.
fn dirty_outside(child: Child, leaf: &Leaf<'_>) -> Result<Vec<(usize, Outside)>> {
    let outside = |i| {
        let cell = leaf.cell(i)?;
        Ok(match cell.kind {
            CellKind::Overflow => Some((i, Outside::Run(Stub::read(cell.value)?))),
            CellKind::SubTree => Some((i, Outside::Tree(Tree::decode(cell.value)?))),
            CellKind::Table => Some((i, Outside::Table(Tree::root_in(cell.value)?))),
            CellKind::Plain | CellKind::SubPage => None,
        })
    };
    let dirty = at(child, leaf.dirty_cells())?;
    at(child, dirty.into_iter().filter_map(|i| outside(i).transpose()).collect())
}

/// The value of a leaf's cell, to be changed.
fn value_mut(work: &mut Work, leaf: Child, i: usize) -> &mut [u8] {
    LeafMut::new(work.page_mut(leaf)).into_value(i)
}

/// Puts a page's search helpers in order; what its parent notes about it.
fn put_in_order(work: &mut Work, child: Child, level: u8, order: &Order) -> Result<u16> {
    if level > 1 {
        BranchMut::new(work.page_mut(child)).seal();
        return Ok(Child::UNCOUNTED);
    }
    match open_leaf(work, child)? {
        AnyLeaf::Packed(leaf) => Ok(noted(leaf.len())),
        AnyLeaf::Cells(leaf) => {
            let note = if leaf.outside() == 0 { noted(leaf.len()) } else { Child::UNCOUNTED };
            LeafMut::new(work.page_mut(child)).seal(order);
            Ok(note)
        }
    }
}

fn noted(entries: usize) -> u16 {
    u16::try_from(entries).unwrap_or(Child::UNCOUNTED)
}

/// Writes pages early when the transaction has outgrown its memory: all of the nesting level at work but the roots,
/// and pages that refer to what a lower level has changed.
#[inline]
pub(crate) fn spill_if_large(work: &mut Work) -> Result<()> {
    if work.dirty.pages() <= work.pages_in_memory + work.unspilled {
        return Ok(());
    }
    spill_now(work)
}

#[cold]
fn spill_now(work: &mut Work) -> Result<()> {
    if work.take_more_memory() {
        return Ok(());
    }
    let result = spill(work);
    // What could not be written now cannot be a moment later: without this every operation would try again.
    work.unspilled = work.dirty.pages();
    work.all_change();
    work.failed |= result.is_err();
    result
}

fn spill(work: &mut Work) -> Result<()> {
    release(work)?;
    take_back_replaced(work)?;
    let before = work.dirty.pages();
    // An upper bound: pages of lower levels and roots stay. What is left over goes back.
    let mut placer = Placer::for_spill(work, work.ops.is_complete())?;
    for i in 0..work.tables.len() {
        let table = work.tables[i].clone();
        if table.dropped || table.tree.is_empty() || !work.is_own(table.tree.root) {
            continue;
        }
        if table.tree.depth > 1 {
            placer.children(work, table.tree.root, table.tree.depth, &table.orders)?;
        } else {
            placer.outside(work, table.tree.root, &table.orders)?;
        }
    }
    placer.output.finish(work)?;
    let left = placer.forget(work);
    give_back(work, &left)?;
    work.look_at_length();
    tracing::debug!(pages = before - work.dirty.pages(), "spilled");
    Ok(())
}
