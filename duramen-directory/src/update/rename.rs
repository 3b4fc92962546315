//! Modify DN (RFC 4511 section 4.9): a leaf or a subtree, to a new name and perhaps a new parent. It is one key that
//! changes, whatever is below.

use duramen_ldap::dn::Rdn;
use duramen_ldap::message::{ModifyDnRequest, ResultCode};

use super::add::may_change_children;
use super::batch::Batch;
use super::check;
use super::context::{Context, Stamp};
use super::draft::Draft;
use super::{constraints, naming, structure};
use crate::access::{Level, What};
use crate::attribute::form;
use crate::base;
use crate::entry::Entry;
use crate::failure::{Failure, Result, bad_name, damaged};
use crate::history;
use crate::names::{self, child_key};
use crate::schema::{Attribute, AttributeSet, ClassId, Schema};
use crate::tables::{Id, id_of};
use crate::view::View;

fn fail<T>(code: ResultCode, text: String) -> Result<T> {
    Err(Failure::new(code, text))
}

/// Decides what a modify DN does.
pub(crate) fn prepare(context: &Context<'_>, request: &ModifyDnRequest<'_>) -> Result<Batch> {
    let rdn = Rdn::parse(request.new_rdn).map_err(|error| bad_name(request.new_rdn, error))?;
    let normalized_rdn = names::judged_rdn(context.schema(), rdn.as_str())?;
    let new = naming::pairs(context.schema(), rdn.as_str())?;
    let id = context.find(request.name)?;
    let entries = context.scene.tables.entry()?;
    let (entry, name) = (names::entry(&entries, id)?, names::name_of(&entries, id)?);
    if entry.parent == 0 {
        return fail(ResultCode::UNWILLING_TO_PERFORM, format!("{name} is a suffix: it cannot be renamed"));
    }
    let view = View::new(&context.scene, id, entry, &name).asked_by(request.name);
    context.require(&view, What::Entry, Level::Write)?;
    context.check_assertion(&view)?;
    let leaves = if request.new_superior.is_some() { Level::Delete } else { Level::Write };
    may_change_children(context, entry.parent, None, leaves)?;
    let parent = new_parent(context, id, &entry, request.new_superior)?;
    let key = child_key(parent, &normalized_rdn);
    if let Some(found) = context.scene.tables.name()?.get(&key)?
        && id_of(found, "table `name`")? != id
    {
        return fail(
            ResultCode::ENTRY_ALREADY_EXISTS,
            format!("there is an entry of the new name {:?} already", rdn.as_str()),
        );
    }
    context.pre_read(&view)?;
    let (draft, structural, stamp) = renamed(context, &view, (rdn.as_str(), &new), request.delete_old_rdn)?;
    if !context.is_relaxed() {
        let candidates = structure::named(context.schema(), structural, rdn.as_str())?;
        structure::moved(context.schema(), &context.scene.tables, id, &candidates, (parent, rdn.as_str()))?;
    }
    let written = names::strict(context.schema(), rdn.as_str()).unwrap_or_else(|| rdn.to_string());
    let marks = draft.marks(context.schema());
    let bytes = draft.build(context.schema(), parent, &written, marks)?;
    let changed = Entry::parse(&bytes).ok_or_else(|| damaged("the renamed entry"))?;
    context.post_read(id)?;
    let mut batch = Batch::default();
    let (mut old, mut new) = (context.keys(&entry, |_| true), context.keys(&changed, |_| true));
    super::large_changes(context, (id, Some(&entry)), &draft, (&mut old, &mut new), &mut batch)?;
    batch.index(id, Some(old), Some(new));
    let old_key = names::key_of(context.schema(), &entry)?;
    context.note(&mut batch, id, history::What::Renamed(old_key.clone()), stamp);
    let superior = request.new_superior.map(|_| parent);
    context.audit_rename(&mut batch, &name, (&written, request.delete_old_rdn, superior))?;
    batch.delete_name(old_key);
    batch.put_name(key, id, changed.marks());
    batch.add_children(entry.parent, -1);
    batch.add_children(parent, 1);
    batch.change_entry(id, bytes);
    Ok(batch)
}

