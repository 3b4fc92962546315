//! RDNs and the values they consist of (RFC 4512 section 2.3.1).

use duramen_ldap::dn::Rdn;
use duramen_ldap::message::ResultCode;

use super::check;
use super::draft::Draft;
use crate::attribute::form;
use crate::failure::{Failure, Result, bad_name};
use crate::large;
use crate::schema::{Attribute, Schema};
use crate::tables::{Id, Tables};

/// The pairs of an RDN, bound to the schema.
pub(crate) fn pairs<'s>(schema: &'s Schema, rdn: &str) -> Result<Vec<(&'s Attribute, Vec<u8>)>> {
    let parsed = Rdn::parse(rdn).map_err(|error| bad_name(rdn, error))?;
    let mut pairs = Vec::new();
    for ava in parsed.avas() {
        let Some(attribute) = schema.find(ava.attribute) else {
            let text = format!("{}: the schema has no such attribute type, and {rdn:?} has it", ava.attribute);
            return Err(Failure::new(ResultCode::INVALID_DN_SYNTAX, text));
        };
        let value = ava.value().into_owned();
        if let Err(failure) = check::value(attribute, &attribute.name, 1, &value) {
            let text = format!("the name {rdn:?}: {}", failure.diagnostic);
            return Err(Failure::new(ResultCode::INVALID_DN_SYNTAX, text));
        }
        pairs.push((attribute, value));
    }
    Ok(pairs)
}

/// The RDN of a suffix's whole name, or an RDN as it is.
pub(crate) fn first_rdn(text: &str) -> &str {
    duramen_ldap::dn::Dn::parse(text).ok().and_then(|name| name.rdn()).map_or(text, |rdn| rdn.as_str())
}

/// Where values of an entry are that are not in it: its tables, and its id. A new entry has none there.
pub(crate) type Stored<'t> = Option<(Tables<'t>, Id)>;

/// Whether an entry has a value, equal by the attribute's rule. What has options is no part of a name.
pub(crate) fn has(
    schema: &Schema,
    draft: &Draft<'_>,
    stored: Stored<'_>,
    attribute: &Attribute,
    value: &[u8],
) -> Result<bool> {
    let wanted = form(schema, attribute.equality, value);
    let outside = draft.large.iter().find(|large| large.stored.id == attribute.id);
    if let (Some(outside), Some((tables, id))) = (outside, stored) {
        return outside.has(&tables, &large::key(id, attribute.id, &wanted));
    }
    Ok(draft.plain_values(attribute.id).any(|found| form(schema, attribute.equality, found) == wanted))
}

/// Adds what of an RDN is not in the entry (RFC 4511 section 4.7), unless it is one that stands only for its name.
/// Operational attributes name nothing: nobody would set by a name what only the directory sets. Nor do those of which
/// nothing says what values are equal (RFC 4512 section 2.5.1).
pub(crate) fn complete<'e>(schema: &'e Schema, draft: &mut Draft<'e>, stored: Stored<'_>, rdn: &str) -> Result<()> {
    for (attribute, value) in pairs(schema, rdn)? {
        if attribute.is_operational() {
            let text = format!("{}: it is operational, and the name {rdn:?} has it", attribute.name);
            return Err(Failure::new(ResultCode::NAMING_VIOLATION, text));
        }
        if attribute.equality.is_none() {
            let text =
                format!("{}: it has no equality rule, and the name {rdn:?} has it (RFC 4512 2.5.1)", attribute.name);
            return Err(Failure::new(ResultCode::NAMING_VIOLATION, text));
        }
        if !has(schema, draft, stored, attribute, &value)? && !draft.is_glue(schema) {
            let count = draft.plain_values(attribute.id).count() + 1;
            if attribute.single_value && count > 1 {
                let text =
                    format!("{}: SINGLE-VALUE, and its value is not the one in the name {rdn:?}", attribute.name);
                return Err(Failure::new(ResultCode::NAMING_VIOLATION, text));
            }
            if let (Some(outside), Some((tables, id))) = (draft.outside(attribute.id), stored) {
                outside.add(&tables, id, &value, &form(schema, attribute.equality, &value))?;
            } else {
                draft.push(attribute, value);
            }
        }
    }
    Ok(())
}

/// Whether an RDN is one pair, without anything that stands for something else, and the entry has its value byte by byte: as
/// most have.
fn has_plainly(schema: &Schema, draft: &Draft<'_>, rdn: &str) -> bool {
    let Some((kind, value)) = rdn.split_once('=') else { return false };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'@');
    if !value.bytes().all(is_plain) {
        return false;
    }
    let Some(attribute) = schema.find(kind) else { return false };
    draft.plain_values(attribute.id).any(|found| found == value.as_bytes())
        && check::value(attribute, &attribute.name, 1, value.as_bytes()).is_ok()
}

/// That an entry has the values of its RDN, unless it is one that stands only for its name.
pub(crate) fn holds(schema: &Schema, draft: &Draft<'_>, stored: Stored<'_>, rdn: &str) -> Result<()> {
    if has_plainly(schema, draft, rdn) {
        return Ok(());
    }
    for (attribute, value) in pairs(schema, rdn)? {
        if !has(schema, draft, stored, attribute, &value)? && !draft.is_glue(schema) {
            let text =
                format!("{}: the name {rdn:?} has this value, so it stays: rename the entry instead", attribute.name);
            return Err(Failure::new(ResultCode::NOT_ALLOWED_ON_RDN, text));
        }
    }
    Ok(())
}
