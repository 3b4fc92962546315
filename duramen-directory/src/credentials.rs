//! What somebody can be authenticated by.
//!
//! Must not know: how passwords are checked, what follows from it.

use duramen_ldap::message::ResultCode;

use crate::access::{Level, What};
use crate::entry::{Entry, mark};
use crate::failure::Result;
use crate::inner::Inner;
use crate::meta;
use crate::names::{self, Found};
use crate::policy::{Lock, moment_of};
use crate::requester::{Name, Requester};
use crate::schema::AttributeId;
use crate::state::State;
use crate::tables::Tables;
use crate::view::{Members, Scene, View};

/// So many stored passwords of an entry are tried at most. Who may write the own ones cannot have the server busy for hours
/// with a bind.
const PASSWORDS_MAX: usize = 10;

/// What somebody can be authenticated by.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The entry's name as the entry has it, the administrator's as the configuration does, of whom there is no entry in the
    /// strict form, with types by the schema's names.
    pub name: Name,
    /// Stored passwords, in the form of RFC 2307.
    pub stored: Vec<Vec<u8>>,
    /// Whether it is the administrator's name.
    pub is_administrator: bool,
}

impl std::fmt::Debug for Credentials {
    // Hashes do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Credentials({}, {} stored)", self.name.written, self.stored.len())
    }
}

impl Inner {
    /// What somebody can be authenticated by.
    pub(crate) fn credentials(&self, requester: &Requester, name: &str) -> Result<Credentials> {
        let state = self.state();
        let normalized = names::normalize(&state.schema, name)?;
        let administrator = state.administrator.as_ref().filter(|it| *it.name.normalized == normalized);
        let own = administrator.and_then(|it| it.password.clone()).map(String::into_bytes);
        let (password, most) = (state.schema.known().user_password, PASSWORDS_MAX - usize::from(own.is_some()));
        let found = match self.for_auth(requester, &normalized, password, most) {
            // Of him the configuration tells as much, whatever an import is doing.
            Err(failure) if failure.code == ResultCode::BUSY && administrator.is_some() => None,
            found => found?,
        };
        let name = match (&found, administrator) {
            // How it is written down says the entry, if there is one.
            (Some((written, _)), _) => Name { written: written.as_str().into(), normalized: normalized.into() },
            (None, Some(administrator)) => administrator.name.clone(),
            // Such as the subject of a certificate.
            (None, None) => {
                let written = names::strict(&state.schema, name).map_or_else(|| name.into(), Into::into);
                Name { written, normalized: normalized.into() }
            }
        };
        let of_entry = found.map(|(_, stored)| stored).unwrap_or_default();
        let stored = own.into_iter().chain(of_entry).collect();
        Ok(Credentials { name, stored, is_administrator: administrator.is_some() })
    }

    /// How the name of an entry is written, and so many values of an attribute at most, if `requester` may be authenticated
    /// by them. `None` if there is no entry of this normalized name.
    ///
    /// # Errors
    /// busy while an import fills the directory: the index, which says who is in a group, comes last.
    pub(crate) fn for_auth(
        &self,
        requester: &Requester,
        name: &str,
        attribute: AttributeId,
        most: usize,
    ) -> Result<Option<(String, Vec<Vec<u8>>)>> {
        let snapshot = self.db.read()?;
        meta::check_whole(self.number, &snapshot)?;
        let state = &*self.state_of(&snapshot)?;
        let (tables, naming) = (Tables::Snapshot(&snapshot), self.naming(state, &snapshot)?);
        let plan = state.rules.plan(requester, &Members::new(state, tables, Some(naming)));
        let scene = Scene { state, tables, naming: Some(naming), plan: &plan, more: None };
        let table = scene.tables.name()?;
        let Found::Entry(id) = names::find_in(naming, &table, &state.suffixes, name, 0)? else { return Ok(None) };
        let entry = names::entry(&scene.tables.entry()?, id)?;
        let written = scene.name_of(id, &entry)?;
        let view = View::new(&scene, id, entry, name);
        // None of these is somebody.
        let is_nobody = entry.marks() & (mark::ALIAS | mark::REFERRAL | mark::SUBENTRY) != 0;
        let is_password = attribute == state.schema.known().user_password;
        let is_locked = is_password && self.is_locked(state, &scene.tables, &entry)?;
        if is_nobody || is_locked || !view.allows(What::Attribute(attribute, None), Level::Auth) {
            return Ok(Some((written, Vec::new())));
        }
        // What stands under an option says something else than who he is.
        let stored = entry.of_type(attribute).filter(|stored| !stored.has_options);
        let mut values: Vec<Vec<u8>> =
            stored.flat_map(|stored| stored.values()).take(most).map(<[u8]>::to_vec).collect();
        if entry.large().any(|large| large.id == attribute) {
            view.large(attribute, &mut |value| {
                if values.len() < most {
                    values.push(value.to_vec());
                }
            })?;
        }
        Ok(Some((written, values)))
    }

    /// Whether nobody is authenticated by an entry's passwords now: somebody has decided so, for good, yet or any more
    /// (draft-behera-ldap-password-policy-10 sections 5.3.3, 5.3.13 and 5.3.14), or its policy does.
    fn is_locked(&self, state: &State, tables: &Tables<'_>, entry: &Entry<'_>) -> Result<bool> {
        let (schema, known) = (&*state.schema, state.schema.known());
        // Most have nothing of the kind, and the clock is for updates.
        let now = || self.clock.now();
        let has = |id, is_it: &dyn Fn(&[u8]) -> bool| entry.of_type(id).flat_map(|found| found.values()).any(is_it);
        let by_somebody = has(known.account_locked_time, &|since| Lock::of(schema, since) == Some(Lock::ForGood))
            || has(known.password_start_time, &|start| moment_of(schema, start).is_some_and(|start| now() < start))
            || has(known.password_end_time, &|end| moment_of(schema, end).is_some_and(|end| end <= now()));
        match state.policies(*tables) {
            Some(policies) if !by_somebody => policies.locks(entry, now()),
            _ => Ok(by_somebody),
        }
    }
}
