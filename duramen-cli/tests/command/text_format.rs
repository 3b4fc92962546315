//! `dump` and `load` without LMDB: round trips, and what is said about bad input.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use duramen::{Database, TableOptions, WriteTxn};

use super::{Bench, Run};

fn dump(entries: &str) -> Vec<u8> {
    format!("VERSION=3\nformat=print\ndatabase=t\ntype=btree\nHEADER=END\n{entries}DATA=END\n").into_bytes()
}

#[test]
fn a_dump_has_every_table_and_loads_into_the_same() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "plain", "key", "value"]);
    b.ok(&["put", "x.dm", "empty-value", "key", ""]);
    b.ok(&["put", "x.dm", "numbers", "7", "8", "--order", "integers", "--duplicates", "integers"]);
    b.ok(&["put", "x.dm", "", "own", "entry"]);
    let text = b.ok(&["dump", "x.dm"]);
    assert_eq!(text.matches("VERSION=3").count(), 4, "{text}");
    b.fed(&["load", "y.dm"], text.as_bytes()).ok();
    assert_eq!(b.ok(&["dump", "y.dm"]), text);
    assert_eq!(b.ok(&["dump", "y.dm", "-a"]), b.ok(&["dump", "x.dm", "--all"]));
    assert_eq!(b.ok(&["dump", "y.dm", "-s", "plain", "-p"]).lines().nth(8), Some(" key"));
    assert!(!b.ok(&["dump", "y.dm", "-s", ""]).contains("database="));
}

#[test]
fn an_empty_database_dumps_its_empty_main_table() {
    let b = Bench::new();
    drop(Database::open(b.path("x.dm")).unwrap());
    let text = b.ok(&["dump", "x.dm"]);
    assert!(text.ends_with("HEADER=END\nDATA=END\n") && !text.contains("database="), "{text}");
    b.run(&["dump", "x.dm", "-a"]).fails(1, "there is no table with a name");
    b.run(&["dump", "x.dm", "-s", "t"]).fails(1, "there is no table \"t\"");
}

#[test]
fn a_dump_into_a_file_appears_when_it_is_complete() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    b.ok(&["dump", "x.dm", "-f", "x.dump"]);
    assert_eq!(std::fs::read_to_string(b.path("x.dump")).unwrap(), b.ok(&["dump", "x.dm"]));
    assert!(!b.path("x.dump.partial").exists());
    b.ok(&["load", "y.dm", "x.dump"]);
    assert_eq!(b.ok(&["get", "y.dm", "t", "k"]), "v\n");
    b.run(&["dump", "x.dm", "-f", "no/such/place"]).fails(2, "cannot create no/such/place.partial");
}

#[test]
fn a_dump_goes_into_what_is_there() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    let text = b.ok(&["dump", "x.dm"]);
    let mode = |name: &str| std::fs::metadata(b.path(name)).unwrap().permissions().mode() & 0o777;

    std::fs::write(b.path("secret"), "before").unwrap();
    std::fs::set_permissions(b.path("secret"), std::fs::Permissions::from_mode(0o600)).unwrap();
    symlink(b.path("secret"), b.path("link")).unwrap();
    b.ok(&["dump", "x.dm", "-f", "link"]);
    assert!(std::fs::symlink_metadata(b.path("link")).unwrap().is_symlink());
    assert_eq!((std::fs::read_to_string(b.path("secret")).unwrap(), mode("secret")), (text.clone(), 0o600));

    assert!(std::process::Command::new("mkfifo").arg(b.path("pipe")).status().unwrap().success());
    let pipe = b.path("pipe");
    let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    b.ok(&["dump", "x.dm", "-f", "pipe"]);
    assert_eq!(reader.join().unwrap(), text);
    assert!(std::fs::metadata(b.path("pipe")).unwrap().file_type().is_fifo());
    b.run(&["dump", "x.dm", "-f", "."]).fails(2, "cannot open .");
}

