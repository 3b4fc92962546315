//! The data file and the lock file as files: opening, writing, flushing.
//!
//! Owns: [`FileMedium`], how files are opened and created. Must not know: what is in them.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, IoSlice};
use std::ops::Range;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::fs::{FallocateFlags, IFlags, fallocate, ioctl_getflags, ioctl_setflags};
use rustix::io::{Errno, retry_on_intr};

use crate::error::{Error, Result};
use crate::medium::{Medium, OnFlushed};
use crate::os::ahead::Ahead;
use crate::os::behind::Behind;
use crate::os::direct::{self, Block, DirectFile, Until};
use crate::os::flush::Flusher;
use crate::os::fork::ForkGuard;
use crate::os::limits::{self, Limit};

/// Most pieces that the kernel takes in one call.
const PARTS_MAX: usize = 1024;

/// Wraps an [`io::Error`] with what was attempted on which file.
pub(crate) fn failed(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::File { op, path: as_known(path), source }
}

/// The name of a file that is found by its descriptor, as people know it.
fn as_known(path: &Path) -> PathBuf {
    let known = path.starts_with("/proc/self/fd").then(|| std::fs::read_link(path).ok()).flatten();
    known.unwrap_or_else(|| path.to_path_buf())
}

/// The last descriptor of a standard stream.
pub(crate) const LAST_STREAM: RawFd = 2;

/// Gives a file another descriptor than those of the standard streams. Where a daemon has closed them a file would get
/// theirs, and be overwritten by what is printed.
pub(crate) fn apart_from_streams(file: File) -> io::Result<File> {
    if file.as_raw_fd() > LAST_STREAM {
        return Ok(file);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(&file, LAST_STREAM + 1)?.into())
}

/// Opens the data file, and tells of it; `mode` counts only where it is created. All descriptors close on `exec`.
pub(crate) fn open_data(path: &Path, read_only: bool, create: bool, mode: u32) -> Result<(File, Metadata)> {
    let mut options = OpenOptions::new();
    options.read(true).write(!read_only).create(create && !read_only).mode(mode);
    // A named pipe would keep a plain open waiting for its other end; regular files do not mind.
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let not_a_database = |what| Error::NotADatabase { path: path.to_path_buf(), what };
    let file = options.open(path).and_then(apart_from_streams).map_err(|e| match e.kind() {
        ErrorKind::IsADirectory => not_a_database("it is a directory: name the file in it"),
        _ => failed("open", path)(e),
    })?;
    let data = file.metadata().map_err(failed("inspect", path))?;
    let kind = data.file_type();
    if kind.is_dir() {
        return Err(not_a_database("it is a directory: name the file in it"));
    }
    if !kind.is_file() {
        return Err(not_a_database("it is not a regular file"));
    }
    Ok((file, data))
}

/// Opens the lock file, creating it where there is none: with `mode`, from which the umask takes as it does from the
/// data file's. `made` is told of one that this has made.
pub(crate) fn open_lock(path: &Path, mode: u32, made: &dyn Fn(&File)) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let (file, op) = match options.open(path) {
        // Asked for only then: in directories like /tmp the kernel refuses it for files that others have made.
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let new = options.create_new(true).mode(mode).open(path).inspect(write_in_place).inspect(made);
            (new.or_else(|_| options.create_new(false).create(true).open(path).inspect(write_in_place)), "create")
        }
        answer => (answer, "open"),
    };
    file.and_then(apart_from_streams).map_err(failed(op, path))
}

