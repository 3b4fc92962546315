//! The end of a handle: everything durable, and what the next opening would have to do.
//!
//! Owns: what is done at the end, by whom. Must not know: how commits are made.

use std::time::Duration;

use super::log::{self, Mark};
use super::meta_slots::write_meta;
use super::{Store, Writer, published};
use crate::error::{Error, Result};
use crate::format::meta::Meta;
use crate::readers::Wait;

/// How long a handle that closes waits for its turn to make a checkpoint, before it flushes beside the writer.
const CLOSE_WAIT: Duration = Duration::from_secs(1);

impl Store {
    /// Closes the database, and says what a drop only logs.
    pub(crate) fn close(mut self) -> Result<()> {
        self.closed = true;
        self.end()
    }

    fn end(&self) -> Result<()> {
        // In a forked child another thread may have held the memory's lock.
        if self.settings.read_only || self.shared.is_forked() {
            return Ok(());
        }
        let ended = self.leave_durable();
        // Others are to know what came of a flush before they cannot ask.
        let flushed = self.lock_memory().as_mut().map_or(Ok(()), |writer| self.drop_background(writer));
        ended.and(flushed)
    }

    /// What a closing database does: everything durable, unless that was not wanted, and a meta page that needs no proof,
    /// if nobody else has it open.
    fn leave_durable(&self) -> Result<()> {
        if self.lock_pending().is_some() {
            return Ok(());
        }
        if self.poison.is_there() {
            // Another handle may be the only one that was told so far.
            let left = self.settings.flush_on_close && self.durable() != self.shared.newest();
            return if left { self.poison.check() } else { Ok(()) };
        }
        if self.untold {
            return self.end_untold();
        }
        let last = self.shared.lock_out_others()?;
        let flushed = self.durable() == self.shared.newest();
        let nothing_to_do = if flushed { !last } else { self.may_leave_unflushed(last) };
        if nothing_to_do {
            return Ok(());
        }
        let flush = self.settings.flush_on_close;
        let mut writer = match self.begin_write(if flush { Wait::For(CLOSE_WAIT) } else { Wait::No }) {
            // Whoever writes sees what is due.
            Err(Error::Busy) if !flush => return Ok(()),
            Err(Error::Busy) => return self.flush_beside_writer(),
            begun => begun?,
        };
        let result = if last { self.close_last(&mut writer) } else { self.close_another(&mut writer) };
        self.end_write(writer);
        result
    }

    /// Where no memory is shared, nobody knows whether somebody is in a transaction: nothing is written that such a one writes,
    /// however long this takes. What is another handle's is left to that one, and what this one made before it was flushed by
    /// who made a commit on top of it.
    fn end_untold(&self) -> Result<()> {
        self.look_for_commits()?;
        let Some(mut writer) = self.lock_memory().take() else { return Ok(()) };
        if writer.made == Some(self.shared.newest()) {
            self.flush_data(&mut writer)?;
            self.tell_of_flush(&writer)?;
        }
        Ok(())
    }

    /// Others go on: what is in the log may stay there.
    fn close_another(&self, writer: &mut Writer) -> Result<()> {
        if self.flush_log(writer)? { Ok(()) } else { self.flush_and_cut_off(writer) }
    }

    fn close_last(&self, writer: &mut Writer) -> Result<()> {
        self.flush_and_cut_off(writer)?;
        // Without that a page that is damaged later would be taken for one that did not reach the disk, and the commit before
        // would be gone on with.
        if !writer.meta.is_proven() {
            self.write_proven_meta(writer)?;
        }
        log::remove(&self.log_place, &self.file, &self.settings);
        Ok(())
    }

    /// Writes the newest commit's meta page once more, saying that it needs no proof. It need not be flushed: the commit
    /// is on disk, and if this page is lost, the one before it says so too.
    fn write_proven_meta(&self, writer: &mut Writer) -> Result<()> {
        let slot = self.free_slot(writer);
        writer.meta.sequence = Meta::sequence_after(writer.meta.sequence)?;
        writer.meta.needs_no_proof();
        write_meta(&*self.medium, &writer.meta, slot, &mut writer.meta_bytes)
            .map_err(|error| self.poison("write the meta page", error))?;
        (writer.slot, writer.seen_slot) = (slot, slot);
        self.shared.publish(&published(&writer.meta, slot, writer.durable_slot, Mark::START))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if !self.closed
            && let Err(error) = self.end()
        {
            tracing::warn!(path = %self.path.display(), %error, "closing left the last checkpoint to the next opening");
        }
    }
}
