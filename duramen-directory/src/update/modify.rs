//! Modify (RFC 4511 section 4.6, RFC 4525): changes in their order, judged at their end.

use std::borrow::Cow;
use std::collections::HashSet;

use duramen_ldap::message::{ChangeKind, ModifyRequest, ResultCode};

use super::batch::Batch;
use super::change::{self, Checked};
use super::check;
use super::constraints;
use super::context::Context;
use super::draft::{Draft, Value};
use super::naming;
use super::passwords;
use super::references::{self, Reference};
use super::shape;
use crate::access::{Level, What};
use crate::attribute::{Described, form};
use crate::audit::Told;
use crate::entry::Entry;
use crate::failure::{Failure, Result, damaged};
use crate::filter::Quick;
use crate::history;
use crate::names;
use crate::policy::Edits;
use crate::schema::{Attribute, AttributeId, AttributeSet, Class};
use crate::tables::Id;
use crate::view::View;

/// So few values are looked for one by one among those that are there.
const LOOKED_FOR_MAX: usize = 4;

/// So many values are looked at in a modify, one by one, at most: other updates wait for it.
const LOOKED_AT_MAX: usize = 10_000_000;

/// To look at so many attributes takes as long as to look at a value.
const ATTRIBUTES_AS_A_VALUE: usize = 8;

/// Decides what a modify does.
pub(crate) fn prepare(context: &Context<'_>, request: &ModifyRequest<'_>) -> Result<Batch> {
    let mut changes = change::checked(context, request)?;
    passwords::as_stored(context, &mut changes);
    passwords::as_hashed(context, &mut changes);
    let id = context.find(request.name)?;
    let entries = context.scene.tables.entry()?;
    let entry = names::entry(&entries, id)?;
    let name = context.scene.name_of(id, &entry)?;
    let view = View::new(&context.scene, id, entry, &name).asked_by(request.name);
    context.check_assertion(&view)?;
    if changes.is_empty() {
        // Who changed it last, and when, changes all the same.
        context.require(&view, What::Entry, Level::Write)?;
    }
    let mut modifier = Modifier::new(context, id, &entry);
    for change in &changes {
        let changed = modifier.change(&view, change);
        changed.map_err(|failure| passwords::failed(context, (&entry, &name), &changes, failure))?;
    }
    modifier.told = context.told(&changes);
    context.pre_read(&view)?;
    modifier.judge(&entry)?;
    let edits = passwords::changed(context, (&entry, &name), &changes, &modifier.draft, &modifier.touched)?;
    modifier.edit(&edits);
    if modifier.touched.contains(context.schema().known().entry_uuid) {
        context.check_identifier(&modifier.draft, Some(id), &name)?;
    }
    context.check_unique(&modifier.draft, Some((id, &entry)), |changed| modifier.touched.contains(changed))?;
    constraints::modified(context, &view, &changes, &modifier.draft)?;
    modifier.finish(&entry)
}

/// Decides what becomes of an entry of which the directory notes something down. Who changed it last, and when, stays. In a copy
/// of another server's entries that is this server's own, until that one sends the entry again.
pub(super) fn note(context: &Context<'_>, id: Id, edits: &Edits) -> Result<Batch> {
    let entries = context.scene.tables.entry()?;
    let entry = names::entry(&entries, id)?;
    let mut modifier = Modifier::new(context, id, &entry);
    modifier.edit(edits);
    if context.scene.state.history == 0 {
        return modifier.store(&entry, &[]);
    }
    if is_copied(context, id, &entry)? {
        let mut batch = modifier.store(&entry, &[])?;
        batch.notes.is_private = true;
        return Ok(batch);
    }
    // Copies are to have it, too, and tell by the number whether they do.
    let stamp = context.renumber(&mut modifier.draft);
    let number = context.schema().known().entry_csn;
    modifier.touched.insert(number);
    let mut batch = modifier.store(&entry, &[number])?;
    context.note(&mut batch, id, history::What::Modified, stamp);
    Ok(batch)
}

