//! Both libraries as tables of functions.
//!
//! # Safety
//! LMDB's own library is loaded by its soname and has functions of these names and types.
#![allow(unsafe_code)]

use duramen_lmdb::faces;
use duramen_lmdb::names::*;

/// Declares the table, and how each library fills it.
macro_rules! api {
    ($($name:ident: fn($($kind:ty),*) -> $answer:ty;)*) => {
        pub struct Api {
            pub name: &'static str,
            $(pub $name: unsafe extern "C" fn($($kind),*) -> $answer,)*
        }

        impl Api {
            /// This project's.
            pub fn ours() -> Api {
                Api { name: "ours", $($name: faces::$name,)* }
            }

            /// LMDB's own, if it is installed.
            pub fn stock() -> Option<Api> {
                // SAFETY: see the head.
                unsafe {
                    let library = libc::dlopen(c"liblmdb.so.0".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
                    if library.is_null() {
                        return None;
                    }
                    $(let symbol = libc::dlsym(library, concat!(stringify!($name), "\0").as_ptr().cast());
                    assert!(!symbol.is_null(), stringify!($name));
                    let $name = std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) -> $answer>(symbol);)*
                    Some(Api { name: "stock", $($name,)* })
                }
            }
        }
    };
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
