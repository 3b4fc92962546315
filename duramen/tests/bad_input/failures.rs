//! Transactions whose disk fails them half-way.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use duramen::{BulkOptions, Database, Durability, Error, Medium, Options, Result, WriteTxn};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;

use crate::{assert_clean, roles, scratch};

/// A medium that is full while a switch is on, and does not tell its length then.
struct Filling {
    medium: Arc<dyn Medium>,
    full: Arc<AtomicBool>,
}

impl Medium for Filling {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        if self.full.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.medium.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        self.medium.flush()
    }

    fn len(&self) -> io::Result<u64> {
        if self.full.load(Ordering::SeqCst) { Err(io::ErrorKind::StorageFull.into()) } else { self.medium.len() }
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.medium.set_len(bytes)
    }
}

/// A database with 1000 entries whose transactions write early, and the switch that fills its disk.
fn filling() -> (TempDir, Database, Arc<AtomicBool>) {
    let (dir, path) = scratch();
    let full = Arc::new(AtomicBool::new(false));
    let switch = full.clone();
    let layer = move |medium| Arc::new(Filling { medium, full: switch.clone() }) as Arc<dyn Medium>;
    let db = Options::new().memory_budget(1).medium(Arc::new(layer)).open(path).unwrap();
    db.update(|txn| fill(txn, 1000, 1)).unwrap();
    (dir, db, full)
}

fn fill(txn: &mut WriteTxn<'_>, entries: u32, byte: u8) -> Result<()> {
    (0..entries).try_for_each(|i| txn.table("t")?.put(i.wrapping_mul(0x9E37_79B9).to_be_bytes(), [byte; 500]))
}

fn is_failed<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::TxnFailed))
}

/// All entries that `fill` stored have this byte.
fn assert_holds(db: &Database, entries: u64, byte: u8) {
    let snapshot = db.read().unwrap();
    let table = snapshot.table("t").unwrap();
    assert_eq!(table.len(), entries);
    assert!(table.iter().all(|item| item.unwrap().1 == [byte; 500]));
    assert_clean(db);
}

/// A medium that has no room for what has no place yet, while a switch is on; in blocks of 4 KiB.
struct Sparse {
    medium: Arc<dyn Medium>,
    placed: Mutex<BTreeSet<u64>>,
    full: Arc<AtomicBool>,
}

const BLOCK: u64 = 4096;

impl Medium for Sparse {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let blocks = offset / BLOCK..(offset + len as u64).div_ceil(BLOCK);
        let mut placed = self.placed.lock().unwrap();
        if self.full.load(Ordering::SeqCst) && blocks.clone().any(|block| !placed.contains(&block)) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        placed.extend(blocks);
        self.medium.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        self.medium.flush()
    }

    fn len(&self) -> io::Result<u64> {
        self.medium.len()
    }

    fn placed_from(&self, offset: u64) -> u64 {
        let placed = self.placed.lock().unwrap();
        placed.range(offset / BLOCK..).next().map_or(u64::MAX, |block| offset.max(block * BLOCK))
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.placed.lock().unwrap().retain(|block| block * BLOCK < bytes);
        self.medium.set_len(bytes)
    }
}

/// The file is longer than what is written of it: on a full disk there is no room in all of its free pages.
#[test]
fn on_a_full_disk_deleting_goes_on_in_pages_that_have_a_place() -> Result<()> {
    for durability in [Durability::Relaxed, Durability::Durable] {
        let (_dir, path) = scratch();
        let full = Arc::new(AtomicBool::new(false));
        let switch = full.clone();
        let layer = move |medium| {
            Arc::new(Sparse { medium, placed: Mutex::default(), full: switch.clone() }) as Arc<dyn Medium>
        };
        let db = Options::new().durability(durability).medium(Arc::new(layer)).open(path)?;
        let put = |round: u32| {
            db.update(|txn| (0..10).try_for_each(|i| txn.table("t")?.put((10 * round + i).to_be_bytes(), [1; 1000])))
        };
        (0..140).try_for_each(put)?;
        full.store(true, Ordering::SeqCst);
        let filled = (140..1000).find(|&round| put(round).is_err()).expect("the disk is full");
        let delete = |round: u32| {
            db.update(|txn| (0..10).try_for_each(|i| txn.table("t")?.delete((10 * round + i).to_be_bytes()).map(drop)))
        };
        let failed = (0..60).filter(|&round| delete(round).is_err()).count();
        assert_eq!(failed, 0, "{durability:?}");
        put(filled)?;
        assert_eq!(db.read()?.table("t")?.len(), u64::from(filled + 1 - 60) * 10);
        assert_clean(&db);
    }
    Ok(())
}

