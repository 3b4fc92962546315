//! Debian's package index as a database: tables by name, with duplicates, and by number.
//!
//! ```text
//! apt-cache dumpavail | cargo run --release --example package_index -- packages.dm
//! ```
//!
//! Reads paragraphs of `Field: value` lines and fills four tables in one transaction:
//!
//! | table | key | values |
//! |---|---|---|
//! | `packages` | name | the whole paragraph |
//! | `by-section` | section | names of its packages, sorted (duplicates) |
//! | `needed-by` | name | names of the packages that depend on it (duplicates) |
//! | `by-size` | installed size in KiB, an integer | names of the packages of that size (duplicates) |

use std::error::Error;
use std::io::{BufRead, stdin};
use std::time::Instant;

use duramen::{Database, Duplicates, Order, TableId, TableOptions, WriteTxn};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: package_index DATABASE < paragraphs")?;
    let begun = Instant::now();
    let db = Database::open(path)?;
    let mut txn = db.begin_write()?;
    let tables = Tables::create(&mut txn)?;
    let mut paragraph = Vec::new();
    while read_paragraph(&mut stdin().lock(), &mut paragraph)? {
        tables.store(&mut txn, &paragraph)?;
    }
    txn.commit()?;
    report(&db, begun)
}

/// The tables, by handles that borrow nothing: a transaction can have them all at hand.
struct Tables {
    packages: TableId,
    by_section: TableId,
    needed_by: TableId,
    by_size: TableId,
}

impl Tables {
    /// Creates them, without what an earlier run left.
    fn create(txn: &mut WriteTxn<'_>) -> duramen::Result<Tables> {
        for name in txn.table_names()? {
            txn.drop_table(name)?;
        }
        let index = TableOptions::new().duplicates(Duplicates::sorted());
        let by_number = index.clone().order(Order::Native);
        Ok(Tables {
            packages: txn.open_table("packages", None)?,
            by_section: txn.open_table("by-section", Some(&index))?,
            needed_by: txn.open_table("needed-by", Some(&index))?,
            by_size: txn.open_table("by-size", Some(&by_number))?,
        })
    }

    /// Stores one paragraph under all its keys.
    fn store(&self, txn: &mut WriteTxn<'_>, paragraph: &[u8]) -> duramen::Result<()> {
        let Some(name) = field(paragraph, b"Package") else {
            return Ok(());
        };
        txn.put(self.packages, name, paragraph)?;
        if let Some(section) = field(paragraph, b"Section") {
            txn.put(self.by_section, section, name)?;
        }
        for needed in [&b"Depends"[..], b"Pre-Depends"].iter().filter_map(|label| field(paragraph, label)) {
            for dependency in dependencies(needed) {
                txn.put(self.needed_by, dependency, name)?;
            }
        }
        let size = field(paragraph, b"Installed-Size").and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        let size: u64 = size.unwrap_or(0);
        txn.put(self.by_size, size.to_ne_bytes(), name)
    }
}

/// Reads lines up to an empty one; false if there is nothing left.
fn read_paragraph(input: &mut impl BufRead, paragraph: &mut Vec<u8>) -> std::io::Result<bool> {
    paragraph.clear();
    loop {
        let line = paragraph.len();
        let read = input.read_until(b'\n', paragraph)?;
        if read == 0 {
            return Ok(!paragraph.is_empty());
        }
        if paragraph[line..] == *b"\n" {
            paragraph.pop();
            if !paragraph.is_empty() {
                return Ok(true);
            }
        }
    }
}

/// The value of a field that stands on one line.
fn field<'p>(paragraph: &'p [u8], label: &[u8]) -> Option<&'p [u8]> {
    let mut lines = paragraph.split(|&byte| byte == b'\n');
    lines.find_map(|line| Some(line.strip_prefix(label)?.strip_prefix(b":")?.trim_ascii()))
}

/// The names in `a (>= 1.0), b | c:any`.
fn dependencies(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let parts = list.split(|byte| matches!(byte, b',' | b'|')).map(<[u8]>::trim_ascii);
    let names = parts.filter_map(|part| part.split(|byte| matches!(byte, b' ' | b'(' | b':')).next());
    names.filter(|name| !name.is_empty())
}

fn report(db: &Database, begun: Instant) -> Result<(), Box<dyn Error>> {
    let snapshot = db.read()?;
    let mut entries = 0;
    for name in snapshot.table_names()? {
        let table = snapshot.table(&name)?;
        println!("{:>10} entries in {}", table.len(), String::from_utf8_lossy(&name));
        entries += table.len();
    }
    println!("{entries:>10} entries in all, in {:.2} s", begun.elapsed().as_secs_f64());
    println!("{:>10} sections", snapshot.table("by-section")?.keys().count());
    if let Some((size, name)) = snapshot.table("by-size")?.last()? {
        let size = u64::from_ne_bytes(size.try_into()?);
        println!("{size:>10} KiB has the largest, {}", String::from_utf8_lossy(name));
    }
    Ok(())
}
