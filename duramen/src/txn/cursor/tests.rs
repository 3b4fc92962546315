use super::*;
use crate::Database;
use crate::{Duplicates, Put, TableId, TableMut, TableOptions};

#[test]
fn a_leaf_is_kept_open_until_anything_in_its_table_changes() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    let mut txn = db.begin_write()?;
    let (walked, other) = (txn.table("walked")?.id(), txn.table("other")?.id());
    for key in 0..100_u8 {
        txn.put(walked, [key], "before")?;
    }
    let mut cursor = txn.cursor(walked)?;
    let walk = |cursor: &mut WriteCursor, txn: &mut WriteTxn<'_>, what: fn(&mut WriteTxn<'_>, TableId)| {
        (0..4).try_for_each(|_| cursor.next(txn).map(drop))?;
        assert!(cursor.held.get(txn.work(), walked).is_some());
        what(txn, walked);
        Ok::<_, Error>(cursor.held.get(txn.work(), walked).is_some())
    };
    assert!(walk(&mut cursor, &mut txn, |_, _| ())?);
    assert!(!walk(&mut cursor, &mut txn, |txn, table| txn.put(table, [200], "new").unwrap())?);
    assert!(!walk(&mut cursor, &mut txn, |txn, table| {
        // As long as before: it is written where the old one stands, and no position is lost.
        let mut second = txn.cursor(table).unwrap();
        second.seek(txn, [50]).unwrap();
        second.replace(txn, "behind").unwrap();
    })?);
    txn.put(other, "key", "value")?;
    assert!(walk(&mut cursor, &mut txn, |_, _| ())?);
    txn.put(other, "key", "value")?;
    assert!(cursor.held.get(txn.work(), walked).is_some());
    Ok(())
}

#[test]
fn what_could_not_be_stored_leaves_a_walk_where_it_was() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    let mut txn = db.begin_write()?;
    let id = txn.table("table")?.id();
    for key in 0..100_u8 {
        txn.put(id, [key], "there")?;
    }
    let mut cursor = txn.cursor(id)?;
    for _ in 0..5 {
        cursor.next(&txn)?;
    }
    assert_eq!(cursor.table_mut(&mut txn)?.insert([50], "new")?, Put::Exists);
    assert_eq!(cursor.next(&txn)?.unwrap().0, [5]);
    assert!(matches!(cursor.table_mut(&mut txn)?.append([60], "new"), Err(Error::AppendOrder)));
    assert_eq!(cursor.next(&txn)?.unwrap().0, [6]);
    Ok(())
}

#[test]
fn a_bookmark_is_found_again_when_a_nested_transaction_has_come_to_nothing() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    let mut txn = db.begin_write()?;
    let plain = txn.table("plain")?.id();
    let options = TableOptions::new().duplicates(Duplicates::sorted());
    let several = txn.table_with("several", &options)?.id();
    for key in 0..10_u8 {
        txn.put(plain, [key], "value")?;
        (0..5_u8).try_for_each(|value| txn.put(several, [key], [value]))?;
    }
    let (mut first, mut second, mut nowhere) = (txn.cursor(plain)?, txn.cursor(several)?, txn.cursor(plain)?);
    first.seek(&txn, [4])?;
    first.delete(&mut txn)?;
    second.seek_pair(&txn, [4], [2])?;
    let bookmarks = [first.bookmark(&txn), second.bookmark(&txn), nowhere.bookmark(&txn)];
    txn.begin_nested()?;
    [&mut first, &mut second, &mut nowhere].into_iter().try_for_each(|cursor| cursor.last(&txn).map(drop))?;
    txn.table_by_id(several)?.clear()?;
    txn.abort_nested()?;
    first.go_back(&bookmarks[0]);
    second = WriteCursor::at(&bookmarks[1]);
    nowhere.go_back(&bookmarks[2]);
    assert_eq!(first.next(&txn)?.unwrap().0, [5], "it stands in the gap where 4 was");
    assert_eq!(second.current(&txn)?.unwrap(), (&[4][..], &[2][..]));
    assert_eq!(second.next(&txn)?.unwrap(), (&[4][..], &[3][..]));
    assert_eq!(nowhere.next(&txn)?.unwrap().0, [0], "it stands nowhere");
    Ok(())
}

