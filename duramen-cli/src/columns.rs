//! Tables on standard output: columns as wide as their widest cell.

use std::io::{self, Write};

/// Rows of cells; the first row is the heading. Columns of numbers are aligned to the right.
pub struct Columns {
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// A table with these headings; a heading that begins with `>` is of a column aligned to the right.
    pub fn new(headings: &[&str]) -> Columns {
        let right = headings.iter().map(|heading| heading.starts_with('>')).collect();
        let heading = headings.iter().map(|heading| heading.trim_start_matches('>').to_string()).collect();
        Columns { right, rows: vec![heading] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Writes it.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let width = |i: usize| self.rows.iter().filter_map(|row| row.get(i)).map(|c| c.chars().count()).max();
        let widths: Vec<usize> = (0..self.right.len()).map(|i| width(i).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, &width), &right) in row.iter().zip(&widths).zip(&self.right) {
                line += &if right { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_to_the_right_and_lines_have_no_trailing_blanks() {
        let mut table = Columns::new(&["name", ">entries", "keys"]);
        table.row(["people".to_string(), "7".to_string(), "bytes".to_string()]);
        let mut out = Vec::new();
        table.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "name    entries  keys\npeople        7  bytes\n");
    }
}
