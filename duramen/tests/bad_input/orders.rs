//! Comparison functions that are no order: entries of their tables may be lost, but nothing hangs, nothing else is damaged, and
//! such a table can be dropped.

use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as Atomic};

use duramen::{BulkOptions, Database, Duplicates, Edit, Order, Result, TableOptions, WriteTxn};

use crate::{assert_clean, scratch};

/// Numbers that look random.
#[derive(Clone)]
struct Numbers(Arc<AtomicU64>);

impl Numbers {
    fn below(&self, limit: u64) -> u64 {
        let n = self.0.fetch_add(0x9E37_79B9_7F4A_7C15, Atomic::Relaxed);
        let n = (n ^ (n >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (n ^ (n >> 32)) % limit
    }
}

/// What such a function may answer: anything; now and then a wrong answer, or that all is one; always the same.
fn disorder(kind: u64, numbers: Numbers) -> impl Fn(&[u8], &[u8]) -> Ordering + Send + Sync + Clone {
    let any = [Ordering::Less, Ordering::Equal, Ordering::Greater];
    move |a: &[u8], b: &[u8]| match kind {
        0..3 => any[kind as usize],
        3 => any[numbers.below(3) as usize],
        4 if numbers.below(50) == 0 => b.cmp(a),
        5 if numbers.below(200) == 0 => Ordering::Equal,
        _ => a.cmp(b),
    }
}

/// Of every operation it is of no account here what it answers.
fn do_anything(txn: &mut WriteTxn<'_>, options: &TableOptions, numbers: &Numbers) -> Result<()> {
    let id = txn.open_table("t", Some(options))?;
    let mut cursor = txn.cursor(id)?;
    for _ in 0..400 {
        let key = (numbers.below(300) as u32).to_be_bytes();
        let value = vec![7; [1, 9, 60, 300][numbers.below(4) as usize]];
        let mut table = txn.table_by_id(id)?;
        match numbers.below(14) {
            0..5 => drop(table.put(key, &value)),
            5 => drop((table.delete(key), table.delete_duplicate(key, &value))),
            6 => drop(table.delete_range(key..[1, 1, 1, 1])),
            7 => drop(table.iter().take(5000).find(Result::is_err)),
            8 => drop(table.range(key..)?.rev().take(5000).find(Result::is_err)),
            9 => drop((table.view().get_many(&[key, key])?.len(), table.edit(key, |_| Edit::Put(value.into())))),
            10 => drop((table.pop_first(), table.pop_last())),
            11 => drop((cursor.seek(txn, key), cursor.next(txn), cursor.prev(txn), cursor.count(txn))),
            12 => drop((cursor.put(txn, key, &value), cursor.next_key(txn))),
            _ => drop((cursor.replace(txn, &value), cursor.delete(txn))),
        }
    }
    Ok(())
}

/// A sort may find out, and panics then.
fn load(db: &Database, options: &TableOptions) {
    let loaded = catch_unwind(AssertUnwindSafe(|| {
        let mut load = db.bulk_load("loaded", BulkOptions::new().table(options.clone()))?;
        for n in 0..2000_u32 {
            load.push(n.wrapping_mul(0x9E37_79B9).to_be_bytes(), n.to_be_bytes())?;
        }
        load.finish()
    }));
    drop(loaded);
}

#[test]
fn a_function_that_is_no_order_damages_nothing_else() -> Result<()> {
    for seed in 0..30 {
        let (_dir, path) = scratch();
        let db = Database::options().durability(duramen::Durability::Relaxed).open(path)?;
        db.update(|txn| txn.table("other")?.put("key", "value"))?;
        let numbers = Numbers(Arc::new(AtomicU64::new(seed)));
        let function = disorder(seed % 6, numbers.clone());
        let mut options = TableOptions::new();
        if seed / 6 % 3 != 1 {
            options = options.order(Order::Custom(Arc::new(function.clone())));
        }
        if seed / 6 % 3 != 0 {
            options = options.duplicates(Duplicates::compared(Arc::new(function)));
        }
        for _ in 0..4 {
            let mut txn = db.begin_write()?;
            // What it could not do half-way makes the transaction fail.
            drop(do_anything(&mut txn, &options, &numbers).and_then(|()| txn.commit()));
        }
        load(&db, &options);
        db.update(|txn| Ok((txn.drop_table("t")?, txn.drop_table("loaded")?)))?;
        assert_clean(&db);
        assert_eq!(db.read()?.table("other")?.get("key")?, Some(&b"value"[..]), "seed {seed}");
    }
    Ok(())
}
