//! `mdb_load`: its options, and what it says about bad input.

use std::sync::Arc;

use duramen::{Order, TableOptions};
use duramen_dump::{Format, Header};

use crate::peer::{Entries, Peer, assert_same, header, section};

const HEAD: &str = "VERSION=3\nformat=print\ntype=btree\nHEADER=END\n";

/// What is in the environment, without the header.
fn content(peer: &Peer) -> String {
    let dump = peer.run("mdb_dump -p env").text();
    dump.split_once("HEADER=END\n").map_or(dump.clone(), |(_, entries)| entries.to_string())
}

/// Loads the same with both. What they store is the same, and each line that LMDB's tool says begins a line of ours, but
/// for the line's number, which ours gives wherever it knows one. The codes they end with.
#[track_caller]
fn codes(words: &str, input: &str) -> [Option<i32>; 2] {
    let peers = Peer::both(&["env"]);
    let [theirs, ours] = peers.each_ref().map(|peer| peer.fed(words, input.as_bytes()));
    assert_eq!(content(&peers[0]), content(&peers[1]), "{words} {input:?}");
    let mut said = ours.err.lines();
    for line in theirs.err.lines().filter(|line| !line.is_empty()) {
        let like = |ours: &str| ours.starts_with(line) || ours.starts_with("mdb_load: line ") && ours.ends_with(line);
        assert!(said.any(like), "{words} {input:?}\nLMDB says {}\nwe say {}", theirs.err, ours.err);
    }
    [theirs.code, ours.code]
}

#[test]
fn bad_headers_are_refused_with_the_same_words() {
    let headers = [
        "hello\nworld\n",
        "hello=3\nworld\n",
        "VERSION=4\n",
        "format=xml\n",
        "type=hash\n",
        "mapsize=abc\n",
        "maxreaders=abc\n",
        "VERSION=3\nno equals sign\n",
    ];
    for header in headers {
        assert_eq!(codes("mdb_load env", header), [Some(1); 2], "{header:?}");
    }
}

#[test]
fn a_bad_value_is_refused_with_the_same_words_and_what_came_before_is_not_there() {
    for data in [" a\n b\n c\nd\n", " a\n b\n c\n", " a\n b\n c\n d", " a\n b\\zz\n"] {
        assert_eq!(codes("mdb_load env", &format!("{HEAD}{data}")), [Some(1); 2], "{data:?}");
    }
    assert_eq!(codes("mdb_load env", "type=btree\nHEADER=END\n 61\n 6\n"), [Some(1); 2]);
    assert_eq!(codes("mdb_load env", "type=btree\nHEADER=END\n 61\n 6g\n"), [Some(1); 2]);
}

/// LMDB's tool commits after every hundred entries, and leaves those.
#[test]
fn a_section_is_loaded_as_a_whole_or_not_at_all() {
    let many: String = (0..250).map(|n| format!(" {n:03}\n value\n")).collect();
    let ours = Peer::ours(&["env"]);
    let failed = ours.fed("mdb_load env", format!("{HEAD}{many} a\nb\n").as_bytes());
    assert_eq!(failed.code, Some(1));
    assert!(failed.err.contains("line 506: failed to read key value"), "{}", failed.err);
    assert_eq!(content(&ours), "DATA=END\n");
}

/// Of an environment that is nearly full, that is: with the limit that it has.
#[test]
fn a_table_that_lmdb_has_room_for_is_loaded_within_the_same_limit() {
    let mut rng = fastrand::Rng::with_seed(11);
    let entries: Entries = (0..20_000).map(|_| (rng.u64(..).to_be_bytes().to_vec(), vec![b'v'; 60])).collect();
    let peers = Peer::both(&["env"]);
    let text = section(&header(None), &entries);
    peers[0].fed("mdb_load env", &text).well();
    let used = std::fs::metadata(peers[0].path("env/data.mdb")).unwrap().len();
    let tight = section(&Header { map_bytes: used, ..header(None) }, &entries);
    peers[1].fed("mdb_load env", &tight).well();
    assert!(peers[1].run("mdb_dump env").well().len() > 20_000 * 100);
}

