//! Pages that are whole and of an earlier commit: what a disk leaves that has lost a write.

use std::fs;

use duramen::Database;

/// Where this value lies in the file.
fn place_of(file: &[u8], value: &[u8]) -> Option<usize> {
    (0..file.len() - value.len()).step_by(8).find(|&at| file[at..].starts_with(value))
}

#[test]
fn a_large_value_of_an_earlier_commit_is_not_taken_for_the_one_that_replaced_it() {
    const BYTES: usize = 10_000;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.dm");
    let put = |byte: u8| {
        let db = Database::open(&path).unwrap();
        let mut txn = db.begin_write().unwrap();
        txn.table("large").unwrap().put("key", [byte; BYTES]).unwrap();
        txn.commit().unwrap();
    };
    put(1);
    let before = fs::read(&path).unwrap();
    let place = place_of(&before, &[1; BYTES]).unwrap();
    // Until the same pages are used again.
    let mut after = Vec::new();
    let last = (2..50).find(|&byte| {
        put(byte);
        after = fs::read(&path).unwrap();
        place_of(&after, &[byte; BYTES]) == Some(place)
    });
    let last = last.expect("pages that are free are used");
    let read = || {
        let db = Database::open(&path).unwrap();
        let snapshot = db.read().unwrap();
        snapshot.table("large").unwrap().get("key").map(|value| value.unwrap().to_vec())
    };
    assert_eq!(read().unwrap(), [last; BYTES]);
    let pages = place / 4096 * 4096..(place + BYTES).next_multiple_of(4096);
    after[pages.clone()].copy_from_slice(&before[pages]);
    fs::write(&path, &after).unwrap();
    assert!(read().unwrap_err().to_string().contains("a value of another birth than its key says"));
    let findings = Database::open(&path).unwrap().check(|_, _| ()).unwrap().findings;
    assert!(findings.iter().any(|finding| finding.contains("another birth")), "{findings:?}");
}
