//! The header that all pages outside the head area share, their checksum, and child pointers.
//!
//! Owns: the 40 header bytes, where a run's payload begins, [`Child`]. Must not know: what follows the header.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | checksum: XXH3 seeded with the file's id, over the bytes from 8 to the page's (an overflow run's: the payload's) end |
//! | 8..16 | page number |
//! | 16..24 | birth: the transaction that wrote the page |
//! | 24 | kind |
//! | 25 | level: 1 for a leaf, one more than its children for a branch |
//! | 26..28 | count: entries |
//! | 28..30 | heap: bytes from the heap's start to the page's end |
//! | 30..32 | dead: bytes of the heap that no entry uses |
//! | 28..32 | overflow and space pages: bytes of payload |
//! | 32..34 | prefix: bytes that the views of all keys share |
//! | 34..36 | item: size of a packed item; a leaf's cells that are not plain; 1 for a branch with whole keys as separators |
//! | 36..40 | run: pages in an overflow or space run |
//! | 40..64 | of a run: zeros; the payload follows |

use super::hash::{Pieces, hash};
use crate::error::Damage;
use crate::ids::{Pgno, Txnid};
use crate::prefetch::{LINE, prefetch};
use crate::width::{low, to_u16};

/// Bytes of the header.
pub(crate) const HEADER: usize = 40;
/// Bytes before a run's payload: the header, and zeros up to where a cache line begins. So a large value lies as aligned as
/// anybody may want it, who works on it in place.
pub(crate) const RUN_HEADER: usize = 64;
/// Smallest page size.
pub(crate) const PAGE_MIN: usize = 4096;
/// Largest page size.
pub(crate) const PAGE_MAX: usize = 65536;

/// A run is hashed in pieces of so many bytes,
const PIECE: usize = 8 << 10;
/// and fetched so far ahead.
const AHEAD: usize = 16 << 10;

const CHECKSUM: usize = 0;
const PGNO: usize = 8;
const BIRTH: usize = 16;
const KIND: usize = 24;
const LEVEL: usize = 25;
const COUNT: usize = 26;
const HEAP: usize = 28;
const DEAD: usize = 30;
const PAYLOAD: usize = 28;
const PREFIX: usize = 32;
const ITEM: usize = 34;
const RUN: usize = 36;

/// A slice that is shorter than a header.
pub(crate) const SHORT: Damage = Damage("it is shorter than a page header");
/// A page whose arrays and heap overlap or leave the page.
pub(crate) const TOO_MANY: Damage = Damage("its entries do not fit in it");
/// An entry's number that is not below the count.
pub(crate) const NO_ENTRY: Damage = Damage("it has fewer entries than expected");

/// What a page is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Separators and children.
    Branch = 2,
    /// Keys of one size, without values.
    Packed = 4,
    /// First page of a run that holds one large value.
    Overflow = 5,
    /// First page of a run that holds the free-space log.
    Space = 6,
    /// Keys and values.
    Leaf = 7,
}

impl Kind {
    /// The kind with this code.
    #[inline]
    pub(crate) fn from_code(code: u8) -> Option<Kind> {
        match code {
            2 => Some(Kind::Branch),
            4 => Some(Kind::Packed),
            5 => Some(Kind::Overflow),
            6 => Some(Kind::Space),
            7 => Some(Kind::Leaf),
            _ => None,
        }
    }

    /// Whether pages of this kind are runs with a payload instead of entries.
    fn is_run(self) -> bool {
        matches!(self, Kind::Overflow | Kind::Space)
    }
}

/// The `u16` at `at`, which must be inside `bytes`.
#[inline]
pub(crate) fn get16(bytes: &[u8], at: usize) -> usize {
    let mut two = [0; 2];
    two.copy_from_slice(&bytes[at..at + 2]);
    usize::from(u16::from_le_bytes(two))
}

/// Stores a number known to be below 65536.
#[inline]
pub(crate) fn put16(bytes: &mut [u8], at: usize, value: usize) {
    bytes[at..at + 2].copy_from_slice(&to_u16(value).to_le_bytes());
}

