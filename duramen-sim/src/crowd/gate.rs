//! What a process passes with each call to the disk: a log that takes its time, and the end in the middle of the work.
//!
//! Owns: how long the log takes, at which call the end comes, and what is left of that call. Must not know: who kills, and what
//! the calls are for.
//!
//! While the gate is shut no write is under way: of one that a kill interrupts, a recording would not tell whether it was made.
//! Flushes may be under way. What they came to matters to nobody.

use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use duramen::{Medium, MediumLayer, Options};

use crate::disk::{Disk, SECTOR, Which};

/// What a process passes with each call to the disk.
pub(super) struct Gate {
    /// Calls until the end; below 0 there is none.
    left: AtomicI64,
    way: Way,
    /// How many changes' time the log takes, in sixteenths, and how long they have taken of late, in microseconds.
    slowness: u32,
    change_us: AtomicU64,
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
    /// One that shuts after so many calls, if it does, and `ask`s to be killed then.
    pub(super) fn new(calls: Option<u32>, slowness: u32, ask: fn()) -> Arc<Gate> {
        let way = [Way::Before, Way::Half, Way::Beside][calls.unwrap_or(0) as usize % 3];
        let left = AtomicI64::new(calls.map_or(-1, i64::from));
        Arc::new(Gate { left, way, slowness, change_us: AtomicU64::new(0), shut: RwLock::new(()), ask })
    }

    /// A change took so long.
    pub(super) fn saw_change(&self, time: Duration) {
        let last = self.change_us.load(Ordering::Relaxed);
        self.change_us.store((3 * last + time.as_micros() as u64) / 4, Ordering::Relaxed);
    }

    /// Lets the log take its time.
    fn take_time(&self) {
        let us = self.change_us.load(Ordering::Relaxed) * u64::from(self.slowness) / 16;
        if us > 0 {
            thread::sleep(Duration::from_micros(us));
        }
    }

    /// Options with which all calls pass here on their way to the disk.
    pub(super) fn under(self: &Arc<Gate>, options: Options, disk: &Arc<Disk>) -> Options {
        options.medium(self.layer(disk, Which::Data)).log_medium(self.layer(disk, Which::Log))
    }

    fn layer(self: &Arc<Gate>, disk: &Arc<Disk>, file: Which) -> MediumLayer {
        let gate = self.clone();
        let disk = disk.records().then(|| disk.layer(file));
        Arc::new(move |below| {
            let below = disk.as_ref().map_or_else(|| below.clone(), |disk| disk(below.clone()));
            Arc::new(Passing { gate: gate.clone(), file, below })
        })
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
    file: Which,
    below: Arc<dyn Medium>,
}

impl Passing {
    fn wait(&self) {
        if self.file == Which::Log {
            self.gate.take_time();
        }
    }

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
        self.write(offset, &[], || self.below.write_flushed(offset, bytes))?;
        self.wait();
        Ok(())
    }

    fn begin_flush(&self, bytes: Range<u64>) {
        self.below.begin_flush(bytes);
    }

    fn flush(&self) -> io::Result<()> {
        self.gate.pass(|| Ok(()), || self.below.flush())?;
        self.wait();
        Ok(())
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
