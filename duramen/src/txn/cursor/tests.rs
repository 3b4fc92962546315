use super::*;
use crate::Database;
use crate::{Put, TableId};

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
