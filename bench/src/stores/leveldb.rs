//! LevelDB through its C interface (Debian's libleveldb-dev), with a cache that holds all data, a Bloom filter, a write buffer of 64 MiB and
//! no compression (the values do not compress).

use super::{Durability, Reader, Store, Writer};
use anyhow::{Result, anyhow};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

/// LevelDB's opaque types, all behind pointers.
type Handle = *mut c_void;

#[link(name = "leveldb")]
unsafe extern "C" {
    fn leveldb_major_version() -> c_int;
    fn leveldb_minor_version() -> c_int;
    fn leveldb_free(memory: *mut c_void);
    fn leveldb_options_create() -> Handle;
    fn leveldb_options_set_create_if_missing(options: Handle, yes: u8);
    fn leveldb_options_set_write_buffer_size(options: Handle, bytes: usize);
    fn leveldb_options_set_max_open_files(options: Handle, files: c_int);
    fn leveldb_options_set_cache(options: Handle, cache: Handle);
    fn leveldb_options_set_filter_policy(options: Handle, policy: Handle);
    fn leveldb_options_set_compression(options: Handle, kind: c_int);
    fn leveldb_cache_create_lru(bytes: usize) -> Handle;
    fn leveldb_filterpolicy_create_bloom(bits: c_int) -> Handle;
    fn leveldb_open(options: Handle, path: *const c_char, error: *mut *mut c_char) -> Handle;
    fn leveldb_close(db: Handle);
    fn leveldb_writeoptions_create() -> Handle;
    fn leveldb_writeoptions_destroy(options: Handle);
    fn leveldb_writeoptions_set_sync(options: Handle, yes: u8);
    fn leveldb_writebatch_create() -> Handle;
    fn leveldb_writebatch_destroy(batch: Handle);
    fn leveldb_writebatch_put(batch: Handle, key: *const u8, key_len: usize, value: *const u8, value_len: usize);
    fn leveldb_writebatch_delete(batch: Handle, key: *const u8, key_len: usize);
    fn leveldb_write(db: Handle, options: Handle, batch: Handle, error: *mut *mut c_char);
    fn leveldb_readoptions_create() -> Handle;
    fn leveldb_readoptions_destroy(options: Handle);
    fn leveldb_readoptions_set_snapshot(options: Handle, snapshot: *const c_void);
    fn leveldb_create_snapshot(db: Handle) -> *const c_void;
    fn leveldb_release_snapshot(db: Handle, snapshot: *const c_void);
    fn leveldb_get(
        db: Handle,
        options: Handle,
        key: *const u8,
        key_len: usize,
        value_len: *mut usize,
        error: *mut *mut c_char,
    ) -> *mut u8;
    fn leveldb_create_iterator(db: Handle, options: Handle) -> Handle;
    fn leveldb_iter_destroy(iterator: Handle);
    fn leveldb_iter_valid(iterator: Handle) -> u8;
    fn leveldb_iter_seek_to_first(iterator: Handle);
    fn leveldb_iter_seek_to_last(iterator: Handle);
    fn leveldb_iter_seek(iterator: Handle, key: *const u8, key_len: usize);
    fn leveldb_iter_next(iterator: Handle);
    fn leveldb_iter_prev(iterator: Handle);
    fn leveldb_iter_key(iterator: Handle, len: *mut usize) -> *const u8;
    fn leveldb_iter_value(iterator: Handle, len: *mut usize) -> *const u8;
    fn leveldb_iter_get_error(iterator: Handle, error: *mut *mut c_char);
}

pub struct LevelDb {
    db: Handle,
    write_options: Handle,
}

// SAFETY: LevelDB's database object may be used from all threads without locks.
unsafe impl Sync for LevelDb {}

/// A snapshot.
pub struct LevelDbReader<'a> {
    store: &'a LevelDb,
    options: Handle,
    snapshot: *const c_void,
}

/// A batch.
pub struct LevelDbWriter(Handle);

/// Calls LevelDB with a place for its error message.
fn call<R>(body: impl FnOnce(*mut *mut c_char) -> R) -> Result<R> {
    let mut error = null_mut();
    let result = body(&mut error);
    if error.is_null() {
        return Ok(result);
    }
    // SAFETY: LevelDB left a terminated string that the caller frees.
    let text = unsafe { CStr::from_ptr(error) }.to_string_lossy().into_owned();
    // SAFETY: as above; the text has been copied.
    unsafe { leveldb_free(error.cast()) };
    Err(anyhow!("LevelDB: {text}"))
}

impl Store for LevelDb {
    type Reader<'a> = LevelDbReader<'a>;
    type Writer<'a> = LevelDbWriter;

    fn version() -> String {
        // SAFETY: both return constants.
        unsafe { format!("{}.{}", leveldb_major_version(), leveldb_minor_version()) }
    }

