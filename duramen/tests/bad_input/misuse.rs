//! What a program may ask for that cannot be: a typed error, and the transaction goes on where it can.

use duramen::{Database, Duplicates, Edit, Error, Options, Order, Put, Result, TableOptions, WriteTxn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tempfile::TempDir;

use crate::{assert_clean, scratch};

fn open() -> (TempDir, Database) {
    let (dir, path) = scratch();
    (dir, Database::open(path).unwrap())
}

fn is_bad_table<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::BadTable))
}

fn is_incompatible<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::Incompatible { .. }))
}

fn is_key_length<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::KeyLength { .. }))
}

fn is_usage<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::Usage { .. }))
}

#[test]
fn impossible_page_sizes_are_refused() {
    let (_dir, path) = scratch();
    for bytes in [0, 1, 2048, 4095, 5000, 12288, 131_072, usize::MAX] {
        assert!(is_usage(Options::new().page_size(bytes).open(&path)), "{bytes}");
    }
    assert!(!std::fs::exists(&path).unwrap());
}

#[test]
fn an_existing_file_keeps_its_page_size() -> Result<()> {
    let (_dir, path) = scratch();
    Options::new().page_size(8192).open(&path)?.update(|txn| txn.table("t")?.put("key", "value"))?;
    let db = Options::new().page_size(32768).open(&path)?;
    assert_eq!(db.stats()?.page_size, 8192);
    Ok(())
}

#[test]
fn keys_that_are_too_long_are_refused_and_the_longest_are_not() -> Result<()> {
    for (page_size, max) in [(4096, 1024), (16384, 4096), (65536, 16383)] {
        let (_dir, path) = scratch();
        let db = Options::new().page_size(page_size).open(&path)?;
        assert_eq!(db.key_bytes_max(), max);
        let mut txn = db.begin_write()?;
        let mut table = txn.table("t")?;
        let too_long = vec![b'k'; max + 1];
        let refused = table.put(&too_long, "value");
        assert!(matches!(refused, Err(Error::KeyLength { bytes, max: most, .. }) if bytes == max + 1 && most == max));
        assert!(table.insert(&too_long, "").is_err() && table.append(&too_long, "").is_err());
        assert!(table.reserve(&too_long, 1).is_err() && table.replace(&too_long, "").is_err());
        // Asking for such a key is no mistake: it is not there.
        assert_eq!(table.get(&too_long)?, None);
        assert!(!table.delete(&too_long)?);
        assert_eq!(table.delete_range(&too_long[..]..)?, 0);
        table.put(&too_long[1..], "value")?;
        assert_eq!(table.get(&too_long[1..])?, Some(&b"value"[..]));
        txn.commit()?;
        assert_clean(&db);
    }
    Ok(())
}

#[test]
fn duplicates_that_are_too_long_are_refused() -> Result<()> {
    let (_dir, db) = open();
    db.update(|txn| {
        let mut table = txn.table_with("t", &TableOptions::new().duplicates(Duplicates::sorted()))?;
        let too_long = [b'v'; 1025];
        assert!(matches!(table.put("key", too_long), Err(Error::ValueLength { bytes: 1025, max: 1024, .. })));
        assert!(!table.delete_duplicate("key", too_long)?);
        table.put("key", &too_long[1..])?;
        assert!(!table.view().contains("key", too_long)?);
        Ok(())
    })
}

#[test]
fn fixed_size_duplicates_have_the_size_of_the_first() -> Result<()> {
    let (_dir, db) = open();
    let options = TableOptions::new().duplicates(Duplicates::sorted().fixed_size());
    db.update(|txn| {
        let mut table = txn.table_with("t", &options)?;
        assert!(matches!(table.put("key", ""), Err(Error::ValueLength { bytes: 0, min: 1, .. })));
        table.put("key", "four")?;
        assert!(matches!(table.put("key", "three"), Err(Error::ValueLength { bytes: 5, min: 4, max: 4 })));
        Ok(())
    })?;
    db.update(|txn| {
        let mut table = txn.table_with("t", &options)?;
        assert!(matches!(table.put("other", "three"), Err(Error::ValueLength { bytes: 5, min: 4, max: 4 })));
        assert_eq!(table.stats().item_bytes, 4);
        Ok(())
    })
}

