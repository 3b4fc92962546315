//! Records that the disk has before the pages of their commits are written.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use duramen::{Database, Durability, Medium, MediumLayer, Options};

use super::{Logged, Result, assert_survives, check, contents, log_of, roles};

/// What is asked of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Pages,
    Meta,
    /// Of the data file.
    Flush,
    FlushLog,
    Begin,
    End,
    Flushed,
}

/// Bytes of the data file that are meta pages.
const META_PAGES: u64 = 16 << 10;

/// Who is told what is asked, before it is done, and may have it fail.
type Note = Arc<dyn Fn(Asked) -> io::Result<()> + Send + Sync>;

/// Stands between the engine and one of the files. The log can always be begun with, on any filesystem.
struct Told {
    inner: Arc<dyn Medium>,
    is_log: bool,
    note: Note,
}

impl Medium for Told {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        if !self.is_log {
            (self.note)(if offset < META_PAGES { Asked::Meta } else { Asked::Pages })?;
        }
        self.inner.write_at(offset, parts)
    }

    fn write_flushed(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        (self.note)(Asked::Flushed)?;
        self.inner.write_flushed(offset, bytes)
    }

    fn begin_write_flushed(&self, offset: u64, bytes: &[u8]) -> bool {
        (self.note)(Asked::Begin).and_then(|()| self.inner.write_flushed(offset, bytes)).is_ok()
    }

    fn end_write_flushed(&self) -> io::Result<()> {
        (self.note)(Asked::End)
    }

    fn flush(&self) -> io::Result<()> {
        (self.note)(if self.is_log { Asked::FlushLog } else { Asked::Flush })?;
        self.inner.flush()
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.inner.set_len(bytes)
    }
}

/// Options for a database between whose files and the engine somebody stands.
pub(super) fn under(options: Options, note: impl Fn(Asked) -> io::Result<()> + Send + Sync + 'static) -> Options {
    let note: Note = Arc::new(note);
    let layer = |is_log| -> MediumLayer {
        let note = note.clone();
        Arc::new(move |inner| Arc::new(Told { inner, is_log, note: note.clone() }))
    };
    options.medium(layer(false)).log_medium(layer(true))
}

/// Makes a database, keeps its file as it was flushed, and opens it with somebody in between.
fn logged(note: impl Fn(Asked) -> io::Result<()> + Send + Sync + 'static) -> Result<Logged> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    Database::open(&path)?.update(|txn| txn.table("t")?.put(b"before", b"the log"))?;
    let base = std::fs::read(&path)?;
    let db = under(Database::options().log_at_once(1 << 20), note).open(&path)?;
    Ok(Logged { dir, db, base })
}

#[test]
fn the_disk_has_the_record_of_a_larger_commit_while_its_pages_are_written() -> Result {
    let dir = tempfile::tempdir()?;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let told = asked.clone();
    let note = move |what| {
        told.lock().unwrap().push(what);
        Ok(())
    };
    let db = under(Database::options(), note).open(dir.path().join("it.dm"))?;
    let put = |entries: u64, step: u64| -> Result<Vec<Asked>> {
        asked.lock().unwrap().clear();
        db.update(|txn| {
            let mut table = txn.table("t")?;
            (0..entries).try_for_each(|i| table.put((i * step).to_be_bytes(), [1; 100]).map(drop))
        })?;
        Ok(asked.lock().unwrap().clone())
    };
    put(3000, 1)?;
    // Before many durable commits in a row the disk is asked at the end.
    (0..30).try_for_each(|_| put(1, 1).map(drop))?;
    let small = put(1, 1)?;
    assert_eq!((small.first(), small.last()), (Some(&Asked::Pages), Some(&Asked::Flushed)), "{small:?}");
    let larger = put(30, 100)?;
    assert_eq!((larger.first(), larger.last()), (Some(&Asked::Begin), Some(&Asked::End)), "{larger:?}");
    let between = &larger[1..larger.len() - 1];
    let is_written = |what: &Asked| matches!(what, Asked::Pages | Asked::Meta);
    assert!(between.len() > 1 && between.iter().all(is_written), "{larger:?}");
    check(&db)
}

#[test]
fn larger_commits_are_found_again_by_what_the_filesystem_offers() -> Result {
    let logged = Logged::new()?;
    let put = |entries: u64, step: u64, value: &[u8]| {
        logged.db.update(|txn| {
            let mut table = txn.table("t")?;
            (0..entries).try_for_each(|i| table.put((i * step).to_be_bytes(), value).map(drop))
        })
    };
    put(3000, 1, &[1; 100])?;
    (0..100u8).try_for_each(|round| put(30, 100, &[round; 7]))?;
    assert_survives(&logged)
}

