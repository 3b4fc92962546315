//! What a transaction did, as a list of operations that can be done again.
//!
//! Owns: the list ([`Ops`]), its form in the log, doing it again. Must not know: how it is stored, how a commit reaches
//! the disk.
//!
//! An operation names its table by the number that it has in the transaction; the first one says which table that is.
//! Doing all of them again on the state that the transaction began with gives the same entries (not the same pages).

use std::ops::Bound;

use super::catalog::{self, TableOptions};
use super::edit::Splice;
use super::table::get_in;
use super::update::{self, Offer, Value};
use super::work::Work;
use crate::error::{Damage, Error, Result};
use crate::format::log::HEADER;
use crate::ids::Pgno;
use crate::store::log::RECORD_MAX;
use crate::width::{to_u32, to_usize};

const OPEN: u8 = 1;
const CREATE: u8 = 2;
const PUT: u8 = 3;
/// As [`PUT`], but what the value is shows only when the transaction ends.
const ROOM: u8 = 4;
const DELETE: u8 = 5;
const DELETE_DUPLICATE: u8 = 6;
const DELETE_RANGE: u8 = 7;
const CLEAR: u8 = 8;
const DROP: u8 = 9;
const RENAME: u8 = 10;
const SPLICE: u8 = 11;

/// What a write transaction has done so far, unless it is too much for the log or cannot be done again.
pub(crate) struct Ops {
    /// Room for the record's header, then the operations. Empty: nothing is noted (any more).
    bytes: Vec<u8>,
    /// Where the operations begin whose values are not known yet.
    rooms: Vec<usize>,
}

/// How far a list was, to go back to.
pub(super) struct OpsMark(usize);

impl Ops {
    /// Notes what is done, in memory that was used for that before.
    pub(super) fn new(mut bytes: Vec<u8>) -> Ops {
        bytes.clear();
        bytes.resize(HEADER, 0);
        Ops { bytes, rooms: Vec::new() }
    }

    /// Notes nothing.
    pub(super) fn none() -> Ops {
        Ops { bytes: Vec::new(), rooms: Vec::new() }
    }

