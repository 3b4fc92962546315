//! What is found after a power cut that follows an unlucky order of openings, checkpoints and commits.
//!
//! A power cut is played by copying the files and blanking, in the copy, pages that no flush has covered yet.

use std::io::{self, IoSlice};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use duramen::{Database, Durability, Medium, MediumLayer, Txnid};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn put(db: &Database, value: &[u8], durability: Durability) -> Result<Txnid> {
    let mut txn = db.begin_write()?;
    txn.set_durability(durability);
    txn.table("t")?.put(b"key", value)?;
    let txnid = txn.txnid();
    txn.commit()?;
    Ok(txnid)
}

fn value(db: &Database) -> Result<Vec<u8>> {
    Ok(db.read()?.table("t")?.get(b"key")?.unwrap_or_default().to_vec())
}

/// A copy of the data file in which the pages of this commit and all later ones are blank.
fn cut(path: &Path, lost: Txnid) -> Result<PathBuf> {
    let birth = |page: &[u8]| u64::from_le_bytes(page[16..24].try_into().unwrap_or_default());
    let mut bytes = std::fs::read(path)?;
    for page in bytes.chunks_mut(4096).skip(4).filter(|page| birth(page) >= lost.0) {
        page.fill(0);
    }
    let copy = path.with_extension("cut");
    std::fs::write(&copy, bytes)?;
    Ok(copy)
}

#[test]
fn a_checkpoint_by_another_handle_keeps_its_meta_page_while_relaxed_commits_go_on() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("shared.dm");
    let writer = Database::open(&path)?;
    put(&writer, b"old", Durability::Durable)?;
    for round in 0..4 {
        let kept = put(&writer, b"checkpointed", Durability::Relaxed)?;
        Database::open(&path)?.checkpoint()?;
        for later in 0..4 {
            put(&writer, b"lost", Durability::Relaxed)?;
            let after = Database::open(cut(&path, Txnid(kept.0 + 1))?)?;
            assert_eq!(value(&after)?, b"checkpointed", "round {round}, commit {later} after the checkpoint");
        }
    }
    Ok(())
}

#[test]
fn what_was_synced_stays_while_relaxed_commits_go_on() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("synced.dm");
    let db = Database::options().durability(Durability::Relaxed).open(&path)?;
    for round in 0..4 {
        let kept = put(&db, b"synced", Durability::Relaxed)?;
        db.sync()?;
        assert_eq!(db.stats()?.durable_txnid, kept);
        for later in 0..4 {
            put(&db, b"lost", Durability::Relaxed)?;
            let after = Database::open(cut(&path, Txnid(kept.0 + 1))?)?;
            assert_eq!(value(&after)?, b"synced", "round {round}, commit {later} after it");
        }
    }
    Ok(())
}

#[test]
fn what_was_synced_beside_a_writer_stays_as_well() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("beside.dm");
    let db = Database::options().durability(Durability::Relaxed).open(&path)?;
    let other = Database::options().durability(Durability::Relaxed).open(&path)?;
    for round in 0..5 {
        // The last checkpoint is not what was synced.
        put(&db, b"before", Durability::Durable)?;
        put(&db, b"before", Durability::Relaxed)?;
        let committed = put(&db, b"synced", Durability::Relaxed)?;
        let mut txn = db.begin_write()?;
        txn.table("t")?.put(b"key", b"in the midst of it")?;
        match round % 3 {
            0 => db.sync()?,
            1 => other.sync()?,
            // Who closes waits for the writer, but not for ever.
            _ => Database::open(&path)?.close()?,
        }
        assert_eq!(db.stats()?.txnid, committed);
        let next = txn.txnid();
        txn.commit()?;
        assert_eq!(value(&Database::open(cut(&path, next)?)?)?, b"synced", "round {round}");
        // What is written over from here on was kept for it: first the commit that followed is made safe.
        for later in 0..4 {
            put(&other, b"lost", Durability::Relaxed)?;
            let after = Database::open(cut(&path, Txnid(next.0 + 1))?)?;
            assert_eq!(value(&after)?, b"in the midst of it", "round {round}, commit {later} after it");
        }
    }
    Ok(())
}

