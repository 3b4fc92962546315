//! Open, write, read, iterate, change, delete.
//!
//! ```text
//! cargo run --example basics
//! ```

use std::error::Error;

/// The example; `tests/examples.rs` runs it too.
pub fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("people.dm");

    // Opening creates what is not there. Nothing is sized or tuned.
    let db = duramen::Database::open(&path)?;

    // One transaction. When `update` has returned, it survives a power cut.
    db.update(|txn| {
        let mut people = txn.table("people")?;
        people.put(b"bjensen", b"Barbara Jensen")
    })?;

    // A snapshot is the database as the newest commit left it, for as long as it lives.
    let snapshot = db.read()?;
    let people = snapshot.table("people")?;
    let name: Option<&[u8]> = people.get(b"bjensen")?;
    assert_eq!(name, Some(&b"Barbara Jensen"[..]));

    // Later commits do not show in it.
    db.update(|txn| {
        let mut people = txn.table("people")?;
        people.put(b"ajones", b"Alice Jones")?;
        people.put(b"ckent", b"Clark Kent")?;
        people.delete(b"bjensen")
    })?;
    assert_eq!((people.len(), snapshot.txnid().0), (1, 1));

    // A newer snapshot shows them. Ranges go from both ends.
    let snapshot = db.read()?;
    let people = snapshot.table("people")?;
    for item in people.range(b"a"..b"d")?.rev() {
        let (key, value) = item?;
        println!("{}: {}", String::from_utf8_lossy(key), String::from_utf8_lossy(value));
    }
    assert_eq!(people.last()?, Some((&b"ckent"[..], &b"Clark Kent"[..])));

    // What is not there is `None`; a table that is not there is an error of its own.
    assert_eq!(people.get(b"nobody")?, None);
    assert!(matches!(snapshot.table("places"), Err(duramen::Error::NoSuchTable { .. })));

    // A closure that fails leaves nothing behind.
    let failed = db.update(|txn| {
        txn.table("people")?.clear()?;
        txn.table("people")?.put(vec![b'k'; 5000], b"")
    });
    println!("{}", failed.unwrap_err());
    assert_eq!(db.read()?.table("people")?.len(), 2);
    Ok(())
}
