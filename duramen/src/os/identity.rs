//! Which file it is, told so that no other has the same before the next reboot, nor the same one after its filesystem
//! was mounted again.
//!
//! Owns: what makes up an [`Identity`]. Must not know: what it is compared for.
//!
//! What was written to a file of the same identity since is there, as far as any process can see: the page cache that
//! took it has not gone.

use std::fs::File;
use std::sync::OnceLock;

use rustix::fs::{AtFlags, StatxFlags, statx};

/// The boot (two words), the mount, the device, the inode, and when that was made in nanoseconds.
pub(crate) type Identity = [u64; 6];

/// `STATX_MNT_ID_UNIQUE` (Linux 6.8): a number of the mount that no later one gets. It comes in `stx_mnt_id`.
const UNIQUE_MOUNT: StatxFlags = StatxFlags::from_bits_retain(0x4000);

/// The identity of an open file; nothing where the system does not tell all of it.
pub(crate) fn of(file: &File) -> Option<Identity> {
    let [boot_high, boot_low] = boot()?;
    let wanted = StatxFlags::INO | StatxFlags::BTIME | UNIQUE_MOUNT;
    let found = statx(file, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
    if found.stx_mask & wanted.bits() != wanted.bits() {
        return None;
    }
    let device = u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor);
    let made = (found.stx_btime.tv_sec as u64).wrapping_mul(1_000_000_000) + u64::from(found.stx_btime.tv_nsec);
    Some([boot_high, boot_low, found.stx_mnt_id, device, found.stx_ino, made])
}

/// What the kernel names this run of the machine by.
fn boot() -> Option<[u64; 2]> {
    static BOOT: OnceLock<Option<[u64; 2]>> = OnceLock::new();
    *BOOT.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let number = u128::from_str_radix(&text.trim().replace('-', ""), 16).ok()?;
        Some([(number >> 64) as u64, number as u64])
    })
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
        assert_eq!(of(&File::open(&path).unwrap()), Some(identity));
        assert_ne!(of(&two), Some(identity));
        drop(one);
        std::fs::remove_file(&path).unwrap();
        // The filesystem's clock ticks every few milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert_ne!(of(&File::create(&path).unwrap()), Some(identity), "its inode may be the same");
    }
}
