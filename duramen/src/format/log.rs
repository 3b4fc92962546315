//! A record of the log: what one commit did, written and flushed by itself.
//!
//! Owns: the record's layout, and the chain from one to the next. Works on slices; must not know where they come from,
//! nor what a commit's operations look like.
//!
//! Records stand one after the other from the log's first byte, each at a multiple of 512 bytes, so that a torn write
//! of one never touches another. Commits leave the log and come back to its start whenever the data file has been flushed; what
//! is left of earlier rounds is told apart by the *chain*: the seed of a record's checksum is made from when the
//! commit before it was made, down to the commit that the round builds on.

use super::hash::hash;
use crate::ids::Txnid;
use crate::width::to_u32;

/// Records begin and end at multiples of this.
pub(crate) const UNIT: usize = 512;
/// Bytes of a record before the operations.
pub(crate) const HEADER: usize = 64;
const MAGIC: [u8; 4] = *b"DLog";

/// What a record says of its commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The commit.
    pub txnid: Txnid,
    /// The commit that the data file was flushed with when this round of the log began.
    pub base: Txnid,
    /// When `base` was made, in nanoseconds since 1970.
    pub base_ns: u64,
    /// When this commit was made.
    pub committed_ns: u64,
    /// The caller's number.
    pub user: u64,
}

/// A commit read back: its header, and the bytes of its operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record<'b> {
    pub header: Header,
    pub operations: &'b [u8],
    /// Bytes that it takes in the log.
    pub bytes: usize,
}

/// The seed of a record's checksum: the file, and when the commit before it was made.
fn seed(file_id: u64, previous_ns: u64) -> u64 {
    hash(&previous_ns.to_le_bytes(), file_id)
}

/// Completes a record whose first [`HEADER`] bytes are room for the header and whose others are operations.
pub(crate) fn seal(record: &mut Vec<u8>, header: &Header, file_id: u64, previous_ns: u64) {
    let bytes = record.len();
    let words = [header.txnid.0, header.base.0, header.base_ns, header.committed_ns, header.user];
    record[8..12].copy_from_slice(&MAGIC);
    record[12..16].copy_from_slice(&to_u32(bytes - HEADER).to_le_bytes());
    for (to, word) in record[16..56].chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_le_bytes());
    }
    record[56..HEADER].fill(0);
    let sum = hash(&record[8..], seed(file_id, previous_ns));
    record[..8].copy_from_slice(&sum.to_le_bytes());
    record.resize(bytes.next_multiple_of(UNIT), 0);
}

/// Whether a log may begin so: with a record, or with the zeros that it is made of.
pub(crate) fn may_begin(log: &[u8]) -> bool {
    log.get(8..12) == Some(&MAGIC[..]) || log.iter().all(|&byte| byte == 0)
}

/// The record at the start of `log`, if there is one that follows a commit made at `previous_ns` (none: the record
/// begins a round, and says itself what it follows).
pub(crate) fn read(log: &[u8], file_id: u64, previous_ns: Option<u64>) -> Option<Record<'_>> {
    if log.get(8..12)? != MAGIC {
        return None;
    }
    let operations = u32::from_le_bytes(log.get(12..16)?.try_into().ok()?) as usize;
    let end = HEADER.checked_add(operations)?;
    let bytes = log.get(..end)?;
    let word = |i: usize| u64::from_le_bytes(bytes[16 + i * 8..24 + i * 8].try_into().expect("eight bytes"));
    let header =
        Header { txnid: Txnid(word(0)), base: Txnid(word(1)), base_ns: word(2), committed_ns: word(3), user: word(4) };
    let sum = hash(&bytes[8..], seed(file_id, previous_ns.unwrap_or(header.base_ns)));
    let whole = sum.to_le_bytes() == bytes[..8];
    whole.then_some(Record { header, operations: &bytes[HEADER..], bytes: end.next_multiple_of(UNIT) })
}

