//! What the engine asks of a disk.
//!
//! Owns: the [`Medium`] trait. Must not know: pages, transactions.
//!
//! Reading goes through the memory map; a medium is only written to. The crash simulator and the fault tests stand
//! their own medium between the engine and the file.

use std::io;
use std::ops::Range;

/// Told, on any thread, whether a flush went well.
pub type OnFlushed = Box<dyn FnOnce(bool) + Send>;

/// The writing half of a data file. All methods may be called from any thread; writes come from one writer at a time.
#[allow(clippy::len_without_is_empty, reason = "it is a file's length, and nobody asks whether that is 0")]
pub trait Medium: Send + Sync {
    /// Writes all of `parts`, one after the other, from `offset` on. The file grows if it must.
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()>;

    /// As [`Medium::write_at`], for many whole pages that nobody is about to read: past the page cache, where that can be.
    fn write_past_cache(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, &[io::IoSlice::new(bytes)])
    }

    /// As [`Medium::write_at`], and makes these bytes survive a power cut. What was written before and not flushed still
    /// waits for a flush.
    fn write_flushed(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(offset, &[io::IoSlice::new(bytes)])?;
        self.flush()
    }

    /// Begins what [`Medium::write_flushed`] does, and returns before it is done. [`Medium::end_write_flushed`] waits for it;
    /// until then nothing else is begun. False if it was not begun: then that has to be called instead.
    fn begin_write_flushed(&self, _offset: u64, _bytes: &[u8]) -> bool {
        false
    }

    /// Waits for what [`Medium::begin_write_flushed`] has begun, and says what came of it.
    fn end_write_flushed(&self) -> io::Result<()> {
        Ok(())
    }

    /// Says that these bytes were written and will be flushed soon, so that the disk may begin. It promises nothing;
    /// what fails shows in the flush.
    fn begin_flush(&self, _bytes: Range<u64>) {}

    /// Begins what [`Medium::flush`] does, and returns before it is done; `over` is given back if it was not begun, and else
    /// called when it is. [`Medium::take_flush_beside`] then says what came of it; until it has, none is begun.
    fn begin_flush_beside(&self, over: OnFlushed) -> Result<(), OnFlushed> {
        Err(over)
    }

    /// What came of the flush that [`Medium::begin_flush_beside`] has begun, once it is over; to `wait` for that has to be asked
    /// for. None while it is under way, and where none was begun.
    fn take_flush_beside(&self, _wait: bool) -> Option<io::Result<()>> {
        None
    }

    /// Makes every write that returned before this call survive a power cut, and the file's length with it. Fails after any
    /// flush that failed, and waits for one that is under way: the system may tell that one alone of what it could not write.
    fn flush(&self) -> io::Result<()>;

    /// The file's length in bytes.
    fn len(&self) -> io::Result<u64>;

    /// Where the first bytes from `offset` on are that have a place on the disk already, so that writing over them takes
    /// none: what the file was extended by has none yet. The end of all bytes if there are none.
    fn placed_from(&self, offset: u64) -> u64 {
        offset
    }

    /// Cuts off or extends the file.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
}
