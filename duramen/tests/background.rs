//! Checkpoints that relaxed commits go on beside.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use duramen::{Database, Durability, Error, Medium, MediumLayer, Options, Txnid};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// What was asked of the disk, and whether it has done it.
#[derive(Clone, Copy, Default)]
struct Asked {
    /// Flushes that were waited for at once.
    flushes: usize,
    /// Flushes that were begun beside,
    begun: usize,
    /// and whether one is under way.
    under_way: bool,
    /// Those come to an end by themselves, or
    ends: bool,
    /// fail.
    fails: bool,
}

/// A disk that takes as long for a flush as it is told to.
#[derive(Clone, Default)]
struct Slow(Arc<Mutex<Asked>>);

impl Slow {
    fn lock(&self) -> MutexGuard<'_, Asked> {
        self.0.lock().unwrap()
    }

    fn asked(&self) -> Asked {
        *self.lock()
    }

    /// Whether flushes come to an end by themselves from now on.
    fn let_end(&self, ends: bool) {
        self.lock().ends = ends;
    }

    fn layer(&self) -> MediumLayer {
        let slow = self.clone();
        Arc::new(move |medium| Arc::new(Watched { medium, slow: slow.clone() }))
    }
}

struct Watched {
    medium: Arc<dyn Medium>,
    slow: Slow,
}

impl Medium for Watched {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        self.medium.write_at(offset, parts)
    }

    fn begin_flush_beside(&self) -> bool {
        let mut asked = self.slow.lock();
        assert!(!asked.under_way, "one at a time");
        asked.begun += 1;
        asked.under_way = true;
        true
    }

    fn take_flush_beside(&self, wait: bool) -> Option<io::Result<()>> {
        let mut asked = self.slow.lock();
        if !asked.under_way || !(wait || asked.ends) {
            return None;
        }
        asked.under_way = false;
        Some(if asked.fails { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) })
    }

    fn flush(&self) -> io::Result<()> {
        self.slow.lock().flushes += 1;
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.medium.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.medium.set_len(bytes)
    }
}

/// Bytes of a meta page, and where in it its commit's number is.
const SLOT: usize = 4096;
const TXNID: std::ops::Range<usize> = 48..56;

struct Place {
    dir: tempfile::TempDir,
    slow: Slow,
}

impl Place {
    fn new() -> Result<Place> {
        Ok(Place { dir: tempfile::tempdir()?, slow: Slow::default() })
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("it.dm")
    }

    fn options(&self) -> Options {
        Database::options().medium(self.slow.layer()).durability(Durability::Relaxed).checkpoints_at_once()
    }

    /// Opens it with a disk of its own, which ends no flush that is begun beside.
    fn open_another(&self) -> Result<Database> {
        Ok(self.options().medium(Slow::default().layer()).open(self.path())?)
    }

    /// What is read of a file that begins like this and goes on like that.
    fn value_of(&self, head: &[u8], rest: &[u8]) -> Result<u64> {
        let image = self.dir.path().join("image.dm");
        std::fs::write(&image, [head, &rest[head.len()..]].concat())?;
        let value = value(&Database::open(&image)?);
        std::fs::remove_file(&image)?;
        value
    }

    /// What would be read of the file alone, had the disk everything that was written to it.
    fn proven(&self) -> Result<u64> {
        let copy = self.dir.path().join("copy.dm");
        std::fs::copy(self.path(), &copy)?;
        value(&Database::open(&copy)?)
    }
}

fn put(db: &Database, value: u64) -> duramen::Result<()> {
    db.update(|txn| {
        let mut table = txn.table("t")?;
        (0..500u64).try_for_each(|key| table.put(key.to_be_bytes(), [&value.to_be_bytes()[..], &[7; 90]].concat()))
    })
}

fn value(db: &Database) -> Result<u64> {
    let snapshot = db.read()?;
    let table = snapshot.table("t")?;
    let first = table.get(0u64.to_be_bytes())?.ok_or("no entry")?[..8].to_vec();
    for key in 1..500u64 {
        assert_eq!(table.get(key.to_be_bytes())?.ok_or("no entry")?[..8], first);
    }
    Ok(u64::from_be_bytes(first.try_into().map_err(|_| "eight bytes")?))
}

/// The newest commit and the durable one.
fn commits(db: &Database) -> Result<(Txnid, Txnid)> {
    Ok((db.read()?.txnid(), db.stats()?.durable_txnid))
}

#[test]
fn relaxed_commits_go_on_while_the_disk_flushes_and_what_it_flushed_becomes_durable() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    let before = place.slow.asked().flushes;
    let mut next = 0;
    for round in 1..6 {
        put(&db, next)?;
        let (begun_with, durable_before) = commits(&db)?;
        assert!(durable_before < begun_with);
        assert_eq!(place.slow.asked().begun, round);
        for _ in 0..10 {
            next += 1;
            put(&db, next)?;
            assert_eq!(commits(&db)?.1, durable_before, "not before the disk says so");
        }
        place.slow.let_end(true);
        drop(db.begin_write()?);
        assert_eq!(commits(&db)?.1, begun_with);
        place.slow.let_end(false);
        assert_eq!((place.slow.asked().begun, place.slow.asked().flushes), (round, before), "nobody has waited");
        assert_eq!(place.proven()?, next);
        assert!(db.check(|_, _| {})?.findings.is_empty());
    }
    // What is freed is used again.
    let bytes = std::fs::metadata(place.path())?.len();
    place.slow.let_end(true);
    for value in 0..100 {
        put(&db, value)?;
    }
    assert!(std::fs::metadata(place.path())?.len() <= bytes + bytes / 4);
    Ok(())
}

