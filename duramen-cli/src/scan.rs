//! `duramen scan`: the entries of a table, or some of them, in order.

use std::ffi::OsString;
use std::io::Write;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use duramen::Table;
use serde_json::{Map, Value};

use crate::bytes::{self, Form, FormArgs, Meaning};
use crate::failure::Result;
use crate::open::{self, Records};
use crate::output::Output;
use crate::shape;

const ABOUT: &str = "\
Print the entries of a table in order.

Prints an entry a line, the key, a tab, and the value. As text, control characters, backslashes and what is \
not UTF-8 are printed as a backslash and two hexadecimal digits. With --json an object a line, {\"key\": \
..., \"value\": ...}; what is not UTF-8 comes in hexadecimal as \"key_hex\" or \"value_hex\". Nothing found \
is no error.";

const EXAMPLES: &str = "\
Examples:
  duramen scan people.dm people
  duramen scan people.dm people --prefix b --keys
  duramen scan people.dm people --from b --to d --reverse --limit 10
  duramen scan people.dm by-number --from 1000 --json | jq .value";

/// Arguments of `duramen scan`.
#[derive(clap::Args)]
#[command(about = "Print the entries of a table in order", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// The database
    file: PathBuf,
    /// The table
    table: OsString,
    /// Only keys that begin so
    #[arg(long, conflicts_with_all = ["from", "to"])]
    prefix: Option<OsString>,
    /// Begin with this key, or the first one after it
    #[arg(long, value_name = "KEY")]
    from: Option<OsString>,
    /// End before this key
    #[arg(long, value_name = "KEY")]
    to: Option<OsString>,
    /// From the last entry to the first
    #[arg(long, short)]
    reverse: bool,
    /// At most so many lines
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<u64>,
    /// Keys only, each once
    #[arg(long, short)]
    keys: bool,
    #[command(flatten)]
    form: FormArgs,
    /// Print a JSON object for each entry
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

type Entries<'t> = Box<dyn Iterator<Item = duramen::Result<(&'t [u8], &'t [u8])>> + 't>;

/// Runs `duramen scan`.
pub fn run(args: &Args) -> Result<()> {
    let db = open::to_read(&args.file)?;
    let snapshot = db.read()?;
    let name = args.table.as_bytes();
    let is_whole = args.prefix.is_none() && args.from.is_none() && args.to.is_none();
    let table = if is_whole { snapshot.table_to_walk(name)? } else { open::table(&snapshot, name)? };
    let records = Records::of(&snapshot, name)?;
    let printer =
        Printer { form: args.form.form(), key: shape::key_meaning(&table)?, value: shape::value_meaning(&table), args };
    let mut out = Output::stdout();
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut last_key = None;
    for item in entries(&table, args, printer.key)? {
        let (key, value) = item?;
        if records.hide(key) || (args.keys && last_key.replace(key) == Some(key)) {
            continue;
        }
        if left == 0 {
            break;
        }
        left -= 1;
        printer.print(&mut out, key, value)?;
    }
    out.finish()
}

fn entries<'t>(table: &Table<'t>, args: &Args, meaning: Meaning) -> Result<Entries<'t>> {
    let key = |key: &Option<OsString>| key.as_ref().map(|key| bytes::parse(key, args.form.hex, meaning)).transpose();
    let (prefix, from, to) = (key(&args.prefix)?, key(&args.from)?, key(&args.to)?);
    if args.keys && !args.reverse && prefix.is_none() && from.is_none() && to.is_none() {
        return Ok(Box::new(table.keys().map(|key| key.map(|key| (key, &[][..])))));
    }
    let iter = match prefix {
        Some(prefix) => {
            shape::check_prefix(table)?;
            table.prefix(prefix)?
        }
        None => {
            let low = from.map_or(Bound::Unbounded, Bound::Included);
            let high = to.map_or(Bound::Unbounded, Bound::Excluded);
            table.range((low, high))?
        }
    };
    Ok(if args.reverse { Box::new(iter.rev()) } else { Box::new(iter) })
}

/// How entries are printed.
struct Printer<'a> {
    form: Form,
    key: Meaning,
    value: Meaning,
    args: &'a Args,
}

impl Printer<'_> {
    fn print(&self, out: &mut Output, key: &[u8], value: &[u8]) -> Result<()> {
        if self.args.json {
            let mut object = Map::new();
            bytes::add_json(&mut object, "key", key, self.form, self.key);
            if !self.args.keys {
                bytes::add_json(&mut object, "value", value, self.form, self.value);
            }
            return out.json_line(&Value::from(object));
        }
        bytes::write_field(out, key, self.form, self.key)?;
        if !self.args.keys {
            out.write_all(b"\t")?;
            bytes::write_field(out, value, self.form, self.value)?;
        }
        Ok(out.write_all(b"\n")?)
    }
}
