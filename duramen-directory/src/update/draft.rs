//! An entry while it is being put together or changed.

use std::borrow::Cow;
use std::collections::{BTreeMap, btree_map};

use duramen_ldap::matching::Rule;
use duramen_ldap::message::ResultCode;

use crate::attribute::{Described, form};
use crate::entry::{Builder, Entry, LargeAttribute, StoredAttribute, mark};
use crate::failure::{Failure, Result};
use crate::large::{self, MANY};
use crate::schema::{Attribute, AttributeId, Class, Schema};
use crate::tables::{Id, Tables};

/// Attributes of an entry, descriptions with other options counted apart.
const ATTRIBUTES_MAX: usize = 10_000;
/// Attributes of an entry whose values are in table `value`.
const LARGE_MAX: usize = 255;
/// Bytes of the name of one of these.
const LARGE_NAME_MAX: usize = 255;
/// Bytes of an RDN as it is written.
const RDN_MAX: usize = 10_000;

/// A value: as it lies in the map or in a request, or made here.
pub(crate) type Value<'e> = Cow<'e, [u8]>;

/// An attribute in a draft.
#[derive(Clone)]
pub(crate) struct DraftAttribute<'e> {
    pub id: AttributeId,
    /// Options in lower case, sorted.
    pub options: Vec<String>,
    content: Content<'e>,
}

#[derive(Clone)]
enum Content<'e> {
    /// As the entry has it: most attributes stay so, and are copied in one piece.
    Stored(StoredAttribute<'e>),
    /// The type's name and the options, as they were written; the values.
    New(Cow<'e, str>, Vec<Value<'e>>),
}

impl<'e> DraftAttribute<'e> {
    fn of(stored: StoredAttribute<'e>) -> DraftAttribute<'e> {
        let mut options: Vec<String> = if stored.has_options {
            stored.decode().description.split(';').skip(1).map(str::to_ascii_lowercase).collect()
        } else {
            Vec::new()
        };
        options.sort_unstable();
        options.dedup();
        DraftAttribute { id: stored.id, options, content: Content::Stored(stored) }
    }

    /// The type's name and the options, as they were written.
    pub fn description(&self) -> &str {
        match &self.content {
            Content::Stored(stored) => stored.decode().description,
            Content::New(description, _) => description,
        }
    }

    pub fn values(&self) -> impl Iterator<Item = &[u8]> {
        let (stored, new) = match &self.content {
            Content::Stored(stored) => (Some(stored.values()), &[][..]),
            Content::New(_, values) => (None, values.as_slice()),
        };
        stored.into_iter().flatten().chain(new.iter().map(|value| &**value))
    }

    /// How many values there are.
    pub fn count(&self) -> usize {
        match &self.content {
            Content::Stored(stored) => stored.values().count(),
            Content::New(_, values) => values.len(),
        }
    }

    /// The values, to be changed.
    pub fn values_mut(&mut self) -> &mut Vec<Value<'e>> {
        if let Content::Stored(stored) = &self.content {
            let decoded = stored.decode();
            let values = decoded.values.iter().map(Cow::Borrowed).collect();
            self.content = Content::New(decoded.description.into(), values);
        }
        match &mut self.content {
            Content::New(_, values) => values,
            Content::Stored(_) => unreachable!("it has just been replaced"),
        }
    }

    /// Whether its values belong into table `value`.
    fn is_for_outside(&self, schema: &Schema) -> bool {
        // A value takes two bytes at least, so most stored attributes need not be counted.
        let may_be_many = match &self.content {
            Content::Stored(stored) => stored.encoded.len() / 2 > MANY,
            Content::New(_, values) => values.len() > MANY,
        };
        may_be_many && self.options.is_empty() && self.count() > MANY && large::may_be(schema.attribute(self.id))
    }

    /// Whether it is of this type and has exactly these options.
    pub fn is(&self, described: &Described<'_>) -> bool {
        self.id == described.attribute.id && self.options == described.options
    }

    /// How long its encoding is, or a little less.
    fn bytes(&self) -> usize {
        match &self.content {
            Content::Stored(stored) => stored.encoded.len(),
            Content::New(description, values) => {
                8 + description.len() + values.iter().map(|value| value.len() + 4).sum::<usize>()
            }
        }
    }

