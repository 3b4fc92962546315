//! What is wrong with a configuration.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A fault of a configuration: where, what, and the cure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file; none if it is the command line.
    pub file: Option<PathBuf>,
    /// Line and column, counted from 1, where there are any.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub cure: String,
}

impl Fault {
    /// Of the command line.
    pub fn command(what: impl Into<String>, cure: impl Into<String>) -> Fault {
        Fault { file: None, place: None, what: what.into(), cure: cure.into() }
    }

    /// Of a file as a whole.
    pub fn file(file: &Path, what: impl Into<String>, cure: impl Into<String>) -> Fault {
        Fault { file: Some(file.to_path_buf()), ..Fault::command(what, cure) }
    }

    /// Of the bytes `span` of a file's text.
    pub fn at(file: &Path, text: &str, span: Range<usize>, what: impl Into<String>, cure: impl Into<String>) -> Fault {
        Fault { place: Some(place(text, span.start)), ..Fault::file(file, what, cure) }
    }
}

/// Line and column of a byte, counted from 1; columns are characters.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}", file.display())?;
            if let Some((line, column)) = self.place {
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": ")?;
        }
        write!(f, "{}", self.what)?;
        if !self.cure.is_empty() {
            write!(f, "; {}", self.cure)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}
