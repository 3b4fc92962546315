//! Tables that random runs do not draw.

use std::sync::Arc;

use duramen::{Comparator, Database, Duplicates, Error, Order, Put, Result, TableOptions};
use tempfile::TempDir;

fn scratch() -> (TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("special.dm")).unwrap();
    (dir, db)
}

fn assert_clean(db: &Database) {
    assert_eq!(db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

/// Letters sort the same whether large or small.
fn ignoring_case() -> Comparator {
    Arc::new(|a, b| a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase()))
}

#[test]
fn keys_that_compare_equal_are_one_key() -> Result<()> {
    let (_dir, db) = scratch();
    let options = TableOptions::new().order(Order::Custom(ignoring_case()));
    let mut txn = db.begin_write()?;
    let mut table = txn.table_with("t", &options)?;
    for i in 100..600 {
        table.put(format!("Key {i}"), "one")?;
    }
    for i in 100..600 {
        assert_eq!(table.insert(format!("KEY {i}"), "two")?, Put::Exists);
        // Longer than before, so that pages split meanwhile.
        table.put(format!("key {i}"), [b'3'; 300])?;
    }
    assert_eq!(table.len(), 500);
    assert_eq!(table.get("kEy 177")?, Some(&[b'3'; 300][..]));
    assert!(table.delete("KEY 177")?);
    assert!(matches!(table.append("key 599", ""), Err(Error::AppendOrder)));
    assert_eq!(table.delete_range("KEY 200".."key 300")?, 100);
    txn.commit()?;
    assert_clean(&db);
    let snapshot = db.read()?;
    assert_eq!(snapshot.table_with("t", &options)?.iter().count(), 399);
    Ok(())
}

#[test]
fn duplicates_that_compare_equal_are_one_until_replaced() -> Result<()> {
    let (_dir, db) = scratch();
    let options = TableOptions::new().duplicates(Duplicates::compared(ignoring_case()));
    for values in [1, 5, 2000] {
        let mut txn = db.begin_write()?;
        let id = txn.open_table("t", Some(&options))?;
        for i in 0..values {
            let mut table = txn.table_by_id(id)?;
            assert_eq!(table.put_duplicate("key", format!("Value {i}"))?, Put::Stored);
            assert_eq!(table.put_duplicate("key", format!("VALUE {i}"))?, Put::Exists);
        }
        let mut cursor = txn.cursor(id)?;
        let found = cursor.seek_pair(&txn, "key", "vaLUE 0")?;
        assert_eq!(found, Some((&b"key"[..], &b"Value 0"[..])));
        cursor.replace(&mut txn, "value 0")?;
        assert_eq!(cursor.current(&txn)?, Some((&b"key"[..], &b"value 0"[..])));
        assert!(matches!(cursor.replace(&mut txn, "other"), Err(Error::Incompatible { .. })));
        assert_eq!(txn.view(id)?.len(), values);
        for i in 0..values {
            assert!(txn.table_by_id(id)?.delete_duplicate("key", format!("VALUE {i}"))?);
        }
        assert!(txn.view(id)?.is_empty());
        txn.commit()?;
        assert_clean(&db);
    }
    Ok(())
}

#[test]
fn the_main_table_may_be_of_another_kind_while_it_stands_alone() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("main.dm");
    let options = TableOptions::new().order(Order::Reversed).duplicates(Duplicates::integers());
    let db = Database::open(&path)?;
    let mut txn = db.begin_write()?;
    txn.set_main_options(&options)?;
    let main = txn.main_table();
    for i in 0..5000u64 {
        txn.put(main, [(i % 7) as u8, 1], (i * 3).to_ne_bytes())?;
    }
    assert!(matches!(txn.table("named").map(drop), Err(Error::Incompatible { .. })));
    txn.commit()?;
    assert_clean(&db);
    db.close()?;
    let db = Database::open(&path)?;
    let snapshot = db.read()?;
    assert!(matches!(snapshot.main_table_with(&TableOptions::new()).map(drop), Err(Error::TableOptions { .. })));
    let main = snapshot.main_table_with(&options)?;
    assert_eq!((main.len(), main.values_of([3, 1])?.count()), (5000, 714));
    let mut txn = db.begin_write()?;
    assert!(matches!(txn.set_main_options(&TableOptions::new()), Err(Error::TableOptions { .. })));
    let id = txn.main_table();
    assert_eq!(txn.table_by_id(id)?.clear()?, 5000);
    txn.set_main_options(&TableOptions::new())?;
    txn.table("named")?.put("key", "value")?;
    txn.commit()?;
    assert_clean(&db);
    Ok(())
}

