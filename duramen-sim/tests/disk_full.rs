//! A real disk that is full: a tmpfs and an ext4 of a few megabytes. Where mounting is not permitted, a limit on the
//! size of files stands for it.

use std::io::Write;
use std::path::Path;

use duramen::{BulkOptions, Database, Durability, Error};
use duramen_sim::disk::{Disk, Fault};
use duramen_sim::mount::Mount;

fn key(i: u32) -> [u8; 4] {
    i.wrapping_mul(0x9E37_79B9).to_be_bytes()
}

/// Stores batches until one fails; the batches that are there.
fn fill(db: &Database, first: u32) -> (u32, Error) {
    for batch in first.. {
        let stored = db.update(|txn| {
            let mut table = txn.table("t")?;
            (0..50).try_for_each(|i| table.put(key(batch * 50 + i), vec![batch as u8; 700]))
        });
        if let Err(error) = stored {
            return (batch, error);
        }
        assert!(batch < 100_000, "the disk does not fill");
    }
    unreachable!("the loop has no end")
}

fn assert_whole(db: &Database, batches: u32, when: &str) {
    let report = db.check(|_, _| {}).unwrap();
    assert_eq!(report.findings, Vec::<String>::new(), "{when}");
    let snapshot = db.read().unwrap();
    let table = snapshot.table("t").unwrap();
    assert_eq!(table.len(), u64::from(batches) * 50, "{when}");
    for i in 0..batches * 50 {
        assert_eq!(table.get(key(i)).unwrap(), Some(&[(i / 50) as u8; 700][..]), "{when}: entry {i}");
    }
}

/// Fills the disk, makes room by deleting, goes on.
fn fill_delete_go_on(options: duramen::Options, path: &Path) {
    let db = options.clone().open(path).unwrap();
    let (batches, error) = fill(&db, 0);
    assert!(error.is_disk_full(), "{error}");
    assert!(batches > 10, "only {batches} batches fit");
    assert_whole(&db, batches, "on the full disk");
    // The handle is as good as before; it may even find room for a little more.
    let (batches, error) = fill(&db, batches);
    assert!(error.is_disk_full(), "{error}");
    assert_whole(&db, batches, "on the full disk, after another attempt");

    // Deleting writes pages too: a little at a time while there is hardly any room.
    let left = batches / 2;
    for i in (left * 50..batches * 50).step_by(5) {
        let deleted = db.update(|txn| {
            let mut table = txn.table("t")?;
            (i..i + 5).try_for_each(|i| table.delete(key(i)).map(drop))
        });
        deleted.unwrap_or_else(|error| panic!("deleting entry {i} of {} from the full disk: {error}", batches * 50));
    }
    assert_whole(&db, left, "after deleting half");
    let (more, error) = fill(&db, left);
    assert!(error.is_disk_full(), "{error}");
    assert!(more >= left + batches / 4, "{more} batches after deleting {left} of {batches}");
    assert_whole(&db, more, "full again");
    drop(db);
    let db = options.open(path).unwrap();
    assert_whole(&db, more, "after opening again");
}

