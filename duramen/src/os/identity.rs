//! Which file it is, told so that no other has the same before the next reboot; and by which mount, so that what was
//! written to it by the same one is there, as far as any process can see: the page cache that took it has not gone.
//!
//! Owns: what makes up an [`Identity`], what two have in common. Must not know: what they are compared for.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, StatxFlags, statx};

/// The mount, or 0 where the system does not tell; the boot (two words), the device, the inode, and when that was made
/// in nanoseconds, or 0 where the filesystem does not tell. Then another file may have had the inode's number before.
pub(crate) type Identity = [u64; 6];

/// `STATX_MNT_ID_UNIQUE` (Linux 6.8): a number of the mount that no later one gets. It comes in `stx_mnt_id`.
const UNIQUE_MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// The identity of an open file; nothing where the system does not tell all else of it.
pub(crate) fn of(file: &File) -> Option<Identity> {
    let [boot_high, boot_low] = boot()?;
    let wanted = StatxFlags::INO | StatxFlags::BTIME | UNIQUE_MOUNT;
    let found = statx(file, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
    let told = |what: StatxFlags| found.stx_mask & what.bits() == what.bits();
    if !told(StatxFlags::INO) {
        return None;
    }
    let mount = if told(UNIQUE_MOUNT) { found.stx_mnt_id } else { 0 };
    let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
    let nanos = u64::from(found.stx_btime.tv_nsec);
    let made = found.stx_btime.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000) + nanos;
    let made = if told(StatxFlags::BTIME) { made } else { 0 };
    Some([mount, boot_high, boot_low, device, found.stx_ino, made])
}

/// Whether both are of one file, which may have been mounted again in between.
pub(crate) fn is_same_file(one: &Identity, other: &Identity) -> bool {
    one[1..] == other[1..] && one[5] != 0
}

/// Whether both are of one file that has been mounted all the time.
pub(crate) fn is_same_cache(one: &Identity, other: &Identity) -> bool {
    is_same_file(one, other) && one[0] == other[0] && one[0] != 0
}

/// Whether both are certainly of different files: told by the same kernel. Another one, or a container that has a name of
/// its own for the boot, may number devices in its own way. One of the files is open all the time that the other is.
pub(crate) fn is_another_file(one: &Identity, other: &Identity) -> bool {
    let are_told = one[5] != 0 && other[5] != 0;
    one[1..3] == other[1..3] && (one[3..5] != other[3..5] || are_told && one[5] != other[5])
}

/// What the kernel names this run of the machine by.
fn boot() -> Option<[u64; 2]> {
    // Zeros until it is known. Every thread that finds it finds the same.
    static BOOT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    let known = BOOT.each_ref().map(|half| half.load(Ordering::Relaxed));
    if !known.contains(&0) {
        return Some(known);
    }
    let mut text = [0; 64];
    let bytes = File::open("/proc/sys/kernel/random/boot_id").and_then(|mut file| file.read(&mut text)).ok()?;
    let digits = std::str::from_utf8(&text[..bytes]).ok()?.trim().replace('-', "");
    let half = |digits| u64::from_str_radix(digits, 16).ok();
    let (high, low) = digits.split_at_checked(16)?;
    let found = [half(high)?, half(low)?];
    BOOT.iter().zip(found).for_each(|(half, found)| half.store(found, Ordering::Relaxed));
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_through_all_handles_and_no_other_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("one");
        let (one, two) = (File::create(&path).unwrap(), File::create(dir.path().join("two")).unwrap());
        // A kernel that does not tell has nothing to compare.
        let Some(identity) = of(&one) else { return };
        let again = of(&File::open(&path).unwrap()).unwrap();
        assert!(is_same_file(&again, &identity));
        assert_eq!(is_same_cache(&again, &identity), identity[0] != 0);
        assert!(!is_same_file(&of(&two).unwrap(), &identity));
        drop(one);
        std::fs::remove_file(&path).unwrap();
        // The filesystem's clock ticks every few milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(30));
        let other = of(&File::create(&path).unwrap()).unwrap();
        assert!(!is_same_file(&other, &identity), "its inode may be the same");
    }

    #[test]
    fn a_file_that_was_mounted_again_is_the_same_and_the_cache_is_not() {
        let [before, after, untold] = [7, 8, 0].map(|mount| [mount, 1, 2, 3, 4, 5]);
        assert!(is_same_file(&before, &after) && !is_same_cache(&before, &after));
        assert!(is_same_cache(&before, &before) && !is_same_cache(&untold, &untold));
    }

    #[test]
    fn where_it_is_not_told_when_a_file_was_made_two_that_are_there_are_told_apart_and_none_is_known_again() {
        let [one, other, told] = [(5, 0), (6, 0), (5, 9)].map(|(inode, made)| [7, 1, 2, 3, inode, made]);
        assert!(is_another_file(&one, &other) && !is_another_file(&one, &one) && !is_another_file(&one, &told));
        assert!(!is_same_file(&one, &one) && !is_same_cache(&one, &one));
    }
}
