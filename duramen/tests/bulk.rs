//! Bulk loads: what they store is what putting the records one by one stores, in tables of every kind; and if they come
//! to nothing, nothing is left of them.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use duramen::{BulkOptions, Database, Duplicates, Durability, Error, Medium, MediumLayer, Order, TableOptions};
use proptest::prelude::*;

type Records = Vec<(Vec<u8>, Vec<u8>)>;

fn backwards() -> Order {
    Order::Custom(Arc::new(|a: &[u8], b: &[u8]| b.cmp(a)))
}

/// A kind of table, with what its keys and its values are made of.
#[derive(Clone, Debug)]
struct Kind {
    options: TableOptions,
    key_bytes: Option<usize>,
    value_bytes: Option<usize>,
    duplicates: bool,
}

fn kinds() -> impl Strategy<Value = Kind> {
    let keys = prop_oneof![
        Just((Order::Bytes, None)),
        Just((Order::Reversed, None)),
        Just((backwards(), None)),
        Just((Order::Native, Some(4))),
        Just((Order::Native, Some(8))),
    ];
    let compared = Duplicates::compared(Arc::new(|a: &[u8], b: &[u8]| b.cmp(a)));
    let values = prop_oneof![
        Just((None, None)),
        Just((None, None)),
        Just((Some(Duplicates::sorted()), None)),
        Just((Some(Duplicates::reversed()), None)),
        Just((Some(compared), None)),
        Just((Some(Duplicates::sorted().fixed_size()), Some(6))),
        Just((Some(Duplicates::integers()), Some(8))),
    ];
    (keys, values).prop_map(|((order, key_bytes), (duplicates, value_bytes))| {
        let options = TableOptions::new().order(order);
        let is_duplicates = duplicates.is_some();
        let options = duplicates.map_or(options.clone(), |duplicates| options.duplicates(duplicates));
        Kind { options, key_bytes, value_bytes, duplicates: is_duplicates }
    })
}

/// Records for a kind of table: `keys` different keys, so that some come twice; some values larger than a page.
fn records(kind: &Kind, count: usize, keys: u64, seed: u64) -> Records {
    let mut random = seed | 1;
    let mut below = move |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 32) % n
    };
    let bytes = |number: u64, len: usize| {
        let word = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
        word.iter().copied().cycle().take(len).collect::<Vec<u8>>()
    };
    let mut all = Vec::new();
    for _ in 0..count {
        let number = below(keys);
        let key = bytes(number, kind.key_bytes.unwrap_or((number % 23) as usize));
        let longest = match (kind.duplicates, below(200)) {
            (true, 0) => 1000,
            (true, _) => 20,
            (false, 0) => 60_000,
            (false, 1..4) => 3000,
            (false, _) => 90,
        };
        let value = bytes(below(1 << 20), kind.value_bytes.unwrap_or(below(longest) as usize));
        all.push((key, value));
    }
    all
}

fn entries(db: &Database, table: &str, options: &TableOptions) -> Records {
    let snapshot = db.read().unwrap();
    let table = snapshot.table_with(table, options).unwrap();
    let entries: Records = table.iter().map(|item| item.map(|(k, v)| (k.to_vec(), v.to_vec())).unwrap()).collect();
    assert_eq!(table.len(), entries.len() as u64);
    entries
}

