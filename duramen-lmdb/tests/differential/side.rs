//! One library with an environment: what an operation does to it, and what it answers.
//!
//! # Safety
//! Pointers come from the library whose functions get them; a cursor is given up with its transaction.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::ptr;

use duramen_lmdb::abi::{CP_COMPACT, MdbEnvinfo, Op, db, env, put};
use duramen_lmdb::names::*;

use crate::api::Api;
use crate::environment::Environment;
use crate::operations::{Operation, TABLES, own_orders};
use crate::tables::Tables;

/// What an operation answered: its code, and bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    pub code: c_int,
    pub key: Option<Vec<u8>>,
    pub data: Option<Vec<u8>>,
    pub number: usize,
}

impl Answer {
    fn code(code: c_int) -> Answer {
        Answer { code, key: None, data: None, number: 0 }
    }

    fn number(code: c_int, number: usize) -> Answer {
        Answer { number: if code == 0 { number } else { 0 }, ..Answer::code(code) }
    }
}

/// What stands in a value before a call, so that one sees whether the call set it.
const UNTOUCHED: &[u8] = b"untouched";

fn val(bytes: &[u8]) -> MdbVal {
    MdbVal::of(bytes)
}

fn read(value: &MdbVal) -> Vec<u8> {
    if value.mv_size == 0 {
        return Vec::new();
    }
    // SAFETY: just answered by the library.
    unsafe { std::slice::from_raw_parts(value.mv_data.cast_const().cast(), value.mv_size) }.to_vec()
}

pub struct Side {
    pub api: Api,
    directory: CString,
    /// Of the environment.
    flags: c_uint,
    env: *mut Env,
    /// Write transactions, innermost last.
    writers: Vec<*mut Txn>,
    reader: *mut Txn,
    tables: Vec<c_uint>,
    cursors: Vec<*mut Cursor>,
}

unsafe extern "C" fn backwards(a: *const MdbVal, b: *const MdbVal) -> c_int {
    // SAFETY: called by a library with two values.
    let (a, b) = unsafe { (read(&*a), read(&*b)) };
    b.cmp(&a) as c_int
}

impl Side {
    pub fn new(api: Api, directory: &Path, flags: c_uint, cursors: usize, tables: &Tables) -> Side {
        let directory = CString::new(directory.to_str().unwrap()).unwrap();
        let mut side = Side {
            api,
            directory,
            flags,
            env: ptr::null_mut(),
            writers: Vec::new(),
            reader: ptr::null_mut(),
            tables: vec![0; TABLES.len()],
            cursors: vec![ptr::null_mut(); cursors],
        };
        side.open(tables);
        side
    }

    fn open(&mut self, tables: &Tables) {
        // SAFETY: see the head.
        unsafe {
            assert_eq!((self.api.mdb_env_create)(&mut self.env), 0);
            assert_eq!((self.api.mdb_env_set_maxdbs)(self.env, 32), 0);
            assert_eq!((self.api.mdb_env_set_mapsize)(self.env, 1 << 30), 0);
            assert_eq!((self.api.mdb_env_open)(self.env, self.directory.as_ptr(), self.flags, 0o600), 0);
            let mut txn = ptr::null_mut();
            assert_eq!((self.api.mdb_txn_begin)(self.env, ptr::null_mut(), 0, &mut txn), 0);
            for table in 0..TABLES.len() {
                if let Some(name) = tables.name(table) {
                    assert_eq!(self.open_table(txn, table, name, table).code, 0, "{}", self.api.name);
                }
            }
            assert_eq!((self.api.mdb_txn_commit)(txn), 0);
        }
    }

    unsafe fn open_table(&mut self, txn: *mut Txn, table: usize, name: usize, as_if: usize) -> Answer {
        let (name, flags) = (CString::new(TABLES[name].0).unwrap(), TABLES[as_if].1);
        let (own_keys, own_values) = own_orders(table);
        let mut dbi = 0;
        // SAFETY: see the head.
        unsafe {
            let code = (self.api.mdb_dbi_open)(txn, name.as_ptr(), flags | db::CREATE, &mut dbi);
            if own_keys && code == 0 {
                (self.api.mdb_set_compare)(txn, dbi, Some(backwards));
            }
            if own_values && code == 0 {
                (self.api.mdb_set_dupsort)(txn, dbi, Some(backwards));
            }
            self.tables[table] = dbi;
            Answer::number(code, dbi as usize)
        }
    }

