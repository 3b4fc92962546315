//! The environment: an open database with LMDB's settings around it.
//!
//! Owns: opening and closing, flags, limits. Must not know: tables, entries.
//!
//! # Safety
//! An environment is made by `create` and freed by `close`; in between the program hands its pointer to one function
//! or several, from any thread. What changes while it is open is atomic or behind a mutex; the rest is set before.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_uint, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use duramen::{Database, Durability, Error, Options};

use crate::abi::{KEY_BYTES_MAX, MdbAssert, MdbEnvinfo, MdbStat, env as flag, size};
use crate::cancel::{self, Uncancelled};
use crate::cursor::Cursor;
use crate::dbs::Dbs;
use crate::errors::{Code, EACCES, EINVAL, EISDIR, INVALID, IS_READONLY, Result, VERSION_MISMATCH};
use crate::forks::{self, Whole};
use crate::handle::{FileId, Handle};
use crate::mapsize::{Limit, counted};
use crate::owner::Owner;
use crate::spares::Spares;
use crate::threads::Readers;
use crate::txn::{Alive, Txn};
use crate::writers;

/// Cursors of ended write transactions that are remembered, in case that the program closes them after all.
const ORPHANS_MAX: usize = 256;

/// What the program was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interface {
    /// LMDB 0.9.
    V0_9,
    /// LMDB 1.0: it has a code of its own for writing to what may only be read, and names of tables end with a zero
    /// where they are keys of the main table.
    V1_0,
}

/// See the module's head.
pub struct Env {
    interface: Interface,
    pub(crate) flags: AtomicU32,
    pub(crate) limit: Limit,
    pub(crate) dbs: Dbs,
    pub(crate) max_dbs: u32,
    max_readers: u32,
    page_bytes: usize,
    open: Option<Open>,
    path: Option<CString>,
    context: AtomicPtr<c_void>,
    /// The write transaction of this process, if there is one.
    pub(crate) writing: AtomicPtr<Txn>,
    /// The thread that began it.
    pub(crate) writer: Arc<Owner>,
    orphans: Whole<Vec<*mut Cursor>>,
    pub(crate) alive: Alive,
    pub(crate) spares: Spares<Txn>,
    /// The same for write transactions: with the memory that they took.
    pub(crate) spare_writers: Spares<Txn>,
}

/// What there is once it has been opened.
pub struct Open {
    handle: Handle,
    file: Option<FileId>,
    pub(crate) readers: Readers,
    /// The longest key, and duplicate, that its tables hold.
    longest: usize,
}

impl Open {
    /// The database, as this process may use it.
    #[inline]
    pub(crate) fn db(&self) -> Result<&Database> {
        self.handle.db()
    }

    /// Whether this thread has a write transaction on the file already.
    pub(crate) fn is_written_here(&self) -> bool {
        self.file.is_some_and(writers::is_writing)
    }
}

impl Env {
    pub(crate) fn new(interface: Interface) -> Env {
        forks::watch();
        Env {
            interface,
            flags: AtomicU32::new(0),
            limit: Limit::default(),
            dbs: Dbs::default(),
            max_dbs: 0,
            max_readers: 126,
            page_bytes: 4096,
            open: None,
            path: None,
            context: AtomicPtr::default(),
            writing: AtomicPtr::default(),
            writer: Arc::default(),
            orphans: Whole::default(),
            alive: Alive::default(),
            spares: Spares::default(),
            spare_writers: Spares::default(),
        }
    }

    /// The open database, for those who ask what LMDB's interface has no word for.
    ///
    /// # Errors
    /// `EINVAL`: it has not been opened.
    pub fn database(&self) -> Result<&Database> {
        self.opened()?.db()
    }

    #[inline]
    pub(crate) fn is_of(&self, interface: Interface) -> bool {
        self.interface == interface
    }

    /// The flags that its interface knows.
    fn flags_there_are(&self) -> u32 {
        let later = if self.is_of(Interface::V1_0) { flag::LATER } else { 0 };
        flag::CHANGEABLE | flag::CHANGELESS | later
    }

    /// The longest key, and value of several, that programs may store: LMDB has the same for all pages until 1.0.
    #[inline]
    pub(crate) fn key_bytes_max(&self) -> usize {
        if self.is_of(Interface::V0_9) { KEY_BYTES_MAX } else { self.longest() }
    }

    /// The longest that may be there: the engine stores some for others.
    #[inline]
    pub(crate) fn longest(&self) -> usize {
        self.open.as_ref().map_or(KEY_BYTES_MAX, |open| open.longest)
    }