fn new_parent(context: &Context<'_>, id: Id, entry: &Entry<'_>, new_superior: Option<&str>) -> Result<Id> {
    let Some(name) = new_superior else { return Ok(entry.parent) };
    let parent = context.find(name)?;
    let entries = context.scene.tables.entry()?;
    if names::is_within(&entries, parent, id)? {
        let (below, written) = (names::entry(&entries, parent)?, names::name_of(&entries, parent)?);
        let view = View::new(&context.scene, parent, below, &written).asked_by(name);
        if !view.allows(What::Entry, Level::Disclose) {
            return Err(base::hidden(&view));
        }
        return fail(ResultCode::UNWILLING_TO_PERFORM, format!("{name:?} is the entry itself or below it"));
    }
    // Each suffix is told of to other servers by itself, and what goes from one comes to the other: nobody could tell that from a
    // deletion that is later than what came.
    let state = context.scene.state;
    if state.member.is_some() && names::top(&entries, parent)? != names::top(&entries, id)? {
        let text =
            format!("{name:?} is below another suffix, and changes of each are taken together with other servers");
        return fail(ResultCode::AFFECTS_MULTIPLE_DSAS, text);
    }
    // Its own parent, too: of that nothing but leave to delete was asked.
    may_change_children(context, parent, Some(name), Level::Add)?;
    Ok(parent)
}

/// The entry with the values of its new name, and without those of the old one if that is asked for; its structural
/// class.
fn renamed<'e>(
    context: &'e Context<'e>,
    view: &View<'_, 'e>,
    (rdn, new): (&str, &[(&Attribute, Vec<u8>)]),
    delete_old: bool,
) -> Result<(Draft<'e>, ClassId, Stamp)> {
    let schema = context.schema();
    let mut draft = Draft::of(&view.entry);
    for (attribute, _) in new {
        check::modifiable(attribute)?;
    }
    if delete_old {
        remove_old(context, view, &mut draft, new)?;
    }
    let stored = Some((context.scene.tables, view.id));
    for (attribute, value) in new {
        // What is there already is not added.
        if !naming::has(schema, &draft, stored, attribute, value)? {
            context.require(view, What::Attribute(attribute.id, Some(value)), Level::Add)?;
        }
    }
    naming::complete(schema, &mut draft, stored, rdn)?;
    let before = Some((view.id, &view.entry));
    context.check_unique(&draft, before, |changed| new.iter().any(|(attribute, _)| attribute.id == changed))?;
    constraints::renamed(context, view, new, &draft)?;
    let structural = check::entry(schema, &draft, context.is_relaxed())?;
    let stamp = context.stamp(&mut draft, &AttributeSet::default());
    Ok((draft, structural, stamp))
}

fn remove_old(
    context: &Context<'_>,
    view: &View<'_, '_>,
    draft: &mut Draft<'_>,
    new: &[(&Attribute, Vec<u8>)],
) -> Result<()> {
    let schema: &Schema = context.schema();
    for (attribute, value) in naming::pairs(schema, view.entry.rdn())? {
        let old = form(schema, attribute.equality, &value);
        // One that is spelt otherwise in the new name is replaced, so that name and attribute read the same.
        let mut same =
            new.iter().filter(|(kept, new)| kept.id == attribute.id && form(schema, kept.equality, new) == old);
        if same.any(|(_, new)| draft.plain_values(attribute.id).any(|found| found == new.as_slice())) {
            continue;
        }
        // Who names an entry by its identifier, as where two had one name, does not take that from it.
        if check::modifiable(attribute).is_err() {
            continue;
        }
        context.require(view, What::Attribute(attribute.id, Some(&value)), Level::Delete)?;
        if let Some(outside) = draft.outside(attribute.id) {
            outside.remove(&context.scene.tables, view.id, &old)?;
        } else if let Some(found) = draft.find(attribute.id, &[]) {
            found.values_mut().retain(|value| form(schema, attribute.equality, value) != old);
        }
        draft.drop_empty();
    }
    Ok(())
}
