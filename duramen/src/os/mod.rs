//! What the engine asks of the operating system (Linux), behind safe functions.
//!
//! Owns: files, locks, mappings, fork detection, what is said of memory, the coarse clock, chance. Must not know: pages,
//! transactions, the reader protocol.

pub(crate) mod ahead;
mod behind;
pub(crate) mod beside;
pub(crate) mod common;
pub(crate) mod direct;
pub(crate) mod file;
pub(crate) mod flush;
pub(crate) mod fork;
pub(crate) mod frames;
pub(crate) mod identity;
mod limits;
pub(crate) mod lock;
pub(crate) mod memory;
pub(crate) mod overlay;
mod parting;
pub(crate) mod region;
pub(crate) mod thread;

use std::fs::File;
use std::io::{self, Read};

/// Fills `bytes` with what nobody can foresee.
pub(crate) fn random(bytes: &mut [u8]) -> io::Result<()> {
    match rustix::rand::getrandom(&mut *bytes, rustix::rand::GetRandomFlags::empty()) {
        Ok(n) if n == bytes.len() => Ok(()),
        // Sandboxes that were made for other programs do not always let the call pass.
        _ => File::open("/dev/urandom").and_then(|mut source| source.read_exact(bytes)),
    }
}

/// Milliseconds since 1970, as of the kernel's last tick: a few nanoseconds to read, off by up to ten milliseconds.
#[inline]
pub(crate) fn coarse_unix_ms() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    now.tv_sec.cast_unsigned().wrapping_mul(1000).wrapping_add(now.tv_nsec.cast_unsigned() / 1_000_000)
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn the_coarse_clock_tells_unix_time() {
        let fine = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        assert!(super::coarse_unix_ms().abs_diff(fine) < 1000);
    }
}
