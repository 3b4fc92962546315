//! Records in memory, and sorting them.
//!
//! Owns: the form of a record in memory and in runs. Must not know: files.
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | length of the key; bit 31: the flag |
//! | 4..8 | length of the value |
//! | 8.. | key, value |
//!
//! Sorted are not the records but pairs of 8 bytes of the key's view, after what all keys share, and a place in the
//! chunk: comparing two mostly looks at nothing else.

use super::{By, Record};
use crate::prefetch::{LINE, prefetch};
use crate::width::{low, to_u32};

/// Bytes before a record's key.
pub(super) const HEAD: usize = 8;
const FLAG: u32 = 1 << 31;
/// Records fetched ahead when a sorted chunk is walked.
const AHEAD: usize = 12;

/// Appends a record in the form above.
#[inline]
pub(super) fn append(record: Record<'_>, out: &mut Vec<u8>) {
    out.reserve(HEAD + record.key.len() + record.value.len());
    out.extend_from_slice(&heading(record));
    out.extend_from_slice(record.key);
    out.extend_from_slice(record.value);
}

/// What stands before the record's key.
#[inline]
pub(super) fn heading(record: Record<'_>) -> [u8; HEAD] {
    let first = to_u32(record.key.len()) | if record.flag { FLAG } else { 0 };
    let word = u64::from(first) | (record.value.len() as u64) << 32;
    word.to_le_bytes()
}

/// The record at the start of `bytes`, and its length; `None` if it does not end in them.
#[inline]
pub(super) fn parse(bytes: &[u8]) -> Option<(Record<'_>, usize)> {
    let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
    let word = u64::from_le_bytes(*head);
    let (first, vlen) = (low(word), (word >> 32) as usize);
    let klen = (first & !FLAG) as usize;
    let key = rest.get(..klen)?;
    let value = rest.get(klen..klen + vlen)?;
    Some((Record { key, value, flag: first & FLAG != 0 }, HEAD + klen + vlen))
}

/// Records as they came.
#[derive(Default)]
pub(super) struct Chunk {
    bytes: Vec<u8>,
    records: usize,
}

impl Chunk {
    #[inline]
    pub(super) fn push(&mut self, record: Record<'_>) {
        append(record, &mut self.bytes);
        self.records += 1;
    }

    /// The memory that it takes, once sorted.
    #[inline]
    pub(super) fn used(&self) -> usize {
        self.bytes.len() + self.records * size_of::<Entry>()
    }

    pub(super) fn first(&self) -> Option<Record<'_>> {
        parse(&self.bytes).map(|(record, _)| record)
    }

    /// Forgets all records, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.records = 0;
    }

    #[inline]
    fn at(&self, at: u32) -> Record<'_> {
        parse(&self.bytes[at as usize..]).expect("a record that was put there").0
    }
}

/// A record's place, and the start of its key.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    start: u64,
    at: u32,
}

/// A chunk with its records in order.
pub(super) struct Sorted {
    chunk: Chunk,
    entries: Vec<Entry>,
    /// Bytes that the views of all keys share with the first key ever.
    pub shared: usize,
}

impl Sorted {
    /// The record at `i` of the order.
    #[inline]
    pub(super) fn get(&self, i: usize) -> Option<Record<'_>> {
        if let Some(entry) = self.entries.get(i + AHEAD) {
            (0..3).for_each(|line| prefetch(&self.chunk.bytes, entry.at as usize + line * LINE));
        }
        self.entries.get(i).map(|entry| self.chunk.at(entry.at))
    }

    pub(super) fn records(&self) -> impl Iterator<Item = Record<'_>> {
        (0..self.entries.len()).map_while(|i| self.get(i))
    }

    /// The memory, to be used again.
    pub(super) fn into_parts(self) -> (Chunk, Vec<Entry>) {
        (self.chunk, self.entries)
    }
}

/// Sorts a chunk; `entries` is memory to use. `first` is the first key that the sorter was given.
pub(super) fn sort(chunk: Chunk, mut entries: Vec<Entry>, by: &By, first: &[u8]) -> Sorted {
    entries.clear();
    entries.reserve(chunk.records);
    let (mut shared, mut at) = (usize::MAX, 0);
    while let Some((record, bytes)) = parse(&chunk.bytes[at..]) {
        shared = shared.min(by.key.common_prefix(first, record.key));
        entries.push(Entry { start: 0, at: to_u32(at) });
        at += bytes;
    }
    for entry in &mut entries {
        entry.start = by.key.start(chunk.at(entry.at).key, shared);
    }
    // One number: no branch to mispredict. Where starts are equal, records stay as they came.
    entries.sort_unstable_by_key(|entry| u128::from(entry.start) << 64 | u128::from(entry.at));
    for same in entries.chunk_by_mut(|a, b| a.start == b.start).filter(|same| same.len() > 1) {
        same.sort_by(|a, b| by.cmp(chunk.at(a.at), chunk.at(b.at)));
    }
    Sorted { chunk, entries, shared }
}
