//! The functions of both interfaces as C sees them: each hands on to the module that it belongs to.
//!
//! Owns: signatures, and the lists of what each library exports. A panic that reached this border would end the
//! process with its message: that is what `extern "C"` means.
//!
//! # Safety
//! What programs promise for each argument is said in `lmdb.h` and at the heads of the modules.
#![allow(unsafe_code, missing_docs, clippy::missing_safety_doc, reason = "lmdb.h says what each function does")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use crate::abi::{MdbAssert, MdbCmp, MdbEnc, MdbEnvinfo, MdbMsg, MdbRel, MdbStat, MdbSum, MdbVal};
use crate::cursor::Cursor;
use crate::dbi::Which;
use crate::env::{Env, Interface};
use crate::errors::{ENOTSUP, number};
use crate::txn::Txn;
use crate::{copy, cursor, dbi, env, errors, readers, txn, write};

/// Defines faces whose functions return a code: `name(arguments) => what to call`.
macro_rules! faces {
    ($($name:ident($($argument:ident: $kind:ty),*) => $call:expr;)*) => {
        $(pub unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
            #[allow(unused_unsafe, reason = "some are refused without a call")]
            // SAFETY: see the module's head.
            number(unsafe { $call })
        })*
    };
}

faces! {
    mdb_env_create(out: *mut *mut Env) => env::create(out, Interface::V0_9);
    mdb_env_open(e: *mut Env, path: *const c_char, flags: c_uint, mode: libc::mode_t) => env::open(e, path, flags, mode);
    mdb_env_copy(e: *mut Env, path: *const c_char) => copy::to_path(e, path, 0);
    mdb_env_copy2(e: *mut Env, path: *const c_char, flags: c_uint) => copy::to_path(e, path, flags);
    mdb_env_copyfd(e: *mut Env, fd: c_int) => copy::to_fd(e, fd, 0);
    mdb_env_copyfd2(e: *mut Env, fd: c_int, flags: c_uint) => copy::to_fd(e, fd, flags);
    mdb_env_stat(e: *mut Env, out: *mut MdbStat) => env::stat(e, out);
    mdb_env_info(e: *mut Env, out: *mut MdbEnvinfo) => env::info(e, out);
    mdb_env_sync(e: *mut Env, force: c_int) => env::sync(e, force);
    mdb_env_set_flags(e: *mut Env, flags: c_uint, on: c_int) => env::set_flags(e, flags, on);
    mdb_env_get_flags(e: *mut Env, out: *mut c_uint) => env::get_flags(e, out);
    mdb_env_get_path(e: *mut Env, out: *mut *const c_char) => env::get_path(e, out);
    mdb_env_get_fd(e: *mut Env, out: *mut c_int) => env::get_fd(e, out);
    mdb_env_set_mapsize(e: *mut Env, bytes: usize) => env::set_mapsize(e, bytes);
    mdb_env_set_maxreaders(e: *mut Env, max: c_uint) => env::set_maxreaders(e, max);
    mdb_env_get_maxreaders(e: *mut Env, out: *mut c_uint) => env::get_maxreaders(e, out);
    mdb_env_set_maxdbs(e: *mut Env, max: c_uint) => env::set_maxdbs(e, max);
    mdb_env_set_userctx(e: *mut Env, context: *mut c_void) => env::set_userctx(e, context);
    mdb_env_set_assert(e: *mut Env, function: Option<MdbAssert>) => env::set_assert(e, function);
    mdb_txn_begin(e: *mut Env, parent: *mut Txn, flags: c_uint, out: *mut *mut Txn) => txn::begin(e, parent, flags, out);
    mdb_txn_commit(t: *mut Txn) => txn::commit(t);
    mdb_txn_renew(t: *mut Txn) => txn::renew(t);
    mdb_dbi_open(t: *mut Txn, name: *const c_char, flags: c_uint, out: *mut c_uint) => dbi::open(t, name, flags, out);
    mdb_stat(t: *mut Txn, d: c_uint, out: *mut MdbStat) => dbi::stat(t, d, out);
    mdb_dbi_flags(t: *mut Txn, d: c_uint, out: *mut c_uint) => dbi::flags(t, d, out);
    mdb_drop(t: *mut Txn, d: c_uint, del: c_int) => dbi::drop_table(t, d, del);
    mdb_set_compare(t: *mut Txn, d: c_uint, function: Option<MdbCmp>) => dbi::set_order(t, d, function, Which::Keys);
    mdb_set_dupsort(t: *mut Txn, d: c_uint, function: Option<MdbCmp>) => dbi::set_order(t, d, function, Which::Duplicates);
    mdb_set_relfunc(t: *mut Txn, d: c_uint, _function: Option<MdbRel>) => dbi::check_handle(t, d);
    mdb_set_relctx(t: *mut Txn, d: c_uint, _context: *mut c_void) => dbi::check_handle(t, d);
    mdb_get(t: *mut Txn, d: c_uint, key: *mut MdbVal, data: *mut MdbVal) => cursor::get_value(t, d, key, data);
    mdb_put(t: *mut Txn, d: c_uint, key: *mut MdbVal, data: *mut MdbVal, flags: c_uint) => write::put(t, d, key, data, flags);
    mdb_del(t: *mut Txn, d: c_uint, key: *mut MdbVal, data: *mut MdbVal) => write::del(t, d, key, data);
    mdb_cursor_open(t: *mut Txn, d: c_uint, out: *mut *mut Cursor) => cursor::open(t, d, out);
    mdb_cursor_renew(t: *mut Txn, c: *mut Cursor) => cursor::renew(t, c);
    mdb_cursor_get(c: *mut Cursor, key: *mut MdbVal, data: *mut MdbVal, op: c_uint) => cursor::get(c, key, data, op);
    mdb_cursor_put(c: *mut Cursor, key: *mut MdbVal, data: *mut MdbVal, flags: c_uint) => write::cursor_put(c, key, data, flags);
    mdb_cursor_del(c: *mut Cursor, flags: c_uint) => write::cursor_del(c, flags);
    mdb_cursor_count(c: *mut Cursor, out: *mut usize) => cursor::count(c, out);
    mdb_reader_check(e: *mut Env, dead: *mut c_int) => readers::check(e, dead);
}

