//! What a record says.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::reader::{Fault, Fetch, Line};
use crate::message::ChangeKind;

/// Some programs leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// An entry, or a change of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    /// The entry's name; not checked for being one.
    pub dn: Cow<'a, str>,
    /// Controls that the change has.
    pub controls: Vec<LdifControl<'a>>,
    /// What is said of it.
    pub body: Body<'a>,
    /// The line where the record begins, counted from 1.
    pub line: u64,
}

/// What a record says of its entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<'a> {
    /// What is in it: a record without `changetype`.
    Entry(Vec<Pair<'a>>),
    /// It is to be added.
    Add(Vec<Pair<'a>>),
    /// It is to be deleted.
    Delete,
    /// It is to be changed.
    Modify(Vec<Modification<'a>>),
    /// It is to be renamed or moved.
    ModifyDn {
        /// Its new RDN.
        new_rdn: Cow<'a, str>,
        /// Whether the values of the old RDN go away.
        delete_old_rdn: bool,
        /// Its new parent, if it gets another one.
        new_superior: Option<Cow<'a, str>>,
    },
}

/// An attribute description and one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair<'a> {
    /// Attribute type and options.
    pub description: &'a str,
    /// The value.
    pub value: Cow<'a, [u8]>,
    /// The line where it stands, counted from 1.
    pub line: u64,
}

/// A change of one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modification<'a> {
    /// What to do.
    pub kind: ChangeKind,
    /// Attribute type and options.
    pub description: &'a str,
    /// With which values.
    pub values: Vec<Pair<'a>>,
}

/// A control of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LdifControl<'a> {
    /// Its number.
    pub oid: &'a str,
    /// Whether the change has to be refused by a server that does not know it.
    pub critical: bool,
    /// Its value.
    pub value: Option<Cow<'a, [u8]>>,
}

/// Takes a record's lines, of which there is one at least.
pub(super) fn parse<'a>(text: &'a [u8], lines: &[Line], fetch: &mut Fetch) -> Result<Record<'a>, Fault> {
    let mut parser = Parser { text, lines, fetch };
    let line = lines[0].number;
    let first = parser.pair("dn: and the name of an entry")?;
    if !first.description.eq_ignore_ascii_case("dn") {
        let is_result = first.description == "search";
        return Err(Fault::Expected(line, if is_result { NO_RESULT } else { "dn: and the name of an entry" }));
    }
    let dn = into_text(first)?;
    let mut controls = Vec::new();
    while parser.next_is("control") {
        controls.push(parser.control()?);
    }
    let body = if parser.next_is("changetype") {
        parser.change()?
    } else if controls.is_empty() {
        Body::Entry(parser.pairs()?)
    } else {
        return Err(Fault::Expected(parser.number(line), "changetype: behind the controls"));
    };
    match parser.lines.first() {
        None => Ok(Record { dn, controls, body, line }),
        Some(line) => Err(Fault::Expected(line.number, "an empty line before the next record")),
    }
}

/// What of a search that was put into a file is no record.
const NO_RESULT: &str =
    "dn: and the name of an entry, and not how a search ended: `ldapsearch -LLL` does not write that";

struct Parser<'a, 'p> {
    text: &'a [u8],
    lines: &'p [Line],
    fetch: &'p mut Fetch,
}

