//! What is at the paths that a start needs, as far as looking tells: nothing is made.
//!
//! Owns: what is in the way of the data directory, of the local socket and of the audit log, and what to do about it.

use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use duramen_directory::Directory;
use rustix::fs::Access;

use super::Fault;

/// The file in the data directory that a server locks.
pub const LOCK: &str = "duramend.lock";

/// What is wrong, and the cure.
pub(super) type Wrong = (String, &'static str);

/// What keeps a path from being that of a directory, there or made.
pub(super) fn data(path: &Path) -> Option<Wrong> {
    is_blocked(path).then(|| {
        let what =
            format!("the data directory {} is none: a file is in its place, or in that of one above", path.display());
        (what, "name a directory, or a path where there is nothing yet")
    })
}

/// What keeps the audit log from being written here.
pub(super) fn audit(path: &Path, data: &Path) -> Option<Wrong> {
    if let Some(wrong) = Directory::why_no_audit_log(data, path) {
        return Some(wrong);
    }
    if path == data.join(LOCK) {
        let cure = "name a file of its own, or a path where there is nothing yet";
        return Some(("it would be in the place of the file that this server locks".into(), cure));
    }
    let written_to = if path.exists() { path } else { directory_of(path) };
    rustix::fs::access(written_to, Access::WRITE_OK).err().map(|error| {
        let what = format!("{} cannot be written: {}", written_to.display(), std::io::Error::from(error));
        (what, "give it to the user who runs duramend (`chown`), or name another path")
    })
}

/// What keeps a local socket from being made here; a directory that is not there yet does not.
pub(super) fn socket(path: &Path, data: &Path) -> Option<Wrong> {
    let wrong = |why: &str, cure| Some((format!("the local socket {} cannot be made: {why}", path.display()), cure));
    let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    if path == data {
        wrong("it is the data directory", "choose a path within it, or elsewhere")
    } else if is_blocked(directory_of(path)) && !is_blocked(data) {
        wrong("what should be its directory is a file", "choose another path")
    } else if !is_socket && path.exists() {
        wrong("what is there is no socket", "remove it, or choose another path")
    } else {
        None
    }
}

/// A directory that is missing for the local socket. Whoever starts the server may make it, as systemd does with those of
/// `RuntimeDirectory`, so it is no fault; the data directory, and those above it, the server makes itself.
pub(super) fn missing(socket: &Path, data: &Path) -> Option<Fault> {
    let directory = directory_of(socket);
    let is_missing = std::fs::metadata(directory).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    (is_missing && !data.starts_with(directory)).then(|| {
        let what = format!("the directory of the local socket {} is not there", socket.display());
        Fault::command(what, "it has to be there at the start: make it, or have systemd make it (RuntimeDirectory)")
    })
}

/// Whether there is something that is no directory, and no way to one.
fn is_blocked(path: &Path) -> bool {
    match std::fs::metadata(path) {
        Ok(found) => !found.is_dir(),
        Err(error) => error.kind() == ErrorKind::NotADirectory,
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