fn assert_sound(db: &Database) {
    assert_eq!(db.check(|_, _| {}).unwrap().findings, Vec::<String>::new());
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(directory).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

proptest! {
    #![proptest_config(ProptestConfig { cases: std::env::var("DURAMEN_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(32), failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_loaded_table_holds_what_putting_its_records_would_have_left(
        kind in kinds(),
        count in prop_oneof![0..4usize, 0..3000usize],
        keys in prop_oneof![Just(3u64), Just(300), Just(1 << 40)],
        seed in any::<u64>(),
        page_size in prop_oneof![Just(4096usize), Just(4096), Just(65536)],
        memory in prop_oneof![Just(1usize), Just(1 << 20), Just(256 << 20)],
        keep_cached in any::<bool>(),
        relaxed in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let durability = if relaxed { Durability::Relaxed } else { Durability::Durable };
        let options = Database::options().page_size(page_size).durability(durability);
        let db = options.clone().open(directory.path().join("db")).unwrap();
        // Holes, so that not all goes behind the file's end.
        db.update(|txn| (0..2000u32).try_for_each(|i| txn.table("holes")?.put(i.to_be_bytes(), [1; 700]))).unwrap();
        db.update(|txn| txn.table("holes")?.delete_range(&500u32.to_be_bytes()[..]..&1500u32.to_be_bytes()[..])).unwrap();

        let records = records(&kind, count, keys, seed);
        let load = |name: &str, records: &Records, sorted: bool| {
            let bulk = BulkOptions::new().table(kind.options.clone()).memory_budget(memory);
            let mut load = db.bulk_load(name, bulk.sorted(sorted).keep_cached(keep_cached)).unwrap();
            records.iter().for_each(|(key, value)| load.push(key, value).unwrap());
            load.finish().unwrap()
        };
        let loaded = load("any order", &records, false);
        db.update(|txn| {
            let mut table = txn.table_with("put", &kind.options)?;
            records.iter().try_for_each(|(key, value)| table.put(key, value))
        }).unwrap();
        let expected = entries(&db, "put", &kind.options);
        prop_assert_eq!(loaded, expected.len() as u64);
        prop_assert_eq!(&entries(&db, "any order", &kind.options), &expected);
        prop_assert_eq!(load("in order", &expected, true), loaded);
        prop_assert_eq!(&entries(&db, "in order", &kind.options), &expected);
        assert_sound(&db);

        // What was loaded can be written to like any other table.
        db.update(|txn| {
            for name in ["any order", "put"] {
                let mut table = txn.table_with(name, &kind.options)?;
                records.iter().step_by(3).try_for_each(|(key, _)| table.delete(key).map(drop))?;
                records.iter().step_by(2).try_for_each(|(key, value)| table.put(key, value))?;
            }
            Ok(())
        }).unwrap();
        let expected = entries(&db, "put", &kind.options);
        prop_assert_eq!(&entries(&db, "any order", &kind.options), &expected);
        assert_sound(&db);
        db.close().unwrap();
        let db = options.open(directory.path().join("db")).unwrap();
        prop_assert_eq!(&entries(&db, "any order", &kind.options), &expected);
        prop_assert_eq!(names(directory.path()), ["db", "db-lock"]);
    }
}

fn fresh() -> (tempfile::TempDir, Database) {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path().join("db")).unwrap();
    (directory, db)
}

fn key(i: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&i.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    key
}

#[test]
fn a_tree_of_several_levels_is_packed_full_and_lies_in_key_order() {
    let (_directory, db) = fresh();
    let mut load = db.bulk_load("t", BulkOptions::new().memory_budget(4 << 20)).unwrap();
    for i in 0..200_000 {
        load.push(key(i), [i as u8; 100]).unwrap();
    }
    assert_eq!(load.finish().unwrap(), 200_000);
    let snapshot = db.read().unwrap();
    let stats = snapshot.table("t").unwrap().stats();
    assert_eq!(stats.leaf_pages, 200_000u64.div_ceil(32));
    assert_eq!(stats.depth, 3);
    for i in (0..200_000).step_by(97) {
        assert_eq!(snapshot.table("t").unwrap().get(key(i)).unwrap(), Some(&[i as u8; 100][..]));
    }
    drop(snapshot);
    assert_sound(&db);
    let live = stats.leaf_pages + stats.branch_pages;
    assert!(db.stats().unwrap().pages < live + live / 8 + 64, "pages taken and not used went back");
}

#[test]
fn nothing_is_to_be_seen_before_the_end_and_readers_go_on() {
    let (_directory, db) = fresh();
    db.update(|txn| txn.table("other")?.put(b"k", b"v")).unwrap();
    let before = db.read_owned().unwrap();
    let mut load = db.bulk_load("t", BulkOptions::new()).unwrap();
    (0..10_000).for_each(|i| load.push(key(i), [3; 100]).unwrap());
    assert!(matches!(db.try_begin_write(), Err(Error::Busy)));
    assert!(db.read().unwrap().table("t").is_err());
    load.finish().unwrap();
    assert!(before.table("t").is_err());
    assert_eq!(before.table("other").unwrap().get(b"k").unwrap(), Some(&b"v"[..]));
    assert_eq!(db.read().unwrap().table("t").unwrap().len(), 10_000);
}