#[test]
fn a_dump_goes_where_links_lead_that_lead_to_nothing_yet() {
    use std::os::unix::fs::symlink;
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    std::fs::create_dir(b.path("dumps")).unwrap();
    symlink("dumps/first", b.path("link")).unwrap();
    symlink("second", b.path("dumps/first")).unwrap();
    b.ok(&["dump", "x.dm", "-f", "link"]);
    assert!(std::fs::symlink_metadata(b.path("link")).unwrap().is_symlink());
    assert_eq!(std::fs::read_to_string(b.path("dumps/second")).unwrap(), b.ok(&["dump", "x.dm"]));
    symlink("loop", b.path("loop")).unwrap();
    b.run(&["dump", "x.dm", "-f", "loop"]).fails(2, "cannot find loop: Too many levels of symbolic links");
    assert!(std::fs::symlink_metadata(b.path("loop")).unwrap().is_symlink());
}

/// Who loads what there was of it would take it for all.
#[test]
fn a_dump_that_cannot_be_whole_is_not_begun() {
    let b = Bench::new();
    for name in ["a", "b\nc", "d"] {
        b.ok(&["put", "x.dm", name, "k", "v"]);
    }
    for arguments in [&["dump", "x.dm"][..], &["dump", "x.dm", "-a"], &["dump", "x.dm", "-f", "y"]] {
        let run = b.run(arguments);
        assert_eq!(run.stdout, b"");
        run.fails(2, r#"table "b\nc" has a line break or NUL in its name"#);
    }
    assert!(!b.path("y").exists());
    b.ok(&["dump", "x.dm", "-s", "d"]);
}

#[test]
fn user_bits_come_back_from_a_dump() {
    let b = Bench::new();
    let db = Database::open(b.path("x.dm")).unwrap();
    db.update(|txn| txn.table_with("t", &TableOptions::new().user_bits(77))?.put(b"k", b"v")).unwrap();
    let text = b.ok(&["dump", "x.dm"]);
    b.fed(&["load", "y.dm"], text.as_bytes()).ok();
    let loaded = Database::open(b.path("y.dm")).unwrap();
    assert_eq!(loaded.read().unwrap().table("t").unwrap().stats().user_bits, 77);
}

#[test]
fn bad_input_is_named_by_file_and_line_and_loads_nothing() {
    let b = Bench::new();
    let cases = [
        (" a\n 1\n b\\zz\n 2\n", "x.dump:8: a backslash without"),
        (" a\n 1\nb\n 2\n", "x.dump:8: a line of data begins with a blank"),
        (" a\n 1\n b\n", "x.dump:9: the last key has no value"),
        (&format!(" a\n 1\n {}\n 2\n", "k".repeat(5000)), "x.dump:9: a key of 5000 bytes"),
    ];
    for (entries, message) in cases {
        std::fs::write(b.path("x.dump"), dump(entries)).unwrap();
        let run = b.run(&["load", "x.dm", "x.dump"]);
        assert!(run.stderr.contains("; nothing was loaded"), "{run:?}");
        run.fails(2, message);
        assert_eq!(b.files(), ["x.dump"], "nothing is made");
    }
    let before = b.ok(&["put", "x.dm", "t", "a", "0"]) + &b.ok(&["dump", "x.dm"]);
    std::fs::write(b.path("x.dump"), dump(" a\n 1\n b\n")).unwrap();
    b.run(&["load", "x.dm", "x.dump"]).fails(2, "; nothing was loaded");
    assert_eq!(b.ok(&["dump", "x.dm"]), before);
    b.fed(&["load", "x.dm"], b"").fails(2, "standard input: there is nothing in it");
    b.fed(&["load", "x.dm"], b"key,value\n").fails(2, "standard input:1: this is no dump");
    b.fed(&["load", "x.dm"], b"VERSION=3\ndupfixed=1\nHEADER=END\nDATA=END\n")
        .fails(2, "standard input:3: in the header that ends here dupfixed=1");
    b.fed(&["load", "x.dm"], &dump("")[..60]).fails(2, "the input ends");
    b.run(&["load", "x.dm", "missing"]).fails(2, "cannot open missing");
    std::fs::create_dir(b.path("directory")).unwrap();
    b.ok(&["copy", "x.dm", "directory/data.mdb"]);
    for input in ["x.dm", "directory", "directory/data.mdb"] {
        b.run(&["load", "y.dm", input]).fails(2, &format!("{input} is a Duramen database: `duramen copy` copies it"));
    }
}

#[test]
fn damage_of_the_database_is_not_put_down_to_the_input() {
    let b = Bench::new();
    std::fs::write(b.path("x.dump"), dump(" k\n v\n")).unwrap();
    b.ok(&["load", "x.dm", "x.dump"]);
    let mut bytes = std::fs::read(b.path("x.dm")).unwrap();
    // All but the meta pages.
    bytes[4 * 4096..].fill(7);
    std::fs::write(b.path("x.dm"), bytes).unwrap();
    let run = b.run(&["load", "x.dm", "x.dump"]);
    assert!(!run.stderr.contains("x.dump"), "{run:?}");
    run.fails(2, "is damaged: its checksum does not match; run `duramen check`");
}

#[test]
fn what_is_no_text_is_not_read_to_its_end() {
    let b = Bench::new();
    for args in [&["load", "x.dm", "/dev/zero"][..], &["load", "x.dm", "-T", "/dev/zero"]] {
        b.run(args).fails(2, "/dev/zero:1: this ");
    }
    assert_eq!(b.files(), [""; 0]);
}

#[test]
fn a_new_database_appears_when_it_is_loaded_and_replaces_nothing() {
    let b = Bench::new();
    let mut child = b.command(&["load", "x.dm"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"VERSION=3\nwhat=1\nHEADER=END\n 61\n 62\n").unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    // Of the header: by now there is a file.
    messages.read_line(&mut String::new()).unwrap();
    assert_eq!(b.files(), ["x.dm.partial"]);
    let of_somebody_else = |txn: &mut WriteTxn<'_>| txn.table("t")?.put("k", "of somebody else");
    Database::open(b.path("x.dm")).unwrap().update(of_somebody_else).unwrap();
    input.write_all(b"DATA=END\n").unwrap();
    drop(input);
    let mut said = String::new();
    messages.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{said}");
    assert!(said.contains("cannot make x.dm: File exists"), "{said}");
    assert_eq!(b.ok(&["get", "x.dm", "t", "k"]), "of somebody else\n");
    assert!(!b.path("x.dm.partial").exists());
}

#[test]
fn commands_that_make_the_same_database_take_turns() {
    let b = Bench::new();
    let begin = |args: &[&str]| {
        let mut child = b.command(args).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        (child.stdin.take().unwrap(), BufReader::new(child.stderr.take().unwrap()), child)
    };
    let said = |messages: &mut BufReader<_>| {
        let mut line = String::new();
        messages.read_line(&mut line).unwrap();
        line
    };
    let (mut input, mut messages, mut first) = begin(&["load", "x.dm"]);
    input.write_all(b"VERSION=3\nwhat=1\ndatabase=a\nHEADER=END\n 61\n 62\n").unwrap();
    assert!(said(&mut messages).contains("means nothing here"));
    b.fed(&["load", "x.dm", "--wait", "0"], b"").fails(2, "x.dm is being made by another command: wait longer");
    b.run(&["put", "x.dm", "t", "k", "v", "--wait", "0.01"])
        .fails(2, "x.dm is being made by another command: wait longer");
    let (second_input, mut second_messages, mut second) = begin(&["load", "x.dm", "-T", "-s", "b"]);
    let (_, mut third_messages, mut third) = begin(&["put", "x.dm", "c", "k", "v"]);
    for messages in [&mut second_messages, &mut third_messages] {
        assert_eq!(said(messages), "duramen: x.dm is being made by another command; waiting for it\n");
    }
    (&second_input).write_all(b"k\nv\n").unwrap();
    drop(second_input);
    input.write_all(b"DATA=END\n").unwrap();
    drop(input);
    for child in [&mut first, &mut second, &mut third] {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    for table in ["a", "b", "c"] {
        assert_eq!(b.ok(&["scan", "x.dm", table]).lines().count(), 1, "{table}");
    }
    assert!(!b.path("x.dm.partial").exists());
}

#[test]
fn a_larger_page_size_is_proposed_only_where_it_helps() {
    let b = Bench::new();
    let integers = String::from_utf8(dump(" a\n 1\n")).unwrap().replace("type", "integerkey=1\ntype");
    b.fed(&["load", "x.dm"], integers.as_bytes()).fails(2, "a key of 1 bytes: this table takes 4 or 8; nothing");
    b.fed(&["load", "x.dm"], &dump(&format!(" {}\n 1\n", "k".repeat(2000)))).fails(2, "larger --page-size");
}

#[test]
fn a_dump_does_not_replace_a_database() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    std::fs::hard_link(b.path("x.dm"), b.path("same.dm")).unwrap();
    for name in ["x.dm", "./x.dm", "same.dm"] {
        b.run(&["dump", "x.dm", "-f", name]).fails(2, "is a file of the database: a dump would replace it");
    }
    std::fs::create_dir(b.path("lmdb")).unwrap();
    b.ok(&["copy", "x.dm", "lmdb/data.mdb"]);
    b.run(&["dump", "x.dm", "-f", "lmdb/data.mdb"]).fails(2, "lmdb/data.mdb is a database: remove it first");
    // Whether they are there or not.
    let files =
        [("x.dm", "x.dm-log"), ("x.dm", "./x.dm-lock"), ("same.dm", "same.dm-log"), ("lmdb/data.mdb", "lmdb/lock.mdb")];
    for (database, name) in files {
        b.run(&["dump", database, "-f", name]).fails(2, "is a file of the database: a dump would replace it");
        for name in [name, database] {
            b.run(&["copy", database, name]).fails(2, "is the name of a file of the database");
        }
    }
    assert_eq!(b.ok(&["get", "x.dm", "t", "k"]), "v\n");
}

#[test]
fn a_section_for_a_table_of_another_kind_is_refused() {
    let b = Bench::new();
    b.fed(&["load", "x.dm"], &dump(" a\n 1\n")).ok();
    let other = String::from_utf8(dump(" a\n 2\n")).unwrap().replace("type", "dupsort=1\ntype");
    b.fed(&["load", "x.dm"], other.as_bytes()).fails(2, "standard input:6: table \"t\" has bytewise keys without");
    b.fed(&["load", "x.dm", "-s", "u"], other.as_bytes()).ok();
    assert_eq!(b.ok(&["get", "x.dm", "u", "a"]), "2\n");
}

#[test]
fn existing_entries_are_replaced_or_left_alone() {
    let b = Bench::new();
    b.fed(&["load", "x.dm"], &dump(" a\n 1\n b\n 1\n")).ok();
    b.fed(&["load", "x.dm"], &dump(" b\n 2\n")).ok();
    assert_eq!(b.ok(&["scan", "x.dm", "t"]), "a\t1\nb\t2\n");
    let run = b.fed(&["load", "x.dm", "-N", "--json"], &dump(" a\n 3\n c\n 3\n"));
    let outcome: serde_json::Value = serde_json::from_str(&run.ok()).unwrap();
    assert_eq!((&outcome["entries"], &outcome["skipped"]), (&1.into(), &1.into()));
    assert_eq!(b.ok(&["scan", "x.dm", "t"]), "a\t1\nb\t2\nc\t3\n");
}

#[test]
fn one_section_can_go_to_another_table_but_not_two() {
    let b = Bench::new();
    b.fed(&["load", "x.dm", "-s", "u"], &dump(" a\n 1\n")).ok();
    assert_eq!(b.ok(&["get", "x.dm", "u", "a"]), "1\n");
    let two = [dump(" a\n 1\n"), dump(" a\n 2\n")].concat();
    b.fed(&["load", "x.dm", "-s", "v"], &two).fails(2, "a second section");
    b.fed(&["load", "x.dm"], &two).ok();
    assert_eq!(b.ok(&["get", "x.dm", "t", "a"]), "2\n");
}

#[test]
fn plain_lines_load_as_keys_and_values() {
    let b = Bench::new();
    b.fed(&["load", "x.dm", "-T", "-s", "t"], b"key one\nvalue\\0a\nkey two\n\\\\\n").ok();
    assert_eq!(b.ok(&["scan", "x.dm", "t"]), "key one\tvalue\\0a\nkey two\t\\5c\n");
    b.fed(&["load", "x.dm", "-T", "-s", "t"], b"key\n").fails(2, "standard input:1: the last key has no value");
}

#[test]
fn the_kind_of_a_table_is_chosen_for_plain_lines_only() {
    let b = Bench::new();
    for kind in [["--order", "integers"], ["--duplicates", "bytes"]] {
        b.fed(&[&["load", "x.dm"], &kind[..]].concat(), &dump(" a\n 1\n")).fails(2, "are for --text");
        assert_eq!(b.files(), [""; 0]);
    }
    b.fed(&["load", "x.dm", "-T", "-s", "t", "--duplicates", "bytes"], b"a\n2\na\n1\n").ok();
    assert_eq!(b.ok(&["get", "x.dm", "t", "a"]), "1\n2\n");
}

#[test]
fn commits_on_the_way_stay_when_a_later_line_is_bad() {
    let b = Bench::new();
    let text = dump(" a\n 1\n b\n 2\n c\n 3\n bad\\\n");
    b.fed(&["load", "x.dm", "--commit-every", "2"], &text)
        .fails(2, "standard input:12: a backslash without two hexadecimal digits");
    assert_eq!(b.ok(&["scan", "x.dm", "t"]), "a\t1\nb\t2\n");
    b.fed(&["load", "y.dm", "--commit-every", "4"], &text).fails(2, "nothing was loaded");
    assert!(b.files().iter().all(|name| name.starts_with("x.dm")), "what has no commit is not made");
}

#[test]
fn a_bulk_load_is_the_same_as_any_other_and_wants_empty_tables() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "plain", "key", "value"]);
    b.ok(&["put", "x.dm", "numbers", "7", "8", "--order", "integers", "--duplicates", "integers"]);
    b.ok(&["put", "x.dm", "", "own", "entry"]);
    let text = b.ok(&["dump", "x.dm"]);
    b.fed(&["load", "--bulk", "y.dm"], text.as_bytes()).ok();
    assert_eq!(b.ok(&["dump", "y.dm"]), text);
    let again = b.fed(&["load", "y.dm", "--bulk"], text.as_bytes());
    assert!(
        again.stderr.contains("the table `numbers`: ") && !again.stderr.contains("standard input:"),
        "{}",
        again.stderr
    );
    again.fails(2, "it has entries, and only an empty table can be loaded as a whole: load without --bulk");
    b.run(&["load", "y.dm", "--bulk", "--no-overwrite"]).fails(2, "cannot be used with");

    let lines: String = (0..20_000u32).map(|i| format!("{:08x}\n{i}\n", i.wrapping_mul(0x9E37_79B9))).collect();
    for options in [&["--memory", "1"][..], &["--memory", "1", "--temp-dir", "."]] {
        let file = format!("{}.dm", options.len());
        let args = [&["load", &file, "-T", "-s", "t", "--bulk", "--json"][..], options].concat();
        let told: serde_json::Value = serde_json::from_str(&b.fed(&args, lines.as_bytes()).ok()).unwrap();
        assert_eq!((&told["entries"], &told["tables"]), (&20_000.into(), &1.into()));
        assert_eq!(b.ok(&["get", &file, "t", "9e3779b9"]), "1\n");
        b.ok(&["check", &file]);
    }
}

