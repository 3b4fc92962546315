//! How a reader takes hold of the newest snapshot, and how a writer learns which snapshots are held.
//!
//! Owns: the order of the loads and stores, and the argument why it is right. Must not know: where the words lie.
//!
//! Two words matter: `newest`, the txnid published last, and a reader's *slot*, which holds 0 or txnid + 1.
//! - A reader writes the txnid it saw into its slot, then looks at `newest` again. Only if that has not changed does
//!   the reader hold the snapshot; else it writes the newer one into its slot and looks again.
//! - A writer publishes `n`, then scans the slots. What was freed up to `n` and no scanned snapshot needs, it reuses.
//!
//! Why no reader is missed: these four accesses are sequentially consistent. If a scan after publishing `n` does not
//! see the slot of a reader of `s < n`, it came before the reader's store; so the reader's second look came after
//! `newest` became `n`, saw that, and did not settle on `s`. The same holds for slots in blocks appended meanwhile: the
//! number of blocks is stored before the slot is, and the scan loads it after publishing.
//!
//! Why reuse does not overtake a reader that ends: its slot's 0 is stored with release, and scanned with acquire.

use crate::ids::Txnid;
use crate::sync::{Ordering, Word};

/// A slot nobody uses.
pub(crate) const FREE: u64 = 0;

/// What a slot holds for a reader of `txnid`; also what a record of the ring begins with.
#[inline]
pub(crate) fn mark(txnid: Txnid) -> u64 {
    txnid.0.wrapping_add(1)
}

/// The reader's txnid in a slot, or nothing in a free one.
#[inline]
pub(crate) fn marked(word: u64) -> Option<Txnid> {
    word.checked_sub(1).map(Txnid)
}

/// Makes `txnid` the newest: every reader that begins after this sees it, every scan after this sees who does not.
#[inline]
pub(crate) fn publish<W: Word>(newest: &W, txnid: Txnid) {
    newest.store(txnid.0, Ordering::SeqCst);
}

/// Takes a free slot for what looks like the newest snapshot. Not yet a hold: see [`settle`].
#[inline]
pub(crate) fn claim<W: Word>(slot: &W, newest: &W) -> Option<Txnid> {
    // A look first: a failing exchange would take the line away from its owner.
    if slot.load(Ordering::Relaxed) != FREE {
        return None;
    }
    let seen = Txnid(newest.load(Ordering::Acquire));
    slot.replace(FREE, mark(seen), Ordering::SeqCst).then_some(seen)
}

/// Moves a claimed slot forward until it holds the newest snapshot, and returns that: from now on it is held.
#[inline]
pub(crate) fn settle<W: Word>(slot: &W, newest: &W, claimed: Txnid) -> Txnid {
    let mut held = claimed;
    loop {
        let now = Txnid(newest.load(Ordering::SeqCst));
        if now == held {
            return held;
        }
        slot.store(mark(now), Ordering::SeqCst);
        held = now;
    }
}

/// Frees a slot.
#[inline]
pub(crate) fn release<W: Word>(slot: &W) {
    slot.store(FREE, Ordering::Release);
}

/// The snapshot that a slot holds, as a scan sees it.
#[inline]
pub(crate) fn scan<W: Word>(slot: &W) -> Option<Txnid> {
    marked(slot.load(Ordering::SeqCst))
}

/// What was published with a txnid: read without a lock, written by the writer alone.
///
/// The first word is the txnid's mark before, and still after, the others were copied; else the copy is void.
#[repr(C, align(128))]
pub(crate) struct Record<W, const WORDS: usize> {
    mark: W,
    words: [W; WORDS],
}

impl<W: Word, const WORDS: usize> Record<W, WORDS> {
    /// Replaces the record. Where it is the one of this txnid already and one word of it alone is another now, that word is
    /// replaced under the eyes of readers, who get one or the other: so a writer that is stopped or killed meanwhile leaves
    /// the newest commit's record whole.
    pub(crate) fn write(&self, txnid: Txnid, words: &[u64; WORDS]) {
        if self.mark.load(Ordering::Relaxed) == mark(txnid) {
            let mut others = self.words.iter().zip(words).filter(|(to, from)| to.load(Ordering::Relaxed) != **from);
            match (others.next(), others.next()) {
                (None, _) => return,
                (Some((to, from)), None) => return to.store(*from, Ordering::Release),
                _ => {}
            }
        }
        self.mark.store(FREE, Ordering::Relaxed);
        W::fence(Ordering::Release);
        for (to, from) in self.words.iter().zip(words) {
            to.store(*from, Ordering::Relaxed);
        }
        self.mark.store(mark(txnid), Ordering::Release);
    }

