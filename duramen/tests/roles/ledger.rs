//! A database that can tell whether a snapshot of it is whole: it holds the sum of its own entries.
//!
//! Owns: changes that keep the sum right, and the proof of it. Must not know: processes.

use std::hash::{DefaultHasher, Hash, Hasher};

use duramen::{Result, Snapshot, TableId, WriteTxn};

use super::Random;

fn hash(key: &[u8], value: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, value).hash(&mut hasher);
    hasher.finish()
}

/// The sum of all entries of a snapshot, after it was found to be the one that the snapshot says.
pub fn prove(snapshot: &Snapshot<'_>) -> u64 {
    let (Ok(data), Ok(sums)) = (snapshot.table("data"), snapshot.table("sums")) else { return 0 };
    let mut sum = 0u64;
    let mut count = 0;
    for item in data.iter() {
        let (key, value) = item.unwrap();
        sum = sum.wrapping_add(hash(key, value));
        count += 1;
    }
    assert_eq!(count, data.len(), "{snapshot:?}");
    let said = sums.get("sum").unwrap().expect("a sum");
    assert_eq!(said, sum.to_le_bytes(), "{snapshot:?}");
    sum
}

/// How many commits this writer has made, in a snapshot.
pub fn commits_of(snapshot: &Snapshot<'_>, writer: &str) -> u64 {
    let Ok(sums) = snapshot.table("sums") else { return 0 };
    sums.get(writer).unwrap().map_or(0, number)
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

/// Changes random entries, `most` at the most, and keeps the sum. Counts the commit for the writer.
pub fn change(txn: &mut WriteTxn<'_>, random: &mut Random, writer: &str, most: u64) -> Result<u64> {
    let data = txn.open_table("data", None)?;
    let sums = txn.open_table("sums", None)?;
    let mut sum = txn.get(sums, "sum")?.map_or(0, number);
    for _ in 0..random.below(most) + 1 {
        sum = sum.wrapping_add(change_one(txn, data, random)?);
    }
    txn.put(sums, "sum", sum.to_le_bytes())?;
    let count = txn.get(sums, writer)?.map_or(0, number) + 1;
    txn.put(sums, writer, count.to_le_bytes())?;
    Ok(count)
}

/// Changes one entry; by how much the sum changes.
fn change_one(txn: &mut WriteTxn<'_>, data: TableId, random: &mut Random) -> Result<u64> {
    let key = random.below(4000).to_be_bytes();
    let old = txn.get(data, key)?.map_or(0, |value| hash(&key, value));
    if random.below(4) == 0 {
        txn.table_by_id(data)?.delete(key)?;
        return Ok(0u64.wrapping_sub(old));
    }
    // Now and then a value that needs pages of its own.
    let bytes = if random.below(50) == 0 { random.below(20_000) } else { random.below(200) };
    let value = vec![random.next() as u8; bytes as usize];
    txn.put(data, key, &value)?;
    Ok(hash(&key, &value).wrapping_sub(old))
}
