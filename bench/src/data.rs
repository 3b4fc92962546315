//! The records that every store gets: made from their number alone, so no table of them has to be kept or looked up in a timed loop.

/// Bytes of a key.
pub const KEY: usize = 16;
/// Bytes of an ordinary value.
pub const VALUE: usize = 100;
/// Bytes of a big value.
pub const BIG_VALUE: usize = 100_000;

/// Version of the values that a load writes; each later workload writes another one.
pub const LOADED: u64 = 0;

/// The finalizer of splitmix64: a bijection that scatters its input.
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// The key of record `i`: 16 bytes that look random, different for each `i`.
pub fn key(i: u64) -> [u8; KEY] {
    let first = mix(i);
    let mut key = [0; KEY];
    key[..8].copy_from_slice(&first.to_be_bytes());
    key[8..].copy_from_slice(&mix(first ^ 0x6475_7261_6D65_6E21).to_be_bytes());
    key
}

/// Makes values that neither compress nor repeat, at the price of a copy.
pub struct Values {
    pool: Vec<u8>,
    buffer: Vec<u8>,
}

impl Values {
    /// Values of `len` bytes (at least 8).
    pub fn new(len: usize) -> Self {
        let words = (len * 4).max(64 << 10) / 8;
        let pool = (0..words as u64).flat_map(|i| mix(!i).to_le_bytes()).collect();
        Self { pool, buffer: vec![0; len] }
    }

    /// The value of record `i` in `version`.
    pub fn get(&mut self, i: u64, version: u64) -> &[u8] {
        let tag = mix(i ^ mix(version));
        let len = self.buffer.len();
        let start = (tag % (self.pool.len() - len) as u64) as usize;
        self.buffer.copy_from_slice(&self.pool[start..start + len]);
        self.buffer[..8].copy_from_slice(&tag.to_le_bytes());
        &self.buffer
    }
}

/// A sequence of random numbers that is the same for every store.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(mix(seed))
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        ((u128::from(mix(self.0)) * u128::from(n)) >> 64) as u64
    }
}

/// All numbers below `n` in an order that is neither theirs nor that of their keys.
pub fn shuffled(n: u64) -> impl Iterator<Item = u64> {
    let mut stride = (n as f64 * 0.618) as u64 | 1;
    while gcd(stride, n) != 1 {
        stride += 2;
    }
    (0..n).scan(n / 3, move |at, _| {
        *at = (*at + stride) % n;
        Some(*at)
    })
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn keys_of_different_records_differ() {
        assert_eq!((0..10_000).map(key).collect::<HashSet<_>>().len(), 10_000);
    }

    #[test]
    fn shuffling_visits_every_number_once() {
        for n in [1, 2, 3, 7, 1000, 4096] {
            let mut seen: Vec<_> = shuffled(n).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_value_depends_on_its_record_and_its_version() {
        let mut values = Values::new(VALUE);
        let first = values.get(1, LOADED).to_vec();
        assert_eq!(first.len(), VALUE);
        assert_eq!(first, values.get(1, LOADED));
        assert_ne!(first, values.get(2, LOADED));
        assert_ne!(first, values.get(1, LOADED + 1));
    }
}