#[test]
fn a_load_that_is_dropped_or_stopped_leaves_nothing() {
    let (directory, db) = fresh();
    db.update(|txn| txn.table("other")?.put(b"k", b"v")).unwrap();
    let before = (db.stats().unwrap().pages, db.stats().unwrap().txnid, std::fs::read(db.path()).unwrap());
    let push = |options: BulkOptions, value: usize| {
        let mut load = db.bulk_load("t", options.memory_budget(1 << 20)).unwrap();
        let pushed = (0..20_000).try_for_each(|i| load.push(key(i * 7 % 20_000), vec![1; value]));
        pushed.and_then(|()| load.finish())
    };
    let stop_when = |done: fn(duramen::BulkProgress) -> bool| {
        BulkOptions::new()
            .on_progress(move |p| if done(p) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    for options in [stop_when(|p| p.pushed > 10_000), stop_when(|p| p.stored > 10_000)] {
        assert!(matches!(push(options, 200), Err(Error::Stopped)));
    }
    drop(db.bulk_load("t", BulkOptions::new()).unwrap());
    let mut load = db.bulk_load("t", BulkOptions::new()).unwrap();
    (0..200).for_each(|i| load.push(key(i), vec![2; 50_000]).unwrap());
    drop(load);
    let stats = db.stats().unwrap();
    assert_eq!((stats.pages, stats.txnid, std::fs::read(db.path()).unwrap()), before);
    assert!(db.read().unwrap().table("t").is_err());
    assert_sound(&db);
    assert_eq!(names(directory.path()), ["db", "db-lock"]);
    assert_eq!(push(BulkOptions::new(), 200).unwrap(), 20_000);
    assert_sound(&db);
}

/// It panics in the thread that sorts what was pushed before.
#[test]
fn a_comparison_that_panics_ends_a_load() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, Ordering};
    let (_dir, db) = fresh();
    let armed = Arc::new(AtomicBool::new(false));
    let trigger = armed.clone();
    let order = Order::Custom(Arc::new(move |a: &[u8], b: &[u8]| {
        assert!(!trigger.swap(false, Ordering::Relaxed), "on purpose");
        a.cmp(b)
    }));
    let options = BulkOptions::new().memory_budget(1).table(TableOptions::new().order(order));
    let mut load = db.bulk_load("t", options).unwrap();
    let mut panics = 0;
    for i in 0..20_000 {
        armed.fetch_or(i == 3000, Ordering::Relaxed);
        match catch_unwind(AssertUnwindSafe(|| load.push(key(i), "value"))) {
            Ok(pushed) => assert_eq!(pushed.is_ok(), panics == 0),
            Err(_) => panics += 1,
        }
    }
    assert_eq!(panics, 1);
    assert!(matches!(load.finish(), Err(Error::TxnFailed)));
    assert!(db.read().unwrap().table_names().unwrap().is_empty());
}

#[test]
fn a_load_in_a_transaction_becomes_part_of_it() {
    let (_directory, db) = fresh();
    let mut txn = db.begin_write().unwrap();
    txn.table("before").unwrap().put(b"a", b"1").unwrap();
    let mut load = txn.bulk_load("t", BulkOptions::new()).unwrap();
    (0..5000).for_each(|i| load.push(key(i), [4; 100]).unwrap());
    assert_eq!(load.finish().unwrap(), 5000);
    assert_eq!(txn.table("t").unwrap().get(key(77)).unwrap(), Some(&[4; 100][..]));
    txn.table("t").unwrap().delete(key(77)).unwrap();
    let mut load = txn.bulk_load("given up", BulkOptions::new()).unwrap();
    (0..5000).for_each(|i| load.push(key(i), [5; 100]).unwrap());
    drop(load);
    txn.commit().unwrap();
    let snapshot = db.read().unwrap();
    assert_eq!(snapshot.table_names().unwrap(), [b"before".to_vec(), b"t".to_vec()]);
    assert_eq!(snapshot.table("t").unwrap().len(), 4999);
    assert_sound(&db);
    let mut txn = db.begin_write().unwrap();
    let mut load = txn.bulk_load("aborted", BulkOptions::new()).unwrap();
    (0..5000).for_each(|i| load.push(key(i), [6; 5000]).unwrap());
    load.finish().unwrap();
    txn.abort();
    assert_sound(&db);
    assert_eq!(db.read().unwrap().table_names().unwrap().len(), 2);
}

