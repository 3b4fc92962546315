//! One bit for each page of a file.
//!
//! Owns: the bits, and runs of them. Must not know: what they say of the pages.

use crate::ids::Extent;

const WORD: u64 = u64::BITS as u64;

/// Bits of the pages below a limit; clear where none was set.
#[derive(Debug)]
pub(super) struct Bits {
    words: Vec<u64>,
    pages_max: u64,
}

impl Bits {
    pub(super) fn new(pages_max: u64) -> Bits {
        Bits { words: Vec::new(), pages_max }
    }

    /// Whether the extent's pages all have bits.
    pub(super) fn reach(&self, extent: Extent) -> bool {
        extent.end().0 <= self.pages_max
    }

    /// Whether a bit of the extent is set.
    pub(super) fn any(&self, extent: Extent) -> bool {
        parts(extent).any(|(word, mask)| self.words.get(word).is_some_and(|bits| bits & mask != 0))
    }

    /// Whether this page's bit is set.
    #[inline]
    pub(super) fn has(&self, page: u64) -> bool {
        self.words.get((page / WORD) as usize).is_some_and(|bits| bits >> (page % WORD) & 1 == 1)
    }

    /// Sets the extent's bits, which must be in reach.
    pub(super) fn set(&mut self, extent: Extent) {
        let words = extent.end().0.div_ceil(WORD) as usize;
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        parts(extent).for_each(|(word, mask)| self.words[word] |= mask);
    }

    /// Sets all bits that are set there.
    pub(super) fn set_all(&mut self, other: &Bits) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, others)| *word |= others);
    }

    pub(super) fn clear(&mut self, extent: Extent) {
        for (word, mask) in parts(extent) {
            let Some(bits) = self.words.get_mut(word) else { break };
            *bits &= !mask;
        }
    }

    /// One more than the highest page whose bit can be set.
    pub(super) fn end(&self) -> u64 {
        self.words.len() as u64 * WORD
    }

    /// The first page from `from` on and below `limit` whose bit is set, else `limit`.
    pub(super) fn next_set(&self, from: u64, limit: u64) -> u64 {
        self.next(from, limit, 0)
    }

    /// The first page from `from` on and below `limit` whose bit is clear, else `limit`.
    pub(super) fn next_clear(&self, from: u64, limit: u64) -> u64 {
        self.next(from, limit, u64::MAX)
    }

    fn next(&self, from: u64, limit: u64, unwanted: u64) -> u64 {
        let mut at = from;
        while at < limit {
            let bits = self.words.get((at / WORD) as usize).copied().unwrap_or(0) ^ unwanted;
            let rest = bits >> (at % WORD);
            if rest != 0 {
                return (at + u64::from(rest.trailing_zeros())).min(limit);
            }
            // Beyond the words all bits are alike.
            at = if at < self.end() { (at / WORD + 1) * WORD } else { limit };
        }
        limit
    }

    /// Where the set bits begin that end before `end`, at `limit` at the lowest.
    pub(super) fn start_of_set(&self, end: u64, limit: u64) -> u64 {
        let mut at = end;
        while at > limit {
            let (word, above) = ((at - 1) / WORD, WORD - 1 - (at - 1) % WORD);
            let ones = (self.words.get(word as usize).copied().unwrap_or(0) << above).leading_ones();
            // What was shifted in is clear, so it ends the count.
            at -= u64::from(ones);
            if at > word * WORD {
                break;
            }
        }
        at.max(limit)
    }
}

/// The words in which an extent's bits are, and which they are.
#[inline]
fn parts(extent: Extent) -> impl Iterator<Item = (usize, u64)> {
    let (start, end) = (extent.start.0, extent.end().0);
    (start / WORD..end.div_ceil(WORD)).map(move |word| {
        let from = start.saturating_sub(word * WORD);
        let to = (end - word * WORD).min(WORD);
        ((word as usize), (u64::MAX << from) & (u64::MAX >> (WORD - to)))
    })
}
