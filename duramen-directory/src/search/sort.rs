//! Server-side sorting (RFC 2891), by any attribute.

use std::cmp::Ordering;

use duramen_ldap::attribute::AttributeDescription;
use duramen_ldap::control::{SortKey, SortKeys};
use duramen_ldap::matching::Rule;
use duramen_ldap::message::ResultCode;

use crate::access::{Level, What};
use crate::failure::Result;
use crate::filter::fits;
use crate::schema::{AttributeId, Schema};
use crate::tables::Id;
use crate::view::View;

/// So many keys are sorted by at most: each entry's values for all of them are kept until all is found.
const KEYS_MAX: usize = 16;

/// So many values in table `value` are looked at for one entry, which cannot pause. One that has more is sorted as if it had
/// none.
const LARGE_VALUES_MAX: u32 = 100_000;

/// What entries are sorted by.
#[derive(Debug)]
pub(crate) struct Order {
    keys: Vec<Key>,
}

#[derive(Clone, Debug)]
struct Key {
    types: Vec<AttributeId>,
    /// What a value stands under, in lower case.
    options: Vec<String>,
    rule: Option<&'static Rule>,
    reverse: bool,
}

/// What an entry is sorted by: a value for each key, the least it has. `None` sorts behind all values.
pub(crate) type SortValue = Vec<Option<Vec<u8>>>;

impl Order {
    /// From the control; or the code of the response control, and the attribute.
    pub fn new(schema: &Schema, keys: SortKeys<'_>) -> std::result::Result<Order, (ResultCode, String)> {
        if let Some(key) = keys.0.iter().nth(KEYS_MAX) {
            return Err((ResultCode::UNWILLING_TO_PERFORM, key.description.to_string()));
        }
        let keys = keys.0.iter().map(|key| Key::new(schema, &key).map_err(|code| (code, key.description.to_string())));
        Ok(Order { keys: keys.collect::<std::result::Result<_, _>>()? })
    }

    /// What an entry is sorted by. Values that may not be searched for are as if they were missing: the order would tell
    /// of them.
    pub fn value(&self, view: &View<'_, '_>) -> Result<SortValue> {
        let mut left = LARGE_VALUES_MAX;
        self.keys.iter().map(|key| key.value(view, &mut left)).collect()
    }

    fn compare(&self, a: &SortValue, b: &SortValue) -> Ordering {
        for (key, (a, b)) in self.keys.iter().zip(a.iter().zip(b)) {
            let order = key.compare(a.as_deref(), b.as_deref());
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// What entries can be held against by the first key; `None` if that has no such value.
    pub fn bound(&self, schema: &Schema, value: &[u8]) -> Option<Bound> {
        let (key, mut form) = (self.keys.first()?.clone(), Vec::new());
        let is_one = match key.rule {
            Some(rule) => rule.normalize_assertion(value, schema, &mut form).is_ok(),
            None => key.normalize(schema, value, &mut form),
        };
        is_one.then_some(Bound { key, form })
    }

    /// Ids in order; those that are equal in the order of their ids.
    pub fn sort(&self, mut found: Vec<(SortValue, Id)>) -> Vec<Id> {
        found.sort_by(|a, b| self.compare(&a.0, &b.0).then(a.1.cmp(&b.1)));
        found.into_iter().map(|(_, id)| id).collect()
    }
}

/// A value of an order's first key.
#[derive(Debug)]
pub(crate) struct Bound {
    key: Key,
    form: Vec<u8>,
}

impl Bound {
    /// Whether an entry comes before it.
    pub fn is_behind(&self, view: &View<'_, '_>) -> Result<bool> {
        let value = self.key.value(view, &mut { LARGE_VALUES_MAX })?;
        Ok(self.key.compare(value.as_deref(), Some(&self.form)) == Ordering::Less)
    }
}

impl Key {
    fn new(schema: &Schema, key: &SortKey<'_>) -> std::result::Result<Key, ResultCode> {
        let description = AttributeDescription::parse(key.description).map_err(|_| ResultCode::NO_SUCH_ATTRIBUTE)?;
        let attribute = schema.find(description.kind).ok_or(ResultCode::NO_SUCH_ATTRIBUTE)?;
        let rule = match key.rule {
            Some(rule) => Some(Rule::find(rule).ok_or(ResultCode::INAPPROPRIATE_MATCHING)?),
            None => attribute.ordering.or(attribute.equality),
        };
        let options = description.options().map(str::to_ascii_lowercase).collect();
        Ok(Key { types: attribute.family.clone(), options, rule, reverse: key.reverse })
    }

    fn compare(&self, a: Option<&[u8]>, b: Option<&[u8]>) -> Ordering {
        let order = match (a, b) {
            (Some(a), Some(b)) => a.cmp(b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        if self.reverse { order.reverse() } else { order }
    }

    /// The least value; none if there are more outside of the entry than may be looked at.
    fn value(&self, view: &View<'_, '_>, left: &mut u32) -> Result<Option<Vec<u8>>> {
        let (mut least, mut form): (Option<Vec<u8>>, _) = (None, Vec::new());
        let mut consider = |id, value: &[u8]| {
            form.clear();
            let may = view.allows(What::Attribute(id, Some(value)), Level::Search);
            if may && self.normalize(&view.scene.state.schema, value, &mut form) {
                match &mut least {
                    Some(least) if form >= *least => {}
                    Some(least) => std::mem::swap(least, &mut form),
                    None => least = Some(std::mem::take(&mut form)),
                }
            }
        };
        for &id in &self.types {
            let stored = view.entry.of_type(id).filter(|attribute| fits(attribute, &self.options));
            stored.flat_map(|attribute| attribute.values()).for_each(|value| consider(id, value));
        }
        // Those have no options.
        let is_sought = |id| self.options.is_empty() && self.types.contains(&id);
        for large in view.entry.large().filter(|large| is_sought(large.id)) {
            let Some(rest) = left.checked_sub(large.count) else { return Ok(None) };
            *left = rest;
            view.large(large.id, &mut |value| consider(large.id, value))?;
        }
        Ok(least)
    }

    /// Whether a value can be sorted by; its form.
    fn normalize(&self, schema: &Schema, value: &[u8], form: &mut Vec<u8>) -> bool {
        match self.rule {
            Some(rule) => rule.normalize(value, schema, form).is_ok(),
            None => {
                form.extend(value.iter().map(u8::to_ascii_lowercase));
                true
            }
        }
    }
}
