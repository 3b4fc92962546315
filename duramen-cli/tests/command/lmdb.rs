//! Against LMDB's own mdb_dump and mdb_load: what goes from LMDB to Duramen and back to LMDB is what it was.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Bench, feed};

/// Runs one of LMDB's tools.
fn lmdb(tool: &str, args: &[&str], env: &Path, input: &[u8]) -> Vec<u8> {
    let mut command = Command::new(tool);
    command.args(args).arg(env);
    if let Err(error) = Command::new(tool).arg("-V").output() {
        panic!("{tool}: {error}; `make setup` installs it (Debian's package lmdb-utils)");
    }
    let output = feed(command, input);
    assert!(output.status.success(), "{tool} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn environment(b: &Bench, name: &str) -> PathBuf {
    let path = b.path(name);
    std::fs::create_dir(&path).unwrap();
    path
}

/// A section as mdb_load takes it.
fn section(name: Option<&str>, flags: &[&str], entries: &[(Vec<u8>, Vec<u8>)]) -> String {
    let mut text = "VERSION=3\nformat=bytevalue\n".to_string();
    text += &name.map_or_else(String::new, |name| format!("database={name}\n"));
    text += "type=btree\nmapsize=268435456\n";
    text.extend(flags.iter().map(|flag| format!("{flag}=1\n")));
    text += "HEADER=END\n";
    for (key, value) in entries {
        for bytes in [key, value] {
            text += " ";
            text.extend(bytes.iter().map(|byte| format!("{byte:02x}")));
            text += "\n";
        }
    }
    text + "DATA=END\n"
}

/// The one line that depends on the file and not on what is in it.
fn without_map_size(dump: &[u8]) -> String {
    let text = String::from_utf8(dump.to_vec()).expect("a dump is text");
    text.lines().filter(|line| !line.starts_with("mapsize=")).map(|line| format!("{line}\n")).collect()
}

/// Loads the sections into LMDB, carries them over to Duramen and back with these arguments of both dumps, and compares
/// on the way.
fn assert_round_trip(sections: &str, args: &[&str]) {
    let b = Bench::new();
    let (first, second) = (environment(&b, "first"), environment(&b, "second"));
    lmdb("mdb_load", &[], &first, sections.as_bytes());
    let theirs = lmdb("mdb_dump", args, &first, b"");
    b.fed(&["load", "x.dm"], &theirs).ok();
    let ours = b.run(&[&["dump", "x.dm"], args].concat()).stdout;
    assert_eq!(without_map_size(&ours), without_map_size(&theirs));
    assert!(b.ok(&["check", "x.dm"]).starts_with("clean"));
    for (file, how) in [("y.dm", &["load"][..]), ("z.dm", &["load", "--bulk"])] {
        b.ok(&[how, &[file, "first"]].concat());
        let ours = b.run(&[&["dump", file], args].concat()).stdout;
        assert_eq!(without_map_size(&ours), without_map_size(&theirs), "{how:?}");
    }
    lmdb("mdb_load", &[], &second, &ours);
    let back = lmdb("mdb_dump", args, &second, b"");
    assert_eq!(without_map_size(&back), without_map_size(&theirs));
}

/// Keys and values of every length up to some, of random bytes; the seed is the number of the test's case.
fn random_entries(seed: u64, count: usize, key_max: usize, value_max: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut bytes = |len: usize| -> Vec<u8> { std::iter::repeat_with(|| rng.u8(..)).take(len).collect() };
    (0..count).map(|n| (bytes(1 + n * 7 % key_max), bytes(n * 13 % (value_max + 1)))).collect()
}

/// Ten keys with values of random bytes that all have this length.
fn fixed_duplicates(seed: u64, count: usize, width: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let values = std::iter::repeat_with(|| std::iter::repeat_with(|| rng.u8(..)).take(width).collect());
    let values: Vec<Vec<u8>> = values.take(count).collect();
    values.into_iter().enumerate().map(|(n, value)| (format!("key {}", n % 10).into_bytes(), value)).collect()
}

#[test]
fn binary_keys_and_empty_short_and_large_values_come_back() {
    let mut entries = random_entries(1, 500, 511, 600);
    entries.push((b"empty".to_vec(), Vec::new()));
    entries.push((b"large".to_vec(), (0..=255).cycle().take(1_000_000).collect()));
    entries.push((b"looks like DATA=END".to_vec(), b"DATA=END\n DATA=END\n".to_vec()));
    assert_round_trip(&section(None, &[], &entries), &[]);
    assert_round_trip(&section(Some("name with blanks"), &[], &entries), &["-a"]);
}

#[test]
fn printable_dumps_come_back() {
    // Of backslashes below.
    let entries: Vec<_> = random_entries(2, 300, 100, 300)
        .into_iter()
        .map(|(key, value)| {
            let no_backslash = |bytes: Vec<u8>| bytes.into_iter().map(|b| if b == b'\\' { b'/' } else { b }).collect();
            (no_backslash(key), no_backslash(value))
        })
        .collect();
    assert_round_trip(&section(Some("t"), &[], &entries), &["-p", "-s", "t"]);
}

#[test]
fn backslashes_survive_a_printable_dump_of_ours() {
    let b = Bench::new();
    let env = environment(&b, "env");
    let entries = [(b"\\41".to_vec(), b"\\\\ \\zz \\".to_vec())];
    let text = section(None, &[], &entries);
    b.fed(&["load", "x.dm"], text.as_bytes()).ok();
    lmdb("mdb_load", &[], &env, &b.run(&["dump", "x.dm", "-p"]).stdout);
    let data = |dump: &[u8]| without_map_size(dump).split_once("HEADER=END").unwrap().1.to_string();
    assert_eq!(data(&lmdb("mdb_dump", &[], &env, b"")), data(text.as_bytes()));
}

#[test]
fn tables_of_every_order_come_back() {
    let numbers = |width: usize| -> Vec<_> {
        let mut rng = fastrand::Rng::with_seed(width as u64);
        (0..400u64).map(|n| (rng.u64(..).to_ne_bytes()[..width].to_vec(), n.to_string().into_bytes())).collect()
    };
    assert_round_trip(&section(Some("reversed"), &["reversekey"], &random_entries(3, 400, 50, 50)), &["-a"]);
    assert_round_trip(&section(Some("ints"), &["integerkey"], &numbers(4)), &["-a"]);
    assert_round_trip(&section(Some("longs"), &["integerkey"], &numbers(8)), &["-a"]);
    assert_round_trip(&section(None, &["integerkey"], &numbers(8)), &[]);
}

#[test]
fn duplicates_of_every_kind_come_back() {
    let mut sorted = random_entries(4, 300, 20, 400);
    sorted.extend(fixed_duplicates(5, 2000, 30));
    // LMDB takes an empty value only where it is a key's only one.
    sorted.push((b"empty".to_vec(), Vec::new()));
    assert_round_trip(&section(Some("d"), &["dupsort"], &sorted), &["-a"]);
    assert_round_trip(&section(None, &["dupsort"], &sorted), &[]);
    assert_round_trip(&section(Some("d"), &["dupsort", "reversedup"], &sorted), &["-a"]);
    let cases: [(&[&str], usize); 6] = [
        (&["dupsort", "dupfixed"], 12),
        (&["dupsort", "dupfixed", "reversedup"], 12),
        (&["dupsort", "dupfixed", "integerdup"], 4),
        (&["dupsort", "dupfixed", "integerdup"], 8),
        (&["dupsort", "integerdup"], 8),
        (&["dupsort", "reversekey", "dupfixed"], 1),
    ];
    for (seed, (flags, width)) in cases.into_iter().enumerate() {
        println!("{flags:?}, {width} bytes");
        assert_round_trip(&section(Some("d"), flags, &fixed_duplicates(seed as u64, 3000, width)), &["-a"]);
    }
}

#[test]
fn integer_keys_with_duplicates_come_back() {
    let entries: Vec<_> =
        (0..2000u64).map(|n| ((n % 50).to_ne_bytes().to_vec(), (n * 7919 % 1000).to_ne_bytes().to_vec())).collect();
    let flags = ["dupsort", "integerkey", "dupfixed", "integerdup"];
    assert_round_trip(&section(Some("d"), &flags, &entries), &["-a"]);
}

#[test]
fn many_databases_travel_in_one_stream() {
    let names: Vec<String> = (0..30).map(|n| format!("database {n:02}")).collect();
    let sections: String = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let flags: &[&str] = if n % 3 == 0 { &["dupsort"] } else { &[] };
            section(Some(name), flags, &random_entries(n as u64, n * 3, 30, 60))
        })
        .collect();
    assert_round_trip(&sections, &["-a"]);
    assert_round_trip(&sections, &["-s", "database 07"]);
}

