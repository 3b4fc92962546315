//! Numbers of one width as numbers of another.
//!
//! Owns: the conversions that lose nothing, each with what makes that so. What a caller or a file may have made too large
//! is refused before it comes here; bits that are to be lost are masked where they are lost.

use std::time::Duration;

const _: () = assert!(usize::BITS == 64, "a file is mapped as a whole: addresses need 64 bits");

/// A number of pages or bytes as an index or a length.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "both have 64 bits: see above")]
pub(crate) const fn to_usize(n: u64) -> usize {
    n as usize
}

/// A number that the caller knows to be below 2^32: an index of what is in memory, a length that was checked.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the caller knows")]
pub(crate) const fn to_u32(n: usize) -> u32 {
    debug_assert!(n <= u32::MAX as usize);
    n as u32
}

/// A number that the caller knows to be below 65536: an offset or a length within a page.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the caller knows")]
pub(crate) const fn to_u16(n: usize) -> u16 {
    debug_assert!(n <= u16::MAX as usize);
    n as u16
}

/// A number that the caller knows to be below 256: a level of a tree.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the caller knows")]
pub(crate) const fn to_u8(n: usize) -> u8 {
    debug_assert!(n <= u8::MAX as usize);
    n as u8
}

/// The lower half of a number.
#[inline(always)]
pub(crate) const fn low(n: u64) -> u32 {
    (n & 0xFFFF_FFFF) as u32
}

/// A time in whole microseconds; the longest that there is if it is longer.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