#[test]
fn what_has_filled_a_map_of_lmdbs_is_loaded_into_one_as_large_as_need_be() {
    for bytes in [2_025, 4_080, 8_170] {
        let entries: Entries = (0..600u64).map(|n| (n.to_be_bytes().to_vec(), vec![b'v'; bytes])).collect();
        let peers = Peer::both(&["env", "back"]);
        peers[0].fed("mdb_load env", &section(&Header { map_bytes: 1 << 30, ..header(None) }, &entries)).well();
        let used = std::fs::metadata(peers[0].path("env/data.mdb")).unwrap().len();
        let filled = section(&Header { map_bytes: used, ..header(None) }, &entries);
        peers[1].fed("mdb_load env", &filled).well();
        let dumped = peers[1].run("mdb_dump env").well();
        let limit = |text: &[u8]| {
            let text = String::from_utf8_lossy(text).into_owned();
            text.lines().find_map(|line| line.strip_prefix("mapsize=")?.parse::<u64>().ok()).unwrap()
        };
        assert!(limit(&dumped) >= std::fs::metadata(peers[1].path("env/data.mdb")).unwrap().len() - 8192);
        assert!(limit(&dumped) < 3 * used, "{bytes}");
        // From there on it is what it is.
        peers[1].fed("mdb_load back", &dumped).well();
        assert_eq!(limit(&peers[1].run("mdb_dump back").well()), limit(&dumped), "{bytes}");
    }
}

#[test]
fn what_the_tables_refuse_is_told_with_code_and_line() {
    let long_key = format!("{HEAD} {}\n b\n", "x".repeat(600));
    assert_eq!(codes("mdb_load env", &long_key), [Some(1); 2]);
    let full: String = (0..3000).map(|n| format!(" {n}\n {}\n", "x".repeat(1000))).collect();
    let ours = Peer::ours(&["env"]).fed("mdb_load env", format!("{HEAD}{full}").as_bytes());
    assert_eq!(ours.code, Some(1));
    assert!(ours.err.contains("mdb_cursor_put failed, error -30792 MDB_MAP_FULL"), "{}", ours.err);
    assert!(ours.err.starts_with("mdb_load: line "), "{}", ours.err);
}

/// LMDB's tool says what is wrong with a key, keeps what came before, and ends with 0, as if all had been loaded.
#[test]
fn a_bad_key_is_a_failure_here() {
    for data in [" a\n b\nc\n d\n", " a\n b\n \\zz\n d\n", " a\n b\n c"] {
        assert_eq!(codes("mdb_load env", &format!("{HEAD}{data}")), [Some(0), Some(1)], "{data:?}");
    }
}

#[test]
fn an_input_that_ends_too_early_between_entries_is_loaded_with_a_remark() {
    assert_eq!(codes("mdb_load env", &format!("{HEAD} a\n b\n")), [Some(0); 2]);
    let ours = Peer::ours(&["env"]).fed("mdb_load env", format!("{HEAD} a\n b\n").as_bytes());
    assert!(ours.err.contains("line 6: the input ends without DATA=END"), "{}", ours.err);
}

#[test]
fn nothing_to_load_makes_an_empty_environment() {
    for words in ["mdb_load env", "mdb_load -T env"] {
        let peers = Peer::both(&["env"]);
        assert_same(&peers, words, b"");
        assert_same(&peers, "mdb_dump env", b"");
    }
}

#[test]
fn plain_lines_and_entries_that_are_there_already() {
    let peers = Peer::both(&["env"]);
    assert_same(&peers, "mdb_load -T env", b"a\n1\nb\\0a\n2\n");
    assert_same(&peers, "mdb_load -T -N env", b"a\nnew\nc\n3\n");
    assert_same(&peers, "mdb_load -T -N -s t env", b"a\n1\na\n2\n");
    assert_same(&peers, "mdb_dump -p -s t env", b"");
    // The value of `t` is a record of the table of this name, each library's own.
    for peer in &peers {
        assert!(content(peer).starts_with(" a\n 1\n b\\0a\n 2\n c\n 3\n t\n"), "{}", content(peer));
    }
    assert_same(&peers, "mdb_load -T env", b"a\n1\nb\n");
}

#[test]
fn a_name_on_the_command_line_is_for_sections_without_one() {
    let peers = Peer::both(&["env"]);
    let entries = vec![(b"k".to_vec(), b"v".to_vec())];
    assert_same(&peers, "mdb_load -s asked env", &section(&header(None), &entries));
    assert_same(&peers, "mdb_load -s asked env", &section(&header(Some("named")), &entries));
    assert_same(&peers, "mdb_dump -a env", b"");
}

/// LMDB's tool takes it for one of the table before, or reads it in the format of the section before.
#[test]
fn a_section_without_a_name_or_in_another_format_is_taken_for_what_it_is() {
    let ours = Peer::ours(&["env"]);
    let entries = vec![(b"k".to_vec(), b"v".to_vec())];
    let first = Header { format: Format::Print, ..header(Some("t")) };
    ours.fed("mdb_load env", &[section(&first, &entries), section(&header(None), &entries)].concat()).well();
    assert!(content(&ours).starts_with(" k\n v\n t\n"), "{}", content(&ours));
    let named = ours.run("mdb_dump -p -s t env").text();
    assert!(named.ends_with("HEADER=END\n k\n v\nDATA=END\n"), "{named}");
}

