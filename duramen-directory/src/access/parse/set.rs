//! The language of sets: `this/manager & user`.
//!
//! Attributes and levels bind to what stands directly in front of them; `&`, `|` and `+` have no precedence among each
//! other, and are carried out from left to right, as slapd does.

use super::super::set::{Join, Part, Set};
use super::super::template::Template;
use super::what;
use crate::schema::Schema;

/// So deep may parentheses be nested, about as in slapd; of so many parts an expression may consist.
const DEPTH_MAX: usize = 60;
const PARTS_MAX: usize = 256;

/// A set from its text.
pub(super) fn parse(text: &str, expands: bool, schema: &Schema) -> Result<Set, String> {
    let mut parser = Parser { text, at: 0, expands, schema, parts: 0, depth: 0 };
    let part = parser.joined()?;
    match parser.next() {
        None => Ok(Set::new(part, expands)),
        Some(')') => Err(parser.wrong("there is no '(' for this ')'")),
        Some(_) => Err(parser.wrong("expected &, |, +, '/' and an attribute, or the end")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    expands: bool,
    schema: &'a Schema,
    parts: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The next character that is no space, which is not passed.
    fn next(&mut self) -> Option<char> {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
        self.rest().chars().next()
    }

    /// Passes what stands here, if it does.
    fn takes(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        self.at += if is_there { text.len() } else { 0 };
        is_there
    }

    fn wrong(&self, problem: impl std::fmt::Display) -> String {
        self.wrong_at(self.at, problem)
    }

    fn wrong_at(&self, at: usize, problem: impl std::fmt::Display) -> String {
        let place = match at == self.text.len() {
            true => "at its end".to_owned(),
            false => format!("at its character {}", self.text[..at].chars().count() + 1),
        };
        format!("the set '{}' is wrong {place}: {problem}", self.text)
    }

    /// Counts a part.
    fn count(&mut self) -> Result<(), String> {
        self.parts += 1;
        match self.parts > PARTS_MAX {
            true => Err(self.wrong(format!("it has more than {PARTS_MAX} parts: make groups of some"))),
            false => Ok(()),
        }
    }

    fn joined(&mut self) -> Result<Part, String> {
        let mut part = self.followed()?;
        loop {
            let join = match self.next() {
                Some('|') => Join::Either,
                Some('&') => Join::Both,
                Some('+') => Join::Behind,
                _ => return Ok(part),
            };
            self.at += 1;
            self.count()?;
            part = Part::Join(Box::new(part), join, Box::new(self.followed()?));
        }
    }

    /// An operand with all that is followed from it.
    fn followed(&mut self) -> Result<Part, String> {
        let mut part = self.operand()?;
        loop {
            self.next();
            if !self.takes("/") && !self.takes("->") {
                return Ok(part);
            }
            self.count()?;
            self.next();
            part = self.step(Box::new(part))?;
        }
    }

    fn operand(&mut self) -> Result<Part, String> {
        self.count()?;
        let start = self.at;
        match self.next() {
            Some('(') => self.in_parentheses(),
            Some('[') => self.literal(),
            Some(c) if begins_word(c) => match self.word() {
                "this" => Ok(Part::This),
                "user" => Ok(Part::User),
                word => {
                    let problem = format!(
                        "'{word}' stands for nothing: expected this, user, [text] or '('; attributes stand behind '/'"
                    );
                    Err(self.wrong_at(start + self.text[start..].find(word).unwrap_or(0), problem))
                }
            },
            _ => Err(self.wrong("expected this, user, [text] or '('")),
        }
    }

    fn in_parentheses(&mut self) -> Result<Part, String> {
        let start = self.at;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong(format!("more than {DEPTH_MAX} parentheses are open")));
        }
        self.at += 1;
        let part = self.joined()?;
        self.depth -= 1;
        match self.next() {
            Some(')') => self.at += 1,
            None => return Err(self.wrong_at(start, "there is no ')' for this '('")),
            Some(_) => return Err(self.wrong("expected &, |, +, '/' and an attribute, or ')'")),
        }
        Ok(part)
    }

    fn literal(&mut self) -> Result<Part, String> {
        let start = self.at;
        let inner = &self.rest()[1..];
        let Some(end) = inner.find(']') else { return Err(self.wrong_at(start, "there is no ']' for this '['")) };
        self.at += end + 2;
        let text = &inner[..end];
        Ok(Part::Text(if self.expands { Template::parse(text) } else { Template::literal(text.to_owned()) }))
    }

    /// What stands behind a slash: an attribute, or how many levels up.
    fn step(&mut self, of: Box<Part>) -> Result<Part, String> {
        let start = self.at;
        if self.takes("-*") {
            return Ok(Part::Above { of, levels: None });
        }
        if self.takes("-") {
            let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
            let levels = self.rest()[..digits].parse().ok().map(|levels: u16| usize::from(levels));
            let problem = "expected * or a number of levels behind '/-'";
            self.at += if levels.is_some() { digits } else { 0 };
            return match levels {
                Some(_) => Ok(Part::Above { of, levels }),
                None => Err(self.wrong_at(start, problem)),
            };
        }
        if !self.rest().starts_with(|c: char| begins_word(c) || c.is_ascii_digit()) {
            return Err(self.wrong("expected an attribute type, -1 or another number of levels, or -*"));
        }
        let word = self.word();
        let attribute = what::attribute(word, self.schema).map_err(|problem| self.wrong_at(start, problem))?;
        let again = self.takes("*");
        Ok(Part::Follow { of, attribute: attribute.id, name: attribute.name.to_string(), again })
    }

    /// A word of letters, digits and so on; a hyphen belongs to it only with more behind.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let belongs = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | ';' | '_');
        let end = rest.find(|c| !belongs(c)).unwrap_or(rest.len());
        let word = rest[..end].trim_end_matches('-');
        self.at += word.len();
        word
    }
}

fn begins_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}
