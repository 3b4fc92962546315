//! The leaf that a position is in, kept open: most steps of a walk are then an index.
//!
//! Owns: steps inside a leaf and among the values of a key, and what is fetched of the next leaf meanwhile. Must not
//! know: how one goes from leaf to leaf, or down a tree of values: the position does.
//!
//! Only for pages that stay as they are: of a snapshot, or of a write transaction until its next change. A step that cannot be
//! made here answers `None` and moves nothing. Then the position's own movements make it, or say what is wrong, and what is
//! open follows them.

use super::cursor::{Inner, OfValues, Pair, Position, Trunk, Values, prefetch_beyond};
use super::duplicates::item_of;
use super::sub_page::SubPage;
use super::{AnyLeaf, Direction, End, Pages, Path, Tree, at, open_cells};
use crate::error::Result;
use crate::format::branch::Branch;
use crate::format::leaf::{Cell, CellKind, Leaf};
use crate::ids::Txnid;
use crate::prefetch::{LINE, prefetch};

/// The leaf that comes next, fetched little by little while the one before it is walked.
#[derive(Clone, Copy, Default)]
pub(crate) struct UpcomingLeaf<'p> {
    bytes: &'p [u8],
    fetched: usize,
    /// Bytes that are fetched with each entry given: all of the leaf is there when its turn comes.
    each: usize,
}

/// Cache lines fetched without a look at how many there are: the fewest at each entry.
const LINES_AHEAD: usize = 3;
/// Where it would be more, a leaf has two entries, and of each what is read first is fetched: to fetch all of them takes longer
/// than a step does.
const LINES_AHEAD_MAX: usize = 24;

impl<'p> UpcomingLeaf<'p> {
    /// The leaf beside the path's, which has so many entries.
    pub(crate) fn of<P: Pages>(path: &Path, pages: &'p P, direction: Direction, entries: usize) -> UpcomingLeaf<'p> {
        let parent = path.open_parent(pages);
        parent.map(|parent| UpcomingLeaf::among(path, &parent, pages, direction, entries)).unwrap_or_default()
    }

    /// As [`UpcomingLeaf::of`], where the parent of the leaf is at hand.
    #[inline(always)]
    pub(crate) fn among<P: Pages>(
        path: &Path,
        parent: &Branch<'p>,
        pages: &'p P,
        direction: Direction,
        entries: usize,
    ) -> UpcomingLeaf<'p> {
        let [next, after] = path.upcoming(pages, parent, direction);
        // To find where a page lies in memory takes the processor longer than to fetch a line of it.
        prefetch(after.unwrap_or_default(), 0);
        let bytes = next.unwrap_or_default();
        let lines = (bytes.len() / LINE).div_ceil(entries.max(1));
        let upcoming = UpcomingLeaf { bytes, fetched: 0, each: lines.next_multiple_of(LINES_AHEAD) * LINE };
        if lines > LINES_AHEAD_MAX { upcoming.fetch_cells() } else { upcoming }
    }

    /// Fetches some more of it.
    #[inline(always)]
    pub(crate) fn fetch(&mut self) {
        if self.fetched >= self.bytes.len() {
            return;
        }
        let end = self.fetched + self.each;
        while self.fetched < end {
            for line in 0..LINES_AHEAD {
                prefetch(self.bytes, self.fetched + line * LINE);
            }
            self.fetched += LINES_AHEAD * LINE;
        }
    }

    /// Fetches its first cells, if it is a leaf of cells, which is not known yet, and nothing more of it later.
    fn fetch_cells(self) -> UpcomingLeaf<'p> {
        if let Ok(leaf) = Leaf::open(self.bytes) {
            (0..leaf.len().min(2)).for_each(|i| leaf.prefetch_cell(i));
        }
        UpcomingLeaf { fetched: self.bytes.len(), ..self }
    }
}

/// See the module's head. It is of one position, and says nothing any more once that was moved by anything else.
#[derive(Clone, Copy)]
pub(crate) struct Near<'p> {
    leaf: Leaf<'p>,
    key: &'p [u8],
    values: Values<'p>,
    /// Whether the table has duplicates, and their size if they have one.
    duplicates: bool,
    item: usize,
    upcoming: UpcomingLeaf<'p>,
}

