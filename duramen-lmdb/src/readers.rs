//! Who reads: the list of readers, and clearing the dead.
//!
//! Owns: the text of that list.
//!
//! # Safety
//! Pointers are as the head of `env` says; the function is the program's and takes a string.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_void};

use crate::abi::MdbMsg;
use crate::env::{self, Env};
use crate::errors::{EINVAL, Result};

/// Calls the program's function with each line; what it returned last, or a number below zero that stopped the list.
pub(crate) unsafe fn list(env: *mut Env, function: Option<MdbMsg>, context: *mut c_void) -> c_int {
    // SAFETY: see the module's head.
    let (Ok(env), Some(function)) = (unsafe { env::of(env) }, function) else { return -1 };
    let counted = env.opened().ok().filter(|open| open.readers.are_counted());
    let Some(open) = counted else {
        // SAFETY: see the module's head.
        return unsafe { function(c"(no reader locks)\n".as_ptr(), context) };
    };
    let readers = open.db().ok().and_then(|db| db.readers().ok()).unwrap_or_default();
    let own = std::process::id();
    let mut lines: Vec<String> = readers.iter().map(|r| format!("{:10} {:x} {}\n", r.pid, r.thread, r.txnid)).collect();
    lines.extend(open.readers.idle().iter().map(|thread| format!("{own:10} {thread:x} -\n")));
    if lines.is_empty() {
        lines.push("(no active readers)\n".to_string());
    } else {
        lines.insert(0, "    pid     thread     txnid\n".to_string());
    }
    let mut answer = 0;
    for line in lines {
        let line = CString::new(line).unwrap_or_default();
        // SAFETY: see the module's head.
        answer = unsafe { function(line.as_ptr(), context) };
        if answer < 0 {
            break;
        }
    }
    answer
}

pub(crate) unsafe fn check(env: *mut Env, dead: *mut c_int) -> Result {
    // SAFETY: see the module's head; `dead` is a place for a number, or null.
    let (env, dead) = unsafe { (env::of(env)?, dead.as_mut()) };
    let cleared = match env.opened() {
        Ok(open) => open.db()?.clear_dead_readers().map_err(|_| EINVAL)?,
        Err(_) => 0,
    };
    if let Some(dead) = dead {
        *dead = c_int::try_from(cleared).unwrap_or(c_int::MAX);
    }
    Ok(())
}