    /// Asks for something by a number that is no handle.
    unsafe fn stale(&mut self, table: usize, how: u32) -> Answer {
        let (txn, dbi) = (self.txn(false), self.tables[table]);
        let (mut key, mut data) = (val(b"key"), val(b"data"));
        // SAFETY: see the head.
        Answer::code(unsafe {
            match how {
                0 => (self.api.mdb_get)(txn, dbi, &mut key, &mut data),
                1 => (self.api.mdb_put)(txn, dbi, &mut key, &mut data, 0),
                2 => (self.api.mdb_del)(txn, dbi, &mut key, ptr::null_mut()),
                3 => (self.api.mdb_stat)(txn, dbi, &mut MdbStat::default()),
                4 => (self.api.mdb_dbi_flags)(txn, dbi, &mut 0),
                5 => (self.api.mdb_drop)(txn, dbi, 1),
                _ => (self.api.mdb_cursor_open)(txn, dbi, &mut ptr::null_mut()),
            }
        })
    }

    fn txn(&self, reads: bool) -> *mut Txn {
        if reads { self.reader } else { self.writers.last().copied().unwrap_or(ptr::null_mut()) }
    }

    /// Closes everything and opens it again.
    fn reopen(&mut self, tables: &Tables) {
        // SAFETY: see the head.
        unsafe {
            (self.api.mdb_env_close)(self.env);
        }
        self.open(tables);
    }

    pub fn apply(&mut self, operation: &Operation, tables: &Tables) -> Answer {
        // SAFETY: see the head.
        unsafe {
            match operation {
                Operation::BeginWrite => self.begin_write(),
                Operation::BeginRead => {
                    Answer::code((self.api.mdb_txn_begin)(self.env, ptr::null_mut(), env::RDONLY, &mut self.reader))
                }
                Operation::Commit => Answer::code((self.api.mdb_txn_commit)(self.writers.pop().unwrap())),
                Operation::Abort => {
                    (self.api.mdb_txn_abort)(self.writers.pop().unwrap());
                    Answer::code(0)
                }
                Operation::EndRead => {
                    (self.api.mdb_txn_abort)(std::mem::replace(&mut self.reader, ptr::null_mut()));
                    Answer::code(0)
                }
                Operation::ResetRead => {
                    (self.api.mdb_txn_reset)(self.reader);
                    Answer::code((self.api.mdb_txn_renew)(self.reader))
                }
                Operation::Reopen => {
                    self.reopen(tables);
                    Answer::code(0)
                }
                Operation::Environment(about) => self.about_environment(about, tables),
                Operation::Put { table, key, data, flags } => self.put(*table, key, data, *flags),
                Operation::Get { reads, table, key } => self.get(*reads, *table, key),
                Operation::Del { table, key, data } => {
                    let (mut key, mut data) = (val(key), data.as_ref().map(|data| val(data)));
                    let data = data.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
                    Answer::code((self.api.mdb_del)(self.txn(false), self.tables[*table], &mut key, data))
                }
                Operation::Drop { table } => Answer::code((self.api.mdb_drop)(self.txn(false), self.tables[*table], 0)),
                Operation::Delete { table } => {
                    Answer::code((self.api.mdb_drop)(self.txn(false), self.tables[*table], 1))
                }
                Operation::Open { table, name, as_if } => self.open_table(self.txn(false), *table, *name, *as_if),
                Operation::CloseHandle { table } => {
                    (self.api.mdb_dbi_close)(self.env, self.tables[*table]);
                    Answer::code(0)
                }
                Operation::Stale { table, how } => self.stale(*table, *how),
                Operation::Stat { reads, table } => {
                    let mut stat = MdbStat::default();
                    let code = (self.api.mdb_stat)(self.txn(*reads), self.tables[*table], &mut stat);
                    Answer::number(code, stat.ms_entries)
                }
                Operation::Flags { reads, table } => {
                    let mut flags = 0;
                    let code = (self.api.mdb_dbi_flags)(self.txn(*reads), self.tables[*table], &mut flags);
                    Answer::number(code, flags as usize)
                }
                Operation::Compare { reads, table, a, b } => {
                    let (txn, dbi) = (self.txn(*reads), self.tables[*table]);
                    Answer::code((self.api.mdb_cmp)(txn, dbi, &val(a), &val(b)).signum())
                }
                Operation::OpenCursor { reads, table, cursor } => {
                    let (txn, dbi) = (self.txn(*reads), self.tables[*table]);
                    Answer::code((self.api.mdb_cursor_open)(txn, dbi, &mut self.cursors[*cursor]))
                }
                Operation::CloseCursor { cursor } => {
                    (self.api.mdb_cursor_close)(std::mem::replace(&mut self.cursors[*cursor], ptr::null_mut()));
                    Answer::code(0)
                }
                Operation::ForgetCursor { cursor } => {
                    self.cursors[*cursor] = ptr::null_mut();
                    Answer::code(0)
                }
                Operation::RenewCursor { cursor } => {
                    Answer::code((self.api.mdb_cursor_renew)(self.reader, self.cursors[*cursor]))
                }
                Operation::Move { cursor, op, key, data, bare } => {
                    let data = (!bare).then_some(data.as_slice());
                    self.move_cursor(*cursor, *op, key, data)
                }
                Operation::Count { cursor } => {
                    let mut count = 0;
                    let code = (self.api.mdb_cursor_count)(self.cursors[*cursor], &mut count);
                    Answer::number(code, count)
                }
                Operation::CursorPut { cursor, key, data, flags } => {
                    let (mut key, mut value) = (val(key), val(data));
                    let code = (self.api.mdb_cursor_put)(self.cursors[*cursor], &mut key, &mut value, *flags);
                    Answer { key: Some(read(&key)), data: Some(read(&value)), ..Answer::code(code) }
                }
                Operation::PutCurrent { cursor, data, reserve } => self.put_current(*cursor, data, *reserve),
                Operation::PutMultiple { cursor, key, data, item } => {
                    let mut key = val(key);
                    let mut values =
                        [MdbVal { mv_size: *item, ..val(data) }, MdbVal { mv_size: data.len() / item, ..val(&[]) }];
                    let code =
                        (self.api.mdb_cursor_put)(self.cursors[*cursor], &mut key, values.as_mut_ptr(), put::MULTIPLE);
                    Answer { number: values[1].mv_size, ..Answer::code(code) }
                }
                Operation::CursorDel { cursor, flags } => {
                    Answer::code((self.api.mdb_cursor_del)(self.cursors[*cursor], *flags))
                }
            }
        }
    }