#[test]
fn a_duplicate_that_cannot_be_replaced_stays() -> Result<()> {
    let (_dir, db) = open();
    let by_first_byte = Duplicates::compared(std::sync::Arc::new(|a: &[u8], b: &[u8]| a[..1].cmp(&b[..1])));
    for (name, duplicates) in [("varied", by_first_byte.clone()), ("fixed", by_first_byte.fixed_size())] {
        let options = TableOptions::new().duplicates(duplicates);
        let mut txn = db.begin_write()?;
        let id = txn.open_table(name, Some(&options))?;
        ["a1", "b1"].into_iter().try_for_each(|value| txn.put(id, "k", value))?;
        let mut cursor = txn.cursor(id)?;
        for long in [true, false] {
            assert_eq!(cursor.first(&txn)?, Some((&b"k"[..], &b"a1"[..])));
            let replaced = cursor.replace(&mut txn, if long { vec![b'a'; 5000] } else { b"a2".to_vec() });
            assert_eq!(matches!(replaced, Err(Error::ValueLength { .. })), long, "{replaced:?}");
        }
        txn.commit()?;
        let snapshot = db.read()?;
        let table = snapshot.table_with(name, &options)?;
        let values: Vec<_> = table.iter().map(|entry| entry.map(|(_, value)| value)).collect::<Result<_>>()?;
        assert_eq!(values, [b"a2", b"b1"]);
    }
    Ok(())
}

#[test]
fn integers_have_four_or_eight_bytes() -> Result<()> {
    let (_dir, db) = open();
    db.update(|txn| {
        let mut keys = txn.table_with("keys", &TableOptions::new().order(Order::Native))?;
        for bytes in [0, 1, 3, 5, 7, 9, 1000] {
            assert!(matches!(keys.put(vec![1; bytes], ""), Err(Error::KeyLength { min: 4, max: 8, .. })));
            assert_eq!(keys.get(vec![1; bytes])?, None);
            assert_eq!(keys.range(vec![1; bytes]..)?.count(), 0);
        }
        let mut values = txn.table_with("values", &TableOptions::new().duplicates(Duplicates::integers()))?;
        for bytes in [1, 3, 5, 7, 9, 1000] {
            assert!(matches!(values.put("key", vec![1; bytes]), Err(Error::ValueLength { min: 4, max: 8, .. })));
        }
        Ok(())
    })
}

#[test]
fn a_refused_operation_changes_nothing_and_the_transaction_goes_on() -> Result<()> {
    let (_dir, db) = open();
    let mut txn = db.begin_write()?;
    let mut table = txn.table("t")?;
    table.put("b", "value")?;
    assert!(table.put([0; 2000], "").is_err());
    assert!(matches!(table.append("a", "value"), Err(Error::AppendOrder)));
    assert!(matches!(table.append("b", "value"), Err(Error::AppendOrder)));
    assert!(is_incompatible(table.delete_duplicate("b", "value")));
    assert_eq!(table.insert("b", "other")?, Put::Exists);
    assert!(!table.compare_and_swap("b", None, Some(b"other"))?);
    table.edit("b", |value| if value == Some(b"value") { Edit::Keep } else { Edit::Delete })?;
    table.edit("c", |value| if value.is_none() { Edit::Delete } else { Edit::Put(b"other".into()) })?;
    assert!(is_key_length(table.edit([0; 2000], |_| Edit::Put(b"".into()))));
    let mut several = txn.table_with("several", &TableOptions::new().duplicates(Duplicates::sorted()))?;
    several.put("b", "value")?;
    assert!(is_incompatible(several.edit("b", |_| Edit::Delete)));
    txn.commit()?;
    let snapshot = db.read()?;
    assert_eq!(snapshot.table("t")?.get("b")?, Some(&b"value"[..]));
    assert_eq!(snapshot.table("t")?.len(), 1);
    assert_clean(&db);
    Ok(())
}

