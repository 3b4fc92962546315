//! Which tables there are, by which names, and who may use their handles.
//!
//! Owns: what drops, creations and aborts make of that. A table is one of [`TABLES`]; the name that it has changes when it is made anew.

use duramen_lmdb::abi::db;

use crate::operations::TABLES;

const COUNT: usize = TABLES.len();

/// As the innermost transaction that writes sees it.
#[derive(Clone, Copy)]
struct Seen {
    /// The name of each that is there, by the table that had it first.
    names: [Option<usize>; COUNT],
    /// Those that it has changed.
    changed: [bool; COUNT],
    /// Those that it has dropped, of what was there when it began.
    dropped: [bool; COUNT],
}

/// A handle that may be used.
#[derive(Clone, Copy)]
struct Handle {
    /// Level of the transaction that it is private to; 0 if it is everybody's.
    level: usize,
    number: usize,
}

/// A cursor that LMDB has in its list for a number: one of an outer transaction stays there when an inner one closes it. When a
/// transaction begins in another one, LMDB takes all in that list to be as large as the first.
#[derive(Clone, Copy, PartialEq)]
struct Listed {
    number: usize,
    level: usize,
    table: usize,
}

/// See the module's head.
pub struct Tables {
    listed: Vec<Listed>,
    /// By level, that of no transaction first.
    seen: Vec<Seen>,
    handles: [Option<Handle>; COUNT],
    /// The last that it had.
    numbers: [Option<usize>; COUNT],
    /// What the reader may use: by a handle, of this number, that it has seen when it began, and that may be gone by now if it has
    /// used it before.
    read: [Option<usize>; COUNT],
    used: [bool; COUNT],
}

impl Tables {
    /// All of them, each by its own name.
    pub fn new() -> Tables {
        let names = std::array::from_fn(Some);
        let mut tables = Tables {
            listed: Vec::new(),
            seen: vec![Seen { names, changed: [false; COUNT], dropped: [false; COUNT] }],
            handles: [None; COUNT],
            numbers: [None; COUNT],
            read: [None; COUNT],
            used: [false; COUNT],
        };
        tables.reopened();
        tables
    }

    fn now(&self) -> &Seen {
        self.seen.last().unwrap()
    }

    fn now_mut(&mut self) -> &mut Seen {
        self.seen.last_mut().unwrap()
    }

    fn level(&self) -> usize {
        self.seen.len() - 1
    }

    /// Whether the reader, or the innermost transaction that writes, may use a table's handle.
    pub fn is_usable(&self, table: usize, reads: bool) -> bool {
        if reads { self.read[table].is_some() } else { self.handles[table].is_some() }
    }

    /// Whether all may.
    pub fn is_public(&self, table: usize) -> bool {
        self.handles[table].is_some_and(|handle| handle.level == 0)
    }

    /// A name that it may be made anew by, if it is not there; the `n`th of those there are.
    pub fn vacant(&self, table: usize, n: usize) -> Option<usize> {
        let seen = self.now();
        let free: Vec<usize> = (0..COUNT).filter(|name| !seen.names.contains(&Some(*name))).collect();
        (seen.names[table].is_none()).then(|| free[n % free.len()])
    }

    /// The name of a table that is there.
    pub fn name(&self, table: usize) -> Option<usize> {
        self.now().names[table]
    }

    /// A number that is no handle any more.
    pub fn is_stale(&self, table: usize) -> bool {
        let taken = |number| self.handles.iter().flatten().any(|handle| handle.number == number);
        self.handles[table].is_none() && self.numbers[table].is_some_and(|number| !taken(number))
    }

    /// Whether a handle that a table gets now has a number for which LMDB has no cursors of another kind.
    pub fn may_open(&self, table: usize) -> bool {
        let taken = |number: &usize| self.handles.iter().flatten().any(|handle| handle.number == *number);
        let number = (2..).find(|number| !taken(number)).unwrap();
        let has_duplicates = |table: usize| TABLES[table].1 & db::DUPSORT != 0;
        self.listed.iter().all(|one| one.number != number || has_duplicates(one.table) == has_duplicates(table))
    }

    pub fn cursor_opened(&mut self, table: usize) {
        let (level, number) = (self.level(), self.numbers[table].unwrap());
        self.listed.push(Listed { number, level, table });
    }

