//! Entries that have all of several trigrams.
//!
//! Owns: which containers are looked at, in which order. Must not know: where the trigrams come from.
//!
//! The windows that have all trigrams come first: a rare one is in few. In one of them all containers are looked at, which
//! tells what is rare, and what leaves the fewest entries of that: trigrams that overlap in a value mostly come together, and
//! the second says little. In the others these two are held against each other, and the next ones only where that leaves more
//! than a few entries. Containers of many windows are asked for together, as their searches wait for memory together. Where it
//! is known that only some entries matter, windows with none of them are left out, and those with few give all of them unseen.

use duramen::Table;
use smallvec::SmallVec;

use super::container::{CONTAINER_BITS, both, count, decode, keep};
use super::copied::Waiting;
use super::key::{Kind, Trigram, TrigramKey, in_window, key, trigram_key, window_of};
use super::reach::Reach;
use super::read::Set;
use super::waiting::correct;
use crate::failure::{Result, damaged};
use crate::schema::AttributeId;
use crate::tables::Id;

/// Windows whose containers are asked for together.
const TOGETHER: usize = 64;
/// So few entries of a window are sooner looked at themselves than narrowed down by its containers.
const FEW: usize = 64;
/// So few entries that have two trigrams in a window are sooner looked at themselves than held against a third.
const FEW_LEFT: usize = 1;

/// Entries with values that have each of these trigrams in them; and some without, where few were left or that were changed
/// lately. Of entries that are not in `within` it may be any.
pub(crate) fn trigrams(
    index: &Table<'_>,
    waiting: &Waiting<'_>,
    attribute: AttributeId,
    wanted: &[Trigram],
    within: Option<&Set>,
    reach: &Reach,
) -> Result<Set> {
    let mut windows = common_windows(index, attribute, wanted)?;
    windows.drain(..windows.partition_point(|window| *window < reach.from));
    let mut unseen = Vec::new();
    if let Some(within) = within {
        windows.retain(|&window| many_of(within, window, &mut unseen));
    }
    if let Some(&window) = windows.get(reach.most) {
        reach.ends_before(window);
        windows.truncate(reach.most);
    }
    let mut found = in_windows(index, attribute, wanted, &windows)?;
    found.append(&mut unseen);
    found.sort();
    Ok(Set::of_sorted(correct(waiting, attribute, wanted, found)?))
}

/// Whether a set has many ids of a window; else they are added to `unseen`.
fn many_of(set: &Set, window: u32, unseen: &mut Vec<Id>) -> bool {
    let mut some = set.some_from(window << CONTAINER_BITS, FEW + 1);
    some.retain(|id| *id >> CONTAINER_BITS == window);
    if some.len() > FEW {
        return true;
    }
    unseen.extend(some);
    false
}

/// What the index says of windows that have all of the trigrams.
fn in_windows(index: &Table<'_>, attribute: AttributeId, wanted: &[Trigram], windows: &[u32]) -> Result<Vec<Id>> {
    let Some((&first, others)) = windows.split_first() else { return Ok(Vec::new()) };
    let mut meeting = Meeting { index, attribute, trigrams: wanted.into(), ids: Vec::new() };
    meeting.look_at(first)?;
    for windows in others.chunks(TOGETHER) {
        meeting.add(windows)?;
    }
    Ok(meeting.ids)
}

/// Windows that have all of these trigrams.
fn common_windows(index: &Table<'_>, attribute: AttributeId, wanted: &[Trigram]) -> Result<Vec<u32>> {
    let keys = wanted.iter().map(|trigram| {
        let mut made = Vec::with_capacity(16);
        key(&mut made, attribute, Kind::Windows, trigram);
        made
    });
    let keys: SmallVec<[Vec<u8>; 8]> = keys.collect();
    let (Some((first, others)), mut windows) = (keys.split_first(), Vec::new()) else { return Ok(Vec::new()) };
    for item in index.prefix(first)? {
        let (found, container) = item?;
        let high = window_of(found).ok_or_else(|| damaged("a key of an index"))?;
        let others = others.iter().map(|key| {
            let mut full = Vec::with_capacity(16);
            in_window(&mut full, key, high);
            full
        });
        let others = index.get_many(&others.collect::<SmallVec<[Vec<u8>; 8]>>())?;
        if others.iter().all(Option::is_some) {
            let mut containers: SmallVec<[&[u8]; 8]> = others.into_iter().flatten().chain([container]).collect();
            containers.sort_by_cached_key(|container| count(container));
            meet_in(high, containers.into_iter(), &mut windows);
        }
    }
    Ok(windows)
}

