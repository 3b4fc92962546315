//! A position in a table: a key, and one of its values where there are several.
//!
//! Owns: every movement of a cursor; searches are in `seek`, values side by side in `multiple`. Must not know: transactions (whoever holds a position across changes of the
//! table seeks it anew).
//!
//! A position is *unset*, *on* an entry, or in the *gap* before the entry that `next` will give. After a search that meets
//! an error it is unset: what it had found by then is no position.

mod multiple;
mod seek;

use super::duplicates::{self, Duplicates, Orders, Site, item_of};
use super::path::Step;
use super::sub_page::SubPage;
use super::{AnyLeaf, Direction, End, Pages, PagesMut, Path, Tree, at, damaged, open_cells, value};
use crate::error::Result;
use crate::format::branch::Branch;
use crate::format::leaf::{Cell, Leaf};
use crate::format::page::Child;

/// How far ahead of a walking cursor cells are fetched: their order in memory is that of their insertion.
const CELLS_AHEAD: usize = 6;

/// A key and a value, in place.
pub(crate) type Pair<'a> = (&'a [u8], &'a [u8]);

/// The tree that a position moves in.
#[derive(Clone, Copy)]
pub(crate) struct Trunk<'t> {
    pub tree: &'t Tree,
    pub orders: &'t Orders,
}

/// Who walks will come to the cells beyond this one.
#[inline(always)]
pub(crate) fn prefetch_beyond(leaf: &Leaf<'_>, i: usize, direction: Direction) {
    leaf.prefetch_cell(direction.steps_on(i, CELLS_AHEAD).unwrap_or(0));
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Unset,
    On,
    Gap,
}

/// The pair at a step, from which one may walk on that way.
#[inline]
fn pair_at<'p, P: Pages>(pages: &'p P, step: Step, cells: &Leaf<'p>, direction: Direction) -> Result<Pair<'p>> {
    prefetch_beyond(cells, step.index, direction);
    let cell = at(step.page, cells.cell(step.index))?;
    Ok((cell.key, value::meet(pages, step.page, &cell)?))
}

/// Where among the values of its key a position stands.
#[derive(Clone, Debug, Default)]
pub(super) enum Inner {
    /// The key has one value.
    #[default]
    One,
    /// Index in a sub-page (or its length: the gap after the last). In a gap also among the values of a key that has
    /// but one: 0 before it, 1 after it.
    Sub(usize),
    /// In a tree of duplicates: `Position::inner_path`.
    Tree,
}

