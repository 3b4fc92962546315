//! The same random operations on LMDB's own library and on this one: the same codes, the same entries under cursors, the
//! same tables in the end.
//!
//! `DURAMEN_CASES` says how many worlds are played (each of its own seed), `DURAMEN_SEED` repeats one that differed.
//! `DURAMEN_LIBRARY` is another library than the one installed.

mod api;
mod chooser;
mod environment;
mod operations;
mod side;
mod tables;

use std::collections::VecDeque;
use std::ffi::CString;

use api::Api;
use chooser::{CURSORS, Chooser};
use duramen_lmdb::abi::env;
use operations::Operation;
use side::{Answer, Side};
use tables::Tables;

/// Operations in a world.
const OPERATIONS: usize = 4000;
const CASES: u64 = 120;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// What may differ in an answer: see docs/lmdb-compat.md.
fn same(operation: &Operation, stock: &Answer, ours: &Answer) -> bool {
    if let Operation::Move { op, .. } = operation
        && stock.code == ours.code
    {
        // A single value is given as such; LMDB leaves what was there, or gives those of the key before.
        let single = *op == 5 && ours.data.as_ref().is_some_and(|data| data.len() <= 8);
        return (single || stock.data == ours.data) && (!Chooser::compares_key(*op) || stock.key == ours.key);
    }
    stock == ours
}

fn play(seed: u64) {
    let library = std::env::var("DURAMEN_LIBRARY").unwrap_or_else(|_| "liblmdb.so.0".into());
    let Some(stock) = Api::stock(&CString::new(library).unwrap()) else {
        panic!("LMDB's library is not installed (Debian's package liblmdb-dev)")
    };
    let ours = Api::ours(&stock);
    let directory = tempfile::tempdir().unwrap();
    let place = |name| {
        let path = directory.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    };
    let flags = environment::flags(seed);
    let mut chooser = Chooser::new(seed, flags & env::NOLOCK != 0, stock.major == 1);
    let mut stock = Side::new(stock, &place("stock"), flags, CURSORS, &chooser.tables);
    let mut ours = Side::new(ours, &place("ours"), flags, CURSORS, &chooser.tables);
    let mut last = VecDeque::new();
    let count = number("DURAMEN_OPERATIONS").map_or(OPERATIONS, |n| n as usize);
    let every = number("DURAMEN_COMPARE").unwrap_or(64) as usize;
    for i in 0..count {
        let operation = chooser.choose();
        if std::env::var_os("DURAMEN_TRACE").is_some() {
            eprintln!("{i} {operation:?}");
        }
        let (a, b) = (stock.apply(&operation, &chooser.tables), ours.apply(&operation, &chooser.tables));
        let table = chooser.table_of(&operation);
        last.push_back((table, format!("{i} {operation:?} -> {a:?}")));
        if last.len() > 400 {
            last.pop_front();
        }
        let is_refused = chooser.is_refused(&operation) && a.code != 0 && b.code != 0;
        if !is_refused && !same(&operation, &a, &b) {
            let about = last.into_iter().filter(|(t, _)| t.is_none() || *t == table).map(|(_, line)| line);
            let story: Vec<String> = about.collect();
            let story = &story[story.len().saturating_sub(30)..];
            panic!("DURAMEN_SEED={seed}: {operation:?}\nstock {a:?}\n ours {b:?}\n{}", story.join("\n"));
        }
        chooser.note(&operation, a.code, a.number);
        if i % every == 0 {
            compare(seed, i, &stock, &ours, &chooser.tables);
        }
    }
}

fn compare(seed: u64, at: usize, stock: &Side, ours: &Side, tables: &Tables) {
    let (a, b) = (stock.dump(tables), ours.dump(tables));
    if let Some(i) = (0..a.len().max(b.len())).find(|&i| a.get(i) != b.get(i)) {
        panic!(
            "DURAMEN_SEED={seed}: after operation {at}, entry {i} is\n{:?} in stock\n{:?} in ours",
            a.get(i),
            b.get(i)
        );
    }
}

#[test]
fn both_libraries_answer_the_same() {
    if let Some(seed) = number("DURAMEN_SEED") {
        return play(seed);
    }
    let first = number("DURAMEN_FIRST").unwrap_or(1);
    for seed in first..first + number("DURAMEN_CASES").unwrap_or(CASES) {
        play(seed);
    }
}
