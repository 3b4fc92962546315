//! Merging sorted sources by a tree of losers.
//!
//! Owns: the tree. Must not know: where sources come from.
//!
//! Each inner node of the tree has the source that lost there. Only the way from the last winner's leaf to the root is
//! played again for the next record: as many comparisons as the tree has levels, nearly all of them of two numbers.

use super::chunk::Sorted;
use super::run::{self, RunReader, Runs};
use super::{Budget, By, Record};
use crate::error::Result;

enum Source {
    Run(RunReader),
    Memory(Sorted, usize),
}

impl Source {
    #[inline]
    fn get(&self) -> Option<Record<'_>> {
        match self {
            Source::Run(reader) => reader.get(),
            Source::Memory(sorted, i) => sorted.get(*i),
        }
    }

    #[inline]
    fn advance(&mut self) -> Result<()> {
        match self {
            Source::Run(reader) => reader.advance(),
            Source::Memory(_, i) => {
                *i += 1;
                Ok(())
            }
        }
    }
}

/// All records of some sources, in order.
pub(crate) struct Merge {
    by: By,
    sources: Vec<Source>,
    /// The start of each source's key, after what all keys share; the highest number at its end.
    starts: Vec<u64>,
    shared: usize,
    /// The winner, and after it the loser of each inner node.
    tree: Vec<usize>,
    begun: bool,
}

impl Merge {
    pub(super) fn new(by: By, budget: Budget, runs: &Runs, memory: Option<Sorted>) -> Result<Merge> {
        let shared = memory.iter().map(|sorted| sorted.shared).fold(runs.shared(), usize::min);
        let readers = run::read(runs, budget.block_bytes, budget.record_bytes)?;
        let memory = memory.map(|sorted| Source::Memory(sorted, 0));
        let sources: Vec<Source> = readers.into_iter().map(Source::Run).chain(memory).collect();
        let starts = vec![0; sources.len()];
        let mut merge = Merge { by, tree: vec![0; sources.len()], sources, starts, shared, begun: false };
        (0..merge.sources.len()).for_each(|i| merge.look(i));
        merge.play_all();
        Ok(merge)
    }

    /// The next record; none at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Record<'_>>> {
        let Some(&last) = self.tree.first() else { return Ok(None) };
        if std::mem::replace(&mut self.begun, true) {
            self.sources[last].advance()?;
            self.look(last);
            self.play(last);
        }
        Ok(self.sources[self.tree[0]].get())
    }

    /// Notes the start of a source's key.
    #[inline]
    fn look(&mut self, i: usize) {
        self.starts[i] = self.sources[i].get().map_or(u64::MAX, |record| self.by.key.start(record.key, self.shared));
    }

    /// Whether source `a` comes before source `b`.
    #[inline]
    fn is_before(&self, a: usize, b: usize) -> bool {
        let (x, y) = (self.starts[a], self.starts[b]);
        if x != y { x < y } else { self.is_before_by_records(a, b) }
    }

    fn is_before_by_records(&self, a: usize, b: usize) -> bool {
        match (self.sources[a].get(), self.sources[b].get()) {
            (Some(x), Some(y)) => self.by.cmp(x, y).then(a.cmp(&b)).is_lt(),
            (x, _) => x.is_some(),
        }
    }

    /// Plays the way from a source's leaf to the root.
    #[inline]
    fn play(&mut self, source: usize) {
        let (mut winner, mut node) = (source, (source + self.sources.len()) / 2);
        while node > 0 {
            if self.is_before(self.tree[node], winner) {
                std::mem::swap(&mut self.tree[node], &mut winner);
            }
            node /= 2;
        }
        self.tree[0] = winner;
    }

    /// Plays all of the tree.
    fn play_all(&mut self) {
        let leaves = self.sources.len();
        if leaves == 0 {
            return;
        }
        let mut winners = vec![0; 2 * leaves];
        (0..leaves).for_each(|i| winners[leaves + i] = i);
        for node in (1..leaves).rev() {
            let (left, right) = (winners[2 * node], winners[2 * node + 1]);
            let left_wins = self.is_before(left, right);
            (winners[node], self.tree[node]) = if left_wins { (left, right) } else { (right, left) };
        }
        self.tree[0] = winners[1];
    }
}
