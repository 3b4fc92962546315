//! Putting an entry into a tree, splitting what is full.
//!
//! Owns: insertion and splits. Must not know: duplicates (an entry is a key and the size and kind of its value).
//!
//! A page splits at its middle by bytes, except where entries come one after the other, in rising or in falling order: there
//! it splits at the place of the new one. So what comes in order, in the whole table or for each of many first parts of
//! keys, leaves full pages behind.

use std::ops::Range;

use super::path::Step;
use super::{AnyLeaf, PagesMut, Path, Tree, at, damaged, expect_kind, open_branch, open_leaf, share};
use crate::error::Result;
use crate::format::branch::{Branch, BranchMut};
use crate::format::leaf::{CellKind, Leaf, LeafMut, cell_bytes};
use crate::format::packed::{Packed, PackedMut};
use crate::format::page::Child;
use crate::order::{Order, separator};
use crate::width::to_u8;

/// What a new cell needs: its key, and the length and kind of its value.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'k> {
    pub key: &'k [u8],
    pub value_bytes: usize,
    pub kind: CellKind,
}

/// Makes every page on the path changeable.
pub(crate) fn touch_path<P: PagesMut>(pages: &mut P, tree: &mut Tree, path: &mut Path) -> Result<()> {
    if path.is_empty() || pages.is_own(path.leaf().page) {
        return Ok(());
    }
    expect_kind(pages, tree, path.leaf().page)?;
    touch_steps(pages, tree, path, path.steps().len())
}

/// Makes the first `count` pages on the path changeable.
pub(super) fn touch_steps<P: PagesMut>(pages: &mut P, tree: &mut Tree, path: &mut Path, count: usize) -> Result<()> {
    for i in 0..count {
        let old = path.steps()[i].page;
        let new = pages.touch(old)?;
        if new == old {
            continue;
        }
        path.steps_mut()[i].page = new;
        match i.checked_sub(1) {
            None => tree.root = new,
            Some(above) => {
                let parent = path.steps()[above];
                BranchMut::new(pages.page_mut(parent.page)).set_child(parent.index, new);
            }
        }
    }
    Ok(())
}

/// Inserts an entry where `path` stands, which must be its place by a seek. The path then stands on it. Returns the
/// space for its value. The caller keeps the count of entries.
pub(crate) fn insert<'p, P: PagesMut>(
    pages: &'p mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    entry: Entry<'_>,
) -> Result<&'p mut [u8]> {
    if tree.is_empty() {
        plant(pages, tree, path)?;
    }
    touch_path(pages, tree, path)?;
    let step = path.leaf();
    if fits(pages.page_mut(step.page), tree, &entry) {
        return Ok(add(pages.page_mut(step.page), tree, step.index, order, &entry));
    }
    if path.is_at_start() {
        add_leaf_before(pages, tree, order, path, entry)?;
    } else if path.is_rightmost(pages)? && step.index == open_leaf(pages, step.page)?.len() {
        add_leaf_behind(pages, tree, order, path, entry)?;
    } else {
        make_room(pages, tree, order, path, entry)?;
    }
    let step = path.leaf();
    Ok(value_mut(pages.page_mut(step.page), tree, step.index))
}

/// Gives the entry at `path` a value of another length or kind, whose old content is lost. The path stays on it.
pub(crate) fn resize<'p, P: PagesMut>(
    pages: &'p mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    entry: Entry<'_>,
) -> Result<&'p mut [u8]> {
    touch_path(pages, tree, path)?;
    let step = path.leaf();
    let mut cells = LeafMut::new(pages.page_mut(step.page));
    if cells.resize_value(step.index, entry.value_bytes, entry.kind, order).is_some() {
        return Ok(value_mut(pages.page_mut(step.page), tree, step.index));
    }
    cells.remove(step.index);
    insert(pages, tree, order, path, entry)
}

/// The value of the entry at `path`, in a table without duplicates, to be changed where it stands.
pub(crate) fn touch_value<'p, P: PagesMut>(pages: &'p mut P, tree: &mut Tree, path: &mut Path) -> Result<&'p mut [u8]> {
    touch_path(pages, tree, path)?;
    let step = path.leaf();
    Ok(value_mut(pages.page_mut(step.page), tree, step.index))
}

