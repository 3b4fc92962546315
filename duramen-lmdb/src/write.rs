//! Storing and deleting entries.
//!
//! Owns: what the flags of writing mean, and what becomes of the cursors on the table. Must not know: movements.
//!
//! # Safety
//! Keys and values that come in may lie in memory of the transaction itself, handed out by it before. Storing moves such
//! memory: keys are always copied first, values where they may lie there. Pointers to values are the program's, for one
//! call. The cursors in a transaction's list are alive. The one that a call names is borrowed for all of the call, so nobody
//! comes to it by the list meanwhile: what all cursors on a table are told, it is told by who has borrowed it.
#![allow(unsafe_code)]

mod multiple;

use std::ffi::c_uint;

use duramen::{Put, TableMut, WriteCursor};

use crate::abi::{MdbVal, VALUE_BYTES_MAX, db, put as flag};
use crate::cursor::{self, Cursor};
use crate::dbi;
use crate::errors::{BAD_TXN, BAD_VALSIZE, Code, EINVAL, INCOMPATIBLE, KEYEXIST, NOTFOUND, Result};
use crate::txn::{self, Target, Txn};

/// Flags that `mdb_put` takes.
const PUT_FLAGS: u32 = flag::NOOVERWRITE | flag::NODUPDATA | flag::RESERVE | flag::APPEND | flag::APPENDDUP;

/// Bytes of a page, as the map size counts pages.
const PAGE: usize = 1 << 12;

/// The bytes that a value of the program's names.
///
/// # Safety
/// They are there, and stay as they are, while the answer is used.
#[inline]
pub(crate) unsafe fn bytes<'b>(value: *const MdbVal) -> Result<&'b [u8]> {
    // SAFETY: promised by the caller.
    let value = unsafe { value.as_ref() }.ok_or(EINVAL)?;
    if value.mv_size == 0 {
        return Ok(&[]);
    }
    if value.mv_data.is_null() || value.mv_size > isize::MAX as usize {
        return Err(BAD_VALSIZE);
    }
    // SAFETY: promised by the caller.
    Ok(unsafe { std::slice::from_raw_parts(value.mv_data.cast_const().cast(), value.mv_size) })
}

/// Refuses a key that programs may not store.
#[inline]
fn storable<'k>(txn: &Txn, key: &'k [u8]) -> Result<&'k [u8]> {
    if key.is_empty() || key.len() > txn.env().key_bytes_max() { Err(BAD_VALSIZE) } else { Ok(key) }
}

/// What is to be stored.
enum Value<'v> {
    Bytes(&'v [u8]),
    /// Room for so many bytes.
    Room(usize),
}

/// Where the program wants something to be stored, and how: its flags.
#[derive(Clone, Copy)]
struct Wanted<'k> {
    key: &'k [u8],
    how: u32,
}

/// What storing did. It fits into a register; answers go where the program wants them.
#[derive(Clone, Copy)]
enum Outcome {
    Stored,
    /// Room was made: where, is the answer.
    Made,
    /// The key has a value already, which is the answer.
    Exists,
    /// It does not sort behind the last, or the pair is there already.
    Refused,
}

/// Refuses values that programs may not store in a table.
fn check_value(txn: &Txn, flags: u32, bytes: usize) -> Result {
    let max = if flags & db::DUPSORT != 0 { txn.env().key_bytes_max() } else { VALUE_BYTES_MAX };
    if bytes > max { Err(BAD_VALSIZE) } else { Ok(()) }
}

/// Refuses a value whose pages would not fit. For what takes less than a page, the look after each change is enough.
#[inline]
fn check_room_for(txn: &mut Txn, bytes: usize) -> Result {
    if bytes < PAGE { Ok(()) } else { txn.check_room((bytes / PAGE) as u64) }
}

