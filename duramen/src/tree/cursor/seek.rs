//! Searches of a position: for a key, for one of its values, for where it stood.

use super::{Inner, OfValues, Pair, Position, State, Trunk, pair_at};
use crate::error::{Error, Result};
use crate::format::leaf::{Cell, Leaf};
use crate::order::{Needle, Order};
use crate::tree::duplicates::{Duplicates, item_of};
use crate::tree::range::check_size;
use crate::tree::{End, Pages, at, open_cells, value};

impl Position {
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
        if or_after && matches!(order, Order::Native) {
            check_size(at(self.page(), leaf.key(0))?, key)?;
        }
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

    /// As [`Position::seek_single`], of a position that is in this leaf, if the key's place is there. `None`, and nothing is moved,
    /// where it is elsewhere or may be.
    pub(crate) fn seek_in_leaf<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        leaf: &Leaf<'p>,
        (key, or_after): (&[u8], bool),
    ) -> Result<Option<Option<Pair<'p>>>> {
        let (page, order) = (self.page(), &t.orders.key);
        let (i, found) = at(page, leaf.find(&Needle::new(key, order), order))?;
        if or_after && matches!(order, Order::Native) {
            check_size(at(page, leaf.key(0))?, key)?;
        }
        let is_here = found || (0 < i && i < leaf.len());
        if !is_here {
            return Ok(None);
        }
        (self.state, self.inner) = (State::Gap, Inner::One);
        self.path.leaf_mut().index = i;
        if !found && !or_after {
            return Ok(Some(None));
        }
        let cell = at(page, leaf.cell(i))?;
        let load = if or_after { value::meet } else { value::load };
        let value = load(pages, page, &cell)?;
        self.state = State::On;
        Ok(Some(Some((cell.key, value))))
    }

    /// Goes to the first entry of a table without duplicates, or to the last; the leaf that it is in. None if there is none.
    pub(crate) fn end_single<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        end: End,
    ) -> Result<Option<(Leaf<'p>, Pair<'p>)>> {
        self.unset();
        let Some(bytes) = self.path.end_leaf(pages, t.tree, end)? else { return Ok(None) };
        let step = self.path.leaf();
        let leaf = at(step.page, Leaf::open(bytes))?;
        let pair = pair_at(pages, step, &leaf, end.inwards())?;
        (self.state, self.inner) = (State::On, Inner::One);
        Ok(Some((leaf, pair)))
    }

    /// The same in a table with duplicates; on the first value of the first key, or on the last of the last.
    #[inline(always)]
    pub(in crate::tree) fn end_values<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        end: End,
    ) -> Result<Option<OfValues<'p>>> {
        self.unset();
        let Some(bytes) = self.path.end_leaf(pages, t.tree, end)? else { return Ok(None) };
        let step = self.path.leaf();
        let found = at(step.page, Leaf::open(bytes)).and_then(|leaf| {
            let cell = at(step.page, leaf.cell(step.index))?;
            let (values, value) = self.enter_cell(pages, t, &cell, end)?;
            Ok(Some((leaf, cell, values, value)))
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
        Ok(self.seek_values(pages, t, key, or_after)?.map(|(_, cell, _, value)| (cell.key, value)))
    }

    /// The same in a table with duplicates: the leaf, the cell in it, its values and the first of them.
    #[inline(always)]
    pub(in crate::tree) fn seek_values<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        key: &[u8],
        or_after: bool,
    ) -> Result<Option<OfValues<'p>>> {
        let found = self.find_cell(pages, t, key, or_after).and_then(|found| {
            let Some((leaf, cell)) = found else { return Ok(None) };
            let (values, value) = self.enter_cell(pages, t, &cell, End::First)?;
            Ok(Some((leaf, cell, values, value)))
        });
        found.inspect_err(|_| self.unset())
    }

    /// The key, at its first value. If it is not there: nothing, and the position is the gap where it would be.
    pub(crate) fn seek<'p, P: Pages>(&mut self, pages: &'p P, t: Trunk<'_>, key: &[u8]) -> Result<Option<Pair<'p>>> {
        self.seek_key(pages, t, key, false)
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

    /// As [`Position::seek_pair`], exact or not. Among integers none of another size has a place.
    pub(crate) fn seek_pair_at_or_after<'p, P: Pages>(
        &mut self,
        pages: &'p P,
        t: Trunk<'_>,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Pair<'p>>> {
        let (bytes, size) = (value.len(), item_of(t.tree));
        if matches!(t.orders.duplicate, Order::Native) && size != 0 && bytes != size {
            self.unset();
            return Err(Error::ValueLength { bytes, min: size, max: size });
        }
        Ok(self.seek_pair(pages, t, key, value)?.map(|(pair, _)| pair))
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
}
