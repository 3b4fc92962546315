//! The record of a commit in shared memory, which tells readers and the next writer of it.
//!
//! Owns: what the words of a [`Published`] mean. Must not know: how they are shared.

use super::log::Mark;
use crate::format::meta::{Meta, SLOTS};
use crate::format::record::{self, Tree};
use crate::ids::Txnid;
use crate::order::Order;
use crate::pager::Horizon;
use crate::readers::{Published, RECORD_WORDS};

/// What the words of a published record mean.
pub(crate) struct Unpacked {
    pub catalog: Tree,
    pub page_count: u64,
    pub slot: usize,
    pub durable_slot: usize,
    pub mark: Mark,
}

impl Unpacked {
    #[inline]
    pub(crate) fn of(record: &Published) -> Unpacked {
        let mut bytes = [0; record::BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(record.words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        Unpacked {
            catalog: Tree::decode(&bytes).unwrap_or_else(|_| Tree::new(&Order::Bytes)),
            page_count: record.words[6],
            slot: (record.words[7] & 0xff) as usize % SLOTS,
            durable_slot: (record.words[7] >> 8 & 0xff) as usize % SLOTS,
            mark: Mark::unpack(record.words[7] >> 16),
        }
    }

    pub(crate) fn horizon(&self, txnid: Txnid) -> Horizon {
        Horizon { txnid, page_count: self.page_count }
    }
}

/// Whether the commit that the record tells of survives a power cut by what is in the log.
pub(crate) fn is_flushed(record: &Published) -> bool {
    Mark::is_flushed(record.words[7] >> 16)
}

/// Whether nothing of the commit that the record tells of, or of those before it, is in the log alone.
pub(crate) fn is_without_log(record: &Published) -> bool {
    Unpacked::of(record).mark == Mark::START
}

/// The record that tells readers of a commit.
pub(crate) fn published(meta: &Meta, slot: usize, durable_slot: usize, mark: Mark) -> Published {
    let mut words = [0; RECORD_WORDS];
    for (word, bytes) in words.iter_mut().zip(meta.catalog.encode().chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    }
    words[6] = meta.page_count;
    words[7] = slot as u64 | (durable_slot as u64) << 8 | mark.pack() << 16;
    Published { txnid: meta.txnid, words }
}

/// As [`published`], of a commit that the data file has been flushed with.
pub(crate) fn published_durable(meta: &Meta, slot: usize) -> Published {
    published(meta, slot, slot, Mark::START)
}
