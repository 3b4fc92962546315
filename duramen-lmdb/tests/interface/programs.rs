//! The programs in `tests/c`, compiled once, run on LMDB's own library and on this one: they print the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::built::{compiler, libraries, root, run, source, text};
use crate::header::{functions, ours};

/// Compiles a program, against LMDB's own library: any liblmdb.so.0 will do when it runs.
pub fn compile(name: &str, directory: &Path) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = directory.join(name);
    run(compiler()
        .arg("-I")
        .arg(own.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(source(name))
        .args(["-rdynamic", "-lpthread"])
        // One loads the library by itself.
        .args((name != "loading").then_some("-llmdb")));
    program
}

fn assert_same(name: &str) -> Result {
    let directory = tempfile::tempdir()?;
    let program = compile(name, directory.path());
    let place = |name: &str| {
        let path = directory.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    };
    let stock = text(&run(Command::new(&program).arg(place("stock.d"))));
    let ours = text(&run(Command::new(&program).arg(place("ours.d")).env("LD_LIBRARY_PATH", libraries())));
    assert!(stock.lines().count() > 5);
    for (i, (stock, ours)) in stock.lines().zip(ours.lines()).enumerate() {
        assert_eq!(stock, ours, "line {}", i + 1);
    }
    assert_eq!(stock.lines().count(), ours.lines().count());
    Ok(())
}

/// A program that knows what is right finds it.
fn assert_kept(name: &str) -> Result {
    let directory = tempfile::tempdir()?;
    let program = compile(name, directory.path());
    run(Command::new(&program).arg(directory.path()).env("LD_LIBRARY_PATH", libraries()));
    Ok(())
}

#[test]
fn environments_answer_as_lmdbs_do() -> Result {
    assert_same("environment")
}

#[test]
fn entries_and_cursors_answer_as_lmdbs_do() -> Result {
    assert_same("entries")
}

#[test]
fn cursors_at_an_end_go_on_as_lmdbs_do() -> Result {
    assert_same("ends")
}

#[test]
fn transactions_answer_as_lmdbs_do() -> Result {
    assert_same("transactions")
}

#[test]
fn limits_and_lengths_are_lmdbs() -> Result {
    assert_same("limits")
}

#[test]
fn what_programs_do_around_an_environment_is_borne_as_lmdb_bears_it() -> Result {
    assert_same("surroundings")
}

#[test]
fn the_library_is_loaded_and_unloaded_as_lmdbs_is() -> Result {
    assert_same("loading")
}

/// Builds a program for our library of LMDB 0.9 or 1.0, and runs it on a directory. It ends with a failure if it prints one.
fn assert_kept_by(interface: u32, name: &str, directory: &Path) {
    let program = directory.join(format!("{name}{interface}"));
    run(compiler()
        .arg(format!("-DMDB_INTERFACE={interface}"))
        .args(["-pthread", "-I"])
        .arg(root().join("duramen-lmdb/include"))
        .arg("-o")
        .arg(&program)
        .arg(source(name))
        .arg("-L")
        .arg(libraries())
        .arg(format!("-l:liblmdb.so.{interface}")));
    run(Command::new(&program).arg(directory).env("LD_LIBRARY_PATH", libraries()));
}

#[test]
fn what_lmdb_one_has_beyond_is_there_or_refused() -> Result {
    assert_kept_by(1, "later", tempfile::tempdir()?.path());
    Ok(())
}

#[test]
fn long_keys_are_stored_by_programs_of_one_and_borne_by_others() -> Result {
    let directory = tempfile::tempdir()?;
    assert_kept_by(1, "long", directory.path());
    assert_kept_by(0, "long", directory.path());
    Ok(())
}

#[test]
fn transactions_read_in_one_that_writes_as_lmdb_one_has_it() -> Result {
    assert_kept_by(1, "readers", tempfile::tempdir()?.path());
    Ok(())
}

#[test]
fn what_is_promised_beyond_lmdb_is_kept() -> Result {
    assert_kept("own")
}

#[test]
fn what_lmdb_does_not_bear_is_borne() -> Result {
    assert_kept("beyond")
}

#[test]
fn a_file_of_lmdb_is_refused_with_a_hint() -> Result {
    let directory = tempfile::tempdir()?;
    let program = compile("environment", directory.path());
    run(Command::new(&program).arg(directory.path()));
    let again = Command::new(&program).arg(directory.path()).env("LD_LIBRARY_PATH", libraries()).output()?;
    let (said, hint) = (text(&again), String::from_utf8_lossy(&again.stderr).into_owned());
    assert!(said.contains("MDB_VERSION_MISMATCH"), "{said}");
    assert_eq!(hint.matches("duramen load").count(), 1, "{hint}");
    Ok(())
}

/// So that each has been called the way that the header declares it, with arguments and answers of use.
#[test]
fn every_function_is_called_by_one_of_the_programs() -> Result {
    let mut text = String::new();
    for entry in std::fs::read_dir(root().join("duramen-lmdb/tests/c"))? {
        text += &std::fs::read_to_string(entry?.path())?;
    }
    let functions = functions(&ours(1));
    let missing: Vec<_> = functions.iter().filter(|name| !text.contains(&format!("{name}("))).collect();
    assert!(missing.is_empty() && functions.len() == 66, "{missing:?}");
    Ok(())
}
