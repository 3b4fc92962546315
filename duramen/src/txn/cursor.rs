//! Cursors: every movement that a position in a table can make.

use std::fmt;

use super::held::Held;
use super::place::spill_if_large;
use super::table::{Source, Table, on};
use super::table_mut::TableMut;
use super::update::{self, Guide, Mode, Put, Value};
use super::work::Work;
use super::write::{TableId, WriteTxn};
use crate::error::{Error, Result};
use crate::format::leaf::{Cell, CellKind};
use crate::tree::cursor::{Pair, Position, Trunk};
use crate::tree::near::Near;
use crate::tree::{Pages, value};

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
        back: bool,
    ) -> Result<Option<Pair<'p>>> {
        match (self, back) {
            (Step::Entry, false) => position.next(pages, trunk),
            (Step::Entry, true) => position.prev(pages, trunk),
            (Step::Key, false) => position.next_key(pages, trunk),
            (Step::Key, true) => position.prev_key(pages, trunk),
            (Step::Duplicate, false) => position.next_duplicate(pages, trunk),
            (Step::Duplicate, true) => position.prev_duplicate(pages, trunk),
        }
    }
}

/// Where a movement of a cursor in a write transaction begins.
enum Start<'k> {
    /// From where it stands.
    Here,
    /// As `Here`; what is found is several values at once, on one of which it then stands.
    Among,
    /// From one end of the table.
    End,
    /// With a search for a key, or for a key and a value.
    Search(&'k [&'k [u8]]),
}

