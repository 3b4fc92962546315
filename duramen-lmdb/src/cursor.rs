//! Cursors as programs hold them.
//!
//! Owns: opening, closing, renewing, and the way of keys and values in and out. Must not know: how one moves.
//!
//! # Safety
//! A cursor is a box, in the list of its transaction while that lives. It is freed by `close`, or, if its write
//! transaction ended first, by the environment later. Keys and values are as the head of `write` says.
#![allow(unsafe_code)]

use std::ffi::c_uint;
use std::ptr;

use crate::abi::{FREE_DBI, MAIN_DBI, MdbVal, Op, db, size};
use crate::env::Env;
use crate::errors::{BAD_TXN, EINVAL, INCOMPATIBLE, Result};
pub(crate) use crate::position::Standing;
use crate::position::{Answer, Item, Kind, State};
use crate::txn::{self, Txn};
use crate::write::bytes;

/// See the module's head.
pub struct Cursor {
    /// Null once the transaction has ended.
    pub(crate) txn: *mut Txn,
    pub(crate) dbi: u32,
    pub(crate) state: State,
    kind: Kind,
    env: *const Env,
    /// Of a write transaction.
    writes: bool,
}

impl Cursor {
    /// Its transaction is reset.
    pub(crate) fn rest(&mut self) {
        self.state.rest(self.kind);
    }
}

/// A cursor and its transaction.
///
/// # Safety
/// As the module's head says; the pointer is a cursor's.
#[inline]
pub(crate) unsafe fn of<'c>(cursor: *mut Cursor) -> Result<(&'c mut Cursor, &'c mut Txn)> {
    // SAFETY: promised by the caller.
    let cursor = unsafe { cursor.as_mut() }.ok_or(EINVAL)?;
    // SAFETY: a transaction that ends takes itself out of its cursors.
    let txn = unsafe { cursor.txn.as_mut() }.ok_or(BAD_TXN)?;
    Ok((cursor, txn))
}

fn kind_of(txn: &Txn, dbi: u32, flags: u32) -> Kind {
    Kind { duplicates: txn::has_duplicates(flags), fixed: flags & db::DUPFIXED != 0, names: txn.shows_names(dbi) }
}

/// The flags of a table that is to be walked through.
fn flags_to_walk(txn: &mut Txn, dbi: u32) -> Result<u32> {
    match dbi {
        FREE_DBI if txn.is_reader() => txn.check().map(|()| db::INTEGERKEY),
        _ => txn.db_flags(dbi),
    }
}

pub(crate) unsafe fn open(txn: *mut Txn, dbi: c_uint, out: *mut *mut Cursor) -> Result {
    // SAFETY: see the module's head; `out` is a place for a pointer.
    let (held, out) = unsafe { (txn::of(txn)?, out.as_mut().ok_or(EINVAL)?) };
    let flags = flags_to_walk(held, dbi)?;
    held.check()?;
    let writes = !held.is_reader();
    let kind = kind_of(held, dbi, flags);
    let cursor = match held.closed.take() {
        Some(mut cursor) => {
            (cursor.txn, cursor.dbi, cursor.kind, cursor.writes) = (txn, dbi, kind, writes);
            cursor
        }
        None => Box::new(Cursor { txn, dbi, state: State::new(), kind, env: held.env(), writes }),
    };
    let cursor = Box::into_raw(cursor);
    held.cursors.add(dbi, cursor);
    *out = cursor;
    Ok(())
}

pub(crate) unsafe fn close(cursor: *mut Cursor) {
    // SAFETY: see the module's head.
    let Some(held) = (unsafe { cursor.as_mut() }) else { return };
    // SAFETY: as above.
    match unsafe { held.txn.as_mut() } {
        Some(txn) => {
            txn.remove(held.dbi, cursor);
            held.state.unset();
            // SAFETY: nobody else refers to it any more.
            txn.closed = Some(unsafe { Box::from_raw(cursor) });
            return;
        }
        // SAFETY: the environment outlives the cursors of its write transactions.
        None if held.writes && !unsafe { &*held.env }.disown(cursor) => return,
        None => {}
    }
    // SAFETY: nobody else refers to it any more.
    drop(unsafe { Box::from_raw(cursor) });
}