pub unsafe extern "C" fn mdb_env_close(e: *mut Env) {
    // SAFETY: see the module's head.
    unsafe { env::close(e) }
}

pub unsafe extern "C" fn mdb_env_get_userctx(e: *mut Env) -> *mut c_void {
    // SAFETY: see the module's head.
    unsafe { env::get_userctx(e) }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "it is less than a page")]
pub unsafe extern "C" fn mdb_env_get_maxkeysize(e: *mut Env) -> c_int {
    // SAFETY: see the module's head.
    unsafe { env::key_bytes_max(e) as c_int }
}

pub unsafe extern "C" fn mdb_strerror(code: c_int) -> *mut c_char {
    errors::text(code).cast_mut()
}

pub unsafe extern "C" fn mdb_txn_env(t: *mut Txn) -> *mut Env {
    // SAFETY: see the module's head.
    unsafe { txn::txn_env(t) }
}

pub unsafe extern "C" fn mdb_txn_id(t: *mut Txn) -> usize {
    // SAFETY: see the module's head.
    unsafe { txn::txn_id(t) }
}

pub unsafe extern "C" fn mdb_txn_abort(t: *mut Txn) {
    // SAFETY: see the module's head.
    unsafe { txn::abort(t) }
}

pub unsafe extern "C" fn mdb_txn_reset(t: *mut Txn) {
    // SAFETY: see the module's head.
    unsafe { txn::reset(t) }
}

pub unsafe extern "C" fn mdb_dbi_close(e: *mut Env, d: c_uint) {
    // SAFETY: see the module's head.
    unsafe { dbi::close(e, d) }
}

