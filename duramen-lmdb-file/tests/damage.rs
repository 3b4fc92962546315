//! Files that LMDB's own `mdb_load` made, whole and damaged.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use duramen_lmdb_file::{DataFile, Error};

type Tables = BTreeMap<Option<Vec<u8>>, Vec<(Vec<u8>, Vec<u8>)>>;

/// Gives sections to LMDB's mdb_load, which makes or changes a database.
fn load(directory: &Path, sections: &str) {
    let mut child = Command::new("mdb_load")
        .arg(directory)
        .stdin(Stdio::piped())
        .spawn()
        .expect("mdb_load; `make setup` installs it (Debian's package lmdb-utils)");
    child.stdin.take().unwrap().write_all(sections.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

fn section(name: &str, flags: &[&str], entries: &[(Vec<u8>, Vec<u8>)]) -> String {
    let mut text = format!("VERSION=3\nformat=bytevalue\ndatabase={name}\ntype=btree\nmapsize=16777216\n");
    text.extend(flags.iter().map(|flag| format!("{flag}=1\n")));
    text += "HEADER=END\n";
    for bytes in entries.iter().flat_map(|(key, value)| [key, value]) {
        text += " ";
        text.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
        text += "\n";
    }
    text + "DATA=END\n"
}

/// A database of each kind of page and entry, and what is in it.
fn everything(directory: &Path) -> Tables {
    let key = |i: u64| (i * 7919).to_be_bytes().to_vec();
    let plain: Vec<_> = (0..600).map(|i| (key(i), vec![b'v'; usize::try_from(i % 90).unwrap()])).collect();
    let long: Vec<_> = (1..6).map(|i| (key(i), vec![b'l'; 3000 * usize::try_from(i).unwrap()])).collect();
    let many: Vec<_> = (0..900).map(|i| (key(i % 7 * (i % 3)), (i * 104_729).to_be_bytes().to_vec())).collect();
    let kinds: [(&str, &[&str], Vec<_>); 5] = [
        ("plain", &[], plain),
        ("long", &[], long),
        ("many", &["dupsort"], many.clone()),
        ("fixed", &["dupsort", "dupfixed"], many),
        ("empty", &[], Vec::new()),
    ];
    load(directory, &kinds.iter().map(|(name, flags, entries)| section(name, flags, entries)).collect::<String>());
    let sorted = |mut entries: Vec<_>| {
        entries.sort();
        entries
    };
    kinds.into_iter().map(|(name, _, entries)| (Some(name.into()), sorted(entries))).collect()
}

fn read(path: &Path) -> Result<Tables, Error> {
    let file = DataFile::open(path)?;
    let mut tables = Tables::new();
    for table in file.tables()? {
        let (mut entries, mut found) = (file.entries(&table), Vec::new());
        let (mut key, mut value) = (Vec::new(), Vec::new());
        while entries.next_entry(&mut key, &mut value)? {
            found.push((key.clone(), value.clone()));
        }
        assert_eq!(found.len() as u64, table.len());
        tables.insert(table.name.clone(), found);
    }
    file.check_unchanged()?;
    Ok(tables)
}

#[test]
fn all_is_read_that_lmdb_wrote_and_pages_are_counted_once() {
    let directory = tempfile::tempdir().unwrap();
    let wanted = everything(directory.path());
    assert_eq!(read(directory.path()).unwrap(), wanted);
    let file = DataFile::open(&directory.path().join("data.mdb")).unwrap();
    let all = file.tables().unwrap();
    assert!(all.iter().all(|table| table.name.is_some()), "the main table has nothing of its own");
    let read_of = |name: &str| {
        let table = all.iter().find(|table| table.name.as_deref() == Some(name.as_bytes())).unwrap();
        let mut entries = file.entries(table);
        while entries.next_entry(&mut Vec::new(), &mut Vec::new()).unwrap() {}
        entries.pages_read()
    };
    assert_eq!((read_of("empty"), read_of("long")), (0, 1 + 1 + 2 + 3 + 3 + 4));
    assert!(read_of("plain") * 4096 <= file.bytes());
}

#[test]
fn a_commit_meanwhile_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    everything(directory.path());
    let file = DataFile::open(directory.path()).unwrap();
    file.check_unchanged().unwrap();
    load(directory.path(), &section("plain", &[], &[(b"new".to_vec(), b"entry".to_vec())]));
    assert!(matches!(file.check_unchanged(), Err(Error::Changed)));
}

#[test]
fn other_files_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    everything(directory.path());
    let path = directory.path().join("data.mdb");
    let good = std::fs::read(&path).unwrap();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        std::fs::write(&path, bytes).unwrap();
        (DataFile::is_at(&path), DataFile::open(&path).map(drop).unwrap_err().to_string())
    };
    let is = |found: (bool, String), known: bool, says: &str| {
        assert!(found.0 == known && found.1.contains(says), "{found:?}")
    };
    is(with(&|bytes| bytes[20] = 2), true, "format version 2");
    is(with(&|bytes| bytes[16..20].reverse()), true, "other byte order");
    is(with(&|bytes| bytes.copy_within(16..24, 12)), true, "32-bit machine");
    let longer_head = |bytes: &mut Vec<u8>| {
        bytes.copy_within(16..24, 24);
        bytes[16..24].fill(0);
    };
    is(with(&longer_head), true, "LMDB 1.0");
    is(with(&|bytes| bytes[16] = 0), false, "not a data file of LMDB");
    is(with(&Vec::clear), false, "not a data file of LMDB");
    is(with(&|bytes| bytes.truncate(100)), false, "not a data file of LMDB");
    is(with(&|bytes| bytes.truncate(4096)), true, "page 1 is damaged");
    is(with(&|bytes| bytes[41] = 3), true, "page 0 is damaged: an impossible page size");
    assert!(matches!(DataFile::open(&directory.path().join("nothing")), Err(Error::Io(_))));
}

