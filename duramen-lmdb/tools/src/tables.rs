//! Which named tables there are: those keys of the main table that can be opened as one.

use std::ffi::{CStr, CString};

use crate::failure::{Failed, Result};
use crate::lmdb::{Dbi, Env, Step, Txn};

/// Calls the function with each named table, and counts the keys that could have been names.
pub fn each(env: &Env, txn: &Txn<'_>, main: Dbi, mut of: impl FnMut(&CStr, Dbi) -> Result) -> Result<usize> {
    let mut cursor = txn.cursor(main).or_failed("mdb_cursor_open")?;
    let mut keys = 0;
    while let Some((key, _)) = cursor.step(Step::NextKey).or_failed("mdb_cursor_get")? {
        let Ok(name) = CString::new(key) else { continue };
        keys += 1;
        if let Ok(table) = txn.open(Some(&name), 0) {
            of(&name, table)?;
            env.close_table(table);
        }
    }
    Ok(keys)
}
