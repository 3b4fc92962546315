//! A random choice of what is done next.
//!
//! Owns: what is known of transactions and cursors while one chooses, so that nothing is asked whose answer is an
//! accident of LMDB's page layout, or that reads memory which is not there.

use duramen_lmdb::abi::{db, put};
use fastrand::Rng;

use crate::environment::Environment;
use crate::operations::{Kind, Operation, TABLES, width};
use crate::tables::Tables;

/// What a cursor has done since it last moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Since {
    #[default]
    Nothing,
    Deleted,
    Stored,
}

/// What is known of a cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Known {
    pub table: usize,
    pub reads: bool,
    /// That of the table's handle.
    number: Option<usize>,
    /// Level of the transaction that it was opened in.
    level: usize,
    /// Where it stands, or what a step from there gives, may hang on the page layout.
    lost: bool,
    /// It stands on an entry: nothing has been changed since it got there.
    firm: bool,
    /// It got where it is by a search.
    searched: bool,
    /// It has deleted an entry: nothing has been changed since.
    deleted: bool,
    /// Only a renewal helps.
    dead: bool,
    /// Its table is no more, or what has its handle's number is another one.
    gone: bool,
    /// The last movement found nothing further, or went to the last entry.
    eof: bool,
    /// It has not moved since it deleted an entry, or stored one after that.
    since_deletion: Since,
}

pub const CURSORS: usize = 6;

/// See the module's head.
pub struct Chooser {
    rng: Rng,
    /// Keys of a table, and values of a key.
    keys: u64,
    values: u64,
    value_bytes_max: usize,
    /// Each table is one page of LMDB's.
    small: bool,
    /// Some keys, and duplicates, are as long as can be, and a few longer.
    long: bool,
    level: usize,
    reading: bool,
    cursors: [Option<Known>; CURSORS],
    /// What comes next, last first.
    planned: Vec<Operation>,
    pub tables: Tables,
    /// Nobody knows of the reader.
    unlocked: bool,
    /// LMDB 1.0 looks into a transaction that is no more when a cursor of it is closed.
    is_1_0: bool,
    /// Transactions and tables come and go often.
    restless: bool,
}

/// Moves that do not depend on where the cursor stands.
const ABSOLUTE: [u32; 7] = [0, 2, 3, 6, 15, 16, 17];

impl Chooser {
    pub fn new(seed: u64, unlocked: bool, is_1_0: bool) -> Chooser {
        let mut rng = Rng::with_seed(seed);
        let small = rng.u32(0..3) > 0;
        let (keys, values, value_bytes_max) =
            if small { (rng.u64(2..14), rng.u64(1..7), 16) } else { (rng.u64(50..2000), rng.u64(3..400), 5000) };
        // LMDB 1.0 takes longer keys.
        let long = !small && rng.bool() && !is_1_0;
        Chooser {
            rng,
            long,
            keys,
            values,
            value_bytes_max,
            small,
            level: 0,
            reading: false,
            cursors: [None; CURSORS],
            planned: Vec::new(),
            tables: Tables::new(),
            unlocked,
            is_1_0,
            restless: seed.is_multiple_of(5),
        }
    }

    fn number(&mut self, below: u64, size: usize, order: u64) -> Vec<u8> {
        let n = self.rng.u64(0..below);
        match size {
            4 => (n as u32).to_ne_bytes().to_vec(),
            8 => (n.wrapping_mul(order)).to_ne_bytes().to_vec(),
            _ => unreachable!(),
        }
    }

    fn key(&mut self, table: usize) -> Vec<u8> {
        match TABLES[table].2 {
            Kind::Integer(size) => self.number(self.keys, size, 0x0001_0000_0001),
            Kind::Bytes | Kind::Custom => {
                let n = self.rng.u64(0..self.keys);
                let long = if self.small { 0 } else { (n % 7) as usize * 20 };
                let mut key = format!("{}{}", n.wrapping_mul(0x9E37) % 97, n).into_bytes();
                key.extend(std::iter::repeat_n(b'x', long));
                self.lengthened(key, n)
            }
        }
    }

