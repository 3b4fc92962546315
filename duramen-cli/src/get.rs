//! `duramen get`: the value of a key, or its values.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::bytes::{self, Form, FormArgs};
use crate::failure::{Failure, Result};
use crate::open::{self, Records};
use crate::output::Output;
use crate::shape;

const ABOUT: &str = "\
Print the value (or values) of a key.

Keys are text, taken as they are; in a table of integers they are numbers. With --hex they are hexadecimal. \
A value is printed with a line break after it; --output raw prints its bytes and nothing else. Of a key with \
several values all are printed, a line each. The exit code is 1 if the key is not there.";

const EXAMPLES: &str = "\
Examples:
  duramen get people.dm people bjensen
  duramen get people.dm photos bjensen --output raw > bjensen.jpeg
  duramen get people.dm by-number 42
  duramen get people.dm people --hex 626a --json";

/// Arguments of `duramen get`.
#[derive(clap::Args)]
#[command(about = "Print the value (or values) of a key", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// The database
    file: PathBuf,
    /// The table
    table: OsString,
    /// The key
    key: OsString,
    #[command(flatten)]
    form: FormArgs,
    /// Print a JSON object for each value
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

/// Runs `duramen get`.
pub fn run(args: &Args) -> Result<()> {
    let db = open::to_read(&args.file)?;
    let snapshot = db.read()?;
    let name = args.table.as_bytes();
    let table = open::table(&snapshot, name)?;
    let key = bytes::parse(&args.key, args.form.hex, shape::key_meaning(&table)?)?;
    let (form, meaning) = (args.form.form(), shape::value_meaning(&table));
    let mut out = Output::stdout();
    let mut found = false;
    if !Records::of(&snapshot, name)?.hide(&key) {
        for item in table.values_of(&key)? {
            let (_, value) = item?;
            found = true;
            if args.json {
                let mut object = Map::new();
                bytes::add_json(&mut object, "value", value, form, meaning);
                out.json_line(&Value::from(object))?;
                continue;
            }
            bytes::write_value(&mut out, value, form, meaning)?;
            if form != Form::Raw {
                out.write_all(b"\n")?;
            }
        }
    }
    out.finish()?;
    if found { Ok(()) } else { Err(Failure::No(format!("there is no key {}", args.key.display()))) }
}
