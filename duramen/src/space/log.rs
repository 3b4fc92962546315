//! What commits change of a [`Space`], on disk: one [`Delta`] for each, so that the cost of a commit does not depend on
//! how much is free. What they go on from is the [base](super::base).
//!
//! Owns: the encoding, and replay. Must not know: which pages of the file hold these bytes.
//!
//! Numbers are LEB128: seven bits a byte, lowest first, the high bit set in all bytes but the last, no longer than
//! needed. A list is its length and its entries; an extent is the gap since the end of the extent before it in the list
//! (from page 0 for the first) and its length, so extents of a list ascend and cannot overlap.
//!
//! ```text
//! delta: txnid, end, taken: [gap pages], retired: [gap pages (txnid - birth)], added: [gap pages]
//! ```
//!
//! Decoding trusts nothing: odd bytes are [`Damage`], and memory is taken in proportion to the bytes that are there.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Space;
use crate::error::Damage;
use crate::ids::{Extent, Pgno, Txnid};

/// What one commit changed. A page is in at most one of the lists, but for one that was taken and freed again by the same
/// transaction: that may be in `taken`, and in `retired` or `added`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Delta {
    /// The commit.
    pub(crate) txnid: Txnid,
    /// Pages of the file after it. Free and retired pages from here on are forgotten.
    pub(crate) end: u64,
    /// What was free and is in use now.
    pub(crate) taken: Vec<Extent>,
    /// What it freed, with births.
    pub(crate) retired: Vec<(Extent, Txnid)>,
    /// What became free at once, for instance the unused rest of what the file grew by.
    pub(crate) added: Vec<Extent>,
}

impl Delta {
    /// How many extents it is about.
    pub(crate) fn entries(&self) -> u64 {
        (self.taken.len() + self.retired.len() + self.added.len()) as u64
    }

    /// Appends the delta to `out`. The lists may be in any order.
    #[cfg(test)]
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        encode_delta(out, self.txnid, self.end, &self.taken, &self.retired, &self.added);
    }

    /// Reads one delta and moves `input` behind it. The lists ascend.
    pub(crate) fn decode(input: &mut &[u8]) -> Result<Delta, Damage> {
        let txnid = Txnid(number(input)?);
        let end = number(input)?;
        if end > Pgno::LIMIT {
            return Err(Damage("a file end beyond the highest page number"));
        }
        let taken = extents(input)?;
        let mut places = Places::default();
        let retired = list(input, 3, |input| {
            let extent = places.next(input)?;
            Ok((extent, earlier(txnid, number(input)?)?))
        })?;
        let added = extents(input)?;
        Ok(Delta { txnid, end, taken, retired, added })
    }
}

/// Extents of more pages are not kept aside.
const ASIDE_MAX: u64 = 64;

/// Replays commits, one after the other.
///
/// Most pages that a commit frees are taken again by one of the next: so what was freed is kept aside until the end.
/// After an error the space is unusable.
pub(crate) struct Replay<'s> {
    space: &'s mut Space,
    /// Pages, with birth and death, that were freed and not taken again.
    freed: BTreeMap<u64, (Txnid, Txnid)>,
}

