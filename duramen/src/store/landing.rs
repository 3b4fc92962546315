//! The end of a commit that the log makes durable: the flush, and what may happen only after it.
//!
//! Owns: the order in which such commits become durable and visible. Must not know: what was committed.
//!
//! While the disk writes a commit's record and flushes it, the next commit may be made on top. Its record is written, and
//! readers see it, only after this one; if this one fails, so does it.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::log::Unwritten;
use super::{Store, Writer};
use crate::error::Result;
use crate::medium::Medium;
use crate::readers::Published;

/// A commit whose pages are written, and that is neither durable nor to be seen yet.
pub(crate) struct Landing {
    store: Arc<Store>,
    log: Arc<dyn Medium>,
    record: OfRecord,
    published: Published,
    /// Bytes of the data file that the disk should begin to write afterwards.
    ahead: Range<u64>,
    landed: Arc<Landed>,
    /// What its transaction has said.
    pub(crate) said: Vec<u8>,
    /// How long it waited for the commit before it.
    pub(crate) waited: Duration,
}

/// What is left to be done for a commit's record.
pub(crate) enum OfRecord {
    /// All but to write it.
    Write(Unwritten),
    /// It is written.
    Flush,
    /// The disk has begun with it.
    Wait,
}

/// Whether a commit is still on its way.
#[derive(Default)]
pub(crate) struct Landed {
    over: Mutex<bool>,
    told: Condvar,
}

impl Landed {
    fn tell(&self) {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.told.notify_all();
    }

    fn wait(&self) {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.told.wait_while(over, |over| !*over).unwrap_or_else(PoisonError::into_inner));
    }

    fn is_over(&self) -> bool {
        *self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Landing {
    /// Makes the commit durable and lets readers see it; how long the disk took. On an error nobody writes any more.
    pub(crate) fn land(&mut self) -> Result<Duration> {
        let done = self.flush_and_publish();
        if done.is_ok() {
            // Before the next one may land: what is heard is in the order of commits.
            self.store.listener.tell(&self.said);
        }
        self.landed.tell();
        done
    }

    fn flush_and_publish(&self) -> Result<Duration> {
        let (store, begun) = (&self.store, Instant::now());
        match &self.record {
            OfRecord::Write(record) => self.log.write_flushed(record.at, &record.bytes),
            OfRecord::Flush => self.log.flush(),
            OfRecord::Wait => self.log.end_write_flushed(),
        }
        .map_err(|error| store.poison("flush the log", error))?;
        store.length_is_known(self.published.txnid);
        store.shared.publish(&self.published)?;
        Ok(begun.elapsed())
    }

    /// Has the disk begin with what is due of the data file. To be called when nobody waits any more.
    pub(crate) fn ask_ahead(self) {
        self.store.ask_ahead(self.ahead.clone());
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        if !self.landed.is_over() {
            // The writer's memory is ahead of what anyone may see, and the record may be on disk or not.
            self.store.give_up("a commit for the log was not flushed".into());
            self.landed.tell();
        }
    }
}

impl Store {
    /// The writer's commit for its last steps. The one before it must have landed.
    pub(crate) fn landing(
        self: &Arc<Store>,
        writer: &mut Writer,
        published: Published,
        record: OfRecord,
        ahead: Range<u64>,
        waited: Duration,
    ) -> Result<Landing> {
        let landed = Arc::new(Landed::default());
        let log = writer.log.medium()?;
        writer.before = Some(landed.clone());
        Ok(Landing { store: self.clone(), log, record, published, ahead, landed, said: Vec::new(), waited })
    }

    /// Waits until the commit that this writer goes on from is durable and visible; how long.
    pub(crate) fn wait_for_landing(&self, writer: &mut Writer) -> Result<Duration> {
        let Some(before) = writer.before.take() else { return Ok(Duration::ZERO) };
        let begun = Instant::now();
        before.wait();
        writer.seen_slot = writer.slot;
        self.poison.check()?;
        Ok(begun.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Database, Error};

    #[test]
    fn a_commit_that_nobody_lands_is_followed_by_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("it.dm");
        let db = Database::options().log_at_once(1 << 16).open(&path).unwrap();
        let put = |key: &str| -> crate::Result<_> {
            let mut txn = db.begin_write()?;
            txn.table("t")?.put(key, b"value")?;
            txn.commit_unlanded()
        };
        let (mut landing, writer) = put("first").unwrap().unwrap();
        landing.land().unwrap();
        db.store().end_write(writer);
        let (landing, writer) = put("second").unwrap().unwrap();
        drop(landing);
        // Who waits for it goes on.
        db.store().end_write(writer);
        assert!(matches!(put("third"), Err(Error::Poisoned { .. })));
        assert!(db.read().unwrap().table("t").unwrap().get("second").unwrap().is_none());
        drop(db);
        let db = Database::open(&path).unwrap();
        let snapshot = db.read().unwrap();
        let table = snapshot.table("t").unwrap();
        assert!(table.get("first").unwrap().is_some() && table.get("third").unwrap().is_none());
    }
}