pub(crate) unsafe fn renew(txn: *mut Txn, cursor: *mut Cursor) -> Result {
    // SAFETY: see the module's head.
    let (held, renewed) = unsafe { (txn::of(txn)?, cursor.as_mut().ok_or(EINVAL)?) };
    let flags = flags_to_walk(held, renewed.dbi)?;
    if renewed.writes || !held.is_reader() {
        return Err(EINVAL);
    }
    held.check()?;
    // SAFETY: as above.
    if let Some(old) = unsafe { renewed.txn.as_mut() } {
        old.remove(renewed.dbi, cursor);
    }
    renewed.state.unset();
    renewed.kind = kind_of(held, renewed.dbi, flags);
    renewed.txn = txn;
    held.cursors.add(renewed.dbi, cursor);
    Ok(())
}

pub(crate) unsafe fn cursor_txn(cursor: *mut Cursor) -> *mut Txn {
    // SAFETY: see the module's head.
    unsafe { cursor.as_ref() }.map_or(ptr::null_mut(), |cursor| cursor.txn)
}

pub(crate) unsafe fn cursor_dbi(cursor: *mut Cursor) -> c_uint {
    // SAFETY: see the module's head.
    unsafe { cursor.as_ref() }.map_or(0, |cursor| cursor.dbi)
}

/// Whether it stands on the record of a table, in the main one.
pub(crate) unsafe fn is_table(cursor: *mut Cursor) -> Result<bool> {
    // SAFETY: see the module's head.
    let (held, txn) = unsafe { of(cursor)? };
    txn.check()?;
    held.state.prepare(txn, held.dbi)?;
    if held.dbi != MAIN_DBI || !held.state.is_on() {
        return Ok(false);
    }
    let Some(item) = held.state.item(txn)? else { return Ok(false) };
    // SAFETY: nothing has been changed since it was found.
    let name = unsafe { bytes(&item.key)? };
    Ok(txn.is_name(name))
}

pub(crate) unsafe fn count(cursor: *mut Cursor, out: *mut usize) -> Result {
    // SAFETY: see the module's head; `out` is a place for a number.
    let (held, txn) = unsafe { of(cursor)? };
    // SAFETY: as above.
    let out = unsafe { out.as_mut() }.ok_or(EINVAL)?;
    if !held.kind.duplicates {
        return Err(INCOMPATIBLE);
    }
    txn.check()?;
    held.state.prepare(txn, held.dbi)?;
    *out = size(held.state.duplicates(txn)?);
    Ok(())
}

/// A movement. What most scans consist of is made here, and what is saved is to put aside and to take back what the others need.
#[inline]
pub(crate) unsafe fn get(cursor: *mut Cursor, key: *mut MdbVal, data: *mut MdbVal, op: c_uint) -> Result {
    // SAFETY: as in this function.
    let Some(item) = (unsafe { glance(cursor, op) }) else { return unsafe { move_by(cursor, key, data, op) } };
    // SAFETY: places of the program's for the answer, or null.
    unsafe { give(item.into(), key, data) };
    Ok(())
}

/// The entry beside a cursor's, if that is at hand.
#[inline(always)]
unsafe fn glance(cursor: *mut Cursor, op: c_uint) -> Option<Item> {
    // SAFETY: see the module's head.
    let (held, txn) = unsafe { of(cursor).ok()? };
    txn.check().ok()?;
    held.state.glance(held.kind, Op::of(op)?)
}

#[inline(never)]
unsafe fn move_by(cursor: *mut Cursor, key: *mut MdbVal, data: *mut MdbVal, op: c_uint) -> Result {
    // SAFETY: see the module's head.
    let (held, txn) = unsafe { of(cursor)? };
    txn.check()?;
    let op = Op::of(op).ok_or(EINVAL)?;
    if held.kind.names {
        // SAFETY: as in this function.
        return unsafe { get_in_main(held, txn, op, (key, data)) };
    }
    let Some(item) = held.state.stride(txn, held.kind, op) else {
        // SAFETY: as in this function.
        return unsafe { move_to(held, txn, op, (key, data)) };
    };
    // SAFETY: places of the program's for the answer, or null.
    unsafe { give(item?.into(), key, data) };
    Ok(())
}

