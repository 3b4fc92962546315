//! A disk that fails at the n-th call, for every n of a workload: the operation says so, nothing half-done is to be
//! seen, and the database is whole, in the same handle and after opening again, power cuts included.

use duramen::Database;
use duramen_sim::crash;
use duramen_sim::disk::{Disk, Fault};
use duramen_sim::workload::{Commits, Life, Profile};

/// Power cuts that are tried after each fault, each with other writes lost: there are thousands of faults.
const POWER_CUTS: u64 = 5;

/// Every other seed has two handles that write in turn, goes on with what others left, leaves relaxed commits to others, and
/// makes checkpoints beside them.
fn profile(commits: Commits, seed: u64, log: Option<u64>) -> Profile {
    let goes_on = seed.is_multiple_of(2);
    Profile {
        page_size: 4096,
        commits,
        memory_bytes: 1,
        keys: 100,
        steps: 9,
        changes: 30,
        large_bytes: 30_000,
        growth: 60,
        bulk: 0,
        kills: false,
        log,
        lock_file: goes_on,
        flush_on_close: !goes_on,
        beside: goes_on,
        handles: if goes_on { 2 } else { 1 },
        faults: false,
        owner: String::new(),
    }
}

/// Lives one life with a fault at its `n`th call; how many calls there were.
fn live(seed: u64, profile: Profile, n: u64, fault: Fault) -> u64 {
    let commits = profile.commits;
    let mut life = Life::begin(profile.clone(), seed);
    life.disk.fail_after(n, fault);
    let mut rng = fastrand::Rng::with_seed(seed ^ n);
    let outcome = life.live().and_then(|()| crash::judge(&life, &profile, POWER_CUTS, &mut rng));
    if let Err(finding) = outcome {
        panic!("seed {seed}, {commits:?}, {fault:?} at call {n}: {finding}");
    }
    life.disk.calls()
}

fn every_call_fails_once(fault: Fault) {
    for commits in [Commits::Durable, Commits::Relaxed, Commits::Mixed] {
        for (seed, log) in [(1, None), (2, None), (3, Some(4096)), (4, Some(256 << 10))] {
            let calls = live(seed, profile(commits, seed, log), u64::MAX / 2, fault);
            (0..calls).for_each(|n| {
                live(seed, profile(commits, seed, log), n, fault);
            });
        }
    }
}

#[test]
fn an_error_at_any_call_leaves_the_database_whole() {
    every_call_fails_once(Fault::Error);
}

#[test]
fn a_write_done_in_part_leaves_the_database_whole() {
    every_call_fails_once(Fault::Partly);
}

#[test]
fn a_disk_that_is_full_from_any_call_on_leaves_the_database_whole() {
    every_call_fails_once(Fault::Full);
}

#[test]
fn a_process_killed_at_any_call_leaves_the_database_whole() {
    every_call_fails_once(Fault::Kill);
}

/// Commits a value of so many bytes on a disk that fails at the `n`th call; whether that was met, and whether who only reads then
/// finds the value.
fn found_after_a_fault(n: u64, bytes: usize) -> (bool, bool) {
    let (disk, directory) = (Disk::new(), duramen_sim::scratch());
    let path = directory.path().join("large.dm");
    let db = disk.under(Database::options().without_log()).open(&path).unwrap();
    db.update(|txn| txn.table("t")?.put("before", "is there")).unwrap();
    disk.fail_after(n, Fault::Error);
    let committed = db.update(|txn| txn.table("t")?.put("large", vec![7; bytes]));
    disk.heal();
    drop(db);
    let db = Database::options().read_only(true).open(&path).unwrap();
    let snapshot = db.read().unwrap();
    let table = snapshot.table("t").unwrap();
    assert_eq!(table.get("before").unwrap(), Some(&b"is there"[..]), "call {n}");
    let found = table.get("large").unwrap().is_some();
    assert!(found || committed.is_err(), "call {n}: a commit is gone");
    (committed.is_err(), found)
}

/// A commit of more pages than one flush proves has its meta page flushed for itself. Where that fails only the page cache has the
/// meta page, and who cannot write it again must not take it for the disk's.
#[test]
fn a_large_commit_that_failed_is_not_found_by_who_only_reads() {
    for n in 0.. {
        let (met, found) = found_after_a_fault(n, 17 << 20);
        if !met {
            return assert!(found && n > 3, "{n} calls failed");
        }
        assert!(!found, "the commit failed at its call {n}, and is there");
    }
}
