//! The shortest way through: what is written is read back, in this process and after opening again.

use duramen::{Database, Duplicates, Result, TableOptions};

#[test]
fn a_hundred_thousand_entries_survive_closing() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("smoke.dm");
    let db = Database::open(&path)?;
    let key = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    for batch in 0..10u64 {
        db.update(|txn| {
            let mut table = txn.table("t")?;
            for i in batch * 10_000..(batch + 1) * 10_000 {
                table.put(key(i), i.to_string())?;
            }
            Ok(())
        })?;
        let report = db.check(|_, _| {})?;
        assert_eq!(report.findings, Vec::<String>::new(), "batch {batch}");
    }
    db.close()?;
    let db = Database::open(&path)?;
    let snapshot = db.read()?;
    let table = snapshot.table("t")?;
    assert_eq!(table.len(), 100_000);
    for i in 0..100_000 {
        assert_eq!(table.get(key(i))?, Some(i.to_string().as_bytes()));
    }
    let mut keys: Vec<_> = (0..100_000).map(key).collect();
    keys.sort_unstable();
    let forwards: Vec<_> = table.iter().map(|item| item.unwrap().0.to_vec()).collect();
    assert_eq!(forwards, keys);
    let backwards: Vec<_> = table.iter().rev().map(|item| item.unwrap().0.to_vec()).collect();
    assert!(backwards.iter().eq(keys.iter().rev()));
    Ok(())
}

#[test]
fn random_insertions_leave_leaves_more_than_three_quarters_full() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("fill.dm"))?;
    let mut payload = 0;
    let mut txn = db.begin_write()?;
    let mut table = txn.table("t")?;
    for i in 0..40_000u64 {
        let key = i.wrapping_mul(0x9E37_79B9_7F4A_7C15).swap_bytes().wrapping_mul(0xBF58_476D_1CE4_E5B9).to_be_bytes();
        let value = vec![7; 60 + usize::from(key[1]) % 80];
        payload += key.len() + value.len() + 10;
        table.put(key, value)?;
    }
    let leaves = table.stats().leaf_pages as usize;
    txn.commit()?;
    let fill = payload as f64 / (leaves * 4096) as f64;
    assert!(fill > 0.75, "{leaves} leaves are {fill:.2} full");
    assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    Ok(())
}

/// Pages of a table that was filled in this order: of keys, and of the values of one key.
fn pages_filled(order: impl Iterator<Item = u64> + Clone) -> Result<[u64; 4]> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("fill.dm"))?;
    let mut txn = db.begin_write()?;
    let mut keys = txn.table("keys")?;
    for i in order.clone() {
        keys.put(i.to_be_bytes().repeat(12), i.to_be_bytes())?;
    }
    let keys = keys.stats();
    let mut values = txn.table_with("values", &TableOptions::new().duplicates(Duplicates::sorted().fixed_size()))?;
    for i in order.clone() {
        values.put(b"one key", i.to_be_bytes())?;
    }
    txn.commit()?;
    let report = db.check(|_, _| {})?;
    assert_eq!(report.findings, Vec::<String>::new());
    let snapshot = db.read()?;
    let mut expected: Vec<u64> = order.collect();
    expected.sort_unstable();
    let found =
        snapshot.table("keys")?.iter().map(|item| item.map(|(_, value)| value.to_vec())).collect::<Result<Vec<_>>>()?;
    assert!(found.iter().eq(expected.iter().map(|i| i.to_be_bytes()).collect::<Vec<_>>().iter()));
    Ok([keys.leaf_pages, keys.branch_pages, report.leaf_pages, report.branch_pages])
}

#[test]
fn entries_in_falling_order_take_as_few_pages_as_in_rising_order() -> Result<()> {
    let (rising, falling) = (pages_filled(0..20_000)?, pages_filled((0..20_000).rev())?);
    for (rising, falling) in rising.into_iter().zip(falling) {
        assert!(falling <= rising + 2, "{falling} pages, and {rising} in rising order");
    }
    Ok(())
}

#[test]
fn entries_in_order_for_each_of_many_beginnings_leave_full_leaves() -> Result<()> {
    // Some leaves for each, and little more than one, which neighbours have to share.
    for (beginnings, each, least, falling) in [(50u32, 400, 0.9, false), (50, 400, 0.9, true), (1000, 40, 0.7, false)] {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::open(dir.path().join("fill.dm"))?;
        let mut txn = db.begin_write()?;
        let mut table = txn.table("t")?;
        let mut payload = 0;
        for i in 0..beginnings * each {
            let (beginning, number) = (i % beginnings, i / beginnings);
            let number = if falling { each - number } else { number };
            let key = [beginning.to_be_bytes(), number.to_be_bytes()].concat();
            payload += key.len() + 100 + 10;
            table.put(key, [7; 100])?;
        }
        let leaves = table.stats().leaf_pages as usize;
        txn.commit()?;
        let fill = payload as f64 / (leaves * 4096) as f64;
        assert!(fill > least, "{leaves} leaves are {fill:.2} full");
        assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    }
    Ok(())
}

#[test]
fn a_check_counts_entries_of_the_main_table_and_of_the_others() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("main.dm"))?;
    db.update(|txn| {
        let main = txn.main_table();
        txn.put(main, b"one", b"1")?;
        txn.put(main, b"two", b"2")?;
        txn.table("t")?.put(b"three", b"3")
    })?;
    let report = db.check(|_, _| {})?;
    assert_eq!((report.entries, report.main_entries, report.tables), (3, 2, 1));
    Ok(())
}

#[test]
fn large_values_lie_as_aligned_as_who_works_in_place_may_want_them() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("aligned.dm"))?;
    let lengths = (0..40u64).map(|i| 2_100 + (i * 997 % 20_011) as usize);
    db.update(|txn| {
        let mut table = txn.table("vectors")?;
        for (key, bytes) in lengths.clone().enumerate() {
            table.put(key.to_be_bytes(), vec![9; bytes])?;
            let value = table.get(key.to_be_bytes())?.expect("it was put just now");
            assert_eq!(value.as_ptr().addr() % 16, 0, "{bytes} bytes, not committed");
        }
        Ok(())
    })?;
    let mut load = db.bulk_load("loaded", duramen::BulkOptions::new())?;
    for (key, bytes) in lengths.clone().enumerate() {
        load.push(key.to_be_bytes(), vec![9; bytes])?;
    }
    load.finish()?;
    let snapshot = db.read()?;
    for name in ["vectors", "loaded"] {
        let values = snapshot.table(name)?;
        for (key, bytes) in lengths.clone().enumerate() {
            let value = values.get(key.to_be_bytes())?.expect("it was stored");
            assert_eq!(value, vec![9; bytes]);
            assert_eq!(value.as_ptr().addr() % 64, 0, "{name}: {bytes} bytes");
        }
    }
    Ok(())
}

#[test]
fn a_panic_that_is_caught_leaves_nothing_of_its_transaction_and_the_database_goes_on() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("it.dm"))?;
    db.update(|txn| txn.table("t")?.put("a", "1"))?;
    let caught = std::panic::catch_unwind(|| {
        db.update::<()>(|txn| {
            txn.table("t")?.put("a", "2")?;
            panic!("on purpose")
        })
    });
    assert!(caught.is_err());
    assert_eq!(db.read()?.table("t")?.get("a")?, Some(&b"1"[..]));
    db.update(|txn| txn.table("t")?.put("b", "3"))?;
    assert!(db.check(|_, _| ())?.is_clean());
    Ok(())
}