/// Gives a file that was just made, in no place but its own, to the users of the data file: whoever may read and write that may
/// read and write this. Only root can give files away, and others to their own groups; where that is refused the file stays its
/// maker's.
pub(crate) fn give_to_users_of(data: &Metadata, file: &File) -> io::Result<()> {
    let (made, mut allowed) = (file.metadata()?, data.mode() & 0o666);
    let is_given = (made.uid(), made.gid()) == (data.uid(), data.gid())
        || fchown(file, Some(data.uid()), Some(data.gid())).is_ok()
        || fchown(file, None, Some(data.gid())).is_ok();
    if !is_given {
        // What the data file's group is allowed is not for another one, but for what everybody is.
        allowed = allowed & !0o060 | allowed & allowed << 3 & 0o060;
    }
    let mode = made.mode() & 0o777;
    if mode | allowed == mode { Ok(()) } else { file.set_permissions(Permissions::from_mode(mode | allowed)) }
}

/// Asks a filesystem that writes elsewhere what is written over (btrfs) to write this file in place, which is empty yet. Of a
/// file that is changed through a map it would need room for each page again and again, and where there is none left end the
/// process by a signal. Of a log that is written over it would make a new tree with each flush.
pub(crate) fn write_in_place(file: &File) {
    // The others know nothing of that, and need not.
    if let Ok(flags) = ioctl_getflags(file) {
        let _ = ioctl_setflags(file, flags | IFlags::NOCOW);
    }
}

/// Opens the lock file for who only looks at it, if it is there and may be read.
pub(crate) fn open_lock_to_read(path: &Path) -> Option<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    options.open(path).and_then(apart_from_streams).ok()
}

/// Whether `path` still names the open file: it may have been removed or replaced since.
pub(crate) fn is_still_at(file: &File, path: &Path) -> Result<bool> {
    let open = file.metadata().map_err(failed("inspect", path))?;
    match std::fs::metadata(path) {
        Ok(named) => Ok(named.dev() == open.dev() && named.ino() == open.ino()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        Err(e) => Err(failed("inspect", path)(e)),
    }
}

/// Fills `buffer` from `offset`, as far as the file goes; how many bytes that were.
pub(crate) fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Makes a file's name survive a power cut: to be called once after creating it. Where all that is asked for is refused
/// nobody who works here can do better, and the filesystem sees to it in its own time.
pub(crate) fn sync_directory_of(path: &Path) -> Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match sync_names(File::open(directory), || File::open(path)) {
        Err(refused) if cannot_flush(&refused) => Ok(()),
        flushed => flushed.map_err(failed("flush the directory", directory)),
    }
}

/// Flushes a directory, so that the names in it survive a power cut. Where it cannot be flushed (it may be written but not
/// read, its filesystem does not offer that, a sandbox refuses) the whole filesystem is, by way of a file in the directory.
pub(crate) fn sync_names(directory: io::Result<File>, file: impl FnOnce() -> io::Result<File>) -> io::Result<()> {
    match directory.and_then(|directory| directory.sync_all()) {
        Err(refused) if cannot_flush(&refused) => Ok(rustix::fs::syncfs(file()?)?),
        flushed => flushed,
    }
}

/// Whether this is no failure of the disk: it was not asked.
fn cannot_flush(error: &io::Error) -> bool {
    let refusals = [Errno::ACCESS, Errno::PERM, Errno::INVAL, Errno::NOSYS, Errno::NOTSUP];
    Errno::from_io_error(error).is_some_and(|errno| refusals.contains(&errno))
}

/// Refuses what the process may not write because the file would be longer than it may have any: the kernel would do so by
/// a signal, which ends most programs.
pub(crate) fn check_limit(end: u64) -> io::Result<()> {
    if limits::soft(Limit::FileLength).is_some_and(|most| end > most) {
        Err(rustix::io::Errno::FBIG.into())
    } else {
        Ok(())
    }
}

/// A [`Medium`] that is a file.
pub(crate) struct FileMedium {
    file: Arc<File>,
    flusher: Arc<Flusher>,
    /// The same file for writes past the page cache, opened for the first of them; none if that cannot be.
    direct: OnceLock<Option<DirectFile>>,
    /// And for writes that are flushed at once, with what their offsets and lengths are multiples of.
    flushed: OnceLock<Option<(DirectFile, u64)>>,
    /// What has the disk begin with one of those, where the kernel offers it.
    ahead: OnceLock<Option<Ahead>>,
    /// Has the disk begin to write, from the first request on.
    behind: OnceLock<Behind>,
    /// So many bytes the process may have in a file.
    allowed: AtomicU64,
    /// A forked child writes nothing: what it inherited is its parent's to go on with.
    guard: ForkGuard,
}