    /// A key or duplicate, the `n`th, at or beyond the limit of their length if it is one of those.
    fn lengthened(&self, mut bytes: Vec<u8>, n: u64) -> Vec<u8> {
        const LIMIT: usize = 511;
        match n % 13 {
            0 | 5 if self.long => bytes.resize(LIMIT, b'z'),
            1 if self.long => bytes.resize(LIMIT - 1, b'z'),
            2 if self.long && n.is_multiple_of(7) => bytes.resize(LIMIT + 1, b'z'),
            _ => {}
        }
        bytes
    }

    fn data(&mut self, table: usize) -> Vec<u8> {
        let flags = TABLES[table].1;
        if flags & db::DUPFIXED != 0 {
            return if flags & db::INTEGERDUP != 0 {
                self.number(self.values, width(table), 0x0001_0000_0001)
            } else {
                let n = self.rng.u64(0..self.values);
                n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().to_vec()
            };
        }
        if flags & db::DUPSORT != 0 {
            let n = self.rng.u64(0..self.values);
            let long = if self.small { 0 } else { (n % 11) as usize * 30 };
            let mut data = format!("{}v{n}", n % 5).into_bytes();
            data.extend(std::iter::repeat_n(b'y', long));
            return self.lengthened(data, n);
        }
        let bytes =
            if self.rng.u32(0..8) == 0 { self.rng.usize(0..=self.value_bytes_max) } else { self.rng.usize(0..20) };
        (0..bytes).map(|_| self.rng.u8(b'a'..=b'z')).collect()
    }

    /// One that may be used.
    fn table(&mut self, reads: bool) -> Option<usize> {
        let table = self.rng.usize(0..TABLES.len());
        self.tables.is_usable(table, reads).then_some(table)
    }

    /// Tables that come and go, and their handles.
    fn about_a_table(&mut self, writing: bool) -> Option<Operation> {
        let (table, n) = (self.rng.usize(0..TABLES.len()), self.rng.usize(0..TABLES.len()));
        let usable = self.tables.is_usable(table, false);
        match self.rng.u32(0..30) {
            0 if writing && usable => Some(Operation::Delete { table }),
            1 if !writing && !self.reading && usable => Some(Operation::CloseHandle { table }),
            2..4 if writing && self.tables.is_stale(table) => Some(Operation::Stale { table, how: self.rng.u32(0..7) }),
            4 if writing && usable => Some(Operation::Open { table, name: self.tables.name(table)?, as_if: n }),
            5.. if writing && !usable && self.tables.may_open(table) => {
                let (name, as_if) = match self.tables.name(table) {
                    Some(name) => (name, n),
                    None => (self.tables.vacant(table, n)?, table),
                };
                Some(Operation::Open { table, name, as_if })
            }
            _ => None,
        }
    }

    /// Chooses what to do next.
    pub fn choose(&mut self) -> Operation {
        if let Some(operation) = self.planned.pop() {
            return operation;
        }
        loop {
            if let Some(operation) = self.attempt() {
                return operation;
            }
        }
    }

    fn attempt(&mut self) -> Option<Operation> {
        let writing = self.level > 0;
        // Begins, ends, and tables that come and go.
        const OFTEN: [u32; 12] = [0, 1, 31, 39, 40, 450, 451, 452, 453, 454, 455, 456];
        let n = match self.rng.usize(0..100) {
            n if self.restless && n < OFTEN.len() => OFTEN[n],
            _ => self.rng.u32(0..1000),
        };
        match n {
            0..30 if !writing => Some(Operation::BeginWrite),
            0..6 if self.level < 4 => Some(Operation::BeginWrite),
            // Without locks nothing keeps what the reader reads.
            30..42 if self.level == 1 && self.reading && self.unlocked => Some(Operation::EndRead),
            30..38 if writing => Some(Operation::Commit),
            38..42 if writing && self.tables.may_abort() => Some(Operation::Abort),
            42..60 if !self.reading => Some(Operation::BeginRead),
            42..46 if self.reading => Some(Operation::EndRead),
            46..50 if self.reading => Some(Operation::ResetRead),
            50..51 if !writing && !self.reading => Some(Operation::Reopen),
            51..60 => Environment::choose(&mut self.rng, writing, self.reading).map(Operation::Environment),
            60..300 if writing => {
                let table = self.table(false)?;
                let flags = self.put_flags(table);
                Some(Operation::Put { table, key: self.key(table), data: self.data(table), flags })
            }
            300..370 => {
                let (reads, table) = self.usable()?;
                Some(Operation::Get { reads, table, key: self.key(table) })
            }
            370..430 if writing => {
                let table = self.table(false)?;
                let data = self.rng.bool().then(|| self.data(table));
                Some(Operation::Del { table, key: self.key(table), data })
            }
            430..431 if writing => Some(Operation::Drop { table: self.table(false)? }),
            431..440 => self.usable().map(|(reads, table)| Operation::Stat { reads, table }),
            440..442 => self.usable().map(|(reads, table)| Operation::Flags { reads, table }),
            442..445 => {
                let (reads, table) = self.usable().filter(|&(_, table)| self.tables.is_usable(table, false))?;
                Some(Operation::Compare { reads, table, a: self.key(table), b: self.key(table) })
            }
            445..505 => self.about_a_table(writing),
            505..1000 => self.about_a_cursor(),
            _ => None,
        }
    }

