//! Duramen, with its defaults.

use super::{Access, Durability, Input, Reader, Store, Writer, locked_version};
use crate::data::{KEY, LOADED, VALUE, Values};
use anyhow::{Context, Result};
use duramen::{BulkOptions, Database, Table, TableMut};
use std::path::Path;

const TABLE: &str = "records";

pub struct Duramen(Database);

pub struct DuramenReader<'a>(Table<'a>);

pub struct DuramenWriter<'a>(TableMut<'a>);

impl Store for Duramen {
    type Reader<'a> = DuramenReader<'a>;
    type Writer<'a> = DuramenWriter<'a>;

    fn version() -> String {
        locked_version("duramen")
    }

    fn open(dir: &Path, durability: Durability) -> Result<Self> {
        let durability = match durability {
            Durability::Durable => duramen::Durability::Durable,
            Durability::Relaxed => duramen::Durability::Relaxed,
        };
        let path = dir.join("records.dm");
        let fresh = !path.exists();
        let store = Self(Database::options().durability(durability).open(path)?);
        if fresh {
            store.write(|_| Ok(()))?;
        }
        Ok(store)
    }

    fn open_cold(dir: &Path, _access: Access) -> Result<Option<Self>> {
        Self::open(dir, Durability::Durable).map(Some)
    }

    fn read<R>(&self, body: impl FnOnce(&mut DuramenReader<'_>) -> Result<R>) -> Result<R> {
        let snapshot = self.0.read()?;
        body(&mut DuramenReader(snapshot.table(TABLE)?))
    }

    fn write(&self, body: impl FnOnce(&mut DuramenWriter<'_>) -> Result<()>) -> Result<()> {
        let mut txn = self.0.begin_write()?;
        body(&mut DuramenWriter(txn.table(TABLE)?))?;
        Ok(txn.commit()?)
    }

    fn load(&self, input: Input, records: &[([u8; KEY], u64)]) -> Result<()> {
        let mut values = Values::new(VALUE);
        let mut load = self.0.bulk_load(TABLE, BulkOptions::new().sorted(input == Input::Sorted))?;
        records.iter().try_for_each(|(key, i)| load.push(key, values.get(*i, LOADED)))?;
        load.finish()?;
        Ok(())
    }

    fn put_among_others(&self, key: [u8; KEY], value: Vec<u8>) -> Result<()> {
        Ok(self.0.submit(move |txn| txn.table(TABLE)?.put(key, value))?)
    }
}

impl Reader for DuramenReader<'_> {
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        Ok(self.0.get(key)?.map(found))
    }

    fn get_many(&mut self, keys: &[[u8; KEY]], mut found: impl FnMut(&[u8], &[u8])) -> Result<()> {
        for (key, value) in keys.iter().zip(self.0.get_many(keys)?) {
            found(key, value.context("a record is missing")?);
        }
        Ok(())
    }

    fn forward(&mut self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        for item in self.0.iter() {
            let (key, value) = item?;
            visit(key, value);
        }
        Ok(())
    }

    fn backward(&mut self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        for item in self.0.iter().rev() {
            let (key, value) = item?;
            visit(key, value);
        }
        Ok(())
    }

    fn range(&mut self, from: &[u8], limit: usize, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        for item in self.0.range(from..)?.take(limit) {
            let (key, value) = item?;
            visit(key, value);
        }
        Ok(())
    }

    fn keys(&mut self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        for key in self.0.keys() {
            visit(key?);
        }
        Ok(())
    }
}

impl Writer for DuramenWriter<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.put(key, value)?;
        Ok(())
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.append(key, value)?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.delete(key)?;
        Ok(())
    }
}