/// By the cursor if there is one, which then stands on what was stored as bytes.
fn store(
    txn: &mut Txn,
    target: Target,
    cursor: Option<&mut WriteCursor>,
    wanted: Wanted<'_>,
    value: &Value<'_>,
    answer: &mut MdbVal,
) -> Result<Outcome> {
    let bytes = match value {
        Value::Bytes(bytes) => bytes.len(),
        Value::Room(bytes) => *bytes,
    };
    check_room_for(txn, bytes)?;
    let has_duplicates = target.flags & db::DUPSORT != 0;
    let mut table = match cursor {
        Some(cursor) => cursor.table_mut(txn.writer()?)?,
        None => txn.table_mut(target.dbi)?,
    };
    let outcome = match value {
        Value::Bytes(bytes) if has_duplicates => store_duplicate(&mut table, wanted, bytes, answer)?,
        Value::Bytes(bytes) => store_bytes(&mut table, wanted, bytes, answer)?,
        Value::Room(_) if has_duplicates => return Err(INCOMPATIBLE),
        Value::Room(bytes) => make_room(&mut table, wanted, *bytes, answer)?,
    };
    txn.check_room(0)?;
    Ok(outcome)
}

fn store_bytes(table: &mut TableMut<'_>, wanted: Wanted<'_>, value: &[u8], answer: &mut MdbVal) -> Result<Outcome> {
    let Wanted { key, how } = wanted;
    if how & flag::APPEND != 0 {
        return append(table, key, value);
    }
    if how & flag::NOOVERWRITE != 0 {
        return insert(table, key, value, answer);
    }
    table.put(key, value)?;
    Ok(Outcome::Stored)
}

fn append(table: &mut TableMut<'_>, key: &[u8], value: &[u8]) -> Result<Outcome> {
    match table.append(key, value) {
        Err(duramen::Error::AppendOrder) => Ok(Outcome::Refused),
        other => Ok(other.map(|()| Outcome::Stored)?),
    }
}

fn insert(table: &mut TableMut<'_>, key: &[u8], value: &[u8], answer: &mut MdbVal) -> Result<Outcome> {
    match table.insert(key, value)? {
        Put::Stored => Ok(Outcome::Stored),
        Put::Exists => existing(table, key, answer),
    }
}

fn existing(table: &TableMut<'_>, key: &[u8], answer: &mut MdbVal) -> Result<Outcome> {
    *answer = MdbVal::of(table.get(key)?.ok_or(NOTFOUND)?);
    Ok(Outcome::Exists)
}

fn store_duplicate(table: &mut TableMut<'_>, wanted: Wanted<'_>, value: &[u8], answer: &mut MdbVal) -> Result<Outcome> {
    let Wanted { key, how } = wanted;
    if how & flag::APPEND != 0 {
        return append(table, key, value);
    }
    if how & flag::NOOVERWRITE != 0 {
        return insert(table, key, value, answer);
    }
    if how & flag::APPENDDUP != 0 {
        let put = table.put_last_duplicate(key, value)?;
        return Ok(if put == Put::Stored { Outcome::Stored } else { Outcome::Refused });
    }
    match table.put_duplicate(key, value)? {
        Put::Exists if how & flag::NODUPDATA != 0 => Ok(Outcome::Refused),
        Put::Exists if table.stats().is_custom() => respell(table, key, value),
        Put::Exists | Put::Stored => Ok(Outcome::Stored),
    }
}

/// The program's function calls a value equal to this one: this one takes its place.
fn respell(table: &mut TableMut<'_>, key: &[u8], value: &[u8]) -> Result<Outcome> {
    let held = table.view().cursor().seek_pair(key, value)?.is_some_and(|(_, held)| held == value);
    if !held {
        table.delete_duplicate(key, value)?;
        table.put(key, value)?;
    }
    Ok(Outcome::Stored)
}

fn make_room(table: &mut TableMut<'_>, wanted: Wanted<'_>, bytes: usize, answer: &mut MdbVal) -> Result<Outcome> {
    let Wanted { key, how } = wanted;
    if how & flag::NOOVERWRITE != 0 && how & flag::APPEND == 0 && table.get(key)?.is_some() {
        return existing(table, key, answer);
    }
    let room = if how & flag::APPEND != 0 { table.append_reserved(key, bytes) } else { table.reserve(key, bytes) };
    match room {
        Ok(room) => *answer = MdbVal { mv_size: bytes, mv_data: room.as_mut_ptr().cast() },
        Err(duramen::Error::AppendOrder) => return Ok(Outcome::Refused),
        Err(error) => return Err(error.into()),
    }
    Ok(Outcome::Made)
}

