//! Schema files as OpenLDAP's servers read them, and errors that name file and line.
//!
//! A statement is a line and the lines behind it that begin with a space or a tab. A comment is a line that begins
//! with `#`. Neither it nor an empty line ends a statement whose parentheses are open.

use std::sync::Arc;

use super::description::*;
use super::fields::Macros;
use super::parse::Description;
use crate::error::TextError;

/// What is wrong in a schema file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {what}")]
pub struct SchemaError {
    /// The file's name, as it was given.
    pub file: Arc<str>,
    /// The line, counted from 1.
    pub line: u32,
    /// What was expected there.
    pub what: String,
}

/// A description and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    /// The description.
    pub item: T,
    /// The file's name, as it was given.
    pub file: Arc<str>,
    /// The line where it begins, counted from 1.
    pub line: u32,
}

impl<T> Located<T> {
    /// Where it comes from, for people. Lines of what is built in nobody looks up.
    pub fn place(&self) -> String {
        if self.file.starts_with(BUILT_IN) {
            self.file.to_string()
        } else {
            format!("{}, line {}", self.file, self.line)
        }
    }
}

/// What names of parts that are built in begin with, where those of files stand.
pub const BUILT_IN: &str = "built-in ";

/// Descriptions from any number of files, in their order.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    /// Names of OIDs; those of one file hold in the next.
    pub macros: Macros,
    /// Syntaxes.
    pub syntaxes: Vec<Located<LdapSyntax>>,
    /// Matching rules.
    pub matching_rules: Vec<Located<MatchingRule>>,
    /// Uses of matching rules.
    pub matching_rule_uses: Vec<Located<MatchingRuleUse>>,
    /// Attribute types.
    pub attribute_types: Vec<Located<AttributeType>>,
    /// Object classes.
    pub object_classes: Vec<Located<ObjectClass>>,
    /// DIT content rules.
    pub content_rules: Vec<Located<DitContentRule>>,
    /// Name forms.
    pub name_forms: Vec<Located<NameForm>>,
    /// DIT structure rules.
    pub structure_rules: Vec<Located<DitStructureRule>>,
}

impl Schema {
    /// Adds the descriptions of a file of either kind: a `.schema` file, or LDIF. `file` is its name, for errors.
    pub fn load(&mut self, file: &str, text: &str) -> Result<(), SchemaError> {
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let first = lines.next().unwrap_or_default().to_ascii_lowercase();
        if first.starts_with("dn:") || first.starts_with("version:") {
            return self.load_ldif(file, text);
        }
        self.load_statements(file, text)
    }

    /// Adds the descriptions of a `.schema` file.
    pub fn load_statements(&mut self, file: &str, text: &str) -> Result<(), SchemaError> {
        let file: Arc<str> = file.into();
        let mut statement = Statement::default();
        let mut in_comment = false;
        for (n, line) in (1..).zip(text.lines()) {
            if line.trim_end_matches('\r').contains('\r') {
                // A file with CR alone would be one line, and nothing but a comment if it begins with one.
                let what = "expected LF or CR LF at the end of the line: a CR alone ends none".to_string();
                return Err(SchemaError { file, line: n, what });
            }
            let continues = line.starts_with([' ', '\t']);
            let blank = line.trim_ascii().is_empty();
            if line.starts_with('#') || (blank && statement.open()) {
                in_comment = !statement.open();
            } else if continues && !statement.text.is_empty() && !in_comment {
                statement.add(n, line);
            } else if !(continues && (in_comment || blank)) {
                in_comment = false;
                self.statement(&file, &std::mem::take(&mut statement))?;
                statement.add(n, line);
            }
        }
        self.statement(&file, &statement)
    }

    fn statement(&mut self, file: &Arc<str>, statement: &Statement) -> Result<(), SchemaError> {
        let text = statement.text.as_str();
        let start = text.len() - text.trim_ascii_start().len();
        let length = text[start..].find(|c: char| c.is_ascii_whitespace() || c == '(').unwrap_or(text.len() - start);
        let (keyword, rest) = text[start..].split_at(length);
        if keyword.is_empty() {
            return if rest.is_empty() {
                Ok(())
            } else {
                Err(statement.error(file, TextError::new(start, "a statement")))
            };
        }
        self.add(keyword, rest, file, statement.line(start))
            .map_err(|error| statement.error(file, error.after(start + length)))
    }

    /// Adds a description by the keyword or attribute that it stands behind.
    pub(super) fn add(&mut self, keyword: &str, text: &str, file: &Arc<str>, line: u32) -> Result<(), TextError> {
        let keyword = keyword.to_ascii_lowercase();
        let singular = keyword.strip_suffix('s').unwrap_or(&keyword);
        let macros = &self.macros;
        match singular {
            // Without its second t it stands in the dsee.schema of OpenLDAP.
            "attributetype" | "attribute" | "attributeype" => {
                located(&mut self.attribute_types, text, macros, file, line)
            }
            "objectclasse" | "objectclas" => located(&mut self.object_classes, text, macros, file, line),
            "ldapsyntaxe" | "ldapsyntax" => located(&mut self.syntaxes, text, macros, file, line),
            "matchingrule" => located(&mut self.matching_rules, text, macros, file, line),
            "matchingruleuse" => located(&mut self.matching_rule_uses, text, macros, file, line),
            "ditcontentrule" => located(&mut self.content_rules, text, macros, file, line),
            "nameform" => located(&mut self.name_forms, text, macros, file, line),
            "ditstructurerule" => located(&mut self.structure_rules, text, macros, file, line),
            "objectidentifier" => self.define(text),
            _ => Err(TextError::new(0, "attributeType, objectClass, objectIdentifier or another kind of description")),
        }
    }

    /// `name OID`
    fn define(&mut self, text: &str) -> Result<(), TextError> {
        let fail = TextError::new(0, "a name, and an OID or a name defined before");
        let mut words = text.split_ascii_whitespace();
        let (Some(name), Some(value), None) = (words.next(), words.next(), words.next()) else { return Err(fail) };
        self.macros.define(name, value).ok_or(fail)
    }
}

fn located<T: Description>(
    list: &mut Vec<Located<T>>,
    text: &str,
    macros: &Macros,
    file: &Arc<str>,
    line: u32,
) -> Result<(), TextError> {
    list.push(Located { item: T::parse_with(text, macros)?, file: file.clone(), line });
    Ok(())
}

/// A statement, and which of its bytes come from which line.
#[derive(Default)]
struct Statement {
    text: String,
    starts: Vec<(usize, u32)>,
}

impl Statement {
    fn add(&mut self, line: u32, text: &str) {
        self.starts.push((self.text.len(), line));
        self.text.push_str(text.trim_ascii_end());
        self.text.push(' ');
        if self.text.trim_ascii().is_empty() {
            *self = Statement::default();
        }
    }

    /// Whether parentheses are open, not counting those in quotes.
    fn open(&self) -> bool {
        let unquoted = self.text.split('\'').step_by(2);
        let count = |c| unquoted.clone().map(|part| part.matches(c).count()).sum::<usize>();
        count('(') > count(')')
    }

    fn line(&self, offset: usize) -> u32 {
        self.starts.iter().rev().find(|(start, _)| *start <= offset).map_or(1, |(_, line)| *line)
    }

    fn error(&self, file: &Arc<str>, error: TextError) -> SchemaError {
        let offset = error.offset.min(self.text.trim_ascii_end().len());
        SchemaError { file: file.clone(), line: self.line(offset), what: format!("expected {}", error.expected) }
    }
}
