//! `mdb_drop`: empties a table, or deletes it.

use std::ffi::CString;

use crate::failure::{Failed, Result};
use crate::lmdb::Env;
use crate::options::{Syntax, parse};

const SYNTAX: Syntax = Syntax { letters: c"dm:ns:w:V", synopsis: "[-V] [-n] [-d] [-s subdb] dbpath" };

/// Runs `mdb_drop`.
pub fn run(words: &[CString]) -> Result {
    let Some(options) = parse(words, &SYNTAX)? else { return Ok(()) };
    let env = Env::create(2).or_failed("mdb_env_create")?;
    env.open(&options.path, options.env_flags(), 0o664).or_failed("mdb_env_open")?;
    let txn = env.begin(0).or_failed("mdb_txn_begin")?;
    let table = txn.open(options.argument(b's'), 0).or_failed("mdb_open")?;
    txn.drop_table(table, options.has(b'd')).or_failed("mdb_drop")?;
    txn.commit().or_failed("mdb_txn_commit")
}