/// Runs a change with a copy of the key, in memory that the transaction keeps for that.
#[inline]
fn with_key<R>(txn: &mut Txn, key: &[u8], change: impl FnOnce(&mut Txn, &[u8]) -> Result<R>) -> Result<R> {
    let mut copy = std::mem::take(&mut txn.key_room);
    copy.clear();
    copy.extend_from_slice(key);
    let result = change(txn, &copy);
    txn.key_room = copy;
    result
}

/// Runs a change with the value, or with a copy of it, in memory that the transaction keeps for that.
fn with_value<R>(txn: &mut Txn, value: &[u8], change: impl FnOnce(&mut Txn, &[u8]) -> Result<R>) -> Result<R> {
    if !txn.writer()?.may_hold(value) {
        return change(txn, value);
    }
    let mut copy = std::mem::take(&mut txn.value_room);
    copy.clear();
    copy.extend_from_slice(value);
    let result = change(txn, &copy);
    if copy.capacity() <= 1 << 20 {
        txn.value_room = copy;
    }
    result
}

/// Stores one entry as the program asks for it, and answers in `data` where it wants an answer.
fn put_one(
    txn: &mut Txn,
    table: Target,
    cursor: Option<&mut WriteCursor>,
    key: &[u8],
    data: &mut MdbVal,
    how: u32,
) -> Result<Outcome> {
    check_value(txn, table.flags, data.mv_size)?;
    let wanted = Wanted { key, how };
    let result = if how & flag::RESERVE != 0 {
        store(txn, table, cursor, wanted, &Value::Room(data.mv_size), data)
    } else {
        // SAFETY: see the module's head.
        let value = unsafe { bytes(data) }?;
        with_value(txn, value, |txn, value| store(txn, table, cursor, wanted, &Value::Bytes(value), data))
    };
    txn.judge(result)
}

pub(crate) unsafe fn put(txn: *mut Txn, dbi: c_uint, key: *const MdbVal, data: *mut MdbVal, how: c_uint) -> Result {
    // SAFETY: see the module's head.
    let (txn, data) = unsafe { (txn::of(txn)?, data.as_mut().ok_or(EINVAL)?) };
    if key.is_null() || how & !PUT_FLAGS != 0 {
        return Err(EINVAL);
    }
    txn.db(dbi)?;
    txn.check_writer()?;
    // SAFETY: as above.
    let key = storable(txn, unsafe { bytes(key)? })?;
    let key = txn.stored_key(dbi, key);
    with_key(txn, key, |txn, key| {
        let table = dbi::made_for(txn, dbi, data.mv_size, None)?;
        txn.leave_gaps(dbi, std::ptr::null())?;
        match put_one(txn, table, None, key, data, how)? {
            Outcome::Stored | Outcome::Made => Ok(()),
            Outcome::Exists | Outcome::Refused => Err(KEYEXIST),
        }
    })
}

/// Cursors that stand on what is about to be deleted.
fn standing_on(
    txn: &mut Txn,
    dbi: u32,
    but: *const Cursor,
    (key, value): (&[u8], Option<&[u8]>),
) -> Result<Vec<*mut Cursor>> {
    let mut found = Vec::new();
    for i in txn.cursors.range(dbi) {
        let cursor = txn.cursors.at(i);
        // SAFETY: see the module's head; the one that the program named is not looked at.
        if !std::ptr::eq(cursor, but) && unsafe { &mut (*cursor).state }.is_at(txn, key, value)? {
            found.push(cursor);
        }
    }
    Ok(found)
}

/// What is to be deleted: the entry as it is stored, and whether its key goes with it.
struct Doomed {
    key: Vec<u8>,
    value: Vec<u8>,
    whole_key: bool,
}

pub(crate) unsafe fn del(txn: *mut Txn, dbi: c_uint, key: *const MdbVal, data: *const MdbVal) -> Result {
    // SAFETY: see the module's head.
    let txn = unsafe { txn::of(txn)? };
    if key.is_null() {
        return Err(EINVAL);
    }
    txn.db(dbi)?;
    txn.check_writer()?;
    let table = txn.target(dbi)?;
    // SAFETY: as above.
    let key = unsafe { bytes(key)? };
    if key.is_empty() {
        return Err(BAD_VALSIZE);
    }
    let key = txn.stored_key(dbi, key);
    // A function of the program's may call what is given equal to what is stored, though it is longer than that could be.
    let by_function = txn.orders(dbi)?.1 != [None, None];
    if key.len() > txn.env().longest() && !by_function {
        return Err(NOTFOUND);
    }
    // SAFETY: as above.
    let value = if table.flags & db::DUPSORT == 0 || data.is_null() { None } else { Some(unsafe { bytes(data)? }) };
    if txn.cursors.range(dbi).is_empty() && !by_function {
        return with_key(txn, key, |txn, key| del_alone(txn, dbi, key, value));
    }
    txn.leave_gaps(dbi, std::ptr::null())?;
    let doomed = doomed(txn, dbi, key, value)?;
    delete(txn, dbi, &doomed)
}

