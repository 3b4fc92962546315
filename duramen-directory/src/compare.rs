//! Compare (RFC 4511 section 4.10).

use std::sync::Arc;

use duramen_ldap::ber::List;
use duramen_ldap::filter::Filter;
use duramen_ldap::matching::Rule;
use duramen_ldap::message::{CompareRequest, Control, ResultCode, Scope};

use crate::access::{Level, MadeUp, What};
use crate::attribute::{Described, describe, form};
use crate::base::{self, Follow};
use crate::controls::{Controls, Of};
use crate::entry::Entry;
use crate::failure::{Failure, Result, damaged};
use crate::filter::{Quick, has_options};
use crate::inner::Inner;
use crate::large;
use crate::requester::Requester;
use crate::schema::{Attribute, AttributeId, Schema};
use crate::search::lists::Lists;
use crate::search::special::{self, Special};
use crate::tables::Tables;
use crate::view::{Members, MoreGroups, Scene, View};
use crate::{meta, names};

impl Inner {
    pub(crate) fn compare(
        self: &Arc<Inner>,
        requester: &Requester,
        request: &CompareRequest<'_>,
        controls: List<'_, Control<'_>>,
    ) -> Result<bool> {
        let controls = Controls::parse(controls, Of::Compare)?;
        let snapshot = self.db.read()?;
        let state = self.state_of(&snapshot)?;
        let described = describe(&state.schema, request.assertion.description)?;
        let (rule, asserted) = asserted(&state.schema, described.attribute, request.assertion.value)?;
        let proxied = self.proxied(&state, requester, &controls)?;
        let requester = proxied.as_ref().unwrap_or(requester);
        let (tables, naming) = (Tables::Snapshot(&snapshot), self.naming(&state, &snapshot)?);
        let normalized = names::normalize(&state.schema, request.name)?;
        let rules = state.rules.about(MadeUp::of(&normalized));
        let plan = rules.plan(requester, &Members::new(&state, tables, Some(naming)));
        let scene = Scene { state: &state, tables, naming: Some(naming), plan: &plan, more: None };
        let asserted = asserted.as_slice();
        let compared = Compared { request, described: &described, rule, asserted, assertion: controls.assertion };
        let made_up = special::find(self, &state, &normalized, Scope::Base).and_then(|mut found| found.pop());
        if let Some(Special { name, bytes, children }) = made_up {
            let entry = Entry::parse(&bytes).ok_or_else(|| damaged("an entry that is made up"))?;
            return compared.is_true_of(&View::made_up(&scene, entry, &name, children));
        }
        meta::check_whole(self.number, &snapshot)?;
        let follow = Follow { aliases: false, manage: controls.manage_dsa_it, scope: None };
        let id = base::find_normalized(&scene, request.name, normalized, follow)?;
        let entry = names::entry(&scene.tables.entry()?, id)?;
        let name = scene.name_of(id, &entry)?;
        let lists = if controls.manage_dsa_it { None } else { Lists::of(self, &scene, requester, None) };
        let lists = lists.as_deref();
        let scene = Scene { more: lists.map(|lists| lists as &dyn MoreGroups), ..scene };
        compared.shown(&View::new(&scene, id, entry, &name).asked_by(request.name), lists)
    }
}

/// What a compare asserts.
struct Compared<'c> {
    request: &'c CompareRequest<'c>,
    described: &'c Described<'c>,
    rule: &'static Rule,
    /// The value's normalized form.
    asserted: &'c [u8],
    /// What the control asserts besides.
    assertion: Option<Filter<'c>>,
}

impl Compared<'_> {
    /// Whether an entry has the value as it is shown.
    fn shown(&self, view: &View<'_, '_>, lists: Option<&Lists>) -> Result<bool> {
        let stored = self.is_true_of(view);
        let Some(lists) = lists else { return stored };
        let is_missing = |failure: &Failure| failure.code == ResultCode::NO_SUCH_ATTRIBUTE;
        if !stored.as_ref().map_or_else(is_missing, |found| !found) || !self.described.options.is_empty() {
            return stored;
        }
        let attribute = self.described.attribute;
        match lists.is_member(view, attribute.id, self.asserted)? {
            Some(is_member) => Ok(is_member),
            None => lists.show(view, &|id| attribute.family.contains(&id), |shown| self.is_true_of(shown)),
        }
    }

    /// Whether an entry has the value.
    fn is_true_of(&self, view: &View<'_, '_>) -> Result<bool> {
        let Compared { request, described, .. } = self;
        if let Some(filter) = self.assertion {
            crate::assertion::check(view, filter)?;
        }
        let attribute = described.attribute.id;
        if !view.allows(What::Attribute(attribute, Some(request.assertion.value)), Level::Compare) {
            if !view.allows(What::Entry, Level::Disclose) {
                return Err(base::hidden(view));
            }
            return Err(not_allowed(&described.attribute.name));
        }
        let is_known = view.allows(What::Entry, Level::Disclose);
        let there = value_is_there(view, described, self.rule, self.asserted, request.assertion.value);
        if is_known { there } else { there.map_err(|_| base::hidden(view)) }
    }
}