#[test]
fn a_walk_in_what_was_committed_copies_no_entry_until_its_place_is_needed() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    let options = TableOptions::new().duplicates(Duplicates::sorted().fixed_size());
    let mut txn = db.begin_write()?;
    let several = txn.table_with("several", &options)?.id();
    for key in 0..100_u8 {
        txn.put(several, [key], [key, 1])?;
        txn.put(several, [key], [key, 2])?;
    }
    txn.commit()?;

    /// What is changed, and the value that comes next then.
    type Change = (fn(TableMut<'_>) -> Result<()>, [u8; 2]);
    let changes: [Change; 5] = [
        (|_| Ok(()), [20, 2]),
        (|mut table| table.delete_duplicate([20], [20, 1]).map(drop), [20, 2]),
        (|mut table| table.delete([20]).map(drop), [21, 1]),
        (|mut table| (0..90).try_for_each(|key| table.delete([key]).map(drop)), [90, 1]),
        (|mut table| table.clear().and_then(|_| table.put([30], [30, 9])), [30, 9]),
    ];
    for (change, next) in changes {
        let mut txn = db.begin_write()?;
        let several = txn.table_with("several", &options)?.id();
        let mut cursor = txn.cursor(several)?;
        for _ in 0..41 {
            cursor.next(&txn)?;
        }
        assert!(cursor.anchor.is_in_leaf());
        assert!(cursor.may_be_on(&txn, [20].as_slice(), Some(&[20, 1]))?);
        assert!(!cursor.may_be_on(&txn, [20].as_slice(), Some(&[20, 2]))?);
        let (mut copy, mut marked) = (cursor.clone(), cursor.clone());
        let mut found_again = WriteCursor::at(&marked.bookmark(&txn));
        change(txn.table_by_id(several)?)?;
        for cursor in [&mut cursor, &mut copy, &mut marked, &mut found_again] {
            assert_eq!(cursor.next(&txn)?.unwrap(), (&next[..1], &next[..]));
        }
    }
    Ok(())
}

#[test]
fn a_walk_in_pages_of_its_own_transaction_remembers_its_place() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    let mut txn = db.begin_write()?;
    let id = txn.table("table")?.id();
    for key in 0..100_u8 {
        txn.put(id, [key], "value")?;
    }
    let mut cursor = txn.cursor(id)?;
    for _ in 0..5 {
        cursor.next(&txn)?;
    }
    assert!(!cursor.anchor.is_in_leaf());
    txn.table_by_id(id)?.delete([4])?;
    assert_eq!(cursor.next(&txn)?.unwrap().0, [5]);
    Ok(())
}

/// A key, and a value that does not always lie in the leaf.
fn numbered(number: u32) -> ([u8; 4], Vec<u8>) {
    let long = number.is_multiple_of(50);
    (number.to_be_bytes(), vec![b'v'; if long { 5_000 } else { 10 }])
}

