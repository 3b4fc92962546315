//! What can be wrong with a file.

use std::io;

/// Why a file, or the rest of it, cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refuses.
    #[error("cannot read it: {0}")]
    Io(io::Error),
    /// It does not begin as LMDB's files do.
    #[error("not a data file of LMDB")]
    Foreign,
    /// LMDB's, but of another kind.
    #[error("{0}: dump it with the `mdb_dump` of the LMDB that wrote it, and load that")]
    Unsupported(String),
    /// A page is not as LMDB writes it.
    #[error("page {page} is damaged: {what}")]
    Damaged {
        /// Its number.
        page: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A table does not have as many entries as it says.
    #[error("a table of {said} entries has {found}")]
    Count {
        /// As many as it says.
        said: u64,
        /// As many as there are.
        found: u64,
    },
    /// Somebody wrote to the file.
    #[error("a program changed it while it was read: end that program, or copy the file with LMDB's `mdb_copy` first")]
    Changed,
}

// Its message has the system's, which is no source beside that.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        Error::Io(error)
    }
}

/// As all of it is read.
pub(crate) type Result<T> = std::result::Result<T, Error>;

/// Damage, of a page that is told of later.
pub(crate) type Damage = &'static str;

/// Damage of a page.
pub(crate) fn damaged(page: u64) -> impl Fn(Damage) -> Error {
    move |what| Error::Damaged { page, what }
}
