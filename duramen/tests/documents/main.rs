//! The documents name only what there is, and the code is as they say.

mod structure;

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

/// The crates that a manifest depends on, but for the project's own.
fn dependencies(manifest: &str) -> Vec<&str> {
    let (mut found, mut wanted) = (Vec::new(), false);
    for line in manifest.lines() {
        if line.starts_with('[') {
            wanted = line.ends_with("dependencies]");
        } else if let (true, Some((name, _))) = (wanted, line.split_once([' ', '.'])) {
            found.extend((!name.starts_with(['#', '{', '}']) && !name.starts_with("duramen")).then_some(name));
        }
    }
    found
}

/// The first cells of all tables in a text.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next())
}

#[test]
fn every_dependency_has_its_reason() {
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let reasons: Vec<&str> = rows(&text).flat_map(|crates| crates.split([',', ';'])).map(str::trim).collect();
    let manifests = structure::files(&root(), "Cargo.toml");
    assert!(manifests.len() > 12, "{manifests:?}");
    let mut used = Vec::new();
    for manifest in &manifests {
        let text = std::fs::read_to_string(manifest).unwrap();
        for name in dependencies(&text) {
            assert!(reasons.contains(&name), "{}: no reason for {name}", manifest.display());
            used.push(name.to_string());
        }
    }
    let section = text.split("## Dependencies").nth(1).unwrap();
    for row in rows(section).filter(|row| !["crate", "---"].contains(row)) {
        for name in row.split([',', ';']).map(str::trim) {
            assert!(
                used.iter().any(|used| used == name),
                "CONTRIBUTING.md gives a reason for {name}, which nothing uses"
            );
        }
    }
}
