//! Copies without free space.

use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

use duramen::{Database, Duplicates, Error, Order, TableMut, TableOptions};

fn go_on(_: u64, _: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Shorter ones first, then backwards.
fn odd(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| b.cmp(a))
}

fn kinds() -> Vec<(&'static str, TableOptions)> {
    let custom = || TableOptions::new().order(Order::Custom(Arc::new(odd)));
    vec![
        ("bytes", TableOptions::new().user_bits(7)),
        ("reversed", TableOptions::new().order(Order::Reversed)),
        ("integers", TableOptions::new().order(Order::Native).duplicates(Duplicates::integers())),
        ("fixed", TableOptions::new().duplicates(Duplicates::sorted().fixed_size())),
        ("own", custom()),
        ("own-twice", custom().duplicates(Duplicates::compared(Arc::new(odd)))),
        ("own-below", TableOptions::new().duplicates(Duplicates::compared(Arc::new(odd)))),
    ]
}

/// Tables of all kinds: keys with one value, with a few, with thousands, and values that fill pages of their own.
fn filled(path: &std::path::Path) -> Database {
    let db = Database::open(path).unwrap();
    let fill = |table: &mut TableMut<'_>| (0..200_u8).try_for_each(|i| table.put([i], [i; 50_000]));
    db.update(|txn| fill(&mut txn.table("gone")?)).unwrap();
    for (name, options) in kinds() {
        let mut txn = db.begin_write().unwrap();
        let mut table = txn.table_with(name, &options).unwrap();
        let has_one_size = ["integers", "fixed"].contains(&name);
        for i in 0..6000_u64 {
            let key = if name == "integers" { (i % 9).to_ne_bytes().to_vec() } else { format!("{:x}", i % 700).into() };
            let value = if has_one_size { i.to_ne_bytes().to_vec() } else { format!("{i}").into() };
            table.put_duplicate(if i < 4000 { key } else { value.clone() }, value).unwrap();
        }
        if table.stats().duplicates.is_none() {
            (1..40_u8).for_each(|i| table.put(vec![i; 40], vec![i; usize::from(i) * 3000]).unwrap());
        }
        txn.commit().unwrap();
    }
    db.update(|txn| {
        let main = txn.main_table();
        txn.put(main, "between", "tables")?;
        txn.set_user_number(99);
        txn.drop_table("gone").map(drop)
    })
    .unwrap();
    db
}

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

fn entries(db: &Database, name: &str) -> Entries {
    let snapshot = db.read().unwrap();
    let table = snapshot.table_to_walk(name).unwrap();
    let owned =
        |entry: duramen::Result<(&[u8], &[u8])>| entry.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap();
    table.iter().map(owned).collect()
}

