//! The C interface's functions as safe types, for programs of one thread.
//!
//! Owns: lifetimes. An environment outlives its transactions, a transaction its cursors, and what a cursor gives is
//! borrowed from it until it moves or writes.
//!
//! # Safety
//! Each pointer here was made by the function for it and is given back once, when its owner is dropped. Arguments are
//! strings, places on the stack, and numbers.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;

use duramen::Database;
use duramen_lmdb::abi::{MdbCmp, MdbEnvinfo, MdbStat, MdbVal};
use duramen_lmdb::errors::NOTFOUND;
use duramen_lmdb::{cursor, env, faces, txn};

pub use duramen_lmdb::errors::Code;

/// What a function answers.
pub type Answer<T = ()> = Result<T, Code>;

/// The number of a table's handle.
pub type Dbi = c_uint;

/// The main table's.
pub const MAIN_DBI: Dbi = duramen_lmdb::abi::MAIN_DBI;

fn answer(code: c_int) -> Answer {
    if code == 0 { Ok(()) } else { Err(Code(code)) }
}

/// What a code means.
pub fn describe(code: Code) -> String {
    // SAFETY: a string that lives on.
    unsafe { CStr::from_ptr(duramen_lmdb::errors::text(code.0)) }.to_string_lossy().into_owned()
}

/// The version of LMDB that this stands in for, as a line of text.
pub fn version() -> &'static CStr {
    // SAFETY: no places for numbers; a string that lives on.
    unsafe { CStr::from_ptr(faces::version(faces::VERSION_0_9, [std::ptr::null_mut(); 3])) }
}

/// An environment.
pub struct Env(*mut env::Env);

impl Env {
    /// Makes one, for so many named tables at a time.
    pub fn create(max_dbs: u32) -> Answer<Env> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_env_create(&mut raw) })?;
        let env = Env(raw);
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_env_set_maxdbs(raw, max_dbs) })?;
        Ok(env)
    }

    /// Sets the limits that a dump names, before the environment is opened; 0 leaves the default.
    pub fn set_limits(&self, map_bytes: u64, max_readers: u32) -> Answer {
        if max_readers != 0 {
            // SAFETY: see the module's head.
            answer(unsafe { faces::mdb_env_set_maxreaders(self.0, max_readers) })?;
        }
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_env_set_mapsize(self.0, map_bytes as usize) })
    }

    /// What is stored may be more than the limit allows, which then becomes as high as it has to be.
    pub fn lift_limit(&self) {
        // SAFETY: see the module's head.
        let _ = unsafe { env::lift_mapsize(self.0) };
    }

    /// Opens it.
    pub fn open(&self, path: &CStr, flags: u32, mode: u32) -> Answer {
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_env_open(self.0, path.as_ptr(), flags, mode) })
    }

    /// The main table's numbers.
    pub fn stat(&self) -> Answer<MdbStat> {
        let mut stat = MdbStat::default();
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_env_stat(self.0, &mut stat) })?;
        Ok(stat)
    }

    /// The environment's.
    pub fn info(&self) -> Answer<MdbEnvinfo> {
        let mut info = std::mem::MaybeUninit::uninit();
        // SAFETY: it is filled in if the answer is good.
        unsafe {
            answer(faces::mdb_env_info(self.0, info.as_mut_ptr()))?;
            Ok(info.assume_init())
        }
    }

    /// Makes all commits survive a power cut.
    pub fn sync(&self) -> Answer {
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_env_sync(self.0, 1) })
    }

    /// Copies it to a path.
    pub fn copy_to(&self, path: &CStr, flags: u32) -> Answer {
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_env_copy2(self.0, path.as_ptr(), flags) })
    }

    /// Copies it to a descriptor.
    pub fn copy_to_descriptor(&self, fd: c_int, flags: u32) -> Answer {
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_env_copyfd2(self.0, fd, flags) })
    }

    /// Who reads, as text.
    pub fn readers(&self) -> Vec<u8> {
        unsafe extern "C" fn collect(line: *const c_char, lines: *mut c_void) -> c_int {
            // SAFETY: the vector below, and a string.
            let (lines, line) = unsafe { (&mut *lines.cast::<Vec<u8>>(), CStr::from_ptr(line)) };
            lines.extend_from_slice(line.to_bytes());
            0
        }
        let mut lines = Vec::new();
        // SAFETY: the function gets the vector.
        unsafe { faces::mdb_reader_list(self.0, Some(collect), (&raw mut lines).cast()) };
        lines
    }

    /// Clears readers that have died, and counts them.
    pub fn check_readers(&self) -> Answer<c_int> {
        let mut dead = 0;
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_reader_check(self.0, &mut dead) })?;
        Ok(dead)
    }

    /// The engine's own view of it.
    pub fn database(&self) -> Answer<&Database> {
        // SAFETY: see the module's head.
        unsafe { &*self.0 }.database()
    }

    /// Begins a transaction.
    pub fn begin(&self, flags: u32) -> Answer<Txn<'_>> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_txn_begin(self.0, std::ptr::null_mut(), flags, &mut raw) })?;
        Ok(Txn { raw, env: PhantomData })
    }

    /// Gives a table's handle back.
    pub fn close_table(&self, dbi: Dbi) {
        // SAFETY: see the module's head.
        unsafe { faces::mdb_dbi_close(self.0, dbi) }
    }
}

