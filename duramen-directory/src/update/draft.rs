//! An entry while it is being put together or changed.

use std::collections::BTreeMap;

use duramen_ldap::attribute::AttributeDescription;
use duramen_ldap::matching::Rule;
use duramen_ldap::message::ResultCode;

use crate::entry::{Builder, Entry, LargeAttribute, mark};
use crate::failure::{Failure, Result};
use crate::large::{self, MANY};
use crate::schema::{Attribute, AttributeId, Schema};
use crate::tables::{Id, Tables};

/// Attributes of an entry, descriptions with other options counted apart.
const ATTRIBUTES_MAX: usize = 10_000;
/// Bytes of an RDN as it is written.
const RDN_MAX: usize = 10_000;

/// An attribute in a draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftAttribute {
    pub id: AttributeId,
    /// The type's name and the options, as they were written.
    pub description: String,
    /// Options in lower case, sorted.
    pub options: Vec<String>,
    pub values: Vec<Vec<u8>>,
}

/// An attribute whose values are in table `value`, and what changes of them.
#[derive(Clone, Debug)]
pub(crate) struct LargeDraft {
    pub stored: LargeAttribute,
    /// By key.
    pub changes: BTreeMap<Vec<u8>, LargeChange>,
}

/// A value, or none if it goes; and its normalized form.
pub(crate) type LargeChange = (Option<Vec<u8>>, Vec<u8>);

/// An entry while it is being put together or changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub attributes: Vec<DraftAttribute>,
    pub large: Vec<LargeDraft>,
}

/// A description bound to the schema.
pub(crate) struct Described<'s> {
    pub attribute: &'s Attribute,
    pub description: String,
    pub options: Vec<String>,
}

/// What a description in a request stands for.
///
/// # Errors
/// undefinedAttributeType.
pub(crate) fn describe<'s>(schema: &'s Schema, text: &str) -> Result<Described<'s>> {
    let undefined = |what: &str| Failure::new(ResultCode::UNDEFINED_ATTRIBUTE_TYPE, format!("{text}: {what}"));
    let parsed = AttributeDescription::parse(text).map_err(|error| undefined(&error.to_string()))?;
    let attribute = schema.find(parsed.kind).ok_or_else(|| undefined("the schema has no such attribute type"))?;
    let mut options: Vec<String> = parsed.options().map(str::to_ascii_lowercase).collect();
    options.sort_unstable();
    options.dedup();
    let mut description = attribute.name.clone();
    for option in parsed.options() {
        description.push(';');
        description.push_str(option);
    }
    Ok(Described { attribute, description, options })
}

/// The form in which values of an attribute are compared: normalized by its equality rule, or the value itself.
pub(crate) fn form(schema: &Schema, rule: Option<&Rule>, value: &[u8]) -> Vec<u8> {
    let mut normalized = Vec::with_capacity(value.len());
    match rule.map(|rule| rule.normalize(value, schema, &mut normalized)) {
        Some(Ok(())) => normalized,
        _ => value.to_vec(),
    }
}

impl Draft {
    /// Of an entry that is stored.
    pub fn of(entry: &Entry<'_>) -> Draft {
        let attributes = entry.attributes().map(|stored| {
            let decoded = stored.decode();
            let mut options: Vec<String> = if stored.has_options {
                decoded.description.split(';').skip(1).map(str::to_ascii_lowercase).collect()
            } else {
                Vec::new()
            };
            options.sort_unstable();
            DraftAttribute {
                id: stored.id,
                description: decoded.description.to_string(),
                options,
                values: decoded.values.iter().map(<[u8]>::to_vec).collect(),
            }
        });
        let large = entry.large().map(|stored| LargeDraft { stored, changes: BTreeMap::new() });
        Draft { attributes: attributes.collect(), large: large.collect() }
    }

    /// The attribute of a type with exactly these options.
    pub fn find(&mut self, id: AttributeId, options: &[String]) -> Option<&mut DraftAttribute> {
        self.attributes.iter_mut().find(|attribute| attribute.id == id && attribute.options == options)
    }

    /// The place of the attribute of a type with exactly these options, which is made if there is none.
    pub fn place(&mut self, described: &Described<'_>) -> usize {
        let is_it = |found: &DraftAttribute| found.id == described.attribute.id && found.options == described.options;
        self.attributes.iter().position(is_it).unwrap_or_else(|| {
            self.attributes.push(DraftAttribute {
                id: described.attribute.id,
                description: described.description.clone(),
                options: described.options.clone(),
                values: Vec::new(),
            });
            self.attributes.len() - 1
        })
    }

    /// Values of a type, whatever its options; those in table `value` are not among them.
    pub fn values(&self, id: AttributeId) -> impl Iterator<Item = &[u8]> {
        let attributes = self.attributes.iter().filter(move |attribute| attribute.id == id);
        attributes.flat_map(|attribute| attribute.values.iter().map(Vec::as_slice))
    }