/// Nor can it be without --bulk.
#[test]
fn a_key_that_is_the_name_of_a_table_is_not_loaded_into_the_main_table() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    let main = String::from_utf8(dump(" t\n 1\n")).unwrap().replace("database=t\n", "");
    let run = b.fed(&["load", "x.dm", "--bulk"], main.as_bytes());
    assert!(!run.stderr.contains("--bulk"), "{run:?}");
    run.fails(2, "standard input:6: this table does not allow that: a table has this name; nothing was loaded");
}

#[test]
fn a_bulk_load_that_goes_wrong_names_the_line_and_leaves_nothing() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    let before = std::fs::read(b.path("x.dm")).unwrap();
    let long = format!("a\n1\n{}\n2\n", "b".repeat(2000));
    let load = |args: &[&str], input: &[u8]| b.fed(&[&["load", "x.dm", "-T", "--bulk"], args].concat(), input);
    load(&["-s", "new"], long.as_bytes()).fails(2, "standard input:4: a key of 2000 bytes");
    load(&["-s", "new"], b"a\n1\nb\n").fails(2, "the last key has no value");
    load(&["-s", "t"], b"a\n1\n").fails(2, "it has entries");
    let gone: String = (0..40_000u32).map(|i| format!("{i}\n{:>40}\n", i)).collect();
    load(&["-s", "new", "--memory", "1", "--temp-dir", "no-such"], gone.as_bytes()).fails(2, "no-such");
    assert_eq!(b.ok(&["ls", "x.dm", "--json"]).matches("\"name\"").count(), 1);
    assert_eq!(std::fs::read(b.path("x.dm")).unwrap(), before);
}

