//! `cargo xtask suites`: the test suites of LMDB's wrappers, linked with LMDB's library and with ours.
//!
//! They are fetched from their registries into a temporary directory. Where a wrapper carries LMDB's source, that is
//! left out. Every test that passes with LMDB's library has to pass with ours, but for those listed here with a reason.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{self, Result, run_quietly, temporary};
use crate::workspace;

#[derive(clap::Args)]
pub struct Arguments {
    /// The suites
    #[arg(long, value_delimiter = ',', default_values_t = ["heed", "lmdb-rkv", "rkv", "lmdb-zero", "lmdb-rs", "lmdb-go"].map(String::from))]
    suites: Vec<String>,
}

/// A wrapper for Rust, and the crate that binds it to the library.
struct Wrapper {
    name: &'static str,
    version: &'static str,
    binding: &'static str,
    binding_version: &'static str,
    /// What of the wrapper is tested, beside what is by default.
    features: &'static [&'static str],
}

const WRAPPERS: [Wrapper; 5] = [
    Wrapper { name: "heed", version: "0.22.1", binding: "lmdb-master-sys", binding_version: "0.2.6", features: &[] },
    Wrapper { name: "lmdb-rkv", version: "0.14.0", binding: "lmdb-rkv-sys", binding_version: "0.11.2", features: &[] },
    Wrapper { name: "rkv", version: "0.19.0", binding: "lmdb-rkv-sys", binding_version: "0.11.2", features: &["lmdb"] },
    Wrapper { name: "lmdb-zero", version: "0.4.4", binding: "liblmdb-sys", binding_version: "0.2.2", features: &[] },
    Wrapper { name: "lmdb-rs", version: "0.7.6", binding: "liblmdb-sys", binding_version: "0.2.2", features: &[] },
];

const GO: (&str, &str) = ("github.com/PowerDNS/lmdb-go", "v1.9.3");

/// Tests that pass with LMDB's library only.
const DIFFER: [(&str, &str); 4] = [
    ("envs::env::tests::resize_database", "wants a file to be full that Duramen, whose pages hold more, finds room in"),
    ("environment::test::test_freelist", "reads LMDB's list of free pages, which is no table here"),
    ("test_load_ratio", "reads LMDB's list of free pages, which is no table here"),
    ("test_easy_migrator_invalid_1", "wants a lock file beside a file that is no database, where Duramen makes none"),
];

pub fn run(arguments: &Arguments) -> Result {
    let work = temporary()?;
    let libraries = libraries(work.path())?;
    arguments.suites.iter().try_for_each(|suite| one(suite, work.path(), &libraries))
}

/// Builds our library; the directory in which it has its soname.
fn libraries(work: &Path) -> Result<PathBuf> {
    run_quietly(command::cargo().args(["build", "--release", "-p", "duramen-liblmdb0"]))?;
    let place = work.join("library");
    make(&place)?;
    let built = workspace::target().join("release/liblmdb0.so");
    for name in ["liblmdb.so.0", "liblmdb.so"] {
        fs::copy(&built, place.join(name)).map_err(|error| format!("{}: {error}", built.display()))?;
    }
    Ok(place)
}

fn one(suite: &str, work: &Path, library: &Path) -> Result {
    println!("== {suite}");
    let place = work.join(suite);
    make(&place)?;
    let (stock, ours) = match WRAPPERS.iter().find(|wrapper| wrapper.name == suite) {
        Some(wrapper) => {
            prepare(wrapper, &place, library)?;
            (rust(&place, wrapper.features, None)?, rust(&place, wrapper.features, Some(library))?)
        }
        None if suite == "lmdb-go" => {
            let source = fetch_go(&place)?;
            (go(&source, library, false)?, go(&source, library, true)?)
        }
        None => return Err(format!("there is no suite {suite}")),
    };
    judge(suite, &stock, &ours)
}

/// Compares the names of the tests that passed.
fn judge(suite: &str, stock: &BTreeSet<String>, ours: &BTreeSet<String>) -> Result {
    println!("{suite}: {} tests pass with LMDB's library, {} with ours", stock.len(), ours.len());
    let lost: Vec<&String> = stock.difference(ours).collect();
    let mut unknown = Vec::new();
    for name in lost {
        match DIFFER.iter().find(|(known, _)| known == name) {
            Some((_, why)) => println!("  {name}: {why}"),
            None => unknown.push(name.as_str()),
        }
    }
    if stock.is_empty() {
        return Err(format!("{suite}: nothing ran"));
    }
    if unknown.is_empty() { Ok(()) } else { Err(format!("{suite}: fail with ours only: {}", unknown.join(", "))) }
}