pub unsafe extern "C" fn mdb_cursor_close(c: *mut Cursor) {
    // SAFETY: see the module's head.
    unsafe { cursor::close(c) }
}

pub unsafe extern "C" fn mdb_cursor_txn(c: *mut Cursor) -> *mut Txn {
    // SAFETY: see the module's head.
    unsafe { cursor::cursor_txn(c) }
}

pub unsafe extern "C" fn mdb_cursor_dbi(c: *mut Cursor) -> c_uint {
    // SAFETY: see the module's head.
    unsafe { cursor::cursor_dbi(c) }
}

pub unsafe extern "C" fn mdb_cmp(t: *mut Txn, d: c_uint, a: *const MdbVal, b: *const MdbVal) -> c_int {
    // SAFETY: see the module's head.
    unsafe { dbi::compare(t, d, (a, b), Which::Keys) }
}

pub unsafe extern "C" fn mdb_dcmp(t: *mut Txn, d: c_uint, a: *const MdbVal, b: *const MdbVal) -> c_int {
    // SAFETY: see the module's head.
    unsafe { dbi::compare(t, d, (a, b), Which::Duplicates) }
}

pub unsafe extern "C" fn mdb_reader_list(e: *mut Env, function: Option<MdbMsg>, context: *mut c_void) -> c_int {
    // SAFETY: see the module's head.
    unsafe { readers::list(e, function, context) }
}

/// `mdb_env_create` of LMDB 1.0.
pub unsafe fn create_1_0(out: *mut *mut Env) -> c_int {
    // SAFETY: see the module's head.
    number(unsafe { env::create(out, Interface::V1_0) })
}

/// The versions of LMDB that stand for the two interfaces.
pub const VERSION_0_9: [c_int; 3] = [0, 9, 24];
pub const VERSION_1_0: [c_int; 3] = [1, 0, 2];

/// What a library says that it is: the version that it stands in for, unless `DURAMEN_LMDB_VERSION` names another one
/// for a program that insists on it.
pub unsafe fn version(own: [c_int; 3], places: [*mut c_int; 3]) -> *mut c_char {
    static TEXT: OnceLock<([c_int; 3], CString)> = OnceLock::new();
    let (numbers, text) = TEXT.get_or_init(|| {
        let wanted = std::env::var("DURAMEN_LMDB_VERSION").ok().and_then(|text| parse(&text));
        let numbers = wanted.unwrap_or(own);
        let [major, minor, patch] = numbers;
        let text = format!("LMDB {major}.{minor}.{patch}: (Duramen {})", env!("CARGO_PKG_VERSION"));
        (numbers, CString::new(text).unwrap_or_default())
    });
    for (number, place) in numbers.iter().zip(places) {
        // SAFETY: places of the program's, or null.
        if let Some(place) = unsafe { place.as_mut() } {
            *place = *number;
        }
    }
    text.as_ptr().cast_mut()
}