#[test]
fn a_name_that_ends_in_a_carriage_return_is_kept() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "of the one"]);
    b.ok(&["put", "x.dm", "t\r", "k", "of the other"]);
    let run = b.fed(&["load", "y.dm"], b.ok(&["dump", "x.dm"]).as_bytes());
    run.ok();
    assert_eq!(b.ok(&["get", "y.dm", "t", "k"]), "of the one\n");
    assert_eq!(b.ok(&["get", "y.dm", "t\r", "k"]), "of the other\n");
}

#[test]
fn a_dump_that_may_not_become_so_long_is_an_error_and_leaves_nothing() {
    let b = Bench::new();
    let db = Database::open(b.path("x.dm")).unwrap();
    db.update(|txn| txn.table("t")?.put("k", vec![7; 1 << 20])).unwrap();
    drop(db);
    // In units of 512 bytes.
    let limited = |rest: &str| {
        let line = format!("ulimit -f 1000; {} dump x.dm {rest}", env!("CARGO_BIN_EXE_duramen"));
        let output = std::process::Command::new("sh").args(["-c", &line]).current_dir(b.path("")).output().unwrap();
        Run::of(&[rest], output)
    };
    limited("-f y.dump").fails(2, "cannot write the output: y.dump.partial: File too large");
    assert!(!b.path("y.dump.partial").exists() && !b.path("y.dump").exists());
    limited("> y.dump").fails(2, "cannot write the output: File too large");
}

