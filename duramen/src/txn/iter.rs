//! Iterators over a table, from either end.
//!
//! Owns: ranges, and where two ends meet. Must not know: how pages change.
//!
//! A table without duplicates is walked leaf by leaf: inside a leaf a step is an index, and where the walk ends is looked
//! for once a leaf. A table with them is walked by two cursors.

use std::cmp::Ordering;
use std::fmt;
use std::iter::FusedIterator;
use std::ops::Bound;

use super::cursor::Cursor;
use super::key_range::KeyRange;
use super::table::{Source, Table, on};
use crate::error::{Damage, Error, Result};
use crate::format::leaf::Leaf;
use crate::format::page::Child;
use crate::order::{Needle, Order};
use crate::tree::cursor::{Pair, prefetch_beyond};
use crate::tree::duplicates::Orders;
use crate::tree::near::UpcomingLeaf;
use crate::tree::range::check_bounds;
use crate::tree::{Direction, Pages, Path, Tree, at, open_cells, value};

/// Entries of a table in order; see [`Table::iter`] and [`Table::range`].
#[must_use = "nothing is read before an entry is asked for"]
pub struct Iter<'t>(Kind<'t>);

/// Keys of a table in order; see [`Table::keys`].
#[must_use = "nothing is read before a key is asked for"]
pub struct Keys<'t>(KeyKind<'t>);

enum Kind<'t> {
    Plain(Box<Leaves<'t>>),
    Pairs(Box<Pairs<'t>>),
    Empty,
}

enum KeyKind<'t> {
    Plain(Box<Leaves<'t>>),
    Pairs(Box<(Cursor<'t>, bool)>),
}

/// After so many entries it is worth to fetch the next leaf.
const FEW: u32 = 3;

/// A bound in a form that both kinds start from.
type Edge = Bound<Vec<u8>>;

impl<'t> Iter<'t> {
    pub(super) fn new(table: &Table<'t>) -> Iter<'t> {
        Iter::between(table, Bound::Unbounded, Bound::Unbounded)
    }

    pub(super) fn ranged(table: &Table<'t>, range: &impl KeyRange) -> Result<Iter<'t>> {
        let (low, high) = range.bounds();
        on!(table.source, pages => check_bounds(pages, &table.tree, &table.orders.key, [low, high]))?;
        let (low, high) = (low.map(<[u8]>::to_vec), high.map(<[u8]>::to_vec));
        if let (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) = (&low, &high)
            && table.orders.key.cmp(a, b).is_gt()
        {
            return Ok(Iter(Kind::Empty));
        }
        Ok(Iter::between(table, low, high))
    }

    pub(super) fn prefixed(table: &Table<'t>, prefix: &[u8]) -> Iter<'t> {
        let mut end = prefix.to_vec();
        while end.last() == Some(&u8::MAX) {
            end.pop();
        }
        let high = match end.last_mut() {
            Some(last) => {
                *last += 1;
                Bound::Excluded(end)
            }
            None => Bound::Unbounded,
        };
        Iter::between(table, Bound::Included(prefix.to_vec()), high)
    }

    /// None of a key that the table cannot have.
    pub(super) fn of_key(table: &Table<'t>, key: &[u8]) -> Result<Iter<'t>> {
        match Iter::ranged(table, &(key..=key)) {
            Err(Error::KeyLength { .. }) => Ok(Iter(Kind::Empty)),
            values => values,
        }
    }

    fn between(table: &Table<'t>, low: Edge, high: Edge) -> Iter<'t> {
        if table.tree.is_empty() {
            return Iter(Kind::Empty);
        }
        Iter(if table.tree.has_duplicates() {
            Kind::Pairs(Box::new(Pairs::new(table, low, high)))
        } else {
            Kind::Plain(Box::new(Leaves::new(table, low, high)))
        })
    }
}

impl<'t> Iterator for Iter<'t> {
    type Item = Result<Pair<'t>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Kind::Plain(leaves) => leaves.next_pair(),
            Kind::Pairs(pairs) => pairs.step(Direction::Forwards),
            Kind::Empty => None,
        }
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Kind::Plain(leaves) => leaves.next_pair_back(),
            Kind::Pairs(pairs) => pairs.step(Direction::Backwards),
            Kind::Empty => None,
        }
    }
}

impl FusedIterator for Iter<'_> {}

impl fmt::Debug for Iter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Iter(..)")
    }
}

impl<'t> Keys<'t> {
    pub(super) fn new(table: &Table<'t>) -> Keys<'t> {
        if !table.tree.has_duplicates() && !table.tree.is_empty() {
            return Keys(KeyKind::Plain(Box::new(Leaves::new(table, Bound::Unbounded, Bound::Unbounded))));
        }
        Keys(KeyKind::Pairs(Box::new((table.cursor(), false))))
    }
}

impl<'t> Iterator for Keys<'t> {
    type Item = Result<&'t [u8]>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            KeyKind::Plain(leaves) => leaves.next_key(),
            KeyKind::Pairs(parts) => {
                let (cursor, done) = &mut **parts;
                if *done {
                    return None;
                }
                let next = cursor.next_key().transpose();
                *done = !matches!(next, Some(Ok(_)));
                next.map(|pair| pair.map(|(key, _)| key))
            }
        }
    }
}

impl FusedIterator for Keys<'_> {}

impl fmt::Debug for Keys<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}

/// One end of a walk along leaves: items before `index` (of the front) or from it on (of the back) are done.
struct WalkEnd<'t> {
    path: Path,
    page: Child,
    leaf: Leaf<'t>,
    index: usize,
    limit: Limit,
    upcoming: UpcomingLeaf<'t>,
    /// How many entries it gave of the leaf where the walk began, which nobody has fetched.
    begun: Option<u32>,
}