impl<'s> Replay<'s> {
    pub(crate) fn new(space: &'s mut Space) -> Replay<'s> {
        Replay { space, freed: BTreeMap::new() }
    }

    /// The commit after those replayed so far.
    ///
    /// The pages that it took may still be retired here, since a replay does not know which snapshots were live.
    pub(crate) fn apply(&mut self, delta: &Delta) -> Result<(), Damage> {
        for &extent in &delta.taken {
            if extent.end().0 > delta.end {
                return Err(Damage("a page was taken beyond the end of the file"));
            }
            self.take(extent)?;
        }
        for &(extent, birth) in &delta.retired {
            self.retire(extent, birth, delta.txnid)?;
        }
        for &extent in &delta.added {
            self.check_unfreed(extent)?;
            self.space.add_free(extent)?;
        }
        if self.freed.last_key_value().is_some_and(|(&page, _)| page >= delta.end) {
            self.freed.split_off(&delta.end);
        }
        self.space.truncate(Pgno(delta.end));
        Ok(())
    }

    /// Gives the space what was kept aside.
    pub(crate) fn finish(mut self) -> Result<(), Damage> {
        self.put_down()
    }

    fn put_down(&mut self) -> Result<(), Damage> {
        let mut cohorts: BTreeMap<Txnid, Vec<(Extent, Txnid)>> = BTreeMap::new();
        for (page, (birth, death)) in std::mem::take(&mut self.freed) {
            let cohort = cohorts.entry(death).or_default();
            match cohort.last_mut() {
                Some((run, of)) if run.end().0 == page && *of == birth => run.pages += 1,
                _ => cohort.push((Extent::new(Pgno(page), 1), birth)),
            }
        }
        cohorts.into_iter().try_for_each(|(death, cohort)| self.space.retire_all(cohort, death))
    }

    fn take(&mut self, extent: Extent) -> Result<(), Damage> {
        if extent.pages > ASIDE_MAX {
            self.put_down()?;
        }
        let mut start = extent.start.0;
        while start < extent.end().0 {
            let (free_until, aside) = match self.freed.range(start..extent.end().0).next() {
                Some((&page, _)) => (page, Some(page)),
                None => (extent.end().0, None),
            };
            if free_until > start {
                self.space.take_anywhere(Extent::new(Pgno(start), free_until - start))?;
            }
            aside.map(|page| self.freed.remove(&page));
            start = free_until + u64::from(aside.is_some());
        }
        Ok(())
    }

    fn retire(&mut self, extent: Extent, birth: Txnid, death: Txnid) -> Result<(), Damage> {
        self.check_unfreed(extent)?;
        if extent.pages > ASIDE_MAX {
            return self.space.retire(extent, birth, death);
        }
        let Some(extent) = self.space.inside(extent) else { return Ok(()) };
        self.space.check_vacant(extent)?;
        self.freed.extend((extent.start.0..extent.end().0).map(|page| (page, (birth, death))));
        Ok(())
    }

    fn check_unfreed(&self, extent: Extent) -> Result<(), Damage> {
        match self.freed.range(extent.start.0..extent.end().0).next() {
            Some(_) => Err(Damage("a page was freed twice")),
            None => Ok(()),
        }
    }
}

/// Appends a [`Delta`] of these parts to `out`.
pub(crate) fn encode_delta(
    out: &mut Vec<u8>,
    txnid: Txnid,
    end: u64,
    taken: &[Extent],
    retired: &[(Extent, Txnid)],
    added: &[Extent],
) {
    put(out, txnid.0);
    put(out, end);
    put_extents(out, sorted(taken).iter().copied());
    let retired = sorted(retired);
    put(out, retired.len() as u64);
    let mut places = Places::default();
    for &(extent, birth) in retired.iter() {
        places.put(out, extent);
        put(out, txnid.0 - birth.0);
    }
    put_extents(out, sorted(added).iter().copied());
}

fn sorted<T: Ord + Copy>(list: &[T]) -> Cow<'_, [T]> {
    if list.is_sorted() {
        return Cow::Borrowed(list);
    }
    let mut list = list.to_vec();
    list.sort_unstable();
    Cow::Owned(list)
}

pub(super) fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7F) as u8);
}

pub(super) fn number(input: &mut &[u8]) -> Result<u64, Damage> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = input.split_first().ok_or(Damage("the free-space log ends too early"))?;
        *input = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits || (byte == 0 && shift > 0) {
            break;
        }
        number |= bits << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Damage("a number in the free-space log is malformed"))
}

pub(super) fn earlier(txnid: Txnid, by: u64) -> Result<Txnid, Damage> {
    txnid.0.checked_sub(by).map(Txnid).ok_or(Damage("a lifetime in the free-space log begins before time"))
}

pub(super) fn put_extents(out: &mut Vec<u8>, extents: impl ExactSizeIterator<Item = Extent>) {
    put(out, extents.len() as u64);
    let mut places = Places::default();
    extents.for_each(|extent| places.put(out, extent));
}

pub(super) fn extents(input: &mut &[u8]) -> Result<Vec<Extent>, Damage> {
    let mut places = Places::default();
    list(input, 2, |input| places.next(input))
}

/// Reads a list whose entries have at least `entry_bytes` bytes each.
fn list<T>(
    input: &mut &[u8],
    entry_bytes: usize,
    mut entry: impl FnMut(&mut &[u8]) -> Result<T, Damage>,
) -> Result<Vec<T>, Damage> {
    let len = number(input)?;
    if len > (input.len() / entry_bytes) as u64 {
        return Err(Damage("a list in the free-space log is longer than the log"));
    }
    (0..len).map(|_| entry(input)).collect()
}

/// Where the extent before ended, in a list that is written or read.
#[derive(Default)]
struct Places {
    end: u64,
}

impl Places {
    fn put(&mut self, out: &mut Vec<u8>, extent: Extent) {
        assert!(self.end <= extent.start.0, "extents of one list overlap at page {}", extent.start);
        put(out, extent.start.0 - self.end);
        put(out, extent.pages);
        self.end = extent.end().0;
    }