    unsafe fn about_environment(&mut self, about: &Environment, tables: &Tables) -> Answer {
        // SAFETY: see the head.
        unsafe {
            match about {
                Environment::Sync { force } => Answer::code((self.api.mdb_env_sync)(self.env, c_int::from(*force))),
                Environment::SetFlags { flags, on } => {
                    let code = (self.api.mdb_env_set_flags)(self.env, *flags, c_int::from(*on));
                    let mut now = 0;
                    (self.api.mdb_env_get_flags)(self.env, &mut now);
                    Answer::number(code, now as usize)
                }
                Environment::Info => {
                    let mut info = std::mem::zeroed::<MdbEnvinfo>();
                    let code = (self.api.mdb_env_info)(self.env, &mut info);
                    let said = format!("{} {} {}", info.me_mapsize, info.me_maxreaders, info.me_numreaders);
                    Answer { data: Some(said.into_bytes()), ..Answer::code(code) }
                }
                Environment::ReaderCheck => {
                    let mut dead = -1;
                    let code = (self.api.mdb_reader_check)(self.env, &mut dead);
                    Answer::number(code, dead as usize)
                }
                Environment::Copy { compact } => self.copy(*compact, tables),
                Environment::MapSize { bytes } => Answer::code((self.api.mdb_env_set_mapsize)(self.env, *bytes)),
            }
        }
    }

    /// Answers with all that is in the copy.
    unsafe fn copy(&mut self, compact: bool, tables: &Tables) -> Answer {
        let directory = tempfile::tempdir().unwrap();
        let place = CString::new(directory.path().to_str().unwrap()).unwrap();
        let (own, handles) = (self.env, self.tables.clone());
        // SAFETY: see the head; the copy's environment takes the place of the own one only to be read.
        unsafe {
            let code = (self.api.mdb_env_copy2)(self.env, place.as_ptr(), if compact { CP_COMPACT } else { 0 });
            if code != 0 {
                return Answer::code(code);
            }
            let original = std::mem::replace(&mut self.directory, place);
            self.open(tables);
            let all = self.dump(tables);
            (self.api.mdb_env_close)(self.env);
            (self.env, self.tables, self.directory) = (own, handles, original);
            let mut all_of_it = DefaultHasher::new();
            all.hash(&mut all_of_it);
            Answer { data: Some(all_of_it.finish().to_be_bytes().into()), number: all.len(), ..Answer::code(code) }
        }
    }

    unsafe fn begin_write(&mut self) -> Answer {
        let parent = self.txn(false);
        let mut txn = ptr::null_mut();
        // SAFETY: see the head.
        let code = unsafe { (self.api.mdb_txn_begin)(self.env, parent, 0, &mut txn) };
        if code == 0 {
            self.writers.push(txn);
        }
        Answer::code(code)
    }