/// Any movement. Apart, so that a step of a scan has little to put aside and to take back.
#[inline(never)]
unsafe fn move_to(held: &mut Cursor, txn: &mut Txn, op: Op, (key, data): (*mut MdbVal, *mut MdbVal)) -> Result {
    // SAFETY: where a movement looks for something, the program says for what.
    let sought = match unsafe { sought(op, key, data) } {
        Ok(sought) => sought,
        Err(code) => {
            held.state.prepare(txn, held.dbi)?;
            held.state.settle_deletion();
            return Err(code);
        }
    };
    held.state.prepare_to_go(txn, held.dbi, held.kind, op, sought.0)?;
    let found = match op {
        Op::GetCurrent if data.is_null() => held.state.current_key(txn),
        _ => held.state.go(txn, held.kind, op, sought.0, sought.1),
    };
    let answer = match found {
        // Where the key has no value it is told all the same.
        Err(_) if op == Op::GetCurrent => held.state.current_key(txn).unwrap_or_default(),
        found => found?,
    };
    // SAFETY: places of the program's for the answer, or null.
    unsafe { give(answer, key, data) };
    found.map(|_| ())
}

/// A movement in the main table, for programs that see names of tables with zeros in it.
#[inline(never)]
unsafe fn get_in_main(held: &mut Cursor, txn: &mut Txn, op: Op, (key, data): (*mut MdbVal, *mut MdbVal)) -> Result {
    held.state.prepare(txn, held.dbi)?;
    // SAFETY: where a movement looks for something, the program says for what.
    let (wanted, value) = unsafe { sought(op, key, data)? };
    let wanted = wanted.map(|key| txn.stored_name(key));
    let mut answer = held.state.go(txn, held.kind, op, wanted, value)?;
    answer.key = answer.key.map(|key| txn.shown_name(key)).transpose()?;
    // SAFETY: places of the program's for the answer, or null.
    unsafe { give(answer, key, data) };
    Ok(())
}

/// Key and value that a movement looks for.
type Sought<'s> = (Option<&'s [u8]>, Option<&'s [u8]>);

unsafe fn sought<'s>(op: Op, key: *const MdbVal, data: *const MdbVal) -> Result<Sought<'s>> {
    Ok(match op {
        // SAFETY: see the module's head.
        Op::Set | Op::SetKey | Op::SetRange => (Some(unsafe { bytes(key)? }), None),
        Op::GetBoth | Op::GetBothRange if data.is_null() => return Err(EINVAL),
        // SAFETY: as above.
        Op::GetBoth | Op::GetBothRange => unsafe { (Some(bytes(key)?), Some(bytes(data)?)) },
        Op::GetMultiple | Op::NextMultiple | Op::PrevMultiple | Op::FirstDup | Op::LastDup if data.is_null() => {
            return Err(EINVAL);
        }
        _ => (None, None),
    })
}

#[inline]
unsafe fn give(answer: Answer, key: *mut MdbVal, data: *mut MdbVal) {
    // SAFETY: see the module's head.
    if let (Some(found), Some(key)) = (answer.key, unsafe { key.as_mut() }) {
        *key = found;
    }
    // SAFETY: as above.
    if let (Some(found), Some(data)) = (answer.value, unsafe { data.as_mut() }) {
        *data = found;
    }
}

/// The first value of a key.
pub(crate) unsafe fn get_value(txn: *mut Txn, dbi: c_uint, key: *const MdbVal, data: *mut MdbVal) -> Result {
    // SAFETY: see the module's head.
    let (txn, data) = unsafe { (txn::of(txn)?, data.as_mut().ok_or(EINVAL)?) };
    if key.is_null() {
        return Err(EINVAL);
    }
    let stored;
    let key = if txn.shows_names(dbi) {
        // SAFETY: as above.
        stored = MdbVal::of(txn.stored_name(unsafe { bytes(key)? }));
        &raw const stored
    } else {
        key
    };
    let found = match txn.db(dbi)? {
        txn::Db::Read(table, _) => {
            // SAFETY: as above.
            let key = unsafe { searchable(key)? };
            table.get(key)?
        }
        txn::Db::Write(id, _) => {
            let id = *id;
            txn.check()?;
            // SAFETY: as above.
            let key = unsafe { searchable(key)? };
            txn.writer()?.get(id, key)?
        }
        _ => None,
    };
    *data = MdbVal::of(found.ok_or(crate::errors::NOTFOUND)?);
    Ok(())
}

unsafe fn searchable<'k>(key: *const MdbVal) -> Result<&'k [u8]> {
    // SAFETY: promised by the caller.
    let key = unsafe { bytes(key)? };
    if key.is_empty() { Err(crate::errors::BAD_VALSIZE) } else { Ok(key) }
}