/// Gives an empty tree its root.
fn plant<P: PagesMut>(pages: &mut P, tree: &mut Tree, path: &mut Path) -> Result<()> {
    let root = pages.create();
    init_leaf(pages.page_mut(root), tree);
    tree.root = root;
    tree.depth = 1;
    tree.leaves = 1;
    path.clear();
    path.push(root, 0)
}

fn init_leaf(page: &mut [u8], tree: &Tree) {
    if tree.is_packed() {
        PackedMut::init(page, usize::from(tree.item));
    } else {
        LeafMut::init(page);
    }
}

fn fits(page: &mut [u8], tree: &Tree, entry: &Entry<'_>) -> bool {
    if tree.is_packed() {
        PackedMut::new(page).fits(1)
    } else {
        LeafMut::new(page).fits(entry.key.len(), entry.value_bytes)
    }
}

fn add<'p>(page: &'p mut [u8], tree: &Tree, i: usize, order: &Order, entry: &Entry<'_>) -> &'p mut [u8] {
    if tree.is_packed() {
        PackedMut::new(page).insert(i, entry.key);
        return &mut [];
    }
    LeafMut::new(page).insert_last(i, entry.key, entry.value_bytes, entry.kind, order)
}

fn value_mut<'p>(page: &'p mut [u8], tree: &Tree, i: usize) -> &'p mut [u8] {
    if tree.is_packed() { &mut [] } else { LeafMut::new(page).into_value(i) }
}

/// Where an entry belongs that seems to be one of many that come in order.
#[derive(Clone, Copy)]
enum Run {
    /// Before all that are in its leaf, or behind them.
    Before,
    Behind,
    /// Between them: so many go to the left if the leaf is divided there, the entry among them or not.
    Within(usize),
}

/// Inserts an entry where the path stands, in a leaf that is full.
fn make_room<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    entry: Entry<'_>,
) -> Result<()> {
    let run = run_of(pages, path, &entry)?;
    let is_passed_on = match run {
        Some(Run::Before) => share::pass_on(pages, tree, order, path, &entry, false)?,
        Some(Run::Behind) => share::pass_on(pages, tree, order, path, &entry, true)?,
        Some(Run::Within(_)) | None => false,
    };
    let has_moved = is_passed_on || share::with_neighbour(pages, tree, order, path, &entry)?;
    let step = path.leaf();
    if has_moved && fits(pages.page_mut(step.page), tree, &entry) {
        add(pages.page_mut(step.page), tree, step.index, order, &entry);
        return Ok(());
    }
    match run.filter(|_| !has_moved) {
        Some(Run::Before) => add_leaf_before(pages, tree, order, path, entry),
        Some(Run::Behind) => add_leaf_behind(pages, tree, order, path, entry),
        Some(Run::Within(cut)) => split_leaf(pages, tree, order, path, entry, Some(cut)),
        None => split_leaf(pages, tree, order, path, entry, None),
    }
}

/// The run of an entry that is to be inserted where the path stands, in a leaf that is full: its neighbour is what came last to
/// this leaf. None also where the entry would fit into neither part of it.
fn run_of<P: PagesMut>(pages: &P, path: &Path, entry: &Entry<'_>) -> Result<Option<Run>> {
    let step = path.leaf();
    let AnyLeaf::Cells(leaf) = open_leaf(pages, step.page)? else { return Ok(None) };
    let rises = step.index > 0 && leaf.is_newest(step.index - 1);
    if !rises && !leaf.is_newest(step.index) {
        return Ok(None);
    }
    match step.index {
        0 => Ok(Some(Run::Before)),
        i if i == leaf.len() => Ok(Some(Run::Behind)),
        i => {
            let bytes = cell_bytes(entry.key.len(), entry.value_bytes);
            Ok(at(step.page, leaf.split_beside(i, bytes, rises))?.map(Run::Within))
        }
    }
}

/// Gives an entry a leaf of its own in the place of the full one, which is then beside it.
fn add_leaf_before<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    entry: Entry<'_>,
) -> Result<()> {
    let (left, right) = (pages.create(), path.leaf().page);
    init_leaf(pages.page_mut(left), tree);
    add(pages.page_mut(left), tree, 0, order, &entry);
    match path.steps() {
        [.., parent, _] => BranchMut::new(pages.page_mut(parent.page)).set_child(parent.index, left),
        _ => tree.root = left,
    }
    path.leaf_mut().page = left;
    add_leaf(pages, tree, order, path, (left, right), false)
}

