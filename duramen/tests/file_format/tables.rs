//! The tables of docs/file-format.md as data.
//!
//! Owns: parsing them, and reading bytes by a field's name. Must not know: any offset or code.

use std::ops::Range;
use std::sync::LazyLock;

const PAGE: &str = include_str!("../../../docs/file-format.md");

/// All tables that a reader needs.
pub struct Format {
    pub meta: Table,
    pub header: Table,
    pub run_header: Table,
    pub page_kinds: Table,
    pub child: Table,
    pub tree: Table,
    pub orders: Table,
    pub tree_flags: Table,
    pub branch: Table,
    pub leaf: Table,
    pub slot: Table,
    pub cell_word: Table,
    pub cell_kinds: Table,
    pub stub: Table,
    pub packed: Table,
    pub overflow: Table,
    pub space_run: Table,
    pub delta: Table,
    pub base: Table,
    pub set: Table,
    pub log_record: Table,
    pub operations: Table,
    pub lock_file: Table,
    pub ring_record: Table,
    pub reader_slot: Table,
}

pub static FORMAT: LazyLock<Format> = LazyLock::new(|| Format {
    meta: Table::of("Meta slot", "bytes"),
    header: Table::of("Page header", "bytes"),
    run_header: Table::of("Run header", "bytes"),
    page_kinds: Table::of("Page kinds", "code"),
    child: Table::of("Child pointer", "bits"),
    tree: Table::of("Tree record", "bytes"),
    orders: Table::of("Orders", "code"),
    tree_flags: Table::of("Tree flags", "bits"),
    branch: Table::of("Branch", "part"),
    leaf: Table::of("Leaf", "part"),
    slot: Table::of("Slot", "bytes"),
    cell_word: Table::of("Slot", "bits"),
    cell_kinds: Table::of("Cell kinds", "code"),
    stub: Table::of("Stub", "bytes"),
    packed: Table::of("Packed leaf", "part"),
    overflow: Table::of("Overflow run", "part"),
    space_run: Table::of("Space run payload", "bytes"),
    delta: Table::of("Delta", "order"),
    base: Table::of("Base", "order"),
    set: Table::of("Base", "form"),
    log_record: Table::of("Log record", "bytes"),
    operations: Table::of("Operation", "code"),
    lock_file: Table::of("Lock file", "bytes"),
    ring_record: Table::of("Ring record", "bytes"),
    reader_slot: Table::of("Reader slot", "bytes"),
});

/// A table of the document.
pub struct Table {
    name: String,
    rows: Vec<Row>,
}

/// One row: its first cell as numbers, the others as text.
pub struct Row {
    pub from: usize,
    /// `from + 1` for a single number, `usize::MAX` for an open range.
    pub to: usize,
    pub cells: Vec<String>,
}

impl Table {
    /// The table under a heading whose first column is called `column` (`bytes`, `bits`, `code`, `part`...).
    fn of(heading: &str, column: &str) -> Table {
        let name = format!("{heading}, {column}");
        let mut lines = PAGE.lines().skip_while(|line| line.trim_start_matches('#') != format!(" {heading}"));
        assert!(lines.next().is_some(), "docs/file-format.md has no heading {heading:?}");
        let section: Vec<&str> = lines.take_while(|line| !line.starts_with('#')).collect();
        let start = section.iter().position(|line| line.starts_with(&format!("| {column} |")));
        let start = start.unwrap_or_else(|| panic!("{heading:?} has no table of {column:?}"));
        let rows = section[start + 2..].iter().take_while(|line| line.starts_with('|'));
        Table { rows: rows.map(|line| Row::parse(line)).collect(), name }
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    fn row(&self, field: &str) -> &Row {
        let row = self.rows.iter().find(|row| row.cells[1] == field);
        row.unwrap_or_else(|| panic!("{} has no row {field:?}", self.name))
    }

    /// Where a field lies.
    pub fn range(&self, field: &str) -> Range<usize> {
        let row = self.row(field);
        row.from..row.to
    }

    /// A field's bytes; an open one's go to the end.
    pub fn bytes<'b>(&self, of: &'b [u8], field: &str) -> &'b [u8] {
        let range = self.range(field);
        &of[range.start..range.end.min(of.len())]
    }

    /// A field of up to eight bytes as a number.
    pub fn number(&self, of: &[u8], field: &str) -> u64 {
        little(self.bytes(of, field))
    }

    /// A field of a number whose bits the table is about.
    pub fn bits(&self, of: u64, field: &str) -> u64 {
        let range = self.range(field);
        (of >> range.start) & (u64::MAX >> (64 - range.len()))
    }

    /// What the second column calls this code.
    pub fn name_of(&self, code: u64) -> &str {
        let row = self.rows.iter().find(|row| row.from as u64 == code);
        &row.unwrap_or_else(|| panic!("{} has no code {code}", self.name)).cells[1]
    }

    /// The code that has this name in the second column.
    pub fn code_of(&self, name: &str) -> usize {
        let row = self.rows.iter().find(|row| row.cells[1] == name);
        row.unwrap_or_else(|| panic!("{}: no {name:?}", self.name)).from
    }

    /// Where a part of a page begins: the second column is a sum of terms like `40`, `p`, `4n`, `page size - heap`.
    pub fn place(&self, part: &str, variables: &[(&str, usize)]) -> usize {
        let row = self.rows.iter().find(|row| row.cells[0] == part);
        let row = row.unwrap_or_else(|| panic!("{} has no part {part:?}", self.name));
        row.cells[1].split(" + ").map(|term| value_of(term, variables)).sum()
    }

    /// Panics unless the rows cover `0..end` without gap or overlap.
    pub fn assert_covers(&self, end: usize) {
        let mut next = 0;
        for row in &self.rows {
            assert_eq!(row.from, next, "{}: gap or overlap before {:?}", self.name, row.cells[1]);
            next = row.to;
        }
        assert_eq!(next, end, "{} ends elsewhere", self.name);
    }
}

impl Row {
    fn parse(line: &str) -> Row {
        let cells: Vec<String> = line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect();
        let (from, to) = match cells[0].split_once("..") {
            None => (cells[0].parse().ok(), cells[0].parse().ok().map(|n: usize| n + 1)),
            Some((from, "")) => (from.parse().ok(), Some(usize::MAX)),
            Some((from, to)) => (from.parse().ok(), to.parse().ok()),
        };
        // Tables of parts have words in their first column.
        Row { from: from.unwrap_or(0), to: to.unwrap_or(0), cells }
    }
}

fn value_of(term: &str, variables: &[(&str, usize)]) -> usize {
    if let Some((left, right)) = term.split_once(" - ") {
        return value_of(left, variables) - value_of(right, variables);
    }
    let digits = term.find(|c: char| !c.is_ascii_digit()).unwrap_or(term.len());
    let (factor, name) = term.split_at(digits);
    let factor = if factor.is_empty() { 1 } else { factor.parse().unwrap() };
    let variable = || variables.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("what is {name:?}?"));
    if name.is_empty() { factor } else { factor * variable().1 }
}

/// A little-endian number of up to eight bytes.
pub fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}
