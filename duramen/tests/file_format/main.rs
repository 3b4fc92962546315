//! Holds docs/file-format.md against databases: all that this second reader knows of the format comes from the tables
//! there, so neither the page nor the code can change without the other.

mod reader;
mod scattered;
mod space;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use duramen::{Database, Duplicates, Durability, Order, TableOptions};

use reader::File;
use space::{Idle, Space};
use tables::FORMAT;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;
/// Keys with their values.
type Contents = Vec<(Vec<u8>, Vec<Vec<u8>>)>;

/// Table names, their options, and what is put into them.
/// A table's name, options and entries.
type Example = (&'static str, TableOptions, Vec<(Vec<u8>, Vec<u8>)>);

fn tables() -> Vec<Example> {
    let several = |kind| TableOptions::new().duplicates(kind);
    let name = |i: u32| format!("person-{:05}", i.wrapping_mul(7919) % 20_000).into_bytes();
    let hashed = |i: u32| (u64::from(i) << 32 | 7).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    // A few keys have very many values, many have a few, one has one.
    let group = |i: u32| vec![(i | 1).ilog2() as u8];
    let backwards = TableOptions::new().order(Order::Custom(Arc::new(|a, b| b.cmp(a))));
    vec![
        ("bytes", TableOptions::new(), (0..3000).map(|i| (name(i), vec![i as u8; i as usize % 90])).collect()),
        ("random", TableOptions::new(), (0..3000).map(|i| (hashed(i).into(), vec![1])).collect()),
        ("zeros", TableOptions::new(), (0..900u16).map(|i| (vec![0; usize::from(i)], vec![2])).collect()),
        ("large", TableOptions::new(), (0..9).map(|i| (vec![i], vec![i; usize::from(i) * 2000])).collect()),
        ("empty", TableOptions::new().user_bits(0xABCD), Vec::new()),
        ("reversed", TableOptions::new().order(Order::Reversed), (0..2000).map(|i| (name(i), vec![3])).collect()),
        (
            "integers",
            TableOptions::new().order(Order::Native),
            (0..2000u64).map(|i| ((i * 977).to_ne_bytes().into(), vec![4])).collect(),
        ),
        ("custom", backwards, (0..2000).map(|i| (name(i), vec![5])).collect()),
        ("duplicates", several(Duplicates::sorted()), (0..3000u32).map(|i| (group(i), name(i))).collect()),
        (
            "fixed",
            several(Duplicates::sorted().fixed_size()),
            (0..4000u32).map(|i| (group(i), u64::from(i).to_be_bytes().into())).collect(),
        ),
    ]
}

fn fill(db: &Database) -> Result {
    db.update(|txn| {
        for (name, options, entries) in tables() {
            let mut table = txn.table_with(name, &options)?;
            for (key, value) in entries {
                table.put(key, value)?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// What the engine says is in a table.
fn through_the_engine(db: &Database, name: &str, options: &TableOptions) -> Result<Contents> {
    let snapshot = db.read()?;
    let table = snapshot.table_with(name, options)?;
    let mut contents = Contents::new();
    for item in table.iter() {
        let (key, value) = item?;
        match contents.last_mut() {
            Some((last, values)) if last == key => values.push(value.to_vec()),
            _ => contents.push((key.to_vec(), vec![value.to_vec()])),
        }
    }
    Ok(contents)
}

/// What the second reader finds, by table, with the records of the tables.
fn through_the_page(file: &mut File) -> BTreeMap<String, (Vec<u8>, Contents)> {
    let catalog = file.catalog();
    let mut found = BTreeMap::new();
    for cell in file.cells(&catalog) {
        assert_eq!(cell.kind, "table");
        let record = cell.value.clone();
        let cells = file.cells(&record);
        let contents = cells.iter().map(|cell| (cell.key.clone(), file.values(cell, &record))).collect();
        found.insert(String::from_utf8(cell.key).unwrap(), (record, contents));
    }
    found
}

fn read(path: &Path) -> File {
    File::new(std::fs::read(path).unwrap())
}

#[test]
fn the_tables_cover_every_byte_once() {
    FORMAT.meta.assert_covers(4096);
    FORMAT.header.assert_covers(40);
    FORMAT.tree.assert_covers(48);
    FORMAT.slot.assert_covers(6);
    FORMAT.stub.assert_covers(16);
    FORMAT.ring_record.assert_covers(128);
    FORMAT.log_record.assert_covers(usize::MAX);
    FORMAT.reader_slot.assert_covers(64);
    FORMAT.child.assert_covers(64);
    FORMAT.cell_word.assert_covers(32);
}

#[test]
fn everything_that_was_stored_is_found_by_the_tables_alone() -> Result {
    let dir = tempfile::tempdir()?;
    for page_size in [4096, 16384] {
        let path = dir.path().join(format!("{page_size}.dm"));
        let db = Database::options().page_size(page_size).open(&path)?;
        fill(&db)?;
        let mut file = read(&path);
        assert_eq!(file.page_size(), page_size);
        let mut found = through_the_page(&mut file);
        for (name, options, _) in tables() {
            let (record, contents) = found.remove(name).ok_or(name)?;
            assert_eq!(contents, through_the_engine(&db, name, &options)?, "{name}");
            compare_records(&db, name, &options, &record)?;
        }
        assert!(found.is_empty());
        for kind in ["branch", "leaf", "packed leaf", "overflow run", "sub-page cell", "sub-tree cell", "table cell"] {
            assert!(file.kinds.contains_key(kind), "the test has met no {kind}: {:?}", file.kinds);
        }
    }
    Ok(())
}

fn compare_records(db: &Database, name: &str, options: &TableOptions, record: &[u8]) -> Result {
    let snapshot = db.read()?;
    let stats = snapshot.table_with(name, options)?.stats();
    let tree = &FORMAT.tree;
    let field = |field| tree.number(record, field);
    let orders = &FORMAT.orders;
    let order = |code| orders.name_of(code).replace("bytewise", "bytes").replace(" integers", "");
    assert_eq!(field("entries"), stats.entries);
    assert_eq!(field("depth"), u64::from(stats.depth));
    assert_eq!(field("branches"), stats.branch_pages);
    assert_eq!(field("leaves"), stats.leaf_pages);
    assert_eq!(field("overflows"), stats.overflow_pages);
    assert_eq!(field("item"), u64::from(stats.item_bytes));
    assert_eq!(field("user"), u64::from(stats.user_bits));
    assert_eq!(order(field("order")), stats.order);
    assert_eq!(reader::flag(record, "fixed"), stats.fixed_size);
    let duplicates = reader::flag(record, "duplicates").then(|| order(field("duplicate order")));
    assert_eq!(duplicates.as_deref(), stats.duplicates);
    Ok(())
}

#[test]
fn the_meta_slot_proves_exactly_the_pages_born_since_its_base() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("proof.dm");
    let db = Database::open(&path)?;
    fill(&db)?;
    for i in 0..20u32 {
        let mut txn = db.begin_write()?;
        txn.set_durability(Durability::Relaxed);
        for j in 0..20 {
            txn.table("random")?.put((i * 20 + j).wrapping_mul(2_654_435_761).to_be_bytes(), [6; 50])?;
        }
        txn.table("large")?.put([i as u8 % 4], [7; 9000])?;
        txn.commit()?;
        assert_proof(&mut read(&path));
    }
    assert!(read(&path).meta("proof base") < read(&path).meta("txnid"), "relaxed commits are to be proven together");
    db.close()?;
    let closed = read(&path);
    assert_eq!(closed.meta("proof base"), closed.meta("txnid"), "a closed database needs no proof");
    Ok(())
}

#[test]
fn a_slot_has_its_receipt_once_it_is_flushed_without_a_lock_file() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("receipt.dm");
    let receipt = |file: &File| {
        let sealed = &file.slot[..FORMAT.meta.range("tail").start];
        file.meta("receipt") == xxhash_rust::xxh3::xxh3_64_with_seed(sealed, file.meta("file id"))
    };
    let db = Database::options().without_lock_file().durability(Durability::Relaxed).open(&path)?;
    fill(&db)?;
    assert!(!receipt(&read(&path)));
    db.checkpoint()?;
    assert!(receipt(&read(&path)));
    db.update(|txn| txn.table("random")?.put("more", "value"))?;
    assert!(!receipt(&read(&path)));
    db.close()?;
    let mut closed = read(&path);
    assert!(receipt(&closed));
    assert_proof(&mut closed);
    Ok(())
}

fn assert_proof(file: &mut File) {
    through_the_page(file);
    Space::read(file);
    let base = file.meta("proof base");
    let young: Vec<_> = file.seen.values().filter(|page| page.birth > base).collect();
    let sum = young.iter().fold(0u64, |sum, page| sum.wrapping_add(page.checksum));
    assert_eq!(sum, file.meta("proof sum"));
    assert_eq!(young.iter().map(|page| page.pages).sum::<u64>(), file.meta("proof pages"));
}

#[test]
fn every_page_is_reachable_or_in_the_space_log_and_never_both() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("space.dm");
    let db = Database::options().durability(Durability::Relaxed).open(&path)?;
    // One run of free pages, before many.
    db.update(|txn| (0..30_000u32).try_for_each(|i| txn.table("long")?.append(i.to_be_bytes(), [8; 100])))?;
    db.update(|txn| txn.table("long")?.clear())?;
    let _reader = db.read()?;
    let (mut base_pages, mut forms) = (0, BTreeSet::new());
    for i in 0..240u32 {
        db.update(|txn| {
            let mut table = txn.table("random")?;
            (0..100).try_for_each(|j| table.put((i * 100 + j).wrapping_mul(2_654_435_761).to_be_bytes(), [8; 40]))
        })?;
        if i < 10 || i % 30 == 29 {
            let space = assert_all_accounted_for(&mut read(&path), &db)?;
            base_pages += space.base_pages;
            forms.extend(space.forms);
        }
    }
    assert!(base_pages > 0, "the test never saw a base");
    assert_eq!(forms, BTreeSet::from([0, 1]), "nor sets of pages of both forms");
    Ok(())
}

/// Programs that open the database for each entry would else all read what a long work left behind.
#[test]
fn who_opens_after_long_work_leaves_a_base_without_detours() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("detours.dm");
    let relaxed = || Database::options().durability(Durability::Relaxed).open(&path);
    let db = relaxed()?;
    let key = |i: u32| i.wrapping_mul(2_654_435_761).to_be_bytes();
    db.update(|txn| (0..20_000).try_for_each(|i| txn.table("random")?.put(key(i), [8; 50])))?;
    let reader = db.read()?;
    for i in 0..180u32 {
        db.update(|txn| (0..20).try_for_each(|j| txn.table("random")?.put(key(i * 100 + j * 5), [9; 50])))?;
    }
    drop(reader);
    db.close()?;
    let retired = |space: &Space| space.idle.values().filter(|idle| matches!(idle, Idle::Retired(..))).count();
    assert!(retired(&Space::read(&mut read(&path))) > 300, "the work leaves much that was retired");

    let db = relaxed()?;
    db.update(|txn| txn.table("random")?.put([0], [9]))?;
    let space = Space::read(&mut read(&path));
    assert_eq!((space.chain_pages, space.deltas), (space.base_pages, 0), "the log is a base, and nothing else");
    assert!(retired(&space) < 50, "{} pages are retired", retired(&space));
    assert_all_accounted_for(&mut read(&path), &db)?;
    Ok(())
}

/// Returns what the space log consists of.
fn assert_all_accounted_for(file: &mut File, db: &Database) -> Result<Space> {
    through_the_page(file);
    let space = Space::read(file);
    let mut owners = vec![0; file.meta("page count") as usize];
    for (&page, seen) in &file.seen {
        (page..page + seen.pages).for_each(|page| owners[page as usize] += 1);
    }
    space.idle.keys().for_each(|&page| owners[page as usize] += 1);
    let first = 16384 / file.page_size();
    assert!(owners[..first].iter().all(|count| *count == 0) && owners[first..].iter().all(|count| *count == 1));
    if file.meta("tail bytes") > 0 {
        assert_eq!(space.txnid, file.meta("txnid"));
    }
    assert_eq!(space.idle.len() as u64, file.meta("free pages"));
    assert_eq!(space.chain_pages, file.meta("chain pages"));
    assert_eq!(space.base_pages, file.meta("base pages"));
    let stats = db.stats()?;
    assert_eq!(stats.free_pages + stats.retired_pages, file.meta("free pages"));
    assert_eq!([stats.committed_ns, db.committed_ns()?], [file.meta("committed ns"); 2]);
    Ok(space)
}

#[test]
fn a_new_file_has_a_valid_slot_in_all_four_places() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("new.dm");
    drop(Database::options().open(&path)?);
    let bytes = std::fs::read(&path)?;
    let meta = &FORMAT.meta;
    for (i, slot) in bytes.chunks(4096).enumerate() {
        assert_eq!((meta.number(slot, "sequence"), meta.number(slot, "txnid")), (i as u64, 0));
        assert_eq!(meta.number(slot, "version"), 2);
        for unused in ["may ignore", "may read", "must refuse", "zero 1", "user", "committed ns", "tail bytes"] {
            assert_eq!(meta.number(slot, unused), 0);
        }
        for zeros in ["zero 2", "zero 3", "tail", "receipt", "rest"] {
            assert!(meta.bytes(slot, zeros).iter().all(|byte| *byte == 0));
        }
    }
    assert_eq!(bytes.len(), 4 * 4096);
    Ok(())
}

/// A new file with a feature in one of its slots.
fn with_feature(path: &Path, slot: usize, field: &str) -> Result {
    let mut bytes = std::fs::read(path)?;
    let (meta, slot) = (&FORMAT.meta, &mut bytes[slot * 4096..][..4096]);
    slot[meta.range(field).start] = 4;
    let (sum, id) = (meta.range("checksum"), meta.number(slot, "file id"));
    let right = xxhash_rust::xxh3::xxh3_64_with_seed(&slot[..sum.start], id);
    slot[sum].copy_from_slice(&right.to_le_bytes());
    Ok(std::fs::write(path, bytes)?)
}

#[test]
fn unknown_features_are_ignored_read_or_refused_as_their_field_says() -> Result {
    let dir = tempfile::tempdir()?;
    for (field, may_read, may_write) in
        [("may ignore", true, true), ("may read", true, false), ("must refuse", false, false)]
    {
        for slot in 0..4 {
            let path = dir.path().join("newer.dm");
            drop(Database::options().open(&path)?);
            with_feature(&path, slot, field)?;
            for (read_only, may) in [(true, may_read), (false, may_write)] {
                let opened = Database::options().read_only(read_only).open(&path);
                let refused = matches!(&opened, Err(duramen::Error::OtherVersion { features: 4, .. }));
                assert!(opened.is_ok() == may && refused != may, "{field}, read-only: {read_only}: {opened:?}");
            }
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}

#[test]
fn the_lock_file_shows_the_newest_commit_and_its_readers() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("shared.dm");
    let db = Database::open(&path)?;
    fill(&db)?;
    let reader = db.read()?;
    let lock = std::fs::read(dir.path().join("shared.dm-lock"))?;
    let header = &FORMAT.lock_file;
    assert_eq!(header.bytes(&lock, "magic"), b"duramenL");
    let txnid = reader.txnid().0;
    for (field, value) in [
        ("version", 6),
        ("ready", 1),
        ("newest", txnid),
        ("durable", txnid),
        ("writing", 0),
        ("blocks", 1),
        ("doubt", 0),
        ("checkpoints due", 0),
        ("inside", 0),
    ] {
        assert_eq!(header.number(&lock, field), value, "{field}");
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_millis() as u64;
    assert!(now - header.number(&lock, "flushed at") < 600_000);
    let inode = header.number(&lock, "inode");
    let inode_found = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&path)?);
    assert!(inode == inode_found || inode == 0, "0 where the system does not tell which mount it is");
    let file = read(&path);
    let (ring, layout) = (header.bytes(&lock, "ring"), &FORMAT.ring_record);
    let record = &ring[(txnid % 64) as usize * 128..][..128];
    assert_eq!(layout.number(record, "mark"), txnid + 1);
    assert_eq!(layout.bytes(record, "catalog"), file.catalog());
    assert_eq!(layout.number(record, "page count"), file.meta("page count"));
    let slot = layout.number(record, "meta slots") as usize & 0xff;
    assert_eq!(file.bytes[slot * 4096..][..4096], file.slot);
    let slots = layout.number(record, "meta slots") as usize;
    assert_eq!((slots >> 8 & 0xff, slots >> 16), (slot, 3), "flushed, nothing in the log");
    let (slots, layout) = (header.bytes(&lock, "slots"), &FORMAT.reader_slot);
    let readers: Vec<_> = slots.chunks(64).filter(|slot| layout.number(slot, "mark") == txnid + 1).collect();
    assert_eq!(readers.len(), 1);
    assert_eq!(layout.number(readers[0], "pid"), u64::from(std::process::id()));
    assert_eq!(layout.number(readers[0], "since"), db.readers()?[0].since_ms);
    Ok(())
}

#[test]
fn the_log_holds_what_each_commit_did_since_the_data_file_was_flushed() -> Result {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("logged.dm");
    let db = Database::options().log_at_once(64 << 10).open(&path)?;
    let base = read(&path);
    db.update(|txn| {
        txn.set_user_number(5);
        txn.table("t")?.put(b"key", [7; 600])
    })?;
    db.update(|txn| txn.table("t")?.replace(b"key", [[7; 500], [8; 500]].concat()).map(drop))?;
    db.update(|txn| txn.table("t")?.delete(b"key").map(drop))?;
    let log = std::fs::read(dir.path().join("logged.dm-log"))?;
    let layout = &FORMAT.log_record;
    let code = |name| FORMAT.operations.code_of(name) as u8;
    let part = |bytes: &[u8]| [&(bytes.len() as u32).to_le_bytes(), bytes].concat();
    let table = |operation| [&[code(operation)], &1u32.to_le_bytes()[..]].concat();
    let created = [table("create"), part(b"t"), vec![0; 5]].concat();
    let put = [table("put"), part(b"key"), part(&[7; 600])].concat();
    let numbers = [500u32.to_le_bytes(), 100u32.to_le_bytes()].concat();
    let spliced = [table("open"), part(b"t"), table("splice"), part(b"key"), numbers, part(&[8; 500])].concat();
    let deleted = [table("open"), part(b"t"), table("delete"), part(b"key")].concat();
    let (mut at, mut previous_ns) = (0, base.meta("committed ns"));
    for (txnid, operations) in [(1, [created, put].concat()), (2, spliced), (3, deleted)] {
        let record = &log[at..];
        assert_eq!(layout.bytes(record, "magic"), b"DLog");
        for (field, value) in [
            ("payload", operations.len() as u64),
            ("txnid", txnid),
            ("base", 0),
            ("base ns", 0),
            ("user", 5),
            ("spare", 0),
        ] {
            assert_eq!(layout.number(record, field), value, "{field}");
        }
        assert_eq!(layout.bytes(record, "operations")[..operations.len()], operations);
        let seed = xxhash_rust::xxh3::xxh3_64_with_seed(&previous_ns.to_le_bytes(), base.meta("file id"));
        let end = 64 + operations.len();
        assert_eq!(layout.number(record, "checksum"), xxhash_rust::xxh3::xxh3_64_with_seed(&record[8..end], seed));
        previous_ns = layout.number(record, "committed ns");
        let units = end.div_ceil(512);
        assert!(record[end..units * 512].iter().all(|&byte| byte == 0));
        at += units * 512;
    }
    assert_eq!(previous_ns, read(&path).meta("committed ns"));
    let lock = std::fs::read(dir.path().join("logged.dm-lock"))?;
    let record = &FORMAT.lock_file.bytes(&lock, "ring")[3 * 128..][..128];
    assert_eq!(FORMAT.ring_record.number(record, "meta slots") >> 16, (at as u64 / 512 + 1) << 1 | 1);
    Ok(())
}
