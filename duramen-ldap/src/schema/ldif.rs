//! Schema in LDIF: `olcAttributeTypes` and so on of a server's configuration, or `attributeTypes` of a subschema entry.

use std::sync::Arc;

use super::file::{Schema, SchemaError};
use crate::ldif::{Body, LdifError, LdifReader};

/// The entry of slapd's configuration that has what is compiled into it: types of its own, with rules that nothing else has.
/// Files that people choose are below it.
const COMPILED: &str = "cn=schema,cn=config";

impl Schema {
    /// Adds the descriptions of an LDIF file. Attributes that hold none are passed over, and so is what slapd has compiled
    /// into it.
    pub fn load_ldif(&mut self, file: &str, text: &str) -> Result<(), SchemaError> {
        let file: Arc<str> = file.into();
        let mut reader = LdifReader::new(&*file, text.as_bytes());
        while let Some(record) = reader.next_record().map_err(|error| schema_error(&file, error))? {
            let (Body::Entry(pairs) | Body::Add(pairs)) = record.body else { continue };
            for pair in pairs {
                let keyword = strip_prefix(pair.description);
                let is_compiled = record.dn.eq_ignore_ascii_case(COMPILED) && !keyword.eq_ignore_ascii_case(IDENTIFIER);
                if !is_schema(keyword) || is_compiled {
                    continue;
                }
                let line = u32::try_from(pair.line).unwrap_or(u32::MAX);
                let fail = |what| SchemaError { file: file.clone(), line, what };
                let value = std::str::from_utf8(&pair.value).map_err(|_| fail("expected UTF-8".to_string()))?;
                self.add(keyword, without_order(value), &file, line).map_err(|error| fail(error.to_string()))?;
            }
        }
        Ok(())
    }
}

fn schema_error(file: &Arc<str>, error: LdifError) -> SchemaError {
    let (line, what) = match error {
        LdifError::Malformed { line, expected, .. } => (line, format!("expected {expected}")),
        LdifError::Url { line, url, source, .. } => (line, format!("cannot read {url}: {source}")),
        LdifError::Io { line, source, .. } => (line, source.to_string()),
    };
    SchemaError { file: file.clone(), line: u32::try_from(line).unwrap_or(u32::MAX), what }
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
