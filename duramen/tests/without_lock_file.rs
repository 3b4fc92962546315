//! Programs without a lock file, which lock each other out while they read and write, but not while they open.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use duramen::{Database, Durability, Medium, Options};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    Write,
    Length,
    Flush,
}

/// What somebody else does meanwhile: when this is asked for the so-manieth time, or each time (0).
struct Beside<F> {
    medium: Arc<dyn Medium>,
    at: (Asked, usize),
    asked: Arc<AtomicUsize>,
    work: Arc<F>,
}

impl<F: Fn()> Beside<F> {
    fn note(&self, what: Asked) {
        if what == self.at.0 && [0, self.asked.fetch_add(1, Ordering::Relaxed) + 1].contains(&self.at.1) {
            (self.work)();
        }
    }
}

impl<F: Fn() + Send + Sync> Medium for Beside<F> {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.note(Asked::Write);
        self.medium.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        self.note(Asked::Flush);
        self.medium.flush()
    }

    fn len(&self) -> io::Result<u64> {
        let len = self.medium.len();
        self.note(Asked::Length);
        len
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.medium.set_len(bytes)
    }
}

fn options() -> Options {
    Database::options().without_lock_file()
}

/// Options for opening while somebody else does this.
fn beside(at: (Asked, usize), work: impl Fn() + Send + Sync + 'static) -> Options {
    among(options(), at, work)
}

fn among(options: Options, at: (Asked, usize), work: impl Fn() + Send + Sync + 'static) -> Options {
    let (asked, work) = (Arc::new(AtomicUsize::new(0)), Arc::new(work));
    options.medium(Arc::new(move |medium| Arc::new(Beside { medium, at, asked: asked.clone(), work: work.clone() })))
}

fn fill(db: &Database, value: u8) -> duramen::Result<()> {
    db.update(|txn| (0..2000u32).try_for_each(|i| txn.table("t")?.put(i.to_be_bytes(), [value; 100])))
}

fn first_bytes(db: &Database) -> duramen::Result<Vec<u8>> {
    db.read()?.table("t")?.iter().map(|entry| entry.map(|(_, value)| value[0])).collect()
}

/// A database as a power cut leaves it: all of the last commits is in the log.
fn with_log(dir: &Path) -> Result<PathBuf> {
    let (path, image) = (dir.join("it.dm"), dir.join("image.dm"));
    let db = Database::options().log_at_once(1 << 20).open(&path)?;
    fill(&db, 1)?;
    db.checkpoint()?;
    std::fs::copy(&path, &image)?;
    (0..20u32).try_for_each(|i| db.update(|txn| txn.table("t")?.put((i * 100).to_be_bytes(), [2; 100])))?;
    std::fs::copy(dir.join("it.dm-log"), dir.join("image.dm-log"))?;
    Ok(image)
}

#[test]
fn a_log_that_another_one_does_again_meanwhile_is_done_once() -> Result {
    let dir = tempfile::tempdir()?;
    let path = with_log(dir.path())?;
    let begun = Arc::new(Mutex::new(None));
    let (others_path, other) = (path.clone(), begun.clone());
    // Who opens has begun to write what the log has.
    let opened = beside((Asked::Write, 1), move || {
        let path = others_path.clone();
        let other_one = thread::spawn(move || -> duramen::Result<()> {
            let db = options().open(path)?;
            (3..13).try_for_each(|value| fill(&db, value))?;
            db.close()
        });
        *other.lock().unwrap() = Some(other_one);
        // It comes to its end now, or once this one has opened.
        thread::sleep(Duration::from_millis(500));
    })
    .open(&path)?;
    let other = begun.lock().unwrap().take().ok_or("nothing was written")?;
    other.join().unwrap()?;
    drop(opened);
    let db = options().open(&path)?;
    assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    assert_eq!(first_bytes(&db)?, vec![12; 2000], "what was committed last");
    Ok(())
}

#[test]
fn a_log_is_done_again_beside_a_programs_own_lock_of_the_file() -> Result {
    let dir = tempfile::tempdir()?;
    let path = with_log(dir.path())?;
    let lock = std::fs::File::options().read(true).write(true).open(&path)?;
    rustix::fs::fcntl_lock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
    let found = first_bytes(&options().open(&path)?)?;
    assert_eq!(found.iter().filter(|&&byte| byte == 2).count(), 20);
    Ok(())
}