/// Deletes where no cursor needs to know, from a table in an order of ours.
fn del_alone(txn: &mut Txn, dbi: u32, key: &[u8], value: Option<&[u8]>) -> Result {
    let deleted = match value {
        None => txn.table_mut(dbi)?.delete(key)?,
        Some(value) if value.len() > txn.env().longest() => false,
        Some(value) => with_value(txn, value, |txn, value| Ok(txn.table_mut(dbi)?.delete_duplicate(key, value)?))?,
    };
    if !deleted {
        return Err(NOTFOUND);
    }
    let fits = txn.check_room(0);
    txn.judge(fits)
}

fn doomed(txn: &mut Txn, dbi: u32, key: &[u8], value: Option<&[u8]>) -> Result<Doomed> {
    let table = txn.table_mut(dbi)?;
    let view = table.view();
    let mut cursor = view.cursor();
    let found = match value {
        None => cursor.seek(key)?,
        Some(value) => cursor.seek_pair(key, value)?,
    };
    let (key, stored) = found.ok_or(NOTFOUND)?;
    let whole_key = value.is_none() || cursor.count()? == 1;
    let stored = if value.is_some() { stored.to_vec() } else { Vec::new() };
    Ok(Doomed { key: key.to_vec(), value: stored, whole_key })
}

fn delete(txn: &mut Txn, dbi: u32, doomed: &Doomed) -> Result {
    let value = (!doomed.whole_key).then_some(&doomed.value[..]);
    let concerned = standing_on(txn, dbi, std::ptr::null(), (&doomed.key, value))?;
    let mut table = txn.table_mut(dbi)?;
    let deleted = match value {
        None => table.delete(&doomed.key)?,
        Some(value) => table.delete_duplicate(&doomed.key, value)?,
    };
    if !deleted {
        return Err(NOTFOUND);
    }
    tell(txn, concerned, doomed.whole_key)?;
    after_deletion(txn, dbi, None)
}

/// Tells cursors that what they stand on is gone: their key, or one value of it.
fn tell(txn: &mut Txn, cursors: Vec<*mut Cursor>, whole_key: bool) -> Result {
    for cursor in cursors {
        // SAFETY: see the module's head.
        let state = unsafe { &mut (*cursor).state };
        if whole_key { state.key_is_gone(txn, false)? } else { state.value_is_gone(txn)? }
    }
    Ok(())
}

/// Deletes what a cursor stands on, by the cursor's own way to it: the key, or one of its values.
fn delete_under(held: &mut Cursor, txn: &mut Txn, by_value: bool) -> Result {
    let (own, dbi) = (std::ptr::from_ref(held), held.dbi);
    let is_alone = txn.others_on(dbi, own).next().is_none();
    let others = if is_alone {
        Vec::new()
    } else {
        let whole_key = !by_value || held.state.count(txn)? == 1;
        let item = held.state.item(txn)?.ok_or(NOTFOUND)?;
        // SAFETY: nothing has been changed since it was found.
        let (key, value) = unsafe { (bytes(&item.key)?, if whole_key { &[] } else { bytes(&item.value)? }) };
        let (key, value) = (key.to_vec(), value.to_vec());
        standing_on(txn, dbi, own, (&key, (!whole_key).then_some(&*value)))?
    };
    let (engine, writer) = (held.state.writing()?, txn.writer()?);
    let deleted = if by_value { engine.delete(writer) } else { engine.delete_key(writer).map(|()| true) };
    let whole_key = deleted.map_err(unless_gone)?;
    tell(txn, others, whole_key)?;
    if whole_key {
        held.state.own_key_is_gone();
    } else {
        held.state.own_value_is_gone();
    }
    after_deletion(txn, dbi, Some(held))
}

