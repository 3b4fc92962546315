//! Asking the processor for memory ahead of its use.
//!
//! Owns: the instruction. Must not know: what is fetched.
//!
//! # Safety
//! A prefetch of any address is harmless: it reads nothing as far as the program can tell and never faults. The test
//! below fetches addresses that are not mapped.
#![allow(unsafe_code)]

/// Bytes in a cache line.
pub(crate) const LINE: usize = 64;

/// Fetches the cache line of byte `at` of the slice, or of any byte after its end.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    line(bytes.as_ptr().wrapping_add(at));
}

/// Asks the processor to fetch the cache line at `at`. Any address will do.
#[inline(always)]
fn line(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing as far as the program can tell and never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefetching_any_address_is_harmless() {
        line(std::ptr::null());
        line(std::ptr::dangling());
        prefetch(&[], 1 << 40);
    }
}