#[test]
fn a_table_opened_with_other_options_says_what_it_has() -> Result<()> {
    let (_dir, db) = open();
    let sorted = TableOptions::new().duplicates(Duplicates::sorted());
    let others = [
        TableOptions::new(),
        sorted.clone().order(Order::Reversed),
        TableOptions::new().duplicates(Duplicates::reversed()),
        TableOptions::new().duplicates(Duplicates::sorted().fixed_size()),
    ];
    db.update(|txn| txn.table_with("t", &sorted)?.put("key", "value"))?;
    for other in &others {
        let error = db.update(|txn| txn.table_with("t", other).map(drop)).expect_err("other options");
        assert!(matches!(&error, Error::TableOptions { name, .. } if name == "t"), "{error}");
        assert!(error.to_string().contains("bytewise duplicates"), "{error}");
        assert!(db.read()?.table_with("t", other).is_err());
    }
    // Without options it is opened as what it is.
    assert_eq!(db.read()?.table("t")?.stats().duplicates, Some("bytes"));
    Ok(())
}

#[test]
fn a_custom_order_must_bring_its_function() -> Result<()> {
    let (_dir, db) = open();
    let options = TableOptions::new().order(Order::Custom(std::sync::Arc::new(|a, b| b.cmp(a))));
    db.update(|txn| txn.table_with("t", &options)?.put("key", "value"))?;
    let error = db.read()?.table("t").map(drop).expect_err("no function");
    assert!(error.to_string().contains("comparison function"), "{error}");
    assert!(db.update(|txn| txn.table("t").map(drop)).is_err());
    assert_eq!(db.read()?.table_with("t", &options)?.len(), 1);
    // It can be dropped without.
    db.update(|txn| txn.drop_table("t").map(|dropped| assert!(dropped)))?;
    assert_clean(&db);
    Ok(())
}

#[test]
fn a_handle_is_of_no_use_after_its_table_was_dropped() -> Result<()> {
    let (_dir, db) = open();
    let mut txn = db.begin_write()?;
    let id = txn.open_table("t", None)?;
    txn.put(id, "key", "value")?;
    let mut cursor = txn.cursor(id)?;
    cursor.first(&txn)?;
    assert!(txn.drop_table("t")?);
    assert!(is_bad_table(txn.put(id, "key", "value")));
    assert!(is_bad_table(txn.get(id, "key")));
    assert!(is_bad_table(txn.view(id)) && is_bad_table(txn.cursor(id)));
    assert!(is_bad_table(txn.table_by_id(id)));
    assert!(is_bad_table(cursor.current(&txn)));
    assert!(is_bad_table(cursor.clone().delete(&mut txn)));
    // A new table of the name is another table.
    txn.table("t")?.put("key", "new")?;
    assert!(is_bad_table(txn.get(id, "key")) && is_bad_table(cursor.next(&txn)));
    txn.commit()
}

#[test]
fn a_handle_is_of_no_use_in_another_transaction() -> Result<()> {
    let (_dir, db) = open();
    let (_other_dir, other_db) = open();
    let mut txn = db.begin_write()?;
    let id = txn.open_table("t", None)?;
    txn.put(id, "key", "value")?;
    let mut cursor = txn.cursor(id)?;
    cursor.first(&txn)?;
    let main = txn.main_table();
    // The next transaction has the same number, and its first table the same place.
    txn.abort();
    for mut txn in [db.begin_write()?, other_db.begin_write()?] {
        txn.open_table("other", None)?;
        assert!(is_bad_table(txn.get(id, "key")) && is_bad_table(txn.put(id, "key", "value")));
        assert!(is_bad_table(txn.table_by_id(main)));
        assert!(is_bad_table(cursor.current(&txn)) && is_bad_table(cursor.next(&txn)));
        assert!(is_bad_table(cursor.put(&mut txn, "key", "value")));
    }
    Ok(())
}

