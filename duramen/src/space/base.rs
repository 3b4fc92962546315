//! The form of a whole [`Space`] on disk, from which [deltas](super::log) go on.
//!
//! Owns: the encoding. Must not know: which pages of the file hold these bytes.
//!
//! ```text
//! base: newest death, free: set, retired: groups, then for each (newest death - death) (death - birth) set
//! set:  0 [gap pages], or 1 (first word) (words) and the words, 64 pages each, lowest bit first, as 8 bytes, lowest first
//! ```
//!
//! Numbers and lists are those of deltas. A set of many runs has a bit for each page.
//!
//! Pages that the same live snapshots see are one group, whichever commits wrote and freed them. It says of them the
//! earliest birth and the latest death among them: whoever reads now sees of a page what he saw of it before, and who begins
//! to read later sees none.

use std::collections::BTreeMap;

use super::bits::{self, Bits, WORD};
use super::cohort::Cohort;
use super::log::{earlier, extents, number, put, put_extents};
use super::{Free, Retired, Space, joined};
use crate::error::Damage;
use crate::ids::{Extent, Pgno, Txnid};
use crate::width::to_usize;

/// A list takes some two bytes for each extent. Words may be four times as long: they are read many times as fast.
const WORDS_BYTES_PER_EXTENT: usize = 2 * 4;
const WORD_BYTES: usize = (WORD / 8) as usize;

/// The two forms of a set.
const LIST: u64 = 0;
const WORDS: u64 = 1;

/// So many words of retired pages are read as a [`Cohort`]; all in tests, where there are few pages.
const COHORT_WORDS: usize = if cfg!(test) { 1 } else { 8 };

/// Retired pages that the same live snapshots see, of which there may be many groups in a large file.
struct Group {
    birth: Txnid,
    death: Txnid,
    extents: Vec<Extent>,
}

/// Appends the whole space to `out`. `live`: all snapshots (ascending) that somebody may see, or go back to, but for those
/// that come after all that happened.
pub(crate) fn encode_base(space: &mut Space, live: &[Txnid], out: &mut Vec<u8>) {
    space.settle_retired();
    let groups = groups(space, live);
    let newest = groups.iter().map(|group| group.death).max().unwrap_or_default();
    put(out, newest.0);
    let mut free = space.free.bits().clone();
    space.lanes.iter().for_each(|extent| free.set(extent));
    put_bits(out, &free);
    put(out, groups.len() as u64);
    for Group { birth, death, extents } in groups {
        put(out, newest.0 - death.0);
        put(out, death.0 - birth.0);
        put_runs(out, joined(extents));
    }
}

fn groups(space: &Space, live: &[Txnid]) -> Vec<Group> {
    let mut groups: BTreeMap<(usize, usize), Group> = BTreeMap::new();
    let seen_before = |txnid: Txnid| live.partition_point(|snapshot| *snapshot < txnid);
    // One by one to be handed over would take them as long as all of what follows.
    space.retired().for_each(|(extent, birth, death)| {
        let group = groups.entry((seen_before(birth), seen_before(death)));
        let group = group.or_insert(Group { birth, death, extents: Vec::new() });
        (group.birth, group.death) = (group.birth.min(birth), group.death.max(death));
        group.extents.push(extent);
    });
    groups.into_values().collect()
}