impl<'p> Near<'p> {
    /// What is around a position that stands somewhere. `walking`: in that direction it will go on to the next leaf.
    pub(crate) fn open<P: Pages>(
        pages: &'p P,
        position: &Position,
        t: Trunk<'_>,
        walking: Option<Direction>,
    ) -> Option<Near<'p>> {
        let step = position.path.leaf();
        let leaf = open_cells(pages, step.page).ok()?;
        let (cell, item) = (leaf.cell(step.index).ok()?, item_of(t.tree));
        let values = values_at(pages, position, &cell, item)?;
        let upcoming =
            walking.map(|direction| UpcomingLeaf::of(&position.path, pages, direction, leaf.len())).unwrap_or_default();
        Some(Near { leaf, key: cell.key, values, duplicates: t.tree.has_duplicates(), item, upcoming })
    }

    /// Follows the position, which was moved by something else to another place of the same leaf. False if that is damaged.
    pub(crate) fn follow<P: Pages>(&mut self, pages: &'p P, position: &Position) -> bool {
        let Ok(cell) = self.leaf.cell(position.path.leaf().index) else { return false };
        let Some(values) = values_at(pages, position, &cell, self.item) else { return false };
        (self.key, self.values) = (cell.key, values);
        true
    }

    /// Goes to a key, or to the first one behind it: the first of its values, and what is `around` that. After an error the
    /// position is unset.
    #[inline(always)]
    pub(crate) fn seek_to<P: Pages>(
        pages: &'p P,
        position: &mut Position,
        t: Trunk<'_>,
        (key, or_after): (&[u8], bool),
        around: &mut Option<Near<'p>>,
    ) -> Result<Option<Pair<'p>>> {
        if t.tree.has_duplicates() {
            let found = position.seek_values(pages, t, key, or_after)?;
            return Ok(found.map(|found| Near::put_around(found, t.tree, around)));
        }
        let Some((leaf, pair)) = position.seek_single(pages, t, key, or_after)? else { return Ok(None) };
        *around = Some(Near::of(leaf, pair.0));
        Ok(Some(pair))
    }

    /// Goes to the first entry, or to the last, as [`Near::seek_to`].
    #[inline(always)]
    pub(crate) fn go_to<P: Pages>(
        pages: &'p P,
        position: &mut Position,
        t: Trunk<'_>,
        end: End,
        around: &mut Option<Near<'p>>,
    ) -> Result<Option<Pair<'p>>> {
        if t.tree.has_duplicates() {
            let found = position.end_values(pages, t, end)?;
            return Ok(found.map(|found| Near::put_around(found, t.tree, around)));
        }
        let Some((leaf, pair)) = position.end_single(pages, t, end)? else { return Ok(None) };
        *around = Some(Near::of(leaf, pair.0));
        Ok(Some(pair))
    }

    /// One of several values of a key; what is around it, written to where it is to be: it is large.
    #[inline(always)]
    fn put_around((leaf, cell, values, value): OfValues<'p>, tree: &Tree, around: &mut Option<Near<'p>>) -> Pair<'p> {
        let (item, upcoming) = (item_of(tree), UpcomingLeaf::default());
        *around = Some(Near { leaf, key: cell.key, values, duplicates: true, item, upcoming });
        (cell.key, value)
    }

    /// Around an entry of a table without duplicates, which the position is on.
    #[inline(always)]
    pub(crate) fn of(leaf: Leaf<'p>, key: &'p [u8]) -> Near<'p> {
        Near { leaf, key, values: Values::One, duplicates: false, item: 0, upcoming: UpcomingLeaf::default() }
    }

    /// Follows a position from the last key of the leaf, which it is on, to the first of the next leaf, or backwards: what it
    /// comes to, with one end of the values there. If there is no such leaf it stays where it was. After an error it is unset.
    pub(crate) fn go_beside<P: Pages>(
        &mut self,
        pages: &'p P,
        position: &mut Position,
        t: Trunk<'_>,
        direction: Direction,
    ) -> Result<Option<Cell<'p>>> {
        let found = position.next_leaf(pages, t, self.key, direction)?;
        let Some((leaf, cell, parent)) = found else { return Ok(None) };
        (self.leaf, self.key) = (leaf, cell.key);
        self.upcoming = UpcomingLeaf::among(&position.path, &parent, pages, direction, leaf.len());
        if !self.duplicates {
            return Ok(Some(cell));
        }
        let index = position.path.leaf().index;
        if let Some(cell) = self.enter_key(position, index, direction) {
            return Ok(Some(cell));
        }
        let (key, value) = self.enter(pages, position, t, index, direction.entrance())?;
        Ok(Some(Cell { key, value, kind: CellKind::Plain }))
    }

    /// To the key of this index in the leaf, in a table with duplicates, and one end of its values. After an error the position
    /// is unset.
    fn enter<P: Pages>(
        &mut self,
        pages: &'p P,
        position: &mut Position,
        t: Trunk<'_>,
        index: usize,
        end: End,
    ) -> Result<Pair<'p>> {
        let found = at(position.page(), self.leaf.cell(index)).and_then(|cell| {
            position.path.leaf_mut().index = index;
            let (values, value) = position.enter_cell(pages, t, &cell, end)?;
            (self.key, self.values) = (cell.key, values);
            Ok((cell.key, value))
        });
        if found.is_err() {
            position.unset();
        }
        found
    }

    /// As [`Near::step_key`], whatever the values of that key are. None if there is none in the leaf, or no duplicates are in the
    /// table.
    pub(crate) fn step_key_far<P: Pages>(
        &mut self,
        pages: &'p P,
        position: &mut Position,
        t: Trunk<'_>,
        direction: Direction,
    ) -> Result<Option<Pair<'p>>> {
        let to = direction.beside_among(position.path.leaf().index, self.leaf.len());
        match to.filter(|_| self.duplicates && position.is_on()) {
            Some(to) => self.enter(pages, position, t, to, direction.entrance()).map(Some),
            None => Ok(None),
        }
    }

    /// As [`Near::end_value`], whatever the values are. None if the position is on none, or no duplicates are in the table.
    pub(crate) fn end_value_far<P: Pages>(
        &mut self,
        pages: &'p P,
        position: &mut Position,
        t: Trunk<'_>,
        end: End,
    ) -> Result<Option<Pair<'p>>> {
        if !self.duplicates || !position.is_on() {
            return Ok(None);
        }
        self.enter(pages, position, t, position.path.leaf().index, end).map(Some)
    }

    /// Goes to a key, or to the first entry behind it, in a table without duplicates, if that is in the leaf: what is found
    /// there. A position that is in a gap then has nothing open around it.
    pub(crate) fn seek<P: Pages>(
        &mut self,
        pages: &'p P,
        position: &mut Position,
        t: Trunk<'_>,
        sought: (&[u8], bool),
    ) -> Result<Option<Option<Pair<'p>>>> {
        let found = position.seek_in_leaf(pages, t, &self.leaf, sought)?;
        if let Some(Some((key, _))) = found {
            self.key = key;
        }
        Ok(found)
    }

    /// As [`Near::step_value`], from one leaf of the key's tree of values to the next. `None` if the position is not at the end
    /// of one, `Some(None)` if no value is left that way. After an error the position is unset.
    pub(crate) fn step_value_far<P: Pages>(
        &mut self,
        pages: &'p P,
        position: &mut Position,
        t: Trunk<'_>,
        direction: Direction,
    ) -> Result<Option<Option<Pair<'p>>>> {
        let is_on = position.is_on();
        let (Values::Leaf(leaf, count), Inner::Tree) = (&self.values, &position.inner) else { return Ok(None) };
        let (count, path) = (*count, &mut position.inner_path);
        let index = path.leaf().index;
        if !is_on || !direction.ends_at(index, leaf.len()) {
            return Ok(None);
        }
        let edge = at(path.leaf().page, leaf.key(index));
        let found = edge.and_then(|edge| {
            let Some((leaf, _)) = path.leaf_beside(pages, direction)? else { return Ok(None) };
            let step = path.leaf();
            let value = at(step.page, leaf.key(step.index))?;
            path.check_passed(pages, &t.orders.duplicate, edge, value, direction)?;
            Ok(Some((leaf, value)))
        });
        match found {
            Ok(Some((leaf, value))) => {
                self.values = Values::Leaf(leaf, count);
                Ok(Some(Some((self.key, value))))
            }
            Ok(None) => Ok(Some(None)),
            Err(error) => {
                position.unset();
                Err(error)
            }
        }
    }

    /// Whether the next entry, or key, is in the leaf behind this one; backwards likewise.
    pub(crate) fn leads_out(&self, position: &Position, to_key: bool, direction: Direction) -> bool {
        let is_last = direction.ends_at(position.path.leaf().index, self.leaf.len());
        is_last && position.is_on() && (to_key || self.is_last_value(position, direction))
    }

    /// For a position that is in a gap.
    pub(crate) fn at_gap(&mut self) -> AtGap<'_, 'p> {
        AtGap(self)
    }

    /// Whether keys may have several values.
    #[inline]
    pub(crate) fn has_duplicates(&self) -> bool {
        self.duplicates
    }

    /// Whether the position is on the last value of the key, or, backwards, on the first.
    #[inline]
    pub(crate) fn is_last_value(&self, position: &Position, direction: Direction) -> bool {
        match (&self.values, &position.inner) {
            (Values::One, _) => true,
            (Values::Sub(sub), Inner::Sub(i)) => direction.ends_at(*i, sub.len()),
            _ => false,
        }
    }

    /// Next value of the key, else the first of the next key; backwards likewise.
    #[inline(always)]
    pub(crate) fn step(&mut self, position: &mut Position, direction: Direction) -> Option<Cell<'p>> {
        match self.step_value(position, direction) {
            None if self.is_last_value(position, direction) => self.step_key(position, direction),
            found => found.map(|(key, value)| Cell { key, value, kind: CellKind::Plain }),
        }
    }

    /// The step of most walks, in a table without duplicates: to a neighbour that lies in the leaf whole.
    #[inline(always)]
    pub(crate) fn step_single(&mut self, position: &mut Position, direction: Direction) -> Option<Pair<'p>> {
        if self.duplicates {
            return None;
        }
        let to = direction.beside(position.path.leaf().index)?;
        prefetch_beyond(&self.leaf, to, direction);
        let pair = self.leaf.plain(to)?;
        self.stand_on(position, to, pair.0);
        self.upcoming.fetch();
        Some(pair)
    }

    /// The first value of the next key, from the last value of this one, in a table with duplicates; backwards likewise. Apart,
    /// as most walks are in tables without.
    #[inline(never)]
    pub(crate) fn step_on(&mut self, position: &mut Position, direction: Direction) -> Option<Pair<'p>> {
        if self.is_last_value(position, direction) { self.step_key_among(position, direction) } else { None }
    }

    /// As [`Near::step_key`], in a table with duplicates.
    #[inline(never)]
    pub(crate) fn step_key_among(&mut self, position: &mut Position, direction: Direction) -> Option<Pair<'p>> {
        self.step_key(position, direction).map(|cell| (cell.key, cell.value))
    }

    /// First value of the next key; backwards the last of the key before.
    #[inline(always)]
    pub(crate) fn step_key(&mut self, position: &mut Position, direction: Direction) -> Option<Cell<'p>> {
        let to = direction.beside(position.path.leaf().index)?;
        self.enter_key(position, to, direction)
    }

    /// One end of the key `to`.
    #[inline(always)]
    fn enter_key(&mut self, position: &mut Position, to: usize, direction: Direction) -> Option<Cell<'p>> {
        prefetch_beyond(&self.leaf, to, direction);
        let mut cell = self.leaf.cell(to).ok()?;
        if self.duplicates {
            (cell.value, cell.kind) = (self.enter_values(position, &cell, direction.entrance())?, CellKind::Plain);
        }
        self.stand_on(position, to, cell.key);
        self.upcoming.fetch();
        Some(cell)
    }

    #[inline(always)]
    fn stand_on(&mut self, position: &mut Position, to: usize, key: &'p [u8]) {
        self.key = key;
        position.path.leaf_mut().index = to;
    }

    /// Next value of the key, or the one before.
    #[inline(always)]
    pub(crate) fn step_value(&self, position: &mut Position, direction: Direction) -> Option<Pair<'p>> {
        let (i, to, value) = match (&self.values, &mut position.inner) {
            (Values::Sub(sub), Inner::Sub(i)) => {
                let to = direction.beside(*i)?;
                (i, to, sub.get(to).ok()?)
            }
            (Values::Leaf(leaf, _), Inner::Tree) => {
                let i = &mut position.inner_path.leaf_mut().index;
                let to = direction.beside(*i)?;
                (i, to, leaf.key(to).ok()?)
            }
            _ => return None,
        };
        *i = to;
        Some((self.key, value))
    }

    /// The first value of the key that the position is on, or the last.
    pub(crate) fn end_value(&self, position: &mut Position, end: End) -> Option<Pair<'p>> {
        if let (Values::Sub(sub), Inner::Sub(i)) = (&self.values, &mut position.inner) {
            *i = end.of(sub.len());
        } else if matches!(self.values, Values::Leaf(..)) {
            return None;
        }
        self.current(position)
    }

    /// How many values the key has.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        match &self.values {
            Values::One => 1,
            Values::Sub(sub) => sub.len() as u64,
            Values::Leaf(_, count) => *count,
        }
    }

    /// The entry that the position is on, if its value lies in the leaf.
    #[inline]
    pub(crate) fn current(&self, position: &Position) -> Option<Pair<'p>> {
        let value = match (&self.values, &position.inner) {
            (Values::One, Inner::One) if position.is_on() => {
                return self.leaf.plain(position.path.leaf().index);
            }
            (Values::Sub(sub), Inner::Sub(i)) => sub.get(*i).ok()?,
            (Values::Leaf(leaf, _), Inner::Tree) => leaf.key(position.inner_path.leaf().index).ok()?,
            _ => return None,
        };
        Some((self.key, value))
    }

    /// The key that the position is on and, where keys may have several values, the value.
    pub(crate) fn entry(&self, position: &Position) -> Option<Pair<'p>> {
        if self.duplicates { self.current(position) } else { Some((self.key, &[])) }
    }

    /// Whether the leaf, which the position is in, is of a commit before this one, and so is all that hangs on it.
    pub(crate) fn is_older_than(&self, txnid: Txnid, position: &Position) -> bool {
        !position.page().is_dirty() && self.leaf.birth() < txnid
    }

    /// Of several values of one size, those from the position's on that lie beside it. It is then on the last of them.
    #[inline]
    pub(crate) fn multiple(&self, position: &mut Position) -> Option<Pair<'p>> {
        self.side_by_side(position, false)
    }

    /// As [`Near::multiple`], with those before it.
    #[inline]
    pub(crate) fn whole_multiple(&self, position: &mut Position) -> Option<Pair<'p>> {
        self.side_by_side(position, true)
    }

    #[inline]
    fn side_by_side(&self, position: &mut Position, whole: bool) -> Option<Pair<'p>> {
        if self.item == 0 {
            return None;
        }
        let from = |i: usize| if whole { 0 } else { i };
        let (i, last, values) = match (&self.values, &mut position.inner) {
            (Values::Sub(sub), Inner::Sub(i)) => {
                let from = from(*i);
                (i, sub.len() - 1, sub.packed(from..sub.len()))
            }
            (Values::Leaf(AnyLeaf::Packed(page), _), Inner::Tree) => {
                let i = &mut position.inner_path.leaf_mut().index;
                let from = from(*i);
                (i, page.len().checked_sub(1)?, page.keys(from..page.len()).ok()?)
            }
            _ => return None,
        };
        *i = last;
        Some((self.key, values))
    }

    /// One end of a cell's values, if they are in the cell.
    #[inline(always)]
    fn enter_values(&mut self, position: &mut Position, cell: &Cell<'p>, end: End) -> Option<&'p [u8]> {
        match cell.kind {
            CellKind::Plain if self.item == 0 || cell.value.len() == self.item => {
                (position.inner, self.values) = (Inner::One, Values::One);
                Some(cell.value)
            }
            CellKind::SubPage => {
                let sub = SubPage::open(cell.value, self.item).ok()?;
                let i = end.of(sub.len());
                let value = sub.get(i).ok()?;
                (position.inner, self.values) = (Inner::Sub(i), Values::Sub(sub));
                Some(value)
            }
            _ => None,
        }
    }
}