#[test]
fn a_search_from_where_the_last_one_ended_finds_what_any_search_finds() -> Result<()> {
    const KEYS: u32 = 3_000;
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    let mut txn = db.begin_write()?;
    let mut table = txn.table("even numbers")?;
    for number in (0..KEYS).step_by(2) {
        let (key, value) = numbered(number);
        table.put(key, value)?;
    }
    txn.commit()?;
    let snapshot = db.read()?;
    let table = snapshot.table("even numbers")?;
    let mut kept = table.cursor();
    let mut stayed = 0;
    let mut look = |number: u32, or_after: bool| {
        let key = number.to_be_bytes();
        let mut other = table.cursor();
        stayed += usize::from(kept.stays && kept.near.is_some());
        let seek =
            |cursor: &mut Cursor<'_>| if or_after { cursor.seek_at_or_after(key) } else { cursor.seek(key) }.map(drop);
        seek(&mut kept)?;
        seek(&mut other)?;
        assert_eq!(kept.current()?, other.current()?, "{number} {or_after}");
        if number.is_multiple_of(3) {
            assert_eq!(kept.next()?, other.next()?, "behind {number} {or_after}");
            assert_eq!(kept.prev()?, other.prev()?, "before {number} {or_after}");
        }
        Ok::<_, Error>(())
    };
    for or_after in [false, true] {
        (0..KEYS + 4).try_for_each(|number| look(number, or_after))?;
        (0..KEYS + 4).rev().step_by(2).try_for_each(|number| look(number, or_after))?;
        (0..KEYS).try_for_each(|i| look(i.wrapping_mul(2_654_435_761) % KEYS, or_after))?;
    }
    assert!(stayed > 2_000, "of some 16,000 searches {stayed} began in the leaf of the one before");
    Ok(())
}

#[test]
fn the_values_of_a_key_are_walked_from_leaf_to_leaf() -> Result<()> {
    const VALUES: u64 = 3_000;
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    for (name, kind) in [("fixed", Duplicates::sorted().fixed_size()), ("of any size", Duplicates::sorted())] {
        let mut txn = db.begin_write()?;
        let id = txn.open_table(name, Some(&TableOptions::new().duplicates(kind)))?;
        for i in 0..3 * VALUES {
            txn.put(id, [u8::try_from(i / VALUES).unwrap()], (i % VALUES).to_be_bytes())?;
        }
        let entry = |i: u64| Some((vec![u8::try_from(i / VALUES).unwrap()], (i % VALUES).to_be_bytes().to_vec()));
        let owned = |pair: Option<Pair<'_>>| pair.map(|(key, value)| (key.to_vec(), value.to_vec()));
        let mut cursor = txn.cursor(id)?;
        for i in 0..3 * VALUES {
            assert_eq!(owned(cursor.next(&txn)?), entry(i));
        }
        assert_eq!(cursor.next(&txn)?, None);
        for i in (0..3 * VALUES - 1).rev() {
            assert_eq!(owned(cursor.prev(&txn)?), entry(i));
        }
        assert_eq!(cursor.prev(&txn)?, None);
        txn.commit()?;

        let snapshot = db.read()?;
        let table = snapshot.find_table(name, None)?.unwrap();
        let mut cursor = table.cursor();
        for i in 0..3 * VALUES {
            if i % VALUES == 0 {
                assert_eq!(cursor.next_duplicate()?, None);
                assert_eq!(owned(cursor.next_key()?), entry(i));
            } else {
                assert_eq!(owned(cursor.next_duplicate()?), entry(i));
            }
            assert_eq!(owned(cursor.current()?), entry(i));
        }
        assert_eq!(cursor.next()?, None);
        for i in (0..3 * VALUES - 1).rev() {
            assert_eq!(owned(cursor.prev()?), entry(i));
        }
        assert_eq!((cursor.prev()?, cursor.count()?), (None, VALUES));
    }
    Ok(())
}

#[test]
fn a_value_that_the_table_cannot_hold_replaces_none() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    let mut txn = db.begin_write()?;
    let fixed = TableOptions::new().duplicates(Duplicates::sorted().fixed_size());
    let id = txn.open_table("fixed", Some(&fixed))?;
    for (key, value) in [("one", "1234"), ("several", "1234"), ("several", "5678")] {
        txn.put(id, key, value)?;
    }
    let mut cursor = txn.cursor(id)?;
    for key in ["one", "several"] {
        cursor.seek(&txn, key)?;
        assert!(matches!(cursor.replace(&mut txn, "12"), Err(Error::ValueLength { bytes: 2, min: 4, max: 4 })));
        assert_eq!(cursor.current(&txn)?, Some((key.as_bytes(), &b"1234"[..])));
    }
    assert_eq!(txn.view(id)?.stats().entries, 3);
    Ok(())
}

