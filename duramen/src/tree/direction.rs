//! Which way one goes along entries, and at which end of what lies there one comes in.
//!
//! Owns: what differs between forwards and backwards, as far as indices go. Must not know: pages, keys.

/// Which way along entries in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Direction {
    #[default]
    Forwards,
    Backwards,
}

/// One end of entries that lie side by side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    First,
    Last,
}

impl Direction {
    #[inline(always)]
    pub(crate) fn opposite(self) -> Direction {
        match self {
            Direction::Forwards => Direction::Backwards,
            Direction::Backwards => Direction::Forwards,
        }
    }

    /// Where one comes into what lies on the way.
    #[inline(always)]
    pub(crate) fn entrance(self) -> End {
        match self {
            Direction::Forwards => End::First,
            Direction::Backwards => End::Last,
        }
    }

    /// Where one leaves it.
    #[inline(always)]
    pub(crate) fn exit(self) -> End {
        self.opposite().entrance()
    }

    /// The index so many steps on, whatever is there; nothing lies before the first.
    #[inline(always)]
    pub(crate) fn steps_on(self, i: usize, steps: usize) -> Option<usize> {
        match self {
            Direction::Forwards => Some(i + steps),
            Direction::Backwards => i.checked_sub(steps),
        }
    }

    /// The next index, whatever is there.
    #[inline(always)]
    pub(crate) fn beside(self, i: usize) -> Option<usize> {
        self.steps_on(i, 1)
    }

    /// The next index, if it is one of so many entries.
    #[inline(always)]
    pub(crate) fn beside_among(self, i: usize, len: usize) -> Option<usize> {
        // What is before the first is beyond the last.
        let to = match self {
            Direction::Forwards => i + 1,
            Direction::Backwards => i.wrapping_sub(1),
        };
        (to < len).then_some(to)
    }

    /// Whether the index is the last on the way among so many entries.
    #[inline(always)]
    pub(crate) fn ends_at(self, i: usize, len: usize) -> bool {
        match self {
            Direction::Forwards => i + 1 == len,
            Direction::Backwards => i == 0,
        }
    }
}

impl End {
    /// The index of this end of so many entries, of which there is one at least.
    #[inline(always)]
    pub(crate) fn of(self, len: usize) -> usize {
        match self {
            End::First => 0,
            End::Last => len - 1,
        }
    }

    /// The way that leads from it to the other end.
    #[inline(always)]
    pub(crate) fn inwards(self) -> Direction {
        match self {
            End::First => Direction::Forwards,
            End::Last => Direction::Backwards,
        }
    }
}