#[test]
fn all_that_the_disk_was_given_before_survives_even_if_nothing_after_it_does() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    for value in 0..20 {
        put(&db, value)?;
    }
    place.slow.let_end(true);
    put(&db, 20)?;
    place.slow.let_end(false);
    // The disk has all up to here, and of what comes then only what makes most trouble: the meta pages, and not their pages.
    let (flushed, begun_with) = (std::fs::read(place.path())?, commits(&db)?.0);
    put(&db, 21)?;
    place.slow.let_end(true);
    drop(db.begin_write()?);
    place.slow.let_end(false);
    let on_top = Txnid(begun_with.0 + 1);
    assert_eq!(commits(&db)?, (on_top, begun_with));
    for value in 22..27 {
        put(&db, value)?;
        let head = std::fs::read(place.path())?[..4 * SLOT].to_vec();
        assert_eq!(place.value_of(&head, &flushed)?, 20);
        // Or the power was cut while the newest were written, so that the older base, which they were written over, is gone
        // as well.
        let mut torn = head;
        for slot in torn.chunks_mut(SLOT) {
            if u64::from_le_bytes(slot[TXNID].try_into()?) > on_top.0 {
                slot[100..].fill(0);
            }
        }
        assert_eq!(place.value_of(&torn, &flushed)?, 20);
    }
    Ok(())
}

#[test]
fn a_flush_beside_that_fails_poisons_the_handle() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    put(&db, 1)?;
    put(&db, 2)?;
    place.slow.let_end(true);
    place.slow.lock().fails = true;
    assert!(matches!(put(&db, 3), Err(Error::Io { .. })));
    assert!(matches!(put(&db, 3), Err(Error::Poisoned { .. })));
    assert_eq!(value(&db)?, 2, "reading goes on");
    Ok(())
}

#[test]
fn it_comes_to_nothing_where_another_handle_commits_meanwhile() -> Result {
    let place = Place::new()?;
    let (a, b) = (place.options().open(place.path())?, place.open_another()?);
    put(&a, 1)?;
    let durable = commits(&a)?.1;
    b.update(|txn| txn.table("of b")?.put("key", "value"))?;
    put(&a, 2)?;
    place.slow.let_end(true);
    put(&a, 3)?;
    assert_eq!(commits(&a)?.1, durable, "the other's pages are in none of its sums");
    assert_eq!(place.proven()?, 3);
    // Nobody waits for another one in vain for ever.
    const FLUSHED_AT: u64 = 384;
    let lock = std::fs::File::options().write(true).open(place.dir.path().join("it.dm-lock"))?;
    lock.write_all_at(&[0; 8], FLUSHED_AT)?;
    let (flushes, newest) = (place.slow.asked().flushes, commits(&a)?.0);
    put(&a, 4)?;
    assert_eq!(place.slow.asked().flushes, flushes + 1);
    assert!(commits(&a)?.1 > newest);
    Ok(())
}

#[test]
fn another_handle_goes_on_from_a_durable_commit_on_top_of_which_nothing_was_made() -> Result {
    let place = Place::new()?;
    let (a, b) = (place.options().open(place.path())?, place.open_another()?);
    put(&a, 1)?;
    put(&a, 2)?;
    place.slow.let_end(true);
    drop(a.begin_write()?);
    let (newest, durable) = commits(&a)?;
    assert!(durable < newest && durable > Txnid(0));
    place.slow.let_end(false);
    for (db, value) in [(&b, 3), (&a, 4), (&b, 5)] {
        put(db, value)?;
        assert_eq!(place.proven()?, value);
    }
    Ok(())
}

#[test]
fn a_durable_commit_waits_for_its_own_flush_and_ends_what_is_under_way() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    put(&db, 1)?;
    assert!(place.slow.asked().under_way);
    let flushes = place.slow.asked().flushes;
    let mut txn = db.begin_write()?;
    txn.set_durability(Durability::Durable);
    txn.table("t")?.put(0u64.to_be_bytes(), [0; 98])?;
    txn.commit()?;
    assert_eq!((place.slow.asked().flushes, place.slow.asked().under_way), (flushes + 1, false));
    let (newest, durable) = commits(&db)?;
    assert_eq!(newest, durable);
    Ok(())
}

#[test]
fn who_closes_waits_for_what_is_under_way_and_leaves_no_doubt() -> Result {
    const DOUBT: std::ops::Range<usize> = 320..328;
    let doubt = |path: &Path| std::fs::read(path.with_extension("dm-lock")).map(|lock| lock[DOUBT].to_vec());
    let place = Place::new()?;
    let keep = place.open_another()?;
    let db = place.options().flush_on_close(false).open(place.path())?;
    put(&db, 1)?;
    assert_eq!(doubt(&place.path())?, 1u64.to_ne_bytes(), "what if this process died now?");
    db.close()?;
    assert!(!place.slow.asked().under_way);
    assert_eq!(doubt(&place.path())?, 0u64.to_ne_bytes());
    put(&keep, 2)?;
    assert_eq!(place.proven()?, 2);
    Ok(())
}

#[test]
fn none_is_begun_where_no_lock_file_tells_others_of_it() -> Result {
    let place = Place::new()?;
    let db = place.options().without_lock_file().open(place.path())?;
    put(&db, 1)?;
    put(&db, 2)?;
    assert_eq!(place.slow.asked().begun, 0);
    Ok(())
}
