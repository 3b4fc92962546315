//! SQLite in WAL mode. A connection belongs to one thread at a time, so readers take theirs from a pool.

use super::{Durability, Reader, Store, Writer};
use anyhow::Result;
use rusqlite::{CachedStatement, Connection};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub struct Sqlite {
    path: PathBuf,
    writer: Mutex<Connection>,
    readers: Mutex<Vec<Connection>>,
}

pub struct SqliteReader<'a> {
    connection: &'a Connection,
    get: CachedStatement<'a>,
}

pub struct SqliteWriter<'a> {
    put: CachedStatement<'a>,
    delete: CachedStatement<'a>,
}

fn connect(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA mmap_size = 68719476736; PRAGMA cache_size = -262144;")?;
    Ok(connection)
}

fn execute(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("a benchmark thread panicked")
}

impl Store for Sqlite {
    type Reader<'a> = SqliteReader<'a>;
    type Writer<'a> = SqliteWriter<'a>;

    fn version() -> String {
        rusqlite::version().into()
    }

    fn open(dir: &Path, durability: Durability) -> Result<Self> {
        let path = dir.join("records.sqlite");
        let writer = connect(&path)?;
        let synchronous = match durability {
            Durability::Durable => "FULL",
            Durability::Relaxed => "NORMAL",
        };
        writer.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};
             CREATE TABLE IF NOT EXISTS records (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;"
        ))?;
        Ok(Self { path, writer: Mutex::new(writer), readers: Mutex::default() })
    }

    fn read<R>(&self, body: impl FnOnce(&mut SqliteReader<'_>) -> Result<R>) -> Result<R> {
        let pooled = lock(&self.readers).pop();
        let connection = pooled.map_or_else(|| connect(&self.path), Ok)?;
        execute(&connection, "BEGIN")?;
        let get = connection.prepare_cached("SELECT v FROM records WHERE k = ?")?;
        let result = body(&mut SqliteReader { connection: &connection, get })?;
        execute(&connection, "COMMIT")?;
        lock(&self.readers).push(connection);
        Ok(result)
    }

    fn write(&self, body: impl FnOnce(&mut SqliteWriter<'_>) -> Result<()>) -> Result<()> {
        let connection = lock(&self.writer);
        execute(&connection, "BEGIN IMMEDIATE")?;
        let put = connection.prepare_cached("INSERT OR REPLACE INTO records (k, v) VALUES (?, ?)")?;
        let delete = connection.prepare_cached("DELETE FROM records WHERE k = ?")?;
        body(&mut SqliteWriter { put, delete })?;
        execute(&connection, "COMMIT")
    }
}

impl SqliteReader<'_> {
    fn walk(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(parameters)?;
        while let Some(row) = rows.next()? {
            visit(row.get_ref(0)?.as_blob()?, row.get_ref(1)?.as_blob()?);
        }
        Ok(())
    }
}

impl Reader for SqliteReader<'_> {
    fn get<R>(&mut self, key: &[u8], found: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let mut rows = self.get.query([key])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some(found(row.get_ref(0)?.as_blob()?)))
    }

    fn forward(&mut self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        self.walk("SELECT k, v FROM records ORDER BY k", [], visit)
    }

    fn backward(&mut self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        self.walk("SELECT k, v FROM records ORDER BY k DESC", [], visit)
    }

    fn range(&mut self, from: &[u8], limit: usize, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        self.walk("SELECT k, v FROM records WHERE k >= ? ORDER BY k LIMIT ?", (from, limit as i64), visit)
    }

    fn keys(&mut self, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let mut statement = self.connection.prepare_cached("SELECT k FROM records ORDER BY k")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            visit(row.get_ref(0)?.as_blob()?);
        }
        Ok(())
    }
}

impl Writer for SqliteWriter<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put.execute((key, value))?;
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.delete.execute([key])?;
        Ok(())
    }
}