    /// The code for writing to what may only be read.
    pub(crate) fn read_only(&self) -> Code {
        if self.is_of(Interface::V1_0) { IS_READONLY } else { EACCES }
    }

    pub(crate) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    /// The open database, or the error of those who have not opened it.
    #[inline]
    pub(crate) fn opened(&self) -> Result<&Open> {
        self.open.as_ref().ok_or(EINVAL)
    }

    /// Whether commits wait for the disk; `more` are flags of a transaction.
    pub(crate) fn durability(&self, more: u32) -> Durability {
        let flags = self.flags() | more;
        let asynchronous = flags & flag::WRITEMAP != 0 && flags & flag::MAPASYNC != 0;
        if flags & flag::NOSYNC != 0 || asynchronous { Durability::Relaxed } else { Durability::Durable }
    }

    /// Remembers a cursor whose transaction ended before it was closed.
    pub(crate) fn adopt(&self, cursor: *mut Cursor) {
        let mut orphans = self.orphans.lock();
        orphans.push(cursor);
        if orphans.len() > ORPHANS_MAX {
            // SAFETY: orphans are boxes that nobody else frees.
            drop(unsafe { Box::from_raw(orphans.remove(0)) });
        }
    }

    /// Gives up a cursor that the program closes now; false if it is unknown.
    pub(crate) fn disown(&self, cursor: *mut Cursor) -> bool {
        let mut orphans = self.orphans.lock();
        let found = orphans.iter().position(|&orphan| orphan == cursor);
        found.map(|i| orphans.swap_remove(i)).is_some()
    }

    fn open_at(&mut self, path: &CStr, flags: u32, mode: u32) -> Result {
        if self.open.is_some() || flags & !self.flags_there_are() != 0 {
            return Err(EINVAL);
        }
        let mut flags = flags | self.flags();
        if flags & flag::RDONLY != 0 {
            flags &= !flag::WRITEMAP;
        }
        let named = Path::new(OsStr::from_bytes(path.to_bytes()));
        // The engine puts the lock file where LMDB has it.
        let data = if flags & flag::NOSUBDIR != 0 { named.to_path_buf() } else { named.join("data.mdb") };
        let mut options = Options::new()
            .read_only(flags & flag::RDONLY != 0)
            .mode(mode)
            .page_size(self.page_bytes)
            .user_number(self.limit.of_new_file())
            .flush_on_close(false)
            .late_checks(true)
            .keep_length(flags & flag::WRITEMAP != 0);
        if flags & flag::NOLOCK != 0 {
            options = options.without_lock_file();
        }
        if flags & flag::NORDAHEAD != 0 {
            options = options.file_memory(0);
        }
        let handle = Handle::open(options, &data).map_err(|error| refusal(&data, error))?;
        let readers = match handle.db()?.registers_readers() {
            true => Readers::new(flags & flag::NOTLS == 0, self.max_readers)?,
            false => Readers::uncounted(),
        };
        self.limit.begin(handle.db()?)?;
        self.flags.store(flags, Ordering::Relaxed);
        self.path = Some(path.to_owned());
        let file = handle.file();
        if let Some(file) = file {
            writers::add(file, &self.writer);
        }
        let longest = handle.db()?.key_bytes_max();
        self.open = Some(Open { handle, file, readers, longest });
        Ok(())
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        for cursor in self.orphans.get_mut().drain(..) {
            // SAFETY: orphans are boxes that nobody else frees.
            drop(unsafe { Box::from_raw(cursor) });
        }
        writers::remove(&self.writer);
    }
}

/// The code for a file that does not open. Who brings a file of LMDB's own is told, once, how to convert it.
fn refusal(data: &Path, error: Error) -> Code {
    static TOLD: AtomicBool = AtomicBool::new(false);
    if data.is_dir() {
        return EISDIR;
    }
    if !matches!(error, Error::NotADatabase { .. }) || !is_of_lmdb(data) {
        return match error {
            Error::NotADatabase { .. } => INVALID,
            other => other.into(),
        };
    }
    if !TOLD.swap(true, Ordering::Relaxed) {
        let path = data.display();
        let _ = writeln!(
            std::io::stderr(),
            "liblmdb of Duramen: {path} is in LMDB's own format; `duramen load NEW {path}` makes a database of it, to be put in its place"
        );
    }
    VERSION_MISMATCH
}

/// Whether a file begins as LMDB's do. Opening what is no file (a pipe) may wait for ever.
fn is_of_lmdb(data: &Path) -> bool {
    if !data.is_file() {
        return false;
    }
    let mut head = [0; 20];
    let read = std::fs::File::open(data).and_then(|mut file| std::io::Read::read_exact(&mut file, &mut head));
    read.is_ok() && head[16..] == 0xBEEF_C0DE_u32.to_ne_bytes()
}