/// The values of a key, as far as a position that is on one of them has them at hand.
#[derive(Clone, Copy)]
pub(super) enum Values<'p> {
    One,
    Sub(SubPage<'p>),
    /// The leaf of the key's tree of duplicates that the position is in; how many that tree has.
    Leaf(AnyLeaf<'p>, u64),
}

/// A leaf, a cell in it, its values, and the one of them that the position is on.
pub(super) type OfValues<'p> = (Leaf<'p>, Cell<'p>, Values<'p>, &'p [u8]);

/// What became of a value that a position was on.
#[derive(Clone, Copy)]
pub(crate) struct Removed {
    /// Its key has gone with it.
    pub key: bool,
    /// The position knows the gap where it was.
    pub is_known: bool,
}

/// See the module's head.
#[derive(Clone, Default)]
pub(crate) struct Position {
    state: State,
    pub(super) path: Path,
    pub(super) inner: Inner,
    pub(super) inner_path: Path,
}

impl Position {
    pub(crate) fn is_on(&self) -> bool {
        self.state == State::On
    }

    /// Whether it is on a value that is the only one of its key.
    pub(crate) fn is_on_only_value(&self) -> bool {
        self.is_on() && matches!(self.inner, Inner::One)
    }

    /// The way to the key that the position is on, for who changes the entry there.
    pub(crate) fn path_mut(&mut self) -> &mut Path {
        &mut self.path
    }

    /// An entry has been stored by its path, in a table without duplicates: the position is on it. False if the path leads
    /// nowhere.
    pub(crate) fn stand_on_path(&mut self) -> bool {
        (self.state, self.inner) = (State::On, Inner::One);
        !self.path.is_empty()
    }

    /// The key has been removed by its path: the position is in the gap where it was. False if that is not known.
    pub(crate) fn key_is_gone(&mut self) -> bool {
        (self.state, self.inner) = (State::Gap, Inner::One);
        !self.path.is_empty()
    }

    /// Removes the value that the position is on from its key, in a table with duplicates. The position is in the gap then
    /// where it was, if that is known. The caller keeps the count of entries.
    pub(crate) fn remove_value<P: PagesMut>(
        &mut self,
        pages: &mut P,
        table: &mut Tree,
        orders: &Orders,
    ) -> Result<Removed> {
        let i = if let Inner::Sub(i) = self.inner { i } else { 0 };
        let site = Site { table, orders, path: &mut self.path };
        if duplicates::remove_here(pages, site, i, &mut self.inner_path)? {
            return Ok(Removed { key: true, is_known: self.key_is_gone() });
        }
        self.state = State::Gap;
        let is_lost = matches!(self.inner, Inner::Tree) && self.inner_path.is_empty();
        Ok(Removed { key: false, is_known: !self.path.is_empty() && !is_lost })
    }

    /// Gives the value that the position is on, in a table with duplicates, other bytes, where nothing moves by that; false if
    /// something would. The new ones are of the same place in the order.
    pub(crate) fn overwrite_value<P: PagesMut>(
        &mut self,
        pages: &mut P,
        table: &mut Tree,
        value: &[u8],
    ) -> Result<bool> {
        match self.inner {
            Inner::One => duplicates::overwrite_here(pages, table, &mut self.path, 0, value),
            Inner::Sub(i) => duplicates::overwrite_here(pages, table, &mut self.path, i, value),
            Inner::Tree => Ok(false),
        }
    }

    /// The leaf that the position is in.
    pub(crate) fn page(&self) -> Child {
        self.path.leaf().page
    }

    /// Whether it is in a gap.
    pub(crate) fn is_in_gap(&self) -> bool {
        self.state == State::Gap
    }

    /// It has been moved from a gap to an entry of the same leaf.
    pub(super) fn leave_gap(&mut self) {
        self.state = State::On;
    }

    pub(crate) fn is_unset(&self) -> bool {
        self.state == State::Unset
    }

    /// The leaf that the position is in, unless it is unset or nothing is in the table.
    pub(crate) fn leaf(&self) -> Option<Child> {
        if self.is_unset() || self.path.is_empty() { None } else { Some(self.page()) }
    }

    pub(crate) fn unset(&mut self) {
        self.state = State::Unset;
        self.path.clear();
    }

    fn cell<'p, P: Pages>(&self, pages: &'p P) -> Result<Cell<'p>> {
        let step = self.path.leaf();
        at(step.page, open_cells(pages, step.page)?.cell(step.index))
    }

    /// The entry that the position is on.
    pub(crate) fn current<'p, P: Pages>(&self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        if self.state != State::On {
            return Ok(None);
        }
        let cell = self.cell(pages)?;
        let leaf = self.path.leaf().page;
        let value = match &self.inner {
            Inner::One => value::meet(pages, leaf, &cell)?,
            Inner::Sub(i) => at(leaf, SubPage::open(cell.value, item_of(t.tree)).and_then(|sub| sub.get(*i)))?,
            Inner::Tree => self.inner_path.key(pages)?,
        };
        Ok(Some((cell.key, value)))
    }

    /// Stands on the key at the path, at one end of its values.
    fn enter<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>, end: End) -> Result<Pair<'p>> {
        if !t.tree.has_duplicates() {
            return self.enter_single(pages, end);
        }
        let cell = self.cell(pages)?;
        self.enter_cell(pages, t, &cell, end).map(|(_, value)| (cell.key, value))
    }

    /// Stands on the key at the path, whose cell this is, in a table with duplicates: its values, and the one at that end.
    pub(super) fn enter_cell<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        cell: &Cell<'p>,
        end: End,
    ) -> Result<(Values<'p>, &'p [u8])> {
        (self.state, self.inner) = (State::On, Inner::One);
        let leaf = self.path.leaf().page;
        Ok(match Duplicates::open(leaf, t.tree, cell)? {
            Duplicates::One(value) => (Values::One, value),
            Duplicates::Sub(sub) => {
                let i = end.of(sub.len());
                self.inner = Inner::Sub(i);
                (Values::Sub(sub), at(leaf, sub.get(i))?)
            }
            Duplicates::Tree(tree) => {
                // It has a leaf: a tree of duplicates is not empty.
                let bytes = self.inner_path.end_leaf(pages, &tree, end)?.unwrap_or_default();
                self.inner = Inner::Tree;
                let step = self.inner_path.leaf();
                let leaf = at(step.page, AnyLeaf::open(bytes))?;
                (Values::Leaf(leaf, tree.entries), at(step.page, leaf.key(step.index))?)
            }
        })
    }

    fn enter_if<'p, P: Pages>(
        &mut self,
        there: bool,
        pages: &'p P,
        t: Trunk<'_>,
        end: End,
    ) -> Result<Option<Pair<'p>>> {
        if there { self.enter(pages, t, end).map(Some) } else { Ok(None) }
    }

    /// Stands on the key at the path, in a table without duplicates.
    fn enter_single<'p, P: Pages>(&mut self, pages: &'p P, end: End) -> Result<Pair<'p>> {
        (self.state, self.inner) = (State::On, Inner::One);
        let step = self.path.leaf();
        pair_at(pages, step, &open_cells(pages, step.page)?, end.inwards())
    }

    /// To the neighbour in a table without duplicates, which is mostly in the same leaf.
    #[inline]
    fn step_single<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        direction: Direction,
    ) -> Result<Option<Pair<'p>>> {
        let step = self.path.leaf_mut();
        let cells = open_cells(pages, step.page)?;
        let (to, there) = match direction {
            Direction::Forwards => (step.index + 1, step.index + 1 < cells.len()),
            Direction::Backwards => (step.index.wrapping_sub(1), step.index > 0),
        };
        if there {
            step.index = to;
            return pair_at(pages, *step, &cells, direction).map(Some);
        }
        let there = match direction {
            Direction::Forwards => self.path.next(pages, &t.orders.key)?,
            Direction::Backwards => self.path.prev(pages, &t.orders.key)?,
        };
        if !there {
            return Ok(None);
        }
        let pair = self.enter_single(pages, direction.entrance())?;
        self.path.prefetch_beside(pages, direction);
        Ok(Some(pair))
    }

    /// From the last key of a leaf, or the first, which this is, to the leaf beside it: that leaf, the cell come to, of whose
    /// values the position is on none yet, and the leaf's parent. After an error it is unset.
    #[inline(always)]
    pub(super) fn next_leaf<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        edge: &[u8],
        direction: Direction,
    ) -> Result<Option<(Leaf<'p>, Cell<'p>, Branch<'p>)>> {
        let found = self.path.leaf_beside(pages, direction).and_then(|found| {
            let Some((leaf, parent)) = found else { return Ok(None) };
            let step = self.path.leaf();
            let (leaf, cell) = at(step.page, leaf.cells().and_then(|leaf| Ok((leaf, leaf.cell(step.index)?))))?;
            self.path.check_passed(pages, &t.orders.key, edge, cell.key, direction)?;
            Ok(Some((leaf, cell, parent)))
        });
        found.inspect_err(|_| self.unset())
    }

    /// First entry of the table.
    pub(crate) fn first<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        self.unset();
        let there = self.path.first(pages, t.tree)?;
        self.enter_if(there, pages, t, End::First)
    }

    /// Last entry of the table.
    pub(crate) fn last<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        self.unset();
        let there = self.path.last(pages, t.tree)?;
        self.enter_if(there, pages, t, End::Last)
    }

    /// Next entry: the next value of the key, else the first of the next key. The first one if unset. At the end the
    /// position stays where it is.
    pub(crate) fn next<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        if self.state == State::Unset {
            return self.first(pages, t);
        }
        if self.step_inner(pages, t, Direction::Forwards)? {
            return self.current(pages, t);
        }
        self.next_key(pages, t)
    }

    /// Previous entry: the value before, else the last of the key before. The last one if unset. At the start the
    /// position stays where it is.
    pub(crate) fn prev<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        if self.state == State::Unset {
            return self.last(pages, t);
        }
        if self.step_inner(pages, t, Direction::Backwards)? {
            return self.current(pages, t);
        }
        self.prev_key(pages, t)
    }

    /// First value of the next key.
    pub(crate) fn next_key<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        let there = match self.state {
            State::Unset => return self.first(pages, t),
            State::On if !t.tree.has_duplicates() => return self.step_single(pages, t, Direction::Forwards),
            State::Gap if matches!(self.inner, Inner::One) => self.path.settle(pages, &t.orders.key)?,
            State::On | State::Gap => {
                let step = self.path.leaf_mut();
                let cells = open_cells(pages, step.page)?;
                if step.index + 1 < cells.len() {
                    step.index += 1;
                    let cell = at(step.page, cells.cell(step.index))?;
                    return self.enter_cell(pages, t, &cell, End::First).map(|(_, value)| Some((cell.key, value)));
                }
                self.path.next_leaf(pages, &t.orders.key)?
            }
        };
        self.enter_if(there, pages, t, End::First)
    }

    /// Last value of the key before.
    pub(crate) fn prev_key<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        if self.state == State::Unset {
            return self.last(pages, t);
        }
        if self.path.is_empty() {
            return Ok(None);
        }
        if self.state == State::On && !t.tree.has_duplicates() {
            return self.step_single(pages, t, Direction::Backwards);
        }
        let there = self.path.prev(pages, &t.orders.key)?;
        self.enter_if(there, pages, t, End::Last)
    }

    /// Next value of the same key, if there is one.
    pub(crate) fn next_duplicate<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        if self.step_inner(pages, t, Direction::Forwards)? { self.current(pages, t) } else { Ok(None) }
    }

    /// Previous value of the same key, if there is one.
    pub(crate) fn prev_duplicate<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        if self.step_inner(pages, t, Direction::Backwards)? { self.current(pages, t) } else { Ok(None) }
    }

    /// Moves among the values of the key; false (and no move) if there is no further one.
    fn step_inner<P: Pages>(&mut self, pages: &P, t: Trunk<'_>, direction: Direction) -> Result<bool> {
        let from_gap = match self.state {
            State::Unset => return Ok(false),
            State::Gap => true,
            State::On => false,
        };
        let moved = match &self.inner {
            Inner::One => false,
            Inner::Sub(i) => {
                let to = match direction {
                    Direction::Forwards => i + usize::from(!from_gap),
                    Direction::Backwards => i.wrapping_sub(1),
                };
                let (len, inner) = match Duplicates::open(self.path.leaf().page, t.tree, &self.cell(pages)?)? {
                    Duplicates::One(_) => (1, Inner::One),
                    Duplicates::Sub(sub) => (sub.len(), Inner::Sub(to)),
                    Duplicates::Tree(_) => return Err(damaged(self.path.leaf().page, "duplicates in two forms")),
                };
                if to < len {
                    self.inner = inner;
                }
                to < len
            }
            Inner::Tree if direction == Direction::Backwards => self.inner_path.prev(pages, &t.orders.duplicate)?,
            Inner::Tree if from_gap => self.inner_path.settle(pages, &t.orders.duplicate)?,
            Inner::Tree => self.inner_path.next(pages, &t.orders.duplicate)?,
        };
        if moved {
            self.state = State::On;
        }
        Ok(moved)
    }

    /// First value of the key.
    pub(crate) fn first_duplicate<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        let on = self.is_on();
        self.enter_if(on, pages, t, End::First)
    }

    /// Last value of the key.
    pub(crate) fn last_duplicate<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        let on = self.is_on();
        self.enter_if(on, pages, t, End::Last)
    }

    /// How many values the key has.
    pub(crate) fn count<P: Pages>(&self, pages: &P, t: Trunk<'_>) -> Result<u64> {
        if !t.tree.has_duplicates() {
            return Ok(1);
        }
        let cell = self.cell(pages)?;
        Ok(Duplicates::open(self.path.leaf().page, t.tree, &cell)?.count())
    }
}
