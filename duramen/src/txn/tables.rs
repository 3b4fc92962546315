//! The tables that a transaction has opened, and what they were when its nesting levels began.
//!
//! Owns: what a level that is given up goes back to. Must not know: what a table is, who changes it.
//!
//! A level keeps a table as it was when the table is first asked for to be changed: most levels change few of those that
//! are open.

use std::ops::{Deref, Index, IndexMut};

use super::work::OpenTable;

/// See the module's head.
pub(crate) struct Tables {
    open: Vec<OpenTable>,
    /// Tables as they were, by their places, in the order in which they were asked for.
    before: Vec<(usize, OpenTable)>,
    /// The levels that have begun, the innermost last.
    levels: Vec<Level>,
    /// Numbers rise, so that what a level has kept is not taken for kept by the next one at the same depth.
    last_level: u64,
}

struct Level {
    number: u64,
    /// How many tables were open, and how many kept, when it began.
    open: usize,
    before: usize,
}

impl Tables {
    /// With room for so many, the main table in it.
    pub(super) fn new(main: OpenTable, room: usize) -> Tables {
        let mut open = Vec::with_capacity(room);
        open.push(main);
        Tables { open, before: Vec::new(), levels: Vec::new(), last_level: 0 }
    }

    pub(super) fn push(&mut self, table: OpenTable) {
        self.open.push(table);
    }

    /// A level begins.
    pub(super) fn nest(&mut self) {
        self.last_level += 1;
        self.levels.push(Level { number: self.last_level, open: self.open.len(), before: self.before.len() });
    }

    /// The innermost level ends, and what it changed is what the one around it has changed. That one needs a table only as it was
    /// at first: else each of many levels in it would leave one.
    pub(super) fn keep_level(&mut self) {
        let Some(ended) = self.levels.pop() else { return };
        match self.levels.last() {
            None => self.before.clear(),
            Some(around) => {
                let is_kept = |(_, before): &mut (usize, OpenTable)| before.kept_by >= around.number;
                self.before.extract_if(ended.before.., is_kept).for_each(drop);
            }
        }
    }

    /// The innermost level ends, and all is as it was when it began. Whether tables have other names now, or are gone.
    pub(super) fn give_up_level(&mut self) -> bool {
        let Some(level) = self.levels.pop() else { return false };
        let mut named_otherwise = self.open.len() > level.open;
        // The oldest of what was kept of a table counts.
        for (i, before) in self.before.drain(level.before..).rev() {
            let now = &mut self.open[i];
            named_otherwise |= now.name != before.name || now.dropped != before.dropped;
            *now = before;
        }
        self.open.truncate(level.open);
        named_otherwise
    }

    #[inline(never)]
    fn keep(&mut self, i: usize, level: u64, open: usize) {
        if i < open {
            self.before.push((i, self.open[i].clone()));
        }
        self.open[i].kept_by = level;
    }
}

impl Deref for Tables {
    type Target = [OpenTable];

    #[inline]
    fn deref(&self) -> &[OpenTable] {
        &self.open
    }
}

impl Index<usize> for Tables {
    type Output = OpenTable;

    #[inline]
    fn index(&self, i: usize) -> &OpenTable {
        &self.open[i]
    }
}

impl IndexMut<usize> for Tables {
    #[inline]
    fn index_mut(&mut self, i: usize) -> &mut OpenTable {
        if let Some(&Level { number, open, .. }) = self.levels.last()
            && self.open[i].kept_by < number
        {
            self.keep(i, number, open);
        }
        &mut self.open[i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::Order;
    use crate::tree::Tree;
    use crate::tree::duplicates::Orders;

    fn table() -> OpenTable {
        OpenTable::new(b"t"[..].into(), Tree::new(&Order::Bytes), Orders::default(), None)
    }

    #[test]
    fn many_levels_in_one_leave_no_more_than_that_needs_to_be_given_up() {
        let mut tables = Tables::new(table(), 2);
        tables.nest();
        tables.push(table());
        for user in 1..100 {
            tables.nest();
            for of_level in [user, 1000] {
                tables.nest();
                (tables[0].tree.user, tables[1].tree.user) = (of_level, of_level);
                if of_level == user { tables.keep_level() } else { assert!(!tables.give_up_level()) }
            }
            tables.keep_level();
            assert!(tables.before.len() <= 2, "{user}: {}", tables.before.len());
        }
        assert_eq!((tables[0].tree.user, tables[1].tree.user), (99, 99));
        tables.give_up_level();
        assert_eq!((tables[0].tree.user, tables.len()), (0, 1));
    }
}
