//! Leaf pages: whole keys with their values, found through heads.
//!
//! Owns: the layout of a leaf and of its cells; reading and validating them. Editing is in `leaf/edit.rs`. Must not
//! know: what a value means beyond its kind, other pages.
//!
//! ```text
//! 0       40                40+4n            40+10n                end-heap            end
//! | header | heads u32 x n    | slots 6 x n     | gap ...            | heap: cells        |
//! ```
//! A slot says where a cell is in the page, and what:
//!
//! | bytes | field |
//! |---|---|
//! | 0..2 | offset of the cell, even |
//! | 2..6 | key length (14 bits), kind's upper bits (2), value length (15), kind's lowest bit (1), from the lowest bit on |
//!
//! A cell is the key, whole, and the value; a zero byte after each whose length is odd. Nothing else is between them, so
//! where all lengths are multiples of 8, all keys and values lie at such: programs read numbers where they are.
//!
//! A *head* is the 4 bytes of the key's view after the page's common prefix, as a number. Keys with equal heads are
//! told apart by their cells, so a search reads the header, the heads, one slot and, mostly, one cell. The prefix is
//! only a length: its bytes are those of any key. Tables with a custom order have no views: their heads are zero.

use std::cmp::Ordering;
use std::ops::Range;

use smallvec::SmallVec;

use crate::error::Damage;
use crate::ids::Txnid;
use crate::order::{Needle, Order};
use crate::prefetch::{LINE, prefetch};
use crate::width::{to_u16, to_u32};

use super::heads::{self, Head};
use super::overflow::STUB;
use super::page::{self, Child, HEADER, Kind, NO_ENTRY, PAGE_MAX, SHORT, TOO_MANY};
use super::record;

mod build;
mod edit;
#[cfg(test)]
mod tests;

pub(crate) use build::LeafBuilder;
pub(crate) use edit::LeafMut;

/// Bytes of a slot.
const SLOT: usize = 6;
/// Bytes of an entry outside the heap: a head and a slot.
const ENTRY: usize = 4 + SLOT;
/// What an empty cell takes of the heap, so that no other cell is at its offset, and none at the page's end.
const CELL_MIN: usize = 2;
/// Longest key that 14 bits can tell.
const KEY_LIMIT: usize = (1 << 14) - 1;

/// What a cell's value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum CellKind {
    /// The value itself.
    Plain = 0,
    /// A [`Stub`](super::overflow::Stub): the value lies in pages of its own.
    Overflow = 1,
    /// The duplicates of the key, inline.
    SubPage = 2,
    /// The record of a tree of duplicates.
    SubTree = 3,
    /// The record of a named table; in the catalog only.
    Table = 4,
}

impl CellKind {
    #[inline]
    fn from_code(code: u32) -> Option<CellKind> {
        match code {
            0 => Some(CellKind::Plain),
            1 => Some(CellKind::Overflow),
            2 => Some(CellKind::SubPage),
            3 => Some(CellKind::SubTree),
            4 => Some(CellKind::Table),
            _ => None,
        }
    }

    /// Whether values of this kind may have this length.
    fn takes(self, vlen: usize) -> bool {
        match self {
            CellKind::Plain | CellKind::SubPage => true,
            CellKind::Overflow => vlen == STUB,
            CellKind::SubTree | CellKind::Table => vlen == record::BYTES,
        }
    }
}

/// A key with its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell<'a> {
    /// The key, whole.
    pub key: &'a [u8],
    /// The value, or what stands for it.
    pub value: &'a [u8],
    /// Which of the two.
    pub kind: CellKind,
}

/// Longest key that tables in pages of this size take.
pub(crate) fn key_max(page_size: usize) -> usize {
    (page_size / 4).min(KEY_LIMIT)
}

/// What a cell with its head and slot takes of a page's [`Leaf::free_space`].
#[inline]
pub(crate) fn cell_bytes(klen: usize, vlen: usize) -> usize {
    heap_bytes(klen, vlen) + ENTRY
}

/// Largest [`cell_bytes`] allowed, so that each leaf has room for two; larger values go to pages of their own.
#[inline]
pub(crate) fn max_inline(page_size: usize) -> usize {
    (page_size - HEADER) / 2
}

/// What a cell takes of the heap.
#[inline]
fn heap_bytes(klen: usize, vlen: usize) -> usize {
    (even(klen) + even(vlen)).max(CELL_MIN)
}

