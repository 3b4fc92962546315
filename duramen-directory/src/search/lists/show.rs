//! An entry together with what its URLs find, as it is read.
//!
//! Owns: which values are added, and which are there already. What is made is an entry like a stored one, so that whatever looks
//! at entries need not know of lists.

use std::collections::HashSet;

use duramen_ldap::ber::List;
use duramen_ldap::schema::ClassKind;
use roaring::RoaringBitmap;

use super::{Found, Lists};
use crate::attribute::form;
use crate::dynamic::{DynamicList, Gives};
use crate::entry::{Builder, Entry, StoredAttribute};
use crate::failure::{Result, damaged};
use crate::filter::each_value;
use crate::names;
use crate::schema::{Attribute, AttributeId, Schema};
use crate::search::select::Selection;
use crate::view::View;

/// Values that are added to an attribute.
struct Added {
    id: AttributeId,
    /// The attribute with its options.
    description: String,
    values: Vec<Vec<u8>>,
    /// The normalized forms of all values that there are, but for members, which are told apart by their entries.
    forms: HashSet<Vec<u8>>,
}

impl Lists {
    /// Shows an entry with those of the attributes that are wanted and its URLs find; as it is, if there are none.
    pub fn show<T>(
        &self,
        view: &View<'_, '_>,
        wants: &dyn Fn(AttributeId) -> bool,
        act: impl FnOnce(&View<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        self.begin();
        self.show_also(view, wants, act)
    }

    /// As [`Lists::show`], in one go with what was looked at before.
    pub(super) fn show_also<T>(
        &self,
        view: &View<'_, '_>,
        wants: &dyn Fn(AttributeId) -> bool,
        act: impl FnOnce(&View<'_, '_>) -> Result<T>,
    ) -> Result<T> {
        let mut added = Vec::new();
        for list in &view.scene.state.dynamic.lists {
            let is_wanted = match &list.gives {
                Gives::Members { attribute, .. } => wants(*attribute),
                Gives::Attributes { .. } => true,
            };
            if is_wanted && self.is_of(list, view)? {
                self.add(list, view, wants, &mut added)?;
            }
        }
        added.retain(|added| !added.values.is_empty());
        if added.is_empty() {
            return act(view);
        }
        let bytes = together(view, &added)?;
        let entry = Entry::parse(&bytes).ok_or_else(|| damaged("an entry that is made up"))?;
        act(&View::new(view.scene, view.id, entry, view.name).asked_by(view.asked))
    }

    fn add(
        &self,
        list: &DynamicList,
        view: &View<'_, '_>,
        wants: &dyn Fn(AttributeId) -> bool,
        added: &mut Vec<Added>,
    ) -> Result<()> {
        let found = self.found(list, view)?;
        match &list.gives {
            Gives::Members { attribute, .. } => self.add_members(&found, view, *attribute, added),
            Gives::Attributes { renamed } => self.add_attributes(&found, view, renamed, wants, added),
        }
    }

    fn add_members(
        &self,
        found: &Found,
        view: &View<'_, '_>,
        attribute: AttributeId,
        added: &mut Vec<Added>,
    ) -> Result<()> {
        let mut seen = stored_members(view, attribute)?;
        let description = view.scene.state.schema.attribute(attribute).name.clone();
        let place = place(added, view, attribute, &description)?;
        let values = &mut added[place].values;
        self.each_found(view.scene, found, |_, member| {
            if seen.insert(member.id) {
                values.push(member.name.as_bytes().to_vec());
            }
            Ok(true)
        })
    }

    fn add_attributes(
        &self,
        found: &Found,
        view: &View<'_, '_>,
        renamed: &[(AttributeId, AttributeId)],
        wants: &dyn Fn(AttributeId) -> bool,
        added: &mut Vec<Added>,
    ) -> Result<()> {
        let schema = &view.scene.state.schema;
        let shown_as = |id| renamed.iter().find(|(from, _)| *from == id).map_or(id, |(_, to)| *to);
        for url in &found.urls {
            let mut buffer = Vec::new();
            let scene = found.seen(view.scene);
            let names = url.attributes().iter().map(String::as_str);
            let asked = Selection::new(schema, List::build(&mut buffer, names), false)?;
            let gives = |attribute: &StoredAttribute<'_>| {
                let is_user = !schema.is_operational(attribute.id);
                asked.wants(schema, attribute, is_user) && wants(shown_as(attribute.id))
            };
            url.each(
                &scene,
                &self.inner.changes,
                &mut |other| {
                    for stored in other.entry.attributes().filter(|stored| gives(stored)) {
                        let description = stored.decode().description;
                        let to = schema.attribute(shown_as(stored.id));
                        let description = if to.id == stored.id { description } else { &to.name };
                        let place = place(added, view, to.id, description)?;
                        for value in stored.values().iter().filter(|value| other.may_read(stored.id, Some(value))) {
                            added[place].put(schema, to, value);
                        }
                    }
                    Ok(true)
                },
                &|| self.look(),
            )?;
        }
        Ok(())
    }
}

