//! Pages whose entries are hard to deal to others: branches with long beginnings, which they hold once, and hold little together
//! with those of another beginning; leaves with few entries of very different lengths.

use std::collections::{BTreeMap, BTreeSet};

use duramen::{Database, Result, TableMut};
use fastrand::Rng;

use crate::number;

/// So long that a branch holds two hundred separators with it, and not ten of two beginnings.
const BEGINNING_BYTES: usize = 700;
const EACH: u32 = 1500;

fn key(beginning: u8, number: u32) -> Vec<u8> {
    let mut key = vec![beginning; BEGINNING_BYTES];
    key.extend_from_slice(&number.to_be_bytes());
    key
}

/// Removes keys in an order of their own, and tells what is left now and then.
fn empty(db: &Database, mut keys: Vec<Vec<u8>>, rng: &mut Rng) -> Result<()> {
    let mut left: BTreeSet<Vec<u8>> = keys.iter().cloned().collect();
    rng.shuffle(&mut keys);
    while keys.len() > 3 {
        let some: BTreeSet<_> =
            keys.split_off(keys.len().saturating_sub(rng.usize(1..2 + keys.len() / 4)).max(3)).into_iter().collect();
        db.update(|txn| {
            let mut table = txn.table("t")?;
            some.iter().try_for_each(|key| remove(&mut table, key))
        })?;
        left.retain(|key| !some.contains(key));
        let snapshot = db.read()?;
        let table = snapshot.table("t")?;
        let found = table.iter().map(|entry| entry.map(|(key, _)| key.to_vec()));
        assert_eq!(found.collect::<Result<BTreeSet<_>>>()?, left);
        assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
        // Of neighbours one has two entries at least: five fit into a leaf, and who has one is joined with whom it fits.
        assert!(table.stats().leaf_pages <= left.len() as u64 * 3 / 4 + 8, "{:?}", table.stats());
    }
    let stats = db.read()?.table("t")?.stats();
    assert!(stats.entries == 3 && stats.depth <= 2 && stats.leaf_pages <= 3, "{stats:?}");
    Ok(())
}

fn remove(table: &mut TableMut<'_>, key: &[u8]) -> Result<()> {
    assert!(table.delete(key)?);
    Ok(())
}

#[test]
fn branches_of_other_beginnings_are_joined_as_far_as_they_fit_and_trees_become_low_again() {
    let first = number("DURAMEN_SEED").unwrap_or(1);
    for seed in first..first + number("DURAMEN_CASES").unwrap_or(2) {
        println!("seed {seed}");
        let mut rng = Rng::with_seed(seed);
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path().join("t.dm")).unwrap();
        let keys: Vec<_> = (b'a'..=b'c').flat_map(|b| (0..EACH).map(move |number| key(b, number))).collect();
        db.update(|txn| {
            let mut table = txn.table("t")?;
            keys.iter().try_for_each(|key| table.put(key, b"v"))
        })
        .unwrap();
        empty(&db, keys, &mut rng).unwrap();
    }
}

#[test]
fn leaves_of_few_large_entries_share_them_as_far_as_they_fit() {
    let first = number("DURAMEN_SEED").unwrap_or(1);
    for seed in first..first + number("DURAMEN_CASES").unwrap_or(4) {
        println!("seed {seed}");
        let mut rng = Rng::with_seed(seed);
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path().join("t.dm")).unwrap();
        let mut model = BTreeMap::new();
        for _ in 0..20 {
            db.update(|txn| {
                let mut table = txn.table("t")?;
                for _ in 0..100 {
                    let key = rng.u32(..).to_be_bytes();
                    // Two of the largest just fit into a page.
                    let bytes = if rng.u8(..3) == 0 { rng.usize(..300) } else { rng.usize(900..1980) };
                    let value = vec![key[3]; bytes];
                    table.put(key, &value)?;
                    model.insert(key.to_vec(), value);
                }
                Ok(())
            })
            .unwrap();
            assert_eq!(db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
        }
        let snapshot = db.read().unwrap();
        let table = snapshot.table("t").unwrap();
        let found = table.iter().map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())));
        assert_eq!(found.collect::<Result<BTreeMap<_, _>>>().unwrap(), model);
    }
}
