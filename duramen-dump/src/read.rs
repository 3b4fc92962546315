//! Reading the format. What is wrong in it is told with its line and what to do.

use std::io::{BufRead, Read};

use crate::problem::{BadInput, Part, Problem};
use crate::{Format, Header, decode};

type Result<T> = std::result::Result<T, BadInput>;

/// Longer than any line of a header, which names a table at most, and than that of any key: 16 KiB, three characters a byte.
const SHORT_LINE_MAX: u64 = 64 << 10;

/// The longest line of a value: the longest value there is, three characters a byte, what stands before and behind it.
const VALUE_LINE_MAX: u64 = 3 * u32::MAX as u64 + 3;

/// A line of a header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Counted from 1.
    pub number: u64,
    /// What stands before the `=`.
    pub name: String,
    /// Whether that means something to us.
    pub is_known: bool,
}

/// Reads sections: [`Reader::next_header`], then [`Reader::next_entry`] until that says that the section is over, and so on.
pub struct Reader<R> {
    input: R,
    /// Entries are pairs of lines without a blank before them, and there are no headers (`mdb_load -T`).
    is_bare: bool,
    format: Format,
    /// The section's lines end with CR LF.
    is_crlf: bool,
    part: Part,
    line: Vec<u8>,
    line_number: u64,
    bytes: u64,
    header_lines: Vec<Line>,
}

impl<R: BufRead> Reader<R> {
    /// Reads sections with headers.
    pub fn new(input: R) -> Reader<R> {
        Reader {
            input,
            is_bare: false,
            format: Format::ByteValue,
            is_crlf: false,
            part: Part::Header,
            line: Vec::new(),
            line_number: 0,
            bytes: 0,
            header_lines: Vec::new(),
        }
    }

    /// Reads pairs of lines: a key, its value, and so on to the end.
    pub fn bare(input: R) -> Reader<R> {
        Reader { is_bare: true, format: Format::Print, ..Reader::new(input) }
    }

