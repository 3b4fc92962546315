//! Changing a branch in place, and building it anew where that cannot be.
//!
//! Owns: the heap's bookkeeping, the choice of the prefix. Must not know: when pages split or merge.
//!
//! The page has been accepted by `validate` or made by `init`. So all offsets and lengths in it are sound, and every
//! function here leaves them so. (Tails of a hostile page may overlap: harmless, since nothing is ever written into an
//! old one.) What cannot be done by moving a few bytes goes through a [`Draft`]: all entries decoded, then written as
//! a fresh page, or not at all if they do not fit.

use std::ops::Range;

use crate::error::Damage;
use crate::order::head_of;

use super::super::page::{self, Child, HEADER, Kind};
use super::{Branch, ENTRY, fits_in_head, key_max, padded, tail_bytes};

/// Shorter common prefixes are not worth their place. (Random keys share less: their pages need no look at a prefix.)
const PREFIX_MIN: usize = 3;

/// A branch, for changing.
pub(crate) struct BranchMut<'a> {
    bytes: &'a mut [u8],
}

impl<'a> BranchMut<'a> {
    /// Edits a page that [`validate`](super::validate) has accepted (dirty children apart).
    #[inline]
    pub(crate) fn new(bytes: &'a mut [u8]) -> BranchMut<'a> {
        debug_assert!(Branch::open(bytes).is_ok() || page::count(bytes) == 0);
        BranchMut { bytes }
    }

    /// Makes an empty branch; `whole` for tables with a custom order, whose separators are whole keys.
    pub(crate) fn init(bytes: &'a mut [u8], level: u8, whole: bool) -> BranchMut<'a> {
        page::init(bytes, Kind::Branch, level);
        page::set_item(bytes, usize::from(whole));
        BranchMut { bytes }
    }

    /// The page, for reading. It may have no children yet: then only `len` and `separator` make sense.
    #[inline]
    pub(crate) fn branch(&self) -> Branch<'_> {
        Branch::trusted(self.bytes, self.len(), page::prefix(self.bytes))
    }

    /// How many children there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        page::count(self.bytes)
    }

    /// Replaces the child at `i`; its separator stays.
    #[inline]
    pub(crate) fn set_child(&mut self, i: usize, child: Child) {
        let at = self.children() + 8 * i;
        page::put64(self.bytes, at, child.0);
    }

    /// Makes `child` the one at `i`. Before it goes `separator`, its lower bound; at 0, where there is no such bound,
    /// `separator` becomes that of the child that was the first (in an empty page it is ignored). False, and no
    /// change, if it does not fit.
    pub(crate) fn insert(&mut self, i: usize, separator: &[u8], child: Child) -> bool {
        assert!(i <= self.len() && separator.len() <= key_max(self.bytes.len()));
        let bound = if self.len() == 0 { 0 } else { i.max(1) };
        let separator = if bound == 0 { &[] } else { separator };
        let Some(needed) = self.room_for(bound, separator).filter(|room| room + ENTRY <= self.gap()) else {
            return self.redraft_with(i, separator, child);
        };
        self.open_entry(bound, i, child);
        self.write_separator(bound, separator, needed);
        true
    }

    /// Gives the child at `i`, which is not the first, another lower bound. False, and no change, if that does not fit.
    pub(crate) fn replace_separator(&mut self, i: usize, separator: &[u8]) -> bool {
        assert!(i > 0 && i < self.len() && separator.len() <= key_max(self.bytes.len()));
        if let Some(needed) = self.room_for(i, separator).filter(|room| *room <= self.gap()) {
            self.drop_tail(i);
            self.write_separator(i, separator, needed);
            return true;
        }
        let branch = self.branch();
        let mut draft = Draft::default();
        draft.copy_own(&branch, 0..i);
        draft.push(separator, branch.child(i).expect("it is one of the page's"));
        draft.copy_own(&branch, i + 1..branch.len());
        self.write(&draft)
    }

    /// Takes away the child at `i` and its separator. Removing the first drops the second's, which becomes the first.
    pub(crate) fn remove(&mut self, i: usize) {
        let bound = if self.len() == 1 { 0 } else { i.max(1) };
        self.drop_tail(bound);
        self.close_entry(bound, i);
        if self.len() <= 1 {
            page::set_heap(self.bytes, 0);
            page::set_dead(self.bytes, 0);
        }
        if self.len() == 0 {
            page::set_prefix(self.bytes, 0);
        }
    }

    /// Replaces all entries. The first one's separator is ignored. False, and no change, if they do not fit.
    pub(crate) fn build<S: AsRef<[u8]>>(&mut self, entries: impl IntoIterator<Item = (S, Child)>) -> bool {
        let mut draft = Draft::default();
        for (separator, child) in entries {
            draft.push(separator.as_ref(), child);
        }
        self.write(&draft)
    }

