//! `ls`, `stat`, `check`, `readers`, `bench` and `completions`.

use std::os::unix::fs::FileExt;

use duramen::{Database, Durability, Order, TableOptions};
use serde_json::Value;

use super::Bench;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn ls_shows_tables_with_their_kinds() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "people", "k", "v"]);
    b.ok(&["put", "x.dm", "towns", "Oslo", "x", "--duplicates", "reversed", "--fixed-size"]);
    b.ok(&["put", "x.dm", "", "own", "entry"]);
    let expected = "\
table   entries     size  keys   duplicates
(main)        1  4.0 KiB  bytes  -
people        1  4.0 KiB  bytes  -
towns         1  4.0 KiB  bytes  reversed, 1 bytes each
";
    assert_eq!(b.ok(&["ls", "x.dm"]), expected);
    let rows = json(&b.ok(&["ls", "x.dm", "--json"]));
    assert_eq!(rows[1]["name"], "people");
    assert_eq!(rows[2]["duplicates"], "reversed, 1 bytes each");
}

#[test]
fn stat_counts_pages_and_full_adds_kinds_and_fill() {
    let b = Bench::new();
    let value = "v".repeat(10_000);
    for key in ["a", "b"] {
        b.ok(&["put", "x.dm", "t", key, &value]);
    }
    let stat = json(&b.ok(&["stat", "x.dm", "--json"]));
    assert_eq!(stat["txnid"], 2);
    assert_eq!(stat["tables"][0]["entries"], 2);
    assert_eq!(stat["tables"][0]["overflow_pages"], 6);
    assert_eq!(stat.get("fill"), None);
    let full = json(&b.ok(&["stat", "x.dm", "--json", "--full"]));
    assert_eq!(full["check"]["overflow_pages"], 6);
    assert_eq!(full["tables"][0]["payload_bytes"], 20_002);
    assert!(full["fill"].as_f64().unwrap() < 0.1);
    let text = b.ok(&["stat", "x.dm", "--full"]);
    assert!(text.contains("  overflow   6 pages, 24.0 KiB\n"), "{text}");
}

#[test]
fn tables_with_an_order_of_a_program_can_be_listed_scanned_and_dumped() {
    let b = Bench::new();
    let backwards = TableOptions::new().order(Order::Custom(std::sync::Arc::new(|x: &[u8], y: &[u8]| y.cmp(x))));
    let db = Database::open(b.path("x.dm")).unwrap();
    db.update(|txn| {
        let mut table = txn.table_with("backwards", &backwards)?;
        (1000..4000).try_for_each(|n| table.put(n.to_string(), b"v"))
    })
    .unwrap();
    assert!(b.ok(&["ls", "x.dm"]).contains("custom"));
    let keys: String = (1000..4000).rev().map(|n| format!("{n}\n")).collect();
    assert_eq!(b.ok(&["scan", "x.dm", "backwards", "--keys"]), keys);
    b.run(&["get", "x.dm", "backwards", "1000"]).fails(2, "an order without its comparison function");
    let run = b.run(&["dump", "x.dm", "-p"]);
    assert!(run.stderr.contains("it loads bytewise"), "{run:?}");
    let entries: String = (1000..4000).rev().map(|n| format!(" {n}\n v\n")).collect();
    assert!(run.text().ends_with(&format!("HEADER=END\n{entries}DATA=END\n")), "{run:?}");
}

#[test]
fn check_names_the_damaged_page_and_exits_with_1() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "needle-in-the-page", "v"]);
    assert_eq!(b.ok(&["check", "x.dm"]), "clean: 1 entry in 1 table, 7 pages\n".replace("7", &pages(&b)));
    let bytes = std::fs::read(b.path("x.dm")).unwrap();
    let at = bytes.windows(6).rposition(|window| window == b"needle").expect("the key is in the file");
    let file = std::fs::OpenOptions::new().write(true).open(b.path("x.dm")).unwrap();
    file.write_at(b"N", at as u64).unwrap();
    let run = b.run(&["check", "x.dm"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.text().contains(&format!("page {} is damaged", at / 4096)), "{run:?}");
    let report = json(&b.run(&["check", "x.dm", "--json"]).text());
    assert_eq!(report["clean"], false);
    assert!(!report["findings"].as_array().unwrap().is_empty());
}

