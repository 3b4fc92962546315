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

use duramen::{BulkOptions, Database, Durability, Options, Snapshot, Table, TableOptions, WriteTxn};

use crate::abi::{CP_COMPACT, env as flag};
use crate::dbs;
use crate::env::{self, Env};
use crate::errors::{Code, EINVAL, Result};

pub(crate) unsafe fn to_path(env: *mut Env, path: *const c_char, how: c_uint) -> Result {
    // SAFETY: see the module's head; the path is a string.
    let (env, path) = unsafe { (env::of(env)?, CStr::from_ptr(path)) };
    let path = Path::new(OsStr::from_bytes(path.to_bytes()));
    let target = if env.flags() & flag::NOSUBDIR != 0 { path.to_path_buf() } else { path.join("data.mdb") };
    let file = OpenOptions::new().write(true).create_new(true).mode(0o666).open(&target)?;
    // Half a copy could be taken for a whole one.
    write_to_file(env, &file, &target, how).inspect_err(|_| drop(std::fs::remove_file(&target)))
}

fn write_to_file(env: &Env, file: &File, target: &Path, how: u32) -> Result {
    let db = env.opened()?.db()?;
    if is_compact(how)? && compact(env, db, target)? {
        return Ok(());
    }
    Ok(db.copy_to_file(file)?)
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
    if is_compact(how)? {
        let temporary = Temporary::new();
        if compact(env, db, &temporary.0)? {
            return Ok(stream(&temporary.0, out)?);
        }
    }
    Ok(db.copy_to(out)?)
}

fn is_compact(how: u32) -> Result<bool> {
    if how & !CP_COMPACT != 0 { Err(EINVAL) } else { Ok(how & CP_COMPACT != 0) }
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

/// The names of tables, and how they are made.
type Tables = Vec<(Vec<u8>, TableOptions)>;

/// Makes a compacted copy in a file that is new or empty. False, and nothing is there, if it has a table whose order
/// nobody has told this process of: then it can only be copied as it is.
fn compact(env: &Env, db: &Database, target: &Path) -> Result<bool> {
    let snapshot = db.read()?;
    let Some(tables) = tables_of(env, &snapshot)? else { return Ok(false) };
    let options = Options::new().page_size(db.page_size()).mode(0o600).without_lock_file();
    let copy = options.durability(Durability::Relaxed).open(target)?;
    let mut txn = copy.begin_write()?;
    txn.set_user_number(db.user_number()?);
    // The main table has the names of the others in it, too.
    let alone = tables.len() == 1;
    for (name, options) in &tables {
        match (name.is_empty(), alone) {
            (true, false) => copy_main(&snapshot, &mut txn, options, &tables)?,
            (true, true) => fill(&snapshot.main_table_with(options)?, &mut txn, name, options)?,
            (false, _) => fill(&snapshot.table_with(name, options)?, &mut txn, name, options)?,
        }
    }
    txn.commit()?;
    drop(snapshot);
    copy.close()?;
    Ok(true)
}

/// All tables by name, the main one (which has none) first, and how they are made; nothing if one of them has an order
/// that is not known.
fn tables_of(env: &Env, snapshot: &Snapshot<'_>) -> Result<Option<Tables>> {
    let mut tables = Vec::new();
    for name in [Vec::new()].into_iter().chain(snapshot.table_names()?) {
        let stats = match name.is_empty() {
            true => Some(snapshot.main_stats()),
            false => snapshot.table_stats(&name)?,
        };
        let Some(stats) = stats else { continue };
        let slot = env.dbs.named(&name).unwrap_or_default();
        let unknown = stats.order == "custom" && slot.key_order.is_none()
            || stats.duplicates == Some("custom") && slot.duplicate_order.is_none();
        if unknown {
            return Ok(None);
        }
        tables.push((name, dbs::options_as_made(&stats, &slot)));
    }
    Ok(Some(tables))
}

/// Copies what else is in the main table than the names of these tables.
fn copy_main(snapshot: &Snapshot<'_>, txn: &mut WriteTxn<'_>, options: &TableOptions, tables: &Tables) -> Result {
    txn.set_main_options(options)?;
    let id = txn.main_table();
    for item in snapshot.main_table_with(options)?.iter() {
        let (key, value) = item?;
        if tables.binary_search_by(|(name, _)| name.as_slice().cmp(key)).is_err() {
            txn.put(id, key, value)?;
        }
    }
    Ok(())
}

fn fill(from: &Table<'_>, txn: &mut WriteTxn<'_>, name: &[u8], options: &TableOptions) -> Result {
    let mut load = txn.bulk_load(name, BulkOptions::new().table(options.clone()).sorted(true))?;
    for item in from.iter() {
        let (key, value) = item?;
        load.push(key, value)?;
    }
    load.finish()?;
    Ok(())
}