    unsafe fn put(&mut self, table: usize, key: &[u8], data: &[u8], flags: c_uint) -> Answer {
        let (mut k, mut d) = (val(key), val(data));
        // SAFETY: see the head.
        let code = unsafe { (self.api.mdb_put)(self.txn(false), self.tables[table], &mut k, &mut d, flags) };
        if flags & put::RESERVE != 0 && code == 0 {
            // SAFETY: room of this length was made.
            unsafe { ptr::copy_nonoverlapping(data.as_ptr(), d.mv_data.cast(), data.len()) };
        }
        Answer { key: Some(read(&k)), data: Some(read(&d)), ..Answer::code(code) }
    }

    unsafe fn put_current(&mut self, cursor: usize, data: &[u8], reserve: bool) -> Answer {
        let (mut key, mut value) = (val(UNTOUCHED), val(UNTOUCHED));
        // SAFETY: see the head.
        let code =
            unsafe { (self.api.mdb_cursor_get)(self.cursors[cursor], &mut key, &mut value, Op::GetCurrent as c_uint) };
        if code != 0 {
            return Answer::code(code);
        }
        // The entry is moved, its key with it.
        let own = read(&key);
        let flags = put::CURRENT | if reserve { put::RESERVE } else { 0 };
        (key, value) = (val(&own), val(data));
        // SAFETY: as above.
        let code = unsafe { (self.api.mdb_cursor_put)(self.cursors[cursor], &mut key, &mut value, flags) };
        if code == 0 && reserve {
            // SAFETY: room of this length was made.
            unsafe { ptr::copy_nonoverlapping(data.as_ptr(), value.mv_data.cast(), data.len()) };
        }
        Answer { key: Some(own), ..Answer::code(code) }
    }

    unsafe fn get(&mut self, reads: bool, table: usize, key: &[u8]) -> Answer {
        let (mut key, mut data) = (val(key), val(UNTOUCHED));
        // SAFETY: see the head.
        let code = unsafe { (self.api.mdb_get)(self.txn(reads), self.tables[table], &mut key, &mut data) };
        Answer { key: Some(read(&key)), data: Some(read(&data)), ..Answer::code(code) }
    }

    /// Answers with what stands in key and value afterwards, also when nothing was found.
    unsafe fn move_cursor(&mut self, cursor: usize, op: c_uint, key: &[u8], data: Option<&[u8]>) -> Answer {
        let (mut k, mut d) = (val(key), data.map(val));
        let place = d.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        // SAFETY: see the head.
        let code = unsafe { (self.api.mdb_cursor_get)(self.cursors[cursor], &mut k, place, op) };
        Answer { key: Some(read(&k)), data: d.as_ref().map(read), ..Answer::code(code) }
    }

    /// All that is in all tables, as the innermost writer sees it, or a new reader: in 1.0, which has such, one within the
    /// writer.
    pub fn dump(&self, tables: &Tables) -> Vec<(usize, Vec<u8>, Vec<u8>)> {
        let mut all = Vec::new();
        // SAFETY: see the head.
        unsafe {
            let mut txn = self.txn(false);
            let is_new = txn.is_null() || self.api.major == 1;
            if is_new {
                assert_eq!((self.api.mdb_txn_begin)(self.env, txn, env::RDONLY, &mut txn), 0);
            }
            for (i, &dbi) in self.tables.iter().enumerate() {
                let is_seen = if self.writers.is_empty() { tables.is_public(i) } else { tables.is_usable(i, false) };
                if !is_seen {
                    continue;
                }
                let mut cursor = ptr::null_mut();
                assert_eq!((self.api.mdb_cursor_open)(txn, dbi, &mut cursor), 0);
                let (mut key, mut data) = (val(&[]), val(&[]));
                while (self.api.mdb_cursor_get)(cursor, &mut key, &mut data, 8) == 0 {
                    all.push((i, read(&key), read(&data)));
                }
                (self.api.mdb_cursor_close)(cursor);
            }
            if is_new {
                (self.api.mdb_txn_abort)(txn);
            }
        }
        all
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // SAFETY: see the head; what is left is ended in order.
        unsafe {
            while let Some(txn) = self.writers.pop() {
                (self.api.mdb_txn_abort)(txn);
            }
            if !self.reader.is_null() {
                (self.api.mdb_txn_abort)(self.reader);
            }
            (self.api.mdb_env_close)(self.env);
        }
    }
}
