//! Cursors of write transactions, which keep their places while the table changes.
//!
//! Owns: what a cursor remembers of where it stands, changes by a cursor. Must not know: how a position moves.

use std::fmt;

use super::anchor::Anchor;
use super::{Step, step_at_hand, step_near};
use crate::error::{Error, Result};
use crate::format::leaf::{Cell, CellKind};
use crate::tree::cursor::{Pair, Position, Trunk};
use crate::tree::near::Near;
use crate::tree::{Direction, End, Pages, value};
use crate::txn::held_leaf::HeldLeaf;
use crate::txn::place::spill_if_large;
use crate::txn::table_mut::TableMut;
use crate::txn::update::{self, Guide, Mode, Offer, Put, Value};
use crate::txn::work::Work;
use crate::txn::write::{TableId, WriteTxn};

/// Where a movement of a cursor in a write transaction begins.
pub(super) enum Start<'k> {
    /// From where it stands.
    Here,
    /// As `Here`; what is found is several values at once, on one of which it then stands.
    Among,
    /// From one end of the table.
    End,
    /// With a search for a key, or for a key and a value.
    Search(&'k [&'k [u8]]),
}

/// A position in a table of a write transaction. It borrows nothing: the transaction is given to each call, so that
/// any number of cursors may be used between changes. After changes by others it stands on the same entry, or, if
/// that is gone, in the gap where it was: `next` then gives the entry after it. After a search for what is not there
/// it stands in the gap where that would be.
pub struct WriteCursor {
    pub(super) table: TableId,
    pub(super) position: Position,
    epoch: u64,
    /// In the leaf only while `held` has that.
    pub(super) anchor: Anchor,
    /// The leaf that it is in, while it walks.
    pub(super) held: HeldLeaf,
    /// It has stored over its entry since its last step. Who stores and steps in turn need not have the leaf kept open.
    stores: bool,
}

/// Where a [`WriteCursor`] stood: the entry, or the gap. It is less than the cursor, which also knows the way there.
pub struct Bookmark {
    table: TableId,
    anchor: Anchor,
}

impl fmt::Debug for Bookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bookmark(..)")
    }
}

impl Clone for WriteCursor {
    fn clone(&self) -> WriteCursor {
        WriteCursor { anchor: self.anchor.clone(), position: self.position.clone(), held: self.held.clone(), ..*self }
    }
}

impl fmt::Debug for WriteCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriteCursor(..)")
    }
}

impl WriteCursor {
    pub(in crate::txn) fn new(table: TableId) -> WriteCursor {
        let (position, anchor, held) = (Position::default(), Anchor::default(), HeldLeaf::none());
        WriteCursor { table, position, epoch: 0, anchor, held, stores: false }
    }

    /// Is as new, on a table, but for its memory.
    pub(in crate::txn) fn begin_again(&mut self, table: TableId) {
        self.position.unset();
        self.held.close();
        self.anchor.forget();
        (self.table, self.epoch, self.stores) = (table, 0, false);
    }

    /// Where it stands, for [`WriteCursor::go_back`].
    pub fn bookmark(&mut self, txn: &WriteTxn<'_>) -> Bookmark {
        self.leave_leaf(txn.work());
        Bookmark { table: self.table, anchor: self.anchor.clone() }
    }

    /// Stands where a cursor of the same transaction stood once: on the same entry, or, if that is gone, in the gap where it
    /// was.
    pub fn go_back(&mut self, to: &Bookmark) {
        self.begin_again(to.table);
        self.anchor.clone_from(&to.anchor);
    }

    /// A cursor that stands where one of the same transaction stood once.
    pub fn at(bookmark: &Bookmark) -> WriteCursor {
        let mut cursor = WriteCursor::new(bookmark.table);
        cursor.go_back(bookmark);
        cursor
    }

