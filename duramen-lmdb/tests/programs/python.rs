//! py-lmdb's own tests: its source comes from the Python package index, is built against the system's `lmdb.h`, and the
//! same build is tested with either library.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library::{BOTH, Library, Way, said};

/// Debian's, which has the headers to compile against.
const PYTHON: &str = "/usr/bin/python3";
const NAME: &str = "lmdb-3.0.0";
/// What pip may fetch, and nothing else.
const REQUIREMENT: &str =
    "lmdb==3.0.0 --hash=sha256:06dda0723545e14d56ac7dcd6f582d9922c2ed5e16f1c3f8d0e670a96ec2ee65\n";

/// Tests, or beginnings of their names, that pass with LMDB's library only, and why.
const DIFFER: [(&str, &str); 2] = [
    ("tests/cursor_test.py::PreloadTest::test_preload", "wants a value not to be read until it is; its checksum is"),
    ("tests/verify_test.py::", "reads LMDB's pages without the library"),
];

/// Gets the source and builds the extension in it; its directory.
fn build(work: &Path) -> PathBuf {
    fs::write(work.join("requirement"), REQUIREMENT).unwrap();
    let mut fetch = python(work);
    fetch.args(["-m", "pip", "--quiet", "download", "--no-deps", "--no-build-isolation", "--no-binary", "lmdb"]);
    said(fetch.args(["--require-hashes", "-r", "requirement"])).well();
    said(Command::new("tar").args(["-xf", &format!("{NAME}.tar.gz")]).current_dir(work)).well();
    let source = work.join(NAME);
    said(python(&source).args(["setup.py", "--quiet", "build_ext", "--inplace"])).well();
    source
}

fn python(place: &Path) -> Command {
    let mut command = Command::new(PYTHON);
    command.current_dir(place).env("LMDB_FORCE_SYSTEM", "1");
    command
}

/// Names of the tests that pass.
fn passed(library: Library, source: &Path) -> BTreeSet<String> {
    let temporary = source.join(format!("{library:?}"));
    fs::create_dir(&temporary).unwrap();
    let mut tests = library.command(Way::Linked, PYTHON);
    tests.current_dir(source).env("LMDB_FORCE_SYSTEM", "1").env("PYTHONPATH", source).env("TMPDIR", &temporary);
    // A module that reads LMDB's pages as it is loaded does not keep the others from running.
    tests.args(["-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "--continue-on-collection-errors", "tests"]);
    let said = said(&mut tests);
    assert!(matches!(said.code, Some(0 | 1)), "{library:?}: {said:?}");
    said.out.lines().filter_map(|line| Some(line.strip_prefix("PASSED ")?.to_string())).collect()
}

#[test]
fn the_tests_of_py_lmdb_pass_as_they_do_with_lmdbs_library() {
    let work = tempfile::tempdir().unwrap();
    let source = &build(work.path());
    let [stock, ours] = std::thread::scope(|scope| {
        BOTH.map(|library| scope.spawn(move || passed(library, source))).map(|run| run.join().unwrap())
    });
    assert!(stock.len() > 400, "{stock:?}");
    for (known, why) in DIFFER {
        let wanted: Vec<&String> = stock.iter().filter(|name| name.starts_with(known)).collect();
        assert!(!wanted.is_empty(), "{known} does not pass with LMDB's library");
        let passing: Vec<&&String> = wanted.iter().filter(|name| ours.contains(**name)).collect();
        assert!(passing.is_empty(), "pass, although {known} {why}: {passing:#?}");
    }
    let differs = |name: &str| DIFFER.iter().any(|(known, _)| name.starts_with(known));
    let lost: Vec<&String> = stock.difference(&ours).filter(|name| !differs(name)).collect();
    assert!(lost.is_empty(), "fail with ours only: {lost:#?}");
}
