//! Giving dirty pages their place in the file.
//!
//! Owns: placement, spilling. Must not know: meta pages, the order of a commit's steps.
//!
//! Pages are placed in key order, children before their parent, so that what is read together lies together; the
//! pages of a commit come from as few extents as the free space offers.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::sync::atomic::Ordering;

use super::work::Work;
use crate::error::{Damage, Error, Result};
use crate::format::branch::BranchMut;
use crate::format::leaf::{CellKind, LeafMut};
use crate::format::overflow::{STUB, Stub};
use crate::format::page::{self, Child};
use crate::ids::{Extent, Pgno};
use crate::order::Order;
use crate::readers::unregistered;
use crate::space::{Fit, Space};
use crate::tree::duplicates::Orders;
use crate::tree::{AnyLeaf, Pages, PagesMut, Tree, at, open_branch, open_cells, open_leaf};

/// Most pages handed to one write call.
const PARTS_MAX: usize = 4;

/// Takes pages for the transaction: from the free space, then at the file's end.
pub(super) fn allocate(work: &mut Work, pages: u64, contiguous: bool) -> Result<Vec<Extent>> {
    let store = work.store.clone();
    let page_count = work.horizon.page_count;
    let pages_wanted = work.pages_wanted;
    let ledger = store.ledger(work.writer_mut()?)?;
    let mut extents = if contiguous {
        ledger.space.take(pages).into_iter().collect()
    } else {
        let crowded = store.crowded.load(Ordering::Relaxed) || page_count + pages > pages_wanted;
        take(&mut ledger.space, pages, page_count, crowded)
    };
    let found: u64 = extents.iter().map(|e| e.pages).sum();
    if found < pages {
        if page_count + (pages - found) > Pgno::LIMIT {
            return Err(Error::Usage { what: "the file would be larger than the format can address" });
        }
        if work.bytes_before.is_none() {
            let bytes = store.medium.len().map_err(Error::io("ask for the length of the data file"))?;
            work.bytes_before = Some(bytes);
        }
        extents.push(Extent::new(Pgno(page_count), pages - found));
        work.horizon.page_count += pages - found;
    }
    work.placed.extents.extend(&extents);
    extents.sort_by_key(|e| e.start);
    Ok(extents)
}

/// Part of the file that is kept free for the sake of long runs: while less is, a commit that finds no run long enough
/// lengthens the file rather than filling small holes.
const SLACK: u64 = 8;
/// Fewer pages than this are put into small holes at once.
const SMALL_COMMIT: u64 = 16;

/// Chooses free pages for a commit.
fn take(space: &mut Space, pages: u64, page_count: u64, crowded: bool) -> Vec<Extent> {
    let free = space.free_pages();
    if free > page_count / 2 {
        // Much of the file is free: fill it from the start, so that its end can be cut off.
        return space.take_up_to(pages, Fit::Low);
    }
    if !crowded && pages > SMALL_COMMIT && space.longest() < pages && free < page_count / SLACK {
        return Vec::new();
    }
    space.take_up_to(pages, Fit::Tight)
}

/// Lets the free space know who is reading.
pub(super) fn release(work: &mut Work) -> Result<()> {
    let store = work.store.clone();
    let mut live = Vec::new();
    store.shared.live(&mut live)?;
    live.extend(unregistered(store.file(), store.shared.newest())?);
    live.push(work.base);
    live.sort_unstable();
    live.dedup();
    store.ledger(work.writer_mut()?)?.space.release(&live);
    Ok(())
}

/// Pages that have been given a number, waiting to be written.
pub(super) struct Placer {
    supply: VecDeque<Extent>,
    pages: Vec<(Pgno, Child)>,
    runs: Vec<(Pgno, Vec<u8>)>,
}

impl Placer {
    /// A placer that has `pages` single pages to give.
    pub(super) fn new(work: &mut Work, pages: u64) -> Result<Placer> {
        let supply = if pages == 0 { Vec::new() } else { allocate(work, pages, false)? };
        Ok(Placer { supply: supply.into(), pages: Vec::new(), runs: Vec::new() })
    }

