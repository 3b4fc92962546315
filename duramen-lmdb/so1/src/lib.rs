//! `liblmdb.so.1`: the interface of LMDB 1.0.
//!
//! # Safety
//! Each function hands on what it is given.
#![allow(unsafe_code)]

use duramen_lmdb::names::*;

duramen_lmdb::export_0_9!();
duramen_lmdb::export_1_0!();

/// The version that this stands in for.
///
/// # Safety
/// The places are the program's, or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn mdb_version(major: *mut c_int, minor: *mut c_int, patch: *mut c_int) -> *mut c_char {
    // SAFETY: handed on as it came.
    unsafe { duramen_lmdb::faces::version(duramen_lmdb::faces::VERSION_1_0, [major, minor, patch]) }
}

/// Makes an environment, for programs of LMDB 1.0.
///
/// # Safety
/// The place is the program's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mdb_env_create(out: *mut *mut Env) -> c_int {
    // SAFETY: handed on as it came.
    unsafe { duramen_lmdb::faces::create_1_0(out) }
}
