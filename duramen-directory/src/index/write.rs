//! Changing table `index`.
//!
//! Owns: containers that come and go. Invariant: what has a container of a trigram in a window is among the windows of
//! that trigram, and nothing else is.

use duramen::{Edit, Error, Result, TableMut};

use super::container::{CONTAINER_BITS, LOW, changed};
use super::key::{Trigram, TrigramKey, in_window, is_trigram, trigram_key, window_of, windows_key};
use crate::schema::AttributeId;
use crate::tables::Id;

/// The lower bits of an id, or of a window.
pub(crate) fn low_of(id: u32) -> u16 {
    (id & LOW) as u16
}

/// An entry comes into a container of a trigram, or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Change {
    /// Attribute, window, trigram, lower bits of the id, and whether it comes, as one number: many are sorted, and that takes
    /// a third of what it takes to compare one after the other.
    packed: u128,
}

/// Bits of a change that do not tell of which container it is.
const OTHER_BITS: u32 = 32;

impl Change {
    pub fn new(attribute: AttributeId, id: Id, trigram: Trigram, comes: bool) -> Change {
        let ([a, b], [_, c, d, e]) = (attribute.number().to_be_bytes(), (id >> CONTAINER_BITS).to_be_bytes());
        let [f, g, h] = trigram;
        let ([i, j], [k]) = (low_of(id).to_be_bytes(), [u8::from(comes)]);
        Change { packed: u128::from_be_bytes([0, 0, 0, 0, a, b, c, d, e, f, g, h, 0, i, j, k]) }
    }

    /// What is the same for all changes of a container.
    fn container(&self) -> u128 {
        self.packed >> OTHER_BITS
    }

    fn low(&self) -> u16 {
        let [.., i, j, _] = self.packed.to_be_bytes();
        u16::from_be_bytes([i, j])
    }

    /// Whether the entry comes.
    pub fn comes(&self) -> bool {
        self.packed & 1 == 1
    }

    /// The key of the container.
    pub fn key(&self) -> TrigramKey {
        let [_, _, _, _, a, b, c, d, e, f, g, h, ..] = self.packed.to_be_bytes();
        trigram_key(AttributeId(u16::from_be_bytes([a, b])), u32::from_be_bytes([0, c, d, e]), [f, g, h])
    }
}

/// Makes many changes, each container's at once.
pub(super) fn change_trigrams(index: &mut TableMut<'_>, changes: &mut [Change]) -> Result<()> {
    changes.sort_unstable();
    let (mut come, mut go) = (Vec::new(), Vec::new());
    for changes in changes.chunk_by(|a, b| a.container() == b.container()) {
        come.clear();
        go.clear();
        changes.iter().for_each(|change| if change.comes() { &mut come } else { &mut go }.push(change.low()));
        change(index, &changes[0].key(), &come, &go)?;
    }
    Ok(())
}

/// Adds entries of one window to a container, by the lower bits of their ids, which ascend.
pub(crate) fn add_all(index: &mut TableMut<'_>, key: &[u8], lows: &[u16]) -> Result<()> {
    change(index, key, lows, &[])
}

/// Adds a number to a container, or takes it away.
pub(super) fn change_one(index: &mut TableMut<'_>, key: &[u8], low: u16, comes: bool) -> Result<()> {
    if comes { change(index, key, &[low], &[]) } else { change(index, key, &[], &[low]) }
}

/// Adds numbers to a container, and takes others away.
fn change(index: &mut TableMut<'_>, key: &[u8], come: &[u16], go: &[u16]) -> Result<()> {
    // A container that comes, or goes.
    let mut differs = None;
    index.edit(key, |container| {
        let Some(bytes) = changed(container.unwrap_or_default(), come, go) else { return Edit::Keep };
        let is_gone = bytes.is_empty();
        if is_gone || container.is_none() {
            differs = Some(!is_gone);
        }
        if is_gone { Edit::Delete } else { Edit::Put(bytes.into()) }
    })?;
    differs.map_or(Ok(()), |comes| note_window(index, key, comes))
}

/// Takes note of a container that has come or gone, if it is a trigram's.
fn note_window(index: &mut TableMut<'_>, key: &[u8], comes: bool) -> Result<()> {
    if !is_trigram(key) {
        return Ok(());
    }
    let window = window_of(key).ok_or(Error::Usage { what: "a container has a window" })?;
    let (mut of_trigram, mut full) = (Vec::new(), Vec::new());
    windows_key(&mut of_trigram, key);
    in_window(&mut full, &of_trigram, window >> CONTAINER_BITS);
    change_one(index, &full, low_of(window), comes)
}
