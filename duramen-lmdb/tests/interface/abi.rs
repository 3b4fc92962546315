//! What the libraries' debugging information says of their functions, held by `abidiff` against LMDB: none is gone, and the
//! types of arguments and answers are those of the header.
//!
//! Debian strips its library of types, so they come from a library of empty functions that the C compiler makes of the header.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::Result;
use crate::building::build;
use crate::built::{libraries, run, text};
use crate::exports;
use crate::header::{Header, function, ours, stock};

/// A library with the header's functions, which do nothing; `change` is made in each declaration.
fn empty(directory: &Path, header: &Header, soname: &str, change: (&str, &str)) -> Result<PathBuf> {
    let changed = |text: String| text.replacen(change.0, change.1, 1);
    let declarations = header.declarations().into_iter().filter(|declaration| function(declaration).is_some());
    let bodies = declarations.map(|declaration| changed(declaration).replace(';', " { __builtin_trap(); }\n"));
    let source = directory.join("empty.c");
    std::fs::write(&source, changed(header.preprocessed("-P")) + &bodies.collect::<String>())?;
    let library = directory.join(soname);
    let mut compiler = Command::new("cc");
    compiler.args(["-g", "-w", "-shared", "-fPIC", &format!("-Wl,-soname,{soname}"), "-o"]);
    run(compiler.arg(&library).arg(&source));
    Ok(library)
}

fn compare(theirs: &Path, ours: &Path) -> Result<Output> {
    Ok(Command::new("abidiff").args([theirs, ours]).output()?)
}

/// Ours, with types: the tests' profile keeps them for the C interface.
fn with_types(number: usize) -> PathBuf {
    build().join(format!("liblmdb{number}.so"))
}

#[test]
fn no_type_of_an_argument_or_an_answer_differs_from_the_header() -> Result {
    let directory = tempfile::tempdir()?;
    for (number, header) in [(0, stock()), (0, ours(0)), (1, ours(1))] {
        let soname = format!("liblmdb.so.{number}");
        let same = empty(directory.path(), &header, &soname, ("", ""))?;
        let answer = compare(&same, &with_types(number))?;
        assert_eq!(answer.status.code(), Some(0), "{}", text(&answer));
        // And it would have said so.
        for change in [("int force)", "long force)"), ("MDB_env *env, MDB_dbi dbi)", "MDB_env *env)")] {
            let other = empty(directory.path(), &header, &soname, change)?;
            let answer = compare(&other, &with_types(number))?;
            assert_ne!(answer.status.code(), Some(0), "{change:?} is not noticed");
        }
    }
    Ok(())
}

/// But for lists of page numbers, which Debian's library does not hide.
#[test]
fn abidiff_misses_no_function_of_debians_library() -> Result {
    let answer = text(&compare(&exports::stock(), &libraries().join("liblmdb.so.0"))?);
    let missing: Vec<&str> = answer.lines().filter_map(|line| line.trim().strip_prefix("[D] ")).collect();
    assert!(missing.len() == 13 && missing.iter().all(|name| name.starts_with("mdb_mid")), "{answer}");
    let counts: Vec<&str> = answer.lines().filter(|line| line.contains("changes summary:")).collect();
    assert!(
        counts.len() == 4 && counts.iter().all(|line| !line.contains("Changed") || line.contains(" 0 Changed")),
        "{answer}"
    );
    Ok(())
}
