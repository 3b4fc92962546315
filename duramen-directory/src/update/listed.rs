//! Whether a value is one of those that a search finds, in the state that an update is made in.
//!
//! Owns: how that is found out, by whoever makes the update. Must not know: why it is asked.

use duramen_ldap::attribute::Assertion;
use duramen_ldap::filter::{FilterBuf, Node};

use crate::access::{Level, What};
use crate::attribute::form;
use crate::constraint::Listing;
use crate::entry::mark;
use crate::failure::Result;
use crate::filter::Test;
use crate::index::{self, Kind, Reach};
use crate::names;
use crate::tables::Id;
use crate::view::{Part, Scene, View};

/// Whether a search for it finds an entry. Referral objects and subentries are none that a search finds.
pub(super) fn is_listed(scene: &Scene<'_>, listing: &Listing, value: &[u8]) -> Result<bool> {
    let Some((base, scope)) = &listing.region.base else { return Ok(false) };
    let Some(base) = names::find_entry(&scene.tables.name()?, &scene.state.suffixes, base)? else { return Ok(false) };
    if !asks(scene, base, |view| Ok(view.allows(What::Entry, Level::Search)))? {
        return Ok(false);
    }
    let area = Part { scene, base, scope: *scope };
    let test = test(scene, listing, value)?;
    let has = |id: Id| {
        asks(scene, id, |view| {
            let is_hidden = view.entry.marks() & (mark::REFERRAL | mark::SUBENTRY) != 0;
            Ok(!is_hidden && view.matches(&test)? == Some(true))
        })
    };
    match indexed(scene, listing, value)? {
        None => area.walk(has),
        Some(ids) => {
            for id in ids {
                if area.contains(id)? && has(id)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

/// Asks something of an entry.
fn asks(scene: &Scene<'_>, id: Id, question: impl FnOnce(&View<'_, '_>) -> Result<bool>) -> Result<bool> {
    let entry = names::entry(&scene.tables.entry()?, id)?;
    let name = scene.name_of(id, &entry)?;
    question(&View::new(scene, id, entry, &name))
}

/// What the filter of the URL asks, and that the value is there.
fn test(scene: &Scene<'_>, listing: &Listing, value: &[u8]) -> Result<Test> {
    let equal = |description: &String| {
        let filter = FilterBuf::new(&Node::Equality(Assertion { description, value }));
        scene.test(filter.as_filter())
    };
    let any = Test::Or(listing.attributes.iter().map(equal).collect::<Result<_>>()?);
    match &listing.region.filter {
        Some(filter) => Ok(Test::And(vec![scene.test(filter.as_filter())?, any])),
        None => Ok(any),
    }
}

/// The entries that have the value, and some more, if indices tell.
fn indexed(scene: &Scene<'_>, listing: &Listing, value: &[u8]) -> Result<Option<Vec<Id>>> {
    let (state, index, mut found) = (scene.state, scene.tables.index()?, Vec::new());
    for id in listing.types.iter().copied() {
        if !state.ready.has_kind(id, Kind::Equality as u8) {
            return Ok(None);
        }
        let form = form(&state.schema, state.schema.attribute(id).equality, value);
        found.extend(index::equal(&index, id, &form, &Reach::all())?.iter());
    }
    Ok(Some(found))
}