#[test]
fn a_commit_whose_pages_cannot_be_written_is_not_found_in_the_log() -> Result {
    let [broken, begun] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (is_broken, has_begun) = (broken.clone(), begun.clone());
    let logged = logged(move |asked| {
        has_begun.fetch_or(asked == Asked::Begin, Ordering::Relaxed);
        let fails = asked == Asked::Pages && is_broken.load(Ordering::Relaxed);
        if fails { Err(io::Error::other("broken")) } else { Ok(()) }
    })?;
    (0..3u8).try_for_each(|i| logged.db.update(|txn| txn.table("t")?.put([i], b"whole")))?;
    broken.store(true, Ordering::Relaxed);
    begun.store(false, Ordering::Relaxed);
    logged.db.update(|txn| txn.table("t")?.put(b"not", b"whole")).unwrap_err();
    assert!(begun.load(Ordering::Relaxed), "the disk was asked for its record");
    assert_survives(&logged)?;
    broken.store(false, Ordering::Relaxed);
    logged.db.update(|txn| txn.table("t")?.put(b"next", b"whole"))?;
    assert_survives(&logged)
}

#[test]
fn what_the_disk_was_asked_for_is_called_off_if_the_meta_page_cannot_be_written() -> Result {
    let broken = Arc::new(AtomicBool::new(false));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (is_broken, told) = (broken.clone(), asked.clone());
    let logged = logged(move |what| {
        told.lock().unwrap().push(what);
        let fails = what == Asked::Meta && is_broken.load(Ordering::Relaxed);
        if fails { Err(io::Error::other("broken")) } else { Ok(()) }
    })?;
    (0..3u8).try_for_each(|i| logged.db.update(|txn| txn.table("t")?.put([i], b"whole")))?;
    broken.store(true, Ordering::Relaxed);
    asked.lock().unwrap().clear();
    logged.db.update(|txn| txn.table("t")?.put(b"not", b"whole")).unwrap_err();
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    assert_eq!(asked.first(), Some(&Asked::Begin), "{asked:?}");
    // As long as it is not at an end nobody else may write.
    assert!(asked.ends_with(&[Asked::Meta, Asked::End, Asked::Flushed]), "{asked:?}");
    assert_eq!(after_power_cut(&logged.dir.path().join("it.dm"), &logged.base)?, WHOLE);
    Ok(())
}

#[test]
fn a_commit_that_ends_by_a_panic_is_not_found_in_the_log() -> Result {
    let broken = Arc::new(AtomicBool::new(false));
    let is_broken = broken.clone();
    let logged = logged(move |asked| {
        assert!(asked != Asked::Pages || !is_broken.swap(false, Ordering::Relaxed), "broken");
        Ok(())
    })?;
    let put = |key: &[u8]| logged.db.update(|txn| txn.table("t")?.put(key, b"whole"));
    put(b"before")?;
    broken.store(true, Ordering::Relaxed);
    catch_unwind(AssertUnwindSafe(|| put(b"not"))).unwrap_err();
    assert_survives(&logged)?;
    put(b"next")?;
    check(&logged.db)?;
    assert_survives(&logged)
}

#[test]
fn a_commit_that_needs_a_checkpoint_for_its_room_begins_its_record_anew() -> Result {
    let dir = tempfile::tempdir()?;
    let (path, flushed) = (dir.path().join("it.dm"), dir.path().join("flushed.dm"));
    Database::open(&path)?.update(|txn| txn.table("t")?.put(b"long", vec![1; 160_000]))?;
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (told, from, to) = (asked.clone(), path.clone(), flushed.clone());
    let note = move |what| {
        told.lock().unwrap().push(what);
        // What the disk has from then on.
        if what == Asked::Flush { std::fs::copy(&from, &to).map(drop) } else { Ok(()) }
    };
    let db = under(Database::options().log_at_once(1 << 20), note).open(&path)?;
    db.update(|txn| txn.table("t")?.put(b"first", b"of the log"))?;
    db.update(|txn| txn.table("t")?.delete(b"long").map(drop))?;
    asked.lock().unwrap().clear();
    // In a file that may not grow it has room where the deleted value is kept until the next checkpoint.
    let pages = db.stats()?.pages;
    db.update(|txn| {
        txn.set_pages_wanted(pages);
        txn.table("t")?.put(b"as long", vec![2; 150_000])
    })?;
    let asked = std::mem::take(&mut *asked.lock().unwrap());
    assert!(asked.starts_with(&[Asked::Begin, Asked::End, Asked::Flushed, Asked::Flush]), "{asked:?}");
    db.update(|txn| txn.table("t")?.put(b"last", b"of the log"))?;
    assert_eq!(after_power_cut(&path, &std::fs::read(&flushed)?)?, [&b"as long"[..], b"first", b"last"]);
    check(&db)
}