    pub fn cursor_closed(&mut self, table: usize, number: usize) {
        let closed = Listed { number, level: self.level(), table };
        let found = self.listed.iter().position(|one| *one == closed);
        found.map(|i| self.listed.swap_remove(i));
    }

    /// LMDB's parent of a transaction that is aborted cannot commit what it has changed in a table that this one had dropped.
    pub fn may_abort(&self) -> bool {
        let outer = &self.seen[1..self.seen.len() - 1];
        !(0..COUNT).any(|table| self.now().dropped[table] && outer.iter().any(|seen| seen.changed[table]))
    }

    pub fn began(&mut self) {
        let names = self.now().names;
        self.seen.push(Seen { names, changed: [false; COUNT], dropped: [false; COUNT] });
    }

    /// Ends the innermost transaction; the tables whose handles are gone with it.
    pub fn ended(&mut self, keep: bool) -> Vec<usize> {
        let level = self.level();
        let inner = self.seen.pop().unwrap();
        self.listed.retain(|one| one.level < level);
        let mut gone = Vec::new();
        for (table, handle) in self.handles.iter_mut().enumerate() {
            match handle {
                Some(own) if own.level == level && keep => own.level = level - 1,
                Some(own) if own.level == level => {
                    *handle = None;
                    gone.push(table);
                }
                None if !keep && inner.dropped[table] => gone.push(table),
                _ => {}
            }
        }
        // What LMDB says to these numbers in the outer transaction hangs on what that has used.
        gone.iter().for_each(|&table| self.numbers[table] = None);
        if keep {
            let outer = self.now_mut();
            outer.names = inner.names;
            for table in 0..COUNT {
                outer.changed[table] |= inner.changed[table];
                outer.dropped[table] |= inner.dropped[table];
            }
        }
        if level == 1 {
            let outer = self.now_mut();
            (outer.changed, outer.dropped) = ([false; COUNT], [false; COUNT]);
        }
        gone
    }

    pub fn changed(&mut self, table: usize) {
        self.now_mut().changed[table] = true;
    }

    pub fn dropped(&mut self, table: usize) {
        let level = self.level();
        if self.handles[table].is_some_and(|handle| !matches!(handle.level, 0) && handle.level != level) {
            // LMDB takes this number for a handle again later, without a name.
            self.numbers[table] = None;
        }
        let seen = self.now_mut();
        (seen.names[table], seen.dropped[table]) = (None, true);
        self.closed(table);
    }

    pub fn closed(&mut self, table: usize) {
        self.handles[table] = None;
        self.read[table] = self.read[table].filter(|_| self.used[table]);
    }

    /// Notes a handle of the innermost transaction; whether its number may have been another one's before.
    pub fn opened(&mut self, table: usize, name: usize, number: usize) -> bool {
        let level = self.level();
        if self.now().names[table].is_none() {
            self.changed(table);
        }
        self.now_mut().names[table] = Some(name);
        if self.handles[table].is_some() {
            return false;
        }
        self.handles[table] = Some(Handle { level, number });
        for had in self.numbers.iter_mut().chain(&mut self.read) {
            *had = had.filter(|&other| other != number);
        }
        // The reader goes on with none but the last number.
        (self.numbers[table], self.read[table]) = (Some(number), None);
        true
    }

    /// The number by which it is used.
    pub fn number(&self, table: usize, reads: bool) -> Option<usize> {
        if reads { self.read[table] } else { self.numbers[table] }
    }

    /// The environment was closed and opened again, with all tables there are; those whose numbers are others now.
    pub fn reopened(&mut self) -> Vec<usize> {
        let (names, before) = (self.now().names, self.numbers);
        let mut numbers = 2..;
        self.numbers = names.map(|name| name.and_then(|_| numbers.next()));
        self.handles = self.numbers.map(|number| number.map(|number| Handle { level: 0, number }));
        (0..COUNT).filter(|&table| self.numbers[table] != before[table]).collect()
    }

    pub fn began_to_read(&mut self) {
        self.read = std::array::from_fn(|table| self.numbers[table].filter(|_| self.is_public(table)));
        self.used = [false; COUNT];
    }

    /// The reader has used a table.
    pub fn used(&mut self, table: usize) {
        self.used[table] = true;
    }
}
