//! Where a cursor stands, in LMDB's way of thinking, over a cursor of the engine.
//!
//! Owns: every movement, and what it answers where there is nothing to move to. Must not know: writing.
//!
//! LMDB has two cursors in one: the outer one on a key, the inner one on a value of that key. Each may be unset, at an
//! end (the last movement found nothing further), or on an entry whose predecessor was deleted under it, which the
//! next step then gives instead of passing over. Programs see these states by what a movement answers; they are kept
//! here in two sets of marks beside a position of the engine that stands on the key and value in question.
//!
//! # Safety
//! The engine's cursor of a read transaction refers to the transaction's snapshot: `txn` unsets it before that goes.
//! Slices that are handed out as pointers stay where they are until the transaction ends or changes something, which
//! is what the interface promises to programs.
#![allow(unsafe_code)]

mod here;
mod room;
mod search;
mod stride;

use duramen::{Bookmark, WriteCursor, WriteTxn};

use crate::abi::{FREE_DBI, MdbVal, Op, put};
use crate::errors::{BAD_DBI, Code, EINVAL, INCOMPATIBLE, NOTFOUND, Result};
use crate::txn::{Db, Txn};
use room::Room;

/// An entry, in place.
#[derive(Clone, Copy)]
pub struct Item {
    pub key: MdbVal,
    pub value: MdbVal,
}

/// What a movement answers: what it says of key and value may be either, or both.
#[derive(Clone, Copy, Default)]
pub struct Answer {
    pub key: Option<MdbVal>,
    pub value: Option<MdbVal>,
}

impl Item {
    fn of((key, value): (&[u8], &[u8])) -> Item {
        Item { key: MdbVal::of(key), value: MdbVal::of(value) }
    }
}

impl From<Item> for Answer {
    fn from(item: Item) -> Answer {
        Answer { key: Some(item.key), value: Some(item.value) }
    }
}

/// The engine's cursor.
enum Walk {
    None,
    Rest(Box<Rest>),
    Read(Box<duramen::Cursor<'static>>),
    Write(Box<WriteCursor>),
}

/// What a cursor of a transaction that was reset stood on. The value counts only where a key may have several.
#[derive(Default)]
struct Rest {
    key: Vec<u8>,
    value: Vec<u8>,
    has_value: bool,
}

/// One of the two cursors.
#[derive(Clone, Copy, Default, Debug)]
#[repr(C)]
struct Marks {
    /// It stands somewhere.
    set: bool,
    /// The last movement found nothing further.
    eof: bool,
    /// The entry before was deleted: the next step stays.
    deleted: bool,
    /// It stands behind the last entry.
    behind: bool,
}

impl PartialEq for Marks {
    /// As one word: every step of a cursor looks at both of its marks.
    #[inline]
    fn eq(&self, other: &Marks) -> bool {
        let word = |m: &Marks| u32::from_ne_bytes([m.set, m.eof, m.deleted, m.behind].map(u8::from));
        word(self) == word(other)
    }
}

/// See the module's head.
pub struct State {
    walk: Walk,
    outer: Marks,
    inner: Marks,
    gap: Gap,
    room: Room,
}

/// Where a cursor of a write transaction stands. (A cursor itself has a kilobyte, for the way there.)
pub struct Standing {
    walk: Option<Bookmark>,
    outer: Marks,
    inner: Marks,
    gap: Gap,
}

/// What is not where a cursor stands. The engine's cursor is in the gap: what comes after that is looked for when it is asked
/// for, and before anything else is stored there. The marks are those from before.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Gap {
    #[default]
    None,
    /// The key that it stood on, which it has deleted.
    Key,
    /// The same of one value of several.
    Value,
    /// The key that it has looked for, in a write transaction: it may well be stored next.
    Sought,
}

/// Makes a movement of the engine's cursor.
macro_rules! walk {
    ($self:expr, $txn:expr, $movement:ident $(, $argument:expr)*) => {
        match &mut $self.walk {
            Walk::Read(cursor) => cursor.$movement($($argument),*)?.map(Item::of),
            Walk::Write(cursor) => cursor.$movement($txn.writer()?, $($argument),*)?.map(Item::of),
            Walk::None | Walk::Rest(_) => None,
        }
    };
}
use walk;