/// The `u32` at `at`, which must be inside `bytes`.
#[inline]
pub(crate) fn get32(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

/// Stores a `u32`.
#[inline]
pub(crate) fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// The `u64` at `at`, which must be inside `bytes`.
#[inline]
pub(crate) fn get64(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

/// Stores a `u64`.
#[inline]
pub(crate) fn put64(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

// The accessors below expect at least `HEADER` bytes.

/// The stored checksum.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    get64(bytes, CHECKSUM)
}

/// The page's own number.
pub(crate) fn pgno(bytes: &[u8]) -> Pgno {
    Pgno(get64(bytes, PGNO))
}

/// The transaction that wrote the page.
pub(crate) fn birth(bytes: &[u8]) -> Txnid {
    Txnid(get64(bytes, BIRTH))
}

/// What the page is, if its code is known.
#[inline]
pub(crate) fn kind(bytes: &[u8]) -> Option<Kind> {
    Kind::from_code(bytes[KIND])
}

/// The page's level: 1 for leaves.
#[inline]
pub(crate) fn level(bytes: &[u8]) -> u8 {
    bytes[LEVEL]
}

/// Entries in the page.
#[inline]
pub(crate) fn count(bytes: &[u8]) -> usize {
    get16(bytes, COUNT)
}

pub(super) fn set_count(bytes: &mut [u8], count: usize) {
    put16(bytes, COUNT, count);
}

/// Bytes from the heap's start to the page's end.
#[inline]
pub(crate) fn heap(bytes: &[u8]) -> usize {
    get16(bytes, HEAP)
}

pub(super) fn set_heap(bytes: &mut [u8], heap: usize) {
    put16(bytes, HEAP, heap);
}

/// Bytes of the heap that no entry uses.
#[inline]
pub(crate) fn dead(bytes: &[u8]) -> usize {
    get16(bytes, DEAD)
}

pub(super) fn set_dead(bytes: &mut [u8], dead: usize) {
    put16(bytes, DEAD, dead);
}

/// Bytes of payload of an overflow or space run.
pub(crate) fn payload(bytes: &[u8]) -> u32 {
    get32(bytes, PAYLOAD)
}

/// Sets the bytes of payload of an overflow or space run.
pub(crate) fn set_payload(bytes: &mut [u8], payload: u32) {
    put32(bytes, PAYLOAD, payload);
}

/// Bytes that the views of all keys in the page share.
#[inline]
pub(crate) fn prefix(bytes: &[u8]) -> usize {
    get16(bytes, PREFIX)
}

pub(super) fn set_prefix(bytes: &mut [u8], prefix: usize) {
    put16(bytes, PREFIX, prefix);
}

/// Packed: the size of an item. Leaf: how many cells are not plain. Branch: 1 if separators are whole keys.
#[inline]
pub(crate) fn item(bytes: &[u8]) -> usize {
    get16(bytes, ITEM)
}

pub(super) fn set_item(bytes: &mut [u8], item: usize) {
    put16(bytes, ITEM, item);
}

/// Pages in the run that begins here (overflow and space pages).
pub(crate) fn run(bytes: &[u8]) -> u32 {
    get32(bytes, RUN)
}

/// Sets the pages in the run.
pub(crate) fn set_run(bytes: &mut [u8], run: u32) {
    put32(bytes, RUN, run);
}

/// Makes an empty page: a header of zeroes but for kind and level.
pub(crate) fn init(bytes: &mut [u8], kind: Kind, level: u8) {
    bytes[..if kind.is_run() { RUN_HEADER } else { HEADER }].fill(0);
    bytes[KIND] = kind as u8;
    bytes[LEVEL] = level;
}

/// Where the bytes under the checksum end; `None` if a run's payload is longer than the slice.
fn sealed_end(bytes: &[u8]) -> Option<usize> {
    if !kind(bytes).is_some_and(Kind::is_run) {
        return Some(bytes.len());
    }
    RUN_HEADER.checked_add(payload(bytes) as usize).filter(|&end| end <= bytes.len())
}

/// The checksum that the page (or the whole run, for runs) should have. A run's payload length that leaves the slice
/// counts as the slice's.
pub(crate) fn checksum_of(bytes: &[u8], file_id: u64) -> u64 {
    let end = sealed_end(bytes).unwrap_or(bytes.len());
    hash_far(&bytes[PGNO..end], file_id)
}

/// The hash of a page, or of a run, of which the processor is asked for what comes next meanwhile: by itself it fetches ahead
/// within a page of memory only, and the next one may lie anywhere.
fn hash_far(bytes: &[u8], seed: u64) -> u64 {
    if bytes.len() <= PIECE {
        return hash(bytes, seed);
    }
    let fetch = |from: usize, to: usize| (from / LINE..to / LINE).for_each(|line| prefetch(bytes, line * LINE));
    let mut hash = Pieces::new(seed);
    fetch(0, AHEAD.min(bytes.len()));
    for (i, piece) in bytes.chunks(PIECE).enumerate() {
        let next = AHEAD + i * PIECE;
        fetch(next, (next + PIECE).min(bytes.len()));
        hash.add(piece);
    }
    hash.finish()
}

/// Fills in number, birth and checksum of a page that is about to be written; returns the checksum.
pub(crate) fn seal(bytes: &mut [u8], pgno: Pgno, birth: Txnid, file_id: u64) -> u64 {
    put64(bytes, PGNO, pgno.0);
    put64(bytes, BIRTH, birth.0);
    let checksum = checksum_of(bytes, file_id);
    put64(bytes, CHECKSUM, checksum);
    checksum
}

/// As [`seal`] for a run whose payload is elsewhere: `header` are the [`RUN_HEADER`] bytes before it.
pub(crate) fn seal_apart(header: &mut [u8], payload: &[u8], pgno: Pgno, birth: Txnid, file_id: u64) -> u64 {
    put64(header, PGNO, pgno.0);
    put64(header, BIRTH, birth.0);
    let mut hash = Pieces::new(file_id);
    hash.add(&header[PGNO..RUN_HEADER]);
    hash.add(payload);
    put64(header, CHECKSUM, hash.finish());
    hash.finish()
}

/// Proves that these are the bytes that were sealed as page `page` of this file. Runs are given whole.
pub(crate) fn verify(bytes: &[u8], page: Pgno, file_id: u64) -> Result<(), Damage> {
    if bytes.len() < HEADER {
        return Err(SHORT);
    }
    if kind(bytes).is_none() {
        return Err(Damage("it is of an unknown kind"));
    }
    if sealed_end(bytes).is_none() {
        return Err(Damage("its payload is longer than its run of pages"));
    }
    if checksum(bytes) != checksum_of(bytes, file_id) {
        return Err(Damage("its checksum does not match"));
    }
    if pgno(bytes) != page {
        return Err(Damage("it carries another page's number"));
    }
    Ok(())
}

/// Pointer to a page: where it is, and how many entries it has if that is worth knowing.
///
/// Bits 0..47 are a page number or, if bit 47 is set, an index into the writer's arena of dirty pages; bits 48..64 the
/// entries of a leaf child. A pointer read from a file may say anything: whoever follows it checks page numbers
/// against the file's length, and refuses a dirty pointer outside a write transaction. `validate` of a branch page
/// refuses dirty pointers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Child(pub u64);

impl Child {
    /// The count of a child that must be read to be counted.
    pub(crate) const UNCOUNTED: u16 = 0xFFFF;
    const DIRTY: u64 = 1 << 47;
    const COUNT_SHIFT: u32 = 48;

    /// A pointer to a placed page.
    #[inline]
    pub(crate) fn page(pgno: Pgno, count16: u16) -> Child {
        debug_assert!(pgno.0 < Pgno::LIMIT);
        Child(pgno.0 | u64::from(count16) << Child::COUNT_SHIFT)
    }

    /// A pointer to a page in the writer's arena; its entries are not counted before it is placed.
    #[inline]
    pub(crate) fn dirty(index: u32) -> Child {
        Child(u64::from(index) | Child::DIRTY | u64::from(Child::UNCOUNTED) << Child::COUNT_SHIFT)
    }

    /// Whether the page is in the writer's arena.
    #[inline]
    pub(crate) fn is_dirty(self) -> bool {
        self.0 & Child::DIRTY != 0
    }

    /// The page number; only for pointers that are not dirty.
    #[inline]
    pub(crate) fn pgno(self) -> Pgno {
        Pgno(self.0 & (Pgno::LIMIT - 1))
    }

    /// The arena index; only for dirty pointers.
    #[inline]
    pub(crate) fn dirty_index(self) -> u32 {
        low(self.0)
    }

    /// The pointer without what it notes about its page; dirty ones note nothing.
    #[inline]
    pub(crate) fn without_count(self) -> Child {
        if self.is_dirty() { self } else { Child::page(self.pgno(), 0) }
    }

    /// Entries of a leaf child, or [`Child::UNCOUNTED`].
    #[inline]
    pub(crate) fn count16(self) -> u16 {
        (self.0 >> Child::COUNT_SHIFT) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_page_verifies_and_a_flipped_bit_does_not() {
        let mut bytes = vec![7; 4096];
        init(&mut bytes, Kind::Leaf, 1);
        seal(&mut bytes, Pgno(9), Txnid(3), 42);
        assert_eq!(verify(&bytes, Pgno(9), 42), Ok(()));
        assert_eq!((pgno(&bytes), birth(&bytes)), (Pgno(9), Txnid(3)));
        assert!(verify(&bytes, Pgno(8), 42).is_err(), "a swapped page");
        assert!(verify(&bytes, Pgno(9), 43).is_err(), "another file's page");
        for at in [0, 8, 16, 24, 40, 4095] {
            bytes[at] ^= 1;
            assert!(verify(&bytes, Pgno(9), 42).is_err(), "byte {at}");
            bytes[at] ^= 1;
        }
    }

    #[test]
    fn the_checksum_of_a_run_ends_with_its_payload() {
        let mut bytes = vec![0; 8192];
        init(&mut bytes, Kind::Overflow, 0);
        set_payload(&mut bytes, 5000);
        seal(&mut bytes, Pgno(4), Txnid(1), 0);
        bytes[RUN_HEADER + 5000] ^= 1;
        assert_eq!(verify(&bytes, Pgno(4), 0), Ok(()));
        bytes[RUN_HEADER + 4999] ^= 1;
        assert!(verify(&bytes, Pgno(4), 0).is_err());
        set_payload(&mut bytes, u32::MAX);
        assert!(verify(&bytes, Pgno(4), 0).is_err(), "a payload beyond the run");
    }

    #[test]
    fn a_run_is_sealed_in_pieces_as_it_is_whole() {
        for len in [0, 1, 200, 1000, PIECE - RUN_HEADER + PGNO, 9000, AHEAD, 3 * AHEAD + 77] {
            let mut run = vec![0; RUN_HEADER + len];
            init(&mut run, Kind::Overflow, 0);
            set_payload(&mut run, len as u32);
            run[RUN_HEADER..].iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8);
            let mut pieces = run.clone();
            let (header, payload) = pieces.split_at_mut(RUN_HEADER);
            let sum = seal_apart(header, payload, Pgno(7), Txnid(5), 99);
            assert_eq!(sum, seal(&mut run, Pgno(7), Txnid(5), 99));
            assert_eq!(pieces, run);
            assert_eq!(sum, hash(&run[PGNO..], 99));
        }
    }

    #[test]
    fn pages_of_zeroes_or_too_few_bytes_do_not_verify() {
        assert!(verify(&[0; 4096], Pgno(0), 0).is_err());
        assert!(verify(&[0; 39], Pgno(0), 0).is_err());
    }

    #[test]
    fn a_child_pointer_gives_back_what_it_was_made_of() {
        let child = Child::page(Pgno(Pgno::LIMIT - 1), 77);
        assert_eq!((child.is_dirty(), child.pgno(), child.count16()), (false, Pgno(Pgno::LIMIT - 1), 77));
        let child = Child::dirty(u32::MAX);
        assert_eq!((child.is_dirty(), child.dirty_index(), child.count16()), (true, u32::MAX, Child::UNCOUNTED));
    }
}