impl Added {
    /// Adds a value of another entry, if it is not there yet. What has one value keeps the first; structural classes are the
    /// entry's own.
    fn put(&mut self, schema: &Schema, attribute: &Attribute, value: &[u8]) {
        let is_class = attribute.id == schema.known().object_class;
        let is_structural =
            is_class && schema.find_class(value).is_none_or(|class| class.kind == ClassKind::Structural);
        let is_full = attribute.single_value && !self.forms.is_empty();
        if !is_structural && !is_full && self.forms.insert(form(schema, attribute.equality, value)) {
            self.values.push(value.to_vec());
        }
    }
}

/// The entries that values of an attribute name.
fn stored_members(view: &View<'_, '_>, attribute: AttributeId) -> Result<RoaringBitmap> {
    let (scene, mut members) = (view.scene, Vec::new());
    each_value(&scene.tables, view.id, &view.entry, attribute, |value| {
        let name = std::str::from_utf8(value).ok();
        members.extend(name.and_then(|name| names::normalize(&scene.state.schema, name).ok()));
        Ok(())
    })?;
    let (table, suffixes) = (scene.tables.name()?, &scene.state.suffixes);
    let mut found = RoaringBitmap::new();
    for name in &members {
        found.extend(names::find_entry(&table, suffixes, name)?);
    }
    Ok(found)
}

/// Where what is added to an attribute stands.
fn place(added: &mut Vec<Added>, view: &View<'_, '_>, id: AttributeId, description: &str) -> Result<usize> {
    let is_it = |added: &Added| added.id == id && added.description.eq_ignore_ascii_case(description);
    if let Some(place) = added.iter().position(is_it) {
        return Ok(place);
    }
    let schema = &view.scene.state.schema;
    let (attribute, mut forms) = (schema.attribute(id), HashSet::new());
    for stored in view.entry.of_type(id).filter(|stored| is_described(stored, description)) {
        forms.extend(stored.values().iter().map(|value| form(schema, attribute.equality, value)));
    }
    added.push(Added { id, description: description.to_string(), values: Vec::new(), forms });
    Ok(added.len() - 1)
}

fn is_described(stored: &StoredAttribute<'_>, description: &str) -> bool {
    stored.decode().description.eq_ignore_ascii_case(description)
}

/// An entry with what is added to it. Of an attribute that gets more values all are put into the entry, wherever they are stored.
fn together(view: &View<'_, '_>, added: &[Added]) -> Result<Vec<u8>> {
    let (schema, entry) = (&view.scene.state.schema, &view.entry);
    let mut builder = Builder::default();
    let is_more = |stored: &StoredAttribute<'_>| {
        added.iter().find(|added| added.id == stored.id && is_described(stored, &added.description))
    };
    let user = entry.attributes().filter(|stored| !schema.is_operational(stored.id));
    for stored in user {
        match is_more(&stored) {
            None => builder.stored(&stored, false),
            Some(added) => {
                let own = stored.values();
                let values = own.iter().chain(added.values.iter().map(Vec::as_slice));
                builder.attribute(stored.id, (false, stored.has_options), &added.description, values);
            }
        }
    }
    let is_stored = |added: &&Added| entry.of_type(added.id).any(|stored| is_described(&stored, &added.description));
    let (operational, user): (Vec<&Added>, Vec<&Added>) =
        added.iter().filter(|added| !is_stored(added)).partition(|added| schema.is_operational(added.id));
    let has_options = |added: &Added| added.description.contains(';');
    for added in user {
        let mut values = Vec::new();
        if entry.large().any(|large| large.id == added.id) {
            view.large(added.id, &mut |value| values.push(value.to_vec()))?;
        }
        let values = values.iter().chain(&added.values);
        builder.attribute(added.id, (false, has_options(added)), &added.description, values);
    }
    entry
        .attributes()
        .filter(|stored| schema.is_operational(stored.id))
        .for_each(|stored| builder.stored(&stored, true));
    for added in operational {
        builder.attribute(added.id, (true, has_options(added)), &added.description, &added.values);
    }
    let is_inside = |id| added.iter().any(|added| added.id == id && !has_options(added));
    entry.large().filter(|large| !is_inside(large.id)).for_each(|large| builder.large(large));
    Ok(builder.finish(entry.parent, entry.rdn(), entry.marks()))
}