impl State {
    /// Stands nowhere.
    pub fn new() -> State {
        State {
            walk: Walk::None,
            outer: Marks::default(),
            inner: Marks::default(),
            gap: Gap::None,
            room: Room::default(),
        }
    }

    /// Forgets where it stands.
    pub fn unset(&mut self) {
        self.change_walk(Walk::None);
        (self.outer, self.inner, self.gap) = (Marks::default(), Marks::default(), Gap::None);
    }

    fn change_walk(&mut self, walk: Walk) {
        let before = std::mem::replace(&mut self.walk, walk);
        self.room.keep(before);
    }

    /// Where it stands, in a write transaction.
    pub fn standing(&mut self, txn: &WriteTxn<'_>) -> Standing {
        let walk = match &mut self.walk {
            Walk::Write(cursor) => Some(cursor.bookmark(txn)),
            Walk::None | Walk::Rest(_) | Walk::Read(_) => None,
        };
        Standing { walk, outer: self.outer, inner: self.inner, gap: self.gap }
    }

    /// Stands where it stood before the changes that have been undone.
    pub fn go_back(&mut self, to: &Standing) {
        self.change_walk(Walk::None);
        if let Some(bookmark) = &to.walk {
            self.walk = Walk::Write(self.room.writing_at(bookmark));
        }
        (self.outer, self.inner, self.gap) = (to.outer, to.inner, to.gap);
    }

    /// Whether it stands on an entry.
    pub fn is_on(&self) -> bool {
        self.outer.set && !self.outer.behind
    }

    /// Whether it stands anywhere.
    pub fn is_set(&self) -> bool {
        self.outer.set
    }

    /// Whether it stands on a value, of the key that it stands on.
    pub fn is_on_value(&self) -> bool {
        self.is_on() && self.inner.set && !self.inner.behind
    }

    /// Gets an engine's cursor if it has none, and stands where programs take it to be.
    #[inline]
    pub fn prepare(&mut self, txn: &mut Txn, dbi: u32) -> Result {
        if matches!(self.walk, Walk::Read(_) | Walk::Write(_)) { self.leave_gap(txn) } else { self.begin(txn, dbi) }
    }

    /// As [`State::prepare`], before a movement for which this is looked for. One that leads away from any place begins in a
    /// gap: what comes after that does not matter.
    #[inline]
    pub fn prepare_to_go(&mut self, txn: &mut Txn, dbi: u32, kind: Kind, op: Op, key: Option<&[u8]>) -> Result {
        let leads_away = match op {
            Op::First | Op::Last => true,
            Op::Set | Op::SetKey | Op::SetRange => key.is_some_and(|key| !key.is_empty()),
            Op::GetBoth | Op::GetBothRange => kind.duplicates && key.is_some_and(|key| !key.is_empty()),
            _ => false,
        };
        if leads_away {
            self.gap = Gap::None;
        }
        self.prepare(txn, dbi)
    }

    /// As [`State::prepare`], before it stores an entry, and stands on that: what comes after the one that it has looked for does
    /// not matter.
    pub fn prepare_to_store(&mut self, txn: &mut Txn, dbi: u32) -> Result {
        if self.gap == Gap::Sought { Ok(()) } else { self.prepare(txn, dbi) }
    }

    fn begin(&mut self, txn: &mut Txn, dbi: u32) -> Result {
        // The list of free pages is no table here: programs that count what is in it find it empty.
        if dbi == FREE_DBI {
            return Ok(());
        }
        // It was opened when the handle was good.
        let walk = match txn.db(dbi).map_err(|code| if code == EINVAL { BAD_DBI } else { code })? {
            Db::Read(table, _) => Walk::Read(self.room.reading(table)),
            Db::Write(id, _) => {
                let id = *id;
                Walk::Write(self.room.writing(txn.writer()?, id)?)
            }
            _ => Walk::None,
        };
        let before = std::mem::replace(&mut self.walk, walk);
        let stood = if let Walk::Rest(rest) = &before { self.stand_again(txn, rest) } else { Ok(()) };
        self.room.keep(before);
        stood
    }

