//! One bit for each page of a file.
//!
//! Owns: the bits. Must not know: what they say of the pages.

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

    /// Sets the extent's bits, which must be in reach.
    pub(super) fn set(&mut self, extent: Extent) {
        let words = extent.end().0.div_ceil(WORD) as usize;
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
        parts(extent).for_each(|(word, mask)| self.words[word] |= mask);
    }

    pub(super) fn clear(&mut self, extent: Extent) {
        for (word, mask) in parts(extent) {
            let Some(bits) = self.words.get_mut(word) else { break };
            *bits &= !mask;
        }
    }
}

/// The words in which an extent's bits are, and which they are.
fn parts(extent: Extent) -> impl Iterator<Item = (usize, u64)> {
    let (start, end) = (extent.start.0, extent.end().0);
    (start / WORD..end.div_ceil(WORD)).map(move |word| {
        let from = start.saturating_sub(word * WORD);
        let to = (end - word * WORD).min(WORD);
        ((word as usize), (u64::MAX << from) & (u64::MAX >> (WORD - to)))
    })
}
