//! Postfix: a map is created, asked, changed and walked by `postmap`.

use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::library::{self, BOTH, Library, Said, Way};

const ENTRIES: u32 = 5000;

/// A directory with the settings that `postmap` wants, and a map's text. The limit is low, so that it has to be raised.
fn place() -> tempfile::TempDir {
    let directory = library::place();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("main.cf"), "compatibility_level = 3.6\nlmdb_map_size = 65536\n").unwrap();
    fs::write(at("dynamicmaps.cf"), "lmdb postfix-lmdb.so dict_lmdb_open mkmap_lmdb_open\n").unwrap();
    let mut text = String::new();
    for i in 0..ENTRIES {
        writeln!(text, "user{i}@example.org box{}/mail", i * 7919 % ENTRIES).unwrap();
    }
    fs::write(at("map"), text).unwrap();
    directory
}

fn postmap(library: Library, place: &Path, arguments: &[&str]) -> Said {
    let map = format!("lmdb:{}", place.join("map").display());
    let arguments = [arguments, &[&map]].concat();
    let mut said = library.run_with(Way::Linked, "postmap", &arguments, &[("MAIL_CONFIG", place)]);
    said.err = said.err.replace(place.to_str().unwrap(), "");
    said
}

#[test]
fn postmap_creates_asks_deletes_and_walks() {
    let [stock, ours] = BOTH.map(|library| {
        let place = place();
        let run = |arguments: &[&str]| postmap(library, place.path(), arguments);
        let said = [
            run(&["-v"]).code.map(|code| code.to_string()).unwrap_or_default(),
            run(&["-q", "user77@example.org"]).well(),
            format!("{:?}", run(&["-q", "nobody@example.org"])),
            run(&["-d", "user77@example.org"]).well(),
            format!("{:?}", run(&["-d", "user77@example.org"])),
            format!("{:?}", run(&["-q", "user77@example.org"])),
            run(&["-s"]).well(),
        ];
        // Once more over the file that is there: it is emptied first.
        run(&[]).well();
        let again = run(&["-s"]).well();
        assert_eq!(again.lines().count() as u32, ENTRIES);
        if library == Library::Ours {
            library::assert_clean(&place.path().join("map.lmdb"));
        }
        (said, again)
    });
    assert_eq!(stock, ours);
}

/// Without `-i` it is all one transaction; with it, one for each line.
#[test]
fn a_postmap_that_is_killed_leaves_what_it_had_committed() {
    let place = place();
    let at = place.path();
    postmap(Library::Ours, at, &[]).well();
    let before = postmap(Library::Ours, at, &["-s"]).well();

    let map = format!("lmdb:{}", at.join("map").display());
    let mut command = Library::Ours.command(Way::Linked, "postmap");
    command.env("MAIL_CONFIG", at).args(["-i", &map]).stdin(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut input = server.stdin.take().unwrap();
    for i in 0..ENTRIES * 4 {
        writeln!(input, "more{i}@example.org {i}").unwrap();
    }
    // It has read most of them, and waits for the rest.
    library::assert_mapped(server.id());
    server.kill().unwrap();
    server.wait().unwrap();

    let after = postmap(Library::Ours, at, &["-s"]).well();
    let (more, old): (Vec<&str>, Vec<&str>) = after.lines().partition(|line| line.starts_with("more"));
    assert!(old == before.lines().collect::<Vec<_>>(), "entries that were there have changed");
    let mut numbers: Vec<usize> =
        more.iter().map(|line| line.split_whitespace().last().unwrap().parse().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.iter().copied().eq(0..more.len()) && !more.is_empty(), "not the first of what it read");

    postmap(Library::Ours, at, &["-d", "user3@example.org"]).well();
    assert_eq!(postmap(Library::Ours, at, &["-s"]).well().lines().count(), after.lines().count() - 1);
    library::assert_clean(&at.join("map.lmdb"));
}