    /// The transaction is reset. Programs go on from where they stood once it is renewed, whatever the manual says.
    pub fn rest(&mut self, kind: Kind) {
        let Walk::Read(cursor) = &mut self.walk else { return };
        match cursor.current().ok().flatten() {
            Some((key, value)) if self.outer.set && !self.outer.behind => {
                let rest = self.room.resting(key, kind.duplicates.then_some(value));
                self.change_walk(Walk::Rest(rest));
            }
            _ if self.outer.behind => self.change_walk(Walk::None),
            _ => self.unset(),
        }
    }

    /// Stands where it rested: on the same entry, or on the place where that was.
    fn stand_again(&mut self, txn: &mut Txn, rest: &Rest) -> Result {
        let near = walk!(self, txn, seek_at_or_after, &rest.key);
        // SAFETY: nothing can be changed in a snapshot.
        if near.is_none_or(|item| unsafe { bytes(item.key) } != rest.key) {
            return self.stand_at_gap(txn, near.is_none());
        }
        if !rest.has_value || walk!(self, txn, seek_pair, &rest.key, &rest.value).is_some() {
            return Ok(());
        }
        self.inner = Marks { set: true, deleted: true, ..Marks::default() };
        if walk!(self, txn, seek_pair_at_or_after, &rest.key, &rest.value).is_none() {
            walk!(self, txn, seek, &rest.key);
            walk!(self, txn, last_duplicate);
            (self.inner.eof, self.inner.behind) = (true, true);
        }
        Ok(())
    }

    /// The engine's cursor of a write transaction.
    pub fn writing(&mut self) -> Result<&mut WriteCursor> {
        match &mut self.walk {
            Walk::Write(cursor) => Ok(cursor),
            Walk::None | Walk::Rest(_) | Walk::Read(_) => Err(EINVAL),
        }
    }

    /// Whether it stands on this key, or on this value of it.
    pub fn is_at(&mut self, txn: &mut Txn, key: &[u8], value: Option<&[u8]>) -> Result<bool> {
        let is_on = if value.is_some() { self.is_on_value() } else { self.is_on() };
        // A program may have thousands of cursors open: those that are elsewhere are not to search the table.
        if !is_on || !self.writing()?.may_be_on(txn.writer()?, key, value)? {
            return Ok(false);
        }
        let Some(item) = self.item(txn)? else { return Ok(false) };
        // SAFETY: nothing has been changed since it was found.
        let found = unsafe { (bytes(item.key), bytes(item.value)) };
        Ok(found.0 == key && value.is_none_or(|value| found.1 == value))
    }

    /// The entry under the engine's cursor.
    pub fn item(&mut self, txn: &mut Txn) -> Result<Option<Item>> {
        Ok(walk!(self, txn, current))
    }

    /// How many values the key has.
    pub fn count(&mut self, txn: &mut Txn) -> Result<u64> {
        match &mut self.walk {
            Walk::Read(cursor) => Ok(cursor.count()?),
            Walk::Write(cursor) => Ok(cursor.count(txn.writer()?)?),
            Walk::None | Walk::Rest(_) => Err(EINVAL),
        }
    }