    /// The table that it is a cursor of.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Whether it may stand on this key, or on this value of it, by what it remembers: looks at no page, so that many
    /// cursors can be asked. Only a movement, or [`WriteCursor::current`], tells for certain.
    pub fn may_be_on(&self, txn: &WriteTxn<'_>, key: &[u8], value: Option<&[u8]>) -> Result<bool> {
        let work = txn.work();
        let orders = &work.table(self.table)?.orders;
        let Some((own_key, own_value)) = self.place(work) else { return Ok(false) };
        let has = |value| own_value.is_none_or(|own| orders.duplicate.cmp(own, value).is_eq());
        Ok(orders.key.cmp(own_key, key).is_eq() && value.is_none_or(has))
    }

    /// How many values the key has that the cursor stands on.
    pub fn count(&mut self, txn: &WriteTxn<'_>) -> Result<u64> {
        let work = txn.work();
        self.sync(work)?;
        if !self.position.is_on() {
            return Err(Error::Usage { what: "a cursor that stands on no entry was asked for a count" });
        }
        if let Some(near) = self.held.get(work, self.table) {
            return Ok(near.count());
        }
        self.position.count(work, self.trunk(work)?)
    }

    /// The table that it is a cursor of, to store entries by the cursor: what lies near it is found sooner, and it then
    /// stands on what was stored, unless that was room to be filled in or several values at once.
    pub fn table_mut<'x>(&'x mut self, txn: &'x mut WriteTxn<'_>) -> Result<TableMut<'x>> {
        txn.work().table(self.table)?;
        Ok(TableMut::of_cursor(txn.work_mut(), self))
    }

    /// Stores an entry as [`TableMut::put`] does and stands on it.
    pub fn put(&mut self, txn: &mut WriteTxn<'_>, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.table_mut(txn)?.put(key, value)
    }

    /// Stores an entry, looked for from where the cursor stands, and stands on it, also if it was there.
    #[inline(never)]
    pub(in crate::txn) fn store(&mut self, work: &mut Work, key: &[u8], value: &[u8], mode: Mode) -> Result<Put> {
        let i = self.table.index as usize;
        self.leave_leaf(work);
        if mode == Mode::Set && self.overwrite(work, key, value) {
            return Ok(Put::Stored);
        }
        // Whatever becomes of the way, the cursor finds its place again by its anchor.
        self.held.close();
        self.stores = true;
        let guide = Guide { epoch: std::mem::take(&mut self.epoch), path: self.position.path_mut() };
        let put = update::put_guided(work, i, Some(guide), &Offer { key, value: Value::Bytes(value), mode })?;
        if put == Put::Exists && mode != Mode::Set {
            return Ok(put);
        }
        let has_duplicates = work.tables[i].tree.has_duplicates();
        self.anchor.set((key, if has_duplicates { value } else { &[] }));
        // Among several values its place is not known.
        if !has_duplicates && self.position.stand_on_path() {
            self.epoch = work.epoch;
        }
        Ok(put)
    }

    /// Stores the value over that of the key, if the cursor is known to stand on that and nothing moves by it.
    fn overwrite(&mut self, work: &mut Work, key: &[u8], value: &[u8]) -> bool {
        let i = self.table.index as usize;
        let is_here = self.is_current(work) && self.position.is_on() && self.anchor.place().0 == key;
        if !is_here || work.failed || work.tables[i].tree.has_duplicates() {
            return false;
        }
        self.stores = true;
        update::overwrite(work, i, self.position.path_mut(), key, value)
    }

    /// Stands on this entry, which has just been stored.
    pub fn stand_on(&mut self, key: &[u8], value: &[u8]) {
        self.anchor.set((key, value));
        self.held.close();
        self.epoch = 0;
    }

    /// Gives the entry that the cursor stands on another value. In a table with duplicates the new one must sort at
    /// the same place: anything else is [`Error::Incompatible`].
    pub fn replace(&mut self, txn: &mut WriteTxn<'_>, value: impl AsRef<[u8]>) -> Result<()> {
        let value = value.as_ref();
        self.on_entry(txn)?;
        let work = txn.work_mut();
        if !work.table(self.table)?.tree.has_duplicates() {
            self.stores = true;
            let (i, path, key) = (self.table.index as usize, self.position.path_mut(), self.anchor.place().0);
            if !update::overwrite(work, i, path, key, value) {
                update::put_at(work, i, path, key, value)?;
                self.epoch = work.epoch;
            }
            return Ok(());
        }
        update::check_value(work.page_size(), work.table(self.table)?, value.len())?;
        let order = work.table(self.table)?.orders.duplicate.clone();
        let (key, old) = self.anchor.entry();
        if order.cmp(old, value).is_ne() {
            return Err(Error::Incompatible { what: "a duplicate can only be replaced by one that sorts the same" });
        }
        if old == value {
            return Ok(());
        }
        let i = self.table.index as usize;
        if update::overwrite_value_at(work, i, &mut self.position, key, (old, value))? {
            self.epoch = work.epoch;
        } else {
            let mut table = txn.table_by_id(self.table)?;
            table.delete_duplicate(key, old)?;
            table.put(key, value)?;
        }
        self.anchor.set_value(value);
        Ok(())
    }

    /// Removes the entry that the cursor stands on; true if its key has no other. `next` then gives the one after it.
    pub fn delete(&mut self, txn: &mut WriteTxn<'_>) -> Result<bool> {
        if !txn.work().table(self.table)?.tree.has_duplicates() {
            return self.delete_key(txn).map(|()| true);
        }
        self.on_entry(txn)?;
        let (work, i) = (txn.work_mut(), self.table.index as usize);
        let removed = update::delete_value_at(work, i, &mut self.position, self.anchor.entry())?;
        if removed.is_known {
            self.epoch = work.epoch;
        }
        Ok(removed.key)
    }

    /// Removes the key that the cursor stands on with all its values.
    pub fn delete_key(&mut self, txn: &mut WriteTxn<'_>) -> Result<()> {
        self.on_entry(txn)?;
        let work = txn.work_mut();
        update::delete_at(work, self.table.index as usize, self.position.path_mut(), self.anchor.place().0)?;
        // Whatever value it stood on, the gap is where the key was.
        self.anchor.set_before_values();
        if self.position.key_is_gone() {
            self.epoch = work.epoch;
        }
        Ok(())
    }

    /// Sees to it that the entry which the cursor stands on can be changed by the way to it.
    fn on_entry(&mut self, txn: &mut WriteTxn<'_>) -> Result<()> {
        let work = txn.work_mut();
        work.check()?;
        work.table(self.table)?;
        spill_if_large(work)?;
        self.sync(work)?;
        self.leave_leaf(work);
        if self.position.is_on() {
            return Ok(());
        }
        Err(Error::Usage { what: "a cursor that stands on no entry was asked to change it" })
    }

    fn trunk<'w>(&self, work: &'w Work) -> Result<Trunk<'w>> {
        let table = work.table(self.table)?;
        Ok(Trunk { tree: &table.tree, orders: &table.orders })
    }

    /// Whether its position is as good as when it was found.
    #[inline]
    fn is_current(&self, work: &Work) -> bool {
        work.is_current(self.table.index as usize, self.epoch)
    }

    /// Finds its place again if the table has changed since it was found.
    #[inline]
    fn sync(&mut self, work: &Work) -> Result<()> {
        if self.is_current(work) { Ok(()) } else { self.find_again(work) }
    }

    #[inline(never)]
    fn find_again(&mut self, work: &Work) -> Result<()> {
        self.leave_leaf(work);
        let trunk = self.trunk(work)?;
        if self.anchor.is_nowhere() {
            self.position.unset();
        } else {
            let (key, value) = self.anchor.place();
            self.position.restore(work, trunk, key, value)?;
        }
        self.epoch = work.epoch;
        Ok(())
    }

    /// The entry that the cursor stands on.
    pub fn current<'x>(&mut self, txn: &'x WriteTxn<'_>) -> Result<Option<Pair<'x>>> {
        let work = txn.work();
        work.check()?;
        self.hold(work)?;
        if let Some(near) = self.held.get(work, self.table)
            && let Some(pair) = near.current(&self.position)
        {
            return Ok(Some(pair));
        }
        self.sync(work)?;
        self.position.current(work, self.trunk(work)?)
    }

    /// Makes a step that needs a look at nothing else.
    #[inline(always)]
    fn step_at_hand<'x>(&mut self, work: &'x Work, step: Step, direction: Direction) -> Option<Pair<'x>> {
        if work.failed {
            return None;
        }
        let near = self.held.get(work, self.table)?;
        let pair = step_at_hand(near, &mut self.position, step, direction)?;
        let value = if near.has_duplicates() { pair.1 } else { &[] };
        self.stand_on_entry((pair.0, value));
        Some(pair)
    }

    /// Opens the leaf around it, if it stands on an entry and is not one that stores over each entry that it comes to: who asks
    /// for what is there is likely to ask for more.
    #[inline]
    pub(super) fn hold(&mut self, work: &Work) -> Result<()> {
        if self.held.get(work, self.table).is_some() || self.stores { Ok(()) } else { self.hold_anew(work) }
    }

    #[inline(never)]
    fn hold_anew(&mut self, work: &Work) -> Result<()> {
        self.sync(work)?;
        self.leave_leaf(work);
        if self.position.is_on() {
            let trunk = self.trunk(work)?;
            self.held.open(work, self.table, &self.position, trunk, None);
        }
        Ok(())
    }

    /// Each movement has its own copy, in which most of the questions are answered.
    #[inline(always)]
    pub(super) fn step<'x>(&mut self, work: &'x Work, step: Step, direction: Direction) -> Result<Option<Pair<'x>>> {
        if let Some(pair) = self.step_at_hand(work, step, direction) {
            return Ok(Some(pair));
        }
        work.check()?;
        let Some(near) = self.held.get(work, self.table) else { return self.step_anew(work, step, direction) };
        let Some(cell) = step_near!(near, &mut self.position, step, direction) else {
            if matches!(step, Step::Duplicate) {
                let is_last = near.is_last_value(&self.position, direction);
                return if is_last { Ok(None) } else { self.step_far(work, step, direction) };
            }
            let leads_out = near.leads_out(&self.position, matches!(step, Step::Key), direction);
            return if leads_out { self.next_leaf(work, direction) } else { self.step_far(work, step, direction) };
        };
        let has_duplicates = near.has_duplicates();
        self.stand_on_cell(work, &cell, has_duplicates).map(Some)
    }

    /// Notes that it stands on the entry of a cell in the leaf that it holds, which the position is on.
    #[inline(always)]
    fn stand_on_cell<'x>(&mut self, work: &'x Work, cell: &Cell<'x>, has_duplicates: bool) -> Result<Pair<'x>> {
        self.stand_on_entry((cell.key, if has_duplicates { cell.value } else { &[] }));
        match cell.kind {
            CellKind::Overflow => self.load(work, cell),
            _ => Ok((cell.key, cell.value)),
        }
    }

    /// Notes that it stands on this entry of the leaf that it holds, which the position is on.
    #[inline(always)]
    pub(super) fn stand_on_entry(&mut self, entry: Pair<'_>) {
        if self.held.lasts() { self.anchor.set_in_leaf() } else { self.anchor.set(entry) }
    }

    /// The entry of a cell whose value lies elsewhere.
    #[inline(never)]
    fn load<'x>(&self, work: &'x Work, cell: &Cell<'x>) -> Result<Pair<'x>> {
        Ok((cell.key, value::meet(work, self.position.page(), cell)?))
    }

    /// The first step in a leaf, or since anything has changed in the table: mostly within the leaf that it is in.
    #[inline(never)]
    fn step_anew<'x>(&mut self, work: &'x Work, step: Step, direction: Direction) -> Result<Option<Pair<'x>>> {
        self.sync(work)?;
        self.leave_leaf(work);
        let trunk = self.trunk(work)?;
        if self.stores && self.position.is_on() && !trunk.tree.has_duplicates() && !matches!(step, Step::Duplicate) {
            return self.step_once(work, trunk, direction);
        }
        if self.position.leaf().is_none() || self.stores {
            return self.step_far(work, step, direction);
        }
        self.held.open(work, self.table, &self.position, trunk, None);
        let Some(near) = self.held.get(work, self.table) else { return self.step_far(work, step, direction) };
        let found = if self.position.is_in_gap() {
            step_near!(near.at_gap(), &mut self.position, step, direction)
        } else {
            step_near!(near, &mut self.position, step, direction)
        };
        match found {
            Some(cell) => self.stand_on_cell(work, &cell, trunk.tree.has_duplicates()).map(Some),
            None => self.step_far(work, step, direction),
        }
    }

    /// The one step between two changes, from an entry that it stands on, in a table without duplicates.
    fn step_once<'x>(&mut self, work: &'x Work, trunk: Trunk<'_>, direction: Direction) -> Result<Option<Pair<'x>>> {
        self.stores = false;
        self.held.close();
        let position = &mut self.position;
        let found = Step::Key.go(position, work, trunk, direction);
        // After an error it is found again by its anchor.
        match found.inspect_err(|_| self.epoch = 0)? {
            Some((key, value)) => {
                self.anchor.set((key, &[]));
                Ok(Some((key, value)))
            }
            None => work.walk_ends().map(|()| None),
        }
    }

    /// From the last key of the leaf that it holds to the next leaf, or backwards.
    #[inline(never)]
    fn next_leaf<'x>(&mut self, work: &'x Work, direction: Direction) -> Result<Option<Pair<'x>>> {
        self.stores = false;
        let found = self.move_held(work, |near, position, trunk| near.go_beside(work, position, trunk, direction))?;
        let Some(cell) = found else { return work.walk_ends().map(|()| None) };
        self.held.has_moved(work, self.table, &self.position);
        let has_duplicates = self.trunk(work)?.tree.has_duplicates();
        self.stand_on_cell(work, &cell, has_duplicates).map(Some)
    }

    /// Makes a movement within the leaf that it holds, if it holds one, for which other pages are looked at.
    pub(super) fn move_near<'x>(
        &mut self,
        work: &'x Work,
        movement: impl FnOnce(&mut Near<'x>, &mut Position, Trunk<'_>) -> Result<Option<Pair<'x>>>,
    ) -> Result<Option<Pair<'x>>> {
        let found = self.move_held(work, movement)?;
        found.inspect(|pair| self.stand_on_entry(*pair));
        Ok(found)
    }

    /// Moves the leaf that it holds, if it holds one, and the position; what they come to.
    #[inline(always)]
    fn move_held<'x, T>(
        &mut self,
        work: &'x Work,
        movement: impl FnOnce(&mut Near<'x>, &mut Position, Trunk<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        self.leave_leaf(work);
        let trunk = self.trunk(work)?;
        let Some(near) = self.held.get(work, self.table) else { return Ok(None) };
        movement(near, &mut self.position, trunk).inspect_err(|_| {
            // It is found again by its anchor.
            self.held.close();
            self.epoch = 0;
        })
    }

    /// A step that leads out of the leaf, or nowhere.
    #[inline(never)]
    fn step_far<'x>(&mut self, work: &'x Work, step: Step, direction: Direction) -> Result<Option<Pair<'x>>> {
        let far = |near: &mut Near<'x>, position: &mut Position, trunk: Trunk<'_>| match step {
            Step::Key => near.step_key_far(work, position, trunk, direction),
            Step::Entry | Step::Duplicate => Ok(near.step_value_far(work, position, trunk, direction)?.flatten()),
        };
        if let Some(pair) = self.move_near(work, far)? {
            return Ok(Some(pair));
        }
        let (before, stores) = (self.position.leaf(), std::mem::take(&mut self.stores));
        let found = self.moved(work, Start::Here, |position, work, trunk| step.go(position, work, trunk, direction))?;
        if found.is_none() {
            work.walk_ends()?;
        } else if !stores {
            let (trunk, is_in_next) = (self.trunk(work)?, self.position.leaf() != before);
            self.held.open(work, self.table, &self.position, trunk, is_in_next.then_some(direction));
        }
        Ok(found)
    }

    /// Makes a movement.
    #[inline]
    pub(super) fn moved<'x>(
        &mut self,
        work: &'x Work,
        from: Start<'_>,
        step: impl FnOnce(&mut Position, &'x Work, Trunk<'_>) -> Result<Option<Pair<'x>>>,
    ) -> Result<Option<Pair<'x>>> {
        work.check()?;
        self.leave_leaf(work);
        self.held.close();
        if matches!(from, Start::Here | Start::Among) {
            self.sync(work)?;
        } else {
            // Where it stood does not matter.
            self.position.unset();
            self.epoch = work.epoch;
        }
        let trunk = self.trunk(work)?;
        // After an error it is found again by its anchor.
        let found = step(&mut self.position, work, trunk).inspect_err(|_| self.epoch = 0)?;
        let entry = if matches!(from, Start::Among) { self.position.current(work, trunk)? } else { found };
        match (entry, from) {
            (Some((key, value)), _) => self.anchor.set((key, if trunk.tree.has_duplicates() { value } else { &[] })),
            (None, Start::Search(sought)) => {
                self.anchor.set((sought[0], sought.get(1).copied().unwrap_or_default()));
                if sought.len() == 1 {
                    self.anchor.set_before_values();
                }
            }
            // There is nothing to stand on,
            (None, _) if self.position.is_unset() => self.anchor.forget(),
            // or it is where it was.
            (None, _) => {}
        }
        Ok(found)
    }

    /// Goes to a key, or to the first entry behind it. Who is likely to go on from there has the leaf kept open.
    pub(super) fn seek_near<'x>(&mut self, work: &'x Work, key: &[u8], or_after: bool) -> Result<Option<Pair<'x>>> {
        self.moved_into(work, Start::Search(&[key]), |position, trunk, around| {
            if !trunk.tree.has_duplicates() && !or_after {
                return position.seek(work, trunk, key);
            }
            Near::seek_to(work, position, trunk, (key, or_after), around)
        })
    }

    /// Goes to the first entry, or to the last. Who does is likely to walk on from there.
    pub(super) fn end_near<'x>(&mut self, work: &'x Work, end: End) -> Result<Option<Pair<'x>>> {
        self.moved_into(work, Start::End, |position, trunk, around| Near::go_to(work, position, trunk, end, around))
    }

    /// Makes a movement that may find what is around an entry, too, which is then kept open.
    #[inline(always)]
    fn moved_into<'x>(
        &mut self,
        work: &'x Work,
        from: Start<'_>,
        step: impl FnOnce(&mut Position, Trunk<'_>, &mut Option<Near<'x>>) -> Result<Option<Pair<'x>>>,
    ) -> Result<Option<Pair<'x>>> {
        let mut around = None;
        let found = self.moved(work, from, |position, _, trunk| step(position, trunk, &mut around))?;
        if let Some(near) = &around {
            self.held.keep(work, self.table, &self.position, near);
        }
        Ok(found)
    }

    /// Where it stands, by its anchor: the key, and the value if it is not before all of those.
    fn place<'a>(&'a self, work: &'a Work) -> Option<(&'a [u8], Option<&'a [u8]>)> {
        if self.anchor.is_in_leaf() {
            return self.held.entry(work, &self.position).map(|(key, value)| (key, Some(value)));
        }
        (!self.anchor.is_nowhere()).then(|| self.anchor.place())
    }

    /// To be called before it holds its leaf no more, or the position moves: its anchor knows the entry then.
    #[inline]
    fn leave_leaf(&mut self, work: &Work) {
        if self.anchor.is_in_leaf() {
            self.copy_entry(work);
        }
    }

    #[inline(never)]
    fn copy_entry(&mut self, work: &Work) {
        match self.held.entry(work, &self.position) {
            Some(entry) => self.anchor.set(entry),
            None => self.anchor.forget(),
        }
    }
}
