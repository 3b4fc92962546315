//! `cargo xtask sanitizers`: the C programs of the LMDB interface's tests with AddressSanitizer, in them and in the library.
//!
//! It notices what memcheck, which the tests use, does not: what is never freed, reads beyond a variable on the stack. The
//! library has to be built by a nightly compiler, which this installs by rustup where there is none.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{Result, nightly_cargo, run_quietly, temporary};
use crate::workspace;

/// Programs that leave the library by `longjmp`: what it had in its hands is lost then.
const JUMPING: [&str; 2] = ["beyond", "surroundings"];
/// One whose threads outlive the library, in which what it keeps for them is lost, unless it is run without those.
const OUTLIVED: &str = "loading";
const PROGRAMS: [&str; 8] =
    ["entries", "environment", "transactions", "limits", OUTLIVED, "own", JUMPING[0], JUMPING[1]];
const TARGET: &str = "x86_64-unknown-linux-gnu";

pub fn run() -> Result {
    let place = temporary()?;
    let library = library(place.path())?;
    for name in PROGRAMS {
        println!("{name}");
        program(place.path(), &library, name)?;
    }
    Ok(())
}

/// Builds the library with the sanitizer; the directory in which it has its soname.
fn library(place: &Path) -> Result<PathBuf> {
    if run_quietly(nightly_cargo().arg("--version")).is_err() {
        run_quietly(Command::new("rustup").args(["toolchain", "install", "nightly", "--profile", "minimal"]))?;
    }
    let target = workspace::target().join("sanitizers");
    let mut cargo = nightly_cargo();
    cargo.args(["build", "--quiet", "--target", TARGET, "-p", "duramen-liblmdb0"]);
    run_quietly(cargo.env("CARGO_TARGET_DIR", &target).env("RUSTFLAGS", "-Zsanitizer=address"))?;
    let link = place.join("liblmdb.so.0");
    let built = target.join(TARGET).join("debug/liblmdb0.so");
    std::os::unix::fs::symlink(built, link).map_err(|error| error.to_string())?;
    Ok(place.to_path_buf())
}

/// Compiles a program and runs it.
fn program(place: &Path, library: &Path, name: &str) -> Result {
    let of_tests = workspace::root().join("duramen-lmdb");
    let (binary, work) = (place.join(name), place.join(format!("{name}.d")));
    std::fs::create_dir(&work).map_err(|error| error.to_string())?;
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-g", "-fsanitize=address", "-rdynamic", "-I"]).arg(of_tests.join("include"));
    compiler.arg(of_tests.join("tests/c").join(name).with_extension("c")).arg("-o").arg(&binary).arg("-lpthread");
    // One loads the library by itself.
    run_quietly(compiler.args((name != OUTLIVED).then_some("-llmdb")))?;
    let leaks = !JUMPING.contains(&name);
    if name == OUTLIVED {
        checked(&binary, &work, library, (&["100", "alone"], true))?;
        std::fs::remove_dir_all(&work).and_then(|()| std::fs::create_dir(&work)).map_err(|error| error.to_string())?;
        return checked(&binary, &work, library, (&["100"], false));
    }
    checked(&binary, &work, library, (&["100"], leaks))
}

/// Runs a program with these arguments; `leaks`: and looks for what is never freed.
fn checked(binary: &Path, work: &Path, library: &Path, (arguments, leaks): (&[&str], bool)) -> Result {
    let mut run = Command::new(binary);
    run.arg(work).args(arguments).env("LD_LIBRARY_PATH", library);
    run_quietly(run.env("ASAN_OPTIONS", format!("detect_leaks={}", u8::from(leaks))))
}