/// Whether an entry is of a copy of another server's.
pub(super) fn is_copied(context: &Context<'_>, id: Id, entry: &Entry<'_>) -> Result<bool> {
    let state = context.scene.state;
    if state.copies.is_empty() {
        return Ok(false);
    }
    let name = names::normalize(&state.schema, &context.scene.name_of(id, entry)?)?;
    Ok(state.copy_of(&name).is_some())
}

/// Decides what becomes of an entry that has these values. Nothing if it does not have them, or has one in its own name.
pub(super) fn refer(context: &Context<'_>, id: Id, references: &[Reference]) -> Result<Option<Batch>> {
    let entries = context.scene.tables.entry()?;
    let entry = names::entry(&entries, id)?;
    // Whoever changes what is copied sees to its references.
    if context.scene.state.member.is_none() && is_copied(context, id, &entry)? {
        return Ok(None);
    }
    let mut modifier = Modifier::new(context, id, &entry);
    for reference in references {
        modifier.refer(reference)?;
    }
    if modifier.touched.is_empty() {
        return Ok(None);
    }
    match modifier.holds_name(&entry) {
        Err(failure) if failure.code == ResultCode::NOT_ALLOWED_ON_RDN => Ok(None),
        held => held.and_then(|()| modifier.finish(&entry).map(Some)),
    }
}

/// An entry that is being changed.
struct Modifier<'m, 'c, 'e> {
    context: &'m Context<'c>,
    id: Id,
    draft: Draft<'e>,
    /// Types that were changed.
    touched: AttributeSet,
    /// Marks that its classes give it, once they are known.
    marks: Option<u8>,
    /// Values that were looked at one by one.
    looked_at: usize,
    /// The changes, for the audit log.
    told: Vec<Told<'e>>,
}

/// RFC 4512 section 2.5.1: without an equality rule, values are not added or deleted one by one.
fn no_rule(described: &Described<'_>) -> Result<()> {
    let name = &described.description;
    let text = format!("{name}: it has no equality rule, so that only all values can be replaced (RFC 4512 2.5.1)");
    fail(ResultCode::INAPPROPRIATE_MATCHING, text)
}

fn missing(described: &Described<'_>) -> Result<()> {
    fail(ResultCode::NO_SUCH_ATTRIBUTE, format!("{}: the entry has no such attribute", described.description))
}

fn fail<T>(code: ResultCode, text: String) -> Result<T> {
    Err(Failure::new(code, text))
}

