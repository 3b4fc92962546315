//! fjall, with a cache that holds all data and without compression (the values do not compress).

use super::{Durability, Reader, Store, Writer, locked_version};
use anyhow::Result;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable, Snapshot, OwnedWriteBatch};
use std::path::Path;

pub struct Fjall {
    db: Database,
    records: Keyspace,
    persist: PersistMode,
}

pub struct FjallReader<'a> {
    snapshot: Snapshot,
    records: &'a Keyspace,
}

pub struct FjallWriter<'a> {
    batch: OwnedWriteBatch,
    records: &'a Keyspace,
}

impl Store for Fjall {
    type Reader<'a> = FjallReader<'a>;
    type Writer<'a> = FjallWriter<'a>;

    fn version() -> String {
        locked_version("fjall")
    }

    fn open(dir: &Path, durability: Durability) -> Result<Self> {
        let persist = match durability {
            Durability::Durable => PersistMode::SyncData,
            Durability::Relaxed => PersistMode::Buffer,
        };
        let db = Database::builder(dir.join("records")).cache_size(4 << 30).open()?;
        let records = db.keyspace("records", KeyspaceCreateOptions::default)?;
        Ok(Self { db, records, persist })
    }

    fn read<R>(&self, body: impl FnOnce(&mut FjallReader<'_>) -> Result<R>) -> Result<R> {
        body(&mut FjallReader { snapshot: self.db.snapshot(), records: &self.records })
    }

    fn write(&self, body: impl FnOnce(&mut FjallWriter<'_>) -> Result<()>) -> Result<()> {
        let batch = self.db.batch().durability(Some(self.persist));
        let mut writer = FjallWriter { batch, records: &self.records };
        body(&mut writer)?;
        Ok(writer.batch.commit()?)
    }
}

fn walk(items: impl Iterator<Item = fjall::Guard>, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
    for item in items {
        let (key, value) = item.into_inner()?;
        visit(&key, &value);
    }
    Ok(())
}

impl Reader for FjallReader<'_> {
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        Ok(self.snapshot.get(self.records, key)?.map(|value| found(&value)))
    }

    fn forward(&mut self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        walk(self.snapshot.iter(self.records), visit)
    }

    fn backward(&mut self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        walk(self.snapshot.iter(self.records).rev(), visit)
    }

    fn range(&mut self, from: &[u8], limit: usize, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        walk(self.snapshot.range(self.records, from..).take(limit), visit)
    }

    fn keys(&mut self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        for item in self.snapshot.iter(self.records) {
            visit(&item.key()?);
        }
        Ok(())
    }
}

impl Writer for FjallWriter<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.batch.insert(self.records, key, value);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.batch.remove(self.records, key);
        Ok(())
    }
}