    fn next(&mut self, input: &mut &[u8]) -> Result<Extent, Damage> {
        let (gap, pages) = (number(input)?, number(input)?);
        let start = self.end.checked_add(gap);
        let end = start.and_then(|start| start.checked_add(pages)).filter(|end| *end <= Pgno::LIMIT);
        let (Some(start), Some(end), 1..) = (start, end, pages) else {
            return Err(Damage("an impossible extent in the free-space log"));
        };
        self.end = end;
        Ok(Extent::new(Pgno(start), pages))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::base::{decode_base, encode_base};
    use super::*;

    /// Pages of the file.
    const PAGES: u64 = 10_000;

    fn extent(start: u64, pages: u64) -> Extent {
        Extent::new(Pgno(start), pages)
    }

    fn delta(taken: &[Extent], retired: &[(Extent, Txnid)], added: &[Extent]) -> Delta {
        let (taken, retired, added) = (taken.to_vec(), retired.to_vec(), added.to_vec());
        Delta { txnid: Txnid(9), end: 100, taken, retired, added }
    }

    fn encoded(delta: &Delta) -> Vec<u8> {
        let mut bytes = Vec::new();
        delta.encode(&mut bytes);
        bytes
    }

    fn apply(space: &mut Space, delta: &Delta) -> Result<(), Damage> {
        let mut replay = Replay::new(space);
        replay.apply(delta)?;
        replay.finish()?;
        space.settle();
        Ok(())
    }

    fn contents(space: &Space) -> (Vec<Extent>, Vec<(Extent, Txnid, Txnid)>) {
        (space.extents().collect(), space.retired().collect())
    }

    #[test]
    fn the_bytes_of_a_delta_are_as_documented() {
        let delta = delta(&[extent(4, 2), extent(7, 300)], &[(extent(50, 1), Txnid(3))], &[]);
        assert_eq!(encoded(&delta), [9, 100, 2, 4, 2, 1, 0xac, 2, 1, 50, 1, 6, 0]);
    }

    #[test]
    fn a_delta_is_followed_by_what_follows() {
        let first = delta(&[extent(4, 2)], &[], &[]);
        let mut bytes = encoded(&first);
        bytes.extend(encoded(&Delta::default()));
        bytes.push(7);
        let mut input = &bytes[..];
        assert_eq!(Delta::decode(&mut input), Ok(first));
        assert_eq!(Delta::decode(&mut input), Ok(Delta::default()));
        assert_eq!(input, [7]);
    }

    #[test]
    fn every_truncation_of_a_delta_is_damage() {
        let bytes = encoded(&delta(&[extent(4, 2)], &[(extent(500, 1), Txnid(3))], &[extent(90, 1)]));
        for len in 0..bytes.len() {
            assert!(Delta::decode(&mut &bytes[..len]).is_err());
        }
    }

    #[test]
    fn malformed_numbers_are_damage() {
        let too_big = [&[0xff; 9][..], &[2]].concat();
        for bytes in [&[0x80][..], &[0x80, 0], &[0x80; 11], &too_big] {
            assert!(number(&mut &bytes[..]).is_err(), "{bytes:x?}");
        }
        let greatest = [&[0xff; 9][..], &[1]].concat();
        assert_eq!(number(&mut &greatest[..]), Ok(u64::MAX));
    }

    #[test]
    fn absurd_lengths_extents_and_births_are_damage() {
        let far = |gap, pages| {
            let mut bytes = vec![9, 100, 1];
            put(&mut bytes, gap);
            put(&mut bytes, pages);
            bytes.extend([0, 0]);
            Delta::decode(&mut &bytes[..])
        };
        assert!(far(Pgno::LIMIT - 1, 1).is_ok());
        for (gap, pages) in [(Pgno::LIMIT, 1), (5, Pgno::LIMIT), (u64::MAX, 1), (1, u64::MAX), (5, 0)] {
            assert!(far(gap, pages).is_err());
        }
        assert!(Delta::decode(&mut &[9, 100, 200, 1, 1, 0, 0][..]).is_err(), "a list longer than the input");
        assert!(Delta::decode(&mut &[9, 100, 0, 1, 5, 1, 10, 0][..]).is_err(), "a birth 10 before commit 9");
        let mut bytes = vec![9];
        put(&mut bytes, Pgno::LIMIT + 1);
        bytes.extend([0, 0, 0]);
        assert!(Delta::decode(&mut &bytes[..]).is_err(), "an impossible end");
    }

    #[test]
    fn replay_takes_pages_from_free_and_retired_alike() {
        let mut space = Space::new();
        space.add_free(extent(10, 5)).unwrap();
        space.retire(extent(15, 5), Txnid(1), Txnid(2)).unwrap();
        space.retire(extent(20, 5), Txnid(1), Txnid(3)).unwrap();
        apply(&mut space, &delta(&[extent(12, 10)], &[], &[])).unwrap();
        assert_eq!(contents(&space), (vec![extent(10, 2)], vec![(extent(22, 3), Txnid(1), Txnid(3))]));
        assert!(apply(&mut space, &delta(&[extent(11, 2)], &[], &[])).is_err());
    }

    #[test]
    fn replay_refuses_pages_freed_twice_and_pages_beyond_the_end() {
        let space = || {
            let mut space = Space::new();
            space.add_free(extent(10, 5)).unwrap();
            space.add_free(extent(98, 5)).unwrap();
            space
        };
        assert!(apply(&mut space(), &delta(&[], &[(extent(9, 2), Txnid(1))], &[])).is_err());
        assert!(apply(&mut space(), &delta(&[], &[(extent(30, 2), Txnid(1))], &[extent(31, 1)])).is_err());
        assert!(apply(&mut space(), &delta(&[extent(99, 2)], &[], &[])).is_err());
    }

    #[test]
    fn what_several_commits_free_and_take_is_as_one_by_one() {
        let long = extent(1000, ASIDE_MAX + 3);
        let commits = [
            (vec![], vec![(extent(10, 3), Txnid(1)), (long, Txnid(2))], vec![]),
            (vec![extent(11, 1)], vec![(extent(13, 2), Txnid(1))], vec![extent(90, 5)]),
            (vec![extent(12, 2), extent(91, 1), extent(1000, 2)], vec![(extent(11, 1), Txnid(2))], vec![]),
            (vec![extent(1002, ASIDE_MAX + 1)], vec![(extent(1002, ASIDE_MAX - 1), Txnid(4))], vec![]),
        ];
        let deltas = commits.into_iter().zip(2..).map(|((taken, retired, added), txnid)| Delta {
            txnid: Txnid(txnid),
            end: 5000,
            taken,
            retired,
            added,
        });
        let (mut one_by_one, mut at_once) = (Space::new(), Space::new());
        let mut replay = Replay::new(&mut at_once);
        for delta in deltas {
            apply(&mut one_by_one, &delta).unwrap();
            replay.apply(&delta).unwrap();
        }
        assert!(replay.apply(&delta(&[extent(50, 1)], &[], &[])).is_err(), "page 50 is in use");
        replay.finish().unwrap();
        at_once.settle();
        assert_eq!(contents(&at_once), contents(&one_by_one));
        assert_eq!(contents(&at_once).1[0], (extent(10, 1), Txnid(1), Txnid(2)));
    }

    #[test]
    fn replay_refuses_what_the_commits_before_it_freed() {
        let freed = delta(&[], &[(extent(10, 3), Txnid(1))], &[]);
        for again in [freed.clone(), delta(&[], &[(extent(12, 100), Txnid(1))], &[]), delta(&[], &[], &[extent(12, 1)])]
        {
            let mut space = Space::new();
            let mut replay = Replay::new(&mut space);
            replay.apply(&freed).unwrap();
            assert!(replay.apply(&again).is_err());
        }
    }

    #[test]
    fn replay_forgets_what_lies_beyond_the_end() {
        let mut space = Space::new();
        space.add_free(extent(90, 20)).unwrap();
        space.retire(extent(110, 20), Txnid(1), Txnid(2)).unwrap();
        apply(&mut space, &delta(&[], &[], &[])).unwrap();
        assert_eq!(contents(&space), (vec![extent(90, 10)], vec![]));
    }

    proptest! {
        #[test]
        fn no_bytes_crash_the_decoders_or_the_replay(
            bytes in prop::collection::vec(prop_oneof![4 => 0u8..6, 1 => any::<u8>()], 0..200)
        ) {
            let mut input = &bytes[..];
            let mut space = decode_base(&mut input, PAGES).unwrap_or_default();
            input = &bytes[..];
            space.set_limit(Some(PAGES));
            while let Ok(delta) = Delta::decode(&mut input) {
                if apply(&mut space, &delta).is_err() {
                    break;
                }
                space.release(&[Txnid(1), Txnid(3)]);
                space.settle();
                let (mut base, mut same) = (Vec::new(), Vec::new());
                encode_base(&mut space, &[Txnid(1), Txnid(3)], &mut base);
                let mut again = decode_base(&mut &base[..], PAGES).expect("what was encoded can be decoded");
                prop_assert_eq!(contents(&again).0, contents(&space).0);
                prop_assert_eq!(again.retired_pages(), space.retired_pages());
                encode_base(&mut again, &[Txnid(1), Txnid(3)], &mut same);
                prop_assert_eq!(same, base);
            }
        }

        #[test]
        fn arbitrary_bytes_are_refused_or_decoded(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode_base(&mut &bytes[..], PAGES);
            let _ = Delta::decode(&mut &bytes[..]);
        }
    }
}
