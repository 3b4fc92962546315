//! Bringing a client's copy up to date (RFC 4533) of what is itself a copy, of what several servers change.
//!
//! Owns: what of it the client has not heard of. Must not know: what is said of each entry.
//!
//! Other copies of the same have other numbers for their changes, and hear of them in another order. So cookies do not say a number
//! of this one's, but which changes of each server the copy has had, as OpenLDAP's do: a client may go with it from one to another.

use duramen_ldap::control::SyncRequest;
use duramen_ldap::message::ResultCode;

use super::cookie::{self, Said};
use crate::clock::Moment;
use crate::failure::{Failure, Result};
use crate::history::{self, Span};
use crate::knowledge::Knowledge;
use crate::names;
use crate::state::State;
use crate::tables::Tables;

/// What is known of changes that several servers make.
#[derive(Clone)]
pub(super) struct Known {
    /// Up to which change of each all are known.
    pub changes: Knowledge,
    /// The suffix, normalized.
    suffix: String,
    /// The number of this server, where it makes some of them.
    own: Option<u16>,
}

/// Which changes a client has had.
pub(super) enum Had {
    /// The one with this number and all before it.
    UpTo(Vec<u8>),
    /// These of several servers.
    Changes(Knowledge),
}

impl Had {
    /// Whether it has had the change with this number.
    pub fn covers(&self, number: &[u8]) -> bool {
        match self {
            Had::UpTo(last) => number <= last.as_slice(),
            Had::Changes(changes) => changes.covers(number),
        }
    }
}

/// What is known of the changes of what is below a base, where several servers make them.
pub(super) fn known(state: &State, tables: &Tables<'_>, base: &str) -> Result<Option<Known>> {
    let base = names::normalize(&state.schema, base)?;
    let (Some(changes), Some(copy)) = (state.knowledge(tables, &base)?, state.copy_of(&base)) else { return Ok(None) };
    let own = state.member.map(|member| member.server);
    Ok(Some(Known { changes, suffix: copy.suffix.normalized.clone(), own }))
}

/// The server that makes all changes of what is below a base, if one does; 0 if it has no number.
pub(super) fn sole_server(state: &State, tables: &Tables<'_>, base: &str) -> Result<u16> {
    Ok(state.sole_server(tables, &names::normalize(&state.schema, base)?)?)
}

/// What is answered to a cookie that nobody has given for what is here.
pub(super) fn strange() -> Failure {
    let text = "the cookie is none of this directory as it is now: ask for all content, without a cookie";
    Failure::new(ResultCode::SYNC_REFRESH_REQUIRED, text)
}

/// The cookie of a client whose copy is as of a change, of this server if one makes all changes.
pub(super) fn cookie(caller: &str, (as_of, server): (Moment, u16), known: Option<&Known>) -> Vec<u8> {
    match known {
        Some(known) => cookie::cookie_of_several(caller, &known.changes),
        None => cookie::cookie(caller, as_of, server),
    }
}

impl Known {
    /// The number of the change up to which all is known to who asks by a cookie: what came behind it may be known there, too.
    /// `None` where all is to be told.
    ///
    /// # Errors
    /// Of a cookie that says nothing, and is not to be passed over.
    pub fn common(&self, tables: &Tables<'_>, span: Span, sync: SyncRequest<'_>) -> Result<Option<Moment>> {
        let cookie = sync.cookie.unwrap_or_default();
        let there = Knowledge::of_cookie(cookie);
        if there != Knowledge::default() {
            let history = tables.history()?;
            // Own changes have the number that they have in the history; who knows one has all that was there before it.
            let own = self.own.and_then(|own| Moment::of_csn(there.number_of(own)?.as_bytes()));
            let own = own.filter(|number| (span.start..=span.end).contains(number));
            let is_known = own.map(|own| history::is_known(&history, span, own)).transpose()?.unwrap_or(false);
            return Ok(history::common(&history, &self.suffix, &there)?.max(own.filter(|_| is_known)));
        }
        match cookie::said(cookie, 0) {
            Said::Nothing => Ok(None),
            _ if sync.reload_hint => Ok(None),
            _ => Err(strange()),
        }
    }

    /// Whether who asks by a cookie may have what came and went behind a number without having been here: nobody can tell him of
    /// it, only what is there.
    pub fn skips(&self, tables: &Tables<'_>, number: Moment, there: &Knowledge) -> Result<bool> {
        Ok(history::skips(&tables.history()?, (&self.suffix, self.own), number, there)?)
    }
}
