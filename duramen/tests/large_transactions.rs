//! Transactions that do not fit into their memory, and tables that are large only for a time: what is replaced or deleted
//! is not left in the file.

use duramen::{Database, Options, WriteTxn};

const RECORDS: u64 = 20_000;
/// Each of this many rounds changes every page of the table, and memory holds a tenth of them.
const ROUNDS: u64 = 12;

fn open(dir: &tempfile::TempDir, memory: usize) -> Database {
    Options::new().memory_budget(memory).open(dir.path().join("large.dm")).unwrap()
}

fn file_bytes(dir: &tempfile::TempDir) -> u64 {
    std::fs::metadata(dir.path().join("large.dm")).unwrap().len()
}

/// Puts every record, in an order that jumps from leaf to leaf.
fn put_all(txn: &mut WriteTxn<'_>, round: u64) {
    let mut table = txn.table("t").unwrap();
    for i in 0..RECORDS {
        let key = (i * 7919 % RECORDS).to_be_bytes();
        table.put(key, [round as u8; 100]).unwrap();
    }
}

fn assert_all_of(db: &Database, round: u64) {
    let snapshot = db.read().unwrap();
    let table = snapshot.table("t").unwrap();
    let values: Vec<&[u8]> = table.iter().map(|entry| entry.unwrap().1).collect();
    assert_eq!(values.len() as u64, RECORDS);
    assert!(values.iter().all(|value| **value == [round as u8; 100]));
    drop(snapshot);
    let report = db.check(|_, _| ()).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

/// The file after one transaction of so many rounds, in this memory.
fn bytes_after(rounds: u64, memory: usize) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir, memory);
    db.update(|txn| {
        (0..rounds).for_each(|round| put_all(txn, round));
        Ok(())
    })
    .unwrap();
    assert_all_of(&db, rounds - 1);
    file_bytes(&dir)
}

#[test]
fn what_is_replaced_before_the_commit_makes_room() {
    let (small, large) = (bytes_after(ROUNDS, 1), bytes_after(ROUNDS, 64 << 20));
    assert!(small * 2 < large * 3, "{small} bytes, of which {large} are needed");
}

#[test]
fn a_child_that_comes_to_nothing_leaves_its_parents_pages() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir, 1);
    let mut txn = db.begin_write().unwrap();
    put_all(&mut txn, 1);
    let before = file_bytes(&dir);
    for round in 0..ROUNDS {
        let mut child = txn.child().unwrap();
        put_all(&mut child, 100 + round);
        if round % 2 == 0 {
            drop(child);
        } else {
            put_all(&mut child, round);
            child.commit().unwrap();
        }
    }
    let after = file_bytes(&dir);
    assert!(after < 4 * before, "{before} bytes became {after}");
    txn.commit().unwrap();
    assert_all_of(&db, ROUNDS - 1);
}

/// What is free after it does not fit into a meta page, and no commit before had that much to note.
#[test]
fn the_first_of_all_transactions_may_be_a_large_one() {
    const MANY: u64 = 300_000;
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir, 2 << 20);
    db.update(|txn| {
        let mut table = txn.table("t")?;
        (0..MANY).try_for_each(|i| table.put(i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), [1; 100]))
    })
    .unwrap();
    let report = db.check(|_, _| ()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    db.close().unwrap();
    let db = open(&dir, 1);
    db.update(|txn| txn.table("t")?.put("and", "on")).unwrap();
    assert_eq!(db.read().unwrap().table("t").unwrap().len(), MANY + 1);
}

/// Of a table that was large once, what is left stands near the file's start after some commits: nothing that the engine
/// keeps for itself holds the end.
#[test]
fn a_file_that_is_mostly_free_becomes_short_while_it_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir, 64 << 20);
    let put = |txn: &mut WriteTxn<'_>, i: u32, with: u8| txn.table("t")?.put(i.to_be_bytes(), [with; 100]);
    let records = 60_000_u32;
    for part in 0..6 {
        db.update(|txn| (0..records / 6).try_for_each(|i| put(txn, part * (records / 6) + i, 1).map(drop))).unwrap();
    }
    for round in 0..100_u32 {
        db.update(|txn| {
            (0..100).try_for_each(|i| put(txn, (round * 100 + i).wrapping_mul(0x9E37_79B9) % records, 2).map(drop))
        })
        .unwrap();
    }
    let full = file_bytes(&dir);
    db.update(|txn| txn.table("t")?.delete_range(1000_u32.to_be_bytes()..)).unwrap();
    for round in 0..4 {
        db.checkpoint().unwrap();
        db.update(|txn| (0..1000).try_for_each(|i| put(txn, i, round).map(drop))).unwrap();
    }
    db.checkpoint().unwrap();
    let left = file_bytes(&dir);
    assert!(left < full / 10, "{full} bytes became {left}");
    assert!(db.check(|_, _| ()).unwrap().is_clean());
}

