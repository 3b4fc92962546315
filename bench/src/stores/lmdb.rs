//! LMDB through heed. One unnamed table, which spares LMDB a page for each commit.

use super::{Access, Durability, Reader, Store, Writer};
use anyhow::{Context, Result};
use heed::types::{Bytes, DecodeIgnore};
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags, RoTxn, RwTxn, WithTls};
use std::ops::Bound;
use std::path::Path;

type Table = Database<Bytes, Bytes>;

pub struct Lmdb {
    env: Env,
    table: Table,
}

pub struct LmdbReader<'a> {
    txn: RoTxn<'a, WithTls>,
    table: Table,
}

pub struct LmdbWriter<'a> {
    txn: RwTxn<'a>,
    table: Table,
}

impl Store for Lmdb {
    type Reader<'a> = LmdbReader<'a>;
    type Writer<'a> = LmdbWriter<'a>;

    fn version() -> String {
        let version = heed::lmdb_version();
        format!("{}.{}.{}", version.major, version.minor, version.patch)
    }

    fn open(dir: &Path, durability: Durability) -> Result<Self> {
        open(dir, if durability == Durability::Relaxed { EnvFlags::NO_SYNC } else { EnvFlags::empty() })
    }

    fn open_cold(dir: &Path, access: Access) -> Result<Option<Self>> {
        open(dir, if access == Access::Random { EnvFlags::NO_READ_AHEAD } else { EnvFlags::empty() }).map(Some)
    }

    fn read<R>(&self, body: impl FnOnce(&mut LmdbReader<'_>) -> Result<R>) -> Result<R> {
        body(&mut LmdbReader { txn: self.env.read_txn()?, table: self.table })
    }

    fn write(&self, body: impl FnOnce(&mut LmdbWriter<'_>) -> Result<()>) -> Result<()> {
        let mut writer = LmdbWriter { txn: self.env.write_txn()?, table: self.table };
        body(&mut writer)?;
        Ok(writer.txn.commit()?)
    }
}

fn open(dir: &Path, flags: EnvFlags) -> Result<Lmdb> {
    let mut options = EnvOpenOptions::new();
    options.map_size(64 << 30);
    // SAFETY: the flags say how the file is flushed and read; the benchmark does not outlive a crash of the machine.
    unsafe { options.flags(flags) };
    // SAFETY: nothing else opens or changes the files of this process's directory.
    let env = unsafe { options.open(dir)? };
    let txn = env.read_txn()?;
    let existing = env.open_database(&txn, None)?;
    drop(txn);
    let table = existing.context("the unnamed table always exists")?;
    Ok(Lmdb { env, table })
}

impl Reader for LmdbReader<'_> {
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        Ok(self.table.get(&self.txn, key)?.map(found))
    }

    fn forward(&mut self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        for item in self.table.iter(&self.txn)? {
            let (key, value) = item?;
            visit(key, value);
        }
        Ok(())
    }

    fn backward(&mut self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        for item in self.table.rev_iter(&self.txn)? {
            let (key, value) = item?;
            visit(key, value);
        }
        Ok(())
    }

    fn range(&mut self, from: &[u8], limit: usize, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let bounds = (Bound::Included(from), Bound::Unbounded);
        for item in self.table.range(&self.txn, &bounds)?.take(limit) {
            let (key, value) = item?;
            visit(key, value);
        }
        Ok(())
    }

    fn keys(&mut self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        for item in self.table.remap_data_type::<DecodeIgnore>().iter(&self.txn)? {
            visit(item?.0);
        }
        Ok(())
    }
}

impl Writer for LmdbWriter<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.table.put(&mut self.txn, key, value)?)
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Ok(self.table.put_with_flags(&mut self.txn, PutFlags::APPEND, key, value)?)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.table.delete(&mut self.txn, key)?;
        Ok(())
    }
}
