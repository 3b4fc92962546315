//! LMDB's order of duplicates that are called integers (`MDB_INTEGERDUP`) but have neither 4 nor 8 bytes.
//!
//! Owns: that order, as functions of the kind that programs give. The engine has one of its own for 4 and 8 bytes.
//!
//! # Safety
//! The functions are called as a program's own are: with two values that are there.
#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::abi::{MdbCmp, MdbVal, db};
use crate::write::bytes;

/// The order of a table's duplicates by its flags, if they are integers.
pub fn order_of(flags: u32) -> Option<MdbCmp> {
    match (flags & db::INTEGERDUP != 0, flags & db::DUPFIXED != 0) {
        (false, _) => None,
        (true, true) => Some(by_first_word),
        (true, false) => Some(by_number),
    }
}

/// By the first four bytes, or by eight where there are just as many: values of one size may well be structures whose
/// first member is a number.
unsafe extern "C" fn by_first_word(a: *const MdbVal, b: *const MdbVal) -> c_int {
    let counting = |value: &'static [u8]| if value.len() == 8 { value } else { &value[..value.len().min(4)] };
    // SAFETY: see the module's head.
    let (a, b) = unsafe { (bytes(a), bytes(b)) };
    compare(counting(a.unwrap_or_default()), counting(b.unwrap_or_default()))
}

/// By all bytes, as one number.
unsafe extern "C" fn by_number(a: *const MdbVal, b: *const MdbVal) -> c_int {
    // SAFETY: see the module's head.
    let (a, b) = unsafe { (bytes(a), bytes(b)) };
    compare(a.unwrap_or_default(), b.unwrap_or_default())
}

/// Shorter ones first, then as numbers in this machine's order of bytes.
fn compare(a: &[u8], b: &[u8]) -> c_int {
    let by_bytes = || if cfg!(target_endian = "little") { a.iter().rev().cmp(b.iter().rev()) } else { a.cmp(b) };
    a.len().cmp(&b.len()).then_with(by_bytes) as c_int
}