#[test]
fn a_reader_that_opens_first_leaves_what_was_synced_beside_a_writer_to_the_next_writer() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("first.dm");
    let db = Database::options().durability(Durability::Relaxed).open(&path)?;
    put(&db, b"before", Durability::Durable)?;
    let synced = put(&db, b"synced", Durability::Relaxed)?;
    let mut txn = db.begin_write()?;
    txn.table("t")?.put(b"key", b"lost")?;
    db.sync()?;
    let lost = txn.txnid();
    txn.commit()?;
    let path = cut(&path, lost)?;

    let reader = Database::options().read_only(true).open(&path)?;
    assert_eq!((value(&reader)?, reader.stats()?.txnid), (b"synced".to_vec(), synced));
    let writer = Database::open(&path)?;
    put(&writer, b"after", Durability::Durable)?;
    drop((writer, reader));
    let after = Database::open(&path)?;
    assert_eq!(value(&after)?, b"after");
    assert!(after.check(|_, _| {})?.findings.is_empty());
    Ok(())
}

#[test]
fn a_writer_beside_a_reader_who_opened_first_after_a_power_cut_loses_nothing() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("whole.dm");
    let before = Database::open(&path)?;
    put(&before, b"durable", Durability::Durable)?;
    let lost = put(&before, b"lost", Durability::Relaxed)?;
    for _ in 0..2 {
        put(&before, b"lost", Durability::Relaxed)?;
    }
    let path = cut(&path, lost)?;

    let reader = Database::options().read_only(true).open(&path)?;
    assert_eq!(value(&reader)?, b"durable");
    let writer = Database::open(&path)?;
    put(&writer, b"after", Durability::Durable)?;
    assert_eq!((value(&writer)?, value(&reader)?), (b"after".to_vec(), b"after".to_vec()));
    drop((writer, reader));
    assert_eq!(value(&Database::open(&path)?)?, b"after");
    Ok(())
}

/// A copy of a file whose newest commit needs a proof, as after `kill -9`; the commit's number.
fn killed(dir: &Path) -> Result<(PathBuf, Txnid)> {
    let path = dir.join("killed.dm");
    let db = Database::open(&path)?;
    put(&db, b"before", Durability::Durable)?;
    let newest = put(&db, b"newest", Durability::Durable)?;
    Ok((cut(&path, Txnid(u64::MAX))?, newest))
}

#[test]
fn a_writer_that_cannot_settle_what_it_found_says_so_each_time_and_writes_nothing() -> Result {
    let dir = tempfile::tempdir()?;
    for lose_meta in [false, true] {
        let (path, newest) = killed(dir.path())?;
        // Who opened first could only read, so the first writer settles.
        let reader = Database::options().read_only(true).open(&path)?;
        assert_eq!(value(&reader)?, b"newest");
        let writer = Database::open(&path)?;
        let mut bytes = std::fs::read(&path)?;
        let (from, number) = if lose_meta { (0..4, 48..56) } else { (4..usize::MAX, 16..24) };
        for (_, page) in bytes.chunks_mut(4096).enumerate().filter(|(i, _)| from.contains(i)) {
            if page[number.clone()] == newest.0.to_le_bytes() {
                page[100] ^= 1;
            }
        }
        std::fs::write(&path, &bytes)?;
        for _ in 0..2 {
            let error = writer.begin_write().err().ok_or("it can be written to")?;
            assert!(matches!(error, duramen::Error::Corrupt { .. }), "{error}");
        }
        assert!(std::fs::read(&path)? == bytes);
    }
    Ok(())
}

/// Two handles that share no memory, and take turns.
fn two_without_lock_file(path: &Path) -> Result<[Database; 2]> {
    let open = || Database::options().without_lock_file().flush_on_close(false).open(path);
    Ok([open()?, open()?])
}

#[test]
fn handles_without_a_lock_file_make_commits_on_top_of_each_others() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("turns.dm");
    let handles = two_without_lock_file(&path)?;
    // So many that most pages stay as they are in a commit.
    handles[0].update(|txn| (0..500u32).try_for_each(|i| txn.table("t")?.put(i.to_be_bytes(), [b'x'; 100])))?;
    for turn in 0..40u32 {
        let mut txn = handles[turn as usize * 5 / 3 % 2].begin_write()?;
        txn.set_durability(if turn % 3 == 0 { Durability::Durable } else { Durability::Relaxed });
        txn.table("t")?.put((turn * 77 % 500).to_be_bytes(), turn.to_be_bytes())?;
        txn.commit()?;
        let copy = path.with_extension("copy");
        std::fs::copy(&path, &copy)?;
        let copy = Database::options().without_lock_file().open(&copy)?;
        let found = copy.read()?.table("t")?.get((turn * 77 % 500).to_be_bytes())?.map(<[u8]>::to_vec);
        assert_eq!(found, Some(turn.to_be_bytes().to_vec()), "turn {turn}");
    }
    Ok(())
}

