//! Small filesystems, so that a disk can be full in earnest.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A small filesystem, unmounted when dropped.
#[derive(Debug)]
pub struct Mount {
    directory: TempDir,
}

impl Mount {
    /// One in memory, of so many MiB. `None` where mounting is not permitted.
    pub fn tmpfs(mib: u64) -> Option<Mount> {
        Mount::new(|_, point| run("mount", &["-t", "tmpfs", "-o", &format!("size={mib}m"), "tmpfs", text(point)]))
    }

    /// An ext4 of so many MiB, in a file. `None` where mounting is not permitted.
    pub fn ext4(mib: u64) -> Option<Mount> {
        Mount::in_a_file(mib, "mkfs.ext4", &["-q", "-O", "^has_journal"])
    }

    /// A btrfs of so many MiB, 114 at least, in a file. `None` where mounting is not permitted, or the kernel knows none.
    pub fn btrfs(mib: u64) -> Option<Mount> {
        Mount::in_a_file(mib, "mkfs.btrfs", &["-q"])
    }

    /// What an image holds, or a device. `None` where mounting is not permitted, or there is no filesystem.
    pub fn of(image: &Path, options: &str) -> Option<Mount> {
        Mount::new(|_, point| run("mount", &["-o", options, text(image), text(point)]))
    }

    fn in_a_file(mib: u64, make: &str, options: &[&str]) -> Option<Mount> {
        Mount::new(|image, point| {
            File::create(image).and_then(|file| file.set_len(mib << 20)).is_ok()
                && run(make, &[options, &[text(image)]].concat())
                && run("mount", &["-o", "loop", text(image), text(point)])
        })
    }

    /// Has the disk take all that waits for it.
    pub fn sync(&self) {
        assert!(run("sync", &["-f", text(&self.point())]), "a filesystem that is not flushed");
    }

    fn new(mount: impl FnOnce(&Path, &Path) -> bool) -> Option<Mount> {
        let made = Mount { directory: tempfile::tempdir().ok()? };
        std::fs::create_dir(made.point()).ok()?;
        let image = made.directory.path().join("image");
        mount(&image, &made.point()).then_some(made)
    }

    /// Where it is mounted.
    pub fn point(&self) -> PathBuf {
        self.directory.path().join("mount")
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        run("umount", &["-l", text(&self.point())]);
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

fn run(command: &str, arguments: &[&str]) -> bool {
    Command::new(command).args(arguments).output().is_ok_and(|output| output.status.success())
}
