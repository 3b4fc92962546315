//! `make install`, into a directory: what is there afterwards, and that programs compile with it and run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::building::{self, build};
use crate::built::{compiler, root, run, source, text};

/// A directory into which everything is installed, and the prefix within.
struct Place {
    directory: tempfile::TempDir,
}

const PREFIX: &str = "/opt/duramen";
const LIBDIR: &str = "/opt/duramen/lib/duramen";

impl Place {
    fn installed() -> Result<Place> {
        let place = Place { directory: tempfile::tempdir()? };
        run(&mut place.make("install", build().parent().unwrap()));
        Ok(place)
    }

    /// Makes something as by sudo: what is built in the directory `target` is installed, and nothing built.
    fn make(&self, what: &str, target: &Path) -> Command {
        let (_, profile) = building::target();
        let mut make = Command::new("make");
        make.args(["--no-print-directory", what]).current_dir(root());
        make.args([format!("DESTDIR={}", self.directory.path().display()), format!("PREFIX={PREFIX}")]);
        make.args([format!("LIBRARY_PROFILE={profile}"), format!("PROGRAM_PROFILE={profile}")]);
        // The variables of the make and the cargo that run these tests are not for that one.
        for name in ["MAKEFLAGS", "BINDIR", "LIBDIR", "INCLUDEDIR", "TOOLSDIR", "MANDIR"] {
            make.env_remove(name);
        }
        make.env("SUDO_USER", "somebody").env("CARGO_TARGET_DIR", target);
        make
    }

    fn path(&self, installed: &str) -> PathBuf {
        self.directory.path().join(installed.trim_start_matches('/'))
    }

    fn library(&self, name: &str) -> PathBuf {
        self.path(LIBDIR).join(name)
    }

    /// What pkg-config says of a package that is installed here.
    fn flags(&self, options: &[&str], package: &str) -> Vec<String> {
        let output = run(Command::new("pkg-config")
            .args(options)
            .arg(package)
            .env("PKG_CONFIG_LIBDIR", self.library("pkgconfig"))
            .env("PKG_CONFIG_SYSROOT_DIR", self.directory.path()));
        text(&output).split_whitespace().map(str::to_string).collect()
    }

    fn compile(&self, program: &str, flags: &[String], more: &[&str]) -> PathBuf {
        let output = self.directory.path().join(format!("{program}{}", more.concat()));
        run(compiler().args(more).arg(source(program)).arg("-o").arg(&output).args(flags));
        output
    }
}

fn environment(place: &Place, name: &str) -> Result<PathBuf> {
    let path = place.directory.path().join(name);
    std::fs::create_dir(&path)?;
    Ok(path)
}

/// Files and links below a directory, by their paths from there.
fn files(directory: &Path, prefix: &str, found: &mut BTreeSet<String>) -> Result {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().display());
        if entry.file_type()?.is_dir() {
            files(&entry.path(), &format!("{name}/"), found)?;
        } else {
            found.insert(name);
        }
    }
    Ok(())
}

#[test]
fn what_is_installed_is_complete_and_programs_compile_with_it_and_run() -> Result {
    let place = Place::installed()?;
    everything_is_in_its_place(&place)?;
    sonames_are_those_of_the_links(&place)?;
    programs_compile_and_run(&place)?;
    the_tools_and_the_command_run(&place)?;
    nothing_is_left_where_it_is_taken_away(&place)
}

#[test]
fn what_is_not_built_is_not_installed_and_who_tries_is_told_how() -> Result {
    let (place, nothing) = (Place { directory: tempfile::tempdir()? }, tempfile::tempdir()?);
    let output = place.make("install", nothing.path()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("run `make build` first"), "{said}");
    assert_eq!(std::fs::read_dir(place.directory.path())?.count(), 0);
    Ok(())
}

fn everything_is_in_its_place(place: &Place) -> Result {
    let mut found = BTreeSet::new();
    files(&place.path(PREFIX), "", &mut found)?;
    let wanted = [
        "bin/duramen",
        "bin/duramend",
        "lib/duramen/bin/mdb_copy",
        "lib/duramen/bin/mdb_drop",
        "lib/duramen/bin/mdb_dump",
        "lib/duramen/bin/mdb_load",
        "lib/duramen/bin/mdb_stat",
        "lib/duramen/bin/mdb_tools",
        "lib/duramen/include/lmdb.h",
        "lib/duramen/liblmdb.a",
        "lib/duramen/liblmdb.so",
        "lib/duramen/liblmdb.so.0",
        "lib/duramen/liblmdb.so.0.0.0",
        "lib/duramen/liblmdb.so.1",
        "lib/duramen/liblmdb.so.1.0.0",
        "lib/duramen/pkgconfig/lmdb.pc",
        "lib/duramen/pkgconfig/lmdb1.pc",
        "lib/duramen/share/man/man1/mdb_copy.1",
        "lib/duramen/share/man/man1/mdb_drop.1",
        "lib/duramen/share/man/man1/mdb_dump.1",
        "lib/duramen/share/man/man1/mdb_load.1",
        "lib/duramen/share/man/man1/mdb_stat.1",
        "lib/duramen/share/man/man1/mdb_tools.1",
    ];
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), wanted);
    Ok(())
}

