//! Writing meta pages to their slots.
//!
//! Owns: which slot is free, taking back what was not flushed. Must not know: when a meta page is written.

use std::io::{self, IoSlice};

use super::Writer;
use crate::format::meta::{Meta, SLOT_BYTES, SLOTS};
use crate::medium::Medium;

/// The slot that the next commit writes: never the current one, the durable one, nor the one that readers see. The same
/// question always has the same answer, so that what a failed commit left in a slot is overwritten by the next.
pub(crate) fn free_slot(writer: &Writer) -> usize {
    let taken = [writer.slot, writer.durable_slot, writer.seen_slot];
    (0..SLOTS).find(|slot| !taken.contains(slot)).expect("more slots than three")
}

/// A slot that a transaction of another handle, which goes on from the writer's commit and shares no memory, neither writes nor
/// needs: the commit that the proof starts from, in the slot `base`, may be durable for that one.
pub(super) fn unlikely_slot(writer: &Writer, base: Option<usize>) -> usize {
    let taken = [Some(writer.slot), Some(writer.durable_slot), base];
    (0..SLOTS).rfind(|slot| !taken.contains(&Some(*slot))).expect("more slots than three")
}

/// Writes a meta page; `room` is any memory for it.
pub(crate) fn write_meta(medium: &dyn Medium, meta: &Meta, slot: usize, room: &mut Vec<u8>) -> io::Result<()> {
    meta.encode(room);
    medium.write_at((slot * SLOT_BYTES) as u64, &[IoSlice::new(room)])
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
