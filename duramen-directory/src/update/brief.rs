//! Which updates are brief: a thread that also searches may make them without keeping its other clients waiting.
//!
//! It is asked before an update is queued, of a snapshot that may be older than what the update is made in. So it says
//! only who is to do the work, and what is wrong with a request is found by who does it.

use duramen_ldap::ber::List;
use duramen_ldap::message::{Change, ChangeKind, Control, ModifyRequest, Request};
use duramen_ldap::oid::control as oid;

use crate::failure::Result;
use crate::inner::Inner;
use crate::names::{self, Found};
use crate::tables::Tables;

/// A request that is longer keeps a thread that also searches for too long.
pub(super) const BRIEF_BYTES: usize = 16 << 10;
/// So does one that takes more values out of table `value`, at some microseconds each.
const VALUES_MAX: u32 = 512;

impl Inner {
    /// Whether an update whose message has so many bytes is brief.
    pub(super) fn is_brief(&self, request: &Request<'_>, controls: List<'_, Control<'_>>, bytes: usize) -> bool {
        bytes <= BRIEF_BYTES
            && is_of_one_entry(request, controls)
            && (!matches!(request, Request::Delete(_)) || self.state().references.is_empty())
            && !self.state().has_listed_values()
            && !self.is_of_many_values(request, controls).unwrap_or(false)
    }

    /// Whether it deletes, replaces or shows very many values, which it need not name.
    fn is_of_many_values(&self, request: &Request<'_>, controls: List<'_, Control<'_>>) -> Result<bool> {
        let name = match request {
            Request::Delete(name) => *name,
            Request::Modify(ModifyRequest { name, changes }) if changes.iter().any(is_of_all_values) => *name,
            Request::Modify(ModifyRequest { name, .. }) if has(controls, &[oid::PRE_READ, oid::POST_READ]) => *name,
            _ => return Ok(false),
        };
        let snapshot = self.db.read()?;
        let tables = Tables::Snapshot(&snapshot);
        // Mostly no entry has so many.
        if tables.value()?.len() <= u64::from(VALUES_MAX) {
            return Ok(false);
        }
        let state = self.state();
        let (naming, name) = (self.naming(&state, &snapshot)?, names::normalize(&state.schema, name)?);
        match names::find_in(naming, &tables.name()?, &state.suffixes, &name, 0)? {
            Found::Entry(id) => {
                let entry = names::entry(&tables.entry()?, id)?;
                Ok(entry.large().map(|large| u64::from(large.count)).sum::<u64>() > u64::from(VALUES_MAX))
            }
            _ => Ok(false),
        }
    }
}

/// Whether it changes one entry, and not all below it.
fn is_of_one_entry(request: &Request<'_>, controls: List<'_, Control<'_>>) -> bool {
    match request {
        Request::Add(_) | Request::Modify(_) => true,
        Request::Delete(_) => !has(controls, &[oid::TREE_DELETE]),
        _ => false,
    }
}

/// Whether a change is of all values that an attribute has.
fn is_of_all_values(change: Change<'_>) -> bool {
    match change.kind {
        ChangeKind::Add => false,
        ChangeKind::Delete => change.attribute.values.is_empty(),
        _ => true,
    }
}

fn has(controls: List<'_, Control<'_>>, numbers: &[&str]) -> bool {
    controls.iter().any(|control| numbers.contains(&control.oid))
}