impl FileMedium {
    /// A medium over a file open for writing.
    pub(crate) fn new(file: Arc<File>) -> FileMedium {
        FileMedium {
            flusher: Arc::new(Flusher::new(file.clone())),
            file,
            direct: OnceLock::new(),
            flushed: OnceLock::new(),
            ahead: OnceLock::new(),
            behind: OnceLock::new(),
            allowed: AtomicU64::new(0),
            guard: ForkGuard::new(),
        }
    }

    /// Refuses to write in a forked child, and what the limit of the process does not let be written. The limit is asked for
    /// where no write has ended so far behind.
    #[inline]
    fn check_may_write(&self, end: u64) -> io::Result<()> {
        self.guard.check().map_err(io::Error::other)?;
        if end <= self.allowed.load(Ordering::Relaxed) { Ok(()) } else { self.ask_for_limit(end) }
    }

    /// The file for a write that is flushed at once, if these bytes can be written so.
    fn flushed_for(&self, offset: u64, bytes: &[u8]) -> Option<&DirectFile> {
        let open =
            || direct::unit(&self.file).and_then(|unit| Some((DirectFile::reopen(&self.file, Until::Durable)?, unit)));
        let (direct, unit) = self.flushed.get_or_init(open).as_ref()?;
        (offset | bytes.len() as u64).is_multiple_of(*unit).then_some(direct)
    }

    fn behind(&self) -> &Behind {
        self.behind.get_or_init(|| Behind::new(self.flusher.clone()))
    }

    #[cold]
    fn ask_for_limit(&self, end: u64) -> io::Result<()> {
        check_limit(end)?;
        self.allowed.fetch_max(end, Ordering::Relaxed);
        Ok(())
    }
}

impl Medium for FileMedium {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        // Alone, a piece takes the shorter way into the kernel.
        let write = |parts: &[IoSlice<'_>], at| match parts {
            [part] => rustix::io::pwrite(&*self.file, part, at),
            _ => rustix::io::pwritev(&*self.file, parts, at),
        };
        // Mostly the kernel takes all at once, and nothing needs to be noted of what is left.
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        self.check_may_write(offset + bytes as u64)?;
        let written = if parts.len() <= PARTS_MAX { rustix::io::retry_on_intr(|| write(parts, offset))? } else { 0 };
        if written == bytes {
            return Ok(());
        }
        let mut left: Vec<IoSlice<'_>> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
        let mut left = &mut left[..];
        IoSlice::advance_slices(&mut left, written);
        write_fully(left, offset + written as u64, write)
    }

    fn write_past_cache(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check_may_write(offset + bytes.len() as u64)?;
        match self.direct.get_or_init(|| DirectFile::reopen(&self.file, Until::Transferred)) {
            Some(direct) => direct.write_at(offset, bytes),
            None => self.write_at(offset, &[IoSlice::new(bytes)]),
        }
    }

    fn write_flushed(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check_may_write(offset + bytes.len() as u64)?;
        match self.flushed_for(offset, bytes) {
            Some(direct) => direct.write_at(offset, &Block::holding(bytes)),
            None => {
                self.write_at(offset, &[IoSlice::new(bytes)])?;
                self.flush()
            }
        }
    }

    fn begin_write_flushed(&self, offset: u64, bytes: &[u8]) -> bool {
        // What may not be written says so when it is.
        self.check_may_write(offset + bytes.len() as u64).is_ok()
            && self.flushed_for(offset, bytes).is_some()
            && self
                .ahead
                .get_or_init(|| Ahead::new(&self.file))
                .as_ref()
                .is_some_and(|ahead| ahead.begin(offset, bytes))
    }

    fn end_write_flushed(&self) -> io::Result<()> {
        self.ahead.get().and_then(Option::as_ref).map_or(Ok(()), Ahead::end)
    }

    fn begin_flush(&self, bytes: Range<u64>) {
        self.behind().ask(bytes);
    }

    fn begin_flush_beside(&self, over: OnFlushed) -> Result<(), OnFlushed> {
        self.behind().begin_flush(over)
    }

    fn take_flush_beside(&self, wait: bool) -> Option<io::Result<()>> {
        self.behind.get()?.take_flush(wait)
    }

    fn flush(&self) -> io::Result<()> {
        if let Some(behind) = self.behind.get() {
            behind.forget();
        }
        Ok(self.flusher.flush()?)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn placed_from(&self, offset: u64) -> u64 {
        match rustix::fs::seek(&self.file, rustix::fs::SeekFrom::Data(offset)) {
            Ok(found) => found,
            Err(rustix::io::Errno::NXIO) => u64::MAX,
            // A file system that does not tell.
            Err(_) => offset,
        }
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.check_may_write(bytes)?;
        self.file.set_len(bytes)
    }
}

