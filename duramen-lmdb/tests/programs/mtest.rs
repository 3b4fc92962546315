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

/// The lines, without what may differ: addresses, and how many duplicates lie in a page, which `mtest4` prints the first
/// of.
fn lines(text: &str) -> Vec<String> {
    let word = |word: &'static str| move |w: &str| if w.starts_with("0x") { word.to_string() } else { w.to_string() };
    let plain = |line: &str| line.split(' ').map(word("ADDRESS")).collect::<Vec<_>>().join(" ");
    let deleted = text.lines().position(|line| line.starts_with("Deleted ")).unwrap_or(0);
    let is_batch = |(i, line): &(usize, &str)| *i < deleted && line.starts_with("key: 001, data: 0");
    text.lines().enumerate().filter(|line| !is_batch(line)).map(|(_, line)| plain(line)).collect()
}

#[test]
fn lmdbs_test_programs_say_the_same() {
    let work = library::place();
    let source = source(work.path());
    fs::write(work.path().join("more.c"), MORE).unwrap();
    for name in PROGRAMS {
        let program = work.path().join(name);
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
        let mut compile = Command::new("cc");
        compile.args(["-w", "-Wl,--wrap=time", "-o"]).arg(&program).arg(source.join(format!("{name}.c")));
        compile
            .arg(work.path().join("more.c"))
            .arg("-I")
            .arg(include)
            .arg("-L")
            .arg(library::directory())
            .arg("-llmdb");
        said(&mut compile).well();

        let [stock, ours] = BOTH.map(|library| {
            let place = work.path().join(format!("{name}-{library:?}"));
            fs::create_dir_all(place.join("testdb")).unwrap();
            let line = format!("cd {} && exec {}", place.display(), program.display());
            let said = library.run(Way::Linked, "sh", &["-c", &line]);
            if library == Library::Ours {
                library::assert_clean(&place.join("testdb/data.mdb"));
            }
            (said.code, lines(&said.out), lines(&said.err))
        });
        let differs = stock.1.iter().zip(&ours.1).find(|(a, b)| a != b);
        assert!(stock == ours, "{name}: {:?} {:?}: {differs:?} {:?} {:?}", stock.0, ours.0, stock.2, ours.2);
    }
}