fn parse(text: &str) -> Option<[c_int; 3]> {
    let numbers: Option<Vec<c_int>> = text.split('.').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

// What LMDB 1.0 has beyond 0.9. Encryption, foreign page checksums and incremental dumps are not Duramen's: refused, so
// that nobody relies on them.

faces! {
    mdb_env_set_encrypt(_env: *mut Env, _function: Option<MdbEnc>, _key: *const MdbVal, _size: c_uint) => Err(ENOTSUP);
    mdb_env_set_checksum(_env: *mut Env, _function: Option<MdbSum>, _size: c_uint) => Err(ENOTSUP);
    mdb_env_set_pagesize(e: *mut Env, bytes: c_int) => env::set_pagesize(e, bytes);
    mdb_env_rollback(_env: *mut Env, _txnid: usize) => Err(ENOTSUP);
    mdb_env_incr_dump(_env: *mut Env, _path: *const c_char, _txnid: usize) => Err(ENOTSUP);
    mdb_env_incr_dumpfd(_env: *mut Env, _fd: c_int, _txnid: usize) => Err(ENOTSUP);
    mdb_env_incr_loadfd(_env: *mut Env, _fd: c_int) => Err(ENOTSUP);
    mdb_txn_prepare(_txn: *mut Txn) => Err(ENOTSUP);
    mdb_txn_flags(t: *mut Txn, out: *mut c_uint) => txn::txn_flags(t, out);
}

pub unsafe extern "C" fn mdb_cursor_is_db(c: *mut Cursor) -> c_int {
    // SAFETY: see the module's head.
    c_int::from(unsafe { cursor::is_table(c) }.unwrap_or(false))
}

/// Exports the functions of LMDB 0.9 that both libraries have alike.
#[macro_export]
macro_rules! export_0_9 {
    () => {
        $crate::export! {
            mdb_env_open(env: *mut Env, path: *const c_char, flags: c_uint, mode: mode_t) -> c_int;
            mdb_env_copy(env: *mut Env, path: *const c_char) -> c_int;
            mdb_env_copy2(env: *mut Env, path: *const c_char, flags: c_uint) -> c_int;
            mdb_env_copyfd(env: *mut Env, fd: c_int) -> c_int;
            mdb_env_copyfd2(env: *mut Env, fd: c_int, flags: c_uint) -> c_int;
            mdb_env_stat(env: *mut Env, out: *mut MdbStat) -> c_int;
            mdb_env_info(env: *mut Env, out: *mut MdbEnvinfo) -> c_int;
            mdb_env_sync(env: *mut Env, force: c_int) -> c_int;
            mdb_env_close(env: *mut Env) -> ();
            mdb_env_set_flags(env: *mut Env, flags: c_uint, on: c_int) -> c_int;
            mdb_env_get_flags(env: *mut Env, out: *mut c_uint) -> c_int;
            mdb_env_get_path(env: *mut Env, out: *mut *const c_char) -> c_int;
            mdb_env_get_fd(env: *mut Env, out: *mut c_int) -> c_int;
            mdb_env_set_mapsize(env: *mut Env, bytes: usize) -> c_int;
            mdb_env_set_maxreaders(env: *mut Env, max: c_uint) -> c_int;
            mdb_env_get_maxreaders(env: *mut Env, out: *mut c_uint) -> c_int;
            mdb_env_set_maxdbs(env: *mut Env, max: c_uint) -> c_int;
            mdb_env_get_maxkeysize(env: *mut Env) -> c_int;
            mdb_env_set_userctx(env: *mut Env, context: *mut c_void) -> c_int;
            mdb_env_get_userctx(env: *mut Env) -> *mut c_void;
            mdb_env_set_assert(env: *mut Env, function: Option<MdbAssert>) -> c_int;
            mdb_strerror(code: c_int) -> *mut c_char;
            mdb_txn_begin(env: *mut Env, parent: *mut Txn, flags: c_uint, out: *mut *mut Txn) -> c_int;
            mdb_txn_env(txn: *mut Txn) -> *mut Env;
            mdb_txn_id(txn: *mut Txn) -> usize;
            mdb_txn_commit(txn: *mut Txn) -> c_int;
            mdb_txn_abort(txn: *mut Txn) -> ();
            mdb_txn_reset(txn: *mut Txn) -> ();
            mdb_txn_renew(txn: *mut Txn) -> c_int;
            mdb_dbi_open(txn: *mut Txn, name: *const c_char, flags: c_uint, out: *mut c_uint) -> c_int;
            mdb_stat(txn: *mut Txn, dbi: c_uint, out: *mut MdbStat) -> c_int;
            mdb_dbi_flags(txn: *mut Txn, dbi: c_uint, out: *mut c_uint) -> c_int;
            mdb_dbi_close(env: *mut Env, dbi: c_uint) -> ();
            mdb_drop(txn: *mut Txn, dbi: c_uint, del: c_int) -> c_int;
            mdb_set_compare(txn: *mut Txn, dbi: c_uint, function: Option<MdbCmp>) -> c_int;
            mdb_set_dupsort(txn: *mut Txn, dbi: c_uint, function: Option<MdbCmp>) -> c_int;
            mdb_set_relfunc(txn: *mut Txn, dbi: c_uint, function: Option<MdbRel>) -> c_int;
            mdb_set_relctx(txn: *mut Txn, dbi: c_uint, context: *mut c_void) -> c_int;
            mdb_get(txn: *mut Txn, dbi: c_uint, key: *mut MdbVal, data: *mut MdbVal) -> c_int;
            mdb_put(txn: *mut Txn, dbi: c_uint, key: *mut MdbVal, data: *mut MdbVal, flags: c_uint) -> c_int;
            mdb_del(txn: *mut Txn, dbi: c_uint, key: *mut MdbVal, data: *mut MdbVal) -> c_int;
            mdb_cursor_open(txn: *mut Txn, dbi: c_uint, out: *mut *mut Cursor) -> c_int;
            mdb_cursor_close(cursor: *mut Cursor) -> ();
            mdb_cursor_renew(txn: *mut Txn, cursor: *mut Cursor) -> c_int;
            mdb_cursor_txn(cursor: *mut Cursor) -> *mut Txn;
            mdb_cursor_dbi(cursor: *mut Cursor) -> c_uint;
            mdb_cursor_get(cursor: *mut Cursor, key: *mut MdbVal, data: *mut MdbVal, op: c_uint) -> c_int;
            mdb_cursor_put(cursor: *mut Cursor, key: *mut MdbVal, data: *mut MdbVal, flags: c_uint) -> c_int;
            mdb_cursor_del(cursor: *mut Cursor, flags: c_uint) -> c_int;
            mdb_cursor_count(cursor: *mut Cursor, out: *mut usize) -> c_int;
            mdb_cmp(txn: *mut Txn, dbi: c_uint, a: *const MdbVal, b: *const MdbVal) -> c_int;
            mdb_dcmp(txn: *mut Txn, dbi: c_uint, a: *const MdbVal, b: *const MdbVal) -> c_int;
            mdb_reader_list(env: *mut Env, function: Option<MdbMsg>, context: *mut c_void) -> c_int;
            mdb_reader_check(env: *mut Env, dead: *mut c_int) -> c_int;
        }
    };
}

/// Makes a library export functions of this crate under their own names.
#[macro_export]
macro_rules! export {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> $answer {
            // SAFETY: handed on as it came.
            unsafe { $crate::faces::$name($($argument),*) }
        })*
    };
}

/// Exports what LMDB 1.0 has beyond 0.9.
#[macro_export]
macro_rules! export_1_0 {
    () => {
        $crate::export! {
            mdb_env_set_encrypt(env: *mut Env, function: Option<MdbEnc>, key: *const MdbVal, size: c_uint) -> c_int;
            mdb_env_set_checksum(env: *mut Env, function: Option<MdbSum>, size: c_uint) -> c_int;
            mdb_env_set_pagesize(env: *mut Env, bytes: c_int) -> c_int;
            mdb_env_rollback(env: *mut Env, txnid: usize) -> c_int;
            mdb_env_incr_dump(env: *mut Env, path: *const c_char, txnid: usize) -> c_int;
            mdb_env_incr_dumpfd(env: *mut Env, fd: c_int, txnid: usize) -> c_int;
            mdb_env_incr_loadfd(env: *mut Env, fd: c_int) -> c_int;
            mdb_txn_prepare(txn: *mut Txn) -> c_int;
            mdb_txn_flags(txn: *mut Txn, out: *mut c_uint) -> c_int;
            mdb_cursor_is_db(cursor: *mut Cursor) -> c_int;
        }
    };
}