/// Where a walk ends in a leaf.
#[derive(Clone, Copy)]
struct Limit {
    index: usize,
    /// Whether the bound lies beyond this leaf.
    goes_on: bool,
}

/// A walk along the leaves of a table without duplicates. An end goes down the tree when it is first asked for an entry;
/// where the other bound lies, it learns leaf by leaf.
struct Leaves<'t> {
    source: Source<'t>,
    tree: Tree,
    order: Order,
    low: Edge,
    high: Edge,
    front: Option<WalkEnd<'t>>,
    back: Option<WalkEnd<'t>>,
    done: bool,
}

impl<'t> Leaves<'t> {
    fn new(table: &Table<'t>, low: Edge, high: Edge) -> Leaves<'t> {
        let order = table.orders.key.clone();
        Leaves { source: table.source, tree: table.tree, order, low, high, front: None, back: None, done: false }
    }

    /// The end of a walk that has not begun: before the first entry, or after the last one.
    fn begin(&self, direction: Direction) -> Result<WalkEnd<'t>> {
        let (from, to) = match direction {
            Direction::Forwards => (&self.low, &self.high),
            Direction::Backwards => (&self.high, &self.low),
        };
        let is_backwards = direction == Direction::Backwards;
        let mut path = Path::default();
        let after = match from {
            Bound::Unbounded => {
                on!(self.source, pages => path.end_leaf(pages, &self.tree, direction.entrance()).map(drop))?;
                is_backwards
            }
            Bound::Included(key) | Bound::Excluded(key) => {
                let needle = Needle::new(key, &self.order);
                let found = on!(self.source, pages => path.seek(pages, &self.tree, &self.order, &needle))?;
                found && matches!(from, Bound::Included(_)) == is_backwards
            }
        };
        let step = path.leaf();
        let leaf = on!(self.source, pages => open_cells(pages, step.page))?;
        let limit = at(step.page, limit_in(&leaf, &self.order, to, direction))?;
        let index = step.index + usize::from(after);
        Ok(WalkEnd { path, page: step.page, leaf, index, limit, upcoming: UpcomingLeaf::default(), begun: Some(0) })
    }

    fn finish<T>(&mut self, result: Result<Option<T>>) -> Option<Result<T>> {
        let item = result.transpose();
        self.done |= !matches!(item, Some(Ok(_)));
        item
    }

