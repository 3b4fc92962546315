//! Keys of table `index`.

use sha2::{Digest, Sha256};

use super::container::CONTAINER_BITS;
use crate::schema::AttributeId;
use crate::tables::Id;

/// Longest part of a value in a key; what is longer ends in a hash.
const VALUE_MAX: usize = 400;
const HASH: usize = 16;

/// What a key says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// That it has the attribute.
    Presence = 1,
    /// That it has the value.
    Equality = 2,
    /// That three bytes stand in one of its values, of which 1 is before the first and 2 behind the last.
    Trigram = 3,
}

/// Appends a key up to where ids begin.
pub(crate) fn key(out: &mut Vec<u8>, attribute: AttributeId, kind: Kind, value: &[u8]) {
    out.extend_from_slice(&attribute.number().to_be_bytes());
    out.push(kind as u8);
    push_value(out, value);
    out.push(0);
}

/// As [`key`], without the end of the value: what keys of values begin with that begin with `value`.
pub(crate) fn value_key(out: &mut Vec<u8>, attribute: AttributeId, kind: Kind, value: &[u8]) {
    key(out, attribute, kind, value);
    out.pop();
}

fn push_value(out: &mut Vec<u8>, value: &[u8]) {
    let hash;
    let (kept, tail) = if value.len() <= VALUE_MAX {
        (value, &[][..])
    } else {
        hash = Sha256::digest(value);
        (&value[..VALUE_MAX - HASH], &hash[..HASH])
    };
    for part in [kept, tail] {
        if memchr::memchr(0, part).is_none() {
            out.extend_from_slice(part);
        } else {
            part.iter().for_each(|&byte| {
                out.extend_from_slice(if byte == 0 { &[0, 255] } else { std::slice::from_ref(&byte) })
            });
        }
    }
}

/// Appends the upper bits of an id.
pub(crate) fn put_high(out: &mut Vec<u8>, high: u32) {
    out.extend_from_slice(&high.to_be_bytes()[1..]);
}

/// What the keys of one kind of an attribute begin with.
pub(crate) fn kind_prefix(attribute: AttributeId, kind: Kind) -> [u8; 3] {
    let [a, b] = attribute.number().to_be_bytes();
    [a, b, kind as u8]
}

/// The upper bits of the ids that a key is of: the last three bytes. The byte before them is the 0 behind the value.
pub(crate) fn high_of(key: &[u8]) -> Option<u32> {
    let &[0, a, b, c] = key.last_chunk::<4>()? else { return None };
    Some(u32::from_be_bytes([0, a, b, c])).filter(|high| *high <= Id::MAX >> CONTAINER_BITS)
}