/// The rule that a value is compared by, and the value's normalized form; of a class its number.
///
/// # Errors
/// inappropriateMatching, invalidAttributeSyntax.
fn asserted(schema: &Schema, attribute: &Attribute, value: &[u8]) -> Result<(&'static Rule, Vec<u8>)> {
    let Some(rule) = attribute.equality else {
        let text = format!("{} has no rule by which values are equal", attribute.name);
        return Err(Failure::new(ResultCode::INAPPROPRIATE_MATCHING, text));
    };
    let fail = |what: String| Err(Failure::new(ResultCode::INVALID_ATTRIBUTE_SYNTAX, what));
    let unknown_class = attribute.id == schema.known().object_class && schema.find_class(value).is_none();
    if unknown_class || !attribute.can_be(rule, value) {
        // Undefined, which compare has no word for (RFC 4511 section 4.10).
        return fail(format!("{}: the asserted value cannot be one of it", attribute.name));
    }
    let mut asserted = Vec::new();
    match names::asserted(schema, rule, value, &mut asserted) {
        Ok(()) => Ok((rule, asserted)),
        Err(error) => fail(format!("{}: the asserted value is not one: {error}", attribute.name)),
    }
}

/// Whether the entry has the attribute with a value of this normalized form. Kinds of it that the requester may not
/// compare are left out: if one of them might have it, nothing is said.
///
/// # Errors
/// noSuchAttribute, insufficientAccessRights.
fn value_is_there(
    view: &View<'_, '_>,
    described: &Described<'_>,
    rule: &'static Rule,
    asserted: &[u8],
    written: &[u8],
) -> Result<bool> {
    let schema = &view.scene.state.schema;
    let attribute = described.attribute;
    let known = schema.known();
    if attribute.id == known.member_of {
        return view.has_group(&String::from_utf8_lossy(asserted));
    }
    let (mut seen, quick, mut scratch) = (Seen::default(), Quick::of(rule), Vec::new());
    let may = |id| id == attribute.id || view.allows(What::Attribute(id, Some(written)), Level::Compare);
    let outside = described.options.is_empty().then(|| view.entry.large()).into_iter().flatten();
    for large in outside.filter(|large| attribute.family.contains(&large.id)) {
        seen.look(may(large.id), || large_has(view, large.id, rule, asserted))?;
    }
    if known.is_derived(attribute.id) {
        view.derived(attribute.id, &mut |value: &[u8]| {
            seen.any = true;
            seen.found |= form(schema, Some(rule), value) == asserted;
        })?;
    }
    for &id in &attribute.family {
        for stored in
            view.entry.of_type(id).filter(|stored| has_options(stored.decode().description, &described.options))
        {
            let is_it = |value: &[u8]| match rule.is_equality(asserted) {
                true => quick.equal(rule, schema.as_ref(), value, asserted, &mut scratch),
                false => rule.relates(&form(schema, Some(rule), value), asserted),
            };
            seen.look(may(id), || Ok(stored.values().iter().any(is_it)))?;
        }
    }
    if attribute.id == known.object_class && !seen.found {
        seen.found = class_is_there(view, asserted);
    }
    seen.answer(attribute)
}

/// Whether an attribute has a value outside the entry that is the asserted one.
fn large_has(view: &View<'_, '_>, id: AttributeId, rule: &'static Rule, asserted: &[u8]) -> Result<bool> {
    let (schema, table) = (&view.scene.state.schema, view.scene.tables.value()?);
    let is_equality = rule.is_equality(asserted);
    if is_equality && large::is_found_by(schema.attribute(id), rule) {
        return Ok(table.contains_key(large::key(view.id, id, asserted))?);
    }
    for value in large::values(&table, view.id, id)? {
        let form = form(schema, Some(rule), value?);
        let is_it = if is_equality { form == asserted } else { rule.relates(&form, asserted) };
        if is_it {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What was found of an attribute and its kinds.
#[derive(Default)]
struct Seen {
    any: bool,
    found: bool,
    /// There is one that the requester may not compare.
    hidden: bool,
}

impl Seen {
    fn look(&mut self, may: bool, found: impl FnOnce() -> Result<bool>) -> Result<()> {
        (self.any, self.hidden) = (true, self.hidden || !may);
        self.found = self.found || (may && found()?);
        Ok(())
    }

    fn answer(self, attribute: &Attribute) -> Result<bool> {
        if !self.found && self.hidden {
            return Err(not_allowed(&format!("a kind of {}", attribute.name)));
        }
        if self.any { Ok(self.found) } else { Err(no_attribute(&attribute.name)) }
    }
}

fn not_allowed(what: &str) -> Failure {
    let text = format!("the access rules do not let you compare {what}");
    Failure::new(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text)
}

fn no_attribute(name: &str) -> Failure {
    Failure::new(ResultCode::NO_SUCH_ATTRIBUTE, format!("the entry has no attribute {name}"))
}

/// Whether the entry has a class that is a kind of the asserted one, given by its number.
fn class_is_there(view: &View<'_, '_>, number: &[u8]) -> bool {
    let schema = &view.scene.state.schema;
    let Some(wanted) = schema.find_class(number) else { return false };
    let classes = view.entry.of_type(schema.known().object_class).flat_map(|stored| stored.values());
    classes.filter_map(|name| schema.find_class(name)).any(|class| class.is_a(wanted.id))
}
