//! A sub-page: a few sorted values of one key, in its cell.
//!
//! Owns: their form there. Must not know: pages, when values are kept so.
//!
//! Fixed-size values stand side by side. Before others stand their count and the end of each; where their bytes together
//! are a multiple of 8, also zeros, so that this, the *table*, is one too: then values whose lengths are multiples of 8 lie
//! at such.

use std::cmp::Ordering;
use std::ops::Range;

use crate::error::{Damage, Result};
use crate::order::Order;
use crate::width::to_u16;

/// See the module's head.
#[derive(Clone, Copy)]
pub(crate) struct SubPage<'a> {
    bytes: &'a [u8],
    /// Where the values begin.
    body: usize,
    /// Where each value ends, if their sizes vary.
    ends: &'a [[u8; 2]],
    /// Size of each value, 0 if they vary.
    item: usize,
    len: usize,
}

/// In the count: there are zeros behind the table.
const PADDED: u16 = 1 << 15;

const OUTSIDE: Damage = Damage("a duplicate outside its sub-page");

impl<'a> SubPage<'a> {
    pub(crate) fn open(bytes: &'a [u8], item: usize) -> Result<SubPage<'a>, Damage> {
        const WRONG: Damage = Damage("a sub-page of duplicates with a wrong length");
        if let Some(len) = bytes.len().checked_div(item) {
            let fits = len * item == bytes.len() && len > 0;
            return if fits { Ok(SubPage { bytes, body: 0, ends: &[], item, len }) } else { Err(WRONG) };
        }
        let count = u16::from_le_bytes(*bytes.first_chunk().ok_or(WRONG)?);
        let len = usize::from(count & !PADDED);
        let body = table_bytes(len, count & PADDED != 0);
        let ends = bytes.get(2..body).ok_or(WRONG)?;
        if len > 0 { Ok(SubPage { bytes, body, ends: &ends.as_chunks().0[..len], item, len }) } else { Err(WRONG) }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn end(&self, i: usize) -> usize {
        usize::from(u16::from_le_bytes(self.ends[i]))
    }

    #[inline(always)]
    pub(crate) fn get(&self, i: usize) -> Result<&'a [u8], Damage> {
        if i >= self.len {
            return Err(OUTSIDE);
        }
        self.bytes.get(self.place(i)).ok_or(OUTSIDE)
    }

    /// Where value `i`, of those that there are, stands in the sub-page's bytes.
    #[inline(always)]
    pub(super) fn place(&self, i: usize) -> Range<usize> {
        if self.item > 0 {
            return i * self.item..(i + 1) * self.item;
        }
        let start = if i == 0 { 0 } else { self.end(i - 1) };
        self.body + start..self.body + self.end(i)
    }

    /// Fixed-size values side by side.
    pub(crate) fn packed(&self, range: Range<usize>) -> &'a [u8] {
        &self.bytes[range.start * self.item..range.end * self.item]
    }

    /// Index of the first value not below `value`, and whether it is equal.
    pub(crate) fn find(&self, value: &[u8], order: &Order) -> Result<(usize, bool), Damage> {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = (low + high) / 2;
            match order.cmp(self.get(middle)?, value) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok((middle, true)),
                Ordering::Greater => high = middle,
            }
        }
        Ok((low, false))
    }

    pub(super) fn values(&self) -> Result<Vec<&'a [u8]>, Damage> {
        (0..self.len).map(|i| self.get(i)).collect()
    }

    /// The sub-page with one value more, before value `i`.
    pub(super) fn with(&self, i: usize, value: &[u8]) -> Result<Vec<u8>, Damage> {
        let (bytes, at) = self.split(i)?;
        let (value_bytes, len) = (bytes.len() + value.len(), self.len + 1);
        let mut out = Vec::with_capacity(sub_page_bytes(value_bytes, len, self.item));
        if self.item == 0 {
            let before = (0..i).map(|i| self.end(i));
            let after = (i..self.len).map(|i| self.end(i) + value.len());
            begin(&mut out, value_bytes, len, before.chain([at + value.len()]).chain(after));
        }
        for part in [&bytes[..at], value, &bytes[at..]] {
            out.extend_from_slice(part);
        }
        Ok(out)
    }

    /// The values' bytes, and where in them value `i` begins.
    fn split(&self, i: usize) -> Result<(&'a [u8], usize), Damage> {
        if self.item > 0 {
            return Ok((self.bytes, i * self.item));
        }
        let ends = |i: usize| if i == 0 { 0 } else { self.end(i - 1) };
        let bytes = self.bytes[self.body..].get(..ends(self.len)).ok_or(OUTSIDE)?;
        if (0..self.len).all(|i| ends(i) <= ends(i + 1)) { Ok((bytes, ends(i))) } else { Err(OUTSIDE) }
    }
}

/// Length of the table of `len` values.
fn table_bytes(len: usize, is_padded: bool) -> usize {
    let bytes = 2 + 2 * len;
    if is_padded { bytes.next_multiple_of(8) } else { bytes }
}

/// Whether the table of values with so many bytes is padded.
fn is_padded(value_bytes: usize) -> bool {
    value_bytes.is_multiple_of(8)
}

fn count(len: usize, is_padded: bool) -> [u8; 2] {
    (to_u16(len) | if is_padded { PADDED } else { 0 }).to_le_bytes()
}

