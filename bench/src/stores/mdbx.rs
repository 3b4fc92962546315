//! libmdbx through its C interface: no safe wrapper stands between it and the measurement. One unnamed table, as for LMDB.

use super::{Access, Durability, Reader, Store, Writer};
use anyhow::{Result, anyhow};
use signet_mdbx_sys::*;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};

pub struct Mdbx {
    env: *mut MDBX_env,
    table: MDBX_dbi,
}

// SAFETY: an environment of libmdbx may be used from all threads; transactions stay in theirs.
unsafe impl Sync for Mdbx {}

/// A transaction that is aborted unless it was committed.
pub struct MdbxTxn<'a> {
    txn: *mut MDBX_txn,
    table: MDBX_dbi,
    env: PhantomData<&'a Mdbx>,
}

fn check(code: i32) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: libmdbx returns a static, terminated string for every code.
    let text = unsafe { CStr::from_ptr(mdbx_strerror(code)) };
    Err(anyhow!("libmdbx: {}", text.to_string_lossy()))
}

fn found(code: i32) -> Result<bool> {
    if code == MDBX_NOTFOUND { Ok(false) } else { check(code).map(|()| true) }
}

fn lend(bytes: &[u8]) -> MDBX_val {
    MDBX_val { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

/// # Safety
/// `value` has come from libmdbx in a transaction that lives longer than the slice and has written nothing since.
unsafe fn bytes<'a>(value: MDBX_val) -> &'a [u8] {
    // SAFETY: as above; libmdbx never returns a null base.
    unsafe { std::slice::from_raw_parts(value.iov_base.cast(), value.iov_len) }
}

impl Mdbx {
    fn begin(&self, flags: MDBX_txn_flags_t) -> Result<MdbxTxn<'_>> {
        let mut txn = null_mut();
        // SAFETY: the environment is open; `txn` receives the transaction.
        check(unsafe { mdbx_txn_begin_ex(self.env, null_mut(), flags, &mut txn, null_mut()) })?;
        Ok(MdbxTxn { txn, table: self.table, env: PhantomData })
    }
}

impl Drop for Mdbx {
    fn drop(&mut self) {
        // SAFETY: opened by `open`; transactions borrow from `self`, so none is left.
        unsafe { mdbx_env_close_ex(self.env, false) };
    }
}

impl Store for Mdbx {
    type Reader<'a> = MdbxTxn<'a>;
    type Writer<'a> = MdbxTxn<'a>;

    fn version() -> String {
        // SAFETY: a constant of the library.
        let version = unsafe { &mdbx_version };
        format!("{}.{}.{}", version.major, version.minor, version.patch)
    }

    fn open(dir: &Path, durability: Durability) -> Result<Self> {
        open(dir, if durability == Durability::Relaxed { MDBX_UTTERLY_NOSYNC } else { MDBX_ENV_DEFAULTS })
    }

    fn open_cold(dir: &Path, access: Access) -> Result<Option<Self>> {
        open(dir, if access == Access::Random { MDBX_NORDAHEAD } else { MDBX_ENV_DEFAULTS }).map(Some)
    }

    fn read<R>(&self, body: impl FnOnce(&mut MdbxTxn<'_>) -> Result<R>) -> Result<R> {
        body(&mut self.begin(MDBX_TXN_RDONLY)?)
    }

    fn write(&self, body: impl FnOnce(&mut MdbxTxn<'_>) -> Result<()>) -> Result<()> {
        let mut txn = self.begin(MDBX_TXN_READWRITE)?;
        body(&mut txn)?;
        txn.commit()
    }
}

fn open(dir: &Path, flags: MDBX_env_flags_t) -> Result<Mdbx> {
    let path = CString::new(dir.as_os_str().as_bytes())?;
    let mut store = Mdbx { env: null_mut(), table: 0 };
    // SAFETY: plain calls in the order that libmdbx wants; `store` closes the environment if one fails.
    unsafe {
        check(mdbx_env_create(&mut store.env))?;
        check(mdbx_env_set_geometry(store.env, -1, -1, 64 << 30, -1, -1, 4096))?;
        check(mdbx_env_open(store.env, path.as_ptr(), flags, 0o644))?;
    }
    let mut txn = store.begin(MDBX_TXN_READWRITE)?;
    let mut table = 0;
    // SAFETY: the transaction is live; a null name means the unnamed table.
    check(unsafe { mdbx_dbi_open(txn.txn, null(), MDBX_DB_DEFAULTS, &mut table) })?;
    txn.commit()?;
    drop(txn);
    store.table = table;
    Ok(store)
}

impl MdbxTxn<'_> {
    fn commit(&mut self) -> Result<()> {
        let txn = std::mem::replace(&mut self.txn, null_mut());
        // SAFETY: live until here, and out of reach of `drop` now: a commit ends the transaction even if it fails.
        check(unsafe { mdbx_txn_commit_ex(txn, null_mut()) })
    }

    fn store(&mut self, key: &[u8], value: &[u8], flags: MDBX_put_flags_t) -> Result<()> {
        // SAFETY: the transaction is live; libmdbx copies both.
        check(unsafe { mdbx_put(self.txn, self.table, &lend(key), &mut lend(value), flags) })
    }

    /// Moves a cursor by `start`, then by `step`, and visits at most `limit` records.
    fn walk(
        &mut self,
        from: &[u8],
        [start, step]: [MDBX_cursor_op; 2],
        limit: usize,
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let mut cursor = null_mut();
        // SAFETY: the transaction is live; the cursor is closed below and nothing in between returns.
        check(unsafe { mdbx_cursor_open(self.txn, self.table, &mut cursor) })?;
        let (mut key, mut value, mut op) = (lend(from), lend(&[]), start);
        let mut outcome = Ok(true);
        for _ in 0..limit {
            // SAFETY: cursor and transaction are live.
            outcome = found(unsafe { mdbx_cursor_get(cursor, &mut key, &mut value, op) });
            if !matches!(outcome, Ok(true)) {
                break;
            }
            // SAFETY: both come from the call above.
            unsafe { visit(bytes(key), bytes(value)) };
            op = step;
        }
        // SAFETY: opened above.
        unsafe { mdbx_cursor_close(cursor) };
        outcome.map(|_| ())
    }
}

impl Drop for MdbxTxn<'_> {
    fn drop(&mut self) {
        if !self.txn.is_null() {
            // SAFETY: live, as `commit` would have taken it away.
            unsafe { mdbx_txn_abort(self.txn) };
        }
    }
}

impl Reader for MdbxTxn<'_> {
    fn get<R>(&mut self, key: &[u8], use_value: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let mut value = lend(&[]);
        // SAFETY: the transaction is live; `value` receives bytes that it keeps.
        let hit = found(unsafe { mdbx_get(self.txn, self.table, &lend(key), &mut value) })?;
        // SAFETY: filled by the call above.
        Ok(hit.then(|| use_value(unsafe { bytes(value) })))
    }

    fn forward(&mut self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        self.walk(&[], [MDBX_FIRST, MDBX_NEXT], usize::MAX, visit)
    }

    fn backward(&mut self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        self.walk(&[], [MDBX_LAST, MDBX_PREV], usize::MAX, visit)
    }

    fn range(&mut self, from: &[u8], limit: usize, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        self.walk(from, [MDBX_SET_RANGE, MDBX_NEXT], limit, visit)
    }
}

impl Writer for MdbxTxn<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.store(key, value, MDBX_UPSERT)
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.store(key, value, MDBX_APPEND)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        // SAFETY: the transaction is live.
        found(unsafe { mdbx_del(self.txn, self.table, &lend(key), null()) })?;
        Ok(())
    }
}
