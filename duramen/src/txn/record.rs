//! A commit's record for the log.
//!
//! Owns: whether it pays, what is at its head, when the disk is asked for it. Must not know: what the operations are, what
//! a commit's other steps are.
//!
//! All that a record says is known before the first page has its place. So the disk may have it meanwhile: what is left of
//! the flush when the pages are written is all that is waited for.

use std::sync::atomic::Ordering;

use super::work::Work;
use crate::error::Result;
use crate::format::log::{self, Header, UNIT};
use crate::format::meta::Meta;
use crate::store::Durability;
use crate::store::landing::OfRecord;
use crate::store::log::{Mark, Unwritten};
use crate::tree::Pages;
use crate::width::to_usize;

/// Whether a record of this length in the log saves more than it costs: what is in it is written twice.
pub(super) fn pays(work: &Work, bytes: usize) -> bool {
    const SAVES: usize = 4;
    let little = bytes.next_multiple_of(UNIT) * SAVES <= to_usize(work.dirty.pages()) * work.page_size();
    little || work.store.settings.log_at_once.is_some()
}

/// Has the disk begin with the record of a commit none of whose pages has a place yet, if that is to be flushed with it and
/// nothing stands in the way. The record is left as it was.
pub(super) fn begin(work: &mut Work, record: &mut Vec<u8>, committed_ns: u64) -> Result<()> {
    let (pages, durability) = (work.dirty.pages(), work.durability);
    // Where there may be no room for the pages it would be for nothing.
    let crowded = work.store.crowded.load(Ordering::Relaxed);
    let (store, writer) = work.store_and_writer()?;
    let waiting = writer.meta.proof.pages + pages;
    if durability != Durability::Durable
        || crowded
        || writer.before.is_some()
        || !writer.log.writes_ahead(writer.mark, pages)
        || store.checkpoint_is_due(writer, waiting, writer.meta.page_count, durability)
    {
        return Ok(());
    }
    let bytes = record.len();
    let Some(at) = store.log_room(writer, bytes.next_multiple_of(UNIT)) else { return Ok(()) };
    seal(work, record, committed_ns)?;
    let (store, writer) = work.store_and_writer()?;
    store.begin_record(writer, at, record)?;
    record.truncate(bytes);
    Ok(())
}

/// Completes the record of a commit and writes it into the log, unless that is better done together with its flush. Where
/// the log stands then, if it is flushed where it is to be.
pub(super) fn write(
    work: &mut Work,
    mut record: Vec<u8>,
    committed_ns: u64,
    at: u64,
    flush: bool,
) -> Result<(Mark, OfRecord)> {
    seal(work, &mut record, committed_ns)?;
    let (store, writer) = work.store_and_writer()?;
    let mark = Mark::At { end: at + record.len() as u64, flushed: flush };
    let record = Unwritten { at, bytes: record };
    if flush && writer.log.writes_with_flush(writer.mark) {
        return Ok((mark, OfRecord::Write(record)));
    }
    store.write_record(writer, record)?;
    Ok((mark, OfRecord::Flush))
}

fn seal(work: &mut Work, record: &mut Vec<u8>, committed_ns: u64) -> Result<()> {
    let (txnid, base, user) = (work.txnid, work.base, work.user);
    let (store, writer) = work.store_and_writer()?;
    let base_ns = Meta::committed_ns_of(&store.pager.slot(writer.durable_slot));
    let header = Header { txnid, base, base_ns, committed_ns, user };
    log::seal(record, &header, writer.meta.file_id, writer.meta.committed_ns);
    Ok(())
}