impl Drop for Env {
    fn drop(&mut self) {
        // SAFETY: see the module's head.
        unsafe { faces::mdb_env_close(self.0) }
    }
}

/// A transaction; aborted when it is dropped.
pub struct Txn<'e> {
    raw: *mut txn::Txn,
    env: PhantomData<&'e Env>,
}

impl Txn<'_> {
    /// Opens a table; no name is the main one's.
    pub fn open(&self, name: Option<&CStr>, flags: u32) -> Answer<Dbi> {
        let mut dbi = 0;
        let name = name.map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_dbi_open(self.raw, name, flags, &mut dbi) })?;
        Ok(dbi)
    }

    /// A table's flags.
    pub fn flags(&self, dbi: Dbi) -> Answer<u32> {
        let mut flags = 0;
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_dbi_flags(self.raw, dbi, &mut flags) })?;
        Ok(flags)
    }

    /// A table's numbers.
    pub fn stat(&self, dbi: Dbi) -> Answer<MdbStat> {
        let mut stat = MdbStat::default();
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_stat(self.raw, dbi, &mut stat) })?;
        Ok(stat)
    }

    /// Empties a table, or deletes it.
    pub fn drop_table(&self, dbi: Dbi, delete: bool) -> Answer {
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_drop(self.raw, dbi, c_int::from(delete)) })
    }

    /// Gives the table's keys an order.
    pub fn set_compare(&self, dbi: Dbi, order: MdbCmp) -> Answer {
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_set_compare(self.raw, dbi, Some(order)) })
    }

    /// Gives the values of each key an order.
    pub fn set_dupsort(&self, dbi: Dbi, order: MdbCmp) -> Answer {
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_set_dupsort(self.raw, dbi, Some(order)) })
    }

    /// A cursor that stands nowhere.
    pub fn cursor(&self, dbi: Dbi) -> Answer<Cursor<'_>> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_cursor_open(self.raw, dbi, &mut raw) })?;
        Ok(Cursor { raw, txn: PhantomData })
    }

    /// Commits.
    pub fn commit(self) -> Answer {
        let raw = std::mem::ManuallyDrop::new(self).raw;
        // SAFETY: see the module's head; dropping it no more.
        answer(unsafe { faces::mdb_txn_commit(raw) })
    }
}

impl Drop for Txn<'_> {
    fn drop(&mut self) {
        // SAFETY: see the module's head.
        unsafe { faces::mdb_txn_abort(self.raw) }
    }
}

/// Which entry is next.
#[derive(Clone, Copy)]
pub enum Step {
    /// The one after this.
    Next = 8,
    /// The first of the next key.
    NextKey = 11,
}

/// A position in a table.
pub struct Cursor<'t> {
    raw: *mut cursor::Cursor,
    txn: PhantomData<&'t ()>,
}

impl Cursor<'_> {
    /// Moves on; the entry there, key and value, unless the table ends.
    pub fn step(&mut self, step: Step) -> Answer<Option<(&[u8], &[u8])>> {
        let (mut key, mut value) = (MdbVal::NONE, MdbVal::NONE);
        // SAFETY: see the module's head.
        match answer(unsafe { faces::mdb_cursor_get(self.raw, &mut key, &mut value, step as c_uint) }) {
            Err(NOTFOUND) => Ok(None),
            Err(code) => Err(code),
            // SAFETY: they are valid until the cursor moves or writes, or the transaction ends.
            Ok(()) => Ok(Some(unsafe { (bytes(&key), bytes(&value)) })),
        }
    }

    /// Stores an entry.
    pub fn put(&mut self, key: &[u8], value: &[u8], flags: u32) -> Answer {
        let (mut key, mut value) = (MdbVal::of(key), MdbVal::of(value));
        // SAFETY: see the module's head.
        answer(unsafe { faces::mdb_cursor_put(self.raw, &mut key, &mut value, flags) })
    }
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: see the module's head.
        unsafe { faces::mdb_cursor_close(self.raw) }
    }
}

/// The bytes of a value.
///
/// # Safety
/// They are there for as long as the slice is used.
pub unsafe fn bytes<'a>(value: &MdbVal) -> &'a [u8] {
    if value.mv_size == 0 {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(value.mv_data.cast(), value.mv_size) }
}
