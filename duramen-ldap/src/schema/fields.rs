//! The common grammar of descriptions: `( number KEYWORD value KEYWORD ( value $ value ) FLAG )`.
//!
//! More is taken than RFC 4512 asks for, because schema files in use need it: fields in any order, keywords in any
//! case, names without quotes and OIDs with them, lists without dollar signs.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::error::TextError;
use crate::hex;
use crate::oid::is_numeric;

/// Names for the beginnings of OIDs, as `objectIdentifier` defines them in schema files.
#[derive(Debug, Clone, Default)]
pub struct Macros {
    oids: HashMap<String, String>,
}

impl Macros {
    /// Defines a name, by an OID or by names defined before: `base`, `base:1.2`. `None` if that is neither.
    pub fn define(&mut self, name: &str, value: &str) -> Option<()> {
        let oid = self.expand(value)?.into_owned();
        self.oids.insert(name.to_ascii_lowercase(), oid);
        Some(())
    }

    /// The OID that a word stands for.
    pub fn expand<'w>(&self, word: &'w str) -> Option<Cow<'w, str>> {
        if is_numeric(word) {
            return Some(Cow::Borrowed(word));
        }
        let (name, rest) = word.split_once(':').map_or((word, None), |(name, rest)| (name, Some(rest)));
        let base = self.oids.get(&name.to_ascii_lowercase())?;
        let oid = rest.map_or_else(|| base.clone(), |rest| format!("{base}.{rest}"));
        is_numeric(&oid).then_some(Cow::Owned(oid))
    }
}

/// A description taken apart.
pub(super) struct Fields {
    pub number: Word,
    fields: Vec<Field>,
    end: usize,
}

struct Field {
    keyword: Word,
    values: Vec<Word>,
}

/// A word or quoted string, and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Word {
    pub text: String,
    pub at: usize,
}

impl Word {
    /// That it is one word: what is printed without quotes has to be.
    fn checked(self) -> Result<Word, TextError> {
        let one =
            !self.text.is_empty() && self.text.bytes().all(|byte| byte.is_ascii_graphic() && !b"()$'".contains(&byte));
        if one { Ok(self) } else { Err(TextError::new(self.at, "a name or an OID")) }
    }
}

const FLAGS: [&str; 7] =
    ["OBSOLETE", "SINGLE-VALUE", "COLLECTIVE", "NO-USER-MODIFICATION", "ABSTRACT", "STRUCTURAL", "AUXILIARY"];

enum Token {
    Open,
    Close,
    Dollar,
    Word(Word),
    Quoted(Word),
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl Lexer<'_> {
    fn spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_ascii_start().len();
    }

    /// The next token and where it begins; `None` at the end.
    fn next(&mut self) -> Result<Option<(usize, Token)>, TextError> {
        self.spaces();
        let at = self.at;
        let rest = &self.text[at..];
        let Some(first) = rest.bytes().next() else { return Ok(None) };
        let token = match first {
            b'(' => Token::Open,
            b')' => Token::Close,
            b'$' => Token::Dollar,
            b'\'' => return self.quoted().map(|word| Some((at, Token::Quoted(word)))),
            _ => {
                let length = rest.find(|c: char| c.is_ascii_whitespace() || "()$'".contains(c)).unwrap_or(rest.len());
                self.at += length;
                return Ok(Some((at, Token::Word(Word { text: rest[..length].to_string(), at }))));
            }
        };
        self.at += 1;
        Ok(Some((at, token)))
    }

    fn quoted(&mut self) -> Result<Word, TextError> {
        let at = self.at;
        let rest = &self.text[at + 1..];
        let length = rest.find('\'').ok_or(TextError::new(at, "a closing quote"))?;
        self.at += length + 2;
        Ok(Word { text: unescape(&rest[..length]), at })
    }

    fn expect(&mut self, expected: &'static str) -> Result<(usize, Token), TextError> {
        self.next()?.ok_or(TextError::new(self.text.len(), expected))
    }

    /// One value, or values in parentheses.
    fn values(&mut self) -> Result<Vec<Word>, TextError> {
        match self.expect("a value")? {
            (_, Token::Word(word) | Token::Quoted(word)) => return Ok(vec![word]),
            (_, Token::Open) => {}
            (at, _) => return Err(TextError::new(at, "a value")),
        }
        let mut values = Vec::new();
        loop {
            match self.expect("')'")? {
                (_, Token::Word(word) | Token::Quoted(word)) => values.push(word),
                (_, Token::Dollar) => {}
                (_, Token::Close) => return Ok(values),
                (at, Token::Open) => return Err(TextError::new(at, "a value or ')'")),
            }
        }
    }
}

