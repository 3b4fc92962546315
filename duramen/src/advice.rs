//! Asking the operating system for pages of the file before they are touched.
//!
//! Owns: whether memory is too small for the file, and whether asking has paid lately. Must not know: what is in pages,
//! why they are wanted.
//!
//! A file that fits into memory is best left to the kernel, which reads around every page that is missing. Where it does
//! not fit (memory is *tight*), reading around drives out pages that are needed; so the map is then told to expect
//! random accesses, and whoever knows which pages come next asks for them, many at a time: a disk that is asked for
//! sixty-four pages gives them in little more time than it takes for five, one after the other.
//!
//! To ask for a page that is in memory is a system call for nothing. So every answer is noted: after several that caused
//! no reading, asking does not *pay*, until somebody finds that this thread has waited for the disk.
//!
//! Nothing here can fail: a refusal costs time only.

use std::fs::File;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rustix::fs::{Advice as Hint, fadvise};

use crate::ids::Extent;
use crate::os::memory;

/// Files shorter than this are taken to fit.
const SMALL_BYTES: u64 = 16 << 20;

/// A walk asks for so much at a time at least, enough to keep a disk busy, and at most; between them it is a small part
/// of the memory.
const WINDOW_BYTES: (u64, u64) = (1 << 20, 4 << 20);

/// Asked for at most, unless memory is known to be larger: what is read ahead must still be there when it is touched.
const ASKED_BYTES: u64 = 8 << 20;

/// Answers without any reading after which asking is given up for a while.
const PATIENCE: u32 = 8;

/// The same where this process has not read any of what is asked for: to wait for one such value, page by page, takes as
/// long as to ask for some hundreds that are there.
const PATIENCE_WITH_UNREAD: u32 = 512;

/// One page read pays for so many asked for: reading one page alone takes forty microseconds and more, asking for one
/// that is there less than one.
const WORTH: u64 = 32;

/// While asking does not pay, one look at the thread's reads for so many pages.
const WATCHED_PAGES: u64 = 1024;

/// After so many values in a row that were found in memory
const THERE: u32 = 16;
/// so many that come next are taken to be there too, before one is asked about again.
const TAKEN: u32 = 64;

/// See the module's head.
pub(crate) struct Advice {
    file: Arc<File>,
    page_shift: u32,
    /// What the user says there is for the file.
    given: Option<u64>,
    tight: AtomicBool,
    /// The length of the file at which to look again,
    look_at: AtomicU64,
    /// and that which it had then; 0 if nobody has looked.
    looked_at: AtomicU64,
    asked_max: AtomicU64,
    window: AtomicU64,
    pages: Patience,
    runs: Patience,
    unread: Patience,
    values: Confidence,
    passed: AtomicU64,
}

impl Advice {
    /// Advice on a file; `memory` is what there is for it, if that is known better than by looking.
    pub(crate) fn new(file: Arc<File>, page_size: usize, memory: Option<u64>) -> Advice {
        Advice {
            file,
            page_shift: page_size.trailing_zeros(),
            given: memory,
            tight: AtomicBool::new(false),
            look_at: AtomicU64::new(if memory.is_some() { 0 } else { SMALL_BYTES }),
            looked_at: AtomicU64::new(0),
            asked_max: AtomicU64::new(ASKED_BYTES),
            window: AtomicU64::new(WINDOW_BYTES.0),
            pages: Patience::new(PATIENCE),
            runs: Patience::new(PATIENCE),
            unread: Patience::new(PATIENCE_WITH_UNREAD),
            values: Confidence(AtomicU32::new(0)),
            passed: AtomicU64::new(0),
        }
    }

    /// Says how long the file is now. Whether memory is tight, if that was looked at: at first, and when the file has
    /// grown by a quarter.
    #[inline]
    pub(crate) fn file_has(&self, bytes: u64) -> Option<bool> {
        if bytes < self.look_at.load(Ordering::Relaxed) { None } else { Some(self.look(bytes)) }
    }

    /// Looks whether other programs have taken memory since the last look, or given it back. Whether memory is tight, if that is
    /// otherwise now.
    pub(crate) fn look_again(&self) -> Option<bool> {
        let bytes = self.looked_at.load(Ordering::Relaxed);
        if bytes == 0 || self.given.is_some() {
            return None;
        }
        let before = self.is_tight();
        Some(self.look(bytes)).filter(|&tight| tight != before)
    }

    #[cold]
    fn look(&self, bytes: u64) -> bool {
        let memory = self.given.unwrap_or_else(memory::for_files);
        // The rest is for everything else that wants to be in memory.
        let tight = bytes > memory / 2;
        self.look_at.store(bytes.saturating_add(bytes / 4).max(1), Ordering::Relaxed);
        self.looked_at.store(bytes, Ordering::Relaxed);
        self.asked_max.store(ASKED_BYTES.max(memory / 16), Ordering::Relaxed);
        self.window.store((memory / 32).clamp(WINDOW_BYTES.0, WINDOW_BYTES.1), Ordering::Relaxed);
        self.tight.store(tight, Ordering::Relaxed);
        tracing::debug!(file_bytes = bytes, memory, tight, "memory for the file");
        tight
    }

