//! What the libraries export: exactly the functions of the header, and all that LMDB's own library offers to programs.

use std::path::Path;
use std::process::Command;

use crate::built::{libraries, run, text};
use crate::header;

/// Names in a library's dynamic symbol table, of functions and of anything else.
fn exports(library: &Path) -> Vec<String> {
    let output = run(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(library));
    let mut names: Vec<String> =
        text(&output).lines().filter_map(|line| line.split(' ').next().map(str::to_string)).collect();
    names.sort();
    names
}

/// LMDB's own library, where the loader finds it.
pub fn stock() -> std::path::PathBuf {
    let output = run(Command::new("cc").arg("-print-file-name=liblmdb.so.0"));
    text(&output).trim().into()
}

#[test]
fn exactly_the_public_functions_are_exported() {
    let (nine, one) = (header::functions(&header::ours(0)), header::functions(&header::ours(1)));
    assert_eq!((nine.len(), one.len()), (56, 66));
    assert_eq!(exports(&libraries().join("liblmdb.so.0")), nine);
    assert_eq!(exports(&libraries().join("liblmdb.so.1")), one);
}

/// The others are lists of page numbers, which Debian's library does not hide.
#[test]
fn all_that_lmdbs_library_has_for_programs_is_exported() {
    let mut public = exports(&stock());
    let all = public.len();
    public.retain(|name| !name.starts_with("mdb_midl_") && !name.starts_with("mdb_mid2l_"));
    assert_eq!((all, public.len()), (69, 56));
    assert_eq!(exports(&libraries().join("liblmdb.so.0")), public);
}

#[test]
fn libraries_have_their_sonames_need_nothing_unusual_and_are_not_captured_by_the_programs_names() {
    for number in 0..2 {
        let library = libraries().join(format!("liblmdb.so.{number}"));
        let dynamic = text(&run(Command::new("readelf").args(["-d", "--wide"]).arg(&library)));
        assert!(dynamic.contains(&format!("Library soname: [liblmdb.so.{number}]")), "{dynamic}");
        assert!(dynamic.contains("SYMBOLIC") && dynamic.contains("BIND_NOW"), "{dynamic}");
        let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
        let usual = ["[libc.so.6]", "[libgcc_s.so.1]", "[libpthread.so.0]", "[libdl.so.2]", "[libm.so.6]", "[ld-linux"];
        let unusual: Vec<&str> = needed.filter(|line| !usual.iter().any(|name| line.contains(name))).collect();
        assert!(unusual.is_empty(), "{unusual:?}");
    }
}
