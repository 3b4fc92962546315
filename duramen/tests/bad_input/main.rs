//! What is not a database, what may not be opened, and what may not be asked: each a clear error, and nothing harmed.

mod failures;
mod files;
mod misuse;
mod orders;
mod permissions;
#[path = "../roles/mod.rs"]
mod roles;
mod stale;

use duramen::{Database, Options, Result};
use tempfile::TempDir;

fn scratch() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bad.dm").to_str().unwrap().to_string();
    (dir, path)
}

/// A database of a few commits, closed.
fn closed() -> Result<(TempDir, String)> {
    let (dir, path) = scratch();
    let db = Options::new().medium(roles::hasty()).open(&path)?;
    for i in 0..5u64 {
        db.update(|txn| (0..200u64).try_for_each(|j| txn.table("t")?.put((i * 200 + j).to_be_bytes(), [7; 50])))?;
    }
    db.close()?;
    Ok((dir, path))
}

fn assert_clean(db: &Database) {
    assert_eq!(db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}
