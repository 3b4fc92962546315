//! `docs/lmdb-compat.md` has one verdict on each name of the interface, and none on anything else.

use std::collections::BTreeMap;

use crate::built::root;
use crate::header::{functions, ours, stock};

/// What a row may begin with; all but the first need a reason.
const VERDICTS: [&str; 4] = ["same", "better: ", "differs: ", "refused: "];

/// Rows of the tables that begin with `name`: the names in a row, and the verdict.
fn rows(document: &str) -> Vec<(Vec<String>, String)> {
    let mut rows = Vec::new();
    let mut is_of_names = false;
    for line in document.lines() {
        let Some(cells) = line.strip_prefix('|') else {
            is_of_names = false;
            continue;
        };
        let cells: Vec<&str> = cells.trim_end_matches('|').split('|').map(str::trim).collect();
        if cells[0] == "name" {
            is_of_names = true;
        } else if is_of_names && !cells[0].starts_with("--") {
            let names = cells[0].split(", ").map(|name| name.trim_matches('`').to_string()).collect();
            rows.push((names, cells[1..].join("|")));
        }
    }
    rows
}

#[test]
fn every_function_flag_code_and_movement_has_exactly_one_verdict() {
    let document = std::fs::read_to_string(root().join("docs/lmdb-compat.md")).unwrap();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for header in [stock(), ours(0), ours(1)] {
        let macros = header.macros().into_iter().map(|(name, _)| name);
        for name in functions(&header).into_iter().chain(macros).chain(header.movements()) {
            names.entry(name).or_insert(0);
        }
    }
    assert!(names.len() > 56 + 10 + 60, "{names:?}");
    let rows = rows(&document);
    for (row, verdict) in &rows {
        let is_one =
            VERDICTS.iter().any(|word| verdict.starts_with(word) && (*word == "same" || verdict.len() > word.len()));
        assert!(is_one, "{row:?}: {verdict:?} is no verdict");
        for name in row {
            let count = names.get_mut(name).unwrap_or_else(|| panic!("{name} is in the document and in no header"));
            *count += 1;
        }
    }
    let wrong: Vec<_> = names.iter().filter(|(_, count)| **count != 1).collect();
    assert!(wrong.is_empty(), "names without a verdict, or with several: {wrong:?}");
}