/// Appends the ids, or windows, that all containers have, of which the first has the fewest.
fn meet_in<'c>(high: u32, mut containers: impl Iterator<Item = &'c [u8]>, found: &mut Vec<u32>) {
    let Some(shortest) = containers.next() else { return };
    let mut lows = decode(shortest);
    for other in containers {
        if lows.is_empty() {
            return;
        }
        keep(&mut lows, other);
    }
    append(high, lows, found);
}

fn append(high: u32, lows: Vec<u16>, found: &mut Vec<u32>) {
    found.extend(lows.into_iter().map(|low| high << CONTAINER_BITS | u32::from(low)));
}

/// A search for entries, window by window.
struct Meeting<'m, 't> {
    index: &'m Table<'t>,
    attribute: AttributeId,
    /// What has to be met, the rarest first once one window was looked at.
    trigrams: SmallVec<[Trigram; 8]>,
    /// Entries that were found, ascending.
    ids: Vec<Id>,
}

impl<'t> Meeting<'_, 't> {
    /// Adds the entries of the first window, and puts the trigrams in order: the rarest, then what leaves the fewest of its
    /// entries.
    fn look_at(&mut self, window: u32) -> Result<()> {
        let keys = self.trigrams.iter().map(|trigram| trigram_key(self.attribute, window, *trigram));
        let containers = self.get(&keys.collect::<SmallVec<[TrigramKey; 8]>>())?;
        let mut found: SmallVec<[_; 8]> = self.trigrams.iter().copied().zip(containers).collect();
        found.sort_by_cached_key(|(_, container)| count(container));
        let Some(((rarest, container), others)) = found.split_first_mut() else { return Ok(()) };
        let mut lows = decode(container);
        others.sort_by_cached_key(|(_, container)| {
            let mut left = lows.clone();
            keep(&mut left, container);
            left.len()
        });
        self.trigrams = std::iter::once(*rarest).chain(others.iter().map(|(trigram, _)| *trigram)).collect();
        others.iter().for_each(|(_, container)| keep(&mut lows, container));
        append(window, lows, &mut self.ids);
        Ok(())
    }

    /// Adds the entries of more windows.
    fn add(&mut self, windows: &[u32]) -> Result<()> {
        let Some((rarest, others)) = self.trigrams.split_first() else { return Ok(()) };
        let containers = self.of_windows(windows, *rarest)?.into_iter();
        let mut found: Vec<(u32, Vec<u16>)> = match others.split_first() {
            None => windows.iter().copied().zip(containers.map(decode)).collect(),
            Some((second, _)) => {
                let lows = containers.zip(self.of_windows(windows, *second)?).map(|(a, b)| both(a, b));
                windows.iter().copied().zip(lows).collect()
            }
        };
        for trigram in others.iter().skip(1) {
            self.narrow(&mut found, *trigram)?;
        }
        found.into_iter().for_each(|(window, lows)| append(window, lows, &mut self.ids));
        Ok(())
    }

    /// Keeps, in each window with more than a few, the entries that have a trigram too.
    fn narrow(&self, found: &mut [(u32, Vec<u16>)], trigram: Trigram) -> Result<()> {
        let many = found.iter_mut().filter(|(_, lows)| lows.len() > FEW_LEFT);
        let (windows, many): (SmallVec<[u32; TOGETHER]>, Vec<&mut Vec<u16>>) =
            many.map(|(window, lows)| (*window, lows)).unzip();
        let containers = self.of_windows(&windows, trigram)?;
        many.into_iter().zip(containers).for_each(|(lows, container)| keep(lows, container));
        Ok(())
    }

    /// A trigram's containers in windows that have it.
    fn of_windows(&self, windows: &[u32], trigram: Trigram) -> Result<Vec<&'t [u8]>> {
        let keys = windows.iter().map(|window| trigram_key(self.attribute, *window, trigram));
        self.get(&keys.collect::<SmallVec<[TrigramKey; TOGETHER]>>())
    }

    fn get(&self, keys: &[TrigramKey]) -> Result<Vec<&'t [u8]>> {
        let containers = self.index.get_many(keys)?.into_iter();
        containers.map(|found| found.ok_or_else(|| damaged("an index of substrings"))).collect()
    }
}
