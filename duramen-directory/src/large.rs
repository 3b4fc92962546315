//! Attributes with many values: table `value`, a key for each.
//!
//! Owns: when an attribute moves there, its keys. Must not know: which entries have such attributes.

use duramen::{KeyRange, Table};
use duramen_ldap::matching::Rule;
use sha2::{Digest, Sha256};

use crate::failure::Result;
use crate::schema::{Attribute, AttributeId};
use crate::tables::Id;

/// An attribute with more values than this moves there, and stays there until it has none.
pub(crate) const MANY: usize = 256;

/// Whether an attribute's values may move there: they have to be told apart by a rule, and have no index of substrings,
/// whose keys many values would share. So it is those of groups, in whatever schema.
pub(crate) fn may_be(attribute: &Attribute) -> bool {
    let has_substrings = attribute.substrings.is_some() && attribute.key != "memberuid";
    attribute.equality.is_some() && !attribute.is_operational() && !has_substrings
}

/// Whether what is equal by a rule has the same key: keys are made by the attribute's own.
pub(crate) fn is_found_by(attribute: &Attribute, rule: &Rule) -> bool {
    attribute.equality.is_some_and(|own| own.normalizes_as(rule))
}

/// The key of a value, by its normalized form. The order is no order of values: a hash is short.
pub(crate) fn key(id: Id, attribute: AttributeId, normalized: &[u8]) -> Vec<u8> {
    let mut key = prefix(id, attribute).to_vec();
    key.extend_from_slice(&Sha256::digest(normalized)[..20]);
    key
}

/// What the keys of an attribute's values begin with.
pub(crate) fn prefix(id: Id, attribute: AttributeId) -> [u8; 6] {
    let ([a, b, c, d], [e, f]) = (id.to_be_bytes(), attribute.number().to_be_bytes());
    [a, b, c, d, e, f]
}

/// The keys and values of an attribute.
pub(crate) fn pairs<'t>(
    table: &Table<'t>,
    id: Id,
    attribute: AttributeId,
) -> Result<impl Iterator<Item = duramen::Result<(&'t [u8], &'t [u8])>> + use<'t>> {
    Ok(table.prefix(prefix(id, attribute))?)
}

/// An attribute's values.
pub(crate) fn values<'t>(
    table: &Table<'t>,
    id: Id,
    attribute: AttributeId,
) -> Result<impl Iterator<Item = duramen::Result<&'t [u8]>> + use<'t>> {
    Ok(pairs(table, id, attribute)?.map(|item| item.map(|(_, value)| value)))
}

/// All values of an entry.
pub(crate) fn of_entry(id: Id) -> impl KeyRange {
    let end = id.checked_add(1).unwrap_or(Id::MAX);
    id.to_be_bytes()..end.to_be_bytes()
}