#[test]
fn what_one_handle_without_a_lock_file_has_flushed_stays_while_another_goes_on() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("flushed.dm");
    let [one, other] = two_without_lock_file(&path)?;
    type Flush = fn(&Database, &Database, &[u8]) -> Result<Txnid>;
    let flush: [Flush; 5] = [
        |one, _, value| put(one, value, Durability::Durable),
        |one, _, value| put(one, value, Durability::Relaxed).and_then(|txnid| Ok(one.checkpoint().map(|()| txnid)?)),
        |one, _, value| put(one, value, Durability::Relaxed).and_then(|txnid| Ok(one.sync().map(|()| txnid)?)),
        |one, other, value| put(other, value, Durability::Relaxed).and_then(|txnid| Ok(one.sync().map(|()| txnid)?)),
        |one, other, value| {
            let txnid = put(other, value, Durability::Relaxed)?;
            let _comes_to_nothing = one.begin_write()?;
            Ok(one.sync().map(|()| txnid)?)
        },
    ];
    for (way, flush) in (0u8..).zip(flush) {
        put(&other, b"seen", Durability::Relaxed)?;
        let kept = flush(&one, &other, &[way])?;
        for later in 0..6 {
            put(&other, b"lost", Durability::Relaxed)?;
            let after = Database::open(cut(&path, Txnid(kept.0 + 1))?)?;
            assert_eq!(value(&after)?, [way], "way {way}, commit {later} after it");
        }
    }
    Ok(())
}

#[test]
fn a_handle_without_a_lock_file_that_closes_hides_no_commit_that_comes_later() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("closed.dm");
    let [stays, _] = two_without_lock_file(&path)?;
    for round in 0..8u32 {
        put(&stays, b"before", Durability::Relaxed)?;
        Database::options().without_lock_file().open(&path)?.close()?;
        put(&stays, &round.to_be_bytes(), Durability::Durable)?;
        let copy = path.with_extension("copy");
        std::fs::copy(&path, &copy)?;
        assert_eq!(value(&Database::open(&copy)?)?, round.to_be_bytes());
    }
    Ok(())
}

#[test]
fn without_a_lock_file_the_file_stays_as_long_as_what_a_power_cut_leaves_needs() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("long.dm");
    let db = Database::options().without_lock_file().open(&path)?;
    // All that is free, for the commits that follow, is before what makes the file long.
    db.update(|txn| txn.table("free soon")?.put("key", vec![9; 1 << 20]))?;
    db.update(|txn| txn.table("large")?.put("key", vec![9; 4 << 20]))?;
    db.update(|txn| txn.drop_table("free soon").map(drop))?;
    let reader = db.read()?;
    db.update(|txn| txn.drop_table("large").map(drop))?;
    let kept = put(&db, b"kept", Durability::Durable)?;
    drop(reader);
    let long = std::fs::metadata(&path)?.len();
    // So many that what the reader saw is found to be free.
    (0..40).try_for_each(|_| put(&db, b"lost", Durability::Relaxed).map(drop))?;
    drop(db.begin_write()?);
    let after = Database::open(cut(&path, Txnid(kept.0 + 1))?)?;
    assert_eq!(value(&after)?, b"kept");
    db.checkpoint()?;
    drop(db.begin_write()?);
    assert!(std::fs::metadata(&path)?.len() < long / 2, "it is cut off once the newest commit stays");
    Ok(())
}

/// Somebody may be writing: only who begins a transaction knows that nobody else is in one.
#[test]
fn without_a_lock_file_who_opens_and_closes_writes_nothing() -> Result {
    let dir = tempfile::tempdir()?;
    for (i, durability) in [Durability::Relaxed, Durability::Durable].into_iter().enumerate() {
        let path = dir.path().join(format!("{i}.dm"));
        let open = || Database::options().without_lock_file().open(&path);
        let writer = open()?;
        put(&writer, b"value", durability)?;
        let written = || std::fs::metadata(&path).and_then(|data| data.modified());
        let before = written()?;
        let db = open()?;
        assert_eq!(value(&db)?, b"value");
        db.close()?;
        assert_eq!(written()?, before, "{durability:?}");
        // As if it had been killed.
        std::mem::forget(writer);
        let db = open()?;
        put(&db, b"another", durability)?;
        db.close()?;
        assert_eq!(value(&open()?)?, b"another");
        assert_eq!(open()?.check(|_, _| {})?.findings, Vec::<String>::new());
    }
    Ok(())
}

