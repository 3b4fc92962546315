//! Add (RFC 4511 section 4.7).

use duramen_ldap::dn::Dn;
use duramen_ldap::message::{AddRequest, ResultCode};
use uuid::{Builder, Uuid};

use super::batch::Batch;
use super::check;
use super::context::Context;
use super::draft::Draft;
use super::{constraints, naming, passwords, spelling, structure};
use crate::access::{Level, What};
use crate::attribute::describe_stored;
use crate::base::{self, Follow};
use crate::clock::Moment;
use crate::entry::{Entry, mark};
use crate::failure::{Failure, Result, bad_name, damaged};
use crate::history;
use crate::names::{self, child_key};
use crate::schema::{Attribute, AttributeId, Class, Schema};
use crate::tables::{Id, id_of, read_id};
use crate::view::View;

/// Where an entry is to be.
pub(crate) struct Place {
    pub parent: Id,
    /// Key in table `name`.
    pub key: Vec<u8>,
    /// RDN as it is written down; of a suffix the whole name.
    pub rdn: String,
}

/// Decides what an add does.
pub(crate) fn prepare(context: &Context<'_>, request: &AddRequest<'_>) -> Result<Batch> {
    let schema = context.schema();
    // What no other directory would make right comes first, then what is there already.
    let rdn = first_rdn(request.name)?;
    let normalized = names::judged(schema, request.name)?;
    if request.attributes.is_empty() {
        let text = "a new entry has attributes, objectClass at least: none were sent";
        return Err(Failure::new(ResultCode::PROTOCOL_ERROR, text));
    }
    let mut draft = draft(context, request)?;
    passwords::hashed(context, &mut draft);
    draft.attributes.iter().try_for_each(|attribute| check::values(schema, attribute))?;
    context.require_somebody()?;
    naming::complete(schema, &mut draft, None, rdn)?;
    let structural = check::entry(schema, &draft, context.is_relaxed())?;
    let candidates = if context.is_relaxed() { Vec::new() } else { structure::named(schema, structural, rdn)? };
    let place = place(context, request.name, normalized)?;
    if !context.is_relaxed() {
        structure::placed_below(schema, &context.scene.tables, &candidates, place.parent, rdn)?;
    }
    context.check_identifier(&draft, None, request.name)?;
    context.check_unique(&draft, None, |_| true)?;
    let (who, csn) = (context.requester_name(), schema.attribute(schema.known().entry_csn));
    let keeps_number = context.keeps_number(&draft);
    let stamp = context.stamp_of(keeps_number);
    if !keeps_number && (draft.has(csn.id) || !context.takes_numbers()) {
        draft.set(csn, context.csn(stamp.number).to_vec());
    }
    operational(schema, &mut draft, schema.class(structural), who, context.now, stamp.number)?;
    passwords::added(context, &mut draft)?;
    let id = next_id(context)?;
    let mut batch = store(context, draft, id, &place, request.name)?;
    context.note(&mut batch, id, history::What::Added, stamp);
    Ok(batch)
}

/// The RDN of a name.
fn first_rdn(name: &str) -> Result<&str> {
    let parsed = Dn::parse(name).map_err(|error| bad_name(name, error))?;
    match parsed.rdn() {
        Some(rdn) => Ok(rdn.as_str()),
        None => Err(Failure::new(ResultCode::ENTRY_ALREADY_EXISTS, "the root DSE is there already")),
    }
}