    fn build(&self, is_operational: bool, builder: &mut Builder) {
        match &self.content {
            Content::Stored(stored) => builder.stored(stored, is_operational),
            Content::New(description, values) => {
                builder.attribute(self.id, (is_operational, !self.options.is_empty()), description, values);
            }
        }
    }
}

/// An attribute whose values are in table `value`, and what changes of them.
#[derive(Clone, Debug)]
pub(crate) struct LargeDraft {
    pub stored: LargeAttribute,
    /// By key.
    pub changes: BTreeMap<Vec<u8>, LargeChange>,
}

/// What becomes of the value of a key: never what is there already.
#[derive(Clone, Debug)]
pub(crate) struct LargeChange {
    /// The value in the table.
    stored: Option<Vec<u8>>,
    /// The value from now on.
    pub value: Option<Vec<u8>>,
    /// The normalized form of both, if it had to be found out.
    normalized: Option<Vec<u8>>,
}

/// An entry while it is being put together or changed.
#[derive(Clone, Default)]
pub(crate) struct Draft<'e> {
    pub attributes: Vec<DraftAttribute<'e>>,
    pub large: Vec<LargeDraft>,
}

impl<'e> Draft<'e> {
    /// Of an entry that is stored.
    pub fn of(entry: &Entry<'e>) -> Draft<'e> {
        let large = entry.large().map(|stored| LargeDraft { stored, changes: BTreeMap::new() });
        Draft { attributes: entry.attributes().map(DraftAttribute::of).collect(), large: large.collect() }
    }

    /// The attribute of a type with exactly these options.
    pub fn find(&mut self, id: AttributeId, options: &[String]) -> Option<&mut DraftAttribute<'e>> {
        self.attributes.iter_mut().find(|attribute| attribute.id == id && attribute.options == options)
    }

    /// The place of the attribute of a type with exactly these options, which is made if there is none.
    ///
    /// # Errors
    /// adminLimitExceeded, as soon as there are too many: each is looked for among all, while other updates wait.
    pub fn place(&mut self, described: &Described<'e>) -> Result<usize> {
        if let Some(place) = self.attributes.iter().position(|found| found.is(described)) {
            return Ok(place);
        }
        if self.attributes.len() > ATTRIBUTES_MAX {
            return Err(too_much());
        }
        self.attributes.push(DraftAttribute {
            id: described.attribute.id,
            options: described.options.clone(),
            content: Content::New(described.description.clone(), Vec::new()),
        });
        Ok(self.attributes.len() - 1)
    }