    fn open(dir: &Path, durability: Durability) -> Result<Self> {
        let path = CString::new(dir.as_os_str().as_bytes())?;
        // SAFETY: plain calls with live handles. Options, cache and filter live as long as the process, which opens one database.
        unsafe {
            let options = leveldb_options_create();
            leveldb_options_set_create_if_missing(options, 1);
            leveldb_options_set_write_buffer_size(options, 64 << 20);
            leveldb_options_set_max_open_files(options, 10_000);
            leveldb_options_set_cache(options, leveldb_cache_create_lru(4 << 30));
            leveldb_options_set_filter_policy(options, leveldb_filterpolicy_create_bloom(10));
            leveldb_options_set_compression(options, 0);
            let db = call(|error| leveldb_open(options, path.as_ptr(), error))?;
            let write_options = leveldb_writeoptions_create();
            leveldb_writeoptions_set_sync(write_options, u8::from(durability == Durability::Durable));
            Ok(Self { db, write_options })
        }
    }

    fn read<R>(&self, body: impl FnOnce(&mut LevelDbReader<'_>) -> Result<R>) -> Result<R> {
        // SAFETY: the database is open; the reader frees both.
        let mut reader = unsafe {
            let (options, snapshot) = (leveldb_readoptions_create(), leveldb_create_snapshot(self.db));
            leveldb_readoptions_set_snapshot(options, snapshot);
            LevelDbReader { store: self, options, snapshot }
        };
        body(&mut reader)
    }

    fn write(&self, body: impl FnOnce(&mut LevelDbWriter) -> Result<()>) -> Result<()> {
        // SAFETY: the writer frees it.
        let mut writer = LevelDbWriter(unsafe { leveldb_writebatch_create() });
        body(&mut writer)?;
        // SAFETY: all three are live.
        call(|error| unsafe { leveldb_write(self.db, self.write_options, writer.0, error) })
    }
}

impl Drop for LevelDb {
    fn drop(&mut self) {
        // SAFETY: made by `open`; readers borrow from `self`, so none is left.
        unsafe {
            leveldb_writeoptions_destroy(self.write_options);
            leveldb_close(self.db);
        }
    }
}

impl Drop for LevelDbReader<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `read` from the same database.
        unsafe {
            leveldb_readoptions_destroy(self.options);
            leveldb_release_snapshot(self.store.db, self.snapshot);
        }
    }
}

impl Drop for LevelDbWriter {
    fn drop(&mut self) {
        // SAFETY: made by `write`.
        unsafe { leveldb_writebatch_destroy(self.0) };
    }
}

impl LevelDbReader<'_> {
    fn walk(
        &mut self,
        start: impl FnOnce(Handle),
        step: unsafe extern "C" fn(Handle),
        limit: usize,
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        // SAFETY: database and options are live; the iterator is destroyed below and lends its bytes until it moves.
        unsafe {
            let iterator = leveldb_create_iterator(self.store.db, self.options);
            start(iterator);
            for _ in 0..limit {
                if leveldb_iter_valid(iterator) == 0 {
                    break;
                }
                let (mut key_len, mut value_len) = (0, 0);
                let key = leveldb_iter_key(iterator, &mut key_len);
                let value = leveldb_iter_value(iterator, &mut value_len);
                visit(std::slice::from_raw_parts(key, key_len), std::slice::from_raw_parts(value, value_len));
                step(iterator);
            }
            let outcome = call(|error| leveldb_iter_get_error(iterator, error));
            leveldb_iter_destroy(iterator);
            outcome
        }
    }
}

impl Reader for LevelDbReader<'_> {
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let mut len = 0;
        let (db, options) = (self.store.db, self.options);
        // SAFETY: database and options are live; the result is a copy of `len` bytes, or null.
        let value = call(|error| unsafe { leveldb_get(db, options, key.as_ptr(), key.len(), &mut len, error) })?;
        if value.is_null() {
            return Ok(None);
        }
        // SAFETY: as above.
        let result = found(unsafe { std::slice::from_raw_parts(value, len) });
        // SAFETY: the copy is ours and not used any more.
        unsafe { leveldb_free(value.cast()) };
        Ok(Some(result))
    }

    fn forward(&mut self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        // SAFETY: `walk` passes a live iterator.
        self.walk(|iterator| unsafe { leveldb_iter_seek_to_first(iterator) }, leveldb_iter_next, usize::MAX, visit)
    }

    fn backward(&mut self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        // SAFETY: `walk` passes a live iterator.
        self.walk(|iterator| unsafe { leveldb_iter_seek_to_last(iterator) }, leveldb_iter_prev, usize::MAX, visit)
    }

    fn range(&mut self, from: &[u8], limit: usize, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        // SAFETY: `walk` passes a live iterator.
        let start = |iterator| unsafe { leveldb_iter_seek(iterator, from.as_ptr(), from.len()) };
        self.walk(start, leveldb_iter_next, limit, visit)
    }
}

impl Writer for LevelDbWriter {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        // SAFETY: the batch is live and copies both.
        unsafe { leveldb_writebatch_put(self.0, key.as_ptr(), key.len(), value.as_ptr(), value.len()) };
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        // SAFETY: the batch is live and copies the key.
        unsafe { leveldb_writebatch_delete(self.0, key.as_ptr(), key.len()) };
        Ok(())
    }
}
