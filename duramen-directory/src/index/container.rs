//! Sets of the lower bits of ids, as small as they come: a list, ranges, or bits.
//!
//! | length | what |
//! |---|---|
//! | 1,024 | a bit for each number |
//! | even, less | numbers of two bytes, ascending |
//! | odd | a byte 0, then ranges: first and last of each, two bytes each |

use roaring::RoaringBitmap;
use smallvec::SmallVec;

/// Bits of an id that a container has.
pub(crate) const CONTAINER_BITS: u32 = 13;
/// The lower bits.
pub(crate) const LOW: u32 = (1 << CONTAINER_BITS) - 1;
const BITMAP: usize = 1 << (CONTAINER_BITS - 3);
/// Numbers that are looked for in a list that is so many times as long are searched for in it; else all of it is looked at.
const FEW_EACH: usize = 48;
/// Longest list that is small.
const SMALL: usize = 32;

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u16> + Clone + '_ {
    bytes.as_chunks::<2>().0.iter().map(|&pair| u16::from_le_bytes(pair))
}

/// A container that is a list.
fn list(bytes: &[u8]) -> Option<&[[u8; 2]]> {
    (bytes.len() != BITMAP && bytes.len().is_multiple_of(2)).then_some(bytes.as_chunks::<2>().0)
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

/// The number that a bit of a word of a bitmap stands for.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a bitmap has 65,536 bits")]
fn number_of(word: usize, bit: u32) -> u16 {
    (64 * word) as u16 + bit as u16
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
                    each(number_of(n, first), number_of(n, first + run - 1));
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
    if bytes.len() == BITMAP {
        *set |= RoaringBitmap::from_lsb0_bytes(base, bytes);
        return;
    }
    if bytes.len().is_multiple_of(2) {
        let ids = numbers(bytes).map(|low| base | u32::from(low));
        // Mostly they are behind all that are there: then this is many times faster.
        if set.append(ids.clone()).is_err() {
            set.extend(ids);
        }
        return;
    }
    ranges(bytes, |first, last| {
        if first == last {
            set.insert(base | u32::from(first));
        } else if first < last {
            set.insert_range(base | u32::from(first)..=base | u32::from(last));
        }
    });
}

/// The numbers of a container that is a short list.
pub(super) fn small(bytes: &[u8]) -> Option<impl Iterator<Item = u16> + '_> {
    (bytes.len() <= SMALL && bytes.len().is_multiple_of(2)).then(|| numbers(bytes))
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

/// The numbers that both of two containers have. It is fast if the first has few.
pub(super) fn both(a: &[u8], b: &[u8]) -> Vec<u16> {
    if a.len() == BITMAP && b.len() == BITMAP {
        return both_bitmaps(a, b);
    }
    let (few, other) = if a.len() == BITMAP { (b, a) } else { (a, b) };
    if let (Some(short), Some(long)) = (list(few), list(other))
        && long.len() < FEW_EACH * short.len()
    {
        let bits = Bits::of(long);
        return numbers(few).filter(|low| bits.has(*low)).collect();
    }
    let mut lows = decode(few);
    keep(&mut lows, other);
    lows
}

/// Keeps the numbers, which ascend, that a container has too.
pub(super) fn keep(lows: &mut Vec<u16>, other: &[u8]) {
    let Some(list) = list(other) else { return lows.retain(|low| has(other, *low)) };
    if list.len() < FEW_EACH * lows.len() {
        let bits = Bits::of(list);
        return lows.retain(|low| bits.has(*low));
    }
    let mut rest = list;
    lows.retain(|low| {
        rest = &rest[distance(rest, *low)..];
        rest.first().is_some_and(|pair| u16::from_le_bytes(*pair) == *low)
    });
}

/// The numbers of a list as a bit for each. To set and to ask for a bit takes no decision that a processor could guess
/// wrong.
struct Bits([u64; BITMAP / 8]);

impl Bits {
    fn of(list: &[[u8; 2]]) -> Bits {
        let mut bits = Bits([0; BITMAP / 8]);
        for pair in list {
            let (word, bit) = Bits::place(u16::from_le_bytes(*pair));
            bits.0[word] |= bit;
        }
        bits
    }

    fn has(&self, low: u16) -> bool {
        let (word, bit) = Bits::place(low);
        self.0[word] & bit != 0
    }

    fn place(low: u16) -> (usize, u64) {
        (usize::from(low >> 6) % (BITMAP / 8), 1 << (low & 63))
    }
}

/// How many numbers of a list are less than one that is near its beginning: strides double until they are too long.
fn distance(list: &[[u8; 2]], low: u16) -> usize {
    let is_less = |pair: &[u8; 2]| u16::from_le_bytes(*pair) < low;
    let mut stride = 1;
    while list.get(stride - 1).is_some_and(is_less) {
        stride *= 2;
    }
    let (from, to) = (stride / 2, list.len().min(stride));
    from + list[from..to].partition_point(is_less)
}

fn both_bitmaps(a: &[u8], b: &[u8]) -> Vec<u16> {
    let mut lows = Vec::new();
    for (n, (a, b)) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0).enumerate() {
        let mut word = u64::from_le_bytes(*a) & u64::from_le_bytes(*b);
        while word != 0 {
            lows.push(number_of(n, word.trailing_zeros()));
            word &= word - 1;
        }
    }
    lows
}

