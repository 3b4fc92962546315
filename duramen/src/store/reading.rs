//! Beginning to read: which snapshot is the newest, and that the map has it.
//!
//! Owns: the look at the file's length before its pages are read, learning of commits where nobody tells of them.
//! Must not know: what is in the snapshots, how commits are made.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::log::Mark;
use super::opening::read_head;
use super::recover::whole_slots;
use super::{Store, Unpacked, published};
use crate::error::{Error, Result};
use crate::format::meta::{self, Meta, NUMBERS, SLOTS};
use crate::ids::Txnid;
use crate::os::{file, overlay};
use crate::readers::{Published, ReadSlot, Stay};

impl Store {
    /// Begins reading: the newest snapshot, registered so that its pages stay.
    #[inline]
    pub(crate) fn begin_read(&self, stay: Stay) -> Result<(ReadSlot, Published)> {
        if self.untold {
            self.look_for_commits()?;
        }
        loop {
            let (token, newest) = self.shared.begin_read(stay)?;
            if self.shared.take_time_passed() {
                self.pager.look_at_memory_again();
            }
            if self.length_checked.load(Ordering::Relaxed) == newest.txnid.0 {
                return Ok((token, newest));
            }
            match self.check_length(&newest) {
                Ok(()) => return Ok((token, newest)),
                Err(error) => {
                    self.shared.end_read(token);
                    if self.untold {
                        self.look_for_commits()?;
                    }
                    // A newer commit may have cut off the end that this snapshot did not use.
                    if self.shared.newest() == newest.txnid {
                        return Err(error);
                    }
                }
            }
        }
    }

    /// The newest commit, which nothing keeps as it is: for who asks for numbers only.
    pub(crate) fn glance(&self) -> Result<Published> {
        self.shared.check()?;
        if self.untold {
            self.look_for_commits()?;
        }
        if let Some(published) = self.shared.record(self.shared.newest()) {
            return Ok(published);
        }
        let (slot, published) = self.begin_read(Stay::Brief)?;
        self.shared.end_read(slot);
        Ok(published)
    }

    /// The file must be as long as the snapshot says: reading past its end would be a signal, not an error.
    #[cold]
    pub(super) fn check_length(&self, published: &Published) -> Result<()> {
        let needed = meta::bytes_needed(Unpacked::of(published).page_count, self.pager.page_size);
        self.follow_copy(published.txnid)?;
        let found = self.file.metadata().map_err(Error::io("ask for the length of the data file"))?.len();
        if found < needed {
            return Err(Error::Truncated { path: self.path.clone(), found, needed });
        }
        self.pager.file_has(found);
        self.length_checked.store(published.txnid.0, Ordering::Relaxed);
        Ok(())
    }

    /// In an overlay whoever opened the file to write made a copy of it, if there was none, and wrote the commit there.
    fn follow_copy(&self, newest: Txnid) -> Result<()> {
        let mut may_be = self.may_be_copied.lock().unwrap_or_else(PoisonError::into_inner);
        if may_be.is_some_and(|opened_at| newest > opened_at) {
            let copy = overlay::open_anew(&self.file).map_err(file::failed("open the copy of", &self.path))?;
            self.pager.follow(copy)?;
            *may_be = None;
        }
        Ok(())
    }

    /// Whether who reads through this handle stands in a lock file, for others to see.
    pub(crate) fn registers_readers(&self) -> bool {
        self.settings.lock_file && self.unregistered.is_none()
    }

    /// Where nobody tells of commits made through other handles, their meta pages do.
    #[cold]
    pub(super) fn look_for_commits(&self) -> Result<()> {
        let newer = |slot: &usize| Meta::txnid_of(&self.pager.slot(*slot)) > self.shared.newest();
        // In an overlay the map may be of what has been copied since: the file itself tells.
        let may_be_copied = self.may_be_copied.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        // What a failed commit of this process left there is not to be seen.
        if self.poison.is_there() || !may_be_copied && !(0..SLOTS).any(|slot| newer(&slot)) {
            return Ok(());
        }
        let memory = self.lock_memory();
        if memory.is_none() {
            // This handle writes: what is new may be its own commit, not yet to be seen.
            return Ok(());
        }
        let mut head = self.read_head()?;
        loop {
            let newest = whole_slots(&head).max_by_key(|(_, meta)| meta.age());
            let Some((slot, meta)) = newest.filter(|(_, meta)| self.is_news(meta)) else { return Ok(()) };
            if let Some(holder) = &self.unregistered {
                holder.hold(meta.txnid)?;
                let now = self.read_head()?;
                if now != head {
                    // A writer that committed in between may not have seen the lock.
                    head = now;
                    continue;
                }
            }
            self.shared.publish(&published(&meta, slot, slot, Mark::Broken))?;
            // Whoever made it may have been told that it survives a power cut, and another one that it does not.
            self.shared.ask_for_checkpoint();
            return self.let_go_of_the_old();
        }
    }

    /// The same of the newest commit's meta page, which another handle may have written once more: what a writer makes next
    /// is to come behind that one.
    pub(super) fn look_for_later_meta_page(&self) -> Result<()> {
        let newest = self.shared.newest();
        let Some(record) = self.shared.record(newest) else { return Ok(()) };
        let known = Unpacked::of(&record).slot;
        let known_sequence = Meta::sequence_of(&self.pager.slot(known));
        let is_later =
            |slot: &[u8; NUMBERS]| Meta::txnid_of(slot) == newest && Meta::sequence_of(slot) > known_sequence;
        if !(0..SLOTS).any(|slot| is_later(&self.pager.slot(slot))) {
            return Ok(());
        }
        let head = self.read_head()?;
        let same = whole_slots(&head).filter(|(_, meta)| meta.file_id == self.pager.file_id && meta.txnid == newest);
        if let Some((slot, meta)) = same.max_by_key(|(_, meta)| meta.sequence).filter(|(slot, _)| *slot != known) {
            // It was not flushed, but the one before it was.
            self.shared.publish(&published(&meta, slot, known, Mark::Broken))?;
            self.shared.ask_for_checkpoint();
        }
        Ok(())
    }

    /// What another handle has flushed of this one's commits stays: what a writer makes next comes after a checkpoint.
    pub(super) fn look_for_receipts(&self) {
        let durable = self.shared.durable();
        let is_newer = |slot: usize| Meta::txnid_of(&self.pager.slot(slot)) > durable;
        if (0..SLOTS).any(|slot| is_newer(slot) && Meta::has_receipt(&self.pager.slot(slot))) {
            self.shared.ask_for_checkpoint();
        }
    }

    fn is_news(&self, meta: &Meta) -> bool {
        // What the opening found not to be whole stays there until somebody writes, and who does numbers what follows after it.
        let is_rejected = self.rejected.is_some_and(|sequence| meta.sequence <= sequence);
        meta.file_id == self.pager.file_id && meta.txnid > self.shared.newest() && !is_rejected
    }

    /// A copy of the meta slots, for who does not keep writers from writing there. In the map a slot may change after its
    /// checksum was found right and before its words are read, which then are those of two commits.
    pub(crate) fn read_head(&self) -> Result<Vec<u8>> {
        read_head(&self.file)
    }

    /// Lets go of snapshots that no transaction of this handle reads any more.
    fn let_go_of_the_old(&self) -> Result<()> {
        let Some(holder) = &self.unregistered else { return Ok(()) };
        let mut needed = Vec::new();
        self.shared.collect_live(&mut needed)?;
        needed.push(self.shared.newest());
        holder.keep_only(&needed);
        Ok(())
    }
}
