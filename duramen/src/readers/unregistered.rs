//! Readers that may not write the lock file: they hold their snapshots by locks on the data file.
//!
//! Owns: those locks. Must not know: how a reader finds its snapshot.
//!
//! A shared lock needs no more than a descriptor open for reading. The byte `2^61 + txnid`, far beyond any data, stands
//! for the snapshot. A reader locks the newest snapshot's byte, then makes sure that no commit was made meanwhile; a
//! writer publishes, then looks who holds locks.

use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::ids::Txnid;
use crate::os::fork::ForkGuard;
use crate::os::lock::{self, Kind};

const SNAPSHOTS: u64 = 1 << 61;

/// Most snapshots that one handle may hold.
const HELD_MAX: usize = 1 << 16;

/// One handle's locks.
pub(crate) struct UnregisteredReader {
    data: Arc<File>,
    /// Where a snapshot cannot be held it is not read.
    must_hold: bool,
    held: Mutex<BTreeSet<Txnid>>,
    guard: ForkGuard,
}

impl UnregisteredReader {
    /// A holder of locks through this open file, which nobody else may use for that.
    pub(crate) fn new(data: Arc<File>) -> UnregisteredReader {
        UnregisteredReader { data, must_hold: true, held: Mutex::default(), guard: ForkGuard::new() }
    }

    /// For who need not hold what he reads: his program sees to it that nobody writes meanwhile, it may be by a lock of its own.
    pub(crate) fn if_possible(mut self) -> UnregisteredReader {
        self.must_hold = false;
        self
    }

    /// Locks a snapshot. It is held only if it is (still) the newest after this returns.
    pub(crate) fn hold(&self, txnid: Txnid) -> Result<()> {
        self.guard.check()?;
        let mut held = self.lock();
        if held.contains(&txnid) {
            return Ok(());
        }
        if held.len() >= HELD_MAX {
            return Err(Error::Usage { what: "too many snapshots are read at once: end some read transactions" });
        }
        // Only a writer's lock could be in the way, and none is ever taken there.
        match lock::try_lock(&self.data, range_of(txnid)?, Kind::Shared) {
            Ok(true) => {
                held.insert(txnid);
                Ok(())
            }
            _ if !self.must_hold => Ok(()),
            Ok(false) => Err(Error::Usage { what: "another program keeps a lock of its own on the data file" }),
            Err(error) => Err(error),
        }
    }

