//! The table of everything that is measured: what the rows are called, their unit, and what is wanted of Duramen.

use serde::{Deserialize, Serialize};

/// How a figure is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Operations for each second: more is better. All others: less is better.
    Rate,
    /// Mebibytes.
    MiB,
    /// Kibibytes.
    KiB,
    /// Milliseconds.
    Millis,
    /// A plain count or ratio.
    Plain,
}

/// One line of the result.
pub struct Row {
    pub id: &'static str,
    pub title: &'static str,
    pub unit: Unit,
    /// The goal for Duramen: against LMDB for rates and file sizes, else in the row's unit.
    pub wanted: &'static str,
}

const fn row(id: &'static str, title: &'static str, unit: Unit, wanted: &'static str) -> Row {
    Row { id, title, unit, wanted }
}

/// All rows, in the order of the report.
pub const ROWS: &[Row] = &[
    row("load-sorted", "load sorted, appended, 100,000 a transaction", Unit::Rate, "1.2x to 2x"),
    row("load-random", "load in random order, 10,000 a transaction", Unit::Rate, "2x to 4x"),
    row("bulk-sorted", "bulk load, sorted", Unit::Rate, "1.5x to 3x"),
    row("bulk-unsorted", "bulk load, in random order", Unit::Rate, "10x to 20x"),
    row("size-bulk-sorted", "file after the sorted bulk load", Unit::MiB, ""),
    row("size-bulk-unsorted", "file after the bulk load in random order", Unit::MiB, ""),
    row("size-sorted", "file after the sorted load", Unit::MiB, ""),
    row("size-random", "file after the random load", Unit::MiB, "0.85x to 0.6x"),
    row("get", "random get, one thread", Unit::Rate, "2x to 3x"),
    row("get-txn", "random get, a new read transaction for each", Unit::Rate, "2x to 3x"),
    row("get-two", "random get, two threads", Unit::Rate, "2x to 3x"),
    row("get-txn-two", "random get, a new read transaction for each, two threads", Unit::Rate, "2x to 3x"),
    row("get-many-16", "16 random gets at once", Unit::Rate, "4x to 6x"),
    row("get-many-64", "64 random gets at once", Unit::Rate, "4x to 6x"),
    row("scan-forward", "full scan forwards", Unit::Rate, "1.5x to 3x"),
    row("scan-backward", "full scan backwards", Unit::Rate, "1.5x to 3x"),
    row("scan-keys", "full scan, keys only", Unit::Rate, "1.5x to 3x"),
    row("scan-range-100", "ranges of 100", Unit::Rate, "1.5x to 3x"),
    row("put-durable", "one durable put a transaction", Unit::Rate, "1.5x to 2x"),
    row("put-durable-flushes", "- flushes for each", Unit::Plain, "1"),
    row("put-durable-written", "- written for each", Unit::KiB, ""),
    row("put-threads", "one durable put a transaction, 16 threads", Unit::Rate, "12x to 20x"),
    row("put-threads-flushes", "- flushes for each", Unit::Plain, ""),
    row("put-threads-written", "- written for each", Unit::KiB, ""),
    row("put-disk", "- the disk alone: overwrite 4 KiB and flush", Unit::Rate, ""),
    row("put-relaxed", "one relaxed put a transaction", Unit::Rate, "3x to 6x"),
    row("put-relaxed-flushes", "- flushes for each", Unit::Plain, "0"),
    row("put-relaxed-written", "- written for each", Unit::KiB, ""),
    row("latency-median", "one durable put a transaction for 60 s: the median", Unit::Millis, ""),
    row("latency-999", "- of a thousand, all but one are faster", Unit::Millis, ""),
    row("latency-worst", "- the worst", Unit::Millis, "1x to 0.1x"),
    row("lasting-relaxed", "one relaxed put a transaction for 60 s", Unit::Rate, ""),
    row("lasting-relaxed-worst", "- the worst", Unit::Millis, ""),
    row("update-100", "100 random updates a durable transaction, fresh file", Unit::Rate, "1.5x to 4x"),
    row("update-100-flushes", "- flushes for each transaction", Unit::Plain, "1"),
    row("update-100-written", "- written for each transaction", Unit::KiB, ""),
    row("update-1000", "1,000 random updates a durable transaction, fresh file", Unit::Rate, "1.5x to 4x"),
    row("update-1000-flushes", "- flushes for each transaction", Unit::Plain, "1"),
    row("update-1000-written", "- written for each transaction", Unit::KiB, ""),
    row("together-write", "100 random updates a durable transaction, beside a reader", Unit::Rate, "5x to 10x"),
    row("together-read", "- the reader's random gets", Unit::Rate, "1.5x to 2x"),
    row("steady-100", "100 random updates a durable transaction, steady state", Unit::Rate, "1.5x to 4x"),
    row("steady-100-flushes", "- flushes for each transaction", Unit::Plain, "1"),
    row("steady-100-written", "- written for each transaction", Unit::KiB, ""),
    row("steady-1000", "1,000 random updates a durable transaction, steady state", Unit::Rate, "1.5x to 4x"),
    row("steady-1000-flushes", "- flushes for each transaction", Unit::Plain, "1"),
    row("steady-1000-written", "- written for each transaction", Unit::KiB, ""),
    row("size-steady", "file in the steady state, after ten times itself in random updates", Unit::MiB, "1.3x to 1x"),
    row("delete", "delete all in random order, 10,000 a transaction", Unit::Rate, "1.5x to 3x"),
    row("insert-again", "insert all again in random order, 10,000 a transaction", Unit::Rate, "1.5x to 3x"),
    row("big-write", "write values of 100 KB, 10 a transaction", Unit::Rate, "1x to 1.5x"),
    row("big-read", "read values of 100 KB, every byte", Unit::Rate, "1x to 1.5x"),
    row("parked-20", "file growth under a parked reader, 200,000 updates, 20 a transaction", Unit::Plain, "1.3 to 1.1"),
    row("parked-20-alone", "- the same without the reader", Unit::Plain, ""),
    row("parked-1", "file growth under a parked reader, 10,000 updates, one a transaction", Unit::Plain, "1.3 to 1.1"),
    row("parked-1-alone", "- the same without the reader", Unit::Plain, ""),
    row("open-clean", "open and get one record", Unit::Millis, "10 to 1"),
    row("open-killed", "open and get one record after kill -9 of a writer", Unit::Millis, "10 to 1"),
    row("memory", "anonymous memory while all is read", Unit::MiB, "4 to 1"),
    row("first-scan", "first scan of a file in memory by a new handle", Unit::Rate, "1x to 5x"),
    row("cold-get", "random get, the file 4 times as large as memory", Unit::Rate, "1x"),
    row("cold-get-many", "- 64 at once", Unit::Rate, "3x to 5x"),
    row("cold-scan", "- full scan of the randomly loaded file", Unit::Rate, "1.5x to 2x"),
    row("cold-scan-backward", "- the same backwards", Unit::Rate, "1.5x to 2x"),
    row("cold-scan-sorted", "- full scan of the file loaded in order", Unit::Rate, "1x to 1.5x"),
];