    /// Whether everything done is noted.
    pub(super) fn is_complete(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// From here on nothing is noted: the commit will flush the data file.
    pub(super) fn stop(&mut self) {
        *self = Ops::none();
    }

    pub(super) fn mark(&self) -> OpsMark {
        OpsMark(self.bytes.len())
    }

    /// Forgets what was noted since. What was stopped since stays so.
    pub(super) fn back_to(&mut self, mark: &OpsMark) {
        self.bytes.truncate(mark.0);
        self.rooms.retain(|&room| room < mark.0);
    }

    fn part(&mut self, bytes: &[u8]) {
        self.bytes.extend(to_u32(bytes.len()).to_le_bytes());
        self.bytes.extend(bytes);
    }

    fn bound(&mut self, bound: Bound<&[u8]>) {
        let (tag, key) = match bound {
            Bound::Unbounded => (0, &[][..]),
            Bound::Included(key) => (1, key),
            Bound::Excluded(key) => (2, key),
        };
        self.bytes.push(tag);
        self.part(key);
    }
}

/// Notes an operation on a table, if all can be noted that it consists of; the list to add its parts to.
fn note(work: &mut Work, operation: u8, i: usize, bytes: usize) -> Option<&mut Ops> {
    if !work.ops.is_complete() {
        return None;
    }
    if is_too_much(work, work.ops.bytes.len() + bytes) {
        work.ops.stop();
        return None;
    }
    if !work.tables[i].noted {
        introduce(work, i);
        if !work.ops.is_complete() {
            return None;
        }
    }
    work.ops.bytes.push(operation);
    work.ops.bytes.extend(to_u32(i).to_le_bytes());
    Some(&mut work.ops)
}

/// Whether a list of this length is not worth going on with: it will be too long, or has become so much of what its pages
/// are that a record of it would save nothing.
fn is_too_much(work: &Work, bytes: usize) -> bool {
    const SOME: usize = 64 << 10;
    let large = bytes > SOME && bytes > to_usize(work.dirty.pages()) * work.store.pager.page_size / 2;
    bytes > RECORD_MAX || large && work.store.settings.log_at_once.is_none()
}

/// Says which table a number stands for.
fn introduce(work: &mut Work, i: usize) {
    let (ops, table) = (&mut work.ops, &mut work.tables[i]);
    let tree = &table.tree;
    if TableOptions::of(tree.order, tree.flags, tree.duplicate_order, tree.user).is_none() {
        // Its comparison function is not known to whoever opens the database.
        return ops.stop();
    }
    table.noted = true;
    let is_new = i > 0 && table.saved.is_none();
    ops.bytes.push(if is_new { CREATE } else { OPEN });
    ops.bytes.extend(to_u32(i).to_le_bytes());
    ops.part(&table.name);
    if is_new {
        ops.bytes.extend([tree.order, tree.flags, tree.duplicate_order]);
        ops.bytes.extend(tree.user.to_le_bytes());
    }
}

/// A table was made.
pub(super) fn created(work: &mut Work, i: usize) {
    if work.ops.is_complete() {
        introduce(work, i);
    }
}

#[inline]
pub(super) fn put(work: &mut Work, i: usize, key: &[u8], value: &Value<'_>) {
    if work.ops.is_complete() {
        note_put(work, i, key, value);
    }
}

fn note_put(work: &mut Work, i: usize, key: &[u8], value: &Value<'_>) {
    match value {
        Value::Bytes(bytes) => {
            if let Some(ops) = note(work, PUT, i, key.len() + bytes.len()) {
                ops.part(key);
                ops.part(bytes);
            }
        }
        Value::Room(bytes) => {
            if let Some(ops) = note(work, ROOM, i, key.len() + bytes) {
                ops.rooms.push(ops.bytes.len() - 5);
                ops.part(key);
            }
        }
    }
}

/// Whether what differs between two values can be noted. Where there is [`ROOM`] to be filled, a value that is stored
/// again is not the one that it was when it was changed.
pub(super) fn may_splice(work: &Work) -> bool {
    work.ops.is_complete() && work.ops.rooms.is_empty()
}

/// A value, in a table without duplicates, was made of the one before.
pub(super) fn splice(work: &mut Work, i: usize, key: &[u8], splice: &Splice<'_>) {
    if let Some(ops) = note(work, SPLICE, i, key.len() + splice.inserted.len()) {
        ops.part(key);
        ops.bytes.extend(splice.at.to_le_bytes());
        ops.bytes.extend(splice.removed.to_le_bytes());
        ops.part(splice.inserted);
    }
}

pub(super) fn delete(work: &mut Work, i: usize, key: &[u8]) {
    if let Some(ops) = note(work, DELETE, i, key.len()) {
        ops.part(key);
    }
}

pub(super) fn delete_duplicate(work: &mut Work, i: usize, key: &[u8], value: &[u8]) {
    if let Some(ops) = note(work, DELETE_DUPLICATE, i, key.len() + value.len()) {
        ops.part(key);
        ops.part(value);
    }
}

pub(super) fn delete_range(work: &mut Work, i: usize, low: Bound<&[u8]>, high: Bound<&[u8]>) {
    let bytes = [low, high].map(|bound| match bound {
        Bound::Unbounded => 0,
        Bound::Included(key) | Bound::Excluded(key) => key.len(),
    });
    if let Some(ops) = note(work, DELETE_RANGE, i, bytes.iter().sum()) {
        ops.bound(low);
        ops.bound(high);
    }
}

pub(super) fn clear(work: &mut Work, i: usize) {
    note(work, CLEAR, i, 0);
}

pub(super) fn drop_table(work: &mut Work, i: usize) {
    note(work, DROP, i, 0);
}

pub(super) fn rename(work: &mut Work, i: usize, to: &[u8]) {
    if let Some(ops) = note(work, RENAME, i, to.len()) {
        ops.part(to);
    }
}

/// The finished list, with room for a record's header before it; nothing if not all is in it.
pub(super) fn take(work: &mut Work) -> Result<Option<Vec<u8>>> {
    let ops = std::mem::replace(&mut work.ops, Ops::none());
    if !ops.is_complete() || ops.rooms.is_empty() {
        return Ok(Some(ops.bytes).filter(|bytes| !bytes.is_empty()));
    }
    let mut filled = Ops { bytes: Vec::with_capacity(ops.bytes.len() * 2), rooms: Vec::new() };
    let mut from = 0;
    for room in ops.rooms {
        filled.bytes.extend(&ops.bytes[from..room]);
        let mut rest = Reader { bytes: &ops.bytes[room + 1..] };
        let (i, key) = rest.number().and_then(|i| Ok((i as usize, rest.part()?))).map_err(|d| d.at(Pgno(0)))?;
        from = ops.bytes.len() - rest.bytes.len();
        // What was removed again, or lies in a table that was, is not there and need not be stored either.
        if let Some(value) = stored(work, i, key)? {
            filled.bytes.push(PUT);
            filled.bytes.extend(to_u32(i).to_le_bytes());
            filled.part(key);
            filled.part(value);
        }
        // Of what was filled in again and again there may be far more than memory.
        if filled.bytes.len() > RECORD_MAX {
            return Ok(None);
        }
    }
    filled.bytes.extend(&ops.bytes[from..]);
    Ok(Some(filled.bytes).filter(|bytes| bytes.len() <= RECORD_MAX))
}

/// The value that a key of a table has now.
fn stored<'w>(work: &'w Work, i: usize, key: &[u8]) -> Result<Option<&'w [u8]>> {
    let table = &work.tables[i];
    if table.dropped { Ok(None) } else { get_in(work, &table.tree, &table.orders, key) }
}

