//! Schema in LDIF: `olcAttributeTypes` and so on of a server's configuration, or `attributeTypes` of a subschema entry.

use std::sync::Arc;

use super::file::{Schema, SchemaError};
use crate::ldif::{Body, LdifError, LdifReader, Pair};
use crate::message::ChangeKind;

/// The entry of slapd's configuration that has what is compiled into it: types of its own, with rules that nothing else has.
/// Files that people choose are below it.
const COMPILED: &str = "cn=schema,cn=config";

/// What is said of LDIF that is about something else.
const NO_SCHEMA: &str = "no record describes schema: expected attributeTypes, objectClasses, olcAttributeTypes or another kind of \
                         description in the file";

impl Schema {
    /// Adds the descriptions of an LDIF file, changes that add some included. Attributes that hold none are passed over, and so
    /// is what slapd has compiled into it.
    pub fn load_ldif(&mut self, file: &str, text: &str) -> Result<(), SchemaError> {
        let file: Arc<str> = file.into();
        let mut reader = LdifReader::new(&*file, text.as_bytes());
        let mut first = None;
        let mut has_any = false;
        while let Some(record) = reader.next_record().map_err(|failed| schema_error(&file, failed))? {
            first = first.or(Some(record.line));
            for pair in described(record.body) {
                let keyword = strip_prefix(pair.description);
                if is_schema(keyword) {
                    has_any = true;
                    let is_compiled = record.dn.eq_ignore_ascii_case(COMPILED);
                    if !is_compiled || keyword.eq_ignore_ascii_case(IDENTIFIER) {
                        self.add_pair(keyword, &pair, &file)?;
                    }
                }
            }
        }
        match first.filter(|_| !has_any) {
            Some(line) => Err(error(&file, line, NO_SCHEMA.to_string())),
            None => Ok(()),
        }
    }

    fn add_pair(&mut self, keyword: &str, pair: &Pair<'_>, file: &Arc<str>) -> Result<(), SchemaError> {
        let value = std::str::from_utf8(&pair.value);
        let value = value.map_err(|_| error(file, pair.line, "expected UTF-8".to_string()))?;
        let line = u32::try_from(pair.line).unwrap_or(u32::MAX);
        let added = self.add(keyword, without_order(value), file, line);
        added.map_err(|failed| error(file, pair.line, failed.to_string()))
    }
}

/// What a record says of an entry, or adds to it: other servers get their schema by changes of `cn=schema`.
fn described(body: Body<'_>) -> Vec<Pair<'_>> {
    match body {
        Body::Entry(pairs) | Body::Add(pairs) => pairs,
        Body::Modify(changes) => {
            let adds =
                changes.into_iter().filter(|change| matches!(change.kind, ChangeKind::Add | ChangeKind::Replace));
            adds.flat_map(|change| change.values).collect()
        }
        Body::Delete | Body::ModifyDn { .. } => Vec::new(),
    }
}

fn error(file: &Arc<str>, line: u64, what: String) -> SchemaError {
    SchemaError { file: file.clone(), line: u32::try_from(line).unwrap_or(u32::MAX), what }
}

fn schema_error(file: &Arc<str>, failed: LdifError) -> SchemaError {
    let (line, what) = match failed {
        LdifError::Malformed { line, expected, .. } => (line, format!("expected {expected}")),
        LdifError::Url { line, url, source, .. } => (line, format!("cannot read {url}: {source}")),
        LdifError::Io { line, source, .. } => (line, source.to_string()),
    };
    error(file, line, what)
}

fn strip_prefix(description: &str) -> &str {
    match description.get(..3) {
        Some(prefix) if prefix.eq_ignore_ascii_case("olc") => &description[3..],
        _ => description,
    }
}

const IDENTIFIER: &str = "objectIdentifier";

fn is_schema(keyword: &str) -> bool {
    const KEYWORDS: [&str; 9] = [
        "attributeTypes",
        "objectClasses",
        "ldapSyntaxes",
        "matchingRules",
        "matchingRuleUse",
        "ditContentRules",
        "nameForms",
        "ditStructureRules",
        IDENTIFIER,
    ];
    KEYWORDS.iter().any(|known| known.eq_ignore_ascii_case(keyword))
}

/// Without the `{n}` that a server keeps the order of values by.
fn without_order(value: &str) -> &str {
    let number = value.strip_prefix('{').and_then(|rest| rest.split_once('}'));
    match number {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => rest,
        _ => value,
    }
}