/// Replaces `\27` and `\5c`; any other backslash is left alone, as older files have them.
fn unescape(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let (c, used) = match rest.as_bytes().get(at + 1..at + 3).and_then(hex::byte) {
            Some(byte @ (b'\'' | b'\\')) => (char::from(byte), 3),
            _ => ('\\', 1),
        };
        text.push(c);
        rest = &rest[at + used..];
    }
    text + rest
}

impl Fields {
    /// Takes a description apart.
    pub fn parse(text: &str) -> Result<Fields, TextError> {
        let mut lexer = Lexer { text, at: 0 };
        match lexer.expect("'('")? {
            (_, Token::Open) => {}
            (at, _) => return Err(TextError::new(at, "'('")),
        }
        let number = match lexer.expect("an OID")? {
            (_, Token::Word(word) | Token::Quoted(word)) => word,
            (at, _) => return Err(TextError::new(at, "an OID")),
        };
        let (mut fields, mut keywords) = (Vec::new(), HashSet::new());
        loop {
            let keyword = match lexer.expect("')'")? {
                (_, Token::Word(word)) => word,
                (_, Token::Close) => break,
                (at, _) => return Err(TextError::new(at, "a keyword or ')'")),
            };
            if !keywords.insert(keyword.text.to_ascii_uppercase()) {
                return Err(TextError::new(keyword.at, "each keyword once"));
            }
            let flag = FLAGS.iter().any(|flag| keyword.text.eq_ignore_ascii_case(flag));
            let values = if flag { Vec::new() } else { lexer.values()? };
            fields.push(Field { keyword, values });
        }
        match lexer.next()? {
            None => Ok(Fields { number, fields, end: text.len() }),
            Some((at, _)) => Err(TextError::new(at, "the end of the description")),
        }
    }

    fn take(&mut self, keyword: &str) -> Option<Field> {
        let at = self.fields.iter().position(|field| field.keyword.text.eq_ignore_ascii_case(keyword))?;
        Some(self.fields.remove(at))
    }

    /// Whether a flag is there.
    pub fn flag(&mut self, keyword: &str) -> bool {
        self.take(keyword).is_some()
    }

    /// A field's values, which may be any text; none if it is not there.
    pub fn strings(&mut self, keyword: &str) -> Vec<String> {
        self.take(keyword).map_or_else(Vec::new, |field| field.values.into_iter().map(|word| word.text).collect())
    }

    /// A field's values, each a name or a number.
    pub fn words(&mut self, keyword: &str) -> Result<Vec<String>, TextError> {
        let values = self.take(keyword).map_or_else(Vec::new, |field| field.values);
        values.into_iter().map(|word| word.checked().map(|word| word.text)).collect()
    }

    /// A field's only value.
    pub fn word(&mut self, keyword: &str) -> Result<Option<Word>, TextError> {
        let Some(mut field) = self.take(keyword) else { return Ok(None) };
        match (field.values.pop(), field.values.pop()) {
            (Some(word), None) => Ok(Some(word)),
            (_, Some(_)) | (None, None) => Err(TextError::new(field.keyword.at, "one value of this keyword")),
        }
    }

    /// A field's only value, which is a name or a number.
    pub fn name(&mut self, keyword: &str) -> Result<Option<String>, TextError> {
        self.word(keyword)?.map(|word| word.checked().map(|word| word.text)).transpose()
    }

    /// As [`Fields::word`], of what has to be there.
    pub fn required(&mut self, keyword: &str, expected: &'static str) -> Result<Word, TextError> {
        self.word(keyword)?.ok_or(TextError::new(self.end.saturating_sub(1), expected))?.checked()
    }

    /// The extensions, which have to be all that is left.
    pub fn extensions(self, expected: &'static str) -> Result<Vec<(String, Vec<String>)>, TextError> {
        let extension = |field: Field| {
            if field.keyword.text.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("X-")) {
                Ok((field.keyword.text, field.values.into_iter().map(|word| word.text).collect()))
            } else {
                Err(TextError::new(field.keyword.at, expected))
            }
        };
        self.fields.into_iter().map(extension).collect()
    }
}