#[test]
fn a_cursor_of_another_transaction_changes_nothing() -> Result<()> {
    let (_dir, db) = open();
    let fill = |txn: &mut WriteTxn<'_>, name: &str| {
        let mut table = txn.table(name)?;
        (0..500_u32).try_for_each(|i| table.put(i.to_be_bytes(), [7; 40]))
    };
    db.update(|txn| fill(txn, "a").and_then(|()| fill(txn, "b")))?;
    // Nothing was changed when it came to stand there, nor has anything been in the next one.
    let mut txn = db.begin_write()?;
    let id = txn.open_table("a", None)?;
    let mut old = txn.cursor(id)?;
    assert!(old.seek(&txn, 250_u32.to_be_bytes())?.is_some());
    txn.abort();
    let mut txn = db.begin_write()?;
    txn.open_table("b", None)?;
    let copy = || old.clone();
    assert!(is_bad_table(copy().delete_key(&mut txn)) && is_bad_table(copy().delete(&mut txn)));
    assert!(is_bad_table(copy().replace(&mut txn, "new")) && is_bad_table(copy().put(&mut txn, "key", "value")));
    assert!(is_bad_table(copy().table_mut(&mut txn)) && is_bad_table(copy().count(&txn)));
    assert!(is_bad_table(copy().current(&txn)) && is_bad_table(copy().may_be_on(&txn, b"key", None)));
    assert!(is_bad_table(copy().next(&txn)) && is_bad_table(copy().prev_key(&txn)) && is_bad_table(copy().last(&txn)));
    assert!(is_bad_table(copy().seek(&txn, "key")) && is_bad_table(copy().next_duplicate(&txn)));
    txn.commit()?;
    assert_eq!((db.read()?.table("a")?.len(), db.read()?.table("b")?.len()), (500, 500));
    assert_clean(&db);
    Ok(())
}

#[test]
fn a_handle_made_in_a_child_that_was_aborted_is_of_no_use() -> Result<()> {
    let (_dir, db) = open();
    let mut txn = db.begin_write()?;
    let mut child = txn.child()?;
    let id = child.open_table("t", None)?;
    child.put(id, "key", "value")?;
    child.abort();
    assert!(is_bad_table(txn.get(id, "key")));
    txn.table("u")?.put("key", "other")?;
    assert!(is_bad_table(txn.get(id, "key")));
    let mut child = txn.child()?;
    let id = child.open_table("t", None)?;
    child.put(id, "key", "value")?;
    child.commit()?;
    assert_eq!(txn.get(id, "key")?, Some(&b"value"[..]));
    Ok(())
}

#[test]
fn nesting_levels_that_were_not_begun_cannot_be_ended() -> Result<()> {
    let (_dir, db) = open();
    let mut txn = db.begin_write()?;
    txn.table("t")?.put("key", "value")?;
    assert!(is_usage(txn.commit_nested()) && is_usage(txn.abort_nested()));
    let mut child = txn.child()?;
    child.table("t")?.put("child", "value")?;
    // A child's own level is not one of those.
    assert!(is_usage(child.commit_nested()) && is_usage(child.abort_nested()));
    child.begin_nested()?;
    child.table("t")?.put("grandchild", "value")?;
    child.abort_nested()?;
    assert!(is_usage(child.abort_nested()));
    child.abort();
    assert_eq!(txn.table("t")?.len(), 1);
    txn.begin_nested()?;
    txn.begin_nested()?;
    txn.table("t")?.put("nested", "value")?;
    // What was not ended is kept by the commit of the whole.
    txn.commit()?;
    assert_eq!(db.read()?.table("t")?.len(), 2);
    Ok(())
}

