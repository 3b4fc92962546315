//! Writing alone without asking the kernel.
//!
//! Owns: how the writers of several handles shut each other out. Must not know: what a writer does, or the threads of
//! a handle: only one of them comes here at a time.
//!
//! The kernel's lock `WRITER` is the rule. Taking and dropping it are two system calls, most of what a small
//! transaction costs besides its writing, and a handle that writes alone asks in vain. So after some transactions in
//! a row it is *favoured*: the others know its number, and it enters by two words of shared memory.
//! - Who is favoured writes its number to `inside` if nobody's stands there, then looks whether `favoured` is still its
//!   own. Only then does it write. Else it takes its number back, and goes the way of all others.
//! - All others take `WRITER`, write 0 to `favoured`, then wait until `inside` is 0.
//!
//! Why two never write at once: these four accesses are sequentially consistent. If the favoured handle still sees its
//! number in `favoured`, then the other's 0 came later, and its look at `inside` later still: it sees the favoured one
//! inside. Handles become favoured while they hold `WRITER`, and are so from their next transaction on.
//!
//! A favoured handle holds a lock on the byte of its number for as long as it lives, which nobody waits for. Whoever
//! can take it knows that the handle is dead, and clears `inside` for it. Numbers are never used twice.

use std::fs::File;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::memory::Header;
use super::turn::{self, Pause, Wait};
use super::{WRITER, byte};
use crate::error::{Error, Result};
use crate::os::lock::{self, Kind};
use crate::sync::{AtomicU64, Ordering, Word};

/// The lock of number 0; the others follow.
const NUMBERS: u64 = 1 << 42;
/// More transactions than a handle has in its life, and few enough for a byte's offset.
const NUMBER_MAX: u64 = NUMBERS - 1;
const NOBODY: u64 = 0;

/// Transactions that a handle writes by the kernel's lock, without another one's between, before it is favoured.
const IN_A_ROW: u64 = 8;

/// Whether a handle is favoured, as far as it knows. Only who has the handle's turn to write touches this.
#[derive(Default)]
pub(super) struct Favour {
    number: AtomicU64,
    /// How often the kernel's lock had been taken, by whomever, when this handle took it last,
    taken: AtomicU64,
    /// and how often it had taken it then with nobody else between.
    in_a_row: AtomicU64,
    /// How often it found that somebody else may have been the writer in between.
    strangers: AtomicU64,
}

impl Favour {
    /// Shuts out the writers of all other handles, or [`Error::Busy`] if that takes longer than allowed.
    #[inline]
    pub(super) fn enter(&self, file: &File, header: &Header, wait: Wait) -> Result<()> {
        let number = self.number.load(Ordering::Relaxed);
        if number != NOBODY && enter(&header.favoured.word, &header.inside.word, number) {
            return Ok(());
        }
        self.enter_by_lock(file, header, wait)
    }

    /// See [`super::Shared::strangers`].
    pub(super) fn strangers(&self) -> u64 {
        self.strangers.load(Ordering::Relaxed)
    }

    /// Lets other writers in.
    #[inline]
    pub(super) fn leave(&self, file: &File, header: &Header) -> Result<()> {
        let number = self.number.load(Ordering::Relaxed);
        if number != NOBODY && header.inside.word.load(Ordering::Relaxed) == number {
            leave(&header.inside.word);
            return Ok(());
        }
        lock::unlock(file, WRITER)
    }

    #[cold]
    fn enter_by_lock(&self, file: &File, header: &Header, wait: Wait) -> Result<()> {
        let started = Instant::now();
        turn::lock_within(file, WRITER, wait)?;
        let was_favoured = disfavour(&header.favoured.word);
        let left = match wait {
            Wait::For(limit) => Wait::For(limit.saturating_sub(started.elapsed())),
            other => other,
        };
        if let Err(error) = wait_outside(file, &header.inside.word, left) {
            lock::unlock(file, WRITER)?;
            return Err(error);
        }
        self.note_taken(file, header, was_favoured);
        Ok(())
    }

    /// Notes that this handle has the kernel's lock, and whether it should not need it the next time.
    fn note_taken(&self, file: &File, header: &Header, was_favoured: bool) {
        let before = header.taken.word.fetch_add(1, Ordering::Relaxed);
        let last = self.taken.swap(before.wrapping_add(1), Ordering::Relaxed);
        if last != before || was_favoured {
            self.strangers.fetch_add(1, Ordering::Relaxed);
            self.in_a_row.store(0, Ordering::Relaxed);
            return;
        }
        if self.in_a_row.fetch_add(1, Ordering::Relaxed) < IN_A_ROW {
            return;
        }
        if self.number.load(Ordering::Relaxed) == NOBODY {
            // Whoever is refused goes on by the kernel's lock, which it has. In a damaged lock file any number may stand.
            let Some(number) = before.checked_add(1).filter(|number| *number <= NUMBER_MAX) else { return };
            if !lock::try_lock(file, lock_of(number), Kind::Exclusive).unwrap_or(false) {
                return;
            }
            self.number.store(number, Ordering::Relaxed);
        }
        header.favoured.word.store(self.number.load(Ordering::Relaxed), Ordering::SeqCst);
    }
}

