//! LMDB's own test programs. They come inside a crate that carries LMDB's source, and are compiled here against this
//! project's header and library; nothing of them is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::library::{self, BOTH, Library, Way, said};

const CRATE: &str = "lmdb-master-sys";
const VERSION: &str = "0.2.6";
const PROGRAMS: [&str; 6] = ["mtest", "mtest2", "mtest3", "mtest4", "mtest5", "mtest6"];

/// The programs take their random numbers from the time: here it stands still. `mdb_dkey` is in debug builds of LMDB only.
const MORE: &str = r#"
#include <stdio.h>
#include <time.h>
#include "lmdb.h"
time_t __wrap_time(time_t *place) { if (place) *place = 1700000000; return 1700000000; }
char *mdb_dkey(MDB_val *key, char *text) {
    for (size_t i = 0; i < key->mv_size; i++) sprintf(text + 2 * i, "%02x", ((unsigned char *)key->mv_data)[i]);
    return text;
}
"#;

/// Gets the crate from its registry; the directory with LMDB's source.
fn source(work: &Path) -> PathBuf {
    let manifest = format!("[package]\nname = \"fetch\"\n[workspace]\n[dependencies]\n{CRATE} = \"={VERSION}\"\n");
    fs::create_dir(work.join("src")).unwrap();
    fs::write(work.join("src/lib.rs"), "").unwrap();
    fs::write(work.join("Cargo.toml"), manifest).unwrap();
    said(Command::new(env!("CARGO")).args(["vendor", "--quiet"]).current_dir(work)).well();
    work.join("vendor").join(CRATE).join("lmdb/libraries/liblmdb")
}

/// Addresses are nowhere twice the same.
fn without_addresses(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n']);
    words.map(|word| if word.starts_with("0x") { "ADDRESS " } else { word }).collect()
}

#[test]
fn lmdbs_test_programs_say_the_same() {
    let work = tempfile::tempdir().unwrap();
    let source = source(work.path());
    fs::write(work.path().join("more.c"), MORE).unwrap();
    for name in PROGRAMS {
        let program = work.path().join(name);
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
        let mut compile = Command::new("cc");
        compile.args(["-w", "-Wl,--wrap=time", "-o"]).arg(&program).arg(source.join(format!("{name}.c")));
        compile.arg(work.path().join("more.c")).arg("-I").arg(include).arg("-L").arg(library::directory()).arg("-llmdb");
        said(&mut compile).well();

        let [stock, ours] = BOTH.map(|library| {
            let place = work.path().join(format!("{name}-{library:?}"));
            fs::create_dir_all(place.join("testdb")).unwrap();
            let line = format!("cd {} && exec {}", place.display(), program.display());
            let said = library.run(Way::Linked, "sh", &["-c", &line]);
            if library == Library::Ours {
                library::assert_clean(&place.join("testdb/data.mdb"));
            }
            (said.code, without_addresses(&said.out), without_addresses(&said.err))
        });
        assert_eq!(stock, ours, "{name}");
    }
}
