//! Checkpoints that relaxed commits go on beside: the data file is flushed while the next are made.
//!
//! Owns: when one begins and what it is of, what is kept for it meanwhile, what commits on top of it have to prove. Must not
//! know: what is in the pages.
//!
//! The flush is of one commit, which becomes the durable one when that is over. Until then its slot and its pages are kept
//! like those of the last durable commit, and each commit counts twice what it wrote: since that one, which its own proof
//! needs, and since this one, for the proofs of those that will be made when it is durable.
//!
//! It is this handle's alone. Where another one has been the writer meanwhile, which keeps nothing for it, it comes to nothing.
//!
//! The flush is the medium's own, or that of somebody who [syncs](super::syncing).

use std::sync::atomic::Ordering;

use super::log::Mark;
use super::published::published;
use super::{Durability, Store, Writer};
use crate::error::Result;
use crate::format::meta::Proof;
use crate::ids::Txnid;
use crate::readers::Wait;

/// Beside commits the data file is flushed when so much waits for that, as a part of what relaxed commits flush it for
/// otherwise;
const BEGIN_AT: f64 = 0.5;
/// with so much a transaction waits until a flush that is under way is over,
const WAIT_AT: f64 = 1.5;
/// and a commit flushes the file itself with more than this.
pub(super) const FLUSH_AT: f64 = 2.0;

/// Whose the flush is.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Medium,
    Sync,
}

/// A checkpoint that relaxed commits go on beside: the commit that the data file is being flushed with.
pub(crate) struct BackgroundCheckpoint {
    by: By,
    pub commit: Txnid,
    pub slot: usize,
    page_count: u64,
    /// The durable commit when it began,
    base: Txnid,
    /// and the newest one that its proof is up to.
    counted: Txnid,
    /// How often somebody else may have been the writer, who keeps nothing for this.
    strangers: u64,
    /// What commits after it have to prove.
    pub proof: Proof,
}

