//! Judging passwords in the state that the tables have: of those who authenticate, where something may be noted down with
//! that, and those of requests, before these are queued. To verify what is costly to verify while other updates wait would
//! have all of them wait for some tenths of a second.
//!
//! Owns: when what policies say is asked. Must not know: what they say, connections.
//!
//! Two changes of one password at once may each be judged by what was there before both: each is a password that had not been
//! used by then.

use std::time::Duration;

use duramen::{Durability, WriteTxn};
use duramen_ldap::attribute::Attribute;
use duramen_ldap::control::{PasswordError, PasswordPolicyResponse};
use duramen_ldap::message::{ChangeKind, ModifyRequest, Request, ResultCode};

use crate::attribute::describe_stored;
use crate::entry::Entry;
use crate::failure::{Failure, Result};
use crate::inner::Inner;
use crate::meta;
use crate::names;
use crate::password::{self, Scheme};
use crate::policy::{Given, Governed, Judgement, Outcome, Proof, is_of_past};
use crate::requester::Requester;
use crate::schema::Schema;
use crate::state::State;
use crate::tables::{Id, Ids, Tables};
use crate::update;

/// So many passwords of a request are hashed at most: each may take a tenth of a second.
const HASHED_MAX: usize = 8;

/// So long at most is what is to be noted down waited with: whoever comes has a thread meanwhile.
const NOTED_WITHIN: Duration = Duration::from_secs(1);

impl Inner {
    /// Whether any are in force.
    pub(crate) fn has_policies(&self) -> bool {
        self.state().password_policies.is_some()
    }

    /// What the policy of the entry of a normalized name says to its password, which was found right or wrong; `None` if that
    /// is to be noted down, which [`Inner::judge`] does.
    pub(crate) fn judge_now(&self, name: &str, is_right: bool) -> Result<Option<Judgement>> {
        let outcome = self.outcome(name, is_right)?;
        Ok((outcome.edits.is_empty() || self.is_read_only()).then_some(outcome.judgement))
    }

    /// As [`Inner::judge_now`], and notes down what is to be noted. That need not survive a power cut.
    pub(crate) fn judge(&self, name: &str, is_right: bool) -> Result<Judgement> {
        if let Some(judgement) = self.judge_now(name, is_right)? {
            return Ok(judgement);
        }
        match self.noted(name, is_right) {
            Ok(Some(judgement)) => return Ok(judgement),
            Ok(None) => {}
            // On a full disk, or while a tool makes indices anew, people who come have to be let in all the same.
            Err(failure) => tracing::warn!("what a password policy wants noted down of {name:?} is not: {failure}"),
        }
        Ok(self.outcome(name, is_right)?.judgement)
    }

    /// Judges, and notes down what is to be noted; nothing if there is nothing to note, or it may not be now.
    fn noted(&self, name: &str, is_right: bool) -> Result<Option<Judgement>> {
        let mut txn = self.db.begin_write_within(NOTED_WITHIN)?;
        self.audit.catch_up()?;
        txn.set_durability(Durability::Relaxed);
        let judgement = self.note(&mut txn, name, is_right)?;
        if judgement.is_some() {
            txn.commit()?;
            self.watchers.wake();
        }
        Ok(judgement)
    }

    fn outcome(&self, name: &str, is_right: bool) -> Result<Outcome> {
        if !self.has_policies() {
            return Ok(Outcome::default());
        }
        let snapshot = self.db.read()?;
        let state = &*self.state_of(&snapshot)?;
        Ok(self.judged(state, Tables::Snapshot(&snapshot), name, is_right)?.1)
    }

    /// The entry, if it has a policy, and what that says.
    fn judged(&self, state: &State, tables: Tables<'_>, name: &str, is_right: bool) -> Result<(Option<Id>, Outcome)> {
        let Some(in_force) = state.policies(tables) else { return Ok((None, Outcome::default())) };
        let Some(Governed { id, policy, account, .. }) = in_force.governed(name)? else {
            return Ok((None, Outcome::default()));
        };
        let outcome = policy.judge(&in_force.policies.types, &account, is_right, self.clock.now());
        let notice = &outcome.judgement.notice;
        if notice.error != Some(PasswordError::AccountLocked) || in_force.policies.tells_locked {
            return Ok((Some(id), outcome));
        }
        let judgement = Judgement { notice: PasswordPolicyResponse::default(), ..outcome.judgement };
        Ok((Some(id), Outcome { judgement, ..outcome }))
    }