#[test]
fn steps_to_what_is_at_hand_and_beyond_it_are_those_of_any_walk() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    // Two entries to a leaf or many, values beside them, and branches enough that some leaves' parents have another parent.
    let bytes_of = |i: u32| [8, 900, 1900, 5000][(i / 50 % 4) as usize];
    let entries: Vec<_> = (0..6000_u32).map(|i| (i.to_be_bytes(), vec![i.to_be_bytes()[3]; bytes_of(i)])).collect();
    db.update(|txn| {
        let mut table = txn.table("table")?;
        entries.iter().try_for_each(|(key, value)| table.put([&key[..], &[b'k'; 60]].concat(), value).map(drop))
    })?;
    let snapshot = db.read()?;
    let table = snapshot.table("table")?;
    assert!(table.stats().depth > 2);
    let mut cursor = table.cursor();
    let mut at = entries.len() / 2;
    cursor.seek_at_or_after(entries[at].0)?;
    // So many steps one way, then some the other: over all of the table, and beyond both of its ends.
    for (steps, forwards) in
        [(10, true), (25, false), (4000, true), (3, true), (7000, false), (30, true), (60, false), (7000, true)]
    {
        for _ in 0..steps {
            let at_hand = if forwards { cursor.next_at_hand() } else { cursor.prev_at_hand() };
            let found = match at_hand {
                Some(pair) => Some(pair),
                None if forwards => cursor.next_beyond()?,
                None => cursor.prev_beyond()?,
            };
            let to = if forwards { Some(at + 1).filter(|to| *to < entries.len()) } else { at.checked_sub(1) };
            let expected = to.map(|to| (&entries[to].0[..], &entries[to].1[..]));
            assert_eq!(found.map(|(key, value)| (&key[..4], value)), expected);
            at = to.unwrap_or(at);
        }
    }
    Ok(())
}

#[test]
fn a_writers_walk_sees_what_others_change_before_it() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    db.update(|txn| (0..200_u8).try_for_each(|key| txn.table("table")?.put([key], "old value")))?;
    let mut txn = db.begin_write()?;
    let id = txn.table("table")?.id();
    let mut cursor = txn.cursor(id)?;
    cursor.seek_at_or_after(&txn, [0])?;
    for key in 1..200_u8 {
        // In each third place somebody else changes what comes next, which then is of this transaction's own pages.
        if key % 3 == 0 {
            txn.put(id, [key], [key; 9])?;
        }
        let value = if key % 3 == 0 { vec![key; 9] } else { b"old value".to_vec() };
        let expected = Some((&[key][..], &value[..]));
        assert_eq!(cursor.next_key(&txn)?, expected);
        assert_eq!(cursor.current(&txn)?, expected);
    }
    assert_eq!(cursor.next_key(&txn)?, None);
    assert_eq!(cursor.prev_key(&txn)?.map(|pair| pair.0[0]), Some(198));
    Ok(())
}