    /// The last line read, counted from 1.
    pub fn line_number(&self) -> u64 {
        self.line_number
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The lines of the last header, or of as much of it as could be read.
    pub fn header_lines(&self) -> &[Line] {
        &self.header_lines
    }

    fn bad<T>(&self, problem: Problem) -> Result<T> {
        Err(BadInput { line: self.line_number, part: self.part, problem })
    }

    /// Reads a line, without its line break; false at the end of the input.
    fn next_line(&mut self) -> Result<bool> {
        self.line.clear();
        self.line_number += 1;
        // What is no dump may have no line breaks at all.
        let most = if self.part == Part::Value { VALUE_LINE_MAX } else { SHORT_LINE_MAX };
        let read = match self.input.by_ref().take(most).read_until(b'\n', &mut self.line) {
            Ok(read) => read as u64,
            Err(error) => return self.bad(Problem::Unreadable(error)),
        };
        self.bytes += read;
        if read == 0 {
            self.line_number -= 1;
            return Ok(false);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if read == most {
            let is_header = self.part == Part::Header;
            return self.bad(if is_header { Problem::NoDump } else { Problem::LongLine { bytes: most } });
        } else if !(self.is_bare || self.part != Part::Header && is_end(&self.line)) {
            return self.bad(Problem::LineCutOff);
        }
        Ok(true)
    }

    /// The next section's header; `None` at the end of the input. What it says may contradict itself: see
    /// [`Header::contradiction`].
    ///
    /// # Errors
    /// What is no header, or is not all there. Names that mean nothing here are none: see [`Reader::header_lines`].
    pub fn next_header(&mut self) -> Result<Option<Header>> {
        self.header_lines.clear();
        self.part = Part::Header;
        loop {
            if !self.next_line()? {
                return Ok(None);
            }
            if !self.line.is_empty() {
                break;
            }
        }
        if !self.line.contains(&b'=') {
            return self.bad(Problem::NoDump);
        }
        // Of lines that end otherwise, a name may have such an end itself.
        self.is_crlf = self.line.ends_with(b"\r");
        let mut header = Header::default();
        while self.line.strip_suffix(b"\r").unwrap_or(&self.line) != b"HEADER=END" {
            let line = std::mem::take(&mut self.line);
            self.header_line(line.strip_suffix(b"\r").filter(|_| self.is_crlf).unwrap_or(&line), &mut header)?;
            self.line = line;
            if !self.next_line()? {
                return self.bad(Problem::HeaderCutOff);
            }
        }
        self.format = header.format;
        Ok(Some(header))
    }

    fn header_line(&mut self, line: &[u8], header: &mut Header) -> Result<()> {
        let Some(equals) = line.iter().position(|&byte| byte == b'=') else {
            return self.bad(Problem::NoName);
        };
        let name = String::from_utf8_lossy(&line[..equals]).into_owned();
        match header.set(&name, &line[equals + 1..]) {
            Err(problem) => self.bad(problem),
            Ok(is_known) => {
                self.header_lines.push(Line { number: self.line_number, name, is_known });
                Ok(())
            }
        }
    }

    /// Reads an entry into memory of the caller's; false, and both of any content, at the section's end.
    ///
    /// # Errors
    /// A line that is not of the header's format, a key without a value, an input that ends before `DATA=END`.
    pub fn next_entry(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<bool> {
        self.part = Part::Key;
        if !self.data_line(key)? {
            return Ok(false);
        }
        self.part = Part::Value;
        if !self.data_line(value)? {
            return self.bad(Problem::NoValue);
        }
        Ok(true)
    }

    /// Reads a line of data; false at the section's end.
    fn data_line(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        let there = self.next_line()?;
        let line = std::mem::take(&mut self.line);
        let decoded = self.decode(there, &line, out);
        self.line = line;
        decoded.or_else(|problem| self.bad(problem))
    }

    fn decode(&self, there: bool, line: &[u8], out: &mut Vec<u8>) -> std::result::Result<bool, Problem> {
        out.clear();
        let data = match (self.is_bare, there) {
            (true, false) => return Ok(false),
            (true, true) => line,
            (false, false) => return Err(Problem::NoEnd),
            (false, true) if is_end(line) => return Ok(false),
            (false, true) => {
                // Neither format has one of its own.
                let line = line.strip_suffix(b"\r").filter(|_| self.is_crlf).unwrap_or(line);
                line.strip_prefix(b" ").ok_or(Problem::NoBlank)?
            }
        };
        match self.format {
            Format::ByteValue => decode::hex(data, out)?,
            Format::Print => decode::print(data, out)?,
        }
        Ok(true)
    }
}

/// Whether a line of data is none, but the end of them.
fn is_end(line: &[u8]) -> bool {
    line.strip_suffix(b"\r").unwrap_or(line) == b"DATA=END"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{write_end, write_entry, write_header};

    type Entries = Vec<(Vec<u8>, Vec<u8>)>;

    fn read_all(input: &[u8]) -> Result<Vec<(Header, Entries)>> {
        let mut reader = Reader::new(input);
        let mut sections = Vec::new();
        while let Some(header) = reader.next_header()? {
            let (mut key, mut value, mut entries) = (Vec::new(), Vec::new(), Vec::new());
            while reader.next_entry(&mut key, &mut value)? {
                entries.push((key.clone(), value.clone()));
            }
            sections.push((header, entries));
        }
        Ok(sections)
    }

    fn complaint(input: &str) -> String {
        let bad = read_all(input.as_bytes()).unwrap_err();
        format!("{}: {bad}", bad.line)
    }

    #[test]
    fn what_is_written_is_read_back_in_both_formats() {
        let entries: Entries = vec![
            (b"k".to_vec(), Vec::new()),
            ((0..=255).collect(), b"\\ \\41 \\".to_vec()),
            (vec![0], b"DATA=END".to_vec()),
        ];
        for format in [Format::ByteValue, Format::Print] {
            let header = Header {
                format,
                database: Some(b"x y".to_vec()),
                page_size: 4096,
                max_readers: 126,
                ..Header::default()
            };
            let mut text = Vec::new();
            for _ in 0..2 {
                write_header(&mut text, &header).unwrap();
                for (key, value) in &entries {
                    write_entry(&mut text, format, key, value, &mut Vec::new()).unwrap();
                }
                write_end(&mut text).unwrap();
            }
            let expected = (header, entries.clone());
            assert_eq!(read_all(&text).unwrap(), [expected.clone(), expected]);
        }
    }

    #[test]
    fn bad_lines_are_named_with_their_number() {
        let head = "VERSION=3\nHEADER=END\n";
        assert!(complaint("hello\n").starts_with("1: this is no dump"));
        assert!(complaint("VERSION=4\n").starts_with("1: VERSION=4 is not supported"));
        assert!(complaint("VERSION=3\ntype=hash\n").starts_with("2: type=hash"));
        assert!(complaint("VERSION=3\nx\n").starts_with("2: a header's line is NAME=VALUE"));
        assert!(complaint("VERSION=3\n").starts_with("1: the input ends within a header"));
        assert!(complaint(&format!("{head} 0\n")).starts_with("3: an odd number"));
        assert!(complaint(&format!("{head} 0g\n")).starts_with("3: `0g` in column 2 is not hexadecimal"));
        assert!(complaint(&format!("{head} 00\nDATA=END\n")).starts_with("4: the last key has no value"));
        assert!(complaint(&format!("{head} 00\n 00\n")).starts_with("4: the input ends before DATA=END"));
        assert!(complaint(&format!("{head} 00")).starts_with("3: the input ends within this line"));
        assert!(complaint(&format!("{head}00\n")).starts_with("3: a line of data begins with a blank"));
        assert!(complaint("VERSION=3\nformat=print\nHEADER=END\n a\\b\n").starts_with("4: a backslash without"));
    }

    #[test]
    fn what_has_no_line_breaks_is_not_read_to_its_end() {
        let mut endless = std::io::BufReader::new(std::io::repeat(0));
        let bad = Reader::new(&mut endless).next_header().unwrap_err();
        assert!(bad.to_string().starts_with("this is no dump"), "{bad}");
        let name = [b'n'; 16383];
        let named = [b"database=", &name[..], b"\nHEADER=END\nDATA=END\n"].concat();
        assert_eq!(read_all(&named).unwrap()[0].0.database.as_deref(), Some(&name[..]));
    }

    #[test]
    fn no_line_of_a_key_is_longer_than_any_key() {
        let longest = "\\ff".repeat(16384);
        let text = format!("{longest}\nv\n{longest}{longest}\nv\n");
        let mut reader = Reader::bare(text.as_bytes());
        let (mut key, mut value) = (Vec::new(), Vec::new());
        assert!(reader.next_entry(&mut key, &mut value).unwrap());
        assert_eq!(key, [0xff; 16384]);
        let bad = reader.next_entry(&mut key, &mut value).unwrap_err();
        assert_eq!((bad.line, bad.part), (3, Part::Key));
        assert!(bad.to_string().starts_with("this line has more than 65536 bytes"), "{bad}");
        let mut endless = std::io::BufReader::new(std::io::repeat(b'x'));
        assert!(Reader::bare(&mut endless).next_entry(&mut key, &mut value).is_err());
    }

    #[test]
    fn a_header_may_leave_out_what_it_does_not_need_to_say() {
        let sections = read_all(b"format=print\r\nHEADER=END\r\n k\n v\nDATA=END\r\n").unwrap();
        assert_eq!(sections[0].0, Header { format: Format::Print, ..Header::default() });
        assert_eq!(sections[0].1, [(b"k".to_vec(), b"v".to_vec())]);
    }

    #[test]
    fn lines_may_end_as_elsewhere_and_the_last_one_not_at_all() {
        let expected = [(b"k".to_vec(), b"v".to_vec())];
        for text in ["format=print\nHEADER=END\n k\n v\nDATA=END\n", "type=btree\nHEADER=END\n 6b\n 76\nDATA=END\n"] {
            for text in [text.to_string(), text.replace('\n', "\r\n")] {
                assert_eq!(read_all(text.as_bytes()).unwrap()[0].1, expected, "{text:?}");
                assert_eq!(read_all(text.trim_end().as_bytes()).unwrap()[0].1, expected, "{text:?}");
            }
        }
        let own = b"format=print\nHEADER=END\n k\r\n v\r\nDATA=END\n";
        assert_eq!(read_all(own).unwrap()[0].1, [(b"k\r".to_vec(), b"v\r".to_vec())]);
    }

    #[test]
    fn unknown_names_in_a_header_are_kept_to_be_told() {
        let mut reader = Reader::new(&b"VERSION=3\nh_nelem=7\nHEADER=END\nDATA=END\n"[..]);
        assert!(reader.next_header().unwrap().is_some());
        let lines = reader.header_lines();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].is_known);
        assert_eq!(lines[1], Line { number: 2, name: "h_nelem".to_string(), is_known: false });
    }

    #[test]
    fn bare_lines_are_keys_and_values_in_turn() {
        let mut reader = Reader::bare(&b"a\\00\n1\nb\n2"[..]);
        let (mut key, mut value) = (Vec::new(), Vec::new());
        assert!(reader.next_entry(&mut key, &mut value).unwrap());
        assert_eq!((&key[..], &value[..]), (&b"a\0"[..], &b"1"[..]));
        assert!(reader.next_entry(&mut key, &mut value).unwrap());
        assert_eq!((&key[..], &value[..]), (&b"b"[..], &b"2"[..]));
        assert!(!reader.next_entry(&mut key, &mut value).unwrap());
    }
}