#[test]
fn a_transaction_that_failed_half_way_can_only_be_aborted() -> Result<()> {
    let (_dir, db, full) = filling();
    let mut txn = db.begin_write()?;
    let id = txn.open_table("t", None)?;
    let mut cursor = txn.cursor(id)?;
    cursor.first(&txn)?;
    full.store(true, Ordering::SeqCst);
    let error = fill(&mut txn, 5000, 2).expect_err("the disk is full");
    assert!(error.is_disk_full(), "{error}");
    full.store(false, Ordering::SeqCst);
    assert!(is_failed(txn.put(id, "key", "value")) && is_failed(txn.get(id, "key")));
    assert!(is_failed(txn.table("t").map(drop)) && is_failed(txn.table("u").map(drop)));
    assert!(is_failed(txn.view(id)?.first()) && is_failed(txn.view(id)?.iter().try_for_each(|item| item.map(drop))));
    assert!(is_failed(cursor.next(&txn)) && is_failed(cursor.current(&txn)));
    assert!(is_failed(txn.drop_table("t")) && is_failed(txn.rename_table("t", "u")) && is_failed(txn.table_names()));
    assert!(is_failed(txn.child().map(drop)) && is_failed(txn.begin_nested()));
    assert!(is_failed(txn.commit()));
    assert_holds(&db, 1000, 1);
    db.update(|txn| fill(txn, 1000, 3))?;
    assert_holds(&db, 1000, 3);
    Ok(())
}

#[test]
fn a_child_that_failed_leaves_its_parent_whole() -> Result<()> {
    let (_dir, db, full) = filling();
    let mut txn = db.begin_write()?;
    fill(&mut txn, 20, 1)?;
    for in_place in [false, true] {
        full.store(true, Ordering::SeqCst);
        if in_place {
            txn.begin_nested()?;
            assert!(fill(&mut txn, 5000, 2).is_err_and(|error| error.is_disk_full()));
            assert!(is_failed(txn.commit_nested()));
        } else {
            let mut child = txn.child()?;
            assert!(fill(&mut child, 5000, 2).is_err_and(|error| error.is_disk_full()));
            assert!(is_failed(child.commit()));
        }
        full.store(false, Ordering::SeqCst);
        assert_eq!(txn.table("t")?.len(), 1000);
    }
    fill(&mut txn, 2000, 4)?;
    txn.commit()?;
    assert_holds(&db, 2000, 4);
    Ok(())
}

#[test]
fn free_pages_that_a_child_took_before_it_failed_are_free_again() -> Result<()> {
    let (_dir, db, full) = filling();
    db.update(|txn| txn.table("t")?.delete_range(..[0x10; 4]).map(drop))?;
    db.checkpoint()?;
    let mut txn = db.begin_write()?;
    // So that all of them are taken before the file is lengthened, of which the length is to be known.
    txn.set_pages_wanted(1);
    let free = txn.pages_free(0)?;
    assert!((5..64).contains(&free), "{free} pages are free");
    let mut child = txn.child()?;
    full.store(true, Ordering::SeqCst);
    assert!(fill(&mut child, 1000, 2).is_err());
    drop(child);
    full.store(false, Ordering::SeqCst);
    assert_eq!(txn.pages_free(0)?, free);
    txn.commit()?;
    assert_clean(&db);
    Ok(())
}

#[test]
fn a_commit_that_finds_the_disk_full_leaves_nothing_and_can_be_tried_again() -> Result<()> {
    let (_dir, db, full) = filling();
    for byte in 2..5 {
        full.store(true, Ordering::SeqCst);
        let mut txn = db.begin_write()?;
        fill(&mut txn, 10, byte)?;
        let error = txn.commit().expect_err("the disk is full");
        assert!(error.is_disk_full(), "{error}");
        assert_holds(&db, 1000, byte - 1);
        full.store(false, Ordering::SeqCst);
        db.update(|txn| fill(txn, 1000, byte))?;
        assert_holds(&db, 1000, byte);
    }
    Ok(())
}

/// A medium whose flushes fail.
struct Unflushed(Arc<dyn Medium>);

impl Medium for Unflushed {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        self.0.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        Err(io::ErrorKind::Other.into())
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

#[test]
fn a_failed_flush_poisons_all_handles_of_the_file_in_the_process() -> Result<()> {
    let (_dir, path) = scratch();
    let sound = Database::open(&path)?;
    sound.update(|txn| fill(txn, 10, 1))?;
    let layer = |medium| Arc::new(Unflushed(medium)) as Arc<dyn Medium>;
    let failing = Options::new().medium(Arc::new(layer)).open(&path)?;
    failing.update(|txn| fill(txn, 10, 2)).expect_err("the flush fails");
    let later = Database::open(&path)?;
    for db in [&failing, &sound, &later] {
        assert!(matches!(db.begin_write(), Err(Error::Poisoned { .. })));
        assert!(matches!(db.checkpoint(), Err(Error::Poisoned { .. })));
        assert_holds(db, 10, 1);
    }
    drop((failing, sound, later));
    let db = Database::open(&path)?;
    assert_eq!(db.read()?.table("t")?.len(), 10);
    db.update(|txn| fill(txn, 10, 3))?;
    assert_holds(&db, 10, 3);
    Ok(())
}

/// Says whether the database can be written to once its handle has let go of this.
struct Parting {
    medium: Arc<dyn Medium>,
    path: PathBuf,
    can_be_written: Arc<Mutex<Option<Result<()>>>>,
}

impl Medium for Parting {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        self.medium.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        Err(io::Error::other("no flush"))
    }