/// Finds out that there is no such entry, and what is above.
fn place(context: &Context<'_>, name: &str, normalized: String) -> Result<Place> {
    let scene = &context.scene;
    let parsed = Dn::parse(name).map_err(|error| bad_name(name, error))?;
    let table = scene.tables.name()?;
    if let Some(suffix) = scene.state.suffixes.iter().find(|suffix| suffix.normalized == normalized) {
        if names::find_entry(&table, &scene.state.suffixes, &normalized)?.is_some() {
            return Err(exists(name));
        }
        let key = child_key(0, &suffix.normalized);
        let name = names::strict(context.schema(), name).unwrap_or_else(|| name.to_string());
        return Ok(Place { parent: 0, key, rdn: name });
    }
    let (Some(rdn), Some(above)) = (parsed.rdn(), parsed.parent()) else {
        return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, "the root DSE is not to be added"));
    };
    if names::suffix_of(&scene.state.suffixes, &normalized).is_none() {
        return Err(base::elsewhere(scene, name));
    }
    let follow = Follow { aliases: false, manage: context.controls.manage_dsa_it, scope: None };
    let normalized = Dn::parse(&normalized).map_err(|error| bad_name(name, error))?;
    let normalized_above = normalized.parent().unwrap_or(Dn::ROOT).as_str().to_string();
    let parent = match base::find_normalized(scene, above.as_str(), normalized_above, follow) {
        // The referral has to lead to the new entry's own name.
        Err(failure) if failure.code == ResultCode::REFERRAL => {
            return Err(base::find(scene, name, follow).err().unwrap_or(failure));
        }
        found => found?,
    };
    let key = child_key(parent, normalized.rdn().map_or("", |rdn| rdn.as_str()));
    let there = table.get(&key)?.map(|found| id_of(found, "table `name`")).transpose()?;
    // Whoever may add an entry learns that one is there, and else those who may know of it.
    if let Some(there) = there
        && base::may_be_known(scene, there)?
    {
        return Err(exists(name));
    }
    may_change_children(context, parent, Some(above.as_str()), Level::Add)?;
    if there.is_some() {
        return Err(exists(name));
    }
    let rdn = names::strict(context.schema(), rdn.as_str()).unwrap_or_else(|| rdn.to_string());
    Ok(Place { parent, key, rdn })
}

fn exists(name: &str) -> Failure {
    Failure::new(ResultCode::ENTRY_ALREADY_EXISTS, format!("there is an entry {name:?} already"))
}

/// That the requester may add or take entries below one (`level` says which), and that it can have any. `asked`: the name
/// that this one was asked for by, if it was.
pub(crate) fn may_change_children(context: &Context<'_>, parent: Id, asked: Option<&str>, level: Level) -> Result<()> {
    if parent == 0 {
        return Ok(());
    }
    let entries = context.scene.tables.entry()?;
    let entry = names::entry(&entries, parent)?;
    let name = context.scene.name_of(parent, &entry)?;
    let view = View::new(&context.scene, parent, entry, &name).asked_by(asked.unwrap_or(&name));
    context.require(&view, What::Children, level)?;
    if entry.marks() & mark::SUBENTRY != 0 && level != Level::Delete {
        let text = format!("{name} is a subentry: nothing can be below it (RFC 3672 section 2)");
        return Err(Failure::new(ResultCode::OBJECT_CLASS_VIOLATION, text));
    }
    if entry.marks() & mark::ALIAS != 0 {
        let text = format!("{name} is an alias: nothing can be below it (RFC 4512 2.6)");
        return Err(Failure::new(ResultCode::ALIAS_PROBLEM, text));
    }
    Ok(())
}

/// The attributes of the request. Operational ones are taken from those who may, with the relax control.
fn draft<'e>(context: &Context<'e>, request: &AddRequest<'e>) -> Result<Draft<'e>> {
    let mut draft = Draft::default();
    for attribute in request.attributes {
        let described = describe_stored(context.schema(), attribute.description)?;
        let known = context.schema().known();
        if !context.is_relaxed() {
            check::modifiable(described.attribute)?;
        } else if known.is_derived(described.attribute.id)
            || described.attribute.id == known.entry_csn && !context.takes_numbers()
        {
            continue;
        }
        let values = attribute.values.iter().map(|value| spelling::value(context.schema(), described.attribute, value));
        draft.values_mut(&described)?.extend(values);
    }
    Ok(draft)
}