#[test]
fn the_main_table_can_be_loaded_while_it_is_empty() {
    let (_directory, db) = fresh();
    let mut load = db.bulk_load("", BulkOptions::new()).unwrap();
    (0..5000).for_each(|i| load.push(key(i), b"v").unwrap());
    load.finish().unwrap();
    assert_eq!(db.read().unwrap().main_table().unwrap().len(), 5000);
    db.update(|txn| txn.table("t")?.put(b"k", b"v")).unwrap();
    assert_sound(&db);
    assert!(matches!(db.bulk_load("", BulkOptions::new()), Err(Error::Incompatible { .. })));
}

#[test]
fn a_table_with_entries_or_of_another_kind_is_refused() {
    let (_directory, db) = fresh();
    db.update(|txn| txn.table("full")?.put(b"k", b"v")).unwrap();
    db.update(|txn| txn.table("empty").map(drop)).unwrap();
    let error = db.bulk_load("full", BulkOptions::new()).unwrap_err();
    assert!(error.to_string().contains("has entries"), "{error}");
    let native = || BulkOptions::new().table(TableOptions::new().order(Order::Native));
    assert!(matches!(db.bulk_load("empty", native()), Err(Error::TableOptions { .. })));
    let mut load = db.bulk_load("empty", BulkOptions::new()).unwrap();
    load.push(b"k", b"v").unwrap();
    assert_eq!(load.finish().unwrap(), 1);
    // No record at all makes an empty table.
    assert_eq!(db.bulk_load("none", native()).unwrap().finish().unwrap(), 0);
    assert!(db.read().unwrap().table("none").unwrap().is_empty());
    assert_sound(&db);
}

#[test]
fn a_record_that_cannot_be_stored_is_named_and_left_out() {
    let (_directory, db) = fresh();
    for sorted in [false, true] {
        let mut load = db.bulk_load(if sorted { "sorted" } else { "any" }, BulkOptions::new().sorted(sorted)).unwrap();
        load.push(b"a", b"1").unwrap();
        let error = load.push(vec![b'b'; 1025], b"2").unwrap_err();
        assert_eq!(error.to_string(), "record 2: a key of 1025 bytes: this table takes 0 to 1024");
        load.push(b"c", b"3").unwrap();
        if sorted {
            let error = load.push(b"b", vec![4; 100_000]).unwrap_err();
            assert!(matches!(&error, Error::Record { record: 4, source } if matches!(**source, Error::AppendOrder)));
        }
        assert_eq!(load.finish().unwrap(), 2);
    }
    let table = |name| BulkOptions::new().table(name);
    let native = TableOptions::new().order(Order::Native);
    let mut load = db.bulk_load("native", table(native)).unwrap();
    load.push(1u64.to_ne_bytes(), b"").unwrap();
    let error = load.push(1u32.to_ne_bytes(), b"").unwrap_err();
    assert_eq!(error.to_string(), "record 2: a key of 4 bytes: this table takes 8");
    load.finish().unwrap();
    let fixed = TableOptions::new().duplicates(Duplicates::sorted().fixed_size());
    let mut load = db.bulk_load("fixed", table(fixed)).unwrap();
    load.push(b"k", b"123").unwrap();
    assert!(load.push(b"k", b"12").unwrap_err().to_string().starts_with("record 2: a value of 2 bytes"));
    load.push(b"k", b"122").unwrap();
    assert_eq!(load.finish().unwrap(), 2);
    assert_sound(&db);
}

