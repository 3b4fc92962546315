//! `duramen ls`: the tables of a database.

use std::path::PathBuf;

use duramen::{Snapshot, TableStats};
use serde::{Serialize, Serializer};
use serde_json::Map;

use crate::bytes::{Form, Meaning, add_json, write_field};
use crate::columns::Columns;
use crate::failure::Result;
use crate::open::{self, Records};
use crate::output::Output;
use crate::{shape, units};

const ABOUT: &str = "\
List the tables. The size is that of a table's own pages; those of the trees in which keys with very many values keep them are \
left out (`duramen stat --full` counts them).

Of names, control characters, backslashes and what is not UTF-8 are printed as a backslash and two hexadecimal digits. \
With --json they are as they are, under \"name\"; what is not UTF-8 comes in hexadecimal as \"name_hex\".";

const EXAMPLES: &str = "\
Examples:
  duramen ls people.dm
  duramen ls people.dm --json | jq -r '.[].name'";

/// Arguments of `duramen ls`.
#[derive(clap::Args)]
#[command(about = "List the tables", long_about = ABOUT, after_help = EXAMPLES)]
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
    /// Its name.
    #[serde(flatten)]
    pub name: Name,
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

/// The name of a table. As JSON it is `name`, or (what is no text) the digits under `name_hex`.
pub struct Name(Vec<u8>);

impl Name {
    /// As people see it, on one line.
    pub fn shown(&self) -> String {
        if self.0.is_empty() {
            return "(main)".to_string();
        }
        let mut text = Vec::new();
        // Writing into memory does not fail.
        let _ = write_field(&mut text, &self.0, Form::Text, Meaning::Bytes);
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = Map::new();
        add_json(&mut object, "name", &self.0, Form::Text, Meaning::Bytes);
        object.serialize(serializer)
    }
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
    let pages = stats.branch_pages + stats.leaf_pages + stats.overflow_pages;
    Row {
        name: Name(name.to_vec()),
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

fn write_rows(out: &mut Output, rows: &[Row]) -> Result<()> {
    let mut table = Columns::new(&["table", ">entries", ">size", "keys", "duplicates"]);
    for row in rows {
        let duplicates = row.duplicates.clone().unwrap_or_else(|| "-".to_string());
        table.row([row.name.shown(), units::count(row.entries), units::size(row.bytes), row.keys.clone(), duplicates]);
    }
    Ok(table.write(out)?)
}
