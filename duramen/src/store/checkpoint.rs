//! Checkpoints: when the data file is flushed, what is done then, and what the disk is asked to write before that.
//!
//! Owns: the limits of what may wait for a flush, how far the disk was asked, that the file is cut off only afterwards. Must
//! not know: what is in the pages.
//!
//! Most pages that small commits write are replaced before the next flush, and need not reach the disk at all. So it is
//! left alone until a checkpoint is near; then it is asked for one part of the data file after the other, so that the
//! flush itself finds little to wait for.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use super::background::FLUSH_AT;
use super::log::Mark;
use super::meta_slots::write_receipt;
use super::published::is_flushed;
use super::{Durability, Store, Writer, published_durable};
use crate::error::{Error, Result};
use crate::format::meta::Meta;
use crate::ids::Txnid;
use crate::os::memory;
use crate::readers::Wait;

/// The data file is flushed when so much is new as it is long, since the pages that were replaced are kept until then; but
/// not before this, and
const CHECKPOINT_BYTES_MIN: u64 = 16 << 20;
/// always when so much is new: for the first of these never, for the second always, in between for this part of the
/// memory that there is for files. Relaxed commits, for which nobody wants to wait, are flushed only then,
const CHECKPOINT_BYTES_MAX: RangeInclusive<u64> = 128 << 20..=512 << 20;
const CHECKPOINT_OF_MEMORY: u64 = 16;
/// and at the first commit this long after the last checkpoint.
const CHECKPOINT_AFTER: Duration = Duration::from_secs(5);
/// The disk is asked for the whole data file from here to there, on a way from one checkpoint to the next that has the
/// length one. What is written meanwhile behind the place that was asked for last is for the next pass, which is shorter,
/// and what is then left for the flush.
const PASSES: [Range<f64>; 4] = [0.6..0.85, 0.85..0.95, 0.95..0.985, 0.985..1.0];
/// It is asked for so many pages at a time at least.
const STEP_PAGES: u64 = 256;
/// Where it is time that makes a checkpoint due, the passes have the last part of it: what is replaced before that never
/// reaches the disk.
const TIMED_PART: f64 = 0.1;
/// With fewer pages that wait, such a flush is over soon enough by itself.
const TIMED_PAGES: u64 = 1024;

/// How far the disk was asked to write the data file since its last flush.
#[derive(Default)]
pub(crate) struct Sweep {
    /// The commit that was flushed last.
    base: Txnid,
    pass: usize,
    asked: u64,
}

impl Sweep {
    /// The pages of a file of so many that are to be asked for so near to the next checkpoint.
    fn advance(&mut self, base: Txnid, near: f64, page_count: u64) -> Range<u64> {
        let Some(pass) = PASSES.iter().rposition(|pass| pass.start <= near) else { return 0..0 };
        if (self.base, self.pass) != (base, pass) {
            *self = Sweep { base, pass, asked: 0 };
        }
        let Range { start, end } = PASSES[pass];
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of the number of pages")]
        let due = ((near.min(end) - start) / (end - start) * page_count as f64) as u64;
        if due < self.asked + STEP_PAGES {
            return 0..0;
        }
        std::mem::replace(&mut self.asked, due)..due
    }
}

impl Store {
    /// Whether so many pages, of so many in the data file, wait to be flushed that a commit should do it.
    pub(crate) fn checkpoint_is_due(&self, writer: &Writer, pages: u64, of: u64, durability: Durability) -> bool {
        let limit = if self.goes_on_beside(writer, durability) { FLUSH_AT } else { 1.0 };
        self.near_by_pages(pages, of, durability) > limit
    }

    /// Whether the checkpoint that comes next will be made beside commits of this durability.
    fn goes_on_beside(&self, writer: &Writer, durability: Durability) -> bool {
        durability == Durability::Relaxed && writer.mark == Mark::Broken && self.is_flushed_beside(writer)
    }

