//! The file of the audit log.
//!
//! Owns: what may be one, and that no record is in it by halves. Must not know: what records say, what becomes of those that
//! cannot be written.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::config::AuditLog;
use crate::error::OpenError;

/// It has passwords in it, as they are stored.
const MODE: u32 = 0o600;
/// What records begin with.
const BEGINNINGS: [&str; 4] = ["# add ", "# modify ", "# modrdn ", "# delete "];
/// What ends one that a power cut, or a kill, has cut off: else the next would be a part of it.
const CUT_OFF: &[u8] = b"\n# the record before this is cut off\n\n";
/// As long as the longest of them.
const BEGINNING_BYTES: u64 = 9;

/// Why the file is not as it should be.
#[derive(Debug, thiserror::Error)]
#[error("the audit log {} {what}: {source}", path.display())]
pub(crate) struct FileError {
    path: PathBuf,
    what: &'static str,
    source: io::Error,
}

/// Records that are not all in the file.
pub(super) struct Unwritten {
    pub error: FileError,
    /// Bytes of them that are.
    pub written: usize,
}

/// The file, open to be appended to.
#[derive(Debug)]
pub(crate) struct AuditFile {
    file: File,
    config: AuditLog,
    database: PathBuf,
}

impl AuditFile {
    /// Opens it, or makes it, for a directory with this database.
    pub fn open(config: &AuditLog, database: &Path) -> Result<AuditFile, OpenError> {
        let path = &config.file;
        let refused = |why: String| OpenError::Config { what: format!("the audit log {}", path.display()), why };
        if let Some((why, cure)) = unfit(path, database) {
            return Err(refused(format!("{why}; {cure}")));
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(MODE);
        let file = options.open(path).map_err(|error| refused(format!("it cannot be written: {error}")))?;
        let mut opened = AuditFile { file, config: config.clone(), database: database.to_path_buf() };
        if is_cut_off(path) {
            opened.append(CUT_OFF).map_err(|failed| refused(format!("it cannot be written: {}", failed.error)))?;
        }
        Ok(opened)
    }

    pub fn path(&self) -> &Path {
        &self.config.file
    }

    /// What is at its path now.
    pub fn reopen(&self) -> Result<AuditFile, OpenError> {
        AuditFile::open(&self.config, &self.database)
    }

    /// Appends whole records: all of them, or nothing.
    pub(super) fn append(&mut self, records: &[u8]) -> Result<(), Unwritten> {
        let mut written = 0;
        while written < records.len() {
            match self.file.write(&records[written..]) {
                Ok(0) => return Err(self.unwritten(written, io::ErrorKind::WriteZero.into())),
                Ok(more) => written += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unwritten(written, error)),
            }
        }
        if self.config.flush {
            self.flush();
        }
        Ok(())
    }

    /// Has the disk have it. What it does not take is in the file all the same, as long as there is no power cut.
    fn flush(&self) {
        if let Err(source) = self.file.sync_data() {
            let error = FileError { path: self.config.file.clone(), what: "cannot be flushed", source };
            tracing::error!("{error}");
        }
    }

    /// Takes back what was written of records, which is the end of the file.
    fn unwritten(&self, written: usize, source: io::Error) -> Unwritten {
        let taken_back = written > 0
            && self.file.metadata().is_ok_and(|found| {
                let before = found.len().checked_sub(written as u64);
                before.is_some_and(|before| self.file.set_len(before).is_ok())
            });
        let error = FileError { path: self.config.file.clone(), what: "cannot be written", source };
        Unwritten { error, written: if taken_back { 0 } else { written } }
    }
}

/// What to do about a path that is none of an audit log.
const CURE: &str = "name a file of its own, or a path where there is nothing yet";

/// Why a path can be none of an audit log, beside this database, and what to do. Whatever else is written to is destroyed by
/// that: so what is there has to begin as such a log does, or to be empty.
pub(crate) fn unfit(path: &Path, database: &Path) -> Option<(String, &'static str)> {
    if is_of_database(path, database) {
        return Some(("it would be in the place of a file of the database".into(), CURE));
    }
    match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => missing(folder_of(path)),
        Err(error) => Some((format!("it cannot be looked at: {error}"), "check the path, and who may go there")),
        Ok(found) => kind(&found).map(|kind| (format!("there is {kind}, and no file"), CURE)).or_else(|| {
            let is_one = found.len() == 0 || begins_as_one(path);
            (!is_one).then(|| ("what is there is no audit log, and would be destroyed".into(), CURE))
        }),
    }
}

/// Whether a path is, or would be, that of the database's file or of one beside it, which have its name and more.
fn is_of_database(path: &Path, database: &Path) -> bool {
    let name = |path: &Path| path.file_name().map(|name| name.as_encoded_bytes().to_vec());
    let (Some(own), Some(its)) = (name(path), name(database)) else { return false };
    let same = |one: &Path, other: &Path| match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    };
    own.starts_with(&its) && same(folder_of(path), folder_of(database))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn missing(folder: &Path) -> Option<(String, &'static str)> {
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some((format!("{} is no directory", folder.display()), CURE)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let cure = "make it, for the user who runs duramend (LogsDirectory of systemd does)";
            Some((format!("the directory {} is not there", folder.display()), cure))
        }
        Err(error) => Some((format!("it cannot be looked at: {error}"), "check the path, and who may go there")),
    }
}

/// What something is that is no file.
fn kind(found: &Metadata) -> Option<&'static str> {
    let kind = found.file_type();
    if kind.is_file() {
        None
    } else if kind.is_dir() {
        Some("a directory")
    } else if kind.is_fifo() {
        Some("a pipe")
    } else if kind.is_socket() {
        Some("a socket")
    } else {
        Some("a device")
    }
}

/// Whether what is in a file ends in the midst of a record, as far as that can be told.
fn is_cut_off(path: &Path) -> bool {
    let mut end = Vec::new();
    let read = |mut file: File| {
        let length = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(length.saturating_sub(2)))?;
        file.read_to_end(&mut end)
    };
    File::open(path).and_then(read).is_ok() && !end.is_empty() && end != b"\n\n"
}

/// Whether a file begins with a record; also if that cannot be told, as it may be written and not read.
fn begins_as_one(path: &Path) -> bool {
    let mut beginning = Vec::new();
    match File::open(path).and_then(|file| file.take(BEGINNING_BYTES).read_to_end(&mut beginning)) {
        Ok(_) => BEGINNINGS.iter().any(|begins| beginning.starts_with(begins.as_bytes())),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    }
}
