//! A disk whose power can be cut: a file of a FUSE filesystem, of which the kernel makes a block device.
//!
//! Owns: what was written to it and not flushed, and what a cut leaves of that. Must not know: what lies on it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
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
    pub fn cut(&self, calls: u32, rng: fastrand::Rng) -> Content {
        let (cut, left) = Cut::new(calls, rng);
        self.lock().cut = Some(cut);
        match left.recv_timeout(PATIENCE) {
            Ok(left) => left,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let mut platter = self.lock();
                // It may have been made meanwhile.
                left.try_recv().unwrap_or_else(|_| {
                    let cut = platter.cut.take();
                    cut.map(|mut cut| platter.image(&mut cut.rng)).unwrap_or_default()
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
    image: Sender<Content>,
}

impl Cut {
    fn new(calls: u32, rng: fastrand::Rng) -> (Cut, Receiver<Content>) {
        let (image, left) = mpsc::channel();
        (Cut { calls, rng, image }, left)
    }
}

/// Bytes, most of which are zeros: pieces by their numbers, shared until one changes.
#[derive(Clone, Default)]
pub struct Content(BTreeMap<usize, Arc<[u8; PIECE]>>);

const PIECE: usize = 1 << 14;

impl Content {
    fn write(&mut self, mut at: usize, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(PIECE - at % PIECE));
            let piece = Arc::make_mut(self.0.entry(at / PIECE).or_insert_with(|| Arc::new([0; PIECE])));
            piece[at % PIECE..][..now.len()].copy_from_slice(now);
            (at, bytes) = (at + now.len(), later);
        }
    }

    fn read(&self, at: usize, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len);
        while bytes.len() < len {
            let at = at + bytes.len();
            let now = (len - bytes.len()).min(PIECE - at % PIECE);
            match self.0.get(&(at / PIECE)) {
                Some(piece) => bytes.extend_from_slice(&piece[at % PIECE..][..now]),
                None => bytes.resize(bytes.len() + now, 0),
            }
        }
        bytes
    }

    /// Writes it to a file of zeros.
    pub fn store(&self, file: &File) -> io::Result<()> {
        self.0.iter().try_for_each(|(number, piece)| file.write_all_at(&piece[..], (number * PIECE) as u64))
    }
}

/// What the disk holds.
struct Platter {
    bytes: usize,
    /// With all that was written,
    current: Content,
    /// and what certainly stays.
    stable: Content,
    /// What the latter lacks: where, and what.
    unflushed: Vec<(usize, Box<[u8]>)>,
    cut: Option<Cut>,
}

impl Platter {
    fn of(bytes: usize) -> Platter {
        let (current, stable) = Default::default();
        Platter { bytes, current, stable, unflushed: Vec::new(), cut: None }
    }

    fn read(&self, at: usize, bytes: usize) -> Vec<u8> {
        let at = at.min(self.bytes);
        self.current.read(at, bytes.min(self.bytes - at))
    }

    /// Takes what fits; how much that is.
    fn write(&mut self, at: usize, bytes: &[u8]) -> usize {
        let at = at.min(self.bytes);
        let bytes = &bytes[..bytes.len().min(self.bytes - at)];
        self.current.write(at, bytes);
        self.unflushed.push((at, bytes.into()));
        self.called();
        bytes.len()
    }

    fn flush(&mut self) {
        self.unflushed.drain(..).for_each(|(at, bytes)| self.stable.write(at, &bytes));
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
    fn image(&self, rng: &mut fastrand::Rng) -> Content {
        let (share, part) = (SHARES[rng.usize(..SHARES.len())], [usize::MAX, 4096, SECTOR][rng.usize(..3)]);
        let last = if rng.bool() { self.unflushed.len() } else { rng.usize(..=self.unflushed.len()) };
        let mut image = self.stable.clone();
        for (at, bytes) in &self.unflushed[..last] {
            let mut at = *at;
            for piece in bytes.chunks(part) {
                if rng.u32(..100) < share {
                    image.write(at, piece);
                }
                at += piece.len();
            }
        }
        image
    }
}

/// The filesystem with the one file.
struct Served(Arc<Mutex<Platter>>);

impl Served {
    fn attributes(&self, ino: INodeNo) -> FileAttr {
        let is_file = ino == FILE;
        let size = if is_file { lock(&self.0).bytes as u64 } else { 0 };
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
        reply.data(&lock(&self.0).read(offset as usize, size as usize));
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
    fn content_is_what_was_written_and_zeros() {
        let mut content = Content::default();
        let (at, bytes) = (PIECE - 2, [7; PIECE]);
        content.write(at, &bytes);
        let mut wanted = vec![0; 3 * PIECE];
        wanted[at..at + PIECE].copy_from_slice(&bytes);
        assert_eq!(content.read(0, 3 * PIECE), wanted);
        let file = tempfile::tempfile().unwrap();
        file.set_len(wanted.len() as u64).unwrap();
        content.store(&file).unwrap();
        let mut stored = vec![1; wanted.len()];
        file.read_exact_at(&mut stored, 0).unwrap();
        assert_eq!(stored, wanted);
    }

    #[test]
    fn a_cut_takes_only_what_was_not_flushed_and_no_sector_by_half() {
        let mut platter = Platter::of(8 * SECTOR);
        platter.write(0, &[1; 4 * SECTOR]);
        platter.flush();
        platter.write(2 * SECTOR, &[2; 4 * SECTOR]);
        let left = |platter: &Platter, seed| platter.image(&mut fastrand::Rng::with_seed(seed)).read(0, 8 * SECTOR);
        let mut images: Vec<_> = (0..3_000).map(|seed| left(&platter, seed)).collect();
        for image in &images {
            assert!(image[..2 * SECTOR] == [1; 2 * SECTOR] && image[6 * SECTOR..] == [0; 2 * SECTOR]);
            assert!(image.chunks(SECTOR).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
        }
        images.sort();
        images.dedup();
        assert_eq!(images.len(), 16, "each of four sectors is there, or is not");
        platter.flush();
        assert_eq!(left(&platter, 0), platter.read(0, 8 * SECTOR));
    }

    #[test]
    fn a_cut_comes_with_its_call() {
        let mut platter = Platter::of(SECTOR);
        let (cut, left) = Cut::new(2, fastrand::Rng::new());
        platter.cut = Some(cut);
        platter.write(0, &[1; SECTOR]);
        assert!(left.try_recv().is_err());
        platter.flush();
        assert_eq!(left.try_recv().unwrap().read(0, SECTOR), [1; SECTOR]);
        assert_eq!(platter.write(SECTOR - 1, &[3, 3]), 1, "the disk has an end");
    }
}