/// The values around a position in this cell, of this size if they have one; nothing if they are damaged.
fn values_at<'p, P: Pages>(pages: &'p P, position: &Position, cell: &Cell<'p>, item: usize) -> Option<Values<'p>> {
    Some(match &position.inner {
        Inner::One => Values::One,
        // In a gap beside an only value.
        Inner::Sub(_) if cell.kind == CellKind::Plain => Values::One,
        Inner::Sub(_) => Values::Sub(SubPage::open(cell.value, item).ok()?),
        Inner::Tree => {
            let count = Tree::decode(cell.value).ok()?.entries;
            Values::Leaf(position.inner_path.open_leaf(pages).ok()?, count)
        }
    })
}

/// The steps of a position in a gap of the leaf: the entry that has the gap's index is the next. One that is found takes the
/// position out of the gap.
pub(crate) struct AtGap<'n, 'p>(&'n mut Near<'p>);

impl<'p> AtGap<'_, 'p> {
    /// As [`Near::step`].
    pub(crate) fn step(&mut self, position: &mut Position, direction: Direction) -> Option<Cell<'p>> {
        match self.step_value(position, direction) {
            None if self.is_behind_values(position, direction) => self.step_key(position, direction),
            found => found.map(|(key, value)| Cell { key, value, kind: CellKind::Plain }),
        }
    }

    /// As [`Near::step_key`].
    pub(crate) fn step_key(&mut self, position: &mut Position, direction: Direction) -> Option<Cell<'p>> {
        let index = position.path.leaf().index;
        let is_between_keys = matches!(position.inner, Inner::One);
        let to = match direction {
            Direction::Forwards if is_between_keys => index,
            _ => direction.beside(index)?,
        };
        let cell = self.0.enter_key(position, to, direction)?;
        position.leave_gap();
        Some(cell)
    }

    /// As [`Near::step_value`].
    pub(crate) fn step_value(&mut self, position: &mut Position, direction: Direction) -> Option<Pair<'p>> {
        let beside = |i: usize| match direction {
            Direction::Forwards => Some(i),
            Direction::Backwards => i.checked_sub(1),
        };
        let value = match (&self.0.values, &mut position.inner) {
            (Values::Sub(sub), Inner::Sub(i)) => {
                let to = beside(*i)?;
                let value = sub.get(to).ok()?;
                *i = to;
                value
            }
            (Values::Leaf(leaf, _), Inner::Tree) => {
                let i = &mut position.inner_path.leaf_mut().index;
                let to = beside(*i)?;
                let value = leaf.key(to).ok()?;
                *i = to;
                value
            }
            (Values::One, Inner::Sub(i)) if beside(*i) == Some(0) => {
                let cell = self.0.leaf.cell(position.path.leaf().index).ok()?;
                position.inner = Inner::One;
                cell.value
            }
            _ => return None,
        };
        position.leave_gap();
        Some((self.0.key, value))
    }

    /// Whether the gap is behind the last value of its key, or, backwards, before the first; or between keys.
    fn is_behind_values(&self, position: &Position, direction: Direction) -> bool {
        let len = match (&self.0.values, &position.inner) {
            (Values::One, Inner::One) => return true,
            (Values::One, _) => 1,
            (Values::Sub(sub), _) => sub.len(),
            (Values::Leaf(..), _) => return false,
        };
        let end = match direction {
            Direction::Forwards => len,
            Direction::Backwards => 0,
        };
        matches!(position.inner, Inner::Sub(i) if i == end)
    }
}
