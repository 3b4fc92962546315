//! What can be done, and to which tables.
//!
//! Owns: the kinds of tables, and what an operation says. Must not know: when it may be asked for.

use duramen_lmdb::abi::db;

use crate::environment::Environment;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Bytes,
    Integer(usize),
    Custom,
}

/// Name, flags, and what keys (and fixed-size values) look like.
pub const TABLES: [(&str, u32, Kind); 17] = [
    ("plain", 0, Kind::Bytes),
    ("reversed", db::REVERSEKEY, Kind::Bytes),
    ("numbers", db::INTEGERKEY, Kind::Integer(8)),
    ("short numbers", db::INTEGERKEY, Kind::Integer(4)),
    ("custom", 0, Kind::Custom),
    ("dup", db::DUPSORT, Kind::Bytes),
    ("dup reversed", db::DUPSORT | db::REVERSEDUP, Kind::Bytes),
    ("dup fixed", db::DUPSORT | db::DUPFIXED, Kind::Bytes),
    ("dup numbers", db::DUPSORT | db::DUPFIXED | db::INTEGERDUP, Kind::Bytes),
    ("numbers dup fixed", db::INTEGERKEY | db::DUPSORT | db::DUPFIXED, Kind::Integer(8)),
    ("dup custom", db::DUPSORT, Kind::Custom),
    ("dup long numbers", db::DUPSORT | db::DUPFIXED | db::INTEGERDUP, Kind::Bytes),
    ("dup fixed reversed", db::DUPSORT | db::DUPFIXED | db::REVERSEDUP, Kind::Bytes),
    ("reversed dup", db::REVERSEKEY | db::DUPSORT, Kind::Bytes),
    ("short numbers dup", db::INTEGERKEY | db::DUPSORT, Kind::Integer(4)),
    ("numbers dup custom", db::INTEGERKEY | db::DUPSORT, Kind::Integer(8)),
    ("dup fixed custom", db::DUPSORT | db::DUPFIXED, Kind::Bytes),
];

/// Whether keys, and whether values, are in an order of the program's own.
pub fn own_orders(table: usize) -> (bool, bool) {
    match TABLES[table] {
        (_, _, Kind::Custom) => (true, true),
        ("numbers dup custom" | "dup fixed custom", ..) => (false, true),
        _ => (false, false),
    }
}

/// Bytes of a value, where all have as many.
pub fn width(table: usize) -> usize {
    match TABLES[table] {
        ("dup numbers", ..) => 4,
        _ => 8,
    }
}

#[derive(Clone, Debug)]
pub enum Operation {
    BeginWrite,
    BeginRead,
    Commit,
    Abort,
    EndRead,
    ResetRead,
    Reopen,
    Environment(Environment),
    Put {
        table: usize,
        key: Vec<u8>,
        data: Vec<u8>,
        flags: u32,
    },
    Get {
        reads: bool,
        table: usize,
        key: Vec<u8>,
    },
    Del {
        table: usize,
        key: Vec<u8>,
        data: Option<Vec<u8>>,
    },
    Drop {
        table: usize,
    },
    /// Drops a table and its handle.
    Delete {
        table: usize,
    },
    /// Opens a table, which is made if it is not there; with its own flags, or as if it had those of another one.
    Open {
        table: usize,
        name: usize,
        as_if: usize,
    },
    CloseHandle {
        table: usize,
    },
    /// Uses a number that is no handle any more.
    Stale {
        table: usize,
        how: u32,
    },
    Stat {
        reads: bool,
        table: usize,
    },
    Flags {
        reads: bool,
        table: usize,
    },
    Compare {
        reads: bool,
        table: usize,
        a: Vec<u8>,
        b: Vec<u8>,
    },
    OpenCursor {
        reads: bool,
        table: usize,
        cursor: usize,
    },
    CloseCursor {
        cursor: usize,
    },
    /// One whose transaction has ended is left to itself.
    ForgetCursor {
        cursor: usize,
    },
    RenewCursor {
        cursor: usize,
    },
    Move {
        cursor: usize,
        op: u32,
        key: Vec<u8>,
        data: Vec<u8>,
        /// The program does not ask for the value.
        bare: bool,
    },
    Count {
        cursor: usize,
    },
    CursorPut {
        cursor: usize,
        key: Vec<u8>,
        data: Vec<u8>,
        flags: u32,
    },
    /// Gives the entry under a cursor another value, or room for one.
    PutCurrent {
        cursor: usize,
        data: Vec<u8>,
        reserve: bool,
    },
    PutMultiple {
        cursor: usize,
        key: Vec<u8>,
        data: Vec<u8>,
        item: usize,
    },
    CursorDel {
        cursor: usize,
        flags: u32,
    },
}
