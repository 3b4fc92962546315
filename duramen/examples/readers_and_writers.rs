//! Threads that read while another writes, relaxed commits, and who reads what.
//!
//! ```text
//! cargo run --example readers_and_writers
//! ```

use std::error::Error;
use std::thread;

use duramen::{Database, Durability};

const ACCOUNTS: u64 = 100;

/// The example; `tests/examples.rs` runs it too.
pub fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    // Relaxed commits do not wait for the disk. A power cut may take the newest ones, back to the last checkpoint.
    let db = Database::options().durability(Durability::Relaxed).open(dir.path().join("bank.dm"))?;
    db.update(|txn| {
        let mut accounts = txn.table("accounts")?;
        (0..ACCOUNTS).try_for_each(|account| accounts.append(account.to_be_bytes(), 1000u64.to_be_bytes()))
    })?;

    // Every snapshot is whole, however many transfers are made meanwhile.
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| (0..200).try_for_each(|_| total(&db).map(|total| assert_eq!(total, 1000 * ACCOUNTS))))
            })
            .collect();
        for i in 0..500 {
            transfer(&db, i % ACCOUNTS, i * 7 % ACCOUNTS, 10)?;
        }
        readers.into_iter().try_for_each(|reader| reader.join().expect("a reader that does not panic"))
    })?;

    // A snapshot holds the pages that it can see, and no others. It may move to another thread.
    let old = db.read_owned()?;
    for i in 0..50 {
        transfer(&db, i, i + 1, 5)?;
    }
    for reader in db.readers()? {
        println!("process {} reads commit {}, which holds {} pages", reader.pid, reader.txnid, reader.pages_held);
    }
    thread::spawn(move || old.table("accounts").map(|accounts| accounts.len())).join().expect("no panic")?;
    assert!(db.readers()?.is_empty());

    // Now everything is on disk.
    db.checkpoint()?;
    let stats = db.stats()?;
    assert_eq!(stats.durable_txnid, stats.txnid);
    Ok(())
}

fn transfer(db: &Database, from: u64, to: u64, amount: u64) -> duramen::Result<()> {
    db.update(|txn| {
        let mut accounts = txn.table("accounts")?;
        let left = number(accounts.get(from.to_be_bytes())?) - amount;
        accounts.put(from.to_be_bytes(), left.to_be_bytes())?;
        let right = number(accounts.get(to.to_be_bytes())?) + amount;
        accounts.put(to.to_be_bytes(), right.to_be_bytes())
    })
}

fn total(db: &Database) -> duramen::Result<u64> {
    let snapshot = db.read()?;
    snapshot.table("accounts")?.iter().map(|item| item.map(|(_, amount)| number(Some(amount)))).sum()
}

fn number(bytes: Option<&[u8]>) -> u64 {
    u64::from_be_bytes(bytes.and_then(|bytes| bytes.try_into().ok()).expect("eight bytes"))
}