/// Does a list of operations again.
pub(super) fn replay(work: &mut Work, operations: &[u8]) -> Result<(), Failure> {
    let mut rest = Reader { bytes: operations };
    // The numbers that the tables have now, by those that they had then.
    let mut tables: Vec<(u32, usize)> = Vec::new();
    while !rest.bytes.is_empty() {
        let (operation, number) = (rest.byte()?, rest.number()?);
        if matches!(operation, OPEN | CREATE) {
            let i = open(work, operation == CREATE, &mut rest)?;
            tables.push((number, i));
            continue;
        }
        let known = tables.iter().rev().find(|(then, _)| *then == number);
        let &(_, i) = known.ok_or(Damage("an operation on a table that it does not name"))?;
        let is_of_named = matches!(operation, DROP | RENAME);
        if work.tables[i].dropped || is_of_named && i == 0 {
            return Err(Damage("an operation on a table that is not there").into());
        }
        again(work, operation, i, &mut rest)?;
    }
    Ok(())
}

fn open(work: &mut Work, create: bool, rest: &mut Reader<'_>) -> Result<usize, Failure> {
    let name = rest.part()?;
    if !create {
        if name.is_empty() {
            return Ok(0);
        }
        let opened = catalog::open(work, name, None)?;
        return Ok(opened.ok_or(Damage("an operation on a table that is not there"))?);
    }
    let (order, flags, duplicate_order) = (rest.byte()?, rest.byte()?, rest.byte()?);
    let user = u16::from_le_bytes([rest.byte()?, rest.byte()?]);
    let options = TableOptions::of(order, flags, duplicate_order, user).ok_or(Damage("a table of unknown order"))?;
    Ok(catalog::open_or_make(work, name, Some(&options))?)
}