    /// Lets go of all snapshots but these.
    pub(crate) fn keep_only(&self, needed: &[Txnid]) {
        if self.guard.forked() {
            return;
        }
        self.lock().retain(|txnid| {
            // Where it fails, the snapshot stays held until the next time: more than needed, never less.
            needed.contains(txnid) || range_of(*txnid).and_then(|range| lock::unlock(&self.data, range)).is_err()
        });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Txnid>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnregisteredReader {
    fn drop(&mut self) {
        // A forked child may go on having the file open, and the locks would go on with it.
        if !self.guard.forked() {
            let _ = lock::unlock(&self.data, SNAPSHOTS..SNAPSHOTS << 1);
        }
    }
}

/// The snapshots up to `newest` that other handles hold by locks on the data file, ascending, each once. `None`: that cannot be
/// told, since a program has a shared lock on all of the file, for a purpose of its own.
pub(crate) fn unregistered(data: &File, newest: Txnid) -> Result<Option<Vec<Txnid>>> {
    let mut live = Vec::new();
    #[expect(clippy::single_range_in_vec_init, reason = "a list of ranges is what is meant")]
    let mut unknown = vec![SNAPSHOTS..range_of(newest)?.end];
    // The kernel names some lock in the range, not the first one, and merges neighbouring ones.
    while let Some(range) = unknown.pop() {
        if range.is_empty() {
            continue;
        }
        let Some((found, kind)) = lock::conflict(data, range.clone())? else { continue };
        let within = found.start.max(range.start)..found.end.min(range.end);
        match kind {
            // Not a reader's, nor is there one in it: nobody has a shared lock where there is an exclusive one.
            Kind::Exclusive => {}
            Kind::Shared if found.start < SNAPSHOTS || found.end - found.start > HELD_MAX as u64 => return Ok(None),
            Kind::Shared => live.extend(within.clone().map(|at| Txnid(at - SNAPSHOTS))),
        }
        unknown.push(range.start..within.start);
        unknown.push(within.end..range.end);
    }
    live.sort_unstable();
    live.dedup();
    Ok(Some(live))
}

fn range_of(txnid: Txnid) -> Result<Range<u64>> {
    if txnid.0 >= SNAPSHOTS {
        return Err(Error::Usage { what: "the transaction number is beyond all bounds" });
    }
    Ok(super::byte(SNAPSHOTS + txnid.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::fork::in_forked_child;
    use proptest::prelude::*;
    use std::fs::OpenOptions;

    fn read_only(path: &std::path::Path) -> Arc<File> {
        Arc::new(OpenOptions::new().read(true).open(path).unwrap())
    }

    fn txnids(numbers: &[u64]) -> Vec<Txnid> {
        numbers.iter().copied().map(Txnid).collect()
    }

    #[test]
    fn a_read_only_handle_holds_snapshots_that_a_writer_sees() {
        let temporary = tempfile::NamedTempFile::new().unwrap();
        let reader = UnregisteredReader::new(read_only(temporary.path()));
        for txnid in [5, 6, 6, 9] {
            reader.hold(Txnid(txnid)).unwrap();
        }
        let seen = || unregistered(temporary.as_file(), Txnid(100)).unwrap().unwrap();
        assert_eq!(seen(), txnids(&[5, 6, 9]));
        reader.keep_only(&txnids(&[4, 5, 9]));
        assert_eq!(seen(), txnids(&[5, 9]));
        drop(reader);
        assert_eq!(seen(), []);
    }

    #[test]
    fn readers_cannot_be_told_where_another_program_has_a_shared_lock_on_everything() {
        let temporary = tempfile::NamedTempFile::new().unwrap();
        let (data, reader) = (temporary.as_file(), UnregisteredReader::new(read_only(temporary.path())));
        reader.hold(Txnid(7)).unwrap();
        let other = read_only(temporary.path());
        for everything in [0..i64::MAX as u64, SNAPSHOTS..SNAPSHOTS << 1] {
            assert!(lock::try_lock(&other, everything, Kind::Shared).unwrap());
            assert_eq!(unregistered(data, Txnid(9)).unwrap(), None);
            assert_eq!(unregistered(data, Txnid(u64::MAX >> 4)).unwrap(), None);
            lock::unlock(&other, 0..i64::MAX as u64).unwrap();
        }
        assert_eq!(unregistered(data, Txnid(9)).unwrap(), Some(txnids(&[7])));
        assert!(unregistered(data, Txnid(u64::MAX)).is_err());
    }

    #[test]
    fn nobody_reads_where_another_program_has_an_exclusive_lock() {
        let temporary = tempfile::NamedTempFile::new().unwrap();
        let other = OpenOptions::new().read(true).write(true).open(temporary.path()).unwrap();
        assert!(lock::try_lock(&other, 0..i64::MAX as u64, Kind::Exclusive).unwrap());
        assert_eq!(unregistered(temporary.as_file(), Txnid(9)).unwrap(), Some(Vec::new()));
        assert!(UnregisteredReader::new(read_only(temporary.path())).hold(Txnid(7)).is_err());
    }

    #[test]
    fn what_a_forked_child_does_takes_nothing_from_its_parent() {
        let temporary = tempfile::NamedTempFile::new().unwrap();
        let mut reader = Some(UnregisteredReader::new(read_only(temporary.path())));
        reader.as_ref().unwrap().hold(Txnid(5)).unwrap();
        assert!(in_forked_child(|| {
            let inherited = reader.take().unwrap();
            inherited.keep_only(&[]);
            matches!(inherited.hold(Txnid(6)), Err(Error::Forked))
        }));
        assert_eq!(unregistered(temporary.as_file(), Txnid(9)).unwrap(), Some(txnids(&[5])));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_writer_sees_exactly_what_is_held(holds in prop::collection::vec((0usize..4, 0u64..40, any::<bool>()), 0..60)) {
            let temporary = tempfile::NamedTempFile::new().unwrap();
            let readers: Vec<_> = (0..4).map(|_| UnregisteredReader::new(read_only(temporary.path()))).collect();
            let mut model: [BTreeSet<Txnid>; 4] = Default::default();
            for (who, txnid, hold) in holds {
                if hold {
                    readers[who].hold(Txnid(txnid)).unwrap();
                    model[who].insert(Txnid(txnid));
                } else {
                    model[who].retain(|held| held.0 < txnid);
                    readers[who].keep_only(&model[who].iter().copied().collect::<Vec<_>>());
                }
            }
            let expected: Vec<_> = model.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect();
            prop_assert_eq!(unregistered(temporary.as_file(), Txnid(1000)).unwrap(), Some(expected));
        }
    }
}