/// Role: commits to the log, and stops for a word half-way through a commit: its record is on the disk, and no page written, or
/// all.
#[test]
fn role_half_way() -> Result {
    let Some(arguments) = roles::arguments("ahead::role_half_way") else { return Ok(()) };
    let armed = Arc::new(AtomicBool::new(false));
    let is_armed = armed.clone();
    let stop = if arguments[1] == "written" { Asked::End } else { Asked::Pages };
    let note = move |asked| {
        if asked == stop && is_armed.swap(false, Ordering::Relaxed) {
            roles::say("half-way");
            roles::wait_for_word();
        }
        Ok(())
    };
    let db = under(Database::options().log_at_once(1 << 20), note).open(&arguments[0])?;
    (0..3u8).try_for_each(|i| db.update(|txn| txn.table("t")?.put([i], b"whole")))?;
    roles::say("logged");
    roles::wait_for_word();
    armed.store(true, Ordering::Relaxed);
    db.update(|txn| txn.table("t")?.put(b"half-way", b"whole"))?;
    roles::say("done");
    roles::wait_for_word();
    Ok(())
}

/// A database with a flushed entry, its file then, and a role half-way through a commit after three others.
fn half_way(path: &Path) -> Result<(Vec<u8>, roles::Role)> {
    half_way_until(path, "begun")
}

fn half_way_until(path: &Path, stop: &str) -> Result<(Vec<u8>, roles::Role)> {
    Database::open(path)?.update(|txn| txn.table("t")?.put(b"before", b"the log"))?;
    let base = std::fs::read(path)?;
    let mut role = roles::start("ahead::role_half_way", &[path.to_str().unwrap(), stop]);
    role.expect("logged");
    role.go_on();
    role.expect("half-way");
    Ok((base, role))
}

/// What a power cut brings back of the last flushed file beside the log that is there now.
pub(super) fn after_power_cut(path: &Path, base: &[u8]) -> Result<Vec<Vec<u8>>> {
    let dir = tempfile::tempdir()?;
    let cut = dir.path().join("cut.dm");
    std::fs::write(&cut, base)?;
    std::fs::copy(log_of(path), log_of(&cut))?;
    let after = Database::open(&cut)?;
    check(&after)?;
    Ok(contents(&after)?.remove(&b"t"[..]).unwrap().into_iter().map(|(key, _)| key).collect())
}

const WHOLE: [&[u8]; 4] = [&[0], &[1], &[2], b"before"];

#[test]
fn a_killed_writers_record_is_not_found_once_another_has_begun_to_write() -> Result {
    for beside in [true, false] {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("it.dm");
        let other = if beside { Some(Database::open(&path)?) } else { None };
        let (base, role) = half_way(&path)?;
        role.kill();
        // As long as nobody has written since, it may be.
        assert_eq!(after_power_cut(&path, &base)?, [&WHOLE[..], &[b"half-way"]].concat(), "{beside}");
        // Who then writes puts nothing in its place: of a relaxed commit a power cut leaves nothing here.
        let db = other.map_or_else(|| Database::open(&path), Ok)?;
        let mut txn = db.begin_write()?;
        txn.set_durability(Durability::Relaxed);
        txn.table("t")?.put(b"after", b"the kill")?;
        txn.commit()?;
        if log_of(&path).exists() {
            assert_eq!(after_power_cut(&path, &base)?, WHOLE, "{beside}");
        }
        let keys: Vec<Vec<u8>> = contents(&db)?[&b"t"[..]].iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(keys, [&WHOLE[..3], &[b"after"], &WHOLE[3..]].concat(), "{beside}");
        check(&db)?;
    }
    Ok(())
}

/// A file open as the kernel has it while it writes for somebody.
#[allow(unsafe_code)]
fn open_as_the_kernel_has(log: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).write(true).open(log)?;
    // SAFETY: `flock` is made of integers; the descriptor and the request outlive the call.
    let is_locked = unsafe {
        let mut request: libc::flock = std::mem::zeroed();
        (request.l_type, request.l_len) = (libc::F_WRLCK as libc::c_short, 1);
        libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut request) == 0
    };
    assert!(is_locked);
    Ok(file)
}