    /// Whether memory is too small for the file: else nobody needs to ask for anything.
    #[inline]
    pub(crate) fn is_tight(&self) -> bool {
        self.tight.load(Ordering::Relaxed)
    }

    /// Whether asking for single pages has led to reading lately.
    #[inline]
    pub(crate) fn pays(&self) -> bool {
        self.pages.is_left()
    }

    /// Whether asking for runs of pages has led to reading lately: for those that this process has read, or has not read yet.
    #[inline]
    pub(crate) fn run_pays(&self, unread: bool) -> bool {
        self.of_runs(unread).is_left()
    }

    fn of_runs(&self, unread: bool) -> &Patience {
        if unread { &self.unread } else { &self.runs }
    }

    /// Whether a value is taken to be in memory, since those before it were. To ask the kernel takes a microsecond.
    #[inline]
    pub(crate) fn takes_for_there(&self) -> bool {
        self.values.is_enough()
    }

    /// Says whether a value was found in memory.
    pub(crate) fn found_there(&self, there: bool) {
        self.values.note(there);
    }

    /// Pages that a walk asks for at a time.
    pub(crate) fn window_pages(&self) -> u64 {
        (self.window.load(Ordering::Relaxed) >> self.page_shift).max(16)
    }

    /// Asks for single pages that will be touched soon, in any order; empties the list.
    pub(crate) fn ask(&self, wanted: &mut Vec<Extent>) {
        self.ask_noting(wanted, &self.pages);
    }

    /// Asks for runs of pages that will be touched soon, in any order; empties the list.
    pub(crate) fn ask_runs(&self, wanted: &mut Vec<Extent>) {
        self.ask_noting(wanted, &self.runs);
    }

    /// As [`Advice::ask_runs`], for one, which this process has read or has not read yet.
    pub(crate) fn ask_run(&self, run: Extent, unread: bool) {
        self.ask_noting(&mut vec![run], self.of_runs(unread));
    }

    fn ask_noting(&self, wanted: &mut Vec<Extent>, patience: &Patience) {
        let before = memory::bytes_read();
        let mut pages = 0;
        wanted.sort_unstable();
        let mut rest = wanted.drain(..).peekable();
        while let Some(mut run) = rest.next() {
            while let Some(beside) = rest.next_if(|next| next.start.0 - run.start.0 <= run.pages) {
                run.pages = run.pages.max((beside.start.0 - run.start.0).saturating_add(beside.pages));
            }
            self.will_need(run);
            pages += run.pages.min(ASKED_BYTES >> self.page_shift);
        }
        patience.note(memory::bytes_read().wrapping_sub(before) >> self.page_shift, pages);
    }

    fn will_need(&self, run: Extent) {
        let bytes = run.pages.saturating_mul(1 << self.page_shift).min(self.asked_max.load(Ordering::Relaxed));
        if let (Some(offset), Some(bytes)) = (run.start.0.checked_mul(1 << self.page_shift), NonZeroU64::new(bytes)) {
            // Whoever is refused reads the page when it is touched.
            let _ = fadvise(&*self.file, offset, Some(bytes), Hint::WillNeed);
        }
    }

    /// To be called now and then while asking does not pay, before `pages` are touched. What it returns, if anything,
    /// is to be given to [`Advice::watched`] afterwards.
    #[inline]
    pub(crate) fn watch(&self, pages: u64) -> Option<u64> {
        let passed = self.passed.fetch_add(pages, Ordering::Relaxed);
        (passed / WATCHED_PAGES != (passed + pages) / WATCHED_PAGES).then(memory::bytes_read)
    }

    /// Says that `pages` have been touched since [`Advice::watch`] returned this.
    #[inline]
    pub(crate) fn watched(&self, before: Option<u64>, pages: u64) {
        if let Some(before) = before {
            self.pages.note(memory::bytes_read().wrapping_sub(before) >> self.page_shift, pages);
        }
    }

    /// As [`Advice::watch`], now.
    pub(crate) fn look_at_reads(&self) -> u64 {
        memory::bytes_read()
    }
}

/// How many more answers without any reading are put up with.
struct Patience {
    left: AtomicU32,
    /// So many after one with some.
    full: u32,
}

impl Patience {
    fn new(full: u32) -> Patience {
        Patience { left: AtomicU32::new(full), full }
    }

    #[inline]
    fn is_left(&self) -> bool {
        self.left.load(Ordering::Relaxed) > 0
    }

    /// Notes how many of the pages that were asked for or touched had to be read.
    fn note(&self, read: u64, pages: u64) {
        let before = self.left.load(Ordering::Relaxed);
        let paid = read.saturating_mul(WORTH) >= pages.max(1);
        let left = if paid { self.full } else { before.saturating_sub(1) };
        if left != before {
            self.left.store(left, Ordering::Relaxed);
        }
    }
}

/// How many values in a row were there; beyond [`THERE`], how many were taken to be.
struct Confidence(AtomicU32);