#[inline]
fn even(n: usize) -> usize {
    n + (n & 1)
}

/// Where a cell is, and what.
#[derive(Clone, Copy)]
struct Slot {
    /// Offset in the page.
    at: usize,
    klen: usize,
    vlen: usize,
    /// A [`CellKind`], if it is known.
    code: u32,
}

impl Slot {
    fn new(at: usize, klen: usize, vlen: usize, kind: CellKind) -> Slot {
        Slot { at, klen, vlen, code: kind as u32 }
    }

    #[inline]
    fn read(bytes: [u8; SLOT]) -> Slot {
        let [a, b, word @ ..] = bytes;
        let word = u32::from_le_bytes(word);
        Slot {
            at: usize::from(u16::from_le_bytes([a, b])),
            klen: (word & 0x3FFF) as usize,
            vlen: (word >> 16 & 0x7FFF) as usize,
            code: (word >> 14 & 3) << 1 | word >> 31,
        }
    }

    /// Of what is read so, the offset.
    #[inline]
    fn at_mut(bytes: &mut [u8; SLOT]) -> &mut [u8; 2] {
        bytes.first_chunk_mut().expect("it has more")
    }

    fn bytes(self) -> [u8; SLOT] {
        let word = to_u32(self.klen) | (self.code >> 1) << 14 | to_u32(self.vlen) << 16 | (self.code & 1) << 31;
        let ([a, b], [c, d, e, f]) = (to_u16(self.at).to_le_bytes(), word.to_le_bytes());
        [a, b, c, d, e, f]
    }

    /// Where the key is in the page.
    #[inline]
    fn key(self) -> Range<usize> {
        self.at..self.at + self.klen
    }

    /// Where the value is in the page.
    #[inline]
    fn value(self) -> Range<usize> {
        let start = self.at + even(self.klen);
        start..start + self.vlen
    }

    /// What the cell takes of the heap.
    #[inline]
    fn size(self) -> usize {
        heap_bytes(self.klen, self.vlen)
    }

    fn is_plain(self) -> bool {
        self.code == CellKind::Plain as u32
    }
}

/// A leaf, for reading.
#[derive(Clone, Copy)]
pub(crate) struct Leaf<'a> {
    bytes: &'a [u8],
    heads: &'a [Head],
    slots: &'a [[u8; SLOT]],
    prefix: usize,
}

impl<'a> Leaf<'a> {
    /// Checks the header against the page's length.
    #[inline]
    pub(crate) fn open(bytes: &'a [u8]) -> Result<Leaf<'a>, Damage> {
        if bytes.len() < HEADER {
            return Err(SHORT);
        }
        if page::kind(bytes) != Some(Kind::Leaf) || page::level(bytes) != 1 {
            return Err(Damage("it is not the leaf that was expected"));
        }
        let count = page::count(bytes);
        if HEADER + ENTRY * count + page::heap(bytes) > bytes.len() {
            return Err(TOO_MANY);
        }
        Ok(Leaf::trusted(bytes, count))
    }

    /// The leaf in bytes whose header has been checked.
    #[inline]
    fn trusted(bytes: &'a [u8], count: usize) -> Leaf<'a> {
        let slots = HEADER + 4 * count;
        Leaf {
            bytes,
            heads: bytes[HEADER..slots].as_chunks().0,
            slots: bytes[slots..slots + SLOT * count].as_chunks().0,
            prefix: page::prefix(bytes),
        }
    }

    /// How many cells there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The transaction that wrote the page.
    pub(crate) fn birth(&self) -> Txnid {
        page::birth(self.bytes)
    }

    /// How many cells are not plain, so that their values lie (or may lie) elsewhere.
    #[inline]
    pub(crate) fn outside(&self) -> usize {
        page::item(self.bytes)
    }

    /// Bytes that cells take, in units of [`cell_bytes`].
    pub(crate) fn used(&self) -> usize {
        (ENTRY * self.len() + page::heap(self.bytes)).saturating_sub(page::dead(self.bytes))
    }

    /// Bytes left for more cells, in units of [`cell_bytes`].
    pub(crate) fn free_space(&self) -> usize {
        (self.bytes.len() - HEADER).saturating_sub(self.used())
    }

    #[inline]
    fn slot(&self, i: usize) -> Result<Slot, Damage> {
        self.slots.get(i).map(|bytes| Slot::read(*bytes)).ok_or(NO_ENTRY)
    }

    /// The key at `i`.
    #[inline]
    pub(crate) fn key(&self, i: usize) -> Result<&'a [u8], Damage> {
        self.bytes.get(self.slot(i)?.key()).ok_or(CELL_OUTSIDE)
    }

    /// The cell at `i`.
    #[inline]
    pub(crate) fn cell(&self, i: usize) -> Result<Cell<'a>, Damage> {
        let slot = self.slot(i)?;
        let (Some(key), Some(value)) = (self.bytes.get(slot.key()), self.bytes.get(slot.value())) else {
            return Err(CELL_OUTSIDE);
        };
        let kind = CellKind::from_code(slot.code).ok_or(Damage("a cell is of an unknown kind"))?;
        Ok(Cell { key, value, kind })
    }