/// LMDB's tool passes over the word, and loses all values of a key but the last.
#[test]
fn values_that_berkeley_db_does_not_sort_are_all_kept() {
    let ours = Peer::ours(&["env"]);
    let text = "VERSION=3\nformat=print\ntype=btree\nduplicates=1\nHEADER=END\n k\n 2\n k\n 1\nDATA=END\n";
    let said = ours.fed("mdb_load env", text.as_bytes());
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_eq!(content(&ours), " k\n 1\n k\n 2\nDATA=END\n");
}

#[test]
fn later_options_append_in_order_and_load_quickly() {
    let ours = Peer::ours(&["env"]);
    let header = Header { duplicates: true, ..header(Some("t")) };
    let entries = (0..500u32).map(|n| (vec![(n / 50) as u8 + 1], n.to_be_bytes().to_vec())).collect();
    let text = section(&header, &entries);
    assert_eq!(ours.fed("mdb_load -a -Q env", &text).err, noise(&text));
    assert!(ours.run("mdb_dump -s t env").well().ends_with(&text[text.len() - 5000..]));
}

/// What is said about the words in a header that LMDB's tool does not know.
fn noise(text: &[u8]) -> String {
    let lines = std::str::from_utf8(text).unwrap().lines().enumerate();
    let unknown = lines.filter_map(|(n, line)| line.split_once('=').map(|(name, _)| (n + 1, name)));
    let unknown = unknown.filter(|(_, name)| ["duplicates", "db_pagesize"].contains(name));
    unknown.map(|(n, name)| format!("mdb_load: line {n}: unrecognized keyword ignored: {name}\n")).collect()
}

/// The order of a program that LMDB's tools know nothing of.
fn descending() -> Order {
    Order::Custom(Arc::new(|a: &[u8], b: &[u8]| b.cmp(a)))
}

#[test]
fn entries_in_the_order_of_a_program_are_appended_as_they_come_and_the_program_finds_them() {
    let ours = Peer::ours(&["env"]);
    let entries: Entries = (0..2500u32).rev().map(|n| (n.to_be_bytes().to_vec(), vec![b'v'; 30])).collect();
    let text = section(&header(Some("t")), &entries);
    let said = ours.fed("mdb_load -a env", &text);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.err.matches("not in the table's order").count(), 1, "{}", said.err);
    assert!(ours.run("mdb_dump -s t env").well() == text);

    let db = duramen::Database::open(ours.path("env/data.mdb")).unwrap();
    let snapshot = db.read().unwrap();
    let table = snapshot.table_with("t", &TableOptions::new().order(descending()).user_bits(0x8000)).unwrap();
    assert!(entries.iter().all(|(key, value)| table.get(key).unwrap() == Some(value.as_slice())));
}

#[test]
fn values_in_the_order_of_a_program_are_appended_as_they_come() {
    let ours = Peer::ours(&["env"]);
    let header = Header { duplicates: true, ..header(Some("t")) };
    let value = |n: u32| (300 - n % 300).to_be_bytes().to_vec();
    let entries: Entries = (0..1500u32).map(|n| ((n / 300).to_be_bytes().to_vec(), value(n))).collect();
    let text = section(&header, &entries);
    ours.fed("mdb_load -a env", &text).well();
    assert!(ours.run("mdb_dump -s t env").well() == text);
}

#[test]
fn what_comes_twice_is_not_appended_and_a_main_table_with_others_in_it_keeps_its_order() {
    let ours = Peer::ours(&["env"]);
    ours.fed("mdb_load -T env", b"k\nv\n").well();
    ours.fed("mdb_load -T -s t env", b"k\nv\n").well();
    for (words, input) in [("mdb_load -a -T -s t env", "k\nagain\n"), ("mdb_load -a -T env", "a\nv\n")] {
        let failed = ours.fed(words, input.as_bytes());
        assert_eq!(failed.code, Some(1), "{words}");
        assert!(failed.err.contains("line 2: mdb_cursor_put failed, error -30799 MDB_KEYEXIST"), "{}", failed.err);
    }
    assert_eq!(ours.run("mdb_dump -l env").text(), "t\n");
    assert!(ours.run("mdb_dump -p -s t env").text().ends_with("\n k\n v\nDATA=END\n"));
}
