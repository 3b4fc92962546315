//! The database that a command writes into, which may be a new one.
//!
//! Owns: that a new one appears under its name with its first commit, so that a command which fails before leaves none, and
//! that of several commands which make the same one the others wait, and then go on with it.

use std::io;
use std::path::{Path, PathBuf};

use duramen::{Database, Options, WriteTxn};

use crate::failure::Result;
use crate::open::{self, WaitArgs};
use crate::partial::Partial;

/// See the module's head.
pub struct Target {
    path: PathBuf,
    options: Options,
    db: Database,
    /// Of a database that has not appeared: what it is until then. Nobody else has it open.
    partial: Option<Partial>,
}

impl Target {
    /// Opens what is there, or makes a database that has no name yet.
    pub fn open(path: &Path, options: Options, wait: WaitArgs) -> Result<Target> {
        let partial = if is_there(path) { None } else { Some(Partial::in_turn(path, 0o644, wait)?) };
        // Whoever made it before has completed it.
        let partial = partial.filter(|_| !is_there(path));
        let db = match &partial {
            Some(partial) => options.clone().without_lock_file().open(partial.path())?,
            None => options.clone().open(path)?,
        };
        Ok(Target { path: path.to_path_buf(), options, db, partial })
    }

    /// Begins a transaction in it.
    pub fn begin(&self, wait: WaitArgs) -> Result<WriteTxn<'static>> {
        open::begin(&self.db, wait)
    }

    /// Something has been committed: from here on it has its name, and others may have it open.
    pub fn appear(self) -> Result<Target> {
        let Some(partial) = self.partial else { return Ok(self) };
        self.db.close()?;
        partial.complete_new(&self.path)?;
        let db = self.options.clone().open(&self.path)?;
        Ok(Target { db, partial: None, ..self })
    }

    /// All has been committed: closes it. It has its name then.
    pub fn complete(self) -> Result<()> {
        self.db.close()?;
        self.partial.map_or(Ok(()), |partial| partial.complete_new(&self.path))
    }
}

/// Whether there is anything of that name, as far as can be seen.
pub fn is_there(path: &Path) -> bool {
    !matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound)
}