#[test]
fn a_repeated_key_is_an_error_if_it_is_to_be() {
    let (_directory, db) = fresh();
    for value in [10, 100_000] {
        let mut load = db.bulk_load("any", BulkOptions::new().unique(true)).unwrap();
        [b"b", b"a", b"b"].iter().for_each(|key| load.push(key, vec![1; value]).unwrap());
        let error = load.finish().unwrap_err();
        assert_eq!(error.to_string(), "the key \"b\" comes more than once");
    }
    assert!(db.read().unwrap().table("any").is_err());
    let mut load = db.bulk_load("sorted", BulkOptions::new().unique(true).sorted(true)).unwrap();
    load.push(b"a", b"1").unwrap();
    assert_eq!(load.push(b"a", b"2").unwrap_err().to_string(), "record 2: the key \"a\" comes more than once");
    load.finish().unwrap();
    assert_eq!(db.read().unwrap().table("sorted").unwrap().get(b"a").unwrap(), Some(&b"1"[..]));
    assert_sound(&db);
}

#[test]
fn values_of_many_blocks_are_stored_whole_and_lie_beside_small_ones() {
    let (_directory, db) = fresh();
    let value = |i: u64| -> Vec<u8> {
        let bytes = [50, (3 << 20) + 5, (1 << 20) - 64, 5000][i as usize % 4];
        (0..bytes as u64).map(|n| (n.wrapping_mul(i + 1) >> 3) as u8).collect()
    };
    for (name, sorted) in [("any", false), ("sorted", true)] {
        let mut load = db.bulk_load(name, BulkOptions::new().sorted(sorted).memory_budget(1)).unwrap();
        for i in 0..40u64 {
            let i = if sorted { i } else { i * 7 % 40 };
            load.push(i.to_be_bytes(), value(i)).unwrap();
        }
        assert_eq!(load.finish().unwrap(), 40);
        let snapshot = db.read().unwrap();
        let table = snapshot.table(name).unwrap();
        (0..40).for_each(|i| assert!(table.get(u64::to_be_bytes(i)).unwrap() == Some(&value(i)), "value {i}"));
    }
    assert_sound(&db);
}

#[test]
fn progress_is_told_while_records_are_pushed_and_while_they_are_stored() {
    let (_directory, db) = fresh();
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = seen.clone();
    let options = BulkOptions::new().memory_budget(1).on_progress(move |progress| {
        told.lock().unwrap().push(progress);
        ControlFlow::Continue(())
    });
    let mut load = db.bulk_load("t", options).unwrap();
    (0..20_000).for_each(|i| load.push(key(i), b"v").unwrap());
    load.finish().unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.iter().any(|p| p.pushed < 20_000 && p.stored == 0));
    assert!(seen.iter().any(|p| p.pushed == 20_000 && p.stored > 10_000));
    assert!(seen.is_sorted_by_key(|p| (p.pushed, p.stored)));
}

#[test]
fn progress_is_told_while_runs_are_merged_whatever_the_length_of_records() {
    for bytes in [1008, 1000] {
        let (_directory, db) = fresh();
        let seen = Arc::new(std::sync::Mutex::new(0));
        let told = seen.clone();
        let options = BulkOptions::new().memory_budget(1).on_progress(move |progress| {
            *told.lock().unwrap() += u32::from((progress.pushed, progress.stored) == (40_000, 0));
            ControlFlow::Continue(())
        });
        let mut load = db.bulk_load("t", options).unwrap();
        (0..40_000).for_each(|i| load.push(key(i * 7 % 40_000), vec![1; bytes]).unwrap());
        load.finish().unwrap();
        let seen = *seen.lock().unwrap();
        assert!(seen > 20, "told {seen} times, with values of {bytes} bytes");
    }
}

#[test]
fn a_temporary_directory_that_is_not_there_is_named_and_nothing_is_left() {
    let (_directory, db) = fresh();
    let options = BulkOptions::new().memory_budget(1).temp_dir("/nowhere/at/all");
    let mut load = db.bulk_load("t", options).unwrap();
    let pushed = Cell::new(0);
    let outcome = (0..100_000).try_for_each(|i| {
        pushed.set(i);
        load.push(key(i), [1; 100])
    });
    assert!(outcome.unwrap_err().to_string().contains("/nowhere/at/all"));
    assert!(matches!(load.push(b"k", b"v"), Err(Error::TxnFailed)));
    assert!(matches!(load.finish(), Err(Error::TxnFailed)));
    assert!(db.read().unwrap().table("t").is_err());
    assert_sound(&db);
}

