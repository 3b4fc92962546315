//! A file that appears under its name when it is complete and on the disk.
//!
//! Owns: what stands beside that name until then. It is locked, so that two commands that make the same file do not write
//! into each other's; it goes when it is not completed, also where Ctrl-C ends the process in the middle of its work.
//! What one that was killed has left is made anew; anything else that has such a name is somebody's, and left alone.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::failure::{Failure, Result};
use crate::interrupt;
use crate::open::{self, WaitArgs};
use crate::output::remark;
use crate::progress::is_quiet;

/// Between two looks at whether another command has made the file.
const PAUSE: Duration = Duration::from_millis(10);

/// How what a command makes begins: a database, a dump.
const BEGINNINGS: [&[u8]; 2] = [open::BEGINNING, b"VERSION=3\n"];

/// See the module's head.
pub struct Partial {
    path: PathBuf,
    /// Has the lock.
    file: File,
    is_complete: bool,
}

impl Partial {
    /// An empty file of this mode beside the one that is to be made. An error if another command makes that.
    pub fn beside(to: &Path, mode: u32) -> Result<Partial> {
        let made = || Err(Failure::Failed(format!("{} is being made by another command", to.display())));
        Partial::unless_made(to, mode, made)
    }

    /// The same, once no other command makes that file any more.
    pub fn in_turn(to: &Path, mode: u32, wait: WaitArgs) -> Result<Partial> {
        let mut turn = Turn::new(wait);
        Partial::unless_made(to, mode, || turn.wait(to))
    }

    /// `made` is called as long as another command makes the file, and may be in no hurry.
    fn unless_made(to: &Path, mode: u32, mut made: impl FnMut() -> Result<()>) -> Result<Partial> {
        let mut name = to.as_os_str().to_owned();
        name.push(".partial");
        let path = PathBuf::from(name);
        let failed = |error: io::Error| Failure::Failed(format!("cannot create {}: {error}", path.display()));
        let mut options = File::options();
        // What has the name may be a link to what is not to be written to, or a pipe that nobody reads.
        options
            .read(true)
            .write(true)
            .mode(mode)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed());
        let file = loop {
            let (file, is_new) = match make(&mut options, &path) {
                Ok(Some(opened)) => opened,
                Ok(None) => continue,
                Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
                    return Err(in_the_way(&path, "it is a link"));
                }
                Err(error) => return Err(failed(error)),
            };
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                made()?;
                continue;
            }
            // Who had the lock before may have completed it meanwhile, or removed it.
            if !is_at(&file, &path).map_err(failed)? {
                continue;
            }
            match if is_new { None } else { whose(&file).map_err(failed)? } {
                None => break file,
                Some(why) => return Err(in_the_way(&path, why)),
            }
        };
        interrupt::set_leftover(Some(&path));
        // What one that was killed has left.
        file.set_len(0).map_err(failed)?;
        Ok(Partial { path, file, is_complete: false })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// To write to.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it the permissions of another file, and its user and group as far as this process may. At the end: what may not
    /// be written to could not be made.
    pub fn give(&self, like: &Metadata) -> Result<()> {
        let failed = |error| Failure::Failed(format!("cannot set the permissions of {}: {error}", self.path.display()));
        let mut permissions = like.permissions();
        let (user, group) = (like.uid(), like.gid());
        if fchown(&self.file, Some(user), Some(group)).is_err() && fchown(&self.file, None, Some(group)).is_err() {
            // What its group was allowed is not for another one, but for what everybody is.
            let mode = permissions.mode();
            permissions.set_mode(mode & !0o070 | mode & (mode << 3) & 0o070);
        }
        self.file.set_permissions(permissions).map_err(failed)
    }

    /// Gives it its name, in place of what has it.
    pub fn complete(self, to: &Path) -> Result<()> {
        self.finish(to, |from| fs::rename(from, to))
    }

    /// Gives it its name, which nothing may have.
    pub fn complete_new(self, to: &Path) -> Result<()> {
        self.finish(to, |from| rename_to_new(from, to))
    }

    fn finish(mut self, to: &Path, rename: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
        let failed = |what: &str, error: io::Error| Failure::Failed(format!("cannot {what} {}: {error}", to.display()));
        self.file.sync_all().map_err(|error| failed("flush", error))?;
        interrupt::set_leftover(None);
        rename(&self.path).map_err(|error| failed("make", error))?;
        // From here on another command may have such a file.
        self.is_complete = true;
        let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let flushed = File::open(directory).and_then(|directory| directory.sync_all());
        flushed.map_err(|error| failed("flush the directory of", error))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        interrupt::set_leftover(None);
        if !self.is_complete {
            // The error that is told is the one that matters.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Waiting until another command has made a file, or has failed to.
struct Turn {
    limit: Option<Duration>,
    begun: Option<Instant>,
}

impl Turn {
    fn new(wait: WaitArgs) -> Turn {
        Turn { limit: wait.limit(), begun: None }
    }

    /// Waits for a moment; tells the user when it is the first.
    fn wait(&mut self, to: &Path) -> Result<()> {
        interrupt::check()?;
        if self.begun.is_none() && !is_quiet() && self.limit != Some(Duration::ZERO) {
            remark(&format!("{} is being made by another command; waiting for it", to.display()));
        }
        let begun = *self.begun.get_or_insert_with(Instant::now);
        if self.limit.is_some_and(|limit| begun.elapsed() >= limit) {
            let to = to.display();
            return Err(Failure::Failed(format!("{to} is being made by another command: {}", open::WAIT_LONGER)));
        }
        std::thread::sleep(PAUSE);
        Ok(())
    }
}

/// Renames a file, but not over another one, as far as the filesystem can see to that.
fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if to.symlink_metadata().is_err() => fs::rename(from, to),
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(Errno::EXIST.into()),
        renamed => Ok(renamed?),
    }
}

fn in_the_way(path: &Path, why: &str) -> Failure {
    Failure::Failed(format!("{} is in the way: {why}; remove it, or rename it", path.display()))
}

/// Makes the file, or opens what is there; whether it is new. `None`: what was there has just gone.
fn make(options: &mut OpenOptions, path: &Path) -> io::Result<Option<(File, bool)>> {
    match options.create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map(|file| Some((file, true))),
    }
    match options.create_new(false).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(|file| Some((file, false))),
    }
}

/// Why a file that was there is not one that a command which was killed has left; `None` if it is.
fn whose(file: &File) -> io::Result<Option<&'static str>> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Ok(Some("it is no regular file"));
    }
    if found.uid() != geteuid().as_raw() {
        return Ok(Some("it belongs to another user"));
    }
    if found.nlink() > 1 {
        return Ok(Some("it has another name, too"));
    }
    let mut head = [0; 4096];
    let read = file.read_at(&mut head, 0)?;
    // Pages are not written from the first on.
    let is_begun = head.iter().all(|&byte| byte == 0);
    let is_ours = BEGINNINGS.iter().any(|beginning| head[..read].starts_with(beginning));
    Ok(if is_begun || is_ours { None } else { Some("it is nothing that such a command has begun") })
}

/// Whether this is the file at the path.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let opened = file.metadata()?;
    match fs::metadata(path) {
        Ok(found) => Ok((found.dev(), found.ino()) == (opened.dev(), opened.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