/// As far as they write nothing themselves: programs lock each other out while they are in transactions, and open and close when
/// they like.
#[test]
fn a_handle_without_a_lock_file_that_comes_and_goes_leaves_anothers_transaction_as_it_is() -> Result {
    let dir = tempfile::tempdir()?;
    let fill = |txn: &mut duramen::WriteTxn<'_>, name: &str| {
        (0..2000u32).try_for_each(|i| txn.table(name)?.put(i.to_be_bytes(), [b'x'; 1000]))
    };
    for (i, durability) in [Durability::Relaxed, Durability::Durable].into_iter().enumerate() {
        let path = dir.path().join(format!("{i}.dm"));
        let open = || Database::options().without_lock_file().memory_budget(1).open(&path);
        let (stays, goes) = (open()?, open()?);
        put(&goes, b"before", durability)?;
        put(&stays, b"known", durability)?;
        let mut txn = stays.begin_write()?;
        txn.set_durability(Durability::Durable);
        fill(&mut txn, "large")?;
        let comes = open()?;
        comes.sync()?;
        comes.close()?;
        goes.close()?;
        fill(&mut txn, "larger")?;
        txn.commit()?;
        let copy = path.with_extension("copy");
        std::fs::copy(&path, &copy)?;
        let copy = Database::open(&copy)?;
        assert_eq!(copy.check(|_, _| {})?.findings, Vec::<String>::new());
        assert_eq!(copy.read()?.table("larger")?.len(), 2000, "{durability:?}");
    }
    Ok(())
}

/// What happens before the next call of the disk but so many.
type Act = Arc<Mutex<Option<(usize, Box<dyn FnOnce() + Send>)>>>;

/// A medium that lets others act just before one of its calls.
struct Beside(Arc<dyn Medium>, Act);

impl Beside {
    fn meet(&self) {
        let mut act = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let due = match act.as_mut() {
            Some((0, _)) => act.take(),
            Some((calls, _)) => {
                *calls -= 1;
                None
            }
            None => None,
        };
        drop(act);
        if let Some((_, act)) = due {
            act();
        }
    }
}

impl Medium for Beside {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.meet();
        self.0.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        self.meet();
        self.0.flush()
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.meet();
        self.0.set_len(bytes)
    }
}

/// Closing is no transaction: programs do not lock each other out for it.
#[test]
fn a_handle_without_a_lock_file_that_closes_writes_over_nothing_that_is_committed_meanwhile() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("meanwhile.dm");
    let durability = |relaxed| if relaxed { Durability::Relaxed } else { Durability::Durable };
    for way in 0..48u8 {
        let (mine, theirs) = (durability(way & 1 == 0), durability(way & 2 == 0));
        let (call, commits) = (usize::from(way / 4 % 2), way / 8);
        let act = Act::default();
        let beside = act.clone();
        let layer: MediumLayer = Arc::new(move |medium| Arc::new(Beside(medium, beside.clone())));
        let goes = Database::options().without_lock_file().medium(layer).open(&path)?;
        let stays = Database::options().without_lock_file().open(&path)?;
        put(&goes, b"mine", mine)?;
        let other = stays.clone();
        let work = move || (0..=commits).for_each(|i| assert!(put(&other, &[i], theirs).is_ok()));
        *act.lock().unwrap() = Some((call, Box::new(work)));
        goes.close()?;
        let what = format!("{mine:?}, {theirs:?}, before call {call}, {commits} more");
        let met = act.lock().unwrap().take().is_none();
        let copy = path.with_extension("copy");
        std::fs::copy(&path, &copy)?;
        let found = Database::options().without_lock_file().open(&copy)?;
        assert_eq!(found.check(|_, _| {})?.findings, Vec::<String>::new(), "{what}");
        let newest = if met { vec![commits] } else { b"mine".to_vec() };
        assert_eq!(value(&found)?, newest, "{what}");
        // And who stays goes on from there.
        put(&stays, b"after", theirs)?;
        assert_eq!(value(&stays)?, b"after", "{what}");
    }
    Ok(())
}

#[test]
fn damage_to_what_was_closed_without_a_lock_file_is_not_taken_for_a_power_cut() -> Result {
    let dir = tempfile::tempdir()?;
    for (i, durability) in [Durability::Relaxed, Durability::Durable].into_iter().enumerate() {
        let path = dir.path().join(format!("{i}.dm"));
        let open = |path: &Path| Database::options().without_lock_file().open(path);
        let db = open(&path)?;
        put(&db, b"before", Durability::Durable)?;
        let newest = put(&db, b"newest", durability)?;
        db.close()?;
        let after = open(&cut(&path, newest)?).map_err(Into::into).and_then(|db| value(&db));
        assert!(after.is_err(), "{durability:?}: {after:?}");
    }
    Ok(())
}