#[test]
fn a_database_that_two_make_at_once_has_what_both_have_committed() -> Result {
    for _ in 0..100 {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("it.dm");
        let (begins, in_turns) = (Barrier::new(2), Mutex::new(()));
        let add = |i: u32| {
            begins.wait();
            let db = options().open(&path)?;
            let _turn = in_turns.lock().unwrap();
            db.update(|txn| txn.table("t")?.put(i.to_be_bytes(), "value"))
        };
        thread::scope(|scope| {
            let other = scope.spawn(|| add(0));
            add(1).and(other.join().unwrap())
        })?;
        assert_eq!(options().open(&path)?.read()?.table("t")?.len(), 2);
    }
    Ok(())
}

#[test]
fn a_file_that_somebody_cuts_off_while_it_is_opened_is_opened_as_it_is_then() -> Result {
    // Before the newest commit is known, and when it has yet to be looked at.
    for look in 1..4 {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("it.dm");
        let writer = options().open(&path)?;
        writer.update(|txn| txn.table("t")?.put("k", "before"))?;
        writer.update(|txn| (0..20_000u32).try_for_each(|i| txn.table("t")?.put(i.to_be_bytes(), [1; 100])))?;
        let cut_off = move || {
            writer.update(|txn| txn.table("t")?.clear()).unwrap();
            (0..4).for_each(|_| writer.update(|txn| txn.table("t")?.put("k", "after")).unwrap());
        };
        let db = beside((Asked::Length, look), cut_off).open(&path)?;
        assert_eq!(db.read()?.table("t")?.get("k")?, Some(&b"after"[..]), "{look}");
    }
    Ok(())
}

/// A page of the newest commit that is not whole: a proof of that finds it, and nobody else who does not look there.
fn spoil_a_leaf(path: &Path) -> Result {
    use std::os::unix::fs::FileExt;
    let file = std::fs::read(path)?;
    let leaf =
        file.chunks(4096).rposition(|page| page[100..].windows(50).any(|part| part == [7; 50])).ok_or("no leaf")?;
    Ok(std::fs::File::options().write(true).open(path)?.write_all_at(&[1; 8], leaf as u64 * 4096 + 2000)?)
}

#[test]
fn who_opens_to_read_while_others_flush_looks_through_none_of_the_file() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    let looks = Arc::new(Mutex::new(Vec::new()));
    let (of, seen) = (path.clone(), looks.clone());
    let look = move || {
        let reader = options().read_only(true).open(&of);
        seen.lock().unwrap().push(reader.and_then(|reader| Ok(reader.read()?.txnid().0)));
    };
    let writer = among(Database::options(), (Asked::Flush, 0), look).open(&path)?;
    writer.update(|txn| {
        txn.set_durability(Durability::Relaxed);
        (0..2000u32).try_for_each(|i| txn.table("t")?.put(i.to_be_bytes(), [7; 100]))
    })?;
    spoil_a_leaf(&path)?;
    looks.lock().unwrap().clear();
    writer.update(|txn| txn.table("other")?.put("key", "value"))?;
    let looks = std::mem::take(&mut *looks.lock().unwrap());
    assert!(matches!(looks[..], [Ok(1 | 2)]), "{looks:?}");
    Ok(())
}

#[test]
fn what_is_read_without_a_lock_file_stays_beside_a_writer_that_has_one() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    let writer = Database::options().durability(Durability::Relaxed).open(&path)?;
    fill(&writer, 1)?;
    let reader = options().read_only(true).open(&path)?;
    let before = reader.read()?;
    for value in 2..40 {
        fill(&writer, value)?;
        assert_eq!(first_bytes(&reader)?, vec![value; 2000], "the newest");
        let seen: Vec<u8> =
            before.table("t")?.iter().map(|entry| entry.map(|(_, v)| v[0])).collect::<duramen::Result<_>>()?;
        assert_eq!(seen, vec![1; 2000], "after {value}");
    }
    Ok(())
}

#[test]
fn a_programs_own_lock_of_the_file_keeps_nobody_from_reading_without_a_lock_file() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    fill(&options().open(&path)?, 1)?;
    let lock = std::fs::File::options().read(true).write(true).open(&path)?;
    rustix::fs::fcntl_lock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive)?;
    let reader = options().read_only(true).open(&path)?;
    assert_eq!(first_bytes(&reader)?, vec![1; 2000]);
    fill(&options().open(&path)?, 2)?;
    assert_eq!(first_bytes(&reader)?, vec![2; 2000]);
    Ok(())
}
