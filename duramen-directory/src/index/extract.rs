//! Which keys an entry has in table `index`.

use duramen_ldap::ber::List;
use duramen_ldap::matching::Rule;

use super::key::{Kind, key};
use super::{Indices, bits};
use crate::entry::Entry;
use crate::schema::{AttributeId, Schema};

/// Finds the keys of entries.
pub(crate) struct Extractor<'s> {
    schema: &'s Schema,
    indices: &'s Indices,
    scratch: Vec<u8>,
    key: Vec<u8>,
}

impl<'s> Extractor<'s> {
    pub fn new(schema: &'s Schema, indices: &'s Indices) -> Extractor<'s> {
        Extractor { schema, indices, scratch: Vec::new(), key: Vec::new() }
    }

    /// Calls `each` with the keys of an entry's attributes that `wanted` chooses; some may come twice. Values that are
    /// in table `value` have to be added by [`Extractor::value`].
    pub fn entry(&mut self, entry: &Entry<'_>, wanted: impl Fn(AttributeId) -> bool, each: &mut dyn FnMut(&[u8])) {
        for attribute in entry.attributes() {
            if self.indices.get(attribute.id) != 0 && wanted(attribute.id) {
                self.presence(attribute.id, each);
                attribute.values().iter().for_each(|value| self.value(attribute.id, value, each));
            }
        }
        for large in entry.large().filter(|large| wanted(large.id)) {
            self.presence(large.id, each);
        }
    }

    /// Gives `old` the keys that an entry had before a change, and `new` those that it has after; those of values that are
    /// in both may be left out of both.
    pub fn change(
        &mut self,
        (before, after): (&Entry<'_>, &Entry<'_>),
        wanted: impl Fn(AttributeId) -> bool,
        old: &mut dyn FnMut(&[u8]),
        new: &mut dyn FnMut(&[u8]),
    ) {
        // A value that goes may share keys with those that stay; one that comes needs only its own. But trigrams are noted
        // as coming only if no value had them before.
        let indices = self.indices;
        let has_trigrams = |id| indices.get(id) & bits::SUBSTRING != 0;
        let grown = |id| if has_trigrams(id) { None } else { added(before, after, id) };
        self.entry(before, |id| wanted(id) && grown(id).is_none(), old);
        self.entry(after, |id| wanted(id) && grown(id).is_none(), new);
        for attribute in after.attributes().filter(|attribute| wanted(attribute.id)) {
            for value in grown(attribute.id).iter().flat_map(List::iter) {
                self.value(attribute.id, value, new);
            }
        }
    }

    fn presence(&mut self, id: AttributeId, each: &mut dyn FnMut(&[u8])) {
        if self.indices.get(id) & bits::PRESENCE != 0 {
            self.emit(id, Kind::Presence, b"", each);
        }
    }

    fn emit(&mut self, id: AttributeId, kind: Kind, value: &[u8], each: &mut dyn FnMut(&[u8])) {
        self.key.clear();
        key(&mut self.key, id, kind, value);
        each(&self.key);
    }

    /// Calls `each` with the keys of one value.
    pub fn value(&mut self, id: AttributeId, value: &[u8], each: &mut dyn FnMut(&[u8])) {
        let kinds = self.indices.get(id);
        let Some(attribute) = self.schema.get(id) else { return };
        let mut normalized_by = None;
        if kinds & bits::EQUALITY != 0 {
            if id == self.schema.known().object_class {
                self.class(id, value, each);
            } else if self.normalize(attribute.equality, value) {
                normalized_by = attribute.equality;
                let normalized = std::mem::take(&mut self.scratch);
                self.emit(id, Kind::Equality, &normalized, each);
                self.scratch = normalized;
            }
        }
        let is_alike = |by: &Rule| attribute.substrings.is_some_and(|rule| rule.normalizes_as(by));
        if kinds & bits::SUBSTRING != 0
            && (normalized_by.is_some_and(is_alike) || self.normalize(attribute.substrings, value))
        {
            let mut marked = std::mem::take(&mut self.scratch);
            marked.insert(0, 1);
            marked.push(2);
            marked.windows(3).for_each(|three| self.emit(id, Kind::Trigram, three, each));
            self.scratch = marked;
        }
    }

    /// Calls `each` with the key of a value by its normalized form: attributes with values outside have no other keys
    /// than those of equality.
    pub fn normalized(&mut self, id: AttributeId, normalized: &[u8], each: &mut dyn FnMut(&[u8])) {
        if self.indices.get(id) & bits::EQUALITY != 0 {
            self.emit(id, Kind::Equality, normalized, each);
        }
    }

    /// A class stands for all that it is a kind of.
    fn class(&mut self, id: AttributeId, value: &[u8], each: &mut dyn FnMut(&[u8])) {
        let found = std::str::from_utf8(value).ok().and_then(|name| self.schema.find_class(name));
        for &above in found.map(|class| class.lineage.as_slice()).unwrap_or_default() {
            let schema = self.schema;
            self.emit(id, Kind::Equality, schema.class(above).oid.as_bytes(), each);
        }
    }

    fn normalize(&mut self, rule: Option<&Rule>, value: &[u8]) -> bool {
        self.scratch.clear();
        rule.is_some_and(|rule| rule.normalize(value, self.schema, &mut self.scratch).is_ok())
    }
}

/// The values that an attribute has more than before, if it only grew, and is there once. What is outside may go meanwhile.
fn added<'a>(before: &Entry<'_>, after: &Entry<'a>, id: AttributeId) -> Option<List<'a, &'a [u8]>> {
    if before.has_large() && before.large().any(|large| large.id == id) {
        return None;
    }
    let (mut before, mut after) = (before.of_type(id), after.of_type(id));
    let (Some(old), None, Some(new), None) = (before.next(), before.next(), after.next(), after.next()) else {
        return None;
    };
    new.values().encoded().strip_prefix(old.values().encoded()).map(List::trusted)
}
