//! `sync`: the data file is flushed by who asks for that, beside whoever writes.
//!
//! Owns: which commit such a flush found, and that it is kept until it is the durable one. Must not know: what is in the
//! pages.
//!
//! Who asks says so in the lock file before he flushes: whoever begins to write after that, and does not know what the
//! flush has found, makes a checkpoint first. This handle's own writer knows: it is the commit that the transaction at
//! work goes on from, or what that has become; so the newest commit when the next one begins, or the one before it.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{Store, Writer};
use crate::error::{Error, Result};
use crate::ids::Txnid;
use crate::readers::Wait;

/// So long is waited for those who were flushing when this handle was opened.
const OTHERS_FLUSH_MAX: Duration = Duration::from_secs(2);

/// So long is waited for a writer after whom what is in doubt can be written again.
const WRITER_MAX: Duration = Duration::from_secs(3);

/// The flushes that threads of this handle make beside the writer, one at a time.
#[derive(Default)]
pub(crate) struct Syncing {
    turn: Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How often these threads have asked for a checkpoint since another handle was the writer, who made those that were
    /// asked for before. So while none has been, the lock file asks for as many at least.
    asked: u64,
    /// What the flush that is under way has found,
    under_way: Option<Txnid>,
    /// and the last one that is over.
    done: Option<Txnid>,
}

impl Syncing {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a flush has made this commit durable; none while it is at it.
    pub(super) fn came_to(&self, commit: Txnid) -> Option<bool> {
        let state = self.lock();
        (state.under_way != Some(commit)).then_some(state.done == Some(commit))
    }
}

impl Store {
    /// As [`Store::checkpoint`], but without waiting for a writer. A writer of this handle waits for it only where a checkpoint
    /// is being made beside his commits just then.
    pub(crate) fn sync(&self) -> Result<()> {
        if self.settings.read_only {
            return Err(Error::ReadOnly);
        }
        self.poison.check()?;
        if !self.untold && self.durable() == self.shared.newest() {
            return Ok(());
        }
        if self.untold {
            return match self.checkpoint(Wait::No) {
                Err(Error::Busy) => self.flush_beside_writer(),
                done => done,
            };
        }
        let flushed = self.flush_beside_writer();
        // Where nobody writes, what was flushed is the durable commit from now on, and what was in doubt has been written again.
        match self.begin_write(Wait::No) {
            Ok(writer) => {
                self.end_write(writer);
                Ok(())
            }
            Err(Error::Busy) if flushed.is_err() && self.look_into_doubt() => self.sync_after_writer(flushed),
            Err(Error::Busy) => flushed,
            Err(error) => flushed.and(Err(error)),
        }
    }

    /// Whether another handle was told of what could not be written, or died before it was, and may have been told alone. The
    /// dead are cleared away.
    fn look_into_doubt(&self) -> bool {
        self.shared.look_again_for_flushers() || self.shared.look_into_failure()
    }

    /// As [`Store::sync`], where what others flushed is in doubt: whoever begins to write next writes it again. The writer of now may
    /// be this very thread, so that he is not waited for without end.
    fn sync_after_writer(&self, mut flushed: Result<()>) -> Result<()> {
        let begun = Instant::now();
        while flushed.is_err() && begun.elapsed() < WRITER_MAX {
            thread::sleep(Duration::from_millis(1));
            self.poison.check()?;
            match self.begin_write(Wait::No) {
                Ok(writer) => {
                    self.end_write(writer);
                    return Ok(());
                }
                Err(Error::Busy) if self.look_into_doubt() => {}
                Err(Error::Busy) => flushed = self.flush_beside_writer(),
                Err(error) => return Err(error),
            }
        }
        flushed
    }

    /// Flushes the data file as it is: a transaction that is under way writes nothing over that the newest commit can reach,
    /// and the next one looks after what this has found.
    pub(super) fn flush_beside_writer(&self) -> Result<()> {
        // In a forked child the locks may be held for ever.
        self.shared.check()?;
        let _turn = self.syncing.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let found = {
            let mut state = self.syncing.lock();
            // Before it is asked what is newest: whoever begins to write after this keeps that.
            self.shared.ask_for_checkpoint();
            state.asked += 1;
            let found = self.shared.newest();
            state.under_way = Some(found);
            found
        };
        let flushed = self.flush("flush the data file").and_then(|()| self.check_others_flushes());
        let mut state = self.syncing.lock();
        state.under_way = None;
        if flushed.is_ok() {
            state.done = Some(found);
        }
        flushed
    }