/// The numbers of a container.
pub(super) fn decode(bytes: &[u8]) -> Vec<u16> {
    let mut lows = Vec::with_capacity(bytes.len());
    ranges(bytes, |first, last| lows.extend(first..=last));
    lows
}

/// The ranges of a container in that form.
fn read_ranges(bytes: &[u8]) -> Vec<(u16, u16)> {
    let mut read = Vec::with_capacity(bytes.len() / 4 + 1);
    ranges(bytes, |first, last| read.push((first, last)));
    read
}

/// Ranges in their form, if that is small enough, or in the smallest.
fn write_ranges(ranges: &[(u16, u16)]) -> Vec<u8> {
    let count: usize = ranges.iter().map(|(first, last)| usize::from(last - first) + 1).sum();
    if 1 + 4 * ranges.len() >= BITMAP.min(2 * count) {
        return encode(&ranges.iter().flat_map(|(first, last)| *first..=*last).collect::<Vec<u16>>());
    }
    let mut out = Vec::with_capacity(1 + 4 * ranges.len());
    out.push(0);
    for (first, last) in ranges {
        out.extend_from_slice(&first.to_le_bytes());
        out.extend_from_slice(&last.to_le_bytes());
    }
    out
}

/// Whether a container has a number.
pub(crate) fn has(bytes: &[u8], low: u16) -> bool {
    match bytes.len() {
        BITMAP => bytes.get(usize::from(low >> 3)).is_some_and(|byte| byte >> (low & 7) & 1 == 1),
        length if length % 2 == 0 => {
            bytes.as_chunks::<2>().0.binary_search_by_key(&low, |pair| u16::from_le_bytes(*pair)).is_ok()
        }
        _ => {
            let ranges = bytes[1..].as_chunks::<4>().0;
            let at = ranges.partition_point(|range| u16::from_le_bytes([range[2], range[3]]) < low);
            ranges.get(at).is_some_and(|range| u16::from_le_bytes([range[0], range[1]]) <= low)
        }
    }
}

/// A container, or nothing, with more numbers and without others; `None` if that makes no difference. Both ascend, and no
/// number is in both. The form becomes another one only now and then, so that most changes are cheap.
pub(super) fn changed(bytes: &[u8], come: &[u16], go: &[u16]) -> Option<Vec<u8>> {
    match bytes.len() {
        BITMAP => changed_bits(bytes.to_vec(), come, go),
        length if length % 2 == 0 => changed_list(bytes, come, go),
        _ => changed_ranges(read_ranges(bytes), come, go),
    }
}