#[test]
fn what_the_kernel_still_writes_for_the_dead_is_waited_for() -> Result {
    let keys = [b"a", b"b", b"c", b"d", b"e"];
    for (stop, beside) in [("begun", true), ("begun", false), ("written", true), ("written", false)] {
        let dir = tempfile::tempdir()?;
        let (path, flushed) = (dir.path().join("it.dm"), dir.path().join("flushed.dm"));
        let (from, to) = (path.clone(), flushed.clone());
        let note = move |asked| if asked == Asked::Flush { std::fs::copy(&from, &to).map(drop) } else { Ok(()) };
        let open = || under(Database::options().log_at_once(1 << 20), note.clone()).open(&path);
        let other = if beside { Some(open()?) } else { None };
        let (base, role) = half_way_until(&path, stop)?;
        std::fs::write(&flushed, base)?;
        let kernel = open_as_the_kernel_has(&log_of(&path))?;
        let mut record = [0; 512];
        let at = (0..).map(|n| n * 512).find(|at| is_blank_after(&kernel, at + 512)).unwrap();
        kernel.read_exact_at(&mut record, at)?;
        role.kill();
        if !beside {
            // Who opens first finds no word of the death.
            std::fs::remove_file(dir.path().join("it.dm-lock"))?;
        }
        // The disk has not come to it yet.
        kernel.write_all_at(&[0; 512], at)?;
        thread::scope(|threads| {
            let writing = threads.spawn(|| {
                let db = other.map_or_else(open, Ok).unwrap();
                for key in keys {
                    db.update(|txn| txn.table("t")?.put(key, b"acknowledged")).unwrap();
                }
                db
            });
            thread::sleep(Duration::from_millis(100));
            let waits = !writing.is_finished();
            kernel.write_all_at(&record, at)?;
            drop(kernel);
            let db = writing.join().unwrap();
            assert!(waits, "{stop} {beside}");
            check(&db)?;
            let found = after_power_cut(&path, &std::fs::read(&flushed)?)?;
            assert!(WHOLE.iter().all(|key| found.iter().any(|found| found == key)), "{stop} {beside}: {found:?}");
            assert!(keys.iter().all(|key| found.iter().any(|found| found == *key)), "{stop} {beside}: {found:?}");
            Ok::<(), Box<dyn std::error::Error>>(())
        })?;
    }
    Ok(())
}

/// Whether there are zeros only, from so far on.
fn is_blank_after(file: &File, at: u64) -> bool {
    let mut unit = [0; 512];
    file.read_exact_at(&mut unit, at).is_ok() && unit == [0; 512]
}

/// Opens without a part in the lock file.
fn open_to_read(path: &Path) -> Result<Database> {
    Ok(Database::options().read_only(true).without_lock_file().open(path)?)
}

#[test]
fn who_only_reads_leaves_the_record_of_a_commit_alone_that_nobody_was_told_of() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    let (_, role) = half_way(&path)?;
    let (before, mut writer) = (std::fs::read(&path)?, Some(role));
    for is_alive in [true, false] {
        if !is_alive {
            writer.take().map(roles::Role::kill);
        }
        let keys: Vec<Vec<u8>> =
            contents(&open_to_read(&path)?)?[&b"t"[..]].iter().map(|(key, _)| key.clone()).collect();
        assert_eq!(keys, WHOLE, "{is_alive}");
        assert!(std::fs::read(&path)? == before, "a reader has written");
    }
    Ok(())
}

#[test]
fn who_cannot_ask_the_lock_file_waits_for_a_commit_whose_record_is_there() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("it.dm");
    let (_, mut role) = half_way(&path)?;
    let before = std::fs::read(&path)?;
    std::fs::remove_file(dir.path().join("it.dm-lock"))?;
    let opened = thread::scope(|threads| {
        let opening = threads.spawn(|| open_to_read(&path).map_err(|error| error.to_string()));
        // Who would not wait has done the record again by then, beside the writer.
        thread::sleep(Duration::from_millis(30));
        let meanwhile = std::fs::read(&path);
        role.go_on();
        let opened = opening.join().unwrap();
        assert!(meanwhile.is_ok_and(|bytes| bytes == before), "a reader has written");
        opened
    })?;
    role.expect("done");
    assert!(contents(&opened)?[&b"t"[..]].len() >= WHOLE.len());
    Ok(())
}
