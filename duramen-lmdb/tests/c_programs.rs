//! The programs in `tests/c`, compiled once, run on LMDB's own library and on this one: they print the same. And what
//! the libraries export.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// A directory in which the libraries stand under their sonames.
fn libraries() -> &'static Path {
    static MADE: OnceLock<PathBuf> = OnceLock::new();
    MADE.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "-p", "duramen-liblmdb0", "-p", "duramen-liblmdb1"]).current_dir(root());
        let mut target = std::env::current_exe().unwrap();
        // target/PROFILE/deps/this
        target.pop();
        target.pop();
        if target.ends_with("release") {
            build.arg("--release");
        }
        build.env("CARGO_TARGET_DIR", target.parent().unwrap());
        run(&mut build);
        let place = target.join("lmdb");
        std::fs::create_dir_all(&place).unwrap();
        for number in 0..2 {
            let link = place.join(format!("liblmdb.so.{number}"));
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(target.join(format!("liblmdb{number}.so")), link).unwrap();
        }
        place
    })
}

/// Compiles a program, against LMDB's own library: any liblmdb.so.0 will do when it runs.
fn compile(name: &str, directory: &Path) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = directory.join(name);
    let source = own.join("tests/c").join(name).with_extension("c");
    run(Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-g", "-I"])
        .arg(own.join("include"))
        .arg("-o")
        .arg(&program)
        .arg(source)
        .args(["-llmdb", "-lpthread"]));
    program
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
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
    assert!(stock.lines().count() > 50);
    for (i, (stock, ours)) in stock.lines().zip(ours.lines()).enumerate() {
        assert_eq!(stock, ours, "line {}", i + 1);
    }
    assert_eq!(stock.lines().count(), ours.lines().count());
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
fn transactions_answer_as_lmdbs_do() -> Result {
    assert_same("transactions")
}

#[test]
fn what_is_promised_beyond_lmdb_is_kept() -> Result {
    let directory = tempfile::tempdir()?;
    let program = compile("own", directory.path());
    run(Command::new(&program).arg(directory.path()).env("LD_LIBRARY_PATH", libraries()));
    Ok(())
}

#[test]
fn a_file_of_lmdb_is_refused_with_a_hint() -> Result {
    let directory = tempfile::tempdir()?;
    let program = compile("environment", directory.path());
    run(Command::new(&program).arg(directory.path()));
    let again = Command::new(&program).arg(directory.path()).env("LD_LIBRARY_PATH", libraries()).output()?;
    let (said, hint) = (text(&again), String::from_utf8_lossy(&again.stderr).into_owned());
    assert!(said.contains("MDB_VERSION_MISMATCH"), "{said}");
    assert_eq!(hint.matches("mdb_dump").count(), 1, "{hint}");
    Ok(())
}

/// Functions that a library exports.
fn exports(library: &Path) -> Vec<String> {
    let output = run(Command::new("nm").args(["-D", "--defined-only"]).arg(library));
    let text = text(&output);
    let functions = text.lines().filter_map(|line| line.split_once(" T ")).map(|(_, name)| name.to_string());
    functions.collect()
}

#[test]
fn exactly_the_public_functions_are_exported() {
    let header = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("include/lmdb.h")).unwrap();
    let declared = |text: &str| -> Vec<String> {
        let mut names: Vec<String> = text
            .lines()
            .filter(|line| line.ends_with(");") && !line.starts_with("typedef"))
            .filter_map(|line| line.split('(').next()?.split([' ', '*']).next_back().map(str::to_string))
            .filter(|name| name.starts_with("mdb_"))
            .collect();
        names.sort();
        names
    };
    let (first, second) = header.split_once("typedef int(MDB_enc_func)").unwrap();
    let (mut nine, more) = (declared(first), declared(second));
    assert_eq!((nine.len(), more.len()), (56, 10));
    assert_eq!(exports(&libraries().join("liblmdb.so.0")), nine);
    nine.extend(more);
    nine.sort();
    assert_eq!(exports(&libraries().join("liblmdb.so.1")), nine);
}
