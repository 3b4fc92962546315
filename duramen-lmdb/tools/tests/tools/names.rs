//! Names, versions, and command lines that are wrong.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::peer::{Peer, assert_same, say};

#[test]
fn wrong_command_lines_are_answered_with_the_same_words() {
    let peers = Peer::both(&["env"]);
    assert_same(&peers, "mdb_load -T env", b"k\nv\n");
    let lines = [
        "mdb_stat",
        "mdb_stat -x",
        "mdb_stat -s",
        "mdb_stat env env",
        "mdb_stat -a -s t env",
        "mdb_stat -s t -a env",
        "mdb_stat env -n",
        "mdb_stat env -s t",
        "mdb_stat missing",
        "mdb_stat /etc/passwd",
        "mdb_stat -n /etc/passwd",
        "mdb_stat env/data.mdb",
        "mdb_stat -s t env",
        "mdb_dump",
        "mdb_dump -as t env",
        "mdb_dump -l -s t env",
        "mdb_dump --all env",
        "mdb_dump missing",
        "mdb_dump -s missing env",
        "mdb_dump -f missing/out env",
        "mdb_dump env -p",
        "mdb_load missing",
        "mdb_load -n missing/file",
        "mdb_load -f missing env",
        "mdb_load /etc/passwd",
    ];
    for line in lines {
        assert_same(&peers, line, b"");
    }
    for line in ["mdb_load", "mdb_load -x env", "mdb_load -s"] {
        let [theirs, ours] = peers.each_ref().map(|peer| peer.run(line));
        assert_eq!(theirs.code, ours.code);
        // Ours has the options of later versions.
        assert_eq!(theirs.err, ours.err.replace("[-a] ", "").replace("[-Q] ", ""), "{line}");
    }
}

#[test]
fn versions_are_told_in_the_same_form() {
    let peers = Peer::both(&[]);
    for tool in ["stat", "copy", "dump", "load"] {
        let [theirs, ours] = peers.each_ref().map(|peer| peer.run(&format!("mdb_{tool} -V")));
        assert_eq!(theirs.text().split('(').next(), ours.text().split('(').next());
        assert_eq!((theirs.code, theirs.err), (ours.code, ours.err));
    }
    assert!(peers[1].run("mdb_drop -V").text().starts_with("LMDB 0.9.24: (Duramen "));
}

#[test]
fn what_only_lmdb_one_can_do_is_refused_in_words() {
    let ours = Peer::ours(&["env"]);
    for (line, word) in
        [("mdb_stat -v env", "snapshot"), ("mdb_dump -m x.so env", "encryption"), ("mdb_copy -v env", "snapshot")]
    {
        let said = ours.run(line);
        assert_eq!(said.code, Some(1));
        assert!(said.err.contains(" is not supported: ") && said.err.contains(word), "{}", said.err);
    }
}

#[test]
fn a_tool_can_be_chosen_by_its_name_or_by_the_first_argument() {
    let ours = Peer::ours(&["env"]);
    let run = |name: &str, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mdb_tools"));
        say(command.arg0(name).args(words).current_dir(ours.path("")), b"")
    };
    run("/usr/bin/mdb_load", &["-T", "env"]).well();
    assert!(run("mdb_tools", &["stat", "env"]).text().starts_with("Status of Main DB\n"));
    assert_eq!(run("x", &["mdb_stat"]).err, "usage: mdb_stat [-V] [-n] [-e] [-r[r]] [-f[f[f]]] [-a|-s subdb] dbpath\n");
    assert!(
        run("/bin/mdb_stat", &["-x"]).err.starts_with("/bin/mdb_stat: invalid option -- 'x'\nusage: /bin/mdb_stat ")
    );
    for name in ["mdb_tools", "other", "mdb_other"] {
        let said = run(name, &["nothing"]);
        assert_eq!((said.code, said.out.len()), (Some(1), 0));
        assert!(said.err.contains("mdb_tools stat [OPTION]... PATH"), "{}", said.err);
    }
    assert_eq!(run("mdb_tools", &["--help"]).code, Some(0));
}
