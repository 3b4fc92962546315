//! Everything that can go wrong, as one enum whose messages are sentences.
//!
//! Owns: the error type. "Not found" is never an error: it is `None`.
//!
//! A message says all: it has the text of what it comes from, which `source()` then does not give once more (hence `r#source`).

use std::io;
use std::path::PathBuf;

use crate::ids::{Pgno, Txnid};

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A page's content cannot be right: damaged media, a foreign writer, or a truncated copy.
    #[error("page {page} is damaged: {what}; run `duramen check`, and restore from a backup or a dump")]
    Corrupt {
        /// The page.
        page: Pgno,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The operating system refused or failed.
    #[error("cannot {op}: {source}")]
    Io {
        /// What was attempted.
        op: &'static str,
        /// The system's answer.
        r#source: io::Error,
    },
    /// As [`Error::Io`], about a named file.
    #[error("cannot {op} {}: {source}", path.display())]
    File {
        /// What was attempted.
        op: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        r#source: io::Error,
    },
    /// The file is not a Duramen database.
    #[error("{} is not a Duramen database: {what}", path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// What it is instead, as far as can be told.
        what: &'static str,
    },
    /// The file is of another version of the format.
    #[error("{} has format version {found} (features {features:#x}), this program reads {supported}: {}", path.display(), way_out(*found < *supported))]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// Its format version.
        found: u32,
        /// The version that this program reads.
        supported: u32,
        /// Feature bits that this program does not know and may not ignore.
        features: u32,
    },
    /// The file is shorter than its newest commit says.
    #[error("{} is truncated: {found} bytes, its newest commit needs {needed}; restore it from a backup", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes there.
        found: u64,
        /// Bytes that should be there.
        needed: u64,
    },
    /// A power cut left commits in the log that the data file does not have yet, and this handle may not write them.
    #[error("{} holds commits that a power cut kept from the database: open it once for writing (`duramen check` does)", path.display())]
    Unreplayed {
        /// The log.
        path: PathBuf,
    },
    /// The log beside the data file goes on from a commit that the data file does not have.
    #[error(
        "{} goes on from commit {base} to {last}, but the newest commit of the database is {found}: \
         if the database was restored from a copy, remove the log", path.display()
    )]
    ForeignLog {
        /// The log.
        path: PathBuf,
        /// Newest commit of the data file.
        found: Txnid,
        /// Commit that the log begins after.
        base: Txnid,
        /// Last commit in the log.
        last: Txnid,
    },
    /// A record of the log cannot be done again.
    #[error("{} cannot be done again ({what}); keep it, and restore the database from a backup or a dump", path.display())]
    DamagedLog {
        /// The log.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// No table of this name.
    #[error("there is no table {name:?}")]
    NoSuchTable {
        /// Its name, lossily as text.
        name: String,
    },
    /// A table of this name exists already.
    #[error("a table {name:?} exists already")]
    TableExists {
        /// Its name, lossily as text.
        name: String,
    },
    /// The table was created with other options.
    #[error("table {name:?} has {found}, not {wanted}")]
    TableOptions {
        /// Its name, lossily as text.
        name: String,
        /// What it was created with.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// The operation does not suit the kind of table (duplicates asked of a table without, for instance).
    #[error("this table does not allow that: {what}")]
    Incompatible {
        /// What does not fit.
        what: &'static str,
    },
    /// A key of a length that the table cannot hold.
    #[error("a key of {bytes} bytes: this table takes {}", lengths(*min, *max))]
    KeyLength {
        /// Its length.
        bytes: usize,
        /// Shortest allowed.
        min: usize,
        /// Longest allowed.
        max: usize,
    },
    /// A table's name of a length that no table's can have.
    #[error("a table's name of {bytes} bytes: names have 1 to {max}")]
    NameLength {
        /// Its length.
        bytes: usize,
        /// Longest allowed.
        max: usize,
    },
    /// A value (or duplicate) of a length that the table cannot hold.
    #[error("a value of {bytes} bytes: this table takes {}", lengths(*min, *max))]
    ValueLength {
        /// Its length.
        bytes: usize,
        /// Shortest allowed.
        min: usize,
        /// Longest allowed.
        max: usize,
    },
    /// A value needs pages side by side, and the file has no such hole and may not be longer
    /// ([`crate::WriteTxn::set_pages_wanted`]).
    #[error(
        "a value needs {pages} pages side by side: the file has no such hole, and would have more than {wanted} pages"
    )]
    NoRoom {
        /// How many it needs.
        pages: u64,
        /// How many pages the file is to have at most.
        wanted: u64,
    },
    /// `append` was given a key (or duplicate) that does not sort after the last one. Nothing was written.
    #[error("append out of order: the key must sort after the last one in the table")]
    AppendOrder,
    /// A record of a bulk load cannot be stored. It was left out, and the load can go on without it.
    #[error("record {record}: {source}")]
    Record {
        /// Which one, counted from 1.
        record: u64,
        /// What is wrong with it.
        r#source: Box<Error>,
    },
    /// A bulk load that was to refuse this was given a key (or a key with the same value) twice.
    #[error("the key {key:?} comes more than once")]
    Repeated {
        /// The key, lossily as text.
        key: String,
    },
    /// The function that is told of a bulk load's progress asked for its end.
    #[error("the bulk load was stopped")]
    Stopped,
    /// The database was opened read-only.
    #[error("the database is open read-only")]
    ReadOnly,
    /// Another writer is active, and the caller asked not to wait (longer).
    #[error("another write transaction is active")]
    Busy,
    /// The handle was inherited by a forked child; open the database anew there.
    #[error("this handle was opened before fork(): open the database again in the child")]
    Forked,
    /// An earlier flush failed, so nothing written since can be trusted to be on disk.
    #[error(
        "an earlier write or flush failed ({what}): close the database and open it again, which returns to the last durable commit"
    )]
    Poisoned {
        /// The failure.
        what: String,
    },
    /// What was submitted was to be committed together with others, and that failed for all of them.
    #[error(transparent)]
    Group {
        /// Why.
        source: std::sync::Arc<Error>,
    },
    /// What a closure of the caller's has met that is none of the engine's errors: [`Error::other`].
    #[error(transparent)]
    Other {
        /// It, as it was given.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A transaction failed half-way through an operation; it can only be aborted.
    #[error("an earlier operation of this transaction failed: it can only be aborted")]
    TxnFailed,
    /// The handle does not belong to this transaction, or its table was dropped.
    #[error("this table handle is not valid in this transaction")]
    BadTable,
    /// The database has an option that does not suit this call.
    #[error("{what}")]
    Usage {
        /// What is wrong and what to do.
        what: &'static str,
    },
}

