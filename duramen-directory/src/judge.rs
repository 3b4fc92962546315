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
use duramen_ldap::control::{PasswordError, PasswordPolicyResponse};
use duramen_ldap::message::{ChangeKind, ModifyRequest, Request};

use crate::attribute::describe_stored;
use crate::entry::Entry;
use crate::failure::Result;
use crate::inner::Inner;
use crate::meta;
use crate::names;
use crate::password;
use crate::policy::{Given, Governed, Judgement, Outcome, Proof, is_of_past};
use crate::requester::Requester;
use crate::schema::Schema;
use crate::state::State;
use crate::tables::{Id, Ids, Tables};
use crate::update;

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
        let Some(id) = id.filter(|_| state.unfit.is_none() && !outcome.edits.is_empty()) else { return Ok(None) };
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

    /// Finds out about the passwords of a request what may take long.
    pub(crate) fn prove(&self, requester: &Requester, request: &Request<'_>) -> Result<Proof> {
        let Request::Modify(modify) = request else { return Ok(Proof::default()) };
        self.of_own(requester, modify.name, |state, governed| {
            let of = |is_meant: fn(ChangeKind) -> bool| passwords(&state.schema, modify, is_meant);
            let (new, deleted) = (of(|kind| kind != ChangeKind::Delete), of(|kind| kind == ChangeKind::Delete));
            // One of each is what can be meant: who sends a thousand is not to have a thousand verified.
            let is_used = |new: &[u8]| is_of_past(&state.schema, (&governed.policy, &governed.entry), Given::of(new));
            let looked_at = new.last().map(|new| (new.to_vec(), is_used(new)));
            let stored = deleted.first().and_then(|given| stored_form(&state.schema, &governed.entry, given));
            Proof { looked_at, stored, ..Proof::default() }
        })
    }

    /// The same of a password in clear text that an entry is to have in another form. `has_old`: its old one was sent along,
    /// and is right.
    pub(crate) fn prove_new(&self, requester: &Requester, name: &str, clear: &[u8], has_old: bool) -> Result<Proof> {
        let looked_at = self.of_own(requester, name, |state, governed| {
            let is_used = is_of_past(&state.schema, (&governed.policy, &governed.entry), Given::Clear(clear));
            Some((clear.to_vec(), is_used))
        })?;
        Ok(Proof { clear: Some(clear.to_vec()), looked_at, has_old, stored: None })
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

/// The passwords in the changes of some kinds.
fn passwords<'m>(schema: &Schema, modify: &ModifyRequest<'m>, is_meant: impl Fn(ChangeKind) -> bool) -> Vec<&'m [u8]> {
    let mut found = Vec::new();
    for change in modify.changes.iter().filter(|change| is_meant(change.kind)) {
        let described = describe_stored(schema, change.attribute.description);
        if described.is_ok_and(|it| it.attribute.id == schema.known().user_password) {
            found.extend(change.attribute.values.iter());
        }
    }
    found
}

/// A password in clear text with the form in which an entry has it, if that is another.
fn stored_form(schema: &Schema, entry: &Entry<'_>, given: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let stored = || entry.of_type(schema.known().user_password).flat_map(|found| found.values());
    if stored().any(|stored| stored == given) {
        return None;
    }
    let stored = stored().find(|stored| password::verify(stored, given))?;
    Some((given.to_vec(), stored.to_vec()))
}
