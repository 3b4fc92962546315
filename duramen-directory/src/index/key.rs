//! Keys of table `index`.

use sha2::{Digest, Sha256};

use super::container::CONTAINER_BITS;
use crate::schema::AttributeId;
use crate::tables::Id;

/// Longest part of a value in a key. What is as long ends in a hash, and nothing else is: else the end of a value could be what
/// is made of a longer one.
const VALUE_MAX: usize = 400;
const HASH: usize = 16;
/// So much of a value decides where its keys sort: behind that there may be a hash.
const SORTED_MAX: usize = VALUE_MAX - HASH;

/// Bytes of an attribute's number and a kind.
const KIND_END: usize = 3;
/// Bytes of a window.
const WINDOW: usize = 3;
/// Three bytes of a value.
pub(crate) type Trigram = [u8; 3];
/// The key of a container of three bytes.
pub(crate) type TrigramKey = [u8; KIND_END + WINDOW + 3];

/// What a key says of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// That it has the attribute.
    Presence = 1,
    /// That it has the value.
    Equality = 2,
    /// That three bytes stand in one of its values, of which 1 is before the first and 2 behind the last.
    Trigram = 3,
    /// Which windows have containers of three bytes: not of entries, but of windows.
    Windows = 4,
    /// That it may have several values of an attribute that has one: under options, or because that had several once.
    Several = 5,
}

/// Appends a key without its window.
pub(crate) fn key(out: &mut Vec<u8>, attribute: AttributeId, kind: Kind, value: &[u8]) {
    out.extend_from_slice(&kind_prefix(attribute, kind));
    if kind == Kind::Trigram {
        out.extend_from_slice(value);
    } else {
        push_value(out, value);
        out.push(0);
    }
}

fn is_of(key: &[u8], kind: Kind) -> bool {
    key.get(KIND_END - 1) == Some(&(kind as u8))
}

/// Whether a key, with or without its window, is of three bytes.
pub(crate) fn is_trigram(key: &[u8]) -> bool {
    is_of(key, Kind::Trigram)
}

/// Whether a key's container is of windows, and not of entries.
pub(crate) fn is_of_windows(key: &[u8]) -> bool {
    is_of(key, Kind::Windows)
}

/// Makes the key of a container of one without its window. The window of three bytes is before them: what entries that
/// came together have of these is in neighbouring containers, so a group of updates shares leaves.
pub(crate) fn in_window(out: &mut Vec<u8>, key: &[u8], window: u32) {
    let (before, behind) = key.split_at(if is_trigram(key) { KIND_END } else { key.len() });
    out.clear();
    out.extend_from_slice(before);
    put_window(out, window);
    out.extend_from_slice(behind);
}

/// The key of a container of three bytes.
pub(super) fn trigram_key(attribute: AttributeId, window: u32, trigram: Trigram) -> TrigramKey {
    let ([a, b, kind], [_, high, middle, low]) = (kind_prefix(attribute, Kind::Trigram), window.to_be_bytes());
    let [first, second, third] = trigram;
    [a, b, kind, high, middle, low, first, second, third]
}

/// Attribute and trigram of a trigram's key without its window.
pub(super) fn trigram_of(key: &[u8]) -> (AttributeId, Trigram) {
    let [a, b, _, first, second, third] = key else { unreachable!("a key of a trigram without its window") };
    (AttributeId(u16::from_be_bytes([*a, *b])), [*first, *second, *third])
}

/// Makes the key, without its window, of the windows that have what a key of three bytes has, with or without its window.
pub(super) fn windows_key(out: &mut Vec<u8>, trigram: &[u8]) {
    out.clear();
    out.extend_from_slice(&trigram[..KIND_END - 1]);
    out.push(Kind::Windows as u8);
    push_value(out, &trigram[trigram.len() - 3..]);
    out.push(0);
}

/// As [`key`], without the end of the value: what keys of values begin with that begin with `value`.
pub(crate) fn value_key(out: &mut Vec<u8>, attribute: AttributeId, kind: Kind, value: &[u8]) {
    key(out, attribute, kind, value);
    out.pop();
}

/// The beginning of a value that decides where its keys sort; all of most values. Keys of values that begin with it begin with
/// what [`value_key`] makes of it.
pub(crate) fn sorted_part(value: &[u8]) -> &[u8] {
    &value[..value.len().min(SORTED_MAX)]
}

fn push_value(out: &mut Vec<u8>, value: &[u8]) {
    let hash;
    let (kept, tail) = if value.len() < VALUE_MAX {
        (value, &[][..])
    } else {
        hash = Sha256::digest(value);
        (&value[..SORTED_MAX], &hash[..HASH])
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
pub(super) fn put_window(out: &mut Vec<u8>, window: u32) {
    out.extend_from_slice(&window.to_be_bytes()[1..]);
}

/// What the keys of one kind of an attribute begin with.
pub(crate) fn kind_prefix(attribute: AttributeId, kind: Kind) -> [u8; 3] {
    let [a, b] = attribute.number().to_be_bytes();
    [a, b, kind as u8]
}

/// The upper bits of the ids that a key is of. Those of three bytes are before them; in others they are the last three
/// bytes, and the byte before them is the 0 behind the value.
pub(crate) fn window_of(key: &[u8]) -> Option<u32> {
    let [a, b, c] = match key {
        [_, _, _, a, b, c, _, _, _] if is_trigram(key) => [*a, *b, *c],
        [.., 0, a, b, c] if !is_trigram(key) => [*a, *b, *c],
        _ => return None,
    };
    Some(u32::from_be_bytes([0, a, b, c])).filter(|window| *window <= Id::MAX >> CONTAINER_BITS)
}

/// The value of a key of equality, as keys have it: a byte 0 is followed by 255, and the value by 0.
pub(super) fn value_of(key: &[u8]) -> Option<&[u8]> {
    key.split_last_chunk::<WINDOW>()?.0.strip_suffix(&[0])?.get(KIND_END..)
}