#[test]
fn the_main_table_guards_the_records_of_the_others() -> Result<()> {
    let (_dir, db) = open();
    db.update(|txn| txn.table("t")?.put("key", "value"))?;
    let mut txn = db.begin_write()?;
    let main = txn.main_table();
    assert!(is_incompatible(txn.put(main, "t", "not a table")));
    assert!(is_incompatible(txn.table_by_id(main)?.put_last_duplicate("t", "not a table")));
    assert!(is_incompatible(txn.table_by_id(main)?.delete("t")));
    assert!(is_incompatible(txn.table_by_id(main)?.edit("t", |_| panic!("a record is no value to be looked at"))));
    assert!(is_incompatible(txn.table_by_id(main)?.delete_range(..)));
    txn.put(main, "ordinary", "value")?;
    assert!(is_incompatible(txn.table("ordinary").map(drop)));
    txn.commit()?;
    let snapshot = db.read()?;
    assert_eq!(snapshot.table_names()?, [b"t"]);
    assert_eq!(snapshot.main_table()?.get("ordinary")?, Some(&b"value"[..]));
    assert!(is_incompatible(snapshot.table("ordinary").map(drop)));
    assert_clean(&db);
    Ok(())
}

#[test]
fn table_names_have_the_lengths_of_keys() -> Result<()> {
    let (_dir, db) = open();
    let mut txn = db.begin_write()?;
    assert!(matches!(txn.table("").map(drop), Err(Error::NameLength { bytes: 0, .. })));
    assert!(matches!(txn.table([b'n'; 1025]).map(drop), Err(Error::NameLength { bytes: 1025, max: 1024 })));
    txn.table([b'n'; 1024])?.put("key", "value")?;
    assert!(matches!(txn.rename_table([b'n'; 1024], ""), Err(Error::NameLength { bytes: 0, .. })));
    assert!(!txn.rename_table("missing", "other")?);
    assert!(!txn.drop_table("missing")?);
    txn.commit()?;
    assert_eq!(db.read()?.table([b'n'; 1024])?.len(), 1);
    Ok(())
}

#[test]
fn renaming_onto_a_table_is_refused() -> Result<()> {
    let (_dir, db) = open();
    let mut txn = db.begin_write()?;
    txn.table("a")?.put("key", "a")?;
    txn.table("b")?.put("key", "b")?;
    for to in ["b", "a"] {
        assert!(matches!(txn.rename_table("a", to), Err(Error::TableExists { name }) if name == to));
    }
    txn.commit()?;
    assert_eq!(db.read()?.table("a")?.get("key")?, Some(&b"a"[..]));
    Ok(())
}

#[test]
fn statistics_and_checks_can_be_asked_for_in_the_middle_of_a_write() -> Result<()> {
    let (_dir, db) = open();
    db.update(|txn| txn.table("t")?.put("key", "value"))?;
    let mut txn = db.begin_write()?;
    txn.table("t")?.put("more", "value")?;
    assert_eq!(db.stats()?.txnid.0, 1);
    assert_clean(&db);
    assert_eq!(db.readers()?, Vec::new());
    txn.commit()
}

#[test]
fn inverted_and_empty_ranges_are_empty() -> Result<()> {
    let (_dir, db) = open();
    db.update(|txn| {
        let mut table = txn.table("t")?;
        ["a", "b", "c"].iter().try_for_each(|key| table.put(key, ""))?;
        assert_eq!(table.range("c".."a")?.count(), 0);
        assert_eq!(table.range("b".."b")?.count(), 0);
        assert_eq!(table.delete_range("c".."a")?, 0);
        assert_eq!(table.delete_range("b".."b")?, 0);
        assert_eq!(table.delete_range("b"..="b")?, 1);
        Ok(())
    })
}

