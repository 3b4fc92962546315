//! What a directory keeps about itself: table `meta`.
//!
//! | key | value |
//! |---|---|
//! | `format` | 4 |
//! | `suffixes` | names, one a line |
//! | `nis` | `nis` or `rfc2307bis` |
//! | `schema/` and a name | text of a schema file |
//! | `order` | names of schema files in the order in which they are read, one a line |
//! | `type/` and an OID | the number of an attribute type (2 bytes), its description |
//! | `index/` and an OID | kinds that are complete, kinds that are being built |
//! | `history` | how many changes are kept in table `history`; without, none |
//! | `import` | an import that has not ended |

use std::cell::Cell;

use duramen::{Snapshot, Table, Txnid, WriteTxn};
use duramen_ldap::message::ResultCode;

use crate::config::SchemaFile;
use crate::failure::{Failure, Result};
use crate::tables::META;

pub(crate) const FORMAT: &str = "format";
/// How tables are laid out. 1 had another index and other names of numbers, 2 no waiting trigrams, 3 no hash in keys of names and
/// values of 400 bytes.
pub(crate) const FORMAT_VERSION: u32 = 4;
pub(crate) const SUFFIXES: &str = "suffixes";
pub(crate) const NIS: &str = "nis";
pub(crate) const SCHEMA: &str = "schema/";
pub(crate) const ORDER: &str = "order";
pub(crate) const TYPE: &str = "type/";
pub(crate) const INDEX: &str = "index/";
pub(crate) const HISTORY: &str = "history";
pub(crate) const IMPORT: &str = "import";

/// Whether an import has not ended.
pub(crate) fn is_importing(txn: &mut WriteTxn<'_>) -> duramen::Result<bool> {
    Ok(txn.table(META)?.get(IMPORT)?.is_some())
}

/// What is looked up in this table for each snapshot.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub is_importing: bool,
    /// The commit that changed the table last.
    pub changed_in: Option<Txnid>,
}

/// What is said to whoever comes meanwhile: nothing tells an import that goes on from one that was cut off.
pub(crate) const IMPORTING: &str =
    "an import into this directory is under way; if it was interrupted: remove the folder, import again";

thread_local! {
    /// The snapshot that was looked at last: the number of its directory, its commit, and what was found.
    static LOOKED_AT: Cell<Option<(u64, Txnid, Seen)>> = const { Cell::new(None) };
}

/// Looks at a snapshot of the directory with this number, once for each commit.
pub(crate) fn look(directory: u64, snapshot: &Snapshot<'_>) -> duramen::Result<Seen> {
    let commit = snapshot.txnid();
    if let Some((number, of, found)) = LOOKED_AT.get()
        && (number, of) == (directory, commit)
    {
        return Ok(found);
    }
    let meta = snapshot.table(META)?;
    let found = Seen { is_importing: meta.contains_key(IMPORT)?, changed_in: meta.changed_in()? };
    LOOKED_AT.set(Some((directory, commit, found)));
    Ok(found)
}

/// That a snapshot of the directory with this number shows what stays: all that an import has loaded goes again if it fails,
/// also when the last table is there.
pub(crate) fn check_whole(directory: u64, snapshot: &Snapshot<'_>) -> Result<()> {
    match look(directory, snapshot)?.is_importing {
        true => Err(Failure::new(ResultCode::BUSY, IMPORTING)),
        false => Ok(()),
    }
}

/// Text under a key.
pub(crate) fn text(meta: &Table<'_>, key: &str) -> duramen::Result<Option<String>> {
    Ok(meta.get(key)?.map(|value| String::from_utf8_lossy(value).into_owned()))
}

/// What is kept under keys that begin so: the rest of each key, and the value.
pub(crate) fn all(meta: &Table<'_>, prefix: &str) -> duramen::Result<Vec<(String, Vec<u8>)>> {
    let mut found = Vec::new();
    for item in meta.prefix(prefix)? {
        let (key, value) = item?;
        found.push((String::from_utf8_lossy(&key[prefix.len()..]).into_owned(), value.to_vec()));
    }
    Ok(found)
}

/// The schema files that are kept, in the order in which they are read: one may name what is in another before it.
pub(crate) fn schema_files(meta: &Table<'_>) -> duramen::Result<Vec<SchemaFile>> {
    let files = all(meta, SCHEMA)?.into_iter();
    let file = |(name, text): (String, Vec<u8>)| SchemaFile { name, text: String::from_utf8_lossy(&text).into_owned() };
    let (mut files, order): (Vec<_>, _) = (files.map(file).collect(), self::text(meta, ORDER)?.unwrap_or_default());
    files.sort_by_key(|file| order.lines().position(|name| name == file.name));
    Ok(files)
}

/// Keeps something, if it is not kept already.
pub(crate) fn put(txn: &mut WriteTxn<'_>, key: &str, value: &[u8]) -> duramen::Result<()> {
    let mut meta = txn.table(META)?;
    if meta.get(key)? == Some(value) { Ok(()) } else { meta.put(key, value) }
}

/// Forgets something.
pub(crate) fn remove(txn: &mut WriteTxn<'_>, key: &str) -> duramen::Result<()> {
    txn.table(META)?.delete(key).map(drop)
}
