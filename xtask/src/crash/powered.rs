//! Crowds of processes on a filesystem of the kernel's own, whose disk loses its power again and again.
//!
//! Owns: the filesystem, when the power is cut, what is known of the crowd then. Must not know: what a crowd does, how what is
//! left is judged.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use duramen_sim::crash::{self, Left, Tally};
use duramen_sim::crowd::{self, Plan, Start};
use duramen_sim::disk::{Disk, Files, Listener, Mark};
use duramen_sim::mount::Mount;
use duramen_sim::platter::Allowed;
use duramen_sim::workload::FILE;

use super::device::Device;
use crate::command::{self, Result};

/// The size of the disk, of which little is used.
const MIB: usize = 1024;
/// A cut comes up to so many calls to the disk after it was decided upon,
const CALLS_MAX: u32 = 200;
/// and so long after the last one, at most.
const PAUSE: Duration = Duration::from_millis(60);

/// What is made on the disk.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Filesystem {
    Ext4,
    Xfs,
    Btrfs,
}

impl Filesystem {
    /// The program that makes it.
    fn maker(self) -> &'static str {
        match self {
            Filesystem::Ext4 => "mkfs.ext4",
            Filesystem::Xfs => "mkfs.xfs",
            Filesystem::Btrfs => "mkfs.btrfs",
        }
    }

    /// How an image of it is mounted beside the one that it is of.
    fn options(self) -> &'static str {
        match self {
            Filesystem::Ext4 | Filesystem::Btrfs => "loop",
            Filesystem::Xfs => "loop,nouuid",
        }
    }
}

/// The disk, and what is on it.
pub struct Place {
    kind: Filesystem,
    /// Goes before the device.
    mount: Mount,
    device: Device,
}

impl Place {
    pub fn new(kind: Filesystem) -> Result<Place> {
        let device = Device::new(MIB).map_err(|e| format!("a disk of our own (by FUSE, which takes root): {e}"))?;
        command::run_quietly(Command::new(kind.maker()).arg("-q").arg(device.path()))?;
        let mount = Mount::of(&device.path(), "loop").ok_or("the filesystem cannot be mounted: run this as root")?;
        Ok(Place { kind, mount, device })
    }

    /// Lets a crowd live here, cuts the power up to so many times meanwhile, and judges what is left.
    ///
    /// # Errors
    /// The first finding.
    pub fn crowd(&self, seed: u64, cuts: u64, start: Start<'_>, marks: &Marks) -> Result<Tally> {
        let (plan, rng) = (Arc::new(Plan::on_a_real_disk(seed)), &mut fastrand::Rng::with_seed(seed));
        let about = |finding| format!("{plan:?}\n  {finding}");
        let directory = tempfile::tempdir_in(self.mount.point()).map_err(|e| format!("a directory: {e}"))?;
        // It is to be there whatever the disk loses.
        self.mount.sync();
        let (path, disk) = (directory.path().join(FILE), Disk::itself(marks.listener()));
        let left = thread::scope(|scope| {
            let crowd = scope.spawn(|| crowd::live(&plan, &disk, &path, start));
            let mut left = Vec::new();
            while !crowd.is_finished() && (left.len() as u64) < cuts {
                left.push(self.cut(directory.path(), marks, rng)?);
                thread::sleep(PAUSE.mul_f64(rng.f64()));
            }
            crowd.join().map_err(|_| "the crowd panicked".to_string())?.map(|()| left)
        });
        crash::left_of_crowd(&plan, &path, &left.map_err(about)?, rng).map_err(about)
    }

