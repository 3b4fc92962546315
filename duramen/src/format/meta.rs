//! The meta page: what names a snapshot on disk, proves it, and carries the newest changes of the free space.
//!
//! Owns: the meta page's layout. Works on slices; must not know where they come from.
//!
//! Four slots of 4096 bytes stand at the file's start whatever the page size. A commit writes one slot; the slots of
//! the current and of the last durable snapshot are never the one written. The highest `sequence` among the slots
//! whose checksum is right is the newest commit; whether all of its pages reached the disk is told by its *proof*:
//! the wrapping sum of the checksums of all its pages that were born after the snapshot that is its base, and their number.

use crate::error::Damage;
use crate::ids::{Pgno, Txnid};

use super::hash::hash;
use super::page::{PAGE_MAX, PAGE_MIN};
use super::record::{self, Tree};

/// Bytes of a meta slot.
pub(crate) const SLOT_BYTES: usize = 4096;
/// Slots in a file.
pub(crate) const SLOTS: usize = 4;
/// Bytes at the start of the file that the slots take.
pub(crate) const HEAD_BYTES: u64 = (SLOT_BYTES * SLOTS) as u64;
/// First bytes of every slot.
pub(crate) const MAGIC: [u8; 8] = *b"DURAMEN\x1a";
/// Version of the file format that this code writes and reads.
pub(crate) const VERSION: u32 = 2;
/// Where the tail of the space log begins in a slot, behind all numbers.
pub(crate) const TAIL: usize = 256;
/// A slot begins with so many bytes up to the number of its commit.
pub(crate) const NUMBERS: usize = 56;
/// Highest sequence and transaction number: with a million commits a second they last for 146,000 years.
const NUMBER_MAX: u64 = 1 << 62;
const IMPOSSIBLE_NUMBERS: Damage = Damage("a meta page with impossible numbers of commits");
/// Where the tail's checksum is, and the head's behind it, which covers that too.
const TAIL_CHECKSUM: usize = TAIL - 16;
const CHECKSUM: usize = TAIL - 8;
/// A slot is written in whole pieces of this size, as far as it is used.
const SECTOR_BYTES: usize = 512;
/// Where a slot's receipt is, which says that its commit has been flushed. Whoever writes it beside somebody else's commit
/// writes over nothing: no meta page is so long, and what stands here beside another one is no receipt of that.
pub(crate) const RECEIPT: usize = SLOT_BYTES - SECTOR_BYTES;
/// Most bytes of space log that a slot takes.
pub(crate) const TAIL_MAX: usize = RECEIPT - TAIL;

/// How long a file with this many pages must be. Where there is none but those of the slots, only the slots count:
/// a page may be larger than all of them.
pub(crate) fn bytes_needed(page_count: u64, page_size: usize) -> u64 {
    if page_count <= Meta::first_page(page_size) { HEAD_BYTES } else { page_count * page_size as u64 }
}

/// What tells whether all pages of a commit are on disk: see the module's head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Proof {
    /// The commit itself: nothing needs to be proven.
    pub base: Txnid,
    pub sum: u64,
    pub pages: u64,
}

impl Proof {
    /// That of a commit on top of nothing but itself.
    pub(crate) fn of(base: Txnid) -> Proof {
        Proof { base, sum: 0, pages: 0 }
    }
}

/// A meta page's content.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Meta {
    pub page_size: u32,
    /// Random number of this file: the seed of all its checksums.
    pub file_id: u64,
    /// Rises with each meta page written.
    pub sequence: u64,
    pub txnid: Txnid,
    /// Length of the used part of the file, in pages.
    pub page_count: u64,
    pub catalog: Tree,
    /// A number of the caller's own.
    pub user: u64,
    pub proof: Proof,
    pub space: SpaceRoot,
    /// Wall clock of the commit, in nanoseconds since 1970.
    pub committed_ns: u64,
    /// The newest records of the space log.
    pub tail: Vec<u8>,
    /// Its slot has its receipt. Not written with it.
    pub has_receipt: bool,
}

/// Where the log of the free space is: a chain of runs, newest first, down to a run that holds all of it.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct SpaceRoot {
    /// First page of the newest run of the chain; 0 = none.
    pub head: Pgno,
    /// Pages in the chain.
    pub chain_pages: u64,
    /// Pages of the run at its end, which holds all.
    pub base_pages: u64,
    /// Pages free or retired, for statistics.
    pub free_pages: u64,
}