    fn next(&mut self) -> Pgno {
        let first = self.supply.front_mut().expect("as many pages as were counted");
        let pgno = first.start;
        if first.pages == 1 {
            self.supply.pop_front();
        } else {
            *first = Extent::new(Pgno(pgno.0 + 1), first.pages - 1);
        }
        pgno
    }

    /// Places a tree of pages; where its root is now.
    pub(super) fn tree(&mut self, work: &mut Work, tree: &Tree, orders: &Orders) -> Result<Child> {
        if tree.is_empty() {
            return Ok(tree.root);
        }
        self.page(work, tree.root, tree.depth, orders).map(Child::without_count)
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
        let pgno = self.next();
        let (txnid, file_id) = (work.txnid, work.store.pager.file_id);
        let checksum = page::seal(work.page_mut(child), pgno, txnid, file_id);
        self.count(work, pgno, 1, checksum);
        self.pages.push((pgno, child));
        Ok(Child::page(pgno, count16))
    }

    /// Places what hangs on a branch. False if some of it belongs to a lower nesting level: then it has no place yet,
    /// so that neither can have the branch.
    fn children(&mut self, work: &mut Work, child: Child, level: u8, orders: &Orders) -> Result<bool> {
        let mut whole = true;
        let branch = open_branch(work, child, level)?;
        let dirty: Vec<(usize, Child)> = branch.dirty_children().collect();
        for (i, old) in dirty {
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
        for i in 0..leaf.len() {
            let cell = at(child, open_cells(work, child)?.cell(i))?;
            let moved: Vec<u8> = match cell.kind {
                CellKind::Overflow => {
                    let stub = at(child, Stub::read(cell.value))?;
                    if !stub.child.is_dirty() {
                        continue;
                    }
                    if !work.dirty.is_own_run(stub.child.dirty_index()) {
                        whole = false;
                        continue;
                    }
                    stub_bytes(Stub { child: self.run(work, stub)?, ..stub })
                }
                CellKind::SubTree => {
                    let tree = at(child, Tree::decode(cell.value))?;
                    if !tree.root.is_dirty() {
                        continue;
                    }
                    let inner = Orders { key: orders.duplicate.clone(), duplicate: Order::Bytes };
                    let root = self.tree(work, &tree, &inner)?;
                    whole &= !root.is_dirty();
                    Tree { root, ..tree }.encode().into()
                }
                CellKind::Plain | CellKind::SubPage | CellKind::Table => continue,
            };
            LeafMut::new(work.page_mut(child)).value_mut(i).copy_from_slice(&moved);
        }
        Ok(whole)
    }

    fn run(&mut self, work: &mut Work, stub: Stub) -> Result<Child> {
        let mut bytes = work
            .dirty
            .take_run(stub.child.dirty_index())
            .ok_or_else(|| Damage("a value that is not there").at(Pgno(0)))?;
        let pages = (bytes.len() / work.page_size()) as u64;
        let pgno = allocate(work, pages, true)?[0].start;
        let checksum = page::seal(&mut bytes, pgno, work.txnid, work.store.pager.file_id);
        self.count(work, pgno, pages, checksum);
        self.runs.push((pgno, bytes));
        Ok(Child::page(pgno, Child::UNCOUNTED).without_count())
    }

    fn count(&mut self, work: &mut Work, pgno: Pgno, pages: u64, checksum: u64) {
        work.placed.sum = work.placed.sum.wrapping_add(checksum);
        work.placed.pages += pages;
        work.store.pager.trust(pgno, work.txnid);
    }

    /// Adds a run that is ready to be written.
    pub(super) fn add_run(&mut self, work: &mut Work, mut bytes: Vec<u8>, extent: Extent) {
        let checksum = page::seal(&mut bytes, extent.start, work.txnid, work.store.pager.file_id);
        self.count(work, extent.start, extent.pages, checksum);
        self.runs.push((extent.start, bytes));
    }

    /// Hands all pages to the medium; how many they were, in how many separate runs.
    pub(super) fn write(&mut self, work: &Work) -> Result<(u64, u64)> {
        let size = work.page_size() as u64;
        let mut parts: Vec<(Pgno, &[u8])> = Vec::with_capacity(self.pages.len() + self.runs.len());
        for &(pgno, child) in &self.pages {
            parts.push((pgno, work.page(child)?));
        }
        parts.extend(self.runs.iter().map(|(pgno, bytes)| (*pgno, &bytes[..])));
        parts.sort_unstable_by_key(|(pgno, _)| *pgno);
        let end = |part: &(Pgno, &[u8])| part.0.0 + part.1.len() as u64 / size;
        let bytes: usize = parts.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut runs = 0;
        for run in parts.chunk_by(|a, b| end(a) == b.0.0) {
            runs += 1;
            for some in run.chunks(PARTS_MAX) {
                let slices: Vec<IoSlice<'_>> = some.iter().map(|(_, bytes)| IoSlice::new(bytes)).collect();
                let written = work.store.medium.write_at(some[0].0.0 * size, &slices);
                written.map_err(Error::io("write to the data file")).inspect_err(|error| {
                    work.store.crowded.fetch_or(error.is_disk_full(), Ordering::Relaxed);
                })?;
            }
        }
        Ok((bytes as u64 / size, runs))
    }

    /// Forgets the memory of the pages that were written.
    fn forget(self, work: &mut Work) {
        for (_, child) in self.pages {
            work.dirty.free(child);
        }
    }
}

fn stub_bytes(stub: Stub) -> Vec<u8> {
    let mut bytes = vec![0; STUB];
    stub.write(&mut bytes);
    bytes
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
pub(crate) fn spill_if_large(work: &mut Work) -> Result<()> {
    let budget = work.store.settings.memory_bytes as u64 / work.page_size() as u64;
    if work.dirty.pages() <= budget.max(64) + work.unspilled {
        return Ok(());
    }
    let result = spill(work);
    // What could not be written now cannot be a moment later: without this every operation would try again.
    work.unspilled = work.dirty.pages();
    work.epoch += 1;
    work.failed |= result.is_err();
    result
}

fn spill(work: &mut Work) -> Result<()> {
    release(work)?;
    let before = work.dirty.pages();
    // An upper bound: pages of lower levels and roots stay. What is left over goes back.
    let mut placer = Placer::new(work, work.dirty.single_pages())?;
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
    placer.write(work)?;
    let left: Vec<Extent> = placer.supply.drain(..).collect();
    give_back(work, &left)?;
    placer.forget(work);
    tracing::debug!(pages = before - work.dirty.pages(), "spilled");
    Ok(())
}

/// Returns pages that were taken and not used.
pub(super) fn give_back(work: &mut Work, extents: &[Extent]) -> Result<()> {
    work.placed.extents = crate::space::subtract(&work.placed.extents, extents);
    add_free(work, extents)
}

/// Makes pages takeable that this transaction took and nobody refers to.
pub(super) fn add_free(work: &mut Work, extents: &[Extent]) -> Result<()> {
    let store = work.store.clone();
    let (writer, end) = (work.writer.as_deref_mut().ok_or(Error::BadTable)?, Pgno(work.horizon.page_count));
    let old_end = Pgno(writer.meta.page_count);
    let space = &mut store.ledger(writer)?.space;
    for &extent in extents {
        space.add_free(extent).map_err(|d| d.at(extent.start))?;
    }
    // The file may not be that long yet, or be so for nothing: what it was to grow by is taken back.
    let cut = space.trim_end(end);
    if cut < old_end {
        space.add_free(Extent::new(cut, old_end.0 - cut.0)).map_err(|d| d.at(cut))?;
    }
    writer.too_long |= cut < end;
    work.horizon.page_count = cut.max(old_end).0;
    Ok(())
}