#[test]
fn the_main_table_and_named_ones_travel_together_to_lmdb() {
    let b = Bench::new();
    let env = environment(&b, "env");
    b.ok(&["put", "x.dm", "", "own", "entry"]);
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    lmdb("mdb_load", &[], &env, b.ok(&["dump", "x.dm"]).as_bytes());
    assert!(without_map_size(&lmdb("mdb_dump", &["-p"], &env, b"")).contains("\n own\n entry\n"));
    assert!(without_map_size(&lmdb("mdb_dump", &["-p", "-s", "t"], &env, b"")).contains("\n k\n v\n"));
}

/// It drops a key's empty value when the key gets a second one, and goes on to count it.
#[test]
fn of_a_table_of_which_lmdb_counts_more_than_there_are_it_is_told_how_to_carry_it_over() {
    let b = Bench::new();
    let env = environment(&b, "env");
    let pair = |key: &[u8], value: &[u8]| (key.to_vec(), value.to_vec());
    let entries = [pair(b"a", b""), pair(b"a", b"b"), pair(b"c", b"d")];
    lmdb("mdb_load", &[], &env, section(Some("t"), &["duplicates", "dupsort"], &entries).as_bytes());
    let refused = b.run(&["load", "x.dm", "env"]);
    assert!(refused.stderr.contains("the table `t`: a table of 3 entries has 2"), "{}", refused.stderr);
    refused.fails(2, "`mdb_dump -a | duramen load`");
    b.fed(&["load", "x.dm"], &lmdb("mdb_dump", &["-a"], &env, b"")).ok();
    assert!(b.ok(&["dump", "x.dm", "-p", "-s", "t"]).contains(" a\n b\n c\n d\n"));
}