/// The code for a change that the engine refuses. Its cursor stands on nothing if the entry went without its knowledge.
fn unless_gone(error: duramen::Error) -> Code {
    match error {
        duramen::Error::Usage { .. } => NOTFOUND,
        other => other.into(),
    }
}

/// `own`: the cursor that the call names, if it names one.
fn after_deletion(txn: &mut Txn, dbi: u32, own: Option<&mut Cursor>) -> Result {
    if txn.table_mut(dbi)?.is_empty() {
        let named = own.as_deref().map_or(std::ptr::null(), std::ptr::from_ref);
        txn.leave_gaps(dbi, named)?;
        for cursor in txn.others_on(dbi, named) {
            // SAFETY: see the module's head.
            unsafe { &mut (*cursor).state }.table_is_empty();
        }
        if let Some(own) = own {
            own.state.leave_gap(txn)?;
            own.state.table_is_empty();
        }
    }
    let fits = txn.check_room(0);
    txn.judge(fits)
}

pub(crate) unsafe fn cursor_del(cursor: *mut Cursor, how: c_uint) -> Result {
    // SAFETY: see the module's head.
    let (held, txn) = unsafe { cursor::of(cursor)? };
    txn.check_writer()?;
    txn.leave_gaps(held.dbi, cursor)?;
    held.state.leave_gap(txn)?;
    if !held.state.is_set() {
        return Err(EINVAL);
    }
    if !held.state.is_on() {
        return Err(NOTFOUND);
    }
    let dbi = held.dbi;
    let by_value = txn.target(dbi)?.flags & db::DUPSORT != 0 && how & flag::NODUPDATA == 0;
    if by_value && !held.state.has_value(txn)? {
        return Err(held.state.no_value());
    }
    delete_under(held, txn, by_value)
}

pub(crate) unsafe fn cursor_put(cursor: *mut Cursor, key: *const MdbVal, data: *mut MdbVal, how: c_uint) -> Result {
    // SAFETY: see the module's head.
    let (held, txn) = unsafe { cursor::of(cursor)? };
    if key.is_null() || data.is_null() {
        return Err(EINVAL);
    }
    let table = if txn.is_reader() { None } else { Some(txn.target(held.dbi)?) };
    let flags = table.map_or_else(|| txn.db_flags(held.dbi), |table| Ok(table.flags))?;
    let count = match how & flag::MULTIPLE {
        0 => 1,
        // SAFETY: with this flag the program gives two values, the second of which says how many the first holds.
        _ => unsafe { multiple::take_count(data, flags)? },
    };
    txn.check_writer()?;
    let table = table.ok_or(BAD_TXN)?;
    txn.leave_gaps(held.dbi, cursor)?;
    // SAFETY: as above.
    let (key, data_now) = unsafe { (storable(txn, bytes(key)?)?, &mut *data) };
    let key = txn.stored_key(held.dbi, key);
    check_value(txn, table.flags, data_now.mv_size)?;
    if how & flag::CURRENT != 0 {
        held.state.leave_gap(txn)?;
        let table = dbi::made_for(txn, held.dbi, data_now.mv_size, Some(held))?;
        return put_over(held, txn, table, data_now, how);
    }
    with_key(txn, key, |txn, key| {
        let table = dbi::made_for(txn, held.dbi, data_now.mv_size, Some(held))?;
        if how & flag::MULTIPLE == 0 {
            held.state.prepare_to_store(txn, held.dbi)?;
            return put_and_stand(held, txn, table, key, data_now, how);
        }
        held.state.prepare(txn, held.dbi)?;
        // SAFETY: with this flag there are two values; the first names the first of so many that lie side by side.
        unsafe { multiple::put(held, txn, table, key, (data, count), how) }
    })
}

