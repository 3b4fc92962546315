//! Large values that are handed out before anyone has looked at them.
//!
//! Owns: which value waits to be verified, and whether one may. Must not know: who walks, tables.
//!
//! Who lists keys comes to values that he does not read. To verify those reads all of the file, if it is not in memory.
//! So a walk may hand out a value that is not in memory as it is, and have it wait until it comes to the next one, or to
//! its end. If it is in memory then, somebody has read it, and it is verified.
//!
//! What a write transaction has written early and replaced is verified before other pages come to stand there.
//!
//! Who reads the values that he comes to gains nothing by that: for him values are then verified first, for a while.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Result;
use crate::format::overflow::Stub;
use crate::ids::{Extent, Pgno};
use crate::pager::{Horizon, Pager};

/// After so many values that were read, not counting as many that were not,
const ENOUGH: i32 = 4;
/// so many that come next are verified before they are handed out.
const FIRST: u32 = 256;
/// After so many in a row that were not read the next one waits without the question whether it is in memory, which takes a
/// microsecond.
const UNREAD: i32 = -16;

/// The value of one transaction that waits: see the module's head.
pub(crate) struct Late {
    on: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Option<Stub>,
    /// Values that were read lately, less those that were not; below zero, so many in a row that were not.
    read: i32,
    /// So many values more are verified first.
    first: u32,
}

/// What is asked about the file: whether a page is in memory, and a value as it was written.
trait File {
    fn page_size(&self) -> usize;
    fn is_in_memory(&self, page: Pgno) -> bool;
    /// Whether a value was verified before, and seems to be in memory as those before it.
    fn seems_at_hand(&self, value: Stub) -> bool;
    /// Takes note of whether a value was in memory when a walk came to it.
    fn found_there(&self, there: bool);
    fn verify(&self, value: Stub) -> Result<()>;
}

impl File for (&Pager, Horizon) {
    fn page_size(&self) -> usize {
        self.0.page_size
    }

    fn is_in_memory(&self, page: Pgno) -> bool {
        self.0.is_in_memory(page)
    }

    fn seems_at_hand(&self, value: Stub) -> bool {
        self.0.seems_at_hand(value)
    }

    fn found_there(&self, there: bool) {
        self.0.found_there(there);
    }

    fn verify(&self, value: Stub) -> Result<()> {
        self.0.value(value, self.1).map(drop)
    }
}

impl Late {
    /// `on`: values may wait at all.
    pub(crate) fn new(on: bool) -> Late {
        Late { on, state: Mutex::default() }
    }

    /// A value that a walk has come to: verified, unless it may wait.
    ///
    /// # Errors
    /// Damage in it, or in one that waited.
    #[inline]
    pub(crate) fn meet<'p>(&self, pager: &'p Pager, stub: Stub, horizon: Horizon) -> Result<&'p [u8]> {
        let as_it_is = pager.is_at_hand(stub) || self.on && self.lock().lets_wait(&(pager, horizon), stub)?;
        if as_it_is { pager.value_as_it_is(stub, horizon) } else { pager.value(stub, horizon) }
    }

    /// The walk has come to its end.
    pub(crate) fn settle(&self, pager: &Pager, horizon: Horizon) -> Result<()> {
        if self.on { self.lock().settle(&(pager, horizon)) } else { Ok(()) }
    }

    /// These pages may get another content from now on: a value that waits among them cannot be verified later.
    pub(crate) fn settle_in(&self, places: &[Extent], pager: &Pager, horizon: Horizon) -> Result<()> {
        if self.on { self.lock().settle_in(places, &(pager, horizon)) } else { Ok(()) }
    }

    /// Nothing waits any more.
    pub(crate) fn forget(&mut self) {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).waiting = None;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether the value is handed out as it is. It is the one that waits then, if it was not verified before.
    fn lets_wait(&mut self, file: &impl File, value: Stub) -> Result<bool> {
        // A cursor may be asked again and again for the entry that it stands on.
        if self.waiting == Some(value) {
            return Ok(true);
        }
        self.settle(file)?;
        if file.seems_at_hand(value) {
            return Ok(true);
        }
        if self.first > 0 {
            self.first -= 1;
            return Ok(false);
        }
        let waits = self.read == UNREAD || !is_there(file, value);
        self.waiting = waits.then_some(value);
        Ok(waits)
    }

    /// Verifies the value that waits if it was read.
    fn settle(&mut self, file: &impl File) -> Result<()> {
        let Some(value) = self.waiting.take() else { return Ok(()) };
        if !is_in_memory(file, value) {
            self.read = UNREAD.max(self.read - 1);
            return Ok(());
        }
        self.read = self.read.max(0) + 1;
        if self.read >= ENOUGH {
            (self.read, self.first) = (ENOUGH, FIRST);
        }
        file.verify(value)
    }

    /// As [`State::settle`], if the value that waits has some of these pages.
    fn settle_in(&mut self, places: &[Extent], file: &impl File) -> Result<()> {
        let Some(value) = self.waiting else { return Ok(()) };
        let own = Extent::new(value.child.pgno(), value.pages(file.page_size()));
        let is_there = places.iter().any(|place| place.start < own.end() && own.start < place.end());
        if is_there { self.settle(file) } else { Ok(()) }
    }
}

/// Whether a value that a walk has come to is in memory.
fn is_there(file: &impl File, value: Stub) -> bool {
    let there = is_in_memory(file, value);
    file.found_there(there);
    there
}