    /// Key and value at `i`, if the value lies in the cell whole: what a walk asks at each step.
    #[inline(always)]
    pub(crate) fn plain(&self, i: usize) -> Option<(&'a [u8], &'a [u8])> {
        let slot = Slot::read(*self.slots.get(i)?);
        let pair = (self.bytes.get(slot.key())?, self.bytes.get(slot.value())?);
        (slot.code == CellKind::Plain as u32).then_some(pair)
    }

    /// The indices of the cells that point to what has no place in the file yet. The values of all kinds that point begin with
    /// the pointer.
    pub(crate) fn dirty_cells(&self) -> Result<SmallVec<[usize; 8]>, Damage> {
        let mut found = SmallVec::new();
        for (i, slot) in self.slots.iter().enumerate() {
            let slot = Slot::read(*slot);
            if matches!(CellKind::from_code(slot.code), Some(CellKind::Plain | CellKind::SubPage)) {
                continue;
            }
            let value = self.bytes.get(slot.value().start..).ok_or(CELL_OUTSIDE)?;
            let pointer = value.first_chunk().ok_or(CELL_OUTSIDE)?;
            if Child(u64::from_le_bytes(*pointer)).is_dirty() {
                found.push(i);
            }
        }
        Ok(found)
    }

    /// Fetches the whole of a cell of common size: who finds it will look at the value next.
    #[inline]
    pub(crate) fn prefetch_cell(&self, i: usize) {
        let at = self.slots.get(i).map_or(0, |slot| Slot::read(*slot).at);
        for line in 0..3 {
            prefetch(self.bytes, at + line * LINE);
        }
    }

    /// Fetches the cell that [`Leaf::get`] would look at first.
    #[inline]
    pub(crate) fn prefetch(&self, needle: &Needle<'_>, order: &Order) {
        if order.has_views() {
            self.prefetch_cell(heads::lower(self.heads, needle.head(self.prefix)));
        }
    }

