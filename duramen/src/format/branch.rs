//! Branch pages: short separators and child pointers, found through heads.
//!
//! Owns: the layout of a branch; reading and validating it. Editing is in `branch/edit.rs`. Must not know: what the
//! children hold.
//!
//! ```text
//! 0       40        40+p                                        end-heap               end
//! | header | prefix  | heads u32 x n | children u64 x n | tails u16 x n | gap ... | heap |
//! ```
//! Entry 0 has no separator: its child covers everything below separator 1. Child `i` covers what is not below
//! separator `i`, and below separator `i + 1`. `p` is the header's prefix length, rounded up to a multiple of 8 (the
//! bytes in between are zero): so many bytes, stored once, begin all separators of the page.
//!
//! Separators are views (see [`crate::order`]). What follows the prefix is a separator's *remainder*; its first 4
//! bytes, zero-padded, are its head. A remainder of at most 4 bytes that does not end in a zero byte lives in the head
//! alone, and its tail is 0. Nothing is lost by that: it is the head's bytes without the zeroes at their end. Nor does
//! a search need more: if a needle's head equals it, then the needle begins with the remainder (it cannot be a shorter
//! string that only looks equal by padding, since the remainder's last byte is not zero), so the separator is not
//! above the needle. Other remainders have their whole bytes in the heap, after a `u16` length, and a tail that is
//! their offset in the page.
//!
//! Tables with a custom order have no views: their separators are whole keys, all in the heap, the heads zero, the
//! prefix empty. The header's `item` is 1 in such pages.

use std::cmp::Ordering;

use crate::error::Damage;
use crate::order::{Needle, Order, head_of};

use super::heads::{self, Head};
use super::leaf::key_max;
use super::page::{self, Child, HEADER, Kind, NO_ENTRY, PAGE_MAX, SHORT, TOO_MANY};

mod edit;
#[cfg(test)]
mod tests;

pub(crate) use edit::BranchMut;

/// Bytes of an entry outside the heap: a head, a child, a tail.
const ENTRY: usize = 14;

const TAIL_OUTSIDE: Damage = Damage("a separator lies outside of it");

const TOO_LONG: Damage = Damage("a separator is longer than any key may be");

/// What the prefix takes in the page.
#[inline]
fn padded(prefix: usize) -> usize {
    prefix.next_multiple_of(8)
}

/// Whether a remainder needs no place in the heap.
fn fits_in_head(remainder: &[u8], whole: bool) -> bool {
    remainder.is_empty() || !whole && remainder.len() <= 4 && remainder.last() != Some(&0)
}

/// What a remainder takes of the heap.
fn tail_bytes(remainder: &[u8], whole: bool) -> usize {
    if fits_in_head(remainder, whole) { 0 } else { 2 + remainder.len() }
}

/// A branch, for reading.
#[derive(Clone, Copy)]
pub(crate) struct Branch<'a> {
    bytes: &'a [u8],
    prefix: &'a [u8],
    heads: &'a [Head],
    children: &'a [[u8; 8]],
    tails: &'a [[u8; 2]],
}

