//! Cursors: every movement that a position in a table can make.

mod anchor;
mod write;

use std::fmt;

use super::table::{Source, Table, on};
use super::write::WriteTxn;
use crate::error::{Error, Result};
use crate::format::leaf::{Cell, CellKind};
use crate::tree::cursor::{Pair, Position, Trunk};
use crate::tree::near::Near;
use crate::tree::{Direction, End, Pages, value};

use write::Start;
pub use write::{Bookmark, WriteCursor};

/// A position in a table for reading.
///
/// A new cursor stands nowhere: `next` is then `first`, `prev` is `last`. A movement that finds nothing returns
/// `None`; after one at either end of the table the cursor stays where it was. After a search that meets an error it
/// stands nowhere.
pub struct Cursor<'t> {
    table: Table<'t>,
    position: Position,
    /// The leaf that it is in, while it walks: other movements forget it.
    near: Option<Near<'t>>,
    /// The last search ended in the leaf that the cursor was in: so may the next one.
    stays: bool,
}

impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cursor(..)")
    }
}

/// A movement to a neighbour.
#[derive(Clone, Copy)]
enum Step {
    Entry,
    Key,
    Duplicate,
}

impl Step {
    fn go<'p, P: Pages>(
        self,
        position: &mut Position,
        pages: &'p P,
        trunk: Trunk<'_>,
        direction: Direction,
    ) -> Result<Option<Pair<'p>>> {
        match (self, direction) {
            (Step::Entry, Direction::Forwards) => position.next(pages, trunk),
            (Step::Entry, Direction::Backwards) => position.prev(pages, trunk),
            (Step::Key, Direction::Forwards) => position.next_key(pages, trunk),
            (Step::Key, Direction::Backwards) => position.prev_key(pages, trunk),
            (Step::Duplicate, Direction::Forwards) => position.next_duplicate(pages, trunk),
            (Step::Duplicate, Direction::Backwards) => position.prev_duplicate(pages, trunk),
        }
    }
}