/// Reads a space and moves `input` behind it. For a file that has so many pages in the end.
pub(crate) fn decode_base(input: &mut &[u8], pages: u64) -> Result<Space, Damage> {
    let mut space = Space::new();
    space.set_limit(Some(pages));
    let newest = Txnid(number(input)?);
    space.free = Set::read(input)?.free(&mut space);
    let (mut alone, mut cohorts) = (Vec::new(), Vec::new());
    for _ in 0..number(input)? {
        let death = earlier(newest, number(input)?)?;
        let birth = earlier(death, number(input)?)?;
        match Set::read(input)? {
            Set::Words { first, mut words } if words.len() >= COHORT_WORDS => {
                space.cut(first, &mut words);
                if !words.is_empty() {
                    cohorts.push(Cohort::new(birth, death, first, words));
                }
            }
            few => {
                let within = few.extents().into_iter().filter_map(|extent| space.inside(extent));
                alone.extend(within.map(|extent| (extent, birth, death)));
            }
        }
    }
    // Each group ascends.
    alone.sort();
    check_disjoint(&space.free, &alone, &cohorts)?;
    (space.retired, space.fresh) = (Retired::new(&alone, cohorts), true);
    Ok(space)
}

/// That no page is there twice. Takes time and memory for how much it is, not for where.
fn check_disjoint(free: &Free, alone: &[(Extent, Txnid, Txnid)], cohorts: &[Cohort]) -> Result<(), Damage> {
    let mut words: Vec<(u64, u64)> = cohorts.iter().flat_map(Cohort::words).collect();
    words.sort();
    let is_twice = |words: &[(u64, u64)]| {
        words.iter().try_fold(0, |all, (_, word)| (all & word == 0).then_some(all | word)).is_none()
    };
    let is_among_words = |extent: Extent| {
        let first = words.partition_point(|(at, _)| (at + 1) * WORD <= extent.start.0);
        let mut near = words[first..].iter().take_while(|(at, _)| at * WORD < extent.end().0);
        near.any(|(at, word)| word & bits::mask(extent, *at) != 0)
    };
    if alone.windows(2).any(|pair| pair[0].0.end() > pair[1].0.start)
        || words.chunk_by(|one, other| one.0 == other.0).any(is_twice)
        || alone.iter().any(|&(extent, _, _)| is_among_words(extent))
    {
        return Err(Damage("a page is retired twice"));
    }
    if alone.iter().any(|&(extent, _, _)| free.overlaps(extent))
        || words.iter().any(|&(at, word)| free.bits().word(at) & word != 0)
    {
        return Err(Damage("a page is both free and retired"));
    }
    Ok(())
}

impl Space {
    /// Cuts words, the first of which is that of page `first * WORD`, down to the pages below the limit.
    fn cut(&mut self, first: u64, words: &mut Vec<u64>) {
        let inside = self.limit.unwrap_or(Pgno::LIMIT).saturating_sub(first * WORD);
        self.beyond |= Bits::cut(words, inside);
    }
}

/// Whether a set of so many runs, or else so many words, is better a list.
fn is_list(runs: usize, words: usize) -> bool {
    runs * WORDS_BYTES_PER_EXTENT <= words * WORD_BYTES
}

/// Appends a set of pages: at least one run, in memory of their number, not of where they are.
fn put_runs(out: &mut Vec<u8>, runs: Vec<Extent>) {
    let first = runs[0].start.0 / WORD;
    let end = runs[runs.len() - 1].end().0.div_ceil(WORD);
    if is_list(runs.len(), to_usize(end - first)) {
        return put_list(out, runs);
    }
    let mut bits = Bits::new(Pgno::LIMIT);
    runs.iter().for_each(|run| bits.set(Extent::new(Pgno(run.start.0 - first * WORD), run.pages)));
    put_words(out, first, bits.words_from(0));
}

/// Appends a set of pages.
fn put_bits(out: &mut Vec<u8>, bits: &Bits) {
    let (_, runs) = bits.count();
    let first = bits.next_set(0, bits.end()) / WORD;
    let words = bits.words_from(first);
    if is_list(runs, words.len()) { put_list(out, bits.runs(runs).collect()) } else { put_words(out, first, words) }
}

