//! The shortest way through: what is written is read back, in this process and after opening again.

use duramen::{Database, Result};

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
