//! That no second server has the data directory.
//!
//! Owns: the file that says so, which is locked for as long as this one runs. Must not know: what is in the directory.
//!
//! Tools may open the directory all the same.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::config;
use crate::failure::ServeError;

/// See the head.
pub struct Claim {
    data: PathBuf,
    file: File,
}

impl Claim {
    /// Takes the data directory for this process, and makes it if it is not there.
    pub fn take(data: &Path) -> Result<Claim, ServeError> {
        std::fs::create_dir_all(data).map_err(|source| failed(data, "make the directory", data, source))?;
        Ok(Claim { data: data.to_path_buf(), file: lock(data)? })
    }

    /// Makes the file again if somebody has removed it. `None` if it is there.
    pub fn renew(&mut self) -> Option<Result<(), ServeError>> {
        if self.is_there() {
            return None;
        }
        Some(lock(&self.data).map(|file| self.file = file))
    }

    fn is_there(&self) -> bool {
        let (Ok(named), Ok(open)) = (std::fs::metadata(self.data.join(config::LOCK)), self.file.metadata()) else {
            return false;
        };
        (named.dev(), named.ino()) == (open.dev(), open.ino())
    }
}

fn failed(data: &Path, op: &'static str, path: &Path, source: std::io::Error) -> ServeError {
    let source = duramen::Error::File { op, path: path.to_path_buf(), source }.into();
    ServeError::Directory { path: data.to_path_buf(), source }
}

fn lock(data: &Path) -> Result<File, ServeError> {
    let path = data.join(config::LOCK);
    let fail = |source| failed(data, "open", &path, source);
    // Whoever may open it may lock it.
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let mut file = options.open(&path).map_err(fail)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut process = String::new();
            let _ = file.read_to_string(&mut process);
            return Err(ServeError::InUse { path: data.to_path_buf(), process: process.trim().to_string() });
        }
        Err(TryLockError::Error(source)) => return Err(fail(source)),
    }
    let note = |file: &mut File| -> std::io::Result<()> {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())
    };
    note(&mut file).map_err(fail)?;
    Ok(file)
}