    /// The cell with exactly this key: the shortest way to it.
    #[inline]
    pub(crate) fn get(&self, needle: &Needle<'_>, order: &Order) -> Result<Option<Cell<'a>>, Damage> {
        if !order.has_views() {
            let (at, found) = self.find_whole(0, self.len(), needle, order)?;
            return if found { self.cell(at).map(Some) } else { Ok(None) };
        }
        let head = needle.head(self.prefix);
        let at = heads::lower(self.heads, head);
        if at == self.len() || heads::at(self.heads, at) != head {
            return Ok(None);
        }
        self.prefetch_cell(at);
        let cell = self.cell(at)?;
        if cell.key == needle.key {
            return Ok(Some(cell));
        }
        // A key that shares no prefix with the page is below (or above) all keys, so it needs no case of its own.
        if order.cmp(cell.key, needle.key) != Ordering::Less {
            return Ok(None);
        }
        let (at, found) = self.find_whole(at + 1, self.end_of_run(at, head), needle, order)?;
        if found { self.cell(at).map(Some) } else { Ok(None) }
    }

    /// The first cell whose key is not below the needle, and whether the key equals it.
    #[inline]
    pub(crate) fn find(&self, needle: &Needle<'_>, order: &Order) -> Result<(usize, bool), Damage> {
        if !order.has_views() {
            return self.find_whole(0, self.len(), needle, order);
        }
        let head = needle.head(self.prefix);
        let at = heads::lower(self.heads, head);
        let hit = at < self.len() && heads::at(self.heads, at) == head;
        if self.len() == 0 || !hit && self.prefix == 0 {
            return Ok((at, false));
        }
        let key = self.key(at.min(self.len() - 1))?;
        let side = order.cmp(key, needle.key);
        if hit && side == Ordering::Equal {
            return Ok((at, true));
        }
        if self.prefix > 0 && order.common_prefix(key, needle.key) < self.prefix {
            return Ok((if side == Ordering::Greater { 0 } else { self.len() }, false));
        }
        if hit && side == Ordering::Less {
            return self.find_whole(at + 1, self.end_of_run(at, head), needle, order);
        }
        Ok((at, false))
    }

    /// Where the run of heads that begins at `at` and equals `head` ends.
    fn end_of_run(&self, at: usize, head: u32) -> usize {
        at + heads::upper(&self.heads[at..], head)
    }

    /// As `find`, by the cells of `low..high` alone.
    fn find_whole(
        &self,
        mut low: usize,
        mut high: usize,
        needle: &Needle<'_>,
        order: &Order,
    ) -> Result<(usize, bool), Damage> {
        while low < high {
            let middle = low + (high - low) / 2;
            match order.cmp(self.key(middle)?, needle.key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok((middle, true)),
                Ordering::Greater => high = middle,
            }
        }
        Ok((low, false))
    }

    /// Where to split the page so that a new cell (of `new` [`cell_bytes`]) fits at `at`.
    ///
    /// The answer `m` counts in the sequence that has the new cell in it: its first `m` cells go left. So the new cell
    /// goes left if `at < m`, with the old cells `..m - 1`; else it goes right, with the old cells `m..`. Both sides
    /// get at least one cell, and both fit if the new cell is within [`max_inline`].
    pub(crate) fn best_split(&self, at: usize, new: usize) -> Result<usize, Damage> {
        let total = self.used() + new;
        let (mut left, mut best) = (0, (usize::MAX, 1));
        for m in 1..=self.len() {
            left += match (m - 1).cmp(&at) {
                Ordering::Less => self.bytes_of(m - 1)?,
                Ordering::Equal => new,
                Ordering::Greater => self.bytes_of(m - 2)?,
            };
            best = best.min((left.max(total.saturating_sub(left)), m));
        }
        Ok(best.1)
    }

    /// As [`Leaf::best_split`], at the very place of the new cell, which is at neither end: it stays with those before it
    /// (`rises`), or with those behind it, if it fits there. `None` if it fits on neither side.
    pub(crate) fn split_beside(&self, at: usize, new: usize, rises: bool) -> Result<Option<usize>, Damage> {
        let mut left = 0;
        for i in 0..at {
            left += self.bytes_of(i)?;
        }
        let (right, room) = (self.used().saturating_sub(left), self.bytes.len() - HEADER);
        let (fits_left, fits_right) = (left + new <= room, right + new <= room);
        Ok(match (rises, fits_left, fits_right) {
            (_, false, false) => None,
            (true, true, _) | (false, true, false) => Some(at + 1),
            _ => Some(at),
        })
    }

    /// Whether no cell has come since this one, as far as that is to be seen: the heap grows from the page's end.
    pub(crate) fn is_newest(&self, i: usize) -> bool {
        self.slot(i).is_ok_and(|slot| slot.at + page::heap(self.bytes) == self.bytes.len())
    }

    /// The [`cell_bytes`] of the cell at `i`.
    pub(crate) fn bytes_of(&self, i: usize) -> Result<usize, Damage> {
        Ok(self.slot(i)?.size() + ENTRY)
    }

    /// The cell at `i`, if it is one that a page of this size may hold.
    fn sane_cell(&self, i: usize) -> Result<Cell<'a>, Damage> {
        let (cell, slot) = (self.cell(i)?, self.slot(i)?);
        let (klen, vlen) = (slot.klen, slot.vlen);
        // With the zero bytes.
        if slot.at + slot.size() > self.bytes.len() {
            return Err(CELL_OUTSIDE);
        }
        if klen > key_max(self.bytes.len()) || cell_bytes(klen, vlen) > max_inline(self.bytes.len()) {
            return Err(Damage("a cell is larger than any may be"));
        }
        if !cell.kind.takes(vlen) {
            return Err(Damage("a cell's value does not have the length of its kind"));
        }
        if klen < self.prefix {
            return Err(Damage("a key is shorter than its page's common prefix"));
        }
        Ok(cell)
    }
}

