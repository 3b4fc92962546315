//! Which keys an entry has in table `index`.

use duramen_ldap::matching::Rule;

use super::key::{Kind, Trigram, key, kind_prefix};
use super::key_set::{KeySet, Sought};
use super::{Indices, bits};
use crate::entry::{Entry, StoredAttribute};
use crate::names;
use crate::schema::{AttributeId, Schema};

/// Finds the keys of entries.
pub(crate) struct Extractor<'s> {
    schema: &'s Schema,
    indices: &'s Indices,
    /// A byte 1, and a normalized value.
    marked: Vec<u8>,
    key: Vec<u8>,
}

impl<'s> Extractor<'s> {
    pub fn new(schema: &'s Schema, indices: &'s Indices) -> Extractor<'s> {
        Extractor { schema, indices, marked: Vec::new(), key: Vec::new() }
    }

    /// Calls `each` with the keys of an entry's attributes that `wanted` chooses; some may come twice. Values that are
    /// in table `value` have to be added by [`Extractor::value`].
    pub fn entry(&mut self, entry: &Entry<'_>, wanted: impl Fn(AttributeId) -> bool, each: &mut dyn FnMut(&[u8])) {
        for attribute in entry.attributes() {
            if self.indices.get(attribute.id) != 0 && wanted(attribute.id) {
                self.presence(attribute.id, each);
                if is_several(&attribute) {
                    self.several(attribute.id, each);
                }
                attribute.values().iter().for_each(|value| self.value(attribute.id, value, each));
            }
        }
        for large in entry.large().filter(|large| wanted(large.id)) {
            self.presence(large.id, each);
            self.several(large.id, each);
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
            self.change_values(id, &Values::between(*before, *after, id), old, new);
            self.change_several(id, before, after, old, new);
        }
    }

    fn change_values(&mut self, id: AttributeId, values: &Values<'_>, old: &mut KeySet, new: &mut KeySet) {
        let (mut gone, mut come) = (KeySet::default(), KeySet::default());
        values.gone.iter().for_each(|value| self.value(id, value, &mut |key| gone.insert(key)));
        values.come.iter().for_each(|value| self.value(id, value, &mut |key| come.insert(key)));
        // A value that goes may share keys with those that stay; one that comes needs only its own. But trigrams are noted
        // as coming only if no value had them before.
        if !values.gone.is_empty() || self.indices.get(id) & bits::SUBSTRING != 0 {
            KeySet::take_away([&mut gone, &mut come], |sought, each| {
                for value in values.stay().take_while(|_| !sought.is_over()) {
                    self.value_among(id, value, Some(sought), each);
                }
            });
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

    /// That there are several values is told of both, where it is true of both.
    fn change_several(
        &mut self,
        id: AttributeId,
        before: &Entry<'_>,
        after: &Entry<'_>,
        old: &mut KeySet,
        new: &mut KeySet,
    ) {
        for (entry, keys) in [(before, old), (after, new)] {
            if entry.of_type(id).any(|attribute| is_several(&attribute)) {
                self.several(id, &mut |key| keys.insert(key));
            }
        }
    }

    fn several(&mut self, id: AttributeId, each: &mut dyn FnMut(&[u8])) {
        let is_single = self.schema.get(id).is_some_and(|attribute| attribute.single_value);
        if is_single && self.indices.get(id) & bits::EQUALITY != 0 {
            self.emit(id, Kind::Several, b"", each);
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
        self.value_among(id, value, None, each);
    }

    /// As [`Extractor::value`]; trigrams that are not looked for, where some are, may be left out.
    fn value_among(&mut self, id: AttributeId, value: &[u8], sought: Option<&Sought>, each: &mut dyn FnMut(&[u8])) {
        let kinds = self.indices.get(id);
        let Some(attribute) = self.schema.get(id) else { return };
        let mut normalized_by = None;
        if kinds & bits::EQUALITY != 0 {
            if id == self.schema.known().object_class {
                self.class(id, value, each);
            } else if self.normalize(attribute.equality, value) {
                normalized_by = attribute.equality;
                let marked = std::mem::take(&mut self.marked);
                self.emit(id, Kind::Equality, &marked[1..], each);
                self.marked = marked;
            }
        }
        let is_alike = |by: &Rule| attribute.substrings.is_some_and(|rule| rule.normalizes_as(by));
        if kinds & bits::SUBSTRING != 0
            && (normalized_by.is_some_and(is_alike) || self.normalize(attribute.substrings, value))
        {
            self.marked.push(2);
            let [a, b, kind] = kind_prefix(id, Kind::Trigram);
            let emit = |[c, d, e]: Trigram| each(&[a, b, kind, c, d, e]);
            let all = self.marked.windows(3).map(|three| [three[0], three[1], three[2]]);
            match sought {
                None => all.for_each(emit),
                Some(sought) => all.filter(|three| sought.may_be_trigram(*three)).for_each(emit),
            }
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
        self.marked.clear();
        self.marked.push(1);
        rule.is_some_and(|rule| names::normalize_value(self.schema, rule, value, &mut self.marked).is_ok())
    }
}

/// Whether an entry may have more values of the type than one: others stand under other options; or it was allowed several once.
fn is_several(attribute: &StoredAttribute<'_>) -> bool {
    attribute.has_options || attribute.values().iter().nth(1).is_some()
}

/// The values of a type before and after a change, whatever their options. Most changes are at one place of many values.
struct Values<'v> {
    id: AttributeId,
    before: Entry<'v>,
    gone: Vec<&'v [u8]>,
    come: Vec<&'v [u8]>,
    /// How many are in both at the beginning.
    front: usize,
    /// Those in both at the end.
    back: Vec<&'v [u8]>,
}

impl<'v> Values<'v> {
    fn between(before: Entry<'v>, after: Entry<'v>, id: AttributeId) -> Values<'v> {
        let (mut front, mut old, mut new) = (0, values_of(&before, id), values_of(&after, id));
        let (first_gone, first_come) = loop {
            match (old.next(), new.next()) {
                (Some(a), Some(b)) if a == b => front += 1,
                differ => break differ,
            }
        };
        let mut gone: Vec<_> = first_gone.into_iter().chain(old).collect();
        let mut come: Vec<_> = first_come.into_iter().chain(new).collect();
        let back = gone.iter().rev().zip(come.iter().rev()).take_while(|(a, b)| a == b).count();
        come.truncate(come.len() - back);
        let back = gone.split_off(gone.len() - back);
        Values { id, before, gone, come, front, back }
    }

    /// Those in both.
    fn stay(&self) -> impl Iterator<Item = &'v [u8]> {
        values_of(&self.before, self.id).take(self.front).chain(self.back.iter().copied())
    }

    fn is_staying(&self) -> bool {
        self.front > 0 || !self.back.is_empty()
    }

    fn is_before(&self) -> bool {
        self.is_staying() || !self.gone.is_empty()
    }

    fn is_after(&self) -> bool {
        self.is_staying() || !self.come.is_empty()
    }
}

fn values_of<'v, 'e>(entry: &'e Entry<'v>, id: AttributeId) -> impl Iterator<Item = &'v [u8]> + use<'v, 'e> {
    entry.of_type(id).flat_map(|attribute| attribute.values())
}