fn sonames_are_those_of_the_links(place: &Place) -> Result {
    for (link, soname) in
        [("liblmdb.so", "liblmdb.so.0"), ("liblmdb.so.0", "liblmdb.so.0"), ("liblmdb.so.1", "liblmdb.so.1")]
    {
        let dynamic = text(&run(Command::new("readelf").args(["-d", "--wide"]).arg(place.library(link))));
        assert!(dynamic.contains(&format!("Library soname: [{soname}]")), "{link}: {dynamic}");
    }
    Ok(())
}

fn programs_compile_and_run(place: &Place) -> Result {
    let shared = place.compile("transactions", &place.flags(&["--cflags", "--libs"], "lmdb"), &[]);
    run(Command::new(shared).arg(environment(place, "shared.d")?).env("LD_LIBRARY_PATH", place.path(LIBDIR)));
    let flags = place.flags(&["--static", "--cflags", "--libs"], "lmdb");
    // What it is linked with is inside: it finds no library.
    let within = place.compile("transactions", &flags, &["-static"]);
    run(Command::new(within).arg(environment(place, "static.d")?));
    within_a_program_of_rust(place)?;
    let later = place.compile("later", &place.flags(&["--cflags", "--libs"], "lmdb1"), &[]);
    run(Command::new(later).arg(environment(place, "later.d")?).env("LD_LIBRARY_PATH", place.path(LIBDIR)));
    assert_eq!(place.flags(&["--modversion"], "lmdb"), ["0.9.24"]);
    assert_eq!(place.flags(&["--modversion"], "lmdb1"), ["1.0.2"]);
    Ok(())
}

/// The static library brings a standard library of its own along, whose names must not meet those of the program's.
fn within_a_program_of_rust(place: &Place) -> Result {
    const PROGRAM: &str = "
        use std::ffi::{CStr, c_char, c_int};
        unsafe extern \"C\" { fn mdb_version(a: *mut c_int, b: *mut c_int, c: *mut c_int) -> *const c_char; }
        fn main() {
            let mut numbers = [0; 3];
            let [a, b, c] = &mut numbers;
            let said = unsafe { CStr::from_ptr(mdb_version(a, b, c)) };
            assert!(std::panic::catch_unwind(|| panic!(\"on purpose\")).is_err());
            println!(\"{numbers:?} {}\", said.to_str().unwrap());
        }";
    let (source, program) = (place.directory.path().join("program.rs"), place.directory.path().join("program"));
    std::fs::write(&source, PROGRAM)?;
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let library = format!("native={}", place.path(LIBDIR).display());
    run(Command::new(rustc)
        .args(["--edition", "2024", "-L", &library, "-l", "static=lmdb", "-o"])
        .arg(&program)
        .arg(source));
    let said = text(&run(&mut Command::new(program)));
    assert!(said.starts_with("[0, 9, 24] LMDB 0.9.24"), "{said}");
    Ok(())
}

fn the_tools_and_the_command_run(place: &Place) -> Result {
    let program = |name: &str| {
        let prefix = if name == "duramen" { PREFIX } else { LIBDIR };
        Command::new(place.path(prefix).join("bin").join(name))
    };
    for tool in ["stat", "copy", "dump", "load", "drop"] {
        let version = text(&run(program(&format!("mdb_{tool}")).arg("-V")));
        assert!(version.starts_with("LMDB 0.9.24: (Duramen "), "{version}");
    }
    assert!(text(&run(program("duramen").arg("--version"))).starts_with("duramen "));
    let environment = environment(place, "tools.d")?;
    run(program("mdb_load").arg("-T").arg(&environment));
    let said = text(&run(program("mdb_stat").arg(&environment)));
    assert!(said.starts_with("Status of Main DB\n"), "{said}");
    Ok(())
}

fn nothing_is_left_where_it_is_taken_away(place: &Place) -> Result {
    run(&mut place.make("uninstall", Path::new("target")));
    let mut found = BTreeSet::new();
    files(&place.path(PREFIX), "", &mut found)?;
    assert_eq!(found, BTreeSet::new());
    assert!(!place.path(LIBDIR).exists());
    Ok(())
}
