//! Server-side sorting (RFC 2891), by any attribute.

use std::cmp::Ordering;

use duramen_ldap::attribute::AttributeDescription;
use duramen_ldap::control::{SortKey, SortKeys};
use duramen_ldap::matching::Rule;
use duramen_ldap::message::ResultCode;

use crate::access::{Level, What};
use crate::schema::{AttributeId, Schema};
use crate::tables::Id;
use crate::view::View;

/// So many keys are sorted by at most: each entry's values for all of them are kept until all is found.
const KEYS_MAX: usize = 16;

/// What entries are sorted by.
#[derive(Debug)]
pub(crate) struct Order {
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    types: Vec<AttributeId>,
    rule: Option<&'static Rule>,
    reverse: bool,
}

/// What an entry is sorted by: a value for each key, the least it has. `None` sorts behind all values.
pub(crate) type SortValue = Vec<Option<Vec<u8>>>;

impl Order {
    /// From the control; or the code of the response control, and the attribute.
    pub fn new(schema: &Schema, keys: SortKeys<'_>) -> Result<Order, (ResultCode, String)> {
        if let Some(key) = keys.0.iter().nth(KEYS_MAX) {
            return Err((ResultCode::UNWILLING_TO_PERFORM, key.description.to_string()));
        }
        let keys = keys.0.iter().map(|key| Key::new(schema, &key).map_err(|code| (code, key.description.to_string())));
        Ok(Order { keys: keys.collect::<Result<_, _>>()? })
    }

    /// What an entry is sorted by. Values that may not be searched for are as if they were missing: the order would tell
    /// of them.
    pub fn value(&self, view: &View<'_, '_>) -> SortValue {
        self.keys.iter().map(|key| key.value(view)).collect()
    }

    fn compare(&self, a: &SortValue, b: &SortValue) -> Ordering {
        for (key, (a, b)) in self.keys.iter().zip(a.iter().zip(b)) {
            let order = match (a, b) {
                (Some(a), Some(b)) => a.cmp(b),
                (a, b) => b.is_some().cmp(&a.is_some()),
            };
            if order != Ordering::Equal {
                return if key.reverse { order.reverse() } else { order };
            }
        }
        Ordering::Equal
    }

    /// Ids in order; those that are equal in the order of their ids.
    pub fn sort(&self, mut found: Vec<(SortValue, Id)>) -> Vec<Id> {
        found.sort_by(|a, b| self.compare(&a.0, &b.0).then(a.1.cmp(&b.1)));
        found.into_iter().map(|(_, id)| id).collect()
    }
}

impl Key {
    fn new(schema: &Schema, key: &SortKey<'_>) -> Result<Key, ResultCode> {
        let description = AttributeDescription::parse(key.description).map_err(|_| ResultCode::NO_SUCH_ATTRIBUTE)?;
        let attribute = schema.find(description.kind).ok_or(ResultCode::NO_SUCH_ATTRIBUTE)?;
        let rule = match key.rule {
            Some(rule) => Some(Rule::find(rule).ok_or(ResultCode::INAPPROPRIATE_MATCHING)?),
            None => attribute.ordering.or(attribute.equality),
        };
        Ok(Key { types: attribute.family.clone(), rule, reverse: key.reverse })
    }

    fn value(&self, view: &View<'_, '_>) -> Option<Vec<u8>> {
        let may = |id, value| view.allows(What::Attribute(id, Some(value)), Level::Search);
        let of_type = |&id| {
            let values = view.entry.of_type(id).flat_map(|attribute| attribute.values());
            values.filter(move |value| may(id, value))
        };
        let values = self.types.iter().flat_map(of_type);
        values.filter_map(|value| self.normalize(&view.scene.state.schema, value)).min()
    }

    fn normalize(&self, schema: &Schema, value: &[u8]) -> Option<Vec<u8>> {
        let Some(rule) = self.rule else { return Some(value.to_ascii_lowercase()) };
        let mut normalized = Vec::new();
        rule.normalize(value, schema, &mut normalized).ok()?;
        Some(normalized)
    }
}
