//! What is counted. Every thread counts for itself, so that counting is an addition in memory that nobody else writes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Kinds of operations, as `cn=monitor` and `/metrics` name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// Bind.
    Bind,
    /// Unbind.
    Unbind,
    /// Search.
    Search,
    /// Compare.
    Compare,
    /// Modify.
    Modify,
    /// Modify DN.
    ModifyDn,
    /// Add.
    Add,
    /// Delete.
    Delete,
    /// Abandon.
    Abandon,
    /// Any extended operation.
    Extended,
}

/// How many kinds there are.
pub const KINDS: usize = 10;

/// All kinds with their names.
pub const NAMES: [(Kind, &str); KINDS] = [
    (Kind::Bind, "Bind"),
    (Kind::Unbind, "Unbind"),
    (Kind::Search, "Search"),
    (Kind::Compare, "Compare"),
    (Kind::Modify, "Modify"),
    (Kind::ModifyDn, "Modrdn"),
    (Kind::Add, "Add"),
    (Kind::Delete, "Delete"),
    (Kind::Abandon, "Abandon"),
    (Kind::Extended, "Extended"),
];

/// Buckets of a histogram: bucket `n` counts what took less than 2^n microseconds and not less than half of that; the
/// last one all that took longer.
pub const BUCKETS: usize = 26;

/// Figures of one kind of operation.
#[derive(Debug, Default)]
pub struct OfKind {
    /// Operations that began.
    pub begun: AtomicU64,
    /// Operations that ended with success, compareTrue or compareFalse, a referral or a step of a bind.
    pub succeeded: AtomicU64,
    /// Operations that ended otherwise.
    pub failed: AtomicU64,
    /// How long they took, in microseconds.
    pub micros: AtomicU64,
    /// How many took how long.
    pub histogram: [AtomicU64; BUCKETS],
}

impl OfKind {
    /// Operations that ended.
    pub fn done(&self) -> u64 {
        self.succeeded.load(Relaxed) + self.failed.load(Relaxed)
    }
}

/// Figures of a thread, or their sum.
#[derive(Debug, Default)]
pub struct Figures {
    /// By kind.
    pub kinds: [OfKind; KINDS],
    /// Connections that began.
    pub connections: AtomicU64,
    /// Connections whose clients have not taken what they were sent.
    pub blocked: AtomicU64,
    /// Entries sent.
    pub entries: AtomicU64,
    /// References sent.
    pub references: AtomicU64,
    /// Bytes received, and bytes sent.
    pub bytes_in: AtomicU64,
    /// Bytes sent.
    pub bytes_out: AtomicU64,
}

/// Adds to a figure that this thread alone writes: a load and a store, no locked instruction. `u64::MAX` takes one away.
pub fn add(figure: &AtomicU64, count: u64) {
    figure.store(figure.load(Relaxed).wrapping_add(count), Relaxed);
}

impl Figures {
    /// Counts an operation that begins.
    pub fn begin(&self, kind: Kind) {
        add(&self.kinds[kind as usize].begun, 1);
    }

    /// Counts one that ends.
    pub fn end(&self, kind: Kind, succeeded: bool, took: Duration) {
        let of_kind = &self.kinds[kind as usize];
        add(if succeeded { &of_kind.succeeded } else { &of_kind.failed }, 1);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        add(&of_kind.micros, micros);
        add(&of_kind.histogram[bucket(micros)], 1);
    }

    /// The sum of all threads' figures.
    pub fn sum<'a>(all: impl Iterator<Item = &'a Figures>) -> Figures {
        let sum = Figures::default();
        for one in all {
            for (into, from) in sum.values().zip(one.values()) {
                add(into, from.load(Relaxed));
            }
        }
        sum
    }

    fn values(&self) -> impl Iterator<Item = &AtomicU64> {
        let of_kinds = self.kinds.iter().flat_map(|of_kind| {
            [&of_kind.begun, &of_kind.succeeded, &of_kind.failed, &of_kind.micros].into_iter().chain(&of_kind.histogram)
        });
        let others =
            [&self.connections, &self.blocked, &self.entries, &self.references, &self.bytes_in, &self.bytes_out];
        of_kinds.chain(others)
    }
}

fn bucket(micros: u64) -> usize {
    ((u64::BITS - micros.leading_zeros()) as usize).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_took_less_than_its_power_of_two() {
        assert_eq!([0, 1, 2, 3, 4, 1023, 1024, u64::MAX].map(bucket), [0, 1, 2, 2, 3, 10, 11, BUCKETS - 1]);
    }

    #[test]
    fn the_sum_is_of_every_figure() {
        let threads = [Figures::default(), Figures::default()];
        for thread in &threads {
            thread.begin(Kind::Search);
            thread.end(Kind::Search, true, Duration::from_micros(5));
            thread.end(Kind::Extended, false, Duration::from_micros(70));
            add(&thread.bytes_out, 7);
        }
        let sum = Figures::sum(threads.iter());
        let search = &sum.kinds[Kind::Search as usize];
        assert_eq!([&search.begun, &search.succeeded, &search.micros].map(|n| n.load(Relaxed)), [2, 2, 10]);
        assert_eq!(search.histogram[3].load(Relaxed), 2);
        assert_eq!(sum.kinds[Kind::Extended as usize].failed.load(Relaxed), 2);
        assert_eq!(sum.bytes_out.load(Relaxed), 14);
    }
}
