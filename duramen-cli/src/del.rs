//! `duramen del`: a key, one of its values, a range of keys, or a whole table.

use std::ffi::OsString;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use duramen::{TableMut, WriteTxn};

use crate::bytes;
use crate::failure::{Failure, Result};
use crate::open::{self, WaitArgs};
use crate::output::remark;
use crate::progress::is_quiet;
use crate::{shape, units};

const ABOUT: &str = "\
Delete a key, one of its values, a range of keys, or a table.

The exit code is 1 if there was nothing to delete. When the command returns, the change survives a power \
cut.";

const EXAMPLES: &str = "\
Examples:
  duramen del people.dm people bjensen           the key with all its values
  duramen del people.dm by-town Oslo bjensen     one value of a key with several
  duramen del people.dm people --prefix b        all keys that begin with b
  duramen del people.dm people --from b --to d   all keys from b on, before d
  duramen del people.dm people --all             all entries; the table stays
  duramen del people.dm people --drop            the table itself";

/// Arguments of `duramen del`.
#[derive(clap::Args)]
#[command(
    override_usage = "duramen del [OPTIONS] <FILE> <TABLE> <KEY> [VALUE]\n       duramen del [OPTIONS] <FILE> <TABLE> <--prefix|--from|--to|--all|--drop>"
)]
#[command(about = "Delete a key, one of its values, a range of keys, or a table", long_about = ABOUT, after_help = EXAMPLES)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true).args(["key", "prefix", "from", "to", "all", "drop"]))]
pub struct Args {
    /// The database
    file: PathBuf,
    /// The table
    table: OsString,
    /// The key
    #[arg(conflicts_with_all = ["prefix", "from", "to", "all", "drop"])]
    key: Option<OsString>,
    /// The one value to delete, in a table with duplicates
    value: Option<OsString>,
    /// Delete all keys that begin so
    #[arg(long, conflicts_with_all = ["from", "to", "all", "drop"])]
    prefix: Option<OsString>,
    /// Delete all keys from this one on
    #[arg(long, value_name = "KEY", conflicts_with_all = ["all", "drop"])]
    from: Option<OsString>,
    /// Delete all keys before this one
    #[arg(long, value_name = "KEY", conflicts_with_all = ["all", "drop"])]
    to: Option<OsString>,
    /// Delete all entries of the table
    #[arg(long, conflicts_with = "drop")]
    all: bool,
    /// Delete the table
    #[arg(long)]
    drop: bool,
    /// Keys and values are hexadecimal
    #[arg(long)]
    hex: bool,
    #[command(flatten)]
    wait: WaitArgs,
}

/// Runs `duramen del`.
pub fn run(args: &Args) -> Result<()> {
    let db = open::to_write(&args.file)?;
    let mut txn = open::begin(&db, args.wait)?;
    let done = if args.drop { drop_table(&mut txn, args.table.as_bytes())? } else { delete(&mut txn, args)? };
    txn.commit()?;
    db.close()?;
    if !is_quiet() && (args.key.is_none() || args.drop) {
        remark(&done);
    }
    Ok(())
}

fn drop_table(txn: &mut WriteTxn<'_>, name: &[u8]) -> Result<String> {
    if name.is_empty() {
        return Err(Failure::Usage("the main table cannot be dropped".to_string()));
    }
    if !txn.drop_table(name)? {
        return Err(Failure::No(format!("there is no table {:?}", String::from_utf8_lossy(name))));
    }
    Ok("dropped the table".to_string())
}

fn delete(txn: &mut WriteTxn<'_>, args: &Args) -> Result<String> {
    let name = args.table.as_bytes();
    let id = match name {
        b"" => txn.main_table(),
        name => txn
            .find_table(name, None)?
            .ok_or_else(|| duramen::Error::NoSuchTable { name: String::from_utf8_lossy(name).into_owned() })?,
    };
    let mut table = txn.table_by_id(id)?;
    let deleted = match &args.key {
        Some(key) => {
            let key = bytes::parse(key, args.hex, shape::key_meaning(&table.view())?)?;
            u64::from(delete_key(&mut table, &key, args)?)
        }
        None => delete_range(&mut table, args)?,
    };
    if deleted == 0 {
        return Err(Failure::No("there was nothing to delete".to_string()));
    }
    Ok(format!("deleted {}", units::plural(deleted, "entry")))
}

fn delete_key(table: &mut TableMut<'_>, key: &[u8], args: &Args) -> Result<bool> {
    let Some(value) = &args.value else {
        return Ok(table.delete(key)?);
    };
    let value = bytes::parse(value, args.hex, shape::value_meaning(&table.view()))?;
    Ok(table.delete_duplicate(key, value)?)
}

fn delete_range(table: &mut TableMut<'_>, args: &Args) -> Result<u64> {
    let meaning = shape::key_meaning(&table.view())?;
    let key = |key: &Option<OsString>| key.as_ref().map(|key| bytes::parse(key, args.hex, meaning)).transpose();
    let (mut from, mut to) = (key(&args.from)?, key(&args.to)?);
    if args.prefix.is_some() {
        shape::check_prefix(&table.view())?;
        from = key(&args.prefix)?;
        to = from.as_deref().and_then(after_prefix);
    }
    let low = from.as_deref().map_or(Bound::Unbounded, Bound::Included);
    let high = to.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    Ok(table.delete_range((low, high))?)
}

/// The first byte string after all that begin so; none if they go on to the end.
fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte < u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::after_prefix;

    #[test]
    fn the_end_of_a_prefix_skips_bytes_that_cannot_be_raised() {
        assert_eq!(after_prefix(b"ab"), Some(b"ac".to_vec()));
        assert_eq!(after_prefix(b"a\xff"), Some(b"b".to_vec()));
        assert_eq!(after_prefix(b"\xff\xff"), None);
        assert_eq!(after_prefix(b""), None);
    }
}
