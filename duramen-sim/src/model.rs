//! The content that a database ought to have, and a digest by which it is compared.
//!
//! Owns: tables as ordered maps, digests of tables. Must not know: pages, disks, commits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use duramen::{Duplicates, Order, Snapshot, Table, TableOptions};
use xxhash_rust::xxh3::Xxh3;

/// What a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytewise keys, one value each.
    Plain,
    /// Keys sorted from their last byte on.
    Reversed,
    /// Integer keys of 8 bytes.
    Native,
    /// Several sorted values for a key.
    Sorted,
    /// Several values of 16 bytes for a key.
    Fixed,
    /// As plain, but many values take several pages.
    Large,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] = [Kind::Plain, Kind::Reversed, Kind::Native, Kind::Sorted, Kind::Fixed, Kind::Large];

    /// Bytes of a value of a table of fixed-size values.
    pub const FIXED_BYTES: usize = 16;

    /// The options that make such a table.
    pub fn options(self) -> TableOptions {
        let options = TableOptions::new();
        match self {
            Kind::Plain | Kind::Large => options,
            Kind::Reversed => options.order(Order::Reversed),
            Kind::Native => options.order(Order::Native),
            Kind::Sorted => options.duplicates(Duplicates::sorted()),
            Kind::Fixed => options.duplicates(Duplicates::sorted().fixed_size()),
        }
    }

    /// Whether a key may have several values.
    pub fn has_duplicates(self) -> bool {
        matches!(self, Kind::Sorted | Kind::Fixed)
    }

    /// What stands for a key in the model: bytes that sort bytewise as the keys sort in the table. Undoes itself.
    fn turned(self, key: &[u8]) -> Vec<u8> {
        match self {
            Kind::Reversed => key.iter().rev().copied().collect(),
            Kind::Native if cfg!(target_endian = "little") => key.iter().rev().copied().collect(),
            _ => key.to_vec(),
        }
    }
}

/// A table's content.
#[derive(Clone, Debug)]
pub struct TableModel {
    /// What it is.
    pub kind: Kind,
    entries: BTreeMap<Vec<u8>, BTreeSet<Arc<[u8]>>>,
}

impl TableModel {
    /// An empty table.
    pub fn new(kind: Kind) -> TableModel {
        TableModel { kind, entries: BTreeMap::new() }
    }

    /// Stores an entry. False if a table with duplicates had it already.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> bool {
        let values = self.entries.entry(self.kind.turned(key)).or_default();
        if !self.kind.has_duplicates() {
            values.clear();
        }
        values.insert(value.into())
    }

    /// The (first) value of a key.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        Some(self.entries.get(&self.kind.turned(key))?.first()?)
    }

    /// Removes a key; how many entries it had.
    pub fn delete(&mut self, key: &[u8]) -> u64 {
        self.entries.remove(&self.kind.turned(key)).map_or(0, |values| values.len() as u64)
    }

    /// Removes one value of a key. Whether it was there.
    pub fn delete_duplicate(&mut self, key: &[u8], value: &[u8]) -> bool {
        let view = self.kind.turned(key);
        let Some(values) = self.entries.get_mut(&view) else { return false };
        let removed = values.remove(value);
        if values.is_empty() {
            self.entries.remove(&view);
        }
        removed
    }

    /// Removes the keys from `low` to before `high`; how many entries they had.
    pub fn delete_range(&mut self, low: &[u8], high: &[u8]) -> u64 {
        let (low, high) = (self.kind.turned(low), self.kind.turned(high));
        let before = self.len();
        self.entries.retain(|key, _| *key < low || *key >= high);
        before - self.len()
    }

    /// Removes all entries; how many there were.
    pub fn clear(&mut self) -> u64 {
        let entries = self.len();
        self.entries.clear();
        entries
    }

    /// Entries, each duplicate counted.
    pub fn len(&self) -> u64 {
        self.entries.values().map(|values| values.len() as u64).sum()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Any entry, chosen by a number.
    pub fn any(&self, number: usize) -> Option<(Vec<u8>, &[u8])> {
        if self.entries.is_empty() {
            return None;
        }
        let (view, values) = self.entries.iter().nth(number % self.entries.len())?;
        Some((self.kind.turned(view), values.iter().nth(number % values.len())?))
    }

    /// A digest of it.
    pub fn digest(&self) -> u64 {
        let options = self.kind.options();
        let mut hash = Xxh3::new();
        hash.update(format!("{options:?}").as_bytes());
        for (view, values) in &self.entries {
            let key = self.kind.turned(view);
            values.iter().for_each(|value| entry(&mut hash, &key, value));
        }
        hash.digest()
    }
}

fn entry(hash: &mut Xxh3, key: &[u8], value: &[u8]) {
    hash.update(&(key.len() as u32).to_le_bytes());
    hash.update(key);
    hash.update(&(value.len() as u32).to_le_bytes());
    hash.update(value);
}

/// The digest of each table by name: equal if, and only if, the content is.
pub type Digests = BTreeMap<Vec<u8>, u64>;

/// A database's content.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The tables by name.
    pub tables: BTreeMap<Vec<u8>, TableModel>,
}

impl Model {
    /// The digests of all tables.
    pub fn digests(&self) -> Digests {
        self.tables.iter().map(|(name, table)| (name.clone(), table.digest())).collect()
    }
}

/// The digests of all tables of a snapshot, every entry read.
///
/// # Errors
/// What reading met, or a count that is not what was read.
pub fn digests(snapshot: &Snapshot<'_>) -> Result<Digests, String> {
    let names = snapshot.table_names().map_err(|e| format!("the list of tables: {e}"))?;
    let mut digests = Digests::new();
    for name in names {
        let table = snapshot.table(&name).map_err(|e| format!("table {}: {e}", text(&name)))?;
        let digest = table_digest(&table).map_err(|e| format!("table {}: {e}", text(&name)))?;
        digests.insert(name, digest);
    }
    Ok(digests)
}

fn table_digest(table: &Table<'_>) -> Result<u64, String> {
    let mut hash = Xxh3::new();
    hash.update(format!("{:?}", options_of(table)?).as_bytes());
    let mut entries = 0;
    for item in table.iter() {
        let (key, value) = item.map_err(|e| e.to_string())?;
        entry(&mut hash, key, value);
        entries += 1;
    }
    if entries != table.len() {
        return Err(format!("{entries} entries were read, it says {}", table.len()));
    }
    Ok(hash.digest())
}

/// The options that a table was made with, as far as the model uses them.
fn options_of(table: &Table<'_>) -> Result<TableOptions, String> {
    let stats = table.stats();
    let kind = match (stats.order, stats.duplicates, stats.fixed_size) {
        ("bytes", None, _) => Kind::Plain,
        ("reversed", None, _) => Kind::Reversed,
        ("native", None, _) => Kind::Native,
        ("bytes", Some("bytes"), false) => Kind::Sorted,
        ("bytes", Some("bytes"), true) => Kind::Fixed,
        _ => return Err(format!("options that no workload uses: {stats:?}")),
    };
    Ok(kind.options())
}

/// Says in a sentence how two states differ.
pub fn difference(found: &Digests, wanted: &Digests) -> String {
    let mut parts = Vec::new();
    for (name, digest) in wanted {
        match found.get(name) {
            None => parts.push(format!("{} is missing", text(name))),
            Some(found) if found != digest => parts.push(format!("{} differs", text(name))),
            Some(_) => {}
        }
    }
    parts.extend(found.keys().filter(|name| !wanted.contains_key(*name)).map(|n| format!("{} is too much", text(n))));
    if parts.is_empty() { "equal".into() } else { parts.join(", ") }
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