/// Why a slot holds no usable meta page.
#[derive(Debug, PartialEq)]
pub(crate) enum Unusable {
    /// Not a Duramen file's.
    Foreign,
    /// Of another format than this program's: its version and the feature bits that it must not ignore.
    OtherVersion(u32, u32),
    /// As `OtherVersion`, but its checksum is wrong: damaged, or so new that checksums are made in another way.
    PerhapsOtherVersion(u32, u32),
    /// Torn or damaged.
    Damaged(Damage),
}

impl Meta {
    /// First ordinary page of a file with this page size.
    pub(crate) fn first_page(page_size: usize) -> u64 {
        HEAD_BYTES.div_ceil(page_size as u64)
    }

    /// Makes `out` what a slot begins with: as many sectors as are used. What is behind them is of no account.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        out.resize(TAIL, 0);
        out.extend_from_slice(&self.tail);
        out.resize(out.len().next_multiple_of(SECTOR_BYTES), 0);
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[12..16].copy_from_slice(&self.page_size.to_le_bytes());
        // 16..28: feature bits (may be ignored, may be read, must be refused); none is in use.
        let words = [
            (32, self.file_id),
            (40, self.sequence),
            (48, self.txnid.0),
            (56, self.page_count),
            (112, self.user),
            (128, self.proof.base.0),
            (136, self.proof.sum),
            (144, self.proof.pages),
            (152, self.space.head.0),
            (160, self.space.chain_pages),
            (168, self.space.base_pages),
            (176, self.space.free_pages),
            (184, self.committed_ns),
            (192, self.tail.len() as u64),
        ];
        for (at, word) in words {
            out[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
        out[64..64 + record::BYTES].copy_from_slice(&self.catalog.encode());
        seal(out);
    }

    /// A whole slot, for a file that is new.
    pub(crate) fn encode_whole(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode(&mut out);
        out.resize(SLOT_BYTES, 0);
        out
    }

    /// Whether a piece of a slot says that there was no commit yet.
    pub(crate) fn is_first(slot: &[u8]) -> bool {
        slot.starts_with(&MAGIC) && slot.get(48..56) == Some(&[0; 8])
    }

    /// Whether a file that begins so has a meta page, whole or not: then it is a database.
    pub(crate) fn is_in(head: &[u8]) -> bool {
        head.chunks(SLOT_BYTES).any(|slot| slot.starts_with(&MAGIC))
    }

    /// As [`Meta::decode`], for those who mean to write: some features may only be read by programs that do not know
    /// them.
    pub(crate) fn decode_to_write(slot: &[u8]) -> Result<Meta, Unusable> {
        let meta = Meta::decode(slot)?;
        match slot[20..24] {
            [0, 0, 0, 0] => Ok(meta),
            [a, b, c, d] => Err(Unusable::OtherVersion(VERSION, u32::from_le_bytes([a, b, c, d]))),
            _ => Err(Unusable::Damaged(Damage("a meta page cut short"))),
        }
    }

    /// The number of a slot's commit, as far as a look at the number alone can tell.
    pub(crate) fn txnid_of(slot: &[u8; NUMBERS]) -> Txnid {
        if slot.starts_with(&MAGIC) { Txnid(word(slot, 48)) } else { Txnid(0) }
    }

    /// The same of its place in the order of all meta pages.
    pub(crate) fn sequence_of(slot: &[u8; NUMBERS]) -> u64 {
        word(slot, 40)
    }

    /// Its place in the order of all meta pages. Of two with one number, which handles write that share no memory, that of the
    /// newer commit counts: the other one was only written once more.
    pub(crate) fn age(&self) -> (u64, Txnid) {
        (self.sequence, self.txnid)
    }

    /// The sequence of a meta page that is to be newer than one of this sequence. There is none only in a file that was made to
    /// do harm: what was written after that would not be taken for a meta page.
    pub(crate) fn sequence_after(sequence: u64) -> crate::error::Result<u64> {
        if sequence < NUMBER_MAX { Ok(sequence + 1) } else { Err(IMPOSSIBLE_NUMBERS.at(Pgno(0))) }
    }

    /// What stands at [`RECEIPT`] once the commit has been flushed.
    pub(crate) fn receipt(&self) -> [u8; SECTOR_BYTES] {
        let mut head = Vec::new();
        self.encode(&mut head);
        let mut sector = [0; SECTOR_BYTES];
        sector[..8].copy_from_slice(&receipt_of(&head).to_le_bytes());
        sector
    }

    /// Whether a slot has its commit's receipt.
    pub(crate) fn has_receipt(slot: &[u8; SLOT_BYTES]) -> bool {
        word(slot, RECEIPT) == receipt_of(slot)
    }

    /// When a slot's commit was made, of a slot that is known to be whole.
    pub(crate) fn committed_ns_of(slot: &[u8; TAIL]) -> u64 {
        word(slot, 184)
    }

    pub(crate) fn decode(slot: &[u8]) -> Result<Meta, Unusable> {
        if !slot.starts_with(&MAGIC) {
            return Err(Unusable::Foreign);
        }
        let Some(slot) = slot.first_chunk::<SLOT_BYTES>() else {
            return Err(Unusable::Damaged(Damage("a meta page cut short")));
        };
        let word = |at: usize| word(slot, at);
        let short = |at: usize| u32::from_le_bytes(slot[at..at + 4].try_into().expect("four bytes"));
        let damaged = |what| Unusable::Damaged(Damage(what));
        let (whole, newer) = (is_whole(slot), short(8) != VERSION || short(24) != 0);
        match (whole, newer) {
            (true, true) => return Err(Unusable::OtherVersion(short(8), short(24))),
            (false, true) => return Err(Unusable::PerhapsOtherVersion(short(8), short(24))),
            (false, false) => return Err(damaged("a meta page with a wrong checksum")),
            (true, false) => {}
        }
        let page_size = short(12);
        if !(PAGE_MIN..=PAGE_MAX).contains(&(page_size as usize)) || !page_size.is_power_of_two() {
            return Err(damaged("a meta page with an impossible page size"));
        }
        let tail = usize::try_from(word(192)).ok().filter(|&bytes| bytes <= TAIL_MAX);
        let tail = tail.ok_or_else(|| damaged("a meta page with an impossible tail"))?;
        if word(56) < Meta::first_page(page_size as usize) || word(56) > Pgno::LIMIT {
            return Err(damaged("a meta page with an impossible file length"));
        }
        if word(40) > NUMBER_MAX || word(48) > NUMBER_MAX || word(128) > word(48) {
            return Err(Unusable::Damaged(IMPOSSIBLE_NUMBERS));
        }
        if [144, 160, 168, 176].into_iter().any(|at| word(at) > Pgno::LIMIT) {
            return Err(damaged("a meta page with impossible counts of pages"));
        }
        let catalog = Tree::decode_table(&slot[64..64 + record::BYTES]).map_err(Unusable::Damaged)?;
        if catalog.root.is_dirty() {
            return Err(damaged("a meta page whose main table is not in the file"));
        }
        Ok(Meta {
            page_size,
            file_id: word(32),
            sequence: word(40),
            txnid: Txnid(word(48)),
            page_count: word(56),
            catalog,
            user: word(112),
            proof: Proof { base: Txnid(word(128)), sum: word(136), pages: word(144) },
            space: SpaceRoot {
                head: Pgno(word(152)),
                chain_pages: word(160),
                base_pages: word(168),
                free_pages: word(176),
            },
            committed_ns: word(184),
            tail: slot[TAIL..TAIL + tail].to_vec(),
            has_receipt: Meta::has_receipt(slot),
        })
    }

    /// Whether the commit needs no proof.
    pub(crate) fn is_proven(&self) -> bool {
        self.proof.base == self.txnid || self.has_receipt
    }

    /// The newest commit that it knows to be flushed.
    pub(crate) fn durable(&self) -> Txnid {
        if self.has_receipt { self.txnid } else { self.proof.base }
    }

    /// Notes that the commit, flushed before, needs no proof.
    pub(crate) fn needs_no_proof(&mut self) {
        self.proof = Proof::of(self.txnid);
    }
}

/// Gives the used part of a slot the checksums that it should have.
fn seal(slot: &mut [u8]) {
    let tail = tail_checksum(slot).unwrap_or(0);
    slot[TAIL_CHECKSUM..CHECKSUM].copy_from_slice(&tail.to_le_bytes());
    let head = head_checksum(slot);
    slot[CHECKSUM..TAIL].copy_from_slice(&head.to_le_bytes());
}

fn is_whole(slot: &[u8; SLOT_BYTES]) -> bool {
    head_checksum(slot) == word(slot, CHECKSUM) && tail_checksum(slot) == Some(word(slot, TAIL_CHECKSUM))
}

fn head_checksum(slot: &[u8]) -> u64 {
    hash(&slot[..CHECKSUM], word(slot, 32))
}

/// Nothing if the tail is longer than there is room for.
fn tail_checksum(slot: &[u8]) -> Option<u64> {
    let bytes = usize::try_from(word(slot, 192)).ok().filter(|&bytes| bytes <= TAIL_MAX)?;
    Some(hash(slot.get(TAIL..TAIL + bytes)?, word(slot, 32)))
}

/// The receipt of the meta page that begins like this. It differs with every word there, its checksums included.
fn receipt_of(slot: &[u8]) -> u64 {
    hash(slot.get(..TAIL).unwrap_or_default(), word(slot, 32))
}

/// The word at an offset; 0 behind the end.
fn word(slot: &[u8], at: usize) -> u64 {
    slot.get(at..at + 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Order;

    fn meta() -> Meta {
        Meta {
            page_size: 8192,
            file_id: 0x1234_5678_9abc_def0,
            sequence: 7,
            txnid: Txnid(6),
            page_count: 99,
            catalog: Tree::new(&Order::Bytes),
            user: 77,
            proof: Proof { base: Txnid(5), sum: 11, pages: 3 },
            space: SpaceRoot { head: Pgno(12), chain_pages: 2, base_pages: 1, free_pages: 40 },
            committed_ns: 1,
            tail: vec![1, 2, 3],
            has_receipt: false,
        }
    }

    fn slot(meta: &Meta) -> Vec<u8> {
        let mut slot = Vec::new();
        meta.encode(&mut slot);
        slot.resize(SLOT_BYTES, 0x55);
        slot
    }

    #[test]
    fn features_say_who_may_do_what() {
        let with = |at: usize| {
            let mut slot = slot(&meta());
            slot[at] = 4;
            seal(&mut slot);
            (Meta::decode(&slot[..]), Meta::decode_to_write(&slot[..]))
        };
        assert_eq!(with(16), (Ok(meta()), Ok(meta())), "may ignore");
        assert_eq!(with(20), (Ok(meta()), Err(Unusable::OtherVersion(VERSION, 4))), "may read");
        assert_eq!(
            with(24),
            (Err(Unusable::OtherVersion(VERSION, 4)), Err(Unusable::OtherVersion(VERSION, 4))),
            "must refuse"
        );
    }

    #[test]
    fn a_meta_page_reads_back_as_it_was_written() {
        for tail in [0, 3, 256, 257, TAIL_MAX] {
            let meta = Meta { tail: vec![7; tail], ..meta() };
            assert_eq!(Meta::decode(&slot(&meta)), Ok(meta));
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let meta = Meta { tail: (0..TAIL_MAX).map(|i| i as u8).collect(), ..meta() };
        let good = slot(&meta);
        // Miri takes a tenth of a second for each.
        let step = if cfg!(miri) { 997 } else { 1 };
        for bit in (0..RECEIPT * 8).step_by(step) {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Meta::decode(&bad[..]).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_receipt_is_of_one_meta_page_only() {
        let with = |meta: &Meta, receipt: &[u8]| {
            let mut slot = slot(meta);
            slot[RECEIPT..].copy_from_slice(receipt);
            Meta::decode(&slot).map(|meta| meta.is_proven())
        };
        let mine = Meta { tail: vec![7; TAIL_MAX], ..meta() };
        let receipt = mine.receipt();
        assert_eq!(with(&mine, &receipt), Ok(true));
        let another = Meta { committed_ns: 2, ..mine.clone() };
        assert_eq!(with(&another, &receipt), Ok(false));
        let with_another_tail = Meta { tail: vec![8; TAIL_MAX], ..mine };
        assert_eq!(with(&with_another_tail, &receipt), Ok(false));
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let bad = [
            Meta { sequence: u64::MAX, ..meta() },
            Meta { txnid: Txnid(u64::MAX), ..meta() },
            Meta { proof: Proof::of(Txnid(7)), ..meta() },
            Meta { proof: Proof { pages: u64::MAX, ..meta().proof }, ..meta() },
            Meta { space: SpaceRoot { chain_pages: u64::MAX, ..meta().space }, ..meta() },
            Meta { space: SpaceRoot { base_pages: u64::MAX, ..meta().space }, ..meta() },
            Meta { space: SpaceRoot { free_pages: u64::MAX, ..meta().space }, ..meta() },
        ];
        for meta in bad {
            assert!(matches!(Meta::decode(&slot(&meta)), Err(Unusable::Damaged(_))), "{meta:?}");
        }
    }

    #[test]
    fn another_version_is_told_from_damage() {
        let mut newer = slot(&meta());
        newer[8] = 9;
        assert_eq!(Meta::decode(&newer[..]), Err(Unusable::PerhapsOtherVersion(9, 0)));
        seal(&mut newer);
        assert_eq!(Meta::decode(&newer[..]), Err(Unusable::OtherVersion(9, 0)));
        assert_eq!(Meta::decode(&[0; SLOT_BYTES]), Err(Unusable::Foreign));
    }
}
