//! Transactions within a transaction: each order is booked whole or not at all, and all of them are one commit.
//!
//! ```text
//! cargo run --example child_transactions
//! ```

use std::error::Error;

use duramen::{Database, TableId, WriteTxn};

/// The example; `tests/examples.rs` runs it too.
pub fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let db = Database::open(dir.path().join("shop.dm"))?;

    let mut txn = db.begin_write()?;
    // Handles borrow nothing, so that a transaction can work on several tables at once.
    let stock = txn.open_table("stock", None)?;
    let orders = txn.open_table("orders", None)?;
    for (item, pieces) in [("apple", 5), ("pear", 1)] {
        txn.put(stock, item, [pieces])?;
    }

    let booked: Vec<bool> = [("o1", &["apple", "pear"][..]), ("o2", &["apple", "pear"]), ("o3", &["apple"])]
        .into_iter()
        .map(|(order, items)| book(&mut txn, stock, orders, order, items))
        .collect::<Result<_, _>>()?;
    assert_eq!(booked, [true, false, true], "there was one pear");

    // Nobody else has seen anything so far.
    assert!(db.read()?.table("orders").is_err());
    txn.commit()?;

    let snapshot = db.read()?;
    let keys: Vec<_> = snapshot.table("orders")?.keys().collect::<Result<_, _>>()?;
    assert_eq!(keys, [b"o1", b"o3"]);
    // The second order took an apple before it found no pear: that apple is back.
    assert_eq!(snapshot.table("stock")?.get("apple")?, Some(&[3][..]));
    println!("booked {} orders in commit {}", keys.len(), snapshot.txnid());
    Ok(())
}

/// Books an order in a child transaction. Returns whether there was enough of everything.
fn book(txn: &mut WriteTxn<'_>, stock: TableId, orders: TableId, order: &str, items: &[&str]) -> duramen::Result<bool> {
    let mut child = txn.child()?;
    child.put(orders, order, items.join(","))?;
    for item in items {
        match child.get(stock, item)? {
            Some(&[pieces]) if pieces > 0 => child.put(stock, item, [pieces - 1])?,
            // The child is dropped: what it did never was.
            _ => return Ok(false),
        }
    }
    child.commit()?;
    Ok(true)
}
