//! Table handles: opening, closing, asking, emptying, dropping.
//!
//! Owns: the functions that take a table's name or change what a handle stands for. Must not know: entries.
//!
//! # Safety
//! Pointers are as the heads of `txn` and `env` say; others point at places of the program for one answer.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr;

use duramen::TableStats;

use crate::abi::{CORE_DBS, FREE_DBI, MAIN_DBI, MdbCmp, MdbStat, MdbVal, db, size};
use crate::cursor::Cursor;
use crate::dbs::{self, Slot};
use crate::env::{self, Env};
use crate::errors::{BAD_DBI, BAD_VALSIZE, EINVAL, INCOMPATIBLE, NOTFOUND, Result};
use crate::integers;
use crate::txn::{self, Db, Target, Txn};

/// The size of a page: 65,536 at most.
fn page_bytes(bytes: usize) -> c_uint {
    c_uint::try_from(bytes).unwrap_or(c_uint::MAX)
}

/// A table's numbers as LMDB gives them.
pub(crate) fn numbers(stats: &TableStats) -> MdbStat {
    MdbStat {
        ms_psize: page_bytes(stats.page_size),
        ms_depth: stats.depth,
        ms_branch_pages: size(stats.branch_pages),
        ms_leaf_pages: size(stats.leaf_pages),
        ms_overflow_pages: size(stats.overflow_pages),
        ms_entries: size(stats.entries),
    }
}

pub(crate) unsafe fn open(txn: *mut Txn, name: *const c_char, flags: c_uint, out: *mut c_uint) -> Result {
    // SAFETY: see the module's head.
    let (txn, out) = unsafe { (txn::of(txn)?, out.as_mut().ok_or(EINVAL)?) };
    if flags & !(db::PERSISTENT | db::CREATE) != 0 {
        return Err(EINVAL);
    }
    txn.check()?;
    if name.is_null() {
        *out = MAIN_DBI;
        return open_main(txn, flags & db::PERSISTENT);
    }
    // SAFETY: the name is a string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    *out = match txn.env().dbs.by_name(txn, name) {
        Some(dbi) => dbi,
        None => open_named(txn, name, flags)?,
    };
    Ok(())
}

fn open_main(txn: &mut Txn, flags: u32) -> Result {
    if flags != 0 {
        txn.env().dbs.change(MAIN_DBI, |slot| slot.flags |= flags);
        txn.remember(MAIN_DBI, Db::Unseen);
    }
    txn.db(MAIN_DBI).map(drop)
}

fn open_named(txn: &mut Txn, name: &[u8], flags: u32) -> Result<u32> {
    let env = txn.env();
    env.dbs.check_vacancy(env.max_dbs)?;
    let main = txn.db_flags(MAIN_DBI)?;
    if main & (db::DUPSORT | db::INTEGERKEY) != 0 {
        return Err(if flags & db::CREATE != 0 { INCOMPATIBLE } else { NOTFOUND });
    }
    if name.is_empty() {
        return Err(BAD_VALSIZE);
    }
    let flags = match txn.table_stats(name)? {
        Some(stats) => dbs::flags_of(&stats),
        None if flags & db::CREATE == 0 => return Err(NOTFOUND),
        None if txn.is_reader() => return Err(env.read_only()),
        None => {
            let made = create(txn, name, flags & db::PERSISTENT);
            txn.judge(made)?;
            flags & db::PERSISTENT
        }
    };
    let dbi = env.dbs.add(txn, env.max_dbs, name, flags)?;
    txn.opened(dbi);
    Ok(dbi)
}

fn create(txn: &mut Txn, name: &[u8], flags: u32) -> Result {
    // It is to be a key of the main table.
    if name.len() > txn.env().key_bytes_max() {
        return Err(BAD_VALSIZE);
    }
    let slot = Slot { flags, ..Slot::default() };
    let table = txn.writer()?.open_table(name, Some(&dbs::options_to_make(&slot)))?;
    txn::enter(txn, table)?;
    txn.check_room(0)
}

pub(crate) unsafe fn close(env: *mut Env, dbi: c_uint) {
    // SAFETY: see the module's head.
    if let Ok(env) = unsafe { env::of(env) } {
        env.dbs.close(dbi);
    }
}

pub(crate) unsafe fn flags(txn: *mut Txn, dbi: c_uint, out: *mut c_uint) -> Result {
    // SAFETY: see the module's head.
    let (txn, out) = unsafe { (txn::of(txn)?, out.as_mut().ok_or(EINVAL)?) };
    *out = txn.db_flags(dbi)?;
    Ok(())
}

pub(crate) unsafe fn stat(txn: *mut Txn, dbi: c_uint, out: *mut MdbStat) -> Result {
    // SAFETY: see the module's head.
    let (txn, out) = unsafe { (txn::of(txn)?, out.as_mut().ok_or(EINVAL)?) };
    if dbi == FREE_DBI {
        // The list of free pages, which is no table here.
        txn.check()?;
        *out = MdbStat { ms_psize: page_bytes(txn.env().opened()?.db()?.page_size()), ..MdbStat::default() };
        return Ok(());
    }
    let id = match txn.db(dbi)? {
        Db::Read(table, _) => {
            *out = numbers(&table.stats());
            return txn.check();
        }
        Db::Write(id, _) => *id,
        _ => return Err(NOTFOUND),
    };
    txn.check()?;
    *out = numbers(&txn.writer()?.view(id)?.stats());
    Ok(())
}

