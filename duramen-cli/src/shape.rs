//! What kind of table one is: as options of the command line, in words, and what its bytes mean.

use clap::ValueEnum;
use duramen::{Duplicates, Order, Table, TableOptions, TableStats};

use crate::bytes::Meaning;
use crate::failure::{Failure, Result};

/// Orders that can be asked for.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sorting {
    /// Byte by byte
    Bytes,
    /// Byte by byte from the end
    Reversed,
    /// As unsigned integers of 4 or 8 bytes
    Integers,
}

/// What a table that is created will be like.
#[derive(clap::Args)]
#[command(next_help_heading = "If the table is created")]
pub struct ShapeArgs {
    /// How its keys sort
    #[arg(long, value_enum, value_name = "ORDER")]
    order: Option<Sorting>,
    /// Let a key have several values, sorted so
    #[arg(long, value_enum, value_name = "ORDER")]
    duplicates: Option<Sorting>,
    /// All duplicates have one size (integers always do)
    #[arg(long, requires = "duplicates")]
    fixed_size: bool,
}

impl ShapeArgs {
    /// The table's options; `None` if nothing was asked for, so that an existing table may be of any kind.
    pub fn options(&self) -> Option<TableOptions> {
        if self.order.is_none() && self.duplicates.is_none() {
            return None;
        }
        let options = TableOptions::new().order(match self.order {
            None | Some(Sorting::Bytes) => Order::Bytes,
            Some(Sorting::Reversed) => Order::Reversed,
            Some(Sorting::Integers) => Order::Native,
        });
        Some(match self.duplicates {
            None => options,
            Some(sorting) => {
                let duplicates = match sorting {
                    Sorting::Bytes => Duplicates::sorted(),
                    Sorting::Reversed => Duplicates::reversed(),
                    Sorting::Integers => Duplicates::integers(),
                };
                options.duplicates(if self.fixed_size { duplicates.fixed_size() } else { duplicates })
            }
        })
    }
}

/// The kind of keys in a word.
pub fn keys_of(stats: &TableStats) -> &'static str {
    if stats.order == "native" { "integers" } else { stats.order }
}

/// The kind of duplicates in a few words; `-` without.
pub fn duplicates_of(stats: &TableStats) -> String {
    match stats.duplicates {
        None => "-".to_string(),
        Some("native") => "integers".to_string(),
        Some(order) if stats.fixed_size && stats.item_bytes > 0 => format!("{order}, {} bytes each", stats.item_bytes),
        Some(order) if stats.fixed_size => format!("{order}, one size"),
        Some(order) => order.to_string(),
    }
}

/// What the keys of a table mean. An empty table of integers takes 8 bytes.
pub fn key_meaning(table: &Table<'_>) -> Result<Meaning> {
    if table.stats().order != "native" {
        return Ok(Meaning::Bytes);
    }
    Ok(Meaning::Number(table.first()?.map_or(8, |(key, _)| key.len())))
}

/// What the values of a table mean.
pub fn value_meaning(table: &Table<'_>) -> Meaning {
    let stats = table.stats();
    match (stats.duplicates, stats.item_bytes) {
        (Some("native"), 4) => Meaning::Number(4),
        (Some("native"), _) => Meaning::Number(8),
        _ => Meaning::Bytes,
    }
}

/// Refuses prefixes where they say nothing about neighbours.
pub fn check_prefix(table: &Table<'_>) -> Result<()> {
    if table.stats().order == "bytes" {
        return Ok(());
    }
    Err(Failure::Usage("a prefix selects keys of tables that sort bytewise: here use --from and --to".to_string()))
}