/// Waits until no favoured handle writes, for who holds `WRITER` and has taken the favour away.
fn wait_outside(file: &File, inside: &AtomicU64, wait: Wait) -> Result<()> {
    let limit = match wait {
        Wait::Forever => Duration::MAX,
        Wait::No => Duration::ZERO,
        Wait::For(limit) => limit,
    };
    let started = Instant::now();
    let mut pause = Pause::new();
    loop {
        let writer = inside.load(Ordering::SeqCst);
        if writer == NOBODY {
            return Ok(());
        }
        if is_dead(file, writer)? {
            inside.replace(writer, NOBODY, Ordering::AcqRel);
            continue;
        }
        let waited = started.elapsed();
        if waited >= limit {
            return Err(Error::Busy);
        }
        pause.wait_at_most(limit - waited);
    }
}

fn is_dead(file: &File, number: u64) -> Result<bool> {
    let dead = lock::try_lock(file, lock_of(number), Kind::Exclusive)?;
    if dead {
        lock::unlock(file, lock_of(number))?;
    }
    Ok(dead)
}

fn lock_of(number: u64) -> Range<u64> {
    byte(NUMBERS + (number & NUMBER_MAX))
}

/// Enters without a lock, if `number` is still favoured.
#[inline]
fn enter<W: Word>(favoured: &W, inside: &W, number: u64) -> bool {
    // Somebody else's number: another one has become favoured, and this one has just not seen it yet, or died.
    if !inside.replace(NOBODY, number, Ordering::SeqCst) {
        return false;
    }
    if favoured.load(Ordering::SeqCst) == number {
        return true;
    }
    leave(inside);
    false
}

#[inline]
fn leave<W: Word>(inside: &W) {
    inside.store(NOBODY, Ordering::Release);
}

/// From now on nobody enters without the lock. Whether anybody could.
fn disfavour<W: Word>(favoured: &W) -> bool {
    let was_favoured = favoured.load(Ordering::SeqCst) != NOBODY;
    if was_favoured {
        favoured.store(NOBODY, Ordering::SeqCst);
    }
    was_favoured
}

/// The protocol under every interleaving and every reordering that the memory model allows.
#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::atomic::AtomicU64;
    use loom::sync::{Arc, Mutex};
    use loom::thread;

    /// The database is a cell: loom itself reports two who write it at once.
    struct World {
        kernel: Mutex<()>,
        favoured: AtomicU64,
        inside: AtomicU64,
        database: UnsafeCell<()>,
        written: AtomicU64,
    }

    impl World {
        fn new(favoured: u64) -> Arc<World> {
            Arc::new(World {
                kernel: Mutex::new(()),
                favoured: AtomicU64::new(favoured),
                inside: AtomicU64::new(NOBODY),
                database: UnsafeCell::new(()),
                written: AtomicU64::new(0),
            })
        }

        fn write(&self) {
            self.database.with_mut(|_written| ());
            // Not in one step: a writer that does not see the one before loses its count.
            self.written.store(self.written() + 1, Ordering::Relaxed);
        }

        /// Whether it was done without the lock.
        fn write_favoured(&self, number: u64) -> bool {
            let entered = enter(&self.favoured, &self.inside, number);
            if entered {
                self.write();
                leave(&self.inside);
            }
            entered
        }

        fn write_by_lock(&self, becomes: u64) {
            let _locked = self.kernel.lock().unwrap();
            disfavour(&self.favoured);
            while Word::load(&self.inside, Ordering::SeqCst) != NOBODY {
                thread::yield_now();
            }
            self.write();
            if becomes != NOBODY {
                Word::store(&self.favoured, becomes, Ordering::SeqCst);
            }
        }

        fn written(&self) -> u64 {
            self.written.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn the_favoured_and_who_has_the_lock_never_write_at_once() {
        loom::model(|| {
            let world = World::new(1);
            let other = thread::spawn({
                let world = world.clone();
                move || world.write_by_lock(NOBODY)
            });
            if !world.write_favoured(1) {
                world.write_by_lock(NOBODY);
            }
            other.join().unwrap();
            assert_eq!(world.written(), 2);
            assert!(!world.write_favoured(1));
        });
    }

    #[test]
    fn who_was_favoured_and_who_is_never_write_at_once() {
        loom::model(|| {
            let world = World::new(1);
            let other = thread::spawn({
                let world = world.clone();
                move || {
                    world.write_by_lock(2);
                    1 + u64::from(world.write_favoured(2))
                }
            });
            let here = u64::from(world.write_favoured(1));
            assert_eq!(other.join().unwrap() + here, world.written());
        });
    }
}
