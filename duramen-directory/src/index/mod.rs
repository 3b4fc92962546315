//! Indices: which entries have a value.
//!
//! Owns: the keys of table `index`, containers of ids, what an entry has keys for. Must not know: filters.
//!
//! A key is the attribute's number (2 bytes), a kind (1), the normalized value with each byte 0 as 0 255, a byte 0, and
//! the upper bits of ids (3), which are called a window. Keys of one attribute and kind sort as their values do, so ranges
//! and beginnings are walks. A long value is cut, and a hash of it stands for the rest.
//!
//! A trigram, three bytes of a value, stands behind the window, without a byte 0. An entry has many, and those of entries
//! that are added together lie together so. Which windows have a trigram is under a key of its own, whose container is of
//! windows. Trigrams that have come or gone lately are in table `waiting`: see [`waiting`].

mod container;
mod copied;
mod entry;
mod extract;
mod key;
mod key_set;
mod meet;
mod reach;
mod read;
mod shared;
mod waiting;
mod windows;
mod write;

pub(crate) use container::{CONTAINER_BITS, count, encode, has, is_container};
pub(crate) use copied::Waiting;
pub(crate) use entry::change_index;
pub(crate) use extract::Extractor;
pub(crate) use key::{Kind, Trigram, in_window, is_of_windows, is_trigram, kind_prefix, window_of};
pub(crate) use key_set::KeySet;
pub(crate) use meet::trigrams;
pub(crate) use reach::Reach;
pub(crate) use read::{Set, equal, intersect, present, range, sorts_by_all, starting, with_several};
pub(crate) use shared::shared;
pub(crate) use waiting::{MERGED_FROM, merge, merge_all, records, waiting_changes};
pub(crate) use windows::{Windows, has_window};
pub(crate) use write::{add_all, low_of};

use crate::config::{Index, IndexKinds};
use crate::schema::AttributeId;

/// Kinds of indices as bits, by attribute number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Indices {
    by_number: Vec<u8>,
}

pub(crate) mod bits {
    pub const PRESENCE: u8 = 1;
    pub const EQUALITY: u8 = 2;
    pub const SUBSTRING: u8 = 4;
}

impl IndexKinds {
    pub(crate) fn to_bits(self) -> u8 {
        let bit = |set, bit| if set { bit } else { 0 };
        bit(self.presence, bits::PRESENCE) | bit(self.equality, bits::EQUALITY) | bit(self.substring, bits::SUBSTRING)
    }
}

impl Index {
    /// What a new directory has: equality of what people are found and authenticated by, of members of groups, of
    /// numbers of Unix users and groups and of identifiers of entries; substrings of what people are looked up by.
    pub fn defaults() -> Vec<Index> {
        const EQUALITY: [&str; 15] = [
            "objectClass",
            "ou",
            "o",
            "dc",
            "member",
            "uniqueMember",
            "memberUid",
            "uidNumber",
            "gidNumber",
            "entryUUID",
            "telephoneNumber",
            "employeeNumber",
            "manager",
            "owner",
            "aliasedObjectName",
        ];
        const SUBSTRING: [&str; 5] = ["uid", "cn", "sn", "givenName", "mail"];
        let index = |substring| {
            move |attribute: &str| Index {
                attribute: attribute.to_string(),
                kinds: IndexKinds { presence: true, equality: true, substring },
            }
        };
        EQUALITY.into_iter().map(index(false)).chain(SUBSTRING.into_iter().map(index(true))).collect()
    }
}

impl Indices {
    pub fn get(&self, id: AttributeId) -> u8 {
        self.by_number.get(usize::from(id.0)).copied().unwrap_or(0)
    }

    pub fn set(&mut self, id: AttributeId, kinds: u8) {
        let place = usize::from(id.0);
        if self.by_number.len() <= place {
            self.by_number.resize(place + 1, 0);
        }
        self.by_number[place] = kinds;
    }

    /// Whether keys of a kind, as it stands in them, are kept for an attribute.
    pub fn has_kind(&self, id: AttributeId, kind: u8) -> bool {
        let bit = match kind {
            1 => bits::PRESENCE,
            2 | 5 => bits::EQUALITY,
            3 | 4 => bits::SUBSTRING,
            _ => 0,
        };
        self.get(id) & bit != 0
    }
}

#[cfg(test)]
mod tests;
