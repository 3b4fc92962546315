//! A position in a table: a key, and one of its values where there are several.
//!
//! Owns: every movement of a cursor. Must not know: transactions (whoever holds a position across changes of the
//! table seeks it anew).
//!
//! A position is *unset*, *on* an entry, or in the *gap* before the entry that `next` will give. After a search that meets
//! an error it is unset: what it had found by then is no position.

use super::duplicates::{self, Duplicates, Orders, SubPage, item_of};
use super::path::Step;
use super::{AnyLeaf, Pages, PagesMut, Path, Tree, at, damaged, open_cells, value};
use crate::error::{Error, Result};
use crate::format::leaf::{Cell, Leaf};
use crate::format::page::Child;
use crate::order::Needle;

/// How far ahead of a walking cursor cells are fetched: their order in memory is that of their insertion.
pub(crate) const CELLS_AHEAD: usize = 6;

/// A key and a value, in place.
pub(crate) type Pair<'a> = (&'a [u8], &'a [u8]);

/// The tree that a position moves in.
#[derive(Clone, Copy)]
pub(crate) struct Trunk<'t> {
    pub tree: &'t Tree,
    pub orders: &'t Orders,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    #[default]
    Unset,
    On,
    Gap,
}

/// The pair at a step. Who walks will come to the cells beyond it.
#[inline]
fn pair_at<'p, P: Pages>(pages: &'p P, step: Step, cells: &Leaf<'p>, end: End) -> Result<Pair<'p>> {
    match end {
        End::First => cells.prefetch_cell(step.index + CELLS_AHEAD),
        End::Last => cells.prefetch_cell(step.index.saturating_sub(CELLS_AHEAD)),
    }
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

/// Which end of a set of duplicates to enter at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    First,
    Last,
}

impl Position {
    pub(crate) fn is_on(&self) -> bool {
        self.state == State::On
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
        let place = (&mut self.path, i, &mut self.inner_path);
        if duplicates::remove_here(pages, table, orders, place)? {
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
        self.enter_cell(pages, t, &cell, end)
    }

    /// Stands on the key at the path, whose cell this is, in a table with duplicates.
    fn enter_cell<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>, cell: &Cell<'p>, end: End) -> Result<Pair<'p>> {
        (self.state, self.inner) = (State::On, Inner::One);
        let leaf = self.path.leaf().page;
        let value = match Duplicates::open(leaf, t.tree, cell)? {
            Duplicates::One(value) => value,
            Duplicates::Sub(sub) => {
                let i = if end == End::First { 0 } else { sub.len() - 1 };
                self.inner = Inner::Sub(i);
                at(leaf, sub.get(i))?
            }
            Duplicates::Tree(tree) => {
                match end {
                    End::First => self.inner_path.first(pages, &tree)?,
                    End::Last => self.inner_path.last(pages, &tree)?,
                };
                self.inner = Inner::Tree;
                self.inner_path.key(pages)?
            }
        };
        Ok((cell.key, value))
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
        pair_at(pages, step, &open_cells(pages, step.page)?, end)
    }

    /// To the neighbour in a table without duplicates, which is mostly in the same leaf.
    #[inline]
    fn step_single<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>, end: End) -> Result<Option<Pair<'p>>> {
        let step = self.path.leaf_mut();
        let cells = open_cells(pages, step.page)?;
        let (to, there) = match end {
            End::First => (step.index + 1, step.index + 1 < cells.len()),
            End::Last => (step.index.wrapping_sub(1), step.index > 0),
        };
        if there {
            step.index = to;
            return pair_at(pages, *step, &cells, end).map(Some);
        }
        let there = match end {
            End::First => self.path.next(pages, &t.orders.key)?,
            End::Last => self.path.prev(pages, &t.orders.key)?,
        };
        if !there {
            return Ok(None);
        }
        let pair = self.enter_single(pages, end)?;
        self.path.prefetch_beside(pages, end == End::Last);
        Ok(Some(pair))
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
        if self.step_inner(pages, t, false)? {
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
        if self.step_inner(pages, t, true)? {
            return self.current(pages, t);
        }
        self.prev_key(pages, t)
    }