    /// Cuts the power: what is left of the database's files.
    fn cut(&self, directory: &Path, marks: &Marks, rng: &mut fastrand::Rng) -> Result<Left> {
        let known_before = marks.read()?;
        let held = self.device.cut(rng.u32(..CALLS_MAX), rng.fork());
        let allowed = allowed(&marks.read()?, known_before.len());
        let image = tempfile::NamedTempFile::new_in(marks.directory.path()).map_err(|e| format!("an image: {e}"))?;
        let stored = image.as_file().set_len((MIB << 20) as u64).and_then(|()| held.store(image.as_file()));
        stored.map_err(|e| format!("an image: {e}"))?;
        let mount = Mount::of(image.path(), self.kind.options()).ok_or("what is left cannot be mounted")?;
        let directory = mount.point().join(directory.file_name().unwrap_or_default());
        let read = |path: PathBuf| match std::fs::read(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {e}", path.display())),
            read => Ok(read.unwrap_or_default()),
        };
        let data = directory.join(FILE);
        Ok((Files { log: read(data.with_extension("dm-log"))?, data: read(data)? }, allowed))
    }
}

/// Which states may be left: of what was said in all, only so much was before the power was cut for certain.
fn allowed(marks: &[Mark], before: usize) -> Allowed {
    let mut allowed = Allowed::default();
    for (i, mark) in marks.iter().enumerate() {
        match *mark {
            Mark::Durable(state) if i >= before => allowed.mark(Mark::Begun(state)),
            mark => allowed.mark(mark),
        }
    }
    allowed
}

/// What the processes of a crowd come to know, in a file that all of them write.
pub struct Marks {
    directory: tempfile::TempDir,
}

impl Marks {
    pub fn new() -> Marks {
        Marks { directory: duramen_sim::scratch() }
    }

    /// The file.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("marks")
    }

    fn listener(&self) -> Listener {
        listener(&self.path())
    }

    /// All that was said, in order.
    fn read(&self) -> Result<Vec<Mark>> {
        let bytes = std::fs::read(self.path()).map_err(|e| format!("{}: {e}", self.path().display()))?;
        Ok(bytes.chunks_exact(MARK_BYTES).filter_map(decoded).collect())
    }
}

const MARK_BYTES: usize = 9;

/// Who tells the file of marks.
///
/// # Panics
/// If it cannot be written to: what is not said would be held against the database.
pub fn listener(path: &Path) -> Listener {
    let file = OpenOptions::new().append(true).create(true).open(path).expect("a file for marks");
    Box::new(move |mark| (&file).write_all(&encoded(mark)).expect("a mark that can be noted"))
}

fn encoded(mark: Mark) -> [u8; MARK_BYTES] {
    let (kind, state) = match mark {
        Mark::Begun(state) => (b'b', state),
        Mark::Durable(state) => (b'd', state),
        Mark::Void(state) => (b'v', state),
    };
    let mut bytes = [kind; MARK_BYTES];
    bytes[1..].copy_from_slice(&(state as u64).to_be_bytes());
    bytes
}

fn decoded(bytes: &[u8]) -> Option<Mark> {
    let (kind, state) = bytes.split_first()?;
    let state = u64::from_be_bytes(state.try_into().ok()?) as usize;
    match kind {
        b'b' => Some(Mark::Begun(state)),
        b'd' => Some(Mark::Durable(state)),
        b'v' => Some(Mark::Void(state)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_after_a_cut_was_decided_upon_is_not_to_be_there_for_certain() {
        let marks = Marks::new();
        let (one, other) = (marks.listener(), marks.listener());
        let all = [Mark::Begun(1), Mark::Durable(1), Mark::Begun(3), Mark::Void(2), Mark::Durable(3)];
        for (i, mark) in all.into_iter().enumerate() {
            if i % 2 == 0 { one(mark) } else { other(mark) }
        }
        let said = marks.read().unwrap();
        assert_eq!(said, all);
        assert_eq!(allowed(&said, 2).states().collect::<Vec<_>>(), [3, 1]);
        assert_eq!(allowed(&said, 5).states().collect::<Vec<_>>(), [3]);
        assert_eq!(allowed(&[], 0).range(), 0..=0);
    }
}
