//! Files with right checksums and something wrong in a page, as a fault of memory leaves it that came before the checksum:
//! what a check calls clean can be used.

use std::collections::BTreeMap;
use std::path::Path;

use duramen::{Database, Durability, Result, Snapshot, Table};
use duramen_sim::hostile::{seal, seeds};

const PAGE: usize = 4096;
const SLOTS: usize = 4;
const FILES: u64 = 8_000;

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn owned((key, value): (&[u8], &[u8])) -> (Vec<u8>, Vec<u8>) {
    (key.to_vec(), value.to_vec())
}

/// Changes a byte or a few of one page of a tree, or more.
fn spoil(file: &mut [u8], rng: &mut fastrand::Rng) {
    for _ in 0..1 + rng.usize(..10) / 9 {
        let page = PAGE * rng.usize(SLOTS..file.len() / PAGE);
        let page = &mut file[page..][..PAGE];
        let at = match rng.u8(..4) {
            // The header, where the checksum does not stand; heads, or what begins all separators; cells; anywhere.
            0 => rng.usize(16..40),
            1 => rng.usize(40..240),
            2 => rng.usize(PAGE - 400..PAGE - 2),
            _ => rng.usize(8..PAGE - 2),
        };
        match rng.u8(..4) {
            0 => page[at] ^= 1 << rng.u8(..8),
            1 => page[at] = page[at].wrapping_add(1),
            2 => page[at..at + 2].fill(rng.u8(..)),
            _ => page[at..at + 2].rotate_left(1),
        }
    }
    seal::reseal(file, true);
}

fn open(path: &Path, file: &[u8]) -> Result<Database> {
    std::fs::write(path, file).unwrap();
    Database::options().without_lock_file().without_log().durability(Durability::Relaxed).open(path)
}

/// All entries of a table, which every way to them has to give.
fn entries(table: &Table<'_>) -> Result<Pairs> {
    let forwards: Pairs = table.iter().map(|entry| entry.map(owned)).collect::<Result<_>>()?;
    let mut backwards: Pairs = table.iter().rev().map(|entry| entry.map(owned)).collect::<Result<_>>()?;
    backwards.reverse();
    assert_eq!(forwards, backwards);
    assert_eq!(table.len(), forwards.len() as u64);
    for (i, (key, value)) in forwards.iter().enumerate() {
        assert!(table.contains(key, value)?, "{key:x?} with {value:x?}");
        if i == 0 || forwards[i - 1].0 != *key {
            assert_eq!(table.get(key)?, Some(&value[..]), "{key:x?}");
        }
    }
    Ok(forwards)
}

fn tables(snapshot: &Snapshot<'_>) -> Result<BTreeMap<Vec<u8>, Pairs>> {
    let names = snapshot.table_names()?;
    names.into_iter().map(|name| Ok((name.clone(), entries(&snapshot.table(&name)?)?))).collect()
}

/// Takes every third key out of each table, or a part of all keys at once, and puts new entries between those of one that takes
/// any.
fn change(db: &Database, tables: &mut BTreeMap<Vec<u8>, Pairs>, at_once: bool) -> Result<()> {
    db.update(|txn| {
        for (name, entries) in tables {
            let id = txn.find_table(name, None)?.expect("a table that is read is written to");
            let mut table = txn.table_by_id(id)?;
            let mut keys: Vec<_> = entries.iter().map(|(key, _)| key.clone()).collect();
            keys.dedup();
            if let (true, [first, .., last]) = (at_once, &keys[..]) {
                let end = entries.iter().position(|(key, _)| key == last).expect("it is among them");
                assert_eq!(table.delete_range(first..last)?, end as u64);
                entries.drain(..end);
                keys.drain(..keys.len() - 1);
            }
            for key in keys.iter().step_by(3).filter(|_| !at_once) {
                assert!(table.delete(key)?, "{key:x?}");
                entries.retain(|(other, _)| other != key);
            }
            for key in keys.iter().filter(|_| name == b"plain" || name == b"t" || name == b"a") {
                let key = [&key[..], &[7]].concat();
                table.put(&key, [9; 60])?;
                entries.retain(|(other, _)| *other != key);
                entries.push((key, vec![9; 60]));
            }
            entries.sort();
        }
        Ok(())
    })
}

/// Whether the file was opened and called clean. What is then not as it should be is an error, or a failed assertion.
fn is_clean_and_usable(path: &Path, file: &[u8], at_once: bool) -> Result<bool> {
    let Ok(db) = open(path, file) else { return Ok(false) };
    if !db.check(|_, _| {}).is_ok_and(|report| report.is_clean()) {
        return Ok(false);
    }
    let mut expected = tables(&db.read()?)?;
    drop(db);
    // A handle that has not looked at all pages before.
    let db = open(path, file)?;
    change(&db, &mut expected, at_once)?;
    let mut found = tables(&db.read()?)?;
    found.values_mut().for_each(|entries| entries.sort());
    assert_eq!(found, expected);
    let findings = db.check(|_, _| {})?.findings;
    assert_eq!(findings, Vec::<String>::new());
    Ok(true)
}

#[test]
fn what_a_check_calls_clean_can_be_read_and_changed() {
    let (seeds, directory) = (seeds::all(), duramen_sim::scratch());
    let path = directory.path().join("spoilt.dm");
    let mut clean = 0;
    for seed in 0..FILES {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut file = seeds[[0, 1, 1, 2, 3][rng.usize(..5)]].clone();
        spoil(&mut file, &mut rng);
        match is_clean_and_usable(&path, &file, rng.bool()) {
            Ok(usable) => clean += u64::from(usable),
            Err(error) => panic!("seed {seed}: clean, but {error}"),
        }
    }
    assert!((FILES / 10..FILES / 10 * 9).contains(&clean), "{clean} of {FILES} files are clean: that says little");
}