fn put_words(out: &mut Vec<u8>, first: u64, words: &[u64]) {
    put(out, WORDS);
    put(out, first);
    put(out, words.len() as u64);
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

fn put_list(out: &mut Vec<u8>, runs: Vec<Extent>) {
    put(out, LIST);
    put_extents(out, runs.into_iter());
}

/// A set of pages that was read, as it stood there.
enum Set {
    List(Vec<Extent>),
    Words { first: u64, words: Vec<u64> },
}

impl Set {
    fn read(input: &mut &[u8]) -> Result<Set, Damage> {
        match number(input)? {
            LIST => extents(input).map(Set::List),
            WORDS => {
                let (first, len) = (number(input)?, number(input)?);
                let bytes = usize::try_from(len).ok().and_then(|len| len.checked_mul(WORD_BYTES));
                let (bytes, rest) = bytes
                    .and_then(|bytes| input.split_at_checked(bytes))
                    .ok_or(Damage("a set of pages in the free-space log is longer than the log"))?;
                if first.checked_add(len).is_none_or(|end| end > Pgno::LIMIT / WORD) {
                    return Err(Damage("a set of pages in the free-space log is beyond the highest page number"));
                }
                *input = rest;
                let words = bytes.chunks_exact(WORD_BYTES);
                let words = words.map(|word| u64::from_le_bytes(word.try_into().expect("so many bytes"))).collect();
                Ok(Set::Words { first, words })
            }
            _ => Err(Damage("a set of pages in the free-space log has an unknown form")),
        }
    }

    /// As free pages, but for those beyond the space's limit.
    fn free(self, space: &mut Space) -> Free {
        let (first, mut words) = match self {
            Set::List(list) => return Free::from_sorted(list.into_iter().filter_map(|extent| space.inside(extent))),
            Set::Words { first, words } => (first, words),
        };
        space.cut(first, &mut words);
        Free::from_bits(Bits::from_words(if words.is_empty() { 0 } else { first }, words))
    }

    fn extents(self) -> Vec<Extent> {
        match self {
            Set::List(list) => list,
            // They are moved to their place as runs: it may be anywhere.
            Set::Words { first, words } => Bits::from_words(0, words)
                .runs(usize::MAX)
                .map(|run| Extent::new(Pgno(run.start.0 + first * WORD), run.pages))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fit, Lane};
    use super::*;

    /// Pages of the file.
    const PAGES: u64 = 10_000;

    fn extent(start: u64, pages: u64) -> Extent {
        Extent::new(Pgno(start), pages)
    }

    fn space(free: impl IntoIterator<Item = Extent>) -> Space {
        let mut space = Space::new();
        free.into_iter().for_each(|extent| space.add_free(extent).unwrap());
        space
    }

    fn encoded(space: &mut Space, live: &[Txnid]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_base(space, live, &mut bytes);
        bytes
    }

    fn contents(space: &Space) -> (Vec<Extent>, Vec<(Extent, Txnid, Txnid)>) {
        (space.extents().collect(), space.retired().collect())
    }

    #[test]
    fn the_bytes_of_a_base_are_as_documented() {
        let mut space = space([extent(10, 2), extent(300, 1)]);
        for (page, birth, death) in [(20, 3, 9), (21, 5, 8), (40, 7, 9)] {
            space.retire(extent(page, 1), Txnid(birth), Txnid(death)).unwrap();
        }
        // Snapshot 6 tells the last from the first two, which are one run.
        let groups = [2, /* 20 and 21 */ 0, 6, 0, 1, 20, 2, /* 40 */ 0, 2, 0, 1, 40, 1];
        let bytes = [&[9][..], &[0, 2, 10, 2, 0xa0, 2, 1], &groups].concat();
        assert_eq!(encoded(&mut space, &[Txnid(2), Txnid(6), Txnid(9)]), bytes);
        let every_other = (640..768).step_by(2).map(|page| extent(page, 1));
        let words = [&[1, 10, 2][..], &0x5555_5555_5555_5555u64.to_le_bytes().repeat(2)].concat();
        assert_eq!(encoded(&mut self::space(every_other), &[]), [&[0][..], &words, &[0]].concat());
    }

    #[test]
    fn what_is_retired_takes_memory_for_how_much_it_is_and_not_for_where() {
        let far = 1 << 45;
        let mut space = Space::new();
        for i in 0..100 {
            space.retire(extent(far + i * 1000, 1), Txnid(i), Txnid(200)).unwrap();
            space.retire(extent(far + i * 1000 + 2, 1), Txnid(50), Txnid(200)).unwrap();
            space.retire(extent(far + (1 << 20) + 2 * i, 1), Txnid(150), Txnid(200)).unwrap();
        }
        let live: Vec<Txnid> = (0..200).map(Txnid).collect();
        let again = decode_base(&mut &encoded(&mut space, &live)[..], Pgno::LIMIT).unwrap();
        assert_eq!(contents(&again), contents(&space));
    }

    #[test]
    fn pages_that_came_as_words_are_taken_freed_and_forgotten_as_others_are() {
        let every_other = |range: std::ops::Range<u64>| range.step_by(2).map(|page| extent(page, 1));
        let mut written = space(every_other(64..128));
        every_other(129..640).for_each(|page| written.retire(page, Txnid(3), Txnid(5)).unwrap());
        every_other(1000..1400).for_each(|page| written.retire(page, Txnid(4), Txnid(8)).unwrap());
        let live = [Txnid(4), Txnid(6)];
        let bytes = encoded(&mut written, &live);
        let mut read = decode_base(&mut &bytes[..], PAGES).unwrap();
        assert_eq!((read.retired_parts(), read.retired_runs_max()), (2, 256 + 200));
        assert_eq!((contents(&read), read.retired_pages()), (contents(&written), 256 + 200));
        assert_eq!((read.blocked_by(Txnid(4)), read.blocked_by(Txnid(6))), (256 + 200, 200));
        assert!(read.check_within(Pgno(64), Pgno(1399)).is_ok());
        assert!(read.check_within(Pgno(64), Pgno(1398)).is_err() && read.check_within(Pgno(65), Pgno(1399)).is_err());
        assert!(read.add_free(extent(133, 1)).is_err() && read.retire(extent(1398, 1), Txnid(5), Txnid(9)).is_err());

        read.set_limit(None);
        read.take_anywhere(extent(135, 1)).unwrap();
        assert!(read.take_anywhere(extent(135, 1)).is_err());
        read.truncate(Pgno(1200));
        assert_eq!(read.retired_pages(), 255 + 100);
        read.release(&live);
        assert_eq!((read.retired_pages(), read.free_pages()), (255 + 100, 32));
        // Who saw the first group is gone.
        read.release(&live[1..]);
        assert_eq!((read.retired_pages(), read.free_pages()), (100, 32 + 255));
        read.add_free(extent(135, 1)).unwrap();
        read.release(&[]);
        assert_eq!((read.retired_pages(), read.free_pages()), (0, 32 + 256 + 100));
    }

    #[test]
    fn a_page_is_taken_wherever_those_of_a_base_are() {
        let every_other = (9000..9500).step_by(2).map(|page| extent(page, 1));
        let bytes = encoded(&mut space(every_other), &[]);
        for fit in [Fit::Tight, Fit::Low] {
            let mut read = decode_base(&mut &bytes[..], PAGES).unwrap();
            let taken = read.take_one(Lane::Lasting, fit).unwrap();
            assert!((9000..9500).contains(&taken.0) && taken.0.is_multiple_of(2), "{taken:?}");
            assert_eq!(read.take_up_to(1000, fit).len(), 249);
            assert_eq!(read.take_one(Lane::Lasting, fit), None);
        }
    }

    #[test]
    fn every_truncation_of_a_base_is_damage() {
        let mut space = space((640..900).step_by(2).map(|page| extent(page, 1)));
        space.retire(extent(1000, 40), Txnid(3), Txnid(4)).unwrap();
        let bytes = encoded(&mut space, &[]);
        assert_eq!(contents(&decode_base(&mut &bytes[..], PAGES).unwrap()), contents(&space));
        for len in 0..bytes.len() {
            assert!(decode_base(&mut &bytes[..len], PAGES).is_err(), "{len} bytes");
        }
    }

    #[test]
    fn a_base_that_has_a_page_twice_is_damage() {
        let (free_10_to_12, retired_11_to_12) = ([0, 1, 10, 2], [1, 0, 3, 0, 1, 11, 1]);
        assert!(decode_base(&mut &[&[5][..], &free_10_to_12, &retired_11_to_12].concat()[..], PAGES).is_err());
        let (nothing_free, retired_11_twice) = ([0, 0], [2, 0, 3, 0, 1, 11, 1, 0, 2, 0, 1, 11, 1]);
        assert!(decode_base(&mut &[&[5][..], &nothing_free, &retired_11_twice].concat()[..], PAGES).is_err());
        // The same as words: free and retired, retired in two groups, and as a word and in a list.
        let words = |page: u64| [&[1, 0, 1][..], &(1u64 << page).to_le_bytes()].concat();
        let group = |set: &[u8]| [&[0, 3], set].concat();
        let base = |free: &[u8], groups: &[Vec<u8>]| {
            let bytes = [&[5], free, &[groups.len() as u8], &groups.concat()].concat();
            decode_base(&mut &bytes[..], PAGES).map(|space| space.retired_pages())
        };
        assert_eq!(base(&words(11), &[group(&words(12)), group(&words(13)), group(&[0, 1, 14, 1])]), Ok(3));
        assert!(base(&words(11), &[group(&words(11))]).is_err());
        assert!(base(&[0, 0], &[group(&words(11)), group(&words(11))]).is_err());
        assert!(base(&[0, 0], &[group(&words(11)), group(&[0, 1, 11, 1])]).is_err());
    }

    #[test]
    fn retired_words_beyond_the_files_end_take_no_memory_and_are_noticed() {
        let group = |first: u64| {
            let mut bytes = vec![5, 0, 0, 1, 0, 3, WORDS as u8];
            put(&mut bytes, first);
            bytes.extend([1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
            let mut space = decode_base(&mut &bytes[..], PAGES).unwrap();
            space.index(PAGES);
            (space.retired_pages(), space.check_within(Pgno(0), Pgno(PAGES)).is_ok())
        };
        assert_eq!(group(PAGES / WORD - 1), (WORD, true));
        assert_eq!(group(PAGES / WORD), (PAGES % WORD, false));
        assert_eq!(group(Pgno::LIMIT / WORD - 1), (0, false));
    }

    #[test]
    fn words_may_say_nothing_of_pages_that_cannot_be() {
        let words = |first: u64, len: u64| {
            let mut bytes = vec![0, WORDS as u8];
            put(&mut bytes, first);
            put(&mut bytes, len);
            bytes.extend([0xff; 8]);
            bytes.push(0);
            decode_base(&mut &bytes[..], PAGES)
        };
        assert_eq!(words(0, 1).unwrap().free_pages(), 64);
        for (first, len) in [(Pgno::LIMIT / WORD, 1), (u64::MAX, 1), (0, 2), (0, u64::MAX), (0, u64::MAX / 8)] {
            assert!(words(first, len).is_err(), "{len} from {first} on");
        }
        // Beyond the file's end they take no memory, and are noticed.
        let beyond = words(Pgno::LIMIT / WORD - 1, 1).unwrap();
        assert_eq!((beyond.free_pages(), beyond.check_within(Pgno(0), Pgno(PAGES)).is_ok()), (0, false));
        let partly = words(PAGES / WORD, 1).unwrap();
        assert_eq!((partly.free_pages(), partly.check_within(Pgno(0), Pgno(PAGES)).is_ok()), (PAGES % WORD, false));
    }
}