/// A reference to the environment behind a pointer.
///
/// # Safety
/// As the module's head says.
pub(crate) unsafe fn of<'e>(env: *const Env) -> Result<&'e Env> {
    // SAFETY: promised by the caller.
    unsafe { env.as_ref() }.ok_or(EINVAL)
}

/// # Safety
/// As the module's head says; nobody else uses the environment.
unsafe fn unopened<'e>(env: *mut Env) -> Result<&'e mut Env> {
    // SAFETY: promised by the caller.
    let env = unsafe { env.as_mut() }.ok_or(EINVAL)?;
    if env.open.is_some() { Err(EINVAL) } else { Ok(env) }
}

pub(crate) unsafe fn create(out: *mut *mut Env, interface: Interface) -> Result {
    // SAFETY: the program gives a place for a pointer.
    let out = unsafe { out.as_mut() }.ok_or(EINVAL)?;
    *out = Box::into_raw(Box::new(Env::new(interface)));
    Ok(())
}

pub(crate) unsafe fn open(env: *mut Env, path: *const c_char, flags: c_uint, mode: libc::mode_t) -> Result {
    // SAFETY: see the module's head; the path is a string.
    let (env, path) = unsafe { (unopened(env)?, CStr::from_ptr(path)) };
    let _through = Uncancelled::new();
    env.open_at(path, flags, mode)
}

pub(crate) unsafe fn close(env: *mut Env) {
    if env.is_null() {
        return;
    }
    let _through = Uncancelled::new();
    // SAFETY: see the module's head.
    let held = unsafe { &*env };
    let inherited = held.open.as_ref().is_some_and(|open| open.handle.is_inherited());
    let writing = held.writing.load(Ordering::Acquire);
    if !inherited && !writing.is_null() {
        // SAFETY: it is the write transaction, which would keep everybody else waiting for as long as the process lives.
        unsafe { crate::txn::abort(writing) };
    }
    // SAFETY: see the module's head; the program uses it no more.
    unsafe { crate::txn::leave_behind(held) };
    // SAFETY: as above.
    drop(unsafe { Box::from_raw(env) });
}

pub(crate) unsafe fn set_flags(env: *mut Env, which: c_uint, on: c_int) -> Result {
    // SAFETY: see the module's head.
    let env = unsafe { of(env)? };
    if which & !flag::CHANGEABLE != 0 {
        return Err(EINVAL);
    }
    if on != 0 {
        env.flags.fetch_or(which, Ordering::Relaxed);
    } else {
        env.flags.fetch_and(!which, Ordering::Relaxed);
    }
    Ok(())
}

pub(crate) unsafe fn get_flags(env: *mut Env, out: *mut c_uint) -> Result {
    // SAFETY: see the module's head; `out` is a place for a number.
    let (env, out) = unsafe { (of(env)?, out.as_mut().ok_or(EINVAL)?) };
    *out = env.flags() & env.flags_there_are();
    Ok(())
}

pub(crate) unsafe fn get_path(env: *mut Env, out: *mut *const c_char) -> Result {
    // SAFETY: see the module's head; `out` is a place for a pointer.
    let (env, out) = unsafe { (of(env)?, out.as_mut().ok_or(EINVAL)?) };
    *out = env.path.as_ref().map_or(std::ptr::null(), |path| path.as_ptr());
    Ok(())
}

pub(crate) unsafe fn get_fd(env: *mut Env, out: *mut c_int) -> Result {
    // SAFETY: see the module's head; `out` is a place for a number.
    let (env, out) = unsafe { (of(env)?, out.as_mut().ok_or(EINVAL)?) };
    *out = env.open.as_ref().map_or(-1, |open| open.handle.descriptor());
    Ok(())
}

pub(crate) unsafe fn key_bytes_max(env: *mut Env) -> usize {
    // SAFETY: see the module's head.
    unsafe { env.as_ref() }.map_or(KEY_BYTES_MAX, Env::key_bytes_max)
}

pub(crate) unsafe fn set_mapsize(env: *mut Env, bytes: usize) -> Result {
    // SAFETY: see the module's head.
    let env = unsafe { of(env)? };
    match &env.open {
        None => env.limit.set(bytes),
        Some(_) if !env.writing.load(Ordering::Acquire).is_null() => return Err(EINVAL),
        Some(open) => env.limit.change(open.db()?, bytes)?,
    }
    Ok(())
}