    /// There is no further place.
    fn end(&mut self) -> Result<Option<Place<'t>>> {
        self.done = true;
        on!(self.source, pages => pages.walk_ends())?;
        Ok(None)
    }

    #[inline]
    fn next_pair(&mut self) -> Option<Result<Pair<'t>>> {
        match self.advance() {
            Ok(Some(place)) => Some(self.pair(place)),
            Ok(None) => self.finish(Ok(None)),
            Err(error) => self.finish(Err(error)),
        }
    }

    #[inline]
    fn next_key(&mut self) -> Option<Result<&'t [u8]>> {
        match self.advance() {
            Ok(Some((page, leaf, i))) => Some(at(page, leaf.key(i))),
            Ok(None) => self.finish(Ok(None)),
            Err(error) => self.finish(Err(error)),
        }
    }

    #[inline]
    fn next_pair_back(&mut self) -> Option<Result<Pair<'t>>> {
        match self.retreat() {
            Ok(Some(place)) => Some(self.pair(place)),
            Ok(None) => self.finish(Ok(None)),
            Err(error) => self.finish(Err(error)),
        }
    }

    #[inline(always)]
    fn pair(&self, (page, leaf, i): Place<'t>) -> Result<Pair<'t>> {
        let cell = at(page, leaf.cell(i))?;
        Ok((cell.key, on!(self.source, pages => value::meet(pages, page, &cell))?))
    }

    /// The next place from the front.
    #[inline]
    fn advance(&mut self) -> Result<Option<Place<'t>>> {
        if self.done {
            return Ok(None);
        }
        loop {
            let Some(front) = &mut self.front else {
                self.front = Some(self.begin(Direction::Forwards)?);
                continue;
            };
            let limit = match &self.back {
                Some(back) if back.page == front.page => Limit { index: back.index, goes_on: false },
                _ => front.limit,
            };
            if front.index < limit.index {
                front.index += 1;
                front.upcoming.fetch();
                if front.begun.is_some() {
                    on!(self.source, pages => front.go_on(pages, Direction::Forwards));
                }
                return Ok(Some((front.page, front.leaf, front.index - 1)));
            }
            if !limit.goes_on
                || !on!(self.source, pages => front.go_beside(pages, &self.order, &self.high, Direction::Forwards))?
            {
                return self.end();
            }
            front.index = 0;
        }
    }

    /// The next place from the back.
    #[inline]
    fn retreat(&mut self) -> Result<Option<Place<'t>>> {
        if self.done {
            return Ok(None);
        }
        loop {
            let Some(back) = &mut self.back else {
                self.back = Some(self.begin(Direction::Backwards)?);
                continue;
            };
            let limit = match &self.front {
                Some(front) if front.page == back.page => Limit { index: front.index, goes_on: false },
                _ => back.limit,
            };
            if back.index > limit.index {
                back.index -= 1;
                back.upcoming.fetch();
                if back.begun.is_some() {
                    on!(self.source, pages => back.go_on(pages, Direction::Backwards));
                }
                return Ok(Some((back.page, back.leaf, back.index)));
            }
            if !limit.goes_on
                || !on!(self.source, pages => back.go_beside(pages, &self.order, &self.low, Direction::Backwards))?
            {
                return self.end();
            }
            back.index = back.leaf.len();
        }
    }
}

/// An entry: leaf and index.
type Place<'t> = (Child, Leaf<'t>, usize);

impl<'t> WalkEnd<'t> {
    /// To the next leaf, or the one before; false if there is none.
    fn go_beside<P: Pages>(&mut self, pages: &'t P, order: &Order, to: &Edge, direction: Direction) -> Result<bool> {
        let Some((leaf, parent)) = self.path.leaf_beside(pages, direction)? else { return Ok(false) };
        let step = self.path.leaf();
        let leaf = at(step.page, leaf.cells())?;
        if self.leaf.len() > 0 {
            let edge = at(self.page, self.leaf.key(direction.exit().of(self.leaf.len())))?;
            self.path.check_passed(pages, order, edge, at(step.page, leaf.key(step.index))?, direction)?;
        }
        (self.page, self.leaf) = (step.page, leaf);
        self.limit = at(step.page, limit_in(&leaf, order, to, direction))?;
        self.upcoming = if self.limit.goes_on {
            UpcomingLeaf::among(&self.path, &parent, pages, direction, leaf.len())
        } else {
            UpcomingLeaf::default()
        };
        self.begun = None;
        Ok(true)
    }

    /// An entry of the first leaf was given. Many walks want no more than a few.
    fn go_on<P: Pages>(&mut self, pages: &'t P, direction: Direction) {
        prefetch_beyond(&self.leaf, self.index, direction);
        let given = self.begun.map_or(0, |given| given + 1);
        self.begun = Some(given);
        if given == FEW && self.limit.goes_on {
            self.upcoming = UpcomingLeaf::of(&self.path, pages, direction, self.leaf.len());
        }
    }
}

