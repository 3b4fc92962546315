//! What every command has in common: exit codes, messages, and how it takes interruptions.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use duramen::Database;

use super::{Bench, Run};

const COMMANDS: [&str; 12] =
    ["stat", "ls", "get", "put", "del", "scan", "check", "readers", "dump", "load", "bench", "completions"];

#[test]
fn every_command_has_help_with_examples() {
    let b = Bench::new();
    let help = b.ok(&["--help"]);
    assert!(help.contains("Exit codes:"), "{help}");
    for command in COMMANDS {
        assert!(help.contains(&format!("\n  {command} ")), "{command} is not in the list");
        let help = b.ok(&[command, "--help"]);
        assert!(help.contains("Examples:\n  ") && help.contains(&format!("duramen {command}")), "{help}");
        assert!(!help.contains("Arguments of"), "{help}");
    }
}

/// A command that is folded is another one when it is pasted: its end runs as a command of its own.
#[test]
fn examples_stand_on_their_lines_in_a_narrow_terminal() {
    let b = Bench::new();
    let of_directories =
        ["import", "export", "reindex", "check", "explain", "passwd"].map(|name| vec!["directory", name]);
    let others = [vec![], vec!["copy"], vec!["acl"], vec!["acl", "explain"], vec!["directory"]];
    for mut command in COMMANDS.map(|name| vec![name]).into_iter().chain(of_directories).chain(others) {
        command.push("--help");
        let shown = |columns: &str| {
            let help = Run::of(&command, b.command(&command).env("COLUMNS", columns).output().expect("it runs")).ok();
            let examples = help.split_once("Examples:\n").map_or("", |(_, examples)| examples);
            examples
                .lines()
                .take_while(|line| line.is_empty() || line.starts_with("  "))
                .map(String::from)
                .collect::<Vec<_>>()
        };
        let whole = shown("110");
        assert!(whole.iter().all(|line| line.len() <= 80), "{command:?}: {whole:#?}");
        assert_eq!(shown("80"), whole, "{command:?}");
        let continued = |line: &&String| line.starts_with("      ");
        let folded = whole.iter().filter(|line| line.ends_with('\\')).count();
        assert_eq!(whole.iter().filter(continued).count(), folded, "{command:?}: {whole:#?}");
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    let b = Bench::new();
    assert_eq!(b.run(&[]).code, Some(2));
    b.run(&["nonsense"]).fails(2, "unrecognized subcommand");
    b.run(&["get", "x.dm"]).fails(2, "required");
    b.run(&["bench", "--seconds=-1"]).fails(2, "--seconds");
    for size in ["5000", "2048", "131072", "x", ""] {
        b.run(&["bench", "--page-size", size]).fails(2, "--page-size");
        b.run(&["load", "x.dm", "--page-size", size]).fails(2, "--page-size");
    }
}

#[test]
fn a_file_that_is_not_there_or_not_ours_is_named() {
    let b = Bench::new();
    for args in [&["stat", "no.dm"][..], &["ls", "no.dm"], &["check", "no.dm"], &["dump", "no.dm"]] {
        b.run(args).fails(2, "cannot open no.dm: No such file");
    }
    b.run(&["del", "no.dm", "t", "k"]).fails(2, "cannot open no.dm: No such file");
    assert!(!b.path("no.dm").exists());
    std::fs::write(b.path("text.dm"), "hello ".repeat(10_000)).unwrap();
    b.run(&["stat", "text.dm"]).fails(2, "text.dm is not a Duramen database");
    b.run(&["put", "text.dm", "t", "k", "v"]).fails(2, "text.dm is not a Duramen database");
    b.run(&["get", ".", "t", "k"]).fails(2, "it is a directory: name the file in it");
}

#[test]
fn another_writer_is_waited_for_only_as_long_as_asked() {
    let b = Bench::new();
    let db = Database::open(b.path("x.dm")).unwrap();
    let txn = db.begin_write().unwrap();
    b.run(&["put", "x.dm", "t", "k", "v", "--wait", "0"]).fails(2, "another write transaction is active");
    b.run(&["put", "x.dm", "t", "k", "v", "--wait", "0.05"]).fails(2, "waiting for it");
    b.run(&["put", "x.dm", "t", "k", "v", "--wait", "soon"]).fails(2, "not a number of seconds");
    // Those who only look do not wait.
    b.ok(&["ls", "x.dm"]);
    b.ok(&["stat", "x.dm"]);
    b.ok(&["stat", "x.dm", "--full"]);
    b.ok(&["check", "x.dm"]);
    b.ok(&["readers", "x.dm"]);
    let mut waiting = b.command(&["put", "x.dm", "t", "k", "v"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(waiting.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("another writer is at work"), "{line}");
    drop(txn);
    assert!(waiting.wait().unwrap().success());
    assert_eq!(b.ok(&["get", "x.dm", "t", "k"]), "v\n");
}

/// A table that is larger than any pipe holds.
fn large(b: &Bench) {
    let db = Database::open(b.path("x.dm")).unwrap();
    db.update(|txn| {
        let mut table = txn.table("t")?;
        (0..50_000u32).try_for_each(|n| table.put(n.to_be_bytes(), [7; 100]))
    })
    .unwrap();
}

#[test]
fn a_reader_that_goes_away_ends_the_command_without_a_word() {
    let b = Bench::new();
    large(&b);
    for args in [&["scan", "x.dm", "t"][..], &["scan", "x.dm", "t", "--json"], &["dump", "x.dm"]] {
        let mut child = b.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(141), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn ctrl_c_in_a_load_leaves_the_database_as_it_was() {
    let b = Bench::new();
    for signal in ["-INT", "-TERM", "-HUP"] {
        interrupted_load(&b, signal);
        assert_eq!(b.files(), [""; 0]);
    }
    b.ok(&["put", "x.dm", "other", "k", "v"]);
    interrupted_load(&b, "-INT");
    assert_eq!(b.ok(&["ls", "x.dm", "--json"]).matches("\"name\"").count(), 1);
}

#[test]
fn a_load_that_was_told_to_go_on_when_the_terminal_is_closed_goes_on() {
    let b = Bench::new();
    let mut command = Command::new("nohup");
    let command = command.args([env!("CARGO_BIN_EXE_duramen"), "load", "x.dm"]).current_dir(b.dir.path());
    let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = streams.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"VERSION=3\nwhat=1\nHEADER=END\n 61\n 62\n").unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    messages.read_line(&mut String::new()).unwrap();
    assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
    input.write_all(b"DATA=END\n").unwrap();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(b.ok(&["get", "x.dm", "", "a"]), "b\n");
}

/// Begins to load a table, and is interrupted.
fn interrupted_load(b: &Bench, signal: &str) {
    // Whoever runs the tests may have it that some signals are not heard.
    let mut command = Command::new("env");
    let command = command.args(["--default-signal", env!("CARGO_BIN_EXE_duramen"), "load", "x.dm"]);
    let command = command.current_dir(b.dir.path()).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"VERSION=3\ndatabase=t\nwhat=1\nHEADER=END\n 61\n 62\n").unwrap();
    let mut messages = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // By now it listens: it has read the header.
    messages.read_line(&mut line).unwrap();
    assert!(line.contains("standard input:3: the header says what"), "{line}");
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    messages.read_to_string(&mut line).unwrap();
    assert!(line.contains("interrupted: nothing was loaded"), "{line}");
    drop(input);
}

/// A transaction of its load has more than any disk takes in a second.
#[test]
fn ctrl_c_in_a_bench_leaves_nothing_of_it() {
    let b = Bench::new();
    for times in 1..=2 {
        let mut command = Command::new("env");
        let command = command.args(["--default-signal", env!("CARGO_BIN_EXE_duramen"), "bench"]);
        let command = command.args(["--records", "10000", "--value-bytes", "16000000"]);
        let mut child = command.current_dir(b.dir.path()).stderr(Stdio::null()).spawn().unwrap();
        while b.files().is_empty() && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        for _ in 0..times {
            Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
        }
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(b.files(), [""; 0]);
    }
}

#[test]
fn nothing_is_said_if_quiet() {
    let b = Bench::new();
    let dump = b"VERSION=3\nHEADER=END\n 61\n 62\nDATA=END\n";
    let run = b.fed(&["load", "x.dm", "--quiet"], dump);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let run = b.fed(&["load", "x.dm"], dump);
    assert!(run.stderr.starts_with("duramen: loaded 1 entry into 1 table, "), "{run:?}");
}
