//! Attributes as requests describe them, and the form in which their values are compared.
//!
//! Must not know: what becomes of attributes, where values are stored.

use std::borrow::Cow;

use duramen_ldap::attribute::AttributeDescription;
use duramen_ldap::matching::Rule;
use duramen_ldap::message::ResultCode;

use crate::failure::{Failure, Result};
use crate::filter::{is_range, options};
use crate::names;
use crate::schema::{Attribute, Schema};

/// A description bound to the schema.
pub(crate) struct Described<'s> {
    pub attribute: &'s Attribute,
    /// The type's name as the schema has it, and the options as they were written, none twice.
    pub description: Cow<'s, str>,
    /// Options in lower case, sorted, none twice.
    pub options: Vec<String>,
}

/// What a description in a request stands for.
///
/// # Errors
/// undefinedAttributeType.
pub(crate) fn describe<'s>(schema: &'s Schema, text: &str) -> Result<Described<'s>> {
    let undefined = |what: &str| Failure::new(ResultCode::UNDEFINED_ATTRIBUTE_TYPE, format!("{text}: {what}"));
    // Most are the name of a type and nothing else.
    if let Some(attribute) = schema.find(text) {
        return Ok(Described { attribute, description: Cow::Borrowed(&attribute.name), options: Vec::new() });
    }
    let parsed = AttributeDescription::parse(text).map_err(|error| undefined(&error.to_string()))?;
    let attribute = schema.find(parsed.kind).ok_or_else(|| undefined("the schema has no such attribute type"))?;
    let options = options(&parsed);
    attribute.check_options(&options).map_err(undefined)?;
    let mut description = Cow::Borrowed(attribute.name.as_str());
    for (n, option) in parsed.options().enumerate() {
        if parsed.options().take(n).any(|before| before.eq_ignore_ascii_case(option)) {
            continue;
        }
        let description = description.to_mut();
        description.push(';');
        description.push_str(option);
    }
    Ok(Described { attribute, description, options })
}

/// What the description of an attribute that an entry is to have, or had, stands for.
///
/// # Errors
/// undefinedAttributeType, of language ranges too: they stand for tags (RFC 3866 section 3).
pub(crate) fn describe_stored<'s>(schema: &'s Schema, text: &str) -> Result<Described<'s>> {
    let described = describe(schema, text)?;
    if let Some(range) = described.options.iter().find(|option| is_range(option)) {
        let text = format!("{text}: {range} is a language range, which can be asked for; entries have language tags");
        return Err(Failure::new(ResultCode::UNDEFINED_ATTRIBUTE_TYPE, text));
    }
    Ok(described)
}

/// The form in which values of an attribute are compared: normalized by its equality rule, or the value itself.
pub(crate) fn form(schema: &Schema, rule: Option<&Rule>, value: &[u8]) -> Vec<u8> {
    let mut normalized = Vec::with_capacity(value.len());
    match rule.map(|rule| names::normalize_value(schema, rule, value, &mut normalized)) {
        Some(Ok(())) => normalized,
        _ => value.to_vec(),
    }
}
