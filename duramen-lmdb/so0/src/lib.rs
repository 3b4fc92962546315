//! `liblmdb.so.0`: the interface of LMDB 0.9.
//!
//! # Safety
//! Each function hands on what it is given.
#![allow(unsafe_code)]

use duramen_lmdb::names::*;

duramen_lmdb::export_0_9!();
duramen_lmdb::export! {
    mdb_env_create(out: *mut *mut Env) -> c_int;
}

/// The version that this stands in for.
///
/// # Safety
/// The places are the program's, or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn mdb_version(major: *mut c_int, minor: *mut c_int, patch: *mut c_int) -> *mut c_char {
    // SAFETY: handed on as it came.
    unsafe { duramen_lmdb::faces::version(duramen_lmdb::faces::VERSION_0_9, [major, minor, patch]) }
}