fn put_and_stand(held: &mut Cursor, txn: &mut Txn, table: Target, key: &[u8], data: &mut MdbVal, how: u32) -> Result {
    let mut given = *data;
    let mut copy = None;
    if table.flags & db::DUPSORT != 0 && how & flag::RESERVE == 0 {
        // SAFETY: the program's own value, which storing may change if it lies in the transaction's memory.
        let value = unsafe { bytes(&given)? };
        copy = txn.writer()?.may_hold(value).then(|| value.to_vec());
    }
    if let Some(copy) = &copy {
        given = MdbVal::of(copy);
    }
    let outcome = put_one(txn, table, Some(held.state.writing()?), key, data, how)?;
    held.state.settle_deletion();
    match outcome {
        Outcome::Stored => {
            // The engine's cursor is on what it has stored, among several values too.
            held.state.stand();
            Ok(())
        }
        Outcome::Made => held.state.stand_on(key, &[]),
        Outcome::Exists => held.state.stand_on_key(txn, key).and(Err(KEYEXIST)),
        Outcome::Refused => {
            // SAFETY: nothing has been changed.
            let value = unsafe { bytes(&given)? };
            held.state.stand_where_refused(txn, (key, value), how)?;
            Err(KEYEXIST)
        }
    }
}

/// Gives the entry under the cursor another value.
fn put_over(held: &mut Cursor, txn: &mut Txn, table: Target, data: &mut MdbVal, how: u32) -> Result {
    if !held.state.is_set() {
        return Err(EINVAL);
    }
    if !held.state.is_on() {
        return Err(NOTFOUND);
    }
    if table.flags & db::DUPSORT == 0 && how & flag::RESERVE == 0 {
        held.state.settle_deletion();
        // SAFETY: see the module's head.
        let value = unsafe { bytes(data)? };
        let replaced = with_value(txn, value, |txn, value| replace_under(held, txn, value));
        return txn.judge(replaced);
    }
    let item = held.state.item(txn)?.ok_or(NOTFOUND)?;
    held.state.settle_deletion();
    // SAFETY: nothing has been changed since it was found.
    let (key, old) = unsafe { (bytes(&item.key)?.to_vec(), bytes(&item.value)?) };
    if table.flags & db::DUPSORT == 0 {
        room_over(txn, table, &key, old, data)?;
        return held.state.stand_on(&key, &[]);
    }
    let old = old.to_vec();
    if !held.state.has_value(txn)? {
        return Err(held.state.no_value());
    }
    // SAFETY: the program's own value.
    let new = unsafe { bytes(data)? }.to_vec();
    let others = standing_on(txn, held.dbi, std::ptr::from_ref(held), (&key, Some(&old)))?;
    let replaced = replace_value(held, txn, table.dbi, &key, (&old, &new));
    txn.judge(replaced)?;
    for cursor in others {
        // SAFETY: see the module's head; the one that the program named is not borrowed here.
        unsafe { &mut *cursor }.state.value_is_replaced(&key, &new)?;
    }
    Ok(())
}

/// Makes room in a value's place. Programs change single bytes of one that stays as long as it was: they find it there.
fn room_over(txn: &mut Txn, table: Target, key: &[u8], old: &[u8], data: &mut MdbVal) -> Result {
    let kept = if old.len() == data.mv_size { old.to_vec() } else { Vec::new() };
    put_one(txn, table, None, key, data, flag::RESERVE)?;
    // SAFETY: room for so many bytes has just been made there, or none are kept.
    unsafe { std::ptr::copy_nonoverlapping(kept.as_ptr(), data.mv_data.cast(), kept.len()) };
    Ok(())
}

/// Gives the key that a cursor stands on another value, by the cursor's own way to it.
fn replace_under(held: &mut Cursor, txn: &mut Txn, value: &[u8]) -> Result {
    check_room_for(txn, value.len())?;
    held.state.writing()?.replace(txn.writer()?, value).map_err(unless_gone)?;
    held.state.stand();
    txn.check_room(0)
}

/// Gives the key that a cursor stands on another value for the one that it stands on, and leaves the cursor on that.
fn replace_value(held: &mut Cursor, txn: &mut Txn, dbi: u32, key: &[u8], (old, new): (&[u8], &[u8])) -> Result {
    match held.state.writing()?.replace(txn.writer()?, new) {
        // It has another place among the values. It may be one that cannot be stored: the old one goes after that.
        Err(duramen::Error::Incompatible { .. }) => {
            let mut table = txn.table_mut(dbi)?;
            table.put(key, new)?;
            table.delete_duplicate(key, old)?;
            held.state.stand_on(key, new)?;
        }
        done => {
            done.map_err(unless_gone)?;
            held.state.stand();
        }
    }
    txn.check_room(0)
}
