//! Records out of a stream of lines.

use std::io::{self, BufRead};

use super::record::{Record, parse};

/// Why LDIF cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum LdifError {
    /// What stands there is not LDIF.
    #[error("{file}, line {line}: expected {expected}")]
    Malformed {
        /// The file's name, as it was given.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// What should be there.
        expected: &'static str,
    },
    /// A value could not be fetched from its URL.
    #[error("{file}, line {line}: cannot read {url}: {source}")]
    Url {
        /// The file's name, as it was given.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The URL.
        url: String,
        /// Why.
        r#source: io::Error,
    },
    /// The input failed.
    #[error("{file}, line {line}: {source}")]
    Io {
        /// The file's name, as it was given.
        file: String,
        /// The line after the last that was read.
        line: u64,
        /// The system's answer.
        r#source: io::Error,
    },
}

const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// How files begin that are no LDIF before they are converted, and what they should be.
const OTHERS: [(&[u8], &str); 3] = [
    (b"\xFF\xFE", "UTF-8, and the file begins as UTF-16 does: `iconv -f utf-16 -t utf-8` converts it"),
    (b"\xFE\xFF", "UTF-8, and the file begins as UTF-16 does: `iconv -f utf-16 -t utf-8` converts it"),
    (b"\x1F\x8B", "text, and the file is compressed: `zcat` gives what is in it"),
];

/// What went wrong within a record; the reader adds the file's name.
pub(super) enum Fault {
    Expected(u64, &'static str),
    Url(u64, String, io::Error),
}

/// Fetches the value that a URL stands for.
pub(super) type Fetch = Box<dyn FnMut(&str) -> io::Result<Vec<u8>> + Send>;

/// A line without its folds.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub start: usize,
    pub end: usize,
    pub number: u64,
}

/// Reads records one after the other.
pub struct LdifReader<R> {
    input: R,
    file: String,
    line: u64,
    text: Vec<u8>,
    lines: Vec<Line>,
    fetch: Fetch,
    /// The first line of the record with a CR that ends no line (RFC 2849: values have none).
    stray: Option<u64>,
}

impl<R: BufRead> LdifReader<R> {
    /// Reads from `input`; `file` is its name, for errors. URLs are not followed.
    pub fn new(file: impl Into<String>, input: R) -> LdifReader<R> {
        let refuse = |_: &str| Err(io::Error::new(io::ErrorKind::Unsupported, "values from URLs are not allowed here"));
        let (text, lines) = (Vec::new(), Vec::new());
        LdifReader { input, file: file.into(), line: 0, text, lines, fetch: Box::new(refuse), stray: None }
    }

    /// Has values of URLs (`attribute:< file:///path`) fetched by `fetch`.
    pub fn with_urls(mut self, fetch: impl FnMut(&str) -> io::Result<Vec<u8>> + Send + 'static) -> LdifReader<R> {
        self.fetch = Box::new(fetch);
        self
    }

    /// The next record; `None` at the end. After an error of the first two kinds, the record after it can be read.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, LdifError> {
        loop {
            self.stray = None;
            self.fill()?;
            if let Some(line) = self.stray {
                let expected =
                    "LF or CR LF at the end of the line: a CR alone ends none, and a value with one is in base64";
                return Err(LdifError::Malformed { file: self.file.clone(), line, expected });
            }
            if self.lines.is_empty() {
                return Ok(None);
            }
            let lines = without_version(&self.text, &self.lines).map_err(|(line, expected)| LdifError::Malformed {
                file: self.file.clone(),
                line,
                expected,
            })?;
            if lines.is_empty() {
                continue;
            }
            let file = &self.file;
            return parse(&self.text, lines, &mut self.fetch).map(Some).map_err(|fault| match fault {
                Fault::Expected(line, expected) => LdifError::Malformed { file: file.clone(), line, expected },
                Fault::Url(line, url, source) => LdifError::Url { file: file.clone(), line, url, source },
            });
        }
    }

    /// The number of the last line that was read.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Reads the lines of one record, without folds, comments, and empty lines before it. None at the end.
    fn fill(&mut self) -> Result<(), LdifError> {
        self.text.clear();
        self.lines.clear();
        let mut in_comment = false;
        loop {
            let start = self.text.len();
            let read = self.input.read_until(b'\n', &mut self.text);
            let fail = |source| LdifError::Io { file: self.file.clone(), line: self.line + 1, source };
            if read.map_err(fail)? == 0 {
                return Ok(());
            }
            self.line += 1;
            if self.line == 1 {
                self.look_at_beginning()?;
            }
            trim_newline(&mut self.text, start);
            // In comments too: they would go on to the next LF, and entries with them.
            if self.stray.is_none() && memchr::memchr(b'\r', &self.text[start..]).is_some() {
                self.stray = Some(self.line);
            }
            match self.text.get(start) {
                None if self.lines.is_empty() => in_comment = false,
                None => return Ok(()),
                Some(b'#') => {
                    self.text.truncate(start);
                    in_comment = true;
                }
                Some(b' ') if in_comment => self.text.truncate(start),
                Some(b' ') => self.unfold(start)?,
                Some(_) => {
                    in_comment = false;
                    self.lines.push(Line { start, end: self.text.len(), number: self.line });
                }
            }
        }
    }

    /// Some editors put a mark in front of a file, and some programs write what is to be converted first.
    fn look_at_beginning(&mut self) -> Result<(), LdifError> {
        if let Some(&(_, expected)) = OTHERS.iter().find(|(beginning, _)| self.text.starts_with(beginning)) {
            return Err(LdifError::Malformed { file: self.file.clone(), line: 1, expected });
        }
        if self.text.starts_with(BYTE_ORDER_MARK) {
            self.text.drain(..BYTE_ORDER_MARK.len());
        }
        Ok(())
    }

    /// Joins the last line, which begins at `start`, with the one before.
    fn unfold(&mut self, start: usize) -> Result<(), LdifError> {
        let Some(last) = self.lines.last_mut() else {
            let expected = "the beginning of a record, not a continued line";
            return Err(LdifError::Malformed { file: self.file.clone(), line: self.line, expected });
        };
        self.text.remove(start);
        last.end = self.text.len();
        Ok(())
    }
}

/// Takes off the end of a line; CR LF that was made of CR LF again too.
fn trim_newline(text: &mut Vec<u8>, start: usize) {
    if text.len() > start && text.ends_with(b"\n") {
        text.pop();
        while text.len() > start && text.ends_with(b"\r") {
            text.pop();
        }
    }
}

/// A record's lines without `version: 1`, which files have at their beginning: several may have been put into one.
fn without_version<'l>(text: &[u8], lines: &'l [Line]) -> Result<&'l [Line], (u64, &'static str)> {
    let first = lines[0];
    let line = &text[first.start..first.end];
    match line.split_at_checked(8) {
        Some((keyword, version)) if keyword.eq_ignore_ascii_case(b"version:") => {
            let right = version.trim_ascii() == b"1";
            if right { Ok(&lines[1..]) } else { Err((first.number, "version 1 of LDIF")) }
        }
        _ => Ok(lines),
    }
}
