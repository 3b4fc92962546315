//! Reading the format. What is wrong in it is told with its line and what to do.

use std::io::BufRead;

use super::{Format, Header};
use crate::bytes::nibble;

/// Something in the input that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct BadInput {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong, and what to do.
    pub what: String,
}

type Result<T> = std::result::Result<T, BadInput>;

/// Reads sections.
pub struct Reader<R> {
    input: R,
    /// Entries are pairs of lines without a blank before them, and there are no headers (`mdb_load -T`).
    bare: bool,
    format: Format,
    line: Vec<u8>,
    line_number: u64,
    bytes: u64,
    ignored: Vec<String>,
}

impl<R: BufRead> Reader<R> {
    /// Reads sections with headers.
    pub fn new(input: R) -> Reader<R> {
        Reader {
            input,
            bare: false,
            format: Format::ByteValue,
            line: Vec::new(),
            line_number: 0,
            bytes: 0,
            ignored: Vec::new(),
        }
    }

    /// Reads pairs of lines: a key, its value, and so on to the end.
    pub fn bare(input: R) -> Reader<R> {
        Reader { bare: true, format: Format::Print, ..Reader::new(input) }
    }

    /// The last line read, counted from 1.
    pub fn line_number(&self) -> u64 {
        self.line_number
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Names in the last header that mean nothing to us.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    fn bad<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(BadInput { line: self.line_number, what: what.into() })
    }

    /// Reads a line, without its line break; false at the end of the input.
    fn next_line(&mut self) -> Result<bool> {
        self.line.clear();
        self.line_number += 1;
        let read = match self.input.read_until(b'\n', &mut self.line) {
            Ok(read) => read,
            Err(error) => return self.bad(format!("cannot read on: {error}")),
        };
        self.bytes += read as u64;
        if read == 0 {
            self.line_number -= 1;
            return Ok(false);
        }
        if self.line.last() == Some(&b'\n') {
            self.line.pop();
        } else if !self.bare {
            return self.bad("the input ends within this line: it was cut off; dump again");
        }
        Ok(true)
    }

    /// The next section's header; `None` at the end of the input.
    pub fn next_header(&mut self) -> Result<Option<Header>> {
        self.ignored.clear();
        loop {
            if !self.next_line()? {
                return Ok(None);
            }
            if !self.line.is_empty() {
                break;
            }
        }
        if !self.line.starts_with(b"VERSION=") {
            return self.bad(
                "this is no dump, which begins with VERSION=3; make one with `mdb_dump -a` or `duramen dump` \
                 (for plain lines of keys and values there is --text)",
            );
        }
        let mut header = Header::default();
        loop {
            let line = std::mem::take(&mut self.line);
            let is_end = line == b"HEADER=END";
            if !is_end {
                self.header_line(&line, &mut header)?;
            }
            self.line = line;
            if is_end {
                break;
            }
            if !self.next_line()? {
                return self.bad("the input ends within a header: it was cut off; dump again");
            }
        }
        if let Some(what) = header.contradiction() {
            return self.bad(format!("in the header that ends here {what}; correct it"));
        }
        self.format = header.format;
        Ok(Some(header))
    }