fn on_a_small_filesystem(name: &str, mount: Option<Mount>) {
    let Some(mount) = mount else {
        eprintln!("NOT TESTED on {name}: mounting is not permitted here (the simulated full disk is tested)");
        return;
    };
    for durability in [Durability::Durable, Durability::Relaxed] {
        let path = mount.point().join("full.dm");
        fill_delete_go_on(Database::options().durability(durability), &path);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn on_a_full_tmpfs_the_transaction_fails_and_the_database_goes_on() {
    on_a_small_filesystem("tmpfs", Mount::tmpfs(4));
}

#[test]
fn on_a_full_ext4_the_transaction_fails_and_the_database_goes_on() {
    on_a_small_filesystem("ext4", Mount::ext4(8));
}

#[test]
fn a_log_that_finds_no_room_leaves_to_the_data_file_what_there_is() {
    let Some(mount) = Mount::tmpfs(1) else {
        eprintln!("NOT TESTED: mounting is not permitted here");
        return;
    };
    let db = Database::options().durability(Durability::Durable).open(mount.point().join("full.dm")).unwrap();
    let put = |i: u32| db.update(|txn| txn.table("t")?.put(key(i), [7; 300]));
    let stored = (0..10_000).map_while(|i| put(i).ok()).count();
    assert!(stored > 1000, "only {stored} entries");
}

/// There, what is written over is written elsewhere, and may find no room. What processes share is written through a map, where
/// the kernel can say so by a signal only.
#[test]
fn on_a_full_btrfs_nobody_is_ended_by_a_signal() {
    let Some(mount) = Mount::btrfs(120) else {
        eprintln!("NOT TESTED on btrfs: mounting is not permitted here, or there is none");
        return;
    };
    let options = Database::options().durability(Durability::Relaxed);
    let db = options.clone().open(mount.point().join("full.dm")).unwrap();
    let (batches, error) = fill(&db, 0);
    assert!(error.is_disk_full(), "{error}");
    let mut rest = std::fs::File::create(mount.point().join("rest")).unwrap();
    for _ in 0..3 {
        // Not one block is left, nor comes back.
        while rest.write_all(&[7; 4096]).is_ok() {}
        mount.sync();
        assert_whole(&db, batches, "on the full disk");
        let refused = db.update(|txn| txn.table("more")?.put([0], vec![7; 1 << 20])).unwrap_err();
        assert!(refused.is_disk_full(), "{refused}");
        let another = options.clone().open(db.path()).unwrap();
        assert_whole(&another, batches, "opened a second time");
    }
}

/// Puts an entry into each of so many tables, at places far from each other.
fn put_in_tables(db: &Database, tables: u32, i: u32, value: &[u8]) -> Result<(), Error> {
    db.update(|txn| {
        (0..tables).try_for_each(|n| txn.table(format!("t{n}"))?.put(key(i.wrapping_mul(2 * n + 1)), value))
    })
}

/// Fills the disk with ever smaller transactions, until not even one entry can be put; then entries are deleted and
/// replaced.
fn delete_and_replace_without_any_room(options: &duramen::Options, path: &Path, bytes: usize) {
    const TABLES: u32 = 12;
    let db = options.clone().open(path).unwrap();
    let mut put = Vec::new();
    for tables in [TABLES, 3, 1] {
        let mut refused = 0;
        for i in put.len() as u32.. {
            match put_in_tables(&db, tables, i, &vec![7; bytes]) {
                Ok(()) => put.push(tables),
                Err(error) => {
                    assert!(error.is_disk_full(), "{error}");
                    refused += 1;
                    if refused == 3 {
                        break;
                    }
                    put.push(0);
                }
            }
        }
    }
    assert!(put.len() > 10, "only {} entries of {bytes} bytes fit", put.len());
    for (i, tables) in (0..).zip(put) {
        let what = format!("values of {bytes} bytes, entry {i} in {tables} tables");
        if i % 3 == 0 && bytes < 1000 {
            put_in_tables(&db, tables, i, &vec![8; bytes]).expect(&what);
        }
        let gone = db.update(|txn| {
            (0..tables).try_fold(true, |gone, n| {
                Ok(gone & txn.table(format!("t{n}"))?.delete(key(i.wrapping_mul(2 * n + 1)))?)
            })
        });
        assert!(gone.expect(&what), "{what}: gone");
    }
    assert!(db.check(|_, _| {}).unwrap().is_clean());
}

#[test]
fn on_a_full_disk_there_is_room_for_what_deletes_or_replaces() {
    let Some(mount) = Mount::tmpfs(4) else {
        eprintln!("NOT TESTED on tmpfs: mounting is not permitted here");
        return;
    };
    for durability in [Durability::Durable, Durability::Relaxed] {
        for bytes in [10, 100, 300, 700, 1500, 3000, 10_000, 30_000] {
            let path = mount.point().join("full.dm");
            delete_and_replace_without_any_room(&Database::options().durability(durability), &path, bytes);
            std::fs::remove_file(&path).unwrap();
        }
    }
}

/// A full disk, and a lock file that needs room there again: an error each time, until there is some.
fn find_no_room_for_the_lock_file(spoil: impl FnOnce(&Path)) {
    let Some(mount) = Mount::tmpfs(2) else {
        eprintln!("NOT TESTED on tmpfs: mounting is not permitted here");
        return;
    };
    let path = mount.point().join("full.dm");
    let open =
        || Database::options().without_log().open(&path).and_then(|db| db.update(|txn| txn.table("t")?.put("k", "v")));
    open().unwrap();
    spoil(&mount.point().join("full.dm-lock"));
    let mut filler = std::fs::File::create(mount.point().join("filler")).unwrap();
    while std::io::Write::write_all(&mut filler, &[1; 4096]).is_ok() {}
    for _ in 0..3 {
        assert!(open().is_err_and(|error| error.is_disk_full()));
    }
    filler.set_len(0).unwrap();
    open().unwrap();
}

/// After a reboot, say, when somebody has cleaned up: nothing may be mapped that the disk has no room for.
#[test]
fn a_lock_file_that_finds_no_room_is_an_error_each_time() {
    find_no_room_for_the_lock_file(|lock| {
        // Emptied, too: a program that another test is just beginning may still have its descriptor, and thereby the space.
        std::fs::File::options().write(true).open(lock).unwrap().set_len(0).unwrap();
        std::fs::remove_file(lock).unwrap();
    });
}

/// Copies are made without the blocks of zeros: looking into them takes room.
#[test]
fn a_lock_file_with_holes_that_find_no_room_is_an_error_each_time() {
    find_no_room_for_the_lock_file(|lock| {
        let lock = std::fs::File::options().write(true).open(lock).unwrap();
        let bytes = lock.metadata().unwrap().len();
        lock.set_len(0).unwrap();
        lock.set_len(bytes).unwrap();
    });
}

/// Loads as much as fits, and more; in all orders.
fn load_until_full(point: &Path) {
    let db = Database::open(point.join("load.dm")).unwrap();
    let batches = 2;
    db.update(|txn| (0..100).try_for_each(|i| txn.table("t")?.put(key(i), [(i / 50) as u8; 700]))).unwrap();
    let bytes = std::fs::metadata(db.path()).unwrap().len();
    for (records, sorted) in [(50_000u32, true), (50_000, false), (1000, false), (1000, true)] {
        // A small budget: the temporary file is beside the database, on the full disk.
        let options = BulkOptions::new().sorted(sorted).memory_budget(1);
        let mut load = db.bulk_load(if sorted { "sorted" } else { "any" }, options).unwrap();
        let number = |i: u32| (if sorted { i } else { i.wrapping_mul(0x9E37_79B9) }).to_be_bytes();
        let pushed = (0..records).try_for_each(|i| load.push(number(i), [7; 300]));
        match pushed.and_then(|()| load.finish()) {
            Err(error) if records > 1000 => {
                assert!(error.is_disk_full(), "{error}");
                assert_eq!(std::fs::metadata(db.path()).unwrap().len(), bytes, "the file is as long as before");
            }
            loaded => assert_eq!(loaded.unwrap(), u64::from(records)),
        }
        assert_whole(&db, batches, "after loading on a small disk");
    }
    let mut names: Vec<_> = std::fs::read_dir(point).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| name != "lost+found");
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn a_load_that_fills_the_disk_fails_and_leaves_nothing() {
    for (name, mount) in [("tmpfs", Mount::tmpfs(4)), ("ext4", Mount::ext4(8))] {
        match mount {
            Some(mount) => load_until_full(&mount.point()),
            None => eprintln!("NOT TESTED on {name}: mounting is not permitted here"),
        }
    }
}

#[test]
fn on_a_simulated_full_disk_a_transaction_that_was_written_early_fails_and_the_database_goes_on() {
    let directory = duramen_sim::scratch();
    let disk = Disk::new();
    let options = disk.under(Database::options().memory_budget(1));
    let db = options.open(directory.path().join("full.dm")).unwrap();
    db.update(|txn| (0..50).try_for_each(|i| txn.table("t")?.put(key(i), [0; 700]))).unwrap();
    disk.fail_after(0, Fault::Full);
    let error = db.update(|txn| (0..5000).try_for_each(|i| txn.table("t")?.put(key(i), [9; 700]))).unwrap_err();
    assert!(error.is_disk_full(), "{error}");
    assert_whole(&db, 1, "on the full disk");
    disk.heal();
    assert!(db.update(|txn| txn.table("t")?.delete(key(7))).unwrap());
    assert!(db.check(|_, _| {}).unwrap().is_clean());
}
