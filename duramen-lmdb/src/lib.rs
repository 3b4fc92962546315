//! LMDB's C interface over Duramen.
//!
//! Owns: the words, numbers and habits of that interface. Must not know: the engine's insides; what it needs, the
//! engine's public API has. The libraries themselves, `liblmdb.so.0` and `liblmdb.so.1`, are two packages beside this one
//! that export these functions under their names, and nothing else.
//!
//! | module | owns |
//! |---|---|
//! | `faces` | signatures and the lists of exports |
//! | `abi`, `errors` | types, constants; codes and texts |
//! | `env`, `handle`, `mapsize`, `threads`, `readers`, `copy` | the environment, what a forked child has of it, its limits, who reads, copies |
//! | `txn`, `spares` | transactions and nesting, what is left of them when their environment is closed; read transactions for use once more |
//! | `cancel`, `owner`, `writers` | threads that the program cancels, that end with their write transaction, or that would wait for themselves |
//! | `forks` | what threads do when another one forks |
//! | `dbs`, `dbi` | table handles; the functions about tables |
//! | `names_of_tables` | names as LMDB 1.0 has them among the keys of the main table |
//! | `position`, `cursor`, `cursors`, `write` | movements; cursors; those of a transaction; storing and deleting |

#![cfg_attr(not(test), warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss))]

pub mod abi;
mod cancel;
mod copy;
pub mod cursor;
mod cursors;
pub mod dbi;
mod dbs;
pub mod env;
pub mod errors;
pub mod faces;
mod forks;
mod handle;
mod integers;
mod mapsize;
mod names_of_tables;
mod owner;
mod position;
mod readers;
mod spares;
mod threads;
pub mod txn;
mod write;
mod writers;

/// What the libraries' export lists name.
pub mod names {
    pub use std::ffi::{c_char, c_int, c_uint, c_void};

    pub use libc::mode_t;

    pub use crate::abi::{MdbAssert, MdbCmp, MdbEnc, MdbEnvinfo, MdbMsg, MdbRel, MdbStat, MdbSum, MdbVal};
    pub use crate::cursor::Cursor;
    pub use crate::env::Env;
    pub use crate::txn::Txn;
}