    /// The values of the attribute of a type with exactly these options, to be added to.
    ///
    /// # Errors
    /// Those of [`Draft::place`].
    pub fn values_mut(&mut self, described: &Described<'e>) -> Result<&mut Vec<Value<'e>>> {
        let place = self.place(described)?;
        Ok(self.attributes[place].values_mut())
    }

    /// Takes attributes away that have lost their last value.
    pub fn drop_empty(&mut self) {
        self.attributes.retain(|attribute| !matches!(&attribute.content, Content::New(_, values) if values.is_empty()));
    }

    /// Values of a type, whatever its options; those in table `value` are not among them.
    pub fn values(&self, id: AttributeId) -> impl Iterator<Item = &[u8]> {
        let attributes = self.attributes.iter().filter(move |attribute| attribute.id == id);
        attributes.flat_map(DraftAttribute::values)
    }

    /// Values of the attribute of a type without options; those in table `value` are not among them.
    pub fn plain_values(&self, id: AttributeId) -> impl Iterator<Item = &[u8]> {
        let plain = self.attributes.iter().filter(move |attribute| attribute.id == id && attribute.options.is_empty());
        plain.flat_map(DraftAttribute::values)
    }

    /// Whether there is a value of a type.
    pub fn has(&self, id: AttributeId) -> bool {
        self.values(id).next().is_some() || self.kept_large().any(|large| large.stored.id == id)
    }

    /// The attribute of a type without options, if its values are outside.
    pub fn outside(&mut self, id: AttributeId) -> Option<&mut LargeDraft> {
        self.large.iter_mut().find(|large| large.stored.id == id)
    }

    /// Attributes with values outside that have not lost them all.
    pub fn kept_large(&self) -> impl Iterator<Item = &LargeDraft> {
        self.large.iter().filter(|large| large.stored.count > 0)
    }

    /// Puts a value in place of all that an attribute without options has.
    pub fn set(&mut self, attribute: &'e Attribute, value: impl Into<Value<'e>>) {
        let content = Content::New(attribute.name.as_str().into(), vec![value.into()]);
        match self.find(attribute.id, &[]) {
            Some(found) => found.content = content,
            None => self.attributes.push(DraftAttribute { id: attribute.id, options: Vec::new(), content }),
        }
    }

    /// Puts values in place of all that an attribute without options has; none end it.
    pub fn put(&mut self, attribute: &'e Attribute, values: Vec<Value<'e>>) {
        self.attributes.retain(|found| found.id != attribute.id || !found.options.is_empty());
        if !values.is_empty() {
            let content = Content::New(attribute.name.as_str().into(), values);
            self.attributes.push(DraftAttribute { id: attribute.id, options: Vec::new(), content });
        }
    }

    /// Adds a value behind the others of an attribute without options.
    pub fn push(&mut self, attribute: &'e Attribute, value: impl Into<Value<'e>>) {
        match self.find(attribute.id, &[]) {
            Some(found) => found.values_mut().push(value.into()),
            None => self.set(attribute, value),
        }
    }

    /// Moves attributes with very many values out of the entry.
    pub fn move_out(&mut self, schema: &Schema, id: Id) {
        // Almost none has any.
        if !self.attributes.iter().any(|attribute| attribute.is_for_outside(schema)) {
            return;
        }
        for attribute in self.attributes.extract_if(.., |attribute| attribute.is_for_outside(schema)) {
            let description = attribute.description().to_string();
            let stored = LargeAttribute { id: attribute.id, count: 0, bytes: 0, description };
            let mut moved = LargeDraft { stored, changes: BTreeMap::new() };
            let rule = schema.attribute(attribute.id).equality;
            for value in attribute.values() {
                let normalized = form(schema, rule, value);
                moved.put(large::key(id, attribute.id, &normalized), value.to_vec(), normalized);
            }
            self.large.push(moved);
        }
    }

    /// The classes that its values of objectClass name.
    fn classes<'s>(&self, schema: &'s Schema) -> impl Iterator<Item = &'s Class> {
        self.plain_values(schema.known().object_class).filter_map(|name| schema.find_class(name))
    }

    /// Whether a class makes it one that stands only for its name ([`Class::is_glue`]).
    pub fn is_glue(&self, schema: &Schema) -> bool {
        self.classes(schema).any(|class| class.is_glue)
    }

    /// Marks that its classes give an entry.
    pub fn marks(&self, schema: &Schema) -> u8 {
        self.classes(schema).fold(0, |marks, class| {
            let of = |is_kind, mark| if is_kind { mark } else { 0 };
            marks
                | of(class.is_alias, mark::ALIAS)
                | of(class.is_referral, mark::REFERRAL)
                | of(class.is_subentry, mark::SUBENTRY)
        })
    }

    /// The entry's bytes. `marks` are those that its classes give.
    ///
    /// # Errors
    /// adminLimitExceeded, of what has more attributes or longer names than an entry's head has room for.
    pub fn build(&self, schema: &Schema, parent: Id, rdn: &str, marks: u8) -> Result<Vec<u8>> {
        let is_long = |large: &LargeDraft| large.stored.description.len() > LARGE_NAME_MAX;
        let has_too_many = self.attributes.len() > ATTRIBUTES_MAX || self.large.len() > LARGE_MAX;
        if has_too_many || rdn.len() > RDN_MAX || self.large.iter().any(is_long) {
            return Err(too_much());
        }
        let bytes = self.attributes.iter().map(DraftAttribute::bytes).sum();
        let mut builder = Builder::with_room(self.attributes.len(), bytes);
        for operational in [false, true] {
            for attribute in &self.attributes {
                if schema.is_operational(attribute.id) == operational {
                    attribute.build(operational, &mut builder);
                }
            }
        }
        self.kept_large().for_each(|large| builder.large(large.stored.clone()));
        Ok(builder.finish(parent, rdn, marks))
    }
}

fn too_much() -> Failure {
    let text = format!(
        "an entry has at most {ATTRIBUTES_MAX} attributes, {LARGE_MAX} of them with more than {MANY} values and then with names \
         of {LARGE_NAME_MAX} bytes, and {RDN_MAX} bytes of RDN"
    );
    Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text)
}

