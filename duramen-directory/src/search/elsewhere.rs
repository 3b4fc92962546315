//! What is below other suffixes than a client keeps a copy of (RFC 4533): nothing that it is told of, unless it was below that one.
//!
//! Owns: whether it was, as far as the changes tell; whether the client has another entry that only has the same identifier. Must not
//! know: what is told of an entry, in which order.

use std::collections::HashMap;

use super::Run;
use super::course::{Departure, Told};
use crate::failure::Result;
use crate::history::{Change, Gone, Uuid, What};
use crate::index::{Reach, equal};
use crate::names;
use crate::state::State;
use crate::tables::{Id, Tables};

/// Changes without those of entries that were below another suffix than a base all the time. Where something was renamed among them
/// all stay: it, and with it what is below it, may have come from one suffix to the other.
pub(super) fn left_out(state: &State, tables: &Tables<'_>, base: Id, changes: Vec<Change>) -> Result<Vec<Change>> {
    let is_rename = |change: &Change| matches!(change.what, What::Renamed(_));
    if state.suffixes.len() == 1 || base == 0 || changes.iter().any(is_rename) {
        return Ok(changes);
    }
    let entries = tables.entry()?;
    let top = names::top(&entries, base)?;
    let mut concerns: HashMap<Id, bool> = HashMap::new();
    for change in &changes {
        // An id is given again once its entry is gone.
        let is_below = match &change.what {
            What::Deleted(gone) => is_beside(state, tables, base, gone)?,
            _ => entries.get(change.id.to_be_bytes())?.is_some() && names::top(&entries, change.id)? == top,
        };
        *concerns.entry(change.id).or_default() |= is_below;
    }
    Ok(changes.into_iter().filter(|change| concerns.get(&change.id) == Some(&true)).collect())
}

/// Whether an entry that is gone was called something below the same suffix as a base at last.
fn is_beside(state: &State, tables: &Tables<'_>, base: Id, gone: &Gone) -> Result<bool> {
    let entries = tables.entry()?;
    let top = names::entry(&entries, names::top(&entries, base)?)?;
    let suffix = names::normalize(&state.schema, top.rdn())?;
    // Who has a name that the schema does not know any more may have been anywhere.
    let name = names::normalize(&state.schema, &gone.name);
    Ok(name.map_or(true, |name| names::below_suffix(&name, &suffix).is_some()))
}

impl Run<'_> {
    /// Whether an identifier by which the client would be told that an entry is gone is that of another one, which it has: each of
    /// two suffixes may have one with it. `id`: that of the entry, if it is there.
    pub(super) fn has_another(&self, uuid: &Uuid, id: Option<Id>) -> Result<bool> {
        let state = self.scene.state;
        if state.suffixes.len() == 1 {
            return Ok(false);
        }
        let all = equal(&self.scene.tables.index()?, state.schema.known().entry_uuid, uuid, &Reach::all())?;
        for other in all.iter().filter(|other| Some(*other) != id) {
            if names::is_within(&self.entries, other, self.area.base)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// As [`Run::has_another`], if an entry is told of that is there no more.
    pub(super) fn is_anothers(&self, told: &Told) -> Result<bool> {
        let Told::Gone(_, Departure { gone, .. }) = told else { return Ok(false) };
        // Below the same suffix it may have come again, with the same identifier.
        let (state, tables) = (self.scene.state, &self.scene.tables);
        Ok(self.has_another(&gone.uuid, None)? && !is_beside(state, tables, self.area.base, gone)?)
    }
}
