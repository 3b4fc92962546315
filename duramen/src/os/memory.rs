//! What the operating system says of memory: how much of it the process may fill with a file's pages, or take for itself, and
//! how often a thread had to wait for the disk. Giving back to it what the process no longer needs.
//!
//! Owns: reading `/proc` and the control groups, the thread's counters. Must not know: what the answers are used for.
//!
//! # Safety
//! One system call that rustix does not offer; it fills a structure of this function's own. One that makes zeros of bytes
//! that the caller alone has.
#![allow(unsafe_code)]

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use crate::os::coarse_unix_ms;
use crate::os::limits::{self, Limit};

/// Bytes in a block of `ru_inblock`.
const BLOCK_BYTES: u64 = 512;

/// What a fault that waited for the disk reads at least.
const FAULT_BYTES: u64 = 4096;

/// For how long an answer of [`for_files`] is good: finding it takes some thirty system calls, and programs open many
/// files, or one again and again.
const GOOD_FOR_MS: u64 = 1000;

/// Bytes of files that fit into memory beside all that is in use now: what the machine has available, or less where a
/// control group says so. `u64::MAX` if nothing can be found out. As of now or a moment ago.
pub(crate) fn for_files() -> u64 {
    static LAST: Mutex<Option<(u64, u64)>> = Mutex::new(None);
    let now = coarse_unix_ms();
    // Never waited for: after a fork its owner may not exist.
    let Ok(mut last) = LAST.try_lock() else { return for_files_now() };
    match *last {
        // A clock that was set back has it found anew.
        Some((asked, bytes)) if now.wrapping_sub(asked) < GOOD_FOR_MS => bytes,
        _ => last.insert((now, for_files_now())).1,
    }
}

fn for_files_now() -> u64 {
    let available = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_of(&text));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    limits(&groups).chain(available).min().unwrap_or(u64::MAX)
}

/// Bytes that the process may take for itself beside all that it has: no more than fit into memory, and than its limits of
/// address space and data leave.
pub(crate) fn for_own() -> u64 {
    let limits = [(Limit::AddressSpace, "VmSize:"), (Limit::Data, "VmData:")];
    let limits = limits.map(|(of, taken)| limits::soft(of).map(|limit| (limit, taken)));
    if limits.iter().all(Option::is_none) {
        return for_files();
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let left = |(limit, taken): (u64, &str)| limit.saturating_sub(kilobytes_of(&status, taken).unwrap_or(0));
    limits.into_iter().flatten().map(left).fold(for_files(), u64::min)
}

/// What `/proc/meminfo` says is available, in bytes.
fn available_of(meminfo: &str) -> Option<u64> {
    kilobytes_of(meminfo, "MemAvailable:")
}

/// The line that begins so, in bytes.
fn kilobytes_of(text: &str, begin: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(begin))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The limits of the process's control groups and of those around them, as far as they can be read.
fn limits(groups: &str) -> impl Iterator<Item = u64> {
    groups.lines().filter_map(group_of).flat_map(|(root, file, group)| {
        let group = Path::new(group.trim_start_matches('/'));
        group.ancestors().filter_map(move |group| {
            let text = fs::read_to_string(Path::new(root).join(group).join(file)).ok()?;
            text.trim().parse().ok()
        })
    })
}

/// Where the limit of one line of `/proc/self/cgroup` is found: the hierarchy, the file, the group's path.
fn group_of(line: &str) -> Option<(&'static str, &'static str, &str)> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, parts.next()?);
    if controllers.is_empty() {
        return Some(("/sys/fs/cgroup", "memory.max", group));
    }
    let limited = controllers.split(',').any(|controller| controller == "memory");
    limited.then_some(("/sys/fs/cgroup/memory", "memory.limit_in_bytes", group))
}

/// About how many bytes this thread has had read from disks so far, by asking or by touching: whether it grows tells
/// whether something was not in memory.
pub(crate) fn bytes_read() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is as large as the call fills it, and zeros are a value of it.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    // Some filesystems count no blocks; faults that waited for a page are counted everywhere.
    let blocks = usage.ru_inblock.cast_unsigned().wrapping_mul(BLOCK_BYTES);
    blocks.wrapping_add(usage.ru_majflt.cast_unsigned().wrapping_mul(FAULT_BYTES))
}

/// Gives the machine's pages in the process's own memory back to the system; it has zeros then, or what it had. For memory that
/// is to be freed: the allocator keeps what lies below anything that is still in use.
pub(crate) fn give_back(memory: &mut [u8]) {
    let page = rustix::param::page_size();
    let start = memory.as_ptr().align_offset(page).min(memory.len());
    let whole = (memory.len() - start) / page * page;
    let inner = &mut memory[start..start + whole];
    // SAFETY: nobody else has these bytes, and zeros are values of them. No harm comes of a refusal.
    let _ = unsafe { rustix::mm::madvise(inner.as_mut_ptr().cast(), whole, rustix::mm::Advice::LinuxDontNeed) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_given_back_has_zeros_and_what_lies_beside_it_stays() {
        let mut memory = vec![7; 100_000];
        give_back(&mut memory[100..90_000]);
        assert!(memory[..100].iter().chain(&memory[90_000..]).all(|&byte| byte == 7));
        let zeros = memory.iter().filter(|&&byte| byte == 0).count();
        assert!(zeros >= 90_000 - 100 - 2 * rustix::param::page_size() && zeros % rustix::param::page_size() == 0);
        memory.fill(8);
        give_back(&mut memory[..0]);
        give_back(&mut memory[..10]);
        assert!(memory.iter().all(|&byte| byte == 8));
    }

    #[test]
    fn the_memory_for_files_is_no_more_than_the_machine_has() {
        let text = fs::read_to_string("/proc/meminfo").unwrap();
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap();
        let total: u64 = total.split_whitespace().next().unwrap().parse().unwrap();
        assert!((1..=total * 1024).contains(&for_files()), "{}", for_files());
    }

    #[test]
    fn a_line_of_meminfo_is_in_kibibytes() {
        assert_eq!(available_of("MemTotal: 7 kB\nMemAvailable:    3 kB\n"), Some(3072));
        assert_eq!(available_of("MemTotal: 7 kB\nMemAvailable: many kB\n"), None);
        assert_eq!(available_of(""), None);
    }

    #[test]
    fn where_address_space_is_limited_no_more_is_for_the_process_than_is_left_of_it() {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        assert!(crate::os::fork::in_forked_child(|| {
            let limit = Rlimit { current: Some(1 << 30), maximum: getrlimit(Resource::As).maximum };
            setrlimit(Resource::As, limit).is_err() || for_own() < 1 << 30
        }));
    }

    #[test]
    fn groups_of_both_versions_are_looked_up_where_their_limits_are() {
        assert_eq!(group_of("0::/user/db"), Some(("/sys/fs/cgroup", "memory.max", "/user/db")));
        let old = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "/a:b");
        assert_eq!(group_of("4:hugetlb,memory:/a:b"), Some(old));
        assert_eq!(group_of("1:cpu:/"), None);
        assert_eq!(group_of("nonsense"), None);
        assert_eq!(limits("nonsense\n9:name=systemd:/").count(), 0);
    }

    #[test]
    fn what_a_thread_has_read_never_shrinks() {
        let before = bytes_read();
        let _ = fs::read("/proc/self/exe");
        assert!(bytes_read() >= before);
    }
}