/// Gives a cursor one method for each movement of a position: steps to neighbours, to the ends of a key's values, looks that
/// leave it among the values of its leaf, searches for a key, to the ends of the table, and all others.
macro_rules! movements {
    (
        steps { $($(#[$step_doc:meta])* $step:ident, $at_hand:ident => ($kind:expr, $direction:expr);)* }
        ends { $($(#[$end_doc:meta])* $end:ident => $which:expr;)* }
        looks { $($(#[$look_doc:meta])* $look:ident;)* }
        seeks { $($(#[$seek_doc:meta])* $seek:ident => $or_after:expr;)* }
        bounds { $($(#[$bound_doc:meta])* $bound:ident => $bound_end:expr;)* }
        others { $($(#[$doc:meta])* $name:ident($($argument:ident),*) => $inner:ident from $from:expr;)* }
    ) => {
        #[allow(clippy::should_implement_trait, reason = "a cursor goes both ways, so it is no iterator")]
        impl<'t> Cursor<'t> {
            $($(#[$step_doc])*
            #[inline(always)]
            pub fn $step(&mut self) -> Result<Option<Pair<'t>>> {
                self.step($kind, $direction)
            }

            /// What
            #[doc = concat!("[`Cursor::", stringify!($step), "`]")]
            /// comes to, if that lies whole in the leaf that the cursor walks in; from key to key only in tables without duplicates.
            /// `None` says nothing, and the cursor is where it was.
            #[inline(always)]
            pub fn $at_hand(&mut self) -> Option<Pair<'t>> {
                step_at_hand(self.near.as_mut()?, &mut self.position, $kind, $direction)
            })*

            $($(#[$end_doc])*
            pub fn $end(&mut self) -> Result<Option<Pair<'t>>> {
                self.open_near();
                if let Some(near) = &self.near
                    && let Some(pair) = near.end_value(&mut self.position, $which)
                {
                    return Ok(Some(pair));
                }
                let trunk = self.table.trunk();
                on!(self.table.source, pages => match &mut self.near {
                    Some(near) if near.has_duplicates() => {
                        let found = near.end_value_far(pages, &mut self.position, trunk, $which);
                        found.inspect_err(|_| self.near = None)
                    }
                    _ => self.position.$end(pages, trunk),
                })
            })*

            $($(#[$look_doc])*
            #[inline]
            pub fn $look(&mut self) -> Result<Option<Pair<'t>>> {
                self.open_near();
                if let Some(near) = &self.near
                    && let Some(pair) = near.$look(&mut self.position)
                {
                    return Ok(Some(pair));
                }
                let trunk = self.table.trunk();
                on!(self.table.source, pages => self.position.$look(pages, trunk))
            })*

            $($(#[$seek_doc])*
            pub fn $seek(&mut self, key: impl AsRef<[u8]>) -> Result<Option<Pair<'t>>> {
                self.seek_near(key.as_ref(), $or_after)
            })*

            $($(#[$bound_doc])*
            pub fn $bound(&mut self) -> Result<Option<Pair<'t>>> {
                self.end_near($bound_end)
            })*

            $($(#[$doc])*
            pub fn $name(&mut self, $($argument: impl AsRef<[u8]>),*) -> Result<Option<Pair<'t>>> {
                self.near = None;
                let trunk = self.table.trunk();
                on!(self.table.source, pages => self.position.$inner(pages, trunk, $($argument.as_ref()),*))
            })*
        }

        impl WriteCursor {
            $($(#[$step_doc])*
            pub fn $step<'x>(&mut self, txn: &'x WriteTxn<'_>) -> Result<Option<Pair<'x>>> {
                self.step(txn.work(), $kind, $direction)
            })*

            $($(#[$end_doc])*
            pub fn $end<'x>(&mut self, txn: &'x WriteTxn<'_>) -> Result<Option<Pair<'x>>> {
                let work = txn.work();
                work.check()?;
                self.hold(work)?;
                if let Some(near) = self.held.get(work, self.table)
                    && let Some(entry) = near.end_value(&mut self.position, $which)
                {
                    self.stand_on_entry(entry);
                    return Ok(Some(entry));
                }
                let far = |near: &mut Near<'x>, position: &mut Position, trunk: Trunk<'_>| {
                    near.end_value_far(work, position, trunk, $which)
                };
                match self.move_near(work, far)? {
                    Some(pair) => Ok(Some(pair)),
                    None => self.moved(work, Start::Here, |position, work, trunk| position.$end(work, trunk)),
                }
            })*

            $($(#[$look_doc])*
            pub fn $look<'x>(&mut self, txn: &'x WriteTxn<'_>) -> Result<Option<Pair<'x>>> {
                let work = txn.work();
                work.check()?;
                self.hold(work)?;
                if let Some(near) = self.held.get(work, self.table)
                    && let Some(found) = near.$look(&mut self.position)
                    && let Some(entry) = near.current(&self.position)
                {
                    self.stand_on_entry(entry);
                    return Ok(Some(found));
                }
                self.moved(work, Start::Among, |position, work, trunk| position.$look(work, trunk))
            })*

            $($(#[$seek_doc])*
            pub fn $seek<'x>(&mut self, txn: &'x WriteTxn<'_>, key: impl AsRef<[u8]>) -> Result<Option<Pair<'x>>> {
                self.seek_near(txn.work(), key.as_ref(), $or_after)
            })*

            $($(#[$bound_doc])*
            pub fn $bound<'x>(&mut self, txn: &'x WriteTxn<'_>) -> Result<Option<Pair<'x>>> {
                self.end_near(txn.work(), $bound_end)
            })*

            $($(#[$doc])*
            pub fn $name<'x>(&mut self, txn: &'x WriteTxn<'_>, $($argument: impl AsRef<[u8]>),*) -> Result<Option<Pair<'x>>> {
                $(let $argument = $argument.as_ref();)*
                self.moved(txn.work(), $from, |position, work, trunk| position.$inner(work, trunk, $($argument),*))
            })*
        }
    };
}

movements! {
    steps {
        /// To the next entry: the key's next value, else the first of the next key.
        next, next_at_hand => (Step::Entry, Direction::Forwards);
        /// To the entry before: the key's value before, else the last of the key before.
        prev, prev_at_hand => (Step::Entry, Direction::Backwards);
        /// To the first value of the next key.
        next_key, next_key_at_hand => (Step::Key, Direction::Forwards);
        /// To the last value of the key before.
        prev_key, prev_key_at_hand => (Step::Key, Direction::Backwards);
        /// To the next value of the same key.
        next_duplicate, next_duplicate_at_hand => (Step::Duplicate, Direction::Forwards);
        /// To the value before of the same key.
        prev_duplicate, prev_duplicate_at_hand => (Step::Duplicate, Direction::Backwards);
    }
    ends {
        /// To the first value of the same key.
        first_duplicate => End::First;
        /// To the last value of the same key.
        last_duplicate => End::Last;
    }
    looks {
        /// The key, and its fixed-size values from the current one to the end of their page, side by side. The cursor is
        /// then on the last of them.
        multiple;
        /// As `multiple`, with those before the current one on its page too.
        whole_multiple;
    }
    seeks {
        /// To this key (its first value).
        seek => false;
        /// To the first entry whose key is this one or after it. Among native integers one of another size is
        /// [`Error::KeyLength`].
        seek_at_or_after => true;
    }
    bounds {
        /// To the first entry.
        first => End::First;
        /// To the last entry.
        last => End::Last;
    }
    others {
        /// To this key with this very value.
        seek_pair(key, value) => seek_exact_pair from Start::Search(&[key, value]);
        /// To this key with the first value that is this one or after it. Among native integers one of another size is
        /// [`Error::ValueLength`].
        seek_pair_at_or_after(key, value) => seek_pair_at_or_after from Start::Search(&[key, value]);
        /// As `multiple`, for the next page of the key's values.
        next_multiple() => next_multiple from Start::Among;
        /// As `multiple`, for the page before; the cursor is then on the first of them.
        prev_multiple() => multiple_before from Start::Among;
    }
}

/// Makes a step of a position, and what is found there, if the leaf around it is open and holds it.
macro_rules! step_near {
    ($near:expr, $position:expr, $step:expr, $direction:expr) => {
        match $step {
            Step::Entry => $near.step($position, $direction),
            Step::Key => $near.step_key($position, $direction),
            Step::Duplicate => {
                $near.step_value($position, $direction).map(|(key, value)| Cell { key, value, kind: CellKind::Plain })
            }
        }
    };
}

use step_near;

/// Makes a step of a position to what lies whole in the leaf that is open around it: most steps.
#[inline(always)]
fn step_at_hand<'p>(
    near: &mut Near<'p>,
    position: &mut Position,
    step: Step,
    direction: Direction,
) -> Option<Pair<'p>> {
    match step {
        Step::Key => near.step_single(position, direction),
        Step::Entry if !near.has_duplicates() => near.step_single(position, direction),
        Step::Entry => near.step_value(position, direction).or_else(|| near.step_on(position, direction)),
        Step::Duplicate => near.step_value(position, direction),
    }
}

impl<'t> Cursor<'t> {
    pub(super) fn new(table: Table<'t>, position: Position) -> Cursor<'t> {
        Cursor { table, position, near: None, stays: false }
    }

    /// As [`Cursor::next_key`], for who has seen already that nothing is at hand.
    #[inline]
    pub fn next_beyond(&mut self) -> Result<Option<Pair<'t>>> {
        self.step_anyhow(Step::Key, Direction::Forwards)
    }

    /// As [`Cursor::prev_key`], for who has seen already that nothing is at hand.
    #[inline]
    pub fn prev_beyond(&mut self) -> Result<Option<Pair<'t>>> {
        self.step_anyhow(Step::Key, Direction::Backwards)
    }

    /// What [`Cursor::current`] finds, if that lies whole in the leaf that the cursor walks in. `None` says nothing.
    #[inline(always)]
    pub fn current_at_hand(&self) -> Option<Pair<'t>> {
        self.near.as_ref()?.current(&self.position)
    }

    /// Each movement has its own copy, in which most of the questions are answered.
    #[inline(always)]
    fn step(&mut self, step: Step, direction: Direction) -> Result<Option<Pair<'t>>> {
        if let Some(near) = &mut self.near {
            let position = &mut self.position;
            let found = match step {
                Step::Key if near.has_duplicates() => near.step_key_among(position, direction),
                _ => step_at_hand(near, position, step, direction),
            };
            if let Some(pair) = found {
                return Ok(Some(pair));
            }
        }
        self.step_anyhow(step, direction)
    }

    /// Any step. Apart, so that those that are made in place have little to put aside and to take back.
    #[inline(never)]
    fn step_anyhow(&mut self, step: Step, direction: Direction) -> Result<Option<Pair<'t>>> {
        if self.leads_out(step, direction) {
            return self.step_out(direction);
        }
        // With duplicates it would have been at hand.
        let may_be_near = self.near.as_ref().is_some_and(|near| !near.has_duplicates());
        match may_be_near.then(|| self.step_near(step, direction)).flatten() {
            Some(cell) if cell.kind != CellKind::Overflow => Ok(Some((cell.key, cell.value))),
            Some(cell) => self.load(&cell),
            None => self.step_far(step, direction),
        }
    }

    /// Whether a step leads out of the leaf, if that is known.
    #[inline(always)]
    fn leads_out(&self, step: Step, direction: Direction) -> bool {
        let to_key = matches!(step, Step::Key);
        let near = self.near.as_ref().filter(|_| !matches!(step, Step::Duplicate));
        near.is_some_and(|near| near.leads_out(&self.position, to_key, direction))
    }

    /// From the last key of the leaf to the next leaf, or backwards.
    #[inline(always)]
    fn step_out(&mut self, direction: Direction) -> Result<Option<Pair<'t>>> {
        let (Some(near), trunk) = (&mut self.near, self.table.trunk()) else { return Ok(None) };
        let found = on!(self.table.source, pages => {
            let found = near.go_beside(pages, &mut self.position, trunk, direction);
            if let Ok(None) = found { pages.walk_ends().map(|()| None) } else { found }
        });
        match found.inspect_err(|_| self.near = None)? {
            Some(cell) if cell.kind == CellKind::Overflow => self.load(&cell),
            found => Ok(found.map(|cell| (cell.key, cell.value))),
        }
    }

    #[inline(always)]
    fn step_near(&mut self, step: Step, direction: Direction) -> Option<Cell<'t>> {
        let near = self.near.as_mut()?;
        step_near!(near, &mut self.position, step, direction)
    }

    /// The entry that the cursor stands on.
    #[inline(always)]
    pub fn current(&mut self) -> Result<Option<Pair<'t>>> {
        if let Some(near) = &self.near
            && let Some(pair) = near.current(&self.position)
        {
            return Ok(Some(pair));
        }
        self.current_anyhow()
    }

    #[inline(never)]
    fn current_anyhow(&mut self) -> Result<Option<Pair<'t>>> {
        self.open_near();
        on!(self.table.source, pages => self.position.current(pages, self.table.trunk()))
    }

    /// Opens the leaf around it, if it stands on an entry: who asks for what is there is likely to ask for more.
    fn open_near(&mut self) {
        if self.near.is_none() && self.position.is_on() {
            let trunk = self.table.trunk();
            self.near = on!(self.table.source, pages => Near::open(pages, &self.position, trunk, None));
        }
    }

    /// Goes to a key, or to the first entry behind it. Who does is likely to walk on from there.
    fn seek_near(&mut self, key: &[u8], or_after: bool) -> Result<Option<Pair<'t>>> {
        if self.stays
            && let Some(found) = self.seek_in_leaf(key, or_after)?
        {
            return Ok(found);
        }
        let before = self.near.as_ref().and_then(|_| self.position.leaf());
        self.near = None;
        let (position, trunk) = (&mut self.position, self.table.trunk());
        on!(self.table.source, pages => {
            let found = Near::seek_to(pages, position, trunk, (key, or_after), &mut self.near)?;
            self.stays = !trunk.tree.has_duplicates() && before.is_some() && position.leaf() == before;
            Ok(found)
        })
    }

    /// The same within the leaf that is open, if the place is there: keys that are looked for in their order lie in one leaf,
    /// many of them.
    #[inline(never)]
    fn seek_in_leaf(&mut self, key: &[u8], or_after: bool) -> Result<Option<Option<Pair<'t>>>> {
        let (Some(near), trunk) = (&mut self.near, self.table.trunk()) else { return Ok(None) };
        let found = on!(self.table.source, pages => near.seek(pages, &mut self.position, trunk, (key, or_after)));
        match found {
            Ok(Some(Some(_)) | None) => {}
            // In a gap nothing is open around it.
            Ok(Some(None)) => self.near = None,
            Err(_) => {
                self.near = None;
                self.position.unset();
            }
        }
        found
    }

    /// Goes to the first entry, or to the last. Who does is likely to walk on from there.
    fn end_near(&mut self, end: End) -> Result<Option<Pair<'t>>> {
        self.near = None;
        let (position, trunk) = (&mut self.position, self.table.trunk());
        on!(self.table.source, pages => Near::go_to(pages, position, trunk, end, &mut self.near))
    }

    /// The entry of a cell whose value lies elsewhere.
    #[inline(always)]
    fn load(&self, cell: &Cell<'t>) -> Result<Option<Pair<'t>>> {
        let value = on!(self.table.source, pages => value::meet(pages, self.position.page(), cell))?;
        Ok(Some((cell.key, value)))
    }

    /// A step that leads out of the leaf, or nowhere, or the first one in it.
    #[inline(never)]
    fn step_far(&mut self, mut step: Step, direction: Direction) -> Result<Option<Pair<'t>>> {
        if matches!(step, Step::Duplicate)
            && self.near.as_ref().is_some_and(|near| near.is_last_value(&self.position, direction))
        {
            return Ok(None);
        }
        if self.near.is_none() {
            self.open_near();
            if let Some(cell) = self.step_near(step, direction) {
                return self.load(&cell);
            }
        }
        if !matches!(step, Step::Key)
            && let Some(near) = &mut self.near
        {
            let trunk = self.table.trunk();
            let found =
                on!(self.table.source, pages => near.step_value_far(pages, &mut self.position, trunk, direction));
            match found.inspect_err(|_| self.near = None)? {
                Some(Some(pair)) => return Ok(Some(pair)),
                Some(None) if matches!(step, Step::Entry) => step = Step::Key,
                Some(None) => return on!(self.table.source, pages => pages.walk_ends().map(|()| None)),
                None => {}
            }
        }
        if self.leads_out(step, direction) {
            return self.step_anyhow(step, direction);
        }
        if matches!(step, Step::Key)
            && let Some(near) = &mut self.near
        {
            let trunk = self.table.trunk();
            let found = on!(self.table.source, pages => near.step_key_far(pages, &mut self.position, trunk, direction));
            if let Some(pair) = found.inspect_err(|_| self.near = None)? {
                return Ok(Some(pair));
            }
        }
        let (mut near, before) = (self.near.take(), self.position.leaf());
        let trunk = self.table.trunk();
        on!(self.table.source, pages => {
            let found = step.go(&mut self.position, pages, trunk, direction)?;
            let is_in_next = self.position.leaf() != before;
            if found.is_none() {
                pages.walk_ends()?;
            } else if !is_in_next && near.as_mut().is_some_and(|near| near.follow(pages, &self.position)) {
                self.near = near;
            } else {
                self.near = Near::open(pages, &self.position, trunk, is_in_next.then_some(direction));
            }
            Ok(found)
        })
    }

    /// Whether the key that the cursor stands on has one value; false if it stands on none.
    pub fn has_one_value(&self) -> bool {
        self.position.is_on_only_value()
    }

    /// How many values the key has that the cursor stands on.
    pub fn count(&self) -> Result<u64> {
        if !self.position.is_on() {
            return Err(Error::Usage { what: "a cursor that stands on no entry was asked for a count" });
        }
        if let Some(near) = &self.near {
            return Ok(near.count());
        }
        on!(self.table.source, pages => self.position.count(pages, self.table.trunk()))
    }
}

#[cfg(test)]
mod tests;