fn changed_bits(mut bits: Vec<u8>, come: &[u16], go: &[u16]) -> Option<Vec<u8>> {
    let (mut more, mut less) = (false, false);
    let place = |low: u16| (usize::from(low >> 3), 1u8 << (low & 7));
    for (at, bit) in come.iter().copied().map(place) {
        more |= bits[at] & bit == 0;
        bits[at] |= bit;
    }
    for (at, bit) in go.iter().copied().map(place) {
        less |= bits[at] & bit != 0;
        bits[at] &= !bit;
    }
    if less { Some(encode(&decode(&bits))) } else { more.then_some(bits) }
}

fn changed_list(bytes: &[u8], come: &[u16], go: &[u16]) -> Option<Vec<u8>> {
    let mut steps: SmallVec<[(u16, bool); 16]> = come.iter().map(|low| (*low, true)).collect();
    steps.extend(go.iter().map(|low| (*low, false)));
    steps.sort_unstable();
    let mut list = Vec::with_capacity(bytes.len() + 2 * come.len());
    let (mut rest, mut differs) = (bytes.as_chunks::<2>().0, false);
    for (low, comes) in steps {
        let (before, behind) = rest.split_at(distance(rest, low));
        let is_there = behind.first() == Some(&low.to_le_bytes());
        list.extend_from_slice(before.as_flattened());
        if comes {
            list.extend_from_slice(&low.to_le_bytes());
        }
        rest = &behind[usize::from(is_there)..];
        differs |= is_there != comes;
    }
    list.extend_from_slice(rest.as_flattened());
    // A list of the length of bits would be taken for them.
    let is_time = bytes.len().checked_ilog2() < list.len().checked_ilog2() || list.len() >= BITMAP;
    differs.then(|| if is_time { encode(&numbers(&list).collect::<Vec<u16>>()) } else { list })
}

fn changed_ranges(mut ranges: Vec<(u16, u16)>, come: &[u16], go: &[u16]) -> Option<Vec<u8>> {
    let more = come.iter().filter(|low| put_into(&mut ranges, **low)).count();
    let less = go.iter().filter(|low| take_from(&mut ranges, **low)).count();
    (more + less > 0).then(|| if ranges.is_empty() { Vec::new() } else { write_ranges(&ranges) })
}

/// Adds a number to ranges; false if they have it.
fn put_into(ranges: &mut Vec<(u16, u16)>, low: u16) -> bool {
    // The first range that ends at the number or behind it.
    let at = ranges.partition_point(|(_, last)| *last < low);
    if ranges.get(at).is_some_and(|(first, _)| *first <= low) {
        return false;
    }
    let joins_before = at > 0 && ranges[at - 1].1 + 1 == low;
    let joins_behind = ranges.get(at).is_some_and(|(first, _)| *first == low + 1);
    match (joins_before, joins_behind) {
        (true, true) => {
            ranges[at - 1].1 = ranges[at].1;
            ranges.remove(at);
        }
        (true, false) => ranges[at - 1].1 = low,
        (false, true) => ranges[at].0 = low,
        (false, false) => ranges.insert(at, (low, low)),
    }
    true
}

/// Takes a number out of ranges; false if they do not have it.
fn take_from(ranges: &mut Vec<(u16, u16)>, low: u16) -> bool {
    let at = ranges.partition_point(|(_, last)| *last < low);
    let Some(&(first, last)) = ranges.get(at).filter(|(first, _)| *first <= low) else { return false };
    let left = [(low > first).then(|| (first, low - 1)), (low < last).then(|| (low + 1, last))];
    ranges.splice(at..=at, left.into_iter().flatten());
    true
}

/// How many numbers a container has.
pub(crate) fn count(bytes: &[u8]) -> u64 {
    match bytes.len() {
        BITMAP => bytes.as_chunks::<8>().0.iter().map(|word| u64::from(u64::from_le_bytes(*word).count_ones())).sum(),
        length if length % 2 == 0 => length as u64 / 2,
        _ => {
            let mut count = 0;
            ranges(bytes, |first, last| count += u64::from(last.saturating_sub(first)) + 1);
            count
        }
    }
}