/// Whether a value is in memory, judged by its ends: the kernel takes as long for each page that it is asked about.
fn is_in_memory(file: &impl File, value: Stub) -> bool {
    let first = value.child.pgno();
    let last = Pgno(first.0 + value.pages(file.page_size()) - 1);
    file.is_in_memory(first) && (last == first || file.is_in_memory(last))
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;

    use super::*;
    use crate::error::Damage;
    use crate::format::page::Child;

    /// A file of values of two pages, of which some pages are in memory.
    #[derive(Default)]
    struct Pages {
        in_memory: RefCell<BTreeSet<u64>>,
        damaged: Cell<u64>,
        at_hand: Cell<u64>,
        /// What was found of the value that was asked about last.
        there: Cell<Option<bool>>,
        verified: RefCell<Vec<u64>>,
    }

    impl Pages {
        fn read(&self, pgno: u64) {
            self.in_memory.borrow_mut().extend([pgno, pgno + 1]);
        }
    }

    impl File for Pages {
        fn page_size(&self) -> usize {
            4096
        }

        fn is_in_memory(&self, page: Pgno) -> bool {
            self.in_memory.borrow().contains(&page.0)
        }

        fn seems_at_hand(&self, value: Stub) -> bool {
            self.at_hand.get() == value.child.pgno().0
        }

        fn found_there(&self, there: bool) {
            self.there.set(Some(there));
        }

        fn verify(&self, value: Stub) -> Result<()> {
            let pgno = value.child.pgno();
            self.verified.borrow_mut().push(pgno.0);
            if pgno.0 == self.damaged.get() { Err(Damage("damaged").at(pgno)) } else { Ok(()) }
        }
    }

    fn value(pgno: u64) -> Stub {
        Stub { child: Child::page(Pgno(pgno), 0), bytes: 5000, birth: 0 }
    }

    #[test]
    fn who_reads_no_values_has_none_verified() -> Result<()> {
        let (file, mut state) = (Pages::default(), State::default());
        for pgno in (1000..3000).step_by(2) {
            assert!(state.lets_wait(&file, value(pgno))?);
        }
        state.settle(&file)?;
        assert_eq!(*file.verified.borrow(), []);
        Ok(())
    }

    #[test]
    fn what_is_in_memory_is_verified_first() -> Result<()> {
        let (file, mut state) = (Pages::default(), State::default());
        file.read(1000);
        assert!(!state.lets_wait(&file, value(1000))?);
        assert!(state.lets_wait(&file, value(1002))?);
        file.in_memory.borrow_mut().insert(1004);
        assert!(state.lets_wait(&file, value(1004))?, "half of it is not");
        Ok(())
    }

    #[test]
    fn what_was_verified_and_seems_to_be_in_memory_is_not_asked_about() -> Result<()> {
        let (file, mut state) = (Pages::default(), State::default());
        assert!(state.lets_wait(&file, value(1000))?);
        assert_eq!(file.there.take(), Some(false));
        file.read(1000);
        file.read(1002);
        file.at_hand.set(1002);
        assert!(state.lets_wait(&file, value(1002))?);
        assert_eq!((file.there.take(), file.verified.take()), (None, vec![1000]), "what waited is verified");
        file.at_hand.set(0);
        assert!(!state.lets_wait(&file, value(1002))?);
        assert_eq!((file.there.take(), file.verified.take()), (Some(true), vec![]), "it did not wait");
        Ok(())
    }

    #[test]
    fn damage_in_a_value_that_was_read_is_told_at_the_next_one_or_at_the_end_once() -> Result<()> {
        let (file, mut state) = (Pages::default(), State::default());
        assert!(state.lets_wait(&file, value(1000))?);
        file.read(1000);
        file.damaged.set(1000);
        assert!(state.lets_wait(&file, value(1002)).is_err_and(|error| error.to_string().contains("1000")));
        assert!(state.lets_wait(&file, value(1002))?, "the walk can go on");
        file.read(1002);
        file.damaged.set(1002);
        assert!(state.settle(&file).is_err());
        assert!(state.settle(&file).is_ok());
        Ok(())
    }

    #[test]
    fn a_value_is_verified_before_its_pages_become_others() -> Result<()> {
        let (file, mut state) = (Pages::default(), State::default());
        let places = |pgno| [Extent::new(Pgno(1), 5), Extent::new(Pgno(pgno), 2)];
        for (pgno, other) in [(1000, 1001), (2000, 1999), (3000, 3000)] {
            assert!(state.lets_wait(&file, value(pgno))?);
            file.read(pgno);
            state.settle_in(&places(pgno - 2), &file)?;
            state.settle_in(&places(pgno + 2), &file)?;
            assert_eq!(*file.verified.borrow(), []);
            state.settle_in(&places(other), &file)?;
            assert_eq!(file.verified.take(), [pgno]);
            file.damaged.set(pgno);
            state.settle(&file)?;
        }
        Ok(())
    }

    #[test]
    fn for_who_reads_the_values_most_are_verified_first() -> Result<()> {
        let (file, mut state) = (Pages::default(), State::default());
        let mut waited = 0;
        for pgno in (10_000..30_000).step_by(2) {
            waited += u32::from(state.lets_wait(&file, value(pgno))?);
            file.read(pgno);
        }
        assert!((4..=4 + 10_000 / FIRST).contains(&waited), "{waited}");
        // And when he reads no more, they wait again.
        let waits = |pgno| state.lets_wait(&file, value(pgno)).unwrap();
        assert!((40_000..60_000).step_by(2).map(waits).filter(|&waits| waits).count() > 9_700);
        Ok(())
    }

    #[test]
    fn an_entry_that_is_looked_at_again_waits_as_before() -> Result<()> {
        let (file, mut state) = (Pages::default(), State::default());
        assert!(state.lets_wait(&file, value(1000))?);
        file.read(1000);
        assert!(state.lets_wait(&file, value(1000))?);
        assert_eq!(*file.verified.borrow(), []);
        state.settle(&file)?;
        assert_eq!(*file.verified.borrow(), [1000]);
        Ok(())
    }
}
