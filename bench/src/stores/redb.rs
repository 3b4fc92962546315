//! redb, with a cache that holds all data.

use super::{Durability, Reader, Store, Writer, locked_version};
use anyhow::Result;
use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable, Table, TableDefinition};
use std::path::Path;

type Bytes = &'static [u8];
const TABLE: TableDefinition<Bytes, Bytes> = TableDefinition::new("records");

pub struct Redb {
    db: Database,
    durability: redb::Durability,
}

pub struct RedbReader(ReadOnlyTable<Bytes, Bytes>);

impl Store for Redb {
    type Reader<'a> = RedbReader;
    type Writer<'a> = Table<'a, Bytes, Bytes>;

    fn version() -> String {
        locked_version("redb")
    }

    fn open(dir: &Path, durability: Durability) -> Result<Self> {
        let durability = match durability {
            Durability::Durable => redb::Durability::Immediate,
            Durability::Relaxed => redb::Durability::None,
        };
        let path = dir.join("records.redb");
        let fresh = !path.exists();
        let db = Database::builder().set_cache_size(4 << 30).create(path)?;
        let store = Self { db, durability };
        if fresh {
            store.write(|_| Ok(()))?;
        }
        Ok(store)
    }

    fn read<R>(&self, body: impl FnOnce(&mut RedbReader) -> Result<R>) -> Result<R> {
        body(&mut RedbReader(self.db.begin_read()?.open_table(TABLE)?))
    }

    fn write(&self, body: impl FnOnce(&mut Table<'_, Bytes, Bytes>) -> Result<()>) -> Result<()> {
        let mut txn = self.db.begin_write()?;
        txn.set_durability(self.durability)?;
        let mut table = txn.open_table(TABLE)?;
        body(&mut table)?;
        drop(table);
        Ok(txn.commit()?)
    }
}

impl Reader for RedbReader {
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        Ok(self.0.get(key)?.map(|value| found(value.value())))
    }

    fn forward(&mut self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        for item in self.0.iter()? {
            let (key, value) = item?;
            visit(key.value(), value.value());
        }
        Ok(())
    }

    fn backward(&mut self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        for item in self.0.iter()?.rev() {
            let (key, value) = item?;
            visit(key.value(), value.value());
        }
        Ok(())
    }

    fn range(&mut self, from: &[u8], limit: usize, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        for item in self.0.range::<&[u8]>(from..)?.take(limit) {
            let (key, value) = item?;
            visit(key.value(), value.value());
        }
        Ok(())
    }
}

impl Writer for Table<'_, Bytes, Bytes> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.insert(key, value)?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.remove(key)?;
        Ok(())
    }
}
