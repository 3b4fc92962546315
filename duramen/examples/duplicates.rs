//! Several sorted values for a key: an index, and dense sets of numbers.
//!
//! ```text
//! cargo run --example duplicates
//! ```

use std::error::Error;

use duramen::{Database, Duplicates, Put, TableOptions};

/// The example; `tests/examples.rs` runs it too.
pub fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let db = Database::open(dir.path().join("index.dm"))?;

    // Options belong to the table for good. Opening it with others is an error.
    let index = TableOptions::new().duplicates(Duplicates::sorted());
    db.update(|txn| {
        let mut by_city = txn.table_with("by-city", &index)?;
        for (city, person) in [("Rome", "carla"), ("Oslo", "berit"), ("Rome", "bruno"), ("Rome", "anna")] {
            by_city.put(city, person)?;
        }
        // The same pair twice is one entry.
        assert_eq!(by_city.put_duplicate("Oslo", "berit")?, Put::Exists);
        Ok(())
    })?;

    let snapshot = db.read()?;
    let by_city = snapshot.table("by-city")?;
    let romans: Vec<_> =
        by_city.values_of("Rome")?.map(|item| item.map(|(_, person)| person)).collect::<Result<_, _>>()?;
    assert_eq!(romans, [&b"anna"[..], b"bruno", b"carla"]);
    assert_eq!(by_city.len(), 4, "every pair counts");

    // A cursor goes from value to value, or from key to key.
    let mut cursor = by_city.cursor();
    cursor.seek("Rome")?;
    assert_eq!(cursor.count()?, 3);
    assert_eq!(cursor.last_duplicate()?, Some((&b"Rome"[..], &b"carla"[..])));
    assert_eq!(cursor.prev_key()?, Some((&b"Oslo"[..], &b"berit"[..])));

    // Values of one size are stored side by side, and come a page at a time.
    let numbers = TableOptions::new().duplicates(Duplicates::integers());
    db.update(|txn| {
        let mut visits = txn.table_with("visits", &numbers)?;
        (0..10_000u32).try_for_each(|day| visits.append_duplicate("Rome", day.to_ne_bytes()))
    })?;
    let snapshot = db.read()?;
    let mut cursor = snapshot.table("visits")?.cursor();
    cursor.seek("Rome")?;
    let (mut days, mut pages) = (0, 0);
    let mut page = cursor.multiple()?;
    while let Some((_, values)) = page {
        days += values.len() / size_of::<u32>();
        pages += 1;
        page = cursor.next_multiple()?;
    }
    println!("{days} numbers in {pages} pieces");
    assert_eq!(days, 10_000);
    Ok(())
}