    /// As [`Inner::noted`], in a transaction.
    fn note(&self, txn: &mut WriteTxn<'_>, name: &str, is_right: bool) -> Result<Option<Judgement>> {
        let ids = Ids::open(txn)?;
        if meta::is_importing(txn)? {
            return Ok(None);
        }
        let state = &*self.state_in(txn, ids)?;
        let (id, outcome) = self.judged(state, Tables::Txn(txn, ids), name, is_right)?;
        let Some(id) = id.filter(|_| self.why_no_updates(state).is_none() && !outcome.edits.is_empty()) else {
            return Ok(None);
        };
        let batch = update::note(state, (txn, ids), self.clock.now(), id, &outcome.edits)?;
        batch.apply(txn, ids)?;
        if outcome.locks {
            tracing::info!("{name:?} is locked, after too many wrong passwords");
        }
        Ok(Some(outcome.judgement))
    }

    /// Whether the password of the entry of a normalized name is to be changed before anything else.
    pub(crate) fn must_change(&self, name: &str) -> Result<bool> {
        let snapshot = self.db.read()?;
        let state = &*self.state_of(&snapshot)?;
        let Some(policies) = state.policies(Tables::Snapshot(&snapshot)) else { return Ok(false) };
        let governed = policies.governed(name)?;
        Ok(governed.is_some_and(|governed| governed.policy.must_change && governed.account.is_reset))
    }

    /// Finds out about the passwords of a request what may take long; makes the forms in which those that come in clear text are
    /// to be stored, if they are to be.
    pub(crate) fn prove(&self, requester: &Requester, request: &Request<'_>, scheme: Option<Scheme>) -> Result<Proof> {
        let hashed = match scheme {
            Some(scheme) if !requester.is_anonymous() => hashed(scheme, &new_in_clear(&self.state().schema, request))?,
            _ => Vec::new(),
        };
        let Request::Modify(modify) = request else { return Ok(Proof { hashed, ..Proof::default() }) };
        let judged = self.of_own(requester, modify.name, |state, governed| {
            let of = |is_meant: fn(ChangeKind) -> bool| passwords(&state.schema, changed(modify, is_meant));
            let (new, deleted) = (of(|kind| kind != ChangeKind::Delete), of(|kind| kind == ChangeKind::Delete));
            // One of each is what can be meant: who sends a thousand is not to have a thousand verified.
            let is_used = |new: &[u8]| is_of_past(&state.schema, (&governed.policy, &governed.entry), Given::of(new));
            let looked_at = new.last().map(|new| (new.to_vec(), is_used(new)));
            let stored = deleted.first().and_then(|given| stored_form(&state.schema, &governed.entry, given));
            Some(Proof { looked_at, stored, ..Proof::default() })
        })?;
        let proof = match judged {
            Some(proof) => proof,
            None if scheme.is_some() => Proof { stored: self.deleted(requester, modify)?, ..Proof::default() },
            None => Proof::default(),
        };
        Ok(Proof { hashed, ..proof })
    }

    /// A password in clear text that a modify is to delete, with the form in which the entry has it, where no policy asks for that:
    /// the requester's own, or whosever of the administrator.
    fn deleted(&self, requester: &Requester, modify: &ModifyRequest<'_>) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let snapshot = self.db.read()?;
        let (state, tables) = (&*self.state_of(&snapshot)?, Tables::Snapshot(&snapshot));
        let Some(given) = deleted_in_clear(&state.schema, modify) else { return Ok(None) };
        let Ok(name) = names::normalize(&state.schema, modify.name) else { return Ok(None) };
        if !requester.is_administrator && *name != *requester.name.normalized {
            return Ok(None);
        }
        let Some(id) = names::find_entry(&tables.name()?, &state.suffixes, &name)? else { return Ok(None) };
        Ok(stored_form(&state.schema, &names::entry(&tables.entry()?, id)?, given))
    }

    /// The same of a password in clear text that an entry is to have in another form. `has_old`: its old one was sent along,
    /// and is right.
    pub(crate) fn prove_new(&self, requester: &Requester, name: &str, clear: &[u8], has_old: bool) -> Result<Proof> {
        let looked_at = self.of_own(requester, name, |state, governed| {
            let is_used = is_of_past(&state.schema, (&governed.policy, &governed.entry), Given::Clear(clear));
            Some((clear.to_vec(), is_used))
        })?;
        Ok(Proof { clear: Some(clear.to_vec()), looked_at, has_old, ..Proof::default() })
    }

