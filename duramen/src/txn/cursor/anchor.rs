//! What a cursor of a write transaction finds its place again by, when its table has changed.
//!
//! Owns: the entry, or the gap, that the cursor is in. Must not know: pages, where the cursor's position has it.

use crate::tree::cursor::Pair;

/// Only values so short can be among several of a key. A longer one need not be known to find the key again.
const VALUE_MAX: usize = 1 << 14;

/// See the module's head.
#[derive(Clone, Default)]
pub(super) struct Anchor {
    key: Vec<u8>,
    value: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// The cursor stands nowhere.
    #[default]
    Nowhere,
    /// It stands on the key and the value, or where those were.
    Entry,
    /// It stands before all values of the key.
    Key,
    /// It stands on an entry that is where the cursor's leaf has it: a step in a leaf that nothing changes copies nothing.
    InLeaf,
}

impl Anchor {
    pub(super) fn is_nowhere(&self) -> bool {
        self.state == State::Nowhere
    }

    /// Whether key and value are to be looked up in the cursor's leaf.
    #[inline]
    pub(super) fn is_in_leaf(&self) -> bool {
        self.state == State::InLeaf
    }

    /// The key, and the value unless the place is before all of those; not of one that is in the leaf.
    pub(super) fn place(&self) -> (&[u8], Option<&[u8]>) {
        (&self.key, (self.state != State::Key).then_some(&self.value[..]))
    }

    /// The key and the value.
    pub(super) fn entry(&self) -> Pair<'_> {
        (&self.key, &self.value)
    }

    #[inline]
    pub(super) fn set_in_leaf(&mut self) {
        self.state = State::InLeaf;
    }

    #[inline]
    pub(super) fn set(&mut self, (key, value): Pair<'_>) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.set_value(value);
    }

    /// Another value of the same key.
    #[inline]
    pub(super) fn set_value(&mut self, value: &[u8]) {
        self.value.clear();
        if value.len() <= VALUE_MAX {
            self.value.extend_from_slice(value);
        }
        self.state = State::Entry;
    }

    /// The place before all values of its key.
    pub(super) fn set_before_values(&mut self) {
        self.state = State::Key;
    }

    pub(super) fn forget(&mut self) {
        self.state = State::Nowhere;
    }
}
