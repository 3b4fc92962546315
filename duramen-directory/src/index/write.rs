//! Changing table `index`.
//!
//! Owns: containers that come and go. Invariant: what has a container of a trigram in a window is among the windows of
//! that trigram, and nothing else is.

use duramen::{Edit, Error, Result, TableMut};

use super::container::{CONTAINER_BITS, LOW, encode, union, with, without};
use super::key::{in_window, is_trigram, window_of, windows_key};
use super::key_set::{KeySet, changes};
use crate::tables::Id;

/// The lower bits of an id, or of a window.
pub(crate) fn low_of(id: u32) -> u16 {
    (id & LOW) as u16
}

/// Takes an entry out of the containers of keys that it had, and puts it into those of keys that it has.
pub(crate) fn change_index(index: &mut TableMut<'_>, id: Id, old: KeySet, new: KeySet) -> Result<()> {
    let mut full = Vec::new();
    changes(old, new, |key, come| {
        in_window(&mut full, key, id >> CONTAINER_BITS);
        change(index, &full, low_of(id), come)
    })
}

/// Adds entries of one window to a container, by the lower bits of their ids, which ascend.
pub(crate) fn add_all(index: &mut TableMut<'_>, key: &[u8], lows: &[u16]) -> Result<()> {
    let mut is_new = false;
    index.edit(key, |container| {
        is_new = container.is_none();
        Edit::Put(container.map_or_else(|| encode(lows), |bytes| union(bytes, lows)).into())
    })?;
    if is_new { note_window(index, key, true) } else { Ok(()) }
}

/// Adds a number to a container, or takes one away.
fn change(index: &mut TableMut<'_>, key: &[u8], low: u16, come: bool) -> Result<()> {
    // Whether there is a container afterwards and was none, or the other way round.
    let mut differs = false;
    index.edit(key, |container| {
        let changed = match (container, come) {
            (None, true) => Some(encode(&[low])),
            (None, false) => None,
            (Some(bytes), true) => with(bytes, low),
            (Some(bytes), false) => without(bytes, low),
        };
        match changed {
            None => Edit::Keep,
            Some(bytes) if bytes.is_empty() => {
                differs = true;
                Edit::Delete
            }
            Some(bytes) => {
                differs = container.is_none();
                Edit::Put(bytes.into())
            }
        }
    })?;
    if differs { note_window(index, key, come) } else { Ok(()) }
}

/// Takes note of a container that has come or gone, if it is a trigram's.
fn note_window(index: &mut TableMut<'_>, key: &[u8], come: bool) -> Result<()> {
    if !is_trigram(key) {
        return Ok(());
    }
    let window = window_of(key).ok_or(Error::Usage { what: "a container has a window" })?;
    let (mut of_trigram, mut full) = (Vec::new(), Vec::new());
    windows_key(&mut of_trigram, key);
    in_window(&mut full, &of_trigram, window >> CONTAINER_BITS);
    change(index, &full, low_of(window), come)
}