const CELL_OUTSIDE: Damage = Damage("a cell lies outside of it");

impl Leaf<'_> {
    /// Whether searches find what is here, whose keys rise: what [`validate`] leaves out. For orders that have views.
    pub(crate) fn check_heads(&self, order: &Order) -> Result<(), Damage> {
        for i in 0..self.len() {
            if heads::at(self.heads, i) != order.head(self.key(i)?, self.prefix) {
                return Err(Damage("a head is not that of its key"));
            }
        }
        let Some(last) = self.len().checked_sub(1) else { return Ok(()) };
        match order.common_prefix(self.key(0)?, self.key(last)?) < self.prefix {
            true => Err(Damage("its keys do not begin as it says that all do")),
            false => Ok(()),
        }
    }
}

/// Checks a page of the file before it is changed: all that [`LeafMut`] relies on, and that no cell points at a
/// writer's memory.
pub(crate) fn validate(bytes: &[u8]) -> Result<(), Damage> {
    validate_cells(bytes)?;
    let leaf = Leaf::open(bytes)?;
    for i in 0..if leaf.outside() > 0 { leaf.len() } else { 0 } {
        if points_nowhere(&leaf.cell(i)?) {
            return Err(Damage("a cell with a pointer to a page that is not in the file"));
        }
    }
    Ok(())
}

/// Checks all that [`LeafMut`] relies on: every slot and cell is inside the heap, no two cells overlap, sizes and
/// counts add up. It does not check what only gives wrong answers: heads and the order of keys.
fn validate_cells(bytes: &[u8]) -> Result<(), Damage> {
    const USUAL: usize = 4096;
    if bytes.len() <= USUAL {
        validate_cells_in::<{ USUAL / 128 }>(bytes)
    } else {
        validate_cells_in::<{ PAGE_MAX / 128 }>(bytes)
    }
}

/// [`validate_cells`] for pages of at most `128 * WORDS` bytes.
fn validate_cells_in<const WORDS: usize>(bytes: &[u8]) -> Result<(), Damage> {
    let leaf = Leaf::open(bytes)?;
    if bytes.len() > PAGE_MAX || (bytes.len() | page::heap(bytes)) & 1 != 0 {
        return Err(Damage("its heap does not begin at an even offset"));
    }
    let heap_start = bytes.len() - page::heap(bytes);
    let mut taken = Taken([0; WORDS]);
    let (mut used, mut outside) = (0, 0);
    for i in 0..leaf.len() {
        let cell = leaf.sane_cell(i)?;
        let slot = leaf.slot(i)?;
        let (at, size) = (slot.at, slot.size());
        if at % 2 != 0 || at < heap_start {
            return Err(CELL_OUTSIDE);
        }
        if !taken.take(at / 2, size / 2) {
            return Err(Damage("two of its cells overlap"));
        }
        used += size;
        outside += usize::from(cell.kind != CellKind::Plain);
    }
    if used + page::dead(bytes) != page::heap(bytes) || outside != leaf.outside() {
        return Err(Damage("its counts do not agree with its cells"));
    }
    Ok(())
}

/// Whether a cell of a page of the file points at a writer's memory. Stubs and tree records begin with the pointer.
fn points_nowhere(cell: &Cell<'_>) -> bool {
    let points = matches!(cell.kind, CellKind::Overflow | CellKind::SubTree | CellKind::Table);
    points && cell.value.first_chunk().is_none_or(|word| Child(u64::from_le_bytes(*word)).is_dirty())
}

/// Which pairs of bytes of a page belong to a cell seen so far. Without this check, writing one cell's value could
/// change another's, and the sizes of all add up to more than the heap.
struct Taken<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Taken<WORDS> {
    /// Marks `n` pairs from `start`; false if one of them was taken, or is in no page.
    fn take(&mut self, start: usize, n: usize) -> bool {
        let (mut at, end) = (start, start + n);
        while at < end {
            let bits = (64 - at % 64).min(end - at);
            let mask = (u64::MAX >> (64 - bits)) << (at % 64);
            let Some(word) = self.0.get_mut(at / 64).filter(|word| **word & mask == 0) else { return false };
            *word |= mask;
            at += bits;
        }
        true
    }
}