#[test]
fn a_closure_that_fails_leaves_nothing() -> Result<()> {
    let (_dir, db) = open();
    let failed: Result<()> = db.update(|txn| {
        txn.table("t")?.put("key", "value")?;
        Err(Error::ReadOnly)
    });
    assert!(matches!(failed, Err(Error::ReadOnly)));
    assert_eq!(db.read()?.table_names()?, Vec::<Vec<u8>>::new());
    let panicking = || db.update::<()>(|_| panic!("the caller's own fault"));
    assert!(catch_unwind(AssertUnwindSafe(panicking)).is_err());
    drop(db.try_begin_write()?);
    Ok(())
}

#[test]
fn a_table_and_an_entry_of_one_name_are_refused_at_once_whichever_comes_second() -> Result<()> {
    let (_dir, db) = open();
    let mut txn = db.begin_write()?;
    let main = txn.main_table();
    txn.table("made first")?;
    assert!(is_incompatible(txn.put(main, "made first", "value")));
    assert!(is_incompatible(txn.table_by_id(main)?.insert("made first", "value")));
    assert!(is_incompatible(txn.table_by_id(main)?.edit("made first", |_| Edit::Put(b"value".into()))));
    txn.put(main, "stored first", "value")?;
    assert!(is_incompatible(txn.table("stored first")));
    txn.table("moved")?;
    assert!(is_incompatible(txn.rename_table("moved", "stored first")));
    assert!(txn.rename_table("moved", "elsewhere")?);
    assert!(is_incompatible(txn.put(main, "elsewhere", "value")));
    txn.put(main, "moved", "the name is free again")?;
    assert!(txn.drop_table("elsewhere")?);
    txn.put(main, "elsewhere", "so is this one")?;
    assert!(is_incompatible(txn.table("elsewhere")));
    txn.commit()?;
    assert_eq!(db.read()?.table_names()?, [b"made first".to_vec()]);
    assert_clean(&db);
    Ok(())
}

fn descending() -> TableOptions {
    TableOptions::new().order(Order::Custom(std::sync::Arc::new(|a: &[u8], b: &[u8]| b.cmp(a))))
}

#[test]
fn a_custom_order_must_bring_its_function_after_a_rename_too() -> Result<()> {
    let (_dir, db) = open();
    db.update(|txn| {
        txn.table("plain")?.put("a", "b")?;
        let mut custom = txn.table_with("custom", &descending())?;
        (0..2000_u32).try_for_each(|i| custom.put(i.to_be_bytes(), "v"))
    })?;
    let has_no_function =
        |txn: &mut duramen::WriteTxn<'_>, name: &str| matches!(txn.table(name), Err(Error::TableOptions { .. }));
    db.update(|txn| {
        assert!(matches!(txn.rename_table("plain", "custom"), Err(Error::TableExists { .. })));
        assert!(has_no_function(txn, "custom"));
        assert!(txn.rename_table("custom", "other")?);
        assert!(has_no_function(txn, "other"));
        let mut other = txn.table_with("other", &descending())?;
        other.put(5000_u32.to_be_bytes(), "v")?;
        assert_eq!(txn.table("other")?.len(), 2001, "its function is known by now");
        Ok(())
    })?;
    let snapshot = db.read()?;
    let keys: Vec<_> = snapshot.table_with("other", &descending())?.keys().collect::<Result<_>>()?;
    assert!(keys.len() == 2001 && keys.is_sorted_by(|a, b| a > b));
    Ok(())
}

