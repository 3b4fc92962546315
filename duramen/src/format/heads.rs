//! Search in a sorted array of heads: 4-byte numbers, side by side.
//!
//! Owns: the search. Must not know: what heads are taken from.
//!
//! What costs is waiting for memory, so loads must not wait for each other. Up to a few cache lines the whole array is
//! counted: no branch to mispredict, and the compiler turns it into vector instructions. Longer arrays are sampled
//! first, one head from each group, and then one group is counted: two waits, where halving has one for each step.
//! Very long ones, in large pages, are halved until sampling pays. An array that is not sorted, as a damaged page may
//! have, gives some index within bounds.

/// A head as it lies in a page: little-endian.
pub(crate) type Head = [u8; 4];

/// Arrays up to this long are counted.
const COUNTED: usize = 64;
/// Arrays up to this long are sampled.
const SAMPLED: usize = 1024;
/// Heads for each sample: as many as a cache line has.
const GROUP: usize = 16;

/// The head at `i`, which must be inside.
#[inline]
pub(crate) fn at(heads: &[Head], i: usize) -> u32 {
    u32::from_le_bytes(heads[i])
}

/// How many heads are below `needle`.
#[inline]
pub(crate) fn lower(heads: &[Head], needle: u32) -> usize {
    partition(heads, |head| head < needle)
}

/// How many heads are not above `needle`.
#[inline]
pub(crate) fn upper(heads: &[Head], needle: u32) -> usize {
    partition(heads, |head| head <= needle)
}

/// How many heads satisfy `before`, which must hold for a front part of the array and for no other.
#[inline]
fn partition(heads: &[Head], before: impl Fn(u32) -> bool) -> usize {
    if heads.len() <= COUNTED {
        return count(heads, before);
    }
    let mut skipped = 0;
    let mut window = heads;
    while window.len() > SAMPLED {
        let (left, right) = window.split_at(window.len() / 2);
        let go_right = before(u32::from_le_bytes(left[left.len() - 1]));
        skipped += if go_right { left.len() } else { 0 };
        window = std::hint::select_unpredictable(go_right, right, left);
    }
    let (groups, _) = window.as_chunks::<GROUP>();
    let samples = groups.iter().map(|group| u32::from(before(u32::from_le_bytes(group[GROUP - 1]))));
    let at = GROUP * samples.sum::<u32>() as usize;
    skipped + at + count(&window[at..window.len().min(at + GROUP)], before)
}

/// As `partition`, by looking at every head.
#[inline]
fn count(heads: &[Head], before: impl Fn(u32) -> bool) -> usize {
    heads.iter().map(|head| u32::from(before(u32::from_le_bytes(*head)))).sum::<u32>() as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Arrays short enough to be counted, to be sampled, and longer ones.
    fn array_of<T: Strategy>(head: T) -> impl Strategy<Value = Vec<T::Value>>
    where
        T::Value: Clone,
    {
        // Miri takes minutes to draw thousands of heads.
        let longest = if cfg!(miri) { SAMPLED + 20 } else { 3 * SAMPLED };
        let drawn = if cfg!(miri) { 50 } else { longest };
        let lengths = prop_oneof![0..=COUNTED, COUNTED..400, SAMPLED - 20..longest];
        (lengths, prop::collection::vec(head, drawn))
            .prop_map(|(n, heads)| heads.iter().cloned().cycle().take(n).collect())
    }

    fn array(mut heads: Vec<u32>) -> Vec<Head> {
        heads.sort_unstable();
        heads.into_iter().map(u32::to_le_bytes).collect()
    }

    proptest! {
        #![proptest_config(crate::format::cases(60))]

        #[test]
        fn lower_and_upper_agree_with_partition_point(
            heads in array_of(prop_oneof![0..40u32, any::<u32>(), Just(u32::MAX)]),
            needle in prop_oneof![0..40u32, any::<u32>(), Just(u32::MAX)],
        ) {
            let heads = array(heads);
            prop_assert_eq!(lower(&heads, needle), heads.partition_point(|h| u32::from_le_bytes(*h) < needle));
            prop_assert_eq!(upper(&heads, needle), heads.partition_point(|h| u32::from_le_bytes(*h) <= needle));
        }

        #[test]
        fn an_unsorted_array_gives_an_index_within_bounds(
            heads in array_of(any::<[u8; 4]>()),
            needle: u32,
        ) {
            prop_assert!(lower(&heads, needle) <= heads.len());
            prop_assert!(upper(&heads, needle) <= heads.len());
        }
    }
}