#[test]
fn names_are_found_in_a_main_table_of_any_order() -> Result<()> {
    for order in [Order::Reversed, Order::Native] {
        let (_dir, db) = scratch();
        let names: Vec<Vec<u8>> = if matches!(order, Order::Reversed) {
            (0..40).map(|i| format!("table {i:02}").into_bytes()).collect()
        } else {
            Vec::new()
        };
        db.update(|txn| {
            txn.set_main_options(&TableOptions::new().order(order.clone()))?;
            names.iter().try_for_each(|name| txn.table(name)?.put("key", name))?;
            let main = txn.main_table();
            (0..1000u64).try_for_each(|i| txn.put(main, (i * 7919).to_ne_bytes(), "ordinary"))
        })?;
        let snapshot = db.read()?;
        assert_eq!(snapshot.table_names()?, names);
        for name in &names {
            assert_eq!(snapshot.table(name)?.get("key")?, Some(&name[..]));
        }
        assert_clean(&db);
    }
    Ok(())
}

#[test]
fn many_tables_of_one_transaction_go_by_their_names() -> Result<()> {
    let (_dir, db) = scratch();
    let name = |i: u32| format!("table {i}");
    let mut txn = db.begin_write()?;
    (0..100).try_for_each(|i| txn.table(name(i))?.put("key", i.to_be_bytes()))?;
    assert!(txn.drop_table(name(70))?);
    assert!(txn.rename_table(name(3), name(70))?, "the name of one that was dropped, by one made before that");
    assert!(txn.drop_table(name(5))?);
    txn.table(name(5))?.put("key", "again")?;
    let mut child = txn.child()?;
    child.table("of the child")?.put("key", "value")?;
    assert!(child.rename_table(name(8), "of the child, too")?);
    drop(child);
    txn.table("after the child")?.put("key", "value")?;
    for i in (0..100).filter(|i| ![3, 5, 70].contains(i)) {
        assert_eq!(txn.table(name(i))?.get("key")?, Some(&i.to_be_bytes()[..]));
    }
    assert_eq!(txn.table(name(70))?.get("key")?, Some(&3u32.to_be_bytes()[..]));
    assert_eq!(txn.table(name(5))?.get("key")?, Some(&b"again"[..]));
    assert_eq!(txn.table_names()?.len(), 100);
    txn.commit()?;
    assert_clean(&db);
    let snapshot = db.read()?;
    assert_eq!(snapshot.table_names()?.len(), 100);
    assert_eq!(snapshot.table(name(70))?.get("key")?, Some(&3u32.to_be_bytes()[..]));
    Ok(())
}

#[test]
fn clearing_the_main_table_drops_all_others() -> Result<()> {
    let (_dir, db) = scratch();
    let custom = TableOptions::new().order(Order::Custom(ignoring_case()));
    db.update(|txn| {
        (0..300u16).try_for_each(|i| txn.table(i.to_be_bytes())?.put("key", [7; 5000]))?;
        txn.table_with("custom", &custom)?.put("key", "value")?;
        let main = txn.main_table();
        (0..300u32).try_for_each(|i| txn.put(main, i.to_be_bytes(), "ordinary"))
    })?;
    assert_clean(&db);
    let mut txn = db.begin_write()?;
    let main = txn.main_table();
    let kept = txn.open_table([0, 1], None)?;
    txn.table_by_id(main)?.clear()?;
    assert!(matches!(txn.get(kept, "key"), Err(Error::BadTable)));
    assert_eq!((txn.table_names()?, txn.view(main)?.len()), (Vec::new(), 0));
    txn.commit()?;
    assert_clean(&db);
    assert_eq!(db.read()?.main_table()?.len(), 0);
    Ok(())
}

#[test]
fn there_may_be_thousands_of_tables() -> Result<()> {
    let (_dir, db) = scratch();
    let name = |i: u32| format!("table {i:05}").into_bytes();
    db.update(|txn| (0..3000).try_for_each(|i| txn.table(name(i))?.put("key", i.to_be_bytes())))?;
    assert_clean(&db);
    assert_eq!(db.read()?.table_names()?, (0..3000).map(name).collect::<Vec<_>>());
    db.update(|txn| {
        for i in (0..3000).step_by(2) {
            assert!(txn.drop_table(name(i))?);
        }
        for i in (1..3000).step_by(4) {
            assert!(txn.rename_table(name(i), name(i + 10_000))?);
        }
        assert_eq!(txn.table_names()?.len(), 1500);
        Ok(())
    })?;
    assert_clean(&db);
    let snapshot = db.read()?;
    assert_eq!(snapshot.table(name(10_001))?.get("key")?, Some(&1u32.to_be_bytes()[..]));
    assert_eq!(snapshot.table(name(3))?.get("key")?, Some(&3u32.to_be_bytes()[..]));
    assert!(matches!(snapshot.table(name(1)), Err(Error::NoSuchTable { .. })));
    assert_eq!(db.check(|_, _| {})?.tables, 1500);
    Ok(())
}