    /// Which of the transactions there are: true for the reader.
    fn side(&mut self) -> Option<bool> {
        match (self.level > 0, self.reading) {
            (true, true) => Some(self.rng.bool()),
            (true, false) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
        }
    }

    /// One of them, and a table that it may use.
    fn usable(&mut self) -> Option<(bool, usize)> {
        let reads = self.side()?;
        Some((reads, self.table(reads)?))
    }

    fn put_flags(&mut self, table: usize) -> u32 {
        let duplicates = TABLES[table].1 & db::DUPSORT != 0;
        match self.rng.u32(0..12) {
            0 => put::NOOVERWRITE,
            1 if duplicates => put::NODUPDATA,
            2 => put::APPEND,
            3 if duplicates => put::APPENDDUP,
            4 if !duplicates => put::RESERVE,
            5 if !duplicates => put::RESERVE | put::NOOVERWRITE,
            6 if duplicates => put::APPEND | put::NODUPDATA,
            7 if !duplicates => put::RESERVE | put::APPEND | put::NOOVERWRITE,
            _ => 0,
        }
    }

    fn about_a_cursor(&mut self) -> Option<Operation> {
        let cursor = self.rng.usize(0..CURSORS);
        let Some(known) = self.cursors[cursor] else {
            let (reads, table) = self.usable()?;
            return Some(Operation::OpenCursor { reads, table, cursor });
        };
        if known.gone && !known.reads && !known.dead && self.rng.u32(0..4) > 0 {
            return self.about_a_gone_cursor(cursor, known.table);
        }
        if known.dead || known.gone {
            let renew = !known.gone && self.tables.is_usable(known.table, true) && self.reading && self.rng.bool();
            return Some(match renew {
                true => Operation::RenewCursor { cursor },
                false if self.is_1_0 && known.reads && known.dead => Operation::ForgetCursor { cursor },
                false => Operation::CloseCursor { cursor },
            });
        }
        let (_, flags, _) = TABLES[known.table];
        let fixed = flags & db::DUPFIXED != 0;
        match self.rng.u32(0..100) {
            0..3 => Some(Operation::CloseCursor { cursor }),
            // What others have stored since LMDB counts one too few.
            3..8 if known.firm => Some(Operation::Count { cursor }),
            8..20 if !known.reads => {
                let flags = self.put_flags(known.table) & !put::RESERVE;
                let (key, data) = (self.key(known.table), self.data(known.table));
                Some(Operation::CursorPut { cursor, key, data, flags })
            }
            20..23 if !known.reads && fixed => Some(self.multiple(cursor, known.table)),
            23..33 if !known.reads && !known.lost && (known.firm || known.deleted) => {
                let flags = if self.rng.u32(0..4) == 0 { put::NODUPDATA } else { 0 };
                Some(Operation::CursorDel { cursor, flags })
            }
            33..48 if !known.reads && known.firm && flags & db::DUPSORT == 0 => {
                Some(Operation::PutCurrent { cursor, data: self.data(known.table), reserve: self.rng.bool() })
            }
            33..100 => self.movement(cursor, known),
            _ => None,
        }
    }