    /// Whether there is a value of a type.
    pub fn has(&self, id: AttributeId) -> bool {
        self.values(id).next().is_some() || self.kept_large().any(|large| large.stored.id == id)
    }

    /// Attributes with values outside that have not lost them all.
    pub fn kept_large(&self) -> impl Iterator<Item = &LargeDraft> {
        self.large.iter().filter(|large| large.stored.count > 0)
    }

    /// Puts values in place of all that an attribute has.
    pub fn set(&mut self, attribute: &Attribute, values: Vec<Vec<u8>>) {
        self.attributes.retain(|found| found.id != attribute.id || !found.options.is_empty());
        if !values.is_empty() {
            let (id, description) = (attribute.id, attribute.name.clone());
            self.attributes.push(DraftAttribute { id, description, options: Vec::new(), values });
        }
    }

    /// Adds a value behind the others of an attribute without options.
    pub fn push(&mut self, attribute: &Attribute, value: Vec<u8>) {
        match self.find(attribute.id, &[]) {
            Some(found) => found.values.push(value),
            None => self.set(attribute, vec![value]),
        }
    }

    /// Moves attributes with very many values out of the entry.
    pub fn move_out(&mut self, schema: &Schema, id: Id) {
        for attribute in std::mem::take(&mut self.attributes) {
            let kind = schema.attribute(attribute.id);
            if attribute.values.len() <= MANY || !attribute.options.is_empty() || !large::may_be(kind) {
                self.attributes.push(attribute);
                continue;
            }
            let stored = LargeAttribute { id: attribute.id, count: 0, bytes: 0, description: attribute.description };
            let mut moved = LargeDraft { stored, changes: BTreeMap::new() };
            for value in attribute.values {
                let normalized = form(schema, kind.equality, &value);
                moved.put(large::key(id, attribute.id, &normalized), value, normalized);
            }
            self.large.push(moved);
        }
    }

    /// Marks that its classes give an entry.
    pub fn marks(&self, schema: &Schema) -> u8 {
        let mut marks = 0;
        for value in self.values(schema.known().object_class) {
            let Some(class) = std::str::from_utf8(value).ok().and_then(|name| schema.find_class(name)) else {
                continue;
            };
            for above in &class.lineage {
                marks |= match schema.class(*above).name.as_str() {
                    "alias" => mark::ALIAS,
                    "referral" => mark::REFERRAL,
                    "subentry" => mark::SUBENTRY,
                    _ => 0,
                };
            }
        }
        marks
    }

    /// The entry's bytes.
    ///
    /// # Errors
    /// adminLimitExceeded, of what has more attributes or longer names than an entry's head has room for.
    pub fn build(&self, schema: &Schema, parent: Id, rdn: &str) -> Result<Vec<u8>> {
        let long = self.large.iter().any(|large| large.stored.description.len() > 255);
        if self.attributes.len() > ATTRIBUTES_MAX || self.large.len() > 255 || rdn.len() > RDN_MAX || long {
            let text = format!("an entry has {ATTRIBUTES_MAX} attributes and {RDN_MAX} bytes of RDN at most");
            return Err(Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
        }
        let mut builder = Builder::default();
        for operational in [false, true] {
            for attribute in &self.attributes {
                if schema.attribute(attribute.id).is_operational() == operational {
                    builder.attribute(attribute.id, operational, &attribute.description, &attribute.values);
                }
            }
        }
        self.kept_large().for_each(|large| builder.large(large.stored.clone()));
        Ok(builder.finish(parent, rdn, self.marks(schema)))
    }
}

impl LargeDraft {
    /// Whether the value of a key is there.
    pub fn has(&self, tables: &Tables<'_>, key: &[u8]) -> Result<bool> {
        match self.changes.get(key) {
            Some((value, _)) => Ok(value.is_some()),
            None => Ok(tables.value()?.contains_key(key)?),
        }
    }

    /// Adds a value that is not there.
    pub fn put(&mut self, key: Vec<u8>, value: Vec<u8>, normalized: Vec<u8>) {
        self.stored.count += 1;
        self.stored.bytes = self.stored.bytes.saturating_add(encoded_len(&value));
        self.changes.insert(key, (Some(value), normalized));
    }

    /// Takes a value away that is there.
    pub fn take(&mut self, key: Vec<u8>, value: &[u8], normalized: Vec<u8>) {
        self.stored.count = self.stored.count.saturating_sub(1);
        self.stored.bytes = self.stored.bytes.saturating_sub(encoded_len(value));
        self.changes.insert(key, (None, normalized));
    }
}

fn encoded_len(value: &[u8]) -> u32 {
    u32::try_from(duramen_ldap::ber::tlv_len(value.len())).unwrap_or(u32::MAX)
}
