//! Which blocks of reader slots a handle owns; taking another; clearing those of the dead.
//!
//! Owns: the blocks' locks. Must not know: snapshots.
//!
//! Invariant: a block's lock is taken or dropped only under the mutex, and a block enters the list only while its lock
//! is held. The list can be read without the mutex.

use std::collections::BTreeSet;
use std::fs::File;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::memory::{BLOCK_SLOTS, Memory, Slot};
use super::{BLOCK_LOCKS, FAILED, GROWTH, byte, protocol};
use crate::error::Result;
use crate::os::lock::{self, Kind};

/// Chunk `k` has room for `2^k` blocks, so that the list grows without moving.
const CHUNKS: usize = 26;

/// The blocks owned by one handle.
pub(super) struct Blocks {
    own: Mutex<BTreeSet<u32>>,
    /// The same in the order in which they were taken.
    chunks: [OnceLock<Box<[AtomicU32]>>; CHUNKS],
    count: AtomicU32,
    /// How many of their slots were used by those who owned them before.
    used_before: AtomicU32,
}

impl Blocks {
    pub(super) fn new() -> Blocks {
        let [count, used_before] = [const { AtomicU32::new(0) }; 2];
        Blocks { own: Mutex::default(), chunks: [const { OnceLock::new() }; CHUNKS], count, used_before }
    }

    /// See [`Blocks::used_before`].
    pub(super) fn used_before(&self) -> u32 {
        self.used_before.load(Ordering::Relaxed)
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }

    /// The number of the `at`-th block taken, `at < count()`.
    pub(super) fn get(&self, at: u32) -> u32 {
        let (chunk, offset) = place(at);
        self.chunks[chunk].get().map_or(0, |chunk| chunk[offset].load(Ordering::Relaxed))
    }

    /// Takes one more block, unless another thread has done so since there were `seen`: one whose owner is gone, or a
    /// new one.
    pub(super) fn take_another(&self, memory: &Memory, seen: u32) -> Result<()> {
        let mut own = self.lock();
        if self.count() != seen {
            return Ok(());
        }
        let number = match memory.file() {
            Some(file) => match adopt(memory, file, &own)? {
                Some(number) => number,
                None => append(memory, file)?,
            },
            None => {
                let number = memory.append_block()?;
                memory.count_block(number);
                number
            }
        };
        clear(memory, number);
        self.used_before.fetch_add(used(memory.block(number)), Ordering::Relaxed);
        let pid = u64::from(std::process::id());
        for slot in memory.block(number).into_iter().flatten() {
            slot.pid.store(pid, Ordering::Relaxed);
        }
        own.insert(number);
        let (chunk, offset) = place(seen);
        let chunk = self.chunks[chunk].get_or_init(|| (0..1usize << chunk).map(|_| AtomicU32::new(0)).collect());
        chunk[offset].store(number, Ordering::Relaxed);
        self.count.store(seen + 1, Ordering::Release);
        Ok(())
    }

    /// Clears a block if its owner is gone. Returns how many slots were in use.
    ///
    /// Testing the lock first and then clearing would not do: someone may adopt the block in between. And where the
    /// kernel gives no answer, its owner counts as alive.
    pub(super) fn clear_if_dead(&self, memory: &Memory, number: u32) -> usize {
        let own = self.lock();
        let Some(file) = memory.file() else { return 0 };
        let range = byte(BLOCK_LOCKS + u64::from(number));
        if own.contains(&number) || !lock::try_lock(file, range.clone(), Kind::Exclusive).unwrap_or(false) {
            return 0;
        }
        let cleared = clear(memory, number);
        // Were it to fail, the block would stay with this handle, unused, until that closes.
        let _ = lock::unlock(file, range);
        cleared
    }

    /// Clears the blocks of those who died while they flushed, which puts that in doubt.
    pub(super) fn clear_dead_who_flushed(&self, memory: &Memory) -> Result<()> {
        for number in 0..memory.blocks()? {
            if flushes_of(memory, number).is_some_and(|flushes| flushes.load(Ordering::Acquire) > 0) {
                self.clear_if_dead(memory, number);
            }
        }
        Ok(())
    }

    /// Whether the handle owns the block.
    pub(super) fn is_own(&self, number: u32) -> bool {
        self.lock().contains(&number)
    }

