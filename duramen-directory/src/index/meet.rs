//! Entries that have all of several keys.
//!
//! Owns: the order in which containers are held against each other. Must not know: what keys stand for.
//!
//! The walks along the keys meet window by window: the shortest container is taken apart, and its numbers are looked for
//! in the others.

use duramen::{Iter, Table};
use smallvec::SmallVec;

use super::container::{CONTAINER_BITS, count, decode, has};
use super::key::high_of;
use super::read::Set;
use crate::failure::Result;
use crate::tables::{Id, damaged};

/// A walk along the containers of one key.
struct Walk<'t> {
    items: Iter<'t>,
    key_len: usize,
    /// Upper bits of the ids of the container that it stands at.
    window: u32,
    container: &'t [u8],
}

impl<'t> Walk<'t> {
    /// `None` if no entry has the key, which comes without upper bits of ids.
    fn new(index: &Table<'t>, key: &[u8]) -> Result<Option<Walk<'t>>> {
        let mut walk = Walk { items: index.prefix(key)?, key_len: key.len() + 3, window: 0, container: &[] };
        Ok(walk.step()?.then_some(walk))
    }

    /// Goes to the next container; false if there is none.
    fn step(&mut self) -> Result<bool> {
        let Some((key, container)) = self.items.next().transpose()? else { return Ok(false) };
        // Behind the 0 that ends a value there is either the id or, in a longer value, 255.
        if key.len() != self.key_len {
            return Ok(false);
        }
        self.window = high_of(key).ok_or_else(|| damaged("a key of an index"))?;
        self.container = container;
        Ok(true)
    }

    /// Goes on to a window, or to the first one behind it that there is; false if there is none.
    fn reach(&mut self, window: u32) -> Result<bool> {
        while self.window < window {
            if !self.step()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The entries that have all of these keys, which come without upper bits of ids.
pub(super) fn meet<'k>(index: &Table<'_>, keys: impl Iterator<Item = &'k [u8]>) -> Result<Set> {
    let mut walks: SmallVec<[Walk<'_>; 4]> = SmallVec::new();
    for key in keys {
        match Walk::new(index, key)? {
            Some(walk) => walks.push(walk),
            None => return Ok(Set::empty()),
        }
    }
    let (mut ids, mut window) = (Vec::new(), 0);
    while !walks.is_empty() {
        for walk in &mut walks {
            if !walk.reach(window)? {
                return Ok(Set::of_sorted(ids));
            }
            window = walk.window;
        }
        if walks.iter().all(|walk| walk.window == window) {
            meet_in(window, walks.iter().map(|walk| walk.container), &mut ids);
            window += 1;
        }
    }
    Ok(Set::empty())
}

/// Appends the ids that all containers of a window have.
fn meet_in<'c>(window: u32, containers: impl Iterator<Item = &'c [u8]>, ids: &mut Vec<Id>) {
    let mut containers: SmallVec<[&[u8]; 8]> = containers.collect();
    containers.sort_by_cached_key(|container| count(container));
    let Some((shortest, others)) = containers.split_first() else { return };
    let mut lows = decode(shortest);
    for other in others {
        lows.retain(|low| has(other, *low));
    }
    ids.extend(lows.into_iter().map(|low| window << CONTAINER_BITS | u32::from(low)));
}
