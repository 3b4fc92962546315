//! Copies of an environment: to a path or to a descriptor, as it is or compacted.
//!
//! Owns: where copies go. The engine makes plain ones; a compacted one is a new database that takes all entries in
//! order.
//!
//! # Safety
//! Pointers are as the head of `env` says. A descriptor of the program's is written to and never closed.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_int, c_uint};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use duramen::{Database, Durability, Options, Snapshot, Table, TableStats, WriteTxn};

use crate::abi::{CP_COMPACT, env as flag};
use crate::dbs::{self, Slot};
use crate::env::{self, Env};
use crate::errors::{Code, EINVAL, Result};

pub(crate) unsafe fn to_path(env: *mut Env, path: *const c_char, how: c_uint) -> Result {
    // SAFETY: see the module's head; the path is a string.
    let (env, path) = unsafe { (env::of(env)?, CStr::from_ptr(path)) };
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let target = if env.flags() & flag::NOSUBDIR != 0 { path.to_path_buf() } else { path.join("data.mdb") };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o666).open(&target)?;
    write_to(env, &mut file, how)?;
    Ok(file.sync_all()?)
}

pub(crate) unsafe fn to_fd(env: *mut Env, fd: c_int, how: c_uint) -> Result {
    // SAFETY: see the module's head.
    let env = unsafe { env::of(env)? };
    if fd < 0 {
        return Err(Code(libc::EBADF));
    }
    // SAFETY: the descriptor is the program's, open while this runs, and not closed here.
    let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    without_sigpipe(|| write_to(env, &mut file, how))
}

/// A pipe whose reader has gone is an error here, not the end of the program.
fn without_sigpipe(write: impl FnOnce() -> Result) -> Result {
    // SAFETY: the sets are initialised before use, and the thread's mask is put back as it was. A signal that arose here
    // is taken off before that, unless one was pending already.
    unsafe {
        let (mut pipe, mut before, mut pending) = (std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&mut pipe);
        libc::sigaddset(&mut pipe, libc::SIGPIPE);
        libc::sigpending(&mut pending);
        let was_pending = libc::sigismember(&pending, libc::SIGPIPE) == 1;
        libc::pthread_sigmask(libc::SIG_BLOCK, &pipe, &mut before);
        let result = write();
        if result == Err(Code(libc::EPIPE)) && !was_pending {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&pipe, std::ptr::null_mut(), &now);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}

fn write_to(env: &Env, out: &mut File, how: u32) -> Result {
    let db = env.opened()?.db()?;
    if how & !CP_COMPACT != 0 {
        return Err(EINVAL);
    }
    if how & CP_COMPACT == 0 {
        return Ok(db.copy_to(out)?);
    }
    let temporary = Temporary::new();
    match compact(env, db, &temporary.0) {
        // A table whose order nobody has told this process of can only be copied as it is.
        Err(crate::errors::INCOMPATIBLE) => Ok(db.copy_to(out)?),
        Err(error) => Err(error),
        Ok(()) => Ok(stream(&temporary.0, out)?),
    }
}

/// A file that goes with its owner.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Temporary {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Temporary(std::env::temp_dir().join(format!("duramen-copy-{}-{number}", std::process::id())))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn stream(from: &Path, out: &mut File) -> io::Result<()> {
    let mut from = File::open(from)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            bytes => out.write_all(&buffer[..bytes])?,
        }
    }
}

fn compact(env: &Env, db: &Database, target: &Path) -> Result {
    let options = Options::new().page_size(db.page_size()).mode(0o600).without_lock_file();
    let copy = options.durability(Durability::Relaxed).open(target)?;
    let snapshot = db.read()?;
    let mut txn = copy.begin_write()?;
    txn.set_user_number(db.user_number()?);
    copy_main(env, &snapshot, &mut txn)?;
    for name in snapshot.table_names()? {
        let Some(stats) = snapshot.table_stats(&name)? else { continue };
        let options = dbs::options_as_made(&stats, &slot_of(env, &name, &stats)?);
        let table = snapshot.table_with(&name, &options)?;
        let id = txn.open_table(&name, Some(&options))?;
        fill(&table, &mut txn, id)?;
    }
    txn.commit()?;
    drop(snapshot);
    Ok(copy.close()?)
}

fn copy_main(env: &Env, snapshot: &Snapshot<'_>, txn: &mut WriteTxn<'_>) -> Result {
    let stats = snapshot.main_stats();
    let options = dbs::options_as_made(&stats, &slot_of(env, b"", &stats)?);
    txn.set_main_options(&options)?;
    let (table, id) = (snapshot.main_table_with(&options)?, txn.main_table());
    let names = snapshot.table_names()?;
    for item in table.iter() {
        let (key, value) = item?;
        if names.binary_search_by(|name| name.as_slice().cmp(key)).is_err() {
            txn.put(id, key, value)?;
        }
    }
    Ok(())
}

fn slot_of(env: &Env, name: &[u8], stats: &TableStats) -> Result<Slot> {
    let slot = env.dbs.named(name).unwrap_or_default();
    let unknown = stats.order == "custom" && slot.key_order.is_none()
        || stats.duplicates == Some("custom") && slot.duplicate_order.is_none();
    if unknown { Err(crate::errors::INCOMPATIBLE) } else { Ok(slot) }
}

fn fill(from: &Table<'_>, txn: &mut WriteTxn<'_>, id: duramen::TableId) -> Result {
    let mut table = txn.table_by_id(id)?;
    for item in from.iter() {
        let (key, value) = item?;
        table.append_duplicate(key, value)?;
    }
    Ok(())
}