impl Confidence {
    fn is_enough(&self) -> bool {
        let before = self.0.load(Ordering::Relaxed);
        if before < THERE {
            return false;
        }
        let is_left = before < THERE + TAKEN;
        self.0.store(if is_left { before + 1 } else { THERE - 1 }, Ordering::Relaxed);
        is_left
    }

    fn note(&self, there: bool) {
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(if there { THERE.min(before + 1) } else { 0 }, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Pgno;

    fn advice(memory: u64) -> Advice {
        Advice::new(Arc::new(tempfile::tempfile().unwrap()), 4096, Some(memory))
    }

    #[test]
    fn memory_is_tight_when_the_file_takes_more_than_half_of_it() {
        let advice = advice(1 << 30);
        assert_eq!(advice.file_has(500 << 20), Some(false));
        assert_eq!(advice.file_has(600 << 20), None, "not looked at again before it has grown by a quarter");
        assert!(!advice.is_tight());
        assert_eq!(advice.file_has(626 << 20), Some(true));
        assert!(advice.is_tight());
    }

    #[test]
    fn what_other_programs_leave_of_memory_is_looked_at_again() {
        let found = Advice::new(Arc::new(tempfile::tempfile().unwrap()), 4096, None);
        assert_eq!(found.look_again(), None, "nobody has looked yet");
        assert_eq!(found.file_has(SMALL_BYTES), Some(false), "a machine with less memory than this test wants");
        assert_eq!(found.look_again(), None, "it is as it was");
        found.tight.store(true, Ordering::Relaxed);
        assert_eq!(found.look_again(), Some(false));
        let given = advice(1);
        assert_eq!(given.file_has(SMALL_BYTES), Some(true));
        given.tight.store(false, Ordering::Relaxed);
        assert_eq!(given.look_again(), None, "it was said how much there is");
    }

    #[test]
    fn a_walk_asks_for_a_small_part_of_the_memory_at_a_time() {
        for (memory, pages) in [(0, 256), (64 << 20, 512), (1 << 40, 1024)] {
            let advice = advice(memory);
            assert!(advice.file_has(u64::MAX).is_some());
            assert_eq!(advice.window_pages(), pages);
        }
    }

    #[test]
    fn nothing_is_looked_up_for_a_small_file() {
        let advice = Advice::new(Arc::new(tempfile::tempfile().unwrap()), 4096, None);
        assert_eq!(advice.file_has(SMALL_BYTES - 1), None);
        assert!(advice.file_has(SMALL_BYTES).is_some());
    }

    #[test]
    fn asking_is_given_up_after_several_answers_without_reading_and_taken_up_after_one_with() {
        let advice = advice(0);
        for _ in 0..PATIENCE {
            assert!(advice.pays());
            advice.pages.note(0, 64);
        }
        assert!(!advice.pays());
        advice.pages.note(1, 64);
        assert!(!advice.pays(), "one page of sixty-four is not worth it");
        advice.pages.note(2, 64);
        assert!(advice.pays());
        assert!(advice.run_pays(false), "runs are noted by themselves");
    }

    #[test]
    fn runs_that_were_not_read_yet_are_asked_for_much_longer() {
        let advice = advice(0);
        for _ in 0..PATIENCE_WITH_UNREAD {
            assert!(advice.run_pays(true));
            advice.of_runs(true).note(0, 64);
        }
        assert!(!advice.run_pays(true) && advice.run_pays(false));
        advice.of_runs(true).note(2, 64);
        assert!(advice.run_pays(true));
    }

    #[test]
    fn while_asking_does_not_pay_one_look_is_taken_for_many_pages() {
        let advice = advice(0);
        let looks = (0..100).filter(|_| advice.watch(64).is_some()).count() as u64;
        assert_eq!(looks, 100 * 64 / WATCHED_PAGES);
    }

    #[test]
    fn values_are_taken_to_be_there_after_several_that_were_and_one_in_many_is_asked_about() {
        let advice = advice(0);
        let mut asked = Vec::new();
        for value in 0..1000 {
            if !advice.takes_for_there() {
                asked.push(value);
                advice.found_there(true);
            }
        }
        assert_eq!(asked[..18], [&(0..16).collect::<Vec<_>>()[..], &[80, 145]].concat());
        assert!(asked.len() < 32);
        while advice.takes_for_there() {}
        advice.found_there(false);
        for _ in 0..THERE {
            assert!(!advice.takes_for_there(), "one that was not there is enough");
            advice.found_there(true);
        }
        assert!(advice.takes_for_there());
    }

    #[test]
    fn asking_beyond_the_end_and_beyond_all_numbers_does_nothing() {
        let advice = advice(0);
        assert_eq!(advice.file_has(1), Some(true));
        let hostile = [0, 1 << 20, Pgno::LIMIT - 1, u64::MAX >> 12, u64::MAX >> 1];
        let mut wanted = hostile.map(|start| Extent::new(Pgno(start), 1 << 40)).to_vec();
        advice.ask(&mut wanted);
        assert!(wanted.is_empty());
        advice.ask(&mut wanted);
        advice.ask_runs(&mut vec![Extent::new(Pgno(3), u64::MAX), Extent::new(Pgno(9), u64::MAX >> 3)]);
    }
}