impl<'a> Parser<'a, '_> {
    fn number(&self, default: u64) -> u64 {
        self.lines.first().map_or(default, |line| line.number)
    }

    fn peek(&self) -> Option<&'a [u8]> {
        self.lines.first().map(|line| &self.text[line.start..line.end])
    }

    fn next_is(&self, keyword: &str) -> bool {
        let keyword_with_colon = |line: &[u8]| {
            line.get(..keyword.len()).is_some_and(|start| start.eq_ignore_ascii_case(keyword.as_bytes()))
                && line.get(keyword.len()) == Some(&b':')
        };
        self.peek().is_some_and(keyword_with_colon)
    }

    /// The next line. Callers know that there is one.
    fn take(&mut self) -> (&'a [u8], u64) {
        let line = self.lines[0];
        self.lines = &self.lines[1..];
        (&self.text[line.start..line.end], line.number)
    }

    /// `description: value`, `description:: base64` or `description:< url`
    fn pair(&mut self, expected: &'static str) -> Result<Pair<'a>, Fault> {
        let (text, line) = self.take();
        let colon = text.iter().position(|&byte| byte == b':').ok_or(Fault::Expected(line, expected))?;
        let description = std::str::from_utf8(&text[..colon]).ok().filter(|name| is_description(name));
        let description = description.ok_or(Fault::Expected(line, "an attribute description before the colon"))?;
        let value = self.value(&text[colon + 1..], line)?;
        Ok(Pair { description, value, line })
    }

    /// What stands behind the first colon.
    fn value(&mut self, text: &'a [u8], line: u64) -> Result<Cow<'a, [u8]>, Fault> {
        match text.first() {
            Some(b':') => {
                let decoded = BASE64.decode(text[1..].trim_ascii());
                decoded.map(Cow::Owned).map_err(|_| Fault::Expected(line, "base64 behind two colons"))
            }
            Some(b'<') => {
                let url = std::str::from_utf8(text[1..].trim_ascii());
                let url = url.map_err(|_| Fault::Expected(line, "a URL behind ':<'"))?;
                (self.fetch)(url).map(Cow::Owned).map_err(|source| Fault::Url(line, url.to_string(), source))
            }
            _ => {
                let spaces = text.iter().take_while(|&&byte| byte == b' ').count();
                Ok(Cow::Borrowed(&text[spaces..]))
            }
        }
    }

    fn pairs(&mut self) -> Result<Vec<Pair<'a>>, Fault> {
        let mut pairs = Vec::with_capacity(self.lines.len());
        while let Some(next) = self.lines.first() {
            if self.next_is("dn") {
                // What follows would be taken for more of this entry.
                let expected = "an empty line, without spaces, before dn: and the next record";
                return Err(Fault::Expected(next.number, expected));
            }
            pairs.push(self.pair("an attribute description and a colon")?);
        }
        Ok(pairs)
    }

    /// `control: oid true: value`
    fn control(&mut self) -> Result<LdifControl<'a>, Fault> {
        let expected = "control: an OID, 'true' or 'false' or nothing, and a value or nothing";
        let (text, line) = self.take();
        let text = &text[text.iter().position(|&byte| byte == b':').map_or(text.len(), |at| at + 1)..];
        let colon = text.iter().position(|&byte| byte == b':');
        let (head, value) = text.split_at(colon.unwrap_or(text.len()));
        let head = std::str::from_utf8(head).map_err(|_| Fault::Expected(line, expected))?;
        let mut words = head.split_ascii_whitespace();
        let (oid, critical, end) = (words.next(), words.next(), words.next());
        let (Some(oid), Some(critical), None) = (oid, criticality(critical), end) else {
            return Err(Fault::Expected(line, expected));
        };
        let value = if value.is_empty() { None } else { Some(self.value(&value[1..], line)?) };
        Ok(LdifControl { oid, critical, value })
    }

    fn change(&mut self) -> Result<Body<'a>, Fault> {
        let kind = self.pair("changetype:")?;
        match kind.value.trim_ascii().to_ascii_lowercase().as_slice() {
            b"add" => Ok(Body::Add(self.pairs()?)),
            b"delete" => Ok(Body::Delete),
            b"modify" => self.modifications(kind.line),
            b"modrdn" | b"moddn" => self.modify_dn(kind.line),
            _ => Err(Fault::Expected(kind.line, "add, delete, modify, modrdn or moddn behind changetype:")),
        }
    }

    fn modifications(&mut self, mut line: u64) -> Result<Body<'a>, Fault> {
        let mut modifications = Vec::new();
        while !self.lines.is_empty() {
            let head = self.pair("add:, delete:, replace: or increment:")?;
            line = head.line;
            let kind = kind(head.description).ok_or(Fault::Expected(line, "add:, delete:, replace: or increment:"))?;
            let description = match head.value {
                Cow::Borrowed(name) => std::str::from_utf8(name).ok().map(str::trim_ascii_end),
                Cow::Owned(_) => None,
            };
            let description = description.filter(|name| is_description(name));
            let description = description.ok_or(Fault::Expected(line, "an attribute description behind the colon"))?;
            let mut values = Vec::new();
            while self.peek().is_some_and(|line| line.trim_ascii_end() != b"-") {
                let pair = self.pair("the attribute with a value, or '-'")?;
                if !pair.description.eq_ignore_ascii_case(description) {
                    return Err(Fault::Expected(pair.line, "the attribute with a value, or '-'"));
                }
                values.push(pair);
            }
            if !self.lines.is_empty() {
                self.take();
            }
            modifications.push(Modification { kind, description, values });
        }
        if modifications.is_empty() {
            return Err(Fault::Expected(line, "a change behind changetype: modify"));
        }
        Ok(Body::Modify(modifications))
    }

    fn modify_dn(&mut self, line: u64) -> Result<Body<'a>, Fault> {
        let mut field = |keyword: &str, expected| match self.next_is(keyword) {
            true => self.pair(expected),
            false => Err(Fault::Expected(self.number(line), expected)),
        };
        let new_rdn = into_text(field("newrdn", "newrdn:")?)?;
        let delete = field("deleteoldrdn", "deleteoldrdn: 0 or 1")?;
        let delete_old_rdn = match delete.value.trim_ascii() {
            b"0" => false,
            b"1" => true,
            _ => return Err(Fault::Expected(delete.line, "deleteoldrdn: 0 or 1")),
        };
        let new_superior =
            if self.next_is("newsuperior") { Some(into_text(self.pair("newsuperior:")?)?) } else { None };
        Ok(Body::ModifyDn { new_rdn, delete_old_rdn, new_superior })
    }
}

fn kind(keyword: &str) -> Option<ChangeKind> {
    let kinds = [ChangeKind::Add, ChangeKind::Delete, ChangeKind::Replace, ChangeKind::Increment];
    kinds.into_iter().find(|kind| kind.keyword().eq_ignore_ascii_case(keyword))
}

impl ChangeKind {
    /// As LDIF writes it.
    pub fn keyword(self) -> &'static str {
        match self {
            ChangeKind::Add => "add",
            ChangeKind::Delete => "delete",
            ChangeKind::Replace => "replace",
            ChangeKind::Increment => "increment",
        }
    }
}

fn criticality(word: Option<&str>) -> Option<bool> {
    match word {
        None => Some(false),
        Some(word) if word.eq_ignore_ascii_case("true") => Some(true),
        Some(word) if word.eq_ignore_ascii_case("false") => Some(false),
        Some(_) => None,
    }
}

fn into_text(pair: Pair<'_>) -> Result<Cow<'_, str>, Fault> {
    let fail = || Fault::Expected(pair.line, "UTF-8");
    Ok(match pair.value {
        Cow::Borrowed(bytes) => Cow::Borrowed(std::str::from_utf8(bytes).map_err(|_| fail())?),
        Cow::Owned(bytes) => Cow::Owned(String::from_utf8(bytes).map_err(|_| fail())?),
    })
}

fn is_description(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b';' | b'.' | b'_'))
}
