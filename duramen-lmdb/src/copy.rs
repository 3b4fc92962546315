//! Copies of an environment: to a path or to a descriptor, as it is or compacted.
//!
//! Owns: where copies go. The engine makes them.
//!
//! # Safety
//! Pointers are as the head of `env` says. A descriptor of the program's is written to and never closed.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_int, c_uint};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::ops::ControlFlow;
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use duramen::Database;

use crate::abi::{CP_COMPACT, env as flag};
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
    let db = begin(env)?;
    match is_compact(how)? {
        true => compact(db, target),
        false => Ok(db.copy_to_file(file)?),
    }
}

fn begin(env: &Env) -> Result<&Database> {
    let open = env.opened()?;
    open.readers.count_a_copy();
    open.db()
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
    let db = begin(env)?;
    if !is_compact(how)? {
        return Ok(db.copy_to(out)?);
    }
    Ok(stream(compacted(db)?, out)?)
}

/// What a directory may lack that another one has: it may not be there, nor be written to, nor have room.
const ELSEWHERE: [i32; 7] =
    [libc::ENOENT, libc::ENOTDIR, libc::EACCES, libc::EPERM, libc::EROFS, libc::ENOSPC, libc::EDQUOT];

/// A compacted copy without a name: in the directory for temporary files or, where that cannot be, beside the data file.
fn compacted(db: &Database) -> Result<File> {
    let first = compacted_in(db, &std::env::temp_dir());
    match (first, db.path().parent()) {
        (Err(error), Some(beside)) if ELSEWHERE.contains(&error.0) => compacted_in(db, beside).map_err(|_| error),
        (answer, _) => answer,
    }
}

fn compacted_in(db: &Database, directory: &Path) -> Result<File> {
    let temporary = Temporary::create(directory)?;
    compact(db, &temporary.0)?;
    // The name goes first: whoever stops reading ends a program by a signal, and then nothing would take it away.
    Ok(File::open(&temporary.0)?)
}

fn compact(db: &Database, to: &Path) -> Result {
    Ok(db.copy_compact(to, |_, _| ControlFlow::Continue(()))?)
}

fn is_compact(how: u32) -> Result<bool> {
    if how & !CP_COMPACT != 0 { Err(EINVAL) } else { Ok(how & CP_COMPACT != 0) }
}

/// A file that goes with its owner.
struct Temporary(PathBuf);

impl Temporary {
    /// An empty one that nobody else may read.
    fn create(directory: &Path) -> io::Result<Temporary> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        loop {
            let path = Temporary::path(directory, NUMBER.fetch_add(1, Ordering::Relaxed));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(_) => return Ok(Temporary(path)),
                // Left by a process of this number that was killed: where few run, the numbers come again soon.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn path(directory: &Path, number: u32) -> PathBuf {
        directory.join(format!("duramen-copy-{}-{number}", std::process::id()))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn stream(mut from: File, out: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            bytes => out.write_all(&buffer[..bytes])?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_of_the_same_number_left_is_passed_over() {
        let directory = std::env::temp_dir();
        let left: Vec<_> = (0..3).map(|number| Temporary::path(&directory, number)).collect();
        for path in &left {
            std::fs::write(path, "left").unwrap();
        }
        let made = Temporary::create(&directory);
        for path in &left {
            assert_eq!(std::fs::read(path).unwrap(), b"left");
            std::fs::remove_file(path).unwrap();
        }
        assert!(!left.contains(&made.unwrap().0));
    }
}
