//! `mdb_copy` and `mdb_drop`.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::peer::{Entries, Peer, assert_same, header, say, section};

/// An environment with a table, from which some has been deleted.
fn fill(peers: &[Peer]) {
    let entries = |count: u32| -> Entries { (0..count).map(|n| (n.to_be_bytes().to_vec(), vec![b'v'; 100])).collect() };
    for peer in peers {
        for (name, count) in [("big", 5000), ("small", 3)] {
            peer.fed("mdb_load env", &section(&header(Some(name)), &entries(count))).well();
        }
        peer.fed("mdb_load -T env", b"key\nvalue\n").well();
    }
}

#[test]
fn copies_of_every_way_have_what_the_original_has() {
    let peers = Peer::both(&["env", "full", "compact"]);
    fill(&peers);
    for words in ["mdb_copy env full", "mdb_copy -c env compact", "mdb_copy -c -n env/data.mdb file"] {
        assert_same(&peers, words, b"");
    }
    for peer in &peers {
        for (words, name) in [("mdb_copy env", "out"), ("mdb_copy -c env", "out-compact")] {
            std::fs::write(peer.path(name), peer.run(words).well()).unwrap();
        }
    }
    let copies = ["env", "full", "compact", "-n file", "-n out", "-n out-compact"];
    for copy in copies {
        assert_same(&peers, &format!("mdb_dump -a {copy}"), b"");
    }
    for copy in ["full/data.mdb", "compact/data.mdb", "file", "out", "out-compact"] {
        let db = duramen::Database::open(peers[1].path(copy)).unwrap();
        assert!(db.check(|_, _| {}).unwrap().is_clean(), "{copy}");
    }
}

#[test]
fn a_compact_copy_is_smaller_when_there_is_something_to_leave_out() {
    let peers = Peer::both(&["env", "compact"]);
    fill(&peers);
    peers[1].run("mdb_drop -d -s big env").well();
    peers[1].run("mdb_copy -c env compact").well();
    let bytes = |name: &str| std::fs::metadata(peers[1].path(name)).unwrap().len();
    assert!(bytes("compact/data.mdb") < bytes("env/data.mdb") / 4);
}

#[test]
fn a_compact_copy_goes_into_a_pipe_where_there_is_no_directory_for_temporary_files() {
    let peers = Peer::both(&["env"]);
    fill(&peers);
    let whole = peers[1].run("mdb_dump -a env").well();
    for place in ["/nowhere", "/proc", "/dev/null"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mdb_tools"));
        command.arg0("mdb_copy").args(["-c", "env"]).current_dir(peers[1].path("")).env("TMPDIR", place);
        std::fs::write(peers[1].path("out"), say(&mut command, b"").well()).unwrap();
        assert!(peers[1].run("mdb_dump -a -n out").well() == whole, "{place}");
        let left: Vec<_> =
            std::fs::read_dir(peers[1].path("env")).unwrap().map(|file| file.unwrap().file_name()).collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().contains("copy")), "{place}: {left:?}");
    }
}

#[test]
fn copies_that_cannot_be_made_are_refused_with_the_same_words() {
    let peers = Peer::both(&["env", "full"]);
    fill(&peers);
    assert_same(&peers, "mdb_copy env full", b"");
    let refused = [
        "mdb_copy env full",
        "mdb_copy env missing",
        "mdb_copy missing full",
        "mdb_copy",
        "mdb_copy -x env",
        "mdb_copy -nc env",
        "mdb_copy env full more",
        "mdb_copy - env",
        "mdb_copy env/data.mdb full",
    ];
    for words in refused {
        assert_same(&peers, words, b"");
        assert_eq!(peers[1].run(words).code, Some(1), "{words}");
    }
}

#[test]
fn a_pipe_that_closes_early_is_a_failure() {
    let [_, ours] = Peer::both(&["env"]);
    fill(std::slice::from_ref(&ours));
    for tool in ["copy", "dump"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mdb_tools"))
            .args([tool, "-n"])
            .arg(ours.path("env/data.mdb"))
            .args(if tool == "dump" { &["-s", "big"][..] } else { &[] })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stderr).contains("Broken pipe"));
    }
}

/// Debian has no mdb_drop: what it should do is in its manual page.
#[test]
fn a_compact_copy_that_is_killed_while_it_is_read_leaves_no_file() {
    let [_, ours] = Peer::both(&["env", "temporary"]);
    fill(std::slice::from_ref(&ours));
    let mut child = Command::new(env!("CARGO_BIN_EXE_mdb_tools"))
        .args(["copy", "-c"])
        .arg(ours.path("env"))
        .env("TMPDIR", ours.path("temporary"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Larger than a pipe holds: it waits for its reader now.
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_dir(ours.path("temporary")).unwrap().count(), 0);
}

#[test]
fn tables_are_emptied_or_deleted() {
    let ours = Peer::ours(&["env"]);
    fill(std::slice::from_ref(&ours));
    let names = || ours.run("mdb_dump -l env").text();
    ours.run("mdb_drop -s big env").well();
    assert_eq!(names(), "big\nsmall\n");
    assert!(ours.run("mdb_stat -s big env").text().ends_with("Entries: 0\n"));
    ours.run("mdb_drop -d -s big env").well();
    assert_eq!(names(), "small\n");
    let missing = ours.run("mdb_drop -s big env");
    assert_eq!(missing.err, "mdb_open failed, error -30798 MDB_NOTFOUND: No matching key/data pair found\n");
    assert_eq!(missing.code, Some(1));
    ours.run("mdb_drop env").well();
    assert_eq!(ours.run("mdb_dump -l env").code, Some(1));
    assert_eq!(ours.run("mdb_drop").err, "usage: mdb_drop [-V] [-n] [-d] [-s subdb] dbpath\n");
}