#[test]
fn a_name_may_change_hands_within_a_transaction() -> Result<()> {
    let (_dir, db) = scratch();
    db.update(|txn| {
        txn.table("a")?.put("key", "a")?;
        txn.table("b")?.put("key", "b")
    })?;
    let mut txn = db.begin_write()?;
    assert!(txn.drop_table("a")? && !txn.drop_table("a")?);
    assert!(txn.rename_table("b", "a")?);
    assert!(txn.find_table("b", None)?.is_none());
    let mut child = txn.child()?;
    assert!(child.rename_table("a", "c")?);
    child.table("a")?.put("key", "new a")?;
    assert_eq!(child.table_names()?, [b"a", b"c"]);
    child.abort();
    assert_eq!(txn.table_names()?, [b"a"]);
    txn.table("b")?.put("key", "new b")?;
    txn.commit()?;
    assert_clean(&db);
    let snapshot = db.read()?;
    assert_eq!(snapshot.table("a")?.get("key")?, Some(&b"b"[..]));
    assert_eq!(snapshot.table("b")?.get("key")?, Some(&b"new b"[..]));
    Ok(())
}

#[test]
fn the_callers_own_bits_stay_with_the_table() -> Result<()> {
    let (_dir, db) = scratch();
    db.update(|txn| txn.table_with("t", &TableOptions::new().user_bits(0xBEEF))?.put("key", "value"))?;
    db.update(|txn| txn.table("t")?.clear().map(drop))?;
    // They are not compared when the table is opened.
    let snapshot = db.read()?;
    assert_eq!(snapshot.table_with("t", &TableOptions::new().user_bits(1))?.stats().user_bits, 0xBEEF);
    Ok(())
}

#[test]
fn an_empty_table_is_a_table() -> Result<()> {
    let (_dir, db) = scratch();
    db.update(|txn| txn.table("t").map(drop))?;
    let snapshot = db.read()?;
    let table = snapshot.table("t")?;
    assert_eq!((table.len(), table.stats().depth), (0, 0));
    assert_eq!((table.first()?, table.last()?, table.get("key")?), (None, None, None));
    assert_eq!((table.iter().count(), table.keys().count(), table.range("a"..)?.rev().count()), (0, 0, 0));
    let mut cursor = table.cursor();
    assert_eq!((cursor.next()?, cursor.prev()?, cursor.seek_at_or_after("a")?), (None, None, None));
    assert_eq!((cursor.prev()?, cursor.next_key()?, cursor.current()?), (None, None, None));
    Ok(())
}

#[test]
fn values_may_be_long() -> Result<()> {
    let (_dir, db) = scratch();
    let long: Vec<u8> = (0..50_000_000u32).map(|i| (i >> 8) as u8 ^ i as u8).collect();
    db.update(|txn| {
        txn.table("t")?.put("long", &long)?;
        txn.table("t")?.reserve("filled in", 3_000_000)?.copy_from_slice(&long[..3_000_000]);
        Ok(())
    })?;
    assert_clean(&db);
    let snapshot = db.read()?;
    let table = snapshot.table("t")?;
    assert!(table.get("long")? == Some(&long[..]) && table.get("filled in")? == Some(&long[..3_000_000]));
    db.update(|txn| txn.table("t")?.delete("long").map(drop))?;
    // The snapshot sees it all the same.
    assert!(table.get("long")? == Some(&long[..]));
    Ok(())
}