#[test]
fn flags_that_lmdb_passes_over_stand_in_no_tables_way() {
    let entries: Vec<_> = (1..200u32).map(|n| ((n * 7919).to_le_bytes().to_vec(), n.to_le_bytes().to_vec())).collect();
    for (flags, passed_over) in [
        (&["integerdup"][..], "integerdup=1"),
        (&["reversedup"], "reversedup=1"),
        (&["reversekey", "integerkey"], "integerkey=1"),
        (&["duplicates", "dupsort", "dupfixed", "integerdup", "reversedup"], "reversedup=1"),
    ] {
        let b = Bench::new();
        let env = environment(&b, "env");
        lmdb("mdb_load", &[], &env, section(Some("t"), flags, &entries).as_bytes());
        b.ok(&["load", "x.dm", "env"]);
        let theirs = without_map_size(&lmdb("mdb_dump", &["-s", "t"], &env, b""));
        let ours = without_map_size(b.ok(&["dump", "x.dm", "-s", "t"]).as_bytes());
        assert_eq!(ours, theirs.replace(&format!("{passed_over}\n"), ""), "{flags:?}");
    }
}

#[test]
fn a_data_file_is_loaded_whole_or_not_at_all() {
    let b = Bench::new();
    let (first, env) = (environment(&b, "first"), environment(&b, "env"));
    let entries: Vec<_> = (0..3000u32).map(|i| (i.to_be_bytes().to_vec(), vec![b'v'; 40])).collect();
    lmdb("mdb_load", &[], &first, section(Some("t"), &[], &entries).as_bytes());
    // Then there are no pages but those in use.
    lmdb("mdb_copy", &["-c", first.to_str().unwrap()], &env, b"");
    let data = env.join("data.mdb");
    let good = std::fs::read(&data).unwrap();
    let is_leaf_of_many = |page: &usize| good[page * 4096 + 10] == 2 && good[page * 4096 + 12] > 50;
    let leaf = (2..good.len() / 4096).find(is_leaf_of_many).unwrap();
    let with = |change: &dyn Fn(&mut [u8])| {
        let mut bytes = good.clone();
        change(&mut bytes[leaf * 4096..][..4096]);
        std::fs::write(&data, bytes).unwrap();
    };
    let refused = |says: &str| {
        let run = b.run(&["load", "x.dm", "env/data.mdb"]);
        assert!(run.stderr.contains("nothing was loaded"), "{}", run.stderr);
        run.fails(2, says);
        assert!(!b.path("x.dm").exists());
    };
    with(&|page| page[10] = 0);
    refused(&format!("page {leaf} is damaged"));
    // Two entries change places, as they would stand by another function.
    with(&|page| page[16..20].rotate_left(2));
    refused("the keys of the table `t` come in an order that only the program knows");
    with(&|_| ());
    assert!(b.ok(&["load", "--json", "x.dm", "env"]).contains("3000"));
    b.run(&["load", "x.dm", "."]).fails(2, "no `data.mdb` of LMDB is in it");
}

/// Where pages are of several commits, any of them may seem to be damaged.
#[test]
fn a_data_file_that_is_changed_meanwhile_is_not_called_damaged() {
    let b = Bench::new();
    let env = environment(&b, "env");
    lmdb("mdb_load", &[], &env, section(Some("t"), &[], &[(b"k".to_vec(), b"v".to_vec())]).as_bytes());
    let db = duramen::Database::open(b.path("x.dm")).unwrap();
    let txn = db.begin_write().unwrap();
    let mut load = b.command(&["load", "x.dm", "env"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut messages = BufReader::new(load.stderr.take().unwrap());
    let mut said = String::new();
    // By now it has found the newest commit, and the tables.
    messages.read_line(&mut said).unwrap();
    assert!(said.contains("another writer is at work"), "{said}");
    let data = env.join("data.mdb");
    let mut bytes = std::fs::read(&data).unwrap();
    // The numbers of its two commits, and the heads of the pages behind them.
    bytes[144] += 2;
    bytes[4096 + 144] += 2;
    bytes[2 * 4096..].chunks_mut(4096).for_each(|page| page[10] = 0);
    std::fs::write(&data, bytes).unwrap();
    drop(txn);
    messages.read_to_string(&mut said).unwrap();
    assert_eq!(load.wait().unwrap().code(), Some(2), "{said}");
    assert!(said.contains("env: a program changed it while it was read"), "{said}");
    assert!(!said.contains("damaged"), "{said}");
}