    /// What is asked of a cursor whose table has been dropped.
    fn about_a_gone_cursor(&mut self, cursor: usize, table: usize) -> Option<Operation> {
        let (key, data) = (self.key(table), self.data(table));
        // If the table was empty LMDB stores what it is given, in nothing.
        Some(match self.rng.u32(0..5) {
            0 => Operation::CursorDel { cursor, flags: 0 },
            1 => Operation::Count { cursor },
            _ => Operation::Move { cursor, op: self.rng.u32(0..19), key, data, bare: false },
        })
    }

    /// Several values at once, for a key of their own that goes again afterwards: LMDB stops at the first of them that
    /// is the key's only value already, and says nothing.
    fn multiple(&mut self, cursor: usize, table: usize) -> Operation {
        let item = width(table);
        let key = match TABLES[table].2 {
            Kind::Integer(bytes) => vec![7; bytes],
            Kind::Bytes | Kind::Custom => b"multiple".to_vec(),
        };
        let step = |op| Operation::Move { cursor, op, key: key.clone(), data: b"?".to_vec(), bare: false };
        self.planned = vec![Operation::Del { table, key: key.clone(), data: None }, step(10), step(5), step(15)];
        if !self.small {
            self.planned.truncate(1);
        }
        let mut values: Vec<Vec<u8>> = (0..self.rng.usize(2..6)).map(|_| self.data(table)).collect();
        values.dedup();
        Operation::PutMultiple { cursor, key, data: values.concat(), item }
    }

    fn movement(&mut self, cursor: usize, known: Known) -> Option<Operation> {
        let op = if known.lost { ABSOLUTE[self.rng.usize(0..7)] } else { self.rng.u32(0..19) };
        // LMDB gives the first of the values that are left twice, or the only one as if there were more.
        let duplicates = TABLES[known.table].1 & db::DUPSORT != 0;
        let op =
            if known.deleted && !known.lost && (!self.small || duplicates && !matches!(op, 4 | 11)) { 8 } else { op };
        // What a page's worth of values is hangs on the layout.
        if matches!(op, 5 | 10 | 18) && (!self.small || !known.searched) {
            return None;
        }
        // LMDB 0.9.24 steps back from behind the last key of a page with duplicates into memory that is none of its; and
        // whether a key that is left with one value counts as one with several hangs on its history.
        let duplicates = TABLES[known.table].1 & db::DUPSORT != 0;
        let known = if known.deleted && self.small { Known { firm: false, ..known } } else { known };
        if matches!(op, 10 | 12..=14 | 18) && duplicates && !known.firm {
            return None;
        }
        let sought = matches!(op, 2 | 3 | 15 | 16 | 17);
        let (key, data) =
            if sought { (self.key(known.table), self.data(known.table)) } else { (b"?".to_vec(), b"?".to_vec()) };
        // Which value of a key the cursor is on, when nobody has asked for it, hangs on the layout, but for these movements to
        // few values. By one from nowhere LMDB is on values of another key; among those of one size it falls.
        let fixed = TABLES[known.table].1 & db::DUPFIXED != 0;
        let bare = matches!(op, 4 | 11 if known.firm) || matches!(op, 8 | 9 if known.firm && !fixed);
        let bare = (bare || matches!(op, 15..=17)) && self.small || !duplicates && op != 18;
        Some(Operation::Move { cursor, op, key, data, bare: bare && self.rng.u32(0..4) == 0 })
    }