impl LargeDraft {
    /// Counts its values anew, all of which come: of those that are equal one has come.
    pub fn count(&mut self) {
        let values = || self.changes.values().filter_map(|change| change.value.as_ref());
        let (count, bytes) = (values().count(), values().map(|value| encoded_len(value)).fold(0, u32::saturating_add));
        (self.stored.count, self.stored.bytes) = (u32::try_from(count).unwrap_or(u32::MAX), bytes);
    }

    /// Whether the value of a key is there.
    pub fn has(&self, tables: &Tables<'_>, key: &[u8]) -> Result<bool> {
        match self.changes.get(key) {
            Some(change) => Ok(change.value.is_some()),
            None => Ok(tables.value()?.contains_key(key)?),
        }
    }

    /// Adds a value of entry `id`, given with its normalized form; false if it is there.
    pub fn add(&mut self, tables: &Tables<'_>, id: Id, value: &[u8], normalized: &[u8]) -> Result<bool> {
        let key = large::key(id, self.stored.id, normalized);
        let is_there = match self.changes.get(&key) {
            Some(change) => change.value.is_some(),
            None => tables.value()?.contains_key(&key)?,
        };
        if !is_there {
            self.put(key, value.to_vec(), normalized.to_vec());
        }
        Ok(!is_there)
    }

    /// Takes a value of entry `id` away, given by its normalized form; false if it is not there.
    pub fn remove(&mut self, tables: &Tables<'_>, id: Id, normalized: &[u8]) -> Result<bool> {
        let key = large::key(id, self.stored.id, normalized);
        let stored = match self.changes.get(&key) {
            Some(change) => change.stored.clone(),
            None => tables.value()?.get(&key)?.map(<[u8]>::to_vec),
        };
        let now = self.changes.get(&key).map_or(&stored, |change| &change.value);
        let Some(length) = now.as_ref().map(|value| encoded_len(value)) else { return Ok(false) };
        self.stored.count = self.stored.count.saturating_sub(1);
        self.stored.bytes = self.stored.bytes.saturating_sub(length);
        self.set(key, LargeChange { stored, value: None, normalized: Some(normalized.to_vec()) });
        Ok(true)
    }

    /// Takes all values of entry `id` away, and says which there were.
    pub fn take_all(&mut self, tables: &Tables<'_>, id: Id) -> Result<Vec<Vec<u8>>> {
        let mut taken = Vec::new();
        for pair in large::pairs(&tables.value()?, id, self.stored.id)? {
            let (key, value) = pair?;
            if !self.changes.contains_key(key) {
                taken.push(value.to_vec());
                let change = LargeChange { stored: Some(value.to_vec()), value: None, normalized: None };
                self.changes.insert(key.to_vec(), change);
            }
        }
        // What is not in the table was there for a moment only.
        self.changes.retain(|_, change| {
            taken.extend(change.value.take());
            change.stored.is_some()
        });
        (self.stored.count, self.stored.bytes) = (0, 0);
        Ok(taken)
    }

    /// Adds a value that is not there.
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>, normalized: Vec<u8>) {
        self.stored.count += 1;
        self.stored.bytes = self.stored.bytes.saturating_add(encoded_len(&value));
        self.set(key, LargeChange { stored: None, value: Some(value), normalized: Some(normalized) });
    }

    /// What becomes of a key; what was known to be stored before stays known.
    fn set(&mut self, key: Vec<u8>, change: LargeChange) {
        match self.changes.entry(key) {
            btree_map::Entry::Occupied(known) if known.get().stored == change.value => drop(known.remove()),
            btree_map::Entry::Occupied(mut known) => {
                let stored = known.get_mut().stored.take();
                known.insert(LargeChange { stored, ..change });
            }
            btree_map::Entry::Vacant(place) => drop(place.insert(change)),
        }
    }
}

impl LargeChange {
    /// The normalized form of the value, by this rule.
    pub fn normalized(&self, schema: &Schema, rule: Option<&Rule>) -> Cow<'_, [u8]> {
        match (&self.normalized, self.value.as_ref().or(self.stored.as_ref())) {
            (Some(normalized), _) => Cow::Borrowed(normalized),
            (None, value) => Cow::Owned(value.map(|value| form(schema, rule, value)).unwrap_or_default()),
        }
    }
}

fn encoded_len(value: &[u8]) -> u32 {
    u32::try_from(duramen_ldap::ber::tlv_len(value.len())).unwrap_or(u32::MAX)
}
