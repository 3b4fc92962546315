//! `mdb_stat`: the same lines; numbers of pages are of each library's own kind.

use crate::peer::{Entries, Peer, Said, assert_same, header, section};

fn fill(peers: &[Peer; 2]) {
    let entries: Entries = (0..1000u32).map(|n| (n.to_be_bytes().to_vec(), vec![b'v'; 20])).collect();
    let text = [section(&header(Some("t")), &entries), section(&header(Some("u")), &Entries::new())].concat();
    assert_same(peers, "mdb_load env", &text);
}

/// The lines without the numbers that differ by nature.
fn without_pages(said: &Said) -> Vec<String> {
    let differing = [
        "  Number of pages used:",
        "  Last transaction ID:",
        "  Tree depth:",
        "  Branch pages:",
        "  Leaf pages:",
        "  Overflow pages:",
    ];
    let strip = |line: &str| differing.into_iter().find(|name| line.starts_with(name)).unwrap_or(line).to_string();
    said.text().lines().map(strip).collect()
}

#[test]
fn environments_and_tables_are_described_in_the_same_lines() {
    let peers = Peer::both(&["env"]);
    fill(&peers);
    for options in ["", "-e ", "-a ", "-s t ", "-s u ", "-ea ", "-re ", "-rr -e -s t ", "-n "] {
        let words = format!("mdb_stat {options}env{}", if options == "-n " { "/data.mdb" } else { "" });
        let [theirs, ours] = peers.each_ref().map(|peer| peer.run(&words));
        assert_eq!(without_pages(&theirs), without_pages(&ours), "{words}");
        assert_eq!(theirs.err, ours.err, "{words}");
        assert!(ours.text().lines().count() > 4, "{words}");
        // LMDB's tool ends with what printing its last line returned if that line is about readers.
        let of_readers = options == "-re ";
        assert_eq!([theirs.code, ours.code], [Some(i32::from(of_readers)), Some(0)], "{words}");
    }
}

#[test]
fn nothing_stored_is_the_same_to_the_last_byte() {
    let peers = Peer::both(&["env"]);
    assert_same(&peers, "mdb_load env", b"");
    assert_same(&peers, "mdb_stat -e env", b"");
    assert_same(&peers, "mdb_stat -a env", b"");
    assert_same(&peers, "mdb_stat -f env", b"");
}

#[test]
fn free_pages_are_counted() {
    let peers = Peer::both(&["env"]);
    fill(&peers);
    let ours = &peers[1];
    ours.run("mdb_drop -d -s t env").well();
    let text = ours.run("mdb_stat -ff env").text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Freelist Status");
    let free = lines.iter().find_map(|line| line.strip_prefix("  Free pages: ")).unwrap();
    assert!(free.parse::<u64>().unwrap() > 5, "{text}");
    let reusable: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with("    Transaction ")).collect();
    assert!(reusable.len() == 1 && reusable[0].contains(" pages, maxspan "), "{text}");
}

#[test]
fn readers_are_listed() {
    let peers = Peer::both(&["env"]);
    fill(&peers);
    let path = |name: &str| peers[1].path("env").join(name);
    let db = duramen::Database::options().lock_path(path("lock.mdb")).open(path("data.mdb")).unwrap();
    let snapshot = db.read().unwrap();
    let text = peers[1].run("mdb_stat -r env").text();
    let thread = db.readers().unwrap()[0].thread;
    assert_ne!(thread, 0);
    let line = format!("{:10} {thread:x} {}", std::process::id(), snapshot.txnid());
    assert_eq!(text, format!("Reader Table Status\n    pid     thread     txnid\n{line}\n"));
}
