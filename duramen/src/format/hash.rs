//! The hash of pages, meta pages and records: XXH3, 64 bits.
//!
//! Owns: which instructions it is computed with. Must not know: what is hashed.

use std::hash::Hasher;
use std::sync::atomic::{AtomicU32, Ordering};

use twox_hash::XxHash3_64;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Up to so many bytes are hashed without wide registers.
const SHORT: usize = 240;

/// So many times a process hashes with the instructions that all processors of its kind have, before it is asked what this
/// one has. A virtual machine is left for the answer, some ten times: that takes as long as what is gained by a thousand pages,
/// and there are programs that open a database for one entry, and end.
const PLAIN_AT_FIRST: u32 = 1000;

/// The hash of bytes that are side by side.
pub(crate) fn hash(bytes: &[u8], seed: u64) -> u64 {
    if bytes.len() > SHORT && is_first() {
        xxh3_64_with_seed(bytes, seed)
    } else {
        XxHash3_64::oneshot_with_seed(seed, bytes)
    }
}

#[inline]
fn is_first() -> bool {
    static DONE: AtomicU32 = AtomicU32::new(0);
    // Not each is counted where threads meet here.
    let done = DONE.load(Ordering::Relaxed);
    let first = done < PLAIN_AT_FIRST;
    if first {
        DONE.store(done + 1, Ordering::Relaxed);
    }
    first
}

/// The hash of bytes that are in several pieces.
pub(crate) struct Pieces(XxHash3_64);

impl Pieces {
    pub(crate) fn new(seed: u64) -> Pieces {
        Pieces(XxHash3_64::with_seed(seed))
    }

    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.0.write(piece);
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_same_by_all_instructions_and_in_pieces() {
        let bytes: Vec<u8> = (0..20_000_u32).map(|i| ((i * i) >> 7) as u8).collect();
        for length in [0, 1, SHORT, SHORT + 1, 1000, 4088, bytes.len()] {
            let bytes = &bytes[..length];
            let found = hash(bytes, 7);
            assert_eq!(
                (xxh3_64_with_seed(bytes, 7), XxHash3_64::oneshot_with_seed(7, bytes)),
                (found, found),
                "{length}"
            );
            let mut pieces = Pieces::new(7);
            bytes.chunks(333).for_each(|piece| pieces.add(piece));
            assert_eq!(pieces.finish(), found, "{length}");
        }
    }
}
