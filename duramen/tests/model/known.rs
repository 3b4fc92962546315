//! The smallest forms of faults that random runs have found, each as what must hold instead.

use duramen::{Database, Duplicates, Error, Options, Order, Result, TableOptions};
use tempfile::TempDir;

/// A new database whose transactions have little memory, so that they write pages early.
fn frugal() -> (TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let db = Options::new().memory_budget(1).open(dir.path().join("known.dm")).unwrap();
    (dir, db)
}

fn assert_clean(db: &Database) {
    assert_eq!(db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

/// A key as long as keys may be.
fn long_key(number: u16) -> Vec<u8> {
    [&number.to_be_bytes()[..], &[b'k'; 1022]].concat()
}

#[test]
fn pages_of_every_size_make_a_database() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    for page_size in [4096, 8192, 16384, 32768, 65536] {
        let path = dir.path().join(page_size.to_string());
        let db = Options::new().page_size(page_size).open(&path)?;
        assert_eq!(db.read()?.table_names()?, Vec::<Vec<u8>>::new());
        db.update(|txn| txn.table("t")?.put("key", "value"))?;
        db.close()?;
        let db = Database::open(&path)?;
        assert_eq!(db.stats()?.page_size, page_size);
        assert_eq!(db.read()?.table("t")?.get("key")?, Some(&b"value"[..]));
    }
    Ok(())
}

#[test]
fn a_branch_may_lose_its_last_child() -> Result<()> {
    let (_dir, db) = frugal();
    let mut txn = db.begin_write()?;
    let mut table = txn.table("t")?;
    (0..200).try_for_each(|i| table.put(long_key(i), ""))?;
    for i in (0..200).step_by(3).chain((0..200).rev()) {
        table.delete(long_key(i))?;
    }
    assert_eq!((table.len(), table.stats().depth), (0, 0));
    txn.commit()?;
    assert_clean(&db);
    Ok(())
}

#[test]
fn the_longest_key_holds_the_longest_duplicates() -> Result<()> {
    let (_dir, db) = frugal();
    let options = TableOptions::new().duplicates(Duplicates::sorted());
    db.update(|txn| {
        let mut table = txn.table_with("t", &options)?;
        table.put(long_key(1), long_key(2))?;
        assert_eq!(table.get(long_key(1))?, Some(&long_key(2)[..]));
        table.put(long_key(1), "short")?;
        table.delete_duplicate(long_key(1), "short")?;
        assert_eq!(table.len(), 1);
        Ok(())
    })?;
    assert_clean(&db);
    Ok(())
}

#[test]
fn what_an_aborted_child_wrote_early_is_free_again() -> Result<()> {
    let (_dir, db) = frugal();
    let mut txn = db.begin_write()?;
    txn.table("kept")?.put("key", "value")?;
    let mut child = txn.child()?;
    (0..300).try_for_each(|i| child.table("t")?.put(long_key(i), ""))?;
    child.abort();
    txn.commit()?;
    assert_clean(&db);
    let stats = db.stats()?;
    assert!(stats.pages < 50, "{stats:?}");
    Ok(())
}

#[test]
fn an_aborted_transaction_forgets_what_it_wrote_early() -> Result<()> {
    let (_dir, db) = frugal();
    let mut txn = db.begin_write()?;
    txn.begin_nested()?;
    (0..300).try_for_each(|i| txn.table("t")?.put(long_key(i), ""))?;
    txn.abort();
    db.update(|txn| (0..10).try_for_each(|i| txn.table("t")?.put(long_key(i), "")))?;
    assert_clean(&db);
    // Nor is the file longer for it.
    let stats = db.stats()?;
    assert!(stats.file_bytes == stats.pages * 4096 && stats.pages < 50, "{stats:?}");
    Ok(())
}

#[test]
fn a_child_that_writes_early_leaves_its_parents_pages_where_they_are() -> Result<()> {
    let (_dir, db) = frugal();
    let big = vec![7; 10_000];
    let mut txn = db.begin_write()?;
    (0..60).step_by(2).try_for_each(|i| txn.table("t")?.put(long_key(i), ""))?;
    txn.table("t")?.put("big", &big)?;
    for keep in [false, true] {
        let mut child = txn.child()?;
        (0..400).step_by(2).try_for_each(|i| child.table("t")?.put(long_key(2 * i + 1), ""))?;
        child.table("t")?.put("beside", "")?;
        if keep { child.commit()? } else { child.abort() }
    }
    assert_eq!(txn.table("t")?.get("big")?, Some(&big[..]));
    txn.commit()?;
    assert_clean(&db);
    let snapshot = db.read()?;
    assert_eq!(snapshot.table("t")?.iter().count(), 232);
    assert_eq!(snapshot.table("t")?.get("big")?, Some(&big[..]));
    Ok(())
}

#[test]
fn pages_taken_and_cut_off_in_one_transaction_are_forgotten() -> Result<()> {
    let (_dir, db) = frugal();
    db.update(|txn| (0..60).try_for_each(|i| txn.table("t")?.put(long_key(i), "")))?;
    db.update(|txn| txn.table("t")?.clear())?;
    db.update(|txn| {
        (0..300).try_for_each(|i| txn.table("t")?.put(long_key(i), ""))?;
        txn.table("t")?.clear()
    })?;
    assert_clean(&db);
    db.update(|txn| txn.table("t")?.put("key", "value"))?;
    assert_clean(&db);
    Ok(())
}

#[test]
fn several_values_at_once_are_refused_where_they_have_no_fixed_size() -> Result<()> {
    let (_dir, db) = frugal();
    let options = TableOptions::new().duplicates(Duplicates::sorted());
    db.update(|txn| {
        txn.table("one")?.put("key", "value")?;
        let mut many = txn.table_with("many", &options)?;
        (0..1000).try_for_each(|i| many.put("key", i.to_string()))?;
        for name in ["one", "many"] {
            let table = txn.table(name)?;
            let mut cursor = table.view().cursor();
            cursor.first()?;
            assert!(matches!(cursor.multiple(), Err(Error::Incompatible { .. })));
            assert!(matches!(cursor.next_multiple(), Err(Error::Incompatible { .. })));
            assert!(matches!(cursor.prev_multiple(), Err(Error::Incompatible { .. })));
        }
        Ok(())
    })
}

#[test]
fn a_cursor_knows_its_key_also_in_a_gap_among_its_values() -> Result<()> {
    let (_dir, db) = frugal();
    let options = TableOptions::new().duplicates(Duplicates::sorted());
    let mut txn = db.begin_write()?;
    let id = txn.open_table("t", Some(&options))?;
    for (key, value) in [("a", "1"), ("a", "3"), ("b", "1")] {
        txn.put(id, key, value)?;
    }
    let mut cursor = txn.cursor(id)?;
    cursor.first(&txn)?;
    cursor.delete(&mut txn)?;
    // One value is left; the cursor is before it.
    assert_eq!(cursor.clone().next_duplicate(&txn)?, Some((&b"a"[..], &b"3"[..])));
    assert_eq!(cursor.clone().next_key(&txn)?, Some((&b"b"[..], &b"1"[..])));
    assert_eq!(cursor.clone().prev(&txn)?, None);
    assert_eq!(cursor.seek_pair(&txn, "a", "4")?, None);
    assert_eq!(cursor.clone().prev_duplicate(&txn)?, Some((&b"a"[..], &b"3"[..])));
    assert_eq!(cursor.clone().next_duplicate(&txn)?, None);
    Ok(())
}

#[test]
fn a_cursor_that_found_nothing_keeps_its_place_through_writes() -> Result<()> {
    let (_dir, db) = frugal();
    let mut txn = db.begin_write()?;
    let id = txn.open_table("t", None)?;
    for key in ["a", "b", "d"] {
        txn.put(id, key, "")?;
    }
    let mut cursor = txn.cursor(id)?;
    cursor.seek(&txn, "b")?;
    cursor.delete(&mut txn)?;
    assert_eq!(cursor.seek(&txn, "c")?, None);
    txn.put(id, "x", "")?;
    assert_eq!(cursor.next(&txn)?.map(|(key, _)| key), Some(&b"d"[..]));
    Ok(())
}

#[test]
fn integers_of_two_sizes_do_not_meet_in_one_table() -> Result<()> {
    let (_dir, db) = frugal();
    let options = TableOptions::new().order(Order::Native);
    db.update(|txn| {
        let mut table = txn.table_with("t", &options)?;
        (0..1000u32).try_for_each(|i| table.put(i.to_ne_bytes(), ""))?;
        let wide = 0u64.to_ne_bytes();
        let refused = |result: Result<()>| matches!(result, Err(Error::KeyLength { bytes: 8, min: 4, max: 4 }));
        assert!(refused(table.put(wide, "")) && refused(table.append(u64::MAX.to_ne_bytes(), "")));
        assert_eq!(table.get(wide)?, None);
        assert!(!table.delete(wide)?);
        assert!(!table.view().contains_key(wide)?);
        assert_eq!(table.view().cursor().seek(wide)?, None);
        assert_eq!(table.view().values_of(wide)?.count(), 0);
        assert_eq!(table.len(), 1000);
        Ok(())
    })
}

/// They would be somewhere else from each end of a range.
#[test]
fn bounds_among_integers_are_of_their_size() -> Result<()> {
    let (_dir, db) = frugal();
    let plain = TableOptions::new().order(Order::Native);
    for (options, pairs) in [(plain.clone(), false), (plain.duplicates(Duplicates::integers()), true)] {
        let mut txn = db.begin_write()?;
        let mut table = txn.table_with("t", &options)?;
        (0..1000u64).try_for_each(|i| table.put(i.to_ne_bytes(), 8u64.to_ne_bytes()))?;
        let is_refused = |error: Error| matches!(error, Error::KeyLength { min: 8, max: 8, .. });
        for bound in [&[][..], b"abc", &5u32.to_ne_bytes(), &[9; 16]] {
            assert!(is_refused(table.range(bound..).unwrap_err()) && is_refused(table.range(..bound).unwrap_err()));
            assert!(is_refused(table.delete_range(bound..).unwrap_err()));
            assert!(is_refused(table.delete_range(&7u64.to_ne_bytes()[..]..bound).unwrap_err()));
            assert!(is_refused(table.view().cursor().seek_at_or_after(bound).unwrap_err()));
            assert_eq!((table.view().values_of(bound)?.count(), table.len()), (0, 1000));
        }
        let id = table.id();
        let mut cursor = txn.cursor(id)?;
        assert_eq!(cursor.seek(&txn, 7u64.to_ne_bytes())?.map(|(key, _)| key), Some(&7u64.to_ne_bytes()[..]));
        assert!(is_refused(cursor.seek_at_or_after(&txn, "abc").unwrap_err()));
        if pairs {
            let found = cursor.seek_pair_at_or_after(&txn, 7u64.to_ne_bytes(), 5u32.to_ne_bytes());
            assert!(matches!(found, Err(Error::ValueLength { bytes: 4, min: 8, max: 8 })));
        }
    }
    Ok(())
}

/// What is written early refers to no root that has no place yet.
#[test]
fn a_table_that_is_entered_before_others_are_written_early_is_there_after_the_commit() -> Result<()> {
    let (_dir, db) = frugal();
    let name = |i: u64| format!("table {i}");
    let mut txn = db.begin_write()?;
    (0..200).try_for_each(|i| txn.table(name(i))?.put("key", i.to_le_bytes()))?;
    txn.enter_tables()?;
    let mut large = txn.table("large")?;
    (0..2000_u64).try_for_each(|i| large.put(i.to_be_bytes(), [7; 1000]))?;
    txn.commit()?;
    let snapshot = db.read()?;
    for i in 0..200 {
        assert_eq!(snapshot.table(name(i))?.get("key")?, Some(&i.to_le_bytes()[..]), "{i}");
    }
    drop(snapshot);
    assert_clean(&db);
    Ok(())
}

#[test]
fn a_cursor_that_is_told_where_it_stands_goes_on_from_there() -> Result<()> {
    let (_dir, db) = frugal();
    let mut txn = db.begin_write()?;
    let id = txn.open_table("t", Some(&TableOptions::new()))?;
    (0..100u8).try_for_each(|i| txn.put(id, [i], [i; 8]))?;
    let mut cursor = txn.cursor(id)?;
    // It walks, so that it keeps its leaf open.
    for i in 0..5 {
        assert_eq!(cursor.next(&txn)?, Some((&[i][..], &[i; 8][..])));
    }
    cursor.stand_on(&[50], &[]);
    assert_eq!(cursor.current(&txn)?, Some((&[50][..], &[50; 8][..])));
    cursor.stand_on(&[70], &[]);
    assert_eq!(cursor.next(&txn)?, Some((&[71][..], &[71; 8][..])));
    cursor.stand_on(&[30], &[]);
    assert_eq!(cursor.prev(&txn)?, Some((&[29][..], &[29; 8][..])));
    // What it is told need not be there any more.
    txn.table("t")?.delete([40])?;
    cursor.stand_on(&[40], &[]);
    assert_eq!(cursor.next(&txn)?, Some((&[41][..], &[41; 8][..])));
    Ok(())
}
