//! Sets of the lower bits of ids, as small as they come: a list, ranges, or bits.
//!
//! | length | what |
//! |---|---|
//! | 1,024 | a bit for each number |
//! | even, less | numbers of two bytes, ascending |
//! | odd | a byte 0, then ranges: first and last of each, two bytes each |

use roaring::RoaringBitmap;

use crate::tables::Id;

/// Bits of an id that a container has.
pub(crate) const CONTAINER_BITS: u32 = 13;
/// The lower bits.
pub(crate) const LOW: u32 = (1 << CONTAINER_BITS) - 1;
const BITMAP: usize = 1 << (CONTAINER_BITS - 3);

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    bytes.as_chunks::<2>().0.iter().map(|&pair| u16::from_le_bytes(pair))
}

/// Whether these bytes are a container.
pub(crate) fn is_container(bytes: &[u8]) -> bool {
    let ascending = |bytes| numbers(bytes).is_sorted() && numbers(bytes).all(|low| u32::from(low) <= LOW);
    match bytes.len() {
        0 => false,
        BITMAP => true,
        length if length % 2 == 0 => length < BITMAP && ascending(bytes),
        length => length % 4 == 1 && bytes[0] == 0 && ascending(&bytes[1..]),
    }
}

/// Calls `each` with the ranges of numbers, ascending.
fn ranges(bytes: &[u8], mut each: impl FnMut(u16, u16)) {
    match bytes.len() {
        BITMAP => {
            for (n, word) in bytes.as_chunks::<8>().0.iter().enumerate() {
                let mut word = u64::from_le_bytes(*word);
                while word != 0 {
                    let first = word.trailing_zeros();
                    let run = (word >> first).trailing_ones();
                    each((n as u32 * 64 + first) as u16, (n as u32 * 64 + first + run - 1) as u16);
                    let done = first + run;
                    word = if done == 64 { 0 } else { word >> done << done };
                }
            }
        }
        length if length % 2 == 0 => numbers(bytes).for_each(|low| each(low, low)),
        _ => bytes[1..].as_chunks::<4>().0.iter().for_each(|range| {
            each(u16::from_le_bytes([range[0], range[1]]), u16::from_le_bytes([range[2], range[3]]));
        }),
    }
}

/// Adds the ids of a container to a set; they are greater than all in it that are not from the same container.
pub(super) fn add_to(set: &mut RoaringBitmap, high: u32, bytes: &[u8]) {
    let base = high << CONTAINER_BITS;
    ranges(bytes, |first, last| {
        if first == last {
            set.insert(base | u32::from(first));
        } else if first < last {
            set.insert_range(base | u32::from(first)..=base | u32::from(last));
        }
    });
}

/// The only id of a container, if there is one only.
pub(super) fn single(high: u32, bytes: &[u8]) -> Option<Id> {
    let low: [u8; 2] = bytes.try_into().ok()?;
    Some(high << CONTAINER_BITS | u32::from(u16::from_le_bytes(low)))
}

/// The smallest form of ascending numbers.
pub(crate) fn encode(lows: &[u16]) -> Vec<u8> {
    let runs = 1 + lows.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count();
    let (list, ranges) = (2 * lows.len(), 1 + 4 * runs);
    if list <= ranges && list < BITMAP {
        return lows.iter().flat_map(|low| low.to_le_bytes()).collect();
    }
    if ranges < BITMAP {
        let mut out = Vec::with_capacity(ranges);
        out.push(0);
        for run in lows.chunk_by(|a, b| a + 1 == *b) {
            out.extend_from_slice(&run[0].to_le_bytes());
            out.extend_from_slice(&run[run.len() - 1].to_le_bytes());
        }
        return out;
    }
    let mut out = vec![0; BITMAP];
    lows.iter().for_each(|low| out[usize::from(low >> 3)] |= 1 << (low & 7));
    out
}

fn decode(bytes: &[u8]) -> Vec<u16> {
    let mut lows = Vec::with_capacity(bytes.len());
    ranges(bytes, |first, last| lows.extend(first..=last));
    lows
}

/// A container with one number more; `None` if it has it.
pub(crate) fn with(bytes: &[u8], low: u16) -> Option<Vec<u8>> {
    if bytes.len() == BITMAP {
        let (at, bit) = (usize::from(low >> 3), 1 << (low & 7));
        return (bytes[at] & bit == 0).then(|| {
            let mut out = bytes.to_vec();
            out[at] |= bit;
            out
        });
    }
    let mut lows = decode(bytes);
    lows.binary_search(&low).err().map(|at| {
        lows.insert(at, low);
        encode(&lows)
    })
}

/// A container with one number less; `None` if it does not have it. An empty one is not stored.
pub(crate) fn without(bytes: &[u8], low: u16) -> Option<Vec<u8>> {
    let mut lows = decode(bytes);
    let at = lows.binary_search(&low).ok()?;
    lows.remove(at);
    Some(if lows.is_empty() { Vec::new() } else { encode(&lows) })
}

/// A container with more numbers, which ascend.
pub(crate) fn union(bytes: &[u8], more: &[u16]) -> Vec<u8> {
    let mut lows = decode(bytes);
    lows.extend_from_slice(more);
    lows.sort_unstable();
    lows.dedup();
    encode(&lows)
}

/// How many numbers a container has.
pub(crate) fn count(bytes: &[u8]) -> u64 {
    let mut count = 0;
    ranges(bytes, |first, last| count += u64::from(last.saturating_sub(first)) + 1);
    count
}
