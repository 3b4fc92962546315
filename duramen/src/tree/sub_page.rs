//! A sub-page: a few sorted values of one key, in its cell.
//!
//! Owns: their form there, in which fixed-size ones stand side by side, others as a count, the end of each, and the bytes.
//! Must not know: pages, when values are kept so.

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

const OUTSIDE: Damage = Damage("a duplicate outside its sub-page");

impl<'a> SubPage<'a> {
    pub(crate) fn open(bytes: &'a [u8], item: usize) -> Result<SubPage<'a>, Damage> {
        const WRONG: Damage = Damage("a sub-page of duplicates with a wrong length");
        if let Some(len) = bytes.len().checked_div(item) {
            let fits = len * item == bytes.len() && len > 0;
            return if fits { Ok(SubPage { bytes, body: 0, ends: &[], item, len }) } else { Err(WRONG) };
        }
        let len = usize::from(u16::from_le_bytes(*bytes.first_chunk().ok_or(WRONG)?));
        let body = 2 + 2 * len;
        let ends = bytes.get(2..body).ok_or(WRONG)?.as_chunks().0;
        if len > 0 { Ok(SubPage { bytes, body, ends, item, len }) } else { Err(WRONG) }
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
        self.body + self.begin(i)..self.body + self.end(i)
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

    /// Whether searches find what is here: the values are inside, and rise, if their order can be told.
    pub(super) fn check(&self, order: Option<&Order>) -> Result<(), Damage> {
        self.body()?;
        if !(0..self.len).all(|i| self.begin(i) <= self.begin(i + 1)) {
            return Err(OUTSIDE);
        }
        let values = self.values()?;
        match order {
            Some(order) if !values.is_sorted_by(|a, b| order.cmp(a, b).is_lt()) => {
                Err(Damage("duplicates out of order in a sub-page"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn values(&self) -> Result<Vec<&'a [u8]>, Damage> {
        (0..self.len).map(|i| self.get(i)).collect()
    }

    /// The sub-page with one value more, before value `i`.
    pub(super) fn with(&self, i: usize, value: &[u8]) -> Result<Vec<u8>, Damage> {
        let (bytes, at) = (self.body()?, self.begin(i));
        let (before, behind) = bytes.split_at_checked(at).ok_or(OUTSIDE)?;
        let mut out = Vec::with_capacity(self.bytes.len() + value.len() + 2);
        if self.item == 0 {
            out.extend_from_slice(&to_u16(self.len + 1).to_le_bytes());
            out.extend_from_slice(self.ends[..i].as_flattened());
            let more = out.len();
            out.extend_from_slice(&to_u16(at).to_le_bytes());
            out.extend_from_slice(self.ends[i..].as_flattened());
            move_ends(out[more..].as_chunks_mut().0, to_u16(value.len()));
        }
        [before, value, behind].into_iter().for_each(|part| out.extend_from_slice(part));
        Ok(out)
    }

    /// Where in the values' bytes value `i` begins, or the last one ends.
    fn begin(&self, i: usize) -> usize {
        match i {
            _ if self.item > 0 => i * self.item,
            0 => 0,
            _ => self.end(i - 1),
        }
    }

    /// The values' bytes.
    fn body(&self) -> Result<&'a [u8], Damage> {
        self.bytes[self.body..].get(..self.begin(self.len)).ok_or(OUTSIDE)
    }
}

/// Moves what stands behind these ends by so many bytes, modulo 2^16.
fn move_ends(ends: &mut [[u8; 2]], by: u16) {
    for end in ends {
        *end = u16::from_le_bytes(*end).wrapping_add(by).to_le_bytes();
    }
}

/// Takes value `i` out of a sub-page that has others, of `item` bytes each unless they vary; how many bytes are left at its
/// start. Where that is one value, it stands there alone.
pub(super) fn take_out(bytes: &mut [u8], item: usize, i: usize) -> Result<usize, Damage> {
    let sub = SubPage::open(bytes, item)?;
    let (len, body, gone) = (sub.len, sub.body, sub.get(i).map(|_| sub.place(i))?);
    if len == 2 {
        let left = sub.get(1 - i).map(|_| sub.place(1 - i))?;
        bytes.copy_within(left.clone(), 0);
        return Ok(left.len());
    }
    if item > 0 {
        bytes.copy_within(gone.end.., gone.start);
        return Ok(bytes.len() - item);
    }
    let end = sub.get(len - 1).map(|_| sub.place(len - 1).end)?;
    if end < gone.end {
        return Err(OUTSIDE);
    }
    let ends = bytes[2..body].as_chunks_mut::<2>().0;
    ends.copy_within(i + 1.., i);
    move_ends(&mut ends[i..len - 1], to_u16(gone.len()).wrapping_neg());
    bytes.copy_within(body..gone.start, body - 2);
    bytes.copy_within(gone.end..end, gone.start - 2);
    bytes[..2].copy_from_slice(&to_u16(len - 1).to_le_bytes());
    Ok(end - gone.len() - 2)
}

/// A sub-page of these values.
pub(super) fn encode(values: &[&[u8]], item: usize) -> Vec<u8> {
    if item > 0 {
        return values.concat();
    }
    let mut out = Vec::with_capacity(encoded_bytes(values, item));
    out.extend_from_slice(&to_u16(values.len()).to_le_bytes());
    let mut end = 0u16;
    for value in values {
        end += to_u16(value.len());
        out.extend_from_slice(&end.to_le_bytes());
    }
    values.iter().for_each(|value| out.extend_from_slice(value));
    out
}

/// Length of a sub-page of these values.
pub(super) fn encoded_bytes(values: &[&[u8]], item: usize) -> usize {
    if item > 0 { item * values.len() } else { values.iter().fold(2, |bytes, value| bytes + 2 + value.len()) }
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
                assert_eq!(bytes[..left], expected, "value {i} of {len}");
            }
        }
    }

    #[test]
    fn a_sub_page_with_a_value_more_is_what_is_made_of_all() {
        let varying: &[&[u8]] = &[b"", b"a", b"bcd", b"ef", b"ghijk"];
        let fixed: &[&[u8]] = &[b"ab", b"cd", b"ef", b"gh"];
        for (values, item) in [(varying, 0), (fixed, 2)] {
            for i in 0..values.len() {
                let mut others = values.to_vec();
                let value = others.remove(i);
                let bytes = encode(&others, item);
                let with = SubPage::open(&bytes, item).unwrap().with(i, value).unwrap();
                assert_eq!(with, encode(values, item), "value {i}");
            }
        }
    }

    #[test]
    fn a_sub_page_whose_values_are_out_of_place_is_damage() {
        let whole = encode(&[b"first", b"second", b"third"], 0);
        for (place, end) in [(2, 200), (4, 200), (6, 200), (4, 2), (6, 7)] {
            let mut bytes = whole.clone();
            bytes[place] = end;
            let sub = SubPage::open(&bytes, 0).unwrap();
            assert!(sub.check(None).is_err() && sub.values().is_err(), "{place}: {end}");
            // What it does not look at stays as it is, and is found when that is read.
            let with = sub.with(2, b"new").and_then(|bytes| SubPage::open(&bytes, 0)?.values().map(drop));
            assert!(with.is_err(), "{place}: {end}");
            assert!(take_out(&mut bytes, 0, 1).is_err(), "{place}: {end}");
        }
    }
}