/// Writes the table of values with so many bytes.
fn begin(out: &mut Vec<u8>, value_bytes: usize, len: usize, ends: impl Iterator<Item = usize>) {
    let is_padded = is_padded(value_bytes);
    out.extend_from_slice(&count(len, is_padded));
    ends.for_each(|end| out.extend_from_slice(&to_u16(end).to_le_bytes()));
    out.resize(table_bytes(len, is_padded), 0);
}

/// Takes value `i` out of a sub-page that has others, of `item` bytes each unless they vary; how many bytes are left at its
/// start. Where that is one value, it stands there alone.
pub(super) fn take_out(bytes: &mut [u8], item: usize, i: usize) -> Result<usize, Damage> {
    let sub = SubPage::open(bytes, item)?;
    let (len, body) = (sub.len, sub.body);
    let place = |i: usize| sub.get(i).map(|_| sub.place(i));
    let gone = place(i)?;
    if len == 2 {
        let left = place(1 - i)?;
        bytes.copy_within(left.clone(), 0);
        return Ok(left.len());
    }
    let end = place(len - 1)?.end;
    if end < gone.end {
        return Err(OUTSIDE);
    }
    if item > 0 {
        bytes.copy_within(gone.end.., gone.start);
        return Ok(bytes.len() - item);
    }
    let value_bytes = end - body - gone.len();
    // Without its end the table is not longer than it was, padded or not, unless it was not padded.
    let is_padded = is_padded(value_bytes) && table_bytes(len - 1, true) <= body;
    let new_body = table_bytes(len - 1, is_padded);
    let ends = bytes[2..2 + 2 * len].as_chunks_mut::<2>().0;
    ends.copy_within(i + 1.., i);
    for end in &mut ends[i..len - 1] {
        *end = u16::from_le_bytes(*end).wrapping_sub(to_u16(gone.len())).to_le_bytes();
    }
    bytes.copy_within(body..gone.start, new_body);
    bytes.copy_within(gone.end..end, new_body + gone.start - body);
    bytes[table_bytes(len - 1, false)..new_body].fill(0);
    bytes[..2].copy_from_slice(&count(len - 1, is_padded));
    Ok(new_body + value_bytes)
}

/// A sub-page of these values.
pub(super) fn encode(values: &[&[u8]], item: usize) -> Vec<u8> {
    let value_bytes = values.iter().map(|value| value.len()).sum();
    let mut out = Vec::with_capacity(sub_page_bytes(value_bytes, values.len(), item));
    if item == 0 {
        let ends = values.iter().scan(0, |end, value| {
            *end += value.len();
            Some(*end)
        });
        begin(&mut out, value_bytes, values.len(), ends);
    }
    values.iter().for_each(|value| out.extend_from_slice(value));
    out
}

/// Length of a sub-page of `len` values, with so many bytes together, of `item` bytes each unless they vary.
pub(super) fn sub_page_bytes(value_bytes: usize, len: usize, item: usize) -> usize {
    if item > 0 { value_bytes } else { table_bytes(len, is_padded(value_bytes)) + value_bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_taken_out_of_a_sub_page_leaves_what_was_made_without_it() {
        let varying: &[&[u8]] = &[b"", b"a", b"bcd", b"ef", b"ghijk"];
        let fixed: &[&[u8]] = &[b"ab", b"cd", b"ef", b"gh"];
        for (values, item) in [(varying, 0), (fixed, 2)] {
            for (len, i) in (2..=values.len()).flat_map(|len| (0..len).map(move |i| (len, i))) {
                let mut bytes = encode(&values[..len], item);
                let mut rest = values[..len].to_vec();
                rest.remove(i);
                let expected = if len == 2 { rest[0].to_vec() } else { encode(&rest, item) };
                let left = take_out(&mut bytes, item, i).unwrap();
                if len == 2 || item > 0 {
                    assert_eq!(bytes[..left], expected, "value {i} of {len}");
                } else {
                    // A table that was not padded may have no room for that.
                    assert_eq!(SubPage::open(&bytes[..left], 0).unwrap().values().unwrap(), rest, "value {i} of {len}");
                }
            }
        }
    }

    #[test]
    fn values_of_8_bytes_stay_at_multiples_of_8() {
        let values = [[1; 8], [2; 8], [3; 8], [4; 8], [5; 8], [6; 8]];
        let values: Vec<&[u8]> = values.iter().map(|value| &value[..]).collect();
        let mut bytes = encode(&values[..1], 0);
        for (i, value) in values.iter().enumerate().skip(1) {
            bytes = SubPage::open(&bytes, 0).unwrap().with(i, value).unwrap();
            assert_eq!(bytes, encode(&values[..=i], 0));
            assert_eq!(bytes.len(), sub_page_bytes(8 * (i + 1), i + 1, 0));
        }
        for len in (2..values.len()).rev() {
            let left = take_out(&mut bytes, 0, 1).unwrap();
            bytes.truncate(left);
            let sub = SubPage::open(&bytes, 0).unwrap();
            assert_eq!((sub.len(), left % 8, sub.place(1).start % 8), (len, 0, 0));
        }
    }

    #[test]
    fn a_sub_page_whose_values_are_out_of_place_is_damage() {
        let whole = encode(&[b"first", b"second", b"third"], 0);
        for (place, end) in [(2, 200), (4, 200), (6, 200), (4, 2), (6, 7)] {
            let mut bytes = whole.clone();
            bytes[place] = end;
            assert!(take_out(&mut bytes, 0, 1).is_err(), "{place}: {end}");
        }
    }
}
