//! Writing meta pages to their slots.
//!
//! Owns: which slot is free, taking back what was not flushed. Must not know: when a meta page is written.

use std::io::{self, IoSlice};

use super::{Store, Writer};
use crate::format::meta::{Meta, RECEIPT, SLOT_BYTES, SLOTS};
use crate::medium::Medium;

impl Store {
    /// The slot that the next commit writes: never the current one, the durable one, nor the one that readers see; and not the
    /// one that is being made durable, which is so for relaxed commits, that readers see at once. The same question always has the
    /// same answer, so that what a failed commit left in a slot is overwritten by the next.
    pub(crate) fn free_slot(&self, writer: &Writer) -> usize {
        let becoming = self.background(writer).map(|background| background.slot);
        let taken = [writer.slot, writer.durable_slot, writer.seen_slot];
        let mut free = (0..SLOTS).filter(|slot| !taken.contains(slot));
        let first = free.next().expect("more slots than three");
        if becoming == Some(first) { free.next().expect("no commit on its way beside it") } else { first }
    }
}

/// Writes a meta page; `room` is any memory for it.
pub(crate) fn write_meta(medium: &dyn Medium, meta: &Meta, slot: usize, room: &mut Vec<u8>) -> io::Result<()> {
    meta.encode(room);
    medium.write_at((slot * SLOT_BYTES) as u64, &[IoSlice::new(room)])
}

/// Writes the receipt of the commit in a slot, which has been flushed. If somebody else has written another one there by now,
/// that is as it was.
pub(super) fn write_receipt(medium: &dyn Medium, meta: &Meta, slot: usize) -> io::Result<()> {
    medium.write_at((slot * SLOT_BYTES + RECEIPT) as u64, &[IoSlice::new(&meta.receipt())])
}

/// Writes a meta page that says that its commit, flushed before, needs no proof, and flushes it.
pub(crate) fn write_proven(medium: &dyn Medium, meta: &mut Meta, slot: usize) -> io::Result<()> {
    meta.needs_no_proof();
    write_meta(medium, meta, slot, &mut Vec::new())?;
    medium.flush().inspect_err(|_| blank(medium, slot))
}

/// Takes back a meta page that needs no proof and whose flush failed: the page cache has it, the disk may never, and
/// the next to open would trust it.
pub(crate) fn blank(medium: &dyn Medium, slot: usize) {
    let zeros = [0; SLOT_BYTES];
    if let Err(error) = medium.write_at((slot * SLOT_BYTES) as u64, &[IoSlice::new(&zeros)]) {
        tracing::error!(%error, "a meta page that was not flushed could not be taken back");
    }
}