/// Sets what the directory itself says of a new entry, where it is not said already.
pub(crate) fn operational<'e>(
    schema: &'e Schema,
    draft: &mut Draft<'e>,
    structural: &'e Class,
    who: &str,
    now: Moment,
    number: Moment,
) -> Result<()> {
    let known = schema.known();
    let when = now.timestamp_bytes();
    check::said_structural(schema, draft, structural)?;
    draft.set(schema.attribute(known.structural_object_class), structural.name.as_bytes());
    let values: [(AttributeId, &dyn Fn() -> Vec<u8>); 6] = [
        (known.entry_uuid, &|| identifier(now).to_string().into_bytes()),
        (known.creators_name, &|| who.into()),
        (known.create_timestamp, &|| when.to_vec()),
        (known.entry_csn, &|| number.csn().to_vec()),
        (known.modifiers_name, &|| who.into()),
        (known.modify_timestamp, &|| when.to_vec()),
    ];
    set_missing(schema, draft, &values);
    Ok(())
}

/// An identifier that begins with the time (RFC 9562 section 5.7), so that those of entries that come one after the other
/// are neighbours in the index.
fn identifier(now: Moment) -> Uuid {
    let random = Uuid::new_v4();
    let random = random.as_bytes().last_chunk().expect("16 bytes have a last ten");
    Builder::from_unix_timestamp_millis(now.0 / 1000, random).into_uuid()
}

fn set_missing<'e>(schema: &'e Schema, draft: &mut Draft<'e>, values: &[(AttributeId, &dyn Fn() -> Vec<u8>)]) {
    for (id, value) in values {
        if !draft.has(*id) {
            let attribute: &Attribute = schema.attribute(*id);
            draft.set(attribute, value());
        }
    }
}

fn next_id(context: &Context<'_>) -> Result<Id> {
    let last = context.scene.tables.entry()?.last()?;
    let last = last.map_or(Some(0), |(key, _)| read_id(key)).ok_or_else(|| damaged("table `entry`"))?;
    last.checked_add(1).ok_or_else(|| Failure::new(ResultCode::UNWILLING_TO_PERFORM, "there are no more ids"))
}

fn parsed(bytes: &[u8]) -> Result<Entry<'_>> {
    Entry::parse(bytes).ok_or_else(|| damaged("the new entry"))
}

/// That the requester may add each value that an entry has, but for those that the directory sets.
fn may_have(context: &Context<'_>, view: &View<'_, '_>, draft: &Draft<'_>) -> Result<()> {
    let is_given = |id: AttributeId| !context.schema().attribute(id).no_user_modification;
    for attribute in draft.attributes.iter().filter(|attribute| is_given(attribute.id)) {
        attribute
            .values()
            .try_for_each(|value| context.require(view, What::Attribute(attribute.id, Some(value)), Level::Add))?;
    }
    Ok(())
}

fn store(context: &Context<'_>, mut draft: Draft<'_>, id: Id, place: &Place, name: &str) -> Result<Batch> {
    let schema = context.schema();
    // Who asks about it sees all of it, also what nobody would find outside of the entry yet.
    let mut bytes = draft.build(schema, place.parent, &place.rdn, draft.marks(schema))?;
    let view = View::new(&context.scene, id, parsed(&bytes)?, name);
    context.require(&view, What::Entry, Level::Add)?;
    if context.scene.state.rules.are_of_content() {
        may_have(context, &view, &draft)?;
    }
    context.check_assertion(&view)?;
    constraints::added(context, &view, &draft)?;
    let mut batch = Batch::default();
    context.audit_add(&mut batch, name, &draft);
    draft.move_out(schema, id);
    if !draft.large.is_empty() {
        bytes = draft.build(schema, place.parent, &place.rdn, draft.marks(schema))?;
    }
    let entry = parsed(&bytes)?;
    context.post_read(id)?;
    let mut keys = context.keys(&entry, |_| true);
    super::large_changes(context, (id, None), &draft, (&mut Default::default(), &mut keys), &mut batch)?;
    batch.index(id, None, Some(keys));
    batch.put_name(place.key.clone(), id, entry.marks());
    batch.add_children(place.parent, 1);
    batch.put_entry(id, bytes);
    Ok(batch)
}