/// Gives an entry a leaf of its own behind the full one.
fn add_leaf_behind<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    entry: Entry<'_>,
) -> Result<()> {
    let (left, right) = (path.leaf().page, pages.create());
    init_leaf(pages.page_mut(right), tree);
    add(pages.page_mut(right), tree, 0, order, &entry);
    *path.leaf_mut() = Step { page: right, index: 0 };
    add_leaf(pages, tree, order, path, (left, right), true)
}

/// Splits the full leaf at the path's end, so that this many go to the left or that both are as full, and inserts the entry
/// where it belongs.
fn split_leaf<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    entry: Entry<'_>,
    cut: Option<usize>,
) -> Result<()> {
    let step = path.leaf();
    let (left, right) = (step.page, pages.create());
    let old = pages.page(left)?.to_vec();
    let cut = deal_leaf(pages, tree, order, &old, (left, right), (step.index, entry), cut)?;
    let goes_right = step.index >= cut;
    *path.leaf_mut() = if goes_right { Step { page: right, index: step.index - cut } } else { step };
    add_leaf(pages, tree, order, path, (left, right), goes_right)
}

/// Enters the right one of two leaves, which are neighbours, into the branch above, where the left one is.
fn add_leaf<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    (left, right): (Child, Child),
    goes_right: bool,
) -> Result<()> {
    tree.leaves += 1;
    let mut between = Vec::new();
    let low = open_leaf(pages, left)?;
    let low = at(left, low.key(low.len() - 1))?;
    let high = at(right, open_leaf(pages, right)?.key(0))?;
    separator(order, low, high, &mut between);
    add_child(pages, tree, order, path, path.steps().len() - 1, NewChild { between, right, goes_right })
}

/// Deals the entries of `old` and the new one to two pages; returns how many the left one has got.
fn deal_leaf<P: PagesMut>(
    pages: &mut P,
    tree: &Tree,
    order: &Order,
    old: &[u8],
    (left, right): (Child, Child),
    (index, entry): (usize, Entry<'_>),
    cut: Option<usize>,
) -> Result<usize> {
    let cut = match at(left, AnyLeaf::open(old))? {
        AnyLeaf::Packed(from) => {
            let cut = from.len().div_ceil(2);
            deal_packed(pages, from, cut, (left, right))?;
            cut
        }
        AnyLeaf::Cells(from) => {
            let even = || from.best_split(index, cell_bytes(entry.key.len(), entry.value_bytes));
            let cut = at(left, cut.map_or_else(even, Ok))?;
            // It counts the new entry; the old ones are cut around it.
            let old_cut = if cut > index { cut - 1 } else { cut };
            deal_cells(pages, order, from, old_cut, (left, right))?;
            cut
        }
    };
    let (page, i) = if index >= cut { (right, index - cut) } else { (left, index) };
    add(pages.page_mut(page), tree, i, order, &entry);
    Ok(cut)
}

fn deal_cells<P: PagesMut>(
    pages: &mut P,
    order: &Order,
    from: Leaf<'_>,
    cut: usize,
    (left, right): (Child, Child),
) -> Result<()> {
    if cut < from.len() {
        fill_cells(pages, order, from, 0..cut, left)?;
    }
    fill_cells(pages, order, from, cut..from.len(), right)
}

fn fill_cells<P: PagesMut>(pages: &mut P, order: &Order, from: Leaf<'_>, cells: Range<usize>, to: Child) -> Result<()> {
    let mut page = LeafMut::init(pages.page_mut(to));
    at(to, page.copy_range(&from, cells, order))?;
    page.seal(order);
    Ok(())
}

fn deal_packed<P: PagesMut>(pages: &mut P, from: Packed<'_>, cut: usize, (left, right): (Child, Child)) -> Result<()> {
    for (page, range) in [(right, cut..from.len()), (left, 0..cut)] {
        at(page, PackedMut::init(pages.page_mut(page), from.item_size()).copy_range(&from, range))?;
    }
    Ok(())
}

/// A page that came to be by a split, to be entered into the branch above.
struct NewChild {
    between: Vec<u8>,
    right: Child,
    /// The path goes through the new page, not through the old one.
    goes_right: bool,
}

/// Enters a split page into the branch above step `below` of the path, splitting that one too if it is full.
fn add_child<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    below: usize,
    new: NewChild,
) -> Result<()> {
    let Some(above) = below.checked_sub(1) else {
        return grow(pages, tree, order, path, new);
    };
    let parent = path.steps()[above];
    if BranchMut::new(pages.page_mut(parent.page)).insert(parent.index + 1, &new.between, new.right) {
        path.steps_mut()[above].index += usize::from(new.goes_right);
        return Ok(());
    }
    let up = split_branch(pages, tree, order, path, above, new)?;
    add_child(pages, tree, order, path, above, up)
}