    /// Clears all of the handle's own slots, at its end.
    pub(super) fn clear_own(&self, memory: &Memory) {
        for &number in self.lock().iter() {
            clear(memory, number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks the first block that has no owner.
fn adopt(memory: &Memory, file: &File, own: &BTreeSet<u32>) -> Result<Option<u32>> {
    for number in (0..memory.blocks()?).filter(|number| !own.contains(number)) {
        if lock::try_lock(file, byte(BLOCK_LOCKS + u64::from(number)), Kind::Exclusive)? {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

/// Makes and locks a block. It is locked before anyone can see it.
fn append(memory: &Memory, file: &File) -> Result<u32> {
    lock::lock(file, GROWTH, Kind::Exclusive)?;
    let appended = memory.append_block().and_then(|number| {
        lock::lock(file, byte(BLOCK_LOCKS + u64::from(number)), Kind::Exclusive)?;
        memory.count_block(number);
        Ok(number)
    });
    lock::unlock(file, GROWTH)?;
    appended
}

/// How many of a block's slots somebody has read in.
pub(super) fn used(block: Option<&[Slot; BLOCK_SLOTS as usize]>) -> u32 {
    let used = block.into_iter().flatten().map(|slot| slot.since.load(Ordering::Relaxed) != 0);
    used.map(u32::from).sum()
}

/// Where the owner of a block counts its flushes.
pub(super) fn flushes_of(memory: &Memory, number: u32) -> Option<&AtomicU64> {
    memory.block(number).map(|slots| &slots[0].flushes)
}

fn clear(memory: &Memory, number: u32) -> usize {
    if let Some(flushes) = flushes_of(memory, number).filter(|flushes| flushes.load(Ordering::Acquire) > 0) {
        let doubt = &memory.header().doubt.word;
        // In this order: who is killed in between leaves the doubt. They are counted there already.
        doubt.fetch_or(FAILED, Ordering::AcqRel);
        doubt.fetch_sub(flushes.swap(0, Ordering::AcqRel), Ordering::AcqRel);
    }
    let slots = memory.block(number).into_iter().flatten();
    let used = slots.filter(|slot| protocol::scan(&slot.mark).is_some());
    used.map(|slot| protocol::release(&slot.mark)).count()
}

/// Chunk, and offset in it, of the `at`-th block.
fn place(at: u32) -> (usize, usize) {
    let chunk = (at + 1).ilog2();
    (chunk as usize, (at + 1 - (1 << chunk)) as usize)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    /// Whoever is killed at any moment of it leaves the count of the dead, or the doubt.
    #[test]
    fn a_dead_flushers_count_is_not_cleared_before_there_is_doubt() {
        let memory = Memory::private().unwrap();
        let number = memory.append_block().unwrap();
        memory.count_block(number);
        let (doubt, flushes) = (&memory.header().doubt.word, flushes_of(&memory, number).unwrap());
        // Odd while it is being cleared.
        let (round, done) = (&AtomicU64::new(0), &AtomicBool::new(false));
        thread::scope(|threads| {
            let is_forgotten = || {
                let begun = round.load(Ordering::SeqCst);
                let forgotten = flushes.load(Ordering::SeqCst) == 0 && doubt.load(Ordering::SeqCst) < FAILED;
                forgotten && begun % 2 == 1 && round.load(Ordering::SeqCst) == begun
            };
            let forgotten = threads.spawn(move || {
                let looks = std::iter::repeat_with(is_forgotten).take_while(|_| !done.load(Ordering::SeqCst));
                looks.filter(|forgotten| *forgotten).count()
            });
            for _ in 0..300_000 {
                flushes.store(1, Ordering::SeqCst);
                doubt.store(1, Ordering::SeqCst);
                round.fetch_add(1, Ordering::SeqCst);
                clear(&memory, number);
                round.fetch_add(1, Ordering::SeqCst);
                assert_eq!((flushes.load(Ordering::SeqCst), doubt.load(Ordering::SeqCst)), (0, FAILED));
            }
            done.store(true, Ordering::SeqCst);
            assert_eq!(forgotten.join().unwrap(), 0);
        });
    }

    #[test]
    fn the_list_has_a_place_for_every_block_and_no_place_twice() {
        let mut expected = (0..8usize).flat_map(|chunk| (0..1usize << chunk).map(move |offset| (chunk, offset)));
        for at in 0..255 {
            assert_eq!(Some(place(at)), expected.next());
        }
        assert!(place(u32::MAX / 64 - 1).0 < CHUNKS);
    }

    #[test]
    fn blocks_are_listed_in_the_order_in_which_they_were_taken() {
        let memory = Memory::private().unwrap();
        let blocks = Blocks::new();
        for seen in 0..20 {
            blocks.take_another(&memory, seen).unwrap();
            blocks.take_another(&memory, seen).unwrap();
            assert_eq!(blocks.count(), seen + 1);
        }
        assert_eq!((0..20).map(|at| blocks.get(at)).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    }
}