    fn len(&self) -> io::Result<u64> {
        self.medium.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.medium.set_len(bytes)
    }
}

impl Drop for Parting {
    fn drop(&mut self) {
        let opened = Database::open(&self.path).and_then(|db| db.begin_write().map(drop));
        *self.can_be_written.lock().unwrap() = Some(opened);
    }
}

/// A file that is made as soon as another one has gone may have its inode.
#[test]
fn a_poisoned_handle_has_let_go_of_the_poison_before_it_closes_the_file() -> Result<()> {
    let (_dir, path) = scratch();
    Database::open(&path)?.update(|txn| txn.table("t")?.put(b"a", b"value"))?;
    let can_be_written = Arc::new(Mutex::new(None));
    let (noted, name) = (can_be_written.clone(), PathBuf::from(&path));
    let layer = move |medium| {
        Arc::new(Parting { medium, path: name.clone(), can_be_written: noted.clone() }) as Arc<dyn Medium>
    };
    let db = Options::new().durability(Durability::Relaxed).medium(Arc::new(layer)).open(&path)?;
    db.update(|txn| txn.table("t")?.put(b"b", b"value"))?;
    assert!(db.checkpoint().is_err());
    assert!(matches!(db.begin_write(), Err(Error::Poisoned { .. })));
    drop(db);
    can_be_written.lock().unwrap().take().expect("the handle has gone")
}

/// From now on this process may have no file longer than so many bytes.
fn limit_files(bytes: u64) {
    let limit = Rlimit { current: Some(bytes), maximum: getrlimit(Resource::Fsize).maximum };
    setrlimit(Resource::Fsize, limit).unwrap();
}

fn is_too_long<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::Io { source, .. } | Error::File { source, .. })
        if source.kind() == io::ErrorKind::FileTooLarge)
}

#[test]
fn role_limited() -> Result<()> {
    let Some(arguments) = roles::arguments("failures::role_limited") else { return Ok(()) };
    let directory = std::path::Path::new(&arguments[0]);
    let long = Options::new().read_only(true).lock_path(directory.join("lock"));
    limit_files(0);
    assert!(is_too_long(long.clone().open(directory.join("long.dm"))));
    limit_files(1 << 20);
    let copy = std::fs::File::create(directory.join("copy")).unwrap();
    assert!(is_too_long(long.open(directory.join("long.dm"))?.copy_to_file(&copy)));
    let db = Database::open(directory.join("new.dm"))?;
    let mut load = db.bulk_load("t", BulkOptions::new().memory_budget(1))?;
    assert!(is_too_long((0..100_000_u64).rev().try_for_each(|i| load.push(i.to_be_bytes(), "value"))));
    drop(load);
    assert!(is_too_long(db.update(|txn| fill(txn, 5000, 1))));
    db.update(|txn| fill(txn, 100, 1))?;
    assert_holds(&db, 100, 1);
    db.close()
}

/// The kernel tells of it by a signal, which would end the process.
#[test]
fn a_file_that_would_be_longer_than_the_process_may_have_any_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let long = Database::open(dir.path().join("long.dm")).unwrap();
    long.update(|txn| fill(txn, 5000, 1)).unwrap();
    long.close().unwrap();
    roles::start("failures::role_limited", &[dir.path().to_str().unwrap()]).finish();
}

/// A medium whose directory goes somewhere else as soon as its length is asked for.
struct Moved {
    medium: Arc<dyn Medium>,
    from: PathBuf,
    to: PathBuf,
}

impl Medium for Moved {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        self.medium.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        self.medium.flush()
    }

    fn len(&self) -> io::Result<u64> {
        let _ = std::fs::rename(&self.from, &self.to);
        self.medium.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.medium.set_len(bytes)
    }
}

#[test]
fn a_file_whose_name_could_not_be_made_durable_is_not_taken_for_a_database() -> Result<()> {
    let parent = tempfile::tempdir().unwrap();
    let (before, after) = (parent.path().join("before"), parent.path().join("after"));
    std::fs::create_dir(&before).unwrap();
    let (from, to) = (before.clone(), after.clone());
    let layer = move |medium| Arc::new(Moved { medium, from: from.clone(), to: to.clone() }) as Arc<dyn Medium>;
    let made = Options::new().without_lock_file().medium(Arc::new(layer)).open(before.join("it.dm"));
    assert!(matches!(made, Err(Error::File { .. })), "{made:?}");
    let path = after.join("it.dm");
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 0, "who opens it next would not flush the directory");
    Database::open(&path)?.close()
}