    /// Makes a movement, and ends what a deletion had left for the step after it.
    #[inline]
    pub fn go(
        &mut self,
        txn: &mut Txn,
        kind: Kind,
        op: Op,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<Answer> {
        let answer = self.movement(txn, kind, op, key, value);
        self.outer.deleted = false;
        answer
    }

    fn movement(
        &mut self,
        txn: &mut Txn,
        kind: Kind,
        op: Op,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<Answer> {
        match op {
            Op::Next | Op::NextDup | Op::NextNodup => self.next(txn, kind, op),
            Op::Prev | Op::PrevDup | Op::PrevNodup => self.prev(txn, kind, op),
            Op::First => self.first(txn),
            Op::Last => self.last(txn),
            Op::GetCurrent => self.current(txn, kind),
            Op::Set | Op::SetKey | Op::SetRange => self.seek(txn, op, key.ok_or(EINVAL)?),
            Op::GetBoth | Op::GetBothRange => {
                let value = value.ok_or(EINVAL)?;
                if !kind.duplicates {
                    return Err(INCOMPATIBLE);
                }
                self.seek_pair(txn, op == Op::GetBoth, key.ok_or(EINVAL)?, value)
            }
            Op::FirstDup | Op::LastDup => self.edge(txn, kind, op == Op::FirstDup),
            Op::GetMultiple => self.multiple(txn, kind),
            Op::NextMultiple => self.next_multiple(txn, kind),
            Op::PrevMultiple => self.prev_multiple(txn, kind),
        }
    }

    /// On a key, at a value of it.
    fn on(&mut self) {
        let deleted = self.outer.deleted;
        self.outer = Marks { set: true, deleted, ..Marks::default() };
        self.inner = Marks { set: true, ..Marks::default() };
    }

    fn first(&mut self, txn: &mut Txn) -> Result<Answer> {
        self.inner = Marks::default();
        let item = walk!(self, txn, first).ok_or(NOTFOUND)?;
        self.on();
        Ok(item.into())
    }

    fn last(&mut self, txn: &mut Txn) -> Result<Answer> {
        self.inner = Marks::default();
        let item = walk!(self, txn, last).ok_or(NOTFOUND)?;
        self.on();
        (self.outer.eof, self.inner.eof) = (true, true);
        Ok(item.into())
    }

    fn next(&mut self, txn: &mut Txn, kind: Kind, op: Op) -> Result<Answer> {
        if self.outer.deleted && op == Op::NextDup {
            return Err(NOTFOUND);
        }
        if !self.outer.set {
            return self.first(txn);
        }
        if self.outer.eof {
            if self.is_at_last_key(txn)? {
                return Err(NOTFOUND);
            }
            self.outer.eof = false;
        }
        if self.outer.behind {
            self.outer.eof = true;
            return Err(NOTFOUND);
        }
        if kind.duplicates && op != Op::NextNodup {
            match self.next_value(txn)? {
                Some(item) => return Ok(item.into()),
                None if op == Op::NextDup => return Err(NOTFOUND),
                None => {}
            }
        }
        let item = if self.outer.deleted { walk!(self, txn, first_duplicate) } else { walk!(self, txn, next_key) };
        match item {
            Some(item) => {
                self.on();
                self.outer.deleted = false;
                Ok(item.into())
            }
            None => {
                self.outer.eof = true;
                Err(NOTFOUND)
            }
        }
    }

    /// Whether no key follows.
    fn is_at_last_key(&mut self, txn: &mut Txn) -> Result<bool> {
        if self.outer.behind || !matches!(self.walk, Walk::Write(_)) {
            return Ok(true);
        }
        let Some(here) = self.item(txn)? else { return Ok(true) };
        if walk!(self, txn, next_key).is_none() {
            return Ok(true);
        }
        // SAFETY: nothing has been changed since `here` was found.
        let (key, value) = unsafe { (bytes(here.key), bytes(here.value)) };
        walk!(self, txn, seek_pair_at_or_after, key, value);
        Ok(false)
    }

    fn next_value(&mut self, txn: &mut Txn) -> Result<Option<Item>> {
        if !self.inner.set {
            if self.count(txn)? < 2 {
                return Ok(None);
            }
            self.inner = Marks { set: true, ..Marks::default() };
            return Ok(walk!(self, txn, first_duplicate));
        }
        if self.inner.behind {
            self.inner.eof = true;
            return Ok(None);
        }
        if self.inner.deleted && !self.inner.eof {
            self.inner.deleted = false;
            return self.item(txn);
        }
        let item = walk!(self, txn, next_duplicate);
        self.inner.eof = item.is_none();
        Ok(item)
    }

    fn prev(&mut self, txn: &mut Txn, kind: Kind, op: Op) -> Result<Answer> {
        if !self.outer.set {
            let found = self.last(txn);
            self.outer.eof = false;
            return found;
        }
        if kind.duplicates && !self.outer.behind && op != Op::PrevNodup {
            match self.prev_value(txn)? {
                Some(item) => {
                    self.outer.eof = false;
                    return Ok(item.into());
                }
                None if op == Op::PrevDup => return Err(NOTFOUND),
                None => {}
            }
        }
        (self.outer.eof, self.outer.deleted) = (false, false);
        let item = if self.outer.behind { walk!(self, txn, last) } else { walk!(self, txn, prev_key) };
        let item = item.ok_or(NOTFOUND)?;
        self.on();
        self.inner.eof = true;
        Ok(item.into())
    }

    fn prev_value(&mut self, txn: &mut Txn) -> Result<Option<Item>> {
        if !self.inner.set && self.count(txn)? < 2 {
            return Ok(None);
        }
        let from_end = !self.inner.set || self.inner.behind;
        self.inner = Marks { set: true, ..Marks::default() };
        Ok(if from_end { walk!(self, txn, last_duplicate) } else { walk!(self, txn, prev_duplicate) })
    }

    fn edge(&mut self, txn: &mut Txn, kind: Kind, first: bool) -> Result<Answer> {
        if !self.outer.set {
            return Err(EINVAL);
        }
        if !kind.duplicates {
            return Err(INCOMPATIBLE);
        }
        if self.outer.behind {
            return Err(NOTFOUND);
        }
        self.outer.eof = false;
        if !self.inner.set && self.count(txn)? > 1 {
            return Err(EINVAL);
        }
        let item = if first { walk!(self, txn, first_duplicate) } else { walk!(self, txn, last_duplicate) };
        let (item, single) = (item.ok_or(NOTFOUND)?, self.is_single(txn)?);
        self.inner = Marks { set: true, eof: !first && !single, ..Marks::default() };
        Ok(if single { item.into() } else { Answer { key: None, value: Some(item.value) } })
    }

    /// Whether the key that has just been moved on has one value.
    fn is_single(&mut self, txn: &mut Txn) -> Result<bool> {
        match &self.walk {
            Walk::Read(cursor) => Ok(cursor.has_one_value()),
            _ => Ok(self.count(txn)? < 2),
        }
    }

    fn multiple(&mut self, txn: &mut Txn, kind: Kind) -> Result<Answer> {
        if !self.outer.set {
            return Err(EINVAL);
        }
        if !kind.fixed {
            return Err(INCOMPATIBLE);
        }
        if !self.is_on_value() || self.inner.eof {
            return Ok(Answer::default());
        }
        let values = walk!(self, txn, whole_multiple).ok_or(NOTFOUND)?;
        Ok(Answer { key: None, value: Some(values.value) })
    }

    fn next_multiple(&mut self, txn: &mut Txn, kind: Kind) -> Result<Answer> {
        if !kind.fixed {
            return Err(INCOMPATIBLE);
        }
        let nowhere = !self.outer.set;
        let step = self.next(txn, kind, Op::NextDup)?;
        if nowhere && self.count(txn)? < 2 {
            return Err(NOTFOUND);
        }
        let values = walk!(self, txn, whole_multiple).ok_or(NOTFOUND)?;
        Ok(Answer { key: step.key, value: Some(values.value) })
    }

    fn prev_multiple(&mut self, txn: &mut Txn, kind: Kind) -> Result<Answer> {
        if !kind.fixed {
            return Err(INCOMPATIBLE);
        }
        let key = if self.outer.set { None } else { self.last(txn)?.key };
        if !self.is_on_value() {
            return Err(NOTFOUND);
        }
        let values = walk!(self, txn, prev_multiple).ok_or(NOTFOUND)?;
        Ok(Answer { key, value: Some(values.value) })
    }

    /// Stands on an entry that has just been stored, or found to be there.
    pub fn stand_on(&mut self, key: &[u8], value: &[u8]) -> Result {
        self.writing()?.stand_on(key, value);
        self.stand();
        Ok(())
    }

    /// The value that it stands on has been replaced by another cursor. What a deletion has left for its next step stays.
    pub fn value_is_replaced(&mut self, key: &[u8], value: &[u8]) -> Result {
        let deleted = (self.outer.deleted, self.inner.deleted);
        self.stand_on(key, value)?;
        (self.outer.deleted, self.inner.deleted) = deleted;
        Ok(())
    }

    /// Stands on the entry that the engine's cursor is on, as after storing it.
    pub fn stand(&mut self) {
        (self.outer, self.gap) = (Marks::default(), Gap::None);
        self.on();
    }

    /// Stands on a key that was found to be there already.
    pub fn stand_on_key(&mut self, txn: &mut Txn, key: &[u8]) -> Result {
        walk!(self, txn, seek, key);
        self.stand();
        Ok(())
    }

    /// Stands where an entry could not be stored: at the end of all, at the end of the key's values, or on the pair.
    pub fn stand_where_refused(&mut self, txn: &mut Txn, (key, value): (&[u8], &[u8]), how: u32) -> Result {
        if how & put::APPEND != 0 {
            walk!(self, txn, last);
        } else if how & put::APPENDDUP != 0 {
            walk!(self, txn, seek, key);
            walk!(self, txn, last_duplicate);
        } else {
            walk!(self, txn, seek_pair, key, value);
        }
        self.stand();
        Ok(())
    }

    /// Whether there is a value under the cursor, which is on a key. A key with one value has one, unless the cursor
    /// was left behind that when others were deleted.
    pub fn has_value(&mut self, txn: &mut Txn) -> Result<bool> {
        Ok(if self.inner.set { !self.inner.behind } else { self.count(txn)? < 2 })
    }

    /// Why there is no value under the cursor although its key has several.
    pub fn no_value(&self) -> Code {
        if self.inner.set { NOTFOUND } else { EINVAL }
    }

    /// Ends what a deletion had left for the step after it.
    pub fn settle_deletion(&mut self) {
        self.outer.deleted = false;
    }

    /// The key that it stood on is gone: it is on the next one, or behind the last. `own`: it has deleted it itself.
    pub fn key_is_gone(&mut self, txn: &mut Txn, own: bool) -> Result {
        // The engine's cursor is in the gap where the key was.
        let at_end = walk!(self, txn, next_key).is_none();
        self.outer.deleted |= !own;
        self.stand_at_gap(txn, at_end)
    }

    /// It has deleted the key that it stood on itself.
    pub fn own_key_is_gone(&mut self) {
        self.gap = Gap::Key;
    }

    /// It has deleted the value that it stood on itself, and the key has others.
    pub fn own_value_is_gone(&mut self) {
        self.gap = Gap::Value;
    }

    /// Stands on what comes after the gap that it is in, if it is in one.
    #[inline]
    pub fn leave_gap(&mut self, txn: &mut Txn) -> Result {
        match std::mem::take(&mut self.gap) {
            Gap::None => Ok(()),
            Gap::Key => self.key_is_gone(txn, true),
            Gap::Value => self.value_is_gone(txn),
            Gap::Sought => self.settle(txn),
        }
    }

    /// Stands where a key was: the engine's cursor is on the one after it, or `at_end`.
    fn stand_at_gap(&mut self, txn: &mut Txn, at_end: bool) -> Result {
        let is_empty = at_end && walk!(self, txn, last).is_none();
        self.inner = Marks::default();
        if is_empty {
            self.outer = Marks { deleted: self.outer.deleted, ..Marks::default() };
        } else if at_end {
            self.outer = Marks { set: true, eof: true, deleted: true, behind: true };
        } else {
            self.outer = Marks { set: true, deleted: true, ..Marks::default() };
            let deleted = self.count(txn)? > 1;
            self.inner = Marks { set: true, deleted, ..Marks::default() };
        }
        Ok(())
    }

    /// The table has been emptied or dropped: it stands nowhere, but keeps what its deletion has left.
    pub fn table_is_dropped(&mut self) {
        let deleted = self.outer.deleted || self.gap == Gap::Key;
        self.unset();
        self.outer.deleted = deleted;
    }

    /// Nothing is left in the table: it stands nowhere.
    pub fn table_is_empty(&mut self) {
        self.outer = Marks { set: false, behind: false, ..self.outer };
        self.inner = Marks::default();
    }

    /// The value that it stood on is gone, its key has others: it is on the next value, or behind the last.
    pub fn value_is_gone(&mut self, txn: &mut Txn) -> Result {
        let next = walk!(self, txn, next_duplicate);
        self.inner = Marks { set: true, deleted: true, ..Marks::default() };
        if next.is_none() {
            walk!(self, txn, prev_duplicate);
            (self.inner.eof, self.inner.behind) = (true, true);
        }
        Ok(())
    }
}

/// What a table's flags mean for movements.
#[derive(Clone, Copy)]
pub struct Kind {
    pub duplicates: bool,
    pub fixed: bool,
    /// Some keys are names of tables, which the program sees otherwise than they are stored.
    pub names: bool,
}

/// The bytes behind a value.
///
/// # Safety
/// They are there, and stay as long as the answer is used.
unsafe fn bytes<'b>(value: MdbVal) -> &'b [u8] {
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(value.mv_data.cast_const().cast(), value.mv_size) }
}