    /// Whether another handle was told of what could not be written, or died before it was: this one may not have been. The next
    /// transaction writes all of it again.
    fn check_others_flushes(&self) -> Result<()> {
        let begun = Instant::now();
        while self.shared.look_again_for_flushers() && begun.elapsed() < OTHERS_FLUSH_MAX {
            thread::sleep(Duration::from_millis(1));
        }
        if !self.look_into_doubt() {
            return Ok(());
        }
        let source =
            io::Error::other("what another handle flushed may not be on disk; the next transaction writes it again");
        Err(Error::Io { op: "flush the data file", source })
    }

    /// Before a transaction: what was flushed beside the last one becomes durable, or is kept until it does.
    pub(super) fn look_after_syncs(&self, writer: &mut Writer) -> Result<()> {
        let strangers = self.shared.strangers();
        if std::mem::replace(&mut writer.strangers, strangers) != strangers {
            self.syncing.lock().asked = 0;
        }
        if !self.shared.is_checkpoint_asked_for() {
            return Ok(());
        }
        if !self.untold && self.keeps_what_was_found(writer)? {
            return Ok(());
        }
        self.flush_and_cut_off(writer)?;
        // Now, since this transaction may come to nothing, and what is synced beside it has to stay all the same.
        self.tell_of_flush(writer)?;
        let mut state = self.syncing.lock();
        self.shared.note_checkpoint();
        state.asked = 0;
        Ok(())
    }

    /// Does so without a checkpoint; false where others of whom nothing is known asked as well, or something else is in the way.
    fn keeps_what_was_found(&self, writer: &mut Writer) -> Result<bool> {
        let (done, under_way, settled) = {
            let state = self.syncing.lock();
            if !self.shared.are_all_of(state.asked) {
                return Ok(false);
            }
            // A flush that failed has kept nothing.
            self.poison.check()?;
            (state.done, state.under_way, state.asked.saturating_sub(u64::from(state.under_way.is_some())))
        };
        if let Some(done) = done.filter(|done| *done > self.shared.durable()) {
            let Some(found) = self.as_found(writer, done) else { return Ok(false) };
            self.rebase(writer, &found)?;
        }
        let mut state = self.syncing.lock();
        self.shared.withdraw(settled);
        state.asked = state.asked.saturating_sub(settled);
        drop(state);
        let under_way = under_way.filter(|found| *found > self.shared.durable());
        Ok(under_way.is_none_or(|found| self.keep_for_sync(writer, found)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, Durability};

    #[test]
    fn what_is_still_being_synced_when_too_much_waits_for_it_comes_to_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::options().durability(Durability::Relaxed).open(dir.path().join("it.dm")).unwrap();
        let put = |value: u64| db.update(|txn| txn.table("t")?.put(b"key", value.to_le_bytes())).unwrap();
        (0..3).for_each(put);
        let store = db.store();
        let (found, durable) = (store.shared.newest(), store.shared.durable());
        assert!(durable < found);
        store.syncing.lock().under_way = Some(found);
        let mut writer = store.begin_write(Wait::Forever).unwrap();
        assert!(store.keep_for_sync(&mut writer, found));
        // So much that nothing more is to wait.
        let pages = std::mem::replace(&mut writer.meta.proof.pages, u64::MAX);
        store.look_after_background(&mut writer, Wait::No).unwrap();
        assert!(store.background(&writer).is_some(), "who does not wait leaves it");
        store.look_after_background(&mut writer, Wait::Forever).unwrap();
        assert!(store.background(&writer).is_none());
        assert_eq!(store.shared.durable(), durable, "the disk has not said that it has it");
        writer.meta.proof.pages = pages;
        store.syncing.lock().under_way = None;
        store.end_write(writer);
        put(3);
    }
}