/// Puts a new root above the old one and its split half.
fn grow<P: PagesMut>(pages: &mut P, tree: &mut Tree, order: &Order, path: &mut Path, new: NewChild) -> Result<()> {
    let root = pages.create();
    let mut page = BranchMut::init(pages.page_mut(root), tree.depth + 1, !order.has_views());
    page.insert(0, &[], tree.root);
    let fits = page.insert(1, &new.between, new.right);
    assert!(fits, "a branch holds at least two children");
    tree.root = root;
    tree.depth += 1;
    tree.branches += 1;
    path.insert_root(root, usize::from(new.goes_right))
}

/// Splits the branch at step `at_step` while adding a child after the path's; returns what to enter one level up.
fn split_branch<P: PagesMut>(
    pages: &mut P,
    tree: &mut Tree,
    order: &Order,
    path: &mut Path,
    at_step: usize,
    new: NewChild,
) -> Result<NewChild> {
    let step = path.steps()[at_step];
    let level = tree.depth - to_u8(at_step);
    let old = open_branch(pages, step.page, level)?;
    let mut entries = collect(step.page, &old)?;
    let place = step.index + 1;
    // At the edges the full page stays full; two children are the least that a branch should have.
    let cut = match place {
        _ if place == entries.len() => entries.len() - 1,
        _ if path.is_at_start() && !new.goes_right => 2,
        _ => entries.len().div_ceil(2),
    };
    entries.insert(place, (new.between, new.right));
    let right = pages.create();
    let cut = build_halves(pages, order, level, &entries, cut, (step.page, right))?;
    tree.branches += 1;
    let child_index = step.index + usize::from(new.goes_right);
    let goes_right = child_index >= cut;
    if goes_right {
        path.steps_mut()[at_step] = Step { page: right, index: child_index - cut };
    } else {
        path.steps_mut()[at_step].index = child_index;
    }
    Ok(NewChild { between: entries.swap_remove(cut).0, right, goes_right })
}

/// All entries of a branch page: separator (empty for the first) and child.
pub(super) fn collect(page: Child, branch: &Branch<'_>) -> Result<Vec<(Vec<u8>, Child)>> {
    let mut entries = Vec::with_capacity(branch.len() + 1);
    for i in 0..branch.len() {
        let mut between = Vec::new();
        if i > 0 {
            at(page, branch.separator(i, &mut between))?;
        }
        entries.push((between, at(page, branch.child(i))?));
    }
    Ok(entries)
}

/// Fills a branch page with entries; false if they do not fit.
pub(super) fn build(page: &mut [u8], level: u8, order: &Order, entries: &[(Vec<u8>, Child)]) -> bool {
    BranchMut::init(page, level, !order.has_views()).build(entries.iter().map(|(between, child)| (between, *child)))
}

/// Deals entries to two branch pages, near `cut` but so that both halves fit; returns the cut taken.
fn build_halves<P: PagesMut>(
    pages: &mut P,
    order: &Order,
    level: u8,
    entries: &[(Vec<u8>, Child)],
    cut: usize,
    (left, right): (Child, Child),
) -> Result<usize> {
    let candidates = (0..entries.len()).flat_map(|d| [cut.checked_sub(d), cut.checked_add(d)]).flatten();
    for cut in candidates.filter(|&c| c >= 1 && c < entries.len()) {
        if build(pages.page_mut(right), level, order, &entries[cut..])
            && build(pages.page_mut(left), level, order, &entries[..cut])
        {
            return Ok(cut);
        }
    }
    Err(damaged(left, "a branch page that cannot be split"))
}
