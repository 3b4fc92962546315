//! Delete (RFC 4511 section 4.8), of a leaf or, by the tree delete control, of all below too.

use duramen_ldap::message::ResultCode;

use super::add::may_change_children;
use super::batch::Batch;
use super::context::Context;
use crate::access::{Level, What};
use crate::entry::Entry;
use crate::failure::{Failure, Result};
use crate::filter::each_value;
use crate::history::{self, Gone, uuid_of};
use crate::index::Extractor;
use crate::names;
use crate::tables::Id;
use crate::view::View;

/// Decides what a delete does.
pub(crate) fn prepare(context: &Context<'_>, name: &str) -> Result<Batch> {
    let id = context.find(name)?;
    let entries = context.scene.tables.entry()?;
    let entry = names::entry(&entries, id)?;
    let written = context.scene.name_of(id, &entry)?;
    let view = View::new(&context.scene, id, entry, &written).asked_by(name);
    context.require(&view, What::Entry, Level::Delete)?;
    may_change_children(context, entry.parent, None, Level::Delete)?;
    context.check_assertion(&view)?;
    let children = names::child_count(&context.scene.tables.name()?, id)?;
    if children > 0 && !context.controls.tree_delete {
        let text =
            format!("{written} has {children} entries below it: delete them first, or use the tree delete control");
        return Err(Failure::new(ResultCode::NOT_ALLOWED_ON_NON_LEAF, text));
    }
    context.pre_read(&view)?;
    let mut batch = Batch::default();
    batch.add_children(entry.parent, -1);
    // Whoever follows what happens takes nothing away that has something below it.
    for id in subtree(context, id)?.into_iter().rev() {
        one(context, id, &mut batch)?;
    }
    Ok(batch)
}

/// An entry and all below it.
fn subtree(context: &Context<'_>, top: Id) -> Result<Vec<Id>> {
    let table = context.scene.tables.name()?;
    let (mut found, mut done) = (vec![top], 0);
    let most = Some(context.scene.state.limits.tree_delete).filter(|&most| most > 0).unwrap_or(usize::MAX);
    while let Some(&id) = found.get(done) {
        done += 1;
        names::children(&table, id, |child, _| {
            found.push(child);
            found.len() <= most
        })?;
        if found.len() > most {
            let text = format!(
                "more than {most} entries would be deleted at once (limits.tree_delete): delete parts of the subtree first"
            );
            return Err(Failure::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
        }
    }
    Ok(found)
}

fn one(context: &Context<'_>, id: Id, batch: &mut Batch) -> Result<()> {
    let entries = context.scene.tables.entry()?;
    let entry = names::entry(&entries, id)?;
    if context.scene.plan.everywhere(None, Level::Delete) != Some(true) {
        let name = names::name_of(&entries, id)?;
        let level = if context.controls.relax { Level::Manage } else { Level::Delete };
        if !View::new(&context.scene, id, entry, &name).allows(What::Entry, level) {
            // Which one it is may be what is not to be known.
            let text = "the access rules do not let you delete all that is below the entry";
            return Err(Failure::new(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text));
        }
    }
    batch.index(id, Some(keys(context, id, &entry)?), None);
    let key = names::key_of(context.schema(), &entry)?;
    if context.scene.state.history > 0 {
        let uuid = uuid_of(context.schema(), &entry).unwrap_or_default();
        let gone = Gone { uuid, key: key.clone(), name: names::name_of(&entries, id)? };
        context.note(batch, id, history::What::Deleted(gone), context.stamp_of(false));
    }
    context.audit_delete(batch, id)?;
    batch.delete_name(key);
    let children = i64::from(names::child_count(&context.scene.tables.name()?, id)?);
    batch.add_children(id, -children);
    batch.delete_entry(id);
    Ok(())
}

/// All keys of an entry in the index, those of values that are outside too.
fn keys(context: &Context<'_>, id: Id, entry: &Entry<'_>) -> Result<crate::index::KeySet> {
    let mut keys = context.keys(entry, |_| true);
    let mut extractor = Extractor::new(context.schema(), &context.scene.state.kept);
    for large in entry.large() {
        each_value(&context.scene.tables, id, entry, large.id, |value| {
            extractor.value(large.id, value, &mut |key| keys.insert(key));
            Ok(())
        })?;
    }
    Ok(keys)
}