/// Fetches a wrapper and its binding, which is told to link with a library instead of compiling LMDB.
fn prepare(wrapper: &Wrapper, place: &Path, library: &Path) -> Result {
    let Wrapper { name, version, binding, binding_version, .. } = wrapper;
    let fetch = format!(
        "[package]\nname = \"fetch\"\nedition = \"2021\"\n[workspace]\n[dependencies]\n\
         {name} = \"={version}\"\n{binding} = \"={binding_version}\"\n"
    );
    make(&place.join("fetch/src"))?;
    write(&place.join("fetch/src/lib.rs"), "")?;
    write(&place.join("fetch/Cargo.toml"), &fetch)?;
    run_quietly(
        Command::new("cargo").args(["vendor", "--quiet", "--versioned-dirs"]).current_dir(place.join("fetch")),
    )?;
    for (package, version) in [(name, version), (binding, binding_version)] {
        let source = place.join(format!("fetch/vendor/{package}-{version}"));
        fs::rename(&source, place.join(package)).map_err(|error| format!("{}: {error}", source.display()))?;
        // Vendored sources must not be changed; these are no longer.
        for file in [".cargo-checksum.json", "Cargo.lock"] {
            let _ = fs::remove_file(place.join(package).join(file));
        }
    }
    // Cargo did not always leave out where its author had the binding.
    let manifest = place.join(name).join("Cargo.toml");
    let said = fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
    write(&manifest, &said.replace(&format!("path = \"{binding}\"\n"), ""))?;
    let build = format!(
        "fn main() {{\n    println!(\"cargo:rustc-link-search=native={}\");\n    \
         println!(\"cargo:rustc-link-lib=dylib=lmdb\");\n}}\n",
        library.display()
    );
    write(&place.join(binding).join("build.rs"), &build)?;
    let workspace = format!(
        "[workspace]\nresolver = \"2\"\nmembers = [\"{name}\"]\nexclude = [\"{binding}\", \"fetch\"]\n\
         [patch.crates-io]\n{binding} = {{ path = \"{binding}\" }}\n"
    );
    write(&place.join("Cargo.toml"), &workspace)
}

/// Names of the tests that pass.
fn rust(place: &Path, features: &[&str], library: Option<&Path>) -> Result<BTreeSet<String>> {
    let mut cargo = Command::new("cargo");
    cargo
        .args(["test", "--no-fail-fast", "--features", &features.join(",")])
        .current_dir(place)
        .env("CARGO_TARGET_DIR", place.join("target"));
    cargo.env("RUSTFLAGS", "--cap-lints allow");
    give(&mut cargo, library);
    let said = output(&mut cargo)?;
    Ok(said.lines().filter_map(|line| Some(line.strip_prefix("test ")?.strip_suffix(" ... ok")?.to_string())).collect())
}

/// Fetches the module, and takes LMDB's source out of it.
fn fetch_go(place: &Path) -> Result<PathBuf> {
    let (module, version) = GO;
    let modules = place.join("modules");
    let mut go = Command::new("go");
    go.args(["mod", "download", "-json", &format!("{module}@{version}")])
        .env("GOMODCACHE", &modules)
        .current_dir(place);
    go.env("GOFLAGS", "-modcacherw");
    let said = output(&mut go)?;
    let line =
        said.lines().find_map(|line| line.trim().strip_prefix("\"Dir\": \"")).ok_or("the module is not there")?;
    let source = PathBuf::from(line.trim_end_matches("\","));
    for file in ["lmdb/mdb.c", "lmdb/midl.c"] {
        let file = source.join(file);
        fs::remove_file(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(source)
}

fn go(source: &Path, library: &Path, ours: bool) -> Result<BTreeSet<String>> {
    let mut go = Command::new("go");
    go.args(["test", "-v", "-count=1", "-p=1", "./lmdb", "./lmdbscan", "./exp/lmdbsync"]).current_dir(source);
    go.env("CGO_LDFLAGS", format!("-L{} -llmdb", library.display()))
        .env("GOFLAGS", "-mod=mod -modcacherw -buildvcs=false");
    give(&mut go, ours.then_some(library));
    let said = output(&mut go)?;
    let name = |line: &str| Some(line.trim().strip_prefix("--- PASS: ")?.split(' ').next()?.to_string());
    Ok(said.lines().filter_map(name).collect())
}

fn give(command: &mut Command, library: Option<&Path>) {
    match library {
        Some(library) => command.env("LD_LIBRARY_PATH", library),
        None => command.env_remove("LD_LIBRARY_PATH"),
    };
}

/// All that a program writes to its standard output, however it ends: some tests fail with LMDB's library, too.
fn output(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8_lossy(&command::output(command)?.stdout).into_owned())
}

fn make(place: &Path) -> Result {
    fs::create_dir_all(place).map_err(|error| format!("{}: {error}", place.display()))
}

fn write(file: &Path, text: &str) -> Result {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