impl<'a> Branch<'a> {
    /// Checks the header against the page's length.
    #[inline(always)]
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Branch<'a>, Damage> {
        if bytes.len() < HEADER {
            return Err(SHORT);
        }
        if page::kind(bytes) != Some(Kind::Branch) || page::level(bytes) < 2 {
            return Err(Damage("it is not the branch that was expected"));
        }
        let (count, prefix) = (page::count(bytes), page::prefix(bytes));
        if count == 0 {
            return Err(Damage("it is a branch without children"));
        }
        if HEADER + padded(prefix) + ENTRY * count + page::heap(bytes) > bytes.len() {
            return Err(TOO_MANY);
        }
        Ok(Branch::trusted(bytes, count, prefix))
    }

    /// The branch in bytes whose header has been checked.
    #[inline(always)]
    fn trusted(bytes: &'a [u8], count: usize, prefix: usize) -> Branch<'a> {
        let heads = HEADER + padded(prefix);
        let children = heads + 4 * count;
        let tails = children + 8 * count;
        Branch {
            bytes,
            prefix: &bytes[HEADER..HEADER + prefix],
            heads: bytes[heads..children].as_chunks().0,
            children: bytes[children..tails].as_chunks().0,
            tails: bytes[tails..tails + 2 * count].as_chunks().0,
        }
    }

    /// How many children there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.children.len()
    }

    /// The child at `i`.
    #[inline]
    pub(crate) fn child(&self, i: usize) -> Result<Child, Damage> {
        self.children.get(i).map(|bytes| Child(u64::from_le_bytes(*bytes))).ok_or(NO_ENTRY)
    }

    /// Names the children that are in the writer's arena, with their indexes.
    pub(crate) fn dirty_children(&self, mut name: impl FnMut(usize, Child)) {
        // They are few: where none of so many is one, no more is asked.
        const AT_ONCE: usize = 16;
        for (nth, group) in self.children.chunks(AT_ONCE).enumerate() {
            // Of a fixed number the processor asks all at once.
            if group.as_array::<AT_ONCE>().is_some_and(|group| !is_any_dirty(group)) {
                continue;
            }
            for (i, bytes) in group.iter().enumerate() {
                let child = Child(u64::from_le_bytes(*bytes));
                if child.is_dirty() {
                    name(nth * AT_ONCE + i, child);
                }
            }
        }
    }

    /// Which child covers the needle.
    #[inline(always)]
    pub(crate) fn search(&self, needle: &Needle<'_>, order: &Order) -> Result<usize, Damage> {
        if !order.has_views() {
            let above = |tail: Option<&[u8]>| order.cmp(tail.unwrap_or(&[]), needle.key) == Ordering::Greater;
            return self.last_not(above, 0, self.len() - 1);
        }
        let mut view = needle.view();
        if !self.prefix.is_empty() {
            let (front, rest) = view.split_at(self.prefix.len().min(view.len()));
            match front.cmp(self.prefix) {
                Ordering::Less => return Ok(0),
                Ordering::Equal => view = rest,
                Ordering::Greater => return Ok(self.len() - 1),
            }
        }
        let head = head_of(view, 0);
        let last = heads::upper(&self.heads[1..], head);
        if last == 0 || heads::at(self.heads, last) != head || self.tails[last] == [0; 2] {
            return Ok(last);
        }
        let below = heads::lower(&self.heads[1..], head);
        self.last_not(|tail| tail.is_some_and(|remainder| remainder > view), below, last)
    }

    /// The last entry of `low..=high` whose separator is not `above` the needle; `low` if there is none.
    fn last_not(
        &self,
        above: impl Fn(Option<&[u8]>) -> bool,
        mut low: usize,
        mut high: usize,
    ) -> Result<usize, Damage> {
        while low < high {
            let middle = high - (high - low) / 2;
            if above(self.tail(middle)?) {
                high = middle - 1;
            } else {
                low = middle;
            }
        }
        Ok(low)
    }

    /// The remainder at `i` from the heap; `None` if it lives in the head alone.
    #[inline]
    fn tail(&self, i: usize) -> Result<Option<&'a [u8]>, Damage> {
        let at = usize::from(u16::from_le_bytes(*self.tails.get(i).ok_or(NO_ENTRY)?));
        if at == 0 {
            return Ok(None);
        }
        let (len, rest) = self.bytes.get(at..).and_then(|tail| tail.split_first_chunk()).ok_or(TAIL_OUTSIDE)?;
        rest.get(..usize::from(u16::from_le_bytes(*len))).map(Some).ok_or(TAIL_OUTSIDE)
    }

    /// Puts the separator at `i` into `out`; nothing for entry 0, which has none.
    pub(crate) fn separator(&self, i: usize, out: &mut Vec<u8>) -> Result<(), Damage> {
        out.clear();
        self.append_separator(i, out)
    }

    fn append_separator(&self, i: usize, out: &mut Vec<u8>) -> Result<(), Damage> {
        if i == 0 {
            return Ok(());
        }
        let tail = self.tail(i)?;
        out.extend_from_slice(self.prefix);
        if let Some(remainder) = tail {
            out.extend_from_slice(remainder);
        } else {
            let head = heads::at(self.heads, i);
            out.extend_from_slice(&head.to_be_bytes()[..4 - head.trailing_zeros() as usize / 8]);
        }
        Ok(())
    }

    /// Bytes that entries and prefix take.
    pub(crate) fn used(&self) -> usize {
        let arrays = padded(self.prefix.len()) + ENTRY * self.len();
        (arrays + page::heap(self.bytes)).saturating_sub(page::dead(self.bytes))
    }

    /// Bytes left for more entries (whose size depends on the prefix: see [`BranchMut::insert`]).
    pub(crate) fn free_space(&self) -> usize {
        (self.bytes.len() - HEADER).saturating_sub(self.used())
    }

    /// Whether separators are whole keys, not views.
    pub(crate) fn whole(&self) -> bool {
        page::item(self.bytes) != 0
    }

    /// Whether heads are those of the separators, which are views: what [`validate`] leaves out.
    pub(crate) fn check_heads(&self) -> Result<(), Damage> {
        for i in 1..self.len() {
            if self.tail(i)?.is_some_and(|remainder| heads::at(self.heads, i) != head_of(remainder, 0)) {
                return Err(Damage("a head is not that of its separator"));
            }
        }
        Ok(())
    }
}

/// Checks all that [`BranchMut`] relies on: every tail is inside the heap, sizes add up, separators are no longer than
/// keys, children are placed. It does not check what only gives wrong answers: heads and the order of separators.
pub(crate) fn validate(bytes: &[u8]) -> Result<(), Damage> {
    let branch = Branch::open(bytes)?;
    let (prefix, longest) = (branch.prefix.len(), key_max(bytes.len()));
    if bytes.len() > PAGE_MAX || branch.whole() && prefix != 0 || prefix > longest {
        return Err(Damage("its common prefix cannot be right"));
    }
    let heap_start = bytes.len() - page::heap(bytes);
    let mut used = 0;
    for i in 0..branch.len() {
        if branch.child(i)?.is_dirty() {
            return Err(Damage("a child has no place in the file"));
        }
        let Some(remainder) = branch.tail(i)? else { continue };
        if i == 0 || usize::from(u16::from_le_bytes(branch.tails[i])) < heap_start {
            return Err(TAIL_OUTSIDE);
        }
        if prefix + remainder.len() > longest {
            return Err(TOO_LONG);
        }
        used += 2 + remainder.len();
    }
    if used + page::dead(bytes) != page::heap(bytes) {
        return Err(Damage("its counts do not agree with its separators"));
    }
    Ok(())
}

/// Whether one of the children is in the writer's arena.
#[inline]
fn is_any_dirty<const N: usize>(children: &[[u8; 8]; N]) -> bool {
    Child(children.iter().fold(0, |all, bytes| all | u64::from_le_bytes(*bytes))).is_dirty()
}