/// A database with tables and two entries of its own in the main table, and the newest of its meta pages.
fn with_own_entries(directory: &Path) -> (std::path::PathBuf, Vec<u8>, usize) {
    everything(directory);
    let own = section("", &[], &[(b"own".to_vec(), b"1".to_vec()), (b"too".to_vec(), b"2".to_vec())]);
    load(directory, &own.replace("database=\n", ""));
    let path = directory.join("data.mdb");
    let bytes = std::fs::read(&path).unwrap();
    let txnid = |page: usize| u64::from_le_bytes(bytes[page * 4096 + 144..][..8].try_into().unwrap());
    let newest = 4096 * usize::from(txnid(1) > txnid(0));
    (path, bytes, newest)
}

#[test]
fn a_main_table_of_which_entries_would_not_be_told_is_miscounted() {
    let directory = tempfile::tempdir().unwrap();
    let (path, bytes, newest) = with_own_entries(directory.path());
    assert_eq!(read(&path).unwrap()[&None].len(), 2);
    // Of five tables and two entries.
    let entries = newest + 40 + 48 + 32;
    assert_eq!(bytes[entries], 7);
    for said in [0, 4, 5, 6, 8] {
        let mut bytes = bytes.clone();
        bytes[entries] = said;
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(read(&path), Err(Error::Count { .. })), "{said}");
    }
}

/// What stands between a page's list and its nodes is of nodes that are gone, or nothing: an entry without a key.
#[test]
fn an_entry_stands_where_entries_do() {
    let directory = tempfile::tempdir().unwrap();
    let (path, bytes, newest) = with_own_entries(directory.path());
    let root = newest + 40 + 48 + 40;
    let page = 4096 * usize::try_from(u64::from_le_bytes(bytes[root..][..8].try_into().unwrap())).unwrap();
    let u16_at = |at: usize| usize::from(u16::from_le_bytes(bytes[at..][..2].try_into().unwrap()));
    let (lower, upper) = (u16_at(page + 12), u16_at(page + 14));
    let damaged = |at: usize, to: u16, says: &str| {
        let mut bytes = bytes.clone();
        bytes[at..][..2].copy_from_slice(&to.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let said = read(&path).map(drop).unwrap_err().to_string();
        assert!(said.contains(says), "{said}");
    };
    for at in [lower, upper - 2] {
        damaged(page + 16, u16::try_from(at).unwrap(), "outside of where they stand");
    }
    damaged(page + 14, u16::try_from(lower - 2).unwrap(), "more nodes than there is room for");
    // The length of the first entry's key.
    damaged(page + u16_at(page + 16) + 6, 0, "an entry without a key");
}

/// Changes of few bytes, most of them where pages have their heads and lists.
#[test]
fn damage_is_an_error_or_other_entries_and_never_more_than_the_file_can_hold() {
    let directory = tempfile::tempdir().unwrap();
    everything(directory.path());
    let path = directory.path().join("data.mdb");
    let good = std::fs::read(&path).unwrap();
    let mut random = fastrand::Rng::with_seed(1);
    let (mut refused, mut read_all) = (0, 0);
    for _ in 0..3000 {
        let mut bytes = good.clone();
        for _ in 0..random.usize(1..5) {
            let page = random.usize(..bytes.len() / 4096) * 4096;
            let at = page + if random.bool() { random.usize(..64) } else { random.usize(..4096) };
            bytes[at] = if random.bool() { random.u8(..) } else { bytes[page + random.usize(..4096)] };
        }
        if random.u8(..) < 20 {
            bytes.truncate(random.usize(..bytes.len()));
        }
        std::fs::write(&path, &bytes).unwrap();
        match read(&path) {
            Ok(tables) => {
                read_all += 1;
                let entries: usize = tables.values().map(Vec::len).sum();
                assert!(entries <= bytes.len(), "{entries} entries");
            }
            Err(error) => {
                refused += 1;
                assert!(
                    matches!(
                        error,
                        Error::Damaged { .. } | Error::Count { .. } | Error::Foreign | Error::Unsupported(_)
                    ),
                    "{error}"
                );
            }
        }
    }
    assert!(refused > 500 && read_all > 500, "{refused} refused, {read_all} read");
}
