//! Whether text is a name: one pass, nothing built.

use super::value;
use crate::error::TextError;

pub(super) fn dn(text: &str) -> Result<(), TextError> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    scanner.spaces();
    if scanner.peek().is_none() {
        return Ok(());
    }
    loop {
        scanner.rdn()?;
        match scanner.peek() {
            None => return Ok(()),
            Some(b',' | b';') => scanner.at += 1,
            Some(_) => return scanner.fail("',', '+' or the end of the name"),
        }
    }
}

pub(super) fn rdn(text: &str) -> Result<(), TextError> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    scanner.rdn()?;
    if scanner.peek().is_some() { scanner.fail("the end of the RDN") } else { Ok(()) }
}

struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn fail<T>(&self, expected: &'static str) -> Result<T, TextError> {
        Err(TextError::new(self.at, expected))
    }

    fn spaces(&mut self) {
        self.skip(|byte| byte == b' ');
    }

    fn skip(&mut self, within: impl Fn(u8) -> bool) -> usize {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&byte| !within(byte)).unwrap_or(rest.len());
        self.at += length;
        length
    }

    fn rdn(&mut self) -> Result<(), TextError> {
        loop {
            self.ava()?;
            if self.peek() != Some(b'+') {
                return Ok(());
            }
            self.at += 1;
        }
    }

    fn ava(&mut self) -> Result<(), TextError> {
        self.spaces();
        self.attribute()?;
        self.spaces();
        if self.peek() != Some(b'=') {
            return self.fail("'='");
        }
        self.at += 1;
        self.spaces();
        match self.peek() {
            Some(b'#') => self.hex(),
            Some(b'"') => self.quoted(),
            _ => self.string(),
        }
    }

    /// A name (RFC 4512 section 1.4; underscores too, which some schemas have) or a dotted OID.
    fn attribute(&mut self) -> Result<(), TextError> {
        match self.peek() {
            Some(byte) if byte.is_ascii_alphabetic() => {
                self.skip(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
                Ok(())
            }
            Some(byte) if byte.is_ascii_digit() => loop {
                if self.skip(|byte| byte.is_ascii_digit()) == 0 {
                    return self.fail("a digit");
                }
                if self.peek() != Some(b'.') {
                    return Ok(());
                }
                self.at += 1;
            },
            _ => self.fail("an attribute type"),
        }
    }

    fn hex(&mut self) -> Result<(), TextError> {
        let start = self.at;
        self.at += 1;
        self.skip(|byte| byte.is_ascii_hexdigit());
        if value::decode_hex(&self.bytes[start + 1..self.at]).is_none() {
            return Err(TextError::new(start, "'#' and one BER element in pairs of hex digits, or '\\#'"));
        }
        self.spaces();
        Ok(())
    }

    fn string(&mut self) -> Result<(), TextError> {
        loop {
            self.skip(|byte| !matches!(byte, b'\\' | b',' | b';' | b'+' | b'"' | b'<' | b'>' | 0));
            match self.peek() {
                None | Some(b',' | b';' | b'+') => return Ok(()),
                Some(b'\\') => self.escape()?,
                Some(_) => return self.fail("a backslash before '\"', '<', '>', or '\\00' for a NUL"),
            }
        }
    }

    /// All that stands between quotes stands for itself, but for escapes (RFC 2253 section 4).
    fn quoted(&mut self) -> Result<(), TextError> {
        self.at += 1;
        loop {
            self.skip(|byte| !matches!(byte, b'\\' | b'"' | 0));
            match self.peek() {
                Some(b'\\') => self.escape()?,
                Some(b'"') => break,
                _ => return self.fail("'\"' behind the value that begins with one"),
            }
        }
        self.at += 1;
        self.spaces();
        Ok(())
    }

    fn escape(&mut self) -> Result<(), TextError> {
        let behind = &self.bytes[self.at + 1..];
        if behind.first().is_some_and(|&byte| value::is_escapable(byte)) {
            self.at += 2;
        } else if behind.get(..2).and_then(crate::hex::byte).is_some() {
            self.at += 3;
        } else {
            return self.fail("a special character or two hex digits behind the backslash");
        }
        Ok(())
    }
}