    /// First value of the next key.
    pub(crate) fn next_key<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        let there = match self.state {
            State::Unset => return self.first(pages, t),
            State::On if !t.tree.has_duplicates() => return self.step_single(pages, t, End::First),
            State::Gap if matches!(self.inner, Inner::One) => self.path.settle(pages, &t.orders.key)?,
            State::On | State::Gap => self.path.next(pages, &t.orders.key)?,
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
            return self.step_single(pages, t, End::Last);
        }
        let there = self.path.prev(pages, &t.orders.key)?;
        self.enter_if(there, pages, t, End::Last)
    }

    /// Next value of the same key, if there is one.
    pub(crate) fn next_duplicate<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        if self.step_inner(pages, t, false)? { self.current(pages, t) } else { Ok(None) }
    }

    /// Previous value of the same key, if there is one.
    pub(crate) fn prev_duplicate<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        if self.step_inner(pages, t, true)? { self.current(pages, t) } else { Ok(None) }
    }

    /// Moves among the values of the key; false (and no move) if there is no further one.
    fn step_inner<P: Pages>(&mut self, pages: &P, t: Trunk<'_>, back: bool) -> Result<bool> {
        let from_gap = match self.state {
            State::Unset => return Ok(false),
            State::Gap => true,
            State::On => false,
        };
        let moved = match &self.inner {
            Inner::One => false,
            Inner::Sub(i) => {
                let to = if back { i.wrapping_sub(1) } else { i + usize::from(!from_gap) };
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
            Inner::Tree if back => self.inner_path.prev(pages, &t.orders.duplicate)?,
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

    /// Goes to a key, its values not looked at, or else to the gap where it would be; or, `or_after` that, to the first
    /// entry behind it. The cell there, and the leaf that it is in. The position stands in a gap until its values are
    /// known.
    #[inline(always)]
    fn find_cell<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        key: &[u8],
        or_after: bool,
    ) -> Result<Option<(Leaf<'p>, Cell<'p>)>> {
        (self.state, self.inner) = (State::Gap, Inner::One);
        let order = &t.orders.key;
        let Some((bytes, found)) = self.path.seek_leaf(pages, t.tree, order, &Needle::new(key, order))? else {
            return Ok(None);
        };
        if !found && !or_after {
            return Ok(None);
        }
        let mut leaf = at(self.page(), Leaf::open(bytes))?;
        if self.path.leaf().index == leaf.len() {
            if !self.path.next_leaf(pages, order)? {
                return Ok(None);
            }
            leaf = open_cells(pages, self.path.leaf().page)?;
        }
        let step = self.path.leaf();
        let cell = at(step.page, leaf.cell(step.index))?;
        Ok(Some((leaf, cell)))
    }

    /// As [`Position::find_cell`], and stands there, in a table without duplicates.
    #[inline(always)]
    pub(crate) fn seek_single<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        key: &[u8],
        or_after: bool,
    ) -> Result<Option<(Leaf<'p>, Pair<'p>)>> {
        let found = self.find_cell(pages, t, key, or_after).and_then(|found| {
            let Some((leaf, cell)) = found else { return Ok(None) };
            self.state = State::On;
            // Who looks for a key itself wants its value; from one at or after it a walk begins.
            let load = if or_after { value::meet } else { value::load };
            Ok(Some((leaf, (cell.key, load(pages, self.page(), &cell)?))))
        });
        found.inspect_err(|_| self.unset())
    }

    /// As [`Position::find_cell`], and stands there, at the first value.
    #[inline]
    fn seek_key<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        key: &[u8],
        or_after: bool,
    ) -> Result<Option<Pair<'p>>> {
        if !t.tree.has_duplicates() {
            return Ok(self.seek_single(pages, t, key, or_after)?.map(|(_, pair)| pair));
        }
        let found = self.find_cell(pages, t, key, or_after).and_then(|found| {
            let Some((_, cell)) = found else { return Ok(None) };
            self.enter_cell(pages, t, &cell, End::First).map(Some)
        });
        found.inspect_err(|_| self.unset())
    }

    /// The key, at its first value. If it is not there: nothing, and the position is the gap where it would be.
    pub(crate) fn seek<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>, key: &[u8]) -> Result<Option<Pair<'p>>> {
        self.seek_key(pages, t, key, false)
    }

    /// The first entry whose key is not below this one.
    pub(crate) fn seek_at_or_after<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        key: &[u8],
    ) -> Result<Option<Pair<'p>>> {
        self.seek_key(pages, t, key, true)
    }

    /// The entry with this key and the first value not below this one: `(pair, is it exactly the value)`. If there is
    /// none: the gap where it would be.
    pub(crate) fn seek_pair<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<(Pair<'p>, bool)>> {
        self.find_pair(pages, t, key, value).inspect_err(|_| self.unset())
    }

    fn find_pair<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<(Pair<'p>, bool)>> {
        let Some((_, cell)) = self.find_cell(pages, t, key, false)? else { return Ok(None) };
        self.state = State::On;
        let leaf = self.path.leaf().page;
        let order = &t.orders.duplicate;
        let not_below = |only| {
            let cmp = order.cmp(only, value);
            cmp.is_ge().then_some((only, cmp.is_eq()))
        };
        let found = if !t.tree.has_duplicates() {
            not_below(value::load(pages, leaf, &cell)?)
        } else {
            match Duplicates::open(leaf, t.tree, &cell)? {
                Duplicates::One(only) => not_below(only),
                Duplicates::Sub(sub) => {
                    let (i, exact) = at(leaf, sub.find(value, order))?;
                    self.inner = Inner::Sub(i);
                    if i < sub.len() { Some((at(leaf, sub.get(i))?, exact)) } else { None }
                }
                Duplicates::Tree(tree) => {
                    self.inner = Inner::Tree;
                    let exact = self.inner_path.seek(pages, &tree, order, &Needle::new(value, order))?;
                    let there = exact || self.inner_path.settle(pages, order)?;
                    if there { Some((self.inner_path.key(pages)?, exact)) } else { None }
                }
            }
        };
        match found {
            Some((found, exact)) => Ok(Some(((cell.key, found), exact))),
            None => self.leave_behind(pages, t).map(|()| None),
        }
    }

    /// As [`Position::seek_pair`], only if the value is exactly this one.
    pub(crate) fn seek_exact_pair<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Pair<'p>>> {
        match self.seek_pair(pages, t, key, value)? {
            Some((pair, true)) => Ok(Some(pair)),
            Some((_, false)) => {
                self.step_before(t);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// As [`Position::seek_pair`], exact or not.
    pub(crate) fn seek_pair_at_or_after<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Pair<'p>>> {
        Ok(self.seek_pair(pages, t, key, value)?.map(|(pair, _)| pair))
    }

    /// The next page of fixed-size values.
    pub(crate) fn next_multiple<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        must_be_fixed(t)?;
        if self.next_duplicate(pages, t)?.is_none() {
            return Ok(None);
        }
        self.multiple(pages, t)
    }

    /// Stands in the gap after all values of the key.
    fn leave_behind<P: Pages>(&mut self, pages: &P, t: Trunk<'_>) -> Result<()> {
        self.enter(pages, t, End::Last)?;
        match &mut self.inner {
            Inner::One if t.tree.has_duplicates() => self.inner = Inner::Sub(1),
            Inner::One => self.path.leaf_mut().index += 1,
            Inner::Sub(i) => *i += 1,
            Inner::Tree => self.inner_path.leaf_mut().index += 1,
        }
        self.state = State::Gap;
        Ok(())
    }

    /// Stands in the gap before the value that it is on.
    fn step_before(&mut self, t: Trunk<'_>) {
        if t.tree.has_duplicates() && matches!(self.inner, Inner::One) {
            self.inner = Inner::Sub(0);
        }
        self.state = State::Gap;
    }

    /// Stands where this entry is, or in the gap where it was. No value: in the gap before those of the key.
    pub(crate) fn restore<P: Pages>(
        &mut self,
        pages: &P,
        t: Trunk<'_>,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<()> {
        match value {
            Some(value) if t.tree.has_duplicates() => {
                if let Some((_, false)) = self.seek_pair(pages, t, key, value)? {
                    self.step_before(t);
                }
            }
            _ => {
                if self.seek(pages, t, key)?.is_some() && t.tree.has_duplicates() {
                    self.step_before(t);
                }
            }
        }
        Ok(())
    }

    /// How many values the key has.
    pub(crate) fn count<P: Pages>(&self, pages: &P, t: Trunk<'_>) -> Result<u64> {
        if !t.tree.has_duplicates() {
            return Ok(1);
        }
        let cell = self.cell(pages)?;
        Ok(Duplicates::open(self.path.leaf().page, t.tree, &cell)?.count())
    }

    /// The fixed-size values from this one to the end of its page, side by side; the position is then on the last of
    /// them.
    pub(crate) fn multiple<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        must_be_fixed(t)?;
        let Some((key, value)) = self.current(pages, t)? else {
            return Ok(None);
        };
        let values = match &mut self.inner {
            Inner::One => value,
            Inner::Sub(i) => {
                let step = self.path.leaf();
                let cell = at(step.page, open_cells(pages, step.page)?.cell(step.index))?;
                let sub = at(step.page, SubPage::open(cell.value, item_of(t.tree)))?;
                let from = std::mem::replace(i, sub.len() - 1);
                sub.packed(from..sub.len())
            }
            Inner::Tree => {
                let step = self.inner_path.leaf();
                let AnyLeaf::Packed(page) = self.inner_path.open_leaf(pages)? else {
                    return Err(damaged(step.page, "fixed-size duplicates that are not packed"));
                };
                self.inner_path.leaf_mut().index = page.len() - 1;
                at(step.page, page.keys(step.index..page.len()))?
            }
        };
        Ok(Some((key, values)))
    }

    /// As [`Position::multiple`], from the page's first value on.
    pub(crate) fn whole_multiple<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        must_be_fixed(t)?;
        if self.is_on() {
            match &mut self.inner {
                Inner::One => {}
                Inner::Sub(i) => *i = 0,
                Inner::Tree => self.inner_path.leaf_mut().index = 0,
            }
        }
        self.multiple(pages, t)
    }

    /// As [`Position::multiple`], for the page before: its values up to the last before this one's page.
    pub(crate) fn multiple_before<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>) -> Result<Option<Pair<'p>>> {
        must_be_fixed(t)?;
        if !self.is_on() || !matches!(self.inner, Inner::Tree) {
            return Ok(None);
        }
        if !self.inner_path.prev_leaf(pages, &t.orders.duplicate)? {
            return Ok(None);
        }
        self.inner_path.leaf_mut().index = 0;
        let pair = self.multiple(pages, t)?;
        self.inner_path.leaf_mut().index = 0;
        Ok(pair)
    }
}

/// Only values of one size stand side by side.
fn must_be_fixed(t: Trunk<'_>) -> Result<()> {
    if t.tree.has_fixed() {
        return Ok(());
    }
    Err(Error::Incompatible { what: "it has no fixed-size duplicates to return several of" })
}
