//! Runs of pages that hold one large value, and the stub that stands for it in a leaf.
//!
//! Owns: the payload's place in a run, the stub. Must not know: what the value is.
//!
//! The run's first page has the header; the payload follows from byte 64 through all pages of the run, without any
//! other header, so that it is read in place.

use crate::error::Damage;
use crate::ids::Txnid;

use super::page::{self, Child, Kind, RUN_HEADER};

/// Bytes of a [`Stub`].
pub(crate) const STUB: usize = 16;

/// Pages needed for a value of `bytes`.
pub(crate) fn pages_for(bytes: usize, page_size: usize) -> usize {
    (RUN_HEADER + bytes).div_ceil(page_size)
}

/// The payload of a run, given whole.
#[inline]
pub(crate) fn open(run: &[u8]) -> Result<&[u8], Damage> {
    if run.len() < RUN_HEADER {
        return Err(page::SHORT);
    }
    if page::kind(run) != Some(Kind::Overflow) {
        return Err(Damage("it is not the overflow page that was expected"));
    }
    run[RUN_HEADER..].get(..page::payload(run) as usize).ok_or(Damage("its payload is longer than its run of pages"))
}

/// Makes an empty run of `pages` for a value of `bytes`; returns the space to fill.
pub(crate) fn init(run: &mut [u8], pages: u32, bytes: u32) -> &mut [u8] {
    init_header(run, pages, bytes);
    &mut run[RUN_HEADER..RUN_HEADER + bytes as usize]
}

/// The header alone, of a run whose payload is put together elsewhere.
pub(crate) fn init_header(header: &mut [u8], pages: u32, bytes: u32) {
    page::init(header, Kind::Overflow, 0);
    page::set_payload(header, bytes);
    page::set_run(header, pages);
}

/// Makes a run of the space log instead: the same form, another kind.
pub(crate) fn init_space(run: &mut [u8], pages: u32, bytes: u32) -> &mut [u8] {
    page::init(run, Kind::Space, 0);
    page::set_payload(run, bytes);
    page::set_run(run, pages);
    &mut run[RUN_HEADER..RUN_HEADER + bytes as usize]
}

/// What a leaf keeps of a value that lies in a run of its own: 8 bytes child pointer, 4 bytes length, 4 bytes of the birth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stub {
    /// The run's first page.
    pub child: Child,
    /// Length of the value.
    pub bytes: u32,
    /// Lower half of the run's birth; 0 where it is not known, as before it has its place.
    pub birth: u32,
}

impl Stub {
    /// Reads a cell's value as a stub.
    #[inline]
    pub(crate) fn read(value: &[u8]) -> Result<Stub, Damage> {
        if value.len() != STUB {
            return Err(Damage("a large value's stub is not 16 bytes"));
        }
        let (child, bytes, birth) = (page::get64(value, 0), page::get32(value, 8), page::get32(value, 12));
        Ok(Stub { child: Child(child), bytes, birth })
    }

    /// Writes the stub into a cell's value space.
    pub(crate) fn write(self, value: &mut [u8]) {
        page::put64(value, 0, self.child.0);
        page::put32(value, 8, self.bytes);
        page::put32(value, 12, self.birth);
    }

    /// The run's pages.
    #[inline]
    pub(crate) fn pages(self, page_size: usize) -> u64 {
        pages_for(self.bytes as usize, page_size) as u64
    }

    /// Whether the run may be of this birth.
    pub(crate) fn may_be_born(self, birth: Txnid) -> bool {
        self.birth == 0 || self.birth == birth.low()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Pgno;

    #[test]
    fn a_value_that_just_fills_its_pages_needs_no_more() {
        assert_eq!(pages_for(4096 - RUN_HEADER, 4096), 1);
        assert_eq!(pages_for(4096 - RUN_HEADER + 1, 4096), 2);
        assert_eq!(pages_for(0, 4096), 1);
    }

    #[test]
    fn a_payload_is_read_back_in_place() {
        let mut run = vec![0; 8192];
        init(&mut run, 2, 6000).fill(9);
        assert_eq!(open(&run), Ok(&[9; 6000][..]));
        assert_eq!(page::run(&run), 2);
    }

    #[test]
    fn a_payload_beyond_the_run_is_damage() {
        let mut run = vec![0; 4096];
        init(&mut run, 1, 10);
        page::set_payload(&mut run, 4033);
        assert!(open(&run).is_err());
        page::set_payload(&mut run, u32::MAX);
        assert!(open(&run).is_err());
        assert!(open(&[0; 4096]).is_err());
        assert!(open(&[5; 20]).is_err());
    }

    #[test]
    fn a_stub_gives_back_what_was_written() {
        let stub = Stub { child: Child::page(Pgno(77), 3), bytes: 1 << 20, birth: 9 };
        let mut value = [0xEE; STUB];
        stub.write(&mut value);
        assert_eq!(Stub::read(&value), Ok(stub));
        assert!(Stub::read(&value[..15]).is_err());
    }
}