/// What is stored from now on may be more than the limit allows, which then becomes as high as it has to be.
///
/// # Safety
/// The pointer is an environment's.
pub unsafe fn lift_mapsize(env: *mut Env) -> Result {
    // SAFETY: promised by the caller.
    unsafe { of(env)? }.limit.lift();
    Ok(())
}

pub(crate) unsafe fn set_maxdbs(env: *mut Env, max: c_uint) -> Result {
    // SAFETY: see the module's head.
    unsafe { unopened(env)? }.max_dbs = max;
    Ok(())
}

pub(crate) unsafe fn set_maxreaders(env: *mut Env, max: c_uint) -> Result {
    if max < 1 {
        return Err(EINVAL);
    }
    // SAFETY: see the module's head.
    unsafe { unopened(env)? }.max_readers = max;
    Ok(())
}

/// Bytes in a page of a file that is to be made.
pub(crate) unsafe fn set_pagesize(env: *mut Env, bytes: c_int) -> Result {
    // SAFETY: see the module's head.
    let env = unsafe { unopened(env)? };
    let bytes = usize::try_from(bytes).map_err(|_| EINVAL)?;
    if !bytes.is_power_of_two() || !(4096..=65536).contains(&bytes) {
        return Err(EINVAL);
    }
    env.page_bytes = bytes;
    Ok(())
}

pub(crate) unsafe fn get_maxreaders(env: *mut Env, out: *mut c_uint) -> Result {
    // SAFETY: see the module's head; `out` is a place for a number.
    let (env, out) = unsafe { (of(env)?, out.as_mut().ok_or(EINVAL)?) };
    *out = env.max_readers;
    Ok(())
}

pub(crate) unsafe fn set_userctx(env: *mut Env, context: *mut c_void) -> Result {
    // SAFETY: see the module's head.
    unsafe { of(env)? }.context.store(context, Ordering::Release);
    Ok(())
}

pub(crate) unsafe fn get_userctx(env: *mut Env) -> *mut c_void {
    // SAFETY: see the module's head.
    unsafe { of(env) }.map_or(std::ptr::null_mut(), |env| env.context.load(Ordering::Acquire))
}

/// There is no inconsistency that a function would be told of: what is damaged is an error, and our own faults end the
/// process with a message.
pub(crate) unsafe fn set_assert(env: *mut Env, _function: Option<MdbAssert>) -> Result {
    // SAFETY: see the module's head.
    unsafe { of(env) }.map(drop)
}

pub(crate) unsafe fn stat(env: *mut Env, out: *mut MdbStat) -> Result {
    // SAFETY: see the module's head; `out` is a place for the numbers.
    let (env, out) = unsafe { (of(env)?, out.as_mut().ok_or(EINVAL)?) };
    *out = crate::dbi::numbers(&env.opened()?.db()?.glance()?.main_stats());
    Ok(())
}

/// How many places for readers all processes have had so far, idle ones included. It never falls.
fn readers_ever(open: &Open) -> Result<u32> {
    if !open.readers.are_counted() {
        return Ok(0);
    }
    Ok(open.readers.tell(open.db()?.reader_places(open.readers.peak())?))
}

pub(crate) unsafe fn info(env: *mut Env, out: *mut MdbEnvinfo) -> Result {
    // SAFETY: see the module's head; `out` is a place for the numbers.
    let (env, out) = unsafe { (of(env)?, out.as_mut().ok_or(EINVAL)?) };
    let open = env.opened()?;
    let newest = open.db()?.glance()?;
    *out = MdbEnvinfo {
        me_mapaddr: std::ptr::null_mut(),
        me_mapsize: env.limit.bytes(),
        // Counted as the limit counts, which leaves out some of the first pages.
        me_last_pgno: counted(newest.pages()).saturating_sub(1),
        me_last_txnid: size(newest.txnid().0),
        me_maxreaders: env.max_readers,
        me_numreaders: readers_ever(open)?,
    };
    Ok(())
}

/// Makes what is committed survive a power cut. Waits for nobody: the program may be inside its own write transaction.
pub(crate) unsafe fn sync(env: *mut Env, force: c_int) -> Result {
    // SAFETY: see the module's head.
    let env = unsafe { of(env)? };
    let open = env.opened()?;
    if env.flags() & flag::RDONLY != 0 {
        return Err(env.read_only());
    }
    if force == 0 && env.flags() & flag::NOSYNC != 0 {
        return Ok(());
    }
    let through = Uncancelled::new();
    let synced = open.db()?.sync();
    drop(through);
    cancel::point();
    Ok(synced?)
}