    /// Looks at an entry that is governed by a policy, if it is the requester's own. Of others' nothing is looked at before it
    /// is known that he may change them: how long it takes would tell of their passwords.
    fn of_own<T: Default>(
        &self,
        requester: &Requester,
        name: &str,
        look: impl FnOnce(&State, &Governed<'_>) -> T,
    ) -> Result<T> {
        if !self.has_policies() || requester.is_administrator {
            return Ok(T::default());
        }
        let snapshot = self.db.read()?;
        let state = &*self.state_of(&snapshot)?;
        let is_own = names::normalize(&state.schema, name).is_ok_and(|name| *name == *requester.name.normalized);
        let Some(policies) = state.policies(Tables::Snapshot(&snapshot)).filter(|_| is_own) else {
            return Ok(T::default());
        };
        let governed = policies.governed(&requester.name.normalized)?;
        Ok(governed.map(|governed| look(state, &governed)).unwrap_or_default())
    }
}

/// The attributes in the changes of some kinds.
fn changed<'m>(
    modify: &ModifyRequest<'m>,
    is_meant: impl Fn(ChangeKind) -> bool,
) -> impl Iterator<Item = Attribute<'m>> {
    modify.changes.iter().filter(move |change| is_meant(change.kind)).map(|change| change.attribute)
}

/// The passwords in some attributes.
fn passwords<'m>(schema: &Schema, attributes: impl Iterator<Item = Attribute<'m>>) -> Vec<&'m [u8]> {
    let is_password = |attribute: &Attribute<'_>| {
        let described = describe_stored(schema, attribute.description);
        described.is_ok_and(|it| it.attribute.id == schema.known().user_password)
    };
    attributes.filter(is_password).flat_map(|attribute| attribute.values.iter()).collect()
}

/// Whether an update gives an entry a password in clear text, or is to delete one.
pub(crate) fn names_clear_password(schema: &Schema, request: &Request<'_>) -> bool {
    let deletes = matches!(request, Request::Modify(modify) if deleted_in_clear(schema, modify).is_some());
    deletes || !new_in_clear(schema, request).is_empty()
}

/// The first password in clear text that is to be deleted.
fn deleted_in_clear<'m>(schema: &Schema, modify: &ModifyRequest<'m>) -> Option<&'m [u8]> {
    let deleted = passwords(schema, changed(modify, |kind| kind == ChangeKind::Delete));
    deleted.into_iter().find(|deleted| matches!(Given::of(deleted), Given::Clear(_)))
}

/// New passwords of a request that are in clear text.
fn new_in_clear<'m>(schema: &Schema, request: &Request<'m>) -> Vec<&'m [u8]> {
    let mut new = match request {
        Request::Add(add) => passwords(schema, add.attributes.iter()),
        Request::Modify(modify) => passwords(schema, changed(modify, |kind| kind != ChangeKind::Delete)),
        _ => Vec::new(),
    };
    new.retain(|new| matches!(Given::of(new), Given::Clear(_)));
    new
}

/// Passwords in clear text, as they were sent, with the forms that are made of them.
fn hashed(scheme: Scheme, sent: &[&[u8]]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    if sent.len() > HASHED_MAX {
        let text =
            format!("userPassword: {} in clear text are more than {HASHED_MAX}, which are hashed at once", sent.len());
        return Err(Failure::new(ResultCode::UNWILLING_TO_PERFORM, text));
    }
    let made = |sent: &&[u8]| {
        let (Given::Clear(clear) | Given::Stored(clear)) = Given::of(sent);
        // The empty one is no password, and fails by that.
        if clear.is_empty() {
            return None;
        }
        let stored = password::hash(scheme, clear).map_err(|error| {
            let text = format!("userPassword: it cannot be hashed as {scheme}: {error}");
            Failure::new(ResultCode::UNWILLING_TO_PERFORM, text)
        });
        Some(stored.map(|stored| (sent.to_vec(), stored)))
    };
    sent.iter().filter_map(made).collect()
}

/// A password in clear text with the form in which an entry has it, if that is another.
fn stored_form(schema: &Schema, entry: &Entry<'_>, given: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let stored = || entry.of_type(schema.known().user_password).flat_map(|found| found.values());
    if stored().any(|stored| stored == given) {
        return None;
    }
    let (Given::Clear(typed) | Given::Stored(typed)) = Given::of(given);
    let stored = stored().find(|stored| password::verify(stored, typed))?;
    Some((given.to_vec(), stored.to_vec()))
}