#[test]
fn a_dump_to_a_dash_or_to_standard_output_goes_there() {
    let b = Bench::new();
    b.ok(&["put", "x.dm", "t", "k", "v"]);
    let text = b.ok(&["dump", "x.dm"]);
    assert_eq!(b.ok(&["dump", "x.dm", "-f", "-"]), text);
    assert!(!b.path("-").exists());
    // Behind what is in a file already.
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        std::fs::write(b.path("all"), "before\n").unwrap();
        let all = std::fs::File::options().append(true).open(b.path("all")).unwrap();
        assert!(b.command(&["dump", "x.dm", "-f", name]).stdout(all).status().unwrap().success());
        assert_eq!(std::fs::read_to_string(b.path("all")).unwrap(), format!("before\n{text}"), "{name}");
    }
}

#[test]
fn a_load_whose_commit_fails_says_what_stays() {
    let b = Bench::new();
    let entries: String = (0..20_000).map(|n| format!(" {n:06}\n {}\n", "v".repeat(100))).collect();
    std::fs::write(b.path("x.dump"), dump(&entries)).unwrap();
    let limited = |arguments: &str| {
        let line = format!("ulimit -f 3000; exec '{}' load {arguments}", env!("CARGO_BIN_EXE_duramen"));
        let mut command = std::process::Command::new("sh");
        Run::of(&[arguments], command.args(["-c", &line]).current_dir(b.dir.path()).output().unwrap())
    };
    limited("x.dm x.dump").fails(2, "File too large (os error 27); nothing was loaded");
    assert_eq!(b.files(), ["x.dump"]);
    let run = limited("x.dm x.dump --commit-every 1000");
    let count = b.ok(&["scan", "x.dm", "t", "--keys"]).lines().count();
    assert!((1000..20_000).contains(&count), "{count}");
    let thousands = count / 1000;
    run.fails(2, &format!("File too large (os error 27); the first {thousands},000 entries were loaded and committed"));
}