    /// Notes what an operation has done.
    pub fn note(&mut self, operation: &Operation, code: i32, number: usize) {
        match operation {
            Operation::BeginWrite if code == 0 => {
                self.level += 1;
                self.tables.began();
            }
            Operation::Commit | Operation::Abort => {
                let level = self.level;
                let aborted = matches!(operation, Operation::Abort);
                self.level -= 1;
                let gone = self.tables.ended(!aborted);
                self.lose(&gone, Some(false));
                for known in self.cursors.iter_mut().flatten().filter(|known| gone.contains(&known.table)) {
                    known.dead |= !known.reads;
                }
                for slot in &mut self.cursors {
                    match slot {
                        Some(known) if !known.reads && known.level == level => *slot = None,
                        Some(known) if !known.reads => {
                            (known.firm, known.searched, known.deleted, known.eof) = (false, false, false, true);
                            // It is where it was before the child: perhaps behind the end of a page.
                            known.lost |= aborted;
                        }
                        _ => {}
                    }
                }
            }
            Operation::BeginRead => {
                self.reading = code == 0;
                self.tables.began_to_read();
            }
            Operation::Delete { table } => {
                self.tables.dropped(*table);
                self.lose(&[*table], Some(false));
            }
            Operation::Open { table, name, .. } if self.tables.opened(*table, *name, number) => {
                let all = self.cursors.iter_mut().flatten().filter(|known| known.number == Some(number));
                all.for_each(|known| (known.gone, known.dead) = (true, true));
            }
            Operation::CloseHandle { table } => {
                self.tables.closed(*table);
                self.lose(&[*table], None);
            }
            Operation::Reopen => {
                let others = self.tables.reopened();
                self.lose(&others, None);
            }
            Operation::Get { reads: true, table, .. } | Operation::Stat { reads: true, table } => {
                self.tables.used(*table);
            }
            Operation::EndRead => {
                self.reading = false;
                self.kill_readers();
            }
            Operation::ResetRead => {
                self.kill_readers();
                self.tables.began_to_read();
            }
            Operation::Put { table, .. } => self.changed(*table, None),
            Operation::Del { table, .. } => self.changed(*table, None),
            Operation::Drop { table } => self.changed(*table, None),
            Operation::OpenCursor { reads, table, cursor } if code == 0 => {
                if *reads {
                    self.tables.used(*table)
                } else {
                    self.tables.cursor_opened(*table)
                }
                let (table, reads, level) = (*table, *reads, self.level);
                let number = self.tables.number(table, reads);
                self.cursors[*cursor] = Some(Known { table, number, reads, level, ..Known::default() });
            }
            Operation::CloseCursor { cursor } | Operation::ForgetCursor { cursor } => {
                let closed = self.cursors[*cursor].take();
                if let Some(known) = closed.filter(|known| !known.reads && known.level == self.level) {
                    self.tables.cursor_closed(known.table, known.number.unwrap());
                }
            }
            Operation::RenewCursor { cursor } if code == 0 => {
                if let Some(known) = &mut self.cursors[*cursor] {
                    self.tables.used(known.table);
                    let Known { table, number, reads, level, .. } = *known;
                    *known = Known { table, number, reads, level, ..Known::default() };
                }
            }
            Operation::Move { cursor, op, .. } => self.moved(*cursor, *op, code),
            Operation::CursorPut { cursor, .. }
            | Operation::PutCurrent { cursor, .. }
            | Operation::PutMultiple { cursor, .. } => {
                let Some(known) = self.cursors[*cursor] else { return };
                self.changed(known.table, Some(*cursor));
                // A failure in between leaves it somewhere.
                self.settle(*cursor, code == 0 && !known.eof, code != 0 || known.eof);
                let appends = matches!(operation, Operation::CursorPut { flags, .. } if flags & put::APPEND != 0);
                if let Some(known) = &mut self.cursors[*cursor] {
                    known.searched = false;
                    // It has been to the last entry, as by that movement.
                    known.eof |= appends;
                    if known.since_deletion == Since::Deleted {
                        known.since_deletion = Since::Stored;
                    }
                }
            }
            Operation::CursorDel { cursor, .. } => {
                let Some(known) = self.cursors[*cursor] else { return };
                if code == 0 {
                    self.changed(known.table, Some(*cursor));
                }
                // Where it came by steps, LMDB mixes up the values of the keys that it has been on.
                let duplicates = TABLES[known.table].1 & db::DUPSORT != 0;
                // If what it deleted before was the last entry LMDB still takes it to be at the end.
                let may_be_at_end = known.since_deletion == Since::Stored;
                self.settle(*cursor, false, duplicates && !known.searched || may_be_at_end);
                if let Some(known) = &mut self.cursors[*cursor] {
                    (known.deleted, known.searched, known.since_deletion) = (code == 0, false, Since::Deleted);
                }
            }
            _ => {}
        }
    }

