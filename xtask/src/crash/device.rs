//! A disk whose power can be cut: a file of a FUSE filesystem, of which the kernel makes a block device.
//!
//! Owns: what was written to it and not flushed, and what a cut leaves of that. Must not know: what lies on it.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use duramen_sim::disk::SECTOR;
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, KernelConfig,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyWrite, Request, WriteFlags,
};

const NAME: &str = "device";
const FILE: INodeNo = INodeNo(2);
/// For as long the kernel may remember what the file is like: it stays so.
const FOR_GOOD: Duration = Duration::from_secs(1 << 20);
/// For so long a cut may wait for its call.
const PATIENCE: Duration = Duration::from_secs(1);
/// Of a hundred parts of what was not flushed so many may be there after a cut.
const SHARES: [u32; 7] = [0, 5, 25, 50, 75, 95, 100];

/// See the module's head. It is gone when dropped.
pub struct Device {
    /// Goes before the directory.
    _session: BackgroundSession,
    directory: tempfile::TempDir,
    platter: Arc<Mutex<Platter>>,
}

impl Device {
    /// An empty one of so many MiB.
    ///
    /// # Errors
    /// No filesystem can be mounted: that takes root.
    pub fn new(mib: usize) -> io::Result<Device> {
        let platter = Arc::new(Mutex::new(Platter::of(mib << 20)));
        let directory = tempfile::tempdir()?;
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName(NAME.into())];
        let session = fuser::spawn_mount(Served(platter.clone()), directory.path(), &config)?;
        Ok(Device { _session: session, directory, platter })
    }

    /// The file that it is.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(NAME)
    }

    /// What it holds if the power is cut when so many more calls have come, or none has for a while. It works on.
    pub fn cut(&self, calls: u32, rng: fastrand::Rng) -> Vec<u8> {
        let (cut, left) = Cut::new(calls, rng);
        self.lock().cut = Some(cut);
        match left.recv_timeout(PATIENCE) {
            Ok(left) => left,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let mut platter = self.lock();
                // It may have been made meanwhile.
                left.try_recv().unwrap_or_else(|_| {
                    let cut = platter.cut.take();
                    cut.map_or_else(Vec::new, |mut cut| platter.image(&mut cut.rng))
                })
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Platter> {
        lock(&self.platter)
    }
}

fn lock(platter: &Mutex<Platter>) -> MutexGuard<'_, Platter> {
    platter.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A cut that is to come.
struct Cut {
    calls: u32,
    rng: fastrand::Rng,
    image: Sender<Vec<u8>>,
}

impl Cut {
    fn new(calls: u32, rng: fastrand::Rng) -> (Cut, Receiver<Vec<u8>>) {
        let (image, left) = mpsc::channel();
        (Cut { calls, rng, image }, left)
    }
}

/// What the disk holds.
struct Platter {
    /// With all that was written,
    current: Vec<u8>,
    /// and what certainly stays.
    stable: Vec<u8>,
    /// What the latter lacks: where, and what.
    unflushed: Vec<(usize, Box<[u8]>)>,
    cut: Option<Cut>,
}

impl Platter {
    fn of(bytes: usize) -> Platter {
        Platter { current: vec![0; bytes], stable: vec![0; bytes], unflushed: Vec::new(), cut: None }
    }

    fn read(&self, at: usize, bytes: usize) -> &[u8] {
        let end = self.current.len();
        &self.current[at.min(end)..(at + bytes).min(end)]
    }

    /// Takes what fits; how much that is.
    fn write(&mut self, at: usize, bytes: &[u8]) -> usize {
        let room = self.current.len().saturating_sub(at);
        let bytes = &bytes[..bytes.len().min(room)];
        self.current[at..at + bytes.len()].copy_from_slice(bytes);
        self.unflushed.push((at, bytes.into()));
        self.called();
        bytes.len()
    }

    fn flush(&mut self) {
        for (at, bytes) in self.unflushed.drain(..) {
            self.stable[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        self.called();
    }

    fn called(&mut self) {
        let Some(cut) = &mut self.cut else { return };
        cut.calls = cut.calls.saturating_sub(1);
        if cut.calls == 0
            && let Some(mut cut) = self.cut.take()
        {
            // Who asked may have given up.
            let _ = cut.image.send(self.image(&mut cut.rng));
        }
    }

    /// What is left if the power is cut now: of what was not flushed, some. Whole calls, pages, or sectors of them; of all calls,
    /// or of those up to one.
    fn image(&self, rng: &mut fastrand::Rng) -> Vec<u8> {
        let (share, part) = (SHARES[rng.usize(..SHARES.len())], [usize::MAX, 4096, SECTOR][rng.usize(..3)]);
        let last = if rng.bool() { self.unflushed.len() } else { rng.usize(..=self.unflushed.len()) };
        let mut image = vec![0; self.stable.len()];
        filled(&self.stable).for_each(|(at, piece)| image[at..at + piece.len()].copy_from_slice(piece));
        for (at, bytes) in &self.unflushed[..last] {
            for (i, piece) in bytes.chunks(part).enumerate() {
                if rng.u32(..100) < share {
                    let at = at + i * part.min(bytes.len());
                    image[at..at + piece.len()].copy_from_slice(piece);
                }
            }
        }
        image
    }
}

/// The parts of a disk's content that are not all zeros, and where they are: most of it was never written to.
pub fn filled(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    const PIECE: usize = 1 << 16;
    let pieces = bytes.chunks(PIECE).enumerate().map(|(i, piece)| (i * PIECE, piece));
    pieces.filter(|(_, piece)| piece.iter().any(|byte| *byte != 0))
}

/// The filesystem with the one file.
struct Served(Arc<Mutex<Platter>>);

impl Served {
    fn attributes(&self, ino: INodeNo) -> FileAttr {
        let is_file = ino == FILE;
        let size = if is_file { lock(&self.0).current.len() as u64 } else { 0 };
        FileAttr {
            ino,
            size,
            blocks: size / SECTOR as u64,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_file { FileType::RegularFile } else { FileType::Directory },
            perm: if is_file { 0o600 } else { 0o700 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for Served {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A call of the block layer shall come as one.
        let _ = config.set_max_write(1 << 20);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&FOR_GOOD, &self.attributes(FILE), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOR_GOOD, &self.attributes(ino));
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        reply.data(lock(&self.0).read(offset as usize, size as usize));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        reply.written(lock(&self.0).write(offset as usize, data) as u32);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        lock(&self.0).flush();
        reply.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_takes_only_what_was_not_flushed_and_no_sector_by_half() {
        let mut platter = Platter::of(8 * SECTOR);
        platter.write(0, &[1; 4 * SECTOR]);
        platter.flush();
        platter.write(2 * SECTOR, &[2; 4 * SECTOR]);
        let mut left: Vec<_> = (0..3_000).map(|seed| platter.image(&mut fastrand::Rng::with_seed(seed))).collect();
        for image in &left {
            assert!(image[..2 * SECTOR] == [1; 2 * SECTOR] && image[6 * SECTOR..] == [0; 2 * SECTOR]);
            assert!(image.chunks(SECTOR).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
        }
        left.sort();
        left.dedup();
        assert_eq!(left.len(), 16, "each of four sectors is there, or is not");
        platter.flush();
        assert_eq!(platter.image(&mut fastrand::Rng::with_seed(0)), platter.current);
    }

    #[test]
    fn a_cut_comes_with_its_call() {
        let mut platter = Platter::of(SECTOR);
        let (cut, left) = Cut::new(2, fastrand::Rng::new());
        platter.cut = Some(cut);
        platter.write(0, &[1; SECTOR]);
        assert!(left.try_recv().is_err());
        platter.flush();
        assert_eq!(left.try_recv(), Ok(vec![1; SECTOR]));
        assert_eq!(platter.write(SECTOR - 1, &[3, 3]), 1, "the disk has an end");
    }
}