#[test]
fn values_stored_side_by_side_are_those_that_are_stored_one_by_one() -> Result<()> {
    let (_dir, db) = scratch();
    let orders = [Duplicates::sorted(), Duplicates::reversed(), Duplicates::integers()];
    let kinds = orders.iter().flat_map(|order| [order.clone(), order.clone().fixed_size()]);
    for (i, kind) in kinds.enumerate() {
        let mut txn = db.begin_write()?;
        let options = TableOptions::new().duplicates(kind);
        let (one, many) = (format!("one {i}"), format!("many {i}"));
        let ids = [txn.open_table(one, Some(&options))?, txn.open_table(many, Some(&options))?];
        let mut random = 1_u32;
        for count in [1_u32, 0, 3, 40, 2000, 7, 900] {
            let values: Vec<[u8; 4]> = (0..count)
                .map(|next| {
                    random = random.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
                    if count == 2000 { next.to_ne_bytes() } else { (random >> 20).to_ne_bytes() }
                })
                .collect();
            for key in ["a", "c", "b"] {
                let mut stored = 0;
                for value in &values {
                    stored += u64::from(txn.table_by_id(ids[0])?.put_duplicate(key, value)? == Put::Stored);
                }
                assert_eq!(txn.table_by_id(ids[1])?.put_duplicates(key, &values.concat(), 4)?, stored, "{key} {count}");
            }
            let (one, many) = (txn.view(ids[0])?, txn.view(ids[1])?);
            assert_eq!((one.len(), one.iter().count()), (many.len(), many.iter().count()), "{i} {count}");
            one.iter().zip(many.iter()).try_for_each(|(a, b)| {
                assert_eq!(a?, b?, "{i} {count}");
                Ok::<(), Error>(())
            })?;
        }
        txn.commit()?;
    }
    assert_clean(&db);
    Ok(())
}

#[test]
fn values_side_by_side_that_no_table_can_take_are_refused_before_anything_is_stored() -> Result<()> {
    let (_dir, db) = scratch();
    let mut txn = db.begin_write()?;
    let id = txn.open_table("t", Some(&TableOptions::new().duplicates(Duplicates::sorted().fixed_size())))?;
    let mut table = txn.table_by_id(id)?;
    for (values, bytes) in [(&b"abc"[..], 2), (b"abcd", 0), (b"", 0)] {
        assert!(matches!(table.put_duplicates("key", values, bytes), Err(Error::Usage { .. })), "{bytes}");
    }
    assert_eq!(table.put_duplicates("key", b"cabb", 1)?, 3);
    assert!(matches!(table.put_duplicates("other", b"aabb", 2), Err(Error::ValueLength { .. })));
    assert!(matches!(txn.table("plain")?.put_duplicates("key", b"ab", 1), Err(Error::Incompatible { .. })));
    assert_eq!(txn.view(id)?.len(), 3);
    Ok(())
}

#[test]
fn a_value_that_is_to_be_the_last_of_its_key_is_refused_where_it_is_not() -> Result<()> {
    let (_dir, db) = scratch();
    let mut txn = db.begin_write()?;
    let id = txn.open_table("t", Some(&TableOptions::new().duplicates(Duplicates::sorted())))?;
    let mut table = txn.table_by_id(id)?;
    table.put("later", "z")?;
    for i in 0..3000 {
        let value = format!("value {i:05}");
        assert_eq!(table.put_last_duplicate("key", &value)?, Put::Stored);
        assert_eq!(table.put_last_duplicate("key", &value)?, Put::Exists);
        assert_eq!(table.put_last_duplicate("key", "value")?, Put::Exists);
    }
    assert_eq!(table.len(), 3001);
    Ok(())
}

#[test]
fn one_table_is_entered_in_the_main_table_and_others_are_not() -> Result<()> {
    let (_dir, db) = scratch();
    let mut txn = db.begin_write()?;
    let ids = [txn.open_table("a", None)?, txn.open_table("b", None)?];
    assert_eq!(txn.main_stats().entries, 0);
    txn.enter_table(ids[1])?;
    txn.enter_table(ids[1])?;
    let main = txn.main_table();
    txn.enter_table(main)?;
    assert_eq!(txn.main_stats().entries, 1);
    assert!(txn.drop_table("b")?);
    assert!(txn.enter_table(ids[1]).is_err());
    // Many tables of the same name, one after the other.
    for _ in 0..100 {
        let id = txn.open_table("b", None)?;
        txn.enter_table(id)?;
        assert_eq!(txn.table_stats("b")?.map(|stats| stats.entries), Some(0));
        txn.put(id, "key", "value")?;
        assert_eq!(txn.table_stats("b")?.map(|stats| stats.entries), Some(1));
        assert!(txn.drop_table("b")?);
        assert!(txn.table_stats("b")?.is_none());
    }
    txn.commit()?;
    assert_clean(&db);
    Ok(())
}