    /// Cursors on these tables are of no more use; of the reader or of others only, if that is said.
    fn lose(&mut self, tables: &[usize], reads: Option<bool>) {
        for known in self.cursors.iter_mut().flatten() {
            known.gone |= tables.contains(&known.table) && reads.is_none_or(|reads| reads == known.reads);
        }
    }

    fn kill_readers(&mut self) {
        for known in self.cursors.iter_mut().flatten().filter(|known| known.reads) {
            known.dead = true;
        }
    }

    fn settle(&mut self, cursor: usize, firm: bool, lost: bool) {
        if let Some(known) = &mut self.cursors[cursor] {
            (known.firm, known.lost, known.deleted) = (firm, lost, false);
            known.searched &= firm;
        }
    }

    /// A table has been changed by something else than its other cursors.
    fn changed(&mut self, table: usize, by: Option<usize>) {
        self.tables.changed(table);
        let duplicates = TABLES[table].1 & db::DUPSORT != 0;
        let small = self.small;
        for (i, known) in self.cursors.iter_mut().enumerate() {
            let Some(known) = known.as_mut().filter(|known| !known.reads && known.table == table) else { continue };
            if by == Some(i) {
                continue;
            }
            (known.firm, known.deleted) = (false, false);
            // A cursor at the end keeps that mark in LMDB when its entry gives way to another one. And in tables with
            // duplicates LMDB's other cursors are not always on the entry that they were on.
            known.lost |= duplicates || !small || known.eof;
        }
    }

    fn moved(&mut self, cursor: usize, op: u32, code: i32) {
        let Some(known) = self.cursors[cursor] else { return };
        let duplicates = TABLES[known.table].1 & db::DUPSORT != 0;
        // LMDB 0.9.24 forgets to note that the first value of the last key is not the end; later versions do not.
        let stuck = op == 1 && known.eof;
        if let Some(known) = &mut self.cursors[cursor] {
            known.searched = ABSOLUTE.contains(&op) || known.searched && op == 4;
            known.since_deletion = Since::Nothing;
            known.eof = op == 6 || code != 0 || known.eof && matches!(op, 1 | 4 | 5 | 7);
        }
        if code == 0 {
            return self.settle(cursor, !stuck, stuck);
        }
        // A search that failed leaves it at a place of the page, which in a table with duplicates may be behind its end.
        let lost = matches!(op, 2 | 3 | 15 | 16 | 17) && (duplicates || !self.small);
        self.settle(cursor, false, known.lost || lost);
    }

    /// Whether it is asked of a cursor whose table has been dropped: by both it is refused.
    pub fn is_refused(&self, operation: &Operation) -> bool {
        match operation {
            Operation::Move { cursor, .. } | Operation::CursorDel { cursor, .. } | Operation::Count { cursor } => {
                self.cursors[*cursor].is_some_and(|known| known.gone)
            }
            _ => false,
        }
    }

    /// The table that an operation is about.
    pub fn table_of(&self, operation: &Operation) -> Option<usize> {
        match operation {
            Operation::Put { table, .. }
            | Operation::Get { table, .. }
            | Operation::Del { table, .. }
            | Operation::Drop { table }
            | Operation::Delete { table }
            | Operation::Open { table, .. }
            | Operation::CloseHandle { table }
            | Operation::Stale { table, .. }
            | Operation::Stat { table, .. }
            | Operation::OpenCursor { table, .. } => Some(*table),
            Operation::CloseCursor { cursor }
            | Operation::ForgetCursor { cursor }
            | Operation::RenewCursor { cursor }
            | Operation::Move { cursor, .. }
            | Operation::Count { cursor }
            | Operation::CursorPut { cursor, .. }
            | Operation::PutCurrent { cursor, .. }
            | Operation::PutMultiple { cursor, .. }
            | Operation::CursorDel { cursor, .. } => self.cursors[*cursor].map(|known| known.table),
            _ => None,
        }
    }

    /// What a difference in keys or data may be for this movement.
    pub fn compares_key(op: u32) -> bool {
        !matches!(op, 1 | 5 | 7 | 10 | 18)
    }
}
