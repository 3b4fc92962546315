//! What the operating system knows: bytes written, flushes of the device, anonymous memory, disk space; and copies of a store's directory.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The disk under a directory.
pub struct Disk {
    stat: PathBuf,
}

impl Disk {
    /// The whole disk that holds `dir`; none for memory and network filesystems.
    pub fn under(dir: &Path) -> Option<Self> {
        let device = fs::metadata(dir).ok()?.dev();
        let node = format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device));
        let mut node = fs::canonicalize(node).ok()?;
        // Flushes are counted for whole disks only.
        if node.join("partition").exists() {
            node.pop();
        }
        let disk = Self { stat: node.join("stat") };
        disk.flushes().map(|_| disk)
    }

    /// Flush requests that the disk has completed, of the whole machine (field 16 of its `stat`).
    pub fn flushes(&self) -> Option<u64> {
        fs::read_to_string(&self.stat).ok()?.split_whitespace().nth(15)?.parse().ok()
    }
}

/// Bytes that this process has made dirty in files so far.
pub fn written() -> Result<u64> {
    number_after(Path::new("/proc/self/io"), "write_bytes:")
}

/// Bytes of anonymous memory of this process: what no file backs.
pub fn anonymous_memory() -> Result<u64> {
    Ok(number_after(Path::new("/proc/self/status"), "RssAnon:")? * 1024)
}

fn number_after(file: &Path, label: &str) -> Result<u64> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix(label));
    let word = line.and_then(|line| line.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).with_context(|| format!("{} has no {label}", file.display()))
}

/// Overwrites of 4 KiB with a flush for each that the disk does in a second (median): what one durable commit can cost at best, here and now.
pub fn flush_rate(dir: &Path) -> Result<f64> {
    let path = dir.join("flush-rate");
    let file = File::create(&path)?;
    file.write_all_at(&[1; 64 << 12], 0)?;
    file.sync_all()?;
    let mut times = Vec::new();
    for i in 0..101 {
        let start = Instant::now();
        file.write_all_at(&[2; 1 << 12], (i % 64) << 12)?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    fs::remove_file(path)?;
    times.sort_unstable();
    Ok(1.0 / times[times.len() / 2].as_secs_f64())
}

/// Disk space of all files below `dir`, in bytes: allocated blocks, as `du` counts them.
pub fn disk_usage(dir: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(dir)? {
        let (path, metadata) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))?;
        total += if metadata.is_dir() { disk_usage(&path)? } else { metadata.blocks() * 512 };
    }
    Ok(total)
}

/// Copies a directory and flushes the copy.
pub fn copy_dir(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_dir(&entry.path(), &target)?;
        } else {
            copy_file(&entry.path(), &target).with_context(|| format!("cannot copy to {}", target.display()))?;
        }
    }
    Ok(())
}

/// Copies page by page and leaves holes out: bigger writes would put the copy into large folios of the page cache, in which scattered small
/// writes cost several times more than in a file that a store wrote itself.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let (from, to) = (File::open(from)?, File::create(to)?);
    let len = from.metadata()?.len();
    to.set_len(len)?;
    let mut page = [0; 4096];
    let mut at = seek(&from, 0, libc::SEEK_DATA)?.unwrap_or(len);
    while at < len {
        let end = seek(&from, at, libc::SEEK_HOLE)?.unwrap_or(len);
        while at < end {
            let part = &mut page[..(end - at).min(4096) as usize];
            from.read_exact_at(part, at)?;
            to.write_all_at(part, at)?;
            at += part.len() as u64;
        }
        at = seek(&from, end, libc::SEEK_DATA)?.unwrap_or(len);
    }
    Ok(to.sync_all()?)
}

fn seek(file: &File, at: u64, whence: i32) -> Result<Option<u64>> {
    // SAFETY: the descriptor is open as long as `file` lives, and no memory is passed.
    let found = unsafe { libc::lseek(file.as_raw_fd(), at as i64, whence) };
    match u64::try_from(found) {
        Ok(found) => Ok(Some(found)),
        Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(_) => bail!("lseek: {}", std::io::Error::last_os_error()),
    }
}

/// All files below `dir`.
fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// Reads all files below `dir`, so that they are in memory.
pub fn read_all(dir: &Path) -> Result<()> {
    for path in files(dir)? {
        std::io::copy(&mut File::open(path)?, &mut std::io::sink())?;
    }
    Ok(())
}

/// Drops all files below `dir` from memory.
pub fn evict(dir: &Path) -> Result<()> {
    for path in files(dir)? {
        let file = File::open(path)?;
        file.sync_all()?;
        // SAFETY: the descriptor is open as long as `file` lives, and no memory is passed.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    }
    Ok(())
}

/// A control group around this process that limits its memory, files that it reads included.
pub struct MemoryLimit {
    group: PathBuf,
    parent: PathBuf,
}

impl MemoryLimit {
    /// A limit of so many bytes, but no less than 32 MiB; none where no control group can be made.
    pub fn new(bytes: u64) -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let limit = Self::around_this(&groups, bytes)?;
        // What a store knows of memory may be a second old.
        thread::sleep(Duration::from_millis(1100));
        Some(limit)
    }

    fn around_this(groups: &str, bytes: u64) -> Option<Self> {
        groups.lines().find_map(|line| {
            let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
            let (root, file) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max"),
                "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                _ => return None,
            };
            let parent = Path::new(root).join(group.trim_start_matches('/'));
            let limit = Self { group: parent.join(format!("duramen-bench-{}", std::process::id())), parent };
            fs::create_dir(&limit.group).ok()?;
            fs::write(limit.group.join(file), bytes.max(32 << 20).to_string()).ok()?;
            fs::write(limit.group.join("cgroup.procs"), "0").ok()?;
            Some(limit)
        })
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // What cannot be undone goes with the machine.
        let _ = fs::write(self.parent.join("cgroup.procs"), "0");
        let _ = fs::remove_dir(&self.group);
    }
}

/// Writes back what the last child left dirty, so that the next one does not pay for it.
pub fn settle() {
    // SAFETY: takes no arguments and cannot fail.
    unsafe { libc::sync() };
}

/// Processor, cores, memory, kernel and filesystem in one line.
pub fn machine(dir: &Path) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let memory = number_after(Path::new("/proc/meminfo"), "MemTotal:").unwrap_or(0) >> 20;
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    let model = model.unwrap_or("unknown processor");
    format!("{model}, {cores} cores, {memory} GiB, Linux {}, {}", kernel.trim(), filesystem(dir))
}

fn filesystem(dir: &Path) -> String {
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let holders = fields.filter(|fields| fields.len() > 2 && dir.starts_with(fields[1]));
    holders.max_by_key(|fields| fields[1].len()).map_or("unknown filesystem".into(), |fields| fields[2].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_directory_has_the_same_bytes_and_holes() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("inner")).unwrap();
        let file = File::create(from.join("inner/sparse")).unwrap();
        file.write_all_at(b"start", 0).unwrap();
        file.write_all_at(b"end", 1 << 20).unwrap();
        copy_dir(&from, &to).unwrap();
        let [old, new] = [&from, &to].map(|dir| fs::read(dir.join("inner/sparse")).unwrap());
        assert_eq!(old, new);
        assert!(disk_usage(&to).unwrap() < 1 << 19);
    }

    #[test]
    fn counters_of_this_process_can_be_read() {
        assert!(anonymous_memory().unwrap() > 0);
        written().unwrap();
    }
}