#[test]
fn who_has_searched_for_a_key_has_its_values_at_hand() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    let mut txn = db.begin_write()?;
    let several = txn.table_with("several", &TableOptions::new().duplicates(Duplicates::sorted()))?.id();
    // One value, a few in the cell, and a tree of them.
    for (key, values) in [(1_u8, 1_u32), (2, 20), (3, 5000)] {
        (0..values).try_for_each(|value| txn.put(several, [key], value.to_be_bytes()))?;
    }
    let first = 0_u32.to_be_bytes();
    for (key, values) in [(1_u8, 1_u64), (2, 20), (3, 5000)] {
        let mut writer = txn.cursor(several)?;
        assert_eq!(writer.seek(&txn, [key])?, Some((&[key][..], &first[..])));
        assert!(writer.held.get(txn.work(), several).is_some());
        assert_eq!(writer.count(&txn)?, values);
        assert_eq!(writer.next_duplicate(&txn)?.is_some(), values > 1);
    }
    txn.commit()?;
    let snapshot = db.read()?;
    let mut reader = snapshot.table("several")?.cursor();
    for (key, values) in [(1_u8, 1_u64), (2, 20), (3, 5000)] {
        assert_eq!(reader.seek([key])?, Some((&[key][..], &first[..])));
        assert!(reader.near.is_some());
        assert_eq!((reader.count()?, reader.next_duplicate_at_hand().is_some()), (values, values > 1));
    }
    assert_eq!(reader.first()?.map(|pair| pair.0), Some(&[1][..]));
    assert_eq!(reader.last()?.map(|pair| pair.1), Some(&4999_u32.to_be_bytes()[..]));
    assert!(reader.near.is_some());
    Ok(())
}

/// An entry, copied.
type Entry = (Vec<u8>, Vec<u8>);

#[test]
fn steps_among_values_are_the_same_at_hand_or_not_for_readers_and_writers() -> Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("test.dm"))?;
    let options = TableOptions::new().duplicates(Duplicates::sorted());
    // Keys with one value, with a few, and now and then with a tree of them.
    let values_of = |key: u32| [1, 1, 1, 4, 1, 30, 1, 2000][(key % 8) as usize];
    let entries: Vec<Entry> = (0..600_u32)
        .flat_map(|key| (0..values_of(key)).map(move |value: u32| (key, value)))
        .map(|(key, value)| (key.to_be_bytes().to_vec(), value.to_be_bytes().to_vec()))
        .collect();
    db.update(|txn| {
        let table = txn.table_with("several", &options)?.id();
        entries.iter().try_for_each(|(key, value)| txn.put(table, key, value))
    })?;
    let ends: Vec<Entry> = [true, false]
        .into_iter()
        .flat_map(|first| {
            let is_end = move |pair: &&[Entry]| pair[0].0 != pair[1].0;
            let of = move |pair: &[Entry]| if first { pair[1].clone() } else { pair[0].clone() };
            entries.windows(2).filter(is_end).map(of).collect::<Vec<_>>()
        })
        .collect();
    let (firsts, lasts) = ends.split_at(599);
    let copied = |pair: Pair<'_>| (pair.0.to_vec(), pair.1.to_vec());
    let (snapshot, mut txn) = (db.read()?, db.begin_write()?);
    let mut reader = snapshot.table("several")?.cursor();
    let id = txn.table("several")?.id();
    let mut writer = txn.cursor(id)?;
    let mut at_hand = 0;
    macro_rules! walk {
        ($from:ident, $near:ident, $step:ident) => {{
            let mut found: Vec<Entry> = reader.$from()?.map(copied).into_iter().collect();
            loop {
                let near = reader.$near();
                at_hand += usize::from(near.is_some());
                let Some(entry) = (if near.is_some() { near } else { reader.$step()? }) else { break };
                found.push(copied(entry));
            }
            let mut by_writer: Vec<Entry> = writer.$from(&txn)?.map(copied).into_iter().collect();
            while let Some(entry) = writer.$step(&txn)? {
                by_writer.push(copied(entry));
            }
            assert!(found == by_writer);
            found
        }};
    }
    assert_eq!(walk!(first, next_at_hand, next), entries);
    assert_eq!(walk!(last, prev_at_hand, prev), entries.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(walk!(first, next_key_at_hand, next_key)[1..], *firsts);
    assert_eq!(walk!(last, prev_key_at_hand, prev_key)[1..], lasts.iter().rev().cloned().collect::<Vec<_>>());
    assert!(at_hand > 2 * entries.len() * 9 / 10, "{at_hand} of {} steps were at hand", 2 * entries.len());
    Ok(())
}