    /// Most pages, of so many in the data file, that wait to be flushed, where so many do.
    fn pages_max(&self, pages: u64, of: u64, durability: Durability) -> u64 {
        let size = self.pager.page_size as u64;
        // As long as the answer does not matter, the system is not asked for it. (A damaged file may say any number.)
        let few = pages < CHECKPOINT_BYTES_MAX.start() / 2 / size;
        let most = if few { *CHECKPOINT_BYTES_MAX.start() } else { bytes_max(memory::for_files()) } / size;
        match durability {
            Durability::Durable => of.clamp(CHECKPOINT_BYTES_MIN / size, most),
            Durability::Relaxed => most,
        }
    }

    /// How near the checkpoint is that is due because so many pages, of so many in the data file, wait for it.
    pub(super) fn near_by_pages(&self, pages: u64, of: u64, durability: Durability) -> f64 {
        pages as f64 / self.pages_max(pages, of, durability) as f64
    }

    /// Whether the last flush of the data file is so long ago that it is time for another one.
    pub(crate) fn checkpoint_is_late(&self) -> bool {
        self.shared.since_flush() > CHECKPOINT_AFTER
    }

    /// Whether it is so long ago that a relaxed commit should flush it. Where one that is made beside was begun again and again,
    /// by whomever, and always came to nothing, that is so too.
    pub(crate) fn must_flush_now(&self, writer: &Writer) -> bool {
        let since = self.shared.since_flush();
        let is_made_beside = self.background(writer).is_some();
        let may_be_made = since <= 2 * CHECKPOINT_AFTER && self.is_flushed_beside(writer);
        since > CHECKPOINT_AFTER && !is_made_beside && !may_be_made
    }

    /// Whether a handle that closes may leave what was committed to the next checkpoint. The last one not while there is
    /// a log: some of it may be nowhere else, and a copy of the data file alone should have all. Nor where no lock file tells
    /// of it: whoever opens the file would have to read all of it again.
    pub(crate) fn may_leave_unflushed(&self, last: bool) -> bool {
        let settings = &self.settings;
        let may_wait = !settings.flush_on_close && settings.lock_file && !self.checkpoint_is_late();
        may_wait && (!last || !self.log_place.is_there())
    }

    /// The bytes of the data file that the disk should begin to write after the writer's commit.
    pub(crate) fn due_ahead(&self, writer: &mut Writer, durability: Durability) -> Range<u64> {
        if self.goes_on_beside(writer, durability) {
            return 0..0;
        }
        let meta = &writer.meta;
        let of_pages = self.near_by_pages(meta.proof.pages, meta.page_count, durability);
        let of_log = match writer.mark {
            Mark::At { end, .. } => end as f64 / self.log_max(meta.page_count) as f64,
            Mark::Broken => 0.0,
        };
        let is_timed = durability == Durability::Relaxed && meta.proof.pages >= TIMED_PAGES;
        let of_time = if is_timed { near_by_time(self.shared.since_flush()) } else { 0.0 };
        let pages = writer.sweep.advance(meta.proof.base, of_pages.max(of_log).max(of_time), meta.page_count);
        let size = self.pager.page_size as u64;
        pages.start * size..pages.end * size
    }

    /// Has the disk begin to write these bytes of the data file, if there are any.
    pub(crate) fn ask_ahead(&self, bytes: Range<u64>) {
        if !bytes.is_empty() {
            self.medium.begin_flush(bytes);
        }
    }

    /// Makes the data file durable with all that is committed. Returns at once if it is.
    pub(crate) fn checkpoint(&self, wait: Wait) -> Result<()> {
        let mut writer = self.begin_write(wait)?;
        let result = self.flush_and_cut_off(&mut writer).and_then(|()| self.tell_of_flush(&writer));
        self.end_write(writer);
        result
    }

    /// Where no memory is shared with those who write after this, the newest commit's slot tells that it is flushed, so that they
    /// keep it, and that damage to it is not taken for what a power cut left.
    pub(super) fn tell_of_flush(&self, writer: &Writer) -> Result<()> {
        if !self.untold || writer.meta.is_proven() || Meta::has_receipt(&self.pager.slot(writer.slot)) {
            return Ok(());
        }
        // It need not be flushed: if it is lost, the commit has its proof.
        write_receipt(&*self.medium, &writer.meta, writer.slot).map_err(Error::io("write that a commit is flushed"))
    }

