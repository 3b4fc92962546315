//! Small whole databases to start from.
//!
//! Owns: what is in them: every kind of page, cell and tree, in as few pages as will do.

use duramen::{Database, Duplicates, Durability, Order, TableOptions, WriteTxn};

/// The seed files, always the same but for their ids.
pub fn all() -> Vec<Vec<u8>> {
    vec![small(), varied(), deep(), unproven()]
}

/// Makes a database and returns its file, closed or as a process that died left it.
fn made(close: bool, fill: impl FnOnce(&Database) -> duramen::Result<()>) -> Vec<u8> {
    let directory = crate::scratch();
    let path = directory.path().join("seed.dm");
    let db = Database::options().without_lock_file().open(&path).expect("a new database");
    fill(&db).expect("what a seed holds");
    let before = std::fs::read(&path).expect("a seed file");
    db.close().expect("closing a seed");
    if close { std::fs::read(&path).expect("a seed file") } else { before }
}

/// One leaf.
pub fn small() -> Vec<u8> {
    made(true, |db| db.update(|txn| (0..5u8).try_for_each(|i| txn.table("t")?.put([i; 3], vec![i; 20]))))
}

/// A table of every kind, large values, duplicates in leaves and in trees, free and retired pages.
pub fn varied() -> Vec<u8> {
    made(true, |db| {
        db.update(|txn| {
            put(txn, "plain", TableOptions::new(), 30, |i| vec![i as u8; 90])?;
            put(txn, "reversed", TableOptions::new().order(Order::Reversed), 10, |i| vec![i as u8; 9])?;
            let mut native = txn.table_with("native", &TableOptions::new().order(Order::Native))?;
            (0..20u64).try_for_each(|i| native.put((i * 77).to_ne_bytes(), [i as u8; 3]))?;
            put(txn, "large", TableOptions::new(), 3, |i| vec![i as u8; 5000 * i as usize])?;
            let mut sorted = txn.table_with("sorted", &TableOptions::new().duplicates(Duplicates::sorted()))?;
            (0..120u32).try_for_each(|i| sorted.put(b"many", format!("{i:050}")))?;
            (0..10u32).try_for_each(|i| sorted.put([i as u8 % 3], format!("{i:09}")))?;
            let fixed = TableOptions::new().duplicates(Duplicates::integers());
            let mut fixed = txn.table_with("fixed", &fixed)?;
            (0..900u64).try_for_each(|i| fixed.put(b"many", i.to_ne_bytes()))?;
            (0..9u64).try_for_each(|i| fixed.put([i as u8 % 2], i.to_ne_bytes()))
        })?;
        db.update(|txn| {
            txn.table("plain")?.delete_range(&b"entry 05"[..]..&b"entry 20"[..])?;
            txn.table("large")?.delete("entry 01").map(drop)
        })
    })
}

/// A tree of three levels in few pages, by long keys.
pub fn deep() -> Vec<u8> {
    made(true, |db| {
        db.update(|txn| {
            let mut table = txn.table("t")?;
            (0..14u32).try_for_each(|i| table.put(format!("{i:01000}"), [7; 4]))
        })
    })
}

/// A file as a process that was killed left it: its newest commit needs a proof, the one before too.
pub fn unproven() -> Vec<u8> {
    made(false, |db| {
        db.update(|txn| put(txn, "a", TableOptions::new(), 40, |i| vec![i as u8; 100]))?;
        let mut txn = db.begin_write()?;
        txn.set_durability(Durability::Relaxed);
        put(&mut txn, "b", TableOptions::new(), 2, |i| vec![i as u8; 5000])?;
        let sorted = TableOptions::new().duplicates(Duplicates::sorted());
        let mut sorted = txn.table_with("c", &sorted)?;
        (0..100u32).try_for_each(|i| sorted.put(b"many", format!("{i:050}")))?;
        txn.commit()
    })
}

fn put(
    txn: &mut WriteTxn<'_>,
    name: &str,
    options: TableOptions,
    entries: u32,
    value: impl Fn(u32) -> Vec<u8>,
) -> duramen::Result<()> {
    let mut table = txn.table_with(name, &options)?;
    (0..entries).try_for_each(|i| table.put(format!("entry {i:02}"), value(i)))
}