/// Of a change that a panic ended half-way nothing may be kept.
#[test]
fn a_comparison_that_panics_leaves_a_transaction_that_can_only_be_aborted() -> Result<()> {
    use std::sync::atomic::{AtomicI64, Ordering};
    let (_dir, db) = open();
    let left = std::sync::Arc::new(AtomicI64::new(i64::MAX));
    let counted = left.clone();
    let options = TableOptions::new().order(Order::Custom(std::sync::Arc::new(move |a: &[u8], b: &[u8]| {
        assert!(counted.fetch_sub(1, Ordering::Relaxed) != 0, "on purpose");
        b.cmp(a)
    })));
    db.update(|txn| {
        let mut table = txn.table_with("t", &options)?;
        (0..300_u32).try_for_each(|i| table.put((i * 2).to_be_bytes(), [1; 60]))
    })?;
    let before = db.read()?.txnid();
    let mut refused = 0;
    for comparisons in 0.. {
        let mut txn = db.begin_write()?;
        let id = txn.open_table("t", Some(&options))?;
        left.store(comparisons, Ordering::Relaxed);
        let range = 401_u32.to_be_bytes()..203_u32.to_be_bytes();
        let changed = catch_unwind(AssertUnwindSafe(|| txn.table_by_id(id)?.delete_range(range)));
        left.store(i64::MAX, Ordering::Relaxed);
        if changed.is_ok() {
            assert!(comparisons > 2, "it compares no keys");
            assert!(refused > 0, "none of them in the middle of a change");
            break;
        }
        // Before anything was changed it may go on.
        if txn.put(id, 77_777_u32.to_be_bytes(), "x").is_err() {
            refused += 1;
            assert!(matches!(txn.commit(), Err(Error::TxnFailed)));
            assert_eq!(db.read()?.txnid(), before);
        } else {
            let table = txn.table_by_id(id)?;
            let keys: Vec<_> = table.view().keys().collect::<Result<_>>()?;
            assert!(keys.len() == 301 && table.len() == 301 && keys.is_sorted_by(|a, b| a > b));
        }
    }
    Ok(())
}

#[test]
fn transactions_that_are_nested_too_deep_are_refused() -> Result<()> {
    let (_dir, db) = open();
    let mut txn = db.begin_write()?;
    let id = txn.open_table("t", None)?;
    let deepest = (0..).find(|_| is_usage(txn.begin_nested())).unwrap_or(0);
    assert!((60_000..=65_536).contains(&deepest), "{deepest}");
    txn.put(id, "a", "given up")?;
    txn.abort_nested()?;
    txn.put(id, "b", "kept")?;
    txn.commit()?;
    assert_eq!(db.read()?.table("t")?.keys().collect::<Result<Vec<_>>>()?, [b"b"]);
    Ok(())
}

#[test]
fn prefixes_are_of_bytewise_tables_only() -> Result<()> {
    let (_dir, db) = open();
    let options = TableOptions::new().order(Order::Reversed);
    db.update(|txn| txn.table_with("t", &options)?.put("ab", "v"))?;
    assert!(is_incompatible(db.read()?.table("t")?.prefix("a")));
    Ok(())
}

#[test]
fn what_a_child_asked_for_goes_with_it() -> Result<()> {
    let (_dir, db) = open();
    let mut txn = db.begin_write()?;
    txn.set_user_number(1);
    txn.table("t")?.put("k", "v")?;
    for keep in [false, true] {
        let mut child = txn.child()?;
        child.set_user_number(2);
        child.set_durability(duramen::Durability::Relaxed);
        if keep {
            child.commit()?
        } else {
            child.abort()
        }
        let is_relaxed = txn.durability() == duramen::Durability::Relaxed;
        assert_eq!((txn.user_number(), is_relaxed), (1 + u64::from(keep), keep));
    }
    Ok(())
}

#[test]
fn runs_of_no_pages_are_those_of_one() -> Result<()> {
    let (_dir, db) = open();
    db.update(|txn| txn.table("t")?.put("key", vec![1; 100_000]))?;
    db.update(|txn| txn.table("behind")?.put("key", vec![1; 100_000]))?;
    db.update(|txn| txn.drop_table("t").map(drop))?;
    (0..2_u8).try_for_each(|i| db.update(|txn| txn.table("behind")?.put([i], "")))?;
    let mut txn = db.begin_write()?;
    let free = txn.pages_free_in_runs(1, u64::MAX)?;
    assert!(free > 0);
    assert_eq!(txn.pages_free_in_runs(0, u64::MAX)?, free);
    assert_eq!(txn.pages_free_in_runs(u64::MAX, u64::MAX)?, 0);
    Ok(())
}