    /// Between transactions: what one has placed behind the newest commit's end must stay. Where no memory is shared, another
    /// handle may be in one, unless this one begins one.
    pub(super) fn flush_and_cut_off(&self, writer: &mut Writer) -> Result<()> {
        self.flush_data(writer)?;
        if !self.untold {
            self.cut_off(writer, 0);
        }
        Ok(())
    }

    /// For who begins a transaction.
    pub(crate) fn cut_off_what_is_left(&self, writer: &mut Writer) {
        if self.untold && self.shared.durable() == writer.meta.txnid {
            self.cut_off(writer, 0);
        }
    }

    pub(crate) fn flush_data(&self, writer: &mut Writer) -> Result<()> {
        self.wait_for_landing(writer)?;
        if self.shared.durable() == writer.meta.txnid {
            return Ok(());
        }
        self.flush("flush a checkpoint")?;
        self.became_durable(writer)
    }

    /// The writer's commit has been flushed.
    pub(crate) fn became_durable(&self, writer: &mut Writer) -> Result<()> {
        (writer.durable_slot, writer.seen_slot) = (writer.slot, writer.slot);
        writer.mark = Mark::START;
        self.shared.set_durable(writer.meta.txnid)?;
        self.shared.publish(&published_durable(&writer.meta, writer.slot))
    }

    /// The newest commit that survives a power cut: of the data file, or of data file and log.
    pub(crate) fn durable(&self) -> Txnid {
        let newest = self.shared.newest();
        let is_flushed = self.shared.record(newest).is_some_and(|record| is_flushed(&record));
        if is_flushed { newest } else { self.shared.durable() }
    }

    /// Cuts off the free end of the file, once the newest commit is durable, or one of so many pages that it comes after.
    pub(crate) fn cut_off(&self, writer: &mut Writer, durable_pages: u64) {
        let bytes = writer.meta.page_count.max(durable_pages) * u64::from(writer.meta.page_size);
        if std::mem::take(&mut writer.too_long)
            && !self.settings.keep_length
            && let Err(error) = self.medium.set_len(bytes)
        {
            // The commit stands all the same; the next checkpoint tries again.
            tracing::warn!(%error, "the free end of the data file could not be cut off");
            writer.too_long = true;
        }
        writer.too_long |= writer.meta.page_count < durable_pages;
    }
}

/// How near the checkpoint is that is due because so much time went by since the last one.
fn near_by_time(since: Duration) -> f64 {
    let left = 1.0 - since.as_secs_f64() / CHECKPOINT_AFTER.as_secs_f64();
    1.0 - left / TIMED_PART * (1.0 - PASSES[0].start)
}

/// Most bytes that wait to be flushed, with so many bytes of memory for files.
fn bytes_max(memory: u64) -> u64 {
    (memory / CHECKPOINT_OF_MEMORY).clamp(*CHECKPOINT_BYTES_MAX.start(), *CHECKPOINT_BYTES_MAX.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_asked_for_the_whole_file_in_the_last_tenth_of_the_time_and_again_for_what_came_since() {
        const PAGES: u64 = 100_000;
        let mut sweep = Sweep::default();
        let mut asked = Vec::new();
        for ms in 0..CHECKPOINT_AFTER.as_millis() as u64 {
            let due = sweep.advance(Txnid(7), near_by_time(Duration::from_millis(ms)), PAGES);
            assert!(due.is_empty() || ms >= 4500, "{due:?} after {ms} ms");
            asked.extend((!due.is_empty()).then_some(due));
        }
        let passes: Vec<_> = asked.chunk_by(|a, b| a.end == b.start).map(|pass| (pass[0].start, pass)).collect();
        assert_eq!(passes.len(), PASSES.len());
        for (start, pass) in passes {
            assert_eq!(start, 0);
            assert!(pass.last().is_some_and(|last| last.end > PAGES - PAGES / 10), "{pass:?}");
        }
    }
}
