//! Identifiers that are given and not made: no two entries have the same (RFC 4530 section 2).
//!
//! Owns: whether an entry may have one, as far as an index can tell. Must not know: how those that are made here differ.

use duramen_ldap::message::ResultCode;
use uuid::Uuid;

use super::draft::Draft;
use crate::failure::{Failure, Result};
use crate::index::{Kind, Reach, equal};
use crate::schema::Schema;
use crate::state::State;
use crate::tables::{Id, Tables};

/// The identifier that an entry has.
pub(crate) fn identifier_of(schema: &Schema, draft: &Draft<'_>) -> Option<Uuid> {
    let value = draft.values(schema.known().entry_uuid).next()?;
    Uuid::try_parse_ascii(value).ok()
}

/// Whether an index tells who has an identifier: of entries of the open transaction too.
pub(crate) fn identifiers_are_indexed(state: &State) -> bool {
    state.ready.has_kind(state.schema.known().entry_uuid, Kind::Equality as u8)
}

/// Whether an entry other than `own` has the identifier.
pub(crate) fn is_identifier_of_another(
    state: &State,
    tables: &Tables<'_>,
    identifier: Uuid,
    own: Option<Id>,
) -> Result<bool> {
    if !identifiers_are_indexed(state) {
        return Ok(false);
    }
    let all = equal(&tables.index()?, state.schema.known().entry_uuid, identifier.as_bytes(), &Reach::all())?;
    Ok(all.iter().any(|id| Some(id) != own))
}

/// To say of an entry whose identifier another one has.
pub(crate) fn same_identifier(name: &str, identifier: Uuid) -> Failure {
    let text = format!(
        "{name}: another entry has the entryUUID {identifier}, and no two have the same (RFC 4530 section 2): \
         leave it out, and the entry gets one of its own"
    );
    Failure::new(ResultCode::CONSTRAINT_VIOLATION, text)
}
