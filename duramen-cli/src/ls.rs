//! `duramen ls`: the tables of a database.

use std::path::PathBuf;

use duramen::{Snapshot, TableStats};
use serde::Serialize;

use crate::bytes::{Form, Meaning, write_field};
use crate::columns::Columns;
use crate::failure::Result;
use crate::open::{self, Records};
use crate::output::Output;
use crate::{shape, units};

const EXAMPLES: &str = "\
Examples:
  duramen ls people.dm
  duramen ls people.dm --json | jq -r '.[].name'";

/// Arguments of `duramen ls`.
#[derive(clap::Args)]
#[command(about = "List the tables", after_help = EXAMPLES)]
pub struct Args {
    /// The database
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A table in numbers.
#[derive(Serialize)]
pub struct Row {
    /// Its name; what is not text in it is escaped.
    pub name: String,
    /// Its entries, each duplicate counted.
    pub entries: u64,
    /// Levels of its tree.
    pub depth: u32,
    /// Branch pages.
    pub branch_pages: u64,
    /// Leaf pages.
    pub leaf_pages: u64,
    /// Overflow pages.
    pub overflow_pages: u64,
    /// What its pages take.
    pub bytes: u64,
    /// How its keys sort.
    pub keys: String,
    /// How its duplicates sort.
    pub duplicates: Option<String>,
    /// Bits of the program's own.
    pub user_bits: u16,
}

/// Runs `duramen ls`.
pub fn run(args: &Args) -> Result<()> {
    let db = open::to_read(&args.file)?;
    let rows = rows(&db.read()?)?;
    let mut out = Output::stdout();
    if args.json {
        out.json(&rows)?;
    } else {
        write_rows(&mut out, &rows)?;
    }
    out.finish()
}

/// All tables, and the main one if it has entries of its own.
pub fn rows(snapshot: &Snapshot<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let main = snapshot.table_to_walk(b"")?.stats();
    let own = main.entries - Records::of(snapshot, b"")?.len().min(main.entries);
    if own > 0 {
        rows.push(Row { entries: own, ..row(b"", &main) });
    }
    for name in snapshot.table_names()? {
        rows.push(row(&name, &snapshot.table_to_walk(&name)?.stats()));
    }
    Ok(rows)
}

fn row(name: &[u8], stats: &TableStats) -> Row {
    let mut text = Vec::new();
    // Writing into memory does not fail.
    let _ = write_field(&mut text, name, Form::Text, Meaning::Bytes);
    let pages = stats.branch_pages + stats.leaf_pages + stats.overflow_pages;
    Row {
        name: String::from_utf8_lossy(&text).into_owned(),
        entries: stats.entries,
        depth: stats.depth,
        branch_pages: stats.branch_pages,
        leaf_pages: stats.leaf_pages,
        overflow_pages: stats.overflow_pages,
        bytes: pages * stats.page_size as u64,
        keys: shape::keys_of(stats).to_string(),
        duplicates: stats.duplicates.map(|_| shape::duplicates_of(stats)),
        user_bits: stats.user_bits,
    }
}

/// The name of a table as people see it.
pub fn shown(name: &str) -> String {
    if name.is_empty() { "(main)".to_string() } else { name.to_string() }
}

fn write_rows(out: &mut Output, rows: &[Row]) -> Result<()> {
    let mut table = Columns::new(&["table", ">entries", ">size", "keys", "duplicates"]);
    for row in rows {
        let duplicates = row.duplicates.clone().unwrap_or_else(|| "-".to_string());
        table.row([shown(&row.name), units::count(row.entries), units::size(row.bytes), row.keys.clone(), duplicates]);
    }
    Ok(table.write(out)?)
}