fn again(work: &mut Work, operation: u8, i: usize, rest: &mut Reader<'_>) -> Result<(), Failure> {
    match operation {
        PUT => {
            let (key, value) = (rest.part()?, rest.part()?);
            update::put(work, i, Offer::set(key, value))?;
        }
        SPLICE => {
            let key = rest.part()?;
            let splice = Splice { at: rest.number()?, removed: rest.number()?, inserted: rest.part()? };
            let old = if work.tables[i].tree.has_duplicates() { None } else { stored(work, i, key)? };
            let new = old.and_then(|old| splice.apply(old)).ok_or(Damage("a change of a value that is not there"))?;
            update::put(work, i, Offer::set(key, &new))?;
        }
        DELETE => drop(update::delete(work, i, rest.part()?)?),
        DELETE_DUPLICATE => {
            let (key, value) = (rest.part()?, rest.part()?);
            update::delete_duplicate(work, i, key, value)?;
        }
        DELETE_RANGE => {
            let (low, high) = (rest.bound()?, rest.bound()?);
            update::delete_range(work, i, low, high)?;
        }
        CLEAR => drop(catalog::clear(work, i)?),
        DROP => catalog::drop_table(work, i)?,
        RENAME => {
            let from = work.tables[i].name.clone();
            catalog::rename(work, &from, rest.part()?)?;
        }
        _ => return Err(Damage("an unknown operation").into()),
    }
    Ok(())
}

/// Why a list cannot be done again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// It is no list.
    #[error("{}", .0.0)]
    Damage(Damage),
    /// An operation failed.
    #[error(transparent)]
    Operation(#[from] Error),
}

impl From<Damage> for Failure {
    fn from(damage: Damage) -> Failure {
        Failure::Damage(damage)
    }
}

/// Takes a list apart.
struct Reader<'b> {
    bytes: &'b [u8],
}

const SHORT: Damage = Damage("a list of operations that ends too soon");

impl<'b> Reader<'b> {
    fn take(&mut self, bytes: usize) -> Result<&'b [u8], Damage> {
        let (taken, rest) = self.bytes.split_at_checked(bytes).ok_or(SHORT)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Damage> {
        Ok(self.take(1)?[0])
    }

    fn number(&mut self) -> Result<u32, Damage> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn part(&mut self) -> Result<&'b [u8], Damage> {
        let bytes = self.number()?;
        self.take(bytes as usize)
    }

    fn bound(&mut self) -> Result<Bound<&'b [u8]>, Damage> {
        let (tag, key) = (self.byte()?, self.part()?);
        match tag {
            0 => Ok(Bound::Unbounded),
            1 => Ok(Bound::Included(key)),
            2 => Ok(Bound::Excluded(key)),
            _ => Err(Damage("a range without a bound")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_done_again_or_refused(
            bytes in prop::collection::vec(prop_oneof![0u8..13, any::<u8>()], 0..200),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let db = crate::Database::open(dir.path().join("db")).unwrap();
            let mut txn = db.begin_write().unwrap();
            let _ = replay(txn.work_mut(), &bytes);
        }
    }

    /// One operation on a table of that number, with these parts.
    fn operation(code: u8, number: u32, parts: &[&str]) -> Vec<u8> {
        let mut bytes = [&[code][..], &number.to_le_bytes()].concat();
        for part in parts {
            bytes.extend(to_u32(part.len()).to_le_bytes());
            bytes.extend(part.as_bytes());
        }
        bytes
    }

    #[test]
    fn nothing_is_done_to_a_table_that_is_gone() {
        let (open, put) =
            (|number, name| operation(OPEN, number, &[name]), |number| operation(PUT, number, &["k", "v"]));
        let (drop, clear) = (|number| operation(DROP, number, &[]), |number| operation(CLEAR, number, &[]));
        let lists = [
            [open(1, "a"), drop(1), put(1)].concat(),
            [open(1, "a"), drop(1), clear(1)].concat(),
            [open(1, "a"), open(2, "a"), drop(1), put(2)].concat(),
            [open(1, ""), open(2, "a"), clear(1), put(2)].concat(),
            [open(1, ""), drop(1)].concat(),
            [open(1, ""), operation(RENAME, 1, &["b"])].concat(),
        ];
        for (i, list) in lists.iter().enumerate() {
            let dir = tempfile::tempdir().unwrap();
            let db = crate::Database::open(dir.path().join("db")).unwrap();
            db.update(|txn| txn.table("a")?.put("key", "value")).unwrap();
            let mut txn = db.begin_write().unwrap();
            assert!(matches!(replay(txn.work_mut(), list), Err(Failure::Damage(_))), "list {i}");
        }
    }
}
