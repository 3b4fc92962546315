//! `mdb_load -a`: entries whose order only a program knows.
//!
//! Owns: giving a table such an order. It begins with the table's own; the first entry that does not come in that makes
//! it the order of arrival: the newest entry sorts behind all others. Programs that give their function for it then find
//! what they look for. (A table that needs none keeps the order that is quicker to search.)
//!
//! # Safety
//! Comparison functions are called with values that are there while they run, on the one thread that there is.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::cmp::Ordering;
use std::ffi::{CString, c_int};
use std::thread::LocalKey;

use duramen_lmdb::abi::{MdbVal, put};

use crate::lmdb::{Answer, Dbi, MAIN_DBI, Step, Txn, bytes};

type Newest = RefCell<Vec<u8>>;

thread_local! {
    static KEY: Newest = const { Newest::new(Vec::new()) };
    static VALUE: Newest = const { Newest::new(Vec::new()) };
}

/// Whose order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The table's keys.
    Keys,
    /// The values of a key.
    Values,
}

/// Says which entry is the newest: before it is stored.
pub fn arrives(key: &[u8], value: &[u8]) {
    for (newest, bytes) in [(&KEY, key), (&VALUE, value)] {
        newest.with_borrow_mut(|newest| {
            newest.clear();
            newest.extend_from_slice(bytes);
        });
    }
}

fn by_arrival(newest: &'static LocalKey<Newest>, a: *const MdbVal, b: *const MdbVal) -> c_int {
    // SAFETY: see the module's head.
    let (a, b) = unsafe { (bytes(&*a), bytes(&*b)) };
    newest.with_borrow(|newest| match (a == newest.as_slice(), b == newest.as_slice()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.cmp(b),
    }) as c_int
}

unsafe extern "C" fn keys_by_arrival(a: *const MdbVal, b: *const MdbVal) -> c_int {
    by_arrival(&KEY, a, b)
}

unsafe extern "C" fn values_by_arrival(a: *const MdbVal, b: *const MdbVal) -> c_int {
    by_arrival(&VALUE, a, b)
}

/// Makes the order of a table that of arrival, for its keys or for their values; what is in it stays as it came. False if
/// that cannot be: other tables are in it.
pub fn give_order(txn: &Txn<'_>, table: Dbi, of: Of) -> Answer<bool> {
    if table == MAIN_DBI && holds_tables(txn)? {
        return Ok(false);
    }
    refill(txn, table, of)?;
    Ok(true)
}

fn holds_tables(txn: &Txn<'_>) -> Answer<bool> {
    let mut cursor = txn.cursor(MAIN_DBI)?;
    while let Some((key, _)) = cursor.step(Step::NextKey)? {
        if CString::new(key).is_ok_and(|name| txn.open(Some(&name), 0).is_ok()) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn refill(txn: &Txn<'_>, table: Dbi, of: Of) -> Answer {
    let mut entries = Vec::new();
    let mut cursor = txn.cursor(table)?;
    while let Some((key, value)) = cursor.step(Step::Next)? {
        entries.push((key.to_vec(), value.to_vec()));
    }
    drop(cursor);
    txn.drop_table(table, false)?;
    match of {
        Of::Keys => txn.set_compare(table, keys_by_arrival)?,
        Of::Values => txn.set_dupsort(table, values_by_arrival)?,
    }
    let mut cursor = txn.cursor(table)?;
    let mut before: Option<&[u8]> = None;
    for (key, value) in &entries {
        arrives(key, value);
        let how = if before == Some(key) { put::APPENDDUP } else { put::APPEND };
        cursor.put(key, value, how)?;
        before = Some(key);
    }
    Ok(())
}
