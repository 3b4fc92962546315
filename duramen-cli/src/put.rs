//! `duramen put`: one entry.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use duramen::{Database, Put};

use crate::bytes::{self, Meaning};
use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::open::WaitArgs;
use crate::shape::{self, ShapeArgs};
use crate::target::{self, Target};

const ABOUT: &str = "\
Store an entry.

Stores the value over the one that the key has, or beside its others in a table with duplicates. When the \
command returns, the entry survives a power cut. A file or table that is not there is created.";

const EXAMPLES: &str = "\
Examples:
  duramen put people.dm people bjensen 'Barbara Jensen'
  duramen put people.dm photos bjensen < bjensen.jpeg
  duramen put people.dm people bjensen Babs --no-overwrite || echo there already
  duramen put people.dm by-town Oslo bjensen --duplicates bytes
  duramen put people.dm people --hex 626a 00ff";

/// Arguments of `duramen put`.
#[derive(clap::Args)]
#[command(about = "Store an entry", long_about = ABOUT, after_help = EXAMPLES)]
pub struct Args {
    /// The database
    file: PathBuf,
    /// The table
    table: OsString,
    /// The key
    key: OsString,
    /// The value; from standard input if it is `-` or missing
    value: Option<OsString>,
    /// Key and value are hexadecimal
    #[arg(long)]
    hex: bool,
    /// Store nothing if the key is there already; the exit code is 1 then
    #[arg(long)]
    no_overwrite: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    shape: ShapeArgs,
}

/// Runs `duramen put`.
pub fn run(args: &Args) -> Result<()> {
    let value = Value::read(args)?;
    if !target::is_there(&args.file) {
        // Nothing is left of a new one.
        interrupt::listen("nothing was stored")?;
    }
    let target = Target::open(&args.file, Database::options(), args.wait)?;
    let mut txn = target.begin(args.wait)?;
    let (name, options) = (args.table.as_bytes(), args.shape.options());
    let id = match (name, &options) {
        (b"", None) => txn.main_table(),
        (b"", Some(options)) => {
            txn.set_main_options(options)?;
            txn.main_table()
        }
        (name, options) => txn.open_table(name, options.as_ref())?,
    };
    let mut table = txn.table_by_id(id)?;
    let view = table.view();
    let key = bytes::parse(&args.key, args.hex, shape::key_meaning(&view)?)?;
    let value = value.bytes(args.hex, shape::value_meaning(&view))?;
    if !args.no_overwrite {
        table.put(&key, &value)?;
    } else if table.insert(&key, &value)? == Put::Exists {
        return Err(Failure::No(format!("the key {} is there already", args.key.display())));
    }
    txn.commit()?;
    target.complete()
}

/// A value as it was given.
enum Value<'a> {
    Argument(&'a OsStr),
    Input(Vec<u8>),
}

impl Value<'_> {
    /// Standard input is read before the database is locked: its other end may be in no hurry.
    fn read(args: &Args) -> Result<Value<'_>> {
        if let Some(value) = args.value.as_deref().filter(|value| *value != "-") {
            return Ok(Value::Argument(value));
        }
        let mut bytes = Vec::new();
        let read = std::io::stdin().read_to_end(&mut bytes);
        read.map_err(|error| Failure::Failed(format!("cannot read the value from standard input: {error}")))?;
        Ok(Value::Input(bytes))
    }

    fn bytes(self, hex: bool, meaning: Meaning) -> Result<Vec<u8>> {
        match self {
            Value::Argument(text) => bytes::parse(text, hex, meaning),
            Value::Input(bytes) if hex => bytes::parse_hex(&bytes),
            Value::Input(bytes) => Ok(bytes),
        }
    }
}