/// Gives a cursor one method for each movement of a position: steps to neighbours, looks that leave it among the values
/// of its leaf, searches for a key, and all others.
macro_rules! movements {
    (
        steps { $($(#[$step_doc:meta])* $step:ident => ($kind:expr, $back:expr);)* }
        looks { $($(#[$look_doc:meta])* $look:ident;)* }
        seeks { $($(#[$seek_doc:meta])* $seek:ident => $or_after:expr;)* }
        others { $($(#[$doc:meta])* $name:ident($($argument:ident),*) => $inner:ident from $from:expr;)* }
    ) => {
        #[allow(clippy::should_implement_trait, reason = "a cursor goes both ways, so it is no iterator")]
        impl<'t> Cursor<'t> {
            $($(#[$step_doc])*
            pub fn $step(&mut self) -> Result<Option<Pair<'t>>> {
                self.step($kind, $back)
            })*

            $($(#[$look_doc])*
            #[inline]
            pub fn $look(&mut self) -> Result<Option<Pair<'t>>> {
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
                self.step(txn.work(), $kind, $back)
            })*

            $($(#[$look_doc])*
            pub fn $look<'x>(&mut self, txn: &'x WriteTxn<'_>) -> Result<Option<Pair<'x>>> {
                let work = txn.work();
                work.check()?;
                if let Some(near) = self.held.get(work, self.table)
                    && let Some(found) = near.$look(&mut self.position)
                    && let Some((key, value)) = near.current(&mut self.position)
                {
                    self.remember(key, value);
                    return Ok(Some(found));
                }
                self.moved(work, Start::Among, |position, work, trunk| position.$look(work, trunk))
            })*

            $($(#[$seek_doc])*
            pub fn $seek<'x>(&mut self, txn: &'x WriteTxn<'_>, key: impl AsRef<[u8]>) -> Result<Option<Pair<'x>>> {
                let key = key.as_ref();
                self.moved(txn.work(), Start::Search(&[key]), |position, work, trunk| position.$seek(work, trunk, key))
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
        next => (Step::Entry, false);
        /// To the entry before: the key's value before, else the last of the key before.
        prev => (Step::Entry, true);
        /// To the first value of the next key.
        next_key => (Step::Key, false);
        /// To the last value of the key before.
        prev_key => (Step::Key, true);
        /// To the next value of the same key.
        next_duplicate => (Step::Duplicate, false);
        /// To the value before of the same key.
        prev_duplicate => (Step::Duplicate, true);
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
        /// To the first entry whose key is this one or after it.
        seek_at_or_after => true;
    }
    others {
        /// To the first entry.
        first() => first from Start::End;
        /// To the last entry.
        last() => last from Start::End;
        /// To the first value of the same key.
        first_duplicate() => first_duplicate from Start::Here;
        /// To the last value of the same key.
        last_duplicate() => last_duplicate from Start::Here;
        /// To this key with this very value.
        seek_pair(key, value) => seek_exact_pair from Start::Search(&[key, value]);
        /// To this key with the first value that is this one or after it.
        seek_pair_at_or_after(key, value) => seek_pair_at_or_after from Start::Search(&[key, value]);
        /// As `multiple`, for the next page of the key's values.
        next_multiple() => next_multiple from Start::Among;
        /// As `multiple`, for the page before; the cursor is then on the first of them.
        prev_multiple() => multiple_before from Start::Among;
    }
}

/// Makes a step of a position, and what is found there, if the leaf around it is open and holds it.
macro_rules! step_near {
    ($near:expr, $position:expr, $step:expr, $back:expr) => {
        match $step {
            Step::Entry => $near.step($position, $back),
            Step::Key => $near.step_key($position, $back),
            Step::Duplicate => $near.step_value($position, $back),
        }
    };
}

impl<'t> Cursor<'t> {
    pub(super) fn new(table: Table<'t>, position: Position) -> Cursor<'t> {
        Cursor { table, position, near: None }
    }

    /// Each movement has its own copy, in which most of the questions are answered.
    #[inline(always)]
    fn step(&mut self, step: Step, back: bool) -> Result<Option<Pair<'t>>> {
        match self.step_near(step, back) {
            Some(cell) if cell.kind != CellKind::Overflow => Ok(Some((cell.key, cell.value))),
            Some(cell) => self.load(&cell),
            None => self.step_far(step, back),
        }
    }

    #[inline(always)]
    fn step_near(&mut self, step: Step, back: bool) -> Option<Cell<'t>> {
        let near = self.near.as_mut()?;
        step_near!(near, &mut self.position, step, back)
    }

    /// The entry that the cursor stands on.
    #[inline]
    pub fn current(&mut self) -> Result<Option<Pair<'t>>> {
        if let Some(near) = &self.near
            && let Some(pair) = near.current(&mut self.position)
        {
            return Ok(Some(pair));
        }
        on!(self.table.source, pages => self.position.current(pages, self.table.trunk()))
    }

    /// Goes to a key, or to the first entry behind it. Who does is likely to walk on from there.
    fn seek_near(&mut self, key: &[u8], or_after: bool) -> Result<Option<Pair<'t>>> {
        self.near = None;
        let trunk = self.table.trunk();
        on!(self.table.source, pages => {
            if trunk.tree.has_duplicates() {
                let position = &mut self.position;
                return if or_after { position.seek_at_or_after(pages, trunk, key) } else { position.seek(pages, trunk, key) };
            }
            let Some((leaf, pair)) = self.position.seek_single(pages, trunk, key, or_after)? else { return Ok(None) };
            self.near = Some(Near::of(leaf, pair.0));
            Ok(Some(pair))
        })
    }

    /// The entry of a cell whose value lies elsewhere.
    #[inline(never)]
    fn load(&self, cell: &Cell<'t>) -> Result<Option<Pair<'t>>> {
        let value = on!(self.table.source, pages => value::meet(pages, self.position.page(), cell))?;
        Ok(Some((cell.key, value)))
    }

    /// A step that leads out of the leaf, or nowhere, or the first one in it.
    #[inline(never)]
    fn step_far(&mut self, step: Step, back: bool) -> Result<Option<Pair<'t>>> {
        if matches!(step, Step::Duplicate)
            && self.near.as_ref().is_some_and(|near| near.is_last_value(&self.position, back))
        {
            return Ok(None);
        }
        if self.near.is_none() && self.position.is_on() {
            let trunk = self.table.trunk();
            self.near = on!(self.table.source, pages => Near::open(pages, &self.position, trunk, None));
            if let Some(cell) = self.step_near(step, back) {
                return self.load(&cell);
            }
        }
        self.near = None;
        let trunk = self.table.trunk();
        on!(self.table.source, pages => {
            let found = step.go(&mut self.position, pages, trunk, back)?;
            match found {
                Some(_) => self.near = Near::open(pages, &self.position, trunk, Some(back)),
                None => pages.walk_ends()?,
            }
            Ok(found)
        })
    }

    /// How many values the key has that the cursor stands on.
    pub fn count(&self) -> Result<u64> {
        if !self.position.is_on() {
            return Err(Error::Usage { what: "a cursor that stands on no entry was asked for a count" });
        }
        if let Some(count) = self.near.as_ref().and_then(Near::count) {
            return Ok(count);
        }
        on!(self.table.source, pages => self.position.count(pages, self.table.trunk()))
    }
}

/// A position in a table of a write transaction. It borrows nothing: the transaction is given to each call, so that
/// any number of cursors may be used between changes. After changes by others it stands on the same entry, or, if
/// that is gone, in the gap where it was: `next` then gives the entry after it. After a search for what is not there
/// it stands in the gap where that would be.
pub struct WriteCursor {
    table: TableId,
    position: Position,
    epoch: u64,
    /// The entry it stands on, to find it again after a change.
    key: Vec<u8>,
    value: Vec<u8>,
    /// `value` is not known: it stands before all those of the key.
    before_values: bool,
    placed: bool,
    /// The leaf that it is in, while it walks.
    held: Held,
    /// It has stored over its entry since its last step. Who stores and steps in turn need not have the leaf kept open.
    stores: bool,
}

impl Clone for WriteCursor {
    fn clone(&self) -> WriteCursor {
        let (key, value, position) = (self.key.clone(), self.value.clone(), self.position.clone());
        WriteCursor { key, value, position, held: Held::none(), ..*self }
    }
}

impl fmt::Debug for WriteCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriteCursor(..)")
    }
}

impl WriteCursor {
    pub(super) fn new(table: TableId) -> WriteCursor {
        let (key, value) = (Vec::new(), Vec::new());
        let position = Position::default();
        let (before_values, placed, held, stores) = (false, false, Held::none(), false);
        WriteCursor { table, position, epoch: 0, key, value, before_values, placed, held, stores }
    }

    /// The table that it is a cursor of.
    pub fn table(&self) -> TableId {
        self.table
    }

    /// Whether it may stand on this key, or on this value of it, by what it remembers: looks at no page, so that many
    /// cursors can be asked. Only a movement, or [`WriteCursor::current`], tells for certain.
    pub fn may_be_on(&self, txn: &WriteTxn<'_>, key: &[u8], value: Option<&[u8]>) -> Result<bool> {
        let orders = &txn.work().table(self.table)?.orders;
        let has = |value| self.before_values || orders.duplicate.cmp(&self.value, value).is_eq();
        Ok(self.placed && orders.key.cmp(&self.key, key).is_eq() && value.is_none_or(has))
    }

    /// How many values the key has that the cursor stands on.
    pub fn count(&mut self, txn: &WriteTxn<'_>) -> Result<u64> {
        let work = txn.work();
        self.sync(work)?;
        if !self.position.is_on() {
            return Err(Error::Usage { what: "a cursor that stands on no entry was asked for a count" });
        }
        if let Some(count) = self.held.get(work, self.table).and_then(|near| near.count()) {
            return Ok(count);
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
    pub(super) fn store(&mut self, work: &mut Work, key: &[u8], value: &[u8], mode: Mode) -> Result<Put> {
        let i = self.table.index as usize;
        if mode == Mode::Set && self.overwrite(work, key, value) {
            return Ok(Put::Stored);
        }
        // Whatever becomes of the way, the cursor finds its place again by what it remembers.
        self.held.close();
        self.stores = true;
        let guide = Guide { epoch: std::mem::take(&mut self.epoch), path: self.position.path_mut() };
        let put = update::put_guided(work, i, Some(guide), key, Value::Bytes(value), mode)?;
        if put == Put::Exists && mode != Mode::Set {
            return Ok(put);
        }
        let has_duplicates = work.tables[i].tree.has_duplicates();
        self.remember(key, if has_duplicates { value } else { &[] });
        // Among several values its place is not known.
        if !has_duplicates && self.position.stand_on_path() {
            self.epoch = work.epoch;
        }
        Ok(put)
    }

    /// Stores the value over that of the key, if the cursor is known to stand on that and nothing moves by it.
    fn overwrite(&mut self, work: &mut Work, key: &[u8], value: &[u8]) -> bool {
        let i = self.table.index as usize;
        let is_here = self.is_current(work) && self.position.is_on() && self.key == key;
        if !is_here || work.failed || work.tables[i].tree.has_duplicates() {
            return false;
        }
        self.stores = true;
        update::overwrite(work, i, self.position.path_mut(), key, value)
    }

    /// Stands on this entry, which has just been stored.
    pub fn stand_on(&mut self, key: &[u8], value: &[u8]) {
        self.remember(key, value);
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
            let (i, path) = (self.table.index as usize, self.position.path_mut());
            if !update::overwrite(work, i, path, &self.key, value) {
                update::put_at(work, i, path, &self.key, value)?;
                self.epoch = work.epoch;
            }
            return Ok(());
        }
        let order = work.table(self.table)?.orders.duplicate.clone();
        if order.cmp(&self.value, value).is_ne() {
            return Err(Error::Incompatible { what: "a duplicate can only be replaced by one that sorts the same" });
        }
        if self.value == value {
            return Ok(());
        }
        let (i, entry) = (self.table.index as usize, (&self.value[..], value));
        if update::overwrite_value_at(work, i, &mut self.position, &self.key, entry)? {
            self.epoch = work.epoch;
        } else {
            let mut table = txn.table_by_id(self.table)?;
            table.delete_duplicate(&self.key, &self.value)?;
            table.put(&self.key, value)?;
        }
        self.value.clear();
        self.value.extend_from_slice(value);
        Ok(())
    }

    /// Removes the entry that the cursor stands on; true if its key has no other. `next` then gives the one after it.
    pub fn delete(&mut self, txn: &mut WriteTxn<'_>) -> Result<bool> {
        if !txn.work().table(self.table)?.tree.has_duplicates() {
            return self.delete_key(txn).map(|()| true);
        }
        self.on_entry(txn)?;
        let (work, i) = (txn.work_mut(), self.table.index as usize);
        let removed = update::delete_value_at(work, i, &mut self.position, (&self.key, &self.value))?;
        if removed.is_known {
            self.epoch = work.epoch;
        }
        Ok(removed.key)
    }

    /// Removes the key that the cursor stands on with all its values.
    pub fn delete_key(&mut self, txn: &mut WriteTxn<'_>) -> Result<()> {
        self.on_entry(txn)?;
        let work = txn.work_mut();
        update::delete_at(work, self.table.index as usize, self.position.path_mut(), &self.key)?;
        // Whatever value it stood on, the gap is where the key was.
        self.before_values = true;
        if self.position.key_is_gone() {
            self.epoch = work.epoch;
        }
        Ok(())
    }

    /// Sees to it that the entry which the cursor stands on can be changed by the way to it.
    fn on_entry(&mut self, txn: &mut WriteTxn<'_>) -> Result<()> {
        let work = txn.work_mut();
        work.check()?;
        spill_if_large(work)?;
        self.sync(work)?;
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
    fn sync(&mut self, work: &Work) -> Result<()> {
        if self.is_current(work) {
            return Ok(());
        }
        let trunk = self.trunk(work)?;
        if self.placed {
            let value = (!self.before_values).then_some(&self.value[..]);
            self.position.restore(work, trunk, &self.key, value)?;
        } else {
            self.position.unset();
        }
        self.epoch = work.epoch;
        Ok(())
    }

    /// The entry that the cursor stands on.
    pub fn current<'x>(&mut self, txn: &'x WriteTxn<'_>) -> Result<Option<Pair<'x>>> {
        let work = txn.work();
        work.check()?;
        if let Some(near) = self.held.get(work, self.table)
            && let Some(pair) = near.current(&mut self.position)
        {
            return Ok(Some(pair));
        }
        self.sync(work)?;
        self.position.current(work, self.trunk(work)?)
    }

    /// Each movement has its own copy, in which most of the questions are answered.
    #[inline(always)]
    fn step<'x>(&mut self, work: &'x Work, step: Step, back: bool) -> Result<Option<Pair<'x>>> {
        work.check()?;
        let Some(near) = self.held.get(work, self.table) else { return self.step_anew(work, step, back) };
        let Some(cell) = step_near!(near, &mut self.position, step, back) else {
            let is_last = matches!(step, Step::Duplicate) && near.is_last_value(&self.position, back);
            return if is_last { Ok(None) } else { self.step_far(work, step, back) };
        };
        let has_duplicates = near.has_duplicates();
        self.stand_on_cell(work, &cell, has_duplicates).map(Some)
    }

    /// Remembers the entry of a cell, which the position is on.
    #[inline(always)]
    fn stand_on_cell<'x>(&mut self, work: &'x Work, cell: &Cell<'x>, has_duplicates: bool) -> Result<Pair<'x>> {
        self.remember(cell.key, if has_duplicates { cell.value } else { &[] });
        match cell.kind {
            CellKind::Overflow => self.load(work, cell),
            _ => Ok((cell.key, cell.value)),
        }
    }

    /// The entry of a cell whose value lies elsewhere.
    #[inline(never)]
    fn load<'x>(&self, work: &'x Work, cell: &Cell<'x>) -> Result<Pair<'x>> {
        Ok((cell.key, value::meet(work, self.position.page(), cell)?))
    }

    /// The first step in a leaf, or since anything has changed in the table: mostly within the leaf that it is in.
    #[inline(never)]
    fn step_anew<'x>(&mut self, work: &'x Work, step: Step, back: bool) -> Result<Option<Pair<'x>>> {
        self.sync(work)?;
        if self.position.leaf().is_none() || self.stores {
            return self.step_far(work, step, back);
        }
        let trunk = self.trunk(work)?;
        self.held.open(work, self.table, &self.position, trunk, None);
        let Some(near) = self.held.get(work, self.table) else { return self.step_far(work, step, back) };
        let found = if self.position.is_in_gap() {
            step_near!(near.at_gap(), &mut self.position, step, back)
        } else {
            step_near!(near, &mut self.position, step, back)
        };
        match found {
            Some(cell) => self.stand_on_cell(work, &cell, trunk.tree.has_duplicates()).map(Some),
            None => self.step_far(work, step, back),
        }
    }

    /// A step that leads out of the leaf, or nowhere.
    #[inline(never)]
    fn step_far<'x>(&mut self, work: &'x Work, step: Step, back: bool) -> Result<Option<Pair<'x>>> {
        let (before, stores) = (self.position.leaf(), std::mem::take(&mut self.stores));
        let found = self.moved(work, Start::Here, |position, work, trunk| step.go(position, work, trunk, back))?;
        if found.is_none() {
            work.walk_ends()?;
        } else if !stores {
            let (trunk, is_in_next) = (self.trunk(work)?, self.position.leaf() != before);
            self.held.open(work, self.table, &self.position, trunk, is_in_next.then_some(back));
        }
        Ok(found)
    }

    /// Makes a movement.
    #[inline]
    fn moved<'x>(
        &mut self,
        work: &'x Work,
        from: Start<'_>,
        step: impl FnOnce(&mut Position, &'x Work, Trunk<'_>) -> Result<Option<Pair<'x>>>,
    ) -> Result<Option<Pair<'x>>> {
        work.check()?;
        self.held.close();
        if matches!(from, Start::Here | Start::Among) {
            self.sync(work)?;
        } else {
            // Where it stood does not matter.
            self.position.unset();
            self.epoch = work.epoch;
        }
        let trunk = self.trunk(work)?;
        // After an error it is found again by what it remembers.
        let found = step(&mut self.position, work, trunk).inspect_err(|_| self.epoch = 0)?;
        let entry = if matches!(from, Start::Among) { self.position.current(work, trunk)? } else { found };
        match (entry, from) {
            (Some((key, value)), _) => self.remember(key, if trunk.tree.has_duplicates() { value } else { &[] }),
            (None, Start::Search(sought)) => {
                self.remember(sought[0], sought.get(1).copied().unwrap_or_default());
                self.before_values = sought.len() == 1;
            }
            // It is where it was, or there is nothing to stand on.
            (None, _) => self.placed &= !self.position.is_unset(),
        }
        Ok(found)
    }

    fn remember(&mut self, key: &[u8], value: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.value.clear();
        // Only short values can be duplicates; a long one need not be remembered to find the key again.
        if value.len() <= 1 << 14 {
            self.value.extend_from_slice(value);
        }
        self.before_values = false;
        self.placed = true;
    }
}

#[cfg(test)]
mod tests;
