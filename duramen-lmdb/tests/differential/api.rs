//! Both libraries as tables of functions.
//!
//! # Safety
//! LMDB's own library is loaded by its soname and has functions of these names and types.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::ptr;

use duramen_lmdb::faces;
use duramen_lmdb::names::*;

/// Declares the table, and how each library fills it.
macro_rules! api {
    ($($name:ident: fn($($kind:ty),*) -> $answer:ty;)*) => {
        pub struct Api {
            pub name: &'static str,
            /// Of the version whose interface it has.
            pub major: c_int,
            $(pub $name: unsafe extern "C" fn($($kind),*) -> $answer,)*
        }

        impl Api {
            /// This project's, for programs of the version that the other one is of.
            pub fn ours(other: &Api) -> Api {
                let own = Api { name: "ours", major: other.major, $($name: faces::$name,)* };
                if other.major == 1 { Api { mdb_env_create: create_1_0, ..own } } else { own }
            }

            /// LMDB's own by this name, if it is installed.
            pub fn stock(name: &CStr) -> Option<Api> {
                // SAFETY: see the head.
                unsafe {
                    let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
                    if library.is_null() {
                        return None;
                    }
                    $(let symbol = libc::dlsym(library, concat!(stringify!($name), "\0").as_ptr().cast());
                    assert!(!symbol.is_null(), stringify!($name));
                    let $name = std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) -> $answer>(symbol);)*
                    let mut api = Api { name: "stock", major: 0, $($name,)* };
                    let version = libc::dlsym(library, c"mdb_version".as_ptr());
                    let version = std::mem::transmute::<*mut c_void, Version>(version);
                    version(&mut api.major, ptr::null_mut(), ptr::null_mut());
                    Some(api)
                }
            }
        }
    };
}

type Version = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int) -> *mut c_char;

/// `mdb_env_create` of our library for programs of LMDB 1.0.
unsafe extern "C" fn create_1_0(out: *mut *mut Env) -> c_int {
    // SAFETY: handed on as it came.
    unsafe { faces::create_1_0(out) }
}

api! {
    mdb_env_create: fn(*mut *mut Env) -> c_int;
    mdb_env_open: fn(*mut Env, *const c_char, c_uint, mode_t) -> c_int;
    mdb_env_close: fn(*mut Env) -> ();
    mdb_env_set_mapsize: fn(*mut Env, usize) -> c_int;
    mdb_env_set_maxdbs: fn(*mut Env, c_uint) -> c_int;
    mdb_env_sync: fn(*mut Env, c_int) -> c_int;
    mdb_env_set_flags: fn(*mut Env, c_uint, c_int) -> c_int;
    mdb_env_get_flags: fn(*mut Env, *mut c_uint) -> c_int;
    mdb_env_info: fn(*mut Env, *mut MdbEnvinfo) -> c_int;
    mdb_env_copy2: fn(*mut Env, *const c_char, c_uint) -> c_int;
    mdb_reader_check: fn(*mut Env, *mut c_int) -> c_int;
    mdb_txn_begin: fn(*mut Env, *mut Txn, c_uint, *mut *mut Txn) -> c_int;
    mdb_txn_commit: fn(*mut Txn) -> c_int;
    mdb_txn_abort: fn(*mut Txn) -> ();
    mdb_txn_reset: fn(*mut Txn) -> ();
    mdb_txn_renew: fn(*mut Txn) -> c_int;
    mdb_dbi_open: fn(*mut Txn, *const c_char, c_uint, *mut c_uint) -> c_int;
    mdb_dbi_close: fn(*mut Env, c_uint) -> ();
    mdb_dbi_flags: fn(*mut Txn, c_uint, *mut c_uint) -> c_int;
    mdb_stat: fn(*mut Txn, c_uint, *mut MdbStat) -> c_int;
    mdb_drop: fn(*mut Txn, c_uint, c_int) -> c_int;
    mdb_set_compare: fn(*mut Txn, c_uint, Option<MdbCmp>) -> c_int;
    mdb_set_dupsort: fn(*mut Txn, c_uint, Option<MdbCmp>) -> c_int;
    mdb_cmp: fn(*mut Txn, c_uint, *const MdbVal, *const MdbVal) -> c_int;
    mdb_get: fn(*mut Txn, c_uint, *mut MdbVal, *mut MdbVal) -> c_int;
    mdb_put: fn(*mut Txn, c_uint, *mut MdbVal, *mut MdbVal, c_uint) -> c_int;
    mdb_del: fn(*mut Txn, c_uint, *mut MdbVal, *mut MdbVal) -> c_int;
    mdb_cursor_open: fn(*mut Txn, c_uint, *mut *mut Cursor) -> c_int;
    mdb_cursor_close: fn(*mut Cursor) -> ();
    mdb_cursor_renew: fn(*mut Txn, *mut Cursor) -> c_int;
    mdb_cursor_get: fn(*mut Cursor, *mut MdbVal, *mut MdbVal, c_uint) -> c_int;
    mdb_cursor_put: fn(*mut Cursor, *mut MdbVal, *mut MdbVal, c_uint) -> c_int;
    mdb_cursor_del: fn(*mut Cursor, c_uint) -> c_int;
    mdb_cursor_count: fn(*mut Cursor, *mut usize) -> c_int;
}