/// The records of the round that the log's start belongs to, in order. Ends where the chain does: at what was never
/// written whole, or belongs to an earlier round.
pub(crate) fn chain(log: &[u8], file_id: u64) -> Vec<Record<'_>> {
    let mut records: Vec<Record<'_>> = Vec::new();
    let mut at = 0;
    while let Some(record) = log.get(at..).and_then(|rest| {
        let last = records.last().map(|last| last.header);
        let record = read(rest, file_id, last.map(|last| last.committed_ns))?;
        let header = record.header;
        let (follows, base) = last.map_or((header.base, header.base), |last| (last.txnid, last.base));
        (header.base == base && header.txnid.0 == follows.0.checked_add(1)?).then_some(record)
    }) {
        at += record.bytes;
        records.push(record);
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: u64 = 77;

    /// A round of records with these operations on commit `base`.
    fn round(base: u64, base_ns: u64, operations: &[Vec<u8>]) -> Vec<u8> {
        let (mut log, mut previous) = (Vec::new(), base_ns);
        for (i, operations) in operations.iter().enumerate() {
            let (txnid, committed_ns) = (Txnid(base + 1 + i as u64), base_ns + 10 + i as u64);
            let header = Header { txnid, base: Txnid(base), base_ns, committed_ns, user: i as u64 };
            let mut record = [&[0; HEADER], &operations[..]].concat();
            seal(&mut record, &header, FILE, previous);
            previous = committed_ns;
            log.extend(record);
        }
        log
    }

    fn operations_of(log: &[u8]) -> Vec<Vec<u8>> {
        chain(log, FILE).iter().map(|record| record.operations.to_vec()).collect()
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            operations in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..2000), 0..8),
            rest in prop::collection::vec(any::<u8>(), 0..2000),
        ) {
            let log = [round(5, 1000, &operations), rest].concat();
            prop_assert_eq!(operations_of(&log), operations);
        }

        #[test]
        fn any_bytes_are_read_without_harm(mut log in prop::collection::vec(any::<u8>(), 0..3000)) {
            if log.len() > 12 {
                log[8..12].copy_from_slice(&MAGIC);
            }
            prop_assert!(chain(&log, FILE).is_empty());
        }
    }

    #[test]
    fn a_damaged_record_ends_the_chain() {
        let operations: Vec<Vec<u8>> = (0..4).map(|i| vec![i; 700]).collect();
        let log = round(5, 1000, &operations);
        for at in (0..log.len()).step_by(if cfg!(miri) { 97 } else { 1 }) {
            let (i, within) = (at / 1024, at % 1024);
            let mut damaged = log.clone();
            damaged[at] ^= 0x10;
            // What follows the operations is only there to fill the sector.
            let kept = if within < HEADER + 700 { i } else { 4 };
            assert_eq!(operations_of(&damaged), operations[..kept], "byte {at}");
        }
    }

    #[test]
    fn a_record_of_a_commit_that_was_made_again_is_no_part_of_the_chain() {
        let operations: Vec<Vec<u8>> = (0..3).map(|i| vec![i; 10]).collect();
        let old = round(5, 1000, &operations);
        // The first two are made anew at another time, over those that a power cut left.
        let mut header = chain(&old, FILE)[0].header;
        header.committed_ns += 1;
        let mut again = [&[0; HEADER], &operations[0][..]].concat();
        seal(&mut again, &header, FILE, 1000);
        let log = [&again, &old[UNIT..]].concat();
        assert_eq!(operations_of(&log), operations[..1]);
    }

    #[test]
    fn another_round_and_another_file_are_no_part_of_the_chain() {
        let operations: Vec<Vec<u8>> = (0..3).map(|i| vec![i; 10]).collect();
        let old = round(5, 1000, &operations);
        let new = round(8, 2000, &operations[..1]);
        assert_eq!(operations_of(&[&new, &old[UNIT..]].concat()), operations[..1]);
        assert!(chain(&old, FILE + 1).is_empty());
    }
}
