//! Ranges of keys.
//!
//! Owns: [`KeyRange`]. Must not know: orders, tables.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of keys that are anything made of bytes: `a..b`, `a..=b`, `a..`, `..b`, `..=b`, `..`, or two [`Bound`]s.
///
/// It stands in for [`std::ops::RangeBounds`], of which `b"a"..b"c"` is two at once: of arrays, and of references to
/// them.
pub trait KeyRange {
    /// Where the range begins and ends.
    fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>);
}

macro_rules! ranges {
    ($($range:ident: $self:ident => $low:expr, $high:expr;)*) => {
        $(impl<K: AsRef<[u8]>> KeyRange for $range<K> {
            fn bounds(&$self) -> (Bound<&[u8]>, Bound<&[u8]>) {
                ($low, $high)
            }
        })*
    };
}

ranges! {
    Range: self => Bound::Included(self.start.as_ref()), Bound::Excluded(self.end.as_ref());
    RangeInclusive: self => Bound::Included(self.start().as_ref()), Bound::Included(self.end().as_ref());
    RangeFrom: self => Bound::Included(self.start.as_ref()), Bound::Unbounded;
    RangeTo: self => Bound::Unbounded, Bound::Excluded(self.end.as_ref());
    RangeToInclusive: self => Bound::Unbounded, Bound::Included(self.end.as_ref());
}

impl KeyRange for RangeFull {
    fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

impl<K: AsRef<[u8]>> KeyRange for (Bound<K>, Bound<K>) {
    fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.0.as_ref().map(K::as_ref), self.1.as_ref().map(K::as_ref))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(range: impl KeyRange) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        let (low, high) = range.bounds();
        (low.map(<[u8]>::to_vec), high.map(<[u8]>::to_vec))
    }

    #[test]
    fn every_form_of_range_takes_whatever_is_bytes() {
        let (a, c) = (b"a".to_vec(), b"c".to_vec());
        let half_open = (Bound::Included(a.clone()), Bound::Excluded(c.clone()));
        assert_eq!(ends(b"a"..b"c"), half_open);
        assert_eq!(ends("a".."c"), half_open);
        assert_eq!(ends(a.clone()..c.clone()), half_open);
        assert_eq!(ends(half_open.clone()), half_open);
        assert_eq!(ends("a"..="c"), (Bound::Included(a.clone()), Bound::Included(c.clone())));
        assert_eq!(ends([97]..), (Bound::Included(a), Bound::Unbounded));
        assert_eq!(ends(.."c"), (Bound::Unbounded, Bound::Excluded(c.clone())));
        assert_eq!(ends(..="c"), (Bound::Unbounded, Bound::Included(c)));
        assert_eq!(ends(..), (Bound::Unbounded, Bound::Unbounded));
    }
}