/// Calls `write` until nothing is left: the kernel may take fewer pieces, or only a part of one.
fn write_fully(
    mut left: &mut [IoSlice<'_>],
    mut offset: u64,
    mut write: impl FnMut(&[IoSlice<'_>], u64) -> rustix::io::Result<usize>,
) -> io::Result<()> {
    while !left.is_empty() {
        let now = &left[..left.len().min(PARTS_MAX)];
        let written = rustix::io::retry_on_intr(|| write(now, offset))?;
        if written == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        IoSlice::advance_slices(&mut left, written);
        offset += written as u64;
    }
    Ok(())
}

/// Has a file take all the room on disk that its length stands for, as far as its first bytes go, so many. Where the system
/// cannot do that the file stays as it is.
pub(crate) fn fill_holes(file: &File, most: u64) -> io::Result<()> {
    let data = file.metadata()?;
    let len = data.len().min(most);
    if len == data.len() && data.blocks() * 512 >= len {
        return Ok(());
    }
    match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, len)) {
        Err(e @ (Errno::NOSPC | Errno::DQUOT)) => Err(e.into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn errors_name_what_is_found_by_its_descriptor_as_people_know_it() {
        let directory = tempfile::tempdir().unwrap();
        let open = File::open(directory.path()).unwrap();
        let path = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
        let error = failed("write in", &path)(io::ErrorKind::StorageFull.into());
        assert!(error.to_string().contains(&*directory.path().to_string_lossy()), "{error}");
    }

    #[test]
    fn where_a_directory_cannot_be_flushed_its_filesystem_is() {
        let sync = |code, file: io::Result<File>| sync_names(Err(io::Error::from_raw_os_error(code)), || file);
        for refusal in [libc::EACCES, libc::EPERM, libc::EINVAL, libc::ENOSYS, libc::ENOTSUP] {
            assert!(sync(refusal, tempfile::tempfile()).is_ok());
        }
        let gone = sync(libc::EACCES, Err(io::Error::from_raw_os_error(libc::ENOENT)));
        assert_eq!(gone.unwrap_err().raw_os_error(), Some(libc::ENOENT));
        // Of a disk that fails nothing else is asked.
        assert_eq!(sync(libc::EIO, tempfile::tempfile()).unwrap_err().raw_os_error(), Some(libc::EIO));
    }

    #[test]
    fn a_medium_writes_all_parts_and_tells_its_length() {
        let temporary = tempfile::NamedTempFile::new().unwrap();
        let medium = FileMedium::new(Arc::new(temporary.reopen().unwrap()));
        let parts: Vec<[u8; 3]> = (0..3000u32).map(|i| [i as u8, (i >> 8) as u8, 9]).collect();
        let slices: Vec<IoSlice<'_>> = parts.iter().map(|p| IoSlice::new(p)).collect();
        medium.write_at(100, &slices).unwrap();
        medium.flush().unwrap();
        assert_eq!(medium.len().unwrap(), 9100);
        assert_eq!(std::fs::read(temporary.path()).unwrap()[100..], parts.concat());
        medium.set_len(50).unwrap();
        assert_eq!(medium.len().unwrap(), 50);
    }

    #[test]
    fn a_write_that_is_flushed_is_there_whatever_its_length_and_place() {
        let temporary = tempfile::NamedTempFile::new().unwrap();
        let medium = FileMedium::new(Arc::new(temporary.reopen().unwrap()));
        let mut expected = vec![1; 16 << 10];
        medium.write_at(0, &[IoSlice::new(&expected)]).unwrap();
        // Sectors, pages, neither: the last cannot go past the page cache.
        for (offset, bytes) in [(512, 1024), (4096, 8192), (1000, 77), (512, 512), (16 << 10, 512)] {
            let written = vec![bytes as u8 | 2; bytes];
            medium.write_flushed(offset as u64, &written).unwrap();
            expected.resize(expected.len().max(offset + bytes), 0);
            expected[offset..offset + bytes].copy_from_slice(&written);
            assert_eq!(std::fs::read(temporary.path()).unwrap(), expected, "{bytes} at {offset}");
        }
    }

    #[test]
    fn a_directory_is_refused_with_a_clear_error() {
        let directory = tempfile::tempdir().unwrap();
        for read_only in [false, true] {
            let error = open_data(directory.path(), read_only, true, 0o600).unwrap_err();
            assert!(error.to_string().contains("it is a directory"), "{error}");
        }
    }

    #[test]
    fn a_named_pipe_is_refused_without_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let error = open_data(&path, true, false, 0o600).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
    }

    #[test]
    fn a_missing_file_is_named_in_the_error_unless_it_may_be_created() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        let error = open_data(&path, false, false, 0o600).unwrap_err();
        assert!(error.to_string().contains("data"), "{error}");
        assert!(open_data(&path, true, true, 0o600).is_err(), "read-only never creates");
        let file = open_data(&path, false, true, 0o600).unwrap().0;
        sync_directory_of(&path).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_lock_file_gets_its_mode_and_a_replaced_one_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data-lock");
        let open_lock = || open_lock(&path, 0o600, &|_| ()).unwrap();
        let file = open_lock();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(is_still_at(&file, &path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!is_still_at(&file, &path).unwrap());
        let _other = open_lock();
        assert!(!is_still_at(&file, &path).unwrap());
    }

    proptest! {
        #[test]
        fn short_and_interrupted_writes_lose_nothing(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 1..10),
            steps in prop::collection::vec(0usize..12, 1..8),
        ) {
            let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|p| IoSlice::new(p)).collect();
            let mut disk = Vec::new();
            let mut turn = steps.iter().cycle();
            let limit = if steps.iter().all(|&s| s == 0) { 5 } else { 0 };
            write_fully(&mut slices, 7, |parts, at| {
                assert_eq!(at as usize, 7 + disk.len());
                match limit.max(*turn.next().unwrap()) {
                    0 => Err(Errno::INTR),
                    most => {
                        let all: Vec<u8> = parts.iter().flat_map(|p| p.to_vec()).collect();
                        let taken = most.min(all.len());
                        disk.extend_from_slice(&all[..taken]);
                        Ok(taken)
                    }
                }
            }).unwrap();
            prop_assert_eq!(disk, parts.concat());
        }
    }

    #[test]
    fn a_write_that_takes_nothing_is_an_error() {
        let mut slices = [IoSlice::new(b"x")];
        assert_eq!(write_fully(&mut slices, 0, |_, _| Ok(0)).unwrap_err().kind(), ErrorKind::WriteZero);
    }
}
