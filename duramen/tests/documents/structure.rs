//! What docs/architecture.md and CONTRIBUTING.md say of modules, held against the sources: who imports from whom, where
//! `unsafe` is, how long files are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::root;

/// No file of Rust is longer.
const LINES_MAX: usize = 700;

/// All files below a folder whose names end so, but for what is built, and what git keeps.
pub fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                found.extend(files(&path, end));
            }
        } else if name.ends_with(end) {
            found.push(path);
        }
    }
    found
}

/// A section of docs/architecture.md.
fn section(heading: &str) -> String {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, rest) = text.split_once(&format!("## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap().to_string()
}

/// The names between backquotes, folders without their slash.
fn names(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches('/').to_string())
}

/// The module that a file of a crate belongs to: the first step of its path.
fn module(source: &Path, file: &Path) -> String {
    let first = file.strip_prefix(source).unwrap().iter().next().unwrap().to_string_lossy();
    first.trim_end_matches(".rs").to_string()
}

/// A file's code without comments and without its tests, which may use whatever they need.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// The modules of its own crate that code names: `crate::a`, and `a` and `b` of `crate::{a, b::C}`.
fn imports(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let word = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    for rest in code.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => {
                let list = &list[..list.find('}').unwrap()];
                found.extend(list.split(',').map(|item| item.trim()).map(|item| &item[..word(item)]));
            }
            None => found.push(&rest[..word(rest)]),
        }
    }
    found
}

/// That every module of a crate has a rank, and none imports from one of a higher rank.
fn assert_layered(package: &str, ranks: &BTreeMap<String, usize>) {
    let source = root().join(package).join("src");
    for file in files(&source, ".rs") {
        let module = module(&source, &file);
        let is_root = ["lib", "main"].contains(&module.as_str());
        if is_root || file.components().any(|part| part.as_os_str().to_string_lossy().starts_with("tests")) {
            continue;
        }
        let own =
            ranks.get(&module).unwrap_or_else(|| panic!("docs/architecture.md says nothing of {package}: {module}"));
        let code = code(&file);
        for import in imports(&code) {
            let other = ranks.get(import).unwrap_or(own);
            assert!(other <= own, "{}: by docs/architecture.md {module} may not import {import}", file.display());
        }
    }
    for module in ranks.keys() {
        let exists = source.join(module).is_dir() || source.join(format!("{module}.rs")).is_file();
        assert!(exists, "docs/architecture.md names {package}: {module}, and there is none");
    }
}

#[test]
fn modules_of_the_engine_import_only_from_their_own_floor_and_from_those_below() {
    let mut ranks = BTreeMap::from([("misuse".to_string(), usize::MAX)]);
    for row in section("Floors").lines().filter(|line| line.contains('`')) {
        let mut cells = row.trim_matches('|').split('|');
        let floor: usize = cells.next().unwrap().trim().parse().unwrap();
        ranks.extend(names(cells.next().unwrap()).map(|name| (name, floor)));
    }
    assert_layered("duramen", &ranks);
}

#[test]
fn modules_of_the_other_crates_import_only_from_those_above_them_in_the_table() {
    for package in ["duramen-ldap", "duramen-directory", "duramen-server"] {
        let section = section(&format!("`{package}`"));
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next());
        let ranks = rows
            .enumerate()
            .flat_map(|(rank, cell)| names(&format!("`{cell}")).map(move |name| (name, rank)).collect::<Vec<_>>());
        assert_layered(package, &ranks.collect());
    }
}

#[test]
fn every_module_of_the_engine_has_its_line() {
    let lines = section("Modules");
    let source = root().join("duramen/src");
    for module in files(&source, ".rs").iter().map(|file| module(&source, file)) {
        assert!(module == "lib" || lines.contains(&format!("`{module}")), "nothing is said of {module}");
    }
}

#[test]
fn unsafe_code_of_the_engine_is_only_where_the_architecture_says() {
    let text = section("Modules");
    let said = text.lines().find(|line| line.starts_with("`unsafe` is in")).unwrap();
    let mut said: Vec<String> = names(said).filter(|name| name != "unsafe" && name != "# Safety").collect();
    said.sort();
    let source = root().join("duramen/src");
    let mut found = Vec::new();
    for file in files(&source, ".rs") {
        let text = std::fs::read_to_string(&file).unwrap();
        if text.contains("#![allow(unsafe_code") {
            assert!(text.contains("//! # Safety"), "{} does not say why its unsafe code is right", file.display());
            let name = file.strip_prefix(&source).unwrap().to_string_lossy().into_owned();
            found.push(if name.contains('/') { name } else { name.trim_end_matches(".rs").to_string() });
        }
    }
    found.sort();
    assert_eq!(found, said);
}

#[test]
fn no_file_is_longer_than_can_be_kept_in_mind() {
    for file in files(&root(), ".rs") {
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines: divide it", file.display());
    }
}
