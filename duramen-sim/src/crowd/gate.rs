//! The end of a process in the middle of its work.
//!
//! Owns: at which call to the disk it comes, and what is left of that call. Must not know: who kills, and what the calls are for.
//!
//! While the gate is shut no write is under way: of one that a kill interrupts, a recording would not tell whether it was made.
//! Flushes may be under way. What they came to matters to nobody.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;

use duramen::{Medium, MediumLayer, Options};

use crate::disk::SECTOR;

/// What a process passes with each call to the disk.
pub(super) struct Gate {
    /// Calls until the end.
    left: AtomicI64,
    way: Way,
    /// Held shared by writes.
    shut: RwLock<()>,
    /// Asks to be killed.
    ask: fn(),
}

/// What becomes of the last call.
#[derive(Clone, Copy)]
enum Way {
    /// It is not made.
    Before,
    /// The first half is made, of a write.
    Half,
    /// The end comes beside it, some time.
    Beside,
}

impl Gate {
    /// One that shuts after so many calls, and `ask`s to be killed then.
    pub(super) fn new(calls: u32, ask: fn()) -> Arc<Gate> {
        let way = [Way::Before, Way::Half, Way::Beside][calls as usize % 3];
        Arc::new(Gate { left: AtomicI64::new(i64::from(calls)), way, shut: RwLock::new(()), ask })
    }

    /// Options with which all calls to the disk pass here.
    pub(super) fn under(self: &Arc<Gate>, options: Options) -> Options {
        options.medium(self.layer()).log_medium(self.layer())
    }

    fn layer(self: &Arc<Gate>) -> MediumLayer {
        let gate = self.clone();
        Arc::new(move |below| Arc::new(Passing { gate: gate.clone(), below }))
    }

    /// Whether this call is the last, and how it ends.
    fn comes_to_an_end(&self) -> Option<Way> {
        (self.left.fetch_sub(1, Ordering::Relaxed) == 0).then_some(self.way)
    }

    fn end(&self) -> ! {
        let _shut = self.shut.write().unwrap_or_else(PoisonError::into_inner);
        (self.ask)();
        loop {
            thread::park();
        }
    }

    /// Makes a call, or comes to the end; `half` of it is made before that, if there is such a thing.
    fn pass<T>(
        self: &Arc<Gate>,
        half: impl FnOnce() -> io::Result<()>,
        call: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        match self.comes_to_an_end() {
            Some(Way::Before) => self.end(),
            Some(Way::Half) => {
                half()?;
                self.end()
            }
            Some(Way::Beside) => {
                let gate = self.clone();
                thread::spawn(move || gate.end());
                call()
            }
            None => call(),
        }
    }

    fn while_open<T>(&self, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let _open = self.shut.read().unwrap_or_else(PoisonError::into_inner);
        call()
    }
}

struct Passing {
    gate: Arc<Gate>,
    below: Arc<dyn Medium>,
}

impl Passing {
    fn write(&self, offset: u64, bytes: &[u8], call: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let half = &bytes[..bytes.len() / SECTOR / 2 * SECTOR];
        let write = || self.below.write_at(offset, &[IoSlice::new(half)]);
        let half = || if half.is_empty() { Ok(()) } else { self.gate.while_open(write) };
        self.gate.pass(half, || self.gate.while_open(call))
    }
}

impl Medium for Passing {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        let first = parts.first().map_or(&[][..], |part| part);
        self.write(offset, first, || self.below.write_at(offset, parts))
    }

    fn write_past_cache(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write(offset, &[], || self.below.write_past_cache(offset, bytes))
    }

    fn write_flushed(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write(offset, &[], || self.below.write_flushed(offset, bytes))
    }

    fn begin_flush(&self, bytes: Range<u64>) {
        self.below.begin_flush(bytes);
    }

    fn flush(&self) -> io::Result<()> {
        self.gate.pass(|| Ok(()), || self.below.flush())
    }

    fn len(&self) -> io::Result<u64> {
        self.below.len()
    }

    fn placed_from(&self, offset: u64) -> u64 {
        self.below.placed_from(offset)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.gate.pass(|| Ok(()), || self.gate.while_open(|| self.below.set_len(bytes)))
    }
}
