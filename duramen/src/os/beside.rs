//! A file that stands beside the data file, wherever the process goes.
//!
//! Owns: finding that place again ([`Beside`]), making, reading and removing the file. Must not know: what is in it.
//!
//! The directory is held open from when the data file was opened: a process that changes its directory or its root later,
//! as many servers do, would find another file by the same name, or none. Symbolic links to the data file are followed
//! first, so that it does not matter by which name it was opened.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, readlinkat, statat, unlinkat};

use super::file::{apart_from_streams, give_to_users_of, sync_names, write_in_place};

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

/// A name in a directory.
pub(crate) struct Beside {
    directory: OwnedFd,
    name: OsString,
    /// The data file's.
    pub data: OsString,
    /// For messages: what the name meant at first.
    pub path: PathBuf,
}

impl Beside {
    /// The place of the file whose name is the data file's with `suffix` appended.
    pub(crate) fn new(data: &Path, suffix: &str) -> io::Result<Beside> {
        let data = linked_to(data)?;
        let parent = data.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let directory = openat(CWD, parent, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let of_data = data.file_name().unwrap_or(OsStr::new("")).to_owned();
        let mut name = of_data.clone();
        name.push(suffix);
        Ok(Beside { directory, path: data.with_file_name(&name), name, data: of_data })
    }

    /// A path of the directory that holds wherever the process goes; none where `/proc` is not there.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        let path = PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd()));
        path.exists().then_some(path)
    }

    /// Whether the data file of that name is still this one. It may have been moved away or removed while it was open; what
    /// stands here then is, or will be, another database's.
    fn is_beside(&self, data: &Metadata) -> bool {
        statat(&self.directory, &self.data, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|named| named.st_dev == data.dev() && named.st_ino == data.ino())
    }

    fn open(&self, flags: OFlags, mode: Mode) -> io::Result<File> {
        // A named pipe would keep a plain open waiting; what a link leads to is not the database's.
        let always = OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        apart_from_streams(openat(&self.directory, &self.name, flags | always, mode)?.into())
    }

    /// Opens the file, or makes one that the same users may read and write as the data file. An error if the data file is
    /// no longer here.
    pub(crate) fn open_or_create(&self, data: &Metadata) -> io::Result<File> {
        if !self.is_beside(data) {
            return Err(io::Error::new(ErrorKind::NotFound, "the data file has been moved or removed"));
        }
        match self.open(OFlags::RDWR, Mode::empty()) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            answer => return answer,
        }
        let file = self.open(OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, Mode::RUSR | Mode::WUSR)?;
        write_in_place(&file);
        give_to_users_of(data, &file)?;
        Ok(file)
    }

    /// Makes the file's name survive a power cut.
    pub(crate) fn sync_name(&self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = openat(&self.directory, ".", flags, Mode::empty()).map_err(io::Error::from);
        sync_names(directory.map(File::from), || self.open(OFlags::RDONLY, Mode::empty()))
    }

    /// Opens the file to be read, if it is there. What is no regular file is none.
    pub(crate) fn open_to_read(&self) -> io::Result<Option<File>> {
        if !self.is_there() {
            return Ok(None);
        }
        match self.open(OFlags::RDONLY, Mode::empty()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Whether there is a regular file of that name, as far as can be seen.
    pub(crate) fn is_there(&self) -> bool {
        match statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => FileType::from_raw_mode(found.st_mode) == FileType::RegularFile,
            Err(error) => error != rustix::io::Errno::NOENT,
        }
    }

    /// Removes the file, if it is there and the data file, too.
    pub(crate) fn remove(&self, data: &Metadata) -> io::Result<()> {
        if !self.is_beside(data) {
            return Ok(());
        }
        match unlinkat(&self.directory, &self.name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// What a path leads to. Only the links that stand at its end are followed here: a process may work in a directory that
/// it could not come to from the root, and then has no other path than a relative one.
pub(crate) fn linked_to(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        // Only of links it is asked where they lead: sandboxes refuse that question to many who open no links.
        let kind = FileType::from_raw_mode(statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
        if kind != FileType::Symlink {
            return Ok(path);
        }
        let target = readlinkat(CWD, &path, Vec::new())?;
        path = path.parent().unwrap_or(Path::new("")).join(OsStr::from_bytes(target.as_bytes()));
    }
    Err(rustix::io::Errno::LOOP.into())
}