#[test]
fn threads_read_tables_as_a_write_transaction_has_them() -> Result<()> {
    let (_dir, db) = scratch();
    db.update(|txn| txn.table("old")?.put(b"old", b"committed"))?;
    let mut txn = db.begin_write()?;
    txn.table("old")?.put(b"new", [7; 20_000])?;
    txn.table("new")?.put(b"key", b"value")?;
    assert!(txn.find_table("gone", None)?.is_none() && txn.drop_table("old")?);
    for i in 0..5000_u32 {
        txn.table("many")?.put(i.to_be_bytes(), b"an entry that takes some room")?;
    }
    let read = || -> Result<()> {
        assert!(txn.view_table("old", None)?.is_none() && txn.view_table("gone", None)?.is_none());
        assert_eq!(txn.view_table("new", None)?.expect("it was made").get(b"key")?, Some(&b"value"[..]));
        let options = TableOptions::new().order(Order::Reversed);
        assert!(matches!(txn.view_table("many", Some(&options)), Err(Error::TableOptions { .. })));
        let many = txn.view_table("many", None)?.expect("it was made");
        let mut cursor = many.cursor();
        for i in (0..5000_u32).rev() {
            assert_eq!(cursor.prev()?.map(|(key, _)| key), Some(&i.to_be_bytes()[..]));
        }
        assert!(cursor.prev()?.is_none() && many.get(5000_u32.to_be_bytes())?.is_none());
        assert!(txn.view_main(&TableOptions::new())?.is_empty(), "no table is entered yet");
        Ok(())
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
        readers.into_iter().try_for_each(|reader| reader.join().expect("a reader's assertion"))
    })?;
    txn.commit()?;
    assert_clean(&db);
    Ok(())
}

#[test]
fn a_cursor_knows_by_heart_where_it_may_stand() -> Result<()> {
    let (_dir, db) = scratch();
    let mut txn = db.begin_write()?;
    let options = TableOptions::new().order(Order::Custom(ignoring_case())).duplicates(Duplicates::sorted());
    let id = txn.open_table("t", Some(&options))?;
    ["1", "2"].iter().try_for_each(|value| txn.put(id, "key", value))?;
    let mut cursor = txn.cursor(id)?;
    assert!(!cursor.may_be_on(&txn, b"key", None)?);
    cursor.seek_pair(&txn, "KEY", "2")?;
    txn.put(id, "another", "1")?;
    assert!(cursor.may_be_on(&txn, b"Key", None)? && cursor.may_be_on(&txn, b"Key", Some(b"2"))?);
    assert!(!cursor.may_be_on(&txn, b"Key", Some(b"1"))? && !cursor.may_be_on(&txn, b"another", None)?);
    Ok(())
}

#[test]
fn a_key_has_nothing_beside_its_only_value_where_the_leaf_ends_either() -> Result<()> {
    let (_dir, db) = scratch();
    db.update(|txn| {
        let mut table = txn.table("t")?;
        (b'a'..=b'g').try_for_each(|key| table.append([key], [7; 1900]))
    })?;
    let snapshot = db.read()?;
    let table = snapshot.table("t")?;
    assert_eq!(table.stats().leaf_pages, 4, "two entries in each but the last");
    let mut txn = db.begin_write()?;
    let id = txn.open_table("t", None)?;
    let (mut reading, mut writing) = (table.cursor(), txn.cursor(id)?);
    for key in b'a'..=b'g' {
        // By a step, which keeps the leaf open, and by movements that do not.
        for arrive in 0..3 {
            match (arrive, key) {
                (1, b'a') => (reading.first()?, writing.first(&txn)?),
                (1, b'g') => (reading.last()?, writing.last(&txn)?),
                (2, _) => (reading.seek([key])?, writing.seek(&txn, [key])?),
                (0, b'a') => (reading.next()?, writing.next(&txn)?),
                (0, _) => {
                    reading.seek([key - 1])?;
                    writing.seek(&txn, [key - 1])?;
                    (reading.next()?, writing.next(&txn)?)
                }
                _ => continue,
            };
            for _ in 0..2 {
                assert_eq!((reading.next_duplicate()?, reading.prev_duplicate()?), (None, None), "{key} {arrive}");
                assert_eq!(
                    (writing.next_duplicate(&txn)?, writing.prev_duplicate(&txn)?),
                    (None, None),
                    "{key} {arrive}"
                );
            }
            assert_eq!(reading.current()?.map(|(at, _)| at), Some(&[key][..]), "{key} {arrive}");
        }
    }
    Ok(())
}