impl<'m, 'c: 'e, 'e> Modifier<'m, 'c, 'e> {
    fn new(context: &'m Context<'c>, id: Id, entry: &Entry<'e>) -> Modifier<'m, 'c, 'e> {
        let touched = AttributeSet::default();
        let (draft, told) = (Draft::of(entry), Vec::new());
        Modifier { context, id, draft, touched, marks: None, looked_at: 0, told }
    }

    fn change(&mut self, view: &View<'_, '_>, change: &'e Checked<'e>) -> Result<()> {
        let (context, described) = (self.context, &change.described);
        let id = described.attribute.id;
        // As slapd has it: what is replaced is deleted as a whole, and added value by value.
        let (whole, each) = match change.kind {
            ChangeKind::Add => (change.values.is_empty().then_some(Level::Add), Level::Add),
            ChangeKind::Delete => (change.values.is_empty().then_some(Level::Delete), Level::Delete),
            _ => (Some(Level::Delete), Level::Add),
        };
        if let Some(level) = whole {
            context.require(view, What::Attribute(id, None), level)?;
        }
        for (value, _) in &change.values {
            context.require(view, What::Attribute(id, Some(value)), each)?;
        }
        self.touched.insert(id);
        // The attribute is looked for among all.
        self.look_at(described, self.draft.attributes.len() / ATTRIBUTES_AS_A_VALUE)?;
        match change.kind {
            ChangeKind::Add if described.attribute.equality.is_none() && self.has(described) => no_rule(described),
            ChangeKind::Add => self.add(described, &change.values),
            ChangeKind::Delete if change.values.is_empty() => self.delete_all(described, true),
            ChangeKind::Delete => self.delete(described, &change.values),
            ChangeKind::Increment => self.increment(view, described, &change.values),
            _ => {
                self.delete_all(described, false)?;
                if change.values.is_empty() { Ok(()) } else { self.add(described, &change.values) }
            }
        }
    }

    /// The place of the attribute among those with values outside.
    fn large(&self, described: &Described<'_>) -> Option<usize> {
        if !described.options.is_empty() {
            return None;
        }
        self.draft.large.iter().position(|large| large.stored.id == described.attribute.id)
    }

    fn has(&mut self, described: &Described<'_>) -> bool {
        self.draft.find(described.attribute.id, &described.options).is_some()
    }

    fn add(&mut self, described: &'e Described<'e>, values: &'e [(Value<'e>, Vec<u8>)]) -> Result<()> {
        let (schema, rule) = (self.context.schema(), described.attribute.equality);
        let large = self.large(described);
        // Forms of what is there are found out once; few values are rather looked for.
        let mut forms: Option<HashSet<Vec<u8>>> = (values.len() > LOOKED_FOR_MAX).then(|| {
            let present = self.draft.find(described.attribute.id, &described.options);
            present.map(|found| found.values().map(|value| form(schema, rule, value)).collect()).unwrap_or_default()
        });
        self.look_at(described, forms.as_ref().map_or(0, HashSet::len))?;
        for (n, (value, normalized)) in (1..).zip(values) {
            let is_new = match (large, &mut forms) {
                (Some(at), _) => self.add_large(at, value, normalized)?,
                (None, Some(forms)) => forms.insert(normalized.clone()),
                (None, None) => self.position(described, normalized)?.is_none(),
            };
            if is_new && large.is_none() {
                self.draft.values_mut(described)?.push(Cow::Borrowed(value));
            } else if !is_new && !self.context.controls.permissive {
                let text = format!("{}, value {n}: it is there already", described.description);
                return fail(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS, text);
            }
        }
        Ok(())
    }

    fn add_large(&mut self, at: usize, value: &[u8], normalized: &[u8]) -> Result<bool> {
        self.draft.large[at].add(&self.context.scene.tables, self.id, value, normalized)
    }

    /// Without a value that is missing it is an error only if `strict`, and not if the control says so.
    fn delete_all(&mut self, described: &Described<'_>, strict: bool) -> Result<()> {
        let was_there = if let Some(at) = self.large(described) {
            !self.take_all_large(at)?.is_empty()
        } else {
            let before = self.draft.attributes.len();
            self.draft.attributes.retain(|found| !found.is(described));
            before > self.draft.attributes.len()
        };
        if strict && !was_there && !self.context.controls.permissive {
            return missing(described);
        }
        Ok(())
    }

    /// Takes all values away, and says which there were.
    fn take_all_large(&mut self, at: usize) -> Result<Vec<Vec<u8>>> {
        self.draft.large[at].take_all(&self.context.scene.tables, self.id)
    }

    fn delete(&mut self, described: &Described<'_>, values: &[(Value<'_>, Vec<u8>)]) -> Result<()> {
        if described.attribute.equality.is_none() {
            return no_rule(described);
        }
        let large = self.large(described);
        let mut gone = match large {
            None if values.len() > LOOKED_FOR_MAX => Some(self.delete_many(described, values)?),
            _ => None,
        };
        let mut seen = HashSet::new();
        // A value that is named again is one value all the same; slapd takes that too.
        for (n, (_, normalized)) in (1..).zip(values).filter(|(_, (_, normalized))| seen.insert(normalized)) {
            let was_there = match (large, &mut gone) {
                (Some(at), _) => self.delete_large(at, normalized)?,
                (None, Some(gone)) => gone.contains(normalized),
                (None, None) => self.delete_one(described, normalized)?,
            };
            if !was_there && !self.context.controls.permissive {
                let text = format!("{}, value {n}: the entry has no such value", described.description);
                return fail(ResultCode::NO_SUCH_ATTRIBUTE, text);
            }
        }
        Ok(())
    }

    fn delete_one(&mut self, described: &Described<'_>, normalized: &[u8]) -> Result<bool> {
        let Some(at) = self.position(described, normalized)? else { return Ok(false) };
        if let Some(found) = self.draft.find(described.attribute.id, &described.options) {
            found.values_mut().remove(at);
        }
        self.draft.drop_empty();
        Ok(true)
    }

    /// Deletes those of some values that are there, and says which.
    fn delete_many(&mut self, described: &Described<'_>, values: &[(Value<'_>, Vec<u8>)]) -> Result<HashSet<Vec<u8>>> {
        let (schema, rule) = (self.context.schema(), described.attribute.equality);
        let wanted: HashSet<&[u8]> = values.iter().map(|(_, normalized)| normalized.as_slice()).collect();
        let (mut gone, mut count) = (HashSet::new(), 0);
        if let Some(found) = self.draft.find(described.attribute.id, &described.options) {
            count = found.count();
            found.values_mut().retain(|value| {
                let normalized = form(schema, rule, value);
                let stays = !wanted.contains(normalized.as_slice());
                if !stays {
                    gone.insert(normalized);
                }
                stays
            });
        }
        self.draft.drop_empty();
        self.look_at(described, count)?;
        Ok(gone)
    }

    /// The place of a value, given by its normalized form.
    fn position(&mut self, described: &Described<'_>, normalized: &[u8]) -> Result<Option<usize>> {
        let schema = self.context.schema();
        let Some(found) = self.draft.find(described.attribute.id, &described.options) else { return Ok(None) };
        let (mut scratch, mut count) = (Vec::new(), 0);
        let quick = described.attribute.equality.map(|rule| (rule, Quick::of(rule)));
        let place = found.values().inspect(|_| count += 1).position(|value| match &quick {
            Some((rule, quick)) => quick.equal(rule, schema, value, normalized, &mut scratch),
            None => value == normalized,
        });
        self.look_at(described, count)?;
        Ok(place)
    }

    /// Takes note that so many values of an attribute are looked at.
    ///
    /// # Errors
    /// adminLimitExceeded, where these are too many in all.
    fn look_at(&mut self, described: &Described<'_>, count: usize) -> Result<()> {
        self.looked_at += count;
        if self.looked_at <= LOOKED_AT_MAX {
            return Ok(());
        }
        let name = &described.description;
        let text = format!("{name}: too much is to be looked at: give the values of an attribute in one change");
        fail(ResultCode::ADMIN_LIMIT_EXCEEDED, text)
    }

    fn delete_large(&mut self, at: usize, normalized: &[u8]) -> Result<bool> {
        self.draft.large[at].remove(&self.context.scene.tables, self.id, normalized)
    }

    /// Puts the new value in the place of the old one, if that is there.
    fn refer(&mut self, Reference { attribute, old, new }: &Reference) -> Result<()> {
        let attribute = self.context.schema().attribute(*attribute);
        let empty = references::Value { bytes: vec![], form: vec![] };
        let large = self.draft.large.iter().position(|large| large.stored.id == attribute.id);
        if let Some(at) = large
            && self.delete_large(at, &old.form)?
        {
            self.touched.insert(attribute.id);
            self.tell(ChangeKind::Delete, &attribute.name, &old.bytes);
            let is_missing = new.is_none() && self.is_missing(attribute.id)?;
            if let Some(new) = new.as_ref().or(is_missing.then_some(&empty))
                && self.add_large(at, &new.bytes, &new.form)?
            {
                self.tell(ChangeKind::Add, &attribute.name, &new.bytes);
            }
        }
        self.refer_inside(attribute, old, new.as_ref());
        if self.touched.contains(attribute.id) && self.is_missing(attribute.id)? {
            self.tell(ChangeKind::Add, &attribute.name, &empty.bytes);
            self.draft.push(attribute, empty.bytes);
        }
        Ok(())
    }

    /// The same of values that are in the entry.
    fn refer_inside(&mut self, attribute: &Attribute, old: &references::Value, new: Option<&references::Value>) {
        let schema = self.context.schema();
        let mut told = Vec::new();
        for found in self.draft.attributes.iter_mut().filter(|found| found.id == attribute.id) {
            let forms: Vec<_> = found.values().map(|value| form(schema, attribute.equality, value)).collect();
            if !forms.contains(&old.form) {
                continue;
            }
            self.touched.insert(attribute.id);
            let place = new.filter(|new| !forms.contains(&new.form));
            told.push((found.description().to_string(), place));
            let mut forms = forms.iter();
            found.values_mut().retain_mut(|value| match (forms.next() == Some(&old.form), place) {
                (true, Some(new)) => {
                    *value = Cow::Owned(new.bytes.clone());
                    true
                }
                (is_old, _) => !is_old,
            });
        }
        self.draft.drop_empty();
        for (description, place) in told {
            self.tell(ChangeKind::Delete, &description, &old.bytes);
            if let Some(new) = place {
                self.tell(ChangeKind::Add, &description, &new.bytes);
            }
        }
    }

    /// Takes note of a change of one value, for the audit log.
    fn tell(&mut self, kind: ChangeKind, description: &str, value: &[u8]) {
        if self.context.is_audited() {
            let values = vec![Cow::Owned(value.to_vec())];
            self.told.push(Told { kind, description: Cow::Owned(description.to_string()), values });
        }
    }

    /// Whether a class of the entry requires an attribute that it does not have.
    fn is_missing(&self, id: AttributeId) -> Result<bool> {
        let classes = check::classes(self.context.schema(), &self.draft)?;
        Ok(!self.draft.has(id) && classes.iter().any(|class| class.must.contains(&id)))
    }

    /// RFC 4525 section 1: the values are numbers, and the amount is one value. Rules about values are about what comes out.
    fn increment(
        &mut self,
        view: &View<'_, '_>,
        described: &Described<'_>,
        values: &[(Value<'_>, Vec<u8>)],
    ) -> Result<()> {
        let (context, name, id) = (self.context, &described.description, described.attribute.id);
        let number = |bytes: &[u8]| std::str::from_utf8(bytes).ok()?.parse::<i128>().ok();
        let amount = values.first().and_then(|(amount, _)| number(amount));
        let Some(amount) = amount else {
            return fail(ResultCode::CONSTRAINT_VIOLATION, format!("{name}: the amount is too great"));
        };
        let sum = |value: &[u8]| {
            let Some(sum) = number(value).and_then(|before| before.checked_add(amount)) else {
                return fail(ResultCode::CONSTRAINT_VIOLATION, format!("{name}: the number becomes too great"));
            };
            let sum = sum.to_string().into_bytes();
            context.require(view, What::Attribute(id, Some(&sum)), Level::Add).map(|()| sum)
        };
        let is_there = if let Some(at) = self.large(described) {
            let before = self.take_all_large(at)?;
            for value in &before {
                let sum = sum(value)?;
                let normalized = form(self.context.schema(), described.attribute.equality, &sum);
                self.add_large(at, &sum, &normalized)?;
            }
            !before.is_empty()
        } else {
            let found = self.draft.find(described.attribute.id, &described.options);
            let is_there = found.is_some();
            for value in found.into_iter().flat_map(|found| found.values_mut()) {
                *value = sum(value)?.into();
            }
            is_there
        };
        if is_there { Ok(()) } else { missing(described) }
    }

    /// That the entry has the values of its name.
    fn holds_name(&self, before: &Entry<'_>) -> Result<()> {
        let stored = Some((self.context.scene.tables, self.id));
        // Only a suffix has its whole name there.
        let rdn = if before.parent == 0 { naming::first_rdn(before.rdn()) } else { before.rdn() };
        naming::holds(self.context.schema(), &self.draft, stored, rdn)
    }

    /// The rules that the entry has to obey at the end.
    fn judge(&mut self, before: &Entry<'_>) -> Result<()> {
        let schema = self.context.schema();
        for attribute in self.draft.attributes.iter().filter(|attribute| self.touched.contains(attribute.id)) {
            check::single(schema.attribute(attribute.id), attribute.count())?;
        }
        let shape = shape::known(schema, &self.draft);
        let classes = if shape.is_some() { Vec::new() } else { check::classes(schema, &self.draft)? };
        let structural = match shape {
            Some(shape) => schema.class(shape.structural),
            None => check::structural(schema, &classes)?,
        };
        self.keeps_structural(before, structural)?;
        self.holds_name(before)?;
        if !self.context.is_relaxed() && shape.is_none() {
            check::content(schema, &self.draft, structural.id, &classes)?;
        }
        self.marks = shape.map(|shape| shape.marks);
        Ok(())
    }

    /// That the entry is of the structural class that it was of, which is noted in it.
    fn keeps_structural(&mut self, before: &Entry<'_>, structural: &'c Class) -> Result<()> {
        let (schema, known) = (self.context.schema(), self.context.schema().known());
        let old = before.of_type(known.structural_object_class).flat_map(|found| found.values()).next();
        if old == Some(structural.name.as_bytes()) && !self.touched.contains(known.structural_object_class) {
            return Ok(());
        }
        let is_same = old.is_none_or(|old| structural.name.as_bytes().eq_ignore_ascii_case(old));
        let was_glue = || old.and_then(|old| schema.find_class(old)).is_some_and(|class| class.is_glue);
        // What stands only for its name becomes an entry so.
        if !is_same && !self.context.is_relaxed() && !was_glue() {
            let old = String::from_utf8_lossy(old.unwrap_or_default()).into_owned();
            let text = format!("objectClass: the structural class cannot change from {old} to {}", structural.name);
            return fail(ResultCode::OBJECT_CLASS_MODS_PROHIBITED, text);
        }
        self.draft.set(schema.attribute(known.structural_object_class), structural.name.as_bytes());
        Ok(())
    }

    /// Gives attributes that the directory keeps other values.
    fn edit(&mut self, edits: &Edits) {
        self.told.extend(self.context.told_of_edits(edits));
        for (id, values) in edits {
            self.draft.put(self.context.schema().attribute(*id), values.iter().cloned().map(Cow::Owned).collect());
            self.touched.insert(*id);
        }
    }

    fn finish(mut self, before: &Entry<'_>) -> Result<Batch> {
        let context = self.context;
        let (id, stamp) = (self.id, context.stamp(&mut self.draft, &self.touched));
        let known = context.schema().known();
        let set = [known.entry_csn, known.modifiers_name, known.modify_timestamp, known.structural_object_class];
        set.into_iter().for_each(|id| self.touched.insert(id));
        let structural = before.of_type(known.structural_object_class).flat_map(|found| found.values()).next();
        let is_same = self.draft.plain_values(known.structural_object_class).next() == structural;
        let mut batch = self.store(before, if is_same { &set[..3] } else { &set })?;
        context.note(&mut batch, id, history::What::Modified, stamp);
        Ok(batch)
    }

    /// `kept`: what the directory says of the entry, and has changed, too.
    fn store(mut self, before: &Entry<'_>, kept: &[AttributeId]) -> Result<Batch> {
        let context = self.context;
        let mut batch = Batch::default();
        context.audit_modify(&mut batch, self.id, &self.told, (&self.draft, kept))?;
        self.draft.move_out(context.schema(), self.id);
        let marks = self.marks.unwrap_or_else(|| self.draft.marks(context.schema()));
        let bytes = self.draft.build(context.schema(), before.parent, before.rdn(), marks)?;
        let entry = Entry::parse(&bytes).ok_or_else(|| damaged("the changed entry"))?;
        let (mut old, mut new) = context.changed_keys(before, &entry, &self.touched);
        let was = (self.id, Some(before));
        super::large_changes(context, was, &self.draft, (&mut old, &mut new), &mut batch)?;
        batch.index(self.id, Some(old), Some(new));
        if entry.marks() != before.marks() {
            batch.put_name(names::key_of(context.schema(), before)?, self.id, entry.marks());
        }
        context.post_read(self.id)?;
        batch.change_entry(self.id, bytes);
        Ok(batch)
    }
}
