//! Text of GSER (RFC 3641), as far as assertions and subtree specifications have it.
//!
//! Owns: where words, texts in quotes and braces begin and end. Must not know: what they mean.
//!
//! As others take them, there may be any number of spaces, or none, wherever one may stand.

use std::borrow::Cow;

use crate::error::TextError;

/// A place in a text.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    /// At the first character of a value that is not a space.
    pub fn new(value: &'a [u8]) -> Result<Scanner<'a>, TextError> {
        let text = crate::value::text(value)?;
        let mut scanner = Scanner { text, at: 0 };
        scanner.spaces();
        Ok(scanner)
    }

    pub fn fail<T>(&self, expected: &'static str) -> Result<T, TextError> {
        Err(TextError::new(self.at, expected))
    }

    /// Where it stands.
    pub fn offset(&self) -> usize {
        self.at
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches(' ').len();
    }

    /// Whether this character stands here.
    pub fn is_at(&self, wanted: char) -> bool {
        self.rest().starts_with(wanted)
    }

    /// Passes over this character, if it stands here, and over spaces behind it.
    pub fn take(&mut self, wanted: char) -> bool {
        let found = self.is_at(wanted);
        if found {
            self.at += wanted.len_utf8();
            self.spaces();
        }
        found
    }

    /// That this character stands here; passes over it and spaces behind it.
    pub fn expect(&mut self, wanted: char, expected: &'static str) -> Result<(), TextError> {
        if self.take(wanted) { Ok(()) } else { self.fail(expected) }
    }

    /// That nothing is left.
    pub fn finish(&self) -> Result<(), TextError> {
        if self.rest().is_empty() { Ok(()) } else { self.fail("the end of the value") }
    }

    /// What stands in braces, with commas between: `each` reads one of them. Returns where the closing brace stands.
    pub fn list(
        &mut self,
        mut each: impl FnMut(&mut Scanner<'a>) -> Result<(), TextError>,
    ) -> Result<usize, TextError> {
        self.expect('{', "'{'")?;
        while !self.is_at('}') {
            each(self)?;
            if !self.take(',') && !self.is_at('}') {
                return self.fail("',' or '}'");
            }
        }
        let end = self.at;
        self.take('}');
        Ok(end)
    }

    /// The fields of a value in braces: `each` is given a field's name and reads its value, or says that there is none of
    /// that name, or no second one. Returns where the closing brace stands.
    pub fn fields(
        &mut self,
        mut each: impl FnMut(&mut Scanner<'a>, &'a str) -> Result<bool, TextError>,
    ) -> Result<usize, TextError> {
        self.list(|scanner| {
            let offset = scanner.at;
            let name = scanner.word()?;
            match each(scanner, name)? {
                true => Ok(()),
                false => Err(TextError::new(offset, "a field that there is, and each of them once")),
            }
        })
    }

    /// `name:` of a value that is of one of these kinds; `None` if it is not said of which.
    pub fn choice(&mut self, choices: &[&'static str]) -> Result<Option<&'static str>, TextError> {
        let start = self.at;
        let word = self.word().unwrap_or_default();
        if word.is_empty() || !self.take(':') {
            self.at = start;
            return Ok(None);
        }
        match choices.iter().find(|choice| **choice == word) {
            Some(choice) => Ok(Some(choice)),
            None => Err(TextError::new(start, "a choice of those that there are")),
        }
    }

    /// Text in quotes, in which a quote is written twice, or a word.
    pub fn value(&mut self) -> Result<Cow<'a, str>, TextError> {
        if self.is_at('"') { self.quoted() } else { self.word().map(Cow::Borrowed) }
    }

    /// Text in quotes, in which a quote is written twice.
    pub fn quoted(&mut self) -> Result<Cow<'a, str>, TextError> {
        if !self.is_at('"') {
            return self.fail("text in quotes");
        }
        self.at += 1;
        let start = self.at;
        while let Some(found) = self.rest().find('"') {
            self.at += found + 1;
            if !self.is_at('"') {
                let inner = &self.text[start..self.at - 1];
                self.spaces();
                return Ok(if inner.contains('"') { inner.replace("\"\"", "\"").into() } else { inner.into() });
            }
            self.at += 1;
        }
        self.fail("a quote at the end of the text")
    }

    /// Bytes as hex digits: `'0500'H`.
    pub fn hex(&mut self) -> Result<Vec<u8>, TextError> {
        self.expect('\'', "'\''")?;
        let mut bytes = Vec::new();
        while !self.is_at('\'') {
            let digits = self.rest().as_bytes().get(..2).and_then(crate::hex::byte);
            let Some(byte) = digits else { return self.fail("two hex digits, or '\'H'") };
            bytes.push(byte);
            self.at += 2;
        }
        self.at += 1;
        self.expect('H', "'H'")?;
        Ok(bytes)
    }

    /// Letters, digits, hyphens, and dots within: a name or a number.
    pub fn word(&mut self) -> Result<&'a str, TextError> {
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '.';
        let length = self.rest().find(is_end).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        if word.is_empty() {
            return self.fail("a name, a number or text in quotes");
        }
        self.at += length;
        self.spaces();
        Ok(word)
    }
}