pub(crate) unsafe fn drop_table(txn: *mut Txn, dbi: c_uint, del: c_int) -> Result {
    // SAFETY: see the module's head.
    let txn = unsafe { txn::of(txn)? };
    if !(0..=1).contains(&del) {
        return Err(EINVAL);
    }
    if txn.is_reader() {
        txn.db(dbi)?;
        return Err(txn.env().read_only());
    }
    txn.target(dbi)?;
    txn.check()?;
    for cursor in txn.cursors_on(dbi) {
        // SAFETY: what is in a transaction's list is alive.
        unsafe { &mut *cursor }.state.table_is_dropped();
    }
    let dropped = if del == 1 && dbi as usize >= CORE_DBS { delete(txn, dbi) } else { clear(txn, dbi) };
    let dropped = dropped.and_then(|()| txn.check_room(0));
    txn.judge(dropped)
}

fn clear(txn: &mut Txn, dbi: u32) -> Result {
    txn.table_mut(dbi)?.clear()?;
    if dbi == MAIN_DBI {
        txn.forget_named();
    }
    Ok(())
}

fn delete(txn: &mut Txn, dbi: u32) -> Result {
    let slot = txn.env().dbs.find(txn, dbi).ok_or(BAD_DBI)?;
    let name = slot.name.ok_or(BAD_DBI)?;
    txn.writer()?.drop_table(&name)?;
    txn.remember(dbi, Db::Invalid);
    txn.env().dbs.close(dbi);
    Ok(())
}

/// Which of the two functions is set.
pub(crate) enum Which {
    Keys,
    Duplicates,
}

pub(crate) unsafe fn set_order(txn: *mut Txn, dbi: c_uint, function: Option<MdbCmp>, which: Which) -> Result {
    // SAFETY: see the module's head.
    let txn = unsafe { txn::of(txn)? };
    txn.db(dbi)?;
    let slot = txn.env().dbs.find(txn, dbi).ok_or(EINVAL)?;
    let before = match which {
        Which::Keys => slot.key_order,
        Which::Duplicates => slot.duplicate_order,
    };
    // Some programs set it before each of their calls, with cursors open.
    if before.map(|function| function as usize) != function.map(|function| function as usize) {
        change_order(txn, dbi, function, which, None);
    }
    Ok(())
}

/// `own`: the cursor that the call names, which is borrowed, if it names one.
fn change_order(txn: &mut Txn, dbi: u32, function: Option<MdbCmp>, which: Which, own: Option<&mut Cursor>) {
    txn.env().dbs.change(dbi, |slot| match which {
        Which::Keys => slot.key_order = function,
        Which::Duplicates => slot.duplicate_order = function,
    });
    let named = own.as_deref().map_or(ptr::null(), ptr::from_ref);
    for cursor in txn.others_on(dbi, named) {
        // SAFETY: what is in a transaction's list is alive.
        unsafe { &mut *cursor }.state.unset();
    }
    if let Some(own) = own {
        own.state.unset();
    }
    txn.remember(dbi, Db::Unseen);
}

/// A table to be written to, ready for values of this length. The engine's integers have 4 or 8 bytes, LMDB's have any
/// number: for others an empty table is made anew, with LMDB's order as if it were the program's. `own`: the cursor that the
/// call names, if it names one.
#[inline]
pub(crate) fn made_for(txn: &mut Txn, dbi: u32, bytes: usize, own: Option<&mut Cursor>) -> Result<Target> {
    let table = txn.target(dbi)?;
    match integers::order_of(table.flags) {
        Some(order) if !matches!(bytes, 4 | 8) => made_anew(txn, dbi, order, own),
        _ => Ok(table),
    }
}

#[cold]
fn made_anew(txn: &mut Txn, dbi: u32, order: MdbCmp, own: Option<&mut Cursor>) -> Result<Target> {
    let is_new = txn.env().dbs.find(txn, dbi).is_some_and(|slot| slot.duplicate_order.is_none());
    if is_new && txn.table_mut(dbi)?.is_empty() {
        change_order(txn, dbi, Some(order), Which::Duplicates, own);
    }
    txn.target(dbi)
}

pub(crate) unsafe fn check_handle(txn: *mut Txn, dbi: c_uint) -> Result {
    // SAFETY: see the module's head.
    unsafe { txn::of(txn)? }.db(dbi).map(drop)
}

/// Compares as the table's keys, or duplicates, sort; a program's function says what it says.
pub(crate) unsafe fn compare(txn: *mut Txn, dbi: c_uint, pair: (*const MdbVal, *const MdbVal), which: Which) -> c_int {
    // SAFETY: see the module's head; both values are the program's.
    let (txn, a, b) = unsafe { (txn::of(txn), crate::write::bytes(pair.0), crate::write::bytes(pair.1)) };
    let (Ok(txn), Ok(a), Ok(b)) = (txn, a, b) else { return 0 };
    match order_of(txn, dbi, which) {
        // SAFETY: as above.
        Ok(Sorts::Given(function)) => unsafe { function(pair.0, pair.1) },
        Ok(Sorts::Own(order)) => order.cmp(a, b) as c_int,
        Err(_) => 0,
    }
}

/// What keys or duplicates sort by.
enum Sorts {
    Given(MdbCmp),
    Own(duramen::Order),
}

fn order_of(txn: &mut Txn, dbi: u32, which: Which) -> Result<Sorts> {
    use duramen::Order;
    let (flags, [of_keys, of_duplicates]) = txn.orders(dbi)?;
    let (given, reversed, native) = match which {
        Which::Keys => (of_keys, db::REVERSEKEY, db::INTEGERKEY),
        Which::Duplicates => (of_duplicates, db::REVERSEDUP, db::INTEGERDUP),
    };
    Ok(match given {
        Some(function) => Sorts::Given(function),
        None if flags & native != 0 => Sorts::Own(Order::Native),
        None if flags & reversed != 0 => Sorts::Own(Order::Reversed),
        None => Sorts::Own(Order::Bytes),
    })
}
