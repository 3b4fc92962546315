//! Which keys an entry has in table `index`.

use duramen_ldap::matching::Rule;

use super::key::{Kind, key, kind_prefix};
use super::key_set::KeySet;
use super::{Indices, bits};
use crate::entry::Entry;
use crate::names;
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
        old: &mut KeySet,
        new: &mut KeySet,
    ) {
        let present = before.attributes().chain(after.attributes()).map(|attribute| attribute.id);
        let mut changed: Vec<_> = present.filter(|id| self.indices.get(*id) != 0 && wanted(*id)).collect();
        changed.sort_unstable();
        changed.dedup();
        // What is outside comes and goes by itself, and may share keys with what is here under options.
        let is_outside = |id| before.large().chain(after.large()).any(|large| large.id == id);
        self.entry(before, |id| wanted(id) && is_outside(id), &mut |key| old.insert(key));
        self.entry(after, |id| wanted(id) && is_outside(id), &mut |key| new.insert(key));
        for id in changed.into_iter().filter(|id| !is_outside(*id)) {
            self.change_values(id, &Values::between(before, after, id), old, new);
        }
    }

    fn change_values(&mut self, id: AttributeId, values: &Values<'_>, old: &mut KeySet, new: &mut KeySet) {
        let (mut gone, mut come) = (KeySet::default(), KeySet::default());
        values.gone.iter().for_each(|value| self.value(id, value, &mut |key| gone.insert(key)));
        values.come.iter().for_each(|value| self.value(id, value, &mut |key| come.insert(key)));
        // A value that goes may share keys with those that stay; one that comes needs only its own. But trigrams are noted
        // as coming only if no value had them before.
        if !values.gone.is_empty() || self.indices.get(id) & bits::SUBSTRING != 0 {
            let stay = |each: &mut dyn FnMut(&[u8])| values.stay.iter().for_each(|value| self.value(id, value, each));
            KeySet::take_away([&mut gone, &mut come], stay);
        }
        old.append(&gone);
        new.append(&come);
        if !values.is_before() {
            self.presence(id, &mut |key| new.insert(key));
        }
        if !values.is_after() {
            self.presence(id, &mut |key| old.insert(key));
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
            let [a, b, kind] = kind_prefix(id, Kind::Trigram);
            marked.windows(3).for_each(|three| each(&[a, b, kind, three[0], three[1], three[2]]));
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
        let found = self.schema.find_class(value);
        for &above in found.map(|class| class.lineage.as_slice()).unwrap_or_default() {
            let schema = self.schema;
            self.emit(id, Kind::Equality, schema.class(above).oid.as_bytes(), each);
        }
    }

    fn normalize(&mut self, rule: Option<&Rule>, value: &[u8]) -> bool {
        self.scratch.clear();
        rule.is_some_and(|rule| names::normalize_value(self.schema, rule, value, &mut self.scratch).is_ok())
    }
}

/// The values of a type before and after a change, whatever their options.
struct Values<'v> {
    gone: Vec<&'v [u8]>,
    come: Vec<&'v [u8]>,
    /// Those in both, at the beginning and at the end: most changes are at one place.
    stay: Vec<&'v [u8]>,
}

impl<'v> Values<'v> {
    fn between(before: &Entry<'v>, after: &Entry<'v>, id: AttributeId) -> Values<'v> {
        let of = |entry: &Entry<'v>| entry.of_type(id).flat_map(|attribute| attribute.values()).collect::<Vec<_>>();
        let (mut gone, mut come) = (of(before), of(after));
        let same = |(a, b): &(&&[u8], &&[u8])| a == b;
        let front = gone.iter().zip(&come).take_while(same).count();
        let back = gone[front..].iter().rev().zip(come[front..].iter().rev()).take_while(same).count();
        come.truncate(come.len() - back);
        come.drain(..front);
        let mut stay = gone.split_off(gone.len() - back);
        stay.extend(gone.drain(..front));
        Values { gone, come, stay }
    }

    fn is_before(&self) -> bool {
        !self.stay.is_empty() || !self.gone.is_empty()
    }

    fn is_after(&self) -> bool {
        !self.stay.is_empty() || !self.come.is_empty()
    }
}