/// Where a walk towards a bound ends in a leaf.
fn limit_in(leaf: &Leaf<'_>, order: &Order, to: &Edge, direction: Direction) -> std::result::Result<Limit, Damage> {
    let len = leaf.len();
    let (beyond, within) = match direction {
        Direction::Forwards => (len, Ordering::Less),
        Direction::Backwards => (0, Ordering::Greater),
    };
    let all = Limit { index: beyond, goes_on: true };
    let (Bound::Included(key) | Bound::Excluded(key)) = to else { return Ok(all) };
    if len == 0 || order.cmp(leaf.key(direction.exit().of(len))?, key) == within {
        return Ok(all);
    }
    let (index, found) = leaf.find(&Needle::new(key, order), order)?;
    let after = found && matches!(to, Bound::Included(_)) == (direction == Direction::Forwards);
    Ok(Limit { index: index + usize::from(after), goes_on: false })
}

/// A walk along the entries of a table with duplicates.
struct Pairs<'t> {
    orders: Orders,
    low: Edge,
    high: Edge,
    front: Cursor<'t>,
    back: Cursor<'t>,
    /// What the walk in each direction gave last, to see them meet.
    last: [Option<Pair<'t>>; 2],
    done: bool,
}

impl<'t> Pairs<'t> {
    fn new(table: &Table<'t>, low: Edge, high: Edge) -> Pairs<'t> {
        Pairs {
            orders: table.orders.clone(),
            low,
            high,
            front: table.cursor(),
            back: table.cursor(),
            last: [None, None],
            done: false,
        }
    }

    fn step(&mut self, direction: Direction) -> Option<Result<Pair<'t>>> {
        if self.done {
            return None;
        }
        let item = match self.candidate(direction) {
            Ok(Some(pair)) if self.is_inside(pair, direction) => {
                self.last[direction as usize] = Some(pair);
                return Some(Ok(pair));
            }
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        };
        self.done = true;
        item
    }

    fn candidate(&mut self, direction: Direction) -> Result<Option<Pair<'t>>> {
        let begun = self.last[direction as usize].is_some();
        match (direction, begun) {
            (Direction::Forwards, true) => self.front.next(),
            (Direction::Backwards, true) => self.back.prev(),
            (Direction::Forwards, false) => match &self.low {
                Bound::Unbounded => self.front.first(),
                Bound::Included(key) => self.front.seek_at_or_after(key),
                Bound::Excluded(key) => match self.front.seek_at_or_after(key)? {
                    Some((found, _)) if self.orders.key.cmp(found, key).is_eq() => self.front.next_key(),
                    other => Ok(other),
                },
            },
            (Direction::Backwards, false) => match &self.high {
                Bound::Unbounded => self.back.last(),
                Bound::Included(key) | Bound::Excluded(key) => {
                    let included = matches!(self.high, Bound::Included(_));
                    match self.back.seek_at_or_after(key)? {
                        None => self.back.last(),
                        Some((found, _)) if included && self.orders.key.cmp(found, key).is_eq() => {
                            self.back.last_duplicate()
                        }
                        Some(_) => self.back.prev_key(),
                    }
                }
            },
        }
    }

    /// Whether an entry lies within the bounds and has not been given from the other end.
    fn is_inside(&self, (key, value): Pair<'t>, direction: Direction) -> bool {
        let cmp = |other: &[u8]| self.orders.key.cmp(key, other);
        let above = match &self.low {
            Bound::Unbounded => true,
            Bound::Included(low) => cmp(low).is_ge(),
            Bound::Excluded(low) => cmp(low).is_gt(),
        };
        let below = match &self.high {
            Bound::Unbounded => true,
            Bound::Included(high) => cmp(high).is_le(),
            Bound::Excluded(high) => cmp(high).is_lt(),
        };
        let met = self.last[direction.opposite() as usize].is_some_and(|(other_key, other_value)| {
            let order = cmp(other_key).then_with(|| self.orders.duplicate.cmp(value, other_value));
            match direction {
                Direction::Forwards => order.is_ge(),
                Direction::Backwards => order.is_le(),
            }
        });
        above && below && !met
    }
}
