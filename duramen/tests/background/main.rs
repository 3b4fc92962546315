//! Checkpoints that relaxed commits go on beside.

mod dead;
mod synced;
mod told;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use duramen::{Database, Durability, Error, Medium, MediumLayer, OnFlushed, Options, Txnid, WriteTxn};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// What was asked of the disk, and whether it has done it.
#[derive(Default)]
struct Asked {
    /// Flushes that were waited for at once.
    flushes: usize,
    /// Flushes that were begun beside,
    begun: usize,
    /// and who is to be told of the one that is under way.
    under_way: Option<OnFlushed>,
    /// What came of the last one, which nobody has asked for.
    came: Option<bool>,
    /// They come to an end by themselves.
    ends: bool,
    /// Those that are waited for fail,
    fails: bool,
    /// or go on until this is over.
    held: bool,
    /// How many writes of pages from now on find room.
    room: Option<usize>,
}

/// A disk that takes as long for a flush as it is told to.
#[derive(Clone, Default)]
struct Slow(Arc<Mutex<Asked>>);

impl Slow {
    fn lock(&self) -> MutexGuard<'_, Asked> {
        self.0.lock().unwrap()
    }

    fn flushes(&self) -> usize {
        self.lock().flushes
    }

    fn begun(&self) -> usize {
        self.lock().begun
    }

    fn is_flushing(&self) -> bool {
        self.lock().under_way.is_some()
    }

    /// Whether flushes come to an end by themselves from now on.
    fn let_end(&self, ends: bool) {
        self.lock().ends = ends;
        if ends {
            self.end(true);
        }
    }

    /// The flush that is under way comes to this.
    fn end(&self, well: bool) {
        let mut asked = self.lock();
        if let Some(over) = asked.under_way.take() {
            asked.came = Some(well);
            over(well);
        }
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
        if offset >= HEAD as u64
            && let Some(room) = &mut self.slow.lock().room
        {
            *room = room.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        }
        self.medium.write_at(offset, parts)
    }

    fn begin_flush_beside(&self, over: OnFlushed) -> Result<(), OnFlushed> {
        let mut asked = self.slow.lock();
        assert!(asked.under_way.is_none() && asked.came.is_none(), "one at a time");
        asked.begun += 1;
        asked.under_way = Some(over);
        let ends = asked.ends;
        drop(asked);
        if ends {
            self.slow.end(true);
        }
        Ok(())
    }

    fn take_flush_beside(&self, wait: bool) -> Option<io::Result<()>> {
        if wait {
            self.slow.end(true);
        }
        let came = self.slow.lock().came.take()?;
        Some(if came { Ok(()) } else { Err(io::Error::from_raw_os_error(5)) })
    }

    fn flush(&self) -> io::Result<()> {
        self.slow.lock().flushes += 1;
        while self.slow.lock().held {
            thread::sleep(Duration::from_millis(1));
        }
        if self.slow.lock().fails { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
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
/// Bytes of all of them.
const HEAD: usize = 4 * SLOT;
const TXNID: std::ops::Range<usize> = 48..56;

/// Where the lock file says how many flushes are in doubt, and when the last one was.
const DOUBT: u64 = 320;
const FLUSHED_AT: u64 = 384;

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

    fn lock_file(&self) -> io::Result<File> {
        File::options().read(true).write(true).open(self.dir.path().join("it.dm-lock"))
    }

    fn doubt(&self) -> Result<u64> {
        let mut word = [0; 8];
        self.lock_file()?.read_exact_at(&mut word, DOUBT)?;
        Ok(u64::from_ne_bytes(word))
    }

    /// A little more than five seconds go by since the last flush.
    fn age_a_little(&self) -> Result {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed()?.as_millis() as u64;
        Ok(self.lock_file()?.write_all_at(&(now - 6000).to_ne_bytes(), FLUSHED_AT)?)
    }

    /// Time goes by since the last flush, as much as anyone may wait for.
    fn age(&self) -> Result {
        Ok(self.lock_file()?.write_all_at(&[0; 8], FLUSHED_AT)?)
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
    let before = place.slow.flushes();
    let mut next = 0;
    for round in 1..6 {
        put(&db, next)?;
        let (begun_with, durable_before) = commits(&db)?;
        assert!(durable_before < begun_with);
        assert_eq!(place.slow.begun(), round);
        for _ in 0..10 {
            next += 1;
            put(&db, next)?;
            assert_eq!(commits(&db)?.1, durable_before, "not before the disk says so");
        }
        place.slow.let_end(true);
        drop(db.begin_write()?);
        assert_eq!(commits(&db)?.1, begun_with);
        place.slow.let_end(false);
        assert_eq!((place.slow.begun(), place.slow.flushes()), (round, before), "nobody has waited");
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
    place.slow.end(true);
    put(&db, 20)?;
    // The disk has all up to here, and of what comes then only what makes most trouble: the meta pages, and not their pages.
    let (flushed, begun_with) = (std::fs::read(place.path())?, commits(&db)?.0);
    put(&db, 21)?;
    place.slow.end(true);
    drop(db.begin_write()?);
    let on_top = Txnid(begun_with.0 + 1);
    assert_eq!(commits(&db)?, (on_top, begun_with));
    for value in 22..27 {
        put(&db, value)?;
        let head = std::fs::read(place.path())?[..HEAD].to_vec();
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
fn what_is_being_flushed_is_written_over_by_nothing() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    for value in 0..20 {
        put(&db, value)?;
    }
    place.slow.end(true);
    put(&db, 20)?;
    let (flushed, durable) = commits(&db)?;
    for value in 21..40 {
        put(&db, value)?;
        assert_eq!(commits(&db)?.1, durable);
        // All others are left out.
        let mut file = std::fs::read(place.path())?;
        for slot in file[..HEAD].chunks_mut(SLOT) {
            if u64::from_le_bytes(slot[TXNID].try_into()?) != flushed.0 {
                slot.fill(0);
            }
        }
        let (head, rest) = (file[..HEAD].to_vec(), file);
        assert_eq!(place.value_of(&head, &rest)?, 20);
    }
    Ok(())
}

/// A file in which all meta pages of later commits than this are blank.
fn without_later(mut file: Vec<u8>, commit: Txnid) -> Result<Vec<u8>> {
    for slot in file[..HEAD].chunks_mut(SLOT) {
        if u64::from_le_bytes(slot[TXNID].try_into()?) > commit.0 {
            slot.fill(0);
        }
    }
    Ok(file)
}

#[test]
fn the_commit_that_finds_a_flush_over_leaves_the_meta_page_of_what_that_was_of() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    for round in 0..12 {
        place.slow.end(true);
        drop(db.begin_write()?);
        put(&db, round)?;
        let (flushed, begun_with) = (std::fs::read(place.path())?, commits(&db)?.0);
        (0..1 + round % 3).try_for_each(|_| put(&db, 100))?;
        place.slow.end(true);
        // Of this one and of those before it the disk has nothing.
        put(&db, 101)?;
        assert_eq!(commits(&db)?.1, begun_with);
        let head = without_later(std::fs::read(place.path())?, begun_with)?[..HEAD].to_vec();
        assert_eq!(place.value_of(&head, &flushed)?, round);
    }
    Ok(())
}

#[test]
fn the_file_stays_as_long_as_what_was_flushed_needs_though_newer_commits_are_shorter() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    place.slow.let_end(true);
    // All that is free, for the commits that follow, is before what makes the file long.
    db.update(|txn| txn.table("free soon")?.put("key", vec![9; 1 << 20]))?;
    db.update(|txn| txn.table("large")?.put("key", vec![9; 4 << 20]))?;
    db.update(|txn| txn.drop_table("free soon").map(drop))?;
    (0..8).try_for_each(|_| put(&db, 1))?;
    let reader = db.read()?;
    db.update(|txn| txn.drop_table("large").map(drop))?;
    put(&db, 2)?;
    drop(db.begin_write()?);
    place.slow.let_end(false);
    put(&db, 3)?;
    let (long, begun_with) = (std::fs::metadata(place.path())?.len(), commits(&db)?.0);
    drop(reader);
    // So many that what the reader saw is found to be free.
    (0..8).try_for_each(|_| put(&db, 4))?;
    place.slow.end(true);
    drop(db.begin_write()?);
    assert_eq!(commits(&db)?.1, begun_with);
    // Whatever becomes of the newer ones.
    let file = without_later(std::fs::read(place.path())?, begun_with)?;
    assert_eq!(place.value_of(&file[..HEAD], &file)?, 3);
    put(&db, 5)?;
    place.slow.end(true);
    drop(db.begin_write()?);
    assert!(std::fs::metadata(place.path())?.len() < long / 2, "it is cut off once that is durable");
    Ok(())
}

#[test]
fn a_flush_beside_that_fails_poisons_the_handle() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    put(&db, 1)?;
    put(&db, 2)?;
    place.slow.end(false);
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
    place.age()?;
    let (flushes, newest) = (place.slow.flushes(), commits(&a)?.0);
    put(&a, 4)?;
    assert_eq!(place.slow.flushes(), flushes + 1);
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
fn a_durable_commit_waits_for_its_own_flush_alone() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    put(&db, 1)?;
    assert!(place.slow.is_flushing());
    let flushes = place.slow.flushes();
    let mut txn = db.begin_write()?;
    txn.set_durability(Durability::Durable);
    txn.table("t")?.put(0u64.to_be_bytes(), [0; 98])?;
    txn.commit()?;
    assert_eq!((place.slow.flushes(), place.slow.is_flushing()), (flushes + 1, true));
    let (newest, durable) = commits(&db)?;
    assert_eq!(newest, durable);
    // What the other one was of is older.
    place.slow.end(true);
    put(&db, 2)?;
    assert_eq!(commits(&db)?.1, durable);
    assert_eq!(place.proven()?, 2);
    Ok(())
}

#[test]
fn what_was_being_flushed_when_a_durable_commit_came_does_not_take_its_place() -> Result {
    let place = Place::new()?;
    let db = place.options().open(place.path())?;
    put(&db, 1)?;
    put(&db, 2)?;
    assert!(place.slow.is_flushing());
    let mut txn = db.begin_write()?;
    txn.set_durability(Durability::Durable);
    txn.table("of it")?.put("key", "value")?;
    txn.commit()?;
    let (flushed, durable) = (std::fs::read(place.path())?, commits(&db)?.1);
    place.slow.end(true);
    for value in 3..12 {
        put(&db, value)?;
        assert!(commits(&db)?.1 >= durable);
        // Of what came after it the disk has the meta pages alone.
        let head = std::fs::read(place.path())?[..HEAD].to_vec();
        assert_eq!(place.value_of(&head, &flushed)?, 2);
    }
    Ok(())
}

#[test]
fn none_is_begun_while_the_log_has_all_that_waits() -> Result {
    let place = Place::new()?;
    let db = place.options().log_at_once(1 << 20).open(place.path())?;
    place.slow.let_end(true);
    put(&db, 1)?;
    db.checkpoint()?;
    let begun = place.slow.begun();
    for value in 0..10u64 {
        let mut txn = db.begin_write()?;
        txn.set_durability(if value % 2 == 0 { Durability::Durable } else { Durability::Relaxed });
        txn.table("t")?.put(0u64.to_be_bytes(), value.to_be_bytes())?;
        txn.commit()?;
    }
    assert!(db.path().with_file_name("it.dm-log").exists());
    assert_eq!(place.slow.begun(), begun);
    Ok(())
}

#[test]
fn who_closes_waits_for_what_is_under_way_and_leaves_no_doubt() -> Result {
    let place = Place::new()?;
    let keep = place.open_another()?;
    let db = place.options().flush_on_close(false).open(place.path())?;
    put(&db, 1)?;
    assert_eq!(place.doubt()?, 1, "what if this process died now?");
    db.close()?;
    assert!(!place.slow.is_flushing());
    assert_eq!(place.doubt()?, 0);
    put(&keep, 2)?;
    assert_eq!(place.proven()?, 2);
    Ok(())
}

#[test]
fn who_closes_is_told_that_what_was_under_way_failed() -> Result {
    let place = Place::new()?;
    let _keep = place.open_another()?;
    let db = place.options().flush_on_close(false).open(place.path())?;
    put(&db, 1)?;
    place.slow.end(false);
    assert!(matches!(db.close(), Err(Error::Io { .. })));
    Ok(())
}

#[test]
fn none_is_begun_where_no_lock_file_tells_others_of_it() -> Result {
    let place = Place::new()?;
    let db = place.options().without_lock_file().open(place.path())?;
    put(&db, 1)?;
    put(&db, 2)?;
    assert_eq!(place.slow.begun(), 0);
    Ok(())
}

#[test]
fn it_comes_to_nothing_where_another_handle_wrote_meanwhile_and_gave_it_up() -> Result {
    let place = Place::new()?;
    let a = place.options().open(place.path())?;
    let b = Database::options().medium(Slow::default().layer()).memory_budget(1).open(place.path())?;
    for value in 0..20 {
        put(&a, value)?;
    }
    place.slow.end(true);
    put(&a, 20)?;
    put(&a, 21)?;
    put(&a, 22)?;
    let durable = commits(&a)?.1;
    // It takes the pages that only the commit needs which is being flushed: nobody has told it of that.
    let before = std::fs::read(place.path())?;
    let mut txn = b.begin_write()?;
    let mut table = txn.table("of b")?;
    (0..3000u64).try_for_each(|key| table.put(key.to_be_bytes(), [9; 300]))?;
    drop(txn);
    let after = std::fs::read(place.path())?;
    assert!(
        before.iter().zip(&after).skip(HEAD).any(|(before, after)| before != after),
        "it has written something over"
    );
    place.slow.end(true);
    drop(a.begin_write()?);
    assert_eq!(commits(&a)?.1, durable);
    for value in 23..30 {
        put(&a, value)?;
        assert_eq!(place.proven()?, value);
    }
    Ok(())
}

#[test]
fn who_is_at_rest_has_told_what_came_of_the_flush() -> Result {
    let place = Place::new()?;
    let a = place.options().open(place.path())?;
    put(&a, 1)?;
    assert_eq!(place.doubt()?, 1);
    place.slow.end(true);
    assert_eq!(place.doubt()?, 0, "all is well");
    put(&a, 2)?;
    put(&a, 3)?;
    // The kernel tells of what it could not write once. Who opens the file then is not told, and needs to know.
    place.slow.end(false);
    let slow = Slow::default();
    let b = Database::options().medium(slow.layer()).open(place.path())?;
    b.update(|txn| txn.table("of b")?.put("key", "value"))?;
    assert!(slow.flushes() > 1, "all is written again, and flushed, before its own commit");
    assert!(matches!(put(&a, 4), Err(Error::Io { .. } | Error::Poisoned { .. })));
    Ok(())
}

/// As [`Place::options`], but checkpoints are made when they are due.
fn in_time(slow: &Slow) -> Options {
    Database::options().medium(slow.layer()).durability(Durability::Relaxed).flush_on_close(false)
}

#[test]
fn a_checkpoint_is_begun_when_the_last_one_was_long_ago() -> Result {
    let place = Place::new()?;
    let db = in_time(&place.slow).open(place.path())?;
    put(&db, 1)?;
    assert_eq!(place.slow.begun(), 0);
    place.age_a_little()?;
    let flushes = place.slow.flushes();
    put(&db, 2)?;
    place.age()?;
    put(&db, 3)?;
    assert_eq!((place.slow.begun(), place.slow.flushes()), (1, flushes), "nobody waits while the disk is at it");
    Ok(())
}

#[test]
fn after_a_full_disk_commits_flush_in_time_themselves() -> Result {
    let place = Place::new()?;
    let db = in_time(&place.slow).open(place.path())?;
    // So that there is room in the file.
    (0..5).try_for_each(|value| put(&db, value))?;
    place.slow.lock().room = Some(0);
    assert!(put(&db, 2).is_err_and(|error| error.is_disk_full()));
    place.slow.lock().room = None;
    for value in 3..10 {
        let flushes = place.slow.flushes();
        place.age_a_little()?;
        put(&db, value)?;
        assert_eq!((place.slow.begun(), place.slow.flushes()), (0, flushes + 1));
    }
    Ok(())
}

#[test]
fn handles_of_a_commit_each_make_checkpoints_in_time_too() -> Result {
    let place = Place::new()?;
    let mut last = in_time(&place.slow).open(place.path())?;
    put(&last, 0)?;
    let mut durable = commits(&last)?.1;
    for value in 1..10 {
        let next = in_time(&Slow::default()).open(place.path())?;
        place.age()?;
        put(&next, value)?;
        let (newest, flushed) = commits(&next)?;
        assert!(flushed == newest && flushed > durable);
        durable = flushed;
        // Somebody writes while this one closes.
        let txn = next.begin_write()?;
        last.close()?;
        drop(txn);
        last = next;
    }
    Ok(())
}
