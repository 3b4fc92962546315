//! Who hears what transactions have said, once they are committed.
//!
//! Owns: that there is one such, and that a panic of it is its own affair. Must not know: what is said, when commits are made.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

type Hear = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// Whoever listens to the transactions of a handle.
#[derive(Default)]
pub(crate) struct Listener(RwLock<Option<Hear>>);

impl Listener {
    /// Has this one listen from now on, and nobody else.
    pub(crate) fn set(&self, hear: Hear) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(hear);
    }

    /// Tells what a transaction has said. Whoever commits for many others goes on whatever comes of it.
    pub(crate) fn tell(&self, said: &[u8]) {
        if said.is_empty() {
            return;
        }
        let hear = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(hear) = hear else { return };
        if catch_unwind(AssertUnwindSafe(|| hear(said))).is_err() {
            tracing::error!("who listens to what is committed panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use crate::{Database, Durability, Error, Result, WriteTxn};

    type Heard = Arc<Mutex<Vec<String>>>;

    /// A database, and what whoever listens to it has heard.
    fn heard(dir: &tempfile::TempDir) -> (Database, Heard) {
        let (db, heard) = (Database::open(dir.path().join("it.dm")).unwrap(), Heard::default());
        let hears = heard.clone();
        db.listen(move |said| hears.lock().unwrap().push(String::from_utf8_lossy(said).into_owned()));
        (db, heard)
    }

    fn put(txn: &mut WriteTxn<'_>, key: &str) -> Result<()> {
        txn.say(key.as_bytes());
        txn.table("t")?.put(key, b"value")
    }

    #[test]
    fn what_a_transaction_says_is_heard_all_at_once_and_only_if_it_is_committed() {
        let dir = tempfile::tempdir().unwrap();
        let (db, heard) = heard(&dir);
        for durability in [Durability::Durable, Durability::Relaxed] {
            let mut txn = db.begin_write().unwrap();
            txn.set_durability(durability);
            put(&mut txn, "a").unwrap();
            put(&mut txn, "b").unwrap();
            assert!(heard.lock().unwrap().is_empty());
            txn.commit().unwrap();
            assert_eq!(std::mem::take(&mut *heard.lock().unwrap()), ["ab"]);
        }
        put(&mut db.begin_write().unwrap(), "c").unwrap();
        db.update(|txn| txn.table("t")?.put("d", "who says nothing")).unwrap();
        assert!(heard.lock().unwrap().is_empty());
    }

    #[test]
    fn of_child_transactions_those_are_heard_that_remain() {
        let dir = tempfile::tempdir().unwrap();
        let (db, heard) = heard(&dir);
        db.update(|txn| {
            put(txn, "a")?;
            let mut child = txn.child()?;
            put(&mut child, "b")?;
            put(&mut child.child()?, "c")?;
            child.commit()?;
            put(&mut txn.child()?, "d")?;
            put(txn, "e")
        })
        .unwrap();
        assert_eq!(*heard.lock().unwrap(), ["abe"]);
    }

    #[test]
    fn of_a_group_nobody_is_heard_whose_change_came_to_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (db, heard) = heard(&dir);
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let first = db.submit_async(move |txn| {
            wait.recv().unwrap();
            put(txn, "a")
        });
        let second = db.submit_async(|txn| put(txn, "b").and(Err::<(), _>(Error::other("no"))));
        let third = db.submit_async(|txn| put(txn, "c"));
        go_on.send(()).unwrap();
        // Behind all of them.
        db.submit(|txn| put(txn, "d")).unwrap();
        drop((first, second, third));
        assert_eq!(heard.lock().unwrap().concat(), "acd");
    }

    #[test]
    fn who_panics_over_what_is_heard_keeps_nobody_from_committing() {
        let dir = tempfile::tempdir().unwrap();
        let (db, heard) = heard(&dir);
        db.listen(|_| panic!("of its own"));
        db.submit(|txn| put(txn, "a")).unwrap();
        let hears = heard.clone();
        db.listen(move |said| hears.lock().unwrap().push(String::from_utf8_lossy(said).into_owned()));
        db.submit(|txn| put(txn, "b")).unwrap();
        assert_eq!(*heard.lock().unwrap(), ["b"]);
    }
}
