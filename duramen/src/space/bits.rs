//! One bit for each page of a file.
//!
//! Owns: the bits, and runs of them. Must not know: what they say of the pages.

use crate::ids::{Extent, Pgno};
use crate::width::to_usize;

/// Pages in a word of bits.
pub(super) const WORD: u64 = u64::BITS as u64;

/// Bits of the pages below a limit; clear where none was set.
#[derive(Debug, Clone)]
pub(super) struct Bits {
    words: Vec<u64>,
    pages_max: u64,
}

impl Bits {
    pub(super) fn new(pages_max: u64) -> Bits {
        Bits { words: Vec::new(), pages_max }
    }

    /// These words, the first of them that of page `first * WORD`.
    pub(super) fn from_words(first: u64, words: Vec<u64>) -> Bits {
        let words = if first == 0 { words } else { [vec![0; to_usize(first)], words].concat() };
        Bits { words, pages_max: Pgno::LIMIT }
    }

    /// Cuts words down to the bits of so many pages. Whether one was set among the others.
    pub(super) fn cut(words: &mut Vec<u64>, pages: u64) -> bool {
        let len = to_usize(pages.div_ceil(WORD).min(words.len() as u64));
        let mut lost = words.drain(len..).fold(0, |lost, word| lost | word);
        if let Some(last) = words.last_mut().filter(|_| pages < len as u64 * WORD) {
            let kept = (1 << (pages % WORD)) - 1;
            lost |= *last & !kept;
            *last &= kept;
        }
        lost != 0
    }

    /// The words from this one on to the last in which a bit is set.
    pub(super) fn words_from(&self, first: u64) -> &[u64] {
        let end = self.words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        self.words[..end].get(to_usize(first)..).unwrap_or_default()
    }

    /// The bits of the pages from `word * WORD` on, as many as a word has.
    pub(super) fn word(&self, word: u64) -> u64 {
        usize::try_from(word).ok().and_then(|word| self.words.get(word)).copied().unwrap_or(0)
    }

    /// How many bits are set, and how many runs they are.
    pub(super) fn count(&self) -> (u64, usize) {
        let (mut pages, mut runs, mut before) = (0, 0, 0);
        for &word in &self.words {
            pages += u64::from(word.count_ones());
            runs += (word & !(word << 1 | before)).count_ones() as usize;
            before = word >> (WORD - 1);
        }
        (pages, runs)
    }

    /// The runs of set bits, ascending, of which there are so many at most.
    pub(super) fn runs(&self, most: usize) -> Runs<'_> {
        self.runs_from(0, most)
    }

    /// Those of them that begin at this page or later, where it does not stand within one.
    pub(super) fn runs_from(&self, page: u64, most: usize) -> Runs<'_> {
        Runs { bits: self, at: page, left: most }
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
        let words = to_usize(extent.end().0.div_ceil(WORD));
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        parts(extent).for_each(|(word, mask)| self.words[word] |= mask);
    }

    /// Sets all bits that are set there.
    pub(super) fn set_all(&mut self, other: &Bits) {
        self.set_all_from(0, other);
    }

    /// Sets all bits that are set there, where the first is that of page `word * WORD`; they must be in reach.
    pub(super) fn set_all_from(&mut self, word: u64, other: &Bits) {
        let first = to_usize(word);
        if self.words.len() < first + other.words.len() {
            self.words.resize(first + other.words.len(), 0);
        }
        self.words[first..].iter_mut().zip(&other.words).for_each(|(word, others)| *word |= others);
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
            let ones = (self.words.get(to_usize(word)).copied().unwrap_or(0) << above).leading_ones();
            // What was shifted in is clear, so it ends the count.
            at -= u64::from(ones);
            if at > word * WORD {
                break;
            }
        }
        at.max(limit)
    }
}

/// Runs of set bits.
pub(super) struct Runs<'b> {
    bits: &'b Bits,
    at: u64,
    /// At most so many.
    left: usize,
}

impl Iterator for Runs<'_> {
    type Item = Extent;

    fn next(&mut self) -> Option<Extent> {
        let end = self.bits.end();
        let start = self.bits.next_set(self.at, end);
        if start >= end || self.left == 0 {
            return None;
        }
        self.left -= 1;
        self.at = self.bits.next_clear(start, end);
        Some(Extent::new(Pgno(start), self.at - start))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

/// The words in which an extent's bits are, and which they are.
#[inline]
fn parts(extent: Extent) -> impl Iterator<Item = (usize, u64)> {
    let (start, end) = (extent.start.0, extent.end().0);
    (start / WORD..end.div_ceil(WORD)).map(move |word| (to_usize(word), mask(extent, word)))
}

/// The bits of an extent's pages in this word, in which there are some.
#[inline]
pub(super) fn mask(extent: Extent, word: u64) -> u64 {
    let from = extent.start.0.saturating_sub(word * WORD);
    let to = (extent.end().0 - word * WORD).min(WORD);
    (u64::MAX << from) & (u64::MAX >> (WORD - to))
}
