//! The numbers of an entry's attributes: where those of a type are.

use super::NUMBER;

/// A number in each of four lanes of a word, which are compared at once.
const LANES: u64 = 0x0001_0001_0001_0001;
/// What no number reaches.
const TOP: u64 = 0x8000 * LANES;

/// Places of a type's number, ascending.
pub(super) struct Places<'n> {
    /// Numbers that were not looked at, of two bytes each, with their marks.
    rest: &'n [u8],
    /// In all lanes.
    wanted: u64,
    /// Numbers that were looked at.
    seen: usize,
    /// Of the last four of them, those that are the wanted one and were not given: the highest bit of each.
    found: u64,
}

impl<'n> Places<'n> {
    #[inline]
    pub fn of(numbers: &'n [u8], wanted: u16) -> Places<'n> {
        Places { rest: numbers, wanted: u64::from(wanted) * LANES, seen: 0, found: 0 }
    }

    #[inline]
    fn look_on(&mut self) {
        let (four, behind) = match self.rest.split_first_chunk() {
            Some((four, rest)) => {
                self.rest = rest;
                (*four, 0)
            }
            None => {
                let (mut four, last) = ([0; 8], std::mem::take(&mut self.rest));
                four[..last.len()].copy_from_slice(last);
                (four, TOP << (8 * last.len()))
            }
        };
        let differ = (u64::from_le_bytes(four) & (u64::from(NUMBER) * LANES)) ^ self.wanted;
        // No lane takes anything from the next: what differs is less than the top.
        self.found = (TOP - differ) & TOP & !behind;
        self.seen += 4;
    }
}

impl Iterator for Places<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.found == 0 {
            if self.rest.is_empty() {
                return None;
            }
            self.look_on();
        }
        let lane = self.found.trailing_zeros() as usize / 16;
        self.found &= self.found - 1;
        Some(self.seen - 4 + lane)
    }
}
