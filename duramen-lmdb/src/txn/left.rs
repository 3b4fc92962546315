//! Read transactions that a program still has when it closes their environment. With LMDB it may abort them afterwards, if the
//! environment has no lock file.
//!
//! Owns: the list of those that there are, and what is left of them. Must not know: what they have read.
//!
//! Most transactions begin as one that has ended before. So a transaction is in the list from its allocation until it is freed,
//! and beginning one costs nothing.
//!
//! # Safety
//! What is in the list is a box that has not been freed: it leaves the list before. Nobody uses an environment, nor what began
//! in it, while another thread closes that.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::OnceLock;

use super::{FINISHED, Txn};
use crate::env::{Env, Interface};
use crate::forks::{self, Whole};

/// Threads that need new ones at the same time mostly do not meet at one list.
const LISTS: usize = 8;

/// In place of the number of forks, of one whose cursors could not be told that it ends: it is never freed.
pub(super) const FORGOTTEN: u64 = u64::MAX;

/// See the module's head.
#[derive(Default)]
pub(crate) struct Alive([Whole<Vec<*mut Txn>>; LISTS]);

impl Alive {
    fn list(&self, txn: *const Txn) -> &Whole<Vec<*mut Txn>> {
        let mixed = (txn.addr() as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        &self.0[mixed as usize % LISTS]
    }
}

/// Notes a read transaction that is new.
///
/// # Safety
/// It is a box that its environment outlives.
pub(super) unsafe fn list(txn: *mut Txn) {
    // SAFETY: promised by the caller.
    let held = unsafe { &mut *txn };
    held.is_listed = true;
    held.env().alive.list(txn).lock().push(txn);
}

impl Drop for Txn {
    fn drop(&mut self) {
        if self.is_listed {
            let mut list = self.env().alive.list(self).lock();
            let found = list.iter().rposition(|&other| ptr::eq(other, self));
            found.map(|i| list.swap_remove(i));
        }
    }
}

/// Lets go of what they hold: all that the program can do with them afterwards is to end them.
///
/// # Safety
/// As the module's head says.
pub(super) unsafe fn leave_behind(env: &Env) {
    for list in &env.alive.0 {
        let all = std::mem::take(&mut *list.lock());
        for txn in all {
            // SAFETY: see the module's head.
            let txn = unsafe { &mut *txn };
            txn.is_listed = false;
            // One that waits to be used again has no place.
            if txn.place.is_none() {
                continue;
            }
            if txn.forks == forks::count() {
                txn.end_reading();
                txn.opened.clear();
            } else {
                // A fork has interrupted its thread, perhaps in the midst of changing it: what is in it is forgotten.
                let ended = Txn::new(closed(), ptr::null_mut(), txn.flags);
                // SAFETY: it stays where it is; what it had belongs to nobody in this process.
                unsafe { ptr::write(txn, ended) };
                txn.forks = FORGOTTEN;
            }
            txn.flags |= FINISHED;
            txn.env = ptr::null();
        }
    }
}

struct Closed(Env);

// SAFETY: nothing in it is ever changed.
unsafe impl Send for Closed {}
// SAFETY: as above.
unsafe impl Sync for Closed {}

/// What stands for the environment of those that were left behind.
#[cold]
pub(super) fn closed() -> &'static Env {
    static CLOSED: OnceLock<Closed> = OnceLock::new();
    &CLOSED.get_or_init(|| Closed(Env::new(Interface::V0_9))).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::env as flag;
    use crate::{env, txn};
    use std::ffi::CString;

    #[test]
    fn what_began_before_a_fork_is_not_taken_apart_after_it() {
        let place = tempfile::tempdir().unwrap();
        let path = CString::new(place.path().to_str().unwrap()).unwrap();
        let (mut opened, mut old, mut new) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        // SAFETY: what is used is alive: the environment until it is closed, the transactions until they are aborted.
        unsafe {
            env::create(&raw mut opened, Interface::V0_9).unwrap();
            env::open(opened, path.as_ptr(), flag::NOTLS, 0o600).unwrap();
            for txn in [&raw mut old, &raw mut new] {
                txn::begin(opened, ptr::null_mut(), flag::RDONLY, txn).unwrap();
            }
            // As if its thread were in the midst of changing it, in the parent: to drop what is in it would be fatal.
            (*old).forks = forks::count() + 1;
            ptr::write(&raw mut (*old).value_room, Vec::from_raw_parts(ptr::dangling_mut(), 0, 4096));
            env::close(opened);
            for ended in [old, new] {
                assert!((*ended).place.is_none() && (*ended).snapshot.is_none() && (*ended).check().is_err());
            }
            txn::abort(old);
            txn::abort(new);
        }
    }
}