impl Store {
    /// The checkpoint that is under way, if it can come to something.
    pub(crate) fn background<'w>(&self, writer: &'w Writer) -> Option<&'w BackgroundCheckpoint> {
        let (durable, newest, strangers) = (self.shared.durable(), writer.meta.txnid, self.shared.strangers());
        let is_kept = |it: &&BackgroundCheckpoint| (it.base, it.counted, it.strangers) == (durable, newest, strangers);
        writer.background.as_ref().filter(is_kept)
    }

    /// To be called before the writer goes on from the next commit; with what that one would have to prove from the commit that
    /// is being flushed, if there is one, and from the one before.
    pub(crate) fn count_for_background(&self, writer: &mut Writer, next: Txnid, proof: Option<Proof>, alone: Proof) {
        if self.background(writer).is_some()
            && let (Some(background), Some(proof)) = (&mut writer.background, proof)
        {
            (background.counted, background.proof) = (next, proof);
        }
        writer.before_made = Some(BackgroundCheckpoint { counted: next, proof: alone, ..self.newest_of(writer) });
    }

    /// The newest commit, flushed while somebody syncs.
    fn newest_of(&self, writer: &Writer) -> BackgroundCheckpoint {
        let commit = writer.meta.txnid;
        BackgroundCheckpoint {
            by: By::Sync,
            commit,
            slot: writer.slot,
            page_count: writer.meta.page_count,
            base: self.shared.durable(),
            counted: commit,
            strangers: self.shared.strangers(),
            proof: Proof::of(commit),
        }
    }

    /// What somebody who syncs has found: the newest commit, or else the one before it, if nobody else has made one since.
    pub(super) fn as_found(&self, writer: &mut Writer, commit: Txnid) -> Option<BackgroundCheckpoint> {
        if commit == writer.meta.txnid {
            return Some(self.newest_of(writer));
        }
        let before = writer.before_made.take_if(|before| before.commit == commit)?;
        let is_newest = before.counted == writer.meta.txnid && writer.mark == Mark::Broken;
        is_newest.then(|| BackgroundCheckpoint { base: self.shared.durable(), ..before })
    }

    /// Keeps what somebody who syncs has found until he has flushed it; false if that cannot be.
    pub(super) fn keep_for_sync(&self, writer: &mut Writer, commit: Txnid) -> bool {
        if writer.background.is_none() && writer.mark == Mark::Broken {
            writer.background = self.as_found(writer, commit);
        }
        self.background(writer).is_some_and(|background| background.by == By::Sync && background.commit == commit)
    }

    /// Whether a checkpoint that is due is made beside relaxed commits. For each durable commit that is tried once.
    pub(crate) fn is_flushed_beside(&self, writer: &Writer) -> bool {
        // Where the disk was full once, what is kept for two commits may be room that is needed.
        let may_be = !self.untold && self.shared.counts_flushes() && !self.crowded.load(Ordering::Relaxed);
        let untried = writer.tried_beside != Some(self.shared.durable());
        may_be && (untried || self.background(writer).is_some())
    }

    /// After a relaxed commit: begins a checkpoint of it if one is due.
    pub(crate) fn begin_background(&self, writer: &mut Writer) {
        let is_due = self.settings.checkpoints_at_once || self.checkpoint_is_late() || self.waits_for(writer, BEGIN_AT);
        if !is_due || writer.mark != Mark::Broken || writer.background.is_some() || !self.is_flushed_beside(writer) {
            return;
        }
        writer.tried_beside = Some(self.shared.durable());
        // Whoever waits for the disk tells the others: this handle may be at rest then.
        let flushing = self.shared.announce_flush();
        if let Err(over) = self.medium.begin_flush_beside(Box::new(|well| flushing.end(well))) {
            over(true);
            return;
        }
        writer.background = Some(BackgroundCheckpoint { by: By::Medium, ..self.newest_of(writer) });
    }

    /// Whether this part of what may wait for a flush does.
    fn waits_for(&self, writer: &Writer, part: f64) -> bool {
        self.near_by_pages(writer.meta.proof.pages, writer.meta.page_count, Durability::Relaxed) > part
    }

    /// Before a transaction: if the flush is over, what it was of is the durable commit now.
    pub(super) fn look_after_background(&self, writer: &mut Writer, wait: Wait) -> Result<()> {
        if writer.background.is_none() {
            return Ok(());
        }
        let wait = wait != Wait::No && self.background(writer).is_some() && self.waits_for(writer, WAIT_AT);
        if let Some(background) = self.end_background(writer, wait)? {
            self.rebase(writer, &background)?;
        }
        Ok(())
    }

    /// What the flush was of, if it is over, unless that came to nothing. `wait`: what is not over afterwards is left.
    fn end_background(&self, writer: &mut Writer, wait: bool) -> Result<Option<BackgroundCheckpoint>> {
        let Some(BackgroundCheckpoint { by, commit, .. }) = writer.background else { return Ok(None) };
        let came = match by {
            By::Medium => self.medium.take_flush_beside(wait).map(|came| came.map(|()| true)),
            By::Sync => self.syncing.came_to(commit).or(wait.then_some(false)).map(Ok),
        };
        let Some(came) = came else { return Ok(None) };
        let may_succeed = self.background(writer).is_some();
        let background = writer.background.take().filter(|_| may_succeed);
        let is_flushed = came.map_err(|error| self.poison("flush a checkpoint", error))?;
        Ok(background.filter(|_| is_flushed))
    }

    /// The next commits are proven from what has been flushed.
    pub(super) fn rebase(&self, writer: &mut Writer, flushed: &BackgroundCheckpoint) -> Result<()> {
        self.shared.note_flush();
        if flushed.commit == writer.meta.txnid {
            self.became_durable(writer)?;
            self.cut_off(writer, 0);
            return Ok(());
        }
        // This comes first: who finds that the newest commit's proof is not from here makes a checkpoint.
        self.shared.set_durable(flushed.commit)?;
        writer.durable_slot = flushed.slot;
        writer.meta.proof = flushed.proof;
        self.shared.publish(&published(&writer.meta, writer.slot, flushed.slot, Mark::Broken))?;
        self.cut_off(writer, flushed.page_count);
        Ok(())
    }

    /// The newest commit's proof is from another commit than the durable one: who made that durable died, or made nothing on
    /// top of it.
    pub(super) fn is_proven_from_elsewhere(&self, writer: &Writer) -> bool {
        let durable = self.shared.durable();
        !self.untold && durable != writer.meta.txnid && durable != writer.meta.proof.base
    }

    /// At the end: waits for what is under way, of which nothing is to become any more.
    pub(super) fn drop_background(&self, writer: &mut Writer) -> Result<()> {
        self.end_background(writer, true).map(drop)
    }
}
