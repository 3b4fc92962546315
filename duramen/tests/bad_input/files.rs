//! Files that are not a database, or no longer a whole one.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};

use duramen::{Database, Error, Options, Result};

use crate::{assert_clean, closed, scratch};

/// Opens a file with this content, which must fail; the error, and that the file is as it was, and alone.
fn open_bytes(bytes: &[u8]) -> Error {
    let (dir, path) = scratch();
    fs::write(&path, bytes).unwrap();
    let error = Database::open(&path).expect_err("no database");
    assert!(fs::read(&path).unwrap() == bytes, "the file was changed");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "something was left beside it");
    assert!(error.to_string().contains(&path), "{error}");
    error
}

fn overwrite(path: &str, at: u64, bytes: &[u8]) {
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, at).unwrap();
}

fn cut(path: &str, bytes: u64) {
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn another_programs_file_is_not_a_database_and_stays_as_it_is() {
    for bytes in [&b"x"[..], b"Dear diary,", &[0xA5; 100_000], "text\n".repeat(5000).as_bytes()] {
        assert!(matches!(open_bytes(bytes), Error::NotADatabase { .. }));
    }
}

#[test]
fn an_lmdb_file_is_known_as_one_and_the_way_out_is_told() {
    // The magic number stands behind the page header, which is 16 bytes long, or 24 in newer versions.
    for at in [16, 24] {
        let mut file = vec![0; 40_960];
        file[at..at + 4].copy_from_slice(&0xBEEF_C0DEu32.to_le_bytes());
        file[at + 4] = 1;
        let error = open_bytes(&file);
        assert!(matches!(error, Error::NotADatabase { .. }));
        let text = error.to_string();
        assert!(text.contains("LMDB") && text.contains("duramen load NEW FILE"), "{text}");
    }
}

/// It says who reads there, and holds the locks of programs that are at work.
#[test]
fn lmdbs_lock_file_is_not_touched() {
    let (dir, _) = scratch();
    let (data, lock) = (dir.path().join("data.mdb"), dir.path().join("lock.mdb"));
    let mut file = vec![0; 40_960];
    file[16..20].copy_from_slice(&0xBEEF_C0DEu32.to_le_bytes());
    fs::write(&data, &file).unwrap();
    fs::write(&lock, [0xDE; 8192]).unwrap();
    for options in [Options::new(), Options::new().read_only(true), Options::new().create(false)] {
        assert!(matches!(options.open(&data), Err(Error::NotADatabase { .. })));
        assert!(fs::read(&lock).unwrap() == [0xDE; 8192], "the lock file was changed");
    }
}

#[test]
fn an_sqlite_file_is_known_as_one() {
    let mut file = vec![0; 8192];
    file[..16].copy_from_slice(b"SQLite format 3\0");
    assert!(open_bytes(&file).to_string().contains("SQLite"));
}

#[test]
fn an_empty_file_becomes_a_database() -> Result<()> {
    let (_dir, path) = scratch();
    fs::write(&path, b"").unwrap();
    let db = Database::open(&path)?;
    db.update(|txn| txn.table("t")?.put("key", "value"))?;
    assert_clean(&db);
    Ok(())
}

#[test]
fn an_empty_file_stays_empty_if_nothing_may_be_created() {
    let (_dir, path) = scratch();
    fs::write(&path, b"").unwrap();
    for options in [Options::new().create(false), Options::new().read_only(true)] {
        assert!(matches!(options.open(&path), Err(Error::NotADatabase { .. })));
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    }
}

#[test]
fn a_missing_file_is_created_only_if_it_may_be() {
    let (_dir, path) = scratch();
    for options in [Options::new().create(false), Options::new().read_only(true)] {
        let error = options.open(&path).expect_err("no file");
        assert!(matches!(&error, Error::File { source, .. } if source.kind() == std::io::ErrorKind::NotFound));
        assert!(error.to_string().contains(&path), "{error}");
        assert!(!fs::exists(&path).unwrap() && !fs::exists(format!("{path}-lock")).unwrap());
    }
}

#[test]
fn a_directory_is_not_a_database() {
    let (dir, _) = scratch();
    for options in [Options::new(), Options::new().read_only(true)] {
        let error = options.open(dir.path()).expect_err("a directory");
        assert!(error.to_string().contains("directory"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "something was left in it");
    }
}

#[test]
fn a_missing_directory_is_named() {
    let (dir, _) = scratch();
    let path = dir.path().join("missing/people.dm");
    let error = Database::open(&path).expect_err("no such directory");
    assert!(matches!(&error, Error::File { source, .. } if source.kind() == std::io::ErrorKind::NotFound));
    assert!(error.to_string().contains("missing/people.dm"), "{error}");
}

#[test]
fn another_version_is_refused_with_its_number() -> Result<()> {
    let (_dir, path) = closed()?;
    for (version, advice) in [(9, "use a newer one"), (1, "dump it with the program that made it")] {
        for slot in 0..4 {
            overwrite(&path, slot * 4096 + 8, &u32::to_le_bytes(version));
        }
        let error = Database::open(&path).expect_err("another version");
        assert!(matches!(error, Error::OtherVersion { found, supported: 2, .. } if found == version));
        assert!(error.to_string().contains(advice), "{error}");
    }
    Ok(())
}

#[test]
fn features_that_must_not_be_ignored_are_refused() -> Result<()> {
    let (_dir, path) = closed()?;
    for slot in 0..4 {
        overwrite(&path, slot * 4096 + 24, &0x40u32.to_le_bytes());
    }
    let error = Database::open(&path).expect_err("an unknown feature");
    assert!(matches!(error, Error::OtherVersion { features: 0x40, .. }));
    Ok(())
}

/// Changes a number in meta slots and makes their checksums right.
fn reseal(path: &str, slots: std::ops::Range<usize>, at: usize, number: u32) {
    reseal_with(path, slots, at, &number.to_le_bytes());
}

fn reseal_with(path: &str, slots: std::ops::Range<usize>, at: usize, number: &[u8]) {
    let mut bytes = std::fs::read(path).unwrap();
    for slot in bytes.chunks_mut(4096).take(slots.end).skip(slots.start) {
        slot[at..at + number.len()].copy_from_slice(number);
        let word = |at: usize| u64::from_le_bytes(slot[at..at + 8].try_into().unwrap());
        let (id, tail) = (word(32), 256..256 + word(192) as usize);
        for (range, at) in [(tail, 240), (0..248, 248)] {
            let sum = xxhash_rust::xxh3::xxh3_64_with_seed(&slot[range], id);
            slot[at..at + 8].copy_from_slice(&sum.to_le_bytes());
        }
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_file_with_features_that_may_only_be_read_is_read_but_not_written() -> Result<()> {
    let (_dir, path) = closed()?;
    reseal(&path, 0..4, 20, 0x10);
    let error = Database::open(&path).expect_err("an unknown feature");
    assert!(matches!(error, Error::OtherVersion { found: 2, features: 0x10, .. }), "{error}");
    let reader = Database::options().read_only(true).open(&path)?;
    assert!(!reader.read()?.table_names()?.is_empty());
    Database::open(&path).expect_err("beside a reader too");
    Ok(())
}

#[test]
fn features_that_may_be_ignored_are() -> Result<()> {
    let (_dir, path) = closed()?;
    reseal(&path, 0..4, 16, 0x10);
    drop(Database::open(&path)?);
    Ok(())
}

#[test]
fn a_newer_version_in_one_slot_counts_if_the_slot_is_whole() -> Result<()> {
    for slot in 0..4 {
        let (_dir, path) = closed()?;
        reseal(&path, slot..slot + 1, 8, 9);
        let error = Database::open(&path).expect_err("a newer version");
        assert!(matches!(error, Error::OtherVersion { found: 9, .. }), "{error}");
    }
    Ok(())
}

/// No commit would be told from what is no meta page.
#[test]
fn no_meta_page_is_written_behind_the_last_that_there_can_be() -> Result<()> {
    for left in 0..3 {
        let (_dir, path) = closed()?;
        let bytes = fs::read(&path).unwrap();
        let sequence = |slot: &usize| u64::from_le_bytes(bytes[slot * 4096 + 40..][..8].try_into().unwrap());
        let newest = (0..4).max_by_key(sequence).unwrap();
        reseal_with(&path, newest..newest + 1, 40, &((1_u64 << 62) - left).to_le_bytes());
        let db = Database::open(&path)?;
        for commit in 0..3 {
            let committed = db.update(|txn| txn.table("counted")?.put("commits", [commit]));
            assert_eq!(committed.is_ok(), u64::from(commit) < left, "{committed:?}");
            assert!(matches!(committed, Ok(()) | Err(Error::Corrupt { .. })));
        }
        drop(db);
        let db = Database::open(&path)?;
        let snapshot = db.read()?;
        let found = if left == 0 { None } else { snapshot.table("counted")?.get("commits")? };
        assert_eq!(found.map(|found| u64::from(found[0]) + 1).unwrap_or_default(), left);
    }
    Ok(())
}

/// Where the newest change of the free space begins in a tail of changes whose numbers take a byte or two.
fn newest_delta(tail: &[u8]) -> usize {
    let at = std::cell::Cell::new(0);
    let number = || {
        let bytes = &tail[at.get()..];
        let len = if bytes[0] < 0x80 { 1 } else { 2 };
        at.set(at.get() + len);
        bytes[..len].iter().rev().fold(0, |number, byte| number << 7 | usize::from(byte & 0x7F))
    };
    let mut begin = 0;
    while at.get() < tail.len() {
        begin = at.get();
        let _txnid_and_end = (number(), number());
        for numbers in [2, 3, 2] {
            for _ in 0..number() * numbers {
                number();
            }
        }
    }
    begin
}

/// The next commit's own changes would be taken for known, and what it takes for free.
#[test]
fn a_change_of_the_free_space_that_no_commit_has_made_yet_is_damage() -> Result<()> {
    let (_dir, path) = closed()?;
    let bytes = fs::read(&path).unwrap();
    let word = |slot: usize, at| u64::from_le_bytes(bytes[slot * 4096 + at..][..8].try_into().unwrap());
    let newest = (0..4).max_by_key(|&slot| word(slot, 40)).unwrap();
    let tail = &bytes[newest * 4096 + 256..][..word(newest, 192) as usize];
    let at = newest_delta(tail);
    assert_eq!(u64::from(tail[at]), word(newest, 48), "the newest commit's");
    reseal_with(&path, newest..newest + 1, 256 + at, &[tail[at] + 1]);
    let db = Database::open(&path)?;
    assert!(!db.check(|_, _| {})?.is_clean());
    let error = db.update(|txn| txn.table("t")?.put("a", "b")).expect_err("it is not known what is free");
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert_eq!(db.read()?.table("t")?.len(), 1000);
    Ok(())
}

#[test]
fn a_flipped_bit_in_the_version_of_one_slot_is_damage_and_no_newer_version() -> Result<()> {
    for slot in 0..4 {
        for at in [8, 24] {
            let (_dir, path) = closed()?;
            overwrite(&path, slot * 4096 + at, &[0x40]);
            // If it was the newest, the durable commit before it is found.
            drop(Database::open(&path)?);
        }
    }
    Ok(())
}

#[test]
fn a_truncated_file_is_never_read_past_its_end() -> Result<()> {
    let (_dir, path) = closed()?;
    let whole = fs::read(&path).unwrap();
    for length in (0..whole.len() as u64).step_by(2048).skip(1) {
        fs::write(&path, &whole).unwrap();
        cut(&path, length);
        let error = Database::open(&path).map(drop).expect_err("a truncated file");
        let told = matches!(error, Error::Truncated { found, .. } if found == length);
        // With its meta pages cut off it is not even that.
        let unknown = length < 16384 && matches!(error, Error::Corrupt { .. } | Error::NotADatabase { .. });
        assert!(told || unknown, "{length} of {} bytes: {error}", whole.len());
        assert_eq!(fs::metadata(&path).unwrap().len(), length, "the file was changed");
    }
    Ok(())
}

#[test]
fn a_file_truncated_under_an_open_handle_is_noticed_by_the_next_reader() -> Result<()> {
    let (_dir, path) = closed()?;
    let db = Database::open(&path)?;
    cut(&path, 20_000);
    assert!(matches!(db.read().map(drop), Err(Error::Truncated { found: 20_000, .. })));
    assert!(matches!(db.begin_write().map(drop), Err(Error::Truncated { found: 20_000, .. })));
    Ok(())
}

#[test]
fn one_damaged_meta_page_is_survived() -> Result<()> {
    for slot in 0..4 {
        let (_dir, path) = closed()?;
        overwrite(&path, slot * 4096 + 60, &[0xFF; 8]);
        // The newest commit's meta page may be the damaged one: then an older commit is all there is.
        let opened = Database::open(&path);
        match opened {
            Ok(db) => assert!(db.read()?.table("t")?.len() >= 800),
            Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "{error}"),
        }
    }
    Ok(())
}

#[test]
fn four_damaged_meta_pages_are_not() -> Result<()> {
    let (_dir, path) = closed()?;
    for slot in 0..4 {
        overwrite(&path, slot * 4096 + 60, &[0xFF; 8]);
    }
    let error = Database::open(&path).expect_err("no meta page is left");
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    Ok(())
}

#[test]
fn a_damaged_page_is_named_when_it_is_read_and_by_the_check() -> Result<()> {
    let (_dir, path) = closed()?;
    let pages = fs::metadata(&path).unwrap().len() / 4096;
    let mut named = 0;
    for page in 4..pages {
        let (_dir, path) = closed()?;
        overwrite(&path, page * 4096 + 200, &[0xEE; 16]);
        let Ok(db) = Database::open(&path) else { continue };
        let snapshot = db.read()?;
        let read = snapshot.table("t").and_then(|table| table.iter().try_for_each(|item| item.map(drop)));
        if let Err(error) = read {
            assert!(matches!(error, Error::Corrupt { page: named, .. } if named.0 == page), "{error}");
            let findings = db.check(|_, _| {})?.findings;
            assert!(
                findings.iter().any(|finding| finding.contains(&format!("page {page} is damaged"))),
                "{findings:?}"
            );
            named += 1;
        }
    }
    assert!(named > 10, "{named} of {pages} pages were in use");
    Ok(())
}

#[test]
fn a_cursor_that_finds_damage_stays_where_it_stood() -> Result<()> {
    let (_dir, path) = closed()?;
    let pages = fs::metadata(&path).unwrap().len() / 4096;
    let key = |n: u64| n.to_be_bytes();
    let mut stayed = 0;
    for page in 4..pages {
        let (_dir, path) = closed()?;
        overwrite(&path, page * 4096 + 200, &[0xEE; 16]);
        let Ok(db) = Database::open(&path) else { continue };
        let Ok(mut txn) = db.begin_write() else { continue };
        let Ok(id) = txn.table("t").map(|table| table.id()) else { continue };
        let mut cursor = txn.cursor(id)?;
        if cursor.seek(&txn, key(1)).is_err() {
            continue;
        }
        if let Err(error) = cursor.seek(&txn, key(999)) {
            assert!(matches!(error, Error::Corrupt { .. }), "{error}");
            assert_eq!(cursor.current(&txn)?.map(|(found, _)| found), Some(&key(1)[..]));
            assert_eq!(cursor.next(&txn)?.map(|(found, _)| found), Some(&key(2)[..]));
            stayed += 1;
        }
    }
    assert!(stayed > 0, "none of {pages} pages was the last leaf");
    Ok(())
}

/// Neither the newest commit, which would have to prove itself, nor the one that it was built on.
#[test]
fn a_copy_that_ends_before_both_commits_is_one_of_a_cut_off_file() -> Result<()> {
    let (dir, path) = scratch();
    let db = Options::new().durability(duramen::Durability::Relaxed).open(&path)?;
    db.update(|txn| (0..2000u32).try_for_each(|i| txn.table("t")?.put(i.to_be_bytes(), [1; 100])))?;
    db.checkpoint()?;
    db.update(|txn| (0..2000u32).try_for_each(|i| txn.table("t")?.put(i.to_be_bytes(), [2; 100])))?;
    let copy = dir.path().join("copy").display().to_string();
    fs::copy(&path, &copy).unwrap();
    let open = || Options::new().without_lock_file().open(&copy);
    let early = db.stats()?.pages / 4 * 4096;
    cut(&copy, early);
    let before = fs::read(&copy).unwrap();
    assert!(matches!(open(), Err(Error::Truncated { found, .. }) if found == early));
    assert!(fs::read(&copy).unwrap() == before, "the file was changed");
    Ok(())
}

#[test]
fn a_lock_file_of_any_length_takes_the_room_that_it_needs() -> Result<()> {
    for is_blank in [false, true] {
        let (dir, path) = closed()?;
        let lock = fs::File::options().write(true).open(format!("{path}-lock")).unwrap();
        if is_blank {
            lock.set_len(0).unwrap();
        }
        lock.set_len(1 << 30).unwrap();
        assert_clean(&Database::open(&path)?);
        assert_clean(&Options::new().read_only(true).open(&path)?);
        let taken = lock.metadata().unwrap().blocks() * 512;
        assert!(taken < 4 << 20, "{taken} bytes");
        drop(dir);
    }
    Ok(())
}
