//! Many values of one key, stored by one call (`MDB_MULTIPLE`).
//!
//! Owns: where they lie in the program's memory, how many are stored at once. Must not know: what other flags mean.
//!
//! # Safety
//! As the head of `write` says. The program gives two values side by side: one names the first of those to be stored, which lie
//! side by side as well, the other one has their number.
#![allow(unsafe_code)]

use super::{PAGE, bytes, put_and_stand, respell};
use crate::abi::{MdbVal, db, put as flag};
use crate::cursor::Cursor;
use crate::errors::{BAD_VALSIZE, INCOMPATIBLE, Result};
use crate::txn::{Target, Txn};

/// How many values the program gives. In their number's place comes how many were stored.
///
/// # Safety
/// There are two values, the second of which has the number.
pub(super) unsafe fn take_count(data: *mut MdbVal, flags: u32) -> Result<usize> {
    // SAFETY: promised by the caller.
    let second = unsafe { &mut *data.add(1) };
    let count = std::mem::take(&mut second.mv_size);
    if flags & db::DUPFIXED == 0 { Err(INCOMPATIBLE) } else { Ok(count) }
}

/// Stores many values, and notes in the second of the two that the program gave how many were stored.
///
/// # Safety
/// The values are there, side by side.
pub(super) unsafe fn put(
    held: &mut Cursor,
    txn: &mut Txn,
    table: Target,
    key: &[u8],
    (data, count): (*mut MdbVal, usize),
    how: u32,
) -> Result {
    // SAFETY: promised by the caller.
    let first = unsafe { *data };
    // Programs hand in what they have got from the same transaction, which storing may change.
    let copy = match first.mv_size.checked_mul(count) {
        // SAFETY: promised by the caller.
        Some(mv_size) => copy_of_own(txn, unsafe { bytes(&MdbVal { mv_size, ..first }) }?)?,
        None => return Err(BAD_VALSIZE),
    };
    let source = copy.as_ref().map_or(first.mv_data.cast_const().cast(), |copy| copy.as_ptr());
    let (mut done, mut how) = (0, how);
    while done < count {
        // Where one may be refused they go one by one. Else a page of them at a time.
        let at_once = match first.mv_size {
            size @ 1.. if how == flag::MULTIPLE => (PAGE / size).max(1),
            _ => 1,
        };
        let some = at_once.min(count - done);
        let offset = done * first.mv_size;
        // SAFETY: as above: fewer than `count` lie before it, in the copy, too.
        let mut part = MdbVal { mv_data: unsafe { source.add(offset) }.cast_mut().cast(), ..first };
        // SAFETY: as above.
        unsafe { (*data).mv_data = first.mv_data.cast::<u8>().add(offset).cast() };
        if some == 1 {
            put_and_stand(held, txn, table, key, &mut part, how)?;
        } else {
            part.mv_size *= some;
            // SAFETY: as above.
            put_run(held, txn, table, key, (unsafe { bytes(&part) }?, first.mv_size))?;
        }
        done += some;
        // Whether the key may be there is a question of the first value.
        how &= !(flag::APPEND | flag::NOOVERWRITE);
        // SAFETY: as above.
        unsafe { (*data.add(1)).mv_size = done };
    }
    Ok(())
}

/// What is to be stored, if it lies in the transaction's memory.
fn copy_of_own(txn: &mut Txn, values: &[u8]) -> Result<Option<Vec<u8>>> {
    Ok(txn.writer()?.may_hold(values).then(|| values.to_vec()))
}

/// Stores values of so many bytes at once, and stands on the last.
fn put_run(held: &mut Cursor, txn: &mut Txn, table: Target, key: &[u8], (values, bytes): (&[u8], usize)) -> Result {
    let stored = store_run(txn, table.dbi, key, values, bytes);
    txn.judge(stored)?;
    held.state.settle_deletion();
    held.state.stand_on(key, values.rchunks(bytes).next().unwrap_or_default())
}

fn store_run(txn: &mut Txn, dbi: u32, key: &[u8], values: &[u8], bytes: usize) -> Result {
    let mut table = txn.table_mut(dbi)?;
    let stored = table.put_duplicates(key, values, bytes)?;
    if stored < (values.len() / bytes) as u64 {
        values.chunks(bytes).try_for_each(|value| respell(&mut table, key, value).map(drop))?;
    }
    txn.check_room(0)
}