    /// The record's words, if it is the one of `txnid` and was not replaced while being copied.
    #[inline]
    pub(crate) fn read(&self, txnid: Txnid) -> Option<[u64; WORDS]> {
        let wanted = mark(txnid);
        if wanted == FREE || self.mark.load(Ordering::Acquire) != wanted {
            return None;
        }
        let mut words = [0; WORDS];
        for (to, from) in words.iter_mut().zip(&self.words) {
            *to = from.load(Ordering::Relaxed);
        }
        W::fence(Ordering::Acquire);
        (self.mark.load(Ordering::Relaxed) == wanted).then_some(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::AtomicU64;

    fn record() -> Record<AtomicU64, 3> {
        Record { mark: AtomicU64::new(0), words: Default::default() }
    }

    #[test]
    fn a_reader_settles_on_what_was_published_between_its_two_looks() {
        let (slot, newest) = (AtomicU64::new(FREE), AtomicU64::new(4));
        let claimed = claim(&slot, &newest).unwrap();
        assert_eq!((claimed, scan(&slot)), (Txnid(4), Some(Txnid(4))));
        publish(&newest, Txnid(5));
        assert_eq!(settle(&slot, &newest, claimed), Txnid(5));
        assert_eq!(scan(&slot), Some(Txnid(5)));
        release(&slot);
        assert_eq!(scan(&slot), None);
    }

    #[test]
    fn a_taken_slot_is_not_claimed() {
        let (slot, newest) = (AtomicU64::new(FREE), AtomicU64::new(0));
        assert_eq!(claim(&slot, &newest), Some(Txnid(0)));
        assert_eq!(claim(&slot, &newest), None);
    }

    #[test]
    fn a_record_that_changes_in_one_word_is_there_all_the_time() {
        let record = record();
        record.write(Txnid(7), &[1, 2, 0]);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| (0..2_000_000).for_each(|word| record.write(Txnid(7), &[1, 2, word])));
            while !writer.is_finished() {
                let words = record.read(Txnid(7)).expect("a record");
                assert_eq!(words[..2], [1, 2]);
            }
        });
    }

    #[test]
    fn a_record_is_read_under_its_own_txnid_only() {
        let record = record();
        assert_eq!(record.read(Txnid(0)), None, "zeros are no record");
        assert_eq!(record.read(Txnid(u64::MAX)), None, "nor of the txnid whose mark is zero");
        record.write(Txnid(0), &[1, 2, 3]);
        assert_eq!(record.read(Txnid(0)), Some([1, 2, 3]));
        record.write(Txnid(64), &[4, 5, 6]);
        assert_eq!(record.read(Txnid(0)), None);
        assert_eq!(record.read(Txnid(64)), Some([4, 5, 6]));
    }
}

/// The protocol under every interleaving and every reordering that the memory model allows.
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicU64;
    use loom::thread;

    /// Page `s` is what snapshot `s` alone needs: commit `s + 1` frees it, and it is written anew once nobody holds
    /// `s`. Loom itself reports a write to a cell while another thread may be reading it.
    struct World {
        newest: AtomicU64,
        blocks: AtomicU64,
        slots: [AtomicU64; 2],
        pages: [UnsafeCell<()>; 2],
    }

    impl World {
        fn new(blocks: u64) -> Arc<World> {
            Arc::new(World {
                newest: AtomicU64::new(0),
                blocks: AtomicU64::new(blocks),
                slots: [AtomicU64::new(FREE), AtomicU64::new(FREE)],
                pages: [UnsafeCell::new(()), UnsafeCell::new(())],
            })
        }

        fn read_in(&self, slot: &AtomicU64) -> bool {
            let Some(claimed) = claim(slot, &self.newest) else { return false };
            let held = settle(slot, &self.newest, claimed);
            if let Some(page) = self.pages.get(held.0 as usize) {
                page.with(|_read| ());
            }
            release(slot);
            true
        }

        fn commit(&self, txnid: Txnid) {
            publish(&self.newest, txnid);
            let blocks = self.blocks.load(Ordering::SeqCst) as usize;
            let live: Vec<Txnid> = self.slots[..blocks].iter().filter_map(scan).collect();
            for freed in (0..txnid.0).filter(|&freed| !live.contains(&Txnid(freed))) {
                self.pages[freed as usize].with_mut(|_reused| ());
            }
        }
    }

    #[test]
    fn a_registered_reader_is_never_missed() {
        loom::model(|| {
            let world = World::new(1);
            let reader = thread::spawn({
                let world = world.clone();
                move || assert!(world.read_in(&world.slots[0]))
            });
            world.commit(Txnid(1));
            world.commit(Txnid(2));
            reader.join().unwrap();
        });
    }

    #[test]
    fn readers_that_share_slots_are_never_missed() {
        loom::model(|| {
            let world = World::new(2);
            let readers = [0, 1].map(|first| {
                let world = world.clone();
                thread::spawn(move || {
                    let _ = world.read_in(&world.slots[first]) || world.read_in(&world.slots[0]);
                })
            });
            world.commit(Txnid(1));
            for reader in readers {
                reader.join().unwrap();
            }
        });
    }

    #[test]
    fn two_readers_never_hold_one_slot() {
        loom::model(|| {
            let world = World::new(1);
            let claim_one = |world: &World| claim(&world.slots[0], &world.newest).is_some();
            let other = thread::spawn({
                let world = world.clone();
                move || claim_one(&world)
            });
            let here = claim_one(&world);
            assert!(here != other.join().unwrap());
        });
    }

    #[test]
    fn a_reader_in_a_block_appended_meanwhile_is_never_missed() {
        loom::model(|| {
            let world = World::new(1);
            let reader = thread::spawn({
                let world = world.clone();
                move || {
                    world.blocks.store(2, Ordering::SeqCst);
                    assert!(world.read_in(&world.slots[1]));
                }
            });
            world.commit(Txnid(1));
            reader.join().unwrap();
        });
    }

    #[test]
    fn a_record_is_never_read_torn() {
        loom::model(|| {
            let word = || AtomicU64::new(0);
            let record = Arc::new(Record { mark: word(), words: [word(), word()] });
            let newest = Arc::new(AtomicU64::new(0));
            record.write(Txnid(0), &[10, 11]);
            let reader = thread::spawn({
                let (record, newest) = (record.clone(), newest.clone());
                move || {
                    let seen = newest.load(Ordering::SeqCst);
                    if let Some(words) = record.read(Txnid(seen)) {
                        assert_eq!(words, [seen * 10 + 10, seen * 10 + 11]);
                    }
                }
            });
            record.write(Txnid(1), &[20, 21]);
            publish(&*newest, Txnid(1));
            reader.join().unwrap();
        });
    }
}