    /// Chooses a longer prefix if that pays: before placement, not after each change. Cheap if there is nothing to do.
    pub(crate) fn seal(&mut self) {
        let branch = self.branch();
        if branch.len() < 3 || branch.whole() {
            return;
        }
        let (first, last) = (super::heads::at(branch.heads, 1), super::heads::at(branch.heads, branch.len() - 1));
        if first ^ last > 0xFF {
            return;
        }
        let mut draft = Draft::default();
        draft.copy_own(&branch, 0..branch.len());
        if draft.common_prefix() >= branch.prefix.len() + PREFIX_MIN {
            self.write(&draft);
        }
    }

    /// The slow way of `insert`.
    fn redraft_with(&mut self, i: usize, separator: &[u8], child: Child) -> bool {
        let draft = Draft::with(&self.branch(), i, separator, child);
        self.write(&draft.expect("the page was validated before it was edited"))
    }

    fn write(&mut self, draft: &Draft) -> bool {
        let whole = self.whole();
        let Some(prefix) = draft.choose_prefix(whole, self.bytes.len()) else { return false };
        draft.write(self.bytes, prefix, whole);
        true
    }

    /// What the separator takes of the heap as number `i`; `None` if it does not share the page's prefix.
    fn room_for(&self, i: usize, separator: &[u8]) -> Option<usize> {
        if i == 0 {
            return Some(0);
        }
        let remainder = separator.strip_prefix(self.branch().prefix)?;
        Some(tail_bytes(remainder, self.whole()))
    }

    /// Writes head and tail of entry `i`, `needed` bytes of it into the heap; it shares the prefix.
    fn write_separator(&mut self, i: usize, separator: &[u8], needed: usize) {
        let remainder = if i == 0 { &[] } else { &separator[page::prefix(self.bytes)..] };
        let head = if self.whole() { 0 } else { head_of(remainder, 0) };
        let mut tail = 0;
        if needed > 0 {
            page::set_heap(self.bytes, page::heap(self.bytes) + needed);
            tail = self.bytes.len() - page::heap(self.bytes);
            write_tail(self.bytes, tail, remainder);
        }
        let (heads, tails) = (self.heads(), self.tails());
        page::put32(self.bytes, heads + 4 * i, head);
        page::put16(self.bytes, tails + 2 * i, tail);
    }

    /// Gives up what separator `i` has in the heap.
    fn drop_tail(&mut self, i: usize) {
        let tail = self.branch().tail(i).expect("the page was validated before it was edited");
        if let Some(remainder) = tail {
            let dead = page::dead(self.bytes) + 2 + remainder.len();
            page::set_dead(self.bytes, dead);
        }
    }

    /// Inserts a blank head and tail at `bound`, and a child at `i`.
    fn open_entry(&mut self, bound: usize, i: usize, child: Child) {
        let (heads, children, tails, n) = (self.heads(), self.children(), self.tails(), self.len());
        self.bytes.copy_within(tails + 2 * bound..tails + 2 * n, tails + 2 * bound + ENTRY);
        self.bytes.copy_within(tails..tails + 2 * bound, tails + 12);
        self.bytes.copy_within(children + 8 * i..tails, children + 8 * i + 12);
        self.bytes.copy_within(children..children + 8 * i, children + 4);
        self.bytes.copy_within(heads + 4 * bound..children, heads + 4 * bound + 4);
        page::set_count(self.bytes, n + 1);
        self.set_child(i, child);
    }

    /// Removes the head and tail at `bound`, and the child at `i`.
    fn close_entry(&mut self, bound: usize, i: usize) {
        let (heads, children, tails, n) = (self.heads(), self.children(), self.tails(), self.len());
        self.bytes.copy_within(heads + 4 * (bound + 1)..children, heads + 4 * bound);
        self.bytes.copy_within(children..children + 8 * i, children - 4);
        self.bytes.copy_within(children + 8 * (i + 1)..tails, children + 8 * i - 4);
        self.bytes.copy_within(tails..tails + 2 * bound, tails - 12);
        self.bytes.copy_within(tails + 2 * (bound + 1)..tails + 2 * n, tails + 2 * bound - 12);
        page::set_count(self.bytes, n - 1);
    }

    fn heads(&self) -> usize {
        HEADER + padded(page::prefix(self.bytes))
    }

    fn children(&self) -> usize {
        self.heads() + 4 * self.len()
    }

    fn tails(&self) -> usize {
        self.heads() + 12 * self.len()
    }

    fn gap(&self) -> usize {
        self.bytes.len() - page::heap(self.bytes) - self.heads() - ENTRY * self.len()
    }