#[test]
fn a_script_tells_no_from_damage_and_damage_from_a_file_that_is_not_there() {
    let b = Bench::new();
    let args = |command, file| [&[command, file][..], if command == "get" { &["t", "k"] } else { &[] }].concat();
    let code = |command, file| b.run(&args(command, file)).code.unwrap();
    b.ok(&["put", "x.dm", "t", "another", "v"]);
    assert_eq!((code("check", "x.dm"), code("get", "x.dm")), (0, 1));
    assert_eq!((code("check", "no.dm"), code("get", "no.dm")), (2, 2));
    let whole = std::fs::read(b.path("x.dm")).unwrap();
    std::fs::write(b.path("cut.dm"), &whole[..whole.len() - 4096]).unwrap();
    assert_eq!((code("check", "cut.dm"), code("get", "cut.dm")), (1, 2));
    std::fs::write(b.path("meta.dm"), [&whole[..40], &[0xff; 16384 - 40], &whole[16384..]].concat()).unwrap();
    b.run(&["check", "meta.dm"]).fails(1, "damaged");
    for (file, told) in [("cut.dm", "cut.dm"), ("meta.dm", "page 0 is damaged")] {
        let run = b.run(&["check", "--json", file]);
        let report = json(&run.text());
        assert!(run.code == Some(1) && report["clean"] == false, "{run:?}");
        assert!(report["findings"][0].as_str().unwrap().contains(told), "{report}");
    }
}

fn pages(b: &Bench) -> String {
    json(&b.ok(&["stat", "x.dm", "--json"]))["pages"].to_string()
}

#[test]
fn names_of_tables_are_told_as_they_are() {
    let b = Bench::new();
    let db = Database::open(b.path("x.dm")).unwrap();
    let names: [&[u8]; 4] = [b"back\\slash", b"new\nline", b"plain", b"\xff"];
    db.update(|txn| names.iter().try_for_each(|name| txn.table(name).map(drop))).unwrap();
    for rows in [json(&b.ok(&["ls", "x.dm", "--json"])), json(&b.ok(&["stat", "x.dm", "--json"]))["tables"].clone()] {
        for (row, name) in rows.as_array().unwrap().iter().zip(["back\\slash", "new\nline", "plain"]) {
            assert_eq!((&row["name"], &row["name_hex"]), (&name.into(), &serde_json::Value::Null));
        }
        assert_eq!((&rows[3]["name"], &rows[3]["name_hex"]), (&serde_json::Value::Null, &"ff".into()));
    }
    let shown = b.ok(&["ls", "x.dm"]);
    let shown: Vec<_> = shown.lines().skip(1).map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(shown, ["back\\5cslash", "new\\0aline", "plain", "\\ff"]);
}

#[test]
fn readers_of_other_processes_are_listed_with_what_they_hold() {
    let b = Bench::new();
    let db = Database::options().durability(Durability::Relaxed).open(b.path("x.dm")).unwrap();
    db.update(|txn| txn.table("t")?.put(b"k", b"v")).unwrap();
    assert_eq!(b.ok(&["readers", "x.dm"]), "nobody reads\n");
    let snapshot = db.read().unwrap();
    for n in 0..5u8 {
        db.update(|txn| txn.table("t")?.put(b"k", [n])).unwrap();
    }
    let readers = json(&b.ok(&["readers", "x.dm", "--json"]));
    assert_eq!(readers[0]["pid"], std::process::id());
    assert_eq!(readers[0]["txnid"], snapshot.txnid().0);
    assert!(readers[0]["bytes_held"].as_u64().unwrap() >= 4096);
    assert!(b.ok(&["readers", "x.dm", "--clear"]).starts_with("cleared 0 readers of dead processes\n"));
    assert_eq!(json(&b.ok(&["stat", "x.dm", "--json"]))["readers"], 1);
}

#[test]
fn bench_measures_every_work_and_leaves_nothing_behind() {
    let b = Bench::new();
    let outcomes = json(&b.ok(&["bench", "--records", "500", "--seconds", "0.01", "--json"]));
    let works: Vec<_> = outcomes.as_array().unwrap().iter().map(|o| o["work"].as_str().unwrap()).collect();
    assert_eq!(
        works,
        [
            "load, random order",
            "random get",
            "scan",
            "scan backwards",
            "relaxed put",
            "durable put",
            "durable put, 100 a transaction",
            "durable put, 16 threads",
            "the disk: write over and flush 4 KiB",
            "file",
        ]
    );
    assert!(outcomes.as_array().unwrap()[..9].iter().all(|o| o["operations"].as_u64().unwrap() > 0));
    let bytes = |o: &serde_json::Value| o[9]["bytes"].as_u64().unwrap();
    for larger in [["--page-size", "65536"], ["--value-bytes", "900"], ["--key-bytes", "500"]] {
        let arguments = [&["bench", "--records", "500", "--seconds", "0.01", "--json"], &larger[..]].concat();
        assert!(bytes(&json(&b.ok(&arguments))) > bytes(&outcomes), "{larger:?}");
    }
    assert_eq!(std::fs::read_dir(b.dir.path()).unwrap().count(), 0);
    assert!(b.ok(&["bench", "--records", "500", "--seconds", "0.01"]).contains("500 records"));
}

#[test]
fn completions_are_there_for_every_shell() {
    let b = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(b.ok(&["completions", shell]).contains("no-overwrite"), "{shell}");
    }
}
