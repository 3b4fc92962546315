//! Directories with damaged pages.

use std::os::unix::fs::FileExt;
use std::path::Path;

use duramen_directory::{Config, Directory, ImportOptions, OpenError};

use crate::sample::*;

const PAGE: u64 = 4096;

/// A directory of some hundred entries, closed.
fn directory() -> tempfile::TempDir {
    let sample = Sample::people();
    let person = |n| format!("dn: cn=p{n},{BASE}\nobjectClass: person\ncn: p{n}\nsn: surname number {n}\n\n");
    let text: String = (0..600).map(person).collect();
    sample.directory.import("x.ldif", &mut text.as_bytes(), ImportOptions::default(), &mut |_| true).unwrap();
    let Sample { directory, folder } = sample;
    drop(directory);
    folder
}

fn open(folder: &Path) -> Result<Directory, OpenError> {
    Directory::open(folder, Config::default())
}

fn problems_of(directory: &Directory) -> Vec<String> {
    let mut found = Vec::new();
    directory.check(&mut |problem| found.push(problem), &mut |_, _| {}).unwrap();
    found
}

fn exported(directory: &Directory) -> Vec<u8> {
    let mut out = Vec::new();
    directory.export(None, &mut out, &mut |_, _| true).unwrap();
    out
}

#[test]
fn a_check_tells_which_table_has_a_damaged_page_and_what_to_do() {
    let folder = directory();
    let file = folder.path().join("directory.dm");
    let whole = std::fs::read(&file).unwrap();
    let entries = exported(&open(folder.path()).unwrap());
    let (mut mended, mut lost) = (0, 0);
    for page in 4..whole.len() as u64 / PAGE {
        std::fs::write(&file, &whole).unwrap();
        let data = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
        data.write_all_at(b"damaged", page * PAGE + 1000).unwrap();
        // What is kept of the directory itself is read when it is opened.
        let Ok(directory) = open(folder.path()) else { continue };
        let problems = problems_of(&directory);
        let Some(advice) = problems.last() else { continue };
        assert!(problems[0].contains(&format!("page {page} is damaged")), "{problems:?}");
        if advice.starts_with("the entries are whole") {
            assert!(problems[0].starts_with("table `index`"), "{problems:?}");
            assert_eq!(exported(&directory), entries);
            // What is below a branch cannot be given back without it.
            match directory.rebuild_indices(&mut |_, _| true) {
                Ok(()) => assert_eq!(problems_of(&directory), Vec::<String>::new()),
                Err(failure) => assert!(failure.diagnostic.contains(&format!("page {page} is damaged")), "{failure}"),
            }
            mended += u64::from(problems_of(&directory).is_empty());
        } else {
            assert_eq!(advice, "restore the directory from a backup or an export");
            lost += 1;
        }
    }
    assert!(mended > 10 && lost > 10, "{mended} {lost}");
}
