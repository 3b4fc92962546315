//! Checksums over what a store returned. They depend on the order of the records.
//!
//! The full one covers each byte and is used outside of timed loops; the light one reads both ends of a value, so that its memory is touched,
//! and costs a nanosecond or two.

use xxhash_rust::xxh3::xxh3_64;

/// How closely a checksum looks.
#[derive(Clone, Copy)]
pub enum Checksum {
    /// Every byte of key and value, mixed.
    Full,
    /// Lengths, start of the key, both ends of the value.
    Light,
    /// Every byte of the value once, at the speed of memory: for big values.
    Whole,
}

impl Checksum {
    /// The checksum `sum` continued by one record.
    #[inline]
    pub fn add(self, sum: u64, key: &[u8], value: &[u8]) -> u64 {
        match self {
            Self::Full => sum.rotate_left(5) ^ xxh3_64(key).wrapping_add(xxh3_64(value).rotate_left(32)),
            Self::Light => light(sum, key, value),
            Self::Whole => light(sum, key, value).wrapping_add(total(value)),
        }
    }
}

#[inline]
fn light(sum: u64, key: &[u8], value: &[u8]) -> u64 {
    let ends = first_word(key) ^ first_word(value).rotate_left(21) ^ last_word(value).rotate_left(42);
    sum.rotate_left(5) ^ ends.wrapping_add((key.len() + value.len()) as u64)
}

fn total(value: &[u8]) -> u64 {
    let (words, rest) = value.as_chunks::<8>();
    let total = words.iter().fold(0u64, |total, word| total.wrapping_add(u64::from_le_bytes(*word)));
    rest.iter().fold(total, |total, byte| total.wrapping_add(u64::from(*byte)))
}

fn first_word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

fn last_word(bytes: &[u8]) -> u64 {
    bytes.last_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_depends_on_order_and_on_values() {
        for checksum in [Checksum::Full, Checksum::Light, Checksum::Whole] {
            let of = |records: [(&[u8], &[u8]); 2]| records.iter().fold(0, |sum, (k, v)| checksum.add(sum, k, v));
            let a: (&[u8], &[u8]) = (b"aaaaaaaaaaaaaaaa", b"0123456789");
            let b: (&[u8], &[u8]) = (b"bbbbbbbbbbbbbbbb", b"9876543210");
            assert_ne!(of([a, b]), of([b, a]));
            assert_ne!(of([a, b]), of([a, (b.0, a.1)]));
        }
    }
}