    fn header_line(&mut self, line: &[u8], header: &mut Header) -> Result<()> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(equals) = line.iter().position(|&byte| byte == b'=') else {
            return self.bad("a header's line is NAME=VALUE, and HEADER=END its last");
        };
        let name = String::from_utf8_lossy(&line[..equals]).into_owned();
        let value = &line[equals + 1..];
        let text = String::from_utf8_lossy(value).into_owned();
        let flag = text != "0";
        match name.as_str() {
            "VERSION" if matches!(text.as_str(), "1" | "2" | "3") => {}
            "VERSION" => return self.bad(format!("VERSION={text} is not supported: only up to 3 is")),
            "format" => header.format = self.format_named(&text)?,
            "type" if text == "btree" => {}
            "type" => return self.bad(format!("type={text} is not supported: only btree is")),
            "database" => header.database = Some(value.to_vec()),
            "mapsize" => header.map_bytes = self.number(&name, &text)?,
            "db_pagesize" => header.page_size = self.number(&name, &text)?,
            "user_bits" => header.user_bits = self.number(&name, &text)?,
            "mapaddr" | "maxreaders" => {}
            "duplicates" | "dupsort" => header.duplicates |= flag,
            "dupfixed" => header.dup_fixed = flag,
            "integerkey" => header.integer_key = flag,
            "integerdup" => header.integer_dup = flag,
            "reversekey" => header.reverse_key = flag,
            "reversedup" => header.reverse_dup = flag,
            _ => self.ignored.push(name),
        }
        Ok(())
    }

    fn format_named(&self, text: &str) -> Result<Format> {
        match text {
            "print" => Ok(Format::Print),
            "bytevalue" => Ok(Format::ByteValue),
            _ => self.bad(format!("format={text} is not supported: only bytevalue and print are")),
        }
    }

    fn number<N: std::str::FromStr>(&self, name: &str, text: &str) -> Result<N> {
        text.parse().or_else(|_| self.bad(format!("{name}={text} is no number that makes sense here")))
    }

    /// Reads an entry; false at the section's end.
    pub fn next_entry(&mut self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<bool> {
        if !self.data_line(key)? {
            return Ok(false);
        }
        if !self.data_line(value)? {
            return self.bad("the last key has no value: a line is missing; dump again");
        }
        Ok(true)
    }

    /// Reads a line of data; false at the section's end.
    fn data_line(&mut self, out: &mut Vec<u8>) -> Result<bool> {
        let there = self.next_line()?;
        let line = std::mem::take(&mut self.line);
        let result = self.decode(there, &line, out);
        self.line = line;
        result
    }

    fn decode(&self, there: bool, line: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        out.clear();
        let data = match (self.bare, there) {
            (true, false) => return Ok(false),
            (true, true) => line,
            (false, false) => return self.bad("the input ends before DATA=END: it was cut off; dump again"),
            (false, true) if line.strip_suffix(b"\r").unwrap_or(line) == b"DATA=END" => return Ok(false),
            (false, true) => match line.strip_prefix(b" ") {
                Some(data) => data,
                None => return self.bad("a line of data begins with a blank, and DATA=END ends them"),
            },
        };
        match self.format {
            Format::ByteValue => self.decode_hex(data, out)?,
            Format::Print => self.decode_print(data, out)?,
        }
        Ok(true)
    }

    fn decode_hex(&self, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if !data.len().is_multiple_of(2) {
            return self.bad("an odd number of hexadecimal digits: the line was cut off or changed; dump again");
        }
        out.reserve(data.len() / 2);
        for (i, pair) in data.chunks_exact(2).enumerate() {
            match (nibble(pair[0]), nibble(pair[1])) {
                (Some(high), Some(low)) => out.push(high << 4 | low),
                _ => {
                    let pair = pair.escape_ascii();
                    return self.bad(format!(
                        "`{pair}` in column {} is not hexadecimal (does the header say format=bytevalue for \
                         what is format=print?)",
                        2 * i + 2
                    ));
                }
            }
        }
        Ok(())
    }

    fn decode_print(&self, data: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut rest = data;
        while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
            out.extend_from_slice(&rest[..at]);
            rest = &rest[at + 1..];
            let code = match rest {
                [b'\\', ..] => Some((b'\\', 1)),
                [high, low, ..] => nibble(*high).zip(nibble(*low)).map(|(high, low)| (high << 4 | low, 2)),
                _ => None,
            };
            let Some((byte, used)) = code else {
                return self.bad(
                    "a backslash without two hexadecimal digits after it: `mdb_dump -p` before LMDB 0.9.25 writes \
                     backslashes so that they cannot be told apart; dump without -p",
                );
            };
            out.push(byte);
            rest = &rest[used..];
        }
        out.extend_from_slice(rest);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{write_end, write_entry, write_header};
    use super::*;

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
        format!("{}: {}", bad.line, bad.what)
    }

    #[test]
    fn what_is_written_is_read_back_in_both_formats() {
        let entries: Entries = vec![
            (b"k".to_vec(), Vec::new()),
            ((0..=255).collect(), b"\\ \\41 \\".to_vec()),
            (vec![0], b"DATA=END".to_vec()),
        ];
        for format in [Format::ByteValue, Format::Print] {
            let header = Header { format, database: Some(b"x y".to_vec()), page_size: 4096, ..Header::default() };
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
        assert!(
            complaint("VERSION=3\ndupfixed=1\nHEADER=END\n").starts_with("3: in the header that ends here dupfixed")
        );
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
    fn unknown_names_in_a_header_are_kept_to_be_told() {
        let mut reader = Reader::new(&b"VERSION=3\nh_nelem=7\nHEADER=END\nDATA=END\n"[..]);
        assert!(reader.next_header().unwrap().is_some());
        assert_eq!(reader.ignored(), ["h_nelem"]);
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