/// The most memory that this process has taken so far.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.split_once("VmHWM:").unwrap().1.trim().split_once(' ').unwrap().0;
    peak.parse::<u64>().unwrap() * 1024
}

#[test]
fn values_that_are_filled_in_again_and_again_take_no_more_memory_than_they_have() {
    const KEYS: u64 = 50;
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().log_at_once(1 << 20).open(dir.path().join("large.dm")).unwrap();
    let before = peak_bytes();
    db.update(|txn| {
        let mut table = txn.table("t")?;
        (0..20_000u64).try_for_each(|i| {
            table.reserve((i % KEYS).to_be_bytes(), 60_000)?.fill(i as u8);
            Ok(())
        })
    })
    .unwrap();
    let more = peak_bytes() - before;
    assert!(more < 600 << 20, "{more} bytes more, for {KEYS} values");
    assert!(db.check(|_, _| ()).unwrap().is_clean());
}

#[test]
fn very_many_tables_are_renamed_in_one_transaction() -> duramen::Result<()> {
    const TABLES: u32 = 3_000;
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir, 64 << 20);
    db.update(|txn| (0..TABLES).try_for_each(|i| txn.table(format!("old {i}"))?.put("number", i.to_string())))?;
    db.update(|txn| {
        for i in 0..TABLES {
            assert!(txn.rename_table(format!("old {i}"), format!("new {i}"))?);
            assert!(!txn.rename_table(format!("old {i}"), "any")?);
            if i % 3 == 0 {
                txn.table(format!("old {i}"))?.put("number", "another")?;
                assert!(txn.drop_table(format!("new {i}"))?);
                assert!(txn.rename_table(format!("old {i}"), format!("new {i}"))?);
            }
        }
        Ok(())
    })?;
    let snapshot = db.read()?;
    assert_eq!(snapshot.table_names()?.len(), TABLES as usize);
    for i in 0..TABLES {
        let expected = if i % 3 == 0 { "another".to_string() } else { i.to_string() };
        assert_eq!(snapshot.table(format!("new {i}"))?.get("number")?, Some(expected.as_bytes()));
    }
    Ok(())
}

/// The tables by name, each with its number.
type Named = std::collections::BTreeMap<String, u32>;

/// Does something to one of thirty tables, more than are looked through.
fn change_a_table(txn: &mut WriteTxn<'_>, named: &mut Named, rng: &mut fastrand::Rng) -> duramen::Result<()> {
    let (name, other) = (format!("table {}", rng.u8(..30)), format!("table {}", rng.u8(..30)));
    match rng.u8(..6) {
        0 => assert_eq!(txn.drop_table(&name)?, named.remove(&name).is_some()),
        1 if !named.contains_key(&other) => {
            assert_eq!(txn.rename_table(&name, &other)?, named.contains_key(&name));
            named.remove(&name).map(|number| named.insert(other, number));
        }
        2 => {
            let id = txn.find_table(&name, None)?;
            assert_eq!(id.is_some(), named.contains_key(&name));
        }
        _ => {
            let number = rng.u32(..);
            txn.table(&name)?.put("number", number.to_be_bytes())?;
            named.insert(name, number);
        }
    }
    Ok(())
}

/// Some changes, and levels of more, of which half are given up.
fn change_tables(
    txn: &mut WriteTxn<'_>,
    named: &mut Named,
    rng: &mut fastrand::Rng,
    depth: u32,
) -> duramen::Result<()> {
    for _ in 0..rng.u32(1..12) {
        if depth == 0 || rng.bool() {
            change_a_table(txn, named, rng)?;
            continue;
        }
        let (mut child, mut within) = (txn.child()?, named.clone());
        change_tables(&mut child, &mut within, rng, depth - 1)?;
        if rng.bool() {
            child.commit()?;
            *named = within;
        }
    }
    Ok(())
}

#[test]
fn tables_are_what_they_were_before_a_level_that_is_given_up() -> duramen::Result<()> {
    let mut rng = fastrand::Rng::with_seed(7);
    for round in 0..40 {
        let dir = tempfile::tempdir().unwrap();
        let (db, mut named) = (open(&dir, 64 << 20), Named::new());
        for _ in 0..4 {
            db.update(|txn| change_tables(txn, &mut named, &mut rng, 4))?;
            let snapshot = db.read()?;
            let names: Vec<_> = named.keys().map(|name| name.clone().into_bytes()).collect();
            assert_eq!(snapshot.table_names()?, names, "round {round}");
            for (name, number) in &named {
                assert_eq!(snapshot.table(name)?.get("number")?, Some(&number.to_be_bytes()[..]), "round {round}");
            }
        }
        assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    }
    Ok(())
}
