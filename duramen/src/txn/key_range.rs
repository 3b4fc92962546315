//! What `range` and `delete_range` take: ranges of whatever is bytes.
//!
//! The standard library's `RangeBounds` leaves open whether `b"a"..b"c"` is a range of arrays or of references to them,
//! so that a caller would have to write the type; here a range has one meaning.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of keys: `..`, `a..b`, `a..=b`, `a..`, `..b`, `..=b` of byte strings, or a pair of [`Bound`]s.
pub trait KeyRange {
    /// Where it begins.
    fn low(&self) -> Bound<&[u8]>;
    /// Where it ends.
    fn high(&self) -> Bound<&[u8]>;
}

/// Implements the trait for one kind of range.
macro_rules! key_range {
    ($range:ident, $self:ident => $low:expr, $high:expr) => {
        impl<K: AsRef<[u8]>> KeyRange for $range<K> {
            fn low(&$self) -> Bound<&[u8]> {
                $low
            }

            fn high(&$self) -> Bound<&[u8]> {
                $high
            }
        }
    };
}

key_range!(Range, self => Bound::Included(self.start.as_ref()), Bound::Excluded(self.end.as_ref()));
key_range!(RangeFrom, self => Bound::Included(self.start.as_ref()), Bound::Unbounded);
key_range!(RangeTo, self => Bound::Unbounded, Bound::Excluded(self.end.as_ref()));
key_range!(RangeInclusive, self => Bound::Included(self.start().as_ref()), Bound::Included(self.end().as_ref()));
key_range!(RangeToInclusive, self => Bound::Unbounded, Bound::Included(self.end.as_ref()));

impl KeyRange for RangeFull {
    fn low(&self) -> Bound<&[u8]> {
        Bound::Unbounded
    }

    fn high(&self) -> Bound<&[u8]> {
        Bound::Unbounded
    }
}

impl<L: AsRef<[u8]>, H: AsRef<[u8]>> KeyRange for (Bound<L>, Bound<H>) {
    fn low(&self) -> Bound<&[u8]> {
        self.0.as_ref().map(AsRef::as_ref)
    }

    fn high(&self) -> Bound<&[u8]> {
        self.1.as_ref().map(AsRef::as_ref)
    }
}