impl Error {
    /// Wraps an [`io::Error`] with what was attempted.
    pub(crate) fn io(op: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { op, source }
    }

    /// An error of the caller's own, for closures that are to fail with it: nothing of their transaction remains then.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let db = duramen::Database::open(dir.path().join("accounts.dm"))?;
    /// let paid = db.update(|txn| {
    ///     let mut accounts = txn.table("accounts")?;
    ///     accounts.put("smith", "-10")?;
    ///     Err::<(), _>(duramen::Error::other("not enough money"))
    /// });
    /// assert_eq!(paid.unwrap_err().to_string(), "not enough money");
    /// assert!(db.read()?.find_table("accounts", None)?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn other(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error::Other { source: source.into() }
    }

    /// True if the disk (or quota) is full, or the file as long as this process may make it.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Error::Io { source, .. } | Error::File { source, .. } => {
                let kind = source.kind();
                matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
            }
            Error::Group { source } => source.is_disk_full(),
            _ => false,
        }
    }
}

/// What to do with a file of another version.
fn way_out(older: bool) -> &'static str {
    match older {
        true => "dump it with the program that made it, and load the dump",
        false => "use a newer one",
    }
}

/// A page that cannot be right; whoever knows its number turns it into [`Error::Corrupt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage(pub &'static str);

impl Damage {
    /// Names the page.
    #[cold]
    pub(crate) fn at(self, page: Pgno) -> Error {
        Error::Corrupt { page, what: self.0 }
    }
}

/// Which lengths are allowed, in words. Between the two lengths of native integers there is none.
fn lengths(min: usize, max: usize) -> String {
    match (min, max) {
        (4, 8) => "4 or 8".into(),
        (min, max) if min == max => min.to_string(),
        (min, max) => format!("{min} to {max}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn who_tells_of_an_error_and_its_sources_says_nothing_twice() {
        let full = || Error::Io { op: "write", source: io::ErrorKind::StorageFull.into() };
        let file = || Error::File { op: "open", path: "a.dm".into(), source: io::ErrorKind::NotFound.into() };
        let record = || Error::Record { record: 7, source: Box::new(Error::AppendOrder) };
        let group = || Error::Group { source: std::sync::Arc::new(full()) };
        for error in [full(), file(), record(), group(), Error::other(file()), Error::other("not enough money")] {
            let mut said = vec![error.to_string()];
            let mut next = error.source();
            while let Some(source) = next {
                assert!(!said.iter().any(|before| before.contains(&source.to_string())), "{said:?}, then {source}");
                said.push(source.to_string());
                next = source.source();
            }
        }
        assert_eq!(group().to_string(), full().to_string());
    }
}
