//! A copy without free space: a new database that takes all entries in their order.
//!
//! Owns: what goes into it. Must not know: pages, where copies are wanted.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{Database, Options};
use crate::error::{Error, Result};
use crate::os::file;
use crate::store::Durability;
use crate::txn::{BulkOptions, Snapshot, TableOptions, WriteTxn};

/// A table of so few entries takes them one by one: what a load of its own costs grows with the number of tables, and there
/// may be many thousands of small ones.
const FEW: u64 = 100;
/// Entries between two calls of the function that is told of the progress.
const STEP: u64 = 4096;

/// What is told of the progress: entries copied, entries in all.
type Progress<'p> = &'p mut dyn FnMut(u64, u64) -> ControlFlow<()>;

/// See [`Database::copy_compact`].
pub(super) fn compact(db: &Database, path: &Path, progress: Progress<'_>) -> Result<()> {
    let was_there = is_empty_file(path)?;
    let made = fill(db, path, progress);
    if made.is_err() && !was_there {
        // The error that is told is the one that matters.
        let _ = fs::remove_file(path);
    }
    made
}

/// Whether there is a file, which must be empty then.
fn is_empty_file(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(found) if found.is_file() && found.len() == 0 => Ok(true),
        Ok(_) => Err(Error::Usage { what: "a copy goes into an empty file" }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(file::failed("inspect", path)(error)),
    }
}

fn fill(db: &Database, path: &Path, progress: Progress<'_>) -> Result<()> {
    let mode = db.store.file().metadata().map_err(file::failed("inspect", db.path()))?.mode();
    let options = Options::new().page_size(db.page_size()).mode(mode & 0o777).without_lock_file();
    let copy = options.durability(Durability::Relaxed).open(path)?;
    let (snapshot, user_number) = newest(db)?;
    let mut txn = copy.begin_write()?;
    txn.set_user_number(user_number);
    txn.leave_nothing_free();
    let mut run = Run { snapshot: &snapshot, names: snapshot.table_names()?, done: 0, total: 0, progress };
    run.total = run.count()?;
    run.main(&mut txn)?;
    for i in 0..run.names.len() {
        let name = run.names[i].clone();
        run.table(&mut txn, &name)?;
    }
    txn.commit()?;
    drop(snapshot);
    copy.close()
}

/// The newest commit and the number that its writer gave it.
fn newest(db: &Database) -> Result<(Snapshot<'_>, u64)> {
    loop {
        let (mut snapshot, user_number) = (db.read()?, db.user_number()?);
        // What is copied gets a checksum of its own: damage would never be found again.
        snapshot.late_checks(false);
        if db.glance()?.txnid() == snapshot.txnid() {
            return Ok((snapshot, user_number));
        }
    }
}

struct Run<'r> {
    snapshot: &'r Snapshot<'r>,
    /// Of all tables but the main one, sorted.
    names: Vec<Vec<u8>>,
    done: u64,
    total: u64,
    progress: Progress<'r>,
}

impl Run<'_> {
    /// Entries in all, as the tables say, which may be damaged.
    fn count(&self) -> Result<u64> {
        let mut entries = self.snapshot.main_stats().entries.saturating_sub(self.names.len() as u64);
        for name in &self.names {
            entries = entries.saturating_add(self.snapshot.table_stats(name)?.map_or(0, |stats| stats.entries));
        }
        Ok(entries)
    }

    /// One more entry was copied.
    fn step(&mut self) -> Result<()> {
        self.done += 1;
        if self.done.is_multiple_of(STEP) && (self.progress)(self.done, self.total).is_break() {
            return Err(Error::Stopped);
        }
        Ok(())
    }

    /// Entries of the main table: those beside names of tables are few, and alone it is a table like others.
    fn main(&mut self, txn: &mut WriteTxn<'_>) -> Result<()> {
        if self.names.is_empty() {
            return self.table(txn, b"");
        }
        txn.set_main_options(&self.options(b"")?)?;
        let main = txn.main_table();
        for entry in self.snapshot.table_to_walk(b"")?.iter() {
            let (key, value) = entry?;
            if self.names.binary_search_by(|name| name.as_slice().cmp(key)).is_err() {
                txn.put(main, key, value)?;
                self.step()?;
            }
        }
        Ok(())
    }

    fn table(&mut self, txn: &mut WriteTxn<'_>, name: &[u8]) -> Result<()> {
        let (options, entries) = (self.options(name)?, self.snapshot.table_to_walk(name)?);
        if entries.len() <= FEW && !name.is_empty() && !entries.stats().is_custom() {
            let copy = txn.open_table(name, Some(&options))?;
            for entry in entries.iter() {
                let (key, value) = entry?;
                txn.put(copy, key, value)?;
                self.step()?;
            }
            return Ok(());
        }
        let mut load = txn.bulk_load(name, BulkOptions::new().table(options).sorted(true))?;
        for entry in entries.iter() {
            let (key, value) = entry?;
            load.push(key, value)?;
            self.step()?;
        }
        load.finish().map(drop)
    }

    fn options(&self, name: &[u8]) -> Result<TableOptions> {
        self.snapshot.options_of(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::meta::{Meta, SLOT_BYTES, SLOTS};

    #[test]
    fn a_main_table_that_says_to_have_fewer_entries_than_tables_is_copied_or_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("it.dm");
        let db = Database::open(&path).unwrap();
        db.update(|txn| ["a", "b"].iter().try_for_each(|name| txn.table(name)?.put("k", "v"))).unwrap();
        db.close().unwrap();
        let mut file = fs::read(&path).unwrap();
        for slot in file.chunks_mut(SLOT_BYTES).take(SLOTS) {
            let mut meta = Meta::decode(slot).ok().unwrap();
            meta.catalog.entries = 0;
            slot.copy_from_slice(&meta.encode_whole());
        }
        fs::write(&path, file).unwrap();
        let db = Database::open(&path).unwrap();
        let copied = db.copy_compact(dir.path().join("copy.dm"), |_, _| ControlFlow::Continue(()));
        assert!(copied.is_ok() || matches!(copied, Err(Error::Corrupt { .. })), "{copied:?}");
    }
}