#[test]
fn a_load_that_is_forgotten_is_not_committed() -> Result<(), Error> {
    for sorted in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let db = Database::open(dir.path().join("db"))?;
        let mut txn = db.begin_write()?;
        txn.table("before")?.put("a", "b")?;
        let mut load = txn.bulk_load("loaded", BulkOptions::new().sorted(sorted))?;
        (0..10_u8).try_for_each(|i| load.push([i], vec![i; 300_000]))?;
        std::mem::forget(load);
        assert!(matches!(txn.commit(), Err(Error::TxnFailed)), "sorted: {sorted}");
        db.update(|txn| txn.table("after")?.put("c", "d"))?;
        assert_eq!(db.read()?.table_names()?, [b"after"]);
        assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    }
    Ok(())
}

/// A medium on which what goes past the page cache waits for this.
struct Slow(Arc<dyn Medium>, Arc<dyn Fn() + Send + Sync>);

impl Medium for Slow {
    fn write_at(&self, offset: u64, parts: &[IoSlice<'_>]) -> io::Result<()> {
        self.0.write_at(offset, parts)
    }

    fn write_past_cache(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        (self.1)();
        self.0.write_past_cache(offset, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.0.flush()
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }
}

fn slowed(wait: impl Fn() + Send + Sync + 'static) -> MediumLayer {
    let wait: Arc<dyn Fn() + Send + Sync> = Arc::new(wait);
    Arc::new(move |medium| Arc::new(Slow(medium, wait.clone())))
}

#[test]
fn a_load_that_is_forgotten_writes_nothing_once_its_transaction_has_ended() -> duramen::Result<()> {
    let dir = tempfile::tempdir().unwrap();
    let layer = slowed(|| std::thread::sleep(Duration::from_millis(30)));
    let db = Database::options().medium(layer).open(dir.path().join("it.dm"))?;
    let mut txn = db.begin_write()?;
    let mut load = txn.bulk_load("bulk", BulkOptions::new().sorted(true))?;
    for i in 0..9000_u32 {
        load.push(i.to_be_bytes(), [7; 400])?;
    }
    std::mem::forget(load);
    txn.abort();
    db.update(|txn| {
        let mut table = txn.table("t")?;
        (0..5000_u32).try_for_each(|key| table.put(key.to_be_bytes(), [1; 200]))
    })?;
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    assert_eq!(db.read()?.table("t")?.len(), 5000);
    Ok(())
}

#[test]
fn a_load_that_is_forgotten_writes_nothing_once_the_child_transaction_that_it_was_in_has_ended() -> duramen::Result<()>
{
    let dir = tempfile::tempdir().unwrap();
    let goes_on = Arc::new(AtomicBool::new(false));
    let may_go_on = goes_on.clone();
    // Until it may, or until nobody can be expected to say so.
    let layer = slowed(move || {
        let begun = Instant::now();
        while !may_go_on.load(Ordering::Relaxed) && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let db = Database::options().medium(layer).open(dir.path().join("it.dm"))?;
    let mut txn = db.begin_write()?;
    let mut child = txn.child()?;
    let mut load = child.bulk_load("bulk", BulkOptions::new().sorted(true))?;
    (0..20_000_u32).try_for_each(|i| load.push(i.to_be_bytes(), [7; 80]))?;
    std::mem::forget(load);
    child.abort();
    // In the pages that the load had taken.
    let mut table = txn.table("t")?;
    (0..20_000_u32).try_for_each(|i| table.put(i.to_be_bytes(), [1; 80]))?;
    txn.commit()?;
    goes_on.store(true, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(db.check(|_, _| {})?.findings, Vec::<String>::new());
    let snapshot = db.read()?;
    let strange =
        snapshot.table("t")?.iter().filter(|entry| !matches!(entry, Ok((_, value)) if *value == [1; 80])).count();
    assert_eq!(strange, 0, "of {} entries", snapshot.table("t")?.len());
    Ok(())
}