    fn whole(&self) -> bool {
        page::item(self.bytes) != 0
    }
}

fn write_tail(bytes: &mut [u8], at: usize, remainder: &[u8]) {
    page::put16(bytes, at, remainder.len());
    bytes[at + 2..at + 2 + remainder.len()].copy_from_slice(remainder);
}

/// Entries of a page to be, decoded. The first one's separator is empty.
#[derive(Default)]
struct Draft {
    /// All separators, one after the other.
    bytes: Vec<u8>,
    /// Where each separator ends in `bytes`, and its child.
    entries: Vec<(usize, Child)>,
    /// The longest prefix that a source of these entries had.
    prefix_before: usize,
}

impl Draft {
    fn push(&mut self, separator: &[u8], child: Child) {
        if !self.entries.is_empty() {
            self.bytes.extend_from_slice(separator);
        }
        self.entries.push((self.bytes.len(), child));
    }

    /// The entries of a page and one more, given as to [`BranchMut::insert`].
    fn with(from: &Branch<'_>, i: usize, separator: &[u8], child: Child) -> Result<Draft, Damage> {
        let mut draft = Draft::default();
        draft.copy(from, 0..i)?;
        draft.push(separator, child);
        if i == 0 && from.len() > 0 {
            draft.push(separator, from.child(0)?);
        }
        draft.copy(from, i.max(1)..from.len().max(1))?;
        Ok(draft)
    }

    fn copy(&mut self, from: &Branch<'_>, range: Range<usize>) -> Result<(), Damage> {
        self.prefix_before = self.prefix_before.max(from.prefix.len());
        self.entries.reserve(range.len());
        for i in range {
            if !self.entries.is_empty() {
                from.append_separator(i, &mut self.bytes)?;
            }
            self.entries.push((self.bytes.len(), from.child(i)?));
        }
        Ok(())
    }

    /// As `copy`, from a page that is known to be sound.
    fn copy_own(&mut self, from: &Branch<'_>, range: Range<usize>) {
        self.copy(from, range).expect("the page was validated before it was edited");
    }

    /// The separators, without the first.
    fn separators(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.windows(2).map(|pair| &self.bytes[pair[0].0..pair[1].0])
    }

    fn common_prefix(&self) -> usize {
        let mut separators = self.separators();
        let Some(first) = separators.next() else { return 0 };
        separators.fold(first.len(), |shared, separator| {
            first[..shared].iter().zip(separator).take_while(|(a, b)| a == b).count()
        })
    }

    /// Bytes of a page with this prefix.
    fn bytes_with(&self, prefix: usize, whole: bool) -> usize {
        let tails: usize = self.separators().map(|separator| tail_bytes(&separator[prefix..], whole)).sum();
        HEADER + padded(prefix) + ENTRY * self.entries.len() + tails
    }

    /// The prefix to use; `None` if the entries do not fit whatever it is. The longest is not always the smallest,
    /// because of the padding: so what was there before is tried too, lest a page cannot be written as it was.
    fn choose_prefix(&self, whole: bool, page_size: usize) -> Option<usize> {
        let common = if whole { 0 } else { self.common_prefix() };
        let longest = if common < PREFIX_MIN { 0 } else { common };
        [longest, self.prefix_before.min(common), 0]
            .into_iter()
            .find(|&prefix| self.bytes_with(prefix, whole) <= page_size)
    }

    /// Writes the entries, which fit, as all of the page's.
    fn write(&self, bytes: &mut [u8], prefix: usize, whole: bool) {
        let count = self.entries.len();
        let heads = HEADER + padded(prefix);
        let (children, tails) = (heads + 4 * count, heads + 12 * count);
        let mut top = bytes.len();
        bytes[HEADER..tails + 2 * count].fill(0);
        if let Some(separator) = self.separators().next() {
            bytes[HEADER..HEADER + prefix].copy_from_slice(&separator[..prefix]);
        }
        for (i, (_, child)) in self.entries.iter().enumerate() {
            page::put64(bytes, children + 8 * i, child.0);
        }
        for (i, separator) in (1..).zip(self.separators()) {
            let remainder = &separator[prefix..];
            if !whole {
                page::put32(bytes, heads + 4 * i, head_of(remainder, 0));
            }
            if !fits_in_head(remainder, whole) {
                top -= 2 + remainder.len();
                write_tail(bytes, top, remainder);
                page::put16(bytes, tails + 2 * i, top);
            }
        }
        page::set_count(bytes, count);
        page::set_prefix(bytes, prefix);
        page::set_heap(bytes, bytes.len() - top);
        page::set_dead(bytes, 0);
    }
}
