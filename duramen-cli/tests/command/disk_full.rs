//! `duramen directory` on a disk that is really full: a small filesystem in memory. Where mounting is not permitted, and
//! elsewhere too, a limit of the length of files.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;

use duramen_sim::mount::Mount;

use super::{Bench, Run};

const TOP: &str = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n";
const IMPORT: [&str; 5] = ["directory", "import", "--suffix", "dc=example,dc=com", "--data"];

/// People with these numbers.
fn people(numbers: std::ops::Range<usize>) -> String {
    let filler = "x".repeat(1000);
    let person = |n| {
        format!(
            "dn: uid=u{n},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: u{n}\ncn: Person {n}\nsn: P\n\
             description: {filler}\n\n"
        )
    };
    numbers.map(person).collect()
}

/// Files of people: some, and many more.
fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.path("some.ldif"), format!("{TOP}{}", people(0..500))).unwrap();
    fs::write(bench.path("many.ldif"), format!("{TOP}{}", people(0..10_000))).unwrap();
    fs::write(bench.path("more.ldif"), people(500..10_000)).unwrap();
    bench
}

fn assert_whole(bench: &Bench, data: &str) {
    assert_eq!(bench.ok(&["directory", "check", "--data", data]), "everything fits together\n");
    bench.ok(&["check", &format!("{data}/directory.dm")]);
}

fn entries(bench: &Bench, data: &str) -> usize {
    bench.ok(&["directory", "export", "--data", data]).matches("dn: ").count()
}

/// Writes a file until nothing more fits.
fn fill(mount: &Mount) {
    let mut file = File::create(mount.point().join("ballast")).unwrap();
    while file.write_all(&[0; 4096]).is_ok() {}
}

fn empty(mount: &Mount) {
    let ballast = mount.point().join("ballast");
    // Made empty before: a program that is just beginning may still have its descriptor, and thereby the space.
    File::create(&ballast).unwrap();
    fs::remove_file(&ballast).unwrap();
}

fn with_mount(mib: u64, test: impl FnOnce(&Bench, &Mount, &str)) {
    let Some(mount) = Mount::tmpfs(mib) else {
        eprintln!("NOT TESTED on tmpfs: mounting is not permitted here (the limit of a file's length is tested)");
        return;
    };
    test(&bench(), &mount, mount.point().join("people").to_str().unwrap());
}

#[test]
fn an_import_that_fills_the_disk_leaves_an_empty_directory_empty() {
    with_mount(12, |bench, _, data| {
        bench.run(&[&IMPORT[..], &[data, "many.ldif"]].concat()).fails(2, "the disk with the data is full");
        assert_whole(bench, data);
        assert_eq!(entries(bench, data), 0);
        bench.ok(&[&IMPORT[..], &[data, "some.ldif"]].concat());
        assert_whole(bench, data);
        assert_eq!(entries(bench, data), 501);
    });
}

#[test]
fn an_import_that_fills_the_disk_keeps_what_was_there_and_goes_on_when_there_is_room() {
    with_mount(12, |bench, _, data| {
        bench.ok(&[&IMPORT[..], &[data, "some.ldif"]].concat());
        for more in [&["more.ldif"][..], &["--continue", "more.ldif"]] {
            let run = bench.run(&[&IMPORT[..], &[data], more].concat());
            let tried = run.stderr.lines().filter(|line| line.contains("full")).count();
            assert_eq!(tried, 1, "nothing is tried after what does not fit");
            run.fails(2, "the disk with the data is full");
            assert_whole(bench, data);
            let there = entries(bench, data);
            assert!((501..9_000).contains(&there), "{there}");
        }
    });
}

#[test]
fn indices_are_built_when_there_is_room_again() {
    with_mount(12, |bench, mount, data| {
        bench.ok(&[&IMPORT[..], &[data, "some.ldif"]].concat());
        fill(mount);
        let run = bench.run(&["directory", "reindex", "--data", data, "--all"]);
        run.fails(2, "the disk with the data is full");
        assert_whole(bench, data);
        assert_eq!(entries(bench, data), 501);
        empty(mount);
        bench.ok(&["directory", "reindex", "--data", data, "--all"]);
        assert_whole(bench, data);
        let explained = bench.ok(&["directory", "explain", "--data", data, "(uid=u7)"]);
        assert!(explained.contains("uid: index of equality, 1 candidate\n"), "{explained}");
    });
}

#[test]
fn a_limit_of_the_length_of_files_is_met_like_a_full_disk() {
    let bench = bench();
    let args = [&IMPORT[..], &["people", "many.ldif"]].concat();
    let mut command = Command::new("sh");
    // Ignored, the signal is an error of the call. The limit is in units of 512 bytes.
    command.args(["-c", "trap '' XFSZ; ulimit -f 8192; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_duramen")]);
    let output = command.args(&args).current_dir(bench.path("")).output().unwrap();
    Run::of(&args, output).fails(2, "the data file is as long as the process may make one");
    assert_whole(&bench, "people");
    bench.ok(&args);
    assert_eq!(entries(&bench, "people"), 10_001);
}
