//! The documents name only what there is.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn documents() -> Vec<PathBuf> {
    let documents: Vec<PathBuf> = [root(), root().join("docs")]
        .iter()
        .flat_map(|directory| std::fs::read_dir(directory).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    assert!(documents.len() > 8, "{documents:?}");
    documents
}

/// What stands between two marks, again and again.
fn between<'t>(text: &'t str, open: &'t str, close: &'t str) -> impl Iterator<Item = &'t str> {
    text.split(open).skip(1).filter_map(move |rest| rest.split_once(close)).map(|(inside, _)| inside)
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches(['#', ' ']).chars().filter(|c| c.is_alphanumeric() || " -".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[test]
fn every_link_leads_somewhere() {
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in between(&text, "](", ")").filter(|link| !link.starts_with("http")) {
            let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { document.clone() } else { document.with_file_name(path) };
            assert!(target.exists(), "{}: {link}", document.display());
            if !fragment.is_empty() {
                let text = std::fs::read_to_string(&target).unwrap();
                let found = text.lines().any(|line| line.starts_with('#') && anchor(line) == fragment);
                assert!(found, "{}: {link} has no such heading", document.display());
            }
        }
    }
}

#[test]
fn every_path_in_the_documents_exists() {
    let mut paths = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        // What begins with a slash is not the project's: a path that a server serves, or one of the system.
        let is_path = |code: &&str| {
            !code.starts_with('/')
                && (code.contains('/') || code.ends_with(".rs") || code.ends_with(".md"))
                && code.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c))
        };
        for path in text.split('`').skip(1).step_by(2).filter(is_path) {
            let bases = ["", "duramen/src", "duramen-ldap/src", "duramen-directory/src", "duramen-server/src"];
            let found = bases.iter().any(|base| root().join(base).join(path).exists());
            assert!(found, "{} names {path:?}", document.display());
            paths += 1;
        }
    }
    assert!(paths > 50, "only {paths} paths were found");
}

#[test]
fn every_module_of_the_engine_is_in_the_architecture() {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    for entry in std::fs::read_dir(root().join("duramen/src")).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let name = if entry.path().is_dir() { format!("{name}/") } else { name.trim_end_matches(".rs").to_string() };
        assert!(name == "lib" || text.contains(&format!("`{name}")), "nothing is said of {name}");
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    for package in [
        "duramen",
        "duramen-cli",
        "duramen-lmdb",
        "duramen-lmdb/so0",
        "duramen-lmdb/so1",
        "duramen-sim",
        "xtask",
        "bench",
    ] {
        let manifest = std::fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
        let mut wanted = false;
        for line in manifest.lines() {
            if line.starts_with('[') {
                wanted = line.ends_with("dependencies]");
            } else if let (true, Some((name, _))) = (wanted, line.split_once([' ', '.'])) {
                let named = text.lines().any(|line| {
                    let crates = line.strip_prefix("| ").and_then(|line| line.split('|').next()).unwrap_or("");
                    crates.split(',').any(|known| known.trim() == name)
                });
                assert!(
                    named || name.starts_with("duramen") || name.starts_with('#'),
                    "{package}: no reason for {name}"
                );
            }
        }
    }
}