#[test]
fn a_compacted_copy_has_every_entry_in_its_order_and_no_free_space() {
    let dir = tempfile::tempdir().unwrap();
    let db = filled(&dir.path().join("x.dm"));
    let path = dir.path().join("small.dm");
    let mut told = Vec::new();
    db.copy_compact(&path, |done, total| {
        told.push((done, total));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(!path.with_file_name("small.dm-lock").exists() && !path.with_file_name("small.dm-log").exists());
    let copy = Database::open(&path).unwrap();
    assert!(copy.check(|_, _| ()).unwrap().is_clean());
    assert_eq!(copy.user_number().unwrap(), 99);
    let mut total = 1;
    for (name, options) in kinds() {
        let before = entries(&db, name);
        total += before.len() as u64;
        assert!(before.len() >= 2000, "{name}");
        assert_eq!(entries(&copy, name), before, "{name}");
        // With its functions it is searched and changed as before.
        let snapshot = copy.read().unwrap();
        let table = snapshot.table_with(name, &options).unwrap();
        assert_eq!(table.stats().user_bits, if name == "bytes" { 7 } else { 0 });
        assert!(before.iter().all(|(key, value)| table.contains(key, value).unwrap()), "{name}");
    }
    assert_eq!(copy.read().unwrap().main_table().unwrap().get("between").unwrap(), Some(&b"tables"[..]));
    assert!(told.len() > 3 && told.iter().all(|&(done, all)| done <= all && all == total), "{told:?}");
    assert!(bytes(&copy) * 3 < bytes(&db) * 2, "{} of {}", bytes(&copy), bytes(&db));
    assert_full(&copy);
    copy.update(|txn| txn.table_with("own", &kinds()[4].1)?.put("more", "than before")).unwrap();
}

fn bytes(db: &Database) -> u64 {
    std::fs::metadata(db.path()).unwrap().len()
}

/// It is exactly as long as what it holds.
fn assert_full(copy: &Database) {
    let stats = copy.stats().unwrap();
    assert_eq!((stats.free_pages, bytes(copy)), (0, stats.pages * copy.page_size() as u64));
}

#[test]
fn a_copy_of_a_copy_is_as_long_however_much_there_is_in_how_many_tables() {
    for (page_size, tables, entries, length) in
        [(4096, 1, 0, 0), (4096, 1, 3000, 30), (4096, 40, 101, 30), (4096, 3, 300, 20_000), (65536, 3, 3000, 3000)]
    {
        let dir = tempfile::tempdir().unwrap();
        let path = |name| dir.path().join(name);
        let db = Database::options().page_size(page_size).open(path("x.dm")).unwrap();
        let fill = |table: &mut TableMut<'_>| {
            (0..entries).try_for_each(|i| {
                table.append(u32::to_be_bytes(i), vec![7; length + i as usize % 5000 * length / 5000])
            })
        };
        db.update(|txn| (0..tables).try_for_each(|i| fill(&mut txn.table(format!("table {i}"))?))).unwrap();
        db.copy_compact(path("once.dm"), go_on).unwrap();
        let once = Database::open(path("once.dm")).unwrap();
        once.copy_compact(path("twice.dm"), go_on).unwrap();
        let twice = Database::open(path("twice.dm")).unwrap();
        assert_full(&once);
        assert!(bytes(&once) == bytes(&twice) && bytes(&once) <= bytes(&db), "{} {}", bytes(&once), bytes(&db));
        assert!(once.check(|_, _| ()).unwrap().is_clean());
    }
}

#[test]
fn a_main_table_alone_is_copied_whatever_its_order() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("x.dm")).unwrap();
    let options = TableOptions::new().order(Order::Custom(Arc::new(odd)));
    db.update(|txn| {
        txn.set_main_options(&options)?;
        let main = txn.main_table();
        (0..3000).try_for_each(|i| txn.put(main, format!("{i}"), format!("value {i}")))
    })
    .unwrap();
    let path = dir.path().join("small.dm");
    db.copy_compact(&path, go_on).unwrap();
    let copy = Database::open(&path).unwrap();
    assert_eq!(entries(&copy, ""), entries(&db, ""));
    let snapshot = copy.read().unwrap();
    assert_eq!(snapshot.main_table_with(&options).unwrap().get("77").unwrap(), Some(&b"value 77"[..]));
}

#[test]
fn the_copy_is_of_one_commit_whatever_is_written_meanwhile() {
    let dir = tempfile::tempdir().unwrap();
    let db = filled(&dir.path().join("x.dm"));
    let before = entries(&db, "bytes");
    let path = dir.path().join("small.dm");
    db.copy_compact(&path, |_, _| {
        db.update(|txn| txn.table("bytes")?.clear().map(drop)).unwrap();
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(entries(&db, "bytes"), []);
    assert_eq!(entries(&Database::open(path).unwrap(), "bytes"), before);
}

#[test]
fn a_copy_that_is_stopped_leaves_no_file_and_none_is_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let db = filled(&dir.path().join("x.dm"));
    let path = dir.path().join("small.dm");
    let stopped = db.copy_compact(&path, |_, _| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    assert!(!path.exists());
    std::fs::write(&path, "precious").unwrap();
    assert!(matches!(db.copy_compact(&path, go_on), Err(Error::Usage { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    std::fs::write(&path, "").unwrap();
    db.copy_compact(&path, go_on).unwrap();
    assert_eq!(entries(&Database::open(path).unwrap(), "own"), entries(&db, "own"));
    let error = db.copy_compact(dir.path().join("no/such/place"), go_on).unwrap_err().to_string();
    assert!(error.contains("no/such/place"), "{error}");
}
