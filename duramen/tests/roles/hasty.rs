//! A medium that does not wait for the disk, for tests that cut no power.

use std::io;
use std::sync::Arc;

use duramen::{Medium, MediumLayer};

struct Hasty(Arc<dyn Medium>);

/// What to open a database with so that its flushes cost nothing.
pub fn hasty() -> MediumLayer {
    Arc::new(|medium| Arc::new(Hasty(medium)))
}

impl Medium for Hasty {
    fn write_at(&self, offset: u64, parts: &[io::IoSlice<'_>]) -> io::Result<()> {
        self.0.write_at(offset, parts)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}
